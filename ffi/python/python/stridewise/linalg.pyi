"""Types of the module `stridewise.linalg`."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple, overload

from . import _Array, _DTypeLike, usm_ndarray
from ._solvers import (
    block_diag as block_diag,
    cho_factor as cho_factor,
    cho_solve as cho_solve,
    circulant as circulant,
    hankel as hankel,
    logm as logm,
    lu_factor as lu_factor,
    lu_solve as lu_solve,
    null_space as null_space,
    orth as orth,
    solve_triangular as solve_triangular,
    sqrtm as sqrtm,
    tensorinv as tensorinv,
    tensorsolve as tensorsolve,
    toeplitz as toeplitz,
)

__all__ = [
    "EigResult", "EighResult", "LUResult", "LinAlgError", "LstsqResult", "QRResult", "SVDResult", "SlogdetResult",
    "cholesky", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "expm", "inv", "kron", "lstsq",
    "lu", "matmul", "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "multi_dot", "norm", "outer", "pinv",
    "qr", "slogdet", "solve", "svd", "svdvals", "tensordot", "trace", "vecdot", "vector_norm",
    "block_diag", "cho_factor", "cho_solve", "circulant", "hankel", "logm", "lu_factor", "lu_solve", "null_space", "orth",
    "solve_triangular", "sqrtm", "tensorinv", "tensorsolve", "toeplitz",
]

class LinAlgError(ValueError): ...

class EigResult(NamedTuple):
    eigenvalues: usm_ndarray
    eigenvectors: usm_ndarray

class EighResult(NamedTuple):
    eigenvalues: usm_ndarray
    eigenvectors: usm_ndarray

class LUResult(NamedTuple):
    P: usm_ndarray
    L: usm_ndarray
    U: usm_ndarray

class LstsqResult(NamedTuple):
    x: usm_ndarray
    residuals: usm_ndarray
    rank: usm_ndarray
    s: usm_ndarray

class QRResult(NamedTuple):
    Q: usm_ndarray
    R: usm_ndarray

class SVDResult(NamedTuple):
    U: usm_ndarray
    S: usm_ndarray
    Vh: usm_ndarray

class SlogdetResult(NamedTuple):
    sign: usm_ndarray
    logabsdet: usm_ndarray

def cholesky(x: _Array, /, *, upper: bool = False) -> usm_ndarray: ...
def cond(x: _Array, /, p: float | str | None = None) -> usm_ndarray: ...
def cross(x1: _Array, x2: _Array, /, *, axis: int = -1) -> usm_ndarray: ...
def det(x: _Array, /) -> usm_ndarray: ...
def diagonal(x: _Array, /, *, offset: int = 0) -> usm_ndarray: ...
def eig(x: _Array, /) -> EigResult: ...
def eigh(x: _Array, /, UPLO: str = "L") -> EighResult: ...
def eigvals(x: _Array, /) -> usm_ndarray: ...
def eigvalsh(x: _Array, /, UPLO: str = "L") -> usm_ndarray: ...
def expm(x: _Array, /) -> usm_ndarray: ...
def inv(x: _Array, /) -> usm_ndarray: ...
def kron(x1: _Array, x2: _Array, /) -> usm_ndarray: ...
def lstsq(
    x1: _Array,
    x2: _Array,
    /,
    rcond: float | usm_ndarray | Sequence[float] | None = None,
    *,
    rtol: float | usm_ndarray | Sequence[float] | None = None,
) -> LstsqResult: ...
def lu(x: _Array, /) -> LUResult: ...
def matmul(x1: _Array, x2: _Array, /, *, out: usm_ndarray | None = None) -> usm_ndarray: ...
def matrix_norm(x: _Array, /, *, keepdims: bool = False, ord: float | str | None = "fro") -> usm_ndarray: ...
def matrix_power(x: _Array, n: int, /) -> usm_ndarray: ...
def matrix_rank(
    x: _Array,
    /,
    tol: float | usm_ndarray | Sequence[float] | None = None,
    hermitian: bool = False,
    *,
    rtol: float | usm_ndarray | Sequence[float] | None = None,
) -> usm_ndarray: ...
def matrix_transpose(x: _Array, /) -> usm_ndarray: ...
def multi_dot(arrays: Iterable[_Array], /, *, out: usm_ndarray | None = None) -> usm_ndarray: ...
def norm(
    x: _Array,
    /,
    ord: float | str | None = None,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
) -> usm_ndarray: ...
def outer(x1: _Array, x2: _Array, /) -> usm_ndarray: ...
def pinv(
    x: _Array,
    /,
    rcond: float | usm_ndarray | Sequence[float] | None = None,
    hermitian: bool = False,
    *,
    rtol: float | usm_ndarray | Sequence[float] | None = None,
) -> usm_ndarray: ...
@overload
def qr(x: _Array, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QRResult: ...
@overload
def qr(x: _Array, /, *, mode: Literal["r"]) -> usm_ndarray: ...
@overload
def qr(x: _Array, /, *, mode: Literal["raw"]) -> tuple[usm_ndarray, usm_ndarray]: ...
def slogdet(x: _Array, /) -> SlogdetResult: ...
def solve(x1: _Array, x2: _Array, /) -> usm_ndarray: ...
@overload
def svd(
    x: _Array, /, full_matrices: bool = True, compute_uv: Literal[True] = True, hermitian: bool = False
) -> SVDResult: ...
@overload
def svd(
    x: _Array, /, full_matrices: bool = True, *, compute_uv: Literal[False], hermitian: bool = False
) -> usm_ndarray: ...
def svdvals(x: _Array, /) -> usm_ndarray: ...
def tensordot(x1: _Array, x2: _Array, /, axes: int | Sequence[Any] = 2) -> usm_ndarray: ...
def trace(x: _Array, /, *, offset: int = 0, dtype: _DTypeLike | None = None) -> usm_ndarray: ...
def vecdot(x1: _Array, x2: _Array, /, *, axis: int = -1) -> usm_ndarray: ...
def vector_norm(
    x: _Array,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    ord: float = 2,
) -> usm_ndarray: ...
