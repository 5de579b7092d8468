"""The end of the process and its forks: nothing aborts, nothing hangs, and what a forked process reads is right or an error."""

import os
import subprocess
import sys
import textwrap

import pytest

import stridewise as sw

# The devices that have a driver of their own; OpenCL's where a runtime is installed.
DEVICES = ["host"] + (["opencl"] if sw.get_devices(backend="opencl") else [])

fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def run(code, status=0, **variables):
    """Runs a program of its own; returns what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, **variables},
    )
    assert done.returncode == status, f"status {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(params=DEVICES)
def device(request):
    return request.param


# A queue, an array on it, and work of some tenths of a second that is submitted and not waited for.
WORK = """
import atexit, os, signal, sys, threading, time
import stridewise as sw
queue = sw.Queue("{device}")
x = sw.ones(1 << 22, dtype="float32", queue=queue)
kept = []
def work(steps=30):
    y = x
    for _ in range(steps):
        y = sw.sin(y) + x
        queue.flush()
        kept.append(y)
    return y
"""

# How a program ends, and its exit status.
WAYS = {
    "the end": ("y = work()", 0),
    "sys.exit": ("y = work(); sys.exit(3)", 3),
    "SystemExit": ("y = work()\nraise SystemExit(4)", 4),
    "an error": ("y = work()\nraise ValueError", 1),
    "os._exit": ("y = work(); os._exit(5)", 5),
    "a signal": ("y = work(); os.kill(os.getpid(), signal.SIGINT); time.sleep(60)", -2),
    "a daemon that submits": (
        "threading.Thread(target=lambda: [work() for _ in range(1000)], daemon=True).start(); time.sleep(0.5)",
        0,
    ),
    "a daemon that waits": (
        "def wait():\n  while True: work(); queue.wait()\n"
        "threading.Thread(target=wait, daemon=True).start(); time.sleep(0.5)",
        0,
    ),
    "a thread that is joined": ("threading.Thread(target=lambda: work(100)).start()", 0),
    "arrays dropped": ("work(); del kept, x", 0),
    "the queue dropped": ("work(); del kept, x, queue", 0),
    "a cycle": (
        "class A: pass\na = A(); a.a, a.y, a.kept, a.queue = a, work(), kept, queue\ndel kept, x, queue",
        0,
    ),
    "an exit hook that works": ("atexit.register(work)", 0),
    "a destructor that works": ("class A:\n  def __del__(self): work()\na = A(); a.a = a; work()", 0),
    "the module dropped": ("y = work(); del sys.modules['stridewise'], sw", 0),
    "memory of others": (
        "import numpy\ny = work() + sw.asarray(numpy.ones(1 << 22, 'float32'), queue=queue)\n"
        "z = sw.from_dlpack(numpy.ones(1 << 22)) + 1; z.queue.flush(); del z",
        0,
    ),
}


class TestEnd:
    @pytest.mark.parametrize("way", WAYS)
    def test_with_work_pending(self, device, way):
        code, status = WAYS[way]
        run(WORK.format(device=device) + code, status)

    # Of more work, some is left when the interpreter ends, however busy the machine is.
    @pytest.mark.parametrize("seconds, done, steps", [("60", "True", 30), ("0", "False", 100)])
    def test_the_wait_is_bounded(self, seconds, done, steps):
        # What was registered before the module's own hook is called after it.
        code = "import atexit\natexit.register(lambda: print(event.is_done))\n" + WORK.format(device="host")
        assert run(code + f"event = work({steps}).event", STRIDEWISE_EXIT_SECONDS=seconds) == done + "\n"

    def test_a_daemon_that_compiles(self, tmp_path):
        if "opencl" not in DEVICES:
            pytest.skip("no OpenCL runtime is installed")
        # One kernel after another, none of which was compiled before, by us or by the runtime.
        code = """
        import threading, time
        import stridewise as sw
        x = sw.ones(1 << 14, dtype="float32", queue=sw.Queue("opencl"))
        def compile():
            y = x
            for step in range(1000):
                for function in (sw.sin, sw.exp, sw.tanh, sw.sqrt, sw.log1p)[: step % 5 + 1]:
                    y = function(y) * (step + 1)
                float(sw.sum(y))
        threading.Thread(target=compile, daemon=True).start()
        time.sleep({seconds})
        """
        for attempt, seconds in enumerate((0.05, 0.2, 0.5)):
            folder = tmp_path / str(attempt)
            folder.mkdir()
            run(code.format(seconds=seconds), POCL_CACHE_DIR=str(folder), STRIDEWISE_KERNEL_CACHE="")

    def test_a_bound_that_is_none(self):
        done = subprocess.run(
            [sys.executable, "-c", "import stridewise as sw; sw.ones(3)"],
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "STRIDEWISE_EXIT_SECONDS": "soon"},
        )
        assert done.returncode == 0 and "STRIDEWISE_EXIT_SECONDS" in done.stderr and "soon" in done.stderr


# Forks once; the child runs `child()`, which returns its exit status, and is killed where it hangs.
FORK = """
import collections, multiprocessing, os, signal, sys, threading, time
import stridewise as sw

