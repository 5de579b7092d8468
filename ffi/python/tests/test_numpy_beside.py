"""NumPy's arrays beside ours: operators and functions take them in place, and NumPy's functions are ours for our arrays."""

import operator
import subprocess
import sys

import numpy as np
import pytest

import stridewise as sw
from conftest import same

OPERATORS = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "eq", "ne", "lt", "le", "gt", "ge"]
HOST = not [d for d in sw.get_devices() if d.has_aspect("host_debuggable") and d == sw.select_default_device()]
pytestmark = pytest.mark.skipif(HOST, reason="the default device is not the host's")


def pair(*shape, dtype="f8", seed=3):
    theirs = np.random.default_rng(seed).integers(1, 9, shape).astype(dtype)
    return theirs, sw.asarray(theirs.tolist(), dtype=dtype)


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4"])
def test_operators(name, dtype):
    apply = getattr(operator, name)
    (x, a), (y, b) = pair(3, 4, dtype=dtype), pair(4, dtype=dtype, seed=5)
    for ours in (apply(a, y), apply(x, b)):
        same(ours, apply(x, y))
    for number in (np.float64(2), np.float32(3), np.int8(2), np.bool_(True)):
        if name in ("sub",) and number.dtype == bool:
            continue
        assert isinstance(apply(number, a), sw.usm_ndarray) and isinstance(apply(a, number), sw.usm_ndarray)
        np.testing.assert_allclose(sw.asnumpy(apply(number, a)), apply(number, x), rtol=1e-6)


def test_bits_and_matrices():
    (x, a), (y, b) = pair(3, 3, dtype="i8"), pair(3, 3, dtype="i8", seed=9)
    for apply in (operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift, operator.matmul, divmod):
        for ours in (apply(a, y), apply(x, b)):
            expected = apply(x, y)
            for found, right in zip(ours if apply is divmod else [ours], expected if apply is divmod else [expected]):
                same(found, right)


def test_in_place_both_ways():
    (x, a), (y, b) = pair(5), pair(5, seed=8)
    expected, place = x + y, x.ctypes.data
    a += y
    same(a, expected)
    x += b
    assert type(x) is np.ndarray and x.ctypes.data == place and x.tolist() == expected.tolist()
    for square in (np.ones((5, 5)), np.ones(5)):
        square @= sw.asarray(np.eye(5).tolist())
        assert type(square) is np.ndarray and (square == 1).all()
    with pytest.raises(TypeError):
        np.arange(3).__iadd__(sw.ones(3))


def test_no_copy_is_made():
    x = np.ones(1 << 20)
    a = sw.ones(1 << 20)
    sw.add(a, x, out=a)
    before = a.device.pool_statistics["live_bytes"]
    sw.add(a, x, out=a)
    sw.sum(x).wait()
    assert a.device.pool_statistics["live_bytes"] < before + x.nbytes // 2


def test_what_is_recorded_is_of_the_elements_as_they_were():
    x, a = np.ones(1 << 17), sw.ones(1 << 17)
    total = a + x
    x[:] = 5
    assert total[7] == 2


def test_another_queue_of_the_host():
    q = sw.Queue("host", profiling=True)
    a, x = sw.ones(3, queue=q), np.arange(3.0)
    for result in (a + x, x + a, sw.matmul(a, x), sw.where(a > 0, x, a), sw.concat([x, a]), sw.take(a, np.asarray([0, 1]))):
        assert result.sycl_queue == q
    x += a
    assert x.tolist() == [1, 2, 3]


def test_other_devices_refuse():
    others = [d for d in sw.get_devices() if not d.has_aspect("host_debuggable")]
    if not others:
        pytest.skip("there is no device but the host's")
    a, x = sw.ones(3, device=others[0]), np.arange(3.0)
    for refused in (
        lambda: a + x, lambda: x + a, lambda: sw.add(a, x), lambda: np.add(x, a), lambda: a @ x, lambda: np.sin(a, out=x),
        lambda: sw.concat([a, x]), lambda: operator.iadd(x, a), lambda: np.add.at(x, [0], a[:1]), lambda: a < x,
    ):  # fmt: skip
        with pytest.raises(sw.ExecutionPlacementError):
            refused()
    assert x.tolist() == [0, 1, 2]
    assert np.sin(a).sycl_device == others[0]


def test_functions_take_them():
    x, y = np.arange(1.0, 7.0).reshape(2, 3), np.asarray([3, 1, 2])
    for ours, theirs in [
        (sw.sin(x), np.sin(x)), (sw.add(x, x), x + x), (sw.sum(x, 0), x.sum(0)), (sw.matmul(x, x.T), x @ x.T), (sw.sort(y), np.sort(y)),
        (sw.concat([x, x]), np.concatenate([x, x])), (sw.reshape(x, (3, 2)), x.reshape(3, 2)), (sw.where(x > 2, x, 0.0), np.where(x > 2, x, 0.0)),
        (sw.take(y, [0, 2]), y[[0, 2]]), (sw.linalg.outer(y, y), np.outer(y, y)), (sw.clip(x, 2, 3), x.clip(2, 3)), (sw.zeros_like(x), x * 0),
        (sw.var(x, axis=1), x.var(axis=1)), (sw.einsum("ij->i", x), np.einsum("ij->i", x)), (sw.searchsorted(np.sort(y), y), [2, 0, 1]),
    ]:  # fmt: skip
        same(ours, theirs)


