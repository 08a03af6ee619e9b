"""Uploads to a store of this machine: the program that makes them, a file for them, and their environment."""
import hashlib
import os
import subprocess

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PART = 8 << 20


def tool():
    """Builds HaulFleetDestinations. The first build takes some minutes."""
    subprocess.run(["swift", "build", "-c", "release", "-Xswiftc", "-enable-testing", "--scratch-path", ".build/tools", "--product",
                    "HaulFleetDestinations", "--quiet"], cwd=ROOT, check=True, env={**os.environ, "HAUL_TOOLS": "1"})
    return os.path.join(ROOT, ".build/tools/release/HaulFleetDestinations")


def make(path, mib):
    digest = hashlib.sha256()
    with open(path, "wb") as file:
        for _ in range(mib):
            block = os.urandom(1 << 20)
            digest.update(block)
            file.write(block)
    return digest.hexdigest()


def environment(port):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return {**kept, "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{port}"}
