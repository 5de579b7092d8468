"""NumPy's names that put arrays together and go over their parts: insertions, blocks, functions along axes, bits, grids by slices.

Imported when one of its names is asked for.
"""

import math as _math
import operator as _operator

import stridewise as _sw
from ._arguments import explained as _explained
from ._operands import _array, _axis, _part, _queue, _written

__all__ = [
    "apply_along_axis", "apply_over_axes", "block", "c_", "choose", "copyto", "fromfunction", "fromiter", "insert", "isfortran", "iterable",
    "mask_indices", "may_share_memory", "mgrid", "ndenumerate", "ndindex", "ogrid", "packbits", "partition", "putmask", "r_", "real_if_close", "require", "resize",
    "shares_memory", "sort_complex", "unpackbits", "unwrap",
]  # fmt: skip


def insert(x, obj, values, /, axis=None):
    """A copy with values before places along an axis, None: of all elements. obj: an integer, a slice, integers or a mask; places are
    those of the array as it is. The values have the array's dtype, and are broadcast."""
    x = _array(x, _queue([values]))
    if axis is None:
        x, axis = _sw.reshape(x, -1), 0
    axis = _axis(axis, x.ndim)
    queue, extent = x.sycl_queue, x.shape[axis]
    values = _sw.astype(_array(values, queue), x.dtype, copy=False)
    values = values[(None,) * (x.ndim - values.ndim)] if values.ndim < x.ndim else values
    places = range(*obj.indices(extent)) if isinstance(obj, slice) else obj.tolist() if hasattr(obj, "tolist") else obj
    if not hasattr(places, "__iter__"):
        places, values = [places], _sw.moveaxis(values, 0, axis)
        count = values.shape[axis]
    else:
        places = list(places)
        if places and all(isinstance(place, bool) for place in places):
            if len(places) != extent:
                raise ValueError(f"invalid value: `obj` has {len(places)} conditions; expected one for each of {extent}")
            places = [place for place, there in enumerate(places) if there]
        count = len(places) if len(places) != 1 else values.shape[axis]
    found = []
    for place in places:
        if not hasattr(place, "__index__"):
            raise IndexError(f"`obj` has {place!r}; expected an integer, a slice, integers or a mask; help: round it first")
        if not -extent <= place <= extent:
            raise IndexError(f"out of range: `obj` has {place}; expected places of {-extent}..{extent}")
        found.append(place % extent if place < 0 else place)
    # Where the values come among the result's: each moves those behind it.
    order = sorted(range(len(found)), key=lambda k: found[k])
    if len(found) == 1:
        new = list(range(found[0], found[0] + count))
    else:
        new = [0] * len(found)
        for before, k in enumerate(order):
            new[k] = found[k] + before
    taken = set(new)
    shape = tuple(extent + len(new) if k == axis else each for k, each in enumerate(x.shape))
    made = _sw.empty(shape, dtype=x.dtype, usm_type=x.usm_type, sycl_queue=queue)
    if new:
        made[_part(axis, _sw.asarray(new, dtype="int64", sycl_queue=queue))] = _sw.broadcast_to(
            values, tuple(len(new) if k == axis else each for k, each in enumerate(x.shape))
        )
    if extent:
        made[_part(axis, _sw.asarray([k for k in range(shape[axis]) if k not in taken], dtype="int64", sycl_queue=queue))] = x
    return made


def block(arrays, /):
    """An array of nested lists of arrays: the innermost lists are joined along the last axis, those around them along the one before.
    Raises ValueError for lists of different depths and empty ones."""

    def depth(part):
        if isinstance(part, tuple):
            raise TypeError("`arrays` has a tuple; expected lists of arrays; help: make a list of it")
        if not isinstance(part, list):
            return 0, getattr(part, "ndim", None) if hasattr(part, "ndim") else _sw.asarray(part).ndim
        if not part:
            raise ValueError("invalid value: `arrays` has an empty list; expected one array at least in each")
        found = [depth(each) for each in part]
        if any(each[0] != found[0][0] for each in found):
            raise ValueError("invalid value: `arrays` has lists of different depths; expected one depth")
        return found[0][0] + 1, max(each[1] for each in found)

    lists, ndim = depth(arrays)
    ndim = max(lists, ndim)
    queue = _queue(_leaves(arrays))

    def joined(part, level):
        if level == lists:
            x = _array(part, queue)
            return x[(None,) * (ndim - x.ndim)] if x.ndim < ndim else x
        return _sw.concat([joined(each, level + 1) for each in part], axis=level - lists)

    made = joined(arrays, 0)
    return made if lists else _sw.copy(made)


