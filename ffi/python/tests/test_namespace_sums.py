"""Sums at places and of products, padding, orders by several keys, weighted means, against NumPy, on every device."""

import itertools

import numpy as np
import pytest

import stridewise as sw
from conftest import same

DEVICES = [device.filter_string for device in sw.get_devices()]
NUMBERS = ["i1", "u2", "i4", "u4", "i8", "u8", "f4", "f8", "c8", "c16"]


@pytest.fixture(params=DEVICES)
def device(request):
    return request.param


def has(device, dtype):
    if dtype == "f2":
        return sw.Device(device).has_aspect_fp16
    return np.dtype(dtype).itemsize < 8 or np.dtype(dtype).kind in "iu" or dtype == "c8" or sw.Device(device).has_aspect_fp64


def numbers(rng, shape, dtype):
    x = rng.integers(0, 50, shape)
    if np.dtype(dtype).kind == "c":
        return (x + 1j * rng.integers(0, 9, shape)).astype(dtype)
    return x.astype(dtype)


def near(ours, oracle, tolerance=0.0, dtype=True):
    oracle = np.asarray(oracle)
    assert isinstance(ours, sw.usm_ndarray) and ours.shape == oracle.shape
    found = sw.asnumpy(ours)
    if dtype:
        assert found.dtype == oracle.dtype
    np.testing.assert_allclose(found, oracle, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("count", [0, 1, 17, 2000])
def test_add_at(dtype, count, device, rng):
    if not has(device, dtype):
        pytest.skip("the device has no such dtype")
    x, values = numbers(rng, 37, dtype), numbers(rng, count, dtype)
    places = rng.integers(-37, 37, count)
    a = sw.asarray(x, device=device, copy=True)
    sw.add_at(a, sw.asarray(places, device=device), sw.asarray(values, device=device))
    expected = x.copy()
    np.add.at(expected, places, values)
    near(a, expected)


@pytest.mark.parametrize("name", ["multiply", "minimum", "maximum"])
@pytest.mark.parametrize("dtype", ["i1", "u4", "i8", "u8", "f4", "f8"])
@pytest.mark.parametrize("count", [0, 1, 17, 2000])
def test_joined_at(name, dtype, count, device, rng):
    if not has(device, dtype):
        pytest.skip("the device has no such dtype")
    x, values = numbers(rng, 37, dtype), numbers(rng, count, dtype)
    if name == "multiply":
        values = (values % 2 + 1).astype(dtype)
    elif np.dtype(dtype).kind == "f" and count > 17:
        values[::97] = np.nan
    places = rng.integers(-37, 37, count)
    with np.errstate(all="ignore"):
        expected = x.copy()
        getattr(np, name).at(expected, places, values)
    a = sw.asarray(x, device=device, copy=True)
    getattr(sw, name + "_at")(a, sw.asarray(places, device=device), sw.asarray(values, device=device))
    near(a, expected)
    # NumPy's own call, on an array of ours, by an index and by slices.
    b = sw.asarray(x, device=device, copy=True)
    getattr(np, name).at(b, places, values)
    near(b, expected)
    b, expected = sw.asarray(x, device=device, copy=True), x.copy()
    for target in (b, expected):
        getattr(np, name).at(target, slice(3, 30, 2), 2)
    near(b, expected)


def test_joined_at_arguments():
    a = sw.zeros(3, dtype="complex64")
    for function in (sw.minimum_at, sw.maximum_at):
        with pytest.raises(TypeError, match="complex"):
            function(a, 0, 1)
    for function in (sw.multiply_at, sw.minimum_at, sw.maximum_at):
        with pytest.raises(IndexError):
            function(sw.zeros(3), sw.asarray([3]), 1)
        with pytest.raises(TypeError, match=function.__name__):
            function(sw.zeros(3, dtype="bool"), 0, True)


def by_group(keys, values, compute):
    return np.array([compute(values[keys == key]) for key in np.unique(keys)])


@pytest.mark.parametrize("keys", ["few", "negative", "one", "each", "far", "floats", "columns", "bytes"])
@pytest.mark.parametrize("dtype", ["i4", "f4", "f8"])
def test_group_by(keys, dtype, device, rng):
    if not has(device, dtype) or (keys == "floats" and not has(device, "f8")):
        pytest.skip("the device has no such dtype")
    count = 6000
    x = {
        "few": rng.integers(0, 9, count), "negative": rng.integers(-500, 500, count).astype("i2"),
        "one": np.full(count, -7), "each": rng.permutation(count).astype("u4"),
        "far": rng.integers(0, 9, count) * 10**17 - 5 * 10**17, "floats": rng.integers(-4, 4, count) / 4,
        "columns": rng.integers(0, 9, (count // 3, 3)), "bytes": rng.integers(97, 123, count).astype("u1"),
    }[keys]  # fmt: skip
    values = numbers(rng, x.shape, dtype)
    groups = sw.group_by(sw.asarray(x, device=device))
    unique, first, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    assert len(groups) == len(unique) and str(len(unique)) in repr(groups)
    near(groups.keys, unique)
    near(groups.places, inverse.reshape(x.shape))
    near(groups.count(), counts)
    y = sw.asarray(values, device=device)
    total = "i8" if dtype == "i4" else dtype
    near(groups.sum(y), by_group(x, values.astype("f8"), np.sum).astype(total))
    near(groups.min(y), by_group(x, values, np.min))
    near(groups.max(y), by_group(x, values, np.max))
    near(groups.first(y), values.ravel()[first])
    near(groups.mean(y), by_group(x, values.astype("f8"), np.mean), 1e-6, dtype=False)


def test_group_by_edges():
    groups = sw.group_by(sw.zeros(0, dtype="int64"))
    assert len(groups) == 0 and groups.sum(sw.zeros(0)).shape == groups.first(sw.zeros(0)).shape == (0,)
    groups = sw.group_by(np.array([2.0, np.nan, 2.0, np.nan]))
    assert len(groups) == 3 and groups.sum(np.array([1, 2, 4, 8])).tolist() == [5, 2, 8]
    assert np.isnan(sw.asnumpy(groups.max(np.array([1, 2, np.nan, 8])))).tolist() == [True, False, False]
    assert groups.min(np.array([True, False, False, True])).tolist() == [False, False, True]
    with pytest.raises(ValueError, match="values"):
        groups.sum(sw.zeros(3))
    with pytest.raises(TypeError, match="complex"):
        groups.min(sw.zeros(4, dtype="complex64"))


@pytest.mark.parametrize("dtype", ["i1", "i4", "u8", "i8", "f8"])
@pytest.mark.parametrize("span", [1, 50, 9000, 10**15, -(10**15)])
def test_unique_of_many(dtype, span, device, rng):
    if not has(device, dtype) or (abs(span) > 127 and dtype == "i1") or (abs(span) > 2**31 and dtype == "i4"):
        pytest.skip("no such numbers")
    if span < 0:
        # A few that are so far from each other.
        x = (rng.integers(0, 50, (70, 100)) * -span).astype(dtype)
    else:
        x = (rng.integers(0, span, (70, 100)) - (0 if dtype == "u8" else span // 2)).astype(dtype)
    a = sw.asarray(x, device=device)
    values, first, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    found = sw.unique_inverse(a)
    near(found.values, values)
    near(found.inverse_indices, inverse.reshape(x.shape))
    found = sw.unique_counts(a)
    near(found.values, values)
    near(found.counts, counts)
    found = sw.unique_all(a)
    near(found.values, values)
    near(found.indices, first)
    near(found.inverse_indices, inverse.reshape(x.shape))
    near(found.counts, counts)


def test_sums_at_places_have_an_order(device, rng):
    values = (rng.normal(size=20_000) * 10.0 ** rng.integers(-6, 6, 20_000)).astype("f4")
    places = rng.integers(0, 5, 20_000)
    a = sw.zeros(5, dtype="float32", device=device)
    sw.add_at(a, sw.asarray(places, device=device), sw.asarray(values, device=device))
    expected = np.zeros(5, "f4")
    for place, value in zip(places, values):
        expected[place] += value
    np.testing.assert_array_equal(sw.asnumpy(a), expected)


@pytest.mark.parametrize("dtype", ["i4", "f4"])
def test_add_at_every_kind_of_index(dtype, device, rng):
    x = numbers(rng, (5, 6, 7), dtype)
    mask = rng.random((5, 6)) < 0.4
    rows, columns = rng.integers(0, 5, (3, 4)), rng.integers(0, 7, 4)
    keys = [
        (rows,), (slice(None), slice(1, 5), columns), (rows, slice(None), columns), (mask,), (2,), (slice(None, None, -2),),
        (Ellipsis, columns), (rows, None, slice(None)), (mask, 3), (0, 0, 0),
    ]
    for layout in (lambda a: a, lambda a: a[::-1], lambda a: a.transpose(2, 1, 0) if isinstance(a, np.ndarray) else sw.permute_dims(a, (2, 1, 0))):
        for key in keys:
            expected, a = x.copy(), sw.asarray(x, device=device, copy=True)
            if layout(x).shape != x.shape and any(isinstance(k, np.ndarray) and k.dtype == bool for k in key):
                continue
            view, ours = layout(expected), layout(a)
            if layout(x).shape != x.shape:
                key = tuple(k % 5 if isinstance(k, np.ndarray) else k for k in key)
            own = tuple(sw.asarray(k, device=device) if isinstance(k, np.ndarray) else k for k in key)
            values = numbers(rng, view[key].shape, dtype)
            np.add.at(view, key, values)
            sw.add_at(ours, own if len(own) > 1 else own[0], sw.asarray(values, device=device))
            np.add.at(view, key, 3)
            sw.add_at(ours, own if len(own) > 1 else own[0], 3)
            near(a, expected)


def test_add_at_arguments():
    a = sw.zeros(3)
    with pytest.raises(IndexError):
        sw.add_at(a, sw.asarray([3]), 1)
    with pytest.raises(ValueError):
        sw.add_at(a, sw.asarray([0, 1]), sw.asarray([1.0, 2.0, 3.0]))
    with pytest.raises(TypeError, match="values"):
        sw.add_at(sw.zeros(3, dtype="int32"), 0, sw.asarray([1.5]))
    with pytest.raises(TypeError, match="bool"):
        sw.add_at(sw.zeros(3, dtype="bool"), 0, True)
    with pytest.raises(ValueError):
        sw.add_at(sw.broadcast_to(a, (2, 3)), 0, 1)
    near(a, np.zeros(3))
    half = sw.zeros(1, dtype="float16")
    sw.add_at(half, sw.asarray([0] * 3000), 1)
    assert float(half[0]) == 3000 and half.dtype == sw.float16
    sw.add_at(a, [0, 0, -1], a[:1] + 1)
    near(a, [2.0, 0.0, 1.0])


@pytest.mark.parametrize("dtype", ["bool", "i1", "u2", "i8", "u8"])
def test_counts(dtype, device, rng):
    for n in (0, 1, 1025, 30_000):
        x = rng.integers(0, 2 if dtype == "bool" else 100, n).astype(dtype)
        w = rng.integers(-5, 6, n).astype("f8" if has(device, "f8") else "f4")
        a, weights = sw.asarray(x, device=device), sw.asarray(w, device=device)
        for least in (0, 3, 200):
            near(sw.bincount(a, minlength=least), np.bincount(x.astype("i8"), minlength=least))
            near(sw.bincount(a, weights=weights, minlength=least), np.bincount(x.astype("i8"), w, least), dtype=False)


@pytest.mark.parametrize("dtype", ["i1", "u8", "f2", "f4"])
@pytest.mark.parametrize("bins", [1, 7, 100, "edges", "equal edges"])
def test_histograms(dtype, bins, device, rng):
    if not has(device, dtype):
        pytest.skip("the device has no such dtype")
    if bins == "edges":
        bins = np.array([-3.0, 0, 0.5, 20, 21, 60], "f4")
    elif bins == "equal edges":
        bins = np.array([0, 10, 10, 20, 40, 40], "f4")
    for n in (1, 1025):
        x = rng.integers(0, 64, n).astype(dtype)
        if np.dtype(dtype).kind == "f" and n > 1 and not isinstance(bins, int):
            x[::5] = np.nan
            x[1::7] = np.inf
        for w in (None, rng.integers(0, 9, n).astype("i4"), rng.integers(0, 9, n).astype("f4")):
            for span in (None, (5, 40)) if isinstance(bins, int) else (None,):
                own = bins if isinstance(bins, int) else sw.asarray(bins, device=device)
                weights = None if w is None else sw.asarray(w, device=device)
                try:
                    np.histogram(x, bins, span)
                except ValueError:
                    # More bins than the dtype has numbers between the ends.
                    with pytest.raises(ValueError, match="expected fewer"):
                        sw.histogram(sw.asarray(x, device=device), own, range=span, weights=weights)
                    continue
                found, edges = sw.histogram(sw.asarray(x, device=device), own, range=span, weights=weights)
                # Between the edges that ours are, so that the rounding of an edge makes no difference.
                at = sw.asnumpy(edges)
                expected, _ = np.histogram(x, at.astype("f8"), weights=w)
                near(found, expected)
                assert found.dtype == (sw.int64 if w is None else weights.dtype)


def test_weights_of_counts():
    x = sw.asarray([0, 1, 1])
    for weights in ([1.0, 2.0], sw.ones((3, 1))):
        with pytest.raises(ValueError, match="weights"):
            sw.bincount(x, weights=weights)
        with pytest.raises(ValueError, match="weights"):
            sw.histogram(x, weights=weights)
    near(sw.bincount(x, weights=[0.5, 1, 2]), [0.5, 3.0])
    found = sw.histogram(sw.asarray([1.0, 2.0, 4.0]), 3, weights=[1.0, 2.0, 3.0], density=True)[0]
    near(found, np.histogram([1, 2, 4], 3, weights=[1, 2, 3], density=True)[0], 1e-12)


NOTATIONS = [
    ("ij,jk->ik", (3, 4), (4, 5)), ("ij,jk", (3, 4), (4, 5)), ("ij,jk->ki", (3, 4), (4, 5)), ("ij->ji", (3, 4)), ("ji", (3, 4)),
    ("ii", (4, 4)), ("ii->i", (4, 4)), ("ij->", (3, 4)), ("ij->j", (3, 4)), ("i,j->ij", (3,), (4,)), ("i,i", (5,), (5,)),
    ("i,i->i", (5,), (5,)), ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)), ("bij,bjk->ik", (2, 3, 4), (2, 4, 5)),
    ("...ij,...jk->...ik", (2, 3, 4), (2, 4, 5)), ("...ij,jk", (2, 3, 4), (4, 5)), ("...i,...i->...", (2, 1, 4), (3, 4)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 5)), ("ij,jk,ki", (2, 3), (3, 4), (4, 2)), ("ij,kl->ijkl", (2, 3), (4, 5)),
    ("iij->j", (3, 3, 4)), ("iji->ij", (3, 4, 3)), ("ijj,jk->ik", (2, 3, 3), (3, 4)), ("ijk,ilm,njm,nlk->", (2, 3, 4), (2, 5, 6), (7, 3, 6), (7, 5, 4)),
    ("i,ij,j", (3,), (3, 4), (4,)), ("...->...", (3, 4)), ("...", (3, 4)), (",", (), ()), (" i j , j k -> i k ", (3, 4), (4, 5)),
    ("a...b,b...c->ac...", (3, 2, 4), (4, 2, 5)), ("ij,ij->ij", (3, 4), (3, 4)), ("ij,j->ij", (3, 4), (4,)), ("iiii->i", (3, 3, 3, 3)),
    ("ij,jk->ik", (3, 0), (0, 5)), ("ij,jk->ik", (0, 4), (4, 5)), ("ij,jk->ik", (3, 1), (4, 5)),
]


@pytest.mark.parametrize("notation", NOTATIONS, ids=lambda n: str(n))
def test_einsum(notation, device, rng):
    text, *shapes = notation
    for dtype in ("i4", "f4", "c8"):
        xs = [numbers(rng, shape, dtype) for shape in shapes]
        found = sw.einsum(text, *[sw.asarray(x, device=device) for x in xs])
        near(found, np.einsum(text, *xs), 1e-4 if dtype != "i4" else 0)


def test_einsum_of_a_dtype():
    x = np.arange(6, dtype="f4").reshape(2, 3) / 3
    found = sw.einsum("ij,kj", sw.asarray(x), sw.asarray(x), dtype="float64")
    assert found.dtype == sw.float64
    np.testing.assert_allclose(sw.asnumpy(found), np.einsum("ij,kj", x, x, dtype="f8"), rtol=1e-15)
    with pytest.raises(TypeError, match="operand 0 is of float32, which is not converted to int16"):
        sw.einsum("ij->", sw.asarray(x), dtype="int16")


def test_averages_with_weights_of_several_axes():
    rng = np.random.default_rng(3)
    x = rng.random((2, 3, 4))
    for axis, shape in (((0, 1), (2, 3)), ((2, 0), (4, 2)), (1, (3,)), (-1, (4,)), (None, (2, 3, 4)), ((1, 2), (2, 3, 4))):
        weights = rng.random(shape)
        found = sw.average(sw.asarray(x), axis, weights=sw.asarray(weights), returned=True)
        for one, other in zip(found, np.average(x, axis, weights=weights, returned=True)):
            np.testing.assert_allclose(sw.asnumpy(one), other, rtol=1e-14)
    with pytest.raises(TypeError, match="`weights` is of shape .3,. and `axis` is None"):
        sw.average(sw.asarray(x), weights=[1, 2, 3])
    with pytest.raises(ValueError, match="`weights` is of shape .2, 2.; expected .2, 3."):
        sw.average(sw.asarray(x), (0, 1), weights=sw.ones((2, 2)))


@pytest.mark.parametrize("call", [
    lambda: sw.histogram(sw.asarray([1, 1 + 2e-16] * 10), bins=10), lambda: sw.histogram_bin_edges([1.0], bins=4, range=(1, 1 + 5e-16)),
    lambda: sw.histogram(sw.asarray([0, 1], dtype="float16"), bins=100000),
])  # fmt: skip
def test_more_bins_than_numbers(call):
    with pytest.raises(ValueError, match="`bins` is .*; expected fewer, as there are not so many numbers of float.*help"):
        call()


def test_bins_between_ends_of_a_wider_dtype():
    ends = np.array([1 + 2**-20, 2.0])
    counts, edges = sw.histogram(sw.asarray([1.0], dtype="float16"), 1, ends)
    assert counts.tolist() == [0] and edges.dtype == sw.float64 and edges.tolist() == ends.tolist()


def test_einsum_arguments():
    a = sw.ones((2, 3))
    for text, operands, error in [
        ("ij", (), ValueError), ("ij,jk", (a,), ValueError), ("ijk", (a,), ValueError), ("i", (a,), ValueError), ("ij->ik", (a,), ValueError),
        ("ij->ii", (a,), ValueError), ("i1", (a,), ValueError), ("i...->i", (a,), ValueError), ("ii", (a,), ValueError),
        ("ij,ij", (a, sw.ones((2, 4))), ValueError), ("ij->i->j", (a,), ValueError),
    ]:
        with pytest.raises(error):
            sw.einsum(text, *operands)
    # Of bool, a sum is whether any is true, as NumPy has it.
    found = sw.einsum("ij->j", sw.asarray([[True, False, True], [True, False, False]]))
    assert found.dtype == sw.bool and found.tolist() == [True, False, True]
    assert sw.einsum("ij->j", sw.ones((2, 3), dtype="int8")).dtype == sw.int8


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric", "wrap"])
@pytest.mark.parametrize("dtype", ["bool", "u1", "i8", "f2", "f4", "c8"])
def test_pad(mode, dtype, device, rng):
    if not has(device, dtype):
        pytest.skip("the device has no such dtype")
    for shape, width in [
        ((5,), 2), ((5,), (0, 3)), ((5,), (13, 17)), ((1,), (3, 4)), ((3, 4), ((1, 2), (3, 0))), ((3, 4), 5), ((3, 4), ((2, 1),)),
        ((2, 3, 4), ((0, 0), (1, 1), (0, 2))), ((3, 4), 0),
    ]:
        x = numbers(rng, shape, dtype)
        near(sw.pad(sw.asarray(x, device=device), width, mode), np.pad(x, width, mode))
        view = sw.flip(sw.asarray(np.ascontiguousarray(x.T), device=device))
        near(sw.pad(sw.permute_dims(view, tuple(range(view.ndim))[::-1]), width, mode), np.pad(np.flip(x), width, mode))


def test_pad_arguments():
    a = sw.ones((2, 3))
    near(sw.pad(a, 1, constant_values=7.5), np.pad(np.ones((2, 3)), 1, constant_values=7.5))
    near(sw.pad(sw.ones((0, 2)), 1), np.pad(np.ones((0, 2)), 1))
    # Where two axes meet is the last one's.
    for values in ((1, 2), (5,), ((1, 2), (3, 4)), ((1, 2),), [[1], [2]], (float("nan"), 1)):
        for width in (1, ((1, 2), (3, 0)), 0):
            near(sw.pad(a, width, constant_values=values), np.pad(np.ones((2, 3)), width, constant_values=values))
    # Another mode has no use for them.
    near(sw.pad(a, 1, "edge", constant_values=((1, 2), (3, 4))), np.ones((4, 5)))
    with pytest.raises(ValueError, match="mode"):
        sw.pad(a, 1, "cubic", constant_values=(1, 2))
    with pytest.raises(TypeError):
        sw.pad(sw.ones((2, 3), dtype="uint8"), 1, constant_values=(1, 300))
    for values in ("one", (1, 2, 3), ((1, 2), (3,), (4,)), [], [[]], [["a"]]):
        with pytest.raises((TypeError, ValueError), match="constant_values"):
            sw.pad(a, 1, constant_values=values)
    near(sw.pad(sw.asarray(3.0), 0), 3.0)
    for width in (-1, (1, 2, 3), ((1, 1), (2, 2), (3, 3)), ((1, -1), (0, 0))):
        with pytest.raises(ValueError):
            sw.pad(a, width)
    with pytest.raises(ValueError, match="mode"):
        sw.pad(a, 1, "cubic")
    with pytest.raises(ValueError):
        sw.pad(sw.ones((0, 2)), 1, "edge")
    with pytest.raises(TypeError):
        sw.pad(a, 1, constant_values="a")
    with pytest.raises((TypeError, OverflowError, ValueError)):
        sw.pad(sw.ones(3, dtype="int8"), 1, constant_values=300)
    b = sw.pad(a, 0, "edge")
    b[...] = 5
    near(a, np.ones((2, 3)))


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("dtype", ["i4", "u1", "f4", "c8"])
def test_convolutions(mode, dtype, device, rng):
    for n, m in itertools.product([1, 2, 3, 4, 7, 8, 100], repeat=2):
        x, y = numbers(rng, n, dtype), numbers(rng, m, dtype)
        a, b = sw.asarray(x, device=device), sw.asarray(y, device=device)
        near(sw.convolve(a, b, mode), np.convolve(x, y, mode), 1e-5 if np.dtype(dtype).kind in "fc" else 0)
        near(sw.correlate(a, b, mode), np.correlate(x, y, mode), 1e-5 if np.dtype(dtype).kind in "fc" else 0)


def test_convolutions_of_others():
    a = sw.ones(3)
    for bad in (sw.ones((2, 2)), sw.ones(0), sw.asarray(1.0)):
        for function in (sw.convolve, sw.correlate):
            if function is sw.convolve and bad.ndim == 0:
                # A number is a row of one.
                assert function(a, bad).tolist() == function(bad, a).tolist() == [1.0, 1.0, 1.0]
                continue
            with pytest.raises(ValueError):
                function(a, bad)
            with pytest.raises(ValueError):
                function(bad, a)
    with pytest.raises(ValueError, match="mode"):
        sw.convolve(a, a, "half")
    with pytest.raises(TypeError):
        sw.convolve(sw.ones(3, dtype="bool"), sw.ones(3, dtype="bool"))
    assert sw.convolve(sw.ones(3, dtype="int8"), sw.ones(2, dtype="float32")).dtype == sw.float32


def test_polyval(device, rng):
    for p in ([], [3], [1, -2, 0.5], list(range(1, 40))):
        x = rng.uniform(-1, 1, (4, 5)).astype("f4")
        c = np.array(p, "f4")
        near(sw.polyval(sw.asarray(c, device=device), sw.asarray(x, device=device)), np.polyval(c, x), 1e-4, dtype=len(p) > 0)
    near(sw.polyval([1, 2], sw.asarray([3, 4])), np.polyval([1, 2], np.array([3, 4])))
    with pytest.raises(ValueError, match="`p`"):
        sw.polyval(sw.ones((2, 2)), sw.ones(2))


def test_polyfit(rng):
    for dtype, eps in (("f8", 2e-16), ("f4", 1e-7)):
        for points, degree in ((1, 0), (6, 0), (9, 1), (30, 4), (5, 4)):
            x, y = rng.uniform(-1, 1, points).astype(dtype), rng.normal(size=(points, 3)).astype(dtype)
            w = rng.uniform(0.5, 2, points).astype(dtype)
            ours = [sw.asarray(part) for part in (x, y, w)]
            for values, own, weights in ((y, ours[1], None), (y[:, 0], ours[1][:, 0], None), (y, ours[1], w)):
                wanted = np.polyfit(x.astype("f8"), values.astype("f8"), degree, w=weights)
                found = sw.polyfit(ours[0], own, degree, w=None if weights is None else ours[2])
                assert found.shape == wanted.shape and found.dtype == sw.dtype(dtype)
                condition = np.linalg.cond(np.vander(x.astype("f8"), degree + 1))
                np.testing.assert_allclose(sw.asnumpy(found), wanted, rtol=0, atol=1e3 * eps * condition * abs(wanted).max())
                polynomial = sw.polyval(found[:, 0] if found.ndim > 1 else found, ours[0])
                np.testing.assert_allclose(
                    sw.asnumpy(polynomial), np.polyval(wanted.T[0] if wanted.ndim > 1 else wanted, x), atol=1e4 * eps * condition
                )


def test_polyfit_full_and_covariances(rng):
    x, y, w = rng.uniform(-2, 2, 20), rng.normal(size=(20, 2)), rng.uniform(0.5, 2, 20)
    ours = [sw.asarray(part) for part in (x, y, w)]
    for values, own in ((y, ours[1]), (y[:, 0], ours[1][:, 0])):
        wanted, found = np.polyfit(x, values, 3, full=True, w=w), sw.polyfit(ours[0], own, 3, full=True, w=ours[2])
        for ours_part, part in zip(found, wanted):
            np.testing.assert_allclose(sw.asnumpy(ours_part) if hasattr(ours_part, "shape") else ours_part, part, rtol=1e-9)
            assert np.shape(part) == getattr(ours_part, "shape", ())
        for cov in (True, "unscaled"):
            wanted, found = np.polyfit(x, values, 3, w=w, cov=cov), sw.polyfit(ours[0], own, 3, w=ours[2], cov=cov)
            np.testing.assert_allclose(sw.asnumpy(found[1]), wanted[1], rtol=1e-8, atol=1e-12)
            np.testing.assert_allclose(sw.asnumpy(found[0]), wanted[0], rtol=1e-9)
    near(sw.polyfit([0, 1, 2], [1.0, 3.0, 5.0], 1), np.array([2.0, 1.0]), 1e-12)
    near(sw.polyfit(np.arange(3), sw.asarray([1.0, 3.0, 5.0]), 1), np.array([2.0, 1.0]), 1e-12)


def test_polyfit_of_few_points():
    x = sw.asarray([1.0, 1.0, 2.0])
    with pytest.warns(RuntimeWarning, match="3 points do not determine 3 coefficients"):
        found = sw.polyfit(x, sw.asarray([1.0, 3.0, 5.0]), 2)
    np.testing.assert_allclose(sw.asnumpy(sw.polyval(found, x)), [2, 2, 5], atol=1e-12)
    _, residuals, rank, _, rcond = sw.polyfit(x, x, 2, full=True)
    assert (residuals.shape, rank) == ((0,), 2) and rcond == 3 * sw.finfo("float64").eps
    with pytest.raises(ValueError, match="`cov`"):
        sw.polyfit([1, 2], [1, 2], 1, cov=True)
    with pytest.raises(ValueError, match="`deg`"):
        sw.polyfit(x, x, -1)
    for wrong in ((x, sw.ones(4), 1), (sw.ones((3, 1)), x, 1), (sw.ones(0), sw.ones(0), 1)):
        with pytest.raises(ValueError):
            sw.polyfit(*wrong)
    with pytest.raises(ValueError, match="`weights`"):
        sw.polyfit(x, x, 1, w=sw.ones(2))


def test_lexsort(device, rng):
    for shape in ((50,), (6, 30), (0,), (1,)):
        keys = [rng.integers(0, 4, shape), rng.integers(0, 3, shape), rng.integers(0, 3, shape)]
        for axis in range(-len(shape), len(shape)):
            own = [sw.asarray(key, device=device) for key in keys]
            near(sw.lexsort(own, axis), np.lexsort(keys, axis))
            near(sw.lexsort(sw.stack(own), axis), np.lexsort(keys, axis))
    with pytest.raises(ValueError):
        sw.lexsort([])
    with pytest.raises(ValueError):
        sw.lexsort([sw.ones(2), sw.ones(3)])
    with pytest.raises(sw.OutOfBoundsError):
        sw.lexsort([sw.ones(2)], 1)


def test_argpartition(device, rng):
    x = rng.integers(0, 30, (5, 40))
    for axis, kth in [(0, 3), (1, 0), (-1, -1), (None, 100)]:
        places = sw.asnumpy(sw.argpartition(sw.asarray(x, device=device), kth, axis))
        y, along = (x.ravel(), 0) if axis is None else (x, axis)
        found = np.moveaxis(np.take_along_axis(y, places, along), along, -1)
        k = kth % found.shape[-1]
        assert (np.sort(np.moveaxis(y, along, -1), -1)[..., k] == found[..., k]).all()
        assert (found[..., :k] <= found[..., k : k + 1]).all() and (found[..., k:] >= found[..., k : k + 1]).all()
    with pytest.raises(IndexError):
        sw.argpartition(sw.ones(3), 3)


def test_average(device, rng):
    for dtype in ("i4", "f4", "c8"):
        x, w = numbers(rng, (4, 5, 6), dtype), rng.integers(1, 5, (4, 5, 6)).astype("f4")
        a, weights = sw.asarray(x, device=device), sw.asarray(w, device=device)
        for axis in (None, 0, -1, (0, 2)):
            for keepdims in (False, True):
                found = sw.average(a, axis=axis, weights=weights, returned=True, keepdims=keepdims)
                expected = np.average(x, axis, w, True, keepdims=keepdims)
                near(found[0], expected[0], 1e-5, dtype=dtype != "i4")
                near(found[1], expected[1].astype(expected[0].dtype), 1e-5, dtype=False)
                near(sw.average(a, axis=axis, keepdims=keepdims), np.average(x, axis, keepdims=keepdims), 1e-5, dtype=dtype != "i4")
        row = w[0, :, 0]
        near(sw.average(a, axis=1, weights=sw.asarray(row, device=device)), np.average(x, 1, row), 1e-5, dtype=dtype != "i4")
    near(sw.average(sw.asarray([1.0, 2.0, 4.0]), weights=[1, 1, 2], returned=True)[1], 4.0)
    near(sw.average(sw.asarray([[1.0, 2.0, 4.0]]), axis=1, returned=True)[1], [3.0])
    for weights, axis in [(sw.ones(4), None), (sw.ones(2), 0), (sw.ones((3, 4)), 1)]:
        with pytest.raises(TypeError if axis is None else ValueError, match="weights"):
            sw.average(sw.ones((4, 3)), axis=axis, weights=weights)


def test_cov_and_corrcoef(device, rng):
    for dtype in ("f4", "c8"):
        x, y = (rng.normal(size=(4, 50)) + (1j * rng.normal(size=(4, 50)) if dtype == "c8" else 0) for _ in range(2))
        x, y = x.astype(dtype), y.astype(dtype)
        a, b = sw.asarray(x, device=device), sw.asarray(y, device=device)
        near(sw.cov(a), np.cov(x), 1e-4, dtype=False)
        near(sw.cov(a, b), np.cov(x, y), 1e-4, dtype=False)
        near(sw.cov(a, rowvar=False), np.cov(x, rowvar=False), 1e-4, dtype=False)
        near(sw.cov(a, bias=True), np.cov(x, bias=True), 1e-4, dtype=False)
        near(sw.cov(a, ddof=3), np.cov(x, ddof=3), 1e-4, dtype=False)
        near(sw.corrcoef(a), np.corrcoef(x), 1e-4, dtype=False)
        near(sw.corrcoef(a, b), np.corrcoef(x, y), 1e-4, dtype=False)
        near(sw.cov(a[0]), np.cov(x[0]), 1e-4, dtype=False)
        near(sw.corrcoef(a[0]), np.corrcoef(x[0]), 1e-4, dtype=False)
        assert sw.cov(a).dtype == a.dtype
    near(sw.cov(sw.asarray([[1, 2, 4], [3, 1, 0]])), np.cov([[1, 2, 4], [3, 1, 0]]), 1e-6)
    for bad in (sw.ones((2, 2, 2)),):
        with pytest.raises(ValueError):
            sw.cov(bad)
    with pytest.raises(ValueError):
        sw.cov(sw.ones((2, 3)), sw.ones((2, 4)))


def test_infinities(device):
    for dtype in ("f2", "f4"):
        x = np.array([0, np.inf, -np.inf, np.nan, 1], dtype)
        if dtype == "f2" and not sw.Device(device).has_aspect_fp16:
            continue
        a = sw.asarray(x, device=device)
        near(sw.isposinf(a), np.isposinf(x))
        near(sw.isneginf(a), np.isneginf(x))
    near(sw.isposinf(sw.asarray([1, 2], device=device)), [False, False])
    near(sw.isneginf(sw.asarray([True], device=device)), [False])
    with pytest.raises(TypeError):
        sw.isposinf(sw.asarray([1j]))


def test_einsum_computes_in_what_out_holds():
    small, truth, single = np.full((3, 4), 200, "u1"), np.ones((3, 4), bool), np.full(4, 1e38, "f4")
    for x, dtype in ((small, "int64"), (truth, "int64"), (truth, "bool"), (single, "float64")):
        text, shape = ("ij->i", 3) if x.ndim == 2 else ("i->", ())
        same(sw.einsum(text, sw.asarray(x), out=sw.zeros(shape, dtype=dtype)), np.einsum(text, x, out=np.zeros(shape, dtype)))
    four = sw.arange(4.0)
    assert int(sw.einsum("i->", four, out=sw.zeros((), dtype="int32"), casting="unsafe")) == 6
    for x, dtype, casting in ((four, "float32", "safe"), (four, "int32", "same_kind"), (sw.astype(four, "float32"), "float64", "no")):
        with pytest.raises(TypeError, match="casting"):
            sw.einsum("i->", x, out=sw.zeros((), dtype=dtype), casting=casting)


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "cumsum", "cumprod"])
def test_folds_compute_in_a_float_that_out_holds(name):
    x = np.array([1e38, 3e38, 2.5, 1e-38], "f4")
    for held in ("float64", "complex128"):
        shape = (4,) if name.startswith("cum") else ()
        expected = getattr(np, name)(x, out=np.zeros(shape, held))
        same(getattr(sw, name)(sw.asarray(x), out=sw.zeros(shape, dtype=held)), expected)
    if not name.startswith("cum"):
        masked = getattr(np, name)(x, out=np.zeros(()), where=x > 2)
        same(getattr(sw, name)(sw.asarray(x), out=sw.zeros(()), where=sw.asarray(x > 2)), masked)
