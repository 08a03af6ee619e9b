// Announcements to screen readers: one polite region, at most a message in 5 s, merged; one assertive region for a lost
// connection or session.
import { byId } from "./dom.js";
import { t } from "./text.js";

const PERIOD = 5000;
let pending = [];
let counts = {};
let last = 0;
let timer = null;

function schedule() {
    timer ??= setTimeout(() => {
        timer = null;
        last = Date.now();
        const texts = [...new Set(pending)];
        for (const [key, count] of Object.entries(counts)) texts.push(t(`announce.${key}`, count));
        pending = [];
        counts = {};
        byId("status").textContent = texts.join(" ");
    }, Math.max(150, last + PERIOD - Date.now()));
}

export function announce(text) {
    pending.push(text);
    schedule();
}

/// Counts events that are announced by their number: "finished", "failed".
export function announceCount(key, count = 1) {
    counts[key] = (counts[key] ?? 0) + count;
    schedule();
}

export function alertText(text) {
    byId("alert").textContent = text;
}
