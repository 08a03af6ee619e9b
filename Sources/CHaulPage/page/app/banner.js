// The slim banner over data that may be old. It goes by itself.
import { byId } from "./dom.js";
import { feed } from "./model.js";
import { alertText } from "./status.js";
import { t } from "./text.js";

const SHOW_AFTER = 1500;
const SPEAK_AFTER = 5000;
let timers = [];
let loaded = null;

export function startBanner() {
    byId("banner-action").addEventListener("click", () => (byId("banner").dataset.kind === "update" ? location.reload() : feed.wake()));
    feed.on("connection", (connected) => (connected ? hide() : lost()));
    feed.on("hello", ({ data }) => {
        if (loaded !== null && data.version !== loaded) show("update", t("updated", data.version), t("reload"));
        loaded ??= data.version;
    });
    addEventListener("offline", () => !feed.connected && lost());
}

/// The connection is not there, or did not come up.
export function lost() {
    if (timers.length > 0) return;
    timers = [
        setTimeout(() => show("lost", t("lost"), t("tryNow")), SHOW_AFTER),
        setTimeout(() => alertText(t("lostSpoken")), SPEAK_AFTER),
    ];
}

export function hide() {
    for (const timer of timers) clearTimeout(timer);
    timers = [];
    alertText("");
    if (byId("banner").dataset.kind === "lost") byId("banner").hidden = true;
    document.documentElement.classList.remove("stale");
}

function show(kind, text, action) {
    const banner = byId("banner");
    banner.dataset.kind = kind;
    byId("banner-text").textContent = text;
    byId("banner-action").textContent = action;
    banner.hidden = false;
    document.documentElement.classList.toggle("stale", kind === "lost");
}
