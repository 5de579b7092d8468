"""Polynomials as arrays of coefficients, from the highest power on: NumPy's names. Imported when one of them is asked for."""

import stridewise as _sw
from ._arguments import explained as _explained
from ._operands import _array, _arrays, _inexact, _is_inexact

__all__ = ["poly", "polyadd", "polyder", "polydiv", "polyint", "polymul", "polysub", "roots"]


def _coefficients(*polynomials):
    found = []
    for x in _arrays(polynomials):
        x = x[None] if x.ndim == 0 else x
        if x.ndim != 1:
            raise ValueError(f"invalid value: a polynomial has {x.ndim} dimensions; expected one, of coefficients")
        found.append(x)
    return found


def _without_leading_zeros(x):
    places = _sw.nonzero(x)[0]
    return x[int(places[0]) :] if places.size else x[:0]


def _filled(x, count, dtype):
    missing = count - x.shape[0]
    x = _sw.astype(x, dtype, copy=False)
    return _sw.concat([_sw.zeros(missing, dtype=dtype, sycl_queue=x.sycl_queue), x]) if missing else x


def _together(p, q, operation):
    p, q = _coefficients(p, q)
    count, dtype = max(p.shape[0], q.shape[0]), _sw.result_type(p, q)
    return operation(_filled(p, count, dtype), _filled(q, count, dtype))


def polyadd(p, q, /):
    """The sum of two polynomials."""
    return _together(p, q, _sw.add)


def polysub(p, q, /):
    """The difference of two polynomials."""
    return _together(p, q, _sw.subtract)


def polymul(p, q, /):
    """The product of two polynomials."""
    return _sw.convolve(*(_without_zeros(x) for x in _coefficients(p, q)))


def _without_zeros(x):
    """A polynomial without leading zeros; of nothing else, one zero."""
    kept = _without_leading_zeros(x)
    return kept if kept.size else _sw.zeros(1, dtype=x.dtype, sycl_queue=x.sycl_queue)


def polydiv(u, v, /):
    """The quotient and the remainder of two polynomials: a tuple of both."""
    u, v = _coefficients(u, v)
    dtype = _sw.result_type(u, v, _sw.float32 if _sw.isdtype(_sw.result_type(u, v), ("real floating", "complex floating")) else _sw.zeros(0).dtype)
    u, v = _sw.astype(u, dtype), _sw.astype(v, dtype)
    count = max(u.shape[0] - v.shape[0] + 1, 1)
    quotient, rest, scale = _sw.zeros(count, dtype=dtype, sycl_queue=u.sycl_queue), u, 1 / v[0]
    for place in range(u.shape[0] - v.shape[0] + 1):
        factor = scale * rest[place]
        quotient[place] = factor
        rest[place : place + v.shape[0]] = rest[place : place + v.shape[0]] - factor * v
    # What rounding leaves of leading coefficients is zero.
    while rest.shape[0] > 1 and abs(rest[0].tolist()) <= 1e-8:
        rest = rest[1:]
    return quotient, rest


def polyder(p, /, m=1):
    """The derivative of a polynomial, m times."""
    if not hasattr(m, "__index__") or m < 0:
        raise ValueError(f"invalid value: `m` is {m!r}; expected an integer, 0 or more")
    (p,) = _coefficients(p)
    for _ in range(m):
        powers = _sw.arange(p.shape[0] - 1, 0, -1, dtype="int64", sycl_queue=p.sycl_queue)
        p = p[:-1] * _sw.astype(powers, p.dtype if _is_inexact(p) else "int64")
    return p


def polyint(p, /, m=1, k=None):
    """The integral of a polynomial, m times. k: the constants, one number for all, or one for each time; None for zeros."""
    if not hasattr(m, "__index__") or m < 0:
        raise ValueError(f"invalid value: `m` is {m!r}; expected an integer, 0 or more")
    (p,) = _coefficients(p)
    constants = [0] * m if k is None else k.tolist() if hasattr(k, "tolist") else k
    constants = [constants] * m if not hasattr(constants, "__len__") else list(constants)
    constants = constants * m if len(constants) == 1 and m > 1 else constants
    if len(constants) < m:
        raise ValueError(f"invalid value: `k` has {len(constants)} numbers; expected one, or one for each of {m} times")
    for constant in constants[:m]:
        powers = _sw.arange(p.shape[0], 0, -1, dtype="int64", sycl_queue=p.sycl_queue)
        p = p / _sw.astype(powers, p.dtype if _is_inexact(p) else "int64")
        last = _sw.asarray([constant], sycl_queue=p.sycl_queue)
        p = _sw.concat([p, _sw.astype(last, _sw.result_type(p, constant), copy=False)])
    return p


def poly(roots, /):
    """The polynomial whose roots are given, with a highest coefficient of 1; of a square matrix, the one whose roots are its
    eigenvalues."""
    roots = _inexact(_array(roots))
    if roots.ndim == 2 and roots.shape[0] == roots.shape[1] and roots.shape[0]:
        roots = _sw.linalg.eigvals(roots)
        roots = _sw.real(roots) if bool(_sw.all(_sw.imag(roots) == 0)) else roots
    elif roots.ndim != 1:
        raise ValueError(f"invalid value: `roots` is of shape {roots.shape}; expected one dimension, or a square matrix")
    found = _sw.ones(1, dtype=roots.dtype, sycl_queue=roots.sycl_queue)
    if not roots.shape[0]:
        return _sw.astype(found, _sw.zeros(0).dtype)
    for root in roots:
        found = _sw.convolve(found, _sw.stack([_sw.ones_like(root), -root]))
    if _sw.isdtype(found.dtype, "complex floating"):
        # Roots that come with their conjugates make real coefficients.
        pairs = _sw.sort(roots) == _sw.sort(_sw.conj(roots))
        found = _sw.real(found) if bool(_sw.all(pairs)) else found
    return found


def roots(p, /):
    """The roots of a polynomial: the eigenvalues of its companion matrix; zeros for powers that all its terms have."""
    (p,) = _coefficients(p)
    places = _sw.nonzero(p)[0]
    if not places.size:
        return _sw.empty(0, sycl_queue=p.sycl_queue)
    zeros = p.shape[0] - int(places[-1]) - 1
    p = p[int(places[0]) : int(places[-1]) + 1]
    p = _inexact(p)
    count = p.shape[0]
    if count < 2:
        return _sw.zeros(zeros, sycl_queue=p.sycl_queue)
    companion = _sw.diag(_sw.ones(count - 2, dtype=p.dtype, sycl_queue=p.sycl_queue), -1)
    companion[0, :] = -p[1:] / p[0]
    found = _sw.linalg.eigvals(companion)
    found = _sw.real(found) if bool(_sw.all(_sw.imag(found) == 0)) and not _sw.isdtype(p.dtype, "complex floating") else found
    return _sw.concat([found, _sw.zeros(zeros, dtype=found.dtype, sycl_queue=p.sycl_queue)]) if zeros else found


_explained(globals())
