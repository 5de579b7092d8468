"""Kernels: what a function says is what its kernel does, what it must not say is refused where it stands, and launches."""

import gc
import math
import operator
import pathlib
import runpy
import textwrap
import threading
import weakref

import numpy as np
import pytest

import stridewise as sw
from conftest import KINDS, both, same
from kernels import on_devices, same_as_plain
from stridewise.kernel_api import (
    AddressSpace, AtomicRef, Item, LocalAccessor, MemoryOrder, MemoryScope, NdItem, NdRange, PrivateArray, Range,
    all_of_group, any_of_group, atomic_fence, call_kernel, call_kernel_async, device_func, exclusive_scan_over_group,
    group_barrier, group_broadcast, inclusive_scan_over_group, none_of_group, reduce_over_group,
)  # fmt: skip

INTS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
FLOATS = [np.float16, np.float32, np.float64]


def some(n, dtype, seed=0):
    rng = np.random.default_rng(seed)
    low = 0 if np.dtype(dtype).kind == "u" else -20
    values = rng.integers(low, 21, n)
    return (values / 4 if np.dtype(dtype).kind == "f" else values).astype(dtype)


# Constructs, beside what Python does.

LIMIT = 7
TABLE = np.array([3, 1, 4, 1, 5, 9, 2, 6], dtype=np.int32)
WEIGHTS = (0.25, 0.5, 0.25)


@sw.kernel
def branches(item: Item, a, out):
    i = item.get_id(0)
    x = a[i]
    if x < -2:
        y = 0
    elif x < 0 or x == 3:
        y = 1
    elif 0 <= x < 2 and not x == 1:
        y = 2
    else:
        y = 3
        if x > 10:
            y += 10
    out[i] = y


@sw.kernel
def loops(item, a, out):
    i = item.get_id(0)
    total, count = 0, 0
    for k in range(i, len(a), 2):
        if a[k] < 0:
            continue
        if a[k] > 4:
            break
        total += a[k]
        count = k
    for k in range(5, i - 3, -2):
        total += k
    n = i
    while n > 0 and total < 1000:
        total = total + n
        n -= 3
    while True:
        count += 1
        if count % 5 == 0:
            break
    out[i] = total * 100 + count


@sw.kernel
def returns(item, a, out):
    i = item.get_id(0)
    if i % 3 == 0:
        return
    for k in range(10):
        if k == a[i]:
            out[i] = k
            return
    out[i] = -1


@sw.kernel
def augmented(item, a, out):
    i = item.get_id(0)
    x = a[i]
    x += 2
    x *= 3
    x -= 1
    out[i] += x
    out[i] *= 2
    out[-1 - i] -= 0


@sw.kernel
def captured(item, a, out):
    i = item.get_id(0)
    s = 0.0
    for k in range(3):
        s += WEIGHTS[k] * a[(i + k) % len(a)]
    out[i] = s + TABLE[i % 8] + LIMIT + math.pi * 0


@sw.kernel
def conditions(item, a, out):
    i = item.get_id(0)
    x = a[i]
    y = 1 if x > 0 else -1
    z = a[i + 1] if i + 1 < len(a) else 100
    b = (x > 0) == (i > 3)
    out[i] = y + z + b + (x > 1) + bool(x)


@sw.kernel
def shapes(item, a, out):
    i, j = item.get_id()
    rows, columns = a.shape
    k = item.get_linear_id()
    n, m = item.get_range()
    out[i][j] = a[i, j] + rows * 1000 + columns * 100 + len(a) + a.ndim + a.size + a.shape[1] + a.shape[-2] + k + n * m
    out[i, j] += item.get_linear_range() + item.get_range(1)


@sw.kernel
def straight(item, a, out):
    i = item.get_id(0)
    x = a[i]
    x = x * 2
    x = int(x)
    x = x // 3
    y, z = x, i
    y, z = z, y
    w = v = z
    out[i] = x + y * 2 + w + v


@device_func
def inner(x, scale=2):
    y = x * scale
    return y, y + 1


@device_func
def find(a, value):
    for k in range(len(a)):
        if a[k] == value:
            return k
    return -1


@device_func
def put(out, i, x):
    out[i] = x


@sw.kernel
def calls(item, a, out):
    i = item.get_id(0)
    p, q = inner(a[i])
    r, _ = inner(p, scale=3)
    put(out, i, q + r + find(a, 4) * 100 + find(a, i))


@sw.kernel
def asserts(item, a, out):
    i = item.get_id(0)
    assert i >= 0
    assert a[i] > -1000, "too small"
    out[i] = i


ONE_AXIS = [branches, loops, returns, augmented, captured, conditions, straight, calls, asserts]


@on_devices
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("kernel", ONE_AXIS, ids=lambda kernel: kernel.__name__)
def test_constructs(device, kernel, dtype):
    same_as_plain(device, kernel, (24,), some(24, dtype), np.zeros(24, dtype))


@on_devices
def test_shapes_and_ids_of_two_axes(device):
    same_as_plain(device, shapes, (5, 7), some(35, np.int64).reshape(5, 7), np.zeros((5, 7), np.int64))


BINARY = ["+", "-", "*", "//", "%", "/", "&", "|", "^", "<<", ">>", "<", "<=", "==", "!=", ">", ">="]


@on_devices
@pytest.mark.parametrize("dtype", [np.int16, np.int32, np.int64, np.uint8, np.float32, np.float64])
@pytest.mark.parametrize("op", BINARY)
def test_operators_are_those_of_python(device, op, dtype):
    if op in "& | ^ << >>".split() and np.dtype(dtype).kind == "f":
        return
    text = f"def f(item, a, b, out):\n  i = item.get_id(0)\n  out[i] = a[i] {op} b[i]\n"
    a, b = some(200, dtype), some(200, dtype, 1)
    b = abs(b) % 8 if op in ("<<", ">>") else np.where(b == 0, 3, b).astype(dtype) if op in ("/", "//", "%") else b
    with np.errstate(all="ignore"):
        oracle = eval(f"a {op} b")
    ours = [sw.asarray(x, device=device) for x in (a, b, np.zeros_like(oracle))]
    call_kernel(sw.kernel(text), Range(200), *ours)
    same(ours[2], oracle)


