"""One file from a server that holds nothing back, no flags: what a download costs."""
from lib.race import out_is, race


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
    return _race(bench, title, label, bench.large(), host + "/large")


def _race(bench, title, label, path, url, rounds=None):
    commands = {"haul": bench.haul(url), "curl": bench.curl(url), "aria2c": bench.aria2c(url), "wget": bench.wget(url)}
    return race(bench, title, label, commands, out_is(path), rounds)
