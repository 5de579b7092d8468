//! Discrete Fourier transforms along axes of arrays.
//!
//! They are computed in `complex64` of `float32`, `complex64` and 16-bit floats, in `complex128` of doubles, and of integers
//! and `bool` in the default complex dtype. Rows are shared out among the threads of the array's device; a single row is
//! computed on the calling thread, unless it is long. Plans of the lengths that were used last are kept.
//!
//! ```
//! # stridewise_core::register_driver!(stridewise_host::driver);
//! use stridewise_core::{Array, array};
//! use stridewise_numerics::fft::{self, Norm};
//!
//! let x: Array<f64> = array![1.0, 2.0, 3.0, 4.0];
//! let spectrum = fft::rfft(&x, None, -1, Norm::Backward)?;
//! assert_eq!(spectrum.shape(), [3]);
//! let back = fft::irfft(&spectrum, Some(4), -1, Norm::Backward)?;
//! assert!((back - x).abs().max()? < 1e-15);
//! # Ok::<(), stridewise_core::Error>(())
//! ```
//!
//! # Errors
//! All transforms: [`Error::Axis`] for an axis out of range, [`Error::Value`] for fewer points than 1, [`Error::Unsupported`]
//! for an array in memory of an accelerator that the processor does not reach, [`Error::Alloc`] where memory for the results
//! or for a plan is missing, and the failure of the work that computes the array.

mod device;
mod long;
mod plans;
mod rows;

use stridewise_core::{
    Dtype, DtypeKind, Error, Op, Queue, Result, UsmArray, UsmKind, backend::normalize_axis,
};

pub use crate::arrays::NumericArray;
use plans::Sort;
use rows::Transform;

/// Where the factor 1 / n of a transform of n points and its inverse is.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Norm {
    /// On the inverse transform.
    #[default]
    Backward,
    /// Its root on both.
    Ortho,
    /// On the forward transform.
    Forward,
}

impl Norm {
    fn factor(self, points: usize, inverse: bool) -> f64 {
        match self {
            Self::Ortho => (points as f64).sqrt().recip(),
            Self::Backward if inverse => (points as f64).recip(),
            Self::Forward if !inverse => (points as f64).recip(),
            _ => 1.0,
        }
    }

    /// The one of the transform in the other direction.
    fn other(self) -> Self {
        match self {
            Self::Backward => Self::Forward,
            Self::Ortho => Self::Ortho,
            Self::Forward => Self::Backward,
        }
    }
}

fn extent(x: &UsmArray, axis: isize) -> Result<usize> {
    Ok(x.shape()[normalize_axis("axis", axis, x.ndim())?])
}

fn complex(x: &UsmArray, points: Option<usize>, axis: isize, norm: Norm, inverse: bool) -> Result<UsmArray> {
    let points = points.map_or_else(|| extent(x, axis), Ok)?;
    let sort = if inverse { Sort::Inverse } else { Sort::Forward };
    Transform { sort, points, factor: norm.factor(points, inverse) }.along(x, axis)
}

fn from_real(x: &UsmArray, points: Option<usize>, axis: isize, norm: Norm) -> Result<UsmArray> {
    if x.dtype().kind() == DtypeKind::Complex {
        return Err(Error::dtype(
            "x",
            x.dtype(),
            "real numbers",
            "take the real parts first, with `real`, or use `fft`",
        ));
    }
    let points = points.map_or_else(|| extent(x, axis), Ok)?;
    Transform { sort: Sort::FromReal, points, factor: norm.factor(points, false) }.along(x, axis)
}

fn to_real(x: &UsmArray, points: Option<usize>, axis: isize, norm: Norm) -> Result<UsmArray> {
    let points = points.map_or_else(|| extent(x, axis).map(|n| 2 * n.saturating_sub(1)), Ok)?;
    Transform { sort: Sort::ToReal, points, factor: norm.factor(points, true) }.along(x, axis)
}

