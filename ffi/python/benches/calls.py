"""What a call costs: small arrays against NumPy's in the same run, and the fused chain on large ones.

Run with the environment of `cargo xtask python`: target/python/bin/python ffi/python/benches/calls.py
"""

import timeit

import numpy as np

import stridewise as sw


def best(call, seconds=0.2):
    """The least seconds of a call, over repetitions of `seconds`."""
    timer = timeit.Timer(call)
    number = max(1, int(seconds / max(timer.timeit(1), 1e-8)))
    number = min(number, 200_000)
    return min(timer.repeat(5, number)) / number


def row(name, ours, theirs, unit=1e9, what="ns"):
    a, b = best(ours), best(theirs)
    print(f"{name:32} {a * unit:9.1f} {what}   NumPy {b * unit:9.1f} {what}   ratio {a / b:5.2f}")


def small():
    x, y, z = (np.arange(10.0) for _ in range(3))
    a, b, c = (sw.arange(10.0, device="host") for _ in range(3))
    for array in (a, b, c):
        array.wait()
    row("add(x, y, out=z), 10 elements", lambda: sw.add(a, b, out=c), lambda: np.add(x, y, out=z))
    row("add(x, y)", lambda: sw.add(a, b), lambda: np.add(x, y))
    row("x + y", lambda: a + b, lambda: x + y)
    row("x + 1", lambda: a + 1, lambda: x + 1)
    row("x += 1", lambda: a.__iadd__(1), lambda: x.__iadd__(1))
    row("sqrt(x, out=z)", lambda: sw.sqrt(a, out=c), lambda: np.sqrt(x, out=z))
    row("x[2:5]", lambda: a[2:5], lambda: x[2:5])
    row("x[3]", lambda: a[3], lambda: x[3])
    row("float(x[3])", lambda: float(a[3]), lambda: float(x[3]))
    row("x[3] = 1.0", lambda: a.__setitem__(3, 1.0), lambda: x.__setitem__(3, 1.0))
    row("x.shape", lambda: a.shape, lambda: x.shape)
    row("zeros(10)", lambda: sw.zeros(10), lambda: np.zeros(10))
    row("empty(10)", lambda: sw.empty(10), lambda: np.empty(10))


def large():
    count = 1 << 24
    x, y = np.linspace(0, 1, count, dtype="f4"), np.linspace(1, 2, count, dtype="f4")
    a, b = (sw.asarray(0.5, dtype="f4", device="host") + sw.linspace(0, 1, count, dtype="f4", device="host") for _ in range(2))
    c = sw.empty(count, dtype="f4", device="host")
    for array in (a, b):
        array.wait()

    def chain():
        c[...] = sw.sqrt(a * a + b * b + 1.0) * 0.5
        c.wait()

    z = np.empty(count, dtype="f4")

    def numpy_chain():
        z[...] = np.sqrt(x * x + y * y + np.float32(1.0)) * np.float32(0.5)

    def one():
        sw.add(a, b, out=c)
        c.wait()

    row("sqrt(x*x + y*y + 1) * 0.5", chain, numpy_chain, 1e3, "ms")
    row("add(x, y, out=z), 2^24 float32", one, lambda: np.add(x, y, out=z), 1e3, "ms")


if __name__ == "__main__":
    small()
    large()
