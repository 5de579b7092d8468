"""Document 003, "oneAPI programming model": functions take a queue and events and return one; compute follows data."""

import numpy as np
import pytest

import stridewise as sw


def call_compute(exec_q, dest, src, dependent_events=()):
    """A function of the document's signature."""
    return exec_q.memcpy(dest, src, depends=list(dependent_events))


def test_003_a_call_takes_a_queue_and_events_and_returns_an_event():
    queue = sw.Queue()
    parts = [sw.MemoryUSMDevice(1 << 20, queue=queue) for _ in range(4)]
    event = queue.memset(parts[0], 42)
    for source, target in zip(parts, parts[1:]):
        event = call_compute(queue, target, source, [event])
        assert isinstance(event, sw.Event)
    event.wait()
    assert set(parts[-1].tobytes()) == {42}
    # An empty list: it begins as soon as the device is ready.
    call_compute(queue, parts[0], parts[-1], []).wait()


def test_003_the_queue_says_which_device_the_function_runs_on():
    for device in sw.get_devices():
        assert sw.Queue(device).sycl_device == device


def test_003_memory_lives_as_long_as_the_work_on_it():
    queue = sw.Queue()
    kept = sw.MemoryUSMShared(8 << 20, queue=queue)
    events = []
    for value in range(20):
        passing = sw.MemoryUSMDevice(8 << 20, queue=queue)
        first = queue.memset(passing, value)
        events.append(queue.memcpy(kept, passing, depends=[first]))
        del passing
    sw.Event.wait_for(events)
    assert set(kept.tobytes()) == {19}


def test_003_unary_functions_use_the_queue_of_their_array():
    def unary_func(x):
        assert isinstance(x.sycl_queue, sw.Queue)
        return -x

    x = sw.asarray([1.0, 2.0], sycl_queue=sw.Queue())
    assert unary_func(x).sycl_queue == x.sycl_queue


def test_003_binary_functions_need_one_queue():
    def binary_func(x1, x2):
        exec_q = sw.get_execution_queue((x1.sycl_queue, x2.sycl_queue))
        if exec_q is None:
            raise sw.ExecutionPlacementError("two queues")
        return x1 + x2

    x1 = sw.asarray([1.0, 2.0])
    x2 = sw.asarray([3.0, 4.0])
    assert binary_func(x1, x2).sycl_queue == x1.sycl_queue
    with pytest.raises(sw.ExecutionPlacementError):
        binary_func(x1, sw.asarray([3.0, 4.0], sycl_queue=sw.Queue()))


def test_003_equal_devices_have_one_queue():
    sycl_dev = sw.Device("cpu")
    d1 = sw.Device.create_device(sycl_dev)
    d2 = sw.Device.create_device("cpu")
    d3 = sw.Device.create_device(sw.select_cpu_device())
    assert (d1.sycl_queue == d2.sycl_queue, d1.sycl_queue == d3.sycl_queue, d2.sycl_queue == d3.sycl_queue) == (
        True,
        True,
        True,
    )


def test_003_arrays_of_the_default_device_combine():
    x1 = sw.arange(100, dtype="int32")
    x2 = sw.zeros(100, dtype="int32")
    x12 = sw.concat((x1, x2))
    assert (x12.sycl_queue == x1.sycl_queue, x12.sycl_queue == x2.sycl_queue) == (True, True)
    assert sw.asnumpy(x12).tolist() == np.arange(100).tolist() + [0] * 100


def test_003_arrays_of_two_queues_do_not():
    q1 = sw.Queue()
    q2 = sw.Queue()
    assert (q1 == q2) is False
    y1 = sw.arange(100, dtype="int32", sycl_queue=q1)
    y2 = sw.zeros(100, dtype="int32", sycl_queue=q2)
    with pytest.raises(sw.ExecutionPlacementError):
        sw.concat((y1, y2))
    # Migration is explicit.
    assert sw.concat((y1, y2.to_device(q1))).sycl_queue == q1
