"""A daemon of the built command, a server of files, and a browser."""
import os, threading
from http.server import ThreadingHTTPServer

import pytest
from daemon import Daemon
from rig import Client, Page, Source, new_browser


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: takes more than ten seconds; run with HAUL_PAGE_SLOW=1")


def pytest_collection_modifyitems(items):
    if not os.environ.get("HAUL_PAGE_SLOW"):
        for item in items:
            if "slow" in item.keywords:
                item.add_marker(pytest.mark.skip(reason="HAUL_PAGE_SLOW is not set"))


@pytest.fixture(scope="session")
def daemon():
    daemon = Daemon()
    yield daemon
    daemon.close()


@pytest.fixture
def own_daemon():
    """For tests that kill it."""
    daemon = Daemon()
    yield daemon
    daemon.close()


@pytest.fixture(scope="session")
def source():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Source)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return "http://127.0.0.1:%d/" % server.server_port


@pytest.fixture
def api(daemon):
    client = Client(daemon.base, daemon.token)
    client.clear()
    return client


@pytest.fixture(scope="session")
def driver():
    driver = new_browser()
    yield driver
    driver.quit()


def prepare(driver, base):
    driver.get_log("browser"), driver.get_log("performance")
    driver.get(base + "icon.svg")
    driver.delete_all_cookies()
    driver.execute_cdp_cmd("Storage.clearDataForOrigin", {"origin": base.rstrip("/"), "storageTypes": "local_storage"})


@pytest.fixture
def page(driver, api, daemon, request):
    page = Page(driver, api.base, daemon.token)
    page.size(1280, 800)
    page.media(prefers_color_scheme="light")
    prepare(driver, api.base)
    yield page
    page.shot(request.node.name)
    page.check()
    driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})
    driver.get("about:blank")
