// Numbers, times and names as people read them. One unit system: powers of 1,000, as in the command's output.
import { locale, t } from "./text.js";

const whole = new Intl.NumberFormat(locale, { maximumFractionDigits: 0 });
const units = ["B", "kB", "MB", "GB", "TB", "PB"];
const digits = [0, 1, 2].map((count) => new Intl.NumberFormat(locale, { minimumFractionDigits: count, maximumFractionDigits: count, useGrouping: false }));
const dayTime = new Intl.DateTimeFormat(locale, { timeStyle: "short" });
const date = new Intl.DateTimeFormat(locale, { day: "numeric", month: "short" });
const dateYear = new Intl.DateTimeFormat(locale, { day: "numeric", month: "short", year: "numeric" });
const exact = new Intl.DateTimeFormat(locale, { timeStyle: "medium" });
const full = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "medium" });
const SPACE = "\u00a0";

/// The names of the days from Monday on.
export const weekdays = Array.from({ length: 7 }, (_, day) => {
    const monday = new Date(2024, 0, 1 + day);
    return { short: monday.toLocaleDateString(locale, { weekday: "short" }), long: monday.toLocaleDateString(locale, { weekday: "long" }) };
});

/// The difference between the daemon's clock and this one in ms, from `hello`.
let skew = 0;
export function setServerTime(text) {
    const time = Date.parse(text);
    if (Number.isFinite(time)) skew = time - Date.now();
}
export const now = () => Date.now() + skew;

export const count = (value) => whole.format(value);

const alternatives = new Intl.ListFormat(locale, { type: "disjunction" });
/// `magnet or ftp`
export const anyOf = (words) => alternatives.format(words);

function scaled(value) {
    let unit = 0;
    while (value >= 999.5 && unit < units.length - 1) {
        value /= 1000;
        unit += 1;
    }
    return [value, unit];
}

function precise(value, unit) {
    return digits[unit === 0 || value >= 99.95 ? 0 : value >= 9.995 || unit === 1 ? 1 : 2].format(value);
}

/// `48.3 MB`
export function bytes(value) {
    const [scaledValue, unit] = scaled(Math.max(0, value));
    return `${precise(scaledValue, unit)}${SPACE}${units[unit]}`;
}

/// Bits per second: `4.10 Mbit/s`.
export const bitRate = (value) => bytes(value).replace(/B$/, "bit/s");

/// `1.20 of 2.80 GB`: both in the unit of the second where that says enough. `about` marks an estimate of the second.
export function bytesOf(part, total, about = "") {
    const [totalValue, unit] = scaled(total);
    const value = Math.min(part, total) / 1000 ** unit;
    // A small part would be 0.0 in a large unit.
    if (value < 0.995) return t("ofTotal", bytes(part), `${about}${bytes(total)}`);
    const places = unit === 0 || totalValue >= 99.95 ? 0 : totalValue >= 9.995 || unit === 1 ? 1 : 2;
    return t("ofTotal", digits[places].format(value), `${about}${digits[places].format(totalValue)}${SPACE}${units[unit]}`);
}

/// `12.4 MB/s`; one decimal, so that digits do not flicker.
export function speed(value) {
    const [scaledValue, unit] = scaled(Math.max(0, value));
    return `${digits[unit === 0 || scaledValue >= 99.95 ? 0 : 1].format(scaledValue)}${SPACE}${units[unit]}/s`;
}

export function percent(part, total) {
    if (!total) return 0;
    return Math.min(part >= total ? 100 : 99, Math.floor((part / total) * 100));
}

/// A remaining time, which the daemon has smoothed (`TimeLeft.swift`), rounded: above an hour to 5 minutes, above a minute to 10 seconds.
export function timeLeft(seconds) {
    if (seconds === undefined || seconds === null) return "";
    if (seconds < 60) return t("underAMinuteLeft");
    return t("timeLeft", rounded(seconds));
}

function rounded(seconds) {
    const tens = Math.round(seconds / 10) * 10;
    if (tens >= 3570) {
        const minutes = Math.round(seconds / 300) * 5;
        const hours = Math.floor(minutes / 60);
        if (hours >= 48) return t("daysHours", Math.floor(hours / 24), hours % 24);
        return t("hoursMinutes", hours, minutes % 60);
    }
    if (tens >= 600) return t("minutes", Math.round(tens / 60));
    return t("minutesSeconds", Math.floor(tens / 60), tens % 60);
}

/// A duration that is over: `4.2 s`, `3 min 20 s`.
export function duration(milliseconds) {
    const seconds = Math.max(0, milliseconds / 1000);
    if (seconds < 0.05) return t("seconds", `<${SPACE}${digits[1].format(0.1)}`);
    if (seconds < 9.95) return t("seconds", digits[1].format(seconds));
    const whole = Math.round(seconds);
    if (whole < 60) return t("seconds", whole);
    if (whole < 3600) return t("minutesSeconds", Math.floor(whole / 60), whole % 60);
    return rounded(seconds);
}

/// The length of a film: `52 s`, `3 min 20 s`, `1 h 23 min`.
export function filmLength(seconds) {
    const all = Math.max(0, Math.round(seconds));
    if (all < 60) return t("seconds", all);
    if (all < 3600) return t("minutesSeconds", Math.floor(all / 60), all % 60);
    return t("hoursMinutes", Math.floor(all / 3600), Math.floor(all / 60) % 60);
}

/// `in 12 s`, counted in the page.
export function countdown(time) {
    const seconds = Math.max(0, Math.ceil((Date.parse(time) - now()) / 1000));
    return seconds < 90 ? t("seconds", seconds) : rounded(seconds);
}

/// `3 min ago`, `14:03`, `12 Nov`.
export function age(time) {
    const then = Date.parse(time);
    const passed = now() - then;
    if (passed < 60_000) return t("justNow");
    if (passed < 3_600_000) return t("minutesAgo", Math.floor(passed / 60_000));
    const day = new Date(then);
    const today = new Date(now());
    if (day.toDateString() === today.toDateString()) return dayTime.format(day);
    today.setDate(today.getDate() - 1);
    if (day.toDateString() === today.toDateString()) return t("yesterday", dayTime.format(day));
    return (day.getFullYear() === new Date(now()).getFullYear() ? date : dateYear).format(day);
}

export const moment = (time) => full.format(new Date(time));
export const clock = (time) => exact.format(new Date(time));

// Control characters and characters that reorder text would let a name look like another name.
const unsafe = /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\ufff9-\ufffb]/g;

export const visible = (text) => String(text ?? "").replace(unsafe, "\ufffd");

/// A name in two parts. The first may be cropped, the second holds the extension and stays.
export function splitName(text) {
    const name = visible(text);
    if (name.length <= 20) return [name, ""];
    const extension = /(\.tar)?\.[^.\s]{1,9}$/.exec(name)?.[0] ?? "";
    const letters = [...name];
    // Letters of Arabic and its relatives join; a cut inside a word would change their shapes.
    const kept = [...extension].length + (/[\u0590-\u08ff]/.test(name) ? 0 : 5);
    if (kept === 0) return [name, ""];
    return [letters.slice(0, -kept).join(""), letters.slice(-kept).join("")];
}
