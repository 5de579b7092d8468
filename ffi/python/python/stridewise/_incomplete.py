"""The incomplete gamma and beta functions of `special`, each for all arguments by one integral and a few series of fixed lengths, so that
no element is computed otherwise for what lies beside it.

The integral over a tail, in the logarithm of its variable (of its odds), from the end that is given, is that of exp(−f(s)) over s from
0, of an f that is convex and 0 at 0, and whose f(s) for large parameters is got without cancellation. It is cut where nothing is left
of it, and Gauss's quadrature has all digits of it where a parameter is 20 or more; smaller ones are raised by a sum of positive terms.
"""

import math as _math

import stridewise as _sw

from . import _special_numbers as _numbers
from ._special_parts import _STIRLING, _correction, _polynomial, _positive_gamma, _public

#: Where the integrand counts as nothing: exp(−38) is far below the last place of the sum.
_END = 38.0
#: From which parameter on the quadrature is exact, and by how many steps smaller ones are raised.
_LARGE = 20
#: Of Euler and Mascheroni.
_EULER = 0.5772156649015329
#: How many elements are computed at once.
_BLOCK = 1 << 16
_ORDERS = tuple(1 / _math.factorial(k) for k in range(17, 1, -1))
_ODD = tuple(1 / k for k in range(37, 1, -2))


def _expm2(z):
    """exp(z) − 1 − z, of which no digit is lost near 0."""
    near = _sw.clip(z, -0.75, 0.75)
    return _sw.where(_sw.abs(z) < 0.75, near * near * _polynomial(_ORDERS, near), _sw.expm1(z) - z)


def _lost(m, ratio):
    """m − ln(1 + m), of which no digit is lost near 0; ratio: 1 + m, which has digits of its own where m is near −1."""
    near = _sw.clip(m, -0.5, 0.5)
    r = near / (2 + near)
    square = r * r
    low = r * near - 2 * r * square * _polynomial(_ODD, square)
    return _sw.where(_sw.abs(m) < 0.5, low, m - _sw.log(ratio))


def _integral(f, end):
    """∫ exp(−f(s)) ds from 0 to an end."""
    nodes = _sw.asarray(_numbers.NODES, dtype=end.dtype, sycl_queue=end.sycl_queue)
    weights = _sw.asarray(_numbers.WEIGHTS, dtype=end.dtype, sycl_queue=end.sycl_queue)
    return _sw.sum(_sw.exp(-f(end[..., None] * nodes)) * weights, axis=-1) * end


def _raised(value, steps, factor):
    """1 + c₀ (1 + c₁ (1 + … value)), of the factors of so many steps."""
    for j in reversed(range(steps)):
        value = 1 + factor(j) * value
    return value


def _density(a, x):
    """xᵃ exp(−x) / Γ(a + 1)."""
    small, far = _sw.minimum(a, 8.0), _sw.maximum(a, 8.0)
    first, second = _positive_gamma(small + 1)
    least = _sw.minimum(x, 900.0)
    low = _sw.pow(least, small) * _sw.exp(-least) / first / second
    lost = _lost((x - far) / far, x / far)
    high = _sw.exp(-far * lost - _correction(far)) / _sw.sqrt(far * _math.tau)
    return _sw.where(a < 8, low, high)


def _log_gamma_above(a):
    """ln Γ(1 + a) of a from 0 to 1, without the rounding of 1 + a."""
    t = (a - 0.25) / (a + 2.25) / 0.4375
    return a * (a - 1) * _polynomial(_numbers.LOG_GAMMA, t)


def _small_upper_gamma(a, x):
    """The upper integral of a and x from 0 to 1, as what xᵃ / Γ(a + 1) lacks of 1 and the rest of the series."""
    log = a * _sw.log(x) - _log_gamma_above(a)
    rest = _sw.zeros_like(x)
    for n in range(20, 0, -1):
        rest = -x / n * (1 / (a + n) + rest)
    return -_sw.expm1(log) - a * _sw.exp(log) * rest


def _gamma_tail(a, x, upper):
    """The integral of the tail that begins at x, the upper or the lower one, over the density xᵃ exp(−x)."""
    sign = _sw.where(upper, 1.0, -1.0)
    slope = _sw.abs(x - a)
    share = _END / x
    curved = _sw.log1p(share + _sw.sqrt(2 * share))
    end = 2 * _END / (slope + _sw.sqrt(slope * slope + 2 * _END * x))
    # The parabola is above the curve of the lower tail, so that its end is too near.
    end = _sw.where(upper, _sw.minimum(end, curved), end)
    for _ in range(2):
        height = slope * end + x * _expm2(sign * end) - _END
        end = end - height / (slope + sign * x * _sw.expm1(sign * end))
    slope, wide, way = slope[..., None], x[..., None], sign[..., None]
    return _integral(lambda s: slope * s + wide * _expm2(way * s), end)


