// What can be done to downloads: one request for a selection of any size.
import { api, url } from "./api.js";
import { failureText, tellFailure } from "./failure.js";
import { applies } from "./lists.js";
import { list, selection } from "./model.js";
import { t } from "./text.js";
import { toast } from "./toast.js";

const AT_ONCE = 10_000;

/// Pause, resume, retry or setPriority for a target (`selection.target`).
export async function act(action, target, more = {}) {
    target = narrowed(action, target);
    if (!target) return;
    try {
        if (target.ids?.length === 1 && action !== "setPriority") {
            list.applyRow(await api.post(`downloads/${target.ids[0]}/${action}`));
            return;
        }
        const errors = [];
        let changed = 0;
        for (const part of parts(target)) {
            const answer = await api.post("downloads/actions", { action, ...part, ...more });
            changed += answer.changed;
            errors.push(...answer.errors);
        }
        if (errors.length > 0) toast(t("someFailed", errors.length, failureText(problem(errors[0]))), { tone: "error", seconds: 10 });
        else if (changed !== 1) toast(t(`did.${action}`, changed), { seconds: 4 });
    } catch (error) {
        tellFailure(error);
    }
}

/// The part of a target that an action applies to, or `null`. Includes downloads whose rows the page does not hold,
/// because their states are unknown.
function narrowed(action, target) {
    const states = applies[action];
    if (!states) return target;
    if (target.filter) {
        const state = (target.filter.state ?? states).filter((each) => states.includes(each));
        return state.length > 0 ? { ...target, filter: { ...target.filter, state } } : null;
    }
    const ids = target.ids.filter((id) => !list.row(id) || states.includes(list.row(id).state));
    return ids.length > 0 ? { ids } : null;
}

const problem = ({ error }) => Object.assign(new Error(error.detail ?? error.message ?? error.code), { code: error.code });

export function* parts(target, size = AT_ONCE) {
    if (!target.ids) yield target;
    else for (let at = 0; at < target.ids.length; at += size) yield { ids: target.ids.slice(at, at + size) };
}

/// Start now, again: one download at a time.
export async function actOne(action, id) {
    try {
        list.applyRow(await api.post(`downloads/${id}/${action}`));
    } catch (error) {
        tellFailure(error);
    }
}

/// Changes fields of one download. Returns the row, or `null` after a failure that was told.
export async function change(id, fields) {
    try {
        const row = await api.patch(`downloads/${id}`, fields);
        list.applyRow(row);
        return row;
    } catch (error) {
        tellFailure(error);
        return null;
    }
}

/// Moves downloads in the queue: `{to}`, `{before}` or `{after}`.
export async function move(ids, place) {
    if (ids.length === 0) return;
    try {
        await api.post("downloads/move", { ids, ...place });
        list.invalidate();
    } catch (error) {
        tellFailure(error);
    }
}

export const fileURL = (id, download = false) => url(`downloads/${id}/file${download ? "?download=true" : ""}`);

export function saveFile(row) {
    const link = document.createElement("a");
    link.href = fileURL(row.id, true);
    link.download = row.name;
    document.body.append(link);
    link.click();
    link.remove();
}

/// The target of an action on a row: the selection when the row belongs to it, else the row alone.
export function targetOf(id) {
    return selection.has(id) && selection.count > 1 ? selection.target : { ids: [id] };
}

/// The ids of a selection in the order of the list; `null` when "all" is selected.
export function orderedIds() {
    if (selection.all) return null;
    return [...selection.ids].sort((a, b) => list.indexOf(a) - list.indexOf(b));
}

export async function copyText(text) {
    try {
        await navigator.clipboard.writeText(text);
        toast(t("copied"), { seconds: 2 });
    } catch {
        toast(t("copyFailed"), { tone: "error" });
    }
}
