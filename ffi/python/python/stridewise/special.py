"""Special functions under SciPy's names, composed of the engine's operations: they are recorded and fused as those are, and run
where their arguments are.

Real numbers alone; integers become the default floating dtype. What is not `float64` is computed in `float64` where the device
has it and rounded once; on a device without, in `float32`, whose errors then show in the last digits. Arguments are arrays,
numbers or lists, and are broadcast.

Errors of `float64`, in units of the result's last place, are stated with each function where they are more than 8. Near a zero
of a function that is not named there the error is absolute: some units of the last place of 1.

>>> import stridewise as sw
>>> sw.special.expit(sw.asarray([0.0, 800.0])).tolist()
[0.5, 1.0]
>>> float(sw.special.gamma(5))
24.0
"""

import math as _math

import stridewise as _sw

from . import _special_numbers as _numbers
from ._arguments import explained as _explained
from ._incomplete import _beta_up_to, _blocks, betainc, chdtr, chdtrc, exp1, gammainc, gammaincc
from ._special_parts import _correction, _moved, _near_log_gamma, _polynomial, _positive_gamma, _public

__all__ = [
    "beta", "betainc", "betaln", "boxcox", "boxcox1p", "cbrt", "chdtr", "chdtrc", "comb", "digamma", "entr", "erf", "erfc", "erfcinv", "erfcx", "erfinv", "exp1", "exp2",
    "expit", "expm1", "exprel", "factorial", "gamma", "gammainc", "gammaincc", "gammaln", "gammasgn", "huber", "i0", "i0e", "i1", "i1e", "inv_boxcox",
    "inv_boxcox1p", "kl_div", "log1p", "log_expit", "log_ndtr", "log_softmax", "logit", "loggamma", "logsumexp",
    "multigammaln", "ndtr", "ndtri", "polygamma", "pseudo_huber", "psi", "rel_entr", "rgamma", "sinc", "softmax",
    "spence", "stdtr", "xlog1py", "xlogy", "zeta",
]  # fmt: skip

_LOG_SQRT_TAU = 0.9189385332046727
_SQRT_PI = 1.772453850905516
#: The least positive number at which ψ is 0, in two parts.
_ROOT = (1.4616321449683622, 9.549995429965697e-17)
#: B₂ₖ for k from 1 on.
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330, 854513 / 138,
              -236364091 / 2730)  # fmt: skip


def _sin_pi(x):
    """sin(πx), of x as near as it is to an integer."""
    near = _sw.round(x)
    sine = _sw.sin((x - near) * _math.pi)
    return _sw.where(_sw.remainder(near, 2) == 0, sine, -sine)


def _exp_of_square(x, half):
    """exp(−x²), or exp(−x² / 2), without the rounding of the square."""
    part = _sw.round(_sw.clip(x, -64, 64) * 128) / 128
    scale = 0.5 if half else 1.0
    return _sw.exp(part * part * -scale) * _sw.exp((x - part) * (x + part) * -scale)


def _scaled_erfc(x):
    """exp(x²) erfc(x) of numbers of 0 or more."""
    t = _sw.where(_sw.isinf(x), 1.0, (x - 3.75) / (x + 3.75))
    return _polynomial(_numbers.ERFCX, t) / (1 + 2 * x)


def _erfc(x):
    far = _sw.maximum(x, 0.5)
    tail = _sw.where(far > 30, 0.0, _exp_of_square(far, False) * _scaled_erfc(far))
    return _sw.where(x < 0.5, 1 - _sw.erf(x), tail)


def _erfcx(x):
    size = _sw.abs(x)
    scaled = _scaled_erfc(size)
    part = _sw.round(_sw.clip(size, None, 64) * 128) / 128
    growth = _sw.exp(part * part) * _sw.exp((size - part) * (size + part))
    return _sw.where(x < 0, _sw.where(size > 27, _sw.inf, 2 * growth - scaled), scaled)


def _ndtr(x):
    """The lower tail of the normal distribution."""
    root = _math.sqrt(0.5)
    far = _sw.maximum(-x, 0.5)
    tail = _sw.where(far > 40, 0.0, _exp_of_square(far, True) * _scaled_erfc(far * root) * 0.5)
    return _sw.where(x > -0.5, 0.5 + 0.5 * _sw.erf(x * root), tail)


