"""What errors say: every function, method and class of the namespace, called with what is no such argument in each place.

The functions are those that the modules have, so that a new one is called without being named here. Whatever an error says is about the
argument in the terms of Python's users: its name, what was found, what was expected. Words of Rust and of the binding library are none,
and sentences of the interpreter about what it was doing inside are none either.
"""

import errno
import re
import signal
import subprocess
import sys

import numpy as np
import pytest

import namespace_calls
import stridewise as sw
from namespace_calls import accepted, finish, public

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

#: Files, and what NumPy reads and writes; a limit on the memory of all tests.
LEFT = {"set_memory_limit", "save", "load", "memmap", "genfromtxt", "loadtxt", "savetxt", "savez", "savez_compressed"}

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
NAMES = list(public(sw, LEFT))
PARTS = 8
CASES = [(f"stridewise {part}", lambda: sw, NAMES[part::PARTS]) for part in range(PARTS)]
CASES += [(name, make, list(public(make(), LEFT))) for name, make in MODULES.items()]


class Late(BaseException):
    """It takes so long as none of these calls is to."""


def late(*_):
    raise Late


def calls(get):
    """The calls of a function with one argument wrong: which one, its value's name, the arguments."""
    known = namespace_calls.parameters(get())
    by_place = [p for p in known if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = namespace_calls.needed(get())
    # Where it takes none of them, any will do.
    made = (accepted(get, RIGHT, len(needed)) or [(RIGHT[0],) * len(needed)])[0]
    for place, parameter in enumerate(needed):
        for wrong in wrongs():
            args = [make() for make in made]
            args[place] = wrongs()[wrong]
            yield parameter.name, wrong, args, {}
    for parameter in known:
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
                error = None
                try:
                    signal.setitimer(signal.ITIMER_REAL, 2)
                    try:
                        finish(getattr(holder(), name)(*args, **options))
                    except Exception as caught:
                        error = caught
                    finally:
                        signal.setitimer(signal.ITIMER_REAL, 0)
                except Late:
                    # Wherever it comes, also while an error is under way.
                    continue
                if error is None:
                    continue
                heard += 1
                text = str(error)
                if any(words.search(text) for words in (RUST, BINDING, INSIDE)):
                    bad.setdefault(f"{type(error).__name__}: {text[:200]}", f"{name}, {parameter}: {wrong}")
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
        (lambda x: sw.add(x, "a"), TypeError, "`x2` is of type str; expected a usm_ndarray, a NumPy array, a list or a number"),
        (lambda x: sw.sum("a"), TypeError, "`x` is of type str; expected a usm_ndarray, a NumPy array, a list or a number"),
        (lambda x: sw.concat([x, "a"]), TypeError, "an element of `arrays` is of type str; expected a usm_ndarray"),
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


@pytest.mark.parametrize("ask", [
    lambda x: (x > 3) and (x < 5), lambda x: not x, lambda x: bool(x > 1), lambda x: 1 < x < 3, lambda x: 7 in [x], lambda x: bool(x[:0]),
])  # fmt: skip
def test_truth_of_many_elements(ask):
    with pytest.raises(ValueError, match=r"no truth value; expected an array of exactly one element; help: .*`&`.*\(x > 3\) & \(x < 5\).*`any\(x\)` and `all\(x\)`"):
        ask(sw.arange(6))
    assert not sw.asarray(0) and sw.asarray([[2]])


@pytest.mark.parametrize("name", ["concat", "stack", "concatenate", "vstack", "hstack", "dstack", "column_stack"])
def test_arrays_beside_each_other(name):
    x = sw.arange(3)
    with pytest.raises(TypeError, match=rf"array of int64 of shape .*3.*help: put (the arrays|them) in one.*\w+\(\[x, y\]\)"):
        getattr(sw, name)(x, x)
    # What is gone through once is no sequence.
    with pytest.raises(TypeError, match="`arrays` is .*generator.*; expected a sequence of arrays"):
        getattr(sw, name)(x for _ in range(2))
    # What is no array is only no axis.
    if name in ("concat", "stack"):
        with pytest.raises(TypeError, match="^`axis` is 0.5; expected an integer[^;]*$"):
            getattr(sw, name)([x], axis=0.5)
        assert getattr(sw, name)([x, x], sw.asarray(0)).size == 6


@pytest.mark.parametrize(("call", "words"), [
    (lambda x: sw.sqrt(), r"sqrt\(\) takes one array or number \(x\) by position, but 0 were given"),
    (lambda x: sw.add(x), r"add\(\) takes two arrays or numbers \(x1, x2\) by position, but 1 were given"),
    (lambda x: sw.sqrt(x, x), r"sqrt\(\) takes one .* but 2 were given; help: `out` and `order` are given by name"),
    (lambda x: sw.sum(), r"sum\(\) missing 1 required positional argument: 'x'"),
])  # fmt: skip
def test_missing_operands(call, words):
    with pytest.raises(TypeError, match=words):
        call(sw.arange(3))


def divided(x):
    x /= 2


def raised(x):
    x **= 0.5


def added(x):
    x += [0.5, 1, 2]


def turned(x):
    x *= 1j


@pytest.mark.parametrize(("change", "sign", "dtype"), [(divided, "/", "float64"), (raised, r"\*\*", "float64"), (added, r"\+", "float64"), (turned, r"\*", "complex128")])
def test_results_that_do_not_fit_in_place(change, sign, dtype):
    if dtype not in sw.__array_namespace_info__().dtypes():
        pytest.skip("the device has no such dtype")
    x = sw.arange(3)
    with pytest.raises(TypeError, match=rf"`{sign}=` writes to is of int64; expected .*{dtype}; help: .*`x = x {sign} y`") as found:
        change(x)
    assert "out" not in str(found.value)
    assert (change is divided) == ("`x //= y`" in str(found.value))
    assert x.tolist() == [0, 1, 2]


@pytest.mark.parametrize("call", [
    lambda file: sw.load(file), lambda file: sw.load(file, mmap_mode="r"), lambda file: sw.memmap(file), lambda file: sw.fromfile(file),
    lambda file: sw.loadtxt(file), lambda file: sw.genfromtxt(file), lambda file: sw.save(file / "x.npy", sw.ones(2)), lambda file: sw.savez(file / "x.npz", sw.ones(2)),
    lambda file: sw.savetxt(file / "x.txt", sw.ones(2)),
], ids=["load", "load mapped", "memmap", "fromfile", "loadtxt", "genfromtxt", "save", "savez", "savetxt"])  # fmt: skip
def test_files_that_are_not_there(call, tmp_path):
    file = tmp_path / "none"
    with pytest.raises(FileNotFoundError, match="none") as found:
        call(file)
    # NumPy's own readers of text say neither.
    if "not found" not in str(found.value):
        assert found.value.errno == errno.ENOENT
        assert str(found.value.filename).startswith(str(file))


def test_files_that_may_not_be_read(tmp_path):
    with pytest.raises(IsADirectoryError) as found:
        sw.load(tmp_path)
    assert found.value.errno == errno.EISDIR and found.value.filename == str(tmp_path)
    # What the system has not refused has no number.
    (tmp_path / "x.npy").write_bytes(b"pear")
    with pytest.raises(OSError, match="x.npy") as found:
        sw.load(tmp_path / "x.npy")
    assert found.value.errno is None and type(found.value) is OSError


@pytest.mark.parametrize("call", [
    lambda x: sw.linalg.inv(x * 0), lambda x: sw.linalg.cholesky(-x), lambda x: sw.linalg.eig(x * float("nan")), lambda x: np.linalg.solve(x * 0, x),
    lambda x: sw.linalg.sqrtm(sw.asarray([[0.0, 1.0], [0.0, 0.0]])),
])  # fmt: skip
def test_errors_of_decompositions_are_numpys(call):
    import copy
    import pickle

    for expected in (np.linalg.LinAlgError, sw.linalg.LinAlgError, ValueError):
        with pytest.raises(expected) as found:
            call(sw.eye(2))
        assert type(found.value).__name__ == "LinAlgError"
    for other in (copy.copy(found.value), pickle.loads(pickle.dumps(found.value))):
        assert isinstance(other, sw.linalg.LinAlgError) and str(other) == str(found.value)


def test_errors_of_decompositions_without_numpy():
    program = """
import sys
import stridewise as sw
try:
    sw.linalg.inv(sw.zeros((2, 2)))
except sw.linalg.LinAlgError as error:
    assert type(error) is sw.linalg.LinAlgError
    assert "numpy" not in sys.modules
import numpy
try:
    sw.linalg.inv(sw.zeros((2, 2)))
except numpy.linalg.LinAlgError:
    print("caught")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout == "caught\n", done.stderr
