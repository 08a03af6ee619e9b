"""Runs the program under test as `aria2c` with a home folder of its own, with or without RPC."""

import http.client
import json
import os
import signal
import socket
import subprocess
import time

from lib.ports import free_port


def environment(binary, folder, **more):
    """Returns an environment in which `aria2c` is the binary and the home directory is below `folder`."""
    programs = os.path.join(folder, "bin")
    os.makedirs(programs, exist_ok=True)
    link = os.path.join(programs, "aria2c")
    if not os.path.lexists(link):
        os.symlink(os.path.realpath(binary), link)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "HAUL_"))}
    home, run = os.path.join(folder, "home"), os.path.join(folder, "run")
    for each in (home, run):
        os.makedirs(each, mode=0o700, exist_ok=True)
    return dict(kept, PATH=f"{programs}:{kept['PATH']}", HOME=home, XDG_RUNTIME_DIR=run, **more)


class RPCError(Exception):
    def __init__(self, error, status):
        super().__init__(error.get("message"))
        self.code, self.message, self.status = error.get("code"), error.get("message"), status


class Daemon:
    """Runs `aria2c --enable-rpc` on a free port until the `with` block ends."""

    def __init__(self, binary, folder, *options, secret=None, stderr=subprocess.DEVNULL):
        self.folder, self.secret, self.port = folder, secret, free_port()
        self.downloads = os.path.join(folder, "downloads")
        os.makedirs(self.downloads, exist_ok=True)
        # `--no-conf` ignores a configuration file of the user.
        self.command = [
            "aria2c",
            "--no-conf",
            "--enable-rpc",
            f"--rpc-listen-port={self.port}",
            f"--dir={self.downloads}",
            "--file-allocation=none",
            "--quiet",
            *([f"--rpc-secret={secret}"] if secret else []),
            *options,
        ]
        surroundings = environment(binary, folder)
        self.process = subprocess.Popen(
            self.command,
            env=surroundings,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            executable=os.path.join(folder, "bin", "aria2c"),
        )
        self.connection = None
        for _ in range(300):
            if self.process.poll() is not None:
                raise RuntimeError(f"{' '.join(self.command)} ended with {self.process.returncode}")
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.05)
        self.stop()
        raise RuntimeError(f"{' '.join(self.command)} does not listen")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def post(self, body, path="/jsonrpc", method="POST", headers=None, timeout=60):
        """Sends one request on a new connection and returns status, header fields (lower case) and body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request(method, path, body, headers if headers is not None else {})
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def call(self, method, *params, timeout=60):
        token = [f"token:{self.secret}"] if self.secret and not method.startswith("system.") else []
        asked = {"jsonrpc": "2.0", "id": "1", "method": method, "params": [*token, *params]}
        status, _, body = self.post(json.dumps(asked).encode(), timeout=timeout)
        answer = json.loads(body)
        if "error" in answer:
            raise RPCError(answer["error"], status)
        return answer["result"]

    def wait_for(self, gid, *states, seconds=30):
        """Waits until the download has one of these states and returns its status."""
        end = time.monotonic() + seconds
        while True:
            status = self.call("aria2.tellStatus", gid)
            if status["status"] in states:
                return status
            if time.monotonic() > end:
                raise RuntimeError(f"{gid} is {status['status']} after {seconds} s, not {' or '.join(states)}")
            time.sleep(0.05)

    def memory(self, field="VmRSS"):
        """Returns a memory field of /proc in MiB, or 0 if the process has ended."""
        try:
            with open(f"/proc/{self.process.pid}/status") as file:
                for line in file:
                    if line.startswith(field + ":"):
                        return int(line.split()[1]) / 1024
        except OSError:
            pass
        return 0.0

    def forget_peak(self):
        """Resets `VmHWM` to the current memory."""
        with open(f"/proc/{self.process.pid}/clear_refs", "w") as file:
            file.write("5")

    def cpu_seconds(self):
        with open(f"/proc/{self.process.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def answers(self, seconds=5):
        """Returns whether the daemon answers a call within `seconds`."""
        try:
            self.call("system.listMethods", timeout=seconds)
            return True
        except (OSError, ValueError, http.client.HTTPException, RPCError):
            return False

    def stop(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        return self.process.returncode
