"""Promotion, conversion and limits of dtypes, and the constants, against NumPy."""

import itertools
import math

import numpy as np
import pytest

import stridewise as sw
from conftest import DTYPES


@pytest.mark.parametrize("first, second", list(itertools.product(DTYPES, DTYPES)))
def test_pairs(first, second):
    a, b = getattr(sw, first), getattr(sw, second)
    oracle = np.result_type(first, second)
    assert sw.result_type(a, b) == oracle.name
    assert sw.result_type(sw.ones(1, dtype=a, device="host"), b) == oracle.name
    assert sw.can_cast(a, b) == np.can_cast(first, second)
    assert sw.can_cast(a, b, casting="same_kind") == np.can_cast(first, second, "same_kind")
    assert sw.can_cast(a, b, casting="no") == (first == second)
    assert sw.can_cast(a, b, casting="unsafe")


@pytest.mark.parametrize("number", [True, 1, 1.5, 2j])
def test_numbers(dtype, number):
    if isinstance(number, bool):
        assert sw.result_type(sw.dtype(dtype), number) == dtype
    else:
        assert sw.result_type(sw.dtype(dtype), number) == np.result_type(np.dtype(dtype), number).name


def test_numbers_that_do_not_fit():
    with pytest.raises(TypeError):
        sw.result_type(sw.uint8, -1)
    with pytest.raises(TypeError):
        sw.result_type(sw.ones(2, dtype="i1"), 1000)


def test_limits(dtype):
    if np.dtype(dtype).kind in "fc":
        oracle, ours = np.finfo(dtype), sw.finfo(getattr(sw, dtype))
        names = ["bits", "eps", "max", "min", "smallest_normal"]
        assert ours.dtype == oracle.dtype
    elif np.dtype(dtype).kind in "iu":
        oracle, ours = np.iinfo(dtype), sw.iinfo(sw.ones(2, dtype=dtype, device="host"))
        names = ["bits", "max", "min"]
        assert ours.dtype == dtype
    else:
        for function in (sw.finfo, sw.iinfo):
            with pytest.raises(TypeError):
                function(getattr(sw, dtype))
        return
    for name in names:
        assert getattr(ours, name) == getattr(oracle, name)
        assert type(getattr(ours, name)) in (int, float)
    assert dtype.replace("complex64", "float32").replace("complex128", "float64") in repr(ours)


def test_constants():
    assert (sw.e, sw.pi, sw.inf, sw.newaxis) == (math.e, math.pi, math.inf, None)
    assert math.isnan(sw.nan)
