"""Kernels as numba-dppy spelled them: ids by functions of OpenCL's names, and launches by `kernel[global_size, local_size](…)`.

>>> import numpy as np
>>> import stridewise.dppy as dppy
>>> from stridewise import float32
>>> @dppy.kernel
... def reverse_array(a):
...     tile = dppy.local.array(shape=10, dtype=float32)
...     i = dppy.get_global_id(0)
...     tile[i] = a[i]
...     dppy.barrier(dppy.CLK_LOCAL_MEM_FENCE)
...     a[i] += tile[9 - i]
>>> a = np.arange(10, dtype=np.float32)
>>> reverse_array[10, dppy.DEFAULT_LOCAL_SIZE](a)
>>> a.tolist()
[9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0]

Arguments are arrays of stridewise, numbers, and arrays in memory of the processor, as NumPy's: of these there are copies on the
device of the arrays, or of the `device_context`, or the default one, and what the kernel writes comes back when it has ended. Those
that overlap have one copy.
"""

import ctypes
import math

from . import _native
from ._kernel.launcher import DeviceFunction, Kernel, _decorator, current_queue, device_context

__all__ = [
    "CLK_GLOBAL_MEM_FENCE", "CLK_LOCAL_MEM_FENCE", "DEFAULT_LOCAL_SIZE", "atomic", "barrier", "device_context", "func",
    "get_global_id", "get_global_size", "get_group_id", "get_local_id", "get_local_size", "get_num_groups", "get_work_dim",
    "kernel", "local", "mem_fence", "private",
]  # fmt: skip

#: In place of a group's size: one that fits is chosen.
DEFAULT_LOCAL_SIZE = ()
#: What a barrier or fence orders: accesses to local memory.
CLK_LOCAL_MEM_FENCE = 1
#: What a barrier or fence orders: accesses to global memory.
CLK_GLOBAL_MEM_FENCE = 2


class _Kernel(Kernel):
    """A kernel that is launched by `kernel[global_size, local_size](…)`."""

    _takes_item = False

    def __getitem__(self, sizes):
        """The kernel over so many items, in groups of so many: a number or a tuple of them each."""
        is_pair = isinstance(sizes, tuple) and len(sizes) == 2
        global_size, local_size = sizes if is_pair else (sizes, DEFAULT_LOCAL_SIZE)
        if isinstance(local_size, tuple) and not local_size:
            index_range = _native._Range(global_size)
        else:
            index_range = _native._NdRange(global_size, local_size)
        return lambda *args: self._copied(index_range, args)

    def _copied(self, index_range, args):
        """Launches with copies of what is not in USM memory, and waits."""
        ours = [arg for arg in args if isinstance(arg, _native.usm_ndarray)]
        queue = ours[0].queue if ours else current_queue()
        copies = _copies([arg for arg in args if _is_foreign(arg)], ours, queue)
        there = tuple(copies.get(id(arg), arg) for arg in args)
        written = [arg for arg, is_written in zip(args, self._compiled(index_range, there).writes) if is_written]
        back = {id(arg): arg for arg in written if id(arg) in copies}
        for arg in back.values():
            if not arg.flags.writeable:
                raise ValueError(f"an argument of `{self.__name__}` is read-only, and is written; help: pass a copy")
        self._launch(index_range, there, None, queue, True, False)
        for key, arg in back.items():
            if copies[key]._pointer != arg.__array_interface__["data"][0]:
                arg[...] = _native.asnumpy(copies[key])


def _span(arg):
    """The addresses from the lowest byte of an array to behind the highest one."""
    about = arg.__array_interface__
    first, itemsize = about["data"][0], int(about["typestr"][2:])
    if 0 in about["shape"]:
        return first, first
    strides = about.get("strides")
    if strides is None:
        return first, first + itemsize * math.prod(about["shape"])
    reach = [(extent - 1) * stride for extent, stride in zip(about["shape"], strides)]
    return first + sum(min(step, 0) for step in reach), first + sum(max(step, 0) for step in reach) + itemsize


