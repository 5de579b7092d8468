"""Random numbers in NumPy's manner: `default_rng(seed)` makes a `Generator`, whose methods make arrays.

The numbers depend on the seed, the order and the sizes of the calls, and not on the device; see `Generator`. NumPy's older
functions (`seed`, `rand`, `normal` …) draw from one generator of the process, which `seed` sets.

>>> import stridewise as sw
>>> rng = sw.random.default_rng(42)
>>> rng.integers(1, 7, 5).shape
(5,)
>>> sw.random.seed(7)
>>> sw.random.randn(2, 3).shape
(2, 3)
"""

from ._native import _random

Generator = _random.Generator
default_rng = _random.default_rng

from . import _distributions
from ._arguments import explained as _explained

for _method in _distributions.METHODS:
    setattr(Generator, _method.__name__, _method)

_default = None


def _generator():
    """The generator of the module's functions, made where the first one is called."""
    global _default
    if _default is None:
        _default = default_rng()
    return _default


def seed(seed=None):
    """Sets the generator of the module's functions: to a seed, or None: to one that nobody can foresee."""
    global _default
    _default = default_rng(seed)


def get_state():
    """Where the generator of the module's functions stands, for `set_state`."""
    generator = _generator()
    return {"bit_generator": "Philox4x32-10", "seed": generator.seed, "counter": generator.counter}


def set_state(state):
    """Sets the generator of the module's functions to where it stood at a call of `get_state`."""
    global _default
    try:
        _default = Generator(state["seed"], counter=state["counter"])
    except (KeyError, TypeError):
        raise ValueError(f"invalid value: `state` is {state!r}; expected what `get_state` gave") from None


def rand(*shape, **place):
    """Uniform numbers from 0 to below 1, of a shape."""
    return _generator().random(shape, **place)


def randn(*shape, **place):
    """Numbers of the standard normal distribution, of a shape."""
    return _generator().standard_normal(shape, **place)


def randint(low, high=None, size=None, dtype=None, **place):
    """Integers from low to below high, or from 0 to below low."""
    return _generator().integers(low, high, size, dtype=dtype, **place)


def random_sample(size=None, **place):
    """As the function `random`."""
    return _generator().random(size, **place)


def random_integers(low, high=None, size=None, **place):
    """Integers from low to high, both among them, or from 1 to low."""
    low, high = (1, low) if high is None else (low, high)
    return _generator().integers(low, high, size, endpoint=True, **place)


ranf = sample = random_sample


def _of_default(name):
    """The generator's method as a function of the module, on the generator that is the default one then."""

    def function(*args, **kwargs):
        return getattr(_generator(), name)(*args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`Generator.{name}` of the module's generator."
    return function


_OF_DEFAULT = (
    "beta binomial bytes chisquare choice dirichlet exponential f gamma geometric gumbel hypergeometric laplace logistic lognormal logseries multinomial "
    "multivariate_normal negative_binomial noncentral_chisquare noncentral_f normal pareto permutation permuted poisson power random rayleigh shuffle standard_cauchy standard_exponential standard_gamma standard_normal "
    "standard_t triangular uniform vonmises wald weibull zipf"
).split()
globals().update({_name: _of_default(_name) for _name in _OF_DEFAULT})

_explained(globals())
_OF_MODULE = "default_rng get_state rand randint randn random_integers random_sample ranf sample seed set_state".split()
__all__ = sorted(["Generator", *_OF_MODULE, *_OF_DEFAULT])
