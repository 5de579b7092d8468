"""Exchange with dpctl and dpnp on Intel's CPU runtime. test_sycl_interface.py runs this file in a process of its own,
whose OpenCL finds that runtime.
"""

import ctypes
import gc
import threading

import dpctl
import dpctl.memory as dpm
import dpnp.tensor as dpt
import numpy as np
import pytest
from peers import growth

import stridewise as sw

KINDS = ["device", "shared", "host"]
# Other runtimes for OpenCL on the processor may have no USM.
QUEUE = dpctl.SyclQueue(
    next(device for device in dpctl.get_devices(device_type="cpu") if device.has_aspect_usm_shared_allocations)
)
DTYPES = ["b1", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8", "c8", "c16"]


def theirs(values, kind="device", queue=QUEUE, **options):
    return dpt.asarray(values, usm_type=kind, sycl_queue=queue, **options)


def address(array):
    interface = array.__sycl_usm_array_interface__
    return interface["data"][0] + interface["offset"] * np.dtype(interface["typestr"]).itemsize


class Producer:
    def __init__(self, owner, **changes):
        self.owner = owner
        self.__sycl_usm_array_interface__ = dict(owner.__sycl_usm_array_interface__, **changes)


# Theirs, taken.


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_dpnp_arrays_are_taken_without_a_copy(kind, dtype):
    values = np.arange(24).reshape(4, 6).astype(dtype)
    x = theirs(values, kind)
    a = sw.asarray(x)
    assert a._pointer == address(x) and a.usm_type == kind and a.shape == (4, 6) and a.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(sw.asnumpy(a), values)
    view = x[1:, ::2]
    b = sw.asarray(view)
    assert b._pointer == address(view)
    np.testing.assert_array_equal(sw.asnumpy(b), values[1:, ::2])
    b[...] = 1
    values[1:, ::2] = 1
    np.testing.assert_array_equal(dpt.asnumpy(x), values)


@pytest.mark.parametrize("kind", KINDS)
def test_views_with_negative_strides_come_in(kind):
    values = np.arange(20, dtype="f4").reshape(4, 5)
    x = theirs(values, kind)
    for index in ((slice(None, None, -1),), (slice(None), slice(None, None, -2)), (slice(3, 0, -2), slice(4, None, -1))):
        view = x[index]
        a = sw.asarray(view)
        assert a._pointer == address(view)
        np.testing.assert_array_equal(sw.asnumpy(a), values[index])


@pytest.mark.parametrize("kind", KINDS)
def test_dpctl_memory_is_taken_without_a_copy(kind):
    m = getattr(dpm, f"MemoryUSM{kind.capitalize()}")(64, queue=QUEUE)
    m.copy_from_host(bytes(range(64)))
    ours = sw.as_usm_memory(m)
    assert ours._pointer == m._pointer and ours.get_usm_type() == kind and ours.nbytes == 64
    assert ours.tobytes() == bytes(range(64))
    ours.memset(7)
    assert bytes(m.copy_to_host()) == b"\7" * 64
    a = sw.usm_ndarray((8,), dtype="f8", buffer=m)
    assert a.usm_data._pointer == m._pointer and a.flags.writable
    assert sw.asarray(m).dtype == sw.uint8


def test_the_right_queue():
    x, y = theirs([1.0, 2.0]), theirs([3.0, 4.0])
    a, b = sw.asarray(x), sw.asarray(y)
    assert a.sycl_queue == b.sycl_queue == sw.Queue(QUEUE)
    assert (a + b).sycl_queue == a.sycl_queue and a.sycl_device.filter_string == "host:sycl"
    other = dpctl.SyclQueue(QUEUE.sycl_context, QUEUE.sycl_device)
    c = sw.asarray(theirs([5.0, 6.0], queue=other))
    assert c.sycl_queue != a.sycl_queue
    with pytest.raises(sw.ExecutionPlacementError):
        a + c
    assert sw.get_execution_queue([QUEUE, a.sycl_queue]) == a.sycl_queue
    assert sw.asarray(x, device="host").sycl_queue == sw.Device("host").queue


def test_plain_memory_of_the_host_is_copied_for_their_queue():
    values = np.arange(16, dtype="f4")
    for source in (values, memoryview(values), sw.asarray(values, device="host", usm_type="shared")):
        a = sw.asarray(source, sycl_queue=QUEUE)
        assert a.sycl_queue == sw.Queue(QUEUE) and a._pointer != values.ctypes.data
        x = dpt.asarray(a)
        assert address(x) == a._pointer and dpt.asnumpy(x).tolist() == values.tolist()
    with pytest.raises((ValueError, BufferError)):
        sw.asarray(values, sycl_queue=QUEUE, copy=False)


def test_a_buffer_must_be_of_the_queue():
    class Shows(ctypes.Array):
        _type_, _length_ = ctypes.c_uint8, 64
        __sycl_usm_array_interface__ = dict(shape=(64,), typestr="|u1", version=1, syclobj=QUEUE)

    with pytest.raises(ValueError):
        sw.as_usm_memory(Shows())
    for kind in ("shared", "host"):
        m = getattr(sw, f"MemoryUSM{kind.capitalize()}")(64, queue=QUEUE)
        shown = sw.as_usm_memory(Shows.from_address(m._pointer))
        assert shown._pointer == m._pointer and shown.get_usm_type() == kind


def test_work_is_behind_what_their_queue_was_given():
    x = dpt.zeros(1 << 22, dtype="f4", sycl_queue=QUEUE)
    a = sw.asarray(x)
    for step in range(1, 30):
        # dpnp returns before it is done.
        x += 1
        total = float(sw.asnumpy((a + 0.0)[:: 1 << 10]).sum())
        assert total == step * 4096
    host = sw.Device("host")
    for step in range(30, 60):
        x += 1
        assert float(sw.asnumpy(a.to_device(host))[:: 1 << 10].sum()) == step * 4096
        m = sw.MemoryUSMHost(x.nbytes, queue=host.queue)
        x += 1
        x -= 1
        m.copy_from_device(x)
        assert (np.frombuffer(m, dtype="f4")[:: 1 << 10] == step).all()
        x += 0
        out = np.zeros(1 << 22, dtype="f4")
        host.queue.memcpy(out, x)
        assert (out[:: 1 << 10] == step).all()
    a[...] = 5.0
    assert float(dpt.sum(x[:: 1 << 10])) == 5 * 4096


@pytest.mark.parametrize("kind", KINDS)
def test_all_forms_of_syclobj(kind):
    kept = dpt.asarray([1.0, 2.0, 3.0], usm_type=kind)
    queue = kept.sycl_queue
    forms = {
        "filter string": queue.sycl_device.filter_string,
        "SyclContext": queue.sycl_context,
        "SyclContextRef": queue.sycl_context._get_capsule(),
        "SyclQueue": queue,
        "SyclQueueRef": queue._get_capsule(),
    }

    class Gives:
        def __init__(self, give):
            self._get_capsule = give

    forms["_get_capsule of a queue"] = Gives(queue._get_capsule)
    forms["_get_capsule of a context"] = Gives(queue.sycl_context._get_capsule)
    for name, syclobj in forms.items():
        producer = Producer(kept, syclobj=syclobj)
        # Twice: a capsule that was read is as it was.
        for _ in range(2):
            a = sw.asarray(producer)
            assert a._pointer == address(kept) and a.usm_type == kind, name
            assert a.sycl_queue == sw.Queue(queue), name
            assert sw.asnumpy(a).tolist() == [1.0, 2.0, 3.0]


def test_wrong_syclobj():
    x = theirs([1.0, 2.0])
    taken = QUEUE._get_capsule()
    dpctl.SyclQueue(taken)

    class Gives:
        def __init__(self, what):
            self.what = what

        def _get_capsule(self):
            return self.what

    for wrong, error in (
        (taken, ValueError),
        (Gives(3), TypeError),
        (Gives(None), TypeError),
        (sw.Queue("host"), ValueError),
    ):
        with pytest.raises(error):
            sw.asarray(Producer(x, syclobj=wrong))
    with pytest.raises(sw.DeviceSelectionError):
        sw.asarray(Producer(x, syclobj="no such device"))


def test_what_dpctl_wrongly_accepts_is_refused():
    x = theirs(np.zeros(16, dtype="f4"))
    for changes in (
        {"shape": (1 << 40,)},
        {"shape": (1 << 62, 1 << 62)},
        {"typestr": None},
        {"typestr": ">f4"},
        {"offset": 1 << 40},
        {"strides": (1 << 40,)},
        {"strides": (-1,)},
        {"version": 2},
        {"data": (np.zeros(16, dtype="f4").ctypes.data, False)},
        {"data": (0, False)},
    ):
        with pytest.raises((ValueError, TypeError)):
            sw.asarray(Producer(x, **changes))


def test_read_only_is_honoured():
    x = theirs([1.0, 2.0])
    x.flags.writable = False
    a = sw.asarray(x)
    assert not a.flags.writable
    with pytest.raises(ValueError):
        a[0] = 3.0


def test_the_consumer_outlives_the_producer():
    values = np.arange(1000, dtype="f8")
    x = theirs(values)
    a = sw.asarray(x)
    del x
    gc.collect()
    for _ in range(10):
        theirs(np.full(1000, -1.0))
    np.testing.assert_array_equal(sw.asnumpy(a), values)
    m = dpm.MemoryUSMShared(1000, queue=QUEUE)
    m.memset(3)
    ours = sw.as_usm_memory(m)
    del m
    gc.collect()
    dpm.MemoryUSMShared(1000, queue=QUEUE).memset(4)
    assert set(ours.tobytes()) == {3}


# Ours, allocated in their queue and taken by them.


@pytest.mark.parametrize("kind", KINDS)
def test_our_memory_is_taken_by_dpctl_without_a_copy(kind):
    m = getattr(sw, f"MemoryUSM{kind.capitalize()}")(256, queue=QUEUE)
    m.copy_from_host(bytes(range(256)))
    interface = m.__sycl_usm_array_interface__
    assert isinstance(interface["syclobj"], dpctl.SyclQueue) and interface["syclobj"] == QUEUE
    t = dpm.as_usm_memory(m)
    assert t._pointer == m._pointer and t.get_usm_type() == kind and t.sycl_queue == QUEUE
    assert bytes(t.copy_to_host()) == bytes(range(256))
    t.memset(9)
    assert m.tobytes() == b"\t" * 256
    assert type(t) is getattr(dpm, f"MemoryUSM{kind.capitalize()}")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_our_arrays_are_taken_by_dpnp_without_a_copy(kind, dtype):
    values = np.arange(24).reshape(4, 6).astype(dtype)
    a = sw.asarray(values.tolist(), dtype=dtype, usm_type=kind, sycl_queue=QUEUE)
    x = dpt.asarray(a)
    assert address(x) == a._pointer and x.usm_type == kind and x.sycl_queue == QUEUE and x.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(dpt.asnumpy(x), values)
    view = a[1:, ::2]
    y = dpt.asarray(view)
    assert address(y) == view._pointer
    np.testing.assert_array_equal(dpt.asnumpy(y), values[1:, ::2])
    y[...] = 1
    values[1:, ::2] = 1
    QUEUE.wait()
    np.testing.assert_array_equal(sw.asnumpy(a), values)


def test_results_of_ours_go_to_dpnp_and_back():
    a = sw.asarray(np.linspace(0, 1, 10_000).tolist(), dtype="f4", sycl_queue=QUEUE)
    b = a * a + 1
    x = dpt.sqrt(dpt.asarray(b))
    c = sw.asarray(x) - 1
    expected = np.sqrt(np.linspace(0, 1, 10_000).astype("f4") ** 2 + 1) - 1
    np.testing.assert_allclose(sw.asnumpy(c), expected, rtol=1e-5, atol=1e-6)
    assert dpt.asarray(c).sycl_queue == QUEUE


def test_the_round_trip_is_the_same_memory():
    x = theirs([1.0, 2.0, 3.0])
    again = dpt.asarray(sw.asarray(x))
    assert address(again) == address(x) and again.sycl_queue == x.sycl_queue


def test_their_consumer_outlives_our_producer():
    values = list(range(1000))
    a = sw.asarray(values, dtype="f8", sycl_queue=QUEUE)
    x = dpt.asarray(a)
    del a
    gc.collect()
    for _ in range(10):
        sw.asarray([-1.0] * 1000, dtype="f8", sycl_queue=QUEUE).wait()
    assert dpt.asnumpy(x).tolist() == values


def test_arrays_of_our_own_queues_are_refused_by_them():
    a = sw.asarray([1.0], device="host", usm_type="shared")
    with pytest.raises((ValueError, TypeError)):
        dpt.usm_ndarray(a.shape, dtype="f8", buffer=a)
    with pytest.raises((ValueError, TypeError)):
        dpm.as_usm_memory(a)


def test_round_trips_do_not_leak():
    x = theirs(np.zeros(64))
    a = sw.asarray([0.0] * 64, sycl_queue=QUEUE, dtype="f8")

    def theirs_and_back():
        dpt.asarray(sw.asarray(x))

    def ours_and_back():
        sw.asarray(dpt.asarray(a))

    assert growth(theirs_and_back, 100_000) < 8 << 20
    assert growth(ours_and_back, 10_000) < 8 << 20


def test_queues_do_not_leak():
    def once():
        q = dpctl.SyclQueue(QUEUE.sycl_context, QUEUE.sycl_device)
        sw.asarray([1.0, 2.0], dtype="f8", sycl_queue=q, usm_type="shared").wait()

    assert growth(once, 300) < 64 << 20


def test_threads():
    wrong = []
    # dpnp makes an object of its own at the first copy of this kind, and two threads that both do wait for each other for
    # ever: one waits for the object with the interpreter's lock, which the one that makes it needs.
    theirs(np.full(1000, 0))

    def work(number):
        for step in range(50):
            x = theirs(np.full(1000, number + step))
            a = sw.asarray(x) + 1
            if sw.asnumpy(a).tolist() != [number + step + 1] * 1000:
                wrong.append((number, step))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_device_memory_of_a_processor_is_memory_of_this_process():
    x = theirs(np.arange(4, dtype="f4"))
    QUEUE.wait()
    assert (ctypes.c_float * 4).from_address(address(x))[:] == [0, 1, 2, 3]
