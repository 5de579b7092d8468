"""Decompositions of `linalg` against NumPy's and SciPy's, by residuals where results are not unique, on every device."""

import inspect

import numpy as np
import pytest

import stridewise as sw
from arrays import DEVICES

CODES = ["float32", "float64", "complex64", "complex128"]
SHAPES = [(1, 1), (4, 4), (2, 3, 3), (2, 2, 5, 5), (0, 0), (3, 0, 0), (0, 2, 2), (33, 33)]
ANY = [*SHAPES, (5, 2), (2, 5), (3, 4, 6), (2, 0, 3), (2, 3, 0)]
LAYOUTS = ["C", "F", "backwards", "steps", "shared"]
on_devices = pytest.mark.parametrize("device", DEVICES)
of_codes = pytest.mark.parametrize("code", CODES)


def random(shape, code, seed=0):
    rng = np.random.default_rng([seed, *shape])
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if code.startswith("c") else x).astype(code)


def ours(x, device, layout="C"):
    if not sw.Device(device).has_aspect_fp64 and x.dtype.name in ("float64", "complex128"):
        pytest.skip("a device without double precision")
    if layout == "F":
        return sw.asarray(np.asfortranarray(x), device=device, order="F")
    if layout == "backwards":
        return sw.asarray(x[::-1, ::-1].copy(), device=device)[::-1, ::-1]
    if layout == "steps":
        wide = np.repeat(x, 2, axis=-1)
        return sw.asarray(wide, device=device)[..., ::2]
    return sw.asarray(x, device=device, usm_type="shared" if layout == "shared" else None)


def near(found, wanted, code, scale=1.0, ulp=64):
    found = sw.asnumpy(found) if isinstance(found, sw.usm_ndarray) else found
    wanted = np.asarray(wanted)
    assert found.shape == wanted.shape
    bound = ulp * max((1, *found.shape[-2:])) * np.finfo(code).eps * max(1.0, float(scale))
    assert np.all(np.abs(found - wanted) <= bound * np.maximum(1.0, np.abs(wanted)))


def H(x):
    return np.conj(np.swapaxes(x, -1, -2))


def hermitian(x):
    return x + H(x)


@on_devices
@of_codes
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", ANY)
def test_factors_give_the_matrix_back(device, code, layout, shape):
    x = random(shape, code)
    a = ours(x, device, layout)
    m, n = shape[-2:]
    k = min(m, n)
    for full in (True, False):
        parts = sw.linalg.svd(a, full_matrices=full)
        u, s, vh = map(sw.asnumpy, parts)
        assert (parts._fields, type(parts).__module__) == (("U", "S", "Vh"), "stridewise.linalg")
        assert (u.shape, s.shape, vh.shape) == tuple(part.shape for part in np.linalg.svd(x, full_matrices=full))
        near(u[..., :k] * s[..., None, :] @ vh[..., :k, :], x, code, n)
        near(H(u) @ u, np.broadcast_to(np.eye(u.shape[-1]), H(u).shape[:-1] + (u.shape[-1],)), code)
        near(s, np.linalg.svd(x, compute_uv=False), code, n)
        assert parts.U.usm_type == a.usm_type and parts.U.sycl_queue == a.sycl_queue
    near(sw.linalg.svdvals(a), np.linalg.svd(x, compute_uv=False), code, n)
    for mode in ("reduced", "complete"):
        parts = sw.linalg.qr(a, mode=mode)
        q, r = map(sw.asnumpy, parts)
        assert parts._fields == ("Q", "R") and (q.shape, r.shape) == tuple(part.shape for part in np.linalg.qr(x, mode=mode))
        near(q @ r, x, code, n)
        assert np.array_equal(np.triu(r), r) and np.all(np.imag(np.diagonal(r, axis1=-2, axis2=-1)) == 0)
    p, l, u = map(sw.asnumpy, sw.linalg.lu(a))
    near(p @ l @ u, x, code, n)
    assert np.array_equal(np.triu(u), u) and np.array_equal(np.tril(l), l)
    near(sw.linalg.pinv(a), np.linalg.pinv(x), code, 64)
    rank = sw.linalg.matrix_rank(a)
    assert rank.dtype == sw.int64 and np.array_equal(sw.asnumpy(rank), np.broadcast_to(k, shape[:-2]))


