"""The environment of a benchmark: its folders, served files, nginx, programs, and environment variables."""
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
        """Returns a random file below nginx's root, kept in the page cache so that only the receiver uses the disk."""
        path = os.path.join(self.root, name)
        if not os.path.exists(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            write_random(path, size)
        read_through(path)
        return path

    def large(self):
        """Returns the file of --size MiB."""
        return self.served("large", self.options.size * MIB)

    def size_text(self):
        size = self.options.size
        return f"{size // 1024} GiB" if size % 1024 == 0 else f"{size} MiB"

    def phase(self, turn):
        """Returns which of five connections is odd. It changes with each round and is the same for every tool."""
        return 4 - turn % 5 if self.options.phase is None else self.options.phase

    @contextmanager
    def folder(self, stays=False):
        """Yields an empty folder for one run, and an environment without settings and proxies. Syncs the disk first.

        `stays` keeps the folder until the end of the benchmark. ext4 reuses freed inodes slowly, so after the removal
        of thousands of files any tool that creates thousands of files has to wait.
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

    # Commands of the programs. Each writes to "out" in the working folder.

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
        """Returns the command of haul, or of the peer with --without-haul, for cases that look at Haul alone."""
        return peer if self.options.without_haul else haul
