"""Kernels mean what the language means that they are written in: values of `and` and `or`, numbers as literals and as arguments, groups
that are smaller, assertions, names around them, and blocks inside of each other as deep as one likes."""

import math
import random
import subprocess
import sys
import threading

import numpy as np
import pytest

import stridewise as sw
from kernels import on_devices
from stridewise.kernel_api import (
    AtomicRef, LocalAccessor, NdRange, PrivateArray, Range, call_kernel, device_func, group_barrier, group_broadcast,
    reduce_over_group,
)  # fmt: skip

N = 5


def outcome(text, *arguments, dtype="float64", n=1, device=None):
    """What a kernel of a text writes to `o`, or the class of its error."""
    o = sw.zeros(n, dtype=dtype, device=device)
    try:
        call_kernel(sw.kernel(text), Range(n), o, *arguments)
    except (TypeError, ValueError, OverflowError):
        return "refused"
    return o.tolist()


# Values of `and` and `or`.

CHOICES = [
    "a[i] or 5", "a[i] and 5", "0.0 or a[i]", "a[i] and a[i] * 2.5", "a[i] or a[i] - 7", "(a[i] and 3) + (a[i] or 4)",
    "a[i] or b[i] or 9", "a[i] and b[i] and 9", "a[i] and b[i] or 7", "a[i] or b[i] and 7", "i and a[i]", "i or -1",
    "(a[i] > 0 and b[i]) + 1", "a[i] > 0 and b[i] > 0", "not (a[i] or b[i])", "(i or 2) * (b[i] and a[i])", "3 and a[i]",
    "a[i] and (b[i] or 2)", "(a[i] or 0.5) if b[i] or i else (b[i] and 1)", "i and 2 or 3", "min(a[i] or 9, b[i] or 8)",
]  # fmt: skip


@on_devices
@pytest.mark.parametrize("expression", CHOICES)
def test_and_and_or_are_one_of_their_values(expression, device):
    a, b = [-2.0, 0.0, 0.0, 1.5, 4.0, 0.0], [0.0, 3.0, 0.0, 2.0, -1.0, 6.0]
    expected = [float(eval(expression, {"a": a, "b": b, "i": i, "min": min})) for i in range(6)]
    given = [sw.asarray(values, dtype="float32", device=device) for values in (a, b)]
    text = f"def k(item, o, a, b):\n    i = item.get_id(0)\n    o[i] = {expression}"
    assert outcome(text, *given, dtype="float32", n=6, device=device) == expected
    # And as a condition, where only its truth counts.
    text = f"def k(item, o, a, b):\n    i = item.get_id(0)\n    if {expression}:\n        o[i] = 1"
    assert outcome(text, *given, dtype="float32", n=6, device=device) == [float(bool(x)) for x in expected]


def test_what_is_not_chosen_is_not_computed():
    text = "def k(item, o, a):\n    i = item.get_id(0)\n    o[i] = i and AtomicRef(a, 0).fetch_add(1) or -1"
    a = sw.zeros(1, dtype="int32")
    o = sw.zeros(4, dtype="int32")
    call_kernel(sw.kernel(text), Range(4), o, a)
    assert a.tolist() == [3] and o.tolist()[0] == -1
    assert AtomicRef  # named in the text


# Numbers as literals and as arguments.

