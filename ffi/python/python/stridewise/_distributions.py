"""Further distributions of `random.Generator`, each composed of numbers that the generator draws: its methods of the same names.

Parameters are numbers, arrays or lists, which are broadcast; without a size, the shape is theirs. dtype and what says where
numbers go are given by name, as for `Generator.random`. A parameter out of range raises a ValueError.
"""

import math as _math

import stridewise as _sw
from ._arguments import explaining as _explaining
from ._operands import _written


def _drawn(size, place, *parameters):
    """The size to draw, and parameters as numbers or arrays on one queue."""
    queue = place.get("sycl_queue") or place.get("queue")
    first = next((x for x in parameters if isinstance(x, _sw.usm_ndarray)), None)
    if queue is None and not place.get("device") and first is not None:
        # Numbers are drawn where their parameters are.
        place["sycl_queue"] = queue = first.sycl_queue
    where = {"device": place.get("device")} if queue is None else {"sycl_queue": queue}
    parameters = [x if isinstance(x, (_sw.usm_ndarray, int, float)) else _sw.asarray(x, **where) for x in parameters]
    arrays = [x for x in parameters if isinstance(x, _sw.usm_ndarray)]
    if size is None:
        size = _sw.broadcast_shapes(*(x.shape for x in arrays)) if arrays else ()
    return size, parameters


def _check(name, value, positive=True):
    """Complains of a parameter that is not finite, or not above 0 (or, where that is allowed, 0)."""
    if isinstance(value, _sw.usm_ndarray):
        least, most = (float(_sw.min(value)), float(_sw.max(value))) if value.size else (1.0, 1.0)
    else:
        least = most = float(value)
    if not (least > 0 if positive else least >= 0) or not most < _math.inf:
        bad = most if least > 0 or least == 0 and not positive else least
        raise ValueError(f"invalid value: `{name}` is {bad}; expected finite numbers {'above 0' if positive else 'of 0 or more'}")


def _rows(size):
    """The size of what has rows, without the extent of these."""
    if size is None:
        return ()
    return (size,) if hasattr(size, "__index__") and not getattr(size, "ndim", 0) else tuple(int(extent) for extent in size)


def _kept(numbers, like):
    return _sw.astype(numbers, like.dtype, copy=False)


def _waits(self, size, place):
    """Exponential numbers that are above 0."""
    waits = self.standard_exponential(size, **place)
    return _sw.maximum(waits, 2.0**-54 if waits.dtype == "float64" else 2.0**-33)


def integers_between(self, low, high, size, dtype, endpoint, place):
    """Integers from low to below high (with endpoint: to high), some of which are arrays; of one bound from 0 to below it."""
    size, (low, high) = _drawn(size, place, *((0, low) if high is None else (low, high)))
    low, high = (_sw.astype(x, "int64") if isinstance(x, _sw.usm_ndarray) else x for x in (low, high))
    span = high - low + bool(endpoint)
    _check("high - low", span)
    found = self.integers(0, 2**63 - 1, size, endpoint=True, dtype="int64", **place) % span + low
    return found if dtype is None else _sw.astype(found, dtype, copy=False)


def lognormal(self, mean=0.0, sigma=1.0, size=None, **place):
    """Numbers whose logarithms are normally distributed, with a mean and a standard deviation."""
    size, (mean, sigma) = _drawn(size, place, mean, sigma)
    return _sw.exp(self.normal(mean, sigma, size, **place))


def laplace(self, loc=0.0, scale=1.0, size=None, **place):
    """Numbers of a Laplace distribution: differences of two exponential ones."""
    size, (loc, scale) = _drawn(size, place, loc, scale)
    _check("scale", scale, positive=False)
    ahead = self.standard_exponential(size, **place)
    return _kept((ahead - self.standard_exponential(size, **place)) * scale + loc, ahead)


def logistic(self, loc=0.0, scale=1.0, size=None, **place):
    """Numbers of a logistic distribution: logarithms of quotients of two exponential ones."""
    size, (loc, scale) = _drawn(size, place, loc, scale)
    _check("scale", scale, positive=False)
    ahead = _waits(self, size, place)
    return _kept(_sw.log(ahead / _waits(self, size, place)) * scale + loc, ahead)


def gumbel(self, loc=0.0, scale=1.0, size=None, **place):
    """Numbers of a Gumbel distribution, that of largest values."""
    size, (loc, scale) = _drawn(size, place, loc, scale)
    _check("scale", scale, positive=False)
    waits = _waits(self, size, place)
    return _kept(loc - _sw.log(waits) * scale, waits)