/// One line per transform along an axis: name, the class of its result, how it is computed, text.
macro_rules! transforms {
    ($($(#[$doc:meta])* $name:ident $Out:ty, $into:ident: |$x:ident, $n:ident, $axis:ident, $norm:ident| $body:expr;)*) => {$(
        $(#[$doc])*
        ///
        /// `n` is the number of points: elements are left out at the end or zeros added. `axis` may count from the end.
        ///
        /// # Errors
        /// See the [module](self).
        pub fn $name<A: NumericArray>(x: &A, n: Option<usize>, axis: isize, norm: Norm) -> Result<$Out> {
            let ($x, $n, $axis, $norm) = (x.untyped(), n, axis, norm);
            A::$into($body?)
        }
    )*};
}

transforms! {
    /// The discrete Fourier transform along an axis: element k is the sum of `x[j] exp(−2πi jk / n)` over j.
    fft A::Complex, complex_from: |x, n, axis, norm| complex(x, n, axis, norm, false);
    /// The inverse of [`fft`].
    ifft A::Complex, complex_from: |x, n, axis, norm| complex(x, n, axis, norm, true);
    /// The first n / 2 + 1 elements of the [`fft`] of real numbers, which the others mirror. [`Error::Dtype`] for complex
    /// numbers.
    rfft A::Complex, complex_from: |x, n, axis, norm| from_real(x, n, axis, norm);
    /// The inverse of [`rfft`]: n real numbers, by default 2 (m − 1), of m elements along the axis.
    irfft A::Real, real_from: |x, n, axis, norm| to_real(x, n, axis, norm);
    /// The [`fft`], real numbers, of a mirrored signal, of which x has the first n / 2 + 1 elements.
    hfft A::Real, real_from: |x, n, axis, norm| to_real(&conjugate(x)?, n, axis, norm.other());
    /// The inverse of [`hfft`]. [`Error::Dtype`] for complex numbers.
    ihfft A::Complex, complex_from: |x, n, axis, norm| conjugate(&from_real(x, n, axis, norm.other())?);
}

fn conjugate(x: &UsmArray) -> Result<UsmArray> {
    if x.dtype().kind() == DtypeKind::Complex { x.unary(Op::Conj) } else { Ok(x.clone()) }
}

/// Numbers of points along several axes (`None`: as many elements as there are along each), and the axes (`None`: all, or as
/// many of the last as there are numbers of points).
#[derive(Clone, Copy, Default, Debug)]
pub struct Points<'a> {
    /// Numbers of points; `None` for as many as there are.
    pub s: Option<&'a [Option<usize>]>,
    /// The axes.
    pub axes: Option<&'a [isize]>,
}

impl Points<'_> {
    fn pairs(self, x: &UsmArray) -> Result<Vec<(isize, Option<usize>)>> {
        let ndim = x.ndim().cast_signed();
        let axes: Vec<isize> = match (self.axes, self.s) {
            (Some(axes), _) => axes.to_vec(),
            (None, None) => (0..ndim).collect(),
            (None, Some(s)) => (-s.len().cast_signed()..0).collect(),
        };
        let numbers = self.s.map_or_else(|| vec![None; axes.len()], <[_]>::to_vec);
        if numbers.len() != axes.len() {
            return Err(Error::value(
                "s",
                format!("{} numbers of points for {} axes", numbers.len(), axes.len()),
                "one for each axis",
                "name as many numbers as axes",
            ));
        }
        // Axes are checked before anything is computed; one that is named twice is gone along twice.
        for &axis in &axes {
            normalize_axis("axes", axis, x.ndim())?;
        }
        Ok(axes.into_iter().zip(numbers).collect())
    }

    fn some(self, x: &UsmArray) -> Result<Vec<(isize, Option<usize>)>> {
        let pairs = self.pairs(x)?;
        if pairs.is_empty() {
            return Err(Error::value("axes", "empty", "at least one axis", "name an axis"));
        }
        Ok(pairs)
    }
}

fn complex_along(
    x: &UsmArray,
    pairs: &[(isize, Option<usize>)],
    norm: Norm,
    inverse: bool,
) -> Result<UsmArray> {
    pairs.iter().rev().try_fold(x.clone(), |x, &(axis, n)| complex(&x, n, axis, norm, inverse))
}

/// The [`fft`] along several axes.
///
/// # Errors
/// See the [module](self); [`Error::Value`] where there are not as many numbers of points as axes.
pub fn fftn<A: NumericArray>(x: &A, points: Points<'_>, norm: Norm) -> Result<A::Complex> {
    let x = x.untyped();
    A::complex_from(of_complex(complex_along(x, &points.pairs(x)?, norm, false)?)?)
}

/// The inverse of [`fftn`].
///
/// # Errors
/// As for [`fftn`].
pub fn ifftn<A: NumericArray>(x: &A, points: Points<'_>, norm: Norm) -> Result<A::Complex> {
    let x = x.untyped();
    A::complex_from(of_complex(complex_along(x, &points.pairs(x)?, norm, true)?)?)
}

/// Complex numbers, also where there was no axis to go along.
fn of_complex(x: UsmArray) -> Result<UsmArray> {
    if x.dtype().kind() == DtypeKind::Complex {
        Ok(x)
    } else {
        x.astype(crate::place::complex(crate::place::dtypes(&x).0))
    }
}

