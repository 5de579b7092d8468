"""Has numba-dpex's tests of kernels be of ours: the modules that they import are our namespace. `pytest -p suite_dpex …/numba_dpex/tests/kernel_tests`."""

import numba.core.config
import numba.core.errors
from suite_dpctl import module, package

import stridewise as sw
from stridewise import kernel_api

numba.core.errors.TypingError = sw.KernelError
numba.core.config.CAPTURED_ERRORS = "new_style"
module("dpnp", sw, __path__=[], ndarray=sw.usm_ndarray, get_usm_ndarray=lambda x: x)
config = type("config", (), {"TESTING_SKIP_NO_DEBUGGING": True, "INLINE_THRESHOLD": None, "DUMP_KERNEL_LLVM": False})
arrays = {"usm_ndarray": kernel_api.USMNdArray, "DpnpNdArray": kernel_api.USMNdArray}
module("numba_dpex", kernel_api, sw, **arrays, config=config, dpjit=lambda function: function, prange=range, **package("numba_dpex"))
module("numba_dpex.kernel_api", kernel_api)
module("numba_dpex.core", config=config, __path__=[])
module("numba_dpex.core.exceptions", sw, ExecutionQueueInferenceError=sw.ExecutionPlacementError)
for name in ("types", "types.kernel_api", "types.kernel_api.index_space_ids"):
    module(f"numba_dpex.core.{name}", kernel_api, __path__=[])
for name in ("KernelHasReturnValueError", "InvalidKernelSpecializationError", "MissingSpecializationError"):
    setattr(__import__("sys").modules["numba_dpex.core.exceptions"], name, sw.KernelError)
