"""Sums of products, sets, orders and roundings of numbers that are hard: infinities, NaN, and the largest and smallest of a dtype."""

import warnings

import numpy as np
import pytest

import stridewise as sw

INF, NAN = np.inf, np.nan


def same(found, expected, rtol=0.0):
    found, expected = sw.asnumpy(found), np.asarray(expected)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=0, equal_nan=True)


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("bad", [NAN, INF, -INF])
@pytest.mark.parametrize("length", [1, 2, 3, 5, 8])
def test_convolve_and_correlate(length, bad, mode):
    """What is not finite reaches the elements that it is part of, and no others."""
    x = np.arange(1.0, 6.0)
    for place in range(length):
        y = np.ones(length)
        y[place] = bad
        for a, b in [(x, y), (y, x)]:
            same(sw.convolve(sw.asarray(a), sw.asarray(b), mode), np.convolve(a, b, mode), 1e-12)
        same(sw.correlate(sw.asarray(x), sw.asarray(y), mode), np.correlate(x, y, mode), 1e-12)


@pytest.mark.parametrize("bad", [NAN, INF])
def test_convolve_of_many(bad):
    """Also where sums are computed by Fourier transforms."""
    rng = np.random.default_rng(5)
    x, y = rng.random(5000), rng.random(3000)
    x[1234] = bad
    found, expected = sw.asnumpy(sw.convolve(sw.asarray(x), sw.asarray(y))), np.convolve(x, y)
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(expected))
    finite = np.isfinite(expected)
    np.testing.assert_allclose(found[finite], expected[finite], rtol=1e-9)
    np.testing.assert_array_equal(found[~finite], expected[~finite])


def test_einsum_takes_no_extent_of_one_for_a_diagonal():
    for shape in [(1, 3), (3, 1)]:
        with pytest.raises(ValueError):
            sw.einsum("ii->i", sw.ones(shape))
    same(sw.einsum("ii->i", sw.ones((1, 1))), [1.0])
    same(sw.einsum("i,i->i", sw.ones(1), sw.arange(3.0)), [0.0, 1.0, 2.0])


@pytest.mark.parametrize("points", [[0.0, INF, 1.0], [-INF, 1.0, INF], [INF, INF, 2.0], [-INF, -INF, INF]])
def test_interp_beside_infinities(points):
    x, xp = np.linspace(-0.5, 2.5, 13), np.arange(3.0)
    same(sw.interp(sw.asarray(x), sw.asarray(xp), sw.asarray(points)), np.interp(x, xp, points))


@pytest.mark.parametrize("part", [0.0, 0.25, 0.5, 0.75, 1.0])
def test_quantiles_of_the_largest_numbers(part):
    same(sw.quantile(sw.asarray([-1e308, 1e308]), part), 1e308 * (2 * part - 1), 1e-15)
    same(sw.quantile(sw.asarray([-INF, 1.0, INF]), 0.5), 1.0)


def test_quantiles_of_very_many_parts():
    rng = np.random.default_rng(6)
    x, parts = rng.random((7, 50)), rng.random(300)
    for method in ["linear", "lower", "higher", "nearest", "midpoint"]:
        for axis in [0, 1, None]:
            found = sw.quantile(sw.asarray(x), sw.asarray(parts), axis=axis, method=method)
            same(found, np.quantile(x, parts, axis=axis, method=method), 1e-14)
    x[3, 4] = NAN
    same(sw.quantile(sw.asarray(x), sw.asarray(parts), axis=1), np.quantile(x, parts, axis=1), 1e-14)
    same(sw.nanquantile(sw.asarray(x), sw.asarray(parts), axis=1), np.nanquantile(x, parts, axis=1), 1e-14)


def test_sets_of_nan():
    x, y = np.array([NAN, 1.0, 2.0, NAN]), np.array([2.0, NAN, 3.0])
    same(sw.union1d(sw.asarray(x), sw.asarray(y)), np.union1d(x, y))
    same(sw.setdiff1d(sw.asarray(x), sw.asarray(y)), np.setdiff1d(x, y))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_sort_of_complex_numbers_with_nan(dtype):
    """In NumPy's order: [R + Rj, R + nanj, nan + Rj, nan + nanj]."""
    parts = [NAN, 1.0, -INF, 0.0, INF]
    x = np.array([complex(re, im) for re in parts for im in parts], dtype=dtype)
    np.random.default_rng(7).shuffle(x)
    found, expected = sw.asnumpy(sw.sort(sw.asarray(x))), np.sort(x)
    np.testing.assert_array_equal(np.isnan(found.real), np.isnan(expected.real))
    np.testing.assert_array_equal(np.isnan(found.imag), np.isnan(expected.imag))
    known = ~np.isnan(expected)
    np.testing.assert_array_equal(found[known], expected[known])


