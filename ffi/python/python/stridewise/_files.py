"""Arrays from bytes and texts, and into them: NumPy's names. Texts are read and
written by NumPy, which has to be installed for them.

Imported when one of its names is asked for.
"""

import contextlib as _contextlib
import itertools as _itertools
import math as _math
import os as _os
import time as _time

import stridewise as _sw

from ._arguments import explained as _explained
from ._operands import _is_inexact

__all__ = ["asarray_chkfinite", "frombuffer", "fromfile", "fromstring", "genfromtxt", "loadtxt", "savetxt", "savez", "savez_compressed"]


def _of_bytes(data, dtype, count, offset):
    dtype = _sw.zeros(0).dtype if dtype is None else _sw.dtype(dtype)
    size = data.nbytes
    if not data.c_contiguous:
        raise ValueError("invalid value: `buffer` has bytes with gaps between; expected bytes that lie closely, in row-major order; help: copy it")
    if not 0 <= offset <= size:
        raise ValueError(f"invalid value: `offset` is {offset}; expected 0..{size}, the bytes there are")
    if count < 0:
        if (size - offset) % dtype.itemsize:
            raise ValueError(f"invalid value: there are {size - offset} bytes; expected a multiple of {dtype.itemsize}, the size of {dtype}; help: say `count`")
        count = (size - offset) // dtype.itemsize
    if offset + count * dtype.itemsize > size:
        raise ValueError(f"invalid value: `count` is {count}, of {dtype.itemsize} bytes each; expected no more than the {size - offset} bytes there are")
    return data.cast("B")[offset : offset + count * dtype.itemsize], dtype


def frombuffer(buffer, dtype=None, count=-1, offset=0):
    """An array of the bytes of an object with a buffer, as elements of a dtype, float64 where None; a copy of them. count: how many
    elements, all with -1; offset: how many bytes come before."""
    data, dtype = _of_bytes(memoryview(buffer), dtype, count, offset)
    if not len(data):
        return _sw.empty(0, dtype=dtype)
    return _sw.asarray(bytearray(data)).view(dtype)


def _path(file):
    """A path. A number is none: as a descriptor it would be closed, whoever has it open."""
    try:
        path = _os.fspath(file)
        _os.fsencode(path)
    except TypeError:
        raise TypeError(f"`file` is {file!r}; expected a path or an open file") from None
    except UnicodeEncodeError:
        raise ValueError(f"invalid value: `file` is {path!r}; expected a name that the system's encoding of file names has") from None
    return path


def _write(file, data):
    """Writes bytes to a file, a path or one that is open."""
    if not hasattr(file, "write"):
        with open(_path(file), "wb") as opened:
            opened.write(data)
        return
    import io

    file.write(data.decode() if isinstance(file, io.TextIOBase) else data)


def fromfile(file, dtype=None, count=-1, sep="", offset=0):
    """An array of the bytes of a file, a path or one that is open, as `frombuffer` reads them; with `sep`, of numbers in a text that it
    separates. What is not written by `tofile` of the same machine is better read by `load`."""
    if sep:
        if not hasattr(file, "read"):
            with open(_path(file), encoding="utf-8") as opened:
                return fromstring(opened.read(), dtype, count, sep=sep)
        text = file.read()
        return fromstring(text if isinstance(text, str) else text.decode(), dtype, count, sep=sep)
    size = (_sw.zeros(0).dtype if dtype is None else _sw.dtype(dtype)).itemsize
    if hasattr(file, "read"):
        file.seek(offset, 1)
        data = file.read(size * count if count >= 0 else -1)
        # It stands behind the last whole element then.
        file.seek(-(len(data) % size), 1)
    else:
        with open(_path(file), "rb") as opened:
            opened.seek(offset)
            data = opened.read(size * count if count >= 0 else -1)
    whole = len(data) // size
    return frombuffer(data, dtype, whole if count < 0 else min(count, whole))


def fromstring(string, dtype=None, count=-1, *, sep):
    """An array of the numbers in a text, which `sep` separates; white space in it stands for any."""
    if not sep:
        raise ValueError("invalid value: `sep` is empty; expected what separates the numbers; help: frombuffer reads bytes")
    parts = [part.strip() for part in (string.split() if not sep.strip() else string.split(sep.strip()))]
    parts = parts[:-1] if parts and not parts[-1] else parts
    dtype = _sw.zeros(0).dtype if dtype is None else _sw.dtype(dtype)
    read = complex if dtype.kind == "c" else int if dtype.kind in "iu" else float
    found = [read(part) for part in parts[: None if count < 0 else count]]
    return _sw.asarray(found, dtype=dtype) if found else _sw.empty(0, dtype=dtype)


