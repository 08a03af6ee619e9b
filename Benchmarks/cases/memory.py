"""The peak memory with sixteen connections at 40 MiB/s each, all of which are needed."""
import os
import statistics

from lib.content import expect_same
from lib.measure import measure
from lib.race import alone


def run(bench):
    path = bench.large()
    rows = []
    for scheme, host in (("HTTP", bench.nginx.http), ("HTTPS", bench.nginx.https)):
        url = host + "/40m/large"
        command = bench.subject(bench.haul("-c", "16", url), bench.aria2c("-x16", "-s16", "-k1M", url))
        peaks, walls = [], []
        for _ in range(bench.options.rounds):
            with bench.folder() as (folder, surroundings):
                run = measure(command, folder, surroundings)
                expect_same(os.path.join(folder, "out"), path)
                peaks.append(run.peak_mib)
                walls.append(run.wall)
        rows.append([scheme, f"{statistics.median(peaks):.0f}", f"{max(peaks):.0f}", f"{statistics.median(walls):.2f}"])
    return alone(f"{bench.options.size} MiB at 40 MiB/s a connection, -c 16, {bench.options.rounds} runs each",
                 ["", "peak MiB, median", "most", "wall s"], rows, "Aim: under 96 MiB.")
