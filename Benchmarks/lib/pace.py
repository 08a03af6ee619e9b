"""Evenly paced sending: one for a connection, or one that all connections share."""
import threading
import time

SLICE_SECONDS = 0.01
# What a late wake-up may catch up with. More would make bursts.
CREDIT_SECONDS = 0.05


class Pace:
    def __init__(self, bytes_per_second):
        self.bytes_per_second = bytes_per_second
        self.next = time.monotonic()
        self.lock = threading.Lock()

    def begin(self):
        """A pause between two answers is not made up for."""
        with self.lock:
            self.next = max(self.next, time.monotonic())

    def slice(self):
        """Bytes to send at once."""
        return max(1024, int(self.bytes_per_second * SLICE_SECONDS))

    def take(self, count):
        """Sleeps until `count` bytes may be sent."""
        with self.lock:
            now = time.monotonic()
            due = max(self.next, now - CREDIT_SECONDS)
            self.next = due + count / self.bytes_per_second
        if due > now:
            time.sleep(due - now)
