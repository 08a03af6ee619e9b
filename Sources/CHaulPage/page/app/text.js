// The texts of the page. Every text that people read comes from one table for each language.
import { preference } from "./preferences.js";
import { en } from "./text.en.js";
import { zh } from "./text.zh.js";

export const languages = { en: "English", zh: "简体中文" };

function choose() {
    const chosen = preference("language");
    if (chosen in languages) return chosen;
    for (const tag of navigator.languages ?? [navigator.language]) {
        const primary = tag.toLowerCase().split("-")[0];
        if (primary in languages) return primary;
    }
    return "en";
}

export const language = choose();
const table = language === "zh" ? zh : en;
document.documentElement.lang = language === "zh" ? "zh-Hans" : "en";

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
