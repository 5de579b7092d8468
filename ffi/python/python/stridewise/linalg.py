"""Linear algebra: the array API's extension `linalg`, and what NumPy and SciPy have beside it (cond, expm, kron, lstsq, lu).

Matrices are the last two dimensions of an array; the others make a stack of them. Decompositions are computed on the
processor, by the threads of the array's device; an array in memory of an accelerator that the processor does not reach is
refused with a NotImplementedError. float16 and bfloat16 are computed in float32, integers become the default floating dtype.

A matrix that is singular, or of which an iteration does not converge, raises a LinAlgError, which is a ValueError. All
decompositions raise it with fewer than two dimensions, too, and where matrices have to be square and are not.

>>> import stridewise as sw
>>> a = sw.asarray([[4.0, 0.0], [1.0, 2.0]])
>>> sw.linalg.solve(a, sw.asarray([4.0, 3.0])).tolist()
[1.0, 1.0]
>>> round(float(sw.linalg.det(a)), 12)
8.0
>>> q, r = sw.linalg.qr(a)
>>> bool(sw.all(sw.abs(q @ r - a) < 1e-12))
True
"""

import operator as _operator
from collections import namedtuple as _namedtuple

from . import _linalg, _native as _sw, matmul, matrix_transpose, tensordot, vecdot
from ._arguments import explained as _explained
from ._operands import _array, _arrays
from ._pickles import at_home as _at_home

LinAlgError = _linalg.LinAlgError
cross = _linalg.cross
diagonal = _linalg.diagonal
outer = _linalg.outer
trace = _linalg.trace

__all__ = [
    "EigResult", "EighResult", "LUResult", "LinAlgError", "LstsqResult", "QRResult", "SVDResult", "SlogdetResult",
    "cholesky", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "expm", "inv", "kron", "lstsq",
    "lu", "matmul", "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "multi_dot", "norm", "outer", "pinv",
    "qr", "slogdet", "solve", "svd", "svdvals", "tensordot", "trace", "vecdot", "vector_norm",
]  # fmt: skip


def _result(name, fields, text):
    result = _namedtuple(name, fields, module=__name__)
    result.__doc__ = text
    return result


EigResult = _result("EigResult", "eigenvalues eigenvectors", "Eigenvalues, and eigenvectors as columns.")
EighResult = _result("EighResult", "eigenvalues eigenvectors", "Eigenvalues, and eigenvectors as columns.")
LUResult = _result("LUResult", "P L U", "The order of rows as a matrix, a lower and an upper triangle.")
LstsqResult = _result("LstsqResult", "x residuals rank s", "Solutions, squared distances, ranks and singular values.")
QRResult = _result("QRResult", "Q R", "Orthonormal columns, and an upper triangle.")
SVDResult = _result("SVDResult", "U S Vh", "Orthonormal columns, singular values, and orthonormal rows.")
SlogdetResult = _result("SlogdetResult", "sign logabsdet", "The sign of a determinant, the logarithm of its magnitude.")


def _matrices(x, name="x", square=True):
    """Matrices: an array of two dimensions at least."""
    x = _array(x)
    if x.ndim < 2:
        raise _linalg.no_decomposition(
            f"shape mismatch: `{name}` is of shape {x.shape}; expected at least two dimensions; help: add dimensions with `expand_dims`"
        )
    if square and x.shape[-1] != x.shape[-2]:
        raise _linalg.no_decomposition(
            f"shape mismatch: `{name}` is of shape {x.shape}; expected square matrices as the last two dimensions; help: select a square part"
        )
    return x


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    """The norm of vectors along axes: (sum of |x| to the power ord) to the power 1 / ord.

    axis: an axis, a tuple of axes, or None for all elements. ord: a number; inf, the largest magnitude; -inf, the
    smallest; 0, how many elements are other than zero. Integers are converted to the default floating dtype; the result
    is real. The norm of ord 2 is computed without overflow on the way.

    Raises OutOfBoundsError for an axis out of range, ValueError where there are no elements to take the largest or smallest
    of.
    """
    if isinstance(ord, str):
        raise ValueError(f"invalid value: `ord` is {ord!r}; expected a number; help: `matrix_norm` and two axes have norms with names")
    return _linalg.vector_norm(x, ord, axis, keepdims)


