// One list of downloads, of which the daemon holds all and the page holds the slices around what is visible.
//
// A slice is 100 rows by offset. Deltas patch the rows that are held; a change of what the list contains, or of its
// order, reads the visible slices again, at most every 500 ms.
import { api, query } from "./api.js";
import { Emitter } from "./emitter.js";
import { lists, sorts } from "./lists.js";
import { patchRow } from "./patch.js";

const SLICE = 100;
const KEPT_SLICES = 24;
const AHEAD = 50;
const REFETCH = 500;
const RETRY = 3000;
const SETTLE = 60;
/// The page sorts this many slices at most, each few seconds.
const SORTED_SLICES = 20;
const SORT_EVERY = 3000;
const SORT_PART = 500;

const number = (rev) => Number(String(rev ?? "").split("-").pop()) || 0;

export class DownloadList extends Emitter {
    view = { list: "all", group: null, text: "", sort: "added" };
    /// `null` until the first answer.
    total = null;
    rev = null;
    failed = false;
    /// The error of the failed request.
    failure = null;

    #rows = new Map();
    #slices = new Map();
    #loading = new Map();
    #outdated = new Set();
    #recent = [];
    #wanted = [0, 0];
    /// Whether the rows are still those of the previous list, because the first answer is missing.
    #replacing = false;
    #generation = 0;
    #timer = null;
    #due = 0;
    #fetched = 0;
    #hidden = null;
    #hiddenAt = [];
    #changed = new Set();
    #frame = false;
    #sorting = null;

