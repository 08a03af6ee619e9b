"""100 MB from nginx at 5 MiB/s per connection: does the program open more connections, by default and when told to?"""
import os
import shlex
import shutil

from lib.measure import measure
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


def weak_names(bench):
    """A server that names its version by a weak tag, and one that names none."""
    path = bench.served("100mb", SIZE)
    weak, unnamed = (bench.nginx.http + folder + "100mb" for folder in ("/weak/", "/unnamed/"))
    commands = {
        "haul, weak tag": bench.haul(weak),
        "haul -c 16, weak tag": bench.haul("-c", "16", weak),
        "haul -c 16, no version": bench.haul("-c", "16", unnamed),
        "aria2c -x16 -s16 -k1M": bench.aria2c("-x16", "-s16", "-k1M", weak),
    }
    return race(bench, "100 MB at 5 MiB/s a connection, a version that is named weakly or not at all",
                "100 MB, 5 MiB/s, a weak tag", commands, out_is(path), aims={"aria2c -x16 -s16 -k1M": 1.8})


def known_host(bench):
    """haul without flags, for the first time and when it has measured the host before, beside 16 connections."""
    path, url = bench.served("100mb", SIZE), bench.nginx.http + "/5m/100mb"
    state = os.path.join(bench.work, "state-of-a-known-host")
    with bench.folder() as (folder, surroundings):
        measure(bench.haul(url), folder, surroundings)
        out_is(path)(folder)
        shutil.copytree(os.path.join(folder, "state"), state)
    # The state has the host, and no download of this folder.
    later = f"cp -R {shlex.quote(state)} state && exec {shlex.join(bench.haul(url))}"
    commands = {
        "haul, first time": bench.haul(url),
        "haul, later": ["/bin/sh", "-c", later],
        "aria2c -x16 -s16 -k1M": bench.aria2c("-x16", "-s16", "-k1M", url),
    }
    try:
        return race(bench, "100 MB at 5 MiB/s a connection, no flags, a host that is new and one that is known",
                    "100 MB, 5 MiB/s, a new host", commands, out_is(path), aims={"aria2c -x16 -s16 -k1M": 1.8})
    finally:
        shutil.rmtree(state)
