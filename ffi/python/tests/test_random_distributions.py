"""Further distributions: each against SciPy's distribution function, by Kolmogorov and Smirnov or by chi-square, at fixed seeds; their
arguments; and NumPy's older functions on the generator of the process."""

import copy
import pickle

import numpy as np
import pytest

import stridewise as sw
from arrays import DEVICES

N = 20_000

CONTINUOUS = {
    "beta": [((2, 3.5), "beta", (2, 3.5)), ((0.02, 3), "beta", (0.02, 3)), ((0.3, 0.2), "beta", (0.3, 0.2))],
    "chisquare": [((0.7,), "chi2", (0.7,)), ((3,), "chi2", (3,))],
    "f": [((3, 7), "f", (3, 7))],
    "gumbel": [((1, 2), "gumbel_r", (1, 2))],
    "laplace": [((1, 2), "laplace", (1, 2))],
    "logistic": [((1, 2), "logistic", (1, 2))],
    "lognormal": [((0.5, 0.7), "lognorm", (0.7, 0, np.exp(0.5)))],
    "noncentral_chisquare": [((0.6, 2), "ncx2", (0.6, 2)), ((5, 30), "ncx2", (5, 30)), ((3, 0), "chi2", (3,))],
    "noncentral_f": [((3, 7, 2.5), "ncf", (3, 7, 2.5))],
    "pareto": [((3,), "lomax", (3,))],
    "power": [((2.5,), "powerlaw", (2.5,))],
    "rayleigh": [((2,), "rayleigh", (0, 2))],
    "standard_cauchy": [((), "cauchy", ())],
    "standard_t": [((1.5,), "t", (1.5,)), ((4,), "t", (4,))],
    "triangular": [((1, 2, 5), "triang", (0.25, 1, 4)), ((0, 0, 1), "triang", (0, 0, 1))],
    "vonmises": [((0.5, 2), "vonmises_line", (2, 0.5)), ((0, 1e-9), "vonmises_line", (1e-9,)), ((0, 300), "vonmises_line", (300,))],
    "wald": [((2, 3), "invgauss", (2 / 3, 0, 3)), ((5, 0.5), "invgauss", (10, 0, 0.5))],
    "weibull": [((0.5,), "weibull_min", (0.5,)), ((1.5,), "weibull_min", (1.5,))],
}
COUNTS = {"logseries": [((0.3,), "logser"), ((0.9,), "logser")], "geometric": [((0.3,), "geom"), ((0.9,), "geom")], "negative_binomial": [((4, 0.3), "nbinom"), ((0.8, 0.5), "nbinom")], "zipf": [((1.8,), "zipf"), ((4.0,), "zipf")]}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous(name, device):
    stats = pytest.importorskip("scipy.stats")
    for args, theirs, parameters in CONTINUOUS[name]:
        drawn = getattr(sw.random.default_rng(11), name)(*args, size=N, device=device)
        assert drawn.shape == (N,) and drawn.sycl_device == sw.Device(device)
        found = stats.kstest(sw.asnumpy(drawn).astype("f8"), getattr(stats, theirs)(*parameters).cdf)
        assert found.pvalue > 1e-3, (args, found)


@pytest.mark.parametrize("name", COUNTS)
def test_counts(name):
    stats = pytest.importorskip("scipy.stats")
    for args, theirs in COUNTS[name]:
        drawn = sw.asnumpy(getattr(sw.random.default_rng(12), name)(*args, size=N))
        assert drawn.dtype == "int64"
        cells = np.arange(60)
        wanted = getattr(stats, theirs)(*args).pmf(cells) * N
        used = wanted > 8
        seen = np.bincount(drawn, minlength=60)[:60]
        seen, wanted = np.append(seen[used], N - seen[used].sum()), np.append(wanted[used], N - wanted[used].sum())
        distance = ((seen - wanted) ** 2 / np.maximum(wanted, 1)).sum()
        assert distance < stats.chi2(len(seen)).isf(1e-4), (args, distance)


