"""Functions that NumPy has beside the standard's, against NumPy: in every dtype they are for, over axes and layouts, recorded
and computed."""

import warnings

import numpy as np
import pytest

import stridewise as sw
from conftest import close, same

FLOATS = ["f2", "f4", "f8"]
REAL = ["bool", "i1", "u2", "i4", "u8", *FLOATS]
LENGTHS = [1, 2, 15, 16, 17, 1023, 1024, 1025, 4097]
LAYOUTS = {
    "row-major": lambda a: a,
    "transposed": lambda a: a.T,
    "reversed": lambda a: a[::-1, ::-1],
    "every second": lambda a: a[:, ::2],
    "recorded": lambda a: a if isinstance(a, np.ndarray) else sw.where(sw.asarray(True), a, a),
}


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def numbers(rng, shape, dtype, nan=0.0):
    x = rng.integers(0, 2 if dtype == "bool" else 100, shape).astype(dtype)
    if np.dtype(dtype).kind in "fc":
        x = (rng.normal(size=shape) * 10).astype(dtype)
        x[rng.random(shape) < nan] = np.nan
    return x


def like(ours, oracle, ulp=8):
    oracle = np.asarray(oracle)
    assert isinstance(ours, sw.usm_ndarray) and ours.shape == oracle.shape
    found = sw.asnumpy(ours)
    eps = max((np.finfo(v.dtype).eps for v in (found, oracle) if v.dtype.kind in "fc"), default=0)
    np.testing.assert_allclose(found, oracle, rtol=ulp * eps, atol=ulp * eps * 10)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("length", LENGTHS)
def test_functions_of_numbers(dtype, length, rng):
    x = numbers(rng, length, dtype)
    x[0] = 0
    a = sw.asarray(x)
    for name in ("deg2rad", "rad2deg"):
        close(getattr(sw, name)(a), getattr(np, name)(x), ulp=2)
        close(getattr(sw, name)(a[::-1]), getattr(np, name)(x[::-1]), ulp=2)
    like(sw.sinc(a), np.sinc(x.astype("f8")).astype(dtype), ulp=4 + 8 * float(np.abs(x).max()))
    assert sw.sinc(a).dtype == a.dtype and float(sw.sinc(a)[0]) == 1
    for special in ([0, np.nan, np.inf, -np.inf, 1.5], [np.nan] * 5):
        y = np.resize(np.array(special, dtype=dtype), length)
        b = sw.asarray(y)
        same(sw.nan_to_num(b), np.nan_to_num(y))
        same(sw.nan_to_num(b[::-1], nan=1.0, posinf=2, neginf=-3), np.nan_to_num(y[::-1], nan=1.0, posinf=2, neginf=-3))


def test_functions_of_integers_and_complex_numbers():
    for dtype in ("i4", "u1", "bool"):
        x = np.array([0, 1, 1], dtype=dtype)
        close(sw.deg2rad(sw.asarray(x)), np.deg2rad(x.astype("f8")))
        close(sw.sinc(sw.asarray(x)), np.sinc(x.astype("f8")))
        same(sw.nan_to_num(sw.asarray(x)), x)
    z = np.array([0, 1 + 2j, complex(np.nan, np.inf), complex(-np.inf, 3)])
    for dtype in ("c8", "c16"):
        same(sw.nan_to_num(sw.asarray(z.astype(dtype))), np.nan_to_num(z.astype(dtype)))
        like(sw.sinc(sw.asarray(z[:2].astype(dtype))), np.sinc(z[:2].astype(dtype)), ulp=64)
        with pytest.raises(TypeError):
            sw.deg2rad(sw.asarray(z))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("length", LENGTHS)
def test_lerp(dtype, length, rng):
    x, y, w = (numbers(rng, length, dtype) for _ in range(3))
    a, b, t = (sw.asarray(v) for v in (x, y, w))
    with_weight = lambda x, y, w: np.where(w >= 0.5, y - (y - x) * (1 - w), x + (y - x) * w)  # noqa: E731
    same(sw.lerp(a, b, t), with_weight(x, y, w))
    same(sw.lerp(a[::-1], b, 0.25), with_weight(x[::-1], y, x.dtype.type(0.25)))
    same(sw.lerp(a, b, 1), y)
    same(sw.lerp(a, b, 0), x)
    same(sw.lerp(a, 2.0, sw.ones(length, dtype=dtype)), np.full(length, 2, dtype))
    close(sw.lerp(sw.asarray([1, 2]), 4, 0.5), np.array([2.5, 3.0]))


