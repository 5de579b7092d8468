"""Dask arrays whose chunks are ours, and stay so.

Importing this module registers with dask what it needs to know of `usm_ndarray`: how chunks are joined, taken from, multiplied,
counted and divided, how large they are, what names them, and how they travel between processes (the elements as one buffer
that is not copied). It needs dask; everything else of the package does not.

>>> import dask.array as da
>>> import stridewise as sw, stridewise.dask
>>> x = da.ones((4, 6), chunks=2).to_backend("stridewise")
>>> x.map_blocks(lambda block: block * 2).compute()
usm_ndarray([[2., 2., 2., 2., 2., 2.],
       [2., 2., 2., 2., 2., 2.],
       [2., 2., 2., 2., 2., 2.],
       [2., 2., 2., 2., 2., 2.]])

`to_backend("stridewise")` converts the chunks of NumPy's that files give, and `dask.config.set({"array.backend":
"stridewise"})` makes `da.ones` and its like in ours. `to_backend("numpy")` goes back.

Every process that works on such chunks needs this module, too. Workers that are started afterwards, by a `LocalCluster`, say,
import it by themselves, as `distributed.worker.preload` of dask's configuration names it from now on; a scheduler's other
workers do with `dask worker --preload stridewise.dask`, or by `client.run(lambda: __import__("stridewise.dask"))`.
"""

from __future__ import annotations

import math
import os
import shutil
import time
import uuid
from importlib import import_module
from typing import Any, cast

import dask
import dask.config
import numpy as np
from dask.array.backends import ArrayBackendEntrypoint, array_creation_dispatch
from dask.array.chunk_types import register_chunk_type
from dask.array.dispatch import (
    concatenate_lookup,
    divide_lookup,
    einsum_lookup,
    empty_lookup,
    nannumel_lookup,
    numel_lookup,
    percentile_lookup,
    take_lookup,
    tensordot_lookup,
    to_numpy_dispatch,
)
from dask.base import normalize_token
from dask.sizeof import sizeof
from dask.utils import Dispatch

import stridewise as sw

__all__ = ["StridewiseBackendEntrypoint", "from_npy", "to_npy", "to_stridewise", "to_stridewise_dispatch"]

to_stridewise_dispatch = Dispatch("to_stridewise_dispatch")


@to_stridewise_dispatch.register((object, np.ndarray))
def to_stridewise(chunk: Any, **kwargs: Any) -> sw.usm_ndarray:
    """A chunk as an array of ours: of NumPy's, a copy in shared memory. Arguments by name are those of `asarray`."""
    kwargs.setdefault("usm_type", "shared")
    # Elements that are as dask has them in a metadata array, or a scalar of a reduction, have no memory to be shared.
    return sw.asarray(np.ascontiguousarray(chunk).reshape(np.shape(chunk)), **kwargs)


@to_stridewise_dispatch.register(sw.usm_ndarray)
def _as_it_is(chunk: sw.usm_ndarray, **kwargs: Any) -> sw.usm_ndarray:
    return sw.asarray(chunk, **kwargs) if kwargs else chunk


@to_numpy_dispatch.register(sw.usm_ndarray)
def _to_numpy(chunk: sw.usm_ndarray, **kwargs: Any) -> Any:
    # On the chunk's own memory, where NumPy reaches it and has the dtype: chunks are not written to.
    if not kwargs and chunk.usm_type != "device" and chunk.sycl_queue.sycl_device._works_in_process_memory:
        return np.asarray(chunk)
    return sw.asnumpy(chunk, **kwargs)


def _beside(array: sw.usm_ndarray, other: Any) -> sw.usm_ndarray:
    """Another operand on the array's queue: chunks of NumPy's come of what dask fills in itself."""
    if isinstance(other, sw.usm_ndarray):
        return other
    return sw.asarray(np.ascontiguousarray(other).reshape(np.shape(other)), queue=array.queue, usm_type=array.usm_type)


def _first(arrays: Any) -> sw.usm_ndarray:
    return next(array for array in arrays if isinstance(array, sw.usm_ndarray))


@concatenate_lookup.register(sw.usm_ndarray)
def _concatenate(arrays: Any, axis: int | None = 0) -> sw.usm_ndarray:
    arrays = list(arrays)
    first = _first(arrays)
    return sw.concat([_beside(first, array) for array in arrays], axis=axis)


