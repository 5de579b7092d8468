"""Functions of the array API's namespace that take what NumPy's take beside it: steps, sparse grids, in place, other fillings."""

from . import _native as _sw
from ._arguments import explained as _explained
from ._operands import _array, _is_inexact, _queue

_NATIVE_MODES = ("constant", "edge", "reflect", "symmetric", "wrap")


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
    density: numbers whose integral over the bins is 1. weights: what each element counts.
    """
    if isinstance(bins, str):
        from . import _histograms

        bins, range = _histograms.count_by(_histograms._elements(x), bins, range, weights)
    elif range is not None and not isinstance(range, tuple):
        range = tuple(range)
    return _sw.histogram(x, bins, range, density, weights)


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
    if not sparse:
        made = _sw.meshgrid(*arrays, indexing=indexing)
    else:
        # As for the whole grid, of which each array has what is not repeated.
        made = tuple(
            grid[tuple(slice(None) if axis == _axis_of(place, indexing, len(arrays)) else slice(0, 1) for axis in range(grid.ndim))]
            for place, grid in enumerate(_sw.meshgrid(*arrays, indexing=indexing))
        )
    return tuple(_sw.copy(x) for x in made) if copy else made


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
    "eye", "histogram", "linspace", "load", "meshgrid", "nan_to_num", "nanpercentile", "nanquantile", "pad", "percentile", "quantile", "save",
]  # fmt: skip


_explained(globals())
