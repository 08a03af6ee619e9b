// The panel of one download. It is read when it opens and each second while the download runs.
import { api } from "./api.js";
import { act, actOne, change, copyText, fileURL, saveFile } from "./commands.js";
import { amounts, describe, errorText, filmText, mainAction, progress, sizeText, stateText } from "./describe.js";
import { openDialog } from "./dialog.js";
import { byId, button, el, icon, setAttribute, setIcon, setText } from "./dom.js";
import { failureText } from "./failure.js";
import { chooseFolder } from "./folders.js";
import { bytes, clock, count, duration, moment, percent, speed, visible } from "./format.js";
import { SpeedGraph } from "./graph.js";
import { headersIn } from "./header-fields.js";
import { kindOf, previewOf } from "./kinds.js";
import { isActive } from "./lists.js";
import { logText } from "./log.js";
import { openMenu } from "./menu.js";
import { feed, list, selection } from "./model.js";
import { patchRow } from "./patch.js";
import { preview } from "./preview.js";
import { remedyOf } from "./remedies.js";
import { PRIORITIES, canPlay, rowMenu } from "./row-menu.js";
import { SegmentMap } from "./segment-map.js";
import { speedField, speedIn, speedText } from "./speed-field.js";
import { t } from "./text.js";
import { toast } from "./toast.js";

const EVERY = 1000;
const SOON = 100;
/// Errors of this machine. Another link does not remedy them.
const LOCAL = new Set(["diskFull", "diskFailed", "permissionDenied", "readOnly", "nameTooLong", "tooManyOpenFiles", "fileExists", "inUse", "invalidDestination", "storeFailed", "internalFault", "programMissing"]);
/// The name of the proof; `null` for none. A film is proved by the list of its segments: no server states its length.
const proofName = ({ proof, stream, gaps }) => (!stream || proof !== "length" ? proof : gaps?.length ? null : "segments");
const offersLink = (value) => value.state === "failed" && Boolean(value.error) && !LOCAL.has(value.error.code);

export class Detail {
    id = null;
    #value = null;
    #timer = null;
    #soon = null;
    #parts = null;
    #request = null;
    #onChange;

