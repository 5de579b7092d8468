"""Types of `lib.stride_tricks`."""

from stridewise import (
    broadcast_arrays as broadcast_arrays,
    broadcast_to as broadcast_to,
    sliding_window_view as sliding_window_view,
)

__all__ = ["broadcast_arrays", "broadcast_to", "sliding_window_view"]
