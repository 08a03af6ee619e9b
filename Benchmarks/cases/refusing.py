"""100 MB from servers that refuse further connections. A program should accept that and complete the download."""
import os
import statistics

from lib.content import expect_same
from lib.measure import measure
from lib.race import alone
from lib.server import Server

SIZE = 100_000_000
SERVERS = {
    "answers 429 above two connections": {"above": 2, "how": "429"},
    "answers 503 above two connections": {"above": 2, "how": "503"},
    "resets the second connection": {"above": 1, "how": "reset"},
}


def run(bench):
    path = bench.served("100mb", SIZE)
    rows = []
    for manner, refuse in SERVERS.items():
        walls, counts = [], []
        with Server(file=path, rate=8_000_000, refuse=refuse) as server:
            command = bench.subject(
                bench.haul(server.url), bench.aria2c("-x3", "-s3", "-k1M", "--retry-wait=1", server.url))
            for _ in range(bench.options.rounds):
                with bench.folder() as (folder, surroundings):
                    server.reset()
                    walls.append(measure(command, folder, surroundings).wall)
                    counts.append(server.counts())
                    expect_same(os.path.join(folder, "out"), path)
        refusals = [each["refusals"] for each in counts]
        rows.append([manner, f"{statistics.median(walls):.2f}", f"{statistics.median(refusals):g}", str(max(refusals)),
                     str(max(each["most_answering"] for each in counts))])
    return alone(f"100 MB at 8 MB/s a connection from servers that refuse, no flags, {bench.options.rounds} runs each",
                 ["the server", "wall s", "refusals, median", "most", "answered at once, most"], rows,
                 "Aim: at most 3 refusals.")
