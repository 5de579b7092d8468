"""NumPy's functions that are called with our arrays: ours of the same name, or a TypeError. Nothing becomes NumPy's by the way.

Imported by NumPy's first call, so that the package needs no NumPy.
"""

import inspect
import sys

import numpy as np

import stridewise as sw

from ._binding import HELP, called, check_casting, delivered, is_operand, is_ours, listed, missing, queue_of, refuse_rest, refused, target
from ._numpy_functions import ADAPTED, READ, copyto, read

#: Functions of SciPy's that are operations here; others are those of `special` with the same name.
_SPECIAL = {"erf": "erf", "expit": "sigmoid", "cbrt": "cbrt", "exp2": "exp2", "log1p": "log1p", "expm1": "expm1"}

_REDUCTIONS = {
    "add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all", "logical_or": "any",
    "logaddexp": "logsumexp", "hypot": "reduce_hypot",
}  # fmt: skip
#: Ufuncs with more results than one.
_SEVERAL = ("divmod", "frexp", "modf")
_SCANS = {"add": "cumulative_sum", "multiply": "cumulative_prod", "logaddexp": "cumulative_logsumexp"}


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


def call_ufunc(ufunc, method, inputs, options):
    """`__array_ufunc__`: the operation of a ufunc."""
    outs = options.pop("out", None) or (None,)
    # What comes second to `at` are places.
    operands = inputs[::2] if method == "at" else inputs
    if not all(is_operand(x) for x in operands) or not all(out is None or is_operand(out) for out in outs):
        return NotImplemented
    queue = queue_of(inputs) or queue_of(outs)
    if method != "at":
        inputs = [listed(x, queue) for x in inputs]
    name, operation = _operation(ufunc)
    call = _METHODS.get(method)
    if call is None or operation is None:
        raise missing(f"numpy.{name}" if method == "__call__" else f"numpy.{name}.{method}")
    return call(name, operation, inputs, outs, queue, options)


_WRITES: dict = {}


def _writes(operation):
    """Whether a function takes `out` and `order`, as those that are operations of the engine do."""
    known = _WRITES.get(operation)
    if known is None:
        try:
            known = "out" in inspect.signature(operation).parameters
        except ValueError:
            known = True
        _WRITES[operation] = known
    return known


def _call(name, operation, inputs, outs, queue, options):
    if name == "matmul" and options.get("axes") in _IN_PLACE:
        del options["axes"]
    dtype, order, casting = options.pop("dtype", None), options.pop("order", "K"), options.pop("casting", "same_kind")
    where = options.pop("where", True)
    check_casting(f"numpy.{name}", casting)
    if casting not in ("same_kind", "unsafe") and dtype is None:
        raise refused(f"numpy.{name}", "casting", casting)
    if where is not True and outs[0] is None:
        raise refused(f"numpy.{name}", "where", where)
    refuse_rest(f"numpy.{name}", options)
    # Comparisons and their like are of bool whatever they are computed in.
    if dtype is not None and sw.dtype(dtype) != sw.bool:
        check_casting(f"numpy.{name}", casting, sw.dtype(dtype), inputs)
        inputs = [sw.astype(x if hasattr(x, "dtype") else sw.asarray(x, device=queue), dtype, copy=False) for x in inputs]
    if name in _SEVERAL:
        results = operation(*(listed(x, queue) for x in inputs))
        outs = outs if len(outs) == len(results) else (None,) * len(results)
        for result, out in zip(results, outs):
            if out is not None:
                copyto(out, result, casting, where)
        return tuple(result if out is None else out for result, out in zip(results, outs))
    (out,) = outs
    named = {} if order == "K" else {"order": order}
    if not _writes(operation):
        if named:
            raise refused(f"numpy.{name}", "order", order)
    elif out is not None and where is True and dtype is None and casting == "same_kind":
        return delivered(operation(*inputs, out=target(out, queue), **named), out)
    result = operation(*inputs, **named)
    if dtype is not None and result.dtype != sw.dtype(dtype):
        raise TypeError(f"dtype: numpy.{name} of these operands is of {result.dtype}; expected {sw.dtype(dtype)}, as `dtype` says; {HELP}")
    if out is None:
        return result
    copyto(out, result, casting, where)
    return out


