"""What is pickled and copied by its name, or by what it says of itself: functions, kernels, limits of dtypes, ranges."""

import copy
import pickle
import subprocess
import sys
import types

import pytest

import stridewise as sw

MODULES = "emath fft kernel_api lib lib.stride_tricks linalg program random special utils"


def module(name):
    found = sw
    for part in name.split("."):
        found = getattr(found, part)
    return found


@pytest.mark.parametrize("name", ["", *MODULES.split()])
def test_functions_and_classes_are_pickled_by_their_names(name):
    of = module(name) if name else sw
    for each in dir(of):
        found = getattr(of, each)
        if callable(found) and each[0] != "_" and not isinstance(found, types.ModuleType):
            for protocol in (2, pickle.HIGHEST_PROTOCOL):
                assert pickle.loads(pickle.dumps(found, protocol)) is found, each
            assert copy.deepcopy(found) is found and copy.copy(found) is found, each


def test_other_names_of_functions():
    x = sw.asarray([0.5, 1.5, -2.5, float("nan")])
    for name in ("rint", "around", "round"):
        assert str(pickle.loads(pickle.dumps(getattr(sw, name)))(x).tolist()) == "[0.0, 2.0, -2.0, nan]"
    out = sw.zeros(4)
    assert sw.rint(x, out=out) is out and sw.rint(x, order="F").tolist()[1] == 2


def test_functions_of_numpy_in_another_process():
    code = "import pickle, sys; f, x = pickle.load(sys.stdin.buffer); print(f(x).tolist())"
    for function, x, expected in ((sw.rint, sw.asarray([1.4]), "[1.0]"), (sw.linalg.trace, sw.ones((2, 2)), "2.0"), (sw.special.psi, sw.asarray([1.0]), "[-0.57")):
        done = subprocess.run([sys.executable, "-c", code], input=pickle.dumps((function, x)), capture_output=True, timeout=120, check=True)
        assert done.stdout.decode().startswith(expected)


@sw.kernel
def scale(item, a, factor):
    a[item.get_id(0)] *= cube(factor)


@sw.kernel_api.device_func
def cube(x):
    return x * x * x


renamed = scale


def local():
    @sw.kernel
    def inner(item, a):
        a[item.get_id(0)] = 1

    return inner


def test_kernels_are_pickled_as_functions_are():
    for found in (scale, cube, renamed):
        assert pickle.loads(pickle.dumps(found)) is found
        assert copy.deepcopy(found) is found and copy.copy(found) is found and copy.deepcopy({"of": [found]})["of"][0] is found
    for found in (local(), sw.kernel("def texts(item, a): a[item.get_id(0)] = 1")):
        with pytest.raises((pickle.PicklingError, AttributeError)):
            pickle.dumps(found)
        assert copy.deepcopy(found) is found
    # One that another one has replaced is no other's.
    other = sw.kernel(scale.__wrapped__)
    with pytest.raises(pickle.PicklingError, match="not the same object"):
        pickle.dumps(other)


@pytest.mark.parametrize("make", [
    lambda: sw.kernel_api.NdRange((4, 8), (2, 4)), lambda: sw.kernel_api.NdRange((5,), (2,), partial=True), lambda: sw.kernel_api.Range(3, 4),
])  # fmt: skip
def test_ranges(make):
    found = make()
    for other in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found), copy.copy(found)):
        assert other == found and type(other) is type(found)


def test_limits_of_dtypes_and_local_memory():
    for found in (sw.finfo("float32"), sw.finfo("bfloat16"), sw.iinfo("uint8"), sw.kernel_api.LocalAccessor((3, 4), "int16")):
        for other in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found), copy.copy(found)):
            assert type(other) is type(found) and str(other) == str(found) and other.dtype == found.dtype


def test_what_is_of_a_process_is_not_pickled():
    for found in (sw.zeros(1).sycl_queue, sw.zeros(1).flags):
        with pytest.raises(TypeError, match="cannot pickle"):
            pickle.dumps(found)
