"""dpctl's names for devices and queues, beside what they are made of."""

import copy
import os
import sys

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
    assert (sw.SyclDevice, sw.SyclQueue, sw.SyclContext, sw.SyclEvent) == (sw.Device, sw.Queue, sw.Context, sw.Event)
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


def test_kinds_are_of_enumerations():
    device, queue = sw.Device("host"), sw.Queue("host")
    for owner in (device, queue, queue.context, device.sycl_platform):
        assert type(owner.backend) is sw.backend_type and owner.backend == "host" and repr(owner.backend) == "'host'"
    assert type(device.device_type) is sw.device_type and f"{device.device_type}" == "cpu"
    assert sw.Event().execution_status is sw.event_status_type.complete


def test_parts():
    device = sw.Device("host")
    count = device.max_compute_units
    assert sum(part.max_compute_units for part in device.create_sub_devices([1.0] * count)) == count
    with pytest.raises(sw.SyclSubDeviceCreationError):
        device.create_sub_devices("not_applicable")
    for wrong in (0, [0, 1], [1.5], "pears"):
        with pytest.raises((TypeError, ValueError)):
            device.create_sub_devices(wrong)


@pytest.mark.parametrize("kind, number", [("device", 1), ("shared", 2), ("host", 3)])
def test_memory(kind, number):
    queue = sw.Queue("host")
    memory = getattr(sw, f"MemoryUSM{kind.capitalize()}")(1000, queue=queue)
    assert memory._queue == queue and memory._context == queue.context and memory.reference_obj is None
    for syclobj in (None, queue, queue.context):
        assert (memory.get_usm_type(syclobj), memory.get_usm_type_enum(syclobj)) == (kind, number)
    other = sw.Context(sw.Device("host").create_sub_devices(1))
    assert memory.get_usm_type(sw.Context()) == kind or sw.Device() != sw.Device("host")
    assert (memory.get_usm_type(other), memory.get_usm_type_enum(other)) == ("unknown", 0)
    assert sys.getsizeof(memory) > 1000
    with pytest.raises(TypeError, match="`syclobj`"):
        memory.get_usm_type(Ellipsis)


def test_copies_behind_events():
    queue = sw.Queue("host")
    first, second = bytearray(3), bytearray(3)
    event = queue.memcpy_async(first, b"abc", 3)
    queue.memcpy_async(dest=second, src=first, count=3, dEvents=[event]).wait()
    queue._submit_keep_args_alive([first, second], [event]).wait()
    assert second == b"abc"


@pytest.mark.parametrize("kind", [None, "queue_barrier", "order_manager"])
def test_timer(kind):
    queue = sw.Queue("host", property="enable_profiling")
    clock = iter(range(10))
    timer = sw.SyclTimer(host_timer=lambda: next(clock), device_timer=kind, time_scale=1000)
    for _ in range(2):
        with timer(queue):
            sw.ones(100_000, queue=queue).wait()
    assert timer.dt.host_dt == 2000 and timer.dt.device_dt > 0 and tuple(timer.dt) == (2000, timer.dt.device_dt)
    with pytest.raises(ValueError, match="`device_timer`"):
        sw.SyclTimer(device_timer="pears")
    for wrong, error in ((sw.Queue("host"), ValueError), (None, TypeError), (Ellipsis, TypeError)):
        with pytest.raises(error):
            timer(wrong)


def test_utils(monkeypatch):
    queue = sw.Queue("host")
    order = sw.utils.SequentialOrderManager[queue]
    assert sw.utils.SequentialOrderManager[queue] is order and sw.utils.SequentialOrderManager[sw.Queue("host")] is not order
    event = sw.Event()
    order.add_event_pair(event, [event])
    order.add_event_pair([event], event)
    order.wait()
    assert (order.host_task_events, order.submitted_events, order.num_host_task_events, order.num_submitted_events) == ([], [], 0, 0)
    assert copy.copy(order) is not order
    sw.utils.SequentialOrderManager.clear()
    with pytest.raises(TypeError, match="`queue`"):
        sw.utils.SequentialOrderManager[None]
    with pytest.raises(TypeError, match="an event is 3"):
        order.add_event_pair(3, event)
    assert sw.utils.intel_device_info(queue.device) == {}
    with pytest.raises(TypeError, match="`dev`"):
        sw.utils.intel_device_info({})
    for before in (None, "0"):
        monkeypatch.delenv("PTI_ENABLE_COLLECTION", raising=False)
        if before is not None:
            monkeypatch.setenv("PTI_ENABLE_COLLECTION", before)
        with sw.utils.onetrace_enabled():
            assert os.environ["PTI_ENABLE_COLLECTION"] == "1"
        assert os.environ.get("PTI_ENABLE_COLLECTION") == before


def test_types_that_no_device_is_of():
    for kind in (sw.device_type.custom, sw.device_type.automatic):
        assert sw.get_devices(device_type=kind) == [] and sw.get_num_devices(device_type=kind) == 0
    with pytest.raises(ValueError, match="`device_type` is \"pears\""):
        sw.get_devices(device_type="pears")


def test_times_are_waited_for():
    queue = sw.Queue("host", property="enable_profiling")
    memory = sw.MemoryUSMHost(64 << 20, queue=queue)
    event = queue.memset(memory, 1)
    assert event.profiling_info_start <= event.profiling_info_end and event.is_done


def test_numbers_of_arguments():
    assert [each.value for each in sw.kernel_arg_type] == list(range(14)) and sw.kernel_arg_type.dpctl_int8.name == "dpctl_int8"
