// Sizes and names as people read them.
const UNITS = ["B", "kB", "MB", "GB", "TB"];

/// Powers of 1,000, as Haul's own page counts.
export function bytes(count) {
    const power = count < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(count) / 3));
    const value = count / 1000 ** power;
    return `${value.toFixed(power === 0 || value >= 100 ? 0 : value >= 10 ? 1 : 2)} ${UNITS[power]}`;
}

/// A name without characters that nobody sees or that reorder text.
export const visible = (text) => String(text ?? "").replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, "\ufffd");

/// A name whose middle is left out, since its end says what it is.
export function shortName(text) {
    const letters = [...visible(text)];
    return letters.length <= 46 ? letters.join("") : `${letters.slice(0, 28).join("")}…${letters.slice(-16).join("")}`;
}
