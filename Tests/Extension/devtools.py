"""A client of the DevTools protocol for one target: chromedriver reaches no service worker."""
import base64, json, os, socket, struct, urllib.parse, urllib.request


def targets(address):
    with urllib.request.urlopen("http://%s/json/list" % address, timeout=60) as answer:
        return json.load(answer)


class Target:
    """A connection to a target, over a WebSocket (RFC 6455) without extensions."""

    def __init__(self, url):
        parts = urllib.parse.urlsplit(url)
        self.socket = socket.create_connection((parts.hostname, parts.port), timeout=300)
        self.socket.sendall((
            "GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: %s\r\nSec-WebSocket-Version: 13\r\n\r\n"
            % (parts.path, parts.netloc, base64.b64encode(os.urandom(16)).decode())
        ).encode())
        self.file = self.socket.makefile("rb")
        assert b" 101 " in self.file.readline()
        while self.file.readline().strip():
            pass
        self.number = 0

    def send(self, text):
        data, mask = text.encode(), os.urandom(4)
        size = struct.pack("!BB", 0x81, 0x80 | len(data)) if len(data) < 126 else struct.pack("!BBQ", 0x81, 0x80 | 127, len(data))
        self.socket.sendall(size + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(data)))

    def receive(self):
        text = b""
        while True:
            first, size = self.file.read(2)
            size &= 127
            if size == 126:
                size, = struct.unpack("!H", self.file.read(2))
            elif size == 127:
                size, = struct.unpack("!Q", self.file.read(8))
            data = self.file.read(size)
            if first & 15 in (0, 1):
                text += data
                if first & 128:
                    return text

    def call(self, method, **parameters):
        self.number += 1
        self.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self.receive())
            if answer.get("id") == self.number:
                assert "error" not in answer, answer["error"]
                return answer["result"]

    def run(self, text):
        """Evaluates an expression, and waits for its promise."""
        result = self.call("Runtime.evaluate", expression=text, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def close(self):
        self.file.close()
        self.socket.close()
