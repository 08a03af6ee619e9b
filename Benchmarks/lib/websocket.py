"""A minimal WebSocket client (RFC 6455) for the trials, which can also break the protocol's rules."""

import base64
import json
import os
import socket
import struct

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


def frame(opcode, payload=b"", final=True, masked=True, reserved=0, length=None):
    """Returns the bytes of one frame. `length` overrides the length in the frame's head."""
    length = len(payload) if length is None else length
    head = bytes([(0x80 if final else 0) | reserved << 4 | opcode])
    mask = 0x80 if masked else 0
    if length < 126:
        head += bytes([mask | length])
    elif length < 1 << 16:
        head += bytes([mask | 126]) + struct.pack(">H", length)
    else:
        head += bytes([mask | 127]) + struct.pack(">Q", length)
    if not masked:
        return head + payload
    key = b"\x01\x02\x03\x04"
    whole = key * (len(payload) // 4 + 1)
    changed = int.from_bytes(payload, "big") ^ int.from_bytes(whole[: len(payload)], "big")
    return head + key + changed.to_bytes(len(payload), "big")


class WebSocket:
    """Connects. Raises ConnectionError with the answer's head if the server refuses the upgrade."""

    def __init__(self, port, path="/jsonrpc", timeout=10, **fields):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        self.rest = b""
        self.next_id = 0
        self.notifications = []
        asked = {
            "Host": f"127.0.0.1:{port}",
            "Upgrade": "websocket",
            "Connection": "Upgrade",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(),
            **{name.replace("_", "-"): value for name, value in fields.items()},
        }
        lines = [f"{name}: {value}" for name, value in asked.items() if value is not None]
        self.socket.sendall("\r\n".join([f"GET {path} HTTP/1.1", *lines, "", ""]).encode())
        while b"\r\n\r\n" not in self.rest:
            part = self.socket.recv(65536)
            if not part:
                break
            self.rest += part
        self.head, _, self.rest = self.rest.partition(b"\r\n\r\n")
        if b" 101 " not in self.head.split(b"\r\n")[0] + b" ":
            self.socket.close()
            raise ConnectionError(self.head.decode(errors="replace"))

    def send(self, text):
        self.socket.sendall(frame(TEXT, text.encode()))

    def read(self, count):
        while len(self.rest) < count:
            part = self.socket.recv(1 << 18)
            if not part:
                raise ConnectionError("closed")
            self.rest += part
        taken, self.rest = self.rest[:count], self.rest[count:]
        return taken

    def receive(self):
        """Returns opcode and payload of the next frame."""
        first, second = self.read(2)
        length = second & 0x7F
        if length == 126:
            length = struct.unpack(">H", self.read(2))[0]
        elif length == 127:
            length = struct.unpack(">Q", self.read(8))[0]
        return first & 0x0F, self.read(length)

    def message(self):
        """Returns the next text message, parsed as JSON."""
        while True:
            opcode, payload = self.receive()
            if opcode == CLOSE:
                raise ConnectionError(f"closed: {payload!r}")
            if opcode == PING:
                self.socket.sendall(frame(PONG, payload))
            if opcode == TEXT:
                return json.loads(payload)

    def ask(self, text):
        """Sends a text and returns its answer. Earlier notifications go to `notifications`."""
        self.send(text)
        while True:
            message = self.message()
            if isinstance(message, dict) and "method" in message:
                self.notifications.append(message)
            else:
                return message

    def call(self, method, *params):
        self.next_id += 1
        return self.ask(json.dumps({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params}))

    def gather(self, seconds):
        """Returns all notifications, read until none arrives for `seconds`."""
        self.socket.settimeout(seconds)
        try:
            while True:
                self.notifications.append(self.message())
        except TimeoutError:
            return self.notifications

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
