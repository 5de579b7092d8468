"""Has dask's tests of CuPy's arrays be of ours: the module that they import is our namespace."""

import sys
import types

from dask.array.backends import array_creation_dispatch

import stridewise as sw
import stridewise.dask


class Cupy(types.ModuleType):
    __version__ = "13.0.0"

    def __getattr__(self, name):
        return getattr(sw, name)


# Names of CuPy's alone: its method for NumPy's arrays, and a module that others look for.
sw.usm_ndarray.get = lambda x: sw.asnumpy(x)
sys.modules["cupy"] = Cupy("cupy")
sys.modules["cupy.cuda"] = types.ModuleType("cupy.cuda")
sys.modules["cupy.cuda"].Stream = sys.modules["cupy.cuda"].Device = type("Stream", (), {})
array_creation_dispatch.register_backend("cupy", array_creation_dispatch._lookup["stridewise"])
