"""Draws the charts of the front page from the results that are checked in: python docs/site/charts.py

A row is a program, a dot one library: how many times as long as Stridewise it took. A dot left of the line is a library that was
faster. Nothing is installed for it; `test_documentation.py` compares the charts with the results.
"""

import math
import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RESULTS = ROOT / "benches" / "RESULTS.md"
KERNELS = ROOT / "benches" / "results" / "kernels.txt"
#: Libraries by their names in the results: how they are called, and their colours.
PEERS = {
    "numpy": ("NumPy", "#1f77b4"),
    "numexpr": ("numexpr", "#9467bd"),
    "jax": ("JAX", "#d62728"),
    "dpnp": ("dpnp", "#2ca02c"),
    "ndarray": ("ndarray", "#8c8c8c"),
    "ndarray-par": ("ndarray, loops on all threads", "#111111"),
    "numba": ("Numba", "#ff7f0e"),
}
UNITS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}


def seconds(cell):
    """`"4.05 ms"` in seconds; None where a library has no time."""
    found = re.fullmatch(r"([0-9.]+) (ns|µs|ms|s)", cell.strip())
    return float(found[1]) * UNITS[found[2]] if found else None


def table(section):
    """The rows of a section of the results: by operation, layout and dtype, the times by library, ours as "ours"."""
    text = RESULTS.read_text(encoding="utf-8").split(f"\n## {section}\n", 1)[1].split("\n## ", 1)[0]
    head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    found = {}
    for row in rows:
        cells = dict(zip(head, row))
        times = {"ours": seconds(cells["time"])} | {name: seconds(cells[name]) for name in head if name in PEERS}
        found[cells["op"].strip("`"), cells["layout"], cells["dtype"]] = {name: time for name, time in times.items() if time}
    return found


def ratios(times):
    return {name: time / times["ours"] for name, time in times.items() if name != "ours"}


def chains():
    rows = table("16 Mi elements")
    chosen = [("a*b+c", "fresh"), ("sqrt(a*a+b*b)*c-d", "fused"), ("sigmoid", "fused"), ("gelu", "fused")]
    return [(f"{op}, {dtype}", ratios(rows[op, layout, dtype])) for op, layout in chosen for dtype in ("float32", "float64")]


def programs():
    return [(op, ratios(times)) for (op, layout, _), times in table("1 Mi elements").items() if layout == "program"]


def kernels():
    """The rows of `ffi/python/benches/kernels.py`, whose last column is the ratio of the peer's time to ours."""
    found = re.findall(r"(?m)^([\w-]+) .* m?s +([0-9.]+)$", KERNELS.read_text(encoding="utf-8"))
    return [(name, {"numba": float(ratio)}) for name, ratio in found]


#: By the file's name: title, what the rows are.
CHARTS = {
    "chains": ("Chains of operations, 16 Mi elements", chains),
    "programs": ("Whole programs, 1 Mi elements of float64", programs),
    "kernels": ("Kernels beside Numba's compiled loops", kernels),
}
WIDTH, LEFT, RIGHT, STEP, TOP = 560, 190, 20, 24, 78


def escaped(text):
    return text.replace("&", "&amp;").replace("<", "&lt;")


def chart(title, rows):
    """A chart as SVG: its horizontal axis is logarithmic."""
    every = [ratio for _, by in rows for ratio in by.values()]
    low, high = math.floor(math.log10(min([0.5, *every]))), math.ceil(math.log10(max([2, *every])))
    height = TOP + STEP * len(rows) + 44

    def x(ratio):
        return LEFT + (math.log10(ratio) - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        f'<text x="12" y="22" font-size="15" font-weight="bold">{escaped(title)}</text>',
    ]
    at, line = 12, 42
    for name in (name for name in PEERS if any(name in by for _, by in rows)):
        label, colour = PEERS[name]
        wide = 24 + 7.4 * len(label)
        if at + wide > WIDTH:
            at, line = 12, line + 17
        out += [f'<circle cx="{at + 5:.0f}" cy="{line - 4}" r="5" fill="{colour}"/>', f'<text x="{at + 14:.0f}" y="{line}">{label}</text>']
        at += wide
    bottom = TOP + STEP * len(rows)
    for power in range(low, high + 1):
        place = x(10.0**power)
        style = 'stroke="#444" stroke-width="1.5"' if power == 0 else 'stroke="#ddd"'
        number = f"{10.0**power:g}×"
        out += [
            f'<line x1="{place:.1f}" x2="{place:.1f}" y1="{TOP - 6}" y2="{bottom}" {style}/>',
            f'<text x="{place:.1f}" y="{bottom + 16}" text-anchor="middle">{number}</text>',
        ]
    out.append(f'<text x="{x(1):.1f}" y="{bottom + 34}" text-anchor="middle" fill="#444">← faster than Stridewise | slower →</text>')
    for k, (label, by) in enumerate(rows):
        y = TOP + STEP * k + STEP // 2
        out.append(f'<text x="{LEFT - 10}" y="{y + 4}" text-anchor="end">{escaped(label)}</text>')
        out.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}" stroke="#eee"/>')
        for name in (name for name in PEERS if name in by):
            out.append(
                f'<circle cx="{x(by[name]):.1f}" cy="{y}" r="5" fill="{PEERS[name][1]}" fill-opacity="0.85">'
                f"<title>{PEERS[name][0]}: {by[name]:.2f} times as long</title></circle>"
            )
    return "\n".join([*out, "</svg>", ""])


def drawn():
    """The charts by their files' names."""
    return {f"{name}.svg": chart(title, rows()) for name, (title, rows) in CHARTS.items()}


if __name__ == "__main__":
    for name, text in drawn().items():
        (HERE / "charts" / name).write_text(text, encoding="utf-8")
        print(name, len(text))
