"""Adding downloads."""
import json, os, re, subprocess, time, urllib.parse, urllib.request

import pytest
from rig import Client, Page, Proxy, Source, big, free_port, new_browser, small, until
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.actions.action_builder import ActionBuilder
from selenium.webdriver.common.actions.pointer_input import PointerInput
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys


def test_adds_a_link_and_shows_it_to_completion(page, api, source):
    page.open()
    assert page.find(".first").is_displayed()
    field = page.find("#first-links")
    field.send_keys(big(source, "first.bin", rate=150_000, size=500_000))
    button = page.find(".first button")
    until(lambda: button.text == "Add 1…", "count")
    button.click()
    until(lambda: page.all("dialog.add"), "dialog")
    assert "first.bin" in page.find("#add-links").get_attribute("value")
    page.find("#add-links").send_keys(Keys.CONTROL + Keys.ENTER)
    page.row("first.bin")
    page.until_state("first.bin", "transferring", "connecting", "completed")
    page.until_state("first.bin", "completed")
    assert api.row("first.bin")["state"] == "completed"
    until(lambda: "finished" in page.find("#status").get_attribute("textContent"), "announced")
    assert page.js("return document.querySelector('.row .bar').hidden")


def test_counts_pasted_links_and_says_which_lines_have_none(page, source):
    page.open()
    page.keys("n")
    until(lambda: page.all("dialog.add"), "dialog")
    page.find("#add-links").send_keys("one https://a.example/x.zip and https://a.example/y.zip.\nnothing here\n# a comment\nhttps://a.example/x.zip\nftp://a.example/z")
    until(lambda: "2 links" in page.find("#add-count").text and "1 line without a link" in page.find("#add-count").text, page.find("#add-count").text)
    assert page.find(".add-refused").text == "Haul cannot download ftp links."
    page.keys(Keys.ESCAPE)
    until(lambda: not page.all("dialog"), "closed")


def test_links_of_other_kinds_stay_in_the_box(page, api, source):
    page.open()
    page.keys("n")
    until(lambda: page.all("dialog.add"), "dialog")
    magnet, ftp = "magnet:?xt=urn:btih:c12fe1c06bba254a9dc9f519b335aa7c1367a88a&dn=x", "ftp://a.example/z.iso"
    page.find("#add-paused").click()
    page.find("#add-links").send_keys("\n".join([magnet, big(source, "with.bin"), ftp]))
    until(lambda: page.find(".add-refused").text == "Haul cannot download magnet or ftp links.", "sentence")
    assert page.find("dialog .primary").text == "Add 1"
    page.find("dialog .primary").click()
    until(lambda: len(api.rows()) == 1, "added")
    until(lambda: page.find("#add-links").get_attribute("value") == magnet + "\n" + ftp, "the others stay")
    assert "1 download added" in page.find("dialog").text and "Haul cannot download magnet or ftp links." in page.find("dialog").text
    assert not page.find("dialog .primary").is_enabled()
    page.axe("refused links")


@pytest.mark.parametrize("text", ["magnet:?xt=urn:btih:c12fe1c06bba254a9dc9f519b335aa7c1367a88a", "blob:https://a.example/0e6f"])
def test_a_dropped_link_of_another_kind_is_named(page, text):
    page.open()
    page.js(DROP, None, text, "text/plain")
    until(lambda: page.all("dialog.add"), "dialog")
    assert page.find(".add-refused").text == "Haul cannot download %s links." % text.split(":")[0]
    assert page.find("#add-links").get_attribute("value") == text


def test_a_link_in_the_query_of_another_belongs_to_it(page):
    page.open()
    page.keys("n")
    until(lambda: page.all("dialog.add"), "dialog")
    page.find("#add-links").send_keys("https://a.example/get?from=ftp://b.example/c see <https://a.example/x?m=magnet:?xt=1>")
    until(lambda: page.find("#add-count").text == "2 links", "two links")
    assert page.find(".add-refused").get_attribute("textContent") == ""


