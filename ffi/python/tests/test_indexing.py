"""Reading and writing by keys, against NumPy."""

import enum
import random

import numpy as np
import pytest

import stridewise as sw
from conftest import both, same

SHAPE = (4, 5, 6)
DEVICES = [device.filter_string for device in sw.get_devices()]


class Place(enum.IntEnum):
    LAST = -1


def ours(key):
    """A key with NumPy's arrays replaced by ours."""
    if isinstance(key, tuple):
        return tuple(ours(item) for item in key)
    if isinstance(key, np.ndarray):
        return sw.asarray(key.tolist(), dtype=str(key.dtype))
    return key


BASIC = [
    0, -1, slice(None), slice(1, None, 2), slice(None, None, -1), slice(3, 0, -2), slice(10, 20), slice(-100, 100),
    Ellipsis, None, (), (0, 1), (0, 1, 2), (Ellipsis, 0), (0, Ellipsis, 0), (slice(1, 3), Ellipsis, None),
    (None, 0, None, slice(2)), (slice(None), 2), (slice(1, -1), slice(None, None, -2), slice(2, 5)), slice(0, 0),
    slice(-(1 << 70), 1 << 70), slice(1 << 70, None, -(1 << 70)), (Ellipsis, None), np.int64(2), (np.uint8(1), 0),
    Place.LAST, (slice(None), Place.LAST), (np.int8(-1), slice(None), np.uint64(2)),
]  # fmt: skip

LAST = np.array([5, 0, -1])
ROWS = np.array([3, 0])
ADVANCED = [
    ROWS, np.array([[0, 1], [2, -1]]), [0, 2], [[0], [3]], (ROWS, np.array([4, 1])), (slice(None), np.array([0, 4, 4])),
    (Ellipsis, LAST), (ROWS, Ellipsis, np.array([1, 2])), (0, slice(None), LAST), (slice(None), 0, LAST),
    (LAST[:2] * 0, slice(1, 3), np.array([[0], [1]])), (None, ROWS), (ROWS, None, np.array([1, 2])),
    (np.array([[0], [3]]), np.array([0, 2, 4]), slice(None, None, -1)), (ROWS, 1, np.array([1, 2])),
    (ROWS, slice(None), 1), (1, ROWS), np.array([], dtype="int64"), [], (np.array([1], dtype="u1"), [2]),
    np.array(2), (np.array(2), slice(None)), (slice(1, 3), ROWS[:1], None, [0, 1]),
    (np.array([True, False, True, True]),), np.arange(20).reshape(4, 5) % 3 == 0, np.arange(120).reshape(SHAPE) % 7 == 1,
    (slice(None), np.array([True, False, True, False, True])), (ROWS[:1], np.array([True, False, True, False, True])),
    (np.array([True, False, True, True]), slice(None), np.array([0, 1, 2])),
    (0, np.arange(30).reshape(5, 6) > 12), [True, False, False, True], np.zeros(4, bool), (Ellipsis, np.ones(6, bool)),
]  # fmt: skip


@pytest.mark.parametrize("key", BASIC)
def test_basic(key, kind):
    x, a = both(np.arange(120).reshape(SHAPE), kind=kind)
    same(a[key], x[key])


@pytest.mark.parametrize("key", BASIC)
def test_basic_is_a_view(key):
    x, a = both(np.arange(120).reshape(SHAPE))
    part = a[key]
    if all(isinstance(place, (int, np.integer)) for place in (key if isinstance(key, tuple) else (key,))) and part.ndim == 0:
        # An element is a value; with an ellipsis it is a view.
        assert part.usm_data._pointer != a.usm_data._pointer
        part = a[(*key, ...)]
    assert part.usm_data._pointer == a.usm_data._pointer
    part[...] = -1
    x[key] = -1
    same(a, x)


@pytest.mark.parametrize("key", ADVANCED)
def test_advanced(key):
    x, a = both(np.arange(120).reshape(SHAPE))
    same(a[ours(key)], x[key])
    same(a[::-1, :, ::1][ours(key)], x[::-1, :, ::1][key])


@pytest.mark.parametrize("key", BASIC + ADVANCED)
def test_assign_number(key):
    x, a = both(np.arange(120).reshape(SHAPE))
    x[key] = -5
    a[ours(key)] = -5
    same(a, x)


@pytest.mark.parametrize("key", BASIC + ADVANCED)
def test_assign_array(key):
    x, a = both(np.arange(120).reshape(SHAPE))
    count = x[key].size
    values = np.arange(count).reshape(x[key].shape) * 10
    x[key] = values
    a[ours(key)] = sw.asarray(values.tolist(), dtype="int64") if count else sw.zeros(values.shape, dtype="int64")
    same(a, x)


