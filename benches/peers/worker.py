"""A peer of the benchmark: computes rows on request and times itself.

    worker.py PEER THREADS

A request is a line of JSON on the standard input, an answer a line on the standard output:

    {"prepare": {"op": "add", "layout": "fresh", "dtype": "float32", "n": 1024}}  ->  {"prepared": true}
    {"run": 100}                                                                  ->  {"seconds": 0.00021}

`prepared` is false where the peer has no such row. The first answer of all is {"ready": "numpy 2.4.6"}; an answer
{"error": "..."} says what went wrong. A run is complete when its result is: peers that only submit work are waited for.
"""

import json
import math
import os
import re
import sys
from time import perf_counter

import programs

# The expression of a row, by its operation and layout. Names are those of `inputs`; `xp` is the peer's module.
ROWS = {
    ("add", "fresh"): "a + b",
    ("add", "out"): "xp.add(a, b, out=out)",
    ("a*b+c", "fresh"): "a * b + c",
    ("sqrt", "fresh"): "xp.sqrt(a)",
    ("exp", "fresh"): "xp.exp(a)",
    ("log", "fresh"): "xp.log(a)",
    ("sin", "fresh"): "xp.sin(a)",
    ("tanh", "fresh"): "xp.tanh(a)",
    ("pow", "fresh"): "a ** b",
    ("exp", "out"): "xp.exp(a, out=out)",
    ("sqrt", "one thread"): "xp.sqrt(a, out=out)",
    ("exp", "one thread"): "xp.exp(a, out=out)",
    ("log", "one thread"): "xp.log(a, out=out)",
    ("sin", "one thread"): "xp.sin(a, out=out)",
    ("tanh", "one thread"): "xp.tanh(a, out=out)",
    ("pow", "one thread"): "xp.power(a, b, out=out)",
    ("greater", "fresh"): "a > b",
    ("where", "fresh"): "xp.where(mask, a, b)",
    ("cast", "to the other float"): "cast(a)",
    ("add", "int32 + float64"): "ints + a",
    ("add", "strided by 2"): "a_half + b_half",
    ("add", "negative stride"): "a_back + b",
    ("add", "transposed"): "a_square + b_transposed",
    ("add", "row broadcast"): "a_square + row",
    ("add", "column broadcast"): "a_square + column",
    ("copy", "out"): "copyto(out, a)",
    ("copy", "transposed"): "copyto(out_square, b_transposed)",
    ("concat", "axis 0"): "xp.concatenate((a_square, b_square), axis=0)",
    ("concat", "axis 1"): "xp.concatenate((a_square, b_square), axis=1)",
    ("sum", "all"): "xp.sum(a)",
    ("max", "all"): "xp.max(a)",
    ("argmax", "all"): "xp.argmax(a)",
    ("mean", "all"): "xp.mean(a)",
    ("var", "all"): "xp.var(a)",
    ("sum", "axis 0"): "xp.sum(a_square, axis=0)",
    ("sum", "axis 1"): "xp.sum(a_square, axis=1)",
    ("sum", "strided by 2"): "xp.sum(a_half)",
    ("dot", "all"): "xp.sum(a * b)",
    ("norm", "all"): "xp.sqrt(xp.sum(a * a))",
    ("sqrt(a*a+b*b)*c-d", "fused"): "xp.sqrt(a * a + b * b) * c - d",
    ("sigmoid", "fused"): "1 / (1 + xp.exp(-a))",
    ("gelu", "fused"): "0.5 * a * (1 + xp.tanh(0.7978845608028654 * (a + 0.044715 * (a * a * a))))",
    ("sort", "fresh"): "xp.sort(a)",
    ("argsort", "fresh"): "xp.argsort(a, stable=True)",
    ("unique", "fresh"): "xp.unique(a)",
    ("unique counts", "fresh"): "xp.unique(a, return_counts=True)",
    ("top_k", "8 of all"): "xp.argpartition(a, -8)[-8:]",
    ("searchsorted", "row"): "xp.searchsorted(table, a)",
    ("isin", "row"): "xp.isin(a, row)",
    ("nonzero", "mask"): "xp.nonzero(mask)",
    ("masked", "mask"): "a[mask]",
    ("take", "any order"): "xp.take(a, places)",
    ("put", "any order"): "out[places] = a",
    ("add at", "any order"): "xp.add.at(out, places, a)",
    ("cast", "to int32"): "a.astype('int32')",
    ("cast", "from int32"): "ints.astype(a.dtype)",
    ("cumulative sum", "all"): "xp.cumsum(a, 0)",
    ("sum of products", "rows of 8"): "xp.sum(a_rows * b_rows, axis=1)",
    ("matmul", "vector, matrix"): "row @ a_square",
    ("matmul", "matrix, vector"): "a_square @ row",
    ("matmul", "matrices"): "a_square @ b_square",
    ("normalise", "axis 0"): "(a_square - xp.mean(a_square, axis=0)) / xp.std(a_square, axis=0)",
    ("normalise", "axis 1"): (
        "(a_square - xp.mean(a_square, axis=1, keepdims=True)) / xp.std(a_square, axis=1, keepdims=True)"
    ),
    ("histogram", "64 bins"): "xp.histogram(a, 64)",
    ("median", "all"): "xp.median(a)",
    ("repeat", "each twice"): "xp.repeat(a, 2)",
    ("roll", "by a third"): "xp.roll(a, len(a) // 3)",
    ("tile", "twice"): "xp.tile(a, 2)",
    ("random", "uniform"): "rng.random(len(a), a.dtype)",
    ("random", "normal"): "rng.standard_normal(len(a), a.dtype)",
    ("random", "integers"): "rng.integers(0, 1000, len(a))",
    ("matmul", "stack of 4 by 4"): "a_few @ b_few",
    ("fft", "complex"): "xp.fft.fft(z)",
    ("fft", "real"): "xp.fft.rfft(a)",
    ("fft", "two dimensions"): "xp.fft.fft2(z_square)",
    ("fft", "first 10007"): "xp.fft.fft(z[:10007])",
    ("solve", "matrix"): "xp.linalg.solve(a_square, row)",
    ("solve", "stack of 4 by 4"): "xp.linalg.solve(a_few, b_few)",
    ("inv", "matrix"): "xp.linalg.inv(a_square)",
    ("inv", "stack of 4 by 4"): "xp.linalg.inv(a_few)",
    ("det", "matrix"): "xp.linalg.det(a_square)",
    ("det", "stack of 4 by 4"): "xp.linalg.det(a_few)",
    ("cholesky", "matrix"): "xp.linalg.cholesky(definite)",
    ("cholesky", "stack of 4 by 4"): "xp.linalg.cholesky(definite_few)",
    ("qr", "matrix"): "xp.linalg.qr(a_square)",
    ("qr", "stack of 4 by 4"): "xp.linalg.qr(a_few)",
    ("svd", "matrix"): "xp.linalg.svd(a_square)",
    ("svd", "stack of 4 by 4"): "xp.linalg.svd(a_few)",
    ("eigh", "matrix"): "xp.linalg.eigh(definite)",
    ("eigh", "stack of 4 by 4"): "xp.linalg.eigh(definite_few)",
    ("eig", "matrix"): "xp.linalg.eig(a_square)",
    ("k-means", "program"): "programs.kmeans(xp, a_rows)",
    ("heat equation", "program"): "programs.heat(xp, a_square)",
    ("Sobel", "program"): "programs.sobel(xp, a_square)",
    ("pairwise distances", "program"): "programs.pairwise(xp, a_rows[: len(a_square)])",
    ("distances by rows", "program"): "programs.pairwise(xp, a_rows[: len(a_square)])",
    ("Monte-Carlo pi", "program"): "programs.pi(xp, rng, len(a))",
    ("averages, histogram", "program"): "programs.series(xp, a)",
    ("logistic regression", "program"): "programs.logistic(xp, a_rows, b)",
}

