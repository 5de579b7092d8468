"""The hillshade of an elevation model, as a grey picture: python hillshade.py HEIGHTS.npy PICTURE.pgm [DEVICE]"""

import math
import sys

import numpy as np
import stridewise as sw


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


if __name__ == "__main__":
    heights = sw.asarray(np.load(sys.argv[1]).astype("float32"), device=(sys.argv[3:] or [None])[0])
    pixels = sw.astype(hillshade(heights, 74.5, 92.8) + 0.5, sw.uint8)
    with open(sys.argv[2], "wb") as file:
        file.write(b"P5 %d %d 255\n" % pixels.shape[::-1] + sw.to_numpy(pixels).tobytes())