def _leaves(part):
    if isinstance(part, (list, tuple)):
        for each in part:
            yield from _leaves(each)
    else:
        yield part


def apply_along_axis(func1d, axis, x, /, *args, **kwargs):
    """What a function makes of each of the parts of one dimension along an axis, which it gets as a view, with what comes after. Its
    results, all of one shape, are where the axis was. Raises ValueError where there are no such parts."""
    x = _array(x)
    axis = _axis(axis, x.ndim)
    rows, rest = _sw.moveaxis(x, axis, -1), x.shape[:axis] + x.shape[axis + 1 :]
    if 0 in rest:
        raise ValueError(f"invalid value: `x` is of shape {x.shape}; expected a part at least along axis {axis}")
    found = [_array(func1d(rows[place], *args, **kwargs), x.sycl_queue) for place in ndindex(*rest)]
    # The first result says of which dtype they are.
    made = _sw.stack([_sw.astype(each, found[0].dtype, copy=False) for each in found])
    inner = found[0].ndim
    made = _sw.reshape(made, rest + found[0].shape)
    return _sw.moveaxis(made, tuple(range(len(rest), len(rest) + inner)), tuple(range(axis, axis + inner)))


def apply_over_axes(func, x, axes, /):
    """What a function of an array and an axis makes of it, of its result and the next axis, and so on; axes that it takes away stay
    with an extent of 1."""
    x = _array(x)
    ndim = x.ndim
    for axis in axes if hasattr(axes, "__iter__") else (axes,):
        axis = _axis(int(axis), ndim)
        made = _array(func(x, axis), x.sycl_queue)
        if made.ndim == x.ndim - 1:
            made = _sw.expand_dims(made, axis=axis)
        if made.ndim != x.ndim:
            raise ValueError(f"invalid value: `func` makes {made.ndim} dimensions of {x.ndim}; expected as many, or one less")
        x = made
    return x


def choose(a, choices, /, out=None, mode="raise"):
    """For each element, which is a number of one of the choices, that one's element at its place; all are broadcast. mode: what becomes
    of other numbers, as for `take`."""
    queue = _queue([a, *choices]) if not isinstance(choices, _sw.usm_ndarray) else choices.sycl_queue
    # Numbers of Python's take the dtype of arrays.
    a, choices = _array(a, queue), [x if isinstance(x, (int, float, complex)) else _array(x, queue) for x in choices]
    if not choices:
        raise ValueError("invalid value: `choices` is empty; expected an array at least")
    dtype = _sw.result_type(*choices) if any(hasattr(x, "dtype") for x in choices) else None
    choices = [x if hasattr(x, "dtype") else _sw.asarray(x, dtype=dtype, sycl_queue=queue) for x in choices]
    if not _sw.isdtype(a.dtype, ("integral", "bool")):
        raise TypeError(f"dtype: `a` is of {a.dtype}; expected integers; help: convert them with astype")
    count = len(choices)
    a = _sw.astype(a, "int64")
    if mode == "wrap":
        a = a % count
    elif mode == "clip":
        a = _sw.clip(a, 0, count - 1)
    elif mode != "raise":
        raise ValueError(f"invalid value: `mode` is {mode!r}; expected 'raise', 'wrap' or 'clip'")
    elif a.size and bool(_sw.any((a < 0) | (a >= count))):
        raise ValueError(f"out of range: `a` has a number that is not in 0..{count}, the choices there are")
    shape, dtype = _sw.broadcast_shapes(a.shape, *(x.shape for x in choices)), _sw.result_type(*choices)
    stacked = _sw.stack([_sw.broadcast_to(_sw.astype(x, dtype, copy=False), shape) for x in choices])
    found = _sw.take_along_axis(stacked, _sw.broadcast_to(a, shape)[None], axis=0)[0]
    return _written(found, out)


