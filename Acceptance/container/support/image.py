"""The archive of an image: its configuration, and its files unpacked."""
import json
import os
import stat
import subprocess
import tarfile


class Image:
    """`rootfs` has the files of all layers, with their owners."""

    def __init__(self, archive, folder):
        self.size = os.path.getsize(archive)
        self.rootfs = os.path.join(folder, "rootfs")
        os.mkdir(self.rootfs)
        with tarfile.open(archive) as file:
            self.manifest, = json.load(file.extractfile("manifest.json"))
            self.settings = json.load(file.extractfile(self.manifest["Config"]))["config"]
            for layer in self.manifest["Layers"]:
                path = os.path.join(folder, "layer.tar")
                with open(path, "wb") as target:
                    target.write(file.extractfile(layer).read())
                subprocess.run(
                    ["tar", "--numeric-owner", "--same-owner", "-xpf", path, "-C", self.rootfs], check=True)
                os.unlink(path)

    def files(self):
        """Returns the path and the status of each file that is no folder."""
        return {
            "/" + os.path.relpath(os.path.join(folder, name), self.rootfs): os.lstat(os.path.join(folder, name))
            for folder, _, names in os.walk(self.rootfs) for name in names}

    def programs(self):
        return {path for path, info in self.files().items() if info.st_mode & 0o111}

    def privileged(self):
        """Returns the files that run with the rights of their owner or group."""
        return {path for path, info in self.files().items() if info.st_mode & (stat.S_ISUID | stat.S_ISGID)}

    def path(self, name):
        return os.path.join(self.rootfs, name.lstrip("/"))
