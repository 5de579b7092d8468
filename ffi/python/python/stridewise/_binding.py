"""How a call by the parameters of a function of NumPy's becomes one of ours: positions and names of arguments, lists in the place of
arrays, results into NumPy's arrays. What ours does not take is an error that names it.

Imported by NumPy's first call, as `_numpy` is.
"""

import inspect
import numbers

import numpy as np

import stridewise as sw

from ._operands import delivered, is_ours, queue_of, target

HELP = "help: NumPy's takes stridewise.asnumpy(x)"

#: Parameters of NumPy's that are arrays, for which it takes lists.
_ARRAYS = frozenset(
    "a b v x y m p q xp fp ar ar1 ar2 arr array element test_elements x1 x2 A values weights prepend append condition bins roots".split()
)

#: Parameters of NumPy's that say how something is found, and not what.
_HINTS = frozenset(("allow_pickle", "assume_unique", "kind", "overwrite_input", "subok"))


def listed(x, queue):
    """A list as an array on a queue; other objects as they are."""
    return sw.asarray(x, device=queue) if isinstance(x, (list, tuple)) else x


def refused(name, parameter, value):
    """The error for an argument that ours does not take."""
    shown = repr(value) if isinstance(value, (bool, int, float, complex, str, type(None))) else f"of type {type(value).__name__}"
    return TypeError(f"unsupported: {name} of stridewise's arrays does not take `{parameter}`, which is {shown}; {HELP}")


def is_usual(value, default):
    """Whether an argument says what is so without it."""
    return value is default or value is np._NoValue or type(value) is type(default) and not hasattr(value, "shape") and value == default


def missing(name):
    """The error for a function that there is none for."""
    return TypeError(f"unsupported: stridewise has no counterpart of {name}; {HELP}")


def is_operand(x):
    """Whether an operand is ours, NumPy's or a number; what else is there may have rules of its own."""
    if is_ours(x) or type(x) in (np.ndarray, np.memmap) or isinstance(x, (np.generic, numbers.Number)):
        return True
    return isinstance(x, (list, tuple))


def _kind(value):
    """The dtype of the kind of a Python number, or of a scalar or an array."""
    dtype = getattr(value, "dtype", None)
    if dtype is not None:
        return dtype
    return sw.bool if isinstance(value, bool) else sw.uint8 if isinstance(value, int) else sw.float16 if isinstance(value, float) else sw.complex64


_CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")


def check_casting(name, casting, dtype=None, values=()):
    """Refuses a rule that is none, and values that the rule does not convert to a dtype. A Python number is of a kind alone."""
    if casting not in _CASTINGS:
        raise ValueError(f"invalid value: `casting` is {casting!r}; expected one of {', '.join(map(repr, _CASTINGS))}")
    for value in values if dtype is not None else ():
        is_number = not hasattr(value, "dtype")
        rule = "same_kind" if is_number and casting != "unsafe" else casting
        if not sw.can_cast(_kind(value), dtype, casting=rule):
            shown = f"the number {value!r}" if is_number else str(value.dtype)
            raise TypeError(
                f"dtype: {name} does not convert {shown} to {dtype} with casting={casting!r}; expected a dtype that it is converted "
                'to; help: say casting="unsafe", or convert it with astype'
            )


def refuse_rest(name, options):
    """What is left of NumPy's options: nothing, or what says as we do."""
    usual = {"where": True, "casting": "same_kind", "subok": True, "order": "K", "signature": None, "initial": np._NoValue}
    for option, value in options.items():
        if option == "casting":
            check_casting(name, value)
        if option not in usual or not is_usual(value, usual[option]):
            raise refused(name, option, value)


class _Plan:
    """What the parameters of a function of NumPy's are for ours."""

    __slots__ = ("prefix", "places", "named", "signature", "arrays", "takes_rest")

    def __init__(self, function, ours):
        self.signature = inspect.signature(function)
        theirs, mine = self.signature.parameters, inspect.signature(ours).parameters.values()
        self.takes_rest = any(parameter.kind is parameter.VAR_KEYWORD for parameter in mine)
        self.places = sum(parameter.kind is parameter.POSITIONAL_ONLY for parameter in mine)
        self.named = frozenset(p.name for p in mine if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY))
        self.prefix = 0
        for parameter, own in zip(theirs.values(), mine):
            is_place = own.kind is own.POSITIONAL_ONLY or own.name == parameter.name and own.kind is own.POSITIONAL_OR_KEYWORD
            if parameter.name == "out" or parameter.kind is parameter.KEYWORD_ONLY or not is_place:
                break
            self.prefix += 1
        self.arrays = any(name in _ARRAYS for name in theirs)

    def is_as_ours(self, args, kwargs):
        """Whether a call of NumPy's is one of ours as it stands."""
        if len(args) > self.prefix or "out" in kwargs or not kwargs.keys() <= self.named or any(x is None for x in kwargs.values()):
            return False
        return not self.arrays or not any(type(x) in (list, tuple) for x in (*args, *kwargs.values()))

    def call(self, name, ours, args, kwargs):
        """The call by ours' parameters."""
        given = self.signature.bind(*args, **kwargs).arguments
        queue = queue_of(given.values())
        places, named, out = [], {}, None
        for place, parameter in enumerate(self.signature.parameters.values()):
            key = parameter.name
            if key not in given:
                continue
            value = given[key]
            if parameter.kind is parameter.VAR_POSITIONAL:
                places.extend(listed(x, queue) for x in value)
                continue
            if parameter.kind is parameter.VAR_KEYWORD:
                for option, what in value.items():
                    if option not in self.named and not self.takes_rest:
                        raise refused(name, option, what)
                named.update(value)
                continue
            if is_usual(value, parameter.default) and key != "out" and place >= self.places:
                continue
            if key in _ARRAYS:
                value = listed(value, queue)
            if key == "out":
                if value is None:
                    continue
                out, value = value, target(value, queue)
            if key in self.named:
                named[key] = value
            elif place < self.places and len(places) == place:
                places.append(value)
            elif key not in _HINTS and not is_usual(value, parameter.default):
                raise refused(name, key, value)
        return delivered(ours(*places, **named), out)


_PLANS: dict = {}


def called(name, function, ours, args, kwargs):
    """A call of a function of NumPy's by one of ours, which has the same meaning."""
    plan = _PLANS.get(function)
    if plan is None:
        try:
            plan = _Plan(function, ours)
        except (TypeError, ValueError):
            # Without a signature it has ours' parameters, or does not fit them.
            return ours(*args, **kwargs)
        _PLANS[function] = plan
    if plan.is_as_ours(args, kwargs):
        return ours(*args, **kwargs)
    return plan.call(name, ours, args, kwargs)
