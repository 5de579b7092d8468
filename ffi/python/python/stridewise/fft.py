"""Fourier transforms: the array API's extension `fft`, and NumPy's names for two axes. Transforms are computed on the processor,
by the threads of the array's device; an array in memory of an accelerator that the processor does not reach is refused with a
NotImplementedError.

>>> import stridewise as sw
>>> spectrum = sw.fft.rfft(sw.asarray([1.0, 0.0, -1.0, 0.0]))
>>> sw.abs(spectrum).tolist()
[0.0, 2.0, 0.0]
>>> sw.fft.fftfreq(4).tolist()
[0.0, 0.25, -0.5, -0.25]
"""

from . import _fft
from ._arguments import explained as _explained

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft",
    "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip


def fftfreq(n, /, d=1.0, *, dtype=None, device=None):
    """The frequencies of a transform of n points at a distance d: 0, 1, …, then the negative ones, over d * n.

    dtype: real floating point, by default the default one of the device. Raises ValueError for n below 1, TypeError for
    another dtype.
    """
    return _fft.fftfreq(n, d, dtype, device)


def rfftfreq(n, /, d=1.0, *, dtype=None, device=None):
    """The frequencies of a transform of n real points at a distance d: 0, 1, …, n // 2, over d * n. Arguments and errors as
    for `fftfreq`.
    """
    return _fft.rfftfreq(n, d, dtype, device)


def fftshift(x, /, axes=None):
    """The elements rolled along axes (None: all) so that frequency 0 is in the middle. Raises OutOfBoundsError for an axis
    out of range.
    """
    return _fft.fftshift(x, axes)


def ifftshift(x, /, axes=None):
    """The inverse of `fftshift`. Raises OutOfBoundsError for an axis out of range."""
    return _fft.ifftshift(x, axes)


def fft(x, /, n=None, axis=-1, norm="backward"):
    """The discrete Fourier transform along an axis: element k is the sum of x[j] exp(-2πi jk / n) over j.

    n: the number of points, to which elements are left out at the end or zeros added; None for as many as there are.
    norm: where the factor 1 / n is: "backward", or None, on the inverse; "forward", here; "ortho", its root on both.

    Returns complex numbers of the precision of x, of integers the default one.

    Raises OutOfBoundsError for an axis out of range, ValueError for fewer points than 1 or another norm.
    """
    return _fft.fft(x, n, axis, norm)


def ifft(x, /, n=None, axis=-1, norm="backward"):
    """The inverse of `fft`. Arguments and errors as there."""
    return _fft.ifft(x, n, axis, norm)


def rfft(x, /, n=None, axis=-1, norm="backward"):
    """The first n // 2 + 1 elements of the `fft` of real numbers, which the others mirror. Arguments and errors as there;
    TypeError for complex numbers.
    """
    return _fft.rfft(x, n, axis, norm)


def irfft(x, /, n=None, axis=-1, norm="backward"):
    """The inverse of `rfft`: real numbers, n of them, of the first n // 2 + 1 elements of a mirrored transform.

    n: 2 (m - 1) where None, of m elements along the axis. Other arguments and errors as for `fft`.
    """
    return _fft.irfft(x, n, axis, norm)


def hfft(x, /, n=None, axis=-1, norm="backward"):
    """The `fft`, n real numbers, of a mirrored signal, of which x has the first n // 2 + 1 elements. Arguments and errors as
    for `irfft`.
    """
    return _fft.hfft(x, n, axis, norm)


def ihfft(x, /, n=None, axis=-1, norm="backward"):
    """The inverse of `hfft`. Arguments and errors as for `rfft`."""
    return _fft.ihfft(x, n, axis, norm)


def fftn(x, /, s=None, axes=None, norm="backward"):
    """The `fft` along several axes.

    s: the numbers of points, -1 for as many as there are. axes: a sequence; None for all, or for as many of the last as s
    has numbers. Other arguments and errors as for `fft`; ValueError where s and axes differ in length.
    """
    return _fft.fftn(x, s, axes, norm)


def ifftn(x, /, s=None, axes=None, norm="backward"):
    """The inverse of `fftn`. Arguments and errors as there."""
    return _fft.ifftn(x, s, axes, norm)


def rfftn(x, /, s=None, axes=None, norm="backward"):
    """The `rfft` along the last of several axes, and the `fft` along the others. Arguments as for `fftn`; errors as for
    `rfft`, and ValueError for no axes.
    """
    return _fft.rfftn(x, s, axes, norm)


def irfftn(x, /, s=None, axes=None, norm="backward"):
    """The inverse of `rfftn`. Arguments as for `fftn`; errors as for `irfft`, and ValueError for no axes."""
    return _fft.irfftn(x, s, axes, norm)


def fft2(x, /, s=None, axes=(-2, -1), norm="backward"):
    """The `fftn` along two axes, the last ones by default. Arguments and errors as there."""
    return _fft.fftn(x, s, axes, norm)


def ifft2(x, /, s=None, axes=(-2, -1), norm="backward"):
    """The inverse of `fft2`. Arguments and errors as there."""
    return _fft.ifftn(x, s, axes, norm)


def rfft2(x, /, s=None, axes=(-2, -1), norm="backward"):
    """The `rfftn` along two axes, the last ones by default. Arguments and errors as there."""
    return _fft.rfftn(x, s, axes, norm)


def irfft2(x, /, s=None, axes=(-2, -1), norm="backward"):
    """The inverse of `rfft2`. Arguments and errors as for `irfftn`."""
    return _fft.irfftn(x, s, axes, norm)


_explained(globals())
