"""What the engine will do, and what it did: plans of recorded work, and traces. Imported when one of the names is asked for."""

import os
import sys
import threading
from pathlib import Path

from . import Graph, _native, usm_ndarray
from ._explanations import shown as _shown

#: What plans are written as.
_FORMATS = ("text", "json", "mermaid")
#: Frames of this package are not the program's.
_FOLDER = str(Path(__file__).parent)
#: Variables that are looked through for the names of arrays.
_MOST_NAMES = 1000


def _names(frame, but):
    """The arrays that a frame's variables hold, with their names: those of the function before those of its module."""
    names, seen = [], {id(but)}
    for variables in (frame.f_locals, frame.f_globals):
        for name, value in list(variables.items())[:_MOST_NAMES]:
            if isinstance(value, usm_ndarray) and id(value) not in seen and not name.startswith("_"):
                seen.add(id(value))
                names.append((name, value))
    return names


def _told(what, format, frame, run):
    if not isinstance(format, str) or format not in _FORMATS:
        kind = ValueError if isinstance(format, str) else TypeError
        raise kind(f"`format` is {_shown(format)}; expected one of {', '.join(map(repr, _FORMATS))}; help: leave it out for text")
    if isinstance(what, Graph):
        return what._explain(format, run)
    if not isinstance(what, usm_ndarray):
        raise TypeError(
            f"`x` is of type {type(what).__name__}; expected a usm_ndarray or a Graph; help: what is no array is not recorded: convert it "
            "with asarray"
        )
    return what._explain(format, _names(frame, what), run)


def explain(x, /, format="text"):
    """The passes that would compute an array, were its elements asked for now, or those that a Graph submits: what each reads and
    writes, which operations are fused in it, how the device would run it, and why it ends where it does. Nothing is computed, and
    what is recorded stays so. Arrays have the names of the caller's variables.

    format: "text", a tree to be read from the bottom; "json"; "mermaid", a flow chart. Returns a str.

    >>> x = sw.ones(1 << 20, dtype="float32")
    >>> print(sw.explain(sw.sqrt(x * x + 1)))  # doctest: +SKIP
    """
    return _told(x, format, sys._getframe(1), False)


def analyze(x, /, format="text"):
    """As `explain`, and runs it: with the time that each pass took, its bytes in a second as a share of what the device's memory
    moves (measured once for each device, some tens of milliseconds), its threads, what it waited for, and what was compiled for it.
    """
    return _told(x, format, sys._getframe(1), True)


class profile:
    """A block whose work is noted: submissions, waits, commands as they are run, copies, compilations, allocations, host tasks and
    callbacks, of the whole process. Behind the block `p.table()` has what was done by name, `print(p)` shows it, and `p.write(path)`
    writes a trace that Perfetto's page (https://ui.perfetto.dev) opens; with a path, the end of the block does.

    path: a file for the trace. sites: whether records say where the program was, as `file:line`; slower. at_once: seconds from which
    work that the calling thread does without a submission is noted. most: how many records there is room for; what comes beyond is
    counted (`p.dropped`).

    >>> with sw.profile() as p:
    ...     s = float(sw.sum(sw.sqrt(sw.ones(1 << 20))))
    >>> p.dropped
    0
    """

    def __init__(self, path=None, *, sites=False, at_once=20e-6, most=1 << 19):
        if path is not None and not isinstance(path, (str, os.PathLike)):
            raise TypeError(f"`path` is {_shown(path)}; expected the path of a file, or None; help: leave it out to write none")
        if not isinstance(sites, bool):
            raise TypeError(f"`sites` is {_shown(sites)}; expected True or False")
        if not isinstance(at_once, (int, float)) or not 0 <= at_once < 1e6:
            kind = ValueError if isinstance(at_once, (int, float)) else TypeError
            raise kind(f"`at_once` is {_shown(at_once)}; expected a number of seconds, 0 or more; help: 0 notes all of it")
        if not isinstance(most, int) or not 1 <= most <= 1 << 24:
            kind = ValueError if isinstance(most, int) else TypeError
            raise kind(f"`most` is {_shown(most)}; expected an integer from 1 to {1 << 24}; help: a record takes some 200 bytes")
        self._path, self._sites, self._at_once, self._most = path, sites, float(at_once), int(most)
        self._profiler = self._trace = self._before = None

    def __enter__(self):
        if self._profiler is not None or self._trace is not None:
            raise RuntimeError("profile: it has had its block; expected a fresh one; help: call `profile()` for each block")
        self._profiler = _native._Profiler(self._most, self._at_once)
        if self._sites:
            self._before = _begin_sites(sys._getframe(1))
        return self

    def __exit__(self, kind, error, trace):
        if self._sites:
            _end_sites(self._before)
        self._trace, self._profiler = self._profiler.end(), None
        if self._path is not None:
            self.write(self._path)

    def _ended(self):
        if self._trace is None:
            raise RuntimeError("profile: its block has not ended; expected one that has; help: ask behind the block")
        return self._trace

    def table(self):
        """What was done, by name: a list of dicts with `name`, `doing`, `calls`, `time` (seconds), `bytes`, `share` (of the time of
        the block), `share_of_limit` (of what the device's memory moves in that time, which the first table measures in some tens of
        milliseconds; None for what moves nothing) and `rate` (bytes in a second); the longest first."""
        keys = ("name", "doing", "calls", "time", "bytes", "share", "share_of_limit")
        rows = [dict(zip(keys, row)) for row in self._ended().table()]
        for row in rows:
            row["rate"] = row["bytes"] / row["time"] if row["time"] else 0.0
        return rows

    def to_json(self):
        """The trace as JSON of Chrome's trace format."""
        return self._ended().to_json()

    def write(self, path):
        """Writes the trace to a file. Raises ValueError where it cannot be written."""
        self._ended().write(os.fspath(path))

    @property
    def dropped(self):
        """Records for which there was no room."""
        return self._ended().dropped

    @property
    def seconds(self):
        """How long the block lasted."""
        return self._ended().seconds

    def __str__(self):
        return self._ended().text()


def _begin_sites(frame):
    """Says from now on at which line the program is, from the frame that calls on; what followed it before."""
    before = sys.gettrace()
    threading.settrace(_follow)
    sys.settrace(_follow)
    while frame is not None:
        if not frame.f_code.co_filename.startswith(_FOLDER):
            frame.f_trace = _line
        frame = frame.f_back
    return before


def _end_sites(before):
    sys.settrace(before)
    threading.settrace(before)
    _native._set_site(None)


def _follow(frame, event, argument):
    """Called for each new frame while call sites are noted."""
    return None if frame.f_code.co_filename.startswith(_FOLDER) else _line(frame, event, argument)


def _line(frame, event, argument):
    if event == "line":
        _native._set_site(f"{frame.f_code.co_filename}:{frame.f_lineno}")
    return _line
