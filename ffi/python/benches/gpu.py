"""Families of work on an NVIDIA GPU beside PyTorch and CuPy, in one run.

    python ffi/python/benches/gpu.py [DEVICES] [NAME …]

with stridewise and the peers that are to be measured installed; DEVICES, with commas between, are `cuda:gpu:0,opencl:gpu:0` unless
they are said, those of them that there are; NAMEs are beginnings of rows' names. Each row is the median of interleaved rounds in
wall-clock time, arrays ready on the device, each call waited for; one that is not measured goes before those of a round, as the GPU
takes 150 µs to turn from one runtime to another. The ratio is the best peer's time over that of our first device: above 1 we are
ahead. A row of many calls has the time of one of them.
"""

import statistics
import sys
import time

import numpy as np
import stridewise as sw

ROUNDS = 12
CALLS = 4
SECONDS = 2
RNG = np.random.default_rng(45)


def waited(result):
    """A result of ours, once it is there."""
    for array in result if isinstance(result, tuple) else (result,):
        array.wait()
    return result


class Brain:
    """An array that is to be of bfloat16, which NumPy has not."""

    def __init__(self, array):
        self.array = array


def placed(array, device):
    """An array of ours on a device."""
    if isinstance(array, Brain):
        return sw.astype(placed(array.array, device), sw.bfloat16)
    return sw.asarray(array, device=device, copy=True)


class Torch:
    def __init__(self):
        import torch

        self.module, self.name = torch, f"PyTorch {torch.__version__}"
        torch.backends.cuda.matmul.allow_tf32 = False

    def array(self, x):
        if isinstance(x, Brain):
            return self.array(x.array).bfloat16()
        return self.module.asarray(x, device="cuda")

    def wait(self):
        self.module.cuda.synchronize()


class CuPy:
    def __init__(self):
        import cupy

        self.module, self.name = cupy, f"CuPy {cupy.__version__}"

    def array(self, x):
        return self.module.asarray(x)

    def wait(self):
        self.module.cuda.Device().synchronize()


def peers():
    for peer in (Torch, CuPy):
        try:
            yield peer()
        except ImportError as missing:
            print(f"no peer: {missing}")


def normal(*shape, dtype="float32"):
    return RNG.standard_normal(shape, dtype="float32").astype(dtype)


def softmax(x):
    e = sw.exp(x - sw.max(x, axis=1, keepdims=True))
    return e / sw.sum(e, axis=1, keepdims=True)


def cupy_softmax(cp, x):
    e = cp.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def torch_masked(torch, x, mask, values):
    x[mask] = values


def ours_masked(x, mask, values):
    x[mask] = values
    return x


def streams(n):
    """Rows of many small calls: names, how many, what is called with (x, y, out)."""

    def ours(x, y, z):
        for _ in range(n):
            sw.add(x, y, out=z)
        return z

    def torch(torch, x, y, z):
        for _ in range(n):
            torch.add(x, y, out=z)

    def cupy(cp, x, y, z):
        for _ in range(n):
            cp.add(x, y, out=z)

    return ours, torch, cupy


