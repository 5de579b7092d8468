"""Creation functions, against NumPy."""

import collections
import warnings

import numpy as np
import pytest

import stridewise as sw
from conftest import both, close, same


@pytest.mark.parametrize("shape", [(), 3, (3,), [2, 3], (0,), (2, 0, 3), np.int64(4), (np.int32(2), 3)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_filled(shape, order, dtype, kind):
    for name in ("zeros", "ones"):
        a = getattr(sw, name)(shape, dtype=dtype, order=order, usm_type=kind)
        same(a, getattr(np, name)(shape, dtype=dtype, order=order))
        assert a.usm_type == kind
    a = sw.empty(shape, dtype=dtype, order=order, usm_type=kind)
    x = np.empty(shape, dtype=dtype, order=order)
    assert (a.shape, a.flags.c_contiguous, a.flags.f_contiguous) == (x.shape, x.flags.c_contiguous, x.flags.f_contiguous)
    same(sw.full(shape, 1, dtype=dtype, order=order), np.full(shape, 1, dtype=dtype))


@pytest.mark.parametrize("value", [True, 3, 2.5, 1j])
def test_full_without_dtype(value):
    same(sw.full(3, value), np.full(3, value))
    same(sw.full(3, sw.asarray(value)), np.full(3, value))
    same(sw.full(3, np.asarray(value)[()]), np.full(3, value))
    same(sw.full_like(sw.zeros(2, dtype="c16"), value), np.full(2, value, dtype="c16"))


def test_full_refuses():
    for value, dtype in [(300, "u1"), (-1, "u4"), (1j, "f4")]:
        with pytest.raises(TypeError):
            sw.full(2, value, dtype=dtype)
    with pytest.raises(TypeError):
        sw.full(2, "text")
    with pytest.raises(ValueError):
        sw.full(2, sw.ones(3))


@pytest.mark.parametrize("name", ["zeros_like", "ones_like", "empty_like"])
def test_like(name, kind):
    x = np.ones((2, 3), dtype="i2", order="F")
    a = sw.ones((2, 3), dtype="i2", order="F", usm_type=kind, queue=sw.Queue("host"))
    b = getattr(sw, name)(a)
    assert (b.shape, b.dtype, b.usm_type, b.queue) == (a.shape, a.dtype, kind, a.queue)
    assert b.flags.fnc
    if name != "empty_like":
        same(b, getattr(np, name)(x))
    c = getattr(sw, name)(a, dtype="f4", order="C", usm_type="shared", device="host")
    assert (c.dtype, c.usm_type, c.queue) == (sw.float32, "shared", sw.Device("host").queue)
    assert c.flags.c_contiguous


@pytest.mark.parametrize(
    "arguments",
    [
        (5,), (0,), (-3,), (2, 7), (7, 2), (2, 7, 2), (7, 2, -2), (0, 1, 0.25), (5.5,), (1, 2.5, 0.5), (0, 10, 3),
        (-3, 3), (10**15, 10**15 + 5),
    ],
)  # fmt: skip
def test_arange(arguments):
    same(sw.arange(*arguments), np.arange(*arguments))


@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "u8", "f4", "f8"])
def test_arange_of_dtype(dtype):
    same(sw.arange(5, dtype=dtype), np.arange(5, dtype=dtype))
    same(sw.arange(5, 0, -1, dtype=dtype), np.arange(5, 0, -1, dtype=dtype))
    same(sw.arange(1, stop=9, step=3, dtype=dtype), np.arange(1, 9, 3, dtype=dtype))


