"""Kernels as plain Python: what call_kernel does with a function that has no decorator."""

import threading

import numpy as np
import pytest

import stridewise as sw
from stridewise.kernel_api import (
    AddressSpace, AtomicRef, Item, LocalAccessor, MemoryOrder, MemoryScope, NdItem, NdRange, PrivateArray, Range, all_of_group,
    any_of_group, atomic_fence, call_kernel, exclusive_scan_over_group, group_barrier, group_broadcast, inclusive_scan_over_group,
    none_of_group, reduce_over_group,
)  # fmt: skip


def both(function, space, *made):
    """What a function leaves in its arrays, as plain Python and as a kernel. made: what makes them, or is an argument."""
    results = []
    for kernel in (function, sw.kernel(function)):
        arguments = [each() if callable(each) else each for each in made]
        call_kernel(kernel, space, *arguments)
        results.append([each.tolist() for each in arguments if isinstance(each, sw.usm_ndarray)])
    assert results[0] == results[1]
    return results[0]


def ids(item, a):
    i, j, k = item.get_id()
    a[i, j, k] = item.get_linear_id() + 100 * item.get_range(1) + 1000 * item.get_linear_range() + item.dimensions


def grouped_ids(item, a):
    i, j = item.get_global_id(0), item.get_global_id(1)
    group = item.get_group()
    a[i, j, 0], a[i, j, 1], a[i, j, 2] = item.get_global_linear_id(), item.get_local_linear_id(), item.get_local_id(1)
    a[i, j, 3], a[i, j, 4], a[i, j, 5] = item.get_global_linear_range(), item.get_local_linear_range(), item.get_local_range(0)
    a[i, j, 6], a[i, j, 7], a[i, j, 8] = group.get_group_id(1), group.get_group_linear_id(), group.get_group_linear_range()
    a[i, j, 9], a[i, j, 10], a[i, j, 11] = group.get_group_range(0), group.get_local_linear_range(), group.get_local_linear_id()
    if group.leader:
        a[i, j, 11] = -group.dimensions


def test_ids():
    both(ids, Range(2, 3, 4), lambda: sw.zeros((2, 3, 4), dtype="int64"))
    both(grouped_ids, NdRange((4, 6), (2, 3)), lambda: sw.zeros((4, 6, 12), dtype="int64"))
    both(grouped_ids, NdRange((5, 7), (2, 3), partial=True), lambda: sw.zeros((5, 7, 12), dtype="int64"))


def backwards(item, a, tile, out):
    i, j, n = item.get_global_id(0), item.get_local_id(0), item.get_local_range(0)
    tile[j] = a[i]
    for _ in range(3):
        group_barrier(item.get_group(), MemoryScope.WORK_GROUP)
        found = tile[n - 1 - j]
        group_barrier(item.get_group())
        tile[j] = found + 1
    out[i] = tile[j]


def test_barriers_and_local_memory():
    found = both(backwards, NdRange(24, 8), lambda: sw.arange(24), LocalAccessor(8, "int64"), lambda: sw.zeros(24, dtype="int64"))
    assert found[1][:8] == [10, 9, 8, 7, 6, 5, 4, 3]


def together(item, a, out):
    i, group = item.get_global_id(0), item.get_group()
    x = a[i]
    out[i, 0], out[i, 1] = reduce_over_group(group, x), reduce_over_group(group, x, "minimum")
    out[i, 2], out[i, 3] = inclusive_scan_over_group(group, x), exclusive_scan_over_group(group, x)
    out[i, 4], out[i, 5] = group_broadcast(group, x, 2), inclusive_scan_over_group(group, x, max)
    out[i, 6], out[i, 7], out[i, 8] = all_of_group(group, x > 3), any_of_group(group, x > 3), none_of_group(group, x > 30)
    out[i, 9] = exclusive_scan_over_group(group, x, "maximum")


