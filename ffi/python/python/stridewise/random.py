"""Random numbers in NumPy's manner: `default_rng(seed)` makes a `Generator`, whose methods make arrays.

The numbers depend on the seed, the order and the sizes of the calls, and not on the device; see `Generator`. NumPy's older
functions (`seed`, `rand`, `normal` …) draw from one generator of the process, which `seed` sets; `RandomState` has them as methods.

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
from ._arguments import explained as _explained, explaining as _explaining
from ._pickles import at_home as _at_home

for _method in _distributions.METHODS:
    setattr(Generator, _method.__name__, _method)

#: Methods of a generator that are methods of `RandomState` and functions of the module, too.
_OF_GENERATOR = (
    "beta binomial bytes chisquare choice dirichlet exponential f gamma geometric gumbel hypergeometric laplace logistic lognormal logseries multinomial "
    "multivariate_normal negative_binomial noncentral_chisquare noncentral_f normal pareto permutation poisson power random rayleigh "
    "standard_cauchy standard_exponential standard_gamma standard_normal standard_t triangular uniform vonmises wald weibull zipf"
).split()


class RandomState:
    """NumPy's older generator: the methods of `Generator` and the older names, which the functions of the module have, too. Its numbers
    are those of a `Generator` of the same seed, and not NumPy's. seed: as for `default_rng`, also a `Generator`, which it
    draws from then."""

    __slots__ = ("_generator",)

    def __init__(self, seed=None):
        self._generator = default_rng(seed)

    def __repr__(self):
        return f"RandomState({self._generator!r})"

    def __reduce__(self):
        # Copies draw by themselves.
        return RandomState, (), self.get_state()

    def __setstate__(self, state):
        self.set_state(state)

    def seed(self, seed=None):
        """Begins anew: from a seed, or None: from one that nobody can foresee."""
        self._generator = default_rng(seed)

    def get_state(self, legacy=True):
        """Where the generator stands, for `set_state`."""
        return {"bit_generator": "Philox4x32-10", "seed": self._generator.seed, "counter": self._generator.counter}

    def set_state(self, state):
        """Goes to where the generator stood at a call of `get_state`."""
        try:
            self._generator = Generator(state["seed"], counter=state["counter"])
        except (KeyError, TypeError):
            raise ValueError(f"invalid value: `state` is {state!r}; expected what `get_state` gave") from None

    def rand(self, *shape, **place):
        """Uniform numbers from 0 to below 1, of a shape."""
        return self._generator.random(shape, **place)

    def randn(self, *shape, **place):
        """Numbers of the standard normal distribution, of a shape."""
        return self._generator.standard_normal(shape, **place)

    def randint(self, low, high=None, size=None, dtype=None, **place):
        """Integers from low to below high, or from 0 to below low. Of arrays, which are broadcast: remainders of numbers of 63 bits."""
        return self._generator.integers(low, high, size, dtype=dtype, **place)

    def random_sample(self, size=None, **place):
        """As `random`."""
        return self._generator.random(size, **place)

    def random_integers(self, low, high=None, size=None, **place):
        """Integers from low to high, both among them, or from 1 to low."""
        low, high = (1, low) if high is None else (low, high)
        return self._generator.integers(low, high, size, endpoint=True, **place)

    def shuffle(self, x, axis=0):
        """Brings the elements of an array, or of a list, into a random order, in place; of an array, along an axis."""
        if isinstance(x, list):
            x[:] = [x[place] for place in self._generator.permutation(len(x)).tolist()]
        else:
            self._generator.shuffle(x, axis)

    def tomaxint(self, size=None, **place):
        """Integers from 0 to the largest of int64."""
        return self._generator.integers(0, 2**63 - 1, size, endpoint=True, **place)


def _of_generator(name):
    def method(self, *args, **kwargs):
        return getattr(self._generator, name)(*args, **kwargs)

    method.__name__, method.__qualname__ = name, f"RandomState.{name}"
    method.__doc__ = f"`Generator.{name}` of the generator that it draws from."
    return method


for _name in _OF_GENERATOR:
    setattr(RandomState, _name, _of_generator(_name))
for _name in dir(RandomState):
    if _name[0] != "_":
        setattr(RandomState, _name, _explaining(getattr(RandomState, _name)))

_default = None


def _state():
    """What the module's functions draw from, made where the first one is called."""
    global _default
    if _default is None:
        _default = RandomState()
    return _default


def _of_default(name, method):
    """A method as a function of the module, of what its functions draw from."""

    def function(*args, **kwargs):
        return getattr(_state(), method)(*args, **kwargs)

    made = getattr(RandomState, method)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`RandomState.{method}` of the module's generator: {made.__doc__[0].lower()}{made.__doc__[1:]}"
    return function


def permuted(*args, **kwargs):
    """`Generator.permuted` of the module's generator."""
    return _state()._generator.permuted(*args, **kwargs)


_OF_STATE = "get_state rand randint randn random_integers random_sample seed set_state shuffle".split()
_NAMES = {name: name for name in _OF_GENERATOR + _OF_STATE} | {"ranf": "random_sample", "sample": "random_sample"}
globals().update({_name: _of_default(_name, _method) for _name, _method in _NAMES.items()})

_explained(globals())
__all__ = sorted(["Generator", "RandomState", "default_rng", "permuted", *_NAMES])
_at_home(globals())
