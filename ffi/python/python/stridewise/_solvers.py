"""What NumPy's and SciPy's `linalg` have beside decompositions: triangular systems, factors that are kept, matrices of a form, spaces.

Imported when one of its names is asked for.
"""

import math as _math

import stridewise as _sw

from ._arguments import explained as _explained
from ._operands import _array, _arrays, _inexact, _queue
from .linalg import _matrices

__all__ = [
    "block_diag", "cho_factor", "cho_solve", "circulant", "hankel", "logm", "lu_factor", "lu_solve", "null_space", "orth", "solve_triangular", "sqrtm",
    "tensorinv", "tensorsolve", "toeplitz",
]  # fmt: skip


def reflections(x):
    """`qr` in LAPACK's form: the reflections as rows, each with its column of R, and their factors."""
    x = _inexact(x)
    kind, rows = x.dtype, x.shape[-2]
    h = _sw.copy(_sw.astype(x, "float32", copy=False) if x.itemsize == 2 else x, order="C")
    factors = []
    for k in range(min(x.shape[-2:])):
        column = h[..., k:, k]
        first, rest = column[..., :1], _sw.linalg.vector_norm(column[..., 1:], axis=-1, keepdims=True)
        # A column that is in the triangle already stays.
        still = (rest == 0) & (_sw.imag(first) == 0)
        turned = _sw.where(still, first, _sw.astype(_sw.copysign(_sw.hypot(_sw.abs(first), rest), -_sw.real(first)), h.dtype))
        factor = _sw.where(still, 0, (turned - first) / _sw.where(still, 1, turned))
        vector = column / _sw.where(still, 1, first - turned)
        vector[..., 0] = 1
        others = h[..., k:, k + 1 :]
        product = _sw.matmul(_sw.conj(vector)[..., None, :], others)
        others -= (_sw.conj(factor) * vector)[..., None] * product
        h[..., k, k] = turned[..., 0]
        if k + 1 < rows:
            h[..., k + 1 :, k] = vector[..., 1:]
        factors.append(_sw.astype(factor, kind, copy=False))
    empty = _sw.zeros((*x.shape[:-2], 0), dtype=kind, sycl_queue=x.sycl_queue)
    return _sw.matrix_transpose(_sw.astype(h, kind, copy=False)), _sw.concat([empty, *factors], axis=-1)


def _transposed(x, trans):
    if trans in (0, "N"):
        return x
    if trans in (1, "T"):
        return _sw.matrix_transpose(x)
    if trans in (2, "C"):
        return _sw.conj(_sw.matrix_transpose(x))
    raise ValueError(f"invalid value: `trans` is {trans!r}; expected 0 or 'N', 1 or 'T', 2 or 'C'")


def solve_triangular(a, b, /, trans=0, lower=False, unit_diagonal=False):
    """The solutions of a @ x = b, of which only a triangle of a is read. trans: whether a is taken as it is (0), transposed (1), or transposed
    and conjugated (2). unit_diagonal: whether ones are on the diagonal, which is not read then. Raises LinAlgError for a singular matrix."""
    a, b = _arrays((a, b))
    a = _matrices(a, "a")
    a = _sw.tril(a) if lower else _sw.triu(a)
    if unit_diagonal:
        one = _sw.eye(a.shape[-1], dtype=a.dtype, sycl_queue=a.sycl_queue)
        a = a * (1 - one) + one
    return _sw.linalg.solve(_transposed(a, trans), b)


def cho_factor(a, /, lower=False):
    """A triangle of positive definite matrices for `cho_solve`: (factor, whether it is the lower one)."""
    return _sw.linalg.cholesky(_array(a), upper=not lower), bool(lower)


def cho_solve(c_and_lower, b):
    """The solutions of a @ x = b, of what `cho_factor` has made of a."""
    factor, lower = c_and_lower
    factor = _array(factor, _queue([b]))
    first = solve_triangular(factor, b, trans=0 if lower else 2, lower=lower)
    return solve_triangular(factor, first, trans=2 if lower else 0, lower=lower)


