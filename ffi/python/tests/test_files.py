"""Arrays over mapped files, and .npy files: against NumPy's."""

import io
import os
import pickle
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import stridewise as sw
from conftest import same


@pytest.fixture
def path(tmp_path):
    return tmp_path / "elements.bin"


@pytest.mark.parametrize("order", ["C", "F"])
def test_modes_are_those_of_numpy(path, dtype, order):
    oracle = np.arange(24).reshape(4, 6).astype(dtype)
    path.write_bytes(b"\0" * 64 + oracle.tobytes(order=order))
    for mode in ("r", "c", "r+"):
        theirs = np.memmap(path, dtype, mode, offset=64, shape=(4, 6), order=order)
        ours = sw.memmap(path, dtype, mode, offset=64, shape=(4, 6), order=order)
        same(ours, theirs)
        assert ours.usm_type == "shared" and ours.flags.writable == theirs.flags.writeable
        assert ours.strides == tuple(stride // theirs.itemsize for stride in theirs.strides)
        before = path.read_bytes()
        if mode == "r":
            with pytest.raises(ValueError):
                ours[0] = 1
            with pytest.raises(ValueError):
                ours.usm_data.memset(1)
            assert memoryview(ours).readonly and not np.asarray(memoryview(ours)).flags.writeable
        else:
            ours[1] = 0
        ours.flush()
        assert (path.read_bytes() != before) == (mode == "r+" and bool(np.any(oracle[1])))
    # All that is behind the offset.
    same(sw.memmap(str(path), dtype, "r", 64), np.memmap(path, dtype, "r", 64))


def test_a_file_is_made(path):
    a = sw.memmap(path, "int32", "w+", shape=(3, 4))
    assert a.tolist() == [[0] * 4] * 3 and path.stat().st_size == 48
    a[...] = sw.reshape(sw.arange(12, dtype="int32"), (3, 4))
    a.flush()
    np.testing.assert_array_equal(np.fromfile(path, "int32"), np.arange(12))
    # Views and results: those are of the file, these are not.
    a[1:, ::2].flush()
    with pytest.raises(ValueError, match="file"):
        (a + 1).flush()
    assert sw.memmap(path).dtype == sw.uint8 and sw.memmap(path).shape == (48,)


def test_other_processes_see_it(path):
    a = sw.memmap(path, "float64", "w+", shape=8)
    code = f"import stridewise as sw; x = sw.memmap({str(path)!r}, 'float64', shape=8); x[2:] = 4.5"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
    assert a.tolist() == [0, 0] + [4.5] * 6


def test_numpy_sees_the_same_memory(path):
    a = sw.memmap(path, "float32", "w+", shape=100)
    x = np.asarray(memoryview(a))
    x[7] = 3
    assert a[7] == 3
    del a
    x[8] = 4
    assert np.fromfile(path, "float32")[7:9].tolist() == [3, 4]


def test_wrong_arguments(path):
    path.write_bytes(bytes(30))
    for arguments, error, text in [
        (dict(dtype="float64"), ValueError, "dtype"),
        (dict(dtype="float64", shape=4), OSError, "32 bytes"),
        (dict(dtype="float64", shape=4, mode="r"), OSError, "elements.bin"),
        (dict(dtype="float32", offset=2), ValueError, "`offset` is 2"),
        (dict(offset=-1), ValueError, "`offset` is -1"),
        (dict(offset=31), OSError, "`offset`, 31"),
        (dict(mode="w"), ValueError, "`mode`"),
        (dict(mode="w+"), ValueError, "`shape`"),
        (dict(dtype="float128"), TypeError, "float128"),
        (dict(shape=-1), ValueError, "shape"),
        (dict(shape="abc"), TypeError, "shape"),
        (dict(order="Z"), ValueError, "order"),
    ]:
        with pytest.raises(error, match=text):
            sw.memmap(path, **arguments)
    assert path.read_bytes() == bytes(30)
    for missing in (path.with_name("missing"), path.parent, "/dev/null"):
        with pytest.raises(OSError):
            sw.memmap(missing)
    with pytest.raises(TypeError):
        sw.memmap(None)


def test_a_file_that_was_cut_off_is_an_error_and_no_signal(path):
    code = f"""
        import os, pickle
        import numpy as np
        import stridewise as sw
        np.arange(1 << 18, dtype="float32").tofile({str(path)!r})
        a = {{mode: sw.memmap({str(path)!r}, "float32", mode) for mode in ("r", "c", "r+")}}
        part = a["r"][5:9]
        os.truncate({str(path)!r}, 4096)
        ways = {{
            "sum": lambda x: float(sw.sum(x)), "element": lambda x: float(x[-1]), "list": lambda x: x.tolist(),
            "copy": lambda x: sw.copy(x).wait(), "asnumpy": sw.asnumpy, "buffer": memoryview, "pickle": pickle.dumps,
            "dlpack": lambda x: x.__dlpack__(max_version=(1, 0)), "bytes": lambda x: x.usm_data.tobytes(), "numpy": lambda x: x.__array_interface__,
            "save": lambda x: sw.save({str(path)!r} + ".npy", x), "small": lambda x: (x[:4] + 1).tolist(),
            "memory": lambda x: sw.as_usm_memory(x[:4]).tobytes(), "print": repr, "flush": lambda x: x.flush(),
            "sort": lambda x: sw.sort(x).wait(), "product": lambda x: sw.vecdot(x, x).wait(),
        }}
        for mode, x in a.items():
            for name, way in ways.items():
                try:
                    way(x)
                except (OSError, BufferError) as error:
                    assert "4096 bytes" in str(error), error
                except AttributeError as error:
                    assert name == "numpy", name
                else:
                    raise AssertionError((mode, name))
        try:
            part.tolist()
        except OSError:
            print("right")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr


def test_npy_files(tmp_path, dtype, kind):
    file = tmp_path / "a.npy"
    oracle = np.arange(24).reshape(4, 6).astype(dtype)
    for theirs in (oracle, np.asfortranarray(oracle), oracle[2, 3], oracle[:0]):
        np.save(file, theirs)
        same(sw.load(file), theirs)
        assert sw.load(file, usm_type=kind).usm_type == kind
        mapped = sw.load(file, mmap_mode="r+")
        same(mapped, theirs)
        if theirs.ndim == 2 and theirs.size:
            assert mapped.flags.f_contiguous == theirs.flags.f_contiguous
            mapped[0] = 0
            mapped.flush()
            assert not np.any(np.load(file)[0])
    sw.save(tmp_path / "b", sw.load(file, usm_type=kind))
    same(sw.load(str(tmp_path / "b.npy")), oracle[:0])


def test_npy_files_that_are_refused(tmp_path):
    file = tmp_path / "a.npy"
    np.save(file, np.arange(10, dtype=">i4"))
    assert sw.load(file).tolist() == list(range(10))
    with pytest.raises(OSError, match="stridewise.load"):
        sw.load(file, mmap_mode="r")
    np.save(file, np.array([{}], dtype=object), allow_pickle=True)
    for mode in (None, "r"):
        with pytest.raises(OSError, match="dtype"):
            sw.load(file, mmap_mode=mode)
    np.save(file, np.arange(10))
    for wrong in ("w+", "w", ""):
        with pytest.raises(ValueError, match="mode"):
            sw.load(file, mmap_mode=wrong)
    with pytest.raises(ValueError, match="usm_type"):
        sw.load(file, mmap_mode="r", usm_type="device")
    os.truncate(file, file.stat().st_size - 1)
    for mode in (None, "r", "r+"):
        with pytest.raises(OSError, match="bytes"):
            sw.load(file, mmap_mode=mode)
    with pytest.raises(TypeError, match="bfloat16"):
        sw.save(file, sw.ones(2, dtype="bfloat16"))


def test_a_pickle_of_a_mapped_array_is_of_its_elements(path):
    path.write_bytes(bytes(range(8)))
    again = pickle.loads(pickle.dumps(sw.memmap(path, mode="r+")))
    again[0] = 9
    assert path.read_bytes() == bytes(range(8)) and again.flags.writable


def test_more_than_is_looked_at_is_not_read(tmp_path):
    # A hole of 8 GiB, of which a few pages are touched.
    path = tmp_path / "hole.bin"
    with open(path, "wb") as file:
        file.truncate(8 << 30)
    code = f"""
        import resource
        import stridewise as sw
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        x = sw.memmap({str(path)!r}, "float32", "r+", shape=(1 << 15, 1 << 16))
        x[::4096, 17] = 2
        assert float(sw.sum(x[::4096, 17])) == 16
        assert x.nbytes == 8 << 30
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        assert grown < 1 << 18, grown
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, timeout=240)


