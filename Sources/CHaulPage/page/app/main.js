// The page: signs in, then joins the list, the event stream and the parts around them.
import { api, beginSession, watchRequests } from "./api.js";
import { openAdd } from "./add.js";
import { changeHistory, watchHistory } from "./back.js";
import { lost, startBanner } from "./banner.js";
import { startBulk } from "./bulk.js";
import { Detail, followSelection } from "./detail.js";
import { suspendDialogs } from "./dialog.js";
import { byId, el, setText } from "./dom.js";
import { startDrop } from "./drop.js";
import { loading, startEmpty } from "./empty.js";
import { count, setServerTime, visible } from "./format.js";
import { Grid } from "./grid.js";
import { showKeys, startKeys } from "./keys.js";
import { startListMenu } from "./list-menu.js";
import { lists, sorts } from "./lists.js";
import { daemon, feed, list, selection, totals } from "./model.js";
import { startNotify } from "./notify.js";
import { startPointer } from "./pointer.js";
import { startPrint } from "./print.js";
import { groups, markRail, readGroups, startRail } from "./rail.js";
import { flushRemoval } from "./removal.js";
import { chooseSort, readRoute, sortOf, writeRoute } from "./route.js";
import { openSettings, settingsContinue } from "./settings.js";
import { signIn, useCode } from "./signin.js";
import { noticeText, setStateText } from "./sets.js";
import { announce } from "./status.js";
import { fillTexts, t } from "./text.js";
import { readTotals, startTotals } from "./totals.js";
import { toast } from "./toast.js";

const narrow = matchMedia("(max-width: 1099px)");
const phone = matchMedia("(max-width: 599px)");
let grid = null;
let detail = null;
let signingIn = null;

// MARK: Lists

async function show(view, { route = true } = {}) {
    flushRemoval();
    selection.clear();
    const next = { ...list.view, ...view };
    if (!("sort" in view)) next.sort = sortOf(next.list);
    const promise = list.show(next);
    if (route) writeRoute({ list: next.list, group: next.group, text: next.text });
    const title = next.group !== null ? visible(next.group) : t(`list.${next.list}`);
    setText(byId("list-name"), title);
    byId("list-name").title = title;
    byId("sort").replaceChildren(...Object.keys(sorts).filter((name) => [undefined, next.list].includes(sorts[name].only)).map((name) => el("option", { value: name, text: t(`sort.${name}`), selected: name === next.sort })));
    byId("grid").classList.toggle("is-queue", next.list === "queued" && next.sort === "queue");
    markRail();
    showSet();
    byId("grid").scrollTop = 0;
    grid.active = 0;
    grid.activeId = null;
    loading();
    const slow = setTimeout(() => byId("grid").classList.add("waiting"), 200);
    await promise;
    clearTimeout(slow);
    byId("grid").classList.remove("waiting");
    if (next.text) announce(t("matches", list.length));
}

function showCount() {
    setText(byId("list-count"), list.length === 0 ? "" : count(list.length));
    byId("sort").hidden = list.length < 2;
}

/// Says beside the name of a group how its set ended, or that it runs.
function showSet() {
    const set = groups.find((group) => group.name === list.view.group)?.set;
    setText(byId("list-set"), set ? setStateText(set) : "");
    byId("list-set").title = byId("list-set").textContent;
    byId("list-set").classList.toggle("field-error", ["incomplete", "failed"].includes(set?.state));
}

/// Shows a download that was just added.
async function reveal(row) {
    byId("search").value = "";
    await show({ list: "all", group: null, text: "" });
    const index = list.indexOf(row.id);
    if (index >= 0) grid.activate(index);
    selection.only(row.id);
    byId("grid").focus();
}

// MARK: Search

let searching = null;
function search() {
    document.documentElement.classList.add("searching");
    byId("search").focus();
    byId("search").select();
}

function setSearch(text) {
    clearTimeout(searching);
    if (text !== list.view.text) show({ text });
}

function clearSearch() {
    const had = list.view.text !== "" || byId("search").value !== "";
    byId("search").value = "";
    document.documentElement.classList.remove("searching");
    if (had) setSearch("");
    return had;
}

function startSearch() {
    const field = byId("search");
    field.addEventListener("input", () => {
        clearTimeout(searching);
        searching = setTimeout(() => setSearch(field.value.trim()), 150);
    });
    field.addEventListener("keydown", (event) => {
        if (event.key !== "ArrowDown" && event.key !== "Escape") return;
        if (event.key === "Escape") clearSearch();
        event.preventDefault();
        event.stopPropagation();
        byId("grid").focus();
    });
    field.addEventListener("blur", () => field.value === "" && document.documentElement.classList.remove("searching"));
    byId("search-form").addEventListener("submit", (event) => {
        event.preventDefault();
        setSearch(field.value.trim());
        byId("grid").focus();
    });
    byId("open-search").addEventListener("click", search);
}

