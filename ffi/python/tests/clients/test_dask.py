"""Dask on our chunks: what comes out is ours, and right."""

import math
import os
import pathlib
import runpy
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import stridewise as sw

da = pytest.importorskip("dask.array", reason="dask is not installed")
import dask

import stridewise.dask

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
FUNCTIONS = pytest.mark.skipif(
    not hasattr(sw.usm_ndarray, "__array_function__"), reason="NumPy's functions do not take our arrays, and dask calls them"
)


@pytest.fixture(autouse=True)
def threads():
    # Of the test's own: threads that stay keep memory for their next small arrays, which other tests count.
    with ThreadPoolExecutor(2) as pool, dask.config.set(scheduler="threads", pool=pool):
        yield


X = (np.arange(48, dtype="float32").reshape(6, 8) * 7) % 19


@pytest.fixture
def x():
    return da.from_array(X, chunks=(2, 3)).to_backend("stridewise")


def same(ours, oracle, **tolerance):
    found = ours.compute() if hasattr(ours, "compute") else ours
    assert isinstance(found, sw.usm_ndarray), type(found)
    oracle = np.asarray(oracle)
    assert found.shape == oracle.shape and str(found.dtype) == str(oracle.dtype)
    np.testing.assert_allclose(sw.asnumpy(found), oracle, **({"rtol": 0} | tolerance))


def test_chunks_are_ours(x):
    assert isinstance(x._meta, sw.usm_ndarray) and x.dtype == np.dtype("float32")
    same(x, X)
    same(x + 1, X + 1)
    same(2 * x - x, X)
    same(x > 3, X > 3)
    assert isinstance(x.to_backend("numpy").compute(), np.ndarray)
    np.testing.assert_array_equal(x.to_backend("numpy").compute(), X)
    # NumPy's view of a chunk, without a copy.
    chunk = sw.asarray(X, usm_type="shared")
    assert np.shares_memory(stridewise.dask.to_numpy_dispatch(chunk), np.asarray(chunk))


def test_arrays_of_ours_become_chunks():
    ours = sw.asarray(X, usm_type="shared")
    y = da.from_array(ours, chunks=4, asarray=False)
    same(y, X)
    same(y.rechunk((6, 1)), X)
    # Equal elements have equal names.
    assert y.name == da.from_array(sw.copy(ours), chunks=4, asarray=False).name
    assert y.name != da.from_array(ours + 1, chunks=4, asarray=False).name
    assert dask.sizeof.sizeof(ours) >= ours.nbytes


def test_indexing(x):
    same(x[1:5, ::-2], X[1:5, ::-2])
    same(x[3], X[3])
    same(x[:, [5, 0, 3]], X[:, [5, 0, 3]])
    same(da.take(x, [4, 1, 1], axis=0), X[[4, 1, 1]])
    same(da.shuffle(x, [[3, 1], [0, 2, 5, 4]], axis=0), X[[3, 1, 0, 2, 5, 4]])
    same(x.rechunk((4, 5))[2:4], X[2:4])


def test_joining(x):
    same(da.concatenate([x, x + 1], axis=1), np.concatenate([X, X + 1], axis=1))
    same(da.block([[x, x], [x, x]]), np.block([[X, X], [X, X]]))


def test_map_blocks_and_overlap(x):
    same(x.map_blocks(sw.sqrt, dtype="float32"), np.sqrt(X), rtol=1e-6)
    same(x.map_blocks(lambda b: b * 2, meta=x._meta), X * 2)

    def smooth(b):
        return b[1:-1, 1:-1] + b[:-2, 1:-1] + b[2:, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:]

    for boundary, mode in [("nearest", "edge"), ("reflect", "symmetric"), ("periodic", "wrap"), (0, "constant")]:
        # What dask fills in for a constant is NumPy's, which comes to be beside ours.
        y = da.overlap.overlap(x, depth=1, boundary=boundary).map_blocks(smooth, chunks=x.chunks, dtype=x.dtype)
        same(y, smooth(np.pad(X, 1, mode=mode)))


def test_reductions_by_functions_of_ours(x):
    for function, oracle in [(sw.sum, np.sum), (sw.max, np.max), (sw.min, np.min)]:
        for axis in (None, 0, 1):
            y = da.reduction(x, chunk=function, aggregate=function, axis=axis, dtype="float32", meta=x._meta)
            same(y, oracle(X, axis=axis))


@FUNCTIONS
def test_reductions(x):
    for name in ("sum", "max", "min", "mean", "prod"):
        for axis in (None, 0, 1, (0, 1)):
            same(getattr(x / 8, name)(axis=axis), getattr(X / 8, name)(axis=axis), rtol=1e-5)
    for name in ("any", "all"):
        same(getattr(x > 3, name)(axis=1), getattr(X > 3, name)(axis=1))
    same(x.var(axis=0), X.var(axis=0), rtol=1e-5)
    same(x.std(), X.std(), rtol=1e-5)
    holes = X.copy()
    holes[2, 3] = np.nan
    y = da.from_array(holes, chunks=(2, 3)).to_backend("stridewise")
    same(da.nansum(y, axis=0), np.nansum(holes, axis=0))
    same(da.nanmean(y, axis=1), np.nanmean(holes, axis=1), rtol=1e-6)
    same(x.argmax(axis=1), X.argmax(axis=1))


