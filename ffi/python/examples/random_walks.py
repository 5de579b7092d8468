"""Walks whose steps are chance, and how far they get: python random_walks.py PICTURE.png

After t steps two thirds of the walks are within √t, whatever happened on the way.
"""

import sys

import stridewise as sw


def walks(count=300, steps=1000, seed=4):
    """A row for each walk, which begins at 0."""
    step = 2 * sw.random.default_rng(seed).integers(0, 2, (count, steps)) - 1
    return sw.cumulative_sum(step, axis=1, include_initial=True)


def picture(path, count=300, steps=1000):
    import matplotlib.pyplot as plt

    paths = walks(count, steps)
    t = sw.arange(steps + 1)
    figure, axes = plt.subplots(figsize=(4.8, 3.6), layout="constrained")
    axes.plot(sw.asnumpy(t[::4]), sw.asnumpy(paths[:60, ::4]).T, lw=0.5, alpha=0.35, color="tab:blue")
    axes.plot(sw.asnumpy(t), sw.asnumpy(sw.std(paths, axis=0)), color="tab:red", lw=2, label="standard deviation")
    axes.plot(sw.asnumpy(t), sw.asnumpy(sw.sqrt(t)), color="black", ls="--", label="√t")
    axes.set(xlabel="steps", ylabel="distance")
    axes.legend(loc="upper left")
    figure.savefig(path, dpi=100)
    plt.close(figure)


if __name__ == "__main__":
    picture(sys.argv[1])
