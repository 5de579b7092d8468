# mypy: ignore-errors
"""The reader of statements: a function's syntax becomes calls of the builder.

A name that is assigned in a branch or a loop and read behind it is a variable of the kernel, with one dtype; any other name
is just what it was assigned last. Which names are variables, and what their dtypes are, is found by reading the function
again until nothing changes: twice, mostly. Only what the last reading has made is kept.

Names have no declared types here, and a variable of a kernel needs one that holds all its values, which is known only at the
end of the function. A name that is assigned on several paths is of the common dtype; straight code has no variables.
Literals take any dtype that they meet, and so do arguments that are Python numbers; ids, extents and counters are `int64`,
and the dtype of floats beside them, as Python's numbers are beside arrays. A name that a path leaves undefined is an error.

The cost: a kernel is read once for each combination of argument types, of which a function keeps those that came last
(`KERNELS` in `ffi/python/src/kernel/launch.rs`), and a later assignment may make a type wider than a reader expects. The
first call takes one to two milliseconds (machine not recorded), later ones look the types up; nothing is compiled on the
host.
"""

import ast
import copy

from .. import _native
from .expressions import Expressions
from .given import derive
from .things import FIRM, FLOAT, INTEGER, KINDS, LITERAL, NUMBER, Array, Given, Number, Place, about, number_kind

#: Readings of a function, at most: each makes a type wider or a name a variable.
READINGS = 64


class Again(Exception):
    """This reading went on a wrong assumption, which is known now."""


class Frame:
    """A function that is read: the kernel's, or one that it calls."""

    def __init__(self, source, path, call):
        self.source, self.path, self.call = source, path, call
        #: What names are now, and the depth of the block that said so.
        self.bound = {}
        #: Names that were ever assigned.
        self.assigned = set()
        #: Of each open block: what it has hidden.
        self.blocks = [[]]
        #: Loops of its own that are open.
        self.loops = 0
        #: How many numbers it returns, where it has several ends, and whether as a tuple.
        self.results = None


