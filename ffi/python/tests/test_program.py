"""Kernels from sources: bundles, submissions with every kind of argument, and what is refused, on every device."""

import ctypes
import doctest
import struct
import threading

import numpy as np
import pytest

import stridewise as sw
import stridewise.program as program

QUEUES = [device.queue for device in sw.get_devices(backend="opencl")]
HOSTS = [device.queue for device in sw.get_devices(backend="host")]

SOURCE = """
kernel void axpy(global const float *x, global float *y, const float a) {
    size_t i = get_global_id(0);
    y[i] = a * x[i] + y[i];
}
kernel void reverse(global int *y, local int *tile) {
    size_t i = get_local_id(0), n = get_local_size(0);
    tile[i] = y[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    y[get_global_id(0)] = tile[n - 1 - i];
}
kernel void columns(global int *y) {
    y[get_global_id(0) + get_global_size(0) * get_global_id(1)] = (int)get_global_id(0);
}
"""


@pytest.fixture(params=QUEUES, ids=[str(queue.sycl_device.filter_string) for queue in QUEUES])
def queue(request):
    return request.param


@pytest.fixture
def bundle(queue):
    return program.create_kernel_bundle_from_source(queue, SOURCE)


def floats(queue, *values):
    return sw.asarray(list(values), dtype="float32", sycl_queue=queue)


def test_bundles_and_kernels(queue, bundle):
    assert sorted(bundle.kernel_names) == ["axpy", "columns", "reverse"]
    assert bundle.has_kernel("axpy") and bundle.has_sycl_kernel("axpy") and not bundle.has_kernel("no_such")
    kernel = bundle.get_kernel("axpy")
    assert isinstance(bundle, program.SyclKernelBundle) and isinstance(kernel, program.SyclKernel)
    assert kernel.name == kernel.get_function_name() == bundle.get_sycl_kernel("axpy").name == "axpy"
    assert kernel.num_args == kernel.get_num_args() == kernel.num_arguments == 3
    assert kernel.work_group_size >= 1 and kernel.preferred_work_group_size_multiple >= 1
    for name in ("private_mem_size", "local_mem_size", "max_num_sub_groups", "max_sub_group_size", "compile_num_sub_groups",
                 "compile_sub_group_size"):  # fmt: skip
        assert type(getattr(kernel, name)) is int and getattr(kernel, name) >= 0, name
    assert kernel.compile_work_group_size is None
    assert kernel.sycl_device == bundle.sycl_device == queue.sycl_device
    with pytest.raises(ValueError, match="no_such"):
        bundle.get_kernel("no_such")


@pytest.mark.parametrize("number", [2, 2.0, np.float32(2), ctypes.c_float(2)], ids=lambda number: type(number).__name__)
def test_numbers(queue, bundle, number):
    x, y = floats(queue, 1, 2, 3), floats(queue, 10, 20, 30)
    event = queue.submit(bundle.get_kernel("axpy"), [x, y, number], [3])
    assert isinstance(event, sw.Event)
    assert y.tolist() == [12, 24, 36]


@pytest.mark.parametrize(
    "name,ctype,dtype",
    [("char", ctypes.c_byte, "i1"), ("short", ctypes.c_short, "i2"), ("int", ctypes.c_int, "i4"),
     ("long", ctypes.c_longlong, "i8"), ("uchar", ctypes.c_ubyte, "u1"), ("ushort", ctypes.c_ushort, "u2"),
     ("uint", ctypes.c_uint, "u4"), ("ulong", ctypes.c_ulonglong, "u8"), ("long", ctypes.c_long, "i8"),
     ("float", ctypes.c_float, "f4")],
)  # fmt: skip
def test_ctypes(queue, name, ctype, dtype):
    source = f"kernel void set(global {name} *y, {name} a) {{ y[get_global_id(0)] = a; }}"
    kernel = program.create_program_from_source(queue, source).get_sycl_kernel("set")
    y = sw.zeros(5, dtype=dtype, sycl_queue=queue)
    for value in (ctype(7), np.dtype(dtype).type(7), 7):
        y[:] = 0
        queue.submit_async(kernel, [y.usm_data, value], [5]).wait()
        assert y.tolist() == [7] * 5


