// The popup: what needs the user, what the page has, what runs.
import { browser, call, isExpired, pageOf, settings } from "./daemon.js";
import { button, byId, el, setText } from "./shared/dom.js";
import { bytes, shortName } from "./text.js";

const send = (message) => browser.runtime.sendMessage(message);
const show = (id, rows) => {
    byId(id).hidden = rows.length === 0;
    byId(id).querySelector("div").replaceChildren(...rows);
};

byId("options").addEventListener("click", () => browser.runtime.openOptionsPage());
byId("open").addEventListener("click", async () => browser.tabs.create({ url: (await settings()).address }));

// MARK: Downloads

const STATES = { queued: "Waiting for its turn", connecting: "Connecting", waiting: "Tries again soon", verifying: "Checking", paused: "Paused", completed: "Complete" };

function amount({ receivedBytes, totalBytes, bytesPerSecond, state, error }) {
    if (state === "failed") return error.message;
    const size = totalBytes && state !== "completed" ? `${bytes(receivedBytes)} of ${bytes(totalBytes)}` : bytes(receivedBytes);
    return [STATES[state] ?? `${bytes(bytesPerSecond)}/s`, size].join(" · ");
}

function progress(row) {
    const fill = el("div", { class: "fill" });
    fill.style.setProperty("--part", row.totalBytes ? row.receivedBytes / row.totalBytes : 0);
    const bar = ["completed", "failed"].includes(row.state) ? null : el("div", { class: "bar" }, fill);
    return el("div", { class: "row", "data-state": row.state }, el("div", {}, name(row), bar, el("div", { class: "hint muted", text: amount(row) })));
}

const name = ({ name }) => el("div", { class: "name", title: name, text: shortName(name) });

/// A download whose link expired, with the press that fetches a fresh one.
function renewal(row, waiting) {
    const isWaiting = waiting?.id === row.id && waiting.until > Date.now();
    const hint = isWaiting ? "Start the same download in the browser now." : "The link has expired.";
    return el(
        "div",
        { class: "row" },
        el("div", {}, name(row), el("div", { class: "hint warn", text: hint })),
        button(isWaiting ? "Open again" : "Renew", { class: "button", onclick: async () => {
            const page = await pageOf(row.id).catch(() => undefined);
            await send({ do: "renew", row, page });
            setText(byId("note"), `Start the download of ${row.name} in the browser${page ? "" : ", on the page where you found it"}. Haul continues with that link if it leads to the same file.`);
            await refresh();
        } }),
    );
}

async function refresh() {
    const { problem } = await browser.storage.session.get("problem");
    try {
        const { renewal: waiting } = await browser.storage.local.get("renewal");
        const [recent, failed] = await Promise.all([
            call("GET", "downloads?sort=added&order=desc&limit=5"), call("GET", "downloads?state=failed&sort=ended&order=desc&limit=100"),
        ]);
        show("expired", failed.items.filter(isExpired).slice(0, 5).map((row) => renewal(row, waiting)));
        show("running", recent.items.filter((row) => !isExpired(row)).map(progress));
        setText(byId("problem"), problem ?? "");
    } catch (error) {
        show("expired", []);
        show("running", []);
        setText(byId("problem"), error.message);
    }
}

// MARK: This page

/// Playlists that the page and its frames have loaded. The page's own record of what it loaded has them, so the
/// extension watches no request.
function playlistsOfDocument() {
    return performance.getEntriesByType("resource").map((entry) => entry.name).filter((url) => /^https?:[^?#]*\.m3u8([?#]|$)/i.test(url));
}

async function films(tab) {
    const found = await browser.scripting.executeScript({ target: { tabId: tab.id, allFrames: true }, func: playlistsOfDocument });
    const urls = [...new Set(found.flatMap(({ result }) => result ?? []))];
    const master = await Promise.all(urls.slice(0, 12).map(async (url) => {
        const [probed] = (await call("POST", "probe", { urls: [url] })).items;
        return { url, probed };
    }));
    // A player loads the playlists that a first one lists: the first is the film, with all its qualities.
    const whole = master.filter(({ probed }) => probed.stream?.variants.length);
    return whole.length ? whole : master;
}

function film({ url, probed }, tab) {
    const best = probed.stream?.variants.find(({ isBest }) => isBest);
    const hint = best?.text ?? probed.stream?.protection ?? new URL(url).hostname;
    return el(
        "div",
        { class: "row" },
        el("div", {}, el("div", { class: "name", text: tab.title }), el("div", { class: "hint muted", text: hint })),
        button("Download", { class: "button", disabled: Boolean(probed.stream?.protection), onclick: async ({ currentTarget }) => {
            currentTarget.disabled = true;
            await send({ do: "add", links: [{ url, name: tab.title.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}/\\]/gu, "_").slice(0, 200) }], page: tab.url, storeId: tab.cookieStoreId });
            await refresh();
        } }),
    );
}

const [tab] = await browser.tabs.query({ active: true, lastFocusedWindow: true });
byId("links").disabled = !/^https?:/.test(tab?.url ?? "");
byId("links").addEventListener("click", async () => {
    await send({ do: "links", tabId: tab.id });
    window.close();
});
await refresh();
setInterval(refresh, 1500);
// Pages of the browser and its store let no extension in.
if (!byId("links").disabled) films(tab).then((found) => show("films", found.map((each) => film(each, tab))), () => {});
