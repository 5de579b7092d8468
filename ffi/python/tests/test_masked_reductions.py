"""Reductions of the elements that a mask chooses (`where=`), and from a value on (`initial=`): functions of the namespace, methods, and
NumPy's functions on our arrays, each beside NumPy on its own."""

import itertools
import subprocess
import sys
import warnings

import numpy as np
import pytest
from conftest import DTYPES

import stridewise as sw

RNG = np.random.default_rng(59)
FOLDS = ("sum", "prod", "max", "min", "nansum", "nanprod", "nanmax", "nanmin")
TRUTHS = ("any", "all")
MEANS = ("mean", "var", "std", "nanmean", "nanvar", "nanstd")
METHODS = ("sum", "prod", "max", "min", "any", "all", "mean", "var", "std")
INEXACT = ("float16", "float32", "float64", "complex64", "complex128")
SHAPE = (3, 4, 5)
#: Each mask by a name; the last ones are broadcast.
MASKS = {
    "whole": RNG.random(SHAPE) < 0.6, "row": RNG.random(5) < 0.6, "column": RNG.random((4, 1)) < 0.5, "stack": RNG.random((3, 1, 1)) < 0.7,
    "none": np.zeros(SHAPE, bool), "all": np.ones(5, bool), "number": np.bool_(False),
}  # fmt: skip
AXES = (None, 0, -1, (0, 2), (), (2, 1))


def elements(dtype, shape=SHAPE):
    """Small numbers, of which NumPy's sums and ours are near each other."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return RNG.random(shape) < 0.5
    if kind in "iu":
        return RNG.integers(0 if kind == "u" else -3, 4, shape).astype(dtype)
    values = RNG.normal(size=shape).round(2)
    return (values + 1j * RNG.normal(size=shape).round(2) if kind == "c" else values).astype(dtype)


def outcome(call, *arguments, **options):
    """What a call makes, or the class of its exception."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return call(*arguments, **options)
        except (TypeError, ValueError, IndexError, OverflowError) as error:
            return next(kind for kind in (OverflowError, TypeError, IndexError, ValueError) if isinstance(error, kind))


def agree(found, expected, what="", near=None):
    if isinstance(expected, type) or isinstance(found, type):
        assert found is expected, (what, found, expected)
        return
    expected = np.asarray(expected)
    assert isinstance(found, sw.usm_ndarray), (what, type(found))
    assert found.shape == expected.shape, (what, found.shape, expected.shape)
    assert found.dtype == expected.dtype, (what, found.dtype, expected.dtype)
    units = {2: 8e-3, 4: 3e-6, 8: 1e-13}.get(np.real(expected).dtype.itemsize, 0) if expected.dtype.kind in "fc" else 0
    units = near or units
    np.testing.assert_allclose(sw.asnumpy(found), expected, rtol=units, atol=units, err_msg=str(what))


def calls(name):
    """A reduction as a function of ours, as NumPy's on our arrays, and as a method."""
    yield getattr(sw, name)
    yield getattr(np, name)
    if name in METHODS:
        yield lambda x, **options: getattr(x, name)(**options)


