// The links of a page, by type, to choose from.
import { browser } from "./daemon.js";
import { button, byId, el, setText } from "./shared/dom.js";
import { kindOf } from "./shared/kinds.js";
import { visible } from "./text.js";

const KINDS = { all: "All", video: "Video", audio: "Sound", image: "Images", document: "Documents", archive: "Archives", disc: "Disc images", program: "Programs", code: "Code", file: "Other" };
const { links: found } = await browser.storage.session.get({ links: { title: "", page: "", links: [] } });

const lastPart = (url) => {
    const path = new URL(url).pathname;
    try {
        return decodeURIComponent(path).split("/").pop();
    } catch {
        return path.split("/").pop();
    }
};
const links = found.links.map((link) => ({ ...link, kind: kindOf(lastPart(link.url)), isChosen: false }));
let kind = "all";

const isShown = (link) => (kind === "all" || link.kind === kind)
    && `${link.text} ${link.url}`.toLowerCase().includes(byId("filter").value.toLowerCase());

function count() {
    const chosen = links.filter((link) => link.isChosen).length;
    const areAllChosen = links.filter(isShown).every((link) => link.isChosen);
    byId("download").disabled = chosen === 0;
    setText(byId("download"), chosen === 1 ? "Download 1 link" : `Download ${chosen} links`);
    setText(byId("toggle"), areAllChosen ? "Choose none" : "Choose all");
}

function list() {
    byId("list").replaceChildren(...links.filter(isShown).map((link) => el(
        "label",
        {},
        el("input", { type: "checkbox", checked: link.isChosen, onchange: ({ target }) => {
            link.isChosen = target.checked;
            count();
        } }),
        el("span", {},
            el("div", { class: "name", text: visible(link.text || lastPart(link.url) || link.url) }),
            el("div", { class: "name hint muted", title: link.url, text: link.url })),
        el("span", { class: "kind-name hint muted", text: KINDS[link.kind] }),
    )));
    count();
}

function kinds() {
    const present = Object.keys(KINDS).filter((name) => name === "all" || links.some((link) => link.kind === name));
    byId("kinds").replaceChildren(...present.map((name) => button(
        `${KINDS[name]} ${links.filter((link) => name === "all" || link.kind === name).length}`,
        { class: "button", "aria-pressed": String(name === kind), "data-kind": name, onclick: () => {
            kind = name;
            kinds();
            list();
        } },
    )));
}

byId("filter").addEventListener("input", list);
byId("toggle").addEventListener("click", () => {
    const shown = links.filter(isShown);
    const areAllChosen = shown.every((link) => link.isChosen);
    for (const link of shown) link.isChosen = !areAllChosen;
    list();
});
byId("download").addEventListener("click", async () => {
    byId("download").disabled = true;
    const chosen = links.filter((link) => link.isChosen);
    let added = 0;
    let problem;
    // The API takes 1,000 at once.
    for (let start = 0; start < chosen.length && !problem; start += 1000) {
        const part = chosen.slice(start, start + 1000).map(({ url }) => ({ url }));
        const answer = await browser.runtime.sendMessage({ do: "add", links: part, page: found.page, storeId: found.storeId });
        added += answer.rows?.length ?? 0;
        problem = answer.problem;
    }
    byId("answer").classList.toggle("bad", Boolean(problem));
    setText(byId("answer"), problem ?? (added === chosen.length ? `Haul has ${added === 1 ? "the download" : `all ${added} downloads`}.` : `Haul has ${added} of ${chosen.length} downloads.`));
    count();
});

setText(byId("title"), `Links of ${visible(found.title || found.page)}`);
kinds();
list();
