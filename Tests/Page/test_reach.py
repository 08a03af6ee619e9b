"""Phone, languages, keyboard alone, names from outside."""
import json, os, re, subprocess, time, urllib.parse, urllib.request

import pytest
from rig import Client, Page, Proxy, Source, big, free_port, new_browser, small, until
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.actions.action_builder import ActionBuilder
from selenium.webdriver.common.actions.pointer_input import PointerInput
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys


def touch(page, x, y, hold=0.05):
    page.d.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    time.sleep(hold)
    page.d.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def centre(page, element):
    r = page.js("const r=arguments[0].getBoundingClientRect(); return [r.x+r.width/2, r.y+r.height/2]", element)
    return r


def test_phone_width(page, api, source):
    api.add(*[big(source, "phone %d with a name that is much too long for the width of a phone.tar.gz" % i) for i in range(8)])
    page.size(390, 844, touch=True)
    page.open()
    until(lambda: len(page.names()) == 8, "rows")
    assert page.js("return document.documentElement.scrollWidth <= innerWidth")
    # The cropped name is over the whole one, and keeps the end.
    crop = page.find(".row .crop")
    assert crop.get_attribute("data-tail").endswith(".tar.gz")
    assert page.js("return arguments[0].getBoundingClientRect().top - arguments[0].parentElement.getBoundingClientRect().top", crop) == 0
    small = page.js("""return [...document.querySelectorAll('button, select, input')].filter(b => b.checkVisibility() && b.getBoundingClientRect().width > 1).map(b => [b.className || b.id, b.getBoundingClientRect().width, b.getBoundingClientRect().height]).filter(([, w, h]) => Math.min(w, h) < 44)""")
    assert not small, small
    page.axe("phone")
    page.shot("phone")
    name = page.names()[1]
    touch(page, *centre(page, page.row(name).find_element(By.CSS_SELECTOR, ".cell-main")))
    until(lambda: page.find("#detail").is_displayed(), "detail")
    until(lambda: page.find(".detail-name").text == name, "its detail")
    page.shot("phone-detail")
    page.axe("phone detail")
    page.d.back()
    until(lambda: not page.find("#detail").is_displayed(), "back closes it")
    page.js("document.activeElement.blur()")
    touch(page, *centre(page, page.row(name).find_element(By.CSS_SELECTOR, ".cell-main")), hold=0.8)
    until(lambda: page.find("#bulk").is_displayed() and "1 selected" in page.find("#bulk").text, "select mode")
    page.settle()
    touch(page, *centre(page, page.row(page.names()[3]).find_element(By.CSS_SELECTOR, ".cell-main")))
    until(lambda: "2 selected" in page.find("#bulk").text, "second by a tap")
    page.shot("phone-select")


def test_texts_are_chinese_for_a_chinese_browser(daemon, api, source):
    api.add(big(source, "一个很长的文件名.zip"), source + "none.bin?fail=404", small(source, "done.txt"))
    d = new_browser("zh-CN")
    try:
        p = Page(d, daemon.base, daemon.token)
        p.size(1280, 800)
        p.open()
        until(lambda: len(p.names()) == 3, "rows")
        assert d.find_element(By.TAG_NAME, "html").get_attribute("lang") == "zh-Hans"
        p.until_state("none.bin", "failed")
        p.row("none.bin").click()
        p.focus()
        p.keys(Keys.ENTER)
        until(lambda: p.all(".detail-error") and p.find(".detail-error").is_displayed() and p.all(".log li"), "error")
        assert "请检查链接" in p.find(".detail-error").text and "Check" not in p.find(".detail-error").text
        entry = p.find(".log li span")
        assert not entry.get_attribute("lang") and any("\u4e00" <= c <= "\u9fff" for c in entry.text), entry.text
        p.keys(Keys.ESCAPE)
        visible = p.find("body").text
        assert "添加" in visible and "进行中" in visible and "服务器返回了 404" in visible
        for english in ("Queued", "Paused", "Search", "left", "Newest"):
            assert english not in visible, english
        p.axe("Chinese")
        p.shot("chinese")
        p.focus()
        p.keys(Keys.ENTER)
        until(lambda: p.find("#detail").is_displayed(), "detail")
        time.sleep(1)
        p.shot("chinese-detail")
        p.find("#open-settings").click()
        until(lambda: p.all("dialog .setting"), "settings")
        time.sleep(0.5)
        p.axe("Chinese settings")
        p.find("#set-language").send_keys("English")
        until(lambda: "Add" in p.find("#open-add").text, "English")
        p.check()
    finally:
        d.quit()


def test_a_name_is_one_text(page, api, source):
    name = "Great films, part 1 - Big Bunny7.mp4"
    api.add({"url": big(source, name)}, paused=True)
    api.add({"url": big(source, "other.bin")}, paused=True)
    page.open()
    row = page.row(name)
    # The end that stays when a name is cropped begins in the middle of this word.
    assert page.js("return window.find('Bunny7', true, false, true)"), "the browser's search finds it"
    assert row.find_element(By.CSS_SELECTOR, ".full").text == name
    tree = page.d.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    texts = [node.get("name", {}).get("value", "") for node in tree if node.get("role", {}).get("value") == "StaticText"]
    assert name in texts
    assert page.js("const c = arguments[0].querySelector('.crop'), f = c.parentElement; return c.getBoundingClientRect().bottom <= f.getBoundingClientRect().top", row), "a name that fits is not cropped"


