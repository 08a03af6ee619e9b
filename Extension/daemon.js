// The daemon: its address, its key, and the calls of its API that the extension makes.
export const browser = globalThis.browser ?? globalThis.chrome;

/// What the options change, with its defaults. `key` is what a one-time code gave, or the daemon's token.
/// `refused` has the hosts whose cookies the user keeps.
export const DEFAULTS = { address: "http://127.0.0.1:4285/", key: "", asksForCookies: true, refused: [], takesOver: false, leastMegabytes: 20 };

export const settings = () => browser.storage.local.get(DEFAULTS);
export const change = (values) => browser.storage.local.set(values);

/// An answer that is no success. `code` is that of the API, `away` without an answer, `unpaired` without a key.
export class DaemonError extends Error {
    constructor(message, code, status = 0) {
        super(message);
        Object.assign(this, { code, status });
    }
}

/// The permission for a host: match patterns have no port.
export function hostPattern(url) {
    const { protocol, hostname } = new URL(url);
    return `${protocol}//${hostname}/*`;
}

/// Calls the API of the daemon that the options name, or of `daemon`. Sends no cookie, and follows no redirect, so that
/// the key reaches nobody else.
export async function call(method, path, body, daemon) {
    const { address, key } = daemon ?? await settings();
    if (!daemon && !key) throw new DaemonError("Connect this extension to Haul first.", "unpaired");
    let response;
    try {
        response = await fetch(new URL(`api/v1/${path}`, address), {
            method,
            headers: { ...(key && { Authorization: `Bearer ${key}` }), ...(body && { "Content-Type": "application/json" }) },
            body: body && JSON.stringify(body),
            credentials: "omit",
            cache: "no-store",
            redirect: "error",
            signal: AbortSignal.timeout(60_000),
        });
        if (response.ok) return response.status === 204 ? null : await response.json();
    } catch {
        throw new DaemonError(`Haul does not answer at ${address}.`, "away");
    }
    const problem = await response.json().catch(() => ({}));
    const said = response.status === 401 ? "Haul does not know the key of this extension any more. Connect it again." : problem.detail;
    throw new DaemonError(said ?? `Haul answered ${response.status}.`, problem.code, response.status);
}

// MARK: Fields of a download

/// The cookies that the browser would send to this very URL; none without the permission for its host.
async function cookies(url, storeId) {
    if (!(await browser.permissions.contains({ origins: [hostPattern(url)] }))) return "";
    const found = await browser.cookies.getAll(storeId ? { url, storeId } : { url });
    return found.map(({ name, value }) => (name ? `${name}=${value}` : value)).join("; ");
}

/// What a browser says of a page in a request for `url`, by the policy that browsers have by default
/// (strict-origin-when-cross-origin).
export function referrer(page, url) {
    if (!/^https?:/.test(page ?? "")) return "";
    const [from, to] = [new URL(page), new URL(url)];
    if (from.protocol === "https:" && to.protocol === "http:") return "";
    return from.origin === to.origin ? `${from.origin}${from.pathname}${from.search}` : `${from.origin}/`;
}

/// The header fields of the request for one download, which go to the origin of its URL alone.
export async function fields(url, said, storeId) {
    const cookie = await cookies(url, storeId);
    return { ...(cookie && { Cookie: cookie }), ...(said && { Referer: said }) };
}

// MARK: Downloads

/// Whether a URL can be the page of a download: the API takes 8 KiB.
export const isPage = (url) => /^https?:/.test(url ?? "") && url.length <= 8192;

/// Adds downloads; `items` are those of the API with the page that each came from. Returns the rows.
///
/// They fail instead of starting over when a fresh link leads to another file. Throws the first problem if none was
/// added.
export async function add(items) {
    const { items: answers } = await post(items.map((item) => ({ ...item, failsOnChange: true })));
    const rows = answers.flatMap(({ download }) => download ?? []);
    if (rows.length === 0) throw new DaemonError(answers[0].error.detail, answers[0].error.code);
    const { pages } = await browser.storage.local.get({ pages: {} });
    answers.forEach(({ download }, index) => {
        if (download && items[index].page) pages[download.id] = items[index].page;
    });
    // Only the newest, since objects keep the order in which their members came.
    await change({ pages: Object.fromEntries(Object.entries(pages).slice(-MOST_PAGES)) });
    return rows;
}

const MOST_PAGES = 500;

/// Daemons that do not know the newer fields refuse them by name.
async function post(items) {
    try {
        return await call("POST", "downloads", { items });
    } catch (error) {
        if (error.code !== "unknownField") throw error;
        return call("POST", "downloads", { items: items.map(({ page, failsOnChange, ...rest }) => rest) });
    }
}

/// The page that a download came from: as this extension noted it, or as the daemon did for another client.
export async function pageOf(id) {
    const { pages } = await browser.storage.local.get({ pages: {} });
    return pages[id] ?? (await call("GET", `downloads/${id}`)).page;
}

/// Whether a fresh link may help a failed download.
export const isExpired = (row) => row.state === "failed"
    && (row.error?.code === "unexpectedWebPage" || [401, 403, 404, 410].includes(row.error?.status));

export const expired = async () => (await call("GET", "downloads?state=failed&sort=ended&order=desc&limit=100")).items.filter(isExpired);
