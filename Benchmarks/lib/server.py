"""A server that misbehaves as planned. It runs in its own process (`serve`), to leave the measuring one undisturbed."""
import json
import os
import subprocess
import sys
import time


class Server:
    """Used as `with Server(file=…, rate=…) as server`. `serve` documents the plan."""

    def __init__(self, **plan):
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "serve.py")
        self.process = subprocess.Popen(
            [sys.executable, script, json.dumps(plan)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = json.loads(self.process.stdout.readline())
        self.url = f"http://127.0.0.1:{self.port}/file"

    def ask(self, question):
        self.process.stdin.write(question + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def counts(self):
        return self.ask("counts")

    def log(self):
        """Returns the slices sent since the last call, each as [time, first, end]. Needs `keeps_log`."""
        return self.ask("log")

    def hurry(self):
        """Ends the rhythm: later answers are sent without a limit."""
        return self.ask("hurry")

    def reset(self, phase=0):
        """Restarts the counts once all connections are closed, or after 5 s. `phase` is the first odd connection."""
        patience = time.monotonic() + 5
        while self.counts()["open"] > 0 and time.monotonic() < patience:
            time.sleep(0.02)
        return self.ask(f"reset {phase}")

    def taken_bytes(self):
        """Returns the bytes that clients have read: the bytes sent, less those in the socket buffers of both sides."""
        sent, waiting = self.counts()["bytes"], 0
        with open("/proc/net/tcp") as table:
            for line in table.readlines()[1:]:
                _, local, remote, _, queues = line.split()[:5]
                transmit, receive = (int(each, 16) for each in queues.split(":"))
                if int(local.split(":")[1], 16) == self.port and not remote.endswith(":0000"):
                    waiting += transmit
                elif int(remote.split(":")[1], 16) == self.port:
                    waiting += receive
        return max(0, sent - waiting)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
