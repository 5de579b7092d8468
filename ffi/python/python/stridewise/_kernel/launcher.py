# mypy: ignore-errors
"""What decorators make of functions, and launches."""

import contextvars
import functools

from .. import _native

#: The queue of launches whose arguments have none.
_current = contextvars.ContextVar("stridewise_queue", default=None)


def _source(function, frame):
    # The reader and what it needs of Python's is there from the first kernel on.
    from .source import Source

    return Source(function, frame)


def _refuse_recursion(source):
    """Raises KernelError where a function that a kernel calls calls itself, as far as what it calls is there already."""
    # What is open, with what it calls that was not looked at yet, and where it is called; and what is known to be well.
    open_, done = [(source, source.called(), None)], set()
    while open_:
        current, rest, _ = open_[-1]
        node, name = next(rest, (None, None))
        if node is None:
            done.add(id(current))
            open_.pop()
            continue
        try:
            called = current.outside(name)
        except KeyError:
            continue
        inner = called._source if isinstance(called, DeviceFunction) else None
        if any(inner is outer for outer, *_ in open_):
            calls = zip(reversed(open_[1:]), reversed(open_[:-1]))
            notes = [(outer.place(at), f"`{of.name}` is called here") for (of, _, at), (outer, *_) in calls]
            current.fail(node, "recursion", f"`{inner.name}` calls itself", "write a loop instead", notes)
        if inner is not None and id(inner) not in done:
            open_.append((inner, inner.called(), node))


class device_context:
    """Within it, kernels whose arguments are in no queue's memory run on a device: that of a filter string, a Device or a Queue.

    >>> import stridewise as sw
    >>> with sw.device_context("host") as queue:
    ...     queue.device == sw.Device("host")
    True

    It is the context's of the thread or of the task of asyncio that is in it. Arrays are made where their own arguments say.
    Raises DeviceSelectionError, TypeError.
    """

    def __init__(self, device):
        if isinstance(device, _native.Queue):
            self._queue = device
        else:
            self._queue = (device if isinstance(device, _native.Device) else _native.Device(device)).queue

    def __enter__(self):
        self._token = _current.set(self._queue)
        return self._queue

    def __exit__(self, *_):
        _current.reset(self._token)


def current_queue():
    """The queue of launches whose arguments have none: that of the `device_context`, or the default device's."""
    queue = _current.get()
    return _native.select_default_device().queue if queue is None else queue


class Kernel(_native._Launcher):
    """A kernel: what `stridewise.kernel` makes of a function. Launched by `kernel_api.call_kernel`, or by `launch`.

    The function is read at its first launch with arguments of certain types (dtypes and dimensions of arrays, kinds of numbers),
    and the kernel is kept for the next one. What it takes from around it, numbers, arrays and functions, is what they were at
    the first launch of all: a global that is changed later changes no kernel.
    """

    #: Whether a parameter more than there are arguments is the item.
    _takes_item = True

    def __init__(self, function, frame, signatures=None):
        self._source = _source(function, frame)
        self.__name__ = self.__qualname__ = self._source.name
        _refuse_recursion(self._source)
        if not isinstance(function, str):
            functools.update_wrapper(self, function)
        self._signatures = signatures
        # What a signature says all of is read now, so that errors are told here.
        for signature in signatures or ():
            known = signature.known()
            if known is not None:
                self._compile(*known[:2], True, known[2], ())

    def __reduce__(self):
        """It is pickled by its name, as the function is that it was made of, and is its own copy."""
        return self.__qualname__

    @property
    def overloads(self):
        """The signatures that the kernel is for, as numba-dpex names them; none where it is for all."""
        return tuple(self._signatures or ())

    def launch(self, index_range, *args, depends=None, queue=None, check=False, time_limit=None):
        """Launches the kernel over a Range or NdRange, behind whatever accesses its arrays now and behind the events in `depends`.

        args: arrays in USM memory of any layout, numbers, and LocalAccessors. A Python number means what it means as a literal in
        the kernel: it takes the dtype of what it meets there, and must fit it. queue: where it runs; None: the arrays' queue, or
        without arrays that of the `device_context`, or the default device's. check: items are watched, which takes hundreds of
        times as long: the event fails with a KernelError where one breaks a rule, as an index out of range or a race is. With
        STRIDEWISE_CHECK=1 in the environment every launch is checked.
        time_limit: seconds that the launch may take from its beginning on, on the host; the event fails with a KernelError where it
        has not come to its end then. STRIDEWISE_KERNEL_SECONDS in the environment is that of launches without one.

        Returns an Event. Raises KernelError for a function that is no kernel, TypeError and ValueError for arguments that do not
        fit it, ExecutionPlacementError where arrays are of different queues, NotImplementedError on a device that does not run it.

        >>> import stridewise as sw
        >>> @sw.kernel
        ... def double(item, a):
        ...     i = item.get_id(0)
        ...     a[i] = 2 * a[i]
        >>> a = sw.arange(4)
        >>> double.launch(sw.kernel_api.Range(4), a).wait()
        >>> a.tolist()
        [0, 2, 4, 6]
        """
        return self._launch(index_range, args, depends, queue, False, check, time_limit)

    def inspect(self, index_range, *args):
        """The text of the kernel's form for such arguments: what the function was understood as."""
        return str(self._compiled(index_range, args))

    def __call__(self, *args, **kwargs):
        raise TypeError(
            f"the kernel `{self.__name__}` is called as a function; help: launch it by "
            f"call_kernel({self.__name__}, Range(…), …), or read what it computes into a device_func"
        )

    def __repr__(self):
        return f"<kernel {self.__name__}>"

    def _specialise(self, dims, grouped, double, arguments, values):
        if self._signatures is not None and not any(one.fits(dims, grouped, arguments) for one in self._signatures):
            shown = ", ".join(f"{dtype} of {ndim} dimensions" if what == "array" else dtype for what, dtype, ndim in arguments)
            listed = ", ".join(map(str, self._signatures))
            self._source.fail(
                self._source.tree, "signature", f"`{self.__name__}` is launched with ({shown}), and is for {listed}",
                "convert the arguments, or add a signature",
            )  # fmt: skip
        return self._compile(dims, grouped, double, arguments, values)

    def _compile(self, dims, grouped, double, arguments, values):
        from .reader import compile_source

        return compile_source(self._source, dims, grouped, double, arguments, values, self._takes_item)

    def _queue(self):
        return current_queue()