def test_fabs_and_trapezoid_of_integers():
    for dtype in ["int8", "int32", "uint8"]:
        x = np.array([100, 100, 27, 90], dtype=dtype)
        same(sw.fabs(sw.asarray(x)), np.fabs(x.astype("float64")))
        assert sw.isdtype(sw.fabs(sw.asarray(x)).dtype, "real floating")
        same(sw.trapezoid(sw.asarray(x)), np.trapezoid(x.astype("float64")) if hasattr(np, "trapezoid") else np.trapz(x.astype("float64")))
    with pytest.raises(TypeError):
        sw.fabs(sw.asarray([1j]))


@pytest.mark.parametrize("level", [device.filter_string for device in sw.get_devices("host")])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_sign_of_nan_of_remainders(dtype, level):
    """One NaN on every device, also where a vector is not full."""
    values = np.array([NAN, -NAN, INF, -INF, 0.0, -0.0, 1.5, -2.5, 5.0], dtype=dtype)
    x, y = (part.reshape(-1) for part in np.meshgrid(values, values))
    for operation in [sw.remainder, sw.floor_divide]:
        found = sw.asnumpy(operation(sw.asarray(x, device=level), sw.asarray(y, device=level)))
        assert not np.signbit(found[np.isnan(found)]).any()
        assert np.isnan(found).sum() >= np.isnan(x / y).sum()


@pytest.mark.parametrize("decimals", [-3, -2, -1, 0, 1, 2])
def test_around_of_whole_numbers(decimals):
    x = np.array([2**62 + 1, -(2**62) - 1, 5, 15, 25, -5, -15, 149, 151, -151], dtype="int64")
    found = sw.around(sw.asarray(x), decimals)
    assert found.dtype == sw.int64
    scale = 10 ** max(-decimals, 0)
    # Python's numbers of any length; halves to even.
    same(found, [round(int(value), decimals) if scale > 1 else int(value) for value in x])


def test_around_of_short_floats():
    x = np.array([1234.5, 60000.0, 0.125, -0.3752, INF, NAN], dtype="float16")
    found = sw.around(sw.asarray(x), 2)
    assert found.dtype == sw.float16
    same(found, np.round(x.astype("float64"), 2).astype("float16"), 1e-3)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: sw.around(x, 1.5), lambda x: sw.around(x, decimals="1"), lambda x: sw.rot90(x, 1.5), lambda x: sw.split(x, 2.5),
        lambda x: sw.array_split(x, 2.5), lambda x: sw.split(x, "2"), lambda x: sw.partition(x, 1.5), lambda x: sw.argpartition(x, [0, 1.0]),
        lambda x: x.partition(0.5), lambda x: sw.roll(x, 1.5), lambda x: sw.repeat(x, 1.5), lambda x: sw.diff(x, 1.5), lambda x: sw.take(x, 1.5),
        lambda x: sw.linalg.matrix_power(x, 2.5), lambda x: sw.fft.fft(x, 2.5), lambda x: sw.eye(2.5), lambda x: sw.linspace(0, 1, 2.5),
    ],
)  # fmt: skip
def test_a_count_is_an_integer(call):
    with pytest.raises((TypeError, ValueError)):
        call(sw.ones((4, 4)))


