"""Points in clusters, by Lloyd's algorithm: python kmeans.py PICTURE.png

Distances of all points to all centres are one expression, which broadcasts; the new centres are sums by group.
"""

import sys

import stridewise as sw


def points(count=3000, clusters=6):
    """Points around hidden centres."""
    rng = sw.random.default_rng(21)
    hidden = rng.uniform(-4, 4, (clusters, 2))
    return hidden[rng.integers(0, clusters, count)] + rng.normal(0, 0.8, (count, 2))


def nearest(points, centres):
    """Which centre is nearest to each point."""
    away = points[:, None, :] - centres[None, :, :]
    return sw.argmin(sw.sum(away * away, axis=2), axis=1)


def kmeans(points, clusters, rounds=30):
    """The centres, and which of them each point belongs to. Begins with points that are far from each other."""
    chosen = points[:1]
    for _ in range(clusters - 1):
        away = points[:, None, :] - chosen[None, :, :]
        farthest = int(sw.argmax(sw.min(sw.sum(away * away, axis=2), axis=1)))
        chosen = sw.concat([chosen, points[farthest : farthest + 1]])
    centres = chosen
    for _ in range(rounds):
        label = nearest(points, centres)
        sums = sw.zeros_like(centres)
        sw.add_at(sums, label, points)
        centres = sums / sw.maximum(sw.bincount(label, minlength=clusters), 1)[:, None]
    return centres, nearest(points, centres)


def picture(path, count=3000, clusters=6):
    import matplotlib.pyplot as plt

    cloud = points(count, clusters)
    centres, label = kmeans(cloud, clusters)
    figure, axes = plt.subplots(figsize=(4.8, 3.6), layout="constrained")
    axes.scatter(*sw.asnumpy(cloud).T, s=3, c=sw.asnumpy(label), cmap="Dark2", alpha=0.5, linewidths=0)
    axes.scatter(*sw.asnumpy(centres).T, s=90, c="black", marker="x", linewidths=2)
    axes.set(xticks=[], yticks=[])
    figure.savefig(path, dpi=100)
    plt.close(figure)


if __name__ == "__main__":
    picture(sys.argv[1])
