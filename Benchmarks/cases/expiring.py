"""200 MB at 20 MB/s over links that live two seconds, renewed by --refresh-command: is every byte sent once?"""
import os
import statistics

from lib.content import expect_same
from lib.measure import Failed, measure
from lib.race import alone
from lib.server import Server

SIZE = 200_000_000
TOTAL_RATE = 20_000_000  # bytes per second, all connections together
LIFE_SECONDS = 2
# Expiry that the link announces. A signature of S3 counts whole seconds, so such a link lives for one to two seconds.
LINKS = {
    "says when it expires": (
        'now=$(date +%s)\n'
        f'echo "$url?X-Amz-Date=$(date -u -d @$now +%Y%m%dT%H%M%SZ)&X-Amz-Expires={LIFE_SECONDS}'
        f'&token=$((now + {LIFE_SECONDS}))000000000"\n'),
    "is just refused": f'echo "$url?token=$(($(date +%s%N) + {LIFE_SECONDS}000000000))"\n',
}
BODIES = {"cuts bodies then": "cut", "lets them run on": "run on"}


def program(bench, url, lines):
    """Writes a program that prints a link and counts its calls."""
    path = os.path.join(bench.work, "link")
    with open(path, "w") as file:
        file.write(f"#!/bin/sh\nurl={url}\necho >> {path}.count\n{lines}")
    os.chmod(path, 0o755)
    if os.path.exists(path + ".count"):
        os.remove(path + ".count")
    return path


def run(bench):
    if bench.options.without_haul:
        raise Failed("no other program renews links")
    path = bench.served("200mb", SIZE)
    rows = []
    for link, lines in LINKS.items():
        for body, links in BODIES.items():
            sent, walls, counts, asked = [], [], [], []
            with Server(file=path, total_rate=TOTAL_RATE, links=links) as server:
                for _ in range(bench.options.rounds):
                    with bench.folder() as (folder, surroundings):
                        server.reset()
                        command = program(bench, server.url, lines)
                        run = measure(
                            bench.haul("--refresh-command", command, "haul-source:200mb"), folder, surroundings)
                        expect_same(os.path.join(folder, "out"), path)
                        with open(command + ".count") as file:
                            asked.append(sum(1 for _ in file))
                        counts.append(server.counts())
                        sent.append(counts[-1]["bytes"] / SIZE)
                        walls.append(run.wall)
            rows.append([f"{link}; the server {body}", f"{statistics.median(sent):.4f}", f"{max(sent):.4f}",
                         f"{statistics.median(asked):g}", f"{statistics.median(each['refusals'] for each in counts):g}",
                         f"{statistics.median(walls):.2f}"])
    return alone(f"200 MB at 20 MB/s over links that live {LIFE_SECONDS} s, {bench.options.rounds} runs each",
                 ["the link", "bytes sent / file, median", "most", "links", "refusals", "wall s"], rows,
                 "Aim: at most 1.01, and each file was right.")
