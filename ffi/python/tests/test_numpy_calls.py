"""NumPy's functions on our arrays, called as NumPy's users call them: rules of conversion, masks that are broadcast, names of
arguments, lists beside arrays, results into NumPy's arrays. The oracle is NumPy."""

import inspect

import numpy as np
import pytest

import stridewise as sw
from conftest import same

CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")
DTYPES = ("bool", "int8", "uint8", "int32", "int64", "uint64", "float32", "float64", "complex64")


def outcome(call):
    """What a call comes to: an array, or the class of its exception."""
    try:
        return call()
    except (TypeError, ValueError, IndexError) as error:
        return TypeError if isinstance(error, TypeError) else ValueError


def agree(ours, theirs, told):
    if isinstance(theirs, type) or isinstance(ours, type):
        assert ours is theirs, told
    else:
        same(ours, np.asarray(theirs))


@pytest.mark.parametrize("casting", [*CASTINGS, "foo"])
def test_conversions_follow_the_rule(casting):
    for have in DTYPES:
        n = np.array([0, 1, 1]).astype(have)
        x = sw.asarray(n)
        for want in DTYPES:
            told = f"{have} to {want} by {casting}"
            for join in (np.concatenate, np.stack, np.hstack, np.vstack):
                agree(*(outcome(lambda: join([a, a], dtype=want, casting=casting)) for a in (x, n)), told)
            goals = sw.zeros(3, dtype=want), np.zeros(3, dtype=want)
            agree(*(outcome(lambda: np.copyto(goal, a, casting=casting) or goal) for goal, a in zip(goals, (x, n))), told)
            same(goals[0], goals[1])
    for number in (True, 1, 1.5, 1j):
        for want in DTYPES:
            goals = sw.zeros(3, dtype=want), np.zeros(3, dtype=want)
            results = [outcome(lambda: np.copyto(goal, number, casting=casting) or goal) for goal in goals]
            if casting in ("same_kind", "unsafe", "foo"):
                agree(*results, f"{number} to {want} by {casting}")


def test_out_beside_dtype_and_shapes_that_differ_are_refused():
    x = sw.asarray([1.5, 2.5])
    for call in (np.concatenate, np.stack):
        with pytest.raises(TypeError, match="`dtype`"):
            call([x, x], dtype="float64", out=sw.zeros(4))
        with pytest.raises(ValueError, match="shape"):
            call([x, x], out=sw.zeros((3, 3)))
    for refused in (
        lambda: np.add(x, 1, dtype="int32"), lambda: np.sqrt(x, dtype="int32"), lambda: np.sqrt(sw.arange(3), dtype="int64"),
        lambda: np.multiply(sw.asarray([-1, 2]), 3, dtype="uint8"), lambda: np.add(x, 1, dtype="float32", casting="no"),
        lambda: np.add(x, x, casting="equiv"), lambda: np.einsum("i->i", x, dtype="float32"),
    ):  # fmt: skip
        with pytest.raises(TypeError):
            refused()
    with pytest.raises(ValueError, match="foo"):
        np.add(x, x, casting="foo")
    same(np.add(x, 1, dtype="float32"), np.add(np.array([1.5, 2.5]), 1, dtype="float32"))
    same(np.add(x, 1, dtype="int32", casting="unsafe"), np.array([2, 3], "int32"))
    goal = sw.zeros(2, dtype="int32")
    assert np.add(x, 1, out=goal, casting="unsafe") is goal and goal.tolist() == [2, 3]
    goal = sw.zeros(2)
    np.add(x, 1, out=goal, where=sw.asarray([False, True]))
    assert goal.tolist() == [0, 3.5]


