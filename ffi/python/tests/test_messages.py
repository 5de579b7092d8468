"""What errors say: every function, method and class of the namespace, called with what is no such argument in each place.

The functions are those that the modules have, so that a new one is called without being named here. Whatever an error says is about the
argument in the terms of Python's users: its name, what was found, what was expected. Words of Rust and of the binding library are none,
and sentences of the interpreter about what it was doing inside are none either.
"""

import inspect
import itertools
import re
import signal

import numpy as np
import pytest

import stridewise as sw

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers")


class Thing:
    """An object that is nothing else."""

    def __repr__(self):
        return "Thing()"


def wrongs():
    """What is no argument of most parameters."""
    return {
        "None": None,
        "text": "pear",
        "object": Thing(),
        "class": Thing,
        "texts": ["a", "b"],
        "ragged": [[1], [2, 3]],
        "empty": [],
        "numbers": (1, 2, 3, 4, 5),
        "dict": {"a": 1},
        "bytes": b"ab",
        "generator": (k for k in "ab"),
        "surrogate": "\ud800",
        "bool": True,
        "zero": 0,
        "half": 2.5,
        "complex": 1j,
        "NaN": float("nan"),
        "infinity": float("inf"),
        "below": -77,
        "long": 2**62,
        "huge": 2**70,
        "scalar": sw.asarray(1.5),
        "vector": sw.arange(5.0),
        "cube": sw.zeros((2, 3, 4)),
        "nothing": sw.zeros((0, 3)),
        "integers": sw.arange(4),
        "truths": sw.asarray([True, False]),
        "complexes": sw.ones(3, dtype="complex64"),
        "NumPy's texts": np.array(["a"]),
        "NumPy's objects": np.array([None]),
        "NumPy's scalar": np.float32(1.5),
    }


#: What most parameters may be: of these, the first that a function takes are its arguments where another is wrong.
RIGHT = [
    lambda: sw.arange(6.0) + 1,
    lambda: sw.eye(3) * 2 + 0.5,
    lambda: sw.arange(4),
    lambda: [sw.arange(3.0), sw.arange(3.0)],
    lambda: 3,
    lambda: "float32",
    lambda: sw.asarray([True, False, True]),
    lambda: (0, 1),
    lambda: "ij->ji",
]

#: Files, and what NumPy reads and writes.
LEFT = {"save", "load", "memmap", "genfromtxt", "loadtxt", "savetxt", "savez", "savez_compressed"}

RUST = re.compile(
    r"Some\(|\bOption\b|DeviceInfo|QueueProperties|::|\b[iu](8|16|32|64|128|size)\b|\bf(16|32|64)\b|whole buffer"
)
BINDING = re.compile(
    r"argument '\w+'|object cannot be|is not an instance of|can't be (converted|cast)|extract|out of range integral|too (big|large) to convert"
    r"|can't convert|must be real number|failed to"
)
INSIDE = re.compile(
    r"is not (iterable|subscriptable|callable)|has no (attribute|len)|unsupported operand|not supported between|indices must be"
    r"|(tuple|list) index out|codec can't|invalid literal|int\(\) argument|float\(\) argument|bad operand|by zero|to unpack|string formatting"
    r"|index-sized integer|bytes-like|Numerical result"
)


def public(holder):
    for name in sorted(dir(holder)):
        if not name.startswith("_") and callable(getattr(holder, name)) and name not in LEFT:
            if not (inspect.isclass(getattr(holder, name)) and issubclass(getattr(holder, name), BaseException)):
                yield name


MODULES = {
    "linalg": lambda: sw.linalg,
    "fft": lambda: sw.fft,
    "random": lambda: sw.random,
    "special": lambda: sw.special,
    "Generator": lambda: sw.random.default_rng(3),
    "usm_ndarray": lambda: sw.eye(3) * 2 + 0.5,
    "Queue": lambda: sw.Queue(),
    "Device": lambda: sw.Device("host"),
    "memory": lambda: sw.MemoryUSMShared(64),
}
NAMES = list(public(sw))
PARTS = 8
CASES = [(f"stridewise {part}", lambda: sw, NAMES[part::PARTS]) for part in range(PARTS)]
CASES += [(name, make, list(public(make()))) for name, make in MODULES.items()]


