"""Pausing, resuming, removing, selecting, moving, searching."""
import json, os, re, subprocess, time, urllib.parse, urllib.request

import pytest
from rig import Client, Page, Proxy, big, free_port, new_browser, small, until
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.actions.action_builder import ActionBuilder
from selenium.webdriver.common.actions.pointer_input import PointerInput
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys


def test_pauses_and_resumes_with_the_button_of_the_row(page, api, source):
    api.add(big(source, "long.bin"))
    page.open()
    page.until_state("long.bin", "transferring")
    row = page.row("long.bin")
    ActionChains(page.d).move_to_element(row).perform()
    row.find_element(By.CSS_SELECTOR, ".act").click()
    page.until_state("long.bin", "paused")
    row.find_element(By.CSS_SELECTOR, ".act").click()
    page.until_state("long.bin", "transferring", "connecting")
    bar = row.find_element(By.CSS_SELECTOR, ".bar")
    until(lambda: bar.get_attribute("aria-valuenow") is not None and "percent" in bar.get_attribute("aria-valuetext"), "bar")


def test_retries_a_failed_download_and_tells_the_reason(page, api, source):
    api.add(source + "none.bin?fail=404")
    page.open()
    page.until_state("none.bin", "failed")
    row = page.row("none.bin")
    assert "404" in row.text
    page.list("Failed")
    page.row("none.bin").click()
    page.focus()
    page.keys(Keys.ENTER)
    until(lambda: page.all(".detail-error") and "404" in page.find(".detail-error").text, "error in the panel")
    page.axe("failed")


def test_removes_with_undo(page, api, source):
    api.add(*[big(source, "r%d.bin" % i) for i in range(3)], paused=True)
    page.open()
    page.row("r1.bin").click()
    page.focus()
    page.keys(Keys.DELETE)
    until(lambda: "r1.bin" not in page.names(), "hidden")
    assert len(page.names()) == 2
    assert len(api.rows()) == 3, "nothing is sent while the toast is shown"
    page.chord(Keys.CONTROL, "z")
    until(lambda: "r1.bin" in page.names(), "back")
    time.sleep(0.3)
    page.row("r1.bin").click()
    page.focus()
    page.keys(Keys.DELETE)
    until(lambda: "Removed" in page.find(".toast").text, "toast")
    until(lambda: len(api.rows()) == 2, "removed")
    until(lambda: sorted(page.names()) == ["r0.bin", "r2.bin"], "list")


def test_the_button_of_the_toast_brings_back_what_was_removed(page, api, source):
    api.add(*[big(source, "u%d.bin" % i) for i in range(2)], paused=True)
    page.open()
    page.row("u1.bin").click()
    page.focus()
    page.keys(Keys.DELETE)
    until(lambda: page.names() == ["u0.bin"], "hidden")
    undo = until(lambda: [b for b in page.all(".toast button") if b.text == "Undo"], "Undo")[0]
    ActionChains(page.d).move_to_element(undo).click().perform()
    until(lambda: "u1.bin" in page.names(), "back")
    # Longer than the toast is shown.
    time.sleep(7)
    assert len(api.rows()) == 2 and len(page.names()) == 2


def test_the_counts_lack_what_is_about_to_be_removed(page, api, source):
    api.add(*[big(source, "c%d.bin" % i) for i in range(3)], paused=True, group="Counted")
    page.open()
    until(lambda: len(page.names()) == 3, "rows")
    counts = lambda: page.js("return Object.fromEntries([...document.querySelectorAll('.rail-item')].map(b => [b.firstElementChild.textContent, b.lastElementChild.textContent]))")
    until(lambda: counts().get("Counted") == "3" and counts()["Paused"] == "3", "counts")
    page.row("c1.bin").click()
    page.focus()
    page.keys(Keys.DELETE)
    until(lambda: len(page.names()) == 2, "hidden")
    until(lambda: (counts()["All"], counts()["Paused"], counts()["Counted"]) == ("2", "2", "2"), "the rail agrees")
    page.chord(Keys.CONTROL, "z")
    until(lambda: (counts()["All"], counts()["Paused"], counts()["Counted"]) == ("3", "3", "3"), "all again")
    page.chord(Keys.CONTROL, "a")
    page.keys(Keys.DELETE)
    until(lambda: (counts()["All"], counts()["Paused"]) == ("", "") and counts().get("Counted", "0") == "0", "none")
    page.find(".toast .square").click()
    until(lambda: api.rows() == [], "removed")
    until(lambda: "Counted" not in counts() and counts()["All"] == "", "none is left")


def test_sends_a_pending_removal_when_the_page_is_left(page, api, source):
    api.add(big(source, "leave.bin"), paused=True)
    page.open()
    page.row("leave.bin").click()
    page.focus()
    page.keys(Keys.DELETE)
    until(lambda: page.all(".toast"), "toast")
    page.d.get(api.base + "icon.svg")
    until(lambda: api.rows() == [], "removed")


