"""Random numbers in NumPy's manner: `default_rng(seed)` makes a `Generator`, whose methods make arrays.

The numbers depend on the seed, the order and the sizes of the calls, and not on the device; see `Generator`.

>>> import stridewise as sw
>>> rng = sw.random.default_rng(42)
>>> rng.integers(1, 7, 5).shape
(5,)
"""

from ._native import _random

Generator = _random.Generator
default_rng = _random.default_rng

__all__ = ["Generator", "default_rng"]
