"""A model hub on this machine, as a process, and the folders that hold what it has.

The hub is `HubServer` of HaulTesting, in the program HaulHub. `Benchmarks/Hub` has its description and its requests.
"""
import hashlib
import json
import os
import subprocess
import urllib.request

from lib.measure import Failed
from support import ROOT

BLOCK = 1 << 20
REPOSITORY = "org/model"


def tool():
    """Builds HaulHub. The first build takes some minutes."""
    subprocess.run(["swift", "build", "-c", "release", "-Xswiftc", "-enable-testing", "--scratch-path", ".build/tools",
                    "--product", "HaulHub", "--quiet"], cwd=ROOT, check=True, env={**os.environ, "HAUL_TOOLS": "1"})
    return os.path.join(ROOT, ".build/tools/release/HaulHub")


def add_option(parser):
    parser.add_argument("--hub", metavar="PROGRAM", help="HaulHub as it was built before; it is built otherwise")


def large(path, size, seed=1, **more):
    return {"path": path, "size": size, "seed": seed, "large": True, **more}


def small(count, size, seed=1000):
    """Returns files in some folders, of up to twice `size` bytes each, some empty, some with odd names."""
    names = ("{}.json", "part {}.txt", "größe-{}%.bin", "a+b&c={}.csv")
    return [{"path": f"files/{number // 100:03}/" + names[number % 4].format(number), "seed": seed + number,
             "size": 0 if number % 97 == 5 else size * 2 * (number * 7919 % 100) // 100 + 1}
            for number in range(count)]


def repository(files, *others, name=REPOSITORY, **more):
    """Returns a repository that has a commit of `files`, and then a commit for each of `others`."""
    return {"name": name, "commits": [{"files": each} for each in (files, *others)], **more}


class Hub:
    """A running hub. `commits` are those of each repository, in the order of the description."""

    def __init__(self, program, *repositories, **options):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        start = self.ask(json.dumps({"repositories": repositories, **options}))
        self.url, self.storage, self.commits = start["url"], start["storage"], start["commits"]

    def ask(self, line):
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            return json.loads(self.process.stdout.readline())
        except (OSError, ValueError) as error:
            raise Failed(f"the hub has ended with {self.process.poll()}") from error

    def counts(self):
        return self.ask("counts")

    def targets(self):
        return self.ask("targets")

    def move(self, number, branch="main", name=REPOSITORY):
        return self.ask(f"move {branch} {name} {number}")

    def set_rate(self, rate):
        self.ask(f"rate {rate}")

    def environment(self, folder, token=None):
        """Returns the environment of a client that has no state but what is in `folder`, and no other token."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HAUL_"))}
        own = {"HF_ENDPOINT": self.url, "HF_HOME": os.path.join(folder, "hf-home"), "HF_HUB_DISABLE_TELEMETRY": "1",
               "HF_HUB_DISABLE_PROGRESS_BARS": "1", "HAUL_STATE_DIR": os.path.join(folder, "haul-state"),
               "HOME": folder}
        return {**kept, **own, **({"HF_TOKEN": token} if token else {})}

    def files(self, commit, name=REPOSITORY, token=None):
        """Returns the files of a commit by their paths, as the tree has them."""
        kind = "" if name.startswith(("datasets/", "spaces/")) else "models/"
        page, files = f"{self.url}/api/{kind}{name}/tree/{commit}?recursive=true", {}
        while page:
            request = urllib.request.Request(page, headers={"Authorization": f"Bearer {token}"} if token else {})
            with urllib.request.urlopen(request) as answer:
                files.update((each["path"], each) for each in json.load(answer) if each["type"] == "file")
                link = answer.headers.get("Link", "")
            page = link[1:].partition(">")[0] if 'rel="next"' in link else None
        return files

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def size_of(files):
    return sum(each["size"] for each in files.values())


def is_right(path, entry):
    """Tells whether a file has the length and the digest that the tree says."""
    length = os.path.getsize(path)
    if length != entry["size"]:
        return False
    digest = hashlib.sha256() if entry.get("lfs") else hashlib.sha1(b"blob %d\0" % length)
    with open(path, "rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest() == (entry["lfs"]["oid"] if entry.get("lfs") else entry["oid"])


def names_in(folder):
    """Returns the paths of all files below a folder but those in hidden folders at its top, where clients note things."""
    names = set()
    for parent, folders, files in os.walk(folder):
        if parent == folder:
            folders[:] = [name for name in folders if name not in (".haul", ".cache")]
        names.update(os.path.relpath(os.path.join(parent, name), folder) for name in files)
    return names


def differences(folder, files):
    """Returns the names that differ between a folder and the files of a commit, each with how."""
    present = names_in(folder)
    missing = [f"{path} is missing" for path in sorted(files.keys() - present)]
    extra = [f"{path} is no file of the set" for path in sorted(present - files.keys())]
    wrong = [f"{path} has wrong bytes" for path in sorted(files.keys() & present)
             if not is_right(os.path.join(folder, path), files[path])]
    return missing + extra + wrong


def expect_set(folder, files):
    differing = differences(folder, files)
    if differing:
        raise Failed(f"{len(differing)} of {len(files)} files: {'; '.join(differing[:5])}")
