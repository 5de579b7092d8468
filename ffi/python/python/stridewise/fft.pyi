"""Types of the module `stridewise.fft`."""

from collections.abc import Sequence
from typing import Any

from . import Device, Queue, _Array, _DTypeLike, usm_ndarray

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft",
    "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]

def fft(x: _Array, /, n: int | None = None, axis: int = -1, norm: str | None = "backward") -> usm_ndarray: ...
def fftfreq(
    n: int,
    /,
    d: float = 1.0,
    *,
    dtype: _DTypeLike | None = None,
    device: Device | Queue | str | None = None,
) -> usm_ndarray: ...
def fftn(
    x: _Array,
    /,
    s: Sequence[int] | None = None,
    axes: int | Sequence[int] | None = None,
    norm: str | None = "backward",
) -> usm_ndarray: ...
def fftshift(x: _Array, /, axes: int | Sequence[int] | None = None) -> usm_ndarray: ...
def hfft(x: _Array, /, n: int | None = None, axis: int = -1, norm: str | None = "backward") -> usm_ndarray: ...
def ifft(x: _Array, /, n: int | None = None, axis: int = -1, norm: str | None = "backward") -> usm_ndarray: ...
def ifftn(
    x: _Array,
    /,
    s: Sequence[int] | None = None,
    axes: int | Sequence[int] | None = None,
    norm: str | None = "backward",
) -> usm_ndarray: ...
def ifftshift(x: _Array, /, axes: int | Sequence[int] | None = None) -> usm_ndarray: ...
def ihfft(x: _Array, /, n: int | None = None, axis: int = -1, norm: str | None = "backward") -> usm_ndarray: ...
def irfft(x: _Array, /, n: int | None = None, axis: int = -1, norm: str | None = "backward") -> usm_ndarray: ...
def irfftn(
    x: _Array,
    /,
    s: Sequence[int] | None = None,
    axes: int | Sequence[int] | None = None,
    norm: str | None = "backward",
) -> usm_ndarray: ...
def rfft(x: _Array, /, n: int | None = None, axis: int = -1, norm: str | None = "backward") -> usm_ndarray: ...
def rfftfreq(
    n: int,
    /,
    d: float = 1.0,
    *,
    dtype: _DTypeLike | None = None,
    device: Device | Queue | str | None = None,
) -> usm_ndarray: ...
def rfftn(
    x: _Array,
    /,
    s: Sequence[int] | None = None,
    axes: int | Sequence[int] | None = None,
    norm: str | None = "backward",
) -> usm_ndarray: ...
def fft2(
    x: _Array,
    /,
    s: Sequence[int] | None = None,
    axes: int | Sequence[int] | None = (-2, -1),
    norm: str | None = "backward",
) -> usm_ndarray: ...
def ifft2(
    x: _Array,
    /,
    s: Sequence[int] | None = None,
    axes: int | Sequence[int] | None = (-2, -1),
    norm: str | None = "backward",
) -> usm_ndarray: ...
def irfft2(
    x: _Array,
    /,
    s: Sequence[int] | None = None,
    axes: int | Sequence[int] | None = (-2, -1),
    norm: str | None = "backward",
) -> usm_ndarray: ...
def rfft2(
    x: _Array,
    /,
    s: Sequence[int] | None = None,
    axes: int | Sequence[int] | None = (-2, -1),
    norm: str | None = "backward",
) -> usm_ndarray: ...
