"""NumPy's functions that are called with our arrays: ours of the same name, or a TypeError. Nothing becomes NumPy's by the way.

Imported by NumPy's first call, so that the package needs no NumPy.
"""

import numbers
import sys

import numpy as np

import stridewise as sw

from ._binding import HELP, called, delivered, is_ours, is_usual, listed, queue_of, refused, target

#: Functions of SciPy's that are operations here; others are those of `special` with the same name.
_SPECIAL = {"erf": "erf", "expit": "sigmoid", "cbrt": "cbrt", "exp2": "exp2", "log1p": "log1p", "expm1": "expm1"}

_REDUCTIONS = {
    "add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all", "logical_or": "any",
    "logaddexp": "logsumexp", "hypot": "reduce_hypot",
}  # fmt: skip
_SCANS = {"add": "cumulative_sum", "multiply": "cumulative_prod", "logaddexp": "cumulative_logsumexp"}


def _missing(name):
    return TypeError(f"unsupported: stridewise has no counterpart of {name}; {HELP}")


def _is_operand(x):
    """Whether an operand is ours, NumPy's or a number; what else is there may have rules of its own."""
    if is_ours(x) or type(x) in (np.ndarray, np.memmap) or isinstance(x, (np.generic, numbers.Number)):
        return True
    return isinstance(x, (list, tuple))


def _kind(value):
    """The dtype of the kind of a Python number, or of a scalar or an array."""
    dtype = getattr(value, "dtype", None)
    if dtype is not None:
        return dtype
    return sw.bool if isinstance(value, bool) else sw.uint8 if isinstance(value, int) else sw.float16 if isinstance(value, float) else sw.complex64


_CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")


def _check_casting(name, casting, dtype=None, values=()):
    """Refuses a rule that is none, and values that the rule does not convert to a dtype. A Python number is of a kind alone."""
    if casting not in _CASTINGS:
        raise ValueError(f"invalid value: `casting` is {casting!r}; expected one of {', '.join(map(repr, _CASTINGS))}")
    for value in values if dtype is not None else ():
        is_number = not hasattr(value, "dtype")
        rule = "same_kind" if is_number and casting != "unsafe" else casting
        if not sw.can_cast(_kind(value), dtype, casting=rule):
            shown = f"the number {value!r}" if is_number else str(value.dtype)
            raise TypeError(
                f"dtype: {name} does not convert {shown} to {dtype} with casting={casting!r}; expected a dtype that it is converted "
                'to; help: say casting="unsafe", or convert it with astype'
            )


def _operation(ufunc):
    """The function of the operation that a ufunc is, and its name."""
    name = ufunc.__name__
    if getattr(np, name, None) is ufunc:
        return name, getattr(sw, name, None)
    special = sys.modules.get("scipy.special")
    if special is not None and getattr(special, name, None) is ufunc:
        if name in _SPECIAL:
            return name, getattr(sw, _SPECIAL[name])
        return name, getattr(sw.special, name) if name in sw.special.__all__ else None
    return name, None


def _refuse_rest(name, options):
    """What is left of NumPy's options: nothing, or what says as we do."""
    usual = {"where": True, "casting": "same_kind", "subok": True, "order": "K", "signature": None, "initial": np._NoValue}
    for option, value in options.items():
        if option == "casting":
            _check_casting(name, value)
        if option not in usual or not is_usual(value, usual[option]):
            raise refused(name, option, value)


def call_ufunc(ufunc, method, inputs, options):
    """`__array_ufunc__`: the operation of a ufunc."""
    outs = options.pop("out", None) or (None,)
    # What comes second to `at` are places.
    operands = inputs[::2] if method == "at" else inputs
    if not all(_is_operand(x) for x in operands) or not all(out is None or _is_operand(out) for out in outs):
        return NotImplemented
    queue = queue_of(inputs) or queue_of(outs)
    if method != "at":
        inputs = [listed(x, queue) for x in inputs]
    name, operation = _operation(ufunc)
    call = _METHODS.get(method)
    if call is None or (operation is None and name not in ("divmod",)):
        raise _missing(f"numpy.{name}" if method == "__call__" else f"numpy.{name}.{method}")
    return call(name, operation, inputs, outs, queue, options)


