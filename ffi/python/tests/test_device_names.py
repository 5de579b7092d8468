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


@pytest.mark.parametrize("device", DEVICES)
def test_descriptors(device):
    device = sw.Device(device)
    group, vector = device.max_work_group_size, device.vector_bytes
    assert [getattr(device, f"max_work_item_sizes{n}d") for n in (1, 2, 3)] == [(group,) * n for n in (1, 2, 3)]
    with pytest.warns(DeprecationWarning):
        assert len(device.max_work_item_sizes) == device.max_work_item_dims == 3
    for name, size in {"char": 1, "short": 2, "int": 4, "float": 4, "long": 8}.items():
        assert getattr(device, f"native_vector_width_{name}") == getattr(device, f"preferred_vector_width_{name}") == max(vector // size, 1)
    assert bool(device.native_vector_width_half) == device.has_aspect_fp16
    assert bool(device.native_vector_width_double) == device.has_aspect_fp64
    assert not device.has_aspect_image and device.image_2d_max_width == device.max_read_image_args == 0
    assert device.has_aspect_online_compiler == (device.backend == "opencl")
    assert device.global_mem_cache_type == ("read_write" if device.global_mem_cache_size else "none")
    assert device.component_devices == [] and device.composite_device is None
    assert not device.can_access_peer(device) and device.max_num_sub_groups > 0
    for call in (device.enable_peer_access, device.disable_peer_access):
        with pytest.raises(ValueError, match="`peer`"):
            call(device)
    with pytest.raises(TypeError, match="`peer`"):
        device.can_access_peer(3)


def test_platforms(capsys):
    platforms = sw.get_platforms()
    assert sorted((d for p in platforms for d in p.get_devices()), key=repr) == sorted(sw.get_devices(), key=repr)
    for platform in platforms:
        for device in platform.get_devices():
            assert device.sycl_platform == platform and hash(device.sycl_platform) == hash(platform)
            assert (platform.backend, platform.vendor) == (device.backend, device.vendor)
            assert device in platform.get_devices(device.device_type) and not platform.get_devices("accelerator")
        assert platform.default_context.get_devices() == platform.get_devices()
        assert platform.get_composite_devices() == sw.get_composite_devices() == []
        assert eval(repr(platform), {"Platform": sw.Platform}) == platform and platform != 3
    assert sw.Platform() == sw.Device().sycl_platform == sw.SyclPlatform(sw.Device().filter_string)
    sw.lsplatform(2)
    printed = capsys.readouterr().out
    assert all(platform.name in printed for platform in platforms) and all(d.name in printed for d in sw.get_devices())
    with pytest.warns(UserWarning, match="`verbosity`"):
        sw.lsplatform(3)
    for wrong in ("-1", "abc", "opencl:gpu:-1"):
        with pytest.raises(ValueError):
            sw.Platform(wrong)


def test_kinds_are_their_names():
    device = sw.Device()
    assert sw.device_type(device.device_type) == device.device_type and sw.device_type.gpu == "gpu"
    assert sw.backend_type(device.backend) == device.backend
    assert sw.get_devices(device_type=sw.device_type.all) == sw.get_devices()
    assert (sw.SyclDevice, sw.SyclQueue, sw.SyclContext, sw.SyclEvent, sw.SyclTimer) == (sw.Device, sw.Queue, sw.Context, sw.Event, sw.Timer)
    queue = sw.get_device_cached_queue(device)
    assert queue == sw.get_device_cached_queue(device.default_context) == sw.get_device_cached_queue(device.filter_string)


def test_aspects_of_all_names():
    for name in [name.removeprefix("has_aspect_") for name in dir(sw.Device) if name.startswith("has_aspect_")]:
        found = [device for device in sw.get_devices() if getattr(device, f"has_aspect_{name}")]
        if found:
            assert getattr(sw.select_device_with_aspects(name), f"has_aspect_{name}")
            assert sw.select_device_with_aspects([name, name]) in found
        else:
            with pytest.raises(sw.SyclDeviceCreationError, match="no device has"):
                sw.select_device_with_aspects(name)
    with pytest.raises(sw.DeviceSelectionError):
        sw.select_device_with_aspects("cpu", excluded_aspects="cpu")
    with pytest.raises(ValueError):
        sw.select_device_with_aspects(["cpu", "pears"])


def test_scores():
    scores = {device: device.default_selector_score for device in sw.get_devices()}
    assert max(scores, key=scores.get) == sw.select_default_device()
