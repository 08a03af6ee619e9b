// The totals in the header: speed with its graph, time left, free disk, speed limit.
import { api } from "./api.js";
import { byId, setAttribute, setText } from "./dom.js";
import { tellFailure } from "./failure.js";
import { bytes, speed, timeLeft } from "./format.js";
import { SpeedGraph } from "./graph.js";
import { openMenu } from "./menu.js";
import { feed, totals } from "./model.js";
import { t } from "./text.js";
import { toast } from "./toast.js";
import { holdText } from "./describe.js";

const PRESETS = [0, 500e3, 1e6, 2e6, 5e6, 10e6, 25e6, 50e6];
const LOW_SPACE = 2e9;

export function startTotals(openSettings) {
    const graph = new SpeedGraph(byId("totals-graph"));
    // Takes a sample each second, because `stats` comes only when something changed.
    setInterval(() => {
        if (document.hidden) return;
        const value = feed.connected ? (totals.value?.bytesPerSecond ?? 0) : 0;
        if (value > 0 || !graph.isFlat) graph.add(value);
    }, 1000);
    totals.on("change", show);
    byId("limit").addEventListener("click", () => {
        const current = totals.value?.speedLimit ?? 0;
        const values = PRESETS.includes(current) ? PRESETS : [...PRESETS, current].sort((a, b) => a - b);
        openMenu({
            anchor: byId("limit"),
            label: t("speedLimit"),
            items: [
                ...values.map((value) => ({ label: value === 0 ? t("noLimit") : speed(value), checked: value === current, run: () => setLimit(value) })),
                null,
                { label: t("otherLimit"), run: openSettings },
            ],
        });
    });
}

async function setLimit(value) {
    try {
        await api.patch("configuration", { speedLimit: value });
        toast(value === 0 ? t("limitRemoved") : t("limitSet", speed(value)), { seconds: 3 });
        readTotals();
    } catch (error) {
        tellFailure(error);
    }
}

export async function readTotals() {
    try {
        totals.set(await api.get("totals"));
    } catch {
        // The banner tells of a lost connection.
    }
}

function show(value) {
    const active = value.bytesPerSecond > 0;
    setText(byId("total-speed"), active || value.counts?.active > 0 ? speed(value.bytesPerSecond) : value.holdReason ? holdText(value.holdReason) : t("idle"));
    byId("total-speed").classList.toggle("muted", !active);
    setText(byId("total-left"), active ? timeLeft(value.secondsLeft) : "");
    const free = byId("total-free");
    setText(free, value.freeBytes === undefined ? "" : t("free", bytes(value.freeBytes)));
    free.classList.toggle("low", value.freeBytes !== undefined && value.freeBytes < LOW_SPACE);
    setAttribute(free, "title", value.folder ? t("freeIn", value.folder) : null);
    const limit = byId("limit");
    const text = value.speedLimit ? speed(value.speedLimit) : "";
    setText(limit.lastElementChild, text);
    const label = value.speedLimit ? t("limitIs", text) : t("limitNone");
    setAttribute(limit, "aria-label", label);
    setAttribute(limit, "title", label);
    document.title = active ? `${speed(value.bytesPerSecond)} \u00b7 Haul` : "Haul";
}