AXES = [None, 0, 1, (0, 1)]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [*REAL, "c8", "c16"])
@pytest.mark.parametrize("shape", [(3, 4), (1, 17), (16, 65), (70, 60)])
def test_reductions_without_nan(layout, dtype, shape, rng):
    for share in (0.0, 0.2, 1.0):
        x = numbers(rng, shape, dtype, share)
        a = LAYOUTS[layout](sw.asarray(x))
        x = LAYOUTS[layout](x)
        wide = x.astype("c16" if np.dtype(dtype).kind == "c" else "f8")
        for axis in AXES:
            for keepdims in (False, True):
                how = {"axis": axis, "keepdims": keepdims}
                ulp = 4 * x.size
                if dtype != "f2":
                    like(sw.nansum(a, **how), np.nansum(x, **how), ulp)
                like(sw.nanmean(a, **how), np.nanmean(wide, **how), ulp)
                for correction in (0, 1):
                    like(sw.nanvar(a, correction=correction, **how), np.nanvar(wide, ddof=correction, **how), ulp)
                    like(sw.nanstd(a, correction=correction, **how), np.nanstd(wide, ddof=correction, **how), ulp)
                if np.dtype(dtype).kind != "c":
                    same(sw.nanmin(a, **how), np.nanmin(x, **how))
                    same(sw.nanmax(a, **how), np.nanmax(x, **how))
    small = np.array([[1.5, np.nan], [2, 3]])
    same(sw.nanprod(sw.asarray(small), axis=0), np.nanprod(small, axis=0))
    same(sw.nansum(sw.asarray(small), dtype="f4"), np.nansum(small, dtype="f4"))


def test_reductions_of_what_is_all_nan():
    x = np.full((3, 2), np.nan)
    x[0, 0] = np.inf
    a = sw.asarray(x)
    for name in ("nansum", "nanprod", "nanmin", "nanmax", "nanmean", "nanmedian"):
        same(getattr(sw, name)(a, axis=0), getattr(np, name)(x, axis=0))


METHODS = ["linear", "lower", "higher", "midpoint", "nearest"]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", *FLOATS])
def test_quantiles(layout, method, dtype, rng):
    for shape in ((3, 4), (1, 17), (16, 65)):
        for share in (0.0, 0.1):
            x = numbers(rng, shape, dtype, share)
            a = LAYOUTS[layout](sw.asarray(x))
            x = LAYOUTS[layout](x).astype("f8")
            for axis in AXES:
                for q in (0, 0.5, 1, 0.3, [0.1, 0.9], [[0.25, 0.5], [0.75, 1.0]]):
                    how = {"axis": axis, "method": method}
                    like(sw.quantile(a, q, **how), np.quantile(x, q, **how), 16)
                    like(sw.nanquantile(a, q, keepdims=True, **how), np.nanquantile(x, q, keepdims=True, **how), 16)
                like(sw.percentile(a, [10, 50], axis=axis), np.percentile(x, [10, 50], axis=axis), 16)
                like(sw.nanpercentile(a, 90, axis=axis), np.nanpercentile(x, 90, axis=axis), 16)
                like(sw.median(a, axis=axis), np.median(x, axis=axis), 16)
                like(sw.nanmedian(a, axis=axis, keepdims=True), np.nanmedian(x, axis=axis, keepdims=True), 16)


OTHERS = [
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased",
    "normal_unbiased",
]  # fmt: skip
PARTS = [0, 0.5, 1, 0.3, [0.1, 0.9], [[0.25, 0.5], [0.75, 1.0]], np.linspace(0, 1, 21)]