def test_read_only_and_odd_layouts():
    x = np.arange(12.0).reshape(3, 4)
    x.flags.writeable = False
    a = sw.ones((3, 2))
    for theirs in (x[:, ::-2], np.asfortranarray(x)[:, 1:3], x[:, :2].astype(">f8"), x[::-1, :2].astype("f4")):
        assert (a + theirs).tolist() == (1 + theirs).tolist() == (theirs + a).tolist()
    raw = np.zeros(25, dtype="u1")[1:].view("f8")
    assert (sw.ones(3) + raw).tolist() == [1, 1, 1]


def test_other_classes_of_numpy_keep_their_rules():
    a = sw.ones(2)
    masked, matrix = np.ma.array([1.0, 2.0], mask=[True, False]), np.matrix([[1.0, 2.0]])
    assert (a + masked).mask.tolist() == [True, False]
    with pytest.raises(TypeError):
        sw.add(a, masked)
    for wrong in (matrix, np.asarray(["a", "b"]), np.asarray([1, 2], dtype=object), np.asarray([1, 2], "M8[s]")):
        with pytest.raises(TypeError):
            a + wrong
        with pytest.raises(TypeError):
            sw.add(a, wrong)


# NumPy's functions.


def test_ufuncs():
    (x, a), (y, b) = pair(2, 3), pair(2, 3, seed=6)
    for name in ["sin", "sqrt", "exp", "log1p", "absolute", "negative", "isnan", "rint", "conjugate", "arctan", "square", "degrees", "fabs"]:
        ufunc = getattr(np, name)
        ours = ufunc(a)
        assert isinstance(ours, sw.usm_ndarray), name
        np.testing.assert_allclose(sw.asnumpy(ours), ufunc(x), rtol=1e-14)
    for name in ["add", "power", "arctan2", "hypot", "true_divide", "mod", "greater", "logical_and", "maximum", "copysign"]:
        ufunc = getattr(np, name)
        for ours in (ufunc(a, b), ufunc(a, y), ufunc(x, b)):
            assert isinstance(ours, sw.usm_ndarray), name
            np.testing.assert_allclose(sw.asnumpy(ours), ufunc(x, y), rtol=1e-14)
    same(np.add(a, [1, 2, 3]), x + [1, 2, 3])
    for ours, theirs in zip(np.divmod(a, b), np.divmod(x, y)):
        same(ours, theirs)


def test_out_dtype_and_order():
    x, a = pair(2, 3)
    into, theirs = sw.empty((2, 3)), np.empty((2, 3))
    assert np.sqrt(a, out=into) is into and np.sqrt(a, out=theirs) is theirs and np.sqrt(x, into) is into
    assert theirs.tolist() == into.tolist() == np.sqrt(x).tolist()
    assert np.add(a, a, dtype="f4").dtype == sw.float32
    assert np.add(a, a, order="F").flags.f_contiguous
    assert np.add(a, x, where=True).tolist() == (x + x).tolist()
    with pytest.raises(ValueError):
        np.sqrt(a, out=np.empty(3))
    with pytest.raises(TypeError):
        np.sqrt(a, out=np.empty((2, 3), dtype="i4"))
    frozen = np.empty((2, 3))
    frozen.flags.writeable = False
    with pytest.raises(ValueError):
        np.sqrt(a, out=frozen)
    for option in ({"where": np.ones((2, 3), bool)}, {"casting": "no"}, {"signature": "d->d"}):
        with pytest.raises(TypeError, match="asnumpy"):
            np.sqrt(a, **option)


def test_methods_of_ufuncs():
    (x, a), (y, b) = pair(3, 4), pair(4, seed=11)
    for axis in (0, 1, None, (0, 1)):
        for ufunc in (np.add, np.multiply, np.maximum, np.minimum, np.logical_and, np.logical_or):
            same(ufunc.reduce(a, axis=axis), ufunc.reduce(x, axis=axis))
    same(np.add.reduce(a), np.add.reduce(x))
    same(np.add.reduce(a, axis=1, keepdims=True, initial=3.0), np.add.reduce(x, axis=1, keepdims=True, initial=3.0))
    into = np.empty(4)
    assert np.add.reduce(a, out=into) is into and into.tolist() == x.sum(0).tolist()
    same(np.add.accumulate(a), np.add.accumulate(x))
    same(np.multiply.accumulate(a, axis=1), np.multiply.accumulate(x, axis=1))
    same(np.subtract.outer(b, y), np.subtract.outer(y, y))
    for target in (sw.zeros(3), np.zeros(3)):
        np.add.at(target, [0, 0, 2], b[:3])
        np.subtract.at(target, [1], 1.0)
        expected = np.zeros(3)
        np.add.at(expected, [0, 0, 2], y[:3])
        np.subtract.at(expected, [1], 1.0)
        assert target.tolist() == expected.tolist()
    target = sw.zeros((2, 2))
    np.add.at(target, ([0, 0, 1], [1, 1, 0]), [1.0, 2.0, 3.0])
    assert target.tolist() == [[0, 3], [3, 0]]
    for missing in (lambda: np.hypot.accumulate(a), lambda: np.divide.at(a, [0], 1.0), lambda: np.add.reduceat(b, [0, 1])):
        with pytest.raises(TypeError, match="asnumpy"):
            missing()


