"""Progress of long work: saving, loading, copies, as `Graph.repeat` has it (test_capture.py)."""

import io
import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import stridewise as sw

#: More than a part of each kind of work.
LARGE = np.arange(3 << 20, dtype="float64").reshape(3, -1)


class Stopped(Exception):
    pass


def stop(done, total):
    raise Stopped(done, total)


def check(told, total):
    """What is told grows, and ends with all."""
    assert told[-1] == (total, total) and {each for _, each in told} == {total}
    assert [done for done, _ in told] == sorted({done for done, _ in told})


@pytest.mark.parametrize("make", [
    lambda: LARGE, lambda: np.asfortranarray(LARGE[:, :7]), lambda: LARGE[:, ::-2], lambda: np.zeros((0, 3), "int8"), lambda: np.array(2.5), lambda: np.arange(7) % 2 == 0,
])  # fmt: skip
def test_saving_and_loading(make, tmp_path):
    oracle, told = make(), []
    tell = lambda *news: told.append(news)
    ours = sw.asarray(oracle.copy(order="K"))
    plain, watched = tmp_path / "plain.npy", tmp_path / "watched.npy"
    sw.save(plain, ours)
    sw.save(watched, ours, progress=tell)
    check(told, oracle.nbytes)
    assert watched.read_bytes() == plain.read_bytes() and sorted(os.listdir(tmp_path)) == ["plain.npy", "watched.npy"]
    told.clear()
    again = sw.load(watched, progress=tell)
    check(told, oracle.nbytes)
    assert again.dtype == oracle.dtype and again.flags.f_contiguous == sw.load(watched).flags.f_contiguous
    np.testing.assert_array_equal(sw.asnumpy(again), oracle)
    # The same of open files.
    told.clear()
    file = io.BytesIO()
    sw.save(file, ours, progress=tell)
    check(told, oracle.nbytes)
    assert file.getvalue() == plain.read_bytes()
    told.clear()
    file.seek(0)
    np.testing.assert_array_equal(sw.asnumpy(sw.load(file, progress=tell)), oracle)
    check(told, oracle.nbytes)


def test_what_is_raised_ends_the_work_and_leaves_what_was_there(tmp_path):
    path, archive = tmp_path / "a.npy", tmp_path / "a.npz"
    x = sw.asarray(LARGE)
    sw.save(path, sw.arange(5))
    sw.savez(archive, sw.arange(5))
    for work in (lambda: sw.save(path, x, progress=stop), lambda: sw.savez(archive, x, progress=stop), lambda: sw.savez_compressed(archive, x[:, :9], progress=stop)):
        with pytest.raises(Stopped):
            work()
    assert sw.load(path).tolist() == np.load(archive)["arr_0"].tolist() == [0, 1, 2, 3, 4]
    for work in (lambda: sw.save(tmp_path / "new.npy", x, progress=stop), lambda: sw.savez(tmp_path / "new.npz", x, progress=stop)):
        with pytest.raises(Stopped):
            work()
    assert sorted(os.listdir(tmp_path)) == ["a.npy", "a.npz"]
    for work in (lambda: sw.load(path, progress=stop), lambda: sw.copy(x, progress=stop), lambda: sw.load(io.BytesIO(path.read_bytes()), progress=stop)):
        with pytest.raises(Stopped):
            work()


@pytest.mark.parametrize("wrong", [3, "pear"])
def test_what_cannot_be_called_is_refused(wrong, tmp_path):
    path, x = tmp_path / "a.npy", sw.zeros(3)
    sw.save(path, x)
    for work in (
        lambda: sw.save(path, x + 1, progress=wrong), lambda: sw.load(path, progress=wrong), lambda: sw.copy(x, progress=wrong),
        lambda: sw.save(io.BytesIO(), x, progress=wrong), lambda: sw.load(io.BytesIO(path.read_bytes()), progress=wrong), lambda: sw.copyto(x, x, progress=wrong),
    ):  # fmt: skip
        with pytest.raises(TypeError, match="`progress` is .*; expected a function"):
            work()
    assert sw.load(path).tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="`progress`.*`mmap_mode`"):
        sw.load(path, mmap_mode="r", progress=stop)


