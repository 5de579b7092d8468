"""Keywords of NumPy's functions on our arrays, each beside what NumPy makes of its own: shapes, dtypes and elements."""

import itertools
import warnings

import numpy as np
import pytest

import stridewise as sw

RNG = np.random.default_rng(11)
A = RNG.normal(size=(4, 5)).round(2)
V = np.array([3.0, 1, 2, 3, np.nan, 1, np.nan])
S = RNG.normal(size=(2, 4, 4))
H = S[0] + S[0].T
C = H + 1j * (S[1] - S[1].T)
N = np.array([[2, 1, 2], [0, 3, 0], [2, 1, 2], [0, 3, 1]])
LOW = np.outer(np.arange(1.0, 5), [1, 2, 4]) + [[0, 0, 1e-9]]
D = RNG.normal(size=300)


def same(ours, theirs, rtol=1e-12):
    if isinstance(theirs, (tuple, list)):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs):
            same(one, other, rtol)
        return
    theirs = np.asarray(theirs)
    assert isinstance(ours, sw.usm_ndarray), type(ours)
    assert ours.shape == theirs.shape
    assert ours.dtype == theirs.dtype, f"{ours.dtype} instead of {theirs.dtype}"
    np.testing.assert_allclose(sw.asnumpy(ours), theirs, rtol=rtol, atol=rtol)


def agree(call, *arrays, rtol=1e-12):
    """A call of NumPy's function on our arrays and on its own: equal results, or exceptions of one class."""
    outcomes = []
    for given in ([sw.asarray(x, copy=True) for x in arrays], [x.copy() for x in arrays]):
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                outcomes.append(call(*given))
        except (TypeError, ValueError, IndexError, OverflowError) as error:
            outcomes.append(next(kind for kind in (OverflowError, TypeError, IndexError, ValueError) if isinstance(error, kind)))
    ours, theirs = outcomes
    if isinstance(theirs, type) or isinstance(ours, type):
        assert ours is theirs, outcomes
    else:
        same(ours, theirs, rtol)


