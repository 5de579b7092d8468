"""The clients' own tests on arrays of ours, in a process of their own. How ours are put in: `suite_*.py`, plugins of pytest's.

One test of `SAMPLE` is run, always the same ones; `STRIDEWISE_CLIENTS=whole` runs all of them.
"""

import importlib
import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
SAMPLE = 1 if os.environ.get("STRIDEWISE_CLIENTS") == "whole" else 12


def client(name):
    """A client's module. Where it is not installed, what imports it is skipped; the test command has it, and says so."""
    if "STRIDEWISE_CLIENTS" in os.environ:
        return importlib.import_module(name)
    return pytest.importorskip(name, reason=f"{name} is not installed")


def run(package, files, known, least, *, plugin=None, marks="", select="", environment=()):
    """Runs files of a client's tests. known: those that fail, by what ends their names, and why; exactly these may. least: how
    many of all pass at least."""
    root = pathlib.Path(importlib.util.find_spec(package).origin).parent
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-W", "ignore", "--tb=line", "-rfE"]
    command += ["-p", plugin] if plugin else []
    command += ["-m", marks] if marks else []
    command += ["-k", select] if select else []
    # One thread each, for other tests run beside them; and devices of the host's memory alone, for these tests take every device's
    # arrays to be ones that NumPy reads, unless they know the library.
    usual = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(HERE), "SCIPY_ARRAY_API": "1"}
    usual["OCL_ICD_VENDORS"] = str(HERE)
    if SAMPLE > 1:
        command += ["-p", "sample"]
        usual |= {"STRIDEWISE_SAMPLE": str(SAMPLE), "STRIDEWISE_KNOWN": "\n".join(known or ["/"])}
    done = subprocess.run(
        [*command, *(str(root / file) for file in files)], cwd=root.parent, env=os.environ | usual | dict(environment),
        capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    unknown = [name for name in failed if not name.endswith(tuple(known))]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert not unknown and passed, f"{unknown}\n{done.stdout[-4000:]}\n{done.stderr[-2000:]}"
    # A sample of fewer than a hundred may have few of those that run.
    assert int(passed[1]) >= max(least // SAMPLE // 2, 1)
    # What is known to fail, does: else the list is out of date.
    assert len(failed) == len(known), failed