def forked(child, leave=os._exit):
    process = os.fork()
    if process == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(60)
        try:
            status = child()
        except BaseException as error:
            print(type(error), error, flush=True)
            status = 99
        leave(status)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])

def left_behind(call):
    # The child has no thread that would end this, and says so at once.
    try:
        call()
    except sw.DeviceRuntimeError as error:
        return f"forked from process {os.getppid()}" in str(error) and str(os.getpid()) in str(error)
    return False
"""


@fork
class TestFork:
    def test_before_the_first_work(self, device):
        run(FORK + f"""
def work():
    x = sw.ones(1 << 21, dtype="float32", device="{device}")
    return 0 if float(sw.sum(x + x)) == 2 << 21 else 1
assert forked(work) == 0 and work() == 0
""")

    def test_after_work_the_host_works_in_a_child(self):
        run(FORK + """
x = sw.ones(1 << 21)
a = sw.reshape(sw.arange(1 << 18, dtype="float32"), (512, 512))
product = sw.asnumpy(a @ a)
assert float(sw.sum(x + x)) == 2 << 21

def child():
    # Arrays of the parent, work on several threads, products, a child's own child.
    assert float(sw.sum(x + x)) == 2 << 21
    assert (sw.asnumpy(a @ a) == product).all()
    x[...] = x + 1
    assert float(sw.sum(x)) == 2 << 21
    x[...] = 1
    sw.Queue().wait()
    queue = sw.Queue("host")
    memory = sw.MemoryUSMShared(64 << 20, queue=queue)
    event = queue.memset(memory, 4)
    event.wait()
    queue.wait()
    return 0 if set(memory.tobytes()) == {4} else 1

def parent():
    return child() or forked(child)

assert forked(parent) == 0
assert forked(child, sys.exit) == 0
assert float(sw.sum(x)) == 1 << 21
""")

    def test_pool_of_processes(self):
        assert run(FORK + """
x = sw.ones(1 << 20)
x + x
def work(k):
    return float(sw.sum(x * k))
with multiprocessing.get_context("fork").Pool(3) as pool:
    print(pool.map(work, range(8)) == [float(k << 20) for k in range(8)])
""") == "True\n"

    def test_what_is_under_way_is_waited_for(self):
        run(FORK + """
x = sw.ones(1 << 22)
for _ in range(10):
    x = sw.sin(x) + x
    x.queue.flush()
assert forked(lambda: 0 if (sw.asnumpy(x) == sw.asnumpy(x)[0]).all() and float(x[0]) > 3 else 1) == 0
""")

    def test_what_is_left_behind_is_an_error_at_once(self):
        run(FORK + """
queue, other = sw.Queue("host"), sw.Queue("host")
x = sw.ones(1 << 24, queue=queue)
queue.wait()
y = x
for _ in range(6):
    y = sw.sin(y) + x
    queue.flush()
event = y.event
z = y + 1
view = y[1:5]

def child():
    for call in (event.wait, y.wait, view.wait, lambda: sw.asnumpy(y), lambda: float(y[0]), view.tolist, z.wait):
        assert left_behind(call), call
    assert event.status == "failed" and event.is_done and isinstance(event.error, sw.DeviceRuntimeError)
    # Told once; afterwards there is nothing to wait for. A queue that had nothing under way has nothing to tell.
    other.wait()
    assert left_behind(queue.wait)
    queue.wait()
    # What does not depend on it works, on the same queue, and so does what overwrites it.
    assert float(sw.sum(x)) == 1 << 24
    y[...] = x * 2
    queue.wait()
    assert float(sw.sum(y)) == 2 << 24
    return 0

assert forked(child) == 0
y.wait()
queue.wait()
""", STRIDEWISE_EXIT_SECONDS="0")

    def test_an_array_that_a_thread_computes_on(self):
        out = run(FORK + """
