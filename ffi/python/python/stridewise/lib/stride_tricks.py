"""Views of an array by shape and strides: windows, repetition."""

from .. import broadcast_arrays, broadcast_to, sliding_window_view

__all__ = ["broadcast_arrays", "broadcast_to", "sliding_window_view"]
