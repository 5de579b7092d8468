"""Random numbers: distributions against their distribution functions, moments, bounds, the same numbers for the same seed, and
arguments. Seeds are fixed, so that a test always draws the same numbers."""

import copy
import math
import pickle
import threading

import numpy as np
import pytest

import stridewise as sw

DEVICES = [device.filter_string for device in sw.get_devices()]
N = 20_000


@pytest.fixture(params=DEVICES)
def device(request):
    return request.param


def drawn(name, *args, seed=7, n=N, device=None, **kwargs):
    found = getattr(sw.random.default_rng(seed), name)(*args, size=n, device=device, **kwargs)
    assert found.shape == (n,)
    return sw.asnumpy(found)


def kolmogorov(x, cdf):
    """The distance of a sample of a continuous distribution from its distribution function, times the root of its size: above 1.95
    in one of a thousand samples."""
    x = np.sort(x.astype("f8"))
    n = len(x)
    expected = np.array([cdf(float(v)) for v in x])
    above = (np.arange(1, n + 1) / n - expected).max()
    below = (expected - np.arange(n) / n).max()
    return max(above, below) * math.sqrt(n)


def chi_square(counts, probabilities):
    """The distance of counts from what is expected, in standard deviations of the chi-square distribution; cells of less than 8
    are joined."""
    n = counts.sum()
    cells, seen, wanted = [], 0.0, 0.0
    for count, p in zip(counts, probabilities):
        seen, wanted = seen + count, wanted + p * n
        if wanted >= 8:
            cells.append((seen, wanted))
            seen = wanted = 0.0
    cells.append((seen, max(n - sum(c[1] for c in cells), 1e-9)))
    if cells[-1][1] < 8:
        last = cells.pop()
        cells[-1] = (cells[-1][0] + last[0], cells[-1][1] + last[1])
    degrees = len(cells) - 1
    distance = sum((a - b) ** 2 / b for a, b in cells)
    return (distance - degrees) / math.sqrt(2 * degrees)


def incomplete_gamma(a, x):
    """The regularised lower incomplete gamma function, by its series or its continued fraction."""
    if x <= 0:
        return 0.0
    front = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1:
        term = total = 1 / a
        for k in range(1, 1000):
            term *= x / (a + k)
            total += term
        return front * total
    tiny = 1e-300
    b = x + 1 - a
    c, d = 1 / tiny, 1 / b
    h = d
    for i in range(1, 300):
        an = -i * (i - a)
        b += 2
        d = an * d + b
        d = tiny if abs(d) < tiny else d
        c = b + an / c
        c = tiny if abs(c) < tiny else c
        d = 1 / d
        h *= d * c
    return 1 - front * h


def floats(device):
    return ["float32", "float64"] if sw.Device(device).has_aspect_fp64 else ["float32"]


def test_uniform(device):
    for dtype in floats(device):
        x = drawn("random", dtype=dtype, device=device)
        assert x.dtype == dtype and x.min() >= 0 and x.max() < 1
        assert kolmogorov(x, lambda v: v) < 1.95
        y = drawn("uniform", -3, 5, dtype=dtype, device=device)
        assert y.min() >= -3 and y.max() < 5
        assert kolmogorov(y, lambda v: (v + 3) / 8) < 1.95


def test_normal(device):
    cdf = lambda v: 0.5 * (1 + math.erf(v / math.sqrt(2)))
    for dtype in floats(device):
        x = drawn("standard_normal", dtype=dtype, device=device)
        assert x.dtype == dtype and kolmogorov(x, cdf) < 1.95
        assert abs((x**3).mean()) < 5 * math.sqrt(15 / N) and abs((x**4).mean() - 3) < 5 * math.sqrt(96 / N)
        y = drawn("normal", 10, 0.5, dtype=dtype, device=device)
        assert kolmogorov((y.astype("f8") - 10) / 0.5, cdf) < 1.95


def test_exponential(device):
    for dtype in floats(device):
        x = drawn("exponential", 2.5, dtype=dtype, device=device)
        assert x.min() >= 0 and not np.signbit(x).any()
        assert kolmogorov(x, lambda v: -math.expm1(-v / 2.5)) < 1.95
        same = drawn("standard_exponential", dtype=dtype, device=device)
        np.testing.assert_allclose(same * 2.5, x, rtol=1e-6)


