"""A peer of the benchmark of a GPU, by the protocol of `worker.py`: a run is complete when its results are on the device.

    gpu.py PEER THREADS

NumPy, which computes on the processor, has the rows of OpenCL devices that are processors.
"""

import math
import sys

import worker

ROWS = {
    ("add", "out"): "xp.add(a, b, out=out)",
    ("add", "stream"): "xp.add(a, b, out=out)",
    ("exp", "fresh"): "xp.exp(a)",
    ("add", "transposed"): "a_square + b_transposed",
    ("add", "row broadcast"): "a_square + row",
    ("sqrt(a*a+b*b)*c-d", "fused"): "xp.sqrt(a * a + b * b) * c - d",
    ("sum", "all"): "xp.sum(a)",
    ("sum", "axis 0"): "xp.sum(a_square, axis=0)",
    ("sum", "axis 1"): "xp.sum(a_square, axis=1)",
    ("argmax", "all"): "xp.argmax(a)",
    ("var", "all"): "xp.var(a)",
    ("cumulative sum", "all"): "xp.cumsum(a, 0)",
    ("matmul", "matrices"): "a_square @ b_square",
    ("sort", "fresh"): "xp.sort(a)",
    ("argsort", "fresh"): "xp.argsort(a)",
    ("unique", "few"): "xp.unique(few)",
    ("searchsorted", "all"): "xp.searchsorted(in_order, b)",
    ("top_k", "10 of all"): "xp.partition(a, len(a) - 10)[-10:]",
    ("masked", "mask"): "a[mask]",
    ("nonzero", "mask"): "xp.nonzero(mask)",
    ("take", "any order"): "xp.take(a, places)",
    ("concat", "of four"): "xp.concatenate(quarters)",
    ("copy", "host to device"): "array(host)",
    ("copy", "device to host"): "to_host(a)",
}
for name in ("square", "rows of 1024", "rows of 128"):
    x = name.replace(" ", "_")
    ROWS["softmax", name] = f"softmax({x})"
    ROWS["normalise", name] = f"({x} - {x}.mean(axis=1, keepdims=True)) / {x}.std(axis=1, keepdims=True)"

TORCH = {
    ("var", "all"): "xp.var(a, correction=0)",
    ("sort", "fresh"): "xp.sort(a).values",
    ("top_k", "10 of all"): "xp.topk(a, 10)",
} | {
    ("normalise", name): f"xp.nn.functional.layer_norm({x}, {x}.shape[1:], eps=0.0)"
    for name, x in (("square", "square"), ("rows of 1024", "rows_of_1024"), ("rows of 128", "rows_of_128"))
}


class NumPy(worker.Eager):
    """Computes at once."""

    parallel = True
    rows = ROWS
    decomposes = False
    end = "{}"

    def __init__(self, name):
        super().__init__(name)
        self.better = {}

    def to_host(self, x):
        return x.copy()

    def softmax(self, x):
        e = self.xp.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    def finish(self):
        pass

    def inputs(self, arrays, n, dtype):
        import numpy

        known = ("a", "b", "c", "d", "out", "mask", "places")
        inputs = {name: self.array(arrays[name]) for name in known}
        side = math.isqrt(n)
        a, b = inputs["a"], inputs["b"]
        inputs["a_square"], inputs["b_square"] = (x.reshape((side, side)) for x in (a, b))
        inputs |= {"square": inputs["a_square"], "b_transposed": inputs["b_square"].T, "row": inputs["c"][:side]}
        for length in (1024, 128):
            inputs[f"rows_of_{length}"] = a.reshape((-1, min(length, n)))
        quarter = n // 4
        inputs["quarters"] = tuple(self.array(arrays["a"][k * quarter : (k + 1) * quarter].copy()) for k in range(4))
        inputs["few"] = self.array((arrays["places"] % max(n // 16, 1)).astype("int32"))
        inputs["in_order"] = self.array(numpy.sort(arrays["a"]))
        inputs |= {"host": arrays["a"], "array": self.array, "to_host": self.to_host}
        return inputs | {"xp": self.xp, "softmax": self.softmax, "finish": self.finish}

    def compile(self, row, inputs, wait="{}"):
        if row[1] != "stream":
            return super().compile(row, inputs, "{}; finish()")
        submit, begin = super().compile(row, inputs), worker.perf_counter

        def batch(count):
            start = begin()
            submit(count)
            self.finish()
            return begin() - start

        return batch


class CuPy(NumPy):
    def array(self, x):
        return self.xp.asarray(x)

    def to_host(self, x):
        return self.xp.asnumpy(x)

    def finish(self):
        self.xp.cuda.Device().synchronize()


class Torch(NumPy):
    def __init__(self, name):
        super().__init__(name)
        self.better = TORCH
        self.xp.backends.cuda.matmul.allow_tf32 = False
        # Without a device it can be imported and nothing else.
        self.xp.zeros(1, device="cuda")

    def array(self, x):
        return self.xp.asarray(x, device="cuda")

    def to_host(self, x):
        return x.cpu().numpy()

    def softmax(self, x):
        return self.xp.softmax(x, 1)

    def finish(self):
        self.xp.cuda.synchronize()


if __name__ == "__main__":
    worker.THREADS = int(sys.argv[2])
    worker.serve({"numpy": NumPy, "cupy": CuPy, "torch": Torch}, worker.THREADS)