@pytest.mark.parametrize("key", [0, (slice(None), 0), ROWS, (Ellipsis, LAST), [True, False, True, True]])
def test_assign_broadcasts(key):
    x, a = both(np.arange(120).reshape(SHAPE))
    last = x[key].shape[-1]
    x[key] = np.arange(last)
    a[ours(key)] = list(range(last))
    same(a, x)
    x[key] = np.arange(last).reshape(1, 1, 1, last)
    a[ours(key)] = [[[list(range(last))]]]
    same(a, x)


@pytest.mark.parametrize("key", [4, -5, (0, 5), (0, 0, 6), (0, 0, 0, 0), np.array([4]), np.array([-5]), (0, [7]), 1 << 70])
def test_out_of_range(key):
    a = sw.zeros(SHAPE)
    for use in (lambda: a[ours(key)], lambda: a.__setitem__(ours(key), 1)):
        with pytest.raises(IndexError):
            use()
    assert not sw.asnumpy(a).any()


@pytest.mark.parametrize(
    ("key", "error"),
    [
        ("text", TypeError), (1.5, TypeError), ([1.5], TypeError), (slice(None, None, 0), ValueError),
        ((Ellipsis, Ellipsis), ValueError), (slice("a"), TypeError), ({}, TypeError), (np.ones(3, bool), ValueError),
        ((np.array([0, 1]), np.array([0, 1, 2])), ValueError), ([[1], [1, 2]], ValueError),
    ],
)  # fmt: skip
def test_wrong_keys(key, error):
    a = sw.zeros(SHAPE)
    for use in (lambda: a[ours(key)], lambda: a.__setitem__(ours(key), 1)):
        with pytest.raises(error):
            use()


def test_wrong_values():
    a = sw.zeros(3)
    for value, error in [("text", TypeError), (None, TypeError), ([1, 2], ValueError), (sw.zeros((2, 3)), ValueError)]:
        with pytest.raises(error):
            a[...] = value
    with pytest.raises(TypeError):
        a[0] = 1j


def test_assignment_converts(dtype):
    for value in (2, 2.75, True, 0):
        x, a = both([0, 1, 0], dtype)
        x[1], a[1] = value, value
        same(a, x)
    x, a = both([0, 1, 0], dtype)
    y, b = both([1.75, 0.0, 3.25])
    a[...] = b
    x[...] = y
    same(a, x)


def test_assignment_of_overlapping_parts():
    x, a = both(np.arange(10))
    x[2:], a[2:] = x[:-2].copy(), a[:-2]
    same(a, x)
    x, a = both(np.arange(10))
    x[...], a[...] = x[::-1].copy(), a[::-1]
    same(a, x)
    x, a = both(np.arange(10))
    order = np.array([3, 1, 4, 1, 5])
    x[order], a[ours(order)] = x[:5].copy(), a[:5]
    same(a, x)


def test_zero_dimensions():
    x, a = both(3)
    same(a[()], x)
    same(a[...], x)
    same(a[None], x[None])
    a[()] = 7
    assert int(a) == 7
    mask = sw.asarray(True)
    same(a[mask], np.asarray(7)[np.asarray(True)])
    with pytest.raises(IndexError):
        a[0]


def test_a_part_of_recorded_work_reads_right():
    a = sw.arange(1 << 15, dtype="f4")
    b = (a + 1) * 2
    part = b[5]
    a[...] = 0
    assert part == 12 and b[6] == 14


def test_truth_values_of_numpy_are_masks():
    x, a = both(np.arange(120).reshape(SHAPE))
    for truth in (True, False, np.True_, np.False_):
        same(a[truth], x[truth])


def test_sequences_as_keys_and_values():
    x, a = both(np.arange(120).reshape(SHAPE))
    same(a[range(1, 3)], x[range(1, 3)])
    a[0, 0], x[0, 0] = range(6), range(6)
    same(a, x)


@pytest.mark.parametrize("device", DEVICES)
def test_numpy_arrays_as_keys_and_values(device):
    for kind in ("device", "host"):
        x = np.arange(120).reshape(SHAPE)
        a = sw.asarray(x, device=device, usm_type=kind, copy=True)
        mask = x % 7 == 1
        same(a[ROWS], x[ROWS])
        same(a[mask], x[mask])
        same(a[ROWS, :, LAST[:2]], x[ROWS, :, LAST[:2]])
        a[ROWS], x[ROWS] = np.arange(6), np.arange(6)
        a[mask], x[mask] = np.float32(2.5), np.float32(2.5)
        a[:, 0], x[:, 0] = x[:, 1].copy(), x[:, 1].copy()
        same(a, x)


def test_masks_of_comparisons():
    x, a = both(np.arange(20) - 10)
    same(a[a > 3], x[x > 3])
    a[a < 0] = 0
    x[x < 0] = 0
    same(a, x)
    same(a[(a > 2) & (a < 6)], x[(x > 2) & (x < 6)])


