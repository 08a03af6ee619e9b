// The actions of a row or of the selection: for the menu of a row, the bar over the list, and keys.
import { act, actOne, copyText, fileURL, move, orderedIds, saveFile, targetOf } from "./commands.js";
import { isApple } from "./dom.js";
import { previewOf } from "./kinds.js";
import { canPause, canResume, canRetry, isActive } from "./lists.js";
import { daemon, list, selection } from "./model.js";
import { remove } from "./removal.js";
import { t } from "./text.js";

const alt = isApple ? "⌥" : "Alt+";
export const PRIORITIES = [1, 0, -1];

/// Whether the daemon sends the file of the row although it is not complete: a film or music of known length.
export function canPlay(row) {
    const isPossible = daemon.playing && !["completed", "cancelled"].includes(row.state) && row.receivedBytes > 0;
    return isPossible && !row.stream && row.totalBytes > 0 && ["video", "audio"].includes(previewOf(row.name));
}

/// The menu of a row. `open` shows its details.
export function rowMenu(row, open) {
    const many = selection.has(row.id) && selection.count > 1;
    const target = targetOf(row.id);
    const count = many ? selection.count : 1;
    const run = (action) => () => act(action, target);
    const items = [];
    if (!many) {
        items.push({ label: t("details"), icon: "i-details", keys: "Enter", run: () => open(row.id) }, null);
        if (row.state === "completed") items.push({ label: t("action.save"), icon: "i-save", run: () => saveFile(row) });
        if (canPlay(row)) items.push({ label: t("action.play"), icon: "i-play", run: () => window.open(fileURL(row.id), "_blank", "noopener") });
        if (row.state === "queued" || row.holdReason) items.push({ label: t("action.start"), icon: "i-play", run: () => actOne("start", row.id) });
    }
    if (many || canPause(row)) items.push({ label: t("action.pause"), icon: "i-pause", keys: "P", run: run("pause") });
    if (many || canResume(row)) items.push({ label: t("action.resume"), icon: "i-play", keys: "R", run: run("resume") });
    if (many || canRetry(row)) items.push({ label: t("action.retry"), icon: "i-retry", keys: "R", run: run("retry") });
    if (!many && row.state === "completed") items.push({ label: t("action.again"), icon: "i-retry", run: () => actOne("again", row.id) });
    if (many || row.state === "queued" || isActive(row.state) || row.state === "paused") {
        items.push(null, ...PRIORITIES.map((priority) => ({ label: t(`priority.${priority}`), icon: !many && (row.priority ?? 0) === priority ? "i-check" : undefined, run: () => act("setPriority", target, { priority }) })));
    }
    if (list.view.list === "queued" && !selection.all) {
        const ids = many ? orderedIds() : [row.id];
        items.push(
            null,
            { label: t("moveFirst"), icon: "i-top", keys: `${alt}Home`, run: () => move(ids, { to: "first" }) },
            { label: t("moveLast"), icon: "i-bottom", keys: `${alt}End`, run: () => move(ids, { to: "last" }) },
        );
    }
    // Offers no copy of a masked URL, because a link without its secret parts does not work.
    if (!many && !row.url.includes("***")) items.push(null, { label: t("copyLink"), icon: "i-link", run: () => copyText(row.url) });
    items.push(
        null,
        { label: t("remove"), icon: "i-remove", keys: "Del", run: () => remove(target, count) },
        { label: t("removeWithFiles"), danger: true, keys: isApple ? "⇧Del" : "Shift+Del", run: () => remove(target, count, true) },
    );
    return items;
}

/// Runs the action of a row's button.
export function runMain(row, action) {
    if (action === "save") saveFile(row);
    else if (action === "start") actOne("start", row.id);
    else act(action, { ids: [row.id] });
}
