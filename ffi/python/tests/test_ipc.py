"""Memory of one process in another."""

import os
import pickle
import signal
import subprocess
import sys
import textwrap

import pytest

import stridewise as sw

pytestmark = pytest.mark.skipif(not sw.IPCMemoryHandle.is_available(), reason="this system's processes do not open each other's memory")

Handle = sw.IPCMemoryHandle


class Process:
    """Another process, which is told what to do by lines, and answers by one each."""

    CODE = """
        import sys
        import stridewise as sw
        for line in sys.stdin:
            try:
                exec(line, globals())
                answer = "done"
            except Exception as error:
                answer = f"{type(error).__name__}: {error}"
            print(answer, flush=True)
    """

    def __enter__(self):
        self.child = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(self.CODE)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        return self

    def __call__(self, line):
        self.child.stdin.write(line + "\n")
        self.child.stdin.flush()
        return self.child.stdout.readline().rstrip("\n")

    def __exit__(self, *_):
        self.child.kill()
        self.child.communicate()


def array(memory, shape=100):
    return sw.usm_ndarray(shape, "float64", buffer=memory)


def test_two_processes_have_the_same_bytes():
    memory = Handle.allocate(800)
    assert memory.usm_type == "shared" and memory.nbytes == 800 and bytes(memory) == bytes(800)
    handle = Handle(memory)
    assert handle.nbytes == 800 and not handle.is_closed
    ours = array(memory)
    with Process() as other:
        assert other(f"memory = sw.IPCMemoryHandle.open({handle.to_bytes()!r}, nbytes=800)") == "done"
        assert other("x = sw.usm_ndarray(100, 'float64', buffer=memory); x[...] = sw.arange(100.0) * 2") == "done"
        assert ours.tolist() == [2.0 * k for k in range(100)]
        ours[...] = 7
        assert other("assert float(sw.sum(x)) == 700 and x.usm_type == 'shared'") == "done"
        # What was opened is handed on.
        assert other("again = sw.IPCMemoryHandle(x); assert again.nbytes == 800") == "done"


def test_the_writer_is_killed_in_the_middle():
    with Process() as writer:
        assert writer("m = sw.IPCMemoryHandle.allocate(8 << 20); x = sw.usm_ndarray(1 << 20, 'float64', buffer=m)") == "done"
        assert writer("x[...] = 1; h = sw.IPCMemoryHandle(m)") == "done"
        writer.child.stdin.write("print(h.to_bytes().hex(), flush=True)\n")
        writer.child.stdin.flush()
        payload = bytes.fromhex(writer.child.stdout.readline())
        assert writer.child.stdout.readline() == "done\n"
        ours = array(Handle.open(payload), 1 << 20)
        assert float(sw.sum(ours)) == 1 << 20
        writer.child.stdin.write("exec('k = 1\\nwhile True: k += 1; x[...] = k')\n")
        writer.child.stdin.flush()
        while float(ours[0]) == 1:
            pass
        os.kill(writer.child.pid, signal.SIGKILL)
        writer.child.wait()
        # Whole numbers, of one or two rounds.
        found = sw.unique_values(ours).tolist()
        assert 1 <= len(found) <= 2 and all(value == int(value) >= 1 for value in found)
        ours[...] = 3
        assert float(sw.sum(ours)) == 3 << 20
        # It is not to be had any more.
        with pytest.raises(OSError, match="handle"):
            Handle.open(payload)
    # Nothing is left, but what this process has.
    assert not [name for name in os.listdir("/dev/shm") if f"{payload[24:].hex()}" in name]


def test_who_opens_keeps_it():
    memory = Handle.allocate(64)
    payload = Handle(memory).to_bytes()
    mine = array(Handle.open(payload), 8)
    array(memory, 8)[...] = 5
    del memory
    # This process has it still, by what it has opened, under another descriptor.
    with pytest.raises(OSError):
        Handle.open(payload)
    assert mine.tolist() == [5] * 8
    Handle.open(Handle(mine).to_bytes())


def test_a_handle_keeps_the_memory_until_it_is_closed():
    handle = Handle(Handle.allocate(64))
    payload = handle.to_bytes()
    Handle.open(payload)
    with handle:
        Handle.open(payload)
    assert handle.is_closed and "closed" in repr(handle)
    handle.close()
    with pytest.raises(OSError):
        Handle.open(payload)
    with pytest.raises(ValueError, match="closed"):
        handle.to_bytes()


def test_handles_are_pickled():
    memory = Handle.allocate(64)
    handle = pickle.loads(pickle.dumps(Handle(memory)))
    assert isinstance(handle, Handle)
    array(Handle.open(handle.to_bytes()), 8)[...] = 2
    assert array(memory, 8).tolist() == [2] * 8
    assert memory.tobytes()[:8].hex() not in repr(handle) and handle.to_bytes()[24:].hex() not in repr(handle)


def test_a_forked_child_has_the_memory():
    ours = array(Handle.allocate(800))
    child = os.fork()
    if child == 0:
        ours[...] = 4
        os._exit(0 if float(sw.sum(ours)) == 400 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert ours.tolist() == [4] * 100


def test_wrong_handles():
    payload = Handle(kept := Handle.allocate(64)).to_bytes()
    for wrong in (b"", payload[:-1], payload + b"0", b"x" + payload[1:], bytes(len(payload)), os.urandom(40)):
        with pytest.raises(ValueError, match="handle"):
            Handle.open(wrong)
    changed = [
        payload[:24] + bytes(16),  # another name
        payload[:16] + (128).to_bytes(8, "little") + payload[24:],  # another length
        payload[:12] + (0).to_bytes(4, "little") + payload[16:],  # another file
        payload[:8] + (1).to_bytes(4, "little") + payload[12:],  # another process
        payload[:8] + (2**31 - 1).to_bytes(4, "little") + payload[12:],  # none
    ]
    for wrong in changed:
        with pytest.raises(OSError, match="`handle`"):
            Handle.open(wrong)
    with pytest.raises(ValueError, match="`nbytes` is 65"):
        Handle.open(payload, nbytes=65)
    with pytest.raises(TypeError):
        Handle.open("text")
    assert Handle.open(payload, "host", 64).nbytes == kept.nbytes


def test_wrong_memory():
    for wrong in (sw.MemoryUSMShared(64), sw.ones(8), sw.MemoryUSMDevice(64)):
        with pytest.raises(ValueError, match="IPCMemoryHandle.allocate"):
            Handle(wrong)
    with pytest.raises(TypeError):
        Handle(b"bytes")
    for wrong in (0, -1):
        with pytest.raises(ValueError):
            Handle.allocate(wrong)
    with pytest.raises(MemoryError):
        Handle.allocate(1 << 46)
