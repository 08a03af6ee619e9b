"""JSON-RPC's transport: HTTP, batches, JSONP, multicall, WebSocket, tokens. None of it needs a download."""

import base64
import json
import socket
import time
from urllib.parse import quote

from lib.websocket import BINARY, CLOSE, PING, PONG, TEXT, WebSocket, frame

VERSION = {"jsonrpc": "2.0", "id": "1", "method": "aria2.getGlobalStat"}
FIELDS = (
    "content-type",
    "connection",
    "access-control-allow-origin",
    "access-control-allow-methods",
    "access-control-max-age",
    "access-control-allow-headers",
    "content-encoding",
    "www-authenticate",
)


def requests(recorder, daemon):
    """Sends valid and invalid requests."""
    bodies = {
        "number id": {**VERSION, "id": 7},
        "text id": {**VERSION, "id": "qwer"},
        "null id": {**VERSION, "id": None},
        "empty id": {**VERSION, "id": ""},
        "list id": {**VERSION, "id": [1]},
        "struct id": {**VERSION, "id": {"a": 1}},
        "true id": {**VERSION, "id": True},
        "large id": {**VERSION, "id": 1 << 53},
        "negative id": {**VERSION, "id": -5},
        "zero id": {**VERSION, "id": 0},
        "no id": {"jsonrpc": "2.0", "method": "aria2.getGlobalStat"},
        "no version": {"id": "1", "method": "aria2.getGlobalStat"},
        "odd version": {**VERSION, "jsonrpc": "json-rpc"},
        "number version": {**VERSION, "jsonrpc": 2},
        "no method": {"jsonrpc": "2.0", "id": "1"},
        "number method": {**VERSION, "method": 5},
        "unknown method": {**VERSION, "method": "aria2.nope"},
        "empty method": {**VERSION, "method": ""},
        "method of another case": {**VERSION, "method": "aria2.getglobalstat"},
        "torrent method": {**VERSION, "method": "aria2.addTorrent"},
        "null params": {**VERSION, "params": None},
        "named params": {**VERSION, "params": {"a": 1}},
        "text params": {**VERSION, "params": "x"},
        "empty params": {**VERSION, "params": []},
        "surplus params": {**VERSION, "params": ["a", 1, {}, []]},
        "unneeded token": {**VERSION, "params": ["token:x"]},
        "surplus member": {**VERSION, "more": 1},
        "empty batch": [],
        "batch of one": [VERSION],
        "batch": [VERSION, {**VERSION, "id": 2, "method": "aria2.nope"}, 5, {"id": 3}, [], {**VERSION, "params": {}}],
        "a number": 1,
        "a text": "x",
        "null": None,
        "true": True,
    }
    for name, body in bodies.items():
        recorder.raw(daemon, f"request: {name}", json.dumps(body), fields=FIELDS)
    texts = {
        "nothing": "",
        "a space": " ",
        "half an object": "{",
        "surplus text": json.dumps(VERSION) + "x",
        "surplus space": f" {json.dumps(VERSION)} \r\n",
        "two requests": json.dumps(VERSION) * 2,
        "fraction id": '{"jsonrpc":"2.0","id":1.5,"method":"aria2.getGlobalStat"}',
        "exponent id": '{"jsonrpc":"2.0","id":1e3,"method":"aria2.getGlobalStat"}',
        "id too large": '{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"aria2.getGlobalStat"}',
        "single quotes": "{'id':1}",
        "comment": '{"id":1 /* x */,"method":"aria2.getGlobalStat"}',
        "trailing comma": '{"id":1,"method":"aria2.getGlobalStat",}',
        "not UTF-8": b'{"id":"\xff","method":"aria2.getGlobalStat"}',
        "escapes": '{"id":"\\u00e9\\n\\/\\ud83d\\ude00","method":"aria2.getGlobalStat"}',
        "lone surrogate": '{"id":"\\ud83d","method":"aria2.getGlobalStat"}',
        "same member twice": '{"id":1,"id":2,"method":"aria2.getGlobalStat"}',
        "byte order mark": "\ufeff" + json.dumps(VERSION),
    }
    for name, text in texts.items():
        recorder.raw(daemon, f"text: {name}", text, fields=FIELDS)


