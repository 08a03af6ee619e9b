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
