// The lists and the groups, with their counts.
import { api } from "./api.js";
import { byId, el, icon, setAttribute, setIcon, setText } from "./dom.js";
import { count, visible } from "./format.js";
import { lists } from "./lists.js";
import { feed, list, totals } from "./model.js";
import { setStateText } from "./sets.js";
import { t } from "./text.js";

const EVERY = 3000;
const items = new Map();
let groupItems = new Map();
let groupBox = null;
let choose = () => {};
let changed = () => {};
let timer = null;
let read = 0;
export let groups = [];

/// - onGroups: called when the groups were read.
export function startRail(onChoose, onGroups) {
    choose = onChoose;
    changed = onGroups;
    const box = el("ul", { class: "rail-list" });
    for (const name of Object.keys(lists)) {
        const item = entry(t(`list.${name}`), () => choose({ list: name, group: null }));
        items.set(name, item);
        box.append(item.element);
    }
    groupBox = el("div", { class: "rail-groups", hidden: true }, el("h2", { class: "rail-title", id: "groups-title", text: t("groups") }), el("ul", { class: "rail-list", "aria-labelledby": "groups-title" }));
    byId("lists").replaceChildren(box, groupBox);
    totals.on("change", showCounts);
    list.on("structure", showCounts);
    feed.on("delta", ({ data }) => {
        const moved = data.stale || data.removed?.length > 0 || Object.values(data.rows ?? {}).some((row) => "group" in row || ("state" in row && groups.length > 0));
        if (moved) readLater();
    });
    feed.on("reset", readLater);
    feed.on("notice", readLater);
    readGroups();
}

function entry(label, run) {
    const number = el("span", { class: "rail-count" });
    const button = el("button", { type: "button", class: "rail-item", onclick: run }, el("span", { class: "rail-name", title: label, text: label }), number);
    return { element: el("li", {}, button), button, number };
}

/// A group of a set has a mark for its end.
function groupEntry(name) {
    const item = entry(visible(name), () => choose({ list: "all", group: name }));
    item.mark = icon("i-check", "icon rail-set");
    item.words = el("span", { class: "unseen" });
    item.number.before(item.mark, item.words);
    return item;
}

function showMark({ button, mark, words }, set) {
    const isWhole = set?.state === "whole";
    const isWrong = set?.state === "incomplete" || set?.state === "failed";
    setIcon(mark, isWrong ? "i-alert" : "i-check");
    mark.classList.toggle("wrong", isWrong);
    mark.toggleAttribute("hidden", !isWhole && !isWrong);
    setText(words, set ? setStateText(set) : "");
    setAttribute(button, "title", set ? setStateText(set) : null);
}

/// Leaves out the downloads that are about to be removed, as the list does.
function showCounts() {
    const counts = totals.value?.counts;
    const { tally } = list;
    for (const [name, item] of groupItems) setText(item.number, countLeft(groups.find((group) => group.name === name)?.count, tally?.groups.get(name)));
    if (!counts) return;
    for (const [name, item] of items) {
        const { states, count: key } = lists[name];
        const hidden = states ? states.reduce((sum, state) => sum + (tally?.states.get(state) ?? 0), 0) : tally?.count;
        const value = Math.max(0, (counts[key] ?? 0) - (hidden ?? 0));
        setText(item.number, value > 0 ? count(value) : "");
        item.button.classList.toggle("alarming", name === "failed" && value > 0);
    }
}

/// Marks the list that is shown.
export function markRail() {
    const { list: name, group } = list.view;
    for (const [key, item] of items) setAttribute(item.button, "aria-current", group === null && key === name ? "true" : null);
    for (const [key, item] of groupItems) setAttribute(item.button, "aria-current", group === key ? "true" : null);
    document.querySelector('.rail-item[aria-current="true"]')?.scrollIntoView({ block: "nearest", inline: "nearest" });
}

const countLeft = (value = 0, hidden = 0) => count(Math.max(0, value - hidden));

function readLater() {
    timer ??= setTimeout(() => {
        timer = null;
        if (!document.hidden) readGroups();
    }, Math.max(0, read + EVERY - Date.now()));
}

export async function readGroups() {
    read = Date.now();
    try {
        groups = (await api.get("groups")).items;
    } catch {
        return;
    }
    const next = new Map();
    for (const group of groups) {
        const item = groupItems.get(group.name) ?? groupEntry(group.name);
        showMark(item, group.set);
        next.set(group.name, item);
    }
    const same = next.size === groupItems.size && [...next.keys()].every((name) => groupItems.has(name));
    groupItems = next;
    if (!same) groupBox.lastElementChild.replaceChildren(...[...next.values()].map((item) => item.element));
    groupBox.hidden = next.size === 0;
    showCounts();
    markRail();
    changed();
}
