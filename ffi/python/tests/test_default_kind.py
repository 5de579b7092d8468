"""The memory of arrays that are made without a kind, and what NumPy and others make of it."""

import subprocess
import sys
from textwrap import dedent

import numpy as np
import pytest

import stridewise as sw

NATIVE = sw.select_default_device().usm_support("shared") == "native"


def made(device):
    """Arrays of every function that makes one."""
    yield sw.zeros(3, device=device)
    yield sw.ones((2, 2), device=device)
    yield sw.empty(3, device=device)
    yield sw.full(3, 7, device=device)
    yield sw.arange(3, device=device)
    yield sw.linspace(0, 1, 3, device=device)
    yield sw.eye(3, device=device)
    yield sw.identity(3, device=device)
    yield sw.asarray([1, 2], device=device)
    yield sw.asarray(3.0, device=device)
    yield sw.array([1, 2], device=device)
    yield sw.random.default_rng(1).random(3, device=device)


@pytest.mark.parametrize("device", [str(d) for d in sw.get_devices()])
def test_memory_is_shared_where_the_device_has_it(device):
    native = sw.Device(device).usm_support("shared") == "native"
    for array in made(device):
        assert array.usm_type == ("shared" if native else "device")


def test_a_kind_that_is_named_is_the_kind():
    for kind in ("device", "shared", "host"):
        assert sw.zeros(3, usm_type=kind).usm_type == kind
        assert sw.asarray([1.0], usm_type=kind).usm_type == kind
        assert sw.from_numpy(np.ones(2), usm_type=kind).usm_type == kind


def test_the_constructor_keeps_its_default():
    # The document that it is from says buffer="device".
    assert sw.usm_ndarray((2, 3)).usm_type == "device"


@pytest.mark.skipif(not NATIVE, reason="the default device has no shared memory of its own")
class TestExchange:
    def test_in_place(self):
        x = sw.ones((2, 3))
        for theirs in (np.asarray(x), np.from_dlpack(x), np.asarray(memoryview(x)), x.__array__(), x.__array__(copy=False)):
            assert theirs.ctypes.data == x._pointer
        np.asarray(x)[0, 1] = 7
        assert x.tolist() == [[1, 7, 1], [1, 1, 1]]

    def test_a_copy_where_one_is_asked_for(self):
        x = sw.ones(3)
        for theirs in (np.array(x), x.__array__(copy=True), sw.asnumpy(x), sw.to_numpy(x)):
            theirs[0] = 5
        assert x.tolist() == [1, 1, 1]

    def test_dtype(self):
        x = sw.ones(3)
        assert x.__array__("f4").dtype == np.float32 and x.__array__("f8").ctypes.data == x._pointer
        with pytest.raises(ValueError, match="copy"):
            x.__array__("f4", copy=False)


def test_device_memory_of_the_host_is_copied():
    x = sw.ones(3, usm_type="device", device="host")
    assert np.asarray(x).tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match="copy"):
        x.__array__(copy=False)


def test_device_memory_of_another_device_is_refused():
    others = [d for d in sw.get_devices() if not d.has_aspect("host_debuggable")]
    if not others:
        pytest.skip("there is no device but the host's")
    x = sw.ones(3, device=others[0], usm_type="device")
    for convert in (lambda: np.asarray(x), lambda: np.array(x), lambda: x.__array__(), lambda: x + np.ones(3)):
        with pytest.raises((TypeError, sw.ExecutionPlacementError), match="asnumpy|asarray"):
            convert()
    assert sw.asnumpy(x).tolist() == [1, 1, 1]


class Holder:
    """What has `__array__` alone, as data frames have."""

    def __init__(self, array):
        self.array, self.asked = array, []

    def __array__(self, dtype=None, copy=None):
        self.asked.append(copy)
        return self.array


def test_asarray_takes_what_has_array():
    theirs = np.arange(6.0).reshape(2, 3)
    holder = Holder(theirs)
    for copy in (None, True):
        x = sw.asarray(holder, copy=copy)
        assert x.tolist() == theirs.tolist() and x._pointer != theirs.ctypes.data
    assert sw.asarray(theirs, copy=False)._pointer == theirs.ctypes.data
    assert sw.asarray(Holder(theirs.astype(">i2"))).tolist() == theirs.tolist()
    assert sw.asarray([Holder(theirs), Holder(theirs)]).shape == (2, 2, 3)
    assert sw.asarray(Holder(np.float32(2))).dtype == sw.float32
    with pytest.raises(TypeError):
        sw.asarray(Holder(np.asarray(["text"])))
    with pytest.raises(TypeError):
        sw.asarray(Holder("no array"))


def test_asarray_copies_what_lies_otherwise():
    raw = np.zeros(41, dtype="u1")
    misaligned = raw[1:].view("f8")
    misaligned[:] = range(5)
    record = np.zeros(4, dtype=[("a", "i2"), ("b", "f4")])
    record["b"] = range(4)
    for theirs in (misaligned, np.arange(5.0).astype(">f8"), record["b"], np.arange(3, dtype=">u2")):
        x = sw.asarray(theirs)
        assert x.tolist() == theirs.tolist()
        with pytest.raises((BufferError, ValueError, TypeError)):
            sw.asarray(theirs, copy=False)


@pytest.mark.parametrize("module", ["pandas", "polars", "h5py", "xarray", "PIL"])
def test_asarray_takes_arrays_of(module, tmp_path):
    library = pytest.importorskip(module)
    values = [[1.0, 2.0], [3.0, 4.0]]
    if module == "pandas":
        theirs = library.DataFrame(values)
    elif module == "polars":
        theirs = library.DataFrame(values, orient="row")
    elif module == "h5py":
        theirs = library.File(tmp_path / "a.h5", "w").create_dataset("a", data=values)
    elif module == "xarray":
        theirs = library.DataArray(values)
    else:
        from PIL import Image

        theirs, values = Image.fromarray(np.asarray([[1, 2], [3, 4]], dtype="u1")), [[1, 2], [3, 4]]
    assert sw.asarray(theirs).tolist() == values


def test_the_package_needs_no_numpy():
    code = """
        import sys
        import stridewise as sw
        x = sw.ones(3)
        (x + 1).sum(); x.cumsum(); repr(x); x.reshape(3, 1).tolist(); sw.asarray([1, 2], dtype="int")
        assert "numpy" not in sys.modules
    """
    assert subprocess.run([sys.executable, "-c", dedent(code)]).returncode == 0
