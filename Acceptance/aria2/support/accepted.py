"""Places at which Haul answers otherwise than aria2 on purpose. Each program has a file of them in the folder `accepted`."""

import os
import subprocess

FOLDER = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "accepted")


def version_of(binary):
    """Returns the first line that the program prints about itself, such as `aria2 version 1.36.0`."""
    printed = subprocess.run([binary, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return printed.splitlines()[0]


def judge(name, found, reference, rewrites=False):
    """Prints each difference, with !! if its place is not accepted. Returns the reason to fail, or `None`.

    `found` has the differences by place. `rewrites` accepts all of them, and no others. The first line of the file is
    the version of the reference that the places are of.
    """
    path, version = os.path.join(FOLDER, name), version_of(reference)
    if rewrites:
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join([version, *found, ""]))
    with open(path, encoding="utf-8") as file:
        accepted_version, *accepted = file.read().splitlines()
    new = set(found) - set(accepted)
    for place, change in found.items():
        print(f"{'!! ' if place in new else ''}{place}: {change}")
    if not new:
        return None
    return f"{len(new)} differences are not accepted. The accepted ones are of {accepted_version}, the reference is {version}."
