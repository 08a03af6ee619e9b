// Dialogs: the browser's own, which keeps the focus inside and closes with Escape. Back closes one too.
import { openLayer } from "./back.js";
import { button, el } from "./dom.js";
import { t } from "./text.js";

let serial = 0;
/// Dialogs that close to be shown again.
const suspended = new Set();

/// Opens a dialog with a title, a body and buttons. Resolves with nothing; `onClose` is called however it closes.
export function openDialog({ title, body, footer, className = "", onClose, focus }) {
    serial += 1;
    const heading = el("h2", { id: `dialog-${serial}`, text: title });
    const close = button(t("close"), { class: "button quiet square", square: true, onclick: () => dialog.close() }, "i-close");
    const dialog = el(
        "dialog",
        { class: `dialog ${className}`, "aria-labelledby": heading.id },
        el("div", { class: "dialog-head" }, heading, close),
        body,
        footer ?? null,
    );
    const opener = document.activeElement;
    // A click on the backdrop closes the dialog. A drag that begins inside, for example to select text, does not.
    let pressed = null;
    dialog.addEventListener("pointerdown", (event) => (pressed = event.target));
    dialog.addEventListener("click", (event) => event.target === dialog && pressed === dialog && dialog.close());
    document.body.append(dialog);
    dialog.showModal();
    const leave = openLayer(() => dialog.close());
    let isOver = false;
    const end = () => {
        if (isOver) return;
        isOver = true;
        dialog.remove();
        leave();
        onClose?.();
        if (opener?.isConnected) opener.focus({ preventScroll: true });
    };
    // The event "close" comes later. What is opened right after this dialog must find it gone.
    dialog.close = () => {
        hide(dialog);
        end();
    };
    // A chooser of files inside sends "cancel" too.
    dialog.addEventListener("cancel", (event) => {
        if (event.target !== dialog) return;
        event.preventDefault();
        dialog.close();
    });
    // The browser closes a dialog without "cancel" when Escape is pressed again without a click between.
    dialog.addEventListener("close", () => suspended.delete(dialog) || end());
    (focus ?? dialog.querySelector("[autofocus]"))?.focus();
    return dialog;
}

const hide = (dialog) => HTMLDialogElement.prototype.close.call(dialog);

/// Hides all dialogs, with what was typed into them. Returns a function that shows them again.
export function suspendDialogs() {
    const open = [...document.querySelectorAll("dialog[open]")];
    for (const dialog of open) {
        suspended.add(dialog);
        hide(dialog);
    }
    return () => open.filter((dialog) => dialog.isConnected).forEach((dialog) => dialog.showModal());
}

/// Asks a question. Enter answers yes, Escape no.
export function confirmDialog({ title, text, yes, danger = false }) {
    return new Promise((resolve) => {
        let answer = false;
        const accept = button(yes, { class: `button ${danger ? "danger" : "primary"}`, onclick: () => ((answer = true), dialog.close()) });
        const dialog = openDialog({
            title,
            className: "small",
            body: el("div", { class: "dialog-body" }, el("p", { text })),
            footer: el("div", { class: "dialog-foot" }, button(t("cancel"), { class: "button", onclick: () => dialog.close() }), accept),
            onClose: () => resolve(answer),
            focus: accept,
        });
    });
}
