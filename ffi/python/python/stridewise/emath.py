"""Functions of real numbers that are complex outside of their range: `emath.sqrt(-1)` is `1j`. NumPy's `emath`.

>>> import stridewise as sw
>>> sw.emath.sqrt(sw.asarray([4.0, -1.0])).tolist()
[(2+0j), 1j]
"""

import math as _math

import stridewise as _sw
from ._arguments import explained as _explained
from ._operands import _array

__all__ = ["arccos", "arcsin", "arctanh", "log", "log10", "log2", "logn", "power", "sqrt"]


def _complex(x):
    narrow = x.dtype in (_sw.float16, _sw.float32, _sw.int8, _sw.uint8, _sw.int16, _sw.uint16)
    return x if _sw.isdtype(x.dtype, "complex floating") else _sw.astype(x, "complex64" if narrow else "complex128")


def _where_needed(x, is_outside):
    """The numbers, as complex ones where one is outside of the real function's range."""
    x = _array(x)
    if _sw.isdtype(x.dtype, "complex floating"):
        return x
    x = x if _sw.isdtype(x.dtype, "real floating") else x / 1
    return _complex(x) if bool(_sw.any(is_outside(x))) else x


def _negative(x):
    return x < 0


def _beyond_one(x):
    return _sw.abs(x) > 1


def arccos(x, /):
    """The inverse cosine, complex where a number is not in -1..1."""
    return _sw.acos(_where_needed(x, _beyond_one))


def arcsin(x, /):
    """The inverse sine, complex where a number is not in -1..1."""
    return _sw.asin(_where_needed(x, _beyond_one))


def arctanh(x, /):
    """The inverse hyperbolic tangent, complex where a number is not in -1..1."""
    return _sw.atanh(_where_needed(x, _beyond_one))


def log(x, /):
    """The natural logarithm, complex where a number is negative."""
    return _sw.log(_where_needed(x, _negative))


def log10(x, /):
    """The logarithm to base 10, complex where a number is negative."""
    return _sw.log10(_where_needed(x, _negative))


def log2(x, /):
    """The logarithm to base 2, complex where a number is negative."""
    x = _where_needed(x, _negative)
    return _sw.log(x) / _math.log(2) if _sw.isdtype(x.dtype, "complex floating") else _sw.log2(x)


def logn(n, x, /):
    """The logarithm to base n, complex where a number is negative."""
    return log(x) / log(n)


def power(x, p, /):
    """Powers, complex where the base is negative; of integers with a negative exponent, as floats."""
    x, p = _array(x), _array(p)
    if not _sw.isdtype(x.dtype, "complex floating") and bool(_sw.any(x < 0)):
        x = _complex(x)
    if _sw.isdtype(p.dtype, "signed integer") and bool(_sw.any(p < 0)):
        p = p / 1
    return _sw.pow(x, p)


def sqrt(x, /):
    """The square root, complex where a number is negative."""
    return _sw.sqrt(_where_needed(x, _negative))


_explained(globals())
