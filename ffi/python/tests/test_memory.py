"""USM memory: making it, copies, its buffer, pickling, views of others."""

import array
import copy
import gc
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from peers import growth

import stridewise as sw

CLASSES = {"host": sw.MemoryUSMHost, "device": sw.MemoryUSMDevice, "shared": sw.MemoryUSMShared}


@pytest.fixture(params=["host", "opencl:cpu", "gpu"])
def queue(request):
    try:
        return sw.Queue(request.param)
    except sw.DeviceSelectionError as error:
        pytest.skip(str(error))


def make(kind, nbytes, queue=None, **options):
    try:
        return CLASSES[kind](nbytes, queue=queue, **options)
    except NotImplementedError as error:
        pytest.skip(str(error))


def test_attributes(kind, queue):
    m = make(kind, 100, queue)
    assert isinstance(m, CLASSES[kind]) and isinstance(m, sw._Memory)
    assert len(m) == m.nbytes == m.size == 100
    assert m.get_usm_type() == m.usm_type == kind
    assert m.sycl_queue == queue and m.queue == queue
    assert m.sycl_device == queue.sycl_device and m.sycl_context == queue.sycl_context
    assert m._pointer % 64 == 0 and hex(m._pointer) in repr(m) and kind in repr(m)
    assert not m.is_foreign


def test_alignment(kind):
    for alignment in (64, 128, 4096, 1 << 21):
        assert make(kind, 10, alignment=alignment)._pointer % alignment == 0
    with pytest.raises(ValueError, match="alignment"):
        make(kind, 10, alignment=48)


def test_bad_arguments(kind):
    cls = CLASSES[kind]
    for nbytes in (0, -1):
        with pytest.raises(ValueError):
            cls(nbytes)
    for nbytes in (None, "10", 1.5, object()):
        with pytest.raises(TypeError):
            cls(nbytes)
    with pytest.raises(TypeError):
        cls(b"bytes")
    with pytest.raises((OverflowError, MemoryError, ValueError)):
        cls(1 << 70)
    with pytest.raises(MemoryError):
        cls(1 << 60, queue=sw.Device("host").queue)
    with pytest.raises(TypeError, match="queue"):
        cls(10, queue="host")