@take_lookup.register(sw.usm_ndarray)
def _take(array: sw.usm_ndarray, indices: Any, axis: int | None = None) -> sw.usm_ndarray:
    if axis is None:
        array, axis = sw.reshape(array, (-1,)), 0
    indices = _beside(array, np.asarray(indices, dtype="int64"))
    if indices.ndim == 1:
        return sw.take(array, indices, axis=axis)
    key = (slice(None),) * (axis % array.ndim) + (indices,)
    return array[key]


@tensordot_lookup.register(sw.usm_ndarray)
def _tensordot(a: Any, b: Any, axes: Any = 2) -> sw.usm_ndarray:
    first = _first((a, b))
    if not isinstance(axes, int):
        axes = tuple([part] if isinstance(part, int) else list(part) for part in axes)
    return sw.tensordot(_beside(first, a), _beside(first, b), axes=axes)


@einsum_lookup.register(sw.usm_ndarray)
def _einsum(subscripts: str, *operands: Any, dtype: Any = None, casting: Any = None, order: Any = None, **kwargs: Any) -> Any:
    first = _first(operands)
    operands = tuple(_beside(first, operand) for operand in operands)
    if dtype is not None:
        operands = tuple(sw.astype(operand, dtype, copy=False) for operand in operands)
    return sw.einsum(subscripts, *operands)


@empty_lookup.register(sw.usm_ndarray)
def _empty(shape: Any, dtype: Any = None, order: Any = "C", **kwargs: Any) -> sw.usm_ndarray:
    return sw.empty(shape, dtype=dtype, order=order, usm_type="shared", **kwargs)


@divide_lookup.register(sw.usm_ndarray)
def _divide(a: Any, b: Any, out: Any = None, dtype: Any = None) -> sw.usm_ndarray:
    first = _first((a, b))
    quotient = sw.divide(_beside(first, a), _beside(first, b))
    if dtype is not None:
        quotient = sw.astype(quotient, dtype, copy=False)
    if out is None:
        return quotient
    out[...] = quotient
    return out


@percentile_lookup.register(sw.usm_ndarray)
def _percentile(a: sw.usm_ndarray, q: Any, method: str = "linear") -> Any:
    # What comes of the chunks is merged by functions of NumPy's alone; it is as long as `q`.
    if not len(a):
        return None, 0
    if not np.issubdtype(np.dtype(str(a.dtype)), np.number):
        method = "nearest"
    ranks = sw.asarray(np.asarray(q, dtype="float64"), queue=a.queue, usm_type=a.usm_type)
    return sw.asnumpy(sw.percentile(a, ranks, method=method)), len(a)


