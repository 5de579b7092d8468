"""NumPy's names for what the namespace has under those of the array API, and small functions that NumPy has beside them."""

import operator as _operator
from functools import update_wrapper as _update_wrapper

from . import _native as _sw
from ._arguments import explained as _explained
from ._operands import _array, _arrays, _converted, _inexact, _is_inexact, _queue, _sequence, _written

absolute = _sw.abs
amax, amin = _sw.max, _sw.min
arccos, arccosh = _sw.acos, _sw.acosh
arcsin, arcsinh = _sw.asin, _sw.asinh
arctan, arctan2, arctanh = _sw.atan, _sw.atan2, _sw.atanh
asanyarray = _sw.asarray
bitwise_not = invert = _sw.bitwise_invert
bool_ = _sw.bool
conjugate = _sw.conj
degrees, radians = _sw.rad2deg, _sw.deg2rad
fix = _sw.trunc
left_shift, right_shift = _sw.bitwise_left_shift, _sw.bitwise_right_shift
mod = _sw.remainder
power = _sw.pow
true_divide = _sw.divide


def _as_it_lies(order, x):
    """An array for elements in an order, and the order of its axes for them: with "K", its axes from the largest step to the least."""
    if order != "K" or x.flags.c_contiguous:
        return x, "C" if order == "K" else order
    axes = sorted(range(x.ndim), key=lambda axis: -abs(x.strides[axis]) if x.shape[axis] > 1 else 0)
    return _sw.permute_dims(x, axes), "C"


def _integer(name, value):
    """A number that counts something; 2.5 does not."""
    try:
        return _operator.index(value)
    except TypeError:
        raise TypeError(f"`{name}` is {value!r}; expected an integer; help: round it first") from None


def angle(z, /, deg=False):
    """The angles of complex numbers, from -π to π; with deg, in degrees. Of real numbers 0 and π."""
    z = _inexact(_array(z))
    angles = _sw.atan2(_sw.imag(z), _sw.real(z))
    return _sw.rad2deg(angles) if deg else angles


def append(x, values, /, axis=None):
    """The elements of x and then of values, joined along an axis; None: both flattened first. Dtypes are promoted."""
    return _sw.concat(_arrays((x, values)), axis=axis)


def round(x, /, decimals=0, out=None, *, order="K"):
    """The elements rounded to so many decimals, halves to even; a negative number rounds places before the point. out, order: as
    for all elementwise functions; order only without decimals."""
    decimals = _integer("decimals", decimals)
    if decimals == 0:
        return _sw.round(x, out=out, order=order)
    x = _array(x)
    if not _is_inexact(x):
        return _sw.positive(x if decimals > 0 or x.dtype == _sw.bool else _to_multiples(x, 10**-decimals), out=out)
    if abs(decimals) > 300:
        # No number has so many places before or behind the point.
        return _sw.positive(x if decimals > 0 else _sw.where(_sw.isfinite(x), x * 0.0, x), out=out)
    scale = 10.0 ** abs(decimals)
    # In 16 bits a number times a power of ten is soon infinite.
    wide = _sw.astype(x, "float32") if x.itemsize == 2 else x
    result = _sw.round(wide * scale) / scale if decimals > 0 else _sw.round(wide / scale) * scale
    # What is too large to be scaled has no such places.
    result = _sw.where(_sw.isfinite(result), result, wide) if decimals > 0 else result
    return _written(_sw.astype(result, x.dtype, copy=False), out)


around = round


