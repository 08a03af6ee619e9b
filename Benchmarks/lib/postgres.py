"""Runs PostgreSQL on loopback in a temporary folder. Under root it runs as `postgres`, because initdb refuses root."""
import glob
import os
import pwd
import shutil
import signal
import subprocess
import time

from lib.ports import free_port


def binaries():
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: int(path.split("/")[4]))
    if not found:
        raise SystemExit("PostgreSQL is not installed: Scripts/require postgresql")
    return found[-1]


class Postgres:
    def __init__(self, folder):
        self.folder, self.port = folder, free_port()
        self.user = "postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
        self.bin = binaries()
        os.makedirs(folder, exist_ok=True)
        if os.geteuid() == 0:
            shutil.chown(folder, "postgres", "postgres")
        self.data = os.path.join(folder, "data")
        self._run("initdb", "-D", self.data, "-U", "fleet", "-A", "trust", "-E", "UTF8", "--no-locale")
        self.start()
        subprocess.run([f"{self.bin}/createdb", "-h", "127.0.0.1", "-p", str(self.port), "-U", "fleet", "fleet"], check=True)

    def _command(self, *arguments):
        as_user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        return [*as_user, f"{self.bin}/{arguments[0]}", *arguments[1:]]

    def _run(self, *arguments):
        subprocess.run(self._command(*arguments), check=True, capture_output=True, cwd="/")

    def start(self):
        # After a SIGKILL the server's processes may hold the shared memory for a moment.
        for _ in range(100):
            done = subprocess.run(
                self._command("pg_ctl", "-D", self.data, "-w", "-l", f"{self.folder}/log", "-o",
                              f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=''", "start"),
                capture_output=True, cwd="/")
            if done.returncode == 0:
                return
            time.sleep(0.2)
        raise SystemExit(f"PostgreSQL does not start: see {self.folder}/log")

    def kill(self):
        with open(f"{self.data}/postmaster.pid") as file:
            os.kill(int(file.readline()), signal.SIGKILL)

    def stop(self):
        subprocess.run(self._command("pg_ctl", "-D", self.data, "-m", "immediate", "stop"), capture_output=True, cwd="/")

    def url(self, port=None):
        return f"postgresql://fleet@127.0.0.1:{port or self.port}/fleet"

    def query(self, text):
        done = subprocess.run(
            [f"{self.bin}/psql", "-X", "-A", "-t", "-F", "\t", self.url(), "-c", text],
            check=True, capture_output=True, text=True)
        return [line.split("\t") for line in done.stdout.splitlines()]