def test_ufuncs_that_are_none_here():
    a = sw.ones(3)
    for missing in (lambda: np.isnat(a), lambda: np.frompyfunc(abs, 1, 1)(a)):
        with pytest.raises(TypeError, match="asnumpy"):
            missing()


def test_another_class_has_its_turn():
    class Other:
        __array_ufunc__ = None

        def __radd__(self, other):
            return "theirs"

    class Wrapped:
        def __array_ufunc__(self, ufunc, method, *inputs, **options):
            return "wrapped"

    assert sw.ones(2) + Other() == "theirs" and np.add(sw.ones(2), Wrapped()) == "wrapped"
    with pytest.raises(TypeError):
        np.add(sw.ones(2), object())


def test_array_functions():
    (x, a), (y, b) = pair(3, 4), pair(3, 4, seed=21)
    v, w = y[0], b[0]
    for call in [
        lambda x, y, v: np.sum(x), lambda x, y, v: np.sum(x, 0), lambda x, y, v: np.mean(x, axis=1), lambda x, y, v: np.std(x, ddof=1),
        lambda x, y, v: np.concatenate([x, y]), lambda x, y, v: np.concatenate([x, y], axis=1), lambda x, y, v: np.stack([x, y]),
        lambda x, y, v: np.transpose(x), lambda x, y, v: np.reshape(x, (4, 3)), lambda x, y, v: np.where(x > y, x, y),
        lambda x, y, v: np.where(x > 4)[0], lambda x, y, v: np.clip(x, 2, 3), lambda x, y, v: np.dot(x, y.T), lambda x, y, v: np.argsort(v),
        lambda x, y, v: np.cumsum(x), lambda x, y, v: np.cumsum(x, axis=1), lambda x, y, v: np.vstack([x, y]), lambda x, y, v: np.hstack([v, v]),
        lambda x, y, v: np.linalg.outer(v, v), lambda x, y, v: np.outer(v, v), lambda x, y, v: np.einsum("ij,kj->ik", x, y),
        lambda x, y, v: np.moveaxis(x, 0, 1), lambda x, y, v: np.round(x / 3, 2), lambda x, y, v: np.median(x, axis=0), lambda x, y, v: np.diff(x),
        lambda x, y, v: np.tensordot(x, y, axes=([0, 1], [0, 1])), lambda x, y, v: np.zeros_like(x), lambda x, y, v: np.ravel(x.T),
        lambda x, y, v: np.trace(x), lambda x, y, v: np.diag(v), lambda x, y, v: np.diagonal(x, 1), lambda x, y, v: np.unique(v), lambda x, y, v: np.flip(x, 0),
        lambda x, y, v: np.take(x, [0, 2], axis=1), lambda x, y, v: np.tile(v, 2), lambda x, y, v: np.broadcast_to(v, (2, 4)), lambda x, y, v: np.squeeze(x[None]),
        lambda x, y, v: np.split(v, 2)[1], lambda x, y, v: np.roll(v, 1), lambda x, y, v: np.pad(v, 1), lambda x, y, v: np.average(x, axis=0), lambda x, y, v: np.ptp(x),
        lambda x, y, v: np.count_nonzero(x > 3), lambda x, y, v: np.argwhere(x > 5), lambda x, y, v: np.max(x, axis=1, keepdims=True), lambda x, y, v: np.sort(x, axis=None),
    ]:  # fmt: skip
        ours, theirs = call(a, b, w), call(x, y, v)
        assert isinstance(ours, sw.usm_ndarray)
        np.testing.assert_allclose(sw.asnumpy(ours), theirs, rtol=1e-13)
    assert np.shape(a) == (3, 4) and np.ndim(a) == 2 and np.size(a) == 12 and np.allclose(a, x) and np.array_equal(a, x)
    np.testing.assert_allclose(sw.asnumpy(np.fft.fft(w)), np.fft.fft(v), rtol=1e-12)
    into = np.zeros((3, 4))
    np.copyto(into, a)
    assert into.tolist() == x.tolist() and np.shares_memory(a, np.asarray(a)) and not np.may_share_memory(a, b)
    assert np.result_type(a, np.float32) == sw.float64


def test_arrays_like_others_of_another_shape():
    a = sw.ones((2, 3), dtype="float32")
    for made in (np.zeros_like, np.ones_like, np.empty_like):
        b = made(a, shape=(4,), dtype="int16")
        assert isinstance(b, sw.usm_ndarray) and b.shape == (4,) and b.dtype == sw.int16 and b.queue == a.queue
        assert made(a).shape == (2, 3) and made(a, "float64").dtype == sw.float64
    b = np.full_like(a, 7, sw.float64, shape=(2, 2))
    assert isinstance(b, sw.usm_ndarray) and b.tolist() == [[7.0, 7.0]] * 2
    assert np.full_like(a, 3).tolist() == [[3.0] * 3] * 2 and np.zeros_like(a, shape=3).tolist() == [0.0] * 3


def test_array_functions_that_are_none_here():
    a = sw.ones((2, 2))
    for missing in (lambda: np.busday_count(a, a), lambda: np.is_busday(a), lambda: np.datetime_as_string(a), lambda: np.busday_offset(a, 1)):
        with pytest.raises(TypeError, match="asnumpy"):
            missing()


