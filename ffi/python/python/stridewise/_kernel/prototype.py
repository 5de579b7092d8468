# mypy: ignore-errors
"""Kernels as plain Python: what a launch of a function without decorator does, for debuggers and prints.

Items run one after the other, in the order of their ids, and one that comes to a barrier waits until the others of its group have
come, too. Items that no barrier stops run in the thread of the caller; each that one stops keeps a thread, of which one runs at a
time. So that elements are numbers, as they are in kernels, arrays come to the function as `Elements`.
"""

import collections
import contextvars
import functools
import inspect
import itertools
import math
import operator
import threading

from .. import _native, kernel_api
from .expressions import LIMITS
from .functions import FOLDS, fold_name
from .things import INTEGER, number_kind


def scalar(value, dtype):
    """A number as one of a dtype, as an element of an array is: NumPy's scalar where NumPy is, else Python's number."""
    try:
        import numpy

        return numpy.dtype(str(dtype)).type(value)
    except (ImportError, TypeError):
        return value


class Elements:
    """An array whose elements are numbers: what is read is as it was then."""

    __slots__ = ("_array",)

    def __init__(self, array):
        self._array = array

    def __getitem__(self, index):
        found = self._array[index]
        return Elements(found) if found.ndim else scalar(found.tolist(), found.dtype)

    def __setitem__(self, index, value):
        self._array[index] = getattr(value, "_array", value)

    def __len__(self):
        return len(self._array)

    def __getattr__(self, name):
        return getattr(self._array, name)

    def __repr__(self):
        return repr(self._array)


def memory(shape, dtype):
    """Memory of items or groups, of zeros."""
    return Elements(_native.zeros(tuple(shape) if isinstance(shape, (tuple, list)) else shape, dtype=dtype, device="host"))


class Abandoned(BaseException):
    """Leaves items that wait where another one has failed."""


class Items:
    """The items of a group, or of all of a launch over a Range, while they run."""

    def __init__(self, calls):
        """calls: what each item runs."""
        self.calls, self.waiting, self.ready, self.given = iter(calls), [], collections.deque(), {}
        self.ended, self.error, self.done = 0, None, threading.Event()

    def run(self):
        """All of them, from here on. Raises what one has raised."""
        try:
            self._begin()
            self.done.wait()
        except BaseException as error:
            self._fail(error)
        if self.error is not None:
            raise self.error

    def meet(self):
        """Leaves the turn to the others, until all have come here."""
        if self.error is not None:
            raise Abandoned
        own = threading.Event()
        self.waiting.append(own)
        if not self.ready:
            # Others have not begun yet: a thread of its own begins them.
            threading.Thread(target=contextvars.copy_context().run, args=(self._begin,), daemon=True).start()
        else:
            self.ready.popleft().set()
        own.wait()
        if self.error is not None:
            raise Abandoned

    def _begin(self):
        """Runs items that have not begun, until one of them waits, and what comes after it has gone on elsewhere."""
        try:
            for call in self.calls:
                if self.error is not None:
                    return
                call()
                self.ended += 1
                if self.ready:
                    # It had waited, and those behind it go on.
                    return self.ready.popleft().set()
            self._next_round()
        except Abandoned:
            pass
        except BaseException as error:
            self._fail(error)

    def _next_round(self):
        """All have come to a barrier, or to their end."""
        if self.ready:
            self.ready.popleft().set()
        elif not self.waiting:
            self.done.set()
        elif self.ended:
            self._fail(RuntimeError("items of a group wait at a barrier that others did not come to; help: put it where all items come"))
        else:
            self.ready, self.waiting = collections.deque(self.waiting), []
            self.ready.popleft().set()

    def _fail(self, error):
        if self.error is None:
            self.error = error
        for one in (*self.waiting, *self.ready):
            one.set()
        self.done.set()


def together(group, value):
    """The values that the items of a group give here, in the order of their local ids."""
    if not isinstance(group, kernel_api.Group):
        raise RuntimeError(f"`group` is {group!r}; expected that of an NdItem: what groups do is for kernels; help: item.get_group()")
    # Items come to the same calls in the same order, so the how-many-th one names it.
    count = group._rounds = group._rounds + 1
    given = group._items.given.setdefault(count, {})
    given[group._local_linear] = value
    group._items.meet()
    group._items.given.pop(count - 1, None)
    return [given[place] for place in sorted(given)]


def _limit(largest):
    """The least or the largest number of the dtype of another one."""

    def limit(x):
        dtype = str(getattr(x, "dtype", "float64" if isinstance(x, float) else "int64"))
        return LIMITS[dtype][largest] if dtype in LIMITS else math.inf if largest else -math.inf

    return limit


