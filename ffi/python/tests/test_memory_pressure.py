"""Without memory, every operation ends with its result or a MemoryError: the process neither aborts nor panics."""

import os
import subprocess
import sys

import pytest

resource = pytest.importorskip("resource", reason="this system limits no memory")

# What an operation takes and what it is; but for functions of any number of arguments, whose tuple is made by the binding library,
# which panics where there is no memory for it (a PanicException, of 65 536 arrays only); and for products, whose kernels are of a library that allocates scratch memory of a
# fixed size for every thread that comes to one first, and asks nobody. The sizes are such that everything of them that grows with the data is more than
# the least room, and less than the largest.
PROGRAM = """
import copy, os, pickle, resource, sys
import numpy as np
import stridewise as sw

rows = sw.reshape(sw.arange(1 << 20, dtype="float64"), (1 << 10, 1 << 10))
x = sw.reshape(rows, (-1,))
kinds = {{kind: sw.asarray(x, usm_type=kind, copy=True) for kind in ("device", "shared", "host")}}
integers = sw.astype(x, "int64")
numbers = [float(i) for i in range(1 << 20)]
places = list(range(1 << 20))
many = [x[i:i + 2] for i in range(1 << 16)]
small = sw.arange(8.0)
memory = sw.MemoryUSMShared(8 << 20)
memory.memset(1)
buffer = bytearray(8 << 20)

def call(code):
    result = eval(code)
    for array in result if isinstance(result, tuple) and len(result) < 10 else [result]:
        if isinstance(array, sw.usm_ndarray):
            array.wait()
    return result

def room():
    with open("/proc/self/statm") as sizes:
        return int(sizes.read().split()[0]) * resource.getpagesize()

limits = resource.getrlimit(resource.RLIMIT_AS)

def outcomes(code):
    # With its room, once: threads are started, modules imported.
    expected = call(code)
    del expected
    found = []
    for megabytes in (1, 3, 8, 20, 50, 130, 330, 1024):
        for device in sw.get_devices("host"):
            device.trim_pool()
        resource.setrlimit(resource.RLIMIT_AS, (room() + (megabytes << 20), limits[1]))
        try:
            result = call(code)
            outcome = "done"
        except MemoryError as error:
            outcome = "MemoryError"
            del error
        finally:
            resource.setrlimit(resource.RLIMIT_AS, limits)
        result = None
        found.append(outcome)
    assert found[-1] == "done", found
    return sorted(set(found))

for name, (setup, code) in {operations}.items():
    print(name, end=": ", flush=True)
    exec(setup)
    print(*outcomes(code), flush=True)
    z = None
"""

