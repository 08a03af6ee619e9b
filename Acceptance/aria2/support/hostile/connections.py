"""Connections: incomplete, long or odd heads, many connections, invalid frames, slow readers."""

import json
import struct
import time

from lib.websocket import BINARY, CLOSE, PING, TEXT, WebSocket, frame
from .trial import CALL, no_success

HEAD = b"POST /jsonrpc HTTP/1.1\r\nHost: 127.0.0.1\r\n"


def heads(trial):
    body = json.dumps(CALL).encode()
    for name, data in {
        "nothing but a line end": b"\r\n\r\n",
        "garbage": bytes(range(256)) * 4,
        "a TLS hello": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"x" * 500,
        "HTTP/0.9": b"GET /jsonrpc\r\n\r\n",
        "HTTP/9.9": b"GET /jsonrpc HTTP/9.9\r\nHost: a\r\n\r\n",
        "HTTP/2 preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "negative length": HEAD + b"Content-Length: -1\r\n\r\n" + body,
        "length that is no number": HEAD + b"Content-Length: x\r\n\r\n" + body,
        "length too large for 64 bits": HEAD + b"Content-Length: 99999999999999999999999\r\n\r\n" + body,
        "two lengths": HEAD + b"Content-Length: 2\r\nContent-Length: 60\r\n\r\n" + body,
        "length and chunks": HEAD + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "bad chunk size": HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
        "huge chunk size": HEAD + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
        "odd transfer coding": HEAD + b"Transfer-Encoding: odd\r\nContent-Length: 2\r\n\r\n[]",
        "absolute target": HEAD.replace(b"/jsonrpc", b"http://evil.example/jsonrpc") + b"Content-Length: 2\r\n\r\n[]",
        "CONNECT": b"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n",
        "null byte in the path": b"GET /json\0rpc HTTP/1.1\r\nHost: a\r\n\r\n",
        "percent without digits": b"GET /jsonrpc?method=%&id=%zz&params=%2 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        "bare line feeds": HEAD.replace(b"\r\n", b"\n") + b"Content-Length: 2\n\n[]",
        "folded field": HEAD + b"A: 1\r\n 2\r\nContent-Length: 2\r\n\r\n[]",
        "space before the colon": HEAD + b"Content-Length : 2\r\n\r\n[]",
        "a method of 100 kB": b"A" * 100_000 + b" / HTTP/1.1\r\n\r\n",
        "a field of 10 MB": HEAD + b"A: " + b"x" * 10_000_000,
        "10^5 fields": HEAD + b"A: b\r\n" * 100_000 + b"\r\n",
    }.items():
        trial.case(f"head: {name}", lambda t, data=data: t.sent(data), no_success)
    trial.case("head: gzip body", lambda t: t.sent(HEAD + b"Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n[]"))

    def endless(t):
        with t.connected() as client:
            client.sendall(HEAD)
            sent = 0
            try:
                while sent < 100_000_000:
                    client.sendall(b"A: " + b"x" * 65_000 + b"\r\n")
                    sent += 65_005
            except OSError:
                pass
            return f"took {sent / 1e6:.1f} MB"

    trial.case("head without end, 100 MB of it", endless)


def many(trial):
    def opened(t, data, count=1_000):
        clients, failed = [], 0
        for _ in range(count):
            try:
                client = t.connected(2)
                client.sendall(data)
                clients.append(client)
            except OSError:
                failed += 1
        begin = time.monotonic()
        answers = t.daemon.answers(5)
        taken = time.monotonic() - begin
        grown = t.daemon.memory()
        for client in clients:
            client.close()
        how = f"answers in {taken * 1000:.0f} ms" if answers else "DOES NOT ANSWER"
        return f"{len(clients)} open, {failed} refused; beside them it {how}, {grown:.0f} MiB"

    def answers_beside(answer):
        return "DOES NOT ANSWER" not in answer

    for name, data in {
        "idle": b"",
        "half a head": HEAD[:20],
        "half a body": HEAD + b"Content-Length: 1000000\r\n\r\n" + b"x" * 1000,
    }.items():
        trial.case(f"1,000 connections, {name}", lambda t, data=data: opened(t, data), answers_beside)

    def upgraded(t):
        clients = []
        try:
            for _ in range(1_000):
                clients.append(WebSocket(t.daemon.port, timeout=5))
        except OSError as failure:
            how = "answers" if t.daemon.answers() else "DOES NOT ANSWER"
            return f"{len(clients)} open, then {type(failure).__name__}; it {how}"
        finally:
            for client in clients:
                client.close()
        return f"1,000 open; {t.daemon.memory():.0f} MiB"

    trial.case("1,000 WebSockets without a token", upgraded, answers_beside)