def _call(name, operation, inputs, outs, queue, options):
    if name == "matmul" and options.get("axes") in _IN_PLACE:
        del options["axes"]
    dtype, order, casting = options.pop("dtype", None), options.pop("order", "K"), options.pop("casting", "same_kind")
    where = options.pop("where", True)
    _check_casting(f"numpy.{name}", casting)
    if casting not in ("same_kind", "unsafe") and dtype is None:
        raise refused(f"numpy.{name}", "casting", casting)
    if where is not True and outs[0] is None:
        raise refused(f"numpy.{name}", "where", where)
    _refuse_rest(f"numpy.{name}", options)
    # Comparisons and their like are of bool whatever they are computed in.
    if dtype is not None and sw.dtype(dtype) != sw.bool:
        _check_casting(f"numpy.{name}", casting, sw.dtype(dtype), inputs)
        inputs = [sw.astype(x if hasattr(x, "dtype") else sw.asarray(x, device=queue), dtype, copy=False) for x in inputs]
    if name == "divmod":
        outs = outs if len(outs) == 2 else (None, None)
        return tuple(
            _call(part, getattr(sw, part), inputs, (out,), queue, {})
            for part, out in zip(("floor_divide", "remainder"), outs)
        )
    (out,) = outs
    named = {} if order == "K" else {"order": order}
    if out is not None and where is True and dtype is None and casting == "same_kind":
        return delivered(operation(*inputs, out=target(out, queue), **named), out)
    result = operation(*inputs, **named)
    if dtype is not None and result.dtype != sw.dtype(dtype):
        raise TypeError(f"dtype: numpy.{name} of these operands is of {result.dtype}; expected {sw.dtype(dtype)}, as `dtype` says; {HELP}")
    if out is None:
        return result
    _copyto(out, result, casting, where)
    return out


def _reduce(name, operation, inputs, outs, queue, options):
    fold = _REDUCTIONS.get(name)
    if fold is None:
        raise _missing(f"numpy.{name}.reduce")
    (x, *rest), (out,) = inputs, outs
    axis = options.pop("axis", rest[0] if rest else 0)
    keepdims, dtype = options.pop("keepdims", False), options.pop("dtype", None)
    initial = options.pop("initial", np._NoValue)
    _refuse_rest(f"numpy.{name}.reduce", options)
    goal = target(out, queue)
    named = {} if dtype is None else {"dtype": dtype}
    if initial is np._NoValue or initial is None:
        return delivered(getattr(sw, fold)(x, axis=axis, keepdims=keepdims, out=goal, **named), out)
    folded = getattr(sw, fold)(x, axis=axis, keepdims=keepdims, **named)
    return delivered(operation(folded, initial, out=goal), out)


def _accumulate(name, _operation, inputs, outs, queue, options):
    scan = _SCANS.get(name)
    if scan is None:
        raise _missing(f"numpy.{name}.accumulate")
    (x, *rest), (out,) = inputs, outs
    axis, dtype = options.pop("axis", rest[0] if rest else 0), options.pop("dtype", None)
    _refuse_rest(f"numpy.{name}.accumulate", options)
    return delivered(getattr(sw, scan)(x, axis=axis, dtype=dtype, out=target(out, queue)), out)


def _at(name, _operation, inputs, _outs, queue, _options):
    if name not in ("add", "subtract"):
        raise _missing(f"numpy.{name}.at")
    x, indices, values = inputs
    goal = target(x, queue)
    values = sw.asarray(values, dtype=None if hasattr(values, "dtype") else goal.dtype, device=queue)
    values = sw.negative(values) if name == "subtract" else values
    parts = indices if isinstance(indices, tuple) else (indices,)
    if any(isinstance(part, slice) or part is None or part is Ellipsis for part in parts):
        # Which elements these are, among all: an array among the parts may name one more than once.
        places = sw.reshape(sw.arange(goal.size, device=goal.sycl_queue), goal.shape)[indices]
        values = sw.reshape(sw.broadcast_to(values, places.shape), -1)
        flat = sw.reshape(goal, -1, copy=True)
        sw.add_at(flat, sw.reshape(places, -1), values)
        goal[...] = sw.reshape(flat, goal.shape)
    else:
        sw.add_at(goal, indices, values)
    if goal is not x:
        goal.wait()


def _outer(name, operation, inputs, outs, queue, options):
    x1, x2 = (x if is_ours(x) else sw.asarray(x, device=queue) for x in inputs)
    x1 = sw.reshape(x1, x1.shape + (1,) * x2.ndim)
    return _call(name, operation, [x1, x2], outs, queue, options)


