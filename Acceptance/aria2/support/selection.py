"""Pytest plugin that selects aria2p's tests that start aria2c without BitTorrent, and counts the outcomes.

HAUL_SELECTION names the file for the outcome, as JSON.
"""

import inspect
import json
import os

import pytest

BITTORRENT = ("MAGNET", "TORRENT", "magnet", "torrent")
INPUT_FILES_OF_MAGNETS = ("INPUT_FILES",)
outcome = {"passed": [], "failed": {}, "expected to fail": {}, "skipped": {}, "reruns": {}, "left out": []}


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    kept = []
    for item in items:
        if "port" not in item.fixturenames:  # the fixture `server` uses `port` too
            continue
        source = inspect.getsource(item.function)
        if any(word in source for word in (*BITTORRENT, *INPUT_FILES_OF_MAGNETS)):
            outcome["left out"].append(item.nodeid)
        else:
            kept.append(item)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept


def pytest_runtest_logreport(report):
    name = report.nodeid.removeprefix("tests/")
    if report.outcome == "rerun":
        outcome["reruns"][name] = outcome["reruns"].get(name, 0) + 1
    elif hasattr(report, "wasxfail"):
        outcome["expected to fail"][name] = report.wasxfail
    elif report.failed:
        outcome["failed"][name] = str(report.longrepr).splitlines()[-1]
    elif report.skipped:
        outcome["skipped"][name] = report.longrepr[2]
    elif report.when == "call":
        outcome["passed"].append(name)


def pytest_sessionfinish():
    with open(os.environ["HAUL_SELECTION"], "w") as file:
        json.dump(outcome, file)