@pytest.mark.parametrize("dtype", ["f2", "bfloat16", "f4", "f8"])
@pytest.mark.parametrize(
    "arguments, count",
    [
        ((0, 1, 0.1), 10), ((0, 10, 0.1), 100), ((1, 2, 0.1), 10), ((0, 1, 1 / 3), 3), ((0, 0.3, 0.1), 3),
        ((0, 7, 0.7), 10), ((0.1, 0.4, 0.1), 4), ((0, 2049), 2049), ((2048, 2051), 3), ((0, 70000, 1000), 70),
        ((2**24, 2**24 + 3), 3), ((16842753, 16842754), 1), ((2**53, 2**53 + 3), 3), ((-1e308, 1.7e308, 1e308), 3),
        ((2**70, 2**70 + 2**62, 2**60), 4), *(((0, n / 8, 0.125), n) for n in (15, 16, 17, 1023, 1024, 1025, 4095, 4096, 4097)),
    ],
)  # fmt: skip
def test_arange_counts_and_computes_before_it_rounds(arguments, count, dtype):
    start, stop, step = arguments if len(arguments) == 3 else (*arguments, 1)
    a = sw.arange(start, stop, step, dtype=dtype)
    assert a.shape == (count,)
    scale = 0.25 if abs(stop) > 1e300 else 1
    exact = [start + i * step if isinstance(start * step, int) else (start * scale + i * (step * scale)) / scale for i in range(count)]
    rounded = sw.astype(sw.asarray(exact, dtype="f8"), dtype)
    assert a.dtype == rounded.dtype and sw.all(a == rounded)


def test_arange_of_integers_needs_no_more_than_its_elements():
    same(sw.arange(0, 128, dtype="i1"), np.arange(128).astype("i1"))
    same(sw.arange(255, -1, -85, dtype="u1"), np.array([255, 170, 85, 0], "u1"))
    same(sw.arange(2**64 - 2, 2**64, dtype="u8"), np.array([2**64 - 2, 2**64 - 1], "u8"))
    # Floats are counted by, and only the elements have to fit.
    for arguments in [(0, 2.5), (1, 11.0), (5.0, 0, -2), (0, 127.5)]:
        same(sw.arange(*arguments, dtype="i1"), np.arange(*arguments, dtype="i1"))
    for arguments, dtype in [((0, 129), "i1"), ((-1, 2), "u1"), ((0, 128.5), "i1"), ((-1.0, 2), "u1")]:
        with pytest.raises(TypeError):
            sw.arange(*arguments, dtype=dtype)


def test_arange_refuses():
    for arguments, error in [((1, 2, 0), ValueError), ((float("nan"),), ValueError), (("a",), TypeError)]:
        with pytest.raises(error):
            sw.arange(*arguments)
    for dtype in ("bool", "c8"):
        with pytest.raises(TypeError):
            sw.arange(3, dtype=dtype)


@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize("arguments", [(0, 1, 5), (0, 1, 1), (3, -3, 7), (0, 1, 0), (1.5, 2.5, 11), (1j, 2, 4)])
def test_linspace(arguments, endpoint):
    close(sw.linspace(*arguments, endpoint=endpoint), np.linspace(*arguments, endpoint=endpoint), ulp=2)


def test_linspace_of_arrays_of_one_number(rng):
    for dtype in ("f2", "f4", "f8", "i4", "c8"):
        start, stop = np.asarray(1, dtype), np.asarray(3, dtype)
        assert sw.linspace(sw.asarray(start), sw.asarray(stop), 4).dtype == np.linspace(start, stop, 4).dtype
    for start, stop in ((np.float32(1), 9), (0, np.float16(3)), (np.complex64(1), 9), (np.uint8(1), np.float32(7)), (np.True_, np.float32(2))):
        given = [x if isinstance(x, int) else sw.asarray(np.asarray(x)) for x in (start, stop)]
        assert sw.linspace(*given, 5).dtype == np.linspace(start, stop, 5).dtype, (start, stop)
    for start, stop in rng.random((40, 2), dtype="f4"):
        same(sw.linspace(sw.asarray(start), sw.asarray(stop), 14), np.linspace(start, stop, 14))


