"""The type stubs against the module: every public name of the one is in the other."""

import ast
import doctest
import importlib
import importlib.util
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

import stridewise as sw

FOLDER = Path(sw.__file__).parent


def declared(tree):
    """The names that statements declare, and of classes, what is in them."""
    names = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            names[node.name] = declared(node)
        elif isinstance(node, ast.FunctionDef):
            names[node.name] = node
        elif isinstance(node, ast.AnnAssign):
            names[node.target.id] = node
        elif isinstance(node, ast.Assign) and isinstance(tree, ast.ClassDef):
            # Members of an enumeration.
            names |= {target.id: node for target in node.targets}
        elif isinstance(node, ast.ImportFrom):
            # Only what is imported under its own name again is a name of the stub.
            names |= {alias.asname: node for alias in node.names if alias.asname == alias.name}
    return names


def stub(name):
    return declared(ast.parse((FOLDER / name).read_text(encoding="utf-8")))


def public(names):
    return {name for name in names if not name.startswith("_")}


def test_package_says_that_it_has_types():
    assert (FOLDER / "py.typed").exists()


def test_names_of_the_module():
    # Another test may have imported `stridewise.dask`, which nothing else does.
    assert public(stub("__init__.pyi")) == public(dir(sw)) - {"dask"}
    special = {"__version__", "__array_api_version__", "__array_namespace_info__"}
    assert special <= set(stub("__init__.pyi"))


@pytest.mark.parametrize("module", ["linalg", "fft", "random", "special", "emath", "kernel_api", "dppy", "program"])
def test_names_of_extensions(module):
    assert public(stub(f"{module}.pyi")) == set(getattr(sw, module).__all__)


@pytest.mark.parametrize("module", ["stridewise.kernel_api", "stridewise.dppy", "stridewise.random", "stridewise.special", "stridewise.emath", "stridewise._kernel.launcher"])
def test_examples_in_documentation(module):
    module = importlib.import_module(module)
    failed, count = doctest.testmod(module)
    assert failed == 0 and count > 0


def classes():
    """The classes of the module, each by its own name."""
    named = [name for name in dir(sw) if inspect.isclass(getattr(sw, name)) and not name.startswith("_")]
    return sorted(name for name in named if getattr(sw, name).__name__ == name)


@pytest.mark.parametrize("name", classes())
def test_members_of_classes(name):
    ours, members = stub("__init__.pyi")[name], vars(getattr(sw, name))
    if isinstance(ours, ast.ImportFrom):
        ours = stub(f"{ours.module}.pyi")[name]
    if not issubclass(getattr(sw, name), BaseException):
        assert public(ours) == public(members)


def test_signatures_of_functions():
    for name, node in stub("__init__.pyi").items():
        if isinstance(node, ast.FunctionDef):
            args, parameters = node.args, inspect.signature(getattr(sw, name)).parameters.values()
            of_kind = {
                inspect.Parameter.POSITIONAL_ONLY: args.posonlyargs,
                inspect.Parameter.POSITIONAL_OR_KEYWORD: args.args,
                inspect.Parameter.KEYWORD_ONLY: args.kwonlyargs,
                inspect.Parameter.VAR_POSITIONAL: [args.vararg] if args.vararg else [],
            }
            for kind, arguments in of_kind.items():
                assert [a.arg for a in arguments] == [p.name for p in parameters if p.kind == kind], name


def test_documentation():
    for module, names in [(sw, public(dir(sw))), (sw.linalg, sw.linalg.__all__), (sw.fft, sw.fft.__all__),
                          (sw.kernel_api, sw.kernel_api.__all__), (sw.dppy, sw.dppy.__all__), (sw.program, sw.program.__all__)]:  # fmt: skip
        for name in names:
            if callable(getattr(module, name)):
                assert getattr(module, name).__doc__, name


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_stubtest(tmp_path):
    environment = os.environ | {"MYPYPATH": str(FOLDER.parent), "PYTHONPATH": str(FOLDER.parent)}
    if "site-packages" in str(FOLDER):
        # Installed packages are found without a path, and must not be named by one.
        del environment["MYPYPATH"], environment["PYTHONPATH"]
    command = [sys.executable, "-m", "mypy.stubtest", "stridewise", "--ignore-missing-stub"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


RIGHT = """
import numpy as np
import stridewise as sw

x = sw.asarray([1.0, 2.0])
sw.zeros(3, dtype="float32", order="F")
sw.zeros(3, dtype=np.float32)
sw.zeros(3, dtype=np.dtype("f4"))
sw.zeros(3, dtype=sw.float32)
sw.zeros(3, dtype=float)
x.astype("<f8")
sw.sum([1, 2]) + sw.sqrt(2) + sw.add([1, 2], 3) + sw.linalg.norm([3, 4]) + sw.fft.fft((1, 2, 3)) + sw.special.gamma([1.0])
sw.concat([[1, 2], x, np.ones(2)])
sw.where([True, False], 1, [2, 3])
sw.isin(x, [1, 2]) & sw.isclose([1], range(1))
sw.searchsorted([1, 2, 3], x) + sw.digitize(0.5, [0, 1]) + sw.interp([1], [1, 2], [3, 4]) + sw.take([1, 2], [0])
sw.group_by([1, 2]).sum([3, 4])
sw.add_at(x, [0], [1])
x + [1, 2]
"""
WRONG = [
    'sw.zeros(3, dtype="flaot32")', 'x.astype("int63")', 'sw.zeros(3, order="Z")', 'x.reshape(2, 1, order="Z")', 'sw.sqrt(x, order="Z")',
    'sw.sum("text")', "sw.sqrt(None)", "sw.add_at([1, 2], 0, 1)", 'sw.linalg.inv("text")',
]  # fmt: skip


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_what_types_refuse(tmp_path):
    start = "import stridewise as sw\n\nx = sw.ones(2)\n"
    (tmp_path / "right.py").write_text(RIGHT, encoding="utf-8")
    (tmp_path / "wrong.py").write_text(start + "\n".join(WRONG) + "\n", encoding="utf-8")
    done = subprocess.run([sys.executable, "-m", "mypy", "right.py", "wrong.py"], cwd=tmp_path, capture_output=True, text=True)
    refused = {line.split(": error:")[0] for line in done.stdout.splitlines() if ": error:" in line}
    first = start.count("\n") + 1
    assert refused == {f"wrong.py:{first + place}" for place in range(len(WRONG))}, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["_DTypeName", "_Order"])
def test_words_of_types(name):
    """Whatever the stubs accept as a text is accepted."""
    tree = ast.parse((FOLDER / "__init__.pyi").read_text(encoding="utf-8"))
    node = next(node for node in tree.body if isinstance(node, ast.AnnAssign) and node.target.id == name)
    words = [each.value for each in ast.walk(node.value) if isinstance(each, ast.Constant)]
    assert len(words) > 7
    for word in words:
        assert sw.dtype(word) is not None if name == "_DTypeName" else sw.zeros((2, 2), order=word).shape == (2, 2)
