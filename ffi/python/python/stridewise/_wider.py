"""Functions of the array API's namespace that take what NumPy's take beside it: steps, sparse grids, in place, other fillings."""

from . import _native as _sw
from ._arguments import explained as _explained
from ._operands import _array, _arrays, _is_inexact, _queue, _spread

_NATIVE_MODES = ("constant", "edge", "reflect", "symmetric", "wrap")


def average(x, /, axis=None, weights=None, returned=False, keepdims=False):
    """The mean over axes, with weights where they are given: of the shape of x, or of its axes that are named. returned: whether the sums
    of the weights come with it, as a tuple. Where they are 0, the mean is what dividing by 0 gives.

    Raises TypeError for weights of another shape without an axis, ValueError with one, OutOfBoundsError for an axis out of range or
    named twice.
    """
    if weights is not None:
        x = _array(x, _queue([weights]))
        one = isinstance(axis, int) and getattr(weights, "ndim", 0) == 1
        weights = weights if one else _spread(weights, x, axis)
    return _sw.average(x, axis, weights, returned, keepdims)


def bincount(x, /, weights=None, minlength=0):
    """How often each number from 0 on occurs, as int64, up to the largest, and of minlength numbers at least; with weights, one for each
    element, the sums of the weights in their order, in the default floating dtype.

    Raises ValueError for several dimensions, for negative numbers and where there are not as many weights, TypeError for other than
    integers and bool, MemoryError where there is no memory for so many.
    """
    # A list of none has no dtype.
    x = _sw.zeros(0, dtype="int64") if isinstance(x, (list, tuple)) and not x else x
    return _sw.bincount(x, weights, minlength)


def einsum(subscripts, /, *operands, dtype=None):
    """Sums of products by Einstein's notation: a letter for each axis of each operand, and behind "->" those of the result; without
    it, the letters that occur once, in alphabetical order. What the result does not name is summed, "..." stands for axes that are
    not named. dtype: the one to compute in, which the operands' are converted to where that loses nothing.

    Operands are multiplied from the left to the right; each product is summed over what nothing later names, as matmul sums.

    Raises ValueError for a notation that is none or extents that differ, TypeError for bool and a dtype that does not hold the operands.
    """
    if dtype is not None:
        operands = _arrays(operands)
        for place, x in enumerate(operands):
            if not _sw.can_cast(x, dtype):
                raise TypeError(
                    f"dtype: `operands[{place}]` is of {x.dtype}; expected what {_sw.dtype(dtype)} holds, as `dtype` says; help: convert it first"
                )
        operands = [_sw.astype(x, dtype, copy=False) for x in operands]
    return _sw.einsum(subscripts, *operands)


def eye(n_rows, n_cols=None, /, k=0, dtype=None, order="C", *, device=None, usm_type=None, sycl_queue=None, queue=None):
    """A matrix with ones on a diagonal, which is `k` columns to the right of the main one or to the left where negative, and
    zeros elsewhere. n_cols: as many as rows where None. Other arguments as for `zeros`.

    >>> sw.eye(2, dtype="int8").tolist()
    [[1, 0], [0, 1]]
    """
    return _sw.eye(n_rows, n_cols, k=k, dtype=dtype, order=order, device=device, usm_type=usm_type, sycl_queue=sycl_queue, queue=queue)


def histogram(x, /, bins=10, range=None, density=None, weights=None):
    """How many elements are in each bin, and the edges of the bins.

    bins: how many bins of equal width; their edges, in order, of which the last one belongs to its bin; or the rule that finds how
    many there are, as for `histogram_bin_edges`. range: the first and the last edge; None for the smallest and the largest element.
    density: numbers whose integral over the bins is 1. weights: what each element counts. Raises ValueError where there are not so many
    numbers between the first and the last edge.
    """
    if isinstance(bins, str):
        from . import _histograms

        bins, range = _histograms.count_by(_histograms._elements(x), bins, range, weights)
    elif range is not None and not isinstance(range, tuple):
        # Ends of a wider dtype are exact.
        if hasattr(range, "dtype") and _sw.isdtype(_sw.dtype(range.dtype), "real floating"):
            x = _array(x, _queue([range]))
            x = _sw.astype(x, _sw.result_type(x, _sw.dtype(range.dtype)), copy=False)
        range = tuple(range)
    counts, edges = _sw.histogram(x, bins, range, density, weights)
    return counts, edges if _is_many(bins) else _apart(edges, bins)


