"""The languages that the page has."""
import pytest
from rig import big, small, until
from selenium.webdriver.common.keys import Keys

TEXTS = """const done = arguments[0];
import('./app/text.js').then(async ({languages}) => {
    const tables = {};
    for (const {key, load} of languages) tables[key] = Object.fromEntries(Object.entries(await load()).map(([name, text]) => [name, typeof text]));
    done(tables);
}).catch((error) => done(String(error)));"""


def test_all_languages_have_the_same_texts(page):
    page.open()
    tables = page.d.execute_async_script(TEXTS)
    english = tables.pop("en")
    assert len(tables) >= 5
    # The daemon's own texts are English, so the others have more: those by the codes of errors.
    coded = {name for table in tables.values() for name in table if name.startswith(("error.", "remedy.", "store."))}
    assert len(coded) > 50
    for language, table in tables.items():
        assert set(table) == set(english) | coded, language
        assert {name for name in english if table[name] != english[name]} == set(), language


LANGUAGES = "const done = arguments[0]; import('./app/text.js').then(({languages}) => done(languages.map(({key, tag}) => [key, tag])));"
CUT = """return [...document.querySelectorAll('button, label, h1, h2, h3, th, dt, .total, .segmented span, .setting-text')]
    .filter(e => e.checkVisibility() && !e.classList.contains('unseen') && !e.closest('.row') && getComputedStyle(e).display !== 'inline'
        && e.getBoundingClientRect().width > 2 && e.scrollWidth > e.clientWidth + 1).map(e => e.textContent)"""


@pytest.mark.parametrize("width,height", [(320, 640), (768, 1024), (1280, 800)])
def test_every_language_fits(page, api, source, width, height):
    api.add(big(source, "running.bin"), source + "none.bin?fail=403", small(source, "done.txt"))
    api.add(*[big(source, "fit%d.bin" % n) for n in range(2)], paused=True)
    page.size(width, height, touch=width < 600)
    page.open()
    for language, tag in page.d.execute_async_script(LANGUAGES):
        page.js("localStorage.setItem('haul.language', arguments[0])", language)
        page.open()
        assert page.js("return document.documentElement.lang") == tag
        page.until_state("none.bin", "failed")
        page.axe("%s %d" % (language, width))
        page.focus()
        page.chord(Keys.CONTROL, "a")
        until(lambda: page.find("#bulk").is_displayed(), "bar")
        fits = lambda where: [page.js("return document.documentElement.scrollWidth <= innerWidth"), page.js(CUT)] == [True, []] or page.js(CUT)
        assert fits("bulk") is True, (language, "bulk", fits("bulk"))
        page.keys(Keys.ESCAPE)
        page.js("document.getElementById('open-settings').click()")
        until(lambda: page.all("#set-timetable"), "settings")
        page.axe("%s %d settings" % (language, width))
        assert fits("settings") is True, (language, "settings", fits("settings"))
        page.shot("settings-%s-%d" % (language, width))
        page.keys(Keys.ESCAPE)
        page.js("document.getElementById('open-add').click()")
        until(lambda: page.all("dialog.add"), "dialog")
        page.js("document.querySelector('.add .advanced').open = true")
        page.axe("%s %d add" % (language, width))
        assert fits("add") is True, (language, "add", fits("add"))
        page.shot("add-%s-%d" % (language, width))
        page.keys(Keys.ESCAPE)
