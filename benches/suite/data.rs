//! The arrays of the rows, ours and the Rust peers', with the same values; the Python peers make them, too.

use std::cell::OnceCell;
use std::cmp::Ordering;
use std::sync::OnceLock;

use ndarray::{ArcArray1, ArcArray2, Array1, Array2, NdFloat};
use num_traits::FromPrimitive;
use rustfft::FftNum;
use stridewise::{
    Array, Complex, Element, FloatElement, NumElement, Queue, Reducible, Result, UsmArray, f16, s,
};
use voracious_radix_sort::RadixSort;

/// An element type of rows.
pub(crate) trait Sample: NumElement + Reducible + PartialOrd + std::ops::Add<Output = Self> {
    /// A value of this type for a number from 0 to 1: from 0.5 to 1.5, of integers from 0 to 50, so that sums do not
    /// overflow.
    fn sample(unit: f64) -> Self;
}

macro_rules! samples {
    ($($ty:ty, $unit:ident => $value:expr;)*) => {$(
        impl Sample for $ty {
            fn sample($unit: f64) -> Self {
                $value
            }
        }
    )*};
}
samples! {
    f32, unit => (unit + 0.5) as Self;
    f64, unit => unit + 0.5;
    f16, unit => Self::from_f64(unit + 0.5);
    i32, unit => (unit * 50.0) as Self;
    i16, unit => (unit * 50.0) as Self;
    i8, unit => (unit * 50.0) as Self;
}

/// An element type of all rows.
pub(crate) trait Real:
    Sample + NdFloat + FromPrimitive + FloatElement + FftNum + Reducible<Sum = Self, Mean = Self, Spread = Self>
{
    /// What the row `cast` converts to.
    type Other: Element;
    fn of(value: f64) -> Self;
    fn other(self) -> Self::Other;
    fn added_to(self, int: i32) -> f64;
    /// Sorts by digits, on so many threads.
    fn sort_by_digits(values: &mut [Self], threads: usize);
}

macro_rules! reals {
    ($($ty:ty, $other:ty;)*) => {$(
        impl Real for $ty {
            type Other = $other;
            fn of(value: f64) -> Self {
                value as Self
            }
            fn other(self) -> $other {
                self as $other
            }
            fn added_to(self, int: i32) -> f64 {
                f64::from(int) + f64::from(self)
            }
            fn sort_by_digits(values: &mut [Self], threads: usize) {
                values.voracious_mt_sort(threads);
            }
        }
    )*};
}
reals! {
    f32, f64;
    f64, f32;
}

/// Values in no order, different for each seed: the place, mixed as hash functions do.
pub(crate) fn values<T: Sample>(n: usize, seed: u32) -> Vec<T> {
    let mixed = |place: u32| {
        let mixed = place.wrapping_mul(2_654_435_761).wrapping_add(seed * 40_503);
        let mixed = (mixed ^ (mixed >> 15)).wrapping_mul(2_246_822_519);
        mixed ^ (mixed >> 13)
    };
    (0..n as u32).map(|place| T::sample(f64::from(mixed(place)) / 4_294_967_296.0)).collect()
}

/// The values of a row in order, as a table that is searched.
fn table<T: Sample>(n: usize) -> Vec<T> {
    let mut table = values::<T>(n, 3);
    table.truncate(n.isqrt());
    // None is NaN.
    table.sort_unstable_by(|a, b| a.partial_cmp(b).unwrap_or(Ordering::Equal));
    table
}

/// Places of elements, in no order.
fn places(n: usize) -> Vec<i64> {
    values::<f64>(n, 6).into_iter().map(|x| ((x - 0.5) * n as f64) as i64).collect()
}