def test_copies_and_memset(kind, queue):
    data = bytes(range(256)) * 3
    m = make(kind, len(data), queue)
    m.copy_from_host(data)
    assert m.tobytes() == data == bytes(m)
    out = m.copy_to_host()
    assert isinstance(out, bytearray) and out == data
    target = np.zeros(len(data) // 4, dtype="u4")
    assert m.copy_to_host(target) is target and target.tobytes() == data
    m.memset(7)
    assert m.tobytes() == b"\7" * len(data)
    m.memset()
    assert m.tobytes() == bytes(len(data))
    m.copy_from_host(array.array("d", [1.5, 2.5]))
    assert np.frombuffer(m.tobytes(), dtype="f8", count=2).tolist() == [1.5, 2.5]
    other = make(kind, 16, queue)
    other.copy_from_host(b"\5" * 16)
    m.copy_from_device(other)
    assert m.tobytes()[:17] == b"\5" * 16 + b"\0"


def test_copies_between_kinds_and_devices(queue):
    data = np.random.default_rng(1).bytes(1000)
    for source in CLASSES:
        for target in CLASSES:
            for other in (queue, sw.Device("host").queue):
                a, b = make(source, 1000, queue), make(target, 1000, other)
                a.copy_from_host(data)
                b.copy_from_device(a)
                assert b.tobytes() == data


def test_wrong_copies(kind):
    m = make(kind, 10)
    with pytest.raises(ValueError, match="10"):
        m.copy_to_host(bytearray(9))
    with pytest.raises(ValueError):
        m.copy_to_host(bytearray(11))
    with pytest.raises(BufferError):
        m.copy_to_host(bytes(10))
    with pytest.raises(TypeError):
        m.copy_to_host(3)
    with pytest.raises(ValueError):
        m.copy_from_host(bytes(11))
    with pytest.raises(TypeError):
        m.copy_from_host("text")
    with pytest.raises(BufferError):
        m.copy_from_host(memoryview(bytes(20))[::2])
    with pytest.raises(ValueError):
        m.copy_from_device(make(kind, 11))
    with pytest.raises(TypeError):
        m.copy_from_device(b"0123456789")
    with pytest.raises((OverflowError, TypeError)):
        m.memset(256)


def test_constructing_from_memory():
    source = sw.MemoryUSMShared(32)
    source.copy_from_host(bytes(range(32)))
    view = sw.MemoryUSMShared(source)
    assert view._pointer == source._pointer and view.sycl_queue == source.sycl_queue
    with pytest.raises(ValueError, match="shared"):
        sw.MemoryUSMDevice(source)
    for cls in CLASSES.values():
        copy = cls(source, copy=True)
        assert copy._pointer != source._pointer and copy.tobytes() == source.tobytes()
        assert cls(b"some bytes", copy=True).tobytes() == b"some bytes"
    source.memset(1)
    assert view.tobytes() == b"\1" * 32


def test_with_queue():
    m = sw.MemoryUSMShared(8)
    other = sw.Queue(m.sycl_context, m.sycl_device)
    moved = m.with_queue(other)
    assert moved.sycl_queue == other != m.sycl_queue and moved._pointer == m._pointer
    with pytest.raises(ValueError, match="context"):
        m.with_queue(sw.Queue(sw.Context(m.sycl_device)))


def test_as_usm_memory(kind):
    m = make(kind, 24)
    assert sw.as_usm_memory(m) is m
    a = sw.usm_ndarray((2, 3), dtype="i4", buffer=kind)
    assert sw.as_usm_memory(a)._pointer == a.usm_data._pointer
    assert type(sw.as_usm_memory(a)) is CLASSES[kind]
    for wrong in (b"", 3, None, np.zeros(3)):
        with pytest.raises(TypeError):
            sw.as_usm_memory(wrong)


def test_pointer_type(kind):
    m = make(kind, 100)
    for inside in (0, 50, 99):
        assert sw.get_pointer_type(m._pointer + inside) == kind
    assert sw.get_pointer_type(0) == "unknown"
    assert sw.get_pointer_type(np.zeros(1).ctypes.data) == "unknown"


def test_pickle(kind, queue):
    m = make(kind, 1000, queue)
    m.copy_from_host(np.random.default_rng(3).bytes(1000))
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(m, protocol))
        assert type(again) is type(m) and again.tobytes() == m.tobytes()
        assert again.sycl_device == m.sycl_device and again._pointer != m._pointer


@pytest.mark.parametrize("made", [copy.copy, copy.deepcopy])
def test_copy(made, kind, queue):
    own = sw.Queue(queue.sycl_device)
    m = make(kind, 100, own)
    m.copy_from_host(bytes(range(100)))
    again = made(m)
    assert type(again) is type(m) and again.tobytes() == m.tobytes() and again._pointer != m._pointer
    assert again.sycl_queue == own


def test_arrays_are_memory_and_no_number_of_bytes(kind):
    a = sw.asarray(4096, usm_type=kind)
    assert CLASSES[kind](a)._pointer == a._pointer and CLASSES[kind](a).nbytes == a.usm_data.nbytes
    assert CLASSES[kind](a, copy=True).nbytes == a.usm_data.nbytes
    assert CLASSES[kind](np.int64(32)).nbytes == 32


def test_buffer_of_host_accessible_memory():
    for kind in ("host", "shared"):
        m = CLASSES[kind](64)
        m.memset(1)
        view = memoryview(m)
        assert (view.nbytes, view.format, view.readonly, view.contiguous) == (64, "B", False, True)
        view[3] = 9
        assert m.tobytes()[3] == 9
        a = np.frombuffer(m, dtype="f4")
        assert a.ctypes.data == m._pointer
        a[:] = 2.5
        assert np.frombuffer(m.tobytes(), dtype="f4").tolist() == [2.5] * 16
        del m
        gc.collect()
        # The buffer's holder keeps the memory.
        a[:] = 3.5
        assert a.sum() == 56