def _log_ndtr(x):
    far = _sw.maximum(-x, 1.0)
    tail = _sw.log(_scaled_erfc(far * _math.sqrt(0.5)) * 0.5) - far * far * 0.5
    return _sw.where(x < -1, _sw.where(_sw.isinf(far), -_sw.inf, tail), _sw.log1p(-_ndtr(-x)))


def _inverse_near(z):
    """erfinv of numbers from −1/2 to 1/2."""
    return z * _polynomial(_numbers.ERFINV, 8 * z * z - 1)


def _inverse_tail(y):
    """erfcinv of numbers from 0 to 1/2: an approximation, and a step of third order from it."""
    log = _sw.log(y)
    s = _sw.sqrt(-log)
    x = s * _polynomial(_numbers.ERFCINV, ((s - 3) / (s + 3) - 0.125) / 0.6875)
    step = (_scaled_erfc(x) - _sw.exp(x * x + log)) * (_SQRT_PI / 2)
    return x + step / (1 - x * step)


def _erfcinv(y):
    low = _sw.minimum(y, 2 - y)
    tail = _sw.where(low == 0, _sw.inf, _inverse_tail(_sw.clip(low, 5e-324, 0.5)))
    found = _sw.where(low < 0.5, _sw.where(y > 1, -tail, tail), _inverse_near(1 - y))
    return _sw.where(low >= 0, found, _sw.nan)


def _erfinv(z):
    size = _sw.abs(z)
    low = 1 - size
    tail = _sw.where(low == 0, _sw.inf, _inverse_tail(_sw.clip(low, 5e-324, 0.5)))
    found = _sw.where(size > 0.5, _sw.copysign(tail, z), _inverse_near(_sw.clip(z, -0.5, 0.5)))
    return _sw.where(low >= 0, found, _sw.nan)


def _positive_log_gamma(x):
    small = x < 0.5
    near, product = _moved(_sw.clip(_sw.where(small, x + 1, x), 0.5, 8), 3)
    low = _near_log_gamma(near) + _sw.log(product) - _sw.where(small, _sw.log(x), 0.0)
    far = _sw.maximum(x, 8.0)
    # The logarithm is not rounded against x: neither summand is infinite before the sum is.
    high = (far - 0.5) * (_sw.log(far) - 1) + (_LOG_SQRT_TAU - 0.5 + _correction(far))
    return _sw.where(x < 8, low, _sw.where(_sw.isinf(far), _sw.inf, high))


def _gammaln(x):
    lower = _sw.where(x <= 0, x, -0.5)
    upper = _positive_log_gamma(_sw.where(x <= 0, 1 - lower, x))
    sine = _sw.abs(_sin_pi(lower))
    reflected = _math.log(_math.pi) - _sw.log(sine) - upper
    reflected = _sw.where(sine == 0, _sw.inf, _sw.where(_sw.isinf(lower), -_sw.inf, reflected))
    return _sw.where(x <= 0, reflected, upper)


def _gamma(x):
    lower = _sw.where(x < 0, x, -0.5)
    first, second = _positive_gamma(_sw.where(x < 0, -lower, _sw.where(x == 0, 1.0, x)))
    # Of −x, which is no rounded number, as 1 − x is.
    reflected = -_math.pi / _sin_pi(lower) / (lower * first) / second
    reflected = _sw.where((lower == _sw.round(lower)), _sw.nan, reflected)
    found = _sw.where(x < 0, reflected, first * second)
    return _sw.where(_sw.abs(x) < 1e-290, 1 / x, _sw.where(x == _sw.inf, _sw.inf, found))


def _rgamma(x):
    lower = _sw.where(x < 0, x, -0.5)
    first, second = _positive_gamma(_sw.where(x < 0, -lower, _sw.where(x == 0, 1.0, x)))
    reflected = -_sin_pi(lower) / _math.pi * (lower * first) * second
    reflected = _sw.where(lower == _sw.round(lower), 0.0, reflected)
    found = _sw.where(x < 0, reflected, 1 / first / second)
    return _sw.where(_sw.abs(x) < 1e-290, x, found)