def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    """The norm of the matrices of the last two dimensions.

    ord: "fro" or None, the root of the sum of the squared magnitudes; "nuc", the sum of singular values; 2, the largest
    singular value, -2 the smallest; 1, the largest sum of magnitudes of a column, -1 the smallest; inf and -inf, of a row.
    Integers are converted to the default floating dtype; the result is real.

    Raises ValueError for another ord, and where there are no elements to take the largest or smallest of.
    """
    return _linalg.matrix_norm(x, ord, keepdims)


def matrix_power(x, n, /):
    """Square matrices multiplied with themselves, n factors; for n = 0, the identity; for a negative n, the inverse.

    Raises LinAlgError for a singular matrix where n is negative.
    """
    x = _matrices(x)
    if type(n) is int and abs(n) >= 1 << 63:
        high, low = divmod(abs(n), 1 << 62)
        x = x if n > 0 else inv(x)
        return matmul(matrix_power(_linalg.matrix_power(x, 1 << 62), high), _linalg.matrix_power(x, low))
    return _linalg.matrix_power(x, n)


def cholesky(x, /, *, upper=False):
    """The lower triangle L of symmetric or Hermitian positive definite matrices x = L @ L^H; or, upper, U of x = U^H @ U.
    Only that triangle of x is read.

    Raises LinAlgError where a matrix is not positive definite.
    """
    found = _linalg.cholesky(_matrices(x), upper)
    if _sw.isdtype(found.dtype, "complex floating"):
        # The diagonal is real, which products of numbers and their conjugates need not be to the last place.
        roots = diagonal(found)
        roots[...] = _sw.real(roots)
    return found


def cond(x, /, p=None):
    """The condition number of matrices: the norm times that of the inverse, infinite for singular ones.

    p: the norm, as `ord` of `matrix_norm`; None for 2, the largest singular value over the smallest.
    """
    x = _matrices(x, square=False)
    if 0 in x.shape[-2:]:
        raise _linalg.no_decomposition(f"shape mismatch: `x` is of shape {x.shape}; expected matrices with elements; help: leave it out")
    return _linalg.cond(x, p)


def det(x, /):
    """The determinant of square matrices."""
    return _linalg.det(_matrices(x))


def eig(x, /):
    """Eigenvalues and eigenvectors of square matrices, as complex numbers: a named tuple (eigenvalues, eigenvectors), the
    latter as columns of length 1.

    Raises LinAlgError for NaN, infinities, and where the iteration does not converge.
    """
    return EigResult(*_linalg.eig(_matrices(x)))


def _lower(x, triangle):
    """Symmetric or Hermitian matrices whose lower triangle has the elements of the one that is read."""
    if not isinstance(triangle, str) or triangle.upper() not in ("L", "U"):
        raise ValueError(f"invalid value: `UPLO` is {triangle!r}; expected 'L', the lower triangle, or 'U', the upper one")
    x = _matrices(x)
    return x if triangle.upper() == "L" else _sw.conj(matrix_transpose(x))


def eigh(x, /, UPLO="L"):
    """Eigenvalues and eigenvectors of symmetric or Hermitian matrices: a named tuple (eigenvalues, eigenvectors), the former
    from the smallest on, the latter as columns. UPLO: which triangle is read, "L" the lower, "U" the upper one. Raises as `eig`, and
    ValueError for another UPLO.
    """
    return EighResult(*_linalg.eigh(_lower(x, UPLO)))


def eigvals(x, /):
    """The eigenvalues of square matrices, as complex numbers. Raises as `eig`."""
    return _linalg.eigvals(_matrices(x))