def test_what_groups_do():
    both(together, NdRange(12, 4), lambda: sw.asarray([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8], dtype="int32"), lambda: sw.zeros((12, 10), dtype="int64"))


def atomics(item, a, n, old):
    i = item.get_id(0)
    old[i] = AtomicRef(n, 0).fetch_add(a[i])
    AtomicRef(n, 1, memory_order=MemoryOrder.RELAXED).fetch_max(a[i])
    AtomicRef(n, 2).fetch_xor(a[i])
    AtomicRef(n, 3).fetch_sub(a[i])
    AtomicRef(n, 4).store(7)
    atomic_fence(MemoryOrder.ACQ_REL, MemoryScope.DEVICE)
    AtomicRef(n, 5).fetch_or(AtomicRef(n, 4).load())


def test_atomics():
    both(atomics, Range(1), lambda: sw.asarray([5], dtype="int32"), lambda: sw.asarray([1, 2, 3, -(2**31), 5, 8], dtype="int32"), lambda: sw.zeros(1, dtype="int32"))
    n = sw.asarray([5, 9], dtype="int32")
    ref = AtomicRef(n, 0)
    assert ref.exchange(6) == 5 and ref.load() == 6
    assert not ref.compare_exchange(4, 1) and ref.compare_exchange(6, 1) and n.tolist() == [1, 9]
    assert not ref.compare_exchange(expected_ref=n, desired=3, expected_idx=1) and n.tolist() == [1, 1]
    assert AtomicRef(np.ones(3), 1).fetch_add(2) == 1
    assert AtomicRef(sw.zeros((2, 2)), (1, 1)).load() == 0
    with pytest.raises(TypeError, match="`ref` is 1; expected an array"):
        AtomicRef(1, 0)
    with pytest.raises(TypeError, match="expected an integer"):
        ref.fetch_add(1.5)


