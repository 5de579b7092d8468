"""Arrays from bytes and texts, and into them: NumPy's names. Texts and archives are read and written by NumPy, which has to be installed for them.

Imported when one of its names is asked for.
"""

import os as _os

import stridewise as _sw

from ._arguments import explained as _explained
from ._operands import _is_inexact

__all__ = ["asarray_chkfinite", "frombuffer", "fromfile", "fromstring", "genfromtxt", "loadtxt", "savetxt", "savez", "savez_compressed"]


def _of_bytes(data, dtype, count, offset):
    dtype = _sw.zeros(0).dtype if dtype is None else _sw.dtype(dtype)
    size = data.nbytes
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


def write_npy(file, x):
    """Writes an array to a file that is open, as `save` writes it to a path."""
    if not isinstance(x, _sw.usm_ndarray):
        raise TypeError(f"`arr` is of type {type(x).__name__}; expected a usm_ndarray")
    if x.dtype == _sw.bfloat16:
        raise TypeError("dtype: `arr` is of bfloat16; expected a dtype that .npy files have; help: convert it to float32 first, with astype")
    columns = x.flags.f_contiguous and not x.flags.c_contiguous
    text = f"{{'descr': {x.dtype.str!r}, 'fortran_order': {columns}, 'shape': {x.shape}, }}"
    # With the ten bytes before it and its end, a multiple of 64.
    text += " " * (-(len(text) + 11) % 64) + "\n"
    data = _sw.asnumpy(x.T if columns else x).tobytes() if x.ndim else x.tobytes()
    file.write(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode("latin1"))
    file.write(data)


def read_npy(file, **place):
    """An array of what a file that is open has from where it stands, as `load` reads it from a path."""
    import ast

    def part(size, what):
        found = file.read(size)
        if len(found) != size:
            raise OSError(f"input/output: `file` ends within {what}; expected an .npy file, {size} bytes of it there")
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
    except (KeyError, SyntaxError, TypeError, ValueError) as error:
        raise OSError(f"input/output: `file` has a header that is none of ours: {error}; expected numbers or truth values of an .npy file") from error
    count = 1
    for extent in shape:
        count *= extent
    data = bytearray(part(count * dtype.itemsize, "the elements"))
    if kind[0] == ">" and dtype.itemsize > 1:
        data = _swapped(data, dtype.itemsize // (2 if dtype.kind == "c" else 1))
    found = _sw.asarray(data, **place).view(dtype) if count else _sw.empty(0, dtype=dtype, **place)
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
    """Writes arrays to one archive (".npz"), under their keywords, or "arr_0" and so on: NumPy's `savez`."""
    _save(_numpy("savez").savez, file, args, kwds)


def savez_compressed(file, *args, **kwds):
    """As `savez`, compressed."""
    _save(_numpy("savez_compressed").savez_compressed, file, args, kwds)


def _save(save, file, args, kwds):
    seen = lambda x: _sw.asnumpy(x) if isinstance(x, _sw.usm_ndarray) else x
    save(file, *map(seen, args), **{key: seen(x) for key, x in kwds.items()})


_explained(globals())
