"""Python packages of the clients, installed below .build and nowhere else."""

import os
import subprocess
import sys

from . import BUILD


def folder_with(name, *requirements):
    """The folder to put on PYTHONPATH. It is made once for the same requirements and version of Python."""
    folder = os.path.join(BUILD, "aria2-clients", f"{name}-{sys.version_info.major}.{sys.version_info.minor}")
    mark = os.path.join(folder, ".installed")
    wanted = "\n".join(requirements)
    if not os.path.exists(mark) or open(mark).read() != wanted:
        print(f"Installing {', '.join(requirements)}", file=sys.stderr)
        subprocess.run(
            [sys.executable, "-m", "pip", "install", "--quiet", "--upgrade", "--target", folder, *requirements],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        with open(mark, "w") as file:
            file.write(wanted)
    return folder


def source_of(name, version):
    """The unpacked source distribution, with the tests that wheels leave out."""
    parent = os.path.join(BUILD, "aria2-clients", "sources")
    folder = os.path.join(parent, f"{name}-{version}")
    if not os.path.isdir(folder):
        subprocess.run(
            [
                sys.executable,
                "-m",
                "pip",
                "download",
                "--quiet",
                "--no-deps",
                "--no-binary",
                ":all:",
                "--dest",
                parent,
                f"{name}=={version}",
            ],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        subprocess.run(["tar", "--extract", "--file", f"{folder}.tar.gz", "--directory", parent], check=True)
    return folder
