"""DLPack, both ways: without copies, across lifetimes, and whatever a tensor says."""

import ctypes
import gc
import os
import random
import threading

import numpy as np
import pytest

import stridewise as sw
from conftest import DTYPES
from peers import Legacy, Producer, Versioned, api, capsule_name, growth

LAYOUTS = {
    "whole": lambda x: x,
    "transposed": lambda x: x.T,
    "reversed": lambda x: x[::-1, ::-2],
    "part": lambda x: x[1:3, 1:5:2],
    "row": lambda x: x[2],
    "element": lambda x: x[1, 1],
    "nothing": lambda x: x[2:2],
}


def address(array):
    return array.__array_interface__["data"][0]


@pytest.fixture(params=LAYOUTS)
def layout(request):
    return LAYOUTS[request.param]


@pytest.mark.parametrize("kind", ["shared", "host"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_takes_ours_in_place(kind, dtype, layout):
    ours = layout(sw.asarray(np.arange(24).reshape(4, 6).astype(dtype), usm_type=kind))
    theirs = np.from_dlpack(ours)
    assert theirs.dtype == dtype and theirs.shape == ours.shape
    assert np.array_equal(theirs, layout(np.arange(24).reshape(4, 6).astype(dtype)))
    if ours.size:
        assert address(theirs) == ours._pointer
        assert theirs.strides == tuple(s * ours.itemsize for s in ours.strides) or 1 in ours.shape


@pytest.mark.parametrize("dtype", DTYPES)
def test_ours_take_numpys_in_place(dtype, layout):
    whole = np.arange(24).reshape(4, 6).astype(dtype)
    # An element of NumPy is a scalar; a view of no dimensions is not.
    theirs = layout(whole) if layout is not LAYOUTS["element"] else whole[1:2, 1:2].reshape(())
    ours = sw.from_dlpack(theirs)
    assert ours.dtype == dtype and ours.shape == theirs.shape and ours.usm_type == "host"
    assert ours.tolist() == theirs.tolist()
    if theirs.size:
        assert ours._pointer == address(theirs)


def test_both_see_what_either_writes():
    theirs = np.zeros(8)
    ours = sw.from_dlpack(theirs)
    ours[2:4] = 5.0
    assert theirs.tolist() == [0, 0, 5, 5, 0, 0, 0, 0]
    theirs[0] = 7.0
    assert ours[0] == 7.0
    again = np.from_dlpack(ours)
    again[7] = 9.0
    assert theirs[7] == 9.0


def test_pending_work_is_done():
    x = sw.asarray(np.full(100_000, 2.0), usm_type="shared")
    assert (np.from_dlpack(x * x + x) == 6.0).all()


def test_bfloat16_goes_through():
    x = sw.asarray([1.0, 2.5], dtype="float32", usm_type="shared")
    x = sw.asarray(x, dtype="bfloat16")
    tensor = Versioned.from_address(api.PyCapsule_GetPointer(x.__dlpack__(max_version=(1, 0)), b"dltensor_versioned"))
    assert (tensor.tensor.code, tensor.tensor.bits) == (4, 16)


def test_capsules_are_of_the_version_asked_for():
    x = sw.zeros((2, 3), usm_type="shared")
    assert capsule_name(x.__dlpack__()) == b"dltensor"
    assert capsule_name(x.__dlpack__(max_version=(0, 8))) == b"dltensor"
    assert capsule_name(x.__dlpack__(max_version=(1, 0))) == b"dltensor_versioned"
    assert capsule_name(x.__dlpack__(max_version=(7, 1))) == b"dltensor_versioned"
    assert x.__dlpack_device__() == (1, 0)


@pytest.mark.parametrize("form", [Legacy, Versioned])
def test_strides_are_always_there(form):
    x = sw.zeros((), usm_type="shared")
    capsule = x.__dlpack__(max_version=(1, 0) if form is Versioned else None)
    managed = form.from_address(api.PyCapsule_GetPointer(capsule, capsule_name(capsule)))
    assert managed.tensor.strides and managed.tensor.shape


def test_read_only_arrays_say_so():
    theirs = np.arange(4.0)
    theirs.flags.writeable = False
    ours = sw.from_dlpack(theirs)
    assert not ours.flags.writable
    with pytest.raises(ValueError):
        ours[0] = 1.0
    assert not np.from_dlpack(ours).flags.writeable
    with pytest.raises(BufferError):
        ours.__dlpack__()


def test_device_memory_leaves_by_a_copy_only():
    x = sw.asarray(np.arange(4.0), usm_type="device")
    for refused in [
        lambda: x.__dlpack__(),
        lambda: x.__dlpack_device__(),
        lambda: x.__dlpack__(dl_device=(1, 0), copy=False),
        lambda: np.from_dlpack(x),
    ]:
        with pytest.raises(BufferError, match="usm_type"):
            refused()
    assert np.from_dlpack(sw.from_dlpack(x, copy=True), device="cpu").tolist() == [0, 1, 2, 3]
    assert capsule_name(x.__dlpack__(dl_device=(1, 0), max_version=(1, 0))) == b"dltensor_versioned"
    assert capsule_name(x.__dlpack__(copy=True)) == b"dltensor"


def test_a_copy_is_one():
    x = sw.asarray(np.arange(4.0), usm_type="shared")
    capsule = x.__dlpack__(copy=True, max_version=(1, 0))
    managed = Versioned.from_address(api.PyCapsule_GetPointer(capsule, b"dltensor_versioned"))
    assert managed.flags == 2 and managed.tensor.data != x._pointer
    theirs = np.arange(4.0)
    assert sw.from_dlpack(theirs, copy=True)._pointer != address(theirs)
    assert sw.from_dlpack(theirs, copy=False)._pointer == address(theirs)
    assert sw.from_dlpack(x)._pointer == x._pointer
    assert sw.from_dlpack(x, copy=True)._pointer != x._pointer


def test_arguments_that_the_processor_has_not():
    x = sw.zeros(3, usm_type="shared")
    with pytest.raises(ValueError):
        x.__dlpack__(stream=1)
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(2, 0))
    with pytest.raises(TypeError):
        x.__dlpack__(max_version="1.0")


def test_to_another_queue():
    theirs = np.arange(3.0)
    queue = sw.Queue("host")
    ours = sw.from_dlpack(theirs, device=queue)
    assert ours.queue == queue and ours._pointer == address(theirs)


def test_asarray_takes_what_follows_the_protocol():
    producer = Producer()
    assert sw.asarray(producer)._pointer != ctypes.addressof(producer.data)
    producer = Producer()
    ours = sw.asarray(producer, copy=False)
    assert ours._pointer == ctypes.addressof(producer.data)
    with pytest.raises(AttributeError):
        sw.from_dlpack([1, 2])


# Lifetimes.


def test_the_consumer_outlives_the_producer():
    theirs = np.arange(1000.0)
    ours = sw.from_dlpack(theirs)
    del theirs
    gc.collect()
    assert ours.tolist() == list(range(1000))

    ours = sw.asarray(np.arange(1000.0), usm_type="shared")
    theirs = np.from_dlpack(ours[::-1])
    del ours
    gc.collect()
    junk = [sw.zeros(1000, usm_type="shared") for _ in range(10)]
    assert theirs.tolist() == list(range(999, -1, -1))
    del junk


@pytest.mark.parametrize("form", [Legacy, Versioned])
def test_a_tensor_is_given_back_once(form):
    producer = Producer(form=form)
    ours = sw.from_dlpack(producer)
    view = ours[1:]
    result = ours + 1.0
    assert capsule_name(producer.capsule).startswith(b"used_")
    del ours
    gc.collect()
    assert producer.returned == 0
    del view
    assert result.tolist()[3][3] == 16.0
    del result
    sw.zeros(1).sycl_queue.wait()
    assert producer.returned == 1


def test_a_tensor_goes_from_any_thread():
    producer = Producer()
    box = [sw.from_dlpack(producer)]
    thread = threading.Thread(target=box.clear)
    thread.start()
    thread.join()
    assert producer.returned == 1


def test_a_tensor_without_elements_goes_at_once():
    producer = Producer(shape=(0, 4))
    producer.tensor.data = None
    assert sw.from_dlpack(producer).shape == (0, 4)
    assert producer.returned == 1


def test_a_capsule_is_used_once():
    x = sw.asarray(np.arange(3.0), usm_type="shared")

    class Again:
        capsule = x.__dlpack__(max_version=(1, 0))

        def __dlpack__(self, **_options):
            return self.capsule

        def __dlpack_device__(self):
            return (1, 0)

    first = sw.from_dlpack(Again())
    with pytest.raises(ValueError, match="used already"):
        sw.from_dlpack(Again())
    assert first.tolist() == [0, 1, 2]


def test_a_hundred_thousand_round_trips_take_no_memory():
    ours = sw.asarray(np.arange(64.0), usm_type="shared")
    theirs = np.arange(64.0)

    def trip():
        np.from_dlpack(ours)
        sw.from_dlpack(theirs)
        ours.__dlpack__()  # which nobody takes

    # What leaked 64 bytes each time would be 6.4 MB.
    assert growth(trip, 100_000) < 3 << 20


# What a tensor may say.

CHANGES = {
    "version 2": lambda p: setattr(p.managed.version, "major", 2),
    "version 0": lambda p: setattr(p.managed.version, "major", 0),
    "another device": lambda p: setattr(p.tensor, "device_type", 2),
    "code": lambda p: setattr(p.tensor, "code", 3),
    "bits": lambda p: setattr(p.tensor, "bits", 128),
    "lanes": lambda p: setattr(p.tensor, "lanes", 2),
    "no lanes": lambda p: setattr(p.tensor, "lanes", 0),
    "ndim below zero": lambda p: setattr(p.tensor, "ndim", -1),
    "ndim 33": lambda p: setattr(p.tensor, "ndim", 33),
    "null data": lambda p: setattr(p.tensor, "data", None),
    "null shape": lambda p: setattr(p.tensor, "shape", None),
    "misaligned": lambda p: setattr(p.tensor, "byte_offset", 3),
    "byte_offset": lambda p: setattr(p.tensor, "byte_offset", 2**64 - 8),
    "extent below zero": lambda p: p.shape.__setitem__(0, -4),
    "extent beyond memory": lambda p: p.shape.__setitem__(0, 2**62),
    "stride beyond memory": lambda p: p.strides.__setitem__(0, 2**61),
    "stride before memory": lambda p: p.strides.__setitem__(0, -(2**60)),
    "least stride": lambda p: p.strides.__setitem__(1, -(2**63)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_wrong_tensor_is_an_exception_and_stays_its_owners(change):
    producer = Producer()
    CHANGES[change](producer)
    with pytest.raises((BufferError, TypeError, ValueError)):
        sw.from_dlpack(producer)
    assert producer.returned == 0
    assert capsule_name(producer.capsule) == b"dltensor_versioned"


def test_wrong_capsules():
    class Gives:
        def __init__(self, given, device=(1, 0)):
            self.given, self.device = given, device

        def __dlpack__(self, **_options):
            if isinstance(self.given, Exception):
                raise self.given
            return self.given

        def __dlpack_device__(self):
            return self.device

    other = api.PyCapsule_New(1, b"something", None)
    for wrong in [3, None, "dltensor", other, object()]:
        with pytest.raises(TypeError, match="__dlpack__ returned"):
            sw.from_dlpack(Gives(wrong))
    for device in [None, 3, (1,), ("cpu", 0)]:
        with pytest.raises((TypeError, ValueError)):
            sw.from_dlpack(Gives(other, device))
    with pytest.raises(KeyError, match="mine"):
        sw.from_dlpack(Gives(KeyError("mine")))


def test_libraries_from_before_version_one():
    class Old(Producer):
        def __dlpack__(self):
            return super().__dlpack__()

    producer = Old(form=Legacy)
    assert sw.from_dlpack(producer)._pointer == ctypes.addressof(producer.data)


def test_a_tensor_from_elsewhere_is_asked_for_on_the_processor():
    asked = {}

    class Far(Producer):
        def __dlpack__(self, **options):
            asked.update(options)
            return super().__dlpack__()

    producer = Far()
    producer.device = (2, 0)
    assert sw.from_dlpack(producer).tolist()[0] == [0, 1, 2, 3]
    assert asked["dl_device"] == (1, 0)


def test_random_tensors_do_no_harm():
    """Any field may be any number: an array or an exception, which the tensor's bounds decide."""
    generator = random.Random(int(os.environ.get("STRIDEWISE_SEED", "1")))
    odd = [-(2**63), -(2**62), -1, 0, 1, 2, 3, 4, 7, 2**31, 2**32, 2**61, 2**62, 2**63 - 1]
    taken = refused = 0
    for _ in range(int(os.environ.get("STRIDEWISE_CASES", "20000"))):
        producer = Producer(form=generator.choice([Legacy, Versioned]))
        for _ in range(generator.randrange(3)):
            field = generator.choice(["shape", "strides", "ndim", "code", "bits", "lanes", "byte_offset", "device_type", "data"])
            value = generator.choice(odd)
            if field in ("shape", "strides"):
                getattr(producer, field)[generator.randrange(2)] = value
            elif field == "data":
                producer.tensor.data = value % 2**64
            elif field == "ndim":
                # Not more than there are entries, or beyond what is taken.
                producer.tensor.ndim = generator.choice([-1, 0, 1, 2, 33, 2**31 - 1])
            else:
                setattr(producer.tensor, field, value % 2**8 if field in ("code", "bits") else value % 2**16)
        try:
            array = sw.from_dlpack(producer)
        except (BufferError, TypeError, ValueError, OverflowError):
            refused += 1
            assert producer.returned == 0
        else:
            taken += 1
            del array
            assert producer.returned == 1
    assert taken > 0 and refused > 0


# Other peers, where they are installed.


def test_jax():
    jax = pytest.importorskip("jax")
    theirs = jax.numpy.arange(24, dtype="float32").reshape(4, 6)
    ours = sw.from_dlpack(theirs)
    assert ours._pointer == theirs.unsafe_buffer_pointer()
    expected = theirs.tolist()
    del theirs
    gc.collect()
    assert ours.tolist() == expected

    ours = sw.asarray(np.arange(64, dtype="float32"), usm_type="shared", copy=True)
    theirs = jax.dlpack.from_dlpack(ours)
    assert theirs.unsafe_buffer_pointer() == ours._pointer
    del ours
    gc.collect()
    assert (np.asarray(theirs) == np.arange(64)).all()

    small = sw.asarray(jax.numpy.ones(3, dtype="bfloat16"))
    assert small.dtype == "bfloat16"


def test_torch():
    torch = pytest.importorskip("torch")
    theirs = torch.arange(24, dtype=torch.float32).reshape(4, 6)
    ours = sw.from_dlpack(theirs)
    assert ours._pointer == theirs.data_ptr()
    back = torch.from_dlpack(ours)
    assert back.data_ptr() == theirs.data_ptr()


def test_what_cannot_say_that_it_may_be_written_is_read_only():
    producer = Producer(form=Legacy)
    for ours in (sw.from_dlpack(producer), sw.asarray(producer, copy=False)):
        assert not ours.flags.writable
        for write in (lambda: ours.__setitem__(0, 1.0), lambda: ours.__iadd__(1), lambda: ours.usm_data.memset(1)):
            with pytest.raises(ValueError):
                write()
    assert list(producer.data) == list(range(16))
    copied = sw.from_dlpack(producer, copy=True)
    copied += 1
    assert list(producer.data) == list(range(16)) and copied.tolist()[0][0] == 1
    assert sw.from_dlpack(Producer()).flags.writable


def test_a_device_by_dlpacks_numbers():
    x = sw.arange(3)
    for y in (sw.from_dlpack(x, device=x.__dlpack_device__()), sw.from_dlpack(np.arange(3), device=(1, 0)), sw.from_dlpack(x, device=(1, 0), copy=True)):
        assert y.tolist() == [0, 1, 2]
    assert sw.from_dlpack(x, device=(1, 0))._pointer == x._pointer
    for wrong in ((2, 0), (1, 1), (1,), ("host", 0)):
        with pytest.raises(BufferError, match="`device`"):
            sw.from_dlpack(x, device=wrong)


def test_a_copy_that_nobody_asked_for_is_read_only():
    x = sw.zeros(3, device="host", usm_type="device")
    for made in (np.asarray(x), x.__array__()):
        with pytest.raises(ValueError):
            made[0] = 1
    for made in (np.array(x), sw.asnumpy(x), np.asarray(sw.zeros(3, device="host", usm_type="shared"))):
        made[0] = 1


def test_no_way_leads_to_memory_that_is_read_only():
    producer = Producer(form=Legacy)
    ours = lambda: sw.from_dlpack(producer)
    before = list(producer.data)
    one = sw.ones(ours().shape, dtype=ours().dtype)
    writes = [
        lambda a: sw.add(one, 1, out=a), lambda a: sw.copyto(a, 1), lambda a: a.fill(1), lambda a: a.sort(), lambda a: sw.put(a, [0], [1]),
        lambda a: np.asarray(a).__setitem__(0, 3), lambda a: sw.from_dlpack(a).__setitem__(0, 3), lambda a: a.T.__setitem__(0, 3),
        lambda a: a.view("uint8").__setitem__(0, 3), lambda a: sw.random.default_rng(1).shuffle(a), lambda a: a.flat.__setitem__(0, 1.0),
        lambda a: a.usm_data.copy_from_host(b"abcd"), lambda a: sw.usm_ndarray(a.shape, a.dtype, buffer=a.usm_data).__setitem__(0, 3.0),
        lambda a: sw.kernel("def k(item, a):\n a[0, 0] = 5").launch(sw.kernel_api.Range(1), a).wait(), lambda a: a.partition(0),
        lambda a: sw.Queue().memcpy(a.usm_data, one.usm_data, 4), lambda a: memoryview(a).cast("B").__setitem__(0, 1), lambda a: a.__ipow__(0),
    ]  # fmt: skip
    for number, write in enumerate(writes):
        with pytest.raises((ValueError, TypeError, BufferError, RuntimeError, sw.KernelError)):
            write(ours())
        assert list(producer.data) == before, number