def _is_many(bins):
    return isinstance(bins, (list, tuple)) or getattr(bins, "ndim", 0) > 0


def _apart(edges, bins):
    """The edges of so many bins, which differ."""
    if bool(_sw.any(edges[:-1] >= edges[1:])):
        raise ValueError(
            f"invalid value: `bins` is {bins}; expected fewer, as there are not so many numbers of {edges.dtype} from {edges[0].tolist()} to "
            f"{edges[-1].tolist()}; help: ask for fewer, or convert to a wider dtype"
        )
    return edges


def linspace(
    start, stop, /, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *, device=None, usm_type=None, sycl_queue=None, queue=None
):
    """`num` numbers at equal distances from `start` to `stop`, both included; without `endpoint`, without `stop`.

    dtype: the default floating dtype where None, or the default complex one for complex numbers; of integers, numbers are
    rounded down. retstep: a tuple of them and of the distance. Of arrays of several starts and stops, which are broadcast, the numbers
    are along `axis`. Raises ValueError for a negative `num`.

    >>> sw.linspace(0, 1, 5).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    options = {"dtype": dtype, "device": device, "usm_type": usm_type, "sycl_queue": sycl_queue, "queue": queue}
    if getattr(start, "ndim", 0) or getattr(stop, "ndim", 0) or isinstance(start, (list, tuple)) or isinstance(stop, (list, tuple)):
        made, step = _between(start, stop, num, endpoint, axis, options)
        return (made, step) if retstep else made
    made = _sw.linspace(start, stop, num, endpoint=endpoint, **options)
    if not retstep:
        return made
    parts = made.shape[0] - bool(endpoint)
    return made, (stop - start) / parts if parts > 0 else float("nan")


def _between(start, stop, num, endpoint, axis, options):
    """Numbers between the elements of arrays, and their distances."""
    given = {key: value for key, value in options.items() if value is not None and key != "dtype"}
    dtype = options["dtype"]
    queue = _queue((start, stop))
    start, stop = (x if isinstance(x, _sw.usm_ndarray) else _sw.asarray(x, **(given or {"sycl_queue": queue})) for x in (start, stop))
    start, stop = start / 1 if _sw.isdtype(start.dtype, ("integral", "bool")) else start, stop
    step = stop - start
    shape = step.shape
    # Places and not distances are multiplied, as of numbers.
    places = _sw.linspace(0, num - 1 if num > 0 else 0, num, dtype=_sw.real(step).dtype if _sw.isdtype(step.dtype, "complex floating") else step.dtype, sycl_queue=step.sycl_queue)
    parts = num - bool(endpoint)
    step = step / parts if parts > 0 else step * float("nan")
    places = _sw.reshape(places, (-1,) + (1,) * len(shape))
    made = start + places * step if parts > 0 else _sw.broadcast_to(start, (num, *shape)) + places
    if endpoint and num > 1:
        made[-1] = stop
    if dtype is not None:
        made = _sw.astype(_sw.floor(made) if _sw.isdtype(_sw.dtype(dtype), "integral") else made, dtype, copy=False)
    return _sw.moveaxis(made, 0, axis), step


def load(file, mmap_mode=None, *, device=None, usm_type=None, sycl_queue=None, queue=None):
    """Reads an .npy file to an array; with mmap_mode, maps it as `memmap` does: "r", "c" or "r+".

    file: a path, or a file that is open for reading bytes, which is read from where it stands and is not mapped. usm_type: "device", "shared" or
    "host"; None: shared where the device has such memory of its own, else device. device: a Device, a Queue or a filter string; sycl_queue,
    queue: a Queue. Nothing is ever unpickled.

    Raises OSError for a file that cannot be read, is no .npy file, shorter than it says, or has elements that there is no
    dtype for; ValueError for a mode that is none, and for mapped memory of another kind than shared.
    """
    if not hasattr(file, "read"):
        return _sw.load(file, mmap_mode, device=device, usm_type=usm_type, sycl_queue=sycl_queue, queue=queue)
    if mmap_mode is not None:
        raise ValueError(f"invalid value: `mmap_mode` is {mmap_mode!r} of an open file; expected None, or a path as `file`")
    from ._files import read_npy

    return read_npy(file, device=device, usm_type=usm_type, sycl_queue=sycl_queue, queue=queue)


def _quantiles(name, x, q, axis, out, method, keepdims, weights):
    """The engine's quantiles; those that it has not, and integers that stay, are made of its sorts."""
    stays = method in ("linear", "midpoint") or isinstance(x, _sw.usm_ndarray) and _is_inexact(x) and method in ("lower", "higher", "nearest")
    if weights is None and stays:
        return getattr(_sw, name)(x, q, axis, out, method=method, keepdims=keepdims)
    from ._quantiles import quantiles

    return quantiles(x, q, 100 if name.endswith("percentile") else 1, axis, out, method, keepdims, weights, name.startswith("nan"))