// MARK: Detail

function open(id, focus = false) {
    // On phones the panel covers the list; a selection would only leave its bar behind.
    if (!phone.matches && (!selection.has(id) || selection.count > 1)) selection.only(id);
    detail.open(id, focus || narrow.matches);
}

/// Keeps the address in step. On phones, where the panel covers the page, Back closes it.
function detailChanged(id) {
    if (id !== null && phone.matches && readRoute().open === null) writeRoute({ open: id }, true);
    else if (id === null && history.state?.opened && readRoute().open !== null) changeHistory(() => history.back());
    else writeRoute({ open: id });
    grid.redraw();
}

// MARK: Start

function build() {
    if (grid) return;
    fillTexts();
    byId("open-add").setAttribute("aria-label", t("add"));
    grid = new Grid(byId("grid"), byId("rows"), list, selection);
    detail = new Detail(detailChanged);
    const add = (given) => openAdd(given, { download: reveal, group: (group) => show({ list: "all", group, text: "" }) });
    const settings = () => openSettings({ signedOut: () => authenticate(), showKeys });
    if (settingsContinue()) settings();
    startRail((view) => show(view), showSet);
    startTotals(settings);
    startBanner();
    startListMenu();
    startBulk((id) => open(id, true));
    startEmpty({ add, clear: clearSearch });
    startPointer(grid, open);
    startKeys(grid, { open, close: () => detail.close(), add: () => add(), search, clearSearch });
    startDrop(add);
    startNotify();
    startPrint();
    startSearch();
    followSelection(detail);
    list.on("structure", showCount);
    byId("open-add").addEventListener("click", () => add());
    byId("open-settings").addEventListener("click", settings);
    byId("sort").addEventListener("change", () => {
        chooseSort(list.view.list, byId("sort").value);
        show({ sort: byId("sort").value });
    });
    byId("lists").addEventListener("click", (event) => event.detail > 0 && event.target.closest("button") && byId("grid").focus({ preventScroll: true }));
    watchHistory(follow);
    document.addEventListener("visibilitychange", () => {
        if (document.hidden) return;
        list.invalidate();
        readTotals();
    });
    // Counts ages and delays here, because the daemon sends times.
    setInterval(() => document.hidden || grid.tick(), 1000);

    feed.on("hello", ({ data }) => {
        setServerTime(data.now);
        daemon.playing = data.playing === true;
        if (boot !== null && data.boot !== boot) list.forgetRevisions();
        boot = data.boot;
    });
    feed.on("reset", () => {
        list.invalidate();
        readTotals();
        readGroups();
    });
    feed.on("delta", (event) => {
        if (event.data.removed?.length > 0) selection.drop(event.data.removed);
        list.apply(event);
    });
    feed.on("stats", ({ data }) => totals.set(data));
    feed.on("notice", ({ data }) => toast(noticeText(data), { tone: data.level === "error" ? "error" : undefined }));
    feed.on("connection", (connected) => {
        if (!connected || !list.failed) return;
        list.invalidate();
        readTotals();
    });
    watchRequests(() => authenticate(t("sessionEnded")), () => feed.connected || lost());
}
let boot = null;

/// Follows the address: at the start and after Back.
function follow() {
    const { list: name, group, text, open: id } = readRoute();
    byId("search").value = text;
    const { view } = list;
    if (list.total === null || view.list !== name || view.group !== group || view.text !== text) show({ list: name, group, text }, { route: false });
    if (id) detail.open(id);
    else detail.close();
}

/// Asks for the token, then starts or continues.
function authenticate(message) {
    if (signingIn) return;
    feed.stop();
    const showDialogs = suspendDialogs();
    signingIn = signIn(message).then(async () => {
        signingIn = null;
        beginSession();
        const running = run();
        showDialogs();
        await running;
    });
}

async function run() {
    build();
    byId("app").hidden = false;
    if (list.total !== null) list.invalidate();
    follow();
    readTotals();
    readGroups();
    await firstRevision();
    feed.start(feed.rev ?? list.rev);
    if (!feed.connected) setTimeout(() => feed.connected || signingIn || lost(), 2000);
}

/// The stream begins at the revision of the first list.
function firstRevision() {
    if (list.rev !== null) return null;
    return new Promise((resolve) => {
        const stop = list.on("structure", () => {
            if (list.rev === null && !list.failed) return;
            stop();
            resolve();
        });
    });
}

async function start() {
    fillTexts();
    const codeFailed = await useCode();
    let signedIn = true;
    try {
        ({ signedIn } = await api.get("session/state", { quiet: true }));
    } catch {
        // The daemon does not answer. Goes on: the list shows the failure and tries again.
    }
    if (!signedIn) return authenticate(codeFailed ? t("codeUsed") : undefined);
    run();
}

start();
