"""NumPy's functions that are called with our arrays: ours of the same name, or a TypeError. Nothing becomes NumPy's by the way.

Imported by NumPy's first call, so that the package needs no NumPy.
"""

import numbers
import sys

import numpy as np

import stridewise as sw

_HELP = "help: NumPy's takes stridewise.asnumpy(x)"

#: Functions of SciPy's that are operations here.
_SPECIAL = {"erf": "erf", "expit": "sigmoid", "cbrt": "cbrt", "exp2": "exp2", "log1p": "log1p", "expm1": "expm1"}

_REDUCTIONS = {
    "add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all", "logical_or": "any",
    "logaddexp": "logsumexp", "hypot": "reduce_hypot",
}  # fmt: skip
_SCANS = {"add": "cumulative_sum", "multiply": "cumulative_prod", "logaddexp": "cumulative_logsumexp"}


def _missing(name):
    return TypeError(f"unsupported: stridewise has no counterpart of {name}; {_HELP}")


def _is_ours(x):
    return isinstance(x, sw.usm_ndarray)


def _is_operand(x):
    """Whether an operand is ours, NumPy's or a number; what else is there may have rules of its own."""
    if _is_ours(x) or type(x) in (np.ndarray, np.memmap) or isinstance(x, (np.generic, numbers.Number)):
        return True
    return isinstance(x, (list, tuple))


def _queue(values):
    """The queue of the first of our arrays."""
    return next((x.sycl_queue for x in values if _is_ours(x)), None)


def _target(out, queue):
    """What a result is written to: `out` itself, or, of NumPy's, an array on its memory."""
    if out is None or _is_ours(out):
        return out
    if queue is not None and not queue.sycl_device.has_aspect("host_debuggable"):
        raise sw.ExecutionPlacementError(
            f"execution placement: `out` is an array of NumPy's, which is in memory of the processor, and the operands are on {queue}; "
            "expected arrays of one queue; help: write to one of stridewise.empty_like(x)"
        )
    return sw.asarray(out, copy=False, device=queue)


def _delivered(result, out):
    """The result, or what it was written to, once it is there."""
    if out is None or _is_ours(out):
        return result
    result.wait()
    return out


def _listed(x, queue):
    return sw.asarray(x, device=queue) if isinstance(x, (list, tuple)) else x


def _operation(ufunc):
    """The function of the operation that a ufunc is, and its name."""
    name = ufunc.__name__
    if getattr(np, name, None) is ufunc:
        return name, getattr(sw, name, None)
    special = sys.modules.get("scipy.special")
    if special is not None and name in _SPECIAL and getattr(special, name, None) is ufunc:
        return name, getattr(sw, _SPECIAL[name])
    return name, None


def _refuse_rest(name, options):
    """What is left of NumPy's options: nothing, or what says as we do."""
    usual = {"where": True, "casting": "same_kind", "subok": True, "order": "K", "signature": None, "initial": np._NoValue}
    for option, value in options.items():
        if option not in usual or value is not usual[option]:
            if not (option in ("casting", "order") and value == usual[option]):
                raise TypeError(f"unsupported: {name} of stridewise's arrays does not take {option}={value!r}; {_HELP}")


def call_ufunc(ufunc, method, inputs, options):
    """`__array_ufunc__`: the operation of a ufunc."""
    outs = options.pop("out", None) or (None,)
    if not all(_is_operand(x) for x in inputs) or not all(out is None or _is_operand(out) for out in outs):
        return NotImplemented
    queue = _queue(inputs) or _queue(outs)
    if method != "at":
        inputs = [_listed(x, queue) for x in inputs]
    name, operation = _operation(ufunc)
    call = _METHODS.get(method)
    if call is None or (operation is None and name not in ("divmod",)):
        raise _missing(f"numpy.{name}" if method == "__call__" else f"numpy.{name}.{method}")
    return call(name, operation, inputs, outs, queue, options)


def _call(name, operation, inputs, outs, queue, options):
    if name == "matmul" and options.get("axes") in _IN_PLACE:
        del options["axes"]
    dtype = options.pop("dtype", None)
    order = options.pop("order", "K")
    _refuse_rest(f"numpy.{name}", options)
    if dtype is not None:
        inputs = [sw.astype(x, dtype, copy=False) if _is_ours(x) else sw.asarray(x, dtype=dtype, device=queue) for x in inputs]
    if name == "divmod":
        outs = outs if len(outs) == 2 else (None, None)
        return tuple(
            _call(part, getattr(sw, part), inputs, (out,), queue, {})
            for part, out in zip(("floor_divide", "remainder"), outs)
        )
    (out,) = outs
    target = _target(out, queue)
    extra = {} if order == "K" else {"order": order}
    return _delivered(operation(*inputs, **({} if target is None else {"out": target}), **extra), out)