class Reader(Expressions):
    """Makes the kernel of a source for one combination of types."""

    def __init__(self, source, dims, grouped, double, arguments, values, takes_item):
        """arguments: their types. values: themselves."""
        self.source, self.dims, self.grouped, self.arguments = source, dims, grouped, arguments
        self.values, self.takes_item = values, takes_item
        #: What names and attributes around functions have turned out to be.
        self.seen = {}
        #: In which dtypes numbers of Python's are.
        self.defaults = ("bool", "int64", "float64" if double else "float32", "complex128" if double else "complex64")
        #: The types of variables: by the function's place, and the name.
        self.types = {}
        self.changed = False

    def read(self):
        """The kernel, guards of arguments that are numbers, and what gives it further parameters."""
        for _ in range(READINGS):
            self.changed = False
            try:
                self._read_once()
            except Again:
                continue
            except RecursionError:
                self.source.fail(self.source.tree, "limit", "expressions inside of each other, too deep", "give parts of them names")
            except _native.KernelError:
                # What went wrong may be for what is known only now.
                if not self.changed:
                    raise
                continue
            if not self.changed and not self._settle():
                made = self.builder.finish()
                for fixed, key, thing, found in self.seen.values():
                    fixed.setdefault(key, (thing, found))
                return made, self.guards, derive(self.derived, self.tests)
        self.source.fail(self.source.tree, "types", "types that do not settle", "give variables a dtype")

    def _settle(self):
        """Literals that met no dtype are numbers of Python's. Whether there were any."""
        literals = [key for key, (dtype, firm) in self.types.items() if firm == LITERAL and dtype != "bool"]
        for key in literals:
            self.types[key] = (self.types[key][0], NUMBER)
        return bool(literals)

    def _read_once(self):
        source = self.source
        self.builder = _native._KernelBuilder(source.name, self.dims)
        #: Of this reading: the builder's variables, and its constant arrays.
        self.variables, self.constants = {}, {}
        #: Parameters of numbers that are given or computed of those, by recipe; what the computed ones are; guards of arguments
        #: (number, least, greatest) and tests of computed numbers.
        self.parameters, self.derived, self.guards, self.tests = {}, [], [], []
        #: The name that memory which is made next is assigned to.
        self.naming = None
        self.enter(Frame(source, (), None))
        self.frames = [self.frame]
        names = list(source.parameters)
        nodes = source.tree.args.posonlyargs + source.tree.args.args
        given = list(self.arguments)
        if self.takes_item and len(names) == len(given) + 1:
            self.bind(names[0], Place("NdItem" if self.grouped else "Item"), nodes[0])
            names, nodes = names[1:], nodes[1:]
        if len(names) != len(given):
            source.fail(
                source.tree,
                "arguments",
                f"`{source.name}` takes ({', '.join(names)}), and is launched with {len(given)} argument{'s' * (len(given) != 1)}",
                "give one for each parameter" + ", but for an Item or NdItem that comes first" * self.takes_item,
            )
        for number, (name, node, (what, dtype, ndim)) in enumerate(zip(names, nodes, given)):
            self.at(node)
            if what == "array":
                # One of no dimension comes as one of one element.
                thing = Array(self.builder.array(name, dtype, max(ndim, 1)), name, dtype, max(ndim, 1))
                if ndim == 0:
                    thing.indices = (0,)
            elif what == "local":
                if not self.grouped:
                    source.fail(node, "arguments", f"local memory `{name}` over a Range", "launch over an NdRange")
                thing = Array(self.builder.local_argument(name, dtype, ndim), name, dtype, ndim, space="local")
            elif what == "number":
                self.parameters[number] = self.builder.scalar(name, dtype)
                value = self.values[number]
                if number_kind(value) is None:
                    # A number of another library.
                    value = {"bool": bool, "int64": int, "uint64": int}.get(dtype, complex if dtype[0] == "c" else float)(value)
                thing = Given(self, number, value)
            else:
                thing = Number(self.builder.scalar(name, dtype), FIRM)
            self.bind(name, thing, node)
        self.block(source.tree.body)

    def enter(self, frame):
        """What follows is read in a frame. What loops change are variables, which start as what gives way to anything."""
        self.frame = frame
        for name in frame.source.looped:
            self.types.setdefault((frame.path, name), ("bool", LITERAL))

    # Places and errors.

    def at(self, node):
        """Statements from here on stand at a node."""
        self.here = node
        self.builder.at(*self.frame.source.place(node))

    def fail(self, node, rule, message, help):
        """Raises that a rule is broken, and from where the function was called."""
        notes = []
        for frame, caller in zip(reversed(self.frames[1:]), reversed(self.frames[:-1])):
            notes.append((caller.source.place(frame.call), f"`{frame.source.name}` is called here"))
        self.frame.source.fail(node, rule, message, help, notes)

    # Types.

    def type_of(self, thing):
        """The type of a number: dtype and how firm it is."""
        if isinstance(thing, Number):
            return thing.dtype, thing.firm
        return self.defaults[number_kind(thing)], LITERAL

    def join(self, a, b):
        """The type of what may be of either type."""
        if a == b:
            return a
        (x, x_firm), (y, y_firm) = a, b
        if x_firm == FIRM and y_firm == FIRM:
            return self.promoted(x, y), FIRM
        if x_firm != FIRM and y_firm != FIRM:
            return self.defaults[max(KINDS[x], KINDS[y])], max(x_firm, y_firm)
        if x_firm != FIRM:
            (x, x_firm), (y, y_firm) = (y, y_firm), (x, x_firm)
        kind, weak = KINDS[x], KINDS[y]
        if kind >= weak and (kind != INTEGER or weak != INTEGER or y_firm == LITERAL):
            return x, FIRM
        if weak == INTEGER:
            return x if x == "uint64" else self.promoted(x, "int64"), FIRM
        if kind == FLOAT:
            return "complex128" if x == "float64" else "complex64", FIRM
        return self.defaults[weak], FIRM

    def promoted(self, x, y):
        """The common dtype of arrays of two dtypes: single precision at most, where the device has no double."""
        found = _native.result_type(x, y).name
        return self.defaults[KINDS[found]] if found in ("float64", "complex128") else found

    # Names.

    def bind(self, name, thing, node):
        """Assigns a thing to a name."""
        frame = self.frame
        frame.assigned.add(name)
        key = (frame.path, name)
        if key in self.types:
            self.set_variable(key, name, thing, node, f"`{name}`, which is assigned on several paths,")
            return
        depth = len(frame.blocks) - 1
        before = frame.bound.get(name)
        if before is not None and before[1] < depth:
            # Who reads it behind the block has either value.
            if not self.is_number(before[0]):
                self._no_number(name, before[0], node)
            self.types[key] = self.type_of(self.number(before[0], node))
            self.changed = True
        if before is None or before[1] != depth:
            frame.blocks[-1].append((name, before))
        frame.bound[name] = (thing, depth)

    def _no_number(self, name, thing, node):
        self.fail(
            node,
            "types",
            f"`{name}` is {about(thing)}, and is assigned in a branch or loop",
            "only numbers can be; use another name",
        )

    def set_variable(self, key, name, thing, node, what):
        """Gives a variable a value, and its type if it is wider."""
        thing = self.number(thing, node, what)
        found = self.type_of(thing)
        known = self.types.get(key)
        wider = found if known is None else self.join(known, found)
        if wider != known:
            self.types[key] = wider
            self.changed = True
        self.at(node)
        variable = self.variables.get(key)
        if variable is None:
            variable = self.variables[key] = self.builder.variable(name, wider[0])
        self.builder.set(variable, self.assigned(thing, wider[0]))

    def get_variable(self, key):
        """What a variable holds."""
        return Number(self.builder.get_value(self.variables[key]), self.types[key][1])

    def name(self, node):
        """What a name means."""
        frame, name = self.frame, node.id
        key = (frame.path, name)
        if key in self.variables:
            self.at(node)
            return self.get_variable(key)
        known = frame.bound.get(name)
        if known is not None:
            return known[0]
        if name in frame.source.names:
            if name in frame.assigned and key not in self.types:
                # Assigned in a block that has ended: a variable, which starts as a literal that gives way to anything.
                self.types[key] = ("bool", LITERAL)
                self.changed = True
                raise Again
            self.fail(
                node,
                "definite-assignment",
                f"`{name}` is read, and on some path it has no value yet",
                "assign it before the branch or loop, or on every path",
            )
        source = frame.source
        try:
            return self.once(source, name, lambda: source.outside(name), source)
        except KeyError:
            self.fail(node, "names", f"`{name}` is not defined", "assign it, import it or pass it as an argument")

    def once(self, thing, name, find, source):
        """What a name is around a function, or an attribute of something there: what it was when a kernel was first made of it."""
        key = (id(source), id(thing), name)
        known = source.fixed.get(key[1:]) or self.seen.get(key)
        if known is None:
            found = find()
            # What may be changed where it is, is kept as it is now.
            if isinstance(found, (list, dict)):
                try:
                    found = copy.deepcopy(found)
                except Exception:
                    found = copy.copy(found)
            # The thing is kept with it, so that nothing else gets its identity.
            known = self.seen[key] = (source.fixed, key[1:], thing, found)
        return known[-1]

    # Blocks.

    def open(self):
        """What follows is inside of a block."""
        self.frame.blocks.append([])

    def close(self):
        """The end of a block: names mean what they meant before it."""
        frame = self.frame
        for name, before in reversed(frame.blocks.pop()):
            if before is None:
                frame.bound.pop(name, None)
            else:
                frame.bound[name] = before

    def inner(self, statements):
        """Statements in a block of their own. Whether it ends in a jump."""
        self.open()
        jumps = self.block(statements)
        self.close()
        return jumps

    def block(self, statements):
        """Statements. Whether the last one of them is a jump: what stands behind one is never run, and not read."""
        for statement in statements:
            read = self.STATEMENTS.get(type(statement))
            if read is None:
                self.fail(
                    statement,
                    "structure",
                    f"`{type(statement).__name__}` is not for kernels",
                    "kernels have assignments, `if`, `while`, `for … in range(…)`, `break`, `continue`, `return`, `assert` and calls",
                )
            if read(self, statement):
                return True
        return False

    # Statements.

    def pass_(self, node):
        pass

    def expression_statement(self, node):
        if not isinstance(node.value, ast.Constant):
            self.expression(node.value)

    def assign(self, node):
        self.naming = node.targets[0].id if isinstance(node.targets[0], ast.Name) else None
        thing = self.expression(node.value)
        self.naming = None
        for target in node.targets:
            self.store(target, thing, node.value)

    def annotated(self, node):
        if node.value is None:
            self.fail(node, "structure", "an annotation without a value", "assign a value")
        kind, thing = self.expression(node.annotation), self.expression(node.value)
        if not (isinstance(kind, type) and kind.__module__ == "stridewise.kernel_api" and not self.is_number(thing)):
            thing = self.cast(node, kind, thing)
        self.store(node.target, thing, node.value)

    def store(self, target, thing, node):
        """Assigns a thing to a target."""
        if isinstance(target, ast.Name):
            if isinstance(thing, Array) and thing.is_element:
                thing = self.number(thing, node)
            self.bind(target.id, thing, node)
        elif isinstance(target, (ast.Tuple, ast.List)):
            things = self.items(thing, node)
            if len(things) != len(target.elts) or any(isinstance(t, ast.Starred) for t in target.elts):
                self.fail(
                    target,
                    "structure",
                    f"{len(things)} values for {len(target.elts)} names",
                    "give as many names as there are values",
                )
            for one, part in zip(target.elts, things):
                self.store(one, part, node)
        elif isinstance(target, ast.Subscript):
            self.store_element(target, self.element(target), self.number(thing, node, "what is stored"))
        else:
            self.fail(target, "structure", "an attribute that is assigned", "assign to names and elements of arrays")

    def store_element(self, node, element, number):
        self.at(node)
        self.builder.store(element.object, element.indices, self.assigned(number, element.dtype))

    def augmented(self, node):
        if isinstance(node.target, ast.Name):
            before = self.name(ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target))
            self.bind(node.target.id, self.binary(node, type(node.op), before, self.expression(node.value)), node)
        elif isinstance(node.target, ast.Subscript):
            element = self.element(node.target)
            before = self.load(node.target, element)
            self.store_element(node.target, element, self.binary(node, type(node.op), before, self.expression(node.value)))
        else:
            self.fail(node.target, "structure", "an attribute that is assigned", "assign to names and elements of arrays")

    def if_(self, node):
        condition = self.condition(node.test)
        if isinstance(condition, bool):
            return self.block(node.body if condition else node.orelse)
        self.at(node.test)
        self.builder.if_(self.operand(condition))
        jumps = self.inner(node.body)
        if node.orelse:
            self.builder.else_()
            jumps = self.inner(node.orelse) and jumps
        else:
            jumps = False
        self.builder.end()
        return jumps

    def while_(self, node):
        self.no_else(node)
        self.at(node.test)
        self.builder.while_()
        self.open()
        condition = self.condition(node.test)
        self.at(node.test)
        self.builder.do_(self.operand(condition))
        self.loop(node.body)
        self.close()

    def for_(self, node):
        self.no_else(node)
        if not isinstance(node.target, ast.Name):
            self.fail(node.target, "structure", "a loop over several names", "a loop counts in one")
        call = node.iter
        ranges = isinstance(call, ast.Call) and not call.keywords and 1 <= len(call.args) <= 3
        if not ranges or self.expression(call.func) is not range:
            self.fail(call, "structure", "a loop over something else than `range`", "loops are over range(start, end, step)")
        bounds = [self.bound(argument) for argument in call.args]
        if len(bounds) == 1:
            bounds = [0, *bounds]
        if len(bounds) == 2:
            bounds.append(1)
        step = bounds[2].now if isinstance(bounds[2], Given) else bounds[2]
        if isinstance(step, int) and step == 0:
            self.fail(call.args[2], "types", "a step of 0", "count up or down")
        if isinstance(bounds[2], Given):
            self.guard_sign(bounds[2], positive=True)
        self.at(call)
        if isinstance(bounds[2], Number) and not isinstance(bounds[2], Given) and not bounds[2].positive:
            self.builder.assert_(self.apply(call, "not_equal", bounds[2], 0).value, "range() arg 3 must not be zero")
        bounds = [self.assigned(bound, "int64") for bound in bounds]
        counter = Number(self.builder.for_(*bounds), NUMBER)
        self.open()
        self.bind(node.target.id, counter, node.target)
        self.loop(node.body)
        self.close()

    def bound(self, node):
        """A bound of a range: a Python integer."""
        thing = self.number(self.expression(node), node, "a bound of a loop")
        if KINDS[self.type_of(thing)[0]] > INTEGER:
            self.fail(node, "types", f"a loop over {about(thing)}", "loops count in integers: int(…) makes one")
        if isinstance(thing, Number) and thing.dtype != "int64":
            self.at(node)
            thing = Number(self.builder.cast(thing.value, "int64"), NUMBER)
        return int(thing) if isinstance(thing, bool) else thing

    def loop(self, body):
        """The body of a loop that is open."""
        self.frame.loops += 1
        self.inner(body)
        self.frame.loops -= 1
        self.builder.end()

    def no_else(self, node):
        if node.orelse:
            self.fail(node.orelse[0], "structure", "an `else` of a loop", "set a flag in the loop, and test it behind")

    def break_(self, node):
        return self.jump(node, "break", self.builder.break_)

    def continue_(self, node):
        return self.jump(node, "continue", self.builder.continue_)

    def jump(self, node, name, build):
        if not self.frame.loops:
            self.fail(node, "structure", f"`{name}` outside of a loop", "it is for loops of the same function")
        self.at(node)
        build()
        return True

    def return_(self, node):
        frame = self.frame
        thing = None if node.value is None else self.expression(node.value)
        if frame.call is None:
            if thing is not None:
                self.fail(node, "types", "a kernel that returns something", "write it to an argument")
        else:
            self.returned(frame, thing, node)
        self.at(node)
        self.builder.return_()
        return True

    def assert_(self, node):
        condition = self.condition(node.test)
        message = "" if node.msg is None else self.expression(node.msg)
        if not isinstance(message, str):
            self.fail(node.msg, "structure", "a message that is no text", "give a string")
        self.at(node.test)
        # A text of Python's may have what is no character.
        message = message.encode(errors="backslashreplace").decode()
        self.builder.assert_(self.operand(condition), message or "assertion failed")

    STATEMENTS = {
        ast.Pass: pass_,
        ast.Expr: expression_statement,
        ast.Assign: assign,
        ast.AnnAssign: annotated,
        ast.AugAssign: augmented,
        ast.If: if_,
        ast.While: while_,
        ast.For: for_,
        ast.Break: break_,
        ast.Continue: continue_,
        ast.Return: return_,
        ast.Assert: assert_,
    }

    # Functions.

    def inline(self, node, source, arguments, keywords):
        """A function in the place of its call; what it returns."""
        if any(frame.source is source for frame in self.frames):
            self.fail(node, "recursion", f"`{source.name}` calls itself", "write a loop instead")
        if len(self.frames) >= 64:
            self.fail(node, "limit", "calls nested more than 64 deep", "put functions together")
        given = dict(zip(source.parameters, arguments))
        names = source.parameters
        wrong = [name for name in keywords if name in given or name not in names]
        given |= keywords
        optional = dict(zip(names[len(names) - len(source.defaults) :], source.defaults))
        given = optional | given
        missing = [name for name in names if name not in given]
        if wrong or missing or len(arguments) > len(names):
            self.fail(
                node,
                "arguments",
                f"`{source.name}` is called with other arguments than it takes",
                f"it takes ({', '.join(names)})",
            )
        path = (*self.frame.path, (node.lineno, node.col_offset))
        self.enter(Frame(source, path, node))
        self.frames.append(self.frame)
        try:
            for name, parameter in zip(names, source.tree.args.posonlyargs + source.tree.args.args):
                self.bind(name, given[name], parameter)
            *body, last = source.tree.body
            jumps = sum(isinstance(inner, ast.Return) for inner in ast.walk(source.tree))
            if jumps == 0 or jumps == 1 and isinstance(last, ast.Return):
                # Nothing is left out, so what is returned is a thing as any other.
                self.block(body if jumps else source.tree.body)
                return None if not jumps or last.value is None else self.element_value(self.expression(last.value), last)
            self.at(source.tree)
            self.builder.call(source.name)
            self.block(source.tree.body)
            self.builder.end()
            return self.result(node)
        finally:
            self.frames.pop()
            self.frame = self.frames[-1]

    def returned(self, frame, thing, node):
        """Keeps what a function with several ends returns."""
        things = thing if isinstance(thing, tuple) else (thing,)
        shape = (isinstance(thing, tuple), 0 if thing is None else len(things))
        if frame.results not in (None, shape):
            self.fail(node, "types", "a function that returns now this, now that", "return as many numbers everywhere")
        frame.results = shape
        for place, one in enumerate(things if thing is not None else ()):
            what = f"what `{frame.source.name}` returns on several paths"
            self.set_variable((frame.path, place), f"{frame.source.name}_result", one, node, what)

    def result(self, node):
        """What a function with several ends has returned."""
        is_tuple, count = self.frame.results or (False, 0)
        self.at(self.frame.source.tree)
        path = self.frame.path
        numbers = tuple(self.get_variable((path, place)) for place in range(count))
        return numbers if is_tuple else numbers[0] if numbers else None


def compile_source(source, dims, grouped, double, arguments, values, takes_item):
    """The kernel of a source for one combination of types, with what it asks of arguments that are numbers."""
    return Reader(source, dims, grouped, double, arguments, values, takes_item).read()
