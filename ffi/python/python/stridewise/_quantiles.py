"""Quantiles as NumPy has them beside the engine's own five methods: eight others, weights, and integers that stay. Imported when they
are asked for.

Rows are sorted, so that NaN stand behind all numbers. Each method says of n numbers and a part p at which place the quantile is; what is
between two places is between their elements.
"""

import math as _math
import types as _types

import stridewise as _sw

from ._operands import _array, _axes, _inexact, _is_inexact, _spread, _written

#: The engine's methods.
NATIVE = ("linear", "lower", "higher", "midpoint", "nearest")
#: Those that take an element, so that integers stay what they are.
DISCRETE = ("inverted_cdf", "closest_observation", "lower", "higher", "nearest")
#: Of those that take the way from one element to the next, the two numbers by which Hyndman and Fan tell them apart.
_CONTINUOUS = {
    "interpolated_inverted_cdf": (0, 1), "hazen": (0.5, 0.5), "weibull": (0, 0), "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}  # fmt: skip
METHODS = ("inverted_cdf", "averaged_inverted_cdf", "closest_observation", *_CONTINUOUS, *NATIVE)


#: What places are computed with, as of Python's numbers: one number of elements for all rows.
_NUMBERS = _types.SimpleNamespace(
    floor=_math.floor, ceil=_math.ceil, nearest=round, least=min, most=max,
    choose=lambda condition, one, other: one if condition else other,
)  # fmt: skip
#: The same of arrays: each row has its own number of elements.
_ARRAYS = _types.SimpleNamespace(
    floor=_sw.floor, ceil=_sw.ceil, nearest=_sw.round, least=_sw.minimum, most=_sw.maximum, choose=_sw.where,
)  # fmt: skip


def _place(method, n, part, of):
    """Between which places of n elements a quantile is, and the part of the way from the one to the other."""
    last = n - 1
    if method in ("lower", "higher", "nearest"):
        at = last * part
        low = {"lower": of.floor, "higher": of.ceil, "nearest": of.nearest}[method](at)
        return low, low, 0.0 * at
    if method == "closest_observation":
        # Halfway between two, the one whose place, counted from 1 on, is even.
        at = n * part - 1.5
        floor = of.floor(at)
        low = of.most(of.choose((at == floor) & (floor % 2 == 1), floor, floor + 1), 0 * floor)
        return low, low, 0.0 * at
    if method in _CONTINUOUS:
        alpha, beta = _CONTINUOUS[method]
        at = n * part + (alpha + part * (1 - alpha - beta)) - 1
    else:
        at = n * part - 1
    low = of.floor(at)
    weight = at - low
    if method == "inverted_cdf":
        weight = of.choose(weight == 0, 0.0 * weight, 0.0 * weight + 1)
    elif method == "averaged_inverted_cdf":
        weight = of.choose(weight == 0, 0.0 * weight + 0.5, 0.0 * weight + 1)
    within = lambda place: of.most(of.least(place, 0 * place + last), 0 * place)
    return within(low), within(low + 1), weight


def _between(low, high, weight):
    """What lies so far from one element to the other: from the nearer one, so that it never leads past them, and they themselves where
    they are equal or the way begins or ends."""
    step = high - low
    way = _sw.where(weight < 0.5, low + step * weight, high - step * (1 - weight))
    # The difference of two numbers may be too large for the dtype, where what lies between them is not.
    way = _sw.where(_sw.isfinite(way), way, low * (1 - weight) + high * weight)
    return _sw.where((low == high) | (weight == 0), low, _sw.where(weight == 1, high, way))


def _parts(q, whole, queue):
    """The parts as an array, of the dtype in which they are given, and as Python's numbers."""
    asked = _array(q, queue)
    if _sw.isdtype(asked.dtype, "complex floating"):
        raise TypeError(f"dtype: `q` is {asked.dtype}; expected real numbers")
    parts = _inexact(asked)
    numbers = _sw.reshape(parts, -1).tolist()
    for number in numbers:
        if not 0 <= number <= whole:
            raise ValueError(f"invalid value: `q` is {number}; expected numbers from 0 to {whole}; help: pass others")
    return (parts if whole == 1 else parts / whole), [number / whole for number in numbers]


def _by_weights(rows, weights, parts, numbers):
    """The quantiles of rows whose elements weigh differently: the first elements up to which such parts of the weights are. numbers: how
    many elements of each row are no NaN, or None where NaN is nothing to leave out."""
    order = _sw.argsort(rows, axis=-1)
    rows = _sw.take_along_axis(rows, order, axis=-1)
    wide = _sw.zeros(0, sycl_queue=rows.sycl_queue).dtype
    weights = _sw.astype(_sw.take_along_axis(weights, order, axis=-1), wide)
    last = rows.shape[-1] - 1
    if numbers is not None:
        weights = _sw.where(_sw.isnan(rows), 0.0, weights)
        last = _sw.maximum(numbers - 1, 0)
    share = _sw.cumulative_sum(weights, axis=-1)
    share = share / share[..., -1:]
    wrong = _sw.isnan(share[..., -1:])
    if bool(_sw.any(wrong if numbers is None else wrong & (numbers > 0))):
        raise ValueError("invalid value: `weights` has NaN or an infinity, or a sum that is one or is 0; expected finite weights, and one above 0")
    # What weighs nothing in front of all others is no quantile, not even that of 0. As exact as the parts are given.
    share = _sw.where(share == 0, -1.0, _sw.astype(share, parts.dtype, copy=False))
    flat = _sw.reshape(parts, -1)
    places = [_sw.count_nonzero(share < flat[k], axis=-1, keepdims=True) for k in range(flat.shape[0])]
    places = _sw.minimum(_sw.astype(_sw.concat(places, axis=-1), "int64", copy=False), last)
    return rows, _sw.take_along_axis(rows, places, axis=-1)


def _by_places(rows, method, parts, listed, numbers):
    """The quantiles of rows by a method."""
    rows = _sw.sort(rows, axis=-1)
    queue, count = rows.sycl_queue, rows.shape[-1]
    if numbers is None:
        found = [_place(method, count, part, _NUMBERS) for part in listed]
        low, high = (_sw.asarray([int(each[k]) for each in found], dtype="int64", sycl_queue=queue) for k in (0, 1))
        weight = _sw.asarray([float(each[2]) for each in found], sycl_queue=queue)
        taken = lambda places: _sw.take(rows, places, axis=-1)
    else:
        wide = _sw.zeros(0, sycl_queue=queue).dtype
        part = _sw.astype(_sw.reshape(parts, -1), wide, copy=False)
        low, high, weight = _place(method, _sw.astype(_sw.maximum(numbers, 1), wide), part, _ARRAYS)
        taken = lambda places: _sw.take_along_axis(rows, _sw.astype(places, "int64"), axis=-1)
    first = taken(low)
    if method in DISCRETE:
        return rows, first if method != "inverted_cdf" else _sw.where(weight == 0, first, taken(high))
    return rows, _between(first, taken(high), _sw.astype(weight, rows.dtype, copy=False))


def quantiles(x, q, whole, axis, out, method, keepdims, weights, leaves_nan_out):
    """The quantiles of `quantile` and its like. whole: what the parts are parts of, 1 or 100."""
    x = _array(x)
    if not isinstance(method, str):
        raise TypeError(f"`method` is {method!r}; expected a text")
    if method not in METHODS:
        raise ValueError(f"invalid value: `method` is {method!r}; expected one of {', '.join(map(repr, METHODS))}")
    if _sw.isdtype(x.dtype, "complex floating"):
        raise TypeError(f"dtype: `x` is {x.dtype}; expected real numbers, which have an order; help: take sw.real(x) or sw.abs(x)")
    if weights is not None and method != "inverted_cdf":
        raise ValueError(f"invalid value: `method` is {method!r} beside `weights`; expected 'inverted_cdf', the one that has weights")
    parts, listed = _parts(q, whole, x.sycl_queue)
    axes = _axes(axis, x.ndim)
    if weights is not None:
        weights = _spread(weights, x, axis)
        if _sw.isdtype(weights.dtype, "complex floating"):
            raise TypeError(f"dtype: `weights` is {weights.dtype}; expected real numbers")
        if bool(_sw.any(weights < 0)):
            raise ValueError("invalid value: `weights` has a number below 0; expected none")
    kept = [each for each in range(x.ndim) if each not in axes]
    shape = tuple(1 if each in axes else extent for each, extent in enumerate(x.shape) if keepdims or each not in axes)
    count = _math.prod(x.shape[each] for each in axes)

    def rows_of(values):
        return _sw.reshape(_sw.permute_dims(values, [*kept, *axes]), [*(values.shape[each] for each in kept), count])

    kind = x.dtype if method in DISCRETE or _is_inexact(x) else _inexact(x[..., :0] if x.ndim else x).dtype
    if not count:
        found = _sw.full(parts.shape + shape, float("nan"), dtype=kind if _is_inexact(x) else None, sycl_queue=x.sycl_queue)
        return _written(found, out)
    # Numbers of 16 bits are computed with in 32.
    rows = rows_of(_sw.astype(x, "float32" if _is_inexact(x) and x.itemsize == 2 else kind, copy=False))
    numbers = _sw.count_nonzero(~_sw.isnan(rows), axis=-1, keepdims=True) if leaves_nan_out and _is_inexact(rows) else None
    if not listed:
        found = rows[..., :0]
    elif weights is not None:
        rows, found = _by_weights(rows, rows_of(weights), parts, numbers)
    else:
        rows, found = _by_places(rows, method, parts, listed, numbers)
    if _is_inexact(rows):
        # Sorted, a row has NaN at its end where it has one.
        found = _sw.where(_sw.isnan(rows[..., -1:]) if numbers is None else numbers == 0, float("nan"), found)
    found = _sw.astype(_sw.moveaxis(found, -1, 0), kind, copy=False)
    return _written(_sw.reshape(found, parts.shape + shape), out)
