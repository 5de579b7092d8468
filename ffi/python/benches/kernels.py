"""The twelve example kernels, and on the host six more (`untuned.py`), beside the same programs by Numba, on the host, or as CUDA C
by CuPy, on an NVIDIA GPU.

Run with the environment of `cargo xtask python` and numba (or, on a GPU, cupy) in it:

    target/python/bin/python ffi/python/benches/kernels.py [DEVICE] [NAME …]

Medians of interleaved rounds, arrays ready on the device, each round waited for. The ratio is the peer's time over ours: above 1
we are ahead. First calls of a fresh kernel, compilation included, are printed beside.
"""

import math
import pathlib
import statistics
import sys
import time

import numpy as np

import stridewise as sw
from stridewise.kernel_api import LocalAccessor, NdRange, Range, call_kernel_async

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "tests"))
import test_kernel_examples as ours  # noqa: E402
import untuned  # noqa: E402

# Tiles of 256 items; the kernels read these when they are compiled.
ours.TILE = ours.SIDE = 16

ROUNDS = 7
RNG = np.random.default_rng(41)


def sizes(gpu):
    """By name: the extents that the programs are usually measured with; on a GPU, larger ones."""
    big = 4 if gpu else 1
    return {
        "reverse": 1 << 24,
        "matmul": (1000, 1100, 1200),
        "reduction": 1 << 24,
        "scan": 6_815_744,
        "histogram": 1 << 26,
        "convolution": 3072,
        "jacobi": (700, 200) if not gpu else (2800, 200),
        "n-body": 16_000,
        "black-scholes": big << 20,
        "mandelbrot": 1000 * big,
        "bitonic": 1 << 20,
        "k-means": (1 << 18) * big,
    } | ({} if gpu else untuned.SIZES)


def given(name, size):
    """The arrays of a program, as NumPy's."""
    f64 = lambda *shape: RNG.random(shape)  # noqa: E731
    match name:
        case "reverse":
            return [np.arange(size, dtype=np.int32)]
        case "matmul":
            m, k, n = size
            return [f64(m, k), f64(k, n), np.zeros((m, n))]
        case "reduction":
            return [RNG.random(size, dtype=np.float32), np.zeros(64, dtype=np.float32)]
        case "scan":
            return [RNG.integers(0, 1000, size).astype(np.uint32)]
        case "histogram":
            return [RNG.integers(0, 256, size).astype(np.uint8), np.zeros(256, dtype=np.int32)]
        case "convolution":
            return [RNG.random((size, size), dtype=np.float32), np.zeros((size, size), dtype=np.float32)]
        case "jacobi":
            a = f64(size[0], size[0])
            return [a, a.copy()]
        case "n-body":
            return [f64(size, 3), f64(size), np.zeros((size, 3))]
        case "black-scholes":
            draws = [RNG.uniform(*range_, size) for range_ in ((10, 50), (10, 50), (1, 2))]
            return [*draws, np.zeros(size), np.zeros(size)]
        case "mandelbrot":
            return [np.zeros((size, size), dtype=np.int32)]
        case "bitonic":
            return [RNG.integers(-(1 << 30), 1 << 30, size).astype(np.int32)]
        case "k-means":
            points = RNG.normal(size=(size, 2)) + 8 * RNG.integers(0, 3, (size, 2))
            k = ours.CLUSTERS
            return [points, points[:k].copy(), np.zeros(size, dtype=np.int32), np.zeros((k, 2)), np.zeros(k, dtype=np.int32)]
        case _:
            return untuned.given(name, size, RNG)


