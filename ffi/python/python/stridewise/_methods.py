"""The methods of arrays that NumPy's have: functions of the namespace, bound to the array."""

import sys
from types import MethodType as _Bound

import stridewise as _sw

from . import _names, _operands, usm_ndarray as _array
from ._arguments import explaining as _explaining

#: Functions whose first argument is the array, and whose others are those of NumPy's method.
_FUNCTIONS = (
    "all any argmax argmin argpartition argsort asnumpy clip conj conjugate cumprod cumsum diagonal dot max mean min nonzero prod ptp ravel "
    "repeat searchsorted squeeze std sum swapaxes take trace var"
)


class _Method:
    """A function as a method: built-in functions do not bind themselves."""

    __slots__ = ("function",)

    def __init__(self, function):
        self.function = function

    def __get__(self, array, owner=None):
        return self.function if array is None else _Bound(self.function, array)


def astype(self, dtype, order="K", casting="unsafe", subok=True, copy=True, device=None):
    """The elements converted to a dtype, as the function `astype` has it. casting: as for `can_cast`; a TypeError where it does
    not allow the conversion."""
    if casting != "unsafe" and not _sw.can_cast(self, dtype, casting=casting):
        raise TypeError(
            f"dtype: `dtype` is {dtype}, to which {self.dtype} is not converted with casting {casting!r}; expected one that it is, or "
            'casting="unsafe"'
        )
    return _sw.astype(self, dtype, order=order, copy=copy, device=device)


def copy(self, order="C"):
    """A copy of the array in memory of its own. order: as for the function `copy`."""
    return _sw.copy(self, order=order)


def explain(self, format="text"):
    """The passes that would compute the array, as the function `explain` has them."""
    from . import _seeing

    return _seeing._told(self, format, sys._getframe(1), False)


def analyze(self, format="text"):
    """The passes that compute the array, and what each took, as the function `analyze` has them."""
    from . import _seeing

    return _seeing._told(self, format, sys._getframe(1), True)


def fill(self, value):
    """Writes a value to all elements."""
    self[...] = value


def flatten(self, order="C"):
    """A copy of the elements in one dimension. order: as for `ravel`."""
    array, order = _names._as_it_lies(order, self)
    return _sw.reshape(array, -1, order=order, copy=True)


def item(self, *place):
    """An element as a Python number: of an array of one, or the one at a place, among all in row-major order or along each axis."""
    if place:
        place = place[0] if len(place) == 1 and isinstance(place[0], tuple) else place
        return (self[place] if len(place) > 1 or self.ndim <= 1 else self.flat[place[0]]).tolist()
    if self.size != 1:
        raise ValueError(f"shape mismatch: the array has {self.size} elements; expected one; help: name the place of one")
    return _sw.reshape(self, ()).tolist()


def reshape(self, *shape, order="C", copy=None):
    """The elements in another shape, extents or a tuple of them, as the function `reshape` has it."""
    return _sw.reshape(self, shape[0] if len(shape) == 1 else shape, order=order, copy=copy)


def round(self, decimals=0, out=None):
    """The elements rounded to so many decimals, halves to even."""
    return _names.around(self, decimals, out)


def sort(self, axis=-1, kind=None, order=None, *, stable=True):
    """Sorts the elements along an axis, in place; the function `sort` makes a copy."""
    if order is not None:
        raise ValueError(f"`order` is {order!r}; expected None, for elements have no fields")
    self[...] = _sw.sort(self, axis, kind, stable=stable)


def choose(self, choices, out=None, mode="raise"):
    """Elements of arrays by the number of each, as the function `choose` has it."""
    return _sw.choose(self, choices, out, mode)


def compress(self, condition, axis=None, out=None):
    """The elements, or slices along an axis, where a condition is true, as the function `compress` has it."""
    return _sw.compress(condition, self, axis, out)


