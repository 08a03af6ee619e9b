// The keyboard: the list's keys while it has the focus, and a few for the page.
import { act, move, orderedIds } from "./commands.js";
import { byId, el, isApple, isTyping } from "./dom.js";
import { mainAction } from "./describe.js";
import { openDialog } from "./dialog.js";
import { isActive } from "./lists.js";
import { closeMenu, openMenu } from "./menu.js";
import { list, selection } from "./model.js";
import { selectRange, setAnchor } from "./pointer.js";
import { preference } from "./preferences.js";
import { printList } from "./print.js";
import { remove } from "./removal.js";
import { rowMenu, runMain } from "./row-menu.js";
import { t } from "./text.js";
import { useToast } from "./toast.js";

const letters = () => preference("letters") !== "off";

export function startKeys(grid, { open, close, add, search, clearSearch }) {
    addEventListener("keydown", (event) => {
        if (event.defaultPrevented || event.isComposing || document.querySelector("dialog[open]")) return;
        const command = isApple ? event.metaKey : event.ctrlKey;
        if (command && !event.shiftKey && !event.altKey && event.key.toLowerCase() === "f") {
            search();
        } else if (command && !event.shiftKey && !event.altKey && event.key.toLowerCase() === "p" && list.length > 0) {
            printList();
        } else if (event.key === "Escape") {
            if (document.activeElement?.id === "search" && byId("search").value === "") byId("grid").focus();
            else if (!close() && !clearSearch() && selection.count > 0) selection.clear();
        } else if (isTyping(event.target)) {
            return;
        } else if (command && !event.shiftKey && event.key.toLowerCase() === "z") {
            if (!useToast()) return;
        } else if (event.ctrlKey || event.metaKey || event.altKey || !letters()) {
            return;
        } else if (event.key === "/") {
            search();
        } else if (event.key === "?") {
            showKeys();
        } else if (event.key.toLowerCase() === "n") {
            add();
        } else {
            return;
        }
        event.preventDefault();
    });

    grid.element.addEventListener("keydown", (event) => {
        if (event.target !== grid.element || event.isComposing || list.length === 0) return;
        if (onGrid(event, grid, open)) {
            event.preventDefault();
            event.stopPropagation();
        }
    });
    grid.element.addEventListener("focus", () => grid.redraw());
}

function onGrid(event, grid, open) {
    const { key, shiftKey, altKey } = event;
    const command = isApple ? event.metaKey : event.ctrlKey;
    const row = list.rowAt(grid.active);
    const steps = { ArrowUp: -1, ArrowDown: 1, PageUp: -grid.pageRows, PageDown: grid.pageRows, Home: -Infinity, End: Infinity };
    if (key in steps) {
        if (altKey) return moveRows(key, grid);
        const next = Math.max(0, Math.min(list.length - 1, grid.active + steps[key]));
        grid.activate(next);
        if (shiftKey) {
            selectRange(grid, next);
        } else if (!command) {
            setAnchor(next);
            const id = list.idAt(next);
            if (id !== undefined) selection.only(id);
        }
        return true;
    }
    if (command && key.toLowerCase() === "a" && !shiftKey && !altKey) {
        selection.selectAll();
        return true;
    }
    if (key === "Delete" || (isApple && key === "Backspace")) {
        if (selection.count > 0) remove(selection.target, selection.count, shiftKey);
        else if (row) remove({ ids: [row.id] }, 1, shiftKey);
        return true;
    }
    if (event.ctrlKey || event.metaKey || altKey || !row) return false;
    switch (key) {
        case "ArrowRight": grid.activate(grid.active, Math.min(2, grid.part + 1)); return true;
        case "ArrowLeft": grid.activate(grid.active, Math.max(0, grid.part - 1)); return true;
        case " ":
            if (grid.part > 0) return press(row, grid);
            setAnchor(grid.active);
            selection.toggle(row.id);
            return true;
        case "Enter":
            if (grid.part > 0) return press(row, grid);
            open(row.id, true);
            return true;
        case "F10": if (!shiftKey) return false;
        // falls through
        case "ContextMenu":
            openMenu({ items: rowMenu(row, open), label: t("actions"), anchor: null, point: below(grid), focus: grid.element });
            return true;
    }
    if (!letters()) return false;
    const target = selection.count > 0 ? selection.target : { ids: [row.id] };
    if (key.toLowerCase() === "p") act("pause", target);
    else if (key.toLowerCase() === "r") resumeOrRetry(target);
    else return false;
    return true;
}

