"""Functions of the array API's namespace that take what NumPy's take beside it: steps, sparse grids, in place, other fillings."""

from . import _native as _sw
from ._arguments import explained as _explained
from ._operands import _array, _arrays, _converted, _is_inexact, _queue, _spread, _written

_NATIVE_MODES = ("constant", "edge", "reflect", "symmetric", "wrap")


def corrcoef(x, y=None, rowvar=True, *, dtype=None):
    """The correlation coefficients of the variables that the rows of a matrix are, or its columns where rowvar is False; of `y`, too,
    which has as many observations. dtype: what they are computed in."""
    return _sw.corrcoef(_as(x, dtype), _as(y, dtype), rowvar=rowvar)


def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
    """The covariances of the variables that the rows of a matrix are, or its columns where rowvar is False; of `y`, too, which has as
    many observations.

    bias: divides by the number of observations, not by one less; ddof: by so many less. fweights: how often each observation is there,
    integers; aweights: how much it weighs, by which the sums of products are divided. dtype: what they are computed in.
    """
    m, y = _as(m, dtype), _as(y, dtype)
    if ddof is not None and ddof != int(ddof):
        raise ValueError(f"invalid value: `ddof` is {ddof!r}; expected an integer")
    ddof = (0 if bias else 1) if ddof is None else ddof
    if fweights is None and aweights is None:
        return _sw.cov(m, y, rowvar=rowvar, ddof=ddof)
    return _weighted_cov(_array(m), y, rowvar, ddof, fweights, aweights)


def _as(x, dtype):
    """An array in a dtype, if one is named."""
    return x if x is None or dtype is None else _sw.astype(_array(x), dtype, copy=False)


def _weighted_cov(m, y, rowvar, ddof, fweights, aweights):
    """Covariances of observations that weigh."""
    rows = [x if x.ndim > 1 and rowvar else x.T if x.ndim > 1 else _sw.reshape(x, (1, -1)) for x in (m, *([] if y is None else [_array(y, m.sycl_queue)]))]
    x = rows[0] if len(rows) == 1 else _sw.concat(rows)
    x = x if _is_inexact(x) else x / 1
    weights = None
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is None:
            continue
        given = _array(given, m.sycl_queue)
        if given.ndim != 1 or given.shape[0] != x.shape[1]:
            raise ValueError(f"shape mismatch: `{name}` is of shape {given.shape}; expected one number for each of {x.shape[1]} observations")
        if name == "fweights" and not _sw.isdtype(given.dtype, ("integral", "bool")) and not bool(_sw.all(given == _sw.round(given))):
            raise TypeError("dtype: `fweights` has a fraction; expected integers: how often each observation is there")
        if bool(_sw.any(given < 0)):
            raise ValueError(f"out of range: `{name}` has a number below 0; expected none")
        weights = given / 1 if weights is None else weights * given
    total = _sw.sum(weights)
    mean = _sw.sum(x * weights, axis=1, keepdims=True) / total
    if aweights is None or ddof == 0:
        factor = total - ddof if ddof else total
    else:
        factor = total - ddof * _sw.sum(weights * _array(aweights, m.sycl_queue)) / total
    x = x - mean
    # Of no more observations than are subtracted there is no number.
    found = _sw.matmul(x, _sw.conj((x * weights).T)) / _sw.maximum(factor, 0)
    return _sw.reshape(found, ()) if found.size == 1 else found


