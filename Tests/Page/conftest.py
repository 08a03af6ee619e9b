"""A daemon of the built command, a server of files, and a browser. HAUL_BINARY names the command."""
import os, pathlib, shutil, signal, subprocess, tempfile, threading
from http.server import ThreadingHTTPServer

import pytest
from rig import Client, Page, Source, new_browser

BINARY = os.environ.get("HAUL_BINARY", ".build/debug/haul")


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: takes more than ten seconds; run with HAUL_PAGE_SLOW=1")


def pytest_collection_modifyitems(items):
    if not os.environ.get("HAUL_PAGE_SLOW"):
        for item in items:
            if "slow" in item.keywords:
                item.add_marker(pytest.mark.skip(reason="HAUL_PAGE_SLOW is not set"))


class Daemon:
    """`haul serve` with a state folder of its own, which can be killed and started again at the same address."""

    def __init__(self, port=0):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="haul-page-"))
        (self.folder / "run").mkdir()
        self.port = port
        self.start()

    def start(self):
        environment = dict(os.environ, HAUL_STATE_DIR=str(self.folder / "state"), XDG_RUNTIME_DIR=str(self.folder / "run"))
        self.process = subprocess.Popen(
            [BINARY, "serve", "--listen", "127.0.0.1:%d" % self.port, "-d", str(self.folder / "downloads")],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )
        # It listens. A link is printed to terminals only.
        line = self.process.stdout.readline()
        assert "haul open" in line, line
        self.link = subprocess.run([BINARY, "open"], env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
        self.port = int(self.link.split(":")[2].split("/")[0])
        self.base = "http://127.0.0.1:%d/" % self.port
        self.token = next(self.folder.rglob("token")).read_text().strip()
        return self

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def close(self):
        self.process.terminate()
        self.process.wait(300)
        shutil.rmtree(self.folder, ignore_errors=True)


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
