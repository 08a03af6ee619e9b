// Sets of files whose publisher names them: what a source has, before it is added, and how a set ended.
import { api } from "./api.js";
import { errorText } from "./describe.js";
import { el, icon } from "./dom.js";
import { failureText } from "./failure.js";
import { bytes, count, visible } from "./format.js";
import { kindOf } from "./kinds.js";
import { t } from "./text.js";

/// Time without a key after which the list is read again, in ms.
const PAUSE = 500;
const MOST_ROWS = 100;
const MOST_REFUSED = 5;

/// Number of files that digests proved, or will prove.
const provedIn = (proofs) => Object.entries(proofs).reduce((sum, [name, number]) => (name === "none" || name === "md5" ? sum : sum + number), 0);

/// The state of a set for the heading of its group.
export function setStateText(set) {
    switch (set.state) {
        case "whole": return t("sets.whole", set.files, provedIn(set.proofs));
        case "incomplete": return t("sets.incomplete", set.failed, set.files);
        case "failed": return t("sets.failed", errorText(set.error));
        default: return t("sets.running", set.files);
    }
}

/// The text of the event `notice`. The daemon's own text is English; the codes have texts in every language.
export function noticeText({ code, text, set }) {
    switch (code) {
        case "setWhole":
        case "setIncomplete":
        case "setFailed": return `${visible(set.name)}: ${setStateText(set)}`;
        default: return visible(text);
    }
}

/// The source of the box for links, when it is a set: its files, and the patterns that choose among them.
export class SetChoice {
    /// What the daemon says of the source with the present patterns; `null` while it is not known.
    found = null;
    #source = null;
    #headers = null;
    #timer = null;
    #reading = null;
    #changed;

    /// - changed: called when the source is a set or none any more, and when its files are known.
    constructor(changed) {
        this.#changed = changed;
        this.wanted = el("input", { type: "checkbox", id: "add-as-set", checked: true, onchange: () => this.#read(0) });
        this.offer = el("label", { class: "check", hidden: true }, this.wanted, el("span", { text: t("setOffer") }));
        this.patterns = el("input", { class: "field code", id: "add-select", type: "text", autocomplete: "off", autocapitalize: "off", spellcheck: "false", placeholder: "*.safetensors !*.bin", oninput: () => this.#read(PAUSE) });
        this.control = el("div", { class: "control" }, el("label", { for: "add-select", text: t("add.select") }), this.patterns);
        this.summary = el("p", { class: "chooser-summary", role: "status" });
        this.refused = el("div", { class: "add-refused" });
        this.files = el("div", { class: "chooser set-files", tabindex: 0, role: "region", "aria-label": t("setFiles"), hidden: true });
        this.element = el("div", { class: "set-choice", hidden: true }, this.offer, this.control, this.summary, this.refused, this.files);
    }

    /// Whether the source is to be added as a set.
    get isChosen() {
        return this.#source !== null && (this.offer.hidden || this.wanted.checked);
    }

    /// - isSure: whether the source can be nothing else.
    show(source, isSure, headers) {
        if (source === this.#source && JSON.stringify(headers) === JSON.stringify(this.#headers)) return;
        const isNew = source !== this.#source;
        [this.#source, this.#headers] = [source, headers];
        this.element.hidden = source === null;
        this.offer.hidden = isSure;
        if (isNew) this.wanted.checked = true;
        this.#read(isNew && source !== null ? 100 : PAUSE);
    }

    close() {
        clearTimeout(this.#timer);
        this.#reading?.abort();
    }

    /// The fields of a request. A pattern with `!` before it leaves names out.
    body() {
        const all = this.patterns.value.split(/[\s,]+/).filter((pattern) => pattern !== "" && pattern !== "!");
        const select = all.filter((pattern) => !pattern.startsWith("!"));
        const except = all.filter((pattern) => pattern.startsWith("!")).map((pattern) => pattern.slice(1));
        const headers = this.#headers;
        return { source: this.#source, ...(select.length > 0 ? { select } : {}), ...(except.length > 0 ? { except } : {}), ...(headers ? { headers } : {}) };
    }

    #read(pause) {
        this.close();
        const isChosen = this.isChosen;
        this.control.hidden = !isChosen;
        this.found = null;
        this.#fill(isChosen ? t("setLooking") : "");
        if (isChosen) this.#timer = setTimeout(() => this.#ask(), pause);
        this.#changed();
    }

    async #ask() {
        const reading = new AbortController();
        this.#reading = reading;
        try {
            this.found = await api.post("sets/preview", this.body(), { signal: reading.signal });
            const { found } = this;
            const proved = provedIn(found.proofs);
            const size = found.bytes > 0 ? `${found.unknownSizes > 0 ? "≥ " : ""}${bytes(found.bytes)}` : "";
            this.#fill([t("setCount", found.count, size), t("setProofs", proved, found.count - proved), found.refusedCount > 0 ? t("setRefused", found.refusedCount) : "", found.signedBy ? t("setSigned", visible(found.signedBy)) : ""].filter(Boolean).join(" "));
            this.#show(found);
        } catch (error) {
            if (reading.signal.aborted) return;
            this.#fill(failureText(error), true);
        }
        this.#changed();
    }

    #fill(text, isError = false) {
        this.summary.textContent = text;
        this.summary.classList.toggle("field-error", isError);
        if (this.found === null) {
            this.files.hidden = true;
            this.refused.replaceChildren();
        }
    }

    #show({ files, count: all, refused, refusedCount }) {
        this.refused.replaceChildren(
            ...refused.slice(0, MOST_REFUSED).map(({ name, error }) => el("p", { text: `${visible(name)}: ${visible(error.message)}` })),
            ...(refusedCount > MOST_REFUSED ? [el("p", { text: t("setMore", refusedCount - MOST_REFUSED) })] : []),
        );
        this.files.hidden = files.length === 0;
        const head = (text, className) => el("th", { scope: "col", class: className, text });
        const rows = files.slice(0, MOST_ROWS).map(({ name, size, proof }) => el("tr", {},
            el("td", {}, el("div", { class: "chooser-name" }, icon(`k-${kindOf(name)}`, "kind"), el("span", { text: visible(name) }))),
            el("td", { class: "number", text: size === undefined ? "—" : bytes(size) }),
            el("td", { class: "muted", text: proof ?? t("setNoDigest") })));
        if (all > rows.length) rows.push(el("tr", {}, el("td", { class: "muted", colspan: 3, text: t("setMore", all - rows.length) })));
        this.files.replaceChildren(el("table", {}, el("thead", {}, el("tr", {}, head(t("fileName")), head(t("fact.size"), "number"), head(t("setDigest")))), el("tbody", {}, rows)));
        this.files.scrollTop = 0;
    }
}

/// The sentence that a set was added.
export const addedText = (row) => t("setAdded", visible(row.name), count(row.wanted), count(row.unchanged));