def _gamma_tails(a, x):
    """The lower and the upper integral, each by itself or as what the other one lacks of 1, by which is the smaller one."""
    upper = x > _sw.maximum(a, 1.0)
    few = a < _LARGE
    raised = _sw.where(few & ~upper, a + _LARGE, a)
    tail = _gamma_tail(raised, x, upper)
    density = _density(a, x)
    value = raised * tail
    lower = density * _sw.where(few, _raised(value, _LARGE, lambda j: x / (a + (j + 1))), value)
    above = density * a * tail
    near = _small_upper_gamma(_sw.clip(a, 0.0, 1.0), _sw.clip(x, 2.0**-1022, 1.0))
    over = _sw.where(upper, above, _sw.where((x <= 1) & (a <= 1), near, 1 - lower))
    return _sw.where(upper, 1 - above, lower), over


def _exp1(x):
    far, near = _sw.clip(x, 1.0, 800.0), _sw.clip(x, 2.0**-1022, 1.0)
    above = _sw.exp(-far) * _gamma_tail(_sw.zeros_like(far), far, far >= 1)
    series = _sw.zeros_like(near)
    for n in range(20, 0, -1):
        series = -near / n * (1 / n + series)
    below = -_EULER - _sw.log(near) - series
    return _sw.where(x > 1, above, _sw.where(x > 0, below, _sw.where(x == 0, _sw.inf, _sw.nan)))


def _blocks(compute, *operands):
    """A function of arrays, a block of elements after the other: the integral has many numbers on the way to each of them."""
    shape = _sw.broadcast_shapes(*(x.shape for x in operands))
    if _math.prod(shape) <= _BLOCK:
        return compute(*operands)
    flat = [_sw.reshape(_sw.broadcast_to(x, shape), -1) for x in operands]
    found = _sw.empty_like(flat[0])
    for start in range(0, found.size, _BLOCK):
        part = slice(start, start + _BLOCK)
        found[part] = compute(*(x[part] for x in flat))
    return _sw.reshape(found, shape)


def _scaled_gamma(z):
    """Γ(z) over Stirling's formula."""
    small = _sw.clip(z, 2.0**-1000, 8.0)
    first, second = _positive_gamma(small)
    low = first * second * _sw.exp(small) * _sw.pow(small, 0.5 - small) / _math.sqrt(_math.tau)
    return _sw.where(z < 8, low, _sw.exp(_correction(_sw.maximum(z, 8.0))))


def _beta_density(a, b, x, y):
    """xᵃ yᵇ / B(a, b), where x + y is 1."""
    total, gap = a + b, b * x - a * y
    ratio_x, ratio_y = x * (total / a), _sw.minimum(y * (total / b), 2.0**1023)
    exponent = -a * _lost(gap / a, ratio_x) - b * _lost(-gap / b, ratio_y)
    scale = _sw.sqrt(a / _math.tau) * _sw.sqrt(b / total)
    return _sw.exp(exponent) * scale * (_scaled_gamma(total) / _scaled_gamma(a) / _scaled_gamma(b))


def _lower_beta(a, b, x, y):
    """The integral up to x, of one that is no greater than a / (a + b)."""
    few = a < _LARGE
    raised = _sw.where(few, a + _LARGE, a)
    total = raised + b
    slope = _sw.maximum(raised * y - b * x, 0.0)
    # By the one of x and y that is no greater than 1/2, the curve loses no digit.
    by_x = x < 0.5
    part, sign = _sw.where(by_x, x, y), _sw.where(by_x, -1.0, 1.0)

    def height(s, slope, total, part, sign):
        move = sign * s
        change = part * _sw.expm1(move)
        return slope * s + total * (part * _expm2(move) - _lost(change, 1 + change))

    curve = total * x * y
    end = 2 * _END / (slope + _sw.sqrt(slope * slope + 2 * _END * curve))
    share = _END / (total * part)
    end = _sw.where(by_x, end, _sw.minimum(end, _sw.log1p(share + _sw.sqrt(2 * share))))
    for _ in range(3):
        steep = raised - total * x * _sw.exp(-end) / (y + x * _sw.exp(-end))
        end = end - (height(end, slope, total, part, sign) - _END) / steep
    wide = [v[..., None] for v in (slope, total, part, sign)]
    tail = _integral(lambda s: height(s, *wide), end)
    value = raised * tail
    terms = _raised(value, _LARGE, lambda j: x * ((a + b + j) / (a + (j + 1))))
    return _beta_density(a, b, x, y) / a * _sw.where(few, terms, value)


