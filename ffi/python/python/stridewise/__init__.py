"""Arrays in unified shared memory: the array API standard on queues of host and accelerator devices.

>>> import stridewise as sw
>>> a = sw.usm_ndarray((2, 3), dtype="float32", buffer="shared")
>>> a.shape, a.usm_type
((2, 3), 'shared')
"""

from ._native import *
from ._names import *
from ._arrangements import *
from ._native import __version__, _fft, _linalg, _Memory, _random
from . import _methods, fft, lib, linalg, random
from ._kernel import device_context, kernel
from . import dppy, kernel_api, program


def __getattr__(name):
    """Modules that few programs use are imported when they are asked for."""
    if name == "special":
        import importlib

        return importlib.import_module(".special", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return [*globals(), *(["special"] if "special" not in globals() else [])]
