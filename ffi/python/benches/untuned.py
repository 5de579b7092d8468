"""Six programs that nobody tuned the engine for, as kernels, and the same by Numba: `kernels.py` measures them.

What each of them writes is compared with the peer's before it is timed.
"""

import math

import numpy as np

import stridewise as sw
from stridewise.kernel_api import Item, LocalAccessor, NdItem, NdRange, Range, call_kernel_async, group_barrier

SIDE = 16
RADIUS, WEIGHTS = 4, (np.exp(-0.5 * (np.arange(-4, 5) / 2.0) ** 2) / 5.0).astype(np.float32)
WINDOW = 3


@sw.kernel
def transpose(item: NdItem, a, out, tile):
    (row, column), (i, j) = item.get_global_id(), item.get_local_id()
    rows, columns = a.shape
    if row < rows and column < columns:
        tile[i, j] = a[row, column]
    group_barrier(item.get_group())
    top, left = row - i, column - j
    if left + i < columns and top + j < rows:
        out[left + i, top + j] = tile[j, i]


@sw.kernel
def blur_rows(item: Item, image, out):
    row, column = item.get_id()
    last = image.shape[1] - 1
    total = 0.0
    for k in range(2 * RADIUS + 1):
        total += WEIGHTS[k] * image[row, min(max(column + k - RADIUS, 0), last)]
    out[row, column] = total


@sw.kernel
def blur_columns(item: Item, image, out):
    row, column = item.get_id()
    last = image.shape[0] - 1
    total = 0.0
    for k in range(2 * RADIUS + 1):
        total += WEIGHTS[k] * image[min(max(row + k - RADIUS, 0), last), column]
    out[row, column] = total


@sw.kernel
def spmv(item: Item, starts, columns, values, x, y):
    """A product of a sparse matrix by rows (CSR) and a vector."""
    i = item.get_id(0)
    total = 0.0
    for k in range(starts[i], starts[i + 1]):
        total += values[k] * x[columns[k]]
    y[i] = total


@sw.kernel
def bilateral(item: Item, image, out, near, like):
    row, column = item.get_id()
    rows, columns = image.shape
    centre = image[row, column]
    total, weights = 0.0, 0.0
    for y in range(-WINDOW, WINDOW + 1):
        for x in range(-WINDOW, WINDOW + 1):
            value = image[min(max(row + y, 0), rows - 1), min(max(column + x, 0), columns - 1)]
            apart = value - centre
            weight = math.exp(-near * (y * y + x * x) - like * apart * apart)
            total += weight * value
            weights += weight
    out[row, column] = total / weights


@sw.kernel
def paths_pivot(item: NdItem, d, first, own):
    """Shortest paths by blocks (Floyd and Warshall): within the block on the diagonal."""
    i, j = item.get_local_id()
    group = item.get_group()
    own[i, j] = d[first + i, first + j]
    for k in range(SIDE):
        group_barrier(group)
        way = own[i, k] + own[k, j]
        group_barrier(group)
        own[i, j] = min(own[i, j], way)
    d[first + i, first + j] = own[i, j]


@sw.kernel
def paths_cross(item: NdItem, d, first, pivot, own):
    """Then in the blocks of its row (groups 0, …) and of its column (groups 1, …)."""
    i, j = item.get_local_id()
    group = item.get_group()
    which, block = group.get_group_id(0), group.get_group_id(1) * SIDE
    row = first + i if which == 0 else block + i
    column = block + j if which == 0 else first + j
    own[i, j] = d[row, column]
    pivot[i, j] = d[first + i, first + j]
    for k in range(SIDE):
        group_barrier(group)
        way = pivot[i, k] + own[k, j] if which == 0 else own[i, k] + pivot[k, j]
        group_barrier(group)
        own[i, j] = min(own[i, j], way)
    if block != first:
        d[row, column] = own[i, j]


@sw.kernel
def paths_rest(item: NdItem, d, first, up, left):
    """Then in all others."""
    (row, column), (i, j) = item.get_global_id(), item.get_local_id()
    group = item.get_group()
    up[i, j] = d[first + i, column]
    left[i, j] = d[row, first + j]
    group_barrier(group)
    best = d[row, column]
    for k in range(SIDE):
        best = min(best, left[i, k] + up[k, j])
    if group.get_group_id(0) * SIDE != first and group.get_group_id(1) * SIDE != first:
        d[row, column] = best


@sw.kernel
def lu(item: NdItem, a, out, tile):
    """Each group's block of 16 rows as a product of two triangular ones, without exchanging rows."""
    row, (i, j) = item.get_global_id(0), item.get_local_id()
    group = item.get_group()
    tile[i, j] = a[row, j]
    for k in range(SIDE - 1):
        group_barrier(group)
        if i > k and j == k:
            tile[i, k] /= tile[k, k]
        group_barrier(group)
        if i > k and j > k:
            tile[i, j] -= tile[i, k] * tile[k, j]
    group_barrier(group)
    out[row, j] = tile[i, j]


SIZES = {"transpose": 4096, "blur": 2048, "spmv": 1 << 18, "bilateral": 1024, "paths": 512, "lu": 8192}


