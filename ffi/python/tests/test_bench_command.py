"""`python -m stridewise bench`: what it measures adds up, and is the same on the screen and in the file. No time is looked at."""

import json
import os
import subprocess
import sys

import pytest

import stridewise as sw


def command(*arguments, **options):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("STRIDEWISE_")}
    return subprocess.run(
        [sys.executable, "-m", "stridewise", *arguments], text=True, timeout=300, env=clean, **{"capture_output": True} | options
    )


def test_rows_add_up(tmp_path):
    file = tmp_path / "machine.json"
    done = command("bench", "--filter", "host", "--seconds", "0.001", "--json", str(file))
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    found = json.loads(file.read_text())
    device = sw.Device("host")
    names = [f"{device.filter_string}, one core"] + [device.filter_string] * (device.max_compute_units > 1)
    assert (found["version"], found["devices"]) == (sw.__version__, {device.filter_string: device.name})
    assert list(found["limits_gb_per_s"]) == names
    for name in names:
        rows = [row for row in found["rows"] if row["device"] == name]
        assert len(rows) == len({row["row"] for row in rows}) == 12
        for row in rows:
            assert row["seconds"] > 0
            if "bytes" in row:
                assert row["gb_per_s"] == pytest.approx(row["bytes"] / row["seconds"] / 1e9)
                assert row["share_of_limit"] == pytest.approx(row["gb_per_s"] / found["limits_gb_per_s"][name])
            if "operations" in row:
                assert row["gop_per_s"] == pytest.approx(row["operations"] / row["seconds"] / 1e9)
            assert row["row"] in done.stdout
    # Of arrays of a mebibyte: two are read and one is written.
    assert {row["bytes"] for row in found["rows"] if row["row"] == "x + y"} == {3 << 20}


def test_an_emulated_device_is_measured_within_its_limits(tmp_path):
    file = tmp_path / "pi.json"
    done = command("bench", "-F", "emulated:raspberry_pi_4", "--seconds", "0.001", "--json", str(file))
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    found = json.loads(file.read_text())
    assert len(found["rows"]) == 12 and found["rows"][0]["share_of_limit"] == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["bench", "--seconds", "0"], "a number above 0"),
        (["bench", "-f"], "--filter chooses one"),
        (["--json", "x"], "belong to bench"),
        (["bench", "-F", "nothing:gpu"], "use one of"),
    ],
)
def test_wrong_arguments_are_refused(arguments, said):
    done = command(*arguments)
    assert done.returncode != 0 and said in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [["doctor"], [], ["-f"], ["bench", "-F", "host", "--seconds", "0.001"]])
def test_readers_may_go_away(arguments):
    read, write = os.pipe()
    os.close(read)
    done = command(*arguments, stdout=write, stderr=subprocess.PIPE, capture_output=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (1, "")
    # And there may be none from the start.
    done = subprocess.run(f'"{sys.executable}" -m stridewise {" ".join(arguments)} >&-', shell=True, stderr=subprocess.PIPE, timeout=300)
    assert b"Traceback" not in done.stderr, done.stderr
