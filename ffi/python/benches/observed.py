"""What a profile costs: programs with and without one, in turns in one run.

Run with the environment of `cargo xtask python`: target/python/bin/python ffi/python/benches/observed.py [device]
"""

import statistics
import sys
import time

import numpy as np

import stridewise as sw

ROUNDS = 15


def black_scholes(device, n=1 << 20):
    price, strike, years = (sw.asarray(np.random.default_rng(i).random(n) * 100 + 20, device=device) for i in range(3))

    def run():
        spread = 0.3 * sw.sqrt(years)
        d1 = (sw.log(price / strike) + 0.075 * years) / spread
        d2 = d1 - spread
        return price * sw.special.ndtr(d1) - strike * sw.exp(-0.03 * years) * sw.special.ndtr(d2)

    return run


def heat(device, n=256, steps=100):
    start = sw.asarray(np.random.default_rng(0).random((n, n), dtype="float32"), device=device)

    def run():
        u = sw.asarray(start, copy=True)
        for _ in range(steps):
            inner = u[1:-1, 1:-1]
            u[1:-1, 1:-1] = inner + 0.2 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * inner)
        return u

    return run


def logistic(device, n=20_000, columns=50, steps=20):
    rng = np.random.default_rng(0)
    a = sw.asarray(rng.random((n, columns), dtype="float32") - 0.5, device=device)
    y = sw.asarray((rng.random((n, 1)) > 0.5).astype("float32"), device=device)
    start = sw.zeros((columns, 1), dtype="float32", device=device)

    def run():
        w = start
        for _ in range(steps):
            w = w - 0.1 / n * (a.T @ (1 / (1 + sw.exp(-(a @ w))) - y))
        return w

    return run


def groups(device, n=1 << 18):
    keys = sw.asarray(np.random.default_rng(0).integers(0, 1000, n), device=device)
    values = sw.asarray(np.random.default_rng(1).random(n), device=device)

    def run():
        order = sw.argsort(keys)
        return sw.cumulative_sum(values[order]) + sw.asarray(keys[order], dtype="float64")

    return run


def small(device, calls=2000):
    x = sw.asarray(np.arange(16.0), device=device)

    def run():
        y = x
        for _ in range(calls):
            y = y + 1.0
        return y

    return run


def seconds(run):
    begin = time.perf_counter()
    run().wait()
    return time.perf_counter() - begin


def observed(run):
    with sw.profile():
        return seconds(run)


def main(device):
    print(f"{'program':16} {'alone':>10} {'observed':>10} {'ratio':>7}  medians of {ROUNDS}, of their ratios in turns")
    for program in (black_scholes, heat, logistic, groups, small):
        run = program(device)
        seconds(run), observed(run)
        pairs = [(seconds(run), observed(run)) for _ in range(ROUNDS)]
        alone, seen = (statistics.median(column) for column in zip(*pairs))
        ratio = statistics.median(b / a for a, b in pairs)
        print(f"{program.__name__:16} {alone * 1e3:7.2f} ms {seen * 1e3:7.2f} ms {ratio:7.3f}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "host")
