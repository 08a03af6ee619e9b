// Notifications of the browser when downloads end: only when asked for, and from one tab.
import { api } from "./api.js";
import { visible } from "./format.js";
import { feed, list } from "./model.js";
import { preference, setPreference } from "./preferences.js";
import { announceCount } from "./status.js";
import { t } from "./text.js";

const GATHER = 1500;
let ended = [];
let timer = null;

export const canNotify = () => "Notification" in globalThis && globalThis.isSecureContext;
export const notifies = () => canNotify() && Notification.permission === "granted" && preference("notify") === "on";

export async function setNotifies(on) {
    if (on && Notification.permission === "default") await Notification.requestPermission();
    setPreference("notify", on && Notification.permission === "granted" ? "on" : null);
    feed.keepsHidden = notifies();
    return notifies();
}

export function startNotify() {
    feed.keepsHidden = notifies();
    feed.on("delta", ({ data }) => {
        for (const [id, fields] of Object.entries(data.rows ?? {})) {
            if (fields.state !== "completed" && fields.state !== "failed") continue;
            // A row that is sent whole may have ended long ago. A row that the page held has just changed.
            if ("addedAt" in fields && Date.parse(fields.endedAt) < Date.now() - 60_000) continue;
            announceCount(fields.state === "completed" ? "finished" : "failed");
            if (fields.state === "completed") note(id, fields.name ?? list.row(id)?.name);
        }
    });
}

function note(id, name) {
    // Only the tab with the stream notifies, and only while that tab is hidden.
    if (!notifies() || !feed.leads || !document.hidden) return;
    ended.push({ id, name });
    timer ??= setTimeout(tell, GATHER);
}

async function tell() {
    timer = null;
    const batch = ended;
    ended = [];
    let body = t("announce.finished", batch.length);
    if (batch.length === 1) {
        const name = batch[0].name ?? (await api.get(`downloads/${batch[0].id}`).catch(() => null))?.name;
        if (name) body = visible(name);
    }
    const notification = new Notification(t("notifyTitle", batch.length), { body, icon: new URL("icon-192.png", document.baseURI).href, tag: `haul-${batch[0].id}` });
    notification.onclick = () => {
        window.focus();
        notification.close();
    };
}