def copyto(dst, src, /, casting="same_kind", where=True, *, progress=None):
    """Writes elements, which are broadcast, to an array, where a mask is true. casting: as for `can_cast`, whether the elements may be
    converted to the array's dtype; a TypeError where not. progress: a function that is called with how many bytes have been written and
    how many there are, a few times a second and at the end; what it raises ends the copy, of which a part is there then."""
    src = _array(src, dst.sycl_queue) if hasattr(src, "dtype") or isinstance(src, (list, tuple)) else src
    kind = src if hasattr(src, "dtype") else _sw.result_type(src, dst.dtype)
    if not _sw.can_cast(kind, dst.dtype, casting=casting):
        raise TypeError(f"dtype: `src` is of {getattr(kind, 'dtype', kind)}, which is not converted to {dst.dtype} with casting={casting!r}")
    if where is True:
        _assign(dst, src, progress)
        return
    source = _sw.astype(_array(src, dst.sycl_queue), dst.dtype, copy=False)
    # Extents of 1 in front that the target has not are left out, as NumPy does it.
    source = _sw.reshape(source, source.shape[source.ndim - dst.ndim :]) if source.ndim > dst.ndim else source
    mask = _array(where, dst.sycl_queue)
    if mask.dtype != _sw.bool:
        if mask.ndim:
            raise TypeError(f"dtype: `where` is of {mask.dtype}; expected bool; help: compare it with 0")
        mask = mask != 0
    _assign(dst, _sw.where(_sw.broadcast_to(mask, dst.shape), _sw.broadcast_to(source, dst.shape), dst), progress)


def _assign(dst, src, progress):
    """Writes elements to an array; in parts, where somebody wants to know how far that has come."""
    source = src if progress is None else _array(src, dst.sycl_queue)
    # Operands that do not go together are refused in the same words.
    if progress is None or source.sycl_queue != dst.sycl_queue or not dst.flags.writable:
        dst[...] = src
        return
    source = _sw.reshape(source, source.shape[source.ndim - dst.ndim :]) if source.ndim > dst.ndim else source
    source = _sw.copy(source) if may_share_memory(source, dst) else source
    _sw._native._copy_in_parts(_sw.broadcast_to(source, dst.shape), dst, progress)


def putmask(x, mask, values, /):
    """Writes to the elements at which a mask of the same shape is true the values at their places, which are repeated as needed."""
    values, mask = _sw.reshape(_array(values, x.sycl_queue), -1), _array(mask, x.sycl_queue)
    if mask.size != x.size:
        raise ValueError(f"shape mismatch: `mask` has {mask.size} elements; expected as many as the array, {x.size}")
    # Each element has its value, by its place among all, whatever the mask leaves out.
    if values.size and x.size:
        values = _sw.take(values, _sw.arange(x.size, sycl_queue=x.sycl_queue), mode="wrap") if values.size != x.size else values
        copyto(x, _sw.reshape(values, x.shape), "unsafe", _sw.reshape(_sw.astype(mask, _sw.bool), x.shape))


def partition(x, kth, /, axis=-1):
    """A copy in which the elements of the places `kth` along an axis are those of the sorted array, with none greater before them and
    none less behind: the sorted array. axis None: of all elements."""
    x = _array(x)
    x, axis = (_sw.reshape(x, -1), 0) if axis is None else (x, _axis(axis, x.ndim))
    extent = x.shape[axis]
    for place in kth if hasattr(kth, "__iter__") else (kth,):
        if not hasattr(place, "__index__"):
            raise TypeError(f"`kth` is {place!r}; expected an integer or a sequence of integers")
        place = _operator.index(place)
        if not -extent <= place < extent:
            raise ValueError(f"out of range: `kth` is {place}; expected places of {-extent}..{extent}")
    return _sw.sort(x, axis=axis)


def resize(x, new_shape, /):
    """An array of another shape of the elements in row-major order, which are repeated or left out as needed."""
    x = _sw.reshape(_array(x), -1)
    new_shape = tuple(new_shape) if hasattr(new_shape, "__iter__") else (new_shape,)
    if any(extent < 0 for extent in new_shape):
        raise ValueError(f"invalid value: `new_shape` is {new_shape}; expected no negative extent")
    count = _math.prod(new_shape)
    if not x.size or not count:
        return _sw.zeros(new_shape, dtype=x.dtype, usm_type=x.usm_type, sycl_queue=x.sycl_queue)
    return _sw.reshape(_sw.take(x, _sw.arange(count, sycl_queue=x.sycl_queue), mode="wrap"), new_shape)


def sort_complex(x, /):
    """The elements as complex numbers, sorted by their real parts, and by their imaginary parts where those are equal."""
    x = _array(x)
    if not _sw.isdtype(x.dtype, "complex floating"):
        narrow = x.dtype in (_sw.int8, _sw.uint8, _sw.int16, _sw.uint16, _sw.float16, _sw.float32)
        x = _sw.astype(x, "complex64" if narrow else "complex128")
    return _sw.sort(x)


