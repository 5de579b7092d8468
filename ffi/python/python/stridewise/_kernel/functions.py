# mypy: ignore-errors
"""What kernels can call, and what ids and atomics have."""

import ast
import math
import operator

from .. import _native, dppy, kernel_api
from .launcher import DeviceFunction, Kernel
from .things import (
    COMPLEX, FIRM, FLOAT, INTEGER, KINDS, NUMBER, Array, Atomic, Method, Number, Place, about, dtype_name, integer, named_dtype,
)  # fmt: skip

#: Operations of the engine: name, how many operands, whether integers become floats first, whether they take booleans.
OPERATIONS = _native._operations()

# Names of the same operations elsewhere, where they differ.
_MATH = {"fabs": "abs"}
_NUMPY = {
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2", "arcsinh": "asinh", "arccosh": "acosh",
    "arctanh": "atanh", "absolute": "abs", "fabs": "abs", "power": "pow", "true_divide": "divide", "mod": "remainder",
    "invert": "bitwise_invert", "left_shift": "bitwise_left_shift", "right_shift": "bitwise_right_shift", "rint": "round",
    "conjugate": "conj",
}  # fmt: skip
#: Operations that groups fold by, and what names them.
FOLDS = ("add", "multiply", "minimum", "maximum", "bitwise_and", "bitwise_or", "bitwise_xor")
_FOLD_FUNCTIONS = {
    operator.add: "add", operator.mul: "multiply", min: "minimum", max: "maximum",
    operator.and_: "bitwise_and", operator.or_: "bitwise_or", operator.xor: "bitwise_xor", sum: "add",
}  # fmt: skip


def operation(function):
    """The engine's operation that a function of math, NumPy or stridewise is, or None."""
    name, module = getattr(function, "__name__", None), getattr(function, "__module__", None)
    if module == "math":
        name = _MATH.get(name, name)
    elif module == "stridewise" or module == "numpy":
        name = _NUMPY.get(name, name) if module == "numpy" else name
    elif type(function).__module__ == "numpy" and type(function).__name__ == "ufunc":
        name = _NUMPY.get(name, name)
    else:
        return None
    return name if name in OPERATIONS and not isinstance(function, type) else None


class Signature:
    """Arguments by position and name."""

    def __init__(self, *names, **optional):
        self.names, self.optional = (*names, *optional), optional

    def __call__(self, reader, node, arguments, keywords):
        given = dict(zip(self.names, arguments))
        wrong = [name for name in keywords if name in given or name not in self.names]
        given = {**self.optional, **given, **keywords}
        if wrong or len(arguments) > len(self.names) or len(given) < len(self.names):
            reader.fail(
                node, "arguments", "called with other arguments than it takes", f"it takes ({', '.join(self.names)})"
            )
        return [given[name] for name in self.names]


def takes(*names, **optional):
    """Makes a handler of one that takes these arguments: handler(reader, node, …)."""
    signature = Signature(*names, **optional)
    return lambda handler: lambda reader, node, arguments, keywords: handler(
        reader, node, *signature(reader, node, arguments, keywords)
    )


# Ids.


def _index(reader, node, level, axis, of_range):
    """One id or extent, or all of them where no axis is named."""
    if axis is None:
        all_ = tuple(_index(reader, node, level, axis, of_range) for axis in range(reader.dims))
        return all_ if reader.dims > 1 else all_[0]
    axis = reader.axis(axis, node, reader.dims)
    reader.at(node)
    return Number(reader.builder.index(level, axis, of_range), NUMBER, of_range)


def _id(level, of_range=False):
    return takes(idx=None)(lambda reader, node, idx: _index(reader, node, level, idx, of_range))


def _linear(level):
    def linear(reader, node):
        reader.at(node)
        return Number(reader.builder.index(level), NUMBER)

    return takes()(linear)


def _size(level):
    def size(reader, node):
        return reader.product(node, [_index(reader, node, level, axis, True) for axis in range(reader.dims)])

    return takes()(size)


