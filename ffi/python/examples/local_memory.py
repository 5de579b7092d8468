"""Patterns of two substances that react and spread (Gray and Scott), by tiles in local memory: python local_memory.py PICTURE.png

A group brings its tile, with a halo of the neighbours' cells, into memory that its items share, meets at a barrier, and computes
from there: each cell of the array is read once by a group instead of five times.
"""

import sys

import stridewise as sw
from stridewise.kernel_api import LocalAccessor, NdRange, call_kernel, group_barrier

#: Items of a group along each axis.
SIDE = 16
FEED, KILL = 0.037, 0.06


@sw.kernel
def react(item, now, then, tile):
    """A step of all cells. `now` and `then` have two layers, one a substance, and their edges meet."""
    row, column = item.get_global_id()
    i, j = item.get_local_id()
    rows, columns = now.shape[1], now.shape[2]
    top, left = row - i - 1 + rows, column - j - 1 + columns
    for y in range(i, SIDE + 2, SIDE):
        for x in range(j, SIDE + 2, SIDE):
            for layer in range(2):
                tile[layer, y, x] = now[layer, (top + y) % rows, (left + x) % columns]
    group_barrier(item.get_group())
    a, b = tile[0, i + 1, j + 1], tile[1, i + 1, j + 1]
    near_a = tile[0, i, j + 1] + tile[0, i + 2, j + 1] + tile[0, i + 1, j] + tile[0, i + 1, j + 2] - 4 * a
    near_b = tile[1, i, j + 1] + tile[1, i + 2, j + 1] + tile[1, i + 1, j] + tile[1, i + 1, j + 2] - 4 * b
    then[0, row, column] = a + 0.2 * near_a - a * b * b + FEED * (1 - a)
    then[1, row, column] = b + 0.1 * near_b + a * b * b - (FEED + KILL) * b


def start(size):
    """One substance everywhere, and drops of the other."""
    cells = sw.stack([sw.ones((size, size), dtype="float32"), sw.zeros((size, size), dtype="float32")])
    for row, column in sw.random.default_rng(5).integers(0, size - 8, (12, 2)).tolist():
        cells[0, row : row + 8, column : column + 8] = 0.5
        cells[1, row : row + 8, column : column + 8] = 0.25
    return cells


def grow(cells, steps):
    """The cells after so many steps. Their extents are multiples of SIDE."""
    now, then = cells, sw.empty_like(cells)
    tile = LocalAccessor((2, SIDE + 2, SIDE + 2), cells.dtype)
    for _ in range(steps):
        call_kernel(react, NdRange(now.shape[1:], (SIDE, SIDE)), now, then, tile)
        now, then = then, now
    return now


def picture(path, size=128, steps=3000):
    from matplotlib.image import imsave

    cells = grow(start(size), steps)
    imsave(path, sw.asnumpy(sw.repeat(sw.repeat(cells[1], 3, axis=0), 3, axis=1)), cmap="viridis")


if __name__ == "__main__":
    picture(sys.argv[1])
