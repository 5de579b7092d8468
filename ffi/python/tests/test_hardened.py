"""Hardened, small and old systems: a process that is refused system calls, files, memory or processors, or that runs on an old
processor, computes right all the same, and the doctor says what it has to do without."""

import os
import platform
import re
import shutil
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the restrictions are Linux's")

# What a process takes from itself before it imports the module.
RESTRICTIONS = r"""
import ctypes, errno, os, platform, resource, struct

libc = ctypes.CDLL(None, use_errno=True)


def must(outcome):
    if outcome != 0:
        print("not here:", os.strerror(ctypes.get_errno()))
        os._exit(77)


def filter_calls(*rules):
    # Each rule: the number of a system call, and which bits of which arguments it takes to refuse it.
    load, equal, has, give = 0x20, 0x15, 0x45, 0x06
    refused, allowed = 0x00050000 | errno.EPERM, 0x7FFF0000
    steps = []
    for number, bits in rules:
        rest = 1 + 2 * len(bits)
        steps += [(load, 0, 0, 0), (equal, 0, rest, number)]
        for argument, bit in bits:
            rest -= 2
            steps += [(load, 0, 0, 16 + 8 * argument), (has, 0, rest, bit)]
        steps += [(give, 0, 0, refused)]
    steps += [(give, 0, 0, allowed)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code)))
    must(libc.prctl(38, 1, 0, 0, 0))
    must(libc.prctl(22, 2, ctypes.byref(program), 0, 0))


def numbers(*of_x86, **of_others):
    return dict(x86_64=of_x86, **of_others)[platform.machine()]


def calls():
    # sched_setaffinity, perf_event_open, userfaultfd, memfd_create
    filter_calls(*((number, ()) for number in numbers(203, 298, 323, 319, aarch64=(122, 241, 282, 279))))


def executable_memory():
    # mprotect of anything to be executable, and such mappings of no file.
    protect, map_ = numbers(10, 9, aarch64=(226, 222))
    filter_calls((protect, [(2, 4)]), (map_, [(2, 4), (3, 0x20)]))


def mounts():
    must(libc.unshare(0x00020000))
    must(libc.mount(b"none", b"/", None, ctypes.c_ulong(0x44000), None))


def system_files():
    mounts()
    for path in (b"/sys", b"/proc"):
        must(libc.mount(b"none", path, b"tmpfs", ctypes.c_ulong(0), None))


def writing():
    mounts()
    os.chdir("/")
    must(libc.mount(None, b"/", None, ctypes.c_ulong(0x1021), None))
    try:
        open("/tmp/written", "w")
    except OSError:
        return
    # Another file system than the root's.
    must(libc.mount(b"none", b"/tmp", b"tmpfs", ctypes.c_ulong(1), None))


def memory():
    resource.setrlimit(resource.RLIMIT_DATA, (256 << 20, 256 << 20))


def processors():
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
"""

PROGRAM = r'''
import stridewise as sw
from stridewise.kernel_api import Range, call_kernel

x = sw.arange(100_003, dtype="float64")
chain = x
for _ in range(6):
    chain = chain * 0.5 + x
expected = 0.0
factor = 1.0
for _ in range(6):
    factor = factor * 0.5 + 1.0
assert abs(float(sw.sum(chain)) / (factor * 100_003 * 100_002 / 2) - 1) < 1e-12
y = sw.asarray([3, 1, 2, -5, 7] * 20_000, dtype="int32")
assert sw.sort(y)[:20_001].tolist() == [-5] * 20_000 + [1]
assert y[y > 2].shape == (40_000,) and int(sw.cumulative_sum(y)[-1]) == 160_000
a = sw.reshape(sw.arange(10_000, dtype="float32"), (100, 100)) % 7
assert sw.all(a @ sw.eye(100, dtype="float32") == a)
assert float(sw.linalg.solve(sw.eye(4) * 2, sw.ones(4))[0]) == 0.5


doubled = sw.kernel("""
def doubled(item, a, out):
    i = item.get_id(0)
    out[i] = a[i] * 2
""")
out = sw.zeros(100_003)
call_kernel(doubled, Range(100_003), x, out)
assert sw.all(out == x * 2)
from stridewise.__main__ import main
import sys
sys.argv = ["stridewise", "doctor"]
try:
    main()
except SystemExit:
    pass
print("computed right")
'''


def run(restriction, program=PROGRAM, emulator=(), **variables):
    """What a process prints that has taken this from itself, or runs on a processor that is emulated."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("STRIDEWISE_")}
    environment |= {"PYTHONDONTWRITEBYTECODE": "1"} | variables
    environment = {name: value for name, value in environment.items() if value is not None}
    text = f"{RESTRICTIONS}\n{restriction}()\n{program}" if restriction else program
    done = subprocess.run(
        [*emulator, sys.executable, "-c", text], capture_output=True, text=True, timeout=600, env=environment
    )  # fmt: skip
    if done.returncode == 77:
        pytest.skip(f"this system does not let a process take {restriction} from itself: {done.stdout}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "computed right" in done.stdout
    return done.stdout


def test_refused_system_calls():
    assert "refuses to bind threads" in run("calls")


def test_no_executable_memory():
    assert "interpreted" in run("executable_memory")


def test_no_system_files():
    # PoCL, where the machine has it, ends a process that has neither; the doctor would ask it.
    text = run("system_files", OCL_ICD_VENDORS="/none")
    assert "no /proc and /sys" in text


def test_nothing_can_be_written():
    run("writing")


def test_no_home():
    run(None, HOME=None, XDG_CACHE_HOME=None)


def test_little_memory():
    assert "up to 256 MiB for everything" in run("memory")


def test_one_processor():
    text = run("processors")
    assert re.search(r"1 of \d+ processors", text)


@pytest.mark.parametrize("threads", ["1", "64", "1024"])
def test_numbers_of_threads(threads):
    text = run(None, STRIDEWISE_NUM_THREADS=threads)
    assert f"{threads} worker threads" in text


PROCESSORS = {"core2duo": "scalar", "Nehalem": "scalar", "Haswell": "avx2", "EPYC-Rome": "avx2", "Skylake-Server": "avx2"}
EMULATED = platform.machine() == "x86_64" and shutil.which("qemu-x86_64")


@pytest.mark.skipif(not EMULATED, reason="needs qemu-x86_64 (Debian: qemu-user)")
@pytest.mark.parametrize(("processor", "level"), PROCESSORS.items())
def test_older_processors(processor, level):
    # QEMU warns of what it does not emulate, AVX-512 among that.
    text = run(None, emulator=["qemu-x86_64", "-cpu", processor])
    assert re.search(rf"instructions +{level}\b", text)
