"""The class usm_ndarray: constructor, attributes, conversions, printing."""

import copy
import gc
import operator
import pickle
import weakref

import numpy as np
import pytest

import stridewise as sw
from conftest import DTYPES, KINDS, both, same
from peers import settles


# The examples of dpctl's page on usm_ndarray (dpctl pull request 427), seed 004.


def test_seed004_two_dimensional_c_contiguous():
    a = sw.usm_ndarray((2, 3), dtype="f4")
    assert (a.ndim, a.shape, a.strides) == (2, (2, 3), (3, 1))
    assert a.flags.c_contiguous and not a.flags.f_contiguous


def test_seed004_two_dimensional_f_contiguous():
    a = sw.usm_ndarray((2, 3), dtype="f4", order="F")
    assert (a.ndim, a.shape, a.strides) == (2, (2, 3), (1, 2))
    assert a.flags.f_contiguous and not a.flags.c_contiguous


def test_seed004_submatrix():
    a = sw.usm_ndarray((2, 3), dtype="i8", buffer="shared")
    b = a[:, :2]
    assert (b.ndim, b.shape, b.strides) == (2, (2, 2), (3, 1))
    assert not b.flags.contiguous


def test_seed004_negative_stride():
    contig_vec = sw.arange(8)
    b = contig_vec[7::-2]
    assert (b.ndim, b.shape, b.strides, b._element_offset) == (1, (4,), (-2,), 7)
    assert b.tolist() == [7, 5, 3, 1]
    assert b._pointer == contig_vec._pointer + 7 * 8


def test_seed004_device_buffer_of_unsigned_shorts():
    a = sw.usm_ndarray((2, 3), dtype="u2", buffer="device")
    assert a.usm_data.nbytes == 12
    assert a.usm_type == "device" and a.dtype == sw.uint16 and a.flags["C"]
    assert isinstance(a.usm_data, sw.MemoryUSMDevice)


def test_seed004_strided_shared_buffer():
    a = sw.usm_ndarray((2, 3), dtype="i8", buffer="shared", strides=(6, 1))
    assert a.usm_data.nbytes == 9 * 8
    assert (a.strides, a.usm_type) == ((6, 1), "shared")
    assert isinstance(a.usm_data, sw.MemoryUSMShared)


def test_seed004_offset_is_found():
    a = sw.usm_ndarray((2, 2), dtype="u1", buffer="host", strides=(2, -1))
    assert a.usm_data.nbytes == 4
    assert a._element_offset == 1
    a[...] = [[1, 2], [3, 4]]
    assert a.usm_data.tobytes() == bytes([2, 1, 4, 3])


def test_seed004_memory_as_buffer():
    mem = sw.MemoryUSMShared(64)
    a = sw.usm_ndarray((4,), dtype="f8", buffer=mem, strides=(-2,), offset=7)
    assert a.usm_data._pointer == mem._pointer
    whole = sw.usm_ndarray((8,), dtype="f8", buffer=mem)
    whole[...] = sw.arange(8, dtype="f8")
    assert a.tolist() == [7.0, 5.0, 3.0, 1.0]


def test_seed004_array_as_buffer():
    w = sw.usm_ndarray((4, 2), dtype="i4", buffer="device", strides=(-5, -2))
    interface = w.__sycl_usm_array_interface__
    w2 = sw.usm_ndarray(
        interface["shape"],
        dtype=interface["typestr"],
        buffer=w,
        strides=interface["strides"],
        offset=interface["offset"],
    )
    assert w2.__sycl_usm_array_interface__ == interface
    assert w2.usm_data._pointer == w.usm_data._pointer
    assert (w2.shape, w2.strides, w2._pointer) == (w.shape, w.strides, w._pointer)
    w[...] = 3
    assert w2.tolist() == [[3, 3]] * 4


def test_seed004_an_array_as_buffer_is_its_memory():
    a = sw.arange(10, dtype="i4")[3:]
    b = sw.usm_ndarray((10,), dtype="i4", buffer=a)
    assert b.tolist() == list(range(10))


