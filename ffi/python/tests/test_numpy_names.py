"""Which of NumPy's names there are here: the page of the site that says so, against what is found.

STRIDEWISE_WRITE_NAMES=1 writes the page anew.
"""

import contextlib
import io
import os
from pathlib import Path

import numpy as np
import pytest

import stridewise as sw

PAGE = Path(__file__).resolve().parents[3] / "docs" / "site" / "numpy-names.md"
X = np.arange(6.0).reshape(2, 3) + 1

#: Names of NumPy's alone, whose functions and classes read our arrays as NumPy's: what they make of one, as something to compare.
READS = {
    "array2string": lambda x: np.array2string(x), "array_repr": lambda x: np.array_repr(x), "array_str": lambda x: np.array_str(x),
    "asmatrix": lambda x: np.asmatrix(x).tolist(), "bmat": lambda x: np.bmat([[x, x]]).tolist(), "matrix": lambda x: np.matrix(x).tolist(),
    "broadcast": lambda x: np.broadcast(x, x[0]).shape, "einsum_path": lambda x: str(np.einsum_path("ij,kj->ik", x, x)),
    "format_float_positional": lambda x: np.format_float_positional(x[0, 1]), "format_float_scientific": lambda x: np.format_float_scientific(x[0, 1]),
    "ma": lambda x: np.ma.array(x, mask=np.eye(2, 3)).sum(), "nditer": lambda x: [float(each) for each in np.nditer(x)],
    "nested_iters": lambda x: [[float(each) for each in inner] for outer, inner in [np.nested_iters(x, [[0], [1]])] for _ in outer],
    "poly1d": lambda x: float(np.poly1d(x[0])(np.array(2.0))), "polynomial": lambda x: np.polynomial.Polynomial(np.asarray(x[0]))(2.0), "rec": lambda x: np.rec.fromarrays([x[0], x[1]]).tolist(),
    "testing": lambda x: np.testing.assert_allclose(x, X), "info": lambda x: np.info(x, output=io.StringIO()),
}  # fmt: skip
#: In the other modules.
READS_OF: dict = {"numpy.linalg": {}, "numpy.fft": {}, "numpy.random": {}}
TITLES = {"ours": "a name here, too", "reads": "NumPy's own, which reads our arrays as views", "refuses": "none of both: a `TypeError`, or nothing that arrays here have"}


def found(theirs, ours, reads):
    """The names of a module by what becomes of our arrays: ours, read, refused."""
    table = {"ours": [], "reads": [], "refuses": []}
    for name in sorted(set(theirs.__all__)):
        table["ours" if hasattr(ours, name) else "reads" if name in reads else "refuses"].append(name)
    return table


def tables():
    yield "numpy", found(np, sw, READS)
    for part in ("linalg", "fft", "random"):
        yield f"numpy.{part}", found(getattr(np, part), getattr(sw, part), READS_OF[f"numpy.{part}"])


VERSION = "NumPy " + ".".join(np.__version__.split(".")[:2])


def page():
    said = [
        f"# NumPy's names\n\nThose of {VERSION}.\n",
        "Whether a name of NumPy's is a name of `stridewise`, and, if not, what its function makes of our arrays. A test makes this page.\n",
    ]
    for module, table in tables():
        counts = ", ".join(f"{len(names)} {kind}" for kind, names in table.items())
        said.append(f"## {module}\n\n{sum(map(len, table.values()))} names: {counts}.\n")
        said += [f"**{kind}** ({TITLES[kind]}): {', '.join(f'`{name}`' for name in names)}\n" for kind, names in table.items() if names]
    return "\n".join(said)


@pytest.mark.skipif(not PAGE.parent.is_dir(), reason="the documents are in the repository only")
def test_the_page_says_what_is_found():
    if os.environ.get("STRIDEWISE_WRITE_NAMES"):
        PAGE.write_text(page(), encoding="utf-8")
    written = PAGE.read_text(encoding="utf-8")
    if VERSION not in written:
        pytest.skip(f"the page is of another version than {VERSION}")
    assert written == page(), "STRIDEWISE_WRITE_NAMES=1 writes the page anew"


def test_few_are_refused():
    counts = {module: len(table["refuses"]) for module, table in tables()}
    assert counts["numpy"] < 40
    assert counts["numpy.linalg"] == counts["numpy.fft"] == 0


@pytest.mark.parametrize("name", READS)
def test_what_reads(name):
    with contextlib.redirect_stdout(io.StringIO()):
        assert READS[name](sw.asarray(X)) == READS[name](X) or name in ("info", "testing")


def test_functions_of_arrays_are_ours_or_refuse():
    """What NumPy dispatches by arrays and has no name here is an error, and never NumPy's by the way."""
    for name in tables().__next__()[1]["refuses"]:
        function = getattr(np, name)
        if hasattr(function, "_implementation") or isinstance(function, np.ufunc):
            with pytest.raises(TypeError):
                function(sw.asarray(X), sw.asarray(X)) if getattr(function, "nin", 2) == 2 else function(sw.asarray(X))