def test_archives(tmp_path):
    path, told = tmp_path / "a.npz", []
    # Two parts, which are soon compressed.
    large, columns = LARGE[:, :200_000], np.asfortranarray(LARGE[:, :5])
    for save in (sw.savez, sw.savez_compressed):
        told.clear()
        save(path, sw.asarray(large), theirs=columns, ours=sw.asarray(columns), none=sw.zeros((0, 2)), progress=lambda *news: told.append(news))
        check(told, large.nbytes + 2 * columns.nbytes)
        found = np.load(path)
        assert list(found) == ["arr_0", "theirs", "ours", "none"]
        for name, oracle in (("arr_0", np.ascontiguousarray(large)), ("theirs", columns), ("ours", columns), ("none", np.zeros((0, 2)))):
            assert found[name].dtype == oracle.dtype and found[name].flags.f_contiguous == oracle.flags.f_contiguous
            np.testing.assert_array_equal(found[name], oracle)
        watched = path.read_bytes()
        save(path, sw.asarray(large), theirs=columns, ours=sw.asarray(columns), none=sw.zeros((0, 2)))
        assert path.read_bytes() == watched
    # The ending is added; an array may have that name; a file keeps its permissions; an open file is written to.
    os.chmod(path, 0o640)
    sw.savez(tmp_path / "a", progress=sw.ones(2))
    assert np.load(path)["progress"].tolist() == [1, 1] and path.stat().st_mode & 0o777 == 0o640
    file = io.BytesIO()
    sw.savez(file, sw.ones(2))
    file.seek(0)
    assert np.load(file)["arr_0"].tolist() == [1, 1]
    with pytest.raises(ValueError, match="arr_0"):
        sw.savez(path, sw.ones(2), arr_0=sw.ones(2))
    with pytest.raises(ValueError, match="allow_pickle"):
        sw.savez(path, np.array([{}], dtype=object), allow_pickle=False)
    with pytest.raises(TypeError, match="bfloat16"):
        sw.savez(path, sw.zeros(2, dtype="bfloat16"))
    with pytest.raises(TypeError, match="`file`"):
        sw.savez(3, sw.zeros(2))
    assert np.load(path)["progress"].tolist() == [1, 1] and os.listdir(tmp_path) == ["a.npz"]


def test_copies_of_mapped_files(tmp_path):
    path, told = tmp_path / "a.bin", []
    LARGE.tofile(path)
    tell = lambda *news: told.append(news)
    for oracle in (LARGE, LARGE.T, LARGE[:, ::-3], LARGE[:0], LARGE[1, 5], LARGE.reshape(1, 3, 1, -1)):
        # The same view of the file.
        mapped = sw.memmap(path, "float64", "r", shape=LARGE.shape)
        mapped = {LARGE.T.shape: mapped.T, LARGE[:, ::-3].shape: mapped[:, ::-3], (0, LARGE.shape[1]): mapped[:0], (): mapped[1, 5]}.get(oracle.shape, mapped)
        mapped = sw.reshape(mapped, oracle.shape)
        for order in "CFK":
            told.clear()
            copied, plain = sw.copy(mapped, order=order, progress=tell), sw.copy(mapped, order=order)
            check(told, oracle.nbytes)
            assert copied.strides == plain.strides and copied.usm_type == plain.usm_type and copied.flags.writable
            np.testing.assert_array_equal(sw.asnumpy(copied), oracle)
        target = sw.zeros(oracle.shape, dtype="float32")
        told.clear()
        sw.copyto(target, mapped, progress=tell)
        check(told, target.nbytes)
        np.testing.assert_array_equal(sw.asnumpy(target), oracle.astype("float32"))
    changed = sw.memmap(path, "float64", "r+", shape=LARGE.shape)
    sw.copyto(changed, sw.asarray(LARGE) * 2, progress=tell)
    changed.flush()
    np.testing.assert_array_equal(np.fromfile(path).reshape(LARGE.shape), LARGE * 2)


def test_copies_mean_what_they_mean_without():
    for key, other in ((np.s_[:-1], np.s_[1:]), (np.s_[1:], np.s_[:-1]), (np.s_[::-1], np.s_[:])):
        oracle, x = np.arange(5.0 * (1 << 20)), sw.arange(5.0 * (1 << 20))
        expected = oracle[other].copy()
        sw.copyto(x[key], x[other], progress=lambda *_: None)
        oracle[key] = expected
        np.testing.assert_array_equal(sw.asnumpy(x), oracle)
    x = sw.zeros((2, 3))
    told = []
    sw.copyto(x, 5, progress=lambda *news: told.append(news))
    assert x.tolist() == [[5] * 3] * 2 and told == [(48, 48)]
    sw.copyto(x, [[[1, 2, 3]]], where=[True, False, True], progress=lambda *news: told.append(news))
    assert x.tolist() == [[1, 5, 3]] * 2
    for target, source, error in ((x, sw.zeros(2), ValueError), (sw.zeros(2, dtype="int8"), sw.zeros(2), TypeError), (sw.broadcast_to(x, (2, 2, 3)), x, ValueError)):
        said = []
        for how in ({}, {"progress": stop}):
            with pytest.raises(error) as found:
                sw.copyto(target, source, **how)
            said.append(type(found.value))
        assert said[0] is said[1]


INTERRUPTED = """
    import os, signal, sys, threading, time
    import stridewise as sw

    class Rung(Exception):
        pass

    def ring(*_):
        raise Rung

    signal.signal(signal.SIGUSR1, ring)
    path, read = sys.argv[1], []
    x = sw.zeros(1 << 23)

    def reader():
        with open(path, "rb") as file:
            # Longer than somebody is left without news.
            time.sleep(0.3)
            signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)
            while part := file.read(1 << 16):
                read.append(len(part))

    thread = threading.Thread(target=reader)
    thread.start()
    try:
        sw.save(path, x, progress=max)
    except Rung:
        thread.join()
        print("ended" if sum(read) < x.nbytes else "all was written")
"""


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="this system has no signals")
def test_a_signal_ends_the_work_between_two_parts(tmp_path):
    # What is called is no function of Python's, in which a handler might run.
    path = tmp_path / "pipe.npy"
    os.mkfifo(path)
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(INTERRUPTED), str(path)], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "ended\n"), done.stderr
