// Choosing a folder of the daemon's machine, among those that it allows.
import { api, query } from "./api.js";
import { openDialog } from "./dialog.js";
import { button, el, icon } from "./dom.js";
import { failureText } from "./failure.js";
import { bytes, visible } from "./format.js";
import { t } from "./text.js";

export const readFolder = (path) => api.get(`folders${path ? `?${query({ path })}` : ""}`);

/// Opens the chooser. Resolves with `{path, freeBytes}`, or `null` when it was closed.
export function chooseFolder(start) {
    return new Promise((resolve) => {
        let chosen = null;
        let shown = null;
        const path = el("p", { class: "folder-path" });
        const entries = el("div", { class: "folder-list", role: "group", "aria-label": t("folders") });
        const free = el("span", { class: "muted" });
        const problem = el("p", { class: "field-error", role: "alert", hidden: true });
        const use = button(t("chooseThis"), { class: "button primary", onclick: () => ((chosen = shown), dialog.close()) });
        const name = el("input", { class: "field", type: "text", "aria-label": t("folderName"), placeholder: t("newFolder"), autocomplete: "off", spellcheck: "false" });
        const create = el("form", { class: "folder-new", onsubmit: (event) => (event.preventDefault(), make()) }, name, el("button", { type: "submit", class: "button", text: t("create") }));

        const go = async (to, focus = true) => {
            problem.hidden = true;
            try {
                show(await readFolder(to), focus);
            } catch (error) {
                problem.textContent = failureText(error);
                problem.hidden = false;
                if (shown === null && to) go(null);
            }
        };
        const make = async () => {
            const text = name.value.trim();
            if (text === "" || shown === null) return;
            try {
                const created = await api.post("folders", { path: `${shown.path.replace(/\/$/, "")}/${text}` });
                name.value = "";
                go(created?.path ?? `${shown.path}/${text}`);
            } catch (error) {
                problem.textContent = failureText(error);
                problem.hidden = false;
            }
        };
        const show = (folder, focus) => {
            shown = folder;
            path.textContent = visible(folder.path);
            free.textContent = folder.freeBytes === undefined ? "" : t("free", bytes(folder.freeBytes));
            const item = (label, to, name = "i-folder") => el("button", { type: "button", class: "folder", onclick: () => go(to) }, icon(name), el("span", { text: visible(label) }));
            const others = folder.roots.filter((root) => !folder.path.startsWith(root));
            entries.replaceChildren(
                ...(folder.parent ? [item(t("parentFolder"), folder.parent, "i-up")] : []),
                ...folder.items.map((child) => item(child.name, child.path)),
                ...(folder.items.length === 0 ? [el("p", { class: "muted folder-none", text: t("noFolders") })] : []),
                ...(folder.truncated ? [el("p", { class: "muted folder-none", text: t("moreFolders") })] : []),
                ...(!folder.parent && others.length > 0 ? [el("p", { class: "folder-roots muted", text: t("otherRoots") }), ...others.map((root) => item(root, root))] : []),
            );
            if (focus) entries.querySelector("button")?.focus();
        };
        const dialog = openDialog({
            title: t("chooseFolder"),
            className: "small folders",
            body: el("div", { class: "dialog-body" }, path, entries, problem, create),
            footer: el("div", { class: "dialog-foot" }, free, el("span", { class: "gap" }), button(t("cancel"), { class: "button", onclick: () => dialog.close() }), use),
            onClose: () => resolve(chosen),
        });
        go(start, true);
    });
}
