// A link that leads to a stream: what it has, and the choice of quality, sound and subtitles.
import { el } from "./dom.js";
import { bitRate, filmLength, visible } from "./format.js";
import { t } from "./text.js";

/// Options that a list shows. Playlists may have thousands of variants.
const MOST_OPTIONS = 200;
let serial = 0;

/// The height of the class that people name, as the daemon counts it: 720 for 1280x534 and 720x1280.
function lines({ width, height }) {
    if (!width || !height) return height ?? 0;
    return Math.max(Math.min(width, height), Math.floor((Math.max(width, height) * 9) / 16));
}

/// The best quality first. A label has as many parts as tell it from the others.
function qualities(variants) {
    const sorted = [...variants].sort((a, b) => b.isBest - a.isBest || lines(b) - lines(a) || b.bandwidth - a.bandwidth).slice(0, MOST_OPTIONS);
    const parts = sorted.map((variant) => [
        lines(variant) ? `${lines(variant)}p` : "",
        variant.bandwidth > 0 ? bitRate(variant.bandwidth) : "",
        visible(variant.codecs.join(", ")),
        t("film.number", variant.number),
    ]);
    const label = (all, count) => all.slice(0, count).filter(Boolean).join(", ");
    return sorted.map((variant, at) => {
        const isClear = (count) => label(parts[at], count) && parts.filter((other) => label(other, count) === label(parts[at], count)).length === 1;
        // The codecs say whether there are pictures at all.
        const name = label(parts[at], [2, 3].find((count) => (count > 2 || lines(variant)) && isClear(count)) ?? 4);
        return { value: variant.isBest ? "" : String(variant.number), label: variant.isBest ? t("film.best", name) : name };
    });
}

/// A track is asked for by its language, or by its name if another track has the same language.
function tracks(list) {
    return list.slice(0, MOST_OPTIONS).map(({ name, language, isDefault }) => {
        const isAlone = language && list.filter((other) => other.language === language).length === 1;
        const label = name && language && name !== language ? `${name} (${language})` : name || language;
        return { value: isAlone ? language : name, label: visible(label), isDefault };
    }).filter(({ value }) => value);
}

function sounds(list) {
    const options = tracks(list);
    const preferred = options.find((option) => option.isDefault);
    if (preferred) preferred.value = "";
    return [...(preferred ? [] : [{ value: "", label: t("film.automatic") }]), ...options, { value: "all", label: t("film.all") }];
}

function subtitles(list) {
    const options = tracks(list);
    return [{ value: "", label: t("film.none") }, ...options, ...(options.length > 1 ? [{ value: "all", label: t("film.all") }] : [])];
}

/// Whether a link that was looked at cannot be downloaded.
export const isRefused = (item) => Boolean(item.error || item.stream?.protection);

/// The length of the film, that it is live, or the sentence of its protection.
export function filmFacts({ stream }) {
    if (stream.protection) return t("film.protected", visible(stream.protection));
    if (stream.isLive) return t("film.live");
    return stream.seconds > 0 ? t("film.length", filmLength(stream.seconds)) : t("film.film");
}

/// An estimate of the length in bytes of the chosen quality; `undefined` if the playlist does not say enough.
export function filmBytes({ stream, choice }) {
    const variant = stream.variants.find((each) => (choice?.variant ? String(each.number) === choice.variant : each.isBest));
    return !stream.isLive && stream.seconds > 0 && variant?.bandwidth > 0 ? (stream.seconds * variant.bandwidth) / 8 : undefined;
}

/// The controls of a film; `null` if there is nothing to choose. `onChange` hears each choice.
export function filmOptions(item, name, onChange) {
    const { stream } = item;
    if (isRefused(item)) return null;
    const choice = (item.choice ??= {});
    const labelled = (key, control) => el("div", { class: "control" }, el("label", { for: control.id, text: t(`film.${key}`) }), control);
    const id = () => `film-${(serial += 1)}`;
    const select = (key, options) => {
        const control = el("select", { class: "field", id: id(), onchange: () => {
            choice[key] = control.value;
            onChange();
        } }, options.map(({ value, label }) => el("option", { value, text: label, selected: value === (choice[key] ?? "") })));
        return labelled(key, control);
    };
    const controls = [
        stream.variants.length > 1 ? select("variant", qualities(stream.variants)) : null,
        stream.audio.length > 1 ? select("audio", sounds(stream.audio)) : null,
        stream.subtitles.length > 0 ? select("subtitles", subtitles(stream.subtitles)) : null,
    ];
    if (stream.isLive) {
        const control = el("input", { class: "field", id: id(), type: "text", inputmode: "decimal", autocomplete: "off", placeholder: t("noLimit"), value: choice.minutes ?? "", oninput: () => {
            choice.minutes = control.value;
            onChange();
        } });
        controls.push(labelled("minutes", control));
    }
    const shown = controls.filter(Boolean);
    return shown.length === 0 ? null : el("div", { class: "film-options", role: "group", "aria-label": t("film.options", name) }, shown);
}

/// The options of a request for a film; `undefined` if the person left them as they were.
export function streamChoice(item) {
    if (!item?.stream) return undefined;
    const { variant, audio, subtitles: texts, minutes } = item.choice ?? {};
    const seconds = Number((minutes ?? "").trim().replace(",", ".")) * 60;
    const choice = {
        ...(variant ? { variant } : {}),
        ...(audio ? { audio } : {}),
        ...(texts ? { subtitles: texts } : {}),
        ...(seconds > 0 && seconds < 1e9 ? { liveSeconds: seconds } : {}),
    };
    return Object.keys(choice).length > 0 ? choice : undefined;
}