def test_structures(queue):
    source = """typedef struct { int a; float b; } pair;
    kernel void set(global float *y, pair p) { y[get_global_id(0)] = p.a + p.b; }"""
    kernel = program.create_kernel_bundle_from_source(queue, source).get_kernel("set")

    class Pair(ctypes.Structure):
        _fields_ = [("a", ctypes.c_int), ("b", ctypes.c_float)]

    y = floats(queue, 0, 0)
    for pair in (Pair(3, 0.5), sw.RawKernelArg(Pair(3, 0.5)), sw.RawKernelArg(struct.pack("if", 3, 0.5))):
        y[:] = 0
        queue.submit(kernel, [y, pair], 2)
        assert y.tolist() == [3.5, 3.5]


@pytest.mark.parametrize(
    "local",
    [lambda: sw.LocalAccessor("i4", (4,)), lambda: sw.WorkGroupMemory(16), lambda: sw.WorkGroupMemory("i4", 4),
     lambda: sw.kernel_api.LocalAccessor(4, "int32"), lambda: sw.LocalAccessor(sw.int32, (2, 2))],
)  # fmt: skip
def test_local_memory(queue, bundle, local):
    y = sw.arange(8, dtype="int32", sycl_queue=queue)
    queue.submit(bundle.get_kernel("reverse"), [y, local()], [8], [4])
    assert y.tolist() == [3, 2, 1, 0, 7, 6, 5, 4]


def test_extents_are_in_the_order_of_axes(queue, bundle):
    for local in (None, [1, 3]):
        y = sw.zeros((2, 6), dtype="int32", sycl_queue=queue)
        queue.submit(bundle.get_kernel("columns"), [y], [2, 6], local)
        assert y.tolist() == [list(range(6))] * 2


def test_memory(queue, bundle):
    for usm_type, cls in [("device", sw.MemoryUSMDevice), ("shared", sw.MemoryUSMShared), ("host", sw.MemoryUSMHost)]:
        try:
            x, y = cls(12, queue=queue), cls(12, queue=queue)
        except NotImplementedError:
            continue
        queue.memcpy(x, np.array([1, 2, 3], dtype="f4"))
        queue.memcpy(y, np.array([1, 1, 1], dtype="f4"))
        queue.submit(bundle.get_kernel("axpy"), [x, y, 10.0], [3])
        found = np.zeros(3, dtype="f4")
        queue.memcpy(found, y)
        assert found.tolist() == [11, 21, 31], usm_type


def test_order(queue, bundle):
    kernel = bundle.get_kernel("axpy")
    x = floats(queue, *range(100))
    y = x * 2
    before = y + 0
    first = queue.submit(kernel, [x + x, y, 1.0], [100])
    second = queue.submit(kernel, [y, y, 1.0], [100], None, [first])
    del x
    expected = np.arange(100, dtype="f4")
    np.testing.assert_array_equal(sw.asnumpy(y), expected * 8)
    np.testing.assert_array_equal(sw.asnumpy(before), expected * 2)
    second.wait()


def test_what_is_only_read(queue, bundle):
    kernel = bundle.get_kernel("axpy")
    x, y = floats(queue, 1, 2), floats(queue, 0, 0)
    x.flags.writeable = False
    queue.submit(kernel, [x, y, 3.0], [2])
    assert y.tolist() == [3, 6]
    with pytest.raises(ValueError, match="read-only"):
        queue.submit(kernel, [y, x, 3.0], [2])
    source = "kernel void copy(global float *a, global float *b) { b[get_global_id(0)] = a[get_global_id(0)]; }"
    copy = program.create_kernel_bundle_from_source(queue, source).get_kernel("copy")
    with pytest.raises(ValueError, match="read-only"):
        queue.submit(copy, [x, y], [2])
    queue.submit(copy, [program.ReadOnly(x), y], [2])
    assert y.tolist() == [1, 2]