CALLS = {
    "eigvalsh upper": (lambda a: np.linalg.eigvalsh(a, UPLO="U"), S), "eigvalsh lower": (lambda a: np.linalg.eigvalsh(a, "l"), S),
    "eigvalsh of complex": (lambda a: np.linalg.eigvalsh(a, UPLO="U"), C), "eigh upper": (lambda a: np.linalg.eigh(a, UPLO="U")[0], S),
    "eigh of another triangle": (lambda a: np.linalg.eigh(a, UPLO="X"), S),
    "svd values": (lambda a: np.linalg.svd(a, compute_uv=False), A), "svd of Hermitian": (lambda a: np.linalg.svd(a, hermitian=True)[1], C),
    "svd values of symmetric": (lambda a: np.linalg.svd(a, compute_uv=False, hermitian=True), H),
    "svd narrow": (lambda a: np.linalg.svd(a, False)[1], A),
    "rank by tol": (lambda a: np.linalg.matrix_rank(a, tol=1e-3), LOW), "rank": (lambda a: np.linalg.matrix_rank(a), LOW),
    "rank of a stack": (lambda a: np.linalg.matrix_rank(a, tol=[0.1, 2.0]), S), "rank of symmetric": (lambda a: np.linalg.matrix_rank(a, hermitian=True), H),
    "rank by rtol of symmetric": (lambda a: np.linalg.matrix_rank(a, hermitian=True, rtol=0.3), H), "rank of a vector": (lambda a: np.linalg.matrix_rank(a), A[0]),
    "rank of zeros": (lambda a: np.linalg.matrix_rank(a), np.zeros(3)), "rank twice": (lambda a: np.linalg.matrix_rank(a, tol=1, rtol=1), H),
    "pinv by rcond": (lambda a: np.linalg.pinv(a, rcond=1e-3), LOW), "pinv by place": (lambda a: np.linalg.pinv(a, 1e-3), LOW),
    "pinv of Hermitian": (lambda a: np.linalg.pinv(a, hermitian=True), C), "pinv by rtol": (lambda a: np.linalg.pinv(a, rtol=1e-3), LOW),
    "unique rows": (lambda a: np.unique(a, axis=0), N), "unique columns": (lambda a: np.unique(a, axis=-1), N),
    "unique rows and all": (lambda a: np.unique(a, True, True, True, axis=0), N), "unique along a vector": (lambda a: np.unique(a, axis=0), V),
    "unique of no rows": (lambda a: np.unique(a, axis=0), N[:0]), "unique of empty rows": (lambda a: np.unique(a, axis=0), N[:, :0]),
    "unique along no axis": (lambda a: np.unique(a, axis=2), N), "unique of three": (lambda a: np.unique(a, axis=1), N.reshape(2, 2, 3)),
    "unique unsorted": (lambda a: np.sort(np.unique(a, sorted=False)), N),
    "intersect1d places": (lambda a: np.intersect1d(a[0], a[1:], return_indices=True), N),
    "intersect1d places of unique": (lambda a: np.intersect1d(a[0], a[0, :3] + 0, True, True), A), "intersect1d": (lambda a: np.intersect1d(a, [3, 1, 1, 8]), N),
    "cov fweights": (lambda a: np.cov(a, fweights=[1, 2, 0, 3, 1]), A), "cov aweights": (lambda a: np.cov(a, aweights=[1, 2, 0.5, 3, 1], ddof=0), A),
    "cov both": (lambda a: np.cov(a[0], a[1], fweights=[1, 2, 0, 3, 1], aweights=[1, 2, 0.5, 3, 1]), A), "cov f4": (lambda a: np.cov(a, dtype="f4"), A.astype("f4")),
    "cov of columns": (lambda a: np.cov(a, rowvar=False, aweights=[1, 2, 3, 4]), A), "cov of complex": (lambda a: np.cov(a, aweights=[1, 2, 3, 4]), C),
    "cov negative": (lambda a: np.cov(a, aweights=[-1, 2, 3, 1, 1]), A), "cov fraction": (lambda a: np.cov(a, fweights=[0.5, 2, 3, 1, 1]), A),
    "corrcoef f4": (lambda a: np.corrcoef(a, dtype="f4"), A.astype("f4")), "corrcoef f8 of f4": (lambda a: np.corrcoef(a, dtype="f8"), A.astype("f4")),
    "logspace rows": (lambda a: np.logspace(a[0], a[1], 4, axis=1), A), "concat": (lambda a: np.concat([a, a], dtype="f8"), N), "vander": (lambda a: np.vander(a[0], N=2), N),
    "vander of f4": (lambda a: np.vander(a[0]), A.astype("f4")), "vander of int8": (lambda a: np.vander(a[0]), N.astype("int8")), "vander of bool": (lambda a: np.vander(a[0] > 1), N),
    "trim_zeros of two": (lambda a: np.trim_zeros(np.pad(a, 2)), N + 1), "trim_zeros front": (lambda a: np.trim_zeros(np.pad(a, 2), "f", axis=1), N + 1), "trim_zeros all": (lambda a: np.trim_zeros(a * 0), N),
    "trim_zeros wrong": (lambda a: np.trim_zeros(a, "x"), N), "tril_indices_from": (lambda a: np.tril_indices_from(a), A[0]),
    "unique NaN": (lambda a: np.unique(a, equal_nan=False), V),
    "meshgrid sparse": (lambda a, b: np.meshgrid(a, b, sparse=True), A[0], A[:, 0]),
    "meshgrid sparse ij": (lambda a, b: np.meshgrid(a, b, a, sparse=True, indexing="ij"), A[0], A[:, 0]),
    "meshgrid sparse of three": (lambda a, b: np.meshgrid(a, b, a, sparse=True, copy=False), A[0], A[:, 0]),
    "meshgrid sparse of one": (lambda a: np.meshgrid(a, sparse=True), A[0]),
    "nan_to_num": (lambda a: np.nan_to_num(a, True, 2.0), V), "nan_to_num in place": (lambda a: (np.nan_to_num(a, copy=False), a), V),
    "linspace step": (lambda a: np.linspace(a[0, 0], 2, 3, retstep=True), A), "linspace rows": (lambda a: np.linspace(a[0], a[1], 4), A),
    "linspace rows and step": (lambda a: np.linspace(a[0], 1, 4, endpoint=False, retstep=True, axis=1), A),
    "linspace of one": (lambda a: np.linspace(a[0], a[1], 1), A), "linspace of none": (lambda a: np.linspace(a[0], a[1], 0), A),
    "linspace of integers": (lambda a: np.linspace(a[0], a[1], 4, dtype="int64"), N),
    "histogram range as a list": (lambda a: np.histogram(a, 5, [0, 2]), A),
    "concatenate": (lambda a: np.concatenate([a, a], dtype="f4"), A), "tensordot": (lambda a: np.tensordot(a, a.T, 1), A),
    "einsum dtype": (lambda a: np.einsum("ij->i", a, dtype="f4"), A), "einsum to f4": (lambda a: np.einsum("ij->i", a, dtype="f4", casting="same_kind"), A),
    "einsum wider": (lambda a: np.einsum("ij,kj->ik", a, a, dtype="f8"), A.astype("f4")), "einsum optimize": (lambda a: np.einsum("ij,kj->ik", a, a, optimize="greedy"), A),
    "apply_along_axis": (lambda a: np.apply_along_axis(np.sum, 0, a), A), "apply_along_axis rows": (lambda a: np.apply_along_axis(np.diff, -1, a), A),
    "apply_along_axis matrices": (lambda a: np.apply_along_axis(lambda x: x[:, None] * x, 1, a), S),
    "apply_along_axis middle": (lambda a: np.apply_along_axis(lambda x, y, z: x[:y] + z, 1, a, 2, z=1), S),
    "apply_along_axis numbers": (lambda a: np.apply_along_axis(len, 0, a), A), "apply_along_axis of none": (lambda a: np.apply_along_axis(np.sum, 0, a), A[:, :0]),
    "apply_over_axes": (lambda a: np.apply_over_axes(np.sum, a, [0, -1]), S),
    "histogram2d": (lambda a: np.histogram2d(a[0], a[1]), A), "histogram2d bins": (lambda a: np.histogram2d(a[0], a[1], [2, 3], [[-1, 1], [-2, 2]]), A),
    "histogram2d edges": (lambda a: np.histogram2d(a[0], a[1], [0.0, 1, 2]), A),
    "histogram2d density": (lambda a: np.histogram2d(a[0], a[1], 3, density=True, weights=a[2]), A),
    "histogramdd": (lambda a: np.histogramdd(a, 3), A[:, :3]), "histogramdd range": (lambda a: np.histogramdd(a, [2, 3], [None, (-1, 1)]), A[:, :2]),
    "histogramdd edges": (lambda a: np.histogramdd(a, [[0, 1, 2], [-1.0, 0, 3]]), A[:, :2]),
    "histogramdd shapes": (lambda a: np.histogramdd(a, [2, 3]), A[:, :3]),
    "histogram2d of none": (lambda a: np.histogram2d(a, a, 2), A[0, :0]),
    "partition": (lambda a: np.partition(a, 1)[:, 1], A), "partition of all": (lambda a: np.partition(a, 3, axis=None)[3], A), "partition outside": (lambda a: np.partition(a, 9), A),
    "delete": (lambda a: np.delete(a, 0), A[0]), "block": (lambda a: np.block([[a, a], [a, a * 2]]), A), "block of numbers": (lambda a: np.block([1, a[0], 2.5]), A),
    "block of one": (lambda a: np.block(a), A), "block of deep lists": (lambda a: np.block([[[a]], [[a]]]), A), "block uneven": (lambda a: np.block([[a], a]), A),
    "block empty": (lambda a: np.block([[a], []]), A), "block tuple": (lambda a: np.block((a, a)), A),
    "take_along_axis": (lambda a: np.take_along_axis(a, np.array([3, 0, 7]), axis=None), A), "isin by table": (lambda a: np.isin(a, [1, 3], kind="table", assume_unique=True), N),
    "isin wrong": (lambda a: np.isin(a, [1], kind="quicksort"), N), "multi_dot out": (lambda a, b: np.linalg.multi_dot([a, a, a], out=b), H, H * 0),
    "tri like": (lambda a: np.tri(3, 4, k=1, dtype=a.dtype, like=a), N), "tri like of rows": (lambda a: np.tri(N=3, like=a), A),
    "delete places of a matrix": (lambda a: np.delete(a, np.array([[0, 1], [2, 1]])), A[0]), "trim_zeros nowhere": (lambda a: np.trim_zeros(a, ""), N),
    "trim_zeros twice": (lambda a: np.trim_zeros(a, "ff"), N), "unwrap": (lambda a: np.unwrap(a * 5), A), "unwrap axis": (lambda a: np.unwrap(a * 5, axis=0, period=4), A), "unwrap discont": (lambda a: np.unwrap(a * 5, 4), A),
    "unwrap integers": (lambda a: np.unwrap(a * 3, period=4), N), "unwrap odd": (lambda a: np.unwrap(a * 3, period=5), N), "unwrap of one": (lambda a: np.unwrap(a[:1]), A[0]),
    "emath sqrt": (lambda a: np.emath.sqrt(a), A), "emath sqrt real": (lambda a: np.emath.sqrt(np.abs(a)), A), "emath log": (lambda a: np.emath.log(a), A),
    "emath log2": (lambda a: np.emath.log2(a), A), "emath log10": (lambda a: np.emath.log10(a), A.astype("f4")), "emath logn": (lambda a: np.emath.logn(2, a), A),
    "emath power": (lambda a: np.emath.power(a, 0.5), A), "emath power of integers": (lambda a: np.emath.power(a + 1, -2), N),
    "emath arccos": (lambda a: np.emath.arccos(np.abs(a)), A), "emath arcsin": (lambda a: np.emath.arcsin(a / 3), A), "emath arctanh": (lambda a: np.emath.arctanh(np.abs(a / 9)), A),
    "insert": (lambda a: np.insert(a, 0, 1.0), A[0]), "insert at the end": (lambda a: np.insert(a, 5, [1, 2]), A[0]), "insert flat": (lambda a: np.insert(a, -1, 7), A),
    "insert row": (lambda a: np.insert(a, 1, a[0], axis=0), A), "insert column": (lambda a: np.insert(a, 1, [1, 2, 3, 4], axis=1), A),
    "insert columns": (lambda a: np.insert(a, [1], [[1], [2], [3], [4]], axis=1), A), "insert places": (lambda a: np.insert(a, [3, 1, 1], [7, 8, 9]), A[0]),
    "insert slice": (lambda a: np.insert(a, slice(1, 4), 0), A[0]), "insert negative": (lambda a: np.insert(a, [-1, 0], 5), A[0]),
    "insert nowhere": (lambda a: np.insert(a, 9, 1), A[0]), "insert nothing": (lambda a: np.insert(a, [], 1), A[0]), "insert mask": (lambda a: np.insert(a, a > 0, 9), A[0]),
    "insert into none": (lambda a: np.insert(a, 0, 3), A[0, :0]), "insert other kinds": (lambda a: np.insert(a, 1, 2.7), N[0]),
    "choose": (lambda a: np.choose(a, [a, a * 10, 7, a + 0.5]), N), "choose wrap": (lambda a: np.choose(a * 3 - 2, [a, 1, 2], mode="wrap"), N),
    "choose clip": (lambda a: np.choose(a * 3 - 2, [a, 1, 2], mode="clip"), N), "choose outside": (lambda a: np.choose(a, [1, 2]), N), "choose of floats": (lambda a: np.choose(a, [1, 2]), A),
    "resize": (lambda a: np.resize(a, (3, 5)), N), "resize of none": (lambda a: np.resize(a, 3), N[:0]), "resize negative": (lambda a: np.resize(a, (-1, 3)), N),
    "packbits": (lambda a: np.packbits(a > 0), A), "packbits rows": (lambda a: np.packbits(a, axis=-1), N), "packbits little": (lambda a: np.packbits(a > 0, axis=0, bitorder="little"), A),
    "packbits of none": (lambda a: np.packbits(a[:0] > 0), A[0]), "packbits of floats": (lambda a: np.packbits(a), A),
    "unpackbits": (lambda a: np.unpackbits(a.astype("uint8")), N), "unpackbits count": (lambda a: np.unpackbits(a.astype("uint8"), axis=1, count=10), N),
    "unpackbits less": (lambda a: np.unpackbits(a.astype("uint8"), axis=0, count=-3, bitorder="little"), N), "unpackbits more": (lambda a: np.unpackbits(a.astype("uint8"), count=200), N),
    "sort_complex": (lambda a: np.sort_complex(a), N[0].astype("int16")), "sort_complex of complex": (lambda a: np.sort_complex(a), C[0]),
    "real_if_close": (lambda a: np.real_if_close(a + 1e-15j), A), "real_if_close not": (lambda a: np.real_if_close(a + 1e-3j), A), "real_if_close tol": (lambda a: np.real_if_close(a + 1e-3j, tol=0.1), A),
    "poly": (lambda a: np.poly(a), A[0]), "poly of a matrix": (lambda a: np.poly(a), H), "poly of pairs": (lambda a: np.poly(a), np.array([1j, -1j, 2])),
    "polyadd": (lambda a: np.polyadd(a[0], [1, 2]), A), "polysub": (lambda a: np.polysub([1, 2], a[0]), N), "polymul": (lambda a: np.polymul(a[0], a[1]), A),
    "polymul zeros": (lambda a: np.polymul(a, [0, 1]), N[1]), "polydiv": (lambda a: np.polydiv(a[0], a[1, :3]), A), "polydiv short": (lambda a: np.polydiv(a[0, :2], a[1]), A),
    "polydiv integers": (lambda a: np.polydiv(a, [2, 1]), N[0]), "polyder": (lambda a: np.polyder(a[0], 2), A), "polyder of integers": (lambda a: np.polyder(a[0]), N), "polyder away": (lambda a: np.polyder(a[0], 9), A),
    "polyint": (lambda a: np.polyint(a[0], 2, [3, 4]), A), "polyint of integers": (lambda a: np.polyint(a[0]), N), "polyint negative": (lambda a: np.polyint(a[0], -1), N),
    "polyint short": (lambda a: np.polyint(a[0], 3, [1, 2]), A),
    "roots": (lambda a: np.sort(np.roots(a)), np.array([1.0, -6, 11, -6])), "roots with zeros": (lambda a: np.sort(np.roots(a)), np.array([0, 1, -3, 2, 0, 0])),
    "roots of a number": (lambda a: np.roots(a), np.array([5.0])), "roots of zeros": (lambda a: np.roots(a), np.zeros(3)), "roots of a matrix": (lambda a: np.roots(a), A),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_calls(name):
    call, *arrays = CALLS[name]
    agree(call, *arrays, rtol=1e-6 if "f4" in name or arrays[0].dtype == "f4" else 1e-9 if name.startswith(("eig", "svd", "pinv", "roots", "poly of")) else 1e-12)


def test_decompositions_are_what_they_say():
    for a in (sw.asarray(H), sw.asarray(C), sw.asarray(S + np.swapaxes(S, -1, -2))):
        u, s, vh = np.linalg.svd(a, hermitian=True)
        near = dict(rtol=0, atol=1e-12)
        np.testing.assert_allclose(sw.asnumpy(u * s[..., None, :] @ vh), sw.asnumpy(a), **near)
        np.testing.assert_allclose(sw.asnumpy(sw.conj(sw.matrix_transpose(u)) @ u), np.broadcast_to(np.eye(4), a.shape), **near)
    a = sw.asarray(C)
    values, vectors = np.linalg.eigh(sw.triu(a), UPLO="U")
    np.testing.assert_allclose(sw.asnumpy(a @ vectors), sw.asnumpy(vectors * values), rtol=0, atol=1e-12)


_FOLDS = "sum prod max min any all mean std var nansum nanprod nanmax nanmin nanmean nanstd nanvar".split()
_MASKED = [
    {"where": "whole"}, {"where": "row"}, {"initial": 2}, {"initial": 2.5}, {"where": "whole", "initial": 3}, {"where": "row", "initial": -1, "keepdims": True},
    {"where": "whole", "keepdims": True}, {"where": "none", "initial": 1}, {"where": "none"},
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int64", "float32", "float64", "complex128"])
@pytest.mark.parametrize("name", _FOLDS)
def test_masks_and_first_values(name, dtype):
    rng = np.random.default_rng(3)
    fold, plain = getattr(np, name), name.removeprefix("nan")
    if dtype == "complex128" and plain in ("max", "min"):
        # NumPy orders them; ours are refused, with any keywords.
        return
    for shape, axis in [((3, 4), None), ((3, 4), 0), ((3, 4), -1), ((2, 3, 4), (0, 2)), ((0, 3), 0), ((0, 3), 1), ((), None)]:
        n = np.asarray(rng.random(shape) < 0.5 if dtype == "bool" else (rng.normal(size=shape) * 5).astype(dtype))
        if n.dtype.kind in "fc" and n.size > 1:
            n[(0,) * n.ndim] = np.nan
        for options in _MASKED:
            if "initial" in options and plain in ("any", "all", "mean", "std", "var") or dtype == "bool" and options.get("initial") == -1:
                continue
            options = dict(options)
            if "where" in options:
                kinds = {"whole": rng.random(shape) < 0.5, "row": rng.random(shape[-1:]) < 0.5, "none": np.zeros(shape, bool)}
                options["where"] = kinds[options["where"]]
            ours = {key: sw.asarray(value) if isinstance(value, np.ndarray) and rng.random() < 0.5 else value for key, value in options.items()}
            agree(lambda x: fold(x, axis=axis, **(ours if isinstance(x, sw.usm_ndarray) else options)), n, rtol=1e-5 if dtype == "float32" else 1e-12)


@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.maximum, np.minimum, np.logical_and, np.logical_or, np.hypot])
def test_ufuncs_reduce_what_a_mask_chooses(ufunc):
    mask = np.arange(20).reshape(4, 5) % 3 > 0
    for options in [{"where": mask, "initial": 2.0}, {"where": mask}, {"initial": 1.5}, {"where": mask[0], "axis": 1, "initial": 0.5}]:
        agree(lambda x: ufunc.reduce(x, **options), A)


