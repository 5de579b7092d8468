"""NumPy's names of sets, and of places in arrays."""

import math as _math

from . import _native as _sw
from ._arguments import explained as _explained
from ._operands import _array, _arrays, _axis, _is_inexact, _queue


def argwhere(x, /):
    """The places of the elements other than zero, one in each row; of an array without axes, rows of nothing."""
    x = _array(x)
    if not x.ndim:
        return argwhere(_sw.reshape(x, -1))[:, :0]
    return _sw.stack(_sw.nonzero(x), axis=1)


def flatnonzero(x, /):
    """The places, among all elements in row-major order, of those other than zero."""
    return _sw.nonzero(_sw.reshape(x, -1))[0]


def intersect1d(x1, x2, /, assume_unique=False, return_indices=False):
    """The elements that are in both arrays, each once, in order, of the dtype of both. return_indices: a tuple of them and of their first places
    in each array."""
    x1, x2 = _arrays((x1, x2))
    x1, x2 = (_sw.astype(x, _sw.result_type(x1, x2), copy=False) for x in (x1, x2))
    if not return_indices:
        x1 = _sw.reshape(x1, -1) if assume_unique else _sw.unique_values(x1)
        return _sw.sort(x1[_sw.isin(x1, x2)])
    found = []
    for x in (x1, x2):
        x = _sw.reshape(x, -1)
        if assume_unique:
            places = _sw.argsort(x)
            found.append((_sw.take(x, places), places))
        else:
            found.append(unique(x, return_index=True))
    (one, places), (other, others) = found
    both = _sw.isin(one, other)
    return one[both], places[both], others[_sw.isin(other, one)]


def _places(name, places):
    places = _array(places)
    if not _sw.isdtype(places.dtype, "integral"):
        raise TypeError(f"`{name}` is of {places.dtype}; expected integers; help: convert them with astype")
    return _sw.astype(places, "int64", copy=False)


def _extents(name, shape, order):
    """The extents of a shape that is one sequence, whose elements 64 bits can number, with the fastest one last."""
    shape = (shape,) if hasattr(shape, "__index__") else tuple(shape)
    if order not in ("C", "F"):
        raise ValueError(f"invalid value: `order` is {order!r}; expected 'C' or 'F'")
    if _math.prod(shape) >= 1 << 63:
        raise ValueError(f"invalid value: `{name}` is {shape}; expected fewer elements than 64 bits can number")
    return shape if order == "C" else shape[::-1]


def ravel_multi_index(multi_index, dims, mode="raise", order="C"):
    """The places, in an array of a shape that is one sequence, of elements that an array for each axis names. mode, one for all axes
    or one for each: as for `take`. Raises OutOfBoundsError for a place out of range, and TypeError for places that are no integers."""
    extents = _extents("dims", dims, order)
    axes = [_places("multi_index", places) for places in multi_index]
    modes = [mode] * len(axes) if isinstance(mode, str) else list(mode)
    if not len(axes) == len(extents) == len(modes):
        raise ValueError(
            f"invalid value: `multi_index` has {len(axes)} arrays and `mode` is {mode!r}; expected one for each of {len(extents)} axes"
        )
    if order == "F":
        axes, modes = axes[::-1], modes[::-1]
    result = None
    for places, extent, mode in zip(axes, extents, modes):
        if mode not in ("raise", "wrap", "clip"):
            raise ValueError(f"invalid value: `mode` is {mode!r}; expected 'raise', 'wrap' or 'clip'")
        if places.size and (extent == 0 or mode == "raise" and bool(_sw.any((places < 0) | (places >= extent)))):
            raise _sw.OutOfBoundsError(f"out of range: `multi_index` has a place that is not in 0..{extent}")
        places = places % max(extent, 1) if mode == "wrap" else _sw.clip(places, 0, max(extent - 1, 0))
        result = places if result is None else result * extent + places
    return result


def setdiff1d(x1, x2, /, assume_unique=False):
    """The elements of one array that are not in another one, each once and in order, or, where they are unique, as they lie. NaN is in
    no array, and stays, as one element."""
    x1 = _array(x1, _queue([x2]))
    x1 = _sw.reshape(x1, -1) if assume_unique else unique(x1)
    return x1[_sw.isin(x1, x2, invert=True)]


def tril_indices(n, k=0, m=None, *, device=None):
    """The places of the elements of a matrix on and below a diagonal: an array for the rows and one for the columns."""
    return _sw.nonzero(_sw.tril(_sw.ones((n, n if m is None else m), dtype="bool", device=device), k=k))


