"""The example, against NumPy in double precision, on every device; and as a program."""

import math
import pathlib
import runpy

import numpy as np
import pytest

import stridewise as sw

ROOT = pathlib.Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "ffi" / "python" / "examples" / "hillshade.py"
MODEL = ROOT / "examples" / "data" / "jacksboro_dem.npy"
CELL = (74.5, 92.8)
TOLERANCE = 0.01  # of 255, as for the example in Rust


def reference(z):
    z = np.pad(z.astype("float64"), 1, mode="edge")
    a, b, c = z[:-2, :-2], z[:-2, 1:-1], z[:-2, 2:]
    d, f = z[1:-1, :-2], z[1:-1, 2:]
    g, h, i = z[2:, :-2], z[2:, 1:-1], z[2:, 2:]
    dzdx = ((c + 2 * f + i) - (a + 2 * d + g)) / (8 * CELL[0])
    dzdy = ((g + 2 * h + i) - (a + 2 * b + c)) / (8 * CELL[1])
    slope, aspect = np.arctan(np.hypot(dzdx, dzdy)), np.arctan2(dzdy, -dzdx)
    zenith, toward = math.radians(45), math.radians(135)
    shade = np.cos(slope) * math.cos(zenith) + np.sin(slope) * math.sin(zenith) * np.cos(toward - aspect)
    return np.clip(shade, 0, 1) * 255


@pytest.mark.parametrize("device", [device.filter_string for device in sw.get_devices()])
def test_example_agrees_with_numpy(device):
    hillshade = runpy.run_path(str(SCRIPT))["hillshade"]
    heights = np.load(MODEL).astype("float32")
    shade = hillshade(sw.asarray(heights, device=device), *CELL)
    assert shade.dtype == sw.float32
    error = np.abs(sw.to_numpy(shade).astype("float64") - reference(heights))
    assert error.max() <= TOLERANCE


def test_example_writes_its_picture(tmp_path, monkeypatch):
    picture = tmp_path / "shade.pgm"
    monkeypatch.setattr("sys.argv", [str(SCRIPT), str(MODEL), str(picture), "host"])
    runpy.run_path(str(SCRIPT), run_name="__main__")
    head, size, pixels = picture.read_bytes().split(b"\n", 1)[0], np.load(MODEL).shape, picture.read_bytes()
    assert head == b"P5 %d %d 255" % size[::-1]
    shown = np.frombuffer(pixels[len(head) + 1 :], dtype="uint8").reshape(size)
    assert np.abs(shown - reference(np.load(MODEL))).max() <= 0.5 + TOLERANCE