def lu_factor(a, /):
    """The triangles of a square matrix in one, the ones on the lower one's diagonal left out, and which row each was exchanged with:
    (lu, places), for `lu_solve`."""
    a = _matrices(a, "a")
    if a.ndim != 2:
        raise ValueError(f"invalid value: `a` has {a.ndim} dimensions; expected a matrix")
    p, l, u = _sw.linalg.lu(a)
    # The row that is in each place, and from it the exchanges one after another.
    rows, places = _sw.argmax(_sw.real(p), axis=0).tolist(), []
    now = list(range(len(rows)))
    for place, row in enumerate(rows):
        there = now.index(row)
        places.append(there)
        now[place], now[there] = now[there], now[place]
    one = _sw.eye(a.shape[-1], dtype=l.dtype, sycl_queue=l.sycl_queue)
    return l - one + u, _sw.asarray(places, dtype="int32", sycl_queue=a.sycl_queue)


def lu_solve(lu_and_piv, b, trans=0):
    """The solutions of a @ x = b, of what `lu_factor` has made of a. trans: as for `solve_triangular`."""
    lu, places = lu_and_piv
    lu, places = _array(lu, _queue((places, b))), _array(places)
    b = _array(b, lu.sycl_queue)
    order = list(range(lu.shape[-1]))
    for place, there in enumerate(places.tolist()):
        order[place], order[there] = order[there], order[place]
    order = _sw.asarray(order, dtype="int64", sycl_queue=lu.sycl_queue)
    if trans in (0, "N"):
        first = solve_triangular(lu, _sw.take(b, order, axis=0), lower=True, unit_diagonal=True)
        return solve_triangular(lu, first)
    found = solve_triangular(lu, solve_triangular(lu, b, trans=trans), trans=trans, lower=True, unit_diagonal=True)
    return _sw.take(found, _sw.argsort(order), axis=0)


def block_diag(*arrays):
    """A matrix with others on its diagonal, and zeros elsewhere; vectors are a row."""
    blocks = [_sw.atleast_2d(x) for x in _arrays(arrays)] or [_sw.zeros((1, 0))]
    if any(x.ndim != 2 for x in blocks):
        raise ValueError("invalid value: an array has more than two dimensions; expected matrices and vectors")
    made = _sw.zeros(
        (sum(x.shape[0] for x in blocks), sum(x.shape[1] for x in blocks)), dtype=_sw.result_type(*blocks), sycl_queue=blocks[0].sycl_queue
    )
    row = column = 0
    for x in blocks:
        made[row : row + x.shape[0], column : column + x.shape[1]] = x
        row, column = row + x.shape[0], column + x.shape[1]
    return made


def _numbers(x, queue=None):
    return _sw.reshape(_array(x, queue), -1)


def toeplitz(c, r=None):
    """The matrix whose diagonals each have one number: those of c down the first column, those of r after the first along the first row;
    None: the conjugates of c."""
    c = _numbers(c)
    r = _sw.conj(c) if r is None else _numbers(r, c.sycl_queue)
    along = _sw.concat([_sw.flip(c), r[1:]])
    places = _sw.arange(c.size - 1, -1, -1, sycl_queue=c.sycl_queue)[:, None] + _sw.arange(r.size, sycl_queue=c.sycl_queue)
    return along[places]


def hankel(c, r=None):
    """The matrix whose anti-diagonals each have one number: those of c down the first column, those of r after the first along the last row;
    None: zeros."""
    c = _numbers(c)
    r = _sw.zeros_like(c) if r is None else _numbers(r, c.sycl_queue)
    along = _sw.concat([c, r[1:]])
    return along[_sw.arange(c.size, sycl_queue=c.sycl_queue)[:, None] + _sw.arange(r.size, sycl_queue=c.sycl_queue)]


def circulant(c, /):
    """The square matrix whose first column is c, and each other one the one before moved down by one."""
    c = _numbers(c)
    places = _sw.arange(c.size, sycl_queue=c.sycl_queue)
    return c[(places[:, None] - places) % max(c.size, 1)]


