# mypy: ignore-errors
"""The reader of expressions."""

import ast
import operator

from .. import _native
from . import functions, given
from .things import (
    COMPLEX, FIRM, FLOAT, INTEGER, KINDS, NUMBER, Array, Given, Method, Number, Place, Shape, about,
    dtype_name, integer, is_scalar, named_dtype, number_kind,
)  # fmt: skip

#: Operators: the engine's operation, and what they do with numbers that are known.
BINARY = {
    ast.Add: ("add", operator.add),
    ast.Sub: ("subtract", operator.sub),
    ast.Mult: ("multiply", operator.mul),
    ast.Div: ("divide", operator.truediv),
    ast.FloorDiv: ("floor_divide", operator.floordiv),
    ast.Mod: ("remainder", operator.mod),
    ast.Pow: ("pow", operator.pow),
    ast.BitAnd: ("bitwise_and", operator.and_),
    ast.BitOr: ("bitwise_or", operator.or_),
    ast.BitXor: ("bitwise_xor", operator.xor),
    ast.LShift: ("bitwise_left_shift", operator.lshift),
    ast.RShift: ("bitwise_right_shift", operator.rshift),
}
COMPARE = {
    ast.Eq: ("equal", operator.eq),
    ast.NotEq: ("not_equal", operator.ne),
    ast.Lt: ("less", operator.lt),
    ast.LtE: ("less_equal", operator.le),
    ast.Gt: ("greater", operator.gt),
    ast.GtE: ("greater_equal", operator.ge),
}
UNARY = {
    ast.USub: ("negative", operator.neg),
    ast.UAdd: ("positive", operator.pos),
    ast.Invert: ("bitwise_invert", operator.invert),
}
COMPARISONS = {name for name, _ in COMPARE.values()}
#: What to do where an item is taken for something else.
ITEM = "the first parameter is the item where a launch has an argument less than there are parameters: was one forgotten?"
#: The least and the largest integer of a dtype.
LIMITS = {
    f"{sign}int{bits}": (0, 2**bits - 1) if sign else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    for sign in ("", "u")
    for bits in (8, 16, 32, 64)
}


