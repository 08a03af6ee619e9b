// The event stream of the daemon, one for all tabs of a browser.
//
// HTTP/1.1 allows six connections to an origin over all tabs. The tab that holds a Web Lock opens the stream and hands
// each event to the others over a BroadcastChannel. A tab gives the lock back 30 s after it was hidden; when all tabs
// are hidden, none holds it and the stream is closed. Origins without Web Locks (plain http, not loopback) open one
// stream for each tab.
import { api, query, url } from "./api.js";
import { Emitter } from "./emitter.js";

const EVENTS = ["hello", "reset", "snapshot", "delta", "stats", "notice", "ping", "bye"];
const HIDDEN_FOR = 30_000;
const SILENCE = 40_000;
const FIRST_EVENT = 60_000;
const scope = `haul:${new URL(".", document.baseURI).pathname}`;

export class Feed extends Emitter {
    /// The revision of the newest event that this tab heard. Opaque to the page.
    rev = null;
    connected = false;
    /// Whether this tab holds the stream.
    leads = false;
    /// Hidden tabs keep the stream while notifications are wanted.
    keepsHidden = false;

    #channel = null;
    #source = null;
    #heard = 0;
    #failures = 0;
    #retry = null;
    #running = false;
    #request = null;
    #release = null;
    #hiddenTimer = null;
    #checked = Date.now();

    start(rev) {
        this.rev = rev;
        if (this.#running) return;
        this.#running = true;
        this.#heard = Date.now();
        if (!this.#channel && "BroadcastChannel" in globalThis) {
            this.#channel = new BroadcastChannel(scope);
            this.#channel.onmessage = ({ data }) => this.#hearTab(data);
            document.addEventListener("visibilitychange", () => this.#visibility());
            addEventListener("online", () => this.wake());
            addEventListener("pageshow", (event) => event.persisted && this.wake());
            setInterval(() => this.#check(), 5000);
        }
        this.#visibility();
        this.#channel?.postMessage({ ask: true });
    }

    stop() {
        this.#running = false;
        this.#giveUp();
    }

    /// Tries again at once: after a sleep, or when the user asks for it.
    wake() {
        if (!this.#running) return;
        if (!this.leads) {
            this.#channel?.postMessage({ wake: true });
            this.#lead();
        } else if (!this.connected || Date.now() - this.#heard > SILENCE) {
            this.#failures = 0;
            this.#open();
        }
    }

    #visibility() {
        clearTimeout(this.#hiddenTimer);
        if (!this.#running) return;
        if (document.hidden && !this.keepsHidden) {
            this.#hiddenTimer = setTimeout(() => this.#giveUp(), HIDDEN_FOR);
        } else {
            this.wake();
        }
    }

    #lead(steal = false) {
        if (this.leads || (this.#request && !steal)) return;
        if (!navigator.locks) {
            this.leads = true;
            this.#open();
            return;
        }
        const request = new AbortController();
        this.#request = request;
        const options = steal ? { steal: true } : { signal: request.signal };
        navigator.locks.request(scope, options, () => new Promise((resolve) => {
            this.#release = resolve;
            this.leads = true;
            this.#open();
        })).catch(() => {
            // `#giveUp` aborted the request, or a tab that heard nothing stole the lock. `finally` handles both.
        }).finally(() => {
            if (this.#request !== request) return;
            this.#request = null;
            if (this.leads) {
                this.leads = false;
                this.#close();
                if (this.#running && !document.hidden) this.#lead();
            }
        });
    }

    #giveUp() {
        const release = this.#release;
        const request = this.#request;
        this.#release = null;
        this.#request = null;
        this.leads = false;
        this.#close();
        if (release) release();
        else request?.abort();
    }

    #close() {
        clearTimeout(this.#retry);
        this.#source?.close();
        this.#source = null;
    }

    #open() {
        this.#close();
        if (!this.#running || !this.leads) return;
        this.#heard = Date.now();
        const parameters = query({ since: this.rev });
        const source = new EventSource(url(`events${parameters ? `?${parameters}` : ""}`));
        this.#source = source;
        for (const name of EVENTS) source.addEventListener(name, (event) => this.#hear(name, event));
        source.onerror = () => {
            if (source !== this.#source) return;
            this.#setConnected(false);
            // Tells the other tabs, because they would take over a silent stream.
            this.#channel?.postMessage({ connected: false });
            // While the source is CONNECTING, the browser tries by itself, and a second attempt would compete with it.
            if (source.readyState === EventSource.CLOSED) this.#retryLater();
        };
    }

    #retryLater() {
        this.#close();
        const seconds = Math.min(30, 2 ** this.#failures) * (0.8 + 0.4 * Math.random());
        this.#failures += 1;
        this.#retry = setTimeout(async () => {
            try {
                // Asks the daemon, because an EventSource does not tell a missing session from a missing daemon.
                await api.get("session");
            } catch (error) {
                if (error.status === 401) return;
                this.#channel?.postMessage({ connected: false });
                if (error.status === 0) return this.#retryLater();
            }
            this.#open();
        }, seconds * 1000);
    }

    #hear(name, event) {
        this.#heard = Date.now();
        if (name === "bye") {
            this.#setConnected(false);
            this.#failures = 0;
            this.#retryLater();
            return;
        }
        this.#failures = 0;
        this.#setConnected(true);
        const message = { name, data: JSON.parse(event.data || "{}"), rev: event.lastEventId };
        this.#channel?.postMessage(message);
        this.#deliver(message);
    }

    #hearTab(message) {
        if (message.ask || message.wake) {
            if (this.leads && message.wake) this.wake();
            if (this.leads) this.#channel.postMessage({ connected: this.connected });
            return;
        }
        if (this.leads) return;
        this.#heard = Date.now();
        if ("connected" in message) this.#setConnected(message.connected);
        else if (this.#running) {
            this.#setConnected(true);
            this.#deliver(message);
        }
    }

    #deliver({ name, data, rev }) {
        if (rev) this.rev = rev;
        this.emit(name, { data, rev });
    }

    #setConnected(connected) {
        if (this.connected === connected) return;
        this.connected = connected;
        if (this.leads) this.#channel?.postMessage({ connected });
        this.emit("connection", connected);
    }

    #check() {
        const slept = Date.now() - this.#checked > 20_000;
        this.#checked = Date.now();
        if (!this.#running || (document.hidden && !this.keepsHidden)) return;
        const silence = Date.now() - this.#heard;
        if (!this.leads) {
            if (silence > SILENCE + 10_000 && navigator.locks) {
                this.#heard = Date.now();
                this.#setConnected(false);
                this.#request?.abort();
                this.#lead(true);
            }
        } else if (this.#source && (silence > (this.connected ? SILENCE : FIRST_EVENT) || (slept && silence > 20_000))) {
            this.#setConnected(false);
            this.#open();
        }
    }
}
