"""Notifications, XML-RPC, and the end of a daemon."""

import subprocess
import time
import xmlrpc.client

from lib.aria2 import RPCError
from lib.websocket import WebSocket


def notifications(recorder, downloads):
    """Records the notifications of a WebSocket, in order, for several lives of a download."""
    daemon, site = downloads.daemon, downloads.site
    slow = "/file/heard?size=10000000&rate=100000"
    lives = {
        "complete": ("/file/heard-small?size=1000", {}, []),
        "error": ("/status/404", {}, []),
        "pause": (slow, {}, ["pause"]),
        "force pause": (slow, {}, ["forcePause"]),
        "pause and go on": (slow, {}, ["pause", "unpause"]),
        "remove": (slow, {}, ["remove"]),
        "force remove": (slow, {}, ["forceRemove"]),
        "added paused": (slow, {"pause": "true"}, []),
        "added paused, removed": (slow, {"pause": "true"}, ["remove"]),
        "paused, removed": (slow, {}, ["pause", "remove"]),
        "go on": (slow, {"pause": "true"}, ["unpause"]),
        "option": (slow, {}, [("changeOption", {"split": "2"})]),
        "limit": (slow, {}, [("changeOption", {"max-download-limit": "50K"})]),
    }
    for name, (path, options, methods) in lives.items():
        with WebSocket(daemon.port) as client:
            client.call("aria2.getVersion")
            gid = downloads.add(path, **options)
            for method in methods:
                client.gather(0.5)
                client.socket.settimeout(10)
                method, *params = (method,) if isinstance(method, str) else method
                client.call(f"aria2.{method}", gid, *params)
            heard = client.gather(0.7)
        recorder.note(
            f"notified: {name}",
            [
                {
                    **each,
                    "params": [
                        {**struct, "gid": "same" if struct.get("gid") == gid else "other"}
                        for struct in each.get("params", [])
                    ],
                }
                for each in heard
            ],
        )
        downloads.discard(gid)
    with WebSocket(daemon.port) as first, WebSocket(daemon.port) as second:
        first.call("aria2.getVersion")
        second.call("aria2.getVersion")
        gids = [downloads.add(path, pause="true") for path in (slow, slow + "&2")]
        first.call("aria2.unpauseAll")
        time.sleep(0.5)
        first.call("aria2.pauseAll")
        heard = [
            sorted((each["method"], gids.index(each["params"][0]["gid"])) for each in client.gather(0.7))
            for client in (first, second)
        ]
    recorder.note("notified: unpauseAll and pauseAll, either socket", [list(map(list, each)) for each in heard])
    for gid in gids:
        downloads.discard(gid)


def xml(recorder, downloads):
    """Calls the methods as XML: types, faults, and malformed requests."""
    daemon = downloads.daemon
    client = xmlrpc.client.ServerProxy(f"http://127.0.0.1:{daemon.port}/rpc", allow_none=True)
    gid = downloads.made("paused")
    calls = {
        "getGlobalStat": (),
        "tellStatus": (gid,),
        "tellActive": (),
        "tellWaiting": (0, 10, ["gid"]),
        "tellStopped": (0, 10, ["gid"]),
        "getFiles": (gid,),
        "getUris": (gid,),
        "nope": (),
        "getOption": (gid,),
        "changeOption": (gid, {"split": "3"}),
        "changePosition": (gid, 0, "POS_SET"),
        "addUri": (["nope"],),
        "addTorrent": (),
        "changeUri": (gid, 1, [], []),
        "pauseAll": (),
        "getVersion": (),
        "getSessionInfo": (),
    }
    for name, params in calls.items():
        try:
            answer = getattr(client.aria2, name)(*params)
        except xmlrpc.client.Fault as fault:
            answer = {"faultCode": fault.faultCode, "faultString": fault.faultString}
        except Exception as failure:
            answer = f"{type(failure).__name__}: {failure}"
        recorder.note(f"xml: {name}", answer)
    answer = client.system.multicall(
        [{"methodName": "aria2.getGlobalStat", "params": []}, {"methodName": "aria2.nope", "params": []}]
    )
    recorder.note("xml: multicall", answer)
    call = "<methodCall><methodName>aria2.getGlobalStat</methodName>{}</methodCall>"
    status = (
        "<methodCall><methodName>aria2.tellStatus</methodName>"
        "<params><param><value>{}</value></param></params></methodCall>"
    )
    texts = {
        "params": call.format("<params></params>"),
        "no params": call.format(""),
        "header": '<?xml version="1.0"?>' + call.format("<params/>"),
        "no XML": "x",
        "empty": "",
        "open": "<methodCall>",
        "other root": "<x/>",
        "no name": "<methodCall></methodCall>",
        "i4": "<methodCall><methodName>aria2.tellWaiting</methodName>"
        "<params><param><value><i4>0</i4></value></param>"
        "<param><value><int>9</int></value></param></params></methodCall>",
        "bare value": status.format("zz"),
        "boolean": status.format("<boolean>1</boolean>"),
        "int no number": status.format("<int>x</int>").replace("tellStatus", "tellWaiting"),
        "unknown type": status.format("<nope>x</nope>"),
        "base64": status.format("<base64>eno=</base64>"),
        "entity": '<!DOCTYPE x [<!ENTITY e "zz">]>' + status.format("&e;"),
        "unknown method": "<methodCall><methodName>nope</methodName></methodCall>",
    }
    for name, text in texts.items():
        recorder.raw(
            daemon,
            f"xml text: {name}",
            text,
            path="/rpc",
            headers={"Content-Type": "text/xml"},
            fields=("content-type", "connection"),
        )
    downloads.discard(gid)


def end(recorder, daemon, method):
    """Shuts the daemon down and records the answer, whether the process ends, and its exit status."""
    recorder.call(daemon, f"end of the daemon: {method}", f"aria2.{method}")
    try:
        recorder.note(f"end of the daemon: {method}: status", daemon.process.wait(15))
    except subprocess.TimeoutExpired:
        recorder.note(f"end of the daemon: {method}: status", "still there")


def information(recorder, daemon):
    for method in ("system.listMethods", "system.listNotifications"):
        recorder.note(method, sorted(daemon.call(method)))
    for method in (
        "getVersion",
        "getSessionInfo",
        "getGlobalStat",
        "getGlobalOption",
        "tellActive",
        "purgeDownloadResult",
    ):
        recorder.call(daemon, f"fresh: {method}", f"aria2.{method}", volatile=("enabledFeatures",))
    recorder.call(daemon, "fresh: saveSession without a file", "aria2.saveSession")
    try:
        first, second = daemon.call("aria2.getSessionInfo"), daemon.call("aria2.getSessionInfo")
        recorder.note("fresh: getSessionInfo twice", {"same": first == second, "digits": len(first["sessionId"])})
    except RPCError as error:
        recorder.note("fresh: getSessionInfo twice", error.message)
