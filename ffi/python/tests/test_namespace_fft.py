"""`fft` against NumPy's, on random arrays of random layouts, on every device."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stridewise as sw
from arrays import COMPLEX, DEVICES, INTEGERS, NUMBERS, REALS, axes_of, axis_of, pairs
from conftest import same

DATA = st.data()
NORMS = st.sampled_from(["backward", "ortho", "forward"])
SOME = st.lists(st.integers(1, 6), min_size=1, max_size=3).map(tuple)
on_devices = pytest.mark.parametrize("device", DEVICES)


def near(ours, oracle, ulp=64):
    """Of the precision of the device, and as far apart as roundings of sums of a few numbers."""
    assert (ours.shape, sw.isdtype(ours.dtype, "complex floating")) == (oracle.shape, oracle.dtype.kind == "c")
    eps = ulp * sw.finfo(ours).eps
    np.testing.assert_allclose(sw.asnumpy(ours), oracle, rtol=eps, atol=eps * 16)


@on_devices
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
@given(data=DATA)
def test_transforms(device, name, data):
    real = name in ("rfft", "ihfft")
    x = data.draw(pairs(device, INTEGERS + REALS + ([] if real else COMPLEX), SOME))
    axis, norm = axis_of(data.draw, x.oracle.ndim, none=False), data.draw(NORMS, label="norm")
    n = data.draw(st.sampled_from([1, 2, 3, 7, 8] + ([None] if x.oracle.shape[axis] > 1 else [])), label="n")
    ours = getattr(sw.fft, name)(x.ours, n=n, axis=axis, norm=norm)
    near(ours, getattr(np.fft, name)(x.oracle, n=n, axis=axis, norm=norm))
    if x.oracle.dtype.kind in "fc":
        assert sw.finfo(ours).dtype == sw.finfo(x.ours).dtype
    assert (ours.queue, ours.usm_type) == (x.ours.queue, x.ours.usm_type)


@on_devices
@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
@given(data=DATA)
def test_transforms_along_axes(device, name, data):
    shapes = st.lists(st.integers(2, 5), min_size=1, max_size=3).map(tuple)
    x = data.draw(pairs(device, REALS + ([] if name == "rfftn" else COMPLEX), shapes))
    norm, ndim = data.draw(NORMS, label="norm"), x.oracle.ndim
    near(getattr(sw.fft, name)(x.ours, norm=norm), getattr(np.fft, name)(x.oracle, norm=norm))
    axes = tuple(data.draw(st.lists(st.sampled_from(range(-ndim, 0)), min_size=1, unique=True), label="axes"))
    s = tuple(data.draw(st.sampled_from([2, 3, 6]), label="s") for _ in axes)
    arguments = {"axes": axes, "s": data.draw(st.sampled_from([None, s]), label="s"), "norm": norm}
    near(getattr(sw.fft, name)(x.ours, **arguments), getattr(np.fft, name)(x.oracle, **arguments))


@on_devices
def test_long_transforms_and_back(device):
    x = np.random.default_rng(5).normal(size=(3, 1009))
    ours = sw.asarray(x, dtype=sw.__array_namespace_info__().default_dtypes(device=device)["real floating"], device=device)
    near(sw.fft.fft(ours), np.fft.fft(x), ulp=1024)
    near(sw.fft.irfft(sw.fft.rfft(ours), n=1009), x)
    near(sw.fft.irfftn(sw.fft.rfftn(ours), s=x.shape, axes=(0, 1)), x)
    assert sw.fft.fft(ours[:0]).shape == (0, 1009)


@on_devices
@pytest.mark.parametrize("n", [1, 2, 5, 8])
@pytest.mark.parametrize("d", [1.0, 0.25])
def test_frequencies(device, n, d):
    near(sw.fft.fftfreq(n, d=d, device=device), np.fft.fftfreq(n, d=d))
    near(sw.fft.rfftfreq(n, d=d, device=device), np.fft.rfftfreq(n, d=d))
    assert sw.fft.fftfreq(n, dtype=sw.float32, device=device).dtype == sw.float32
    assert sw.fft.fftfreq(n, device=device).device == sw.Device(device)


@on_devices
@given(data=DATA)
def test_shifts(device, data):
    x = data.draw(pairs(device, NUMBERS))
    axes = axes_of(data.draw, x.oracle.ndim)
    if x.oracle.ndim == 0 or axes == ():
        # NumPy has no shift along no axes.
        same(sw.fft.fftshift(x.ours, axes=axes), x.oracle)
        return
    same(sw.fft.fftshift(x.ours, axes=axes), np.fft.fftshift(x.oracle, axes=axes))
    same(sw.fft.ifftshift(x.ours, axes=axes), np.fft.ifftshift(x.oracle, axes=axes))


def test_fft_refuses():
    for call, error in [
        (lambda: sw.fft.fftfreq(0), ValueError),
        (lambda: sw.fft.rfftfreq(-1), ValueError),
        (lambda: sw.fft.fftfreq(3, dtype=sw.int32), TypeError),
        (lambda: sw.fft.fftshift(sw.ones(2), axes=1), IndexError),
        (lambda: sw.fft.fft(sw.ones(3), axis=1), IndexError),
        (lambda: sw.fft.fft(sw.ones(3), n=0), ValueError),
        (lambda: sw.fft.fft(sw.ones(0)), ValueError),
        (lambda: sw.fft.fft(sw.ones(3), norm="text"), ValueError),
        (lambda: sw.fft.rfft(sw.ones(3, dtype="c8")), TypeError),
        (lambda: sw.fft.irfft(sw.ones(1)), ValueError),
        (lambda: sw.fft.irfft(sw.ones(3), axis=1), IndexError),
        (lambda: sw.fft.fftn(sw.ones((2, 2)), s=(1,), axes=(0, 1)), ValueError),
        (lambda: sw.fft.rfftn(sw.ones(3), axes=()), ValueError),
    ]:
        with pytest.raises(error):
            call()


@pytest.mark.parametrize("code", ["float32", "float64"])
def test_more_points_than_memory(code):
    x = sw.ones((2, 3), dtype=code, device="host")
    for count in (1 << 40, 1 << 62):
        with pytest.raises(MemoryError):
            sw.fft.fft(x, n=count)


@on_devices
@pytest.mark.parametrize("name", ["fft2", "ifft2", "rfft2", "irfft2"])
def test_two_axes(device, name):
    x = np.arange(60.0).reshape(3, 4, 5)
    near(getattr(sw.fft, name)(sw.asarray(x, device=device)), getattr(np.fft, name)(x))
    ours = getattr(sw.fft, name)(sw.asarray(x, device=device), (2, 6), (0, 2), "ortho")
    near(ours, getattr(np.fft, name)(x, (2, 6), (0, 2), "ortho"))
    assert hasattr(getattr(np.fft, name)(sw.asarray(x)), "usm_type")


def test_arguments_have_the_places_of_numpys():
    x = np.arange(12.0).reshape(3, 4)
    ours = sw.asarray(x)
    for name in ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]:
        near(getattr(sw.fft, name)(ours, 5, 0, None), getattr(np.fft, name)(x, 5, 0, None))
    for name in ["fftn", "ifftn", "rfftn", "irfftn"]:
        near(getattr(sw.fft, name)(ours, (2, 3), (1, 0), None), getattr(np.fft, name)(x, (2, 3), (1, 0), None))
    for name in ["fftshift", "ifftshift"]:
        same(getattr(sw.fft, name)(ours, 1), getattr(np.fft, name)(x, 1))
    for name in ["fftfreq", "rfftfreq"]:
        near(getattr(sw.fft, name)(9, 0.25), getattr(np.fft, name)(9, 0.25))
