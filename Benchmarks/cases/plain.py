"""One file from an unlimited server, no flags: the cost of a download, and the limits of the machine."""
from lib.race import out_is, race

NULL, DISK = "curl to /dev/null", "dd oflag=direct"


def http(bench):
    return _large(bench, "HTTP", bench.nginx.http)


def https(bench):
    return _large(bench, "HTTPS", bench.nginx.https)


def small(bench):
    path = bench.served("small", 1024)
    rounds = max(bench.options.rounds, 15)
    return _race(bench, "HTTP, 1 KiB", "1 KiB, HTTP", path, bench.nginx.http + "/small", rounds)


def _large(bench, scheme, host):
    title, label = f"{scheme}, {bench.options.size} MiB", f"{bench.size_text()}, {scheme}"
    path, url = bench.large(), host + "/large"
    more = {
        # haul syncs the file too before it reports completion.
        "curl, then sync -d": ["sh", "-c", '"$@" && sync -d out', "sh", *bench.curl(url)],
        # The slower of the two is the limit of the machine: receiving bytes, or writing them to the disk.
        NULL: ["curl", "-sS", "--cacert", bench.nginx.certificate, "-o", "/dev/null", url],
        DISK: ["dd", "if=/dev/zero", "of=out", "bs=1M", f"count={bench.options.size}", "oflag=direct", "status=none"],
    }
    aims = {"curl": 1.0 if scheme == "HTTP" else 0.8, "curl, then sync -d": 0.55}
    return _race(bench, title, label, path, url, more=more, aims=aims)


def _race(bench, title, label, path, url, rounds=None, more=None, aims=None):
    commands = {"haul": bench.haul(url), "curl": bench.curl(url), "aria2c": bench.aria2c(url), "wget": bench.wget(url)}
    return race(bench, title, label, {**commands, **(more or {})}, out_is(path), rounds, aims=aims,
                unchecked={NULL, DISK})