@FUNCTIONS
def test_functions_of_numpy(x):
    same(da.sin(x), np.sin(X), rtol=1e-5, atol=1e-6)
    same(da.where(x > 3, x, -x), np.where(X > 3, X, -X))
    same(x.T, X.T)
    same(x @ x.T, X @ X.T)
    same(x.reshape(48), X.reshape(48))
    same(da.stack([x, x]), np.stack([X, X]))
    same(x.cumsum(axis=0), X.cumsum(axis=0))


def test_lookups():
    a, b = sw.asarray(X, usm_type="shared"), sw.asarray(X.T, usm_type="shared")
    from dask.array import dispatch

    same(dispatch.tensordot_lookup(a, b, axes=((1,), (0,))), np.tensordot(X, X.T, axes=((1,), (0,))))
    same(dispatch.einsum_lookup.dispatch(type(a))("ij,jk->ki", a, b, dtype="float32"), np.einsum("ij,jk->ki", X, X.T))
    same(dispatch.concatenate_lookup.dispatch(type(a))([a, X], axis=0), np.concatenate([X, X]))
    same(dispatch.take_lookup(a, [2, 0], axis=1), X[:, [2, 0]])
    same(dispatch.take_lookup(a, [2, 40]), X.take([2, 40]))
    same(dispatch.take_lookup(a, [[2, 0]], axis=-1), X[:, [[2, 0]]])
    same(dispatch.divide_lookup(a, 2.0 * np.ones((6, 8)), dtype="float64"), X.astype("float64") / 2)
    for axis in (None, 0, (0, 1), -1):
        for keepdims in (True, False):
            count = dispatch.numel_lookup(a, axis=axis, keepdims=keepdims, dtype="int64")
            same(count, np.sum(np.ones_like(X, dtype="int64"), axis=axis, keepdims=keepdims))
    holes = sw.asarray([[1.0, math.nan], [2.0, 3.0]], usm_type="shared")
    assert dispatch.nannumel_lookup(holes, axis=(0,)).tolist() == [2, 1]
    assert dispatch.empty_lookup.dispatch(type(a))((2, 3), dtype="int16").shape == (2, 3)
    values, count = dispatch.percentile_lookup(a[0], [0, 50, 100], "linear")
    assert count == 8
    np.testing.assert_allclose(values, np.percentile(X[0], [0, 50, 100]), rtol=1e-6)


def test_the_backend_makes_arrays():
    with dask.config.set({"array.backend": "stridewise"}):
        same(da.ones((4, 6), chunks=2, dtype="float32"), np.ones((4, 6), "float32"))
        same(da.zeros(5, chunks=2), np.zeros(5))
        same(da.full((2, 3), 7, chunks=2), np.full((2, 3), 7))
        same(da.arange(10, chunks=3), np.arange(10))
        with pytest.raises(NotImplementedError, match="to_backend"):
            da.random.default_rng().random(3)


def test_npy_files(tmp_path, x):
    stridewise.dask.to_npy(x + 1, tmp_path / "a")
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), X + 1)
    y = stridewise.dask.from_npy(tmp_path / "a.npy", chunks=(4, 4))
    same(y, X + 1)
    same(y[::2, 1:] * 2, (X + 1)[::2, 1:] * 2)
    with pytest.raises(OSError):
        stridewise.dask.from_npy(tmp_path / "missing.npy")


def test_npy_files_that_are_written_anew(tmp_path):
    path = tmp_path / "a.npy"
    n = np.arange(100.0)
    np.save(path, n)
    x = stridewise.dask.from_npy(path, chunks=30)
    assert x.name == stridewise.dask.from_npy(path, chunks=30).name
    kept = x.persist()
    # Into the file that it comes from, at once and later; one that nobody computes changes nothing.
    stridewise.dask.to_npy(x * 2, path)
    np.testing.assert_array_equal(np.load(path), n * 2)
    y = stridewise.dask.from_npy(path, chunks=30)
    later = stridewise.dask.to_npy(y + 1, path, compute=False)
    np.testing.assert_array_equal(np.load(path), n * 2)
    same(y + kept, n * 3)
    dask.compute(later)
    np.testing.assert_array_equal(np.load(path), n * 2 + 1)
    # In place, as NumPy writes files: chunks that were kept are not of the new content, nor are others taken for the old one.
    np.save(path, np.full(100, 5.0))
    same(stridewise.dask.from_npy(path, chunks=30) + kept, n + 5)
    with pytest.raises(OSError, match="from_npy"):
        y.compute()

    def fails(chunk):
        raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="middle"):
        stridewise.dask.to_npy(stridewise.dask.from_npy(path, chunks=30).map_blocks(fails, meta=sw.zeros(0)), path)
    np.testing.assert_array_equal(np.load(path), np.full(100, 5.0))
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.npy"]


