"""Results as JSON, with the machine on which they were measured. Tables and chart are made from the results."""
import json
import os
import platform
import re
import subprocess
from datetime import date

VERSIONS = {
    "curl": ["curl", "--version"], "aria2": ["aria2c", "--version"], "wget": ["wget", "--version"],
    "wget2": ["wget2", "--version"], "axel": ["axel", "--version"], "ffmpeg": ["ffmpeg", "-version"],
    "nginx": ["/usr/sbin/nginx", "-v"],
}


def machine():
    """Returns a sentence with processor, kernel, system, versions and date."""
    with open("/proc/cpuinfo") as file:
        model = re.search(r"model name\s*:\s*(.*)", file.read())
    versions = []
    for name, command in VERSIONS.items():
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=10)
        except OSError:
            continue
        found = re.search(r"\d+(\.\d+)+", done.stdout + done.stderr)
        versions.append(f"{name} {found.group()}" if found else name)
    commit = subprocess.run(["git", "-C", os.path.dirname(__file__), "log", "-1", "--format=%h"],
                            capture_output=True, text=True).stdout.strip()
    system = platform.freedesktop_os_release().get("PRETTY_NAME", "Linux")
    kernel = ".".join(platform.release().split(".")[:2])
    return (f"{os.cpu_count()} cores of {model.group(1) if model else platform.machine()}, Linux {kernel}, {system}; "
            f"{', '.join(versions)}; commit {commit or 'unknown'}; {date.today()}.")


def load(path):
    with open(path) as file:
        return json.load(file)


def save(path, results):
    """Replaces the file atomically, so that an interruption leaves the old file."""
    with open(path + ".new", "w") as file:
        json.dump(results, file, indent=1)
        file.write("\n")
    os.replace(path + ".new", path)
