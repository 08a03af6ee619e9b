"""Accessibility, settings, sizes, hidden tabs, long lists."""
import json, os, re, subprocess, time, urllib.parse, urllib.request

import pytest
from rig import Client, Page, Proxy, big, free_port, new_browser, small, until
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.actions.action_builder import ActionBuilder
from selenium.webdriver.common.actions.pointer_input import PointerInput
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_has_no_accessibility_violation(page, api, source, scheme):
    api.add(big(source, "one.bin"), source + "none.bin?fail=404", small(source, "done.txt"))
    api.add(big(source, "paused.bin"), paused=True)
    page.media(prefers_color_scheme=scheme)
    page.open()
    page.until_state("none.bin", "failed")
    page.until_state("one.bin", "transferring")
    page.axe(scheme)
    page.shot("list-" + scheme)
    page.row("one.bin").click()
    page.focus()
    page.keys(Keys.ENTER)
    time.sleep(1.5)
    page.axe(scheme + " detail")
    page.shot("detail-" + scheme)
    page.keys(Keys.ESCAPE)
    page.find("#open-settings").click()
    until(lambda: page.all("dialog .setting"), "settings")
    time.sleep(0.5)
    page.axe(scheme + " settings")
    page.shot("settings-" + scheme)
    page.keys(Keys.ESCAPE)
    page.keys("n")
    until(lambda: page.all("dialog.add"), "dialog")
    page.find(".add .advanced summary").click()
    page.axe(scheme + " add")
    page.shot("add-" + scheme)
    page.keys(Keys.ESCAPE)


def test_empty_page_has_no_violation(page):
    page.open()
    page.axe("empty")
    page.shot("empty")


def test_settings_change_the_daemon_and_the_theme(page, api):
    page.open()
    page.find("#open-settings").click()
    until(lambda: page.all("#set-speedLimit"), "settings")
    # A setting of the start has no control.
    settings = api("GET", "configuration")["settings"]
    for name, setting in settings.items():
        assert len(page.all("#set-" + name)) == (1 if setting["live"] else 0), name
    assert "undefined" not in page.find("dialog").get_attribute("textContent")
    page.find("#set-speedLimit").send_keys("2.5" + Keys.TAB)
    until(lambda: api("GET", "configuration")["settings"]["speedLimit"]["value"] == 2_500_000, "limit")
    page.find("input[value=dark]").click()
    assert page.js("return getComputedStyle(document.documentElement).colorScheme") == "dark"
    page.keys(Keys.ESCAPE)
    until(lambda: "2.5" in page.find("#limit").text, "limit in the header")
    page.find("#limit").click()
    until(lambda: page.all(".menu"), "menu")
    [i for i in page.all(".menu-item") if "No limit" in i.text][0].click()
    until(lambda: api("GET", "configuration")["settings"]["speedLimit"]["value"] == 0, "no limit")


def test_settings_say_what_a_number_may_be(page, api):
    page.open()
    page.find("#open-settings").click()
    field = until(lambda: page.find("#set-maxConcurrentDownloads"), "settings")
    problem = lambda name: page.find("#set-%s" % name).find_element(By.XPATH, "ancestor::*[.//p[contains(@class,'field-error')]][1]").find_element(By.CSS_SELECTOR, ".field-error").text
    for text in ("-1", "", "1.5"):
        field.clear()
        field.send_keys(text + Keys.TAB)
        until(lambda: problem("maxConcurrentDownloads") == "A whole number from 1 to 1000.", "sentence for " + repr(text))
    speed = page.find("#set-speedLimit")
    speed.send_keys("quick" + Keys.TAB)
    until(lambda: problem("speedLimit") == "A number of MB/s, or nothing for no limit.", "sentence")
    field.clear()
    field.send_keys("5" + Keys.TAB)
    until(lambda: api("GET", "configuration")["settings"]["maxConcurrentDownloads"]["value"] == 5, "saved")
    assert problem("maxConcurrentDownloads") == ""


def test_is_installable_and_loads_only_its_own_files(page, api):
    page.open()
    errors = page.d.execute_cdp_cmd("Page.getInstallabilityErrors", {})["installabilityErrors"]
    assert not [e for e in errors if e["errorId"] not in ("in-incognito",)], errors
    manifest = page.d.execute_cdp_cmd("Page.getAppManifest", {})
    assert not manifest["errors"], manifest["errors"]


