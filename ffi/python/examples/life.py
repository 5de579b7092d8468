"""Conway's game of life, from five cells: python life.py PICTURE.png

The R-pentomino lives for 1103 generations before it comes to rest. A cell is the brighter the shorter ago it lived.
"""

import sys

import stridewise as sw


def generation(cells):
    """The next generation: three neighbours give life, two let live. The world ends where the array does."""
    around = sw.pad(cells, 1)
    rows = around[:-2] + around[1:-1] + around[2:]
    neighbours = rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:] - cells
    return sw.astype((neighbours == 3) | ((neighbours == 2) & (cells == 1)), "uint8")


def live(cells, generations):
    """The cells after so many generations, and how many generations ago each lived (as float32, 0 for now)."""
    ago = sw.where(cells == 1, 0, sw.full(cells.shape, float("inf"), dtype="float32"))
    for _ in range(generations):
        cells = generation(cells)
        ago = sw.where(cells == 1, 0, ago + 1)
    return cells, ago


def pentomino(rows, columns):
    cells = sw.zeros((rows, columns), dtype="uint8")
    r, c = rows // 2, columns // 2
    cells[r - 1 : r + 2, c] = cells[r - 1, c + 1] = cells[r, c - 1] = 1
    return cells


def picture(path, rows=135, columns=180, generations=1103):
    from matplotlib.image import imsave

    _, ago = live(pentomino(rows, columns), generations)
    imsave(path, sw.asnumpy(sw.repeat(sw.repeat(0.998**ago + (ago == 0), 3, axis=0), 3, axis=1)), cmap="bone")


if __name__ == "__main__":
    picture(sys.argv[1])