@on_devices
@of_codes
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", SHAPES)
def test_square_matrices(device, code, layout, shape):
    x = random(shape, code) + 3 * np.eye(shape[-1], dtype=code)
    a, n = ours(x, device, layout), shape[-1]
    near(sw.linalg.det(a) / 3.0**n, np.linalg.det(x) / 3.0**n, code, n)
    parts = sw.linalg.slogdet(a)
    sign, log = np.linalg.slogdet(x)
    assert parts._fields == ("sign", "logabsdet") and parts.logabsdet.dtype.name == log.dtype.name
    near(parts.sign, sign, code, n)
    near(parts.logabsdet, log, code, n)
    near(sw.asnumpy(sw.linalg.inv(a)) @ x, np.broadcast_to(np.eye(n), shape), code, 64)
    near(sw.linalg.matrix_power(a, -2), np.linalg.matrix_power(np.linalg.inv(x), 2), code, 64)
    for other in [(n,), (*shape[:-1], 2), (n, 1)]:
        b = random(other, code, 1)
        found = sw.linalg.solve(a, ours(b, device))
        wanted = np.linalg.solve(x, b) if b.ndim > 1 else np.linalg.solve(x, b[:, None])[..., 0]
        near(found, wanted, code, 64)
    parts = sw.linalg.eig(a)
    w, v = map(sw.asnumpy, parts)
    assert parts._fields == ("eigenvalues", "eigenvectors") and w.dtype == v.dtype == np.result_type(code, "complex64")
    near(x @ v, v * w[..., None, :], code, n)
    near(np.sum(sw.asnumpy(sw.linalg.eigvals(a)), axis=-1), np.trace(x, axis1=-2, axis2=-1), code, n)


@on_devices
@of_codes
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", SHAPES)
def test_hermitian_matrices(device, code, layout, shape):
    x = hermitian(random(shape, code))
    a, n = ours(x, device, layout), shape[-1]
    parts = sw.linalg.eigh(a)
    w, v = map(sw.asnumpy, parts)
    assert parts._fields == ("eigenvalues", "eigenvectors") and w.dtype == np.linalg.eigvalsh(x).dtype
    near(w, np.linalg.eigvalsh(x), code, 2 * n)
    near(sw.linalg.eigvalsh(a), w, code, 2 * n)
    near(x @ v, v * w[..., None, :], code, 2 * n)
    near(H(v) @ v, np.broadcast_to(np.eye(n), shape), code)
    positive = (x @ H(x) + np.eye(n)).astype(code)
    for upper in (False, True):
        near(sw.linalg.cholesky(ours(positive, device), upper=upper), np.linalg.cholesky(positive, upper=upper), code, 64 * n)


@pytest.mark.parametrize("upper", [False, True])
def test_roots_of_a_diagonal_are_real(upper):
    x = random((3, 50, 50), "complex128")
    found = sw.linalg.cholesky(sw.asarray(x @ H(x), device="host"), upper=upper)
    assert not bool(sw.any(sw.imag(sw.linalg.diagonal(found)) != 0))


def test_errors_that_are_numpys():
    for call in (
        lambda: sw.linalg.cond(sw.zeros((0, 0))), lambda: sw.linalg.lstsq(sw.zeros((4, 2)), sw.zeros(5)),
        lambda: sw.linalg.tensorsolve(sw.ones((2, 3, 2)), sw.ones((2, 3))), lambda: sw.linalg.solve(sw.ones(2), sw.ones(2)),
    ):  # fmt: skip
        with pytest.raises(np.linalg.LinAlgError, match="; expected"):
            call()
    with pytest.raises(ValueError, match="`ord` is 'fro'; expected a number"):
        sw.linalg.norm(sw.ones((2, 2)), "fro", 0)


