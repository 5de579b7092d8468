"""Ctrl-C: waits of the main thread end with KeyboardInterrupt while the work goes on, and arrays are right afterwards."""

import os
import signal
import subprocess
import sys
import time

import pytest

import stridewise as sw

pytestmark = pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="this system has no signals")

DEVICES = ["host"] + (["opencl"] if sw.get_devices(backend="opencl") else [])

# Work of a second or some: a product, of matrices whose size this machine says.
PROGRAM = """
import signal, sys, time
import stridewise as sw

queue = sw.Queue("{device}", profiling={profiling})
n = 256
while True:
    a = sw.ones((n, n), dtype="float32", queue=queue, usm_type="shared")
    (a @ a).wait()
    begin = time.perf_counter()
    (a @ a).wait()
    if time.perf_counter() - begin > 0.08:
        break
    n *= 2
n *= 2
a = sw.ones((n, n), dtype="float32", queue=queue, usm_type="shared")
a.wait()
small = sw.zeros(8, dtype="float32", queue=queue)
{setup}
y = a @ a
event = y.event
try:
    print("waiting", flush=True)
    {wait}
    print("not interrupted")
    sys.exit(1)
except KeyboardInterrupt:
    # The work is not over: the wait has not been for that.
    assert not event.is_done, "too late"
{after}
y.wait()
assert event.is_done
row = sw.asnumpy(y[n // 2])
assert (row == n).all(), row
assert float(y[0, 0]) == n and float(y[-1, -1]) == n
print("right")
"""

# How the main thread waits.
WAITS = {
    "Event.wait": "event.wait()",
    "Event.wait_for": "sw.Event.wait_for([event, event])",
    "array.wait": "y.wait()",
    "queue.wait": "queue.wait()",
    "a reduction": "float(sw.sum(y))",
    "an element": "float(y[3, 4])",
    "an integer": "int(y[0, 0])",
    "truth": "bool(y[3, 4])",
    "tolist": "y[:2].tolist()",
    "asnumpy": "sw.asnumpy(y)",
    "asnumpy of a view": "sw.asnumpy(y[:, 1])",
    "repr": "repr(y)",
    "nonzero": "sw.nonzero(y[0])",
    "a mask": "small[y[0, :8] > 0]",
    "bytes of memory": "y.usm_data.tobytes()",
    "copy_to_host": "y.usm_data.copy_to_host()",
    "pickle": "y[:2].__reduce__()",
}

# Those that let others see the memory.
SEEN = {
    "a buffer": "memoryview(y)",
    "__array_interface__": "y.__array_interface__",
    "__dlpack__": "y.__dlpack__()",
}

# Those that change it.
CHANGES = {
    "copy_from_host": ("y.usm_data.copy_from_host(bytes(4))", "y[0, 0] = n"),
    "memset": ("y.usm_data.memset(1)", "y[...] = n"),
}


def interrupted(wait, device="host", setup="", after="", profiling=False):
    program = PROGRAM.format(device=device, wait=wait, setup=setup, after=after, profiling=profiling)
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        line = child.stdout.readline()
        if line == "waiting\n":
            # Likely it waits by then; what is tested is so in any case.
            time.sleep(0.05)
            child.send_signal(signal.SIGINT)
        out, error = child.communicate(timeout=240)
    finally:
        child.kill()
    assert (child.returncode, out) == (0, "right\n"), f"status {child.returncode}\n{line}{out}\n{error}"


@pytest.mark.parametrize("wait", WAITS)
def test_a_wait(wait):
    interrupted(WAITS[wait], setup="import numpy")


@pytest.mark.parametrize("wait", ["Event.wait", "queue.wait", "a reduction", "asnumpy", "copy_to_host"])
def test_a_wait_on_another_device(wait):
    if "opencl" not in DEVICES:
        pytest.skip("no OpenCL runtime is installed")
    # The kernel of the reduction is compiled before: a signal may end a compiler that a runtime starts as a process.
    interrupted(WAITS[wait], device="opencl", setup="import numpy; float(sw.sum(a))")


@pytest.mark.parametrize("wait", SEEN)
def test_what_others_see(wait):
    interrupted(SEEN[wait])


@pytest.mark.parametrize("wait", CHANGES)
def test_a_change(wait):
    # Interrupted, it has not been made, or is made later, in its turn; the next one is made in any case.
    wait, after = CHANGES[wait]
    interrupted(wait, after=after)


def test_a_loop_that_submits_more_than_may_be_under_way():
    interrupted("[(a @ a).queue.flush() for _ in range(30)]")


def test_other_threads_wait_on():
    # Signals are the main thread's.
    interrupted(
        "event.wait()",
        setup=(
            "import threading\nfound = []\n"
            "other = threading.Thread(target=lambda: ((a @ a).wait(), found.append(1)))\nother.start()"
        ),
        after="other.join()\nassert found == [1]",
    )


def test_a_handler_that_does_not_raise():
    program = PROGRAM.format(
        device="host",
        profiling=False,
        setup="seen = []\nsignal.signal(signal.SIGINT, lambda *_: seen.append(event.is_done))",
        wait="y.wait(); assert seen == [False], seen; raise KeyboardInterrupt",
        after="",
    ).replace('    assert not event.is_done, "too late"\n', "    pass\n")
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "waiting\n"
    child.send_signal(signal.SIGINT)
    out, error = child.communicate(timeout=240)
    assert (child.returncode, out) == (0, "right\n"), f"{child.returncode}\n{out}\n{error}"


def test_a_handler_that_raises_something_else():
    interrupted(
        "y.wait()",
        setup=(
            "class Stop(KeyboardInterrupt): pass\n"
            "def stop(*_):\n    raise Stop('by the handler')\n"
            "signal.signal(signal.SIGINT, stop)"
        ),
    )


def test_a_handler_that_computes():
    # What needs no thread: they have work of some seconds.
    interrupted(
        "y.wait()",
        setup=(
            "def stop(*_):\n    assert float(sw.sum(sw.ones(1 << 10))) == 1 << 10\n    raise KeyboardInterrupt\n"
            "signal.signal(signal.SIGINT, stop)"
        ),
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_of_another_thread():
    # Whose main thread that one is.
    program = PROGRAM.partition("y = a @ a")[0].format(device="host", setup="", profiling=False) + """
import os, threading
status = []

def parent():
    process = os.fork()
    if process:
        status.append(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
        return
    y = a @ a
    event = y.event
    threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    try:
        y.wait()
    except KeyboardInterrupt:
        os._exit(4 if event.is_done else 3)
    os._exit(5)

thread = threading.Thread(target=parent)
thread.start()
thread.join()
print(status)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=240)
    assert done.stdout == "[3]\n", f"{done.stdout}\n{done.stderr}"