def test_zarr(tmp_path, x):
    zarr = pytest.importorskip("zarr", reason="zarr is not installed")
    target = zarr.create_array(str(tmp_path / "a.zarr"), shape=X.shape, chunks=(2, 3), dtype="float32")
    y = x * 3
    da.store(y, target)
    np.testing.assert_array_equal(target[:], X * 3)
    # Chunks of zeros alone are left out, but not those of negative ones, which have other bits.
    zeros = da.from_array(np.repeat(np.float32([[0, 0, 0, -0.0, -0.0, -0.0, 1, 0]]), 6, axis=0), chunks=(2, 3)).to_backend("stridewise")
    stored = zarr.create_array(str(tmp_path / "zeros.zarr"), shape=X.shape, chunks=(2, 3), dtype="float32")
    da.store(zeros, stored)
    assert stored.nchunks_initialized == 6 and np.signbit(stored[0]).tolist() == [False] * 3 + [True] * 3 + [False] * 2
    da.store(y.to_backend("numpy"), target)
    np.testing.assert_array_equal(target[:], X * 3)
    same(da.from_zarr(str(tmp_path / "a.zarr")).to_backend("stridewise"), X * 3)


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed", reason="distributed is not installed")
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, processes=True)
    with cluster, distributed.Client(cluster) as client:
        yield client


class TestDistributed:
    def test_graphs(self, client, x):
        with dask.config.set(scheduler=client):
            same(x.map_blocks(lambda b: b * 2, meta=x._meta), X * 2)
            y = da.reduction(x.rechunk(3), chunk=sw.sum, aggregate=sw.sum, dtype="float32", meta=x._meta)
            same(y, X.sum())

    def test_chunks_travel(self, client):
        for value in (sw.arange(100000, usm_type="shared"), sw.ones((3, 4), dtype="bfloat16", usm_type="device").T,
                      sw.zeros((0, 3)), sw.asarray(3.5), sw.reshape(sw.arange(24), (4, 6))[::2, ::-1]):  # fmt: skip
            there = client.scatter(value, direct=True)
            back = there.result()
            assert back.tolist() == value.tolist() and str(back.dtype) == str(value.dtype)
            assert back.usm_type == value.usm_type
            moved = client.submit(lambda a: (a + a, type(a).__name__), there, pure=False).result()
            assert moved[0].tolist() == (value + value).tolist() and moved[1] == "usm_ndarray"
            moved[0][...] = 1

    def test_frames_are_not_copied(self):
        protocol = pytest.importorskip("distributed.protocol", reason="distributed is not installed")
        x = sw.arange(1000, dtype="float64", usm_type="shared")
        header, frames = protocol.serialize(x)
        assert header["serializer"] == "dask" and len(frames) == 1
        assert np.frombuffer(frames[0], "float64").__array_interface__["data"][0] == x._pointer
        again = protocol.deserialize(header, [bytearray(frames[0])])
        assert again.tolist() == x.tolist() and again.flags.writable
        parts = protocol.deserialize(header, [bytes(frames[0])[:999], bytes(frames[0])[999:]])
        assert parts.tolist() == x.tolist() and parts.flags.writable
        # Large ones are sent in parts, which lie beside each other where they come in.
        message = memoryview(bytearray(frames[0]))
        parts = protocol.deserialize(header, [message[:999], message[999:]])
        assert parts.tolist() == x.tolist() and np.shares_memory(np.asarray(parts), np.frombuffer(message, "uint8"))


def test_hillshade_to_the_last_bit(tmp_path, monkeypatch):
    pytest.importorskip("distributed", reason="distributed is not installed")
    monkeypatch.syspath_prepend(str(EXAMPLES))
    rows, columns = np.ogrid[:157, :211]
    heights = (400 + 90 * np.sin(rows / 17) * np.cos(columns / 23) + (rows * 31 + columns * 17) % 13).astype("float32")
    np.save(tmp_path / "heights.npy", heights)
    arguments = [tmp_path / "heights.npy", tmp_path / "shades.npy", "--block", "50", "--workers", "2"]
    done = subprocess.run(
        [sys.executable, EXAMPLES / "hillshade_dask.py", *map(str, arguments)],
        capture_output=True, text=True, timeout=240, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(EXAMPLES)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    example = runpy.run_path(str(EXAMPLES / "hillshade_dask.py"))
    whole = sw.asnumpy(example["hillshade"](sw.asarray(heights, usm_type="shared"), *example["CELL"]))
    np.testing.assert_array_equal(np.load(tmp_path / "shades.npy").view("uint32"), whole.view("uint32"))
    by_threads = example["shaded"](da.from_array(heights, chunks=64).to_backend("stridewise"))
    same(by_threads, whole)
