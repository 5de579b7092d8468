"""Groups by keys, and products and extremes at places, at their edges: each beside NumPy, or beside a loop over its scalars."""

import numpy as np
import pytest

import stridewise as sw
from conftest import DTYPES

NAN = float("nan")


def same(ours, theirs, rtol=0.0):
    theirs = np.asarray(theirs)
    assert (ours.shape, str(ours.dtype)) == (theirs.shape, str(theirs.dtype))
    np.testing.assert_allclose(sw.asnumpy(ours), theirs, rtol=rtol, atol=0)


def values_of(rng, dtype, shape):
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    if kind in "iu":
        return rng.integers(0 if kind == "u" else -6, 7, shape).astype(dtype)
    found = rng.integers(-8, 9, shape) / 4
    return (found + 1j * rng.integers(-8, 9, shape) / 4 if kind == "c" else found).astype(dtype)


def total_of(dtype):
    return {"b": "int64", "i": "int64", "u": "uint64"}.get(np.dtype(dtype).kind, dtype)


def groups_of(keys):
    """The groups of keys by NumPy: the keys, and for each which elements have it."""
    unique, inverse = np.unique(keys, return_inverse=True, equal_nan=False)
    inverse = inverse.reshape(-1)
    return unique, [np.flatnonzero(inverse == number) for number in range(len(unique))]


def check(keys, values, **how):
    ours = sw.group_by(sw.asarray(keys, **how))
    unique, members = groups_of(keys)
    row, y = values.reshape(-1), sw.asarray(values, **how)
    same(ours.keys, unique)
    places = np.empty(keys.size, "int64")
    for number, each in enumerate(members):
        places[each] = number
    same(ours.places, places.reshape(keys.shape))
    same(ours.count(), np.array([len(each) for each in members], "int64"))
    assert len(ours) == len(unique)
    kind = values.dtype.kind
    wide = {"f": "float64", "c": "complex128"}.get(kind, total_of(values.dtype))
    # Of quarters, so that no sum is rounded on the way.
    same(ours.sum(y), np.array([row[each].astype(wide).sum() for each in members], wide).astype(total_of(values.dtype)))
    same(ours.first(y), np.array([row[each[0]] for each in members], values.dtype))
    mean = values.dtype if kind in "fc" else "float64"
    same(ours.mean(y), np.array([row[each].astype(wide).mean() for each in members], "complex128" if kind == "c" else "float64").astype(mean), 1e-3 if mean == "float16" else 1e-6)
    if kind == "c":
        for fold in (ours.min, ours.max):
            with pytest.raises(TypeError, match="complex"):
                fold(y)
    else:
        same(ours.min(y), np.array([row[each].min() for each in members], values.dtype))
        same(ours.max(y), np.array([row[each].max() for each in members], values.dtype))
    return ours


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(0,), (1,), (70,), (6, 7), (3000,)])
def test_keys_of_every_dtype(dtype, shape, rng):
    check(values_of(rng, dtype, shape), rng.integers(-9, 9, shape), device="host")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [0, 1, 500])
def test_values_of_every_dtype(dtype, count, rng):
    check(rng.integers(0, 9, count), values_of(rng, dtype, count), device="host")


@pytest.mark.parametrize("key", [(slice(None, None, -1),), (slice(None, None, -3), slice(1, None, 2)), (slice(None), slice(None, None, -1))])
def test_other_layouts(key, rng):
    keys, values = rng.integers(-4, 4, (30, 20)).astype("int16"), rng.integers(-9, 9, (30, 20))
    ours = sw.group_by(sw.asarray(keys)[key])
    theirs = groups_of(keys[key])
    same(ours.keys, theirs[0])
    same(ours.sum(sw.asarray(values)[key]), np.array([values[key].reshape(-1)[each].sum() for each in theirs[1]]))
    # Other strides than the keys'.
    turned = sw.permute_dims(sw.permute_dims(sw.asarray(values), (1, 0)), (1, 0))[key]
    same(ours.max(turned), np.array([values[key].reshape(-1)[each].max() for each in theirs[1]]))


