"""Exchange with dpctl and dpnp: dpctl_peer.py, in a process whose OpenCL finds Intel's CPU runtime, which comes with
dpctl. Without dpctl there is nobody to exchange with.
"""

import importlib.util
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

import stridewise as sw

HERE = pathlib.Path(__file__).parent
RUNTIME = pathlib.Path(sys.prefix) / "lib" / "libintelocl.so"
ABSENT = [name for name in ("dpctl", "dpnp") if importlib.util.find_spec(name) is None]
needs_peers = pytest.mark.skipif(
    bool(ABSENT) or not RUNTIME.exists(), reason=f"not installed: {', '.join(ABSENT) or RUNTIME.name}"
)
# That which measures memory is alone in its process.
ALONE = "test_round_trips_do_not_leak"


@needs_peers
@pytest.mark.parametrize("chosen", [f"not {ALONE}", ALONE])
def test_with_dpctl_and_dpnp(chosen):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "dpctl_peer.py", "-k", chosen],
        cwd=HERE,
        env=os.environ | {"OCL_ICD_FILENAMES": str(RUNTIME)},
        capture_output=True,
        text=True,
        timeout=1800,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@needs_peers
def test_our_end_beside_theirs():
    code = (
        "import dpctl, stridewise as sw; q = dpctl.SyclQueue('opencl:cpu'); m = sw.MemoryUSMDevice(64 << 20, queue=q);"
        "e = m.queue.memset(m, 1); kept = sw.as_usm_memory(m); print('end')"
    )
    environment = os.environ | {"OCL_ICD_FILENAMES": str(RUNTIME)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "end\n"), done.stderr


@pytest.mark.skipif(not ABSENT, reason="dpctl is installed")
def test_without_dpctl_a_queue_of_sycl_is_refused_clearly():
    import ctypes

    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    with pytest.raises(NotImplementedError, match="dpctl"):
        sw.Queue(new(8, b"SyclQueueRef", None))


@pytest.mark.skipif(bool(ABSENT), reason="dpctl is not installed")
def test_runtimes_without_usm_are_refused():
    # A runtime for processors may have none; asking it about a pointer would end the process.
    code = """
        import dpctl, stridewise as sw
        class Producer:
            def __init__(self, owner, syclobj):
                self.owner = owner
                self.__sycl_usm_array_interface__ = dict(owner.__sycl_usm_array_interface__, syclobj=syclobj)
        m = sw.MemoryUSMShared(64, queue=sw.Device("host").queue)
        for device in dpctl.get_devices(device_type="cpu"):
            q = dpctl.SyclQueue(device)
            for syclobj in (q, q.sycl_context, q._get_capsule(), device.filter_string):
                try:
                    sw.as_usm_memory(Producer(m, syclobj))
                    print("taken")
                except (ValueError, NotImplementedError):
                    pass
        print("end")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stdout.endswith("end\n"), done.stdout + done.stderr
