"""Draws the picture of a trace on the page about seeing what the engine does: python docs/site/timeline.py [TRACE]

Without a trace it runs a program of its own, a field that is smoothed in rounds while another queue sorts, and draws that. A row is a
track, as Perfetto's page shows it; an arrow leads from a command to who waits for it. Needs Matplotlib.
"""

import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PICTURE = HERE / "_static" / "timeline.png"
#: Slices shorter than this share of the whole have no name beside them.
NAMED = 0.04
COLOURS = {"run": "#4c78a8", "at once": "#72b7b2", "command": "#9d9d9d", "wait": "#e45756", "submission": "#f58518", "compile": "#b279a2", "allocation": "#54a24b"}
OTHER = "#9d9d9d"


def traced():
    """The trace of a program with two queues."""
    import stridewise as sw

    field = sw.random.default_rng(1).random((2048, 2048), dtype="float32")
    other = sw.Queue("host")
    keys = sw.asarray(sw.random.default_rng(2).random(1 << 21), queue=other, copy=True)

    def steps(rounds):
        x = field
        for _ in range(rounds):
            x = 0.25 * (sw.roll(x, 1, axis=0) + sw.roll(x, -1, axis=0) + sw.roll(x, 1, axis=1) + sw.roll(x, -1, axis=1))
        ordered = sw.sort(keys)
        return float(sw.max(x)), float(ordered[0])

    # The first use of a program compiles it.
    steps(2)
    with sw.profile() as noted:
        steps(6)
    return json.loads(noted.to_json())


def tracks(events):
    """Names of the tracks, in the order in which the trace has them, with the slices of each."""
    processes, names, found = {}, {}, {}
    for event in events:
        track = event["pid"], event.get("tid", 0)
        if event["ph"] == "M" and event["name"] == "process_name":
            processes[event["pid"]] = event["args"]["name"]
        elif event["ph"] == "M" and event["name"] == "thread_name":
            names[track] = event["args"]["name"]
        elif event["ph"] == "X":
            found.setdefault(track, []).append(event)
    return [(names.get(track, processes.get(track[0], str(track))), track, found[track]) for track in sorted(found)]


def draw(trace, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    rows = tracks(events)
    slices = [slice for _, _, own in rows for slice in own]
    begin = min(slice["ts"] for slice in slices)
    whole = max(slice["ts"] + slice["dur"] for slice in slices) - begin
    place = {track: row for row, (_, track, _) in enumerate(rows)}
    figure, axes = plt.subplots(figsize=(11, 0.9 + 0.42 * len(rows)), dpi=120)
    for row, (_, _, own) in enumerate(rows):
        for slice in sorted(own, key=lambda slice: -slice["dur"]):
            colour = COLOURS.get(slice["cat"], OTHER)
            left, width = (slice["ts"] - begin) / 1e3, max(slice["dur"], whole / 2000) / 1e3
            axes.barh(row, width, left=left, height=0.7, color=colour, edgecolor="white", linewidth=0.4)
            if slice["dur"] > NAMED * whole:
                letters = int(slice["dur"] / whole * 120)
                name = slice["name"] if len(slice["name"]) <= letters else slice["name"][: max(letters - 1, 1)] + "…"
                axes.text(left + width / 2, row, name, ha="center", va="center", fontsize=7, color="white")
    starts = {event["id"]: event for event in events if event["ph"] == "s"}
    for event in events:
        if event["ph"] == "f" and event["id"] in starts:
            from_ = starts[event["id"]]
            ends = [((e["ts"] - begin) / 1e3, place[e["pid"], e["tid"]]) for e in (from_, event) if (e["pid"], e["tid"]) in place]
            if len(ends) == 2:
                axes.annotate("", xy=ends[1], xytext=ends[0], arrowprops={"arrowstyle": "->", "color": "#333333", "linewidth": 0.5, "alpha": 0.6})
    axes.set_yticks(range(len(rows)), [name for name, _, _ in rows], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel("milliseconds")
    kinds = [kind for kind in COLOURS if any(slice["cat"] == kind for slice in slices)]
    handles = [plt.Rectangle((0, 0), 1, 1, color=COLOURS[kind]) for kind in kinds]
    axes.legend(handles, kinds, loc="upper center", bbox_to_anchor=(0.5, 1 + 0.9 / len(rows)), ncols=len(kinds), frameon=False, fontsize=8)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    figure.savefig(path, bbox_inches="tight")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        draw(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), PICTURE)
    else:
        draw(traced(), PICTURE)
