"""Has xarray's tests of arrays that are not NumPy's be of ours, and of no others."""

from xarray.tests import test_duck_array_wrapping as suite

suite.NAMESPACE_ARRAYS["stridewise"] = {"attrs": {"array": "usm_ndarray", "constructor": "asarray"}, "xfails": {}}
suite.NAMESPACES[:] = ["stridewise"]