_MEMBERS = {
    "Item": {
        "get_id": _id("global"),
        "get_linear_id": _linear("global"),
        "get_range": _id("global", True),
        "get_linear_range": _size("global"),
    },
    "NdItem": {
        "get_global_id": _id("global"),
        "get_global_linear_id": _linear("global"),
        "get_global_range": _id("global", True),
        "get_global_linear_range": _size("global"),
        "get_local_id": _id("local"),
        "get_local_linear_id": _linear("local"),
        "get_local_range": _id("local", True),
        "get_local_linear_range": _size("local"),
        "get_group": takes()(lambda reader, node: Place("Group")),
    },
    "Group": {
        "get_group_id": _id("group"),
        "get_group_linear_id": _linear("group"),
        "get_group_range": _id("group", True),
        "get_group_linear_range": _size("group"),
        "get_local_range": _id("local", True),
        "get_local_linear_range": _size("local"),
        "get_local_linear_id": _linear("local"),
    },
}


def members(place):
    """The names that an Item, an NdItem or a Group has."""
    return [*_MEMBERS[place.kind], "dimensions", *(["leader"] if place.kind == "Group" else [])]


def attribute(reader, node, thing, name):
    """What ids and atomics have under a name, or None."""
    if isinstance(thing, Place):
        if name in ("dimensions", "ndim"):
            return reader.dims
        if name == "leader" and thing.kind == "Group":
            return reader.apply(node, "equal", _linear("local")(reader, node, (), {}), 0)
        found = _MEMBERS[thing.kind].get(name)
    else:
        found = _ATOMIC.get(name) if isinstance(thing, Atomic) else None
        if found is not None:
            handler = found
            found = lambda reader, node, arguments, keywords: handler(reader, node, (thing, *arguments), keywords)
    return None if found is None else Method(name, found)


# Memory.


def _shape(reader, node, shape):
    """Extents that are known."""
    extents = [integer(reader.settled(extent)) for extent in (shape if isinstance(shape, (tuple, list)) else (shape,))]
    if not extents or not all(isinstance(extent, int) and extent > 0 for extent in extents):
        reader.fail(
            node, "types", f"an array of the shape {about(shape)}", "extents are positive integers that are known, not computed"
        )
    return tuple(extents)


def _memory(kind):
    def make(reader, node, shape, dtype, fill_zeros=False):
        shape, name = _shape(reader, node, shape), reader.naming or kind
        named = {int: reader.defaults[INTEGER], float: reader.defaults[FLOAT], bool: "bool", complex: reader.defaults[COMPLEX]}
        found = named.get(dtype) if isinstance(dtype, type) else None
        found = found or named_dtype(dtype)
        if found is None:
            reader.fail(node, "types", f"{about(dtype)} is no dtype", "give one such as stridewise.float32")
        reader.at(node)
        made = (reader.builder.local if kind == "local" else reader.builder.private)(name, found, shape)
        if fill_zeros and any(frame.loops for frame in reader.frames):
            # It is of zeros at first only, and is made again in each round.
            indices = tuple(reader.builder.for_(0, extent, 1) for extent in shape)
            reader.builder.store(made, indices, 0)
            for _ in shape:
                reader.builder.end()
        return Array(made, name, found, len(shape), (), shape, kind)

    return make


def _local_accessor(reader, node, arguments, keywords):
    reader.fail(
        node, "structure", "a LocalAccessor that is made in a kernel", "make it where the kernel is called, and pass it as an argument"
    )


# Groups.


def _group(reader, node, group):
    if not isinstance(group, Place) or group.kind != "Group":
        reader.fail(node, "types", f"{about(group)} for a group", "give the NdItem's: item.get_group()")


def _barrier(reader, node, group, fence_scope):
    _group(reader, node, group)
    reader.at(node)
    reader.builder.barrier(True, True)


def _fence(reader, node, memory_order, memory_scope):
    reader.at(node)
    reader.builder.fence(_order(reader, node, memory_order), _scope(reader, node, memory_scope))


def _order(reader, node, order):
    if not isinstance(order, kernel_api.MemoryOrder):
        reader.fail(node, "types", f"{about(order)} for an order", "give one of MemoryOrder")
    return "acquire" if order.name == "CONSUME" else order.name.lower()


def _scope(reader, node, scope):
    if not isinstance(scope, kernel_api.MemoryScope):
        reader.fail(node, "types", f"{about(scope)} for a scope", "give one of MemoryScope")
    return scope.name.lower()


def _space(reader, node, space, array):
    """That an array is where an AtomicRef says."""
    if not isinstance(space, kernel_api.AddressSpace):
        reader.fail(node, "types", f"{about(space)} for an address space", "give one of AddressSpace")
    if space.name.lower() not in (array.space, "generic"):
        reader.fail(node, "types", f"`{array.name}`, which is in {array.space} memory, as {space.name}", "leave `address_space` away: it is known")


