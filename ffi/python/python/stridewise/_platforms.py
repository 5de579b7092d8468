"""dpctl's names for what devices belong to and for what they are: platforms, kinds as enumerations, and its spelling of the classes.

Imported when one of its names is asked for.
"""

import collections as _collections
import enum as _enum
import time as _time
import warnings as _warnings

import stridewise as _sw

from ._arguments import explained as _explained

__all__ = [
    "Platform", "SyclContext", "SyclContextCreationError", "SyclDevice", "SyclDeviceCreationError", "SyclEvent", "SyclKernelInvalidRangeError",
    "SyclKernelSubmitError", "SyclPlatform", "SyclQueue", "SyclQueueCreationError", "SyclSubDeviceCreationError", "SyclTimer",
    "backend_type", "device_type", "event_status_type", "get_composite_devices", "get_device_cached_queue", "get_platforms",
    "global_mem_cache_type", "kernel_arg_type", "lsplatform",
]  # fmt: skip

SyclContext, SyclDevice, SyclEvent, SyclQueue = _sw.Context, _sw.Device, _sw.Event, _sw.Queue
SyclDeviceCreationError = SyclSubDeviceCreationError = _sw.DeviceSelectionError
SyclContextCreationError = SyclQueueCreationError = SyclKernelInvalidRangeError = SyclKernelSubmitError = ValueError



class _Kind(_enum.StrEnum):
    """What is equal to its name, and shown as it."""

    __repr__ = str.__repr__


#: Of devices, what `Device.device_type` is.
device_type = _Kind("device_type", [(name, name) for name in ("all", "accelerator", "automatic", "cpu", "custom", "gpu")])
#: Of devices, what `Device.backend` is.
backend_type = _Kind("backend_type", [(name, name) for name in ("all", "cuda", "host", "hip", "level_zero", "opencl")])
#: Of events, what `Event.execution_status` is.
event_status_type = _Kind("event_status_type", [(name, name) for name in ("unknown_status", "submitted", "running", "complete", "failed")])
#: Of devices, what `Device.global_mem_cache_type` is.
global_mem_cache_type = _Kind("global_mem_cache_type", [(name, name) for name in ("indeterminate", "none", "read_only", "read_write")])
#: Of what an argument of a kernel is, dpctl's number.
kernel_arg_type = _enum.Enum("kernel_arg_type", [f"dpctl_{name}" for name in (
    "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64", "void_ptr", "local_accessor",
    "work_group_memory", "raw_kernel_arg",
)], start=0)  # fmt: skip
for _kind, _text in {
    device_type: "The kinds of devices, which are equal to their names.", backend_type: "The drivers, which are equal to their names.",
    event_status_type: "How far work is, equal to its name.", global_mem_cache_type: "What a cache of a device's memory is for, equal to its name.",
    kernel_arg_type: "What an argument of a kernel is, by dpctl's numbers.",
}.items():  # fmt: skip
    _kind.__doc__, _kind.__module__ = _text, "stridewise"


class Platform:
    """The devices of one driver and maker. filter: what names one of them, as for `Device`; None: the default device. Raises
    DeviceSelectionError where no device answers to it."""

    __slots__ = ("_devices",)
    __module__ = "stridewise"

    def __init__(self, filter=None):
        device = _sw.Device(filter).get_unpartitioned_parent_device()
        self._devices = [each for each in _sw.get_devices() if (each.backend, each.vendor) == (device.backend, device.vendor)]
        if device not in self._devices:
            # A level of instructions, which a filter string alone names.
            self._devices.append(device)

    @property
    def backend(self):
        """The driver's name: "host", "opencl"."""
        return self._devices[0].backend

    @property
    def name(self):
        """The driver and who made the devices."""
        return f"{self.backend}: {self.vendor}"

    @property
    def vendor(self):
        """Who made the devices."""
        return self._devices[0].vendor

    @property
    def version(self):
        """The version of the driver."""
        return self._devices[0].driver_version

    @property
    def default_context(self):
        """The context of all of the devices."""
        return _sw.Context(self._devices)

    def get_devices(self, device_type="all"):
        """The devices of a type: "all", "cpu", "gpu" or "accelerator"."""
        known = _sw.get_devices(self.backend, str(device_type))
        return [device for device in self._devices if device in known or device_type == "all"]

    def get_composite_devices(self):
        """Devices that others are parts of: none."""
        return []

    def print_platform_info(self, verbosity=0):
        """Prints what the platform is; with 1 how many devices it has, with 2 what they are."""
        verbosity = _level(verbosity)
        print(f"Name        {self.name}\nVersion     {self.version}\nVendor      {self.vendor}\nBackend     {self.backend}")
        if verbosity:
            print(f"Devices     {len(self._devices)}")
        for device in self._devices if verbosity > 1 else ():
            print(device.describe())

    def __eq__(self, other):
        return isinstance(other, Platform) and (self.backend, self.vendor) == (other.backend, other.vendor)

    def __hash__(self):
        return hash((self.backend, self.vendor))

    def __repr__(self):
        return f'Platform("{self._devices[0].filter_string}")'


SyclPlatform = Platform


class SyclTimer:
    """As `Timer`, with dpctl's arguments. host_timer: what says the time of the host, in seconds; device_timer: None, "queue_barrier" or
    "order_manager": the device's time is between barriers with each. time_scale: what seconds are multiplied by."""

    __slots__ = ("_begun", "_host", "_host_timer", "_scale", "_timer")
    __module__ = "stridewise"

    def __init__(self, host_timer=_time.perf_counter, device_timer=None, time_scale=1):
        if device_timer not in (None, "queue_barrier", "order_manager"):
            raise ValueError(f'invalid value: `device_timer` is {device_timer!r}; expected None, "queue_barrier" or "order_manager"')
        self._timer, self._host_timer, self._host, self._scale = _sw.Timer(time_scale), host_timer, 0.0, time_scale

    def __call__(self, queue=None):
        self._timer(queue)
        return self

    def __enter__(self):
        self._timer.__enter__()
        self._begun = self._host_timer()
        return self

    def __exit__(self, *raised):
        self._host += self._host_timer() - self._begun
        return self._timer.__exit__(*raised)

    @property
    def dt(self):
        """The sums of all blocks so far: a pair (host_dt, device_dt). Waits for their work."""
        return _Times(self._host * self._scale, self._timer.dt.device_dt)


_Times = _collections.namedtuple("TimerResult", "host_dt device_dt", module="stridewise")


def _level(verbosity):
    if verbosity not in (0, 1, 2):
        _warnings.warn(f"`verbosity` is {verbosity!r}; expected 0, 1 or 2: 0 is taken", UserWarning, stacklevel=3)
        return 0
    return verbosity


def get_platforms():
    """The platforms of all devices."""
    return list(dict.fromkeys(map(Platform, _sw.get_devices())))


def lsplatform(verbosity=0):
    """Prints what the platforms are, as `Platform.print_platform_info` does."""
    verbosity = _level(verbosity)
    for number, platform in enumerate(get_platforms()):
        print(f"Platform {number}")
        platform.print_platform_info(verbosity)


def get_composite_devices():
    """Devices that others are parts of: none."""
    return []


def get_device_cached_queue(device):
    """The queue that is kept for a device, or for the device of a queue or context: the same one each time."""
    if isinstance(device, _sw.Context):
        return device.queue()
    return _sw.Device(device).sycl_device.queue


_explained(globals())
