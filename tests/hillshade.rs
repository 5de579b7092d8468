//! The main example against an independent computation in double precision.

#![cfg(feature = "npy")]

use std::path::{Path, PathBuf};

use stridewise::prelude::*;

#[path = "../examples/hillshade/shade.rs"]
mod shade;

use shade::{Scene, heights, hillshade, parse_cell_size, parse_degrees, picture, statistics};

/// Largest difference of a shade, on its scale from 0 to 255.
const TOLERANCE: f64 = 1e-2;
/// Steps of the reference per unit of shade.
const REFERENCE_STEPS: f64 = 257.0;

/// A small input and its results.
struct Case {
    name: &'static str,
    shape: [usize; 2],
    elevation: &'static [f64],
    cell_m: [f64; 2],
    azimuth: f64,
    altitude: f64,
    slope_degrees: &'static [f64],
    shade: &'static [f64],
}

include!("data/hillshade_cases.rs");

/// The scene of the reference.
const SCENE: Scene = Scene { cell_m: [74.5, 92.8], azimuth: 315.0, altitude: 45.0 };

#[path = "devices/mod.rs"]
mod devices;
use devices::devices;

fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Shape and elements of a `.npy` file of version 1 with two dimensions of 16-bit elements in C order, read here so
/// that an error of the engine's own reader cannot hide.
fn sixteen_bits(path: &str) -> ([usize; 2], Vec<u16>) {
    let bytes = std::fs::read(file(path)).unwrap();
    assert_eq!(&bytes[..8], b"\x93NUMPY\x01\x00");
    let start = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let header = std::str::from_utf8(&bytes[10..start]).unwrap();
    assert!(header.contains("'fortran_order': False"), "{header}");
    let (_, shape) = header.split_once('(').unwrap();
    let (shape, _) = shape.split_once(')').unwrap();
    let extents: Vec<usize> = shape.split(',').filter_map(|n| n.trim().parse().ok()).collect();
    let elements: Vec<u16> =
        bytes[start..].chunks_exact(2).map(|b| u16::from_le_bytes([b[0], b[1]])).collect();
    let shape: [usize; 2] = extents.try_into().unwrap();
    assert_eq!(elements.len(), shape[0] * shape[1]);
    (shape, elements)
}

/// The shade that every cell of the model should have.
fn reference() -> ([usize; 2], Vec<f64>) {
    let (shape, steps) = sixteen_bits("tests/data/hillshade_reference.npy");
    (shape, steps.into_iter().map(|step| f64::from(step) / REFERENCE_STEPS).collect())
}

fn model(device: &Device) -> UsmArray {
    UsmArray::load_npy(file("examples/data/jacksboro_dem.npy")).unwrap().to_device(device).unwrap()
}

/// Every element within `tolerance`; NaN is never within anything.
#[track_caller]
fn assert_close(got: &[f32], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(got.len(), expected.len(), "{what}");
    for (index, (got, expected)) in got.iter().zip(expected).enumerate() {
        let difference = (f64::from(*got) - expected).abs();
        assert!(difference <= tolerance, "{what}, element {index}: {got} instead of {expected}");
    }
}

#[track_caller]
fn assert_agrees(elevation: &UsmArray, what: &str) {
    let (shape, expected) = reference();
    let relief = hillshade(&heights(elevation).unwrap(), &SCENE).unwrap();
    assert_eq!(relief.shade.shape(), shape, "{what}");
    assert_close(&relief.shade.to_vec().unwrap(), &expected, TOLERANCE, what);
}

#[test]
fn the_elevation_model() {
    for device in devices() {
        assert_agrees(&model(&device), &format!("{device}"));
    }
}

#[test]
fn a_fortran_ordered_copy() {
    for device in devices() {
        let copy = model(&device).copy_in(Order::F).unwrap();
        assert!(copy.flags().f_contiguous && !copy.flags().c_contiguous);
        assert_agrees(&copy, &format!("{device}"));
    }
}

#[test]
fn reversed_copies() {
    for device in devices() {
        let model = model(&device);
        for axes in [&[0][..], &[1], &[0, 1]] {
            // Reversed in memory, and read backwards: the same elements through negative strides.
            let view = model.flip(Some(axes)).unwrap().copy_in(Order::C).unwrap().flip(Some(axes)).unwrap();
            assert!(view.strides().iter().any(|stride| *stride < 0));
            assert_agrees(&view, &format!("{device}, axes {axes:?}"));
        }
    }
}

#[test]
fn other_dtypes() {
    let device = Device::select("host").unwrap();
    // All that hold heights of up to 1076 m exactly.
    for dtype in
        [Dtype::I16, Dtype::I32, Dtype::I64, Dtype::U16, Dtype::U32, Dtype::U64, Dtype::F32, Dtype::F64]
    {
        assert_agrees(&model(&device).astype(dtype).unwrap(), &format!("{dtype}"));
    }
}

