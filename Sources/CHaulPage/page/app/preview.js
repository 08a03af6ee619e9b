// A finished file in the page: images, video, sound, text. Other kinds can be opened or saved.
import { el } from "./dom.js";
import { fileURL } from "./commands.js";
import { bytes, visible } from "./format.js";
import { previewOf } from "./kinds.js";
import { t } from "./text.js";

const TEXT_LIMIT = 64 * 1024;

export function preview(row) {
    const kind = previewOf(row.name);
    const source = fileURL(row.id);
    const name = visible(row.name);
    const failed = (element) => element.replaceWith(el("p", { class: "muted", text: t("previewFailed") }));
    if (kind === "image") {
        const image = el("img", { src: source, alt: name, loading: "lazy", decoding: "async", onerror: () => failed(image) });
        return el("a", { class: "preview", href: source, target: "_blank", rel: "noopener" }, image);
    }
    if (kind === "video" || kind === "audio") {
        const media = el(kind, { src: source, controls: true, preload: "metadata", "aria-label": name, onerror: () => failed(media) });
        return el("div", { class: `preview ${kind}` }, media);
    }
    if (kind === "text") {
        const box = el("pre", { class: "preview text", tabindex: 0, "aria-label": name, text: "" });
        readText(source, row, box).catch(() => failed(box));
        return box;
    }
    return null;
}

async function readText(source, row, box) {
    const response = await fetch(source, { headers: { Range: `bytes=0-${TEXT_LIMIT - 1}` }, credentials: "same-origin" });
    if (!response.ok) throw new Error(String(response.status));
    const text = new TextDecoder("utf-8").decode(await response.arrayBuffer());
    const size = row.totalBytes ?? row.receivedBytes;
    box.textContent = size > TEXT_LIMIT ? `${text}\n\n${t("textCut", bytes(TEXT_LIMIT))}` : text;
}