@on_devices
def test_operators_on_numbers_of_python(device):
    # Ids, literals and what they make are Python's numbers.
    @sw.kernel
    def numbers(item, out):
        i = item.get_id(0) - 8
        out[i + 8, 0] = i // 3
        out[i + 8, 1] = i % 3
        out[i + 8, 2] = i / 4
        out[i + 8, 3] = -i**2 + (+i) + ~i
        out[i + 8, 4] = i**3 + 2**3
        out[i + 8, 5] = (i & 5) | (i ^ 3) + (i << 2) + (i >> 1)
        out[i + 8, 6] = int(i / 3) + float(i) + bool(i) + abs(i)
        out[i + 8, 7] = min(i, 3) + max(i, -2, 0) + min(2.5, i)
        out[i + 8, 8] = math.floor(i / 3) + math.ceil(i / 3) + math.trunc(i / 3) + round(i / 4)
        q, r = divmod(i, 5)
        out[i + 8, 9] = q * 100 + r + pow(i, 2)
        out[i + 8, 10] = -7 // 2 + -7 % 3 + 7 / 2 + 2**-1 + abs(-3) + math.sqrt(16) + (3 > 2 > 1)

    same_as_plain(device, numbers, (16,), np.zeros((16, 11)))


@on_devices
@pytest.mark.parametrize("module", [np, sw, math], ids=lambda module: module.__name__)
def test_functions_are_the_engines(device, module):
    names = ["sqrt", "exp", "sin", "cos", "tanh", "log1p", "expm1", "cbrt" if module is math else "square", "hypot"]
    a = sw.linspace(0.5, 2.5, 40, dtype="float32", device=device)
    for name in names:
        function = getattr(module, name)
        text = "x = f(a[i], a[i])" if name == "hypot" else "x = f(a[i])"
        k = sw.kernel(f"def k(item, a, out):\n  i = item.get_id(0)\n  f = function\n  {text}\n  out[i] = x")
        out = sw.zeros(40, dtype="float32", device=device)
        call_kernel(k, Range(40), a, out)
        engine = getattr(sw, name)
        assert sw.all(out == (engine(a, a) if name == "hypot" else engine(a))), name


def test_functions_that_are_spelled_differently():
    k = sw.kernel(
        """def k(item, a, out):
        i = item.get_id(0)
        out[i] = np.arctan2(np.absolute(a[i]), np.float32(2)) + np.where(a[i] > 0, np.power(a[i], 2), sw.negative(a[i]))
        out[i] += np.maximum(a[i], 0) + math.fabs(a[i]) + math.radians(180.0) + math.log(a[i] + 9, 2)"""
    )
    x, a = both(some(20, np.float32).tolist(), "float32")
    out = sw.zeros(20, dtype="float32")
    call_kernel(k, Range(20), a, out)
    oracle = np.arctan2(abs(x), 2) + np.where(x > 0, x**2, -x) + np.maximum(x, 0) + abs(x) + np.pi + np.log2(x + 9)
    np.testing.assert_allclose(sw.asnumpy(out), oracle, rtol=1e-5)


def test_conversions():
    k = sw.kernel(
        """def k(item, a, out):
        i = item.get_id(0)
        out[i, 0] = np.int8(a[i])
        out[i, 1] = sw.float32(1) / 3
        out[i, 2] = int(a[i] * 1.5)
        out[i, 3] = float(i) / 3
        x: sw.float16 = a[i] / 3
        out[i, 4] = x
        out[i, 5] = np.uint8(300 - 45)"""
    )
    a, out = sw.asarray([1.5, -2.5, 100.25]), sw.zeros((3, 6))
    call_kernel(k, Range(3), a, out)
    x = np.array([1.5, -2.5, 100.25])
    third = np.float32(1) / 3
    oracle = [x.astype(np.int8), [third] * 3, np.trunc(x * 1.5), np.arange(3) / 3, (x / 3).astype(np.float16), [255] * 3]
    np.testing.assert_array_equal(sw.asnumpy(out), np.array(oracle).T)


# Types.


def form(text, *args, index_range=Range(4)):
    return sw.kernel(textwrap.dedent(text)).inspect(index_range, *args)


def test_literals_ids_and_counters_take_the_dtype_of_floats():
    text = form(
        """
        def f(item, a, factor):
            i = item.get_id(0)
            s = 0
            for k in range(len(a)):
                s += 0.5 * a[k] * factor + i
            a[i] = s""",
        sw.zeros(4, dtype="float32"),
        2.0,
    )
    assert "float64" not in text.split("{", 1)[1] and "var s: float32" in text


def test_integers_of_python_are_int64_beside_integers():
    x = sw.asarray([250, 251], dtype="uint8")
    out = sw.zeros(2, dtype="int64")
    call_kernel(sw.kernel("def f(item, x, out):\n  i = item.get_id(0)\n  out[i] = x[i] + i + 10 * len(x)"), Range(2), x, out)
    assert out.tolist() == [270, 272]


def test_variables_have_the_common_dtype():
    a = sw.zeros(4, dtype="int32")
    for first, second, dtype in [("0", "a[i]", "int32"), ("0", "1", "int64"), ("a[i]", "0.5", "float64"), ("False", "i > 2", "bool"),
                                 ("0", "0.5", "float64"), ("np.float32(0)", "1", "float32"), ("i", "a[i]", "int64")]:  # fmt: skip
        text = form(
            f"""
            def f(item, a):
                i = item.get_id(0)
                v = {first}
                if a[i] > 1:
                    v = {second}
                a[i] = v""",
            a,
        )
        assert f"var v: {dtype}\n" in text, (first, second, text)


def test_names_of_one_path_are_no_variables():
    text = form("def f(item, a):\n  i = item.get_id(0)\n  for k in range(3):\n    t = a[k]\n    t = t + 1\n    a[i] = t", sw.zeros(4))
    assert "var" not in text


def test_conditions_that_are_known_are_not_there():
    text = form(
        """
        def f(item, a):
            if len(a.shape) == 1 and a.dtype == "float64":
                a[0] = 1
            else:
                a[0, 0, 0] = nonsense""",
        sw.zeros(4),
    )
    assert "if" not in text.replace("nonsense", "")


