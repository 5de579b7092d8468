"""Types of `_wider`: functions of the namespace that take what NumPy's take beside the standard."""

from builtins import bool as _bool, complex as _complex, float as _float, int as _int, str as _str
from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

from stridewise import Queue, _Array, _DeviceLike, _DTypeLike, _Order, _Target, usm_ndarray

__all__ = [
    "average",
    "bincount",
    "corrcoef",
    "cov",
    "einsum",
    "eye",
    "histogram",
    "interp",
    "isin",
    "linspace",
    "load",
    "median",
    "meshgrid",
    "nan_to_num",
    "nanmedian",
    "nanpercentile",
    "nanquantile",
    "pad",
    "percentile",
    "put_along_axis",
    "quantile",
    "save",
    "take_along_axis",
]

def average(
    x: _Array,
    /,
    axis: _int | Sequence[_int] | None = None,
    weights: _Array | Sequence[_float] | None = None,
    returned: _bool = False,
    keepdims: _bool = False,
) -> Any: ...
def bincount(x: _Array, /, weights: _Array | Sequence[_float] | None = None, minlength: _int = 0) -> usm_ndarray: ...
def corrcoef(
    x: _Array, y: _Array | None = None, rowvar: _bool = True, *, dtype: _DTypeLike | None = None
) -> usm_ndarray: ...
def cov(
    m: _Array,
    y: _Array | None = None,
    rowvar: _bool = True,
    bias: _bool = False,
    ddof: _float | None = None,
    fweights: _Array | Sequence[_int] | None = None,
    aweights: _Array | Sequence[_float] | None = None,
    *,
    dtype: _DTypeLike | None = None,
) -> usm_ndarray: ...
def einsum(
    subscripts: Any,
    /,
    *operands: Any,
    out: usm_ndarray | None = None,
    dtype: _DTypeLike | None = None,
    order: _str = "K",
    casting: _str = "safe",
    optimize: Any = False,
) -> usm_ndarray: ...
def interp(
    x: _Array,
    xp: _Array,
    fp: _Array,
    /,
    left: _complex | None = None,
    right: _complex | None = None,
    period: _float | None = None,
) -> usm_ndarray: ...
def isin(
    x1: _Array, x2: _Array, /, assume_unique: _bool = False, invert: _bool = False, *, kind: _str | None = None
) -> usm_ndarray: ...
def median(
    x: _Array,
    /,
    axis: _int | Sequence[_int] | None = None,
    out: usm_ndarray | None = None,
    keepdims: _bool = False,
    *,
    overwrite_input: _bool = False,
) -> usm_ndarray: ...
def nanmedian(
    x: _Array,
    /,
    axis: _int | Sequence[_int] | None = None,
    out: usm_ndarray | None = None,
    keepdims: _bool = False,
    *,
    overwrite_input: _bool = False,
) -> usm_ndarray: ...
def eye(
    n_rows: _int,
    n_cols: _int | None = None,
    /,
    k: _int = 0,
    dtype: _DTypeLike | None = None,
    order: _Order = "C",
    *,
    device: _DeviceLike | None = None,
    usm_type: _str | None = None,
    sycl_queue: Queue | None = None,
    queue: Queue | None = None,
) -> usm_ndarray: ...
def histogram(
    x: _Array,
    /,
    bins: _Array | _int | Sequence[_float] | _str = 10,
    range: Sequence[_float] | None = None,
    density: _bool | None = None,
    weights: _Array | Sequence[_float] | None = None,
) -> tuple[usm_ndarray, usm_ndarray]: ...
@overload
def linspace(
    start: _Array | Sequence[_complex],
    stop: _Array | Sequence[_complex],
    /,
    num: _int = 50,
    endpoint: _bool = True,
    retstep: Literal[False] = False,
    dtype: _DTypeLike | None = None,
    axis: _int = 0,
    *,
    device: _DeviceLike | None = None,
    usm_type: _str | None = None,
    sycl_queue: Queue | None = None,
    queue: Queue | None = None,
) -> usm_ndarray: ...
@overload
def linspace(
    start: _Array | Sequence[_complex],
    stop: _Array | Sequence[_complex],
    /,
    num: _int = 50,
    endpoint: _bool = True,
    *,
    retstep: Literal[True],
    dtype: _DTypeLike | None = None,
    axis: _int = 0,
    device: _DeviceLike | None = None,
    usm_type: _str | None = None,
    sycl_queue: Queue | None = None,
    queue: Queue | None = None,
) -> tuple[usm_ndarray, Any]: ...
def meshgrid(
    *arrays: _Array, indexing: _str = "xy", sparse: _bool = False, copy: _bool = False
) -> tuple[usm_ndarray, ...]: ...
def nan_to_num(
    x: _Array,
    /,
    copy: _bool = True,
    nan: _float = 0.0,
    posinf: _float | None = None,
    neginf: _float | None = None,
) -> usm_ndarray: ...
def nanpercentile(
    x: _Array,
    /,
    q: _Array | Sequence[_float],
    axis: _int | Sequence[_int] | None = None,
    out: usm_ndarray | None = None,
    *,
    method: _str = "linear",
    keepdims: _bool = False,
    weights: _Array | Sequence[_float] | None = None,
) -> usm_ndarray: ...
def nanquantile(
    x: _Array,
    /,
    q: _Array | Sequence[_float],
    axis: _int | Sequence[_int] | None = None,
    out: usm_ndarray | None = None,
    *,
    method: _str = "linear",
    keepdims: _bool = False,
    weights: _Array | Sequence[_float] | None = None,
) -> usm_ndarray: ...
def pad(
    x: _Array,
    pad_width: _int | Sequence[_int] | Sequence[Sequence[_int]] | dict[_int, _int | Sequence[_int]],
    /,
    mode: _str = "constant",
    *,
    constant_values: _complex | Sequence[_complex] | Sequence[Sequence[_complex]] = 0,
    end_values: _complex | Sequence[_complex] | Sequence[Sequence[_complex]] = 0,
    stat_length: _int | Sequence[_int] | Sequence[Sequence[_int]] | None = None,
    reflect_type: _str = "even",
) -> usm_ndarray: ...
def percentile(
    x: _Array,
    /,
    q: _Array | Sequence[_float],
    axis: _int | Sequence[_int] | None = None,
    out: usm_ndarray | None = None,
    *,
    method: _str = "linear",
    keepdims: _bool = False,
    weights: _Array | Sequence[_float] | None = None,
) -> usm_ndarray: ...
def quantile(
    x: _Array,
    /,
    q: _Array | Sequence[_float],
    axis: _int | Sequence[_int] | None = None,
    out: usm_ndarray | None = None,
    *,
    method: _str = "linear",
    keepdims: _bool = False,
    weights: _Array | Sequence[_float] | None = None,
) -> usm_ndarray: ...
def load(
    file: Any,
    mmap_mode: _str | None = None,
    *,
    device: _DeviceLike | None = None,
    usm_type: _str | None = None,
    sycl_queue: Queue | None = None,
    queue: Queue | None = None,
    progress: Callable[[_int, _int], Any] | None = None,
) -> usm_ndarray: ...
def save(file: Any, arr: usm_ndarray, *, progress: Callable[[_int, _int], Any] | None = None) -> None: ...
def put_along_axis(
    x: _Target,
    /,
    indices: _Array | Sequence[Any] | _int,
    values: _Array | Sequence[Any] | _complex,
    axis: _int | None = -1,
    *,
    mode: _str = "raise",
) -> None: ...
def take_along_axis(
    x: _Array,
    indices: _Array | Sequence[Any] | _int,
    /,
    axis: _int | None = -1,
    *,
    out: usm_ndarray | None = None,
    mode: _str = "raise",
) -> usm_ndarray: ...
