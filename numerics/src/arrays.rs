//! The arrays that functions of this package take: of a dtype that is known at run time, or of an element type.

use num_complex::Complex;
use stridewise_core::{Array, Element, Result, UsmArray};

mod sealed {
    pub trait Sealed {}
}

/// Arrays of numbers, for which there are decompositions and transforms: [`UsmArray`] of any dtype (integers and `bool` are
/// converted to the default floating dtype), and [`Array`] of `f32`, `f64` and complex numbers of both. Results are of the
/// same sort. Sealed.
pub trait NumericArray: sealed::Sealed + Clone + Sized {
    /// The same sort of real numbers: singular values.
    type Real;
    /// The same sort of complex numbers: eigenvalues of any matrix.
    type Complex;
    /// The same sort of integers: ranks.
    type Count;
    #[doc(hidden)]
    fn untyped(&self) -> &UsmArray;
    #[doc(hidden)]
    fn from_untyped(array: UsmArray) -> Result<Self>;
    #[doc(hidden)]
    fn real_from(array: UsmArray) -> Result<Self::Real>;
    #[doc(hidden)]
    fn complex_from(array: UsmArray) -> Result<Self::Complex>;
    #[doc(hidden)]
    fn count_from(array: UsmArray) -> Result<Self::Count>;
}

impl sealed::Sealed for UsmArray {}
impl NumericArray for UsmArray {
    type Real = Self;
    type Complex = Self;
    type Count = Self;
    fn untyped(&self) -> &UsmArray {
        self
    }
    fn from_untyped(array: UsmArray) -> Result<Self> {
        Ok(array)
    }
    fn real_from(array: UsmArray) -> Result<Self> {
        Ok(array)
    }
    fn complex_from(array: UsmArray) -> Result<Self> {
        Ok(array)
    }
    fn count_from(array: UsmArray) -> Result<Self> {
        Ok(array)
    }
}

/// The types of real and imaginary parts, and of complex numbers, that belong to an element type.
pub trait Parts: Element {
    /// Of real and imaginary parts.
    type Real: Element;
    /// Of complex numbers.
    type Complex: Element;
}
impl Parts for f32 {
    type Real = Self;
    type Complex = Complex<Self>;
}
impl Parts for f64 {
    type Real = Self;
    type Complex = Complex<Self>;
}
impl Parts for Complex<f32> {
    type Real = f32;
    type Complex = Self;
}
impl Parts for Complex<f64> {
    type Real = f64;
    type Complex = Self;
}

impl<T: Parts> sealed::Sealed for Array<T> {}
impl<T: Parts> NumericArray for Array<T> {
    type Real = Array<T::Real>;
    type Complex = Array<T::Complex>;
    type Count = Array<i64>;
    fn untyped(&self) -> &UsmArray {
        self.as_untyped()
    }
    fn from_untyped(array: UsmArray) -> Result<Self> {
        array.try_into()
    }
    fn real_from(array: UsmArray) -> Result<Self::Real> {
        array.try_into()
    }
    fn complex_from(array: UsmArray) -> Result<Self::Complex> {
        array.try_into()
    }
    fn count_from(array: UsmArray) -> Result<Self::Count> {
        array.try_into()
    }
}
