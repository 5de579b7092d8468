"""Types of `_kinds`: NumPy's names in the namespace."""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, Final

from stridewise import dtype as _dtype, usm_ndarray

__all__ = [
    "ScalarType",
    "base_repr",
    "binary_repr",
    "byte",
    "cdouble",
    "common_type",
    "complexfloating",
    "csingle",
    "double",
    "errstate",
    "floating",
    "generic",
    "get_printoptions",
    "geterr",
    "half",
    "inexact",
    "int_",
    "intc",
    "integer",
    "intp",
    "issubdtype",
    "little_endian",
    "long",
    "longlong",
    "min_scalar_type",
    "mintypecode",
    "number",
    "printoptions",
    "sctypeDict",
    "set_printoptions",
    "seterr",
    "short",
    "show_config",
    "show_runtime",
    "signedinteger",
    "single",
    "typecodes",
    "typename",
    "ubyte",
    "uint",
    "uintc",
    "uintp",
    "ulong",
    "ulonglong",
    "unsignedinteger",
    "ushort",
]

ScalarType: Final[tuple[type, ...]]
def base_repr(number: Any, base: _int = 2, padding: _int = 0) -> _str: ...
def binary_repr(num: Any, width: Any = None) -> _str: ...
byte: Final[_dtype]
cdouble: Final[_dtype]
def common_type(*arrays: Any) -> _dtype: ...

class complexfloating(inexact): ...
csingle: Final[_dtype]
double: Final[_dtype]

class errstate:
    def __init__(self, **kwargs: Any) -> None: ...
    def __enter__(self) -> Any: ...
    def __exit__(self, *exception: Any) -> None: ...
    def __call__(self, function: Any) -> Any: ...


class floating(inexact): ...

class _Kind(type):
    def __subclasscheck__(cls, other: type) -> _bool: ...
    def __instancecheck__(cls, thing: Any) -> _bool: ...

class generic(metaclass=_Kind): ...

def get_printoptions() -> dict[_str, Any]: ...
def geterr() -> dict[_str, _str]: ...
half: Final[_dtype]

class inexact(number): ...
int_: Final[_dtype]
intc: Final[_dtype]

class integer(number): ...
intp: Final[_dtype]
def issubdtype(type1: Any, type2: Any, /) -> _bool: ...
little_endian: Final[_bool]
long: Final[_dtype]
longlong: Final[_dtype]
def min_scalar_type(x: Any, /) -> _dtype: ...
def mintypecode(typechars: Any, typeset: _str = "GDFgdf", default: _str = "d") -> _str: ...

class number(generic): ...

class printoptions:
    def __init__(self, **kwargs: Any) -> None: ...
    def __enter__(self) -> Any: ...
    def __exit__(self, *exception: Any) -> None: ...

sctypeDict: Final[dict[_str, Any]]
def set_printoptions(**kwargs: Any) -> None: ...
def seterr(**kwargs: Any) -> dict[_str, _str]: ...
short: Final[_dtype]
def show_config() -> None: ...
def show_runtime() -> None: ...

class signedinteger(integer): ...
single: Final[_dtype]
typecodes: Final[dict[_str, Any]]
def typename(char: Any, /) -> _str: ...
ubyte: Final[_dtype]
uint: Final[_dtype]
uintc: Final[_dtype]
uintp: Final[_dtype]
ulong: Final[_dtype]
ulonglong: Final[_dtype]

class unsignedinteger(integer): ...
ushort: Final[_dtype]
