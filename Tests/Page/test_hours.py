"""The hours in which downloads may run."""
import pytest
from rig import until
from selenium.webdriver.common.keys import Keys


def setting(api, name):
    return api("GET", "configuration")["settings"][name]["value"]


def test_the_timetable_has_two_clocks_and_days(page, api):
    api("PATCH", "configuration", {"timetable": ""})
    page.open()
    page.find("#open-settings").click()
    until(lambda: page.all("#set-timetable"), "settings")
    assert not page.all(".hours")[0].is_displayed()
    page.find("#set-timetable").send_keys("At certain hours")
    until(lambda: page.find(".hours").is_displayed(), "clocks")
    assert setting(api, "timetable") == "", "nothing is saved before both clocks are set"
    clock = "const f = document.getElementById(arguments[0]); f.value = arguments[1]; f.dispatchEvent(new Event('change'))"
    page.js(clock, "set-timetable-from", "22:00")
    page.js(clock, "set-timetable-to", "06:30")
    until(lambda: setting(api, "timetable") == "22:00,unlimited 06:30,off", "every day")
    assert "next day" in page.find(".hours").text
    page.axe("hours")
    days = page.all(".days input")
    for day in days[:5]:
        page.js("arguments[0].click()", day)
    until(lambda: set(setting(api, "timetable").split()) == {"Sat-22:00,unlimited", "Sun-22:00,unlimited", "Sun-06:30,off", "Mon-06:30,off"}, "two days")
    page.keys(Keys.ESCAPE)
    page.find("#open-settings").click()
    until(lambda: page.all(".hours") and page.find(".hours").is_displayed(), "the clocks again")
    assert [page.find("#set-timetable-" + end).get_attribute("value") for end in ("from", "to")] == ["22:00", "06:30"]
    assert [day.is_selected() for day in page.all(".days input")] == [False] * 5 + [True] * 2
    page.find("#set-timetable").send_keys("Always")
    until(lambda: setting(api, "timetable") == "", "always")
    page.keys(Keys.ESCAPE)
    # A limit is more than clocks can say.
    api("PATCH", "configuration", {"timetable": "08:00,512000 18:00,unlimited"})
    page.find("#open-settings").click()
    until(lambda: page.all(".setting-more .code") and page.find(".setting-more .code").is_displayed(), "text")
    assert page.find(".setting-more .code").get_attribute("value") == "08:00,512000 18:00,unlimited"
    api("PATCH", "configuration", {"timetable": ""})


HOURS = """const [days, from, to, done] = arguments;
import('./app/timetable.js').then(({hoursIn, timetableText}) => { const text = timetableText({days, from, to}); done([text, hoursIn(text)]); });"""


@pytest.mark.parametrize("days", ["1111111", "1111100", "0000011", "1000001", "0100000"])
@pytest.mark.parametrize("hours", [(480, 1080), (1320, 360), (0, 0), (480, 480), (0, 60)])
def test_hours_come_back_from_their_text(page, days, hours):
    page.d.get(page.base)
    chosen = [day == "1" for day in days]
    text, back = page.d.execute_async_script(HOURS, chosen, *hours)
    if all(chosen) and hours[0] == hours[1]:
        assert (text, back) == ("", None)
    else:
        assert back == {"days": chosen, "from": hours[0], "to": hours[1]}, text