@pytest.mark.parametrize("shape", [0.1, 0.5, 0.99, 1, 1.5, 4, 60, 2000])
def test_gamma(shape, device):
    for dtype in floats(device):
        x = drawn("gamma", shape, 3, dtype=dtype, device=device, n=8000)
        assert x.min() >= 0 and np.isfinite(x).all()
        assert kolmogorov(x / 3, lambda v: incomplete_gamma(shape, v)) < 1.95
        assert abs(x.mean() / 3 - shape) < 5 * math.sqrt(shape / 8000)


@pytest.mark.parametrize("lam", [0.01, 0.7, 3, 9.99, 10, 11, 37.5, 300, 12345.6])
def test_poisson(lam, device):
    x = drawn("poisson", lam, device=device)
    assert x.dtype == "int64" and x.min() >= 0
    top = int(lam + 12 * math.sqrt(lam) + 20)
    bottom = max(0, int(lam - 12 * math.sqrt(lam) - 20))
    k = range(bottom, top)
    p = [math.exp(i * math.log(lam) - lam - math.lgamma(i + 1)) for i in k]
    assert x.max() < top and chi_square(np.bincount(x - bottom, minlength=len(k)), p) < 4
    assert abs(x.mean() - lam) < 5 * math.sqrt(lam / N)
    assert abs(x.var() / lam - 1) < 6 * math.sqrt((2 + 1 / lam) / N)


@pytest.mark.parametrize(
    "n, p", [(1, 0.3), (10, 0.5), (10, 0.99), (40, 0.2), (40, 0.3), (40, 0.75), (25, 0.5), (1000, 0.4), (5000, 0.003), (10**6, 0.9)]
)
def test_binomial(n, p, device):
    x = drawn("binomial", n, p, device=device)
    assert x.dtype == "int64" and x.min() >= 0 and x.max() <= n
    deviation = math.sqrt(n * p * (1 - p))
    bottom, top = max(0, int(n * p - 12 * deviation - 20)), min(n, int(n * p + 12 * deviation + 20))
    log = lambda i: math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1)
    mass = [math.exp(log(i) + i * math.log(p) + (n - i) * math.log1p(-p)) for i in range(bottom, top + 1)]
    assert x.min() >= bottom and x.max() <= top
    assert chi_square(np.bincount(x - bottom, minlength=len(mass)), mass) < 4
    assert abs(x.mean() - n * p) < 5 * deviation / math.sqrt(N)


def test_counts_at_the_ends():
    rng = sw.random.default_rng(1)
    for n, p, expected in [(0, 0.3, 0), (7, 0, 0), (7, 1, 7), (10**9, 0, 0), (10**9, 1, 10**9)]:
        assert (sw.asnumpy(rng.binomial(n, p, 100)) == expected).all()
    assert (sw.asnumpy(rng.poisson(0, 100)) == 0).all()
    assert (sw.asnumpy(rng.gamma(0, size=100)) == 0).all()
    assert (sw.asnumpy(rng.exponential(0, size=100)) == 0).all()
    assert (sw.asnumpy(rng.normal(3, 0, size=100)) == 3).all()
    large = sw.asnumpy(rng.poisson(1e15, 1000))
    assert abs(large.mean() - 1e15) < 5 * math.sqrt(1e15 / 1000)
    large = sw.asnumpy(rng.binomial(2**50, 0.5, 1000))
    assert abs(large.mean() - 2**49) < 5 * math.sqrt(2**48 / 1000)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_integers(dtype):
    low, high = (0, 2) if dtype == "bool" else (3, 20)
    x = drawn("integers", low, high, dtype=dtype)
    assert x.dtype == dtype
    counts = np.bincount(x.astype("i8"), minlength=high)
    assert counts[:low].sum() == 0 and len(counts) == high
    assert chi_square(counts[low:], [1 / (high - low)] * (high - low)) < 4
    if dtype != "bool":
        info = np.iinfo(dtype)
        whole = drawn("integers", int(info.min), int(info.max), dtype=dtype, endpoint=True)
        assert abs(whole.astype("f8").mean() - (int(info.min) + int(info.max)) / 2) < 5 * 2.0**info.bits / math.sqrt(12 * N)


