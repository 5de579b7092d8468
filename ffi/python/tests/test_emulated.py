"""Devices that are not there: programs that fail on such a device and pass on the host, by one limit each, and promotion as dpctl has it."""

import itertools

import numpy as np
import pytest

import stridewise as sw
from stridewise.kernel_api import LocalAccessor, NdRange, PrivateArray, Range, call_kernel, group_barrier

NONE = {}
SINGLE, FULL = {"fp64": False}, {"fp16": False}
SMALL, PIECES = {"memory": "8 MiB"}, {"memory": "1 GiB", "max_allocation": "4 MiB"}
GROUPS, LOCAL = {"max_work_group": 64}, {"local_memory": 1024}
OWN, HOSTS = {"usm": ("device",)}, {"usm": "host"}


@sw.kernel
def doubled(item, a):
    i = item.get_id(0)
    a[i] = a[i] * 2


@sw.kernel
def grouped(item, a):
    i = item.get_global_id(0)
    a[i] = a[i] + item.get_local_id(0)


@sw.kernel
def staged(item, a, part):
    i = item.get_global_id(0)
    j = item.get_local_id(0)
    part[j] = a[i]
    group_barrier(item.get_group())
    a[i] = part[j] + 1


def launched(kernel, extents, *arguments):
    call_kernel(kernel, extents, *arguments)
    arguments[0].wait()


# What a program does on a queue, on a device with which limits it fails, and how.
PROGRAMS = {
    "zeros of float64": (SINGLE, TypeError, lambda q: sw.zeros(3, dtype="float64", sycl_queue=q)),
    "zeros of complex128": (SINGLE, TypeError, lambda q: sw.zeros(3, dtype="complex128", sycl_queue=q)),
    "arange of float64": (SINGLE, TypeError, lambda q: sw.arange(3, dtype="float64", sycl_queue=q)),
    "linspace of float64": (SINGLE, TypeError, lambda q: sw.linspace(0, 1, 3, dtype="float64", sycl_queue=q)),
    "eye of float64": (SINGLE, TypeError, lambda q: sw.eye(3, dtype="float64", sycl_queue=q)),
    "full of float64": (SINGLE, TypeError, lambda q: sw.full(3, 1, dtype="float64", sycl_queue=q)),
    "asarray of float64": (SINGLE, TypeError, lambda q: sw.asarray([1, 2], dtype="float64", sycl_queue=q)),
    "astype to float64": (SINGLE, TypeError, lambda q: sw.ones(3, dtype="float32", sycl_queue=q).astype("float64").wait()),
    "sum in float64": (SINGLE, TypeError, lambda q: sw.sum(sw.ones(3, dtype="float32", sycl_queue=q), dtype="float64").wait()),
    "mean in float64": (SINGLE, TypeError, lambda q: sw.mean(sw.ones(3, dtype="float32", sycl_queue=q), dtype="float64").wait()),
    "usm_ndarray of float64": (SINGLE, TypeError, lambda q: sw.usm_ndarray((3,), dtype="float64", buffer_ctor_kwargs={"queue": q})),
    "zeros of float16": (FULL, TypeError, lambda q: sw.zeros(3, dtype="float16", sycl_queue=q)),
    "astype to float16": (FULL, TypeError, lambda q: sw.ones(3, dtype="float32", sycl_queue=q).astype("float16").wait()),
    "asarray of float16": (FULL, TypeError, lambda q: sw.asarray([1.0], dtype="float16", sycl_queue=q)),
    "an array beyond the memory": (SMALL, MemoryError, lambda q: sw.zeros(3 << 20, dtype="float32", sycl_queue=q)),
    "memory beyond the memory": (SMALL, MemoryError, lambda q: sw.MemoryUSMDevice(9 << 20, queue=q)),
    "many arrays": (SMALL, MemoryError, lambda q: [sw.zeros(1 << 18, dtype="float32", sycl_queue=q) for _ in range(10)]),
    "a result beyond the memory": (SMALL, MemoryError, lambda q: sw.outer(sw.ones(2000, dtype="float32", sycl_queue=q), sw.ones(2000, dtype="float32", sycl_queue=q)).wait()),
    "a copy of an array of the host": (SMALL, MemoryError, lambda q: sw.asarray(np.ones(3 << 20, "float32"), sycl_queue=q)),
    "concat beyond the memory": (SMALL, MemoryError, lambda q: sw.concat([sw.ones(1 << 20, dtype="float32", sycl_queue=q)] * 3).wait()),
    "one array at once": (PIECES, MemoryError, lambda q: sw.zeros(2 << 20, dtype="float32", sycl_queue=q)),
    "a table at once": (PIECES, MemoryError, lambda q: sw.tile(sw.ones(1 << 19, dtype="float32", sycl_queue=q), 4).wait()),
    "a group of 256": (GROUPS, ValueError, lambda q: launched(grouped, NdRange((256,), (256,)), sw.zeros(256, dtype="int32", sycl_queue=q))),
    "a group of 16 by 8": (GROUPS, ValueError, lambda q: launched(grouped, NdRange((16, 8), (16, 8)), sw.zeros(128, dtype="int32", sycl_queue=q))),
    "local memory of 4 KiB": (
        LOCAL, ValueError,
        lambda q: launched(staged, NdRange((64,), (32,)), sw.zeros(64, dtype="float32", sycl_queue=q), LocalAccessor(1024, "float32")),
    ),
    "memory that host code touches": (OWN, BufferError, lambda q: memoryview(sw.zeros(3, dtype="float32", sycl_queue=q))),
    "shared memory": (OWN, (ValueError, NotImplementedError), lambda q: sw.MemoryUSMShared(64, queue=q)),
    "host memory": (OWN, (ValueError, NotImplementedError), lambda q: sw.MemoryUSMHost(64, queue=q)),
    "an array in shared memory": (OWN, (ValueError, NotImplementedError), lambda q: sw.zeros(3, dtype="float32", sycl_queue=q, usm_type="shared")),
    "device memory": (HOSTS, (ValueError, NotImplementedError), lambda q: sw.MemoryUSMDevice(64, queue=q)),
}  # fmt: skip


