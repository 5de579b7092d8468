"""Types of the module `stridewise.linalg`."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple, overload

from . import usm_ndarray
from ._solvers import (
    block_diag as block_diag,
    cho_factor as cho_factor,
    cho_solve as cho_solve,
    circulant as circulant,
    hankel as hankel,
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
    "block_diag", "cho_factor", "cho_solve", "circulant", "hankel", "lu_factor", "lu_solve", "null_space", "orth",
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

def cholesky(x: usm_ndarray, /, *, upper: bool = False) -> usm_ndarray: ...
def cond(x: usm_ndarray, /, p: float | str | None = None) -> usm_ndarray: ...
def cross(x1: usm_ndarray, x2: usm_ndarray, /, *, axis: int = -1) -> usm_ndarray: ...
def det(x: usm_ndarray, /) -> usm_ndarray: ...
def diagonal(x: usm_ndarray, /, *, offset: int = 0) -> usm_ndarray: ...
def eig(x: usm_ndarray, /) -> EigResult: ...
def eigh(x: usm_ndarray, /, UPLO: str = "L") -> EighResult: ...
def eigvals(x: usm_ndarray, /) -> usm_ndarray: ...
def eigvalsh(x: usm_ndarray, /, UPLO: str = "L") -> usm_ndarray: ...
def expm(x: usm_ndarray, /) -> usm_ndarray: ...
def inv(x: usm_ndarray, /) -> usm_ndarray: ...
def kron(x1: usm_ndarray, x2: usm_ndarray, /) -> usm_ndarray: ...
def lstsq(
    x1: usm_ndarray,
    x2: usm_ndarray,
    /,
    rcond: float | usm_ndarray | None = None,
    *,
    rtol: float | usm_ndarray | None = None,
) -> LstsqResult: ...
def lu(x: usm_ndarray, /) -> LUResult: ...
def matmul(x1: usm_ndarray, x2: usm_ndarray, /, *, out: usm_ndarray | None = None) -> usm_ndarray: ...
def matrix_norm(x: usm_ndarray, /, *, keepdims: bool = False, ord: float | str | None = "fro") -> usm_ndarray: ...
def matrix_power(x: usm_ndarray, n: int, /) -> usm_ndarray: ...
def matrix_rank(
    x: usm_ndarray,
    /,
    tol: float | usm_ndarray | Sequence[float] | None = None,
    hermitian: bool = False,
    *,
    rtol: float | usm_ndarray | None = None,
) -> usm_ndarray: ...
def matrix_transpose(x: usm_ndarray, /) -> usm_ndarray: ...
def multi_dot(arrays: Iterable[usm_ndarray], /) -> usm_ndarray: ...
def norm(
    x: usm_ndarray,
    /,
    ord: float | str | None = None,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
) -> usm_ndarray: ...
def outer(x1: usm_ndarray, x2: usm_ndarray, /) -> usm_ndarray: ...
def pinv(
    x: usm_ndarray,
    /,
    rcond: float | usm_ndarray | None = None,
    hermitian: bool = False,
    *,
    rtol: float | usm_ndarray | None = None,
) -> usm_ndarray: ...
def qr(x: usm_ndarray, /, *, mode: str = "reduced") -> QRResult: ...
def slogdet(x: usm_ndarray, /) -> SlogdetResult: ...
def solve(x1: usm_ndarray, x2: usm_ndarray, /) -> usm_ndarray: ...
@overload
def svd(
    x: usm_ndarray, /, full_matrices: bool = True, compute_uv: Literal[True] = True, hermitian: bool = False
) -> SVDResult: ...
@overload
def svd(
    x: usm_ndarray, /, full_matrices: bool = True, *, compute_uv: Literal[False], hermitian: bool = False
) -> usm_ndarray: ...
def svdvals(x: usm_ndarray, /) -> usm_ndarray: ...
def tensordot(x1: usm_ndarray, x2: usm_ndarray, /, *, axes: int | Sequence[Any] = 2) -> usm_ndarray: ...
def trace(x: usm_ndarray, /, *, offset: int = 0, dtype: Any | None = None) -> usm_ndarray: ...
def vecdot(x1: usm_ndarray, x2: usm_ndarray, /, *, axis: int = -1) -> usm_ndarray: ...
def vector_norm(
    x: usm_ndarray,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    ord: float = 2,
) -> usm_ndarray: ...
