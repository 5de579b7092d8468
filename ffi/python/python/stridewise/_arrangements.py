"""NumPy's names that arrange what the namespace has: parts and joins, places, windows, triangles, and what is asked of dtypes."""

import math as _math

import stridewise as _sw

from . import _names, _sets
from ._arguments import explained as _explained
from ._operands import _array, _arrays, _axis, _written

euler_gamma = 0.5772156649015329
False_, True_ = False, True
ndarray = _sw.usm_ndarray
row_stack = _names.vstack


def array_equiv(x1, x2, /):
    """Whether two arrays broadcast to one shape and have equal elements then: True or False."""
    x1, x2 = _arrays((x1, x2))
    try:
        _sw.broadcast_shapes(x1.shape, x2.shape)
    except ValueError:
        return False
    return bool(_sw.all(_sw.equal(x1, x2)))


def _window(count, of):
    count = int(count)
    if count < 1:
        return _sw.zeros(0)
    if count == 1:
        return _sw.ones(1)
    return of(_sw.arange(1 - count, count, 2, dtype=_sw.zeros(0).dtype) / (count - 1))


def bartlett(count, /):
    """A window of so many numbers: a triangle, 0 at both ends."""
    return _window(count, lambda x: 1 - _sw.abs(x))


def blackman(count, /):
    """Blackman's window of so many numbers."""
    return _window(count, lambda x: 0.42 + 0.5 * _sw.cos(_math.pi * x) + 0.08 * _sw.cos(2 * _math.pi * x))


def hamming(count, /):
    """Hamming's window of so many numbers."""
    return _window(count, lambda x: 0.54 + 0.46 * _sw.cos(_math.pi * x))


def hanning(count, /):
    """The window of von Hann of so many numbers."""
    return _window(count, lambda x: 0.5 + 0.5 * _sw.cos(_math.pi * x))


def kaiser(count, beta, /):
    """Kaiser's window of so many numbers, of a parameter."""
    return _window(count, lambda x: _sw.special.i0(beta * _sw.sqrt(_sw.clip(1 - x * x, 0, None))) / _sw.special.i0(float(beta)))


def i0(x, /):
    """The modified Bessel function of order 0: `special.i0`."""
    return _sw.special.i0(x)


def compress(condition, x, /, axis=None, out=None):
    """The parts along an axis, None: of the elements, at which a condition holds; it may be shorter than the axis."""
    x, condition = _arrays((x, condition))
    condition = _sw.astype(condition, _sw.bool, copy=False)
    if axis is None:
        x, axis = _sw.reshape(x, -1), 0
    if condition.ndim != 1:
        raise ValueError(f"invalid value: `condition` has {condition.ndim} dimensions; expected one")
    found = _sw.take(x, _sw.nonzero(condition)[0], axis=axis)
    return _written(found, out)


def _without(places, extent, name):
    """A mask along an axis that is false at places: an integer, a slice, integers or a mask."""
    if isinstance(places, slice):
        places = range(*places.indices(extent))
    listed = places.tolist() if hasattr(places, "tolist") else places
    listed = [listed] if not hasattr(listed, "__iter__") else list(listed)
    if listed and all(isinstance(place, bool) for place in listed):
        if len(listed) != extent:
            raise ValueError(f"invalid value: `{name}` has {len(listed)} conditions; expected one for each of {extent}")
        listed = [place for place, gone in enumerate(listed) if gone]
    kept = [True] * extent
    for place in listed:
        if not hasattr(place, "__index__"):
            raise IndexError(f"`{name}` has {place!r}; expected an integer, a slice, integers or a mask; help: round it first")
        if not -extent <= place < extent:
            raise IndexError(f"out of range: `{name}` has {place}; expected places of -{extent}..{extent}")
        kept[place] = False
    return kept


def delete(x, obj, /, axis=None):
    """A copy without the parts at places along an axis, None: of all elements: an integer, a slice, integers or a mask."""
    x = _array(x)
    if axis is None:
        x, axis = _sw.reshape(x, -1), 0
    axis = _axis(axis, x.ndim)
    if getattr(obj, "ndim", 0) > 1:
        obj = obj.reshape(-1)
    kept = [place for place, stays in enumerate(_without(obj, x.shape[axis], "obj")) if stays]
    return _sw.take(x, _sw.asarray(kept, dtype="int64", sycl_queue=x.sycl_queue), axis=axis)


def diag_indices(n, ndim=2):
    """The places of the diagonal of an array of so many dimensions of extent n: an array for each."""
    return (_sw.arange(n),) * ndim


