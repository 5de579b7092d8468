"""Kernels in Python: the names and their meaning are those of numba-dpex's `kernel_api`, and, for what groups do, SYCL 2020's.

A kernel is a function that says what one item does, launched over an index space of items:

>>> import stridewise as sw
>>> from stridewise import kernel_api as kapi
>>> @kapi.kernel
... def vector_sum(item: kapi.Item, a, b, c):
...     i = item.get_id(0)
...     c[i] = a[i] + b[i]
>>> a, b, c = sw.arange(4.0), sw.ones(4), sw.zeros(4)
>>> kapi.call_kernel(vector_sum, kapi.Range(4), a, b, c)
>>> c.tolist()
[1.0, 2.0, 3.0, 4.0]

Over an NdRange items are in groups, which have local memory and meet at barriers:

>>> @kapi.kernel
... def reverse(item: kapi.NdItem, a, tile):
...     i, j, n = item.get_global_id(0), item.get_local_id(0), item.get_local_range(0)
...     tile[j] = a[i]
...     kapi.group_barrier(item.get_group())
...     a[i] = tile[n - 1 - j]
>>> a = sw.arange(8)
>>> kapi.call_kernel(reverse, kapi.NdRange(8, 4), a, kapi.LocalAccessor(4, a.dtype))
>>> a.tolist()
[3, 2, 1, 0, 7, 6, 5, 4]
"""

import enum
import types

from ._kernel.launcher import Kernel, device_func, kernel
from ._kernel.signatures import ItemType, NdItemType, USMNdArray
from ._native import _LocalAccessor as LocalAccessor
from ._native import _NdRange as NdRange
from ._native import _Range as Range

__all__ = [
    "AddressSpace", "AtomicRef", "Group", "Item", "ItemType", "Kernel", "LocalAccessor", "MemoryOrder", "MemoryScope", "NdItem",
    "NdItemType", "NdRange", "PrivateArray", "Range", "USMNdArray", "all_of_group", "any_of_group", "atomic_fence", "call_kernel", "call_kernel_async", "device_func",
    "exclusive_scan_over_group", "group_barrier", "group_broadcast", "inclusive_scan_over_group", "kernel", "none_of_group",
    "reduce_over_group",
]  # fmt: skip


def call_kernel(kernel_fn, index_range, *kernel_args):
    """Launches a kernel over a Range or NdRange with these arguments, and waits for it.

    A function without decorator runs as plain Python, an item after the other, where debuggers stop and `print` prints: slowly. It
    takes NumPy's arrays, too. Raises as `Kernel.launch` does, and what made the launch fail.

    >>> import stridewise as sw
    >>> a = sw.arange(3)
    >>> call_kernel(lambda item, a: print(item.get_id(0), a[item.get_id(0)].item()), Range(2), a)
    0 0
    1 1
    """
    if isinstance(kernel_fn, types.FunctionType):
        from ._kernel.prototype import launch

        return launch(kernel_fn, index_range, kernel_args)
    _kernel_of(kernel_fn)._launch(index_range, kernel_args, None, None, True, False)


def call_kernel_async(kernel_fn, index_range, dependent_events, *kernel_args):
    """Launches a kernel behind the events in `dependent_events`, and returns at once: a pair of events.

    Both are the launch's: in numba-dpex the first one is that of a task that keeps the arguments alive, which they are here as
    long as they are needed. Raises as `Kernel.launch` does.

    >>> import stridewise as sw
    >>> fill = kernel("def fill(item, a, x): a[item.get_id(0)] = x")
    >>> a = sw.zeros(3)
    >>> _, first = call_kernel_async(fill, Range(3), [], a, 1)
    >>> _, second = call_kernel_async(fill, Range(2), [first], a, 2)
    >>> second.wait()
    >>> a.tolist()
    [2.0, 2.0, 1.0]
    """
    event = _kernel_of(kernel_fn)._launch(index_range, kernel_args, dependent_events, None, False, False)
    return event, event


def _kernel_of(kernel_fn):
    if isinstance(kernel_fn, Kernel):
        return kernel_fn
    raise TypeError(
        f"`kernel_fn` is {kernel_fn!r}; expected a kernel; help: put the decorator `stridewise.kernel` above the function"
    )


def _plain():
    """What kernels are in plain Python."""
    from ._kernel import prototype

    return prototype


