"""Results as Markdown."""
import statistics


def medians(runs):
    """Returns median wall seconds, CPU seconds and peak MiB of one tool."""
    return tuple(statistics.median(run[key] for run in runs) for key in ("wall", "cpu", "peak_mib"))


def ratio(mine, theirs, key):
    """Returns the median of the ratios within each round."""
    return statistics.median(one[key] / max(other[key], 1e-9) for one, other in zip(mine, theirs))


def table(case):
    lines = [f"### {case['title']}" + (f", {case['rounds']} rounds" if case["kind"] == "race" else ""), ""]
    if case["kind"] == "race":
        lines += race_table(case)
    else:
        lines += rows_table(case["columns"], case["rows"])
        if case["note"]:
            lines += ["", case["note"]]
    return "\n".join(lines) + "\n"


def race_table(case):
    runs, aims = case["runs"], case["aims"]
    first = next(iter(runs))
    columns = ["tool", "wall s", "CPU s", "peak MiB", "wall: haul / it", "CPU: haul / it"]
    if aims:
        columns.append("aim, wall")
    rows = []
    for name, theirs in runs.items():
        wall, cpu, peak = medians(theirs)
        row = [name, f"{wall:.3f}", f"{cpu:.3f}", f"{peak:.0f}"]
        row += ["", ""] if name == first else [f"{ratio(runs[first], theirs, key):.2f}" for key in ("wall", "cpu")]
        if aims:
            row.append(f"≤ {aims[name]:g}" if name in aims else "")
        rows.append(row)
    return rows_table(columns, rows)


def rows_table(columns, rows):
    head = ["| " + " | ".join(columns) + " |", "|---" + "|--:" * (len(columns) - 1) + "|"]
    return head + ["| " + " | ".join(row) + " |" for row in rows]
