"""Elementwise functions of NumPy's that are composed of the engine's operations, so that they are recorded and run on every device.

Imported when one of its names is asked for.
"""

import math as _math

import stridewise as _sw

from ._arguments import explained as _explained
from ._operands import _inexact, _queue

__all__ = ["bitwise_count", "divmod", "float_power", "fmod", "frexp", "gcd", "lcm", "ldexp", "logaddexp2", "matvec", "spacing", "vecmat"]


def _arrays(*operands):
    """Operands as arrays of one queue, and numbers as they are beside one."""
    queue = _queue(operands)
    plain = (bool, int, float, complex)
    some = any(not isinstance(x, plain) for x in operands)
    return [x if isinstance(x, _sw.usm_ndarray) or some and isinstance(x, plain) else _sw.asarray(x, sycl_queue=queue) for x in operands]


def _promoted(*operands):
    """Operands as arrays of one dtype."""
    operands = _arrays(*operands)
    dtype = _sw.result_type(*operands)
    queue = next(x.sycl_queue for x in operands if isinstance(x, _sw.usm_ndarray))
    return [_sw.astype(x, dtype, copy=False) if isinstance(x, _sw.usm_ndarray) else _sw.asarray(x, dtype=dtype, sycl_queue=queue) for x in operands]


def _integers(name, *operands):
    operands = _promoted(*operands)
    if not _sw.isdtype(operands[0].dtype, "integral"):
        raise TypeError(f"dtype: the operands of {name} are of {operands[0].dtype}; expected integers; help: convert them with astype")
    return operands


