"""Reductions of the elements that a mask chooses, and from a value on: `where=` and `initial=` of NumPy's reductions, for all of them
by one rule. Imported by the first call that has one of them.

What the mask leaves out is replaced by the element that changes nothing; the value is joined to the result by the reduction's own
operation. Means and variances are sums over the number of elements that are left.
"""

import sys

import stridewise as sw

from ._operands import _is_inexact, _written, delivered, is_ours, queue_of, target

#: Of each reduction, its operation and the element that changes nothing, None: there is none.
_FOLDS = {
    "sum": ("add", 0), "prod": ("multiply", 1), "max": ("maximum", None), "min": ("minimum", None), "any": ("logical_or", False),
    "all": ("logical_and", True), "logsumexp": ("logaddexp", -float("inf")), "reduce_hypot": ("hypot", 0),
}  # fmt: skip
_MEANS = ("mean", "var", "std")


def _read(name, value, expected, queue):
    """An argument as an array."""
    try:
        return sw.asarray(value, device=queue)
    except (TypeError, ValueError) as error:
        from ._explanations import shown

        raise TypeError(f"`{name}` is {shown(value)}; expected {expected}") from error


def _mask(where, x):
    mask = _read("where", where, "a mask of truth values, as x > 0", x.sycl_queue)
    try:
        return sw.broadcast_to(sw.astype(mask, sw.bool, copy=False), x.shape)
    except ValueError:
        raise ValueError(f"shape mismatch: `where` is of shape {mask.shape}; expected one that is broadcast to {x.shape}") from None


def _first(initial, dtype, queue):
    """A value that a reduction begins with, as an array of its dtype."""
    found = _read("initial", initial, "a number", queue)
    if found.ndim:
        raise ValueError(f"shape mismatch: `initial` is of shape {found.shape}; expected a number")
    if not hasattr(initial, "dtype") and not isinstance(initial, complex) and sw.isdtype(dtype, "integral"):
        # A number that the dtype does not hold is an error, and no other number.
        number, kind = int(initial), sw.iinfo(dtype)
        if not kind.min <= number <= kind.max:
            raise OverflowError(f"out of range: `initial` is {initial!r}; expected a number that {dtype} holds, {kind.min}..{kind.max}")
        return sw.asarray(number, dtype=dtype, device=queue)
    return sw.astype(found, dtype, copy=False)


def _said(value):
    """A value, but what NumPy's functions say for none."""
    numpy = sys.modules.get("numpy")
    return None if numpy is not None and value is numpy._NoValue else value


def reduced(name, x, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True, ddof=None, correction=0, mean=None):
    """A reduction of the elements where a mask is true, from a value on. name: that of the function, `nan…`: without NaN, too."""
    initial, where, mean = map(_said, (initial, where, mean))
    where = True if where is None else where
    queue = queue_of([x, out, where, initial])
    x = x if is_ours(x) else sw.asarray(x, device=queue)
    if name.removeprefix("nan") in ("sum", "prod", "mean"):
        dtype = sw._native._folded_in(x, dtype, target(out, queue))
    mask = None if where is True else _mask(where, x)
    keepdims = bool(keepdims)
    numbers = name.startswith("nan")
    if numbers:
        name = name.removeprefix("nan")
        if _is_inexact(x):
            there = sw.logical_not(sw.isnan(x))
            mask = there if mask is None else sw.logical_and(mask, there)
            if name in ("max", "min") and initial is None and where is True:
                return delivered(getattr(sw, f"nan{name}")(x, axis=axis, keepdims=keepdims, out=target(out, queue)), out)
    if name in _MEANS:
        result = _moment(name, x, axis, dtype, keepdims, mask, correction if ddof is None else ddof, mean, numbers)
    else:
        result = _fold(name, x, axis, dtype, keepdims, initial, mask)
    return delivered(_written(result, target(out, queue)), out)


def _fold(name, x, axis, dtype, keepdims, initial, mask):
    operation, unit = _FOLDS[name]
    fold, named = getattr(sw, name), {} if dtype is None else {"dtype": dtype}
    if unit is None and mask is not None:
        if initial is None:
            raise ValueError(
                f"invalid value: `where` without `initial`; expected both for {name}, which has no result of no elements; help: say what "
                "it is of none by `initial`"
            )
        unit = _first(initial, x.dtype, x.sycl_queue)
    if mask is not None:
        x = sw.where(mask, x, unit if hasattr(unit, "dtype") else sw.asarray(unit, dtype=_held(unit, x.dtype), device=x.sycl_queue))
    if initial is None:
        return fold(x, axis=axis, keepdims=keepdims, **named)
    if name in ("max", "min") and not x.size:
        # Of no elements the result is the value that it begins with.
        shape = sw.any(sw.zeros(x.shape, dtype=sw.bool, device=x.sycl_queue), axis=axis, keepdims=keepdims).shape
        return sw.copy(sw.broadcast_to(_first(initial, x.dtype, x.sycl_queue), shape))
    folded = fold(x, axis=axis, keepdims=keepdims, **named)
    joined = getattr(sw, operation)(folded, _first(initial, folded.dtype, x.sycl_queue))
    return sw.astype(joined, folded.dtype, copy=False)


def _held(unit, dtype):
    """The dtype of an element that changes nothing, beside elements of another one, which keep theirs."""
    if unit in (0, 1):
        return dtype
    return dtype if sw.isdtype(dtype, ("real floating", "complex floating")) else None


def _moment(name, x, axis, dtype, keepdims, mask, correction, mean, numbers):
    inexact = _is_inexact(x)
    kind = sw.dtype(dtype) if dtype is not None else x.dtype if inexact else sw.zeros(0).dtype
    # Numbers of 16 bits are added up in 32.
    x = sw.astype(x, sw.float32 if kind.itemsize == 2 else kind, copy=False)
    zero = sw.asarray(0, dtype=x.dtype, device=x.sycl_queue)
    chosen = sw.ones(x.shape, dtype=sw.bool, device=x.sycl_queue) if mask is None else mask
    count = sw.sum(sw.astype(chosen, sw.int64), axis=axis, keepdims=True)
    real = sw.real(x).dtype if sw.isdtype(x.dtype, "complex floating") else x.dtype

    def over(values, count):
        if mask is not None:
            values = sw.where(mask, values, sw.asarray(0, dtype=values.dtype, device=x.sycl_queue))
        return sw.sum(values, axis=axis, keepdims=True) / sw.astype(count, real)

    if name == "mean":
        result = over(x, count)
    else:
        mean = over(x, count) if mean is None else sw.asarray(mean, device=x.sycl_queue)
        far = sw.abs((x if mask is None else sw.where(mask, x, zero)) - mean)
        result = over(far * far, sw.maximum(sw.astype(count, real) - correction, sw.asarray(0, dtype=real, device=x.sycl_queue)))
        if numbers:
            # Of no more numbers than are subtracted there is none, where NumPy divides by zero without `nan` in its name.
            result = sw.where(sw.astype(count, real) > correction, result, float("nan"))
        result = sw.sqrt(result) if name == "std" else result
        kind = real if sw.isdtype(kind, "complex floating") else kind
    result = sw.astype(result, kind, copy=False)
    if keepdims:
        return result
    axes = tuple(range(x.ndim)) if axis is None else axis
    return sw.squeeze(result, axis=axes)