def diag_indices_from(x, /):
    """The places of the diagonal of an array whose extents are all the same."""
    x = _array(x)
    if x.ndim < 2 or len(set(x.shape)) != 1:
        raise ValueError(f"invalid value: `x` is of shape {x.shape}; expected two dimensions or more of one extent")
    return (_sw.arange(x.shape[0], sycl_queue=x.sycl_queue),) * x.ndim


def diagflat(x, /, k=0):
    """The matrix that has the elements on a diagonal and is zero elsewhere."""
    return _names.diag(_sw.reshape(_array(x), -1), k)


def dsplit(x, sections, /):
    """As `split`, along the third axis."""
    return _names.split(_at_least(x, 3, "dsplit"), sections, axis=2)


def hsplit(x, sections, /):
    """As `split`, along the second axis; of one dimension, along that."""
    x = _at_least(x, 1, "hsplit")
    return _names.split(x, sections, axis=1 if x.ndim > 1 else 0)


def vsplit(x, sections, /):
    """As `split`, along the first axis of two or more."""
    return _names.split(_at_least(x, 2, "vsplit"), sections, axis=0)


def _at_least(x, count, name):
    x = _array(x)
    if x.ndim < count:
        raise ValueError(f"invalid value: `x` has {x.ndim} dimensions; expected {count} or more for {name}")
    return x


def ediff1d(x, /, to_end=None, to_begin=None):
    """The differences of neighbours among all elements, with others before and behind them. Raises TypeError for others of another kind,
    as floats beside integers."""
    x = _array(x)
    parts = [_sw.diff(_sw.reshape(x, -1))]
    for name, place, more in (("to_begin", 0, to_begin), ("to_end", 2, to_end)):
        if more is not None:
            more = _sw.reshape(_array(more, x.sycl_queue), -1)
            if not _sw.can_cast(more.dtype, x.dtype, casting="same_kind"):
                raise TypeError(
                    f"dtype: `{name}` is {more.dtype}; expected numbers of the kind of {x.dtype}, which the array is of; help: convert it"
                )
            parts.insert(place, _sw.astype(more, x.dtype))
    return _sw.concat(parts) if len(parts) > 1 else parts[0]


