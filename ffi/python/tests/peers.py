"""What the tests of the protocols share: raw DLPack tensors, and the memory that a process holds."""

import ctypes
import gc
import resource
import time
from ctypes import POINTER, Structure, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p

api = ctypes.pythonapi
api.PyCapsule_New.restype = ctypes.py_object
api.PyCapsule_New.argtypes = [c_void_p, ctypes.c_char_p, c_void_p]
api.PyCapsule_GetName.restype = ctypes.c_char_p
api.PyCapsule_GetName.argtypes = [ctypes.py_object]
api.PyCapsule_GetPointer.restype = c_void_p
api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


class Version(Structure):
    _fields_ = [("major", c_uint32), ("minor", c_uint32)]


class Tensor(Structure):
    _fields_ = [
        ("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("ndim", c_int32),
        ("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16),
        ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)), ("byte_offset", c_uint64),
    ]  # fmt: skip


class Legacy(Structure):
    _fields_ = [("tensor", Tensor), ("context", c_void_p), ("deleter", c_void_p)]


class Versioned(Structure):
    _fields_ = [
        ("version", Version), ("context", c_void_p), ("deleter", c_void_p), ("flags", c_uint64), ("tensor", Tensor),
    ]  # fmt: skip


DELETER = ctypes.CFUNCTYPE(None, c_void_p)


class Producer:
    """An object with `__dlpack__` whose tensor the test writes, over 16 doubles. It counts how often it gets it back."""

    def __init__(self, shape=(4, 4), strides=(4, 1), form=Versioned):
        self.returned = 0
        self.data = (ctypes.c_double * 16)(*range(16))
        self.shape = (c_int64 * max(len(shape), 1))(*shape)
        self.strides = (c_int64 * max(len(shape), 1))(*strides)
        self.deleter = DELETER(self._take_back)
        self.managed = form()
        self.managed.deleter = ctypes.cast(self.deleter, c_void_p).value
        if form is Versioned:
            self.managed.version = Version(1, 0)
        self.name = b"dltensor_versioned" if form is Versioned else b"dltensor"
        self.tensor = self.managed.tensor
        self.tensor.data = ctypes.addressof(self.data)
        self.tensor.device_type, self.tensor.ndim = 1, len(shape)
        self.tensor.code, self.tensor.bits, self.tensor.lanes = 2, 64, 1
        self.tensor.shape, self.tensor.strides = self.shape, self.strides
        self.device = (1, 0)
        self.capsule = None

    def _take_back(self, _managed):
        self.returned += 1

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **_options):
        self.capsule = api.PyCapsule_New(ctypes.addressof(self.managed), self.name, None)
        return self.capsule


def capsule_name(capsule):
    return api.PyCapsule_GetName(capsule)


def resident_bytes():
    """The memory of this process that is in use now."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def settles(condition, seconds=10):
    """Whether a condition comes true: what work has used is given back a little after it."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        gc.collect()
        time.sleep(0.01)
    return True


def growth(action, count):
    """Bytes by which the process grows while an action is done so often, after it has settled."""
    for _ in range(count // 10):
        action()
    gc.collect()
    before = resident_bytes()
    for _ in range(count):
        action()
    gc.collect()
    return resident_bytes() - before