NUMBERS = [
    ("2 ** v", -2, "float64"), ("2 ** v", 5, "int64"), ("v ** -1", 4, "float64"), ("-7 // v", 2, "int64"), ("v % 3", -7, "int64"),
    ("v / 2", 7, "float64"), ("v", 2**63, "uint64"), ("v", 2**64 - 1, "uint64"), ("v", 2**63, "float64"), ("v", 2**64, "uint64"),
    ("v", 256, "uint8"), ("v", -1, "uint8"), ("v", 128, "int8"), ("v", -128, "int8"), ("v", 2**31, "int32"), ("v", -1, "uint64"),
    ("v + 1", 255, "uint8"), ("v + 1", 2**63 - 1, "int64"), ("v * v", 2**40, "float64"), ("v * v", 2**40, "int64"),
    ("7 // v", 0, "int64"), ("7 % v", 0, "float64"), ("1 << v", 40, "int64"), ("1 << v", -1, "int64"), ("1 << v", 70, "int64"),
    ("v ** 0.5", -4, "complex128"), ("(-8) ** v", 0.5, "complex128"), ("v", 3.7, "int32"), ("v", -3.7, "uint8"), ("v", math.inf, "int32"),
    ("v", 1e300, "float32"), ("v", math.nan, "float64"), ("v", True, "int8"), ("v", 1 + 2j, "float64"), ("v", 1 + 2j, "complex64"),
    ("math.sqrt(v)", -1.0, "float64"), ("math.floor(v)", 2.5, "int64"), ("min(v, 3)", 7, "int64"), ("abs(v)", -9, "int64"),
    ("-v", 2**63, "int64"), ("~v", 5, "int64"), ("int(v)", 1e19, "uint64"), ("round(v)", 2.5, "int64"), ("a[v]", -1, "int64"),
    ("a[v]", 1, "int64"), ("a[v - 4]", 3, "int64"), ("a[0] ** v", -1, "float64"), ("a[0] ** v", 2, "int64"), ("a[0] ** v", 3, "int64"),
    ("a[0] ** v", 0.5, "float64"), ("a[0] + v", 2**63, "int64"), ("a[0] < v", 2**63, "bool"), ("u[0] + v", 255, "int64"),
    ("u[0] + v", 256, "int64"), ("u[0] * v", 3, "int64"), ("u[0] + (v + 1)", 255, "int64"), ("u[0] / v", 3, "float64"),
    ("u[0] + v", 0.5, "float64"), ("v or 3", 0, "int64"), ("v and 3", 0, "int64"), ("5 if v else 6", 0, "int64"), ("v > 2", 3, "bool"),
    ("(10, 20, 30)[v]", 2, "int64"), ("(10, 20, 30)[v]", -1, "int64"), ("(10, 20, 30)[v]", 3, "int64"), ("divmod(v, 3)[1]", -7, "int64"),
]  # fmt: skip


@on_devices
@pytest.mark.parametrize("expression, value, dtype", NUMBERS)
def test_a_number_means_the_same_as_literal_and_as_argument(expression, value, dtype, device):
    if dtype in ("float64", "complex128") and not sw.Device(device).has_aspect_fp64:
        pytest.skip("the device has no double")
    a = sw.asarray([3, 5, 7], dtype="int64", device=device)
    u = sw.asarray([250, 5, 7], dtype="uint8", device=device)
    literal = expression.replace("v", f"({value!r})") if "divmod" not in expression else expression.replace("(v,", f"({value!r},")
    literal = literal.replace("nan", "math.nan").replace("inf", "math.inf").replace("di(", "div(")
    found = [
        outcome(f"def k(item, o, a, u): o[0] = {literal}", a, u, dtype=dtype, device=device),
        outcome(f"def k(item, o, a, u, v): o[0] = {expression}", a, u, value, dtype=dtype, device=device),
    ]
    assert repr(found[0]) == repr(found[1])


def test_random_numbers_mean_the_same_as_literals_and_as_arguments():
    rng = random.Random(52)

    def tree(depth):
        if depth == 0:
            return rng.choice(["v", "w", str(rng.choice([0, 1, 2, 3, -1, 7, 0.5, 2.5, 255, 2**31, 2**62]))])
        if rng.random() < 0.2:
            return f"({rng.choice(['-', 'abs', 'float', 'int', '+'])}({tree(depth - 1)}))"
        op = rng.choice(["+", "-", "*", "/", "//", "%", "**", "<<", "&", "|"])
        return f"({tree(depth - 1)} {op} {tree(depth - 1)})"

    for _ in range(150):
        expression, dtype = tree(rng.randint(1, 3)), rng.choice(["int64", "float64", "uint8", "int32", "uint64"])
        known = sw.kernel(f"def k(item, o, v, w): o[0] = {expression}")
        for v, w in [(rng.randint(-3, 3), rng.choice([0, 2, 5])), (rng.uniform(-2, 2), rng.randint(-9, 300)), (2**63, 1)]:
            literal = expression.replace("v", f"({v!r})").replace("w", f"({w!r})")
            expected = outcome(f"def k(item, o): o[0] = {literal}", dtype=dtype)
            o = sw.zeros(1, dtype=dtype)
            try:
                call_kernel(known, Range(1), o, v, w)
                found = o.tolist()
            except (TypeError, ValueError, OverflowError):
                found = "refused"
            assert repr(found) == repr(expected), (expression, v, w, dtype)