#: The axes that `x @= y` of NumPy's names, which are those of the product.
_IN_PLACE = ([(-2, -1)] * 3, [(-1,), (-2, -1), (-1,)])

_METHODS = {"__call__": _call, "reduce": _reduce, "accumulate": _accumulate, "at": _at, "outer": _outer}


def _where(condition, *values):
    if not values:
        return sw.nonzero(condition)
    # NumPy's takes all numbers as conditions.
    if _is_operand(condition) and not is_ours(condition):
        condition = sw.asarray(condition, device=queue_of(values))
    if getattr(condition, "dtype", None) != sw.bool:
        condition = sw.not_equal(condition, 0)
    return sw.where(condition, *(listed(x, queue_of((condition, *values))) for x in values))


def _quantiles(quantiles):
    def found(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, **options):
        _refuse_rest(f"numpy.{quantiles.__name__}", options)
        return quantiles(a, q, axis, out=out, method=method, keepdims=keepdims)

    return found


def _median(median):
    def found(a, axis=None, out=None, overwrite_input=False, keepdims=False):
        return median(a, axis, out, keepdims)

    return found


def _unique(ar, return_index=False, return_inverse=False, return_counts=False, axis=None, *, equal_nan=True, sorted=True):
    if axis is not None and ar.ndim != 1:
        raise _missing("numpy.unique along an axis")
    return sw.unique(ar, return_index, return_inverse, return_counts, equal_nan=equal_nan)


def _clip(x, a_min=None, a_max=None, out=None, *, min=None, max=None):
    return sw.clip(x, a_min if min is None else min, a_max if max is None else max, out=out)


def _copyto(dst, src, casting="same_kind", where=True):
    queue = queue_of([dst, src, where])
    goal, src = target(dst, queue), listed(src, queue)
    _check_casting("numpy.copyto", casting, goal.dtype, [src])
    if where is True and hasattr(src, "dtype"):
        goal[...] = src
    else:
        source = sw.astype(src if hasattr(src, "dtype") else sw.asarray(src, device=queue), goal.dtype, copy=False)
        # Extents of 1 in front that the target has not are left out, as NumPy does it.
        source = sw.reshape(source, source.shape[source.ndim - goal.ndim :]) if source.ndim > goal.ndim else source
        mask = where if isinstance(where, (bool, np.bool_)) else sw.asarray(where, device=queue)
        if getattr(mask, "dtype", sw.bool) != sw.bool:
            raise TypeError(f"dtype: `where` is of {mask.dtype}; expected bool; help: compare it with 0")
        mask = sw.broadcast_to(sw.asarray(mask, device=queue), goal.shape)
        goal[...] = sw.where(mask, sw.broadcast_to(source, goal.shape), goal)
    if goal is not dst:
        goal.wait()


def _putmask(a, mask, values):
    queue = queue_of([a, mask, values])
    values, mask = sw.reshape(sw.asarray(values, device=queue), -1), sw.asarray(mask, device=queue)
    if mask.size != a.size:
        raise ValueError(f"shape mismatch: `mask` has {mask.size} elements; expected as many as the array, {a.size}")
    # Each element has its value, by its place among all, whatever the mask leaves out.
    if values.size and a.size:
        values = sw.take(values, sw.arange(a.size, device=values.sycl_queue), mode="wrap") if values.size != a.size else values
        _copyto(a, sw.reshape(values, a.shape), "unsafe", sw.reshape(sw.astype(mask, sw.bool), a.shape))


def _put(a, ind, v, mode="raise"):
    indices, values = sw.asarray(ind, device=queue_of([a, ind, v])), sw.asarray(v, device=queue_of([a, ind, v]))
    # NumPy's goes through the values again from the start where there are fewer than places, and writes nothing where there are none.
    if not indices.size or not values.size:
        return
    if 1 != values.size != indices.size:
        values = sw.take(values, sw.arange(indices.size, device=values.queue), mode="wrap")
    sw.put(a, sw.reshape(indices, -1), sw.reshape(values, -1), mode=mode)


def _place(arr, mask, vals):
    queue = queue_of([arr, mask, vals])
    values = sw.astype(sw.reshape(sw.asarray(vals, device=queue), -1), arr.dtype, copy=False)
    mask = sw.astype(sw.asarray(mask, device=queue), sw.bool, copy=False)
    # NumPy's reads both as one sequence.
    sw.place(arr, sw.reshape(mask, arr.shape) if mask.size == arr.size else mask, values)


