"""How much memory is in use, whose it is, and limits on it."""

import gc
import threading
import time

import pytest

import stridewise as sw

MIB = 1 << 20


@pytest.fixture
def device():
    """A device of the test's own, so that other tests' arrays and limits are not its."""
    return sw.emulate(name="for the tests of memory")


def until(is_so):
    """Memory is free when its work is done, which another thread may be about to note."""
    gc.collect()
    for _ in range(1000):
        if is_so():
            return
        time.sleep(0.005)
    assert is_so()


def test_what_is_in_use(device):
    before = device.memory()
    assert before.limit is None and before.total > 0 and set(before.kinds) == {"host", "device", "shared"}
    for kind in ("host", "device", "shared"):
        x = sw.zeros(MIB, dtype="float64", usm_type=kind, device=device)
        now = device.memory()
        assert now.kinds[kind].in_use - before.kinds[kind].in_use >= 8 * MIB
        assert now.in_use - before.in_use >= 8 * MIB and now.peak >= now.in_use and now.reserved >= now.in_use
        assert now.kinds[kind].peak >= now.kinds[kind].in_use
        address = x.usm_data._pointer
        assert address
        del x
        device.wait()
    until(lambda: device.memory().in_use == before.in_use)
    after = device.memory()
    assert after.in_use == before.in_use and after.kept >= 24 * MIB
    assert device.trim() >= 24 * MIB
    assert device.memory().kept == 0
    # A tuple with names.
    in_use, kept, *_ = after
    assert (in_use, kept) == (after.in_use, after.kept) and "in_use=" in repr(after)


def test_limits(device):
    device.set_memory_limit("32 MiB")
    assert device.memory().limit == 32 * MIB
    with sw.memory_scope("limited"):
        x = sw.zeros((1024, 2048), dtype="float64", device=device)
    with pytest.raises(MemoryError, match=r"float64 of shape \[1024, 2048\].*made in \"limited\""):
        sw.zeros((1024, 2100), dtype="float64", device=device)
    small = sw.zeros(1000, dtype="float64", device=device)
    assert x.shape == (1024, 2048) and small.size == 1000
    device.set_memory_limit(64 * MIB)
    assert sw.zeros((1024, 2100), dtype="float64", device=device).size
    device.set_memory_limit(None)
    assert device.memory().limit is None
    # More than can be addressed is none.
    device.set_memory_limit(2**64 - 1)
    assert sw.zeros(4 * MIB, device=device).size


@pytest.mark.parametrize(
    ("limit", "kind", "text"),
    [
        ("much", ValueError, "`limit` is \"much\"; expected a number of bytes"), (-1, OverflowError, "`limit` is -1"), (2.5, TypeError, "`limit` is 2.5"),
        ([1], TypeError, r"`limit` is \[1\]"),
    ],
)  # fmt: skip
def test_what_is_no_limit(device, limit, kind, text):
    with pytest.raises(kind, match=text):
        device.set_memory_limit(limit)
    assert device.memory().limit is None


def test_scopes_count():
    with sw.memory_scope("outer") as outer:
        x = sw.zeros(1000, dtype="float64")
        with sw.memory_scope("inner") as inner:
            y = sw.zeros(500, dtype="float64")
            z = sw.ones(250, dtype="float64")
            del z
        assert inner.usage.allocated == 6000 and inner.usage.allocations == 2
        assert inner.usage.peak == 6000 and inner.usage.left == 4000
    assert outer.usage.allocated == 14000 and outer.usage.left == 12000
    del x
    until(lambda: outer.usage.left == 4000)
    del y
    until(lambda: outer.usage.left == inner.usage.left == 0)
    assert outer.usage.peak == 14000
    assert "outer" in repr(outer)


def test_scopes_are_of_their_thread():
    made = []

    def other():
        made.append(sw.zeros(1000, dtype="float64"))

    with sw.memory_scope("mine") as scope:
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert made and scope.usage.allocated == 0


def test_a_scope_is_opened_once():
    scope = sw.memory_scope("once")
    assert scope.usage == (0, 0, 0, 0)
    with scope:
        with pytest.raises(ValueError, match="once"):
            scope.__enter__()
    with pytest.raises(ValueError, match="once"):
        with scope:
            pass
    for name, sites in ((3, False), (None, False)):
        with pytest.raises(TypeError, match="`name` is"):
            sw.memory_scope(name, sites=sites)
    with pytest.raises(TypeError, match="`sites` is 1"):
        sw.memory_scope("name", sites=1)


def test_a_block_that_fails_ends_its_scope():
    with pytest.raises(RuntimeError):
        with sw.memory_scope("failing"):
            raise RuntimeError
    with sw.memory_scope("next") as scope:
        x = sw.zeros(10, dtype="float64")
    assert scope.usage.allocated == 80
    assert next(a for a in sw.live_arrays() if a.pointer == x.usm_data._pointer).scope == "next"


def test_what_is_alive(device):
    with sw.memory_scope("load"):
        with sw.memory_scope("parse"):
            x = sw.zeros((100, 20), dtype="int16", usm_type="shared", device=device)
    y = sw.zeros(5000, dtype="float32", usm_type="host", device=device)
    found = sw.live_arrays(device)
    assert [array.nbytes for array in found] == [20000, 4000]
    large, small = found
    assert (small.dtype, small.shape, small.usm_type, small.origin, small.scope) == (sw.int16, (100, 20), "shared", "pool", "load/parse")
    assert (large.dtype, large.shape, large.scope, large.made_at) == (sw.float32, (5000,), None, None)
    assert small.device.name == "for the tests of memory" and small.pointer == x.usm_data._pointer
    assert str(small) == small.text and "int16 of shape [100, 20]" in small.text
    assert {array.pointer for array in found} <= {array.pointer for array in sw.live_arrays()}
    # Views are of one memory.
    view = x[3:]
    assert len(sw.live_arrays(device)) == 2
    del x, view, y
    device.wait()
    until(lambda: sw.live_arrays(device) == [])
    with pytest.raises(TypeError, match="`device` is 3"):
        sw.live_arrays(3)


def test_where_it_was_made(device):
    with sw.memory_scope("sites", sites=True):
        x = sw.zeros(4000, dtype="float64", device=device)
        line = test_where_it_was_made.__code__.co_firstlineno + 2
    (found,) = sw.live_arrays(device)
    assert found.made_at is not None and found.made_at.endswith(f"test_memory_usage.py:{line}"), found.made_at
    assert x.size == 4000


def test_memory_of_others():
    np = pytest.importorskip("numpy")
    theirs = np.arange(5000.0)
    x = sw.asarray(theirs, copy=False)
    found = next(array for array in sw.live_arrays("host") if array.pointer == theirs.ctypes.data)
    assert found.origin == "lent" and found.nbytes == 40000 and x.size == 5000