def test_moments_by_positions_and_by_a_mean():
    for call in (
        lambda x: np.sum(x, 0, None, None, True, 2.0, x > 0), lambda x: np.var(x, axis=1, mean=np.mean(x, axis=1, keepdims=True)),
        lambda x: np.std(x, 1, ddof=1, where=x > 0), lambda x: np.var(x, correction=1, where=x > -1), lambda x: np.mean(x, where=[1, 0, 1, 1, 0]),
        lambda x: np.sum(x, where=np.ones((2, 4, 5), bool)), lambda x: np.sum(x, initial=[1, 2]), lambda x: np.max(x, initial=None),
    ):  # fmt: skip
        agree(call, A)
    agree(lambda x: np.max(x, initial=1000), N.astype("int8"))
    goal = np.zeros(5)
    assert np.sum(sw.asarray(A), axis=0, where=A > 0, out=goal) is goal
    np.testing.assert_allclose(goal, np.sum(A, axis=0, where=A > 0))
    with pytest.raises(ValueError, match="shape"):
        np.sum(sw.asarray(A), axis=0, where=A > 0, out=sw.zeros(4))


_MODES = ["maximum", "mean", "median", "minimum", "linear_ramp", "reflect", "symmetric", "edge", "wrap", "constant"]


@pytest.mark.parametrize("mode", _MODES)
def test_padding(mode):
    options = [{}]
    if mode in _MODES[:4]:
        options += [{"stat_length": 2}, {"stat_length": ((1, 3), (2, 9))}]
    if mode == "linear_ramp":
        options += [{"end_values": 5}, {"end_values": ((1, 2), (3, -4))}]
    if mode in ("reflect", "symmetric"):
        options += [{"reflect_type": "odd"}]
    for named, width, x in itertools.product(options, [1, (2, 3), ((1, 0), (0, 2)), ((7, 9), (11, 4)), ((3,), (4,)), ((2,),)], [A, N, A[:1], N.astype("uint8")]):
        if x.dtype == "uint8" and (named.get("reflect_type") == "odd" or named.get("end_values", 0) not in (0, 5)):
            # Numbers that the dtype does not hold.
            continue
        agree(lambda a: np.pad(a, width, mode=mode, **named), x)
    agree(lambda a: np.pad(a, {-1: (1, 2)}, mode=mode), A)
    agree(lambda a: np.pad(a, 1, mode=mode, stat_length=0) if mode in ("maximum", "minimum") else a, A)


