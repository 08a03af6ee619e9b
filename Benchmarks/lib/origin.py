"""nginx with a folder of files, a rate limit per connection, and a log of the bytes sent."""
import hashlib
import os
import random
import signal
import socket
import subprocess
import time

from lib.ports import free_port

CONFIGURATION = """
{user} worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 4096; }}
http {{
    sendfile on; keepalive_requests 100000; default_type application/octet-stream; {places}
    log_format sent '$status $body_bytes_sent $connections_active $uri $msec $request_time $connection $http_range'; access_log {folder}/sent.log sent;
    server {{ listen 127.0.0.1:{port} backlog=4096; root {root}; {rate} }}
}}
"""


class Origin:
    def __init__(self, folder, rate=None):
        self.folder, self.port = folder, free_port()
        self.root = os.path.join(folder, "files")
        os.makedirs(self.root, exist_ok=True)
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        path = os.path.join(folder, "nginx.conf")
        with open(path, "w") as file:
            file.write(CONFIGURATION.format(
                user="user root;" if os.geteuid() == 0 else "", folder=folder, port=self.port, root=self.root,
                places=" ".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds),
                rate=f"limit_rate {rate};" if rate else ""))
        subprocess.run(["/usr/sbin/nginx", "-c", path, "-e", f"{folder}/error.log"], check=True)
        for _ in range(100):
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except ConnectionRefusedError:
                time.sleep(0.05)

    def fill(self, count, size, seed=1, folders=100):
        """Writes files of sizes from `size(random)` into so many folders. Returns {name: (bytes, sha256)}."""
        chance, made = random.Random(seed), {}
        for number in range(count):
            name = f"{number % folders:02d}/{number:07d}.bin"
            path = os.path.join(self.root, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            content = chance.randbytes(size(chance))
            with open(path, "wb") as file:
                file.write(content)
            made[name] = (len(content), hashlib.sha256(content).hexdigest())
        return made

    def url(self, name):
        return f"http://127.0.0.1:{self.port}/{name}"

    def sent(self):
        return sum(self.sent_of_each().values())

    def sent_of_each(self):
        """Returns {name: bytes of all responses}."""
        sent = {}
        with open(f"{self.folder}/sent.log") as file:
            for line in file:
                _, size, _, path = line.split()[:4]
                sent[path[1:]] = sent.get(path[1:], 0) + int(size)
        return sent

    def stop(self):
        with open(f"{self.folder}/pid") as file:
            os.kill(int(file.read()), signal.SIGTERM)