def _positive_digamma(x):
    small = x < 1
    near = _sw.clip(_sw.where(small, x + 1, x), 1, 8)
    terms = _sw.zeros_like(near)
    for _ in range(5):
        above = near >= 3
        near = _sw.where(above, near - 1, near)
        terms = _sw.where(above, terms + 1 / near, terms)
    t = (near - 1.75) / (near + 1.75) / 0.28125
    low = ((near - _ROOT[0]) - _ROOT[1]) * _polynomial(_numbers.DIGAMMA, t) + terms
    low = _sw.where(small, low - 1 / x, low)
    far = _sw.maximum(x, 8.0)
    series = tuple(b / (2 * k) for k, b in enumerate(_BERNOULLI[:9], 1))
    high = _sw.log(far) - 0.5 / far - _polynomial(series[::-1], 1 / (far * far)) / (far * far)
    return _sw.where(x < 8, low, _sw.where(_sw.isinf(far), _sw.inf, high))


def _digamma(x):
    lower = _sw.where(x < 0, x, -0.5)
    upper = _positive_digamma(_sw.where(x < 0, 1 - lower, x))
    part = lower - _sw.round(lower)
    reflected = _sw.where(part == 0, _sw.nan, upper - _math.pi / _sw.tan(part * _math.pi))
    found = _sw.where(x < 0, reflected, upper)
    return _sw.where(x == 0, _sw.copysign(_sw.inf, -x), found)


def _hurwitz(s, q):
    """Σ (q + k)⁻ˢ by the formula of Euler and Maclaurin from k = 12 on, of q above 0."""
    total = _sw.pow(q, -s)
    for k in range(1, 12):
        total = total + _sw.pow(q + k, -s)
    end = q + 12
    power = _sw.pow(end, -s)
    total = total + power * end / (s - 1) + power * 0.5
    factor = s * power / end
    for k, bernoulli in enumerate(_BERNOULLI, 1):
        total = total + factor * (bernoulli / _math.factorial(2 * k))
        factor = factor * ((s + (2 * k - 1)) / end) * ((s + 2 * k) / end)
    return total


def _near_bessel(coefficients, size):
    return _polynomial(coefficients, _sw.minimum(size, 8.0) / 4 - 1)


def _far_bessel(coefficients, size):
    far = _sw.maximum(size, 8.0)
    return _polynomial(coefficients, 16 / far - 1) / _sw.sqrt(far)


def _i0e(x):
    size = _sw.abs(x)
    return _sw.where(size < 8, _near_bessel(_numbers.I0_NEAR, size), _far_bessel(_numbers.I0_FAR, size))


def _i1e(x):
    size = _sw.abs(x)
    near = _near_bessel(_numbers.I1_NEAR, size) * x
    return _sw.where(size < 8, near, _sw.copysign(_far_bessel(_numbers.I1_FAR, size), x))


def _grown(scaled, x):
    """A scaled function times exp(|x|), which may overflow before the product does."""
    half = _sw.exp(_sw.abs(x) * 0.5)
    return _sw.where(_sw.isinf(half) & (scaled != 0), _sw.copysign(_sw.inf, scaled), scaled * half * half)


def _spence(z):
    # The dilogarithm's relations lead to 1/2 … 2, where its series in ln z converges by a factor of 80 a term.
    swapped = z > 2
    v = _sw.where(swapped, 1 / z, z)
    complement = v < 0.5
    u = -_sw.log(_sw.where(complement, 1 - v, v)) + 0.0
    square, series = u * u, [1 / 36]
    series += [b / _math.factorial(2 * k + 1) for k, b in enumerate(_BERNOULLI[1:11], 2)]
    near = u - square * 0.25 + square * u * _polynomial(series[::-1], square)
    low = _sw.where(complement & (v > 0), v, 0.25)
    product = _sw.where(v == 0, 0.0, _sw.log(low) * _sw.log1p(-low))
    inner = _sw.where(complement, _math.pi**2 / 6 - product - near, near)
    log = _sw.log(_sw.where(swapped, z, 1.0))
    return _sw.where(z < 0, _sw.nan, _sw.where(swapped, -inner - log * log * 0.5, inner))


