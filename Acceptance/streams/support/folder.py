"""Watches the names of a folder by inotify(7)."""
import ctypes
import os
import struct
import time

MODIFIED, MOVED_FROM, MOVED_TO, CREATED, DELETED = 0x2, 0x40, 0x80, 0x100, 0x200
OVERFLOW = 0x4000
KINDS = {MODIFIED: "modified", MOVED_FROM: "moved away", MOVED_TO: "moved here", CREATED: "created",
         DELETED: "deleted"}
HEAD = struct.Struct("iIII")


class FolderWatch:
    """Remembers each event as (time, kind, name). `read` takes in what has happened, and has to be called often."""

    def __init__(self, folder):
        library = ctypes.CDLL(None, use_errno=True)
        self.handle = library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self.handle < 0 or library.inotify_add_watch(self.handle, os.fsencode(folder), sum(KINDS)) < 0:
            raise OSError(ctypes.get_errno(), "inotify")
        self.events = []

    def read(self):
        """Returns the new events. Events that equal the one before them come only once."""
        begin = len(self.events)
        while True:
            try:
                data = os.read(self.handle, 1 << 16)
            except BlockingIOError:
                return self.events[begin:]
            now = time.monotonic()
            place = 0
            while place < len(data):
                _, mask, _, length = HEAD.unpack_from(data, place)
                name = data[place + HEAD.size:place + HEAD.size + length].rstrip(b"\0").decode()
                place += HEAD.size + length
                if mask & OVERFLOW:
                    raise OSError("the queue of inotify is full")
                self.events.append((now, KINDS.get(mask & sum(KINDS), "other"), name))

    def of(self, name):
        """Returns the kinds of all events of a name."""
        return [kind for _, kind, each in self.events if each == name]

    def close(self):
        os.close(self.handle)
