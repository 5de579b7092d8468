"""Pickling with the elements apart (protocol 5): nothing is copied where nothing needs to be, and what comes back is the same."""

import copy
import io
import pickle

import numpy as np
import pytest

import stridewise as sw
from conftest import both, same


def apart(array):
    """The pickle without the elements, and the buffers that have them."""
    buffers = []
    data = pickle.dumps(array, protocol=5, buffer_callback=buffers.append)
    return data, buffers


def address(buffer):
    return np.frombuffer(buffer, "uint8").__array_interface__["data"][0]


def loads(data, buffers):
    return pickle.loads(data, buffers=buffers)


def sent(array):
    """The array as another process would load it: from copies of what travels, which can be written."""
    data, buffers = apart(array)
    return loads(data, [bytearray(buffer.raw()) for buffer in buffers])


def test_every_layout_comes_back(dtype, kind):
    x, a = both([[0, 1, 1], [1, 0, 1]], dtype, kind)
    for ours, theirs in [(a, x), (a.T, x.T), (a[:, ::-2].T, x[:, ::-2].T), (a[1:], x[1:]), (a[0, 0], x[0, 0])]:
        for again in (pickle.loads(pickle.dumps(ours, protocol=5)), sent(ours)):
            same(again, theirs)
            assert again.usm_type == kind and again.device == a.device and again.flags.writable
            again[...] = 1
            assert np.all(sw.asnumpy(again) == 1)


@pytest.mark.parametrize("kind", ["shared", "host"])
def test_nothing_is_copied(kind):
    a = sw.reshape(sw.arange(1 << 16, dtype="float32", usm_type=kind), (256, 256))
    for view, start in [(a, 0), (a.T, 0), (a[3:7], 3 * 1024), (a[9], 9 * 1024)]:
        data, (buffer,) = apart(view)
        assert len(data) < 500
        raw = buffer.raw()
        assert raw.nbytes == view.nbytes and address(raw) == a.usm_data._pointer + start
        del raw
        # The loaded array is on the very buffer.
        target = bytearray(buffer.raw())
        again = loads(data, [target])
        assert again._pointer == address(target) and again.usm_type == kind
        again[...] = 5
        assert np.all(np.frombuffer(target, "float32") == 5)
    assert a[0, 1] == 1


def test_within_a_process_the_memory_is_shared():
    a = sw.arange(10.0, usm_type="shared")
    data, buffers = apart(a)
    again = loads(data, buffers)
    again[3] = 77
    assert a[3] == 77
    # It keeps the memory.
    buffers[0].release()
    del a, buffers
    assert again.tolist()[3:5] == [77, 4]


@pytest.mark.parametrize("kind", ["shared", "host", "device"])
def test_what_is_read_only_stays_so(kind):
    a = sw.arange(6, usm_type=kind)
    data, (buffer,) = apart(a)
    frozen = bytes(buffer.raw())
    again = loads(data, [frozen])
    assert not again.flags.writable and again.tolist() == list(range(6))
    with pytest.raises(ValueError):
        again[0] = 1
    assert frozen == np.arange(6, dtype=str(a.dtype)).tobytes()
    assert (again + 1).flags.writable
    a.flags.writable = False
    data, (buffer,) = apart(a)
    assert buffer.raw().readonly
    # As NumPy's arrays in band, too.
    for loaded in (pickle.loads(pickle.dumps(a, protocol=5)), loads(data, [buffer])):
        assert not loaded.flags.writable and loaded.tolist() == list(range(6))
    oracle = np.arange(6)
    oracle.flags.writeable = False
    assert not pickle.loads(pickle.dumps(oracle, protocol=5)).flags.writeable


def test_recorded_work_is_done_first():
    a = sw.arange(1 << 18, dtype="float64", usm_type="shared")
    b = sw.sqrt(a) * 2 + 1
    again = pickle.loads(pickle.dumps(b, protocol=5))
    np.testing.assert_array_equal(sw.asnumpy(again), np.sqrt(np.arange(1 << 18, dtype="float64")) * 2 + 1)
    a[...] = 0
    np.testing.assert_array_equal(sw.asnumpy(again)[:3], np.sqrt([0.0, 1, 2]) * 2 + 1)


def test_misaligned_buffers_are_copied():
    a = sw.arange(5, dtype="float64", usm_type="shared")
    data, (buffer,) = apart(a)
    room = bytearray(41)
    odd = 1 if address(room) % 8 == 0 else 0
    memoryview(room)[odd : odd + 40] = buffer.raw()
    again = loads(data, [memoryview(room)[odd : odd + 40]])
    room[:] = bytes(41)
    assert again.tolist() == [0, 1, 2, 3, 4]
    again[0] = 9
    assert again.tolist()[0] == 9


def test_bfloat16_and_no_elements():
    a = sw.asarray([1.0, -2.5], dtype="bfloat16", usm_type="shared")
    data, buffers = apart(a)
    assert len(buffers) == 1 and loads(data, buffers).dtype == sw.bfloat16
    assert loads(data, buffers).tolist() == [1, -2.5]
    data, buffers = apart(a[:0])
    assert not buffers and loads(data, []).shape == (0,)


def test_damaged_pickles():
    a = sw.arange(4, dtype="i4", usm_type="shared")
    restore, (buffer, *rest) = a.__reduce_ex__(5)
    data = bytes(buffer.raw())
    assert restore(data, *rest).tolist() == [0, 1, 2, 3]
    for wrong in (data[:-1], data + b"0", b""):
        with pytest.raises(ValueError, match="bytes"):
            restore(wrong, *rest)
    with pytest.raises(TypeError):
        restore(7, *rest)
    with pytest.raises(BufferError):
        restore(memoryview(data + data)[::2], *rest)
    _, shape, order, kind, device = rest
    for wrong, error in [
        (("float128", shape, order, kind, device), TypeError),
        (("int32", (-4,), order, kind, device), ValueError),
        (("int32", (1 << 60, 1 << 60), order, kind, device), ValueError),
        (("int32", shape, "Z", kind, device), ValueError),
        (("int32", shape, order, "texture", device), ValueError),
    ]:
        with pytest.raises(error):
            restore(data, *wrong)
    # Where the device is not there, the default one is.
    assert restore(data, "int32", shape, order, kind, "nothing:of:this").tolist() == [0, 1, 2, 3]
    whole = pickle.dumps(a, protocol=5)
    for end in range(1, len(whole), 7):
        with pytest.raises((pickle.UnpicklingError, EOFError, ValueError)):
            pickle.loads(whole[:end])


def test_earlier_protocols_are_as_they_were():
    a = sw.arange(4, usm_type="shared")
    for protocol in range(5):
        assert a.__reduce_ex__(protocol)[0].__name__ == "_from_pickle"
        assert pickle.loads(pickle.dumps(a, protocol)).tolist() == [0, 1, 2, 3]
    file = io.BytesIO()
    pickle.Pickler(file, 5).dump([a, a])
    first, second = pickle.loads(file.getvalue())
    assert first is second
    first, second = copy.deepcopy([a, a])
    assert first is second and first.usm_data._pointer != a.usm_data._pointer