def test_complex_numbers(dtype="complex64"):
    a = sw.asarray([1 + 2j, 3 - 1j], dtype=dtype)
    out = sw.zeros(2, dtype="float32")
    call_kernel(sw.kernel("def f(item, a, out):\n  i = item.get_id(0)\n  a[i] = a[i] * 1j + 1\n  out[i] = abs(a[i])"), Range(2), a, out)
    assert a.tolist() == [(-1 + 1j), (2 + 3j)]
    np.testing.assert_allclose(sw.asnumpy(out), [2**0.5, 13**0.5], rtol=1e-6)


def test_elements_that_are_compared_by_value_across_signs():
    k = sw.kernel("def f(item, a, b, out):\n  i = item.get_id(0)\n  out[i] = a[i] < b[i]")
    a, b = sw.asarray([0, 2**63 + 1], dtype="uint64"), sw.asarray([-1, 5], dtype="int64")
    out = sw.zeros(2, dtype="bool")
    call_kernel(k, Range(2), a, b, out)
    assert out.tolist() == [False, False]


# Groups and memory.


@on_devices
def test_ids_of_groups(device):
    @sw.kernel
    def ids(item: NdItem, out):
        i, j = item.get_global_id()
        g = item.get_group()
        k = item.get_global_linear_id()
        out[k, 0], out[k, 1] = i, j
        out[k, 2], out[k, 3] = item.get_local_id()
        out[k, 4], out[k, 5] = g.get_group_id()
        out[k, 6], out[k, 7] = g.get_group_range()
        out[k, 8], out[k, 9] = item.get_local_range()
        out[k, 10], out[k, 11] = item.get_global_range(0), item.get_global_linear_range()
        out[k, 12], out[k, 13] = item.get_local_linear_id(), g.get_group_linear_id()
        out[k, 14], out[k, 15] = g.get_group_linear_range(), g.get_local_linear_range() + item.get_local_linear_range()
        out[k, 16], out[k, 17] = g.leader, item.dimensions

    out = sw.zeros((6 * 8, 18), dtype="int64", device=device)
    call_kernel(ids, NdRange((6, 8), (3, 4)), out)
    oracle = []
    for i in range(6):
        for j in range(8):
            li, lj, gi, gj = i % 3, j % 4, i // 3, j // 4
            local = li * 4 + lj
            oracle.append([i, j, li, lj, gi, gj, 2, 2, 3, 4, 6, 48, local, gi * 2 + gj, 4, 24, local == 0, 2])
    np.testing.assert_array_equal(sw.asnumpy(out), oracle)


@on_devices
@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "uint8", "bool"])
def test_local_memory_of_launch_time_size(device, dtype):
    @sw.kernel
    def reverse(item, a, tile):
        j, n = item.get_local_id(0), item.get_local_range(0)
        tile[j] = a[item.get_global_id(0)]
        group_barrier(item.get_group(), MemoryScope.WORK_GROUP)
        a[item.get_global_id(0)] = tile[n - 1 - j]

    oracle = (np.arange(24) % 7).astype(dtype)
    for size in (1, 3, 8, 24):
        a = sw.asarray(oracle, device=device, copy=True)
        call_kernel(reverse, NdRange(24, size), a, LocalAccessor(size, dtype))
        same(a, oracle.reshape(-1, size)[:, ::-1].ravel())
    assert reverse._known == 1


@on_devices
def test_private_arrays(device):
    @sw.kernel
    def sort4(item, a):
        i = item.get_id(0)
        p = PrivateArray(4, sw.int32)
        for k in range(len(p)):
            p[k] = a[i, k]
        for _ in range(p.size):
            for k in range(3):
                if p[k] > p[k + 1]:
                    p[k], p[k + 1] = p[k + 1] + 0, p[k] + 0
        for k in range(4):
            a[i, k] = p[k]

    oracle = np.random.default_rng(3).integers(0, 50, (9, 4)).astype(np.int32)
    a = sw.asarray(oracle, device=device, copy=True)
    call_kernel(sort4, Range(9), a)
    same(a, np.sort(oracle, axis=1))


@on_devices
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32", "uint64", "float32", "float64"])
def test_atomics(device, dtype):
    @sw.kernel
    def atomics(item, a, r):
        x = a[item.get_id(0)]
        AtomicRef(r, 0).fetch_add(x)
        AtomicRef(r, index=1, memory_order=MemoryOrder.ACQ_REL, memory_scope=MemoryScope.DEVICE,
                  address_space=AddressSpace.GLOBAL).fetch_sub(x)  # fmt: skip
        AtomicRef(r, 2).fetch_min(x)
        AtomicRef(r, 3).fetch_max(x)
        if AtomicRef(r, 4).compare_exchange(0, 7):
            AtomicRef(r, 5).fetch_add(1)
        AtomicRef(r, 6).store(AtomicRef(r, 7).load())
        AtomicRef(r, 8).exchange(5)

    a = np.arange(1, 101).astype(dtype)
    r = np.zeros(9, dtype)
    r[1], r[2], r[7] = 10000, 50, 3
    ours = sw.asarray(r, device=device)
    call_kernel(atomics, Range(100), sw.asarray(a, device=device), ours)
    assert ours.tolist() == [5050, 10000 - 5050, 1, 100, 7, 1, 3, 3, 5]


@on_devices
def test_bits_by_atomics_on_local_memory(device):
    @sw.kernel
    def bits(item, a, out, tile):
        group, j = item.get_group(), item.get_local_id(0)
        if j < 3:
            tile[j] = -1 if j == 1 else 0
        group_barrier(group)
        x = a[item.get_global_id(0)]
        AtomicRef(tile, 0).fetch_or(x)
        AtomicRef(tile, 1).fetch_and(x)
        AtomicRef(tile, 2, address_space=AddressSpace.LOCAL).fetch_xor(x)
        atomic_fence(MemoryOrder.ACQ_REL, MemoryScope.WORK_GROUP)
        group_barrier(group)
        if j < 3:
            out[group.get_group_id(0), j] = tile[j]

    a = np.random.default_rng(1).integers(0, 2**20, (4, 16)).astype(np.int32)
    out = sw.zeros((4, 3), dtype="int32", device=device)
    call_kernel(bits, NdRange(64, 16), sw.asarray(a.ravel(), device=device), out, LocalAccessor((3,), "int32"))
    folds = [np.bitwise_or, np.bitwise_and, np.bitwise_xor]
    same(out, np.stack([fold.reduce(a, axis=1) for fold in folds], axis=1))