@pytest.mark.parametrize("method", OTHERS)
@pytest.mark.parametrize("dtype", ["i1", "u2", "i8", *FLOATS])
def test_quantiles_by_other_methods(method, dtype, rng):
    for shape in ((3, 4), (1, 20)):
        for share in (0.0, 0.2):
            x = numbers(rng, shape, dtype, share)
            a, x = sw.asarray(x), x.astype("f8") if x.dtype.kind == "f" else x
            for axis in (0, -1, (1, 0)):
                for q in PARTS:
                    ours, theirs = sw.quantile(a, q, axis, method=method), np.quantile(x, q, axis=axis, method=method)
                    like(ours, theirs, 16)
                    assert ours.dtype.kind == theirs.dtype.kind
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        like(sw.nanquantile(a, q, axis, method=method, keepdims=True), np.nanquantile(x, q, axis=axis, method=method, keepdims=True), 16)
                like(sw.percentile(a, [10, 50], axis, method=method), np.percentile(x, [10, 50], axis=axis, method=method), 16)
                ours = sw.nanpercentile(a, 90, axis, method=method)
                out = sw.empty_like(ours)
                assert sw.nanpercentile(a, 90, axis, out, method=method) is out
                same(out, ours)


@pytest.mark.parametrize("method", ["lower", "higher", "nearest", "inverted_cdf", "closest_observation"])
def test_quantiles_that_are_elements_keep_integers(method, rng):
    x = rng.integers(2**60, 2**62, 40)
    for a in (sw.asarray(x), x.tolist()):
        found = sw.quantile(a, [0.1, 0.5], method=method)
        assert found.dtype == sw.int64 and found.tolist() == np.quantile(x, [0.1, 0.5], method=method).tolist()


@pytest.mark.parametrize("numbers_of", ["random", "integers"])
def test_quantiles_by_weights(numbers_of, rng):
    x = rng.random((4, 5, 6)) if numbers_of == "random" else rng.integers(0, 9, (4, 5, 6))
    for axis, shape in ((None, (4, 5, 6)), (0, (4,)), (1, (4, 5, 6)), (-1, (6,)), ((2, 0), (6, 4)), ((0, 1), (4, 5, 6))):
        for weights in (rng.integers(0, 4, shape), rng.random(shape)):
            for q in PARTS:
                how = {"axis": axis, "weights": weights, "method": "inverted_cdf"}
                ours, theirs = sw.quantile(sw.asarray(x), q, **how), np.quantile(x, q, **how)
                like(ours, theirs, 0)
                assert ours.dtype == theirs.dtype
                like(np.percentile(sw.asarray(x), np.multiply(q, 100), **how), np.percentile(x, np.multiply(q, 100), **how), 0)
    if numbers_of == "random":
        x[0, 1, 2] = x[3, 3] = np.nan
        weights = rng.random(x.shape)
        for axis in (None, 0, 2):
            how = {"axis": axis, "weights": weights, "method": "inverted_cdf"}
            like(sw.quantile(sw.asarray(x), [0.2, 0.7], **how), np.quantile(x, [0.2, 0.7], **how), 0)
            like(sw.nanquantile(sw.asarray(x), [0, 0.2, 0.7, 1], **how), np.nanquantile(x, [0, 0.2, 0.7, 1], **how), 0)


