"""A connection that is lost, and tabs that share one."""
import json, os, re, subprocess, time, urllib.parse, urllib.request

import pytest
from rig import Client, Page, Proxy, Source, big, free_port, new_browser, small, until
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.actions.action_builder import ActionBuilder
from selenium.webdriver.common.actions.pointer_input import PointerInput
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys


def test_shows_a_banner_while_the_connection_is_lost_and_heals(page, api, source):
    target = urllib.parse.urlsplit(api.base)
    proxy = Proxy((target.hostname, target.port))
    page.base = "http://127.0.0.1:%d%s" % (proxy.port, target.path or "/")
    page.allowed += [r"ERR_", r"Failed to load resource"]
    api.add(big(source, "before.bin"), paused=True)
    page.open()
    page.row("before.bin")
    proxy.break_off()
    until(lambda: page.find("#banner").is_displayed(), "banner")
    assert page.names() == ["before.bin"], "old data stays"
    assert not page.all("dialog")
    until(lambda: "lost" in page.find("#alert").get_attribute("textContent"), "alert")
    page.axe("lost")
    page.shot("lost")
    api.add(big(source, "meanwhile.bin"), paused=True)
    proxy.heal()
    until(lambda: not page.find("#banner").is_displayed(), "healed")
    until(lambda: "meanwhile.bin" in page.names(), "what happened meanwhile")
    page.row("before.bin").click()
    page.focus()
    page.keys("r")
    page.until_state("before.bin", "transferring", "connecting", "queued")


def test_heals_after_a_sleep(page, api, source):
    api.add(big(source, "asleep.bin"), paused=True)
    page.open()
    page.row("asleep.bin")
    page.d.execute_cdp_cmd("Page.setWebLifecycleState", {"state": "frozen"})
    api.add(big(source, "while-asleep.bin"), paused=True)
    time.sleep(2)
    page.d.execute_cdp_cmd("Page.setWebLifecycleState", {"state": "active"})
    # Headless Chromium leaves a page hidden that was frozen.
    tab = page.d.current_window_handle
    page.d.switch_to.new_window("tab")
    page.d.close()
    page.d.switch_to.window(tab)
    until(lambda: "while-asleep.bin" in page.names(), "healed")


def test_heals_when_the_daemon_was_killed_and_every_download_ends(page, own_daemon, source):
    api = Client(own_daemon.base, own_daemon.token)
    page.base, page.token = own_daemon.base, own_daemon.token
    page.allowed += [r"ERR_", r"Failed to load resource"]
    Source.released.clear()
    urls = [big(source, "killed-%d.bin" % n, rate=1_000_000, size=4_000_000) + "&hold=2000000" for n in range(3)]
    api.add(*urls, *[small(source, "small-%d.bin" % n) for n in range(40)])
    page.open()
    until(lambda: any(r["state"] == "transferring" and r["receivedBytes"] > 200_000 for r in api.rows()), "bytes")
    own_daemon.kill()
    Source.released.set()
    until(lambda: page.find("#banner").is_displayed(), "banner")
    own_daemon.start()
    until(lambda: not page.find("#banner").is_displayed(), "healed")
    until(lambda: all(r["state"] == "completed" for r in api.rows()), "all complete")
    assert len(api.rows()) == 43
    for n in range(3):
        data = (own_daemon.folder / "downloads" / ("killed-%d.bin" % n)).read_bytes()
        assert len(data) == 4_000_000
    until(lambda: page.state("killed-0.bin") == "completed" or "killed-0.bin" not in page.names(), "the page knows")


def test_opens_one_stream_for_two_tabs(page, api, source):
    target = urllib.parse.urlsplit(api.base)
    proxy = Proxy((target.hostname, target.port))
    page.base = "http://127.0.0.1:%d%s" % (proxy.port, target.path or "/")
    page.open()
    until(lambda: proxy.streams == 1, "stream")
    first = page.d.current_window_handle
    page.d.switch_to.new_window("tab")
    page.open()
    time.sleep(1.5)
    assert proxy.streams == 1
    api.add(big(source, "both.bin"), paused=True)
    until(lambda: "both.bin" in page.names(), "second tab")
    page.d.switch_to.window(first)
    until(lambda: "both.bin" in page.names(), "first tab")
    page.d.close()
    page.d.switch_to.window(page.d.window_handles[0])
    until(lambda: proxy.streams == 1, "the other tab took over")
    api.add(big(source, "third.bin"), paused=True)
    until(lambda: "third.bin" in page.names(), "second tab alone")
