"""The process behind `server.Server`: sends one file as the plan (JSON, first argument) describes.

    file              path of the served file, which any name returns
    tag               the strong ETag, without quotes
    rate              bytes per second for each connection (none: unlimited)
    total_rate        bytes per second for all connections together
    rhythm            [[seconds, bytes per second], …]: the rates of all connections together, in turns that repeat; a
                      turn of 0 bytes per second is a pause, and one of `null` seconds lasts until the connection closes
    keeps_log         remembers when each byte was sent, for the line `log`
    odd               {"every": 5, "rate": …} or {"every": 5, "freeze_after": bytes}: every fifth connection is
                      slower, or sends that many bytes and then stalls without closing
    refuse            {"above": 2, "how": "429" or "reset"}: the answer to a request while that many are being answered
    flip_every        one byte in that many is wrong
    links             "cut" or "run on": a request needs a query with token=NANOSECONDS, the time (since 1970) from
                      which it is refused with 403; at that time a running body is cut, or runs on

The process speaks lines of JSON: first its port, then the counts for each line that it reads. The line `reset N`
restarts all counts. Connections are counted from 0 again, and number N, N + every, … are the odd ones. The line `log`
is answered with the slices sent since the last `log`, each as [time, first, end] with the system-wide monotonic clock.
The line `hurry` ends the rhythm. The process ends with its input.
"""
import json
import mmap
import os
import select
import signal
import socket
import struct
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.dont_write_bytecode = True
from lib.pace import Pace, Rhythm  # noqa: E402
from lib.ranges import answer  # noqa: E402

UNPACED_SLICE = 1 << 14  # small, because bytes in flight are not counted yet
SEND_BUFFER = 1 << 18  # small, so that bytes counted as sent have nearly arrived
# A client that has just closed a connection may open another before this process has noticed the close.
REFUSAL_GRACE_SECONDS = 0.1


class Counts:
    def __init__(self):
        self.lock = threading.Lock()
        self.open = self.answering = 0
        self.reset()

    def reset(self):
        with self.lock:
            self.values = {"bytes": 0, "connections": 0, "requests": 0, "refusals": 0,
                           "most_open": 0, "most_answering": 0, "first_request": None}

    def add(self, name, count=1):
        with self.lock:
            self.values[name] += count
            return self.values[name]

    def connection(self, change):
        with self.lock:
            self.open += change
            self.values["most_open"] = max(self.values["most_open"], self.open)

    def begin_answer(self, ceiling):
        """Returns whether another request may be answered, and counts it if so."""
        with self.lock:
            if ceiling is not None and self.answering >= ceiling:
                return False
            self.answering += 1
            self.values["most_answering"] = max(self.values["most_answering"], self.answering)
            return True

    def end_answer(self):
        with self.lock:
            self.answering -= 1

    def shown(self):
        with self.lock:
            return dict(self.values, open=self.open, answering=self.answering)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self):
        super().setup()
        server = self.server
        self.counts = server.counts
        odd = server.plan.get("odd")
        number = server.number_of.pop(self.connection)
        manner = dict(server.plan, **odd) if odd and number % odd["every"] == server.phase else server.plan
        self.pace = Pace(manner["rate"]) if manner.get("rate") else None
        self.left_before_freeze = manner.get("freeze_after")
        self.counts.connection(1)

    def finish(self):
        self.counts.connection(-1)
        super().finish()

    def do_HEAD(self):
        self.do_GET(has_body=False)

    def do_GET(self, has_body=True):
        with self.counts.lock:
            self.counts.values["requests"] += 1
            if self.counts.values["first_request"] is None:
                self.counts.values["first_request"] = time.monotonic()
        self.expires = self.link_expiry()
        if self.expires is not None and time.time_ns() >= self.expires:
            self.refuse(403)
            return
        if not self.may_answer():
            return
        try:
            content = self.server.content
            status, first, end = answer(self.headers, len(content), self.server.tag)
            self.send_response(status)
            self.send_header("Accept-Ranges", "bytes")
            self.send_header("ETag", self.server.tag)
            self.send_header("Content-Type", "application/octet-stream")
            self.send_header("Content-Length", str(end - first))
            if status == 206:
                self.send_header("Content-Range", f"bytes {first}-{end - 1}/{len(content)}")
            if status == 416:
                self.send_header("Content-Range", f"bytes */{len(content)}")
            self.end_headers()
            if has_body:
                self.send_bytes(content, first, end)
        except OSError:
            self.close_connection = True
        finally:
            self.counts.end_answer()

    def link_expiry(self):
        """Returns when the request's link expires, in nanoseconds since 1970, or `None` if links do not expire."""
        if not self.server.plan.get("links"):
            return None
        token = parse_qs(urlsplit(self.path).query).get("token", ["0"])[0]
        return int(token) if token.isdecimal() else 0

    def refuse(self, status):
        self.counts.add("refusals")
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def may_answer(self):
        refuse = self.server.plan.get("refuse", {})
        patience = time.monotonic() + REFUSAL_GRACE_SECONDS
        while not self.counts.begin_answer(refuse.get("above")):
            if time.monotonic() < patience:
                time.sleep(0.01)
                continue
            self.counts.add("refusals")
            self.close_connection = True
            if refuse["how"] == "reset":
                # SO_LINGER with 0 seconds makes the later close of the connection a reset.
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            else:
                self.send_response(int(refuse["how"]))
                self.send_header("Content-Length", "0")
                self.send_header("Connection", "close")
                self.end_headers()
            return False
        return True

    def send_bytes(self, content, first, end):
        paces = [pace for pace in (self.pace, self.server.total_pace, self.server.rhythm) if pace]
        for pace in paces:
            pace.begin()
        step = min([pace.slice() for pace in paces], default=UNPACED_SLICE)
        here = first
        while here < end:
            count = min(step, end - here)
            if self.left_before_freeze is not None:
                if self.left_before_freeze == 0:
                    self.wait_for_close()
                    raise ConnectionError
                count = min(count, self.left_before_freeze)
                self.left_before_freeze -= count
            for pace in paces:
                if not pace.take(count, self.is_closed):
                    raise ConnectionError
            if self.server.plan.get("links") == "cut" and time.time_ns() >= self.expires:
                raise ConnectionError
            # The client may have closed the connection during the wait. The bytes would then reach nobody, and the log
            # must not have them.
            if self.server.log is not None and self.is_closed():
                raise ConnectionError
            self.connection.sendall(content[here:here + count])
            if self.server.log is not None:
                self.server.log.append((time.monotonic(), here, here + count))
            here += count
            self.counts.add("bytes", count)

    def is_closed(self):
        poll = select.poll()
        poll.register(self.connection, select.POLLRDHUP)
        return bool(poll.poll(0))

    def wait_for_close(self):
        poll = select.poll()
        poll.register(self.connection, select.POLLRDHUP)
        poll.poll()

    def log_message(self, *_):
        pass


class FileServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, plan):
        super().__init__(("127.0.0.1", 0), Handler)
        self.plan = plan
        self.tag = f'"{plan.get("tag", "v1")}"'
        self.counts = Counts()
        self.number_of = {}
        self.phase = 0
        self.total_pace = Pace(plan["total_rate"]) if plan.get("total_rate") else None
        self.rhythm = Rhythm(plan["rhythm"]) if plan.get("rhythm") else None
        self.log = [] if plan.get("keeps_log") else None
        with open(plan["file"], "rb") as file:
            self.content = memoryview(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ))
        if plan.get("flip_every"):
            wrong = bytearray(self.content)
            for place in range(plan["flip_every"] // 3, len(wrong), plan["flip_every"]):
                wrong[place] ^= 0xFF
            self.content = memoryview(wrong)

    def get_request(self):
        connection, address = super().get_request()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
        self.number_of[connection] = self.counts.add("connections") - 1
        return connection, address

    def shutdown_request(self, request):
        # The base class would shut the connection down in order before it closes it. A reset must not do that.
        if request.getsockopt(socket.SOL_SOCKET, socket.SO_LINGER, 8)[:1] == b"\x01":
            request.close()
        else:
            super().shutdown_request(request)

    def handle_error(self, *_):
        pass  # clients may disconnect at any time


def main():
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # only the end of the input ends this process
    server = FileServer(json.loads(sys.argv[1]))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(json.dumps(server.server_address[1]), flush=True)
    for line in sys.stdin:
        word, *phase = line.split()
        if word == "reset":
            server.phase = int(phase[0])
            server.counts.reset()
        if word == "hurry":
            server.rhythm = None
        if word == "log":
            # Slices that are appended meanwhile belong to the next answer.
            count = len(server.log)
            print(json.dumps(server.log[:count]), flush=True)
            del server.log[:count]
            continue
        print(json.dumps(server.counts.shown()), flush=True)


if __name__ == "__main__":
    main()
