"""The different parts of an array along an axis. Imported when they are asked for."""

import stridewise as _sw


def unique_parts(x, axis, equal_nan):
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
    if equal_nan and _sw.isdtype(x.dtype, ("real floating", "complex floating")):
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
