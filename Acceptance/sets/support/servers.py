"""Web servers of Debian on loopback, each with the index pages that it makes, and a server whose pages are hostile."""
import html
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler

from lib.loopback import LoopbackServer
from lib.measure import Failed
from lib.ports import free_port

PLACES = (*os.environ.get("PATH", "").split(":"), "/usr/sbin", "/usr/bin")
LONGEST_SECONDS = 15

NGINX = """{user} daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/nginx.log;
events {{ worker_connections 256; }}
http {{
    access_log off; {places} charset utf-8;
    server {{
        listen 127.0.0.1:{port}; root {root}; autoindex on; autoindex_format {form};
    }}
}}
"""
APACHE = """ServerName localhost
Listen 127.0.0.1:{port}
PidFile {folder}/apache.pid
ErrorLog {folder}/apache.log
DefaultRuntimeDir {folder}
{user}
LoadModule mpm_event_module {modules}/mod_mpm_event.so
LoadModule authz_core_module {modules}/mod_authz_core.so
LoadModule autoindex_module {modules}/mod_autoindex.so
LoadModule dir_module {modules}/mod_dir.so
DocumentRoot {root}
IndexOptions {options} Charset=UTF-8
<Directory />
    Options Indexes FollowSymLinks
    Require all granted
</Directory>
"""
LIGHTTPD = """server.document-root = "{root}"
server.bind = "127.0.0.1"
server.port = {port}
server.errorlog = "{folder}/lighttpd.log"
server.modules = ("mod_dirlisting", "mod_staticfile")
dir-listing.activate = "enable"
dir-listing.encoding = "utf-8"
"""


def find(name):
    return shutil.which(name, path=":".join(PLACES))


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        file.write(text)
    return path


def nginx(program, folder, root, port, form="html"):
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    # Under root, the workers would otherwise run as a user that cannot enter every parent folder.
    user = "user root;" if os.geteuid() == 0 else ""
    path = write(folder, "nginx.conf", NGINX.format(
        folder=folder, root=root, port=port, form=form, user=user,
        places=" ".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)))
    return [program, "-c", path, "-e", f"{folder}/nginx.log"]


def apache(program, folder, root, port, options="None"):
    modules = os.path.join(os.path.dirname(os.path.dirname(program)), "lib/apache2/modules")
    # The workers have a user of their own under root, which Debian's build takes from the configuration.
    user = f"LoadModule unixd_module {modules}/mod_unixd.so\nUser www-data\nGroup www-data" if os.geteuid() == 0 and \
        os.path.exists(f"{modules}/mod_unixd.so") else ""
    path = write(folder, "apache.conf", APACHE.format(
        folder=folder, root=root, port=port, modules=modules, options=options, user=user))
    return [program, "-f", path, "-D", "FOREGROUND"]


def caddy(program, folder, root, port):
    return [program, "file-server", "--browse", "--listen", f"127.0.0.1:{port}", "--root", root]


def lighttpd(program, folder, root, port):
    modules = os.path.join(os.path.dirname(os.path.dirname(program)), "lib/lighttpd")
    return [program, "-D", "-f", write(folder, "lighttpd.conf", LIGHTTPD.format(folder=folder, root=root, port=port)),
            "-m", modules]


def python(program, folder, root, port):
    return [program, "-m", "http.server", str(port), "--bind", "127.0.0.1", "--directory", root]


# Name, program, and the command that serves a folder.
KINDS = (
    ("Python", sys.executable, python),
    ("nginx", "nginx", nginx),
    ("nginx, JSON", "nginx", lambda *all: nginx(*all, form="json")),
    ("Apache", "apache2", apache),
    ("Apache, fancy", "apache2", lambda *all: apache(*all, options="FancyIndexing HTMLTable")),
    ("Caddy", "caddy", caddy),
    ("lighttpd", "lighttpd", lighttpd),
)


class Served:
    """A server of a folder, until the end of the `with`."""

    def __init__(self, program, command, folder, root):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        environment = {**os.environ, "HOME": folder, "XDG_DATA_HOME": folder, "XDG_CONFIG_HOME": folder}
        self.log = open(os.path.join(folder, "server.log"), "w")
        self.process = subprocess.Popen(command(program, folder, root, self.port), cwd=folder, env=environment,
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
                                        start_new_session=True)
        patience = time.monotonic() + LONGEST_SECONDS
        while True:
            try:
                return socket.create_connection(("127.0.0.1", self.port)).close()
            except OSError:
                if self.process.poll() is not None or time.monotonic() > patience:
                    self.__exit__()
                    with open(self.log.name) as file:
                        raise Failed(f"{program} does not serve: {file.read()[-500:]}") from None
                time.sleep(0.05)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # Some of them have workers, which are in the process's own group.
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(LONGEST_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
        self.log.close()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.asked.append(self.path)
        path = self.path.partition("?")[0]
        links = self.server.links(path)
        body, kind = (b"bytes of " + path.encode(), "application/octet-stream") if links is None else (
            "".join(f'<a href="{html.escape(each)}">x</a>\n' for each in links).encode(), "text/html; charset=utf-8")
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", '"1"')
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    do_HEAD = do_GET

    def log_message(self, *_):
        pass


class Pages(LoopbackServer):
    """A server of pages. `links(path)` returns the links of a page; `None` for a file."""

    def __init__(self, links):
        super().__init__(Handler)
        self.links, self.asked = links, []
        self.serve()
