"""The campaign without memory: every function, method and class of the namespace, with little and with much in each argument, is called
where the process may have only so much more memory. Each call is what it is with memory, or a MemoryError; nothing ends the process.

The functions are those that the modules have, and their arguments are found by trying, so that a new function is called without being named
here. All of it, some minutes: `python memory_campaign.py`; words leave the functions that have one of them in their names. Tests run a
sample.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading

#: More memory that a call may have: too little for anything that grows with the data, enough for some of it, for most.
ROOMS = (1 << 20, 5 << 20, 12 << 20, 60 << 20)
#: Seconds that a call has with all memory there is; what takes longer is left out, and counted.
PATIENCE = 1.5
#: Seconds that all calls of a function may take. A call that no signal ends is found by it.
HANGS = 300

#: What is freed goes back to the system at once, and no thread has an arena of its own, whose addresses the limit does not count again:
#: else the least room suffices for whatever fits into what the process has kept.
MALLOC = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "131072", "MALLOC_TRIM_THRESHOLD_": "131072"}

#: Files and processes, what changes the whole process, and waits for others.
LEFT = {"save", "load", "memmap", "genfromtxt", "loadtxt", "savetxt", "savez", "savez_compressed", "fromfile", "set_num_threads", "set_memory_limit", "IPCMemoryHandle", "dump", "tofile", "host_task", "submit_host_task"}  # fmt: skip


def holders():
    """What the functions are of, by names: makers, as a method may change what it is of."""
    import stridewise as sw

    return {
        "stridewise": lambda: sw,
        "linalg": lambda: sw.linalg,
        "fft": lambda: sw.fft,
        "random": lambda: sw.random,
        "special": lambda: sw.special,
        "Generator": lambda: sw.random.default_rng(3),
        "usm_ndarray": lambda: sw.reshape(sw.arange(1 << 20, dtype="float64"), (1024, 1024)),
        "Queue": lambda: sw.Queue(),
        "Device": lambda: sw.Device("host"),
        "MemoryUSMShared": lambda: sw.MemoryUSMShared(8 << 20),
    }


def kinds():
    """What arguments may be: little of it, and much."""
    import stridewise as sw

    def pair(make, little, much):
        return lambda: make(little), lambda: make(much)

    return [
        pair(lambda n: sw.arange(n, dtype="float64") + 1, 6, 1 << 20),
        pair(lambda n: sw.eye(n) * 2 + 0.5, 3, 400),
        pair(lambda n: sw.arange(n), 4, 1 << 20),
        pair(lambda n: [sw.arange(3.0)] * n, 2, 1 << 14),
        pair(lambda n: n, 3, 1 << 17),
        pair(lambda n: "float32" * n, 1, 1 << 18),
        pair(lambda n: sw.arange(n) % 2 == 0, 3, 1 << 23),
        pair(lambda n: (0, 1) * n, 1, 1 << 16),
        pair(lambda n: "ij->ji" * n, 1, 1 << 18),
        pair(lambda n: [1.5, 0.5] * n, 1, 1 << 17),
        pair(bytes, 8, 8 << 20),
    ]


class Late(BaseException):
    """It takes too long."""


def late(*_):
    raise Late


def within(seconds, call):
    """What becomes of a call: "done", or the class of its exception; or that it takes too long."""
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            call()
            return "done"
        except Exception as error:
            return type(error).__name__
        except BaseException as error:
            if isinstance(error, Late):
                raise
            # A panic of the engine is none of Python's exceptions.
            return type(error).__name__
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except Late:
        return "late"


def room():
    import resource

    with open("/proc/self/statm") as sizes:
        return int(sizes.read().split()[0]) * resource.getpagesize()


def tried(holder, name):
    """The outcomes of a function that are wrong, and how many calls were limited, and refused."""
    import resource

    import namespace_calls
    import stridewise as sw

    def get():
        return getattr(holder(), name)

    found = kinds()
    count = len(namespace_calls.needed(get()))
    little = [pair[0] for pair in found]
    accepted = []

    def look():
        accepted.extend(namespace_calls.accepted(get, little, count, most=2))

    within(4 * PATIENCE, look)
    wrong, limited, refused, left = [], 0, 0, 0
    for makers in accepted or [(little[0],) * count]:
        pairs = [found[little.index(make)] for make in makers]
        # All large, and each one by itself.
        sizes = {(1,) * count} | {tuple(int(i == j) for i in range(count)) for j in range(count)}
        for size in sorted(sizes, reverse=True):

            def call(pairs=pairs, size=size):
                return namespace_calls.finish(get()(*[pair[much]() for pair, much in zip(pairs, size)]))

            usual = within(PATIENCE, call)
            if usual == "late":
                left += 1
                continue
            for more in ROOMS:
                arguments = []

                def make(arguments=arguments, pairs=pairs, size=size):
                    arguments += [get(), *[pair[much]() for pair, much in zip(pairs, size)]]

                if within(PATIENCE, make) != "done":
                    continue
                for device in sw.get_devices("host"):
                    device.trim()
                limits = resource.getrlimit(resource.RLIMIT_AS)
                resource.setrlimit(resource.RLIMIT_AS, (room() + more, limits[1]))
                try:
                    function, *given = arguments
                    outcome = within(4 * PATIENCE, lambda: namespace_calls.finish(function(*given)))
                finally:
                    resource.setrlimit(resource.RLIMIT_AS, limits)
                limited += 1
                refused += outcome == "MemoryError"
                if outcome not in (usual, "MemoryError", "late"):
                    wrong.append(f"{usual} with memory, {outcome} with {more} bytes more, of sizes {size}")
    return wrong, limited, refused, left


def child(names):
    """Tries functions one after the other, and says what came of each; which one, before."""
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    signal.signal(signal.SIGALRM, late)
    makers = holders()
    for name in names:
        print(json.dumps({"begins": name}), flush=True)
        holder, _, function = name.partition(".")
        try:
            found = tried(makers[holder], function)
        except MemoryError:
            # What the campaign itself has no memory for says nothing.
            found = ([], 0, 0, 1)
        print(json.dumps({"ends": name, "found": found}), flush=True)
    # Its end is not what is tried.
    os._exit(0)


def names():
    """All functions, each with what it is of."""
    from namespace_calls import public

    return [f"{holder}.{name}" for holder, make in holders().items() for name in public(make(), LEFT)]


def lines(process):
    """What a process says, until it says nothing for too long; then it is ended."""
    for line in iter(lambda: after(HANGS, process.kill, process.stdout.readline), ""):
        yield line


def after(seconds, late, call):
    """The result of a call, beside which something is done where it takes too long."""
    timer = threading.Timer(seconds, late)
    timer.start()
    try:
        return call()
    finally:
        timer.cancel()


def campaign(chosen, told=lambda line: None):
    """Tries functions in processes of their own: lines about those that are wrong, how many calls were limited, refused, left out."""
    bad, counts, rest = [], [0, 0, 0], list(chosen)
    while rest:
        begun = None
        with tempfile.TemporaryFile("w+", errors="replace") as complaints:
            process = subprocess.Popen(
                [sys.executable, __file__, "--child", *rest], env=os.environ | MALLOC, stdout=subprocess.PIPE, stderr=complaints, text=True, errors="replace"
            )  # fmt: skip
            for line in lines(process):
                try:
                    said = json.loads(line)
                except ValueError:
                    # A function that prints.
                    continue
                if not isinstance(said, dict):
                    continue
                if "begins" in said:
                    begun = said["begins"]
                elif "ends" in said:
                    wrong, *numbers = said["found"]
                    counts = [count + number for count, number in zip(counts, numbers)]
                    bad += [f"{begun}: {text}" for text in wrong]
                    told("; ".join([f"{begun}: {numbers[0]} calls, {numbers[1]} without memory, {len(wrong)} wrong", *wrong]))
                    rest.remove(begun)
                    begun = None
            status = process.wait()
            complaints.seek(0)
            complaint = complaints.read()[-600:].strip()
        if begun is not None:
            bad.append(f"{begun}: ends the process, status {status}: {complaint}")
            told(bad[-1])
            rest.remove(begun)
        elif status != 0:
            bad.append(f"status {status} before anything was tried: {complaint}")
            break
    return bad, counts


def main(words):
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    chosen = [name for name in names() if not words or any(word in name for word in words)]
    bad, (limited, refused, left) = campaign(chosen, told=lambda line: print(line, flush=True))
    print(f"{len(chosen)} functions, {limited} calls with little memory, {refused} without enough; {left} of long calls left out; {len(bad)} wrong")
    print("\n".join(bad))
    return 1 if bad else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2:])
    else:
        sys.exit(main(sys.argv[1:]))