def test_masks_and_sources_are_broadcast():
    rng = np.random.default_rng(5)
    shapes = [(3, 4), (3, 3), (1, 5), (4,), (2, 3, 4), ()]
    for _ in range(300):
        shape = shapes[rng.integers(len(shapes))]
        n, x = np.zeros(shape), sw.zeros(shape)
        part = lambda: tuple(rng.choice([1, extent]) for extent in shape[rng.integers(len(shape) + 1) :])
        mask = rng.random(part()) < 0.5
        source = rng.normal(size=(1,) * rng.integers(3) + part()) if rng.random() < 0.8 else 2.5
        np.copyto(n, source, where=mask)
        np.copyto(x, sw.asarray(source) if rng.random() < 0.5 else source, where=sw.asarray(mask) if rng.random() < 0.5 else mask)
        same(x, n)
        values = rng.normal(size=rng.integers(1, 20))
        mask = rng.random(n.size) < 0.5
        for function in (np.place, np.putmask):
            function(n, mask.reshape(shape[::-1]), values)
            function(x, sw.asarray(mask.reshape(shape[::-1])), values if rng.random() < 0.5 else sw.asarray(values))
            same(x, n)
    x = sw.zeros(3)
    for refused in (
        lambda: np.copyto(x, [1, 2]), lambda: np.copyto(x, 1, where=[True, False]), lambda: np.copyto(x, 1, where=sw.asarray([1, 0, 1])),
        lambda: np.place(x, [True], [1]), lambda: np.putmask(x, [True], 1),
    ):  # fmt: skip
        with pytest.raises((TypeError, ValueError)):
            refused()
    assert x.tolist() == [0] * 3


@pytest.mark.parametrize("indices", [slice(1, 3), (slice(None), 1), (0, slice(0, 3, 2)), ([0, 2, 0], slice(1, 3)), (..., [1, 1]), [0, 0]])
def test_values_are_added_at_slices_and_places(indices):
    n = np.arange(12.0).reshape(3, 4)
    x = sw.asarray(n, copy=True)
    for ufunc, value in [(np.add, 2), (np.subtract, 0.5), (np.add, np.float64(3))]:
        ufunc.at(n, indices, value)
        ufunc.at(x, indices, value)
        same(x, n)


@pytest.mark.parametrize("ufunc", [np.add, np.subtract, np.multiply, np.maximum, np.minimum])
def test_ufuncs_at_keys_of_every_sort(ufunc):
    for key in (slice(None, None, -1), -1, None, (None, 0), np.array([True, False, True]), np.array([[0, 1], [0, 0]]), np.zeros(0, int), ([0, 0], [1, 1])):
        n = np.arange(12.0).reshape(3, 4) + 1
        x = sw.asarray(n, copy=True)
        for array in (n, x):
            ufunc.at(array, key, 2.0)
        np.testing.assert_allclose(sw.asnumpy(x), n, rtol=1e-15)


#: Arguments of functions by the names of NumPy's parameters.
_NAMED = [
    (np.sum, dict(a=[[1.0, 2], [3, 4]], axis=1)), (np.max, dict(a=[3, 1, 2])),
    (np.take, dict(a=[5, 6, 7], indices=[2, 0])), (np.isin, dict(element=[1, 2], test_elements=[2, 3], assume_unique=True)),
    (np.digitize, dict(x=[0.5, 1.5], bins=[0, 1, 2])), (np.searchsorted, dict(a=[1, 2, 3], v=[2, 3], side="right")),
    (np.repeat, dict(a=[1, 2], repeats=2)), (np.diff, dict(a=[1, 4, 9], n=1)), (np.outer, dict(a=[1, 2], b=[3, 4])),
    (np.tensordot, dict(a=[[1.0, 2]], b=[[3.0], [4]], axes=1)), (np.linalg.norm, dict(x=[3.0, 4])), (np.cumsum, dict(a=[1, 2, 3])),
    (np.argsort, dict(a=[3, 1, 2], axis=-1)), (np.roll, dict(a=[1, 2, 3], shift=1)), (np.expand_dims, dict(a=[1, 2], axis=0)),
]  # fmt: skip


