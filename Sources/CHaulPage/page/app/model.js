// The models that the parts of the page share.
import { Emitter } from "./emitter.js";
import { Feed } from "./feed.js";
import { DownloadList } from "./list.js";
import { Selection } from "./selection.js";

export const feed = new Feed();
export const list = new DownloadList();
export const selection = new Selection(list);

/// What the daemon says of itself when it is connected.
export const daemon = { playing: false };

/// The newest body of `totals` and `stats`.
export const totals = new (class extends Emitter {
    value = null;

    set(value) {
        // Keeps the folder, because `stats` has none. Does not keep the speed limit: without one, none is set.
        this.value = { folder: this.value?.folder, ...value };
        this.emit("change", this.value);
    }
})();
