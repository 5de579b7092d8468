"""`stridewise.special` beside numbers that were computed with many digits, which tells its errors, and beside SciPy, whose own are
larger, over the whole range and at special values; on every device, of other dtypes, and what is refused."""

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import stridewise as sw
from arrays import DEVICES

special = sw.special
RNG = np.random.default_rng(59)


def around(low, high, n=400):
    return RNG.uniform(low, high, n)


def powers(low, high, n=400):
    return 10.0 ** RNG.uniform(low, high, n)


def both(x):
    return np.concatenate([x, -x])


#: Of each function, arguments over its range, and what it may differ from SciPy's, relative, and absolute near zeros.
ONE = {
    "digamma": (np.concatenate([around(0, 40), powers(-300, 300), around(-20, 0)]), 1e-12, 1e-13),
    "entr": (powers(-300, 300), 2e-15, 0),
    "erfc": (np.concatenate([around(-7, 26.5), both(powers(-20, 0))]), 2e-13, 0),
    "erfcinv": (np.concatenate([powers(-307, 0), around(0, 2)]), 2e-15, 0),
    "erfcx": (np.concatenate([around(-26, 30), powers(-10, 300)]), 2e-13, 0),
    "erfinv": (np.concatenate([around(-1, 1), 1 - powers(-15, 0), both(powers(-300, 0))]), 2e-15, 0),
    "expit": (around(-700, 40), 1e-15, 0),
    "exprel": (np.concatenate([around(-740, 709), both(powers(-300, 2))]), 2e-15, 0),
    "gamma": (np.concatenate([around(0, 171.6), around(-170, 0), both(powers(-300, 0))]), 2e-14, 0),
    "gammaln": (np.concatenate([around(0, 40), powers(-300, 300), around(-40, 0)]), 1e-14, 1e-13),
    "i0": (np.concatenate([around(-30, 30), both(powers(-10, 2.85))]), 2e-15, 0),
    "i0e": (np.concatenate([around(-30, 30), both(powers(-10, 4))]), 2e-15, 0),
    "i1": (np.concatenate([around(-30, 30), both(powers(-10, 2.85))]), 3e-15, 0),
    "i1e": (np.concatenate([around(-30, 30), both(powers(-10, 4))]), 5e-15, 0),
    "log_expit": (np.concatenate([around(-740, 740), both(powers(-10, 2))]), 2e-15, 0),
    "log_ndtr": (np.concatenate([around(-38, 8), both(powers(-10, 3))]), 4e-13, 1e-300),
    "logit": (np.concatenate([around(0, 1), powers(-300, 0), 0.5 + both(powers(-16, -1))]), 1e-14, 0),
    "ndtr": (np.concatenate([around(-37, 8), both(powers(-20, 0))]), 3e-13, 0),
    "ndtri": (np.concatenate([powers(-307, 0), around(0, 1)]), 4e-15, 1e-15),
    "rgamma": (np.concatenate([around(-170, 170), both(powers(-300, 0))]), 2e-14, 0),
    "sinc": (around(-20, 20), 1e-14, 1e-15),
    "spence": (np.concatenate([around(0, 4), powers(-300, 8), 1 + both(powers(-15, -1))]), 4e-15, 1e-16),
    "zeta": (np.concatenate([around(-30, 1), around(1, 70), 1 + powers(-10, 0)]), 1e-13, 1e-13),
}

TWO = {
    "beta": (powers(-3, 1.5), powers(-3, 1.5), 2e-14, 0),
    "betaln": (powers(-3, 2), powers(-3, 2), 2e-12, 4e-14),
    "boxcox": (powers(-3, 3), around(-3, 3), 4e-15, 1e-15),
    "boxcox1p": (powers(-3, 3), around(-3, 3), 4e-15, 1e-15),
    "huber": (powers(-3, 3), around(-9, 9), 2e-15, 0),
    "inv_boxcox": (powers(-3, 1), powers(-3, 0), 2e-13, 0),
    "inv_boxcox1p": (powers(-3, 1), powers(-3, 0), 2e-13, 0),
    "kl_div": (powers(-3, 3), powers(-3, 3), 1e-13, 1e-14),
    "pseudo_huber": (powers(-3, 3), around(-9, 9), 4e-15, 0),
    "rel_entr": (powers(-3, 3), powers(-3, 3), 4e-15, 0),
    "stdtr": (powers(-1, 6), around(-30, 30), 2e-13, 0),
    "xlog1py": (around(-3, 3), powers(-10, 3), 2e-15, 0),
    "xlogy": (around(-3, 3), powers(-10, 3), 4e-15, 0),
    "zeta": (1 + powers(-3, 2), powers(-3, 3), 2e-14, 0),
}

#: How zeros, ends and what lies beyond them come out. Without numbers that are not normal.
VALUES = np.array([0, -0.0, 1, -1, 2, -2, 0.5, -0.5, 1.5, 3, 8, -8, 100, -100, 170, 180, 1e3, -1e3, 1e10, 1e300, np.inf, -np.inf, np.nan])


