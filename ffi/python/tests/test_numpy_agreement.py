"""What differed from NumPy, or was said otherwise, function by function."""

import numpy as np
import pytest

import stridewise as sw
from conftest import same


def test_dtypes_of_sets_and_choices():
    x, y = np.array([3, 1, 3, -2], "int8"), np.array([1.0, -2.0, 0.5])
    for one, other in ((x, y), (y, x), (x, np.array([3], "int64")), (x > 0, y)):
        for indices in (False, True):
            found = sw.intersect1d(sw.asarray(one), sw.asarray(other), return_indices=indices)
            expected = np.intersect1d(one, other, return_indices=indices)
            for ours, theirs in zip(found, expected) if indices else [(found, expected)]:
                same(ours, theirs)
    # A number of Python's takes the dtype of the arrays beside it.
    for dtype in ("uint8", "float16", "complex64"):
        values = np.arange(3).astype(dtype)
        same(sw.choose(sw.asarray([0, 1, 0]), [sw.asarray(values), 7]), np.choose([0, 1, 0], [values, 7]))
    same(sw.choose([1, 0], [1, 2.5]), np.choose([1, 0], [1, 2.5]))


def test_places_in_an_array_without_axes():
    for number in (0, 5.0):
        same(sw.argwhere(sw.asarray(number)), np.argwhere(np.asarray(number)))
        same(np.argwhere(sw.asarray(number)), np.argwhere(np.asarray(number)))


def test_bytes_of_buffers_and_open_files(tmp_path):
    for gaps in (memoryview(b"12345678")[::2], np.arange(6, dtype="i2").reshape(2, 3).T):
        with pytest.raises(ValueError, match="`buffer`.*gaps"):
            sw.frombuffer(gaps, dtype="uint8")
    path = tmp_path / "a.bin"
    path.write_bytes(bytes(range(43)))
    for count in (-1, 2):
        places = []
        for xp in (np, sw):
            with open(path, "rb") as file:
                file.read(1)
                found = xp.fromfile(file, dtype="int32", count=count)
                places.append((found.tolist(), file.tell()))
        assert places[0] == places[1]


def test_interpolation_of_complex_values():
    xp, fp = np.array([1.0, 2.0, 4.0]), np.array([1 + 1j, complex(np.inf, 2), 3.0])
    x = np.array([0.0, 1.0, 1.5, 2.0, 3.0, 9.0])
    for how in ({}, {"left": 7j}, {"right": 1 - 2j, "left": 3}, {"period": 5}):
        expected = np.interp(x, xp, fp, **how)
        for found in (sw.interp(sw.asarray(x), sw.asarray(xp), sw.asarray(fp), **how), np.interp(sw.asarray(x), xp, fp, **how)):
            assert found.dtype == "complex128"
            np.testing.assert_allclose(sw.asnumpy(found), expected)
    # The ends by position, and a period by NumPy's function.
    same(sw.interp([0.0, 9.0], xp, sw.asarray([1.0, 2.0, 3.0]), -1, -2), np.interp([0.0, 9.0], xp, [1.0, 2.0, 3.0], -1, -2))
    np.testing.assert_allclose(sw.asnumpy(np.interp(sw.asarray([361.0, -1]), xp, [1.0, 2, 3], period=360)), np.interp([361.0, -1], xp, [1.0, 2, 3], period=360))
    with pytest.raises(TypeError):
        sw.interp(sw.asarray(x), sw.asarray(xp * 1j), sw.asarray(fp))


def test_covariances_less_a_fraction():
    x = np.arange(6.0).reshape(2, 3) ** 2
    a = sw.asarray(x)
    for call in (lambda: sw.cov(a, ddof=1.5), lambda: np.cov(a, ddof=1.5), lambda: sw.cov(a, ddof=0.5, fweights=[1, 2, 3])):
        with pytest.raises(ValueError, match="`ddof` is .*an integer"):
            call()
    with np.errstate(all="ignore"), pytest.warns(RuntimeWarning):
        for how in ({"ddof": 2.0}, {"ddof": 6, "fweights": np.array([1, 2, 3])}, {"ddof": 9}, {"fweights": np.array([1.0, 2.0, 3.0])}):
            for cov in (sw.cov, np.cov):
                np.testing.assert_allclose(sw.asnumpy(cov(a, **how)), np.cov(x, **{**how, **({"fweights": [1, 2, 3]} if "fweights" in how else {})}))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "bool"])
def test_quantiles_and_medians_of_nothing_are_nan(dtype):
    a = sw.zeros((0, 3), dtype=dtype)
    for name in ("median", "nanmedian"):
        found = getattr(sw, name)(a, axis=0)
        assert found.shape == (3,) and bool(sw.all(sw.isnan(found)))
    for name in ("quantile", "nanquantile", "percentile", "nanpercentile"):
        for method in ("linear", "lower", "nearest", "midpoint", "weibull", "inverted_cdf"):
            found = getattr(sw, name)(a, [0.25, 1], axis=0, method=method)
            assert found.shape == (2, 3) and bool(sw.all(sw.isnan(found)))
            assert getattr(sw, name)(a, 0.5, axis=1, method=method).shape == (0,)


def test_axes_are_named_as_the_argument_is():
    a = sw.zeros((2, 3))
    for call in (
        lambda axis: sw.flip(a, axis=axis), lambda axis: sw.squeeze(a, axis=axis), lambda axis: sw.roll(a, 1, axis=axis),
        lambda axis: sw.roll(a, () if isinstance(axis, int) else (1, 1), axis=axis),
        lambda axis: np.flip(a, axis=axis), lambda axis: np.roll(a, 1, axis=axis),
    ):  # fmt: skip
        for axis in (2, -3, (0, 5)):
            with pytest.raises(np.exceptions.AxisError, match="`axis` is"):
                call(axis)
    with pytest.raises(np.exceptions.AxisError, match="`axis` is 5"):
        sw.expand_dims(a, axis=5)
    with pytest.raises(ValueError, match="`axis` is .*extent 2"):
        sw.squeeze(a, axis=0)
    with pytest.raises(ValueError, match="`shift` is"):
        sw.roll(a, (1, 2, 3), axis=(0, 1))


def test_rolls_by_nothing_and_by_several_along_one_axis():
    x = np.arange(12.0).reshape(3, 4)
    for shift, axis in (((), 0), ((), (1,)), (1, ()), ((1, 1, 5), 1), ((), None), ((1, -2), (0, 0)), (2, (0, 0, 1))):
        same(sw.roll(sw.asarray(x), shift, axis=axis), np.roll(x, shift, axis=axis))
    for shift, axis in (((), (0, 1)), ((1, 2), ()), ((1, 2, 3), (0, 1))):
        for xp, a in ((np, x), (sw, sw.asarray(x))):
            with pytest.raises(ValueError):
                xp.roll(a, shift, axis=axis)


def test_slopes_lie_in_row_major_order():
    for shape in ((4, 5), (3, 4, 5), (300, 200)):
        x = np.sin(np.arange(np.prod(shape))).reshape(shape)
        for view in (lambda x: x, lambda x: x.T, lambda x: x[::-1]):
            a = view(sw.asarray(x))
            for order in (1, 2):
                slopes = sw.gradient(a, edge_order=order)
                assert all(each.flags.c_contiguous and each.flags.writable for each in slopes)
                np.testing.assert_allclose([sw.asnumpy(each) for each in slopes], np.gradient(view(x), edge_order=order), atol=1e-12)