def _singular(x, rcond, full_matrices):
    x = _array(x)
    u, s, vh = _sw.linalg.svd(x, full_matrices=full_matrices)
    rcond = _sw.finfo(s.dtype).eps * max(x.shape) if rcond is None else rcond
    largest = _sw.max(s).tolist() if s.size else 0
    return u, int(_sw.count_nonzero(s > largest * rcond)), vh


def orth(x, /, rcond=None):
    """Orthonormal columns of the space that a matrix maps to. rcond: the part of the largest singular value up to which others are zero;
    None for the greater extent times eps."""
    u, rank, _ = _singular(x, rcond, full_matrices=False)
    return u[:, :rank]


def null_space(x, /, rcond=None):
    """Orthonormal columns of the space that a matrix maps to zero. rcond: as for `orth`."""
    _, rank, vh = _singular(x, rcond, full_matrices=True)
    return _sw.conj(_sw.matrix_transpose(vh[rank:, :]))


def tensorinv(x, /, ind=2):
    """The inverse of an array as `tensordot` has it, of the first `ind` axes with the others."""
    x = _array(x)
    if ind <= 0:
        raise ValueError(f"invalid value: `ind` is {ind}; expected 1 or more")
    first, rest = x.shape[:ind], x.shape[ind:]
    found = _sw.linalg.inv(_matrices(_sw.reshape(x, (_math.prod(first), _math.prod(rest)))))
    return _sw.reshape(found, rest + first)


def tensorsolve(a, b, /, axes=None):
    """The array x of tensordot(a, x, x.ndim) = b. axes: those of a that are put behind the others first. Raises LinAlgError where
    a has not as many elements as unknowns squared."""
    a, b = _arrays((a, b))
    if axes is not None:
        moved = [axis % a.ndim for axis in axes]
        a = _sw.permute_dims(a, (*(axis for axis in range(a.ndim) if axis not in moved), *moved))
    shape = a.shape[b.ndim :]
    if _math.prod(shape) ** 2 != a.size:
        raise _sw._linalg.no_decomposition(f"shape mismatch: `a` is of shape {a.shape} and `b` of {b.shape}; expected as many elements as unknowns squared")
    count = _math.prod(shape)
    return _sw.reshape(_sw.linalg.solve(_sw.reshape(a, (count, count)), _sw.reshape(b, -1)), shape)


def sqrtm(x, /):
    """The principal square root of square matrices: of Hermitian ones by their eigenvalues, of others by the product form of the iteration of
    Denman and Beavers, which converges where no eigenvalue is negative or zero. Raises LinAlgError where it does not."""
    x = _matrices(x)
    x = _inexact(x)
    if bool(_sw.all(x == _sw.conj(_sw.matrix_transpose(x)))):
        values, vectors = _sw.linalg.eigh(x)
        if bool(_sw.any(values < 0)):
            values = _sw.astype(values, "complex64" if values.itemsize == 4 else "complex128")
            vectors = _sw.astype(vectors, values.dtype)
        return _sw.matmul(vectors * _sw.sqrt(values)[..., None, :], _sw.conj(_sw.matrix_transpose(vectors)))
    values = _sw.linalg.eigvals(x)
    if bool(_sw.any((_sw.real(values) <= 0) & (_sw.abs(_sw.imag(values)) <= _sw.abs(_sw.real(values)) * 1e-12))):
        # The root is complex: of a matrix turned by less than half a right angle, no eigenvalue is negative.
        turn = complex(_math.cos(1.0), _math.sin(1.0))
        wide = _sw.astype(x, "complex64" if x.dtype in (_sw.float32, _sw.complex64) else "complex128")
        return _denman(wide / turn) * complex(_math.cos(0.5), _math.sin(0.5))
    return _denman(x)


#: Places of the quadrature that gives a logarithm near the identity: with so many, the error is below that of rounding.
_NODES = 8