/// Our arrays; views share memory.
pub(crate) struct Ours<T: Sample> {
    pub(crate) a: Array<T>,
    pub(crate) b: Array<T>,
    pub(crate) c: Array<T>,
    pub(crate) d: Array<T>,
    pub(crate) out: Array<T>,
    pub(crate) mask: Array<bool>,
    pub(crate) ints: Array<i32>,
    pub(crate) a_square: Array<T>,
    pub(crate) b_square: Array<T>,
    pub(crate) out_square: Array<T>,
    pub(crate) b_transposed: Array<T>,
    pub(crate) a_half: Array<T>,
    pub(crate) b_half: Array<T>,
    pub(crate) a_back: Array<T>,
    pub(crate) row: Array<T>,
    pub(crate) column: Array<T>,
    /// In order.
    pub(crate) table: Array<T>,
    pub(crate) places: Array<i64>,
    /// Rows of eight.
    pub(crate) a_rows: Array<T>,
    pub(crate) b_rows: Array<T>,
    /// What few rows have, made when it is asked for.
    complex: OnceCell<UsmArray>,
    definite: OnceCell<Array<T>>,
    few: OnceCell<(Array<T>, Array<T>)>,
    definite_few: OnceCell<Array<T>>,
}

/// What a cell has, or is made now.
fn made<V>(cell: &OnceCell<V>, make: impl FnOnce() -> Result<V>) -> Result<&V> {
    if let Some(value) = cell.get() {
        return Ok(value);
    }
    let value = make()?;
    Ok(cell.get_or_init(|| value))
}

impl<T: Real> Ours<T> {
    /// Complex numbers with these real and imaginary parts.
    pub(crate) fn complex(&self) -> Result<&UsmArray> {
        made(&self.complex, || {
            let (a, b) = (self.a.astype::<f64>().to_vec()?, self.b.astype::<f64>().to_vec()?);
            let numbers: Vec<Complex<f64>> =
                a.into_iter().zip(b).map(|(re, im)| Complex::new(re, im)).collect();
            let numbers = UsmArray::from_slice(self.a.queue(), self.a.shape(), &numbers, self.a.usm_kind())?;
            let numbers =
                numbers.astype(if size_of::<T>() == 4 { Complex::<f32>::DTYPE } else { numbers.dtype() })?;
            numbers.wait()?;
            Ok(numbers)
        })
    }

    /// A symmetric positive definite matrix.
    pub(crate) fn definite(&self) -> Result<&Array<T>> {
        made(&self.definite, || definite(&self.a_square))
    }

    /// Matrices of 4 by 4.
    pub(crate) fn few(&self) -> Result<&(Array<T>, Array<T>)> {
        let few = |x: &Array<T>| x.reshape([-1, 4, 4]);
        made(&self.few, || Ok((few(&self.a)?, few(&self.b)?)))
    }

    /// Such matrices that are symmetric and positive definite.
    pub(crate) fn definite_few(&self) -> Result<&Array<T>> {
        made(&self.definite_few, || definite(&self.few()?.0))
    }
}

/// A matrix times its transpose, and the identity.
fn definite<T: Real>(x: &Array<T>) -> Result<Array<T>> {
    let rows = x.shape()[x.ndim() - 1];
    let product = x.matmul(&x.matrix_transpose()?) + Array::on(x.queue()).eye(rows)?;
    product.wait()?;
    Ok(product)
}

impl<T: Sample> Ours<T> {
    /// Arrays of `n` elements, a square number.
    pub(crate) fn new(queue: &Queue, n: usize) -> Result<Self> {
        let side = n.isqrt();
        // In memory of the engine's own, as results are, with huge pages; a vector that is taken over keeps its small ones.
        let array = |seed| Array::on(queue).from_slice([n], &values::<T>(n, seed));
        let (a, b, c, d) = (array(1)?, array(2)?, array(3)?, array(4)?);
        let out = a.zeros_like()?;
        let b_square = b.reshape([side, side])?;
        let row = c.slice(s![..side as isize])?;
        let ints = Array::on(queue).from_slice([n], &values::<i32>(n, 5))?;
        let ours = Self {
            mask: Array::on(queue).from_slice([n], &mask(n))?,
            ints,
            a_square: a.reshape([side, side])?,
            out_square: out.reshape([side, side])?,
            b_transposed: b_square.t(),
            b_square,
            a_half: a.slice(s![..; 2])?,
            b_half: b.slice(s![..; 2])?,
            a_back: a.slice(s![..; -1])?,
            column: row.reshape([side, 1])?,
            row,
            table: Array::on(queue).from_slice([side], &table::<T>(n))?,
            places: Array::on(queue).from_slice([n], &places(n))?,
            a_rows: a.reshape([n / 8, 8])?,
            b_rows: b.reshape([n / 8, 8])?,
            complex: OnceCell::new(),
            definite: OnceCell::new(),
            few: OnceCell::new(),
            definite_few: OnceCell::new(),
            a,
            b,
            c,
            d,
            out,
        };
        ours.out.wait()?;
        Ok(ours)
    }
}