@pytest.mark.parametrize("keys", [
    np.array([-(2**63), 2**63 - 1, 0, -(2**63), 2**63 - 1]), np.array([2**64 - 1, 0, 2**64 - 1], "uint64"), np.array([True, False, True]),
    np.array([-0.0, 0.0, 1.5, -1.5, 0.0]), np.array([np.inf, -np.inf, 1e308, np.inf]), np.array([5e-324, 0.0, 5e-324]),
], ids=["int64", "uint64", "bool", "zeros", "infinities", "tiny"])  # fmt: skip
def test_keys_far_apart(keys):
    check(keys, np.arange(keys.size, dtype="float64"))


def test_each_nan_is_a_group():
    keys = np.array([NAN, 1.0, NAN, 1.0, -np.inf, NAN])
    ours = check(keys, np.arange(6))
    assert len(ours) == 5 and ours.count().tolist() == [1, 2, 1, 1, 1]


def test_nan_among_values():
    ours = sw.group_by([0, 0, 1, 1, 2])
    same(ours.min([1.0, NAN, NAN, 2.0, 3.0]), np.array([NAN, NAN, 3.0]))
    same(ours.max([1.0, NAN, NAN, 2.0, 3.0]), np.array([NAN, NAN, 3.0]))
    same(ours.sum([1.0, NAN, NAN, 2.0, 3.0]), np.array([NAN, NAN, 3.0]))
    same(ours.first([1.0, NAN, NAN, 2.0, 3.0]), np.array([1.0, NAN, 3.0]))


def test_sums_of_integers_wrap():
    same(sw.group_by([0, 0]).sum([2**63 - 1, 1]), np.array([-(2**63)]))
    same(sw.group_by([0, 0]).sum(np.array([200, 100], "uint8")), np.array([300], "uint64"))


def test_groups_of_lists_and_others():
    ours = sw.group_by((3, 1, 3))
    for values in ([1, 2, 4], (1, 2, 4), np.array([1, 2, 4]), sw.asarray([1, 2, 4])):
        assert ours.sum(values).tolist() == [2, 5]
    # Wherever the keys are, lists come there.
    for device in sw.get_devices():
        ours = sw.group_by(sw.asarray([3, 1, 3], device=device))
        assert ours.sum([1, 2, 4]).tolist() == [2, 5] and ours.sum([1, 2, 4]).sycl_device == device
    assert sw.group_by(5).keys.tolist() == [5] and sw.group_by(5).sum(7).tolist() == [7]


def test_what_groups_refuse():
    ours = sw.group_by([1, 2, 1])
    with pytest.raises(ValueError, match=r"`values` is of shape \[2\]; expected .*\[3\].*help"):
        ours.sum([1, 2])
    with pytest.raises(ValueError, match="`values`"):
        ours.max(5)
    for fold in (ours.sum, ours.mean, ours.min, ours.max, ours.first):
        with pytest.raises(TypeError, match="`values` is of type str"):
            fold("abc")
    with pytest.raises(TypeError, match="`keys` is of type str"):
        sw.group_by("abc")


AT = {"add": np.add, "multiply": np.multiply, "minimum": np.minimum, "maximum": np.maximum}
NUMBERS = [dtype for dtype in DTYPES if dtype != "bool"]


def joined(name, x, places, values):
    """NumPy's ufunc at places; of complex numbers, which have no order, none."""
    expected = x.copy()
    with np.errstate(all="ignore"):
        AT[name].at(expected, places, values)
    return expected


@pytest.mark.parametrize("name", AT)
@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("count", [0, 1, 40, 3000])
def test_at_places(name, dtype, count, rng):
    x, values, places = values_of(rng, dtype, 11), values_of(rng, dtype, count), rng.integers(-11, 11, count)
    if name == "multiply" and np.dtype(dtype).kind in "fc":
        # Powers of two, so that no product is rounded, and few of them.
        values = np.ones(count, dtype)
        values[:40] = 2.0 ** rng.integers(-1, 2, min(count, 40))
    ours = sw.asarray(x, copy=True)
    function = getattr(sw, f"{name}_at")
    if name in ("minimum", "maximum") and dtype.startswith("complex"):
        with pytest.raises(TypeError, match=f"complex.*{name}_at|{name}_at.*complex"):
            function(ours, places, values)
        return
    if name == "add" and dtype == "float16":
        # The sum of many is rounded once, at the end, which NumPy's is each time.
        expected = joined(name, x.astype("float32"), places, values.astype("float32")).astype("float16")
    else:
        expected = joined(name, x, places, values)
    function(ours, places, values)
    same(ours, expected)


