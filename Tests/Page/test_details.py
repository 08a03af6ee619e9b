"""The panel of one download."""
import io, json, os, re, subprocess, time, urllib.parse, urllib.request, wave

import pytest
from rig import Client, Page, Proxy, Source, big, free_port, new_browser, small, until
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.actions.action_builder import ActionBuilder
from selenium.webdriver.common.actions.pointer_input import PointerInput
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys


def test_shows_details_with_segments_and_changes_them(page, api, source):
    api.add({"url": big(source, "detail.bin", rate=400_000), "headers": {"X-Secret": "hidden-value"}, "page": source + "page?id=5"}, group="Tests")
    page.open()
    page.until_state("detail.bin", "transferring")
    page.focus()
    page.keys(Keys.HOME, Keys.ENTER)
    until(lambda: page.find("#detail").is_displayed() and page.find(".segment-map").is_displayed(), "segment map")
    until(lambda: len(page.all(".connections tbody tr")) >= 1, "connections")
    until(lambda: page.find(".detail-graph").is_displayed(), "graph")
    assert page.js("const c=document.querySelector('.segment-map'); return [...c.getContext('2d').getImageData(0,0,c.width,c.height).data].some(v=>v>0)")
    assert "hidden-value" not in page.d.page_source
    assert "X-Secret" in page.find(".facts").text or "x-secret" in page.find(".facts").text
    assert [a.get_attribute("href") for a in page.all(".facts a[rel=noreferrer]")] == [source + "page?id=5"]
    assert page.all(".log li")
    page.axe("detail")
    page.shot("detail")
    page.find(".detail-name-line button").click()
    page.find(".detail-name-line input").send_keys(Keys.CONTROL + "a")
    page.find(".detail-name-line input").send_keys("renamed.bin" + Keys.ENTER)
    until(lambda: api.row("renamed.bin"), "renamed")
    until(lambda: page.find(".detail-name").text == "renamed.bin", "name in the panel")
    page.find("#detail-priority").send_keys("Low")
    until(lambda: api.row("renamed.bin")["priority"] == -1, "priority")
    page.find("#detail-limit").send_keys("0.1" + Keys.ENTER)
    until(lambda: "Speed limit set" in page.find("#toasts").text, "limit")
    page.keys(Keys.ESCAPE)
    until(lambda: not page.find("#detail").is_displayed(), "closed")


def test_replaces_the_source(page, api, source):
    api.add(big(source, "old.bin"), paused=True)
    page.open()
    page.focus()
    page.keys(Keys.HOME, Keys.ENTER)
    until(lambda: page.all(".facts .link"), "facts")
    until(lambda: page.js("const b = document.querySelector('.facts .link'); b?.click(); return Boolean(b)"), "button")
    until(lambda: page.all("#source-url"), "dialog")
    page.find("#source-url").send_keys(big(source, "new.bin"))
    page.keys(Keys.ENTER)
    until(lambda: not page.all("dialog"), "replaced")
    until(lambda: "new.bin" in page.find(".facts").text, "shown")


def test_previews_a_finished_text(page, api, source):
    api.add(small(source, "notes.txt", 3000))
    page.open()
    page.until_state("notes.txt", "completed")
    page.focus()
    page.keys(Keys.HOME, Keys.ENTER)
    until(lambda: page.all(".preview.text") and len(page.find(".preview.text").text) > 100, "text")
    assert page.find(".detail-actions button").text == "Save file"
    page.axe("finished")


SEEK = """
const [path, done] = arguments;
fetch(path, { headers: { Range: "bytes=30000000-30000099" } })
    .then(async (r) => done([r.status, (await r.arrayBuffer()).byteLength, r.headers.get("Content-Range")]))
    .catch((e) => done([String(e)]));
"""


def test_plays_a_film_while_it_is_downloaded(page, api, source):
    api.add(big(source, "archive.zip", rate=400_000))
    page.open()
    page.until_state("archive.zip", "transferring")
    api.add(big(source, "film.mp4", rate=400_000))
    page.until_state("film.mp4", "transferring")
    until(lambda: page.names() == ["film.mp4", "archive.zip"], "order")
    page.focus()
    page.keys(Keys.HOME, Keys.ENTER)
    play = ".detail-actions a"
    until(lambda: page.all(play) and page.find(play).is_displayed(), "play")
    assert page.find(play).text == "Play"
    page.axe("playing")
    # A seek of the player.
    path = page.find(play).get_attribute("href")
    assert page.d.execute_async_script(SEEK, path) == [206, 100, "bytes 30000000-30000099/40000000"]
    assert api.row("film.mp4")["state"] == "transferring"
    page.keys(Keys.ESCAPE)
    until(lambda: not page.find("#detail").is_displayed(), "closed")
    page.focus()
    page.keys(Keys.HOME, Keys.DOWN, Keys.ENTER)
    until(lambda: page.all(".detail-name") and page.find(".detail-name").text == "archive.zip", "other details")
    assert not page.find(play).is_displayed()