def fold_name(op):
    """The operation that an argument names to fold by, or None."""
    name = op if isinstance(op, str) else _FOLD_FUNCTIONS.get(op) or operation(op)
    return name if name in FOLDS else None


def _fold(kind):
    def fold(reader, node, group, x, op):
        _group(reader, node, group)
        name = fold_name(op)
        if name is None:
            reader.fail(node, "types", f"{about(op)} for what folds", f"give one of {', '.join(map(repr, FOLDS))}")
        number = reader.number(x, node, "what is folded")
        dtype = reader.type_of(number)[0]
        return _collective(reader, node, kind, number, "int64" if dtype == "bool" else dtype, name)

    return fold


def _collective(reader, node, kind, number, dtype, op=None, from_=None):
    firm = reader.type_of(number)[1]
    reader.at(node)
    value = reader.builder.cast(reader.operand(number), dtype)
    return Number(reader.builder.collective(kind, value, op, from_), firm)


def _broadcast(reader, node, group, x, local_id):
    _group(reader, node, group)
    number, from_ = reader.number(x, node, "what is broadcast"), reader.number(local_id, node, "a local linear id")
    return _collective(reader, node, "broadcast", number, reader.type_of(number)[0], None, reader.operand(from_))


def _test(kind, negated=False):
    def test(reader, node, group, predicate):
        _group(reader, node, group)
        result = _collective(reader, node, kind, reader.truth(predicate, node), "bool")
        return reader.apply(node, "logical_not", result) if negated else result

    return test


# Atomics.


def _atomic_ref(reader, node, ref, index, memory_order, memory_scope, address_space):
    array = reader.array(ref, node)
    if array is None:
        reader.fail(node, "types", f"{about(ref)} for what is shared", "give an array that is an argument, or local memory")
    element = array if array.is_element else reader.indexed(node, array, index)
    if not element.is_element:
        reader.fail(node, "index-count", f"`{array.name}` has {array.ndim} dimensions", "give one index for each: a tuple")
    if address_space is not None:
        _space(reader, node, address_space, array)
    return Atomic(element, _order(reader, node, memory_order), _scope(reader, node, memory_scope))


def _of_element(reader, node, number, array):
    """A number that an element can be: what it has a dtype of is no wider a kind."""
    dtype, firm = reader.type_of(number)
    if firm == FIRM and KINDS[dtype] > KINDS[array.dtype]:
        reader.fail(node, "types", f"{about(number)} for an element of `{array.name}`, which is {array.dtype}", f"convert it: {array.dtype}(…)")
    return number


def _atomic(op):
    def atomic(reader, node, ref, val=None):
        array = ref.array
        number = None if op == "load" else _of_element(reader, node, reader.number(val, node, "what an atomic access gives"), array)
        reader.at(node)
        operand = None if number is None else reader.assigned(number, array.dtype)
        value = reader.builder.atomic(op, array.object, array.indices, operand, ref.order, ref.scope)
        return None if value is None else Number(value, FIRM)

    return takes("ref")(atomic) if op == "load" else takes("ref", "val")(atomic)


def _compare_exchange(reader, node, ref, expected, desired, expected_idx):
    store = None
    if isinstance(expected, Array):
        store = expected if expected.is_element else reader.indexed(node, expected, expected_idx)
    wanted = reader.number(store if store is not None else expected, node, "the expected value")
    array, builder = ref.array, reader.builder
    desired = _of_element(reader, node, reader.number(desired, node, "the desired value"), array)
    reader.at(node)
    wanted = Number(builder.cast(reader.assigned(wanted, array.dtype), array.dtype), FIRM)
    order = (ref.order, ref.scope)
    desired = reader.assigned(desired, array.dtype)
    found = builder.atomic("exchange", array.object, array.indices, desired, *order, wanted.value)
    found = Number(found, FIRM)
    if store is not None:
        builder.store(store.object, store.indices, found.value)
    return reader.apply(node, "equal", found, wanted)


def _compare_exchange_of_either(reader, node, arguments, keywords):
    """By either name of what is expected."""
    keywords = {"expected" if name == "expected_ref" else name: thing for name, thing in keywords.items()}
    return takes("ref", "expected", "desired", expected_idx=0)(_compare_exchange)(reader, node, arguments, keywords)


