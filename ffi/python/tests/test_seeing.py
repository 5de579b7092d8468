"""Plans of recorded work, and traces: beside what NumPy counts and what the program does."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import stridewise as sw

N = 1 << 18


def large(offset=0):
    array = sw.asarray(np.arange(N, dtype=np.float32) + offset)
    array.wait()
    return array


def test_a_plan_names_the_variables_and_counts_their_bytes():
    heights, scale = large(), large(1)
    plan = json.loads(sw.explain(sw.sqrt(heights * scale + 1), format="json"))
    (only,) = plan["passes"]
    assert [(read["name"], read["bytes"]) for read in only["reads"]] == [("heights", 4 * N), ("scale", 4 * N)]
    assert only["bytes_written"] == 4 * N and only["cut"] == "needed"
    assert [name for part in only["parts"] for name in part["operations"]] == ["multiply", "add", "sqrt"]


def test_what_a_variable_holds_is_written_too():
    x = large()
    kept = x * 2
    result = kept + x
    (only,) = json.loads(result.explain(format="json"))["passes"]
    assert {(write["name"], write["held"]) for write in only["writes"]} == {("result", False), ("kept", True)}
    # Nothing was computed for it.
    assert result._is_pending and kept._is_pending
    del kept
    (only,) = json.loads(result.explain(format="json"))["passes"]
    assert len(only["writes"]) == 1
    np.testing.assert_array_equal(sw.asnumpy(result), np.arange(N, dtype=np.float32) * 2 + np.arange(N, dtype=np.float32))


def test_formats():
    x = large()
    y = sw.exp(x) + x
    text, chart = sw.explain(y), y.explain("mermaid")
    assert "ends here: its elements are asked for" in text and "exp, add" in text
    assert chart.startswith("flowchart BT\n")
    y.wait()
    assert "in memory" in y.explain()


def test_a_graph_is_explained():
    x = large()
    with x.queue.capture() as graph:
        graph.input("x", x)
        graph.output("y", sw.sqrt(x * x + 1))
    plan = json.loads(sw.explain(graph, format="json"))
    assert len(plan["passes"]) == len(graph)
    assert plan["passes"][0]["reads"][0]["name"] == "x"
    assert json.loads(sw.analyze(graph, format="json"))["measured"]["time"] > 0


@pytest.mark.parametrize(("format", "error"), [("html", ValueError), (None, TypeError), (3, TypeError)])
def test_wrong_formats(format, error):
    with pytest.raises(error, match="`format` is .*; expected one of 'text'"):
        sw.explain(large() + 1, format=format)


def test_wrong_things():
    with pytest.raises(TypeError, match="`x` is of type list; expected a usm_ndarray or a Graph"):
        sw.explain([1, 2])


def test_an_analysis_has_times():
    x = large()
    y = sw.sqrt(x * x + 1) * x
    plan = json.loads(y.analyze(format="json"))
    assert plan["limit"] > 1e6 and plan["passes"][0]["measured"]["time"] > 0
    np.testing.assert_allclose(sw.asnumpy(y), np.sqrt(np.arange(N, dtype=np.float32) ** 2 + 1) * np.arange(N, dtype=np.float32), rtol=1e-6)


def nested(events):
    """Whether no slice of a track begins in another one and ends behind it."""
    tracks = {}
    for event in events:
        if event["ph"] == "X":
            tracks.setdefault((event["pid"], event["tid"]), []).append((event["ts"], -event["dur"], event["name"]))
    for slices in tracks.values():
        ends = []
        for begin, lasted, _ in sorted(slices):
            while ends and ends[-1] <= begin + 5e-4:
                ends.pop()
            if ends and begin - lasted > ends[-1] + 5e-4:
                return False
            ends.append(begin - lasted)
    return True


def test_a_trace_has_what_the_block_did(tmp_path):
    path = tmp_path / "trace.json"
    x = large()
    with sw.profile(path) as p:
        y = x
        for _ in range(5):
            y = sw.sqrt(y * y + x)
            y.event
        y.wait()
    names = [row["name"] for row in p.table() if row["doing"] == "run"]
    assert any("sqrt" in name for name in names), p
    shares = [row["share_of_limit"] for row in p.table() if row["doing"] == "run" and row["bytes"]]
    assert shares and all(share > 0 for share in shares), p
    assert "of limit" in str(p)
    assert p.dropped == 0 and 0 < p.seconds
    events = json.loads(path.read_text())["traceEvents"]
    assert nested(events)
    assert sum(event.get("cat") == "submission" for event in events) >= 5
    assert json.loads(p.to_json())["traceEvents"] == events
    assert "sqrt" in str(p)


def test_call_sites():
    x = large()
    with sw.profile(sites=True) as p:
        y = sw.exp(x) + x
        y.wait()  # here
    sites = {event["args"].get("site", "") for event in json.loads(p.to_json())["traceEvents"] if event["ph"] == "X"}
    assert any("test_seeing.py:" in site for site in sites), sites
    assert sys.gettrace() is None or sys.gettrace().__module__ != "stridewise._seeing"


def test_wrong_blocks():
    p = sw.profile()
    with pytest.raises(RuntimeError, match="its block has not ended"):
        p.table()
    with p:
        pass
    with pytest.raises(RuntimeError, match="expected a fresh one"):
        p.__enter__()
    with pytest.raises(ValueError, match="`most` is 0; expected an integer"):
        sw.profile(most=0)
    with pytest.raises(TypeError, match="`at_once` is 'soon'; expected a number"):
        sw.profile(at_once="soon")
    with pytest.raises(ValueError, match="path"):
        with sw.profile("/nowhere/trace.json"):
            pass


def test_the_environment_names_a_file(tmp_path):
    path = tmp_path / "whole.json"
    program = "import stridewise as sw; x = sw.ones(1 << 18); float(sw.sum(sw.sqrt(x * x + 1)))"
    subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, "STRIDEWISE_TRACE": str(path)})
    events = json.loads(path.read_text())["traceEvents"]
    assert nested(events) and any(event["ph"] == "X" for event in events)
