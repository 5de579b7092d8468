"""dpctl's descriptors of devices, from what ours say of themselves: of what they lack, as images, what SYCL says of a device without."""

import stridewise as _sw

#: Aspects of SYCL's that no device has here.
_NO_ASPECTS = {
    "custom": "Whether the device is none of the other types: none is.",
    "emulated": "Whether the device stands for another one: none does.",
    "image": "Whether kernels work with images: arrays take their place.",
    "is_component": "Whether the device is a part of a composite one: none is.",
    "is_composite": "Whether the device is made of others: none is.",
    "usm_atomic_host_allocations": 'Whether atomic operations on memory of kind "host" are promised to reach the host: they are not.',
    "usm_atomic_shared_allocations": 'Whether atomic operations on memory of kind "shared" are promised to reach the host: they are not.',
}
#: Bytes of C's types.
_WIDTHS = {"char": 1, "short": 2, "int": 4, "long": 8, "float": 4, "double": 8, "half": 2}


def _width(name):
    def found(device):
        lacking = name == "half" and not device.has_aspect_fp16 or name == "double" and not device.has_aspect_fp64
        return 0 if lacking else max(device.vector_bytes // _WIDTHS[name], 1)

    return found


def _sizes(count):
    # A work-group may be all of one dimension.
    return lambda device: (device.max_work_group_size,) * count


def _work_item_sizes(device):
    import warnings

    warnings.warn("max_work_item_sizes is max_work_item_sizes3d", DeprecationWarning, stacklevel=2)
    return device.max_work_item_sizes3d


def _compiles(device):
    # Sources and SPIR-V are OpenCL's.
    return device.backend == "opencl"


def _clock(device):
    if device.backend != "host":
        return 0
    try:
        with open("/proc/cpuinfo") as lines:
            found = [float(line.partition(":")[2]) for line in lines if line.startswith("cpu MHz")]
    except (OSError, ValueError):
        found = []
    return round(max(found, default=0))


def _cache_type(device):
    return _sw.global_mem_cache_type("read_write" if device.global_mem_cache_size else "none")


def _score(device):
    """The default device is a graphics processor where there is one, else the host."""
    if device == _sw.select_default_device():
        return 1000
    return {"gpu": 500, "cpu": 300}.get(device.device_type, 75)


_VALUES = {
    "component_devices": (lambda device: [], "The devices that it is made of: none."),
    "composite_device": (lambda device: None, "The device that it is a part of: none."),
    "default_selector_score": (_score, "How `select_default_device` ranks the device: the largest of all is the default one's."),
    "global_mem_cache_line_size": (lambda device: 64 if device.global_mem_cache_size else 0, "Bytes of a line of the last cache; 0 without one."),
    "global_mem_cache_type": (_cache_type, 'What the last cache is for: "read_write", or "none" without one.'),
    "has_aspect_online_compiler": (_compiles, "Whether sources are compiled for it, by `stridewise.program`."),
    "has_aspect_online_linker": (_compiles, "As `has_aspect_online_compiler`."),
    "max_clock_frequency": (_clock, "The processor's clock, in MHz; 0 where it is not known."),
    "max_num_sub_groups": (lambda device: device.max_work_group_size, "Sub-groups of a work-group: at most as many as it has items."),
    "max_read_image_args": (lambda device: 0, "Images that a kernel reads: none."),
    "max_write_image_args": (lambda device: 0, "Images that a kernel writes: none."),
    "max_work_item_dims": (lambda device: 3, "Dimensions of a range."),
    "max_work_item_sizes": (_work_item_sizes, "As `max_work_item_sizes3d`, deprecated."),
    "partition_max_sub_devices": (lambda device: device.max_compute_units if device.backend == "host" else 0, "Into how many parts it can be divided."),
    "profiling_timer_resolution": (lambda device: 1, "Nanoseconds of the smallest step of time stamps."),
    "sub_group_independent_forward_progress": (lambda device: False, "Whether sub-groups go on independently: not promised."),
    "sub_group_sizes": (lambda device: [] if "sub_groups" in device.aspects else [1], "Items of a sub-group: one, where the device has no such groups; not known of others."),
    "sycl_platform": (lambda device: _sw.Platform(device), "The platform that the device belongs to."),
}  # fmt: skip
_VALUES |= {f"image_{name}": (lambda device: 0, "An extent of the largest image: there is none.") for name in (
    "2d_max_height", "2d_max_width", "3d_max_depth", "3d_max_height", "3d_max_width"
)}  # fmt: skip
_VALUES |= {f"max_work_item_sizes{count}d": (_sizes(count), f"Items of a work-group along each axis, of {count}.") for count in (1, 2, 3)}
_VALUES |= {f"has_aspect_{name}": (lambda device: False, text) for name, text in _NO_ASPECTS.items()}
for _width_of in ("native", "preferred"):
    _VALUES |= {f"{_width_of}_vector_width_{name}": (_width(name), f"Elements of C's {name} in a vector; 0 without the type.") for name in _WIDTHS}


def _access(device, peer, value):
    if not isinstance(value, str):
        raise TypeError(f"`value` is {value!r}; expected a text")
    if value not in ("access_supported", "atomics_supported"):
        raise ValueError(f'invalid value: `value` is {value!r}; expected "access_supported" or "atomics_supported"')
    if not isinstance(peer, _sw.Device):
        raise TypeError(f"`peer` is {peer!r}; expected a Device")
    return False


def can_access_peer(self, peer, value="access_supported"):
    """Whether kernels of this device work in another one's memory: they do not, and copies go through the queues."""
    return _access(self, peer, value)


def enable_peer_access(self, peer):
    """Would let kernels work in another device's memory; raises ValueError, as none can."""
    _access(self, peer, "access_supported")
    raise ValueError(f"invalid value: `peer` is {peer!r}, whose memory {self!r} does not work in; expected one for which can_access_peer is true")


disable_peer_access = enable_peer_access

for _name, (_get, _text) in _VALUES.items():
    setattr(_sw.Device, _name, property(_get, doc=_text))
for _method in (can_access_peer, enable_peer_access):
    setattr(_sw.Device, _method.__name__, _method)
setattr(_sw.Device, "disable_peer_access", disable_peer_access)



def _as_kind(owner, name, kind):
    """Has what is the name of a kind be of dpctl's enumeration, whose members are equal to their names; a driver may have another one."""
    given = getattr(owner, name)

    def found(self):
        text = given.__get__(self)
        return getattr(_sw, kind).__members__.get(text, text)

    setattr(owner, name, property(found, doc=given.__doc__))


for _owner in (_sw.Device, _sw.Queue, _sw.Context):
    _as_kind(_owner, "backend", "backend_type")
_as_kind(_sw.Device, "device_type", "device_type")
_as_kind(_sw.Event, "execution_status", "event_status_type")



def _waited(name):
    given = getattr(_sw.Event, name)

    def found(self):
        self.wait()
        return given.__get__(self)

    text = given.__doc__.replace("ValueError before the work is done;", "what made the work fail; waits for it;")
    setattr(_sw.Event, name, property(found, doc=text))


# A time is there when the work is done, for which SYCL waits.
for _name in ("profiling_info_submit", "profiling_info_start", "profiling_info_end"):
    _waited(_name)

_devices, _num_devices = _sw.get_devices, _sw.get_num_devices
#: Types of SYCL's of which no device is.
_NO_TYPES = ("automatic", "custom")


def get_devices(backend="all", device_type="all"):
    """The devices of a driver ("host", "opencl", …) and type ("cpu", "gpu" or "accelerator"), of all where it is "all".

    Raises ValueError for other names.

    >>> import stridewise as sw
    >>> [device.filter_string for device in sw.get_devices(backend="host")]
    ['host:cpu:0']
    """
    return [] if device_type in _NO_TYPES else _devices(backend, device_type)


def get_num_devices(backend="all", device_type="all"):
    """How many devices `get_devices` lists."""
    return 0 if device_type in _NO_TYPES else _num_devices(backend, device_type)


_divide = _sw.Device.create_sub_devices


def create_sub_devices(self, partition):
    """Divides the device. partition: an integer, for parts of so many compute units; a list of integers, for parts of these many; or
    what the processors of a part share: "numa", "L4_cache", "L3_cache", "L2_cache", "L1_cache", "next_partitionable", or
    "not_applicable".

    Raises DeviceSelectionError where it cannot be divided so."""
    if isinstance(partition, str) and partition == "not_applicable":
        raise _sw.DeviceSelectionError(f"device selection: {self!r} is not divided by nothing that parts share; help: give another `partition`")
    if isinstance(partition, (list, tuple)):
        partition = [int(count) if isinstance(count, float) and count.is_integer() else count for count in partition]
    return _divide(self, partition)


setattr(_sw.Device, "create_sub_devices", create_sub_devices)

_select = _sw.select_device_with_aspects
#: Aspects by which devices are selected, too, beside those that `Device.aspects` may have.
_BESIDE = {*_NO_ASPECTS, "accelerator", "cpu", "gpu", "online_compiler", "online_linker"}


def select_device_with_aspects(required_aspects, excluded_aspects=None):
    """The best device with all of the required aspects and none of the excluded ones, each one name or several: of `Device.aspects`, or of
    a property `has_aspect_…` of devices. Raises DeviceSelectionError where there is none, ValueError for a name that is none."""
    named = [[names] if isinstance(names, str) else names for names in (required_aspects, excluded_aspects)]
    if not any(isinstance(names, (list, tuple, set, frozenset)) and _BESIDE.intersection(n for n in names if isinstance(n, str)) for names in named):
        return _select(required_aspects, excluded_aspects)
    required, excluded = ([name for name in names or ()] for names in named)
    for name in required + excluded:
        # A name that is none is an error, and no device without it.
        if name not in _BESIDE:
            _sw.Device().has_aspect(name)
    has = lambda device, name: getattr(device, f"has_aspect_{name}") if name in _BESIDE else device.has_aspect(name)
    for device in (_sw.select_default_device(), *_sw.get_devices()):
        if all(has(device, name) for name in required) and not any(has(device, name) for name in excluded):
            return device
    raise _sw.DeviceSelectionError(
        f"device selection: no device has the aspects {required!r} without {excluded!r}; help: `stridewise.get_devices()` lists the devices, "
        "and `Device.aspects` what they have"
    )
