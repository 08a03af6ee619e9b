// Downloads that the browser begins: Haul takes them over, or takes their links for downloads whose links expired.
import { add, browser, call, change, DaemonError, fields, isPage, settings } from "./daemon.js";

const MINUTES_OF_A_RENEWAL = 30;

/// Takes a download of the browser, if Haul is to have it. Returns whether it did: then the browser may end its own.
///
/// Nothing is ended before Haul has it, so nothing is lost if the daemon is away or the server refuses it.
export async function take(item) {
    if (!/^https?:/.test(item.url) || item.byExtensionId || item.incognito) return false;
    const { renewal } = await browser.storage.local.get("renewal");
    if (renewal && fits(item, renewal)) return renew(item, renewal);
    const { takesOver, leastMegabytes, key } = await settings();
    if (!takesOver || !key || !(item.totalBytes >= leastMegabytes * 1e6)) return false;
    const source = await sameFile(item, item.totalBytes);
    // Firefox may have the whole file by now.
    const [present] = await browser.downloads.search({ id: item.id });
    if (!source || present?.state !== "in_progress") return false;
    await add([{ ...source, name: fileName(item), ...(isPage(item.referrer) && { page: item.referrer }) }]);
    return true;
}

const fileName = (item) => item.filename.split(/[/\\]/).pop();

/// The link of the browser's download with the fields that Haul needs for the same file, or null. `bytes` is -1 if
/// nobody knows the size.
///
/// Haul asks the server first. An answer of another length is another file: a form was sent, a link works once, or the
/// cookies were not enough. The link before redirects comes first, because it lives longer.
async function sameFile(item, bytes) {
    for (const url of new Set([item.url, item.finalUrl ?? item.url])) {
        const headers = await fields(url, item.referrer, item.cookieStoreId);
        const [found] = (await call("POST", "probe", { urls: [url], headers })).items;
        if (!found.error && !found.stream && (bytes < 0 || found.totalBytes === bytes)) return { url, headers };
    }
    return null;
}

// MARK: Renewing

/// Waits for the browser's next download of this name or size.
export async function awaitRenewal(row) {
    const { id, name, totalBytes } = row;
    await change({ renewal: { id, name, bytes: totalBytes, until: Date.now() + MINUTES_OF_A_RENEWAL * 60_000 } });
}

/// Where both sizes are known they decide; the name does otherwise. A browser counts names that are taken: `a (1).iso`.
function fits(item, { name, bytes, until }) {
    if (Date.now() > until) return false;
    if (bytes !== undefined && item.totalBytes > 0) return bytes === item.totalBytes;
    const plain = (text) => text.toLowerCase().replace(/ ?\(\d+\)(?=(\.[^.]*)?$)/, "");
    return plain(fileName(item)) === plain(name);
}

/// Makes the link the source of the download, and waits until Haul has compared the file with the received bytes.
async function renew(item, { id, bytes }) {
    const source = await sameFile(item, bytes ?? item.totalBytes);
    if (!source) throw new DaemonError("Haul was not given that file by its server, so the browser keeps its own.", "otherFile");
    await change({ renewal: null });
    await call("PATCH", `downloads/${id}`, { source });
    const before = await call("POST", `downloads/${id}/resume`);
    for (let step = 0; step < 120; step += 1) {
        const row = await call("GET", `downloads/${id}`);
        if (row.state === "failed") throw new DaemonError(row.error.message, row.error.code);
        if (row.state === "completed" || row.state === "paused" || row.receivedBytes > before.receivedBytes) break;
        await new Promise((resolve) => setTimeout(resolve, 250));
    }
    return true;
}
