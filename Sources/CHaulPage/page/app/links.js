// Finds links in pasted text, dropped data and files. In running text, full-width brackets are part of a link if the
// link goes on behind them: `文件（1）.zip`.
const LINK = /\bhttps?:\/\/(?:（[^\s（）]*）(?=[\w.%/-])|[^\s<>"\u3000-\u303f\uff00-\uff0f\uff1a-\uff20])+/gi;
const CLOSING = { "'": "'", "`": "`", "\u2018": "\u2019", "\u201c": "\u201d" };
// A repository of a model hub: `hf://ORG/NAME@REVISION`.
const HUB = /^hf:\/\/[^\s<>"']+$/i;
// Names of lists of digests, and the ends of the addresses of releases.
const LIST = /^(?:(?:md5|sha(?:1|224|256|384|512))sums?(?:\.(?:txt|asc))?|.*checksums?(?:\.txt)?|.+\.(?:md5|sha1|sha256|sha512|sha256sum|sha512sum))$/i;
const RELEASE = /\/releases\/(?:tag\/.+|latest|permalink\/latest)$|\/-\/releases\/[^/]+$/;
// The page of a repository at the usual hub. Other pages there have these names in front.
const HUB_PAGE = /^\/(?:(?:datasets|spaces)\/[^/]+|(?!(?:api|blog|chat|collections|datasets|docs|enterprise|join|learn|models|organizations|papers|posts|settings|spaces|tasks)\/)[^/]+)\/[^/]+(?:\/tree\/[^/]+)?$/;
// Links that only other programs can use. Those inside a web address, as in its query, belong to it.
const OTHER = /(?<![^\s<>"'(\[{])(?:(magnet|blob):|([a-z][a-z0-9+.-]{1,15}):\/\/)\S+/gi;
// Invisible characters that chats and documents leave beside a link.
const UNSEEN = /^[\s\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]+|[\s\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]+$/g;

/// `{links, sets, refused, rejected}`: valid http and https URLs in order, each once; references to model hubs; links of
/// other kinds as `{kind, link}`; and how many lines have no link at all.
export function linksIn(text) {
    const links = new Set();
    const sets = new Set();
    const refused = new Map();
    let rejected = 0;
    for (const line of String(text ?? "").split(/[\r\n\u2028\u2029]+/)) {
        const trimmed = line.replace(UNSEEN, "");
        if (trimmed === "" || trimmed.startsWith("#")) continue;
        // A line that is a single URL is taken whole, even with characters at which `linksInText` would cut it.
        const found = /^https?:\/\/\S+$/i.test(trimmed) && isLink(trimmed) ? [trimmed] : linksInText(trimmed);
        const others = [...trimmed.matchAll(OTHER)].map(([link, known, kind]) => ({ kind: (known ?? kind).toLowerCase(), link })).filter(({ kind }) => !/^https?$/.test(kind));
        if (found.length === 0 && others.length === 0) rejected += 1;
        for (const link of found) links.add(link);
        for (const other of others) {
            if (HUB.test(other.link)) sets.add(withoutEnd(other.link));
            else refused.set(other.link, other);
        }
    }
    return { links: [...links], sets: [...sets], refused: [...refused.values()], rejected };
}

/// Whether a link leads to a list of digests, a release or a repository of the usual hub, by its address alone.
export function mayBeSet(link) {
    const { hostname, pathname } = new URL(link);
    const path = pathname.replace(/\/$/, "");
    return (hostname === "huggingface.co" && HUB_PAGE.test(path)) || RELEASE.test(path) || LIST.test(path.split("/").pop());
}

/// The kinds of refused links, each once.
export const kindsOf = (refused) => [...new Set(refused.map(({ kind }) => kind))];

function linksInText(text) {
    return [...text.matchAll(LINK)]
        .filter((match) => !text.slice(0, match.index).toLowerCase().endsWith("blob:"))
        .map((match) => {
            // A link in quotes ends with them. Elsewhere an apostrophe is part of it.
            const closing = CLOSING[text[match.index - 1]];
            const end = closing ? match[0].indexOf(closing) : -1;
            return end < 0 ? withoutEnd(match[0]) : match[0].slice(0, end);
        })
        .filter(isLink);
}

/// Whether a text has links of any kind. The dialog says which of them cannot be downloaded.
export function hasLinks(text) {
    const { links, sets, refused } = linksIn(text);
    return links.length > 0 || sets.length > 0 || refused.length > 0;
}

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