#: What folds, and what nothing comes to beside a number.
_FOLDED = {
    "add": (operator.add, lambda x: 0), "multiply": (operator.mul, lambda x: 1), "bitwise_and": (operator.and_, lambda x: -1),
    "bitwise_or": (operator.or_, lambda x: 0), "bitwise_xor": (operator.xor, lambda x: 0), "minimum": (min, _limit(True)),
    "maximum": (max, _limit(False)),
}  # fmt: skip


def folded(group, x, op, part):
    """Those values that are for an item, folded. part: which ones, by the item's place."""
    values = part(together(group, x), group._local_linear)
    name = fold_name(op)
    if name is None:
        raise TypeError(f"`op` is {op!r}; expected one of {', '.join(map(repr, FOLDS))}")
    function, nothing = _FOLDED[name]
    return functools.reduce(function, values) if values else scalar(nothing(x), x.dtype) if hasattr(x, "dtype") else nothing(x)


def _product(extents):
    return itertools.product(*map(range, extents))


def _made(kind, **state):
    made = object.__new__(kind)
    for name, value in state.items():
        setattr(made, name, value)
    return made


def launch(function, index_range, arguments):
    """Runs a function as a kernel, an item after the other."""
    grouped = isinstance(index_range, kernel_api.NdRange)
    if not grouped and not isinstance(index_range, kernel_api.Range):
        raise TypeError(f"`index_range` is {index_range!r}; expected a Range or an NdRange")
    local = [isinstance(argument, kernel_api.LocalAccessor) for argument in arguments]
    if any(local) and not grouped:
        raise TypeError("local memory over a Range: a LocalAccessor is for launches over an NdRange; help: give NdRange(…, …)")
    arguments = [Elements(each) if isinstance(each, _native.usm_ndarray) else each for each in arguments]
    parameters = inspect.signature(function).parameters
    takes_item = len(parameters) == len(arguments) + 1

    def called(item, given):
        def call():
            result = function(*([item] if takes_item else []), *given)
            if result is not None:
                raise TypeError(f"a kernel that returns something: {function!r} returned {result!r}; help: write it to an argument")

        return call

    if not grouped:
        extents = tuple(index_range)
        for index in _product(extents):
            called(_made(kernel_api.Item, _index=index, _extents=extents), arguments)()
        return
    extents, sizes = tuple(index_range.global_range), tuple(index_range.local_range)
    counts = tuple(-(-extent // size) if size else 0 for extent, size in zip(extents, sizes))
    if not index_range.partial and any(extent % size for extent, size in zip(extents, sizes) if size):
        raise ValueError(f"`index_range` is {index_range}; expected groups that divide the items; help: partial=True leaves the last ones smaller")
    for place in _product(counts):
        first = tuple(number * size for number, size in zip(place, sizes))
        here = tuple(min(size, extent - start) for size, extent, start in zip(sizes, extents, first))
        given = [memory(each.shape, each.dtype) if is_local else each for each, is_local in zip(arguments, local)]
        items = Items(())
        calls = []
        for linear, inner in enumerate(_product(here)):
            group = _made(
                kernel_api.Group, _place=place, _counts=counts, _sizes=here, _local_linear=linear, _items=items, _rounds=0
            )  # fmt: skip
            index = tuple(start + own for start, own in zip(first, inner))
            item = _made(kernel_api.NdItem, _index=index, _extents=extents, _local=inner, _sizes=here, _group=group)
            calls.append(called(item, given))
        items.calls = iter(calls)
        items.run()


def along(values, axis):
    """One of an item's ids or extents, or all of them where no axis is named."""
    if axis is None:
        return values if len(values) > 1 else values[0]
    if not -len(values) <= axis < len(values):
        raise IndexError(f"`idx` is {axis}; expected an axis of {len(values)}")
    return values[axis]


def linear(index, extents):
    """An id in row-major order."""
    found = 0
    for one, extent in zip(index, extents):
        found = found * extent + one
    return found


size = math.prod


def wrapped(value, dtype):
    """An integer as one of a dtype has it, of whose bits there are so many; other numbers as they are. Raises TypeError for a float."""
    name = str(dtype)
    if number_kind(value) is None or "int" not in name:
        return value
    if number_kind(value) > INTEGER:
        raise TypeError(f"`val` is {value!r}; expected an integer, as the array's elements are ({name}); help: int(…) makes one")
    bits, value = int(name.rpartition("t")[2]), int(value)
    value &= (1 << bits) - 1
    return value - (1 << bits) if name[0] == "i" and value >> (bits - 1) else value
