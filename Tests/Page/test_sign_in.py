"""Signing in and out."""
import json, os, re, subprocess, time, urllib.parse, urllib.request

import pytest
from rig import Client, Page, Proxy, big, free_port, new_browser, small, until
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.actions.action_builder import ActionBuilder
from selenium.webdriver.common.actions.pointer_input import PointerInput
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys


def test_signs_in_with_the_token_and_not_with_another(page):
    page.d.get(page.base)
    until(lambda: page.all("#token"), "form")
    assert page.find("#token").get_attribute("autocomplete") == "current-password"
    assert page.all("input[autocomplete=username]")
    page.axe("sign-in")
    page.find("#token").send_keys("wrong" + Keys.ENTER)
    until(lambda: "wrong" in page.find(".signin-form .field-error").text, "message")
    page.find("#token").send_keys(page.token + Keys.ENTER)
    until(lambda: page.find("#app").is_displayed(), "app")


def test_says_how_to_get_in(page):
    page.d.get(page.base)
    until(lambda: page.all("#token"), "form")
    assert [code.text for code in page.all(".signin-form code")] == ["haul open", "~/.local/state/haul/daemon/token"]


def test_signs_in_with_the_link_once_and_removes_the_code(page, own_daemon):
    page.d.get(own_daemon.link)
    until(lambda: page.find("#app").is_displayed(), "app")
    assert "code" not in page.d.current_url


def test_asks_for_the_token_when_the_session_ends(page, api):
    page.allowed += [r"401", r"403"]
    page.open()
    page.find("#open-settings").click()
    until(lambda: page.all("dialog"), "settings")
    [b for b in page.all("dialog button") if b.text == "Sign out"][0].click()
    until(lambda: page.all("#token"), "form")
    page.find("#token").send_keys(page.token + Keys.ENTER)
    until(lambda: page.find("#app").is_displayed(), "app")


def test_keeps_what_was_typed_when_the_session_ends(page, api):
    page.allowed += [r"401", r"403"]
    page.open()
    page.keys("n")
    until(lambda: page.all("dialog.add"), "dialog")
    page.find("#add-links").send_keys("https://a.example/1\nhttps://a.example/2")
    page.find("#add-folder").click()
    until(lambda: page.all("dialog.folders"), "folders")
    page.js("fetch('api/v1/session', {method: 'DELETE', headers: {'Content-Type': 'application/json'}})")
    until(lambda: page.js("return fetch('api/v1/session').then((answer) => answer.status)") == 401, "signed out")
    page.js("document.dispatchEvent(new Event('visibilitychange'))")
    until(lambda: page.all("#token") and not page.all("dialog[open]"), "form without dialogs")
    page.find("#token").send_keys(page.token + Keys.ENTER)
    until(lambda: len(page.all("dialog[open]")) == 2, "dialogs")
    page.keys(Keys.ESCAPE)
    until(lambda: len(page.all("dialog[open]")) == 1, "folders closed")
    assert page.find("#add-links").get_attribute("value") == "https://a.example/1\nhttps://a.example/2"
    assert page.find("dialog .primary").text == "Add 2"


def test_stays_signed_in_when_the_refusal_of_the_session_before_comes_late(page, api, source):
    page.allowed += [r"401"]
    page.open()
    # Holds the answer to the list, and lets that to the totals through.
    page.js("""
        const send = window.fetch;
        const released = new Promise((resolve) => (window.release = resolve));
        window.fetch = async (...request) => {
            const answer = await send(...request);
            if (String(request[0]).includes("/downloads?") && answer.status === 401) {
                window.held = true;
                await released;
            }
            return answer;
        };""")
    page.js("return fetch('api/v1/session', {method: 'DELETE', headers: {'Content-Type': 'application/json'}}).then(() => null)")
    page.js("document.dispatchEvent(new Event('visibilitychange'))")
    until(lambda: page.all("#token") and page.js("return window.held"), "form")
    page.find("#token").send_keys(page.token + Keys.ENTER)
    until(lambda: not page.all("#token") and page.find("#app").is_displayed(), "page")
    page.js("window.release()")
    # The list is asked for again. What a second sign-in would show is there by then.
    page.js("return fetch('api/v1/session').then(() => null)")
    api.add(small(source, "late.txt"))
    until(lambda: page.find("#rows .row:not(.blank)"), "row")
    assert not page.all("#token")


def test_connects_a_browser_extension_and_revokes_its_key(page, api):
    page.open()
    page.find("#open-settings").click()
    until(lambda: page.all(".settings h3"), "settings")
    button = lambda text: next(b for b in page.all("dialog button") if b.text == text)
    button("Connect").click()
    link = until(lambda: page.find("dialog .setting code").text, "link")
    assert link.startswith(page.base + "#connect=")
    page.axe("extensions")
    key = api("POST", "keys", {"code": link.split("=")[1], "name": "<b>Chromium</b>"})["key"]
    assert Client(page.base, key)("GET", "session")["version"]
    page.keys(Keys.ESCAPE)
    page.find("#open-settings").click()
    until(lambda: "<b>Chromium</b>" in page.find("dialog").text, "listed as text")
    button("Revoke").click()
    until(lambda: "<b>Chromium</b>" not in page.find("dialog").text, "revoked")
    assert Client(page.base, key)("GET", "session", ok=False) is None
