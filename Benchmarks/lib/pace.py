"""Paced sending, evenly or in a rhythm. A pace belongs to one connection or to all connections together."""
import threading
import time

SLICE_SECONDS = 0.01
# Delay that a late wake-up may catch up with. A larger value would cause bursts.
CREDIT_SECONDS = 0.05


class Pace:
    def __init__(self, bytes_per_second):
        self.bytes_per_second = bytes_per_second
        self.next = time.monotonic()
        self.lock = threading.Lock()

    def begin(self):
        """Starts an answer. The pause since the last answer earns no credit."""
        with self.lock:
            self.next = max(self.next, time.monotonic())

    def slice(self):
        """Returns how many bytes to send at once."""
        return max(1024, int(self.bytes_per_second * SLICE_SECONDS))

    def take(self, count, is_closed=None):
        """Sleeps until `count` bytes may be sent. Always returns `True`."""
        with self.lock:
            now = time.monotonic()
            due = max(self.next, now - CREDIT_SECONDS)
            self.next = due + count / self.bytes_per_second
        if due > now:
            time.sleep(due - now)
        return True


class Rhythm:
    """Turns of seconds with a rate in bytes per second, repeated. They begin with the first answer."""

    POLL_SECONDS = 0.05

    def __init__(self, turns):
        self.turns = turns
        self.lock = threading.Lock()
        self.turn = None
        self.next = self.ends = 0.0

    def begin(self):
        """Starts an answer. It begins the first turn if there is no turn yet or the current one has no end."""
        with self.lock:
            if self.turn is None or self.ends is None:
                self.enter(0, time.monotonic())

    def enter(self, turn, now):
        self.turn = turn
        seconds = self.turns[turn][0]
        self.next, self.ends = now, None if seconds is None else now + seconds

    def slice(self):
        """Returns how many bytes to send at once."""
        return max(1024, int(max(rate for _, rate in self.turns) * SLICE_SECONDS))

    def take(self, count, is_closed):
        """Sleeps until `count` bytes may be sent. Returns `False` if the connection was closed meanwhile."""
        while True:
            with self.lock:
                now = time.monotonic()
                while self.ends is not None and now >= self.ends:
                    self.enter((self.turn + 1) % len(self.turns), self.ends)
                rate = self.turns[self.turn][1]
                if rate and self.next <= now:
                    self.next = max(self.next, now - CREDIT_SECONDS) + count / rate
                    return True
                wait = self.POLL_SECONDS if not rate else self.next - now
                if self.ends is not None:
                    wait = min(wait, self.ends - now)
            time.sleep(max(0, min(wait, self.POLL_SECONDS)))
            if is_closed():
                return False
