// The texts of the log of a download. The daemon's own texts are English; the codes have texts in every language.
import { errorText, holdText } from "./describe.js";
import { visible } from "./format.js";
import { has, t } from "./text.js";

/// Returns the text of an entry as `{text, lang}`. `lang` marks the daemon's English, which unknown codes keep.
export function logText(entry) {
    const text = translated(entry);
    return text ? { text } : { text: visible(entry.text), lang: "en" };
}

function translated({ code, host, holdReason, error, path }) {
    const isKnown = error && has(`error.${error.code}`);
    switch (code) {
        case "added":
        case "verifying":
        case "paused": return t(`log.${code}`);
        case "queued": return [t("log.queued"), holdReason ? holdText(holdReason) : ""].filter(Boolean).join(" ");
        case "held": return holdReason && holdText(holdReason);
        case "connecting":
        case "receiving": return host && t(`log.${code}`, visible(host));
        case "retrying": return isKnown && t("log.retrying", errorText(error));
        case "failed": return isKnown && errorText(error);
        case "completed": return path && t("log.completed", visible(path));
        default: return null;
    }
}
