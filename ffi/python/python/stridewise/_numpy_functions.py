"""NumPy's functions that are called otherwise than ours of the same name, those that only read, and keywords that ours lack.

Imported by NumPy's first call, as `_numpy` is.
"""

import numpy as np

import stridewise as sw

from . import _methods
from ._binding import check_casting, delivered, is_operand, is_ours, listed, queue_of, refuse_rest, refused, target
from ._operands import _written


def _where(condition, *values):
    if not values:
        return sw.nonzero(condition)
    # NumPy's takes all numbers as conditions.
    if is_operand(condition) and not is_ours(condition):
        condition = sw.asarray(condition, device=queue_of(values))
    if getattr(condition, "dtype", None) != sw.bool:
        condition = sw.not_equal(condition, 0)
    return sw.where(condition, *(listed(x, queue_of((condition, *values))) for x in values))


def _quantiles(quantiles):
    def found(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None, **options):
        refuse_rest(f"numpy.{quantiles.__name__}", options)
        queue = queue_of([a, q, out, weights])
        return delivered(quantiles(listed(a, queue), q, axis, target(out, queue), method=method, keepdims=keepdims, weights=weights), out)

    return found


def _median(median):
    def found(a, axis=None, out=None, overwrite_input=False, keepdims=False):
        return delivered(median(a, axis, target(out, queue_of([a])), keepdims), out)

    return found


def _clip(x, a_min=None, a_max=None, out=None, *, min=None, max=None, **options):
    refuse_rest("numpy.clip", options)
    goal = target(out, queue_of([x]))
    return delivered(sw.clip(x, a_min if min is None else min, a_max if max is None else max, out=goal), out)


def _round(a, decimals=0, out=None):
    return delivered(sw.around(a, decimals, out=target(out, queue_of([a]))), out)


def copyto(dst, src, casting="same_kind", where=True):
    queue = queue_of([dst, src, where])
    goal, src = target(dst, queue), listed(src, queue)
    check_casting("numpy.copyto", casting, goal.dtype, [src])
    if where is not True:
        where = sw.asarray(where, device=queue)
    sw.copyto(goal, src if hasattr(src, "dtype") else sw.asarray(src, device=queue), "unsafe", where)
    if goal is not dst:
        goal.wait()


def _putmask(a, mask, values):
    queue = queue_of([a, mask, values])
    goal = target(a, queue)
    sw.putmask(goal, sw.asarray(mask, device=queue), sw.asarray(values, device=queue))
    if goal is not a:
        goal.wait()


def _put(a, ind, v, mode="raise"):
    _methods.put(a, ind, v, mode)


def _place(arr, mask, vals):
    queue = queue_of([arr, mask, vals])
    values = sw.astype(sw.reshape(sw.asarray(vals, device=queue), -1), arr.dtype, copy=False)
    mask = sw.astype(sw.asarray(mask, device=queue), sw.bool, copy=False)
    # NumPy's reads both as one sequence.
    sw.place(arr, sw.reshape(mask, arr.shape) if mask.size == arr.size else mask, values)


def _isin(element, test_elements, assume_unique=False, invert=False, *, kind=None):
    if kind not in (None, "sort", "table"):
        raise ValueError(f"invalid value: `kind` is {kind!r}; expected None, 'sort' or 'table', which change nothing here")
    queue = queue_of((element, test_elements))
    return sw.isin(listed(element, queue), listed(test_elements, queue), invert=invert)


def _partition(a, kth, axis=-1, kind="introselect", order=None):
    if order is not None:
        raise refused("numpy.partition", "order", order)
    return sw.partition(a, kth, axis)


def _cross(a, b, *arguments, **options):
    queue = queue_of([a, b])
    return sw.cross(*(sw.asarray(x, device=queue) for x in (a, b)), *arguments, **options)


def _interp(x, xp, fp, left=None, right=None, period=None):
    refuse_rest("numpy.interp", {} if period is None else {"period": period})
    queue = queue_of([x, xp, fp])
    return sw.interp(*(sw.asarray(each, device=queue) for each in (x, xp, fp)), left=left, right=right)