@pytest.mark.parametrize("kind", ["host", "shared"])
@pytest.mark.parametrize("nbytes", [64, 1 << 12, (1 << 20) + 3])
def test_copies_between_memory_and_its_own_buffer(kind, nbytes):
    data = np.random.default_rng(4).bytes(nbytes)
    m = CLASSES[kind](nbytes)
    queue, view = m.sycl_queue, memoryview(m)
    m.copy_from_host(data)
    queue.memcpy(view[8:], m, nbytes - 8)
    assert m.tobytes() == data[:8] + data[:-8]
    m.copy_from_host(data)
    queue.memcpy(m, view[8:], nbytes - 8)
    assert m.tobytes() == data[8:] + data[-8:]
    m.copy_from_host(data)
    assert m.copy_to_host(view) is view and m.tobytes() == data
    m.copy_from_host(view[3:-2])
    assert m.tobytes() == data[3:-2] + data[-5:]


def test_no_buffer_of_device_memory():
    m = sw.MemoryUSMDevice(8)
    with pytest.raises(BufferError):
        memoryview(m)
    with pytest.raises(sw.HostAccessError, match="device"):
        memoryview(m)


def test_the_buffer_is_seen_by_work_and_shows_it():
    m = sw.MemoryUSMShared(80)
    a = sw.usm_ndarray((10,), dtype="f8", buffer=m)
    shown = np.frombuffer(m)
    for step in range(100):
        shown[:] = step
        m.sycl_queue.memcpy(m, sw.MemoryUSMHost(np.full(5, -1.0), copy=True)).wait()
        assert shown.tolist() == [-1.0] * 5 + [float(step)] * 5
    assert a.usm_data._pointer == m._pointer


GIVEN_BACK = """
import gc
import stridewise as sw

device = sw.Device("host")
gc.collect()
before = device.pool_statistics["live_bytes"]
kept = [sw.MemoryUSMShared(1 << 20, queue=device.queue) for _ in range(10)]
assert device.pool_statistics["live_bytes"] >= before + (10 << 20)
del kept
gc.collect()
assert device.pool_statistics["live_bytes"] == before
device.trim_pool()
assert device.pool_statistics["cached_bytes"] <= 2 << 20, device.pool_statistics
"""


def test_memory_is_given_back():
    # In a process of its own: what arrays of other tests still live in stays with the pool, and is counted.
    done = subprocess.run([sys.executable, "-c", GIVEN_BACK], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_memory_does_not_leak():
    def once():
        m = sw.MemoryUSMShared(4096)
        memoryview(m).release()
        sw.as_usm_memory(m).memset(1)

    assert growth(once, 20_000) < 4 << 20


def test_threads_share_memory():
    m = sw.MemoryUSMShared(1 << 16)
    wrong = []

    def work(number):
        for _ in range(200):
            part = sw.MemoryUSMShared(1 << 12)
            part.memset(number)
            if part.tobytes() != bytes([number]) * (1 << 12):
                wrong.append(number)
            m.memset(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and len(set(m.tobytes())) == 1


@settings(deadline=None, max_examples=200)
@given(
    data=st.binary(min_size=1, max_size=300),
    kinds=st.tuples(st.sampled_from(list(CLASSES)), st.sampled_from(list(CLASSES))),
    count=st.integers(0, 400),
)
def test_memcpy_against_bytes(data, kinds, count):
    source, target = (CLASSES[kind](len(data)) for kind in kinds)
    source.copy_from_host(data)
    target.memset(0)
    queue = source.sycl_queue
    if count > len(data):
        with pytest.raises(sw.OutOfBoundsError):
            queue.memcpy(target, source, count)
    else:
        queue.memcpy(target, source, count).wait()
        assert target.tobytes() == data[:count] + bytes(len(data) - count)


def test_references_to_objects_are_not_overwritten():
    memory, objects = sw.MemoryUSMShared(64), np.array([None] * 8)
    for call in (lambda: memory.copy_to_host(objects), lambda: sw.Queue().memcpy(objects, memory)):
        with pytest.raises(BufferError, match="references to objects"):
            call()
    assert list(objects) == [None] * 8


@pytest.mark.parametrize("kind", ["Device", "Shared", "Host"])
def test_classes_can_be_derived_from(kind):
    class Named(getattr(sw, f"MemoryUSM{kind}")):
        name = "buffer"

    memory = Named(64)
    memory.memset(3)
    assert memory.nbytes == 64 and memory.name == "buffer" and memory.tobytes() == bytes([3] * 64)
    assert sw.usm_ndarray(8, "float64", buffer=memory).usm_type == kind.lower()