def test_keys_of_other_shapes_are_index_errors():
    x = sw.zeros((3, 4))
    for key in (np.ones(2, bool), sw.ones((3, 3), dtype="bool"), (np.array([0, 1]), np.array([0, 1, 2]))):
        with pytest.raises(IndexError, match="shape"):
            x[key]
        with pytest.raises(IndexError, match="shape"):
            x[key] = 1
    # Where it is the value that does not fit, not.
    with pytest.raises(ValueError) as caught:
        x[np.array([0, 1])] = np.ones(3)
    assert not isinstance(caught.value, IndexError) and not sw.any(x)


@pytest.mark.parametrize("value", [300, np.int64(300), [300], [-1], 1j])
def test_values_that_do_not_fit_are_refused_whoever_writes(value):
    place = sw.asarray([1])
    writers = {
        "x[:] =": lambda x: x.__setitem__(slice(None), value),
        "x[1] =": lambda x: x.__setitem__(1, value),
        "x[[1]] =": lambda x: x.__setitem__(place, value),
        "put": lambda x: sw.put(x, place, value),
        "put_along_axis": lambda x: sw.put_along_axis(x, place, value),
        "add_at": lambda x: sw.add_at(x, place, value),
    }
    for name, write in writers.items():
        x = sw.ones(3, dtype="u1")
        with pytest.raises(TypeError):
            write(x)
            pytest.fail(f"{name} {value!r} gave {x}")
        assert sw.all(x == 1)


def test_a_number_that_does_not_fit_is_named():
    for value in (1e300, np.float64(1e300)):
        with pytest.raises(TypeError, match="1e300|1000000"):
            sw.ones(3, dtype="i1")[0] = value


@pytest.mark.parametrize("values", [7, np.int64(7), [7, 8], (7, 8), np.array([7, 8]), np.array([7, 8], dtype=">i4")])
def test_put_takes_what_an_assignment_takes(values):
    x, y, z = (sw.zeros(4, dtype="u1") for _ in range(3))
    x[sw.asarray([3, 1])] = values
    sw.put(y, [3, 1], values)
    sw.put_along_axis(z, sw.asarray([3, 1]), values)
    assert sw.asnumpy(x).tolist() == sw.asnumpy(y).tolist() == sw.asnumpy(z).tolist()
    assert sw.asnumpy(x)[1] == (7 if np.ndim(values) == 0 else 8)


def test_an_element_is_a_value(dtype):
    n = np.arange(12).reshape(3, 4).astype(dtype)
    x = sw.asarray(n, copy=True)
    for read in (lambda a: a[1, 2], lambda a: a[-1, np.int64(-1)], lambda a: a[(2, 0)], lambda a: a[0][3], lambda a: a.T[1, 1]):
        value, expected = read(x), read(n)
        assert value.shape == () and value.dtype == x.dtype and value.usm_type == x.usm_type
        x[...] = 1
        assert value.tolist() == expected.item()
        # Nor do writes to it reach the array.
        value[...] = 0
        assert bool(sw.all(x == sw.ones_like(x)))
        x[...] = sw.asarray(n)
    view = x[1, 2, ...]
    x[1, 2] = 1
    assert view.tolist() == sw.ones((), dtype=dtype).tolist()
    zero = sw.asarray(n[0, 1], copy=True)
    value, whole = zero[()], zero[...]
    zero[...] = 0
    assert value.tolist() == n[0, 1].item() and whole.tolist() == zero.tolist()


@pytest.mark.parametrize("kind", ["host", "shared", "device"])
@pytest.mark.parametrize("recorded", [False, True])
def test_elements_change_places(kind, recorded):
    x = sw.arange(4.0, usm_type=kind)
    scale = 2 if recorded else 1
    x = x * 2 if recorded else x
    x[0], x[1] = x[1], x[0]
    a, b, c, d = x
    x[2], x[3] = d, c
    assert x.tolist() == [scale * k for k in (1, 0, 3, 2)]
    parts = sw.unstack(x)
    x[...] = 0
    assert [part.tolist() for part in parts] == [scale * k for k in (1, 0, 3, 2)] and a.tolist() == scale
    y = sw.arange(100.0, usm_type=kind)
    random.seed(1)
    random.shuffle(y)
    assert sorted(y.tolist()) == list(range(100)) and y.tolist() != list(range(100))
    # Of more dimensions, the parts are views.
    z = sw.zeros((2, 3), usm_type=kind)
    for row in z:
        row[1] = 5
    sw.unstack(z)[0][2] = 7
    assert z.tolist() == [[0, 5, 7], [0, 5, 0]]


def test_places_that_are_none_are_errors_as_before():
    x = sw.arange(3)
    for key in (3, -4, (0, 0), (0, 0, 0), 1 << 70):
        with pytest.raises(IndexError):
            x[key]
    with pytest.raises(IndexError):
        sw.zeros((2, 0))[1, 0]
