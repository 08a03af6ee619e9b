// Signing in: by the one-time code of the printed link, or with the token in a form that password managers know.
import { api } from "./api.js";
import { byId, el, icon } from "./dom.js";
import { t } from "./text.js";

/// The file with the token, below the usual state folder.
const TOKEN_FILE = "~/.local/state/haul/daemon/token";

/// Removes the code from the fragment of the address, and signs in with it. Returns whether a code was refused.
export async function useCode() {
    const code = new URLSearchParams(location.hash.slice(1)).get("code");
    if (!code) return false;
    history.replaceState(null, "", location.pathname + location.search);
    try {
        await api.post("session", { code }, { quiet: true });
        return false;
    } catch (error) {
        return error.status === 401;
    }
}

/// Shows the form until the token was right, or another tab has signed in.
export function signIn(message) {
    return new Promise((resolve) => {
        const done = () => {
            document.removeEventListener("visibilitychange", look);
            byId("signin").hidden = true;
            byId("signin").replaceChildren();
            resolve();
        };
        const look = async () => {
            if (document.hidden) return;
            try {
                if ((await api.get("session/state", { quiet: true })).signedIn && !byId("signin").hidden) done();
            } catch {
                // The form stays while the daemon does not answer.
            }
        };
        document.addEventListener("visibilitychange", look);
        const problem = el("p", { class: "field-error", role: "alert", text: message ?? "", hidden: !message });
        const token = el("input", { id: "token", name: "password", class: "field", type: "password", autocomplete: "current-password", required: true, spellcheck: "false", autocapitalize: "off" });
        const send = el("button", { type: "submit", class: "button primary", text: t("signIn") });
        const form = el(
            "form",
            {
                class: "signin-form",
                method: "post",
                onsubmit: async (event) => {
                    event.preventDefault();
                    send.disabled = true;
                    try {
                        await api.post("session", { token: token.value.trim() }, { quiet: true });
                        done();
                    } catch (error) {
                        problem.hidden = false;
                        problem.textContent = error.status === 429 ? t("tooManyTries", error.retryAfter ?? 60) : error.status === 401 ? t("wrongToken") : error.status === 0 ? t("unreachable") : error.message;
                        token.select();
                    }
                    send.disabled = false;
                },
            },
            icon("i-mark", "signin-mark"),
            el("h1", { text: t("signInTitle") }),
            // Password managers want a name to store the password under.
            el("input", { class: "unseen", type: "text", name: "username", autocomplete: "username", value: "haul", tabindex: -1, "aria-hidden": "true", readonly: true }),
            el("label", { for: "token", text: t("token") }),
            token,
            problem,
            send,
            el("dl", { class: "signin-ways" },
                el("dt", {}, el("code", { text: "haul open" })), el("dd", { class: "muted", text: t("signInOpen") }),
                el("dt", {}, el("code", { text: TOKEN_FILE })), el("dd", { class: "muted", text: t("signInFile") })),
        );
        byId("app").hidden = true;
        byId("signin").replaceChildren(form);
        byId("signin").hidden = false;
        token.focus();
    });
}
