"""Document 001, "Memory Management": its interface is document 000's; here its example of a device and of local memory,
by the array operations that it amounts to.
"""

import stridewise as sw


def test_001_default_device_and_its_description(capsys):
    device = sw.select_default_device()
    device.print_device_info()
    assert device.name in capsys.readouterr().out


def test_001_reverse_array():
    # Each work-item adds the element opposite to its own; the document's output is [9, 9, 9, …].
    device = sw.select_default_device()
    arr = sw.arange(10, dtype="float32", device=device)
    arr += arr[::-1]
    assert [float(arr[i]) for i in range(10)] == [9.0] * 10


def test_001_explicit_transfer_to_a_device_and_back():
    # The document has no explicit transfer; arrays here have.
    host = sw.asarray([1.0, 2.0, 3.0], usm_type="host", device="host")
    for device in sw.get_devices():
        there = host.to_device(device)
        assert there.sycl_device == device
        back = (there + there).to_device("host")
        assert [float(back[i]) for i in range(3)] == [2.0, 4.0, 6.0]


def test_001_interface_of_memory_and_of_arrays():
    for owner in (sw.MemoryUSMShared(16), sw.usm_ndarray((4,), dtype="f4")):
        interface = owner.__sycl_usm_array_interface__
        assert interface["syclobj"] == owner.sycl_queue and interface["version"] == 1
        assert isinstance(interface["typedescr"], list) and all(isinstance(f, tuple) for f in interface["typedescr"])