def test_seed004_flags_and_attributes():
    a = sw.usm_ndarray((3, 2), dtype="<c8", order="F", buffer="host")
    assert a.flags["C"] is False and a.flags["F_CONTIGUOUS"] is True and a.flags["WRITABLE"] is True
    assert a.flags.fnc and a.flags.forc and a.flags.contiguous
    assert (a.itemsize, a.size, a.nbytes, a.ndim) == (8, 6, 48, 2)
    assert a.T.shape == (2, 3) and a.mT.flags.c_contiguous
    with pytest.raises(KeyError):
        a.flags["NONSENSE"]
    with pytest.raises(KeyError):
        a.flags["C"] = True


# The constructor beyond the examples.


def test_defaults():
    a = sw.usm_ndarray(5)
    assert (a.shape, a.dtype, a.usm_type) == ((5,), sw.float64, "device")
    assert sw.usm_ndarray(()).shape == ()
    assert sw.usm_ndarray([2, 0]).size == 0


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (dict(shape=(-1,)), ValueError),
        (dict(shape=("a",)), TypeError),
        (dict(shape=(2.5,)), TypeError),
        (dict(shape=None), TypeError),
        (dict(shape=(2, 2), strides=(1,)), ValueError),
        (dict(shape=(2, 2), strides="ab"), TypeError),
        (dict(shape=(1 << 40, 1 << 40)), ValueError),
        (dict(shape=(1 << 70,)), OverflowError),
        (dict(shape=(1,) * 33), ValueError),
        (dict(shape=4, dtype="f5"), TypeError),
        (dict(shape=4, dtype=">f4"), TypeError),
        (dict(shape=4, dtype=object), TypeError),
        (dict(shape=4, buffer="nowhere"), ValueError),
        (dict(shape=4, buffer=3), TypeError),
        (dict(shape=4, order="Z"), ValueError),
        (dict(shape=4, offset=-1), ValueError),
        (dict(shape=4, strides=(-1,), offset=2), ValueError),
        (dict(shape=4, buffer_ctor_kwargs={"nonsense": 1}), TypeError),
        (dict(shape=4, buffer_ctor_kwargs={"alignment": 3}), ValueError),
    ],
)
def test_wrong_arguments(arguments, error):
    with pytest.raises(error):
        sw.usm_ndarray(**arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        dict(shape=9, dtype="f8"),
        dict(shape=8, dtype="f8", offset=1),
        dict(shape=(2, 3), dtype="f8", strides=(6, 1)),
        dict(shape=(4,), dtype="f8", strides=(-2,), offset=5),
        dict(shape=(1,), dtype="f8", offset=8),
        dict(shape=(0,), dtype="f8", offset=9),
    ],
)
def test_beyond_the_buffer(arguments):
    with pytest.raises(ValueError) as caught:
        sw.usm_ndarray(buffer=sw.MemoryUSMHost(64), **arguments)
    assert isinstance(caught.value, IndexError) and isinstance(caught.value, sw.OutOfBoundsError)


def test_buffer_options():
    q = sw.Queue("host")
    a = sw.usm_ndarray((100,), dtype="f4", buffer_ctor_kwargs={"queue": q, "alignment": 4096})
    assert a.queue == q and a._pointer % 4096 == 0
    a[...] = 2
    b = sw.usm_ndarray((100,), dtype="f4", buffer=a, buffer_ctor_kwargs={"copy": True})
    a[...] = 3
    assert b.queue == q and b._pointer != a._pointer and b[0] == 2


@pytest.mark.parametrize("device", [str(d) for d in sw.get_devices()])
def test_attributes_of_place(device, kind):
    d = sw.Device(device)
    try:
        a = sw.zeros(3, device=d, usm_type=kind)
    except NotImplementedError:
        pytest.skip(f"{d} has no memory of kind {kind}")
    assert a.device == d and a.sycl_device == d and str(a.device) == device
    assert a.queue == d.queue == a.sycl_queue
    assert a.sycl_context == d.default_context
    assert a.usm_type == kind and a.usm_data.get_usm_type() == kind


