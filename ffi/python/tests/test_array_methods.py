"""Methods, attributes and names that NumPy's arrays and dtypes have."""

import os
import pickle
import sys

import numpy as np
import pytest

import stridewise as sw
from conftest import DTYPES, same

X = np.asarray([[3.0, -1.5, 2.25], [0.0, 7.125, -2.0]])


@pytest.fixture
def a():
    return sw.asarray(X.tolist())


CALLS = [
    ("sum", ()), ("sum", (0,)), ("sum", (1, "f4")), ("prod", (1,)), ("mean", ()), ("mean", (1, "f4")), ("max", (0,)), ("min", ()), ("var", (0,)),
    ("std", (1,)), ("any", (0,)), ("all", ()), ("argmax", ()), ("argmin", (1,)), ("argsort", ()), ("argsort", (0,)), ("cumsum", ()),
    ("cumsum", (1,)), ("cumprod", (0,)), ("reshape", (3, 2)), ("reshape", ((3, 2),)), ("reshape", (-1,)), ("ravel", ()), ("ravel", ("F",)),
    ("flatten", ("F",)), ("flatten", ()), ("transpose", ()), ("transpose", (1, 0)), ("transpose", ((0, 1),)), ("swapaxes", (0, 1)),
    ("squeeze", ()), ("astype", ("i4",)), ("copy", ()), ("round", ()), ("round", (1,)), ("clip", (-1, 3)), ("conj", ()), ("conjugate", ()), ("diagonal", ()),
    ("diagonal", (1,)), ("trace", ()), ("trace", (1,)), ("repeat", (2,)), ("repeat", (2, 1)), ("repeat", ([1, 2], 0)), ("take", ([0, 2], 1)), ("take", ([5, 0],)),
    ("view", ("i8",)), ("view", ("f4",)), ("dot", (np.ones(3),)),
]  # fmt: skip


CALLS += [("compress", ([True, False, True], 1)), ("compress", ([False, True],))]


@pytest.mark.parametrize(("name", "arguments"), CALLS)
def test_methods_are_numpys(a, name, arguments):
    theirs = getattr(X, name)(*arguments)
    same(getattr(a, name)(*arguments), theirs)


def test_methods_with_names(a):
    same(a.sum(axis=1, keepdims=True), X.sum(axis=1, keepdims=True))
    same(a.var(axis=0, ddof=1), X.var(axis=0, ddof=1))
    same(a.std(correction=1, dtype="f8"), X.std(ddof=1))
    with pytest.raises(ValueError, match="ddof"):
        a.var(ddof=1, correction=1)
    into = sw.empty(3)
    assert a.sum(axis=0, out=into) is into and a.sum(0, None, into) is into
    same(a.argmax(axis=1, keepdims=True), X.argmax(axis=1, keepdims=True))
    same(a.clip(max=1), X.clip(max=1))
    same(a.reshape(3, 2, order="F"), X.reshape(3, 2, order="F"))
    same(a.T.reshape(6, order="A"), X.T.reshape(6, order="A"))
    same(sw.asarray([1.0, 3.0]).searchsorted(2.0), np.asarray(1))
    for ours, theirs in zip(a.nonzero(), X.nonzero()):
        same(ours, theirs)
    assert a.flatten()._pointer != a._pointer == a.ravel()._pointer
    assert a.astype("f8", copy=False) is a
    with pytest.raises(TypeError, match="casting"):
        a.astype("i4", casting="safe")


def test_a_method_is_the_function(a):
    assert sw.usm_ndarray.sum is sw.sum and a.sum.__doc__ == sw.sum.__doc__ and a.mean.__self__ is a
    # Of an array that is read-only, nothing is written.
    a.flags.writable = False
    for write in (lambda: a.fill(0), lambda: a.sort()):
        with pytest.raises(ValueError):
            write()


def test_fill_and_sort_are_in_place(a):
    theirs = X.copy()
    for x in (a, theirs):
        assert x.sort() is None
        x[:, :1].fill(9)
        x.sort(axis=0, kind="stable")
    same(a, theirs)


def test_item(a):
    assert a.item(1) == -1.5 and a.item(1, 2) == -2 and a.item((0, 0)) == 3 and a[0, :1].item() == 3.0
    assert type(sw.asarray([[7]]).item()) is int and type(sw.asarray(True).item()) is bool
    with pytest.raises(ValueError):
        a.item()
    with pytest.raises(IndexError):
        a.item(6)