def test_writing_functions_take_both():
    indices, mask = np.array([3, 0]), np.array([True, False, True, False, False])

    def written(make):
        x = make(np.zeros(5))
        sw.put(x, indices, np.array([1.0, 2.0]))
        sw.put(x, [1], sw.asarray(7.0))
        sw.place(x, mask, np.array([8.0]))
        sw.add_at(x, indices, sw.asarray([0.5, 0.25]))
        y = make(np.zeros((2, 3)))
        sw.put_along_axis(y, np.array([[2], [0]]), np.array([[4.0], [5.0]]), 1)
        return np.asarray(x).tolist(), np.asarray(y).tolist()

    expected = ([8.25, 7.0, 8.0, 1.5, 0.0], [[0.0, 0.0, 4.0], [5.0, 0.0, 0.0]])
    assert written(np.copy) == written(sw.asarray) == expected
    # NumPy's own functions, to arrays of ours.
    x, y = sw.zeros(5), sw.zeros((2, 3))
    np.put(x, indices, [1.0, 2.0])
    np.put_along_axis(y, np.array([[2], [0]]), 4.0, 1)
    np.put(y, [1, 3, 5], [7])
    np.place(y, sw.asarray([[0, 0, 0], [0, 1, 0]]), [8.0, 9.0])
    assert y.tolist() == [[0.0, 7.0, 4.0], [7.0, 8.0, 7.0]]
    y = sw.zeros((2, 3))
    np.put_along_axis(y, np.array([[2], [0]]), 4.0, 1)
    assert x.tolist() == [2.0, 0.0, 0.0, 1.0, 0.0] and y.tolist() == [[0.0, 0.0, 4.0], [4.0, 0.0, 0.0]]


def test_numpys_functions_write_as_numpys_do():
    calls = [
        lambda a: np.put(a, [0, 1], []), lambda a: np.put(a, [], [1.0, 2.0]), lambda a: np.put(a, 3, 1.0), lambda a: np.put(a.T, [1, -5], [7.0, 8.0]),
        lambda a: np.put(a, [[13, -14]], [1.0, 2.0, 3.0], mode="wrap"), lambda a: np.place(a, [[True, False, False, False]] * 3, [1.0, 2.0]),
        lambda a: np.place(a, a > 20, []), lambda a: np.put_along_axis(a, np.array([[3], [0], [1]]), [[7.0], [8.0], [9.0]], 1),
    ]  # fmt: skip
    for number, call in enumerate(calls):
        theirs = np.arange(12.0).reshape(3, 4)
        ours = sw.asarray(theirs.copy())
        call(ours), call(theirs)
        assert ours.tolist() == theirs.tolist(), number
    # Along all elements of a view, in its order; and to NumPy's by a mask of ours.
    x = sw.reshape(sw.arange(6.0), (2, 3))
    np.put_along_axis(x.T, np.array([1, 4]), np.array([7.0, 8.0]), None)
    assert x.tolist() == [[0.0, 1.0, 8.0], [7.0, 4.0, 5.0]]
    theirs = np.arange(3.0)
    np.place(theirs, sw.asarray([True, False, True]), [9.0])
    assert theirs.tolist() == [9.0, 1.0, 9.0]
    x = sw.arange(3.0)
    for condition in (True, np.False_, 2, [0, 3, 0], np.array(0.5), np.array([True, False, True])):
        same(np.where(condition, x, -1.0), np.where(condition, np.arange(3.0), -1.0))


def test_writing_to_what_cannot_be_written():
    read_only, odd = np.zeros(3), np.zeros(13, "uint8")[1:].view("float32")
    read_only.flags.writeable = False
    for target, error, text in [
        (read_only, ValueError, "read-only"), (np.zeros(3, ">f4"), TypeError, "byte order"), (odd, (ValueError, BufferError), "align"),
        ([1.0, 2.0], TypeError, "list"), (np.ma.zeros(3), TypeError, "MaskedArray"),
    ]:  # fmt: skip
        with pytest.raises(error, match=text):
            sw.put(target, [0], 1.0)
    assert not read_only.any() and not odd.any()


