"""Types of `_sets`: NumPy's names in the namespace."""

from builtins import bool as _bool, int as _int, str as _str
from collections.abc import Iterable, Sequence
from typing import Any

from stridewise import _Array, _DeviceLike, _Order, usm_ndarray

def argwhere(x: _Array, /) -> usm_ndarray: ...
def flatnonzero(x: _Array, /) -> usm_ndarray: ...
def intersect1d(x1: Any, x2: Any, /, assume_unique: _bool = False, return_indices: _bool = False) -> Any: ...
def ravel_multi_index(
    multi_index: Iterable[_Array | _int], dims: Sequence[_int], mode: _str = "raise", order: _Order = "C"
) -> usm_ndarray: ...
def setdiff1d(x1: _Array, x2: _Array, /, assume_unique: _bool = False) -> usm_ndarray: ...
def tril_indices(
    n: _int, k: _int = 0, m: _int | None = None, *, device: _DeviceLike | None = None
) -> tuple[usm_ndarray, ...]: ...
def triu_indices(
    n: _int, k: _int = 0, m: _int | None = None, *, device: _DeviceLike | None = None
) -> tuple[usm_ndarray, ...]: ...
def union1d(x1: _Array, x2: _Array, /) -> usm_ndarray: ...
def unique(
    x: _Array,
    /,
    return_index: _bool = False,
    return_inverse: _bool = False,
    return_counts: _bool = False,
    axis: _int | None = None,
    *,
    equal_nan: _bool = True,
    sorted: _bool = True,
) -> Any: ...
def unravel_index(
    indices: _Array | _int, shape: Sequence[_int], order: _Order = "C"
) -> tuple[usm_ndarray, ...]: ...
