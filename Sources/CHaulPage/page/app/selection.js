// Which downloads are selected. "All" is a flag with exceptions, so that 100,000 ids never reach the page.
import { Emitter } from "./emitter.js";

export class Selection extends Emitter {
    all = false;
    /// The selected ids, or the exceptions of `all`.
    ids = new Set();
    /// Touch: taps select instead of opening.
    mode = false;

    constructor(list) {
        super();
        this.list = list;
    }

    get count() {
        return this.all ? Math.max(0, this.list.length - this.ids.size) : this.ids.size;
    }

    has(id) {
        return this.ids.has(id) !== this.all;
    }

    #set(all, ids) {
        this.all = all;
        this.ids = ids;
        if (this.count === 0) this.mode = false;
        this.emit("change");
    }

    clear() {
        this.mode = false;
        this.#set(false, new Set());
    }

    only(id) {
        this.#set(false, new Set([id]));
    }

    set(ids) {
        this.#set(false, new Set(ids));
    }

    add(ids) {
        const next = new Set(this.ids);
        for (const id of ids) this.all ? next.delete(id) : next.add(id);
        this.#set(this.all, next);
    }

    toggle(id) {
        const next = new Set(this.ids);
        if (!next.delete(id)) next.add(id);
        this.#set(this.all, next);
    }

    selectAll() {
        this.#set(true, new Set());
    }

    /// Removed downloads are no longer selected.
    drop(ids) {
        let dropped = false;
        for (const id of ids) dropped = this.ids.delete(id) || dropped;
        if (dropped) this.#set(this.all, this.ids);
    }

    /// What the selection means in a request: ids, or the filter of the list with its exceptions.
    get target() {
        return this.all ? { filter: this.list.filter, except: [...this.ids] } : { ids: [...this.ids] };
    }
}
