"""Fourier transforms: the array API's extension `fft`. Transforms are computed on the processor, wherever an array is."""

import stridewise as _sw

from . import _fft

__all__ = [
    "fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft", "irfftn", "rfft",
    "rfftfreq", "rfftn",
]  # fmt: skip


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


def _factor(norm, n, inverse):
    """What a transform of n points is multiplied with."""
    if norm == "ortho":
        return n**-0.5
    if norm not in ("backward", "forward"):
        raise ValueError(f'invalid value: `norm` is {norm!r}; expected "backward", "ortho" or "forward"')
    return 1 / n if inverse == (norm == "backward") else 1


#: The factors of the transform in the other direction.
_OTHER = {"backward": "forward", "forward": "backward"}


def _along(x, n, axis, norm, inverse):
    points = x.shape[axis] if n is None and -x.ndim <= axis < x.ndim else n
    factor = _factor(norm, points or 1, inverse)
    result = _fft.transform(x, n, axis, inverse)
    return result if factor == 1 else result * factor


def _part(x, axis, start, stop):
    return x[(slice(None),) * (axis % x.ndim) + (slice(start, stop),)]


def _real(x, name):
    if _sw.isdtype(x.dtype, "complex floating"):
        raise TypeError(f"dtype: `x` of fft.{name} is {x.dtype}; expected real numbers; help: use sw.real first")
    return x


def _lengths(x, s, axes):
    """The axes to go along and the numbers of points, in pairs."""
    if axes is None:
        axes = tuple(range(x.ndim)) if s is None else tuple(range(-len(s), 0))
    s = (None,) * len(axes) if s is None else tuple(None if n == -1 else n for n in s)
    if len(s) != len(axes):
        raise ValueError(f"invalid value: `s` has {len(s)} numbers for {len(axes)} axes; expected one for each")
    return list(zip(axes, s))


def fft(x, /, *, n=None, axis=-1, norm="backward"):
    """The discrete Fourier transform along an axis: element k is the sum of x[j] exp(-2πi jk / n) over j.

    n: the number of points, to which elements are left out at the end or zeros added; None for as many as there are.
    norm: where the factor 1 / n is: "backward", on the inverse; "forward", here; "ortho", its root on both.

    Returns complex numbers of the precision of x, of integers the default one. They are computed on the processor,
    wherever the array is.

    Raises OutOfBoundsError for an axis out of range, ValueError for fewer points than 1 or another norm.
    """
    return _along(x, n, axis, norm, False)


def ifft(x, /, *, n=None, axis=-1, norm="backward"):
    """The inverse of `fft`. Arguments and errors as there."""
    return _along(x, n, axis, norm, True)


def rfft(x, /, *, n=None, axis=-1, norm="backward"):
    """The first n // 2 + 1 elements of the `fft` of real numbers, which the others mirror. Arguments and errors as there;
    TypeError for complex numbers.
    """
    result = fft(_real(x, "rfft"), n=n, axis=axis, norm=norm)
    return _part(result, axis, None, result.shape[axis] // 2 + 1)


def irfft(x, /, *, n=None, axis=-1, norm="backward"):
    """The inverse of `rfft`: real numbers, n of them, of the first n // 2 + 1 elements of a mirrored transform.

    n: 2 (m - 1) where None, of m elements along the axis. Other arguments and errors as for `fft`.
    """
    if not -x.ndim <= axis < x.ndim:
        raise _sw.OutOfBoundsError(f"axis out of range: `axis` is {axis}; expected an axis of shape {x.shape}")
    n = 2 * (x.shape[axis] - 1) if n is None else n
    if n < 1:
        raise ValueError(f"invalid value: `n` is {n}; expected 1 or more points")
    half = n // 2 + 1
    head = _part(x, axis, None, half)
    if head.shape[axis] < half:
        shape = list(head.shape)
        shape[axis] = half - head.shape[axis]
        zeros = _sw.zeros(tuple(shape), dtype=x.dtype, sycl_queue=x.sycl_queue, usm_type=x.usm_type)
        head = _sw.concat([head, zeros], axis=axis)
    mirror = _sw.flip(_part(head, axis, 1, (n + 1) // 2), axis=axis)
    if _sw.isdtype(x.dtype, "complex floating"):
        mirror = _sw.conj(mirror)
    return _sw.real(ifft(_sw.concat([head, mirror], axis=axis), axis=axis, norm=norm))


def hfft(x, /, *, n=None, axis=-1, norm="backward"):
    """The `fft`, n real numbers, of a mirrored signal, of which x has the first n // 2 + 1 elements. Arguments and errors as
    for `irfft`.
    """
    x = _sw.conj(x) if _sw.isdtype(x.dtype, "complex floating") else x
    return irfft(x, n=n, axis=axis, norm=_OTHER.get(norm, norm))


def ihfft(x, /, *, n=None, axis=-1, norm="backward"):
    """The inverse of `hfft`. Arguments and errors as for `rfft`."""
    return _sw.conj(rfft(x, n=n, axis=axis, norm=_OTHER.get(norm, norm)))


def fftn(x, /, *, s=None, axes=None, norm="backward"):
    """The `fft` along several axes.

    s: the numbers of points, -1 for as many as there are. axes: a sequence; None for all, or for as many of the last as s
    has numbers. Other arguments and errors as for `fft`; ValueError where s and axes differ in length.
    """
    for axis, n in reversed(_lengths(x, s, axes)):
        x = fft(x, n=n, axis=axis, norm=norm)
    return x


def ifftn(x, /, *, s=None, axes=None, norm="backward"):
    """The inverse of `fftn`. Arguments and errors as there."""
    for axis, n in reversed(_lengths(x, s, axes)):
        x = ifft(x, n=n, axis=axis, norm=norm)
    return x


def rfftn(x, /, *, s=None, axes=None, norm="backward"):
    """The `rfft` along the last of several axes, and the `fft` along the others. Arguments as for `fftn`; errors as for
    `rfft`, and ValueError for no axes.
    """
    *others, (last, n) = _some(_lengths(_real(x, "rfftn"), s, axes))
    x = rfft(x, n=n, axis=last, norm=norm)
    for axis, n in reversed(others):
        x = fft(x, n=n, axis=axis, norm=norm)
    return x


def irfftn(x, /, *, s=None, axes=None, norm="backward"):
    """The inverse of `rfftn`. Arguments as for `fftn`; errors as for `irfft`, and ValueError for no axes."""
    *others, (last, n) = _some(_lengths(x, s, axes))
    for axis, points in others:
        x = ifft(x, n=points, axis=axis, norm=norm)
    return irfft(x, n=n, axis=last, norm=norm)


def _some(axes):
    if not axes:
        raise ValueError("invalid value: `axes` is empty; expected at least one axis")
    return axes
