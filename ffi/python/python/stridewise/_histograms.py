"""Histograms of several dimensions, and rules for how many bins there are: NumPy's names. Imported when they are asked for."""

import math as _math
from builtins import range as _range

import stridewise as _sw

from . import _native
from ._arguments import explained as _explained
from ._operands import _array
from ._wider import _apart

__all__ = ["histogram2d", "histogram_bin_edges", "histogramdd"]


def _elements(x):
    """All elements in one dimension; of bool as integers, whose differences there are."""
    x = _sw.reshape(_array(x), -1)
    return _sw.astype(x, _sw.uint8) if x.dtype == _sw.bool else x


def _ends(x, range):
    """The first and the last edge, as Python numbers: what is asked for, or what the elements reach."""
    if range is not None:
        first, last = (end.tolist() if hasattr(end, "tolist") else end for end in range)
        if first > last:
            raise ValueError(f"invalid value: `range` is {(first, last)}; expected the smaller number first")
    elif not x.size:
        first, last = 0, 1
    else:
        first, last = _sw.min(x).tolist(), _sw.max(x).tolist()
    if not (_math.isfinite(first) and _math.isfinite(last)):
        raise ValueError(f"invalid value: the edges are {first} and {last}; expected finite numbers; help: say a `range`, or leave out what is not finite")
    return (first - 0.5, last + 0.5) if first == last else (first, last)


def _spread(x):
    return _sw.max(x).tolist() - _sw.min(x).tolist()


def _deviation(x):
    return _sw.std(x if _sw.isdtype(x.dtype, "real floating") else x / 1).tolist()


def _sturges(x, _ends):
    return _spread(x) / (_math.log2(x.size) + 1)


def _root(x, _):
    return _spread(x) / _math.sqrt(x.size)


def _rice(x, _):
    return _spread(x) / (2 * x.size ** (1 / 3))


def _scott(x, _):
    return (24 * _math.sqrt(_math.pi) / x.size) ** (1 / 3) * _deviation(x)


def _freedman(x, _):
    high, low = _sw.percentile(x, [75, 25]).tolist()
    return 2 * (high - low) * x.size ** (-1 / 3)


def _auto(x, range):
    return min(max(_freedman(x, range), _root(x, range) / 2), _sturges(x, range))


def _doane(x, _):
    if x.size <= 2:
        return 0.0
    deviation = _deviation(x)
    if not deviation > 0:
        return 0.0
    x = x if _sw.isdtype(x.dtype, "real floating") else x / 1
    skew = _sw.mean(((x - _sw.mean(x)) / deviation) ** 3).tolist()
    error = _math.sqrt(6 * (x.size - 2) / ((x.size + 1) * (x.size + 3)))
    return _spread(x) / (1 + _math.log2(x.size) + _math.log2(1 + abs(skew) / error))


def _stone(x, range):
    spread, count = _spread(x), x.size
    if count <= 1 or spread == 0:
        return 0

    def loss(bins):
        found = _native.histogram(x, bins, range)[0] / count
        return (2 - (count + 1) * _sw.sum(found * found).tolist()) * bins / spread

    most = max(100, int(_math.sqrt(count)))
    best = min((bins + 1 for bins in _range(most)), key=loss)
    if best == most:
        import warnings

        warnings.warn(f"the best number of bins found is the largest that was tried, {most}", RuntimeWarning, stacklevel=4)
    return spread / best


_RULES = {
    "auto": _auto, "doane": _doane, "fd": _freedman, "rice": _rice, "scott": _scott, "sqrt": _root, "stone": _stone, "sturges": _sturges,
}  # fmt: skip


def count_by(x, rule, range, weights):
    """How many bins a rule finds, and the ends."""
    if rule not in _RULES:
        raise ValueError(f"invalid value: `bins` is {rule!r}; expected a number, edges, or one of {', '.join(map(repr, _RULES))}")
    if weights is not None:
        raise TypeError(f"invalid value: `weights` beside `bins` of {rule!r}; expected no weights; help: say how many bins there are")
    first, last = _ends(x, range)
    if range is not None:
        x = x[(x >= first) & (x <= last)]
    width = _RULES[rule](x, (first, last)) if x.size else 0
    if width and _sw.isdtype(x.dtype, "integral") and width < 1:
        width = 1
    return (_math.ceil((last - first) / width) if width else 1), (first, last)


