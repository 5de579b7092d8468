"""The hillshade of a terrain larger than memory: block by block through Dask, on several processes.

    python hillshade_dask.py HEIGHTS.npy SHADES.npy [--block 2048] [--workers 2]

HEIGHTS.npy has elements of float32; each worker maps the parts of it that it works on. A block needs one cell of each of its
neighbours, which `map_overlap` hands it. What comes out, in SHADES.npy, is what hillshade.py computes of all at once, to the
last bit. Needs dask and distributed.
"""

import argparse
import time

from hillshade import CELL, MODEL, hillshade

import stridewise as sw
import stridewise.dask


def shaded(heights):
    """The hillshade of a dask array. `hillshade` repeats the edge of what it is given: the terrain's own edge is that of its
    outer blocks, and where blocks meet, what it has made of theirs is trimmed."""
    meta = sw.empty((0, 0), dtype="float32")
    cells = dict(zip(("cell_x", "cell_y"), CELL))
    return heights.map_overlap(hillshade, depth=1, boundary="none", dtype="float32", meta=meta, **cells)


def picture(path, heights=MODEL, block=128):
    """The shade of a terrain, and the blocks that it was computed by."""
    import dask.array as da
    import matplotlib.pyplot as plt
    import numpy as np

    model = np.load(heights).astype("float32")
    # The model and its reflections.
    terrain = np.block([[model, model[:, ::-1]], [model[::-1], model[::-1, ::-1]]])
    shade = shaded(da.from_array(terrain, chunks=block).to_backend("stridewise")).compute()
    figure, axes = plt.subplots(figsize=(4, 4 * terrain.shape[0] / terrain.shape[1]))
    axes.imshow(sw.asnumpy(shade), cmap="gray")
    for edge in range(block, max(terrain.shape), block):
        if edge < terrain.shape[0]:
            axes.axhline(edge - 0.5, color="white", lw=1.5)
        if edge < terrain.shape[1]:
            axes.axvline(edge - 0.5, color="white", lw=1.5)
    axes.set_position((0, 0, 1, 1))
    axes.axis("off")
    figure.savefig(path, dpi=100)
    plt.close(figure)


def main():
    from dask.distributed import Client, LocalCluster, progress

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("heights")
    parser.add_argument("shades")
    parser.add_argument("--block", type=int, default=2048)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    cluster = LocalCluster(n_workers=options.workers, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster):
        heights = stridewise.dask.from_npy(options.heights, chunks=options.block)
        start = time.perf_counter()
        written = stridewise.dask.to_npy(shaded(heights), options.shades, compute=False).persist()
        progress(written, notebook=False)
        written.compute()
        seconds = time.perf_counter() - start
    print(f"\n{heights.size / 1e6:.0f} million cells in {seconds:.2f} s, {heights.size / seconds / 1e6:.0f} million per second")


if __name__ == "__main__":
    main()
