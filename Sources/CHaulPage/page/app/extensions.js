// The section of the settings that connects browser extensions, and revokes their keys.
import { api } from "./api.js";
import { copyText } from "./commands.js";
import { button, el } from "./dom.js";
import { failureText } from "./failure.js";
import { moment, visible } from "./format.js";
import { t } from "./text.js";

export function extensionSettings() {
    const list = el("div");
    const problem = el("p", { class: "field-error", role: "alert", hidden: true });
    const link = el("div", { class: "setting", hidden: true });
    const attempt = async (action) => {
        problem.hidden = true;
        try {
            await action();
        } catch (error) {
            problem.textContent = failureText(error);
            problem.hidden = false;
        }
    };
    const read = () => attempt(async () => {
        const { items } = await api.get("keys");
        list.replaceChildren(...items.map((key) => line(
            el("div", {}, el("div", { class: "wrap", text: visible(key.name || t("extensionUnnamed")) }), el("span", { class: "muted hint", text: t("connectedAt", moment(key.addedAt)) })),
            button(t("revoke"), { class: "button", onclick: () => attempt(async () => {
                await api.remove(`keys/${key.id}`);
                await read();
            }) }),
        )));
    });
    const connect = button(t("connect"), { class: "button", onclick: () => attempt(async () => {
        const { code } = await api.post("keys/codes");
        // The address of this page, since the daemon does not know the one of a proxy before it.
        const text = new URL(`./#connect=${code}`, location.href).href;
        link.replaceChildren(el("code", { class: "wrap", text }), button(t("copyLink"), { class: "button", onclick: () => copyText(text) }));
        link.hidden = false;
    }) });
    read();
    return el("section", {}, el("h3", { text: t("extensions") }), list, line(el("div", {}, el("span", { text: t("connectExtension") }), el("p", { class: "muted hint", text: t("connectHint") })), connect), link, problem);
}

function line(text, control) {
    return el("div", { class: "setting" }, el("div", { class: "setting-text" }, text), el("div", { class: "setting-control" }, control));
}
