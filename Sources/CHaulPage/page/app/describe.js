// Describes the state of a download: in words, by a progress bar, and by the single action that its row offers.
import { age, bytes, bytesOf, count, countdown, filmLength, percent, speed, timeLeft, visible } from "./format.js";
import { isActive } from "./lists.js";
import { has, t } from "./text.js";

const DOT = "\u2002\u00b7\u2002";

export function sizeText(row) {
    if (row.state === "completed") return bytes(row.totalBytes ?? row.receivedBytes);
    if (row.totalBytes === undefined) return row.receivedBytes > 0 ? bytes(row.receivedBytes) : "";
    const about = row.stream ? "~" : "";
    return row.receivedBytes > 0 ? bytesOf(row.receivedBytes, row.totalBytes, about) : `${about}${bytes(row.totalBytes)}`;
}

/// The segments of a running film: `segment 120 of 300`. Empty for other files.
export function filmText({ stream, state }) {
    if (!stream || state === "completed") return "";
    if (stream.isLive) return t("segmentsLive", stream.receivedSegments, filmLength(stream.receivedSeconds));
    return stream.segments > 0 ? t("segmentOf", count(stream.receivedSegments), count(stream.segments)) : "";
}

/// How much is there, and of how much: in segments of a film, else in bytes. `null` while the whole is unknown.
export function amounts({ stream, receivedBytes, totalBytes }) {
    if (stream) return !stream.isLive && stream.segments > 0 ? [stream.receivedSegments, stream.segments] : null;
    return totalBytes > 0 ? [receivedBytes, totalBytes] : null;
}

export const holdText = (reason) => (has(`hold.${reason}`) ? t(`hold.${reason}`) : visible(reason));

/// The sentence of an error. The daemon's text is English; the codes have texts in other languages.
export function errorText(error) {
    if (!error) return "";
    const key = error.status && has(`error.${error.code}.status`) ? `error.${error.code}.status` : `error.${error.code}`;
    return has(key) ? t(key, error.status) : visible(error.message ?? error.detail ?? error.code);
}

export function stateText(row) {
    if (row.holdReason) return holdText(row.holdReason);
    if (row.state === "waiting" && row.retryAt) return t("retriesIn", countdown(row.retryAt));
    return t(`state.${row.state}`);
}

/// The status line of a row: `what` may be cropped, `speed` and `left` have places of their own.
export function describe(row, { group = true } = {}) {
    const size = sizeText(row);
    const film = filmText(row);
    const label = group && row.group ? visible(row.group) : "";
    const join = (...parts) => parts.filter(Boolean).join(DOT);
    switch (row.state) {
        case "transferring":
            return { what: join(film, ...(film ? [size, visible(row.host)] : [visible(row.host), size]), label), speed: speed(row.bytesPerSecond), left: timeLeft(row.secondsLeft) };
        case "waiting":
            return { what: join(stateText(row), errorText(row.error) || visible(row.host)), tone: "warn" };
        case "failed":
            return { what: errorText(row.error) || t("state.failed"), tone: "error" };
        case "completed":
            return { what: join(row.gaps ? t("withGaps") : "", size, visible(row.host), label), left: row.endedAt ? age(row.endedAt) : "", tone: row.gaps ? "warn" : undefined };
        default:
            return { what: join(stateText(row), film, visible(row.host), size, label), tone: row.holdReason ? "warn" : undefined };
    }
}

/// The progress bar of a row; `null` if the row needs none.
export function progress(row) {
    if (row.state === "completed" || row.state === "failed") return null;
    if ((row.state === "queued" || row.state === "paused") && !row.receivedBytes) return null;
    const known = amounts(row);
    if (!known) return row.state === "transferring" || row.state === "connecting" ? { value: null, text: filmText(row) || t("sizeUnknown") } : null;
    const [there, whole] = known;
    const value = percent(there, whole);
    const left = row.state === "transferring" ? timeLeft(row.secondsLeft) : stateText(row);
    return { value, part: Math.min(1, there / whole), text: t("progressText", value, left) };
}

/// The action of the row's button.
export function mainAction(row) {
    if (isActive(row.state)) return { action: "pause", icon: "i-pause" };
    switch (row.state) {
        case "queued": return { action: "start", icon: "i-play" };
        case "paused": return { action: "resume", icon: "i-play" };
        case "failed": return { action: "retry", icon: "i-retry" };
        default: return { action: "save", icon: "i-save" };
    }
}
