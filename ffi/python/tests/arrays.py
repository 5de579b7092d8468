"""Strategies of hypothesis: the same random elements in the same random layout, as NumPy's array and as ours."""

import os

import numpy as np
from hypothesis import Phase, settings
from hypothesis import strategies as st

import stridewise as sw

# Kernels of OpenCL are compiled on their first use, so the examples are few and have no time limit.
settings.register_profile(
    "namespace",
    deadline=None,
    max_examples=int(os.environ.get("STRIDEWISE_EXAMPLES", "8")),
    database=None,
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
)
settings.load_profile("namespace")

DEVICES = [device.filter_string for device in sw.get_devices()]

BOOL = ["bool"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
REALS = ["float32", "float64"]
COMPLEX = ["complex64", "complex128"]
#: In which a sum of few quarters is exact.
NUMBERS = INTEGERS + REALS + COMPLEX
ORDERED = BOOL + INTEGERS + ["float16"] + REALS
ALL = ORDERED + COMPLEX

SHAPES = st.lists(st.integers(0, 5), max_size=3).map(tuple)


def supported(dtype, device):
    if dtype == "float16":
        return sw.Device(device).has_aspect_fp16
    return dtype in sw.__array_namespace_info__().dtypes(device=device)


class Pair:
    """The same array of NumPy's and of ours."""

    def __init__(self, oracle, ours):
        self.oracle, self.ours = oracle, ours

    def __repr__(self):
        strides = [stride // self.oracle.itemsize for stride in self.oracle.strides]
        return f"{self.oracle!r}, shape {self.oracle.shape}, strides {strides}, on {self.ours.sycl_device}"


def elements(shape, dtype, seed, wild):
    """Small numbers, so that sums of them are exact; wild: with NaN and infinities."""
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    if kind in "iu":
        return rng.integers(0 if kind == "u" else -4, 5, shape).astype(dtype)
    values = rng.integers(-8, 9, shape) / 4
    if kind == "c":
        values = values + 1j * rng.integers(-8, 9, shape) / 4
    values = np.asarray(values).astype(dtype)
    if wild and values.size:
        for special in (np.nan, np.inf, -np.inf):
            values[tuple(rng.integers(0, extent) for extent in values.shape)] = special
    return values


@st.composite
def pairs(draw, device, dtypes=ALL, shapes=SHAPES, wild=False):
    """A random array in a random layout: steps of either sign along the axes of a larger one, and axes permuted."""
    dtype = draw(st.sampled_from([dtype for dtype in dtypes if supported(dtype, device)]), label="dtype")
    shape = draw(shapes, label="shape")
    steps = draw(st.tuples(*[st.sampled_from([1, 1, 2, -1, -2])] * len(shape)), label="steps")
    axes = draw(st.permutations(range(len(shape))), label="axes")
    kind = draw(st.sampled_from(["device", "shared", "host"]), label="usm_type")
    base = [shape[axis] * abs(step) for axis, step in zip(axes, steps)]
    base = elements(base, dtype, draw(st.integers(0, 2**32), label="seed"), wild)
    ours = sw.asarray(base, dtype=dtype, device=device, usm_type=kind)
    # So many of the larger array's elements, from either end.
    key = tuple(slice(None, None, step) for step in steps)
    inverse = tuple(int(place) for place in np.argsort(axes)) if shape else ()
    return Pair(np.transpose(np.asarray(base[key]), inverse), sw.permute_dims(ours[key], inverse))


def axis_of(draw, ndim, none=True):
    """A valid axis, or None."""
    axes = list(range(-ndim, ndim)) + ([None] if none else [])
    return draw(st.sampled_from(axes), label="axis")


def axes_of(draw, ndim):
    """None, a valid axis, or a tuple of different ones."""
    some = draw(st.lists(st.sampled_from(range(ndim)), unique=True) if ndim else st.just([]), label="axes")
    some = tuple(axis - ndim * draw(st.booleans(), label="negative") for axis in some)
    return draw(st.sampled_from([None, some] + list(some)), label="axis")
