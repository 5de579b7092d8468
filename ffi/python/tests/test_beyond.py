"""Integers that a dtype, or every machine number, is too small for."""

import pytest

import stridewise as sw


def test_integers_beyond_a_dtype_are_sought_and_placed_among_its_elements():
    for dtype in ("uint8", "int8", "uint64", "int64", "float32"):
        x = sw.asarray([0, 1, 1, 5], dtype=dtype)
        for number in (-1, 300, -300, 2**63, 2**64, 2**70, -(2**70), 10**300, -(10**300)):
            assert not bool(sw.any(sw.isin(x, number))) and not bool(sw.isin(number, x))
            assert bool(sw.all(sw.isin(x, number, invert=True)))
            for side in ("left", "right"):
                assert int(sw.searchsorted(x, number, side=side)) == (0 if number < 0 else 4), (dtype, number, side)
    full = sw.asarray([0, 2**64 - 1], dtype="uint64")
    assert sw.isin(full, 2**64).tolist() == [False, False]
    assert int(sw.searchsorted(full, 2**64)) == 2


def test_numbers_that_fit_nowhere_are_named():
    with pytest.raises(IndexError, match=str(10**30)):
        sw.ones(3)[10**30]
    with pytest.raises(IndexError, match=str(-(10**30))):
        sw.ones(3)[-(10**30)] = 1
    with pytest.raises(OverflowError, match=f"`shape` is {10**30}"):
        sw.zeros(10**30)
    with pytest.raises(OverflowError, match="`shape` is "):
        sw.zeros((2, 10**30))
    with pytest.raises(ValueError, match=str(2**62)):
        sw.bincount(sw.asarray([2**62]))
    assert str(sw.broadcast_to(sw.asarray(1.0), (1 << 40,))) == "[1. 1. 1. ... 1. 1. 1.]"
