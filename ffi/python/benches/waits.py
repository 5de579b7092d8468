"""How long what is in the way is waited for: from Ctrl-C to KeyboardInterrupt, for a sum beside work that goes on, and at the end of a
process. Each in a process of its own: `python benches/waits.py [--runs 5] [WORD …]`; words choose rows by their names.
"""

import argparse
import os
import signal
import statistics
import subprocess
import sys
import time

BEGIN = """
import os, pickle, signal, sys, tempfile, threading, time
import stridewise as sw
from stridewise.kernel_api import Range, call_kernel

signal.signal(signal.SIGINT, signal.default_int_handler)
endless = sw.kernel("def endless(item, a):\\n i = item.get_id(0)\\n while a[i] >= 0: a[i] = a[i] * 1")
long = sw.kernel("def long(item, a, n):\\n i = item.get_id(0)\\n for _ in range(n): a[i] = a[i] + 1")
rng = sw.random.default_rng(1)
"""

INTERRUPTED = """
def measured():
    {setup}
    print("ready", flush=True)
    try:
        {call}
        print("ended", flush=True)
    except KeyboardInterrupt:
        print(time.monotonic(), flush=True)
    os._exit(0)
measured()
"""

# What is interrupted: what is made before, and the call.
CALLS = {
    "launch of an endless kernel, one item, and its wait": ("a = sw.ones(1)", "endless.launch(Range(1), a).wait()"),
    "launch of an endless kernel, 100 000 items, and its wait": ("a = sw.ones(100_000)", "endless.launch(Range(100_000), a).wait()"),
    "call_kernel of an endless kernel, one item": ("a = sw.ones(1)", "call_kernel(endless, Range(1), a)"),
    "call_kernel of an endless kernel, 100 000 items": ("a = sw.ones(100_000)", "call_kernel(endless, Range(100_000), a)"),
    "repr of an endless kernel's result": ("a = sw.ones(100_000); endless.launch(Range(100_000), a)", "repr(a)"),
    "repr of a long kernel's result": ("a = sw.ones(100_000); long.launch(Range(100_000), a, 10_000_000)", "repr(a)"),
    "fft of 20 000 000 elements": ("x = sw.ones(20_000_000, dtype='complex64')", "[sw.fft.fft(x).wait() for _ in range(99)]"),
    "fft of 20 000 003 elements, a prime": ("x = sw.ones(20_000_003, dtype='complex64')", "sw.fft.fft(x).wait()"),
    "pickle of 800 MB": ("x = sw.ones(100_000_000)", "[pickle.dumps(x) for _ in range(99)]"),
    "polyval of 20 000 coefficients at 100 000 places": ("p, x = sw.ones(20_000), sw.ones(100_000)", "sw.polyval(p, x).wait()"),
    "svd of 30 000 matrices of 60 x 60": ("x = rng.normal(size=(30_000, 60, 60))", "sw.linalg.svd(x)"),
    "svd of 3000 x 3000": ("x = rng.normal(size=(3000, 3000))", "sw.linalg.svd(x)"),
    "load of a FIFO": ("name = os.path.join(tempfile.mkdtemp(), 'pipe'); os.mkfifo(name)", "sw.load(name)"),
    "sort of 100 000 000 elements": ("x = rng.random(100_000_000, dtype='float32'); x.wait()", "[sw.sort(x).wait() for _ in range(99)]"),
    "product of 4000 x 4000": ("x = rng.random((4000, 4000)); x.wait()", "[(x @ x).wait() for _ in range(99)]"),
}  # fmt: skip

BESIDE = """
x = sw.ones(1_000_000)
float(sw.sum(x))
{setup}
times = []
def beside():
    for _ in range(20):
        time.sleep(0.02)
        begin = time.monotonic()
        assert float(sw.sum(x)) == 1_000_000
        times.append(time.monotonic() - begin)
def work():
    {call}
threading.Thread(target=work, daemon=True).start()
time.sleep(0.3)
other = threading.Thread(target=beside)
other.start()
other.join()
print(*times, flush=True)
os._exit(0)
"""

# Beside what 8 MB are summed.
WORK = {
    "nothing": ("", "pass"),
    "a long kernel": ("a = sw.ones(100_000)", "call_kernel(long, Range(100_000), a, 10_000_000)"),
    "an endless kernel, one item": ("a = sw.ones(1)", "call_kernel(endless, Range(1), a)"),
    "an endless kernel, 100 000 items": ("a = sw.ones(100_000)", "call_kernel(endless, Range(100_000), a)"),
    "products of 4000 x 4000": ("a = rng.random((4000, 4000)); a.wait()", "[(a @ a).wait() for _ in range(99)]"),
}

END = """
a = sw.ones({items})
threading.Thread(target=lambda: call_kernel(endless, Range({items}), a), daemon=True).start()
time.sleep(0.3)
print(time.monotonic(), flush=True)
"""


def started(program):
    return subprocess.Popen([sys.executable, "-c", BEGIN + program], stdout=subprocess.PIPE, text=True)


def interrupted(setup, call):
    """Seconds from Ctrl-C to KeyboardInterrupt; None where the call has ended before."""
    child = started(INTERRUPTED.format(setup=setup, call=call))
    try:
        if child.stdout.readline() != "ready\n":
            raise RuntimeError(f"{call} has not begun")
        time.sleep(0.5)
        begin = time.monotonic()
        child.send_signal(signal.SIGINT)
        said = child.communicate(timeout=120)[0].strip()
    finally:
        child.kill()
    return None if said == "ended" else float(said) - begin


def beside(setup, call):
    """Seconds of twenty sums."""
    child = started(BESIDE.format(setup=setup, call=call))
    try:
        return [float(word) for word in child.communicate(timeout=120)[0].split()]
    finally:
        child.kill()


def end(items):
    """Seconds from the end of the program to that of its process."""
    child = started(END.format(items=items))
    try:
        begin = float(child.stdout.readline())
        child.wait(timeout=120)
        return time.monotonic() - begin
    finally:
        child.kill()


def row(name, seconds):
    known = [x for x in seconds if x is not None]
    over = "" if len(known) == len(seconds) else f", {len(seconds) - len(known)} over before"
    figures = f"{statistics.median(known):.3f} | {max(known):.3f}" if known else " | "
    print(f"| {name}{over} | {figures} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("words", nargs="*")
    given = parser.parse_args()
    print(f"{os.cpu_count()} processors, {given.runs} runs of each row, 20 sums of each row beside\n")
    print("| | median, s | worst, s |\n|---|---|---|")
    chosen = lambda name: not given.words or any(word in name for word in given.words)
    for name, (setup, call) in CALLS.items():
        if chosen(f"Ctrl-C: {name}"):
            row(f"Ctrl-C: {name}", [interrupted(setup, call) for _ in range(given.runs)])
    for name, (setup, call) in WORK.items():
        if chosen(f"a sum beside {name}"):
            row(f"a sum beside {name}", beside(setup, call))
    for items in (1, 100_000):
        if chosen(name := f"exit behind an endless kernel of {items} item{'s' * (items > 1)}"):
            row(name, [end(items) for _ in range(given.runs)])


if __name__ == "__main__":
    main()
