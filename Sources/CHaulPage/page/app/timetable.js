// The daemon's timetable as two clocks and days. Timetables that have more, such as speed limits, stay texts.
const NAMES = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const DAY = 1440;
const ENTRY = /^(?:([a-z]{3})[a-z]*-)?(\d{1,2}):(\d{2}),(off|unlimited)$/i;

const twoDigits = (number) => String(number).padStart(2, "0");
/// `08:30` for 510 minutes.
export const clockText = (minutes) => `${twoDigits(Math.floor(minutes / 60))}:${twoDigits(minutes % 60)}`;

/// The text for hours: `{days, from, to}` with a flag for each day from Monday on, and minutes of the day. Hours that end
/// before they begin end on the next day; the same time twice is a whole day.
export function timetableText({ days, from, to }) {
    if (days.every(Boolean)) return from === to ? "" : `${clockText(from)},unlimited ${clockText(to)},off`;
    const chosen = NAMES.map((_, day) => day).filter((day) => days[day]);
    const ends = chosen.map((day) => `${NAMES[to > from ? day : (day + 1) % 7]}-${clockText(to)},off`);
    // Of two entries with the same time the later one applies: the beginning of a day that follows at once.
    return [...ends, ...chosen.map((day) => `${NAMES[day]}-${clockText(from)},unlimited`)].join(" ");
}

/// The hours that a text means; `null` if it means more than two clocks and days can say.
export function hoursIn(text) {
    const steps = stepsIn(text);
    const begin = steps?.findIndex(({ runs }) => runs) ?? -1;
    if (begin < 0 || steps.length < 2) return null;
    const from = steps[begin].minute % DAY;
    const to = steps[(begin + 1) % steps.length].minute % DAY;
    const hours = { days: NAMES.map((_, day) => runsAt(steps, day * DAY + from)), from, to };
    return JSON.stringify(stepsIn(timetableText(hours))) === JSON.stringify(steps) ? hours : null;
}

/// The changes of a week in order; `null` for a text with other entries.
function stepsIn(text) {
    const rules = new Map();
    for (const entry of text.split(/[\s;]+/).filter(Boolean)) {
        const [, name, hour, minute, rule] = ENTRY.exec(entry) ?? [];
        if (rule === undefined) return null;
        const day = name && NAMES.findIndex((each) => each.toLowerCase() === name.toLowerCase());
        for (const each of name ? [day] : NAMES.keys()) rules.set(each * DAY + Number(hour) * 60 + Number(minute), rule.toLowerCase() === "unlimited");
    }
    const all = [...rules].sort((a, b) => a[0] - b[0]).map(([minute, runs]) => ({ minute, runs }));
    return all.filter(({ runs }, at) => runs !== all.at(at - 1).runs);
}

function runsAt(steps, minute) {
    return (steps.findLast((step) => step.minute <= minute) ?? steps.at(-1)).runs;
}