def _like(like, full, *value):
    """A function of arrays like another one, which NumPy's may be told another shape of."""

    def made(a, dtype=None, order="K", subok=True, shape=None, *, device=None):
        if shape is None:
            return like(a, *value, dtype=dtype, order=order, device=device)
        options = {"queue": a.queue} if device is None else {"device": device}
        return full(shape, *value, dtype=a.dtype if dtype is None else dtype, order="F" if order == "F" else "C", **options)

    return made


def _full_like(a, fill_value, *rest, **options):
    return _like(sw.full_like, sw.full, fill_value)(a, *rest, **options)


def _joined(join, name):
    def joined(arrays, axis=None, out=None, *, dtype=None, casting="same_kind"):
        if out is not None and dtype is not None:
            raise TypeError(f"invalid value: numpy.{name} has `out` beside `dtype`; expected one of them, as `out` has its dtype")
        queue = queue_of(arrays)
        arrays = [x if hasattr(x, "dtype") else sw.asarray(x, device=queue) for x in arrays]
        goal = target(out, queue)
        asked = None if dtype is None and out is None else sw.dtype(dtype) if out is None else goal.dtype
        check_casting(f"numpy.{name}", casting, asked if asked is not None or casting == "same_kind" else sw.result_type(*arrays), arrays)
        if asked is not None:
            arrays = [sw.astype(x, asked, copy=False) for x in arrays]
        result = join(arrays) if axis is _NO_AXIS else join(arrays, axis=axis)
        return delivered(_written(result, goal), out)

    return joined


#: The axis of a function that has none.
_NO_AXIS = object()


def _concatenate(arrays, /, axis=0, out=None, *, dtype=None, casting="same_kind"):
    return _joined(sw.concat, "concatenate")(arrays, axis, out, dtype=dtype, casting=casting)


