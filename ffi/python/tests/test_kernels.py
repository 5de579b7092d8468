"""Kernels: what a function says is what its kernel does."""

import math
import operator
import textwrap

import numpy as np
import pytest

import stridewise as sw
from conftest import both, same
from kernels import on_devices, same_as_plain
from stridewise.kernel_api import (
    AddressSpace, AtomicRef, Item, LocalAccessor, MemoryOrder, MemoryScope, NdItem, NdRange, PrivateArray, Range,
    all_of_group, any_of_group, atomic_fence, call_kernel, device_func, exclusive_scan_over_group, group_barrier,
    group_broadcast, inclusive_scan_over_group, none_of_group, reduce_over_group,
)  # fmt: skip

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


SETTINGS = {"size": np.int64(3), "one": np.float32(1), "zero": np.array(0.5), "array": np.arange(6.0).reshape(2, 3)}


@on_devices
def test_what_is_captured_may_be_in_anything(device):
    table = sw.asarray([[5, 6], [7, 8]], dtype="int16", device=device)
    none = sw.asarray(2.5)

    @sw.kernel
    def k(item, out):
        p = PrivateArray(SETTINGS["size"], SETTINGS["array"].dtype)
        for i in range(SETTINGS["size"]):
            p[i] = SETTINGS["array"][1, i] * SETTINGS["one"] + SETTINGS["zero"] + none
        out[item.get_id(0)] = p[0] + p[1] + p[2] + table[-1, item.get_id(0)] + len(table) + table.shape[SETTINGS["size"] - 2]

    out = sw.zeros(2, device=device)
    call_kernel(k, Range(2), out)
    assert out.tolist() == [3 + 4 + 5 + 9 + 7 + 4, 3 + 4 + 5 + 9 + 8 + 4]


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


def test_devices_without_double_precision_get_none():
    k = sw.kernel(
        """def k(item, a, n, factor):
        i = item.get_id(0)
        x = 0.5 * i
        s = 0.0
        for k in range(3):
            s += math.sqrt(k) / 3 + factor
        a[i] = math.sqrt(i) + x / 3 + float(i) / n[i] + s + n[i] * 0.5 + (n[i] if i > 2 else 0.5) + 2**0.5"""
    )
    arguments = [("array", "float32", 1), ("array", "int32", 1), ("number", "float32", 0)]
    assert "float64" not in str(k._specialise(1, False, False, arguments, (None, None, 0.5))[0])
    arguments[2] = ("number", "float64", 0)
    assert "float64" in str(k._specialise(1, False, True, arguments, (None, None, 0.5))[0])


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
def test_private_arrays_are_filled_again(device):
    @sw.kernel
    def sums(item, out):
        for k in range(3):
            p = PrivateArray((2, 3), np.int32, fill_zeros=True)
            q = PrivateArray(2, np.int32)
            p[k % 2, k] += k + 1
            q[0] += p[0, 0] + p[0, 1] + p[0, 2] + 10 * (p[1, 0] + p[1, 1] + p[1, 2])
            out[k] = q[0]

    out = sw.zeros(3, dtype="int32", device=device)
    call_kernel(sums, Range(1), out)
    assert out.tolist() == [1, 21, 24]


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