def _betaln(a, b):
    a, b = _sw.minimum(a, b), _sw.maximum(a, b)
    total = a + b
    plain = _gammaln(a) + (_gammaln(b) - _gammaln(total))
    c, d = _sw.maximum(a, 8.0), _sw.maximum(b, 8.0)
    # Of a large second one the logarithms of gamma functions cancel each other.
    share = _sw.where(b >= 8, a / total, 0.25)
    rest = _correction(d) - _correction(d + _sw.abs(a)) + (d - 0.5) * _sw.log1p(-share)
    one = _gammaln(a) + a * (1 - _sw.log(total)) + rest
    both = _LOG_SQRT_TAU - 0.5 * _sw.log(c + d) + (c - 0.5) * _sw.log(c / (c + d)) + _correction(c) + rest
    return _sw.where((a > 0) & (b >= 8), _sw.where(a >= 8, both, one), plain)


def _log_beta(a, b):
    first, second, finite, pole = _at_pole(a, b)
    return _sw.where(pole & ~finite, _sw.inf, _betaln(_sw.where(finite, first, a), _sw.where(finite, second, b)))


def _is_pole(x):
    return (x <= 0) & (x == _sw.floor(x))


def _at_pole(a, b):
    """Where Γ has a pole at a or b: it is finite where it has one at the sum, too, and as at the arguments that are given first."""
    a, b = _sw.where(_is_pole(b), b, a), _sw.where(_is_pole(b), a, b)
    pole, rest = _is_pole(a), 1 - a - b
    return rest, b, pole & (b > 0) & (b == _sw.floor(b)) & (rest > 0), pole


def _positive_beta(a, b):
    (a1, a2), (b1, b2), (t1, t2) = _positive_gamma(a), _positive_gamma(b), _positive_gamma(a + b)
    # What the sum has lost to rounding changes Γ(a + b) by its logarithm's derivative.
    total = a + b
    part = total - a
    lost = (a - (total - part)) + (b - part)
    small = a1 * a2 * (b1 * b2 / t1 / t2) * (1 - lost * _sw.log(_sw.maximum(total, 1.0)))
    return _sw.where(total < 100, small, _sw.exp(_betaln(a, b)))


def _beta(a, b):
    positive = (a > 0) & (b > 0)
    signed = _gamma(a) * _gamma(b) * _rgamma(a + b)
    rest, other, finite, pole = _at_pole(a, b)
    first = _sw.where(positive, a, _sw.where(finite, rest, 1.0))
    second = _sw.where(positive, b, _sw.where(finite, other, 1.0))
    found = _positive_beta(first, second)
    found = _sw.where(~positive & finite & (_sw.remainder(second, 2) == 1), -found, found)
    return _sw.where(positive | finite, found, _sw.where(pole, _sw.inf, signed))


def _gammasgn(x):
    even = _sw.remainder(_sw.floor(x), 2) == 0
    sign = _sw.where((x > 0) | even, 1.0, -1.0)
    sign = _sw.where(x == 0, _sw.copysign(1.0, x), _sw.where(_is_pole(x), _sw.nan, sign))
    return _sw.where(_sw.isnan(x), x, sign)


def _logit(p):
    """The logarithm of p / (1 − p); near 1/2 by what p is apart from it, of which no digit is lost."""
    return _sw.where(_sw.abs(p - 0.5) < 0.25, 2 * _sw.atanh(2 * p - 1), _sw.log(p / (1 - p)))


def _xlogy(x, y):
    return _sw.where((x == 0) & ~_sw.isnan(y), 0.0, x * _sw.log(_sw.where((x == 0) & ~_sw.isnan(y), 1.0, y)))


def _xlog1py(x, y):
    return _sw.where((x == 0) & ~_sw.isnan(y), 0.0, x * _sw.log1p(_sw.where((x == 0) & ~_sw.isnan(y), 0.0, y)))


def _entr(x):
    found = _sw.where(x < 0, -_sw.inf, -x * _sw.log(_sw.where(x > 0, x, 1.0)))
    return _sw.where(_sw.isnan(x), x, _sw.where(x == 0, 0.0, found))


