"""5,000 files of 10 KiB, 16 at once."""
import os

from lib.content import expect_same
from lib.measure import Failed
from lib.race import race

SIZE = 10 * 1024


def names(bench):
    return [f"file{number:05}" for number in range(bench.options.files)]


def served(bench):
    for name in names(bench):
        bench.served("many/" + name, SIZE)
    return os.path.join(bench.root, "many")


def list_file(bench, prefix):
    """Writes a list of URLs that haul and aria2c can read."""
    path = os.path.join(bench.work, "list")
    with open(path, "w") as file:
        file.writelines(f"{prefix}{name}\n" for name in names(bench))
    return path


def expect_all(bench, folder):
    """Checks that every file is complete and right and that there are no other files."""
    found = set(os.listdir(os.path.join(folder, "out")))
    if found != set(names(bench)):
        raise Failed(f"{len(found)} files in the folder, some of them others than asked for")
    for name in names(bench):
        expect_same(os.path.join(folder, "out", name), os.path.join(bench.root, "many", name))


def run(bench):
    served(bench)
    prefix = bench.nginx.http + "/many/"
    urls = list_file(bench, prefix)
    settings = os.path.join(bench.work, "curl-list")
    with open(settings, "w") as file:
        file.writelines(f'url = "{prefix}{name}"\noutput = "out/{name}"\n' for name in names(bench))
    commands = {
        "haul -j 16": bench.haul("-i", urls, "-j", "16", "-d", "out", output=None),
        "curl --parallel": ["curl", "-sS", "--create-dirs", "--parallel", "--parallel-max", "16", "-K", settings],
        "aria2c -j16": ["aria2c", "-q", "-j16", "-d", "out", "-i", urls],
        "wget2 --max-threads=16": ["wget2", "-q", "--max-threads=16", "-P", "out", "-i", urls],
    }
    label = f"{bench.options.files:,} files of 10 KiB"
    return race(bench, label + ", 16 at once", label, commands,
                lambda folder: expect_all(bench, folder), aims={"curl --parallel": 2.5, "aria2c -j16": 0.22, "wget2 --max-threads=16": 1.0}, stays=True)
