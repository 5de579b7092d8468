"""Where arrays are made: on the queue and in memory of the kind that is named, or as what they are made of."""

import copy
import os
import pathlib
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import stridewise as sw

KINDS = ["device", "shared", "host"]
#: The kind of arrays that are made without one.
NATURAL = sw.zeros(1).usm_type
RUNTIME = pathlib.Path(sys.prefix) / "lib" / "libintelocl.so"


@pytest.fixture
def q():
    """A queue that is nobody's default."""
    return sw.Queue(profiling=True)


# Sequences in which there are arrays.


def test_asarray_of_arrays_goes_where_it_is_told(q):
    w = sw.asarray([1.0, 2.0])
    nested = [[w, w], [w, w]]
    for named in ({"sycl_queue": q}, {"queue": q}, {"device": q}, {"device": sw.zeros(1, queue=q).device}):
        for sequence in ([w, w], (w, w), nested, [w, [3.0, 4.0]], [w, np.asarray([3.0, 4.0])], [[w[0], 2], w]):
            r = sw.asarray(sequence, **named)
            assert r.sycl_queue == q and r.usm_type == NATURAL, (named, sequence)
            assert (r + sw.ones(2, queue=q)).sycl_queue == q
        assert sw.asarray(nested, **named).tolist() == [[[1.0, 2.0]] * 2] * 2
    for kind in KINDS:
        for sequence in ([w, w], nested, [w, [3.0, 4.0]]):
            r = sw.asarray(sequence, usm_type=kind, sycl_queue=q)
            assert (r.usm_type, r.sycl_queue) == (kind, q)
            r = sw.asarray(sequence, usm_type=kind)
            assert (r.usm_type, r.sycl_queue) == (kind, w.sycl_queue)
            assert sw.asarray(sequence, usm_type=kind, dtype="i2", order="F").tolist() == r.tolist()


def test_asarray_of_arrays_stays_where_they_are(q):
    for kind in KINDS:
        w = sw.asarray([1, 2], queue=q, usm_type=kind)
        for sequence in ([w, w], [w, [3, 4]], [[5, 6], w], [[w, w], [[1, 2], [3, 4]]], [w, np.asarray([1, 2])], [w[0], 1]):
            r = sw.asarray(sequence)
            assert (r.sycl_queue, r.usm_type) == (q, kind), sequence
    shared, host = (sw.asarray([1, 2], queue=q, usm_type=kind) for kind in ("shared", "host"))
    device = sw.asarray([1, 2], queue=q, usm_type="device")
    assert sw.asarray([host, shared]).usm_type == "shared"
    assert sw.asarray([host, [shared, [0, 0]][0], device]).usm_type == "device"


def test_arrays_of_two_queues_need_a_name(q):
    x, y = sw.asarray([1, 2], queue=q), sw.asarray([3, 4])
    for sequence in ([x, y], [[x], [y]], [[1, 2], x, y]):
        with pytest.raises(sw.ExecutionPlacementError):
            sw.asarray(sequence)
        assert sw.asarray(sequence, queue=q).sycl_queue == q
        assert sw.asarray(sequence, device="host").sycl_queue == sw.Device("host").queue
    # What is assigned is on the queue of what it is assigned to.
    z = sw.zeros((2, 2), queue=q)
    with pytest.raises(sw.ExecutionPlacementError):
        z[...] = [y, y]
    z[...] = [x, [5, 6]]
    assert z.tolist() == [[1, 2], [5, 6]]


def test_sequences_without_arrays_go_to_the_default(q):
    for sequence in ([1, 2], [np.asarray([1, 2])] * 2, [[np.float64(1)], [2]]):
        r = sw.asarray(sequence)
        assert (r.sycl_queue, r.usm_type) == (sw.select_default_device().queue, NATURAL)
        r = sw.asarray(sequence, queue=q, usm_type="host")
        assert (r.sycl_queue, r.usm_type) == (q, "host")


# Devices of arrays.


