"""100 MB over 8 connections of 8 MB/s. One connection in five sends 2 MB, then stalls and stays open."""
from lib.race import out_is, race
from lib.server import Server

SIZE = 100_000_000


def run(bench):
    path = bench.served("100mb", SIZE)
    odd = {"every": 5, "freeze_after": 2_000_000}
    with Server(file=path, rate=8_000_000, odd=odd) as server:
        commands = {
            "haul -c 8": bench.haul("-c", "8", server.url),
            "aria2c -x8 -s8 -k1M": bench.aria2c("-x8", "-s8", "-k1M", server.url),
        }
        return race(bench, "100 MB at 8 MB/s a connection, one in five freezes after 2 MB, 8 connections",
                    "100 MB, one connection in five freezes", commands, out_is(path),
                    rounds=bench.options.frozen_rounds or bench.options.rounds,
                    before=lambda turn: server.reset(bench.phase(turn)), aims={"aria2c -x8 -s8 -k1M": 0.3})