def fill_diagonal(x, /, val, wrap=False):
    """Writes a number, or an array's elements in turn, to the diagonal of an array, in place; of more than two dimensions, all of
    one extent. wrap: whether a tall matrix has another diagonal below a row that is left out."""
    if x.ndim < 2 or x.ndim > 2 and len(set(x.shape)) != 1:
        raise ValueError(f"invalid value: `x` is of shape {x.shape}; expected a matrix, or more dimensions of one extent")
    rows, columns = x.shape[0], x.shape[1]
    if x.ndim > 2 or not wrap:
        count = min(x.shape)
        places = (_sw.arange(count, sycl_queue=x.sycl_queue),) * x.ndim
    else:
        flat = _sw.arange(0, rows * columns, columns + 1, sycl_queue=x.sycl_queue)
        count, places = flat.size, (flat // max(columns, 1), flat % max(columns, 1))
    if hasattr(val, "__len__") or getattr(val, "ndim", 0):
        val = _sw.reshape(_sw.asarray(val, sycl_queue=x.sycl_queue), -1)
        val = _sw.take(val, _sw.arange(count, sycl_queue=x.sycl_queue) % val.size)
    if count:
        x[places] = val


def indices(dimensions, dtype="int64", sparse=False):
    """The places of all elements of an array of a shape: an array of them, with an axis for the dimensions in front; sparse: a
    tuple of arrays that broadcast to it."""
    dimensions = tuple(dimensions)
    axes = [
        _sw.reshape(_sw.arange(extent, dtype=dtype), (1,) * axis + (-1,) + (1,) * (len(dimensions) - axis - 1))
        for axis, extent in enumerate(dimensions)
    ]
    if sparse:
        return tuple(axes)
    if not axes:
        return _sw.empty(0, dtype=dtype)
    return _sw.stack([_sw.broadcast_to(axis, dimensions) for axis in axes])


def iscomplex(x, /):
    """Whether elements have an imaginary part other than zero."""
    return _sw.not_equal(_sw.imag(_array(x)), 0)


def isreal(x, /):
    """Whether elements have no imaginary part, or one of zero."""
    return _sw.equal(_sw.imag(_array(x)), 0)


def isscalar(x, /):
    """Whether something is a number or text, and no array, also not one without dimensions."""
    import numbers

    return isinstance(x, (numbers.Number, str, bytes)) or hasattr(x, "dtype") and not hasattr(x, "__array_namespace__") and not hasattr(x, "strides")


def ix_(*sequences):
    """Arrays of one dimension, or masks, with axes such that they index a grid of rows, columns and so on."""
    made = []
    for axis, places in enumerate(sequences):
        typed = hasattr(places, "dtype")
        places = _array(places)
        if places.ndim != 1:
            raise ValueError(f"invalid value: a sequence has {places.ndim} dimensions; expected one")
        places = _sw.nonzero(places)[0] if places.dtype == _sw.bool else places
        if not places.size and not typed:
            places = _sw.astype(places, "int64")
        made.append(_sw.reshape(places, (1,) * axis + (-1,) + (1,) * (len(sequences) - axis - 1)))
    return tuple(made)


def modf(x, /):
    """The fractions and the integers towards zero, both with the sign of the element."""
    x = _array(x)
    x = x if _sw.isdtype(x.dtype, "real floating") else x / 1
    whole = _sw.trunc(x)
    part = _sw.where(_sw.isinf(x), 0, x - whole)
    return _sw.copysign(part, x), whole


def promote_types(type1, type2, /):
    """The dtype that operands of two dtypes have in common: `result_type` of both."""
    return _sw.result_type(_sw.dtype(type1), _sw.dtype(type2))


def setxor1d(x1, x2, /, assume_unique=False):
    """The elements that are in one of two arrays and not in the other, each once and in order. NaN is in no array: there is one of
    each that has some."""
    x1, x2 = (_sw.reshape(x, -1) for x in _arrays((x1, x2)))
    if not assume_unique:
        x1, x2 = _sets.unique(x1), _sets.unique(x2)
    one, other = x1[_sw.isin(x1, x2, invert=True)], x2[_sw.isin(x2, x1, invert=True)]
    return _sw.sort(_sw.concat([one, other]))


def tri(N, M=None, k=0, dtype=None):
    """A matrix of ones on and below a diagonal, and zeros above; of N rows and M columns, None: N."""
    return _sw.tril(_sw.ones((N, N if M is None else M), dtype=dtype), k=k)


def _matrix(x):
    x = _array(x)
    if x.ndim != 2:
        raise ValueError(f"invalid value: `x` has {x.ndim} dimensions; expected two")
    return x


def tril_indices_from(x, /, k=0):
    """The places of a matrix's elements on and below a diagonal."""
    x = _matrix(x)
    return _sets.tril_indices(x.shape[-2], k, x.shape[-1], device=x.sycl_queue)


def triu_indices_from(x, /, k=0):
    """The places of a matrix's elements on and above a diagonal."""
    x = _matrix(x)
    return _sets.triu_indices(x.shape[-2], k, x.shape[-1], device=x.sycl_queue)


def trim_zeros(x, /, trim="fb", axis=None):
    """A view of an array without the zeros in front ("f") and behind ("b") along axes, None: along all."""
    x = _array(x)
    if trim.lower() not in ("f", "b", "fb", "bf"):
        raise ValueError(f"invalid value: `trim` is {trim!r}; expected 'f', 'b' or both")
    axes = range(x.ndim) if axis is None else [axis] if hasattr(axis, "__index__") else axis
    key = [slice(None)] * x.ndim
    for axis in axes:
        others = tuple(each for each in range(x.ndim) if each != axis % x.ndim)
        places = _sw.nonzero(_sw.any(x != 0, axis=others) if others else x)[0]
        if not places.size:
            key[axis] = slice(0, 0)
            continue
        first, last = int(places[0]), int(places[-1]) + 1
        key[axis] = slice(first if "f" in trim.lower() else 0, last if "b" in trim.lower() else x.shape[axis])
    return x[tuple(key)]


def vander(x, /, n=None, increasing=False, *, N=None):
    """The matrix whose columns are powers of a vector's elements, from the highest on; n columns, None: as many as elements. N: as n."""
    x, n = _array(x), N if n is None else n
    if x.ndim != 1:
        raise ValueError(f"invalid value: `x` has {x.ndim} dimensions; expected one")
    n = x.shape[0] if n is None else _names._integer("n", n)
    powers = _sw.arange(n, dtype="int64", sycl_queue=x.sycl_queue)
    # As Python's integers beside the elements have it.
    x = _sw.astype(x, {"float32": "float64", "float16": "float64", "complex64": "complex128"}.get(x.dtype.name, x.dtype if x.itemsize == 8 or x.dtype.name == "complex128" else "int64"))
    exponents = _sw.astype(powers if increasing else powers[::-1], x.dtype)
    return _sw.pow(x[:, None], exponents)


class _Places:
    """Slices as a key of arrays: `s_[1:5, ::2]`."""

    def __init__(self, always):
        self._always = always

    def __getitem__(self, key):
        return (key,) if self._always and not isinstance(key, tuple) else key


s_, index_exp = _Places(False), _Places(True)

_explained(globals())
__all__ = [name for name in dir() if not name.startswith("_")]
