"""What the tests of kernels share: devices that run them, and a plain oracle, which calls the function for one item after the other."""

import functools
import itertools

import numpy as np
import pytest

import stridewise as sw
from arrays import DEVICES
from stridewise.kernel_api import Range, call_kernel

NOTHING = sw.kernel("def nothing(item, a): pass")


@functools.cache
def refusal(device):
    """Why a device runs no kernels, or None where it does."""
    a = sw.zeros(1, dtype="int32", device=device)
    try:
        call_kernel(NOTHING, Range(1), a)
    except NotImplementedError as error:
        return str(error)
    return None


def levels():
    """The host at each level of instructions that the processor has."""
    for level in ("scalar", "avx2", "avx512"):
        try:
            sw.Device(f"host:{level}")
            yield f"host:{level}"
        except sw.DeviceSelectionError:
            pass


def on_devices(test, devices=DEVICES):
    """The test on every device; on one that runs no kernels, that this is what a launch says."""

    @functools.wraps(test)
    def run(*args, device, **kwargs):
        if refusal(device) is None:
            return test(*args, device=device, **kwargs)
        with pytest.raises(NotImplementedError, match="expected a kernel that .* can run; help: launch it on"):
            call_kernel(NOTHING, Range(1), sw.zeros(1, dtype="int32", device=device))

    return pytest.mark.parametrize("device", devices)(run)


class PlainItem:
    """An item of a range for the function itself."""

    def __init__(self, ids, extents):
        self.ids, self.extents = ids, extents
        self.dimensions = len(ids)

    def get_id(self, idx=None):
        return self._of(self.ids, idx)

    def get_range(self, idx=None):
        return self._of(self.extents, idx)

    def get_linear_id(self):
        return int(np.ravel_multi_index(self.ids, self.extents))

    def get_linear_range(self):
        return int(np.prod(self.extents))

    def _of(self, values, idx):
        if idx is None:
            return values if len(values) > 1 else values[0]
        return values[idx]


def plain(kernel, extents, *args):
    """What the function does as Python and NumPy understand it, item by item."""
    with np.errstate(all="ignore"):
        for ids in itertools.product(*map(range, extents)):
            kernel.__wrapped__(PlainItem(ids, extents), *args)


def same_as_plain(device, kernel, extents, *args, close=None):
    """The kernel does to arrays on the device what its function does to NumPy's. close: relative error; None for none."""
    theirs = [np.array(arg) if isinstance(arg, np.ndarray) and arg.ndim else arg for arg in args]
    ours = [sw.asarray(arg, device=device, copy=True) if isinstance(arg, np.ndarray) and arg.ndim else arg for arg in args]
    call_kernel(kernel, Range(*extents), *ours)
    plain(kernel, extents, *theirs)
    for found, expected in zip(ours, theirs):
        if isinstance(found, sw.usm_ndarray):
            if close is None:
                np.testing.assert_array_equal(sw.asnumpy(found), expected)
            else:
                np.testing.assert_allclose(sw.asnumpy(found), expected, rtol=close)
