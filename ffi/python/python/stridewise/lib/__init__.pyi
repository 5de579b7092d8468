"""Types of `lib`."""

from . import stride_tricks as stride_tricks

__all__ = ["stride_tricks"]