def test_padding_otherwise():
    x = np.pad(sw.asarray(A), ((1, 2), (0, 3)), mode="empty")
    np.testing.assert_array_equal(sw.asnumpy(x[1:5, :5]), A)
    assert x.shape == (7, 8)
    for call in (lambda a: np.pad(a, 1, mode="other"), lambda a: np.pad(a, -1, mode="mean"), lambda a: np.pad(a, 1.5, mode="mean"), lambda a: np.pad(a, [1, 2, 3], mode="mean")):
        agree(call, A)
    agree(lambda a: np.pad(a, 1, mode="mean"), A[:0])
    with pytest.raises(TypeError, match="asnumpy"):
        np.pad(sw.asarray(A), 1, mode=lambda *_: None)


@pytest.mark.parametrize("rule", ["auto", "doane", "fd", "rice", "scott", "sqrt", "stone", "sturges", "other"])
def test_rules_of_bins(rule):
    for x in (D, D[:2], D[:0], (D * 10).astype("int64"), np.ones(9), A, D.astype("f4") * 8):
        for options in ({}, {"range": (-1, 2)}, {"range": [0.0, 0.5]}):
            agree(lambda a: np.histogram(a, rule, **options), x, rtol=1e-6 if x.dtype == "f4" else 1e-12)
            agree(lambda a: np.histogram_bin_edges(a, rule, **options), x, rtol=1e-6 if x.dtype == "f4" else 1e-12)
    agree(lambda a: np.histogram(a, rule, weights=a), D)