/// Where values of the first array are above those of the second.
fn mask(n: usize) -> Vec<bool> {
    let above = |(a, b): (f64, f64)| a > b;
    values::<f64>(n, 1).into_iter().zip(values::<f64>(n, 2)).map(above).collect()
}

/// The arrays of the Rust peers: ndarray's; iterators run over their slices.
pub(crate) struct Rust<T> {
    pub(crate) a: ArcArray1<T>,
    pub(crate) b: ArcArray1<T>,
    pub(crate) c: ArcArray1<T>,
    pub(crate) d: ArcArray1<T>,
    pub(crate) out: Array1<T>,
    pub(crate) mask: Vec<bool>,
    pub(crate) ints: Array1<i32>,
    pub(crate) a_square: ArcArray2<T>,
    pub(crate) b_square: ArcArray2<T>,
    pub(crate) out_square: Array2<T>,
    pub(crate) row: Array1<T>,
    pub(crate) column: Array2<T>,
    /// In order.
    pub(crate) table: Vec<T>,
    pub(crate) places: Vec<usize>,
    /// What few rows have, made when it is asked for.
    complex: OnceLock<Vec<Complex<T>>>,
}

impl<T: Real> Rust<T> {
    /// Complex numbers with the real and imaginary parts that ours have.
    pub(crate) fn complex(&self) -> &[Complex<T>] {
        let numbers = || self.a.iter().zip(&self.b).map(|(&re, &im)| Complex::new(re, im)).collect();
        self.complex.get_or_init(numbers)
    }
}

impl<T: Sample> Rust<T> {
    /// Arrays of `n` elements, a square number.
    ///
    /// # Panics
    /// Where `n` is no square number.
    pub(crate) fn new(n: usize) -> Self {
        let side = n.isqrt();
        let array = |seed| Array1::from_vec(values::<T>(n, seed)).into_shared();
        let (a, b, c, d) = (array(1), array(2), array(3), array(4));
        let square = |array: &ArcArray1<T>| {
            array.clone().into_shape_with_order((side, side)).expect("a square number of elements")
        };
        let row = c.slice(ndarray::s![..side]).to_owned();
        Self {
            out: Array1::from_elem(n, T::default()),
            mask: mask(n),
            ints: values::<i32>(n, 5).into(),
            a_square: square(&a),
            b_square: square(&b),
            out_square: Array2::from_elem((side, side), T::default()),
            column: row.clone().insert_axis(ndarray::Axis(1)),
            row,
            table: table(n),
            places: places(n).into_iter().map(|place| place as usize).collect(),
            complex: OnceLock::new(),
            a,
            b,
            c,
            d,
        }
    }
}

/// The elements of an array of the peers'.
pub(crate) fn elements<T>(array: &ArcArray1<T>) -> &[T] {
    // Made from vectors, they are contiguous.
    array.as_slice().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_in_range_and_in_no_order() {
        let floats = values::<f32>(1024, 1);
        assert!(floats.iter().all(|x| (0.5..=1.5).contains(x)));
        let rises = floats.windows(2).filter(|pair| pair[0] < pair[1]).count();
        assert!((256..768).contains(&rises), "{rises}");
        assert!(values::<i8>(1024, 1).iter().all(|&x| x.checked_add(50).is_some()));
        // What the script of the Python peers computes.
        let script = [1.2761851872783154, 1.1465472953859717, 1.4038019960280508, 1.2152215966489166];
        assert_eq!(values::<f64>(4, 1), script);
        assert_eq!(values::<i32>(5, 5), [27, 6, 45, 27, 24]);
    }

    #[test]
    fn masks_are_mixed() {
        let yes = mask(4096).into_iter().filter(|&yes| yes).count();
        assert!((1800..2300).contains(&yes), "{yes}");
    }
}