def test_a_single_link_may_get_another_name(page, api, source):
    page.open()
    page.keys("n")
    until(lambda: page.all("dialog.add"), "dialog")
    assert not page.find("#add-name").is_displayed()
    page.find("#add-links").send_keys(small(source, "first name.bin"))
    until(lambda: page.find("#add-name").is_displayed(), "field")
    assert page.find("#add-name").get_attribute("placeholder") == "first name.bin"
    page.find("#add-links").send_keys(Keys.ENTER + small(source, "other.bin"))
    until(lambda: not page.find("#add-name").is_displayed(), "no name for two links")
    page.find("#add-links").clear()
    page.find("#add-links").send_keys(small(source, "first.bin"))
    page.find("#add-name").send_keys("chosen.bin")
    page.find("#add-links").send_keys(Keys.CONTROL + Keys.ENTER)
    until(lambda: api.row("chosen.bin"), "chosen name")
    page.until_state("chosen.bin", "completed")


def test_the_options_hide_no_link_that_was_looked_at(page, api, source):
    page.open()
    page.keys("n")
    until(lambda: page.all("dialog.add"), "dialog")
    page.find("#add-links").send_keys("\n".join(small(source, "%d.zip" % n) for n in range(8)))
    page.find(".add-links-foot button").click()
    until(lambda: len(page.all(".chooser tbody tr")) == 8, "eight links")
    page.find(".add .advanced summary").click()
    page.js("document.querySelector('#add-limit').scrollIntoView({block: 'nearest'})")
    seen = "return arguments[0].every(e => { const r = e.getBoundingClientRect(); return arguments[0].length > 0 && e.contains(document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2)); })"
    assert page.js(seen, page.all(".chooser tbody tr"))
    assert page.js(seen, page.all("#add-headers, #add-limit, #add-folder, dialog .primary"))
    page.axe("options and links")


def test_looks_at_links_and_adds_the_chosen_ones(page, api, source):
    api.add(small(source, "there.txt"))
    page.open()
    page.keys("n")
    until(lambda: page.all("dialog.add"), "dialog")
    links = [small(source, "a.zip", 100_000), small(source, "b.png", 200_000), small(source, "there.txt"), source + "gone.bin?fail=404"]
    page.find("#add-links").send_keys("\n".join(links))
    page.find(".add-links-foot button").click()
    until(lambda: len(page.all(".chooser tbody tr")) == 4, "four links")
    rows = page.all(".chooser tbody tr")
    assert "a.zip" in rows[0].text and "100" in rows[0].text
    assert "In the list" in rows[2].text
    boxes = page.all(".chooser tbody input")
    assert [b.is_selected() for b in boxes] == [True, True, False, False]
    assert not boxes[3].is_enabled()
    assert "2 of 4 chosen" in page.find(".chooser-summary").text
    page.axe("chooser")
    page.shot("chooser")
    boxes[1].click()
    until(lambda: page.find("dialog .primary").text == "Add 1", "one")
    page.find("dialog .primary").click()
    page.row("a.zip")
    until(lambda: not page.all("dialog"), "closed")
    assert sorted(r["name"] for r in api.rows()) == ["a.zip", "there.txt"]


def test_downloads_only_the_chosen_link_again(page, api, source):
    there, other = small(source, "there.txt"), small(source, "other.txt")
    api.add(there, other)
    page.open()
    page.keys("n")
    until(lambda: page.all("dialog.add"), "dialog")
    page.find("#add-links").send_keys(there)
    page.find(".add-links-foot button").click()
    until(lambda: len(page.all(".chooser tbody tr")) == 1, "looked at")
    page.find(".chooser tbody input").click()
    page.find("#add-links").send_keys("\n" + other)
    until(lambda: page.find("dialog .primary").text == "Add 2", "two")
    page.find("dialog .primary").click()
    until(lambda: not page.all("dialog"), "closed")
    # The free name is chosen when the download starts.
    until(lambda: sorted(row["name"] for row in api.rows()) == ["other.txt", "there (1).txt", "there.txt"], "names")