def test_edges_of_bins():
    for call in (
        lambda a: np.histogram_bin_edges(a, 4), lambda a: np.histogram_bin_edges(a, [0, 1.5, 4]), lambda a: np.histogram_bin_edges(a, [3, 1]),
        lambda a: np.histogram_bin_edges(a, 3, (2, 1)), lambda a: np.histogram_bin_edges(a, 3, (0, np.inf)), lambda a: np.histogram_bin_edges(a > 0, 3),
    ):  # fmt: skip
        agree(call, A)
    agree(lambda a: np.histogram_bin_edges(a, 3), V)


def test_what_only_reads(tmp_path):
    x, n = sw.asarray(A), A
    np.savez(tmp_path / "a.npz", x, named=x)
    np.savez_compressed(tmp_path / "b.npz", x)
    np.savetxt(tmp_path / "a.txt", x)
    np.testing.assert_array_equal(np.load(tmp_path / "a.npz")["named"], n)
    np.testing.assert_array_equal(np.load(tmp_path / "b.npz")["arr_0"], n)
    np.testing.assert_array_equal(np.loadtxt(tmp_path / "a.txt"), n)
    for text in (np.array2string, np.array_repr, np.array_str):
        assert text(x) == text(n)
    assert np.array2string(x, precision=1, separator=",") == np.array2string(n, precision=1, separator=",")
    assert np.common_type(x, sw.zeros(1, dtype="f4")) is np.float64 and np.min_scalar_type(x) == n.dtype
    assert np.shares_memory(np.asarray(x), x) and not np.may_share_memory(x, n)
    assert np.einsum_path("ij,jk->ik", x, x.T)[0] == np.einsum_path("ij,jk->ik", n, n.T)[0]


