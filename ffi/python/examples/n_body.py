"""Two discs of stars that fall into each other: python n_body.py PICTURE.png

Each item of the kernel is a star, which adds up the pull of all others. The other steps are expressions of arrays, which the engine makes one pass of.
"""

import sys

import stridewise as sw
from stridewise.kernel_api import Range, call_kernel

#: Keeps stars that meet from being flung away.
SOFTENING = 0.02


@sw.kernel
def pull(item, place, mass, force):
    """The acceleration of a star by all stars: the sum of m·d/|d|³."""
    i = item.get_id(0)
    x, y = place[0, i], place[1, i]
    ax = ay = mass[i] * 0
    for j in range(len(mass)):
        dx, dy = place[0, j] - x, place[1, j] - y
        square = dx * dx + dy * dy + SOFTENING
        strength = mass[j] / (square * square**0.5)
        ax += dx * strength
        ay += dy * strength
    force[0, i], force[1, i] = ax, ay


def disc(rng, stars, centre, drift, turn):
    """Stars that circle a heavy one: places, velocities and masses."""
    radius = sw.sqrt(rng.uniform(0.02, 1, stars, dtype="float32"))
    angle = rng.uniform(0, 6.2831853, stars, dtype="float32")
    way = sw.stack([sw.cos(angle), sw.sin(angle)])
    speed = turn * radius * (radius * radius + SOFTENING) ** -0.75
    velocity = sw.stack([-way[1] * speed, way[0] * speed])
    mass = sw.full(stars, 0.1 / stars, dtype="float32")
    place = way * radius
    place[:, 0], velocity[:, 0], mass[0] = 0, 0, 1
    move = sw.asarray([centre, drift], dtype="float32")
    return place + move[0][:, None], velocity + move[1][:, None], mass


def simulate(stars=2000, steps=300, step=0.01):
    """Where the stars are in the end: an array of two rows."""
    rng = sw.random.default_rng(3)
    one, two = disc(rng, stars, (-1.3, -0.35), (0.45, 0.0), 1), disc(rng, stars, (1.3, 0.35), (-0.45, 0.0), 1)
    place, velocity = sw.concat([one[0], two[0]], axis=1), sw.concat([one[1], two[1]], axis=1)
    mass, force = sw.concat([one[2], two[2]]), sw.empty_like(place)
    for _ in range(steps):
        call_kernel(pull, Range(2 * stars), place, mass, force)
        velocity += step * force
        place += step * velocity
    return place


def picture(path, **sizes):
    import matplotlib.pyplot as plt

    x, y = sw.asnumpy(simulate(**sizes))
    figure, axes = plt.subplots(figsize=(4.8, 3.6), facecolor="black")
    half = len(x) // 2
    for part, colour in ((slice(half), "#ffb65c"), (slice(half, None), "#6cb8ff")):
        axes.scatter(x[part], y[part], s=1.6, c=colour, alpha=0.7, linewidths=0)
    axes.set(xlim=(-2.6, 2.6), ylim=(-1.95, 1.95), position=(0, 0, 1, 1))
    axes.axis("off")
    figure.savefig(path, dpi=100)
    plt.close(figure)


if __name__ == "__main__":
    picture(sys.argv[1])
