"""Lists, tuples and numbers, which every function takes where NumPy's of that name does: each beside what NumPy makes of the same call,
with the same shapes, dtypes and elements. A list of integers is an array of the default integers, one of floats of the default floats;
a number beside an array takes the array's dtype."""

import warnings

import numpy as np
import pytest

import stridewise as sw

#: Calls, by the module that has the functions. F is an array of float32 and I of int8, NumPy's or ours.
CALLS = {
    "": """
        abs([-1, 2]) abs(-2.5) absolute((-1, 2)) fabs([-1, 2]) positive([1, 2]) negative([1, 2]) sign([-2.5, 0]) conj([1, 2j]) conjugate(2j)
        acos([0.5]) acosh([1.5]) arccos(0.5) arccosh(1.5) asin([0.5]) asinh(1) arcsin([0, 1]) arcsinh([1]) atan([1]) atanh(0.5) arctan(1) arctanh([0.5])
        cos([1, 2]) cosh(1) sin((1, 2)) sinh([1.5]) tan([1]) tanh(2) sinc([0, 0.5]) exp([1, 2]) exp2(3) expm1([0.5]) log([1, 2]) log10(100) log1p([1]) log2([8])
        sqrt([1, 4]) sqrt(2) cbrt([8, 27]) square([1, 2]) square(3) reciprocal([2.0]) ceil([1.5]) floor(1.5) trunc([-1.5]) fix([-1.5]) rint([1.5]) round([1.25, 2.5])
        round([1.25, 2.5], 1) round(12.5) round([15, 25], -1) around([1.25], 1) isfinite([1, 2.0]) isinf([1.0]) isnan([1.0]) isneginf([-1.0]) isposinf([1.0]) signbit([-1.0]) deg2rad([180]) rad2deg([1])
        degrees(1) radians([90.0]) real([1, 2j]) imag([1, 2j]) real(1) imag(2.5) angle([1, 1j]) i0([0.5, 1]) spacing([1.0]) frexp([3.5]) modf([1.5, -2.5]) nan_to_num([1.0, 2])
        bitwise_not([1, 2]) invert([True]) bitwise_invert(5) bitwise_count([3, 7]) logical_not([0, 1]) iscomplex([1, 2j]) isreal([1, 2j]) iscomplexobj([1j]) isrealobj([1])
        isscalar([1]) isscalar(1) sort_complex([2, 1]) real_if_close([1, 2]) unwrap([0, 3, 7]) heaviside([-1, 0, 1], 0.5) ldexp([1.5], [2])
        add([1, 2], 3) add(1, [1.5]) add(1, 2) add([1], [2.5]) add(F, 2) add(F, 2.5) add([1, 2, 3], F) add(F, [1.5, 2, 3]) add(I, 2) add(I, [1, 2, 3]) add(True, I) add(I, 2j)
        subtract([1, 2], (3, 4)) multiply(2, [1, 2]) multiply([1], I) divide([1, 2], 2) divide(1, 2) true_divide([1], 4) floor_divide([7], 2) floor_divide(7, 2.0) mod([7], 3) remainder([7.5], 2) fmod([7], [4])
        divmod([7], 2) pow([1, 2], 3) power(2, [1.5]) float_power([2], 3) hypot([3], 4) atan2([1], 2) arctan2(1, [1]) copysign([1], -1.0) nextafter([1.0], 2) logaddexp([1], 2) logaddexp2(1, [2])
        maximum([1, 5], 3) minimum(2, [1, 5]) fmax([1.0, 5], 3) fmin([1, 5], [2, 2]) maximum(F, 2) maximum(F, [2, 2, 2]) gcd([12], 18) lcm(4, [6]) lcm([4], [6])
        equal([1, 2], 2) not_equal([1, 2], [1, 3]) less(1, [2]) less_equal([1], 1.0) greater((1,), [0]) greater_equal(F, 2) equal(1, 2) less(F, [2, 2, 2])
        logical_and([1, 0], True) logical_or([0], 0) logical_xor([1], [0]) bitwise_and([6], 3) bitwise_or(6, [3]) bitwise_xor([6], [3]) left_shift([1], 2) right_shift(8, [1]) bitwise_left_shift([1], 2) bitwise_right_shift([8], 2)
        isclose([1, 2], [1, 2.5]) isclose(1, 1) isclose(F, 1) allclose([1, 2], 1) allclose([1.0], [1]) array_equal([1, 2], (1, 2)) array_equiv([1, 1], 1)
        sum([1, 2]) sum(5) sum(range(4)) sum([[1, 2], [3, 4]], axis=0) sum([1.5, 2], keepdims=True) prod([1, 2, 3]) mean([1, 2]) mean(3) std([1, 2, 4]) var([1, 2, 4]) max([1, 2]) min((1, 2)) amax([1.5, 2]) amin([1])
        any([0, 1]) all([0, 1]) any(0) all([[1, 0], [1, 1]], axis=1) argmax([1, 3, 2]) argmin([1, 3, 2]) median([1, 2, 4]) median(3) percentile([1, 2, 4], 50) percentile([1, 2, 4], [25, 75]) percentile([1.0, 2, 4], 30, method="lower")
        quantile([1, 2, 4], 0.5) quantile([[1, 2], [3, 5]], [0.5, 0.75], axis=1) ptp([1, 5]) average([1, 2]) average([1, 2, 4], weights=[3, 1, 0]) count_nonzero([0, 1, 2]) cumsum([1, 2]) cumprod([1, 2, 3]) cumulative_sum([1, 2]) cumulative_prod([1, 2])
        cumsum([[1, 2], [3, 4]], axis=1) nansum([1.0]) nanprod([1, 2]) nanmean([1.0, 2]) nanstd([1.0, 2]) nanvar([1, 2]) nanmax([1.0]) nanmin([1.0, 2]) nanargmax([1.0, 2]) nanargmin([1.0]) nancumsum([1.0, 2]) nancumprod([1.0, 2]) nanmedian([1.0, 2]) nanpercentile([1.0, 2], 50) nanquantile([1.0, 2], 0.5)
        diff([1, 4, 9]) diff([1, 2], prepend=0) diff([1, 2], append=[5]) ediff1d([1, 4, 9]) ediff1d([1, 4], to_end=[7], to_begin=0) gradient([1.0, 4, 9]) gradient([1, 4, 9], 2) trapezoid([1, 2, 3]) trapezoid([1, 2], x=[0, 2]) cov([1, 2, 4]) cov([1, 2, 4], [3, 1, 2]) corrcoef([1, 2, 4], [3, 1, 2]) corrcoef([[1, 2, 4], [1, 0, 2]])
        sort([3, 1, 2]) sort([[3, 1], [1, 2]], axis=0) argsort([3, 1, 2]) lexsort(([3, 1, 2], [0, 0, 1])) partition([3, 1, 2], 2) argpartition([2, 1], 1) searchsorted([1, 2, 3], 2) searchsorted([1, 2, 3], [0, 2.5]) searchsorted([1, 2, 3], [2], side="right") searchsorted(F, 2) searchsorted(F, [1, 2]) searchsorted([1, 2], [1], sorter=[0, 1]) digitize([0.5, 1.5], [0, 1, 2]) digitize(1.5, [0, 1, 2]) digitize(F, [1, 2])
        unique([3, 1, 3]) unique([[1, 2], [1, 2]], axis=0) unique_values([3, 1, 3]) unique_counts([3, 1, 3]) unique_inverse([3, 1, 3]) unique_all([3, 1, 3]) unique(5) isin([1, 2], [2, 3]) isin(1, [1, 2]) isin(1, 1) isin(range(3), (1, 2)) isin([1, 2], 1) isin(F, [1, 2]) isin([1, 2], F) union1d([1, 2], [2, 3]) intersect1d([1, 2], [2, 3]) setdiff1d([1, 2], [2]) setxor1d([1, 2], [2, 3])
        bincount([0, 1, 1]) bincount([0, 1, 1], weights=[1, 2, 3]) bincount([0, 1], minlength=4) histogram([1, 2, 2], bins=[0, 2, 3]) histogram([1, 2, 2], bins=2) histogram([1, 2], bins=2, weights=[1, 2]) histogram2d([1, 2], [1, 2], bins=2) histogram2d([1, 2], [1, 2], bins=[[0, 1, 2], [0, 1, 2]]) histogramdd([[1, 2], [3, 4]], bins=2) histogram_bin_edges([1, 2, 5], bins=3)
        concat([[1, 2], [3]]) concat(([1], F)) concat([I, [1]]) concatenate([[1.5], [2]]) concat([[[1], [2]], [[3], [4]]], axis=1) stack([[1, 2], [3, 4]]) stack([[1, 2], [3, 4]], axis=1) stack((1, 2)) stack([F, [1, 2, 3]]) hstack([[1], [2]]) hstack((1, 2)) vstack([[1], [2]]) row_stack([[1, 2], [2, 3]]) dstack([[1], [2]]) dstack((1, 2)) column_stack([[1, 2], [3, 4]]) append([1], 2) append([1], [2.5]) append([[1]], [[2]], axis=0) block([[1, 2], [3, 4]])
        split([1, 2, 3, 4], 2) split([1, 2, 3], [1]) array_split([1, 2, 3], 2) array_split([1, 2, 3], [1]) hsplit([1, 2], 2) vsplit([[1], [2]], 2) dsplit([[[1, 2]]], 2) unstack([[1, 2], [3, 4]])
        where([True, False], 1, 2) where([True, False, True], F, 0) where([True, False, True], F, [0, 0, 0]) where(True, 2, 3) where([0, 1]) where(F > 1, 1, 0) where(F > 1, 1, [0.5, 0, 0]) choose([0, 1], [[1, 2], [3, 4]]) select([[True, False], [False, True]], [[1, 2], [3, 4]], 9) piecewise([1.0, 2], [[True, False]], [5]) clip([1, 5], 2, 4) clip(7, 2, 4) clip([1, 5], [2, 2], None) clip(F, 1.5, 2) clip(F, [1, 1, 1], 2) compress([True, False], [1, 2]) extract([True, False], [1, 2]) interp(1.5, [1, 2], [3, 4]) interp([1.5, 2], [1, 2], [3, 4]) interp(F, [1, 2], [3, 4]) 
        take([1, 2, 3], 1) take([1, 2, 3], [0, 2]) take([[1, 2], [3, 4]], [0], axis=1) take(F, [0, 1]) take_along_axis([3, 1], [1, 0], axis=0) take_along_axis([[3, 1]], [[1]], axis=1) nonzero([0, 1]) flatnonzero([0, 1]) argwhere([0, 1]) delete([1, 2, 3], 1) delete([1, 2, 3], [0, 1]) insert([1, 2], 1, 9) insert([1, 2], [0, 1], [8, 9]) trim_zeros([0, 1, 0]) resize([1, 2], (2, 2)) diag([1, 2]) diag([[1, 2], [3, 4]]) diagonal([[1, 2], [3, 4]]) diagflat([1, 2]) tril([[1, 2], [3, 4]]) triu([[1, 2], [3, 4]]) vander([1, 2, 3]) trace([[1, 2], [3, 4]]) tril_indices_from([[1, 2], [3, 4]]) triu_indices_from([[1, 2], [3, 4]]) diag_indices_from([[1, 2], [3, 4]]) mask_indices(2, triu_) ravel_multi_index(([0, 1], [1, 0]), (2, 2)) unravel_index([1, 2], (2, 2)) unravel_index(3, (2, 2)) ix_([0, 1], [1])
        dot([1, 2], [3, 4]) dot(2, [1, 2]) dot([[1, 2]], [3, 4]) dot(F, [1, 2, 3]) matmul([[1, 2]], [[3], [4]]) matmul([1, 2], [3, 4]) matmul(F, [1, 2, 3]) matvec([[1, 2]], [3, 4]) vecmat([1, 2], [[3], [4]]) vecdot([1, 2], [3, 4]) vdot([1, 2j], [3, 4]) vdot([[1, 2]], [[3, 4]]) inner([1, 2], [3, 4]) inner(2, [1]) outer([1, 2], [3, 4]) outer(2, [1]) kron([1, 2], [1, 0]) kron(2, [1]) tensordot([1, 2], [3, 4], axes=1) tensordot([[1, 2]], [[3, 4]]) cross([1, 0, 0], [0, 1, 0]) einsum("i,i->", [1, 2], [3, 4]) einsum("ij->i", [[1, 2]]) einsum("i,i", F, [1, 2, 3]) convolve([1, 2], [1, 1, 1]) convolve([1, 2, 3], 2) correlate([1, 2, 3], [0, 1, 0.5]) correlate([1, 2, 3], [1], "full")
        reshape([1, 2, 3, 4], (2, 2)) reshape(1, (1, 1)) ravel([[1, 2]]) ravel(1) transpose([[1, 2]]) matrix_transpose([[1, 2]]) permute_dims([[1, 2]], (1, 0)) swapaxes([[1, 2]], 0, 1) moveaxis([[1, 2]], 0, 1) rollaxis([[1, 2]], 1) squeeze([[1]]) squeeze(1) expand_dims([1], axis=0) expand_dims(1, axis=0) flip([1, 2]) flipud([1, 2]) fliplr([[1, 2]]) rot90([[1, 2]]) roll([1, 2, 3], 1) roll([[1, 2]], 1, axis=1) repeat([1, 2], 2) repeat([1, 2], [2, 1]) repeat(3, 2) tile([1, 2], 2) tile(1, 2) tile([1], (2, 2)) pad([1, 2], 1) pad([1, 2], (1, 0), constant_values=9) pad([1, 2], 1, mode="edge") pad([1, 2], 1, mode="mean") broadcast_to([1, 2], (2, 2)) broadcast_to(1, (2,)) broadcast_arrays([1, 2], [[3]]) broadcast_arrays(1, [2]) atleast_1d(1) atleast_2d([1]) atleast_3d([1]) atleast_1d(1, [2]) meshgrid([1, 2], [3, 4]) meshgrid([1, 2], 3) meshgrid([1, 2], [3], sparse=True) packbits([1, 0, 1]) apply_along_axis(sum, 0, [[1, 2], [3, 4]]) apply_over_axes(total, [[1, 2]], [0])
        astype(F, "float64") array([1, 2]) asarray((1, 2)) asanyarray(1) ascontiguousarray([1]) asfortranarray([[1, 2]]) asarray_chkfinite([1, 2]) require([1.5]) copy([1, 2]) full(2, 3) full((2,), 1.5) full(2, [1, 2]) full_like([1, 2], 3) full_like([1, 2], 2.5) full_like(1, 5) full_like([1.0, 2], [3, 4]) full((2, 2), [[1.5], [2]]) full(3, [7]) full(2, F[:2]) zeros_like([1, 2]) ones_like([1.5]) ones_like(3) empty_like([[1]], dtype="int8").shape linspace([0, 1], 2, 3) linspace(0, [1, 2], 3) logspace(0, 2, 3) geomspace(1, 100, 3) fromiter([1, 2], "int64")
        ndim([[1]]) ndim(1) shape([[1]]) shape(1) size([1, 2]) size(1) min_scalar_type(7) result_type(1, 2.5) result_type(F, 2.5) can_cast(F.dtype, "float64") common_type(F) iterable([1])
        polyval([1, 2], 3) polyval([1, 2], [3, 4]) polyval(F, [1, 2]) polyfit([0, 1, 2], [1, 3, 5], 1) poly([1, 2]) polyadd([1], [1, 2]) polysub([1, 2], [1]) polymul([1, 2], [1]) polydiv([1.0, 2, 1], [1, 1]) polyder([1, 2, 3]) polyint([1, 2]) roots([1, -3, 2])
        isfortran(F) may_share_memory([1], [1]) shares_memory([1], [1])
    """,
    "linalg": """
        cholesky([[4, 2], [2, 5]]) cond([[1, 2], [3, 4]]) cross([1, 0, 0], [0, 1, 0]) det([[1, 2], [3, 4]]) diagonal([[1, 2], [3, 4]]) eig([[2j, 0], [0, 3]]) eigh([[2, 1], [1, 3]])[0] eigvals([[2j, 0], [0, 3]]) eigvalsh([[2, 1], [1, 3]]) inv([[1, 2], [3, 4]])
        lstsq([[1, 0], [0, 2], [0, 0]], [1, 2, 0])[0] matmul([[1, 2]], [[3], [4]]) matrix_norm([[1, 2], [3, 4]]) matrix_power([[1, 2], [3, 4]], 2) matrix_power([[1, 2], [3, 4]], -1) matrix_rank([[1, 2], [2, 4]]) matrix_rank([1, 2]) matrix_rank([[1, 2], [2, 4]], tol=0.1) matrix_transpose([[1, 2]]) multi_dot([[[1, 2]], [[3], [4]], [[5]]]) norm([3, 4]) norm([[1, 2], [3, 4]]) norm([[1, 2], [3, 4]], ord=1) norm([[1, 2], [3, 4]], axis=0) norm([3, 4], 1) outer([1, 2], [3, 4]) pinv([[1, 2], [3, 4]])
        pinv([[2, 1], [1, 3]], hermitian=True) qr([[1, 2], [3, 4]])[1].shape slogdet([[1, 2], [3, 4]]) solve([[1, 2], [3, 5]], [1, 2]) solve([[1, 2], [3, 5]], F[:2]) svd([[1, 2], [3, 4]])[1] svd([[1, 2], [3, 4]], compute_uv=False) svd([[2, 1], [1, 3]], hermitian=True)[1] svdvals([[1, 2], [3, 4]]) tensordot([1, 2], [3, 4], axes=1) tensorinv([[1, 2], [3, 4]], ind=1) tensorsolve([[1, 2], [3, 5]], [1, 2]) trace([[1, 2], [3, 4]]) vecdot([1, 2], [3, 4]) vector_norm([3, 4]) vector_norm([[3, 4]], axis=1, ord=1)
    """,
    "fft": """
        fft([1, 2, 3]) fft2([[1, 2], [3, 4]]) fftn([[1, 2], [3, 4]]) fftshift([1, 2, 3]) hfft([1, 2, 3]) ifft([1, 2, 3]) ifft2([[1, 2], [3, 4]]) ifftn([1, 2]) ifftshift([1, 2, 3]) ihfft([1, 2, 3]) irfft([1, 2, 3]) irfft2([[1, 2], [3, 4]]) irfftn([1, 2, 3]) rfft([1, 2, 3]) rfft2([[1, 2], [3, 4]]) rfftn([1, 2]) fftfreq(4) rfftfreq(4)
    """,
    "emath": "sqrt([-1, 4]) sqrt(-1) log([-1, 1]) log2(-2) log10([-10]) logn(2, [-4, 4]) power([-1, 2], 0.5) power(2, [-1, 2]) arccos([2, 0.5]) arcsin(2) arctanh([2, 0.5])",
}