class Exactly:
    """A known number in a recipe: equal to one of the same type alone, as True, 1 and 1.0 are one key."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return isinstance(other, Exactly) and type(self.value) is type(other.value) and repr(self.value) == repr(other.value)

    def __hash__(self):
        return hash(repr(self.value))


class Expressions:
    """What expressions mean. The reader of statements is made of it."""

    def expression(self, node):
        """What an expression is."""
        read = self.EXPRESSIONS.get(type(node))
        if read is None:
            self.fail(
                node,
                "structure",
                f"`{type(node).__name__}` is not for kernels",
                "expressions are numbers, names, elements of arrays, operators, comparisons, conditions and calls",
            )
        return read(self, node)

    def constant(self, node):
        return node.value

    def tuple_(self, node):
        return tuple(self.expression(one) for one in node.elts)

    # Numbers.

    def is_number(self, thing):
        if isinstance(thing, Array):
            return thing.is_element
        return isinstance(thing, Number) or number_kind(thing) is not None or is_scalar(thing)

    def number(self, thing, node, what="what stands here"):
        """A thing as a number; an element is loaded."""
        if isinstance(thing, Array) and thing.is_element:
            return self.load(node, thing)
        if isinstance(thing, Number):
            return thing
        if number_kind(thing) is not None:
            if isinstance(thing, int) and thing.bit_length() > 64:
                self.fail(node, "limit", f"{about(thing)}, an integer of more than 64 bits", "compute in floats")
            return thing
        if is_scalar(thing):
            name = dtype_name(thing.dtype)
            if name is not None:
                self.at(node)
                return Number(self.builder.cast(thing.tolist(), name), FIRM)
        help = "give a number; of an array, an element: a[i]"
        self.fail(node, "types", f"{what} is {about(thing)}", ITEM if isinstance(thing, Place) else help)

    def element_value(self, thing, node):
        """A thing, elements loaded."""
        if isinstance(thing, tuple):
            return tuple(self.element_value(one, node) for one in thing)
        return self.load(node, thing) if isinstance(thing, Array) and thing.is_element else thing

    def operand(self, number):
        """A number as the builder takes it."""
        return number.value if isinstance(number, Number) else number

    def converted(self, number, dtype):
        """A number as an operand of a dtype; literals are left, as they take it from what they stand beside."""
        if isinstance(number, Given):
            return self.assigned(number, dtype)
        if not isinstance(number, Number):
            return number
        return number.value if number.dtype == dtype else self.builder.cast(number.value, dtype)

    def assigned(self, number, dtype):
        """A number as the builder assigns it to something of a dtype: one that is given has to fit it, as a literal has."""
        if not isinstance(number, Given):
            return self.operand(number)
        if dtype in LIMITS:
            if isinstance(number.now, complex) or not given.fits(number.now, *LIMITS[dtype]):
                return number.now
            if not isinstance(number.now, bool):
                self.guard(number, *LIMITS[dtype])
        value = number.value
        return value if value.dtype == dtype or isinstance(number.now, complex) else self.builder.cast(value, dtype)

    # Numbers that the launch gives.

    def parameter(self, number):
        """The parameter that a number is which the launch gives."""
        known = self.parameters.get(number.recipe)
        if known is None:
            kind = given.kind(number.now)
            if kind is None:
                self.fail(self.here, "limit", f"{about(number.now)}, an integer of more than 64 bits", "compute in floats")
            dtype = kind if isinstance(kind, str) else self.defaults[kind]
            known = self.parameters[number.recipe] = self.builder.scalar(f"computed{len(self.derived)}", dtype)
            self.derived.append((number.recipe, kind))
        return known

    def guard(self, number, low, high):
        """The kernel is for launches in which a number that they give is in a range; None is no bound."""
        if isinstance(number.recipe, int):
            low = None if low is not None and low <= -(2**127) else low
            self.guards.append((number.recipe, low, high))
        else:
            self.tests.append((number.recipe, lambda found: given.fits(found, low, high)))

    def guard_sign(self, number, positive=False):
        """The same for numbers of its sign; where 0 is none, it is no such number. Whether it is negative."""
        negative = number.now < 0
        self.guard(number, *((None, -1) if negative else (int(positive), None)))
        return negative

    def settled(self, thing):
        """A number that the launch gives as it is, and the kernel is for launches that give the same; other things as they are."""
        if not isinstance(thing, Given):
            return thing
        if isinstance(thing.now, int):
            self.guard(thing, thing.now, thing.now)
        else:
            now = thing.now
            self.tests.append((thing.recipe, lambda found: found == now))
        return thing.now

    def folded(self, node, function, *things):
        """What a function of Python's comes to of numbers that are known or that the launch gives; None of others."""
        if self.all_known(*things):
            return self.known(node, function, *things)
        if not all(isinstance(thing, Given) or number_kind(thing) is not None for thing in things):
            return None
        now = self.known(node, function, *(thing.now if isinstance(thing, Given) else thing for thing in things))
        if number_kind(now) is None:
            return None
        recipes = (thing.recipe if isinstance(thing, Given) else (None, Exactly(thing)) for thing in things)
        return Given(self, (function, *recipes), now)

    def firm(self, number, dtype):
        """A number as a value of a dtype."""
        return Number(self.builder.cast(self.operand(number), dtype), FIRM)

    def apply(self, node, op, *things):
        """An operation on numbers: they are converted to their common type."""
        numbers = [self.number(thing, node, f"an operand of `{op}`") for thing in things]
        kinds = [self.type_of(number) for number in (numbers[1:] if op == "where" else numbers)]
        dtype, firm = kinds[0]
        for other in kinds[1:]:
            dtype, firm = self.join((dtype, firm), other)
        self.at(node)
        if op in COMPARISONS:
            # Integers of all dtypes are compared by their values.
            if all(KINDS[kind] <= INTEGER for kind, _ in kinds):
                return Number(self.builder.apply(op, *map(self.operand, numbers)), NUMBER)
        elif dtype == "bool" and not functions.OPERATIONS[op][2]:
            dtype = "int64"
        if KINDS[dtype] < FLOAT and functions.OPERATIONS[op][1]:
            dtype = self.defaults[FLOAT]
        if op == "where":
            condition, *numbers = numbers
            operands = [self.operand(condition), *(self.converted(number, dtype) for number in numbers)]
        else:
            operands = [self.converted(number, dtype) for number in numbers]
        if all(number_kind(number) is not None for number in numbers):
            # Nothing beside them says the dtype.
            operands[-1] = self.builder.cast(operands[-1], dtype)
        return Number(self.builder.apply(op, *operands), firm)

    def known(self, node, function, *numbers):
        """What numbers that are known come to."""
        try:
            return given.apply(function, *numbers)
        except given.TooLarge as error:
            self.fail(node, "limit", str(error), "compute it in the kernel, in floats")
        except given.ERRORS as error:
            self.fail(node, "types", f"{type(error).__name__}: {error}", "see the numbers that are put together here")

    def all_known(self, *things):
        return all(number_kind(thing) is not None for thing in things)

    def binary_expression(self, node):
        # Sums of many terms lean to the left: they are read in a loop, from the innermost on.
        outer = [node]
        while isinstance(outer[-1].left, ast.BinOp):
            outer.append(outer[-1].left)
        result = self.expression(outer[-1].left)
        for one in reversed(outer):
            result = self.binary(one, type(one.op), result, self.expression(one.right))
        return result

    def binary(self, node, operator_, x, y):
        """An operator on two things."""
        if operator_ not in BINARY:
            self.fail(node, "structure", "a product of matrices in a kernel", "write the loop over products")
        op, function = BINARY[operator_]
        if isinstance(x, tuple) and isinstance(y, (tuple, int)):
            return self.known(node, function, x, y)
        found = self.folded(node, function, x, y)
        if found is not None:
            return found
        x, y = self.number(x, node, f"an operand of `{op}`"), self.number(y, node, f"an operand of `{op}`")
        if op == "pow":
            return self.power(node, x, y)
        return self.apply(node, op, x, y)

    def power(self, node, x, y):
        """A power. What it comes to depends on an exponent that is known: negative ones of integers make floats."""
        exponent = y.now if isinstance(y, Given) else y
        if isinstance(exponent, int) and not isinstance(exponent, bool):
            if isinstance(y, Given):
                low, high = (None, -1) if exponent < 0 else (0, 1) if exponent < 2 else (2, 2) if exponent == 2 else (3, None)
                self.guard(y, low, high)
            if exponent == 2:
                return self.apply(node, "square", x)
            if exponent < 0:
                y = self.folded(node, float, y)
        elif isinstance(exponent, float):
            if isinstance(y, Given):
                is_root = exponent == 0.5
                self.tests.append((y.recipe, lambda found: (found == 0.5) == is_root))
            if exponent == 0.5:
                return self.apply(node, "sqrt", x)
        return self.apply(node, "pow", x, y)

    def unary(self, node):
        if isinstance(node.op, ast.Not):
            condition = self.condition(node.operand)
            return not condition if isinstance(condition, bool) else self.apply(node, "logical_not", condition)
        op, function = UNARY[type(node.op)]
        thing = self.expression(node.operand)
        found = self.folded(node, function, thing)
        return self.apply(node, op, thing) if found is None else found

    # Conditions.

    def condition(self, node):
        """An expression as a condition: True, False, or a number of dtype bool."""
        if isinstance(node, ast.BoolOp):
            return self.conditions(node)
        return self.truth(self.expression(node), node)

    def truth(self, thing, node):
        if isinstance(thing, Number):
            return thing if thing.dtype == "bool" else self.apply(node, "not_equal", thing, 0)
        if isinstance(thing, Array) and thing.is_element:
            return self.truth(self.load(node, thing), node)
        if isinstance(thing, (Array, Place, Shape)):
            self.fail(node, "types", f"{about(thing)} as a condition", "compare elements")
        try:
            return bool(thing)
        except Exception as error:
            self.fail(node, "types", f"{about(thing)} as a condition: {error}", "compare elements")

    def is_plain(self, node):
        """Whether an expression may be computed where its value is not used: it accesses and calls nothing."""
        found = getattr(node, "is_plain", None)
        if found is None:
            found = node.is_plain = not any(isinstance(inner, (ast.Subscript, ast.Call)) for inner in ast.walk(node))
        return found

    def chosen(self, node, condition, yes, no):
        """One of two things, of which only that one is computed: `yes` and `no` compute them."""
        self.at(node)
        key = (self.frame.path, (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset))
        self.builder.if_(self.operand(condition))
        for choice in (yes, no):
            if choice is no:
                self.builder.else_()
            self.open()
            self.set_variable(key, "choice", choice(), node, "what is chosen")
            self.close()
        self.builder.end()
        self.at(node)
        return self.get_variable(key)

    def bool_expression(self, node):
        """One of the values, as Python has it: the first that decides, or the last one."""
        is_or = isinstance(node.op, ast.Or)
        result = self.element_value(self.expression(node.values[0]), node.values[0])
        for one in node.values[1:]:
            condition = self.truth(result, one)
            if isinstance(condition, bool):
                if condition == is_or:
                    return result
                result = self.element_value(self.expression(one), one)
            elif self.is_plain(one):
                other = self.expression(one)
                if self.is_truth(result) and self.is_truth(other):
                    result = self.apply(node, "logical_or" if is_or else "logical_and", result, other)
                elif self.is_number(other):
                    result = self.apply(node, "where", condition, *((result, other) if is_or else (other, result)))
                else:
                    self.fail(one, "types", f"{about(other)} beside a number", "`and` and `or` choose between numbers")
            else:
                first, rest = result, lambda: self.expression(one)
                keep = lambda: first
                result = self.chosen(one, condition, *((keep, rest) if is_or else (rest, keep)))
        return result

    def is_truth(self, thing):
        """Whether it is True, False, or a number of dtype bool."""
        return isinstance(thing, bool) or isinstance(thing, Number) and thing.dtype == "bool"

    def conditions(self, node):
        """`and` and `or` as a condition, each part of which is computed only where those before it do not say the result."""
        decides = isinstance(node.op, ast.Or)
        result = self.condition(node.values[0])
        for one in node.values[1:]:
            if isinstance(result, bool):
                if result == decides:
                    return result
                result = self.condition(one)
            elif self.is_plain(one):
                other = self.condition(one)
                if not isinstance(other, bool):
                    result = self.apply(node, "logical_or" if decides else "logical_and", result, other)
                elif other == decides:
                    result = other
            else:
                first, rest = result, lambda: self.condition(one)
                keep = lambda: first
                result = self.chosen(one, first, *((keep, rest) if decides else (rest, keep)))
        return result

    def combined(self, node, op, conditions, nodes):
        """Conditions, each of which is computed only where those before it do not say the result."""
        decides = op == "logical_or"
        result = conditions[0]()
        for place in range(1, len(conditions)):
            if isinstance(result, bool):
                if result == decides:
                    return result
                result = conditions[place]()
            elif self.is_plain(nodes[place]):
                other = conditions[place]()
                if isinstance(other, bool):
                    result = other if other == decides else result
                else:
                    result = self.apply(node, op, result, other)
            else:
                rest = lambda: self.combined(nodes[place], op, conditions[place:], nodes[place:])
                first = result
                if decides:
                    return self.chosen(nodes[place], first, lambda: first, rest)
                return self.chosen(nodes[place], first, rest, lambda: first)
        return result

    def comparison(self, node):
        left = self.element_value(self.expression(node.left), node.left)
        state = [left]

        def step(kind, right):
            def compare():
                x, state[0] = state[0], self.element_value(self.expression(right), right)
                return self.compared(node, kind, x, state[0])

            return compare

        steps = [step(type(kind), right) for kind, right in zip(node.ops, node.comparators)]
        return self.combined(node, "logical_and", steps, node.comparators)

    def compared(self, node, kind, x, y):
        if kind in (ast.Is, ast.IsNot):
            if isinstance(x, Number) and isinstance(y, Number):
                self.fail(node, "types", "`is` between numbers", "compare by ==")
            return (x is y) == (kind is ast.Is)
        if kind not in COMPARE:
            self.fail(node, "structure", "`in` in a kernel", "compare elements in a loop")
        op, function = COMPARE[kind]
        if self.is_number(x) and self.is_number(y) and not self.all_known(x, y):
            return self.apply(node, op, x, y)
        if any(isinstance(thing, (Number, Array, Place, Shape)) for thing in (x, y)):
            self.fail(node, "types", f"a comparison of {about(x)} with {about(y)}", "compare numbers")
        return bool(self.known(node, function, x, y))

    def choice(self, node):
        condition = self.condition(node.test)
        if isinstance(condition, bool):
            return self.expression(node.body if condition else node.orelse)
        if self.is_plain(node.body) and self.is_plain(node.orelse):
            yes, no = self.expression(node.body), self.expression(node.orelse)
            if self.is_number(yes) and self.is_number(no):
                return self.apply(node, "where", condition, yes, no)
            self.fail(node, "types", f"a choice of {about(yes)} and {about(no)}", "choose between numbers")
        return self.chosen(node, condition, lambda: self.expression(node.body), lambda: self.expression(node.orelse))

    # Conversions.

    def cast(self, node, dtype, thing):
        """A number as one of a dtype, or of Python's types int, float, bool and complex."""
        if dtype is bool:
            return self.truth(thing, node)
        if dtype in (int, float, complex):
            kind = {int: INTEGER, float: FLOAT, complex: COMPLEX}[dtype]
            if isinstance(thing, Given) and type(thing.now) is dtype:
                return thing
            found = self.folded(node, dtype, thing)
            if found is not None:
                return found
            number = self.number(thing, node, f"what `{dtype.__name__}` converts")
            self.at(node)
            return Number(self.builder.cast(self.operand(number), self.defaults[kind]), NUMBER)
        name = named_dtype(dtype)
        if name is None:
            self.fail(node, "types", f"{about(dtype)} is no dtype", "give one such as stridewise.float32")
        number = self.number(thing, node, f"what `{name}` converts")
        self.at(node)
        return self.firm(number, name)

    # Arrays.

    def array(self, thing, node):
        """A thing as an array, or None: what was captured becomes constant memory."""
        if isinstance(thing, Array):
            return None if thing.is_element and not thing.ndim else thing
        if isinstance(thing, (tuple, list)) and thing and all(number_kind(one) is not None for one in thing):
            dtype, shape, elements = self.defaults[max(map(number_kind, thing))], (len(thing),), list(thing)
            if dtype == "int64" and max(elements) >= 2**63 and min(elements) >= 0:
                dtype = "uint64"
        elif isinstance(thing, _native.usm_ndarray) or hasattr(thing, "__array_interface__"):
            name, shape = dtype_name(thing.dtype), tuple(thing.shape)
            if name is None or not shape:
                return None
            read = lambda: _native.reshape(_native.asarray(thing), (-1,)).tolist() if thing.size else []
            dtype, elements = name, self.once(thing, "elements", read, self.frame.source)
        else:
            return None
        known = self.constants.get(id(thing))
        if known is None:
            self.at(node)
            name = node.id if isinstance(node, ast.Name) else "constant"
            if not elements:
                self.fail(node, "limit", f"the constant array `{name}` has no elements", "pass it as an argument")
            made = self.builder.constant(name, dtype, shape, elements)
            # The thing is kept with it, so that nothing else gets its identity.
            known = self.constants[id(thing)] = (Array(made, name, dtype, len(shape), (), shape, "constant"), thing)
        return known[0]

    def subscript(self, node):
        thing = self.expression(node.value)
        if isinstance(thing, Shape):
            axis = self.axis(self.expression(node.slice), node.slice, len(thing))
            return self.extent(node, thing.array, axis)
        index = integer(self.expression(node.slice))
        if isinstance(thing, (tuple, list, dict, str)) and not (isinstance(thing, (tuple, list)) and isinstance(index, (Number, Array))):
            try:
                return thing[index]
            except (LookupError, TypeError) as error:
                self.fail(node, "index-count", f"{type(error).__name__}: {error}", "see what is indexed")
        if isinstance(thing, (tuple, list)) and isinstance(index, Given) and isinstance(index.now, int):
            # Numbers around the kernel, of which an argument names one as a literal would.
            if not -len(thing) <= index.now < len(thing):
                self.fail(node, "index-count", f"index {index.now} of {len(thing)} numbers", "see what is indexed")
            self.guard(index, -len(thing), len(thing) - 1)
        array = self.array(thing, node.value)
        if array is None:
            help = ITEM if isinstance(thing, Place) else "index arrays"
            self.fail(node.value, "types", f"{about(thing)} is indexed", help)
        return self.indexed(node, array, index)

    def indexed(self, node, array, index):
        """An array with some more indices."""
        given = index if isinstance(index, tuple) else (index,)
        if len(array.indices) + len(given) > array.ndim and not (index == () and array.is_element):
            self.fail(
                node,
                "index-count",
                f"`{array.name}` has {array.ndim} dimension{'s' * (array.ndim != 1)}, and is addressed by "
                f"{len(array.indices) + len(given)} indices",
                "give one index for each dimension",
            )
        indices = list(array.indices)
        for one in given:
            one = self.number(one, node, f"an index of `{array.name}`")
            if KINDS[self.type_of(one)[0]] > INTEGER:
                self.fail(
                    node, "types", f"`{array.name}` is addressed by {about(one)}", "indices are integers: int(…) makes one"
                )
            if isinstance(one, Number) and one.dtype == "bool":
                one = Number(self.builder.cast(one.value, "int64"), NUMBER)
            if isinstance(one, Given):
                negative = self.guard_sign(one)
            else:
                negative = number_kind(one) is not None and one < 0
            if negative:
                # From the end, as Python counts.
                self.at(node)
                if not isinstance(one, Given):
                    one = int(one)
                one = self.apply(node, "add", Number(self.builder.extent(array.object, len(indices)), NUMBER), one)
            indices.append(self.operand(one) if not isinstance(one, bool) else int(one))
        return Array(array.object, array.name, array.dtype, array.ndim, tuple(indices), array.shape, array.space)

    def element(self, node):
        """A subscript that is written."""
        thing = self.subscript(node)
        if not isinstance(thing, Array):
            self.fail(node, "types", f"{about(thing)} is written", "write elements of arrays")
        if not thing.is_element:
            count = f"{len(thing.indices)} ind{'ex' if len(thing.indices) == 1 else 'ices'}"
            message = f"`{thing.name}` has {thing.ndim} dimensions, and is written by {count}"
            self.fail(node, "index-count", message, "give one index for each dimension")
        return thing

    def load(self, node, element):
        self.at(node)
        return Number(self.builder.load(element.object, element.indices), FIRM)

    def slice_(self, node):
        self.fail(node, "structure", "a slice in a kernel", "items access elements: write a loop, or pass a view as argument")

    def axis(self, thing, node, ndim):
        """An axis that is known, counted from either end."""
        thing = integer(self.settled(thing))
        if not isinstance(thing, int) or not -ndim <= thing < ndim:
            self.fail(node, "index-count", f"axis {about(thing)} of {ndim} dimensions", "name an axis by a number that is known")
        return thing % ndim

    def extent(self, node, array, axis):
        """The extent of an array along an axis, of those that no index is for."""
        axis += len(array.indices)
        if array.shape is not None:
            return array.shape[axis]
        self.at(node)
        return Number(self.builder.extent(array.object, axis), NUMBER)

    def items(self, thing, node):
        """What a thing consists of, for several names."""
        if isinstance(thing, (tuple, list)):
            return tuple(thing)
        if isinstance(thing, Shape):
            return tuple(self.extent(node, thing.array, axis) for axis in range(len(thing)))
        self.fail(node, "types", f"{about(thing)} for several names", "unpack tuples")

    def product(self, node, numbers):
        result = 1
        for number in numbers:
            result = number if isinstance(result, int) and result == 1 else self.binary(node, ast.Mult, result, number)
        return result

    # Attributes and calls.

    def attribute(self, node):
        return self.member(node, self.expression(node.value), node.attr)

    def member(self, node, thing, name):
        """What a thing has under a name."""
        if isinstance(thing, Array):
            if name == "shape":
                return Shape(thing)
            if name == "ndim":
                return thing.ndim - len(thing.indices)
            if name == "size":
                return self.product(node, self.items(Shape(thing), node))
            if name == "dtype":
                return _native.dtype(thing.dtype)
        elif isinstance(thing, Number) or isinstance(thing, (Shape, tuple, str)):
            if isinstance(thing, Number) and name == "dtype":
                return _native.dtype(thing.dtype)
        else:
            found = functions.attribute(self, node, thing, name)
            if found is not None:
                return found
            if not isinstance(thing, (Place, Method)) and hasattr(thing, name):
                return self.once(thing, name, lambda: getattr(thing, name), self.frame.source)
        help = "arrays have shape, ndim, size and dtype" if isinstance(thing, Array) else "see what it is"
        if isinstance(thing, Place):
            help = f"it has {', '.join(functions.members(thing))}"
            if thing.kind == "Item":
                help += "; groups are there where the launch is over an NdRange"
        self.fail(node, "names", f"{about(thing)} has no `{name}`", help)

    def call(self, node):
        function = self.expression(node.func)
        arguments = [self.expression(argument) for argument in node.args if not isinstance(argument, ast.Starred)]
        if len(arguments) != len(node.args) or any(keyword.arg is None for keyword in node.keywords):
            self.fail(node, "structure", "arguments from a sequence or mapping", "name each one")
        keywords = {keyword.arg: self.expression(keyword.value) for keyword in node.keywords}
        return functions.call(self, node, function, arguments, keywords)

    EXPRESSIONS = {
        ast.Constant: constant,
        ast.Name: lambda self, node: self.name(node),
        ast.Tuple: tuple_,
        ast.List: tuple_,
        ast.BinOp: binary_expression,
        ast.UnaryOp: unary,
        ast.BoolOp: bool_expression,
        ast.Compare: comparison,
        ast.IfExp: choice,
        ast.Subscript: subscript,
        ast.Slice: slice_,
        ast.Attribute: attribute,
        ast.Call: call,
    }
