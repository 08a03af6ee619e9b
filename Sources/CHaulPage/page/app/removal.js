// Removing with undo: the rows are hidden at once, the request is sent when the toast ends or the page is left.
import { api } from "./api.js";
import { parts } from "./commands.js";
import { confirmDialog } from "./dialog.js";
import { tellFailure } from "./failure.js";
import { lists } from "./lists.js";
import { list, selection } from "./model.js";
import { readGroups } from "./rail.js";
import { t } from "./text.js";
import { toast } from "./toast.js";
import { readTotals } from "./totals.js";

/// A keepalive request may have 64 KiB; an id with its quotes and comma has 39 bytes.
const KEEPALIVE_IDS = 1500;
const RESOLVED = 2000;
let pending = null;
let sending = null;

/// Removes a target of `count` downloads. Files stay unless `files`, which is confirmed first.
export async function remove(target, count, files = false) {
    if (count === 0) return;
    let rows = (target.ids ?? []).map((id) => list.row(id)).filter(Boolean);
    if (target.filter && count <= RESOLVED) {
        // As ids, so that a download that is added before the toast ends is not removed with the others.
        const except = new Set(target.except);
        try {
            rows = (await list.rowsBetween(0, list.length - 1)).filter((row) => !except.has(row.id));
        } catch (error) {
            return tellFailure(error);
        }
        target = { ids: rows.map((row) => row.id) };
        count = target.ids.length;
    }
    if (files) {
        const sure = await confirmDialog({ title: t("deleteFilesTitle", count), text: t("deleteFilesText", count), yes: t("deleteFiles"), danger: true });
        if (!sure) return;
    }
    const tally = target.ids ? tallyOf(rows, count) : tallyOfList(count);
    const hidden = target.ids ? { ids: new Set(target.ids), tally } : { all: true, except: new Set(target.except), tally };
    const view = list.view;
    const removal = { target, files, shown: null };
    removal.shown = toast(t(files ? "removedWithFiles" : "removed", count), {
        action: t("undo"),
        spoken: t("removedSpoken", count),
        onAction: () => {
            pending = null;
            if (view === list.view) list.hide(null);
        },
        onEnd: () => (sending = send(removal, view)),
    });
    pending = removal;
    selection.clear();
    list.hide(hidden);
}

/// What the rows are in the counts of the lists and groups, until the daemon's own counts lack them.
function tallyOf(rows, count) {
    const tally = { count, states: new Map(), groups: new Map() };
    for (const { state, group } of rows) {
        tally.states.set(state, (tally.states.get(state) ?? 0) + 1);
        if (group) tally.groups.set(group, (tally.groups.get(group) ?? 0) + 1);
    }
    return tally;
}

/// The same for a list of which the page does not know each row.
function tallyOfList(count) {
    const { states } = lists[list.view.list];
    return { count, states: new Map(states?.length === 1 ? [[states[0], count]] : []), groups: new Map([[list.view.group, count]]) };
}

async function send(removal, view, keepalive = false) {
    if (pending === removal) pending = null;
    const body = { action: "remove", ...(removal.files ? { deleteFiles: true } : {}) };
    let kept = 0;
    try {
        for (const part of parts(removal.target, keepalive ? KEEPALIVE_IDS : undefined)) {
            const request = api.post("downloads/actions", { ...body, ...part }, { keepalive });
            if (keepalive) request.catch(() => {});
            else kept += (await request).keptFiles ?? 0;
        }
        if (kept > 0) toast(t("filesKept", kept), { seconds: 8 });
    } catch (error) {
        tellFailure(error);
    }
    if (!keepalive && view === list.view) {
        await Promise.all([list.reload(), readTotals(), readGroups()]);
        if (!pending) list.hide(null);
    }
}

/// Sends what is pending: before the list changes, and before downloads are added that its filter would include.
export async function flushRemoval() {
    pending?.shown.end();
    await sending;
}

addEventListener("pagehide", () => {
    if (pending) send(pending, null, true);
    pending = null;
});
