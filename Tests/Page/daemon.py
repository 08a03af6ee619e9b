"""A daemon of the built command. HAUL_BINARY names the command."""
import os, pathlib, shutil, signal, subprocess, tempfile

BINARY = os.environ.get("HAUL_BINARY", ".build/debug/haul")


class Daemon:
    """`haul serve` with a state folder of its own, which can be killed and started again at the same address.

    `environment` has further variables of the process."""

    def __init__(self, port=0, **environment):
        self.environment = environment
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="haul-page-"))
        (self.folder / "run").mkdir()
        self.port = port
        self.start()

    def start(self):
        environment = dict(os.environ, HAUL_STATE_DIR=str(self.folder / "state"), XDG_RUNTIME_DIR=str(self.folder / "run"), **self.environment)
        self.process = subprocess.Popen(
            [BINARY, "serve", "--listen", "127.0.0.1:%d" % self.port, "-d", str(self.folder / "downloads")],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )
        # It listens. A link is printed to terminals only.
        line = self.process.stdout.readline()
        assert "haul open" in line, line
        self.link = subprocess.run([BINARY, "open"], env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
        self.port = int(self.link.split(":")[2].split("/")[0])
        self.base = "http://127.0.0.1:%d/" % self.port
        self.token = next(self.folder.rglob("token")).read_text().strip()
        return self

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def close(self):
        self.process.terminate()
        self.process.wait(300)
        shutil.rmtree(self.folder, ignore_errors=True)