def _rel_entr(x, y):
    inside = (x > 0) & (y > 0)
    one, other = _sw.where(inside, x, 1.0), _sw.where(inside, y, 1.0)
    quotient = one / other
    # Near each other by their difference, of which no digit is lost; far apart by two logarithms.
    near = (quotient > 0.5) & (quotient < 2)
    apart = _sw.where((quotient == 0) | _sw.isinf(quotient), _sw.log(one) - _sw.log(other), _sw.log(quotient))
    log = _sw.where(near, _sw.log1p((one - other) / other), apart)
    found = _sw.where(inside, one * log, _sw.where((x == 0) & (y >= 0), 0.0, _sw.inf))
    return _sw.where(_sw.isnan(x) | _sw.isnan(y), _sw.nan, found)


def _kl_div(x, y):
    inside = (x > 0) & (y > 0)
    return _sw.where(inside, _rel_entr(x, y) - x + y, _sw.where((x == 0) & (y >= 0), y, _rel_entr(x, y)))


def _exprel(x):
    half = _sw.exp(x * 0.5)
    found = _sw.where(x > 700, half / x * half, _sw.expm1(x) / _sw.where(x == 0, 1.0, x))
    return _sw.where(x == 0, 1.0, _sw.where(_sw.isinf(x), _sw.where(x > 0, _sw.inf, 0.0), found))


def _power_of(log, lmbda):
    # Of the least powers the product is too near 0 for its digits.
    none = _sw.abs(lmbda) < 1e-290
    return _sw.where(none, log, _sw.expm1(lmbda * log) / _sw.where(none, 1.0, lmbda))


def _log_of(y, lmbda):
    none, product = _sw.abs(lmbda) < 1e-290, lmbda * y
    log = _sw.where(product == _sw.inf, _sw.log(_sw.abs(lmbda)) + _sw.log(_sw.abs(y)), _sw.log1p(product))
    return _sw.where(none, y, log / _sw.where(none, 1.0, lmbda))


def _boxcox(x, lmbda):
    return _power_of(_sw.log(x), lmbda)


def _boxcox1p(x, lmbda):
    return _power_of(_sw.log1p(x), lmbda)


def _inv_boxcox(y, lmbda):
    return _sw.exp(_log_of(y, lmbda))


def _inv_boxcox1p(y, lmbda):
    return _sw.expm1(_log_of(y, lmbda))


def _huber(delta, r):
    size = _sw.abs(r)
    found = _sw.where(size <= delta, r * r * 0.5, delta * (size - 0.5 * delta))
    return _sw.where(delta < 0, _sw.inf, found)


def _pseudo_huber(delta, r):
    quotient = _sw.abs(r / _sw.where(delta == 0, 1.0, delta))
    # √(1 + q²) − 1, of which no digit is lost near 0, over q.
    part = _sw.where(_sw.isinf(quotient), 1.0, quotient / (1 + _sw.hypot(1.0, quotient)))
    return _sw.where(delta < 0, _sw.inf, _sw.where((delta == 0) | (r == 0), 0.0, delta * _sw.abs(r) * part))


def _stdtr(df, t):
    finite = (df > 0) & (df < 1e25)
    degrees = _sw.where(finite, df, 1.0)
    ratio = _sw.where(_sw.isnan(t), 1.0, _sw.abs(t)) / _sw.sqrt(degrees)
    square = _sw.clip(ratio, 1e-150, 1e150) ** 2
    # What the first share lacks of 1 is the second one, so that neither is rounded where it is small.
    tail = _beta_up_to(degrees * 0.5, _sw.full_like(square, 0.5), 1 / (1 + square), square / (1 + square)) * 0.5
    tail = tail * _sw.pow(_sw.maximum(ratio / 1e150, 1.0), -degrees)
    # Of so many degrees it is the normal distribution.
    tail = _sw.where(finite, tail, _ndtr(-_sw.abs(t)))
    return _sw.where((df > 0) & ~_sw.isnan(t), _sw.where(t < 0, tail, 1 - tail), _sw.nan)


