"""mpi4py on our arrays, in two processes: buffers go out and come in without copies, device memory is refused."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import stridewise as sw
from suites import client

client("mpi4py")

PROGRAM = """
from mpi4py import MPI
import numpy as np, stridewise as sw

world = MPI.COMM_WORLD
rank, other = world.rank, 1 - world.rank
assert world.size == 2
# What is recorded is there when it is sent.
x = sw.sqrt(sw.arange(100000, dtype="float64")) + rank
total = sw.empty_like(x)
world.Allreduce(x, total)
assert sw.allclose(total, 2 * sw.sqrt(sw.arange(100000, dtype="float64")) + 1)
for usm_type in ("shared", "host"):
    for dtype in ("float32", "int16", "complex128", "uint8"):
        mine, theirs = sw.full(1000, rank + 1, dtype=dtype, usm_type=usm_type), sw.empty(1000, dtype=dtype, usm_type=usm_type)
        world.Sendrecv(mine, other, recvbuf=theirs, source=other)
        assert bool(sw.all(theirs == other + 1)), dtype
# What is computed next sees what has come in.
grid = sw.zeros((4, 6))
grid[1:3] = rank + 1
world.Sendrecv(grid[2], other, recvbuf=grid[0], source=other)
assert (grid * 2)[0].tolist() == [2.0 * (other + 1)] * 6
gathered = sw.empty((2, 5)) if rank == 0 else None
world.Gather(sw.full(5, float(rank)), gathered)
assert rank or gathered.tolist() == [[0.0] * 5, [1.0] * 5]
# As objects, by pickles.
sent = world.bcast(sw.asarray([1, 2, 3]) if rank == 0 else None)
assert isinstance(sent, sw.usm_ndarray) and sent.tolist() == [1, 2, 3]
try:
    world.Allreduce(sw.ones(3, usm_type="device"), sw.empty(3))
except BufferError as refused:
    assert "device memory" in str(refused)
else:
    raise SystemExit("device memory was sent")
frozen = sw.ones(3)
frozen.flags.writable = False
try:
    world.Allreduce(sw.ones(3), frozen)
except (BufferError, ValueError) as refused:
    assert "read-only" in str(refused) or "writ" in str(refused)
else:
    raise SystemExit("read-only memory was written")
# One process writes: the texts of two would be mixed.
came = world.gather(rank)
if rank == 0:
    print("right", came)
"""


def test_two_processes(tmp_path):
    # Of this environment, or the system's.
    launcher = next(filter(None, (shutil.which("mpiexec", path=str(Path(sys.executable).parent)), shutil.which("mpiexec"))), None)
    assert launcher, "there is no mpiexec; expected the one of the package mpich"
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run([launcher, "-n", "2", sys.executable, tmp_path / "program.py"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "right [0, 1]\n"