#: Functions that take no array, or are called in another way than by what is in CALLS, and why.
OTHERS = {
    "say what dtypes are": "base_repr binary_repr finfo iinfo isdtype issubdtype mintypecode promote_types typename",
    "make arrays of numbers of their own": "arange bartlett blackman empty eye fromfunction hamming hanning identity kaiser ones tri zeros indices diag_indices tril_indices triu_indices broadcast_shapes",
    "read files, bytes and other libraries' arrays": "from_dlpack frombuffer fromfile fromstring genfromtxt load loadtxt save savetxt savez savez_compressed",
    "say or set how something is": "get_printoptions geterr printoptions seterr set_printoptions show_config show_runtime",
    "write to an array, which a list is none of": "copyto fill_diagonal place put put_along_axis putmask",
    "take bytes alone, which no list is an array of here": "unpackbits",
}


def parted(text):
    """The calls of a text: spaces in parentheses and strings divide none."""
    depth, start = 0, 0
    for place, letter in enumerate(text + " "):
        depth += (letter in "([{") - (letter in ")]}")
        if letter.isspace() and not depth:
            if text[start:place].strip():
                yield text[start:place].strip()
            start = place + 1


#: Where the array API has it in another way than NumPy, for our arrays as well as for lists, the calls above are such that both agree:
#: roots of bool are of the default floats, percentiles of integers are floats, a condition is of bool, eigenvalues are complex.