def _zeta_of(s):
    """Riemann's ζ: by its sum where s is positive, else by its reflection."""
    at = _sw.where((s > -1e-3) & (s != 1), s, 2.0)
    direct = _sw.where(at > 60, 1.0, _hurwitz(at, _sw.ones_like(at)))
    lower = _sw.where(s < 0, s, -1.0)
    first, second = _positive_gamma(1 - lower)
    sum_of_powers = _hurwitz(1 - lower, _sw.ones_like(lower))
    half = _sw.pow(_math.tau, lower * 0.5)
    mirrored = half * first * half * second * sum_of_powers * _sin_pi(lower * 0.5) / _math.pi
    found = _sw.where(s < -1e-3, _sw.where(_sw.isinf(lower), _sw.nan, mirrored), direct)
    return _sw.where(s == 1, _sw.inf, _sw.where(_sw.isnan(s), s, found))


def _zeta_from(s, q):
    mirrored = (q < 0) & (s == _sw.floor(s)) & (q != _sw.floor(q))
    inside = (s > 1) & ((q > 0) | mirrored) & ~_sw.isinf(s)
    first, shift = _sw.where(inside, s, 2.0), _sw.where(inside, q, 1.0)
    # The distances to the integers below and above, neither of which is rounded where it is small.
    rest = shift - _sw.round(shift)
    below, above = _sw.where(rest < 0, 1 + rest, rest), _sw.where(rest < 0, -rest, 1 - rest)
    found = _hurwitz(first, _sw.where(mirrored, below, shift))
    # Those below 0 are as many as lie between two numbers above it.
    negative = _hurwitz(first, _sw.where(mirrored, above, 1.0)) - _hurwitz(first, _sw.where(mirrored, 1 - shift, 1.0))
    found = _sw.where(mirrored, found + _sw.where(_sw.remainder(first, 2) == 0, negative, -negative), found)
    found = _sw.where(inside, found, _sw.nan)
    found = _sw.where((s == _sw.inf) & (q > 0), _sw.where(q > 1, 0.0, _sw.where(q == 1, 1.0, _sw.inf)), found)
    return _sw.where((s == 1) | ((s > 1) & (q <= 0) & (q == _sw.floor(q))), _sw.inf, found)


