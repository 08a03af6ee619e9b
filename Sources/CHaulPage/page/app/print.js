// Printing: the list as a table, because only the visible rows are elements.
import { errorText, sizeText, stateText } from "./describe.js";
import { byId, el } from "./dom.js";
import { tellFailure } from "./failure.js";
import { count, moment, percent, visible } from "./format.js";
import { list } from "./model.js";
import { t } from "./text.js";

const MOST = 5000;
/// The rows that were read to be printed; `null` if the browser itself began, which does not wait.
let read = null;

export function startPrint() {
    addEventListener("beforeprint", () => fill(read ?? held()));
    addEventListener("afterprint", () => {
        read = null;
        byId("print").replaceChildren();
    });
}

/// Reads the list and opens the browser's dialog.
export async function printList() {
    try {
        read = await list.rowsBetween(0, Math.min(list.length, MOST) - 1);
    } catch (error) {
        return tellFailure(error);
    }
    print();
}

function held() {
    const rows = [];
    for (let index = 0; index < Math.min(list.length, MOST); index += 1) {
        const row = list.rowAt(index);
        if (row) rows.push(row);
    }
    return rows;
}

function fill(rows) {
    // The sign-in form and an empty list are printed as they are.
    if (rows.length === 0 || byId("app").hidden) return byId("print").replaceChildren();
    const head = ["fileName", "print.state", "fact.size", "host", "fact.added"].map((key) => el("th", { scope: "col", text: t(key) }));
    const part = (row) => (row.state !== "completed" && row.receivedBytes > 0 && row.totalBytes > 0 ? `${percent(row.receivedBytes, row.totalBytes)}${t("percentSign")}` : "");
    const state = (row) => (row.state === "failed" && errorText(row.error)) || [stateText(row), part(row)].filter(Boolean).join(", ");
    const body = rows.map((row) => el("tr", {}, [visible(row.name), state(row), sizeText(row), visible(row.host), moment(row.addedAt)].map((text) => el("td", { text }))));
    byId("print").replaceChildren(
        el("h1", { text: byId("list-name").textContent }),
        el("p", { text: [rows.length < list.length ? t("print.some", count(rows.length), count(list.length)) : t("downloads", rows.length), moment(Date.now())].join(" \u00b7 ") }),
        el("table", {}, el("thead", {}, el("tr", {}, head)), el("tbody", {}, body)),
    );
}
