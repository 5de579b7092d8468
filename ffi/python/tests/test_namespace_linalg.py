"""`linalg` and `fft` against NumPy's, on random arrays of random layouts, on every device."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stridewise as sw
from arrays import COMPLEX, DEVICES, INTEGERS, NUMBERS, REALS, axes_of, pairs
from conftest import close, same

DATA = st.data()
MATRICES = st.lists(st.integers(1, 4), min_size=2, max_size=3).map(tuple)
on_devices = pytest.mark.parametrize("device", DEVICES)


def near(ours, oracle, ulp=16):
    """As `close`, of a result that may be of single precision where the device has no double."""
    oracle = np.asarray(oracle)
    close(ours, oracle.astype(ours.dtype.name) if oracle.dtype.kind == "f" else oracle, ulp=ulp)


@on_devices
@given(data=DATA)
def test_products(device, data):
    x = data.draw(pairs(device, NUMBERS, st.integers(0, 5).map(lambda n: (n,))))
    y = data.draw(pairs(device, [str(x.oracle.dtype)], st.integers(0, 5).map(lambda n: (n,))))
    same(sw.linalg.outer(x.ours, y.ours), np.linalg.outer(x.oracle, y.oracle))
    x = data.draw(pairs(device, NUMBERS, st.sampled_from([(3,), (2, 3), (2, 1, 3)])))
    y = data.draw(pairs(device, [str(x.oracle.dtype)], st.sampled_from([(3,), (2, 3)])))
    same(sw.linalg.cross(x.ours, y.ours), np.linalg.cross(x.oracle, y.oracle))
    z = data.draw(pairs(device, [str(x.oracle.dtype)], st.just(x.oracle.shape)))
    same(sw.linalg.vecdot(x.ours, z.ours), np.linalg.vecdot(x.oracle, z.oracle))
    same(sw.linalg.tensordot(x.ours, z.ours, axes=0), np.linalg.tensordot(x.oracle, z.oracle, axes=0))


@on_devices
@given(data=DATA)
def test_diagonals(device, data):
    x, offset = data.draw(pairs(device, NUMBERS, MATRICES)), data.draw(st.integers(-4, 4), label="offset")
    same(sw.linalg.diagonal(x.ours, offset=offset), np.linalg.diagonal(x.oracle, offset=offset))
    same(sw.linalg.trace(x.ours, offset=offset), np.linalg.trace(x.oracle, offset=offset))
    if x.oracle.dtype.kind != "c":
        same(sw.linalg.trace(x.ours, dtype="float32"), np.linalg.trace(x.oracle, dtype="float32"))
    same(sw.linalg.matrix_transpose(x.ours), np.linalg.matrix_transpose(x.oracle))
    same(sw.linalg.matmul(x.ours, sw.linalg.matrix_transpose(x.ours)), x.oracle @ np.matrix_transpose(x.oracle))


@on_devices
@pytest.mark.parametrize("ord", [2, 1, 0, 3, 0.5, math.inf, -math.inf])
@given(data=DATA)
def test_vector_norm(device, ord, data):
    x = data.draw(pairs(device, INTEGERS + REALS + COMPLEX, MATRICES))
    axis, keepdims = axes_of(data.draw, x.oracle.ndim), data.draw(st.booleans(), label="keepdims")
    ours = sw.linalg.vector_norm(x.ours, axis=axis, keepdims=keepdims, ord=ord)
    oracle = x.oracle.astype("c16" if x.oracle.dtype.kind == "c" else "f8")
    if axis == ():
        # NumPy has no norm over no axes; it is the magnitude, but for order 0.
        expected = (oracle != 0) if ord == 0 else np.abs(oracle)
    else:
        expected = np.linalg.vector_norm(oracle, axis=axis, keepdims=keepdims, ord=ord)
    near(ours, np.asarray(expected, dtype="f8"), ulp=64)
    assert ours.dtype == sw.finfo(x.ours.dtype if x.oracle.dtype.kind in "fc" else sw.ones(1, device=device)).dtype


@on_devices
@pytest.mark.parametrize("ord", ["fro", "nuc", None, 1, -1, 2, -2, math.inf, -math.inf])
@given(data=DATA)
def test_matrix_norm(device, ord, data):
    x, keepdims = data.draw(pairs(device, REALS + COMPLEX, MATRICES)), data.draw(st.booleans(), label="keepdims")
    expected = np.linalg.matrix_norm(x.oracle, ord=ord, keepdims=keepdims)
    near(sw.linalg.matrix_norm(x.ours, ord=ord, keepdims=keepdims), expected)


@on_devices
@given(data=DATA)
def test_matrix_power(device, data):
    n, extent = data.draw(st.integers(0, 6), label="n"), data.draw(st.integers(0, 3), label="extent")
    stack = data.draw(st.sampled_from([(), (2,)]), label="stack")
    x = data.draw(pairs(device, ["int64", "int32"], st.just((*stack, extent, extent))))
    same(sw.linalg.matrix_power(x.ours, n), np.linalg.matrix_power(x.oracle, n))


def test_linalg_refuses():
    a = sw.ones((2, 3), device="host")
    for call, error in [
        (lambda: sw.linalg.matrix_power(a, 2), ValueError),
        (lambda: sw.linalg.matrix_power(a[:, :2], -1), sw.linalg.LinAlgError),
        (lambda: sw.linalg.matrix_norm(a, ord=3), ValueError),
        (lambda: sw.linalg.matrix_norm(a, ord="text"), ValueError),
        (lambda: sw.linalg.matrix_norm(a[0]), IndexError),
        (lambda: sw.linalg.vector_norm("text"), TypeError),
        (lambda: sw.linalg.outer(a, a), ValueError),
        (lambda: sw.linalg.cross(a[:, :2], a[:, :2]), ValueError),
        (lambda: sw.linalg.diagonal(a[0]), IndexError),
        (lambda: sw.matmul(a, a), ValueError),
        (lambda: sw.matmul(a, sw.sum(a)), IndexError),
        (lambda: sw.tensordot(a, a, axes=(0,)), ValueError),
    ]:
        with pytest.raises(error):
            call()