def dump(self, file):
    """Pickles the array into a file, a path or one that is open."""
    from ._files import _write

    _write(file, dumps(self))


def dumps(self):
    """The array pickled, as bytes."""
    import pickle

    return pickle.dumps(self)


def partition(self, kth, axis=-1):
    """Moves elements, in place, so that those at `kth` are where they were if all were sorted; the function `partition` makes a copy."""
    self[...] = _sw.partition(self, kth, axis)


def put(self, indices, values, mode="raise"):
    """Writes values to places among all elements in row-major order; values are repeated as needed. mode: as for `take`."""
    indices, values = (_sw.asarray(x, sycl_queue=self.sycl_queue) for x in (indices, values))
    if not indices.size or not values.size:
        return
    if 1 != values.size != indices.size:
        values = _sw.take(_sw.reshape(values, -1), _sw.arange(indices.size, sycl_queue=values.sycl_queue), mode="wrap")
    _sw.put(self, _sw.reshape(indices, -1), _sw.reshape(values, -1), mode=mode)


def setflags(self, write=None):
    """Says whether the array may be written."""
    if write is not None:
        self.flags.writable = bool(write)


def tofile(self, file, sep="", format="%s"):
    """Writes the elements in row-major order to a file, a path or one that is open, as bytes, which `fromfile` reads; with `sep`, as
    numbers in a text that it separates, each by a format."""
    from ._files import _write

    if sep:
        _write(file, sep.join(format % number for number in _sw.reshape(self, -1).tolist()).encode())
    else:
        _write(file, self.tobytes())


def transpose(self, *axes):
    """A view with the axes in reverse order, or in another one: axes, or a tuple of them."""
    return _names.transpose(self, axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes or None)


def view(self, dtype=None):
    """The same memory as elements of another dtype; the last axis grows or shrinks where that has another size, and is contiguous
    then. Without one, a view of the array. Bytes of no type ("V4"), by which zarr compares bits, are unsigned integers of as many."""
    if dtype is None:
        return self[...]
    if isinstance(dtype, str) and dtype in ("V1", "V2", "V4", "V8"):
        dtype = f"u{dtype[1]}"
    dtype = _sw.dtype(dtype)
    have, want = self.itemsize, dtype.itemsize
    extents, strides, offset = list(self.shape), list(self.strides), self._element_offset
    if have != want:
        if not extents or strides[-1] != 1 and extents[-1] > 1 or extents[-1] * have % want:
            raise ValueError(
                f"`dtype` is {dtype}, whose elements have {want} bytes; expected {have}, or a contiguous last axis of a multiple "
                "of them; help: copy the array first"
            )
        strides = [stride * have / want for stride in strides]
        extents[-1], strides[-1], offset = extents[-1] * have // want, 1, offset * have / want
        if any(number % 1 for number in (*strides, offset)):
            raise ValueError(f"`dtype` is {dtype}, of whose {want} bytes strides and offset are no multiples; help: copy the array first")
    made = _array(
        tuple(extents), dtype=dtype, strides=tuple(map(int, strides)), buffer=self.usm_data, offset=int(offset),
        buffer_ctor_kwargs={"queue": self.sycl_queue},
    )  # fmt: skip
    if not self.flags.writable:
        made.flags.writable = False
    return made


def base(self):
    """The memory that the array views, as `usm_data`."""
    return self.usm_data


def ctypes(self):
    """The address, shape and strides for `ctypes`, as NumPy has them. Raises TypeError for memory that host code may not touch."""
    import numpy

    return numpy.asarray(memoryview(self)).ctypes


def data(self):
    """The memory of the elements as a memoryview, where host code may touch it."""
    return memoryview(self)


