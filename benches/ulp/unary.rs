//! Functions of one number.

use rug::Float;
use stridewise::{Error, bf16, f16};

use crate::Effort;
use crate::arguments::{doubles, hard, singles};
use crate::error::{Exact, PRECISION, Real};
use crate::functions::Unary;
use crate::sweep::{Row, Target, compare, entries, in_parallel, rows};

/// `float32` arguments at a time, a divisor of 2³².
const SINGLES: u64 = 1 << 20;
/// `float64` arguments at a time.
const DOUBLES: usize = 1 << 16;
/// Distance of the bit patterns that a quick run tries.
const QUICK_STEP: u64 = 65_537;

/// `float32`: every number, or a part of them; against double precision.
///
/// # Errors
/// A target does not run the function.
pub(crate) fn single(function: &Unary, targets: &[Target], effort: Effort) -> Result<Vec<Row>, Error> {
    let mut worst = entries(targets);
    let mut block = |arguments: &[f32]| {
        let exact =
            in_parallel(arguments, |&x| Exact::from_double(f32::FORMAT, (function.double)(f64::from(x))));
        compare(targets, function.op, &[arguments], &exact, &mut worst)
    };
    block(&hard())?;
    if effort.quick {
        block(&singles(0, (1 << 32) / QUICK_STEP, QUICK_STEP))?;
    } else {
        for first in (0..1 << 32).step_by(SINGLES as usize) {
            block(&singles(first, SINGLES, 1))?;
        }
    }
    Ok(rows::<f32>(function.op, targets, worst, function.limit))
}

/// `float64`: hard arguments and samples, against high precision.
///
/// # Errors
/// A target does not run the function.
pub(crate) fn double(function: &Unary, targets: &[Target], effort: Effort) -> Result<Vec<Row>, Error> {
    let mut worst = entries(targets);
    let mut block = |arguments: &[f64]| precise(function, targets, arguments, &mut worst);
    block(&hard())?;
    for (number, first) in (0..effort.samples).step_by(DOUBLES).enumerate() {
        let len = DOUBLES.min(effort.samples - first);
        block(&doubles(function.ranges, len, number as u64))?;
    }
    Ok(rows::<f64>(function.op, targets, worst, function.limit))
}

/// The 16-bit formats: every number, against high precision.
///
/// # Errors
/// A target does not run the function.
pub(crate) fn halves(function: &Unary, targets: &[Target]) -> Result<Vec<Row>, Error> {
    let mut found = Vec::new();
    let mut worst = entries(targets);
    let all: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).collect();
    precise(function, targets, &all, &mut worst)?;
    found.extend(rows::<f16>(function.op, targets, worst, function.limit));
    let mut worst = entries(targets);
    let all: Vec<bf16> = (0..=u16::MAX).map(bf16::from_bits).collect();
    precise(function, targets, &all, &mut worst)?;
    found.extend(rows::<bf16>(function.op, targets, worst, function.limit));
    Ok(found)
}

fn precise<T: Real + std::fmt::Display>(
    function: &Unary,
    targets: &[Target],
    arguments: &[T],
    worst: &mut [crate::sweep::Worst],
) -> Result<(), Error> {
    let exact = in_parallel(arguments, |x| {
        Exact::from_float::<T>(&(function.exact)(Float::with_val(PRECISION, x.wide())))
    });
    compare(targets, function.op, &[arguments], &exact, worst)
}