def weibull(self, a, size=None, **place):
    """Numbers of a Weibull distribution of a shape and the scale 1; of the shape 0, zeros."""
    size, (a,) = _drawn(size, place, a)
    _check("a", a, positive=False)
    waits = self.standard_exponential(size, **place)
    if not isinstance(a, _sw.usm_ndarray):
        return _kept(_sw.pow(waits, 1 / a), waits) if a else _sw.zeros_like(waits)
    return _kept(_sw.where(a > 0, _sw.pow(waits, 1 / _sw.where(a > 0, a, 1)), 0), waits)


def pareto(self, a, size=None, **place):
    """Numbers of a Pareto distribution of the second kind (Lomax) of a shape, as NumPy has it."""
    size, (a,) = _drawn(size, place, a)
    _check("a", a)
    waits = self.standard_exponential(size, **place)
    return _kept(_sw.expm1(waits / a), waits)


def power(self, a, size=None, **place):
    """Numbers from 0 to 1 whose density is a power, a − 1."""
    size, (a,) = _drawn(size, place, a)
    _check("a", a)
    waits = self.standard_exponential(size, **place)
    return _kept(_sw.exp(-waits / a), waits)


def rayleigh(self, scale=1.0, size=None, **place):
    """Numbers of a Rayleigh distribution."""
    size, (scale,) = _drawn(size, place, scale)
    _check("scale", scale, positive=False)
    waits = self.standard_exponential(size, **place)
    return _kept(_sw.sqrt(waits * 2) * scale, waits)


def standard_cauchy(self, size=None, **place):
    """Numbers of the standard Cauchy distribution."""
    return _sw.tan((self.random(size, **place) - 0.5) * _math.pi)


def triangular(self, left, mode, right, size=None, **place):
    """Numbers between two ends whose density rises to the mode and falls behind it."""
    size, (left, mode, right) = _drawn(size, place, left, mode, right)
    _check("mode - left", mode - left, positive=False)
    _check("right - mode", right - mode, positive=False)
    _check("right - left", right - left)
    u = self.random(size, **place)
    width = right - left
    rising = left + _sw.sqrt(u * (width * (mode - left)))
    falling = right - _sw.sqrt((1 - u) * (width * (right - mode)))
    return _kept(_sw.where(u * width < mode - left, rising, falling), u)


def geometric(self, p, size=None, **place):
    """How many trials it takes to the first success, each with the probability p, as int64."""
    size, (p,) = _drawn(size, place, p)
    _check("p", p)
    _check("1 - p", 1 - p, positive=False)
    waits = _waits(self, size, place)
    each = -_sw.log1p(_sw.zeros_like(waits) - p)
    return _sw.astype(_sw.clip(_sw.ceil(waits / each), 1, 2.0**62), "int64")


def chisquare(self, df, size=None, **place):
    """Numbers of a chi-square distribution of degrees of freedom."""
    size, (df,) = _drawn(size, place, df)
    _check("df", df)
    return self.standard_gamma(df / 2, size, **place) * 2


def f(self, dfnum, dfden, size=None, **place):
    """Numbers of an F distribution: quotients of mean squares of two degrees of freedom."""
    size, (dfnum, dfden) = _drawn(size, place, dfnum, dfden)
    _check("dfnum", dfnum)
    _check("dfden", dfden)
    above = self.standard_gamma(dfnum / 2, size, **place)
    return _kept(above / dfnum / (self.standard_gamma(dfden / 2, size, **place) / dfden), above)


def standard_t(self, df, size=None, **place):
    """Numbers of Student's distribution of degrees of freedom."""
    size, (df,) = _drawn(size, place, df)
    _check("df", df)
    normal = self.standard_normal(size, **place)
    return _kept(normal * _sw.sqrt(df / 2 / self.standard_gamma(df / 2, size, **place)), normal)


def negative_binomial(self, n, p, size=None, **place):
    """How many trials fail before n succeed, each with the probability p, as int64; n need not be an integer."""
    size, (n, p) = _drawn(size, place, n, p)
    _check("n", n)
    _check("p", p)
    _check("1 - p", 1 - p, positive=False)
    rates = self.standard_gamma(n, size, **place) * ((1 - p) / p)
    return self.poisson(rates, size, **place)


