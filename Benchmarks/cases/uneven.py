"""100 MB over 8 connections of 8 MB/s. One in five runs at 0.4 MB/s: which program waits for the slow one?"""
from lib.race import out_is, race
from lib.server import Server

SIZE = 100_000_000


def run(bench):
    path = bench.served("100mb", SIZE)
    odd = {"every": 5, "rate": 400_000}
    with Server(file=path, rate=8_000_000, odd=odd) as server:
        commands = {
            "haul -c 8": bench.haul("-c", "8", server.url),
            "aria2c -x8 -s8 -k1M": bench.aria2c("-x8", "-s8", "-k1M", server.url),
            "axel -n8": bench.axel("-n8", server.url),
        }
        return race(bench, "100 MB at 8 MB/s a connection, one in five at 0.4 MB/s, 8 connections",
                    "100 MB, one connection in five slow", commands, out_is(path),
                    before=lambda turn: server.reset(bench.phase(turn)),
                    aims={"aria2c -x8 -s8 -k1M": 0.9, "axel -n8": 0.7})