#: Good ones, bad ones, how many are drawn: from the urn and by rejection, at both sides of each symmetry, and with nothing to choose.
HYPERGEOMETRIC = [
    (3, 7, 4), (12, 9, 10), (9, 12, 11), (11, 500, 11), (500, 11, 400), (40, 60, 30), (60, 40, 70), (1000, 1, 500), (30, 1000, 900),
    (25, 25, 25), (5000, 20000, 3000), (400_000_000, 600_000_000, 200), (0, 5, 3), (5, 0, 3), (4, 4, 0), (4, 4, 8),
]  # fmt: skip


@pytest.mark.parametrize("parameters", HYPERGEOMETRIC)
def test_hypergeometric(parameters):
    stats = pytest.importorskip("scipy.stats")
    good, bad, sample = parameters
    drawn = sw.asnumpy(sw.random.default_rng(17).hypergeometric(*parameters, N))
    assert drawn.dtype == "int64" and drawn.min() >= max(0, sample - bad) and drawn.max() <= min(good, sample)
    cells = np.arange(min(good, sample) + 1)
    wanted = stats.hypergeom(good + bad, good, sample).pmf(cells) * N
    used = wanted > 8
    seen = np.bincount(drawn, minlength=len(cells))
    seen, wanted = np.append(seen[used], N - seen[used].sum()), np.append(wanted[used], N - wanted[used].sum())
    distance = ((seen - wanted) ** 2 / np.maximum(wanted, 1)).sum()
    assert distance < stats.chi2(max(len(seen) - 1, 1)).isf(1e-4), distance


@pytest.mark.parametrize("device", DEVICES)
def test_hypergeometric_of_arrays(device):
    good = sw.asarray([[5], [300]], device=device)
    drawn = sw.random.default_rng(18).hypergeometric(good, [10, 400], 12, (4000, 2, 2))
    assert drawn.sycl_device == sw.Device(device)
    means = sw.asnumpy(drawn).mean(axis=0)
    g, b = np.meshgrid([5, 300], [10, 400], indexing="ij")
    np.testing.assert_allclose(means, 12 * g / (g + b), atol=0.2)
    assert sw.random.default_rng(1).hypergeometric(good, 9, 3).shape == (2, 1)
    rng = sw.random.default_rng(1)
    for parameters, name in (((-1, 3, 2), "ngood"), ((3, 2.5, 2), "nbad"), ((3, 4, 8), "ngood \\+ nbad - nsample"), ((10**9, 1, 1), "10\\*\\*9")):
        with pytest.raises(ValueError, match=f"`{name}"):
            rng.hypergeometric(*parameters)


def test_dirichlet():
    drawn = sw.asnumpy(sw.random.default_rng(13).dirichlet([1, 2, 5], N))
    np.testing.assert_allclose(drawn.sum(axis=1), 1, rtol=1e-14)
    np.testing.assert_allclose(drawn.mean(axis=0), [1 / 8, 2 / 8, 5 / 8], atol=5 * 0.17 / np.sqrt(N))


def test_multinomial():
    stats = pytest.importorskip("scipy.stats")
    p = np.array([0.1, 0.0, 0.5, 0.4])
    drawn = sw.asnumpy(sw.random.default_rng(14).multinomial(30, p.tolist(), N))
    assert drawn.shape == (N, 4) and (drawn.sum(axis=1) == 30).all() and (drawn[:, 1] == 0).all()
    for k in (0, 2, 3):
        wanted = stats.binom(30, p[k]).pmf(np.arange(31)) * N
        used = wanted > 8
        seen = np.bincount(drawn[:, k], minlength=31)[used]
        assert ((seen - wanted[used]) ** 2 / wanted[used]).sum() < stats.chi2(used.sum() - 1).isf(1e-4)
    covariance = np.cov(drawn[:, 2], drawn[:, 3])[0, 1]
    assert abs(covariance + 30 * 0.5 * 0.4) < 5 * 30 * 0.5 / np.sqrt(N)


def test_multivariate_normal():
    cov = np.array([[2.0, 0.6, 0.0], [0.6, 1.0, 0.0], [0.0, 0.0, 0.0]])
    drawn = sw.asnumpy(sw.random.default_rng(15).multivariate_normal([1, 2, 3], cov, (N,)))
    np.testing.assert_allclose(drawn.mean(axis=0), [1, 2, 3], atol=5 * np.sqrt(2 / N))
    np.testing.assert_allclose(np.cov(drawn.T), cov, atol=5 * 3 / np.sqrt(N))
    assert sw.random.default_rng(1).multivariate_normal([0, 0], [[1, 0], [0, 1]]).shape == (2,)
    with pytest.raises(ValueError, match="`cov` is not symmetric"):
        sw.random.default_rng(1).multivariate_normal([0, 0], [[1, 0], [0, -1]])


