"""Cubed on our arrays: its own tests, by `CUBED_BACKEND_ARRAY_API_MODULE=stridewise`."""

from suites import client, run

client("cubed")

OURS = {"CUBED_BACKEND_ARRAY_API_MODULE": "stridewise"}


def test_own_tests():
    run(
        "cubed", ["tests/test_array_api.py"], [], 100, marks="not slow and not cloud", environment=OURS,
        # In this process, and by threads.
        select="not processes and not dask",
    )  # fmt: skip
