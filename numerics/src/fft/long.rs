//! Transforms of many points, each by two rounds of short ones, which fit the caches and which all threads share: with
//! n = rows × columns points, the columns of that matrix are transformed, multiplied with roots of unity, and then its rows
//! (D. H. Bailey, "FFTs in external or hierarchical memory", 1990). The engine turns the matrices.

use stridewise_core::memory::heap;
use stridewise_core::{Complex, Element, Ellipsis, Result, UsmArray, s};

use super::plans::{FACTORS, Plan, Point, Sort};
use super::rows::{fill, scale};
use crate::batches::{Rows, each};
use crate::place;

/// Bytes from which on one plan for all points is slower, as they and its scratch leave the caches: of half as many it takes a
/// third of the time that this takes, of as many twice the time (measured with a last cache of 32 MiB).
const LONG: usize = 16 << 20;
/// A matrix with shorter sides is none of short transforms: one of its sides is nearly as long as the whole.
const SHORTEST: usize = 64;

/// The sides of the matrix that so many points of a type are, where they are many and do not have too large a prime factor.
pub(super) fn sides<V>(points: usize) -> Option<(usize, usize)> {
    if points < LONG / size_of::<V>() {
        return None;
    }
    let shorter = (SHORTEST..=points.isqrt()).rev().find(|&side| points.is_multiple_of(side))?;
    Some((shorter, points / shorter))
}

/// A number's type with what transforms of it need.
pub(super) trait Number: Point + bytemuck::Zeroable {}
impl<T: Point + bytemuck::Zeroable> Number for T {}

/// The powers of the n-th root of unity, as products of two of a few of them.
struct Roots<T> {
    fine: Vec<Complex<T>>,
    coarse: Vec<Complex<T>>,
    shift: u32,
}

impl<T: Number> Roots<T>
where
    Complex<T>: Element + bytemuck::Zeroable,
{
    /// # Errors
    /// [`Error::Alloc`](stridewise_core::Error::Alloc).
    fn new(points: usize, inverse: bool) -> Result<Self> {
        let shift = points.isqrt().ilog2();
        let turn = if inverse { std::f64::consts::TAU } else { -std::f64::consts::TAU } / points as f64;
        let part = |value: f64| T::from_f64(value).unwrap_or_else(T::zero);
        let powers = |count: usize, step: usize| -> Result<Vec<Complex<T>>> {
            let mut powers = heap::zeroed(FACTORS, count)?;
            for (number, power) in powers.iter_mut().enumerate() {
                let (sin, cos) = (turn * (number * step) as f64).sin_cos();
                *power = Complex::new(part(cos), part(sin));
            }
            Ok(powers)
        };
        Ok(Self { fine: powers(1 << shift, 1)?, coarse: powers((points >> shift) + 1, 1 << shift)?, shift })
    }

    /// The root to a power below the number of points.
    fn power(&self, power: usize) -> Complex<T> {
        self.coarse[power >> self.shift] * self.fine[power & ((1 << self.shift) - 1)]
    }
}

/// The shape of an array, with other extents in place of its last one.
fn with_last(x: &UsmArray, last: &[usize]) -> Vec<usize> {
    let (_, before) = x.shape().split_last().unwrap_or((&1, &[]));
    [before, last].concat()
}

/// The elements of an array, in row-major order, in a shape.
fn reshaped(x: &UsmArray, shape: &[usize]) -> Result<UsmArray> {
    x.reshape(&shape.iter().map(|extent| extent.cast_signed()).collect::<Vec<_>>())
}

/// The first `points` elements along the last axis, zeros where there are fewer, of an array of this dtype.
///
/// # Errors
/// [`Error::Alloc`](stridewise_core::Error::Alloc).
pub(super) fn fit<V: Element + bytemuck::Zeroable>(x: &UsmArray, points: usize) -> Result<UsmArray> {
    let given = x.shape().last().copied().unwrap_or(1);
    if given >= points {
        return x.astype(V::DTYPE)?.slice(s![Ellipsis, ..points as isize]);
    }
    let shape = with_last(x, &[points]);
    place::filled::<V>("n", x, &shape, V::DTYPE, |values| {
        let source = place::read::<V>(x)?;
        for (to, from) in values.chunks_exact_mut(points).zip(source.chunks(given.max(1))) {
            fill(to, from);
        }
        Ok(())
    })
}

