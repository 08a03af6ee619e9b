// Adding: links are pasted, looked at when wanted, and added with the options below them.
import { api, randomKey } from "./api.js";
import { openDialog } from "./dialog.js";
import { button, el, icon, isApple } from "./dom.js";
import { errorText } from "./describe.js";
import { failureText } from "./failure.js";
import { filmBytes, filmFacts, filmOptions, isRefused, streamChoice } from "./films.js";
import { chooseFolder, readFolder } from "./folders.js";
import { anyOf, bytes, count, visible } from "./format.js";
import { headersIn, withUser } from "./header-fields.js";
import { kindOf } from "./kinds.js";
import { kindsOf, linksIn, mayBeSet, metalinkNames } from "./links.js";
import { list, totals } from "./model.js";
import { groups, readGroups } from "./rail.js";
import { flushRemoval } from "./removal.js";
import { PRIORITIES } from "./row-menu.js";
import { SetChoice, addedText } from "./sets.js";
import { speedField, speedIn } from "./speed-field.js";
import { t } from "./text.js";
import { toast } from "./toast.js";

const PROBE_AT_ONCE = 20;
const ADD_AT_ONCE = 1000;
let current = null;
/// The links of a dialog that was closed without adding or cancelling, as by Back.
let draft = "";

/// The size of a link that was looked at. That of a film is an estimate.
const sizeOf = (item) => (item.stream ? filmBytes(item) : item.totalBytes);

/// The name that a link itself suggests.
function nameOf(link) {
    const last = new URL(link).pathname.split("/").pop();
    try {
        return decodeURIComponent(last);
    } catch {
        return last;
    }
}

/// Opens the dialog, or adds to the one that is open. `metalink`: `{name, xml}`. `reveal` shows what was added:
/// `download(row)`, `group(name)`.
export function openAdd({ text = "", metalink = null } = {}, reveal) {
    if (!current) current = new AddDialog(reveal);
    if (metalink) current.useMetalink(metalink);
    else if (text) current.append(text);
    else current.append(draft);
    draft = "";
}

class AddDialog {
    #metalinks = [];
    #found = new Map();
    #looking = null;
    #folder = null;
    #hasRules = false;
    #busy = false;
    #keys = new Map();
    #isOver = false;
    /// The options that a set does not have.
    #onlyForLinks = [];