def test_adds_with_group_priority_paused_folder_and_headers(page, api, source):
    page.open()
    page.keys("n")
    until(lambda: page.all("dialog.add"), "dialog")
    page.find("#add-links").send_keys(big(source, "options.bin"))
    page.find("#add-group").send_keys("Tests")
    page.find("#add-priority").send_keys("High")
    page.find("#add-paused").click()
    page.find(".add .advanced summary").click()
    page.find("#add-headers").send_keys("Referer: https://example.org/\nX-Test: 1")
    page.find("#add-user").send_keys("Jürgen")
    page.find("#add-password").send_keys("a:b")
    page.find("#add-limit").send_keys("0.5")
    page.find("#add-folder").click()
    until(lambda: page.all("dialog.folders .folder-path"), "folders")
    until(lambda: page.find("dialog.folders .folder-path").text, "path")
    page.axe("folders")
    page.find("dialog.folders .primary").click()
    until(lambda: not page.all("dialog.folders"), "closed")
    page.find("#add-links").send_keys(Keys.CONTROL + Keys.ENTER)
    page.row("options.bin")
    row = api.row("options.bin")
    assert (row["state"], row["group"], row["priority"]) == ("paused", "Tests", 1)
    detail = api("GET", "downloads/" + row["id"])
    assert set(k.lower() for k in detail["headers"]) == {"authorization", "referer", "x-test"}
    until(lambda: any("Tests" in b.text for b in page.all(".rail-groups .rail-item")), "group in the rail")
    page.list("Tests")
    assert page.names() == ["options.bin"]


def test_tells_what_could_not_be_added_and_keeps_it(page, api, source):
    page.open()
    page.js("document.getElementById('open-add').click()")
    until(lambda: page.all("dialog.add"), "dialog")
    page.find("#add-links").send_keys("https://a.example/one.zip")
    page.find(".add .advanced summary").click()
    page.find("#add-checksum").send_keys("nonsense:zz")
    page.find("#add-links").send_keys(Keys.CONTROL + Keys.ENTER)
    until(lambda: page.find(".add-problem").is_displayed(), "problem")
    page.allowed += [r"downloads - Failed to load resource.*400"]


DROP = """
const [name, text, type] = arguments; const data = new DataTransfer();
if (name) data.items.add(new File([text], name, {type})); else data.setData(type, text);
for (const kind of ['dragenter', 'dragover', 'drop']) document.getElementById('grid').dispatchEvent(new DragEvent(kind, {bubbles: true, cancelable: true, dataTransfer: data}));
"""


def test_takes_dropped_links_text_files_and_metalinks(page, api, source):
    page.open()
    page.js(DROP, None, "https://a.example/1.zip\r\nhttps://a.example/2.zip", "text/uri-list")
    until(lambda: page.all("dialog.add") and page.find("dialog .primary").text == "Add 2", "links")
    page.js(DROP, "list.txt", "https://a.example/3.zip\n", "text/plain")
    until(lambda: page.find("dialog .primary").text == "Add 3", "text file")
    page.keys(Keys.ESCAPE)
    until(lambda: not page.all("dialog"), "closed")
    meta = '<?xml version="1.0"?><metalink xmlns="urn:ietf:params:xml:ns:metalink"><file name="m.bin"><size>1000</size><url>%s</url></file></metalink>' % small(source, "m.bin", 1000).replace("&", "&amp;")
    for name in ("m.meta4", "n.meta4", "m.meta4"):
        page.js(DROP, name, meta.replace("m.bin", name[0] + ".bin"), "application/metalink4+xml")
    until(lambda: [note.text.split("\n")[0] for note in page.all(".metalink")] == ["m.meta4: 1 file", "n.meta4: 1 file"], "metalinks")
    assert page.find("dialog .primary").text == "Add 2"
    page.find("dialog .primary").click()
    until(lambda: sorted(row["name"] for row in api.rows()) == ["m.bin", "n.bin"], "added")


MASTER = """#EXTM3U
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="English",LANGUAGE="en",DEFAULT=YES,URI="en.m3u8"
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="Deutsch",LANGUAGE="de",URI="de.m3u8"
#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="s",NAME="Deutsch",LANGUAGE="de",URI="text.m3u8"
#EXT-X-STREAM-INF:BANDWIDTH=800000,RESOLUTION=640x360,CODECS="avc1.64001e,mp4a.40.2",AUDIO="a",SUBTITLES="s"
low.m3u8
#EXT-X-STREAM-INF:BANDWIDTH=4000000,RESOLUTION=1280x720,CODECS="avc1.64001f,mp4a.40.2",AUDIO="a",SUBTITLES="s"
high.m3u8
"""
SAMPLE_AES = '#EXT-X-KEY:METHOD=SAMPLE-AES,URI="skd://1",KEYFORMAT="com.apple.streamingkeydelivery"\n'


def media(key="", end="#EXT-X-ENDLIST\n"):
    """A playlist of 3 segments of 100 seconds."""
    return "#EXTM3U\n#EXT-X-TARGETDURATION:100\n" + key + "".join("#EXTINF:100,\n%d.ts\n" % n for n in range(3)) + end