def http(recorder, daemon):
    """Tests methods, paths and header fields."""
    body = json.dumps(VERSION)
    for kind in (
        "application/json",
        "application/x-www-form-urlencoded",
        "text/plain",
        "application/json-rpc; charset=utf-8",
    ):
        recorder.raw(daemon, f"http: content type {kind}", body, headers={"Content-Type": kind}, fields="all")
    for method in ("GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH"):
        recorder.raw(daemon, f"http: {method} /jsonrpc", None, method=method, fields=FIELDS)
    for path in ("/", "/nope", "/jsonrpc/", "/JSONRPC", "/rpc", "//jsonrpc", "/jsonrpc?x=1", "/rpc?x=1"):
        recorder.raw(daemon, f"http: POST {path}", body, path=path, fields=FIELDS)
    for path in ("/", "/nope", "/rpc", "/favicon.ico"):
        recorder.raw(daemon, f"http: GET {path}", None, path=path, method="GET", fields=FIELDS)
    recorder.raw(
        daemon,
        "http: gzip asked for",
        json.dumps({**VERSION, "method": "system.listMethods"}),
        headers={"Accept-Encoding": "gzip"},
        fields=("content-encoding",),
    )
    recorder.raw(daemon, "http: keep-alive asked for", body, headers={"Connection": "keep-alive"}, fields=FIELDS)
    recorder.raw(daemon, "http: close asked for", body, headers={"Connection": "close"}, fields=FIELDS)
    recorder.raw(
        daemon, "http: error keeps the connection or not", json.dumps({**VERSION, "method": "x"}), fields=FIELDS
    )
    preflight = {
        "Origin": f"http://127.0.0.1:{daemon.port}",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type, x-odd",
    }
    recorder.raw(daemon, "http: preflight", None, method="OPTIONS", headers=preflight, fields=FIELDS)


def get(recorder, daemon):
    """Tests JSON-RPC by GET, with and without a callback."""

    def params(value):
        return quote(base64.b64encode(json.dumps(value).encode()).decode(), safe="")

    batch = params([VERSION, {**VERSION, "method": "aria2.nope"}])
    queries = {
        "call": "?method=aria2.getGlobalStat&id=1",
        "no id": "?method=aria2.getGlobalStat",
        "no method": "?id=1",
        "params": f"?method=aria2.tellWaiting&id=a&params={params([0, 10])}",
        "nothing": "?",
        "batch": f"?params={batch}",
        "unknown method": "?method=aria2.nope&id=1",
        "callback": "?method=aria2.getGlobalStat&id=1&jsoncallback=cb",
        "batch with callback": f"?params={batch}&jsoncallback=cb",
        "error with callback": "?method=x&id=1&jsoncallback=cb",
        "odd callback": "?method=aria2.getGlobalStat&id=1&jsoncallback=alert(1)//",
        "params no base64": "?method=x&id=1&params=%25",
        "params no JSON": "?method=x&id=1&params=" + quote(base64.b64encode(b"{").decode()),
        "params unpadded": "?method=aria2.tellWaiting&id=a&params=" + base64.b64encode(b"[0,100]").decode().rstrip("="),
        "named params": f"?method=aria2.tellWaiting&id=a&params={params({'a': 1})}",
        "number id": "?method=aria2.getGlobalStat&id=12",
    }
    for name, query in queries.items():
        recorder.raw(
            daemon, f"get: {name}", None, path="/jsonrpc" + query, method="GET", fields=("content-type", "connection")
        )


def multicall(recorder, daemon):
    stat = {"methodName": "aria2.getGlobalStat"}
    lists = {
        "one": [[stat]],
        "params": [[{**stat, "params": []}]],
        "none": [[]],
        "nothing": [],
        "no list": ["x"],
        "struct": [{}],
        "errors among results": [
            [
                stat,
                {"methodName": "aria2.nope", "params": []},
                {"methodName": "aria2.tellStatus", "params": ["0"]},
                stat,
            ]
        ],
        "no name": [[{"params": []}]],
        "number name": [[{"methodName": 5}]],
        "no struct": [[5, "x", []]],
        "nested": [[{"methodName": "system.multicall", "params": [[stat]]}]],
        "named params": [[{**stat, "params": {"a": 1}}]],
        "names": [[{"methodName": "system.listNotifications"}]],
        "token outside": ["token:x", [stat]],
    }
    for name, params in lists.items():
        recorder.call(daemon, f"multicall: {name}", "system.multicall", *params)


def noted_frame(socket_):
    try:
        opcode, payload = socket_.receive()
    except (OSError, ConnectionError) as failure:
        return f"{type(failure).__name__}"
    try:
        return [opcode, json.loads(payload)]
    except ValueError:
        return [opcode, payload.decode(errors="replace") if opcode != CLOSE else payload[:2].hex()]


