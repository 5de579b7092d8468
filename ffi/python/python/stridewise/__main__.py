"""Lists the devices of this machine: `python -m stridewise`.

-l, --list         one line per device (the default)
-f, --full-list    everything that is known of each device
-s, --summary      how many devices each driver has
-F, --filter TEXT  only the device that a filter string selects
--version          the version of stridewise
"""

import argparse
import sys

import stridewise as sw


def _mark(device):
    return "*" if device == sw.select_default_device() else " "


def _list(devices):
    width = max((len(device.filter_string) for device in devices), default=0)
    for device in devices:
        print(f"{_mark(device)} {device.filter_string:<{width}}  {device.device_type:<11}  {device.name}")


def _full_list(devices):
    for number, device in enumerate(devices):
        print(f"{_mark(device)} Device {number}")
        device.print_device_info()


def _summary(devices):
    for backend in sorted({device.backend for device in devices}):
        theirs = [device for device in devices if device.backend == backend]
        versions = ", ".join(sorted({device.driver_version for device in theirs}))
        print(f"{backend}: {len(theirs)} device{'s' * (len(theirs) != 1)}, version {versions}")


def main(arguments=None):
    """Prints what the arguments ask for; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m stridewise", description="Lists the devices of this machine; * marks the default one."
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("-l", "--list", action="store_true", help="one line per device (the default)")
    what.add_argument("-f", "--full-list", action="store_true", help="everything that is known of each device")
    what.add_argument("-s", "--summary", action="store_true", help="how many devices each driver has")
    what.add_argument("--version", action="version", version=f"stridewise {sw.__version__}")
    parser.add_argument("-F", "--filter", metavar="TEXT", help="only the device that a filter string selects")
    given = parser.parse_args(arguments)
    try:
        devices = [sw.Device(given.filter)] if given.filter is not None else sw.get_devices()
    except sw.DeviceSelectionError as error:
        print(error, file=sys.stderr)
        return 1
    if given.full_list:
        _full_list(devices)
    elif given.summary:
        _summary(devices)
    else:
        _list(devices)
    return 0


if __name__ == "__main__":
    sys.exit(main())
