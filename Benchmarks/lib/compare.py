"""Compares two results. Returns a line for each difference."""
from lib.tables import medians, ratio

# The figures of these machines vary that much from hour to hour.
TOLERANCE = 0.15


def differences(old, new):
    """Returns a line for each ratio of wall or CPU time to another tool that has changed by more than the tolerance."""
    lines = []
    for name, case in new["cases"].items():
        before = old["cases"].get(name)
        if case["kind"] != "race" or not before or before["kind"] != "race":
            continue
        mine, theirs_before = next(iter(case["runs"])), before["runs"]
        mine_before = next(iter(theirs_before))
        for tool in list(case["runs"])[1:]:
            if tool not in theirs_before:
                continue
            for key, what in (("wall", "wall time"), ("cpu", "CPU time")):
                now = ratio(case["runs"][mine], case["runs"][tool], key)
                then = ratio(theirs_before[mine_before], theirs_before[tool], key)
                if abs(now / then - 1) > TOLERANCE:
                    lines.append(f"{case['title']}: {what} is {now:.2f} of {tool}'s, was {then:.2f}")
        peak, peak_before = medians(case["runs"][mine])[2], medians(theirs_before[mine_before])[2]
        if abs(peak / peak_before - 1) > TOLERANCE:
            lines.append(f"{case['title']}: peak memory is {peak:.0f} MiB, was {peak_before:.0f}")
    return lines
