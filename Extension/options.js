// The options: the connection, what is taken over, whose cookies may be read.
import { browser, call, change, hostPattern, settings } from "./daemon.js";
import { byId, setText } from "./shared/dom.js";

const ALL = { origins: ["http://*/*", "https://*/*"] };

const say = (text, isBad) => {
    byId("answer").classList.toggle("bad", isBad);
    setText(byId("answer"), text);
};

// MARK: Connection

/// The address and the one-time code of a link, or null for a token.
function link(text) {
    if (!/^https?:/.test(text)) return null;
    const { origin, pathname, hash } = new URL(text);
    return { address: new URL(origin + pathname), code: /^#connect=([\w-]+)$/.exec(hash)?.[1] };
}

const ownName = () => `${/Firefox|Edg|OPR|Chrom/.exec(navigator.userAgent)?.[0].replace("Edg", "Edge").replace("OPR", "Opera").replace(/^Chrom$/, "Chromium") ?? "Browser"} on ${navigator.platform}`;

byId("connect").addEventListener("submit", async (event) => {
    event.preventDefault();
    const secret = byId("secret").value.trim();
    const { address, code } = link(secret) ?? { address: new URL(byId("address").value) };
    if (!/^https?:$/.test(address.protocol)) return say("An address begins with http:// or https://.", true);
    if (link(secret) && !code) return say("That link signs a page in. haul open --extension prints the one for this extension.", true);
    // With the permission for its host the daemon needs no CORS. Browsers allow the question before the first wait only.
    const isAllowed = await browser.permissions.request({ origins: [hostPattern(address.href)] });
    if (!isAllowed) return say("Without the permission for that host this extension cannot reach Haul.", true);
    try {
        const key = code ? (await call("POST", "keys", { code, name: ownName() }, { address: address.href })).key : secret;
        const { version, hostName } = await call("GET", "session", undefined, { address: address.href, key });
        await change({ address: address.href, key });
        byId("secret").value = "";
        say(`Connected to Haul ${version} on ${hostName}.`, false);
    } catch (error) {
        // What was typed stays, to be corrected.
        return say(error.status === 401 ? (code ? "That link was used before, or is too old." : "That is not the token of this Haul.") : error.message, true);
    }
    return refresh();
});

byId("forget").addEventListener("click", async () => {
    // Revokes a key. The token stays valid, and a daemon that is away has the key in its list of keys.
    await call("DELETE", "session").catch(() => {});
    await browser.storage.local.remove(["key", "pages", "renewal"]);
    say("Disconnected.", false);
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
    byId("secret").placeholder = key ? "Connected" : "";
    byId("forget").hidden = !key;
    Object.assign(byId("takesOver"), { checked: takesOver });
    Object.assign(byId("asksForCookies"), { checked: asksForCookies });
    byId("leastMegabytes").value = leastMegabytes;
    byId("all").dataset.granted = isGranted ? "yes" : "";
    setText(byId("all"), isGranted ? "Take back" : "Allow");
    setText(byId("granted"), isGranted ? "Allowed" : origins.length ? `Allowed: ${origins.map((pattern) => pattern.split("/")[2]).join(", ")}` : "No site is allowed");
}

await refresh();
