"""Launches of kernels: arguments of any layout, events, what is kept, and what is refused."""

import gc
import linecache
import pathlib
import runpy
import threading
import weakref

import numpy as np
import pytest

import stridewise as sw
import stridewise.dppy as dppy
from conftest import KINDS
from kernels import on_devices
from stridewise import kernel_api as kapi
from stridewise.kernel_api import (
    AtomicRef, Item, LocalAccessor, NdRange, PrivateArray, Range, call_kernel, call_kernel_async, device_func, group_barrier,
)  # fmt: skip


@sw.kernel
def add_one(item, a):
    i, j = item.get_id()
    a[i, j] += 1


@on_devices
@pytest.mark.parametrize("kind", KINDS)
def test_views_are_written_in_place(device, kind):
    oracle = np.arange(48).reshape(6, 8)
    a = sw.asarray(oracle.copy(), device=device, usm_type=kind)
    for key in [np.s_[:, :], np.s_[::-1, ::2], np.s_[1:4, ::-3], np.s_[4:1:-1, 2:5]]:
        view = a[key]
        call_kernel(add_one, Range(*view.shape), view)
        oracle[key] += 1
    call_kernel(add_one, Range(8, 6), a.T)
    np.testing.assert_array_equal(sw.asnumpy(a), oracle + 1)


@on_devices
def test_broadcast_arrays_are_read_and_not_written(device):
    rows = sw.broadcast_to(sw.arange(4, device=device), (3, 4))
    out = sw.zeros((3, 4), dtype="int64", device=device)
    copy = sw.kernel("def copy(item, a, b):\n  i, j = item.get_id()\n  b[i, j] = a[i, j]")
    call_kernel(copy, Range(3, 4), rows, out)
    assert out.tolist() == [[0, 1, 2, 3]] * 3
    with pytest.raises(ValueError, match="`a`|a: "):
        call_kernel(add_one, Range(3, 4), rows)


@on_devices
def test_recorded_operands_and_later_reads(device):
    x = sw.arange(6, dtype="float64", device=device)
    y = (x * 2 + 1) * x
    halve = sw.kernel("def halve(item, a): a[item.get_id(0)] /= 2")
    z = y + 0
    call_kernel(halve, Range(6), y)
    oracle = np.arange(6.0)
    oracle = (oracle * 2 + 1) * oracle
    assert z.tolist() == oracle.tolist() and (y + 1).tolist() == (oracle / 2 + 1).tolist()


@on_devices
def test_events_and_dependencies(device):
    append = sw.kernel("def append(item, a, x): a[0] = a[0] * 10 + x")
    a = sw.zeros(1, dtype="int64", device=device)
    events = []
    for x in range(1, 6):
        host, event = call_kernel_async(append, Range(1), events[-1:], a, x)
        assert isinstance(event, sw.Event) and isinstance(host, sw.Event)
        events.append(event)
    sw.Event.wait_for(events)
    assert a.tolist() == [12345] and all(event.is_done for event in events)
    event = append.launch(Range(1), a, 6, depends=events)
    event.wait()
    assert a.tolist() == [123456]
    with pytest.raises(TypeError, match="`depends` has 3"):
        append.launch(Range(1), a, 6, depends=[3])


@on_devices
def test_submit_with_the_names_of_dpctl(device):
    queue = sw.Queue(device)
    ids = sw.kernel("def ids(item, a, x):\n  a[item.get_id(0), item.get_id(1)] += x")
    groups = sw.kernel("def groups(item, a): a[item.get_global_id(0), item.get_global_id(1)] *= item.get_group().get_group_id(1)")
    a = sw.ones((4, 6), dtype="int64", queue=queue)
    first = queue.submit(ids, [a, 2], [4, 6])
    second = queue.submit(groups, [a], gS=[4, 6], lS=[2, 3], dEvents=[first])
    second.wait()
    assert a.tolist() == [[0, 0, 0, 3, 3, 3]] * 4
    with pytest.raises(TypeError, match="expected a kernel"):
        queue.submit("__kernel void f() {}", [a], [4])
    with pytest.raises(ValueError, match="dimensions"):
        queue.submit(groups, [a], [4, 6], [2])
    with pytest.raises(sw.ExecutionPlacementError):
        sw.Queue(device).submit(ids, [a, 2], [4, 6])


