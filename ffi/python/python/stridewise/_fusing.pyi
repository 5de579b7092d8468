from collections.abc import Callable
from types import TracebackType
from typing import Any, ParamSpec, TypeVar, overload

_P = ParamSpec("_P")
_R = TypeVar("_R")


class fuse:
    @overload
    def __new__(cls, function: None = None) -> fuse: ...
    @overload
    def __new__(cls, function: Callable[_P, _R]) -> Callable[_P, _R]: ...  # type: ignore[misc]
    def __enter__(self) -> fuse: ...
    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...
    def __call__(self, function: Callable[_P, _R]) -> Callable[_P, _R]: ...