def einsum(subscripts, /, *operands, out=None, dtype=None, order="K", casting="safe", optimize=False):
    """A sum of products, whose indices letters name: "ij,jk->ik" is a product of matrices. Letters that the result lacks are summed over;
    `...` stands for the dimensions that have no letters. Without "->" the result has those that stand once, in their order.

    An array with a list of numbers behind it, and so on, is another form: its dimensions by numbers, and those of the result last. out: an array
    for the result. dtype: what is computed in; casting: whether operands may be converted to it, as for `can_cast`. order: "K" or "C"; "F"
    lays out the result by columns. optimize: taken, and changes nothing.

    >>> a, b = sw.arange(6).reshape(2, 3), sw.arange(3)
    >>> sw.einsum("ij,j->i", a, b).tolist()
    [5, 14]
    """
    if not isinstance(subscripts, str):
        subscripts, operands = _by_letters((subscripts, *operands))
    operands = _arrays(operands)
    if dtype is None and out is not None and operands:
        dtype = _sw.result_type(*operands, out)
    if dtype is not None:
        operands = _converted("operand", operands, dtype, casting)
    # Elements are added in their own dtype; of bool, a sum is whether any is true.
    own = _sw.result_type(*operands) if operands else None
    result = _sw.einsum(subscripts, *(_sw.astype(x, "int64") if own == _sw.bool else x for x in operands))
    if own is not None:
        result = _sw.astype(result, own, copy=False)
    if out is not None:
        return _written(*_converted("result", [result], out.dtype, casting), out)
    return _sw.copy(result, order="F") if order == "F" else result


def _by_letters(given):
    """Operands with lists of numbers, as a text and operands."""
    operands, lists = given[0:-1:2] if len(given) % 2 else given[::2], given[1::2]
    result = given[-1] if len(given) % 2 else None
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

    def text(numbers):
        numbers = numbers.tolist() if hasattr(numbers, "tolist") else numbers
        if not isinstance(numbers, (list, tuple)):
            raise TypeError(f"`subscripts` is {numbers!r}; expected a text, or arrays with lists of numbers behind them")
        if any(one is not Ellipsis and not (isinstance(one, int) and 0 <= one < 52) for one in numbers):
            raise ValueError(f"invalid value: `subscripts` has {numbers!r}; expected numbers from 0 to 51, and `...`")
        return "".join("..." if one is Ellipsis else letters[one] for one in numbers)

    found = ",".join(map(text, lists))
    return (found if result is None else f"{found}->{text(result)}"), operands


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


def interp(x, xp, fp, /, left=None, right=None, period=None):
    """The values at x of the line through points: xp, their coordinates, which increase, and fp, their values, both of one dimension, in
    the default floating dtype; of complex values, in the default complex one. left, right: the values before the first point and behind
    the last, by default those points'. period: with one, coordinates may be in any order and repeat. At a place that is NaN the value is NaN,
    of a single point, too, where NumPy's is that point's.

    Raises ValueError where xp and fp differ in length, TypeError for complex coordinates.
    """
    x, xp, fp = _arrays((x, xp, fp))
    if not _sw.isdtype(fp.dtype, "complex floating"):
        return _sw.interp(x, xp, fp, left=left, right=right, period=period)

    def of(part):
        ends = (None if end is None else getattr(complex(end), part) for end in (left, right))
        return _sw.interp(x, xp, getattr(fp, part), **dict(zip(("left", "right"), ends)), period=period)

    real, imag = of("real"), of("imag")
    made = _sw.empty(real.shape, dtype=_sw.result_type(real, _sw.complex64), usm_type=real.usm_type, sycl_queue=real.sycl_queue)
    made.real[...], made.imag[...] = real, imag
    return made


def isin(x1, x2, /, assume_unique=False, invert=False, *, kind=None):
    """Where elements of one array are among those of another one, or, with invert, where they are not. assume_unique, kind ("sort" or
    "table"): NumPy's, which change nothing."""
    if kind not in (None, "sort", "table"):
        raise ValueError(f'invalid value: `kind` is {kind!r}; expected None, "sort" or "table"')
    return _sw.isin(x1, x2, invert=invert)


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
    # An array of one number has its dtype, too.
    if not all(isinstance(x, (int, float, complex)) for x in (start, stop)):
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
    given = given or {"sycl_queue": _queue((start, stop))}
    # A number of Python's has no dtype of its own.
    start, stop = (x if isinstance(x, (int, float, complex)) else _sw.asarray(x, **given) for x in (start, stop))
    common = _sw.result_type(start, stop)
    start, stop = (_sw.asarray(x, dtype=common, **given) for x in (start, stop))
    if not _is_inexact(start):
        start, stop = start / 1, stop / 1
    step = stop - start
    shape = step.shape
    # Places and not distances are multiplied, as of numbers.
    real = _sw.real(step).dtype if _sw.isdtype(step.dtype, "complex floating") else step.dtype
    places = _sw.linspace(0, num - 1 if num > 0 else 0, num, dtype=real, sycl_queue=step.sycl_queue)
    parts = num - bool(endpoint)
    step = step / parts if parts > 0 else step * float("nan")
    places = _sw.reshape(places, (-1,) + (1,) * len(shape))
    made = start + places * step if parts > 0 else _sw.broadcast_to(start, (num, *shape)) + places
    if endpoint and num > 1:
        made[-1] = stop
    if dtype is not None:
        made = _sw.astype(_sw.floor(made) if _sw.isdtype(_sw.dtype(dtype), "integral") else made, dtype, copy=False)
    return _sw.moveaxis(made, 0, axis), step