@pytest.mark.parametrize("name", AT)
def test_at_repeated_places(name):
    x = np.array([3.0, -2.0, 5.0])
    for places in ([1] * 50, [0, 0, 2, 2, 0], [-1, 2, -3, 0], [1], []):
        values = np.arange(len(places)) % 3 + 1.0
        ours = sw.asarray(x, copy=True)
        getattr(sw, f"{name}_at")(ours, places, values.tolist())
        same(ours, joined(name, x, np.array(places, int), values))


@pytest.mark.parametrize("name", AT)
def test_at_other_indices(name, rng):
    x = rng.integers(-9, 9, (6, 5)).astype("float64")
    for index in (2, slice(None, None, -2), ([0, 0, 5], [1, 1, 4]), (slice(1, 3), [0, 0, -1]), x > 3, (..., 1), (None, 3), ([[0, 1], [1, 0]],)):
        ours = sw.asarray(x, copy=True)
        getattr(sw, f"{name}_at")(ours, index, 2)
        same(ours, joined(name, x, index, 2))


@pytest.mark.parametrize("name", AT)
def test_at_elements_of_views(name, rng):
    x, places = rng.integers(-9, 9, 60).astype("int32"), rng.integers(-10, 10, 200)
    for key in (slice(None, None, -3), slice(5, 45, 2), slice(20, 40)):
        ours, theirs = sw.asarray(x, copy=True), x.copy()
        getattr(sw, f"{name}_at")(ours[key], places, 3)
        with np.errstate(all="ignore"):
            AT[name].at(theirs[key], places, 3)
        # What the view has not stays.
        same(ours, theirs)
    square = rng.integers(-9, 9, (8, 8))
    ours, theirs = sw.asarray(square, copy=True), square.copy()
    getattr(sw, f"{name}_at")(ours.T[1:], ([0, 0, 6], [7, 7, 1]), [2, 3, 4])
    AT[name].at(theirs.T[1:], ([0, 0, 6], [7, 7, 1]), [2, 3, 4])
    same(ours, theirs)


@pytest.mark.parametrize("name", AT)
def test_at_places_and_values_of_the_same_memory(name):
    """What is read is what was there before anything is written."""
    start = np.array([2, 0, 1, 3, 2, 1])
    ours = sw.asarray(start, copy=True)
    getattr(sw, f"{name}_at")(ours, ours, ours)
    same(ours, joined(name, start, start.copy(), start.copy()))
    ours = sw.asarray(start, copy=True)
    getattr(sw, f"{name}_at")(ours[1:], [0, 0, 4, 2, 2], ours[:-1])
    expected = start.copy()
    AT[name].at(expected[1:], [0, 0, 4, 2, 2], start[:-1].copy())
    same(ours, expected)


@pytest.mark.parametrize("name", AT)
def test_what_is_refused_at_places(name):
    function, x = getattr(sw, f"{name}_at"), sw.arange(3)
    for places in ([3], [-4], [0, 7], sw.asarray([3])):
        with pytest.raises(IndexError, match=r"out of bounds: `\w+` is .*(3|-4|7).*; expected .*3.*; help: "):
            function(x, places, 1)
    with pytest.raises(TypeError, match="dtype: .*float64.*; expected .*int64.*; help"):
        function(x, [0], [1.5])
    with pytest.raises(ValueError, match="shape mismatch: .*; expected .*; help"):
        function(x, [0, 1], [1, 2, 3])
    with pytest.raises(TypeError, match=f"bool.*{name}_at"):
        function(sw.zeros(2, dtype="bool"), [0], True)
    with pytest.raises(TypeError, match=r"`x` is of type list; expected a usm_ndarray or a NumPy array to write to"):
        function([1, 2], [0], 1)
    with pytest.raises(ValueError, match="read-only"):
        function(sw.broadcast_to(sw.zeros(1), (3,)), [0], 1)
    # On an error nothing is written.
    assert x.tolist() == [0, 1, 2]
