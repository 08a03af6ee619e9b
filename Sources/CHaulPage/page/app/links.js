// Finds links in pasted text, dropped data and files.
const LINK = /\bhttps?:\/\/[^\s<>"'`\u3000-\u303f\uff00-\uff0f\uff1a-\uff20]+/gi;

/// `{links, rejected}`: valid http and https URLs in order, each once; and how many lines have none.
export function linksIn(text) {
    const links = new Set();
    let rejected = 0;
    for (const line of String(text ?? "").split(/\r?\n/)) {
        const trimmed = line.trim();
        if (trimmed === "" || trimmed.startsWith("#")) continue;
        const found = (trimmed.match(LINK) ?? []).map(withoutEnd).filter(isLink);
        if (found.length === 0) rejected += 1;
        for (const link of found) links.add(link);
    }
    return { links: [...links], rejected };
}

export const countLinks = (text) => linksIn(text).links.length;

/// Punctuation at the end belongs to the text around the link; a bracket belongs to the link when it was opened inside.
function withoutEnd(link) {
    for (;;) {
        const last = link.at(-1);
        const open = { ")": "(", "]": "[", "}": "{" }[last];
        if (open ? link.split(open).length >= link.split(last).length : !".,;!".includes(last)) return link;
        link = link.slice(0, -1);
    }
}

function isLink(text) {
    try {
        const { protocol, hostname } = new URL(text);
        return (protocol === "http:" || protocol === "https:") && hostname !== "";
    } catch {
        return false;
    }
}

/// The names in a Metalink document (RFC 5854 and version 3), or `null` when it is none.
export function metalinkNames(text) {
    if (!/<metalink[\s>]/i.test(text.slice(0, 4000))) return null;
    const document = new DOMParser().parseFromString(text, "application/xml");
    if (document.querySelector("parsererror")) return null;
    return [...document.getElementsByTagNameNS("*", "file")].map((file) => file.getAttribute("name") ?? "");
}