def up(n, group):
    return -(-n // group) * group


def launch(name, size, arrays):
    """Runs a program by our kernels; the event of its last launch."""
    go = lambda kernel, range_, *args: call_kernel_async(kernel, range_, (), *args)[0]  # noqa: E731
    match name:
        case "reverse":
            return go(ours.reverse, NdRange(size, 256), *arrays, LocalAccessor(256, "int32"))
        case "matmul":
            tile = ours.TILE
            tiles = [LocalAccessor((tile, tile), "float64") for _ in "ab"]
            return go(ours.matmul, NdRange((up(size[0], tile), up(size[2], tile)), (tile, tile)), *arrays, *tiles)
        case "reduction":
            return go(ours.block_sums, NdRange(64 * 256, 256), *arrays, LocalAccessor(256, "float32"))
        case "scan":
            ours.scan(arrays[0], 256)
            return arrays[0].queue
        case "histogram":
            return go(ours.histogram, NdRange(64 * 256, 256), *arrays, LocalAccessor(256, "int32"))
        case "convolution":
            side = ours.SIDE + 2 * ours.RADIUS
            return go(ours.convolution, NdRange((size, size), (ours.SIDE,) * 2), *arrays, LocalAccessor((side, side), "float32"))
        case "jacobi":
            a, b = arrays
            for _ in range(size[1]):
                event = go(ours.jacobi, Range(size[0] - 2, size[0] - 2), a, b)
                a, b = b, a
            return event
        case "n-body":
            return go(ours.forces, NdRange(size, 128), *arrays, LocalAccessor((128, 4), "float64"))
        case "black-scholes":
            return go(ours.black_scholes, Range(size), *arrays[:3], 0.02, 0.3, *arrays[3:])
        case "mandelbrot":
            return go(ours.mandelbrot, Range(size, size), *arrays, -2.0, 2.5 / size, -1.25, 2.5 / size, 200)
        case "bitonic":
            length = 2
            while length <= size:
                stride = length // 2
                while stride:
                    event = go(ours.bitonic_step, Range(size // 2), *arrays, length, stride)
                    stride //= 2
                length *= 2
            return event
        case "k-means":
            k = ours.CLUSTERS
            memory = LocalAccessor((k, 2), "float64"), LocalAccessor(k, "int32")
            go(ours.assign, NdRange(up(size, 256), 256), *arrays, *memory)
            return go(ours.move, Range(k, 2), arrays[1], *arrays[3:])
        case _:
            return untuned.launch(name, size, arrays)


def first_call(name, size, device):
    """Seconds of the first call of each program's kernels, on a few elements: reading, checking, compiling, running."""
    few = {"matmul": (8, 8, 8), "jacobi": (16, 1), "n-body": 128, "lu": 2, "bilateral": 64}.get(name, 512)
    arrays = [sw.asarray(a, device=device, copy=True) for a in given(name, few)]
    start = time.perf_counter()
    event = launch(name, few, arrays)
    event.wait()
    return time.perf_counter() - start


class Numba:
    """The same programs as one would write them for Numba: loops over rows that threads share."""

    def __init__(self):
        import numba
        from numba import njit, prange

        jit = njit(parallel=True, fastmath=False)
        inline = njit(fastmath=False)
        threads = numba.get_num_threads()
        weights, radius, clusters = ours.WEIGHTS, ours.RADIUS, ours.CLUSTERS
        self.version = f"Numba {numba.__version__}, {threads} threads"

        @jit
        def reverse(a):
            for g in prange(a.size // 256):
                part = a[g * 256 : g * 256 + 256]
                turned = part[::-1].copy()
                part += turned

        @jit
        def matmul(a, b, c):
            for i in prange(c.shape[0]):
                for j in range(c.shape[1]):
                    c[i, j] = 0
                for k in range(a.shape[1]):
                    for j in range(c.shape[1]):
                        c[i, j] += a[i, k] * b[k, j]

        @jit
        def reduction(a, sums):
            size = a.size // 64
            for g in prange(64):
                total = np.float32(0)
                for i in range(g * size, (g + 1) * size):
                    total += a[i]
                sums[g] = total

        @jit
        def scan(a):
            parts = threads * 4
            ends = np.zeros(parts + 1, dtype=np.uint32)
            for p in prange(parts):
                total = np.uint32(0)
                for i in range(a.size * p // parts, a.size * (p + 1) // parts):
                    total += a[i]
                ends[p + 1] = total
            for p in range(parts):
                ends[p + 1] += ends[p]
            for p in prange(parts):
                total = ends[p]
                for i in range(a.size * p // parts, a.size * (p + 1) // parts):
                    value = a[i]
                    a[i] = total
                    total += value

        @jit
        def histogram(data, counts):
            own = np.zeros((threads, 256), dtype=np.int32)
            size = -(-data.size // threads)
            for t in prange(threads):
                for i in range(t * size, min(data.size, (t + 1) * size)):
                    own[t, data[i]] += 1
            counts += own.sum(0).astype(np.int32)

        @jit
        def convolution(image, out):
            rows, columns = image.shape
            for row in prange(rows):
                for column in range(columns):
                    total = np.float32(0)
                    for y in range(2 * radius + 1):
                        for x in range(2 * radius + 1):
                            i = min(max(row + y - radius, 0), rows - 1)
                            j = min(max(column + x - radius, 0), columns - 1)
                            total += weights[y, x] * image[i, j]
                    out[row, column] = total

        @jit
        def jacobi_step(a, b):
            for i in prange(1, a.shape[0] - 1):
                for j in range(1, a.shape[1] - 1):
                    b[i, j] = 0.2 * (a[i, j] + a[i, j - 1] + a[i, j + 1] + a[i + 1, j] + a[i - 1, j])

        def jacobi(steps, a, b):
            for _ in range(steps):
                jacobi_step(a, b)
                a, b = b, a

        @jit
        def n_body(position, mass, force):
            for i in prange(position.shape[0]):
                fx = fy = fz = 0.0
                for k in range(position.shape[0]):
                    dx = position[k, 0] - position[i, 0]
                    dy = position[k, 1] - position[i, 1]
                    dz = position[k, 2] - position[i, 2]
                    square = dx * dx + dy * dy + dz * dz + 1e-3
                    strength = mass[k] / (square * math.sqrt(square))
                    fx += dx * strength
                    fy += dy * strength
                    fz += dz * strength
                force[i, 0], force[i, 1], force[i, 2] = fx, fy, fz

        @inline
        def normal(x):
            k = 1.0 / (1.0 + 0.2316419 * abs(x))
            tail = k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
            tail = tail * 0.3989422804014327 * math.exp(-0.5 * x * x)
            return 1.0 - tail if x > 0 else tail

        @jit
        def black_scholes(price, strike, years, rate, volatility, call, put):
            for i in prange(price.size):
                root = math.sqrt(years[i])
                d1 = (math.log(price[i] / strike[i]) + (rate + 0.5 * volatility * volatility) * years[i]) / (volatility * root)
                d2 = d1 - volatility * root
                later = strike[i] * math.exp(-rate * years[i])
                call[i] = price[i] * normal(d1) - later * normal(d2)
                put[i] = later * normal(-d2) - price[i] * normal(-d1)

        @jit
        def mandelbrot(counts, x_min, x_step, y_min, y_step, most):
            for i in prange(counts.shape[0]):
                for j in range(counts.shape[1]):
                    cx, cy = x_min + j * x_step, y_min + i * y_step
                    x = y = 0.0
                    n = 0
                    while n < most and x * x + y * y <= 4:
                        x, y = x * x - y * y + cx, 2 * x * y + cy
                        n += 1
                    counts[i, j] = n

        @jit
        def bitonic_step(a, length, stride):
            for k in prange(a.size // 2):
                i = 2 * k - k % stride
                j = i + stride
                if (a[i] > a[j]) == (i // length % 2 == 0):
                    a[i], a[j] = a[j], a[i]

        def bitonic(a):
            length = 2
            while length <= a.size:
                stride = length // 2
                while stride:
                    bitonic_step(a, length, stride)
                    stride //= 2
                length *= 2

        @jit
        def k_means(points, centres, label, sums, counts):
            own_sums, own_counts = np.zeros((threads, clusters, 2)), np.zeros((threads, clusters), dtype=np.int32)
            size = -(-points.shape[0] // threads)
            for t in prange(threads):
                for i in range(t * size, min(points.shape[0], (t + 1) * size)):
                    best, least = 0, np.inf
                    for c in range(clusters):
                        dx, dy = points[i, 0] - centres[c, 0], points[i, 1] - centres[c, 1]
                        if dx * dx + dy * dy < least:
                            best, least = c, dx * dx + dy * dy
                    label[i] = best
                    own_sums[t, best, 0] += points[i, 0]
                    own_sums[t, best, 1] += points[i, 1]
                    own_counts[t, best] += 1
            sums += own_sums.sum(0)
            counts += own_counts.sum(0).astype(np.int32)
            for c in range(clusters):
                if counts[c] > 0:
                    centres[c] = sums[c] / counts[c]

        self.programs = {
            "reverse": lambda size, a: reverse(a),
            "matmul": lambda size, *a: matmul(*a),
            "reduction": lambda size, *a: reduction(*a),
            "scan": lambda size, a: scan(a),
            "histogram": lambda size, *a: histogram(*a),
            "convolution": lambda size, *a: convolution(*a),
            "jacobi": lambda size, *a: jacobi(size[1], *a),
            "n-body": lambda size, *a: n_body(*a),
            "black-scholes": lambda size, *a: black_scholes(*a[:3], 0.02, 0.3, *a[3:]),
            "mandelbrot": lambda size, a: mandelbrot(a, -2.0, 2.5 / size, -1.25, 2.5 / size, 200),
            "bitonic": lambda size, a: bitonic(a),
            "k-means": lambda size, *a: k_means(*a),
        } | untuned.numba_programs()

    def arrays(self, arrays):
        return [a.copy() for a in arrays]

    def run(self, name, size, arrays):
        self.programs[name](size, *arrays)


class CuPy:
    """The same kernels as CUDA C."""

    SOURCE = r"""
    extern "C" {
    __global__ void reverse(int *a) {
      __shared__ int tile[256];
      int i = blockIdx.x * 256 + threadIdx.x, j = threadIdx.x;
      tile[j] = a[i]; __syncthreads(); a[i] += tile[255 - j];
    }
    #define TILE 16
    __global__ void matmul(const double *a, const double *b, double *c, int m, int k, int n) {
      __shared__ double at[TILE][TILE], bt[TILE][TILE];
      int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x, i = threadIdx.y, j = threadIdx.x;
      double total = 0;
      for (int t = 0; t < k; t += TILE) {
        at[i][j] = row < m && t + j < k ? a[row * k + t + j] : 0;
        bt[i][j] = t + i < k && column < n ? b[(t + i) * n + column] : 0;
        __syncthreads();
        for (int q = 0; q < TILE; ++q) total += at[i][q] * bt[q][j];
        __syncthreads();
      }
      if (row < m && column < n) c[row * n + column] = total;
    }
    __global__ void reduction(const float *a, float *sums, int n) {
      __shared__ float tile[256];
      int j = threadIdx.x; float total = 0;
      for (int i = blockIdx.x * 256 + j; i < n; i += gridDim.x * 256) total += a[i];
      tile[j] = total;
      for (int half = 128; half > 0; half /= 2) { __syncthreads(); if (j < half) tile[j] += tile[j + half]; }
      if (j == 0) sums[blockIdx.x] = tile[0];
    }
    __global__ void scan(unsigned *a, unsigned *ends, int len) {
      __shared__ unsigned tile[512];
      int j = threadIdx.x, n = 256, start = blockIdx.x * 512, offset = 1;
      for (int k = 0; k < 2; ++k) tile[2 * j + k] = start + 2 * j + k < len ? a[start + 2 * j + k] : 0;
      for (int active = n; active > 0; active /= 2) {
        __syncthreads();
        if (j < active) tile[offset * (2 * j + 2) - 1] += tile[offset * (2 * j + 1) - 1];
        offset *= 2;
      }
      __syncthreads();
      if (j == 0) { ends[blockIdx.x] = tile[511]; tile[511] = 0; }
      for (int active = 1; active <= n; active *= 2) {
        offset /= 2; __syncthreads();
        if (j < active) {
          int low = offset * (2 * j + 1) - 1, high = offset * (2 * j + 2) - 1;
          unsigned before = tile[low]; tile[low] = tile[high]; tile[high] += before;
        }
      }
      __syncthreads();
      for (int k = 0; k < 2; ++k) if (start + 2 * j + k < len) a[start + 2 * j + k] = tile[2 * j + k];
    }
    __global__ void add_ends(unsigned *a, const unsigned *ends, int len) {
      int i = blockIdx.x * 512 + threadIdx.x; if (i < len) a[i] += ends[blockIdx.x];
    }
    __global__ void histogram(const unsigned char *data, int *counts, int n) {
      __shared__ int bins[256];
      bins[threadIdx.x] = 0; __syncthreads();
      for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) atomicAdd(bins + data[i], 1);
      __syncthreads(); atomicAdd(counts + threadIdx.x, bins[threadIdx.x]);
    }
    __constant__ float weights[25];
    __global__ void convolution(const float *image, float *out, int rows, int columns) {
      __shared__ float tile[20][20];
      int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x, top = blockIdx.y * 16 - 2, left = blockIdx.x * 16 - 2;
      for (int y = threadIdx.y; y < 20; y += 16) for (int x = threadIdx.x; x < 20; x += 16)
        tile[y][x] = image[min(max(top + y, 0), rows - 1) * columns + min(max(left + x, 0), columns - 1)];
      __syncthreads();
      float total = 0;
      for (int y = 0; y < 5; ++y) for (int x = 0; x < 5; ++x) total += weights[y * 5 + x] * tile[threadIdx.y + y][threadIdx.x + x];
      if (row < rows && column < columns) out[row * columns + column] = total;
    }
    __global__ void jacobi(const double *a, double *b, int n) {
      int i = blockIdx.y * blockDim.y + threadIdx.y + 1, j = blockIdx.x * blockDim.x + threadIdx.x + 1;
      if (i < n - 1 && j < n - 1)
        b[i * n + j] = 0.2 * (a[i * n + j] + a[i * n + j - 1] + a[i * n + j + 1] + a[(i + 1) * n + j] + a[(i - 1) * n + j]);
    }
    __global__ void forces(const double *p, const double *mass, double *force, int n) {
      __shared__ double tile[128][4];
      int i = blockIdx.x * 128 + threadIdx.x, j = threadIdx.x;
      double x = p[3 * i], y = p[3 * i + 1], z = p[3 * i + 2], fx = 0, fy = 0, fz = 0;
      for (int start = 0; start < n; start += 128) {
        for (int axis = 0; axis < 3; ++axis) tile[j][axis] = p[3 * (start + j) + axis];
        tile[j][3] = mass[start + j]; __syncthreads();
        for (int k = 0; k < 128; ++k) {
          double dx = tile[k][0] - x, dy = tile[k][1] - y, dz = tile[k][2] - z, square = dx * dx + dy * dy + dz * dz + 1e-3;
          double strength = tile[k][3] / (square * sqrt(square));
          fx += dx * strength; fy += dy * strength; fz += dz * strength;
        }
        __syncthreads();
      }
      force[3 * i] = fx; force[3 * i + 1] = fy; force[3 * i + 2] = fz;
    }
    __device__ double normal(double x) {
      double k = 1.0 / (1.0 + 0.2316419 * fabs(x));
      double tail = k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))));
      tail = tail * 0.3989422804014327 * exp(-0.5 * x * x);
      return x > 0 ? 1.0 - tail : tail;
    }
    __global__ void black_scholes(const double *price, const double *strike, const double *years, double rate, double volatility,
                                  double *call, double *put, int n) {
      int i = blockIdx.x * 256 + threadIdx.x; if (i >= n) return;
      double root = sqrt(years[i]);
      double d1 = (log(price[i] / strike[i]) + (rate + 0.5 * volatility * volatility) * years[i]) / (volatility * root);
      double d2 = d1 - volatility * root, later = strike[i] * exp(-rate * years[i]);
      call[i] = price[i] * normal(d1) - later * normal(d2); put[i] = later * normal(-d2) - price[i] * normal(-d1);
    }
    __global__ void mandelbrot(int *counts, double x_min, double x_step, double y_min, double y_step, int most, int n) {
      int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n || j >= n) return;
      double cx = x_min + j * x_step, cy = y_min + i * y_step, x = 0, y = 0; int k = 0;
      while (k < most && x * x + y * y <= 4) { double next = x * x - y * y + cx; y = 2 * x * y + cy; x = next; ++k; }
      counts[i * n + j] = k;
    }
    __global__ void bitonic_step(int *a, int size, int stride, int pairs) {
      int k = blockIdx.x * 256 + threadIdx.x; if (k >= pairs) return;
      int i = 2 * k - k % stride, j = i + stride, x = a[i], y = a[j];
      if ((x > y) == (i / size % 2 == 0)) { a[i] = y; a[j] = x; }
    }
    __global__ void assign(const double *points, const double *centres, int *label, double *sums, int *counts, int n) {
      __shared__ double own[5][2]; __shared__ int own_counts[5];
      int i = blockIdx.x * 256 + threadIdx.x, j = threadIdx.x;
      if (j < 5) { own[j][0] = own[j][1] = 0; own_counts[j] = 0; }
      __syncthreads();
      if (i < n) {
        double d[5]; int best = 0;
        for (int c = 0; c < 5; ++c) {
          double dx = points[2 * i] - centres[2 * c], dy = points[2 * i + 1] - centres[2 * c + 1];
          d[c] = dx * dx + dy * dy; if (d[c] < d[best]) best = c;
        }
        label[i] = best;
        for (int axis = 0; axis < 2; ++axis) atomicAdd(&own[best][axis], points[2 * i + axis]);
        atomicAdd(own_counts + best, 1);
      }
      __syncthreads();
      if (j < 5) { for (int axis = 0; axis < 2; ++axis) atomicAdd(sums + 2 * j + axis, own[j][axis]); atomicAdd(counts + j, own_counts[j]); }
    }
    __global__ void move(double *centres, const double *sums, const int *counts) {
      int c = threadIdx.x / 2; if (counts[c] > 0) centres[threadIdx.x] = sums[threadIdx.x] / counts[c];
    }
    }"""

    def __init__(self):
        import cupy

        self.cupy = cupy
        self.version = f"CuPy {cupy.__version__}"
        # A product and the sum that it is added to stay two operations, as in ours.
        self.module = cupy.RawModule(code=self.SOURCE, options=("--fmad=false",))
        self.kernel = {}

    def arrays(self, arrays):
        return [self.cupy.asarray(a) for a in arrays]

    def call(self, name, grid, block, *args):
        if name not in self.kernel:
            self.kernel[name] = self.module.get_function(name)
        # C's int is what the kernels take.
        self.kernel[name](grid, block, tuple(np.int32(a) if isinstance(a, int) else a for a in args))

    def scan(self, a):
        blocks = -(-a.size // 512)
        ends = self.cupy.zeros(blocks, dtype=a.dtype)
        self.call("scan", (blocks,), (256,), a, ends, a.size)
        if blocks > 1:
            self.scan(ends)
            self.call("add_ends", (blocks,), (512,), a, ends, a.size)

    def run(self, name, size, arrays):
        tiles = lambda n, side: -(-n // side)  # noqa: E731
        match name:
            case "reverse":
                self.call("reverse", (size // 256,), (256,), *arrays)
            case "matmul":
                m, k, n = size
                self.call("matmul", (tiles(n, 16), tiles(m, 16)), (16, 16), *arrays, m, k, n)
            case "reduction":
                self.call("reduction", (64,), (256,), *arrays, size)
            case "scan":
                self.scan(arrays[0])
            case "histogram":
                self.call("histogram", (64,), (256,), *arrays, size)
            case "convolution":
                if "convolution" not in self.kernel:
                    at = self.module.get_global("weights")
                    self.cupy.ndarray(25, dtype=np.float32, memptr=at)[:] = self.cupy.asarray(ours.WEIGHTS.ravel())
                self.call("convolution", (size // 16, size // 16), (16, 16), *arrays, size, size)
            case "jacobi":
                a, b = arrays
                n = size[0]
                for _ in range(size[1]):
                    self.call("jacobi", (tiles(n - 2, 32), tiles(n - 2, 8)), (32, 8), a, b, n)
                    a, b = b, a
            case "n-body":
                self.call("forces", (size // 128,), (128,), *arrays, size)
            case "black-scholes":
                rate, volatility = np.float64(0.02), np.float64(0.3)
                self.call("black_scholes", (tiles(size, 256),), (256,), *arrays[:3], rate, volatility, *arrays[3:], size)
            case "mandelbrot":
                steps = [np.float64(x) for x in (-2.0, 2.5 / size, -1.25, 2.5 / size)]
                self.call("mandelbrot", (tiles(size, 32), tiles(size, 8)), (32, 8), *arrays, *steps, 200, size)
            case "bitonic":
                length = 2
                while length <= size:
                    stride = length // 2
                    while stride:
                        self.call("bitonic_step", (tiles(size // 2, 256),), (256,), *arrays, length, stride, size // 2)
                        stride //= 2
                    length *= 2
            case "k-means":
                self.call("assign", (tiles(size, 256),), (256,), *arrays, size)
                self.call("move", (1,), (10,), arrays[1], *arrays[3:])
        self.cupy.cuda.get_current_stream().synchronize()


def main(device="host", *names):
    gpu = "gpu" in device
    try:
        peer = CuPy() if gpu else Numba()
    except ImportError as missing:
        peer = None
        print(f"no peer: {missing}")
    print(f"{device}; {peer.version if peer else ''}")
    # What the first launch of a process loads is no kernel's.
    sw.kernel("def one(item, a): a[item.get_id(0)] = 1").launch(Range(1), sw.zeros(1, device=device)).wait()
    print(f"{'program':14} {'first call':>12} {'ours':>12} {'peer':>12}  ratio")
    for name, size in sizes(gpu).items():
        if names and name not in names:
            continue
        first = first_call(name, size, device)
        arrays = given(name, size)
        mine = [sw.asarray(a, device=device, copy=True) for a in arrays]
        theirs = peer.arrays(arrays) if peer else []
        if peer and name in untuned.SIZES:
            launch(name, size, mine).wait()
            peer.run(name, size, theirs)
            np.testing.assert_allclose(sw.asnumpy(mine[-1]), theirs[-1], rtol=1e-4, err_msg=name)
        times = [], []
        for round_ in range(ROUNDS + 1):
            start = time.perf_counter()
            launch(name, size, mine).wait()
            middle = time.perf_counter()
            if peer:
                peer.run(name, size, theirs)
            end = time.perf_counter()
            # The first round compiles.
            if round_:
                times[0].append(middle - start)
                times[1].append(end - middle)
        a, b = (statistics.median(t) for t in times)
        print(f"{name:14} {first * 1e3:9.2f} ms {a * 1e3:9.2f} ms {b * 1e3:9.2f} ms  {b / a:5.2f}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