def test_there_are_thirty():
    assert len(PROGRAMS) == 30


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_must_fail_does(name):
    limits, kind, program = PROGRAMS[name]
    program(sw.Queue("host"))
    with pytest.raises(kind) as caught:
        program(sw.emulate(**limits).queue)
    assert "; expected " in str(caught.value) or "help" in str(caught.value), caught.value


def test_what_fits_passes():
    queue = sw.emulate(fp64=False, fp16=False, memory="64 MiB", max_work_group=64, local_memory=4096, usm=("device",), name="small").queue
    x = sw.arange(1000, dtype="float32", sycl_queue=queue)
    assert x.usm_type == "device" and x.sycl_device.name == "small"
    assert float(sw.sum(sw.sqrt(x * x))) == 499500
    assert sw.sort(-x).tolist()[:2] == [-999, -998]
    y = sw.zeros(128, dtype="int32", sycl_queue=queue)
    launched(grouped, NdRange((128,), (64,)), y)
    assert y.tolist() == list(range(64)) * 2
    launched(doubled, Range(128), y)
    launched(staged, NdRange((128,), (32,)), y, LocalAccessor(32, "int32"))
    assert y.tolist() == [2 * i + 1 for i in range(64)] * 2
    assert sw.asnumpy(x + 1)[5] == 6


def test_results_are_the_hosts():
    rng = np.random.default_rng(7)
    values = rng.normal(size=(50, 40)).astype("float32")
    device = sw.emulate(fp64=False, usm=("device",))
    ours, hosts = sw.asarray(values, device=device), sw.asarray(values)
    for call in (sw.exp, sw.tanh, lambda x: sw.sum(x, axis=1), lambda x: x @ x.T, lambda x: sw.cumulative_sum(x, axis=0), sw.sort):
        np.testing.assert_array_equal(sw.asnumpy(call(ours)), sw.asnumpy(call(hosts)))


def test_arrays_of_the_host_go_to_devices_without_its_kinds():
    device = sw.emulate(usm=("device",))
    theirs = np.arange(6.0).reshape(2, 3)
    ours = sw.asarray(theirs)
    for x in (sw.asarray(theirs, device=device), sw.asarray(theirs.T, device=device).T, ours.to_device(device), sw.asarray(ours, device=device), sw.from_dlpack(theirs, device=device)):
        assert x.usm_type == "device" and x.sycl_device == device.sycl_device and x.tolist() == theirs.tolist()
    assert (x + sw.asarray([1, 2, 3], device=device)).tolist() == (theirs + [1, 2, 3]).tolist()