def test_permuted_and_bytes():
    x = np.arange(60).reshape(3, 20)
    rng = sw.random.default_rng(16)
    for axis in (0, 1, -1):
        found = sw.asnumpy(rng.permuted(sw.asarray(x), axis=axis))
        np.testing.assert_array_equal(np.sort(found, axis=axis), x)
        assert (found != x).any()
    assert sorted(rng.permuted(x).reshape(-1).tolist()) == list(range(60))
    counts = np.bincount(np.frombuffer(rng.bytes(51200), "u1"), minlength=256)
    assert len(counts) == 256 and ((counts - 200) ** 2 / 200).sum() < 255 + 4 * np.sqrt(510)


@pytest.mark.parametrize("device", DEVICES)
def test_numbers_are_where_their_parameters_are(device):
    queue = sw.Queue(device)
    a = sw.asarray([1.0, 2.0], sycl_queue=queue)
    rng = sw.random.default_rng(1)
    for drawn in (rng.weibull(a), rng.beta(a, [2.0, 3.0], (3, 2)), rng.laplace(0, a), rng.logseries(a / 4), rng.noncentral_f([3, 4], 5, a)):
        assert drawn.sycl_queue == queue
    assert rng.weibull(a, sycl_queue=queue).sycl_queue == queue


def test_parameters():
    rng = sw.random.default_rng(1)
    assert rng.weibull([1.0, 2.0]).shape == (2,) and rng.laplace(sw.zeros((3, 1)), [1, 2]).shape == (3, 2)
    assert rng.laplace(size=3, dtype="float32").dtype == "float32" and rng.geometric(1.0, 4).tolist() == [1] * 4
    for call, name in [
        (lambda: rng.weibull(-1), "a"), (lambda: rng.laplace(0, -1), "scale"), (lambda: rng.geometric(0), "p"),
        (lambda: rng.geometric(1.5), "1 - p"), (lambda: rng.triangular(0, 2, 1), "right - mode"), (lambda: rng.dirichlet([1, 0]), "alpha"),
        (lambda: rng.chisquare(float("nan")), "df"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=f"`{name}` is"):
            call()


def test_functions_of_the_module():
    def drawn():
        r = sw.random
        r.seed(5)
        return [r.rand(2, 3), r.randn(4), r.randint(0, 9, 5), r.normal(size=3), r.uniform(1, 2, 3), r.choice(5, 2), r.permutation(4), r.wald(1, 2, 3)]

    for one, other in zip(drawn(), drawn()):
        assert one.tolist() == other.tolist()
    sw.random.seed(5)
    assert sw.random.rand(6).tolist() == sw.random.default_rng(5).random(6).tolist()
    assert sw.random.randint(3).shape == () and sw.random.random_sample().shape == ()


def test_state_of_the_module():
    sw.random.seed(9)
    sw.random.rand(7)
    state = sw.random.get_state()
    first = sw.random.randn(5).tolist(), sw.random.random_integers(3, size=40).tolist()
    sw.random.set_state(state)
    assert (sw.random.randn(5).tolist(), sw.random.random_integers(3, size=40).tolist()) == first
    assert set(first[1]) == {1, 2, 3} and sw.random.ranf(2).shape == sw.random.sample(2).shape == (2,)
    with pytest.raises(ValueError, match="expected what `get_state` gave"):
        sw.random.set_state({"seed": 1})


def test_older_generators():
    # Every method of NumPy's, with numbers that are those of `Generator`.
    missing = {name for name in dir(np.random.RandomState) if name[0] != "_"} - set(dir(sw.random.RandomState))
    assert not missing, missing
    state, rng = sw.random.RandomState(5), sw.random.default_rng(5)
    assert state.normal(size=(2, 3)).tolist() == rng.normal(size=(2, 3)).tolist()
    assert state.rand(4).tolist() == rng.random(4).tolist() and state.randint(9, size=7).tolist() == rng.integers(9, size=7).tolist()
    kept = state.get_state()
    first = state.randn(3).tolist(), state.tomaxint(2).tolist(), state.choice(5, 2).tolist()
    for other in (copy.copy(state), pickle.loads(pickle.dumps(state))):
        assert other.rand(2).tolist() == copy.deepcopy(state).rand(2).tolist()
    state.set_state(kept)
    assert (state.randn(3).tolist(), state.tomaxint(2).tolist(), state.choice(5, 2).tolist()) == first
    state.seed(5)
    assert state.normal(size=(2, 3)).tolist() == sw.random.default_rng(5).normal(size=(2, 3)).tolist()
    # It draws from a generator that is given, and is none of the module's.
    shared = sw.random.default_rng(3)
    sw.random.RandomState(shared).rand(2)
    assert shared.random(2).tolist() == sw.random.default_rng(3).random(4).tolist()[2:]
    with pytest.raises(TypeError, match="`"):
        state.rand("a")


def test_sizes_that_are_arrays():
    for size in (np.array([2, 3]), sw.asarray([2, 3])):
        assert sw.random.dirichlet([1.0, 2.0], size).shape == sw.random.multinomial(4, [0.5, 0.5], size).shape == (2, 3, 2)
        assert sw.random.multivariate_normal([0.0, 0.0], np.eye(2), size).shape == (2, 3, 2)
    with pytest.raises(ValueError, match="`pvals` has several dimensions"):
        sw.random.multinomial(4, [[0.5, 0.5]])


def test_a_weibull_shape_of_zero():
    assert sw.random.weibull(0, 5).tolist() == [0.0] * 5
    found = sw.random.weibull([0.0, 1.0], (100, 2))
    assert not sw.any(found[:, 0]) and sw.all(found[:, 1] > 0)
    with pytest.raises(ValueError, match="`a` is -1.0"):
        sw.random.weibull(-1)


def test_lists_are_shuffled_in_place():
    names = [f"name {k}" for k in range(50)]
    before = list(names)
    sw.random.seed(3)
    assert sw.random.shuffle(names) is None and names != before and sorted(names) == sorted(before)
    again = list(before)
    sw.random.RandomState(3).shuffle(again)
    assert again == names
    x = sw.reshape(sw.arange(20), (2, 10))
    sw.random.shuffle(x, axis=1)
    assert sorted(x[0].tolist()) == list(range(10)) and (x[1] - x[0]).tolist() == [10] * 10


def test_integers_between_arrays():
    sw.random.seed(9)
    found = sw.random.randint(sw.asarray([0, 10, -5]), [3, 12, -4], size=(2000, 3))
    assert found.dtype == "int64" and found.shape == (2000, 3)
    counts = [np.bincount(sw.asnumpy(found[:, k]) - low, minlength=high - low) for k, (low, high) in enumerate([(0, 3), (10, 12), (-5, -4)])]
    assert [len(each) for each in counts] == [3, 2, 1] and all(np.ptp(each) < 200 for each in counts)
    assert sw.random.randint([1, 2], dtype="uint8").tolist()[0] == 0 and sw.random.randint(0, np.array([[4], [5]])).shape == (2, 1)
    with pytest.raises(ValueError, match="`high - low` is 0"):
        sw.random.randint([3, 4], [5, 4])
    rng = sw.random.default_rng(5)
    assert sorted(set(rng.integers([0, 4], [1, 4], (200, 2), endpoint=True)[:, 0].tolist())) == [0, 1]
    assert rng.integers(np.array([3, 4]), dtype="int8").dtype == "int8" and rng.integers([[5], [6]]).shape == (2, 1)
    assert rng.integers(sw.asarray(7)) < 7


def test_seeds_of_several_numbers():
    drawn = lambda seed: sw.random.default_rng(seed).integers(0, 1 << 60, 4).tolist()  # noqa: E731
    assert drawn([1, 2]) == drawn((1, 2)) == drawn(np.array([1, 2])) == drawn(sw.asarray([1, 2]))
    assert len({tuple(drawn(seed)) for seed in ([1, 2], [2, 1], [1], 1, [0, 1, 2], [[1], [2, 0]])}) == 6
    with pytest.raises(TypeError, match="expected an integer"):
        sw.random.default_rng([1, "2"])
