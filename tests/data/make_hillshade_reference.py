"""Makes the reference values of tests/hillshade.rs, in double precision with NumPy.

    python tests/data/make_hillshade_reference.py

writes hillshade_reference.npy (the shade of examples/data/jacksboro_dem.npy as uint16, in steps of 1/257, so within
0.002 of the value) and hillshade_cases.rs (small inputs with their results, and the statistics of the whole model).

With the neighbourhood a b c / d e f / g h i of a cell, rows going south, edges replicated, and cells of dx by dy:
    dzdx  = ((c + 2f + i) - (a + 2d + g)) / (8 dx)
    dzdy  = ((g + 2h + i) - (a + 2b + c)) / (8 dy)
    slope = atan(sqrt(dzdx^2 + dzdy^2)),  aspect = atan2(dzdy, -dzdx)
    shade = 255 clip(cos(zenith) cos(slope) + sin(zenith) sin(slope) cos(azimuth - aspect), 0, 1)
(Burrough and McDonell, Principles of Geographical Information Systems, 1998; Horn's gradient, 1981.)
"""

import math
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
CELL = (74.5, 92.8)


def gradients(elevation, dx, dy):
    z = np.pad(np.asarray(elevation, dtype=np.float64), 1, mode="edge")
    smooth_rows = z[:-2] + 2 * z[1:-1] + z[2:]
    smooth_columns = z[:, :-2] + 2 * z[:, 1:-1] + z[:, 2:]
    dzdx = (smooth_rows[:, 2:] - smooth_rows[:, :-2]) / (8 * dx)
    dzdy = (smooth_columns[2:] - smooth_columns[:-2]) / (8 * dy)
    return dzdx, dzdy


def hillshade(elevation, dx, dy, azimuth=315.0, altitude=45.0):
    dzdx, dzdy = gradients(elevation, dx, dy)
    slope = np.arctan(np.sqrt(dzdx**2 + dzdy**2))
    aspect = np.arctan2(dzdy, -dzdx)
    zenith = np.deg2rad(90.0 - altitude)
    toward = np.deg2rad(360.0 - azimuth + 90.0)
    light = np.cos(zenith) * np.cos(slope) + np.sin(zenith) * np.sin(slope) * np.cos(toward - aspect)
    return np.rad2deg(slope), 255.0 * np.clip(light, 0.0, 1.0)


def one_cell(elevation, row, column, dx, dy, azimuth, altitude):
    """The formulas for a single cell, without arrays: a check of the function above."""
    rows, columns = elevation.shape

    def z(down, right):
        return float(elevation[min(max(row + down, 0), rows - 1), min(max(column + right, 0), columns - 1)])

    a, b, c = z(-1, -1), z(-1, 0), z(-1, 1)
    d, f = z(0, -1), z(0, 1)
    g, h, i = z(1, -1), z(1, 0), z(1, 1)
    dzdx = ((c + 2 * f + i) - (a + 2 * d + g)) / (8 * dx)
    dzdy = ((g + 2 * h + i) - (a + 2 * b + c)) / (8 * dy)
    slope = math.atan(math.hypot(dzdx, dzdy))
    aspect = math.atan2(dzdy, -dzdx)
    zenith, toward = math.radians(90 - altitude), math.radians(360 - azimuth + 90)
    light = math.cos(zenith) * math.cos(slope) + math.sin(zenith) * math.sin(slope) * math.cos(toward - aspect)
    return 255 * min(max(light, 0.0), 1.0)


def check(elevation, shade, dx, dy, azimuth, altitude):
    cells = [(r, c) for r in range(elevation.shape[0]) for c in range(elevation.shape[1])]
    for row, column in cells[:: max(1, len(cells) // 2000)]:
        alone = one_cell(elevation, row, column, dx, dy, azimuth, altitude)
        assert abs(alone - shade[row, column]) < 1e-9, (row, column, alone, shade[row, column])


def rust(values):
    return "&[" + ", ".join(repr(float(v)) for v in np.asarray(values).ravel()) + "]"


def main():
    dem = np.load(HERE.parent.parent / "examples" / "data" / "jacksboro_dem.npy")
    slope, shade = hillshade(dem, *CELL)
    check(dem, shade, *CELL, 315.0, 45.0)
    np.save(HERE / "hillshade_reference.npy", np.round(shade * 257).astype(np.uint16))

    cases = [
        ("one cell", [[812]], CELL, 315, 45),
        ("one cell, sun at the zenith", [[812]], CELL, 315, 90),
        ("one cell, sun at the horizon", [[812]], CELL, 315, 0),
        ("one row", [[100, 130, 180, 170, 90, 90, 250]], CELL, 315, 45),
        ("one column", [[100], [130], [180], [170], [90], [90], [250]], CELL, 315, 45),
        ("two cells", [[100, 160]], (30.0, 30.0), 270, 30),
        ("three by three", [[310, 295, 260], [340, 330, 275], [420, 365, 290]], CELL, 315, 45),
        ("three by three, sun in the east", [[310, 295, 260], [340, 330, 275], [420, 365, 290]], (10.0, 20.0), 90, 25),
        ("three by three, falling to the east", [[20, 10, 0]] * 3, (10.0, 10.0), 90, 45),
        ("three by three, falling to the south", [[20] * 3, [10] * 3, [0] * 3], (10.0, 10.0), 180, 45),
        ("two by four", [[5, 9, 14, 2], [-3, 0, 12, 30]], (25.0, 40.0), 200, 60),
    ]
    lines = [
        "// Made by make_hillshade_reference.py: inputs with their shade, and statistics of the whole model.",
        "const CASES: &[Case] = &[",
    ]
    for name, elevation, (dx, dy), azimuth, altitude in cases:
        elevation = np.array(elevation)
        slope_degrees, result = hillshade(elevation, dx, dy, azimuth, altitude)
        check(elevation, result, dx, dy, azimuth, altitude)
        lines += [
            "    Case {",
            f'        name: "{name}",',
            f"        shape: [{elevation.shape[0]}, {elevation.shape[1]}],",
            f"        elevation: {rust(elevation)},",
            f"        cell_m: [{dx}, {dy}],",
            f"        azimuth: {float(azimuth)},",
            f"        altitude: {float(altitude)},",
            f"        slope_degrees: {rust(slope_degrees)},",
            f"        shade: {rust(result)},",
            "    },",
        ]
    lines.append("];")
    for name, values in [("ELEVATION", dem), ("SLOPE_DEGREES", slope), ("SHADE", shade)]:
        values = values.astype(np.float64)
        least, most, mean = float(values.min()), float(values.max()), float(values.mean())
        lines.append("/// Smallest, largest and mean value over the model.")
        lines.append(f"const {name}: [f64; 3] = [{least!r}, {most!r}, {mean!r}];")
    (HERE / "hillshade_cases.rs").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
