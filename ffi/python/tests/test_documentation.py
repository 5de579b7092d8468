"""What the documents show in Python runs, and means what it says: the pages of the site, README, and docstrings."""

import ast
import doctest
import importlib
import linecache
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import stridewise as sw

ROOT = Path(__file__).resolve().parents[3]
SITE = ROOT / "docs" / "site"
BLOCK = re.compile(r"^```(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: Languages of blocks: those that tests run (Rust's and C's by cargo), and those that are no programs.
RUN, PLAIN = {"python", "rust", "c"}, {"sh", "text", "toml"}
OPTIONS = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL | doctest.NORMALIZE_WHITESPACE


def blocks(page):
    """The blocks of a page: the line of the first one's text, its language and its text."""
    text = page.read_text(encoding="utf-8")
    return [(text[: found.start(2)].count("\n") + 1, found[1], found[2]) for found in BLOCK.finditer(text)]


def pages():
    found = [*sorted(SITE.glob("*.md")), ROOT / "README.md", ROOT / "ffi" / "README.md"]
    return [page for page in found if any(language == "python" for _, language, _ in blocks(page))]


pytestmark = pytest.mark.skipif(not SITE.is_dir(), reason="the documents are in the repository only")


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_page(page, tmp_path, monkeypatch):
    """The blocks of a page are one program, in a folder of its own."""
    if page.name == "dask.md":
        pytest.importorskip("dask.array")
    monkeypatch.chdir(tmp_path)
    globals_ = {"__name__": "__main__"}
    for line, language, text in blocks(page):
        if language != "python":
            continue
        if text.startswith(">>> "):
            # Examples with their results.
            test = doctest.DocTestParser().get_doctest(text, globals_, page.name, str(page), line - 1)
            said = []
            doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=said.append, clear_globs=False)
            assert not said, "".join(said)
            globals_.update(test.globs)
        else:
            name = f"{page}:{line}"
            # Kernels are read from their source.
            linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
            exec(compile(text, name, "exec"), globals_)


def test_blocks_have_a_language():
    for page in [*SITE.glob("*.md"), ROOT / "README.md"]:
        for line, language, _ in blocks(page):
            assert language in RUN | PLAIN, f"{page}:{line}: a block of {language!r} is run by no test"


def test_every_page_with_rust_is_run():
    lib = (ROOT / "src" / "lib.rs").read_text(encoding="utf-8")
    for page in SITE.glob("*.md"):
        if any(language == "rust" for _, language, _ in blocks(page)):
            assert f'"{page.name}"' in lib, f"src/lib.rs does not run {page.name}"


def rows(page, section):
    """The tables of two columns below a heading: what stands between backticks first in each of them."""
    text = page.read_text(encoding="utf-8").split(f"\n## {section}\n")[1].split("\n## ")[0]
    cells = [line.strip("|").split(" | ") for line in text.splitlines() if line.startswith("|") and "---" not in line]
    code = [tuple(re.search(r"`([^`]+)`", cell) for cell in row) for row in cells if len(row) == 2]
    return [tuple(found[1] for found in row) for row in code if all(row)]


def value_of(code, names):
    """What the last of the statements is worth, or None where it is none."""
    *first, last = code.split("; ")
    exec("; ".join(first), names)
    try:
        compile(last, code, "eval")
    except SyntaxError:
        return exec(last, names)
    return eval(last, names)


COMING = SITE / "coming-from.md"


@pytest.mark.parametrize("section, peer", [("From NumPy, in Python", "numpy"), ("From JAX", "jax.numpy")])
def test_both_columns_mean_the_same(section, peer):
    np = pytest.importorskip("numpy")
    theirs = pytest.importorskip(peer, reason=f"{peer} is not installed")
    both = rows(COMING, section)
    assert len(both) >= 9
    # JAX has no float64 unless it is asked for.
    dtype = "float64" if peer == "numpy" else "float32"
    a, b = np.asarray([[1, 2, 3], [4, 5, 7]], dtype=dtype), np.asarray([[2, 0, 1], [3, 8, 6]], dtype=dtype)
    for left, right in both:
        names = {"np": np, "jnp": theirs, "a": theirs.asarray(a.copy()), "b": theirs.asarray(b.copy()), "m": theirs.asarray(a > 2)}
        if peer == "jax.numpy":
            names["jax"] = importlib.import_module("jax")
            importlib.import_module("jax.scipy.special")
        expected = value_of(left, names)
        found = value_of(right, {"np": np, "sw": sw, "a": sw.asarray(a), "b": sw.asarray(b), "m": sw.asarray(a > 2)})
        np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-5, err_msg=f"{left}: {right}")
        assert isinstance(found, sw.usm_ndarray) and (peer != "numpy" or np.asarray(found).dtype == expected.dtype), right


@pytest.mark.parametrize("section", ["From CuPy", "From dpctl and dpnp", "From numba-dpex"])
def test_our_column_runs(section):
    np = pytest.importorskip("numpy")
    ours = rows(COMING, section)
    assert len(ours) >= 6
    for module in ("program", "kernel_api", "dppy"):
        importlib.import_module(f"stridewise.{module}")
    for _, right in ours:
        assert value_of(right, {"np": np, "sw": sw, "kapi": sw.kernel_api, "a": sw.ones(3), "x": [1, 2]}) is not None or right.startswith(
            ("kapi.call_kernel", "import ", "a.sycl_queue.wait", "a.device.trim_pool")
        ), right


