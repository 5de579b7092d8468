"""The examples that draw the gallery: each computes what NumPy or Python does, and writes its picture."""

import importlib
import pathlib
import re

import numpy as np
import pytest

import stridewise as sw

ROOT = pathlib.Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "ffi" / "python" / "examples"
SITE = ROOT / "docs" / "site"
#: Arguments of `picture` by which it is drawn soon.
SMALL = {
    "hillshade": {},
    "n_body": {"stars": 20, "steps": 3},
    "mandelbrot": {"rows": 30, "columns": 40},
    "kmeans": {"count": 200, "clusters": 3},
    "heat": {"size": 32, "steps": 20},
    "life": {"rows": 20, "columns": 30, "generations": 10},
    "sobel": {"part": 40},
    "spectrogram": {"seconds": 0.5},
    "hillshade_dask": {"block": 32},
    "local_memory": {"size": 32, "steps": 5},
    "random_walks": {"count": 70, "steps": 50},
    "pca": {"count": 60},
}


@pytest.fixture
def example(monkeypatch):
    """An example's module, by its name."""
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    matplotlib.use("Agg")
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    return importlib.import_module


def test_the_list_is_whole(example):
    assert list(SMALL) == example("gallery").NAMES
    page = (SITE / "gallery.md").read_text(encoding="utf-8")
    for name in SMALL:
        assert f"gallery/{name}.png" in page and f"examples/{name}.py" in page, f"gallery.md does not show {name}"
        assert (SITE / "gallery" / f"{name}.png").stat().st_size < example("gallery").MOST


@pytest.mark.parametrize("name", SMALL)
def test_picture(example, name, tmp_path):
    if name == "hillshade_dask":
        pytest.importorskip("dask.array", reason="dask is not installed")
    arguments = SMALL[name]
    if name in ("hillshade", "sobel", "hillshade_dask"):
        heights = np.load(ROOT / "examples" / "data" / "jacksboro_dem.npy")[:50, :60]
        np.save(tmp_path / "heights.npy", heights)
        arguments = arguments | {"heights": tmp_path / "heights.npy"}
    example(name).picture(str(tmp_path / "picture.png"), **arguments)
    from matplotlib.image import imread

    pixels = imread(tmp_path / "picture.png")
    assert pixels.ndim == 3 and len(np.unique(pixels.reshape(-1, pixels.shape[2]), axis=0)) >= 3, "an empty picture"


def test_n_body(example, rng):
    module = example("n_body")
    place, mass = rng.normal(size=(2, 37)).astype("float32"), rng.uniform(0.5, 1, 37).astype("float32")
    force = sw.empty((2, 37), dtype="float32")
    sw.kernel_api.call_kernel(module.pull, sw.kernel_api.Range(37), sw.asarray(place), sw.asarray(mass), force)
    away = place[:, None, :].astype("float64") - place[:, :, None]
    expected = (mass * away / ((away**2).sum(0) + module.SOFTENING) ** 1.5).sum(2)
    np.testing.assert_allclose(sw.asnumpy(force), expected, rtol=1e-4, atol=1e-3)


def test_kmeans(example):
    module = example("kmeans")
    cloud = module.points(300, 4)
    centres, label = (sw.asnumpy(part) for part in module.kmeans(cloud, 4))
    points = sw.asnumpy(cloud)
    np.testing.assert_array_equal(label, ((points[:, None] - centres) ** 2).sum(2).argmin(1))
    # Where nothing moves any more, each centre is the mean of its points.
    for k in range(4):
        np.testing.assert_allclose(centres[k], points[label == k].mean(0), rtol=1e-12)


def test_heat(example):
    module = example("heat")
    heat = module.plate(32)
    oracle = np.array(sw.asnumpy(heat)).astype("float64")
    assert 0 < oracle.sum() < 32 * 32
    module.spread(heat, 25)
    for _ in range(25):
        inner = oracle[1:-1, 1:-1]
        near = oracle[:-2, 1:-1] + oracle[2:, 1:-1] + oracle[1:-1, :-2] + oracle[1:-1, 2:]
        oracle[1:-1, 1:-1] = inner + module.FLOW * (near - 4 * inner)
    np.testing.assert_allclose(sw.asnumpy(heat), oracle, atol=1e-5)