def test_dtypes_of_results_without_double_precision():
    device = sw.emulate(fp64=False)
    assert sw.zeros(3, device=device).dtype == "float32" and sw.asarray([1.5], device=device).dtype == "float32"
    assert sw.asarray([1j], device=device).dtype == "complex64"
    integers = sw.arange(5, device=device)
    assert (integers / 2).dtype == sw.mean(integers).dtype == sw.sqrt(integers).dtype == "float32"
    assert (integers * 1.5).dtype == "float32" and (integers * 1j).dtype == "complex64"
    with pytest.raises(TypeError, match="float64.*use float32"):
        sw.asarray(np.ones(3), device=device)


@pytest.mark.parametrize(("fp64", "fp16"), list(itertools.product((False, True), repeat=2)))
def test_promotion_is_dpctls(fp64, fp16):
    """The rules of dpctl.tensor for devices that lack a precision, in its own words where it is installed."""
    device = sw.emulate(fp64=fp64, fp16=fp16)
    names = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "complex64"]
    names += ["float16"] * fp16 + ["float64", "complex128"] * fp64
    arrays = {name: sw.ones(1, dtype=name, device=device) for name in names}
    try:
        from dpctl.tensor._type_utils import _to_device_supported_dtype_impl
    except ImportError:
        _to_device_supported_dtype_impl = None
    for first, second in itertools.product(names, repeat=2):
        expected = np.promote_types(first, second)
        if not fp64 and expected == np.float64:
            expected = np.dtype("float32")
        if not fp64 and expected == np.complex128:
            expected = np.dtype("complex64")
        if not fp16 and expected == np.float16:
            expected = np.dtype("float32")
        if _to_device_supported_dtype_impl is not None:
            assert _to_device_supported_dtype_impl(np.promote_types(first, second), fp16, fp64) == expected
        assert (arrays[first] + arrays[second]).dtype == str(expected) if first != "bool" or second != "bool" else True, (first, second)


def test_presets():
    for preset in ("iris_xe", "arc_a770", "rtx_3060", "rx_6600", "raspberry_pi_4"):
        device = sw.emulate(preset)
        named = sw.Device(f"emulated:{preset}")
        assert device.name == named.name and device.global_mem_size == named.global_mem_size
        assert device.max_work_group_size == named.max_work_group_size and device.aspects == named.aspects
        assert float(sw.sum(sw.ones(10, dtype="float32", device=device))) == 10
    # Arguments beside a preset change what they name.
    device = sw.emulate("rtx_3060", memory="2 GiB", name="half")
    assert (device.global_mem_size, device.name, device.has_aspect_fp16) == (2 << 30, "half", False)
    assert all(device.backend != "emulated" for device in sw.get_devices())


def test_each_is_a_device_of_its_own():
    one, other = sw.emulate(), sw.emulate()
    assert one != other
    with pytest.raises(sw.ExecutionPlacementError):
        sw.ones(3, device=one) + sw.ones(3, device=other)


def test_limits_are_what_the_device_says():
    device = sw.emulate(memory=123 << 20, max_allocation="7 MB", max_work_group=48, local_memory="2 KiB", usm=["device", "host"], fp16=False)
    assert (device.global_mem_size, device.max_mem_alloc_size) == (123 << 20, 7_000_000)
    assert (device.max_work_group_size, device.local_mem_size) == (48, 2048)
    assert not device.has_aspect_fp16 and device.has_aspect_fp64
    assert not device.has_aspect_usm_shared_allocations and device.has_aspect_usm_host_allocations


@pytest.mark.parametrize(
    ("options", "kind", "text"),
    [
        ({"preset": "voodoo"}, ValueError, "`preset` is \"voodoo\".*iris_xe"), ({"preset": 3}, TypeError, "`preset` is 3"),
        ({"memory": 0}, ValueError, "`memory` is 0 bytes"), ({"memory": "few"}, ValueError, "`memory` is \"few\""), ({"memory": 1.5}, TypeError, "`memory` is 1.5"),
        ({"memory": -1}, OverflowError, "`memory` is -1"), ({"max_work_group": 0}, ValueError, "`max_work_group` is 0"),
        ({"max_work_group": "64"}, TypeError, "`max_work_group` is '64'"), ({"usm": ()}, ValueError, "`usm` is no kind"), ({"usm": ("heap",)}, ValueError, "heap"),
        ({"usm": 3}, TypeError, "`usm` is 3"), ({"usm": (3,)}, TypeError, "element of `usm`"), ({"fp64": "no"}, TypeError, "`fp64` is 'no'"), ({"name": 3}, TypeError, "`name` is 3"),
    ],
)  # fmt: skip
def test_what_no_device_is(options, kind, text):
    with pytest.raises(kind, match=text):
        sw.emulate(**options)