def _arrow(self):
    """The elements as NumPy's, for pyarrow: in place where host code may touch them."""
    from importlib import import_module

    try:
        pyarrow = import_module("pyarrow")
    except ImportError as error:
        raise ImportError(
            "Arrow's arrays are made by pyarrow, which is not installed; help: install it, or hand over stridewise.asnumpy(x)"
        ) from error
    if self.ndim != 1:
        raise ValueError(
            f"shape mismatch: the array is of shape {self.shape}; expected one dimension, as Arrow's have; help: x.reshape(-1), or a column"
        )
    if self.dtype == "bfloat16" or self.dtype.kind == "c":
        raise TypeError(
            f"dtype: the elements are {self.dtype}, which Arrow has not; expected bool, integers or floats; help: convert them by astype"
        )
    return pyarrow, _sw.asnumpy(self) if self.usm_type == "device" else memoryview(self)


def __arrow_array__(self, type=None):
    pyarrow, elements = _arrow(self)
    import numpy

    return pyarrow.array(numpy.asarray(elements), type=type)


class _Flat:
    """The elements of an array in row-major order: they can be gone through, read and written by places and slices."""

    __slots__ = ("base",)

    def __init__(self, array):
        self.base = array

    def __len__(self):
        return self.base.size

    def __iter__(self):
        return iter(_sw.reshape(self.base, -1))

    def __getitem__(self, key):
        return _sw.reshape(self.base, -1)[key]

    def __setitem__(self, key, value):
        x = self.base
        if x.flags.c_contiguous:
            _sw.reshape(x, -1, copy=False)[key] = value
            return
        changed = _sw.reshape(x, -1, copy=True)
        changed[key] = value
        x[...] = _sw.reshape(changed, x.shape)

    def __array__(self, dtype=None, copy=None):
        return _sw.reshape(self.base, -1).__array__(dtype, copy)

    def copy(self):
        """The elements in one dimension."""
        return self.base.flatten()


def _set_flat(self, value):
    value = _sw.reshape(_operands._array(value), -1)
    self[...] = _sw.reshape(value if value.size == self.size else _sw.take(value, _sw.arange(self.size), mode="wrap"), self.shape)


def flat(self):
    """The elements in row-major order, which can be gone through, read and written; what is assigned to it is repeated as needed."""
    return _Flat(self)


def __reversed__(self):
    return iter(_sw.flip(self, axis=0))


def __round__(self, ndigits=None):
    if ndigits is None and self.ndim == 0:
        return int(_sw.round(self))
    return _names.around(self, ndigits or 0)


def __sizeof__(self):
    return object.__sizeof__(self) + self.nbytes


def _repr_html_(self):
    """The array for notebooks: its dtype, shape and place, and the elements."""
    from html import escape

    about = f"{self.dtype}, shape {self.shape}, {self.usm_type} memory of {self.sycl_device}"
    return f"<div><small>{escape(about)}</small><pre>{escape(str(self))}</pre></div>"


def __array_ufunc__(self, ufunc, method, *inputs, **options):
    from ._numpy import call_ufunc

    return call_ufunc(ufunc, method, inputs, options)


def __array_function__(self, function, types, args, kwargs):
    from ._numpy import call_function

    return call_function(function, types, args, kwargs)


#: Methods whose errors are told by their arguments.
_CHECKED = (choose, compress, fill, flatten, item, partition, put, round, sort, tofile, transpose, view)

for _name in _FUNCTIONS.split():
    setattr(_array, _name, _Method(getattr(_names, _name, None) or getattr(_sw, _name)))
for _method in (
    astype, copy, fill, flatten, item, reshape, round, sort, transpose, view, __reversed__, __round__, __sizeof__, _repr_html_,
    analyze, explain, __array_ufunc__, __array_function__, __arrow_array__, choose, compress, dump, dumps, partition, put, setflags,
    tofile,
):  # fmt: skip
    setattr(_array, _method.__qualname__, _explaining(_method) if _method in _CHECKED else _method)
for _name, _attribute in {"base": property(base), "ctypes": property(ctypes), "data": property(data), "flat": property(flat, _set_flat)}.items():
    setattr(_array, _name, _attribute)
