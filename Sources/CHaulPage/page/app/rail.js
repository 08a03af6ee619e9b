// The lists and the groups, with their counts.
import { api } from "./api.js";
import { byId, el, setAttribute, setText } from "./dom.js";
import { count, visible } from "./format.js";
import { lists } from "./lists.js";
import { feed, list, totals } from "./model.js";
import { t } from "./text.js";

const EVERY = 3000;
const items = new Map();
let groupItems = new Map();
let groupBox = null;
let choose = () => {};
let timer = null;
let read = 0;
export let groups = [];

export function startRail(onChoose) {
    choose = onChoose;
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
    readGroups();
}

function entry(label, run) {
    const number = el("span", { class: "rail-count" });
    const button = el("button", { type: "button", class: "rail-item", onclick: run }, el("span", { class: "rail-name", title: label, text: label }), number);
    return { element: el("li", {}, button), button, number };
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
        const item = groupItems.get(group.name) ?? entry(visible(group.name), () => choose({ list: "all", group: group.name }));
        next.set(group.name, item);
    }
    const same = next.size === groupItems.size && [...next.keys()].every((name) => groupItems.has(name));
    groupItems = next;
    if (!same) groupBox.lastElementChild.replaceChildren(...[...next.values()].map((item) => item.element));
    groupBox.hidden = next.size === 0;
    showCounts();
    markRail();
}