    constructor(reveal) {
        this.reveal = reveal;
        const id = (name) => `add-${name}`;
        const labelled = (name, control, hint) => el("div", { class: "control" }, el("label", { for: id(name), text: t(`add.${name}`) }), control, hint ?? null);
        this.links = el("textarea", { id: id("links"), class: "field links", rows: 5, spellcheck: "false", autocapitalize: "off", autocomplete: "off", placeholder: t("linksPlaceholder"), "aria-describedby": id("count"), oninput: () => this.#note() });
        this.count = el("span", { id: id("count"), class: "muted" });
        this.look = button(t("look"), { class: "button", onclick: () => this.#look() }, "i-search");
        this.refused = el("p", { class: "add-refused", role: "status" });
        this.metalinkNotes = el("div", { class: "metalinks" });
        this.chooser = el("div", { class: "chooser", hidden: true });
        this.summary = el("p", { class: "chooser-summary", role: "status" });
        this.set = new SetChoice(() => this.#note());
        this.problem = el("div", { class: "add-problem", role: "alert", hidden: true });
        this.folder = el("button", { type: "button", class: "field folder-button", id: id("folder"), onclick: () => this.#chooseFolder() }, icon("i-folder"), el("span", { class: "folder-text" }));
        this.free = el("span", { class: "muted hint" });
        this.name = el("input", { class: "field", id: id("name"), type: "text", autocomplete: "off", autocapitalize: "off", spellcheck: "false" });
        this.nameControl = labelled("name", this.name);
        this.group = el("input", { class: "field", id: id("group"), type: "text", list: id("groups"), autocomplete: "off", placeholder: t("noGroup") });
        this.groups = el("datalist", { id: id("groups") });
        this.priority = el("select", { class: "field", id: id("priority") }, PRIORITIES.map((value) => el("option", { value, text: t(`priority.${value}`), selected: value === 0 })));
        this.paused = el("input", { type: "checkbox", id: id("paused") });
        this.headers = el("textarea", { class: "field code", id: id("headers"), oninput: () => this.#note(), rows: 2, spellcheck: "false", autocapitalize: "off", placeholder: "Referer: https://example.org/" });
        this.user = el("input", { class: "field", id: id("user"), oninput: () => this.#note(), type: "text", autocomplete: "off", autocapitalize: "off", spellcheck: "false" });
        this.password = el("input", { class: "field", id: id("password"), oninput: () => this.#note(), type: "password", autocomplete: "new-password" });
        this.checksum = el("input", { class: "field code", id: id("checksum"), type: "text", spellcheck: "false", autocapitalize: "off", autocomplete: "off", placeholder: "sha-256:…" });
        this.checksumHint = el("span", { class: "muted hint" });
        this.limit = speedField({ id: id("limit"), oninput: () => this.limit.removeAttribute("aria-invalid") });
        this.submit = el("button", { type: "submit", class: "button primary", "aria-keyshortcuts": "Control+Enter" }, el("span"));
        this.form = el(
            "form",
            { class: "add-form", onsubmit: (event) => (event.preventDefault(), this.#add()) },
            el("div", { class: "dialog-body" },
                el("div", { class: "add-what" },
                    el("div", { class: "add-links" },
                        el("label", { for: id("links"), class: "unseen", text: t("links") }),
                        this.links,
                        el("div", { class: "add-links-foot" }, this.count, el("span", { class: "gap" }), this.look)),
                    this.refused,
                    this.metalinkNotes,
                    this.summary,
                    this.chooser,
                    this.set.element),
                el("div", { class: "add-how" },
                    el("div", { class: "options" },
                        this.nameControl,
                        labelled("folder", this.folder, this.free),
                        labelled("group", this.group),
                        this.#forLinks(labelled("priority", this.priority)),
                        this.#forLinks(el("label", { class: "check" }, this.paused, el("span", { text: t("add.paused") })))),
                    el("details", { class: "advanced", ontoggle: (event) => event.target.open && event.target.scrollIntoView({ block: "nearest" }) },
                        el("summary", { text: t("advanced") }),
                        el("div", { class: "options" },
                            labelled("user", this.user),
                            labelled("password", this.password),
                            el("div", { class: "control wide" }, el("label", { for: id("headers"), text: t("add.headers") }), this.headers),
                            this.#forLinks(labelled("checksum", this.checksum, this.checksumHint)),
                            this.#forLinks(labelled("limit", el("div", { class: "with-unit" }, this.limit, el("span", { class: "unit", text: "MB/s" })))))),
                    this.groups),
                this.problem),
            el("div", { class: "dialog-foot" }, el("kbd", { class: "foot-key", text: isApple ? "⌘ Enter" : "Ctrl + Enter", "aria-hidden": "true" }), el("span", { class: "gap" }), button(t("cancel"), { class: "button", onclick: () => this.#end() }), this.submit),
        );
        this.form.addEventListener("keydown", (event) => {
            if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.isComposing) return;
            event.preventDefault();
            if (!this.submit.disabled) this.form.requestSubmit();
        });
        this.dialog = openDialog({
            title: t("addTitle"),
            className: "add",
            body: this.form,
            focus: this.links,
            onClose: () => {
                this.#looking?.abort();
                this.set.close();
                if (!this.#isOver) draft = this.links.value;
                current = null;
            },
        });
        this.#note();
        this.#prepare();
    }

    /// Closes the dialog for good: nothing of it is kept.
    #end() {
        this.#isOver = true;
        this.dialog.close();
    }

    #forLinks(control) {
        this.#onlyForLinks.push(control);
        return control;
    }

    /// The request headers, with the user and the password; `null` for none.
    #headers() {
        return withUser(headersIn(this.headers.value), this.user.value, this.password.value);
    }

    async #prepare() {
        this.#setFolder({ path: totals.value?.folder ?? "", freeBytes: undefined });
        this.groups.replaceChildren(...groups.map((group) => el("option", { value: group.name })));
        try {
            const folder = await readFolder(null);
            if (!this.#folder?.chosen) this.#setFolder({ path: folder.path, freeBytes: folder.freeBytes });
        } catch {
            // Keeps the daemon's default folder. The answer to adding says what is wrong with it.
        }
        try {
            const { settings } = await api.get("configuration");
            this.#hasRules = settings.rules?.value.length > 0 || Object.keys(settings.groups?.value ?? {}).length > 0;
            this.#setFolder(this.#folder);
        } catch {
            // Without the settings the dialog does not say that rules may choose.
        }
        await readGroups();
        this.groups.replaceChildren(...groups.map((group) => el("option", { value: group.name })));
    }

    append(text) {
        const had = this.links.value.trim();
        this.links.value = had ? `${had}\n${text.trim()}` : text.trim();
        this.#note();
    }

    useMetalink({ name, xml }) {
        const names = metalinkNames(xml);
        if (names === null) return this.#fail([t("metalinkUnreadable", visible(name))]);
        if (this.#metalinks.some((metalink) => metalink.xml === xml)) return;
        const metalink = { name, xml, count: names.length };
        metalink.note = el("div", { class: "metalink" },
            icon("k-archive", "kind"),
            el("div", {}, el("p", { text: t("metalinkFiles", visible(name), names.length) }), el("p", { class: "muted", text: names.slice(0, 5).map(visible).join(", ") + (names.length > 5 ? ", …" : "") })),
            button(t("removeFile"), { class: "button quiet square", square: true, onclick: () => this.#removeMetalink(metalink) }, "i-close"),
        );
        this.#metalinks.push(metalink);
        this.metalinkNotes.append(metalink.note);
        this.#note();
    }

    #removeMetalink(metalink) {
        this.#metalinks = this.#metalinks.filter((other) => other !== metalink);
        metalink.note.remove();
        this.#note();
    }

    // MARK: Links

    #chosen() {
        const { links } = linksIn(this.links.value);
        return links.filter((link) => this.#found.get(link)?.wanted ?? true);
    }

    #note() {
        const { links, sets, refused, rejected } = linksIn(this.links.value);
        const chosen = this.#chosen();
        const total = chosen.length + this.#metalinks.reduce((sum, { count }) => sum + count, 0);
        this.#noteSet(links, sets);
        const isSet = this.set.isChosen;
        this.count.textContent = [links.length > 0 || refused.length > 0 || rejected > 0 ? t("linkCount", links.length) : "", rejected > 0 ? t("linesRejected", rejected) : ""].filter(Boolean).join("  ·  ");
        this.refused.textContent = [refused.length > 0 ? t("kindsRefused", anyOf(kindsOf(refused))) : "", sets.length > (isSet ? 1 : 0) ? t("setsAlone") : ""].filter(Boolean).join(" ");
        this.nameControl.hidden = links.length !== 1 || this.#metalinks.length > 0 || isSet;
        for (const control of this.#onlyForLinks) control.hidden = isSet;
        this.group.placeholder = isSet ? visible(this.set.found?.name ?? "") : t("noGroup");
        this.#showFolder();
        this.name.placeholder = links.length === 1 ? visible(this.#found.get(links[0])?.name ?? nameOf(links[0])) : "";
        this.submit.firstElementChild.textContent = isSet ? t("addSet") : t("addLinks", total);
        this.submit.disabled = (isSet ? this.set.found === null : total === 0) || this.#busy;
        this.look.disabled = links.length === 0 || this.#looking !== null || isSet;
        this.checksum.disabled = total !== 1;
        this.checksumHint.textContent = total > 1 ? t("checksumOne") : "";
        if (this.#found.size > 0) this.#showFound(isSet ? [] : links);
    }

    /// A reference to a hub is a set; an address may be one. Beside other links, neither is.
    #noteSet(links, sets) {
        const isAlone = this.#metalinks.length === 0 && links.length + sets.length > 0 && (links.length === 0 || links.length + sets.length === 1);
        const source = !isAlone ? null : sets[0] ?? (mayBeSet(links[0]) ? links[0] : null);
        this.set.show(source, sets.length > 0, this.#headers());
    }

    async #look() {
        const { links } = linksIn(this.links.value);
        const wanted = links.filter((link) => !this.#found.has(link));
        this.#looking = new AbortController();
        this.#note();
        let done = links.length - wanted.length;
        try {
            for (let at = 0; at < wanted.length; at += PROBE_AT_ONCE) {
                this.summary.textContent = t("looking", done, links.length);
                const headers = this.#headers();
                const answer = await api.post("probe", { urls: wanted.slice(at, at + PROBE_AT_ONCE), ...(headers ? { headers } : {}) }, { signal: this.#looking.signal });
                for (const item of answer.items) this.#found.set(item.url, { ...item, wanted: !isRefused(item) && !item.existing });
                done += answer.items.length;
                this.#showFound(links);
            }
            this.problem.hidden = true;
        } catch (error) {
            if (error.name !== "AbortError") this.#fail([failureText(error)]);
        }
        this.#looking = null;
        if (this.dialog.open) this.#note();
    }

    #showFound(links) {
        const items = links.map((link) => this.#found.get(link)).filter(Boolean);
        this.chooser.hidden = items.length === 0;
        const known = items.filter((item) => item.wanted);
        const size = known.reduce((sum, item) => sum + (sizeOf(item) ?? 0), 0);
        const about = known.some((item) => item.stream && sizeOf(item)) ? "~" : "";
        const there = items.filter((item) => item.existing).length;
        const bad = items.filter(isRefused).length;
        this.summary.textContent = items.length === 0 ? "" : [
            t("chosenOf", known.length, items.length, size > 0 ? `${about}${bytes(size)}` : ""),
            there > 0 ? t("alreadyThere", there) : "",
            bad > 0 ? t("notReachable", bad) : "",
        ].filter(Boolean).join(" ");
        const key = items.map((item) => item.url).join("\n");
        if (this.chooserKey === key) return;
        this.chooserKey = key;
        const all = el("input", { type: "checkbox", "aria-label": t("chooseAll"), checked: items.every((item) => item.wanted || isRefused(item)), onchange: () => {
            for (const item of items) if (!isRefused(item)) item.wanted = all.checked;
            this.chooserKey = null;
            this.#note();
        } });
        const rows = items.flatMap((item) => {
            const name = visible(item.name ?? item.url);
            const box = el("input", { type: "checkbox", "aria-label": t("chooseNamed", name), checked: item.wanted, disabled: isRefused(item), onchange: () => {
                item.wanted = box.checked;
                this.#note();
            } });
            const note = item.error ? errorText({ ...item.error, message: item.error.detail }) : item.stream?.protection ? filmFacts(item) : item.existing ? t("isThere", t(`state.${item.existing.state}`)) : item.stream ? filmFacts(item) : (item.contentType ?? "").split(";")[0];
            const size = el("td", { class: "number" });
            const showSize = () => {
                const value = sizeOf(item);
                size.textContent = value === undefined ? "—" : `${item.stream ? "~" : ""}${bytes(value)}`;
            };
            showSize();
            const options = item.stream ? filmOptions(item, name, () => {
                showSize();
                this.#note();
            }) : null;
            const row = el("tr", { class: isRefused(item) ? "bad" : "" },
                el("td", {}, box),
                el("td", { title: item.url }, el("div", { class: "chooser-name" }, icon(`k-${item.stream ? "video" : kindOf(item.name)}`, "kind"), el("span", { text: name }))),
                size,
                el("td", { class: isRefused(item) ? "error" : "muted", text: note }));
            return options ? [row, el("tr", { class: "film" }, el("td", { colspan: 4 }, options))] : [row];
        });
        this.chooser.replaceChildren(el("table", {}, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, all), el("th", { scope: "col", text: t("fileName") }), el("th", { scope: "col", class: "number", text: t("fact.size") }), el("th", { scope: "col", text: t("kindOrState") }))), el("tbody", {}, rows)));
    }

    // MARK: Options

    #setFolder(folder) {
        this.#folder = folder;
        this.#showFolder();
        const free = folder.freeBytes === undefined ? "" : t("free", bytes(folder.freeBytes));
        this.free.textContent = [free, this.#hasRules && !folder.chosen ? t("rules.mayChoose") : ""].filter(Boolean).join("  ·  ");
    }

    /// The folder of a set, which has its name, in the chosen folder.
    #setFolderPath() {
        return `${this.#folder.path.replace(/\/$/, "")}/${this.set.found.name}`;
    }

    #showFolder() {
        if (!this.#folder) return;
        const path = visible(this.set.isChosen && this.set.found ? this.#setFolderPath() : this.#folder.path);
        this.folder.lastElementChild.textContent = path;
        this.folder.title = path;
    }

    async #chooseFolder() {
        const chosen = await chooseFolder(this.#folder?.path);
        if (chosen) this.#setFolder({ ...chosen, chosen: true });
    }

    // MARK: Adding

    #fail(lines) {
        this.problem.hidden = false;
        this.problem.replaceChildren(...lines.map((line) => el("p", { text: line })));
        this.problem.scrollIntoView({ block: "nearest" });
    }

    async #add() {
        if (this.#busy) return;
        if (this.set.isChosen) return this.#addSet();
        const links = this.#chosen();
        if (links.length === 0 && this.#metalinks.length === 0) return;
        const limit = speedIn(this.limit);
        if (limit === null) {
            this.limit.closest("details").open = true;
            return this.limit.focus();
        }
        this.#busy = true;
        this.problem.hidden = true;
        this.#note();
        const options = {
            ...(this.#folder?.chosen ? { folder: this.#folder.path } : {}),
            ...(this.group.value.trim() ? { group: this.group.value.trim() } : {}),
            ...(this.priority.value !== "0" ? { priority: Number(this.priority.value) } : {}),
            ...(this.paused.checked ? { paused: true } : {}),
        };
        const headers = this.#headers();
        const stream = (link) => streamChoice(this.#found.get(link));
        const item = (link) => ({
            url: link,
            ...(links.length === 1 && !this.nameControl.hidden && this.name.value.trim() ? { name: this.name.value.trim() } : {}),
            ...(stream(link) ? { stream: stream(link) } : {}),
            // The daemon's rules go by the type that the server stated. That of a film says nothing of the file.
            ...(this.#found.get(link)?.contentType && !this.#found.get(link).stream ? { contentType: this.#found.get(link).contentType } : {}),
            ...(headers ? { headers } : {}),
            ...(limit > 0 ? { bytesPerSecond: limit } : {}),
            ...(links.length === 1 && this.checksum.value.trim() ? { checksum: this.checksum.value.trim() } : {}),
        });
        const results = [];
        try {
            await flushRemoval();
            // Only a link that was shown as there, and chosen, is downloaded again.
            for (const onDuplicate of ["join", "addAnyway"]) {
                const those = links.filter((link) => (this.#found.get(link)?.existing ? "addAnyway" : "join") === onDuplicate);
                for (let at = 0; at < those.length; at += ADD_AT_ONCE) {
                    const part = those.slice(at, at + ADD_AT_ONCE);
                    const answer = await this.#post({ items: part.map(item), ...options, onDuplicate });
                    answer.items.forEach((result, index) => results.push({ link: part[index], ...result }));
                }
            }
            for (const metalink of [...this.#metalinks]) {
                const answer = await this.#post({ metalink: metalink.xml, ...options });
                answer.items.forEach((result) => results.push({ link: metalink.name, ...result }));
                this.#removeMetalink(metalink);
            }
        } catch (error) {
            this.#busy = false;
            this.#note();
            return this.#fail([failureText(error)]);
        }
        this.#busy = false;
        this.#finish(results);
    }

    async #addSet() {
        if (this.set.found === null) return;
        const body = {
            ...this.set.body(),
            ...(this.#folder?.chosen ? { folder: this.#setFolderPath() } : {}),
            ...(this.group.value.trim() ? { group: this.group.value.trim() } : {}),
        };
        this.#busy = true;
        this.problem.hidden = true;
        this.#note();
        let row;
        try {
            await flushRemoval();
            row = await this.#post(body, "sets");
        } catch (error) {
            this.#fail([failureText(error)]);
        }
        this.#busy = false;
        if (!row) return this.#note();
        list.invalidate();
        readGroups();
        // Further sets stay in the box.
        const { sets, refused } = linksIn(this.links.value);
        const rest = [...sets.filter((set) => set !== body.source), ...refused.map(({ link }) => link)];
        if (rest.length === 0) this.#end();
        this.links.value = rest.join("\n");
        this.#note();
        toast(addedText(row), { action: t("show"), onAction: () => this.reveal.group(row.group), seconds: 5 });
    }

    /// Sends the same body under the same key, so that a second try after a lost answer adds nothing twice.
    async #post(body, path = "downloads") {
        const text = JSON.stringify(body);
        const key = this.#keys.get(text) ?? randomKey();
        this.#keys.set(text, key);
        const answer = await api.post(path, body, { headers: { "Idempotency-Key": key } });
        this.#keys.delete(text);
        return answer;
    }

    #finish(results) {
        const failed = results.filter((result) => result.error);
        const added = results.filter((result) => !result.error && !result.existed);
        const joined = results.filter((result) => !result.error && result.existed);
        list.invalidate();
        const summary = [added.length > 0 ? t("addedCount", added.length) : "", joined.length > 0 ? t("joinedCount", joined.length) : ""].filter(Boolean).join(" ");
        const { sets, refused } = linksIn(this.links.value);
        if (failed.length > 0 || sets.length > 0 || refused.length > 0) {
            // Keeps the links in the field that could not be added.
            this.links.value = [...failed.map(({ link }) => link), ...sets, ...refused.map(({ link }) => link)].join("\n");
            this.#found.clear();
            this.chooser.hidden = true;
            this.summary.textContent = failed.length > 0 ? "" : summary;
            this.#note();
            if (failed.length > 0) this.#fail([[summary, t("failedCount", failed.length)].filter(Boolean).join(" "), ...failed.slice(0, 5).map((result) => `${visible(result.link)}: ${errorText({ ...result.error, message: result.error.detail ?? result.error.message })}`)]);
            return;
        }
        this.#end();
        const first = added[0]?.download ?? joined[0]?.download;
        toast(summary, first ? { action: t("show"), onAction: () => this.reveal.download(first), seconds: 5 } : { seconds: 4 });
    }
}
