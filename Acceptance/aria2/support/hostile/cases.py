"""Tests who may send requests and what they may request: tokens, origins, hosts, folders."""

import base64
import json
import os
import time

from lib.websocket import WebSocket
from .trial import no_success


def status_is_bad(answer):
    return isinstance(answer, tuple) and (answer[0] >= 400 or '"error"' in answer[1] and '"result"' not in answer[1])


def unauthorized(answer):
    return "Unauthorized" in str(answer)


def tokens(trial):
    trial.case("no token", lambda t: t.asked(token=False), unauthorized)
    for name, token in {
        "wrong": "token:x",
        "empty": "token:",
        "prefix": "token:hostil",
        "longer": "token:hostilex",
        "null byte": "token:hostile\u0000",
        "1 MB": "token:" + "x" * 1_000_000,
        "without the word": "hostile",
    }.items():
        trial.case(
            f"token {name}", lambda t, token=token: t.asked("aria2.getVersion", token, token=False), unauthorized
        )
    trial.case(
        "token by GET", lambda t: t.posted(None, "/jsonrpc?method=aria2.getVersion&id=1", method="GET"), unauthorized
    )
    trial.case(
        "token by GET in the query",
        lambda t: t.posted(None, "/jsonrpc?method=aria2.getVersion&id=1&token=hostile", method="GET"),
        unauthorized,
    )
    trial.case(
        "no token in multicall",
        lambda t: t.asked("system.multicall", [{"methodName": "aria2.getVersion", "params": []}], token=False),
        unauthorized,
    )
    trial.case(
        "no token by XML-RPC",
        lambda t: t.posted("<methodCall><methodName>aria2.getVersion</methodName></methodCall>", "/rpc"),
        unauthorized,
    )

    def over_websocket(t):
        with WebSocket(t.daemon.port) as client:
            return client.call("aria2.getVersion")

    trial.case("no token by WebSocket", over_websocket, unauthorized)

    def notified(t):
        with WebSocket(t.daemon.port) as client:
            t.asked("aria2.addUri", ["http://127.0.0.1:1/x"], {"max-tries": "1"})
            return client.gather(1.5)

    trial.case("notifications without a token", notified, lambda answer: answer == [])

    def guess(t):
        begin = time.monotonic()
        for _ in range(3):
            t.asked("aria2.getVersion", "token:x", token=False)
        return f"{time.monotonic() - begin:.1f} s for 3 guesses"

    trial.case("guesses", guess, lambda answer: float(answer.split()[0]) >= 2.9)


