"""Has SciPy's fixture `xp` be our namespace, and nothing else."""

import pytest
from scipy import conftest

import stridewise

conftest.xp_known_backends.add("stridewise")


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc):
    for fixture in metafunc._arg2fixturedefs.get("xp", ()):
        fixture.params = [pytest.param(stridewise, id="stridewise", marks=pytest.mark.array_api_backends)]
