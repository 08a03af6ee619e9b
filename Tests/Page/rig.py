"""Servers, the API and the browser, for the tests of the page."""
import glob, hashlib, json, os, re, select, socket, threading, time, urllib.error, urllib.parse, urllib.request
from http.server import BaseHTTPRequestHandler

from selenium import webdriver
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

SHOTS = os.environ.get("HAUL_PAGE_SHOTS")
AXE = os.environ.get("HAUL_PAGE_AXE", "")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


# MARK: Servers

class Source(BaseHTTPRequestHandler):
    """Serves /NAME?size=BYTES&rate=BYTES_PER_SECOND&fail=STATUS&hold=BYTES with ranges; nothing beyond `hold` before the release."""
    protocol_version = "HTTP/1.1"
    released = threading.Event()
    # The paths of all requests.
    asked = []
    # Playlists by their paths.
    playlists = {}
    # Whole answers by their paths: bytes and media type.
    documents = {}

    def log_message(self, *a):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        self.asked.append(self.path)
        u = urllib.parse.urlsplit(self.path)
        q = dict(urllib.parse.parse_qsl(u.query))
        if u.path in self.playlists:
            return self.send_whole(self.playlists[u.path].encode(), "application/vnd.apple.mpegurl")
        if u.path in self.documents:
            return self.send_whole(*self.documents[u.path])
        if "fail" in q:
            self.send_response(int(q["fail"]))
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        size, rate = int(q.get("size", 100000)), float(q.get("rate", 1e9))
        first, last, status = 0, size - 1, 200
        m = re.match(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or "")
        if m:
            first, last, status = int(m[1]), min(size - 1, int(m[2] or size - 1)), 206
        self.send_response(status)
        self.send_header("Content-Length", str(last - first + 1))
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("ETag", '"%s"' % hashlib.md5(self.path.encode()).hexdigest())
        if status == 206:
            self.send_header("Content-Range", "bytes %d-%d/%d" % (first, last, size))
        self.send_header("Content-Type", "image/png" if u.path.endswith(".png") else "text/plain" if u.path.endswith(".txt") else "application/octet-stream")
        self.end_headers()
        if self.command == "HEAD":
            return
        sent, start, chunk = 0, time.time(), 16384
        try:
            while sent <= last - first:
                n = min(chunk, last - first + 1 - sent)
                if first + sent + n > int(q.get("hold", size)):
                    self.released.wait()
                self.wfile.write(b"line of the file\n" * (n // 17) + b"x" * (n % 17))
                sent += n
                wait = start + sent / rate - time.time()
                if wait > 0:
                    time.sleep(min(wait, 1))
        except OSError:
            pass

    def send_whole(self, body, media_type):
        self.send_response(200)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


class Proxy:
    """A TCP proxy that can be cut or muted, and that notes request lines: the network between page and daemon."""

    def __init__(self, target):
        self.target, self.cut, self.mute = target, False, False
        self.pairs, self.lines, self.streams = set(), [], 0
        self.server = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.server.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                a, _ = self.server.accept()
            except OSError:
                return
            if self.cut:
                a.close()
                continue
            b = socket.create_connection(self.target)
            self.pairs.add((a, b))
            threading.Thread(target=self.pump, args=(a, b), daemon=True).start()

    def pump(self, a, b):
        stream = False
        try:
            while True:
                ready, _, _ = select.select([a, b], [], [])
                for s in ready:
                    data = s.recv(65536)
                    if not data:
                        raise OSError
                    if self.mute and s is b:
                        continue
                    if s is a:
                        for line in re.findall(rb"(?m)^((?:GET|POST|PATCH|DELETE) \S+) HTTP", data):
                            self.lines.append(line.decode())
                            if b"/events" in line:
                                stream = True
                                self.streams += 1
                    (b if s is a else a).sendall(data)
        except (OSError, ValueError):
            pass
        finally:
            self.streams -= stream
            self.pairs.discard((a, b))
            a.close()
            b.close()

    def break_off(self):
        self.cut = True
        for pair in list(self.pairs):
            for s in pair:
                try:
                    s.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def heal(self):
        self.cut = False


class Client:
    def __init__(self, base, token):
        self.base, self.token = base, token

    def __call__(self, method, path, body=None, ok=True):
        request = urllib.request.Request(self.base + "api/v1/" + path, method=method, data=None if body is None else json.dumps(body).encode(),
                                         headers={"Authorization": "Bearer " + self.token, "Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=300) as answer:
                data = answer.read()
                return json.loads(data) if data else None
        except urllib.error.HTTPError as error:
            if ok:
                raise AssertionError("%s %s: %d %s" % (method, path, error.code, error.read()[:300]))
            return None

    def rows(self, **query):
        return self("GET", "downloads?" + urllib.parse.urlencode({"limit": 500, **query}))["items"]

    def row(self, name):
        return next((r for r in self.rows() if r["name"] == name), None)

    def add(self, *urls, **options):
        items = [u if isinstance(u, dict) else {"url": u} for u in urls]
        return self("POST", "downloads", {"items": items, **options})["items"]

    def clear(self):
        self("POST", "downloads/actions", {"action": "remove", "filter": {}, "deleteFiles": True})
        self("PATCH", "configuration", {"maxConcurrentDownloads": 4, "speedLimit": 0})
        until(lambda: self.rows() == [], "no downloads")


def until(test, what):
    # A bound for a hang: a busy machine takes longer than the test expects.
    end = time.time() + 300
    error = None
    while time.time() < end:
        try:
            value = test()
            if value:
                return value
        except (StaleElementReferenceException, NoSuchElementException, AssertionError, OSError) as e:
            error = e
        time.sleep(0.05)
    raise AssertionError("not reached: %s %s" % (what, error or ""))


# MARK: Browser

def new_browser(lang="en", width=1280, height=800, trace=None):
    o = webdriver.ChromeOptions()
    for a in ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking", "--disable-component-update",
              "--disable-sync", f"--lang={lang}", f"--window-size={width},{height}", "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"]:
        o.add_argument(a)
    o.add_experimental_option("prefs", {"intl.accept_languages": lang})
    if trace:
        # Its events are in the performance log, in parts.
        o.add_experimental_option("perfLoggingPrefs", {"traceCategories": trace})
    o.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    for path in ("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"):
        if os.path.exists(path):
            o.binary_location = path
            break
    driver = webdriver.Chrome(options=o, service=Service("/usr/bin/chromedriver"))
    driver.set_script_timeout(300)
    return driver


class Page:
    def __init__(self, driver, base, token):
        self.token = token
        self.d, self.base, self.allowed = driver, base, [r"session - Failed to load resource.*40[13]"]

    def find(self, css):
        return self.d.find_element(By.CSS_SELECTOR, css)

    def all(self, css):
        return self.d.find_elements(By.CSS_SELECTOR, css)

    def js(self, text, *args):
        return self.d.execute_script(text, *args)

    def open(self, path=""):
        self.d.get("about:blank")
        self.d.get(self.base + path)
        until(lambda: self.js("return !document.getElementById('app').hidden || !document.getElementById('signin').hidden"), "page")
        if self.all("#token"):
            self.find("#token").send_keys(self.token + Keys.ENTER)
            until(lambda: self.find("#app").is_displayed(), "signed in")
        self.ready()
        return self

    def ready(self):
        until(lambda: self.js("return !document.getElementById('empty').hidden && document.getElementById('empty').children.length > 0 || document.querySelectorAll('.row:not(.blank)').length > 0"), "list")

    def size(self, width, height, touch=False):
        self.d.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": touch})
        self.d.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": touch, "maxTouchPoints": 5 if touch else 1})

    def media(self, **features):
        self.d.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": k.replace("_", "-"), "value": v} for k, v in features.items()]})

    def keys(self, *keys):
        ActionChains(self.d).send_keys(*keys).perform()

    def chord(self, modifier, key):
        ActionChains(self.d).key_down(modifier).send_keys(key).key_up(modifier).perform()

    def names(self):
        return self.js("return [...document.querySelectorAll('.row:not(.blank)')].sort((a,b)=>a.ariaRowIndex-b.ariaRowIndex).map(r=>r.querySelector('.name').title)")

    def row(self, name):
        return until(lambda: self.js("return [...document.querySelectorAll('.row')].find(r=>r.querySelector('.name').title===arguments[0]) ?? null", name), "row " + name)

    def state(self, name):
        return self.js("return [...document.querySelectorAll('.row')].find(r=>r.querySelector('.name').title===arguments[0])?.dataset.state ?? null", name)

    def until_state(self, name, *states):
        return until(lambda: self.state(name) in states, "%s is %s" % (name, states))

    def list(self, label):
        until(lambda: [b for b in self.all(".rail-item") if b.find_element(By.CSS_SELECTOR, ".rail-name").text == label], label)[0].click()
        until(lambda: self.find("#list-name").get_attribute("textContent") == label, label)
        time.sleep(0.25)

    def focus(self):
        self.js("document.getElementById('grid').focus()")

    def shot(self, name):
        if SHOTS:
            os.makedirs(SHOTS, exist_ok=True)
            self.d.save_screenshot(os.path.join(SHOTS, name + ".png"))

    def settle(self):
        """Waits until nothing moves any more, but for what moves for ever."""
        running = "a => a.playState !== 'running' || a.effect.getComputedTiming().endTime === Infinity"
        until(lambda: self.js("return document.getAnimations().every(%s)" % running), "animations end")

    def axe(self, context=""):
        """No violation of the rules of axe-core, which PyPI has in this package."""
        # A toast that is fading in has no contrast yet.
        self.settle()
        files = glob.glob(os.path.join(AXE, "**", "axe.min.js"), recursive=True)
        assert files, "axe.min.js is missing: make test-page installs it"
        self.js(open(files[0]).read())
        result = self.d.execute_async_script(
            "const done=arguments[0]; axe.run(document, {resultTypes:['violations']})"
            ".then(done, e=>done({violations:[{id:String(e),nodes:[]}]}))"
        )
        found = ["%s: %s" % (v["id"], [(n["target"], n.get("failureSummary", "")) for n in v["nodes"]][:4]) for v in result["violations"]]
        assert not found, context + "\n" + "\n".join(found)

    def check(self):
        """No console error, no CSP violation, no request to another host."""
        bad = [e["message"] for e in self.d.get_log("browser") if e["level"] in ("SEVERE", "WARNING") and not any(re.search(p, e["message"]) for p in self.allowed)]
        assert not bad, "\n".join(bad)
        for entry in self.d.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                address = message["params"]["request"]["url"]
                assert address.startswith(("http://127.0.0.1:", "data:", "about:", "blob:")), address


def big(source, name, rate=200_000, size=40_000_000):
    return "%s%s?size=%d&rate=%d" % (source, urllib.parse.quote(name), size, rate)


def small(source, name, size=120_000):
    return "%s%s?size=%d&rate=2000000" % (source, urllib.parse.quote(name), size)
