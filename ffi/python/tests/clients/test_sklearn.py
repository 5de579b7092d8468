"""Scikit-learn's dispatch to the array API on our arrays: its own tests, and estimators from the data to the score."""

import numpy as np
import pytest

import stridewise as sw
from suites import client, run

sklearn = client("sklearn")


@pytest.mark.parametrize(
    ("files", "least"),
    [
        (["utils/tests/test_array_api.py", "decomposition/tests/test_pca.py", "preprocessing/tests"], 100),
        (["metrics/tests/test_common.py"], 100),
    ],
)
def test_own_tests(files, least):
    run("sklearn", files, [], least, plugin="suite_sklearn", select="stridewise")


def test_from_the_data_to_the_score():
    from sklearn.decomposition import PCA
    from sklearn.linear_model import Ridge
    from sklearn.metrics import average_precision_score, r2_score, roc_curve
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, StandardScaler

    rng = np.random.default_rng(5)
    data = rng.standard_normal((200, 8)) * np.arange(1, 9)
    target = data @ rng.standard_normal(8) + rng.standard_normal(200) / 8

    def work(x, y):
        model = make_pipeline(StandardScaler(), MinMaxScaler(), PCA(6, svd_solver="full"), Ridge(solver="svd"))
        predicted = model.fit(x, y).predict(x)
        classes = y > 0
        return predicted, r2_score(y, predicted), average_precision_score(classes, predicted), roc_curve(classes, predicted)[1]

    with sklearn.config_context(array_api_dispatch=True):
        predicted, score, precision, rates = work(sw.asarray(data), sw.asarray(target))
    expected = work(data, target)
    assert isinstance(predicted, sw.usm_ndarray) and isinstance(rates, sw.usm_ndarray)
    np.testing.assert_allclose(sw.asnumpy(predicted), expected[0], rtol=1e-8)
    np.testing.assert_allclose([score, precision], expected[1:3], rtol=1e-8)
    np.testing.assert_allclose(sw.asnumpy(rates), expected[3], rtol=1e-8)
