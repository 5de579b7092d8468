"""What functions that are written here make of their operands: arrays, axes, keys of parts."""

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


def _axis(axis, ndim):
    """An axis, from the front."""
    if not -ndim <= axis < ndim:
        raise _sw.OutOfBoundsError(f"axis out of range: `axis` is {axis}; expected one of {-ndim}..{ndim}")
    return axis % ndim


def _part(axis, of):
    """The key of a part along an axis."""
    return (slice(None),) * axis + (of,)


def _is_inexact(x):
    return _sw.isdtype(x.dtype, ("real floating", "complex floating"))


def _inexact(x):
    """The array, of integers and bool in the default floating dtype."""
    return x if _is_inexact(x) else x / 1
