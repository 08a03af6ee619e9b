// Settings: those of this browser, and those of the daemon.
import { api } from "./api.js";
import { changeHistory } from "./back.js";
import { openDialog } from "./dialog.js";
import { button, el, icon, setAttribute } from "./dom.js";
import { extensionSettings } from "./extensions.js";
import { failureText, tellFailure } from "./failure.js";
import { chooseFolder } from "./folders.js";
import { visible } from "./format.js";
import { hoursControl } from "./hours.js";
import { canNotify, notifies, setNotifies } from "./notify.js";
import { applyTheme, preference, setPreference } from "./preferences.js";
import { groupsSetting, rulesSetting } from "./rules.js";
import { speedField, speedIn, speedText } from "./speed-field.js";
import { has, languages, t } from "./text.js";
import { readTotals } from "./totals.js";
import { toast } from "./toast.js";

const ORDER = ["maxConcurrentDownloads", "connectionsPerDownload", "connectionsPerHost", "speedLimit", "allowsMetered", "timetable", "folder", "userAgent", "proxy", "rules", "groups"];

/// Says that the settings were open when the page was loaded again for another language.
const CONTINUES = "settings";

/// Whether the settings are to be opened again. Says so once.
export function settingsContinue() {
    const continues = preference(CONTINUES) !== null;
    setPreference(CONTINUES, null);
    return continues;
}

export async function openSettings({ signedOut, showKeys }) {
    const daemon = el("section", { class: "settings-daemon" }, el("p", { class: "muted", text: t("loading") }));
    const foot = el("p", { class: "muted" });
    const dialog = openDialog({
        title: t("settings"),
        className: "settings",
        body: el("div", { class: "dialog-body" }, pageSettings(), extensionSettings(), daemon),
        footer: el("div", { class: "dialog-foot" }, foot, el("span", { class: "gap" }),
            button(t("keys"), { class: "button", onclick: () => (dialog.close(), showKeys()) }),
            button(t("signOut"), { class: "button", onclick: async () => {
                try {
                    await api.remove("session");
                } catch (error) {
                    if (error.status !== 401) return tellFailure(error);
                }
                dialog.close();
                signedOut();
            } })),
    });
    api.get("session").then(({ version, hostName }) => (foot.textContent = t("versionOn", version, visible(hostName))), () => {});
    try {
        const { settings } = await api.get("configuration");
        showDaemon(daemon, settings);
    } catch (error) {
        daemon.replaceChildren(el("p", { class: "field-error", text: failureText(error) }));
    }
}

// MARK: This browser

function pageSettings() {
    const theme = el("div", { class: "segmented", role: "radiogroup", "aria-label": t("theme") }, ["system", "light", "dark"].map((name) => el("label", {}, el("input", { type: "radio", name: "theme", value: name, checked: preference("theme", "system") === name, onchange: () => applyTheme(name) }), el("span", { text: t(`theme.${name}`) }))));
    const choose = el("select", { class: "field", id: "set-language", onchange: () => {
        setPreference("language", choose.value === "" ? null : choose.value);
        setPreference(CONTINUES, "continue");
        choose.closest("dialog").close();
        changeHistory(() => location.reload());
    } }, el("option", { value: "", text: t("languageSystem") }), languages.map(({ key, name, tag }) => el("option", { value: key, text: name, lang: tag, selected: preference("language") === key })));
    const letters = el("input", { type: "checkbox", class: "switch", role: "switch", id: "set-letters", checked: preference("letters") !== "off", onchange: () => setPreference("letters", letters.checked ? null : "off") });
    const notify = el("button", { type: "button", class: "button", "aria-describedby": "notify-hint", onclick: async () => {
        const wanted = !notifies();
        const on = await setNotifies(wanted);
        label(on);
        if (wanted && !on) hint.textContent = t("notifyBlocked");
    } });
    const label = (on) => (notify.textContent = t(on ? "notifyOff" : "notifyOn"));
    const hint = el("p", { id: "notify-hint", class: "muted hint", text: t(canNotify() ? "notifyHint" : "notifyImpossible") });
    label(notifies());
    notify.disabled = !canNotify();
    return el("section", {},
        el("h3", { text: t("thisBrowser") }),
        setting(el("span", { text: t("theme") }), theme),
        setting(el("label", { for: "set-language", text: t("language") }), choose),
        setting(el("span", { text: t("notifications") }), notify, hint),
        setting(el("label", { for: "set-letters", text: t("letters") }), letters));
}

function setting(label, control, ...rest) {
    return el("div", { class: "setting" }, el("div", { class: "setting-text" }, label, ...rest), el("div", { class: "setting-control" }, control));
}