def real_if_close(x, /, tol=100):
    """The real parts, where all imaginary parts are less than `tol` units of the dtype's eps, or, where it is 1 or less, than `tol`;
    else the numbers."""
    x = _array(x)
    if not _sw.isdtype(x.dtype, "complex floating"):
        return x
    bound = tol * _sw.finfo(x.dtype).eps if tol > 1 else tol
    return _sw.real(x) if bool(_sw.all(_sw.abs(_sw.imag(x)) < bound)) else x


def isfortran(x, /):
    """Whether the elements of an array are in column-major order, and not also in row-major order."""
    return bool(x.flags.f_contiguous and not x.flags.c_contiguous)


def require(obj, /, dtype=None, requirements=None):
    """An array with what is asked for: "C" or "F", its order; "W", that it can be written to; "O", memory of its own; "A" and "E", which all arrays
    are."""
    words = {"C_CONTIGUOUS": "C", "CONTIGUOUS": "C", "F_CONTIGUOUS": "F", "FORTRAN": "F", "WRITEABLE": "W", "OWNDATA": "O", "ALIGNED": "A", "ENSUREARRAY": "E"}
    asked = {words.get(word.upper(), word.upper()) for word in requirements or ()}
    if not asked <= set("CFWOAE") or {"C", "F"} <= asked:
        raise ValueError(f"invalid value: `requirements` is {requirements!r}; expected one of C and F, and W, O, A, E")
    order = "C" if "C" in asked else "F" if "F" in asked else "K"
    x = _sw.asarray(obj, dtype=dtype, order=order)
    return _sw.copy(x, order=order) if "W" in asked and not x.flags.writable or "O" in asked and x is obj else x


def _extent(x):
    """The first byte of an array's elements and the one after the last."""
    start = x._pointer
    low = high = 0
    for extent, stride in zip(x.shape, x.strides):
        reach = (extent - 1) * stride * x.itemsize
        low, high = low + min(reach, 0), high + max(reach, 0)
    return start + low, start + high + x.itemsize


def _asked_of_memory(x):
    return x if isinstance(x, _sw.usm_ndarray) else _sw.asarray(x, copy=False) if hasattr(x, "__array_interface__") else None


def may_share_memory(a, b, /, max_work=None):
    """Whether the bytes from the first to the last element of two arrays overlap."""
    a, b = _asked_of_memory(a), _asked_of_memory(b)
    if a is None or b is None or not a.size or not b.size:
        return False
    (first, end), (other, last) = _extent(a), _extent(b)
    return a.sycl_context == b.sycl_context and first < last and other < end


def shares_memory(a, b, /, max_work=None):
    """Whether two arrays have an element in the same memory. Their bytes are marked, so that it takes memory as from the first to the last."""
    if not may_share_memory(a, b):
        return False
    a, b = _asked_of_memory(a), _asked_of_memory(b)
    start = min(_extent(a)[0], _extent(b)[0])
    marked = bytearray(max(_extent(a)[1], _extent(b)[1]) - start)
    for x, found in ((a, None), (b, marked)):
        steps = [[place * stride * x.itemsize for place in range(extent)] for extent, stride in zip(x.shape, x.strides)]
        places = [x._pointer - start]
        for axis in steps:
            places = [place + step for place in places for step in axis]
        for place in places:
            if found is None:
                marked[place : place + x.itemsize] = bytes([1]) * x.itemsize
            elif any(marked[place : place + x.itemsize]):
                return True
    return False


def iterable(obj, /):
    """Whether an object can be gone over."""
    try:
        iter(obj)
    except TypeError:
        return False
    return True


def _bits(bitorder, queue):
    if bitorder not in ("big", "little"):
        raise ValueError(f"invalid value: `bitorder` is {bitorder!r}; expected 'big' or 'little'")
    places = range(7, -1, -1) if bitorder == "big" else range(8)
    return _sw.asarray([1 << place for place in places], dtype="uint8", sycl_queue=queue)