def asarray_chkfinite(obj, /, dtype=None, order=None):
    """As `asarray`; raises ValueError where an element is infinite or NaN."""
    x = _sw.asarray(obj, dtype=dtype, order="K" if order is None else order)
    if _is_inexact(x) and not bool(_sw.all(_sw.isfinite(x))):
        raise ValueError("invalid value: an element is infinite or NaN; expected finite numbers")
    return x


class News:
    """How far work has come, told to a function: it is called with how many bytes are done and how many there are, a few times a second and at
    the end. None: nobody wants to know."""

    #: Seconds without news, about, as the engine has it.
    _APART = 0.1

    def __init__(self, progress, total):
        if not (progress is None or callable(progress)):
            raise TypeError("`progress` is not callable; expected a function of the bytes that are done and of all, or None")
        self._progress, self._total, self._done, self._told = progress, total, 0, _time.monotonic()

    def add(self, size):
        """So many bytes more are done."""
        self._done += size
        if self._progress is not None and self._done < self._total and _time.monotonic() - self._told >= self._APART:
            self._progress(self._done, self._total)
            self._told = _time.monotonic()

    def end(self):
        """All is done."""
        if self._progress is not None:
            self._progress(self._total, self._total)


#: Bytes that are read or written at a time, a multiple of every element's size.
_PART_BYTES = 1 << 22


def write_npy(file, x, news):
    """Writes an array to a file that is open, as `save` writes it to a path."""
    if not isinstance(x, _sw.usm_ndarray):
        raise TypeError(f"`arr` is of type {type(x).__name__}; expected a usm_ndarray")
    if x.dtype == _sw.bfloat16:
        raise TypeError("dtype: `arr` is of bfloat16; expected a dtype that .npy files have; help: convert it to float32 first, with astype")
    columns = x.flags.f_contiguous and not x.flags.c_contiguous
    text = f"{{'descr': {x.dtype.str!r}, 'fortran_order': {columns}, 'shape': {x.shape}, }}"
    # With the ten bytes before it and its end, a multiple of 64.
    text += " " * (-(len(text) + 11) % 64) + "\n"
    elements = _sw.reshape(x.T if columns else x, -1)
    file.write(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode("latin1"))
    step = _PART_BYTES // x.itemsize
    for start in range(0, x.size, step):
        data = elements[start : start + step].tobytes()
        file.write(data)
        news.add(len(data))


