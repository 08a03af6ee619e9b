"""Chromium with the unpacked extension."""
import base64, json, os, pathlib, shutil, tempfile, urllib.parse

import devtools
from rig import until
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

FOLDER = pathlib.Path(__file__).parent.parent.parent / "Extension"
SHOTS = os.environ.get("HAUL_PAGE_SHOTS")


class Extension:
    """A browser with the extension. No test can press the browser's question for a host, so `hosts` are granted by a copy
    of the manifest."""

    def __init__(self, hosts):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="haul-extension-"))
        self.downloads = self.folder / "downloads"
        shutil.copytree(FOLDER, self.folder / "extension")
        path = self.folder / "extension" / "manifest.json"
        manifest = json.loads(path.read_text())
        manifest["host_permissions"] = hosts
        path.write_text(json.dumps(manifest))
        options = webdriver.ChromeOptions()
        for argument in [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
            "--disable-component-update", "--disable-sync", "--lang=en", "--window-size=1280,800", "--load-extension=%s" % (self.folder / "extension"),
            "--disable-features=DisableLoadExtensionCommandLineSwitch", "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE localhost",
        ]:
            options.add_argument(argument)
        options.add_experimental_option("excludeSwitches", ["disable-extensions"])
        options.add_experimental_option("prefs", {"download.default_directory": str(self.downloads), "download.prompt_for_download": False})
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        options.binary_location = "/usr/bin/chromium"
        self.d = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
        self.d.set_script_timeout(300)
        self.address = self.d.capabilities["goog:chromeOptions"]["debuggerAddress"]
        self.worker = devtools.Target(until(lambda: self.target("/background.js"), "service worker")["webSocketDebuggerUrl"])
        self.base = until(lambda: self.worker.run("chrome.runtime.getURL('')"), "address of the extension")
        # The options open by themselves after the installation.
        until(lambda: self.target("/options.html"), "options")

    def target(self, end):
        return next((t for t in devtools.targets(self.address) if t["url"].endswith(end)), None)

    def close(self):
        self.worker.close()
        self.d.quit()
        shutil.rmtree(self.folder, ignore_errors=True)

    def reset(self, **settings):
        """One empty tab, no download, and these settings."""
        for handle in self.d.window_handles[1:]:
            self.d.switch_to.window(handle)
            self.d.close()
        self.d.switch_to.window(self.d.window_handles[0])
        self.d.get("about:blank")
        self.d.execute_cdp_cmd("Network.clearBrowserCookies", {})
        self.d.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "light"}]})
        # chromedriver lists no tab that the extension opened for a page of its own.
        self.worker.run("chrome.tabs.query({url: chrome.runtime.getURL('*')}).then(tabs => chrome.tabs.remove(tabs.map(tab => tab.id)))")
        self.worker.run("(async () => { await chrome.storage.local.clear(); await chrome.storage.session.clear(); await chrome.downloads.erase({}); await chrome.storage.local.set(%s); })()" % json.dumps(settings))

    def set(self, **settings):
        self.worker.run("chrome.storage.local.set(%s)" % json.dumps(settings))

    def stored(self, area="local"):
        return self.worker.run("chrome.storage.%s.get()" % area)

    def downloads_of_browser(self):
        return self.worker.run("chrome.downloads.search({})")

    def page(self, site, body, title="A page", host="127.0.0.1"):
        """Opens a page with this markup."""
        self.d.get(site.replace("127.0.0.1", host) + "page?" + urllib.parse.urlencode({"title": title, "body": body}))

    def click(self, css):
        self.d.find_element(By.CSS_SELECTOR, css).click()

    def menu(self, item, **info):
        """Presses an item of the context menu, with the facts that the browser would give."""
        self.worker.run("(async () => { const [tab] = await chrome.tabs.query({active: true, lastFocusedWindow: true}); chrome.contextMenus.onClicked.dispatch({menuItemId: %s, pageUrl: tab.url, ...%s}, tab); })()" % (json.dumps(item), json.dumps(info)))

    def popup(self):
        if not self.target("/popup.html"):
            self.worker.run("chrome.action.openPopup()")
        popup = devtools.Target(until(lambda: self.target("/popup.html"), "popup")["webSocketDebuggerUrl"])
        until(lambda: popup.run("document.readyState") == "complete", "popup is loaded")
        return popup

    def shot(self, name, target=None):
        if not SHOTS:
            return
        os.makedirs(SHOTS, exist_ok=True)
        path = os.path.join(SHOTS, "extension-%s.png" % name)
        if target:
            pathlib.Path(path).write_bytes(base64.b64decode(target.call("Page.captureScreenshot")["data"]))
        else:
            self.d.save_screenshot(path)
