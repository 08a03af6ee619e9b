"""A container of an image, as `docker run --read-only --cap-drop ALL --security-opt no-new-privileges` makes one.

The container shares the network of this program. `enter_namespaces` gives the program a network without a way out.
"""
import json
import os
import subprocess
import sys

from lib.measure import Failed

ENTERED = "HAUL_CONTAINER_NAMESPACES"
LONGEST_SECONDS = 60
# An address of RFC 5737, which stands for the network of the house.
HOUSE = "192.0.2.7"


def enter_namespaces():
    """Starts this program again in mount and network namespaces of its own, unless that was done."""
    if os.environ.get(ENTERED):
        return
    if os.geteuid() != 0:
        sys.exit("This program needs root, for namespaces.")
    os.environ[ENTERED] = "1"
    steps = [
        # crun refuses a mixture of both versions of cgroups.
        "umount --recursive /sys/fs/cgroup", "mount -t cgroup2 none /sys/fs/cgroup",
        "ip link set lo up", f"ip address add {HOUSE}/32 dev lo", 'exec "$@"']
    shell = ["sh", "-ec", "\n".join(steps), "sh"]
    os.execvp("unshare", ["unshare", "--mount", "--net", *shell, sys.executable, *sys.argv])


def prepare(image, folder, hosts="", resolver=""):
    """Makes what an engine makes: volumes that the user owns, files of the network, and places for mounts."""
    owner = [int(each) for each in image.settings["User"].split(":")]
    for name in image.settings["Volumes"]:
        place = os.path.join(folder, "volumes", name.strip("/"))
        os.makedirs(place)
        os.chown(place, *owner)
    os.makedirs(os.path.join(folder, "volumes", "etc"))
    for name, text in (("hosts", f"127.0.0.1 localhost {hosts}\n"), ("resolv.conf", resolver)):
        with open(os.path.join(folder, "volumes", "etc", name), "w") as file:
            file.write(text)
        open(image.path(f"/etc/{name}"), "w").close()
    for name in ("proc", "dev"):
        os.makedirs(image.path(name), exist_ok=True)


class Container:
    """A running container. Its volumes are folders below `folder`, which outlive it."""

    started = []

    def __init__(self, image, folder, environment):
        Container.started.append(self)
        self.name, self.folder = f"haul-{os.getpid()}-{len(Container.started)}", folder
        self.settings = image.settings
        with open(os.path.join(folder, "config.json"), "w") as file:
            json.dump(self.bundle(image, environment), file)
        self.log = open(os.path.join(folder, f"{self.name}.log"), "w")
        self.process = subprocess.Popen(
            self.crun("run", "--bundle", folder), stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)

    def crun(self, command, *options):
        state = os.path.join(self.folder, "crun")
        return ["crun", "--root", state, "--cgroup-manager", "disabled", command, *options, self.name]

    def bundle(self, image, environment):
        """Returns the configuration of the runtime: what an engine makes of the image's."""
        user, group = (int(each) for each in self.settings["User"].split(":"))
        binds = {name: name.strip("/") for name in (*self.settings["Volumes"], "/etc/hosts", "/etc/resolv.conf")}
        return {
            "ociVersion": "1.0.2",
            "process": {
                "terminal": False, "user": {"uid": user, "gid": group}, "cwd": self.settings["WorkingDir"],
                "args": self.settings["Entrypoint"] + self.settings["Cmd"],
                "env": self.settings["Env"] + [f"{name}={value}" for name, value in environment.items()],
                "noNewPrivileges": True, "capabilities": {}},
            "root": {"path": image.rootfs, "readonly": True},
            "mounts": [
                {"destination": "/proc", "type": "proc", "source": "proc"},
                {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755"]},
                *({"destination": name, "type": "bind", "source": os.path.join(self.folder, "volumes", place),
                   "options": ["rbind", "rw"]} for name, place in binds.items())],
            "linux": {"namespaces": [{"type": kind} for kind in ("pid", "mount", "ipc", "uts")]}}

    def run(self, *words):
        """Runs a program in the container, as `docker exec` does."""
        command = self.crun("exec", "--user", self.settings["User"], "--cwd", "/state")
        return subprocess.run([*command, *words], capture_output=True, text=True, timeout=LONGEST_SECONDS)

    def haul(self, *words):
        """Returns what a command of haul prints, and raises `Failed` if it fails."""
        run = self.run("haul", *words)
        if run.returncode != 0:
            raise Failed(f"haul {' '.join(words)} ended with {run.returncode}: {run.stderr}{self.messages()}")
        return run.stdout

    def rows(self):
        """Returns the daemon's downloads by their names."""
        return {row["name"]: row for row in map(json.loads, self.haul("list", "--json").splitlines())}

    def is_healthy(self):
        """Runs the image's health check."""
        kind, *words = self.settings["Healthcheck"]["Test"]
        return kind == "CMD" and self.run(*words).returncode == 0

    def kill(self):
        """Ends the daemon by SIGKILL, and the container with it."""
        return self.end("KILL")

    def stop(self):
        """Ends the daemon as `docker stop` does. Returns its status."""
        return self.end(self.settings["StopSignal"])

    def end(self, signal):
        if self.process.poll() is None:
            subprocess.run([*self.crun("kill"), signal], check=True)
        try:
            return self.process.wait(LONGEST_SECONDS)
        finally:
            self.log.close()

    @classmethod
    def kill_all(cls):
        for container in cls.started:
            container.kill()

    def messages(self):
        with open(self.log.name) as file:
            return "".join(f"\n    {line.rstrip()}" for line in file)