def read_npy(file, progress=None, **place):
    """An array of what a file that is open has from where it stands, as `load` reads it from a path."""
    import ast

    def part(size, what, whole=None):
        found = file.read(size)
        if len(found) != size:
            raise OSError(f"input/output: `file` ends within {what}; expected an .npy file, {whole or size} bytes of it there")
        return found

    start = part(8, "the first bytes")
    if start[:6] != b"\x93NUMPY" or start[6] not in (1, 2, 3):
        raise OSError(f"input/output: `file` begins with {start[:8]!r}; expected an .npy file, of version 1, 2 or 3")
    size = int.from_bytes(part(2 if start[6] == 1 else 4, "the header"), "little")
    if size > 1 << 20:
        raise OSError(f"input/output: `file` has a header of {size} bytes; expected an .npy file")
    try:
        header = ast.literal_eval(part(size, "the header").decode("utf-8" if start[6] == 3 else "latin1"))
        kind, columns, shape = header["descr"], header["fortran_order"], tuple(map(int, header["shape"]))
        dtype = _sw.dtype("=" + kind[1:])
        if min(shape, default=0) < 0:
            raise ValueError(f"a shape of {shape}")
    except (KeyError, SyntaxError, TypeError, ValueError) as error:
        raise OSError(f"input/output: `file` has a header that is none of ours: {error}; expected numbers or truth values of an .npy file") from error
    count = _math.prod(shape)
    total = count * dtype.itemsize
    news, step, found = News(progress, total), _PART_BYTES // dtype.itemsize, None
    for start in range(0, count, step):
        data = bytearray(part(min(count - start, step) * dtype.itemsize, "the elements", total))
        if kind[0] == ">" and dtype.itemsize > 1:
            data = _swapped(data, dtype.itemsize // (2 if dtype.kind == "c" else 1))
        # There is something to fill: a header alone asks for no memory.
        found = _sw.empty(count, dtype=dtype, **place) if found is None else found
        read = _sw.asarray(data, usm_type=found.usm_type, sycl_queue=found.sycl_queue)
        # Any byte but 0 is true.
        found[start : start + step] = read != 0 if dtype == _sw.bool else read.view(dtype)
        news.add(len(data))
    news.end()
    found = _sw.empty(0, dtype=dtype, **place) if found is None else found
    return _sw.reshape(found, shape[::-1]).T if columns else _sw.reshape(found, shape)


def _swapped(data, size):
    """Bytes in which those of each number are in the other order."""
    other = bytearray(len(data))
    for place in range(size):
        other[place::size] = data[size - 1 - place :: size]
    return other


def _numpy(name):
    try:
        import numpy
    except ImportError:
        raise ImportError(f"{name} needs NumPy, which is not installed; help: save and load need nothing") from None
    return numpy


def loadtxt(fname, dtype=float, **kwargs):
    """An array of the numbers in a text, one row in each line: NumPy's `loadtxt`, with its keywords."""
    return _each(_numpy("loadtxt").loadtxt(fname, dtype=_named(dtype), **kwargs))


def genfromtxt(fname, dtype=float, **kwargs):
    """An array of the numbers in a text, of which some may be missing: NumPy's `genfromtxt`, with its keywords."""
    return _each(_numpy("genfromtxt").genfromtxt(fname, dtype=_named(dtype), **kwargs))


def _named(dtype):
    return dtype.__numpy_dtype__ if isinstance(dtype, _sw.dtype) else dtype


def _each(found):
    return [_sw.asarray(x) for x in found] if isinstance(found, (list, tuple)) else _sw.asarray(found)


def savetxt(fname, X, **kwargs):
    """Writes an array of one or two dimensions as a text, one row in each line: NumPy's `savetxt`, with its keywords."""
    _numpy("savetxt").savetxt(fname, _sw.asnumpy(X), **kwargs)


def savez(file, *args, **kwds):
    """Writes arrays to one archive (".npz"), under their keywords, or "arr_0" and so on, as NumPy's `savez`; what is no array of ours is
    written by NumPy, which may pickle it unless `allow_pickle` is False. A file of that name is replaced when the archive is whole.

    progress: a function, as for `save`, of the bytes of all arrays; anything else of that name is an array.
    """
    _archive(file, args, kwds, False)


def savez_compressed(file, *args, **kwds):
    """As `savez`, compressed."""
    _archive(file, args, kwds, True)


def _archive(file, args, kwds, compressed):
    import zipfile

    progress = kwds.pop("progress") if "progress" in kwds and (kwds["progress"] is None or callable(kwds["progress"])) else None
    allow_pickle = kwds.pop("allow_pickle", True)
    named = {f"arr_{place}": x for place, x in enumerate(args)}
    twice = named.keys() & kwds.keys()
    if twice:
        raise ValueError(f"invalid value: {min(twice)} is the name of an array without a keyword, and a keyword; expected another keyword")
    named.update(kwds)
    others = {name: _numpy("savez").asanyarray(x) for name, x in named.items() if not isinstance(x, _sw.usm_ndarray)}
    news = News(progress, sum(others.get(name, x).nbytes for name, x in named.items()))
    with _replaced(file) as opened, zipfile.ZipFile(opened, "w", zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED) as archive:
        for name, x in named.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as part:
                if name not in others:
                    write_npy(part, x, news)
                else:
                    _numpy("savez").lib.format.write_array(part, others[name], allow_pickle=allow_pickle)
                    news.add(others[name].nbytes)
        news.end()


#: Of files beside others, so that no two have one name.
_NUMBERS = _itertools.count()


@_contextlib.contextmanager
def _replaced(file):
    """A file that is open for writing bytes: itself, or one that takes the place of that of a name, to which ".npz" is added where it lacks
    it, when it is whole. Whatever fails before leaves what was there."""
    if hasattr(file, "write"):
        yield file
        return
    path = _path(file)
    end = ".npz" if isinstance(path, str) else b".npz"
    target = _os.path.realpath(path if path.endswith(end) else path + end)
    if _os.path.exists(target) and not _os.path.isfile(target):
        # A pipe or a terminal has nothing to lose; a folder is refused here.
        with open(target, "wb") as opened:
            yield opened
        return
    mode = None
    if _os.path.exists(target):
        # Who may not write to a file does not replace it.
        with open(target, "r+b"):
            mode = _os.stat(target).st_mode & 0o7777
    beside = _os.path.join(_os.fsdecode(_os.path.dirname(target)), f".stridewise-{_os.getpid()}-{next(_NUMBERS)}-{_time.time_ns():x}")
    try:
        with open(beside, "xb") as opened:
            if mode is not None:
                _os.chmod(beside, mode)
            yield opened
        _os.replace(beside, target)
    except BaseException:
        with _contextlib.suppress(OSError):
            _os.unlink(beside)
        raise


_explained(globals())
