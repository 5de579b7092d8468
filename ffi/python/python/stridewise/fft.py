"""Fourier transforms: of the array API's extension `fft`, the frequencies and shifts.

The transforms raise a NotImplementedError that names them: NumPy's or SciPy's take `stridewise.asnumpy(x)`.
"""

import stridewise as _sw

__all__ = [
    "fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft", "irfftn", "rfft",
    "rfftfreq", "rfftn",
]  # fmt: skip


def _missing(name):
    return NotImplementedError(
        f"unsupported: `fft.{name}` is not there; help: use NumPy's or SciPy's on stridewise.asnumpy(x)"
    )


def _checked(n, dtype, device):
    """The dtype of frequencies."""
    if n < 1:
        raise ValueError(f"invalid value: `n` is {n}; expected 1 or more")
    if dtype is None:
        return _sw.__array_namespace_info__().default_dtypes(device=device)["real floating"]
    if not _sw.isdtype(_sw.dtype(dtype), "real floating"):
        raise TypeError(f"dtype: `dtype` is {dtype}; expected a real floating-point dtype")
    return _sw.dtype(dtype)


def fftfreq(n, /, *, d=1.0, dtype=None, device=None):
    """The frequencies of a transform of n points at a distance d: 0, 1, …, then the negative ones, over d * n.

    dtype: real floating point, by default the default one of the device. Raises ValueError for n below 1, TypeError for
    another dtype.
    """
    dtype = _checked(n, dtype, device)
    behind = (n + 1) // 2
    places = _sw.arange(n, device=device)
    signed = _sw.where(places < behind, places, places - n)
    return _sw.astype(signed, dtype) / (d * n)


def rfftfreq(n, /, *, d=1.0, dtype=None, device=None):
    """The frequencies of a transform of n real points at a distance d: 0, 1, …, n // 2, over d * n. Arguments and errors as
    for `fftfreq`.
    """
    dtype = _checked(n, dtype, device)
    return _sw.astype(_sw.arange(n // 2 + 1, device=device), dtype) / (d * n)


def _shifted(x, axes, sign):
    if axes is None:
        axes = tuple(range(x.ndim))
    elif not hasattr(axes, "__iter__"):
        axes = (axes,)
    axes = tuple(axes)
    for axis in axes:
        if not -x.ndim <= axis < x.ndim:
            raise _sw.OutOfBoundsError(f"axis out of range: `axes` has {axis}; expected axes of shape {x.shape}")
    if not axes:
        return _sw.copy(x)
    # The middle goes to the front, or back: halves round down here and up there.
    shifts = tuple(x.shape[axis] // 2 if sign > 0 else -(x.shape[axis] // 2) for axis in axes)
    return _sw.roll(x, shifts, axis=axes)


def fftshift(x, /, *, axes=None):
    """The elements rolled along axes (None: all) so that frequency 0 is in the middle. Raises OutOfBoundsError for an axis
    out of range.
    """
    return _shifted(x, axes, 1)


def ifftshift(x, /, *, axes=None):
    """The inverse of `fftshift`. Raises OutOfBoundsError for an axis out of range."""
    return _shifted(x, axes, -1)


def fft(x, /, *, n=None, axis=-1, norm="backward"):
    """Not there: raises NotImplementedError."""
    raise _missing("fft")


def ifft(x, /, *, n=None, axis=-1, norm="backward"):
    """Not there: raises NotImplementedError."""
    raise _missing("ifft")


def fftn(x, /, *, s=None, axes=None, norm="backward"):
    """Not there: raises NotImplementedError."""
    raise _missing("fftn")


def ifftn(x, /, *, s=None, axes=None, norm="backward"):
    """Not there: raises NotImplementedError."""
    raise _missing("ifftn")


def rfft(x, /, *, n=None, axis=-1, norm="backward"):
    """Not there: raises NotImplementedError."""
    raise _missing("rfft")


def irfft(x, /, *, n=None, axis=-1, norm="backward"):
    """Not there: raises NotImplementedError."""
    raise _missing("irfft")


def rfftn(x, /, *, s=None, axes=None, norm="backward"):
    """Not there: raises NotImplementedError."""
    raise _missing("rfftn")


def irfftn(x, /, *, s=None, axes=None, norm="backward"):
    """Not there: raises NotImplementedError."""
    raise _missing("irfftn")


def hfft(x, /, *, n=None, axis=-1, norm="backward"):
    """Not there: raises NotImplementedError."""
    raise _missing("hfft")


def ihfft(x, /, *, n=None, axis=-1, norm="backward"):
    """Not there: raises NotImplementedError."""
    raise _missing("ihfft")
