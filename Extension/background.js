// Listens to the browser: the menu, downloads, and the messages of the extension's own pages.
import { add, browser, change, DEFAULTS, expired, fields, hostPattern, isPage, referrer, settings } from "./daemon.js";
import { awaitRenewal, take } from "./browser-downloads.js";

const WEB = ["http://*/*", "https://*/*"];

browser.runtime.onInstalled.addListener(({ reason }) => {
    browser.contextMenus.create({ id: "link", title: "Download link with Haul", contexts: ["link"], targetUrlPatterns: WEB });
    browser.contextMenus.create({ id: "media", title: "Download this with Haul", contexts: ["image", "video", "audio"], targetUrlPatterns: WEB });
    browser.contextMenus.create({ id: "page", title: "Download links of this page with Haul…", contexts: ["page"], documentUrlPatterns: WEB });
    browser.alarms.create("expired", { periodInMinutes: 5 });
    if (reason === "install") browser.runtime.openOptionsPage();
});

// Scripts in web pages, should the extension ever have any, are not to read the key.
browser.storage.local.setAccessLevel?.({ accessLevel: "TRUSTED_CONTEXTS" });

// MARK: What was done, on the button

async function mark(text, color) {
    await browser.action.setBadgeBackgroundColor({ color });
    await browser.action.setBadgeText({ text });
}

/// Runs an action of the user. A failure stays on the button and in the popup until the next action.
async function act(action) {
    try {
        const rows = await action();
        await browser.storage.session.remove("problem");
        await mark("✓", "#1f6f43");
        setTimeout(showExpired, 4000);
        return { rows };
    } catch (error) {
        await browser.storage.session.set({ problem: error.message });
        await mark("!", "#b3261e");
        return { problem: error.message };
    }
}

/// Counts the downloads whose links expired. A daemon that is away has none to show.
async function showExpired() {
    const { length } = await expired().catch(() => []);
    await mark(length ? String(length) : "", "#8a5a00");
}
browser.alarms.onAlarm.addListener(showExpired);

// MARK: Menu

browser.contextMenus.onClicked.addListener((info, tab) => {
    if (info.menuItemId === "page") return act(() => chooseLinks(tab));
    const url = info.menuItemId === "link" ? info.linkUrl : info.srcUrl;
    const asked = askForCookies(url);
    return act(async () => {
        await asked;
        return add([await item({ url }, info.frameUrl ?? info.pageUrl, tab?.url ?? info.pageUrl, tab?.cookieStoreId)]);
    });
});

let known;
const learn = async () => { known = await settings(); };
learn();
browser.storage.onChanged.addListener(learn);

/// Asks for the host of a link, once. The download begins whatever the answer.
async function askForCookies(url) {
    const pattern = hostPattern(url);
    // Firefox allows the question only before the first wait, so one that has just started this script asks unseen.
    const { asksForCookies, refused } = known ?? (browser.runtime.getBrowserInfo ? DEFAULTS : await settings());
    if (!asksForCookies || refused.includes(pattern)) return;
    const isGranted = await browser.permissions.request({ origins: [pattern] }).catch(() => true);
    if (!isGranted) await change({ refused: [...(await settings()).refused, pattern] });
}

/// An item of an add request. `from` is the document with the link, `page` what the user opened.
async function item(link, from, page, storeId) {
    const headers = await fields(link.url, referrer(from, link.url), storeId);
    return { ...link, headers, ...(isPage(page) && { page }) };
}

/// Shows the links of a page in a tab of their own.
async function chooseLinks(tab) {
    const [{ result }] = await browser.scripting.executeScript({ target: { tabId: tab.id }, func: linksOfDocument });
    await browser.storage.session.set({ links: { ...result, page: tab.url, storeId: tab.cookieStoreId } });
    await browser.tabs.create({ url: browser.runtime.getURL("links.html"), index: tab.index + 1, openerTabId: tab.id });
}

/// Runs in the page.
function linksOfDocument() {
    const links = new Map();
    const [here] = location.href.split("#");
    const note = (url, text) => {
        if (/^https?:/.test(url) && url !== here && links.size < 5000 && !links.has(url)) links.set(url, text.trim().replace(/\s+/g, " ").slice(0, 200));
    };
    for (const a of document.querySelectorAll("a[href], area[href]")) note(String(a.href).split("#")[0], a.textContent || a.title || "");
    for (const media of document.querySelectorAll("img, video, audio, source")) note(media.currentSrc || media.src, media.alt || "");
    return { title: document.title, links: [...links].map(([url, text]) => ({ url, text })) };
}

// MARK: Messages of the popup and of the list of links

const ANSWERS = {
    /// Adds links of a page.
    add: ({ links, page, storeId }) => act(async () => add(await Promise.all(links.map((link) => item(link, page, page, storeId))))),
    links: async ({ tabId }) => act(async () => chooseLinks(await browser.tabs.get(tabId))),
    /// Opens the page that a download came from, and waits for the fresh link.
    renew: async ({ row, page }) => {
        await awaitRenewal(row);
        if (page) await browser.tabs.create({ url: page });
    },
};

browser.runtime.onMessage.addListener((message, sender, answer) => {
    if (sender.id !== browser.runtime.id || !Object.hasOwn(ANSWERS, message.do)) return false;
    ANSWERS[message.do](message).then(answer);
    return true;
});

// MARK: Downloads of the browser

/// Takes a download, and ends that of the browser when Haul has it. What went wrong is shown only where something was
/// asked for: a daemon that is away leaves the download to the browser without a word.
async function offer(download) {
    try {
        if (!(await take(download))) return;
    } catch (error) {
        if (error.code === "away") return;
        await act(() => { throw error; });
        return;
    }
    await browser.downloads.cancel(download.id).catch(() => {});
    // A download that was complete before stays the user's.
    await browser.downloads.erase({ id: download.id, state: "interrupted" });
    await act(async () => []);
}

if (browser.downloads.onDeterminingFilename) {
    // The name waits, so that the browser asks for no place meanwhile.
    browser.downloads.onDeterminingFilename.addListener((download, suggest) => {
        offer(download).finally(() => suggest());
        return true;
    });
} else {
    // Firefox tells the size some time after the beginning.
    browser.downloads.onCreated.addListener(async ({ id }) => {
        for (let step = 0; step < 20; step += 1) {
            const [download] = await browser.downloads.search({ id });
            if (download?.state !== "in_progress") return;
            if (download.totalBytes > 0) return offer(download);
            await new Promise((resolve) => setTimeout(resolve, 100));
        }
    });
}
