"""The hillshade of an elevation model, as a grey picture: python hillshade.py HEIGHTS.npy PICTURE.pgm [DEVICE]"""

import math
import pathlib
import sys

import numpy as np
import stridewise as sw

#: An elevation model around Jacksboro, Tennessee, and the extents of its cells in metres.
MODEL = pathlib.Path(__file__).resolve().parents[3] / "examples" / "data" / "jacksboro_dem.npy"
CELL = (74.5, 92.8)


def hillshade(z, cell_x, cell_y, azimuth=315.0, altitude=45.0):
    """Brightness from 0 to 255 (Horn 1981); heights and cells in metres, angles in degrees, rows from north to south."""
    z = sw.concat([z[:1], z, z[-1:]])
    z = sw.concat([z[:, :1], z, z[:, -1:]], axis=1)
    a, b, c = z[:-2, :-2], z[:-2, 1:-1], z[:-2, 2:]
    d, f = z[1:-1, :-2], z[1:-1, 2:]
    g, h, i = z[2:, :-2], z[2:, 1:-1], z[2:, 2:]
    dzdx = ((c + f * 2 + i) - (a + d * 2 + g)) / (8 * cell_x)
    dzdy = ((g + h * 2 + i) - (a + b * 2 + c)) / (8 * cell_y)
    slope = sw.atan(sw.sqrt(dzdx * dzdx + dzdy * dzdy))
    aspect = sw.atan2(dzdy, -dzdx)
    zenith, toward = math.radians(90 - altitude), math.radians(360 - azimuth + 90)
    shade = sw.cos(slope) * math.cos(zenith) + sw.sin(slope) * math.sin(zenith) * sw.cos(toward - aspect)
    return sw.clip(shade, 0, 1) * 255


def heights_of(path=MODEL, device=None):
    return sw.asarray(np.load(path).astype("float32"), device=device)


def picture(path, heights=MODEL):
    """Heights and their shade side by side, of the northern part."""
    import matplotlib
    from matplotlib.image import imsave

    heights = heights_of(heights)[:260]
    high = (heights - sw.min(heights)) / (sw.max(heights) - sw.min(heights))
    shade = sw.asnumpy(hillshade(heights, *CELL) / 255)
    coloured = matplotlib.colormaps["gist_earth"](sw.asnumpy(0.3 + 0.7 * high))[..., :3]
    imsave(path, np.concatenate([coloured, np.repeat(shade[..., None], 3, axis=2)], axis=1))


if __name__ == "__main__":
    pixels = sw.astype(hillshade(heights_of(sys.argv[1], *sys.argv[3:4]), *CELL) + 0.5, sw.uint8)
    with open(sys.argv[2], "wb") as file:
        file.write(b"P5 %d %d 255\n" % pixels.shape[::-1] + sw.to_numpy(pixels).tobytes())