def test_functions_called_as_numpys_are():
    x = sw.asarray([[3.0, np.nan, 1.0], [np.nan, 2.0, 2.0]])
    n = sw.asnumpy(x)
    calls = [
        lambda a: np.where(np.isnan(a), 0, a), lambda a: np.where(np.nan_to_num(a), 1, 0),
        lambda a: np.nansum(a, 0), lambda a: np.nanmean(a, 1, np.float32), lambda a: np.nanvar(a, 0, ddof=1),
        lambda a: np.nanstd(a, 1, np.float32, None, 0, True), lambda a: np.nanmax(a, 0), lambda a: np.nanmedian(a, 1),
        lambda a: np.nanquantile(a, [0.25, 0.5], 1), lambda a: np.percentile(a, q=50, axis=0, method="lower"),
        lambda a: np.nanargmax(a, 1), lambda a: np.nanargmin(a), lambda a: np.nancumsum(a, 0), lambda a: np.nancumprod(a),
        lambda a: np.unique(a), lambda a: np.unique(a, equal_nan=False), lambda a: np.unique(a, True, True, True),
        lambda a: np.lib.stride_tricks.sliding_window_view(a, 2, axis=1),
        lambda a: np.pad(a, 1, constant_values=np.float64(2.5)), lambda a: np.pad(a, ((0, 1), (2, 0)), constant_values=np.int8(-3)),
        lambda a: np.cross(np.nan_to_num(a), [1.0, 2.0, 3.0]), lambda a: np.cross(a.T, a.T * 2 + 1, axis=0)[:, :2],
        lambda a: np.interp(1.5, a[1, 1:], [0.0, 1.0]), lambda a: np.interp([0.0, 9.0], np.nan_to_num(a)[0, ::-1], a[1, ::-1], left=-1),
        lambda a: np.piecewise(a, [a < 2, a > 2], [lambda v: -v, 10, 5]),
        lambda a: np.histogram(np.nan_to_num(a), 4, (0, 2))[0], lambda a: np.histogram(a, np.array([0.0, 1.5, 3.0]), None, True)[0],
        lambda a: np.histogram(a, [0.0, 1.5, 3.0], None, None, np.ones_like(a))[0], lambda a: np.bincount(np.nan_to_num(a[0]).astype("i8"), [0.5, 1.0, 2.0], 6),
    ]  # fmt: skip
    for number, call in enumerate(calls):
        ours, oracle = call(x), call(n)
        for mine, other in zip(ours, oracle) if isinstance(oracle, tuple) else [(ours, oracle)]:
            assert isinstance(mine, sw.usm_ndarray), number
            np.testing.assert_allclose(sw.asnumpy(mine), other, rtol=1e-6, err_msg=str(number))
    assert [places.tolist() for places in sw.where(sw.isnan(x))] == [places.tolist() for places in np.where(np.isnan(n))]
    for missing in (lambda: sw.where(sw.isnan(x), 1), lambda: sw.where(sw.isnan(x), out=x)):
        with pytest.raises(ValueError, match="expected both"):
            missing()
    with pytest.raises(ValueError, match="NaN"):
        np.nanargmax(sw.full((2, 2), np.nan), 0)


def test_dtypes_pass_for_numpys():
    for name in ("bool", "int32", "float32", "complex128"):
        dtype, other = getattr(sw, name), np.dtype(name)
        assert isinstance(dtype, np.dtype) and type(dtype) is sw.dtype and np.dtype(dtype) == other
        assert np.issubdtype(dtype, other.type) and np.result_type(dtype, other) == other
        for attribute in "name kind char num itemsize alignment str names fields subdtype shape hasobject isnative type".split():
            assert getattr(dtype, attribute) == getattr(other, attribute), attribute
        assert dtype.base is dtype
    # NumPy has none that this could be.
    assert not isinstance(sw.bfloat16, np.dtype) and isinstance(sw.bfloat16, sw.dtype)


