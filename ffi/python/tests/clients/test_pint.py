"""Quantities of pint's with our arrays as magnitudes: they stay ours, and the units are right."""

import numpy as np
import pytest

import stridewise as sw
from suites import client

pint = client("pint")
U = pint.UnitRegistry()
N = np.array([[3.0, 1.0, 2.0], [4.0, 8.0, 0.5]])


@pytest.mark.parametrize(
    "work",
    [
        lambda q: q * 2, lambda q: 2 * q, lambda q: np.ones(3) * q, lambda q: q + q.to("cm"), lambda q: q / (q + U.Quantity(1, "m")), lambda q: q**2,
        lambda q: q.to("km"), lambda q: q > U.Quantity(2, "m"), lambda q: np.sqrt(q * q), lambda q: np.sin(q / U.m), lambda q: q.sum(),
        lambda q: np.sum(q, axis=0), lambda q: np.mean(q), lambda q: np.std(q), lambda q: np.var(q), lambda q: q.max(), lambda q: np.argmax(q),
        lambda q: np.sort(q), lambda q: np.concatenate([q, q.to("cm")]), lambda q: np.stack([q, q]), lambda q: q.T, lambda q: q.reshape(6),
        lambda q: q[1], lambda q: q[:, ::2], lambda q: np.where(q > U.Quantity(2, "m"), q, U.Quantity(0.0, "m")), lambda q: np.cumsum(q),
        lambda q: np.clip(q, U.Quantity(100, "cm"), U.Quantity(3, "m")), lambda q: np.dot(q[0], q[1]), lambda q: q @ q.T,
        lambda q: np.median(q), lambda q: np.quantile(q, 0.25), lambda q: np.round(q), lambda q: np.diff(q), lambda q: np.isclose(q, q),
        lambda q: np.interp(U.Quantity(1.5, "m"), q[0, 1:], q[1, 1:]), lambda q: np.full_like(q, U.Quantity(1, "km")), lambda q: np.cross(q[0], q[1]),
        lambda q: np.pad(q, 1), lambda q: np.einsum("ij,ij->i", q, q), lambda q: np.nanmax(q), lambda q: np.any(q > U.Quantity(4, "m")),
    ],
)  # fmt: skip
def test_results_are_ours_and_right(work):
    found, expected = work(U.Quantity(sw.asarray(N), "m")), work(U.Quantity(N, "m"))
    assert getattr(found, "units", None) == getattr(expected, "units", None)
    found, expected = (getattr(q, "magnitude", q) for q in (found, expected))
    assert isinstance(found, sw.usm_ndarray)
    np.testing.assert_allclose(sw.asnumpy(found), expected, rtol=1e-12)


def test_in_place():
    x = sw.asarray(N)
    q = U.Quantity(x, "m")
    q += U.Quantity(50, "cm")
    q[0, 0] = U.Quantity(2, "km")
    assert q.magnitude is x and x[0, 0] == 2000.0 and x[1, 1] == 8.5
    with pytest.raises(pint.DimensionalityError):
        q += U.Quantity(1, "s")