@pytest.mark.parametrize("dtype", DTYPES)
def test_tobytes(dtype, kind):
    theirs = np.arange(6).reshape(2, 3).astype(dtype)
    ours = sw.asarray(theirs, usm_type=kind)
    for x, y in ((ours, theirs), (ours.T, theirs.T), (ours[:, ::2], theirs[:, ::2])):
        for order in "CFA":
            assert x.tobytes(order) == y.tobytes(order)
    assert ours.tobytes() == theirs.tobytes()


def test_view_is_the_same_memory(a):
    bits = a.view("i8")
    bits[0, 0] = 0
    assert a[0, 0] == 0 and bits.sycl_queue == a.sycl_queue
    assert a.view()._pointer == a._pointer
    same(a[1:].view("u1"), np.where(X == 3, 0, X)[1:].view("u1"))
    a.flags.writable = False
    assert not a.view("i8").flags.writable
    for wrong in (lambda: a.T.view("f4"), lambda: sw.ones(3, dtype="f4").view("f8"), lambda: sw.asarray(1.0).view("f4")):
        with pytest.raises(ValueError):
            wrong()


def test_flat(a):
    theirs = X.copy()
    assert [float(x) for x in a.flat] == list(theirs.flat) and len(a.flat) == 6 and a.flat[4] == theirs.flat[4]
    for x in (a, theirs):
        x.flat[1:3] = 8
        x.T.flat[3] = 5
        x[:, 1:].flat = [1, 2]
    same(a, theirs)
    same(sw.asarray(np.asarray(a.flat)), theirs.ravel())


def test_attributes(a):
    assert a.base is not None and a.base._pointer <= a._pointer
    assert a.ctypes.data == a._pointer and list(a.ctypes.shape) == [2, 3]
    with pytest.raises(BufferError):
        sw.ones(3, usm_type="device").ctypes
    assert sys.getsizeof(sw.zeros(1000)) >= 8000
    html = (sw.asarray([1.5, 2.5]) * 2)._repr_html_()
    assert "float64" in html and "(2,)" in html and "3." in html and "<pre>" in html
    assert "<" not in sw.ones(2)._repr_html_().replace("<div><small>", "").replace("</small><pre>", "").replace("</pre></div>", "")


def test_round_and_reversed(a):
    assert round(sw.asarray(2.5)) == 2 and type(round(sw.asarray(2.5))) is int
    assert round(a, 1).tolist() == X.round(1).tolist() and round(a).tolist() == X.round().tolist()
    assert [row.tolist() for row in reversed(a)] == X[::-1].tolist()
    for decimals in (0, 1, -1):
        same(sw.around(sw.asarray([15, 25, -7]), decimals), np.around(np.asarray([15, 25, -7]), decimals))


