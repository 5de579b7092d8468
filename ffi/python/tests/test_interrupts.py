"""Ctrl-C: waits of the main thread end with KeyboardInterrupt while the work goes on, and arrays are right afterwards."""

import os
import signal
import subprocess
import sys
import time

import pytest

import stridewise as sw

pytestmark = pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="this system has no signals")

# A shell that starts something in the background has it ignore this signal, and its children with it.
signal.signal(signal.SIGINT, signal.default_int_handler)

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


# A kernel that goes on for ever, over one item or many, and what the main thread does about it.
ENDLESS = """
import os, signal, sys, threading, time
import stridewise as sw
from stridewise.kernel_api import Range, call_kernel

endless = sw.kernel("def endless(item, a):\\n i = item.get_id(0)\\n while a[i] >= 0: a[i] = a[i] * 1")
items, queue = {items}, sw.Queue("{device}")
a = sw.ones(items, queue=queue)
float(sw.sum(a))
x = sw.ones(1 << 20, queue=queue)
float(sw.sum(x))
{setup}
try:
    print("waiting", flush=True)
    {wait}
    print("not interrupted", flush=True)
except KeyboardInterrupt:
    assert float(sw.sum(x * 2)) == 2 << 20
    print("right", flush=True)
os._exit(0)
"""

ENDLESS_WAITS = {
    "a launch": "endless.launch(Range(items), a); time.sleep(600)",
    "Event.wait": "endless.launch(Range(items), a).wait()",
    "call_kernel": "call_kernel(endless, Range(items), a)",
    "repr": "endless.launch(Range(items), a); repr(a)",
    "tolist": "endless.launch(Range(items), a); a.tolist()",
    "asnumpy": "endless.launch(Range(items), a); sw.asnumpy(a)",
    "an element": "endless.launch(Range(items), a); float(a[0])",
    "a sum": "endless.launch(Range(items), a); float(sw.sum(a))",
    "queue.wait": "endless.launch(Range(items), a); queue.wait()",
    "an operation behind it": "endless.launch(Range(items), a); (a + 1).wait()",
    "many operations behind it": "endless.launch(Range(items), a); [sw.sum(a + k) for k in range(1000)][-1].wait()",
}


def stopped(program):
    """Starts a program, which says that it waits, sends it Ctrl-C, and returns what it prints then. It would never end."""
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        line = child.stdout.readline()
        time.sleep(0.2)
        child.send_signal(signal.SIGINT)
        out, error = child.communicate(timeout=60)
    finally:
        child.kill()
    assert (child.returncode, line) == (0, "waiting\n"), f"status {child.returncode}\n{line}{out}\n{error}"
    return out


@pytest.mark.parametrize("items", [1, 100_000])
@pytest.mark.parametrize("wait", ENDLESS_WAITS)
def test_a_kernel_that_goes_on(wait, items):
    assert stopped(ENDLESS.format(device="host", items=items, wait=ENDLESS_WAITS[wait], setup="")) == "right\n"


@pytest.mark.parametrize("threads", [1, 2])
def test_work_beside_kernels_that_go_on(threads):
    # Sums, products and kernels in this thread and others, on the same queue and others.
    setup = f"""
counted = sw.kernel("def counted(item, a, n):\\n i = item.get_id(0)\\n for _ in range(n): a[i] = a[i] + 1")
for _ in range({2 * threads}): endless.launch(Range(items), sw.ones(items, queue=queue))
other = sw.Queue("host")
found = []
def work(queue):
    y = sw.ones((300, 300), queue=queue)
    assert float(sw.sum(y @ y)) == 300.0 ** 3
    z = sw.ones(1000, queue=queue)
    call_kernel(counted, Range(1000), z, 1000)
    assert float(sw.sum(z)) == 1001 * 1000
    assert [float(sw.sum(x + k)) for k in range(20)] == [(1 + k) << 20 for k in range(20)]
    found.append(1)
threads = [threading.Thread(target=work, args=(q,)) for q in (queue, other, queue)]
for thread in threads: thread.start()
work(other)
for thread in threads: thread.join()
assert len(found) == 4
"""
    program = ENDLESS.format(device="host", items=100_000, wait="time.sleep(600)", setup=setup)
    environment = {**os.environ, "STRIDEWISE_NUM_THREADS": str(threads)}
    child = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    try:
        line = child.stdout.readline()
        child.send_signal(signal.SIGINT)
        out, error = child.communicate(timeout=120)
    finally:
        child.kill()
    assert (line, out) == ("waiting\n", "right\n"), f"{line}{out}\n{error}"