def test_linspace_of_dtype():
    close(sw.linspace(0, 1, num=5, dtype="f4"), np.linspace(0, 1, 5, dtype="f4"))
    same(sw.linspace(-2, 2, 8, dtype="i4"), np.linspace(-2, 2, 8, dtype="i4"))
    same(sw.linspace(0.5, 2**63, 2, dtype="u8"), np.array([0, 2**63], "u8"))
    for dtype in ("f2", "f4"):
        same(sw.linspace(0.1, 0.7, 13, dtype=dtype), np.linspace(0.1, 0.7, 13).astype(dtype))
        same(sw.linspace(2049, 4097, 9, dtype=dtype), np.linspace(2049, 4097, 9).astype(dtype))
    with pytest.raises(ValueError):
        sw.linspace(0, 1, -1)


@pytest.mark.parametrize("arguments", [(3,), (2, 4), (4, 2), (0,), (0, 3)])
@pytest.mark.parametrize("k", [0, 1, -1, 5, -5])
@pytest.mark.parametrize("order", ["C", "F"])
def test_eye(arguments, k, order):
    same(sw.eye(*arguments, k=k, order=order), np.eye(*arguments, k=k))
    same(sw.eye(*arguments, k=k, dtype="bool"), np.eye(*arguments, k=k, dtype="bool"))


@pytest.mark.parametrize("k", [0, 1, -1, 4, -4])
@pytest.mark.parametrize("shape", [(3, 3), (2, 5), (2, 4, 3), (0, 2)])
def test_triangles(k, shape):
    x, a = both(np.arange(np.prod(shape)).reshape(shape) + 1)
    same(sw.tril(a, k=k), np.tril(x, k))
    same(sw.triu(a, k=k), np.triu(x, k))
    with pytest.raises(ValueError):
        sw.tril(sw.zeros(3))


@pytest.mark.parametrize("indexing", ["xy", "ij"])
@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_meshgrid(indexing, count):
    pairs = [both(np.arange(n + 2)) for n in range(count)]
    found = sw.meshgrid(*(a for _, a in pairs), indexing=indexing)
    expected = np.meshgrid(*(x for x, _ in pairs), indexing=indexing)
    assert len(found) == len(expected) and isinstance(found, tuple)
    for ours, theirs in zip(found, expected):
        same(ours, theirs)
    with pytest.raises(ValueError):
        sw.meshgrid(sw.zeros(2), indexing="no")


# asarray.


@pytest.mark.parametrize(
    "value",
    [
        3, 2.5, True, 1j, [1, 2], [1, 2.5], [True, False], [1, True], [[1, 2], [3, 4]], ((1.5,), (2,)), [[]], [], [[], []],
        [1, 2.5, 1j], [2**63], [[[1]]], [-1, 2**62], [True, 0.5],
    ],
)  # fmt: skip
def test_asarray_of_numbers(value, kind):
    a = sw.asarray(value, usm_type=kind)
    same(a, np.asarray(value))
    assert a.usm_type == kind


def test_asarray_of_dtype(dtype):
    same(sw.asarray([[0, 1], [1, 1]], dtype=dtype), np.asarray([[0, 1], [1, 1]], dtype=dtype))
    same(sw.asarray([1.0, 0.0], dtype=dtype), np.asarray([1.0, 0.0], dtype=dtype))
    assert sw.asarray([[1, 2], [3, 4]], order="F").flags.fnc


@pytest.mark.parametrize("value", [[[1], [1, 2]], [1, [2]], [[1], 2], [[[1, 2]], [[1]]], [[], 1], [[], [1]]])
def test_asarray_of_ragged_lists(value):
    with pytest.raises(ValueError):
        sw.asarray(value)


def test_asarray_refuses():
    for value in ("text", None, object(), {}, ["a"], [None], [{}]):
        with pytest.raises(TypeError):
            sw.asarray(value)
    deep = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ValueError):
        sw.asarray(deep)
    while deep:
        deep = deep[0]
    with pytest.raises(ValueError):
        sw.asarray([1], copy=False)
    with pytest.raises((TypeError, OverflowError)):
        sw.asarray([2**64])
    with pytest.raises(TypeError):
        sw.asarray([300], dtype="u1")


