// What Back closes: each open dialog, and on phones each menu, has an entry in the browser's history.
//
// The entries repeat the address of the page, so that closing one never changes the list that is shown.

/// What is open, the innermost last: `{depth, close}`. `depth` counts the entries up to its own; `null` without one yet.
const layers = [];
/// Number of entries of layers that were closed in the page and are about to be left.
let closed = 0;
/// Whether the browser is leaving entries. It may not be given new ones meanwhile.
let isLeaving = false;
/// What waits until it has left them.
let waiting = [];
/// The address of the page. Older entries may have another.
let address = location.href;

/// Calls `change` now, or once the browser has left the entries of closed layers.
export function changeHistory(change) {
    if (closed > 0 || isLeaving) waiting.push(change);
    else change();
}

/// Writes the address into the entry, or with `push` into a new one.
export function writeAddress(target, { push = false, state = {} } = {}) {
    const full = { ...history.state, ...state };
    if (push) history.pushState(full, "", target);
    else history.replaceState(full, "", target);
    address = location.href;
}

/// Adds an entry that closes a layer when the user goes back. Returns a function that leaves the entry, for a layer that
/// was closed otherwise.
export function openLayer(close) {
    const layer = { depth: null, close };
    layers.push(layer);
    changeHistory(() => {
        if (!layers.includes(layer)) return;
        layer.depth = (history.state?.depth ?? 0) + 1;
        history.pushState({ ...history.state, depth: layer.depth }, "");
    });
    return () => {
        const at = layers.indexOf(layer);
        if (at < 0) return;
        layers.splice(at, 1);
        if (layer.depth === null) return;
        // Layers above that stay open take over the entries below theirs.
        for (const above of layers.slice(at)) if (above.depth !== null) above.depth -= 1;
        leave();
    };
}

/// Leaves one entry. Those of layers that close together are left together.
function leave() {
    if (isLeaving) return waiting.push(leave);
    closed += 1;
    if (closed > 1) return;
    queueMicrotask(() => {
        const count = closed;
        closed = 0;
        isLeaving = true;
        history.go(-count);
    });
}

/// Calls `follow` when the user has gone to another entry, unless that only closes layers.
export function watchHistory(follow) {
    addEventListener("popstate", () => {
        const depth = history.state?.depth ?? 0;
        const above = layers.filter((layer) => layer.depth > depth).reverse();
        if (!isLeaving && above.length === 0) {
            address = location.href;
            return follow();
        }
        isLeaving = false;
        history.replaceState(history.state, "", address);
        for (const layer of above) layers.splice(layers.indexOf(layer), 1);
        for (const layer of above) layer.close();
        const changes = waiting;
        waiting = [];
        for (const change of changes) changeHistory(change);
    });
}
