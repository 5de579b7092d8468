"""Document 000, "Zero copy data exchange using SYCL USM": what it says of USM memory and of the array interface, with
this engine's own objects. The exchange with dpctl and dpnp is in test_sycl_interface.py.
"""

import array
import gc
import weakref

import numpy as np
import pytest

import stridewise as sw

KEYS = {"shape", "typestr", "typedescr", "data", "strides", "offset", "version", "syclobj"}


class Producer:
    """What a native extension does: an object that owns memory and describes it."""

    def __init__(self, owner, interface):
        self.owner = owner
        self.__sycl_usm_array_interface__ = interface


def test_000_four_kinds_of_pointers():
    for kind in ("host", "device", "shared"):
        m = getattr(sw, f"MemoryUSM{kind.capitalize()}")(64)
        assert m.get_usm_type() == kind == sw.get_pointer_type(m._pointer)
    assert sw.get_pointer_type(np.zeros(4).ctypes.data) == "unknown"


def test_000_host_and_shared_are_ordinary_to_the_interpreter_device_is_not():
    for cls in (sw.MemoryUSMHost, sw.MemoryUSMShared):
        m = cls(4)
        memoryview(m)[:] = b"abcd"
        assert m.tobytes() == b"abcd"
    with pytest.raises(BufferError):
        memoryview(sw.MemoryUSMDevice(4))


def test_000_memory_is_freed_when_the_instance_is_no_longer_needed():
    device = sw.Device("host")
    gc.collect()
    before = device.pool_statistics["live_bytes"]
    m = sw.MemoryUSMShared(1 << 16, queue=device.queue)
    gone = weakref.ref(m)
    view = sw.as_usm_memory(Producer(m, m.__sycl_usm_array_interface__))
    del m
    gc.collect()
    assert gone() is not None, "the producer is kept by its consumer"
    view.memset(1)
    del view
    gc.collect()
    assert gone() is None and device.pool_statistics["live_bytes"] == before


def test_000_the_dictionary():
    a = sw.usm_ndarray((4, 5), dtype="float32", buffer="shared")
    interface = a.__sycl_usm_array_interface__
    assert set(interface) == KEYS
    assert interface["shape"] == (4, 5) and isinstance(interface["shape"], tuple)
    assert interface["typestr"] == "<f4" and interface["typedescr"] == [("", "<f4")]
    assert interface["data"] == (a.usm_data._pointer, False)
    assert interface["strides"] is None and interface["offset"] == 0 and interface["version"] == 1
    assert interface["syclobj"] == a.sycl_queue
    view = a[1:, ::-2].__sycl_usm_array_interface__
    assert view["data"] == interface["data"], "the start of the allocation, not of the view"
    assert (view["shape"], view["strides"], view["offset"]) == ((3, 3), (5, -2), 9)
    a.flags.writable = False
    assert a.__sycl_usm_array_interface__["data"][1] is True


def test_000_syclobj_a_filter_string():
    a = sw.asarray([1.0, 2.0, 3.0], usm_type="shared", device="host")
    interface = dict(a.__sycl_usm_array_interface__, syclobj="host")
    b = sw.asarray(Producer(a, interface))
    assert b.sycl_queue == sw.Device("host").queue and b._pointer == a._pointer


def test_000_syclobj_a_context():
    a = sw.asarray([1.0, 2.0, 3.0], usm_type="shared", device="host")
    b = sw.asarray(Producer(a, dict(a.__sycl_usm_array_interface__, syclobj=a.sycl_context)))
    assert b.sycl_context == a.sycl_context and b._pointer == a._pointer


def test_000_syclobj_a_queue():
    queue = sw.Queue("host")
    a = sw.asarray([1.0, 2.0, 3.0], usm_type="shared", sycl_queue=queue)
    b = sw.asarray(Producer(a, a.__sycl_usm_array_interface__))
    assert b.sycl_queue == queue and b._pointer == a._pointer
    b[0] = 9
    assert float(a[0]) == 9


class Bytes(bytes):
    pass


class Bytearray(bytearray):
    pass


class Array(array.array):
    pass


class Ndarray(np.ndarray):
    pass


VALUES = np.arange(6, dtype="<i4")
# A memoryview cannot be subclassed; an array of NumPy over one can.
BUFFERS = {
    "bytes": lambda: Bytes(VALUES.tobytes()),
    "bytearray": lambda: Bytearray(VALUES.tobytes()),
    "array.array": lambda: Array("i", VALUES.tolist()),
    "memoryview": lambda: np.frombuffer(memoryview(bytearray(VALUES.tobytes())), dtype="u1").view(Ndarray),
}


@pytest.mark.parametrize("name", BUFFERS)
def test_000_the_buffer_counts_where_there_is_no_data(name):
    holder = BUFFERS[name]()
    interface = {"shape": (2, 3), "typestr": "<i4", "version": 1, "strides": (3, 1), "offset": 0}
    for syclobj in ("host", sw.Device("host").queue, sw.Device("host").sycl_context):
        holder.__sycl_usm_array_interface__ = dict(interface, syclobj=syclobj)
        a = sw.asarray(holder)
        assert a.shape == (2, 3) and sw.asnumpy(a).tolist() == VALUES.reshape(2, 3).tolist()
        assert a._pointer == np.frombuffer(holder, dtype="u1").ctypes.data, "without a copy"
        assert a.flags.writable == (name != "bytes") and a.usm_type == "host"
    for wrong in ({"shape": (7,), "strides": None}, {"offset": 1}, {"typestr": "<i8"}):
        holder.__sycl_usm_array_interface__ = dict(interface, syclobj="host", **wrong)
        with pytest.raises(ValueError):
            sw.asarray(holder)