def eigvalsh(x, /, UPLO="L"):
    """The eigenvalues of symmetric or Hermitian matrices, from the smallest on. UPLO: as for `eigh`. Raises as `eigh`."""
    return _linalg.eigvalsh(_lower(x, UPLO))


def expm(x, /):
    """The exponential of square matrices; NaN where an element is not finite."""
    return _linalg.expm(_matrices(x))


def inv(x, /):
    """The inverse of square matrices. Raises LinAlgError for a singular one."""
    return _linalg.inv(_matrices(x))


def kron(x1, x2, /):
    """The Kronecker product: every element of x1 times x2."""
    return _linalg.kron(x1, x2)


def lstsq(x1, x2, /, rcond=None, *, rtol=None):
    """The solutions of x1 @ x = x2 that come nearest, by singular values: a named tuple (x, residuals, rank, s) of the
    solutions, the squared distances for each column of x2, the ranks of x1, and its singular values. As NumPy has it, of one matrix the
    distances are in one dimension, and none where its rank is less than its columns, or where it has no more rows than columns.

    rtol, by NumPy's name rcond: as for `matrix_rank`; a negative one is the dtype's eps. Raises as `solve` and `svd`, and ValueError
    where both are given.
    """
    if rcond is not None and rtol is not None:
        raise ValueError(
            f"invalid value: `rcond` is {rcond!r} beside rtol {rtol!r}; expected one of them, as they are two names of one argument; "
            "help: leave rcond out"
        )
    x1, x2 = _arrays((x1, x2))
    x1 = _matrices(x1, "x1", square=False)
    if x2.ndim and x1.ndim == 2 and x2.ndim <= 2 and x1.shape[0] != x2.shape[0]:
        raise _linalg.no_decomposition(
            f"shape mismatch: `x2` is of shape {x2.shape}; expected {x1.shape[0]} rows, as x1 of shape {x1.shape} has; help: transpose or reshape it"
        )
    x, residuals, rank, s = _linalg.lstsq(x1, x2, rcond if rtol is None else rtol)
    if x1.ndim == 2 and x2.ndim <= 2:
        rows, columns = x1.shape
        residuals = _sw.reshape(residuals, -1)[: None if rows > columns and int(rank) == columns else 0]
    return LstsqResult(x, residuals, rank, s)


def lu(x, /):
    """A decomposition into triangles x = P @ L @ U, with the rows ordered by the size of pivots: a named tuple (P, L, U)."""
    return LUResult(*_linalg.lu(_matrices(x, square=False)))


def matrix_rank(x, /, tol=None, hermitian=False, *, rtol=None):
    """How many singular values of matrices are greater than rtol times the largest, or than tol; of a vector, whether it has an
    element other than zero.

    rtol: a number, or an array of one for each matrix; None for the greater extent times the dtype's eps. tol: a number, or an array of
    one for each matrix, beside which there is no rtol. hermitian: whether the matrices are symmetric or Hermitian, so that singular
    values are magnitudes of eigenvalues. Raises ValueError for both tol and rtol.
    """
    if tol is not None and rtol is not None:
        raise ValueError(f"invalid value: `tol` is {tol} beside `rtol`, {rtol}; expected one of them")
    x = _array(x)
    tol, rtol = (_array(part, x.sycl_queue) if isinstance(part, (list, tuple)) else part for part in (tol, rtol))
    if x.ndim < 2:
        return _sw.astype(_sw.any(_sw.not_equal(x, 0)), "int64")
    if tol is None and not hermitian:
        return _linalg.matrix_rank(x, rtol)
    values = _sw.sort(_sw.abs(_linalg.eigvalsh(x)), descending=True) if hermitian else _linalg.svdvals(x)
    if tol is None:
        rtol = max(x.shape[-2:]) * _sw.finfo(values.dtype).eps if rtol is None else rtol
        tol = values[..., :1] * (rtol[..., None] if getattr(rtol, "ndim", 0) else rtol) if values.shape[-1] else 0
    elif getattr(tol, "ndim", 0):
        tol = tol[..., None]
    return _sw.count_nonzero(values > tol, axis=-1)