def nanpercentile(x, /, q, axis=None, out=None, *, method="linear", keepdims=False, weights=None):
    """The numbers that percentages of the elements that are not NaN over axes are not above; NaN of none. Arguments as for `quantile`,
    with q from 0 to 100."""
    return _quantiles("nanpercentile", x, q, axis, out, method, keepdims, weights)


def nanquantile(x, /, q, axis=None, out=None, *, method="linear", keepdims=False, weights=None):
    """The numbers that parts of the elements that are not NaN over axes are not above; NaN of none. Arguments as for `quantile`."""
    return _quantiles("nanquantile", x, q, axis, out, method, keepdims, weights)


def put_along_axis(x, /, indices, values, axis=-1, *, mode="raise"):
    """Writes values, an array, a list or a number that broadcasts to the shape of the `take_along_axis` with the same arguments, to
    its elements; without an axis, to those of all elements in row-major order. Errors as for `put`."""
    if axis is None:
        _sw.put(x, _row("indices", indices, x), values, mode=mode)
    else:
        _sw.put_along_axis(x, indices, values, axis, mode=mode)


def take_along_axis(x, indices, /, axis=-1, *, out=None, mode="raise"):
    """The elements at places along an axis, one place for each element of the result. Shapes are broadcast but for the axis,
    whose extent is the indices'; without an axis, of all elements in row-major order. Arguments and errors as for `take`; ValueError where
    the shapes do not broadcast."""
    if axis is None:
        x = _array(x, _queue([indices]))
        return _sw.take(_sw.reshape(x, -1), _row("indices", indices, x), out=out, mode=mode)
    return _sw.take_along_axis(x, indices, axis, out=out, mode=mode)


def _row(name, places, x):
    """Places among all elements, in one dimension."""
    places = _array(places, _queue([x]))
    if places.ndim != 1:
        raise ValueError(f"invalid value: `{name}` has {places.ndim} dimensions and `axis` is None; expected one")
    return places


def percentile(x, /, q, axis=None, out=None, *, method="linear", keepdims=False, weights=None):
    """The numbers that percentages of the elements over axes are not above; NaN where an element is. Arguments as for `quantile`, with q
    from 0 to 100."""
    return _quantiles("percentile", x, q, axis, out, method, keepdims, weights)


def quantile(x, /, q, axis=None, out=None, *, method="linear", keepdims=False, weights=None):
    """The numbers that parts of the elements over axes are not above; NaN where an element is.

    q: a number or numbers from 0 to 1, whose dimensions come first. axis: an axis, several, None: all. out: an array to write to. method:
    what is taken between two elements, "linear", "lower", "higher", "midpoint", "nearest", or another of NumPy's: "inverted_cdf",
    "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased" and
    "normal_unbiased". Where an element is taken, integers stay; else they become the default floating dtype. weights: what each element
    counts, of the shape of x or of its axes, with "inverted_cdf" alone.

    Raises OutOfBoundsError for an axis out of range or named twice, ValueError for other parts and methods, and for weights that are
    negative, not finite or none above 0, TypeError for complex numbers.

    >>> float(sw.quantile(sw.asarray([1.0, 2.0, 4.0, 8.0]), 0.5))
    3.0
    >>> int(sw.quantile(sw.asarray([1, 2, 4, 8]), 0.5, method="inverted_cdf", weights=[1, 1, 1, 5]))
    8
    """
    return _quantiles("quantile", x, q, axis, out, method, keepdims, weights)