def test_forms_of_integers():
    rng = sw.random.default_rng(5)
    assert (sw.asnumpy(rng.integers(1, size=9)) == 0).all()
    assert (sw.asnumpy(rng.integers(4, 4, size=9, endpoint=True)) == 4).all()
    assert rng.integers(10).shape == () and rng.integers(10).dtype == sw.int64
    assert rng.integers(10, size=(2, 3)).shape == (2, 3)


def test_same_numbers_everywhere():
    def all_of(device):
        rng = sw.random.default_rng(99)
        return [
            sw.asnumpy(x)
            for x in (
                rng.random((5, 7), device=device, dtype="float32"),
                rng.uniform(1, 2, 1000, device=device, dtype="float32"),
                rng.integers(0, 1 << 40, 1000, device=device),
                rng.permutation(1000, device=device),
                rng.choice(50, 20, replace=False, device=device),
            )
        ]

    first = all_of(DEVICES[0])
    for device in DEVICES:
        for a, b in zip(first, all_of(device)):
            np.testing.assert_array_equal(a, b)


def test_order_and_sizes_decide():
    a, b = sw.random.default_rng(3), sw.random.default_rng(3)
    whole = sw.asnumpy(a.random(100))
    parts = [sw.asnumpy(b.random(n)) for n in (1, 9, 40, 50)]
    np.testing.assert_array_equal(whole, np.concatenate(parts))
    assert a.counter == b.counter == 100 and a.seed == 3
    a.counter = 40
    np.testing.assert_array_equal(sw.asnumpy(a.random(10)), whole[40:50])
    for name, args in [("gamma", (0.4,)), ("poisson", (25,)), ("binomial", (90, 0.3)), ("poisson", (2,))]:
        a, b = sw.random.default_rng(3), sw.random.default_rng(3)
        whole = sw.asnumpy(getattr(a, name)(*args, size=1000))
        parts = [sw.asnumpy(getattr(b, name)(*args, size=n)) for n in (1, 9, 40, 950)]
        np.testing.assert_array_equal(whole, np.concatenate(parts))


def test_copies_go_on_alike():
    rng = sw.random.default_rng(12)
    rng.random(5)
    rng.spawn(2)
    again, copied = pickle.loads(pickle.dumps(rng)), copy.deepcopy(rng)
    assert repr(again) == repr(rng) == "Generator(seed=12, counter=5)"
    expected = sw.asnumpy(rng.random(10))
    for other in (again, copied):
        np.testing.assert_array_equal(sw.asnumpy(other.random(10)), expected)
        assert [g.seed for g in other.spawn(2)] != [g.seed for g in sw.random.default_rng(12).spawn(2)]


def test_spawned_generators_are_apart():
    rng = sw.random.default_rng(0)
    children = rng.spawn(20) + rng.spawn(20)
    assert len({child.seed for child in children} | {0}) == 41
    assert [g.seed for g in sw.random.default_rng(0).spawn(40)] == [g.seed for g in children]
    x = np.stack([sw.asnumpy(child.standard_normal(2000)) for child in children])
    correlations = np.corrcoef(x)[np.triu_indices(40, 1)] * math.sqrt(2000)
    assert abs(correlations).max() < 5
    assert len({g.seed for g in children[0].spawn(3)} & {g.seed for g in children}) == 0


def test_parameters_that_are_arrays():
    rng = sw.random.default_rng(8)
    lam = sw.asarray(np.array([[0.0, 5.0, 500.0]] * 4000))
    x = sw.asnumpy(rng.poisson(lam))
    assert x.shape == (4000, 3) and (x[:, 0] == 0).all()
    np.testing.assert_allclose(x.mean(0)[1:], [5, 500], rtol=0.03)
    y = sw.asnumpy(rng.normal(sw.asarray([0.0, 100.0]), sw.asarray([1.0, 0.0]), (4000, 2)))
    assert abs(y[:, 0].mean()) < 0.1 and (y[:, 1] == 100).all()
    z = sw.asnumpy(rng.gamma(sw.asarray([1.0, 9.0]), sw.asarray([[2.0], [4.0]]), size=(4000, 2, 2)))
    np.testing.assert_allclose(z.mean(0), [[2, 18], [4, 36]], rtol=0.06)
    u = sw.asnumpy(rng.uniform(sw.asarray([0.0, 10.0]), 11, (4000, 2)))
    assert (u >= [0, 10]).all() and (u <= 11).all()
    n = sw.asnumpy(rng.binomial(sw.asarray([3, 1000]), 0.25, (4000, 2)))
    np.testing.assert_allclose(n.mean(0), [0.75, 250], rtol=0.05)
    e = sw.asnumpy(rng.exponential(sw.asarray([1.0, 7.0]), (4000, 2)))
    np.testing.assert_allclose(e.mean(0), [1, 7], rtol=0.06)