def test_the_device_of_an_array_has_its_queue(q):
    x = sw.ones(3, sycl_queue=q)
    device = x.device
    assert device.sycl_queue == device.queue == q and device.sycl_context == q.sycl_context
    for made in (
        sw.zeros(3, device=device), sw.ones(3, device=device), sw.full(3, 1, device=device), sw.empty(3, device=device),
        sw.arange(3, device=device), sw.linspace(0, 1, 3, device=device), sw.eye(3, device=device)[0],
        sw.asarray([1, 2, 3], device=device), sw.asarray(np.zeros(3), device=device), sw.from_numpy(np.zeros(3), device=device),
        sw.zeros_like(sw.zeros(3), device=device), sw.zeros(3).to_device(device), sw.astype(sw.zeros(3), "f4", device=device),
        sw.from_dlpack(np.zeros(3), device=device), sw.copy(sw.zeros(3), device=device),
        sw.zeros(3, device=sw.Device(device)), sw.zeros(3, device=sw.Device.create_device(device)),
        sw.zeros(3, device=copy.deepcopy(device)),
    ):  # fmt: skip
        assert made.sycl_queue == q
        assert (x + made).sycl_queue == q
    assert (x + sw.zeros(3, device=device)).tolist() == [1, 1, 1]
    assert sw.MemoryUSMDevice(8, queue=sw.zeros(3, device=device).sycl_queue).sycl_queue == q
    device.wait()
    with pytest.raises(ValueError):
        sw.zeros(3, device=device, queue=sw.Queue())


def test_devices_are_equal_where_arrays_on_them_combine(q):
    plain = sw.select_default_device()
    x, y = sw.zeros(3, queue=q), sw.zeros(3)
    assert x.device == sw.ones(2, queue=q).device != y.device == plain
    assert hash(x.device) == hash(sw.ones(2, queue=q).device)
    assert x.device != sw.zeros(3, queue=sw.Queue()).device
    # What the queue is of is the same device.
    assert x.sycl_device == y.sycl_device == q.sycl_device == plain
    assert x.device.sycl_device == plain and x.device.sycl_device.queue == plain.queue
    if x.device != y.device:
        y = y.to_device(x.device)
    assert (x + y).sycl_queue == q


def test_a_device_with_a_queue_is_a_device(q):
    device = sw.zeros(3, queue=q).device
    plain = sw.select_default_device()
    assert str(device) == device.filter_string == plain.filter_string
    assert "queue" in repr(device) and repr(plain) == f'Device("{plain}")'
    assert sw.Queue(device) != q and sw.Queue(device).sycl_device == q.sycl_device
    assert sw.Context(device).devices == [q.sycl_device]
    assert device.name == q.sycl_device.name and device.has_aspect("fp64")
    # Queues are not pickled.
    assert pickle.loads(pickle.dumps(device)) == q.sycl_device
    with pytest.raises(TypeError):
        sw.zeros(3, queue=device)
    # As of a queue, the device of an array on the device's own queue is the device.
    assert sw.Device(q).queue == q and sw.Device(sw.Device("host").queue) == sw.Device("host")


# Values to fill with.


@pytest.mark.parametrize("kind", KINDS)
def test_full_follows_its_value(q, kind):
    v = sw.asarray(7, dtype="i2", queue=q, usm_type=kind)
    r = sw.full((2, 3), v)
    assert (r.sycl_queue, r.usm_type, r.dtype, r.tolist()) == (q, kind, sw.int16, [[7] * 3] * 2)
    assert (r + v).sycl_queue == q
    r = sw.full(3, v, queue=sw.Device("host").queue)
    assert (r.sycl_queue, r.usm_type) == (sw.Device("host").queue, kind)
    r = sw.full(3, v, usm_type="host", dtype="f4")
    assert (r.sycl_queue, r.usm_type, r.dtype) == (q, "host", sw.float32)
    # A value that is no array says nothing of a place, and the array that it is to be like comes first.
    assert sw.full(3, 7).sycl_queue == sw.select_default_device().queue
    assert sw.full(3, np.int16(7)).usm_type == NATURAL
    r = sw.full_like(sw.zeros(2, usm_type="shared"), v)
    assert (r.sycl_queue, r.usm_type) == (sw.select_default_device().queue, "shared")


# A default device that is not the host.