def _copies(foreign, ours, queue):
    """What stands for arrays in memory of the processor, by their ids. Those that overlap share memory there as well, so that what
    a kernel writes through one is seen through the other; those in the memory of arrays of ours are that memory."""
    spans = {id(arg): (*_span(arg), arg) for arg in foreign}
    visible = [_span(arg) for arg in ours if hasattr(arg, "__array_interface__")]
    copies, groups = {}, []
    for first, end, arg in sorted(spans.values(), key=lambda span: span[:2]):
        if any(first < stop and start < end for start, stop in visible):
            copies[id(arg)] = _native.asarray(arg, device=queue, copy=False)
        elif groups and first < groups[-1][1]:
            groups[-1][1] = max(groups[-1][1], end)
            groups[-1][2].append((first, arg))
        else:
            groups.append([first, end, [(first, arg)]])
    for start, end, parts in groups:
        if len(parts) == 1:
            copies[id(parts[0][1])] = _native.asarray(parts[0][1], device=queue, copy=True)
            continue
        # Where elements of every size are whole.
        start -= start % 16
        memory = None
        for _, arg in parts:
            about, dtype = arg.__array_interface__, _native.dtype(arg.dtype)
            address, strides = about["data"][0], about.get("strides")
            steps = [address - start, *(strides or ())]
            if any(step % dtype.itemsize for step in steps) or not arg.dtype.isnative:
                raise ValueError(
                    "arguments overlap, and one of them has elements that are not aligned or in another order of bytes; expected arrays "
                    "that may share one copy; help: pass copies"
                )
            if memory is None:
                whole = (ctypes.c_ubyte * (end - start)).from_address(start)
                memory = _native.asarray(whole, device=queue, copy=True).usm_data
            copies[id(arg)] = _native.usm_ndarray(
                about["shape"], dtype=dtype, strides=None if strides is None else tuple(step // dtype.itemsize for step in strides),
                buffer=memory, offset=(address - start) // dtype.itemsize, buffer_ctor_kwargs={"queue": queue},
            )  # fmt: skip
    return copies


def _is_foreign(arg):
    """Whether an argument is an array in memory of the processor."""
    return not isinstance(arg, _native.usm_ndarray) and getattr(arg, "ndim", 0) > 0 and hasattr(arg, "__array_interface__")


def kernel(function=None):
    """Makes a kernel of a function: a decorator. Ids come from `get_global_id` and its kin.

    Raises KernelError for what is no kernel, at the first launch; see `stridewise.kernel` for what kernels may say.
    """
    return _decorator(_Kernel, function)


def func(function=None):
    """Makes a function that kernels call: a decorator, as `kernel_api.device_func`."""
    return _decorator(DeviceFunction, function)


def _only_in_kernels(name):
    raise RuntimeError(f"`{name}` is for kernels; help: call it in a function that is decorated by `dppy.kernel`")


def get_global_id(idx=None):
    """The item's id along an axis, in a kernel."""
    _only_in_kernels("get_global_id")


def get_local_id(idx=None):
    """The item's id in its group along an axis, in a kernel."""
    _only_in_kernels("get_local_id")


def get_group_id(idx=None):
    """The group's id along an axis, in a kernel."""
    _only_in_kernels("get_group_id")


def get_global_size(idx=None):
    """How many items there are along an axis, in a kernel."""
    _only_in_kernels("get_global_size")


def get_local_size(idx=None):
    """How many items a group has along an axis, in a kernel."""
    _only_in_kernels("get_local_size")


def get_num_groups(idx=None):
    """How many groups there are along an axis, in a kernel."""
    _only_in_kernels("get_num_groups")


def get_work_dim():
    """How many axes there are, in a kernel."""
    _only_in_kernels("get_work_dim")


def barrier(flags=CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE):
    """Waits for all items of the group, in a kernel. flags: which of their accesses are seen behind it."""
    _only_in_kernels("barrier")


def mem_fence(flags=CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE):
    """Orders the item's own accesses for others of the group, in a kernel."""
    _only_in_kernels("mem_fence")


class local:
    """Memory that the items of a group share."""

    @staticmethod
    def array(shape, dtype):
        """An array of the group's, in a kernel; undefined until it is written. shape: extents that are known."""
        _only_in_kernels("local.array")


class private:
    """Memory that an item has for itself."""

    @staticmethod
    def array(shape, dtype):
        """An array of the item's, in a kernel, of zeros at first. shape: extents that are known."""
        _only_in_kernels("private.array")


class atomic:
    """Accesses that items do not disturb each other in."""

    @staticmethod
    def add(ary, index, val):
        """Adds to an element, in a kernel; what was there before."""
        _only_in_kernels("atomic.add")

    @staticmethod
    def sub(ary, index, val):
        """Subtracts from an element, in a kernel; what was there before."""
        _only_in_kernels("atomic.sub")
