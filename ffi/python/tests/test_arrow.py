"""Arrow's C data interface: our arrays as Arrow's, and Arrow's as ours, with pyarrow and polars where they are installed, and by structures
of the tests' own."""

import ctypes
import gc
import subprocess
import sys

import numpy as np
import pytest
from conftest import DTYPES, KINDS

import stridewise as sw

FORMATS = {
    "bool": b"b", "int8": b"c", "uint8": b"C", "int16": b"s", "uint16": b"S", "int32": b"i", "uint32": b"I", "int64": b"l", "uint64": b"L",
    "float16": b"e", "float32": b"f", "float64": b"g",
}  # fmt: skip


class Schema(ctypes.Structure):
    pass


class Array(ctypes.Structure):
    pass


class DeviceArray(ctypes.Structure):
    pass


class Stream(ctypes.Structure):
    pass


RELEASE_SCHEMA, RELEASE = ctypes.CFUNCTYPE(None, ctypes.POINTER(Schema)), ctypes.CFUNCTYPE(None, ctypes.POINTER(Array))
RELEASE_STREAM = ctypes.CFUNCTYPE(None, ctypes.POINTER(Stream))
GET_SCHEMA = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Schema))
GET_NEXT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Array))
LAST_ERROR = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(Stream))
Schema._fields_ = [
    ("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_char_p), ("flags", ctypes.c_int64), ("n_children", ctypes.c_int64),
    ("children", ctypes.c_void_p), ("dictionary", ctypes.c_void_p), ("release", RELEASE_SCHEMA), ("private", ctypes.c_void_p),
]  # fmt: skip
Array._fields_ = [
    ("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64), ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)), ("children", ctypes.c_void_p), ("dictionary", ctypes.c_void_p), ("release", RELEASE), ("private", ctypes.c_void_p),
]  # fmt: skip
DeviceArray._fields_ = [
    ("array", Array), ("device_id", ctypes.c_int64), ("device_type", ctypes.c_int32), ("sync_event", ctypes.c_void_p), ("reserved", ctypes.c_int64 * 3),
]  # fmt: skip
Stream._fields_ = [
    ("get_schema", GET_SCHEMA), ("get_next", GET_NEXT), ("get_last_error", LAST_ERROR), ("release", RELEASE_STREAM), ("private", ctypes.c_void_p),
]  # fmt: skip
POINTER, CAPSULE = ctypes.pythonapi.PyCapsule_GetPointer, ctypes.pythonapi.PyCapsule_New
POINTER.restype, POINTER.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
CAPSULE.restype, CAPSULE.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


def inside(capsule, kind, name):
    """The structure in a capsule, which stays the capsule's."""
    return kind.from_address(POINTER(capsule, name))


class Lent:
    """A column of the test's own: an object with Arrow's methods over a NumPy array, that notes when its elements are given back."""

    def __init__(self, values, *, format=None, offset=0, nulls=None, null_count=0, children=0, dictionary=None, parts=None):
        self.values, self.offset, self.null_count, self.parts = np.ascontiguousarray(values), offset, null_count, parts
        self.format = FORMATS[str(self.values.dtype)] if format is None else format
        self.children, self.dictionary, self.returned, self.given = children, dictionary, 0, 0
        self.bits = None if nulls is None else np.packbits(~np.asarray(nulls), bitorder="little")
        data = np.packbits(self.values, bitorder="little") if self.format == b"b" else self.values
        self.data = data
        self.keep = []

    def _schema(self):
        def release(schema):
            schema.contents.release = RELEASE_SCHEMA()

        schema = Schema(self.format, b"", None, 0, self.children, None, self.dictionary, RELEASE_SCHEMA(release), None)
        self.keep.append(schema)
        return schema

    def _array(self, offset, length):
        def release(array):
            self.returned += 1
            array.contents.release = RELEASE()

        buffers = (ctypes.c_void_p * 2)(None if self.bits is None else self.bits.ctypes.data, self.data.ctypes.data)
        array = Array(length, self.null_count, offset, 2, 0, buffers, None, None, RELEASE(release), None)
        self.keep += [array, buffers]
        self.given += 1
        return array

    def __arrow_c_array__(self, requested_schema=None):
        schema, array = self._schema(), self._array(self.offset, self.values.size - self.offset)
        return CAPSULE(ctypes.addressof(schema), b"arrow_schema", None), CAPSULE(ctypes.addressof(array), b"arrow_array", None)


class Streamed(Lent):
    """The same in parts."""

    __arrow_c_array__ = property(doc="not here")

    def __init__(self, values, cuts, fails=False, **options):
        super().__init__(values, **options)
        self.cuts, self.fails, self.closed = cuts, fails, 0

    def __arrow_c_stream__(self, requested_schema=None):
        parts = iter(zip(self.cuts, self.cuts[1:]))
        message = ctypes.create_string_buffer(b"the disk is full")

        def schema(_stream, out):
            ctypes.memmove(out, ctypes.byref(self._schema()), ctypes.sizeof(Schema))
            return 0

        def following(_stream, out):
            part = next(parts, None)
            if part is None:
                if self.fails:
                    return 5
                out.contents.release = RELEASE()
                return 0
            array = self._array(part[0], part[1] - part[0])
            ctypes.memmove(out, ctypes.byref(array), ctypes.sizeof(Array))
            return 0

        def close(stream):
            self.closed += 1
            stream.contents.release = RELEASE_STREAM()

        stream = Stream(GET_SCHEMA(schema), GET_NEXT(following), LAST_ERROR(lambda _: ctypes.addressof(message)), RELEASE_STREAM(close), None)
        self.keep += [stream, message]
        return CAPSULE(ctypes.addressof(stream), b"arrow_array_stream", None)


def values(dtype, count=11):
    return (np.arange(count) % 3 == 1) if dtype == "bool" else np.arange(count).astype(dtype)


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("kind", KINDS)
def test_columns_out(dtype, kind):
    expected = values(dtype)
    x = sw.asarray(expected, usm_type=kind)
    schema, column = x.__arrow_c_array__()
    assert inside(schema, Schema, b"arrow_schema").format == FORMATS[dtype]
    assert inside(x.__arrow_c_schema__(), Schema, b"arrow_schema").format == FORMATS[dtype]
    found = inside(column, Array, b"arrow_array")
    assert (found.length, found.null_count, found.offset, found.n_buffers, found.n_children) == (11, 0, 0, 2, 0)
    assert not found.buffers[0]
    if dtype == "bool":
        assert bytes((ctypes.c_uint8 * 2).from_address(found.buffers[1])) == np.packbits(expected, bitorder="little").tobytes()
    else:
        assert bytes((ctypes.c_uint8 * expected.nbytes).from_address(found.buffers[1])) == expected.tobytes()
    if dtype != "bool" and kind != "device":
        assert found.buffers[1] == x.usm_data._pointer
    schema, column = x.__arrow_c_device_array__()
    on = inside(column, DeviceArray, b"arrow_device_array")
    assert (on.device_type, on.device_id, on.sync_event, on.array.length) == (1, -1, None, 11)


def test_views_out():
    x = sw.asarray(np.arange(20.0), usm_type="shared")
    for view, shares in ((x[3:9], True), (x[::2], False), (x[::-1], False), (x[5:5], False)):
        _, column = view.__arrow_c_array__()
        found = inside(column, Array, b"arrow_array")
        assert list((ctypes.c_double * found.length).from_address(found.buffers[1])) == view.tolist()
        assert (found.buffers[1] == x.usm_data._pointer + 24) == shares


def test_pending_work_is_done_and_memory_is_kept():
    x = sw.sqrt(sw.asarray(np.arange(100_000.0), usm_type="shared")) + 1
    _, column = x.__arrow_c_array__()
    del x
    gc.collect()
    found = inside(column, Array, b"arrow_array")
    assert (ctypes.c_double * found.length).from_address(found.buffers[1])[99_999] == np.sqrt(99_999.0) + 1


def test_who_takes_a_column_gives_it_back():
    x = sw.asarray([1.0, 2.0], usm_type="shared")
    _, column = x.__arrow_c_array__()
    found = inside(column, Array, b"arrow_array")
    taken = Array.from_buffer_copy(found)
    found.release = RELEASE()
    del column
    assert (ctypes.c_double * 2).from_address(taken.buffers[1])[1] == 2.0
    taken.release(ctypes.byref(taken))
    assert not taken.release


def test_another_type_is_asked_for():
    schema = sw.zeros(1, dtype="int32").__arrow_c_schema__()
    found, column = sw.asarray([1.5, 2.5]).__arrow_c_array__(schema)
    assert inside(found, Schema, b"arrow_schema").format == b"i"
    assert list((ctypes.c_int32 * 2).from_address(inside(column, Array, b"arrow_array").buffers[1])) == [1, 2]
    text = Lent(np.arange(3), format=b"u").__arrow_c_array__()[0]
    assert inside(sw.asarray([1.5]).__arrow_c_array__(text)[0], Schema, b"arrow_schema").format == b"g"
    with pytest.raises(TypeError, match="`requested_schema` is 3; expected None, or a capsule"):
        sw.zeros(1).__arrow_c_array__(3)


@pytest.mark.parametrize("method", ["__arrow_c_array__", "__arrow_c_device_array__"])
def test_what_is_no_column(method):
    for shape in ((), (2, 3)):
        with pytest.raises(ValueError, match="one dimension"):
            getattr(sw.zeros(shape), method)()
    for dtype in ("bfloat16", "complex64", "complex128"):
        with pytest.raises(TypeError, match=f"{dtype}.*astype"):
            getattr(sw.zeros(3, dtype=dtype), method)()
        with pytest.raises(TypeError, match=dtype):
            sw.zeros(3, dtype=dtype).__arrow_c_schema__()


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("offset", [0, 3])
def test_columns_in(dtype, offset):
    expected = values(dtype, 70)
    theirs = Lent(expected, offset=offset)
    # `asarray` copies what is in no USM memory, so it is asked to share; truth values are bits there, and cannot be shared.
    x = sw.asarray(theirs, copy=None if dtype == "bool" else False)
    assert x.dtype == expected.dtype and x.tolist() == expected[offset:].tolist()
    if dtype == "bool":
        assert theirs.returned == 1
        with pytest.raises(ValueError, match="`copy` is False"):
            sw.asarray(theirs, copy=False)
    else:
        theirs.values[-1] = 1
        assert x[-1] == 1 and theirs.returned == 0 and not x.flags.writable
        with pytest.raises(ValueError, match="read-only"):
            x[0] = 1
        del x
        gc.collect()
        sw.Queue().wait()
        assert theirs.returned == 1


def test_a_copy_is_ones_own():
    for copy in (None, True):
        theirs = Lent(np.arange(5.0))
        x = sw.asarray(theirs, copy=copy)
        x[0] = 9
        sw.Queue().wait()
        assert theirs.values[0] == 0 and theirs.returned == 1
    assert sw.asarray(Lent(np.arange(5)), dtype="float32").dtype == "float32"
    assert sw.asarray(Lent(np.arange(0.0))).shape == (0,)
    assert (sw.asarray([1, 1, 1]) + sw.asarray(Lent(np.arange(3)))).tolist() == [1, 2, 3]


def test_places_without_a_value():
    nulls = np.arange(20) % 7 == 3
    for count in (-1, 3):
        with pytest.raises(ValueError, match="20 elements of which 3 have no value.*fill_null"):
            sw.asarray(Lent(np.arange(20), nulls=nulls, null_count=count))
    # None of these that are left is such a place.
    assert sw.asarray(Lent(np.arange(20), nulls=nulls, null_count=-1, offset=18)).tolist() == [18, 19]


@pytest.mark.parametrize(
    ("change", "kind", "text"),
    [
        ({"format": b"u"}, TypeError, "expected bool, integers or floats"), ({"format": b"tdD"}, TypeError, "expected bool"),
        ({"children": 2, "format": b"+s"}, TypeError, "one column"), ({"format": b"d:5,2"}, TypeError, "expected bool"),
        ({"offset": -1}, ValueError, "below zero"),
    ],
)  # fmt: skip
def test_columns_that_are_none_of_ours(change, kind, text):
    theirs = Lent(np.arange(4), **change)
    with pytest.raises(kind, match=text):
        sw.asarray(theirs)


def test_methods_that_give_something_else():
    for found in (3, (1, 2), None):
        with pytest.raises(TypeError, match="__arrow_c_array__ returned .*; expected two capsules"):
            sw.asarray(type("Wrong", (), {"__arrow_c_array__": lambda self, found=found: found})())
        with pytest.raises(TypeError, match="__arrow_c_stream__ returned .*; expected a capsule"):
            sw.asarray(type("Wrong", (), {"__arrow_c_stream__": lambda self, found=found: found})())


def lone(theirs):
    """The object without the method that it does not have."""
    return type("Parts", (), {"__arrow_c_stream__": lambda self, requested_schema=None: theirs.__arrow_c_stream__()})()


@pytest.mark.parametrize("dtype", FORMATS)
def test_streams_in(dtype):
    expected = values(dtype, 40)
    for cuts in ([0, 40], [0, 7, 7, 40], [3, 11, 30], [0]):
        theirs = Streamed(expected, cuts)
        x = sw.asarray(lone(theirs))
        assert x.dtype == expected.dtype and x.tolist() == expected[cuts[0]:cuts[-1]].tolist()
        sw.Queue().wait()
        assert theirs.closed == 1 and theirs.returned == theirs.given
    one = Streamed(np.arange(9.0), [2, 9])
    assert sw.asarray(lone(one), copy=False).tolist() == list(range(2, 9))
    with pytest.raises(ValueError, match="`copy` is False"):
        sw.asarray(lone(Streamed(np.arange(9.0), [0, 3, 9])), copy=False)
    failing = Streamed(np.arange(9.0), [0, 3], fails=True)
    with pytest.raises(ValueError, match="the disk is full"):
        sw.asarray(lone(failing))
    assert failing.closed == 1 and failing.returned == failing.given == 1


def test_ours_come_back():
    class Ours:
        def __init__(self, x):
            self.__arrow_c_array__ = x.__arrow_c_array__

    for dtype in FORMATS:
        x = sw.asarray(values(dtype), usm_type="shared")
        back = sw.asarray(Ours(x), copy=None if dtype == "bool" else False)
        assert back.dtype == x.dtype and back.tolist() == x.tolist()
        if dtype != "bool":
            assert back.usm_data._pointer == x.usm_data._pointer


def test_pyarrow():
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    for dtype in FORMATS:
        expected = values(dtype)
        x = sw.asarray(expected)
        theirs = pa.array(x)
        assert theirs.to_pylist() == expected.tolist()
        back = sw.asarray(theirs, copy=None if dtype == "bool" else False)
        assert back.dtype == x.dtype and back.tolist() == expected.tolist()
        assert sw.asarray(pa.chunked_array([theirs, theirs[4:]])).tolist() == expected.tolist() + expected[4:].tolist()
    assert pa.array(sw.asarray([1.5, 2.5]), type=pa.int32(), safe=False).to_pylist() == [1, 2]
    with pytest.raises((ValueError, TypeError), match="no value|nulls"):
        sw.asarray(pa.array([1, None, 3]))
    with pytest.raises(TypeError):
        sw.asarray(pa.array(["a", "b"]))
    column = pa.table({"a": sw.arange(4), "b": sw.asarray([True, False, True, True])})
    assert column.to_pydict() == {"a": [0, 1, 2, 3], "b": [True, False, True, True]}


def test_polars():
    pl = pytest.importorskip("polars", reason="polars is not installed")
    for dtype in FORMATS:
        if dtype == "float16":
            continue
        expected = values(dtype)
        theirs = pl.Series("x", sw.asarray(expected))
        assert theirs.to_list() == expected.tolist()
        assert sw.asarray(theirs).tolist() == expected.tolist()
    frame = pl.DataFrame({"a": sw.arange(3), "b": sw.asarray([0.5, 1, 1.5])})
    assert frame["b"].to_list() == [0.5, 1.0, 1.5]
    assert sw.asarray(frame["a"]).tolist() == [0, 1, 2]


def test_pandas():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    series = pd.Series(np.arange(3.0))
    assert sw.asarray(series).tolist() == [0, 1, 2]
    assert sw.asarray(pd.DataFrame({"a": [1, 2], "b": [3, 4]})).tolist() == [[1, 3], [2, 4]]


def test_without_numpy():
    program = (
        "import sys; sys.modules['numpy'] = None\nimport stridewise as sw\nx = sw.asarray([1.0, 2])\n"
        "assert len(x.__arrow_c_array__()) == 2\n"
        "Ours = type('Ours', (), {'__arrow_c_array__': lambda self: x.__arrow_c_array__()})\nassert sw.asarray(Ours()).tolist() == [1, 2]"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_dtypes_are_all():
    assert set(DTYPES) - set(FORMATS) == {"complex64", "complex128"}
