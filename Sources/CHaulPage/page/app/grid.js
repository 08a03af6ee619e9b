// The virtual list: rows of fixed height, of which only the visible ones and a few more are in the document.
import { setAttribute } from "./dom.js";
import { RowView } from "./row.js";

const OVERSCAN = 6;
/// Browsers cap the height of an element (Firefox at about 17.8 million px). A longer list is scrolled in proportion.
const MAX_HEIGHT = 12_000_000;

export class Grid {
    /// The row that keys act on: its place and its id. When rows move, the place follows the id.
    active = 0;
    activeId = null;
    /// Which part of the active row is active: 0 the row, 1 its button, 2 its menu.
    part = 0;

    #views = new Map();
    #spare = [];
    #height = 0;
    #rowHeight = 64;
    #frame = false;
    #all = true;
    #dirty = new Set();
    #shift = 0;
    #ticks = 0;
    #settled = null;

    constructor(element, body, list, selection) {
        this.element = element;
        this.body = body;
        this.list = list;
        this.selection = selection;
        element.addEventListener("scroll", () => this.#later(), { passive: true });
        new ResizeObserver(() => this.#measure()).observe(element);
        list.on("structure", () => this.structure());
        list.on("rows", (ids) => this.#refresh(ids));
        selection.on("change", () => {
            element.classList.toggle("selecting", selection.mode || selection.count > 1);
            this.redraw();
        });
    }

    #measure() {
        this.#height = this.element.clientHeight;
        const rowHeight = parseFloat(getComputedStyle(this.element).getPropertyValue("--row")) || 64;
        if (rowHeight !== this.#rowHeight) {
            const top = this.element.scrollTop / this.#rowHeight;
            this.#rowHeight = rowHeight;
            this.structure();
            this.element.scrollTop = top * rowHeight;
        }
        this.redraw();
    }

    get rowHeight() {
        return this.#rowHeight;
    }

    get pageRows() {
        return Math.max(1, Math.floor(this.#height / this.#rowHeight) - 1);
    }

    #geometry() {
        const full = this.list.length * this.#rowHeight;
        const shown = Math.min(full, MAX_HEIGHT);
        const top = this.element.scrollTop;
        const scale = shown > this.#height && full > shown ? (full - this.#height) / (shown - this.#height) : 1;
        return { shown, top, scale, start: top * scale };
    }

    /// The list changed: its length, its order, what it contains.
    structure() {
        setAttribute(this.element, "aria-rowcount", this.list.length);
        if (this.activeId !== null) {
            const at = this.list.indexOf(this.activeId);
            if (at >= 0) this.active = at;
        }
        this.active = Math.max(0, Math.min(this.active, this.list.length - 1));
        this.activeId = this.list.idAt(this.active) ?? this.activeId;
        const { shown } = this.#geometry();
        this.body.style.height = `${shown}px`;
        this.redraw();
    }

    redraw() {
        this.#all = true;
        this.#later();
    }

    /// Called each second. Updates delays each time, and ages every half minute.
    tick() {
        this.#ticks += 1;
        if (this.#ticks % 30 === 0) return this.redraw();
        for (const view of this.#views.values()) if (view.element.dataset.state === "waiting" && view.id) this.#dirty.add(view.id);
        if (this.#dirty.size > 0) this.#later();
    }

    #refresh(ids) {
        for (const id of ids) this.#dirty.add(id);
        this.#later();
    }

    #later() {
        if (this.#frame) return;
        this.#frame = true;
        requestAnimationFrame(() => {
            this.#frame = false;
            this.#draw();
        });
    }

    #draw() {
        const length = this.list.length;
        const { top, start } = this.#geometry();
        const first = Math.max(0, Math.floor(start / this.#rowHeight) - OVERSCAN);
        const last = Math.min(length - 1, Math.ceil((start + this.#height) / this.#rowHeight) + OVERSCAN);
        const shifted = this.#shift !== top - start;
        this.#shift = top - start;
        let added = false;
        const context = { group: this.list.view.group === null };
        for (const [index, view] of this.#views) {
            if (index >= first && index <= last) continue;
            this.#views.delete(index);
            this.#spare.push(view);
        }
        for (let index = first; index <= last; index += 1) {
            let view = this.#views.get(index);
            const row = this.list.rowAt(index);
            const same = view && !this.#all && view.id === (row?.id ?? null) && !(row && this.#dirty.has(row.id));
            if (same && !shifted) continue;
            if (!view) {
                added = true;
                view = this.#spare.pop() ?? new RowView();
                this.#views.set(index, view);
                if (!view.element.isConnected) this.body.append(view.element);
            }
            view.update(row, index, {
                ...context,
                selected: row ? this.selection.has(row.id) : false,
                active: index === this.active,
                offset: index * this.#rowHeight + this.#shift,
            });
        }
        for (const view of this.#spare) view.element.remove();
        this.#all = false;
        this.#dirty.clear();
        this.#describeActive();
        if (added) this.#sortLater();
        if (length > 0) this.list.want(Math.floor(start / this.#rowHeight), Math.min(length - 1, Math.floor((start + this.#height) / this.#rowHeight)));
    }

    /// Rows are reused in any order. Once scrolling has settled, their order in the document is the shown one, because
    /// screen readers follow the document.
    #sortLater() {
        clearTimeout(this.#settled);
        this.#settled = setTimeout(() => {
            if (this.element.matches(":active")) return this.#sortLater();
            const views = [...this.#views.values()].sort((a, b) => a.index - b.index);
            let next = null;
            for (const { element } of views.reverse()) {
                if (element.nextElementSibling !== next && !element.contains(document.activeElement)) this.body.insertBefore(element, next);
                next = element;
            }
        }, 400);
    }

    #describeActive() {
        const view = this.#views.get(this.active);
        const id = view ? [view.element.id, view.act.id, view.more.id][this.part] : null;
        setAttribute(this.element, "aria-activedescendant", id || null);
        for (const each of this.#views.values()) {
            each.act.classList.toggle("focus", each === view && this.part === 1);
            each.more.classList.toggle("focus", each === view && this.part === 2);
        }
    }

    // MARK: The active row

    activate(index, part = 0) {
        if (this.list.length === 0) return;
        this.active = Math.max(0, Math.min(index, this.list.length - 1));
        this.activeId = this.list.idAt(this.active) ?? null;
        this.part = part;
        this.reveal(this.active);
        this.#describeActive();
        this.redraw();
    }

    reveal(index) {
        const { start, scale } = this.#geometry();
        const top = index * this.#rowHeight;
        const bottom = top + this.#rowHeight;
        let wanted = start;
        if (top < start) wanted = top;
        else if (bottom > start + this.#height) wanted = bottom - this.#height;
        if (wanted === start) return;
        this.element.scrollTop = wanted / scale;
    }

    /// The active row's element of a part, for menus.
    anchor() {
        const view = this.#views.get(this.active);
        return view ? [view.element, view.act, view.more][this.part] : null;
    }

    viewAt(node) {
        const element = node.closest?.(".row");
        if (!element) return null;
        for (const view of this.#views.values()) if (view.element === element) return view;
        return null;
    }

    /// The place between two rows that is nearest to a pointer.
    placeAt(clientY) {
        const { start } = this.#geometry();
        const y = clientY - this.element.getBoundingClientRect().top + start;
        return Math.max(0, Math.min(this.list.length, Math.round(y / this.#rowHeight)));
    }

    offsetOf(index) {
        return index * this.#rowHeight + this.#shift;
    }

    views() {
        return this.#views.values();
    }
}
