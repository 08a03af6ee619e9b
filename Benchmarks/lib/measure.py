"""Measures one process: its own wall seconds, CPU seconds and peak memory."""
import ctypes
import os
import select
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass

# Linux adds the peak memory of the forking process to that of the program, which would give every small program
# Python's peak. So a shell of about 1 MiB forks. The child waits for a line, at which the clock starts, and the
# orphaned child becomes ours.
STARTER = 'exec 3<&0; { read -r go <&3 && exec "$@" 3<&-; } >/dev/null & echo $!'
PR_SET_CHILD_SUBREAPER = 36
LONGEST_SECONDS = 1800


class Failed(Exception):
    """A program ended with a status other than 0, or left a wrong result."""


@dataclass
class Run:
    wall: float
    cpu: float
    peak_mib: float
    status: int  # negative: the signal that ended the program
    errors: str


class Process:
    """A started program. `began` is a time of the system-wide monotonic clock."""

    def __init__(self, command, folder, environment):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self.command = command
        self.errors = tempfile.TemporaryFile()
        gate, opener = os.pipe()
        shell = subprocess.Popen(
            ["/bin/sh", "-c", STARTER, "sh", *command], cwd=folder, env=environment,
            stdin=gate, stdout=subprocess.PIPE, stderr=self.errors)
        self.pid = int(shell.stdout.readline())
        shell.stdout.close()
        shell.wait()
        os.close(gate)
        self.handle = os.pidfd_open(self.pid)
        self.began = time.monotonic()
        os.write(opener, b"go\n")
        os.close(opener)

    def has_ended(self, within=0.0):
        """Waits at most `within` seconds for the end. An interruption of this program also kills the other."""
        try:
            return bool(select.select([self.handle], [], [], within)[0])
        except BaseException:
            self.kill()
            raise

    def seconds(self):
        """Returns the seconds since the start."""
        return time.monotonic() - self.began

    def kill(self):
        signal.pidfd_send_signal(self.handle, signal.SIGKILL)

    def wait(self):
        if not self.has_ended(LONGEST_SECONDS):
            self.kill()
        _, status, usage = os.wait4(self.pid, 0)
        wall = self.seconds()
        os.close(self.handle)
        self.errors.seek(0)
        errors = self.errors.read().decode(errors="replace").strip()
        self.errors.close()
        cpu, peak_mib = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
        return Run(wall, cpu, peak_mib, os.waitstatus_to_exitcode(status), errors)


def measure(command, folder, environment):
    """Runs a program to its end and raises `Failed` unless its status is 0."""
    run = Process(command, folder, environment).wait()
    if run.status != 0:
        raise Failed(f"{' '.join(command)} ended with {run.status}: {run.errors[-500:]}")
    return run