def test_names(a):
    rng = np.random.default_rng(0)
    x, y = rng.random((4, 3)), rng.random((4, 3))
    p, q = sw.asarray(x.tolist()), sw.asarray(y.tolist())
    for name in ("transpose", "ravel", "cumsum", "cumprod", "absolute", "amax", "amin", "arcsin", "arctan", "conjugate", "degrees", "flatnonzero",
                 "argwhere", "ptp", "trace", "diag", "diagonal", "atleast_3d", "fliplr", "flipud", "rint", "fix", "unique", "ndim", "size", "shape"):  # fmt: skip
        ours, theirs = getattr(sw, name)(p), getattr(np, name)(x)
        np.testing.assert_allclose(sw.asnumpy(ours) if isinstance(ours, sw.usm_ndarray) else ours, theirs, rtol=1e-14)
    for name in ("concatenate", "vstack", "hstack", "dstack", "column_stack"):
        same(getattr(sw, name)([p, q]), getattr(np, name)([x, y]))
        same(getattr(sw, name)([p[0], q[0]]), getattr(np, name)([x[0], y[0]]))
    for name in ("power", "arctan2", "mod", "true_divide", "append", "inner", "outer", "vdot"):
        np.testing.assert_allclose(sw.asnumpy(getattr(sw, name)(p, q)), getattr(np, name)(x, y), rtol=1e-14)
    for shapes in (((), ()), ((3,), (3,)), ((4, 3), (3,)), ((4, 3), (3, 4)), ((2, 4, 3), (2, 3, 2)), ((), (3,))):
        x, y = rng.random(shapes[0]), rng.random(shapes[1])
        np.testing.assert_allclose(sw.asnumpy(sw.dot(sw.asarray(x), sw.asarray(y))), np.dot(x, y), rtol=1e-14)
    for sections in (2, [1, 3]):
        for ours, theirs in zip(sw.split(p, sections), np.split(np.asarray(p), sections), strict=True):
            same(ours, theirs)
    assert [part.shape for part in sw.array_split(p, 3)] == [(2, 3), (1, 3), (1, 3)]
    with pytest.raises(ValueError, match="array_split"):
        sw.split(p, 3)
    ours, theirs = sw.unique(sw.asarray([2, 1, 2]), return_inverse=True, return_counts=True), ([1, 2], [1, 0, 1], [1, 2])
    assert [part.tolist() for part in ours] == list(theirs)
    assert sw.array([1, 2], ndmin=3).shape == (1, 1, 2) and sw.array(p)._pointer != p._pointer == sw.array(p, copy=False)._pointer
    assert sw.rollaxis(sw.zeros((2, 3, 4)), 2).shape == (4, 2, 3) and sw.rollaxis(sw.zeros((2, 3, 4)), 0, 3).shape == (3, 4, 2)
    assert sw.array_equal(p, p) and not sw.array_equal(p, q) and not sw.array_equal(p, p[0])
    assert sw.array_equal(sw.asarray([sw.nan]), sw.asarray([sw.nan]), equal_nan=True)
    same(sw.diag(sw.asarray([1, 2]), k=-1), np.diag([1, 2], k=-1))
    assert sw.iscomplexobj(sw.asarray(1j)) and sw.isrealobj(p) and sw.asfortranarray(p).flags.f_contiguous


def test_dtype_is_named_first():
    assert sw.zeros(3, "i4").dtype == sw.int32 and sw.arange(3, None, 1, "f4").dtype == sw.float32
    assert sw.asarray([1, 2], "f4").dtype == sw.float32 and sw.zeros_like(sw.ones(2), "i2").dtype == sw.int16
    assert sw.mean(sw.ones(3, dtype="i4"), dtype="f4").dtype == sw.float32


@pytest.mark.parametrize("dtype", DTYPES)
def test_attributes_of_dtypes(dtype):
    ours, theirs = sw.dtype(dtype), np.dtype(dtype)
    for name in ("char", "num", "byteorder", "names", "fields", "subdtype", "isnative", "type", "kind", "itemsize", "str", "name"):
        assert getattr(ours, name) == getattr(theirs, name), name
    assert ours.newbyteorder("=") == ours and ours.newbyteorder("<" if sys.byteorder == "little" else ">") is ours
    with pytest.raises(ValueError, match="order"):
        ours.newbyteorder()
    assert pickle.loads(pickle.dumps(ours)) == ours


def test_names_of_dtypes():
    names = "? b B h H i I l L q Q e f d F D int float complex bool half single double csingle cdouble byte ubyte short ushort intc uintc"
    for name in names.split():
        assert sw.dtype(name) == np.dtype(name), name
        assert sw.zeros(1, dtype=name).dtype == np.dtype(name), name
    for wrong in ("S", "U4", "O", "M8[s]", "g", "", "integer"):
        with pytest.raises(TypeError):
            sw.dtype(wrong)
    assert sw.isdtype("f4", "real floating") and sw.isdtype(np.dtype("i2"), "integral") and not sw.isdtype(np.float32, sw.float64)


def test_view_of_bits():
    x = sw.asarray([0.0, -0.0, 1.0], dtype="float32")
    assert x.view("V4").dtype == sw.uint32 and x.view("V4").tolist() == [0, 1 << 31, 0x3F800000]
    with pytest.raises(TypeError):
        x.view("V3")


@pytest.mark.parametrize("dtype", ["bool", "i2", "u8", "f2", "f4", "f8", "c16"])
def test_tofile(tmp_path, dtype):
    theirs = np.asarray(X).astype(dtype)
    for ours, expected in ((sw.asarray(theirs), theirs), (sw.asarray(theirs).T[::-1], theirs.T[::-1])):
        ours.tofile(tmp_path / "a")
        same(sw.fromfile(tmp_path / "a", dtype=dtype), expected.ravel())
        assert (tmp_path / "a").read_bytes() == expected.tobytes()
        with open(tmp_path / "a", "ab") as file:
            ours.tofile(file)
        assert (tmp_path / "a").read_bytes() == expected.tobytes() * 2


