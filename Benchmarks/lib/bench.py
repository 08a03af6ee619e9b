"""Where a benchmark works: its folders, the files that are served, nginx, the programs, their surroundings."""
import os
import shutil
import tempfile
from contextlib import contextmanager

from lib.content import MIB, read_through, write_random
from lib.nginx import Nginx


class Bench:
    def __init__(self, options, base):
        self.options = options
        self.binary = os.path.abspath(options.binary)
        os.makedirs(base, exist_ok=True)
        self.work = tempfile.mkdtemp(dir=os.path.abspath(base))
        self.root = os.path.join(self.work, "root")
        os.mkdir(self.root)
        self.nginx = Nginx(self.work, self.root)

    def close(self):
        self.nginx.stop()
        # nginx may still be removing its pid file.
        shutil.rmtree(self.work, ignore_errors=True)

    def served(self, name, size):
        """The path of a random file below nginx's root, in the page cache: the disk shall be the receiver's."""
        path = os.path.join(self.root, name)
        if not os.path.exists(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            write_random(path, size)
        read_through(path)
        return path

    def large(self):
        """The file of --size MiB."""
        return self.served("large", self.options.size * MIB)

    def size_text(self):
        size = self.options.size
        return f"{size // 1024} GiB" if size % 1024 == 0 else f"{size} MiB"

    def phase(self, turn):
        """Which connection of five is the odd one: another in each round, the same for every tool."""
        return 4 - turn % 5 if self.options.phase is None else self.options.phase

    @contextmanager
    def folder(self, stays=False):
        """An empty folder for one run, and its environment: no settings, no proxies, everything else written.

        `stays` leaves it until the end of all: ext4 is in no hurry to use inodes again that have just been freed, and whoever
        makes thousands of files after somebody's thousands were removed waits for that, whatever tool it is.
        """
        path = tempfile.mkdtemp(prefix="run-", dir=self.work)
        surroundings = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
        surroundings.update(HOME=path, HAUL_STATE_DIR=os.path.join(path, "state"))
        os.sync()
        try:
            yield path, surroundings
        finally:
            if not stays:
                shutil.rmtree(path, ignore_errors=True)

    # The programs, each writing to "out" in the working folder.

    def haul(self, *arguments, output="out"):
        place = ["-o", output] if output else []
        return [self.binary, "get", "--quiet", "--cacert", self.nginx.certificate, *place, *arguments]

    def curl(self, *arguments):
        return ["curl", "-sS", "--cacert", self.nginx.certificate, "-o", "out", *arguments]

    def aria2c(self, *arguments):
        return ["aria2c", "-q", "--ca-certificate=" + self.nginx.certificate, "-o", "out", *arguments]

    def wget(self, *arguments):
        return ["wget", "-q", "--ca-certificate=" + self.nginx.certificate, "-O", "out", *arguments]

    def axel(self, *arguments):
        return ["axel", "-q", "-o", "out", *arguments]

    def subject(self, haul, peer):
        """For cases that look at Haul alone: haul's command, or with --without-haul the peer's."""
        return peer if self.options.without_haul else haul
