"""Numbers at the edges of dtypes: beside arrays of other ranges, in reductions, assigned and compared."""

import operator

import numpy as np
import pytest

import stridewise as sw
from conftest import same

COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]
LENGTHS = [0, 1, 15, 16, 17, 1023, 1024, 1025, 4095, 4096, 4097]
SIGNED = [-(2**63), -1, 0, 1, 2**53, 2**53 + 1, 2**62, 2**63 - 1]
UNSIGNED = [0, 1, 2**53, 2**53 + 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1]


@pytest.mark.parametrize("name", COMPARISONS)
@pytest.mark.parametrize("length", LENGTHS)
def test_integers_of_either_sign_compare_exactly(name, length):
    compare = getattr(operator, name)
    pairs = [(a, b) for a in SIGNED for b in UNSIGNED]
    a, b = zip(*(pairs[i % len(pairs)] for i in range(length)), strict=True) if length else ((), ())
    signed, unsigned = sw.asarray(np.array(a, "i8")), sw.asarray(np.array(b, "u8"))
    same(compare(signed, unsigned), np.array([compare(p, q) for p, q in zip(a, b, strict=True)], bool))
    same(compare(unsigned, signed), np.array([compare(q, p) for p, q in zip(a, b, strict=True)], bool))
    same(compare(unsigned[::-1], signed), np.array([compare(q, p) for p, q in zip(a, b[::-1], strict=True)], bool))
    for value in SIGNED:
        expected = np.array([compare(q, value) for q in b], bool)
        same(compare(unsigned, sw.asarray(value)), expected)
        same(compare(unsigned, np.int64(value)), expected)


@pytest.mark.parametrize("name", COMPARISONS)
@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "u4", "i8", "u8", "f4", "f8", "f2", "bfloat16"])
def test_comparisons_with_integers_beyond_every_range(name, dtype):
    compare = getattr(operator, name)
    ours = sw.asarray([0, 1, 100], dtype=dtype)
    for number in (2**64, -(2**64), 2**126, 2**127, -(2**127) - 1, 2**200, -(2**200), 2**1100, -(2**1100)):
        same(compare(ours, number), np.full(3, compare(1, number)))
        same(compare(number, ours), np.full(3, compare(number, 1)))


def test_membership_and_searches_among_integers_of_either_sign():
    signed, unsigned = sw.asarray(np.array(SIGNED, "i8")), sw.asarray(np.array(UNSIGNED, "u8"))
    for invert in (False, True):
        same(sw.isin(unsigned, signed, invert=invert), np.array([(u in SIGNED) != invert for u in UNSIGNED]))
        same(sw.isin(signed, unsigned, invert=invert), np.array([(i in UNSIGNED) != invert for i in SIGNED]))
    for side, before in (("left", operator.lt), ("right", operator.le)):
        expected = np.array([sum(before(i, u) for i in SIGNED) for u in UNSIGNED])
        same(sw.searchsorted(signed, unsigned, side=side), expected)
        expected = np.array([sum(before(u, i) for u in UNSIGNED) for i in SIGNED])
        same(sw.searchsorted(unsigned, signed, side=side), expected)


@pytest.mark.parametrize("number", [2**127, -(2**127) - 1, 2**130, -(2**200)])
def test_integers_of_more_than_127_bits_beside_floats(number):
    for dtype in ("f4", "f8", "c8", "c16"):
        a, x = sw.ones(2, dtype=dtype), np.ones(2, dtype=dtype)
        with np.errstate(all="ignore"):
            nearest = x.dtype.type(float(number))
            same(a + number, x + nearest)
            same(number - a, nearest - x)
            a *= number
            same(a, x * nearest)
            same(sw.full(2, number, dtype=dtype), np.full(2, nearest, dtype=dtype))
            same(sw.asarray([number, 1], dtype=dtype), np.array([nearest, 1], dtype=dtype))
            a[0] = number
            same(a[0], np.asarray(nearest))
    for dtype in ("i1", "u8", "i8", "bool"):
        a = sw.ones(2, dtype=dtype)
        with pytest.raises(TypeError):
            a + number
    with pytest.raises(TypeError):
        sw.asarray([number])
    with pytest.raises((TypeError, OverflowError)):
        sw.ones(2) + 2**1100


@pytest.mark.parametrize("length", [1, 16, 17, 1025, 4097])
@pytest.mark.parametrize("dtype", ["bool", "i1", "u8", "i8", "f2", "bfloat16", "f4", "c8"])
def test_sums_and_products_of_truth_values(dtype, length):
    for values in ([0] * length, [1] * length, [1, *[0] * (length - 1)], [*[1] * (length - 1), 0]):
        a = sw.asarray(values, dtype=dtype)
        x = np.array(values, bool)
        for ours in (a, a[::-1], sw.abs(a) if dtype != "bool" else a, sw.stack([a, a])):
            same(sw.sum(ours, dtype="bool"), np.asarray(np.sum(x, dtype=bool)))
            same(sw.prod(ours, dtype="bool"), np.asarray(np.prod(x, dtype=bool)))
        same(sw.sum(sw.stack([a, a]), axis=1, dtype="bool"), np.full(2, np.any(x)))
        same(sw.prod(sw.stack([a, a]), axis=0, dtype="bool"), x)
    if dtype not in ("bool", "u8"):
        same(sw.sum(sw.asarray([1, -1], dtype=dtype), dtype="bool"), np.asarray(True))
        same(sw.linalg.trace(sw.asarray([[1, 0], [0, -1]], dtype=dtype), dtype="bool"), np.asarray(True))


@pytest.mark.parametrize(
    "dtype, number",
    [
        ("uint8", 300), ("uint8", -1), ("int8", 200), ("int64", 2**63), ("uint64", -1), ("int32", 2**40), ("uint8", 2**200),
        ("uint8", float("nan")), ("int32", float("inf")), ("int16", 1e6), ("float32", 1j), ("int8", 1j),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_not_assigned(dtype, number):
    sources = [number, [number], (number,), [[number]], [sw.asarray(0, dtype=dtype), number]]
    if isinstance(number, int) and abs(number) < 2**62:
        sources += [range(number, number + 1), np.int64(number), [np.int64(number)]]
    for source in sources:
        a = sw.zeros((1, 2) if len(np.shape(source)) < 2 and sources.index(source) == 4 else 1, dtype=dtype)
        keys = [slice(None), ...] if a.ndim == 2 else [slice(None), ..., sw.asarray([0]), sw.asarray([True])]
        for key in keys:
            with pytest.raises((TypeError, OverflowError, ValueError)):
                a[key] = source
            assert not sw.any(a)


def test_what_fits_is_assigned_from_sequences():
    a = sw.zeros(3, dtype="u1")
    for source in ([1, 2, 255], (1, 2.9, 255), range(3), [True, 2, 3], [np.uint8(1), 2, np.float64(3.7)], [sw.asarray(1), 2, 3]):
        x = np.zeros(3, "u1")
        a[:] = source
        x[:] = [int(value) for value in source]
        same(a, x)
    b = sw.zeros((2, 2), dtype="bool")
    b[...] = [[0, 2.5], [1j, 0]]
    same(b, np.array([[False, True], [True, False]]))