@pytest.mark.parametrize("call, error, what", [
    (lambda x: sw.quantile(x, 0.5, method="average"), ValueError, "`method` is 'average'; expected one of 'inverted_cdf'.*'nearest'"),
    (lambda x: sw.quantile(x, 1.5, method="hazen"), ValueError, "`q` is 1.5; expected numbers from 0 to 1; help"),
    (lambda x: sw.percentile(x, [3, 101], method="hazen"), ValueError, "`q` is 101.*from 0 to 100"),
    (lambda x: sw.quantile(x, float("nan"), method="hazen"), ValueError, "`q` is nan"),
    (lambda x: sw.quantile(x, 0.5, 2, method="hazen"), IndexError, "`axis` is 2"),
    (lambda x: sw.quantile(x, 0.5, (0, -2), method="hazen"), ValueError, "each axis once"),
    (lambda x: sw.quantile(x * 1j, 0.5, method="hazen"), TypeError, "`x` is complex128"),
    (lambda x: sw.quantile(x, 0.5, out=sw.zeros(3), method="hazen"), ValueError, "`out` is of shape"),
    (lambda x: sw.quantile(x, 0.5, weights=x), ValueError, "`method` is 'linear' beside `weights`; expected 'inverted_cdf'"),
    (lambda x: sw.quantile(x, 0.5, method="inverted_cdf", weights=[1, 2]), TypeError, "`weights` is of shape .2,. and `axis` is None"),
    (lambda x: sw.quantile(x, 0.5, 1, method="inverted_cdf", weights=[1, 2]), ValueError, "`weights` is of shape .2,.; expected .3,."),
    (lambda x: sw.quantile(x, 0.5, 1, method="inverted_cdf", weights=[1, -2, 3]), ValueError, "`weights` has a number below 0"),
    (lambda x: sw.quantile(x, 0.5, 1, method="inverted_cdf", weights=[0, 0, 0]), ValueError, "`weights` has NaN or an infinity"),
    (lambda x: sw.quantile(x, 0.5, 1, method="inverted_cdf", weights=[1, np.inf, 0]), ValueError, "`weights` has NaN or an infinity"),
])  # fmt: skip
def test_quantiles_that_there_are_none_of(call, error, what):
    with pytest.raises(error, match=what):
        call(sw.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))


@pytest.mark.parametrize("length", LENGTHS)
def test_medians_of_lengths(length, rng):
    for dtype in ("f4", "f8", "i4"):
        x = numbers(rng, length, dtype)
        like(sw.median(sw.asarray(x)), np.median(x))
        assert sw.median(sw.asarray(x)).dtype == ("float64" if dtype == "i4" else dtype)
    same(sw.median(sw.asarray([np.inf] * length)), np.inf)
    same(sw.quantile(sw.asarray([-np.inf, *[np.inf] * length]), 1), np.inf)


def test_quantiles_refuse():
    a = sw.arange(3.0)
    for call in (lambda: sw.quantile(a, 1.5), lambda: sw.percentile(a, -1), lambda: sw.quantile(a, 0.5, method="nothing")):
        with pytest.raises(ValueError):
            call()
    with pytest.raises(TypeError):
        sw.median(sw.asarray([1j]))
    assert np.isnan(float(sw.median(sw.zeros(0))))


@pytest.mark.parametrize("length", [0, *LENGTHS])
@pytest.mark.parametrize("dtype", ["bool", "i1", "u1", "u2", "i4", "i8", "u8"])
def test_bincount(length, dtype, rng):
    x = rng.integers(0, 2 if dtype == "bool" else 100, length).astype(dtype)
    for theirs, ours in [(x, sw.asarray(x)), (x[::-1], sw.asarray(x)[::-1])]:
        same(sw.bincount(ours), np.bincount(theirs.astype("i8")))
        same(sw.bincount(ours, minlength=300), np.bincount(theirs.astype("i8"), minlength=300))
    recorded = sw.where(sw.asarray(True), sw.asarray(x), sw.asarray(x))
    same(sw.bincount(recorded), np.bincount(x.astype("i8")))


def test_bincount_refuses():
    for values, error in [([-1, 2], ValueError), ([[1]], ValueError), ([1.5], TypeError), ([2**62], (ValueError, MemoryError))]:
        with pytest.raises(error):
            sw.bincount(sw.asarray(values))
    with pytest.raises(ValueError):
        sw.bincount(sw.asarray([1]), minlength=-1)


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("dtype", ["i4", "f4", "f8"])
@pytest.mark.parametrize("length", LENGTHS)
def test_digitize(right, dtype, length, rng):
    x = numbers(rng, length, dtype)
    for bins in (np.array([-5, 0, 0.5, 20]), np.array([20, 0.5, 0, -5]), np.array([3.0]), np.array([1.0, 1.0, 2.0])):
        bins = bins.astype(dtype)
        if (np.diff(bins) >= 0).all() or (np.diff(bins) <= 0).all():
            same(sw.digitize(sw.asarray(x), sw.asarray(bins), right=right), np.digitize(x, bins, right=right))
    same(sw.digitize(sw.asarray(x.reshape(-1, 1)), sw.asarray(bins)), np.digitize(x.reshape(-1, 1), bins))
    with pytest.raises(ValueError):
        sw.digitize(sw.asarray(x), sw.asarray([1, 3, 2]))


