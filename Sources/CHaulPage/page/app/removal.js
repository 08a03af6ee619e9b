// Removing with undo: the rows are hidden at once, the request is sent when the toast ends or the page is left.
import { api } from "./api.js";
import { parts } from "./commands.js";
import { confirmDialog } from "./dialog.js";
import { tellFailure } from "./failure.js";
import { list, selection } from "./model.js";
import { t } from "./text.js";
import { toast } from "./toast.js";

/// A keepalive request may have 64 KiB; an id with its quotes and comma has 39 bytes.
const KEEPALIVE_IDS = 1500;
const RESOLVED = 2000;
let pending = null;
let sending = null;

/// Removes a target of `count` downloads. Files stay unless `files`, which is confirmed first.
export async function remove(target, count, files = false) {
    if (count === 0) return;
    if (target.filter && count <= RESOLVED) {
        // As ids, so that a download that is added before the toast ends is not removed with the others.
        const except = new Set(target.except);
        try {
            target = { ids: (await list.idsBetween(0, list.length - 1)).filter((id) => !except.has(id)) };
        } catch (error) {
            return tellFailure(error);
        }
        count = target.ids.length;
    }
    if (files) {
        const sure = await confirmDialog({ title: t("deleteFilesTitle", count), text: t("deleteFilesText", count), yes: t("deleteFiles"), danger: true });
        if (!sure) return;
    }
    const hidden = target.ids ? { ids: new Set(target.ids) } : { all: true, except: new Set(target.except) };
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

async function send(removal, view, keepalive = false) {
    if (pending === removal) pending = null;
    const body = { action: "remove", ...(removal.files ? { deleteFiles: true } : {}) };
    try {
        for (const part of parts(removal.target, keepalive ? KEEPALIVE_IDS : undefined)) {
            const request = api.post("downloads/actions", { ...body, ...part }, { keepalive });
            if (keepalive) request.catch(() => {});
            else await request;
        }
    } catch (error) {
        tellFailure(error);
    }
    if (!keepalive && view === list.view) {
        await list.reload();
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
