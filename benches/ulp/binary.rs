//! Functions of two numbers: every pair of special values, then random pairs.

use rug::Float;
use stridewise::{Error, Op};

use crate::Effort;
use crate::arguments::Random;
use crate::error::{Exact, PRECISION, Real};
use crate::functions::{Binary, Pairs};
use crate::sweep::{Row, Target, compare, entries, in_parallel, rows};

/// Pairs at a time.
const BLOCK: usize = 1 << 18;

/// Values of which every pair is tried, with their negatives.
fn specials<T: Real>() -> Vec<T> {
    let (max, least, tiny): (f64, f64, f64) = match T::DTYPE {
        stridewise::Dtype::F32 => (f32::MAX.into(), f32::MIN_POSITIVE.into(), f32::from_bits(1).into()),
        _ => (f64::MAX, f64::MIN_POSITIVE, f64::from_bits(1)),
    };
    let above = 1.0 + T::FORMAT.epsilon();
    let below = 1.0 - T::FORMAT.epsilon() / 2.0;
    let mut values =
        vec![0.0, tiny, 3.0 * tiny, least - tiny, least, 1e-30, 1e-5, 0.1, 0.25, 1.0 / 3.0, 0.5, below];
    values.extend([
        1.0,
        above,
        1.5,
        2.0,
        2.5,
        3.0,
        4.0,
        5.0,
        7.0,
        10.0,
        100.0,
        1e5,
        16_777_215.0,
        16_777_217.0,
    ]);
    values.extend([1e30, max / 2.0, max * below, max, f64::INFINITY, f64::NAN]);
    values.into_iter().flat_map(|x| [x, -x]).map(T::nearest).collect()
}

fn grid<T: Real>() -> (Vec<T>, Vec<T>) {
    let values = specials::<T>();
    values.iter().flat_map(|&x| values.iter().map(move |&y| (x, y))).unzip()
}

/// A quarter of any bit patterns, a quarter near each other, half as the function wants them.
fn random_pairs<T: Real>(pairs: Pairs, len: usize, seed: u64, any: fn(u64) -> T) -> (Vec<T>, Vec<T>) {
    let mut random = Random::new(seed);
    let pair = |i: usize| match (i % 4, pairs) {
        (0, _) => (any(random.bits()), any(random.bits())),
        (1, Pairs::Moderate) => {
            let x = random.scaled(-10.0, 10.0);
            let part = random.scaled(-30.0, 4.0);
            (T::nearest(x), T::nearest(x + x * part))
        }
        (1, Pairs::Powers) => {
            let x = 1.0 + random.scaled(-20.0, -1.0);
            let largest = if T::FORMAT.epsilon() < 1e-10 { 745.0 } else { 104.0 };
            (T::nearest(x), T::nearest(random.between(-largest, largest) / x.ln()))
        }
        (_, Pairs::Moderate) => {
            (T::nearest(random.scaled(-20.0, 20.0)), T::nearest(random.scaled(-20.0, 20.0)))
        }
        (_, Pairs::Powers) => {
            let x = random.scaled(-30.0, 30.0).abs();
            let largest = if T::FORMAT.epsilon() < 1e-10 { 1075.0 } else { 150.0 };
            (T::nearest(x), T::nearest(random.between(-largest, largest) / x.log2()))
        }
    };
    (0..len).map(pair).unzip()
}

/// `float32`, against double precision.
///
/// # Errors
/// A target does not run the function.
pub(crate) fn single(function: &Binary, targets: &[Target], effort: Effort) -> Result<Vec<Row>, Error> {
    let double = function.double;
    sweep(
        function.op,
        function.pairs,
        targets,
        effort.pairs32,
        function.limit,
        |bits| f32::from_bits(bits as u32),
        |x, y| Exact::from_double(f32::FORMAT, double(f64::from(x), f64::from(y))),
    )
}

/// `float64`, against high precision.
///
/// # Errors
/// A target does not run the function.
pub(crate) fn double(function: &Binary, targets: &[Target], effort: Effort) -> Result<Vec<Row>, Error> {
    let (op, double, exact) = (function.op, function.double, function.exact);
    sweep(function.op, function.pairs, targets, effort.pairs64, function.limit, f64::from_bits, |x, y| {
        let float = |v: f64| Float::with_val(PRECISION, v);
        // MPFR's NaN has no sign to copy.
        let signed = op == Op::Copysign && y.is_nan();
        let exact =
            Exact::from_float::<f64>(&if signed { float(double(x, y)) } else { exact(float(x), float(y)) });
        exact.in_units_from(f64::FORMAT, function.unit_from)
    })
}

/// `nextafter`, whose result depends on the format: by the bit patterns of either.
///
/// # Errors
/// A target does not run the function.
pub(crate) fn nextafter(targets: &[Target], effort: Effort) -> Result<Vec<Row>, Error> {
    macro_rules! reference {
        ($ty:ty) => {
            |x: $ty, y: $ty| {
                let next = if x.is_nan() || y.is_nan() {
                    <$ty>::NAN
                } else if x == y {
                    y
                } else if x == 0.0 {
                    <$ty>::from_bits(1).copysign(y)
                } else if x < y {
                    x.next_up()
                } else {
                    x.next_down()
                };
                Exact::from_float::<$ty>(&Float::with_val(PRECISION, next))
            }
        };
    }
    let op = Op::Nextafter;
    let single = |bits: u64| f32::from_bits(bits as u32);
    let mut found = sweep(op, Pairs::Moderate, targets, effort.pairs32, 0.0, single, reference!(f32))?;
    found.extend(sweep(op, Pairs::Moderate, targets, effort.pairs64, 0.0, f64::from_bits, reference!(f64))?);
    Ok(found)
}

fn sweep<T: Real + std::fmt::Display>(
    op: Op,
    pairs: Pairs,
    targets: &[Target],
    count: usize,
    limit: f64,
    any: fn(u64) -> T,
    exact: impl Fn(T, T) -> Exact + Sync + Send,
) -> Result<Vec<Row>, Error> {
    let mut worst = entries(targets);
    let mut block = |(x, y): (Vec<T>, Vec<T>)| {
        let indices: Vec<usize> = (0..x.len()).collect();
        let exact = in_parallel(&indices, |&i| exact(x[i], y[i]));
        compare(targets, op, &[&x, &y], &exact, &mut worst)
    };
    block(grid())?;
    for (number, first) in (0..count).step_by(BLOCK).enumerate() {
        block(random_pairs(pairs, BLOCK.min(count - first), number as u64, any))?;
    }
    Ok(rows::<T>(op, targets, worst, limit))
}
