"""An S3-compatible store that counts received bytes, for fleet/s3 of Acceptance and Benchmarks.

The store keeps the parts of an upload in one sparse file, so that an object of any size costs no memory, and verifies
the SHA-256 of each part. It supports only the requests of a worker's check and of an upload in parts, and no
signatures.
"""
import base64
import hashlib
import os
import re
import socket
import threading
import urllib.parse

BLOCK = 1 << 20


class CountingStore:
    def __init__(self, folder, part_size):
        self.folder, self.part_size = folder, part_size
        self.received = 0
        self.uploads, self.objects, self.started = {}, {}, 0
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def close(self):
        self.listener.close()

    def serve(self, connection):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            with connection, connection.makefile("rb", buffering=BLOCK) as stream:
                while line := stream.readline():
                    method, target, _ = line.decode().split()
                    fields = {}
                    while (line := stream.readline().strip()):
                        name, value = line.decode().split(":", 1)
                        fields[name.lower()] = value.strip()
                    status, headers, body = self.answer(method, target, fields, stream)
                    head = f"HTTP/1.1 {status} X\r\n" + "".join(f"{n}: {v}\r\n" for n, v in headers.items())
                    if "Content-Length" not in headers:
                        head += f"Content-Length: {len(body)}\r\n"
                    connection.sendall(head.encode() + b"\r\n" + body)
        except (OSError, ValueError, EOFError):
            pass  # The client was killed.

    def answer(self, method, target, fields, stream):
        path, _, query = target.partition("?")
        key = (urllib.parse.unquote(path) + "/").split("/", 2)[2][:-1]
        query = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        length = int(fields.get("content-length", 0))
        upload = query.get("uploadId")
        if method == "PUT" and upload:
            return self.part(upload, int(query["partNumber"]), length, fields, stream)
        body = stream.read(length)
        with self.lock:
            if upload and upload not in self.uploads:
                return self.error(404, "NoSuchUpload")
            if method == "HEAD" and not key:
                return 200, {"Content-Length": 0}, b""
            if method == "HEAD":
                if key not in self.objects:
                    return 404, {}, b""
                digest, size = self.objects[key]
                return 200, {"Content-Length": size, "ETag": '"x"', "x-amz-meta-haul-sha256": digest}, b""
            if method == "GET" and "uploads" in query:
                found = [f"<Upload><Key>{k}</Key><UploadId>{i}</UploadId></Upload>" for i, (k, _, _) in self.uploads.items()]
                return 200, {}, f"<ListMultipartUploadsResult>{''.join(found)}</ListMultipartUploadsResult>".encode()
            if method == "GET" and not upload:
                return 200, {}, b"<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>"
            if method == "GET":
                return 200, {}, self.list_parts(upload, int(query.get("part-number-marker", 0)))
            if method == "DELETE":
                del (self.uploads if upload else self.objects)[upload or key]
                return 204, {"Content-Length": 0}, b""
            if method == "PUT":
                if fields.get("if-none-match") == "*" and key in self.objects:
                    return self.error(412, "PreconditionFailed")
                self.objects[key] = (fields.get("x-amz-meta-haul-sha256", ""), len(body))
                return 200, {"ETag": '"x"', "Content-Length": 0}, b""
            if "uploads" in query:
                self.started += 1
                self.uploads[f"u{self.started}"] = (key, fields.get("x-amz-meta-haul-sha256", ""), {})
                return 200, {}, f"<R><UploadId>u{self.started}</UploadId></R>".encode()
            return self.complete(upload, body, fields)

    def part(self, upload, number, length, fields, stream):
        digest = hashlib.sha256()
        left, offset = length, (number - 1) * self.part_size
        file = os.open(os.path.join(self.folder, upload), os.O_WRONLY | os.O_CREAT)
        try:
            while left:
                block = stream.read1(min(left, BLOCK))
                if not block:
                    raise EOFError
                with self.lock:
                    self.received += len(block)
                digest.update(block)
                os.pwrite(file, block, offset)
                offset += len(block)
                left -= len(block)
        finally:
            os.close(file)
        if fields["x-amz-content-sha256"] not in (digest.hexdigest(), "UNSIGNED-PAYLOAD"):
            return self.error(400, "XAmzContentSHA256Mismatch")
        checksum = base64.b64encode(digest.digest()).decode()
        with self.lock:
            if upload not in self.uploads:
                return self.error(404, "NoSuchUpload")
            self.uploads[upload][2][number] = (length, checksum)
        return 200, {"ETag": f'"{number}"', "x-amz-checksum-sha256": checksum, "Content-Length": 0}, b""

    def list_parts(self, upload, marker):
        parts = self.uploads[upload][2]
        numbers = sorted(n for n in parts if n > marker)
        page = numbers[:1000]
        text = "".join(
            f"<Part><PartNumber>{n}</PartNumber><ETag>\"{n}\"</ETag><Size>{parts[n][0]}</Size>"
            f"<ChecksumSHA256>{parts[n][1]}</ChecksumSHA256></Part>" for n in page)
        more = str(len(numbers) > len(page)).lower()
        return (f"<ListPartsResult><IsTruncated>{more}</IsTruncated><NextPartNumberMarker>{page[-1] if page else 0}"
                f"</NextPartNumberMarker>{text}</ListPartsResult>").encode()

    def complete(self, upload, body, fields):
        key, digest, parts = self.uploads[upload]
        if fields.get("if-none-match") == "*" and key in self.objects:
            return self.error(412, "PreconditionFailed")
        named = [int(n) for n in re.findall(rb"<PartNumber>(\d+)</PartNumber>", body)]
        checksums = [c.decode() for c in re.findall(rb"<ChecksumSHA256>(.*?)</ChecksumSHA256>", body)]
        if named != sorted(parts) or checksums not in ([parts[n][1] for n in named], []):
            return self.error(400, "InvalidPart")
        self.objects[key] = (digest, sum(parts[n][0] for n in named))
        os.rename(os.path.join(self.folder, upload), os.path.join(self.folder, "object"))
        del self.uploads[upload]
        return 200, {}, b"<CompleteMultipartUploadResult><ETag>\"x\"</ETag></CompleteMultipartUploadResult>"

    @staticmethod
    def error(status, code):
        return status, {}, f"<Error><Code>{code}</Code></Error>".encode()