def test_an_array_is_saved_to_the_file_that_it_is_over(tmp_path):
    path = tmp_path / "own.npy"
    oracle = np.arange(300_000.0)
    for mode in ("r", "c"):
        np.save(path, oracle)
        mapped = sw.load(path, mmap_mode=mode)
        for array, expected in [(mapped, oracle), (mapped[::-2], oracle[::-2]), (mapped * 2, oracle * 2), (mapped[:0], oracle[:0])]:
            sw.save(path, array)
            np.testing.assert_array_equal(np.load(path), expected)
        same(mapped, oracle)
    assert os.listdir(tmp_path) == ["own.npy"]


@pytest.mark.parametrize("mode", ["r+", "w+"])
def test_a_file_that_an_array_writes_to_is_not_replaced(tmp_path, mode):
    path = tmp_path / "written.npy"
    np.save(path, np.arange(8.0))
    if mode == "r+":
        mapped = sw.load(path, mmap_mode="r+")
    else:
        mapped = sw.memmap(path, "uint8", "w+", shape=64)
    before = path.read_bytes()
    for array in (mapped, sw.zeros(3)):
        with pytest.raises(OSError, match="flush"):
            sw.save(path, array)
    assert path.read_bytes() == before
    mapped[...] = 1
    mapped.flush()
    assert path.read_bytes() != before
    del mapped
    sw.save(path, sw.zeros(3))
    np.testing.assert_array_equal(np.load(path), np.zeros(3))


