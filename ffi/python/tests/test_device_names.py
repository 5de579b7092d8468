"""dpctl's names for devices and queues, beside what they are made of."""

import pytest

import stridewise as sw
from arrays import DEVICES


@pytest.mark.parametrize("device", DEVICES)
def test_filter_strings_select_the_device(device):
    device = sw.Device(device)
    for backend in (True, False):
        for kind in (True, False):
            text = device.get_filter_string(include_backend=backend, include_device_type=kind)
            assert sw.Device(text) == device
            assert (device.backend in text.split(":"), device.device_type in text.split(":")) == (backend, kind)
    assert device.get_filter_string() == device.filter_string
    assert sw.get_devices()[device.get_device_id()] == device


@pytest.mark.parametrize("device", DEVICES)
def test_aspects_of_kinds(device):
    device = sw.Device(device)
    kinds = ("accelerator", "cpu", "gpu")
    assert [getattr(device, f"has_aspect_{kind}") for kind in kinds] == [getattr(device, f"is_{kind}") for kind in kinds]
    assert device.has_aspect_host_debuggable == ("host_debuggable" in device.aspects)
    for kind in kinds:
        assert getattr(sw, f"has_{kind}_devices")() == any(each.device_type == kind for each in sw.get_devices())


def test_parts_have_a_root_and_no_number():
    root = sw.Device("host")
    parts = root.create_sub_devices(1)
    assert root.get_unpartitioned_parent_device() == root == parts[0].get_unpartitioned_parent_device()
    for call in (parts[0].get_device_id, parts[0].get_filter_string):
        with pytest.raises(ValueError, match="is a part of a device"):
            call()


@pytest.mark.parametrize("device", DEVICES)
def test_queues(device):
    queue = sw.Queue(device)
    assert queue.get_sycl_device() == queue.sycl_device and queue.get_sycl_context() == queue.sycl_context
    assert (queue.name, queue.driver_version) == (queue.sycl_device.name, queue.sycl_device.driver_version)