def multi_dot(arrays, /, *, out=None):
    """The product of several matrices, in the order that takes the fewest multiplications; the first and the last one may be
    vectors. out: what the product is written to. Raises ValueError for less than two, and where extents differ.
    """
    arrays = list(arrays)
    count = len(arrays)
    if count < 2:
        raise ValueError(f"invalid value: `arrays` has {count}; expected two matrices at least")
    arrays = _arrays(arrays)
    for place, x in enumerate(arrays):
        if x.ndim != 2 and not (x.ndim == 1 and place in (0, count - 1)):
            raise ValueError(f"invalid value: `arrays[{place}]` has {x.ndim} dimensions; expected a matrix, or a vector at an end")
    extents = [1 if arrays[0].ndim == 1 else arrays[0].shape[0], arrays[0].shape[-1]]
    extents += [1 if x.ndim == 1 else x.shape[-1] for x in arrays[1:]]
    # What the cheapest way to multiply the matrices from i to j costs, for each j in begin[i] and for each i in end[j], the nearest one
    # first, and behind which one it divides them.
    begin, end, division = [[0] for _ in arrays], [[0] for _ in arrays], {}
    for length in range(1, count):
        for i in range(count - length):
            j, rows = i + length, extents[i] * extents[i + length + 1]
            parts = map(_operator.add, begin[i], reversed(end[j]))
            costs = list(map(_operator.add, parts, map(rows.__mul__, extents[i + 1 : j + 1])))
            least = min(costs)
            begin[i].append(least)
            end[j].append(least)
            division[i, j] = i + costs.index(least)
    # No recursion: there may be more of them than calls inside of each other.
    order, left = [], [(0, count - 1)]
    while left:
        i, j = left.pop()
        if i < j:
            order.append((i, j))
            left += [(i, division[i, j]), (division[i, j] + 1, j)]
    made = {(i, i): x for i, x in enumerate(arrays)}
    for i, j in reversed(order):
        last = j - i == count - 1
        made[i, j] = matmul(made.pop((i, division[i, j])), made.pop((division[i, j] + 1, j)), out=out if last else None)
    return made[0, count - 1]


def norm(x, /, ord=None, axis=None, keepdims=False):
    """NumPy's name for `vector_norm` and `matrix_norm`: of vectors along one axis, of matrices along two. Without an axis, of a
    vector or a matrix; of all elements where ord is None, too. Raises ValueError for another number of dimensions or axes.
    """
    x = _array(x)
    if axis is None and ord is None:
        return vector_norm(x, keepdims=keepdims)
    axes = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    match axes:
        case (one,):
            return vector_norm(x, axis=one, keepdims=keepdims, ord=2 if ord is None else ord)
        case (rows, columns):
            places = [place % x.ndim for place in (rows, columns)]
            kept = [place for place in range(x.ndim) if place not in places]
            result = matrix_norm(x.transpose(*kept, *places), ord="fro" if ord is None else ord)
            if keepdims:
                result = result[tuple(None if place in places else slice(None) for place in range(x.ndim))]
            return result
    raise ValueError(f"invalid value: `axis` is {axis} for {x.ndim} dimensions; expected one axis or two; help: name them")


def pinv(x, /, rcond=None, hermitian=False, *, rtol=None):
    """The pseudo-inverse of matrices, by singular values. rtol: as for `matrix_rank`; rcond, NumPy's older name, is the same.
    hermitian: as for `svd`. Raises as `svd`, and ValueError for both rcond and rtol."""
    if rcond is not None and rtol is not None:
        raise ValueError(f"invalid value: `rcond` is {rcond} beside `rtol`, {rtol}; expected one of them")
    x = _array(x)
    rtol = rcond if rtol is None else rtol
    rtol = _array(rtol, x.sycl_queue) if isinstance(rtol, (list, tuple)) else rtol
    if not hermitian:
        return _linalg.pinv(_matrices(x, square=False), rtol)
    u, s, vh = svd(x, hermitian=True)
    rtol = max(x.shape[-2:]) * _sw.finfo(s.dtype).eps if rtol is None else rtol
    large = s > (rtol[..., None] if getattr(rtol, "ndim", 0) else rtol) * s[..., :1]
    inverse = _sw.where(large, 1 / _sw.where(large, s, 1), 0)
    return matmul(_sw.conj(matrix_transpose(vh)), inverse[..., None] * _sw.conj(matrix_transpose(u)))


