"""Sets of files: what a source has before it is added, and how a set ended."""
import hashlib, json

import pytest
from daemon import Daemon
from rig import Client, Source, until
from selenium.webdriver.common.keys import Keys

COMMIT = "0123456789abcdef0123456789abcdef01234567"
FILES = {"config.json": b'{"a": 1}', "README.md": b"# A model\n", "weights/model.bin": b"w" * 70_000}


def git_name(data):
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


@pytest.fixture
def hub_daemon(source):
    """A daemon whose hub is the source of the tests, with one model; `../evil` in it is refused."""
    entries = [{"type": "file", "path": name, "size": len(data), "oid": git_name(data)} for name, data in FILES.items()]
    entries.append({"type": "file", "path": "../evil", "size": 1, "oid": git_name(b"x")})
    Source.documents.update({
        "/api/models/org/model/revision/main": (json.dumps({"sha": COMMIT}).encode(), "application/json"),
        "/api/models/org/model/tree/" + COMMIT: (json.dumps(entries).encode(), "application/json"),
        **{"/org/model/resolve/%s/%s" % (COMMIT, name): (data, "application/octet-stream") for name, data in FILES.items()},
    })
    daemon = Daemon(HF_ENDPOINT=source.rstrip("/"), HF_TOKEN="")
    yield daemon
    daemon.close()
    Source.documents.clear()


@pytest.fixture
def list_of_digests(source):
    """The URL of a list of two files."""
    lines = "".join("%s  %s\n" % (hashlib.sha256(data).hexdigest(), name) for name, data in list(FILES.items())[:2])
    Source.documents["/release-1/SHA256SUMS"] = (lines.encode(), "text/plain")
    Source.documents.update({"/release-1/" + name: (FILES[name], "application/octet-stream") for name in list(FILES)[:2]})
    yield source + "release-1/SHA256SUMS"
    Source.documents.clear()


def opened(page, text):
    page.open()
    page.keys("n")
    until(lambda: page.all("dialog.add"), "dialog")
    page.find("#add-links").send_keys(text)


@pytest.mark.parametrize("width", [1280, 390])
def test_a_model_is_shown_before_it_is_added_and_its_end_is_told(page, hub_daemon, width):
    api = Client(hub_daemon.base, hub_daemon.token)
    page.base, page.token = hub_daemon.base, hub_daemon.token
    page.size(width, 800, touch=width < 600)
    before = len(Source.asked)
    opened(page, "hf://org/model")
    assert page.find(".add-refused").get_attribute("textContent") == ""
    until(lambda: len(page.all(".set-files tbody tr")) == 3, "files")
    summary = page.find(".set-choice .chooser-summary").text
    assert "3 files, 70.0 kB." in summary and "Each has a digest of its publisher." in summary and "1 name refused:" in summary
    assert "../evil" in page.find(".set-choice .add-refused").text
    assert not page.find("#add-priority").is_displayed() and not page.find("#add-as-set").is_displayed()
    assert page.js("return document.querySelector('dialog').scrollWidth <= innerWidth")
    page.axe("preview of a set at %d" % width)
    assert [path for path in Source.asked[before:] if "/resolve/" in path] == []
    # A pattern chooses, and `!` leaves out.
    page.find("#add-select").send_keys("*.json *.md !README.md")
    until(lambda: [cell.text for cell in page.all(".set-files tbody .chooser-name")] == ["config.json"], "pattern")
    page.find("#add-select").clear()
    page.find("#add-select").send_keys("weights/ *.json")
    until(lambda: len(page.all(".set-files tbody tr")) == 2, "two patterns")
    assert page.find("dialog .primary").text == "Add set"
    page.find("#add-links").send_keys(Keys.CONTROL + Keys.ENTER)
    until(lambda: not page.all("dialog"), "added")
    until(lambda: api("GET", "sets")["items"][0]["state"] == "whole", "whole")
    until(lambda: "model: Whole, 2 files proved" in page.find("#toasts").text, "told")
    assert (hub_daemon.folder / "downloads/model/weights/model.bin").read_bytes() == FILES["weights/model.bin"]
    # What only screen readers hear does not widen the page.
    assert page.js("return document.documentElement.scrollWidth <= innerWidth && innerWidth === arguments[0]", width)
    page.list("model")
    until(lambda: page.find("#list-set").get_attribute("textContent") == "Whole, 2 files proved", "heading")
    assert page.js("return document.querySelector('.rail-groups .rail-set').checkVisibility()")
    page.axe("whole set at %d" % width)


def test_a_list_of_digests_is_added_as_a_set_or_as_a_file(page, api, daemon, list_of_digests):
    opened(page, list_of_digests)
    until(lambda: page.find("#add-as-set").is_displayed() and len(page.all(".set-files tbody tr")) == 2, "files")
    page.find("#add-as-set").click()
    until(lambda: page.find("dialog .primary").text == "Add 1", "a file")
    assert not page.all(".set-files tbody tr") or not page.find(".set-files").is_displayed()
    page.find("#add-as-set").click()
    until(lambda: page.find("dialog .primary").text == "Add set" and page.find("dialog .primary").is_enabled(), "a set again")
    page.find("dialog .primary").click()
    until(lambda: not page.all("dialog"), "added")
    until(lambda: api("GET", "sets")["items"][0]["state"] == "whole", "whole")
    assert (daemon.folder / "downloads/release-1/config.json").read_bytes() == FILES["config.json"]
    api("DELETE", "sets/" + api("GET", "sets")["items"][0]["id"])


def test_a_set_that_cannot_be_listed_is_not_added(page, hub_daemon):
    page.base, page.token = hub_daemon.base, hub_daemon.token
    page.allowed += [r"sets/preview - Failed to load resource"]
    opened(page, "hf://org/model")
    until(lambda: len(page.all(".set-files tbody tr")) == 3, "files")
    page.find("#add-select").send_keys("*.iso")
    until(lambda: "No file of hf://org/model" in page.find(".set-choice .chooser-summary").text, "sentence")
    assert not page.find("dialog .primary").is_enabled()
    page.find("#add-links").clear()
    page.find("#add-links").send_keys("hf://org/model\nhttps://a.example/x.zip")
    until(lambda: not page.find(".set-choice").is_displayed(), "links")
    assert page.find(".add-refused").text == "A set is added by itself and stays in the box until then."
    assert page.find("dialog .primary").text == "Add 1"
