"""The buffer protocol and NumPy's array interface, both ways."""

import array
import ctypes
import gc
import io
import struct
import sys

import numpy as np
import pytest

import stridewise as sw
from conftest import DTYPES
from peers import growth

VISIBLE = ["shared", "host"]


def address(x):
    return x.__array_interface__["data"][0]


# Ours as buffers.


@pytest.mark.parametrize("kind", VISIBLE)
@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_reads_ours_in_place(kind, dtype):
    ours = sw.asarray(np.arange(24).reshape(4, 6).astype(dtype), usm_type=kind)[::-1, 1::2]
    theirs = np.asarray(ours)
    assert theirs.dtype == dtype and theirs.shape == (4, 3)
    assert address(theirs) == ours._pointer
    assert theirs.strides == (-6 * ours.itemsize, 2 * ours.itemsize)
    view = memoryview(ours)
    assert (view.shape, view.strides, view.itemsize, view.nbytes) == (
        theirs.shape, theirs.strides, theirs.itemsize, theirs.nbytes,
    )  # fmt: skip
    assert view.format == memoryview(theirs).format
    assert not view.readonly


def test_writes_are_seen_on_both_sides():
    ours = sw.zeros((2, 3), dtype="int32", usm_type="shared")
    view = memoryview(ours)
    view[1, 2] = 7
    assert ours.tolist() == [[0, 0, 0], [0, 0, 7]]
    ours[0, 0] = 5
    assert view[0, 0] == 5


def test_pending_work_is_done():
    x = sw.asarray(np.full(100_000, 2.0), usm_type="shared")
    assert (np.asarray(x * x + x) == 6.0).all()


def test_a_buffer_outlives_its_array():
    ours = sw.asarray(np.arange(1000.0), usm_type="shared", copy=True)
    view = memoryview(ours)[::-1]
    del ours
    gc.collect()
    junk = [sw.zeros(1000, usm_type="shared") for _ in range(10)]
    assert view.tolist() == list(range(999, -1, -1))
    del junk


def test_requests_that_cannot_be_met():
    x = sw.asarray(np.arange(12, dtype="uint8").reshape(3, 4), usm_type="shared", copy=True)
    # Without strides, in row-major order only.
    assert struct.unpack_from("4B", x[1]) == (4, 5, 6, 7)
    with pytest.raises((BufferError, ValueError)):
        struct.unpack_from("4B", x.T)
    assert io.BytesIO(b"abcd").readinto(x[0]) == 4 and x.tolist()[0] == [97, 98, 99, 100]
    x.flags.writable = False
    with pytest.raises((BufferError, TypeError)):
        io.BytesIO(b"abcd").readinto(x)
    assert memoryview(x).readonly
    assert not np.asarray(x).flags.writeable


def test_device_memory_has_no_buffer():
    x = sw.asarray(np.arange(3.0), usm_type="device")
    with pytest.raises(BufferError, match="usm_type"):
        memoryview(x)
    assert not hasattr(x, "__array_interface__")
    assert np.asarray(x).tolist() == [0, 1, 2]


def test_bfloat16_has_no_buffer():
    x = sw.asarray([1.0], dtype="bfloat16", usm_type="shared")
    with pytest.raises(BufferError, match="bfloat16"):
        memoryview(x)
    assert not hasattr(x, "__array_interface__")


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1, 1)])
def test_odd_shapes(shape):
    x = sw.zeros(shape, usm_type="shared")
    assert np.asarray(x).shape == shape and memoryview(x).shape == shape


@pytest.mark.parametrize("kind", ["device", "shared", "host"])
@pytest.mark.parametrize("function", [sw.to_numpy, sw.asnumpy])
def test_to_numpy_copies(kind, function):
    x = sw.asarray(np.arange(6.0).reshape(2, 3), usm_type=kind, copy=True)
    theirs = function(x.T)
    assert isinstance(theirs, np.ndarray) and theirs.tolist() == [[0, 3], [1, 4], [2, 5]]
    theirs[0, 0] = 9
    assert x[0, 0] == 0


