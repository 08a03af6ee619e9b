// Runs before the first paint, so that a chosen theme does not flash. A classic script: modules run later.
try {
    const theme = localStorage.getItem("haul.theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
    // Storage may be blocked. The system's theme applies.
}
