"""Arrays of NumPy's and buffers that are no arrays of ours as they are: they are copied where a copy is allowed."""

import numpy as np
import pytest

import stridewise as sw
from conftest import same

NUMBERS = ["i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16", "bool"]
LENGTHS = [1, 15, 16, 17, 1023, 1024, 1025, 4097]


def packed(values):
    """A field of records without gaps."""
    records = np.zeros(values.shape, dtype=[("before", "u1"), ("field", values.dtype), ("behind", "i2")])
    records["field"] = values
    return records["field"]


def unaligned(values):
    data = bytearray(values.nbytes + 3)
    array = np.frombuffer(data, dtype=values.dtype, count=values.size, offset=3).reshape(values.shape)
    array[...] = values
    return array


def big_endian(values):
    return values.astype(values.dtype.newbyteorder(">"))


FORMS = [packed, unaligned, big_endian, lambda v: packed(big_endian(v)), lambda v: unaligned(big_endian(v))]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("dtype", NUMBERS)
def test_what_must_be_copied_is(form, length, dtype, rng):
    values = rng.integers(0, 100, length).astype(dtype)
    theirs = form(values)
    for ours in (sw.asarray(theirs), sw.asarray(theirs, copy=True), sw.from_numpy(theirs), sw.asarray([theirs])[0]):
        same(ours, values)
    same(sw.asarray(theirs[::-1]), values[::-1])
    same(sw.asarray(theirs, dtype="c16"), values.astype("c16"))
    target = sw.zeros(length, dtype=dtype)
    target[...] = theirs
    same(target, values)
    target = sw.zeros(length, dtype=dtype)
    target[::-1] = theirs
    same(target, values[::-1])
    # The copy is one.
    ours = sw.asarray(theirs)
    if ours.dtype != sw.bool and np.dtype(dtype).itemsize > 1:
        theirs[...] = 0
        same(ours, values)
        with pytest.raises((TypeError, ValueError, BufferError)):
            sw.asarray(theirs, copy=False)


@pytest.mark.parametrize("form", FORMS)
def test_several_dimensions(form):
    values = np.arange(60, dtype="f8").reshape(3, 4, 5)
    theirs = form(values)
    for view in (lambda a: a, lambda a: a.T, lambda a: a[:, ::2, ::-1], lambda a: a[1:1], lambda a: a[0, 0, 0:1]):
        same(sw.asarray(view(theirs)), view(values))
    same(sw.asarray(form(np.array(2.5))), np.array(2.5))


def test_buffers_in_the_other_byte_order():
    values = np.arange(7, dtype="i4") - 3
    same(sw.asarray(memoryview(big_endian(values))), values)
    same(sw.asarray(memoryview(packed(values.astype("c8")))), values.astype("c8"))
    with pytest.raises((TypeError, ValueError, BufferError)):
        sw.asarray(memoryview(big_endian(values)), copy=False)


def test_indices_in_the_other_byte_order():
    a = sw.arange(10)
    same(a[big_endian(np.array([3, -1, 0]))], np.array([3, 9, 0]))
