// One row of the list: elements that are made once and filled with whichever download is at their place.
import { describe, mainAction, progress } from "./describe.js";
import { el, icon, setAttribute, setIcon, setText } from "./dom.js";
import { splitName, visible } from "./format.js";
import { kindOf } from "./kinds.js";
import { t } from "./text.js";

export class RowView {
    index = -1;
    id = null;
    #name = null;

    constructor() {
        this.kind = icon("k-file", "kind");
        this.pick = el("span", { class: "pick", title: t("select") }, this.kind, icon("i-check", "icon tick"));
        // The name is one text, for screen readers and the browser's search. `crop` is drawn over a name that is too long.
        this.full = el("span", { class: "full" });
        this.crop = el("span", { class: "crop", "aria-hidden": "true" });
        this.mark = el("span", { class: "mark-priority", hidden: true });
        this.name = el("div", { class: "name", dir: "auto" }, el("span", { class: "fit" }, this.full, this.crop), this.mark);
        this.fill = el("div", { class: "fill" });
        this.bar = el("div", { class: "bar", role: "progressbar", "aria-valuemin": 0, "aria-valuemax": 100, hidden: true }, this.fill);
        this.what = el("span", { class: "what" });
        this.speed = el("span", { class: "speed" });
        this.left = el("span", { class: "left" });
        this.line = el("div", { class: "line" }, icon("i-alert", "icon line-icon"), this.what, this.speed, this.left);
        this.actIcon = icon("i-pause");
        this.act = el("button", { type: "button", class: "button quiet square act", tabindex: -1 }, this.actIcon);
        this.more = el("button", { type: "button", class: "button quiet square more", tabindex: -1, "aria-haspopup": "menu" }, icon("i-more"));
        this.grip = el("span", { class: "grip", title: t("drag") }, icon("i-grip"));
        this.element = el(
            "div",
            { class: "row", role: "row" },
            el("div", { class: "cell-pick", role: "gridcell" }, this.pick),
            el("div", { class: "cell-main", role: "gridcell" }, this.name, this.bar, this.line),
            el("div", { class: "cell-act", role: "gridcell" }, this.grip, this.act, this.more),
        );
    }

    /// Fills the row. `row` is undefined while its slice is on the way.
    update(row, index, { selected, active, group, offset }) {
        this.index = index;
        const element = this.element;
        this.id = row?.id ?? null;
        element.style.transform = `translateY(${offset}px)`;
        setAttribute(element, "aria-rowindex", index + 1);
        setAttribute(element, "id", `row-${this.id ?? `at-${index}`}`);
        setAttribute(element, "aria-selected", row ? String(selected) : "false");
        element.classList.toggle("active", active);
        element.classList.toggle("blank", !row);
        if (!row) {
            this.#name = null;
            this.#crop("", "");
            for (const part of [this.full, this.what, this.speed, this.left]) setText(part, "");
            this.bar.hidden = true;
            element.dataset.state = "";
            element.removeAttribute("data-tone");
            for (const control of [this.act, this.more]) setAttribute(control, "aria-label", t("loading"));
            return;
        }
        if (this.#name !== row.name) {
            this.#name = row.name;
            const [head, tail] = splitName(row.name);
            this.#crop(head, tail);
            const name = visible(row.name);
            setText(this.full, name);
            this.name.title = name;
            setAttribute(this.bar, "aria-label", name);
            setIcon(this.kind, `k-${kindOf(row.name)}`);
            setAttribute(this.more, "aria-label", t("moreFor", name));
        }
        element.dataset.state = row.state;
        const { what, speed, left, tone } = describe(row, { group });
        setText(this.what, what);
        setAttribute(this.what, "title", tone ? what : null);
        setText(this.speed, speed ?? "");
        setText(this.left, left ?? "");
        setAttribute(element, "data-tone", tone ?? null);
        this.#bar(progress(row));
        const priority = row.priority ?? 0;
        this.mark.hidden = priority === 0;
        if (priority !== 0) setText(this.mark, t("priorityMark", priority));
        const { action, icon: name } = mainAction(row);
        setIcon(this.actIcon, name);
        if (this.act.dataset.action !== action || this.act.dataset.name !== row.name) {
            this.act.dataset.action = action;
            this.act.dataset.name = row.name;
            this.act.title = t(`action.${action}`);
            setAttribute(this.act, "aria-label", t("actionFor", t(`action.${action}`), visible(row.name)));
        }
        this.act.id = `act-${row.id}`;
        this.more.id = `more-${row.id}`;
    }

    #crop(head, tail) {
        this.crop.dataset.head = head;
        this.crop.dataset.tail = tail;
    }

    #bar(progress) {
        this.bar.hidden = !progress;
        this.element.classList.toggle("bare", !progress);
        if (!progress) return;
        const known = progress.value !== null;
        this.bar.classList.toggle("indeterminate", !known);
        setAttribute(this.bar, "aria-valuenow", known ? progress.value : null);
        setAttribute(this.bar, "aria-valuetext", progress.text);
        this.fill.style.setProperty("--part", known ? progress.part.toFixed(4) : 0);
    }
}