def triu_indices(n, k=0, m=None, *, device=None):
    """The places of the elements of a matrix on and above a diagonal: an array for the rows and one for the columns."""
    return _sw.nonzero(_sw.triu(_sw.ones((n, n if m is None else m), dtype="bool", device=device), k=k))


def union1d(x1, x2, /):
    """The elements that are in either array, each once, in order; all NaN are one element."""
    return unique(_sw.concat([_sw.reshape(x, -1) for x in _arrays((x1, x2))]))


def unique(x, /, return_index=False, return_inverse=False, return_counts=False, axis=None, *, equal_nan=True, sorted=True):
    """The different elements, sorted; with what is asked for beside them, a tuple: the first place of each, for each element of x
    its place among them, how often each occurs. axis: None for elements; else the different parts along that axis. equal_nan: whether all
    NaN are one element, the last; else each is its own. sorted: False does not ask for an order, and has the same."""
    x = _array(x)
    if axis is not None:
        found = _unique_parts(x, _axis(axis, x.ndim), equal_nan)
    else:
        found = _sw.unique_all(x) if return_index or return_inverse or return_counts else (_sw.unique_values(x),)
        if equal_nan and _is_inexact(x):
            found = _one_nan(found)
    asked = (True, return_index, return_inverse, return_counts)
    return found[0] if len(found) == 1 else tuple(part for part, wanted in zip(found, asked) if wanted) if True in asked[1:] else found[0]


def _one_nan(found):
    """What `unique_all` has found, or values alone, with all NaN, which are the last ones, as one."""
    missing = int(_sw.count_nonzero(_sw.isnan(found[0])))
    if missing < 2:
        return found
    first = found[0].size - missing
    if len(found) == 1:
        return (found[0][: first + 1],)
    values, indices, inverse, counts = found
    places = _sw.concat([indices[:first], _sw.min(indices[first:], keepdims=True)])
    number = _sw.concat([counts[:first], _sw.sum(counts[first:], keepdims=True)])
    return values[: first + 1], places, _sw.clip(inverse, max=first), number


def unravel_index(indices, shape, order="C"):
    """For places in an array of a shape that is one sequence, an array for each axis. Raises OutOfBoundsError for one out of range,
    TypeError for places that are no integers, and ValueError for several of an array without axes."""
    extents, places = _extents("shape", shape, order), _places("indices", indices)
    if bool(_sw.any((places < 0) | (places >= _math.prod(extents)))):
        raise _sw.OutOfBoundsError(f"out of range: `indices` has a place that is not in 0..{_math.prod(extents)}, the elements of {shape}")
    if not extents and places.ndim:
        raise ValueError(f"shape mismatch: `indices` is of shape {places.shape}; expected one place, as an array without axes has one element")
    axes = []
    for extent in extents[::-1]:
        axes.append(places % max(extent, 1))
        places = places // max(extent, 1)
    return tuple(axes[::-1] if order == "C" else axes)


def _unique_parts(x, axis, equal_nan):
    """The different parts, in the order of their elements, the first place of each, for each part its place among them, and how often
    each occurs."""
    rows = _sw.moveaxis(x, axis, 0)
    count = rows.shape[0]
    flat = _sw.reshape(rows, (count, -1) if rows.size else (count, 0))
    queue = x.sycl_queue
    if flat.shape[1]:
        # The last key is the first to be sorted by.
        order = _sw.lexsort(_sw.flip(_sw.matrix_transpose(flat), axis=0)) if count else _sw.zeros(0, dtype="int64", sycl_queue=queue)
    else:
        order = _sw.arange(count, dtype="int64", sycl_queue=queue)
    ordered = _sw.take(flat, order, axis=0)
    differ = ordered[1:] != ordered[:-1]
    if equal_nan and _is_inexact(x):
        differ = differ & ~(_sw.isnan(ordered[1:]) & _sw.isnan(ordered[:-1]))
    first = _sw.ones(count, dtype=_sw.bool, sycl_queue=queue)
    if count > 1:
        first[1:] = _sw.any(differ, axis=1)
    starts = _sw.nonzero(first)[0]
    # Sorting is stable, so that the first one of equal parts is the one with the least place.
    indices = _sw.take(order, starts)
    values = _sw.moveaxis(_sw.take(rows, indices, axis=0), 0, axis)
    inverse = _sw.zeros(count, dtype="int64", sycl_queue=queue)
    if count:
        inverse[order] = _sw.cumulative_sum(_sw.astype(first, "int64"), axis=0) - 1
    counts = _sw.diff(_sw.concat([starts, _sw.asarray([count], dtype=starts.dtype, sycl_queue=queue)]))
    return values, indices, inverse, counts


_explained(globals())
__all__ = [name for name in dir() if not name.startswith("_")]