@dppy.kernel
def scaled(a, b, factor):
    i, j = dppy.get_global_id(0), dppy.get_global_id(1)
    b[i, j] = a[i, j] * factor + dppy.get_local_id(1) + dppy.get_group_id(0)


@on_devices
def test_arrays_of_numpy_are_copied_in_and_out(device):
    a = np.arange(24.0).reshape(4, 6)
    ids = np.arange(6) % 3 + (np.arange(4) // 2)[:, None]
    with sw.device_context(device):
        for b in (np.zeros((4, 6)), np.zeros((6, 4)).T, np.zeros((8, 12))[::-2, ::2], np.zeros((4, 6), np.float32)):
            scaled[(4, 6), (2, 3)](a, b, 2.5)
            np.testing.assert_array_equal(b, a * 2.5 + ids)
        same = a.copy()
        scaled[(4, 6), (2, 3)](same, same, 2)
        np.testing.assert_array_equal(same, a * 2 + ids)
        np.testing.assert_array_equal(a, np.arange(24.0).reshape(4, 6))
        # What is only read may be read-only.
        a.flags.writeable = False
        scaled[(4, 6), (2, 3)](a, b, 1)
        with pytest.raises(ValueError, match="read-only, and is written"):
            scaled[(4, 6), (2, 3)](b, a, 1)
        with pytest.raises(ValueError, match="groups whose extents divide"):
            scaled[(4, 6), (3, 3)](a, b, 1)
    # Beside arrays of ours, it is their queue.
    ours = sw.zeros((4, 6), device=device)
    scaled[(4, 6), dppy.DEFAULT_LOCAL_SIZE](a, ours, 0)
    assert ours.tolist() == np.tile(np.arange(6.0), (4, 1)).tolist()


@on_devices
def test_atomics_and_private_memory_of_dppy(device):
    @dppy.kernel
    def k(a, total):
        p = dppy.private.array(shape=2, dtype=sw.int64)
        i = dppy.get_global_id(0)
        p[0] = a[i]
        dppy.mem_fence(dppy.CLK_GLOBAL_MEM_FENCE)
        dppy.atomic.add(total, 0, p[0])
        dppy.atomic.sub(total, 1, dppy.get_work_dim())
        dppy.barrier()
        if i == 0:
            total[2], total[3] = dppy.get_global_size(0), dppy.get_local_size(0) * dppy.get_num_groups(0)

    a, total = np.arange(12), np.zeros(4, dtype=np.int64)
    with sw.device_context(device):
        k[12, 4](a, total)
    assert total.tolist() == [66, -12, 12, 12]


@on_devices
def test_empty_ranges_and_arrays(device):
    fill = sw.kernel("def fill(item, a): a[item.get_id(0)] = 1")
    a = sw.zeros(3, device=device)
    call_kernel(fill, Range(0), a)
    call_kernel(fill, Range(3), sw.zeros(0, device=device))
    event = fill.launch(Range(0), a, depends=[sw.Event()])
    event.wait()
    assert a.tolist() == [0, 0, 0]
    call_kernel(add_one, Range(0, 5), sw.zeros((2, 5), device=device))


@on_devices
def test_indices_out_of_range_stay_inside(device):
    k = sw.kernel("def k(item, a, out):\n  i = item.get_id(0)\n  out[i] = a[i - 2]\n  out[i + 10] = 5")
    a, out = sw.arange(4, device=device) + 1, sw.zeros(6, dtype="int64", device=device)
    call_kernel(k, Range(6), a, out)
    assert out.tolist() == [1, 1, 1, 2, 3, 4]


@on_devices
def test_threads_launch_one_kernel(device):
    work = sw.kernel(
        """def work(item, a, n):
        i = item.get_id(0)
        for k in range(n):
            a[i] += k"""
    )
    arrays = [sw.zeros(64, dtype=dtype, device=device) for dtype in ("int32", "int64", "float32", "float64") * 2]
    failures = []

    def run(a):
        try:
            for _ in range(5):
                call_kernel(work, Range(64), a, 10)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(a,)) for a in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert all(a.tolist() == [225] * 64 for a in arrays) and work._known == 4


