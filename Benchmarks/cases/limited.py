"""100 MB from nginx at 5 MiB/s per connection: does the program open more connections, by default and when told to?"""
from lib.race import out_is, race

SIZE = 100_000_000


def no_flags(bench):
    path, url = bench.served("100mb", SIZE), bench.nginx.http + "/5m/100mb"
    commands = {"haul": bench.haul(url), "aria2c": bench.aria2c(url), "curl": bench.curl(url)}
    return race(bench, "100 MB at 5 MiB/s a connection, no flags", "100 MB, 5 MiB/s a connection", commands,
                out_is(path), aims={"aria2c": 0.25})


def sixteen(bench):
    path, url = bench.served("100mb", SIZE), bench.nginx.http + "/5m/100mb"
    commands = {
        "haul -c 16": bench.haul("-c", "16", url),
        "aria2c -x16 -s16 -k1M": bench.aria2c("-x16", "-s16", "-k1M", url),
        "axel -n16": bench.axel("-n16", url),
    }
    return race(bench, "100 MB at 5 MiB/s a connection, 16 connections", "100 MB, 16 connections of 5 MiB/s", commands,
                out_is(path), aims={"aria2c -x16 -s16 -k1M": 1.1})
