"""`python -m stridewise bench`: how quick this machine is, beside what its memory gives.

Each row is one computation on arrays of a device, repeated for a moment; the best time counts. The limit of the processor's memory is
measured without this package, by plain copies of the C library's in as many threads as there are cores; that of another device by its
own copies. A computation cannot be quicker than its bytes take at that limit, unless they lie in a cache.
"""

import ctypes
import json
import os
import platform
import sys
import threading
import time

import stridewise as sw

#: Bytes of a large array, at most; a device with little memory has smaller ones.
_LARGE = 256 << 20
#: How long a row is repeated, in seconds.
_SECONDS = 0.3


def _best(run, seconds):
    """The shortest time of a call, of those that fit in a while; three at least, the first one not counted."""
    run()
    best, calls, end = float("inf"), 0, time.perf_counter() + seconds
    while calls < 3 or time.perf_counter() < end:
        begin = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - begin)
        calls += 1
    return best


def _copies(bytes, threads, seconds):
    """Bytes that plain copies read and write in a second, in so many threads."""
    part = bytes // threads
    pairs = [(ctypes.create_string_buffer(part), ctypes.create_string_buffer(part)) for _ in range(threads)]

    def run():
        # `memmove` gives the interpreter's lock up.
        workers = [threading.Thread(target=ctypes.memmove, args=(to, of, part)) for to, of in pairs[1:]]
        for worker in workers:
            worker.start()
        ctypes.memmove(*pairs[0], part)
        for worker in workers:
            worker.join()

    return 2 * part * threads / _best(run, seconds)


