"""Which of NumPy's names and others' there are here: the page of the site that says so, against what is found.

STRIDEWISE_WRITE_NAMES=1 writes the page anew.
"""

import contextlib
import importlib
import inspect
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


#: Other modules by what their names are compared with here.
OTHERS = {"jax.numpy": ("JAX", "jax", lambda: sw), "jax.scipy.special": ("JAX", "jax", lambda: sw.special)}


def version(title, module):
    return f"{title} " + ".".join(module.__version__.split(".")[:2])


def listed(names):
    return ", ".join(f"`{name}`" for name in names)


def sections():
    """Each section of the page: its title, the version that it is of, its text; of what is installed."""
    for module, table in tables():
        counts = ", ".join(f"{len(names)} {kind}" for kind, names in table.items())
        text = f"{sum(map(len, table.values()))} names: {counts}.\n"
        text += "".join(f"\n**{kind}** ({TITLES[kind]}): {listed(names)}\n" for kind, names in table.items() if names)
        yield module, version("NumPy", np), text
    lines = Path(__file__).with_name("cupy_names.txt").read_text(encoding="utf-8").splitlines()
    yield "cupy", "CuPy 13: what makes and computes arrays, and kernels; without what NumPy has removed since", beside(" ".join(lines[1:]).split(), sw)
    for module, (title, root, ours) in OTHERS.items():
        try:
            theirs, package = importlib.import_module(module), importlib.import_module(root)
        except ImportError:
            continue
        names = [name for name in dir(theirs) if name[0] != "_" and not inspect.ismodule(getattr(theirs, name)) and not name.endswith("Warning")]
        yield module, version(title, package), beside(names, ours())


def beside(names, ours):
    here = [name for name in sorted(names) if hasattr(ours, name)]
    rest = [name for name in sorted(names) if not hasattr(ours, name)]
    return f"{len(names)} names: {len(here)} here, {len(rest)} not.\n\n**not here**: {listed(rest)}\n"


def page():
    said = "# NumPy's names, and others'\n\nWhether a name of NumPy's is a name of `stridewise`, and, if not, what its function makes of our arrays; and which names of other "
    said += "modules are names here, those of `stridewise` and of `stridewise.special`. A test makes this page.\n"
    return said + "".join(f"\n## {module}\n\nOf {of}. {text}" for module, of, text in sections())


@pytest.mark.skipif(not PAGE.parent.is_dir(), reason="the documents are in the repository only")
def test_the_page_says_what_is_found():
    if os.environ.get("STRIDEWISE_WRITE_NAMES"):
        PAGE.write_text(page(), encoding="utf-8")
    written = dict(part.split("\n\n", 1) for part in PAGE.read_text(encoding="utf-8").split("\n## ")[1:])
    compared = 0
    for module, of, text in sections():
        said = written[module]
        if said.startswith(f"Of {of}. "):
            compared += 1
            assert said.rstrip() == f"Of {of}. {text}".rstrip(), "STRIDEWISE_WRITE_NAMES=1 writes the page anew"
    assert compared, "the page is of versions of all modules that are not installed"


def test_enough_are_here():
    found = {module: [int(text.split(" names: ")[0]), int(text.split(" names: ")[1].split()[0])] for module, of, text in sections()}
    for module, least in (("cupy", 0.95), ("jax.numpy", 0.9), ("jax.scipy.special", 0.7)):
        if module in found:
            names, here = found[module]
            assert here >= least * names, (module, here, names)


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