NUMBERS = [line.split() for line in Path(__file__).with_name("special_numbers.txt").read_text().splitlines() if line[0] != "#"]
#: Where a function has a kernel or several on OpenCL for each of its passes: a few are enough there.
ON_OPENCL = ["erfc", "i0e"]


def cases():
    for device in DEVICES:
        if sw.Device(device).has_aspect_fp64:
            for name in sorted({line[0] for line in NUMBERS}):
                if device.startswith("host") or name in ON_OPENCL:
                    yield device, name


@pytest.mark.parametrize("device, name", [*cases()])
def test_errors(device, name):
    """Six units in the last place, ten where a body rounds more often; what a device's own functions add on top."""
    for count in (2, 3):
        rows = np.array([[float(v) for v in line[1:]] for line in NUMBERS if line[0] == name and len(line) == count + 1])
        if len(rows):
            *x, expected = rows.T
            found = sw.asnumpy(getattr(special, name)(*(sw.asarray(v, device=device) for v in x)))
            units = np.abs(found - expected) / np.spacing(np.abs(expected))
            most = 6 if name not in ("i1", "zeta", "beta") else 12
            assert units.max() <= most * (1 if device.startswith("host") else 4), (name, rows[units.argmax()], units.max())


@pytest.mark.parametrize("name", ONE)
def test_functions_of_one(name):
    scipy = pytest.importorskip("scipy.special")
    x, relative, absolute = ONE[name]
    found = sw.asnumpy(getattr(special, name)(sw.asarray(x)))
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(found, getattr(scipy, name)(x), rtol=relative, atol=absolute)


@pytest.mark.parametrize("name", TWO)
def test_functions_of_two(name):
    scipy = pytest.importorskip("scipy.special")
    x, y, relative, absolute = TWO[name]
    found = sw.asnumpy(getattr(special, name)(sw.asarray(x), sw.asarray(y)))
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(found, getattr(scipy, name)(x, y), rtol=relative, atol=absolute)