a, b, stop = sw.zeros(3000, dtype="int64"), sw.ones(3000, dtype="int64"), False
def work():
    while not stop:
        a.__iadd__(b)
thread = threading.Thread(target=work)
thread.start()

def child():
    # What the thread only reads is there in any case.
    assert int(b[7]) == 1 and int(sw.sum(b)) == 3000
    try:
        values = set(a.tolist())
    except sw.DeviceRuntimeError as error:
        assert "forked from process" in str(error)
        assert left_behind(lambda: (a + 1).tolist()) and left_behind(lambda: float(sw.sum(a)))
        a[...] = 5
        assert set((a + 1).tolist()) == {6}
        return 1
    assert len(values) == 1
    return 0

found = collections.Counter(forked(child) for _ in range(60))
stop = True
thread.join()
print(found)
assert set(found) <= {0, 1}, found
""")
        assert out.startswith("Counter")

    def test_two_hundred_children_of_a_busy_process(self):
        run(FORK + """
queue = sw.Queue()
small, large = sw.zeros(1000, dtype="int64"), sw.zeros(1 << 19, dtype="int64")
one = sw.ones(1 << 19, dtype="int64")
stop = threading.Event()

def until_stop(work):
    def loop():
        while not stop.is_set():
            work()
    thread = threading.Thread(target=loop)
    thread.start()
    return thread

def fill():
    large[...] = 7
    large.wait()

def temporaries():
    float(sw.sum((one + one) * one))
    sw.Queue().wait()

def memory():
    m = sw.MemoryUSMShared(1 << 20)
    m.memset(3)
    m.tobytes()

loads = [lambda: small.__iadd__(1), fill, temporaries, memory, lambda: large.tolist()[:3], lambda: sw.get_devices()]
threads = [until_stop(load) for load in loads]

def right_or_left_behind(call, expected):
    try:
        assert call() in expected
    except sw.DeviceRuntimeError as error:
        assert "forked from process" in str(error), error

def child():
    right_or_left_behind(lambda: len(set(small.tolist())), [1])
    right_or_left_behind(lambda: float(sw.sum(large)), [0.0, 7.0 * (1 << 19)])
    right_or_left_behind(lambda: queue.wait(), [None])
    right_or_left_behind(lambda: sw.Queue().wait(), [None])
    queue.wait()
    assert float(sw.sum(one)) == 1 << 19
    x = sw.ones(1 << 20)
    x += 1
    assert float(sw.sum(x * x)) == 4 << 20
    y = sw.ones(10)
    assert (y + y).tolist() == [2.0] * 10
    m = sw.MemoryUSMShared(1 << 20)
    m.memset(9)
    assert set(m.tobytes()) == {9}
    return 0

try:
    found = collections.Counter(forked(child, sys.exit if k % 4 == 0 else os._exit) for k in range(200))
finally:
    stop.set()
assert found == {0: 200}, found
""")

    def test_other_devices_refuse_a_child(self):
        if "opencl" not in DEVICES:
            pytest.skip("no OpenCL runtime is installed")
        for seconds in ("10", "0"):
            run(WORK.format(device="opencl") + FORK + """
y = work(10)
event = y.event
keep = [sw.ones(8, device="opencl"), sw.usm_ndarray(8, buffer="shared", buffer_ctor_kwargs={"queue": queue})]

def child():
    small = keep.pop()
    for number, call in enumerate((
        lambda: sw.ones(8, device="opencl"), lambda: sw.asnumpy(y + y), lambda: sw.asnumpy(keep[0]),
        lambda: float(keep[0][0]), lambda: float(sw.sum(y)), lambda: sw.MemoryUSMDevice(8, queue=queue).memset(1), queue.wait, lambda: sw.Queue("opencl"),
        lambda: queue.submit_barrier(), lambda: sw.Device("opencl").create_sub_devices(1),
    )):
        assert left_behind(call), number
    del small
    assert float(sw.sum(sw.ones(1 << 20, device="host"))) == 1 << 20
    if event.status != "complete" and not left_behind(event.wait):
        return 2
    return 0

for leave in (os._exit, sys.exit):
    assert forked(child, leave if os.environ["STRIDEWISE_EXIT_SECONDS"] == "10" else os._exit) == 0
os.environ["STRIDEWISE_EXIT_SECONDS"] == "10" or queue.wait()
""", STRIDEWISE_EXIT_SECONDS=seconds)
