"""Heat that spreads in a plate whose edges stay cold: python heat.py PICTURE.png

Slices of an array are its neighbours. Each step is recorded and then runs as one pass over memory; the views see what it writes.
"""

import sys

import stridewise as sw

#: Of the difference to the four neighbours, what flows in one step; at most a quarter.
FLOW = 0.2


def plate(size):
    """A square and a bar that are hot."""
    heat = sw.zeros((size, size), dtype="float32")
    part = size // 16
    heat[6 * part : 10 * part, 2 * part : 6 * part] = 1
    heat[2 * part : 14 * part, 10 * part : 11 * part] = 1
    return heat


def spread(heat, steps):
    """Heat after so many steps, in place."""
    inner = heat[1:-1, 1:-1]
    above, below, left, right = heat[:-2, 1:-1], heat[2:, 1:-1], heat[1:-1, :-2], heat[1:-1, 2:]
    for _ in range(steps):
        inner += FLOW * (above + below + left + right - 4 * inner)


def picture(path, size=256, steps=1000):
    from matplotlib.image import imsave

    heat = plate(size)
    spread(heat, steps)
    imsave(path, sw.asnumpy(heat), cmap="inferno")


if __name__ == "__main__":
    picture(sys.argv[1])
