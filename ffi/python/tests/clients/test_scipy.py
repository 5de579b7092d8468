"""SciPy on our arrays: its own tests, with our namespace for the one that they are given, and what it writes to our memory."""

import numpy as np
import pytest

import stridewise as sw
from suites import client, run

scipy = client("scipy")

#: Files of tests, those of them that fail, and how many pass.
SUITES = {
    "cluster": (
        ["cluster/tests"],
        # A covariance of random numbers, as near as NumPy's signs of singular vectors bring it.
        ["test_krandinit[stridewise]"],
        170,
    ),
    "fft": (["fft/tests"], [], 1500),
    "ndimage": (
        ["ndimage/tests/test_filters.py", "ndimage/tests/test_morphology.py"],
        # Asks for words of NumPy's message.
        ["TestVectorizedFilter::test_input_validation[stridewise]"],
        2000,
    ),
    "others": (
        ["special/tests/test_logsumexp.py", "signal/tests/test_savitzky_golay.py", "spatial/transform/tests", "stats/tests/test_device_dtype.py"],
        # The sum of negative zeros, which is one here, as it is without a first summand of zero; NumPy begins with zero.
        ["test_gh22601_infinite_elements[stridewise-(-inf+3.927j)-(-inf+3.927j)]"],
        900,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SUITES)
def test_own_tests(name):
    files, known, least = SUITES[name]
    run("scipy", files, known, least, plugin="suite_scipy", marks="array_api_backends and not slow")


def test_results_are_written_to_our_memory():
    from scipy import ndimage

    x = sw.asarray(np.random.default_rng(3).standard_normal((20, 30)))
    for out in (sw.zeros((20, 30)), sw.zeros((30, 20)).T):
        ndimage.gaussian_filter(x, 1.5, output=out)
        np.testing.assert_allclose(np.asarray(out), ndimage.gaussian_filter(np.asarray(x), 1.5), rtol=1e-12)


def test_results_are_ours():
    from scipy import fft, signal, special, stats

    n = np.random.default_rng(4).standard_normal((6, 40)) + 3
    x = sw.asarray(n)
    for function in (
        lambda a: signal.savgol_filter(a, 7, 2), lambda a: signal.detrend(a), lambda a: special.logsumexp(a, axis=1),
        lambda a: special.softmax(a), lambda a: stats.zscore(a, axis=1), lambda a: stats.skew(a), lambda a: fft.rfft(a),
        lambda a: special.erf(a), lambda a: stats.ttest_1samp(a, 3.0).pvalue, lambda a: stats.pearsonr(a[0], a[1]).statistic,
        lambda a: stats.false_discovery_control(special.expit(a[0])), lambda a: signal.fftconvolve(a, a[:2, :3]),
    ):  # fmt: skip
        found = function(x)
        assert isinstance(found, sw.usm_ndarray)
        np.testing.assert_allclose(sw.asnumpy(found), function(n), rtol=1e-9, atol=1e-12)