# Attributes.


def test_writable():
    a = sw.zeros(3)
    view = a[1:]
    a.flags.writable = False
    assert not a.flags.writable and view.flags.writable and not a[1:].flags.writable
    for write in [lambda: a.__setitem__(0, 1), lambda: sw.add(a, a, out=a), lambda: a.__iadd__(1)]:
        with pytest.raises(ValueError):
            write()
    a.flags["W"] = True
    a[0] = 1
    assert a.tolist() == [1, 0, 0]


def test_setting_the_shape():
    a = sw.arange(6)
    a.shape = (2, 3)
    assert a.tolist() == [[0, 1, 2], [3, 4, 5]]
    a.shape = (3, -1)
    assert a.shape == (3, 2)
    with pytest.raises(ValueError):
        a.shape = (4, 2)
    b = a.T
    with pytest.raises(ValueError):
        b.shape = (6,)
    assert b.shape == (2, 3)


@pytest.mark.parametrize("code", ["c8", "c16"])
def test_real_and_imag_are_views(code, kind):
    oracle, a = both([[1 + 2j, 3 - 4j, 5j], [6, 7j, 8]], code, kind)
    oracle, a = oracle[:, ::-2], a[:, ::-2]
    same(a.real, oracle.real)
    same(a.imag, oracle.imag)
    a.real = 9
    a.imag[...] = [[1.5, 2.5], [3.5, 4.5]]
    oracle.real = 9
    oracle.imag[...] = [[1.5, 2.5], [3.5, 4.5]]
    same(a, oracle)


def test_real_and_imag_of_real_numbers(dtype):
    if dtype.startswith("complex"):
        pytest.skip("complex")
    oracle, a = both([1, 0, 1], dtype)
    same(a.real, oracle.real)
    same(a.imag, oracle.imag)
    assert not a.imag.flags.writable
    a.real[0] = 0
    assert a.tolist() == [0, 0, 1]


def test_transposes():
    oracle, a = both(np.arange(24).reshape(2, 3, 4))
    same(a.T, oracle.T)
    same(a.mT, np.matrix_transpose(oracle))
    assert a.T._pointer == a._pointer
    with pytest.raises(ValueError):
        sw.arange(3).mT


def test_weak_references_and_lifetimes():
    a = sw.arange(1000, usm_type="shared")
    view, memory = a[10:], a.usm_data
    gone = weakref.ref(a)
    del a
    gc.collect()
    assert gone() is None
    assert view[0] == 10 and len(memory.tobytes()) == 8000


# Conversions.


@pytest.mark.parametrize("value", [True, 3, -7, 2.75, 1 - 2j])
def test_numbers(value):
    a = sw.asarray(value)
    assert a.shape == () and a.tolist() == value
    assert bool(a) is bool(value) and complex(a) == complex(value)
    if isinstance(value, complex):
        for convert in (int, float):
            with pytest.raises(TypeError):
                convert(a)
    else:
        assert float(a) == float(value) and int(a) == int(value)
    assert type(a.tolist()) is type(value)


def test_index_of_python():
    assert [10, 20, 30][sw.asarray(1)] == 20
    assert hex(sw.asarray(255, dtype="u1")) == "0xff"
    for wrong in (sw.asarray(1.0), sw.asarray(True), sw.asarray([1])):
        with pytest.raises(TypeError):
            [1, 2][wrong]


@pytest.mark.parametrize("convert", [bool, int, float, complex])
def test_only_one_element_is_a_number(convert):
    for a in (sw.zeros(2), sw.zeros(0)):
        with pytest.raises(ValueError):
            convert(a)
    assert convert(sw.ones((1, 1))) == 1


def test_large_integers():
    for value, code in [(2**64 - 1, "u8"), (-(2**63), "i8")]:
        assert int(sw.asarray(value, dtype=code)) == value
        assert sw.asarray([value], dtype=code).tolist() == [value]