def test_arguments_of_no_dimension_and_scalars():
    k = sw.kernel("def k(item, out, s, t, u):\n  i = item.get_id(0)\n  out[i] = s * t + u\n  s[()] = s + 1 if i == 0 else s")
    out, s = sw.zeros(1, dtype="float32"), sw.asarray(3.0, dtype="float32")
    call_kernel(k, Range(1), out, s, np.float32(2), 0.5)
    assert out.tolist() == [6.5] and float(s) == 4.0


def test_one_kernel_for_each_combination_of_types():
    k = sw.kernel("def k(item, a, x): a[item.get_id(0)] = x")
    for arguments, known in [
        ((sw.zeros(3), 1), 1), ((sw.zeros(9)[::3], 5), 1), ((sw.zeros(3), True), 2), ((sw.zeros(3), 1.5), 3),
        ((sw.zeros(3, dtype="int8"), 1), 4), ((sw.zeros(3), np.float32(1)), 5), ((sw.zeros(3), np.float32(2)), 5),
    ]:  # fmt: skip
        call_kernel(k, Range(3), *arguments)
        assert k._known == known
    with pytest.raises(ValueError, match=r"`a` has 2 dimensions"):
        call_kernel(k, Range(3), sw.zeros((3, 3)), 1)


def test_kernels_of_one_function_are_bounded():
    k = sw.kernel("def k(item, a, b, c): a[item.get_id(0)] = 1")
    dtypes = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
    arrays = [sw.zeros(1, dtype=dtype) for dtype in dtypes]
    for a in arrays:
        for b in arrays:
            for c in arrays[:3]:
                call_kernel(k, Range(1), a, b, c)
    assert k._known == 128


def test_what_is_captured_is_what_it_was():
    factor = 3
    table = np.array([1.0, 2.0])

    @sw.kernel
    def k(item, a):
        a[item.get_id(0)] = factor * table[item.get_id(0)]

    a = sw.zeros(2)
    call_kernel(k, Range(2), a)
    factor, table[0] = 5, 100
    call_kernel(k, Range(2), a)
    assert a.tolist() == [3, 6]


def test_kernels_go_when_nobody_has_them():
    text = "def k(item, a): a[0] = 1"
    k, other = sw.kernel(text), sw.kernel(text)
    call_kernel(k, Range(1), sw.zeros(1))
    gone, file = weakref.ref(k), k._source.file
    assert file in linecache.cache
    del k
    gc.collect()
    assert gone() is None and file not in linecache.cache and other._source.file in linecache.cache


def test_device_context_says_where():
    queue = sw.Queue("host")
    k = sw.kernel("def k(item, x): pass")
    with sw.device_context(queue) as inner:
        assert inner == queue
        with sw.device_context("host"):
            pass
        call_kernel(k, Range(1), 3)
    with pytest.raises(sw.DeviceSelectionError):
        sw.device_context("nonsense")
    with pytest.raises(sw.ExecutionPlacementError):
        k.launch(Range(1), sw.zeros(1, device="host"), queue=queue)
    k.launch(Range(1), sw.zeros(1, queue=queue), queue=queue).wait()