def rows():
    """By name: arrays of NumPy's; ours, PyTorch's and CuPy's function of them (`None`: it has none); calls in one."""
    for log in (24, 26):
        x, y = normal(1 << log), normal(1 << log)
        yield f"add 2^{log}", (x, y), (sw.add, lambda t, x, y: t.add(x, y), lambda c, x, y: c.add(x, y))
        yield f"sum 2^{log}", (x,), (sw.sum, lambda t, x: t.sum(x), lambda c, x: x.sum())
        yield f"var 2^{log}", (x,), (sw.var, lambda t, x: t.var(x, correction=0), lambda c, x: x.var())
        yield (
            f"cumulative sum 2^{log}",
            (x,),
            (sw.cumulative_sum, lambda t, x: t.cumsum(x, 0), lambda c, x: c.cumsum(x)),
        )
    x = normal(8192, 8192)
    for axis in (0, 1):
        yield (
            f"sum axis {axis} 8192²",
            (x,),
            (
                lambda x, axis=axis: sw.sum(x, axis=axis),
                lambda t, x, axis=axis: t.sum(x, axis),
                lambda c, x, axis=axis: x.sum(axis=axis),
            ),
        )
    for n, m in ((8192, 8192), (65536, 1024), (131072, 128)):
        x = normal(n, m)
        yield f"softmax {n}x{m}", (x,), (softmax, lambda t, x: t.softmax(x, 1), cupy_softmax)
        yield (
            f"normalise {n}x{m}",
            (x,),
            (
                lambda x: (x - sw.mean(x, axis=1, keepdims=True)) / sw.std(x, axis=1, keepdims=True),
                lambda t, x: t.nn.functional.layer_norm(x, x.shape[1:], eps=0.0),
                lambda c, x: (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True),
            ),
        )
        yield (
            f"logsumexp {n}x{m}",
            (x,),
            (lambda x: sw.logsumexp(x, axis=1), lambda t, x: t.logsumexp(x, 1), None),
        )
        yield (
            f"var axis 1 {n}x{m}",
            (x,),
            (lambda x: sw.var(x, axis=1), lambda t, x: t.var(x, 1, correction=0), lambda c, x: x.var(axis=1)),
        )
    for dtype, sizes in (("float32", (256, 1024, 4096)), ("float64", (1024, 4096))):
        for n in sizes:
            yield (
                f"matmul {dtype} {n}",
                (normal(n, n, dtype=dtype), normal(n, n, dtype=dtype)),
                (sw.matmul, lambda t, x, y: x @ y, lambda c, x, y: x @ y),
            )
    product = (sw.matmul, lambda t, x, y: x @ y, lambda c, x, y: x @ y)
    for n in (1024, 4096):
        x, y = normal(n, n), normal(n, n)
        yield f"matmul float16 {n}", (x.astype("float16"), y.astype("float16")), product
        yield f"matmul bfloat16 {n}", (Brain(x), Brain(y)), (*product[:2], None)
    for dtype in ("float32", "float64"):
        x, y = normal(64, 256, 256, dtype=dtype), normal(64, 256, 256, dtype=dtype)
        yield f"matmul {dtype} 64 of 256", (x, y), product
    for log in (16, 20, 24):
        x = normal(1 << log)
        yield f"sort 2^{log}", (x,), (sw.sort, lambda t, x: t.sort(x).values, lambda c, x: c.sort(x))
        yield f"argsort 2^{log}", (x,), (sw.argsort, lambda t, x: t.argsort(x), lambda c, x: c.argsort(x))
    x = normal(1 << 24)
    table, mask, few = np.sort(x), x > 0, RNG.integers(0, 1 << 20, 1 << 24, dtype="int32")
    values = normal(int(mask.sum()))
    yield "unique 2^24", (few,), (sw.unique_values, lambda t, x: t.unique(x), lambda c, x: c.unique(x))
    yield (
        "searchsorted 2^24",
        (table, x),
        (sw.searchsorted, lambda t, a, x: t.searchsorted(a, x), lambda c, a, x: c.searchsorted(a, x)),
    )
    for k in (10, 1000):
        yield (
            f"top_k {k} of 2^24",
            (x,),
            (
                lambda x, k=k: tuple(sw.top_k(x, k)),
                lambda t, x, k=k: t.topk(x, k),
                lambda c, x, k=k: c.partition(x, x.size - k)[-k:],
            ),
        )
    yield "mask select 2^24", (x, mask), (lambda x, m: x[m], lambda t, x, m: x[m], lambda c, x, m: x[m])
    yield "nonzero 2^24", (mask,), (sw.nonzero, lambda t, m: t.nonzero(m), lambda c, m: c.nonzero(m))
    yield "masked assignment 2^24", (x, mask, values), (ours_masked, torch_masked, torch_masked)
    for log in (16, 20, 24):
        x, places = normal(1 << log), RNG.integers(0, 1 << log, 1 << log)
        yield f"take 2^{log}", (x, places), (sw.take, lambda t, x, i: t.take(x, i), lambda c, x, i: c.take(x, i))
        parts = tuple(normal(1 << log) for _ in range(4))
        yield (
            f"concat of four 2^{log}",
            parts,
            (lambda *p: sw.concat(p), lambda t, *p: t.cat(p), lambda c, *p: c.concatenate(p)),
        )
    yield "a stream of add(x, y, out=z) of 16", tuple(normal(16) for _ in range(3)), streams(1000), 1000
    x = normal(1 << 26)
    yield "device → NumPy 256 MiB", (x,), (sw.asnumpy, lambda t, x: x.cpu().numpy(), lambda c, x: c.asnumpy(x))


def measure(row, devices, others):
    name, arrays, functions, *calls = row
    calls = calls[0] if calls else 1
    programs = []
    for device in devices:
        try:
            mine = [placed(a, device) for a in arrays]
            waited(functions[0](*mine)) if "NumPy" not in name else functions[0](*mine)
        except NotImplementedError as error:  # What one device cannot do, another may.
            print(f"{name:36} {device}: {str(error)[:120]}", flush=True)
            continue
        programs.append((device, lambda mine=mine: functions[0](*mine), None))
    if not programs:
        return
    for peer in others:
        function = functions[1] if isinstance(peer, Torch) else functions[2]
        if function:
            theirs = [peer.array(a) for a in arrays]
            programs.append(
                (peer.name, lambda f=function, m=peer.module, a=theirs: f(m, *a), peer),
            )
    times = {who: [] for who, _, _ in programs}
    begin = time.perf_counter()
    for round_ in range(ROUNDS):
        for who, call, peer in programs:
            for number in range(1 + CALLS):
                start = time.perf_counter()
                result = call()
                if peer:
                    peer.wait()
                elif not isinstance(result, np.ndarray):
                    waited(result)
                end = time.perf_counter()
                del result
                # The first round compiles, and makes room.
                if round_ and number:
                    times[who].append((end - start) / calls)
        if round_ > 2 and time.perf_counter() - begin > SECONDS:
            break
    medians = {who: statistics.median(all_) for who, all_ in times.items()}
    first, *_ = programs
    ours = medians.pop(first[0])
    cells = "  ".join(f"{who.split()[0]} {1e6 * t:10.1f} µs" for who, t in medians.items())
    theirs = [t for who, t in medians.items() if who not in devices]
    ratio = f"{min(theirs) / ours:5.2f}" if theirs else "    -"
    print(f"{name:36} {first[0]} {1e6 * ours:10.1f} µs  {ratio}  {cells}", flush=True)


def there(device):
    try:
        return sw.Device(device)
    except ValueError as missing:
        print(f"no {device}: {str(missing)[:120]}")


def main(devices="cuda:gpu:0,opencl:gpu:0", *names):
    others = list(peers())
    devices = {device: there(device) for device in devices.split(",")}
    devices = {device: found for device, found in devices.items() if found}
    for device, found in devices.items():
        print(f"{device}: {found.name}")
    print(", ".join(peer.name for peer in others))
    for row in rows():
        if not names or row[0].startswith(names):
            try:
                measure(row, list(devices), others)
            except Exception as error:  # A row that one of them cannot do is no reason to leave out the others.
                print(f"{row[0]:36} {type(error).__name__}: {str(error)[:200]}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