@pytest.mark.parametrize("dtype", ["bool", "u1", "i4", "i8", "f4", "f8"])
@pytest.mark.parametrize("length", [0, *LENGTHS, 20_000])
def test_histogram(dtype, length, rng):
    x = numbers(rng, length, dtype)
    a = sw.asarray(x)
    x = x.astype("u1") if dtype == "bool" else x
    for bins in (1, 7, 10, [-3, 0, 0, 5.5, 90], np.array([0.0, 1.0])):
        counts, edges = sw.histogram(a, sw.asarray(bins) if isinstance(bins, np.ndarray) else bins)
        # On the edges that we have: a digit less or more moves what lies on them.
        expected = np.histogram(x, sw.asnumpy(edges))[0]
        same(counts, expected)
        theirs = np.histogram(x, bins)[1]
        np.testing.assert_allclose(sw.asnumpy(edges), theirs, rtol=1e-6, atol=1e-6)
    counts, edges = sw.histogram(a[::-1], 5, range=(-1, 9), density=True)
    if length > 100 and dtype != "bool":
        expected = np.histogram(x, sw.asnumpy(edges), density=True)[0]
        np.testing.assert_allclose(sw.asnumpy(counts), expected, rtol=1e-5)
    same(sw.histogram(sw.reshape(a, (-1, 1)) + 0)[0] if dtype != "bool" else sw.histogram(a)[0], sw.asnumpy(sw.histogram(a)[0]))


def test_histogram_refuses():
    a = sw.arange(3.0)
    for call in (
        lambda: sw.histogram(a, 0), lambda: sw.histogram(a, [1]), lambda: sw.histogram(a, [2, 1]),
        lambda: sw.histogram(a, range=(2, 1)), lambda: sw.histogram(sw.asarray([np.nan])), lambda: sw.histogram(a, [[1, 2]]),
        lambda: sw.histogram(sw.ones(3, dtype="float32"), 4, (0, 1e300)),
    ):  # fmt: skip
        with pytest.raises(ValueError):
            call()
    with pytest.raises(TypeError):
        sw.histogram(sw.asarray([1j]))


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("dtype", ["i4", "f4", "f8"])
def test_interp(length, dtype, rng):
    xp = np.sort(rng.normal(size=length) * 10).astype(dtype if dtype != "i4" else "f8")
    fp = numbers(rng, length, dtype)
    x = numbers(rng, 333, dtype, 0.01).astype("f8")
    x[:3] = xp[0], xp[-1], xp[length // 2]
    if length == 1:
        # NumPy gives the point's value for NaN, too.
        x[np.isnan(x)] = 0
    for how in ({}, {"left": -1, "right": 2.5}):
        like(sw.interp(sw.asarray(x), sw.asarray(xp), sw.asarray(fp), **how), np.interp(x, xp, fp, **how), 1 << 12)
    shuffled = rng.permutation(length)
    ours = sw.interp(sw.asarray(x), sw.asarray(xp[shuffled]), sw.asarray(fp[shuffled]), period=7.5)
    finite = ~np.isnan(x)
    theirs = np.interp(x, xp[shuffled], fp[shuffled], period=7.5)
    np.testing.assert_allclose(sw.asnumpy(ours)[finite], theirs[finite], rtol=1e-6, atol=1e-6)
    table = sw.interp(sw.reshape(sw.asarray(x), (9, 37)), sw.asarray(xp), sw.asarray(fp))
    assert table.shape == (9, 37)


def test_interp_refuses():
    a = sw.arange(3.0)
    for call in (
        lambda: sw.interp(a, a, a[1:]), lambda: sw.interp(a, sw.zeros((2, 2)), sw.zeros((2, 2))),
        lambda: sw.interp(a, a[:0], a[:0]), lambda: sw.interp(a, a, a, period=0),
    ):  # fmt: skip
        with pytest.raises(ValueError):
            call()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["i4", "f4", "f8", "c16"])
