# mypy: ignore-errors
"""How objects of the engine's are pickled and copied that say all of themselves, and by what names its functions are.

Those that are bound to a process, as queues and events, are not pickled.
"""

import copyreg as _copyreg
import sys as _sys
import types as _types

from . import _native


def _nd_range(global_range, local_range, partial):
    return _native._NdRange(global_range, local_range, partial=partial)


_copyreg.pickle(_native._NdRange, lambda x: (_nd_range, (x.global_range, x.local_range, x.partial)))
_copyreg.pickle(_native._LocalAccessor, lambda x: (_native._LocalAccessor, (x.shape, x.dtype)))
_copyreg.pickle(type(_native.finfo("float32")), lambda x: (_native.finfo, (x.dtype,)))
_copyreg.pickle(type(_native.iinfo("int8")), lambda x: (_native.iinfo, (x.dtype,)))


def at_home(names):
    """Has functions of the engine's that are not found by the names that they have there be found by those among the names of a module."""
    for function in names.values():
        if isinstance(function, _types.BuiltinFunctionType):
            if getattr(_sys.modules.get(function.__module__), function.__name__, None) is not function:
                function.__module__ = names["__name__"]