def bitwise_count(x, /):
    """How many bits are set in the magnitudes of integers, as uint8."""
    (x,) = _integers("bitwise_count", x)
    bits = 8 * x.itemsize
    x = _sw.astype(_sw.abs(x), f"uint{bits}")
    mask = lambda pattern: int(pattern * (bits // 8), 16)
    x = x - ((x >> 1) & mask("55"))
    x = (x & mask("33")) + ((x >> 2) & mask("33"))
    x = (x + (x >> 4)) & mask("0f")
    for shift in (8, 16, 32):
        x = x + (x >> shift) if shift < bits else x
    return _sw.astype(x & 0x7F, "uint8")


def divmod(x1, x2, /):
    """The quotients rounded down and the remainders: a tuple of `floor_divide` and `remainder`."""
    return _sw.floor_divide(x1, x2), _sw.remainder(x1, x2)


def float_power(x1, x2, /):
    """Powers in double precision, whatever the operands' dtypes: of integers with negative exponents, too."""
    x1, x2 = _arrays(x1, x2)
    kind = _sw.result_type(x1, x2)
    wide = "complex128" if _sw.isdtype(kind, "complex floating") else "float64"
    return _sw.pow(*(_sw.astype(x, wide, copy=False) if isinstance(x, _sw.usm_ndarray) else x for x in (x1, x2)))


def fmod(x1, x2, /):
    """The remainders of divisions rounded towards zero, with the sign of x1."""
    x1, x2 = _promoted(x1, x2)
    if x1.dtype == _sw.bool:
        x1, x2 = _sw.astype(x1, "int8"), _sw.astype(x2, "int8")
    if _sw.isdtype(x1.dtype, "integral"):
        rest = _sw.where(x2 == 0, 0, _sw.remainder(x1, _sw.where(x2 == 0, 1, x2)))
        return rest if _sw.isdtype(x1.dtype, "unsigned integer") else _sw.where((rest != 0) & ((x1 < 0) != (x2 < 0)), rest - x2, rest)
    if not _sw.isdtype(x1.dtype, "real floating"):
        raise TypeError(f"dtype: the operands of fmod are of {x1.dtype}; expected real numbers")
    return _sw.copysign(_sw.remainder(_sw.abs(x1), _sw.abs(x2)), x1)


def frexp(x, /):
    """The fractions of 0.5 and more and less than 1, with the sign of the element, and the powers of two, of which the elements are the
    products: a tuple of numbers and int32. Zeros, infinities and NaN are their own fractions, with a power of 0."""
    (x,) = _arrays(x)
    x = _inexact(x)
    if not _sw.isdtype(x.dtype, "real floating"):
        raise TypeError(f"dtype: `x` is of {x.dtype}; expected real numbers")
    digits = {2: 10, 4: 23, 8: 52}[x.itemsize]
    kind = f"int{8 * x.itemsize}"
    if x.dtype.name == "bfloat16":
        return tuple(part if number else _sw.astype(part, x.dtype) for number, part in enumerate(frexp(_sw.astype(x, "float32"))))
    bias = {2: 14, 4: 126, 8: 1022}[x.itemsize]
    exponents = (1 << 8 * x.itemsize - 1 - digits) - 1
    # Numbers below the least normal one have their power once they are scaled up.
    tiny = (_sw.abs(x) < _sw.finfo(x.dtype).smallest_normal) & (x != 0)
    scaled = _sw.where(tiny, x * 2.0 ** (digits + 1), x)
    bits = scaled.view(kind) if scaled.ndim and scaled.flags.c_contiguous else _sw.reshape(_sw.reshape(scaled, -1, copy=True).view(kind), x.shape)
    power = _sw.astype((bits >> digits) & exponents, "int32") - bias
    fraction = (bits & ~(exponents << digits)) | (bias << digits)
    fraction = _sw.reshape(_sw.reshape(_sw.positive(fraction), -1, copy=True).view(x.dtype), x.shape)
    plain = (x == 0) | ~_sw.isfinite(x)
    return _sw.where(plain, x, fraction), _sw.astype(_sw.where(plain, 0, power - _sw.where(tiny, digits + 1, 0)), "int32")


def ldexp(x1, x2, /):
    """Numbers times two to the power of integers."""
    x1, x2 = (x if isinstance(x, _sw.usm_ndarray) else _sw.asarray(x) for x in _arrays(x1, x2))
    if not _sw.isdtype(x2.dtype, ("integral", "bool")):
        raise TypeError(f"dtype: `x2` is of {x2.dtype}; expected integers; help: convert them with astype")
    x1 = x1 if _sw.isdtype(x1.dtype, "real floating") else x1 / 1
    most = {2: 14, 4: 126, 8: 1022}[x1.itemsize] if x1.dtype.name != "bfloat16" else 126
    x2 = _sw.clip(_sw.astype(x2, "int32"), -3 * most, 3 * most)
    made = x1
    # What is left of the power comes before the largest steps, so that a number is rounded once at the end.
    steps = []
    for _ in range(3):
        step = _sw.clip(x2, -most, most)
        steps.append(step)
        x2 = x2 - step
    for step in steps[::-1]:
        made = made * _sw.exp2(_sw.astype(step, x1.dtype))
    return made


def gcd(x1, x2, /):
    """The greatest common divisors of integers, 0 or greater."""
    x1, x2 = _integers("gcd", x1, x2)
    dtype = x1.dtype
    # The magnitude of the least integer is one without a sign.
    x1, x2 = (_sw.copy(x) for x in _sw.broadcast_arrays(*(_sw.astype(_sw.abs(x), f"uint{8 * x.itemsize}") for x in (x1, x2))))
    # Each step at least halves the product: there are no more than twice as many as bits.
    while bool(_sw.any(x2 != 0)):
        rest = _sw.where(x2 == 0, 0, _sw.remainder(x1, _sw.where(x2 == 0, 1, x2)))
        x1, x2 = _sw.where(x2 == 0, x1, x2), rest
    return _sw.astype(x1, dtype)


def lcm(x1, x2, /):
    """The least common multiples of integers, 0 or greater."""
    x1, x2 = _integers("lcm", x1, x2)
    dtype = x1.dtype
    x1, x2 = (_sw.astype(_sw.abs(x), f"uint{8 * x.itemsize}") for x in (x1, x2))
    divisor = gcd(x1, x2)
    return _sw.astype(_sw.where(divisor == 0, 0, x1 // _sw.where(divisor == 0, 1, divisor) * x2), dtype)


def logaddexp2(x1, x2, /):
    """The logarithm to base 2 of the sum of two powers of two."""
    x1, x2 = map(_inexact, _promoted(x1, x2))
    more, less = _sw.maximum(x1, x2), _sw.minimum(x1, x2)
    found = more + _sw.log1p(_sw.exp2(less - more)) * (1 / _math.log(2))
    # Equal infinities, which have no difference, and what is NaN.
    return _sw.where(x1 == x2, x1 + 1, found)


def matvec(x1, x2, /):
    """The products of matrices and vectors."""
    x1, x2 = _arrays(x1, x2)
    return _sw.matmul(x1, x2[..., None])[..., 0]


def vecmat(x1, x2, /):
    """The products of vectors, which are conjugated, and matrices."""
    x1, x2 = _arrays(x1, x2)
    return _sw.matmul(_sw.conj(x1)[..., None, :], x2)[..., 0, :]


def spacing(x, /):
    """The distances from numbers to the next ones away from zero, with the sign of the element; of zeros, the least positive number."""
    (x,) = _arrays(x)
    x = _inexact(x)
    near = _sw.abs(x)
    step = _sw.nextafter(near, _sw.asarray(_math.inf, dtype=x.dtype, sycl_queue=x.sycl_queue)) - near
    # The largest number has the distance to the one before.
    last = near - _sw.nextafter(near, _sw.asarray(0, dtype=x.dtype, sycl_queue=x.sycl_queue))
    step = _sw.where(_sw.isinf(step), last, step)
    return _sw.where(x == 0, step, _sw.copysign(step, x))


_explained(globals())