def _reduce(name, operation, inputs, outs, queue, options):
    fold = _REDUCTIONS.get(name)
    if fold is None:
        raise _missing(f"numpy.{name}.reduce")
    (x, *rest), (out,) = inputs, outs
    axis = options.pop("axis", rest[0] if rest else 0)
    keepdims, dtype = options.pop("keepdims", False), options.pop("dtype", None)
    initial = options.pop("initial", np._NoValue)
    _refuse_rest(f"numpy.{name}.reduce", options)
    target = _target(out, queue)
    named = {} if dtype is None else {"dtype": dtype}
    if initial is np._NoValue or initial is None:
        return _delivered(getattr(sw, fold)(x, axis=axis, keepdims=keepdims, out=target, **named), out)
    folded = getattr(sw, fold)(x, axis=axis, keepdims=keepdims, **named)
    return _delivered(operation(folded, initial, out=target), out)


def _accumulate(name, _operation, inputs, outs, queue, options):
    scan = _SCANS.get(name)
    if scan is None:
        raise _missing(f"numpy.{name}.accumulate")
    (x, *rest), (out,) = inputs, outs
    axis, dtype = options.pop("axis", rest[0] if rest else 0), options.pop("dtype", None)
    _refuse_rest(f"numpy.{name}.accumulate", options)
    return _delivered(getattr(sw, scan)(x, axis=axis, dtype=dtype, out=_target(out, queue)), out)


def _at(name, _operation, inputs, _outs, queue, _options):
    if name not in ("add", "subtract"):
        raise _missing(f"numpy.{name}.at")
    x, indices, values = inputs
    target, values = _target(x, queue), _listed(values, queue)
    sw.add_at(target, indices, -values if name == "subtract" else values)
    if target is not x:
        target.wait()


def _outer(name, operation, inputs, outs, queue, options):
    x1, x2 = (x if _is_ours(x) else sw.asarray(x, device=queue) for x in inputs)
    x1 = sw.reshape(x1, x1.shape + (1,) * x2.ndim)
    return _call(name, operation, [x1, x2], outs, queue, options)


#: The axes that `x @= y` of NumPy's names, which are those of the product.
_IN_PLACE = ([(-2, -1)] * 3, [(-1,), (-2, -1), (-1,)])

_METHODS = {"__call__": _call, "reduce": _reduce, "accumulate": _accumulate, "at": _at, "outer": _outer}


def _where(condition, *values):
    if not values:
        return sw.nonzero(condition)
    # NumPy's takes all numbers as conditions.
    if _is_operand(condition) and not _is_ours(condition):
        condition = sw.asarray(condition, device=_queue(values))
    if getattr(condition, "dtype", None) != sw.bool:
        condition = sw.not_equal(condition, 0)
    return sw.where(condition, *values)


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
    target = _target(dst, _queue([src]))
    if where is True:
        target[...] = src
    else:
        target[where] = src[where] if getattr(src, "shape", ()) == target.shape else src
    if target is not dst:
        target.wait()


def _put(a, ind, v, mode="raise"):
    indices, values = sw.asarray(ind, device=_queue([a, ind, v])), sw.asarray(v, device=_queue([a, ind, v]))
    # NumPy's goes through the values again from the start where there are fewer than places, and writes nothing where there are none.
    if not indices.size or not values.size:
        return
    if 1 != values.size != indices.size:
        values = sw.take(values, sw.arange(indices.size, device=values.queue), mode="wrap")
    sw.put(a, sw.reshape(indices, -1), sw.reshape(values, -1), mode=mode)


def _place(arr, mask, vals):
    queue = _queue([arr, mask, vals])
    values = sw.reshape(sw.asarray(vals, dtype=arr.dtype, device=queue), -1)
    sw.place(arr, sw.astype(_listed(mask, queue), sw.bool, copy=False), values)


def _put_along_axis(arr, indices, values, axis):
    values = _listed(values, _queue([arr, indices, values]))
    if axis is None:
        # Of all elements as one sequence, which the array need not lie in.
        sw.put(arr, indices, values)
    else:
        sw.put_along_axis(arr, indices, values, axis)


def _cross(a, b, *arguments, **options):
    queue = _queue([a, b])
    return sw.cross(*(sw.asarray(x, device=queue) for x in (a, b)), *arguments, **options)


def _interp(x, xp, fp, left=None, right=None, period=None):
    _refuse_rest("numpy.interp", {} if period is None else {"period": period})
    queue = _queue([x, xp, fp])
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


def _joined(join):
    def joined(arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
        target = _target(out, _queue(arrays))
        result = join(arrays, axis=axis)
        result = result if dtype is None else sw.astype(result, dtype, copy=False)
        return result if out is None else _delivered(sw.positive(result, out=target), out)

    return joined


#: Functions of NumPy's that are called otherwise than ours of the same name.
_ADAPTED = {
    "clip": _clip, "concatenate": _joined(sw.concat), "copyto": _copyto, "round": sw.around, "stack": _joined(sw.stack),
    "cross": _cross, "interp": _interp,
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
    return ours(*args, **kwargs)