@pytest.fixture
def films(source):
    Source.playlists.update({
        "/talk/master.m3u8": MASTER, "/talk/high.m3u8": media(), "/now.m3u8": media(end=""), "/locked.m3u8": media(SAMPLE_AES),
    })
    yield [source + name for name in ("talk/master.m3u8", "now.m3u8", "locked.m3u8")]
    Source.playlists.clear()


SENT = """
window.sent = []; const ask = window.fetch;
window.fetch = (url, options) => {
    if (options?.method === 'POST' && String(url).endsWith('/downloads')) window.sent.push(JSON.parse(options.body));
    return ask(url, options);
};
"""


def options(page, row):
    """The labels of a film's controls, with the chosen texts."""
    found = page.js("""return [...arguments[0].querySelectorAll('.control')].map(c => [c.querySelector('label').textContent,
        c.querySelector('select')?.selectedOptions[0].textContent ?? ''])""", row)
    return [[label, chosen.replace("\u00a0", " ")] for label, chosen in found]


@pytest.mark.parametrize("width", [320, 390])
def test_chooses_the_quality_of_a_film_on_a_phone(page, api, films, width):
    page.size(width, 844, touch=True)
    page.open()
    page.js(SENT)
    page.js("document.getElementById('open-add').click()")
    until(lambda: page.all("dialog.add"), "dialog")
    page.find("#add-links").send_keys("\n".join(films))
    page.find("#add-paused").click()
    page.find(".add-links-foot button").click()
    until(lambda: len(page.all(".chooser tbody tr:not(.film)")) == 3, "three links")
    talk, now, locked = page.all(".chooser tbody tr:not(.film)")
    assert "talk" in talk.text and "Film, 5 min" in talk.text and "~150 MB" in talk.text
    assert "Live" in now.text
    assert "SAMPLE-AES, FairPlay" in locked.text and not locked.find_element(By.CSS_SELECTOR, "input").is_enabled()
    assert "2 of 3 chosen" in page.find(".chooser-summary").text
    film, recording = page.all(".chooser .film")
    assert options(page, film) == [["Quality", "720p, 4.00 Mbit/s (best)"], ["Sound", "English (en)"], ["Subtitles", "None"]]
    assert options(page, recording) == [["Record for (minutes)", ""]]
    page.axe("films")
    page.shot("films-%d" % width)
    # Nothing is wider than the page, and a finger hits each control.
    assert page.js("return document.documentElement.scrollWidth <= innerWidth")
    assert page.js("const c = document.querySelector('.chooser'); return c.scrollWidth <= c.clientWidth")
    quality, sound, texts = film.find_elements(By.CSS_SELECTOR, "select")
    assert all(control.rect["height"] >= 44 for control in (quality, sound, texts))
    # By keyboard: the arrows of a select, and the order of the tab key.
    page.js("arguments[0].focus()", quality)
    page.keys(Keys.ARROW_DOWN)
    until(lambda: "~30.0 MB" in talk.text, "the size of the other quality")
    page.keys(Keys.TAB)
    assert page.js("return document.activeElement === arguments[0]", sound)
    sound.send_keys("Deutsch")
    texts.send_keys("Deutsch")
    recording.find_element(By.CSS_SELECTOR, "input").send_keys("90")
    page.find("dialog .primary").click()
    until(lambda: not page.all("dialog"), "closed")
    items = page.js("return window.sent")[0]["items"]
    assert items == [
        {"url": films[0], "stream": {"variant": "1", "audio": "de", "subtitles": "de"}},
        {"url": films[1], "stream": {"liveSeconds": 5400}},
    ]
    until(lambda: len(api.rows()) == 2, "added")


def test_a_film_without_a_choice_is_added_as_it_is(page, api, films):
    page.open()
    page.js(SENT)
    page.keys("n")
    until(lambda: page.all("dialog.add"), "dialog")
    page.find("#add-links").send_keys(films[0])
    page.find("#add-paused").click()
    page.find(".add-links-foot button").click()
    until(lambda: page.all(".chooser .film select"), "controls")
    page.axe("film")
    page.shot("film")
    page.find("dialog .primary").click()
    until(lambda: len(api.rows()) == 1, "added")
    assert page.js("return window.sent")[0]["items"] == [{"url": films[0]}]
