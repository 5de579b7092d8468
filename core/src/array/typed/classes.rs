//! Classes of element types: what an operation asks of them at compile time. Each follows from the dtype's kind alone.

use crate::dtype::Element;

/// Types with arithmetic: integers, real and complex floating point.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no arithmetic",
    label = "not a type of numbers",
    note = "of `bool`s use `&`, `|`, `^` and `!`, or convert them: `a.astype::<i32>()`"
)]
pub trait NumElement: Element {
    /// The type of real and imaginary parts and of magnitudes: the type itself, but of complex numbers.
    type Part: RealElement;
}
/// Types with an order: `bool` (false before true), integers and real floating point.
#[diagnostic::on_unimplemented(
    message = "elements of type `{Self}` have no order",
    label = "not an ordered type",
    note = "complex numbers are compared by parts or magnitudes: `a.real()`, `a.imag()`, `a.abs()`"
)]
pub trait OrderedElement: Element {}
/// Ordered types with arithmetic: integers and real floating point.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither an integer nor a real floating-point type",
    label = "not a real type",
    note = "of complex numbers take `a.real()`, `a.imag()` or `a.abs()`; convert `bool`s by `a.astype::<i32>()`"
)]
pub trait RealElement: NumElement<Part = Self> + OrderedElement {}
/// Real floating point.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a real floating-point type",
    label = "expected `f16`, `bf16`, `f32` or `f64`",
    note = "write numbers with a point, `2.0`, and convert arrays of integers: `a.astype::<f64>()`"
)]
pub trait FloatElement: RealElement + FieldElement {}
/// Types with division: real and complex floating point.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither a floating-point nor a complex type",
    label = "quotients, roots and functions such as `exp` are of those",
    note = "convert first, `a.astype::<f64>()`, and write numbers with a point, `2.0`; a quotient that stays an integer is `a.floor_divide(2)`"
)]
pub trait FieldElement: NumElement {}
/// Types with bits: `bool` and integers.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no operations on bits",
    label = "expected `bool` or an integer type",
    note = "these are for `bool` and integers; convert by `a.astype::<i32>()`, or compare first: `a.greater(0.0)`"
)]
pub trait BitsElement: Element {}
/// Integers.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an integer type",
    label = "expected `i8` to `i64` or `u8` to `u64`",
    note = "convert by `a.round().astype::<i64>()`"
)]
pub trait IntElement: RealElement + BitsElement {}

/// The types that sums and means of elements have.
pub trait Reducible: Element {
    /// Of sums and products: the 64-bit integer of the sign for integers (`bool`: signed), the type itself for floating
    /// point.
    type Sum: Element;
    /// Of means: `f64` for integers and `bool`, the type itself for floating point.
    type Mean: Element;
    /// Of variances, norms and angles: `f64` for integers and `bool`, for floating point the type of the parts.
    type Spread: Element;
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
            type Spread = f64;
        }
    };
    (@ Signed $ty:ty) => { classes!(@ integer $ty, i64); };
    (@ Unsigned $ty:ty) => { classes!(@ integer $ty, u64); };
    (@ integer $ty:ty, $sum:ty) => {
        impl NumElement for $ty {
            type Part = Self;
        }
        impl OrderedElement for $ty {}
        impl BitsElement for $ty {}
        impl IntElement for $ty {}
        impl RealElement for $ty {}
        impl Reducible for $ty {
            type Sum = $sum;
            type Mean = f64;
            type Spread = f64;
        }
    };
    (@ Float $ty:ty) => {
        classes!(@ field $ty, Self);
        impl OrderedElement for $ty {}
        impl RealElement for $ty {}
        impl FloatElement for $ty {}
    };
    (@ Complex $ty:ty) => { classes!(@ field $ty, <$ty as crate::ops::Parts>::Part); };
    (@ field $ty:ty, $part:ty) => {
        impl NumElement for $ty {
            type Part = $part;
        }
        impl FieldElement for $ty {}
        impl Reducible for $ty {
            type Sum = Self;
            type Mean = Self;
            type Spread = $part;
        }
    };
}
crate::for_each_dtype!(classes);

/// The number 0 or 1 (or false, or true) of a type.
pub(super) fn small<T: Element>(value: i8) -> T {
    // The cast gives the dtype asked for, so the default is never used.
    crate::Scalar::I8(value).cast(T::DTYPE).get().unwrap_or_default()
}
