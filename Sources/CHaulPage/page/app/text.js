// The texts of the page. Every text that people read comes from one table for each language.
import { preference } from "./preferences.js";
import { en } from "./text.en.js";
import { zh } from "./text.zh.js";

/// The languages, the fallback first. `key` begins the tags of browsers and is the saved choice. `tag` is for `lang`,
/// `locale` for numbers and dates.
export const languages = [
    { key: "en", name: "English", tag: "en", locale: "en", table: en },
    { key: "zh", name: "简体中文", tag: "zh-Hans", locale: "zh-CN", table: zh },
];

const named = (key) => languages.find((each) => each.key === key);

function choose() {
    const chosen = named(preference("language"));
    if (chosen) return chosen;
    for (const tag of navigator.languages ?? [navigator.language]) {
        const known = named(tag.toLowerCase().split("-")[0]);
        if (known) return known;
    }
    return languages[0];
}

const language = choose();
const { table } = language;
export const { locale } = language;
document.documentElement.lang = language.tag;

/// The text of a key. A text with arguments is a function.
export function t(key, ...values) {
    const text = table[key] ?? en[key];
    if (text === undefined) return key;
    return typeof text === "function" ? text(...values) : text;
}

export const has = (key) => key in table;

/// Fills the elements of index.html: `data-text`, `data-label`, `data-placeholder`, `data-title`.
export function fillTexts(root = document) {
    for (const element of root.querySelectorAll("[data-text]")) element.textContent = t(element.dataset.text);
    for (const element of root.querySelectorAll("[data-label]")) element.setAttribute("aria-label", t(element.dataset.label));
    for (const element of root.querySelectorAll("[data-placeholder]")) element.placeholder = t(element.dataset.placeholder);
    for (const element of root.querySelectorAll("[data-title]")) element.title = t(element.dataset.title);
}
