// The control of the timetable: always, two clocks and days, or a text.
import { el } from "./dom.js";
import { weekdays } from "./format.js";
import { t } from "./text.js";
import { clockText, hoursIn, timetableText } from "./timetable.js";

/// Returns the choice, which has the id, and what belongs below it. `save` hears each complete timetable.
export function hoursControl(id, text, save) {
    const hours = hoursIn(text);
    const isAlways = text === "" || text === "unlimited";
    const given = hours ?? { days: weekdays.map(() => true), from: null, to: null };
    const option = (value, selected) => el("option", { value, text: t(`hours.${value}`), selected });
    const choice = el("select", { class: "field", id, onchange: () => {
        show();
        if (choice.value === "always") save("");
        else if (choice.value === "daily") changed();
    } }, option("always", isAlways), option("daily", hours !== null), option("text", !isAlways && hours === null));
    const clock = (key, minutes) => el("input", { class: "field", id: `${id}-${key}`, type: "time", required: true, value: minutes === null ? "" : clockText(minutes), onchange: () => changed() });
    const from = clock("from", given.from);
    const to = clock("to", given.to);
    const nextDay = el("span", { class: "muted hint" });
    const boxes = weekdays.map(({ long }, day) => el("input", { type: "checkbox", "aria-label": long, checked: given.days[day], onchange: (event) => {
        // Without a day nothing would ever run.
        if (boxes.every((box) => !box.checked)) event.target.checked = true;
        else changed();
    } }));
    const minutes = (field) => (field.value === "" ? null : Number(field.value.slice(0, 2)) * 60 + Number(field.value.slice(3, 5)));
    const changed = () => {
        const value = { days: boxes.map((box) => box.checked), from: minutes(from), to: minutes(to) };
        nextDay.textContent = value.from !== null && value.to !== null && value.to <= value.from ? t("hours.nextDay") : "";
        // Saves nothing before both clocks are set, because running downloads would stop at once.
        if (value.from !== null && value.to !== null) save(timetableText(value));
    };
    const labelled = (key, field) => el("div", { class: "control" }, el("label", { for: field.id, text: t(`hours.${key}`) }), field);
    const daily = el("div", { class: "hours" },
        labelled("from", from),
        el("div", { class: "control" }, el("label", { for: to.id }, t("hours.to"), " ", nextDay), to),
        el("div", { class: "days", role: "group", "aria-label": t("hours.days") }, boxes.map((box, day) => el("label", {}, box, el("span", { text: weekdays[day].short, "aria-hidden": "true" })))));
    const field = el("input", { class: "field code", type: "text", "aria-label": t("hours.text"), autocomplete: "off", autocapitalize: "off", spellcheck: "false", value: text, placeholder: "08:00,512k 18:00,unlimited", onchange: () => save(field.value.trim()) });
    const own = el("div", {}, field);
    const show = () => {
        daily.hidden = choice.value !== "daily";
        own.hidden = choice.value !== "text";
    };
    show();
    if (hours && hours.to <= hours.from) nextDay.textContent = t("hours.nextDay");
    return [choice, el("div", { class: "setting-more" }, daily, own)];
}
