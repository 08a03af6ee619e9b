// The texts of the page. Every text that people read comes from one table for each language.
import { preference } from "./preferences.js";
import { en } from "./text.en.js";

/// The languages, the fallback first. `key` begins the tags of browsers and is the saved choice. `tag` is for `lang`,
/// `locale` for numbers and dates. Only the table that is needed is loaded.
export const languages = [
    { key: "en", name: "English", tag: "en", locale: "en", load: async () => en },
    { key: "de", name: "Deutsch", tag: "de", locale: "de", load: async () => (await import("./text.de.js")).de },
    { key: "es", name: "Español", tag: "es", locale: "es", load: async () => (await import("./text.es.js")).es },
    { key: "fr", name: "Français", tag: "fr", locale: "fr", load: async () => (await import("./text.fr.js")).fr },
    { key: "ja", name: "日本語", tag: "ja", locale: "ja", load: async () => (await import("./text.ja.js")).ja },
    { key: "zh", name: "简体中文", tag: "zh-Hans", locale: "zh-CN", load: async () => (await import("./text.zh.js")).zh },
];

const named = (key) => languages.find((each) => each.key === key);
const tags = navigator.languages ?? [navigator.language];
const keyOf = (tag) => tag.toLowerCase().split("-")[0];

const language = named(preference("language")) ?? tags.map((tag) => named(keyOf(tag))).find(Boolean) ?? languages[0];
// Without its table, as when the connection breaks right now, the page is in English.
const table = await language.load().catch(() => en);
/// The browser's own tag of the language, if it has one: the region decides about clocks and separators.
export const locale = tags.find((tag) => keyOf(tag) === language.key) ?? language.locale;
document.documentElement.lang = table === en ? "en" : language.tag;

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
