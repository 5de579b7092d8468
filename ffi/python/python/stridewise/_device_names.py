"""Names of dpctl's for devices, queues and memory that say otherwise what those of `Device`, `Queue` and memory say."""

import stridewise as _sw

__all__ = ["has_accelerator_devices", "has_cpu_devices", "has_gpu_devices"]


def has_accelerator_devices():
    """Whether there is a device that is an accelerator, and neither a processor nor a graphics processor."""
    return _sw.get_num_devices(device_type="accelerator") > 0


def has_cpu_devices():
    """Whether there is a device that is a processor."""
    return _sw.get_num_devices(device_type="cpu") > 0


def has_gpu_devices():
    """Whether there is a device that is a graphics processor."""
    return _sw.get_num_devices(device_type="gpu") > 0


def get_unpartitioned_parent_device(self):
    """The device that a sub-device, or one of its, was divided from; a root device itself."""
    device = self
    while device.parent_device is not None:
        device = device.parent_device
    return device


def _place(device, backend, device_type):
    if device.parent_device is not None:
        raise ValueError(
            f"invalid value: {device!r} is a part of a device, which has no number; expected a root device; help: "
            "get_unpartitioned_parent_device() is its root"
        )
    return _sw.get_devices(backend, device_type).index(device)


def get_device_id(self):
    """The number of a root device among all. Raises ValueError for a part of one."""
    return _place(self, "all", "all")


def get_filter_string(self, include_backend=True, include_device_type=True):
    """A filter string that selects a root device, with the number that it has among those of the backend and type that are named.
    Raises ValueError for a part of one."""
    parts = [self.backend] * bool(include_backend) + [self.device_type] * bool(include_device_type)
    place = _place(self, self.backend if include_backend else "all", self.device_type if include_device_type else "all")
    return ":".join([*parts, str(place)])


def _aspect(name, text):
    def found(self):
        return self.has_aspect(name) if name == "host_debuggable" else self.device_type == name

    return property(found, doc=text)


for _method in (get_device_id, get_filter_string, get_unpartitioned_parent_device):
    setattr(_sw.Device, _method.__name__, _method)
for _name, _text in {
    "accelerator": "Whether the device is another accelerator: as `is_accelerator`.",
    "cpu": "Whether the device is a processor: as `is_cpu`.",
    "gpu": "Whether the device is a graphics processor: as `is_gpu`.",
    "host_debuggable": "Whether kernels run in the process, where a debugger stops in them.",
}.items():
    setattr(_sw.Device, f"has_aspect_{_name}", _aspect(_name, _text))


def get_sycl_context(self):
    """The queue's context: as `sycl_context`."""
    return self.sycl_context


def get_sycl_device(self):
    """The queue's device: as `sycl_device`."""
    return self.sycl_device


for _method in (get_sycl_context, get_sycl_device):
    setattr(_sw.Queue, _method.__name__, _method)


def _of_device(name, text):
    return property(lambda self: getattr(self.sycl_device, name), doc=text)


setattr(_sw.Queue, "name", _of_device("name", "The name of the queue's device."))
setattr(_sw.Queue, "driver_version", _of_device("driver_version", "The version of the driver of the queue's device."))


def memcpy_async(self, dest, src, count=None, depends=None, *, dEvents=None):
    """As `memcpy`. dEvents: as `depends`."""
    return self.memcpy(dest, src, count, depends if dEvents is None else dEvents)


def _submit_keep_args_alive(self, args, dEvents):
    """An event behind others, which is all that is needed: submitted work keeps what it needs."""
    return self.submit_barrier(dEvents or [_sw.Event()])


setattr(_sw.Queue, "memcpy_async", memcpy_async)
setattr(_sw.Queue, "_submit_keep_args_alive", _submit_keep_args_alive)


def get_usm_type(self, syclobj=None):
    """"host", "device" or "shared"; "unknown" where the devices of a queue or context are others than the memory's."""
    if syclobj is not None:
        if not isinstance(syclobj, (_sw.Queue, _sw.Context)):
            raise TypeError(f"`syclobj` is {syclobj!r}; expected a Queue, a Context or None")
        if self.sycl_device not in (syclobj.sycl_context if isinstance(syclobj, _sw.Queue) else syclobj).devices:
            return "unknown"
    return self.usm_type


def get_usm_type_enum(self, syclobj=None):
    """SYCL's number for `get_usm_type`: 1 for "device", 2 for "shared", 3 for "host", 0 for "unknown"."""
    return ("unknown", "device", "shared", "host").index(get_usm_type(self, syclobj))


def __sizeof__(self):
    return object.__sizeof__(self) + self.nbytes


setattr(_sw._Memory, "get_usm_type", get_usm_type)
setattr(_sw._Memory, "get_usm_type_enum", get_usm_type_enum)
setattr(_sw._Memory, "__sizeof__", __sizeof__)
setattr(_sw._Memory, "_context", property(lambda self: self.sycl_context, doc="As `sycl_context`."))
setattr(_sw._Memory, "_queue", property(lambda self: self.sycl_queue, doc="As `sycl_queue`."))
setattr(_sw._Memory, "reference_obj", property(lambda self: None, doc="What keeps the memory beside itself: nothing, it counts who uses it."))
