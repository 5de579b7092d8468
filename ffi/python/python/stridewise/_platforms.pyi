"""Types of `_platforms`: dpctl's names for devices."""

import enum as _enum
from builtins import int as _int, str as _str
from collections.abc import Callable
from typing import Any, NamedTuple

from stridewise import Context, Device, DeviceSelectionError, Event, Queue

__all__ = [
    "Platform",
    "SyclContext",
    "SyclContextCreationError",
    "SyclDevice",
    "SyclDeviceCreationError",
    "SyclEvent",
    "SyclKernelInvalidRangeError",
    "SyclKernelSubmitError",
    "SyclPlatform",
    "SyclQueue",
    "SyclQueueCreationError",
    "SyclSubDeviceCreationError",
    "SyclTimer",
    "backend_type",
    "device_type",
    "event_status_type",
    "get_composite_devices",
    "get_device_cached_queue",
    "get_platforms",
    "global_mem_cache_type",
    "kernel_arg_type",
    "lsplatform",
]

SyclContext = Context
SyclContextCreationError = ValueError
SyclDevice = Device
SyclDeviceCreationError = DeviceSelectionError
SyclEvent = Event
SyclKernelInvalidRangeError = ValueError
SyclKernelSubmitError = ValueError
SyclQueue = Queue
SyclQueueCreationError = ValueError
SyclSubDeviceCreationError = DeviceSelectionError

class SyclTimer:
    def __init__(self, host_timer: Callable[[], float] = ..., device_timer: _str | None = None, time_scale: float = 1) -> None: ...
    def __call__(self, queue: Queue | None = None) -> SyclTimer: ...
    def __enter__(self) -> SyclTimer: ...
    def __exit__(self, *raised: Any) -> bool: ...
    @property
    def dt(self) -> _Times: ...

class _Times(NamedTuple):
    host_dt: float
    device_dt: float

class device_type(_enum.StrEnum):
    all = "all"
    accelerator = "accelerator"
    automatic = "automatic"
    cpu = "cpu"
    custom = "custom"
    gpu = "gpu"

class backend_type(_enum.StrEnum):
    all = "all"
    cuda = "cuda"
    host = "host"
    hip = "hip"
    level_zero = "level_zero"
    opencl = "opencl"

class event_status_type(_enum.StrEnum):
    unknown_status = "unknown_status"
    submitted = "submitted"
    running = "running"
    complete = "complete"
    failed = "failed"

class global_mem_cache_type(_enum.StrEnum):
    indeterminate = "indeterminate"
    none = "none"
    read_only = "read_only"
    read_write = "read_write"

class Platform:
    def __init__(self, filter: Any = None) -> None: ...
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> _int: ...
    @property
    def backend(self) -> _str: ...
    @property
    def default_context(self) -> Context: ...
    @property
    def name(self) -> _str: ...
    @property
    def vendor(self) -> _str: ...
    @property
    def version(self) -> _str: ...
    def get_composite_devices(self) -> list[Device]: ...
    def get_devices(self, device_type: _str = "all") -> list[Device]: ...
    def print_platform_info(self, verbosity: _int = 0) -> None: ...

SyclPlatform = Platform

def get_composite_devices() -> list[Device]: ...
def get_device_cached_queue(device: Device | Queue | Context | _str) -> Queue: ...
def get_platforms() -> list[Platform]: ...
def lsplatform(verbosity: _int = 0) -> None: ...

class kernel_arg_type(_enum.Enum):
    dpctl_int8 = 0
    dpctl_uint8 = 1
    dpctl_int16 = 2
    dpctl_uint16 = 3
    dpctl_int32 = 4
    dpctl_uint32 = 5
    dpctl_int64 = 6
    dpctl_uint64 = 7
    dpctl_float32 = 8
    dpctl_float64 = 9
    dpctl_void_ptr = 10
    dpctl_local_accessor = 11
    dpctl_work_group_memory = 12
    dpctl_raw_kernel_arg = 13
