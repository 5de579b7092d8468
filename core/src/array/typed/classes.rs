//! Classes of element types: what an operation asks of them at compile time. Each follows from the dtype's kind alone.

use crate::dtype::Element;

/// Types with arithmetic: integers, real and complex floating point.
pub trait NumElement: Element {}
/// Types with an order: `bool` (false before true), integers and real floating point.
pub trait OrderedElement: Element {}
/// Ordered types with arithmetic: integers and real floating point.
pub trait RealElement: NumElement + OrderedElement {
    #[doc(hidden)]
    fn steps(start: Self, stop: Self, step: Self) -> Steps;
    /// `start + i * step`, one of the values that `steps` counts.
    #[doc(hidden)]
    fn step_at(start: Self, step: Self, i: usize) -> Self;
}
/// Real floating point.
pub trait FloatElement: RealElement + FieldElement {
    #[doc(hidden)]
    fn to_double(self) -> f64;
    #[doc(hidden)]
    fn from_double(value: f64) -> Self;
}
/// Types with division: real and complex floating point.
pub trait FieldElement: NumElement {}
/// Types with bits: `bool` and integers.
pub trait BitsElement: Element {}
/// Integers.
pub trait IntElement: RealElement + BitsElement {}

/// The types that sums and means of elements have.
pub trait Reducible: Element {
    /// Of sums and products: the 64-bit integer of the sign for integers (`bool`: signed), the type itself for floating
    /// point.
    type Sum: Element;
    /// Of means: `f64` for integers and `bool`, the type itself for floating point.
    type Mean: Element;
}

/// How many values `start + i * step` there are before `stop`.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Steps {
    /// The step is 0, or a number is not finite.
    Invalid,
    /// More than can be counted.
    TooMany,
    /// So many.
    Count(usize),
}

/// Exactly, for all integers.
fn integer_steps(start: i128, stop: i128, step: i128) -> Steps {
    if step == 0 {
        return Steps::Invalid;
    }
    let distance = if step > 0 { stop - start } else { start - stop };
    let count = if distance <= 0 { 0 } else { (distance - 1) / step.abs() + 1 };
    usize::try_from(count).map_or(Steps::TooMany, Steps::Count)
}

/// In double precision.
fn float_steps(start: f64, stop: f64, step: f64) -> Steps {
    let count = ((stop - start) / step).ceil();
    if step == 0.0 || !start.is_finite() || !step.is_finite() || count.is_nan() {
        return Steps::Invalid;
    }
    // Every array is smaller than this.
    if count >= isize::MAX as f64 {
        return Steps::TooMany;
    }
    // Negative counts saturate to 0.
    Steps::Count(count as usize)
}

macro_rules! classes {
    ($($variant:ident, $ty:ty, $name:literal, $kind:ident, $code:literal;)*) => {
        $(classes!(@ $kind $ty);)*
    };
    (@ Bool $ty:ty) => {
        impl OrderedElement for $ty {}
        impl BitsElement for $ty {}
        impl Reducible for $ty {
            type Sum = i64;
            type Mean = f64;
        }
    };
    (@ Signed $ty:ty) => { classes!(@ integer $ty, i64); };
    (@ Unsigned $ty:ty) => { classes!(@ integer $ty, u64); };
    (@ integer $ty:ty, $sum:ty) => {
        impl NumElement for $ty {}
        impl OrderedElement for $ty {}
        impl BitsElement for $ty {}
        impl IntElement for $ty {}
        impl RealElement for $ty {
            fn steps(start: Self, stop: Self, step: Self) -> Steps {
                integer_steps(start.into(), stop.into(), step.into())
            }
            fn step_at(start: Self, step: Self, i: usize) -> Self {
                // The result lies between start and stop, so arithmetic that wraps arrives at it.
                start.wrapping_add((i as Self).wrapping_mul(step))
            }
        }
        impl Reducible for $ty {
            type Sum = $sum;
            type Mean = f64;
        }
    };
    (@ Float $ty:ty) => {
        classes!(@ field $ty);
        impl OrderedElement for $ty {}
        impl RealElement for $ty {
            fn steps(start: Self, stop: Self, step: Self) -> Steps {
                float_steps(start.into(), stop.into(), step.into())
            }
            fn step_at(start: Self, step: Self, i: usize) -> Self {
                Self::from_double(start.to_double() + i as f64 * step.to_double())
            }
        }
        impl FloatElement for $ty {
            fn to_double(self) -> f64 {
                self.into()
            }
            fn from_double(value: f64) -> Self {
                // The cast gives the dtype asked for, so the default is never used.
                crate::Scalar::F64(value).cast(Self::DTYPE).get().unwrap_or_default()
            }
        }
    };
    (@ Complex $ty:ty) => { classes!(@ field $ty); };
    (@ field $ty:ty) => {
        impl NumElement for $ty {}
        impl FieldElement for $ty {}
        impl Reducible for $ty {
            type Sum = Self;
            type Mean = Self;
        }
    };
}
crate::for_each_dtype!(classes);

/// The number 0 or 1 (or false, or true) of a type.
pub(super) fn small<T: Element>(value: i8) -> T {
    // The cast gives the dtype asked for, so the default is never used.
    crate::Scalar::I8(value).cast(T::DTYPE).get().unwrap_or_default()
}
