"""Requests that are too large, too deeply nested, too many, or malformed."""

import json

from .trial import CALL, no_success

DEEP = 100_000


def nested(opening, inner, closing):
    return opening * DEEP + inner + closing * DEEP


def large(trial):
    block = b"x" * (1 << 20)
    head = b"POST /jsonrpc HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    trial.case(
        "1 GB with Content-Length", lambda t: t.sent(head + b"Content-Length: 1000000000\r\n\r\n", *[block] * 953),
        no_success,
    )
    trial.case(
        "1 GB in chunks",
        lambda t: t.sent(head + b"Transfer-Encoding: chunked\r\n\r\n", *[b"100000\r\n" + block + b"\r\n"] * 953),
        no_success,
    )
    trial.case(
        "1 GB with 100-continue", lambda t: t.sent(head + b"Expect: 100-continue\r\nContent-Length: 1000000000\r\n\r\n"),
        no_success,
    )
    trial.case(
        "1 GB by XML-RPC",
        lambda t: t.sent(head.replace(b"jsonrpc", b"rpc") + b"Content-Length: 1000000000\r\n\r\n", *[block] * 953),
        no_success,
    )
    trial.case(
        "1 GB in chunks of a byte, 5 MB of it",
        lambda t: t.sent(head + b"Transfer-Encoding: chunked\r\n\r\n", *[b"1\r\nx\r\n" * 50_000] * 20),
        no_success,
    )
    trial.case(
        "a URI of 1 MB by GET",
        lambda t: t.sent(b"GET /jsonrpc?method=" + block + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"),
        no_success,
    )


def many(trial):
    for name, text in {
        "batch of 10^5 numbers": "[" + ",".join("1" * DEEP) + "]",
        "batch of 10^5 calls": json.dumps([CALL] * DEEP, separators=(",", ":")),
        "batch of 10^5 short calls": "[" + ",".join(['{"method":"a"}'] * DEEP) + "]",
        "batch of 10^5 lists": "[" + ",".join(["[]"] * DEEP) + "]",
        "multicall of 10^5": json.dumps(
            {**CALL, "method": "system.multicall", "params": [[{}] * DEEP]}, separators=(",", ":")
        ),
        "10^5 parameters": json.dumps({**CALL, "params": [1] * DEEP}, separators=(",", ":")),
        "10^5 members": "{" + ",".join(f'"{number}":1' for number in range(DEEP)) + "}",
        "10^5 times the same member": "{" + ",".join(['"id":1'] * DEEP) + "}",
    }.items():
        trial.case(name, lambda t, text=text: t.posted(text))
    uris = ["http://127.0.0.1:1/"] * 50_000

    def amplified(t):
        for _ in range(300):
            t.asked("aria2.addUri", uris[:1], {"pause": "true"})
        calls = [{"methodName": "aria2.tellWaiting", "params": [t.token, 0, 1000]}] * 500
        return t.posted(json.dumps({**CALL, "method": "system.multicall", "params": [calls]}))

    trial.case("a multicall that asks for 150,000 statuses", amplified)
    trial.case("50,000 URIs", lambda t: t.asked("aria2.addUri", uris, {"pause": "true"}))
    trial.case(
        "20,000 header lines",
        lambda t: t.asked("aria2.addUri", uris[:1], {"pause": "true", "header": ["A: 1"] * 20_000}),
    )


def deep(trial):
    for name, text in {
        "lists": nested("[", "", "]"),
        "lists that do not end": "[" * DEEP,
        "structs": nested('{"a":', "1", "}"),
        "structs that do not end": '{"a":' * DEEP,
        "in the parameters": '{"id":1,"method":"aria2.tellActive","params":' + nested("[", "", "]") + "}",
        "in the id": '{"method":"x","id":' + nested("[", "", "]") + "}",
        "in a surplus member": '{"id":1,"method":"aria2.getVersion","x":' + nested("[", "", "]") + "}",
        "lists and structs": nested('[{"a":', "1", "}]"),
    }.items():
        trial.case(f"10^5 deep: {name}", lambda t, text=text: t.posted(text))
    for name, text in {
        "a number of a million digits": '{"id":' + "9" * 1_000_000 + "}",
        "a text of 1.9 MB": json.dumps({**CALL, "id": "x" * 1_900_000}),
        "1.9 MB of escapes": '{"id":"' + "\\u0041" * 300_000 + '"}',
        "1.9 MB of quotes": '"' * 1_900_000,
        "1.9 MB of spaces": " " * 1_900_000,
        "1.9 MB of backslashes": '"' + "\\" * 1_900_000,
        "null bytes": "\0" * 1_000,
        "no UTF-8": b'{"id":"\xc0\x80\xff","method":"x"}',
        "UTF-16": '{"id":1}'.encode("utf-16"),
        "exponent": '{"id":1e999999999,"method":"x"}',
        "minus": '{"id":-,"method":"x"}',
    }.items():
        trial.case(f"JSON: {name}", lambda t, text=text: t.posted(text))


def xml(trial, site):
    laughs = "".join(f'<!ENTITY l{number} "{f"&l{number - 1};" * 10}">' for number in range(1, 10))
    call = (
        "<methodCall><methodName>aria2.tellStatus</methodName>"
        "<params><param><value><string>{}</string></value></param></params></methodCall>"
    )
    for name, text in {
        "billion laughs": f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY l0 "lol">{laughs}]>' + call.format("&l9;"),
        "quadratic": f'<!DOCTYPE x [<!ENTITY a "{"a" * 100_000}">]>' + call.format("&a;" * 10_000),
        "parameter entities": "<!DOCTYPE x [<!ENTITY % a \"<!ENTITY b 'b'>\">%a;]>" + call.format("&b;"),
        "itself": '<!DOCTYPE x [<!ENTITY a "&b;"><!ENTITY b "&a;">]>' + call.format("&a;"),
        "file": '<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]>' + call.format("&f;"),
        "URL": f'<!DOCTYPE x [<!ENTITY f SYSTEM "{site.url}/stolen">]>' + call.format("&f;"),
        "outer document type": f'<!DOCTYPE x SYSTEM "{site.url}/stolen">' + call.format("x"),
        "XInclude": '<x xmlns:xi="http://www.w3.org/2001/XInclude"><xi:include ' f'href="{site.url}/stolen"/></x>',
        "10^5 deep": nested("<a>", "", "</a>"),
        "10^5 deep values": "<methodCall><methodName>x</methodName><params><param>"
        + nested("<value><array><data>", "", "</data></array></value>")[:1_900_000],
        "10^5 attributes": "<a " + " ".join(f'a{number}=""' for number in range(DEEP)) + "/>",
        "an attribute of 1.9 MB": f'<a a="{"x" * 1_900_000}"/>',
        "a name of 1.9 MB": f"<{'a' * 1_900_000}/>",
        "a comment without end": "<!--" + "x" * 1_900_000,
        "CDATA without end": "<a><![CDATA[" + "x" * 1_900_000,
        "1.9 MB of <": "<" * 1_900_000,
        "1.9 MB of &": "<a>" + "&" * 1_900_000,
        "namespaces": "<a " + " ".join(f'xmlns:a{number}="u"' for number in range(50_000)) + "/>",
        "10^5 calls' parameters": "<methodCall><methodName>aria2.getVersion</methodName><params>"
        + "<param><value/></param>" * 80_000
        + "</params></methodCall>",
        "null bytes": "<a>\0</a>",
        "UTF-16": '<?xml version="1.0" encoding="UTF-16"?><a/>'.encode("utf-16"),
        "EBCDIC": '<?xml version="1.0" encoding="EBCDIC-CP-US"?><a/>',
        "base64 of none": call.replace("string", "base64").format("%%%"),
        "int too large": call.replace("string", "i4").format("9" * 1_000),
        "no UTF-8": b"<a>\xff\xfe</a>",
    }.items():

        def act(t, text=text):
            site.requests.clear()
            answer = t.posted(text, "/rpc", {"Content-Type": "text/xml"})
            assert "root:" not in str(answer), "a file was read"
            assert not site.requests, "another server was asked"
            return answer

        trial.case(f"XML: {name}", act, lambda answer: not str(answer).startswith("AssertionError"))