beta = _public(
    "beta",
    _beta,
    "Γ(a) Γ(b) / Γ(a + b). From a + b = 100 on by its logarithm: relative error ε |ln B|. Of negative arguments by the product, "
    "so that each factor has to be a finite number.",
)
betaln = _public(
    "betaln", _log_beta, "ln |B(a, b)|. Of negative arguments the error is that of the largest logarithm on the way."
)
boxcox = _public("boxcox", _boxcox, "(xᵏ − 1) / k of a power k, or ln x where k is 0.")
boxcox1p = _public("boxcox1p", _boxcox1p, "((1 + x)ᵏ − 1) / k of a power k, or ln (1 + x) where k is 0.")
digamma = _public(
    "digamma", _digamma, "The derivative of ln Γ: ∞ at 0, NaN at negative integers. Its error near a zero below 0 is absolute."
)
entr = _public("entr", _entr, "−x ln x; 0 at 0, −∞ below.")
erfc = _public("erfc", _erfc, "1 − erf(x), without cancellation: the tail to where it is no longer a normal number.")
erfcinv = _public("erfcinv", _erfcinv, "The x of which erfc(x) is y; NaN outside 0 to 2.")
erfcx = _public("erfcx", _erfcx, "exp(x²) erfc(x).")
erfinv = _public("erfinv", _erfinv, "The x of which erf(x) is y; NaN outside −1 to 1.")
expit = _public("expit", lambda x: _sw.sigmoid(x), "1 / (1 + exp(−x)).")
exprel = _public("exprel", _exprel, "(exp(x) − 1) / x, and 1 at 0.")
gamma = _public(
    "gamma", _gamma, "Γ(x): ±∞ at ±0, NaN at negative integers."
)
gammaln = _public("gammaln", _gammaln, "ln |Γ(x)|: ∞ at 0 and at negative integers. Its error near a zero below 0 is absolute.")
gammasgn = _public("gammasgn", _gammasgn, "The sign of Γ(x): that of ±0, NaN at negative integers.")
huber = _public("huber", _huber, "Huber's loss: r² / 2 up to delta, and delta (|r| − delta / 2) beyond.")
i0 = _public("i0", lambda x: _grown(_i0e(x), x), "The modified Bessel function of the first kind of order 0.")
i0e = _public("i0e", _i0e, "exp(−|x|) I₀(x).")
i1 = _public("i1", lambda x: _grown(_i1e(x), x), "The modified Bessel function of the first kind of order 1.")
i1e = _public("i1e", _i1e, "exp(−|x|) I₁(x).")
inv_boxcox = _public("inv_boxcox", _inv_boxcox, "The x of which boxcox(x, k) is y.")
inv_boxcox1p = _public("inv_boxcox1p", _inv_boxcox1p, "The x of which boxcox1p(x, k) is y.")
kl_div = _public("kl_div", _kl_div, "x ln(x / y) − x + y; ∞ outside its domain.")
log_expit = _public(
    "log_expit", lambda x: _sw.minimum(x, 0.0) - _sw.log1p(_sw.exp(-_sw.abs(x))), "ln expit(x), without overflow."
)
loggamma = _public(
    "loggamma", lambda x: _sw.where(x < 0, _math.nan, _gammaln(x)),
    "ln Γ of the real numbers of which it is one: NaN below 0, where `gammaln` is that of the absolute value.",
)  # fmt: skip
log_ndtr = _public("log_ndtr", _log_ndtr, "ln ndtr(x), in the tail to where x² / 2 is no longer a number.")
logit = _public("logit", _logit, "ln(p / (1 − p)): −∞ at 0, ∞ at 1, NaN outside.")
ndtr = _public("ndtr", _ndtr, "The standard normal distribution function, whose lower tail keeps its digits.")
ndtri = _public("ndtri", lambda p: _erfcinv(2 * p) * -_math.sqrt(2) + 0.0, "The x of which ndtr(x) is p; NaN outside 0 to 1.")
pseudo_huber = _public("pseudo_huber", _pseudo_huber, "delta² (√(1 + (r / delta)²) − 1).")
rel_entr = _public("rel_entr", _rel_entr, "x ln(x / y); 0 where x is 0 and y is not negative, ∞ outside its domain.")
rgamma = _public("rgamma", _rgamma, "1 / Γ(x): 0 at 0 and at negative integers.")
sinc = _public("sinc", lambda x: _sw.sinc(x), "sin(πx) / (πx), and 1 at 0.")
spence = _public(
    "spence", _spence, "The integral of ln t / (1 − t) from 1 to z, which is the dilogarithm of 1 − z; NaN below 0."
)
stdtr = _public(
    "stdtr",
    lambda df, t: _blocks(_stdtr, df, t),
    "Student's distribution function of df degrees of freedom, whose lower tail keeps its digits; NaN of none.",
)
xlog1py = _public("xlog1py", _xlog1py, "x ln(1 + y), and 0 where x is 0 and y is a number.")
xlogy = _public("xlogy", _xlogy, "x ln y, and 0 where x is 0 and y is a number.")
cbrt, erf, exp2, expm1, log1p, logsumexp = _sw.cbrt, _sw.erf, _sw.exp2, _sw.expm1, _sw.log1p, _sw.logsumexp
psi = digamma
_riemann = _public("zeta", _zeta_of, "")
_shifted = _public("zeta", _zeta_from, "")


def zeta(x, q=None, out=None):
    """Σ (k + q)⁻ˣ over k from 0 on, of x above 1 and q above 0, or any q where x is an integer (Hurwitz); ∞ where q is 0 or a negative
    integer. Without q Riemann's function of any real x, whose error below 0 is some 30 units in the last place, and near a zero
    absolute."""
    return _riemann(x, out=out) if q is None else _shifted(x, q, out=out)