def test_testing_reads():
    x, other = sw.asarray(A), sw.asarray(A + 1)
    for check in ("assert_allclose", "assert_array_equal", "assert_equal", "assert_almost_equal", "assert_array_almost_equal", "assert_array_max_ulp"):
        function = getattr(np.testing, check)
        function(x, A)
        function(A, x)
        with pytest.raises(AssertionError):
            function(x, A + 1)
        if check not in ("assert_equal", "assert_almost_equal"):
            # Those ask two objects of another class than NumPy's for one truth.
            function(x, x)
            with pytest.raises(AssertionError):
                function(x, other)
    np.testing.assert_array_less(x, other)
    with pytest.raises(AssertionError):
        np.testing.assert_array_less(other, x)


@pytest.mark.parametrize("call", [lambda x: np.sort(x, order="field"), lambda x: np.partition(x, 1, order="f"), lambda x: np.argsort(x, order=["a"])])
def test_what_is_refused_is_named(call):
    with pytest.raises(TypeError, match="`order`.*asnumpy"):
        call(sw.asarray(A))


M = np.asarray([[0.5, 2.0, -1.0, 3.0], [1.0, -2.0, 0.25, 4.0], [7.0, 1.0, 0.0, -3.0]])


def test_covariances():
    m, f, a = sw.asarray(M), [1, 3, 2, 1], [0.5, 1.0, 2.0, 0.25]
    cases = [
        ((), {}), ((None, False), {}), ((None, True, True), {}), ((M[::-1].copy(),), {"ddof": 0}), ((), {"fweights": f}), ((), {"aweights": a}),
        ((), {"fweights": f, "aweights": a, "bias": True}), ((None, True, False, 2), {"fweights": f, "aweights": a}), ((), {"aweights": a, "ddof": 0}),
    ]  # fmt: skip
    for args, options in cases:
        np.testing.assert_allclose(sw.asnumpy(sw.cov(m, *args, **options)), np.cov(M, *args, **options), err_msg=str((args, options)))
    np.testing.assert_allclose(float(sw.cov(m[0], fweights=f)), np.cov(M[0], fweights=f))
    assert sw.cov(m, dtype="float32").dtype == sw.corrcoef(m, None, False, dtype="float32").dtype == "float32"
    np.testing.assert_allclose(sw.asnumpy(sw.corrcoef(m, None, False)), np.corrcoef(M, None, False))
    with pytest.raises(TypeError, match="`fweights` has a fraction"):
        sw.cov(m, fweights=a)
    with pytest.raises(ValueError, match="`aweights` is of shape"):
        sw.cov(m, aweights=[1.0])
    with pytest.raises(ValueError, match="`fweights` has a number below 0"):
        sw.cov(m, fweights=[-1, 1, 1, 1])


