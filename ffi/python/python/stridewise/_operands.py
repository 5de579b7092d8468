"""What functions that are written here make of their operands: arrays, axes, keys of parts; and what they write to."""

import stridewise as _sw


def _array(x, queue=None):
    return x if isinstance(x, _sw.usm_ndarray) else _sw.asarray(x, sycl_queue=queue)


def _queue(values):
    """The queue of the first of our arrays."""
    return next((x.sycl_queue for x in values if isinstance(x, _sw.usm_ndarray)), None)


def _arrays(arrays):
    """Arrays of one queue."""
    arrays = list(arrays)
    queue = _queue(arrays)
    return [_array(x, queue) for x in arrays]


def _sequence(arrays):
    """A sequence of arrays, which something that is gone through once is not."""
    if not hasattr(arrays, "__getitem__"):
        raise TypeError(f"`arrays` is of type {type(arrays).__name__}; expected a sequence of arrays; help: make a list of it")
    return _arrays(arrays)


def _axis(axis, ndim):
    """An axis, from the front."""
    if not -ndim <= axis < ndim:
        raise _sw._no_axis(f"axis out of range: `axis` is {axis}; expected one of {-ndim}..{ndim}")
    return axis % ndim


def _axes(axis, ndim):
    """Several axes, from the front, each once: of an axis, a sequence of them, or None, which stands for all."""
    given = range(ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = [_axis(each, ndim) for each in given]
    if len(set(axes)) != len(axes):
        raise _sw.OutOfBoundsError(f"axis out of range: `axis` is {axis}; expected each axis once")
    return axes


def _spread(weights, x, axis):
    """Weights of an array's elements, of its shape: those of the axes that are named are for all others."""
    weights = _array(weights, x.sycl_queue)
    if weights.shape == x.shape:
        return weights
    if axis is None:
        raise TypeError(
            f"shape mismatch: `weights` is of shape {weights.shape} and `axis` is None; expected {x.shape}, as `x`; help: say along which "
            "axis they are"
        )
    axes = _axes(axis, x.ndim)
    extents = tuple(x.shape[each] for each in axes)
    if weights.shape != extents:
        raise ValueError(f"shape mismatch: `weights` is of shape {weights.shape}; expected {extents}, as `axis`, or {x.shape}, as `x`")
    weights = _sw.permute_dims(weights, sorted(range(len(axes)), key=axes.__getitem__))
    weights = _sw.reshape(weights, [extent if each in axes else 1 for each, extent in enumerate(x.shape)])
    return _sw.broadcast_to(weights, x.shape)


def _part(axis, of):
    """The key of a part along an axis."""
    return (slice(None),) * axis + (of,)


def _converted(what, arrays, dtype, casting):
    """Arrays in a dtype, to which a rule lets them be converted; `what` is what the message calls each."""
    for place, x in enumerate(arrays):
        if not _sw.can_cast(x, dtype, casting=casting):
            raise TypeError(
                f"dtype: {what} {place} is of {x.dtype}, which is not converted to {_sw.dtype(dtype)} with casting={casting!r}; expected a "
                'dtype that is; help: say casting="unsafe", or convert it with astype'
            )
    return [_sw.astype(x, dtype, copy=False) for x in arrays]


def _written(result, out):
    """The result, or `out` with its elements: of the same shape, and of a dtype of the same kind or a wider one."""
    return result if out is None else _sw.positive(result, out=out)


def _is_inexact(x):
    return _sw.isdtype(x.dtype, ("real floating", "complex floating"))


def _inexact(x):
    """The array, of integers and bool in the default floating dtype."""
    return x if _is_inexact(x) else x / 1


def is_ours(x):
    """Whether an object is an array of ours."""
    return isinstance(x, _sw.usm_ndarray)


def queue_of(values):
    """The queue of the first of our arrays, which may be in sequences."""
    for x in values:
        if is_ours(x):
            return x.sycl_queue
        if isinstance(x, (list, tuple)):
            found = queue_of(x)
            if found is not None:
                return found
    return None


def target(out, queue):
    """What a result is written to: `out` itself, or, of NumPy's, an array on its memory."""
    if out is None or is_ours(out):
        return out
    if queue is not None and not queue.sycl_device._works_in_process_memory:
        raise _sw.ExecutionPlacementError(
            f"execution placement: `out` is an array of NumPy's, which is in memory of the processor, and the operands are on {queue}; "
            "expected arrays of one queue; help: write to one of stridewise.empty_like(x)"
        )
    return _sw.asarray(out, copy=False, device=queue)


def delivered(result, out):
    """The result, or what it was written to, once it is there."""
    if out is None or is_ours(out):
        return result
    result.wait()
    return out