@on_devices
def test_collectives(device):
    @sw.kernel
    def collectives(item, a, out):
        group, i = item.get_group(), item.get_global_id(0)
        x = a[i]
        out[i, 0] = reduce_over_group(group, x)
        out[i, 1] = reduce_over_group(group, x, max)
        out[i, 2] = inclusive_scan_over_group(group, x, operator.add)
        out[i, 3] = exclusive_scan_over_group(group, x, "add")
        out[i, 4] = group_broadcast(group, x, 2)
        out[i, 5] = all_of_group(group, x > -100)
        out[i, 6] = any_of_group(group, x > 19)
        out[i, 7] = none_of_group(group, x > 19)
        out[i, 8] = reduce_over_group(group, x > 0)
        out[i, 9] = reduce_over_group(group, x, np.minimum)

    a = some(40, np.int32)
    out = sw.zeros((40, 10), dtype="int32", device=device)
    call_kernel(collectives, NdRange(40, 8), sw.asarray(a, device=device), out)
    oracle = []
    for g in a.reshape(5, 8):
        for k in range(8):
            oracle.append([g.sum(), g.max(), g[: k + 1].sum(), g[:k].sum(), g[2], True, (g > 19).any(), not (g > 19).any(),
                           (g > 0).sum(), g.min()])  # fmt: skip
    same(out, np.array(oracle, dtype=np.int32))


@on_devices
def test_groups_that_are_not_full(device):
    count = sw.kernel("def count(item, a): a[item.get_global_id(0)] = reduce_over_group(item.get_group(), 1)")
    a = sw.zeros(10, dtype="int64", device=device)
    with pytest.raises(ValueError, match="groups whose extents divide"):
        call_kernel(count, NdRange(10, 4), a)
    call_kernel(count, NdRange(10, 4, partial=True), a)
    assert a.tolist() == [4] * 8 + [2] * 2


# Launches.


@sw.kernel
def add_one(item, a):
    i, j = item.get_id()
    a[i, j] += 1


@on_devices
@pytest.mark.parametrize("kind", KINDS)
def test_views_are_written_in_place(device, kind):
    oracle = np.arange(48).reshape(6, 8)
    a = sw.asarray(oracle.copy(), device=device, usm_type=kind)
    for key in [np.s_[:, :], np.s_[::-1, ::2], np.s_[1:4, ::-3], np.s_[4:1:-1, 2:5]]:
        view = a[key]
        call_kernel(add_one, Range(*view.shape), view)
        oracle[key] += 1
    call_kernel(add_one, Range(8, 6), a.T)
    np.testing.assert_array_equal(sw.asnumpy(a), oracle + 1)


@on_devices
def test_broadcast_arrays_are_read_and_not_written(device):
    rows = sw.broadcast_to(sw.arange(4, device=device), (3, 4))
    out = sw.zeros((3, 4), dtype="int64", device=device)
    copy = sw.kernel("def copy(item, a, b):\n  i, j = item.get_id()\n  b[i, j] = a[i, j]")
    call_kernel(copy, Range(3, 4), rows, out)
    assert out.tolist() == [[0, 1, 2, 3]] * 3
    with pytest.raises(ValueError, match="`a`|a: "):
        call_kernel(add_one, Range(3, 4), rows)


@on_devices
def test_recorded_operands_and_later_reads(device):
    x = sw.arange(6, dtype="float64", device=device)
    y = (x * 2 + 1) * x
    halve = sw.kernel("def halve(item, a): a[item.get_id(0)] /= 2")
    z = y + 0
    call_kernel(halve, Range(6), y)
    oracle = np.arange(6.0)
    oracle = (oracle * 2 + 1) * oracle
    assert z.tolist() == oracle.tolist() and (y + 1).tolist() == (oracle / 2 + 1).tolist()


@on_devices
def test_events_and_dependencies(device):
    append = sw.kernel("def append(item, a, x): a[0] = a[0] * 10 + x")
    a = sw.zeros(1, dtype="int64", device=device)
    events = []
    for x in range(1, 6):
        host, event = call_kernel_async(append, Range(1), events[-1:], a, x)
        assert isinstance(event, sw.Event) and isinstance(host, sw.Event)
        events.append(event)
    sw.Event.wait_for(events)
    assert a.tolist() == [12345] and all(event.is_done for event in events)
    event = append.launch(Range(1), a, 6, depends=events)
    event.wait()
    assert a.tolist() == [123456]
    with pytest.raises(TypeError, match="`depends` has 3"):
        append.launch(Range(1), a, 6, depends=[3])


@on_devices
def test_submit_with_the_names_of_dpctl(device):
    queue = sw.Queue(device)
    ids = sw.kernel("def ids(item, a, x):\n  a[item.get_id(0), item.get_id(1)] += x")
    groups = sw.kernel("def groups(item, a): a[item.get_global_id(0), item.get_global_id(1)] *= item.get_group().get_group_id(1)")
    a = sw.ones((4, 6), dtype="int64", queue=queue)
    first = queue.submit(ids, [a, 2], [4, 6])
    second = queue.submit(groups, [a], gS=[4, 6], lS=[2, 3], dEvents=[first])
    second.wait()
    assert a.tolist() == [[0, 0, 0, 3, 3, 3]] * 4
    with pytest.raises(TypeError, match="expected a kernel"):
        queue.submit("__kernel void f() {}", [a], [4])
    with pytest.raises(ValueError, match="dimensions"):
        queue.submit(groups, [a], [4, 6], [2])
    with pytest.raises(sw.ExecutionPlacementError):
        sw.Queue(device).submit(ids, [a, 2], [4, 6])


@on_devices
def test_empty_ranges_and_arrays(device):
    fill = sw.kernel("def fill(item, a): a[item.get_id(0)] = 1")
    a = sw.zeros(3, device=device)
    call_kernel(fill, Range(0), a)
    call_kernel(fill, Range(3), sw.zeros(0, device=device))
    event = fill.launch(Range(0), a, depends=[sw.Event()])
    event.wait()
    assert a.tolist() == [0, 0, 0]
    call_kernel(add_one, Range(0, 5), sw.zeros((2, 5), device=device))


