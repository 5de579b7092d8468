"""Types of the module `stridewise.fft`."""

from collections.abc import Sequence
from typing import Any

from . import Device, Queue, usm_ndarray

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft",
    "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]

def fft(x: usm_ndarray, /, n: int | None = None, axis: int = -1, norm: str | None = "backward") -> usm_ndarray: ...
def fftfreq(
    n: int,
    /,
    d: float = 1.0,
    *,
    dtype: Any | None = None,
    device: Device | Queue | str | None = None,
) -> usm_ndarray: ...
def fftn(
    x: usm_ndarray,
    /,
    s: Sequence[int] | None = None,
    axes: int | Sequence[int] | None = None,
    norm: str | None = "backward",
) -> usm_ndarray: ...
def fftshift(x: usm_ndarray, /, axes: int | Sequence[int] | None = None) -> usm_ndarray: ...
def hfft(x: usm_ndarray, /, n: int | None = None, axis: int = -1, norm: str | None = "backward") -> usm_ndarray: ...
def ifft(x: usm_ndarray, /, n: int | None = None, axis: int = -1, norm: str | None = "backward") -> usm_ndarray: ...
def ifftn(
    x: usm_ndarray,
    /,
    s: Sequence[int] | None = None,
    axes: int | Sequence[int] | None = None,
    norm: str | None = "backward",
) -> usm_ndarray: ...
def ifftshift(x: usm_ndarray, /, axes: int | Sequence[int] | None = None) -> usm_ndarray: ...
def ihfft(x: usm_ndarray, /, n: int | None = None, axis: int = -1, norm: str | None = "backward") -> usm_ndarray: ...
def irfft(x: usm_ndarray, /, n: int | None = None, axis: int = -1, norm: str | None = "backward") -> usm_ndarray: ...
def irfftn(
    x: usm_ndarray,
    /,
    s: Sequence[int] | None = None,
    axes: int | Sequence[int] | None = None,
    norm: str | None = "backward",
) -> usm_ndarray: ...
def rfft(x: usm_ndarray, /, n: int | None = None, axis: int = -1, norm: str | None = "backward") -> usm_ndarray: ...
def rfftfreq(
    n: int,
    /,
    d: float = 1.0,
    *,
    dtype: Any | None = None,
    device: Device | Queue | str | None = None,
) -> usm_ndarray: ...
def rfftn(
    x: usm_ndarray,
    /,
    s: Sequence[int] | None = None,
    axes: int | Sequence[int] | None = None,
    norm: str | None = "backward",
) -> usm_ndarray: ...
def fft2(
    x: usm_ndarray,
    /,
    s: Sequence[int] | None = None,
    axes: int | Sequence[int] | None = (-2, -1),
    norm: str | None = "backward",
) -> usm_ndarray: ...
def ifft2(
    x: usm_ndarray,
    /,
    s: Sequence[int] | None = None,
    axes: int | Sequence[int] | None = (-2, -1),
    norm: str | None = "backward",
) -> usm_ndarray: ...
def irfft2(
    x: usm_ndarray,
    /,
    s: Sequence[int] | None = None,
    axes: int | Sequence[int] | None = (-2, -1),
    norm: str | None = "backward",
) -> usm_ndarray: ...
def rfft2(
    x: usm_ndarray,
    /,
    s: Sequence[int] | None = None,
    axes: int | Sequence[int] | None = (-2, -1),
    norm: str | None = "backward",
) -> usm_ndarray: ...