function below(grid) {
    const box = grid.anchor()?.getBoundingClientRect() ?? grid.element.getBoundingClientRect();
    return { x: grid.part === 2 ? box.right - 220 : box.left + 48, y: box.bottom };
}

function press(row, grid) {
    if (grid.part === 1) runMain(row, mainAction(row).action);
    else openMenu({ items: rowMenu(row, () => {}), label: t("actions"), point: below(grid), focus: grid.element });
    return true;
}

/// R: resumes paused downloads, and tries failed and waiting ones again.
function resumeOrRetry(target) {
    const rows = target.ids?.map((id) => list.row(id)).filter(Boolean) ?? [];
    const failed = rows.filter((row) => row.state === "failed" || row.state === "waiting").map((row) => row.id);
    if (!target.ids || failed.length === 0) return act("resume", target);
    const others = target.ids.filter((id) => !failed.includes(id));
    act("retry", { ids: failed });
    if (others.some((id) => !isActive(list.row(id)?.state))) act("resume", { ids: others });
}

function moveRows(key, grid) {
    if (list.view.list !== "queued" || list.view.sort !== "queue") return false;
    const row = list.rowAt(grid.active);
    if (!row) return false;
    const ids = selection.has(row.id) ? orderedIds() : [row.id];
    if (!ids) return true;
    const places = ids.map((id) => list.indexOf(id)).filter((place) => place >= 0);
    if (key === "Home") move(ids, { to: "first" });
    else if (key === "End") move(ids, { to: "last" });
    else if (key === "ArrowUp") {
        const before = list.idAt(Math.min(...places) - 1);
        if (before !== undefined) move(ids, { before });
    } else if (key === "ArrowDown") {
        const after = list.idAt(Math.max(...places) + 1);
        if (after !== undefined) move(ids, { after });
    }
    return true;
}

export function showKeys() {
    closeMenu(false);
    const command = isApple ? "⌘" : "Ctrl";
    const alt = isApple ? "⌥" : "Alt";
    const shift = isApple ? "⇧" : "Shift";
    const groups = [
        ["keys.page", [["N", "add"], ["/", "keys.search"], ["?", "keys.help"], [`${command} Enter`, "keys.submit"], [`${command} P`, "print"], [`${command} Z`, "undo"], ["Esc", "keys.escape"]]],
        ["keys.downloads", [["P", "action.pause"], ["R", "keys.resume"], ["Del", "remove"], [`${shift} Del`, "removeWithFiles"], [`${alt} ↑ ↓`, "keys.queue"], [`${alt} Home End`, "keys.queueEnds"]]],
        ["keys.list", [["↑ ↓", "keys.move"], ["Home End", "keys.ends"], ["← →", "keys.buttons"], ["Space", "keys.select"], [`${shift} ↑ ↓`, "keys.extend"], [`${command} A`, "keys.all"], ["Enter", "details"], [`${shift} F10`, "actions"]]],
    ];
    openDialog({
        title: t("keys"),
        className: "keys",
        body: el("div", { class: "dialog-body keys-body", tabindex: 0 }, groups.map(([title, rows]) => el("section", {}, el("h3", { text: t(title) }), el("dl", {}, rows.map(([keys, key]) => [
            el("dt", {}, keys.split(" ").map((each) => el("kbd", { text: each }))),
            el("dd", { text: t(key) }),
        ]))))),
    });
}
