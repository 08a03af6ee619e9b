"""A server that one connection can exhaust: does Haul notice that more connections do not help?"""
from lib.race import out_is, race


def http(bench):
    return _race(bench, "HTTP", bench.nginx.http + "/large")


def https(bench):
    return _race(bench, "HTTPS", bench.nginx.https + "/large")


def _race(bench, scheme, url):
    # Without Haul there is nothing to compare. The remaining run shows that the server works.
    commands = {"haul": bench.haul(url), "haul -c 1": bench.haul("-c", "1", url)}
    if bench.options.without_haul:
        commands = {"curl": bench.curl(url)}
    return race(bench, f"{scheme}, {bench.options.size} MiB, adaptive against one connection",
                f"{bench.size_text()}, {scheme}, adaptive", commands, out_is(bench.large()), aims={"haul -c 1": 1.05})