def wald(self, mean, scale, size=None, **place):
    """Numbers of an inverse Gaussian distribution, by J. R. Michael, W. R. Schucany and R. W. Haas (1976)."""
    size, (mean, scale) = _drawn(size, place, mean, scale)
    _check("mean", mean)
    _check("scale", scale)
    normal = self.standard_normal(size, **place)
    # The smaller root of the quadratic equation, as the product of both over the larger one.
    half = normal * normal * mean / scale * 0.5
    smaller = mean / (1 + half + _sw.sqrt(half * (half + 2)))
    u = self.random(size, **place)
    return _kept(_sw.where(u * (mean + smaller) <= mean, smaller, mean / smaller * mean), normal)


def dirichlet(self, alpha, size=None, **place):
    """Rows of positive numbers whose sum is 1, of a Dirichlet distribution of as many parameters."""
    _, (alpha,) = _drawn((), place, _sw.asarray(alpha) if not isinstance(alpha, _sw.usm_ndarray) else alpha)
    if alpha.ndim != 1 or not alpha.size:
        raise ValueError(f"invalid value: `alpha` is of shape {alpha.shape}; expected one dimension of one number or more")
    _check("alpha", alpha)
    parts = self.standard_gamma(alpha, (*_rows(size), alpha.shape[0]), **place)
    return parts / _sw.sum(parts, axis=-1, keepdims=True)


def beta(self, a, b, size=None, **place):
    """Numbers from 0 to 1 of a beta distribution: by the logarithms of two gamma numbers, which do not vanish as those of small
    parameters do."""
    size, (a, b) = _drawn(size, place, a, b)
    _check("a", a)
    _check("b", b)
    one = _sw.log(self.standard_gamma(a + 1.0, size, **place)) - self.standard_exponential(size, **place) / a
    other = _sw.log(self.standard_gamma(b + 1.0, size, **place)) - self.standard_exponential(size, **place) / b
    return _kept(_sw.sigmoid(one - other), one)


def multinomial(self, n, pvals, size=None, **place):
    """How often each outcome occurs in n trials, as rows of int64: by the number of each among the trials that are left."""
    first = pvals if isinstance(pvals, _sw.usm_ndarray) else None
    pvals = pvals.tolist() if hasattr(pvals, "tolist") else pvals
    if any(isinstance(p, (list, tuple)) for p in pvals):
        raise ValueError("invalid value: `pvals` has several dimensions; expected one; help: draw for each row")
    weights = [float(p) for p in pvals]
    if not weights or min(weights) < 0 or not sum(weights[:-1]) <= 1 + 1e-12:
        raise ValueError(f"invalid value: `pvals` is {weights}; expected one or more of 0 or more, all but the last with a sum up to 1")
    if first is not None and not any(place.get(key) for key in ("device", "sycl_queue", "queue")):
        place["sycl_queue"] = first.sycl_queue
    size = _rows(size)
    _, (n,) = _drawn(size, place, n)
    _check("n", n, positive=False)
    columns, left, rest = [], None, 1.0
    for p in weights[:-1]:
        share = min(p / rest, 1.0) if rest > 0 else 0.0
        columns.append(self.binomial(n if left is None else left, share, size, **place))
        left = (n if left is None else left) - columns[-1]
        rest -= p
    if left is None:
        left = self.binomial(n, 1.0, size, **place)
    return _sw.stack([*columns, left], axis=-1)


def multivariate_normal(self, mean, cov, size=None, **place):
    """Rows of normally distributed numbers with means and a matrix of covariances, whose root is taken by singular values; it may
    be singular. The root is computed on the processor, as `linalg` is."""
    _, (mean, cov) = _drawn((), place, *(x if isinstance(x, _sw.usm_ndarray) else _sw.asarray(x) for x in (mean, cov)))
    if mean.ndim != 1 or cov.shape != (mean.shape[0],) * 2:
        raise ValueError(
            f"invalid value: `cov` is of shape {cov.shape} and `mean` of {mean.shape}; expected a vector and as many rows and columns"
        )
    mean, cov = mean + 0.0, cov + 0.0
    left, values, right = _sw.linalg.svd(cov)
    if not bool(_sw.all(_sw.abs(_sw.matmul(right.T * values, right) - cov) <= 1e-6 * _sw.max(values))):
        raise ValueError("invalid value: `cov` is not symmetric with eigenvalues of 0 or more; expected covariances")
    normal = self.standard_normal((*_rows(size), mean.shape[0]), **place)
    return _kept(_sw.matmul(normal, _sw.sqrt(values)[:, None] * right) + mean, normal)