def save(file, arr):
    """Writes an array to an .npy file, in place of what is there. As NumPy does it, a name without the ending .npy gets it. The file is
    written beside the old one and renamed over it when it is whole: a failure leaves what was there, and arrays that are mapped of
    it keep their elements.

    file: a path, or a file that is open for writing bytes, which is written from where it stands. Raises TypeError for bfloat16, which such
    files lack; OSError where the file cannot be written, or is mapped by an array whose changes go to it, with "r+" or "w+".
    """
    if not hasattr(file, "write"):
        return _sw.save(file, arr)
    from ._files import write_npy

    write_npy(file, arr)


def meshgrid(*arrays, indexing="xy", sparse=False, copy=False):
    """The coordinates of a grid: for arrays of one dimension (or none), as many arrays of the grid's shape, each of which
    repeats the elements of one along an axis; read-only views. indexing: "xy", the first array runs along axis 1 and the
    second along axis 0; or "ij", array `k` runs along axis `k`. sparse: each array has its elements along its axis alone, and extents
    of 1, so that together they are broadcast to the grid. copy: arrays with memory of their own.

    >>> x, y = sw.meshgrid(sw.arange(2), sw.arange(3))
    >>> x.tolist()
    [[0, 1], [0, 1], [0, 1]]
    """
    made = _grids(arrays, indexing)
    if sparse:
        # Of the whole grid, each array has what is not repeated.
        made = tuple(
            grid[tuple(slice(None) if axis == _axis_of(place, indexing, len(arrays)) else slice(0, 1) for axis in range(grid.ndim))]
            for place, grid in enumerate(made)
        )
    return tuple(_sw.copy(x) for x in made) if copy else made


def _grids(arrays, indexing):
    arrays = _arrays(arrays)
    if len({x.dtype.name for x in arrays}) < 2:
        return _sw.meshgrid(*arrays, indexing=indexing)
    # Each keeps its dtype: what grids of one dtype there are of their places chooses.
    places = _sw.meshgrid(*(_sw.arange(x.size, sycl_queue=x.sycl_queue) for x in arrays), indexing=indexing)
    return tuple(_sw.take(_sw.reshape(x, -1), place) for x, place in zip(arrays, places))


def _axis_of(place, indexing, count):
    return 1 - place if indexing == "xy" and place < 2 and count > 1 else place


def nan_to_num(x, /, copy=True, nan=0.0, posinf=None, neginf=None):
    """The numbers with others in place of NaN, inf and -inf: by default 0, the largest finite number of the dtype and the
    smallest; of complex numbers, of each part. Integers stay. Elementwise, recorded. copy: False writes them to the array itself."""
    found = _sw.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)
    if copy:
        return found
    x[...] = found
    return x


def pad(x, pad_width, /, mode="constant", *, constant_values=0, end_values=0, stat_length=None, reflect_type="even"):
    """An array with others' elements before and behind its own along each axis.

    pad_width: how many, one number for all, (before, behind) for all axes, such a pair for each, or a dictionary of axes. mode:
    "constant", `constant_values`, one number for all or as `pad_width`; "edge", the outermost elements; "reflect", the elements
    mirrored at the outermost ones; "symmetric", mirrored at the edges; "wrap", the elements of the other end; "linear_ramp", numbers
    from the edge to `end_values`; "maximum", "mean", "median", "minimum", of the `stat_length` elements next to the edge, None for all
    along the axis; "empty", whatever is in memory. reflect_type: "odd" mirrors what mirrors do at a point: twice the edge less them.
    """
    if isinstance(pad_width, (list, tuple)) and any(isinstance(pair, (list, tuple)) and len(pair) == 1 for pair in pad_width):
        # One number for both sides of an axis.
        from ._padding import _pairs

        x = _array(x)
        pad_width = _pairs("pad_width", pad_width, x.ndim)
    if mode in _NATIVE_MODES and reflect_type == "even" and stat_length is None:
        # 0 is a number of every dtype where nobody says it, of bool, too.
        given = {} if type(constant_values) is int and constant_values == 0 else {"constant_values": constant_values}
        return _sw.pad(x, pad_width, mode, **given)
    from ._padding import pad_otherwise

    return pad_otherwise(_array(x), pad_width, mode, end_values, stat_length, reflect_type)


__all__ = [
    "average", "bincount", "einsum", "eye", "histogram", "linspace", "load", "meshgrid", "nan_to_num", "nanpercentile", "nanquantile", "pad",
    "percentile", "put_along_axis", "quantile", "save", "take_along_axis",
]  # fmt: skip


_explained(globals())
