"""The incomplete gamma and beta functions beside numbers that were computed with many digits, beside SciPy's at the ends and for large
parameters, on every device; what an element is does not depend on those beside it."""

from pathlib import Path

import numpy as np
import pytest

import stridewise as sw
from arrays import DEVICES

special = sw.special
NAMES = ("betainc", "gammainc", "gammaincc")
NUMBERS = [line.split() for line in Path(__file__).with_name("incomplete_numbers.txt").read_text().splitlines() if line[0] != "#"]
ENDS = np.array([0, 1e-300, 1e-5, 0.3, 0.5, 1, 2, 8, 50, 1e4, np.inf, -1, np.nan])


def rows(name):
    return np.array([[float(v) for v in line[1:]] for line in NUMBERS if line[0] == name]).T


@pytest.mark.parametrize("device", [d for d in DEVICES if sw.Device(d).has_aspect_fp64])
@pytest.mark.parametrize("name", NAMES)
def test_errors(name, device):
    *x, expected = rows(name)
    found = sw.asnumpy(getattr(special, name)(*(sw.asarray(v, device=device) for v in x)))
    units = np.abs(found - expected) / np.spacing(expected) / (1 + np.abs(np.log(expected)))
    most = (16 if name == "betainc" else 10) * (1 if device.startswith("host") else 4)
    assert units.max() <= most, (rows(name)[:, units.argmax()], units.max())


@pytest.mark.parametrize("name", NAMES)
def test_ends(name):
    scipy = pytest.importorskip("scipy.special")
    ranges = (ENDS, ENDS, [0, 1e-300, 1e-9, 0.3, 0.5, 0.75, 1 - 1e-9, 1, -0.5, 1.5, np.nan]) if name == "betainc" else (ENDS, ENDS)
    x = [v.ravel() for v in np.meshgrid(*ranges)]
    # SciPy's is not a number of a or b of no end, where the distribution is at one of its ends.
    used = np.isfinite(x[0]) & np.isfinite(x[1]) if name == "betainc" else np.full(x[0].shape, True)
    x = [v[used] for v in x]
    found = sw.asnumpy(getattr(special, name)(*map(sw.asarray, x)))
    np.testing.assert_allclose(found, getattr(scipy, name)(*x), rtol=1e-10, atol=1e-300)


def test_large_parameters():
    scipy = pytest.importorskip("scipy.special")
    rng = np.random.default_rng(60)
    a = 10.0 ** rng.uniform(3, 12, 400)
    # SciPy's own has lost its digits further out.
    x = a + np.sqrt(a) * rng.uniform(-4.4, 4.4, 400)
    for name in ("gammainc", "gammaincc"):
        found = sw.asnumpy(getattr(special, name)(sw.asarray(a), sw.asarray(x)))
        np.testing.assert_allclose(found, getattr(scipy, name)(a, x), rtol=1e-11)
    # N. M. Temme's expansion, whose next term is of the order of 1 / a.
    a = 10.0 ** rng.uniform(8, 14, 200)
    m = rng.uniform(-20, 20, 200) / np.sqrt(a)
    x = a + a * m
    m = (x - a) / a
    eta = np.sign(m) * np.sqrt(m**2 - 2 * m**3 / 3 + m**4 / 2 - 2 * m**5 / 5)
    rest = np.exp(-a * eta**2 / 2) / np.sqrt(2 * np.pi * a) * (-1 / 3 + eta / 12)
    for name, sign in (("gammainc", -1), ("gammaincc", 1)):
        found = sw.asnumpy(getattr(special, name)(sw.asarray(a), sw.asarray(x)))
        np.testing.assert_allclose(found, scipy.erfc(sign * eta * np.sqrt(a / 2)) / 2 + sign * rest, rtol=1e-7)
    # Those of the normal distribution, to which the others come near.
    z = np.linspace(-5, 5, 41)
    found = sw.asnumpy(special.betainc(1e14, 1e14, sw.asarray(0.5 + z / np.sqrt(8e14))))
    np.testing.assert_allclose(found, scipy.ndtr(z), rtol=1e-6)


