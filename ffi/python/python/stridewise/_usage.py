"""How much memory is in use, and whose it is: what the module makes tuples with names of, and scopes. Imported when one is asked for."""

import sys
from typing import NamedTuple

from . import _native


class KindUsage(NamedTuple):
    """Memory of one kind, in bytes."""

    #: In use.
    in_use: int
    #: Held by the pool for reuse.
    kept: int
    #: The most that was in use.
    peak: int


class MemoryUsage(NamedTuple):
    """Memory of a device, in bytes, rounded up to the sizes that its pool hands out."""

    #: In use by arrays, memory objects and work under way.
    in_use: int
    #: Held by the pool for reuse.
    kept: int
    #: The most that was in use.
    peak: int
    #: Obtained from the device.
    reserved: int
    #: What may be in use, or None.
    limit: int | None
    #: What the device has.
    total: int
    #: Of each kind of memory, by its name.
    kinds: dict


class ScopeUsage(NamedTuple):
    """What was allocated in a scope, in bytes as they were asked for."""

    #: All that was allocated.
    allocated: int
    #: By how many allocations.
    allocations: int
    #: The most of it that was in use at a time.
    peak: int
    #: What of it is in use now.
    left: int


class LiveArray(NamedTuple):
    """Memory that is in use: an array's, or that of several views of one."""

    device: _native.Device
    #: Bytes, as they were asked for.
    nbytes: int
    usm_type: str
    #: "pool", the device's own; "lent" by others; of a "file".
    origin: str
    #: Of the array that it was made for, or None.
    dtype: object
    shape: tuple | None
    #: The scopes that it was made in, from the outermost on, as "load/parse"; or None.
    scope: str | None
    #: The name of the thread that made it, where it was made in a scope and the thread has one.
    thread: str | None
    #: Where it was made, as "file:line", where a scope with `sites` has noted that.
    made_at: str | None
    pointer: int
    #: All of it in words.
    text: str

    def __str__(self):
        return self.text


class memory_scope:
    """A block whose allocations are counted, of the thread that runs it; blocks may be inside each other, and what is allocated in the
    inner one counts in the outer ones, too. `scope.usage` is a tuple with the names allocated, allocations, peak and left, in the block
    and behind it: what is left is looked up anew. `live_arrays` says of memory in which scope it was made.

    Memory is allocated when work is submitted: what is recorded in the block and needed only behind it counts there.

    name: what it is called. sites: whether the file and line are noted where each array is made; slower.

    >>> with sw.memory_scope("load") as scope:
    ...     x = sw.zeros((1000, 500), dtype="float32")
    >>> scope.usage.left
    2000000
    """

    def __init__(self, name, *, sites=False):
        from ._explanations import shown

        if not isinstance(name, str):
            raise TypeError(f"`name` is {shown(name)}; expected a text")
        if not isinstance(sites, bool):
            raise TypeError(f"`sites` is {shown(sites)}; expected True or False")
        self.name, self._sites, self._before = name, sites, None
        self._scope = _native._MemoryScope(name)

    def __enter__(self):
        self._scope.enter()
        if self._sites:
            from ._seeing import _begin_sites

            self._before = _begin_sites(sys._getframe(1))
        return self

    def __exit__(self, kind, error, trace):
        if self._sites:
            from ._seeing import _end_sites

            _end_sites(self._before)
        self._scope.leave()

    @property
    def usage(self):
        """What was allocated in the block, and what of that is in use now."""
        return self._scope.usage()

    def __repr__(self):
        return f"<memory_scope {self.name!r}: {self.usage}>"
