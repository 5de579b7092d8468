# mypy: ignore-errors
"""Sources of functions: their syntax, the names around them, and places in them."""

import ast
import builtins
import inspect
import itertools
import linecache
import sys
import weakref

from .. import _native

#: Of kernels that are given as a text.
_numbers = itertools.count(1)


class Source:
    """A function that kernels are made of."""

    def __init__(self, function, caller):
        """function: a function of Python's, or its source; then names are those of `caller`, a frame."""
        if isinstance(function, str):
            self._from_text(function, caller)
        elif inspect.isfunction(function):
            self._from_function(function)
        else:
            raise TypeError(
                f"a kernel of {function!r}; expected a function or its source; help: put the decorator above a `def`"
            )

    def _from_function(self, function):
        self.file = inspect.getsourcefile(function) or function.__code__.co_filename
        try:
            lines, first = inspect.getsourcelines(function)
        except (OSError, TypeError) as error:
            name, at = function.__name__, (self.file, function.__code__.co_firstlineno, 1, 1)
            message = f"the source of `{name}` is not there: {error}"
            raise _native._kernel_error("source", message, f'give it as a string: kernel("def {name}(…): …")', at) from None
        self._parse("".join(lines), max(first, 1))
        closure = zip(function.__code__.co_freevars, function.__closure__ or ())
        cells = dict(closure)
        self._cells, self._globals, self._locals = cells, function.__globals__, {}
        self.defaults = function.__defaults__ or ()

    def _from_text(self, text, caller):
        self.file = f"<kernel {next(_numbers)}>"
        try:
            text.encode()
        except UnicodeEncodeError as error:
            at = (self.file, text.count("\n", 0, error.start) + 1, error.start - text.rfind("\n", 0, error.start), 1)
            message = f"{text[error.start]!r}, which is no character"
            raise _native._kernel_error("syntax", message, "write an escape sequence", at) from None
        # So that errors show the lines; the entry goes with the kernel.
        linecache.cache[self.file] = (len(text), None, text.splitlines(True), self.file)
        weakref.finalize(self, linecache.cache.pop, self.file, None).atexit = False
        self._parse(text, 1)
        # Of what is around it, only what it names is kept.
        used = {node.id for node in ast.walk(self.tree) if isinstance(node, ast.Name)}
        around = caller.f_locals
        around = {} if around is caller.f_globals else {name: around[name] for name in used if name in around}
        self._cells, self._globals, self._locals = {}, caller.f_globals, around
        if self.tree.args.defaults:
            self.fail(self.tree.args.defaults[0], "structure", "a default in a kernel of text", "give the argument")
        self.defaults = ()

    def _parse(self, text, first):
        # A function inside of something is indented: the line in front keeps its columns.
        indented = text[:1] in (" ", "\t")
        try:
            tree = ast.parse("if 1:\n" + text if indented else text)
        except (SyntaxError, ValueError, RecursionError) as error:
            line = (getattr(error, "lineno", None) or 1) - indented + first - 1
            at = (self.file, line, getattr(error, "offset", None) or 1, 1)
            message = getattr(error, "msg", None) or str(error)
            raise _native._kernel_error("syntax", message, "write a function of Python's", at) from None
        body = tree.body[0].body if indented else tree.body
        self._shift = first - 1 - indented
        self.lines = text.splitlines()
        self._first = first
        if len(body) != 1 or not isinstance(body[0], ast.FunctionDef):
            at = (self.file, first, 1, 1)
            raise _native._kernel_error("syntax", "a kernel is one function", "write one `def`, and nothing beside it", at)
        self.tree = body[0]
        self.name = self.tree.name
        arguments = self.tree.args
        for wrong in (arguments.vararg, arguments.kwarg, *arguments.kwonlyargs):
            if wrong is not None:
                self.fail(wrong, "structure", "a parameter that stands for several, or has a name only", "name each one")
        self.parameters = [argument.arg for argument in arguments.posonlyargs + arguments.args]
        #: Names that are the function's own.
        self.names = set(self.parameters) | _stored(self.tree)
        #: Those that a loop gives another value: the reader would find out, but later.
        self.looped = set()
        self._find_looped(self.tree.body, frozenset(), set(self.parameters))
        #: What names around it, and attributes of what is there, were when a kernel was first made of it.
        self.fixed = {}

    def _find_looped(self, statements, outside, here):
        """outside: names that have a value before the innermost loop. here: all that have one."""
        for statement in statements:
            if isinstance(statement, (ast.While, ast.For)):
                self._find_looped(statement.body, frozenset(here), set(here))
            elif isinstance(statement, ast.If):
                self._find_looped(statement.body, outside, here)
                self._find_looped(statement.orelse, outside, here)
            else:
                stored = _stored(statement)
                self.looped |= stored & outside
                here |= stored

    def place(self, node):
        """File, line, column and length of a node, which is asked for often, and kept there."""
        found = getattr(node, "place", None)
        if found is None:
            found = node.place = self._place(node)
        return found

    def _place(self, node):
        line, column, end = node.lineno, node.col_offset, node.end_col_offset
        if node.end_lineno != line:
            end = None
        text = self.lines[line + self._shift - self._first]
        if not text.isascii():
            encoded = text.encode()
            end = end if end is None else len(encoded[:end].decode(errors="replace"))
            column = len(encoded[:column].decode(errors="replace"))
        length = (len(text) if end is None else end) - column
        return self.file, line + self._shift, column + 1, max(length, 1)

    def fail(self, node, rule, message, help, notes=()):
        """Raises that a rule is broken."""
        raise _native._kernel_error(rule, message, help, self.place(node), list(notes)) from None

    def called(self):
        """The calls of what is not the function's own, with the names."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id not in self.names:
                yield node, node.func.id

    def outside(self, name):
        """What a name means around the function. Raises KeyError where it means nothing."""
        if name in self._cells:
            try:
                return self._cells[name].cell_contents
            except ValueError:
                raise KeyError(name) from None
        for names in (self._locals, self._globals, vars(builtins)):
            if name in names:
                return names[name]
        raise KeyError(name)


def _stored(node):
    """The names that a node gives a value."""
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)}


def caller(depth=2):
    """The frame of who calls who calls this."""
    return sys._getframe(depth)
