"""Document 002, the page on the USM array interface in the documentation: the fields, wrong in every way that there is.
What dpctl accepts and should not, is refused: shapes beyond the allocation, sizes that overflow, no type string.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stridewise as sw


class Producer:
    def __init__(self, owner, interface):
        self.owner = owner
        self.__sycl_usm_array_interface__ = interface


OWNER = sw.MemoryUSMShared(96, queue=sw.Device("host").queue)
OWNER.copy_from_host(bytes(range(96)))
QUEUE = OWNER.sycl_queue


def described(**changes):
    interface = {
        "shape": (3, 4), "typestr": "<f8", "typedescr": [("", "<f8")], "data": (OWNER._pointer, False), "strides": (4, 1),
        "offset": 0, "version": 1, "syclobj": QUEUE,
    }  # fmt: skip
    interface.update(changes)
    return Producer(OWNER, {key: value for key, value in interface.items() if value is not KeyError})


def test_002_what_is_right():
    expected = np.frombuffer(bytes(range(96)))
    for changes in (
        {}, {"typedescr": KeyError}, {"strides": None}, {"strides": KeyError}, {"offset": KeyError},
        {"typestr": "|f8"}, {"shape": [3, 4]}, {"typedescr": [("x", "<f4"), ("y", "<f4")]},
    ):  # fmt: skip
        a = sw.asarray(described(**changes))
        assert a._pointer == OWNER._pointer and a.flags.writable
        assert sw.asnumpy(a).tobytes() == expected.tobytes(), changes
    a = sw.asarray(described(shape=(3,), strides=(-4,), offset=11))
    assert sw.asnumpy(a).tobytes() == expected[11:2:-4].tobytes()
    assert not sw.asarray(described(data=(OWNER._pointer, True))).flags.writable
    scalar = sw.asarray(described(shape=(), strides=(), offset=2))
    assert scalar.shape == () and sw.asnumpy(scalar) == expected[2]
    empty = sw.asarray(described(shape=(0, 4), data=(0, False)))
    assert empty.shape == (0, 4) and empty.dtype == sw.float64


VALUE, TYPE = (ValueError,), (TypeError,)


@pytest.mark.parametrize(
    "key, wrong, error",
    [
        ("shape", KeyError, VALUE), ("shape", None, VALUE), ("shape", 12, TYPE), ("shape", "12", TYPE),
        ("shape", (3.0, 4), TYPE), ("shape", (3, -4), VALUE), ("shape", (1 << 70, 4), VALUE), ("shape", (1 << 200, 4), VALUE),
        ("shape", (4, 4), VALUE), ("shape", (1 << 40, 1 << 40), VALUE), ("shape", (1,) * 100, VALUE), ("shape", (12,), VALUE),
        ("typestr", KeyError, VALUE), ("typestr", None, VALUE), ("typestr", 8, TYPE), ("typestr", b"<f8", TYPE),
        ("typestr", "", TYPE), ("typestr", ">f8", TYPE), ("typestr", "<f16", TYPE), ("typestr", "|V8", TYPE),
        ("typestr", "<U2", TYPE), ("typestr", "f8", TYPE), ("typestr", "<c16", VALUE),
        ("typedescr", 3, TYPE), ("typedescr", "x", TYPE), ("typedescr", [3], TYPE), ("typedescr", ("", "<f8"), TYPE),
        ("data", 3, TYPE), ("data", (3,), TYPE), ("data", (OWNER._pointer, False, 1), TYPE), ("data", ("3", False), TYPE),
        ("data", (OWNER._pointer, None), TYPE), ("data", [OWNER._pointer, False], TYPE), ("data", (0, False), VALUE),
        ("data", (-8, False), VALUE), ("data", (1 << 64, False), VALUE), ("data", (1 << 200, False), VALUE),
        ("data", (8, False), VALUE), ("data", (OWNER._pointer + 8, False), VALUE), ("data", (OWNER._pointer + 1, False), VALUE),
        ("data", (OWNER._pointer - 8, False), VALUE), ("data", KeyError, TYPE),
        ("strides", 4, TYPE), ("strides", (4,), VALUE), ("strides", (4, 1, 1), VALUE), ("strides", (4, 1.0), TYPE),
        ("strides", (5, 1), VALUE), ("strides", (-4, 1), VALUE), ("strides", (1 << 62, 1), VALUE), ("strides", (1 << 80, 1), VALUE),
        ("offset", 1, VALUE), ("offset", -1, VALUE), ("offset", 1 << 63, VALUE), ("offset", 1 << 80, VALUE), ("offset", 1.5, TYPE),
        ("offset", "0", TYPE),
        ("version", KeyError, VALUE), ("version", 0, VALUE), ("version", 2, VALUE), ("version", "1", TYPE), ("version", 1 << 200, VALUE),
        ("syclobj", KeyError, VALUE), ("syclobj", None, VALUE), ("syclobj", 3, TYPE), ("syclobj", object(), TYPE),
        ("syclobj", sw.Queue("host:scalar"), VALUE), ("syclobj", sw.Context("host:scalar"), VALUE),
        ("syclobj", "host:scalar", VALUE),
    ],
)  # fmt: skip
def test_002_what_is_wrong(key, wrong, error):
    with pytest.raises(error):
        sw.asarray(described(**{key: wrong}))
    if key not in ("shape", "strides", "offset", "typestr"):
        with pytest.raises(error):
            sw.as_usm_memory(described(**{key: wrong}))


def test_002_wrong_filter_strings():
    for wrong in ("", "nothing", "host:cpu:77"):
        with pytest.raises(sw.DeviceSelectionError):
            sw.asarray(described(syclobj=wrong))


def test_002_an_interface_that_is_none():
    for wrong in (3, "text", [("shape", (1,))], ()):
        with pytest.raises(TypeError, match="dictionary"):
            sw.asarray(Producer(None, wrong))

    class Raises:
        @property
        def __sycl_usm_array_interface__(self):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        sw.asarray(Raises())


def test_002_bfloat16_has_no_type_string():
    assert not hasattr(sw.usm_ndarray((2,), dtype="bfloat16"), "__sycl_usm_array_interface__")


NUMBERS = st.one_of(st.integers(-3, 16), st.integers(), st.none(), st.floats(), st.text(max_size=2))


@settings(max_examples=2000, deadline=None)
@given(
    shape=st.one_of(st.lists(NUMBERS, max_size=4).map(tuple), NUMBERS),
    strides=st.one_of(st.none(), st.lists(NUMBERS, max_size=4).map(tuple), NUMBERS),
    offset=NUMBERS,
    typestr=st.one_of(st.sampled_from(["<f8", "|u1", "<i2", "|b1", "<c16"]), st.text(max_size=4), NUMBERS),
    version=st.one_of(st.just(1), NUMBERS),
    address=st.one_of(st.integers(-8, 96).map(lambda n: OWNER._pointer + n), NUMBERS),
    read_only=st.one_of(st.booleans(), NUMBERS),
)
def test_002_any_dictionary_is_taken_or_refused(shape, strides, offset, typestr, version, address, read_only):
    producer = described(
        shape=shape, strides=strides, offset=offset, typestr=typestr, version=version, data=(address, read_only)
    )
    try:
        a = sw.asarray(producer)
    except (TypeError, ValueError):
        return
    # What is taken is inside of the memory, so reading it reads that.
    start = OWNER._pointer
    assert a.size == 0 or start <= a._pointer < start + 96
    if a.size == 0:
        return
    strides = [stride * a.itemsize for stride in a.strides]
    oracle = np.ndarray(a.shape, a.dtype.str, bytes(range(96)), a._pointer - start, strides)
    if a.dtype != sw.bool:
        assert sw.asnumpy(a).tobytes() == oracle.tobytes()
