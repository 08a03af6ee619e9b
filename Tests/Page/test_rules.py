"""Settings of new downloads: folder, User-Agent, proxy, rules, folders of groups; and moving a file."""
import pytest
from rig import small, until
from selenium.webdriver.common.keys import Keys

CLEAN = {"folder": None, "userAgent": None, "proxy": None, "rules": None, "groups": None}


def setting(api, name):
    return api("GET", "configuration")["settings"][name]["value"]


@pytest.fixture(autouse=True)
def clean(api):
    api("PATCH", "configuration", CLEAN)
    yield
    api("PATCH", "configuration", CLEAN)


def open_settings(page):
    page.open()
    page.find("#open-settings").click()
    until(lambda: page.all("#set-rules"), "settings")


def fill(page, **fields):
    for name, text in fields.items():
        field = page.find("#" + name.replace("_", "-"))
        field.send_keys(Keys.CONTROL + "a")
        field.send_keys(Keys.DELETE + text)


def lines(page, name):
    return [line.text for line in page.all("#set-%s .lines-text" % name)]


@pytest.mark.parametrize("width,height", [(1280, 800), (390, 844)])
def test_rules_are_added_ordered_edited_and_removed_by_keyboard(page, api, width, height):
    page.size(width, height, touch=width < 600)
    page.allowed += [r"configuration - Failed to load resource.*403"]
    open_settings(page)
    add = page.find("#set-rules .setting-control button")
    page.js("arguments[0].focus()", add)
    page.keys(Keys.ENTER)
    until(lambda: page.js("return document.activeElement.id") == "rule-hosts", "form")
    page.keys(Keys.ENTER)
    until(lambda: "Name a host" in page.find("form .field-error").text, "a rule needs a condition")
    fill(page, rule_extensions="PDF, .epub", rule_group="Papers")
    page.axe("rule %d" % width)
    page.shot("rule-%d" % width)
    assert page.js("return document.documentElement.scrollWidth <= innerWidth")
    page.keys(Keys.ENTER)
    until(lambda: setting(api, "rules") == [{"extensions": ["pdf", "epub"], "group": "Papers"}], "first rule")
    until(lambda: len(page.all("dialog")) == 1, "form closed")
    page.js("arguments[0].focus()", add)
    page.keys(Keys.ENTER)
    until(lambda: page.all("#rule-hosts"), "form")
    fill(page, rule_hosts="example.org", rule_folder="site", rule_connections="3")
    page.keys(Keys.ENTER)
    second = {"hosts": ["example.org"], "folder": "site", "connections": 3}
    until(lambda: setting(api, "rules")[1:] == [second], "second rule")
    until(lambda: len(page.all("#set-rules li")) == 2, "two lines")
    page.axe("rules %d" % width)
    page.shot("rules-%d" % width)
    assert page.js("return document.documentElement.scrollWidth <= innerWidth")
    page.js("document.querySelectorAll('#set-rules [data-action=up]')[1].focus()")
    page.keys(Keys.ENTER)
    until(lambda: setting(api, "rules")[0] == second, "moved")
    until(lambda: "example.org" in lines(page, "rules")[0], "shown first")
    # The button of the moved rule keeps the focus. At the top it is the one that leads down.
    until(lambda: page.js("return document.activeElement === document.querySelector('#set-rules [data-action=down]')"), "focus")
    page.keys(Keys.ENTER)
    until(lambda: setting(api, "rules")[1] == second, "moved back")
    until(lambda: "example.org" in lines(page, "rules")[1], "shown last")
    page.js("document.querySelectorAll('#set-rules [data-action=edit]')[1].focus()")
    page.keys(Keys.ENTER)
    until(lambda: page.all("#rule-hosts") and page.find("#rule-hosts").get_attribute("value") == "example.org", "the rule in the form")
    fill(page, rule_folder="/etc")
    page.keys(Keys.ENTER)
    until(lambda: page.find("form .field-error").is_displayed(), "refused")
    assert setting(api, "rules")[1] == second
    fill(page, rule_folder="other")
    page.keys(Keys.ENTER)
    until(lambda: setting(api, "rules")[1]["folder"] == "other", "edited")
    until(lambda: len(page.all("dialog")) == 1, "form closed")
    for left in (1, 0):
        page.js("document.querySelector('#set-rules [data-action=remove]').focus()")
        page.keys(Keys.ENTER)
        until(lambda: len(setting(api, "rules")) == left and len(page.all("#set-rules li")) == left, "removed")
    until(lambda: page.js("return document.activeElement === document.querySelector('#set-rules .setting-control button')"), "focus")


