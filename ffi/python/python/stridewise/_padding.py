"""Padding by what is computed of an array: ramps, statistics along an axis, mirrors at a point. Imported when it is asked for."""

import stridewise as _sw

from ._operands import _is_inexact, _part

_STATISTICS = {"maximum": "max", "mean": "mean", "median": "median", "minimum": "min"}


def _pairs(name, value, ndim):
    """For each axis what is before and behind, of one number, a pair, a pair for each axis, or a dictionary of axes."""
    if isinstance(value, dict):
        pairs = [(0, 0)] * ndim
        for axis, each in value.items():
            pairs[axis] = tuple(each) if hasattr(each, "__len__") else (each, each)
        return pairs
    value = value.tolist() if hasattr(value, "tolist") else value
    if not hasattr(value, "__len__"):
        return [(value, value)] * ndim
    value = [each.tolist() if hasattr(each, "tolist") else each for each in value]
    if all(hasattr(each, "__len__") for each in value):
        pairs = [tuple(each) * 2 if len(each) == 1 else tuple(each) for each in value]
        pairs = pairs * ndim if len(pairs) == 1 else pairs
    else:
        pairs = [tuple(value) * 2 if len(value) == 1 else tuple(value)] * ndim
    if len(pairs) != ndim or any(len(pair) != 2 for pair in pairs):
        raise ValueError(f"invalid value: `{name}` is {value}; expected a number, a pair, or a pair for each of {ndim} axes")
    return pairs


def _counts(name, value, ndim):
    pairs = _pairs(name, value, ndim)
    if any(not hasattr(number, "__index__") for pair in pairs for number in pair):
        raise TypeError(f"`{name}` is {value}; expected integers; help: round them first")
    if any(number < 0 for pair in pairs for number in pair):
        raise ValueError(f"invalid value: `{name}` is {value}; expected no negative number")
    return pairs


def _rounded(values, dtype):
    """Values in the array's dtype; of integers the nearest ones."""
    if _sw.isdtype(dtype, "integral") and not _sw.isdtype(values.dtype, "integral"):
        values = _sw.round(values)
    return _sw.astype(values, dtype, copy=False)


def pad_otherwise(x, pad_width, mode, end_values, stat_length, reflect_type):
    """The array padded by a mode that is computed."""
    if callable(mode):
        raise TypeError("unsupported: pad of stridewise's arrays does not take a function as `mode`; help: NumPy's takes stridewise.asnumpy(x)")
    for name, value, usual, modes in (
        ("stat_length", stat_length, None, tuple(_STATISTICS)), ("reflect_type", reflect_type, "even", ("reflect", "symmetric")),
    ):  # fmt: skip
        if value != usual and mode not in modes:
            raise ValueError(f"invalid value: `{name}` is {value!r} beside the mode {mode!r}, which has none; expected one of {', '.join(modes)}")
    widths = _counts("pad_width", pad_width, x.ndim)
    if mode == "empty":
        made = _sw.empty([extent + sum(pair) for extent, pair in zip(x.shape, widths)], dtype=x.dtype, usm_type=x.usm_type, sycl_queue=x.sycl_queue)
        made[tuple(slice(before, before + extent) for extent, (before, _) in zip(x.shape, widths))] = x
        return made
    if mode in _STATISTICS:
        lengths = [(None, None)] * x.ndim if stat_length is None else _counts("stat_length", stat_length, x.ndim)
        side = lambda x, axis, width, last: _statistic(x, axis, width, last, mode, lengths[axis][last])
    elif mode == "linear_ramp":
        ends = _pairs("end_values", end_values, x.ndim)
        side = lambda x, axis, width, last: _ramp(x, axis, width, last, ends[axis][last])
    elif mode in ("reflect", "symmetric") and reflect_type == "odd":
        return _mirrored(x, widths, mode)
    elif mode in ("reflect", "symmetric"):
        raise ValueError(f"invalid value: `reflect_type` is {reflect_type!r}; expected 'even' or 'odd'")
    else:
        known = ["constant", "edge", "empty", "linear_ramp", "maximum", "mean", "median", "minimum", "reflect", "symmetric", "wrap"]
        raise ValueError(f"invalid value: `mode` is {mode!r}; expected one of {', '.join(known)}")
    for axis, (before, behind) in enumerate(widths):
        if not (before or behind):
            continue
        if not x.shape[axis]:
            raise ValueError(f"invalid value: `x` has no elements along axis {axis}; expected one at least for the mode {mode!r}")
        x = _sw.concat([side(x, axis, before, 0), x, side(x, axis, behind, 1)], axis=axis)
    return x


def _statistic(x, axis, width, last, mode, length):
    extent = x.shape[axis]
    count = extent if length is None else min(length, extent)
    if not count and mode in ("maximum", "minimum"):
        raise ValueError(f"invalid value: `stat_length` is {length}; expected one at least for the mode {mode!r}")
    part = x[_part(axis, slice(extent - count, extent) if last else slice(0, count))]
    found = _rounded(getattr(_sw, _STATISTICS[mode])(part, axis=axis, keepdims=True), x.dtype)
    return _sw.broadcast_to(found, [width if k == axis else extent for k, extent in enumerate(x.shape)])


def _ramp(x, axis, width, last, end):
    edge = x[_part(axis, slice(x.shape[axis] - 1, None) if last else slice(0, 1))]
    inexact = _is_inexact(x)
    wide = edge if inexact else _sw.astype(edge, _sw.zeros(0).dtype)
    places = _sw.arange(width, dtype=_sw.real(wide).dtype if _sw.isdtype(wide.dtype, "complex floating") else wide.dtype, sycl_queue=x.sycl_queue)
    places = _sw.reshape(places[::-1] if last else places, [width if k == axis else 1 for k in range(x.ndim)])
    end = _sw.asarray(end, dtype=wide.dtype, sycl_queue=x.sycl_queue)
    # From the end at place 0 to the edge at `width`, which is the array's own element.
    found = end + places * ((wide - end) / max(width, 1))
    return _sw.astype(found if inexact else _sw.floor(found) if _sw.isdtype(x.dtype, "integral") else found, x.dtype)


def _mirrored(x, widths, mode):
    """The array with twice its edges less its mirror image, as often as the widths ask for."""
    for axis, (before, behind) in enumerate(widths):
        extent = x.shape[axis]
        if extent == 0 and (before or behind):
            raise ValueError(f"invalid value: `x` has no elements along axis {axis}; expected one at least for the mode {mode!r}")
        if extent == 1 and mode == "reflect":
            x = _sw.pad(x, [(before, behind) if k == axis else (0, 0) for k in range(x.ndim)], "edge")
            continue
        while before or behind:
            extent = x.shape[axis]
            most = extent - 1 if mode == "reflect" else extent
            left, right = min(before, most), min(behind, most)
            skip = 1 if mode == "reflect" else 0
            first, last = x[_part(axis, slice(0, 1))], x[_part(axis, slice(extent - 1, None))]
            parts = [x]
            if left:
                parts.insert(0, _sw.flip(2 * first - x[_part(axis, slice(skip, skip + left))], axis=axis))
            if right:
                parts.append(_sw.flip(2 * last - x[_part(axis, slice(extent - skip - right, extent - skip))], axis=axis))
            x = _sw.concat(parts, axis=axis)
            before, behind = before - left, behind - right
    return x
