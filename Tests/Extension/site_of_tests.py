"""A web site: pages with links, files that need a cookie, links that expire, a film."""
import re, threading, urllib.parse

from rig import Source

PLAYLISTS = {
    "/film/master.m3u8": "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=800000,RESOLUTION=640x360\nlow.m3u8\n#EXT-X-STREAM-INF:BANDWIDTH=5100000,RESOLUTION=1920x1080\nhigh.m3u8\n",
    "/film/high.m3u8": "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\none.ts\n#EXT-X-ENDLIST\n",
}


class Site(Source):
    playlists = PLAYLISTS
    # Path and fields of each request.
    seen = []
    # Tokens with which links to /signed work.
    tokens = set()
    cut = threading.Event()

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        self.seen.append((self.path, dict(self.headers.items())))
        if url.path == "/page":
            self.send(200, b"<!doctype html><title>%s</title><body>%s" % (query.get("title", "A page").encode(), query.get("body", "").encode()), {"Content-Type": "text/html; charset=utf-8"})
        elif url.path == "/cookies":
            self.send(200, b"ok", [("Set-Cookie", "%s=%s; HttpOnly; Path=/" % pair) for pair in query.items()])
        elif url.path.startswith("/members/"):
            # Who is not signed in gets a page of another length.
            known = "member=%s" % query["member"] in self.headers.get("Cookie", "")
            self.file(b"m" * 400_000) if known else self.send(200, b"<p>Sign in", {"Content-Type": "text/html"})
        elif url.path.startswith("/signed/"):
            self.signed(query)
        elif url.path == "/film/one.ts":
            # Packets of a transport stream (ISO 13818-1) that are no stuffing, which alone is no film.
            self.file((b"\x47\x01\x00\x10" + b"\xff" * 184) * 100)
        elif url.path == "/form":
            self.send(405, b"", {})
        else:
            super().do_GET()

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.file(b"p" * 400_000)

    def signed(self, query):
        if query["token"] not in self.tokens:
            return self.send(403, b"expired", {})
        # `version` stands for another file of the same length.
        letter = query.get("version", "s").encode()
        self.file(letter * 3_000_000, hold=query.get("hold"), tag=letter.decode())

    def file(self, body, hold=None, tag="one"):
        first, status = 0, 200
        asked = re.match(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or "")
        last = len(body) - 1
        if asked and self.headers.get("If-Range", '"%s"' % tag) == '"%s"' % tag:
            first, last, status = int(asked[1]), min(last, int(asked[2] or last)), 206
        fields = {"Content-Type": "application/octet-stream", "Content-Disposition": "attachment", "ETag": '"%s"' % tag, "Accept-Ranges": "bytes"}
        if status == 206:
            fields["Content-Range"] = "bytes %d-%d/%d" % (first, last, len(body))
        self.send(status, body[first:last + 1], fields, hold)

    def send(self, status, body, fields, hold=None):
        self.send_response(status)
        for name, value in fields.items() if isinstance(fields, dict) else fields:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "HEAD":
            return
        try:
            if hold:
                self.wfile.write(body[:int(hold)])
                self.wfile.flush()
                self.cut.wait()
                self.close_connection = True
            else:
                self.wfile.write(body)
        except OSError:
            pass