@pytest.mark.parametrize("kind", ["device", "shared", "host"])
def test_large_copies_are_the_callers_own(kind):
    wanted = np.arange(1 << 18, dtype="f8")
    x = sw.asarray(wanted, usm_type=kind, copy=True)
    first, second = sw.asnumpy(x), sw.asnumpy(x)
    del x
    first[:] = -1
    assert first.flags.writeable and not np.shares_memory(first, second)
    assert (second == wanted).all() and (first == -1).all()
    del first
    third = sw.asnumpy(sw.asarray(wanted[::-1], usm_type=kind, copy=True))
    assert (second == wanted).all() and (third == wanted[::-1]).all()


@pytest.mark.parametrize("kind", ["device", "shared", "host"])
def test_from_numpy_copies(kind):
    theirs = np.arange(6.0).reshape(2, 3).T
    ours = sw.from_numpy(theirs, usm_type=kind)
    theirs[0, 0] = 9
    assert ours.usm_type == kind and ours.tolist() == [[0, 3], [1, 4], [2, 5]]
    assert sw.from_numpy(theirs).usm_type == sw.zeros(1).usm_type


# Buffers of others.


@pytest.mark.parametrize(
    "lender",
    [
        bytearray(b"12345678"),
        array.array("d", [1.0, 2.0, 3.0]),
        memoryview(array.array("i", range(12))).cast("B").cast("i", (3, 4))[1:],
        memoryview(array.array("q", range(12)))[::-3],
        (ctypes.c_float * 4)(1, 2, 3, 4),
        (ctypes.c_int16 * 3 * 2)(),
    ],
    ids=["bytearray", "array", "part", "reversed", "ctypes", "ctypes2"],
)
def test_buffers_come_in_place(lender):
    ours = sw.asarray(lender, copy=False)
    theirs = np.asarray(lender)
    assert ours.dtype == theirs.dtype and ours.tolist() == theirs.tolist()
    assert ours._pointer == address(theirs) and ours.flags.writable
    ours[0] = 7
    assert theirs.tolist() == ours.tolist()


def test_bytes_are_read_only():
    ours = sw.asarray(b"abc", copy=False)
    assert ours.dtype == "uint8" and ours.tolist() == [97, 98, 99] and not ours.flags.writable
    with pytest.raises(ValueError):
        ours[0] = 1
    # Nor by way of the memory that it is on.
    with pytest.raises(ValueError, match="copy"):
        ours.flags.writable = True
    assert not ours.flags.writable
    again = sw.usm_ndarray((3,), dtype="uint8", buffer=ours.usm_data)
    with pytest.raises(ValueError):
        again[0] = 1
    assert memoryview(again).readonly


def test_a_buffer_is_held_while_it_is_used():
    lender = array.array("d", [1.0, 2.0])
    ours = sw.asarray(lender, copy=False)
    with pytest.raises(BufferError):
        lender.append(3.0)
    del ours
    gc.collect()
    lender.append(3.0)
    ours = sw.asarray(lender, copy=False)
    del lender
    gc.collect()
    assert ours.tolist() == [1, 2, 3]


class Pair(ctypes.Structure):
    _fields_ = [("x", ctypes.c_int), ("y", ctypes.c_int)]


@pytest.mark.parametrize(
    "wrong",
    [
        (Pair * 3)(),
        np.zeros(3, dtype="U4"),
        np.zeros(3, dtype="M8[s]"),
        np.zeros(3, dtype="f4,i4"),
        np.zeros(3, dtype=object),
        np.zeros(3, dtype="longdouble"),
        (ctypes.c_char * 4)(),
    ],
    ids=["struct", "text", "date", "record", "object", "longdouble", "char"],
)
def test_elements_that_there_is_no_dtype_for(wrong):
    with pytest.raises((TypeError, BufferError)):
        sw.asarray(wrong)


def test_strides_between_elements_are_refused():
    record = np.zeros(4, dtype=[("a", "i4"), ("b", "i4"), ("c", "i2")])
    with pytest.raises((BufferError, ValueError)):
        sw.asarray(record["b"], copy=False)


# The array interface.


