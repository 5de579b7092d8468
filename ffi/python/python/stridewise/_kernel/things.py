# mypy: ignore-errors
"""What expressions of a kernel are: numbers that items compute, arrays, and what is known when the kernel is made.

A number of Python's is known: a constant. The type of other numbers is a dtype and how firm it is. What Python's own numbers
make (ids, extents, counters, `float(x)`) is weak beside floats, as Python's numbers are beside arrays: it takes their dtype.
What comes from an array or has been given a dtype is firm.
"""

import types

from .. import _native

BOOL, INTEGER, FLOAT, COMPLEX = range(4)
KINDS = (
    {"bool": BOOL}
    | {f"{sign}int{bits}": INTEGER for sign in ("", "u") for bits in (8, 16, 32, 64)}
    | {"float16": FLOAT, "bfloat16": FLOAT, "float32": FLOAT, "float64": FLOAT}
    | {"complex64": COMPLEX, "complex128": COMPLEX}
)

#: How firm a type is: that of a literal which nobody has said anything about, a number of Python's, a dtype.
LITERAL, NUMBER, FIRM = range(3)


class Number:
    """A number that items compute."""

    __slots__ = ("value", "dtype", "firm", "positive")

    def __init__(self, value, firm, positive=False):
        """positive: it is known to be above 0, as extents of index spaces are."""
        self.value, self.dtype, self.positive = value, value.dtype, positive
        # Booleans are no dtype that anything else would take.
        self.firm = LITERAL if self.dtype == "bool" else firm


class Given(Number):
    """A number that the launch gives, or that follows from such ones as Python computes: it means what it means as a literal.

    Where it is an operand it is a parameter. What depends on its value beyond that is a guard: the kernel is for launches that
    keep it, and others have another one.
    """

    __slots__ = ("reader", "recipe", "now")

    def __init__(self, reader, recipe, now):
        """recipe: how it is computed of the arguments; see given.py. now: what it is in the launch that the kernel is made for."""
        self.reader, self.recipe, self.now, self.positive = reader, recipe, now, False
        self.dtype, self.firm = reader.defaults[number_kind(now)], LITERAL

    @property
    def value(self):
        return self.reader.parameter(self)


class Array:
    """A memory object, or what is left of its dimensions after some indices. Once all are there, it is an element."""

    __slots__ = ("object", "name", "dtype", "ndim", "indices", "shape", "space")

    def __init__(self, object, name, dtype, ndim, indices=(), shape=None, space="global"):
        """shape: the extents of the whole object, where the kernel knows them. space: where it is, of `AddressSpace`."""
        self.object, self.name, self.dtype, self.ndim, self.indices = object, name, dtype, ndim, indices
        self.shape, self.space = shape, space

    @property
    def is_element(self):
        return len(self.indices) == self.ndim


class Shape:
    """The extents of an array."""

    __slots__ = ("array",)

    def __init__(self, array):
        self.array = array

    def __len__(self):
        return self.array.ndim - len(self.array.indices)


class Place:
    """An Item, an NdItem or a Group."""

    __slots__ = ("kind",)

    def __init__(self, kind):
        self.kind = kind


class Atomic:
    """An AtomicRef: an element, an order and a scope."""

    __slots__ = ("array", "order", "scope")

    def __init__(self, array, order, scope):
        self.array, self.order, self.scope = array, order, scope


class Method:
    """What a thing's attribute is that can be called: function(reader, node, arguments)."""

    __slots__ = ("name", "function")

    def __init__(self, name, function):
        self.name, self.function = name, function


def number_kind(thing):
    """The kind of a number of Python's, or None."""
    if isinstance(thing, bool):
        return BOOL
    if isinstance(thing, int):
        return INTEGER
    if isinstance(thing, float):
        return FLOAT
    return COMPLEX if isinstance(thing, complex) else None


def is_scalar(thing):
    """Whether it is a scalar of NumPy's or an array of no dimension, which have a dtype."""
    return not isinstance(thing, (type, Array)) and getattr(thing, "ndim", None) == 0 and hasattr(thing, "dtype") and hasattr(thing, "tolist")


def integer(thing):
    """A scalar of NumPy's that is an integer as Python's; anything else as it is."""
    if number_kind(thing) is None and is_scalar(thing):
        value = thing.tolist()
        return value if isinstance(value, int) and not isinstance(value, bool) else thing
    return thing


def named_dtype(thing):
    """The name of the dtype that a thing stands for where one is asked for, so that a name is one, too; or None."""
    if not isinstance(thing, str):
        return dtype_name(thing)
    try:
        return _native.dtype(thing).name
    except (TypeError, ValueError):
        return None


def dtype_name(thing):
    """The name of the dtype that a thing stands for, or None."""
    if isinstance(thing, _native.dtype):
        return thing.name
    if type(thing).__module__.partition(".")[0] == "numba":
        # Numba's types are named as dtypes are.
        return str(thing) if str(thing) in KINDS else None
    if isinstance(thing, type) and thing in (bool, int, float, complex) or isinstance(thing, (str, types.ModuleType)):
        return None
    try:
        return _native.dtype(thing).name
    except (TypeError, ValueError):
        return None


def about(thing):
    """A thing, for messages."""
    if isinstance(thing, Number):
        return f"a number ({thing.dtype})"
    if isinstance(thing, Array):
        return f"an element of `{thing.name}`" if thing.is_element else f"the array `{thing.name}`"
    if isinstance(thing, Shape):
        return "a shape"
    if isinstance(thing, Place):
        return f"a {thing.kind}" if thing.kind == "Group" else f"an {thing.kind}"
    if isinstance(thing, Atomic):
        return "an AtomicRef"
    if isinstance(thing, Method):
        return f"the method `{thing.name}`"
    text = repr(thing)
    return text if len(text) <= 60 else f"{text[:60]}…"