def _to_multiples(x, scale):
    """Integers, each the nearest multiple of a power of ten, of two the even one; where the dtype has not that, the next one that it
    has. In their own dtype, so that none loses digits."""
    bounds = _sw.iinfo(x.dtype)
    if scale > bounds.max:
        return x * 0
    quotient, rest = x // scale, x % scale
    other = scale - rest
    up = (rest > other) | ((rest == other) & (quotient % 2 == 1))
    up = (up & (quotient < bounds.max // scale)) | (quotient < -(-bounds.min // scale))
    return (quotient + _sw.astype(up, x.dtype)) * scale


def array(obj, /, dtype=None, *, copy=True, order="K", ndmin=0, device=None, usm_type=None, sycl_queue=None, queue=None):
    """As `asarray`, with a copy unless copy says otherwise, and new axes in front up to so many dimensions."""
    made = _sw.asarray(
        obj, dtype=dtype, copy=copy if copy or hasattr(obj, "dtype") else None, order=order, device=device,
        usm_type=usm_type, sycl_queue=sycl_queue, queue=queue,
    )  # fmt: skip
    return made if made.ndim >= ndmin else made[(None,) * (ndmin - made.ndim)]


def array_equal(x1, x2, /, equal_nan=False):
    """Whether two arrays have the same shape and equal elements: True or False."""
    x1, x2 = _arrays((x1, x2))
    if x1.shape != x2.shape:
        return False
    same = _sw.equal(x1, x2)
    if equal_nan:
        same = _sw.logical_or(same, _sw.logical_and(_sw.isnan(x1), _sw.isnan(x2)))
    return bool(_sw.all(same))


def array_split(x, sections, /, axis=0):
    """Parts of an array along an axis, as views: so many, the first ones longer by one where that must be; or those between
    places."""
    x = _array(x)
    extent = x.shape[axis]
    try:
        sections = list(sections)
    except TypeError:
        count = _integer("sections", sections)
        if count < 1:
            raise ValueError(f"invalid value: `sections` is {count}; expected 1 or more") from None
        size, longer = divmod(extent, count)
        places = [size * part + min(part, longer) for part in range(1, count)]
    else:
        places = [_integer("sections", place) for place in sections]
    before = (slice(None),) * (axis % x.ndim)
    return [x[(*before, slice(start, stop))] for start, stop in zip([0, *places], [*places, None])]


def ascontiguousarray(obj, /, dtype=None):
    """The array in row-major order, itself where it is so; of one dimension at least."""
    return atleast_1d(_sw.asarray(obj, dtype=dtype, order="C"))


def asfortranarray(obj, /, dtype=None):
    """The array in column-major order, itself where it is so."""
    return _sw.asarray(obj, dtype=dtype, order="F")


def _each(arrays, change):
    changed = [change(x) for x in _arrays(arrays)]
    return changed[0] if len(changed) == 1 else tuple(changed)


def atleast_1d(*arrays):
    """Arrays with one dimension at least: views; a tuple of several."""
    return _each(arrays, lambda x: x if x.ndim else x[None])


def atleast_2d(*arrays):
    """Arrays with two dimensions at least, new ones in front: views; a tuple of several."""
    return _each(arrays, lambda x: x if x.ndim > 1 else x[(None,) * (2 - x.ndim)])


def atleast_3d(*arrays):
    """Arrays with three dimensions at least, as NumPy adds them: views; a tuple of several."""
    keys = {0: (None,) * 3, 1: (None, slice(None), None), 2: (..., None)}
    return _each(arrays, lambda x: x[keys[x.ndim]] if x.ndim < 3 else x)


def column_stack(arrays, /):
    """Arrays as the columns of a matrix; those of one dimension are a column."""
    return _sw.concat([x[:, None] if x.ndim == 1 else atleast_2d(x).T if not x.ndim else x for x in _sequence(arrays)], axis=1)


def cross(x1, x2, /, axisa=-1, axisb=-1, axisc=-1, axis=None):
    """The vector products of vectors of three elements along an axis of each, which comes where axisc says; axis stands for all
    three. Raises ValueError where there are not three elements."""
    axes = (axis,) * 3 if axis is not None else (axisa, axisb, axisc)
    x1, x2 = (_sw.moveaxis(x, k, -1) for x, k in zip(_arrays((x1, x2)), axes))
    return _sw.moveaxis(_sw._linalg.cross(x1, x2), -1, axes[2])


def cumprod(x, /, axis=None, dtype=None, out=None):
    """Running products along an axis; None: of all elements in row-major order."""
    return _running(_sw.cumulative_prod, x, axis, dtype, out)


def cumsum(x, /, axis=None, dtype=None, out=None):
    """Running sums along an axis; None: of all elements in row-major order."""
    return _running(_sw.cumulative_sum, x, axis, dtype, out)


def _running(fold, x, axis, dtype, out):
    if axis is None:
        x, axis = _sw.reshape(x, -1), 0
    return fold(x, axis=axis, dtype=dtype, out=out)


def diag(x, /, k=0):
    """The diagonal of a matrix, as a view; of a vector, the matrix that has it there and is zero elsewhere."""
    x = _array(x)
    if x.ndim != 1:
        return diagonal(x, k)
    size = x.shape[0] + abs(k)
    made = _sw.zeros((size, size), dtype=x.dtype, usm_type=x.usm_type, sycl_queue=x.sycl_queue)
    if x.shape[0]:
        _sw._linalg.diagonal(made, offset=k)[...] = x
    return made


def diagonal(x, /, offset=0, axis1=0, axis2=1):
    """A diagonal of the matrices of two axes, as a view, along the last axis of the result."""
    return _sw._linalg.diagonal(_sw.moveaxis(x, (axis1, axis2), (-2, -1)), offset=offset)


def dot(x1, x2, /, out=None):
    """The product of NumPy's `dot`: of vectors, the sum of products; of matrices, their product; with more dimensions, sums over
    the last axis of x1 and the last but one of x2; with a number, the multiple."""
    x1, x2 = _arrays((x1, x2))
    if not (x1.ndim and x2.ndim):
        return _sw.multiply(x1, x2, out=out)
    if x2.ndim <= 2:
        return _sw.matmul(x1, x2, out=out)
    return _written(_sw.tensordot(x1, x2, axes=(-1, -2)), out)


def dstack(arrays, /):
    """Arrays joined along the third axis, which they are given where they have none."""
    return _sw.concat([atleast_3d(x) for x in _sequence(arrays)], axis=2)


def fliplr(x, /):
    """A view with the columns in reverse order."""
    return _sw.flip(x, axis=1)


def flipud(x, /):
    """A view with the rows in reverse order."""
    return _sw.flip(x, axis=0)


def _but_nan(choose, x1, x2):
    """What is chosen of two elements, or the one that is not NaN."""
    chosen = choose(x1, x2)
    queue = _queue((x1, x2))
    x1, x2 = (x if isinstance(x, (int, float)) else _array(x, queue) for x in (x1, x2))
    for x, other in ((x1, x2), (x2, x1)):
        if not isinstance(x, (int, float)):
            chosen = _sw.where(_sw.isnan(x), other, chosen)
        elif x != x:
            chosen = _sw.astype(other, chosen.dtype)
    return chosen


def fmax(x1, x2, /):
    """The larger one of two elements, or the one that is not NaN."""
    return _but_nan(_sw.maximum, x1, x2)


def fmin(x1, x2, /):
    """The smaller one of two elements, or the one that is not NaN."""
    return _but_nan(_sw.minimum, x1, x2)


def geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0, *, device=None, usm_type=None, sycl_queue=None, queue=None):
    """So many numbers of equal ratios from start to stop, other than zero and of one sign, as `linspace` has the arguments; of complex
    numbers, along a spiral."""
    given = {"device": device, "usm_type": usm_type, "sycl_queue": sycl_queue, "queue": queue}
    given = {key: value for key, value in given.items() if value is not None} or {"sycl_queue": _queue((start, stop))}
    ends = [_inexact(x if isinstance(x, _sw.usm_ndarray) else _sw.asarray(x, **given)) for x in (start, stop)]
    ends = [_sw.astype(x, _sw.result_type(*ends), copy=False) for x in ends]
    signs = [_sw.sign(x) for x in ends]
    if bool(_sw.any(signs[0] == 0) | _sw.any(signs[1] == 0)) or not iscomplexobj(ends[0]) and bool(_sw.any(signs[0] != signs[1])):
        raise ValueError(f"invalid value: `start` is {start} and `stop` is {stop}; expected numbers other than zero and of one sign")
    made = logspace(*(_sw.log10(x / signs[0]) for x in ends), num, endpoint) * signs[0]
    # The ends are those that are asked for, whatever a power rounds to.
    if num > 0:
        made[0] = ends[0]
    if num > 1 and endpoint:
        made[-1] = ends[1]
    made = _sw.moveaxis(made, 0, axis)
    return made if dtype is None else _sw.astype(made, dtype, copy=False)


def _joined(join, arrays, axis, out, dtype, casting):
    """Arrays joined by a function, in a dtype or that of an array for the result, to which they may be converted."""
    if dtype is not None and out is not None:
        raise TypeError("invalid value: `dtype` is given beside `out`; expected one of them, for `out` has its dtype")
    arrays = _arrays(arrays)
    asked = _sw.dtype(dtype) if dtype is not None else out.dtype if out is not None else _sw.result_type(*arrays)
    return _written(join(_converted("array", arrays, asked, casting), axis=axis), out)


def concatenate(arrays, /, axis=0, out=None, *, dtype=None, casting="same_kind"):
    """Arrays joined along an axis; None: flattened first. dtype: that of the result, or that of `out`; casting: whether arrays may be
    converted to it, as for `can_cast`."""
    return _joined(_sw.concat, arrays, axis, out, dtype, casting)


def stack(arrays, /, axis=0, out=None, *, dtype=None, casting="same_kind"):
    """Arrays of one shape, joined along a new axis. out, dtype, casting: as for `concatenate`."""
    return _joined(_sw.stack, arrays, axis, out, dtype, casting)


def rint(x, /, *, out=None, order="K"):
    """The nearest integers, halves to even. out, order: as for all elementwise functions."""
    return _sw.round(x, out=out, order=order)


def heaviside(x1, x2, /):
    """0 where x1 is negative, 1 where it is positive, x2 where it is zero, and NaN where it is that."""
    x1 = _array(x1, _queue([x2])) * 1.0
    return _sw.where(x1 == 0, x2, _sw.where(_sw.isnan(x1), x1, _sw.astype(x1 > 0, x1.dtype)))


def hstack(arrays, /, *, dtype=None, casting="same_kind"):
    """Arrays joined along the second axis, or along the first where they have one. dtype, casting: as for `concatenate`."""
    arrays = [atleast_1d(x) for x in _sequence(arrays)]
    return concatenate(arrays, axis=1 if arrays and arrays[0].ndim > 1 else 0, dtype=dtype, casting=casting)


def fabs(x, /, out=None, *, order="K"):
    """The magnitudes of real numbers as floats; of integers in the default floating dtype. Raises TypeError for complex numbers."""
    x = _inexact(_array(x))
    if iscomplexobj(x):
        raise TypeError(f"dtype: `x` is {x.dtype}; expected real numbers; help: use abs, whose result is real")
    return _sw.abs(x, out=out, order=order)


def identity(n, /, dtype=None, *, device=None, usm_type=None, sycl_queue=None, queue=None):
    """A square matrix with ones on its diagonal, as `eye` makes it."""
    return _sw.eye(n, dtype=dtype, device=device, usm_type=usm_type, sycl_queue=sycl_queue, queue=queue)


def inner(x1, x2, /):
    """Sums of products over the last axes of both."""
    x1, x2 = _arrays((x1, x2))
    return _sw.multiply(x1, x2) if not (x1.ndim and x2.ndim) else _sw.tensordot(x1, x2, axes=(-1, -1))


def iscomplexobj(x, /):
    """Whether elements are complex numbers, whatever their imaginary parts."""
    return _sw.isdtype(getattr(x, "dtype", None) or _sw.asarray(x).dtype, "complex floating")


def isrealobj(x, /):
    """Whether elements are no complex numbers."""
    return not iscomplexobj(x)


def kron(x1, x2, /):
    """The Kronecker product: every element of x1 times x2."""
    return _sw._linalg.kron(*_arrays((x1, x2)))


def logspace(
    start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0, *, device=None, usm_type=None, sycl_queue=None, queue=None
):  # fmt: skip
    """So many powers of a base, whose exponents are at equal distances from start to stop, as `linspace` has the arguments. base: a number,
    or an array, which is broadcast with start and stop."""
    from ._wider import linspace

    if getattr(base, "ndim", 0) or isinstance(base, (list, tuple)):
        start, stop, base = _sw.broadcast_arrays(*_arrays((start, stop, base)))
        base = _sw.expand_dims(base, axis=axis)
    exponents = linspace(start, stop, num, endpoint, axis=axis, device=device, usm_type=usm_type, sycl_queue=sycl_queue, queue=queue)
    powers = _sw.pow(base if hasattr(base, "ndim") else _sw.full_like(exponents, base), exponents)
    return powers if dtype is None else _sw.astype(powers, dtype, copy=False)


def _without_nan(x, value):
    """The elements, with a value in the place of NaN, and whether there are such elements at all."""
    x = _array(x)
    if not _is_inexact(x):
        return x, None
    missing = _sw.isnan(x)
    return _sw.where(missing, value, x), missing


def _nan_place(fold, x, value, axis, out, keepdims):
    filled, missing = _without_nan(x, value)
    if missing is not None and bool(_sw.any(_sw.all(missing, axis=axis))):
        raise ValueError("invalid value: all elements along `axis` are NaN; expected one that is not")
    return _written(fold(filled, axis=axis, keepdims=keepdims), out)


def nanargmax(x, /, axis=None, out=None, keepdims=False):
    """The place of the largest element that is not NaN along an axis, or among all. Raises ValueError where all are NaN."""
    return _nan_place(_sw.argmax, x, -_sw.inf, axis, out, keepdims)


def nanargmin(x, /, axis=None, out=None, keepdims=False):
    """The place of the smallest element that is not NaN along an axis, or among all. Raises ValueError where all are NaN."""
    return _nan_place(_sw.argmin, x, _sw.inf, axis, out, keepdims)


def nancumprod(x, /, axis=None, dtype=None, out=None):
    """Running products as `cumprod`, with NaN as one."""
    return cumprod(_without_nan(x, 1)[0], axis, dtype, out)


def nancumsum(x, /, axis=None, dtype=None, out=None):
    """Running sums as `cumsum`, with NaN as zero."""
    return cumsum(_without_nan(x, 0)[0], axis, dtype, out)


def ndim(x, /):
    """The number of dimensions."""
    return x.ndim if hasattr(x, "ndim") else _sw.asarray(x).ndim


def outer(x1, x2, /):
    """All products of an element of one array with one of another, both flattened."""
    return _sw._linalg.outer(*(_sw.reshape(x, -1) for x in _arrays((x1, x2))))


def polyfit(x, y, deg, rcond=None, full=False, w=None, cov=False):
    """The coefficients, from the highest power on, of the polynomial of degree deg whose values at x come nearest to y: the sum of
    the squared distances, each times its weight w, is the least. y: as many values as x, or as many rows of values of several
    polynomials, whose coefficients are columns. Computed on the processor, as `linalg` is.

    rcond: the part of the largest singular value of the powers up to which others count as zero; None for as many eps as there
    are points. full: a tuple of the coefficients, the sums of the squared distances (none where the coefficients are not
    determined or the points no more than they), the rank, the singular values and rcond. cov: a tuple of the coefficients and their
    covariances, scaled by what the distances tell; "unscaled": of values whose variance is 1 over the squared weight.

    Warns with a RuntimeWarning where the points do not determine the coefficients, unless full. Raises ValueError for shapes
    that do not fit, a negative degree, and scaled covariances of no more points than coefficients.
    """
    queue = _queue((x, y, w))
    x, y, w = (one if one is None else _array(one, queue) for one in (x, y, w))
    found, residuals, rank, singular = _sw._linalg.polyfit(x, y, deg, w, rcond)
    rank, left = int(rank), x.shape[0] - (deg + 1)
    if full:
        known = _sw.reshape(residuals, -1)[: None if rank == deg + 1 and left > 0 else 0]
        default = max(x.shape[0], deg + 1) * _sw.finfo(singular.dtype).eps
        return found, known, rank, singular, default if rcond is None else rcond
    if rank != deg + 1:
        import warnings

        warnings.warn(f"the {x.shape[0]} points do not determine {deg + 1} coefficients", RuntimeWarning, stacklevel=2)
    if not cov:
        return found
    covariances = _sw._linalg.polyfit_covariance(x, deg, w)
    covariances = covariances if y.ndim == 1 else covariances[..., None]
    if cov == "unscaled":
        return found, covariances
    if left <= 0:
        raise ValueError(
            f"invalid value: `cov` is {cov!r} for {x.shape[0]} points and {deg + 1} coefficients; expected more points than "
            'coefficients; help: ask for "unscaled"'
        )
    return found, covariances * (residuals / left)


def piecewise(x, condlist, funclist, /, *args, **kw):
    """The elements by functions or values, each where its condition, an array of bool, is true; one more than conditions is for
    the rest, which is zero without one. A function is called with the elements in question, and what comes after."""
    x = _array(x)
    if isinstance(condlist, _sw.usm_ndarray) and condlist.ndim == x.ndim or not hasattr(condlist, "__len__"):
        condlist = [condlist]
    elif x.ndim and len(condlist) and isinstance(condlist[0], bool):
        condlist = [condlist]
    conditions = [_sw.astype(_array(condition), _sw.bool, copy=False) for condition in condlist]
    functions = list(funclist)
    if len(functions) == len(conditions) + 1:
        rest = _sw.zeros_like(x, dtype=_sw.bool)
        for condition in conditions:
            rest = _sw.logical_or(rest, condition)
        conditions.append(_sw.logical_not(rest))
    if len(functions) != len(conditions):
        raise ValueError(
            f"invalid value: `funclist` has {len(functions)} functions and `condlist` {len(conditions)} conditions; expected as "
            "many, or one function more"
        )
    made = _sw.zeros_like(x)
    for condition, function in zip(conditions, functions):
        made[condition] = function(x[condition], *args, **kw) if callable(function) else function
    return made


def ptp(x, /, axis=None, out=None, keepdims=False):
    """The largest element over axes less the smallest."""
    x = _array(x)
    least = _sw.min(x, axis=axis, keepdims=keepdims)
    return _sw.subtract(_sw.max(x, axis=axis, keepdims=keepdims), least, out=out)


def ravel(x, /, order="C"):
    """The elements in one dimension: a view where the strides allow it. order: as for `reshape`; "K" as the elements lie."""
    x, order = _as_it_lies(order, _array(x))
    return _sw.reshape(x, -1, order=order)


def rollaxis(x, axis, /, start=0):
    """A view with an axis moved to before another."""
    x = _array(x)
    axis, start = axis % x.ndim, start + x.ndim if start < 0 else start
    return _sw.moveaxis(x, axis, start - (axis < start))


def rot90(x, /, k=1, axes=(0, 1)):
    """A view with two axes turned by so many right angles, from the first towards the second one."""
    x = _array(x)
    first, second = axes
    if first % x.ndim == second % x.ndim:
        raise ValueError(f"invalid value: `axes` is {axes}; expected two axes that differ")
    match _integer("k", k) % 4:
        case 0:
            return x[...]
        case 1:
            return _sw.flip(_sw.swapaxes(x, first, second), axis=first)
        case 2:
            return _sw.flip(x, axis=(first, second))
        case _:
            return _sw.flip(_sw.swapaxes(x, first, second), axis=second)


def select(condlist, choicelist, /, default=0):
    """For each element, the choice of the first condition that holds there; the default where none does."""
    if len(condlist) != len(choicelist) or not condlist:
        raise ValueError(
            f"invalid value: `condlist` has {len(condlist)} and `choicelist` {len(choicelist)} arrays; expected as many, and one at least"
        )
    result = default
    for condition, choice in zip(condlist[::-1], choicelist[::-1]):
        result = _sw.where(condition, choice, result)
    return result


def shape(x, /):
    """The extents."""
    return x.shape if hasattr(x, "shape") else _sw.asarray(x).shape


def size(x, /, axis=None):
    """The number of elements, or the extent along an axis."""
    extents = shape(x)
    if axis is not None:
        return extents[axis]
    product = 1
    for extent in extents:
        product *= extent
    return product


def split(x, sections, /, axis=0):
    """As `array_split`; raises ValueError where there are not as many elements in each of so many parts."""
    x = _array(x)
    count = None if hasattr(sections, "__iter__") else _integer("sections", sections)
    if count and x.shape[axis] % count:
        raise ValueError(
            f"invalid value: `sections` is {count}; expected a divisor of the extent {x.shape[axis]}; help: use array_split"
        )
    return array_split(x, sections, axis=axis)


def trace(x, /, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    """The sum of a diagonal of the matrices of two axes."""
    matrices = _sw.moveaxis(x, (axis1, axis2), (-2, -1))
    return _written(_sw._linalg.trace(matrices, offset=offset, dtype=dtype), out)


def transpose(x, /, axes=None):
    """A view with the axes in reverse order, or in another one, as for `permute_dims`."""
    x = _array(x)
    return x.T if axes is None else _sw.permute_dims(x, axes)


def trapezoid(y, /, x=None, dx=1.0, axis=-1):
    """The integral along an axis by trapezoids: over places x, an array for the axis or for all elements, or places dx apart."""
    queue = _queue((y, x))
    y = _inexact(_array(y, queue))
    if x is not None:
        x = _inexact(_array(x, queue))
        dx = _sw.moveaxis(_sw.diff(x, axis=-1 if x.ndim == 1 else axis), -1 if x.ndim == 1 else axis, -1)
    y = _sw.moveaxis(y, axis, -1)
    return _sw.sum((y[..., 1:] + y[..., :-1]) * (dx / 2), axis=-1)


def vdot(x1, x2, /):
    """The sum of products of all elements, those of x1 conjugated."""
    return _sw.vecdot(*(_sw.reshape(x, -1) for x in _arrays((x1, x2))))


def vstack(arrays, /, *, dtype=None, casting="same_kind"):
    """Arrays joined along the first axis; those of one dimension are a row. dtype, casting: as for `concatenate`."""
    return concatenate([atleast_2d(x) for x in _sequence(arrays)], dtype=dtype, casting=casting)


_explained(globals())


def _quick(join, general):
    """A function that joins arrays, which costs little more than the engine's where it does what that does: then errors are the engine's."""

    first = 0

    def joined(arrays, /, axis=first, out=None, *, dtype=None, casting="same_kind"):
        if out is None and dtype is None and casting == "same_kind":
            # The default is one object: what is given is read by the engine, which takes its time.
            return join(arrays) if axis is first else join(arrays, axis=axis)
        return general(arrays, axis, out, dtype=dtype, casting=casting)

    return _update_wrapper(joined, general)


concatenate, stack = _quick(_sw.concat, concatenate), _quick(_sw.stack, stack)
__all__ = [name for name in dir() if not name.startswith("_")]
