"""Has CuPy's tests, which are in dpnp's package, be of ours: the modules that they import are our namespace.
`pytest -p suite_cupy …/dpnp/tests/third_party/cupy/math_tests`."""

import sys
import types

import numpy as np
from suite_dpctl import module, package

import stridewise as sw


def seen(value):
    """What compares: an array of ours as NumPy's."""
    if isinstance(value, sw.usm_ndarray):
        return sw.asnumpy(value)
    return type(value)(map(seen, value)) if type(value) in (list, tuple) else value


def default_float_type(device=None, sycl_queue=None):
    return np.float64


module("dpnp", sw, __version__="0.20.0", ndarray=sw.usm_ndarray, is_cuda_backend=lambda device: False, default_float_type=default_float_type, **package("dpnp"))
module("dpnp.exceptions", np.exceptions, ExecutionPlacementError=sw.ExecutionPlacementError)
module("dpnp.tensor", sw)
module("dpnp.dpnp_array", dpnp_array=sw.usm_ndarray)
module("dpnp.dpnp_utils", convert_item=seen, map_dtype_to_device=lambda dtype, device: np.dtype(str(sw.dtype(dtype))))
# Where dpnp keeps its generators, which its tests put aside.
module("dpnp.random", sw.random, dpnp_iface_random=types.SimpleNamespace(_dpnp_random_states={}))
sys.modules["dpnp"].__dict__["config"] = types.SimpleNamespace()