def test_arguments_that_are_none():
    k = sw.kernel("def k(item, a): a[item.get_id(0)] = 1")
    g = sw.kernel("def g(item, a): a[item.get_global_id(0)] = 1")
    with pytest.raises(TypeError, match="asarray"):
        call_kernel(k, Range(3), np.zeros(3))
    with pytest.raises(TypeError, match="asarray"):
        call_kernel(k, Range(3), "text")
    with pytest.raises(TypeError, match="expected a Range or an NdRange"):
        call_kernel(k, 3, sw.zeros(3))
    with pytest.raises(TypeError, match="expected a kernel"):
        call_kernel("def k(item, a): pass", Range(3), sw.zeros(3))
    with pytest.raises(TypeError, match="call_kernel"):
        k(sw.zeros(3))
    with pytest.raises(ValueError, match="1 to 3"):
        Range(1, 2, 3, 4)
    with pytest.raises(ValueError, match="1 to 3"):
        Range()
    with pytest.raises(ValueError, match="-1"):
        Range(-1)
    with pytest.raises(ValueError, match="dimensions"):
        NdRange((4, 4), 2)
    with pytest.raises(ValueError, match="groups of 1 to"):
        call_kernel(g, NdRange(10**6, 10**6), sw.zeros(3))
    with pytest.raises(ValueError):
        call_kernel(g, NdRange(4, 0), sw.zeros(3))
    a = sw.zeros(3)
    a.flags.writable = False
    with pytest.raises(ValueError, match="read-only|writable"):
        call_kernel(k, Range(3), a)
    with pytest.raises((OverflowError, TypeError, ValueError)):
        call_kernel(sw.kernel("def f(item, a, x): a[0] = x"), Range(1), sw.zeros(1, dtype="int64"), 2**70)


def test_ranges_are_values():
    assert Range(3, 4) == Range((3, 4)) != Range(4, 3) and len(Range(3, 4)) == 2 and Range(3, 4).get(1) == 4
    assert list(Range(3, 4)) == [3, 4] and Range(3, 4).size() == 12 and hash(Range(3)) == hash(Range(3))
    assert repr(NdRange((4, 6), (2, 3))) == "NdRange(Range(4, 6), Range(2, 3))"
    assert NdRange(8, 2).global_range == Range(8) and NdRange(8, 2).local_range == Range(2)
    assert LocalAccessor((2, 3), "f4").shape == (2, 3) and LocalAccessor(2, sw.int8).dtype == sw.int8


def _twice(x):
    return 2 * x, 2 * x + 1


def test_names_outside_of_kernels():
    for call in (lambda: group_barrier(None), lambda: Item().get_id(0)):
        with pytest.raises(RuntimeError, match="is for kernels"):
            call()
    with pytest.raises(TypeError, match="expected an array"):
        AtomicRef(None)
    assert PrivateArray(3, "f4").shape == (3,)
    twice = device_func(_twice)
    assert twice(4) == (8, 9) and repr(twice) == "<device_func _twice>"


@pytest.mark.parametrize("file, begins, expected", [
    ("README.md", "A function becomes a kernel", [3, 2, 1, 0, 7, 6, 5, 4]), ("ffi/README.md", "Functions that `stridewise.kernel`", None),
])  # fmt: skip
def test_kernels_of_the_readme(tmp_path, capsys, file, begins, expected):
    root = pathlib.Path(__file__).parents[3]
    text = (root / file).read_text(encoding="utf-8")
    program = tmp_path / "program.py"
    program.write_text(text.split(begins)[1].split("```python\n")[1].split("```")[0], encoding="utf-8")
    names = runpy.run_path(str(program))
    if expected is None:
        assert "a[%4] = %7" in capsys.readouterr().out
    else:
        assert names["a"].tolist() == expected


@dppy.kernel
def step_over_two(a, b):
    for j in range(3):
        a[j] = a[j] + 1
        b[j] = b[j] * 2