def origins(trial):
    for name, fields in {
        "Origin": {"Origin": "http://evil.example"},
        "Origin null": {"Origin": "null"},
        "Origin of another port": {"Origin": "http://127.0.0.1:1"},
        "Host": {"Host": "evil.example"},
        "Host with the port": {"Host": "evil.example:6800"},
        "Host like localhost": {"Host": "localhost.evil.example"},
        "Host empty": {"Host": ""},
    }.items():
        trial.case(f"foreign {name}, POST", lambda t, fields=fields: t.asked(headers=fields), status_is_bad)
        trial.case(
            f"foreign {name}, simple form",
            lambda t, fields=fields: t.asked(headers={"Content-Type": "text/plain", **fields}),
            status_is_bad,
        )
        trial.case(
            f"foreign {name}, GET",
            lambda t, fields=fields: t.posted(
                None,
                "/jsonrpc?method=aria2.getVersion&id=1&params="
                + base64.b64encode(json.dumps([t.token]).encode()).decode(),
                fields,
                "GET",
            ),
            status_is_bad,
        )
        trial.case(
            f"foreign {name}, XML-RPC",
            lambda t, fields=fields: t.posted(
                "<methodCall><methodName>aria2.getVersion</methodName>"
                f"<params><param><value>{t.token}</value></param></params></methodCall>",
                "/rpc",
                fields,
            ),
            status_is_bad,
        )
        trial.case(
            f"foreign {name}, preflight",
            lambda t, fields=fields: t.daemon.post(
                None,
                "/jsonrpc",
                "OPTIONS",
                {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type", **fields},
            )[:2],
            lambda answer: isinstance(answer, tuple) and answer[1].get("access-control-allow-origin") is None,
        )

        def upgraded(t, fields=fields):
            with WebSocket(t.daemon.port, **fields) as client:
                return client.call("aria2.getVersion", t.token)

        trial.case(f"foreign {name}, WebSocket", upgraded, lambda answer: str(answer).startswith("ConnectionError"))
    trial.case("no Host", lambda t: t.sent(b"POST /jsonrpc HTTP/1.1\r\nContent-Length: 2\r\n\r\n[]"), no_success)
    trial.case(
        "two Hosts",
        lambda t: t.sent(
            b"POST /jsonrpc HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\nContent-Length: 2\r\n\r\n[]"
        ),
        no_success,
    )


def folders(trial, site):
    """Tries to write files outside the daemon's folder. A marker shows whether a file was created."""
    outside = os.path.join(trial.folder, "outside")
    os.makedirs(outside, exist_ok=True)

    def inside_of(t):
        link = os.path.join(t.daemon.downloads, "link")
        if not os.path.islink(link):
            if os.path.lexists(link):
                # A download has taken the name of the link.
                os.remove(link)
            os.symlink(outside, link)
        return t.daemon.downloads

    def written():
        return sorted(name for name in os.listdir(outside))

    def clean():
        for name in os.listdir(outside):
            os.remove(os.path.join(outside, name))

    def added(options, path="/file/f?size=10"):
        def act(t):
            inside_of(t)
            clean()
            answer = t.asked("aria2.addUri", [site.url + path], options(t) if callable(options) else options)
            gid = json.loads(answer[1]).get("result")
            if gid:
                end = time.monotonic() + 3
                while time.monotonic() < end and t.daemon.call("aria2.tellStatus", gid)["status"] in (
                    "active",
                    "waiting",
                ):
                    time.sleep(0.05)
                status = t.daemon.call("aria2.tellStatus", gid, ["status", "errorMessage", "files"])
                answer = (status["status"], status.get("errorMessage", ""), [file["path"] for file in status["files"]])
            return answer, f"written outside: {written()}"

        return act

    def nothing_written(answer):
        return isinstance(answer, tuple) and answer[-1] == "written outside: []"

    for name, options in {
        "dir": {"dir": outside},
        "dir with ..": lambda t: {"dir": t.daemon.downloads + "/../../outside"},
        "dir relative": {"dir": "../outside"},
        "out with ..": {"out": "../../outside/f"},
        "out absolute": {"out": os.path.join(outside, "f")},
        "out through a link": {"out": "link/f"},
        "dir through a link": lambda t: {"dir": t.daemon.downloads + "/link"},
        "out a link's name": {"out": "link", "allow-overwrite": "true"},
        "out with a null byte": {"out": "f\u0000g"},
    }.items():
        trial.case(f"outside: {name}", added(options), nothing_written)
    trial.case("outside: name of the header", added({}, "/named/x?name=../../outside/f"), nothing_written)
    trial.case("outside: name of the URL", added({}, "/file/..%2F..%2Foutside%2Ff?size=10"), nothing_written)

    def changed(options, then):
        def act(t):
            inside_of(t)
            clean()
            answer = t.asked("aria2.changeGlobalOption", options)
            then(t)
            time.sleep(1)
            return answer, f"written outside: {written()}"

        return act

    trial.case(
        "outside: dir by changeGlobalOption",
        changed({"dir": outside}, lambda t: t.asked("aria2.addUri", [site.url + "/file/f?size=10"])),
        nothing_written,
    )
    trial.daemon.stop()
    for option in ("save-session", "log", "save-cookies", "server-stat-of"):
        trial.case(
            f"outside: {option} by changeGlobalOption",
            changed({option: os.path.join(outside, "f")}, lambda t: t.asked("aria2.saveSession")),
            nothing_written,
        )
        trial.daemon.stop()

    def hooked(t):
        script = os.path.join(t.daemon.downloads, "hook.sh")
        with open(script, "w") as file:
            file.write(f"#!/bin/sh\ntouch {outside}/hooked\n")
        os.chmod(script, 0o755)
        clean()
        options = {f"on-download-{event}": script for event in ("start", "complete", "error", "stop")}
        answer = t.asked("aria2.changeGlobalOption", options)
        t.asked("aria2.addUri", [site.url + "/file/hook?size=10"], options)
        time.sleep(1)
        return answer, f"written outside: {written()}"

    trial.case("a program to run, by changeGlobalOption and addUri", hooked, nothing_written)
    trial.daemon.stop()

    def read_back(option):
        def act(t):
            path = os.path.join(t.folder, "readable")
            with open(path, "w") as file:
                file.write(
                    "127.0.0.1\tFALSE\t/\tFALSE\t4000000000\tstolen\tsecret\n"
                    "machine 127.0.0.1 login stolen password secret\n"
                )
            os.chmod(path, 0o600)
            t.asked("aria2.changeGlobalOption", {option: path})
            site.requests.clear()
            t.asked("aria2.addUri", [site.url + "/private/r?size=10"], {option: path, "no-netrc": "false"})
            time.sleep(1)
            return (
                "sent to a server"
                if any("stolen" in str(fields) or "c3RvbGVu" in str(fields) for _, fields in site.requests)
                else "not sent"
            )

        return act

    for option in ("load-cookies", "netrc-path"):
        trial.case(f"a file of ours named as {option}", read_back(option), lambda answer: answer == "not sent")
    trial.case("a file as a URI", lambda t: t.asked("aria2.addUri", ["file:///etc/passwd"]), status_is_bad)