def test_asarray_of_arrays_in_lists():
    x, a = both([[1, 2], [3, 4]])
    same(sw.asarray([a, a]), np.asarray([x, x]))
    same(sw.asarray([a[0], [5, 6]]), np.asarray([x[0], [5, 6]]))
    same(sw.asarray([a[0, 0], 2, 3]), np.asarray([1, 2, 3]))
    same(sw.asarray([np.float32(1), np.float32(2)]), np.asarray([1, 2], dtype="f4"))
    same(sw.asarray([a[0], a[1]], dtype="f4"), x.astype("f4"))
    loop = [a]
    loop.append(loop)
    with pytest.raises(ValueError):
        sw.asarray(loop)


def test_asarray_of_numpy_in_lists():
    x = np.asarray([[1, 2], [3, 4]], dtype="i2")
    same(sw.asarray([x, x]), np.asarray([x, x]))
    same(sw.asarray([x[0], x[1, ::-1]]), np.asarray([x[0], x[1, ::-1]]))
    same(sw.asarray([x, sw.asarray(x.tolist(), dtype="i2")]), np.asarray([x, x]))
    for device in sw.get_devices():
        ours = sw.asarray((x, x), device=device)
        assert ours.device == device and ours.tolist() == [x.tolist()] * 2


def test_asarray_of_sequences():
    same(sw.asarray(range(5)), np.arange(5))
    same(sw.asarray([range(3), (4, 5, 6)]), np.asarray([range(3), (4, 5, 6)]))
    same(sw.asarray(collections.deque([1, 2])), np.asarray([1, 2]))
    same(sw.asarray(range(0)), np.asarray([]))


def test_asarray_of_an_array(kind):
    a = sw.asarray([[1, 2], [3, 4]], usm_type=kind, dtype="i4")
    assert sw.asarray(a)._pointer == a._pointer
    assert sw.asarray(a, dtype="i4", order="C", usm_type=kind, copy=False)._pointer == a._pointer
    b = sw.asarray(a, copy=True)
    assert b._pointer != a._pointer and b.tolist() == a.tolist() and b.usm_type == kind
    for change in (dict(dtype="f4"), dict(order="F"), dict(usm_type="shared" if kind != "shared" else "host")):
        with pytest.raises(ValueError):
            sw.asarray(a, copy=False, **change)
        b = sw.asarray(a, **change)
        assert b.tolist() == a.tolist() and b._pointer != a._pointer
        if "usm_type" in change:
            assert b.usm_type == change["usm_type"]
        elif "dtype" in change:
            assert b.dtype == sw.float32
        else:
            assert b.flags.fnc


def test_asarray_of_numpy(dtype, kind):
    x = np.asarray([[0, 1, 2], [1, 0, 1]]).astype(dtype)
    same(sw.asarray(x, usm_type=kind), x)
    same(sw.asarray(x[:, ::-2].T, usm_type=kind, dtype="complex128"), x[:, ::-2].T.astype("complex128"))
    same(sw.asarray(x[0, 0]), x[0, 0])
    a = sw.asarray(x, copy=True)
    x[0, 0] = 1
    assert a.tolist()[0][0] == 0


def test_asarray_elsewhere():
    a = sw.arange(4, device="host")
    q = sw.Queue("host")
    b = sw.asarray(a, sycl_queue=q)
    assert b.queue == q and b._pointer == a._pointer
    c = sw.asarray(a, queue=q, copy=True)
    assert c.queue == q and c._pointer != a._pointer
    with pytest.raises(ValueError):
        sw.asarray(a, queue=q, sycl_queue=sw.Queue("host"))
    with pytest.raises(TypeError):
        sw.asarray(a, queue="host")
    for d in sw.get_devices():
        assert sw.asarray(a, device=d).device == d
        assert sw.asarray([1, 2], device=str(d)).device == d


