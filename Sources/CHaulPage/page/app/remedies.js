// What to do about an error, by its code. The daemon's own advice is English.
import { visible } from "./format.js";
import { has, t } from "./text.js";

const KINDS = {
    invalidURL: "link", unsupportedScheme: "link", invalidChecksum: "checksum", invalidDestination: "name", nameTooLong: "name",
    nameNotResolved: "network", connectionFailed: "network", connectionLost: "network", timedOut: "network", proxyFailed: "proxy",
    unexpectedWebPage: "webPage", contentChanged: "changed", diskFull: "space", permissionDenied: "folder", readOnly: "folder",
    tooManyOpenFiles: "openFiles", fileExists: "exists", inUse: "inUse", checksumMismatch: "mismatch", addressDenied: "address",
    incompleteStream: "stream", programMissing: "program", unprovedSet: "signature",
};

function kindOf({ code, status = 0 }) {
    if (code !== "refusedByServer") return KINDS[code];
    if (status === 401 || status === 403) return "login";
    return status === 404 || status === 410 ? "url" : "later";
}

/// The advice for an error as `{text, lang}`; `null` if the daemon has none. `lang` marks the daemon's English.
export function remedyOf(error) {
    if (!error.suggestion) return null;
    const key = `remedy.${kindOf(error)}`;
    return has(key) ? { text: t(key) } : { text: visible(error.suggestion), lang: "en" };
}
