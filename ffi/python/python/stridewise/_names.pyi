"""Types of `_names`: NumPy's names in the namespace."""

from builtins import bool as _bool, complex as _complex, float as _float, int as _int, str as _str
from collections.abc import Iterable, Sequence
from typing import Any, Final

import stridewise as _sw
from stridewise import Queue, _Array, _DeviceLike, _DTypeLike, _Order, dtype as _dtype, usm_ndarray

absolute = _sw.abs
amax = _sw.max
amin = _sw.min
def angle(z: _Array, /, deg: _bool = False) -> usm_ndarray: ...
def append(x: _Array, values: Any, /, axis: _int | None = None) -> usm_ndarray: ...
arccos = _sw.acos
arccosh = _sw.acosh
arcsin = _sw.asin
arcsinh = _sw.asinh
arctan = _sw.atan
arctan2 = _sw.atan2
arctanh = _sw.atanh
def round(
    x: _Array, /, decimals: _int = 0, out: usm_ndarray | None = None, *, order: _Order = "K"
) -> usm_ndarray: ...
around = round
def array(
    obj: Any,
    /,
    dtype: _DTypeLike | None = None,
    *,
    copy: _bool | None = True,
    order: _Order = "K",
    ndmin: _int = 0,
    device: _DeviceLike | None = None,
    usm_type: _str | None = None,
    sycl_queue: Queue | None = None,
    queue: Queue | None = None,
) -> usm_ndarray: ...
def array_equal(x1: _Array, x2: _Array, /, equal_nan: _bool = False) -> _bool: ...
def array_split(x: _Array, sections: _int | Sequence[_int], /, axis: _int = 0) -> list[usm_ndarray]: ...
asanyarray = _sw.asarray
def ascontiguousarray(obj: Any, /, dtype: _DTypeLike | None = None) -> usm_ndarray: ...
def asfortranarray(obj: Any, /, dtype: _DTypeLike | None = None) -> usm_ndarray: ...
def atleast_1d(*arrays: _Array) -> Any: ...
def atleast_2d(*arrays: _Array) -> Any: ...
def atleast_3d(*arrays: _Array) -> Any: ...
bitwise_not = _sw.bitwise_invert
bool_: Final[_dtype]
def column_stack(arrays: Iterable[_Array], /) -> usm_ndarray: ...
conjugate = _sw.conj
def cross(
    x1: _Array,
    x2: _Array,
    /,
    axisa: _int = -1,
    axisb: _int = -1,
    axisc: _int = -1,
    axis: _int | None = None,
) -> usm_ndarray: ...
def cumprod(
    x: _Array, /, axis: _int | None = None, dtype: _DTypeLike | None = None, out: usm_ndarray | None = None
) -> usm_ndarray: ...
def cumsum(
    x: _Array, /, axis: _int | None = None, dtype: _DTypeLike | None = None, out: usm_ndarray | None = None
) -> usm_ndarray: ...
degrees = _sw.rad2deg
def diag(x: _Array, /, k: _int = 0) -> usm_ndarray: ...
def diagonal(x: _Array, /, offset: _int = 0, axis1: _int = 0, axis2: _int = 1) -> usm_ndarray: ...
def dot(x1: _Array, x2: _Array, /, out: usm_ndarray | None = None) -> usm_ndarray: ...
def dstack(arrays: Iterable[_Array], /) -> usm_ndarray: ...
def fabs(x: _Array, /, out: usm_ndarray | None = None, *, order: _Order = "K") -> usm_ndarray: ...
fix = _sw.trunc
def fliplr(x: _Array, /) -> usm_ndarray: ...
def flipud(x: _Array, /) -> usm_ndarray: ...
def fmax(x1: _Array, x2: _Array, /) -> usm_ndarray: ...
def fmin(x1: _Array, x2: _Array, /) -> usm_ndarray: ...
def geomspace(
    start: _Array | Sequence[_complex] | _complex,
    stop: _Array | Sequence[_complex] | _complex,
    num: _int = 50,
    endpoint: _bool = True,
    dtype: _DTypeLike | None = None,
    axis: _int = 0,
    *,
    device: _DeviceLike | None = None,
    usm_type: _str | None = None,
    sycl_queue: Queue | None = None,
    queue: Queue | None = None,
) -> usm_ndarray: ...
def heaviside(x1: _Array, x2: _Array, /) -> usm_ndarray: ...
def concatenate(
    arrays: Iterable[_Array],
    /,
    axis: _int | None = 0,
    out: usm_ndarray | None = None,
    *,
    dtype: _DTypeLike | None = None,
    casting: _str = "same_kind",
) -> usm_ndarray: ...
def stack(
    arrays: Iterable[_Array],
    /,
    axis: _int = 0,
    out: usm_ndarray | None = None,
    *,
    dtype: _DTypeLike | None = None,
    casting: _str = "same_kind",
) -> usm_ndarray: ...
def hstack(arrays: Iterable[_Array], /, *, dtype: _DTypeLike | None = None, casting: _str = "same_kind") -> usm_ndarray: ...
def identity(
    n: _int,
    /,
    dtype: _DTypeLike | None = None,
    *,
    device: _DeviceLike | None = None,
    usm_type: _str | None = None,
    sycl_queue: Queue | None = None,
    queue: Queue | None = None,
) -> usm_ndarray: ...
def inner(x1: _Array, x2: _Array, /) -> usm_ndarray: ...
invert = _sw.bitwise_invert
def iscomplexobj(x: Any, /) -> _bool: ...
def isrealobj(x: Any, /) -> _bool: ...
def kron(x1: _Array, x2: _Array, /) -> usm_ndarray: ...
left_shift = _sw.bitwise_left_shift
mod = _sw.remainder
def logspace(
    start: _Array | Sequence[_complex] | _complex,
    stop: _Array | Sequence[_complex] | _complex,
    num: _int = 50,
    endpoint: _bool = True,
    base: _Array | _float = 10.0,
    dtype: _DTypeLike | None = None,
    axis: _int = 0,
    *,
    device: _DeviceLike | None = None,
    usm_type: _str | None = None,
    sycl_queue: Queue | None = None,
    queue: Queue | None = None,
) -> usm_ndarray: ...
def nanargmax(
    x: _Array, /, axis: _int | None = None, out: usm_ndarray | None = None, keepdims: _bool = False
) -> usm_ndarray: ...
def nanargmin(
    x: _Array, /, axis: _int | None = None, out: usm_ndarray | None = None, keepdims: _bool = False
) -> usm_ndarray: ...
def nancumprod(
    x: _Array, /, axis: _int | None = None, dtype: _DTypeLike | None = None, out: usm_ndarray | None = None
) -> usm_ndarray: ...
def nancumsum(
    x: _Array, /, axis: _int | None = None, dtype: _DTypeLike | None = None, out: usm_ndarray | None = None
) -> usm_ndarray: ...
def ndim(x: Any, /) -> _int: ...
def outer(x1: _Array, x2: _Array, /) -> usm_ndarray: ...
def piecewise(
    x: _Array, condlist: Any, funclist: Sequence[Any], /, *args: Any, **kw: Any
) -> usm_ndarray: ...
power = _sw.pow
def polyfit(
    x: _Array | Sequence[_complex],
    y: _Array | Sequence[Any],
    deg: _int,
    rcond: _float | None = None,
    full: _bool = False,
    w: _Array | Sequence[_float] | None = None,
    cov: _bool | _str = False,
) -> Any: ...
def ptp(
    x: _Array,
    /,
    axis: _int | Sequence[_int] | None = None,
    out: usm_ndarray | None = None,
    keepdims: _bool = False,
) -> usm_ndarray: ...
radians = _sw.deg2rad
def ravel(x: _Array, /, order: _Order = "C") -> usm_ndarray: ...
right_shift = _sw.bitwise_right_shift
def rint(x: _Array, /, *, out: usm_ndarray | None = None, order: _Order = "K") -> usm_ndarray: ...
def rollaxis(x: _Array, axis: _int, /, start: _int = 0) -> usm_ndarray: ...
def rot90(x: _Array, /, k: _int = 1, axes: tuple[_int, _int] = (0, 1)) -> usm_ndarray: ...
def select(
    condlist: Sequence[_Array], choicelist: Sequence[_Array], /, default: _Array = 0
) -> usm_ndarray: ...
def shape(x: Any, /) -> tuple[_int, ...]: ...
def size(x: Any, /, axis: _int | None = None) -> _int: ...
def split(x: _Array, sections: _int | Sequence[_int], /, axis: _int = 0) -> list[usm_ndarray]: ...
def trace(
    x: _Array,
    /,
    offset: _int = 0,
    axis1: _int = 0,
    axis2: _int = 1,
    dtype: _DTypeLike | None = None,
    out: usm_ndarray | None = None,
) -> usm_ndarray: ...
def transpose(x: _Array, /, axes: Sequence[_int] | None = None) -> usm_ndarray: ...
def trapezoid(y: _Array, /, x: _Array | None = None, dx: _float = 1.0, axis: _int = -1) -> usm_ndarray: ...
true_divide = _sw.divide
def vdot(x1: _Array, x2: _Array, /) -> usm_ndarray: ...
def vstack(arrays: Iterable[_Array], /, *, dtype: _DTypeLike | None = None, casting: _str = "same_kind") -> usm_ndarray: ...
