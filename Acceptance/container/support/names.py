"""A name server of one address, and an HTTPS server with a certificate of its own."""
import http.server
import os
import socket
import ssl
import struct
import subprocess
import threading

KIND_A, CLASS_IN = 1, 1


class NameServer:
    """Answers every question for an A record with 127.0.0.1, at the port that resolvers use."""

    def __init__(self):
        self.names = set()
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 53))
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            message, sender = self.socket.recvfrom(512)
            self.socket.sendto(self.answer(message), sender)

    def answer(self, message):
        end, labels = 12, []
        while message[end]:
            labels.append(message[end + 1:end + 1 + message[end]].decode())
            end += 1 + message[end]
        end += 1
        kind, = struct.unpack_from("!H", message, end)
        self.names.add(".".join(labels))
        has_answer = kind == KIND_A
        head = message[:2] + struct.pack("!HHHHH", 0x8180, 1, int(has_answer), 0, 0)
        # The name of the answer is a pointer to that of the question.
        answer = struct.pack("!HHHIH", 0xC00C, KIND_A, CLASS_IN, 60, 4) + socket.inet_aton("127.0.0.1")
        return head + message[12:end + 4] + (answer if has_answer else b"")


class SecureServer:
    """Serves `content` under every path. `certificate` is the path of its certificate, which nobody else has signed."""

    def __init__(self, folder, name, content):
        self.certificate, key = (os.path.join(folder, f"{name}.{kind}") for kind in ("crt", "key"))
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
             "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}", "-keyout", key, "-out", self.certificate],
            check=True, capture_output=True)

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            def handle_error(self, request, client_address):
                pass  # A client that refuses the certificate closes the connection.

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, key)
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.url = f"https://{name}:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
