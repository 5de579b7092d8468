"""`python -m stridewise doctor`, and the command `stridewise`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import stridewise as sw


def doctor(*arguments, **variables):
    """The status and what was printed, of a process with these variables."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("STRIDEWISE_")}
    done = subprocess.run(
        [sys.executable, "-m", "stridewise", "doctor", *arguments],
        capture_output=True, text=True, timeout=120, env=clean | variables,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def test_everything_is_looked_at():
    status, out, err = doctor()
    assert err == ""
    assert status == (0 if "\n0 problems" in out else 1)
    for part in ("stridewise\n", "environment\n", "host\n", "devices\n", "python\n"):
        assert part in out
    assert sw.__version__ in out and sys.executable in out
    for device in sw.get_devices():
        assert device.filter_string in out


@pytest.mark.parametrize(
    ("name", "value", "remedy"),
    [
        ("STRIDEWISE_DEVICE", "nothing", "use one of"),
        ("STRIDEWISE_NUM_THREADS", "0", "set it to the number of cores"),
        ("STRIDEWISE_EXIT_SECONDS", "-1", "export STRIDEWISE_EXIT_SECONDS=10"),
    ],
)
def test_wrong_values(name, value, remedy):
    status, out, _ = doctor(**{name: value})
    lines = out.splitlines()
    at = next(number for number, line in enumerate(lines) if f" {name} " in line)
    assert status == 1
    assert lines[at].split()[0] == "problem" and value in lines[at]
    assert "→" in lines[at + 1] and remedy in "".join(lines[at : at + 2])


def test_broken_vendor(tmp_path):
    (tmp_path / "broken.icd").write_text("libstridewise-not-there.so.7\n")
    status, out, _ = doctor(OCL_ICD_VENDORS=str(tmp_path))
    assert "broken.icd" in out
    if "libstridewise-not-there.so.7 cannot be loaded" in out:
        assert status == 1


def test_options_are_refused():
    status, _, err = doctor("--summary")
    assert status == 2 and "doctor takes no options" in err


def test_command():
    """The script that a wheel installs."""
    script = Path(sys.executable).with_name("stridewise")
    if not script.exists():
        pytest.skip("the module is not installed from a wheel")
    listed = subprocess.run([script], capture_output=True, text=True, timeout=60)
    module = subprocess.run([sys.executable, "-m", "stridewise"], capture_output=True, text=True, timeout=60)
    assert listed.returncode == module.returncode == 0 and listed.stdout == module.stdout


def test_a_reader_that_goes_away_is_no_failure():
    with subprocess.Popen(
        [sys.executable, "-m", "stridewise", "doctor"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 1
