"""NumPy's functions that are called otherwise than ours of the same name, those that only read, and keywords that ours lack.

Imported by NumPy's first call, as `_numpy` is.
"""

import numpy as np

import stridewise as sw

from . import _methods
from ._binding import check_casting, delivered, is_operand, is_ours, listed, queue_of, refuse_rest, refused, target


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


def _concatenate(arrays, /, axis=0, out=None, *, dtype=None, casting="same_kind"):
    return delivered(sw.concatenate(arrays, axis, target(out, queue_of(arrays)), dtype=dtype, casting=casting), out)


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
    "clip": _clip, "concat": _concatenate, "concatenate": _concatenate, "vander": _vander, "copyto": copyto, "round": _round, "around": _round,
    "broadcast_arrays": _broadcast_arrays, "cross": _cross, "einsum": _einsum, "partition": _partition, "putmask": _putmask,
    "place": _place, "put": _put,
    "histogram2d": _histogram2d, "histogramdd": _histogramdd,
    "median": _median(sw.median), "nanmedian": _median(sw.nanmedian),
    "quantile": _quantiles(sw.quantile), "percentile": _quantiles(sw.percentile),
    "nanquantile": _quantiles(sw.nanquantile), "nanpercentile": _quantiles(sw.nanpercentile),
    "isin": _isin, "where": _where, "empty_like": _like(sw.empty_like, sw.empty), "full_like": _full_like,
    "ones_like": _like(sw.ones_like, sw.ones), "zeros_like": _like(sw.zeros_like, sw.zeros),
}  # fmt: skip


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
