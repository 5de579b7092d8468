"""The Mandelbrot set by a kernel, as a grey picture: python mandelbrot.py PICTURE.pgm [DEVICE]"""

import math
import sys

import stridewise as sw
from stridewise.kernel_api import Range, call_kernel


@sw.kernel
def mandelbrot(item, picture, x_min, y_min, step, most):
    """Each pixel: how soon z² + c leaves the circle of radius 16, smoothed; black where it does not."""
    row, column = item.get_id()
    cx, cy = x_min + column * step, y_min + row * step
    x = y = 0.0
    n = 0
    while n < most and x * x + y * y < 256:
        x, y = x * x - y * y + cx, 2 * x * y + cy
        n += 1
    if n < most:
        smooth = n + 1 - math.log2(math.log(x * x + y * y) / 2)
        picture[row, column] = 255 * math.sqrt(max(smooth, 0) / most)
    else:
        picture[row, column] = 0


def draw(rows, columns, device=None, most=200):
    """The set, centred, with rows for its height."""
    picture = sw.empty((rows, columns), dtype=sw.uint8, device=device)
    step = 2.5 / rows
    call_kernel(mandelbrot, Range(rows, columns), picture, -0.7 - columns / 2 * step, -1.25, step, most)
    return picture


def picture(path, rows=300, columns=400):
    from matplotlib.image import imsave

    imsave(path, sw.asnumpy(draw(rows, columns)), cmap="twilight_shifted")


if __name__ == "__main__":
    picture = draw(600, 800, *sys.argv[2:3])
    with open(sys.argv[1], "wb") as file:
        file.write(b"P5 %d %d 255\n" % picture.shape[::-1] + sw.to_numpy(picture).tobytes())