def logm(x, /):
    """The principal logarithm of square matrices: of Hermitian ones by their eigenvalues; of others by square roots until they are near the
    identity, and there by Gauss's quadrature of an integral; where an eigenvalue is negative, by eigenvectors. Complex where an eigenvalue is
    negative. Raises LinAlgError where one is zero, or where there are not as many eigenvectors as such a matrix needs."""
    x = _inexact(_matrices(x))
    x = _sw.astype(x, "float32") if x.itemsize == 2 else x
    if not x.size:
        return x
    if bool(_sw.all(x == _sw.conj(_sw.matrix_transpose(x)))):
        values, vectors = _sw.linalg.eigh(x)
        inverse = _sw.conj(_sw.matrix_transpose(vectors))
    else:
        values, vectors = _sw.linalg.eig(x)
        inverse = None
    scale = _sw.max(_sw.abs(values), axis=-1, keepdims=True)
    if bool(_sw.any(_sw.abs(values) <= scale * _sw.finfo(x.dtype).eps)):
        raise _sw._linalg.no_decomposition("decomposition: `x` is a matrix with an eigenvalue of zero; expected an invertible one, as others have no logarithm")
    below = _sw.any((_sw.real(values) < 0) & (_sw.abs(_sw.imag(values)) <= _sw.abs(_sw.real(values)) * 1e-12))
    if inverse is None and not bool(below):
        return _by_roots(x)
    if bool(below) and not _sw.isdtype(values.dtype, "complex floating"):
        values = _sw.astype(values, "complex64" if values.itemsize == 4 else "complex128")
        vectors = _sw.astype(vectors, values.dtype)
    if inverse is None:
        inverse = _sw.linalg.inv(vectors)
        again = _sw.matmul(vectors * values[..., None, :], inverse)
        if not bool(_sw.all(_sw.abs(again - x) <= scale[..., None] * _sw.finfo(x.dtype).eps ** 0.5)):
            raise _sw._linalg.no_decomposition("decomposition: `x` is a matrix with a negative eigenvalue and too few eigenvectors; expected one that can be diagonalised")
    return _sw.matmul(vectors * _sw.log(values)[..., None, :], inverse)


def _by_roots(x):
    """The logarithm of matrices without an eigenvalue that is zero or negative."""
    one = _sw.eye(x.shape[-1], dtype=x.dtype, sycl_queue=x.sycl_queue)
    roots = 0
    while _sw.max(_sw.sum(_sw.abs(x - one), axis=-1)).tolist() > 0.25:
        x, roots = _denman(x), roots + 1
    # Gauss's places and weights on [0, 1]: eigenvalues and eigenvectors of the recurrence of Legendre's polynomials.
    steps = [k / _math.sqrt(4 * k * k - 1) for k in range(1, _NODES)]
    matrix = [[steps[min(row, column)] if abs(row - column) == 1 else 0.0 for column in range(_NODES)] for row in range(_NODES)]
    places, vectors = _sw.linalg.eigh(_sw.asarray(matrix))
    rest, found = x - one, _sw.zeros_like(x)
    for place, weight in zip(places.tolist(), vectors[0].tolist()):
        found = found + weight * weight * _sw.linalg.solve(one + (place + 1) / 2 * rest, rest)
    return found * 2.0**roots


def _denman(x):
    one = _sw.eye(x.shape[-1], dtype=x.dtype, sycl_queue=x.sycl_queue)
    eps = _sw.finfo(x.dtype).eps
    root, product = x, x
    for _ in range(60):
        inverse = _sw.linalg.inv(product)
        root = 0.5 * _sw.matmul(root, one + inverse)
        product = 0.5 * (one + 0.5 * (product + inverse))
        distance = _sw.max(_sw.abs(product - one)).tolist()
        if not distance == distance:
            break
        if distance <= 8 * eps * x.shape[-1]:
            return root
    raise _sw._linalg.no_decomposition("singular: the iteration for the square root of `x` does not converge; expected no eigenvalue that is zero")


_explained(globals())
