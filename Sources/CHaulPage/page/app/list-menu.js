// The menu of the list: what can be done to everything in it.
import { act } from "./commands.js";
import { byId, isApple } from "./dom.js";
import { applies, lists } from "./lists.js";
import { openMenu } from "./menu.js";
import { list, selection } from "./model.js";
import { printList } from "./print.js";
import { remove } from "./removal.js";
import { t } from "./text.js";

const icons = { pause: "i-pause", resume: "i-play", retry: "i-retry" };

export function startListMenu() {
    const opener = byId("list-actions");
    opener.addEventListener("click", () => {
        const { list: name } = list.view;
        const states = lists[name].states;
        const target = () => ({ filter: list.filter, except: [] });
        const possible = Object.keys(icons).filter((action) => !states || states.some((state) => applies[action].includes(state)));
        const items = [
            { label: t("selectAll"), icon: "i-check", run: () => (selection.selectAll(), byId("grid").focus()) },
            null,
            ...possible.map((action) => ({ label: t(`all.${action}`), icon: icons[action], run: () => act(action, target()) })),
        ];
        if (name === "finished" || name === "failed") items.push({ label: t("all.remove"), icon: "i-remove", run: () => remove(target(), list.length) });
        items.push(null, { label: t("print"), icon: "i-print", keys: isApple ? "⌘P" : "Ctrl+P", run: printList });
        openMenu({ anchor: opener, items, label: t("listActions") });
    });
    list.on("structure", () => (opener.hidden = list.length === 0));
}