class DeviceFunction:
    """A function that kernels call: what `device_func` makes. It is put in the place of each call."""

    def __init__(self, function, frame):
        self._source = _source(function, frame)
        self.__name__ = self.__qualname__ = self._source.name
        if not isinstance(function, str):
            functools.update_wrapper(self, function)
            self._function = function

    def __call__(self, *args, **kwargs):
        """Outside of kernels it is the function that it was made of."""
        return self._function(*args, **kwargs)

    def __reduce__(self):
        """As a kernel's."""
        return self.__qualname__

    def __repr__(self):
        return f"<device_func {self.__name__}>"


def _decorator(make, function):
    from .source import caller

    frame = caller(3)
    return (lambda function: make(function, frame)) if function is None else make(function, frame)


#: Options of numba-dpex's decorator, which change nothing here: nothing is compiled before a launch, and nothing holds the interpreter.
_OPTIONS = frozenset("boundscheck debug error_model fastmath inline_threshold no_cfunc_wrapper no_compile no_cpython_wrapper release_gil".split())


def _check_options(options):
    for name, value in options.items():
        if name == "_compilation_mode":
            import warnings

            warnings.warn("`_compilation_mode` is numba-dpex's own, and changes nothing", UserWarning, stacklevel=3)
        elif name not in _OPTIONS:
            raise TypeError(f"`{name}` is {value!r}; expected an option of numba-dpex's: {', '.join(sorted(_OPTIONS))}")


def kernel(function=None, **options):
    """Makes a kernel of a function: a decorator. Of a text, too, where a function has no source, as at Python's prompt.

    The function says what one item does. Its first parameter may be an Item, or an NdItem for launches over an NdRange; the
    others are arrays, numbers and local memory. See `stridewise.kernel_api` for what is there, and for how it is launched.

    Kernels have assignments, `if`, `while`, `for … in range(…)`, `break`, `continue`, `return`, `assert`, conditions, comparisons,
    arithmetic as Python's (`//` and `%` round down), elementwise functions of math, numpy and stridewise, and calls of functions
    that are decorated by `device_func`. A name that is assigned on several paths has one dtype, the common one of what is assigned.
    Numbers that are Python's in Python (literals, ids, lengths, counters of loops) take the dtype of floats that they stand beside.
    An index out of range never leaves its array: what is read is the nearest element, and what is written is dropped. A literal or an
    argument below 0 counts from the end as an index; what is computed does not. A launch fails where an `assert` does not hold.

    options: those of numba-dpex's decorator are taken, and change nothing. In the place of a function there may be a signature, a tuple of
    types (ItemType or NdItemType, USMNdArray for arrays, dtypes for numbers), or a list of them: the decorator of a kernel for such
    arguments alone, whose rules are checked at once. Raises KernelError for a text that is no function, and for functions that call
    themselves; other rules are checked at the first launch. NotImplementedError for a signature that is a text.

    >>> import stridewise as sw
    >>> scale = sw.kernel("def scale(item, a, factor): a[item.get_id(0)] *= factor")
    >>> a = sw.ones(3, dtype="float32")
    >>> sw.kernel_api.call_kernel(scale, sw.kernel_api.Range(3), a, 2.5)
    >>> a.tolist()
    [2.5, 2.5, 2.5]
    """
    _check_options(options)
    if function is not None and not callable(function):
        from .signatures import signatures_of

        signatures = signatures_of(function)
        if signatures is not None:
            return _decorator(functools.partial(Kernel, signatures=signatures), None)
    return _decorator(Kernel, function)


def device_func(function=None):
    """Makes a function that kernels call: a decorator. It is inlined, and may return numbers, tuples of them, or nothing.

    Raises KernelError for a text that is no function.

    >>> import stridewise as sw
    >>> from stridewise.kernel_api import Range, call_kernel, device_func
    >>> @device_func
    ... def cube(x):
    ...     return x * x * x
    >>> @sw.kernel
    ... def cubes(item, a):
    ...     a[item.get_id(0)] = cube(item.get_id(0))
    >>> a = sw.zeros(4)
    >>> call_kernel(cubes, Range(4), a)
    >>> a.tolist()
    [0.0, 1.0, 8.0, 27.0]
    """
    return _decorator(DeviceFunction, function)
