//! The hillshade of an elevation model, in operations of the engine, and the checks of what is asked for.
//!
//! Gradients by Horn (1981), illumination as in Burrough and McDonell, *Principles of Geographical Information Systems*
//! (1998).

use stridewise::DtypeKind;
use stridewise::prelude::*;

/// Where the light comes from, and how large a cell is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Scene {
    /// Extent of a cell from west to east and from north to south, in metres.
    pub(crate) cell_m: [f64; 2],
    /// Direction that the light comes from, in degrees clockwise from north.
    pub(crate) azimuth: f64,
    /// Height of the light above the horizon, in degrees.
    pub(crate) altitude: f64,
}

/// What [`hillshade`] computes, of the shape of its input.
pub(crate) struct Relief {
    /// Steepness, in radians.
    pub(crate) slope: Array<f32>,
    /// Brightness, from 0 to 255.
    pub(crate) shade: Array<f32>,
}

/// Computes slope and shade of an elevation model: two dimensions, rows from north to south, heights in metres.
///
/// # Errors
/// What the engine reports, such as too little memory.
pub(crate) fn hillshade(elevation: &Array<f32>, scene: &Scene) -> Result<Relief> {
    let (rows, columns) = (elevation.shape()[0] as isize, elevation.shape()[1] as isize);
    let padded = replicate_edges(elevation)?;
    // The neighbour of every cell in one direction: a view of the padded model, no copy.
    let neighbour = |down: isize, right: isize| {
        padded.slice(s![1 + down..1 + down + rows, 1 + right..1 + right + columns])
    };
    let (a, b, c) = (neighbour(-1, -1)?, neighbour(-1, 0)?, neighbour(-1, 1)?);
    let (d, f) = (neighbour(0, -1)?, neighbour(0, 1)?);
    let (g, h, i) = (neighbour(1, -1)?, neighbour(1, 0)?, neighbour(1, 1)?);

    let [cell_x, cell_y] = scene.cell_m;
    let dzdx = ((&c + &f * 2.0 + &i) - (&a + &d * 2.0 + &g)) / (8.0 * cell_x) as f32;
    let dzdy = ((&g + &h * 2.0 + &i) - (&a + &b * 2.0 + &c)) / (8.0 * cell_y) as f32;
    let slope = (&dzdx * &dzdx + &dzdy * &dzdy).sqrt().atan();
    let aspect = dzdy.atan2(&-&dzdx);

    let zenith = (90.0 - scene.altitude).to_radians();
    let toward = (360.0 - scene.azimuth + 90.0).to_radians();
    let from_above = slope.cos() * zenith.cos() as f32;
    let from_the_side = slope.sin() * zenith.sin() as f32 * (toward as f32 - &aspect).cos();
    let shade = (from_above + from_the_side).clip(0.0, 1.0) * 255.0;
    Ok(Relief { slope, shade })
}

/// The model with its first and last rows and columns repeated once on each side.
fn replicate_edges(elevation: &Array<f32>) -> Result<Array<f32>> {
    let rows =
        Array::concat(&[&elevation.slice(s![..1, ..])?, elevation, &elevation.slice(s![-1.., ..])?], 0)?;
    Array::concat(&[&rows.slice(s![.., ..1])?, &rows, &rows.slice(s![.., -1..])?], 1)
}

/// Smallest, largest and mean value.
///
/// # Errors
/// What the engine reports.
pub(crate) fn statistics(values: &Array<f32>) -> Result<[f32; 3]> {
    Ok([values.min()?, values.max()?, values.mean()?])
}

/// Elevation and shade side by side, as grey values. The lowest height is black and the highest white.
///
/// # Errors
/// What the engine reports.
pub(crate) fn picture(elevation: &Array<f32>, shade: &Array<f32>) -> Result<Array<u8>> {
    let [low, high, _] = statistics(elevation)?;
    let scale = if high > low { 255.0 / (high - low) } else { 0.0 };
    let heights = (elevation - low) * scale;
    // A cast to an integer cuts the fraction off.
    let side_by_side = Array::concat(&[&heights, shade], 1)? + 0.5;
    side_by_side.clip(0.0, 255.0).try_astype()
}

/// The heights of a file's array as `float32`.
///
/// # Errors
/// A message for the reader, where the array is no elevation model.
pub(crate) fn heights(array: &UsmArray) -> Result<Array<f32>, String> {
    let refuse = |value: String, help: &str| {
        Err(format!(
            "the input is {value}; expected a 2-D array of real numbers, rows from north to south; {help}"
        ))
    };
    let shape = array.shape();
    if shape.len() != 2 {
        let value = format!("an array of {} dimensions, shape {shape:?}", shape.len());
        return refuse(value, "select or reshape to two dimensions first");
    }
    if array.is_empty() {
        return refuse(format!("empty, shape {shape:?}"), "use a model of at least one cell");
    }
    match array.dtype().kind() {
        DtypeKind::Bool | DtypeKind::Complex => {
            refuse(format!("of dtype {}", array.dtype()), "convert it to an integer or floating-point dtype")
        }
        _ => array.astype(Dtype::F32).and_then(Array::try_from).map_err(|error| error.to_string()),
    }
}

/// Reads `X,Y`.
///
/// # Errors
/// A message for the reader.
pub(crate) fn parse_cell_size(text: &str) -> Result<[f64; 2], String> {
    let metres = |part: &str| part.trim().parse::<f64>().ok().filter(|m| m.is_finite() && *m > 0.0);
    match text.split_once(',').map(|(x, y)| (metres(x), metres(y))) {
        Some((Some(x), Some(y))) => Ok([x, y]),
        _ => Err("expected two positive numbers of metres, west to east and north to south, as in 74.5,92.8"
            .to_owned()),
    }
}

/// Reads an angle within a range of degrees.
///
/// # Errors
/// A message for the reader.
pub(crate) fn parse_degrees(text: &str, range: std::ops::RangeInclusive<f64>) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(degrees) if range.contains(&degrees) => Ok(degrees),
        _ => Err(format!("expected degrees from {} to {}", range.start(), range.end())),
    }
}