@pytest.mark.parametrize("population", [10**7, 1 << 25, 10**9, 10**12, 2**62])
def test_few_of_many_without_replacement(population):
    generator = sw.random.default_rng(11)
    for count in [0, 1, 5, 1000]:
        chosen = generator.choice(population, count, replace=False).tolist()
        assert len(set(chosen)) == count
        assert all(0 <= place < population for place in chosen)
    again = sw.random.default_rng(11)
    assert again.choice(population, 0, replace=False).tolist() == []
    # As many in each quarter as chance allows: 1000 of them, five standard deviations.
    chosen = np.array(sw.random.default_rng(12).choice(population, 1000, replace=False).tolist(), dtype="float64")
    counts = np.histogram(chosen, bins=4, range=(0, population))[0]
    assert abs(counts - 250).max() < 5 * np.sqrt(1000 * 0.25 * 0.75), counts


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("order", [3, 1.5, 0.5, -2, -0.5, 7, 100])
def test_norms_of_any_order_of_small_and_large(dtype, order):
    x = np.random.default_rng(3).normal(size=(4, 5))
    x = x + 1j * x[::-1] if dtype[0] == "c" else x
    wide = dtype in ("float64", "complex128")
    for exponent in (-300, -170, -100, 0, 100, 170, 300) if wide else (-36, -30, -15, 0, 15, 30, 35):
        for axis in (None, 0, (0, 1), -1):
            scaled = (x * 10.0**exponent).astype(dtype)
            expected = (np.abs(scaled.astype("complex128") / 10.0**exponent) ** float(order)).sum(axis) ** (1 / order)
            found = sw.linalg.vector_norm(sw.asarray(scaled), ord=order, axis=axis)
            np.testing.assert_allclose(sw.asnumpy(found) / 10.0**exponent, expected, rtol=1e-13 if wide else 3e-5)
            assert sw.linalg.vector_norm(sw.asarray(scaled), ord=order, axis=axis, keepdims=True).ndim == 2


@pytest.mark.parametrize("order", [3, 0.5, -2])
def test_norms_of_zeros_infinities_and_nothing(order):
    for x in ([0.0, 0.0], [0.0, 3.0], [1.0, np.inf], [1.0, np.nan], [np.inf, -np.inf]):
        with np.errstate(all="ignore"):
            same(sw.linalg.vector_norm(sw.asarray(x), ord=order), np.linalg.norm(x, ord=order), 1e-15)
    if order > 0:
        same(sw.linalg.vector_norm(sw.zeros((0, 3)), ord=order, axis=0), np.zeros(3))


@pytest.mark.parametrize("method", ["linear", "midpoint"])
def test_quantiles_between_a_number_and_an_infinity(method):
    inf = np.inf
    for x, part, expected in [
        ([-inf, 1.0, 2.0], 0.25, -inf), ([-inf, 1.0, 2.0], 0.5, 1.0), ([1.0, 2.0, inf], 0.75, inf), ([1.0, 2.0, inf], 0.5, 2.0),
        ([-inf, inf], 0.5, np.nan), ([-inf, inf], 0.0, -inf), ([-inf, inf], 1.0, inf), ([-inf, -inf], 0.3, -inf),
    ]:  # fmt: skip
        for quantile in (sw.quantile, sw.nanquantile):
            same(quantile(sw.asarray(x), part, method=method), expected)
            same(quantile(sw.asarray([x, x]), sw.asarray([part, part]), axis=1, method=method), np.full((2, 2), expected))
        same(sw.nanquantile(sw.asarray([x, x[:-1] + [np.nan]]), part, axis=1, method=method)[0], expected)


def test_multiples_that_the_dtype_has_not():
    for dtype in ("int8", "uint8", "int64", "uint64", "int16"):
        bounds = np.iinfo(dtype)
        numbers = [bounds.min, bounds.min + 1, bounds.max, bounds.max - 1, 15, 25]
        for decimals in (-1, -2):
            scale = 10**-decimals
            for number, found in zip(numbers, sw.around(sw.asarray(numbers, dtype=dtype), decimals).tolist()):
                multiples = [k * scale for k in (number // scale, number // scale + 1) if bounds.min <= k * scale <= bounds.max]
                assert found in multiples and abs(found - number) == min(abs(m - number) for m in multiples), (dtype, number, found)


def test_nan_in_symmetric_differences():
    nan = np.nan
    for dtype in ("float16", "float32", "float64", "complex64"):
        a, b = np.array([nan, 1, nan, 2], dtype), np.array([nan, 2, 3, np.inf, nan], dtype)
        for function in ("setxor1d", "union1d", "setdiff1d", "intersect1d"):
            same(getattr(sw, function)(sw.asarray(a), sw.asarray(b)), getattr(np, function)(a, b))
