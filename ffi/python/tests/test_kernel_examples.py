"""Twelve well-known programs as kernels, each beside NumPy; and the example of a kernel."""

import math
import pathlib
import runpy

import numpy as np
import pytest

import stridewise as sw
from kernels import on_devices
from stridewise.kernel_api import (
    AddressSpace, AtomicRef, Item, LocalAccessor, NdItem, NdRange, PrivateArray, Range, call_kernel, device_func, group_barrier,
)  # fmt: skip


def ours(oracle, device):
    return sw.asarray(oracle, device=device, copy=True)


@pytest.fixture
def rng():
    return np.random.default_rng(41)


@sw.kernel
def reverse(item: NdItem, a, tile):
    """Each group's elements in reverse."""
    i, j, n = item.get_global_id(0), item.get_local_id(0), item.get_local_range(0)
    tile[j] = a[i]
    group_barrier(item.get_group())
    a[i] += tile[n - 1 - j]


@on_devices
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_reverse(device, dtype):
    oracle = np.arange(1024).astype(dtype)
    a = ours(oracle, device)
    call_kernel(reverse, NdRange(1024, 256), a, LocalAccessor(256, dtype))
    groups = oracle.reshape(-1, 256)
    np.testing.assert_array_equal(sw.asnumpy(a), (groups + groups[:, ::-1]).ravel())


TILE = 8