def test_everything_by_keyboard(page, api, source):
    page.open()
    page.keys("n")
    until(lambda: page.all("dialog.add"), "dialog")
    page.keys(big(source, "keys.bin"), Keys.ENTER, big(source, "more.bin"))
    page.chord(Keys.CONTROL, Keys.ENTER)
    until(lambda: len(page.names()) == 2, "added")
    for _ in range(30):
        page.keys(Keys.TAB)
        if page.js("return document.activeElement.id") == "grid":
            break
    assert page.js("return document.activeElement.id") == "grid"
    page.keys(Keys.END)
    until(lambda: page.js("return document.querySelector('.row.active')?.id === document.getElementById('grid').getAttribute('aria-activedescendant')"), "active row")
    time.sleep(0.1)
    active = page.js("return document.querySelector('.row.active .name').title")
    page.keys("p")
    page.until_state(active, "paused")
    page.keys("r")
    page.until_state(active, "transferring")
    page.keys(Keys.ARROW_RIGHT, Keys.ENTER)
    page.until_state(active, "paused")
    page.keys(Keys.ARROW_LEFT, Keys.ENTER)
    until(lambda: page.find("#detail").is_displayed() and page.js("return document.activeElement.id") == "detail", "panel has the focus")
    page.keys(Keys.ESCAPE)
    until(lambda: page.js("return document.activeElement.id") == "grid", "focus returns")
    page.chord(Keys.SHIFT, Keys.F10)
    until(lambda: page.all(".menu"), "menu")
    page.axe("menu")
    page.keys(Keys.ARROW_DOWN, Keys.ESCAPE)
    until(lambda: not page.all(".menu") and page.js("return document.activeElement.id") == "grid", "menu closed")
    page.keys("?")
    until(lambda: page.all("dialog.keys"), "keys")
    page.axe("keys")
    page.shot("keys")
    page.keys(Keys.ESCAPE)
    until(lambda: not page.all("dialog"), "closed")
    page.chord(Keys.CONTROL, "a")
    page.keys(Keys.DELETE)
    until(lambda: page.find("#empty").is_displayed(), "hidden")
    until(lambda: api.rows() == [], "removed")


NASTY = ["<img src=x onerror=window.pwned=1>.bin", "<script>window.pwned=1</script>", "\u202egnp.exe", "a\u2066b\u2069.txt", "n" * 240 + ".iso", "\"><svg onload=window.pwned=1>.zip", "&lt;b&gt;.txt", "名前" * 40 + ".tar.xz", "مرحبا بالعالم ملف طويل جدا.zip"]


def test_names_that_are_markup_or_reorder_text_are_harmless(page, api, source):
    for at, name in enumerate(NASTY):
        api("POST", "downloads", {"items": [{"url": big(source, "n%d" % at), "name": name}], "paused": True}, ok=False)
    count = len(api.rows())
    assert count >= 5
    page.open()
    until(lambda: len(page.names()) == count, "rows")
    assert page.js("return document.querySelectorAll('.row img, .row script, .row svg[onload]').length") == 0
    heights = set(page.js("return [...document.querySelectorAll('.row')].map(r => r.offsetHeight)"))
    assert len(heights) == 1
    text = page.js("return document.body.innerText + [...document.querySelectorAll('[title]')].map(e => e.title).join()")
    assert not re.search("[\u202e\u2066\u2069]", text)
    assert page.js("return document.documentElement.scrollWidth <= innerWidth")
    page.shot("names")
    page.focus()
    page.keys(Keys.HOME)
    for _ in range(count):
        page.keys(Keys.ENTER)
        time.sleep(0.15)
        page.focus()
        page.keys(Keys.ARROW_DOWN)
    assert page.js("return window.pwned") is None
    page.axe("names")


# What was pasted, and the path that the source is to see.
ODD = [("it's`odd`.bin?size=100", "/it's%60odd%60.bin?size=100"), ("文件（1）!?size=100", "/%E6%96%87%E4%BB%B6%EF%BC%881%EF%BC%89!?size=100"),
       ("q.bin?size=100&a='b'!", "/q.bin?size=100&a=%27b%27!")]


@pytest.mark.parametrize("width,height", [(320, 568), (390, 844)])
@pytest.mark.parametrize("way", ["touch", "keys"])
def test_adds_downloads_on_a_phone(page, api, source, width, height, way):
    Source.asked.clear()
    page.size(width, height, touch=True)
    page.open()
    if way == "touch":
        touch(page, *centre(page, page.find("#open-add")))
    else:
        page.keys("n")
    until(lambda: page.all("dialog.add"), "dialog")
    page.settle()
    box = page.js("const r=document.querySelector('dialog.add').getBoundingClientRect(); return [r.x, r.width, r.bottom]")
    assert box == [0, width, height], box
    links = [source + link for link, _ in ODD]
    page.find("#add-links").send_keys("\n".join(links))
    until(lambda: page.find("dialog.add .primary").text == "Add 3", "three links")
    if way == "touch":
        touch(page, *centre(page, page.find(".add-links-foot button")))
        until(lambda: len(page.all(".chooser tbody tr")) == 3, "looked at")
        assert page.js("return document.querySelector('.chooser').offsetHeight") > 100
        page.axe("phone adding")
    assert page.js("const b=document.querySelector('dialog.add .dialog-body'); return b.scrollWidth <= b.clientWidth")
    page.shot("phone-add-%d-%s" % (width, way))
    if way == "touch":
        touch(page, *centre(page, page.find("dialog.add .dialog-foot .primary")))
    else:
        page.chord(Keys.CONTROL, Keys.ENTER)
    until(lambda: not page.all("dialog"), "closed")
    until(lambda: len(page.names()) == 3, "rows")
    until(lambda: all(row["state"] == "completed" for row in api.rows()), "completed")
    assert set(Source.asked) == {path for _, path in ODD}