@on_devices
def test_indices_out_of_range_stay_inside(device):
    k = sw.kernel("def k(item, a, out):\n  i = item.get_id(0)\n  out[i] = a[i - 2]\n  out[i + 10] = 5")
    a, out = sw.arange(4, device=device) + 1, sw.zeros(6, dtype="int64", device=device)
    call_kernel(k, Range(6), a, out)
    assert out.tolist() == [1, 1, 1, 2, 3, 4]


@on_devices
def test_threads_launch_one_kernel(device):
    work = sw.kernel(
        """def work(item, a, n):
        i = item.get_id(0)
        for k in range(n):
            a[i] += k"""
    )
    arrays = [sw.zeros(64, dtype=dtype, device=device) for dtype in ("int32", "int64", "float32", "float64") * 2]
    failures = []

    def run(a):
        try:
            for _ in range(5):
                call_kernel(work, Range(64), a, 10)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(a,)) for a in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert all(a.tolist() == [225] * 64 for a in arrays) and work._known == 4


def test_arguments_of_no_dimension_and_scalars():
    k = sw.kernel("def k(item, out, s, t, u):\n  i = item.get_id(0)\n  out[i] = s * t + u\n  s[()] = s + 1 if i == 0 else s")
    out, s = sw.zeros(1, dtype="float32"), sw.asarray(3.0, dtype="float32")
    call_kernel(k, Range(1), out, s, np.float32(2), 0.5)
    assert out.tolist() == [6.5] and float(s) == 4.0


def test_one_kernel_for_each_combination_of_types():
    k = sw.kernel("def k(item, a, x): a[item.get_id(0)] = x")
    for arguments, known in [
        ((sw.zeros(3), 1), 1), ((sw.zeros(9)[::3], 5), 1), ((sw.zeros(3), True), 2), ((sw.zeros(3), 1.5), 3),
        ((sw.zeros(3, dtype="int8"), 1), 4), ((sw.zeros(3), np.float32(1)), 5), ((sw.zeros(3), np.float32(2)), 5),
    ]:  # fmt: skip
        call_kernel(k, Range(3), *arguments)
        assert k._known == known
    with pytest.raises(ValueError, match=r"`a` has 2 dimensions"):
        call_kernel(k, Range(3), sw.zeros((3, 3)), 1)


def test_kernels_of_one_function_are_bounded():
    k = sw.kernel("def k(item, a, b, c): a[item.get_id(0)] = 1")
    dtypes = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
    arrays = [sw.zeros(1, dtype=dtype) for dtype in dtypes]
    for a in arrays:
        for b in arrays:
            for c in arrays[:3]:
                call_kernel(k, Range(1), a, b, c)
    assert k._known == 128


def test_what_is_captured_is_what_it_was():
    factor = 3
    table = np.array([1.0, 2.0])

    @sw.kernel
    def k(item, a):
        a[item.get_id(0)] = factor * table[item.get_id(0)]

    a = sw.zeros(2)
    call_kernel(k, Range(2), a)
    factor, table[0] = 5, 100
    call_kernel(k, Range(2), a)
    assert a.tolist() == [3, 6]


def test_kernels_go_when_nobody_has_them():
    k = sw.kernel("def k(item, a): a[0] = 1")
    call_kernel(k, Range(1), sw.zeros(1))
    gone, file = weakref.ref(k), k._source.file
    import linecache

    assert file in linecache.cache
    del k
    gc.collect()
    assert gone() is None and file not in linecache.cache


def test_device_context_says_where():
    queue = sw.Queue("host")
    k = sw.kernel("def k(item, x): pass")
    with sw.device_context(queue) as inner:
        assert inner == queue
        with sw.device_context("host"):
            pass
        call_kernel(k, Range(1), 3)
    with pytest.raises(sw.DeviceSelectionError):
        sw.device_context("nonsense")
    with pytest.raises(sw.ExecutionPlacementError):
        k.launch(Range(1), sw.zeros(1, device="host"), queue=queue)
    k.launch(Range(1), sw.zeros(1, queue=queue), queue=queue).wait()


def test_arguments_that_are_none():
    k = sw.kernel("def k(item, a): a[item.get_id(0)] = 1")
    g = sw.kernel("def g(item, a): a[item.get_global_id(0)] = 1")
    with pytest.raises(TypeError, match="asarray"):
        call_kernel(k, Range(3), np.zeros(3))
    with pytest.raises(TypeError, match="asarray"):
        call_kernel(k, Range(3), "text")
    with pytest.raises(TypeError, match="expected a Range or an NdRange"):
        call_kernel(k, 3, sw.zeros(3))
    with pytest.raises(TypeError, match="expected a kernel"):
        call_kernel(lambda item, a: None, Range(3), sw.zeros(3))
    with pytest.raises(TypeError, match="call_kernel"):
        k(sw.zeros(3))
    with pytest.raises(ValueError, match="1 to 3"):
        Range(1, 2, 3, 4)
    with pytest.raises(ValueError, match="1 to 3"):
        Range()
    with pytest.raises(ValueError, match="-1"):
        Range(-1)
    with pytest.raises(ValueError, match="dimensions"):
        NdRange((4, 4), 2)
    with pytest.raises(ValueError, match="groups of 1 to"):
        call_kernel(g, NdRange(10**6, 10**6), sw.zeros(3))
    with pytest.raises(ValueError):
        call_kernel(g, NdRange(4, 0), sw.zeros(3))
    a = sw.zeros(3)
    a.flags.writable = False
    with pytest.raises(ValueError, match="read-only|writable"):
        call_kernel(k, Range(3), a)
    with pytest.raises((OverflowError, TypeError, ValueError)):
        call_kernel(sw.kernel("def f(item, a, x): a[0] = x"), Range(1), sw.zeros(1, dtype="int64"), 2**70)


def test_ranges_are_values():
    assert Range(3, 4) == Range((3, 4)) != Range(4, 3) and len(Range(3, 4)) == 2 and Range(3, 4).get(1) == 4
    assert list(Range(3, 4)) == [3, 4] and Range(3, 4).size() == 12 and hash(Range(3)) == hash(Range(3))
    assert repr(NdRange((4, 6), (2, 3))) == "NdRange(Range(4, 6), Range(2, 3))"
    assert NdRange(8, 2).global_range == Range(8) and NdRange(8, 2).local_range == Range(2)
    assert LocalAccessor((2, 3), "f4").shape == (2, 3) and LocalAccessor(2, sw.int8).dtype == sw.int8


