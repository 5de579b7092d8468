"""Captured programs against the same programs run directly, to the same bits; what a block refuses; threads, errors and signals."""

import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import stridewise as sw
from kernels import on_devices, refusal
from stridewise.kernel_api import Range

DEVICES = [device.filter_string for device in sw.get_devices()]
REPLAYS = 60


def plate(place):
    u = np.zeros((61, 67), np.float32)
    u[20:40, 10:30] = 1
    return [sw.asarray(u, **place)]


def heat(state):
    (u,) = state
    u[1:-1, 1:-1] = u[1:-1, 1:-1] + 0.2 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])


def samples(place):
    rng = np.random.default_rng(5)
    x = rng.random((2000, 6), np.float32) - 0.5
    y = (x.sum(axis=1) > 0.1).astype(np.float32)
    return [sw.asarray(x, **place), sw.asarray(y, **place), sw.zeros(6, dtype="float32", **place)]


def logistic(state):
    x, y, w = state
    p = 1 / (1 + sw.exp(-(x @ w)))
    w[...] = w - 0.5 * (x.T @ (p - y)) / x.shape[0]


def board(place):
    return [sw.asarray((np.random.default_rng(9).random((50, 60)) > 0.7).astype(np.int32), **place)]


def life(state):
    (cells,) = state
    near = 0
    for i in (-1, 0, 1):
        for j in (-1, 0, 1):
            if i or j:
                near = near + sw.roll(cells, (i, j), axis=(0, 1))
    cells[...] = sw.astype((near == 3) | ((cells == 1) & (near == 2)), sw.int32)


def points(place):
    p = np.random.default_rng(3).random((1500, 4), np.float32)
    return [sw.asarray(p, **place), sw.asarray(p[:8].copy(), **place)]


def kmeans(state):
    p, c = state
    apart = sw.sum(p * p, axis=1)[:, None] - 2 * (p @ c.T) + sw.sum(c * c, axis=1)[None, :]
    nearest = sw.argmin(apart, axis=1)
    member = sw.astype(nearest[:, None] == sw.arange(8, device=p.device)[None, :], p.dtype)
    c[...] = (member.T @ p) / sw.maximum(sw.sum(member, axis=0), 1)[:, None]


@sw.kernel
def smooth(item, a, b):
    i, n = item.get_id(0), a.shape[0]
    b[i] = (a[(i + n - 1) % n] + a[i] * 2 + a[(i + 1) % n]) / 4


def wave(place):
    a = sw.asarray(np.random.default_rng(2).random(5000, np.float32), **place)
    return [a, sw.zeros_like(a)]


def smoothing(state):
    a, b = state
    a.queue.submit(smooth, [a, b], [a.shape[0]])
    a.queue.submit(smooth, [b, a], [a.shape[0]])


def walkers(place):
    seeds = np.random.default_rng(4).integers(0, 2**32, 30000, np.uint32)
    return [sw.zeros(30000, dtype="float32", **place), sw.asarray(seeds, **place)]


def walk(state):
    x, seeds = state
    # The same numbers in each step, by their counter; and others, whose seeds are state.
    x += sw.random.Generator(77).normal(size=x.shape[0], dtype="float32", device=x.device)
    seeds *= 1664525
    seeds += 1013904223
    x += sw.astype(seeds, sw.float32) * 2.0**-32 - 0.5


PROGRAMS = {
    "heat": (plate, heat),
    "logistic": (samples, logistic),
    "life": (board, life),
    "kmeans": (points, kmeans),
    "kernel": (wave, smoothing),
    "walk": (walkers, walk),
}


def bits(state):
    return [np.array(sw.asnumpy(array)).tobytes() for array in state]


def directly(name, steps, place):
    make, step = PROGRAMS[name]
    state = make(place)
    for _ in range(steps):
        step(state)
    return bits(state)


