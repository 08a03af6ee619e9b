"""Rounds: each tool once, in an order that rotates, so that what the machine does meanwhile hits all of them."""
import os
import sys

from lib.content import expect_same
from lib.measure import measure


def race(bench, title, label, commands, check, rounds=None, before=None, aims=None, stays=False,
         unchecked=()):
    """Measures every command of `commands` (name → command) once a round.

    `check(folder)` raises if the outcome is wrong; `before(turn)` makes ready for each run; `aims` has the ratios that
    Haul aims at (name → at most); `stays` is `Bench.folder`'s; `unchecked` names those that are no downloads. Returns what `results` keeps. `label` is the short title,
    for the chart.
    """
    if bench.options.against:
        commands, aims = beside_other(commands, os.path.abspath(bench.options.against)), {}
    names = [name for name in commands if not (bench.options.without_haul and name.startswith("haul"))]
    rounds = rounds or bench.options.rounds
    runs = {name: [] for name in names}
    for turn in range(rounds):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            with bench.folder(stays) as (folder, surroundings):
                if before:
                    before(turn)
                run = measure(commands[name], folder, surroundings)
                if name not in unchecked:
                    check(folder)
            runs[name].append({"wall": run.wall, "cpu": run.cpu, "peak_mib": run.peak_mib})
        walls = ", ".join(f"{name} {runs[name][-1]['wall']:.3f} s" for name in names)
        print(f"  {turn + 1}: {walls}", file=sys.stderr)
    return {"kind": "race", "title": title, "label": label, "rounds": rounds, "runs": runs, "aims": aims or {}}


def beside_other(commands, binary):
    """The first command, and the same one by another haul."""
    name, command = next(iter(commands.items()))
    return {name: command, "other " + name: [binary, *command[1:]]}


def out_is(original):
    """The check of most cases."""
    return lambda folder: expect_same(os.path.join(folder, "out"), original)


def alone(title, columns, rows, note=""):
    """The outcome of a case that looks at Haul alone: a table of texts."""
    return {"kind": "alone", "title": title, "columns": columns, "rows": rows, "note": note}
