"""Lists the devices of this machine, or tells why one is not found: `python -m stridewise`, or the command `stridewise`.

list               the devices (the default)
doctor             why a device is not found, or not as quick as it could be, and the line that mends it;
                   the status is 1 where there is a problem
bench              how quick this machine is, in about a minute: a dozen computations on one core, on all, and on each
                   device, beside what its memory gives

--json FILE        bench: write what was measured into a file, too
--seconds S        bench: how long each computation is repeated

-l, --list         one line per device, with its figures and aspects (the default)
-f, --full-list    everything that is known of each device
-s, --summary      how many devices each driver has
-F, --filter TEXT  only the device that a filter string selects
--version          the version of stridewise
"""

import argparse
import os
import platform
import sys
from importlib import metadata

import stridewise as sw

#: Packages that arrays are exchanged with.
_PEERS = ("numpy", "dask", "dpctl", "dpnp", "torch", "jax", "cupy")


def _mark(device, default):
    return "*" if device == default else " "


def _bytes(count):
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return f"{count} B"


def _list(devices, default):
    width = max((len(device.filter_string) for device in devices), default=0)
    for device in devices:
        figures = (
            f"{device.max_compute_units} compute units, {_bytes(device.global_mem_size)}, "
            f"{_bytes(device.max_mem_alloc_size)} at once; {' '.join(device.aspects)}"
        )
        mark = _mark(device, default)
        print(f"{mark} {device.filter_string:<{width}}  {device.device_type:<11}  {device.name}; {figures}")


def _full_list(devices, default):
    for number, device in enumerate(devices):
        print(f"{_mark(device, default)} Device {number}")
        device.print_device_info()


def _summary(devices):
    for backend in sorted({device.backend for device in devices}):
        theirs = [device for device in devices if device.backend == backend]
        versions = ", ".join(sorted({device.driver_version for device in theirs}))
        print(f"{backend}: {len(theirs)} device{'s' * (len(theirs) != 1)}, version {versions}")


def _peers():
    for name in _PEERS:
        try:
            yield name, metadata.version(name)
        except metadata.PackageNotFoundError:
            pass


def _doctor():
    """Prints what was found; returns the exit status."""
    python = [
        ("python", f"{platform.python_implementation()} {platform.python_version()}, {sys.executable}"),
        ("system", f"{platform.platform()}, {' '.join(platform.libc_ver()) or 'a C library that does not say its name'}"),
        ("package", f"stridewise {sw.__version__}, {sw.__path__[0]}"),
        *_peers(),
    ]
    text, healthy = sw._native._doctor(python)
    print(text)
    return 0 if healthy else 1


def main(arguments=None):
    """Prints what the arguments ask for; returns the exit status."""
    try:
        status = _run(arguments)
        # There is none where it was closed before the start.
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        # Who reads has seen enough. What is still to be written would fail once more when the interpreter ends.
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        status = 1
    return status


def _run(arguments):
    parser = argparse.ArgumentParser(
        prog="stridewise",
        description="Lists the devices of this machine (* marks the default one), or tells why one is not found.",
    )
    parser.add_argument(
        "command",
        nargs="?",
        choices=("list", "doctor", "bench"),
        default="list",
        help="list: the devices (the default); doctor: why a device is not found, and how to mend it; bench: how quick they are",
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("-l", "--list", action="store_true", help="one line per device (the default)")
    what.add_argument("-f", "--full-list", action="store_true", help="everything that is known of each device")
    what.add_argument("-s", "--summary", action="store_true", help="how many devices each driver has")
    what.add_argument("--version", action="version", version=f"stridewise {sw.__version__}")
    parser.add_argument("-F", "--filter", metavar="TEXT", help="only the device that a filter string selects")
    parser.add_argument("--json", metavar="FILE", help="bench: write what was measured into a file, too")
    parser.add_argument("--seconds", metavar="S", type=float, help="bench: how long each computation is repeated (0.3)")
    given = parser.parse_args(arguments)
    if given.command == "bench":
        if given.list or given.full_list or given.summary:
            parser.error("bench measures the devices; --filter chooses one")
        if given.seconds is not None and not 0 < given.seconds <= 3600:
            parser.error(f"--seconds is {given.seconds}; expected a number above 0")
        from . import _bench

        return _bench.main(given.filter, given.json, given.seconds)
    if given.json is not None or given.seconds is not None:
        parser.error("--json and --seconds belong to bench")
    if given.command == "doctor":
        if given.list or given.full_list or given.summary or given.filter is not None:
            parser.error("doctor takes no options: it looks at everything")
        return _doctor()
    try:
        devices = [sw.Device(given.filter)] if given.filter is not None else sw.get_devices()
    except sw.DeviceSelectionError as error:
        print(error, file=sys.stderr)
        return 1
    try:
        default, wrong = sw.select_default_device(), None
    except sw.DeviceSelectionError as error:
        # The devices are there all the same: they are what to choose another one from.
        default, wrong = None, error
    if given.full_list:
        _full_list(devices, default)
    elif given.summary:
        _summary(devices)
    else:
        _list(devices, default)
    if wrong is not None:
        print(f"no default device: {wrong}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