_ATOMIC = {
    "load": _atomic("load"),
    "store": _atomic("store"),
    "exchange": _atomic("exchange"),
    "compare_exchange": _compare_exchange_of_either,
} | {f"fetch_{op}": _atomic(op) for op in ("add", "sub", "min", "max", "and", "or", "xor")}


def _dppy_atomic(op):
    def atomic(reader, node, ary, index, val):
        order, scope = kernel_api.MemoryOrder.RELAXED, kernel_api.MemoryScope.DEVICE
        return _atomic(op)(reader, node, (_atomic_ref(reader, node, ary, index, order, scope, None), val), {})

    return takes("ary", "index", "val")(atomic)


# Functions of Python's.


def _length(reader, node, thing):
    if isinstance(thing, Array):
        if len(thing.indices) == thing.ndim:
            reader.fail(node, "types", f"the length of {about(thing)}", "ask for that of an array")
        return reader.extent(node, thing, 0)
    try:
        return len(thing)
    except TypeError:
        reader.fail(node, "types", f"the length of {about(thing)}", "ask for that of an array")


def _extreme(op):
    def extreme(reader, node, arguments, keywords):
        things = arguments[0] if len(arguments) == 1 and isinstance(arguments[0], tuple) else arguments
        if keywords or not things:
            reader.fail(node, "arguments", "no numbers to choose from, or names", "give numbers")
        found = reader.folded(node, min if op == "minimum" else max, *things) if len(things) > 1 else None
        if found is not None:
            return found
        result = things[0]
        for thing in things[1:]:
            result = reader.apply(node, op, result, thing)
        return reader.number(result, node)

    return extreme


def _integer(op):
    """An operation whose result is a Python integer."""

    def rounded(reader, node, x):
        functions = {"floor": math.floor, "ceil": math.ceil, "trunc": math.trunc, "round": round}
        found = reader.folded(node, functions[op], x)
        if found is not None:
            return found
        return reader.cast(node, int, reader.apply(node, op, x))

    return takes("x")(rounded)


def _log(reader, node, x, base):
    found = reader.folded(node, math.log, *((x,) if base is None else (x, base)))
    if found is not None:
        return found
    result = reader.apply(node, "log", x)
    return result if base is None else reader.binary(node, ast.Div, result, reader.apply(node, "log", base))


def _scaled(factor):
    return takes("x")(lambda reader, node, x: reader.binary(node, ast.Mult, x, factor))


def _divmod(reader, node, x, y):
    return reader.binary(node, ast.FloorDiv, x, y), reader.binary(node, ast.Mod, x, y)


def _getattr(reader, node, thing, name):
    if not isinstance(name, str):
        reader.fail(node, "types", f"{about(name)} for a name", "give a text that is known: a literal, or a name around the kernel")
    return reader.member(node, thing, name)


def _barrier_of_flags(reader, node, flags):
    known = (dppy.CLK_LOCAL_MEM_FENCE, dppy.CLK_GLOBAL_MEM_FENCE)
    if flags not in (*known, known[0] | known[1]):
        reader.fail(node, "types", f"{about(flags)} for a fence", "give dppy.CLK_LOCAL_MEM_FENCE or CLK_GLOBAL_MEM_FENCE")
    reader.at(node)
    reader.builder.barrier(bool(flags & known[0]), bool(flags & known[1]))


def _either(found, otherwise):
    """What was found, or what else there is."""
    return otherwise() if found is None else found


def _not_here(what, help):
    return lambda reader, node, arguments, keywords: reader.fail(node, "structure", what, help)


_ANY = {"memory_order": kernel_api.MemoryOrder.RELAXED, "memory_scope": kernel_api.MemoryScope.DEVICE, "address_space": None}

