// Fields for a speed limit, in MB/s. An empty field means no limit.
import { el, setAttribute } from "./dom.js";
import { t } from "./text.js";

export const speedField = (attributes) => el("input", { class: "field", type: "text", inputmode: "decimal", autocomplete: "off", placeholder: t("noLimit"), ...attributes });

/// Returns the bytes per second in a field, 0 for no limit. Marks a field that holds no speed, and returns `null`.
export function speedIn(field) {
    const megabytes = Number(field.value.trim().replace(",", "."));
    const valid = Number.isFinite(megabytes) && megabytes >= 0;
    setAttribute(field, "aria-invalid", valid ? null : "true");
    return valid ? Math.round(megabytes * 1e6) : null;
}

export const speedText = (bytesPerSecond) => (bytesPerSecond ? String(bytesPerSecond / 1e6) : "");
