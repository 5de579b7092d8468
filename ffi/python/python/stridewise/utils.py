"""What dpctl has under `utils`: who orders work, and what a device says of itself."""

import contextlib as _contextlib

import stridewise as _sw

__all__ = ["SequentialOrderManager", "intel_device_info", "onetrace_enabled"]


class _Order:
    """The events of a queue that work which comes next waits for."""

    def __init__(self, queue):
        self._queue, self._host, self._device = queue, [], []

    def _open(self, events):
        events[:] = [event for event in events if not event.is_done or event.error is not None]
        return events

    def add_event_pair(self, host_task_event, comp_event):
        """Adds the events of a task of the host, and of computation: one or a list of each."""
        for events, given in ((self._host, host_task_event), (self._device, comp_event)):
            given = list(given) if isinstance(given, (list, tuple)) else [given]
            for event in given:
                if not isinstance(event, _sw.Event):
                    raise TypeError(f"an event is {event!r}; expected an Event")
            self._open(events).extend(given)

    @property
    def host_task_events(self):
        """Those of tasks of the host that are not done."""
        return list(self._open(self._host))

    @property
    def submitted_events(self):
        """Those of computation that is not done."""
        return list(self._open(self._device))

    @property
    def num_host_task_events(self):
        """How many tasks of the host are not done."""
        return len(self._open(self._host))

    @property
    def num_submitted_events(self):
        """How much computation is not done."""
        return len(self._open(self._device))

    def wait(self):
        """Waits for all of them; raises the first failure."""
        _sw.Event.wait_for([*self._host, *self._device])
        self._host.clear()
        self._device.clear()

    def __copy__(self):
        made = type(self)(self._queue)
        made._host, made._device = list(self._host), list(self._device)
        return made


class _Orders:
    """Who orders the work of each queue: `SequentialOrderManager[queue]`."""

    def __init__(self):
        self._known = {}

    def __getitem__(self, queue):
        if not isinstance(queue, _sw.Queue):
            raise TypeError(f"`queue` is {queue!r}; expected a Queue")
        return self._known.setdefault(queue, _Order(queue))

    def clear(self):
        """Forgets all queues, and waits for their work before."""
        while self._known:
            self._known.popitem()[1].wait()


#: Who orders the work of a queue: `SequentialOrderManager[queue]` has `submitted_events`, which work that comes next waits for, and
#: `add_event_pair(host_task_event, comp_event)`. Arrays order their work themselves: it is for who submits to queues.
SequentialOrderManager = _Orders()


def intel_device_info(dev):
    """What Intel's extensions say of a device: an empty dictionary, for no driver here asks them."""
    if not isinstance(dev, _sw.Device):
        raise TypeError(f"`dev` is {dev!r}; expected a Device")
    return {}


@_contextlib.contextmanager
def onetrace_enabled():
    """Within it, Intel's tracing tools, if a program runs under one, record: PTI_ENABLE_COLLECTION is "1" in the environment."""
    import os

    name = "PTI_ENABLE_COLLECTION"
    before = os.environ.get(name)
    os.environ[name] = "1"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = before