def packbits(x, /, axis=None, bitorder="big"):
    """Eight elements along an axis, None: of all, as the bits of one uint8, set where they are not zero; the last ones are filled up
    with zeros. bitorder: whether the first is the highest ("big") or the lowest one ("little")."""
    x = _array(x)
    if not _sw.isdtype(x.dtype, ("bool", "integral")):
        raise TypeError(f"dtype: `x` is of {x.dtype}; expected bool or integers; help: compare it with 0")
    if axis is None:
        x, axis = _sw.reshape(x, -1), 0
    axis = _axis(axis, x.ndim)
    x = _sw.astype(_sw.moveaxis(x, axis, -1) != 0, "uint8")
    extent = x.shape[-1]
    if extent % 8:
        x = _sw.concat([x, _sw.zeros((*x.shape[:-1], -extent % 8), dtype="uint8", sycl_queue=x.sycl_queue)], axis=-1)
    x = _sw.reshape(x, (*x.shape[:-1], -(-extent // 8), 8)) * _bits(bitorder, x.sycl_queue)
    return _sw.moveaxis(_sw.sum(x, axis=-1, dtype="uint8"), -1, axis)


def unpackbits(x, /, axis=None, count=None, bitorder="big"):
    """The bits of uint8 elements along an axis, None: of all, each as a uint8 of 0 or 1. count: how many of them; a negative number
    leaves so many out at the end. bitorder: as for `packbits`."""
    x = _array(x)
    if x.dtype != _sw.uint8:
        raise TypeError(f"dtype: `x` is of {x.dtype}; expected uint8")
    if axis is None:
        x, axis = _sw.reshape(x, -1), 0
    axis = _axis(axis, x.ndim)
    x = _sw.moveaxis(x, axis, -1)
    bits = _sw.astype((x[..., None] & _bits(bitorder, x.sycl_queue)) != 0, "uint8")
    bits = _sw.reshape(bits, (*x.shape[:-1], 8 * x.shape[-1]))
    if count is not None:
        extent = bits.shape[-1]
        if count < -extent:
            raise ValueError(f"invalid value: `count` is {count}; expected {-extent} or more, as there are {extent} bits")
        more = count - extent if count > extent else 0
        bits = bits[..., :count] if count < extent else bits
        if more:
            bits = _sw.concat([bits, _sw.zeros((*bits.shape[:-1], more), dtype="uint8", sycl_queue=x.sycl_queue)], axis=-1)
    return _sw.moveaxis(bits, -1, axis)


def unwrap(x, /, discont=None, axis=-1, *, period=2 * _math.pi):
    """Angles, or other numbers that wrap around, made to go on: where neighbours along an axis differ by more than `discont`, None for
    half a period, periods are added to what follows, so that they differ by half of one at most."""
    x = _array(x)
    axis = _axis(axis, x.ndim)
    steps = _sw.diff(x, axis=axis)
    discont = period / 2 if discont is None else discont
    whole = _sw.isdtype(_sw.result_type(steps, period), "integral")
    high, odd = divmod(period, 2) if whole else (period / 2, 0)
    turned = _sw.remainder(steps + high, period) - high
    if not odd:
        # Half a period up stays up.
        turned = _sw.where((turned == -high) & (steps > 0), high, turned)
    change = _sw.where(_sw.abs(steps) < discont, 0, turned - steps)
    made = _sw.astype(x, change.dtype)
    if x.shape[axis] > 1:
        made[_part(axis, slice(1, None))] = made[_part(axis, slice(1, None))] + _sw.cumulative_sum(change, axis=axis)
    return made


def fromfunction(function, shape, /, *, dtype=None, **kwargs):
    """What a function makes of the places of an array of a shape: it gets an array for each axis."""
    return function(*_sw.indices(shape, dtype=_sw.zeros(0).dtype if dtype is None else dtype), **kwargs)


def fromiter(iter, dtype, count=-1):
    """An array of the elements that are gone over; of so many, or, with a negative count, of all. Raises ValueError where there are
    less."""
    import itertools

    found = list(iter if count < 0 else itertools.islice(iter, count))
    if len(found) < count:
        raise ValueError(f"invalid value: `iter` has {len(found)} elements; expected {count}, as `count` says")
    return _sw.asarray(found, dtype=dtype) if found else _sw.empty(0, dtype=dtype)


def mask_indices(n, mask_func, /, k=0):
    """The places of a square matrix of n rows that a function as `triu` leaves other than zero: an array for each axis."""
    return _sw.nonzero(mask_func(_sw.ones((n, n), dtype="int64"), k))


class ndindex:
    """All places of an array of a shape, in row-major order: tuples of integers, one after another."""

    def __init__(self, *shape):
        import itertools
        import operator

        shape = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
        try:
            shape = tuple(operator.index(extent) for extent in shape)
        except TypeError:
            raise TypeError(f"`shape` is {shape!r}; expected integers, or a tuple of them; help: ndindex(*shape)") from None
        if any(not 0 <= extent < 2**63 for extent in shape):
            raise ValueError(f"invalid value: `shape` is {shape}; expected extents from 0 to 2**63 - 1")
        self._places = itertools.product(*(range(extent) for extent in shape))

    def __iter__(self):
        return self

    def __next__(self):
        return next(self._places)


class ndenumerate:
    """All places of an array with their elements, in row-major order: tuples (place, element)."""

    def __init__(self, x, /):
        x = _array(x)
        self._pairs = zip(ndindex(*x.shape), _sw.reshape(x, -1))

    def __iter__(self):
        return self

    def __next__(self):
        return next(self._pairs)


def _steps(part, typed=False):
    """The numbers of a slice: from start to stop by steps, or, with an imaginary step, so many, with the last one. typed: whether NumPy's
    floats say of which dtype they are, also without an imaginary step."""
    start, stop, step = 0 if part.start is None else part.start, part.stop, 1 if part.step is None else part.step
    # NumPy's floats have a dtype, which is that of the numbers, and its complex ones are not all Python's.
    kinds = [x.dtype for x in (start, stop, step) if getattr(getattr(x, "dtype", None), "kind", "") == "f"]
    dtype = _sw.result_type(*kinds, *(x for x in (start, stop) if type(x) in (int, float))) if kinds else None
    if isinstance(step, complex) or getattr(getattr(step, "dtype", None), "kind", "") == "c":
        return _sw.linspace(start, stop, int(abs(step)), dtype=dtype)
    return _sw.arange(start, stop, step, dtype=dtype if typed else None)


class _Grid:
    """Coordinates of a grid by slices: `mgrid[0:3, 0:1:5j]`; an imaginary step says how many numbers there are, with the last one."""

    def __init__(self, sparse):
        self._sparse = sparse

    def __getitem__(self, key):
        if not isinstance(key, tuple):
            return _steps(key)
        axes = [_steps(part, typed=True) for part in key]
        dtype = _sw.result_type(*axes)
        axes = [_sw.reshape(_sw.astype(x, dtype, copy=False), (1,) * k + (-1,) + (1,) * (len(axes) - k - 1)) for k, x in enumerate(axes)]
        if self._sparse:
            return tuple(axes)
        shape = tuple(x.size for x in axes)
        return _sw.stack([_sw.broadcast_to(x, shape) for x in axes])


mgrid, ogrid = _Grid(False), _Grid(True)


class _Joined:
    """Arrays, numbers and slices of numbers joined along an axis: `r_[1:4, 0, x]`. A text in front has up to three integers: the axis, how many
    dimensions there are at least, and where the axis of those of one dimension comes among these."""

    def __init__(self, axis=0, ndmin=1, place=-1):
        self._defaults = axis, ndmin, place

    def __getitem__(self, key):
        axis, ndmin, place = self._defaults
        key = key if isinstance(key, tuple) else (key,)
        if key and isinstance(key[0], str):
            try:
                numbers = [int(number) for number in key[0].split(",")]
                axis, ndmin, place = numbers + [axis, ndmin, place][len(numbers) :]
            except ValueError:
                raise ValueError(f"invalid value: the text is {key[0]!r}; expected up to three integers; help: there are no matrices apart from arrays") from None
            key = key[1:]
        if not key:
            raise ValueError("invalid value: there are no parts; expected one at least")
        queue, parts, numbers = _queue(key), [], []
        for part in key:
            one = isinstance(part, slice) or getattr(part, "ndim", None) == 1 or isinstance(part, (list, tuple)) and _array(part).ndim == 1
            if isinstance(part, slice):
                x = _steps(part)
                x = x if queue is None else _sw.asarray(x, sycl_queue=queue)
            elif hasattr(part, "ndim") or isinstance(part, (list, tuple)):
                x = _array(part, queue)
            else:
                x = _sw.asarray([part], sycl_queue=queue)
                numbers.append(part)
                parts.append((x[(None,) * (ndmin - 1)] if ndmin > 1 else x, True))
                continue
            if x.ndim < ndmin:
                missing = ndmin - x.ndim
                x = x[(None,) * missing]
                if one and place != -1:
                    x = _sw.moveaxis(x, -1, place)
            parts.append((x, False))
        # Numbers have no dtype of their own beside arrays.
        kinds = [x.dtype for x, number in parts if not number]
        dtype = _sw.result_type(*kinds, *numbers) if kinds else _sw.result_type(*(x.dtype for x, _ in parts))
        return _sw.concat([_sw.astype(x, dtype, copy=False) for x, _ in parts], axis=axis)


r_, c_ = _Joined(), _Joined(-1, 2, 0)


_explained(globals())