def frames(trial):
    text = json.dumps(CALL).encode()
    for name, data in {
        "unmasked": frame(TEXT, text, masked=False),
        "reserved bits": frame(TEXT, text, reserved=7),
        "unknown opcode": frame(3, b"x"),
        "unknown control opcode": frame(11, b"x"),
        "continuation of nothing": frame(0, b"x"),
        "text within a text": frame(TEXT, b"x", final=False) + frame(TEXT, b"y"),
        "ping of 126 bytes": frame(PING, b"x" * 126),
        "ping in fragments": frame(PING, b"x", final=False),
        "length 2^63 - 1": frame(TEXT, b"", length=(1 << 63) - 1),
        "length 2^64 - 1": b"\x81\xff" + struct.pack(">Q", (1 << 64) - 1) + b"\1\2\3\4",
        "length 2^31": frame(TEXT, b"x", length=1 << 31),
        "length not the shortest": b"\x81\xfe\x00\x01\1\2\3\4x",
        "close of one byte": frame(CLOSE, b"x"),
        "close with code 0": frame(CLOSE, b"\0\0"),
        "no UTF-8": frame(TEXT, b"\xff"),
        "binary": frame(BINARY, b"\0\1"),
        "garbage": bytes(range(255, 0, -1)) * 4,
        "deep JSON": frame(TEXT, b"[" * 100_000),
        "batch of 10^5": frame(TEXT, b"[" + b"1," * 99_999 + b"1]"),
    }.items():

        def act(t, data=data):
            with WebSocket(t.daemon.port, timeout=3) as client:
                client.socket.sendall(data)
                opcode, payload = client.receive()
                return opcode, payload[:200]

        trial.case(f"frame: {name}", act)

    def streamed(*data, count, per=1):
        def act(t):
            with WebSocket(t.daemon.port, timeout=3) as client:
                sent = 0
                try:
                    for part in data[:-1]:
                        client.socket.sendall(part)
                    for _ in range(count // per):
                        client.socket.sendall(data[-1] * per)
                        sent += per
                except OSError as failure:
                    return f"{sent} sent, then {type(failure).__name__}; at most {t.daemon.memory('VmHWM'):.0f} MiB"
                return f"{sent} sent; at most {t.daemon.memory('VmHWM'):.0f} MiB"

        return act

    trial.case(
        "frame: a message of 100 MB in one frame",
        streamed(frame(TEXT, b"", length=100_000_000), b"x" * 100_000, count=1_000),
    )
    trial.case(
        "frame: a message of 100 MB in fragments",
        streamed(frame(TEXT, b"x", final=False), frame(0, b"x" * 100_000, final=False), count=1_000),
    )
    trial.case(
        "frame: a million empty fragments",
        streamed(frame(TEXT, b"", final=False), frame(0, b"", final=False), count=1_000_000, per=1_000),
    )
    trial.case(
        "frame: a million pings that nobody reads the answers to",
        streamed(frame(PING, b"x" * 125), count=1_000_000, per=1_000),
    )
    trial.case("frame: half of one", streamed(frame(TEXT, text)[:1], count=1))
    trial.case(
        "frame: 50,000 wrong tokens that nobody reads the answers to",
        streamed(frame(TEXT, text), count=50_000, per=100),
    )


def readers(trial):
    def unread(t):
        clients = []
        for _ in range(20):
            client = t.connected(2)
            text = json.dumps(
                {**CALL, "method": "system.multicall", "params": [[{"methodName": "system.listMethods"}] * 2_000]}
            ).encode()
            client.sendall(HEAD + b"Content-Length: %d\r\n\r\n%s" % (len(text), text))
            clients.append(client)
        time.sleep(2)
        told = f"{t.daemon.memory():.0f} MiB while 20 clients do not read 3 MB each"
        for client in clients:
            client.close()
        return told

    trial.case("answers that nobody reads", unread)

    def pipelined(t):
        text = json.dumps({**CALL, "method": "system.listMethods"}).encode()
        one = HEAD + b"Content-Length: %d\r\n\r\n%s" % (len(text), text)
        with t.connected(2) as client:
            sent = 0
            try:
                for _ in range(500):
                    client.sendall(one * 100)
                    sent += 100
            except OSError:
                pass
            return f"{sent} pipelined requests sent, {t.daemon.memory():.0f} MiB"

    trial.case("50,000 pipelined requests without reading", pipelined)
