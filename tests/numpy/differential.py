"""Differential test against NumPy: makes random cases, and judges what the engine made of them.

    differential.py make FOLDER [--cases N] [--seed N]   writes cases.json and the base arrays as .npy
    differential.py check FOLDER                         compares the results with NumPy's

The Rust program beside this file evaluates the cases in between (`cargo xtask test --only differential` runs all
three). A case is an operation on views of base arrays; to add one, add a line to a table below and, unless it is an
elementwise operation or a reduction, an arm to `evaluate` in main.rs. Differences from NumPy that are meant have a rule
with a reason each, in `RULES`.
"""

import argparse
import json
import pathlib
import random
import sys
import warnings

import numpy as np

np.seterr(all="ignore")
warnings.simplefilter("ignore")

BOOL = ["bool"]
SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
INTS = SIGNED + UNSIGNED
FLOATS = ["float16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
REAL = INTS + FLOATS
ALL = BOOL + REAL + COMPLEX

EXACT = "exact"
# Faithfully rounded, and correctly so in float16.
ULP = "ulp"
# Correctly rounded in real dtypes; complex numbers within a few roundings of their magnitude.
NORM = "norm"


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def sign(x):
    if x.dtype.kind != "c":
        return np.sign(x)
    return np.where(x == 0, x, x / np.abs(x)).astype(x.dtype)


def integral(function):
    """Of integers, the integers themselves: NumPy 1 answers with floats."""
    return lambda x: x.copy() if x.dtype.kind in "iu" else function(x)


def where(condition, yes, no):
    return np.where(condition, yes, no)


# Name, NumPy's function, dtypes, comparison.
ELEMENTWISE = [
    ("add", np.add, REAL + COMPLEX, EXACT),
    ("subtract", np.subtract, REAL + COMPLEX, EXACT),
    ("multiply", np.multiply, REAL + COMPLEX, NORM),
    ("divide", np.divide, FLOATS + COMPLEX + INTS, NORM),
    ("floor_divide", np.floor_divide, REAL, EXACT),
    ("remainder", np.remainder, REAL, NORM),
    ("pow", np.power, REAL, ULP),
    ("negative", np.negative, REAL + COMPLEX, EXACT),
    ("abs", np.abs, REAL + COMPLEX, ULP),
    ("real", np.real, REAL + COMPLEX, EXACT),
    ("imag", np.imag, REAL + COMPLEX, EXACT),
    ("conj", np.conj, REAL + COMPLEX, EXACT),
    ("sign", sign, REAL + COMPLEX, NORM),
    ("square", np.square, REAL + COMPLEX, NORM),
    ("reciprocal", lambda x: 1 / x, REAL + COMPLEX, NORM),
    ("round", integral(np.round), REAL + COMPLEX, EXACT),
    ("floor", integral(np.floor), REAL, EXACT),
    ("ceil", integral(np.ceil), REAL, EXACT),
    ("trunc", integral(np.trunc), REAL, EXACT),
    ("minimum", np.minimum, BOOL + REAL, EXACT),
    ("maximum", np.maximum, BOOL + REAL, EXACT),
    ("clip", lambda x, low, high: np.minimum(np.maximum(x, low), high), BOOL + REAL, EXACT),
    ("sqrt", np.sqrt, REAL + COMPLEX, NORM),
    ("rsqrt", lambda x: 1 / np.sqrt(x), FLOATS, ULP),
    ("cbrt", np.cbrt, REAL, ULP),
    ("hypot", np.hypot, REAL, ULP),
    ("exp", np.exp, REAL + COMPLEX, ULP),
    ("exp2", np.exp2, REAL, ULP),
    ("expm1", np.expm1, REAL + COMPLEX, ULP),
    ("log", np.log, REAL + COMPLEX, ULP),
    ("log1p", np.log1p, REAL + COMPLEX, ULP),
    ("log2", np.log2, REAL + COMPLEX, ULP),
    ("log10", np.log10, REAL + COMPLEX, ULP),
    ("logaddexp", np.logaddexp, REAL, ULP),
    ("sin", np.sin, REAL + COMPLEX, ULP),
    ("cos", np.cos, REAL + COMPLEX, ULP),
    ("tan", np.tan, REAL + COMPLEX, ULP),
    ("asin", np.arcsin, REAL + COMPLEX, ULP),
    ("acos", np.arccos, REAL + COMPLEX, ULP),
    ("atan", np.arctan, REAL + COMPLEX, ULP),
    ("atan2", np.arctan2, REAL, ULP),
    ("sinh", np.sinh, REAL + COMPLEX, ULP),
    ("cosh", np.cosh, REAL + COMPLEX, ULP),
    ("tanh", np.tanh, REAL + COMPLEX, ULP),
    ("asinh", np.arcsinh, REAL + COMPLEX, ULP),
    ("acosh", np.arccosh, REAL + COMPLEX, ULP),
    ("atanh", np.arctanh, REAL + COMPLEX, ULP),
    ("sigmoid", sigmoid, FLOATS, ULP),
    ("copysign", np.copysign, FLOATS, EXACT),
    ("nextafter", np.nextafter, FLOATS, EXACT),
    ("signbit", np.signbit, FLOATS, EXACT),
    ("equal", np.equal, ALL, EXACT),
    ("not_equal", np.not_equal, ALL, EXACT),
    ("less", np.less, BOOL + REAL, EXACT),
    ("less_equal", np.less_equal, BOOL + REAL, EXACT),
    ("greater", np.greater, BOOL + REAL, EXACT),
    ("greater_equal", np.greater_equal, BOOL + REAL, EXACT),
    ("isnan", np.isnan, REAL + COMPLEX, EXACT),
    ("isinf", np.isinf, REAL + COMPLEX, EXACT),
    ("isfinite", np.isfinite, REAL + COMPLEX, EXACT),
    ("logical_and", np.logical_and, ALL, EXACT),
    ("logical_or", np.logical_or, ALL, EXACT),
    ("logical_xor", np.logical_xor, ALL, EXACT),
    ("logical_not", np.logical_not, ALL, EXACT),
    ("bitwise_and", np.bitwise_and, BOOL + INTS, EXACT),
    ("bitwise_or", np.bitwise_or, BOOL + INTS, EXACT),
    ("bitwise_xor", np.bitwise_xor, BOOL + INTS, EXACT),
    ("bitwise_invert", np.invert, BOOL + INTS, EXACT),
    ("bitwise_left_shift", np.left_shift, INTS, EXACT),
    ("bitwise_right_shift", np.right_shift, INTS, EXACT),
    ("where", where, ALL, EXACT),
]
BINARY = set(
    "add subtract multiply divide floor_divide remainder pow minimum maximum hypot logaddexp atan2 copysign nextafter equal"
    " not_equal less less_equal greater greater_equal logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor"
    " bitwise_left_shift bitwise_right_shift".split()
)
TERNARY = {"clip", "where"}
# Integers are converted to the default floating dtype first. NumPy takes float16 for 8 bits and float32 for 16, which
# the array API leaves open.
WANTS_FLOAT = set(
    "divide reciprocal sqrt rsqrt cbrt hypot exp exp2 expm1 log log1p log2 log10 logaddexp sin cos tan asin acos atan atan2"
    " sinh cosh tanh asinh acosh atanh sigmoid copysign nextafter signbit".split()
)

# Name, NumPy's function, dtypes.
REDUCTIONS = [
    ("sum", np.sum, BOOL + REAL + COMPLEX),
    ("prod", np.prod, BOOL + REAL + COMPLEX),
    ("mean", np.mean, REAL + COMPLEX),
    ("min", np.min, BOOL + REAL),
    ("max", np.max, BOOL + REAL),
    ("argmin", np.argmin, BOOL + REAL),
    ("argmax", np.argmax, BOOL + REAL),
    ("any", np.any, ALL),
    ("all", np.all, ALL),
]
NEEDS_ELEMENTS = {"min", "max", "argmin", "argmax"}



def in_order(x, axis, descending):
    """The places that sort an axis, stably."""
    order = np.argsort(np.flip(x, axis) if descending else x, axis=axis, kind="stable")
    return x.shape[axis] - 1 - np.flip(order, axis) if descending else order


def running(function):
    """Small integers are folded in the default integer of their sign."""
    return lambda x, axis: function(x.astype(DEFAULT.get(x.dtype.kind, x.dtype)), axis=axis)


DEFAULT = {"b": "int64", "i": "int64", "u": "uint64"}

# Operations along an axis (or with other arguments) whose results are exact, as their values are here: name, dtypes,
# style of the values, what is drawn besides the axis, NumPy's answer from the inputs and arguments.
ALONG = [
    ("sort", ALL, "any", ["descending"], lambda x, axis, descending: np.take_along_axis(x, in_order(x, axis, descending), axis)),
    ("argsort", ALL, "any", ["descending"], in_order),
    ("cumulative_sum", BOOL + REAL + COMPLEX, "small", [], running(np.cumsum)),
    ("cumulative_prod", BOOL + INTS, "any", [], running(np.cumprod)),
    ("diff", REAL + COMPLEX, "small", [], lambda x, axis: np.diff(x, axis=axis)),
    ("roll", ALL, "any", ["shift"], lambda x, axis, shift: np.roll(x, shift, axis)),
    ("repeat", ALL, "any", ["count"], lambda x, axis, count: np.repeat(x, count, axis)),
    ("take", ALL, "any", ["places"], lambda x, places, axis: np.take(x, places, axis)),
    ("take_along_axis", ALL, "any", ["order"], lambda x, order, axis: np.take_along_axis(x, order, axis)),
    ("count_nonzero", ALL, "any", [], lambda x, axis: np.count_nonzero(x, axis=axis)),
    ("tril", ALL, "any", ["shift"], lambda x, axis, shift: np.tril(x, shift)),
    ("triu", ALL, "any", ["shift"], lambda x, axis, shift: np.triu(x, shift)),
    ("masked", ALL, "any", ["mask"], lambda x, mask, axis: x[mask]),
    ("searchsorted", REAL, "finite", ["needles"], lambda x, needles, axis: np.searchsorted(np.sort(x.ravel()), needles)),
    ("unique_values", BOOL + REAL, "finite", [], lambda x, axis: np.unique(x)),
    ("isin", BOOL + REAL, "finite", ["needles"], lambda x, needles, axis: np.isin(x, needles)),
    ("matmul", REAL + COMPLEX, "small", ["columns"], lambda x, columns, axis: np.matmul(x, columns)),
    ("var", FLOATS, "moderate", [], lambda x, axis: np.var(x, axis=axis)),
    ("std", FLOATS, "moderate", [], lambda x, axis: np.std(x, axis=axis)),
]
# Of these the results are rounded.
SPREAD = {"var", "std"}

# Operations on whole arrays: name, how to draw inputs and arguments, NumPy's answer.
WHOLE = ["astype", "concat", "stack"]


# ---- making cases ----------------------------------------------------------------------------------------------------


def special(dtype):
    kind = np.dtype(dtype).kind
    if kind == "b":
        return [False, True]
    if kind in "iu":
        info = np.iinfo(dtype)
        values = [info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 3, 7, 100]
        return values + ([-1, -2, -7] if kind == "i" else [])
    real = {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)
    info = np.finfo(real)
    values = [0.0, np.inf, np.nan, 1.0, 0.5, 1.5, 2.5, 3.0, info.max, info.tiny, info.smallest_subnormal, 1 + info.eps]
    values = [np.array(v, real) for v in values]
    return values + [-v for v in values]


class Maker:
    def __init__(self, folder, seed):
        self.folder = folder
        self.random = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.cases = []
        self.bases = 0

    def values(self, dtype, count, style):
        """`any`: all sorts of values; `moderate`: small finite ones; `one`: floats near 1; `small`: integers from −3 to 3;
        `finite`: neither infinite nor NaN, and no −0."""
        kind = np.dtype(dtype).kind
        draw = self.numbers
        if style == "small" and kind != "b":
            values = draw.integers(0 if kind == "u" else -3, 4, (2, count))
            return (values[0] + 1j * values[1] if kind == "c" else values[0]).astype(dtype)
        if kind == "b":
            return draw.integers(0, 2, count).astype(bool)
        if kind in "iu":
            low, high = (0, 100) if kind == "u" else (-50, 50)
            values = draw.integers(low, high, count).astype(dtype)
            if style == "any":
                wide = draw.integers(0, 2**64, count, dtype=np.uint64).astype(dtype)
                values = np.where(draw.random(count) < 0.3, wide, values)
        else:
            parts = 2 if kind == "c" else 1
            values = draw.normal(0, 2, (parts, count))
            if style == "finite":
                values = np.round(values * 2) / 2 + 0.0
            if style == "one":
                values = values / 100
                values[0] += 1
            elif style == "any":
                values = np.where(draw.random(values.shape) < 0.2, values * 2.0 ** draw.integers(-12, 12, values.shape), values)
            values = (values[0] + 1j * values[1] if parts == 2 else values[0]).astype(dtype)
        if style == "any" and count:
            pool = special(dtype)
            for place in draw.integers(0, count, count // 4):
                value = self.random.choice(pool)
                if kind == "c":
                    value = complex(value, self.random.choice(pool))
                values[place] = value
        return values

    def shape(self, dimensions=6):
        if self.random.random() < 0.04:
            return self.random.choice([[5000], [70, 90], [300, 3, 5]])[:dimensions]
        ndim = self.random.choice([0, 1, 1, 2, 2, 3, 3, 4, 5, 6])
        extents = [1, 2, 3, 4, 5, 7] if ndim > 3 else [1, 2, 3, 5, 8, 17]
        shape = [self.random.choice(extents) for _ in range(min(ndim, dimensions))]
        if shape and self.random.random() < 0.06:
            shape[self.random.randrange(len(shape))] = 0
        while np.prod(shape, dtype=int) > 3000:
            shape[int(np.argmax(shape))] = 1
        return shape

    def view(self, shape, dtype, style="any", broadcast=True):
        """A base array in a file, and the steps to a view of it that broadcasts to a shape."""
        rng = self.random
        shown = list(shape)
        if broadcast and rng.random() < 0.15:
            shown = shown[rng.randint(0, len(shown)) :]
        repeated = [broadcast and rng.random() < 0.12 and extent > 0 for extent in shown]
        slices, extents = [], []
        for extent, repeat in zip(shown, repeated):
            count = 1 if repeat else extent
            step = rng.choice([1, 1, 1, 1, 2, 3, -1, -2, -3])
            before, after = rng.choice([(0, 0), (0, 0), (1, 0), (2, 1), (0, 3)])
            length = before + max(count - 1, 0) * abs(step) + (count > 0) + after
            first = before if step > 0 else before + (count - 1) * -step
            stop = first + step * count
            if count == 0:
                first, stop, step = 0, 0, 1
            slices.append([first, None if stop < 0 else stop, step])
            extents.append(length)
        order = list(range(len(shown)))
        if rng.random() < 0.4:
            rng.shuffle(order)
        # The base has its axes in another order: axis order[i] of the view is axis i of the base.
        inverse = [order.index(axis) for axis in range(len(shown))]
        base = self.values(dtype, int(np.prod([extents[a] for a in order], dtype=int)), style)
        base = base.reshape([extents[a] for a in order])
        if base.ndim and rng.random() < 0.2:
            base = np.asfortranarray(base)
        name = f"b{self.bases}.npy"
        self.bases += 1
        np.save(self.folder / name, base)
        steps = [["permute", inverse]]
        if any(slices[i] != [0, extents[i], 1] for i in range(len(shown))):
            steps.append(["slice", slices])
        if any(repeated) and rng.random() < 0.5:
            steps.append(["broadcast", shown])
        return {"base": name, "dtype": dtype, "steps": steps}

    def case(self, kind, op, inputs, **arguments):
        self.cases.append({"id": len(self.cases), "kind": kind, "op": op, "inputs": inputs, "arguments": arguments})

    def elementwise(self, count):
        for op, _, dtypes, _ in ELEMENTWISE:
            # Few dtypes need fewer cases; every one of them appears.
            for number in range(max(count, len(dtypes))):
                dtype = dtypes[number % len(dtypes)]
                arity = 3 if op in TERNARY else 2 if op in BINARY else 1
                shape = self.shape()
                inputs = []
                for position in range(arity):
                    own = dtype
                    if op == "where" and position == 0:
                        own = "bool"
                    elif position and self.random.random() < 0.3:
                        own = self.random.choice(dtypes)
                        # Integers of 64 bits and either sign have a common dtype that is none.
                        if np.promote_types(dtype, own).name not in dtypes:
                            own = dtype
                    inputs.append(self.view(shape, own))
                self.case("elementwise", op, inputs)

    def reductions(self, count):
        for op, _, dtypes in REDUCTIONS:
            for number in range(max(count, len(dtypes))):
                dtype = dtypes[number % len(dtypes)]
                shape = self.shape()
                axes = None
                if shape and self.random.random() < 0.7:
                    most = 1 if op.startswith("arg") else len(shape)
                    axes = self.random.sample(range(len(shape)), self.random.randint(1, most))
                    axes = [a - len(shape) if self.random.random() < 0.3 else a for a in axes]
                if op in NEEDS_ELEMENTS and 0 in shape:
                    continue
                exact = op in NEEDS_ELEMENTS or op in ("any", "all") or np.dtype(dtype).kind in "iub"
                style = "any" if exact else "one" if op == "prod" else "moderate"
                inputs = [self.view(shape, dtype, style, broadcast=False)]
                self.case("reduction", op, inputs, axes=axes, keepdims=self.random.random() < 0.5)

    def along(self, count):
        rng = self.random
        for op, dtypes, style, more, _ in ALONG:
            for number in range(max(count, len(dtypes))):
                dtype = dtypes[number % len(dtypes)]
                shape = self.shape() or [3]
                if op in ("tril", "triu", "matmul") and len(shape) < 2:
                    shape = [4, *shape]
                if op in ("take", *SPREAD) and 0 in shape:
                    shape = [2, 3]
                axis = len(shape) - 1 if op == "matmul" else rng.randrange(len(shape))
                extent = shape[axis]
                # NumPy orders complex numbers with a NaN in one part among themselves; here they are equal, and last.
                own = "finite" if op in ("sort", "argsort") and dtype in COMPLEX else style
                inputs = [self.view(shape, dtype, own, broadcast=False)]
                arguments = {"axis": axis - len(shape) if rng.random() < 0.3 else axis}
                for name in more:
                    if name == "descending":
                        # NaN is last in either direction here, NumPy has none to compare with.
                        arguments[name] = np.dtype(dtype).kind in "biu" and rng.random() < 0.5
                    elif name == "shift":
                        arguments[name] = rng.randint(-4, 4)
                    elif name == "count":
                        arguments[name] = rng.randint(0, 3)
                    elif name == "places":
                        inputs.append(self.places([rng.randint(0, 5) for _ in range(rng.randint(1, 2))], -extent, extent))
                    elif name == "order":
                        own = list(shape)
                        own[axis] = rng.randint(0, 5) if extent else 0
                        inputs.append(self.places(own, -extent, extent))
                    elif name == "mask":
                        inputs.append(self.view(shape, "bool", broadcast=False))
                    elif name == "needles":
                        inputs.append(self.view(self.shape(), dtype, style, broadcast=False))
                    elif name == "columns":
                        inputs.append(self.view([*shape[:-2], extent, rng.randint(0, 6)], dtype, style, broadcast=False))
                self.case("along", op, inputs, **arguments)

    def places(self, shape, low, high):
        dtype = self.random.choice(["int64", "int32", "int8"])
        base = self.numbers.integers(low, max(high, low + 1), shape).astype(dtype)
        name = f"b{self.bases}.npy"
        self.bases += 1
        np.save(self.folder / name, base)
        return {"base": name, "dtype": dtype, "steps": []}

    def whole(self, count):
        for source in ALL:
            for target in ALL:
                for _ in range(max(1, count // 20)):
                    self.case("whole", "astype", [self.view(self.shape(), source)], dtype=target)
        for op in ("concat", "stack"):
            for number in range(count * 2):
                dtype = ALL[number % len(ALL)]
                shape = self.shape(5) or [3]
                axis = self.random.randrange(len(shape) + (op == "stack"))
                inputs = []
                for _ in range(self.random.randint(1, 4)):
                    own = list(shape)
                    if op == "concat":
                        own[axis] = self.random.choice([0, 1, 2, 5])
                    other = self.random.choice(ALL) if self.random.random() < 0.2 else dtype
                    inputs.append(self.view(own, other, broadcast=False))
                self.case("whole", op, inputs, axis=axis)


def make(folder, count, seed):
    folder.mkdir(parents=True, exist_ok=True)
    maker = Maker(folder, seed)
    maker.elementwise(count)
    maker.reductions(count * 2)
    maker.along(count)
    maker.whole(count)
    (folder / "cases.json").write_text(json.dumps(maker.cases))
    print(f"{len(maker.cases)} cases on {maker.bases} arrays, NumPy {np.__version__}, seed {seed}")


# ---- NumPy's answers -------------------------------------------------------------------------------------------------


def look(folder, spec):
    array = np.load(folder / spec["base"])
    for step, argument in spec["steps"]:
        if step == "permute":
            array = array.transpose(argument)
        elif step == "slice":
            array = array[tuple(slice(*bounds) for bounds in argument)]
        else:
            array = np.broadcast_to(array, argument)
    return array


WIDER = {"float16": np.longdouble, "float32": np.longdouble, "float64": np.longdouble}
WIDER |= {"complex64": np.clongdouble, "complex128": np.clongdouble}


def common(arrays):
    # Floats first, as several integers and a float promote in no other order to the same.
    dtypes = sorted({a.dtype for a in arrays}, key=lambda d: d.kind not in "fc")
    result = dtypes[0]
    for dtype in dtypes[1:]:
        result = np.promote_types(result, dtype)
    return result


def ulp(dtype, exact):
    info = np.finfo(dtype)
    magnitude = np.clip(np.abs(exact), np.longdouble(info.tiny), np.longdouble(info.max))
    return np.ldexp(np.longdouble(1), np.frexp(magnitude)[1] - 1 - info.nmant)


def same(got, expected):
    """Equal, NaN where NaN is expected, and zeros of equal sign."""
    if expected.dtype.kind == "c":
        return same(got.real, expected.real) & same(got.imag, expected.imag)
    equal = got == expected
    if expected.dtype.kind == "f":
        equal &= np.signbit(got) == np.signbit(expected)
        equal |= np.isnan(got) & np.isnan(expected)
    return equal


class Answer:
    """What a result may be: `good(got)` says which elements are right, `compared` which of them count."""

    def __init__(self, expected, good=None, compared=True):
        self.expected = expected
        self.good = good or (lambda got: same(got, expected))
        self.compared = np.broadcast_to(compared, expected.shape)


def near(expected, exact, allowed):
    """Within a distance of the exact value, given as an array; results that are equal always are."""

    def good(got):
        wide = got.astype(exact.dtype, copy=False)
        finite = np.isfinite(expected)
        # One unit beyond the largest number stands for infinity, where rounding may go either way.
        return same(got, expected) | (finite & np.isfinite(got) & (np.abs(wide - exact) <= allowed))

    return good


# Operation, dtype kinds, reason, and the elements that are left out, from the operands in their common dtype.
RULES = [
    ("floor_divide", "iu", "integers by 0: NumPy says 0 with a warning, the array API nothing", lambda x, y: y == 0),
    ("remainder", "iu", "integers by 0: NumPy says 0 with a warning, the array API nothing", lambda x, y: y == 0),
    ("pow", "iu", "negative powers of integers: NumPy refuses the whole array", lambda x, y: y < 0),
    ("bitwise_left_shift", "iu", "shifts by negative amounts are undefined", lambda x, y: y < 0),
    ("bitwise_right_shift", "iu", "shifts by negative amounts are undefined", lambda x, y: y < 0),
    ("floor_divide", "f", "NumPy: NaN for an infinite dividend, the array API: infinite or NaN", lambda x, y: np.isinf(x)),
    ("floor_divide", "f", "by an infinity of the other sign: NumPy says -1, the array API -0", lambda x, y: np.isinf(y)),
    ("nextafter", "f", "of zeros of either sign: NumPy says the first in float16, the second elsewhere", lambda x, y: (x == 0) & (y == 0)),
    (
        "floor_divide",
        "f",
        "NumPy rounds the dividend less the remainder first: it may be an integer off",
        lambda x, y: np.abs(x) >= np.abs(y) * (1 / np.finfo(x.dtype).eps / 4),
    ),
]
# Operations whose zeros may have either sign: of +0 and −0 neither is smaller.
UNSIGNED_ZEROS = {"minimum", "maximum", "clip", "min", "max"}


def elementwise(case, inputs):
    op = case["op"]
    _, function, _, comparison = next(row for row in ELEMENTWISE if row[0] == op)
    operands = inputs[1:] if op == "where" else inputs
    dtype = common(operands)
    if op in WANTS_FLOAT and dtype.kind not in "fc":
        dtype = np.dtype(np.float64)
    # Computed as arrays of one dimension at least: NumPy 1 promotes scalars by their value.
    shape = np.broadcast_shapes(*(x.shape for x in inputs))
    operands = [np.atleast_1d(np.broadcast_to(x, shape)).astype(dtype) for x in operands]
    compared = np.ones(operands[0].shape, bool)
    for name, kinds, _, left_out in RULES:
        if name == op and dtype.kind in kinds:
            compared &= ~left_out(*operands)
    if op == "pow" and dtype.kind in "iu":
        operands[1] = np.where(compared, operands[1], 0).astype(dtype)
    if op == "where":
        operands = [np.atleast_1d(np.broadcast_to(inputs[0], shape)), *operands]
    inexact = comparison != EXACT and dtype.kind in "fc"
    if not inexact:
        expected = np.asarray(function(*operands))
        if op in UNSIGNED_ZEROS and dtype.kind == "f":
            expected = expected.reshape(shape)
            return Answer(expected, lambda got: same(got, expected) | (got == expected), compared.reshape(shape))
        return Answer(expected.reshape(shape), compared=compared.reshape(shape))
    wide = [x.astype(WIDER[dtype.name]) for x in operands]
    exact = function(*wide)
    # The magnitude of complex numbers is a real one.
    narrow = exact.astype(dtype if exact.dtype.kind == dtype.kind else dtype.type(0).real.dtype)
    if dtype.kind == "f":
        unit = ulp(dtype, exact)
        # NumPy's own rounding of the remainder and quotient is in the operands' precision.
        limit = 0.5 if comparison == NORM or dtype == np.float16 else 1.0
        allowed = unit * (limit + 1e-3)
        if op == "logaddexp":
            # Near 0 the terms cancel, here and in the reference.
            allowed = np.maximum(allowed, ulp(dtype, np.longdouble(1 / 32))) + np.finfo(np.longdouble).eps * np.maximum(np.abs(wide[0]), np.abs(wide[1])) * 4
    else:
        # Branch cuts and results with infinite parts differ between libraries; the conformance suites have them.
        info = np.finfo(dtype)
        moderate = np.isfinite(exact) & (np.abs(exact) < info.max / 1e6) & (np.abs(exact) > info.tiny * 1e6)
        for x in wide:
            moderate &= (np.abs(x) < 1e4) & (np.abs(x) > 1e-4) & (x.imag != 0) & (x.real != 0)
        compared &= moderate
        allowed = np.abs(exact) * info.eps * 16
        if op in ("log", "log2", "log10", "log1p", "acosh", "asinh", "atanh", "asin", "acos", "atan", "expm1"):
            # Absolute near their zeros.
            allowed = np.maximum(allowed, info.eps * 16)
    expected, exact = narrow.reshape(shape), exact.reshape(shape)
    return Answer(expected, near(expected, exact, np.reshape(allowed, shape)), compared.reshape(shape))


def reduction(case, inputs):
    (x,) = inputs
    op, arguments = case["op"], case["arguments"]
    _, function, _ = next(row for row in REDUCTIONS if row[0] == op)
    axes = arguments["axes"]
    axis = None if axes is None else axes[0] if op.startswith("arg") else tuple(axes)
    keep = {"axis": axis, "keepdims": arguments["keepdims"]}
    expected = np.asarray(function(x, **keep))
    if op not in ("sum", "prod", "mean") or (x.dtype.kind in "iub" and op != "mean"):
        if op in UNSIGNED_ZEROS and x.dtype.kind == "f":
            return Answer(expected, lambda got: same(got, expected) | (got == expected))
        return Answer(expected)
    wide = x.astype(np.clongdouble if x.dtype.kind == "c" else np.longdouble)
    exact = np.asarray(function(wide, **keep))
    count = max(x.size // max(expected.size, 1), 1)
    # The bound of any order of summation, and of multiplication.
    unit = np.finfo(expected.dtype).eps * (count + 4)
    if op == "prod":
        allowed = np.abs(exact) * unit * 4
    else:
        allowed = np.asarray(function(np.abs(wide), **keep)) * unit
    expected = np.asarray(exact.astype(expected.dtype))
    return Answer(expected, near(expected, exact, allowed))


def along(case, inputs):
    op = case["op"]
    answer = next(row for row in ALONG if row[0] == op)[4]
    expected = np.asarray(answer(*inputs, **case["arguments"]))
    if op not in SPREAD:
        # Zeros of products and of running sums have the sign that the order of the terms gives them.
        unsigned = op in ("matmul", "cumulative_sum", "unique_values")
        return Answer(expected, (lambda got: got == expected) if unsigned else None)
    exact = np.asarray(answer(inputs[0].astype(np.longdouble), **case["arguments"]))
    allowed = np.abs(exact) * np.finfo(expected.dtype).eps * (inputs[0].size + 8)
    expected = np.asarray(exact.astype(expected.dtype))
    return Answer(expected, near(expected, exact, allowed))


def whole(case, inputs):
    op, arguments = case["op"], case["arguments"]
    if op == "astype":
        (x,) = inputs
        target = np.dtype(arguments["dtype"])
        expected = x.astype(target)
        compared = np.ones(x.shape, bool)
        if x.dtype.kind in "fc" and target.kind in "iu":
            # NaN and numbers out of range: undefined in NumPy.
            info, real = np.iinfo(target), x.real.astype(np.longdouble)
            low, high = (np.longdouble(str(bound)) for bound in (info.min, info.max))
            compared = (np.trunc(real) >= low) & (np.trunc(real) <= high)
        return Answer(expected, compared=compared)
    dtype = common(inputs)
    function = np.concatenate if op == "concat" else np.stack
    return Answer(function([x.astype(dtype) for x in inputs], axis=arguments["axis"]))


KINDS = {"elementwise": elementwise, "reduction": reduction, "along": along, "whole": whole}


def describe(case):
    views = [f"{i['dtype']} {i['base']} {i['steps']}" for i in case["inputs"]]
    return f"case {case['id']}: {case['op']} {case['arguments'] or ''} of " + "; ".join(views)


def fault(folder, case, answer, outcome):
    if "error" in outcome:
        return f"error: {outcome['error']}"
    got = np.load(folder / outcome["file"])
    if got.shape != answer.expected.shape:
        return f"shape {got.shape}, NumPy has {answer.expected.shape}"
    if got.dtype != answer.expected.dtype:
        return f"dtype {got.dtype}, NumPy has {answer.expected.dtype}"
    wrong = answer.compared & ~answer.good(got)
    if not wrong.any():
        return None
    place = tuple(int(i[0]) for i in np.nonzero(np.atleast_1d(wrong)))
    inputs = [np.atleast_1d(np.broadcast_to(look(folder, i), got.shape))[place] for i in case["inputs"]] if case["kind"] == "elementwise" else []
    values = np.atleast_1d(got)[place], np.atleast_1d(answer.expected)[place]
    return f"{int(wrong.sum())} of {wrong.size} elements, first at {place} of {inputs}: {values[0]!r}, NumPy has {values[1]!r}"


def check(folder):
    cases = json.loads((folder / "cases.json").read_text())
    outcomes = json.loads((folder / "outcomes.json").read_text())
    devices, faults, compared, elements = set(), [], 0, 0
    known = {}
    for outcome in outcomes:
        case = cases[outcome["case"]]
        devices.add(outcome["device"])
        key = (outcome["case"], outcome.get("file"), outcome.get("error"))
        if key not in known:
            inputs = [look(folder, spec) for spec in case["inputs"]]
            answer = KINDS[case["kind"]](case, inputs)
            known[key] = fault(folder, case, answer, outcome)
            elements += int(answer.compared.sum())
        compared += 1
        if known[key]:
            faults.append((case["op"], outcome["device"], describe(case), known[key]))

    missing = len(cases) * len(devices) - compared
    print(f"{len(cases)} cases on {', '.join(sorted(devices))}: {compared} results, {elements} elements compared")
    by_op = {}
    for op, device, text, why in faults:
        by_op.setdefault(op, []).append((device, text, why))
    for op, found in sorted(by_op.items()):
        print(f"{op}: {len(found)} results differ")
        for device, text, why in found[:3]:
            print(f"  {device}, {text}\n    {why}")
    if missing or not cases:
        print(f"{missing} results are missing")
    return 1 if faults or missing or not cases else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["make", "check"])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--cases", type=int, default=40, help="cases per elementwise operation")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.command == "make":
        make(options.folder, options.cases, options.seed)
        return 0
    return check(options.folder)


if __name__ == "__main__":
    sys.exit(main())