def _put_along_axis(arr, indices, values, axis):
    values = listed(values, queue_of([arr, indices, values]))
    if axis is None:
        # Of all elements as one sequence, which the array need not lie in.
        sw.put(arr, indices, values)
    else:
        sw.put_along_axis(arr, indices, values, axis)


def _partition(a, kth, axis=-1, kind="introselect", order=None):
    if order is not None:
        raise refused("numpy.partition", "order", order)
    return sw.sort(a) if axis == -1 else sw.sort(sw.reshape(a, -1)) if axis is None else sw.sort(a, axis=axis)


def _cross(a, b, *arguments, **options):
    queue = queue_of([a, b])
    return sw.cross(*(sw.asarray(x, device=queue) for x in (a, b)), *arguments, **options)


def _interp(x, xp, fp, left=None, right=None, period=None):
    _refuse_rest("numpy.interp", {} if period is None else {"period": period})
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
        _check_casting(f"numpy.{name}", casting, asked if asked is not None or casting == "same_kind" else sw.result_type(*arrays), arrays)
        if asked is not None:
            arrays = [sw.astype(x, asked, copy=False) for x in arrays]
        result = join(arrays) if axis is _NO_AXIS else join(arrays, axis=axis)
        if out is None:
            return result
        if goal.shape != result.shape:
            raise ValueError(f"shape mismatch: `out` is of shape {goal.shape}; expected {result.shape}")
        goal[...] = result
        return delivered(goal, out)

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
    _check_casting("numpy.einsum", casting)
    if order not in ("K", "C", "A"):
        raise refused("numpy.einsum", "order", order)
    if isinstance(operands[0], str):
        operands = [operands[0], *(listed(x, queue) for x in operands[1:])]
    if dtype is not None:
        _check_casting("numpy.einsum", casting, sw.dtype(dtype), [x for x in operands if hasattr(x, "dtype")])
        operands = [sw.astype(x, dtype, copy=False) if hasattr(x, "dtype") else x for x in operands]
    result = sw.einsum(*operands)
    if out is None:
        return result
    _copyto(out, result, casting)
    return out


#: Functions of NumPy's that are called otherwise than ours of the same name.
_ADAPTED = {
    "clip": _clip, "concatenate": _concatenate, "copyto": _copyto, "round": sw.around, "stack": _stack,
    "hstack": _beside("hstack"), "vstack": _beside("vstack"), "dstack": _beside("dstack"), "column_stack": _beside("column_stack"),
    "broadcast_arrays": _broadcast_arrays, "cross": _cross, "einsum": _einsum, "interp": _interp, "partition": _partition, "putmask": _putmask,
    "place": _place, "put": _put, "put_along_axis": _put_along_axis,
    "median": _median(sw.median), "nanmedian": _median(sw.nanmedian), "unique": _unique,
    "quantile": _quantiles(sw.quantile), "percentile": _quantiles(sw.percentile),
    "nanquantile": _quantiles(sw.nanquantile), "nanpercentile": _quantiles(sw.nanpercentile),
    "where": _where, "empty_like": _like(sw.empty_like, sw.empty), "full_like": _full_like,
    "ones_like": _like(sw.ones_like, sw.ones), "zeros_like": _like(sw.zeros_like, sw.zeros),
    # Their answers are about memory that NumPy sees, and no array is made.
    "may_share_memory": lambda a, b, max_work=None: np.may_share_memory(np.asarray(a), np.asarray(b)),
    "shares_memory": lambda a, b, max_work=None: np.shares_memory(np.asarray(a), np.asarray(b)),
}  # fmt: skip

_MODULES = {"numpy": sw, "numpy.linalg": sw.linalg, "numpy.fft": sw.fft, "numpy.lib.stride_tricks": sw.lib.stride_tricks}


def call_function(function, types, args, kwargs):
    """`__array_function__`: the function of the same name."""
    if not all(issubclass(kind, sw.usm_ndarray) or kind in (np.ndarray, np.memmap) for kind in types):
        return NotImplemented
    module, name = function.__module__, function.__name__
    known = _MODULES.get(module)
    ours = _ADAPTED.get(name) if known is sw else None
    if ours is None and known is not None:
        ours = getattr(known, name, None)
    if ours is None:
        raise _missing(f"{module}.{name}")
    if known is sw and name in _ADAPTED:
        return ours(*args, **kwargs)
    return called(f"{module}.{name}", function, ours, args, kwargs)
