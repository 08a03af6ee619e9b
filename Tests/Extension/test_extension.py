"""What the extension does in Chromium."""
import filecmp, glob, json, os, pathlib

import pytest
from extension import FOLDER, Extension
from rig import AXE, Client, until
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from site_of_tests import Site

PAGE = FOLDER.parent / "Sources" / "CHaulPage" / "page"


def seen(path):
    """The fields of the requests that Haul made for a path; those of the browser have `Sec-Fetch-Site`."""
    return [fields for target, fields in Site.seen if target.startswith(path) and "Sec-Fetch-Site" not in fields and "sec-ch-ua" not in fields]


def field(fields, name):
    return next((value for key, value in fields.items() if key.lower() == name.lower()), None)


def text(target, css):
    return target.run("document.querySelector(%s)?.innerText ?? ''" % json.dumps(css))


def press(target, css):
    until(lambda: target.run("Boolean(document.querySelector(%s))" % json.dumps(css)), css)
    target.run("document.querySelector(%s).click()" % json.dumps(css))


def axe(extension):
    files = glob.glob(os.path.join(AXE, "**", "axe.min.js"), recursive=True)
    assert files, "axe.min.js is missing: make test-extension installs it"
    until(lambda: extension.d.execute_script("return document.getAnimations().every(a => a.playState !== 'running')"), "animations end")
    extension.d.execute_cdp_cmd("Runtime.evaluate", {"expression": open(files[0]).read()})
    found = extension.d.execute_cdp_cmd("Runtime.evaluate", {
        "expression": "axe.run(document, {resultTypes: ['violations']}).then(r => r.violations.map(v => v.id + ' ' + v.nodes.map(n => n.target + ' ' + n.failureSummary)))",
        "awaitPromise": True, "returnByValue": True})["result"]["value"]
    assert not found, "\n".join(found)


# MARK: The folder

@pytest.mark.parametrize("name", sorted(os.listdir(FOLDER / "shared")))
def test_a_shared_file_is_that_of_the_page(name):
    assert filecmp.cmp(FOLDER / "shared" / name, PAGE / "app" / name, shallow=False), "copy it again: Extension/shared/" + name


def test_asks_for_no_host_when_it_is_installed():
    manifest = json.loads((FOLDER / "manifest.json").read_text())
    assert "host_permissions" not in manifest and "content_scripts" not in manifest and "web_accessible_resources" not in manifest
    assert "externally_connectable" not in manifest


# MARK: Connection

def test_connects_with_the_token_and_not_with_another(extension, daemon):
    extension.reset()
    extension.d.get(extension.base + "options.html")
    address = extension.d.find_element(By.ID, "address")
    until(lambda: address.get_attribute("value") == "http://127.0.0.1:4285/", "the default address")
    address.clear()
    address.send_keys(daemon.base)
    extension.d.find_element(By.ID, "secret").send_keys("wrong" + Keys.ENTER)
    until(lambda: "not the token" in extension.d.find_element(By.ID, "answer").text, "refusal")
    assert "key" not in extension.stored()
    axe(extension)
    extension.d.find_element(By.ID, "secret").clear()
    extension.d.find_element(By.ID, "secret").send_keys(daemon.token + Keys.ENTER)
    until(lambda: "Connected to Haul" in extension.d.find_element(By.ID, "answer").text, "connected")
    assert extension.stored()["key"] == daemon.token
    assert extension.d.find_element(By.ID, "secret").get_attribute("value") == ""
    extension.shot("options")
    extension.click("#forget")
    until(lambda: "key" not in extension.stored(), "forgotten")