def websocket(recorder, daemon):
    stat = json.dumps(VERSION)
    texts = {
        "call": stat,
        "batch": json.dumps([VERSION, {**VERSION, "method": "x"}]),
        "empty batch": "[]",
        "no JSON": "{",
        "empty": "",
        "number": "5",
        "no id": '{"method":"aria2.getGlobalStat"}',
        "named params": json.dumps({**VERSION, "params": {}}),
        "unknown method": json.dumps({**VERSION, "method": "x"}),
    }
    for name, text in texts.items():
        with WebSocket(daemon.port, timeout=2) as client:
            client.send(text)
            recorder.note(f"websocket: {name}", noted_frame(client))
    frames = {
        "ping": frame(PING, b"abc"),
        "close": frame(CLOSE, b"\x03\xe8bye"),
        "close without a code": frame(CLOSE),
        "pong": frame(PONG) + frame(TEXT, stat.encode()),
        "binary": frame(BINARY, stat.encode()),
        "two fragments": frame(TEXT, stat[:9].encode(), final=False) + frame(0, stat[9:].encode()),
        "unmasked": frame(TEXT, stat.encode(), masked=False),
        "reserved bit": frame(TEXT, b"x", reserved=4),
        "unknown opcode": frame(5, b"x"),
        "long ping": frame(PING, b"x" * 126),
        "no UTF-8": frame(TEXT, b"\xff\xfe"),
        "continuation of nothing": frame(0, b"x"),
        "fragmented ping": frame(PING, b"x", final=False),
    }
    for name, data in frames.items():
        with WebSocket(daemon.port, timeout=2) as client:
            client.socket.sendall(data)
            recorder.note(f"websocket frame: {name}", noted_frame(client))
    heads = {
        "path /": {"path": "/"},
        "path /rpc": {"path": "/rpc"},
        "version 8": {"Sec_WebSocket_Version": "8"},
        "no version": {"Sec_WebSocket_Version": None},
        "no key": {"Sec_WebSocket_Key": None},
        "no connection field": {"Connection": None},
        "protocol asked for": {"Sec_WebSocket_Protocol": "chat"},
        "other case": {"Upgrade": "WebSocket", "Connection": "keep-alive, upgrade"},
    }
    for name, changes in heads.items():
        try:
            with WebSocket(daemon.port, timeout=2, **changes) as client:
                lines = [line.split(":")[0].lower() for line in client.head.decode().split("\r\n")[1:]]
                recorder.note(f"websocket head: {name}", {"upgraded": True, "fields": sorted(lines)})
        except (OSError, ConnectionError) as failure:
            recorder.note(f"websocket head: {name}", {"upgraded": False, "answer": str(failure).split("\r\n")[0]})


def tokens(recorder, daemon, secret):
    """Tests a daemon that has a secret."""
    right = f"token:{secret}"
    lists = {
        "none": [],
        "wrong": ["token:x"],
        "right": [right],
        "empty": ["token:"],
        "no prefix": [secret],
        "number": [5],
        "longer": [right + "x"],
        "other case": [right.replace("token", "Token")],
        "not first": [5, right],
    }
    for name, params in lists.items():
        began = time.monotonic()
        recorder.call(daemon, f"token: {name}", "aria2.getGlobalStat", *params)
        recorder.note(f"token: {name}: answered after a second", time.monotonic() - began > 0.9)
    for method in ("system.listMethods", "system.listNotifications"):
        recorder.call(daemon, f"token: {method} without", method)
        recorder.call(daemon, f"token: {method} with a wrong one", method, "token:x")
        recorder.call(daemon, f"token: {method} with", method, right)
    calls = [{"methodName": "aria2.getGlobalStat", "params": each} for each in ([right], [], ["token:x"])]
    recorder.call(daemon, "token: in multicall", "system.multicall", calls)
    recorder.call(daemon, "token: outside of multicall only", "system.multicall", right, calls[1:2])
    recorder.raw(
        daemon, "token: in a batch", json.dumps([{**VERSION, "params": each} for each in ([right], [], ["token:x"])])
    )
    recorder.raw(daemon, "token: unknown method without", json.dumps({**VERSION, "method": "aria2.nope"}))
    recorder.raw(
        daemon, "token: unknown method with", json.dumps({**VERSION, "method": "aria2.nope", "params": [right]})
    )
    xml = b"<methodCall><methodName>aria2.getVersion</methodName><params/></methodCall>"
    recorder.raw(daemon, "token: XML-RPC without", xml, path="/rpc")
    with WebSocket(daemon.port) as client:
        recorder.note("token: WebSocket without", client.call("aria2.getGlobalStat"))
        recorder.note("token: WebSocket with", client.call("aria2.getGlobalStat", right))


def pipelining(recorder, daemon):
    """Sends two requests at once on one connection."""
    body = json.dumps(VERSION).encode()
    asked = b"POST /jsonrpc HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    with socket.create_connection(("127.0.0.1", daemon.port), timeout=2) as client:
        client.sendall(asked + asked)
        got = b""
        try:
            while got.count(b'"jsonrpc"') < 2:
                part = client.recv(65536)
                if not part:
                    break
                got += part
        except TimeoutError:
            pass
    recorder.note("http: pipelined answers", got.count(b'"jsonrpc"'))