APART = """
    import array, numpy as np, pytest, stridewise as sw
    default = sw.select_default_device()
    assert default.filter_string == "opencl:cpu:0", default
    x = np.arange(6.0).reshape(2, 3)
    zeros = sw.zeros((2, 3))
    assert zeros.sycl_queue == default.queue

    class OnlyInterface:
        __array_interface__ = x.__array_interface__

    for source in (x, OnlyInterface(), memoryview(x), x[:, ::-1], x.astype("i2"), [x[0], x[1]], x[0, 0], x[:0]):
        expected = np.asarray(source)
        a = sw.asarray(source)
        assert a.sycl_queue == default.queue and a.usm_type == zeros.usm_type, source
        assert a.dtype == expected.dtype and a.tolist() == expected.tolist(), source
        if expected.shape == (2, 3):
            assert (a + zeros).tolist() == expected.tolist()
    assert sw.from_numpy(x).sycl_queue == default.queue and (sw.from_numpy(x) + zeros).tolist() == x.tolist()
    for kind in ("device", "shared", "host"):
        a = sw.asarray(x, usm_type=kind)
        assert (a.sycl_queue, a.usm_type) == (default.queue, kind)
        assert sw.from_numpy(x, usm_type=kind).usm_type == kind
    with pytest.raises(ValueError, match="copy"):
        sw.asarray(x, copy=False)
    with pytest.raises(ValueError, match="copy"):
        sw.asarray(memoryview(x), copy=False)
    # Named, the host has it in place.
    a = sw.asarray(x, device="host", copy=False)
    x[0, 0] = 5
    assert a.sycl_queue == sw.Device("host").queue and a.tolist() == x.tolist()
    # What has a queue stays on it, and so does what DLPack takes.
    assert sw.asarray(a).sycl_queue == a.sycl_queue
    class Described:
        __sycl_usm_array_interface__ = a.__sycl_usm_array_interface__
    assert sw.asarray(Described()).sycl_queue == a.sycl_queue
    assert sw.from_dlpack(x).sycl_queue == a.sycl_queue
    y = sw.zeros(3, device=a.device)
    assert (y + a).sycl_queue == a.sycl_queue
    print("end")
"""


@pytest.mark.skipif(not RUNTIME.exists(), reason=f"no OpenCL runtime: {RUNTIME.name}")
def test_with_a_default_device_apart():
    folder = str(RUNTIME.parent)
    path = os.pathsep.join(filter(None, [folder, os.environ.get("LD_LIBRARY_PATH")]))
    environment = os.environ | {
        "STRIDEWISE_DEVICE": "opencl:cpu", "OCL_ICD_FILENAMES": str(RUNTIME), "LD_LIBRARY_PATH": path,
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(APART)], env=environment, capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stdout) == (0, "end\n"), done.stderr


def test_numpy_stays_in_place_where_the_default_device_is_the_host():
    if not sw.select_default_device().filter_string.startswith("host"):
        pytest.skip("the default device is another")
    x = np.zeros(3)
    a = sw.asarray(x, copy=False)
    x[0] = 1
    assert a.tolist() == [1, 0, 0] and a.usm_type == "host"


# Variables of the environment.


def under(code, **variables):
    """What a process says, and what it ends with, that has these variables and none other of ours."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("STRIDEWISE_")} | variables
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("empty", ["", " "])
def test_an_empty_variable_is_as_if_it_was_not_set(empty):
    code = "import stridewise as sw; print(sw.zeros(2).device, sw.Device('host').max_compute_units)"
    assert under(code, STRIDEWISE_DEVICE=empty, STRIDEWISE_NUM_THREADS=empty) == under(code)


@pytest.mark.parametrize("wrong", ["many", "0", "-3", "5000"])
def test_a_number_of_threads_that_is_none_is_told(wrong):
    code = """if True:
        import stridewise as sw
        host = sw.Device("host")
        for use in (lambda: sw.zeros(2), lambda: sw.Queue(host), lambda: sw.zeros(2, device="host"), lambda: host.queue):
            try:
                use()
                print("used")
            except sw.DeviceSelectionError as error:
                print(error)
    """
    told = under(code, STRIDEWISE_DEVICE="host", STRIDEWISE_NUM_THREADS=wrong).splitlines()
    assert len(told) == 4
    for line in told:
        assert "STRIDEWISE_NUM_THREADS" in line and f'"{wrong}"' in line and "4096" in line and "help:" in line


LOADED = """if True:
    import sys
    import stridewise as sw

    def loaded():
        with open("/proc/self/maps") as maps:
            text = maps.read().lower()
        return any(name in text for name in ("libopencl", "libpocl"))

    {statement}
    print(loaded())
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="what is loaded is read in /proc")
@pytest.mark.parametrize("statement", [
    'sw.zeros(3, device="host").tolist()', 'sw.asarray([1.0], sycl_queue=sw.Queue("host")).tolist()',
    'sw.Device("host:scalar")', "sw.select_host_device()",
])  # fmt: skip
def test_a_host_device_loads_no_other_driver(statement):
    assert under(LOADED.format(statement=statement)) == "False\n"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="what is loaded is read in /proc")
def test_a_host_device_of_the_environment_loads_no_other_driver():
    statement = "import numpy as np; (sw.asarray(np.ones(3)) + 1).tolist(); sw.from_dlpack(np.ones(3))"
    assert under(LOADED.format(statement=statement), STRIDEWISE_DEVICE="host:cpu:0") == "False\n"
    # What is looked for is there when a device of OpenCL is used.
    if sw.get_devices(backend="opencl"):
        assert under(LOADED.format(statement="sw.get_devices()"), STRIDEWISE_DEVICE="host") == "True\n"
