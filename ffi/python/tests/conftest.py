"""What the tests share: NumPy as the oracle, and arrays of every kind on the host and the default device."""

import os
from collections import Counter

# SciPy reads it when it is imported, by whichever test is the first.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import numpy as np
import pytest

import stridewise as sw

KINDS = ["device", "shared", "host"]

DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "complex64", "complex128",
]  # fmt: skip


def pytest_collection_modifyitems(config, items):
    """Of each function's tests on OpenCL's devices one of so many, where a variable says so, from the first one on: their runtimes
    compile a kernel for each."""
    every = int(os.environ.get("STRIDEWISE_OPENCL_SAMPLE", "1"))
    seen, taken, left_out = Counter(), [], []
    for item in items:
        device = item.callspec.params.get("device") if hasattr(item, "callspec") else None
        sampled = isinstance(device, str) and device.startswith("opencl")
        (left_out if sampled and seen[item.function] % every else taken).append(item)
        seen[item.function] += sampled
    config.hook.pytest_deselected(items=left_out)
    items[:] = taken


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture(params=DTYPES)
def dtype(request):
    return request.param


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def both(values, dtype=None, kind="device"):
    """The same elements as NumPy's array and as ours."""
    oracle = np.array(values, dtype=dtype)
    ours = sw.asarray(oracle.tolist(), dtype=str(oracle.dtype), usm_type=kind)
    # Nested lists do not say how long the parts of none are.
    ours.shape = oracle.shape
    return oracle, ours


def same(ours, oracle):
    """The same shape, dtype and elements, bit for bit but for NaN."""
    oracle = np.asarray(oracle)
    assert isinstance(ours, sw.usm_ndarray), type(ours)
    assert ours.shape == oracle.shape
    assert ours.dtype == oracle.dtype, f"{ours.dtype} instead of {oracle.dtype}"
    np.testing.assert_array_equal(np.array(sw.asnumpy(ours)), oracle)


def close(ours, oracle, ulp=4):
    """The same shape and dtype, and elements that differ by so many units in the last place at most."""
    oracle = np.asarray(oracle)
    assert ours.shape == oracle.shape
    assert ours.dtype == oracle.dtype, f"{ours.dtype} instead of {oracle.dtype}"
    found = sw.asnumpy(ours)
    if oracle.dtype.kind in "fc":
        eps = np.finfo(oracle.dtype).eps
        np.testing.assert_allclose(found, oracle, rtol=ulp * eps, atol=ulp * eps)
    else:
        np.testing.assert_array_equal(found, oracle)
