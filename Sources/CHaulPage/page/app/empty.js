// The message in place of the rows: nothing yet, no match, loading, or no answer.
import { byId, button, el, icon } from "./dom.js";
import { visible } from "./format.js";
import { failureText } from "./failure.js";
import { hasLinks, linksIn } from "./links.js";
import { list } from "./model.js";
import { t } from "./text.js";

let shown = null;
let skeleton = null;

export function startEmpty({ add, clear }) {
    list.on("structure", () => update(add, clear));
}

/// The list is being read: nothing for 200 ms, then grey rows.
export function loading() {
    clearTimeout(skeleton);
    skeleton = setTimeout(() => {
        if (list.total !== null) return;
        byId("grid").hidden = true;
        fill("loading", () => Array.from({ length: 6 }, () => el("div", { class: "skeleton" }, el("span"), el("div", {}, el("i"), el("i")))));
    }, 200);
}

function update(add, clear) {
    clearTimeout(skeleton);
    const { list: name, group, text } = list.view;
    const isEmpty = list.length === 0;
    byId("grid").hidden = isEmpty;
    if (!isEmpty) return fill(null);
    if (list.total === null) return fill(list.failed ? "offline" : null, () => [el("p", { class: "empty-title", text: list.failure?.status > 0 ? failureText(list.failure) : t("empty.offline") })]);
    if (text) {
        return fill(`match ${name} ${group} ${text}`, () => [
            el("p", { class: "empty-title", text: t("empty.noMatch", visible(text)) }),
            button(t("clearSearch"), { class: "button", onclick: clear }),
        ]);
    }
    if (name !== "all" || group !== null) return fill(`list ${name} ${group}`, () => [el("p", { class: "empty-title", text: t(group !== null ? "empty.group" : `empty.${name}`) })]);
    fill("nothing", () => [firstLinks(add)]);
}

function fill(key, make) {
    const box = byId("empty");
    box.hidden = key === null;
    box.dataset.kind = key?.split(" ")[0] ?? "";
    if (shown === key) return;
    shown = key;
    box.replaceChildren(...(key === null ? [] : make()));
}

function firstLinks(add) {
    const field = el("textarea", { id: "first-links", rows: 3, spellcheck: "false", autocapitalize: "off", placeholder: t("linksPlaceholder"), "aria-label": t("links") });
    const send = el("button", { type: "submit", class: "button primary", disabled: true }, el("span", { text: t("addLinks", 0) }));
    const note = () => {
        send.disabled = !hasLinks(field.value);
        const { links, sets } = linksIn(field.value);
        send.firstElementChild.textContent = `${t("addLinks", links.length + sets.length)}…`;
    };
    field.addEventListener("input", note);
    field.addEventListener("keydown", (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && !send.disabled && form.requestSubmit());
    const form = el(
        "form",
        {
            class: "first",
            onsubmit: (event) => {
                event.preventDefault();
                add({ text: field.value });
                field.value = "";
                note();
            },
        },
        icon("i-mark", "first-mark"),
        el("p", { class: "empty-title", text: t("empty.nothing") }),
        field,
        el("div", { class: "first-foot" }, el("span", { class: "muted", text: t("empty.hint") }), send),
    );
    return form;
}