def test_connects_once_with_a_link_and_may_do_little_then(extension, daemon, api, site):
    extension.reset()
    link = daemon.base + "#connect=" + api("POST", "keys/codes")["code"]
    extension.d.get(extension.base + "options.html")
    extension.d.find_element(By.ID, "secret").send_keys(link + Keys.ENTER)
    until(lambda: "Connected to Haul" in extension.d.find_element(By.ID, "answer").text, "connected")
    key = extension.stored()["key"]
    assert key != daemon.token and extension.stored()["address"] == daemon.base
    limited = Client(daemon.base, key)
    api.add(site + "foreign.bin?size=1000")
    assert limited("GET", "configuration", ok=False) is None and limited.rows() == []
    extension.page(site, "<p>a")
    extension.menu("link", linkUrl=site + "own.bin?size=1000")
    until(lambda: [row["name"] for row in limited.rows()] == ["own.bin"], "its own download")
    extension.d.get(extension.base + "options.html")
    extension.d.find_element(By.ID, "secret").send_keys(link + Keys.ENTER)
    until(lambda: "used before" in extension.d.find_element(By.ID, "answer").text, "once")
    extension.click("#forget")
    until(lambda: "Disconnected" in extension.d.find_element(By.ID, "answer").text, "disconnected")
    assert api("GET", "keys")["items"] == []


def test_a_page_has_no_way_to_the_extension(extension, site):
    extension.page(site, "<p>a")
    for path in ("options.html", "links.html", "daemon.js", "icons/16.png"):
        outcome = extension.d.execute_async_script("fetch(arguments[0]).then(() => 'read', () => 'refused').then(arguments[1])", extension.base + path)
        assert outcome == "refused", path
    assert extension.d.execute_script("return typeof chrome.runtime?.sendMessage") == "undefined"


# MARK: Links

def test_a_link_has_the_cookies_of_its_own_url_and_no_other(extension, api, site):
    other = site.replace("127.0.0.1", "localhost")
    extension.d.get(site + "cookies?member=page")
    extension.d.get(other + "cookies?member=link&extra=1")
    extension.page(site, "<a href='%smembers/film.bin?member=link'>film</a>" % other)
    extension.menu("link", linkUrl=other + "members/film.bin?member=link")
    until(lambda: api.row("film.bin") and api.row("film.bin")["state"] == "completed", "complete")
    assert api.row("film.bin")["receivedBytes"] == 400_000
    asked = seen("/members/")
    assert asked
    for fields in asked:
        assert sorted(field(fields, "Cookie").split("; ")) == ["extra=1", "member=link"]
        # Of another origin, a browser says no more than its own.
        assert field(fields, "Referer") == site
    details = api("GET", "downloads/" + api.row("film.bin")["id"])
    assert details["headers"] == {"Cookie": "***", "Referer": "***"}
    until(lambda: extension.stored().get("pages") == {api.row("film.bin")["id"]: extension.d.current_url}, "the page is noted")


def test_without_the_permission_for_a_host_no_cookie_is_sent(daemon, api, site):
    other = site.replace("127.0.0.1", "localhost")
    extension = Extension(["http://127.0.0.1/*"])
    try:
        extension.reset(address=daemon.base, key=daemon.token, asksForCookies=False)
        extension.d.get(other + "cookies?member=link")
        extension.page(site, "<p>a")
        extension.menu("link", linkUrl=other + "open.bin?size=50000")
        until(lambda: api.row("open.bin") and api.row("open.bin")["state"] == "completed", "complete")
        assert [field(fields, "Cookie") for fields in seen("/open.bin")] == [None]
    finally:
        extension.close()


