# mypy: ignore-errors
"""Kernels in Python: a function's source is read once for each combination of argument types, and becomes a kernel.

source.py has where things stand, things.py what expressions are, reader.py the statements, expressions.py the expressions,
functions.py what can be called, and launcher.py the objects that users hold.
"""

from .launcher import DeviceFunction, Kernel, device_context, device_func, kernel