@pytest.mark.parametrize("name", FOLDS + TRUTHS + MEANS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_masks_of_every_dtype(name, dtype):
    if "complex" in dtype and name in ("nanmax", "nanmin", "max", "min"):
        pytest.skip("complex numbers have no order here")
    if name in ("var", "std", "nanvar", "nanstd") and dtype == "bool":
        pytest.skip("NumPy subtracts no truth values")
    x = elements(dtype)
    ours = sw.asarray(x)
    for (kind, mask), axis, keepdims in itertools.product(MASKS.items(), AXES, (False, True)):
        options = {"axis": axis, "keepdims": keepdims}
        if name in ("max", "min", "nanmax", "nanmin"):
            options["initial"] = 1
        expected = outcome(getattr(np, name), x, where=mask, **options)
        for call in calls(name):
            agree(outcome(call, ours, where=sw.asarray(mask), **options), expected, (name, dtype, kind, options))
        # A mask of NumPy's, and one as a list.
        agree(outcome(getattr(sw, name), ours, where=mask, **options), expected)
        agree(outcome(getattr(sw, name), ours, where=mask.tolist(), **options), expected)


@pytest.mark.parametrize("name", FOLDS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_what_a_reduction_begins_with(name, dtype):
    if "complex" in dtype and name in ("nanmax", "nanmin", "max", "min"):
        pytest.skip("complex numbers have no order here")
    x = elements(dtype)
    ours = sw.asarray(x)
    first = {"b": True, "c": 2 - 1j}.get(np.dtype(dtype).kind, 2)
    for axis, keepdims, mask in itertools.product(AXES, (False, True), (True, MASKS["row"])):
        options = {"axis": axis, "keepdims": keepdims, "initial": first, "where": mask}
        expected = outcome(getattr(np, name), x, **options)
        for call in calls(name):
            agree(outcome(call, ours, **options), expected, (name, dtype, options))


@pytest.mark.parametrize("name", FOLDS + TRUTHS + MEANS)
def test_of_no_elements(name):
    for shape, axis in (((0,), None), ((2, 0), 1), ((2, 0), 0), ((0, 3), (0, 1))):
        x = np.zeros(shape)
        for options in ({"where": np.ones(shape, bool)}, {"where": np.ones(shape, bool), "initial": 3}, {"initial": -2.5}):
            if "initial" in options and name not in FOLDS:
                continue
            expected = outcome(getattr(np, name), x, axis=axis, **options)
            agree(outcome(getattr(sw, name), sw.asarray(x), axis=axis, **options), expected, (name, shape, options))


@pytest.mark.parametrize("name", FOLDS + TRUTHS + MEANS)
@pytest.mark.parametrize("dtype", INEXACT)
def test_nan(name, dtype):
    if "complex" in dtype and name in ("nanmax", "nanmin", "max", "min"):
        pytest.skip("complex numbers have no order here")
    x = elements(dtype)
    x[RNG.random(SHAPE) < 0.3] = np.nan
    x[1] = np.nan
    ours = sw.asarray(x)
    for (kind, mask), axis in itertools.product(MASKS.items(), (None, 0, (1, 2))):
        options = {"initial": 0.5} if name in ("max", "min", "nanmax", "nanmin") else {}
        # What the mask leaves out is not looked at, and what it takes is.
        agree(outcome(getattr(sw, name), ours, axis=axis, where=mask, **options), outcome(getattr(np, name), x, axis=axis, where=mask, **options), (name, kind, axis))


@pytest.mark.parametrize("name", FOLDS + MEANS)
def test_dtypes_of_results(name):
    x = elements("float32")
    for dtype, mask in itertools.product(("float64", "float32"), (MASKS["whole"], True)):
        if name.endswith(("max", "min")):
            continue
        options = {"dtype": dtype, "where": mask, "axis": 1}
        # NumPy's distances without NaN are of the elements' dtype, whatever they are added up in.
        near = 1e-6 if name in ("nanvar", "nanstd") else None
        agree(outcome(getattr(sw, name), sw.asarray(x), **options), outcome(getattr(np, name), x, **options), (name, options), near)


@pytest.mark.parametrize("name", FOLDS + TRUTHS + MEANS)
def test_written_to_an_array(name):
    x, mask = elements("float64"), MASKS["whole"]
    options = {"initial": 0} if name in ("max", "min", "nanmax", "nanmin") else {}
    expected = outcome(getattr(np, name), x, axis=1, where=mask, **options)
    out = sw.empty((3, 5), dtype=expected.dtype)
    assert getattr(sw, name)(sw.asarray(x), axis=1, out=out, where=mask, **options) is out
    agree(out, expected)
    theirs = np.empty((3, 5), expected.dtype)
    assert getattr(np, name)(sw.asarray(x), axis=1, out=theirs, where=mask, **options) is theirs
    agree(sw.asarray(theirs), expected)
    with pytest.raises(ValueError, match="`out` is of shape"):
        getattr(sw, name)(sw.asarray(x), axis=0, out=out, where=mask, **options)


def test_floats_are_not_written_to_integers():
    x, mask = sw.ones((2, 3)), sw.asarray([[True], [False]])
    for module, out in ((sw, sw.zeros(3, dtype="int64")), (np, np.zeros(3, "int64"))):
        for name in ("sum", "mean"):
            with pytest.raises(TypeError):
                getattr(module, name)(x, axis=0, out=out, where=mask)


@pytest.mark.parametrize("name", ("var", "std", "nanvar", "nanstd"))
def test_corrections_and_known_means(name):
    x, mask = elements("float64"), MASKS["whole"]
    for options in ({"ddof": 1}, {"correction": 1.5}, {"ddof": 9}, {"mean": np.full((3, 1, 5), 0.25)}, {"ddof": 1, "mean": np.full((3, 1, 5), 0.25)}):
        for where in (mask, True):
            if where is True and options == {"ddof": 9} and name in ("var", "std"):
                # Of fewer elements than are subtracted the variance is NaN in the standard, infinite in NumPy.
                continue
            expected = outcome(getattr(np, name), x, axis=1, where=where, **options)
            agree(outcome(getattr(sw, name), sw.asarray(x), axis=1, where=where, **options), expected, (options, where is True))


def test_positions_are_numpys():
    x, mask = elements("float64"), MASKS["whole"]
    agree(sw.sum(sw.asarray(x), 1, None, None, True, 3.0, mask), np.sum(x, 1, None, None, True, 3.0, mask))
    agree(sw.max(sw.asarray(x), 1, None, True, 3.0, mask), np.max(x, 1, None, True, 3.0, mask))
    agree(np.min(sw.asarray(x), 1, None, True, 3.0, mask), np.min(x, 1, None, True, 3.0, mask))


def test_what_is_usual_changes_nothing():
    x = sw.asarray(elements("float32"))
    for name in FOLDS:
        assert getattr(sw, name)(x, initial=None, where=True).tolist() == getattr(sw, name)(x).tolist()
        assert getattr(np, name)(x, where=True).tolist() == getattr(sw, name)(x).tolist()


def test_what_is_recorded_is_reduced():
    x = sw.asarray(elements("float64"))
    y = sw.sqrt(x * x + 1)
    agree(sw.sum(y, axis=0, where=y > 1.2), np.sum(sw.asnumpy(y), axis=0, where=sw.asnumpy(y) > 1.2))


ERRORS = [
    (lambda x, m: sw.min(x, where=m), ValueError, "`where` without `initial`.*help"),
    (lambda x, m: sw.max(x, axis=0, where=m), ValueError, "`where` without `initial`.*help"),
    (lambda x, m: np.max(x, where=m), ValueError, "`where` without `initial`.*help"),
    (lambda x, m: x.min(where=m), ValueError, "`where` without `initial`.*help"),
    (lambda x, m: sw.sum(x, where=sw.ones((2, 3, 4, 5), dtype=bool)), ValueError, r"`where` is of shape \(2, 3, 4, 5\).*\(3, 4, 5\)"),
    (lambda x, m: sw.sum(x, where=[True, False]), ValueError, r"`where` is of shape \(2,\).*\(3, 4, 5\)"),
    (lambda x, m: sw.sum(x, where="yes"), TypeError, "`where` is 'yes'"),
    (lambda x, m: sw.sum(x, initial=[1, 2]), ValueError, r"`initial` is of shape \(2,\).*number"),
    (lambda x, m: sw.sum(x, initial="1"), TypeError, "`initial` is '1'"),
    (lambda x, m: sw.max(sw.astype(x, "int8"), initial=200), OverflowError, "`initial` is 200.*-128..127"),
    (lambda x, m: sw.sum(x, axis=3, where=m), IndexError, "axis"),
    (lambda x, m: sw.mean(x, initial=1), TypeError, "initial"),
    (lambda x, m: sw.any(x, initial=True), TypeError, "initial"),
    (lambda x, m: sw.argmax(x, where=m), TypeError, "where"),
    (lambda x, m: sw.var(x, where=m, ddof=1, correction=2), ValueError, "`ddof`.*`correction`"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "text"), ERRORS)
def test_what_is_not_possible_is_named(call, kind, text):
    with pytest.raises(kind, match=text):
        call(sw.asarray(elements("float64")), MASKS["whole"])


def test_without_numpy():
    program = (
        "import sys; sys.modules['numpy'] = None\nimport stridewise as sw\n"
        "x = sw.asarray([1.0, 2, 3])\nassert float(sw.sum(x, where=[True, False, True], initial=10)) == 14\n"
        "assert float(x.mean(where=x > 1)) == 2.5"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