def test_copy_and_astype(dtype, kind):
    x, a = both([[0, 1, 2], [1, 0, 1]], dtype, kind)
    b = sw.copy(a[:, ::2])
    same(b, x[:, ::2])
    assert b._pointer != a._pointer and b.usm_type == kind
    for to in ("bool", "int32", "float32", "complex64"):
        with warnings.catch_warnings():
            # NumPy warns of imaginary parts that are lost.
            warnings.simplefilter("ignore")
            same(sw.astype(a, to), x.astype(to))
    assert sw.astype(a, dtype)._pointer != a._pointer
    assert sw.astype(a, dtype, copy=False)._pointer == a._pointer
    assert sw.astype(a, dtype, order="F").flags.fnc
    assert sw.copy(a, order="F").flags.fnc


def test_placement_of_new_arrays():
    q = sw.Queue("host")
    for make in (
        lambda **k: sw.zeros(2, **k), lambda **k: sw.ones(2, **k), lambda **k: sw.empty(2, **k), lambda **k: sw.full(2, 1, **k),
        lambda **k: sw.arange(2, **k), lambda **k: sw.linspace(0, 1, 2, **k), lambda **k: sw.eye(2, **k),
        lambda **k: sw.asarray([1], **k),
    ):  # fmt: skip
        for place in (dict(sycl_queue=q), dict(queue=q), dict(device=q), dict(queue=q, sycl_queue=q)):
            a = make(usm_type="shared", **place)
            assert a.queue == q and a.usm_type == "shared"
        assert make(device="host").queue == sw.Device("host").queue == make(device=sw.Device("host")).queue
        with pytest.raises(ValueError):
            make(usm_type="nothing")
        with pytest.raises(TypeError):
            make(device=3)
        with pytest.raises(sw.DeviceSelectionError):
            make(device="nothing")
        assert make().dtype in (sw.float64, sw.int64)


def test_negative_counts():
    for call in (lambda: sw.eye(-1), lambda: sw.eye(2, -1), lambda: sw.linspace(0, 1, -1)):
        with pytest.raises(ValueError, match="expected 0 or more"):
            call()


def test_very_many_extents_are_refused_at_once():
    for call in (sw.zeros, lambda many: sw.full(many, 1.0), lambda many: sw.broadcast_to(sw.ones(1), many), lambda many: sw.tile(sw.ones(1), many)):
        with pytest.raises(ValueError, match="a sequence of 5000 integers; expected at most 32"):
            call([1] * 5000)
    assert sw.repeat(sw.arange(5000), [1] * 5000).shape == (5000,)


@pytest.mark.parametrize("make", ["empty_like", "zeros_like", "ones_like", "full_like"])
def test_arrays_like_others_of_another_shape(make):
    def ours(x, **options):
        return getattr(sw, make)(x, *((7,) if make == "full_like" else ()), **options)

    rows = np.arange(12, dtype="int16").reshape(3, 4)
    for x in (rows, rows.T, rows[:, ::2]):
        for shape in ((2, 5), (4, 4), 6, (), (2, 3, 4), (0, 3)):
            for order in ("K", "C", "F", "A"):
                mine = ours(sw.asarray(x, copy=True, order="K"), shape=shape, order=order)
                theirs = np.zeros_like(x.copy("K"), shape=shape, order=order)
                assert (mine.shape, mine.dtype) == (theirs.shape, "int16")
                assert not mine.size or mine.strides == tuple(s // 2 for s in theirs.strides), (x.strides, shape, order)
    if make != "empty_like":
        assert ours(sw.ones(3), shape=(2, 2)).tolist() == [[{"zeros_like": 0, "ones_like": 1, "full_like": 7}[make]] * 2] * 2
    with pytest.raises(ValueError, match="extent of -1"):
        ours(sw.ones(3), shape=-1)