def qr(x, /, *, mode="reduced"):
    """A decomposition x = Q @ R into orthonormal columns and an upper triangle with real diagonal: a named tuple (Q, R).

    mode: "reduced", as many columns as the lesser extent; "complete", as many as rows; "r", R alone, as of "reduced"; "raw", a tuple (h, tau)
    of the reflections that Q is the product of, in LAPACK's form: each of 1 - tau * v @ v^H, whose v has a 1 at its own place, zeros
    before it and what is behind it below R in the transpose of h. Raises LinAlgError with fewer than two dimensions, ValueError for
    another mode.
    """
    if mode not in ("reduced", "complete", "r", "raw"):
        raise ValueError(f"invalid value: `mode` is {mode!r}; expected 'reduced', 'complete', 'r' or 'raw'")
    x = _matrices(x, square=False)
    if mode == "raw":
        from ._solvers import reflections

        return reflections(x)
    found = QRResult(*_linalg.qr(x, "reduced" if mode == "r" else mode))
    return found.R if mode == "r" else found


def slogdet(x, /):
    """The sign of the determinant of square matrices, and the logarithm of its magnitude: a named tuple (sign, logabsdet)."""
    return SlogdetResult(*_linalg.slogdet(_matrices(x)))


def solve(x1, x2, /):
    """The solutions of x1 @ x = x2. x2: a vector, where it has one dimension, or matrices; stacks are broadcast.

    Raises LinAlgError for a singular matrix, ValueError where shapes do not fit.
    """
    x1, x2 = _arrays((x1, x2))
    return _linalg.solve(_matrices(x1, "x1"), x2)


def svd(x, /, full_matrices=True, compute_uv=True, hermitian=False):
    """Singular values and vectors, x = U @ diag(S) @ Vh: a named tuple (U, S, Vh), S from the largest on.

    full_matrices: whether U and Vh are square; else they have as many columns and rows as there are singular values. compute_uv: False
    for S alone, as `svdvals`. hermitian: whether the matrices are symmetric or Hermitian, which eigenvalues are enough for.

    Raises LinAlgError for NaN, infinities, and where the iteration does not converge.
    """
    if hermitian:
        x = _matrices(x)
        if not compute_uv:
            return _sw.sort(_sw.abs(_linalg.eigvalsh(x)), descending=True)
        values, vectors = _linalg.eigh(x)
        order = _sw.argsort(_sw.abs(values), descending=True)
        values, vectors = _sw.take_along_axis(values, order, axis=-1), _sw.take_along_axis(vectors, order[..., None, :], axis=-1)
        turned = vectors * _sw.where(values < 0, -1, 1)[..., None, :]
        return SVDResult(vectors, _sw.abs(values), _sw.conj(matrix_transpose(turned)))
    if not compute_uv:
        return svdvals(x)
    return SVDResult(*_linalg.svd(_matrices(x, square=False), full_matrices))


def svdvals(x, /):
    """The singular values of matrices, from the largest on. Raises as `svd`."""
    return _linalg.svdvals(_matrices(x, square=False))


#: Imported when one of them is asked for.
_LATER = frozenset(
    "block_diag cho_factor cho_solve circulant hankel logm lu_factor lu_solve null_space orth "
    "solve_triangular sqrtm tensorinv tensorsolve toeplitz".split()
)
__all__ += sorted(_LATER)


def __getattr__(name):
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import _solvers

    found = globals()[name] = getattr(_solvers, name)
    return found


def __dir__():
    return sorted({*globals(), *_LATER})


_explained(globals())
_at_home(globals())
