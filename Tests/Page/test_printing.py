"""The list on paper."""
from rig import big, until
from selenium.webdriver.common.keys import Keys

PRINTED = "window.print = () => { dispatchEvent(new Event('beforeprint')); window.paper = document.getElementById('print').textContent; window.printed = [...document.querySelectorAll('#print tbody tr')].map(r => r.cells[0].textContent); }"


def test_prints_the_whole_list(page, api, source):
    api.add(*[big(source, "paper-%03d.bin" % n) for n in range(230)], paused=True)
    page.open()
    page.js(PRINTED)
    page.focus()
    page.chord(Keys.CONTROL, "p")
    printed = until(lambda: page.js("return window.printed ?? null"), "printed")
    assert sorted(printed) == ["paper-%03d.bin" % n for n in range(230)]
    page.d.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert page.find("#print table").is_displayed() and not page.find("#app").is_displayed()
    page.shot("paper")
    page.d.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    page.js("dispatchEvent(new Event('afterprint'))")
    assert not page.all("#print table") and page.find("#app").is_displayed()
    page.find("#list-actions").click()
    until(lambda: [i for i in page.all(".menu-item") if "Print" in i.text], "menu")