def test_a_device_without_room_leaves_the_file(tmp_path):
    path = tmp_path / "full.npy"
    oracle = np.arange(1000.0)
    np.save(path, oracle)
    code = f"""
        import resource, signal
        import stridewise as sw
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        large = sw.arange(1 << 20)
        large.wait()
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        for write in (lambda: sw.save({str(path)!r}, large), lambda: sw.memmap({str(path)!r}, "float64", "w+", shape=1 << 20)):
            try:
                write()
            except OSError as error:
                assert "full.npy" in str(error), error
            else:
                raise AssertionError("written past the limit")
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, timeout=120)
    np.testing.assert_array_equal(np.load(path), oracle)
    assert os.listdir(tmp_path) == ["full.npy"]


def test_what_is_wrong_with_a_file_is_said_plainly(tmp_path):
    path = tmp_path / "short.npy"
    for content in (b"", b"\x93NUM", b"\x93NUMPY\x01\x00\x76"):
        path.write_bytes(content)
        for mode in (None, "r"):
            with pytest.raises(OSError, match="ends too early"):
                sw.load(path, mode)


@pytest.mark.parametrize("make", [
    lambda: np.arange(24.0).reshape(2, 3, 4), lambda: np.arange(6, dtype="int16").reshape(2, 3).T, lambda: np.array(5 + 2j), lambda: np.zeros((0, 3), "u1"),
    lambda: np.arange(5) % 2 == 0, lambda: np.arange(12.0).reshape(3, 4)[:, ::2], lambda: np.arange(7, dtype="float16"),
])  # fmt: skip
def test_open_files(make, tmp_path):
    oracle = make()
    ours = sw.asarray(oracle.copy(order="K"))
    with open(tmp_path / "x", "w+b") as file:
        file.write(b"before")
        np.save(file, ours)
        sw.save(file, ours)
        np.save(file, oracle)
        file.seek(6)
        for load in (np.load, sw.load, sw.load):
            found = load(file)
            assert found.shape == oracle.shape and found.dtype == oracle.dtype
            np.testing.assert_array_equal(sw.asnumpy(found) if load is sw.load else found, oracle)
        assert not file.read()
    # What NumPy writes to a file that is open, byte for byte, where the order is the same.
    theirs, mine = io.BytesIO(), io.BytesIO()
    np.save(theirs, np.ascontiguousarray(oracle))
    sw.save(mine, sw.asarray(np.ascontiguousarray(oracle)))
    assert mine.getvalue() == theirs.getvalue()


def test_open_files_of_other_bytes():
    for dtype in (">f8", ">c8", ">i2"):
        file = io.BytesIO()
        np.save(file, np.arange(5).astype(dtype))
        file.seek(0)
        assert sw.load(file).tolist() == list(range(5))
    for data in (b"", b"pear" * 20, b"\x93NUMPY\x01\x00\xff\xff", b"\x93NUMPY\x01\x00\x10\x00" + b"{'descr': '<f8'}", b"\x93NUMPY\x01\x00\x04\x00" + b"((((" ):
        with pytest.raises(OSError, match="`file`"):
            sw.load(io.BytesIO(data))
    file = io.BytesIO()
    np.save(file, np.arange(50))
    with pytest.raises(OSError, match="ends within the elements"):
        sw.load(io.BytesIO(file.getvalue()[:-1]))
    with pytest.raises(ValueError, match="`mmap_mode`"):
        sw.load(io.BytesIO(file.getvalue()), mmap_mode="r")
    with pytest.raises(TypeError, match="bfloat16"):
        sw.save(io.BytesIO(), sw.zeros(3, dtype="bfloat16"))


def test_a_file_by_other_names_and_writers(tmp_path):
    path, oracle = tmp_path / "own.npy", np.arange(30_000.0).reshape(100, 300)
    np.save(path, oracle)
    os.symlink("own.npy", tmp_path / "link.npy")
    os.link(path, tmp_path / "other.npy")
    mapped = sw.load(tmp_path / "link.npy", mmap_mode="r")
    sw.save(tmp_path / "other.npy", mapped * 2)
    np.testing.assert_array_equal(np.load(tmp_path / "other.npy"), oracle * 2)
    assert float(mapped[3, 4]) in (oracle[3, 4], 2 * oracle[3, 4])
    raw = tmp_path / "raw.bin"
    for mode in ("r", "r+"):
        for key in (np.s_[:], np.s_[::-1], np.s_[:, ::2]):
            oracle.tofile(raw)
            array = sw.memmap(raw, "float64", mode, shape=oracle.shape)
            expected = oracle[key]
            try:
                array[key].tofile(raw)
            except (OSError, ValueError):
                expected = oracle
            np.testing.assert_array_equal(np.fromfile(raw), expected.ravel())
            del array
    for shape, dtype in (((1 << 62,), "float64"), ((-1,), "float64"), ((3,), "pear"), ("a", "float64"), (2.5, "float64")):
        before = raw.read_bytes()
        with pytest.raises((OSError, ValueError, TypeError, MemoryError, OverflowError)):
            sw.memmap(raw, dtype, "w+", shape=shape)
        assert raw.read_bytes() == before


def test_a_file_that_threads_write_is_whole_at_any_time(tmp_path):
    path = tmp_path / "many.npy"
    sw.save(path, sw.zeros(20_000))

    def write(number):
        for _ in range(10):
            sw.save(path, sw.full(20_000, number))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert len(set(np.load(path).tolist())) == 1
    for thread in threads:
        thread.join()
    assert os.listdir(tmp_path) == ["many.npy"]
