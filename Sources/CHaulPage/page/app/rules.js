// The lists of the settings: rules for new downloads, and the folders of groups. Each change is saved at once.
import { api } from "./api.js";
import { openDialog } from "./dialog.js";
import { button, el } from "./dom.js";
import { failureText } from "./failure.js";
import { chooseFolder } from "./folders.js";
import { visible } from "./format.js";
import { groups, readGroups } from "./rail.js";
import { t } from "./text.js";
import { toast } from "./toast.js";

/// The list of rules, which are in their order. `rules`: the value of the setting.
export const rulesSetting = (rules) => listSetting({ name: "rules", items: rules, text: ruleText, edit: editRule, isOrdered: true, value: (items) => items, read: (value) => value });

/// The folders of groups, by name. `folders`: the value of the setting.
export const groupsSetting = (folders) => listSetting({ name: "groups", items: sorted(folders), text: ([name, folder]) => `${visible(name)} → ${visible(folder)}`, edit: editGroup, isOrdered: false, value: Object.fromEntries, read: sorted });

const sorted = (folders) => Object.entries(folders).sort(([a], [b]) => a.localeCompare(b));

function ruleText(rule) {
    const conditions = [...(rule.hosts ?? []), ...(rule.extensions ?? []).map((end) => `.${end}`), ...(rule.types ?? [])].map(visible).join(", ");
    const choice = [rule.folder && visible(rule.folder), rule.group && `${t("add.group")}: ${visible(rule.group)}`, rule.connections && `${t("connections")}: ${rule.connections}`].filter(Boolean).join(" · ");
    return `${conditions} → ${choice}`;
}

// MARK: Lists

/// `text` describes an item, `edit` opens a dialog for one or for a new one, `value` is what the daemon gets for all of
/// them, `read` what its answer means.
function listSetting({ name, items, text, edit, isOrdered, value, read }) {
    const list = el(isOrdered ? "ol" : "ul", { class: "lines", "aria-label": t(`set.${name}`) });
    const none = el("p", { class: "muted", text: t(`${name}.none`) });
    const problem = el("p", { class: "field-error", role: "alert", hidden: true });
    /// Saves all items. Returns the failure as a text, or `null`.
    const save = async (next) => {
        problem.hidden = true;
        try {
            const { settings } = await api.patch("configuration", { [name]: value(next) });
            items = read(settings[name].value);
        } catch (error) {
            return failureText(error);
        }
        show();
        toast(t("saved"), { seconds: 2 });
        return null;
    };
    const change = async (next, focus) => {
        const failure = await save(next);
        problem.hidden = failure === null;
        problem.textContent = failure ?? "";
        if (failure === null) focus();
    };
    const add = button(t(`${name}.add`), { class: "button", onclick: () => edit(null, (item) => save([...items, item])) });
    const action = (at, key) => list.children[at]?.querySelector(`[data-action="${key}"]:not(:disabled)`);
    const line = (item, at) => {
        const label = text(item);
        const control = (key, icon, run, disabled = false) => button(t("actionFor", t(`line.${key}`), label), { class: "button quiet square", square: true, title: t(`line.${key}`), "data-action": key, disabled, onclick: run }, icon);
        const move = (to, key) => {
            const next = items.toSpliced(at, 1).toSpliced(to, 0, item);
            change(next, () => (action(to, key) ?? action(to, key === "up" ? "down" : "up"))?.focus());
        };
        return el("li", {},
            el("div", { class: "lines-text" }, item.name ? el("strong", { class: "block", text: visible(item.name) }) : null, el("span", { text: label })),
            el("div", { class: "lines-actions" },
                isOrdered ? control("up", "i-up", () => move(at - 1, "up"), at === 0) : null,
                isOrdered ? control("down", "i-down", () => move(at + 1, "down"), at === items.length - 1) : null,
                control("edit", "i-edit", () => edit(item, async (changed) => {
                    const failure = await save(items.toSpliced(at, 1, changed));
                    // The dialog gives the focus back to a button that is no more.
                    if (failure === null) setTimeout(() => action(at, "edit")?.focus());
                    return failure;
                })),
                control("remove", "i-remove", () => change(items.toSpliced(at, 1), () => (action(Math.min(at, items.length - 1), "remove") ?? add).focus()))));
    };
    const show = () => {
        none.hidden = items.length > 0;
        list.replaceChildren(...items.map(line));
        list.hidden = items.length === 0;
    };
    show();
    return el("div", { class: "setting", id: `set-${name}` },
        el("div", { class: "setting-text" }, el("span", { text: t(`set.${name}`) }), el("p", { class: "muted hint", text: t(`set.${name}.hint`) })),
        el("div", { class: "setting-control" }, add),
        el("div", { class: "setting-more" }, none, list, problem));
}