@pytest.mark.parametrize(("function", "named"), _NAMED, ids=lambda case: getattr(case, "__name__", ""))
def test_arguments_have_numpys_names(function, named):
    first = next(iter(named))
    theirs = function(**{**named, first: np.asarray(named[first])})
    ours = function(**{**named, first: sw.asarray(named[first])})
    assert isinstance(ours, sw.usm_ndarray)
    np.testing.assert_allclose(sw.asnumpy(ours), theirs)
    # By position, and half of each.
    values = [sw.asarray(named[first]), *list(named.values())[1:]]
    parameters = list(inspect.signature(function).parameters)
    count = sum(key == parameter for key, parameter in zip(named, parameters))
    for places in range(1, count + 1):
        rest = dict(list(named.items())[places:])
        np.testing.assert_allclose(sw.asnumpy(function(*values[:places], **rest)), theirs)


def test_what_is_not_taken_is_named():
    x = sw.arange(6.0)
    for function, options in [(np.pad, dict(pad_width=1, stat_length=3)), (np.sort, dict(order="field")), (np.linalg.eigh, dict(UPLO="X"))]:
        with pytest.raises((TypeError, ValueError)) as raised:
            function(x if function is not np.linalg.eigh else sw.eye(2), **options)
        assert "unexpected keyword" not in str(raised.value)


@pytest.mark.parametrize("function", [np.sum, np.mean, np.cumsum, np.take])
def test_results_go_to_numpys_arrays(function):
    n = np.arange(6.0).reshape(2, 3)
    x, rest = sw.asarray(n), ([1, 0],) if function is np.take else ()
    expected = function(n, *rest, axis=1)
    for named in (True, False):
        goal = np.zeros_like(expected)
        if named:
            result = function(x, *rest, axis=1, out=goal)
        else:
            order = {np.sum: (1, None), np.mean: (1, None), np.cumsum: (1, None), np.take: (1,)}[function]
            result = function(x, *rest, *order, goal)
        assert result is goal
        np.testing.assert_array_equal(goal, expected)


@pytest.mark.parametrize("call", [
    lambda a, out: np.median(a, out=out), lambda a, out: np.nanmedian(a, out=out), lambda a, out: np.quantile(a, 0.3, out=out),
    lambda a, out: np.nanpercentile(a, 30, out=out),
])  # fmt: skip
def test_numbers_go_to_numpys_arrays(call):
    n, goal = np.array([3.5, 1.25, 2.0]), np.zeros(())
    assert call(sw.asarray(n), goal) is goal
    np.testing.assert_allclose(goal, call(n, np.zeros(())))
    goal = sw.zeros(())
    assert call(sw.asarray(n), goal) is goal


def test_rounded_and_clipped_numbers_go_to_numpys_arrays():
    n = np.array([3.57, -1.25, 2.0])
    x = sw.asarray(n)
    for call in (lambda a, out: np.clip(a, 0, 3, out=out), lambda a, out: np.round(a, 1, out=out), lambda a, out: np.around(a, out=out)):
        goal = np.zeros(3)
        assert call(x, goal) is goal
        np.testing.assert_allclose(goal, call(n, np.zeros(3)))
    with pytest.raises((TypeError, ValueError), match="`casting`"):
        np.clip(x, 0, 1, casting="foo")


def test_lists_beside_arrays():
    n = np.arange(4.0)
    x = sw.asarray(n)
    for call in (
        lambda a: np.concatenate([a, [1, 2]]), lambda a: np.where(a > 1, a, [0, 0, 0, 0]), lambda a: np.isin(a, [1, 2]),
        lambda a: np.stack([a, [1, 2, 3, 4]]), lambda a: np.dot(a, [1, 2, 3, 4]), lambda a: np.einsum("i,i->", a, [1.0, 2, 3, 4]),
        lambda a: np.partition(a[::-1], 1)[:1], lambda a: np.hstack([a, [7.0]]),
    ):  # fmt: skip
        ours = call(x)
        assert isinstance(ours, sw.usm_ndarray)
        np.testing.assert_array_equal(sw.asnumpy(ours), call(n))
    a, b, none = np.broadcast_arrays(x, [1.0], None)
    same(a, n)
    same(b, np.ones(4))
    assert none.dtype == object and none.shape == (4,)