# What only NumPy is asked for: others have no such generator, or would compile a whole program.
OF_NUMPY = ("random", "program", "add at")

# Where a peer has a better way than the expression above.
BETTER = {
    "numpy": {("dot", "all"): "xp.dot(a, b)", ("norm", "all"): "xp.linalg.norm(a)"},
    "jax": {("copy", "out"): "a.copy()", ("copy", "transposed"): "b_transposed.copy()"},
    "torch": {
        ("top_k", "8 of all"): "xp.topk(a, 8)",
        ("cast", "to int32"): "a.to(xp.int32)",
        ("cast", "from int32"): "ints.to(a.dtype)",
    },
}

# Whose results have as many elements as the data has it, which compiled functions of JAX cannot say.
OPEN = ("unique", "unique counts", "nonzero", "masked")

# What numexpr computes: elementwise expressions, and sums of them.
NUMEXPR = {
    ("sum", "all"): "sum(a)",
    ("max", "all"): "max(a)",
    ("dot", "all"): "sum(a * b)",
    ("where", "fresh"): "where(mask, a, b)",
}
NUMEXPR_FUNCTIONS = ("add", "argmax", "mean", "var", "concatenate", "sum", "std", "max", "where", "sort", "unique")
NUMEXPR_FUNCTIONS += ("searchsorted", "isin", "nonzero", "take", "cumsum", "argpartition")
NUMEXPR_FUNCTIONS += ("histogram", "median", "repeat", "roll", "tile")
# The largest arrays that complex numbers and symmetric matrices are made of.
MOST_DERIVED = 1 << 20