#[test]
fn files_of_both_orders() {
    let folder = std::env::temp_dir().join(format!("stridewise-hillshade-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let device = Device::select("host").unwrap();
    for (order, name) in [(Order::C, "c.npy"), (Order::F, "f.npy")] {
        let path = folder.join(name);
        model(&device).astype(Dtype::F64).unwrap().copy_in(order).unwrap().save_npy(&path).unwrap();
        assert_agrees(&UsmArray::load_npy(&path).unwrap(), name);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn small_models() {
    for device in devices() {
        let queue = device.queue().unwrap();
        for case in CASES {
            let what = format!("{} on {device}", case.name);
            let elevation =
                UsmArray::from_slice(&queue, &case.shape, case.elevation, UsmKind::Device).unwrap();
            let scene = Scene { cell_m: case.cell_m, azimuth: case.azimuth, altitude: case.altitude };
            let relief = hillshade(&heights(&elevation).unwrap(), &scene).unwrap();
            assert_eq!(relief.shade.shape(), case.shape, "{what}");
            assert_close(&relief.shade.to_vec().unwrap(), case.shade, TOLERANCE, &what);
            let slope_degrees = (&relief.slope * 1f32.to_degrees()).to_vec().unwrap();
            assert_close(&slope_degrees, case.slope_degrees, 1e-4, &what);
        }
    }
}

#[test]
fn statistics_of_the_model() {
    for device in devices() {
        let elevation = heights(&model(&device)).unwrap();
        let relief = hillshade(&elevation, &SCENE).unwrap();
        let slope_degrees = &relief.slope * 1f32.to_degrees();
        assert_close(&statistics(&elevation).unwrap(), &ELEVATION, 1e-3, "elevation");
        assert_close(&statistics(&slope_degrees).unwrap(), &SLOPE_DEGREES, 1e-4, "slope");
        assert_close(&statistics(&relief.shade).unwrap(), &SHADE, 1e-2, "shade");
    }
}

#[test]
fn the_picture_has_both_sides() {
    for device in devices() {
        let elevation = heights(&model(&device)).unwrap();
        let relief = hillshade(&elevation, &SCENE).unwrap();
        let grey = picture(&elevation, &relief.shade).unwrap();
        let ([rows, columns], shades) = reference();
        assert_eq!(grey.shape(), [rows, 2 * columns]);
        let (_, metres) = sixteen_bits("examples/data/jacksboro_dem.npy");
        let [low, high, _] = ELEVATION;
        let pixels = grey.to_vec().unwrap();
        for (index, (metres, shade)) in metres.iter().zip(&shades).enumerate() {
            let (row, column) = (index / columns, index % columns);
            let left = f64::from(pixels[row * 2 * columns + column]);
            let right = f64::from(pixels[row * 2 * columns + columns + column]);
            let height = (f64::from(*metres) - low) / (high - low) * 255.0;
            // Half a step of rounding, and the error of the shade.
            assert!((left - height).abs() <= 0.51, "row {row}, column {column}: {left} instead of {height}");
            assert!((right - shade).abs() <= 0.52, "row {row}, column {column}: {right} instead of {shade}");
        }
    }
}

#[test]
fn a_flat_picture_is_black_on_the_left() {
    let queue = Device::select("host").unwrap().queue().unwrap();
    let flat = UsmArray::from_slice(&queue, &[2, 3], &[7i16; 6], UsmKind::Device).unwrap();
    let elevation = heights(&flat).unwrap();
    let relief = hillshade(&elevation, &SCENE).unwrap();
    let grey = picture(&elevation, &relief.shade).unwrap().to_vec().unwrap();
    // 255 · cos 45° = 180.3
    assert_eq!(grey, [0, 0, 0, 180, 180, 180, 0, 0, 0, 180, 180, 180]);
}

#[test]
fn inputs_that_are_no_model_are_refused() {
    let queue = Device::select("host").unwrap().queue().unwrap();
    let refusal = |shape: &[usize], dtype: Dtype| {
        let array = UsmArray::zeros(&queue, shape, dtype, UsmKind::Device).unwrap();
        heights(&array).err().unwrap_or_else(|| panic!("{shape:?} of {dtype} was taken"))
    };
    assert!(refusal(&[4], Dtype::F32).contains("1 dimensions, shape [4]"));
    assert!(refusal(&[2, 2, 2], Dtype::I16).contains("2-D array"));
    assert!(refusal(&[], Dtype::I16).contains("2-D array"));
    assert!(refusal(&[0, 5], Dtype::I16).contains("empty"));
    assert!(refusal(&[2, 2], Dtype::Bool).contains("bool"));
    assert!(refusal(&[2, 2], Dtype::C64).contains("complex64"));
    assert!(refusal(&[2, 2], Dtype::C128).contains("real numbers"));
}

#[test]
fn arguments_are_checked() {
    assert_eq!(parse_cell_size("74.5, 92.8"), Ok([74.5, 92.8]));
    for bad in ["", "30", "30,", "0,1", "-1,1", "1,nan", "1,inf", "1,2,3", "x,y"] {
        assert!(parse_cell_size(bad).is_err(), "{bad:?}");
    }
    assert_eq!(parse_degrees("45", 0.0..=90.0), Ok(45.0));
    for bad in ["", "91", "-1", "nan", "south"] {
        assert!(parse_degrees(bad, 0.0..=90.0).is_err(), "{bad:?}");
    }
}