def test_sums_of_products():
    x, y = np.arange(6, dtype="i4").reshape(2, 3), np.arange(12, dtype="i4").reshape(3, 4)
    a, b = sw.asarray(x), sw.asarray(y)
    for options in ({}, {"dtype": "float64"}, {"dtype": "int8", "casting": "unsafe"}, {"optimize": True}, {"optimize": "greedy"}, {"order": "F"}):
        found, expected = sw.einsum("ij,jk->ik", a, b, **options), np.einsum("ij,jk->ik", x, y, **options)
        assert found.dtype == expected.dtype and found.flags.f_contiguous == (options == {"order": "F"})
        np.testing.assert_array_equal(sw.asnumpy(found), expected)
    assert sw.einsum("ij->", a).dtype == "int32" and sw.einsum("ij->i", a > 2).tolist() == [False, True]
    goal = sw.zeros((2, 4), dtype="int64")
    assert sw.einsum("ij,jk", a, b, out=goal) is goal and goal.tolist() == (x @ y).tolist()
    for args in ((x, [0, 1], y, [1, 2], [0, 2]), (x, [0, 1], y, [1, 2]), (x, [0, 0 + 1]), (x, [..., 0], [0, ...])):
        ours = [sw.asarray(each) if isinstance(each, np.ndarray) else each for each in args]
        assert sw.einsum(*ours).tolist() == np.einsum(*args).tolist()
    assert sw.einsum(a, sw.asarray([1, 0])).tolist() == np.einsum(x, [1, 0]).tolist()
    with pytest.raises(TypeError, match="operand 0 is of int32"):
        sw.einsum("ij->", a, dtype="int8")
    with pytest.raises(ValueError, match="`out` is of shape"):
        sw.einsum("ij->", a, out=goal)
    with pytest.raises(ValueError, match="`subscripts` has"):
        sw.einsum(a, [0, 60])