def permuted(self, x, axis=None, *, out=None):
    """A copy whose rows along an axis are each in a random order of their own; None: all elements in one."""
    x = x if isinstance(x, _sw.usm_ndarray) else _sw.asarray(x)
    if axis is None:
        keys = _sw.reshape(self.random(x.size, sycl_queue=x.sycl_queue), -1)
        found = _sw.reshape(_sw.take(_sw.reshape(x, -1), _sw.argsort(keys)), x.shape)
    else:
        places = _sw.argsort(self.random(x.shape, sycl_queue=x.sycl_queue), axis=axis)
        found = _sw.take_along_axis(x, places, axis=axis)
    return _written(found, out)


def bytes_(self, length):
    """Random bytes, so many, as Python's `bytes`."""
    return bytes(self.integers(0, 256, int(length), dtype="uint8").tolist())


def _by_rejection(candidates, attempts=1000):
    """Numbers of rounds, each taken where it is the first that was accepted."""
    found, taken = candidates()
    for _ in range(attempts):
        if bool(_sw.all(taken)):
            break
        numbers, accepted = candidates()
        found, taken = _sw.where(taken, found, numbers), taken | accepted
    return found


def vonmises(self, mu, kappa, size=None, **place):
    """Angles from −π to π of a von Mises distribution, by D. J. Best and N. I. Fisher (1979)."""
    size, (mu, kappa) = _drawn(size, place, mu, kappa)
    _check("kappa", kappa, positive=False)
    unit = self.random(size, **place)
    kappa = _sw.zeros_like(unit) + kappa
    narrow = _sw.clip(kappa, 1e-5, None)
    root = 1 + _sw.hypot(1.0, 2 * narrow)
    ratio = (root - _sw.sqrt(2 * root)) / (2 * narrow)
    # Of the least concentrations the difference has lost its digits; of the greatest the circle is a line.
    r = _sw.where(kappa < 1e-5, 1 / _sw.clip(kappa, 1e-30, None) + kappa, (1 + ratio * ratio) / (2 * ratio))

    def candidates():
        z = _sw.cos(self.random(size, **place) * _math.pi)
        cosine = (1 + r * z) / (r + z)
        c = kappa * (r - cosine)
        v = 1 - self.random(size, **place)
        return cosine, (c * (2 - c) > v) | (_sw.log(c / v) + 1 >= c)

    cosine = _sw.clip(_by_rejection(candidates), -1, 1)
    angle = _sw.where(self.random(size, **place) < 0.5, -1.0, 1.0) * _sw.acos(cosine)
    even = (unit * 2 - 1) * _math.pi
    angle = _sw.where(kappa < 1e-8, even, angle) + mu
    return _kept(_sw.remainder(angle + _math.pi, _math.tau) - _math.pi, unit)


def zipf(self, a, size=None, **place):
    """Positive integers, as int64, whose probability is a power, −a, of a above 1: by rejection (L. Devroye, 1986)."""
    size, (a,) = _drawn(size, place, a)
    _check("a - 1", a - 1)
    power, scale = a - 1, 2.0 ** (a - 1) if isinstance(a, (int, float)) else _sw.exp2(a - 1)

    def candidates():
        waits = self.standard_exponential(size, **place)
        # Larger ones than int64 has are drawn again.
        number = _sw.floor(_sw.exp(_sw.clip(waits / power, None, 44.0)))
        growth = _sw.expm1(_sw.log1p(1 / number) * power)
        v = self.random(size, **place)
        return number, (v * number * growth / (scale - 1) <= (growth + 1) / scale) & (number < 2.0**62)

    return _sw.astype(_sw.clip(_by_rejection(candidates), 1, 2.0**62), "int64")


def logseries(self, p, size=None, **place):
    """Positive integers, as int64, of a logarithmic series distribution of a p from 0 to below 1: by A. W. Kemp (1981)."""
    size, (p,) = _drawn(size, place, p)
    _check("p", p, positive=False)
    _check("1 - p", 1 - p)
    waits = _waits(self, size, place)
    # A geometric number whose parameter is drawn first.
    inner = -_sw.expm1(_sw.log1p(_sw.zeros_like(waits) - p) * self.random(size, **place))
    steps = waits / _sw.where(inner > 0, -_sw.log(_sw.where(inner > 0, inner, 0.5)), _math.inf)
    return _sw.astype(_sw.clip(_sw.floor(steps) + 1, 1, 2.0**62), "int64")


def noncentral_chisquare(self, df, nonc, size=None, **place):
    """Numbers of a chi-square distribution of degrees of freedom and a noncentrality: of twice a Poisson number more of them."""
    size, (df, nonc) = _drawn(size, place, df, nonc)
    _check("df", df)
    _check("nonc", nonc, positive=False)
    kept = {key: value for key, value in place.items() if key != "dtype"}
    return self.standard_gamma(self.poisson(nonc * 0.5, size, **kept) + df * 0.5, size, **place) * 2


