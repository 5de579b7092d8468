"""Every function, method and class of the namespace, and arguments that each of them takes: found by trying, so that a new one is called
without being named anywhere.
"""

import inspect
import itertools

import stridewise as sw


def public(holder, left=()):
    """The names of what can be called and is no exception."""
    for name in sorted(dir(holder)):
        if not name.startswith("_") and callable(getattr(holder, name)) and name not in left:
            if not (inspect.isclass(getattr(holder, name)) and issubclass(getattr(holder, name), BaseException)):
                yield name


def parameters(call):
    """The parameters of a function; of one that does not say, one by place."""
    try:
        return list(inspect.signature(call).parameters.values())
    except (TypeError, ValueError):
        return [inspect.Parameter("argument", inspect.Parameter.POSITIONAL_ONLY)]


def needed(call):
    """The parameters that have to be given, by place."""
    found = parameters(call)
    by_place = [p for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    given = [p for p in by_place if p.default is p.empty]
    return given + [p for p in found if p.kind is p.VAR_POSITIONAL][: not given]


def finish(result):
    """Waits for what a call has made."""
    for array in result if type(result) in (tuple, list) and len(result) < 10 else [result]:
        if isinstance(array, sw.usm_ndarray):
            array.wait()
    return result


def accepted(get, kinds, count, most=1):
    """Arguments that a function takes, as makers of them: the first few of what the kinds are by turns. `get` finds the function, each
    time anew, as a method may change what it is of."""
    found = []
    for made in itertools.product(kinds, repeat=min(count, 3)):
        made += (kinds[0],) * (count - len(made))
        try:
            finish(get()(*(make() for make in made)))
        except Exception:
            continue
        found.append(made)
        if len(found) == most:
            break
    return found