@on_devices
@of_codes
def test_norms_and_conditions(device, code):
    x = random((2, 4, 4), code)
    a = ours(x, device)
    for p in (None, 2, -2, 1, -1, "fro", "nuc", np.inf, -np.inf):
        near(sw.linalg.cond(a, p), np.linalg.cond(x, p), code, 64)
    singular = np.ones((2, 2), code)
    assert np.all(np.isinf(sw.asnumpy(sw.linalg.cond(ours(np.zeros((2, 2), code), device)))))
    assert np.isinf(sw.asnumpy(sw.linalg.cond(ours(singular, device), 1)))
    for ord in (2, -2, "nuc"):
        near(sw.linalg.matrix_norm(a, ord=ord, keepdims=True), np.linalg.matrix_norm(x, ord=ord, keepdims=True), code, 8)


@on_devices
def test_functions_beside_the_standard(device):
    scipy = pytest.importorskip("scipy.linalg")
    for code in CODES:
        for scale in (0.01, 1.0, 30.0):
            x = (random((3, 3), code) * scale).astype(code)
            wanted = scipy.expm(x.astype(np.result_type(code, "float64")))
            near(sw.asnumpy(sw.linalg.expm(ours(x, device))) / np.abs(wanted).max(), wanted / np.abs(wanted).max(), code, 64 * scale)
        x, y = random((3, 4), code), random((2, 3, 2), code)
        near(sw.linalg.kron(ours(x, device), ours(y, device)), np.kron(x, y), code)
        x, y = random((7, 3), code), random((7, 2), code, 1)
        parts = sw.linalg.lstsq(ours(x, device), ours(y, device))
        solution, residuals, rank, s = np.linalg.lstsq(x, y, rcond=None)
        assert parts._fields == ("x", "residuals", "rank", "s") and int(parts.rank) == rank
        for found, wanted in [(parts.x, solution), (parts.residuals, residuals), (parts.s, s)]:
            near(found, wanted, code, 8)


def test_residuals_as_numpy_has_them():
    rng = np.random.default_rng(7)
    for rows, columns in [(5, 2), (2, 5), (3, 3), (4, 0), (0, 4)]:
        for shape in [(rows,), (rows, 3), (rows, 0)]:
            x, y = rng.standard_normal((rows, columns)), rng.standard_normal(shape)
            found, wanted = sw.linalg.lstsq(sw.asarray(x), sw.asarray(y)), np.linalg.lstsq(x, y)
            near(found.residuals, wanted[1], "float64", 8)
            assert found.residuals.shape == wanted[1].shape
    x = np.outer(np.arange(5.0), [1, 2])
    assert sw.linalg.lstsq(sw.asarray(x), sw.ones(5)).residuals.shape == (0,)


@of_codes
@pytest.mark.parametrize("shape", [*ANY, (1, 3), (3, 1)])
def test_triangles_and_reflections(code, shape):
    x = random(shape, code)
    a, (rows, columns) = ours(x, "host"), shape[-2:]
    assert sw.array_equal(sw.linalg.qr(a, mode="r"), sw.linalg.qr(a).R)
    h, tau = sw.linalg.qr(a, mode="raw")
    wanted, factors = np.linalg.qr(x, mode="raw")
    near(h, wanted, code, 64 * max(shape))
    near(tau, factors, code, 64 * max(shape))
    assert h.dtype == code and tau.dtype == code
    # The product of the reflections and the triangle is the matrix.
    h, tau = np.swapaxes(sw.asnumpy(h), -1, -2), sw.asnumpy(tau)
    product = np.triu(h)
    for k in reversed(range(min(rows, columns))):
        v = np.where(np.arange(rows) > k, h[..., :, k], np.arange(rows) == k)[..., None]
        product = product - tau[..., k, None, None] * v @ (H(v) @ product)
    near(product, x, code, 64 * max(shape))


def test_products_of_several_matrices():
    rng = np.random.default_rng(4)
    for count in (2, 3, 4, 5, 9, 20):
        for _ in range(5):
            extents = rng.integers(1, 9, size=count + 1)
            parts = [rng.normal(size=shape) for shape in zip(extents, extents[1:])]
            found = sw.linalg.multi_dot([sw.asarray(part) for part in parts])
            np.testing.assert_allclose(sw.asnumpy(found), np.linalg.multi_dot(parts), rtol=1e-10)