def test_distributions():
    stats = pytest.importorskip("scipy.stats")
    t = np.linspace(0.1, 40, 200)
    for freedom in (1, 4.5, 300):
        found = special.betainc(freedom / 2, 0.5, sw.asarray(freedom / (freedom + t * t)))
        np.testing.assert_allclose(sw.asnumpy(found), 2 * stats.t(freedom).sf(t), rtol=2e-12)
        found = special.gammaincc(freedom / 2, sw.asarray(t) / 2)
        np.testing.assert_allclose(sw.asnumpy(found), stats.chi2(freedom).sf(t), rtol=2e-12)


@pytest.mark.parametrize("name", NAMES)
def test_an_element_is_what_it_is_alone(name):
    *x, _ = rows(name)
    many = [np.tile(v, 70_000 // len(v) + 1) for v in x]
    found = sw.asnumpy(getattr(special, name)(*map(sw.asarray, many)))
    assert found.shape == many[0].shape
    few = sw.asnumpy(getattr(special, name)(*map(sw.asarray, x)))
    np.testing.assert_array_equal(found[: len(few)], few)
    np.testing.assert_array_equal(found[-len(few) :], few)
    alone = [float(getattr(special, name)(*each)) for each in zip(*(v[:5] for v in x))]
    np.testing.assert_array_equal(alone, few[:5])


def test_operands():
    scipy = pytest.importorskip("scipy.special")
    x = sw.asarray([[0.5], [2.0]], dtype="float32")
    found = special.gammainc([1, 2, 3], x)
    assert found.shape == (2, 3) and special.gammainc(2, x).dtype == "float32"
    np.testing.assert_allclose(sw.asnumpy(found), scipy.gammainc([1.0, 2, 3], [[0.5], [2]]), rtol=1e-6)
    assert special.betainc(1, 2, 0.5).tolist() == pytest.approx(0.75, rel=1e-15) and special.gammainc(sw.empty((0, 3)), 1).shape == (0, 3)
    assert isinstance(scipy.betainc(sw.asarray([2.0]), 3.0, 0.5), sw.usm_ndarray)
    with pytest.raises(TypeError, match="gammainc\\(\\) takes 2 arrays or numbers"):
        special.gammainc(1)


def test_chi_square_exponential_integral_and_kin():
    scipy = pytest.importorskip("scipy.special")
    rng = np.random.default_rng(61)
    x = np.concatenate([10.0 ** rng.uniform(-300, 0, 200), rng.uniform(0, 30, 200), rng.uniform(30, 700, 100), [0, 1, np.nextafter(1, 2), -1, np.inf, np.nan]])
    found = sw.asnumpy(special.exp1(sw.asarray(x)))
    np.testing.assert_allclose(found, scipy.exp1(x), rtol=2e-13)
    v = rng.uniform(0.1, 60, x.shape)
    for name in ("chdtr", "chdtrc"):
        found = sw.asnumpy(getattr(special, name)(sw.asarray(v), sw.asarray(x)))
        good = x >= 0
        np.testing.assert_allclose(found[good], getattr(scipy, name)(v, x)[good], rtol=4e-12, atol=1e-300)
    signs = np.array([0.0, -0.0, 0.5, -0.5, -1, -1.5, -2, -2.5, 3, 1e300, np.nan])
    np.testing.assert_array_equal(sw.asnumpy(special.gammasgn(sw.asarray(signs))), scipy.gammasgn(signs))
    n, k = np.meshgrid([0, 1, 5, 30, 100, -3], [0, 1, 4, 15, 50, -1])
    np.testing.assert_allclose(sw.asnumpy(special.comb(sw.asarray(n), sw.asarray(k))), scipy.comb(n, k), rtol=1e-13)
    assert special.comb(60, 30, exact=True) == 118264581564861424 and special.comb(3, 5, exact=True) == 0