def _stack(arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
    return _joined(sw.stack, "stack")(arrays, axis, out, dtype=dtype, casting=casting)


def _beside(name):
    def joined(tup, *, dtype=None, casting="same_kind"):
        return _joined(getattr(sw, name), name)(tup, _NO_AXIS, dtype=dtype, casting=casting)

    return joined


def _broadcast_arrays(*args, subok=False):
    queue = queue_of(args)
    shape = np.broadcast_shapes(*(x.shape if is_ours(x) else np.shape(x) for x in args))
    # What there is no dtype of ours for, as None and texts, stays NumPy's: it is beside our arrays, and not computed with.
    kinds = [None if is_ours(x) else np.asarray(x).dtype.kind for x in args]
    return tuple(
        sw.broadcast_to(x if is_ours(x) else sw.asarray(x, device=queue), shape) if kind is None or kind in "biufc" else np.broadcast_to(x, shape)
        for x, kind in zip(args, kinds)
    )


def _einsum(*operands, out=None, optimize=False, dtype=None, order="K", casting="safe"):
    queue = queue_of(operands)
    check_casting("numpy.einsum", casting)
    if order not in ("K", "C", "A"):
        raise refused("numpy.einsum", "order", order)
    if isinstance(operands[0], str):
        operands = [operands[0], *(listed(x, queue) for x in operands[1:])]
    if dtype is not None:
        check_casting("numpy.einsum", casting, sw.dtype(dtype), [x for x in operands if hasattr(x, "dtype")])
        operands = [sw.astype(x, dtype, copy=False) if hasattr(x, "dtype") else x for x in operands]
    result = sw.einsum(*operands)
    if out is None:
        return result
    copyto(out, result, casting)
    return out


def _histogramdd(sample, bins=10, range=None, density=None, weights=None):
    return sw.histogramdd(sample, bins, range, density, weights)


def _histogram2d(x, y, bins=10, range=None, density=None, weights=None):
    # A list of bins is edges, or what both axes have, and no array.
    return sw.histogram2d(x, y, bins, range, density, weights)


def _vander(x, N=None, increasing=False):
    return sw.vander(x, N, increasing)


#: Functions of NumPy's that are called otherwise than ours of the same name.
ADAPTED = {
    "clip": _clip, "concat": _concatenate, "concatenate": _concatenate, "vander": _vander, "copyto": copyto, "round": _round, "around": _round, "stack": _stack,
    "hstack": _beside("hstack"), "vstack": _beside("vstack"), "dstack": _beside("dstack"), "column_stack": _beside("column_stack"),
    "broadcast_arrays": _broadcast_arrays, "cross": _cross, "einsum": _einsum, "interp": _interp, "partition": _partition, "putmask": _putmask,
    "place": _place, "put": _put,
    "histogram2d": _histogram2d, "histogramdd": _histogramdd,
    "median": _median(sw.median), "nanmedian": _median(sw.nanmedian),
    "quantile": _quantiles(sw.quantile), "percentile": _quantiles(sw.percentile),
    "nanquantile": _quantiles(sw.nanquantile), "nanpercentile": _quantiles(sw.nanpercentile),
    "isin": _isin, "where": _where, "empty_like": _like(sw.empty_like, sw.empty), "full_like": _full_like,
    "ones_like": _like(sw.ones_like, sw.ones), "zeros_like": _like(sw.zeros_like, sw.zeros),
}  # fmt: skip


def _cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
    """Covariances of observations that count so often each (fweights), or weigh so much (aweights)."""
    queue = queue_of([m, y, fweights, aweights])
    rows = [sw.atleast_2d(sw.asarray(x, device=queue)) for x in (m, y) if x is not None]
    rows = [x.T if not rowvar and x.shape[0] != 1 else x for x in rows]
    x = sw.concat(rows) if len(rows) > 1 else rows[0]
    kind = sw.result_type(x, sw.zeros(0).dtype) if dtype is None else sw.dtype(dtype)
    x = sw.astype(x, kind, copy=False)
    weights = None
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is None:
            continue
        given = sw.asarray(given, device=queue)
        if given.ndim != 1 or given.shape[0] != x.shape[1]:
            raise ValueError(f"shape mismatch: `{name}` is of shape {given.shape}; expected one number for each of {x.shape[1]} observations")
        if bool(sw.any(given < 0)):
            raise ValueError(f"invalid value: `{name}` has a number below zero; expected none")
        if name == "fweights" and not sw.isdtype(given.dtype, "integral"):
            if bool(sw.any(given != sw.round(given))):
                raise TypeError("dtype: `fweights` has a fraction; expected integers")
        given = sw.astype(given, sw.real(x).dtype if sw.isdtype(kind, "complex floating") else kind, copy=False)
        weights = given if weights is None else weights * given
    ddof = (0 if bias else 1) if ddof is None else ddof
    if weights is None:
        total, mean = float(x.shape[1]), sw.mean(x, axis=1, keepdims=True)
        count = total - ddof
    else:
        total = sw.sum(weights).tolist()
        mean = sw.sum(x * weights, axis=1, keepdims=True) / total
        lost = 1.0 if aweights is None else sw.sum(weights * sw.asarray(aweights, device=queue)).tolist() / total
        count = total - ddof * lost
    x = x - mean
    other = x if weights is None else x * weights
    found = sw.matmul(x, sw.conj(sw.matrix_transpose(other)))
    return sw.squeeze(found / max(count, 0.0) if count > 0 else found / sw.asarray(0.0, device=queue))


def _corrcoef(x, y=None, rowvar=True, *, dtype=None):
    found = _cov(x, y, rowvar, dtype=dtype)
    if not found.ndim:
        return found / found
    spread = sw.sqrt(sw.real(sw.diagonal(found)))
    found = found / spread[:, None] / spread[None, :]
    limited = sw.clip(sw.real(found), -1, 1)
    return limited + 1j * sw.clip(sw.imag(found), -1, 1) if sw.isdtype(found.dtype, "complex floating") else limited


#: Functions of all keywords of NumPy's, by those names, for calls with one that ours of the same name does not take.
WIDE = {"numpy.cov": _cov, "numpy.corrcoef": _corrcoef}

#: Functions that read the elements and make no array: NumPy's own, of views of the arrays.
READ = frozenset(
    "numpy." + name
    for name in "array2string array_repr array_str common_type einsum_path may_share_memory min_scalar_type savetxt savez savez_compressed shares_memory".split()
)


def _seen(value):
    """What NumPy's may read: our arrays as views of its own, where host code may touch their memory."""
    if is_ours(value):
        return np.asarray(value)
    if type(value) in (list, tuple):
        return type(value)(map(_seen, value))
    return value


def read(function, args, kwargs):
    """A call of a function that only reads."""
    return function(*map(_seen, args), **{key: _seen(value) for key, value in kwargs.items()})