def test_width_of_900_has_the_panel_below(page, api, source):
    api.add(*[big(source, "w%d.bin" % i) for i in range(10)])
    page.size(900, 800)
    page.open()
    page.focus()
    page.keys(Keys.HOME, Keys.ENTER)
    until(lambda: page.find("#detail").is_displayed(), "detail")
    time.sleep(1.2)
    detail, grid = page.find("#detail").rect, page.find("#grid").rect
    assert detail["y"] >= grid["y"] + grid["height"] - 2
    assert page.js("return document.documentElement.scrollWidth <= innerWidth")
    page.shot("panel-below")


def test_acts_on_a_whole_list(page, api, source):
    api.add(*[big(source, "l%d.bin" % i) for i in range(3)])
    api.add(small(source, "done.txt"))
    page.open()
    page.until_state("done.txt", "completed")
    page.find("#list-actions").click()
    [i for i in page.all(".menu-item") if "Pause all" in i.text][0].click()
    until(lambda: len(api.rows(state="paused")) == 3, "paused")
    page.list("Finished")
    page.find("#list-actions").click()
    assert not [i for i in page.all(".menu-item") if "Pause all" in i.text]
    [i for i in page.all(".menu-item") if "Remove all" in i.text][0].click()
    until(lambda: page.find("#empty").is_displayed(), "hidden")
    until(lambda: len(api.rows()) == 3, "removed")


def test_modules_are_preloaded(page):
    page.open()
    loaded = page.js("return performance.getEntriesByType('resource').map(e => new URL(e.name).pathname.split('/').pop()).filter(n => n.endsWith('.js'))")
    preloaded = page.js("return [...document.querySelectorAll('link[rel=modulepreload]')].map(l => l.getAttribute('href').split('/').pop())")
    assert set(preloaded) | {"main.js", "theme.js"} == set(loaded)


def test_notifies_when_a_download_finishes_while_the_page_is_hidden(page, api, source):
    page.d.execute_cdp_cmd("Browser.grantPermissions", {"origin": page.base.rstrip("/"), "permissions": ["notifications"]})
    page.open()
    page.js("window.told = []; window.Notification = class { static permission = 'granted'; static requestPermission = async () => 'granted'; constructor(title, options) { window.told.push([title, options.body]); } close() {} }")
    page.find("#open-settings").click()
    until(lambda: page.all("#notify-hint"), "settings")
    [b for b in page.all("dialog button") if b.text == "Turn on"][0].click()
    until(lambda: [b for b in page.all("dialog button") if b.text == "Turn off"], "on")
    page.keys(Keys.ESCAPE)
    tab = page.d.current_window_handle
    page.d.switch_to.new_window("tab")
    api.add(small(source, "told.bin"))
    until(lambda: api.row("told.bin")["state"] == "completed", "completed")
    time.sleep(3)
    page.d.close()
    page.d.switch_to.window(tab)
    assert page.js("return window.told") == [["Download finished", "told.bin"]]


@pytest.mark.slow
def test_closes_the_stream_while_all_tabs_are_hidden(page, api):
    target = urllib.parse.urlsplit(api.base)
    proxy = Proxy((target.hostname, target.port))
    page.base = "http://127.0.0.1:%d%s" % (proxy.port, target.path or "/")
    page.open()
    until(lambda: proxy.streams == 1, "stream")
    tab = page.d.current_window_handle
    page.d.switch_to.new_window("tab")
    time.sleep(25)
    assert proxy.streams == 1
    until(lambda: proxy.streams == 0, "closed")
    page.d.close()
    page.d.switch_to.window(tab)
    until(lambda: proxy.streams == 1, "opened again")


@pytest.mark.slow
def test_gives_up_a_silent_stream(page, api, source):
    target = urllib.parse.urlsplit(api.base)
    proxy = Proxy((target.hostname, target.port))
    page.base = "http://127.0.0.1:%d%s" % (proxy.port, target.path or "/")
    page.open()
    until(lambda: proxy.streams == 1, "stream")
    opened = sum("/events" in line for line in proxy.lines)
    proxy.mute = True
    time.sleep(30)
    proxy.mute = False
    until(lambda: sum("/events" in line for line in proxy.lines) > opened, "opened again")


def test_works_below_a_sub_path_behind_a_proxy(driver, api, daemon, source, tmp_path):
    port = free_port()
    (tmp_path / "nginx.conf").write_text(f"""
        daemon off; pid {tmp_path}/pid; error_log {tmp_path}/error.log;
        events {{ worker_connections 64; }}
        http {{
            access_log off; client_body_temp_path {tmp_path}; proxy_temp_path {tmp_path}; fastcgi_temp_path {tmp_path};
            uwsgi_temp_path {tmp_path}; scgi_temp_path {tmp_path};
            server {{
                listen 127.0.0.1:{port};
                location /tools/haul/ {{ proxy_pass {daemon.base}; proxy_set_header Host $http_host; proxy_http_version 1.1; }}
            }}
        }}""")
    proxy = subprocess.Popen(["nginx", "-c", str(tmp_path / "nginx.conf"), "-p", str(tmp_path)])
    try:
        page = Page(driver, "http://127.0.0.1:%d/tools/haul/" % port, daemon.token)
        api.add(big(source, "below.bin"), paused=True)
        until(lambda: urllib.request.urlopen(page.base + "icon.svg").status == 200, "nginx")
        driver.get_log("browser")
        page.open()
        page.row("below.bin")
        page.check()
    finally:
        driver.get("about:blank")
        proxy.terminate()
        proxy.wait()


