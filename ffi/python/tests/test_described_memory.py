"""Memory of ours that comes back by a description of it: it is held, it stays read-only, and it is the bytes described."""

import gc

import numpy as np
import pytest

import stridewise as sw

CLASSES = {"host": sw.MemoryUSMHost, "device": sw.MemoryUSMDevice, "shared": sw.MemoryUSMShared}
# Those whose memory NumPy's interface, the buffer protocol and DLPack describe.
VISIBLE = ["host", "shared"]
N = 1 << 12


class Described:
    """A description without the array that it is of."""

    def __init__(self, owner, **changes):
        self.__sycl_usm_array_interface__ = dict(owner.__sycl_usm_array_interface__, **changes)


class ForNumpy:
    def __init__(self, owner):
        self.__array_interface__ = dict(owner.__array_interface__)


class Raw:
    """A description by an address alone."""

    def __init__(self, owner, address):
        self.__sycl_usm_array_interface__ = {
            "shape": (N,), "typestr": "<i4", "data": (address, False), "version": 1, "syclobj": owner.sycl_queue,
        }  # fmt: skip


def ones(kind):
    return sw.ones(N, dtype="i4", usm_type=kind) * 1


def others(kind):
    """So many arrays that one of them has the memory, if anybody else can get it."""
    gc.collect()
    return [sw.full(N, 9, dtype="i4", usm_type=kind) for _ in range(8)]


def assert_held(w, junk):
    assert (int(sw.min(w)), int(sw.max(w)), int(sw.sum(w))) == (1, 1, N)
    w[...] = 77
    assert all(int(sw.min(other)) == int(sw.max(other)) == 9 for other in junk)
    assert int(sw.sum(w)) == 77 * N


@pytest.mark.parametrize("described", [Described, lambda z: Raw(z, z._pointer), lambda z: Raw(z, z.usm_data._pointer)])
def test_an_array_on_described_memory_holds_it(kind, described):
    z = ones(kind)
    w = sw.asarray(described(z))
    assert w._pointer == z._pointer and w.usm_type == kind
    z += 1
    assert int(sw.sum(w)) == 2 * N, "it is the same memory"
    w -= 1
    assert int(sw.sum(z)) == N
    del z
    assert_held(w, others(kind))