def private(item, a):
    i = item.get_linear_id()
    p = PrivateArray(shape=(5, 2), dtype=a.dtype)
    for j in range(10):
        p[j % 5, j // 5] = j * j
    a[i] = 0
    for j in range(10):
        a[i] += p[j % 5, j // 5]


def test_private_memory():
    assert both(private, Range(3), lambda: sw.ones(3, dtype="float32")) == [[285.0] * 3]


def test_elements_are_what_they_were_when_they_were_read():
    def swap(item, a):
        old = a[0]
        a[0] = a[1]
        a[1] = old

    assert both(swap, Range(1), lambda: sw.asarray([1, 2])) == [[2, 1]]


def test_rows_and_arrays_of_numpy():
    def rows(item: Item, a, b):
        i = item.get_id(0)
        row = a[i]
        row[1] = b[i] + len(row)

    a, b = sw.zeros((2, 3)), np.arange(2.0)
    call_kernel(rows, Range(2), a, b)
    assert a.tolist() == [[0, 3, 0], [0, 4, 0]]
    call_kernel(lambda a: a.fill(1), Range(1), b)
    assert b.tolist() == [1, 1]


def test_prints(capsys):
    call_kernel(lambda item, a: print(item.get_id(0), int(a[item.get_id(0)])), Range(3), sw.arange(3))
    assert capsys.readouterr().out == "0 0\n1 1\n2 2\n"


def test_what_goes_wrong():
    def late(item, a):
        if item.get_local_id(0) < 2:
            group_barrier(item.get_group())

    def failing(item, a):
        group_barrier(item.get_group())
        a[item.get_global_id(0) + 100] = 1

    threads = threading.active_count()
    with pytest.raises(RuntimeError, match="others did not come"):
        call_kernel(late, NdRange(4, 4), sw.zeros(4))
    with pytest.raises(IndexError):
        call_kernel(failing, NdRange(4, 4), sw.zeros(4))
    with pytest.raises(AttributeError):
        call_kernel(lambda item, a: item.get_global_id(0), Range(4), sw.zeros(4))
    with pytest.raises(TypeError, match="returned 3"):
        call_kernel(lambda item, a: 3, Range(4), sw.zeros(4))
    with pytest.raises(TypeError, match="LocalAccessor"):
        call_kernel(lambda item, a: None, Range(4), LocalAccessor(4, "f4"))
    with pytest.raises(TypeError, match="expected a Range"):
        call_kernel(lambda item, a: None, 4, sw.zeros(4))
    with pytest.raises(ValueError, match="partial=True"):
        call_kernel(lambda item, a: None, NdRange(5, 4), sw.zeros(4))
    with pytest.raises(TypeError, match="expected one of 'add'"):
        call_kernel(lambda item, a: reduce_over_group(item.get_group(), 1, "subtract"), NdRange(4, 4), sw.zeros(4))
    for call in (lambda: group_barrier(None), lambda: Item().get_id(0), lambda: NdItem().get_group()):
        with pytest.raises(RuntimeError, match="is for kernels"):
            call()
    assert threading.active_count() <= threads + 4


def test_names_that_are_asked_for():
    method = "fetch_add"

    @sw.kernel
    def count(item, a, n):
        getattr(AtomicRef(n, 0), method)(a[item.get_id(0)])
        n[1] = getattr(a, "size")

    n = sw.zeros(2, dtype="int64")
    call_kernel(count, Range(4), sw.arange(4), n)
    assert n.tolist() == [6, 4]
    with pytest.raises(sw.KernelError, match="for a name"):
        call_kernel(sw.kernel("def k(item, a): getattr(a, item.get_id(0))"), Range(4), sw.zeros(4))


def test_enumerations_are_numbers():
    @sw.kernel
    def numbers(item, a):
        a[0], a[1], a[2] = MemoryOrder.ACQ_REL, MemoryScope.DEVICE, AddressSpace.LOCAL
        a[3] = MemoryOrder.CONSUME_UNSUPPORTED

    a = sw.zeros(4, dtype="int64")
    call_kernel(numbers, Range(1), a)
    assert a.tolist() == [MemoryOrder.ACQ_REL, MemoryScope.DEVICE, AddressSpace.LOCAL, MemoryOrder.CONSUME] == [4, 3, 3, 1]


def test_expected_by_either_name():
    @sw.kernel
    def exchange(item, b):
        b[0] = AtomicRef(b, 1).compare_exchange(expected_ref=b, desired=b[3], expected_idx=2)

    b = sw.arange(4)
    call_kernel(exchange, Range(1), b)
    assert b.tolist() == [0, 1, 1, 3]
    call_kernel(exchange, Range(1), b)
    assert b.tolist() == [1, 3, 1, 3]


def test_address_spaces_are_what_they_are():
    @sw.kernel
    def wrong(item, a):
        AtomicRef(a, 0, address_space=AddressSpace.LOCAL).fetch_add(1)

    with pytest.raises(sw.KernelError, match="`a`, which is in global memory, as LOCAL"):
        call_kernel(wrong, Range(1), sw.zeros(1))


def test_options_of_numba_dpex():
    @sw.kernel(release_gil=False, no_compile=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
    def one(item, a):
        a[item.get_id(0)] = 1

    a = sw.zeros(2)
    call_kernel(one, Range(2), a)
    assert a.tolist() == [1, 1]
    with pytest.warns(UserWarning, match="_compilation_mode"):
        sw.kernel(_compilation_mode="kernel")
    with pytest.raises(TypeError, match="`pears` is 3; expected an option"):
        sw.kernel(pears=3)


def test_types_of_numba():
    types = pytest.importorskip("numba").types

    def half(item, a):
        p = PrivateArray(1, types.float32)
        p[0] = types.int32(a[item.get_id(0)])
        a[item.get_id(0)] = p[0] / 2

    a = sw.arange(3.0)
    call_kernel(sw.kernel(half), Range(3), a)
    assert a.tolist() == [0, 0.5, 1]
