"""What the functions of `special` and `_incomplete` are made of: their arguments, polynomials, and parts of the gamma function."""

import math as _math

import stridewise as _sw

from . import _special_numbers as _numbers
from ._operands import _written

#: B₂ₖ / (2k (2k − 1)), of the series of ln Γ.
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400, 43867 / 244188)


def _real(*operands):
    """Operands as arrays of the dtype that they are computed in, and the dtype of the result."""
    first = next((x for x in operands if isinstance(x, _sw.usm_ndarray)), None)
    queue = None if first is None else first.sycl_queue
    arrays = [x if isinstance(x, (_sw.usm_ndarray, int, float)) else _sw.asarray(x, sycl_queue=queue) for x in operands]
    if first is None and not any(isinstance(x, _sw.usm_ndarray) for x in arrays):
        arrays[0] = _sw.asarray(arrays[0])
    dtype = _sw.result_type(*arrays, 1.0)
    if not _sw.isdtype(dtype, "real floating"):
        raise TypeError(f"invalid dtype: `x` is of {dtype}; expected real numbers; help: take the real part first")
    one = next(x for x in arrays if isinstance(x, _sw.usm_ndarray))
    wide = _sw.float64 if one.sycl_device.has_aspect_fp64 else _sw.float32
    made = (x if isinstance(x, _sw.usm_ndarray) else _sw.full((), x, dtype=wide, usm_type=one.usm_type, sycl_queue=one.sycl_queue)
            for x in arrays)  # fmt: skip
    return *(_sw.astype(x, wide, copy=False) for x in made), dtype


def _public(name, compute, text):
    """The function of arrays of one dtype as one of whatever is given, in the dtype that is promised; with `out`."""
    count = compute.__code__.co_argcount

    def function(*operands, out=None):
        if len(operands) == count + 1 and out is None:
            *operands, out = operands
        if len(operands) != count:
            raise TypeError(f"{name}() takes {count} arrays or numbers, and `out`; {len(operands)} were given")
        *operands, dtype = _real(*operands)
        return _written(_sw.astype(compute(*operands), dtype, copy=False), out)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    # Where it is public, by which it is pickled.
    function.__module__ = "stridewise.special"
    return function


def _polynomial(coefficients, t):
    value = t * coefficients[0] + coefficients[1]
    for coefficient in coefficients[2:]:
        value = value * t + coefficient
    return value


def _squares(coefficients, x):
    """A polynomial in 1 / x², times 1 / x, from the lowest power on."""
    return _polynomial(coefficients[::-1], 1 / (x * x)) / x


def _moved(x, least):
    """Numbers from 3 to below 8 moved down into 2 to 3, and the product of the numbers on the way."""
    product = _sw.ones_like(x)
    for _ in range(5):
        above = x >= least
        x = _sw.where(above, x - 1, x)
        product = _sw.where(above, product * x, product)
    return x, product


def _near_log_gamma(x):
    """ln Γ of numbers from 0.5 to 3."""
    t = (x - 1.25) / (x + 1.25) / 0.4375
    return (x - 1) * (x - 2) * _polynomial(_numbers.LOG_GAMMA, t)


def _correction(x):
    """ln Γ(x) − (x − 1/2) ln x + x − ln √2π, of numbers of 8 or more."""
    return _squares(_STIRLING, x)


def _positive_gamma(x):
    """Γ of numbers above 0 in three factors, whose product it is, as it may be beyond the dtype where a part is not."""
    small = x < 0.5
    near, product = _moved(_sw.clip(_sw.where(small, x + 1, x), 0.5, 8), 3)
    low = _sw.exp(_near_log_gamma(near)) * product / _sw.where(small, x, 1.0)
    far = _sw.clip(x, 8.0, 200.0)
    power = _sw.pow(far, far * 0.5 - 0.25)
    high = power * _sw.exp(-far) * _sw.exp(_correction(far)) * _math.sqrt(_math.tau)
    near = x < 8
    return _sw.where(near, low, high), _sw.where(near, 1.0, power)