/// Rows of an array of complex numbers, each computed from one of `x` of as many.
///
/// # Errors
/// [`Error::Alloc`](stridewise_core::Error::Alloc); that of a row.
fn rows<T: Number>(
    x: &UsmArray,
    sort: Sort,
    finish: impl Fn(&mut [Complex<T>], usize) + Sync,
) -> Result<UsmArray>
where
    Complex<T>: Element + bytemuck::Zeroable,
{
    let points = x.shape().last().copied().unwrap_or(1);
    place::filled::<Complex<T>>("n", x, x.shape(), Complex::<T>::DTYPE, |values| {
        let source = place::read::<Complex<T>>(x)?;
        let Plan::Complex(plan) = T::plans().get(sort, points)? else { return Ok(()) };
        let scratch = || heap::zeroed::<Complex<T>>(FACTORS, plan.get_inplace_scratch_len());
        let (count, cost) = (values.len() / points, 5.0 * points as f64 * (points as f64).log2());
        each(x.device(), count, cost, Rows::new(values, points), scratch, |scratch, out, number| {
            let out = out.next();
            fill(out, &source[number * points..][..points]);
            plan.process_with_scratch(out, scratch);
            finish(out, number);
            Ok(())
        })
    })
}

/// The transform along the last axis of complex numbers, as many as the sides say, its results multiplied with `factor`.
///
/// # Errors
/// [`Error::Alloc`](stridewise_core::Error::Alloc); the failure of the work that computes the array.
pub(super) fn complex<T: Number>(
    x: &UsmArray,
    sort: Sort,
    (height, width): (usize, usize),
    factor: Option<T>,
) -> Result<UsmArray>
where
    Complex<T>: Element + bytemuck::Zeroable,
{
    let points = height * width;
    let roots = Roots::<T>::new(points, sort == Sort::Inverse)?;
    let columns = reshaped(x, &with_last(x, &[height, width]))?.swap_axes(-1, -2)?;
    let columns = rows::<T>(&columns, sort, |out, number| {
        let column = number % width;
        out.iter_mut().enumerate().for_each(|(row, value)| *value = *value * roots.power(column * row));
    })?;
    let rows = rows::<T>(&columns.swap_axes(-1, -2)?, sort, |out, _| scale(out, factor))?;
    reshaped(&rows.swap_axes(-1, -2)?, &with_last(x, &[points]))
}

/// The transform of real numbers, two for each point of the sides: that of complex numbers made of two each, whose even and odd part
/// are the transforms of the numbers at even and odd places.
///
/// # Errors
/// As [`complex`].
pub(super) fn from_real<T: Number>(x: &UsmArray, sides: (usize, usize), factor: Option<T>) -> Result<UsmArray>
where
    Complex<T>: Element + bytemuck::Zeroable,
{
    let half = sides.0 * sides.1;
    let shape = with_last(x, &[half]);
    let pairs = place::filled::<Complex<T>>("n", x, &shape, Complex::<T>::DTYPE, |values| {
        let source = place::read::<T>(x)?;
        let count = values.len() / sides.0;
        each(
            x.device(),
            count,
            sides.0 as f64,
            Rows::new(values, sides.0),
            || Ok(()),
            |(), out, number| {
                let pairs = source[2 * number * sides.0..].chunks_exact(2);
                out.next().iter_mut().zip(pairs).for_each(|(to, pair)| *to = Complex::new(pair[0], pair[1]));
                Ok(())
            },
        )
    })?;
    let whole = complex::<T>(&pairs, Sort::Forward, sides, factor)?;
    let shape = with_last(x, &[half + 1]);
    let roots = Roots::<T>::new(2 * half, false)?;
    let two = T::one() + T::one();
    place::filled::<Complex<T>>("n", x, &shape, Complex::<T>::DTYPE, |values| {
        let source = place::read::<Complex<T>>(&whole)?;
        for (out, from) in values.chunks_exact_mut(half + 1).zip(source.chunks_exact(half)) {
            let at = |k: usize| {
                let (one, other) = (from[k % half], from[(half - k) % half].conj());
                let (even, odd) = ((one + other) / two, (one - other) / two);
                even + Complex::new(odd.im, -odd.re) * roots.power(k)
            };
            let (blocks, last) = out.split_at_mut(half);
            last[0] = at(half);
            let (count, cost) = (sides.1, 10.0 * sides.0 as f64);
            each(
                x.device(),
                count,
                cost,
                Rows::new(blocks, sides.0),
                || Ok(()),
                |(), out, number| {
                    let first = number * sides.0;
                    out.next().iter_mut().enumerate().for_each(|(i, value)| *value = at(first + i));
                    Ok(())
                },
            )?;
        }
        Ok(())
    })
}

