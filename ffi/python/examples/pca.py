"""Principal components: the plane in which data of many dimensions differs most: python pca.py PICTURE.png"""

import sys

import stridewise as sw


def samples(count=600, dimensions=8):
    """Three groups in many dimensions, which differ in few; and the group of each sample."""
    rng = sw.random.default_rng(8)
    group = rng.integers(0, 3, count)
    centres = rng.normal(0, 2.5, (3, dimensions))
    return centres[group] + rng.normal(0, 1, (count, dimensions)), group


def pca(data, components):
    """The samples seen along the components, and the share of the variance that each component has."""
    centred = data - sw.mean(data, axis=0)
    _, values, directions = sw.linalg.svd(centred, full_matrices=False)
    shares = values**2 / sw.sum(values**2)
    return centred @ directions[:components].T, shares


def picture(path, count=600):
    import matplotlib.pyplot as plt

    data, group = samples(count)
    seen, shares = pca(data, 2)
    figure, (left, right) = plt.subplots(1, 2, figsize=(4.8, 3.6), width_ratios=(3, 1), layout="constrained")
    left.scatter(*sw.asnumpy(seen).T, s=5, c=sw.asnumpy(group), cmap="brg", alpha=0.6, linewidths=0)
    left.set(xlabel="first component", ylabel="second component")
    right.bar(range(1, len(shares) + 1), sw.asnumpy(shares) * 100)
    right.set(xticks=range(1, len(shares) + 1), xlabel="component", ylabel="% of the variance")
    figure.savefig(path, dpi=100)
    plt.close(figure)


if __name__ == "__main__":
    picture(sys.argv[1])