def test_grids_of_several_dtypes():
    parts = np.arange(3, dtype="f4"), np.arange(4, dtype="i2"), np.array([True, False])
    for how in ({}, {"indexing": "ij"}, {"sparse": True}, {"copy": True}):
        for one, other in zip(sw.meshgrid(*map(sw.asarray, parts), **how), np.meshgrid(*parts, **how), strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(sw.asnumpy(one), other)


def test_spaces_by_ratios():
    for arguments, options in [((-3, 0, 10), {}), ((0, 2, 5), {"base": 2.0, "endpoint": False}), ((1, 1, 1), {}), ((0, 1, 0), {})]:
        np.testing.assert_allclose(sw.asnumpy(sw.logspace(*arguments, **options)), np.logspace(*arguments, **options), rtol=1e-13)
    for arguments, options in [((1, 1000, 4), {}), ((3.5, 0.1, 7), {}), ((2, 8, 3), {"endpoint": False}), ((5, 5, 1), {})]:
        made = sw.geomspace(*arguments, **options)
        np.testing.assert_allclose(sw.asnumpy(made), np.geomspace(*arguments, **options), rtol=1e-13)
        assert made[0] == arguments[0]
    assert sw.logspace(0, 3, 4, dtype="int32").tolist() == [1, 10, 100, 1000]
    for start, stop in [(0, 1), (-1, 1), ([1.0, 2.0], [3.0, 0.0])]:
        with pytest.raises(ValueError, match="other than zero and of one sign"):
            sw.geomspace(start, stop)
    for call in (
        lambda xp: xp.geomspace(start=-1000, stop=-1, num=4), lambda xp: xp.geomspace(1j, 1000j, 4), lambda xp: xp.geomspace(1 + 1j, 1000 - 2j, 6, False),
        lambda xp: xp.geomspace([1, 10], [100, 1], 3, axis=-1), lambda xp: xp.geomspace([[-1.0, 3]], 5.0 * xp.asarray([[-1, 1]]), 4, axis=1), lambda xp: xp.geomspace(1, 256, 9, True, int),
        lambda xp: xp.logspace(start=[0, 1], stop=2, num=3, axis=1), lambda xp: xp.logspace(0, [1, 2], 3, base=[2.0, 3.0]), lambda xp: xp.logspace(0, 1, 3, base=xp.asarray([[2.0], [3.0]]), axis=-1),
    ):  # fmt: skip
        ours, theirs = call(sw), call(np)
        assert ours.shape == theirs.shape and ours.dtype == theirs.dtype
        np.testing.assert_allclose(sw.asnumpy(ours), theirs, rtol=1e-13)


def test_grids_of_numpys_numbers():
    f, c = np.float32, np.complex64
    for call in (
        lambda xp: xp.mgrid[f(0.1) : f(0.33) : f(0.1),], lambda xp: xp.mgrid[0.1 : f(0.3) : 3j], lambda xp: xp.ogrid[f(0) : 2 : c(5j)], lambda xp: xp.r_[0 : 3 : c(4j)],
    ):  # fmt: skip
        ours, theirs = call(sw), call(np)
        assert ours.shape == theirs.shape and ours.dtype == theirs.dtype
        np.testing.assert_allclose(sw.asnumpy(ours), theirs, rtol=1e-6)
    assert sw.ix_([])[0].dtype == sw.int64 and sw.ix_(sw.zeros(0, dtype="float32"))[0].dtype == sw.float32


def test_places_by_name_and_out_of_range():
    assert [int(place) for place in sw.unravel_index(indices=5, shape=(2, 4))] == [1, 1] and sw.unravel_index(0, ()) == ()
    assert int(sw.ravel_multi_index(multi_index=(1, 1), dims=(2, 4))) == 5
    # NumPy raises a ValueError where indexing raises an IndexError; the error is both.
    for wrong in (lambda: sw.unravel_index([0], ()), lambda: sw.unravel_index(9, (2, 4)), lambda: sw.ravel_multi_index(([3], [4]), (3, 4))):
        with pytest.raises(ValueError):
            wrong()


def test_what_is_written_behind_differences():
    x = sw.asarray([1, 2, 4], dtype="int16")
    assert sw.ediff1d(x, to_begin=-1, to_end=[7, 8]).tolist() == [-1, 1, 2, 7, 8]
    for named in ({"to_end": np.nan}, {"to_begin": [1.5]}):
        with pytest.raises(TypeError, match=f"`{next(iter(named))}` is float64; expected numbers of the kind of int16"):
            sw.ediff1d(x, **named)


@pytest.mark.parametrize("call, name", [
    (lambda a: sw.flip(a, axis=2), "axis"), (lambda a: sw.expand_dims(a, axis=-4), "axis"), (lambda a: sw.stack([a, a], axis=3), "axes"),
    (lambda a: sw.concat([a, a], axis=2), "axis"), (lambda a: sw.sum(a, axis=2), "axis"), (lambda a: sw.diff(a, axis=2), "axis"),
    (lambda a: sw.insert(a, 0, 1, axis=2), "axis"), (lambda a: sw.delete(a, 0, axis=2), "axis"), (lambda a: np.sort(a, axis=2), "axis"),
    (lambda a: sw.quantile(a, 0.5, -3, method="hazen"), "axis"), (lambda a: sw.apply_along_axis(sw.sum, 2, a), "axis"),
])  # fmt: skip
def test_what_numpys_error_of_axes_catches(call, name):
    import pickle

    for kind in (np.exceptions.AxisError, sw.OutOfBoundsError, IndexError, ValueError):
        with pytest.raises(kind, match=f"`{name}` is .*; expected") as caught:
            call(sw.zeros((2, 3)))
    copy = pickle.loads(pickle.dumps(caught.value))
    assert type(copy) is sw.OutOfBoundsError and copy.args == caught.value.args
    with pytest.raises(sw.OutOfBoundsError) as caught:
        sw.zeros(3)[3]
    assert not isinstance(caught.value, np.exceptions.AxisError)


def test_places_among_all_elements():
    x = np.array([[10, 30, 20], [60, 40, 50]])
    a = sw.asarray(x)
    places = np.argsort(x, axis=None)
    assert sw.take_along_axis(a, sw.asarray(places), axis=None).tolist() == np.take_along_axis(x, places, axis=None).tolist()
    assert np.take_along_axis(a, sw.asarray(places), None).tolist() == np.sort(x, axis=None).tolist()
    for put, target in ((sw.put_along_axis, a), (np.put_along_axis, x)):
        put(target, np.array([1, 3]), [7, 8], axis=None)
    assert a.tolist() == x.tolist()
    for call in (lambda: sw.take_along_axis(a, sw.zeros((2, 1), dtype="int64"), axis=None), lambda: sw.put_along_axis(a, [[0]], 1, axis=None)):
        with pytest.raises(ValueError, match="`indices` has 2 dimensions and `axis` is None; expected one"):
            call()


def test_least_squares_by_numpys_name():
    a, b = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]), np.array([6.0, 0.0, 1.0])
    found = sw.linalg.lstsq(sw.asarray(a), sw.asarray(b), rcond=1e-9)
    np.testing.assert_allclose(sw.asnumpy(found.x), np.linalg.lstsq(a, b, rcond=1e-9)[0], rtol=1e-12)


