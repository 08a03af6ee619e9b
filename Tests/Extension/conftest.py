"""The extension in Chromium, a daemon of the built command, and a web site."""
import os, pathlib, sys, threading
from http.server import ThreadingHTTPServer

import pytest

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).parent.parent / "Page")]
from daemon import Daemon
from extension import Extension
from rig import Client
from site_of_tests import Site


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


@pytest.fixture
def api(daemon):
    client = Client(daemon.base, daemon.token)
    client.clear()
    return client


class Server(ThreadingHTTPServer):
    def handle_error(self, request, address):
        """Prints nothing: clients cut connections, as the tests want them to."""


@pytest.fixture(scope="session")
def server():
    server = Server(("127.0.0.1", 0), Site)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


@pytest.fixture
def site(server):
    """The site, with the requests of one test."""
    Site.seen.clear()
    Site.tokens.clear()
    Site.cut.clear()
    return "http://127.0.0.1:%d/" % server.server_port


@pytest.fixture(scope="session")
def browser():
    browser = Extension(["http://*/*", "https://*/*"])
    yield browser
    browser.close()


@pytest.fixture
def extension(browser, daemon, api, request):
    """The extension with the permission for all hosts, connected to the daemon."""
    browser.reset(address=daemon.base, key=daemon.token)
    yield browser
    browser.shot(request.node.name)