def sample(xp, n, seed, dtype):
    """The values of the benchmark's own arrays: floats from 0.5 to 1.5, integers from 0 to 50, in no order."""
    mixed = xp.arange(n, dtype="uint32") * xp.uint32(2654435761) + xp.uint32(seed * 40503)
    mixed = (mixed ^ (mixed >> xp.uint32(15))) * xp.uint32(2246822519)
    unit = (mixed ^ (mixed >> xp.uint32(13))) / 2.0**32
    return (unit * 50 if dtype.startswith("int") else unit + 0.5).astype(dtype)


def views(arrays, n):
    """Arrays that share the memory of others."""
    side = math.isqrt(n)
    inputs = dict(arrays)
    for name in ("a", "b", "out"):
        if name in inputs:
            inputs[f"{name}_square"] = inputs[name].reshape((side, side))
    if n % 16 == 0:
        inputs["a_few"], inputs["b_few"] = (inputs[name].reshape((n // 16, 4, 4)) for name in "ab")
    if "z" in inputs:
        inputs["z_square"] = inputs["z"].reshape((side, side))
    inputs["a_rows"], inputs["b_rows"] = (inputs[name].reshape((n // 8, 8)) for name in "ab")
    inputs["a_half"], inputs["b_half"] = inputs["a"][::2], inputs["b"][::2]
    inputs["b_transposed"] = inputs["b_square"].T
    inputs["row"], inputs["column"] = inputs["c"][:side], inputs["c"][:side].reshape((side, 1))
    return inputs


def derived(numpy, a, b, n, dtype):
    """What decompositions and transforms need: complex numbers, and symmetric positive definite matrices."""
    side = math.isqrt(n)
    arrays = {"z": a + numpy.asarray(1j, numpy.result_type(dtype, "complex64")) * b}
    for name, shape in {"definite": (side, side), "definite_few": (n // 16, 4, 4)}.items():
        matrices = a.reshape(shape)
        arrays[name] = matrices @ matrices.swapaxes(-1, -2) + numpy.eye(shape[-1], dtype=dtype)
    return arrays


class Eager:
    """A module with NumPy's interface that computes at once."""

    # Whether it uses more than the calling thread, where there are more.
    parallel = False
    # What it is asked for, and whether matrices of its own and complex numbers are part of that.
    rows = ROWS
    decomposes = True

    def __init__(self, name):
        import importlib

        self.name = name
        self.xp = importlib.import_module(name)
        self.version = f"{name} {self.xp.__version__}"
        self.better = BETTER.get(name, {})

    def array(self, array):
        return self.xp.asarray(array)

    def inputs(self, arrays, n, dtype):
        """All names of the expressions, and how to wait for a result."""
        inputs = views({name: self.array(array) for name, array in arrays.items()}, n)
        inputs["a_back"] = inputs["a"][::-1]
        other = {"float32": "float64", "float64": "float32"}.get(dtype, dtype)
        if self.name == "numpy":
            inputs |= {"rng": self.xp.random.default_rng(1), "programs": programs}
        return inputs | {"xp": self.xp, "cast": lambda x: x.astype(other), "copyto": self.xp.copyto}

    def compile(self, row, inputs, wait="{}"):
        """A function that runs the row's expression so many times and returns the seconds, without a call in between."""
        expression = self.better.get(row, self.rows[row])
        text = f"""
def batch(count, {", ".join(inputs)}):
    begin = perf_counter()
    for _ in range(count):
        {wait.format(expression)}
    return perf_counter() - begin
"""
        scope = {"perf_counter": perf_counter}
        exec(text, scope)
        return lambda count: scope["batch"](count, **inputs)


class Dpnp(Eager):
    """dpnp on Intel's runtime for processors, waited for after each run."""

    parallel = True

    def __init__(self, name):
        runtime = os.path.join(sys.prefix, "lib", "libintelocl.so")
        if os.path.exists(runtime):
            os.environ.setdefault("OCL_ICD_FILENAMES", runtime)
        super().__init__(name)
        # Without a device it can be imported and nothing else.
        self.xp.zeros(1)

    def inputs(self, arrays, n, dtype):
        inputs = super().inputs(arrays, n, dtype)
        return inputs | {"queue": inputs["a"].sycl_queue}

    def compile(self, row, inputs, wait="{}"):
        return super().compile(row, inputs, "{}; queue.wait()")


class Torch(Eager):
    """PyTorch on the processor."""

    parallel = True

    def __init__(self, name):
        super().__init__(name)
        self.xp.set_num_threads(THREADS)

    def inputs(self, arrays, n, dtype):
        inputs = views({name: self.array(array) for name, array in arrays.items()}, n)
        other = self.xp.float64 if dtype == "float32" else self.xp.float32
        return inputs | {"xp": self.xp, "cast": lambda x: x.to(other), "copyto": lambda out, x: out.copy_(x)}


class Jax(Eager):
    """JAX, compiled and waited for. It has no views: those of an expression are made in its compiled function."""

    parallel = True

    def __init__(self, name):
        import jax

        jax.config.update("jax_enable_x64", True)
        self.name, self.xp, self.jax = name, jax.numpy, jax
        self.version = f"jax {jax.__version__}"

    def inputs(self, arrays, n, dtype):
        self.n, self.dtype = n, dtype
        return {name: self.array(array) for name, array in arrays.items() if name != "out"}

    def compile(self, row, inputs, wait="{}"):
        expression = BETTER["jax"].get(row, ROWS[row])
        if "out=" in expression or row[0] in (*OPEN, "put"):
            return None
        names = list(inputs)
        other = {"float32": "float64", "float64": "float32"}.get(self.dtype, self.dtype)

        def compute(*arrays):
            scope = views(dict(zip(names, arrays)), self.n)
            scope |= {"a_back": scope["a"][::-1], "xp": self.xp, "cast": lambda x: x.astype(other)}
            return eval(expression, scope)

        compiled = self.jax.jit(compute)
        arguments = tuple(inputs.values())

        def batch(count):
            begin = perf_counter()
            for _ in range(count):
                self.jax.block_until_ready(compiled(*arguments))
            return perf_counter() - begin

        return batch


class Numexpr(Eager):
    """numexpr, whose compiled expression is used again."""

    parallel = True

    def __init__(self, name):
        import numexpr
        import numpy

        self.name, self.xp, self.numexpr = name, numpy, numexpr
        numexpr.set_num_threads(THREADS)
        self.version = f"numexpr {numexpr.__version__}"

    def compile(self, row, inputs, wait="{}"):
        expression = NUMEXPR.get(row, ROWS[row].replace("xp.", ""))
        named = row not in NUMEXPR and any(f"{name}(" in expression for name in NUMEXPR_FUNCTIONS)
        if row == ("add", "out"):
            expression = "a + b"
        elif row == ("exp", "out"):
            expression = "exp(a)"
        elif named or any(word in expression for word in ("cast", "astype", "copyto", "@", "[", "linalg.", "fft.")):
            return None
        out = inputs["out"] if row[1] == "out" else None
        names = {name: array for name, array in inputs.items() if isinstance(array, self.xp.ndarray)}

        def constant(found):
            """A name for a constant: written out it would be of double precision, and so all that it meets."""
            name = f"constant{len(names)}"
            names[name] = self.xp.asarray(float(found[0]), inputs["a"].dtype)
            return name

        expression = re.sub(r"\d+\.\d+", constant, expression)
        self.numexpr.evaluate(expression, local_dict=names, out=out)
        again = self.numexpr.re_evaluate

        def batch(count):
            # What other expressions were evaluated in between does not matter: this one is the last again.
            self.numexpr.evaluate(expression, local_dict=names, out=out)
            begin = perf_counter()
            for _ in range(count):
                again(local_dict=names)
            return perf_counter() - begin

        return batch


class Transforms(Eager):
    """A library of Fourier transforms with SciPy's interface, and nothing else: SciPy's own, or FFTW through pyFFTW."""

    parallel = True

    def __init__(self, name):
        import importlib

        import numpy

        self.name, self.xp = name, numpy
        library = importlib.import_module(name)
        self.version = f"{name} {library.__version__}"
        if name == "pyfftw":
            # Plans are kept, as ours are; by default they are made anew after a tenth of a second.
            library.interfaces.cache.enable()
            library.interfaces.cache.set_keepalive_time(1e6)
            self.fft = library.interfaces.scipy_fft
        else:
            self.fft = importlib.import_module("scipy.fft")

    def inputs(self, arrays, n, dtype):
        return super().inputs(arrays, n, dtype) | {"fft": self.fft, "threads": THREADS}

    def compile(self, row, inputs, wait="{}"):
        if row[0] != "fft":
            return None
        expression = ROWS[row].replace("xp.fft.", "fft.")[:-1]
        return super().compile(row, inputs, f"{expression}, workers=threads)")


PEERS = {"numpy": Eager, "numexpr": Numexpr, "jax": Jax, "dpnp": Dpnp, "torch": Torch}
PEERS |= {"scipy": Transforms, "pyfftw": Transforms}


class Session:
    """What was prepared last. Inputs stay for the next row of their size and dtype."""

    def __init__(self, peer):
        self.peer, self.key, self.inputs, self.batch = peer, None, None, None

    def prepare(self, op, layout, dtype, n):
        self.batch = None
        if (op, layout) not in self.peer.rows or (layout == "one thread" and self.peer.parallel and THREADS > 1):
            return False
        if self.peer.name != "numpy" and (op in OF_NUMPY or layout in OF_NUMPY):
            return False
        if self.key != (dtype, n):
            self.key = self.inputs = None
            import numpy

            arrays = {name: sample(numpy, n, seed, dtype) for seed, name in enumerate("abcd", 1)}
            arrays["out"] = numpy.zeros(n, dtype)
            arrays["mask"] = arrays["a"] > arrays["b"]
            arrays["ints"] = sample(numpy, n, 5, "int32")
            arrays["table"] = numpy.sort(arrays["c"][: math.isqrt(n)])
            arrays["places"] = ((sample(numpy, n, 6, "float64") - 0.5) * n).astype("int64")
            if self.peer.decomposes and n <= MOST_DERIVED and n % 16 == 0 and dtype in ("float32", "float64"):
                arrays |= derived(numpy, arrays["a"], arrays["b"], n, dtype)
            self.inputs, self.key = self.peer.inputs(arrays, n, dtype), (dtype, n)
        self.batch = self.peer.compile((op, layout), self.inputs)
        if self.batch is not None:
            self.batch(1)
        return self.batch is not None


def serve(peers, threads):
    """Answers requests for rows of the peer that the command line names."""
    # Whatever libraries print must not get between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(**fields):
        print(json.dumps(fields), file=answers, flush=True)

    try:
        # Runtimes look at the processors they may use: as many as the benchmark's own device has.
        processors = sorted(os.sched_getaffinity(0))
        if threads < len(processors):
            os.sched_setaffinity(0, processors[:threads])
        session = Session(peers[sys.argv[1]](sys.argv[1]))
    except Exception as error:
        answer(error=f"{type(error).__name__}: {error}")
        return
    answer(ready=session.peer.version)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if "prepare" in request:
                answer(prepared=session.prepare(**request["prepare"]))
            else:
                answer(seconds=session.batch(request["run"]))
        except Exception as error:
            answer(error=f"{type(error).__name__}: {error}".splitlines()[0])


if __name__ == "__main__":
    THREADS = int(sys.argv[2])
    serve(PEERS, THREADS)