def test_names_outside_of_kernels():
    for call in (lambda: group_barrier(None), lambda: AtomicRef(None), lambda: PrivateArray(3, "f4"), lambda: Item().get_id(0)):
        with pytest.raises(RuntimeError, match="is for kernels"):
            call()
    assert inner(4) == (8, 9)


# What is refused.

#: Kernels, each with the rule that it breaks, where (from the caret of the line `    ^^^`), and what the message says.
ILL = [
    ("definite-assignment", "`x` is read", """
        def f(item, a):
            if a[0] > 1:
                x = 1
            a[0] = x
                   ^"""),
    ("definite-assignment", "`t` is read", """
        def f(item, a):
            for k in range(3):
                a[k] = t
                       ^
                t = a[k]"""),
    ("names", "`nonsense` is not defined", """
        def f(item, a):
            a[0] = 1 + nonsense
                       ^^^^^^^^"""),
    ("names", "`sorted` cannot be called", """
        def f(item, a):
            a[0] = sorted(a)
                   ^^^^^^^^^"""),
    ("names", "no `get_local_id`", """
        def f(item, a):
            a[item.get_local_id(0)] = 1
              ^^^^^^^^^^^^^^^^^"""),
    ("names", "the array `a` has no `sum`", """
        def f(item, a):
            a[0] = a.sum()
                   ^^^^^"""),
    ("index-count", "addressed by 2 indices", """
        def f(item, a):
            a[0, 1] = 1
            ^^^^^^^"""),
    ("index-count", "`b` has 2 dimensions, and is written by 1 index", """
        def f(item, a, b):
            b[0] = a[0]
            ^^^^"""),
    ("index-count", "axis 1 of 1 dimensions", """
        def f(item, a):
            a[0] = item.get_id(1)
                   ^^^^^^^^^^^^^^"""),
    ("index-count", "axis 3 of 1 dimensions", """
        def f(item, a):
            a[0] = a.shape[3]
                           ^"""),
    ("types", "addressed by a number (float64)", """
        def f(item, a):
            a[a[0] * 2] = 1
            ^^^^^^^^^^^"""),
    ("types", "is the array `a`", """
        def f(item, a):
            a[0] = 2 * a
                   ^^^^^"""),
    ("types", "a loop over a number (float64)", """
        def f(item, a):
            for k in range(a[0]):
                           ^^^^
                a[k] = 1"""),
    ("types", "a kernel that returns something", """
        def f(item, a):
            return a[0]
            ^^^^^^^^^^^"""),
    ("types", "`c` is the array `a`", """
        def f(item, a):
            c = a
            if a[0] > 1:
                c = 3
                    ^
            a[0] = c"""),
    ("types", "ZeroDivisionError", """
        def f(item, a):
            a[0] = 1 / 0
                   ^^^^^"""),
    ("types", "`bitwise_and` is not defined for float64", """
        def f(item, a):
            a[0] = a[0] & 1
                   ^^^^^^^^"""),
    ("types", "1+2i", """
        def f(item, a):
            a[0] = 1 + 2j
            ^^^^"""),
    ("types", "for a group", """
        def f(item, a):
            group_barrier(item)
            ^^^^^^^^^^^^^^^^^^^"""),
    ("limit", "more than 1024 bits", """
        def f(item, a):
            a[0] = 10 ** 10 ** 10
                   ^^^^^^^^^^^^^^"""),
    ("structure", "`With` is not for kernels", """
        def f(item, a):
            with a:
            ^^^^^^^
                pass"""),
    ("structure", "`ListComp` is not for kernels", """
        def f(item, a):
            b = [k for k in range(3)]
                ^^^^^^^^^^^^^^^^^^^^^"""),
    ("structure", "a slice", """
        def f(item, a):
            a[1:3] = 1
              ^^^"""),
    ("structure", "an `else` of a loop", """
        def f(item, a):
            for k in range(3):
                pass
            else:
                a[0] = 1
                ^^^^^^^^"""),
    ("structure", "something else than `range`", """
        def f(item, a):
            for x in a:
                     ^
                pass"""),
    ("structure", "outside of a loop", """
        def f(item, a):
            break
            ^^^^^"""),
    ("structure", "`print`", """
        def f(item, a):
            print(a[0])
            ^^^^^^^^^^^"""),
    ("structure", "a LocalAccessor that is made in a kernel", """
        def f(item, a):
            tile = LocalAccessor(3, a.dtype)
                   ^^^^^^^^^^^^^^^^^^^^^^^^^"""),
    ("structure", "`nothing` is a kernel", """
        def f(item, a):
            nothing(item, a)
            ^^^^^^^^^^^^^^^^"""),
    ("arguments", "called with other arguments", """
        def f(item, a):
            a[0] = inner(1, 2, 3)[0]
                   ^^^^^^^^^^^^^^"""),
    ("arguments", "other arguments than it takes", """
        def f(item, a):
            p = PrivateArray(3)
                ^^^^^^^^^^^^^^^"""),
    ("arguments", "takes (item, a, b, c, d), and is launched with 2 arguments", """
        def f(item, a, b, c, d):
        ^^^^^^^^^^^^^^^^^^^^^^^^
            pass"""),
    ("read-only", "`TABLE` is written", """
        def f(item, a):
            TABLE[0] = 1
            ^^^^^^^^"""),
    ("types", "no fold", """
        def f(item, a):
            a[0] = reduce_over_group(group_of_all, 1)
                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"""),
]  # fmt: skip


def split(text):
    """A kernel without its carets, and where they point: line, column and length, from 1 on."""
    lines, place = [], None
    for line in textwrap.dedent(text).strip("\n").split("\n"):
        if line.strip() and set(line.strip()) == {"^"}:
            place = (len(lines), line.index("^") + 1, line.count("^"))
        else:
            lines.append(line)
    return "\n".join(lines) + "\n", place


def nothing_kernel():
    return sw.kernel("def nothing(item, a): pass")


