"""Types of `_histograms`: NumPy's names in the namespace."""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any

from stridewise import usm_ndarray

__all__ = [
    "histogram2d",
    "histogram_bin_edges",
    "histogramdd",
]

def count_by(x: usm_ndarray, rule: _str, range: Any, weights: Any) -> Any: ...
def histogram2d(
    x: Any, y: Any, /, bins: Any = 10, range: Any = None, density: _bool | None = None, weights: Any = None
) -> tuple[usm_ndarray, usm_ndarray, usm_ndarray]: ...
def histogram_bin_edges(x: Any, /, bins: Any = 10, range: Any = None, weights: Any = None) -> usm_ndarray: ...
def histogramdd(
    sample: Any, /, bins: Any = 10, range: Any = None, density: _bool | None = None, weights: Any = None
) -> tuple[usm_ndarray, list[usm_ndarray]]: ...