@sw.kernel
def matmul(item: NdItem, a, b, c, a_tile, b_tile):
    """A product of matrices by tiles that a group shares; their extents need not divide those of the matrices."""
    row, column = item.get_global_id()
    i, j = item.get_local_id()
    group, (m, n), inner = item.get_group(), c.shape, a.shape[1]
    total = 0.0
    for t in range((inner + TILE - 1) // TILE):
        k = t * TILE
        a_tile[i, j] = a[row, k + j] if row < m and k + j < inner else 0
        b_tile[i, j] = b[k + i, column] if k + i < inner and column < n else 0
        group_barrier(group)
        for k in range(TILE):
            total += a_tile[i, k] * b_tile[k, j]
        group_barrier(group)
    if row < m and column < n:
        c[row, column] = total


@on_devices
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("m, k, n", [(16, 16, 16), (20, 33, 13)])
def test_tiled_matrix_product(device, rng, dtype, m, k, n):
    a, b = rng.random((m, k)).astype(dtype), rng.random((k, n)).astype(dtype)
    c = sw.zeros((m, n), dtype=dtype, device=device)
    up = [-(-extent // TILE) * TILE for extent in (m, n)]
    tiles = [LocalAccessor((TILE, TILE), dtype) for _ in "ab"]
    call_kernel(matmul, NdRange(up, (TILE, TILE)), ours(a, device), ours(b, device), c, *tiles)
    np.testing.assert_allclose(sw.asnumpy(c), a @ b, rtol=k * np.finfo(dtype).eps)


@sw.kernel
def block_sums(item: NdItem, a, sums, tile):
    """The sum of what each group strides over, by halves."""
    j, size, group = item.get_local_id(0), item.get_local_range(0), item.get_group()
    total = 0
    for i in range(item.get_global_id(0), len(a), item.get_global_range(0)):
        total += a[i]
    tile[j] = total
    half = size // 2
    while half > 0:
        group_barrier(group)
        if j < half:
            tile[j] += tile[j + half]
        half //= 2
    if j == 0:
        sums[group.get_group_id(0)] = tile[0]


@on_devices
@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_block_reduction(device, rng, dtype):
    a = rng.integers(-50, 50, 10_007).astype(dtype)
    sums = sw.zeros(4, dtype=dtype, device=device)
    call_kernel(block_sums, NdRange(4 * 64, 64), ours(a, device), sums, LocalAccessor(64, dtype))
    assert float(sw.sum(sums)) == a.sum(dtype=np.float64)


@sw.kernel
def block_scan(item: NdItem, a, ends, tile):
    """Blelloch's exclusive scan of each group's elements, two for each item; the groups' sums go to `ends`."""
    j, n, group = item.get_local_id(0), item.get_local_range(0), item.get_group()
    start = group.get_group_id(0) * 2 * n
    tile[2 * j] = a[start + 2 * j] if start + 2 * j < len(a) else 0
    tile[2 * j + 1] = a[start + 2 * j + 1] if start + 2 * j + 1 < len(a) else 0
    offset = 1
    active = n
    while active > 0:
        group_barrier(group)
        if j < active:
            low, high = offset * (2 * j + 1) - 1, offset * (2 * j + 2) - 1
            tile[high] += tile[low]
        offset *= 2
        active //= 2
    group_barrier(group)
    if j == 0:
        ends[group.get_group_id(0)] = tile[2 * n - 1]
        tile[2 * n - 1] = 0
    active = 1
    while active <= n:
        offset //= 2
        group_barrier(group)
        if j < active:
            low, high = offset * (2 * j + 1) - 1, offset * (2 * j + 2) - 1
            before = tile[low]
            tile[low] = tile[high]
            tile[high] += before
        active *= 2
    group_barrier(group)
    for k in range(2):
        if start + 2 * j + k < len(a):
            a[start + 2 * j + k] = tile[2 * j + k]


@sw.kernel
def add_ends(item: NdItem, a, ends):
    i = item.get_global_id(0)
    if i < len(a):
        a[i] += ends[item.get_group().get_group_id(0)]


def scan(a, group=32):
    """The exclusive scan of an array, in place."""
    blocks = -(-len(a) // (2 * group))
    ends = sw.zeros(blocks, dtype=a.dtype, queue=a.queue)
    call_kernel(block_scan, NdRange(blocks * group, group), a, ends, LocalAccessor(2 * group, a.dtype))
    if blocks > 1:
        scan(ends, group)
        call_kernel(add_ends, NdRange(blocks * 2 * group, 2 * group), a, ends)


@on_devices
@pytest.mark.parametrize("n", [64, 1, 1000, 5000])
def test_blelloch_scan(device, rng, n):
    oracle = rng.integers(0, 1000, n).astype(np.uint32)
    a = ours(oracle, device)
    scan(a)
    np.testing.assert_array_equal(sw.asnumpy(a), np.cumsum(oracle, dtype=np.uint32) - oracle)


@sw.kernel
def histogram(item: NdItem, data, counts, bins):
    """Counts in local memory first, by atomics, then in global memory."""
    j, size, group = item.get_local_id(0), item.get_local_range(0), item.get_group()
    for b in range(j, len(counts), size):
        bins[b] = 0
    group_barrier(group)
    for i in range(item.get_global_id(0), len(data), item.get_global_range(0)):
        AtomicRef(bins, data[i], address_space=AddressSpace.LOCAL).fetch_add(1)
    group_barrier(group)
    for b in range(j, len(counts), size):
        AtomicRef(counts, b).fetch_add(bins[b])


@on_devices
def test_histogram_with_local_atomics(device, rng):
    data = rng.integers(0, 256, 20_000).astype(np.uint8)
    counts = sw.zeros(256, dtype="int32", device=device)
    call_kernel(histogram, NdRange(4 * 128, 128), ours(data, device), counts, LocalAccessor(256, "int32"))
    np.testing.assert_array_equal(sw.asnumpy(counts), np.bincount(data, minlength=256))


RADIUS, SIDE = 2, 8
WEIGHTS = np.outer([1, 4, 6, 4, 1], [1, 4, 6, 4, 1]).astype(np.float32) / 256


@sw.kernel
def convolution(item: NdItem, image, out, tile):
    """A tile with a halo around it comes to local memory, each item brings some of it; beyond the image the edge counts."""
    (row, column), (i, j) = item.get_global_id(), item.get_local_id()
    rows, columns = image.shape
    top, left = row - i - RADIUS, column - j - RADIUS
    for y in range(i, SIDE + 2 * RADIUS, SIDE):
        for x in range(j, SIDE + 2 * RADIUS, SIDE):
            tile[y, x] = image[min(max(top + y, 0), rows - 1), min(max(left + x, 0), columns - 1)]
    group_barrier(item.get_group())
    if row < rows and column < columns:
        total = 0.0
        for y in range(2 * RADIUS + 1):
            for x in range(2 * RADIUS + 1):
                total += WEIGHTS[y, x] * tile[i + y, j + x]
        out[row, column] = total


@on_devices
def test_convolution_with_halo(device, rng):
    image = rng.random((37, 29)).astype(np.float32)
    out = sw.zeros(image.shape, dtype="float32", device=device)
    side = SIDE + 2 * RADIUS
    call_kernel(convolution, NdRange((40, 32), (SIDE, SIDE)), ours(image, device), out, LocalAccessor((side, side), "float32"))
    padded = np.pad(image, RADIUS, mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, WEIGHTS.shape)
    np.testing.assert_allclose(sw.asnumpy(out), np.einsum("ijkl,kl->ij", windows, WEIGHTS), rtol=1e-5)


@sw.kernel
def jacobi(item: Item, a, b):
    i, j = item.get_id(0) + 1, item.get_id(1) + 1
    b[i, j] = 0.2 * (a[i, j] + a[i, j - 1] + a[i, j + 1] + a[i + 1, j] + a[i - 1, j])


@on_devices
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_jacobi(device, rng, dtype):
    oracle = rng.random((30, 40)).astype(dtype)
    a, b = ours(oracle, device), ours(oracle, device)
    for _ in range(5):
        call_kernel(jacobi, Range(28, 38), a, b)
        a, b = b, a
        middle = oracle[1:-1, 1:-1]
        step = np.dtype(dtype).type(0.2) * (
            middle + oracle[1:-1, :-2] + oracle[1:-1, 2:] + oracle[2:, 1:-1] + oracle[:-2, 1:-1]
        )
        oracle = oracle.copy()
        oracle[1:-1, 1:-1] = step
    np.testing.assert_allclose(sw.asnumpy(a), oracle, rtol=4 * np.finfo(dtype).eps)


@device_func
def pull(dx, dy, dz, mass, softening):
    square = dx * dx + dy * dy + dz * dz + softening
    return mass / (square * math.sqrt(square))


@sw.kernel
def forces(item: NdItem, position, mass, force, tile):
    """The pull of all bodies on each one, by tiles of bodies that a group shares."""
    i, j, size, group = item.get_global_id(0), item.get_local_id(0), item.get_local_range(0), item.get_group()
    x, y, z = position[i, 0], position[i, 1], position[i, 2]
    fx, fy, fz = 0.0, 0.0, 0.0
    for start in range(0, len(position), size):
        for axis in range(3):
            tile[j, axis] = position[start + j, axis]
        tile[j, 3] = mass[start + j]
        group_barrier(group)
        for k in range(size):
            dx, dy, dz = tile[k, 0] - x, tile[k, 1] - y, tile[k, 2] - z
            strength = pull(dx, dy, dz, tile[k, 3], 1e-3)
            fx += dx * strength
            fy += dy * strength
            fz += dz * strength
        group_barrier(group)
    force[i, 0], force[i, 1], force[i, 2] = fx, fy, fz


@on_devices
@pytest.mark.parametrize("dtype, close", [("float32", 1e-3), ("float64", 1e-10)])
def test_n_body(device, rng, dtype, close):
    n = 128
    position, mass = rng.random((n, 3)).astype(dtype), rng.random(n).astype(dtype)
    force = sw.zeros((n, 3), dtype=dtype, device=device)
    call_kernel(forces, NdRange(n, 32), ours(position, device), ours(mass, device), force, LocalAccessor((32, 4), dtype))
    d = position[None].astype(np.float64) - position[:, None]
    strength = mass / ((d**2).sum(-1) + 1e-3) ** 1.5
    np.testing.assert_allclose(sw.asnumpy(force), (d * strength[..., None]).sum(1), rtol=close, atol=close)


@device_func
def normal(x):
    """The cumulative distribution of the normal distribution (Abramowitz and Stegun 26.2.17)."""
    k = 1.0 / (1.0 + 0.2316419 * abs(x))
    tail = k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    tail = tail * 0.3989422804014327 * math.exp(-0.5 * x * x)
    return 1.0 - tail if x > 0 else tail


@sw.kernel
def black_scholes(item: Item, price, strike, years, rate, volatility, call, put):
    i = item.get_id(0)
    root = math.sqrt(years[i])
    d1 = (math.log(price[i] / strike[i]) + (rate + 0.5 * volatility * volatility) * years[i]) / (volatility * root)
    d2 = d1 - volatility * root
    later = strike[i] * math.exp(-rate * years[i])
    call[i] = price[i] * normal(d1) - later * normal(d2)
    put[i] = later * normal(-d2) - price[i] * normal(-d1)


@on_devices
@pytest.mark.parametrize("dtype, close", [("float32", 1e-4), ("float64", 1e-6)])
def test_black_scholes(device, rng, dtype, close):
    price, strike, years = rng.uniform(5, 30, 500), rng.uniform(1, 100, 500), rng.uniform(0.25, 10, 500)
    given = [x.astype(dtype) for x in (price, strike, years)]
    call, put = (sw.zeros(500, dtype=dtype, device=device) for _ in "cp")
    call_kernel(black_scholes, Range(500), *(ours(x, device) for x in given), 0.02, 0.3, call, put)
    price, strike, years = (x.astype(np.float64) for x in given)
    cdf = np.vectorize(lambda x: (1 + math.erf(x / math.sqrt(2))) / 2)
    d1 = (np.log(price / strike) + (0.02 + 0.045) * years) / (0.3 * np.sqrt(years))
    d2 = d1 - 0.3 * np.sqrt(years)
    later = strike * np.exp(-0.02 * years)
    np.testing.assert_allclose(sw.asnumpy(call), price * cdf(d1) - later * cdf(d2), rtol=close, atol=20 * close)
    np.testing.assert_allclose(sw.asnumpy(put), later * cdf(-d2) - price * cdf(-d1), rtol=close, atol=100 * close)


@sw.kernel
def mandelbrot(item: Item, counts, x_min, x_step, y_min, y_step, most):
    i, j = item.get_id()
    cx, cy = x_min + j * x_step, y_min + i * y_step
    x, y, n = 0.0, 0.0, 0
    while n < most and x * x + y * y <= 4:
        x, y = x * x - y * y + cx, 2 * x * y + cy
        n += 1
    counts[i, j] = n


@on_devices
def test_mandelbrot(device):
    counts = sw.zeros((30, 50), dtype="int32", device=device)
    call_kernel(mandelbrot, Range(30, 50), counts, -2.0, 0.0625, -1.25, 0.0859375, 60)
    c = (-2.0 + 0.0625 * np.arange(50)) + 1j * (-1.25 + 0.0859375 * np.arange(30))[:, None]
    z, oracle = np.zeros_like(c), np.zeros(c.shape, dtype=np.int32)
    for _ in range(60):
        inside = z.real**2 + z.imag**2 <= 4
        oracle += inside
        z = np.where(inside, z * z + c, z)
    # Rounded otherwise, a point near the border may leave a round earlier or later.
    assert (abs(sw.asnumpy(counts) - oracle) > 1).sum() == 0 and (sw.asnumpy(counts) != oracle).mean() < 0.01


@sw.kernel
def bitonic_step(item: Item, a, size, stride):
    """One comparison of each pair, of runs of `size` that go up and down in turns."""
    k = item.get_id(0)
    i = 2 * k - k % stride
    j = i + stride
    up = i // size % 2 == 0
    x, y = a[i], a[j]
    if (x > y) == up:
        a[i], a[j] = y, x


@on_devices
@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_bitonic_sort(device, rng, dtype):
    oracle = rng.integers(-1000, 1000, 512).astype(dtype)
    a = ours(oracle, device)
    size = 2
    while size <= 512:
        stride = size // 2
        while stride:
            call_kernel(bitonic_step, Range(256), a, size, stride)
            stride //= 2
        size *= 2
    np.testing.assert_array_equal(sw.asnumpy(a), np.sort(oracle))


CLUSTERS = 5


@sw.kernel
def assign(item: NdItem, points, centres, label, sums, counts, local_sums, local_counts):
    """The nearest centre of each point, and what the centres' means are made of, summed by each group first."""
    i, j, group = item.get_global_id(0), item.get_local_id(0), item.get_group()
    if j < CLUSTERS:
        local_sums[j, 0] = local_sums[j, 1] = 0
        local_counts[j] = 0
    group_barrier(group)
    if i < len(points):
        distances = PrivateArray(CLUSTERS, points.dtype)
        best = 0
        for c in range(CLUSTERS):
            dx, dy = points[i, 0] - centres[c, 0], points[i, 1] - centres[c, 1]
            distances[c] = dx * dx + dy * dy
            if distances[c] < distances[best]:
                best = c
        label[i] = best
        for axis in range(2):
            AtomicRef(local_sums, (best, axis)).fetch_add(points[i, axis])
        AtomicRef(local_counts, best).fetch_add(1)
    group_barrier(group)
    if j < CLUSTERS:
        for axis in range(2):
            AtomicRef(sums, (j, axis)).fetch_add(local_sums[j, axis])
        AtomicRef(counts, j).fetch_add(local_counts[j])


@sw.kernel
def move(item: Item, centres, sums, counts):
    c, axis = item.get_id()
    if counts[c] > 0:
        centres[c, axis] = sums[c, axis] / counts[c]


@on_devices
def test_k_means(device, rng):
    points = (rng.normal(size=(700, 2)) + 8 * rng.integers(0, 3, (700, 2))).astype(np.float64)
    oracle = points[:CLUSTERS].copy()
    centres, label = ours(oracle, device), sw.zeros(700, dtype="int32", device=device)
    there = ours(points, device)
    memory = LocalAccessor((CLUSTERS, 2), "float64"), LocalAccessor(CLUSTERS, "int32")
    for _ in range(6):
        sums = sw.zeros((CLUSTERS, 2), device=device, dtype="float64")
        counts = sw.zeros(CLUSTERS, device=device, dtype="int32")
        call_kernel(assign, NdRange(768, 64), there, centres, label, sums, counts, *memory)
        call_kernel(move, Range(CLUSTERS, 2), centres, sums, counts)
        nearest = ((points[:, None] - oracle) ** 2).sum(-1).argmin(1)
        oracle = np.array([points[nearest == c].mean(0) if (nearest == c).any() else oracle[c] for c in range(CLUSTERS)])
    np.testing.assert_array_equal(sw.asnumpy(label), nearest)
    np.testing.assert_allclose(sw.asnumpy(centres), oracle, rtol=1e-12)


SCRIPT = pathlib.Path(__file__).parents[1] / "examples" / "mandelbrot.py"


@on_devices
def test_picture_of_the_example(device):
    picture = sw.asnumpy(runpy.run_path(str(SCRIPT))["draw"](60, 80, device, 50)).astype(int)
    step = 2.5 / 60
    c = (-0.7 - 40 * step + step * np.arange(80)) + 1j * (-1.25 + step * np.arange(60))[:, None]
    z, oracle = np.zeros_like(c), np.zeros(c.shape)
    inside = np.ones(c.shape, dtype=bool)
    for n in range(50):
        z = np.where(inside, z * z + c, z)
        out = inside & (abs(z) >= 16)
        smooth = n + 2 - np.log2(np.log(np.abs(z[out])))
        oracle[out] = 255 * np.sqrt(np.maximum(smooth, 0) / 50)
        inside &= ~out
    assert (abs(picture - oracle) <= 1).mean() > 0.99 and (picture[inside] == 0).all()


def test_example_as_a_program(tmp_path, monkeypatch):
    picture = tmp_path / "set.pgm"
    monkeypatch.setattr("sys.argv", [str(SCRIPT), str(picture), "host"])
    runpy.run_path(str(SCRIPT), run_name="__main__")
    assert picture.stat().st_size == len(b"P5 800 600 255\n") + 800 * 600