def given(name, size, rng):
    """The arrays of a program, as NumPy's."""
    match name:
        case "transpose":
            return [rng.random((size, size), dtype=np.float32), np.zeros((size, size), dtype=np.float32)]
        case "blur":
            return [rng.random((size, size), dtype=np.float32), *np.zeros((2, size, size), dtype=np.float32)]
        case "spmv":
            starts = np.concatenate([[0], np.cumsum(rng.integers(0, 33, size))]).astype(np.int64)
            columns = rng.integers(0, size, starts[-1]).astype(np.int32)
            return [starts, columns, rng.random(starts[-1]), rng.random(size), np.zeros(size)]
        case "bilateral":
            return [rng.random((size, size), dtype=np.float32), np.zeros((size, size), dtype=np.float32)]
        case "paths":
            d = np.where(rng.random((size, size)) < 0.1, rng.random((size, size)) * 100, 1e6)
            np.fill_diagonal(d, 0)
            return [d.astype(np.float32)]
        case "lu":
            return [rng.random((size * SIDE, SIDE)) + 8 * np.tile(np.eye(SIDE), (size, 1)), np.zeros((size * SIDE, SIDE))]


def launch(name, size, arrays):
    """Runs a program by our kernels; the event of its last launch."""
    go = lambda kernel, range_, *args: call_kernel_async(kernel, range_, (), *args)[0]  # noqa: E731
    tile = lambda dtype: LocalAccessor((SIDE, SIDE), dtype)  # noqa: E731
    match name:
        case "transpose":
            return go(transpose, NdRange((size, size), (SIDE, SIDE)), *arrays, tile("float32"))
        case "blur":
            image, between, out = arrays
            go(blur_rows, Range(size, size), image, between)
            return go(blur_columns, Range(size, size), between, out)
        case "spmv":
            return go(spmv, Range(size), *arrays)
        case "bilateral":
            return go(bilateral, Range(size, size), *arrays, np.float32(0.1), np.float32(8.0))
        case "paths":
            (d,) = arrays
            for first in range(0, size, SIDE):
                go(paths_pivot, NdRange((SIDE, SIDE), (SIDE, SIDE)), d, first, tile("float32"))
                go(paths_cross, NdRange((2 * SIDE, size), (SIDE, SIDE)), d, first, tile("float32"), tile("float32"))
                event = go(paths_rest, NdRange((size, size), (SIDE, SIDE)), d, first, tile("float32"), tile("float32"))
            return event
        case "lu":
            return go(lu, NdRange((size * SIDE, SIDE), (SIDE, SIDE)), *arrays, tile("float64"))


def numba_programs():
    """The same by Numba."""
    from numba import njit, prange

    jit = njit(parallel=True, fastmath=False)
    weights, radius, window, side = WEIGHTS, RADIUS, WINDOW, SIDE

    @jit
    def transpose(a, out):
        for block in prange(-(-a.shape[0] // side)):
            for left in range(0, a.shape[1], side):
                for i in range(block * side, min((block + 1) * side, a.shape[0])):
                    for j in range(left, min(left + side, a.shape[1])):
                        out[j, i] = a[i, j]

    @jit
    def blur(image, between, out):
        rows, columns = image.shape
        for i in prange(rows):
            for j in range(columns):
                total = np.float32(0)
                for k in range(2 * radius + 1):
                    total += weights[k] * image[i, min(max(j + k - radius, 0), columns - 1)]
                between[i, j] = total
        for i in prange(rows):
            for j in range(columns):
                total = np.float32(0)
                for k in range(2 * radius + 1):
                    total += weights[k] * between[min(max(i + k - radius, 0), rows - 1), j]
                out[i, j] = total

    @jit
    def spmv(starts, columns, values, x, y):
        for i in prange(y.size):
            total = 0.0
            for k in range(starts[i], starts[i + 1]):
                total += values[k] * x[columns[k]]
            y[i] = total

    @jit
    def bilateral(image, out, near, like):
        rows, columns = image.shape
        for i in prange(rows):
            for j in range(columns):
                total, weights_ = np.float32(0), np.float32(0)
                for y in range(-window, window + 1):
                    for x in range(-window, window + 1):
                        value = image[min(max(i + y, 0), rows - 1), min(max(j + x, 0), columns - 1)]
                        apart = value - image[i, j]
                        weight = np.exp(-near * np.float32(y * y + x * x) - like * apart * apart)
                        total += weight * value
                        weights_ += weight
                out[i, j] = total / weights_

    @jit
    def paths(d):
        n = d.shape[0]
        for k in range(n):
            for i in prange(n):
                for j in range(n):
                    d[i, j] = min(d[i, j], d[i, k] + d[k, j])

    @jit
    def lu(a, out):
        for block in prange(a.shape[0] // side):
            m = out[block * side : (block + 1) * side]
            m[:] = a[block * side : (block + 1) * side]
            for k in range(side - 1):
                for i in range(k + 1, side):
                    m[i, k] /= m[k, k]
                    for j in range(k + 1, side):
                        m[i, j] -= m[i, k] * m[k, j]

    return {
        "transpose": lambda size, *a: transpose(*a),
        "blur": lambda size, *a: blur(*a),
        "spmv": lambda size, *a: spmv(*a),
        "bilateral": lambda size, *a: bilateral(*a, np.float32(0.1), np.float32(8.0)),
        "paths": lambda size, *a: paths(*a),
        "lu": lambda size, *a: lu(*a),
    }