class Late(BaseException):
    """It takes so long as none of these calls is to."""


def late(*_):
    raise Late


def done(result):
    for array in result if type(result) in (tuple, list) and len(result) < 10 else [result]:
        if isinstance(array, sw.usm_ndarray):
            array.wait()


def right(get, count):
    """Arguments that a function takes, or some."""
    for made in itertools.product(RIGHT, repeat=min(count, 3)):
        made += (RIGHT[0],) * (count - len(made))
        try:
            done(get()(*(make() for make in made)))
        except Exception:
            continue
        return made
    return (RIGHT[0],) * count


def calls(get):
    """The calls of a function with one argument wrong: which one, its value's name, the arguments."""
    try:
        parameters = list(inspect.signature(get()).parameters.values())
    except (TypeError, ValueError):
        parameters = [inspect.Parameter("argument", inspect.Parameter.POSITIONAL_ONLY)]
    by_place = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = [p for p in by_place if p.default is p.empty]
    needed += [p for p in parameters if p.kind is p.VAR_POSITIONAL][: not needed]
    made = right(get, len(needed))
    for place, parameter in enumerate(needed):
        for wrong in wrongs():
            args = [make() for make in made]
            args[place] = wrongs()[wrong]
            yield parameter.name, wrong, args, {}
    for parameter in parameters:
        if parameter in needed or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        for wrong in wrongs():
            args, value = [make() for make in made], wrongs()[wrong]
            if parameter.kind is parameter.POSITIONAL_ONLY:
                between = by_place[len(needed) : by_place.index(parameter)]
                yield parameter.name, wrong, [*args, *(p.default for p in between), value], {}
            else:
                yield parameter.name, wrong, args, {parameter.name: value}


