"""NumPy's own tests on our module, by the adapter `numpy_suite.py`: two files that are short, whose counts are no worse than known."""

import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

HERE = pathlib.Path(__file__).resolve().parent
LIB = pathlib.Path(np.__file__).parent / "lib" / "tests"


@pytest.mark.skipif(not LIB.is_dir(), reason="NumPy is installed without its tests")
@pytest.mark.parametrize(("file", "least", "most"), [("test_index_tricks.py", 50, 2), ("test_polynomial.py", 5, 0)])
def test_own_tests(file, least, most):
    pytest.importorskip("hypothesis", reason="NumPy's tests need hypothesis")
    command = [sys.executable, HERE / "numpy_suite.py", "-v", f"lib/tests/{file}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=HERE)
    counts = re.search(r": (\d+) passed, (\d+) failed", done.stdout)
    assert counts, done.stdout + done.stderr
    assert int(counts[1]) >= least and int(counts[2]) <= most, done.stdout
