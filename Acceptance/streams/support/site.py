"""A server of a stream on loopback, which remembers each request for a segment."""
import select
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler

from lib.loopback import LoopbackServer
from lib.measure import Failed
from lib.pace import Pace

UNPACED_SLICE = 1 << 16
LONGEST_SECONDS = 30
LISTENING, TIME_WAIT = "0A", "06"  # states in /proc/net/tcp


@dataclass
class Request:
    """A request for a segment. The times are of the system-wide monotonic clock."""

    segment: object
    life: int  # the run of the client, counted by the trial
    began: float
    status: int = 0
    answered: float | None = None  # when the last byte of the answer was sent


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self):
        super().setup()
        self.pace = Pace(self.server.rate) if self.server.rate else None
        self.server.opened(1)

    def finish(self):
        self.server.opened(-1)
        super().finish()

    def do_GET(self):
        segment, answer = self.server.find(self.path, self.headers.get("Range"))
        request = self.server.note(segment) if segment is not None else None
        try:
            self.reply(*answer, pace=self.pace if request else None)
        except OSError:
            self.close_connection = True
            return
        if request:
            request.status, request.answered = answer[0], time.monotonic()

    def reply(self, status, body=b"", fields=(), pace=None):
        self.send_response(status)
        for name, value in (*fields, ("Content-Length", str(len(body)))):
            self.send_header(name, value)
        self.end_headers()
        if pace:
            pace.begin()
        step = pace.slice() if pace else UNPACED_SLICE
        for start in range(0, len(body), step):
            piece = body[start:start + step]
            if pace:
                pace.take(len(piece))
                if self.is_closed():
                    raise ConnectionError
            self.connection.sendall(piece)

    def is_closed(self):
        poll = select.poll()
        poll.register(self.connection, select.POLLRDHUP)
        return bool(poll.poll(0))

    def log_message(self, *_):
        pass


class Site(LoopbackServer):
    """`find(path, range)` returns the segment that a request is for, or `None`, and the answer: status, body, fields.

    `rate` is the bytes per second of each connection for segments; `None` for no limit. The trial counts up `life`.
    """

    request_queue_size = 128

    def __init__(self, find, rate=None):
        super().__init__(Handler)
        self.find, self.rate = find, rate
        self.lock = threading.Lock()
        self.life = 0
        self.connections = 0
        self.requests = []
        self.serve()

    def note(self, segment):
        with self.lock:
            self.requests.append(Request(segment, self.life, time.monotonic()))
            return self.requests[-1]

    def opened(self, change):
        with self.lock:
            self.connections += change

    def asked(self):
        """Returns the requests for segments so far."""
        with self.lock:
            return list(self.requests)

    def begin_life(self):
        """Counts the next run of the client, once the connections of the last one are closed.

        Those that wait to be accepted may have a request too, which would count for the next run.
        """
        patience = time.monotonic() + LONGEST_SECONDS
        while self.connections > 0 or self.has_sockets():
            if time.monotonic() > patience:
                raise Failed("the connections of a killed run are still open")
            time.sleep(0.005)
        self.life += 1

    def has_sockets(self):
        with open("/proc/net/tcp") as table:
            sockets = [line.split()[1:4] for line in table.readlines()[1:]]
        return any(int(local.split(":")[1], 16) == self.server_address[1] and state not in (LISTENING, TIME_WAIT)
                   for local, _, state in sockets)
