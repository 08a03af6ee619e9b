// The list and the open download as the fragment of the address, so that reloading and going back work.
import { changeHistory, writeAddress } from "./back.js";
import { lists, sorts } from "./lists.js";
import { preference, setPreference } from "./preferences.js";

export function readRoute() {
    const values = new URLSearchParams(location.hash.slice(1));
    const name = values.get("list");
    return {
        list: name in lists ? name : "all",
        group: values.get("group"),
        text: values.get("text") ?? "",
        open: values.get("open"),
    };
}

/// Writes the route. `push` adds an entry to the history, so that Back closes what was opened.
export function writeRoute(changes, push = false) {
    changeHistory(() => write(changes, push));
}

function write(changes, push) {
    const route = { ...readRoute(), ...changes };
    const values = new URLSearchParams();
    if (route.list !== "all") values.set("list", route.list);
    if (route.group !== null) values.set("group", route.group);
    if (route.text) values.set("text", route.text);
    if (route.open) values.set("open", route.open);
    const target = `${location.pathname}${location.search}${values.size > 0 ? `#${values}` : ""}`;
    writeAddress(target, push ? { push, state: { opened: true } } : {});
}

/// The sort order of a list: what was chosen last for it, else its own.
export function sortOf(list) {
    const chosen = preference(`sort.${list}`);
    return chosen in sorts ? chosen : lists[list].sort;
}

export const chooseSort = (list, sort) => setPreference(`sort.${list}`, sort === lists[list].sort ? null : sort);
