"""The programs of the benchmark as NumPy's users write them; what they compute, `suite/programs.rs` says."""

CLUSTERS, ROUNDS = 8, 5
STEPS, RATE = 10, 0.1
WINDOW, BINS = 16, 64
DESCENTS, LEARNING = 10, 0.5


def kmeans(xp, points):
    centres = points[:CLUSTERS].copy()
    for _ in range(ROUNDS):
        distances = xp.sum(centres**2, axis=1) * 0.5 - points @ centres.T
        nearest = xp.argmin(distances, axis=1)
        for cluster in range(CLUSTERS):
            centres[cluster] = xp.mean(points[nearest == cluster], axis=0)
    return centres


def heat(xp, start):
    now = start.copy()
    for _ in range(STEPS):
        centre = now[1:-1, 1:-1]
        centre += ((now[:-2, 1:-1] + now[2:, 1:-1]) + (now[1:-1, :-2] + now[1:-1, 2:]) - centre * 4) * RATE
    return now


def sobel(xp, picture):
    rows, columns = picture.shape

    def at(row, column):
        return picture[row : rows - 2 + row, column : columns - 2 + column]

    across = (at(0, 2) + at(1, 2) * 2 + at(2, 2)) - (at(0, 0) + at(1, 0) * 2 + at(2, 0))
    along = (at(2, 0) + at(2, 1) * 2 + at(2, 2)) - (at(0, 0) + at(0, 1) * 2 + at(0, 2))
    return xp.sqrt(across**2 + along**2)


def pairwise(xp, points):
    apart = points[:, None] - points[None]
    return xp.sqrt(xp.sum(apart**2, axis=-1))


def pi(xp, rng, count):
    across, along = rng.random(count), rng.random(count)
    return xp.mean(across**2 + along**2 <= 1) * 4


def series(xp, values):
    sums = xp.concatenate(([0.0], xp.cumsum(values)))
    return xp.histogram((sums[WINDOW:] - sums[:-WINDOW]) / WINDOW, BINS)[0]


def logistic(xp, points, values):
    truth = (values[: len(points)] > 1).astype(points.dtype)
    weights = xp.zeros(points.shape[1], points.dtype)
    for _ in range(DESCENTS):
        wrong = 1 / (1 + xp.exp(-(points @ weights))) - truth
        weights -= wrong @ points * (LEARNING / len(points))
    return weights
