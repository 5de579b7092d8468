"""The order of axes in memory, which order="K" keeps as NumPy does; what is an array itself; how arrays are written."""

import itertools

import numpy as np
import pytest

import stridewise as sw
from conftest import same

VIEWS = {
    "row-major": lambda a: a,
    "column-major": lambda a: a.T,
    "rolled axes": lambda a: a.transpose(1, 2, 0) if isinstance(a, np.ndarray) else sw.permute_dims(a, (1, 2, 0)),
    "first two": lambda a: a.transpose(1, 0, 2) if isinstance(a, np.ndarray) else sw.permute_dims(a, (1, 0, 2)),
    "every second": lambda a: a[:, ::2].T,
    "reversed": lambda a: a[::-1, :, ::-2].T,
    "a column": lambda a: a[:, :, 1].T,
}


def steps(array):
    """Strides in elements of the axes that are stepped along."""
    size = array.itemsize if isinstance(array, np.ndarray) else 1
    return tuple(stride // size for stride, extent in zip(array.strides, array.shape, strict=True) if extent > 1)


def pair(view, dtype="f8"):
    x = np.arange(4 * 6 * 5, dtype=dtype).reshape(4, 6, 5)
    return VIEWS[view](x), VIEWS[view](sw.asarray(x))


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("order", ["K", "A", "C", "F"])
def test_copies_lie_as_numpys_do(view, order):
    x, a = pair(view)
    for theirs, ours in [
        (np.empty_like(x, order=order), sw.empty_like(a, order=order)),
        (np.zeros_like(x, order=order), sw.zeros_like(a, order=order)),
        (np.ones_like(x, order=order), sw.ones_like(a, order=order)),
        (np.full_like(x, 3, order=order), sw.full_like(a, 3, order=order)),
        (np.copy(x, order=order), sw.copy(a, order=order)),
        (np.array(x, order=order, copy=True), sw.asarray(a, order=order, copy=True)),
        (x.astype("f4", order=order), sw.astype(a, "f4", order=order)),
    ]:
        assert steps(ours) == steps(theirs)
    same(sw.copy(a, order=order), x)
    same(sw.astype(a, "f4", order=order), x.astype("f4"))


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("size", [1, 16])
def test_results_lie_as_numpys_do(view, size):
    """Small ones, which are computed at once, and such as are recorded."""
    x = np.arange(4 * 6 * 5 * size**2, dtype="f8").reshape(4, 6 * size, 5 * size)
    x, a = VIEWS[view](x), VIEWS[view](sw.asarray(x))
    row = np.arange(x.shape[-1], dtype="f8")
    for function in (
        lambda m, v: m.sqrt(v), lambda m, v: m.add(v, v), lambda m, v: v * 2 + 1, lambda m, v: m.add(v, m.asarray(row)),
        lambda m, v: m.multiply(v, m.asarray(np.ones(x.shape))), lambda m, v: m.where(v > 3, v, -v), lambda m, v: v < 7,
    ):  # fmt: skip
        theirs, ours = function(np, x), function(sw, a)
        assert steps(ours) == steps(theirs)
        same(ours, theirs)


@pytest.mark.parametrize("order", itertools.permutations(range(4)))
def test_every_order_of_four_axes(order):
    x = np.arange(2 * 3 * 4 * 5, dtype="i4").reshape(2, 3, 4, 5)
    a = sw.permute_dims(sw.asarray(x), order)
    x = x.transpose(order)
    y = np.arange(x.size, dtype="i4").reshape(x.shape)
    for theirs, ours in [
        (x + 1, a + 1), (np.copy(x, order="K"), sw.copy(a)), (x * y, a * sw.asarray(y)), (-x[:, ::2], -a[:, ::2]),
        (x + x[:1], a + a[:1]), (np.zeros_like(x), sw.zeros_like(a)),
    ]:  # fmt: skip
        assert steps(ours) == steps(theirs)
        same(ours, theirs)


def test_repeated_elements_lie_as_numpys_do():
    x = np.broadcast_to(np.arange(4.0), (3, 4))
    a = sw.broadcast_to(sw.arange(4.0), (3, 4))
    for theirs, ours in [(np.copy(x, order="K"), sw.copy(a)), (np.empty_like(x), sw.empty_like(a)), (x + 0, a + 0)]:
        assert steps(ours) == steps(theirs)


def test_what_is_as_asked_is_the_array_itself():
    a = sw.arange(6)
    assert sw.astype(a, a.dtype, copy=False) is a
    assert sw.astype(a, "int64", copy=False) is a
    assert sw.asarray(a) is a and sw.asarray(a, dtype="int64", copy=False) is a
    assert sw.astype(a, "int64") is not a
    assert sw.astype(a, "int32", copy=False) is not a
    assert sw.asarray(a, copy=True) is not a
    matrix = sw.permute_dims(sw.reshape(a, (2, 3)), (1, 0))
    assert sw.astype(matrix, "int64", copy=False) is matrix
    assert sw.astype(matrix, "int64", copy=False, order="C") is not matrix


def test_what_follows_no_protocol_is_no_tensor():
    for thing in (object(), 1, "text", [1, 2]):
        with pytest.raises(AttributeError):
            sw.from_dlpack(thing)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("value", [1 / 3, 0.1, 1.0, -2.5, 1e16, 1e-5, 123456.789, 1e20, float("inf"), float("nan")])
def test_numbers_are_written_as_numpys(value, dtype):
    with np.errstate(all="ignore"):
        x = np.array(value, dtype=dtype)
    assert str(sw.asarray(x)) == str(x)
    if dtype[0] == "c":
        x = np.array(complex(1.5, value), dtype=dtype)
        assert str(sw.asarray(x)) == str(x)


@pytest.mark.parametrize("dtype", ["bool", "i4", "u1", "f4", "f8", "c16"])
@pytest.mark.parametrize("shape", [(0,), (1,), (3,), (50,), (2, 3), (2, 3, 4), (30, 40), (2000,), (1, 1, 1), (0, 3)])
def test_arrays_are_written_as_numpys(dtype, shape, rng):
    x = (rng.normal(size=shape) * 10).astype(dtype) if dtype != "u1" else rng.integers(0, 256, shape).astype(dtype)
    assert str(sw.asarray(x)) == str(x)
    assert f"{sw.asarray(x)}" == str(x)


@pytest.mark.parametrize(
    "key",
    [
        (..., True), (None, True), (..., False), (True, None), (0, True), (slice(None), True), (True, 0), ([0, 1], True),
        (True, True), (False, True), (None, False, ...), (True, ..., [0, 1]), (np.True_,), (..., np.False_), True, False,
    ],
)  # fmt: skip
def test_truth_values_are_masks_of_no_dimensions(key):
    x = np.arange(6).reshape(2, 3)
    a = sw.asarray(x)
    same(a[key], x[key])
    a, x = sw.copy(a), x.copy()
    a[key] = 7
    x[key] = 7
    same(a, x)


def test_messages_speak_python():
    a, b = sw.arange(6), sw.zeros((2, 3))
    other = sw.ones(6, queue=sw.Queue("host"))
    calls = [
        lambda: a[10], lambda: a[1, 2], lambda: a[[10]], lambda: sw.take(a, sw.asarray([10])), lambda: a + other, lambda: a[b],
        lambda: sw.swapaxes(b, 0, 5), lambda: sw.matrix_transpose(a), lambda: a.mT, lambda: float(b), lambda: sw.nonzero(a[0]),
        lambda: sw.searchsorted(b, a), lambda: sw.where(a, a, a), lambda: sw.place(a, b, a), lambda: sw.linalg.trace(a),
        lambda: a.__setitem__(slice(None), other), lambda: sw.isin(a, other), lambda: b[a > 2], lambda: sw.astype(a, "f8") @ b,
        lambda: sw.broadcast_to(b, (5,)), lambda: sw.take(a, b), lambda: int(a),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(Exception) as caught:
            call()
        text = str(caught.value)
        for word in ("::", "&", "`self`", "`second`", "`first`", "`items`", "to_queue", "`slice`", "`masked`", "to_kind", "to_vec", "not_equal("):
            assert word not in text, text


@pytest.mark.parametrize("order", ["C", "F", "A", "K", "Z"])
def test_elements_are_read_in_the_order_asked_for(order):
    rng = np.random.default_rng(3)
    base = rng.normal(size=(2, 3, 4))
    views = [base, np.asfortranarray(base), base.transpose(1, 0, 2), base.transpose(2, 0, 1), base[:, ::2], base[::-1], base[:, :1], base[0].T, base[0, 0]]
    for n in views:
        x = sw.asarray(n, copy=False)
        size = (n.size,)
        for read in (
            lambda a, m: m.reshape(a, size, order=order), lambda a, m: a.reshape(size, order=order), lambda a, m: a.ravel(order),
            lambda a, m: a.flatten(order), lambda a, m: m.ravel(a, order), lambda a, m: np.ravel(a, order), lambda a, m: np.reshape(a, size, order=order),
        ):  # fmt: skip
            try:
                expected = read(n, np)
            except ValueError:
                with pytest.raises(ValueError, match="order"):
                    read(x, sw)
            else:
                same(read(x, sw), expected)


def test_orders_of_elements_are_numpys():
    """Of arrays whose axes are permuted, reversed and left out in part, with none and one element along some."""
    rng = np.random.default_rng(1)
    for _ in range(200):
        n = rng.normal(size=tuple(rng.integers(0, 4, size=rng.integers(1, 4))))
        n = n.transpose(rng.permutation(n.ndim))[tuple(slice(None, None, int(rng.choice([1, -1, 2]))) for _ in range(n.ndim))]
        x = sw.asarray(n, copy=False)
        for order in "CFA":
            assert x.tobytes(order) == n.tobytes(order)
            for ours, theirs in [
                (sw.reshape(x, (n.size,), order=order), np.reshape(n, (n.size,), order=order)), (sw.ravel(x, order=order), np.ravel(n, order=order)),
                (x.reshape(n.shape[::-1], order=order), n.reshape(n.shape[::-1], order=order)), (x.flatten(order=order), n.flatten(order=order)),
                (sw.copy(x, order=order), np.copy(n, order=order)),
            ]:  # fmt: skip
                np.testing.assert_array_equal(sw.asnumpy(ours), theirs, err_msg=f"{order} {n.shape} {n.strides}")
