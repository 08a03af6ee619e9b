// A short message with at most one action, at the foot of the page. Only one is shown at a time.
import { byId, button, el } from "./dom.js";
import { announce } from "./status.js";
import { t } from "./text.js";

let current = null;

/// Calls `onEnd` once, when the time is over or another toast comes, but not after the action was used.
export function toast(text, { action, onAction, onEnd, tone, seconds = 6, spoken = text } = {}) {
    current?.end();
    const element = el(
        "div",
        { class: `toast ${tone ?? ""}` },
        el("span", { text }),
        action ? button(action, { class: "link", onclick: () => shown.act() }) : null,
        button(t("dismiss"), { class: "button quiet square", square: true, onclick: () => shown.end() }, "i-close"),
    );
    let timer = null;
    let left = seconds * 1000;
    let started = 0;
    const shown = {
        end() {
            shown.close();
            onEnd?.();
        },
        act() {
            shown.close();
            onAction?.();
        },
        close() {
            clearTimeout(timer);
            if (current === shown) current = null;
            element.remove();
        },
    };
    const run = () => {
        // The removal of the element makes the focus leave it, which must not start the timer again.
        if (current !== shown) return;
        started = Date.now();
        timer = setTimeout(shown.end, left);
    };
    // The timer pauses while the pointer or the focus is on the toast.
    const hold = () => {
        clearTimeout(timer);
        left = Math.max(1500, left - (Date.now() - started));
    };
    element.addEventListener("pointerenter", hold);
    element.addEventListener("pointerleave", run);
    element.addEventListener("focusin", hold);
    element.addEventListener("focusout", run);
    byId("toasts").replaceChildren(element);
    current = shown;
    run();
    announce(spoken);
    return shown;
}

/// Uses the action of the toast that is shown: Ctrl+Z.
export function useToast() {
    if (!current?.act) return false;
    current.act();
    return true;
}