APART = """const done = arguments[0], grid = document.getElementById('grid'), fetching = window.fetch;
window.fetch = () => new Promise(() => {});
import('./app/model.js').then(({list}) => {
    const {total} = list;
    list.total = 100000;
    list.emit('structure');
    grid.scrollTop = 31250 * 64 - 200;
    const frames = (count) => count > 0 ? requestAnimationFrame(() => frames(count - 1)) : end();
    const end = () => {
        const tops = [...document.querySelectorAll('.row')].map(r => r.getBoundingClientRect().top).sort((a, b) => a - b);
        const height = document.getElementById('rows').offsetHeight;
        window.fetch = fetching;
        list.total = total;
        list.emit('structure');
        done([tops.slice(1).map((top, at) => top - tops[at]), height]);
    };
    frames(3);
});"""


def test_rows_are_evenly_apart_far_down(page, api, source):
    api.add(big(source, "far.bin"), paused=True)
    page.open()
    gaps, height = page.d.execute_async_script(APART)
    assert len(gaps) > 10 and set(gaps) == {64}
    assert height == 6_400_000


def test_shows_the_speed_on_a_page_of_640_pixels(page, api, source):
    api.add(big(source, "speed.bin"))
    api("PATCH", "configuration", {"speedLimit": 50_000_000})
    page.size(640, 800)
    page.open()
    until(lambda: "/s" in page.find("#total-speed").text, "speed")
    free = "const r = arguments[0].getBoundingClientRect(); return [r.left + 1, r.right - 1].every(x => arguments[0].contains(document.elementFromPoint(x, r.y + r.height / 2)))"
    until(lambda: page.js(free, page.find("#total-speed")), "nothing is over it")


def test_long_names_of_groups_are_cropped(page, api, source):
    name = "A group with a name that is far too long for the list of groups"
    api.add(big(source, "long.bin"), paused=True, group=name)
    page.open()
    until(lambda: page.all(".rail-groups .rail-item"), "group")
    assert page.js("const l = document.getElementById('lists'); return l.scrollWidth <= l.clientWidth")
    item = page.find(".rail-groups .rail-item")
    assert item.find_element(By.CSS_SELECTOR, ".rail-name").get_attribute("title") == name
    assert item.find_element(By.CSS_SELECTOR, ".rail-count").is_displayed()
    assert page.js("return arguments[0].getBoundingClientRect().right <= document.getElementById('lists').getBoundingClientRect().right", item.find_element(By.CSS_SELECTOR, ".rail-count"))


@pytest.mark.slow
def test_100_000_rows(driver, own_daemon):
    api = Client(own_daemon.base, own_daemon.token)
    for start in range(0, 100_000, 1000):
        api.add(*["http://127.0.0.1:9/file-%06d.bin" % n for n in range(start, start + 1000)], paused=True)
    page = Page(driver, own_daemon.base, own_daemon.token)
    page.size(1280, 800)
    page.open()
    start = time.time()
    page.d.get(own_daemon.base)
    page.ready()
    usable = time.time() - start
    times = page.d.execute_async_script("""
        const done = arguments[0], grid = document.getElementById('grid'), times = [];
        let last = performance.now(); const start = last;
        requestAnimationFrame(function step(now) { times.push(now - last); last = now; grid.scrollTop += 180;
            if (now - start < 4000) requestAnimationFrame(step); else done(times.slice(1)); });""")
    times.sort()
    heap = page.d.execute_cdp_cmd("Runtime.getHeapUsage", {})["usedSize"]
    print("usable after %.2f s, frame %.1f ms (95%%: %.1f), heap %.1f MB" % (usable, times[len(times) // 2], times[len(times) * 95 // 100], heap / 1e6))
    assert len(page.all(".row")) < 60
    page.focus()
    page.keys(Keys.END)
    until(lambda: any(name.startswith("file-0") for name in page.names()), "last rows")
    page.chord(Keys.CONTROL, "a")
    until(lambda: "100,000 selected" in page.find("#bulk").text, "all")
    assert heap < 40_000_000
    page.check()
    driver.get("about:blank")