@pytest.mark.parametrize(("holder", "names"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_messages(holder, names, tmp_path, monkeypatch):
    # A text may be a file's name.
    monkeypatch.chdir(tmp_path)
    before = signal.signal(signal.SIGALRM, late)
    bad, heard = {}, 0
    try:
        for name in names:
            for parameter, wrong, args, options in calls(lambda: getattr(holder(), name)):
                signal.setitimer(signal.ITIMER_REAL, 2)
                try:
                    done(getattr(holder(), name)(*args, **options))
                except Late:
                    pass
                except Exception as error:
                    heard += 1
                    text = str(error)
                    found = [words.search(text) for words in (RUST, BINDING, INSIDE)]
                    if any(found):
                        bad.setdefault(f"{type(error).__name__}: {text[:200]}", f"{name}, {parameter}: {wrong}")
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert not bad, "\n".join(f"{where}\n    {text}" for text, where in bad.items())
    # Else nothing is tested.
    assert heard > 20


@pytest.mark.parametrize(
    ("call", "error", "start"),
    [
        (lambda x: sw.sum(x, keepdims="yes"), TypeError, "`keepdims` is 'yes'; expected True or False"),
        (lambda x: sw.sum(x, out=3), TypeError, "`out` is 3; expected a usm_ndarray to write to, or None"),
        (lambda x: sw.abs(x, out=3), TypeError, "`out` is 3; expected a usm_ndarray to write to, or None"),
        (lambda x: sw.add(x, "a"), TypeError, "`x2` is of type str; expected a usm_ndarray, a NumPy array or a number"),
        (lambda x: sw.sum("a"), TypeError, "`x` is of type str; expected a usm_ndarray or a NumPy array"),
        (lambda x: sw.concat([x, 3]), TypeError, "an element of `arrays` is of type int; expected a usm_ndarray"),
        (lambda x: sw.zeros(3, order=1), TypeError, "`order` is 1; expected a text"),
        (lambda x: sw.abs(x, order=b"C"), TypeError, "`order` is b'C'; expected a text"),
        (lambda x: sw.sort(x, axis=0.5), TypeError, "`axis` is 0.5; expected an integer"),
        (lambda x: sw.sort(x, axis=x), TypeError, "`axis` is an array of float64 of shape [3]; expected an integer"),
        (lambda x: sw.sort(x, axis=2**70), OverflowError, f"`axis` is {2**70}; expected an integer of 64 bits"),
        (lambda x: sw.eye(2.5), TypeError, "`n_rows` is 2.5; expected an integer"),
        (lambda x: sw.histogram(x, range=3), TypeError, "`range` is 3; expected a sequence of numbers or None"),
        (lambda x: sw.linalg.pinv(sw.eye(2), rtol="a"), TypeError, "`rtol` is 'a'; expected a number"),
        (lambda x: sw.quantile(x, 0.5, method=1), TypeError, "`method` is 1; expected a text"),
        (lambda x: sw.interp(x, x, x, left="a"), TypeError, "`left` is 'a'; expected a number or None"),
        (lambda x: sw.fft.fft(x, n="a"), TypeError, "`n` is 'a'; expected an integer or None"),
        (lambda x: sw.fft.fft2(sw.eye(2), s=3), TypeError, "`s` is 3; expected a sequence of integers or None"),
        (lambda x: sw.random.default_rng(1).choice("a"), TypeError, "`a` is 'a'; expected a usm_ndarray, a list or an integer"),
        (lambda x: sw.Queue(property=3), TypeError, "`property` is 3; expected a name"),
        (lambda x: sw.zeros(3, order="\ud800"), ValueError, "`order` is '\\ud800'; expected a text"),
        (lambda x: sw.bartlett("a"), TypeError, "`count` is 'a'; expected an integer"),
        (lambda x: sw.array_split(x, 2, axis=7), IndexError, "`x` is an array of float64 of shape (3,), `sections` is 2, `axis` is 7"),
        (lambda x: sw.linalg.multi_dot(3), TypeError, "`arrays` is 3; expected a sequence of arrays"),
        (lambda x: sw.Device("host").create_sub_devices(0), sw.DeviceSelectionError, "device selection: `partition` is equal parts of 0"),
    ],
)
def test_a_message(call, error, start):
    with pytest.raises(error) as found:
        call(sw.arange(3.0))
    assert str(found.value).startswith(start), str(found.value)
    # It is Python's own class, or one of ours.
    assert type(found.value).__name__ == error.__name__


def test_errors_of_arguments_are_copied():
    import copy
    import pickle

    with pytest.raises(TypeError) as found:
        sw.sum(sw.ones(3), keepdims="yes")
    for other in (copy.copy(found.value), pickle.loads(pickle.dumps(found.value))):
        assert isinstance(other, TypeError) and str(other) == str(found.value)


def test_errors_of_the_caller_stay():
    def key(*_):
        raise TypeError("mine")

    class Broken:
        __array__ = __iter__ = __len__ = __index__ = key

    for call in (sw.vstack, sw.bartlett, sw.asarray, sw.linalg.multi_dot):
        with pytest.raises(TypeError) as found:
            call(Broken())
        assert "mine" in str(found.value) or "`" in str(found.value)


def test_references_to_objects_are_not_overwritten():
    memory, objects = sw.MemoryUSMShared(64), np.array([None] * 8)
    for call in (lambda: memory.copy_to_host(objects), lambda: sw.Queue().memcpy(objects, memory)):
        with pytest.raises(BufferError, match="references to objects"):
            call()
    assert list(objects) == [None] * 8


def test_more_generators_than_there_is_memory_for():
    rng = sw.random.default_rng(1)
    with pytest.raises(MemoryError):
        rng.spawn(2**62)
    assert len(rng.spawn(3)) == 3