OPERATIONS = {
    "tolist": ("", "x.tolist()"),
    "tolist, nested": ("", "rows.tolist()"),
    "tolist of integers": ("", "integers.tolist()"),
    "tolist of complex numbers": ("z = sw.astype(x, 'complex128')", "z.tolist()"),
    "tolist of truth values": ("z = x > 5", "z.tolist()"),
    "tolist of many lists": ("z = sw.reshape(x, (-1, 1))", "z.tolist()"),
    "asnumpy, device": ("", "sw.asnumpy(kinds['device'])"),
    "asnumpy, host": ("", "sw.asnumpy(kinds['host'])"),
    "asnumpy of a view": ("", "sw.asnumpy(rows.T)"),
    "numpy.asarray": ("", "np.asarray(x)"),
    "numpy.asarray with a dtype": ("", "np.asarray(x, dtype='float32')"),
    "asarray(list)": ("", "sw.asarray(numbers)"),
    "asarray(list) with a dtype": ("", "sw.asarray(places, dtype='int32')"),
    "asarray(tuple)": ("z = tuple(numbers)", "sw.asarray(z)"),
    "asarray(nested lists)": ("z = rows.tolist()", "sw.asarray(z)"),
    "asarray(range)": ("", "sw.asarray(range(1 << 20))"),
    # What it is of is one block of memory: many small ones that are free again would be room for what comes next.
    "asarray(sequence)": ("import collections\nz = collections.UserList(numbers)", "sw.asarray(z)"),
    "asarray(list of arrays)": ("", "sw.asarray(many)"),
    "asarray(numpy)": ("z = np.ones(1 << 21)", "sw.asarray(z, copy=True)"),
    "from_numpy": ("z = np.ones(1 << 21)", "sw.from_numpy(z)"),
    "pickle.dumps": ("", "pickle.dumps(x)"),
    "pickle.loads": ("z = pickle.dumps(x)", "pickle.loads(z)"),
    "copy": ("", "copy.deepcopy(x)"),
    "pickle.dumps of memory": ("", "pickle.dumps(memory)"),
    "pickle.loads of memory": ("z = pickle.dumps(memory)", "pickle.loads(z)"),
    "copy of memory": ("", "copy.copy(memory)"),
    "tobytes": ("", "memory.tobytes()"),
    "bytes(memory)": ("", "bytes(memory)"),
    "copy_to_host": ("", "memory.copy_to_host()"),
    "copy_to_host(buffer)": ("", "memory.copy_to_host(buffer)"),
    "copy_to_host(its own buffer)": ("z = memoryview(memory)", "memory.copy_to_host(z)"),
    "copy_from_host(its own buffer)": ("z = memoryview(memory)", "memory.copy_from_host(z)"),
    "memory of a buffer": ("", "sw.MemoryUSMDevice(buffer, copy=True)"),
    "memory": ("", "sw.MemoryUSMDevice(8 << 20)"),
    "memcpy": ("q = sw.Queue(); z = sw.MemoryUSMDevice(8 << 20, queue=q)", "q.memcpy(z, buffer)"),
    "from_dlpack, copied": ("z = np.ones(1 << 20)", "sw.from_dlpack(z, copy=True)"),
    "__dlpack__, copied": ("", "x.__dlpack__(dl_device=(1, 0), copy=True)"),
    "numpy.from_dlpack": ("", "np.from_dlpack(kinds['shared'])"),
    "to_device": ("q = sw.Queue('host:scalar')", "x.to_device(q)"),
    "repr": ("", "repr(rows)"),
    "repr of many dimensions": ("z = sw.reshape(x, (2,) * 20)", "repr(z)"),
    "x[list]": ("", "x[places]"),
    "x[list] = list": ("z = sw.zeros(1 << 20)", "z.__setitem__(places, numbers)"),
    "x[...] = list": ("z = sw.zeros(1 << 20)", "z.__setitem__(Ellipsis, numbers)"),
    "x[mask]": ("z = x > 7", "x[z]"),
    "take": ("", "sw.take(x, sw.asarray(places))"),
    "unstack": ("z = sw.reshape(x, (1 << 16, -1))", "sw.unstack(z)"),
    "iteration": ("z = sw.reshape(x, (1 << 16, -1))", "list(z)"),
    "concat": ("", "sw.concat(many)"),
    "stack": ("", "sw.stack(many)"),
    "meshgrid": ("z = sw.arange(1024.0)", "sw.meshgrid(z, z)"),
    "nonzero": ("", "sw.nonzero(rows)"),
    "repeat by a list": ("z = [1] * (1 << 20)", "sw.repeat(x, z)"),
    "tile": ("", "sw.tile(x, (3,))"),
    "roll": ("", "sw.roll(rows, 5)"),
    "sort": ("", "sw.sort(x)"),
    "argsort": ("", "sw.argsort(x)"),
    "sort of columns": ("", "sw.sort(rows, axis=0)"),
    "top_k": ("", "sw.top_k(x, 1 << 19)"),
    "unique_all": ("", "sw.unique_all(x)"),
    "unique_values": ("", "sw.unique_values(integers)"),
    "searchsorted": ("", "sw.searchsorted(x, x)"),
    "isin": ("", "sw.isin(integers, integers)"),
    "cumulative_sum": ("", "sw.cumulative_sum(x)"),
    "sums": ("z = sw.reshape(x, (2, -1))", "sw.sum(z, axis=0)"),
    "std": ("", "sw.std(rows, axis=1)"),
    "a chain": ("", "sw.sqrt(x * x + 1.0) - x"),
    "in place": ("z = sw.zeros(1 << 20)", "z.__iadd__(x)"),
    "outer": ("z = sw.arange(1024.0)", "sw.linalg.outer(z, z)"),
    "where": ("", "sw.where(x > 3, x, -x)"),
    "astype": ("", "sw.astype(x, 'complex128')"),
    "linspace": ("", "sw.linspace(0, 1, 1 << 20)"),
    "eye": ("", "sw.eye(1024)"),
    "tril": ("", "sw.tril(rows)"),
    "diff": ("", "sw.diff(x)"),
    "fft": ("", "sw.fft.fft(x)"),
    "fft of a prime number of points": ("", "sw.fft.fft(x[:1048573])"),
    "fft of columns": ("", "sw.fft.fft(rows, axis=0)"),
    "ifft": ("", "sw.fft.ifft(x)"),
    "rfft": ("", "sw.fft.rfft(x)"),
    "fftn": ("", "sw.fft.fftn(rows)"),
    "fft with zeros": ("", "sw.fft.fft(small, n=1 << 20)"),
}

