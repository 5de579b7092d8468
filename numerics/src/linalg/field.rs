//! The four types that matrices are computed in.

use std::ops::Div;

use dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::diag::DiagMut;
use faer::linalg::evd::{self, ComputeEigenvectors, EvdError};
use faer::traits::{ComplexField, RealField};
use faer::{MatMut, MatRef, Par};
use num_complex::Complex;
use stridewise_core::memory::heap;
use stridewise_core::{Element, Error, Result};

use super::wide::Wide;

/// Rows and columns of matrices that plain loops factor at most: of the library's time most would be its preparations.
/// 10 000 inverses of 4 by 4 took it 2.6 times as long.
pub(crate) const FEW: usize = 8;
/// Each matrix is computed on one thread: a stack's are shared out among the engine's.
pub(crate) const ALONE: Par = Par::Seq;
/// What scratch is called in errors.
pub(crate) const SCRATCH: &str = "scratch of a decomposition";

/// Scratch memory of a library function.
///
/// # Errors
/// [`Error::Alloc`].
pub(crate) fn buffer(needed: StackReq) -> Result<MemBuffer> {
    MemBuffer::try_new(needed).map_err(|_| {
        Error::alloc(
            SCRATCH,
            format!("{} bytes of the host's memory", needed.unaligned_bytes_required()),
            "no more than the system has left",
            "free arrays, or work on smaller matrices",
        )
    })
}

/// Zeros for a scratch matrix.
///
/// # Errors
/// [`Error::Alloc`].
pub(crate) fn zeros<T: Element>(len: usize) -> Result<Vec<T>> {
    heap::zeroed(SCRATCH, len)
}

/// An element type of matrices.
pub(crate) trait Field: Element + ComplexField<Real = Self::Part> + Wide + Div<Output = Self> {
    /// Of real parts.
    type Part: Element + RealField + Wide + PartialOrd;
    /// Of eigenvalues.
    type Eigen: Element + Wide + ComplexField<Real = Self::Part>;
    /// The power of two of the distance from 1 to the next number.
    const EPSILON_POWER: i32;
    /// The power of two up to which squares of elements, and of their reciprocals, are numbers of full precision with ε to spare.
    const SAFE_POWER: i32;

    /// Scratch for [`eigen`](Self::eigen) of n rows: that of the library, and numbers of our own.
    fn eigen_scratch(n: usize, vectors: bool) -> StackReq;
    /// How many numbers of our own these are, in squares and rows of n.
    fn eigen_numbers(n: usize, vectors: bool) -> usize;
    /// Eigenvalues of a matrix and, one for each column of a matrix in row-major order, eigenvectors of any
    /// length, some of which may have become infinite on the way.
    fn eigen(
        matrix: MatRef<'_, Self>,
        values: &mut [Self::Eigen],
        vectors: Option<&mut [Self::Eigen]>,
        numbers: &mut [Self],
        stack: &mut MemStack,
    ) -> Result<(), EvdError>;
}

fn wanted(vectors: bool) -> ComputeEigenvectors {
    if vectors { ComputeEigenvectors::Yes } else { ComputeEigenvectors::No }
}

macro_rules! field {
    ($($real:ident)*) => {$(
        impl Field for $real {
            type Part = Self;
            type Eigen = Complex<Self>;
            const EPSILON_POWER: i32 = 1 - Self::MANTISSA_DIGITS as i32;
            const SAFE_POWER: i32 = (1 - Self::MIN_EXP) / 2 + Self::EPSILON_POWER;

            fn eigen_scratch(n: usize, vectors: bool) -> StackReq {
                evd::evd_scratch::<Self>(n, ComputeEigenvectors::No, wanted(vectors), ALONE, Default::default())
            }
            fn eigen_numbers(n: usize, vectors: bool) -> usize {
                2 * n + if vectors { n * n } else { 0 }
            }
            fn eigen(
                matrix: MatRef<'_, Self>,
                values: &mut [Complex<Self>],
                vectors: Option<&mut [Complex<Self>]>,
                numbers: &mut [Self],
                stack: &mut MemStack,
            ) -> Result<(), EvdError> {
                let n = matrix.nrows();
                let (re, rest) = numbers.split_at_mut(n);
                let (im, space) = rest.split_at_mut(n);
                let right = vectors.is_some().then(|| MatMut::from_column_major_slice_mut(&mut *space, n, n));
                evd::evd_real(
                    matrix, DiagMut::from_slice_mut(re), DiagMut::from_slice_mut(im), None, right, ALONE, stack,
                    Default::default(),
                )?;
                for (value, (&re, &im)) in values.iter_mut().zip(re.iter().zip(&*im)) {
                    *value = Complex::new(re, im);
                }
                let Some(vectors) = vectors else { return Ok(()) };
                let mut column = 0;
                while column < n {
                    // The vectors of a pair of conjugate values are one: its real part, and its imaginary part.
                    let pair = im[column] != 0.0 && column + 1 < n;
                    for row in 0..n {
                        let re = space[column * n + row];
                        if pair {
                            let im = space[(column + 1) * n + row];
                            vectors[row * n + column] = Complex::new(re, im);
                            vectors[row * n + column + 1] = Complex::new(re, -im);
                        } else {
                            vectors[row * n + column] = Complex::new(re, 0.0);
                        }
                    }
                    column += if pair { 2 } else { 1 };
                }
                Ok(())
            }
        }

        impl Field for Complex<$real> {
            type Part = $real;
            type Eigen = Self;
            const EPSILON_POWER: i32 = $real::EPSILON_POWER;
            const SAFE_POWER: i32 = $real::SAFE_POWER;

            fn eigen_scratch(n: usize, vectors: bool) -> StackReq {
                evd::evd_scratch::<Self>(n, ComputeEigenvectors::No, wanted(vectors), ALONE, Default::default())
            }
            fn eigen_numbers(n: usize, vectors: bool) -> usize {
                if vectors { n * n } else { 0 }
            }
            fn eigen(
                matrix: MatRef<'_, Self>,
                values: &mut [Self],
                vectors: Option<&mut [Self]>,
                numbers: &mut [Self],
                stack: &mut MemStack,
            ) -> Result<(), EvdError> {
                let n = matrix.nrows();
                let right = vectors.is_some().then(|| MatMut::from_column_major_slice_mut(&mut *numbers, n, n));
                let values = DiagMut::from_slice_mut(values);
                evd::evd_cplx(matrix, values, None, right, ALONE, stack, Default::default())?;
                if let Some(vectors) = vectors {
                    for (place, element) in vectors.iter_mut().enumerate() {
                        *element = numbers[place % n * n + place / n];
                    }
                    }
                Ok(())
            }
        }
    )*};
}
field!(f32 f64);

/// Runs `$body` with `$T` bound to the type of a dtype that is computed in.
macro_rules! with_field {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            stridewise_core::Dtype::F32 => {
                type $T = f32;
                $body
            }
            stridewise_core::Dtype::F64 => {
                type $T = f64;
                $body
            }
            stridewise_core::Dtype::C64 => {
                type $T = num_complex::Complex<f32>;
                $body
            }
            // There are no others: see `place::dtypes`.
            _ => {
                type $T = num_complex::Complex<f64>;
                $body
            }
        }
    };
}
pub(crate) use with_field;