def test_a_time_limit():
    program = ENDLESS.format(device="host", items=100_000, wait="pass", setup="""
event = endless.launch(Range(items), a, time_limit=0.05)
for wait in (event.wait, lambda: a.tolist()):
    try:
        wait()
        print("no error")
    except Exception as error:
        assert isinstance(error, (sw.KernelError, RuntimeError)) and "0.05 s" in str(error), error
for wrong in (0, -1, float("nan")):
    try:
        endless.launch(Range(1), x, time_limit=wrong)
        print("no error")
    except ValueError as error:
        assert "time_limit" in str(error)
os._exit(0)
""")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr
    program = ENDLESS.format(device="host", items=1, wait="endless.launch(Range(1), a).wait()", setup="").replace(
        "except KeyboardInterrupt", "except sw.KernelError"
    )
    environment = {**os.environ, "STRIDEWISE_KERNEL_SECONDS": "0.05"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, env=environment)
    assert (done.returncode, done.stdout) == (0, "waiting\nright\n"), done.stdout + done.stderr


# Calls of libraries, which take minutes, or are at least not over when the wait for them is.
LIBRARY = """
import os, signal, sys, tempfile, threading, time
import stridewise as sw
{setup}
def beside():
    for task in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{{task}}/comm") as name:
            if name.read().startswith("stridewise-besi"):
                return True
    return False
try:
    print("waiting", flush=True)
    {call}
    print("not interrupted", flush=True)
except KeyboardInterrupt:
    print("early" if beside() else "late", flush=True)
os._exit(0)
"""

LIBRARIES = {
    "fft": ("x = sw.ones(20_000_003, dtype='complex64')", "sw.fft.fft(x)"),
    "svd": ("x = sw.random.default_rng(1).normal(size=(3000, 3000))", "sw.linalg.svd(x)"),
    "stacked svd": ("x = sw.random.default_rng(1).normal(size=(30000, 60, 60))", "sw.linalg.svd(x)"),
    "small eigh": ("x = sw.random.default_rng(1).normal(size=(3_000_000, 4, 4))", "sw.linalg.eigh(x)"),
    "solve": ("x = sw.random.default_rng(1).normal(size=(7000, 7000))", "sw.linalg.solve(x, x)"),
    "lstsq": ("x = sw.random.default_rng(1).normal(size=(3000, 3000))", "sw.linalg.lstsq(x, x)"),
    "pinv": ("x = sw.random.default_rng(1).normal(size=(3000, 3000))", "sw.linalg.pinv(x)"),
    "load of a pipe": (
        "name = os.path.join(tempfile.mkdtemp(), 'pipe'); os.mkfifo(name)", "sw.load(name)"
    ),
}  # fmt: skip


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="threads have no names to be found by")
@pytest.mark.parametrize("name", LIBRARIES)
def test_a_library(name):
    setup, call = LIBRARIES[name]
    assert stopped(LIBRARY.format(setup=setup, call=call)) == "early\n"


# What goes on in the main thread itself, in steps: each would take minutes, or some seconds.
STEPS = {
    "polyval": ("p, x = sw.ones(3_000_000), sw.ones(100_000)", "sw.polyval(p, x)"),
    "a list": ("x = [[0.5] * 1000] * 1000; x = [x] * 100", "sw.asarray(x)"),
    "a long list": ("x = [0.5] * 30_000_000", "sw.asarray(x, dtype='float32')"),
    "a sequence": ("import collections; x = collections.deque([0.5] * 30_000_000)", "sw.asarray(x)"),
    "tolist": ("x = sw.reshape(sw.arange(60_000_000), (-1, 2)); x.wait()", "x.tolist()"),
}


@pytest.mark.parametrize("name", STEPS)
def test_work_in_steps(name):
    setup, call = STEPS[name]
    program = LIBRARY.format(setup=setup, call=call).replace('"early" if beside() else "late"', '"ended"')
    assert stopped(program) == "ended\n"