@pytest.mark.parametrize("kind", VISIBLE)
def test_the_interface_is_numpys(kind):
    x = sw.asarray(np.arange(12.0).reshape(3, 4), usm_type=kind)
    for ours, theirs in [(x, np.asarray(x)), (x.T, np.asarray(x).T), (x[::-1, 1], np.asarray(x)[::-1, 1])]:
        ours, theirs = ours.__array_interface__, theirs.__array_interface__
        assert {**ours, "strides": None} == {**theirs, "strides": None}
        assert ours["strides"] == theirs["strides"]


class Holder:
    def __init__(self, interface, **changes):
        self.interface = {k: v for k, v in {**interface, **changes}.items() if v is not ...}

    @property
    def __array_interface__(self):
        return self.interface


@pytest.fixture
def base():
    return np.arange(12.0).reshape(3, 4)


def test_an_interface_comes_in_place(base):
    for theirs in [base, base.T, base[::-1, ::2], base[1, 1]]:
        theirs = np.asarray(theirs)
        ours = sw.asarray(Holder(theirs.__array_interface__, keep=base), copy=False)
        assert ours._pointer == address(theirs) and ours.tolist() == theirs.tolist()
    data = (address(base), True)
    assert not sw.asarray(Holder(base.__array_interface__, data=data), copy=False).flags.writable


def test_scalars_of_numpy_are_copied():
    kept = sw.asarray(np.float32(3))
    junk = [np.array(7, "f4") for _ in range(50)]
    assert kept == 3 and kept.dtype == sw.float32 and kept.shape == () and len(junk) == 50
    many = [sw.asarray(np.int16(number)) for number in range(200)]
    assert [int(number) for number in many] == list(range(200))


def test_what_only_the_interface_keeps_is_held():
    class Fresh:
        @property
        def __array_interface__(self):
            array = np.full(1 << 16, 3, dtype="f4")
            return {**array.__array_interface__, "keep": array}

    kept = sw.asarray(Fresh())
    gc.collect()
    junk = [np.full(1 << 16, 7, dtype="f4") for _ in range(50)]
    assert set(kept.tolist()) == {3} and len(junk) == 50


def test_the_object_of_an_interface_is_held(base):
    holder = Holder(base.__array_interface__)
    count = sys.getrefcount(holder)
    ours = sw.asarray(holder, copy=False)
    assert sys.getrefcount(holder) == count + 1
    del ours
    assert sys.getrefcount(holder) == count


WRONG = {
    "version": [2, "3", None, ...],
    "shape": [(-3, 4), (2**62, 4), "34", (3.0, 4), None, ..., (1,) * 33, (2**70,)],
    "typestr": ["<f16", "<V8", "float64", "", 8, ..., None],
    "strides": [(32,), (32, 8, 8), "ab", (2**62, 8), (-(2**62), 8), (2**70, 8)],
    "data": [(0, False), (1,), ("0x10", False), 16, (-1, False), (2**70, False), (None, False)],
    "mask": [True],
}


@pytest.mark.parametrize(("key", "value"), [(k, v) for k, values in WRONG.items() for v in values])
def test_a_wrong_interface_is_an_exception(base, key, value):
    with pytest.raises((TypeError, ValueError, BufferError, OverflowError)):
        sw.asarray(Holder(base.__array_interface__, **{key: value}))


@pytest.mark.parametrize(("key", "value"), [("typestr", ">f8"), ("strides", (33, 8))])
def test_what_must_be_copied_is_refused_in_place(base, key, value):
    with pytest.raises((TypeError, BufferError)):
        sw.asarray(Holder(base.__array_interface__, **{key: value}), copy=False)


def test_an_interface_that_is_none():
    class Odd:
        __array_interface__ = 3

    with pytest.raises(ValueError):
        sw.asarray(Odd())


def test_round_trips_take_no_memory():
    ours = sw.asarray(np.arange(64.0), usm_type="shared", copy=True)
    lender = array.array("d", range(64))

    def trip():
        memoryview(ours)
        np.asarray(ours)
        sw.asarray(lender)

    assert growth(trip, 100_000) < 3 << 20
