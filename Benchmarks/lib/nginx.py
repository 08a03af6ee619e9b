"""nginx on loopback: plain, with TLS, and with a rate limit per connection."""
import os
import signal
import socket
import subprocess
import time

from lib.ports import free_port

CONFIGURATION = """
{user} worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
    access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000; default_type application/octet-stream;
    {places}
    root {root};
    server {{
        listen 127.0.0.1:{http};
        listen 127.0.0.1:{https} ssl;
        ssl_certificate {certificate}; ssl_certificate_key {key};
        # The same files: as they are, at so many MiB/s a connection, with a line in a log for each request.
        location /5m/ {{ limit_rate 5m; alias {root}/; }}
        location /weak/ {{
            limit_rate 5m; alias {root}/; etag off; add_header ETag 'W/"v1"'; add_header Last-Modified "";
        }}
        location /unnamed/ {{ limit_rate 5m; alias {root}/; etag off; add_header Last-Modified ""; }}
        location /40m/ {{ limit_rate 40m; alias {root}/; }}
        location /logged/ {{ access_log {folder}/requests.log; alias {root}/; }}
    }}
}}
"""


class Nginx:
    def __init__(self, folder, root):
        self.folder = folder
        ports = {"http": free_port(), "https": free_port()}
        self.http, self.https = (f"{scheme}://localhost:{port}" for scheme, port in ports.items())
        self.certificate, key = os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem")
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
             "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", self.certificate],
            check=True, capture_output=True)
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        places = " ".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
        # Under root, the workers would otherwise run as a user that cannot enter every parent folder.
        user = "user root;" if os.geteuid() == 0 else ""
        path = os.path.join(folder, "nginx.conf")
        with open(path, "w") as file:
            file.write(CONFIGURATION.format(
                user=user, folder=folder, root=root, places=places, certificate=self.certificate, key=key, **ports))
        subprocess.run(["/usr/sbin/nginx", "-c", path, "-e", f"{folder}/error.log"], check=True)
        for _ in range(100):
            try:
                socket.create_connection(("127.0.0.1", ports["http"])).close()
                return
            except ConnectionRefusedError:
                time.sleep(0.05)

    def logged_requests(self):
        with open(os.path.join(self.folder, "requests.log")) as file:
            return sum(1 for _ in file)

    def stop(self):
        with open(os.path.join(self.folder, "pid")) as file:
            os.kill(int(file.read()), signal.SIGTERM)
