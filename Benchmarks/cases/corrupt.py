"""Two mirrors of 64 MiB and a Metalink with piece hashes. The preferred mirror sends right ranges with wrong bytes."""
import hashlib
import os

from lib.content import MIB, expect_same
from lib.measure import measure
from lib.race import alone
from lib.server import Server

PIECES = 64
RATE = 8_000_000  # bytes per second and connection
MANNERS = {"in every piece": MIB, "in one piece of eight": 8 * MIB}


def metalink(path, urls):
    """Returns a Metalink 4 (RFC 5854) with the URLs in the order of their priority."""
    with open(path, "rb") as file:
        content = file.read()
    digests = [hashlib.sha256(content[start:start + MIB]).hexdigest() for start in range(0, len(content), MIB)]
    pieces = "\n".join(f"      <hash>{digest}</hash>" for digest in digests)
    sources = "\n".join(f'    <url priority="{place}">{url}</url>' for place, url in enumerate(urls, 1))
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<metalink xmlns="urn:ietf:params:xml:ns:metalink">
  <file name="out">
    <size>{len(content)}</size>
    <hash type="sha-256">{hashlib.sha256(content).hexdigest()}</hash>
    <pieces length="{MIB}" type="sha-256">
{pieces}
    </pieces>
{sources}
  </file>
</metalink>
"""


def run(bench):
    path = bench.served("64mib", PIECES * MIB)
    rows = []
    for manner, distance in MANNERS.items():
        runs = []
        with Server(file=path, rate=RATE, flip_every=distance) as corrupt, Server(file=path, rate=RATE) as right:
            for _ in range(bench.options.rounds):
                with bench.folder() as (folder, surroundings):
                    with open(os.path.join(folder, "metalink.meta4"), "w") as file:
                        # aria2c gives up at a wrong piece, so it gets the right mirror first.
                        urls = bench.subject([corrupt.url, right.url], [right.url, corrupt.url])
                        file.write(metalink(path, urls))
                    servers = [corrupt, right]
                    for server in servers:
                        server.reset()
                    command = bench.subject(
                        bench.haul("--metalink", "metalink.meta4", output=None),
                        ["aria2c", "-q", "-k1M", "-M", "metalink.meta4"])
                    run = measure(command, folder, surroundings)
                    expect_same(os.path.join(folder, "out"), path)
                    sent = [server.counts()["bytes"] for server in servers]
                    runs.append(((sum(sent) - PIECES * MIB) / MIB, sent[0] / MIB, run.wall))
        runs.sort()
        extra, from_corrupt, wall = runs[len(runs) // 2]
        rows.append([manner, "right", f"{extra:.2f}", f"{runs[-1][0]:.2f}", f"{from_corrupt:.2f}", f"{wall:.2f}"])
    columns = ["wrong bytes", "the file", "extra pieces, median", "most", "pieces from the corrupt mirror", "wall s"]
    return alone(f"64 MiB in pieces of 1 MiB from two mirrors, the preferred one corrupt, {bench.options.rounds} runs",
                 columns, rows, "Aim: less than 2 extra pieces.")
