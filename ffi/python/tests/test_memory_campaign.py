"""A sample of the campaign without memory (`memory_campaign.py`): nothing ends the process, and what fails is a MemoryError."""

import os

import pytest

pytest.importorskip("resource", reason="this system limits no memory")

import memory_campaign

#: One function of so many; all of them where the variable says so.
STRIDE = 1 if os.environ.get("STRIDEWISE_CAMPAIGN") == "whole" else 24
PARTS = 4


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="the system does not say how much memory a process has")
@pytest.mark.parametrize("part", range(PARTS))
def test_functions_without_memory(part):
    chosen = memory_campaign.names()[:: STRIDE][part::PARTS]
    bad, (limited, refused, _) = memory_campaign.campaign(chosen)
    assert not bad, "\n".join(bad)
    # Else nothing is tested.
    assert limited > 40 and refused > 5


def test_new_functions_are_in_it():
    import stridewise as sw

    found = memory_campaign.names()
    assert {"stridewise.sum", "linalg.svd", "usm_ndarray.reshape", "Generator.normal", "special.softmax", "Queue.memcpy", "Device.create_sub_devices"} <= set(found)
    assert sum(name.startswith("stridewise.") for name in found) > 0.9 * sum(callable(getattr(sw, name)) for name in dir(sw) if name[0] != "_") - 60