def noncentral_f(self, dfnum, dfden, nonc, size=None, **place):
    """Numbers of an F distribution whose numerator has a noncentrality."""
    size, (dfnum, dfden, nonc) = _drawn(size, place, dfnum, dfden, nonc)
    _check("dfden", dfden)
    above = noncentral_chisquare(self, dfnum, nonc, size, **place)
    return _kept(above / dfnum / (chisquare(self, dfden, size, **place) / dfden), above)


def _whole(name, value):
    """Complains of what is no integer of 0 or more."""
    _check(name, value, positive=False)
    if not bool(_sw.all(_sw.floor(value) == value) if isinstance(value, _sw.usm_ndarray) else int(value) == value):
        raise ValueError(f"invalid value: `{name}` is not an integer; expected integers of 0 or more")


def hypergeometric(self, ngood, nbad, nsample, size=None, **place):
    """How many of a sample are good ones, as int64, where ngood and nbad are together 10⁹ or fewer: by an urn where the sample, or what
    it is drawn from, is small, else by a quotient of uniform numbers (E. Stadlober, 1989)."""
    size, (good, bad, drawn) = _drawn(size, place, ngood, nbad, nsample)
    for name, value in (("ngood", good), ("nbad", bad), ("nsample", drawn)):
        _whole(name, value)
    _check("ngood + nbad - nsample", good + bad - drawn, positive=False)
    _check("10**9 - ngood - nbad", 10**9 - (good + bad), positive=False)
    first = self.random(size, **place)
    if not first.sycl_device.has_aspect_fp64:
        # Logarithms of factorials need more digits than it has.
        parameters = (x.to_device("host") if isinstance(x, _sw.usm_ndarray) else x for x in (good, bad, drawn))
        return hypergeometric(self, *parameters, size, device="host").to_device(first.sycl_queue)
    good, bad, drawn = (_sw.zeros_like(first) + x for x in (good, bad, drawn))
    total = good + bad
    # The fewer of both kinds, in the smaller of the sample and what is left; and these two may change places.
    rare, part = _sw.minimum(good, bad), _sw.minimum(drawn, total - drawn)
    few, many = _sw.minimum(rare, part), _sw.maximum(rare, part)
    found = _from_urn(self, total, few, many, size, place)
    if bool(_sw.any(few > _URN)):
        found = _sw.where(few > _URN, _by_quotient(self, total, few, many, size, place), found)
    found = _sw.where(2 * drawn > total, rare - found, found)
    return _sw.astype(_sw.where(good > bad, drawn - found, found), "int64")


#: How many are drawn from an urn one after the other.
_URN = 10


def _from_urn(self, total, few, many, size, place):
    left = many
    for k in range(_URN):
        hit = (self.random(size, **place) * (total - k) < left) & (few > k)
        left = _sw.where(hit, left - 1, left)
    return many - left


def _by_quotient(self, total, few, many, size, place):
    total, few, many = _sw.maximum(total, 4 * _URN), _sw.maximum(few, _URN), _sw.maximum(many, _URN)
    mean = few * (many / total)
    variance = mean * ((total - many) / total) * ((total - few) / (total - 1))
    width = 2 * _math.sqrt(2 / _math.e) * _sw.sqrt(variance + 0.5) + (3 - 2 * _math.sqrt(3 / _math.e))

    def logarithm(k):
        return -sum(_sw.special.gammaln(n + 1) for n in (k, few - k, many - k, total - few - many + k))

    most = logarithm(_sw.floor((few + 1) * ((many + 1) / (total + 2))))

    def candidates():
        u = 1 - self.random(size, **place)
        k = _sw.floor(mean + 0.5 + width * (self.random(size, **place) - 0.5) / u)
        inside = _sw.clip(k, 0, few)
        return inside, (k == inside) & (2 * _sw.log(u) <= logarithm(inside) - most)

    return _by_rejection(candidates)


bytes_.__name__ = "bytes"

METHODS = tuple(map(_explaining, (
    beta, bytes_, chisquare, dirichlet, f, geometric, gumbel, hypergeometric, laplace, logistic, lognormal, logseries,
    multinomial, multivariate_normal,
    negative_binomial, noncentral_chisquare, noncentral_f, pareto, permuted, power, rayleigh,
    standard_cauchy, standard_t, triangular, vonmises, wald, weibull, zipf,
)))  # fmt: skip
