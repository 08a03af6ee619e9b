// Mouse and touch on the list: selecting, opening, the buttons of a row, its menu, and dragging in the queue.
import { move, orderedIds } from "./commands.js";
import { byId, el } from "./dom.js";
import { openMenu } from "./menu.js";
import { list, selection } from "./model.js";
import { rowMenu, runMain } from "./row-menu.js";
import { t } from "./text.js";

const LONG_PRESS = 400;
const DRAG_AFTER = 6;
const EDGE = 48;

let anchor = 0;

/// Selects from the anchor to a place. Ids that the page does not hold are read.
export async function selectRange(grid, index, keep = false) {
    const [first, last] = [Math.min(anchor, index), Math.max(anchor, index)];
    const ids = (await list.rowsBetween(first, last)).map((row) => row.id);
    keep ? selection.add(ids) : selection.set(ids);
}

export const setAnchor = (index) => (anchor = index);

export function startPointer(grid, open) {
    const element = grid.element;
    let touch = null;
    let press = null;

    const menu = (view, options) => {
        const row = list.row(view.id);
        if (!row) return;
        if (!selection.has(row.id)) selection.only(row.id);
        openMenu({ items: rowMenu(row, open), label: t("actions"), focus: element, ...options });
    };

    element.addEventListener("click", (event) => {
        if (dragging || suppressed) return;
        const view = grid.viewAt(event.target);
        if (!view) {
            if (!touch) selection.clear();
            return;
        }
        const row = list.row(view.id);
        if (!row) return;
        if (event.target.closest(".act")) return runMain(row, view.act.dataset.action);
        if (event.target.closest(".more")) return menu(view, { anchor: view.more });
        grid.activate(view.index);
        const picked = Boolean(event.target.closest(".cell-pick"));
        if (event.shiftKey) {
            selectRange(grid, view.index, event.ctrlKey || event.metaKey);
            return;
        }
        anchor = view.index;
        if (picked || event.ctrlKey || event.metaKey || selection.mode) {
            if (picked && touch) selection.mode = true;
            selection.toggle(row.id);
        } else if (touch) {
            open(row.id);
        } else {
            selection.only(row.id);
        }
    });
    element.addEventListener("mousedown", (event) => {
        // Keeps the focus on the list after a click on a row's button, so that the keys go on working.
        if (!event.target.closest(".row button")) return;
        event.preventDefault();
        element.focus({ preventScroll: true });
    });
    element.addEventListener("dblclick", (event) => {
        // Ignores touch: browsers report two quick taps as a double click, whatever came between them.
        if (touch) return;
        const view = grid.viewAt(event.target);
        if (view?.id && !event.target.closest("button, .cell-pick")) open(view.id);
    });
    element.addEventListener("contextmenu", (event) => {
        const view = grid.viewAt(event.target);
        if (!view) return;
        event.preventDefault();
        if (touch) return;
        grid.activate(view.index);
        menu(view, { point: { x: event.clientX, y: event.clientY } });
    });

    // MARK: Long press

    let suppressed = false;
    element.addEventListener("pointerdown", (event) => {
        touch = event.pointerType === "mouse" ? null : event.pointerType;
        suppressed = false;
        const view = grid.viewAt(event.target);
        clearTimeout(press);
        if (!view?.id || event.button !== 0) return;
        if (list.view.list === "queued" && list.view.sort === "queue" && (event.target.closest(".grip") || (!touch && !event.target.closest("button")))) return beginDrag(event, view);
        if (!touch) return;
        const { clientX, clientY } = event;
        const controller = new AbortController();
        const stop = () => (clearTimeout(press), controller.abort());
        press = setTimeout(() => {
            controller.abort();
            suppressed = true;
            navigator.vibrate?.(10);
            selection.mode = true;
            anchor = view.index;
            grid.activate(view.index);
            selection.has(view.id) ? selection.emit("change") : selection.toggle(view.id);
        }, LONG_PRESS);
        addEventListener("pointerup", stop, { signal: controller.signal });
        addEventListener("pointercancel", stop, { signal: controller.signal });
        addEventListener("pointermove", (moved) => Math.hypot(moved.clientX - clientX, moved.clientY - clientY) > 8 && stop(), { signal: controller.signal });
    });

    // MARK: Dragging in the queue

    let dragging = false;
    function beginDrag(event, view) {
        const { clientX, clientY, pointerId } = event;
        const id = view.id;
        const controller = new AbortController();
        const { signal } = controller;
        let line = null;
        let ghost = null;
        let place = null;
        let pointer = { x: clientX, y: clientY };
        let scroll = null;
        const start = () => {
            dragging = true;
            element.setPointerCapture?.(pointerId);
            if (selection.all || !selection.has(id)) selection.only(id);
            line = el("div", { class: "drop-line", "aria-hidden": "true" });
            ghost = el("div", { class: "drag-ghost", text: selection.count === 1 ? view.name.title : t("downloads", selection.count) });
            grid.body.append(line);
            document.body.append(ghost);
            element.classList.add("dragging");
            scroll = setInterval(() => {
                const box = element.getBoundingClientRect();
                if (pointer.y < box.top + EDGE) element.scrollTop -= 12;
                else if (pointer.y > box.bottom - EDGE) element.scrollTop += 12;
                else return;
                draw();
            }, 16);
        };
        const draw = () => {
            place = grid.placeAt(pointer.y);
            line.style.transform = `translateY(${grid.offsetOf(place)}px)`;
            ghost.style.setProperty("--x", `${pointer.x}px`);
            ghost.style.setProperty("--y", `${pointer.y}px`);
        };
        const end = (drop) => {
            controller.abort();
            clearInterval(scroll);
            line?.remove();
            ghost?.remove();
            element.classList.remove("dragging");
            if (!dragging) return;
            // The click that follows the release belongs to the drag.
            setTimeout(() => (dragging = false));
            if (drop) moveTo(place);
        };
        addEventListener("pointermove", (moved) => {
            pointer = { x: moved.clientX, y: moved.clientY };
            if (!dragging) {
                if (Math.hypot(pointer.x - clientX, pointer.y - clientY) < DRAG_AFTER) return;
                start();
            }
            draw();
        }, { signal });
        addEventListener("pointerup", () => end(true), { signal });
        addEventListener("pointercancel", () => end(false), { signal });
        addEventListener("keydown", (key) => {
            if (key.key !== "Escape" || !dragging) return;
            key.stopPropagation();
            end(false);
        }, { signal, capture: true });
    }

    /// Moves the selected downloads before the one at a place.
    function moveTo(place) {
        const ids = orderedIds();
        if (!ids) return;
        let before = place;
        while (before < list.length && ids.includes(list.idAt(before))) before += 1;
        const next = list.idAt(before);
        if (before >= list.length) move(ids, { to: "last" });
        else if (next !== undefined) move(ids, { before: next });
    }

    byId("list-head").addEventListener("pointerdown", () => (touch = null));
}