@pytest.mark.parametrize("n", [2, 3, 5, 10, 30])
def test_repeated_and_graded_values(n):
    q = np.linalg.qr(np.random.default_rng(n).normal(size=(n, n)))[0]
    for values in (np.ones(n), np.zeros(n), np.repeat([1.0, 2.0], [n // 2, n - n // 2]), 10.0 ** -np.linspace(0, 16, n), 10.0 ** np.linspace(-150, 150, n)):
        largest, identity = values.max() or 1, np.eye(n)
        x = q * values @ q.T
        w, v = map(sw.asnumpy, sw.linalg.eigh(sw.asarray((x + x.T) / 2)))
        np.testing.assert_allclose(w / largest, np.sort(values) / largest, atol=1e-13 * n)
        np.testing.assert_allclose(v.T @ v, identity, atol=1e-12 * n)
        u, s, vh = map(sw.asnumpy, sw.linalg.svd(sw.asarray(q * values)))
        np.testing.assert_allclose(s / largest, np.sort(values)[::-1] / largest, atol=1e-13 * n)
        for rows in (u, vh):
            np.testing.assert_allclose(rows.T @ rows, identity, atol=1e-12 * n)


def test_tolerances():
    x = sw.asarray(np.stack([np.diag([1.0, 1e-3, 1e-6])] * 2), device="host")
    assert sw.asnumpy(sw.linalg.matrix_rank(x)).tolist() == [3, 3]
    assert sw.asnumpy(sw.linalg.matrix_rank(x, rtol=1e-4)).tolist() == [2, 2]
    assert sw.asnumpy(sw.linalg.matrix_rank(x, rtol=sw.asarray([1e-2, 1e-9], device="host"))).tolist() == [1, 3]
    assert sw.asnumpy(sw.linalg.pinv(x, rtol=1e-4))[0, 2, 2] == 0


def test_what_cannot_be_decomposed_is_refused():
    zeros, nan = sw.zeros((2, 3, 3), device="host"), sw.full((3, 3), float("nan"), device="host")
    wide, vector = sw.ones((2, 3), device="host"), sw.ones(3, device="host")
    assert issubclass(sw.linalg.LinAlgError, ValueError)
    for call in [
        lambda: sw.linalg.inv(zeros),
        lambda: sw.linalg.solve(zeros, vector),
        lambda: sw.linalg.cholesky(zeros),
        lambda: sw.linalg.svd(nan),
        lambda: sw.linalg.eig(nan),
        lambda: sw.linalg.eigh(nan),
    ]:
        with pytest.raises(sw.linalg.LinAlgError, match="matrix.*help:"):
            call()
    for name in "cholesky det eig eigh eigvals eigvalsh expm inv slogdet".split():
        with pytest.raises(ValueError, match="square"):
            getattr(sw.linalg, name)(wide)
        # Of a class that is NumPy's, too.
        for kind in (sw.linalg.LinAlgError, np.linalg.LinAlgError):
            with pytest.raises(kind, match="`x` is of shape .3,.; expected at least two dimensions; help"):
                getattr(sw.linalg, name)(vector)
            with pytest.raises(kind, match="square"):
                getattr(sw.linalg, name)(wide)
        with pytest.raises(TypeError):
            getattr(sw.linalg, name)("text")
    for call in [lambda: sw.linalg.qr(wide, mode="economic"), lambda: sw.linalg.solve(zeros[0], wide), lambda: sw.linalg.cond(wide, 1)]:
        with pytest.raises(ValueError):
            call()


def test_dtypes():
    whole = sw.asarray([[2, 1], [1, 3]], device="host")
    assert sw.linalg.inv(whole).dtype == sw.float64 and float(sw.linalg.det(whole)) == pytest.approx(5)
    half = sw.astype(whole, sw.float16)
    assert sw.linalg.inv(half).dtype == half.dtype
    single = sw.astype(whole, sw.float32)
    assert sw.linalg.solve(single, sw.astype(whole, sw.complex64)).dtype == sw.complex64
    assert sw.linalg.solve(single, sw.astype(whole, sw.float64)).dtype == sw.float64


def test_the_standards_signatures():
    strict = pytest.importorskip("array_api_strict")
    for name in "cholesky det eigh eigvalsh inv matrix_norm matrix_rank pinv qr slogdet solve svd svdvals".split():
        theirs, own = (inspect.signature(getattr(module.linalg, name)).parameters for module in (strict, sw))
        assert next(iter(own.values())).kind is inspect.Parameter.POSITIONAL_ONLY
        for p in list(theirs.values())[1:]:
            # A keyword may be given by position, too, and NumPy's own stand beside the standard's.
            assert own[p.name].default == p.default
            assert own[p.name].kind in (p.kind, p.POSITIONAL_OR_KEYWORD)
        assert all(p.default is not p.empty for key, p in own.items() if key not in theirs and p.kind is not p.POSITIONAL_ONLY)


def test_large_powers_and_products_written_to():
    turn = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    for n in (2**100 + 5, -(2**70), 2**63):
        np.testing.assert_array_equal(sw.asnumpy(sw.linalg.matrix_power(sw.asarray(turn), n)), np.linalg.matrix_power(turn, n))
    parts = [np.arange(float(a * b)).reshape(a, b) for a, b in [(2, 9), (9, 3), (3, 7)]]
    for count in (2, 3):
        out = sw.zeros((2, parts[count - 1].shape[1]))
        assert sw.linalg.multi_dot([sw.asarray(x) for x in parts[:count]], out=out) is out
        np.testing.assert_allclose(sw.asnumpy(out), np.linalg.multi_dot(parts[:count]))


def test_solving_by_tensors():
    # Without unknowns there is nothing to solve; with more equations than unknowns, or fewer, there is no solution to expect.
    assert sw.linalg.tensorsolve(sw.zeros((0, 0)), sw.zeros(0)).shape == (0,)
    with pytest.raises(sw.linalg.LinAlgError, match="as many elements"):
        sw.linalg.tensorsolve(sw.ones((3, 3, 2)), sw.ones((3, 3)))
    with pytest.raises(sw.linalg.LinAlgError, match="square"):
        sw.linalg.tensorinv(sw.ones((4, 6, 8, 2)), ind=2)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_exponentials_of_large_triangles(dtype):
    # What is small beside the largest element is not lost where the matrix is halved often.
    values = [-1e20, 0, -1, 2]
    x = sw.linalg.expm(sw.asarray(np.diag(values), dtype=dtype))
    np.testing.assert_allclose(sw.asnumpy(x), np.diag(np.exp(values)), rtol=1e-6)
    for turned in (np.asarray, np.transpose):
        x = sw.asnumpy(sw.linalg.expm(sw.asarray(turned([[-1e20, 0, 0], [1e20, -1, 0], [0, 0, -3]]), dtype=dtype)))
        expected = [[0, 0, 0], [np.exp(-1.0), np.exp(-1.0), 0], [0, 0, np.exp(-3.0)]]
        np.testing.assert_allclose(x, turned(expected), rtol=1e-4, atol=1e-12)


def test_what_is_above_the_diagonal_is_not_read():
    x = np.array([[1.0, np.nan, np.inf], [2, 3, np.nan], [0, 1, 5]])
    values = np.linalg.eigvalsh(np.tril(x) + np.tril(x, -1).T)
    np.testing.assert_allclose(sw.asnumpy(sw.linalg.eigvalsh(sw.asarray(x))), values, rtol=1e-12)
    np.testing.assert_allclose(sw.asnumpy(sw.linalg.eigh(sw.asarray(x)).eigenvalues), values, rtol=1e-12)
    with pytest.raises(sw.linalg.LinAlgError, match="NaN"):
        sw.linalg.eigvalsh(sw.asarray(x.T))


def test_bases_of_long_matrices():
    # No more columns are computed than there are rows.
    assert sw.linalg.orth(sw.ones((1, 20_000))).shape == (1, 1)
