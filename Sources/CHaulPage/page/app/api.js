// Requests to the daemon. URLs are relative to the page, so that it works below any path of a proxy.
const base = new URL("api/v1/", document.baseURI);

export class APIError extends Error {
    constructor(problem, status) {
        super(problem.detail ?? problem.title ?? `${status}`);
        this.code = problem.code ?? "unknown";
        this.status = status;
        this.suggestion = problem.suggestion;
        this.retryAfter = problem.retryAfter;
    }
}

let onUnauthorized = () => {};
let onUnreachable = () => {};
/// Number of sessions that have begun in this page.
let session = 0;

/// Called when the session ended, and when a request did not reach the daemon.
export function watchRequests(unauthorized, unreachable) {
    onUnauthorized = unauthorized;
    onUnreachable = unreachable;
}

/// Says that the user has signed in. What the daemon still refuses of the session before is sent again.
export function beginSession() {
    session += 1;
}

export const url = (path) => new URL(path, base).href;

/// A random key: `crypto.randomUUID` exists on secure origins only.
export function randomKey() {
    return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function send(method, path, body, options = {}) {
    const { signal, keepalive, headers, quiet } = options;
    const sentIn = session;
    let response;
    try {
        response = await fetch(url(path), {
            method,
            signal,
            keepalive,
            credentials: "same-origin",
            cache: "no-store",
            // Writes are JSON also without a body: the daemon refuses what a plain form could send.
            headers: { ...(method === "GET" ? {} : { "Content-Type": "application/json" }), ...headers },
            body: body === undefined ? undefined : JSON.stringify(body),
        });
    } catch (error) {
        if (error.name === "AbortError") throw error;
        onUnreachable();
        throw new APIError({ code: "unreachable", detail: "" }, 0);
    }
    if (response.ok) return response.status === 204 ? null : response.json();
    let problem = {};
    try {
        problem = await response.json();
    } catch {
        // A proxy may answer without a problem document.
    }
    problem.retryAfter = Number(response.headers.get("Retry-After")) || undefined;
    if (response.status === 401 && !quiet) {
        if (sentIn !== session) return send(method, path, body, options);
        onUnauthorized();
    }
    throw new APIError(problem, response.status);
}

export const api = {
    get: (path, options) => send("GET", path, undefined, options),
    post: (path, body = {}, options) => send("POST", path, body, options),
    patch: (path, body, options) => send("PATCH", path, body, options),
    remove: (path, options) => send("DELETE", path, undefined, options),
};

/// A query string without empty values, with `%20` for a blank.
export function query(values) {
    const parameters = new URLSearchParams();
    for (const [key, value] of Object.entries(values)) {
        if (value !== undefined && value !== null && value !== "") parameters.set(key, value);
    }
    return parameters.toString().replaceAll("+", "%20");
}