def test_refusals(queue, bundle):
    kernel = bundle.get_kernel("axpy")
    x, y = floats(queue, 1, 2), floats(queue, 1, 2)
    for args in ([], [x, y], [x, y, 1.0, 1.0], [1.0, y, 1.0], [x, y, x], [x, y, np.float64(1)], [x, y, sw.WorkGroupMemory(4)]):
        with pytest.raises(ValueError, match="args.*axpy"):
            queue.submit(kernel, args, [2])
    for arg in ("text", None, np.zeros(3, "f4"), object()):
        with pytest.raises(TypeError, match="argument of a kernel"):
            queue.submit(kernel, [arg, y, 1.0], [2])
    for extents in (([4], [3]), ([4], [0]), ([4, 4], [4]), ([], None), ([1, 1, 1, 1], None)):
        with pytest.raises(ValueError):
            queue.submit(kernel, [x, y, 1.0], *extents)
    with pytest.raises(NotImplementedError, match="contiguous"):
        queue.submit(kernel, [x[::-1], y, 1.0], [2])
    with pytest.raises(sw.ExecutionPlacementError):
        sw.Queue(queue.sycl_device).submit(kernel, [x, y, 1.0], [2])
    with pytest.raises(ValueError, match="compiled"):
        HOSTS[0].submit(kernel, [x, y, 1.0], [2])
    with pytest.raises(TypeError, match="stridewise.program"):
        queue.submit("axpy", [x, y, 1.0], [2])
    assert y.tolist() == [1, 2]


def test_sources_that_do_not_compile(queue):
    with pytest.raises(program.SyclProgramCompilationError, match="nobody") as caught:
        program.create_kernel_bundle_from_source(queue, "kernel void k(global int *a) { a[0] = nobody; }")
    assert isinstance(caught.value, sw.CompilationError)
    with pytest.raises(sw.CompilationError):
        program.create_kernel_bundle_from_source(queue, SOURCE, "-no-such-option")
    with pytest.raises(ValueError, match="zero byte"):
        program.create_kernel_bundle_from_source(queue, "\0")
    with pytest.raises(TypeError, match="expected a Queue"):
        program.create_kernel_bundle_from_source(7, SOURCE)
    for code in (b"", b"no module of SPIR-V at all!!"):
        with pytest.raises(ValueError, match="SPIR-V"):
            program.create_kernel_bundle_from_spirv(queue, code)


def test_threads(queue, bundle):
    kernel = bundle.get_kernel("axpy")
    one = sw.ones(50, dtype="float32", sycl_queue=queue)
    sums = [sw.zeros(50, dtype="float32", sycl_queue=queue) for _ in range(4)]

    def add(number):
        for _ in range(20):
            queue.submit(kernel, [one, sums[number], float(number)], [50])

    threads = [threading.Thread(target=add, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, total in enumerate(sums):
        assert total.tolist() == [20.0 * number] * 50


@pytest.mark.parametrize("queue", HOSTS, ids=lambda queue: queue.sycl_device.filter_string)
def test_the_host_compiles_no_sources(queue):
    with pytest.raises(NotImplementedError, match="OpenCL C; expected no source at all, as .* compiles none.*stridewise.kernel"):
        program.create_kernel_bundle_from_source(queue, SOURCE)
    module = struct.pack("<5I", 0x07230203, 0x10000, 0, 1, 0)
    with pytest.raises(NotImplementedError, match="SPIR-V"):
        program.create_kernel_bundle_from_spirv(queue, module)


def test_arguments_are_checked_when_they_are_made():
    assert sw.WorkGroupMemory.is_available() and sw.RawKernelArg.is_available()
    assert sw.WorkGroupMemory("f8", 3).nbytes == 24
    for shape in ((), (1, 1, 1, 1), (-1,)):
        with pytest.raises(ValueError):
            sw.LocalAccessor("i4", shape)
    for args in ((), ("f4",), (1, 2, 3), ("no such dtype", 1)):
        with pytest.raises((TypeError, ValueError)):
            sw.WorkGroupMemory(*args)
    with pytest.raises(TypeError):
        sw.RawKernelArg(object())


def test_examples_in_documentation():
    failed, count = doctest.testmod(program)
    assert failed == 0 and count > 0
