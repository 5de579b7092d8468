"""What a call costs: small arrays against NumPy's in the same run, and the fused chain on large ones.

Run with the environment of `cargo xtask python`: target/python/bin/python ffi/python/benches/calls.py
"""

import math
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


def alone(name, call, unit=1e6, what="µs", **options):
    print(f"{name:32} {best(call, **options) * unit:9.2f} {what}")


def kernels():
    from stridewise import dppy
    from stridewise.kernel_api import Range, call_kernel

    nothing = sw.kernel("def nothing(item, a): pass")
    one = sw.kernel("def one(item, a, x): a[item.get_id(0)] = x")
    numpys = dppy.kernel("def numpys(a): a[dppy.get_global_id(0)] += 1")
    a, x, r = sw.zeros(10, device="host"), np.zeros(10), Range(10)
    alone("kernel that does nothing", lambda: call_kernel(nothing, r, a))
    alone("kernel over no items", lambda: call_kernel(nothing, Range(0), a))
    alone("kernel of one statement, 10 items", lambda: call_kernel(one, r, a, 2.5))
    alone("dppy kernel, NumPy array of 10", lambda: numpys[10, dppy.DEFAULT_LOCAL_SIZE](x))
    text = open(__file__).read().split("# The first call of this kernel is measured.\n")[1].split("# That is it.")[0]
    c = sw.zeros((16, 16), dtype="float32", device="host")

    def first():
        product = sw.kernel(text)
        call_kernel(product, Range(16, 16), c, c, c, 1)

    alone("first call of a kernel of 20 lines", first, 1e3, "ms")


# The first call of this kernel is measured.
def product(item, a, b, c, rounds):
    i, j = item.get_id()
    (m, n), inner = c.shape, a.shape[1]
    total = 0.0
    least, most = 1e30, -1e30
    for k in range(inner):
        x = a[i, k] * b[k, j]
        if x < least:
            least = x
        elif x > most:
            most = x
        total += x
    count = 0
    while count < rounds and total > 1:
        total = total / 2 if total > 100 else total - 1
        count += 1
        if count % 7 == 6:
            continue
        total -= math.sqrt(abs(total)) * 0.125
    if i < m and j < n:
        c[i, j] = total + count + (most if most > least else 0)
# That is it.


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
    kernels()
    large()
