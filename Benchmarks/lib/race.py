"""Rounds: each tool runs once per round. The order rotates, so that other load on the machine affects all tools."""
import os
import sys

from lib.content import expect_same
from lib.measure import measure


def race(bench, title, label, commands, check, rounds=None, before=None, aims=None, stays=False,
         unchecked=()):
    """Measures every command of `commands` (name → command) once per round.

    `check(folder)` raises if the outcome is wrong. `before(turn)` prepares each run. `aims` has the upper bound of
    Haul's ratio to each tool, by name. `stays` is passed to `Bench.folder`. `unchecked` names commands that are not
    downloads. `label` is the short title for the chart. Returns the case for `results`.
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
    """Returns the first command, and the same command with another haul."""
    name, command = next(iter(commands.items()))
    return {name: command, "other " + name: [binary, *command[1:]]}


def out_is(original):
    """Returns the check of most cases: `out` equals `original`."""
    return lambda folder: expect_same(os.path.join(folder, "out"), original)


def alone(title, columns, rows, note=""):
    """Returns the outcome of a case that looks at Haul alone: a table of texts."""
    return {"kind": "alone", "title": title, "columns": columns, "rows": rows, "note": note}