/// The [`rfft`] along the last of several axes, and the [`fft`] along the others.
///
/// # Errors
/// As for [`fftn`] and [`rfft`]; [`Error::Value`] for no axes.
pub fn rfftn<A: NumericArray>(x: &A, points: Points<'_>, norm: Norm) -> Result<A::Complex> {
    let x = x.untyped();
    let pairs = points.some(x)?;
    let (&(axis, n), others) = pairs.split_last().unwrap_or((&(-1, None), &[]));
    A::complex_from(complex_along(&from_real(x, n, axis, norm)?, others, norm, false)?)
}

/// The inverse of [`rfftn`].
///
/// # Errors
/// As for [`fftn`]; [`Error::Value`] for no axes.
pub fn irfftn<A: NumericArray>(x: &A, points: Points<'_>, norm: Norm) -> Result<A::Real> {
    let x = x.untyped();
    let pairs = points.some(x)?;
    let (&(axis, n), others) = pairs.split_last().unwrap_or((&(-1, None), &[]));
    let forwards = others.iter().try_fold(x.clone(), |x, &(axis, n)| complex(&x, n, axis, norm, true))?;
    A::real_from(to_real(&forwards, n, axis, norm)?)
}

/// The number of points at a distance that frequencies are of.
fn frequencies(queue: &Queue, n: usize, d: f64, dtype: Dtype, kind: UsmKind, real: bool) -> Result<UsmArray> {
    if n == 0 {
        return Err(Error::value("n", 0, "1 or more", "name the number of points of the transform"));
    }
    if dtype.kind() != DtypeKind::Float {
        return Err(Error::dtype("dtype", dtype, "a real floating-point dtype", "name one, as float64"));
    }
    let (count, behind) = if real { (n / 2 + 1, n) } else { (n, n.div_ceil(2)) };
    let mut values = stridewise_core::memory::heap::with_capacity("n", count)?;
    let place = |k: usize| if k < behind { k as f64 } else { -((n - k) as f64) };
    values.extend((0..count).map(|k| place(k) / (d * n as f64)));
    // A device without doubles gets what it has.
    if queue.device().dtype_support().f64 {
        return UsmArray::from_slice::<f64>(queue, &[count], &values, kind)?.astype(dtype);
    }
    let mut single = stridewise_core::memory::heap::with_capacity("n", values.len())?;
    single.extend(values.iter().map(|&value| value as f32));
    UsmArray::from_slice::<f32>(queue, &[count], &single, kind)?.astype(dtype)
}

/// The frequencies of a transform of n points at a distance d: 0, 1, …, then the negative ones, over d · n.
///
/// # Errors
/// [`Error::Value`] for no points, [`Error::Dtype`] for a dtype that is not real floating point, [`Error::Alloc`].
pub fn fftfreq(queue: &Queue, n: usize, d: f64, dtype: Dtype, kind: UsmKind) -> Result<UsmArray> {
    frequencies(queue, n, d, dtype, kind, false)
}

/// The frequencies of a transform of n real points at a distance d: 0, 1, …, n / 2, over d · n.
///
/// # Errors
/// As for [`fftfreq`].
pub fn rfftfreq(queue: &Queue, n: usize, d: f64, dtype: Dtype, kind: UsmKind) -> Result<UsmArray> {
    frequencies(queue, n, d, dtype, kind, true)
}

fn shifted(x: &UsmArray, axes: Option<&[isize]>, back: bool) -> Result<UsmArray> {
    let all: Vec<isize> = (0..x.ndim().cast_signed()).collect();
    let axes = axes.unwrap_or(&all);
    if axes.is_empty() {
        return x.copy();
    }
    let places: Result<Vec<usize>> =
        axes.iter().map(|&axis| normalize_axis("axes", axis, x.ndim())).collect();
    // The middle goes to the front, or back: halves round down here and up there.
    let shift = |place: usize| {
        let half = (x.shape()[place] / 2).cast_signed();
        if back { -half } else { half }
    };
    let shifts: Vec<isize> = places?.into_iter().map(shift).collect();
    x.roll(&shifts, Some(axes))
}

/// The elements rolled along axes (`None`: all) so that frequency 0 is in the middle; on the array's device.
///
/// # Errors
/// [`Error::Axis`] for an axis out of range.
pub fn fftshift<A: NumericArray>(x: &A, axes: Option<&[isize]>) -> Result<A> {
    A::from_untyped(shifted(x.untyped(), axes, false)?)
}

/// The inverse of [`fftshift`].
///
/// # Errors
/// [`Error::Axis`] for an axis out of range.
pub fn ifftshift<A: NumericArray>(x: &A, axes: Option<&[isize]>) -> Result<A> {
    A::from_untyped(shifted(x.untyped(), axes, true)?)
}
