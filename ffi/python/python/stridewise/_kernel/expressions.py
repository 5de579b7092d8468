# mypy: ignore-errors
"""The reader of expressions."""

import ast
import operator

from .. import _native
from . import functions
from .things import (
    COMPLEX, FIRM, FLOAT, INTEGER, KINDS, NUMBER, Array, Method, Number, Place, Shape, about,
    dtype_name, integer, is_scalar, number_kind,
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
#: Bits of a result that is computed when the kernel is made, at most.
BITS = 1 << 10


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
        if not isinstance(number, Number):
            return number
        return number.value if number.dtype == dtype else self.builder.cast(number.value, dtype)

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
        if function in (operator.pow, operator.lshift) and all(isinstance(number, int) for number in numbers):
            if abs(numbers[1]) * max(abs(numbers[0]), 2).bit_length() > BITS:
                self.fail(node, "limit", f"a number of more than {BITS} bits", "compute it in the kernel, in floats")
        try:
            return function(*numbers)
        except (ArithmeticError, ValueError, TypeError) as error:
            self.fail(node, "types", f"{type(error).__name__}: {error}", "see the numbers that are put together here")

    def all_known(self, *things):
        return all(number_kind(thing) is not None for thing in things)

    def binary_expression(self, node):
        return self.binary(node, type(node.op), self.expression(node.left), self.expression(node.right))

    def binary(self, node, operator_, x, y):
        """An operator on two things."""
        if operator_ not in BINARY:
            self.fail(node, "structure", "a product of matrices in a kernel", "write the loop over products")
        op, function = BINARY[operator_]
        if self.all_known(x, y) or isinstance(x, tuple) and isinstance(y, (tuple, int)):
            return self.known(node, function, x, y)
        x, y = self.number(x, node, f"an operand of `{op}`"), self.number(y, node, f"an operand of `{op}`")
        if op == "pow" and number_kind(y) is not None:
            if isinstance(y, int) and y == 2:
                return self.apply(node, "square", x)
            if isinstance(y, int) and y < 0:
                y = float(y)
            elif y == 0.5:
                return self.apply(node, "sqrt", x)
        return self.apply(node, op, x, y)

    def unary(self, node):
        if isinstance(node.op, ast.Not):
            condition = self.condition(node.operand)
            return not condition if isinstance(condition, bool) else self.apply(node, "logical_not", condition)
        op, function = UNARY[type(node.op)]
        thing = self.expression(node.operand)
        return self.known(node, function, thing) if self.all_known(thing) else self.apply(node, op, thing)

    # Conditions.

    def condition(self, node):
        """An expression as a condition: True, False, or a number of dtype bool."""
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
        op = "logical_and" if isinstance(node.op, ast.And) else "logical_or"
        return self.combined(node, op, [lambda one=one: self.condition(one) for one in node.values], node.values)

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
            if self.all_known(thing):
                return self.known(node, dtype, thing)
            number = self.number(thing, node, f"what `{dtype.__name__}` converts")
            self.at(node)
            return Number(self.builder.cast(self.operand(number), self.defaults[kind]), NUMBER)
        name = dtype_name(dtype)
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
        elif isinstance(thing, _native.usm_ndarray) or hasattr(thing, "__array_interface__"):
            name, shape = dtype_name(thing.dtype), tuple(thing.shape)
            if name is None or not shape:
                return None
            dtype, elements = name, _native.reshape(_native.asarray(thing), (-1,)).tolist() if thing.size else []
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
            known = self.constants[id(thing)] = (Array(made, name, dtype, len(shape), (), shape), thing)
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
            if number_kind(one) is not None and one < 0:
                # From the end, as Python counts.
                self.at(node)
                one = self.apply(node, "add", Number(self.builder.extent(array.object, len(indices)), NUMBER), int(one))
            indices.append(self.operand(one) if not isinstance(one, bool) else int(one))
        return Array(array.object, array.name, array.dtype, array.ndim, tuple(indices), array.shape)

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
        thing = integer(thing)
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
        thing, name = self.expression(node.value), node.attr
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
                return getattr(thing, name)
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