def test_choice():
    rng = sw.random.default_rng(21)
    a = sw.asarray([10, 20, 30, 40])
    counts = np.unique(sw.asnumpy(rng.choice(a, 8000, p=[0.1, 0.2, 0, 0.7])), return_counts=True)
    assert counts[0].tolist() == [10, 20, 40]
    np.testing.assert_allclose(counts[1] / 8000, [0.1, 0.2, 0.7], atol=0.02)
    for p in (None, [0.2, 0.3, 0.4, 0.1]):
        assert sorted(sw.asnumpy(rng.choice(a, 4, replace=False, p=p)).tolist()) == [10, 20, 30, 40]
    # The first of those chosen without putting back is as probable as its weight.
    firsts = [int(rng.choice(3, 2, replace=False, p=[0.6, 0.3, 0.1])[0]) for _ in range(600)]
    np.testing.assert_allclose(np.bincount(firsts) / 600, [0.6, 0.3, 0.1], atol=0.07)
    rows = sw.asnumpy(rng.choice(sw.reshape(sw.arange(12), (3, 4)), 5, axis=1))
    assert rows.shape == (3, 5) and (rows // 4 == np.arange(3)[:, None]).all()
    assert rng.choice(5).shape == () and rng.choice(5, (2, 3)).shape == (2, 3)
    assert rng.choice([1.5, 2.5], 3).dtype == sw.asarray([1.5]).dtype
    assert rng.choice(0, 0).shape == (0,)


def test_permutations_and_shuffles():
    rng = sw.random.default_rng(4)
    assert sorted(sw.asnumpy(rng.permutation(100)).tolist()) == list(range(100))
    x = np.arange(60).reshape(5, 12)
    a = sw.asarray(x)
    for axis in (0, 1, -1):
        found = sw.asnumpy(rng.permutation(a, axis))
        assert (found != x).any() and (np.sort(found, axis) == x).all()
    before = rng.counter
    expected = sw.asnumpy(rng.permutation(a, 1))
    rng.counter = before
    view = a[:, ::-1][:, ::-1]
    rng.shuffle(view, 1)
    np.testing.assert_array_equal(sw.asnumpy(a), expected)
    orders = {tuple(sw.asnumpy(rng.permutation(3)).tolist()) for _ in range(100)}
    assert len(orders) == 6
    assert sorted(sw.asnumpy(rng.permutation([3, 1, 2])).tolist()) == [1, 2, 3]


def test_place_and_dtype():
    rng = sw.random.default_rng(2)
    for kind in ("device", "shared", "host"):
        for x in (rng.random(3, usm_type=kind), rng.poisson(3, 3, usm_type=kind), rng.permutation(3, usm_type=kind)):
            assert x.usm_type == kind
    assert rng.random(3).usm_type == sw.zeros(3).usm_type
    queue = sw.Queue()
    assert rng.gamma(2, size=3, queue=queue).sycl_queue == queue
    for dtype in ("float16", "bfloat16", "float32"):
        for name, args in [("random", ()), ("normal", ()), ("exponential", ()), ("gamma", (2,))]:
            assert getattr(rng, name)(*args, size=3, dtype=dtype).dtype == getattr(sw, dtype)
    assert float(sw.max(rng.random(100_000, dtype="float16"))) < 1
    for size, shape in [(None, ()), (3, (3,)), ((2, 0), (2, 0)), ((), ())]:
        assert rng.random(size).shape == rng.poisson(3, size).shape == rng.gamma(3, size=size).shape == shape


def test_threads_share_a_generator():
    rng, parts = sw.random.default_rng(6), []

    def draw():
        for _ in range(50):
            parts.append(sw.asnumpy(rng.integers(0, 1 << 62, 7)))

    threads = [threading.Thread(target=draw) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert rng.counter == 4 * 50 * 7
    expected = sw.asnumpy(sw.random.default_rng(6).integers(0, 1 << 62, 1400))
    assert sorted(np.concatenate(parts).tolist()) == sorted(expected.tolist())


def test_seeds():
    assert sw.random.default_rng().seed != sw.random.default_rng().seed
    rng = sw.random.default_rng(np.int64(5))
    assert rng.seed == 5 and sw.random.default_rng(rng) is rng
    assert sw.random.default_rng(2**64 - 1).seed == 2**64 - 1
    for seed, error in [(-1, ValueError), (2**64, ValueError), ("a", TypeError), (1.5, TypeError)]:
        with pytest.raises(error, match="seed"):
            sw.random.default_rng(seed)


@pytest.mark.parametrize(
    "name, args, kwargs, error, text",
    [
        ("uniform", (2, 1), {}, ValueError, "high"),
        ("uniform", (0, math.inf), {}, ValueError, "high"),
        ("normal", (0, -1), {}, ValueError, "scale"),
        ("normal", (math.nan, 1), {}, ValueError, "loc"),
        ("exponential", (-1,), {}, ValueError, "scale"),
        ("gamma", (-1,), {}, ValueError, "shape"),
        ("gamma", (math.nan,), {}, ValueError, "shape"),
        ("gamma", (math.inf,), {}, ValueError, "shape"),
        ("gamma", (1, -2), {}, ValueError, "scale"),
        ("poisson", (-0.1,), {}, ValueError, "lam"),
        ("poisson", (math.nan,), {}, ValueError, "lam"),
        ("poisson", (1e19,), {}, ValueError, "lam"),
        ("binomial", (-1, 0.5), {}, ValueError, "`n`"),
        ("binomial", (3, 1.5), {}, ValueError, "`p`"),
        ("binomial", (3, math.nan), {}, ValueError, "`p`"),
        ("integers", (5, 5), {}, ValueError, "high"),
        ("integers", (0, 300), {"dtype": "uint8"}, ValueError, "high"),
        ("integers", (0, 3), {"dtype": "bool"}, ValueError, "high"),
        ("integers", (0, 3), {"dtype": "float32"}, TypeError, "dtype"),
        ("integers", (0.5,), {}, TypeError, "integer"),
        ("random", (-1,), {}, ValueError, "size"),
        ("random", (3,), {"dtype": "int32"}, TypeError, "dtype"),
        ("random", (3,), {"usm_type": "nowhere"}, ValueError, "nowhere"),
        ("choice", (0, 1), {}, ValueError, "choose"),
        ("choice", (3, 4, False), {}, ValueError, "4 of 3"),
        ("choice", (3, 2), {"p": [0.5, 0.5]}, ValueError, "`p`"),
        ("choice", (2, 2), {"p": [-0.5, 0.5]}, ValueError, "`p`"),
        ("choice", (2, 2), {"p": [0.0, 0.0]}, ValueError, "`p`"),
        ("choice", (2, 2), {"p": [math.nan, 0.0]}, ValueError, "`p`"),
        ("choice", (3, 2, False, [0.0, 0.0, 1.0]), {}, ValueError, "2 of 1"),
        ("permutation", (-1,), {}, ValueError, "`x`"),
        ("permutation", ("abc",), {}, TypeError, "`x`"),
        ("spawn", (-1,), {}, ValueError, "n_children"),
    ],
)
def test_arguments(name, args, kwargs, error, text):
    rng = sw.random.default_rng(0)
    with pytest.raises(error, match=text):
        getattr(rng, name)(*args, **kwargs)


def test_arrays_as_arguments():
    rng = sw.random.default_rng(0)
    with pytest.raises(ValueError, match="lam"):
        rng.poisson(sw.asarray([1.0, -1.0]))
    with pytest.raises(ValueError, match="shape"):
        rng.poisson(sw.asarray([1.0, 2.0]), (3, 3))
    with pytest.raises(sw.OutOfBoundsError):
        rng.shuffle(sw.arange(3), 1)
    frozen = sw.broadcast_to(sw.asarray(1), (3,))
    with pytest.raises(ValueError):
        rng.shuffle(frozen)
    other = sw.Queue()
    with pytest.raises(sw.ExecutionPlacementError):
        rng.poisson(sw.asarray([1.0]), queue=other)