@pytest.mark.parametrize("write", ["tofile", "dump"])
def test_a_descriptor_is_no_file(a, write):
    # It would be closed, whoever has it open.
    ends = os.pipe()
    try:
        with pytest.raises(TypeError, match="expected a path or an open file"):
            getattr(a, write)(ends[1])
        assert os.write(ends[1], b"x") == 1
    finally:
        for end in ends:
            os.close(end)


def test_tofile_as_text(tmp_path, a):
    a.tofile(tmp_path / "a", sep=", ")
    np.asarray(X).tofile(tmp_path / "b", sep=", ")
    assert (tmp_path / "a").read_text() == (tmp_path / "b").read_text()
    same(sw.fromfile(tmp_path / "a", sep=","), X.ravel())
    with open(tmp_path / "a", "w") as file:
        a.tofile(file, " ", "%.2f")
    assert (tmp_path / "a").read_text().split()[0] == "3.00"
    with pytest.raises(FileNotFoundError):
        a.tofile(tmp_path / "none" / "a")


def test_put_partition_and_choose(a):
    for places, values, mode in (([0, 5], [9, 8], "raise"), ([0, -1, 2], [1, 2], "raise"), ([7, 1], 4, "wrap"), ([9, 1], [4, 3], "clip"), ([], [], "raise")):
        ours, theirs = a.copy(), X.copy()
        ours.put(places, values, mode)
        theirs.put(places, values, mode)
        same(ours, theirs)
    with pytest.raises(IndexError):
        a.put([6], 1)
    for kth, axis in ((1, -1), (0, 0)):
        ours, theirs = a.copy(), X.copy()
        ours.partition(kth, axis)
        theirs.partition(kth, axis)
        same(sw.sort(ours, axis=axis), np.sort(theirs, axis=axis))
        same(sw.take(ours, sw.asarray([kth]), axis=axis), np.take(theirs, [kth], axis=axis))
    numbers = np.array([[0, 1, 1], [1, 0, 1]])
    same(sw.asarray(numbers).choose([a, -a]), numbers.choose([X, -X]))


def test_data_dumps_and_flags(tmp_path, a):
    assert a.data.shape == (2, 3) and a.data.tobytes() == X.tobytes()
    same(pickle.loads(a.dumps()), X)
    a.dump(tmp_path / "a")
    with open(tmp_path / "a", "rb") as file:
        same(pickle.load(file), X)
    a.setflags(write=False)
    with pytest.raises(ValueError, match="read-only"):
        a[0] = 1
    a.setflags(write=True)
    a[0] = 1


def test_arrow_without_pyarrow(a, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert len(sw.ravel(a).__arrow_c_array__()) == 2
    with pytest.raises(ValueError, match="expected one dimension"):
        a.__arrow_c_array__()


@pytest.mark.parametrize("dtype", ["bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"])
def test_arrow(dtype):
    arrow = pytest.importorskip("pyarrow")
    theirs = np.arange(7).astype(dtype)
    for kind in ("host", "shared", "device"):
        x = sw.asarray(theirs, usm_type=kind)
        assert arrow.array(x).equals(arrow.array(theirs)) and arrow.array(x[::2]).equals(arrow.array(theirs[::2]))
        assert arrow.table({"a": x}).equals(arrow.table({"a": theirs}))
        if dtype != "bool":
            # Arrow's have a bit for each, which it does not hand over itself.
            same(sw.asarray(arrow.array(x)), theirs)
    assert arrow.array(sw.asarray([1, 2]), type=arrow.float32()).type == arrow.float32()
    with pytest.raises(ValueError, match="expected one dimension"):
        arrow.array(sw.zeros((2, 2)))
    with pytest.raises(TypeError, match="which Arrow has not"):
        arrow.array(sw.zeros(2, dtype="c16"))


def test_polars():
    polars = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    x = sw.arange(5.0)
    assert polars.Series("a", x).to_list() == x.tolist()
    assert polars.DataFrame({"a": x, "b": x > 2})["b"].to_list() == [False] * 3 + [True] * 2
    same(sw.asarray(polars.Series([1.0, 2.0])), np.asarray([1.0, 2.0]))
