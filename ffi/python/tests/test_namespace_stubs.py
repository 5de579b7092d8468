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
