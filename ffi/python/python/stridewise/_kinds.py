"""Names of dtypes and their kinds as NumPy has them, and what is asked of both. Imported when one of them is asked for."""

import sys as _sys
from builtins import type as type_

import stridewise as _sw

from ._arguments import explained as _explained

__all__ = [
    "ScalarType", "base_repr", "binary_repr", "byte", "cdouble", "common_type", "complexfloating", "csingle", "double", "errstate",
    "floating", "generic", "get_printoptions", "geterr", "half", "inexact", "int_", "intc", "integer", "intp", "issubdtype",
    "little_endian", "long", "longlong", "min_scalar_type", "mintypecode", "number", "printoptions", "sctypeDict", "set_printoptions",
    "seterr", "short", "show_config", "show_runtime", "signedinteger", "single", "typecodes", "typename", "ubyte", "uint", "uintc", "uintp",
    "ulong", "ulonglong", "unsignedinteger", "ushort",
]  # fmt: skip

byte, short, intc, long, longlong, int_, intp = _sw.int8, _sw.int16, _sw.int32, _sw.int64, _sw.int64, _sw.int64, _sw.int64
ubyte, ushort, uintc, ulong, ulonglong, uint, uintp = _sw.uint8, _sw.uint16, _sw.uint32, _sw.uint64, _sw.uint64, _sw.uint64, _sw.uint64
little_endian = _sys.byteorder == "little"
ScalarType = (int, float, complex, bool)
sctypeDict = {name: _sw.dtype(name) for name in "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()}
typecodes = {
    "Character": "", "Integer": "bhilq", "UnsignedInteger": "BHILQ", "Float": "efd", "Complex": "FD", "AllInteger": "bBhHiIlLqQ",
    "AllFloat": "efdFD", "Datetime": "", "All": "?bhilqBHILQefdFD",
}  # fmt: skip
half, single, double, csingle, cdouble = _sw.float16, _sw.float32, _sw.float64, _sw.complex64, _sw.complex128


class _Kind(type):
    """The class of kinds: NumPy's classes, which dtypes have as their `type`, are of ours with the same name."""

    def __subclasscheck__(cls, other):
        named = lambda base: base.__module__ == "numpy" and base.__name__ == cls.__name__
        return type.__subclasscheck__(cls, other) or any(map(named, getattr(other, "__mro__", ())))

    def __instancecheck__(cls, thing):
        return cls.__subclasscheck__(thing.__class__)


class generic(metaclass=_Kind):
    """The kind that every dtype is of; it and those below it are for `issubdtype`, and for `issubclass` with NumPy's classes."""


class number(generic):
    """The kind of numbers."""


class integer(number):
    """The kind of integers."""


class signedinteger(integer):
    """The kind of integers with a sign."""


class unsignedinteger(integer):
    """The kind of integers without a sign."""


class inexact(number):
    """The kind of floating-point numbers, real and complex."""


class floating(inexact):
    """The kind of real floating-point numbers."""


class complexfloating(inexact):
    """The kind of complex numbers."""


_KINDS = {"b": generic, "i": signedinteger, "u": unsignedinteger, "f": floating, "c": complexfloating}
_NAMES = {kind.__name__: kind for kind in (generic, number, integer, signedinteger, unsignedinteger, inexact, floating, complexfloating)}


def _kind_or_dtype(type):
    if isinstance(type, type_) and (type in _NAMES.values() or type.__name__ in _NAMES and type.__module__ == "numpy"):
        return _NAMES[type.__name__]
    return _sw.dtype({bool: "bool", int: "int64", float: "float64", complex: "complex128"}.get(type, type))





def issubdtype(type1, type2, /):
    """Whether a dtype, or a kind, is another one or of that kind: `floating`, `integer` and so on; NumPy's classes are taken, too."""
    one, other = _kind_or_dtype(type1), _kind_or_dtype(type2)
    if not isinstance(other, type_):
        return not isinstance(one, type_) and one == other
    if not isinstance(one, type_):
        kind = "f" if one.name == "bfloat16" else one.kind
        one = _KINDS[kind]
    return issubclass(one, other)


def common_type(*arrays):
    """The floating dtype, real or complex, that arrays have in common; of integers, float64. Raises TypeError for bool."""
    dtypes = []
    for x in arrays:
        dtype = x.dtype if hasattr(x, "dtype") else _sw.asarray(x).dtype
        if dtype == _sw.bool:
            raise TypeError("dtype: an array is of bool; expected numbers")
        dtypes.append(_sw.float64 if _sw.isdtype(dtype, "integral") else dtype)
    return _sw.result_type(*dtypes) if dtypes else _sw.float16


def min_scalar_type(x, /):
    """The smallest dtype of the kind of a number that holds it; of an array, its dtype."""
    if getattr(x, "ndim", 0):
        return x.dtype
    value = x.tolist() if hasattr(x, "tolist") else x
    if isinstance(value, bool):
        return _sw.bool
    if isinstance(value, int):
        for name in ("uint8", "uint16", "uint32", "uint64") if value >= 0 else ("int8", "int16", "int32", "int64"):
            if _sw.iinfo(name).min <= value <= _sw.iinfo(name).max:
                return _sw.dtype(name)
        raise OverflowError(f"out of range: `x` is {value}; expected a number that 64 bits hold")
    parts = (value.real, value.imag) if isinstance(value, complex) else (value,)
    names = ("complex64", "complex128") if isinstance(value, complex) else ("float16", "float32", "float64")
    finite = [abs(part) for part in parts if part == part and abs(part) != float("inf")]
    # Up to halfway between the largest number and what would follow it.
    limits = {"float16": 65000.0, "float32": 3.4e38, "complex64": 3.4e38}
    return _sw.dtype(next(name for name in names if name not in limits or all(part < limits[name] for part in finite)))


def typename(char, /):
    """What a letter of a dtype stands for, in words."""
    words = {
        "?": "bool", "b": "signed char", "B": "unsigned char", "h": "short", "H": "unsigned short", "i": "integer", "I": "unsigned integer",
        "l": "long integer", "L": "unsigned long integer", "q": "long long integer", "Q": "unsigned long long integer", "f": "single precision",
        "d": "double precision", "F": "complex single precision", "D": "complex double precision",
    }  # fmt: skip
    if char not in words:
        raise KeyError(f"`char` is {char!r}; expected one of {''.join(words)}")
    return words[char]


def mintypecode(typechars, typeset="GDFgdf", default="d"):
    """Of letters of dtypes, the one among `typeset` that all can be converted to; the default where none is in it."""
    letters = [char if isinstance(char, str) else char.dtype.char for char in typechars]
    found = {letter for letter in letters if letter in typeset}
    if not found:
        return default
    if "F" in found and "d" in found:
        return "D"
    return min(found, key="GDFgdfehilqbHILQB?".find)


_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def base_repr(number, base=2, padding=0):
    """An integer in digits of a base from 2 to 36, with so many zeros in front."""
    if not 2 <= base <= 36:
        raise ValueError(f"invalid value: `base` is {base}; expected 2 to 36")
    rest, digits = abs(int(number)), []
    while rest:
        rest, digit = divmod(rest, base)
        digits.append(_DIGITS[digit])
    text = "0" * padding + "".join(digits[::-1]) if digits else "0" * (padding or 1)
    return f"-{text}" if number < 0 else text


def binary_repr(num, width=None):
    """An integer in binary digits, of a width at least; a negative one, with a width, as its two's complement."""
    num = num.__index__()
    if num >= 0 or width is None:
        text = f"{num:b}"
        needed = len(text)
        text = text.zfill(width or 0)
    else:
        needed = (-num - 1).bit_length() + 1
        text = f"{num & ((1 << max(width, needed)) - 1):b}"
    if width is not None and width < needed:
        raise ValueError(f"invalid value: `width` is {width}; expected {needed} or more for {num}")
    return text


class errstate:
    """Takes what NumPy's takes, and changes nothing: no function here warns of, or raises for, what floating-point numbers come to."""

    def __init__(self, **kwargs):
        for name, value in kwargs.items():
            if name not in ("all", "call", "divide", "invalid", "over", "under"):
                raise TypeError(f"errstate() got an unexpected keyword argument {name!r}; expected all, divide, over, under, invalid or call")
            if name != "call" and value not in ("ignore", "warn", "raise", "call", "print", "log", None):
                raise ValueError(f"invalid value: `{name}` is {value!r}; expected 'ignore', 'warn', 'raise', 'call', 'print' or 'log'")

    def __enter__(self):
        return None

    def __exit__(self, *exception):
        return None

    def __call__(self, function):
        """A function as it is."""
        return function


def show_config():
    """Prints of what version this is and what devices there are, as `python -m stridewise doctor`."""
    from .__main__ import main

    main(["doctor"])


show_runtime = show_config


def geterr():
    """What is done about what floating-point numbers come to: nothing, whatever it is."""
    return dict.fromkeys(("divide", "over", "under", "invalid"), "ignore")


def seterr(**kwargs):
    """Takes what NumPy's takes, and changes nothing, as `errstate`; returns what is so."""
    errstate(**kwargs)
    return geterr()


#: How arrays are written where that is not as always: NumPy's options, None for what is as always.
_OPTIONS: dict = {}
_USUAL = {
    "edgeitems": 3, "threshold": 1000, "floatmode": "maxprec", "precision": 8, "suppress": False, "linewidth": 75, "nanstr": "nan",
    "infstr": "inf", "sign": "-", "formatter": None, "legacy": False, "override_repr": None,
}  # fmt: skip


def get_printoptions():
    """How arrays are written: NumPy's options, by their names."""
    return _USUAL | _OPTIONS


def _options():
    """The options as NumPy's function for one array names them; those that are as always by their values here."""
    return {_OF_TEXT.get(key, key): value for key, value in get_printoptions().items() if key in _OF_TEXT}


def _text(self):
    import numpy

    return numpy.array2string(_sw.asnumpy(self), **_options())


def _shown(self):
    import numpy

    text = numpy.array2string(_sw.asnumpy(self), separator=", ", prefix="usm_ndarray(", suffix=")", **_options())
    # As always, the dtype is there where the elements do not tell it.
    plain = self.dtype in (_sw.float64, _sw.int64, _sw.bool, _sw.complex128) and self.size
    return f"usm_ndarray({text})" if plain else f"usm_ndarray({text}, dtype={self.dtype.name})"


_OF_TEXT = {
    "edgeitems": "edgeitems", "threshold": "threshold", "floatmode": "floatmode", "precision": "precision", "linewidth": "max_line_width",
    "sign": "sign", "formatter": "formatter", "suppress": "suppress_small",
}  # fmt: skip
_WRITTEN = {name: getattr(_sw.usm_ndarray, name) for name in ("__str__", "__repr__")}


def set_printoptions(**kwargs):
    """Sets how arrays are written, by NumPy's options; NumPy writes them then, and has to be installed. Those that are as always again are
    written as always."""
    for name, value in kwargs.items():
        if name not in _USUAL:
            raise TypeError(f"set_printoptions() got an unexpected keyword argument {name!r}; expected one of {', '.join(_USUAL)}")
        if value is not None and name in ("nanstr", "infstr", "legacy", "override_repr") and value != _USUAL[name]:
            raise TypeError(f"unsupported: set_printoptions of stridewise does not take `{name}`, which is {value!r}; help: NumPy's takes stridewise.asnumpy(x)")
    for name, value in kwargs.items():
        if value is None or value == _USUAL[name]:
            _OPTIONS.pop(name, None)
        else:
            _OPTIONS[name] = value
    for name, usual in _WRITTEN.items():
        setattr(_sw.usm_ndarray, name, (_text if name == "__str__" else _shown) if _OPTIONS else usual)


class printoptions:
    """How arrays are written while a `with` block runs: the options of `set_printoptions`."""

    def __init__(self, **kwargs):
        self._options = kwargs

    def __enter__(self):
        self._before = get_printoptions()
        set_printoptions(**self._options)
        return get_printoptions()

    def __exit__(self, *exception):
        set_printoptions(**self._before)


_explained(globals())
