"""Draws results as a chart: an SVG card with a small panel for each case and a bar for each tool.

Every panel has its own scale, so bars of different panels cannot be compared. The card has its own background, because
it is read on light pages and on dark ones.
"""
from html import escape

from cases import CASES
from lib.tables import medians, ratio

WIDTH = 880
MARGIN = 28
GAP = 36  # between the two columns
HEAD = 84
FOOT = 40
PANEL = (WIDTH - 2 * MARGIN - GAP) / 2
LABEL = 26  # height of a panel's title
ROW = 22
BAR = 12
SPACE = 22  # between panels
NAMES = 52  # width of the tools' names
FIGURES = 108  # width of the figures after the longest bar

STYLE = """
    text { font: 12px -apple-system, "Segoe UI", "Noto Sans", "DejaVu Sans", Helvetica, Arial, sans-serif;
           fill: #94a3b8 }
    .title { font-size: 19px; font-weight: 600; fill: #f1f5f9 }
    .case { font-size: 13px; font-weight: 600; fill: #e2e8f0 }
    .haul { fill: #5eead4; font-weight: 600 }
    .figure { fill: #cbd5e1 }
    .times { fill: #94a3b8 }
    .small { font-size: 11px; fill: #8291a7 }
"""


def save(path, results):
    with open(path, "w") as file:
        file.write(draw(results))


def draw(results):
    races = [results["cases"][name] for name in CASES if name in results["cases"]]
    # Leaves out cases that compare Haul only with itself.
    races = [case for case in races if case["kind"] == "race" and {tool.split()[0] for tool in case["runs"]} - {"haul"}]
    columns = split(races)
    height = HEAD + max((sum(map(panel_height, column)) for column in columns), default=0) - SPACE + FOOT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        'role="img" aria-label="Wall time of Haul and other download tools">',
        f"<style>{STYLE}</style>",
        '<defs><linearGradient id="haul" x1="0" x2="1"><stop stop-color="#14b8a6"/>'
        '<stop offset="1" stop-color="#5eead4"/></linearGradient></defs>',
        f'<rect x=".5" y=".5" width="{WIDTH - 1}" height="{height - 1}" rx="14" fill="#0f172a" stroke="#334155"/>',
        text(MARGIN, 40, "Time until the file is there", "title"),
        text(MARGIN, 61, "Wall time on loopback, shorter is better; × is how many times Haul’s. " +
             rounds_text(races)),
    ]
    for place, column in enumerate(columns):
        top = HEAD
        for case in column:
            parts.append(panel(case, MARGIN + place * (PANEL + GAP), top))
            top += panel_height(case)
    note = "Each panel has its own scale. Every file was compared with its original."
    parts.append(text(MARGIN, height - 16, note, "small"))
    return "\n".join(parts) + "\n</svg>\n"


def split(cases):
    """Splits the cases into two columns of about the same height and keeps their order."""
    def unevenness(cut):
        return abs(sum(map(panel_height, cases[:cut])) - sum(map(panel_height, cases[cut:])))

    best = min(range(len(cases) + 1), key=unevenness)
    return cases[:best], cases[best:]


def panel_height(case):
    return LABEL + ROW * len(case["runs"]) + SPACE


def rounds_text(races):
    rounds = sorted({case["rounds"] for case in races})
    if not rounds:
        return "Nothing was measured."
    return f"Medians of {rounds[0]} rounds." if len(rounds) == 1 else f"Medians of {rounds[0]} to {rounds[-1]} rounds."


def panel(case, left, top):
    runs = case["runs"]
    first = next(iter(runs))
    walls = {tool: medians(each)[0] for tool, each in runs.items()}
    longest = max(walls.values())
    room = PANEL - NAMES - FIGURES
    parts = [text(left, top + 14, case["label"], "case")]
    for place, tool in enumerate(runs):
        is_haul = tool.split()[0] == "haul"
        middle = top + LABEL + ROW * place + ROW / 2
        bar = max(2, room * walls[tool] / longest)
        parts.append(text(left, middle + 4, tool.split()[0], "haul" if is_haul else "figure"))
        parts.append(
            f'<rect x="{left + NAMES:.1f}" y="{middle - BAR / 2:.1f}" width="{bar:.1f}" height="{BAR}" rx="3" '
            f'fill="{"url(#haul)" if is_haul else "#475569"}"/>')
        figures = f'<tspan class="{"haul" if is_haul else "figure"}">{seconds(walls[tool])}</tspan>'
        if tool != first:
            times = 1 / ratio(runs[first], runs[tool], "wall")
            figures += f'<tspan class="times" dx="7">{times_text(times)}</tspan>'
        parts.append(f'<text x="{left + NAMES + bar + 8:.1f}" y="{middle + 4:.1f}">{figures}</text>')
    return "\n".join(parts)


def seconds(value):
    if value < 0.1:
        return f"{value * 1000:.0f} ms"
    return f"{value:.2f} s" if value < 10 else f"{value:.1f} s"


def times_text(times):
    return f"{times:.0f}×" if times >= 10 else f"{times:.1f}×"


def text(x, y, words, name=""):
    kind = f' class="{name}"' if name else ""
    return f'<text x="{x:g}" y="{y:g}"{kind}>{escape(words)}</text>'