def test_asks_before_deleting_files(page, api, source):
    api.add(small(source, "file.txt"))
    page.open()
    page.until_state("file.txt", "completed")
    page.row("file.txt").click()
    page.focus()
    page.chord(Keys.SHIFT, Keys.DELETE)
    until(lambda: page.all("dialog"), "question")
    page.axe("question")
    page.keys(Keys.ESCAPE)
    until(lambda: not page.all("dialog"), "closed")
    assert len(api.rows()) == 1
    page.chord(Keys.SHIFT, Keys.DELETE)
    until(lambda: page.all("dialog"), "question")
    page.keys(Keys.ENTER)
    until(lambda: api.rows() == [], "removed")


def test_selects_many_and_acts_on_all(page, api, source):
    api.add(*[big(source, "s%02d.bin" % i) for i in range(12)])
    page.open()
    until(lambda: len(page.names()) == 12, "rows")
    names = page.names()
    page.row(names[1]).click()
    ActionChains(page.d).key_down(Keys.CONTROL).click(page.row(names[3])).key_up(Keys.CONTROL).perform()
    assert len(page.all('.row[aria-selected="true"]')) == 2
    ActionChains(page.d).key_down(Keys.SHIFT).click(page.row(names[6])).key_up(Keys.SHIFT).perform()
    until(lambda: len(page.all('.row[aria-selected="true"]')) == 4, "range")
    assert "4 selected" in page.find("#bulk").text
    [b for b in page.all("#bulk button") if b.text == "Pause"][0].click()
    until(lambda: sorted(r["name"] for r in api.rows(state="paused")) == sorted(names[3:7]), "four paused")
    page.focus()
    page.chord(Keys.CONTROL, "a")
    until(lambda: "12 selected" in page.find("#bulk").text, "all")
    page.row(names[0]).find_element(By.CSS_SELECTOR, ".cell-pick").click()
    until(lambda: "11 selected" in page.find("#bulk").text, "one exception")
    page.focus()
    page.keys("p")
    until(lambda: len(api.rows(state="paused")) == 11, "eleven paused")
    page.axe("bulk")
    page.shot("bulk")


def test_moves_in_the_queue_by_dragging_and_by_keys(page, api, source):
    api("PATCH", "configuration", {"maxConcurrentDownloads": 1})
    api.add(*[big(source, "q%d.bin" % i) for i in range(6)])
    until(lambda: len(api.rows(state="queued")) == 5, "queued")
    page.open()
    page.list("Queued")
    order = lambda: [r["name"] for r in api.rows(state="queued", sort="queue")]
    before = order()
    assert page.names() == before
    ActionChains(page.d).click_and_hold(page.row(before[3])).move_by_offset(0, -20).move_to_element_with_offset(page.row(before[0]), 0, -24).pause(0.1).release().perform()
    until(lambda: order() == [before[3], before[0], before[1], before[2], before[4]], "dragged to the front")
    until(lambda: page.names() == order(), "list follows")
    page.focus()
    page.keys(Keys.HOME)
    page.chord(Keys.ALT, Keys.ARROW_DOWN)
    until(lambda: order()[1] == before[3], "moved down by a key")
    page.chord(Keys.ALT, Keys.END)
    until(lambda: order()[-1] == before[3], "moved to the end")
    until(lambda: page.names() == order(), "list follows")
    page.shot("queue")


def test_searches_and_clears(page, api, source):
    api.add(*[big(source, n) for n in ("apple.bin", "pear.bin", "plum.bin")], paused=True)
    page.open()
    page.keys("/")
    page.keys("p", "e", "a")
    until(lambda: page.names() == ["pear.bin"], "match")
    until(lambda: "1 download found" in page.find("#status").get_attribute("textContent"), "announced")
    page.keys("x", "x")
    until(lambda: "No download matches" in page.find("#empty").text, "no match")
    page.axe("no match")
    page.find("#empty button").click()
    until(lambda: len(page.names()) == 3, "all again")


def test_finds_names_groups_and_folders_with_blanks(page, api, source):
    api.add(big(source, "my film.bin"), paused=True, group="My films + more")
    api.add(big(source, "other.bin"), paused=True)
    page.open()
    until(lambda: len(page.names()) == 2, "rows")
    page.list("My films + more")
    until(lambda: page.names() == ["my film.bin"], "the group has its download")
    page.list("All")
    page.keys("/")
    page.keys("my film")
    until(lambda: page.names() == ["my film.bin"], "match")


def test_links_pasted_into_the_page_are_added_once(page, source):
    page.open()
    page.js("const data = new DataTransfer(); data.setData('text/plain', arguments[0]);"
            "const e = new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true});"
            "window.wasPrevented = !document.getElementById('grid').dispatchEvent(e)", source + "once.bin")
    until(lambda: page.all("dialog[open] textarea"), "dialog")
    assert page.js("return window.wasPrevented"), "the browser pastes nothing itself"
    assert page.find("dialog[open] textarea").get_attribute("value").strip() == source + "once.bin"