def polygamma(n, x):
    """The derivative of order n of ψ at x, n and x broadcast: of order 1 and more ±∞ at 0 and at negative integers. NaN for orders that
    are no integers of 0 or more."""
    if hasattr(n, "shape"):
        n, x = (one if isinstance(one, _sw.usm_ndarray) else _sw.asarray(one) for one in (n, x))
        there = (n >= 0) & (n == _sw.floor(n))
        sign = _sw.where(n % 2 == 0, -1.0, 1.0)
        found = _sw.where(n == 0, digamma(x), sign * gamma(n + 1.0) * zeta(n + 1.0, x))
        return _sw.where(there, found, _math.nan)
    if int(n) != n or n < 0:
        return digamma(x) * _math.nan
    order = int(n)
    if order == 0:
        return digamma(x)
    if order > 169:
        raise ValueError(f"invalid value: `n` is {order}; expected no more than 169, as its factorial is beyond float64")
    sign = 1.0 if order % 2 else -1.0
    return zeta(order + 1.0, x) * (sign * _math.factorial(order))


def multigammaln(a, d):
    """The logarithm of the gamma function of d variables: d (d − 1) / 4 · ln π + Σ ln Γ(a − j / 2) over j below d."""
    if int(d) != d or d < 1:
        raise ValueError(f"invalid value: `d` is {d}; expected an integer of 1 or more")
    d = int(d)
    *_, a = (a if isinstance(a, _sw.usm_ndarray) else _sw.asarray(a),)
    if bool(_sw.any(a <= 0.5 * (d - 1))):
        raise ValueError(f"invalid value: `a` has a number of (d - 1) / 2 = {0.5 * (d - 1)} or less; expected greater ones")
    total = d * (d - 1) * 0.25 * _math.log(_math.pi)
    for j in range(d):
        total = gammaln(a - 0.5 * j) + total
    return total


def factorial(n, exact=False):
    """Γ(n + 1), and 0 of negative numbers. exact: of an integer, Python's integer."""
    if exact:
        return _math.factorial(n) if n >= 0 else 0
    n = n if isinstance(n, _sw.usm_ndarray) else _sw.asarray(n)
    return _sw.where(n < 0, 0.0, gamma(_sw.maximum(n, -0.5) + 1.0))


def comb(N, k, exact=False):
    """How many ways there are to choose k of N, by the beta function; 0 of negative numbers, and where k is greater than N. exact: of
    integers, Python's integer."""
    if exact:
        return _math.comb(N, k) if 0 <= k <= N else 0
    N, k = (x if isinstance(x, _sw.usm_ndarray) else _sw.asarray(x) for x in (N, k))
    inside = (k >= 0) & (k <= N) & (N >= 0)
    total, part = _sw.where(inside, N, 1), _sw.where(inside, k, 0)
    return _sw.where(inside, 1 / ((total + 1.0) * beta(total - part + 1.0, part + 1.0)), 0.0)


def _axes(x, axis):
    x = x if isinstance(x, _sw.usm_ndarray) else _sw.asarray(x)
    if _sw.isdtype(x.dtype, "complex floating"):
        raise TypeError(f"invalid dtype: `x` is of {x.dtype}; expected real numbers; help: take the real part first")
    given = x.dtype if _sw.isdtype(x.dtype, "real floating") else (x + 0.0).dtype if x.dtype != _sw.bool else _sw.float32
    wide = _sw.float32 if given.itemsize == 2 else given
    x = _sw.astype(x, wide, copy=False)
    return x, _sw.max(x, axis=axis, keepdims=True), given


def softmax(x, axis=None):
    """exp(x) over its sum along axes, None: of all elements; without overflow."""
    x, most, dtype = _axes(x, axis)
    powers = _sw.exp(x - most)
    return _sw.astype(powers / _sw.sum(powers, axis=axis, keepdims=True), dtype, copy=False)


def log_softmax(x, axis=None):
    """The logarithm of `softmax`, without taking a quotient: small ones keep their digits."""
    x, most, dtype = _axes(x, axis)
    # −∞ less −∞ is no number; a row of them has no softmax.
    below = x - _sw.where(_sw.isfinite(most), most, 0.0)
    total = _sw.log(_sw.sum(_sw.exp(below), axis=axis, keepdims=True))
    return _sw.astype(below - total, dtype, copy=False)

_explained(globals())
