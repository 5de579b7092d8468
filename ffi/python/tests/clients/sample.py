"""A plugin of pytest's that keeps one test of so many, always the same ones, and those that are named."""

import os
import zlib


def pytest_collection_modifyitems(config, items):
    every, known = int(os.environ["STRIDEWISE_SAMPLE"]), tuple(os.environ["STRIDEWISE_KNOWN"].split("\n"))
    # By the name, so that a test that a client adds moves no other in or out.
    kept = [item for item in items if item.nodeid.endswith(known) or zlib.crc32(item.nodeid.encode()) % every == 0]
    dropped = set(items) - set(kept)
    items[:] = kept
    config.hook.pytest_deselected(items=list(dropped))