def histogram_bin_edges(x, /, bins=10, range=None, weights=None):
    """The edges of the bins of `histogram`, without counting: of so many bins of equal width, or of as many as a rule finds.

    bins: a number; edges, which are returned; or "auto", "doane", "fd" (Freedman and Diaconis), "rice", "scott", "sqrt", "stone" or
    "sturges". range: the first and the last edge; None for the smallest and the largest element.
    """
    x = _elements(x)
    if isinstance(bins, str):
        bins, range = count_by(x, bins, range, weights)
    if getattr(bins, "ndim", 0) or isinstance(bins, (list, tuple)):
        bins = _array(bins)
        if bins.ndim != 1:
            raise ValueError(f"invalid value: `bins` has {bins.ndim} dimensions; expected one")
        if bool(_sw.any(bins[:-1] > bins[1:])):
            raise ValueError("invalid value: `bins` has an edge that is less than the one before it; expected edges in order")
        return bins
    # Of the ends alone, so that nothing is counted.
    first, last = _ends(x, range)
    return _apart(_native.histogram(x[:0], bins, (first, last))[1], bins)


def histogramdd(sample, /, bins=10, range=None, density=None, weights=None):
    """How many points are in each bin of several dimensions, and for each dimension the edges: (counts, list of edges).

    sample: points as rows, or a sequence of the points' coordinates, an array for each dimension. bins, for all dimensions or a sequence of one for each: how many,
    or edges. range: None, or the first and the last edge for each dimension, of which some may be None. density: numbers whose integral over
    all bins is 1. weights: what each point counts.
    """
    if isinstance(sample, (list, tuple)):
        sample = _sw.stack([_sw.reshape(_array(x), -1) for x in sample], axis=1) if sample else _sw.zeros((0, 0))
    sample = _array(sample)
    sample = sample[:, None] if sample.ndim == 1 else sample
    points, count = sample.shape
    if isinstance(bins, (int, str)) or getattr(bins, "ndim", None) == 0:
        bins = [bins] * count
    if len(bins) != count:
        raise ValueError(f"invalid value: `bins` has {len(bins)} parts; expected one for each of {count} dimensions")
    range = [None] * count if range is None else list(range)
    if len(range) != count:
        raise ValueError(f"invalid value: `range` has {len(range)} parts; expected one for each of {count} dimensions")
    queue = sample.sycl_queue
    edges, place, inside = [], _sw.zeros(points, dtype="int64", sycl_queue=queue), _sw.ones(points, dtype=_sw.bool, sycl_queue=queue)
    for axis, (number, ends) in enumerate(zip(bins, range)):
        x = sample[:, axis]
        number = number.tolist() if getattr(number, "ndim", None) == 0 else number
        found = histogram_bin_edges(x, number, ends)
        extent = found.shape[0] - 1
        # The last edge belongs to the last bin.
        at = _sw.where(x == found[-1], extent, _sw.searchsorted(found, x, side="right"))
        inside = inside & (at >= 1) & (at <= extent)
        place = place * extent + _sw.clip(at - 1, 0, max(extent - 1, 0))
        edges.append(found)
    shape = [x.shape[0] - 1 for x in edges]
    total = _math.prod(shape)
    weights = None if weights is None else _sw.reshape(_array(weights), -1)[inside]
    counts = _sw.bincount(place[inside], weights, minlength=total)[:total]
    counts = _sw.astype(_sw.reshape(counts, shape), counts.dtype if weights is not None and _sw.isdtype(counts.dtype, "complex floating") else _sw.zeros(0).dtype)
    if density:
        sum_ = _sw.sum(counts)
        for axis, x in enumerate(edges):
            counts = counts / _sw.reshape(_sw.diff(x), [-1 if k == axis else 1 for k in _range(count)])
        counts = counts / sum_
    return counts, edges


def histogram2d(x, y, /, bins=10, range=None, density=None, weights=None):
    """How many points are in each bin of a plane: (counts, edges along x, edges along y). bins: how many, or edges, for both, or a pair;
    range, density, weights: as for `histogramdd`."""
    x, y = _sw.reshape(_array(x), -1), _sw.reshape(_array(y), -1)
    if x.shape != y.shape:
        raise ValueError(f"shape mismatch: `x` has {x.shape[0]} elements and `y` {y.shape[0]}; expected as many")
    if getattr(bins, "ndim", 0) == 1 or isinstance(bins, (list, tuple)) and len(bins) not in (1, 2):
        bins = [_array(bins)] * 2
    elif isinstance(bins, (list, tuple)) and len(bins) == 1:
        bins = list(bins) * 2
    counts, (first, second) = histogramdd([x, y], bins, range, density, weights)
    return counts, first, second


_explained(globals())
