"""xarray on our arrays: its own tests of other arrays than NumPy's, and results with their values."""

import numpy as np
import pytest

import stridewise as sw
from suites import client, run

xr = client("xarray")


def test_own_tests():
    # Products across axes ask NumPy for a dtype of two labelled arrays, which it does not look for in those of other libraries.
    known = ["TestTopLevelMethods::test_cross[stridewise]"]
    run("xarray", ["tests/test_duck_array_wrapping.py"], known, 90, plugin="suite_xarray")


N = np.where(np.arange(24.0).reshape(4, 6) % 7 == 3, np.nan, np.arange(24.0).reshape(4, 6) * 5 % 11)


def labelled(data):
    return xr.DataArray(data, dims=["y", "x"], coords={"y": list("abcd"), "x": np.arange(6) * 10})


@pytest.mark.parametrize(
    "work",
    [
        lambda a: a + a.isel(y=0), lambda a: a.where(a > 3), lambda a: a.where(a > 3, -1), lambda a: a.mean("x"),
        lambda a: a.std("y", skipna=True, ddof=1), lambda a: a.sum(), lambda a: a.max("y"), lambda a: a.fillna(0).cumsum("x"),
        lambda a: a.sel(x=[50, 0]), lambda a: a.sel(y="b", x=slice(10, 30)), lambda a: a.reindex(x=[10, 15, 20]),
        lambda a: a.shift(x=1), lambda a: a.roll(x=2), lambda a: a.pad(x=1), lambda a: a.rolling(x=3).mean(), lambda a: a.diff("x"),
        lambda a: a.coarsen(x=2).max(), lambda a: a.groupby("y").mean(), lambda a: a.quantile(0.5, "x"), lambda a: a.idxmax("x"),
        lambda a: a.stack(z=["y", "x"]), lambda a: a.T, lambda a: xr.concat([a, a * 2], "y"), lambda a: xr.dot(a.fillna(1), a.fillna(2)),
        lambda a: a.astype("float32"), lambda a: np.sqrt(a), lambda a: a.clip(2, 5), lambda a: a.isnull(),
        lambda a: a.to_dataset(name="v").v.median("x"), lambda a: xr.where(a > 3, a, 0),
    ],
)  # fmt: skip
def test_results_are_ours_and_right(work):
    found, expected = work(labelled(sw.asarray(N))), work(labelled(N))
    assert isinstance(found.data, sw.usm_ndarray)
    assert found.dims == expected.dims and found.dtype == expected.dtype
    np.testing.assert_allclose(sw.asnumpy(found.data), expected.data, rtol=1e-12)
    for name in expected.coords:
        xr.testing.assert_equal(found.coords[name], expected.coords[name])
