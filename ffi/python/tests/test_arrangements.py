"""NumPy's names that arrange what the namespace has, beside NumPy's."""

import numpy as np
import pytest

import stridewise as sw

X = np.array([[3, 0, 1, 4], [0, 5, 2, 0], [7, 7, 0, 1]])
CALLS = [
    ("compress", ([True, False, True], X), {"axis": 0}), ("compress", ([0, 1, 1, 0], X), {"axis": 1}), ("compress", ([False, True], X), {}),
    ("delete", (X, 1), {"axis": 1}), ("delete", (X, slice(0, None, 2)), {"axis": 0}), ("delete", (X, [0, -1, 3]), {}),
    ("delete", (X, [True, False, True]), {"axis": 0}), ("diag_indices", (3,), {}), ("diag_indices", (2, 3), {}),
    ("diag_indices_from", (X[:, :3],), {}), ("diagflat", (X[:2, :2],), {}), ("diagflat", ([1, 2], 1), {}), ("hsplit", (X, 2), {}),
    ("hsplit", (X[0], [1, 3]), {}), ("vsplit", (X, [1]), {}), ("dsplit", (X.reshape(3, 2, 2), 2), {}), ("ediff1d", (X,), {}),
    ("ediff1d", (X[0],), {"to_begin": -1, "to_end": [8, 9]}), ("indices", ((2, 3),), {}), ("indices", ((2, 3),), {"sparse": True}),
    ("iscomplex", (X * 1j,), {}), ("isreal", (X * 1j,), {}), ("isreal", (X,), {}), ("ix_", ([0, 2], [1, 3, 0]), {}),
    ("ix_", ([True, False, True], [2]), {}), ("modf", (np.array([1.5, -2.25, -0.0, np.inf, -np.inf, np.nan, 3]),), {}),
    ("setxor1d", (X[0], X[1]), {}), ("setxor1d", ([1, 2], [2, 3]), {"assume_unique": True}), ("tri", (3,), {}), ("tri", (3, 5, 1), {}),
    ("tri", (3, 2, -1, "int32"), {}), ("tril_indices_from", (X,), {"k": 1}), ("triu_indices_from", (X[:, :3],), {}),
    ("trim_zeros", (np.array([0, 0, 1, 0, 2, 0]),), {}), ("trim_zeros", (np.array([0, 0, 1, 0]), "b"), {}),
    ("trim_zeros", (np.zeros(3),), {}), ("vander", (X[0],), {}), ("vander", (X[0] / 2, 3), {}), ("bartlett", (9,), {}), ("blackman", (9,), {}),
    ("hamming", (9,), {}), ("hanning", (8,), {}), ("kaiser", (9, 14.0), {}), ("hanning", (1,), {}), ("hanning", (0,), {}),
    ("i0", (np.linspace(-9, 9, 7),), {}), ("array_equiv", (X[0], X[:1]), {}), ("array_equiv", (X, X[:, :2]), {}),
    ("array_equiv", (X, X + 1), {}), ("vander", (X[0], 3), {"increasing": True}),
]  # fmt: skip


def same(found, expected):
    if isinstance(expected, (tuple, list)):
        assert len(found) == len(expected)
        for one, other in zip(found, expected):
            same(one, other)
    elif isinstance(expected, bool):
        assert found is expected
    else:
        assert found.shape == expected.shape and found.dtype == expected.dtype
        np.testing.assert_allclose(sw.asnumpy(found), expected, rtol=1e-14, atol=2e-16)


@pytest.mark.parametrize("number", range(len(CALLS)), ids=[f"{k}-{name}" for k, (name, _, _) in enumerate(CALLS)])
def test_beside_numpy(number):
    name, args, named = CALLS[number]
    ours = [sw.asarray(x) if isinstance(x, np.ndarray) else x for x in args]
    same(getattr(sw, name)(*ours, **named), getattr(np, name)(*args, **named))


@pytest.mark.parametrize("shape", [(3, 3), (5, 2), (2, 5), (7, 2), (3, 3, 3)])
@pytest.mark.parametrize("wrap", [False, True])
@pytest.mark.parametrize("value", [9, [4, 5]])
def test_fill_diagonal(shape, wrap, value):
    x, ours = np.zeros(shape), sw.zeros(shape)
    np.fill_diagonal(x, value, wrap=wrap)
    sw.fill_diagonal(ours, value, wrap=wrap)
    assert ours.tolist() == x.tolist()


def test_small_ones():
    assert sw.s_[1:3, ::2] == np.s_[1:3, ::2] and sw.index_exp[2] == (2,) and sw.euler_gamma == np.euler_gamma
    assert sw.promote_types("int8", "float32") == sw.float32 and sw.promote_types("int32", "uint32") == sw.int64
    for x in (1, 2.0, 1j, "text", True, np.float32(1)):
        assert sw.isscalar(x) and np.isscalar(x)
    assert not sw.isscalar(sw.zeros(())) and not sw.isscalar([1]) and not sw.isscalar(None)


def test_what_is_refused():
    x = sw.zeros((2, 3))
    for error, call in [
        (IndexError, lambda: sw.delete(x, 3, axis=1)), (ValueError, lambda: sw.delete(x, [True], axis=1)), (ValueError, lambda: sw.dsplit(x, 1)),
        (ValueError, lambda: sw.vsplit(x[0], 1)), (ValueError, lambda: sw.ix_(x)), (ValueError, lambda: sw.vander(x)),
        (ValueError, lambda: sw.trim_zeros(x, "x")), (ValueError, lambda: sw.diag_indices_from(x)), (ValueError, lambda: sw.fill_diagonal(x[0], 1)),
    ]:  # fmt: skip
        with pytest.raises(error, match="expected"):
            call()
