"""The block in which work on memory of others is recorded. Imported when it is asked for."""

import functools

from . import _native

#: What a function has whose body runs after its call: of generators, coroutines, and both (`inspect.CO_…`).
_RUNS_LATER = 0x20 | 0x80 | 0x200


class fuse:
    """A block, or a function, during which nobody but this module reads or writes memory that others know: of NumPy's arrays that
    were adopted (`asarray(…, copy=False)`, `from_dlpack`), of arrays that buffers and tensors show. Operations on such memory are
    recorded and computed together, as those on the module's own are; at the end of the outermost block they are complete.

    >>> import numpy
    >>> theirs = numpy.ones(1 << 20, numpy.float32)
    >>> x = sw.asarray(theirs, copy=False)
    >>> with sw.fuse():
    ...     y = sw.sqrt(x * x + 1) * 2  # one pass instead of four
    >>> @sw.fuse
    ... def norm(x):
    ...     return sw.sqrt(x * x + 1)

    That nobody does is the caller's promise, for the thread that enters the block: what others write or read there meanwhile is
    seen or lost by chance. Errors of recorded work are raised at the end, unless the block raises one itself.
    """

    def __new__(cls, function=None):
        block = super().__new__(cls)
        return block if function is None else block(function)

    def __enter__(self):
        _native._fuse_begin()
        return self

    def __exit__(self, kind, error, trace):
        try:
            _native._fuse_end()
        except Exception:
            if kind is None:
                raise

    def __call__(self, function):
        if not callable(function):
            raise TypeError(f"function: got {function!r}, expected a function; help: write `@fuse` above one, or `with fuse():`")
        code = getattr(function, "__code__", None)
        if code is not None and code.co_flags & _RUNS_LATER:
            raise TypeError(
                f"function: got {function.__qualname__}, whose body runs after the call, expected one that returns when it is done; "
                "help: write `with fuse():` inside of it"
            )

        @functools.wraps(function)
        def fused(*args, **kwargs):
            with self:
                return function(*args, **kwargs)

        return fused
