// Preferences of this browser. Storage may be blocked; then they last as long as the page.
const memory = new Map();

export function preference(name, fallback = null) {
    if (memory.has(name)) return memory.get(name);
    try {
        const text = localStorage.getItem(`haul.${name}`);
        return text === null ? fallback : text;
    } catch {
        return fallback;
    }
}

export function setPreference(name, value) {
    memory.set(name, value);
    try {
        if (value === null) localStorage.removeItem(`haul.${name}`);
        else localStorage.setItem(`haul.${name}`, value);
    } catch {
        // Kept in memory only.
    }
}

/// "system", "light" or "dark".
export function applyTheme(theme) {
    setPreference("theme", theme === "system" ? null : theme);
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    document.dispatchEvent(new Event("haul-theme"));
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => document.dispatchEvent(new Event("haul-theme")));
