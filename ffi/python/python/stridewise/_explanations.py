"""What is said of arguments that a function written in Python failed by: the first one that is not of the sort that the type stubs
declare, or all of them. Imported by the first such failure."""

import ast
import inspect
import itertools
import operator
from pathlib import Path

import stridewise as sw

FOLDER = Path(__file__).parent

#: Characters of a value that a message has at most.
_SHOWN = 100


def shown(value):
    """A value, for a message: of an array, what sort it is."""
    if hasattr(value, "dtype") and hasattr(value, "shape") and not isinstance(value, sw.dtype):
        return f"an array of {value.dtype} of shape {tuple(value.shape)}"
    try:
        text = repr(value)
    except Exception:
        text = f"of type {type(value).__name__}"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text)} characters)"


def _is_integer(value):
    try:
        operator.index(value)
    except Exception:
        return False
    return True


def _is_number(value):
    return _is_integer(value) or isinstance(value, (float, complex)) or getattr(value, "shape", None) == ()


def _is_iterable(value):
    return hasattr(value, "__iter__") and getattr(value, "shape", None) != () or hasattr(value, "__getitem__") and hasattr(value, "__len__")


def _is_array(value):
    return hasattr(value, "__array_namespace__") or hasattr(value, "__array_interface__")


#: Sorts of arguments by their names in the stubs: whether a value is one, one, several.
_SORTS = {
    "int": (_is_integer, "an integer", "integers"),
    "float": (_is_number, "a number", "numbers"),
    "complex": (_is_number, "a number", "numbers"),
    "bool": (lambda value: isinstance(value, bool), "True or False", "truth values"),
    "str": (lambda value: isinstance(value, str), "a text", "texts"),
    "None": (lambda value: value is None, "None", "None"),
    "usm_ndarray": (_is_array, "an array", "arrays"),
    "Array": (lambda value: _is_array(value) or _is_number(value) or isinstance(value, (list, tuple, range)), "an array", "arrays"),
    "Target": (_is_array, "an array", "arrays"),
}


def _sort(node):
    """Whether a value is what an annotation says, and how that is said; `None` where the annotation says nothing that can be checked."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        sides = _sort(node.left), _sort(node.right)
        if None in sides:
            return None
        (left, one, several), (right, other, others) = sides
        both = one if one == other else f"{one} or {other}"
        return lambda value: left(value) or right(value), both, several if several == others else f"{several} or {others}"
    if isinstance(node, ast.Constant) and node.value is None:
        return _SORTS["None"]
    if isinstance(node, ast.Name):
        return _SORTS.get(node.id.lstrip("_"))
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        inner = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) else node.slice
        part = _sort(inner)
        if part is None:
            return _is_iterable, "a sequence", "sequences"
        fits, _, several = part
        return (
            lambda value: _is_iterable(value) and not isinstance(value, str) and (_is_array(value) or _all_fit(fits, value)),
            f"a sequence of {several}",
            f"sequences of {several}",
        )
    return None


def _all_fit(fits, value):
    # What is gone through once is gone by now.
    return not hasattr(value, "__len__") or all(map(fits, value))


#: Of the files of stubs that were read.
_READ: dict = {}


def _functions(stub):
    """The functions that a file of stubs declares, and the methods of its classes."""
    if stub not in _READ:
        body = ast.parse(stub.read_text(encoding="utf-8")).body if stub.exists() else []
        nodes = [*body, *(node for holder in body if isinstance(holder, ast.ClassDef) for node in holder.body)]
        _READ[stub] = [node for node in nodes if isinstance(node, ast.FunctionDef)]
    return _READ[stub]


def _declaration(function, names):
    """What the stubs say of a function's parameters, of these names: annotations by name."""
    *_, file = function.__module__.split(".")
    own = FOLDER / f"{file}.pyi"
    every = (_functions(stub) for stub in (own, FOLDER / "__init__.pyi", FOLDER / "random.pyi"))
    for node in itertools.chain.from_iterable(every):
        if node.name == function.__name__:
            given = node.args
            every = [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
            annotations = {argument.arg: argument.annotation for argument in every}
            if annotations.keys() >= names:
                return annotations
    return {}


def _is_here(error):
    """Whether the interpreter has refused what the package does, and not what a function of the caller's does."""
    trace = error.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    return Path(trace.tb_frame.f_code.co_filename).parent == FOLDER


def explanation(function, args, kwargs, error):
    """The error to raise in place of one of the interpreter's; `None` where that says it."""
    if not _is_here(error):
        return None
    try:
        given = inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        first = next(iter(inspect.signature(function).parameters), None)
        if first == "arrays" and len(args) > 1 and all(map(_is_array, args[:2])):
            return TypeError(
                f"`arrays` is {shown(args[0])}, beside others; expected a sequence of arrays; help: put them in one, as {function.__name__}([x, y])"
            )
        return None
    declared = _declaration(function, given.arguments.keys())
    found = []
    for name, value in given.arguments.items():
        kind = given.signature.parameters[name].kind
        values = value if kind is inspect.Parameter.VAR_POSITIONAL else (value,)
        sort = _sort(declared.get(name))
        for value in values:
            if sort is not None and not sort[0](value):
                return TypeError(f"`{name}` is {shown(value)}; expected {sort[1]}")
        if name != "self":
            found.append(f"`{name}` is {shown(given.arguments[name])}")
    kind = TypeError if isinstance(error, AttributeError) else ValueError if isinstance(error, (ZeroDivisionError, UnicodeError)) else type(error)
    return kind(f"{', '.join(found)}; expected other arguments; help: `help({function.__name__})` says what {function.__name__} takes")
