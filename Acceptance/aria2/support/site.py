"""A web site on loopback with a path for each outcome of a download.

/file/NAME?size=N          N bytes with ETag, Last-Modified and ranges
/file/NAME?size=N&rate=R   the same at R bytes per second and connection
/chunked/NAME?size=N       the same without length and ranges
/status/404                that status
/never                     accepts the request and does not answer
/redirect/N?to=URL         N redirects, then to URL
/named?name=N              100 bytes under a name in Content-Disposition
/private?size=N            401 without `user:secret`
/echo                      the request's head, as the server received it
"""

import hashlib
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs, quote, urlsplit

from lib.loopback import LoopbackServer

MODIFIED = "Wed, 01 Jan 2020 00:00:00 GMT"
BLOCK = 1 << 16
_block = hashlib.shake_256(b"content").digest(1_000_003)  # a prime, so that no two pieces of a file are equal


def content(first, end):
    """Returns the bytes from `first` to before `end`, which are the same for every file of this site."""
    parts = []
    while first < end:
        place = first % len(_block)
        part = _block[place : place + end - first]
        parts.append(part)
        first += len(part)
    return b"".join(parts)


def address_of(path):
    """Returns a path without its query. Sent bytes are counted by it."""
    return urlsplit(path).path


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        address = urlsplit(self.path)
        query = {name: values[-1] for name, values in parse_qs(address.query).items()}
        kind, _, rest = address.path.lstrip("/").partition("/")
        self.server.note(self.path, self.headers)
        try:
            {
                "file": self.file,
                "chunked": self.chunked,
                "status": self.error,
                "never": self.never,
                "redirect": self.redirect,
                "named": self.named,
                "private": self.private,
                "echo": self.echo,
            }.get(kind, self.error)(rest, query)
        except OSError:
            self.close_connection = True

    def head(self, status, length, *fields):
        self.send_response(status)
        for name, value in (*fields, ("Content-Length", str(length))):
            self.send_header(name, value)
        self.end_headers()

    def error(self, rest, _):
        self.head(int(rest) if rest.isdecimal() else 404, 0)

    def never(self, *_):
        self.server.ended.wait()

    def redirect(self, rest, query):
        left = int(rest)
        self.head(
            302, 0, ("Location", query["to"] if left <= 1 else f"/redirect/{left - 1}?to={quote(query['to'], safe='')}")
        )

    def named(self, _, query):
        self.head(200, 100, ("Content-Disposition", f'attachment; filename="{query["name"]}"'))
        self.wfile.write(content(0, 100))

    def private(self, rest, query):
        if self.headers.get("Authorization") != "Basic dXNlcjpzZWNyZXQ=":
            self.head(401, 0, ("WWW-Authenticate", 'Basic realm="here"'))
        else:
            self.file(rest, query)

    def echo(self, *_):
        lines = [self.requestline, *(f"{name}: {value}" for name, value in self.headers.items()), ""]
        text = "\n".join(lines).encode()
        self.head(200, len(text))
        if self.command != "HEAD":
            self.wfile.write(text)

    def chunked(self, _, query):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for block in self.paced(0, int(query["size"]), query):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(block), block))
        self.wfile.write(b"0\r\n\r\n")

    def file(self, _, query):
        size = int(query["size"])
        first, end, status = 0, size, 200
        asked = self.headers.get("Range", "")
        if asked.startswith("bytes=") and "," not in asked:
            low, _, high = asked[6:].partition("-")
            if low:
                first, end, status = int(low), min(size, int(high) + 1 if high else size), 206
        fields = [
            ("Accept-Ranges", "bytes"),
            ("ETag", f'"{size}"'),
            ("Last-Modified", MODIFIED),
            ("Content-Type", "application/octet-stream"),
        ]
        if status == 206 and first >= size:
            return self.head(416, 0, ("Content-Range", f"bytes */{size}"))
        if status == 206:
            fields.append(("Content-Range", f"bytes {first}-{end - 1}/{size}"))
        self.head(status, end - first, *fields)
        if self.command != "HEAD":
            for block in self.paced(first, end, query):
                self.wfile.write(block)
                self.server.count(address_of(self.path), len(block))

    def paced(self, first, end, query):
        rate = int(query.get("rate", 0))
        step = max(1, min(BLOCK, rate // 20)) if rate else BLOCK
        began, sent = time.monotonic(), 0
        while first < end and not self.server.ended.is_set():
            count = min(step, end - first)
            yield content(first, first + count)
            first, sent = first + count, sent + count
            if rate:
                time.sleep(max(0, began + sent / rate - time.monotonic()))

    def log_message(self, *_):
        pass


class Site(LoopbackServer):
    request_queue_size = 512

    def __init__(self):
        super().__init__(Handler)
        self.ended, self.lock = threading.Event(), threading.Lock()
        self.sent, self.requests = Counter(), []
        self.serve()

    def note(self, path, headers):
        with self.lock:
            self.requests.append((path, dict(headers)))

    def count(self, path, count):
        with self.lock:
            self.sent[path] += count

    def __exit__(self, *reason):
        self.ended.set()
        super().__exit__(*reason)