// MARK: The daemon

const lists = { rules: rulesSetting, groups: groupsSetting };

function showDaemon(box, settings) {
    const names = Object.keys(settings).sort((a, b) => (ORDER.indexOf(a) + 1 || 99) - (ORDER.indexOf(b) + 1 || 99));
    const live = names.filter((name) => settings[name].live);
    const fixed = names.filter((name) => !settings[name].live);
    box.replaceChildren(
        el("h3", { text: t("daemon") }),
        ...live.map((name) => lists[name]?.(settings[name].value) ?? liveSetting(name, settings[name])),
        ...(fixed.length > 0 ? [el("details", { class: "advanced" }, el("summary", { text: t("setAtStart", fixed.length) }), el("p", { class: "muted", text: t("setAtStartHint") }), el("dl", { class: "facts" }, fixed.map((name) => el("div", {}, el("dt", {}, el("code", { text: name })), el("dd", {}, el("span", { class: "wrap", text: shown(settings[name].value) }), el("span", { class: "muted block", ...describeSetting(name, settings[name]) })))))) ] : []),
    );
}

function shown(value) {
    if (value === true) return t("yes");
    if (value === false) return t("no");
    if (value === "" || value === null) return "—";
    return visible(Array.isArray(value) ? value.join(", ") : String(value));
}

function liveSetting(name, value) {
    const id = `set-${name}`;
    const problem = el("p", { class: "field-error", role: "alert", hidden: true });
    const complain = (text) => {
        problem.textContent = text;
        problem.hidden = false;
    };
    /// Returns the setting as the daemon has it now, or `null` after a failure.
    const save = async (next) => {
        problem.hidden = true;
        try {
            const { settings } = await api.patch("configuration", { [name]: next });
            toast(t("saved"), { seconds: 2 });
            readTotals();
            return settings[name];
        } catch (error) {
            complain(failureText(error));
            return null;
        }
    };
    const hint = el("p", { class: "muted hint", ...describeSetting(name, value) });
    const label = el("label", { for: id, text: has(`set.${name}`) ? t(`set.${name}`) : name });
    if (name !== "timetable") return setting(label, control(id, name, value, save, complain), hint, problem);
    const [choice, more] = hoursControl(id, value.value, save);
    const shown = setting(label, choice, hint, problem);
    shown.append(more);
    return shown;
}

function control(id, name, value, save, complain) {
    if (typeof value.value === "boolean") {
        const box = el("input", { type: "checkbox", class: "switch", role: "switch", id, checked: value.value, onchange: async () => (await save(box.checked)) || (box.checked = !box.checked) });
        return box;
    }
    if (name === "folder") {
        const path = el("span", { class: "folder-text", text: visible(value.value) });
        const choose = el("button", { type: "button", class: "field folder-button", id, title: visible(value.value), onclick: async () => {
            const chosen = await chooseFolder(value.value);
            const saved = chosen && (await save(chosen.path));
            if (!saved) return;
            value.value = saved.value;
            path.textContent = choose.title = visible(saved.value);
        } }, icon("i-folder"), path);
        return choose;
    }
    if (name === "speedLimit") {
        const field = speedField({ id, value: speedText(value.value), onchange: () => {
            const limit = speedIn(field);
            if (limit !== null) save(limit);
            else complain(t("speedWanted"));
        } });
        return el("div", { class: "with-unit" }, field, el("span", { class: "unit", text: "MB/s" }));
    }
    if (typeof value.value === "number") {
        const field = el("input", { class: "field number", id, type: "number", step: 1, min: value.minimum, max: value.maximum, value: value.value, required: true, onchange: () => {
            const isRight = field.checkValidity();
            setAttribute(field, "aria-invalid", isRight ? null : "true");
            if (isRight) save(Number(field.value));
            else complain(t("numberWanted", value.minimum, value.maximum));
        } });
        return field;
    }
    const field = el("input", { class: "field", id, type: "text", autocomplete: "off", spellcheck: "false", value: value.value ?? "", placeholder: has(`set.${name}.placeholder`) ? t(`set.${name}.placeholder`) : "", onchange: async () => {
        const saved = await save(field.value.trim());
        // A proxy comes back without its password, an empty text as the value of the start.
        if (saved) field.value = saved.value ?? "";
    } });
    return field;
}

/// The description of a setting as `{text, lang}`. `lang` marks the daemon's English, for a setting without a text.
function describeSetting(name, { description }) {
    return has(`set.${name}.hint`) ? { text: t(`set.${name}.hint`) } : { text: description, lang: "en" };
}
