"""Arrays in unified shared memory: the array API standard on queues of host and accelerator devices.

>>> import stridewise as sw
>>> a = sw.usm_ndarray((2, 3), dtype="float32", buffer="shared")
>>> a.shape, a.usm_type
((2, 3), 'shared')
"""

from ._native import *
from ._names import *
from ._sets import *
from ._arrangements import *
from ._wider import *
from ._device_names import *
from ._native import __version__, _fft, _linalg, _Memory, _no_axis, _random
from ._descriptors import get_devices, get_num_devices, select_device_with_aspects
from . import _methods, random


#: Names that few programs use, and the modules that are imported when one of them is asked for.
_LATER = {
    "_arithmetic": "bitwise_count divmod float_power fmod frexp gcd lcm ldexp logaddexp2 matvec spacing vecmat",
    "_files": "asarray_chkfinite frombuffer fromfile fromstring genfromtxt loadtxt savetxt savez savez_compressed",
    "_fusing": "fuse",
    "_histograms": "histogram2d histogram_bin_edges histogramdd",
    "_kinds": "ScalarType base_repr binary_repr byte cdouble common_type complexfloating csingle double errstate floating generic "
    "get_printoptions geterr half inexact int_ intc integer intp issubdtype little_endian long longlong min_scalar_type "
    "mintypecode number printoptions sctypeDict set_printoptions seterr short show_config show_runtime signedinteger single "
    "typecodes typename ubyte uint uintc uintp ulong ulonglong unsignedinteger ushort",
    "_kernel": "device_context kernel",
    "_parts": "apply_along_axis apply_over_axes block c_ choose copyto fromfunction fromiter insert isfortran iterable mask_indices "
    "may_share_memory mgrid ndenumerate ndindex ogrid packbits partition putmask r_ real_if_close require resize "
    "shares_memory sort_complex unpackbits unwrap",
    "_platforms": "Platform SyclContext SyclContextCreationError SyclDevice SyclDeviceCreationError SyclEvent SyclKernelInvalidRangeError "
    "SyclKernelSubmitError SyclPlatform SyclQueue SyclQueueCreationError SyclSubDeviceCreationError SyclTimer backend_type device_type "
    "event_status_type get_composite_devices get_device_cached_queue get_platforms global_mem_cache_type kernel_arg_type lsplatform",
    "_polynomials": "poly polyadd polyder polydiv polyint polymul polysub roots",
    "_seeing": "analyze explain profile",
    "_usage": "memory_scope",
    "_vectorizing": "vectorize",
}
_HOMES = {name: module for module, names in _LATER.items() for name in names.split()}
_MODULES_LATER = ("dppy", "emath", "fft", "kernel_api", "lib", "linalg", "program", "special", "utils")
#: What `import *` takes: what is there, and the modules and decorators that most programs with kernels or matrices use.
__all__ = [name for name in globals() if not name.startswith("_")] + [
    "device_context", "dppy", "fft", "kernel", "kernel_api", "lib", "linalg", "program",
]  # fmt: skip


def __getattr__(name):
    """What is imported when it is asked for; it is a name of the module from then on."""
    home = _HOMES.get(name)
    if home is None and name not in _MODULES_LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    if home is None:
        return importlib.import_module(f".{name}", __name__)
    found = globals()[name] = getattr(importlib.import_module(f".{home}", __name__), name)
    return found


def __dir__():
    return sorted({*globals(), *_HOMES, *_MODULES_LATER})
