"""Linear algebra: the array API's extension `linalg`, as far as products, sums and norms go.

Functions that need a decomposition (of LU, QR, Cholesky, eigenvalues or singular values) raise a NotImplementedError that
names them: NumPy's or SciPy's take `stridewise.asnumpy(x)`.
"""

import math as _math

import stridewise as _sw

from . import _linalg, matmul, matrix_transpose, tensordot, vecdot

cross = _linalg.cross
diagonal = _linalg.diagonal
outer = _linalg.outer
trace = _linalg.trace

__all__ = [
    "cholesky", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "matmul", "matrix_norm",
    "matrix_power", "matrix_rank", "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals",
    "tensordot", "trace", "vecdot", "vector_norm",
]  # fmt: skip


def _missing(name):
    return NotImplementedError(
        f"unsupported: `linalg.{name}` needs a decomposition; help: use NumPy's or SciPy's on stridewise.asnumpy(x)"
    )



def _float(x, name):
    """Norms are of floating-point arrays; others are converted to the default floating dtype of their device."""
    if not isinstance(x, _sw.usm_ndarray):
        raise TypeError(f"`x` of linalg.{name} is {type(x).__name__}; expected a usm_ndarray; help: use asarray")
    if _sw.isdtype(x.dtype, ("real floating", "complex floating")):
        return x
    info = _sw.__array_namespace_info__()
    return _sw.astype(x, info.default_dtypes(device=x.sycl_device)["real floating"])


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    """The norm of vectors along axes: (sum of |x| to the power ord) to the power 1 / ord.

    axis: an axis, a tuple of axes, or None for all elements. ord: a number; inf, the largest magnitude; -inf, the
    smallest; 0, how many elements are other than zero. Integers are converted to the default floating dtype; the result
    is real. The norm of ord 2 is computed without overflow on the way.

    Raises OutOfBoundsError for an axis out of range, ValueError where there are no elements to take the largest or smallest
    of.
    """
    x = _float(x, "vector_norm")
    if ord == 2:
        return _sw.reduce_hypot(x, axis=axis, keepdims=keepdims)
    size = _sw.abs(x)
    if ord == _math.inf:
        return _sw.max(size, axis=axis, keepdims=keepdims)
    if ord == -_math.inf:
        return _sw.min(size, axis=axis, keepdims=keepdims)
    if ord == 0:
        return _sw.astype(_sw.count_nonzero(x, axis=axis, keepdims=keepdims), size.dtype)
    if ord == 1:
        return _sw.sum(size, axis=axis, keepdims=keepdims)
    return _sw.sum(size**ord, axis=axis, keepdims=keepdims) ** (1 / ord)


def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    """The norm of the matrices of the last two dimensions.

    ord: "fro" or None, the root of the sum of the squared magnitudes; 1, the largest sum of magnitudes of a column, -1 the
    smallest; inf and -inf, of a row. 2, -2 and "nuc" need singular values and raise a NotImplementedError. Integers are
    converted to the default floating dtype; the result is real.

    Raises OutOfBoundsError with fewer than two dimensions, ValueError for another ord.
    """
    x = _float(x, "matrix_norm")
    if x.ndim < 2:
        raise _sw.OutOfBoundsError(f"axis out of range: `x` has shape {x.shape}; expected at least two dimensions")
    if ord is None or ord == "fro":
        return _sw.reduce_hypot(x, axis=(-2, -1), keepdims=keepdims)
    if ord in (2, -2, "nuc"):
        raise _missing(f"matrix_norm(ord={ord!r})")
    if ord not in (1, -1, _math.inf, -_math.inf):
        raise ValueError(f"invalid value: `ord` is {ord!r}; expected \"fro\", \"nuc\", 1, -1, 2, -2, inf or -inf")
    summed, other = (-2, -1) if ord in (1, -1) else (-1, -2)
    sums = _sw.sum(_sw.abs(x), axis=summed, keepdims=True)
    extreme = (_sw.max if ord > 0 else _sw.min)(sums, axis=other, keepdims=True)
    return extreme if keepdims else _sw.squeeze(extreme, (-2, -1))


def matrix_power(x, n, /):
    """The square matrices of the last two dimensions multiplied with themselves, n factors; for n = 0, the identity.

    Raises ValueError where they are not square, NotImplementedError for a negative n, which needs the inverse.
    """
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ValueError(f"shape mismatch: `x` has shape {x.shape}; expected square matrices as the last two dimensions")
    if n < 0:
        raise _missing(f"matrix_power(n={n})")
    if n == 0:
        identity = _sw.eye(x.shape[-1], dtype=x.dtype, sycl_queue=x.sycl_queue, usm_type=x.usm_type)
        return _sw.copy(_sw.broadcast_to(identity, x.shape), order="C")
    power = None
    while True:
        if n & 1:
            power = x if power is None else matmul(power, x)
        n >>= 1
        if n == 0:
            return _sw.copy(power) if power is x else power
        x = matmul(x, x)


def cholesky(x, /, *, upper=False):
    """Not there: raises NotImplementedError."""
    raise _missing("cholesky")


def det(x, /):
    """Not there: raises NotImplementedError."""
    raise _missing("det")


def eig(x, /):
    """Not there: raises NotImplementedError."""
    raise _missing("eig")


def eigh(x, /):
    """Not there: raises NotImplementedError."""
    raise _missing("eigh")


def eigvals(x, /):
    """Not there: raises NotImplementedError."""
    raise _missing("eigvals")


def eigvalsh(x, /):
    """Not there: raises NotImplementedError."""
    raise _missing("eigvalsh")


def inv(x, /):
    """Not there: raises NotImplementedError."""
    raise _missing("inv")


def matrix_rank(x, /, *, rtol=None):
    """Not there: raises NotImplementedError."""
    raise _missing("matrix_rank")


def pinv(x, /, *, rtol=None):
    """Not there: raises NotImplementedError."""
    raise _missing("pinv")


def qr(x, /, *, mode="reduced"):
    """Not there: raises NotImplementedError."""
    raise _missing("qr")


def slogdet(x, /):
    """Not there: raises NotImplementedError."""
    raise _missing("slogdet")


def solve(x1, x2, /):
    """Not there: raises NotImplementedError."""
    raise _missing("solve")


def svd(x, /, *, full_matrices=True):
    """Not there: raises NotImplementedError."""
    raise _missing("svd")


def svdvals(x, /):
    """Not there: raises NotImplementedError."""
    raise _missing("svdvals")