def _reduce(name, _operation, inputs, outs, queue, options):
    fold = _REDUCTIONS.get(name)
    if fold is None:
        raise missing(f"numpy.{name}.reduce")
    (x, *rest), (out,) = inputs, outs
    axis = options.pop("axis", rest[0] if rest else 0)
    keepdims, dtype = options.pop("keepdims", False), options.pop("dtype", None)
    initial, where = options.pop("initial", None), options.pop("where", True)
    initial = None if initial is np._NoValue else initial
    refuse_rest(f"numpy.{name}.reduce", options)
    if initial is not None or where is not True:
        from ._masked import reduced

        return reduced(fold, x, axis, dtype, out, keepdims, initial, where)
    named = {} if dtype is None else {"dtype": dtype}
    return delivered(getattr(sw, fold)(x, axis=axis, keepdims=keepdims, out=target(out, queue), **named), out)


def _accumulate(name, _operation, inputs, outs, queue, options):
    scan = _SCANS.get(name)
    if scan is None:
        raise missing(f"numpy.{name}.accumulate")
    (x, *rest), (out,) = inputs, outs
    axis, dtype = options.pop("axis", rest[0] if rest else 0), options.pop("dtype", None)
    refuse_rest(f"numpy.{name}.accumulate", options)
    return delivered(getattr(sw, scan)(x, axis=axis, dtype=dtype, out=target(out, queue)), out)


#: What joins elements at places with values, by the names of NumPy's operations; what is subtracted is added with the other sign.
_AT = {
    "add": "add_at", "subtract": "add_at", "multiply": "multiply_at", "minimum": "minimum_at", "maximum": "maximum_at",
}  # fmt: skip


def _at(name, _operation, inputs, _outs, queue, _options):
    if name not in _AT:
        raise missing(f"numpy.{name}.at")
    join = getattr(sw, _AT[name])
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
        join(flat, sw.reshape(places, -1), values)
        goal[...] = sw.reshape(flat, goal.shape)
    else:
        join(goal, indices, values)
    if goal is not x:
        goal.wait()


def _outer(name, operation, inputs, outs, queue, options):
    x1, x2 = (x if is_ours(x) else sw.asarray(x, device=queue) for x in inputs)
    x1 = sw.reshape(x1, x1.shape + (1,) * x2.ndim)
    return _call(name, operation, [x1, x2], outs, queue, options)


#: The axes that `x @= y` of NumPy's names, which are those of the product.
_IN_PLACE = ([(-2, -1)] * 3, [(-1,), (-2, -1), (-1,)])

_METHODS = {"__call__": _call, "reduce": _reduce, "accumulate": _accumulate, "at": _at, "outer": _outer}


_MODULES = {
    "numpy": lambda: sw, "numpy.linalg": lambda: sw.linalg, "numpy.fft": lambda: sw.fft, "numpy.lib.stride_tricks": lambda: sw.lib.stride_tricks,
    "numpy.lib.scimath": lambda: sw.emath,
}  # fmt: skip


def call_function(function, types, args, kwargs):
    """`__array_function__`: the function of the same name."""
    if not all(issubclass(kind, sw.usm_ndarray) or kind in (np.ndarray, np.memmap) for kind in types):
        return NotImplemented
    module, name = function.__module__, function.__name__
    full = f"{module}.{name}"
    if full in READ:
        return read(function, args, kwargs)
    known = _MODULES.get(module)
    if module == "numpy" and name in ADAPTED:
        return ADAPTED[name](*args, **kwargs)
    ours = getattr(known(), name, None) if known is not None else None
    if ours is None:
        raise missing(full)
    return called(full, function, ours, args, kwargs)
