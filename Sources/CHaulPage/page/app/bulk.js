// The bar over the list while something is selected.
import { act } from "./commands.js";
import { byId, button, el } from "./dom.js";
import { count } from "./format.js";
import { canPause, canResume, canRetry } from "./lists.js";
import { openMenu } from "./menu.js";
import { list, selection } from "./model.js";
import { remove } from "./removal.js";
import { PRIORITIES } from "./row-menu.js";
import { announce } from "./status.js";
import { t } from "./text.js";

export function startBulk(openDetail) {
    const run = (action) => () => act(action, selection.target);
    const number = el("span", { class: "bulk-count" });
    const all = button("", { class: "link bulk-all", onclick: () => selection.selectAll() });
    const make = (key, name, onclick, more = {}) => el("button", { type: "button", class: "button quiet", title: t(key), "aria-label": t(key), onclick, ...more }, ...button("", {}, name).childNodes);
    const label = (control, key) => {
        control.lastElementChild.textContent = t(key);
        return control;
    };
    const pause = label(make("action.pause", "i-pause", run("pause")), "action.pause");
    const resume = label(make("action.resume", "i-play", run("resume")), "action.resume");
    const retry = label(make("action.retry", "i-retry", run("retry")), "action.retry");
    const details = label(make("details", "i-details", () => openDetail([...selection.ids][0])), "details");
    const priority = label(make("priority", "i-priority", () => openMenu({
        anchor: priority,
        label: t("priority"),
        items: PRIORITIES.map((value) => ({ label: t(`priority.${value}`), run: () => act("setPriority", selection.target, { priority: value }) })),
    }), { "aria-haspopup": "menu" }), "priority");
    const removing = label(make("remove", "i-remove", (event) => remove(selection.target, selection.count, event.shiftKey)), "remove");
    const clear = button(t("clearSelection"), { class: "button quiet square", square: true, onclick: () => selection.clear() }, "i-close");
    byId("bulk").replaceChildren(clear, number, all, el("span", { class: "gap" }), details, pause, resume, retry, priority, removing);
    const update = () => {
        const selected = selection.count;
        // The panel of a single download offers the same actions.
        const shown = selected > 1 || selection.mode || (selected === 1 && byId("detail").hidden);
        byId("bulk").hidden = !shown;
        byId("list-head").classList.toggle("is-bulk", shown);
        if (!shown) return;
        number.textContent = t("selected", selected);
        all.lastElementChild.textContent = t("selectAllOf", count(list.length));
        all.hidden = selection.all || selected >= list.length || list.length < 2;
        const rows = selection.all ? null : [...selection.ids].map((id) => list.row(id));
        const some = (test) => rows === null || rows.some((row) => !row || test(row));
        pause.hidden = !some(canPause);
        resume.hidden = !some(canResume);
        retry.hidden = !some(canRetry);
        details.hidden = selected !== 1 || selection.all;
        priority.hidden = rows !== null && rows.every((row) => row && (row.state === "completed" || row.state === "failed"));
    };
    selection.on("change", update);
    selection.on("change", () => selection.all && announce(t("selected", selection.count)));
    list.on("rows", update);
    list.on("structure", update);
    new MutationObserver(update).observe(byId("detail"), { attributeFilter: ["hidden"] });
}