def test_a_rule_chooses_the_folder_of_a_link(page, api, source):
    api("PATCH", "configuration", {"rules": [{"extensions": ["bin"], "folder": "binaries", "group": "Binaries"}]})
    page.open()
    page.find("#open-add").click()
    until(lambda: "Rules may choose" in page.find("dialog.add").text, "the dialog says so")
    page.find("#add-links").send_keys(small(source, "ruled.bin"))
    page.chord(Keys.CONTROL, Keys.ENTER)
    until(lambda: api.row("ruled.bin"), "added")
    until(lambda: api.row("ruled.bin").get("path", "").endswith("/binaries/ruled.bin"), "its folder")
    assert api.row("ruled.bin")["group"] == "Binaries"


def test_a_group_has_a_folder(page, api):
    open_settings(page)
    page.find("#set-groups .setting-control button").click()
    until(lambda: page.all("#group-name"), "form")
    fill(page, group_name="Films", group_folder="films")
    page.keys(Keys.ENTER)
    until(lambda: setting(api, "groups") == {"Films": "films"}, "saved")
    until(lambda: lines(page, "groups") == ["Films → films"], "shown")


def test_the_password_of_a_proxy_is_never_shown(page, api):
    page.allowed += [r"configuration - Failed to load resource.*422"]
    open_settings(page)
    fill(page, set_proxy="http://name:secret@127.0.0.1:9", set_userAgent="page/1")
    page.keys(Keys.TAB)
    until(lambda: setting(api, "proxy") == "http://***@127.0.0.1:9", "saved")
    until(lambda: setting(api, "userAgent") == "page/1", "saved")
    until(lambda: page.find("#set-proxy").get_attribute("value") == "http://***@127.0.0.1:9", "masked")
    page.find("#set-proxy").send_keys(Keys.END + "9" + Keys.TAB)
    until(lambda: any(p.is_displayed() for p in page.all(".settings .field-error")), "the hidden password is asked for")
    assert setting(api, "proxy") == "http://***@127.0.0.1:9"
    fill(page, set_proxy="")
    page.keys(Keys.TAB)
    until(lambda: setting(api, "proxy") == "", "taken back")


def test_the_default_folder_is_chosen(page, api):
    api("POST", "folders", {"path": "default"})
    open_settings(page)
    page.find("#set-folder").click()
    until(lambda: page.all("dialog.folders .folder"), "folders")
    next(f for f in page.all("dialog.folders .folder") if f.text == "default").click()
    until(lambda: page.find(".folder-path").text.endswith("/default"), "the folder")
    page.find("dialog.folders .button.primary").click()
    until(lambda: setting(api, "folder").endswith("/default"), "saved")
    until(lambda: page.find("#set-folder").text.endswith("/default"), "shown")


def test_a_finished_file_is_moved(page, api, source):
    api("POST", "folders", {"path": "elsewhere"})
    api.add(small(source, "moved.txt", 3000))
    page.open()
    page.until_state("moved.txt", "completed")
    page.focus()
    page.keys(Keys.HOME, Keys.ENTER)
    move = lambda: [b for b in page.all(".facts .link") if b.text == "Move…"]
    until(move, "button")
    move()[0].click()
    until(lambda: any(f.text == "elsewhere" for f in page.all("dialog.folders .folder")), "folders")
    next(f for f in page.all("dialog.folders .folder") if f.text == "elsewhere").click()
    until(lambda: page.find(".folder-path").text.endswith("/elsewhere"), "the folder")
    page.find("dialog.folders .button.primary").click()
    until(lambda: api.row("moved.txt")["path"].endswith("/elsewhere/moved.txt"), "moved")
    until(lambda: "/elsewhere/moved.txt" in page.find(".facts").text, "shown")