def test_the_browser_plays_music_that_was_downloaded(page, api, source):
    """Chromium's player asks for the file again, with the origin of the page that it made for the file."""
    with io.BytesIO() as file:
        with wave.open(file, "wb") as tone:
            tone.setnchannels(1)
            tone.setsampwidth(2)
            tone.setframerate(8000)
            tone.writeframes(bytes(8000 * 2 * 3))
        Source.documents["/tone.wav"] = (file.getvalue(), "audio/wav")
    api.add(source + "tone.wav")
    until(lambda: (api.row("tone.wav") or {}).get("state") == "completed", "completed")
    page.open()
    page.d.get(page.base + "api/v1/downloads/%s/file" % api.row("tone.wav")["id"])
    player = "const v = document.querySelector('video, audio'); return v && v.readyState > 0 && Math.round(v.duration)"
    until(lambda: page.js(player) == 3, "the player knows the length of the music")


def test_details_follow_a_download_that_is_resumed_into_the_queue(page, api, source):
    api("PATCH", "configuration", {"maxConcurrentDownloads": 1})
    api.add(big(source, "first.bin"), big(source, "second.bin"))
    page.open()
    page.until_state("first.bin", "transferring")
    page.row("first.bin").click()
    page.focus()
    page.keys(Keys.ENTER)
    act = lambda: page.find(".detail-actions .button")
    until(lambda: act().text == "Pause", "Pause")
    act().click()
    page.until_state("second.bin", "transferring")
    until(lambda: act().text == "Resume", "Resume")
    act().click()
    page.until_state("first.bin", "queued")
    until(lambda: "Queued" in page.find(".detail-state").text and act().text == "Start now", "details say that it waits")


def test_says_sizes_and_times_once(page, api, source):
    api.add(small(source, "one.bin", 1), small(source, "thousand.bin", 1234))
    page.open()
    facts = {}
    for name in ("one.bin", "thousand.bin"):
        page.until_state(name, "completed")
        page.row(name).click()
        page.focus()
        page.keys(Keys.ENTER)
        until(lambda: page.find(".detail-name").text == name and page.all(".log li"), "detail")
        facts[name] = dict(page.js("return [...document.querySelectorAll('.facts > div')].map(d => [...d.children].map(e => e.textContent))"))
    assert facts["one.bin"]["Size"].replace("\u00a0", " ").strip() == "1 B"
    assert facts["thousand.bin"]["Size"].replace("\u00a0", " ").endswith("1,234 bytes")
    assert not facts["one.bin"]["Took"].startswith("0.0")
    # The log and the facts write times alike.
    logged = page.find(".log time").get_attribute("textContent")
    assert page.find(".log time").get_attribute("title").endswith(logged)
    assert re.sub(r"\d", "0", facts["thousand.bin"]["Added"]).endswith(re.sub(r"\d", "0", logged)[-10:])


DURATION = "const done = arguments[0]; import('./app/format.js').then(({duration}) => done([-5, 0, 40, 400, 4200].map(duration)));"


def test_a_download_never_took_no_time(page):
    page.d.get(page.base)
    texts = [text.replace("\u00a0", " ") for text in page.d.execute_async_script(DURATION)]
    assert texts == ["< 0.1 s", "< 0.1 s", "< 0.1 s", "0.4 s", "4.2 s"]


FILM = """
const [fields, done] = arguments;
const row = {state: 'transferring', host: 'h', receivedBytes: 1.2e9, totalBytes: 2.8e9, bytesPerSecond: 1e6, ...fields};
import('./app/describe.js').then(({describe, progress}) => done([describe(row).what, progress(row)?.value ?? null]), e => done(String(e)));
"""


