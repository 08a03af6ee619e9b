// The slim banner that says why the data may be old. It disappears with its reason.
import { byId, el } from "./dom.js";
import { visible } from "./format.js";
import { feed, totals } from "./model.js";
import { alertText } from "./status.js";
import { has, t } from "./text.js";

const SHOW_AFTER = 1500;
const SPEAK_AFTER = 5000;
let timers = [];
let loaded = null;
/// `notice` is the present message about the store, `dismissed` the one that the user has closed.
let notice = null;
let noticeCode = null;
let dismissed = null;

export function startBanner() {
    byId("banner-action").addEventListener("click", () => (actions[byId("banner").dataset.kind]()));
    feed.on("connection", (connected) => (connected ? hide() : lost()));
    feed.on("hello", ({ data }) => {
        if (loaded !== null && data.version !== loaded) show("update", t("updated", data.version), t("reload"));
        loaded ??= data.version;
    });
    totals.on("change", ({ storeNotice, storeNoticeCode }) => tellStore(storeNotice ?? null, storeNoticeCode));
    addEventListener("offline", () => !feed.connected && lost());
}

const actions = {
    update: () => location.reload(),
    lost: () => feed.wake(),
    store: () => {
        dismissed = notice;
        byId("banner").hidden = true;
    },
};

/// Shows that the store is damaged, gone or has lost rows, until the user closes the banner or the message ends.
function tellStore(text, code) {
    notice = text;
    noticeCode = code;
    const banner = byId("banner");
    if (text === null) {
        if (banner.dataset.kind === "store") banner.hidden = true;
    } else if (text !== dismissed && (banner.hidden || banner.dataset.kind === "store")) {
        show("store", storeTexts(text, code), t("dismiss"));
    }
}

/// The sentence of the code, and the daemon's own, which is English and names files and losses.
function storeTexts(text, code) {
    const details = el("span", { lang: "en", text: visible(text) });
    return has(`store.${code}`) ? [`${t(`store.${code}`)} `, details] : [details];
}

/// Shows that the connection was lost or could not be made.
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
    if (byId("banner").dataset.kind === "lost") {
        byId("banner").hidden = true;
        tellStore(notice, noticeCode);
    }
    document.documentElement.classList.remove("stale");
}

function show(kind, text, action) {
    const banner = byId("banner");
    banner.dataset.kind = kind;
    byId("banner-text").replaceChildren(...[text].flat());
    byId("banner-action").textContent = action;
    banner.hidden = false;
    document.documentElement.classList.toggle("stale", kind === "lost");
}