    /// Shows another list. The old rows stay until the first answer, so that the page does not flicker.
    show(view) {
        this.view = { ...this.view, ...view };
        this.#generation += 1;
        for (const controller of this.#loading.values()) controller.abort();
        this.#loading.clear();
        this.#outdated.clear();
        this.#hidden = null;
        this.#wanted = [0, 0];
        this.#replacing = true;
        return this.#load(0);
    }

    get parameters() {
        const { list, group, text } = this.view;
        const { sort, order } = sorts[this.view.sort];
        return { state: lists[list].states?.join(","), group, text, sort, order };
    }

    /// The filter of `actions`: what the list contains.
    get filter() {
        const { list, group, text } = this.view;
        const filter = {};
        if (lists[list].states) filter.state = lists[list].states;
        if (group !== null) filter.group = group;
        if (text) filter.text = text;
        return filter;
    }

    // MARK: Rows by place

    /// How many rows are shown: without those that are about to be removed.
    get length() {
        if (this.total === null) return 0;
        if (!this.#hidden) return this.total;
        if (this.#hidden.all) return this.#hidden.except.size;
        // A single download may be shown in the panel and not be part of this list.
        const { size } = this.#hidden.ids;
        return Math.max(0, this.total - (size === 1 ? this.#hiddenAt.length : size));
    }

    #place(index) {
        if (!this.#hidden) return index;
        if (this.#hidden.all) return this.#hiddenAt[index] ?? -1;
        let place = index;
        for (const hidden of this.#hiddenAt) {
            if (hidden > place) break;
            place += 1;
        }
        return place;
    }

    idAt(index) {
        const place = this.#place(index);
        return this.#slices.get(Math.floor(place / SLICE))?.ids[place % SLICE];
    }

    rowAt(index) {
        return this.#rows.get(this.idAt(index));
    }

    row(id) {
        return this.#rows.get(id);
    }

    /// The place of a row that is held, or -1.
    indexOf(id) {
        for (const [slice, { ids }] of this.#slices) {
            const at = ids.indexOf(id);
            if (at < 0) continue;
            const place = slice * SLICE + at;
            if (!this.#hidden) return place;
            if (this.#hidden.all) return this.#hiddenAt.indexOf(place);
            return this.#isHidden(id) ? -1 : place - this.#hiddenAt.filter((hidden) => hidden < place).length;
        }
        return -1;
    }

    /// The rows from one place to another, read from the daemon where they are not held. At most 10,000.
    async rowsBetween(first, last) {
        const rows = [];
        const end = Math.min(last, first + 9999);
        for (let index = first; index <= end; ) {
            const row = this.rowAt(index);
            if (row !== undefined) {
                rows.push(row);
                index += 1;
                continue;
            }
            const answer = await api.get(`downloads?${query({ ...this.parameters, limit: Math.min(500, end - index + 1), offset: this.#place(index) })}`);
            if (answer.items.length === 0) break;
            rows.push(...answer.items);
            index += answer.items.length;
        }
        return rows;
    }

    // MARK: Rows that are about to be removed

    /// Hides rows: `{ids: Set}`, or `{all: true, except: Set}`, with their `tally`; `null` shows them again.
    hide(hidden) {
        this.#hidden = hidden;
        this.#placeHidden();
        this.emit("structure");
        if (hidden) this.emit("hidden", (id) => this.#isHidden(id));
    }

    /// How many downloads are hidden; `null` for none.
    get tally() {
        return this.#hidden?.tally ?? null;
    }

    #isHidden(id) {
        return this.#hidden !== null && (this.#hidden.all ? !this.#hidden.except.has(id) : this.#hidden.ids.has(id));
    }

    #placeHidden() {
        this.#hiddenAt = [];
        if (!this.#hidden) return;
        for (const [slice, { ids }] of this.#slices) {
            ids.forEach((id, at) => {
                if (this.#isHidden(id) !== Boolean(this.#hidden.all)) this.#hiddenAt.push(slice * SLICE + at);
            });
        }
        this.#hiddenAt.sort((a, b) => a - b);
    }

    // MARK: Reading

    /// Says which rows are visible. Slices are read once the scrolling has settled for a moment.
    want(first, last) {
        // Includes the rows that the next moments of scrolling will show.
        const slices = [first - AHEAD, last + AHEAD].map((index) => Math.floor(Math.max(0, this.#place(Math.min(index, this.length - 1))) / SLICE));
        const same = slices[0] === this.#wanted[0] && slices[1] === this.#wanted[1];
        this.#wanted = slices;
        if (this.failed) this.#schedule(RETRY);
        else if (!same || this.#missing().length > 0) this.#schedule(SETTLE, !same);
    }

    /// Reads the visible slices again, and the others once they are visible.
    invalidate() {
        for (const slice of this.#slices.values()) slice.stale = true;
        // Marks the slices in flight too, because their answers may be older than the change.
        for (const slice of this.#loading.keys()) this.#outdated.add(slice);
        this.#schedule(Math.max(0, this.#fetched + REFETCH - Date.now()));
    }

    /// Reads the visible slices at once and waits for them.
    async reload() {
        for (const slice of this.#slices.values()) slice.stale = true;
        await Promise.all(this.#missing().map((slice) => this.#load(slice)));
    }

    #missing() {
        if (this.#replacing) return this.#loading.has(0) ? [] : [0];
        const missing = [];
        for (let slice = this.#wanted[0]; slice <= this.#wanted[1]; slice += 1) {
            const held = this.#slices.get(slice);
            const first = this.#isSorted(slice) ? 0 : slice;
            if ((!held || held.stale) && !this.#loading.has(first) && !missing.includes(first) && (this.total === null || slice * SLICE < Math.max(1, this.total))) missing.push(first);
        }
        return missing;
    }

    get #compare() {
        return sorts[this.view.sort].compare;
    }

    /// Whether the page sorts a slice. Such slices are read together.
    #isSorted(slice) {
        return this.#compare !== undefined && slice < SORTED_SLICES;
    }

    #schedule(delay, restart = false) {
        const due = Date.now() + delay;
        if (this.#timer !== null && !restart && this.#due <= due) return;
        clearTimeout(this.#timer);
        this.#due = due;
        this.#timer = setTimeout(() => {
            this.#timer = null;
            for (const [slice, controller] of this.#loading) {
                if (slice < this.#wanted[0] - 1 || slice > this.#wanted[1] + 1) controller.abort();
            }
            if (document.hidden) return;
            for (const slice of this.#missing()) this.#load(slice);
        }, delay);
    }

    async #load(slice) {
        const generation = this.#generation;
        const controller = new AbortController();
        this.#loading.set(slice, controller);
        this.#fetched = Date.now();
        try {
            const answer = this.#isSorted(slice)
                ? await this.#readSorted(controller.signal)
                : await api.get(`downloads?${query({ ...this.parameters, limit: SLICE, offset: slice * SLICE })}`, { signal: controller.signal });
            if (generation !== this.#generation) return false;
            this.#loading.delete(slice);
            this.failed = false;
            this.#take(slice, answer);
            return true;
        } catch (error) {
            if (generation !== this.#generation) return false;
            this.#loading.delete(slice);
            if (error.name !== "AbortError") {
                this.failed = true;
                this.failure = error;
                if (error.status !== 401) this.#schedule(RETRY);
                if (this.#replacing) this.emit("structure");
            }
            return false;
        }
    }

    #take(slice, answer) {
        if (this.#replacing) {
            this.#replacing = false;
            this.#slices.clear();
            this.#rows.clear();
        }
        const rev = number(answer.rev);
        this.rev ??= answer.rev;
        this.total = answer.total;
        for (const item of answer.items) {
            const held = this.#rows.get(item.id);
            // A delta that arrived while the answer was on its way is newer.
            if (held && held.rev > rev) continue;
            item.rev = rev;
            this.#rows.set(item.id, item);
        }
        for (const recent of this.#recent) {
            if (recent.rev <= rev) continue;
            for (const item of answer.items) {
                const fields = recent.rows[item.id];
                const row = this.#rows.get(item.id);
                if (fields && row.rev < recent.rev) this.#patch(row, fields, recent.rev);
            }
        }
        const stale = this.#outdated.delete(slice);
        this.#fill(slice, answer.items.map((row) => row.id), stale);
        for (const key of this.#slices.keys()) if (key * SLICE >= Math.max(1, this.total)) this.#slices.delete(key);
        this.#evict();
        this.#placeHidden();
        this.emit("structure");
        if (this.#missing().length > 0) this.#schedule(stale ? REFETCH : 0);
    }

    /// Puts ids at the place of a slice and of those after it.
    #fill(slice, ids, stale) {
        for (let at = 0; at === 0 || at < ids.length; at += SLICE) {
            const each = slice + at / SLICE;
            this.#slices.delete(each);
            this.#slices.set(each, { ids: ids.slice(at, at + SLICE), stale });
        }
    }

    // MARK: Orders of the page

    async #readSorted(signal) {
        let answer = null;
        const items = [];
        do {
            const part = await api.get(`downloads?${query({ ...this.parameters, limit: SORT_PART, offset: items.length })}`, { signal });
            // With the revision of the first part, changes since then are applied to all parts.
            answer ??= part;
            items.push(...part.items);
            if (part.items.length < SORT_PART) break;
        } while (items.length < SORTED_SLICES * SLICE);
        // A download that moved meanwhile may be in two parts.
        return { ...answer, items: [...new Map(items.map((row) => [row.id, row])).values()].sort(this.#compare) };
    }

    #sortLater() {
        this.#sorting ??= setTimeout(() => {
            this.#sorting = null;
            if (this.#compare && !this.#replacing) this.#sort();
        }, SORT_EVERY);
    }

    #sort() {
        const slices = Array.from({ length: SORTED_SLICES }, (_, slice) => this.#slices.get(slice)).filter(Boolean);
        const ids = slices.flatMap((slice) => slice.ids);
        if (ids.length < Math.min(this.total, SORTED_SLICES * SLICE)) return;
        const sorted = ids.map((id) => this.#rows.get(id)).sort(this.#compare).map((row) => row.id);
        if (sorted.every((id, at) => id === ids[at])) return;
        this.#fill(0, sorted, slices.some((slice) => slice.stale));
        this.#placeHidden();
        this.emit("structure");
    }

    #evict() {
        if (this.#slices.size <= KEPT_SLICES) return;
        for (const key of this.#slices.keys()) {
            if (this.#slices.size <= KEPT_SLICES) break;
            if (key < this.#wanted[0] || key > this.#wanted[1]) this.#slices.delete(key);
        }
        const kept = new Set([...this.#slices.values()].flatMap(({ ids }) => ids));
        for (const id of this.#rows.keys()) if (!kept.has(id)) this.#rows.delete(id);
    }

    // MARK: Deltas

    apply({ data, rev }) {
        const at = number(rev);
        const { list, group, text, sort } = this.view;
        let structural = Boolean(data.stale) || (data.removed?.length ?? 0) > 0;
        for (const [id, fields] of Object.entries(data.rows ?? {})) {
            const row = this.#rows.get(id);
            if (!row) {
                if ("addedAt" in fields || ("state" in fields && list !== "all")) structural = true;
                continue;
            }
            if (at && at <= row.rev) continue;
            if ("state" in fields && fields.state !== row.state && lists[list].states) structural = true;
            if ("group" in fields && group !== null && fields.group !== row.group) structural = true;
            if ("name" in fields && fields.name !== row.name && (text || sort === "name")) structural = true;
            // The total of a running film is an estimate, which the order of the list does not follow.
            if ("totalBytes" in fields && sort === "size" && !row.stream && !fields.stream && fields.totalBytes !== row.totalBytes) structural = true;
            if ("endedAt" in fields && sort === "ended" && fields.endedAt !== row.endedAt) structural = true;
            this.#patch(row, fields, at);
            this.#changed.add(id);
            if (this.#compare) this.#sortLater();
        }
        if (this.#loading.size > 0 || this.#recent.length > 0) {
            const limit = Date.now() - 5000;
            this.#recent = this.#recent.filter((recent) => recent.at > limit);
            if (this.#loading.size > 0) this.#recent.push({ at: Date.now(), rev: at, rows: data.rows ?? {} });
        }
        if (structural) this.invalidate();
        this.#announce();
    }

    /// A row from the answer of a request.
    applyRow(row) {
        if (!row) return;
        const held = this.#rows.get(row.id);
        if (!held) return;
        this.#patch(held, row, held.rev);
        this.#changed.add(row.id);
        this.#announce();
    }

    #patch(row, fields, rev) {
        patchRow(row, fields);
        row.rev = rev;
    }

    #announce() {
        if (this.#frame || this.#changed.size === 0) return;
        this.#frame = true;
        requestAnimationFrame(() => {
            this.#frame = false;
            const changed = this.#changed;
            this.#changed = new Set();
            this.emit("rows", changed);
        });
    }

    /// Revisions of another process cannot be compared with those of this one.
    forgetRevisions() {
        this.#recent = [];
        for (const row of this.#rows.values()) row.rev = 0;
    }
}