#: What can be called, by the object that the name stands for.
CALLS = {
    kernel_api.AtomicRef: takes("ref", index=0, **_ANY)(_atomic_ref),
    kernel_api.PrivateArray: takes("shape", "dtype", fill_zeros=False)(_memory("private")),
    kernel_api.LocalAccessor: _local_accessor,
    kernel_api.group_barrier: takes("group", fence_scope=kernel_api.MemoryScope.WORK_GROUP)(_barrier),
    kernel_api.atomic_fence: takes("memory_order", "memory_scope")(_fence),
    kernel_api.reduce_over_group: takes("group", "x", op="add")(_fold("reduce")),
    kernel_api.inclusive_scan_over_group: takes("group", "x", op="add")(_fold("inclusive_scan")),
    kernel_api.exclusive_scan_over_group: takes("group", "x", op="add")(_fold("exclusive_scan")),
    kernel_api.group_broadcast: takes("group", "x", local_id=0)(_broadcast),
    kernel_api.all_of_group: takes("group", "predicate")(_test("all")),
    kernel_api.any_of_group: takes("group", "predicate")(_test("any")),
    kernel_api.none_of_group: takes("group", "predicate")(_test("any", negated=True)),
    dppy.get_global_id: _id("global"),
    dppy.get_local_id: _id("local"),
    dppy.get_group_id: _id("group"),
    dppy.get_global_size: _id("global", True),
    dppy.get_local_size: _id("local", True),
    dppy.get_num_groups: _id("group", True),
    dppy.get_work_dim: takes()(lambda reader, node: reader.dims),
    dppy.barrier: takes(flags=dppy.CLK_LOCAL_MEM_FENCE | dppy.CLK_GLOBAL_MEM_FENCE)(_barrier_of_flags),
    dppy.mem_fence: takes(flags=0)(
        lambda reader, node, flags: (reader.at(node), reader.builder.fence("acq_rel", "work_group"))[1]
    ),
    dppy.local.array: takes("shape", "dtype")(_memory("local")),
    dppy.private.array: takes("shape", "dtype")(_memory("private")),
    dppy.atomic.add: _dppy_atomic("add"),
    dppy.atomic.sub: _dppy_atomic("sub"),
    getattr: takes("thing", "name")(_getattr),
    len: takes("thing")(_length),
    min: _extreme("minimum"),
    max: _extreme("maximum"),
    abs: takes("x")(lambda reader, node, x: _either(reader.folded(node, abs, x), lambda: reader.apply(node, "abs", x))),
    pow: takes("x", "y")(lambda reader, node, x, y: reader.binary(node, ast.Pow, x, y)),
    divmod: takes("x", "y")(_divmod),
    round: _integer("round"),
    math.floor: _integer("floor"),
    math.ceil: _integer("ceil"),
    math.trunc: _integer("trunc"),
    math.log: takes("x", base=None)(_log),
    math.pow: takes("x", "y")(
        lambda reader, node, x, y: _either(
            reader.folded(node, math.pow, x, y),
            lambda: reader.binary(node, ast.Pow, _either(reader.folded(node, float, x), lambda: x), y),
        )
    ),
    math.radians: _scaled(math.pi / 180),
    math.degrees: _scaled(180 / math.pi),
    range: _not_here("a range outside of a loop", "write `for i in range(…)`"),
    print: _not_here("`print` in a kernel", "write what is of interest to an array, and print that"),
}


def call(reader, node, function, arguments, keywords):
    """What a call comes to."""
    if isinstance(function, Method):
        return function.function(reader, node, arguments, keywords)
    if isinstance(function, DeviceFunction):
        return reader.inline(node, function._source, arguments, keywords)
    try:
        handler = CALLS.get(function)
    except TypeError:
        handler = None
    if handler is not None:
        return handler(reader, node, arguments, keywords)
    if any(function is type_ for type_ in (int, float, bool, complex)) or dtype_name(function) is not None:
        if keywords or len(arguments) != 1:
            reader.fail(node, "arguments", "a conversion of other than one number", "give one number")
        return reader.cast(node, function, arguments[0])
    op = operation(function)
    if op is not None:
        arity = OPERATIONS[op][0]
        if keywords or len(arguments) != arity:
            reader.fail(node, "arguments", f"`{function.__name__}` of {len(arguments)} arguments", f"it takes {arity}")
        found = reader.folded(node, function, *arguments) if function.__module__ == "math" else None
        return reader.apply(node, op, *arguments) if found is None else found
    name = getattr(function, "__name__", about(function))
    if isinstance(function, Kernel):
        reader.fail(node, "structure", f"`{function._source.name}` is a kernel", "make what both need a device_func")
    reader.fail(
        node,
        "names",
        f"`{name}` cannot be called in a kernel",
        "kernels call functions that are decorated by `device_func`, elementwise functions of math, numpy and stridewise, and those "
        "of stridewise.kernel_api",
    )
