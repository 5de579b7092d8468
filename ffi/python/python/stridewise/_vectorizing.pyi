"""Types of `_vectorizing`: a name of NumPy's in the namespace."""

from builtins import bool as _bool, str as _str
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from stridewise import _DTypeLike

__all__ = ["vectorize"]

class vectorize:
    def __init__(
        self,
        pyfunc: Callable[..., Any] | None = None,
        otypes: Sequence[_DTypeLike] | _str | None = None,
        doc: _str | None = None,
        excluded: Iterable[Any] | None = None,
        cache: _bool = False,
        signature: _str | None = None,
    ) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