@pytest.mark.parametrize("order", [1, 2])
def test_gradient(layout, dtype, order, rng):
    for shape in ((3, 6), (16, 17), (70, 64)):
        x = numbers(rng, shape, dtype)
        a = LAYOUTS[layout](sw.asarray(x))
        x = LAYOUTS[layout](x)
        points = [np.cumsum(rng.random(extent) + 0.1) for extent in x.shape]
        for spacing in ((), (2.5,), (0.5, 2), tuple(points)):
            ours = sw.gradient(a, *(sw.asarray(s.astype(x.real.dtype if x.dtype.kind in "fc" else "f8")) if isinstance(s, np.ndarray) else s for s in spacing), edge_order=order)
            theirs = np.gradient(x.astype("c16" if dtype == "c16" else "f8"), *spacing, edge_order=order)
            assert isinstance(ours, tuple)
            for one, other in zip(ours, theirs, strict=True):
                np.testing.assert_allclose(sw.asnumpy(one), other, rtol=1e-3 if dtype == "f4" else 1e-9, atol=2e-3 if dtype == "f4" else 1e-9)
        single = sw.gradient(a, axis=-1, edge_order=order)
        np.testing.assert_allclose(sw.asnumpy(single), np.gradient(x.astype("c16" if dtype == "c16" else "f8"), axis=-1, edge_order=order), rtol=1e-4, atol=1e-4)


def test_gradient_of_few_points():
    close(sw.gradient(sw.asarray([1.0, 4.0])), np.gradient(np.array([1.0, 4.0])))
    close(sw.gradient(sw.asarray([1.0, 4.0, 5.0]), edge_order=2), np.gradient(np.array([1.0, 4.0, 5.0]), edge_order=2))
    for call in (
        lambda: sw.gradient(sw.ones(1)), lambda: sw.gradient(sw.ones(2), edge_order=2), lambda: sw.gradient(sw.ones(3), edge_order=3),
        lambda: sw.gradient(sw.ones(3), sw.ones(2)), lambda: sw.gradient(sw.ones(3), axis=1),
    ):  # fmt: skip
        with pytest.raises(ValueError):
            call()
    with pytest.raises(TypeError, match="`spacing` has 2 entries"):
        sw.gradient(sw.ones(3), 1, 2)


def test_no_differences_are_the_array():
    x = np.arange(6.0).reshape(2, 3)
    for axis in (0, 1, -1):
        close(sw.diff(sw.asarray(x), n=0, axis=axis), np.diff(x, n=0, axis=axis))
        close(sw.diff(sw.asarray(x), n=0, axis=axis, prepend=7, append=8), np.diff(x, n=0, axis=axis, prepend=7, append=8))


def test_sliding_windows(rng):
    x = rng.normal(size=(6, 17, 5))
    a = sw.asarray(x)
    windows = np.lib.stride_tricks.sliding_window_view
    for window, axis in [((2, 3, 1), None), (4, 1), ((3, 2), (1, 0)), ((5,), (-1,)), (17, 1)]:
        for view in (lambda v: v, lambda v: v[::-1, ::2], lambda v: v.T.T):
            if (window, axis) == (17, 1) and view(x).shape[1] < 17:
                continue
            same(sw.sliding_window_view(view(a), window, axis=axis), windows(view(x), window, axis=axis))
    ours = sw.sliding_window_view(a, 4, axis=1)
    assert not ours.flags.writable and ours.usm_data.ptr == a.usm_data.ptr if hasattr(ours.usm_data, "ptr") else True
    # Moving averages, of what is recorded, too.
    close(sw.mean(sw.sliding_window_view(a * 2, 4, axis=1), axis=-1), windows(x * 2, 4, axis=1).mean(axis=-1))
    with pytest.raises(ValueError):
        ours[...] = 0
    for call in (lambda: sw.sliding_window_view(a, 7, axis=0), lambda: sw.sliding_window_view(a, 0, axis=0), lambda: sw.sliding_window_view(a, (1, 2)), lambda: sw.sliding_window_view(a, 1, axis=3)):
        with pytest.raises(ValueError):
            call()
