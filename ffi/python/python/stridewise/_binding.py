"""How a call by the parameters of a function of NumPy's becomes one of ours: positions and names of arguments, lists in the place of
arrays, results into NumPy's arrays. What ours does not take is an error that names it.

Imported by NumPy's first call, as `_numpy` is.
"""

import inspect

import numpy as np

import stridewise as sw

HELP = "help: NumPy's takes stridewise.asnumpy(x)"

#: Parameters of NumPy's that are arrays, for which it takes lists.
_ARRAYS = frozenset(
    "a b v x y m p q xp fp ar ar1 ar2 arr array element test_elements x1 x2 A values weights prepend append condition bins roots".split()
)

#: Parameters of NumPy's that say how something is found, and not what.
_HINTS = frozenset(("assume_unique", "kind", "overwrite_input", "subok"))


def is_ours(x):
    """Whether an object is an array of ours."""
    return isinstance(x, sw.usm_ndarray)


def queue_of(values):
    """The queue of the first of our arrays, which may be in sequences."""
    for x in values:
        if is_ours(x):
            return x.sycl_queue
        if isinstance(x, (list, tuple)):
            found = queue_of(x)
            if found is not None:
                return found
    return None


def listed(x, queue):
    """A list as an array on a queue; other objects as they are."""
    return sw.asarray(x, device=queue) if isinstance(x, (list, tuple)) else x


def target(out, queue):
    """What a result is written to: `out` itself, or, of NumPy's, an array on its memory."""
    if out is None or is_ours(out):
        return out
    if queue is not None and not queue.sycl_device._works_in_process_memory:
        raise sw.ExecutionPlacementError(
            f"execution placement: `out` is an array of NumPy's, which is in memory of the processor, and the operands are on {queue}; "
            "expected arrays of one queue; help: write to one of stridewise.empty_like(x)"
        )
    return sw.asarray(out, copy=False, device=queue)


def delivered(result, out):
    """The result, or what it was written to, once it is there."""
    if out is None or is_ours(out):
        return result
    result.wait()
    return out


def refused(name, parameter, value):
    """The error for an argument that ours does not take."""
    shown = repr(value) if isinstance(value, (bool, int, float, complex, str, type(None))) else f"of type {type(value).__name__}"
    return TypeError(f"unsupported: {name} of stridewise's arrays does not take `{parameter}`, which is {shown}; {HELP}")


def is_usual(value, default):
    """Whether an argument says what is so without it."""
    return value is default or value is np._NoValue or type(value) is type(default) and not hasattr(value, "shape") and value == default


class _Plan:
    """What the parameters of a function of NumPy's are for ours."""

    __slots__ = ("prefix", "places", "named", "signature", "arrays")

    def __init__(self, function, ours):
        self.signature = inspect.signature(function)
        theirs, mine = self.signature.parameters, inspect.signature(ours).parameters.values()
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
                    if option not in self.named:
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