def test_arrays_of_numpys_that_overlap_are_one_memory():
    rng = np.random.default_rng(11)
    for _ in range(60):
        n = rng.integers(0, 9, size=24).astype(["int32", "float64"][rng.integers(2)])
        oracle = n.copy()

        def view(x, start, step):
            return x[start : start + 3 * step : step] if step > 0 else x[start : start + 3 * step if start + 3 * step >= 0 else None : step]

        places = [(int(rng.integers(8, 14)), int(rng.choice([-2, -1, 1, 2, 3]))) for _ in range(2)]
        a, b = (view(n, *place) for place in places)
        x, y = (view(oracle, *place) for place in places)
        for j in range(3):
            x[j] = x[j] + 1
            y[j] = y[j] * 2
        step_over_two[1](a, b)
        np.testing.assert_array_equal(n, oracle, err_msg=str(places))
    # In the memory of an array of ours, and a view whose elements lie between another one's.
    ours, oracle = sw.arange(6.0, usm_type="shared"), np.arange(6.0)
    step_over_two[1](ours, np.asarray(ours)[1:4])
    for j in range(3):
        oracle[j] += 1
        oracle[1 + j] *= 2
    assert ours.tolist() == oracle.tolist()
    raw = np.zeros(64, "uint8")
    with pytest.raises(ValueError, match="overlap"):
        step_over_two[1](raw[1:25].view("float64"), raw[4:40].view("int32"))
    frozen = np.zeros(6)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        step_over_two[1](frozen[:3], frozen[1:4])


def test_extents_of_a_range():
    space = Range(3, 4)
    assert (space[0], space[-1], list(space)) == (3, 4, [3, 4])
    for index in (2, -3):
        with pytest.raises(IndexError, match=f"axis {index} of a range of 2 dimensions"):
            space[index]
    with pytest.raises(TypeError, match="expected an integer"):
        space["a"]


def test_signatures():
    one = (kapi.ItemType(1), kapi.USMNdArray(1, "C", sw.int64), kapi.USMNdArray(ndim=1, dtype="int64"), sw.float32)

    def scaled(item, a, b, factor):
        i = item.get_id(0)
        b[i] = a[i] * factor

    scaled_one = sw.kernel(one)(scaled)
    a, b = sw.arange(5, dtype="int64"), sw.zeros(5, dtype="int64")
    kapi.call_kernel(scaled_one, kapi.Range(5), a[::-1], b, 2)
    assert b.tolist() == [8, 6, 4, 2, 0] and len(scaled_one.overloads) == 1 and len(sw.kernel(scaled).overloads) == 0
    kapi.call_kernel(scaled_one, kapi.Range(5), a, b, np.float32(3))
    assert b.tolist() == [0, 3, 6, 9, 12]
    floats = sw.zeros(5, dtype="float32")
    for space, args in [
        (kapi.Range(5), (floats, b, 2)), (kapi.Range(5, 1), (a, b, 2)), (kapi.NdRange(5, 5), (a, b, 2)), (kapi.Range(5), (a, b, 2j)),
        (kapi.Range(5), (a[None], b, 2)), (kapi.Range(5), (a, b)),
    ]:  # fmt: skip
        with pytest.raises(sw.KernelError, match="is for \\(ItemType\\(1\\), USMNdArray\\(1, dtype=int64\\)"):
            kapi.call_kernel(scaled_one, space, *args)
    both = sw.kernel([one, (kapi.NdItemType(1), kapi.USMNdArray(1, dtype="float32"), kapi.USMNdArray(1, dtype="float32"), "float32")])(scaled)
    assert len(both.overloads) == 2


def test_signatures_are_read_at_once():
    def strange(item, a):
        a[item.get_id(0)] = [1]

    sw.kernel(strange)
    with pytest.raises(sw.KernelError):
        sw.kernel((kapi.ItemType(1), kapi.USMNdArray(1)))(strange)
    for signature, error, what in [
        ("(kapi.ItemType(1),)", NotImplementedError, "as a text"), (["(ItemType(1),)"], NotImplementedError, "as a text"),
        (kapi.USMNdArray(1), ValueError, "expected the types of all parameters"), ([kapi.ItemType(1)], TypeError, "expected a tuple of types"),
    ]:  # fmt: skip
        with pytest.raises(error, match=what):
            sw.kernel(signature)
    with pytest.raises(ValueError, match="`ndim` is 4"):
        kapi.ItemType(4)