def test_charts_are_of_the_results():
    charts = runpy.run_path(str(SITE / "charts.py"))["drawn"]()
    assert len(charts) == 3 and set(charts) == {path.name for path in (SITE / "charts").iterdir()}
    for name, text in charts.items():
        assert text.count("<circle") > 10
        assert text == (SITE / "charts" / name).read_text(encoding="utf-8"), f"python docs/site/charts.py draws {name} anew"


def test_every_exception_has_its_section():
    text = (SITE / "errors.md").read_text(encoding="utf-8")
    # Those that are imported when one asks for them, too, whichever test came before.
    named = ((name, getattr(sw, name)) for name in dir(sw))
    exceptions = [name for name, value in named if isinstance(value, type) and issubclass(value, BaseException)]
    assert len(exceptions) > 5
    for name in exceptions:
        assert f"`{name}`" in text, f"errors.md has no {name}"


def test_every_status_of_c_has_its_section():
    text = (SITE / "errors.md").read_text(encoding="utf-8")
    header = (ROOT / "ffi" / "c" / "include" / "stridewise.h").read_text(encoding="utf-8")
    for name in re.findall(r"(?m)^  (SW_(?:OK|ERROR_\w+)) = \d", header):
        assert f"`{name}`" in text, f"errors.md has no {name}"


def test_numbers_of_tests_are_true():
    """A row of RELIABILITY.md that names one file of these tests alone says how many there are in it."""
    row = re.compile(r"\| (\d+) tests each time \| `(test_\w+\.py)`(?: of `cargo xtask test --only pytest`)? \|$", re.MULTILINE)
    told = dict(reversed(found) for found in row.findall((ROOT / "RELIABILITY.md").read_text(encoding="utf-8")))
    assert len(told) >= 2, told
    folder = Path(__file__).parent
    listed = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *told],
        cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    found = {name: len(re.findall(rf"^(?:\S*/)?{re.escape(name)}::", listed.stdout, re.MULTILINE)) for name in told}
    assert found == {name: int(number) for name, number in told.items()}, listed.stdout[-2000:]


def test_every_variable_is_named():
    """Variables that the sources read."""
    text = (SITE / "doctor.md").read_text(encoding="utf-8")
    sources = [path for part in ("core/src", "backends/host/src", "backends/opencl/src") for path in (ROOT / part).rglob("*.rs")]
    # Those of a test's own are read in tests.
    read = re.compile(r'(?m)^(?:pub\(crate\) )?const \w+_VARIABLE: &str = "(STRIDEWISE_\w+)";')
    found = {name for path in sources for name in read.findall(path.read_text(encoding="utf-8"))}
    assert len(found) >= 6
    for name in found:
        assert f"`{name}`" in text, f"doctor.md has no {name}"


MODULES = ["", "dppy", "fft", "kernel_api", "linalg", "program", "random", "special", "_arrangements", "_kernel.launcher", "_methods", "_names", "_numpy"]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings_of_modules(name):
    module = importlib.import_module(f"stridewise.{name}".rstrip("."))
    failed, _ = doctest.testmod(module, extraglobs={"sw": sw}, optionflags=OPTIONS)
    assert failed == 0


def test_docstrings_of_dask():
    pytest.importorskip("dask.array")
    failed, count = doctest.testmod(importlib.import_module("stridewise.dask"), optionflags=OPTIONS)
    assert failed == 0 and count > 0


def native():
    """What Python's finder of examples does not look at: names of other modules, and functions that are not written in Python."""
    for module in (sw, sw.linalg, sw.fft, sw.random, sw.kernel_api, sw.program):
        for name, value in list(vars(module).items()):
            if name.startswith("_") or not callable(value):
                continue
            globals_ = vars(module) | {"sw": sw}
            yield f"{module.__name__}.{name}", value, globals_
            if isinstance(value, type):
                for member, of in vars(value).items():
                    yield f"{module.__name__}.{name}.{member}", of, globals_


def test_docstrings_of_native_names():
    parser, runner, said, count = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=OPTIONS), [], 0
    for name, value, globals_ in native():
        text = getattr(value, "__doc__", None)
        if isinstance(text, str) and ">>>" in text:
            test = parser.get_doctest(text, dict(globals_), name, None, None)
            count += len(test.examples)
            runner.run(test, out=said.append)
    assert not said, "".join(said)
    assert count > 0


def test_examples_of_stubs():
    """Docstrings that stubs have, if any, run too."""
    runner, said = doctest.DocTestRunner(optionflags=OPTIONS), []
    for path in Path(sw.__file__).parent.glob("*.pyi"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                text = ast.get_docstring(node)
                if text and ">>>" in text:
                    test = doctest.DocTestParser().get_doctest(text, {"sw": sw}, path.name, str(path), 0)
                    runner.run(test, out=said.append)
    assert not said, "".join(said)