def test_links_of_a_page_are_chosen_by_type(extension, api, site):
    names = ["one.zip", "two.zip", "song.flac", "<b>bold</b>.zip"]
    extension.page(site, "".join("<a href='/%s?size=1000'>%s</a> " % (n.replace("<", "%3C").replace(">", "%3E"), n.replace("<", "&lt;")) for n in names) + "<a href='javascript:alert(1)'>script</a><a href='#top'>top</a>", title="Many files")
    extension.menu("page")
    until(lambda: extension.target("/links.html"), "tab")
    # chromedriver reaches that tab only from its own.
    extension.d.get(extension.base + "links.html")
    extension.d.execute_cdp_cmd("Page.bringToFront", {})
    until(lambda: len(extension.d.find_elements(By.CSS_SELECTOR, "#list label")) >= 4, "list")
    assert extension.d.find_element(By.ID, "title").text == "Links of Many files"
    assert not [e for e in extension.d.find_elements(By.CSS_SELECTOR, "#list .hint") if "javascript" in e.text]
    assert not extension.d.find_elements(By.CSS_SELECTOR, "#list b")
    extension.click("[data-kind=archive]")
    assert len(extension.d.find_elements(By.CSS_SELECTOR, "#list label")) == 3
    extension.click("#toggle")
    assert extension.d.find_element(By.ID, "download").text == "Download 3 links"
    axe(extension)
    extension.shot("links")
    extension.click("#download")
    until(lambda: "all 3 downloads" in extension.d.find_element(By.ID, "answer").text, "answer")
    until(lambda: len(api.rows(state="completed")) == 3, "complete")
    assert api.row("song.flac") is None


# MARK: Downloads of the browser

def test_takes_over_downloads_from_a_size_on(extension, api, site):
    extension.set(takesOver=True, leastMegabytes=0.3)
    extension.d.get(site + "cookies?member=yes")
    extension.page(site, "<a id=small href='/small.bin?size=1000'>small</a> <a id=large href='/members/large.bin?member=yes'>large</a>")
    extension.click("#large")
    until(lambda: api.row("large.bin") and api.row("large.bin")["state"] == "completed", "complete")
    until(lambda: extension.downloads_of_browser() == [], "the browser has no download")
    assert field(seen("/members/")[-1], "Referer") == extension.d.current_url.split("#")[0]
    extension.click("#small")
    until(lambda: [d["state"] for d in extension.downloads_of_browser()] == ["complete"], "the browser has the small one")
    assert api.row("small.bin") is None
    assert (extension.downloads / "small.bin").stat().st_size == 1000
    assert not (extension.downloads / "large.bin").exists()


def test_leaves_what_haul_would_not_get(extension, api, site):
    # Haul would send a GET, which answers with another length.
    extension.set(takesOver=True, leastMegabytes=0.3)
    extension.page(site, "<form method=post action=/form><button id=send>send</button></form>")
    extension.click("#send")
    until(lambda: [d["state"] for d in extension.downloads_of_browser()] == ["complete"], "the browser has it")
    assert extension.downloads_of_browser()[0]["totalBytes"] == 400_000
    assert api.rows() == []


def test_the_browser_keeps_its_download_while_the_daemon_is_away(extension, own_daemon, site):
    extension.set(address=own_daemon.base, key=own_daemon.token, takesOver=True, leastMegabytes=0.3)
    own_daemon.kill()
    extension.page(site, "<a id=large href='/away.bin?size=500000'>large</a>")
    extension.click("#large")
    until(lambda: [d["state"] for d in extension.downloads_of_browser()] == ["complete"], "the browser has it")
    assert (extension.downloads / "away.bin").stat().st_size == 500_000
    popup = extension.popup()
    until(lambda: "does not answer" in text(popup, "#problem"), "the popup says so")
    popup.close()
    own_daemon.start()
    extension.set(address=own_daemon.base)
    extension.click("#large")
    until(lambda: Client(own_daemon.base, own_daemon.token).row("away.bin"), "taken over again")


# MARK: Films

def test_offers_the_films_of_a_page_with_its_title(extension, api, site):
    extension.page(site, "<script>fetch('/film/master.m3u8'); fetch('/film/high.m3u8')</script>", title="A talk")
    until(lambda: len([p for p, _ in Site.seen if p.endswith(".m3u8")]) == 2, "the page loads its playlists")
    popup = extension.popup()
    until(lambda: "A talk" in text(popup, "#films"), "film")
    assert popup.run("document.querySelectorAll('#films .row').length") == 1
    assert "1920x1080" in text(popup, "#films")
    extension.shot("films", popup)
    press(popup, "#films button")
    until(lambda: api.rows() and api.rows()[0]["name"].startswith("A talk"), "added under its title")
    popup.close()