def test_kernels_are_kept_for_numbers_that_ask_for_the_same():
    fill = sw.kernel("def fill(item, a, v): a[item.get_id(0)] = v")
    a = sw.zeros(3, dtype="uint8")
    for value in range(0, 256, 5):
        call_kernel(fill, Range(3), a, value)
        assert a.tolist() == [value] * 3
    assert fill._known == 1
    for value in (-1, 256, 2**70):
        with pytest.raises((sw.KernelError, TypeError, ValueError)) as raised:
            call_kernel(fill, Range(3), a, value)
        assert str(value) in str(raised.value) and a.tolist() == [255] * 3
    scaled = sw.kernel("def scaled(item, a, v): a[item.get_id(0)] *= 2 ** v")
    b = sw.ones(2, dtype="float32")
    for value in (3, -3, -1, 1, 0):
        call_kernel(scaled, Range(2), b, value)
    assert b.tolist() == [1.0, 1.0] and scaled._known == 2
    # Extents and axes are known numbers, too.
    many = sw.kernel("def many(item, a, n, axis):\n    p = PrivateArray(n, sw.int32)\n    p[n - 1] = 4\n    a[item.get_id(axis)] = p[-1] + n")
    c = sw.zeros(2, dtype="int32")
    for n in (3, 5):
        call_kernel(many, Range(2), c, n, 0)
        assert c.tolist() == [4 + n] * 2


# Groups.