def test_life(example, rng):
    module = example("life")
    cells = rng.integers(0, 2, (13, 17)).astype("uint8")
    ours, ago = module.live(sw.asarray(cells), 6)
    expected, last = cells.astype(int), np.where(cells == 1, 0.0, np.inf)
    for _ in range(6):
        next_ = np.zeros_like(expected)
        for row in range(13):
            for column in range(17):
                near = expected[max(row - 1, 0) : row + 2, max(column - 1, 0) : column + 2].sum() - expected[row, column]
                next_[row, column] = near == 3 or (near == 2 and expected[row, column])
        expected = next_
        last = np.where(expected == 1, 0, last + 1)
    np.testing.assert_array_equal(sw.asnumpy(ours), expected)
    np.testing.assert_array_equal(sw.asnumpy(ago), last)


def test_sobel(example, rng):
    image = rng.random((9, 11))
    z = np.pad(image, 1, mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(z, (3, 3))
    weights = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])
    expected = np.hypot((windows * weights).sum((2, 3)), (windows * weights.T).sum((2, 3)))
    np.testing.assert_allclose(sw.asnumpy(example("sobel").sobel(sw.asarray(image))), expected, rtol=1e-12)


def test_spectrogram(example):
    module = example("spectrogram")
    t = np.arange(2048) / module.RATE
    levels = sw.asnumpy(module.spectrogram(sw.asarray(np.sin(2 * np.pi * 1000 * t))))
    windows = np.lib.stride_tricks.sliding_window_view(np.sin(2 * np.pi * 1000 * t), 256)[::64]
    bell = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(256) / 256)
    expected = 10 * np.log10(np.abs(np.fft.rfft(windows * bell, axis=1)) ** 2 + 1e-10).T
    np.testing.assert_allclose(levels, expected, atol=1e-6)
    assert (levels.argmax(0) == 1000 * 256 // module.RATE).all()


def test_local_memory(example):
    module = example("local_memory")
    cells = module.start(32)
    a, b = sw.asnumpy(cells).astype("float64")
    grown = sw.asnumpy(module.grow(cells, 4))
    for _ in range(4):
        near_a, near_b = (sum(np.roll(x, by, axis) for by in (1, -1) for axis in (0, 1)) - 4 * x for x in (a, b))
        a, b = a + 0.2 * near_a - a * b * b + module.FEED * (1 - a), b + 0.1 * near_b + a * b * b - (module.FEED + module.KILL) * b
    np.testing.assert_allclose(grown, [a, b], atol=1e-5)


def test_random_walks(example):
    paths = sw.asnumpy(example("random_walks").walks(50, 200))
    assert paths.shape == (50, 201) and (paths[:, 0] == 0).all()
    assert set(np.unique(np.diff(paths, axis=1))) == {-1, 1}
    np.testing.assert_array_equal(paths, sw.asnumpy(example("random_walks").walks(50, 200)))


def test_pca(example):
    module = example("pca")
    data, _ = module.samples(90, 5)
    seen, shares = module.pca(data, 2)
    values, directions = np.linalg.eigh(np.cov(sw.asnumpy(data), rowvar=False))
    np.testing.assert_allclose(sw.asnumpy(shares), values[::-1] / values.sum(), rtol=1e-10)
    centred = sw.asnumpy(data) - sw.asnumpy(data).mean(0)
    # A direction's sign is free.
    np.testing.assert_allclose(abs(sw.asnumpy(seen)), abs(centred @ directions[:, :-3:-1]), atol=1e-9)


def test_every_program_says_how_it_is_run():
    for name in SMALL:
        text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
        assert re.search(rf"python {name}\.py [A-Z]", text), name
