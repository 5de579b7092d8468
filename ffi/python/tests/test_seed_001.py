"""Document 001, "Memory Management": its interface is document 000's; here its example of local memory, with nothing changed but
what is imported.
"""

import functools

import numpy as np
import pytest

import stridewise as dpctl
import stridewise as sw
import stridewise.dppy as dppy
from arrays import DEVICES
from kernels import levels, on_devices, refusal
from stridewise import float32


def local_memory():
    """
    This example demonstrates the usage of numba-dpex's `local.array`
    intrinsic function. The function is used to create a static array
    allocated on the devices local address space.
    """
    blocksize = 10

    @dppy.kernel
    def reverse_array(A):
        lm = dppy.local.array(shape=10, dtype=float32)
        i = dppy.get_global_id(0)

        # preload
        lm[i] = A[i]
        # barrier local or global will both work as we only have one work group
        dppy.barrier(dppy.CLK_LOCAL_MEM_FENCE)  # local mem fence
        # write
        A[i] += lm[blocksize - 1 - i]

    arr = np.arange(blocksize).astype(np.float32)
    print(arr)

    # Use the environment variable SYCL_DEVICE_FILTER to change the default device.
    # See https://github.com/intel/llvm/blob/sycl/sycl/doc/EnvironmentVariables.md#sycl_device_filter.
    device = dpctl.select_default_device()
    print("Using device ...")
    device.print_device_info()

    with dpctl.device_context(device):
        reverse_array[blocksize, dppy.DEFAULT_LOCAL_SIZE](arr)

    # the output should be `orig[::-1] + orig, i.e. [9, 9, 9, ...]``
    print(arr)


def test_001_example(capsys):
    # Where the default device runs no kernels, the launch says so.
    default = sw.select_default_device()
    if refusal(default.filter_string) is not None:
        with pytest.raises(NotImplementedError, match="expected a kernel that"):
            local_memory()
        return
    local_memory()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "[0. 1. 2. 3. 4. 5. 6. 7. 8. 9.]"
    assert lines[1] == "Using device ..." and default.name in lines[2]
    assert lines[-1] == "[9. 9. 9. 9. 9. 9. 9. 9. 9. 9.]"


@functools.partial(on_devices, devices=[*DEVICES, *levels()])
def test_001_example_on_every_device(capsys, monkeypatch, device):
    # The example asks for the default device, which here is each of them.
    monkeypatch.setattr(dpctl, "select_default_device", lambda: sw.Device(device))
    local_memory()
    lines = capsys.readouterr().out.splitlines()
    assert sw.Device(device).name in lines[2]
    assert lines[-1] == "[9. 9. 9. 9. 9. 9. 9. 9. 9. 9.]"


@on_devices
@pytest.mark.parametrize("kind", ["device", "shared", "host"])
def test_001_kernel_on_usm_arrays_needs_no_copy(device, kind):
    @dppy.kernel
    def reverse_array(a, n):
        tile = dppy.local.array(shape=64, dtype=a.dtype)
        i, j = dppy.get_global_id(0), dppy.get_local_id(0)
        tile[j] = a[i]
        dppy.barrier(dppy.CLK_LOCAL_MEM_FENCE)
        a[i] += tile[n - 1 - j]

    a = sw.arange(64, dtype="int32", device=device, usm_type=kind)
    before = a.usm_data
    reverse_array[64, 16](a, 16)
    oracle = np.arange(64).reshape(4, 16)
    np.testing.assert_array_equal(sw.asnumpy(a), (oracle + oracle[:, ::-1]).ravel())
    assert a.usm_data._pointer == before._pointer


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