def test_names_beside_the_standards():
    x = np.array([[3.0, -2.0, np.nan], [0.0, 5.0, -0.5]])
    i, z = np.array([4, 1, 1, 7]), np.array([1 + 1j, -2j, -3.0])
    m = [np.arange(float(a * b)).reshape(a, b) for a, b in [(2, 9), (9, 3), (3, 7)]]
    calls = [
        lambda xp, a, i, z, m: xp.angle(z), lambda xp, a, i, z, m: xp.angle(z, True), lambda xp, a, i, z, m: xp.angle(i - 4),
        lambda xp, a, i, z, m: xp.fmax(a, 1.0), lambda xp, a, i, z, m: xp.fmin(np.nan, a), lambda xp, a, i, z, m: xp.fmin(a, a[::-1]), lambda xp, a, i, z, m: xp.fmax(a[0], a[1]),
        lambda xp, a, i, z, m: xp.heaviside(a, 0.5), lambda xp, a, i, z, m: xp.heaviside(i - 4, 1),
        lambda xp, a, i, z, m: xp.intersect1d(i, i[1:] + 3), lambda xp, a, i, z, m: xp.union1d(i, i * 2),
        lambda xp, a, i, z, m: xp.setdiff1d(i, i[1:2]), lambda xp, a, i, z, m: xp.setdiff1d(i, i[1:2], True),
        lambda xp, a, i, z, m: xp.kron(a, i), lambda xp, a, i, z, m: xp.cross(a, a[::-1] + 1),
        lambda xp, a, i, z, m: xp.cross(a.T, a.T + 1, axis=0), lambda xp, a, i, z, m: xp.cross(a.T, a + 1, 0, 1, 0),
        lambda xp, a, i, z, m: xp.ravel_multi_index((i, i + 1), (9, 10)), lambda xp, a, i, z, m: xp.unravel_index(i, (2, 4)), lambda xp, a, i, z, m: xp.unravel_index(i, 8),
        lambda xp, a, i, z, m: xp.ravel_multi_index((i, i - 5), (5, 4), mode=("clip", "wrap")), lambda xp, a, i, z, m: xp.ravel_multi_index((i,), 9),
        lambda xp, a, i, z, m: xp.pad(a, {1: (1, 2)}, "edge"), lambda xp, a, i, z, m: xp.pad(i, {-1: 3}), lambda xp, a, i, z, m: xp.digitize(i, m[0][0], True),
        lambda xp, a, i, z, m: xp.ravel_multi_index((i, i - 5), (5, 4), mode="wrap", order="F"),
        lambda xp, a, i, z, m: xp.ravel_multi_index((i, i - 5), (5, 4), mode="clip"), lambda xp, a, i, z, m: xp.unravel_index(i, (2, 4), "F"),
        *(lambda xp, a, i, z, m, k=k: xp.rot90(a, k) for k in range(-1, 5)), lambda xp, a, i, z, m: xp.rot90(a[None], 1, (2, 0)),
        lambda xp, a, i, z, m: xp.select([a > 2, a > -1], [a, a * 10], 7), lambda xp, a, i, z, m: xp.select([a[0] > 2], [1.5]),
        lambda xp, a, i, z, m: xp.trapezoid(a), lambda xp, a, i, z, m: xp.trapezoid(a, dx=0.5, axis=0),
        lambda xp, a, i, z, m: xp.trapezoid(a, i[:3] * 1.0), lambda xp, a, i, z, m: xp.trapezoid(a[:, :2], a[:, 1:] + 0.0, axis=0),
        lambda xp, a, i, z, m: xp.around(a, 1), lambda xp, a, i, z, m: xp.around(i * 7, -1), lambda xp, a, i, z, m: xp.tril_indices(4), lambda xp, a, i, z, m: xp.triu_indices(3, 1, 5), lambda xp, a, i, z, m: xp.tril_indices(0),
        lambda xp, a, i, z, m: xp.linalg.norm(m[0]), lambda xp, a, i, z, m: xp.linalg.norm(i), lambda xp, a, i, z, m: xp.linalg.norm(m[0], axis=1),
        lambda xp, a, i, z, m: xp.linalg.norm(m[1], 1), lambda xp, a, i, z, m: xp.linalg.norm(m[1], "nuc"), lambda xp, a, i, z, m: xp.linalg.norm(z, np.inf),
        lambda xp, a, i, z, m: xp.linalg.norm(m[0].reshape(2, 3, 3), axis=(0, 2), keepdims=True),
        lambda xp, a, i, z, m: xp.linalg.norm(m[0].reshape(2, 3, 3), -1, (2, 0)), lambda xp, a, i, z, m: xp.linalg.norm(m[0], 2, 0, True),
        lambda xp, a, i, z, m: xp.linalg.norm(m[0].reshape(2, 3, 3)),
        lambda xp, a, i, z, m: xp.linalg.multi_dot(m), lambda xp, a, i, z, m: xp.linalg.multi_dot([m[0][0], *m[1:], m[2][0]]),
        lambda xp, a, i, z, m: xp.linalg.multi_dot(m[:2]),
    ]  # fmt: skip
    for number, call in enumerate(calls):
        oracle = call(np, x, i, z, m)
        # Called by our names, and by NumPy's on our arrays.
        for xp in (sw, np):
            ours = call(xp, *map(sw.asarray, (x, i, z)), [sw.asarray(each) for each in m])
            for mine, other in zip(ours, oracle, strict=True) if isinstance(oracle, tuple) else [(ours, oracle)]:
                assert xp is np or isinstance(mine, sw.usm_ndarray), number
                np.testing.assert_allclose(np.asarray(mine), other, rtol=1e-12, err_msg=str(number))
    for wrong, error in [
        (lambda: sw.unravel_index(8, (2, 4)), IndexError), (lambda: sw.ravel_multi_index(([3], [4]), (3, 4)), IndexError),
        (lambda: sw.ravel_multi_index(([1],), (3, 4)), ValueError), (lambda: sw.select([], []), ValueError),
        (lambda: sw.ravel_multi_index(([1], [1]), (3, 4), mode="bad"), ValueError), (lambda: sw.ravel_multi_index(([0],), (0,), mode="clip"), IndexError),
        (lambda: sw.ravel_multi_index(([1.5],), (3,)), TypeError), (lambda: sw.ravel_multi_index(([1], [1]), (2**40, 2**40)), ValueError),
        (lambda: sw.unravel_index([1.5], (3,)), TypeError), (lambda: sw.rot90(sw.ones((2, 2)), axes=(0, -2)), ValueError),
        (lambda: sw.linalg.multi_dot([sw.ones((2, 2, 2))] * 3), ValueError), (lambda: sw.linalg.multi_dot(["text", [[1.0]]]), (TypeError, ValueError)),
        (lambda: sw.linalg.norm(sw.ones((2, 2, 2)), 2), ValueError), (lambda: sw.linalg.multi_dot([sw.ones((2, 2))]), ValueError),
    ]:  # fmt: skip
        with pytest.raises(error):
            wrong()