def test_a_running_film_shows_its_segments(page):
    page.open()
    stream = {"segments": 300, "receivedSegments": 120, "seconds": 1200, "receivedSeconds": 480, "isLive": False}
    what, percent = page.d.execute_async_script(FILM, {"stream": stream})
    assert what.startswith("segment 120 of 300") and "of ~2.80" in what and percent == 40
    what, percent = page.d.execute_async_script(FILM, {"stream": {**stream, "isLive": True}})
    assert what.startswith("live, 120 segments, 8 min") and percent is None
    # A finished film has a size like any file.
    what, _ = page.d.execute_async_script(FILM, {"state": "completed"})
    assert "2.80" in what and "~" not in what and "segment" not in what and "gaps" not in what


def test_the_row_of_a_film_with_gaps_says_so(page):
    page.open()
    gaps = ["4.0 s from segment 5 on: The server answered 404 Not Found."]
    what, percent = page.d.execute_async_script(FILM, {"state": "completed", "gaps": gaps})
    assert what.startswith("with gaps") and "2.80" in what and percent is None


def test_the_log_is_in_the_language_of_the_page(page, api, source):
    api.add(small(source, "log.txt"), source + "refused.bin?fail=403")
    page.open()
    page.until_state("log.txt", "completed")
    page.until_state("refused.bin", "failed")
    ids = {name: api.row(name)["id"] for name in ("log.txt", "refused.bin")}
    page.js("localStorage.setItem('haul.language', 'de')")
    for name, text in {"log.txt": "Fertig: ", "refused.bin": "Der Server hat mit 403 geantwortet."}.items():
        page.open("#open=" + ids[name])
        until(lambda: page.all(".log li") and text in page.find(".log").text, text)
        assert "Hinzugef\u00fcgt." in page.find(".log").text
        assert not page.all(".log [lang=en]")


def test_what_is_touched_in_the_panel_is_large_enough(page, api, source):
    api.add(small(source, "film.bin"))
    until(lambda: (api.row("film.bin") or {}).get("state") == "completed", "completed")
    page.size(390, 844, touch=True)
    page.open()
    page.row("film.bin")
    page.focus()
    page.keys(Keys.HOME, Keys.ENTER)
    targets = ".detail-name-line .button, .facts .link, .detail-actions .button"
    until(lambda: len(page.all(targets)) >= 4, "panel")
    small_ones = lambda: [(b.text or b.get_attribute("aria-label"), b.size) for b in page.all(targets) if b.is_displayed() and (b.size["height"] < 44 or b.size["width"] < 44)]
    until(lambda: not small_ones(), "no target below 44 pixels: %s" % small_ones())
    assert page.js("return document.documentElement.scrollWidth") == 390
    page.shot("details-phone")


def test_the_panel_of_a_removed_download_closes_at_once(page, api, source):
    api.add(big(source, "gone.bin"))
    page.open()
    page.row("gone.bin").click()
    page.focus()
    page.keys(Keys.ENTER)
    until(lambda: page.all(".detail-head"), "panel")
    page.focus()
    page.keys(Keys.DELETE)
    until(lambda: page.all(".toast"), "toast")
    assert not page.find("#detail").is_displayed()
    assert api.row("gone.bin"), "the toast has not ended"


def test_a_name_that_is_refused_stays_in_the_field(page, api, source):
    page.allowed += [r"Failed to load resource.*422"]
    api.add(big(source, "named.bin"))
    page.open()
    page.row("named.bin").click()
    page.focus()
    page.keys(Keys.ENTER)
    until(lambda: page.all(".detail-name-line .button"), "panel")
    page.find(".detail-name-line .button").click()
    field = lambda: page.find(".detail-name-line input")
    field().send_keys(Keys.CONTROL + "a")
    field().send_keys("../other.bin" + Keys.ENTER)
    until(lambda: page.all(".toast.error"), "refused")
    until(lambda: page.all(".detail-name-line input"), "field")
    assert field().get_attribute("value") == "../other.bin"
    field().send_keys(Keys.ESCAPE)
    until(lambda: page.find(".detail-name").text == "named.bin", "the name as it was")


def test_details_follow_a_change_of_all(page, api, source):
    """The event of a change of many names no download."""
    api.add(*(big(source, "many%d.bin" % number) for number in range(3)))
    page.open()
    page.row("many0.bin").click()
    page.focus()
    page.keys(Keys.ENTER)
    act = lambda: page.find(".detail-actions .button").text
    until(lambda: act() == "Pause", "Pause")
    api("POST", "downloads/actions", {"action": "pause", "filter": {}})
    until(lambda: act() == "Resume", "Resume")