# Those that do with the least room.
LIGHT = {
    "copy_to_host(buffer)", "memcpy", "numpy.from_dlpack", "numpy.asarray", "repr", "to_device", "meshgrid", "std", "in place",
}  # fmt: skip
# What is freed goes back to the system at once, and no thread has an arena of its own, 64 MiB of reserved addresses that the
# limit does not count again: else the least room suffices for whatever fits into what the process has kept.
MALLOC = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "131072", "MALLOC_TRIM_THRESHOLD_": "131072"}


def run(program):
    environment = os.environ | MALLOC
    return subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=300)


# Several in a process, which takes a while to begin.
PARTS = 12


@pytest.mark.parametrize("part", range(PARTS))
def test_operations(part):
    names = list(OPERATIONS)[part::PARTS]
    done = run(PROGRAM.format(operations={name: OPERATIONS[name] for name in names}))
    assert done.returncode == 0, f"status {done.returncode}\n{done.stdout}\n{done.stderr[-2000:]}"
    # Else nothing is tested.
    expected = [f"{name}: {'done' if name in LIGHT else 'MemoryError done'}" for name in names]
    assert done.stdout.splitlines() == expected


# What is no argument, but large: it is not repeated as a whole in what is said about it.
WRONG = {
    "shape": "sw.zeros(text)",
    "dtype": "sw.zeros(3, dtype=text)",
    "dtype, a list": "sw.zeros(3, dtype=numbers)",
    "queue": "sw.zeros(3, queue=numbers)",
    "device": "sw.zeros(3, device=numbers)",
    "properties": "sw.Queue('host', numbers)",
    "memory": "sw.MemoryUSMDevice(text)",
    "events": "sw.Event.wait_for([numbers])",
    "advice": "queue.mem_advise(memory, 0, numbers)",
    "a value": "queue.fill(memory, text)",
    "axes": "sw.tensordot(x, x, axes=numbers)",
    "a pointer": "sw.as_usm_memory(text)",
    "subscripts": "sw.einsum(text, x)",
    "subscripts, of a term": "sw.einsum('i' * len(text), x)",
    "subscripts, of the result": "sw.einsum('ij->' + 'i' * len(text), x)",
    "subscripts, terms": "sw.einsum(',' * len(text), x)",
    "subscripts of extents that differ": "sw.einsum('ij,ij->' + ' ' * len(text), x, sw.zeros((2, 3)))",
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_said_is_short(name):
    done = run(f"""
import stridewise as sw
numbers, text = [1.5] * (1 << 20), "x" * (1 << 20)
queue, memory, x = sw.Queue(), sw.MemoryUSMShared(64), sw.zeros((2, 2))
try:
    {WRONG[name]}
except (TypeError, ValueError) as error:
    print(type(error).__name__, len(str(error)))
""")
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout.split()[1]) < 5000, done.stdout


