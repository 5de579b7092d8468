"""What others know of our memory counts while they know it; and arrays of theirs become arrays of ours."""

import ctypes
import gc
import os
import pickle

import numpy as np
import pytest

import stridewise as sw

N = 1 << 16
SEQUENCES = int(os.environ.get("STRIDEWISE_LENT_SEQUENCES", "200"))


def is_private(x):
    """Whether work on an array is recorded, and not done at the call."""
    return (x + x)._is_pending


def borrowed_by_pickle(x):
    buffers = []
    return pickle.dumps(x, protocol=5, buffer_callback=buffers.append), buffers


BORROWERS = {
    "numpy": np.asarray,
    "view of numpy": lambda x: np.asarray(x)[1:],
    "memoryview": memoryview,
    "dlpack": np.from_dlpack,
    "capsule": lambda x: x.__dlpack__(),
    "pickle": borrowed_by_pickle,
}


@pytest.mark.parametrize("kind", ["shared", "host"])
@pytest.mark.parametrize("borrower", BORROWERS)
def test_memory_is_known_outside_while_it_is_lent(kind, borrower):
    x = sw.ones(N, device="host", usm_type=kind)
    assert is_private(x)
    first, second = BORROWERS[borrower](x), BORROWERS[borrower](x)
    assert not is_private(x)
    del first
    gc.collect()
    assert not is_private(x)
    del second
    gc.collect()
    assert is_private(x)


def test_a_buffer_that_is_released_is_over():
    x = sw.ones(N, device="host")
    with memoryview(x):
        assert not is_private(x)
    assert is_private(x)


def test_what_comes_back_keeps_the_memory_lent():
    x = sw.ones(N, device="host")
    again = sw.from_dlpack(np.asarray(x))
    gc.collect()
    assert again._pointer == x._pointer and not is_private(x)
    again[0] = 5
    assert x[0] == 5
    del again
    gc.collect()
    assert is_private(x)


@pytest.mark.parametrize(
    "make",
    [
        lambda a: a,
        lambda a: memoryview(a),
        lambda a: bytearray(a.tobytes()),
        lambda a: (ctypes.c_double * N).from_buffer(a),
        lambda a: a[::-1],
        lambda a: a.astype(">f8"),
    ],
    ids=["numpy", "memoryview", "bytearray", "ctypes", "reversed", "swapped"],
)
@pytest.mark.parametrize("dtype", [None, "float32"])
def test_arrays_of_the_host_become_ours(make, dtype):
    theirs = np.arange(N, dtype="f8")
    lender = make(theirs)
    x = sw.asarray(lender, dtype=dtype, device="host")
    expected = np.asarray(lender).astype(dtype or np.asarray(lender).dtype.newbyteorder("="))
    assert is_private(x) and x.flags.writable and x.usm_type == "shared"
    np.asarray(lender)[0] = 77
    x[1] = 3
    expected[1] = 3
    assert np.array_equal(sw.asnumpy(x), expected) and np.asarray(lender)[1] != 3


def test_read_only_arrays_become_ours():
    theirs = np.arange(4.0)
    theirs.flags.writeable = False
    x = sw.asarray(theirs)
    x[0] = 9
    assert theirs[0] == 0 and sw.asarray(b"abc").flags.writable


def test_random_sequences_agree_with_numpy():
    """Adopt, export, write from either side, operate, drop and read, in any order."""
    for seed in range(SEQUENCES):
        rng = np.random.default_rng(seed)
        size = int(rng.choice([7, 1000, 5000]))
        # Ours with what it has to be; what is lent with the one that it is of; arrays that were computed.
        ours, borrowed, results = [], [], []
        for _ in range(40):
            step = rng.integers(0, 9)
            pick = int(rng.integers(0, len(ours))) if ours else None
            if step == 0 or pick is None:
                theirs = rng.integers(-50, 50, size).astype("f8")
                if rng.random() < 0.5:
                    ours.append((sw.asarray(theirs, device="host"), theirs.copy()))
                    theirs[:] = -1000
                else:
                    ours.append((sw.asarray(theirs, device="host", copy=False), theirs))
                continue
            x, expected = ours[pick]
            if step == 1:
                borrowed.append((np.from_dlpack(x) if rng.random() < 0.5 else np.asarray(x), expected))
            elif step == 2 and borrowed:
                view, of = borrowed[int(rng.integers(0, len(borrowed)))]
                place, value = int(rng.integers(0, size)), float(rng.integers(-50, 50))
                view[place] = value
                of[place] = value
            elif step == 3:
                place, value = int(rng.integers(0, size)), float(rng.integers(-50, 50))
                x[place:] = value
                expected[place:] = value
            elif step in (4, 5):
                y, other = ours[int(rng.integers(0, len(ours)))]
                result = (x - y) * 0.5 + x
                results.append((result, (expected - other) * 0.5 + expected))
            elif step == 6 and borrowed:
                borrowed.pop(int(rng.integers(0, len(borrowed))))
            elif step == 7 and len(ours) > 1:
                ours.pop(pick)
            elif step == 8 and results:
                result, wanted = results.pop(int(rng.integers(0, len(results))))
                assert np.array_equal(sw.asnumpy(result), wanted), seed
            del x, expected
        for result, wanted in results + ours:
            assert np.array_equal(sw.asnumpy(result), wanted), seed


def adopted():
    theirs = np.arange(float(N))
    return theirs, sw.asarray(theirs, copy=False)


def test_within_fuse_work_on_adopted_memory_is_recorded():
    theirs, x = adopted()
    assert not is_private(x)
    with sw.fuse():
        y = x * 2
        with sw.fuse():
            z = y + 1
        assert y._is_pending and z._is_pending
        x[...] = z
    assert not y._is_pending and not z._is_pending and not is_private(x)
    assert np.array_equal(theirs, np.arange(float(N)) * 2 + 1)
    assert np.array_equal(np.asarray(y), np.arange(float(N)) * 2)


def test_fuse_decorates_functions():
    theirs, x = adopted()
    pending = []

    @sw.fuse
    def double(x, *, plus):
        """Of x."""
        y = x * 2
        pending.append(y._is_pending)
        return y + plus

    assert (double.__name__, double.__doc__) == ("double", "Of x.")
    y = double(x, plus=1)
    assert pending == [True] and not y._is_pending
    assert np.array_equal(np.asarray(y), theirs * 2 + 1)
    assert np.array_equal(np.asarray(sw.fuse()(double)(x, plus=2)), theirs * 2 + 2)


def test_fuse_ends_with_errors():
    _, x = adopted()
    with pytest.raises(ZeroDivisionError), sw.fuse():
        y = x * 2
        raise ZeroDivisionError
    assert not y._is_pending and not is_private(x)
    with pytest.raises(TypeError, match=r"function: got 3, expected a function; help: .*with fuse"):
        sw.fuse(3)

    def values():
        yield 1

    async def later():
        pass

    for function in (values, later):
        with pytest.raises(TypeError, match="runs after the call"):
            sw.fuse(function)


def test_fuse_is_of_one_thread():
    import threading

    _, x = adopted()
    scope, found = sw.fuse(), []

    def elsewhere():
        found.append(is_private(x))
        try:
            scope.__exit__(None, None, None)
        except RuntimeError as error:
            found.append(str(error))

    with scope:
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        assert is_private(x)
    assert found[0] is False and "no scope is open on this thread" in found[1]