# MARK: Renewing

def expire(extension, api, site, name):
    """A download whose link expired in the middle, of a page with a fresh link."""
    Site.tokens.add("old")
    extension.page(site, "<a id=fresh href='/signed/%s?token=new'>again</a> <a id=version href='/signed/elsewhere/%s?token=new&version=z'>other</a> <a id=length href='/%s?size=2000000'>other</a>" % (name, name, name))
    extension.menu("link", linkUrl="%ssigned/%s?token=old&hold=1000000" % (site, name))
    until(lambda: api.row(name) and api.row(name)["receivedBytes"] >= 900_000, "a part")
    Site.tokens.clear()
    Site.cut.set()
    until(lambda: api.row(name)["state"] == "failed", "expired")
    Site.tokens.add("new")


def test_renews_a_link_by_the_next_download_of_the_browser(extension, api, site):
    expire(extension, api, site, "disk.iso")
    page = extension.d.current_url
    popup = extension.popup()
    until(lambda: "The link has expired." in text(popup, "#expired"), "the popup says so")
    extension.shot("expired", popup)
    press(popup, "#expired button")
    until(lambda: len(extension.d.window_handles) == 2, "the page opens")
    popup.close()
    extension.d.switch_to.window(extension.d.window_handles[1])
    until(lambda: extension.d.current_url == page, "the page it came from")
    before = len(seen("/signed/disk.iso?token=new"))
    extension.click("#fresh")
    until(lambda: api.row("disk.iso")["state"] == "completed", "complete")
    until(lambda: extension.downloads_of_browser() == [], "the browser has no download")
    assert (pathlib.Path(api.row("disk.iso")["path"])).read_bytes() == b"s" * 3_000_000
    assert any(field(fields, "Range") for fields in seen("/signed/disk.iso?token=new")[before:]), "resumed"
    assert len(api.rows()) == 1


@pytest.mark.parametrize("other", ["version", "length"])
def test_another_file_is_no_new_source(extension, api, site, other):
    expire(extension, api, site, "disk.iso")
    popup = extension.popup()
    press(popup, "#expired button")
    until(lambda: len(extension.d.window_handles) == 2, "the page opens")
    popup.close()
    extension.d.switch_to.window(extension.d.window_handles[1])
    until(lambda: extension.d.find_elements(By.ID, other), "page")
    extension.click("#" + other)
    until(lambda: [d["state"] for d in extension.downloads_of_browser()] == ["complete"], "the browser keeps its file")
    kept = pathlib.Path(extension.downloads_of_browser()[0]["filename"]).read_bytes()
    assert len(kept) == 2_000_000 if other == "length" else kept == b"z" * 3_000_000
    assert api.row("disk.iso")["state"] == "failed" and api.row("disk.iso")["receivedBytes"] >= 900_000


# MARK: Looks

@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_its_pages_are_readable(extension, api, site, scheme):
    features = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    extension.d.execute_cdp_cmd("Emulation.setEmulatedMedia", features)
    api.add(site + "a%20long%20name%20of%20a%20file%20that%20is%20cut%20in%20the%20middle%202026.tar.gz?size=100000", site + "big.iso?size=40000000&rate=200000")
    for page in ("options.html", "links.html", "popup.html"):
        extension.d.get(extension.base + page)
        until(lambda: extension.d.find_elements(By.CSS_SELECTOR, "h1"), page)
        if page == "popup.html":
            until(lambda: len(extension.d.find_elements(By.CSS_SELECTOR, "#running .row")) == 2, "rows")
        axe(extension)
        extension.shot("%s-%s" % (page.split(".")[0], scheme))