@pytest.mark.parametrize("name", ONE)
def test_special_values(name):
    scipy = pytest.importorskip("scipy.special")
    # Where SciPy has no number, or another one: the dilogarithm at the far end, Riemann's zeta function.
    values = {"spence": VALUES[~np.isposinf(VALUES)], "zeta": VALUES[np.abs(VALUES) < 1e3]}.get(name, VALUES)
    found = sw.asnumpy(getattr(special, name)(sw.asarray(values)))
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(found, getattr(scipy, name)(values), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", ["xlogy", "xlog1py", "rel_entr", "kl_div", "huber"])
def test_special_values_of_two(name):
    scipy = pytest.importorskip("scipy.special")
    x, y = (v.ravel() for v in np.meshgrid(VALUES, VALUES))
    found = sw.asnumpy(getattr(special, name)(sw.asarray(x), sw.asarray(y)))
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(found, getattr(scipy, name)(x, y), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name, oracle", [("erfc", math.erfc), ("gamma", math.gamma), ("gammaln", math.lgamma)])
def test_beside_pythons_own(name, oracle):
    x = np.concatenate([around(0.01, 25), powers(-20, 1)])
    found = sw.asnumpy(getattr(special, name)(sw.asarray(x)))
    np.testing.assert_allclose(found, [oracle(v) for v in x], rtol=5e-15, atol=1e-15 if name == "gammaln" else 0)


def test_tails_keep_their_digits():
    # As computed with 40 digits.
    x = sw.asarray([-37.0, -10.0, 10.0])
    np.testing.assert_allclose(sw.asnumpy(special.ndtr(x)), [5.725571222524577e-300, 7.619853024160525e-24, 1.0], rtol=2e-15)
    np.testing.assert_allclose(float(special.erfc(26.0)), 5.663192408856143e-296, rtol=2e-15)
    np.testing.assert_allclose(float(special.log_ndtr(-1e5)), -5000000012.431864, rtol=1e-15)


@pytest.mark.parametrize("name", sorted(ONE))
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_narrow_floats_are_rounded_once(name, dtype):
    x = np.random.default_rng(5).uniform(0.05, 0.95, 300).astype(dtype)
    function = getattr(special, name)
    found = function(sw.asarray(x))
    assert found.dtype == dtype
    np.testing.assert_allclose(sw.asnumpy(found), sw.asnumpy(function(sw.asarray(x.astype("f8")))), rtol=float(np.finfo(dtype).eps))


def test_softmax():
    scipy = pytest.importorskip("scipy.special")
    x = RNG.normal(0, 300, (4, 5, 6))
    for axis in (None, 0, -1, (0, 2)):
        for name in ("softmax", "log_softmax"):
            found = sw.asnumpy(getattr(special, name)(sw.asarray(x), axis=axis))
            np.testing.assert_allclose(found, getattr(scipy, name)(x, axis=axis), rtol=1e-13, atol=1e-300)
    assert special.softmax(sw.asarray([1, 2])).dtype == sw.asarray([1.0]).dtype
    assert special.log_softmax(sw.asarray([1.0, 2.0], dtype="float16")).dtype == "float16"


def test_functions_with_an_order():
    scipy = pytest.importorskip("scipy.special")
    x = np.concatenate([around(0.01, 30), powers(-3, 3)])
    for n in (0, 1, 2, 5, 20):
        np.testing.assert_allclose(sw.asnumpy(special.polygamma(n, sw.asarray(x))), scipy.polygamma(n, x), rtol=4e-13, atol=1e-14)
    orders = np.array([[-2, 0, 1, 3, 40], [7, -1, 0, 2, 100]])
    for points in (np.array([0.5, 2.0, 3.5, 10.0, 1.0]), np.float64(2.5)):
        np.testing.assert_allclose(sw.asnumpy(special.polygamma(sw.asarray(orders), points)), scipy.polygamma(orders, points), rtol=4e-13)
    below = np.concatenate([-RNG.uniform(0, 30, 300), powers(-9, 2) * -1.1, [-0.25, -1e-20, -3 - 2.0**-40, -1.0, -7.0]])
    for n in (1, 2, 3, 10, 21):
        np.testing.assert_allclose(sw.asnumpy(special.polygamma(n, sw.asarray(below))), scipy.polygamma(n, below), rtol=4e-13, atol=1e-12)
    np.testing.assert_allclose(float(special.polygamma(1, -0.5)), math.pi**2 / 2 + 4, rtol=1e-15)
    # An order that is an array has its dtype.
    assert special.polygamma(sw.asarray(2), sw.asarray([0.5], dtype="float32")).dtype == "float64"
    assert special.polygamma(2, sw.asarray([0.5], dtype="float32")).dtype == "float32"
    for n in (-1, 1.5):
        assert np.isnan(sw.asnumpy(special.polygamma(n, sw.asarray([1.0, 2.0])))).all()
    edges = np.array([-2.5, -1.0, -0.0, 0.0, 0.5, 3.0, 200.0, np.inf, -np.inf, np.nan])
    np.testing.assert_allclose(sw.asnumpy(special.loggamma(sw.asarray(edges))), scipy.loggamma(edges), rtol=1e-14)
    for d in (1, 2, 5):
        np.testing.assert_allclose(sw.asnumpy(special.multigammaln(sw.asarray(x + 2), d)), scipy.multigammaln(x + 2, d), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(sw.asnumpy(special.factorial(sw.asarray([0, 1, 5, 20, -3]))), [1, 1, 120, math.factorial(20), 0], rtol=1e-15)
    assert special.factorial(30, exact=True) == math.factorial(30)


def test_operands():
    assert float(special.gamma(5)) == 24 and special.gamma([1, 2, 3]).tolist() == [1, 1, 2]
    x = sw.asarray([1.0, 2.0], usm_type="shared")
    assert special.xlogy(x, 2).usm_type == "shared"
    assert special.xlogy(2, x).shape == (2,) and special.xlogy(x[:, None], x).shape == (2, 2)
    out = sw.empty(2)
    assert special.gamma(x, out=out) is out and out.tolist() == [1, 1]
    assert special.erfc(x, out).tolist() == out.tolist()
    assert special.gamma(sw.empty((0, 3))).shape == (0, 3)


def test_what_is_refused():
    with pytest.raises(TypeError, match="expected real numbers; help: take the real part"):
        special.gamma(sw.asarray([1j]))
    with pytest.raises(TypeError, match="gamma\\(\\) takes 1 arrays or numbers"):
        special.gamma()
    with pytest.raises(ValueError, match="`n` is 170; expected no more than 169"):
        special.polygamma(170, 2.0)
    with pytest.raises(ValueError, match="`d` is 0"):
        special.multigammaln(2.0, 0)
    with pytest.raises(ValueError, match="`a` has a number"):
        special.multigammaln(0.5, 3)


def test_the_module_is_imported_when_it_is_asked_for():
    program = "import sys, stridewise as sw; a = 'stridewise.special' in sys.modules; sw.special; print(a, 'stridewise.special' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["False", "True"]


@pytest.mark.parametrize("name", ["erfc", "gammaln", "psi", "ndtr", "xlogy", "i0"])
def test_scipys_functions_of_our_arrays(name):
    scipy = pytest.importorskip("scipy.special")
    x = np.linspace(0.5, 3, 7)
    operands = (x, x[::-1].copy()) if name == "xlogy" else (x,)
    ours = [sw.asarray(v) for v in operands]
    found = getattr(scipy, name)(*ours)
    assert isinstance(found, sw.usm_ndarray)
    np.testing.assert_allclose(sw.asnumpy(found), getattr(scipy, name)(*operands), rtol=1e-14)
    out = sw.empty(7)
    assert getattr(scipy, name)(*ours, out=out) is out and out.tolist() == found.tolist()
    with pytest.raises(TypeError, match="stridewise.asnumpy"):
        scipy.struve(1, ours[0])