def test_a_view_of_an_array_on_described_memory_holds_it(kind):
    z = ones(kind)
    # A description of a description, of which only a part is left.
    w = sw.asarray(Described(sw.asarray(Described(z))))[N // 2 :]
    del z
    junk = others(kind)
    assert int(sw.sum(w)) == N // 2 and all(int(sw.sum(other)) == 9 * N for other in junk)


def test_memory_that_is_described_is_held(kind):
    z = ones(kind)
    m = sw.as_usm_memory(Described(z))
    n = CLASSES[kind](Described(z))
    address = z._pointer
    del z
    others(kind)
    assert m._pointer == n._pointer == address and m.nbytes == n.nbytes == 4 * N
    assert m.tobytes() == n.tobytes() == np.ones(N, dtype="i4").tobytes()
    assert not m.is_foreign and sw.get_pointer_type(address) == kind
    del m
    others(kind)
    assert n.tobytes() == np.ones(N, dtype="i4").tobytes()


@pytest.mark.parametrize("kind", VISIBLE)
def test_numpys_interface_holds(kind):
    z = ones(kind)
    w = sw.asarray(ForNumpy(z), device="host", copy=False)
    assert w._pointer == z._pointer
    del z
    assert_held(w, others(kind))


@pytest.mark.parametrize("kind", VISIBLE)
def test_an_address_behind_a_buffer_holds(kind):
    import ctypes

    z = ones(kind)
    # Of ctypes, who only has the address.
    w = sw.asarray((ctypes.c_int32 * N).from_address(z.__array_interface__["data"][0]), device="host", copy=False)
    assert w._pointer == z._pointer
    del z
    assert_held(w, others(kind))


def test_numpy_memory_that_went_out_and_comes_back_is_held():
    x = np.ones(N, dtype="i4")
    z = sw.asarray(x, device="host", copy=False)
    w = sw.asarray(Described(z))
    del x, z
    gc.collect()
    kept = [np.full(N, 9, dtype="i4") for _ in range(8)]
    assert int(sw.sum(w)) == N and all(int(other.sum()) == 9 * N for other in kept)
    assert w.usm_data.is_foreign


def test_memory_is_free_again_once_nobody_describes_it():
    device = sw.Device("host")
    gc.collect()
    before = device.pool_statistics["live_bytes"]
    for _ in range(50):
        w = ones("shared")
        for _ in range(20):
            w = sw.asarray(Described(w))
        del w
    gc.collect()
    assert device.pool_statistics["live_bytes"] <= before


def test_what_nobody_owns_any_more_is_refused():
    z = sw.ones(1 << 20, usm_type="shared")
    description = Described(z)
    del z
    gc.collect()
    other = sw.ones(1 << 20, usm_type="shared")
    # Whether or not the next one got the memory: it has shown its address to nobody.
    for take in (sw.asarray, sw.as_usm_memory, sw.MemoryUSMShared):
        with pytest.raises(ValueError):
            take(description)
    assert int(sw.sum(other)) == 1 << 20


def test_read_only_stays_read_only(kind):
    z = ones(kind)
    z.flags.writable = False
    w = sw.asarray(Described(z))
    assert not w.flags.writable
    with pytest.raises(ValueError):
        w.flags.writable = True
    with pytest.raises(ValueError):
        w[...] = 3
    with pytest.raises(ValueError):
        sw.as_usm_memory(Described(z)).memset(3)
    assert int(sw.sum(z)) == N
    # The array itself may be made writable again.
    z.flags.writable = True
    z[...] = 2
    assert int(sw.sum(w)) == 2 * N


def test_memory_that_was_lent_for_reading_stays_so_whatever_a_description_says():
    x = np.ones(N, dtype="i4")
    x.flags.writeable = False
    z = sw.asarray(x, device="host", copy=False)
    data = z.__sycl_usm_array_interface__["data"]
    assert data[1]
    w = sw.asarray(Described(z, data=(data[0], False)))
    assert not w.flags.writable
    with pytest.raises(ValueError):
        w[...] = 3
    with pytest.raises(ValueError):
        sw.as_usm_memory(Described(z, data=(data[0], False))).memset(3)
    assert x.sum() == N


def test_neighbours_of_described_memory_are_known():
    b = sw.MemoryUSMHost(8)
    r = sw.as_usm_memory(Described(b))
    c = sw.MemoryUSMHost(8)
    assert [sw.get_pointer_type(m._pointer) for m in (b, r, c)] == ["host"] * 3
    del b, r
    assert sw.get_pointer_type(c._pointer) == "host"


def test_memory_that_is_taken_twice_is_known_until_both_are_gone():
    x = np.zeros(4)
    first, second = sw.asarray(x, device="host", copy=False), sw.asarray(x, device="host", copy=False)
    del first
    gc.collect()
    assert sw.get_pointer_type(x.ctypes.data) == "host"
    del second
    gc.collect()
    assert sw.get_pointer_type(x.ctypes.data) == "unknown"


# The bytes that are described.


@pytest.fixture
def thirty_two(kind):
    m = CLASSES[kind](32)
    m.copy_from_host(bytes(range(32)))
    return m


def views(m):
    """What is described of 32 bytes, and which bytes that is."""
    return [
        (Described(m, shape=(4,), strides=(1,), offset=8), range(8, 12)),
        (Described(m, shape=(4,), strides=None, offset=8), range(8, 12)),
        (Described(m, shape=(4,), strides=(-2,), offset=20), range(14, 21)),
        (Described(m, shape=(2, 2), strides=(4, 1), offset=1, typestr="<i2"), range(2, 14)),
        (Described(m, shape=(), strides=(), offset=3, typestr="<i8"), range(24, 32)),
        (Described(m), range(32)),
    ]


def test_described_bytes_are_read(thirty_two, kind):
    m = thirty_two
    for view, place in views(m):
        expected = bytes(place)
        d = CLASSES[kind](32)
        d.memset(99)
        d.copy_from_device(view)
        assert d.tobytes() == expected + b"\x63" * (32 - len(place))
        e = CLASSES[kind](len(place))
        m.sycl_queue.memcpy(e, view).wait()
        assert e.tobytes() == expected
        m.sycl_queue.memcpy(e, view, 1).wait()
        out = bytearray(len(place))
        m.sycl_queue.memcpy(out, view)
        assert bytes(out) == expected
        m.sycl_queue.prefetch(view).wait()
        with pytest.raises(sw.OutOfBoundsError):
            m.sycl_queue.memcpy(out, view, len(place) + 1)


def test_described_bytes_are_written(kind):
    q = sw.Queue("host", in_order=True)
    for number in range(6):
        for write in ("memset", "fill", "memcpy"):
            m = CLASSES[kind](32)
            m.copy_from_host(bytes(range(32)))
            view, place = views(m)[number]
            if write == "memset":
                q.memset(view, 255)
            elif write == "fill":
                q.fill(view, 255)
            else:
                q.memcpy(view, b"\xff" * len(place))
            m.sycl_queue.wait()
            q.wait()
            expected = bytes(255 if at in place else at for at in range(32))
            assert m.tobytes() == expected, (write, place)


def test_described_bytes_are_memory(thirty_two, kind):
    m = thirty_two
    for view, place in views(m):
        for taken in (sw.as_usm_memory(view), CLASSES[kind](view)):
            assert taken._pointer == m._pointer + place.start and taken.nbytes == len(place)
            assert taken.tobytes() == bytes(place)
        copied = CLASSES[kind](view, copy=True)
        assert copied.tobytes() == bytes(place) and copied._pointer != m._pointer + place.start
    a = sw.usm_ndarray((2,), dtype="u1", buffer=views(m)[0][0])
    assert a.tolist() == [8, 9]


def test_views_of_our_own_are_memory(kind):
    x = sw.asarray(list(range(10)), dtype="i2", usm_type=kind)
    for view, place in [
        (x[2:3], range(2, 3)), (x[5:9], range(5, 9)), (x[8:1:-3], range(2, 9)), (x[::4], range(9)),
        (sw.permute_dims(sw.reshape(x, (2, 5)), (1, 0))[1:3], range(1, 8)),
    ]:  # fmt: skip
        expected = np.array(place, dtype="i2").tobytes()
        for taken in (sw.as_usm_memory(view), CLASSES[kind](view)):
            assert taken._pointer == x._pointer + 2 * place.start and taken.nbytes == len(expected)
            assert taken.tobytes() == expected
        assert CLASSES[kind](view, copy=True).tobytes() == expected
    m = sw.as_usm_memory(x[5:9])
    m.memset(0)
    assert x.tolist() == [0, 1, 2, 3, 4, 0, 0, 0, 0, 9]
    x[5] = 7
    assert m.tobytes()[:2] == b"\7\0"
    del x
    others(kind)
    assert m.tobytes() == b"\7\0" + b"\0" * 6
    with pytest.raises(ValueError, match="at least one byte"):
        sw.as_usm_memory(sw.zeros(3, usm_type=kind)[1:1])


def test_results_that_are_pending_are_there_as_memory(kind):
    x = sw.ones(N, dtype="i4", usm_type=kind)
    address = (x + x)._pointer
    assert address != x._pointer
    y = x * 3
    w = sw.asarray(Raw(y, y._pointer))
    assert int(sw.sum(w)) == 3 * N
    y += 1
    assert int(sw.sum(w)) == 4 * N
