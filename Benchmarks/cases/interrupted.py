"""5,000 small files, SIGKILL in the middle, then the same command: are only the missing files fetched?"""
import os

from cases.many import expect_all, list_file, names, served
from lib.measure import Failed, Process, measure
from lib.race import alone


def run(bench):
    served(bench)
    urls = list_file(bench, bench.nginx.http + "/logged/many/")
    command = bench.subject(
        bench.haul("-i", urls, "-j", "16", "-d", "out", output=None),
        ["aria2c", "-q", "-c", "-j16", "-d", "out", "-i", urls])
    wanted = set(names(bench))
    rows = []
    for part in (0.25, 0.5, 0.75):
        with bench.folder() as (folder, surroundings):
            out = os.path.join(folder, "out")
            os.mkdir(out)
            process = Process(command, folder, surroundings)
            while not process.has_ended(0.01) and len(os.listdir(out)) < part * len(wanted):
                pass
            process.kill()
            process.wait()
            missing = len(wanted - set(os.listdir(out)))
            if missing == 0:
                raise Failed("all was there before the kill came")
            before = bench.nginx.logged_requests()
            run = measure(command, folder, surroundings)
            asked = bench.nginx.logged_requests() - before
            expect_all(bench, folder)
            there = f"{len(wanted) - missing:,} of {len(wanted):,}"
            rows.append([there, f"{missing:,}", f"{asked:,}", f"{run.wall:.3f}"])
    return alone(f"{len(wanted):,} files of 10 KiB, SIGKILL, the same command again",
                 ["files there at the kill", "missing", "requests of the second run", "its wall s"], rows,
                 "Every file was there and right at the end, and nothing else.")
