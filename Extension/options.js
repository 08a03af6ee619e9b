// The options: the connection, what is taken over, whose cookies may be read.
import { browser, call, change, hostPattern, settings } from "./daemon.js";
import { byId, setText } from "./shared/dom.js";

const ALL = { origins: ["http://*/*", "https://*/*"] };

const say = (text, isBad) => {
    byId("answer").classList.toggle("bad", isBad);
    setText(byId("answer"), text);
};

// MARK: Connection

byId("connect").addEventListener("submit", async (event) => {
    event.preventDefault();
    const [address, key] = [new URL("/", byId("address").value), byId("key").value.trim()];
    if (!/^https?:$/.test(address.protocol)) return say("An address begins with http:// or https://.", true);
    // With the permission for its host the daemon needs no CORS. Browsers allow the question before the first wait only.
    const isAllowed = await browser.permissions.request({ origins: [hostPattern(address.href)] });
    if (!isAllowed) return say("Without the permission for that host this extension cannot reach Haul.", true);
    try {
        const { version, hostName } = await call("GET", "session", undefined, { address: address.href, key });
        await change({ address: address.href, key });
        byId("key").value = "";
        say(`Connected to Haul ${version} on ${hostName}.`, false);
    } catch (error) {
        say(error.status === 401 ? "That is not the token of this Haul." : error.message, true);
    }
    return refresh();
});

byId("forget").addEventListener("click", async () => {
    await browser.storage.local.remove(["key", "pages", "renewal"]);
    say("The token is forgotten.", false);
    await refresh();
});

// MARK: The rest

for (const id of ["takesOver", "asksForCookies"]) byId(id).addEventListener("change", ({ target }) => change({ [id]: target.checked }));
byId("leastMegabytes").addEventListener("change", ({ target }) => {
    if (target.checkValidity() && target.value !== "") change({ leastMegabytes: Number(target.value) });
});
byId("all").addEventListener("click", async () => {
    if (byId("all").dataset.granted) await browser.permissions.remove(ALL);
    else await browser.permissions.request(ALL);
    await refresh();
});

async function refresh() {
    const { address, key, takesOver, asksForCookies, leastMegabytes } = await settings();
    const isGranted = await browser.permissions.contains(ALL);
    const { origins = [] } = await browser.permissions.getAll();
    byId("address").value = address;
    byId("key").placeholder = key ? "A token is kept" : "";
    byId("forget").hidden = !key;
    Object.assign(byId("takesOver"), { checked: takesOver });
    Object.assign(byId("asksForCookies"), { checked: asksForCookies });
    byId("leastMegabytes").value = leastMegabytes;
    byId("all").dataset.granted = isGranted ? "yes" : "";
    setText(byId("all"), isGranted ? "Take back" : "Allow");
    setText(byId("granted"), isGranted ? "Allowed" : origins.length ? `Allowed: ${origins.map((pattern) => pattern.split("/")[2]).join(", ")}` : "No site is allowed");
}

await refresh();