// MARK: Dialogs

/// Opens a form. `read` returns the item, or throws a text. `save` returns a failure, or `null`.
function openForm(title, controls, read, save, focus) {
    const problem = el("p", { class: "field-error", role: "alert", hidden: true });
    let busy = false;
    const submit = async (event) => {
        event.preventDefault();
        if (busy) return;
        const { item, failure } = read();
        busy = true;
        const told = failure ?? (await save(item));
        busy = false;
        problem.hidden = told === null;
        problem.textContent = told ?? "";
        if (told === null) dialog.close();
    };
    const form = el("form", { class: "dialog-body", onsubmit: submit }, controls, problem,
        el("div", { class: "dialog-foot" }, button(t("cancel"), { class: "button", onclick: () => dialog.close() }), el("button", { type: "submit", class: "button primary", text: t("line.save") })));
    const dialog = openDialog({ title, className: "small", body: form, focus });
}

const text = (id, value, more = {}) => el("input", { class: "field", id, type: "text", autocomplete: "off", autocapitalize: "off", spellcheck: "false", value: value ?? "", ...more });
const labelled = (label, control, field = control, hint = null) => el("div", { class: "control" }, el("label", { for: field.id, text: label }), control, hint && el("span", { class: "muted hint", text: hint }));

/// A field for a folder, and a button that chooses one.
function folderControl(id, value) {
    const field = text(id, value);
    const choose = button(t("chooseFolder"), { class: "button square", square: true, onclick: async () => {
        const chosen = await chooseFolder(field.value.startsWith("/") ? field.value : null);
        if (chosen) field.value = chosen.path;
    } }, "i-folder");
    return [el("div", { class: "with-button" }, field, choose), field];
}

function groupField(id, value) {
    const names = el("datalist", { id: `${id}-names` });
    const show = () => names.replaceChildren(...groups.map((group) => el("option", { value: group.name })));
    show();
    readGroups().then(show);
    return [text(id, value, { list: names.id }), names];
}

function editRule(rule, save) {
    const values = (key) => (rule?.[key] ?? []).join(", ");
    const list = (field) => field.value.split(/[\s,;]+/).filter(Boolean);
    const hosts = text("rule-hosts", values("hosts"), { placeholder: "example.org" });
    const extensions = text("rule-extensions", values("extensions"), { placeholder: "pdf, epub" });
    const types = text("rule-types", values("types"), { placeholder: "video/*" });
    const name = text("rule-name", rule?.name);
    const [folderBox, folder] = folderControl("rule-folder", rule?.folder);
    const [group, names] = groupField("rule-group", rule?.group);
    const connections = el("input", { class: "field number", id: "rule-connections", type: "number", min: 1, max: 64, step: 1, value: rule?.connections ?? "" });
    const read = () => {
        const item = {};
        for (const [key, field] of Object.entries({ hosts, extensions, types })) if (list(field).length > 0) item[key] = list(field);
        if (Object.keys(item).length === 0) return { failure: t("rules.needsCondition") };
        const conditions = Object.keys(item).length;
        if (folder.value.trim()) item.folder = folder.value.trim();
        if (group.value.trim()) item.group = group.value.trim();
        if (connections.value) item.connections = Number(connections.value);
        if (Object.keys(item).length === conditions) return { failure: t("rules.needsChoice") };
        if (name.value.trim()) item.name = name.value.trim();
        return { item };
    };
    openForm(t(rule ? "rules.edit" : "rules.add"), [
        labelled(t("rules.hosts"), hosts), labelled(t("rules.extensions"), extensions), labelled(t("rules.types"), types, types, t("rules.typesHint")),
        labelled(t("add.folder"), folderBox, folder), labelled(t("add.group"), group), names, labelled(t("set.connectionsPerDownload"), connections), labelled(t("rules.name"), name),
    ], read, save, hosts);
}

function editGroup(item, save) {
    const [name, names] = groupField("group-name", item?.[0]);
    const [folderBox, folder] = folderControl("group-folder", item?.[1]);
    const read = () => {
        if (name.value.trim() && folder.value.trim()) return { item: [name.value.trim(), folder.value.trim()] };
        return { failure: t("groups.needsBoth") };
    };
    openForm(t(item ? "groups.edit" : "groups.add"), [labelled(t("add.group"), name), names, labelled(t("add.folder"), folderBox, folder)], read, save, name);
}