class _Given:
    """What an item has only where a kernel runs."""

    __slots__ = ()

    def __getattr__(self, name):
        if not name.startswith("_") or name.startswith("__"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        raise RuntimeError(f"`{type(self).__name__}` is for kernels; help: a launch gives it as the first argument of the function")


class MemoryOrder(enum.IntEnum):
    """What an atomic access orders."""

    RELAXED = 0
    CONSUME = CONSUME_UNSUPPORTED = 1
    ACQUIRE = 2
    RELEASE = 3
    ACQ_REL = 4
    SEQ_CST = 5


class MemoryScope(enum.IntEnum):
    """For whom an atomic access or a fence is one."""

    WORK_ITEM = 0
    SUB_GROUP = 1
    WORK_GROUP = 2
    DEVICE = 3
    SYSTEM = 4


class AddressSpace(enum.IntEnum):
    """Where memory is. A kernel knows that of its arrays: what an AtomicRef is given has to be so."""

    PRIVATE = 0
    GLOBAL = 1
    CONSTANT = 2
    LOCAL = 3
    GENERIC = 4


def _outside(self, *_):
    """Local memory is in kernels: a LocalAccessor says its shape and dtype."""
    raise NotImplementedError(f"{self!r} has elements in kernels only; help: pass it as an argument of a launch, and read what items write")


LocalAccessor.__getitem__ = LocalAccessor.__setitem__ = _outside


class Item(_Given):
    """An item of a launch over a Range: the first argument of the kernel. Axes are numbered as those of arrays."""

    __slots__ = ("_extents", "_index")

    def get_id(self, idx=None):
        """The item's id along an axis; without one, that of all axes: a number, or a tuple of two or three."""
        return _plain().along(self._index, idx)

    def get_linear_id(self):
        """The item's id in row-major order."""
        return _plain().linear(self._index, self._extents)

    def get_range(self, idx=None):
        """How many items there are along an axis, or along all."""
        return _plain().along(self._extents, idx)

    def get_linear_range(self):
        """How many items there are."""
        return _plain().size(self._extents)

    @property
    def dimensions(self):
        """How many axes there are."""
        return len(self._extents)


class Group(_Given):
    """The group that an item is in."""

    __slots__ = ("_counts", "_items", "_local_linear", "_place", "_rounds", "_sizes")

    def get_group_id(self, idx=None):
        """The group's id along an axis, or along all."""
        return _plain().along(self._place, idx)

    def get_group_linear_id(self):
        """The group's id in row-major order."""
        return _plain().linear(self._place, self._counts)

    def get_group_range(self, idx=None):
        """How many groups there are along an axis, or along all."""
        return _plain().along(self._counts, idx)

    def get_group_linear_range(self):
        """How many groups there are."""
        return _plain().size(self._counts)

    def get_local_range(self, idx=None):
        """How many items a group has along an axis, or along all."""
        return _plain().along(self._sizes, idx)

    def get_local_linear_range(self):
        """How many items a group has."""
        return _plain().size(self._sizes)

    def get_local_linear_id(self):
        """The item's id in its group, in row-major order."""
        return self._local_linear

    @property
    def leader(self):
        """Whether the item is the group's first one."""
        return self._local_linear == 0

    @property
    def dimensions(self):
        """How many axes there are."""
        return len(self._counts)


class NdItem(_Given):
    """An item of a launch over an NdRange: the first argument of the kernel. Axes are numbered as those of arrays."""

    __slots__ = ("_extents", "_group", "_index", "_local", "_sizes")

    def get_global_id(self, idx=None):
        """The item's id along an axis; without one, that of all axes: a number, or a tuple of two or three."""
        return _plain().along(self._index, idx)

    def get_global_linear_id(self):
        """The item's id in row-major order."""
        return _plain().linear(self._index, self._extents)

    def get_global_range(self, idx=None):
        """How many items there are along an axis, or along all."""
        return _plain().along(self._extents, idx)

    def get_global_linear_range(self):
        """How many items there are."""
        return _plain().size(self._extents)

    def get_local_id(self, idx=None):
        """The item's id in its group along an axis, or along all."""
        return _plain().along(self._local, idx)

    def get_local_linear_id(self):
        """The item's id in its group, in row-major order."""
        return self._group._local_linear

    def get_local_range(self, idx=None):
        """How many items a group has along an axis, or along all."""
        return _plain().along(self._sizes, idx)

    def get_local_linear_range(self):
        """How many items a group has."""
        return _plain().size(self._sizes)

    def get_group(self):
        """The item's group."""
        return self._group

    @property
    def dimensions(self):
        """How many axes there are."""
        return len(self._extents)


class PrivateArray:
    """An array that each item has for itself, in a kernel: PrivateArray(shape, dtype, fill_zeros=False).

    shape: extents that are known when the kernel is made. It is of zeros at first; fill_zeros: also where the call comes again, in
    a loop.
    """

    def __new__(cls, shape, dtype, fill_zeros=False):
        return _plain().memory(shape, dtype)


class AtomicRef:
    """An element that items access atomically, in a kernel: AtomicRef(ref, index=0, memory_order, memory_scope, address_space).

    ref: an array that is an argument, or local memory, of 32 or 64 bits. index: that of the element, a tuple where there are several
    dimensions. memory_order: MemoryOrder.RELAXED; memory_scope: MemoryScope.DEVICE. Each method but `store` and `compare_exchange`
    returns what was there before.

    >>> import stridewise as sw
    >>> count = kernel("def count(item, a, n):\\n  if a[item.get_id(0)] > 2: AtomicRef(n, 0).fetch_add(1)")
    >>> a, n = sw.arange(10), sw.zeros(1, dtype="int32")
    >>> call_kernel(count, Range(10), a, n)
    >>> n.tolist()
    [7]
    """

    def __init__(
        self,
        ref,
        index=0,
        memory_order=MemoryOrder.RELAXED,
        memory_scope=MemoryScope.DEVICE,
        address_space=AddressSpace.GLOBAL,
    ):
        if not hasattr(ref, "dtype") or not hasattr(ref, "__setitem__"):
            raise TypeError(f"`ref` is {ref!r}; expected an array; help: give an argument of the kernel, or local memory, and `index`")
        self._ref, self._index = ref, index

    def _exchange(self, compute, val):
        """Writes what is computed of the element, and returns what was there."""
        number = lambda value: value.tolist() if hasattr(value, "tolist") else value
        old = number(self._ref[self._index])
        new = compute(old, number(val))
        self._ref[self._index] = _plain().wrapped(new, self._ref.dtype)
        return _plain().scalar(old, self._ref.dtype)

    def load(self):
        """What is there."""
        return self._exchange(lambda old, _: old, 0)

    def store(self, val):
        """Writes a value."""
        self._exchange(lambda old, new: new, val)

    def exchange(self, val):
        """Writes a value."""
        return self._exchange(lambda old, new: new, val)

    def compare_exchange(self, expected=None, desired=None, expected_idx=0, *, expected_ref=None):
        """Writes `desired` where the element is as expected: whether it was.

        expected: a number, or an array whose element at `expected_idx` is it, and gets what was there; `expected_ref` is the same.
        """
        expected = expected_ref if expected is None else expected
        is_array = hasattr(expected, "__setitem__")
        wanted = expected[expected_idx] if is_array else expected
        wanted = wanted.tolist() if hasattr(wanted, "tolist") else wanted
        found = self._exchange(lambda old, new: new if old == wanted else old, desired)
        if is_array:
            expected[expected_idx] = found
        return bool(found == wanted)

    def fetch_add(self, val):
        """Writes the sum."""
        return self._exchange(lambda old, new: old + new, val)

    def fetch_sub(self, val):
        """Writes the difference."""
        return self._exchange(lambda old, new: old - new, val)

    def fetch_min(self, val):
        """Writes the smaller one."""
        return self._exchange(lambda old, new: min(old, new), val)

    def fetch_max(self, val):
        """Writes the larger one."""
        return self._exchange(lambda old, new: max(old, new), val)

    def fetch_and(self, val):
        """Writes the bits of both; integers only."""
        return self._exchange(lambda old, new: old & new, val)

    def fetch_or(self, val):
        """Writes the bits of either; integers only."""
        return self._exchange(lambda old, new: old | new, val)

    def fetch_xor(self, val):
        """Writes the bits of one of them; integers only."""
        return self._exchange(lambda old, new: old ^ new, val)


def group_barrier(group, fence_scope=MemoryScope.WORK_GROUP):
    """Waits for all items of the group, in a kernel. What they have written to local and global memory is seen behind it.

    All items of a group come to it, or none: it stands in no branch or loop whose condition differs between them.
    """
    _plain().together(group, None)


def atomic_fence(memory_order, memory_scope):
    """Orders the item's own accesses for others, in a kernel."""


def reduce_over_group(group, x, op="add"):
    """All items' values of `x`, folded, in a kernel; each item of the group gets the result.

    op: "add", "multiply", "minimum", "maximum", "bitwise_and", "bitwise_or" or "bitwise_xor", or a function of such a name.

    >>> import stridewise as sw
    >>> sums = kernel('''def sums(item, a, s):
    ...     group = item.get_group()
    ...     total = reduce_over_group(group, a[item.get_global_id(0)])
    ...     if group.leader:
    ...         s[group.get_group_id(0)] = total''')
    >>> a, s = sw.arange(8), sw.zeros(2, dtype="int64")
    >>> call_kernel(sums, NdRange(8, 4), a, s)
    >>> s.tolist()
    [6, 22]
    """
    return _plain().folded(group, x, op, lambda values, place: values)


def inclusive_scan_over_group(group, x, op="add"):
    """The values of `x` of the items up to and with this one, folded, in a kernel. op: as for `reduce_over_group`."""
    return _plain().folded(group, x, op, lambda values, place: values[: place + 1])


def exclusive_scan_over_group(group, x, op="add"):
    """The values of `x` of the items before this one, folded, in a kernel. op: as for `reduce_over_group`."""
    return _plain().folded(group, x, op, lambda values, place: values[:place])


def group_broadcast(group, x, local_id=0):
    """The value of `x` of the item with a local linear id, in a kernel."""
    return _plain().together(group, x)[local_id]


def all_of_group(group, predicate):
    """Whether a condition is true for all items of the group, in a kernel."""
    return all(_plain().together(group, bool(predicate)))


def any_of_group(group, predicate):
    """Whether a condition is true for any item of the group, in a kernel."""
    return any(_plain().together(group, bool(predicate)))


def none_of_group(group, predicate):
    """Whether a condition is true for no item of the group, in a kernel."""
    return not any(_plain().together(group, bool(predicate)))