/// The inverse of [`from_real`], twice as large as its numbers are, of one point more than the sides have.
///
/// # Errors
/// As [`complex`].
pub(super) fn to_real<T: Number>(x: &UsmArray, sides: (usize, usize), factor: Option<T>) -> Result<UsmArray>
where
    Complex<T>: Element + bytemuck::Zeroable,
{
    let half = sides.0 * sides.1;
    let shape = with_last(x, &[half]);
    let roots = Roots::<T>::new(2 * half, true)?;
    let pairs = place::filled::<Complex<T>>("n", x, &shape, Complex::<T>::DTYPE, |values| {
        let source = place::read::<Complex<T>>(x)?;
        let count = values.len() / sides.0;
        let cost = 10.0 * sides.0 as f64;
        each(
            x.device(),
            count,
            cost,
            Rows::new(values, sides.0),
            || Ok(()),
            |(), out, number| {
                let (row, block) = (number / sides.1, number % sides.1);
                let from = &source[row * (half + 1)..][..half + 1];
                // Elements that mirror themselves are real: of others only the real part counts.
                let point = |k: usize| match k == 0 || k == half {
                    true => Complex::new(from[k].re, T::zero()),
                    false => from[k],
                };
                for (i, value) in out.next().iter_mut().enumerate() {
                    let k = block * sides.0 + i;
                    let (one, other) = (point(k), point(half - k).conj());
                    let odd = (one - other) * roots.power(k);
                    *value = one + other + Complex::new(-odd.im, odd.re);
                }
                Ok(())
            },
        )
    })?;
    let whole = complex::<T>(&pairs, Sort::Inverse, sides, factor)?;
    let shape = with_last(x, &[2 * half]);
    place::filled::<T>("n", x, &shape, T::DTYPE, |values| {
        let source = place::read::<Complex<T>>(&whole)?;
        let count = values.len() / (2 * sides.0);
        let cells = Rows::new(values, 2 * sides.0);
        each(
            x.device(),
            count,
            sides.0 as f64,
            cells,
            || Ok(()),
            |(), out, number| {
                let pairs = out.next().chunks_exact_mut(2);
                for (to, from) in pairs.zip(&source[number * sides.0..]) {
                    (to[0], to[1]) = (from.re, from.im);
                }
                Ok(())
            },
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_are_near_the_root_where_they_can_be() {
        assert_eq!(sides::<Complex<f64>>(1 << 20), Some((1 << 10, 1 << 10)));
        assert_eq!(sides::<Complex<f32>>(1 << 21), Some((1 << 10, 1 << 11)));
        assert_eq!(sides::<Complex<f64>>(4_000_000), Some((2000, 2000)));
        let none = [(1 << 20) - 1, 2_000_003, 4 * 500_009].map(sides::<Complex<f64>>);
        assert_eq!(none, [None; 3]);
    }

    #[test]
    fn roots_are_those_of_their_powers() {
        for (points, inverse) in [(1 << 18, false), (3 * (1 << 18) + 8, true)] {
            let roots = Roots::<f64>::new(points, inverse).unwrap();
            let turn = if inverse { 1.0 } else { -1.0 } * std::f64::consts::TAU / points as f64;
            for power in [0, 1, 511, 512, 513, points / 2, points - 1] {
                let wanted = Complex::from_polar(1.0, turn * power as f64);
                assert!((roots.power(power) - wanted).norm() < 1e-15, "{power} of {points}");
            }
        }
    }
}