def _counted(count: Any, x: sw.usm_ndarray, axis: Any, keepdims: bool, dtype: Any) -> sw.usm_ndarray:
    """An array of the shape of a reduction, all of whose elements are a number."""
    axes = range(x.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
    axes = {a % x.ndim for a in axes}
    shape = tuple(1 if k in axes else n for k, n in enumerate(x.shape) if keepdims or k not in axes)
    number = math.prod(x.shape[k] for k in axes)
    return sw.full(shape, number, dtype=dtype, queue=x.queue, usm_type=x.usm_type)


@numel_lookup.register(sw.usm_ndarray)
def _numel(x: sw.usm_ndarray, axis: Any = None, keepdims: bool = False, dtype: Any = "float64", **kwargs: Any) -> Any:
    return _counted(None, x, axis, keepdims, dtype)


@nannumel_lookup.register(sw.usm_ndarray)
def _nannumel(x: sw.usm_ndarray, axis: Any = None, keepdims: bool = False, dtype: Any = None, **kwargs: Any) -> Any:
    if isinstance(axis, list):
        axis = tuple(axis)
    return sw.sum(sw.logical_not(sw.isnan(x)), axis=axis, keepdims=keepdims, dtype=dtype)


@sizeof.register(sw.usm_ndarray)
def _sizeof(x: sw.usm_ndarray) -> int:
    return int(x.nbytes) + 200


@normalize_token.register(sw.usm_ndarray)
def _token(x: sw.usm_ndarray) -> Any:
    # By its elements, as NumPy's arrays have theirs; of bfloat16, which NumPy has not, each is one of float32, too.
    if x.dtype == sw.bfloat16:
        return normalize_token(("bfloat16", sw.astype(x, sw.float32)))
    return normalize_token((type(x).__qualname__, str(x.dtype), x.usm_type, sw.asnumpy(x)))


class StridewiseBackendEntrypoint(ArrayBackendEntrypoint):
    """What dask's `array.backend` "stridewise" makes arrays with: `da.ones`, `zeros`, `empty`, `full`, `arange`."""

    @classmethod
    def to_backend_dispatch(cls) -> Dispatch:
        """What converts a chunk."""
        return to_stridewise_dispatch

    @classmethod
    def to_backend(cls, data: Any, **kwargs: Any) -> Any:
        """A dask array with the chunks of another as ours. Arguments by name are those of `asarray`."""
        if isinstance(data._meta, sw.usm_ndarray) and not kwargs:
            return data
        return data.map_blocks(cls.to_backend_dispatch(), **kwargs)

    @property
    def RandomState(self) -> Any:
        """None of ours has that interface of NumPy's."""
        raise NotImplementedError(
            "random chunks of stridewise; help: make them with NumPy's backend, and convert with to_backend(\"stridewise\")"
        )

    default_bit_generator = RandomState

    @staticmethod
    def _made(function: Any, args: Any, dtype: Any, kwargs: Any) -> Any:
        import dask.array as da

        with dask.config.set({"array.backend": "numpy"}):
            made = getattr(da, function)(*args, dtype=dtype, **kwargs)
        return StridewiseBackendEntrypoint.to_backend(made)

    @staticmethod
    def ones(shape: Any, *, dtype: Any = None, meta: Any = None, **kwargs: Any) -> Any:
        """Ones."""
        return StridewiseBackendEntrypoint._made("ones", (shape,), dtype, kwargs)

    @staticmethod
    def zeros(shape: Any, *, dtype: Any = None, meta: Any = None, **kwargs: Any) -> Any:
        """Zeros."""
        return StridewiseBackendEntrypoint._made("zeros", (shape,), dtype, kwargs)

    @staticmethod
    def empty(shape: Any, *, dtype: Any = None, meta: Any = None, **kwargs: Any) -> Any:
        """Arbitrary elements."""
        return StridewiseBackendEntrypoint._made("empty", (shape,), dtype, kwargs)

    @staticmethod
    def full(shape: Any, fill_value: Any, *, dtype: Any = None, meta: Any = None, **kwargs: Any) -> Any:
        """A value."""
        return StridewiseBackendEntrypoint._made("full", (shape, fill_value), dtype, kwargs)

    @staticmethod
    def arange(start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, meta: Any = None, **kwargs: Any) -> Any:
        """Numbers at equal distances."""
        return StridewiseBackendEntrypoint._made("arange", (start, stop, step), dtype, kwargs)


# So that an array of ours is an operand beside dask's, which it leaves the operation to.
register_chunk_type(sw.usm_ndarray)

array_creation_dispatch.register_backend("stridewise", StridewiseBackendEntrypoint())


#: How finely systems tell when a file was written: two writes within it may bear one time.
_CLOCK_NS = 20_000_000


def _written(path: str) -> tuple[int, ...]:
    """What another content of a file changes: its number, length and times. A file that was written just now is looked at again
    until whoever writes to it next does so at another time."""
    while True:
        status = os.stat(path)
        age = time.time_ns() - status.st_mtime_ns
        if not 0 <= age < _CLOCK_NS:
            return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_dev, status.st_ino
        time.sleep((_CLOCK_NS - age) / 1e9)


class _NpyFile:
    """An .npy file as what parts are taken of: by each process for itself, so that only its name travels."""

    def __init__(self, path: Any) -> None:
        self.path = os.path.abspath(path)
        self.written = _written(self.path)
        whole = sw.load(self.path, mmap_mode="r")
        self.shape, self.ndim, self.dtype = whole.shape, whole.ndim, np.dtype(str(whole.dtype))

    def __dask_tokenize__(self) -> Any:
        # Another content has another name, as dask takes chunks of one name for the same.
        return normalize_token((type(self).__qualname__, self.path, self.written))

    def __getitem__(self, key: Any) -> sw.usm_ndarray:
        # A copy: a chunk that is kept stays what it was when somebody writes to the file.
        part = sw.copy(sw.load(self.path, mmap_mode="r")[key])
        part.wait()
        # Its length and time: other processes may see it on another device, by another number.
        if _written(self.path)[:2] != self.written[:2]:
            raise OSError(
                f"input/output: `path` is {self.path} (written anew); expected the file that from_npy has seen; help: call from_npy again"
            )
        return part


def from_npy(path: Any, chunks: Any = "auto") -> Any:
    """A dask array of an .npy file, whose chunks are read when they are worked on, by whichever process works on them; it must find
    the file under the same name, and as it was: OSError is raised when chunks are to be read of one that was written anew. Raises what
    `stridewise.load` does."""
    import dask.array as da

    file = _NpyFile(path)
    meta = sw.empty((0,) * file.ndim, dtype=file.dtype, usm_type="shared")
    return da.from_array(file, chunks=chunks, asarray=False, inline_array=True, meta=meta)  # type: ignore[arg-type]


class _NewFile:
    """An .npy file that is being written, part by part and by any process, beside the one whose place it will take."""

    def __init__(self, path: str, shape: Any, dtype: Any) -> None:
        self.path = path
        self.beside = os.path.join(os.path.dirname(path), f".stridewise-{uuid.uuid4().hex}.npy")
        if os.path.exists(path):
            # Who may not write to a file does not replace it.
            os.close(os.open(path, os.O_WRONLY))
        try:
            np.lib.format.open_memmap(self.beside, mode="w+", dtype=dtype, shape=shape)
            with open(self.beside, "r+b") as made:
                # A device that is full says so now, not by a signal when a part is written.
                os.posix_fallocate(made.fileno(), 0, os.path.getsize(self.beside))
            if os.path.exists(path):
                shutil.copymode(path, self.beside)
        except BaseException:
            self.discard()
            raise

    def __setitem__(self, key: Any, value: Any) -> None:
        sw.load(self.beside, mmap_mode="r+")[key] = value

    def discard(self) -> None:
        if os.path.exists(self.beside):
            os.unlink(self.beside)

    def finish(self, _parts: Any = None) -> None:
        os.replace(self.beside, self.path)


def to_npy(x: Any, path: Any, *, compute: bool = True) -> Any:
    """Stores a dask array in an .npy file, chunk by chunk, where all processes find it under the same name. What is there is
    replaced when the new file is whole, so that x may be computed of it, and is left as it was where something fails.

    compute: whether to do it now; else what does it, a delayed object that is computed once, is returned. Raises OSError where the
    file cannot be made.
    """
    import dask.array as da

    path = os.fspath(path)
    path = os.path.realpath(path if path.endswith(".npy") else path + ".npy")
    file = _NewFile(path, x.shape, np.dtype(str(x.dtype)))
    if not compute:
        parts = da.store(x, file, lock=False, compute=False)  # type: ignore[arg-type]
        return dask.delayed(file.finish, pure=False)(list(parts.to_delayed().flat))
    try:
        da.store(x, file, lock=False)  # type: ignore[arg-type]
    except BaseException:
        file.discard()
        raise
    return file.finish()


def _register_with_distributed() -> None:
    try:
        from distributed.protocol import dask_deserialize, dask_serialize
        from distributed.protocol.utils import merge_memoryviews
    except ImportError:
        return
    native: Any = import_module("stridewise._native")

    @dask_serialize.register(sw.usm_ndarray)
    def _serialize(x: sw.usm_ndarray, context: Any = None) -> Any:
        make, arguments = cast(Any, x.__reduce_ex__(5))
        frame, *rest = arguments
        return {"make": make.__name__, "arguments": tuple(rest)}, [memoryview(frame)]

    @dask_deserialize.register(sw.usm_ndarray)
    def _deserialize(header: Any, frames: Any) -> sw.usm_ndarray:
        try:
            # Parts of one message lie beside each other; others, or no parts of a buffer at all, are put together.
            frame = frames[0] if len(frames) == 1 else merge_memoryviews(frames)
        except (TypeError, ValueError):
            frame = bytearray().join(frames)
        arguments = header["arguments"]
        if header["make"] == "_from_pickle":
            return native._from_pickle(bytes(frame), *arguments)
        return native._from_buffer(frame, *arguments)

    # Workers that are started from now on.
    modules = dask.config.get("distributed.worker.preload", [])
    modules = [modules] if isinstance(modules, str) else list(modules or [])
    if __name__ not in modules:
        dask.config.set({"distributed.worker.preload": [*modules, __name__]})


_register_with_distributed()
