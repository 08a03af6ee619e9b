"""Runs hostile cases against one daemon and reports after each whether the daemon is unharmed."""

import json
import os
import select
import socket
import time

from lib.aria2 import Daemon

CALL = {"jsonrpc": "2.0", "id": "1", "method": "aria2.getVersion"}


def no_success(answer):
    """Whether an answer, as text, has no status of success. The connection may be closed without any."""
    return "HTTP/1.1 2" not in str(answer)


class Trial:
    def __init__(self, binary, folder, secret, confined=False):
        self.binary, self.folder, self.secret, self.confined = binary, folder, secret, confined
        self.number, self.cases, self.daemon = 0, 0, None
        self.bad = []

    def start(self):
        self.number += 1
        folder = os.path.join(self.folder, str(self.number))
        os.makedirs(folder)
        options = ["--max-concurrent-downloads=50"]
        if self.confined:
            options.append(f"--haul-root={os.path.join(folder, 'downloads')}")
        self.daemon = Daemon(self.binary, folder, *options, secret=self.secret)
        self.token = f"token:{self.secret}"

    def case(self, name, act, refused=None, most_mib=64):
        """Runs `act` and prints its answer. `refused` returns whether the answer is a refusal, if one is wanted."""
        if self.daemon is None or self.daemon.process.poll() is not None:
            self.start()
        self.cases += 1
        self.daemon.forget_peak()
        before, begin = self.daemon.memory(), time.monotonic()
        try:
            answer = act(self)
        except Exception as failure:
            answer = f"{type(failure).__name__}: {failure}"
        seconds = time.monotonic() - begin
        alive = self.daemon.answers()
        code = self.daemon.process.poll()
        growth = max(self.daemon.memory("VmHWM"), self.daemon.memory()) - before
        faults = []
        if code is not None:
            faults.append(f"ENDED with {code}")
        elif not alive:
            faults.append("DOES NOT ANSWER")
            self.daemon.stop()
        if refused is not None and not refused(answer):
            faults.append("NOT REFUSED")
        if growth > most_mib:
            faults.append("MUCH MEMORY")
        shown = " ".join(str(answer).split())
        shown = shown if len(shown) <= 150 else shown[:150] + "…"
        said = "".join(f", {fault}" for fault in faults)
        print(f"{'!! ' if faults else ''}{name}: {shown} ({seconds:.1f} s, {growth:+.1f} MiB){said}", flush=True)
        if faults:
            self.bad.append(f"{name}: {', '.join(faults)}")

    def asked(self, method="aria2.getVersion", *params, path="/jsonrpc", headers=None, token=True):
        """Calls a method by POST and returns status and answer."""
        body = json.dumps({**CALL, "method": method, "params": [*([self.token] if token else []), *params]})
        return self.posted(body, path, headers)

    def posted(self, body, path="/jsonrpc", headers=None, method="POST"):
        status, _, answer = self.daemon.post(
            body.encode() if isinstance(body, str) else body, path, method, headers, timeout=30
        )
        return status, answer[:2000].decode(errors="replace")

    def connected(self, timeout=10):
        return socket.create_connection(("127.0.0.1", self.daemon.port), timeout=timeout)

    def sent(self, *parts, most=None, wait=3):
        """Sends the bytes. Returns the answer up to a pause of `wait` seconds, and the number of bytes sent."""
        with self.connected() as client:
            count, got = 0, b""
            try:
                for part in parts:
                    for first in range(0, len(part), 1 << 20):
                        block = part[first : first + (1 << 20)]
                        client.sendall(block)
                        count += len(block)
                    if select.select([client], [], [], 0)[0]:
                        break
            except OSError:
                pass
            client.settimeout(wait)
            try:
                while len(got) < 4000:
                    part = client.recv(65536)
                    if not part:
                        got += b" [closed]"
                        break
                    got += part
            except TimeoutError:
                got += b" [open]"
            except OSError as failure:
                got += f" [{type(failure).__name__}]".encode()
        return (
            f"took {count / 1e6:.1f} MB; {got.decode(errors='replace')}"
            if count > 100_000
            else got.decode(errors="replace")
        )
