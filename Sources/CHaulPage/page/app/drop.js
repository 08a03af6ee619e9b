// Links, text files and Metalinks that are dropped on the window or pasted into the page.
import { byId, isTyping } from "./dom.js";
import { hasLinks, metalinkNames } from "./links.js";
import { t } from "./text.js";
import { toast } from "./toast.js";

const LARGEST = 16 << 20;

export function startDrop(add) {
    let depth = 0;
    // Ignores drags that begin in the page itself, such as a preview.
    let own = false;
    addEventListener("dragstart", () => (own = true));
    addEventListener("dragend", () => (own = false));
    const wanted = (event) => !own && [...(event.dataTransfer?.types ?? [])].some((type) => type === "Files" || type === "text/uri-list" || type === "text/plain");
    const show = (shown) => (byId("drop").hidden = !shown);
    addEventListener("dragenter", (event) => {
        if (!wanted(event)) return;
        event.preventDefault();
        depth += 1;
        show(true);
    });
    addEventListener("dragleave", () => {
        depth = Math.max(0, depth - 1);
        if (depth === 0) show(false);
    });
    addEventListener("dragover", (event) => {
        if (!wanted(event) || isTyping(event.target)) return;
        event.preventDefault();
        event.dataTransfer.dropEffect = "copy";
    });
    addEventListener("drop", (event) => {
        depth = 0;
        show(false);
        if (!wanted(event) || isTyping(event.target)) return;
        event.preventDefault();
        const files = [...event.dataTransfer.files];
        const text = event.dataTransfer.getData("text/uri-list") || event.dataTransfer.getData("text/plain");
        if (files.length > 0) files.forEach((file) => readFile(file, add));
        else take(text, "", add);
    });
    addEventListener("paste", (event) => {
        if (isTyping(event.target) || document.querySelector("dialog[open]")) return;
        const files = [...(event.clipboardData?.files ?? [])];
        const text = event.clipboardData?.getData("text/plain") ?? "";
        if (files.length === 0 && !hasLinks(text)) return;
        // The dialog takes the focus, and the browser would paste the text into its field once more.
        event.preventDefault();
        if (files.length > 0) files.forEach((file) => readFile(file, add));
        else take(text, "", add);
    });
}

async function readFile(file, add) {
    if (file.size > LARGEST) return toast(t("fileTooLarge", file.name), { tone: "error" });
    take(await file.text(), file.name, add);
}

function take(text, name, add) {
    if (name && metalinkNames(text) !== null) add({ metalink: { name, xml: text } });
    else if (hasLinks(text)) add({ text });
    else toast(name ? t("noLinksIn", name) : t("noLinks"), { tone: "error" });
}