@pytest.mark.parametrize("rule, message, text", ILL[:-1], ids=[f"{rule}: {message}" for rule, message, _ in ILL[:-1]])
def test_ill_formed_kernels_are_refused_where_they_are(rule, message, text):
    nothing = nothing_kernel()
    text, (line, column, length) = split(text)
    k = sw.kernel(text)
    arrays = [sw.zeros(4)] + ([sw.zeros((2, 2))] if "a, b" in text else [])
    with pytest.raises(sw.KernelError) as raised:
        call_kernel(k, Range(4), *arrays)
    error = raised.value
    assert isinstance(error, ValueError)
    assert (error.rule, error.lineno, error.column, error.length) == (rule, line, column, length), str(error)
    assert message in error.message and error.help and error.filename == k._source.file
    shown = str(error).split("\n")
    assert shown[0] == f"{error.message} [{rule}]"
    source = text.split("\n")[line - 1]
    at = next(i for i, row in enumerate(shown) if row.strip() == source.strip())
    assert shown[at + 1].strip() == "^" * length
    assert shown[at + 1].index("^") - shown[at].index(source.strip()) == column - 1 - (len(source) - len(source.lstrip()))
    assert nothing._known == 0 and k._known == 0


#: The same for launches over groups.
ILL_GROUPS = [
    ("uniform-control", "a barrier that some items of a group may not come to", """
        def f(item, a):
            if item.get_local_id(0) > 1:
                group_barrier(item.get_group())
                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"""),
    ("uniform-control", "a collective that some items", """
        def f(item, a):
            i = item.get_global_id(0)
            if a[i] > 1:
                return
            a[i] = reduce_over_group(item.get_group(), 1)
                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"""),
    ("types", "no fold by `bitwise_and` for float64", """
        def f(item, a):
            a[0] = reduce_over_group(item.get_group(), a[0], "bitwise_and")
                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"""),
    ("types", "for what folds", """
        def f(item, a):
            a[0] = reduce_over_group(item.get_group(), a[0], "subtract")
                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"""),
    ("types", "no atomic `and` on float64", """
        def f(item, a):
            AtomicRef(a, 0).fetch_and(1)
            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^"""),
    ("types", "extents", """
        def f(item, a):
            p = PrivateArray(len(a), a.dtype)
                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"""),
    ("limit", "1048576", """
        def f(item, a):
            p = PrivateArray((2000, 2000), a.dtype)
                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"""),
]  # fmt: skip


@pytest.mark.parametrize("rule, message, text", ILL_GROUPS, ids=[f"{rule}: {message}" for rule, message, _ in ILL_GROUPS])
def test_ill_formed_kernels_of_groups(rule, message, text):
    text, place = split(text)
    with pytest.raises(sw.KernelError) as raised:
        call_kernel(sw.kernel(text), NdRange(4, 2), sw.zeros(4))
    error = raised.value
    found = message in error.message or message in error.help
    assert (error.rule, (error.lineno, error.column, error.length)) == (rule, place) and found, str(error)


@device_func
def endless(x):
    return endless(x) + 1


def first(x):
    return x


@device_func
def fails(x):
    return x + missing  # noqa: F821


def test_errors_in_files_and_in_functions_that_are_called():
    @sw.kernel
    def recursive(item, a):
        a[0] = endless(a[0])

    with pytest.raises(sw.KernelError, match="`endless` calls itself") as raised:
        call_kernel(recursive, Range(1), sw.zeros(1))
    assert raised.value.rule == "recursion" and "note: `endless` is called here" in str(raised.value)

    @sw.kernel
    def undecorated(item, a):
        a[0] = first(a[0])

    with pytest.raises(sw.KernelError, match="device_func"):
        call_kernel(undecorated, Range(1), sw.zeros(1))

    @sw.kernel
    def outer(item, a):
        a[0] = fails(a[0])

    with pytest.raises(sw.KernelError, match="`missing` is not defined") as raised:
        call_kernel(outer, Range(1), sw.zeros(1))
    error = raised.value
    assert error.filename == __file__
    lines = open(__file__, encoding="utf-8").read().split("\n")
    assert lines[error.lineno - 1][error.column - 1 :].startswith("missing")
    assert "a[0] = fails(a[0])" in str(error) and f'File "{__file__}", line {error.lineno}' in str(error)


def test_columns_are_characters():
    with pytest.raises(sw.KernelError) as raised:
        call_kernel(sw.kernel("def f(item, a):\n  größe = 'äöü'; a[0] = ünbekannt"), Range(1), sw.zeros(1))
    assert (raised.value.column, raised.value.length) == (25, 9)


def test_what_is_no_source():
    for text, rule in [("x = 3", "syntax"), ("def f(:", "syntax"), ("def f(a): pass\ndef g(a): pass", "syntax"),
                       ("def f(*a): pass", "structure"), ("def f(a, *, b): pass", "structure")]:  # fmt: skip
        with pytest.raises(sw.KernelError) as raised:
            sw.kernel(text)
        assert raised.value.rule == rule
    with pytest.raises(sw.KernelError, match="give the kernel as a string"):
        sw.kernel(eval("lambda item: None"))
    with pytest.raises(TypeError, match="above a `def`"):
        sw.kernel(3)
    namespace = {}
    exec("def made(item, a): a[0] = 1", namespace)
    with pytest.raises(sw.KernelError, match="kernel\\("):
        sw.kernel(namespace["made"])


# Checked mode.


CHECKS = [
    ("out-of-bounds", "def f(item, a):\n  i = item.get_global_id(0)\n  a[i + 1] = 1\n", (3, 3, 12)),
    ("race", "def f(item, a):\n  a[0] += item.get_global_id(0)\n", (2, 3, 4)),
    ("assertion", "def f(item, a):\n  i = item.get_global_id(0)\n  assert i < 2, 'i is large'\n", (3, 10, 5)),
    ("uninitialised-local", "def f(item, a):\n  t = dppy.local.array(4, a.dtype)\n  a[item.get_global_id(0)] = t[0]\n", (3, 30, 4)),
]


@pytest.mark.parametrize("rule, text, place", CHECKS, ids=[check[0] for check in CHECKS])
def test_checked_mode_names_the_place(rule, text, place):
    import stridewise.dppy as dppy  # noqa: F401

    k = sw.kernel(text)
    event = k.launch(NdRange(4, 4), sw.zeros(4, device="host"), check=True)
    with pytest.raises(sw.KernelError) as raised:
        event.wait()
    error = raised.value
    assert error.rule == rule, str(error)
    assert error.lineno == place[0], str(error)
    assert "^" in str(error)
    call_kernel(k, NdRange(4, 4), sw.zeros(4, device="host"))


