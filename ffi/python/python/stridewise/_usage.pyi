from types import TracebackType
from typing import NamedTuple

from . import Device, dtype as _dtype

class KindUsage(NamedTuple):
    in_use: int
    kept: int
    peak: int

class MemoryUsage(NamedTuple):
    in_use: int
    kept: int
    peak: int
    reserved: int
    limit: int | None
    total: int
    kinds: dict[str, KindUsage]

class ScopeUsage(NamedTuple):
    allocated: int
    allocations: int
    peak: int
    left: int

class LiveArray(NamedTuple):
    device: Device
    nbytes: int
    usm_type: str
    origin: str
    dtype: _dtype | None
    shape: tuple[int, ...] | None
    scope: str | None
    thread: str | None
    made_at: str | None
    pointer: int
    text: str

class memory_scope:
    def __init__(self, name: str, *, sites: bool = False) -> None: ...
    def __enter__(self) -> memory_scope: ...
    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...
    @property
    def usage(self) -> ScopeUsage: ...
