"""Operators and the functions of one and two operands, against NumPy."""

import copy
import enum
import gc
import operator
import pickle
import threading
import warnings

import numpy as np
import pytest

import stridewise as sw
from conftest import DTYPES, both, close, same
from peers import settles

ARITHMETIC = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow"]
BITWISE = ["and_", "or_", "xor", "lshift", "rshift"]
COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def operands(dtype, name):
    """Operands for which every operator is defined by the array API: no division by zero of integers, and so on."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return both([True, False, True], dtype), both([True, True, False], dtype)
    if name in ("pow", "lshift", "rshift"):
        return both([1, 2, 3], dtype), both([0, 3, 2], dtype)
    if kind == "u":
        return both([7, 0, 100], dtype), both([3, 5, 7], dtype)
    if kind == "c":
        return both([1 + 2j, -3.5, 2j], dtype), both([2 - 1j, 0.5j, 3], dtype)
    return both([7, -7, 100], dtype), both([3, 5, -7], dtype)


@pytest.mark.parametrize("name", ARITHMETIC + BITWISE + COMPARISONS)
def test_operators(name, dtype):
    (x, a), (y, b) = operands(dtype, name)
    apply = getattr(operator, name)
    kind = np.dtype(dtype).kind
    defined = {
        **dict.fromkeys(ARITHMETIC, "iufc"),
        **dict.fromkeys(["floordiv", "mod"], "iuf"),
        **dict.fromkeys(["and_", "or_", "xor"], "biu"),
        **dict.fromkeys(["lshift", "rshift"], "iu"),
        **dict.fromkeys(["lt", "le", "gt", "ge"], "biuf"),
        **dict.fromkeys(["eq", "ne"], "biufc"),
        "truediv": "biufc",
    }[name]
    if kind not in defined:
        with pytest.raises(TypeError):
            apply(a, b)
        return
    expected = apply(x, y)
    if name == "truediv" and kind in "biu":
        expected = expected.astype("float64")
    close(apply(a, b), expected, ulp=8)


@pytest.mark.parametrize("name", ARITHMETIC)
@pytest.mark.parametrize("number", [3, 2.5, 1 + 2j])
def test_python_numbers_are_weak(name, number, dtype):
    if dtype == "bool":
        pytest.skip("bool has no arithmetic")
    if name in ("floordiv", "mod") and (isinstance(number, complex) or dtype.startswith("complex")):
        pytest.skip("complex numbers have no remainder")
    x, a = both([1, 2, 3], dtype)
    apply = getattr(operator, name)
    for ours, theirs in [(lambda: apply(a, number), lambda: apply(x, number)),
                         (lambda: apply(number, a), lambda: apply(number, x))]:  # fmt: skip
        expected = theirs()
        # Where NumPy looks at the size of an integer dtype, the engine takes the default floating one.
        if np.dtype(dtype).kind in "iu" and not (isinstance(number, int) and name != "truediv"):
            expected = expected.astype("complex128" if isinstance(number, complex) else "float64")
        close(ours(), expected, ulp=64)


@pytest.mark.parametrize("name", ARITHMETIC + BITWISE)
def test_in_place(name):
    dtype = "float32" if name == "truediv" else "int32"
    (x, a), (y, b) = operands(dtype, name)
    before, view = a._pointer, a[:]
    apply = getattr(operator, "i" + name.rstrip("_"))
    if name in ("and_", "or_"):
        apply = getattr(operator, "i" + name[:-1])
    got = apply(a, b)
    assert got is a and a._pointer == before
    close(a, apply(x, y))
    close(view, x)
    x2, a2 = both([8, 9, 10], dtype)
    close(apply(a2, 2), apply(x2, 2))


def test_in_place_keeps_the_dtype():
    a = sw.arange(3, dtype="i4")
    for wrong in (1.5, 1j, sw.ones(3)):
        with pytest.raises(TypeError):
            a += wrong
    with pytest.raises(ValueError):
        a += sw.ones((2, 3), dtype="i4")
    b = sw.ones(3, dtype="f4")
    b += sw.arange(3, dtype="f8")
    assert b.dtype == sw.float32 and b.tolist() == [1, 2, 3]


def test_in_place_with_overlapping_operands():
    x, a = both(np.arange(10))
    x[1:] += x[:-1].copy()
    a[1:] += a[:-1]
    same(a, x)


def test_unary():
    x, a = both([1, -2, 3])
    for apply in (operator.neg, operator.pos, operator.invert, abs):
        same(apply(a), apply(x))
    z, c = both([3 + 4j])
    same(abs(c), abs(z))


def test_divmod_and_pow():
    x, a = both([7, -7, 9])
    for ours, theirs in zip(divmod(a, 4), divmod(x, 4)):
        same(ours, theirs)
    for ours, theirs in zip(divmod(10, a), divmod(10, x)):
        same(ours, theirs)
    same(pow(a, 2), x**2)
    with pytest.raises(TypeError):
        pow(a, 2, 3)


def test_matmul(rng):
    x, y = rng.integers(-5, 5, (4, 3)), rng.integers(-5, 5, (3, 2))
    (_, a), (_, b) = both(x), both(y)
    same(a @ b, x @ y)
    same(a @ b[:, 0], x @ y[:, 0])
    c = sw.asarray(np.eye(3).tolist()) * 2
    d = sw.asarray(x.tolist(), dtype="f8")
    d @= c
    same(d, x * 2.0)
    same(a @ y.tolist(), x @ y)
    same(x.tolist() @ b, x @ y)
    for wrong in (lambda: a @ 3, lambda: 3 @ a):
        with pytest.raises(ValueError, match="no dimensions.*elementwise"):
            wrong()
    with pytest.raises(ValueError):
        a @ a


def test_broadcasting():
    (x, a), (y, b) = both(np.arange(3)), both(np.arange(4).reshape(4, 1))
    same(a + b, x + y)
    same(a[:0] * b, x[:0] * y)
    with pytest.raises(ValueError) as caught:
        sw.ones(3) + sw.ones(4)
    assert "of shape [4]" in str(caught.value) and "of shape [3]" in str(caught.value)


def test_comparisons_with_numbers_out_of_range():
    x, a = both([1, 2, 255], "u1")
    for apply in (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge):
        for number in (300, -1, 2, 2**70):
            same(apply(a, number), apply(x, number))
    with pytest.raises(TypeError):
        a + 300


def test_comparisons_with_numbers_out_of_every_range():
    for code in ("bool", "u1", "i8"):
        a = sw.asarray([0, 1], dtype=code)
        for number in (2**130, 2**200, 10**400):
            assert (a < number).tolist() == (a != number).tolist() == (a > -number).tolist() == [True, True]
            assert (a >= number).tolist() == (a == number).tolist() == (a <= -number).tolist() == [False, False]
    b = sw.asarray([1.0, 2.0**200, float("inf")], dtype="f8")
    assert (b == 2**200).tolist() == [False, True, False] and (b < 2**200).tolist() == [True, False, False]
    assert (b < 10**400).tolist() == [True, True, False] and (b > -(10**400)).tolist() == [True, True, True]


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_with_other_arrays_are_refused(name):
    compare = getattr(operator, name)
    a = sw.arange(3)
    with pytest.raises(TypeError):
        compare(a, sw.MemoryUSMShared(8))
    with pytest.raises(TypeError):
        compare(sw.MemoryUSMShared(8), a)


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_with_lists(name):
    compare = getattr(operator, name)
    x, a = both([0, 1, 2])
    for other in ([0, 2, 1], (2, 1, 0), [1], [[0], [1.5]], range(3)):
        same(compare(a, other), compare(x, other))
        same(compare(other, a), compare(other, x))
    with pytest.raises(ValueError):
        compare(a, [1, 2])
    with pytest.raises((TypeError, ValueError)):
        compare(a, [[1], [2, 3]])


def test_comparison_with_something_else():
    a = sw.arange(3)
    assert (a == "text") is False and (a != None) is True  # noqa: E711
    with pytest.raises(TypeError):
        a < "text"
    with pytest.raises(TypeError):
        a + "text"


def test_numpy_scalars_have_a_dtype():
    x, a = both([1, 2], "f4")
    same(a + np.float64(2), x + np.float64(2))
    same(np.float64(2) * a, np.float64(2) * x)
    same(a + np.int8(2), x + np.int8(2))


def test_operands_stay_recorded():
    a, b = sw.ones(1 << 16, dtype="f4"), sw.ones(1 << 16, dtype="f4")
    chain = sw.sqrt((a * b + 1) / 2)
    assert chain._is_pending
    assert chain[3] == 1 and not chain._is_pending
    # Steps that nobody holds are computed on the way: only the result takes memory, beside the operands.
    gc.collect()
    for operand in (a, b):
        operand.wait()
    before = a.device.pool_statistics["live_bytes"]
    held = a * b
    total = held + 1
    del held
    total.wait()
    assert settles(lambda: a.device.pool_statistics["live_bytes"] < before + a.nbytes + a.nbytes // 2)
    assert float(total[0]) == 2


def test_recorded_work_reads_a_small_array_before_it_is_written():
    # The small array is written at once; what was recorded before reads it as it was.
    for write in (
        lambda s: s.__iadd__(1),
        lambda s: sw.negative(s, out=s),
        lambda s: s.__setitem__(0, 5),
        lambda s: s.__setitem__(Ellipsis, sw.full(1, 9.0, device="host")),
    ):
        small, large = sw.ones(1, device="host"), sw.ones(1 << 16, device="host")
        result = large + small
        assert result._is_pending
        write(small)
        assert float(small[0]) != 1 and float(result[7]) == 2


def test_work_under_way_is_waited_for():
    large, small = sw.ones(1 << 22, dtype="f4", device="host"), sw.zeros(4, dtype="f4", device="host")
    part = large[:4]
    for step in range(20):
        large += 1
        sw.add(part, part, out=small)
        assert small.tolist() == [2.0 * (step + 2)] * 4
        part += 0


def test_python_threads():
    # Each thread's work in its own array; the lock of the interpreter is given up in every call.
    a = sw.ones(1 << 12, dtype="f8", device="host")
    failures = []

    def work(number):
        try:
            mine, other = sw.zeros(1 << 12, device="host"), sw.full(10, number, dtype="f8", device="host")
            for step in range(200):
                mine += a
                other += 1
                assert float(other[3]) == number + step + 1
            assert mine.tolist() == [200.0] * (1 << 12)
        except Exception as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_derived_numbers_are_numbers():
    class Count(int):
        pass

    class Size(enum.IntEnum):
        TWO = 2

    class Share(float):
        pass

    a = sw.ones(2, dtype="i1")
    assert (a + Count(2)).dtype == sw.int8 and (a + Size.TWO).tolist() == [3, 3]
    assert (a * Share(0.5)).tolist() == [0.5, 0.5]


def test_execution_placement():
    a, b = sw.ones(3, queue=sw.Queue("host")), sw.ones(3, queue=sw.Queue("host"))
    for combine in (lambda: a + b, lambda: sw.add(a, b), lambda: a @ b, lambda: sw.add(a, a, out=b)):
        with pytest.raises(sw.ExecutionPlacementError):
            combine()
    assert not issubclass(sw.ExecutionPlacementError, ValueError)


def test_the_result_has_the_strongest_kind():
    kinds = {kind: sw.ones(3, usm_type=kind) for kind in ("host", "shared", "device")}
    assert (kinds["host"] + kinds["shared"]).usm_type == "shared"
    assert (kinds["shared"] + kinds["device"]).usm_type == "device"
    assert (kinds["host"] + 1).usm_type == "host"


# Functions.

UNARY = [
    "abs", "negative", "positive", "conj", "sign", "square", "round", "floor", "ceil", "trunc", "sqrt", "exp", "expm1", "log",
    "log1p", "log2", "log10", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "atanh", "isnan",
    "isinf", "isfinite", "signbit", "logical_not", "reciprocal", "cbrt", "exp2", "real", "imag",
]  # fmt: skip
BINARY = [
    "add", "subtract", "multiply", "divide", "floor_divide", "remainder", "pow", "minimum", "maximum", "hypot", "atan2",
    "logaddexp", "copysign", "nextafter", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal",
    "logical_and", "logical_or", "logical_xor",
]  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("code", ["float32", "float64"])
def test_unary_functions(name, code):
    x, a = both([0.25, 0.5, 0.75, 0.999], code)
    with np.errstate(all="ignore"):
        close(getattr(sw, name)(a), getattr(np, name)(x), ulp=16)


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("code", ["float32", "float64"])
def test_binary_functions(name, code):
    (x, a), (y, b) = both([0.25, 0.5, 3.5], code), both([2.0, 0.5, 1.5], code)
    close(getattr(sw, name)(a, b), getattr(np, name)(x, y), ulp=16)
    close(getattr(sw, name)(a, 2), getattr(np, name)(x, np.dtype(code).type(2)), ulp=16)
    close(getattr(sw, name)(2, a), getattr(np, name)(np.dtype(code).type(2), x), ulp=16)


@pytest.mark.parametrize("name", ["bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift"])
def test_bitwise_functions(name):
    (x, a), (y, b) = both([5, 6, 7]), both([1, 2, 3])
    same(getattr(sw, name)(a, b), getattr(np, name)(x, y))
    same(sw.bitwise_invert(a), ~x)


def test_every_function_of_the_array_api_is_there():
    names = """abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_invert bitwise_or
    bitwise_right_shift bitwise_xor ceil conj copysign cos cosh divide equal exp expm1 floor floor_divide greater
    greater_equal hypot imag isfinite isinf isnan less less_equal log log1p log2 log10 logaddexp logical_and logical_not
    logical_or logical_xor maximum minimum multiply negative nextafter not_equal positive pow real reciprocal remainder
    sign signbit sin sinh square sqrt subtract tan tanh trunc""".split()
    for name in names:
        function = getattr(sw, name)
        assert type(function).__name__ == "builtin_function_or_method"
        assert function.__name__ == name and function.__module__ == "stridewise"
        assert "out" in function.__doc__ and function.__text_signature__.startswith("(x")


def test_functions_are_those_of_the_module():
    for name in ("add", "sqrt", "bitwise_invert"):
        function = getattr(sw, name)
        assert function.__name__ == function.__qualname__ == name and repr(function) == f"<built-in function {name}>"
        assert copy.copy(function) is copy.deepcopy(function) is function
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            assert pickle.loads(pickle.dumps(function, protocol)) is function


def test_out():
    (x, a), (y, b) = both([1.0, 2.0]), both([3.0, 4.0])
    z = sw.empty(2)
    assert sw.add(a, b, out=z) is z
    same(z, x + y)
    assert sw.sqrt(a, out=None) is not a
    assert sw.multiply(a, 2, out=a) is a
    same(a, x * 2)
    with pytest.raises(ValueError):
        sw.add(a, b, out=sw.empty(3))
    with pytest.raises(TypeError):
        sw.add(a, b, out=sw.empty(2, dtype="i4"))
    with pytest.raises(TypeError):
        sw.add(a, b, out=np.empty(2))
    assert sw.less(a, b, out=sw.empty(2, dtype="bool")).tolist() == [True, False]


def test_order():
    a = sw.ones((2, 3))
    assert sw.sqrt(a, order="F").flags.fnc and sw.sqrt(a).flags.c_contiguous
    f = sw.ones((2, 3), order="F")
    assert sw.sqrt(f).flags.fnc and sw.add(f, f, order="C").flags.c_contiguous


@pytest.mark.parametrize(
    "call",
    [
        lambda a: sw.add(a), lambda a: sw.add(a, a, a), lambda a: sw.sqrt(), lambda a: sw.sqrt(a, nonsense=1),
        lambda a: sw.sqrt("text"), lambda a: sw.add(a, None), lambda a: sw.sqrt(x=a), lambda a: sw.sqrt(["text"]),
    ],
)  # fmt: skip
def test_wrong_arguments(call):
    with pytest.raises(TypeError):
        call(sw.ones(2))


def test_functions_of_numbers_alone():
    same(sw.add(1, 2), np.asarray(3))
    same(sw.sqrt(2.0), np.sqrt(np.asarray(2.0)))
    same(sw.add(np.float32(1), 2), np.asarray(3, "f4"))
    # There is no such integer, and no array beside it.
    with pytest.raises((OverflowError, TypeError)):
        sw.negative(2**70)


def test_integers_become_the_default_float():
    for code in DTYPES[:9]:
        assert sw.sqrt(sw.ones(1, dtype=code)).dtype == sw.float64
