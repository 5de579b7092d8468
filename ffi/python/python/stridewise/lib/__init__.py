"""What NumPy has under `lib`: views by strides, in `stride_tricks`."""

from . import stride_tricks

__all__ = ["stride_tricks"]