# Random programs.


class Program:
    """A random function of numbers, loops and branches; names are read where they have a value on every path."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.lines, self.fresh = [], 0
        self.names = ["x", "y", "i"]
        self.emit(1, "i = item.get_id(0)")
        self.emit(1, "x, y = a[i], 3")
        self.block(1, 3)
        for place in range(4):
            self.emit(1, f"out[i, {place}] += {self.pick(self.names)}")

    def emit(self, depth, line):
        self.lines.append("    " * depth + line)

    def pick(self, choices):
        return choices[self.random.integers(len(choices))]

    def text(self):
        return "def program(item, a, out):\n" + "\n".join(self.lines) + "\n"

    def number(self, depth=2):
        kind = self.pick("nnnlo+*-/%wcfe") if depth else self.pick("nnl")
        if kind == "n":
            return self.pick(self.names)
        if kind == "l":
            return self.pick(["0", "1", "2", "5", "-3", "0.5", "-2.25", "7"])
        if kind == "o":
            return f"out[i, {self.random.integers(4)}]"
        x, y = self.number(depth - 1), self.number(depth - 1)
        if kind == "/":
            return f"({x} / {self.pick(['2', '4', '-8.0'])})"
        if kind == "%":
            return f"({x} {self.pick(['%', '//'])} {self.pick(['3', '-5', '2.5'])})"
        if kind == "w":
            return f"({x} if {self.test(depth - 1)} else {y})"
        if kind == "c":
            return f"{self.pick(['min', 'max'])}({x}, {y})"
        if kind == "f":
            return f"{self.pick(['clamp', 'twice'])}({x})"
        if kind == "e":
            return f"a[int({x}) % 16]"
        return f"({x} {kind} {y})"

    def test(self, depth=2):
        kind = self.pick("cccban") if depth else "c"
        x, y = self.number(min(depth, 1)), self.number(min(depth, 1))
        if kind == "c":
            return f"{x} {self.pick(['<', '<=', '==', '!=', '>', '>='])} {y}"
        if kind == "b":
            return f"({x} < {y} <= {self.number(1)})"
        if kind == "n":
            return f"not ({self.test(depth - 1)})"
        return f"({self.test(depth - 1)} {self.pick(['and', 'or'])} {self.test(depth - 1)})"

    def inside(self, depth, level, loop):
        known = list(self.names)
        self.block(depth, level, loop)
        self.names = known

    def block(self, depth, level, loop=None):
        self.emit(depth, "pass")
        for _ in range(self.random.integers(1, 5)):
            kind = self.pick("aaauusiwfjt") if level else self.pick("aaut")
            if kind == "a":
                name = self.pick(["x", "y", "z", "u", "v"])
                self.emit(depth, f"{name} = {self.number()} % 97")
                self.names += [name] if name not in self.names else []
            elif kind == "t":
                self.emit(depth, f"x, y = y, {self.number()} % 89")
            elif kind == "u":
                self.emit(depth, f"{self.pick(['x', 'y'])} {self.pick(['+=', '-='])} {self.number()} % 13")
            elif kind == "s":
                self.emit(depth, f"out[i, {self.random.integers(4)}] = {self.number()} % 1009")
            elif kind == "i":
                self.emit(depth, f"if {self.test()}:")
                self.inside(depth + 1, level - 1, loop)
                if self.random.random() < 0.3:
                    self.emit(depth, f"elif {self.test()}:")
                    self.inside(depth + 1, level - 1, loop)
                if self.random.random() < 0.5:
                    self.emit(depth, "else:")
                    self.inside(depth + 1, level - 1, loop)
            elif kind == "f":
                counter = self.pick(["k", "m", f"k{depth}"])
                bounds = self.pick(["4", "1, i % 5", "6, -1, -2", "i % 3, 7, 3"])
                self.emit(depth, f"for {counter} in range({bounds}):")
                known = list(self.names)
                self.names += [counter] if counter not in self.names else []
                self.inside(depth + 1, level - 1, "for")
                self.names = known
            elif kind == "w":
                self.fresh += 1
                rounds = f"n{self.fresh}"
                self.emit(depth, f"{rounds} = 0")
                self.emit(depth, f"while {rounds} < {self.random.integers(1, 5)} and ({self.test()}):")
                self.emit(depth + 1, f"{rounds} += 1")
                self.inside(depth + 1, level - 1, "while")
            elif kind == "j" and loop and self.random.random() < 0.5:
                self.emit(depth, f"if {self.test()}:")
                self.emit(depth + 1, self.pick(["break", "continue"] if depth > 1 else ["return"]))


@device_func
def clamp(x):
    if x < -50:
        return -50
    if x > 50:
        return 50
    return x


@device_func
def twice(x):
    y = x
    y += x
    return y % 97


@on_devices
@pytest.mark.parametrize("dtype", ["int64", "float64"])
def test_random_programs_are_what_python_makes_of_them(device, dtype):
    for seed in range(150):
        text = Program(seed).text()
        namespace = {"clamp": clamp, "twice": twice}
        exec(text, namespace)
        k = sw.kernel(text)
        k.__wrapped__ = namespace["program"]
        a = np.random.default_rng(seed).integers(-40, 40, 16).astype(dtype)
        out = np.arange(64).reshape(16, 4).astype(dtype)
        try:
            same_as_plain(device, k, (16,), a, out)
        except BaseException as error:
            raise AssertionError(f"seed {seed}, {type(error).__name__}: {error}\n{text}") from error


# Documentation.


@pytest.mark.parametrize("file, begins, expected", [
    ("README.md", "A function becomes a kernel", [3, 2, 1, 0, 7, 6, 5, 4]), ("ffi/README.md", "Functions that `stridewise.kernel`", None),
])  # fmt: skip
def test_kernels_of_the_readme(tmp_path, capsys, file, begins, expected):
    root = pathlib.Path(__file__).parents[3]
    text = (root / file).read_text(encoding="utf-8")
    program = tmp_path / "program.py"
    program.write_text(text.split(begins)[1].split("```python\n")[1].split("```")[0], encoding="utf-8")
    names = runpy.run_path(str(program))
    if expected is None:
        assert "a[%4] = %7" in capsys.readouterr().out
    else:
        assert names["a"].tolist() == expected
