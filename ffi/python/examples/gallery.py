"""Draws the pictures of all examples, small enough for a page: python gallery.py FOLDER [NAME ...]"""

import importlib
import os
import pathlib
import sys
import tempfile

import matplotlib

NAMES = [
    "hillshade", "n_body", "mandelbrot", "kmeans", "heat", "life", "sobel", "spectrogram", "hillshade_dask", "local_memory",
    "random_walks", "pca",
]  # fmt: skip
#: Bytes that a picture has at most.
MOST = 60_000


def draw(name, path):
    """Draws the picture of an example in at most 256 colours, which few pictures have more of, and so many fewer that it is small."""
    from PIL import Image

    with tempfile.TemporaryDirectory() as folder:
        plain = os.path.join(folder, "plain.png")
        importlib.import_module(name).picture(plain)
        image = Image.open(plain).convert("RGB")
    for colours in (256, 128, 64, 32, 16):
        image.quantize(colours, dither=Image.Dither.NONE).save(path, optimize=True)
        if os.path.getsize(path) < MOST:
            return
    raise ValueError(f"the picture of {name} has {os.path.getsize(path)} bytes; expected fewer than {MOST}; help: draw a smaller one")


if __name__ == "__main__":
    matplotlib.use("Agg")
    folder = pathlib.Path(sys.argv[1])
    for name in sys.argv[2:] or NAMES:
        draw(name, folder / f"{name}.png")
        print(name, os.path.getsize(folder / f"{name}.png"))
