//! Parts, angles and projections of complex numbers.

use super::elementwise::interim;
use super::{ArrayOrScalar, UsmArray, elementwise};
use crate::Complex;
use crate::dtype::DtypeKind;
use crate::error::Result;
use crate::ops::Op;
use crate::promotion::Weak;
use crate::scalar::Scalar;

impl UsmArray {
    /// The real parts; of real numbers, themselves.
    ///
    /// # Errors
    /// [`Error::Dtype`](crate::Error::Dtype) for `bool`.
    pub fn real(&self) -> Result<Self> {
        self.unary(Op::RealPart)
    }

    /// The imaginary parts; 0 of real numbers.
    ///
    /// # Errors
    /// [`Error::Dtype`](crate::Error::Dtype) for `bool`.
    pub fn imag(&self) -> Result<Self> {
        self.unary(Op::ImagPart)
    }

    /// The real parts as a view: writing to it writes to this array. Of an array that is not complex, the array.
    ///
    /// # Errors
    /// What the submission of recorded work reports.
    pub fn real_view(&self) -> Result<Self> {
        if self.dtype.kind() == DtypeKind::Complex { self.part_view(0) } else { Ok(self.clone()) }
    }

    /// The imaginary parts as a view: writing to it writes to this array. Of an array that is not complex, zeros that
    /// cannot be written, of the same dtype.
    ///
    /// # Errors
    /// What the submission of recorded work reports; [`Error::Alloc`](crate::Error::Alloc).
    pub fn imag_view(&self) -> Result<Self> {
        if self.dtype.kind() == DtypeKind::Complex {
            return self.part_view(1);
        }
        let mut zeros = self.zeros_like(None)?;
        zeros.set_writable(false);
        Ok(zeros)
    }

    /// Every second number of the memory, from `first` on: a complex number is its real and its imaginary part.
    fn part_view(&self, first: usize) -> Result<Self> {
        // Twice as many elements of half the size are in range where the complex ones are.
        let strides: Vec<isize> = self.strides().iter().map(|stride| stride.saturating_mul(2)).collect();
        Self::builder(self.shape())
            .dtype(self.dtype.real_part())
            .buffer(self)
            .strides(strides)
            .offset(2 * self.offset() + first)
            .queue(&self.queue)
            .build()
    }

    /// The complex conjugates; real numbers themselves.
    ///
    /// # Errors
    /// [`Error::Dtype`](crate::Error::Dtype) for `bool`.
    pub fn conj(&self) -> Result<Self> {
        self.unary(Op::Conj)
    }

    /// The angles of complex numbers, from −π to π radians; 0 or π of real ones, in the default floating dtype of integers.
    /// `atan2(imag, real)`, so that the sign of a zero counts.
    ///
    /// # Errors
    /// As for [`elementwise`].
    pub fn angle(&self) -> Result<Self> {
        let float = if self.dtype.kind().is_inexact() { self.dtype } else { self.real_result() };
        let x = self.astype_step(float)?;
        let (re, im) = (interim(Op::RealPart, &[(&x).into()])?, interim(Op::ImagPart, &[(&x).into()])?);
        elementwise(Op::Atan2, &[(&im).into(), (&re).into()])
    }

    /// The projections onto the Riemann sphere (C's `cproj`): numbers with an infinite part become +∞ with a zero
    /// imaginary part of their own sign, others are themselves. An infinite real number becomes +∞.
    ///
    /// # Errors
    /// As for [`elementwise`].
    pub fn proj(&self) -> Result<Self> {
        let infinite = interim(Op::IsInf, &[self.into()])?;
        if self.dtype.kind() != DtypeKind::Complex {
            if !self.dtype.kind().is_inexact() {
                return Ok(self.clone());
            }
            let infinity = ArrayOrScalar::Weak(Weak::Float(f64::INFINITY));
            return elementwise(Op::Where, &[(&infinite).into(), infinity, self.into()]);
        }
        let pole = |zero: f64| Scalar::C128(Complex::new(f64::INFINITY, zero)).cast(self.dtype);
        let part = interim(Op::ImagPart, &[self.into()])?;
        let negative = interim(Op::SignBit, &[(&part).into()])?;
        drop(part);
        let poles = interim(Op::Where, &[(&negative).into(), pole(-0.0).into(), pole(0.0).into()])?;
        drop(negative);
        elementwise(Op::Where, &[(&infinite).into(), (&poles).into(), self.into()])
    }
}