@pytest.fixture
def ml_dtypes():
    return pytest.importorskip("ml_dtypes")


def test_bfloat16_of_ml_dtypes_is_taken_in_place(ml_dtypes):
    theirs = np.arange(24, dtype="f4").reshape(4, 6).astype(ml_dtypes.bfloat16)
    for view in (theirs, theirs[::2, ::-3], theirs.T, theirs[1:1], theirs[0, 0, ...]):
        x = sw.asarray(view)
        assert x.dtype == sw.bfloat16 and x.shape == view.shape
        assert x.tolist() == view.astype("f8").tolist()
    x = sw.asarray(theirs, copy=False)
    theirs[1, 2] = 77
    assert float(x[1, 2]) == 77
    x[0, 0] = 55
    x.wait()
    assert theirs[0, 0] == 55
    assert not np.shares_memory(theirs, np.asarray(sw.asarray(theirs, copy=True)))
    fixed = theirs.copy()
    fixed.flags.writeable = False
    assert not sw.asarray(fixed, copy=False).flags.writable and sw.asarray(fixed).flags.writable
    assert sw.asarray(theirs, dtype="float32").tolist() == theirs.astype("f8").tolist()
    # As operands, results and elements of lists, as NumPy's other arrays are.
    ours = sw.ones((4, 6), dtype="bfloat16")
    assert (ours + theirs).dtype == sw.bfloat16 and (theirs + ours).dtype == sw.bfloat16
    assert (ours + theirs).tolist() == (theirs.astype("f4") + 1).astype(ml_dtypes.bfloat16).astype("f8").tolist()
    assert sw.asarray([ml_dtypes.bfloat16(1.5), ml_dtypes.bfloat16(2)]).tolist() == [1.5, 2.0]
    assert float(ours[0, 0] + ml_dtypes.bfloat16(1.5)) == 2.5
    np.copyto(theirs, ours)
    assert (theirs == 1).all()


def test_bfloat16_becomes_that_of_ml_dtypes(ml_dtypes):
    x = sw.asarray([[1.5, -2.0, 3.0], [0.0, float("inf"), 7.0]], dtype="bfloat16")
    expected = np.array([[1.5, -2, 3], [0, np.inf, 7]], dtype=ml_dtypes.bfloat16)
    for view, same in ((x, expected), (x.T, expected.T), (x[:, ::-2], expected[:, ::-2]), (x[1, 1, ...], expected[1, 1, ...]), (x[:0], expected[:0])):
        for made in (np.asarray(view), np.array(view), sw.asnumpy(view), sw.to_numpy(view)):
            assert made.dtype == ml_dtypes.bfloat16 and np.array_equal(made, same)
    shared = np.asarray(x)
    x[0, 0] = 9
    x.wait()
    assert shared[0, 0] == 9
    shared[0, 1] = 4
    assert float(x[0, 1]) == 4
    assert np.array(x).ctypes.data != shared.ctypes.data and sw.asnumpy(x).ctypes.data != shared.ctypes.data
    x.flags.writable = False
    assert not np.asarray(x).flags.writeable
    held = sw.asarray([1.0, 2.0], dtype="bfloat16", usm_type="device")
    with pytest.raises(ValueError, match="copy"):
        np.asarray(held, copy=False)
    assert not np.asarray(held).flags.writeable and sw.asnumpy(held).flags.writeable
    for dtype in ("float32", "float64", "int8"):
        made = np.asarray(held, dtype=dtype)
        assert made.dtype == dtype and made.tolist() == [1, 2]
    assert np.asarray(held, dtype=ml_dtypes.bfloat16).dtype == ml_dtypes.bfloat16
    assert sw.bfloat16.type is ml_dtypes.bfloat16 and np.dtype(sw.bfloat16) == ml_dtypes.bfloat16


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2", "int4", "uint4", "float6_e2m3fn"])
def test_other_dtypes_of_ml_dtypes_are_refused_by_name(ml_dtypes, name):
    theirs = getattr(ml_dtypes, name, None)
    if theirs is None:
        pytest.skip("this version has no such dtype")
    for call in (lambda: sw.asarray(np.ones(3).astype(theirs)), lambda: sw.ones(3) + np.ones(3).astype(theirs)):
        with pytest.raises(TypeError, match=name):
            call()
    with pytest.raises(TypeError, match=name):
        sw.zeros(3, dtype=theirs)


def test_bfloat16_without_ml_dtypes():
    program = """
import sys
sys.modules["ml_dtypes"] = None
import numpy as np, stridewise as sw
x = sw.ones(3, dtype="bfloat16")
for call in (sw.asnumpy, np.asarray, lambda x: x.__array__(), lambda x: sw.bfloat16.type):
    try:
        call(x)
        print("no error")
    except (TypeError, AttributeError) as error:
        assert "install ml_dtypes" in str(error), error
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr
