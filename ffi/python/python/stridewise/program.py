"""Kernels from sources, OpenCL C and SPIR-V, for devices of OpenCL. The names are those of dpctl.

>>> import stridewise as sw
>>> source = '''kernel void axpy(global const float *x, global float *y, float a) {
...     size_t i = get_global_id(0);
...     y[i] = a * x[i] + y[i];
... }'''
>>> for device in sw.get_devices(backend="opencl"):
...     q = device.queue
...     axpy = create_kernel_bundle_from_source(q, source).get_kernel("axpy")
...     x, y = sw.ones(4, dtype="float32", sycl_queue=q), sw.ones(4, dtype="float32", sycl_queue=q)
...     event = q.submit(axpy, [x, y, 2.0], [4])
...     assert y.tolist() == [3.0] * 4
"""

from ._native import CompilationError, LocalAccessor, RawKernelArg, WorkGroupMemory
from ._native import _from_source as create_kernel_bundle_from_source
from ._native import _from_spirv as create_kernel_bundle_from_spirv
from ._native import _KernelBundle as KernelBundle
from ._native import _ReadOnly as ReadOnly
from ._native import _SourceKernel as SourceKernel
from ._pickles import at_home as _at_home

__all__ = [
    "CompilationError", "KernelBundle", "LocalAccessor", "RawKernelArg", "ReadOnly", "SourceKernel", "SyclKernel",
    "SyclKernelBundle", "SyclKernelBundleCompilationError", "SyclProgram", "SyclProgramCompilationError", "WorkGroupMemory",
    "create_kernel_bundle_from_source", "create_kernel_bundle_from_spirv", "create_program_from_source",
    "create_program_from_spirv",
]  # fmt: skip

# What versions of dpctl call them.
create_program_from_source = create_kernel_bundle_from_source
create_program_from_spirv = create_kernel_bundle_from_spirv
SyclKernel = SourceKernel
SyclKernelBundle = SyclProgram = KernelBundle
SyclKernelBundleCompilationError = SyclProgramCompilationError = CompilationError
_at_home(globals())