def test_arguments_of_numpys():
    x = sw.asarray([3.0, np.nan, 1.0, 2.0])
    assert sw.isin([1, 2, 3], [2], False, True).tolist() == [True, False, True] and sw.isin([1], [1], kind="sort").tolist() == [True]
    with pytest.raises(ValueError, match="`kind`"):
        sw.isin([1], [1], kind="pears")
    assert float(sw.nanmedian(x, overwrite_input=True)) == 2 and np.isnan(float(sw.median(x, overwrite_input=True)))
    assert sw.vander([1, 2], N=3).tolist() == np.vander([1, 2], N=3).tolist()
    square = sw.zeros((2, 2))
    sw.fill_diagonal(square, val=3)
    assert square.tolist() == [[3, 0], [0, 3]]
    assert [each.tolist() for each in sw.tril_indices(n=2, k=0, m=2)] == [each.tolist() for each in np.tril_indices(n=2, k=0, m=2)]
    sw.copyto(square, 1.0, where=0)
    assert square.tolist() == [[3, 0], [0, 3]]
    slopes = sw.gradient(sw.asarray(M))
    assert all(each.flags.c_contiguous for each in slopes)
    np.testing.assert_allclose([sw.asnumpy(each) for each in slopes], np.gradient(M))
    assert sw.zeros(2).asnumpy().tolist() == [0, 0]


@pytest.mark.parametrize("name", ["concatenate", "stack", "hstack", "vstack"])
def test_joined_in_a_dtype(name):
    x = np.arange(3, dtype="f8")
    a = sw.asarray(x)
    for options in ({}, {"dtype": "f4"}, {"dtype": "i4", "casting": "unsafe"}, {"casting": "no"}):
        found, expected = getattr(sw, name)([a, a], **options), getattr(np, name)([x, x], **options)
        assert found.dtype == expected.dtype and found.tolist() == expected.tolist()
    with pytest.raises(TypeError, match="array 0 is of float64"):
        getattr(sw, name)([a, a], dtype="i4")
    if name in ("concatenate", "stack"):
        goal = sw.zeros(np.asarray(getattr(np, name)([x, x])).shape, dtype="f4")
        assert getattr(sw, name)([a, a], out=goal) is goal and goal.tolist() == getattr(np, name)([x, x]).tolist()
        with pytest.raises(ValueError, match="`out` is of shape"):
            getattr(sw, name)([a, a], out=a)
        with pytest.raises(TypeError, match="`dtype` is given beside `out`"):
            getattr(sw, name)([a, a], out=goal, dtype="f4")


def test_kinds_of_numpys_classes():
    assert issubclass(np.float64, sw.floating) and not issubclass(np.int8, sw.floating) and isinstance(np.int8(1), sw.signedinteger)
    assert issubclass(sw.zeros(1).dtype.type, sw.inexact) and issubclass(sw.floating, sw.number) and not issubclass(sw.number, sw.floating)