    constructor(onChange) {
        this.#onChange = onChange;
        this.element = byId("detail");
        feed.on("delta", ({ data }) => {
            if (this.id === null) return;
            if (data.removed?.includes(this.id)) return this.close();
            const fields = data.rows?.[this.id];
            if (fields) this.#patch(fields);
            // Many have changed at once, and the event does not say which.
            if (data.stale) this.#readSoon();
        });
        list.on("hidden", (isHidden) => this.id !== null && isHidden(this.id) && this.close());
        feed.on("reset", () => this.id !== null && this.#read());
        document.addEventListener("visibilitychange", () => !document.hidden && this.id !== null && this.#read());
    }

    get isOpen() {
        return this.id !== null;
    }

    async open(id, focus = false) {
        if (this.id === id) {
            if (focus) this.element.focus({ preventScroll: true });
            return;
        }
        this.id = id;
        this.#value = null;
        this.#parts = null;
        this.element.hidden = false;
        document.documentElement.classList.add("has-detail");
        const row = list.row(id);
        if (row) this.#show({ ...row, segments: [], ranges: [], log: [], headers: {}, mirrors: [], partial: true });
        else this.element.replaceChildren();
        this.element.scrollTop = 0;
        if (focus) this.element.focus({ preventScroll: true });
        this.#onChange(id);
        await this.#read();
    }

    close() {
        if (this.id === null) return false;
        const inside = this.element.contains(document.activeElement);
        this.id = null;
        clearTimeout(this.#timer);
        this.#request?.abort();
        this.element.hidden = true;
        this.element.replaceChildren();
        document.documentElement.classList.remove("has-detail");
        if (inside) byId("grid").focus({ preventScroll: true });
        this.#onChange(null);
        return true;
    }

    async #read() {
        clearTimeout(this.#timer);
        this.#request?.abort();
        const request = new AbortController();
        this.#request = request;
        const id = this.id;
        try {
            const value = await api.get(`downloads/${id}`, { signal: request.signal });
            if (id !== this.id) return;
            this.#show(value);
        } catch (error) {
            if (id !== this.id || error.name === "AbortError") return;
            if (error.status === 404) {
                if (this.#value === null) toast(t("gone"));
                this.close();
                return;
            }
            if (this.#value === null) this.element.replaceChildren(el("p", { class: "muted detail-note", text: failureText(error) }));
        }
        this.#later();
    }

    /// Reads once, however often it is called within a moment.
    #readSoon() {
        this.#soon ??= setTimeout(() => {
            this.#soon = null;
            if (this.id !== null && !document.hidden) this.#read();
        }, SOON);
    }

    #later() {
        clearTimeout(this.#timer);
        if (this.id === null || document.hidden || !isActive(this.#value?.state)) return;
        this.#timer = setTimeout(() => this.#read(), EVERY);
    }

    #patch(fields) {
        if (!this.#value) return;
        const before = this.#value.state;
        patchRow(this.#value, fields);
        this.#show(this.#value);
        if ("state" in fields && fields.state !== before) this.#read();
    }

    // MARK: Content

    #show(value) {
        const built = this.#parts?.shape;
        this.#value = value;
        const done = value.state === "completed";
        const shape = `${value.id} ${done} ${done && Boolean(value.partial)}`;
        if (built !== shape) this.#build(value, shape);
        this.#fill(value);
    }

    #build(value, shape) {
        const parts = { shape };
        const samples = this.#parts?.graph;
        this.#parts = parts;
        const row = () => this.#value;
        parts.kind = icon(`k-${kindOf(value.name)}`, "kind");
        parts.name = el("h2", { class: "detail-name" });
        parts.state = el("p", { class: "detail-state" });
        const rename = button(t("rename"), { class: "button quiet square", square: true, onclick: () => this.#rename() }, "i-edit");
        const close = button(t("close"), { class: "button quiet square detail-close", square: true, onclick: () => this.close() }, "i-close");
        const back = button(t("back"), { class: "button quiet square detail-back", square: true, onclick: () => this.close() }, "i-back");
        parts.act = el("button", { type: "button", class: "button", onclick: () => this.#main() }, icon("i-pause"), el("span"));
        parts.more = button(t("actions"), { class: "button quiet square", square: true, "aria-haspopup": "menu", onclick: () => {
            const items = rowMenu(row(), () => {}).slice(2);
            openMenu({ anchor: parts.more, items, label: t("actions") });
        } }, "i-more");
        const view = value.state === "completed" && previewOf(value.name) ? el("a", { class: "button", href: fileURL(value.id), target: "_blank", rel: "noopener" }, el("span", { text: t("openFile") })) : null;
        if (value.state !== "completed") parts.play = el("a", { class: "button", href: fileURL(value.id), target: "_blank", rel: "noopener", hidden: true }, icon("i-play"), el("span", { text: t("action.play") }));
        parts.head = el("div", { class: "detail-head" }, back, parts.kind, el("div", { class: "detail-title" }, el("div", { class: "detail-name-line" }, parts.name, rename), parts.state), close);
        parts.bar = el("div", { class: "fill" });
        parts.progress = el("div", { class: "bar", role: "progressbar", "aria-valuemin": 0, "aria-valuemax": 100, "aria-label": t("progress") }, parts.bar);
        parts.error = el("section", { class: "detail-error", hidden: true });
        const sections = [parts.head, el("div", { class: "detail-actions" }, parts.act, view ?? parts.play, parts.more), parts.error];
        if (value.state === "completed") {
            const shown = value.partial ? null : preview(value);
            if (shown) sections.push(el("section", {}, shown));
        } else {
            parts.numbers = el("div", { class: "numbers" });
            parts.canvas = el("canvas", { class: "segment-map", role: "img" });
            parts.map = new SegmentMap(parts.canvas);
            parts.legend = el("p", { class: "legend muted" });
            parts.graphCanvas = el("canvas", { class: "detail-graph", role: "img" });
            parts.graph = new SpeedGraph(parts.graphCanvas);
            if (samples && this.#graphId === value.id) parts.graph.adopt(samples);
            this.#graphId = value.id;
            parts.mapTitle = el("h3");
            parts.mapSection = el("section", { hidden: true }, parts.mapTitle, parts.canvas, parts.legend);
            parts.peak = el("span", { class: "muted" });
            parts.graphSection = el("section", { hidden: true }, el("h3", {}, el("span", { text: t("speed") }), parts.peak), parts.graphCanvas);
            parts.connections = el("tbody");
            parts.connectionSection = el("section", { hidden: true }, el("h3", { text: t("connections") }), el("div", { class: "table-wrap" }, el("table", { class: "connections" }, el("thead", {}, el("tr", {}, el("th", { text: t("host"), scope: "col" }), el("th", { text: t("remaining"), scope: "col", class: "number" }), el("th", { text: t("speed"), scope: "col", class: "number" }))), parts.connections)));
            parts.progressSection = el("section", { class: "detail-progress" }, parts.progress, parts.numbers);
            sections.push(parts.progressSection, parts.mapSection, parts.graphSection, parts.connectionSection);
            sections.push(this.#controls(parts));
        }
        parts.facts = el("dl", { class: "facts" });
        parts.log = el("ol", { class: "log" });
        parts.logSection = el("section", { hidden: true }, el("h3", { text: t("log") }), parts.log);
        sections.push(el("section", {}, el("h3", { text: t("facts") }), parts.facts), parts.logSection);
        const focused = this.element.contains(document.activeElement);
        this.element.replaceChildren(...sections);
        if (focused) this.element.focus({ preventScroll: true });
    }

    #graphId = null;

    #controls(parts) {
        parts.priority = el("select", { class: "field", id: "detail-priority", onchange: () => act("setPriority", { ids: [this.id] }, { priority: Number(parts.priority.value) }) });
        parts.limit = speedField({ id: "detail-limit" });
        parts.limitUnit = el("span", { class: "unit", text: "MB/s" });
        const apply = async () => {
            const value = speedIn(parts.limit);
            if (value === null) return;
            if (await change(this.id, { bytesPerSecond: value })) toast(value === 0 ? t("limitRemoved") : t("limitSet", speed(value)), { seconds: 3 });
        };
        parts.limit.addEventListener("change", apply);
        parts.limit.addEventListener("keydown", (event) => event.key === "Enter" && apply());
        return el(
            "section",
            { class: "detail-controls" },
            el("div", { class: "control" }, el("label", { for: "detail-priority", text: t("priority") }), parts.priority),
            el("div", { class: "control" }, el("label", { for: "detail-limit", text: t("speedLimit") }), el("div", { class: "with-unit" }, parts.limit, parts.limitUnit)),
        );
    }

    #fill(value) {
        const parts = this.#parts;
        const name = visible(value.name);
        setText(parts.name, name);
        setAttribute(this.element, "aria-label", t("detailOf", name));
        setIcon(parts.kind, `k-${kindOf(value.name)}`);
        setText(parts.state, [stateText(value), filmText(value), visible(value.host)].filter(Boolean).join("\u2002\u00b7\u2002"));
        this.element.dataset.state = value.state;
        const main = mainAction(value);
        const { action } = main;
        setIcon(parts.act.firstElementChild, main.icon);
        setText(parts.act.lastElementChild, t(`action.${action}`));
        parts.act.dataset.action = action;
        parts.act.classList.toggle("primary", action === "resume" || action === "retry");
        if (parts.play) parts.play.hidden = !canPlay(value);
        this.#fillError(value, parts);
        if (parts.progress) {
            const known = amounts(value);
            const still = known?.[0] > 0 ? { value: percent(...known), part: Math.min(1, known[0] / known[1]), text: "" } : null;
            const shown = value.state === "completed" ? null : progress(value) ?? still;
            parts.progress.hidden = !shown;
            if (shown) {
                const isKnown = shown.value !== null;
                parts.progress.classList.toggle("indeterminate", !isKnown);
                setAttribute(parts.progress, "aria-valuenow", isKnown ? shown.value : null);
                setAttribute(parts.progress, "aria-valuetext", shown.text || null);
                parts.bar.style.setProperty("--part", isKnown ? shown.part.toFixed(4) : 0);
            }
        }
        if (parts.numbers) this.#fillRunning(value, parts);
        this.#fillFacts(value, parts);
        this.#fillLog(value, parts);
    }

    #fillRunning(value, parts) {
        const line = describe(value);
        const known = amounts(value);
        parts.progressSection.hidden = value.receivedBytes === 0 && value.state !== "transferring";
        const numbers = [known ? `${percent(...known)}${t("percentSign")}` : "", line.speed ?? "", sizeText(value), line.left ?? ""];
        while (parts.numbers.children.length < numbers.length) parts.numbers.append(el("span"));
        numbers.forEach((text, at) => setText(parts.numbers.children[at], text));
        parts.mapSection.hidden = !known || (!value.stream && value.ranges.length === 0 && value.segments.length === 0);
        if (known && value.stream) {
            // The bytes that a film has so far are no map of the file. The segments that are there come first.
            const [there, whole] = known;
            setText(parts.mapTitle, t("filmSegments"));
            parts.map.set({ ranges: there > 0 ? [[0, there]] : [], segments: [], totalBytes: whole });
            setAttribute(parts.canvas, "aria-label", t("filmSegmentsLabel", count(there), count(whole)));
            setText(parts.legend, t("filmSegmentsLabel", count(there), count(whole)));
        } else if (!parts.mapSection.hidden) {
            setText(parts.mapTitle, t("segments"));
            parts.map.set(value);
            setAttribute(parts.canvas, "aria-label", t("segmentsLabel", percent(value.receivedBytes, value.totalBytes), value.segments.length));
            setText(parts.legend, value.segments.length > 0 ? t("segmentsLegend", value.segments.length) : t("segmentsIdle", value.ranges.length));
        }
        const running = value.state === "transferring";
        if (running && Date.now() - (parts.sampled ?? 0) > 900) {
            parts.sampled = Date.now();
            parts.graph.add(value.bytesPerSecond);
        }
        parts.graphSection.hidden = parts.graph.isFlat;
        setText(parts.peak, t("peak", speed(parts.graph.peak)));
        setAttribute(parts.graphCanvas, "aria-label", t("graphLabel", speed(value.bytesPerSecond), speed(parts.graph.peak)));
        parts.connectionSection.hidden = value.segments.length === 0;
        const body = parts.connections;
        while (body.children.length > value.segments.length) body.lastElementChild.remove();
        while (body.children.length < value.segments.length) body.append(el("tr", {}, el("td"), el("td", { class: "number" }), el("td", { class: "number" })));
        value.segments.forEach((segment, at) => {
            const cells = body.children[at].children;
            setText(cells[0], visible(segment.host));
            setText(cells[1], segment.end > segment.start ? bytes(segment.end - segment.start) : "—");
            setText(cells[2], speed(segment.bytesPerSecond));
        });
        if (document.activeElement !== parts.priority) {
            const values = [...new Set([...PRIORITIES, value.priority ?? 0])].sort((a, b) => b - a);
            if (parts.priority.options.length !== values.length) parts.priority.replaceChildren(...values.map((priority) => el("option", { value: priority, text: PRIORITIES.includes(priority) ? t(`priority.${priority}`) : String(priority) })));
            parts.priority.value = String(value.priority ?? 0);
        }
        if (document.activeElement !== parts.limit && value.speedLimit !== undefined) parts.limit.value = speedText(value.speedLimit);
    }

    #fillError(value, parts) {
        const key = value.error && value.state !== "completed" ? JSON.stringify([value.error, value.state]) : "";
        if (parts.errorKey === key) return;
        parts.errorKey = key;
        parts.error.hidden = key === "";
        if (key === "") return;
        const { error } = value;
        const remedy = remedyOf(error);
        const source = button(t("replaceSource"), { class: "button", onclick: () => this.#replaceSource() });
        parts.error.replaceChildren(
            icon("i-alert"),
            el("div", {},
                el("p", { class: "error-text", text: errorText(error) }),
                error.cause ? el("p", { class: "muted", lang: "en", text: visible(error.cause) }) : null,
                remedy ? el("p", remedy) : null,
                offersLink(value) ? source : null),
        );
    }

    #fillFacts(value, parts) {
        const time = (text) => el("time", { datetime: text, text: moment(text) });
        const facts = [
            ["source", [el("span", { class: "wrap", text: visible(value.url) }), value.state === "completed" || offersLink(value) ? null : button(t("replaceSource"), { class: "link", onclick: () => this.#replaceSource() })]],
            ["page", value.page ? el("a", { class: "wrap", href: value.page, target: "_blank", rel: "noreferrer", text: visible(value.page) }) : null],
            ["savedTo", [
                ...(value.path ?? value.folder ? [el("span", { class: "wrap", text: visible(value.path ?? `${value.folder}/`) }), button(t("copyPath"), { class: "link", onclick: () => copyText(value.path ?? value.folder) })] : []),
                button(t("moveFile"), { class: "link", onclick: () => this.#moveFile() }),
            ]],
            ["size", value.totalBytes === undefined || value.stream ? null : [`${bytes(value.totalBytes)} `, value.totalBytes < 1000 ? null : el("span", { class: "muted", text: t("exactBytes", count(value.totalBytes)) })]],
            ["group", value.group ? visible(value.group) : null],
            ["proof", proofName(value) ? t(`proof.${proofName(value)}`) : null],
            ["gaps", value.gaps ? value.gaps.map((gap) => el("span", { class: "wrap block", text: visible(gap) })) : null],
            ["checksum", value.checksum ? el("code", { class: "wrap", text: visible(value.checksum) }) : null],
            ["added", time(value.addedAt)],
            ["started", value.startedAt ? time(value.startedAt) : null],
            ["ended", value.endedAt ? time(value.endedAt) : null],
            ["took", value.startedAt && value.endedAt ? duration(Date.parse(value.endedAt) - Date.parse(value.startedAt)) : null],
            ["mirrors", value.mirrors?.length > 0 ? value.mirrors.map((mirror) => el("span", { class: "wrap block", text: visible(mirror) })) : null],
            ["headers", Object.keys(value.headers ?? {}).length > 0 ? Object.entries(value.headers).map(([name, text]) => el("code", { class: "wrap block", text: visible(`${name}: ${text}`) })) : null],
        ].filter(([, content]) => content !== null);
        // Rebuilds only if something differs, so that a selection of text inside survives the ticks.
        const key = JSON.stringify([value.url, value.path, value.folder, value.stream ? null : value.totalBytes, value.group, value.proof, value.gaps, value.checksum, value.page, value.startedAt, value.endedAt, value.mirrors, value.headers, value.state === "completed", offersLink(value)]);
        if (parts.factsKey === key) return;
        parts.factsKey = key;
        parts.facts.replaceChildren(...facts.map(([name, content]) => el("div", {}, el("dt", { text: t(`fact.${name}`) }), el("dd", {}, ...[content].flat().filter(Boolean)))));
    }

    #fillLog(value, parts) {
        parts.logSection.hidden = value.log.length === 0;
        const last = value.log.at(-1);
        const key = `${value.log.length} ${last?.at}`;
        if (parts.logKey === key) return;
        parts.logKey = key;
        parts.log.replaceChildren(...[...value.log].reverse().map((entry) => el("li", { "data-level": entry.level }, el("time", { datetime: entry.at, title: moment(entry.at), text: clock(entry.at) }), el("span", { class: "wrap", ...logText(entry) }))));
    }

    // MARK: Actions

    #main() {
        const { action } = this.#parts.act.dataset;
        if (action === "save") saveFile(this.#value);
        else if (action === "start") actOne("start", this.id);
        else act(action, { ids: [this.id] });
    }

    #rename(typed = null) {
        const parts = this.#parts;
        const id = this.id;
        const field = el("input", { class: "field", type: "text", value: typed ?? this.#value.name, "aria-label": t("fileName"), spellcheck: "false", autocomplete: "off" });
        let done = false;
        const end = async (save) => {
            if (done) return;
            done = true;
            const name = field.value.trim();
            field.replaceWith(parts.name);
            if (!save || name === "" || name === this.#value?.name) return;
            const row = await change(id, { name });
            if (this.id !== id) return;
            if (row) this.#patch({ name: row.name, path: row.path ?? null });
            else this.#rename(name);
        };
        field.addEventListener("keydown", (event) => {
            if (event.isComposing) return;
            if (event.key === "Enter") end(true);
            else if (event.key === "Escape") end(false);
            else return;
            event.preventDefault();
            event.stopPropagation();
            this.element.focus({ preventScroll: true });
        });
        field.addEventListener("blur", () => end(true));
        parts.name.replaceWith(field);
        field.focus();
        const dot = field.value.lastIndexOf(".");
        field.setSelectionRange(0, dot > 0 ? dot : field.value.length);
    }

    async #moveFile() {
        const id = this.id;
        const chosen = await chooseFolder(this.#value?.folder);
        if (!chosen || chosen.path === this.#value?.folder) return;
        const row = await change(id, { folder: chosen.path });
        if (!row) return;
        toast(t(row.state === "completed" ? "movedFile" : "movedTo", visible(chosen.path)), { seconds: 4 });
        if (this.id === id) this.#patch({ path: row.path ?? null, folder: row.folder ?? null });
    }

    #replaceSource() {
        const id = this.id;
        const link = el("input", { class: "field", id: "source-url", type: "url", required: true, autocomplete: "off", spellcheck: "false", placeholder: "https://" });
        const fields = el("textarea", { class: "field code", id: "source-headers", rows: 2, spellcheck: "false", autocapitalize: "off", placeholder: "Referer: https://example.org/" });
        const problem = el("p", { class: "field-error", role: "alert", hidden: true });
        const form = el("form", {
            class: "dialog-body",
            onsubmit: async (event) => {
                event.preventDefault();
                try {
                    const headers = headersIn(fields.value);
                    const row = await api.patch(`downloads/${id}`, { source: { url: link.value.trim(), ...(headers ? { headers } : {}) } });
                    list.applyRow(row);
                    dialog.close();
                    if (this.id === id) this.#read();
                    toast(t("sourceReplaced"), row.state === "failed" ? { action: t("action.retry"), onAction: () => act("retry", { ids: [id] }) } : {});
                } catch (error) {
                    problem.hidden = false;
                    problem.textContent = failureText(error);
                }
            },
        }, el("p", { class: "muted", text: t("replaceHint") }), el("div", { class: "control" }, el("label", { for: "source-url", text: t("newLink") }), link), el("div", { class: "control" }, el("label", { for: "source-headers", text: t("add.headers") }), fields), problem,
        el("div", { class: "dialog-foot" }, button(t("cancel"), { class: "button", onclick: () => dialog.close() }), el("button", { type: "submit", class: "button primary", text: t("replaceLink") })));
        const dialog = openDialog({ title: t("replaceLink"), body: form, className: "small", focus: link });
    }
}

/// The open panel follows the selection.
export function followSelection(detail) {
    selection.on("change", () => {
        if (detail.isOpen && selection.count === 1 && !selection.all) detail.open([...selection.ids][0]);
    });
}
