"""Errors about arguments.

The classes are of errors about what is read before anybody knows the argument's name: the binding library names an argument by a note on
the error, and a reader of several by `set_name`. They are exceptions of Python's own classes, under those names.

`explained` is for functions that are written in Python: where the interpreter refuses an operation on an argument, its sentence becomes
one about the argument.
"""

import builtins


class _Unnamed:
    """An error whose message begins with its argument: what is found, and what was expected."""

    def __init__(self, found):
        super().__init__(f"an argument {found}")
        self._found = found

    def set_name(self, name):
        """Names the argument."""
        self.args = (f"{name if '`' in name else f'`{name}`'} {self._found}",)

    def add_note(self, note):
        """Names the argument where the note does, and adds others."""
        start = "while processing '"
        if note.startswith(start):
            self.set_name(note[len(start):-1])
        else:
            super().add_note(note)

    def __reduce__(self):
        return getattr(builtins, type(self).__name__), self.args


def _of(base):
    return type(base.__name__, (_Unnamed, base), {"__module__": "builtins", "__doc__": base.__doc__})


TypeError, OverflowError, ValueError = map(_of, (TypeError, OverflowError, ValueError))


def reduced_error(error):
    """How an error is copied and pickled that is of a class of ours and of one of NumPy's: as ours alone, which has a name."""
    return type(error).__bases__[0], error.args


#: What the interpreter raises where an operation does not fit its operands.
_REFUSALS = (
    builtins.TypeError, AttributeError, IndexError, KeyError, ZeroDivisionError, builtins.OverflowError, builtins.ValueError,
    UnicodeEncodeError,
)  # fmt: skip


def explaining(function):
    """The function, with errors about its arguments in the place of the interpreter's."""

    def call(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except _REFUSALS as error:
            if type(error) in _REFUSALS and not any(mark in str(error) for mark in ("`", "; expected")):
                from ._explanations import explanation

                found = explanation(function, args, kwargs, error)
                if found is not None:
                    raise found from error
            raise

    for name in ("__name__", "__qualname__", "__doc__", "__module__"):
        setattr(call, name, getattr(function, name))
    call.__wrapped__ = function
    return call


def explained(names):
    """Of the functions among the public names of a module, or of a class, those that are written there: each with errors about its
    arguments in the place of the interpreter's."""
    import types

    module, made = names.get("__name__"), {}
    for name, function in list(names.items()):
        if type(function) is types.FunctionType and name[0] != "_" and function.__module__ == module:
            # A function of two names is one, and is pickled by its own.
            names[name] = made[function] = made.get(function) or explaining(function)


class Devices(tuple):
    """What `__array_namespace_info__().devices()` answers: a tuple, as the standard has it since 2025.12, that gives a list where one
    is added, as the list did that it was before."""

    __slots__ = ()

    def __add__(self, other):
        return [*self, *other] if isinstance(other, list) else tuple.__add__(self, other)