def test_int_of_what_is_none():
    with pytest.raises(OverflowError):
        int(sw.asarray(float("inf")))
    with pytest.raises(ValueError):
        int(sw.asarray(float("nan")))


def test_numpy(dtype, kind, rng):
    oracle = (rng.standard_normal((3, 4, 5)) * 3).astype(dtype)
    a = sw.asarray(oracle.tolist(), dtype=dtype, usm_type=kind)
    for ours, theirs in [(a, oracle), (a.T, oracle.T), (a[::-1, 1:], oracle[::-1, 1:]), (a[0, 0, 0], oracle[0, 0, 0])]:
        same(ours, theirs)
    assert a.__array__(np.complex128).dtype == np.complex128
    if kind != "device":
        return
    with pytest.raises(ValueError):
        a.__array__(copy=False)


def test_to_device():
    a = sw.arange(5, device="host")
    q = sw.Queue("host")
    b = a.to_device(q)
    assert b.queue == q and b._pointer == a._pointer
    with pytest.raises(sw.ExecutionPlacementError):
        a + b
    for d in sw.get_devices():
        c = a.to_device(str(d))
        assert c.device == d and c.tolist() == a.tolist()
    assert a.to_device(a.device).queue == a.queue
    with pytest.raises(ValueError):
        a.to_device("host", stream=1)
    with pytest.raises(sw.DeviceSelectionError):
        a.to_device("nothing:of:this")


def test_namespace():
    assert sw.zeros(1).__array_namespace__() is sw
    assert sw.zeros(1).__array_namespace__(api_version="2024.12") is sw
    with pytest.raises(ValueError):
        sw.zeros(1).__array_namespace__(api_version="1999.01")


def test_unhashable_and_iteration():
    a = sw.asarray([[1, 2], [3, 4]])
    with pytest.raises(TypeError):
        hash(a)
    assert len(a) == 2 and [row.tolist() for row in a] == [[1, 2], [3, 4]]
    for call in (len, iter):
        with pytest.raises(TypeError):
            call(sw.asarray(1))


def test_pickling(dtype, kind):
    x, a = both([[0, 1, 1], [1, 0, 1]], dtype, kind)
    for ours, theirs in [(a, x), (a[:, ::-2].T, x[:, ::-2].T), (a[:0], x[:0]), (a[0, 0], x[0, 0])]:
        again = pickle.loads(pickle.dumps(ours))
        same(again, theirs)
        assert again.usm_type == kind and again.device == a.device


@pytest.mark.parametrize("made", [copy.copy, copy.deepcopy])
def test_copies_stay_on_the_queue(made, kind):
    queue = sw.Queue("host")
    a = sw.asarray([[1, 2], [3, 4]], usm_type=kind, sycl_queue=queue)
    for ours in (a, a[:, ::-1].T):
        again = made(ours)
        assert again.queue == queue and again.usm_type == kind and again.tolist() == ours.tolist()
        assert again.usm_data._pointer != a.usm_data._pointer and (again + ours).queue == queue
    first, second = made([a, a]) if made is copy.deepcopy else (a, a)
    assert first is second


def test_what_is_no_pickle_of_an_array():
    restore, (data, *rest) = sw.arange(4, dtype="i4").__reduce__()
    assert restore(data, *rest).tolist() == [0, 1, 2, 3]
    for wrong in (data[:-1], data + b"0", b""):
        with pytest.raises(ValueError, match="bytes"):
            restore(wrong, *rest)


def test_what_is_no_index():
    for a in (sw.arange(3), sw.asarray([1]), sw.asarray(1.0), sw.asarray(True)):
        with pytest.raises(TypeError):
            operator.index(a)
    assert operator.index(sw.asarray(3)) == 3


def test_format():
    assert f"{sw.asarray(2.5):.3f} {sw.asarray(7):>4d} {sw.asarray(7)}" == "2.500    7 7"
    a = sw.arange(3)
    assert f"{a}" == str(a)
    with pytest.raises(TypeError):
        f"{a:.3f}"


