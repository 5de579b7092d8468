"""Has dpctl's tests be of ours: the modules that they import are our namespace. `pytest -p suite_dpctl …/dpctl/tests`."""

import importlib.util
import sys
import types

import stridewise as sw
import stridewise.program


def module(name, *homes, **names):
    """A module of another library, whose names are those of ours."""

    def found(wanted):
        for home in homes:
            if not wanted.startswith("__") and hasattr(home, wanted):
                return getattr(home, wanted)
        raise AttributeError(f"module {name!r} has no attribute {wanted!r}")

    made = sys.modules[name] = types.ModuleType(name)
    made.__getattr__ = found
    made.__dict__.update(names)
    outer, _, last = name.rpartition(".")
    if outer:
        setattr(sys.modules[outer], last, made)
    return made


def package(name):
    """Where a library's own files are, so that its tests are found in it; nothing of it is imported."""
    spec = importlib.util.find_spec(name)
    return {"__path__": list(spec.submodule_search_locations)} if spec is not None else {"__path__": []}


module("dpctl", sw, __version__="0.22.1", **package("dpctl"))
for name in ("memory", "tensor", "_sycl_queue", "_sycl_context", "_sycl_device", "_sycl_event", "_sycl_queue_manager", "enum_types"):
    module(f"dpctl.{name}", sw)
module("dpctl.program", stridewise.program)
module("dpctl.utils", getattr(sw, "utils", sw))
