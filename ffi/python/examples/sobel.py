"""The edges of a picture, by Sobel's operator: python sobel.py PICTURE.png [HEIGHTS.npy]

The picture is the hillshade of an elevation model: left as it is, right its edges.
"""

import sys

from hillshade import CELL, MODEL, heights_of, hillshade

import stridewise as sw


def sobel(image):
    """How steep the image is at each point: the length of its gradient, smoothed across the direction."""
    z = sw.pad(image, 1, mode="edge")
    across = (z[:-2, 2:] + 2 * z[1:-1, 2:] + z[2:, 2:]) - (z[:-2, :-2] + 2 * z[1:-1, :-2] + z[2:, :-2])
    down = (z[2:, :-2] + 2 * z[2:, 1:-1] + z[2:, 2:]) - (z[:-2, :-2] + 2 * z[:-2, 1:-1] + z[:-2, 2:])
    return sw.hypot(across, down)


def picture(path, heights=MODEL, part=240):
    from matplotlib.image import imsave

    shade = hillshade(heights_of(heights), *CELL)[:part, :part]
    edges = sobel(shade)
    both = sw.concat([shade / 255, 1 - sw.clip(edges / 400, 0, 1)], axis=1)
    imsave(path, sw.asnumpy(both), cmap="gray")


if __name__ == "__main__":
    picture(*sys.argv[1:3])
