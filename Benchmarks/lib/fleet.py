"""Runs haul-fleet: its commands, and workers that can be killed, frozen and started again."""
import hashlib
import json
import os
import signal
import subprocess

BINARY = os.environ.get("HAUL_FLEET", os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "..", "..", ".build", "release", "haul-fleet"))


def run(database, *arguments, check=True, **options):
    environment = dict(os.environ, HAUL_FLEET_DATABASE=database)
    done = subprocess.run([BINARY, *arguments], env=environment, capture_output=True, text=True, **options)
    if check and done.returncode != 0:
        raise SystemExit(f"haul-fleet {' '.join(arguments)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def write_list(path, origin, files, checksums=False):
    with open(path, "w") as out:
        for name, (size, digest) in files.items():
            line = {"url": origin.url(name), "path": name}
            if checksums:
                line["checksum"] = f"sha-256:{digest}"
            out.write(json.dumps(line) + "\n")


class Worker:
    def __init__(self, database, folder, *arguments, log=None):
        self.database, self.folder, self.arguments = database, folder, arguments
        self.log = log or os.path.join(folder, "worker.log")
        os.makedirs(folder, exist_ok=True)
        self.process = None
        self.start()

    def start(self):
        environment = dict(os.environ, HAUL_FLEET_DATABASE=self.database)
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [BINARY, "work", "--work-folder", self.folder, *self.arguments],
                env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait()

    def is_alive(self):
        return self.process.poll() is None


def compare(folder, files):
    """Returns the differences between a folder and the files that it should hold."""
    wrong, seen = [], set()
    for path, folders, names in os.walk(folder):
        if ".haul-fleet" in folders:
            folders.remove(".haul-fleet")
        for name in names:
            full = os.path.join(path, name)
            relative = os.path.relpath(full, folder)
            seen.add(relative)
            if relative not in files:
                wrong.append(f"{relative} is in no list")
                continue
            with open(full, "rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            if digest != files[relative][1]:
                wrong.append(f"{relative} has other bytes")
    wrong += [f"{name} is missing" for name in files if name not in seen]
    return wrong
