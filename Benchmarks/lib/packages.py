"""Installs Python packages of other programs below .build and nowhere else."""

import os
import subprocess
import sys

BUILD = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", ".build"))


def folder_with(name, *requirements):
    """Returns the folder for PYTHONPATH. It is created once per set of requirements and Python version."""
    folder = os.path.join(BUILD, "python-packages", f"{name}-{sys.version_info.major}.{sys.version_info.minor}")
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
    """Returns the unpacked source distribution, which has the tests that wheels lack."""
    parent = os.path.join(BUILD, "python-packages", "sources")
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