def arrays_of(value):
    """Lists as arrays of NumPy's, for those of its functions that take no lists, as ours do."""
    return np.asarray(value) if isinstance(value, list) else value


def evaluated(library, part, call, array):
    module = library if not part else getattr(library, part)
    names = {"F": array([1, 2, 3], dtype="float32"), "I": array([1, 2, 3], dtype="int8"), "sum": library.sum, "total": library.sum, "triu_": library.triu}
    name = call.split("(")[0]
    # The call's function is the library's; what its arguments name is a name of the test's.
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        function = getattr(module, name)
        try:
            return eval("function" + call[len(name):], names | {"function": function})
        except AttributeError:
            if library is sw:
                raise
        return eval("function" + call[len(name):], names | {"function": lambda *args, **kwargs: function(*map(arrays_of, args), **kwargs)})


def agree(ours, theirs):
    if isinstance(theirs, list) and isinstance(ours, sw.usm_ndarray):
        # NumPy's trims a list to a list.
        agree(ours, np.asarray(theirs))
    elif isinstance(theirs, (tuple, list)) and not (isinstance(theirs, tuple) and all(type(each) is int for each in theirs)):
        assert isinstance(ours, (tuple, list)) and len(ours) == len(theirs), (ours, theirs)
        for one, other in zip(ours, theirs):
            agree(one, other)
    elif isinstance(theirs, (np.ndarray, np.generic)) and not (isinstance(theirs, np.bool_) and isinstance(ours, bool)):
        assert isinstance(ours, sw.usm_ndarray), type(ours)
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype), f"{ours.shape} {ours.dtype} instead of {theirs.shape} {theirs.dtype}"
        np.testing.assert_allclose(sw.asnumpy(ours), theirs, rtol=1e-6 if theirs.dtype in ("float32", "complex64") else 1e-12, atol=1e-12)
    elif isinstance(theirs, (np.dtype, type)):
        assert sw.dtype(ours) == sw.dtype(np.dtype(theirs))
    elif isinstance(ours, sw.usm_ndarray):
        # What is a number of Python's there is an array of no dimensions here.
        assert ours.shape == () and type(ours.tolist()) is type(theirs) and ours.tolist() == theirs
    else:
        assert ours == theirs and isinstance(ours, type(theirs)), (ours, theirs)


@pytest.mark.skipif("float64" not in sw.__array_namespace_info__().dtypes(), reason="the default floats of the device are others than NumPy's")
@pytest.mark.parametrize("part, call", [(part, call) for part, text in CALLS.items() for call in parted(text)])
def test_call(part, call):
    agree(evaluated(sw, part, call, sw.asarray), evaluated(np, part, call, np.array))


def test_every_function_is_called():
    """A function that NumPy has, too, is among those that are called, or among the others, and in one of them only."""
    others = " ".join(OTHERS.values()).split()
    for part, text in CALLS.items():
        theirs, ours = (getattr(library, part) if part else library for library in (np, sw))
        called = {call.split("(")[0] for call in parted(text)}
        functions = {
            name for name in theirs.__all__
            if hasattr(ours, name) and callable(getattr(theirs, name)) and not isinstance(getattr(theirs, name), type)
        } | ({"finfo", "iinfo"} if not part else set())
        assert called <= functions, called - functions
        assert functions - called == (set(others) if not part else set())
    assert len(others) == len(set(others))