def _log_ratio(a, b):
    """ln Γ(a + b) − ln Γ(a) of b from 0 to 1, as exact as b is small."""
    steps = 0.0
    for j in range(8):
        steps = steps + _sw.log1p(b / (a + j))
    far = a + 8
    growth = _sw.log1p(b / far)
    # What Stirling's series of both differ by, term by term.
    power, square = 1 / far, 1 / (far * far)
    series = 0.0
    for k, coefficient in enumerate(_STIRLING):
        series = series + power * _sw.expm1(growth * -(2 * k + 1)) * coefficient
        power = power * square
    return (far - 0.5) * growth + b * (_sw.log(far + b) - 1) + series - steps


def _beta_of_small(a, b, x, y):
    """The integral up to x, of b below 1 and of y up to 1/2 and to 1 / (a + 1): as what the upper one lacks of 1."""
    log = b * _sw.log(y) + _log_ratio(a, b) - _log_gamma_above(b)
    rest = _sw.zeros_like(y)
    for n in range(52, 0, -1):
        rest = y * (1 - a / n) * (1 / (b + n) + rest)
    return -_sw.expm1(log) - b * _sw.exp(log) * rest


def _betainc(a, b, x):
    inside = (a > 0) & (b > 0) & (x > 0) & (x < 1) & (a < _sw.inf) & (b < _sw.inf)
    first, second, at = (_sw.where(inside, v, 0.5) for v in (a, b, x))
    first, second = _sw.maximum(first, 2.0**-1000), _sw.maximum(second, 2.0**-1000)
    return _sw.where(inside, _beta_up_to(first, second, at, 1 - at), _beta_at_ends(a, b, x))


def _beta_up_to(first, second, at, rest):
    """The integral of finite parameters above 0 up to what is inside 0 to 1; rest: what that lacks of 1."""
    above = second * at > first * rest
    by_second = (second < 1) & (at > 0.5) & (rest * (first + 1) < 1)
    by_first = above & (first < 1) & (at < 0.5) & (at * (second + 1) < 1)
    swapped = by_first | (~by_second & above)
    mine = [_sw.where(swapped, other, one) for one, other in zip((first, second, at, rest), (second, first, rest, at))]
    small = by_second | by_first
    near = _beta_of_small(*(_sw.where(small, v, at) for v, at in zip(mine, (0.5, 0.5, 0.75, 0.25))))
    lower = _lower_beta(*(_sw.where(small, 0.5, v) for v in mine))
    part = _sw.where(small, near, lower)
    return _sw.where(swapped, 1 - part, part)


def _beta_at_ends(a, b, x):
    """What has no integral: the least and the greatest arguments."""
    found = _sw.where((x == 0) | (b == 0) | (a == _sw.inf), 0.0, 1.0)
    found = _sw.where((x == 1), 1.0, found)
    wrong = (a < 0) | (b < 0) | (x < 0) | (x > 1) | ((a == 0) & (b == 0)) | ((a == _sw.inf) & (b == _sw.inf))
    return _sw.where(wrong | _sw.isnan(a) | _sw.isnan(b) | _sw.isnan(x), _sw.nan, found)


def _at_ends(a, x, found, nothing, everything):
    """What has no integral: the least and the greatest arguments."""
    found = _sw.where((x == 0) | (a == _sw.inf), nothing, _sw.where((a == 0) | (x == _sw.inf), everything, found))
    wrong = (a < 0) | (x < 0) | ((a == 0) & (x == 0)) | ((a == _sw.inf) & (x == _sw.inf))
    return _sw.where(wrong | _sw.isnan(a) | _sw.isnan(x), _sw.nan, found)


def _gammainc(a, x):
    return _blocks(lambda a, x: _at_ends(a, x, _gamma_tails(a, x)[0], 0.0, 1.0), a, x)


def _gammaincc(a, x):
    return _blocks(lambda a, x: _at_ends(a, x, _gamma_tails(a, x)[1], 1.0, 0.0), a, x)


chdtr = _public(
    "chdtr", lambda v, x: _gammainc(v * 0.5, x * 0.5), "The chi-square distribution function of v degrees of freedom; as `gammainc`."
)
chdtrc = _public("chdtrc", lambda v, x: _gammaincc(v * 0.5, x * 0.5), "What `chdtr` lacks of 1, whose tail keeps its digits.")
exp1 = _public(
    "exp1",
    lambda x: _blocks(_exp1, x),
    "The integral of exp(−t) / t from x on; ∞ at 0, NaN below.",
)
gammainc = _public(
    "gammainc",
    _gammainc,
    "The lower incomplete gamma function of a and x over Γ(a). Error in units of the last place: 10 (1 + |ln P|), as that of the upper one.",
)
gammaincc = _public("gammaincc", _gammaincc, "The upper incomplete gamma function of a and x over Γ(a), whose tail keeps its digits.")
betainc = _public(
    "betainc",
    lambda a, b, x: _blocks(_betainc, a, b, x),
    "The integral of the beta distribution of a and b up to x. Error in units of the last place: 16 (1 + |ln I|), and what a unit in "
    "the last place of x changes.",
)