def load(file, mmap_mode=None, *, device=None, usm_type=None, sycl_queue=None, queue=None, progress=None):
    """Reads an .npy file to an array; with mmap_mode, maps it as `memmap` does: "r", "c" or "r+".

    file: a path, or a file that is open for reading bytes, which is read from where it stands and is not mapped. usm_type: "device", "shared" or
    "host"; None: shared where the device has such memory of its own, else device. device: a Device, a Queue or a filter string; sycl_queue,
    queue: a Queue. Nothing is ever unpickled.

    progress: a function that is called with how many bytes of elements have been read and how many there are, a few times a second and at the
    end. What it raises ends the call.

    Raises OSError for a file that cannot be read, is no .npy file, shorter than it says, or has elements that there is no
    dtype for; ValueError for a mode that is none, for mapped memory of another kind than shared, and for progress of mapping.
    """
    if not hasattr(file, "read"):
        return _sw.load(file, mmap_mode, device=device, usm_type=usm_type, sycl_queue=sycl_queue, queue=queue, progress=progress)
    if mmap_mode is not None:
        raise ValueError(f"invalid value: `mmap_mode` is {mmap_mode!r} of an open file; expected None, or a path as `file`")
    from ._files import read_npy

    return read_npy(file, progress, device=device, usm_type=usm_type, sycl_queue=sycl_queue, queue=queue)


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


def save(file, arr, *, progress=None):
    """Writes an array to an .npy file, in place of what is there. As NumPy does it, a name without the ending .npy gets it. The file is
    written beside the old one and renamed over it when it is whole: a failure leaves what was there, and arrays that are mapped of
    it keep their elements.

    file: a path, or a file that is open for writing bytes, which is written from where it stands. progress: a function that is called with how
    many bytes of elements have been written and how many there are, a few times a second and at the end, before the file is in its place.
    What it raises ends the call, and what was there stays; of an open file, what was written until then. Raises TypeError for bfloat16, which
    such files lack; OSError where the file cannot be written, or is mapped by an array whose changes go to it, with "r+" or "w+".
    """
    if not hasattr(file, "write"):
        return _sw.save(file, arr, progress=progress)
    from ._files import News, write_npy

    news = News(progress, getattr(arr, "nbytes", 0))
    write_npy(file, arr, news)
    news.end()


def median(x, /, axis=None, out=None, keepdims=False, *, overwrite_input=False):
    """The middle of the elements in order, or the mean of the two there, along an axis or axes; NaN where one is NaN. overwrite_input:
    taken, and changes nothing."""
    return _sw.median(x, axis, out, keepdims)


def nanmedian(x, /, axis=None, out=None, keepdims=False, *, overwrite_input=False):
    """As `median`, of the elements that are not NaN."""
    return _sw.nanmedian(x, axis, out, keepdims)


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
    "average", "bincount", "corrcoef", "cov", "einsum", "eye", "histogram", "interp", "isin", "linspace", "load", "median", "meshgrid",
    "nan_to_num", "nanmedian", "nanpercentile", "nanquantile", "pad", "percentile", "put_along_axis", "quantile", "save", "take_along_axis",
]  # fmt: skip


_explained(globals())