def test_writable_by_its_other_name():
    a = sw.arange(3)
    a.flags.writeable = False
    assert not a.flags.writable and not a.flags.writeable
    a.flags.writeable = True
    assert a.flags.writable


def test_contains():
    a = sw.asarray([[1, 2], [3, 4]])
    assert 3 in a and 5 not in a and 2.5 not in a and sw.asarray(4) in a
    assert 1 not in sw.zeros(0)


# Dtypes.


@pytest.mark.parametrize("name", DTYPES)
def test_dtypes(name):
    ours, theirs = getattr(sw, name), np.dtype(name)
    assert ours == theirs and theirs == ours and ours == theirs.type and ours == name and ours == theirs.str
    assert ours != "nonsense" and ours is not None and ours != 3
    assert (ours.itemsize, ours.kind, ours.name, str(ours)) == (theirs.itemsize, theirs.kind, name, name)
    assert hash(ours) == hash(sw.dtype(name)) and sw.dtype(theirs) is ours and sw.dtype(theirs.type) is ours
    assert pickle.loads(pickle.dumps(ours)) is ours
    assert np.zeros(1, dtype=ours).dtype == theirs
    for given in (ours, theirs, theirs.type, name, theirs.str):
        assert sw.zeros(1, dtype=given).dtype is ours


def test_dtypes_of_python():
    found = {t: sw.zeros(1, dtype=t, device="host").dtype for t in (bool, int, float, complex)}
    assert found == {bool: sw.bool, int: sw.int64, float: sw.float64, complex: sw.complex128}
    assert sw.bfloat16.itemsize == 2 and sw.zeros(1, dtype="bfloat16").dtype is sw.bfloat16


@pytest.mark.parametrize("wrong", [">f4", "f5", "O", "S3", np.dtype(">i2"), np.dtype("S4"), np.str_, object, 3])
def test_wrong_dtypes(wrong):
    with pytest.raises(TypeError):
        sw.zeros(1, dtype=wrong)


# Printing.


@pytest.mark.parametrize(
    "values",
    [
        3, 2.5, [], [1], [1.0, 2.5], [[1, 2], [3, 4]], [True, False], [1 + 2j], list(range(40)),
        [[0.1 * k for k in range(12)] for _ in range(3)], list(range(2000)), [[[1, 2]], [[3, 4]]],
        [float("nan"), float("inf")], [1e-10, 1.0], [1e300],
    ],
)  # fmt: skip
def test_str_as_numpy_writes_it(values):
    oracle, a = both(values)
    assert str(a) == str(oracle)


@pytest.mark.parametrize(
    "values",
    [[1], [1.0, 2.5], [[1, 2], [3, 4]], list(range(40)), [[0.1 * k for k in range(12)] for _ in range(3)]],
)
@pytest.mark.parametrize("code", ["int64", "float64", "float32", "int8"])
def test_repr_as_numpy_writes_it(values, code):
    oracle, a = both(values, code)
    # NumPy indents by the width of "array(".
    expected = repr(oracle.view(type("usm_ndarray", (np.ndarray,), {})))
    assert repr(a) == expected


def test_repr_without_elements():
    assert repr(sw.zeros((0, 3))) == "usm_ndarray([], shape=(0, 3), dtype=float64)"
    assert repr(sw.zeros(0, dtype="i4")) == "usm_ndarray([], dtype=int32)"


@pytest.mark.parametrize("kind", KINDS)
def test_memory_is_freed_after_use(kind):
    # Results of work that is under way keep their operands' memory, not the operands.
    gc.collect()
    a = sw.ones(1 << 20, dtype="f4", usm_type=kind)
    a.wait()
    device, nbytes = a.device, a.nbytes
    before = device.pool_statistics["live_bytes"]
    total = a + 1
    del a
    assert float(total[5]) == 2
    # The result has taken the place of its operand, with what little else there is.
    assert settles(lambda: device.pool_statistics["live_bytes"] < before + nbytes // 2)