@on_devices
def test_a_smaller_group_knows_how_many_items_it_has(device):
    text = """def k(item, o):
    g = item.get_group()
    i, j = item.get_global_id()
    o[i, j, 0], o[i, j, 1] = item.get_local_range()
    o[i, j, 2] = g.get_local_linear_range()
    o[i, j, 3] = reduce_over_group(g, 1)
    o[i, j, 4] = item.get_local_linear_id()
    o[i, j, 5] = group_broadcast(g, i * 100 + j, item.get_local_linear_range() - 1)
    o[i, j, 6] = reduce_over_group(g, item.get_local_linear_id())"""
    rows, columns = 5, 7
    o = sw.zeros((rows, columns, 7), dtype="int64", device=device)
    call_kernel(sw.kernel(text), NdRange((rows, columns), (2, 4), partial=True), o)
    for i in range(rows):
        for j in range(columns):
            height, width = min(2, rows - i // 2 * 2), min(4, columns - j // 4 * 4)
            last = (i // 2 * 2 + height - 1) * 100 + j // 4 * 4 + width - 1
            count, linear = height * width, i % 2 * width + j % 4
            expected = [height, width, count, count, linear, last, count * (count - 1) // 2]
            assert o[i, j].tolist() == expected, (i, j)
    assert reduce_over_group and group_broadcast and group_barrier  # named in texts


@on_devices
def test_a_tile_is_reversed_in_a_smaller_group(device):
    a = sw.arange(10, device=device)
    text = """def k(item, a, tile):
    i, j, n = item.get_global_id(0), item.get_local_id(0), item.get_local_range(0)
    tile[j] = a[i]
    group_barrier(item.get_group())
    a[i] = tile[n - 1 - j]"""
    call_kernel(sw.kernel(text), NdRange(10, 4, partial=True), a, LocalAccessor(4, "int64"))
    assert a.tolist() == [3, 2, 1, 0, 7, 6, 5, 4, 9, 8]


def test_who_is_not_there_broadcasts_nothing_in_checked_mode():
    k = sw.kernel("def k(item, o): o[item.get_global_id(0)] = group_broadcast(item.get_group(), 7, 3)")
    o = sw.zeros(6, dtype="int64")
    with pytest.raises(sw.KernelError, match=r"item 3 of group \(1\) is broadcast, which has 2 items"):
        k.launch(NdRange(6, 4, partial=True), o, check=True).wait()


# Indices, loops, assertions.


def test_a_negative_index_that_is_computed():
    k = sw.kernel("def k(item, a, o):\n    i = item.get_id(0)\n    o[i] = a[i - 2]\n    a[i - 9] = 5")
    a, o = sw.arange(4), sw.zeros(4, dtype="int64")
    call_kernel(k, Range(4), a, o)
    assert o.tolist() == [0, 0, 0, 1] and a.tolist() == [0, 1, 2, 3]
    with pytest.raises(sw.KernelError, match=r"accesses `a\[-2\]`"):
        k.launch(Range(4), a, o, check=True).wait()
    a, o = sw.arange(4), sw.zeros(4, dtype="int64")
    k = sw.kernel("def k(item, a, o): o[0], o[1] = a[-1], a[len(a) - 1]")
    call_kernel(k, Range(1), a, o)
    assert o.tolist()[:2] == [3, 3]


@on_devices
def test_a_range_of_step_0_is_an_error(device):
    a = sw.zeros(3, dtype="int64", device=device)
    with pytest.raises(sw.KernelError, match="a step of 0"):
        call_kernel(sw.kernel("def k(item, a):\n    for j in range(0, 3, 0):\n        a[j] = 1"), Range(1), a)
    given = sw.kernel("def k(item, a, s):\n    for j in range(0, 3, s):\n        a[j] = 1")
    with pytest.raises(sw.KernelError, match="a step of 0"):
        call_kernel(given, Range(1), a, 0)
    call_kernel(given, Range(1), a, 2)
    assert a.tolist() == [1, 0, 1]
    computed = sw.kernel("def k(item, a):\n    for j in range(0, 3, a[1]):\n        a[j] = 1")
    with pytest.raises(sw.KernelError, match=r"range\(\) arg 3 must not be zero") as raised:
        computed.launch(Range(1), a).wait()
    assert raised.value.rule == "assertion"


@on_devices
def test_assertions_hold_in_every_launch(device):
    k = sw.kernel("def k(item, a):\n    i = item.get_id(0)\n    assert a[i] >= 0, 'a root of a negative number'\n    a[i] = a[i] ** 0.5")
    a = sw.asarray([4.0, 9.0, 16.0], dtype="float32", device=device)
    call_kernel(k, Range(3), a)
    assert a.tolist() == [2.0, 3.0, 4.0]
    b = sw.asarray([4.0] * 300 + [-1.0], dtype="float32", device=device)
    event = k.launch(Range(301), b)
    with pytest.raises(sw.KernelError, match=r"item \(300\): a root of a negative number") as raised:
        event.wait()
    assert raised.value.rule == "assertion" and raised.value.lineno == 3
    # What reads its results fails, too.
    with pytest.raises(Exception, match="root of a negative"):
        (b + 1).tolist()
    groups = sw.kernel(
        "def k(item, a):\n    g = item.get_group()\n    s = reduce_over_group(g, a[item.get_global_id(0)])\n"
        "    assert s < 10\n    a[item.get_global_id(0)] = s"
    )
    c = sw.asarray([1, 2, 3, 4, 5, 6, 7], dtype="int32", device=device)
    with pytest.raises(sw.KernelError, match="assertion failed"):
        groups.launch(NdRange(7, 3, partial=True), c).wait()


# Functions, and names around kernels.


@device_func
def even(n):
    return odd(n - 1) if n else 1


@device_func
def odd(n):
    return even(n - 1) if n else 0


def test_functions_that_call_each_other_are_refused_when_the_kernel_is_made():
    for text in ("def k(item, a): a[0] = even(4)", "def k(item, a):\n    if False:\n        a[0] = odd(a[0])"):
        with pytest.raises(sw.KernelError, match="calls itself") as raised:
            sw.kernel(text)
        assert raised.value.rule == "recursion"


class Settings:
    factor = 2


table = [1, 2, 3]
weights = np.array([1, 2, 3])


def test_a_changed_global_is_seen_by_no_kernel(monkeypatch):
    k = sw.kernel("def k(item, a): a[0] = N + Settings.factor * table[1] + weights[item.get_id(0) + 2] + table[item.get_id(0)]")
    expected = 5 + 2 * 2 + 3 + 1
    a = sw.zeros(1, dtype="int64")
    call_kernel(k, Range(1), a)
    assert a.tolist() == [expected]
    monkeypatch.setitem(globals(), "N", 1000)
    monkeypatch.setattr(Settings, "factor", 1000)
    before = table[:]
    table[:] = [1000] * 3
    weights[2] = 1000
    try:
        for dtype in ("int64", "int32", "float32"):
            b = sw.zeros(1, dtype=dtype)
            call_kernel(k, Range(1), b)
            assert b.tolist() == [expected]
    finally:
        table[:] = before
        weights[2] = 3
    # What was no kernel yet has seen nothing.
    wrong = sw.kernel("def wrong(item, a): a[0] = late")
    with pytest.raises(sw.KernelError, match="`late` is not defined"):
        call_kernel(wrong, Range(1), a)
    monkeypatch.setitem(globals(), "late", 8)
    call_kernel(wrong, Range(1), a)
    assert a.tolist() == [8]


def test_numbers_and_texts_beyond_the_usual():
    assert Range(2**40, 2**40, 2**40).size() == 2**120 and Range(3, 4).size() == 12
    big, scalar, numbers = 2**63, np.uint64(2**63), (2**63, 5)
    o = sw.zeros(4, dtype="uint64")
    call_kernel(
        sw.kernel("def k(item, o):\n    o[0], o[1], o[2] = big, scalar, numbers[item.get_id(0)]\n    o[3] = numbers[1]"), Range(1), o
    )
    assert o.tolist() == [2**63, 2**63, 2**63, 5]
    assert big and scalar and numbers
    o = sw.zeros(1, dtype="int64")
    call_kernel(sw.kernel("def k(item, o):\n    p = PrivateArray(3, 'int64')\n    p[1] = 2**40\n    o[0] = p[1]"), Range(1), o)
    assert o.tolist() == [2**40] and PrivateArray
    with pytest.raises(sw.KernelError, match="'int63' is no dtype"):
        call_kernel(sw.kernel("def k(item, o):\n    p = PrivateArray(3, 'int63')"), Range(1), o)
    for text in ("def k(item, o): '\ud800'", "def k(item, o): assert o[0] == 2**40, '\ud800'", "def \ud800(item, o): pass", "\ud800"):
        with pytest.raises(sw.KernelError, match=r"'.ud800', which is no character"):
            sw.kernel(text)
    event = sw.kernel("def k(item, o): assert o[0] == 5, '\\ud800'").launch(Range(1), o)
    with pytest.raises(sw.KernelError, match=r"item \(0\): .ud800"):
        event.wait()


# Memory that several parameters name, in checked mode.

TWICE = [
    ("b[i] = a[i] + 1", lambda x: (x, x), None),
    ("b[i] = a[i + 1] + 1", lambda x: (x, x), "race"),
    ("b[i] = a[i] + 1", lambda x: (x[1:], x[:-1]), "race"),
    ("b[i] = a[i] + 1", lambda x: (x[:8], x[8:]), None),
    ("b[i] = a[i] + 1", lambda x: (x[::2], x[1::2]), None),
    ("b[i] = a[i] + 1", lambda x: (x[::2], x[::-2]), None),
    ("b[i] = a[i] + 1", lambda x: (x[::-1], x), "race"),
    ("b[i] = a[i // 4, i % 4] + 1", lambda x: (sw.reshape(x, (4, 4)), x), None),
    ("b[i] = a[i % 4, i // 4] + 1", lambda x: (sw.reshape(x, (4, 4)), x), "race"),
    ("b[i] = a[0] + 1", lambda x: (x[5:], x[:5]), None),
]


@pytest.mark.parametrize("line, views, rule", TWICE)
def test_checked_mode_knows_memory_by_whatever_name(line, views, rule):
    x = sw.arange(16, dtype="float32")
    a, b = views(x)
    n = min(b.shape[0], a.shape[0] if a.ndim == 1 else 16)
    k = sw.kernel(f"def k(item, a, b):\n    i = item.get_id(0)\n    if i + 1 < {n}:\n        {line}")
    event = k.launch(Range(n), a, b, check=True)
    if rule is None:
        event.wait()
    else:
        with pytest.raises(sw.KernelError) as raised:
            event.wait()
        assert raised.value.rule == rule


def test_checked_mode_knows_elements_of_other_dtypes_in_the_same_memory():
    z = sw.zeros(8, dtype="complex64")
    k = sw.kernel("def k(item, z, x):\n    i = item.get_id(0)\n    z[i] = 1\n    x[(2 * i + 2) % 16] = 2")
    with pytest.raises(sw.KernelError) as raised:
        k.launch(Range(8), z, z.view("float32"), check=True).wait()
    assert raised.value.rule == "race"


def test_many_items_that_read_one_element_are_watched():
    n = 40_000
    a, o = sw.asarray([7.0]), sw.zeros(n)
    k = sw.kernel("def k(item, a, o): o[item.get_id(0)] = a[0]")
    k.launch(Range(n), a, o, check=True).wait()
    assert sw.to_numpy(o).min() == 7
    late = sw.kernel("def k(item, a, o):\n    o[item.get_id(0)] = a[0]\n    if item.get_id(0) == 39999:\n        a[0] = 1")
    with pytest.raises(sw.KernelError, match=r"item \(39999\) writes `a\[0\]`") as raised:
        late.launch(Range(n), a, o, check=True).wait()
    assert raised.value.rule == "race"


# Blocks inside of each other.


def nested(kind, depth):
    lines = []
    for j in range(depth):
        indent = "    " * j
        lines += {
            "if": [f"{indent}if a[i] >= {-j}:"],
            "for": [f"{indent}for j{j} in range(i % 2 + 1 if {j} == 0 else 1):"],
            "while": [f"{indent}w{j} = 0", f"{indent}while w{j} < 1:", f"{indent}    w{j} += 1"],
        }[kind]
    lines.append("    " * depth + "a[i] += 1")
    return "def k(item, a):\n    i = item.get_id(0)\n" + "".join(f"    {line}\n" for line in lines)


SMALL = """
import threading, stridewise as sw
from stridewise.kernel_api import Range
k, a = sw.kernel({text!r}), sw.zeros(300)
k.launch(Range(1), a).wait()
threading.stack_size({kib} << 10)
def run():
    k.launch(Range(1), a).wait()
    k.launch(Range(300), a, check=True).wait()
    print(a.tolist()[0])
thread = threading.Thread(target=run)
thread.start()
thread.join()
"""


@pytest.mark.parametrize("kind, depth, kib", [("if", 12, 64), ("if", 90, 256), ("for", 90, 256), ("while", 90, 256)])
def test_blocks_inside_of_each_other_need_no_stack(kind, depth, kib):
    code = SMALL.format(text=nested(kind, depth), kib=kib)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "3.0\n"), done.stderr


def test_long_expressions_and_chains_of_branches():
    a = sw.zeros(2, dtype="float64")
    call_kernel(sw.kernel("def k(item, a): a[item.get_id(0)] = " + " + ".join(["a[0]"] + ["1"] * 1500)), Range(2), a)
    assert a.tolist() == [1500.0, 1500.0]
    chain = "".join(f"    elif a[0] == {j}:\n        a[1] = {j}\n" for j in range(100))
    call_kernel(sw.kernel("def k(item, a):\n    if a[0] < 0:\n        pass\n" + chain + "    else:\n        a[1] = 7"), Range(1), a)
    assert a.tolist() == [1500.0, 7.0]
    # Deeper than a kernel may be, it is an error.
    with pytest.raises(sw.KernelError, match="deep"):
        chain = "".join(f"    elif a[0] == {j}:\n        a[1] = {j}\n" for j in range(400))
        call_kernel(sw.kernel("def k(item, a):\n    if a[0] < 0:\n        pass\n" + chain), Range(1), a)
    assert threading.active_count() >= 1
