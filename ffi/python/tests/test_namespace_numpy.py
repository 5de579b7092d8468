"""The functions of the namespace against NumPy's, on random arrays of random layouts, on every device."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import stridewise as sw
from arrays import (
    ALL, BOOL, COMPLEX, DEVICES, INTEGERS, NUMBERS, ORDERED, REALS, axes_of, axis_of, pairs,
)  # fmt: skip
from conftest import close, same

pytestmark = pytest.mark.parametrize("device", DEVICES)

DATA = st.data()


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "any", "all", "count_nonzero"])
@given(data=DATA)
def test_reductions(device, name, data):
    dtypes = {"max": ORDERED, "min": ORDERED, "sum": BOOL + NUMBERS, "prod": BOOL + INTEGERS}.get(name, ALL)
    x = data.draw(pairs(device, dtypes, wild=name in ("max", "min", "any", "all")))
    axis, keepdims = axes_of(data.draw, x.oracle.ndim), data.draw(st.booleans(), label="keepdims")
    arguments = {"axis": axis, "keepdims": keepdims}
    try:
        oracle = getattr(np, name)(x.oracle, **arguments)
    except ValueError:
        # The smallest and largest of nothing; NumPy refuses them even where there are none to be found.
        if 0 in np.sum(x.oracle, **arguments).shape:
            assert getattr(sw, name)(x.ours, **arguments).size == 0
            return
        with pytest.raises(ValueError):
            getattr(sw, name)(x.ours, **arguments)
        return
    same(getattr(sw, name)(x.ours, **arguments), oracle)
    out = sw.empty(oracle.shape, dtype=str(oracle.dtype), device=device)
    assert getattr(sw, name)(x.ours, out=out, **arguments) is out
    same(out, oracle)


@pytest.mark.parametrize("name", ["sum", "prod"])
@given(data=DATA)
def test_sums_in_a_dtype(device, name, data):
    x = data.draw(pairs(device, BOOL + INTEGERS))
    dtype = data.draw(st.sampled_from(["int8", "int32", "uint64", "float32"]), label="dtype")
    axis = axes_of(data.draw, x.oracle.ndim)
    # Products of floats round by their order.
    assume(name == "sum" or dtype != "float32" or x.oracle.size < 10)
    same(getattr(sw, name)(x.ours, axis=axis, dtype=dtype), getattr(np, name)(x.oracle, axis=axis, dtype=dtype))


@pytest.mark.parametrize("name", ["mean", "var", "std"])
@given(data=DATA)
def test_moments(device, name, data):
    x = data.draw(pairs(device, BOOL + INTEGERS + REALS + COMPLEX))
    axis, keepdims = axes_of(data.draw, x.oracle.ndim), data.draw(st.booleans(), label="keepdims")
    arguments = {"axis": axis, "keepdims": keepdims}
    if name != "mean":
        arguments["correction"] = data.draw(st.sampled_from([0, 1, 0.5]), label="correction")
    with np.errstate(all="ignore"), warnings.catch_warnings():
        # Of means of nothing.
        warnings.simplefilter("ignore", RuntimeWarning)
        oracle = getattr(np, name)(x.oracle, **arguments)
    ours = getattr(sw, name)(x.ours, **arguments)
    if ours.dtype == "float32" and oracle.dtype == np.float64:
        # A device without double precision.
        oracle = oracle.astype(np.float32)
    close(ours, oracle, ulp=16)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@given(data=DATA)
def test_places(device, name, data):
    x = data.draw(pairs(device, ORDERED, wild=True))
    arguments = {"axis": axis_of(data.draw, x.oracle.ndim), "keepdims": data.draw(st.booleans(), label="keepdims")}
    # NumPy refuses an empty axis also where there is no place to find.
    assume(x.oracle.ndim < 2 or x.oracle.size > 0)
    try:
        oracle = getattr(np, name)(x.oracle, **arguments)
    except ValueError:
        with pytest.raises(ValueError):
            getattr(sw, name)(x.ours, **arguments)
        return
    same(getattr(sw, name)(x.ours, **arguments), oracle)


@pytest.mark.parametrize("name, oracle", [("logsumexp", np.logaddexp), ("reduce_hypot", np.hypot)])
@given(data=DATA)
def test_magnitudes(device, name, oracle, data):
    x = data.draw(pairs(device, REALS))
    axis = axes_of(data.draw, x.oracle.ndim)
    expected = oracle.reduce(x.oracle, axis=axis) if axis is None or isinstance(axis, int) else x.oracle
    if isinstance(axis, tuple):
        for one in sorted((one % x.oracle.ndim for one in axis), reverse=True):
            expected = oracle.reduce(expected, axis=one)
        if not axis:
            expected = expected if name == "logsumexp" else np.abs(expected)
    close(getattr(sw, name)(x.ours, axis=axis), expected, ulp=16)


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
@given(data=DATA)
def test_running(device, name, data):
    x = data.draw(pairs(device, BOOL + (NUMBERS if name == "cumulative_sum" else INTEGERS)))
    assume(x.oracle.ndim > 0)
    axis = axis_of(data.draw, x.oracle.ndim, none=x.oracle.ndim == 1)
    arguments = {"axis": axis, "include_initial": data.draw(st.booleans(), label="initial")}
    same(getattr(sw, name)(x.ours, **arguments), getattr(np, name)(x.oracle, **arguments))


@given(data=DATA)
def test_diff(device, data):
    x = data.draw(pairs(device, BOOL + NUMBERS))
    assume(x.oracle.ndim > 0)
    axis, n = axis_of(data.draw, x.oracle.ndim, none=False), data.draw(st.integers(0, 3), label="n")
    same(sw.diff(x.ours, axis=axis, n=n), np.diff(x.oracle, axis=axis, n=n))
    edge = data.draw(pairs(device, [str(x.oracle.dtype)], st.just(x.oracle.shape)))
    same(
        sw.diff(x.ours, axis=axis, prepend=edge.ours, append=edge.ours),
        np.diff(x.oracle, axis=axis, prepend=edge.oracle, append=edge.oracle),
    )


@given(data=DATA)
def test_joined(device, data):
    first = data.draw(pairs(device))
    rest = data.draw(st.lists(pairs(device, shapes=st.just(first.oracle.shape)), max_size=2))
    arrays = [first, *rest]
    oracles, ours = [x.oracle for x in arrays], [x.ours for x in arrays]
    axis = data.draw(st.integers(-first.oracle.ndim - 1, first.oracle.ndim), label="axis")
    same(sw.stack(ours, axis=axis), np.stack(oracles, axis=axis))
    axis = axis_of(data.draw, first.oracle.ndim)
    same(sw.concat(ours, axis=axis), np.concat(oracles, axis=axis))
    if first.oracle.ndim:
        axis = axis_of(data.draw, first.oracle.ndim, none=False)
        parts, expected = sw.unstack(first.ours, axis=axis), np.unstack(first.oracle, axis=axis)
        assert isinstance(parts, tuple) and len(parts) == len(expected)
        for part, other in zip(parts, expected):
            same(part, other)


@given(data=DATA)
def test_axes(device, data):
    x = data.draw(pairs(device))
    ndim = x.oracle.ndim
    order = data.draw(st.permutations(range(ndim)), label="order")
    signed = tuple(axis - ndim * data.draw(st.booleans()) for axis in order)
    same(sw.permute_dims(x.ours, signed), np.permute_dims(x.oracle, signed))
    count = data.draw(st.integers(0, ndim), label="count")
    other = tuple(data.draw(st.permutations(range(ndim))))[:count]
    same(sw.moveaxis(x.ours, signed[:count], other), np.moveaxis(x.oracle, signed[:count], other))
    if ndim:
        same(sw.moveaxis(x.ours, signed[0], -1), np.moveaxis(x.oracle, signed[0], -1))
        same(sw.swapaxes(x.ours, signed[0], 0), np.swapaxes(x.oracle, signed[0], 0))
    axis = axes_of(data.draw, ndim)
    same(sw.flip(x.ours, axis=axis), np.flip(x.oracle, axis=axis))
    new = data.draw(st.sampled_from([0, -1, ndim, (0, -1), ()]), label="new")
    wider, expected = sw.expand_dims(x.ours, new), np.expand_dims(x.oracle, new)
    same(wider, expected)
    gone = (new,) if isinstance(new, int) else new
    same(sw.squeeze(wider, gone), np.squeeze(expected, gone))
    same(sw.squeeze(wider, None), np.squeeze(expected))


@given(data=DATA)
def test_reshape(device, data):
    x = data.draw(pairs(device))
    # Prime factors of the size, put together in another way.
    size, shape = x.oracle.size, []
    for factor in (2, 2, 3, 5):
        if size and size % factor == 0 and data.draw(st.booleans()):
            shape.append(factor)
            size //= factor
    shape.append(size)
    if size and data.draw(st.booleans()):
        shape[-1] = -1
    if 0 in x.oracle.shape:
        shape = x.oracle.shape[::-1]
    shape = tuple(shape)
    order = data.draw(st.sampled_from("CF"), label="order")
    expected = np.reshape(x.oracle, shape, order=order)
    same(sw.reshape(x.ours, shape, order=order), expected)
    same(sw.reshape(x.ours, shape, order=order, copy=True), expected)
    try:
        np.reshape(x.oracle, shape, order=order, copy=False)
    except ValueError:
        with pytest.raises(ValueError):
            sw.reshape(x.ours, shape, order=order, copy=False)
    else:
        same(sw.reshape(x.ours, shape, order=order, copy=False), expected)


@given(data=DATA)
def test_arranged(device, data):
    x = data.draw(pairs(device))
    ndim, shifts = x.oracle.ndim, st.integers(-7, 7)
    axis = axes_of(data.draw, ndim)
    shift = data.draw(shifts, label="shift")
    if isinstance(axis, tuple) and data.draw(st.booleans()):
        shift = tuple(data.draw(shifts) for _ in axis)
    if axis != ():
        same(sw.roll(x.ours, shift, axis=axis), np.roll(x.oracle, shift, axis=axis))
    axis, count = axis_of(data.draw, ndim), data.draw(st.integers(0, 3), label="count")
    same(sw.repeat(x.ours, count, axis=axis), np.repeat(x.oracle, count, axis=axis))
    extent = x.oracle.size if axis is None else x.oracle.shape[axis]
    counts = np.arange(extent) % 3
    same(sw.repeat(x.ours, sw.asarray(counts, device=device), axis=axis), np.repeat(x.oracle, counts, axis=axis))
    times = tuple(data.draw(st.lists(st.integers(0, 3), max_size=4), label="times"))
    same(sw.tile(x.ours, times), np.tile(x.oracle, times))


@given(data=DATA)
def test_broadcast(device, data):
    x = data.draw(pairs(device))
    ones = tuple(1 if data.draw(st.booleans()) else extent for extent in x.oracle.shape)
    y = data.draw(pairs(device, shapes=st.just(ones)))
    wide = (2, *x.oracle.shape)
    same(sw.broadcast_to(y.ours, wide), np.broadcast_to(y.oracle, wide))
    both = sw.broadcast_arrays(x.ours, y.ours)
    assert isinstance(both, tuple)
    for ours, oracle in zip(both, np.broadcast_arrays(x.oracle, y.oracle)):
        same(ours, oracle)
    assert sw.broadcast_shapes(wide, ones, ()) == np.broadcast_shapes(wide, ones, ())


@given(data=DATA)
def test_take(device, data):
    x = data.draw(pairs(device))
    assume(x.oracle.size > 0 and x.oracle.ndim > 0)
    axis = axis_of(data.draw, x.oracle.ndim)
    extent = x.oracle.size if axis is None else x.oracle.shape[axis]
    places = np.array(data.draw(st.lists(st.integers(-extent, extent - 1), max_size=6)), dtype="i8")
    ours = sw.asarray(places, device=device)
    same(sw.take(x.ours, ours, axis=axis), np.take(x.oracle, places, axis=axis))
    for mode in ("wrap", "clip"):
        same(sw.take(x.ours, ours * 3, axis=axis, mode=mode), np.take(x.oracle, places * 3, axis=axis, mode=mode))
    with pytest.raises(IndexError):
        sw.take(x.ours, sw.asarray([extent], device=device), axis=axis)
    if axis is not None:
        order = np.argsort(x.oracle.real if x.oracle.dtype.kind == "c" else x.oracle, axis=axis)
        same(
            sw.take_along_axis(x.ours, sw.asarray(order, device=device), axis=axis),
            np.take_along_axis(x.oracle, order, axis=axis),
        )


@given(data=DATA)
def test_put(device, data):
    x = data.draw(pairs(device))
    assume(x.oracle.size > 0 and x.oracle.ndim > 0)
    axis = axis_of(data.draw, x.oracle.ndim, none=False)
    places = np.array(data.draw(st.lists(st.integers(0, x.oracle.shape[axis] - 1), unique=True)), dtype="i8")
    expected = x.oracle.copy()
    key = (slice(None),) * (axis % x.oracle.ndim) + (places,)
    expected[key] = 1
    sw.put(x.ours, sw.asarray(places, device=device), 1, axis=axis)
    same(x.ours, expected)
    first = np.zeros([1 if one == axis % x.oracle.ndim else extent for one, extent in enumerate(x.oracle.shape)], "i8")
    np.put_along_axis(expected, first, 0, axis)
    sw.put_along_axis(x.ours, sw.asarray(first, device=device), 0, axis=axis)
    same(x.ours, expected)


@given(data=DATA)
def test_chosen(device, data):
    x = data.draw(pairs(device))
    condition = data.draw(pairs(device, BOOL, st.just(x.oracle.shape)))
    y = data.draw(pairs(device, [str(x.oracle.dtype), "bool"], st.just(x.oracle.shape)))
    expected = np.where(condition.oracle, x.oracle, y.oracle)
    same(sw.where(condition.ours, x.ours, y.ours), expected)
    out = sw.empty(expected.shape, dtype=str(expected.dtype), device=device)
    assert sw.where(condition.ours, x.ours, y.ours, out=out) is out
    same(out, expected)
    if x.oracle.dtype != bool:
        same(sw.where(condition.ours, x.ours, 1), np.where(condition.oracle, x.oracle, 1))
    same(sw.extract(condition.ours, x.ours), np.extract(condition.oracle, x.oracle))
    if x.oracle.ndim:
        found, places = sw.nonzero(x.ours), np.nonzero(x.oracle)
        assert isinstance(found, tuple) and len(found) == len(places)
        for ours, oracle in zip(found, places):
            same(ours, oracle)
    if x.oracle.size:
        values = np.ones(3, x.oracle.dtype)
        expected = x.oracle.copy()
        np.place(expected, condition.oracle, values)
        sw.place(x.ours, condition.ours, sw.asarray(values, device=device))
        same(x.ours, expected)


@given(data=DATA)
def test_clip(device, data):
    x = data.draw(pairs(device, INTEGERS + ["float16"] + REALS, wild=True))
    low, high = data.draw(st.sampled_from([(None, 1), (0, None), (0, 2), (2, 1)]), label="bounds")
    same(sw.clip(x.ours, low, high), np.clip(x.oracle, low, high))
    bound = data.draw(pairs(device, [str(x.oracle.dtype)], st.just(x.oracle.shape)))
    same(sw.clip(x.ours, max=bound.ours), np.clip(x.oracle, None, bound.oracle))
    same(sw.clip(x.ours, min=bound.ours, max=bound.ours + 1), np.clip(x.oracle, bound.oracle, bound.oracle + 1))
    same(sw.clip(x.ours), x.oracle)


@given(data=DATA)
def test_close(device, data):
    x = data.draw(pairs(device, INTEGERS + REALS + COMPLEX, wild=True))
    y = data.draw(pairs(device, [str(x.oracle.dtype)], st.just(x.oracle.shape), wild=True))
    nan = data.draw(st.booleans(), label="equal_nan")
    same(sw.isclose(x.ours, y.ours, equal_nan=nan), np.isclose(x.oracle, y.oracle, equal_nan=nan))
    assert bool(sw.allclose(x.ours, x.ours, equal_nan=nan)) == np.allclose(x.oracle, x.oracle, equal_nan=nan)


@given(data=DATA)
def test_sort(device, data):
    x = data.draw(pairs(device, ORDERED, wild=True))
    assume(x.oracle.ndim > 0)
    axis = axis_of(data.draw, x.oracle.ndim, none=False)
    same(sw.sort(x.ours, axis=axis), np.sort(x.oracle, axis=axis))
    same(sw.argsort(x.ours, axis=axis), np.argsort(x.oracle, axis=axis, stable=True))
    if x.oracle.dtype.kind not in "fb":
        # The order is the reverse, but that equal elements keep theirs.
        turned = x.oracle.astype("f8")
        same(sw.argsort(x.ours, axis=axis, descending=True), np.argsort(-turned, axis=axis, stable=True))
        expected = np.flip(np.sort(x.oracle, axis=axis), axis)
        same(sw.sort(x.ours, axis=axis, descending=True), expected)
        if x.oracle.shape[axis]:
            k = data.draw(st.integers(0, x.oracle.shape[axis]), label="k")
            values, places = sw.top_k(x.ours, k, axis=axis)
            same(values, np.take(expected, range(k), axis=axis))
            same(places, np.take(np.argsort(-turned, axis=axis, stable=True), range(k), axis=axis))


@given(data=DATA)
def test_searchsorted(device, data):
    table = data.draw(pairs(device, INTEGERS + REALS, st.integers(0, 9).map(lambda n: (n,))))
    x = data.draw(pairs(device, [str(table.oracle.dtype)]))
    side, ordered = data.draw(st.sampled_from(["left", "right"]), label="side"), np.sort(table.oracle)
    same(sw.searchsorted(sw.sort(table.ours), x.ours, side=side), np.searchsorted(ordered, x.oracle, side=side))
    same(
        sw.searchsorted(table.ours, x.ours, side=side, sorter=sw.argsort(table.ours)),
        np.searchsorted(ordered, x.oracle, side=side),
    )
    same(sw.searchsorted(sw.sort(table.ours), 1, side=side), np.searchsorted(ordered, 1, side=side))


@given(data=DATA)
def test_sets(device, data):
    x = data.draw(pairs(device, [dtype for dtype in ALL if dtype != "float16"]))
    same(sw.unique_values(x.ours), np.unique(x.oracle))
    for name in ("unique_all", "unique_counts", "unique_inverse"):
        ours, oracle = getattr(sw, name)(x.ours), getattr(np, name)(x.oracle)
        assert ours._fields == oracle._fields
        for mine, other in zip(ours, oracle):
            same(mine, other)
    y = data.draw(pairs(device, [str(x.oracle.dtype)]))
    invert = data.draw(st.booleans(), label="invert")
    same(sw.isin(x.ours, y.ours, invert=invert), np.isin(x.oracle, y.oracle, invert=invert))
    if x.oracle.dtype != bool:
        same(sw.isin(x.ours, 1, invert=invert), np.isin(x.oracle, 1, invert=invert))
        same(sw.isin(2, x.ours, invert=invert), np.isin(2, x.oracle, invert=invert))


@given(data=DATA)
def test_products(device, data):
    dtype = data.draw(st.sampled_from(NUMBERS), label="dtype")
    m, k, n = (data.draw(st.integers(0, 5)) for _ in range(3))
    stack = data.draw(st.sampled_from([(), (2,), (1,)]), label="stack")
    x = data.draw(pairs(device, [dtype], st.sampled_from([(k,), (m, k), (*stack, m, k)])))
    y = data.draw(pairs(device, [dtype], st.sampled_from([(k,), (k, n), (2, k, n)])))
    expected = np.matmul(x.oracle, y.oracle)
    same(sw.matmul(x.ours, y.ours), expected)
    out = sw.zeros(expected.shape, dtype=dtype, device=device)
    assert sw.matmul(x.ours, y.ours, out=out) is out
    same(out, expected)
    axes = data.draw(st.sampled_from([0, 1, (-1, 0), ((-1,), (-2,))]), label="axes")
    try:
        expected = np.tensordot(x.oracle, y.oracle, axes=axes)
    except (ValueError, IndexError):
        with pytest.raises(ValueError):
            sw.tensordot(x.ours, y.ours, axes=axes)
    else:
        same(sw.tensordot(x.ours, y.ours, axes=axes), expected)
    z = data.draw(pairs(device, [dtype], st.just(x.oracle.shape)))
    same(sw.vecdot(x.ours, z.ours), np.vecdot(x.oracle, z.oracle))
    if x.oracle.ndim > 1:
        same(sw.matrix_transpose(x.ours), np.matrix_transpose(x.oracle))
        same(sw.vecdot(x.ours, z.ours, axis=-2), np.vecdot(x.oracle, z.oracle, axis=-2))


@given(data=DATA)
def test_reductions_of_recorded_work(device, data):
    x = data.draw(pairs(device, REALS))
    y = data.draw(pairs(device, [str(x.oracle.dtype)], st.just(x.oracle.shape)))
    axis = axes_of(data.draw, x.oracle.ndim)
    same(sw.sum(x.ours * y.ours + 1, axis=axis), np.sum(x.oracle * y.oracle + 1, axis=axis))
    same(sw.max(x.ours, axis=()) - y.ours, x.oracle - y.oracle)