# A program that gives an operation more and more room, and prints how it ended.
ENDINGS = """
import resource
import stridewise as sw
from stridewise.kernel_api import Range, call_kernel

{setup}

def operation():
    {code}

found = []
limits = resource.getrlimit(resource.RLIMIT_AS)
for megabytes in (1, 3, 8, 12, 20, 30, 50, 120, 400, 1024):
    with open("/proc/self/statm") as sizes:
        taken = int(sizes.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + (megabytes << 20), limits[1]))
    try:
        operation()
        found.append("done")
    except Exception as error:
        found.append(type(error).__name__)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
print(" ".join(found))
"""


# A kernel that takes elements of an array of 10^6, which is no argument.
CAPTURED = """
import numpy as np
# Starts the threads, which need memory, too.
sum(sw.ones(1 << 20) + 1 for _ in range(2)).wait()
table, x = np.arange(10**6).astype("{dtype}"), sw.zeros(9)
text = "def taking(item, a):\\n i = item.get_id(0)\\n a[i] = table[i * 3]"
call_kernel(sw.kernel("def other(item, a): a[item.get_id(0)] = 1"), Range(9), x)
"""


@pytest.mark.parametrize(
    ("setup", "code", "end"),
    [
        ("text, x = 'i' * 10**7, sw.ones((2, 2))", "sw.einsum(text, x)", "ValueError"),
        ("text, x = 'ij->' + 'i' * 10**7, sw.ones((2, 2))", "sw.einsum(text, x)", "ValueError"),
        ("text, x = ',' * 10**7, sw.ones((2, 2))", "sw.einsum(text, x)", "ValueError"),
        ("text, x = ' i' * 10**7, sw.ones((2, 2))", "sw.einsum(text, x)", "ValueError"),
        (CAPTURED.format(dtype="float64"), "call_kernel(sw.kernel(text), Range(9), x)", "done"),
        (CAPTURED.format(dtype="int8"), "sw.kernel(text).launch(Range(9), x, check=True).wait()", "done"),
    ],
)
def test_how_it_ends(setup, code, end):
    done = run(ENDINGS.format(setup=setup, code=code))
    assert done.returncode == 0, f"status {done.returncode}\n{done.stderr[-2000:]}"
    found = done.stdout.split()
    assert found[-1] == end and set(found) <= {end, "MemoryError"}, found


@pytest.mark.parametrize(
    "code",
    [
        "sw.Queue('host', Liar())",
        "sw.Device('host').create_sub_devices(Liar())",
        "sw.select_device_with_aspects(Liar())",
        "sw.concat(Liar())",
        "sw.zeros(Liar())",
        "sw.asarray(Liar())",
        "sw.sum(sw.zeros(3), axis=Liar())",
        "sw.zeros(3)[[Liar()]]",
        "sw.Event.wait_for(Liar())",
    ],
)
def test_a_length_is_not_believed(code):
    done = run(f"""
import collections.abc
import stridewise as sw

class Liar(collections.abc.Sequence):
    def __len__(self):
        return (1 << 62)
    def __length_hint__(self):
        return (1 << 62)
    def __getitem__(self, key):
        if key == 3:
            raise IndexError
        return 1

try:
    {code}
except Exception as error:
    print(type(error).__name__)
""")
    assert done.returncode == 0 and "Panic" not in done.stdout, f"{done.stdout}\n{done.stderr[-2000:]}"


def test_a_convolution_keeps_so_many_sums_at_a_time():
    done = run("""
import resource
import stridewise as sw

x, y = sw.ones(1 << 16), sw.ones(1 << 15)
sw.convolve(x, y[:4]).wait()
with open("/proc/self/statm") as sizes:
    room = int(sizes.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (room + (110 << 20), resource.RLIM_INFINITY))
print(float(sw.max(sw.convolve(x, y))))
""")
    assert done.stdout.split() == ["32768.0"], done.stderr[-2000:]
