"""Back: it closes what is open, and never loses what was typed."""
import pytest
from rig import big, until
from selenium.webdriver.common.keys import Keys


def is_open(page, css):
    return lambda: bool(page.all(css))


def is_shut(page, css):
    return lambda: not page.all(css)


def open_add(page):
    page.find("#open-add").click()
    until(is_open(page, "dialog.add"), "dialog")


def open_menu_of_panel(page, api, url):
    api.add(url)
    page.size(390, 844, touch=True)
    page.open()
    until(lambda: page.names(), "row")
    page.focus()
    page.keys(Keys.HOME, Keys.ENTER)
    until(is_open(page, ".detail-head"), "panel")
    page.find(".detail-actions .square").click()
    until(is_open(page, ".menu"), "menu")


@pytest.mark.parametrize("width", [390, 1280])
def test_closes_dialogs_from_inside_to_outside_and_keeps_the_typed_links(page, source, width):
    page.size(width, 844, touch=width < 600)
    page.open()
    before = page.js("return history.length")
    open_add(page)
    page.find("#add-links").send_keys(big(source, "typed.bin"))
    page.find("#add-folder").click()
    until(is_open(page, "dialog.folders"), "folders")
    page.d.back()
    until(is_shut(page, "dialog.folders"), "the folders are closed")
    assert page.all("dialog.add"), "only the innermost dialog closes"
    page.d.back()
    until(is_shut(page, "dialog.add"), "the dialog is closed")
    open_add(page)
    assert "typed.bin" in page.find("#add-links").get_attribute("value")
    page.find(".add .dialog-foot .button:not(.primary)").click()
    until(is_shut(page, "dialog.add"), "cancelled")
    open_add(page)
    assert page.find("#add-links").get_attribute("value") == "", "Cancel keeps nothing"
    page.keys(Keys.ESCAPE)
    until(is_shut(page, "dialog.add"), "closed")
    until(lambda: page.js("return (history.state?.depth ?? 0)") == 0, "entries of closed dialogs are left")
    assert page.js("return history.length") <= before + 2, "no entries pile up"


def test_a_closed_dialog_leaves_the_list_that_was_chosen_from_it(page, api, source):
    """The toast of a dialog that has just closed may show another list."""
    page.open("#list=completed")
    open_add(page)
    page.find("#add-links").send_keys(big(source, "shown.bin"))
    page.find("#add-links").send_keys(Keys.CONTROL + Keys.ENTER)
    until(lambda: page.all(".toast .link"), "toast")
    page.find(".toast .link").click()
    until(lambda: "shown.bin" in page.names(), "row")
    assert "list=" not in page.js("return location.hash")
    page.d.refresh()
    page.ready()
    until(lambda: "shown.bin" in page.names(), "the same list after a reload")


def test_closes_a_menu_then_the_panel_on_a_phone(page, api, source):
    open_menu_of_panel(page, api, big(source, "panel.bin"))
    page.d.back()
    until(is_shut(page, ".menu"), "the menu is closed")
    assert page.all(".detail-head"), "only the menu closes"
    page.d.back()
    until(lambda: not page.find("#detail").is_displayed(), "the panel is closed")
    assert page.names() == ["panel.bin"]


def test_a_choice_of_a_menu_works_on_a_phone(page, api, source):
    open_menu_of_panel(page, api, big(source, "menu.bin"))
    page.find(".menu-item.danger").click()
    until(is_open(page, "dialog"), "dialog")
    page.d.back()
    until(is_shut(page, "dialog"), "closed")
    assert page.find("#detail").is_displayed()
    assert api.row("menu.bin"), "Back says no"


def test_a_dialog_that_another_one_opens_stays_open(page):
    page.open()
    page.find("#open-settings").click()
    until(is_open(page, "dialog.settings"), "settings")
    page.find("dialog.settings .dialog-foot .button").click()
    until(is_open(page, "dialog.keys"), "keys")
    until(lambda: page.js("return history.state?.depth") == 1, "one entry")
    assert page.all("dialog.keys")
    page.d.back()
    until(is_shut(page, "dialog.keys"), "closed")


def test_a_dialog_opened_before_the_browser_reports_another_one_closed_stays_open(page):
    """With Escape, the browser closes the dialog at once and tells the page later."""
    page.open()
    page.find("#open-settings").click()
    until(is_open(page, "dialog.settings"), "settings")
    page.js("""HTMLDialogElement.prototype.close.call(document.querySelector("dialog.settings"))
        document.getElementById("open-add").click()""")
    until(is_shut(page, "dialog.settings"), "settings are closed")
    until(lambda: page.js("return history.state?.depth") == 1, "one entry")
    assert page.all("dialog.add")
    page.d.back()
    until(is_shut(page, "dialog.add"), "closed")


def test_another_language_keeps_the_settings_open(page):
    page.open()
    page.find("#open-settings").click()
    until(is_open(page, "dialog.settings"), "settings")
    page.find("#set-language option[value=de]").click()
    until(lambda: page.js("return document.documentElement.lang") == "de", "German")
    until(is_open(page, "dialog.settings"), "settings again")
    page.d.back()
    until(is_shut(page, "dialog.settings"), "closed")
    page.d.refresh()
    page.ready()
    assert not page.all("dialog.settings"), "only once"
