"""--limit-rate 5M, with one connection and with sixteen: the bytes read from the sockets in ten seconds."""
import os
import time

from lib.content import expect_same
from lib.measure import Failed, Process
from lib.race import alone
from lib.server import Server

LIMIT = 5_000_000
SIZE = 70_000_000  # 14 seconds at the limit
WINDOW_SECONDS = 10
STEADY_AFTER_SECONDS = 2
# Sixteen connections that are so slow that all of them are needed.
SETTINGS = {
    "-c 1": ("1", None),
    "-c 16": ("16", None),
    "-c 16, each at 0.4 MB/s": ("16", 400_000),
}


def sample(process, server):
    """Samples seconds since the first request and bytes read, about 50 times per second, until the program ends."""
    samples = []
    while not process.has_ended(0.02):
        begin = server.counts()["first_request"]
        if begin is not None:
            taken = server.taken_bytes()
            samples.append((time.monotonic() - begin, taken))
    return samples


def percent_off(samples, start):
    """Returns how many percent the rate of the ten seconds after `start` is off the limit."""
    at_start = max((each for each in samples if each[0] <= start), default=(0, 0))
    at_end = min((each for each in samples if each[0] >= start + WINDOW_SECONDS), default=None)
    if at_end is None:
        raise Failed("the download ended too soon to be measured: no limit was kept")
    rate = (at_end[1] - at_start[1]) / (at_end[0] - at_start[0])
    return (rate / LIMIT - 1) * 100


def run(bench):
    path = bench.served("70mb", SIZE)
    rows = []
    for setting, (connections, rate) in SETTINGS.items():
        with Server(file=path, rate=rate) as server, bench.folder() as (folder, surroundings):
            command = bench.subject(
                bench.haul("-c", connections, "--limit-rate", "5M", server.url),
                bench.aria2c(f"-x{connections}", f"-s{connections}", "-k1M", f"--max-overall-download-limit={LIMIT}",
                             server.url))
            process = Process(command, folder, surroundings)
            samples = sample(process, server)
            run = process.wait()
            if run.status != 0:
                raise Failed(run.errors)
            expect_same(os.path.join(folder, "out"), path)
            off = [f"{percent_off(samples, start):+.1f} %" for start in (0, STEADY_AFTER_SECONDS)]
            rows.append([setting, *off, str(server.counts()["most_answering"]), f"{run.wall:.2f}"])
    columns = ["connections", "first ten seconds", "ten seconds from the third on", "connections used", "wall s"]
    return alone("70 MB with --limit-rate 5M, which is 5,000,000 bytes a second", columns, rows,
                 "Aim: within 5 %. Fourteen seconds would be exact.")
