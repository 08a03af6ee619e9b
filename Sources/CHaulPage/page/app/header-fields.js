// Request headers as people write them: `Name: value`, one a line.

/// The headers of a text, or `null` where it has none.
export function headersIn(text) {
    const headers = {};
    for (const line of text.split(/\r?\n/)) {
        const at = line.indexOf(":");
        if (at > 0) headers[line.slice(0, at).trim()] = line.slice(at + 1).trim();
    }
    return Object.keys(headers).length > 0 ? headers : null;
}

/// The headers with the name and password of a user (RFC 7617, UTF-8), unless there is no name or they have their own.
export function withUser(headers, user, password) {
    if (user === "" || Object.keys(headers ?? {}).some((name) => name.toLowerCase() === "authorization")) return headers;
    const octets = new TextEncoder().encode(`${user}:${password}`);
    return { ...headers, Authorization: `Basic ${btoa(String.fromCharCode(...octets))}` };
}