def captured(name, place):
    make, step = PROGRAMS[name]
    state = make(place)
    with state[0].queue.capture() as graph:
        step(state)
    return graph, state


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_replays_give_the_bits_of_steps(name, device):
    if name == "kernel" and refusal(device) is not None:
        pytest.skip("the device runs no kernels")
    place = {"device": device}
    graph, state = captured(name, place)
    assert len(graph) > 0 and graph.queue == state[0].queue
    assert bits(state) == directly(name, 1, place), "the block is the first step"
    for _ in range(REPLAYS // 2):
        graph.replay()
    graph.repeat(REPLAYS // 2).wait()
    assert bits(state) == directly(name, REPLAYS + 1, place)
    assert str(graph).startswith(f"graph of {len(graph)} commands on ")
    assert repr(graph).startswith(f"<Graph: {len(graph)} commands, ")


@pytest.mark.parametrize("device", DEVICES)
def test_a_call_takes_other_inputs_and_has_fresh_results(device):
    x = sw.linspace(0, 1, 20_000, dtype="float32", device=device)
    offset = sw.full(20_000, 5, dtype="float32", device=device)
    with x.queue.capture() as graph:
        graph.input("x", x)
        y = sw.sqrt(x * 2 + offset)
        graph.output("y", y)
        graph.output("total", sw.sum(y))
    assert graph.inputs == ("x",) and graph.outputs == ("y", "total")
    assert "input x: float32" in str(graph) and "output y: float32" in str(graph)
    before = bits([y])
    others = [sw.full(20_000, k, dtype="float32", device=device) + x for k in range(4)]
    results = [graph(other) for other in others[:3]] + [graph(x=others[3])]
    for other, (found, total) in zip(others, results):
        expected = sw.sqrt(other * 2 + offset)
        assert bits([found]) == bits([expected])
        assert bits([total]) == bits([sw.sum(expected)])
    assert bits([y]) == before
    offset[...] = 1
    graph.replay()
    assert bits([y]) == bits([sw.sqrt(x * 2 + offset)])


def test_a_call_without_outputs_writes_its_input():
    x = sw.ones(1000)
    with x.queue.capture() as graph:
        graph.input("x", x)
        x *= 3
    other = sw.full(1000, 2.0)
    assert graph(other) is None
    assert float(other[7]) == 6 and float(x[7]) == 3


def test_arrays_of_numpy_are_inputs():
    theirs = np.ones(1000)
    x = sw.asarray(theirs, copy=False)
    with pytest.raises(NotImplementedError, match="known outside"), x.queue.capture():
        y = x + 1
    with x.queue.capture() as graph:
        graph.input("x", x)
        y = x * 2
        graph.output("y", y)
    theirs[:] = 4
    graph.replay()
    assert np.all(np.asarray(y) == 8)
    other = np.full(1000, 10.0)
    assert np.all(np.asarray(graph(sw.asarray(other, copy=False))) == 20)


@pytest.mark.parametrize("reshape", [lambda x: x[:500], lambda x: x[::-1], lambda x: sw.astype(x, "float64"), lambda x: 3.0])
def test_what_is_no_such_input_is_refused(reshape):
    x = sw.ones(1000, dtype="float32")
    with x.queue.capture() as graph:
        graph.input("x", x)
        graph.output("y", x + 1)
    with pytest.raises((TypeError, ValueError), match="x"):
        graph(reshape(sw.ones(1000, dtype="float32")))


def test_wrong_numbers_and_names_of_inputs():
    x, z = sw.ones(1000), sw.ones(1000)
    with x.queue.capture() as graph:
        graph.input("x", x)
        graph.input("z", z)
        graph.output("y", x + z)
    for args, named in [((), {}), ((x,), {}), ((x, z, x), {}), ((x,), {"x": x}), ((x, z), {"w": x}), ((), {"x": x, "w": z})]:
        with pytest.raises(TypeError, match="inputs: got .*, expected arrays for x, z; help"):
            graph(*args, **named)
    assert float(graph(x, z=z)[0]) == 2
    with pytest.raises(TypeError, match="times"):
        graph.repeat("3")


REFUSED = {
    "an element": lambda queue, x: float(x[3]),
    "truth": lambda queue, x: bool(sw.all(x > 0)),
    "a list": lambda queue, x: x.tolist(),
    "asnumpy": lambda queue, x: sw.asnumpy(x),
    "a buffer": lambda queue, x: memoryview(x),
    "dlpack": lambda queue, x: x.__dlpack__(),
    "printing": lambda queue, x: repr(x),
    "a mask": lambda queue, x: x[x > 0],
    "a list's elements": lambda queue, x: sw.asarray([1.0, 2.0], device=queue),
    "a wait": lambda queue, x: queue.wait(),
    "an array's wait": lambda queue, x: x.wait(),
    "an event's wait": lambda queue, x: queue.fill(x, 1).wait(),
    "a decomposition": lambda queue, x: sw.linalg.inv(sw.reshape(x, (10, 10))),
    "a long decomposition": lambda queue, x: sw.linalg.inv(LARGE),
    "a block in a block": lambda queue, x: queue.capture().__enter__(),
    "another queue": lambda queue, x: sw.ones(10, device=sw.Queue(queue.device)),
    "an event from outside": lambda queue, x: queue.fill(x, 1, depends=[OUTSIDE[0]]),
}
OUTSIDE = []
#: A library computes beside the main thread what takes long.
LARGE = sw.eye(600, dtype="float32")


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_captured(what):
    x = sw.full(100, 2.0)
    act, queue = REFUSED[what], x.queue
    OUTSIDE[:] = [queue.fill(x, 2)]
    # What DLPack wants to be raised in its name.
    refused = (NotImplementedError, BufferError)
    with pytest.raises(refused) as raised, queue.capture() as graph:
        act(queue, x)
    assert "expected" in str(raised.value)
    with pytest.raises(RuntimeError, match="graph: got one whose block has failed"):
        graph.replay()
    # Also where the error is swallowed; and nothing of it stays.
    with pytest.raises(NotImplementedError), queue.capture() as graph:
        try:
            act(queue, x)
        except refused:
            pass
    assert "failed" in repr(graph)
    x[...] = 2
    assert float(sw.sum(x + 1)) == 300


def test_an_exception_in_the_block_ends_it():
    x = sw.zeros(1000)
    queue = x.queue
    with pytest.raises(ZeroDivisionError), queue.capture() as graph:
        x += 1
        raise ZeroDivisionError
    with pytest.raises(RuntimeError, match="whose block has failed"):
        graph.replay()
    with pytest.raises(RuntimeError, match="that has had its block"), graph:
        pass
    # What it submitted is done, and the thread captures nothing any more.
    assert float(x[0]) == 1
    with queue.capture() as graph:
        x += 1
    graph.repeat(3)
    assert float(x[0]) == 5


def test_a_graph_is_run_behind_its_block():
    x = sw.zeros(1000)
    graph = x.queue.capture()
    assert "before its block" in repr(graph) == str(graph)
    with pytest.raises(RuntimeError, match="has not begun"):
        graph.replay()
    with pytest.raises(RuntimeError, match="has not begun"):
        graph.input("x", x)
    with graph:
        assert "in its block" in repr(graph)
        x += 1
    with pytest.raises(RuntimeError, match="has ended"):
        graph.output("x", x)
    with pytest.raises(RuntimeError, match="has not ended"), x.queue.capture() as other:
        other.replay()
    with pytest.raises(NotImplementedError, match="replayed"), x.queue.capture():
        graph.replay()
    assert float(x[0]) == 1


def test_nothing_captured():
    with sw.Device().queue.capture() as graph:
        pass
    assert len(graph) == 0 and bool(graph)
    graph.repeat(3).wait()
    assert graph() is None and graph.inputs == () == graph.outputs


def test_a_block_is_of_one_thread():
    x = sw.zeros(1000)
    graph, found = x.queue.capture(), []

    def elsewhere():
        for act in (lambda: graph.__exit__(None, None, None), lambda: graph.output("x", x)):
            try:
                act()
            except RuntimeError as error:
                found.append("another thread" in str(error))
        # Work of this thread is none of the block's.
        found.append(float(sw.sum(x)) == 0)

    with graph:
        x += 1
        y = x * 2
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert found == [True, True, False]
    graph.replay()
    assert float(y[5]) == 4


def test_threads_capture_and_replay_on_one_queue():
    failed, barrier = [], threading.Barrier(len(PROGRAMS) + 1)
    counter = sw.zeros(20_000)

    def run(name):
        barrier.wait()
        try:
            for _ in range(3):
                graph, state = captured(name, {})
                graph.repeat(10)
                if bits(state) != directly(name, 11, {}):
                    failed.append(name)
        except Exception as error:
            failed.append(f"{name}: {error!r}")

    threads = [threading.Thread(target=run, args=(name,)) for name in PROGRAMS]
    for thread in threads:
        thread.start()
    barrier.wait()
    for _ in range(200):
        counter += 1
    for thread in threads:
        thread.join()
    assert not failed
    assert np.all(sw.asnumpy(counter) == 200)


def test_threads_replay_one_graph():
    graph, state = captured("heat", {})
    threads = [threading.Thread(target=lambda: [graph.replay() for _ in range(10)]) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert bits(state) == directly("heat", 61, {})


@pytest.mark.parametrize("device", DEVICES)
def test_other_work_between_replays_sees_and_is_seen(device):
    place = {"device": device}
    graph, state = captured("heat", place)
    direct = PROGRAMS["heat"][0](place)
    heat(direct)
    for round in range(20):
        before, expected = state[0] * 3, direct[0] * 3
        graph.replay()
        heat(direct)
        if round % 7 == 0:
            state[0] *= 0.5
            direct[0] *= 0.5
        assert bits([before]) == bits([expected]), round
    assert bits(state) == bits(direct)


@on_devices
def test_a_kernel_is_launched_by_its_range(device):
    a = sw.arange(100, dtype="float32", device=device)
    b = sw.zeros_like(a)
    with a.queue.capture() as graph:
        smooth.launch(Range(100), a, b)
    a[...] = 4
    graph.replay()
    assert np.all(sw.asnumpy(b) == 4)


INTERRUPTED = """
import stridewise as sw

x = sw.zeros(100_000)
with x.queue.capture() as graph:
    x += 1
try:
    print("repeating", flush=True)
    graph.repeat(1 << 50)
    print("not interrupted")
except KeyboardInterrupt:
    pass
x.wait()
done = sw.asnumpy(x)
assert done[0] > 1 and (done == done[0]).all(), done
graph.replay()
assert float(x[5]) == done[0] + 1
print("right")
"""


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="this system has no signals")
def test_progress_of_repeats():
    x = sw.zeros(1 << 16)
    with x.queue.capture() as graph:
        x += 1
    x.wait()
    told = []
    graph.repeat(5000, progress=lambda done, times: told.append((done, times)))
    # Each part has ended when it is told of, and the last one is the end.
    assert told[-1] == (5000, 5000) and float(x[0]) == 5001
    assert [done for done, _ in told] == sorted({done for done, _ in told}) and {times for _, times in told} == {5000}
    graph.repeat(0, progress=lambda done, times: told.append((done, times)))
    assert told[-1] == (0, 0) and float(x[0]) == 5001


def test_progress_that_raises_ends_repeats():
    x = sw.zeros(1 << 16)
    with x.queue.capture() as graph:
        x += 1

    def stop(done, times):
        if done >= 3:
            raise StopIteration(done)

    with pytest.raises(StopIteration):
        graph.repeat(1 << 40, progress=stop)
    assert float(x[0]) == 4
    with pytest.raises(TypeError, match="`progress` is 3; expected a function"):
        graph.repeat(2, progress=3)


def test_a_signal_ends_repeats():
    # A shell that starts something in the background has it ignore this signal, and its children with it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    child = subprocess.Popen([sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "repeating\n"
        time.sleep(0.2)
        child.send_signal(signal.SIGINT)
        out, error = child.communicate(timeout=120)
    finally:
        child.kill()
    assert (child.returncode, out) == (0, "right\n"), f"status {child.returncode}\n{out}\n{error}"


AGAIN = """
import sys
import stridewise as sw
graph = sw.Graph.load(sys.argv[1], device="host")
graph.repeat(3)
print(graph.inputs, graph.outputs, float(sw.sum(graph(sw.full(5000, 2.0, device="host")))))
"""


def test_a_graph_goes_on_in_another_process(tmp_path):
    x, total = sw.ones(5000, device="host"), sw.zeros(5000, device="host")
    with x.queue.capture() as graph:
        graph.input("x", x)
        total += sw.sqrt(x) * 3
        graph.output("total", total)
    place = tmp_path / "total.graph"
    graph.save(place)
    told = subprocess.run([sys.executable, "-c", AGAIN, str(place)], capture_output=True, text=True)
    # The captured step, three more on the input of then, and one on another.
    expected = float(sw.sum(sw.full(5000, 12.0) + sw.sqrt(sw.full(5000, 2.0)) * 3))
    assert told.stdout == f"('x',) ('total',) {expected}\n", told.stderr
    assert float(total[0]) == 3
    with pytest.raises(OSError, match="something else"):
        sw.Graph.load(__file__, device="host")
    place.write_bytes(place.read_bytes()[:-1])
    with pytest.raises(OSError, match="damaged"):
        sw.Graph.load(place, device="host")
    with pytest.raises(OSError):
        sw.Graph.load(tmp_path / "none.graph", device="host")
    with pytest.raises(RuntimeError, match="has not begun"):
        x.queue.capture().save(place)