def _rows(device, large, seconds):
    """The rows of a device: a name, what is called, the bytes that it moves or 0, the operations that it is or 0, and a check."""
    n = large // 4
    queue = device.queue
    x = sw.linspace(0.5, 1.5, n, dtype="float32", sycl_queue=queue)
    y = sw.linspace(1.5, 0.5, n, dtype="float32", sycl_queue=queue)
    out = sw.zeros(n, dtype="float32", sycl_queue=queue)
    side = 1024 if large >= 16 << 20 else 64
    a = sw.reshape(x[: side * side], (side, side)) / side
    short = sw.linspace(0, 1, 16, dtype="float32", sycl_queue=queue)
    some = sw.asarray(sw.sin(x[: max(n // 16, 1)] * 1e5), copy=True)
    for array in (x, y, out, a, short, some):
        array.wait()

    def into(make):
        def run():
            make()
            out.wait()

        return run

    def value(make):
        return lambda: make().wait()

    last = n - 1
    # Of so many numbers some in the middle are equal.
    equal = 2 + n * 4e-7
    return [
        ("copy", into(lambda: sw.positive(x, out=out)), 8 * n, 0, lambda: float(out[last]) == float(x[last])),
        ("fill", into(lambda: out.__setitem__(..., 3)), 4 * n, 0, lambda: float(out[last]) == 3),
        ("x + y", into(lambda: sw.add(x, y, out=out)), 12 * n, n, lambda: abs(float(out[last]) - 2) < 1e-5),
        ("sqrt(x*x + y*y)", into(lambda: sw.sqrt(x * x + y * y, out=out)), 12 * n, 4 * n, lambda: 1 < float(out[last]) < 2),
        ("exp(x)", into(lambda: sw.exp(x, out=out)), 8 * n, n, lambda: abs(float(out[last]) - 4.481689) < 1e-3),
        ("sum(x)", value(lambda: sw.sum(x)), 4 * n, n, lambda: abs(float(sw.mean(x)) - 1) < 1e-2),
        ("sum of rows", value(lambda: sw.sum(a, axis=1)), 4 * side * side, side * side, lambda: sw.sum(a, axis=1).shape == (side,)),
        ("running sum", value(lambda: sw.cumulative_sum(x)), 8 * n, n, lambda: sw.cumulative_sum(x).shape == (n,)),
        ("x < y, counted", value(lambda: sw.count_nonzero(x < y)), 8 * n, n, lambda: abs(int(sw.count_nonzero(x < y)) * 2 - n) <= equal),
        ("matrix product", value(lambda: sw.matmul(a, a)), 0, 2 * side**3, lambda: sw.matmul(a, a).shape == (side, side)),
        ("sort", value(lambda: sw.sort(some)), 0, 0, lambda: bool(sw.all(sw.diff(sw.sort(some)) >= 0))),
        ("16 elements added", value(lambda: short + short), 0, 0, lambda: (short + short).shape == (16,)),
    ]


def _measured(name, device, large, seconds, limit):
    """The rows of a device with their times, and the limit of its memory."""
    rows = []
    for what, run, moved, operations, right in _rows(device, large, seconds):
        took = _best(run, seconds)
        if not right():
            raise RuntimeError(f"{what} on {name}: the result is wrong; help: report it")
        row = {"device": name, "row": what, "seconds": took}
        if moved:
            row |= {"bytes": moved, "gb_per_s": moved / took / 1e9}
        if operations:
            row |= {"operations": operations, "gop_per_s": operations / took / 1e9}
        rows.append(row)
    if limit is None:
        # Of memory that plain copies do not reach.
        limit = rows[0]["gb_per_s"]
    for row in rows:
        if "gb_per_s" in row:
            row["share_of_limit"] = row["gb_per_s"] / limit
    return rows, limit


def _time(seconds):
    for unit, name in ((1, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= unit:
            return f"{seconds / unit:.2f} {name}"
    return f"{seconds * 1e9:.0f} ns"


def _print(name, text, limit, rows):
    print(f"\n{name}: {text}; memory {limit:.1f} GB/s")
    for row in rows:
        rate = f"{row['gb_per_s']:8.1f} GB/s {row['share_of_limit']:6.0%}" if "gb_per_s" in row else ""
        operations = f"{row['gop_per_s']:9.2f} Gop/s" if "gop_per_s" in row else ""
        print(f"  {row['row']:<18} {_time(row['seconds']):>10}  {rate:<22}{operations}".rstrip(), flush=True)


def main(filter, file, seconds):
    """Measures and prints; returns the exit status."""
    given = seconds is not None
    seconds = seconds if given else _SECONDS
    try:
        devices = [sw.Device(filter)] if filter is not None else sw.get_devices()
    except sw.DeviceSelectionError as error:
        print(error, file=sys.stderr)
        return 1
    begin = time.perf_counter()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    all_rows, limits = [], {}
    # Where rows take next to no time, arrays are small, too: for who looks whether all is there.
    most = _LARGE if seconds >= 0.05 else 1 << 20
    print(f"stridewise {sw.__version__}, {platform.machine()}, {cores} cores; the share is of what the memory gives")
    parts = []
    for device in devices:
        large = min(most, device.max_mem_alloc_size // 8, device.global_mem_size // 16)
        if device.is_cpu and device.backend == "host":
            one = device if device.max_compute_units == 1 else device.create_sub_devices(1)[0]
            parts.append((f"{device.filter_string}, one core", one, large, _copies(large, 1, seconds) / 1e9))
            if device.max_compute_units > 1:
                parts.append((device.filter_string, device, large, _copies(large, min(cores, device.max_compute_units), seconds) / 1e9))
        else:
            parts.append((device.filter_string, device, large, None))
    for name, device, large, limit in parts:
        rows, limit = _measured(name, device, large, seconds, limit)
        _print(name, device.name, limit, rows)
        all_rows += rows
        limits[name] = limit
    print(f"\nmeasured in {time.perf_counter() - begin:.0f} s")
    if file is not None:
        described = {
            "version": sw.__version__,
            "machine": platform.machine(),
            "system": platform.system(),
            "cores": cores,
            "devices": {device.filter_string: device.name for device in devices},
            "limits_gb_per_s": limits,
            "rows": all_rows,
        }
        try:
            with open(file, "w", encoding="utf-8") as out:
                json.dump(described, out, indent=1)
                out.write("\n")
        except OSError as error:
            print(f"`--json` is {file!r}: {error.strerror}; help: name a file in a folder that can be written", file=sys.stderr)
            return 1
    return 0
