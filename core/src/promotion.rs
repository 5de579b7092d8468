//! Which dtype results from which operands.
//!
//! Within one kind the rules are the array API standard's type promotion tables (2025.12). The standard leaves mixed
//! kinds open; there the result is, as in NumPy, the smallest dtype that holds every value of both, where
//! 64-bit integers count as held by `float64`. Rust scalars are weak, as Python's are: they take the array's dtype
//! and only bring in their kind (NEP 50).

mod limits;
mod weak;

use crate::dtype::{Dtype, DtypeKind};
use crate::error::{Error, Result};

pub use limits::{FloatInfo, IntInfo};
pub use weak::Weak;

/// The dtype of an operation on `a` and `b`. Commutative.
///
/// ```
/// use stridewise_core::{promote_types, Dtype};
/// assert_eq!(promote_types(Dtype::U8, Dtype::I8), Dtype::I16);
/// assert_eq!(promote_types(Dtype::I32, Dtype::F32), Dtype::F64);
/// ```
#[must_use]
pub fn promote_types(a: Dtype, b: Dtype) -> Dtype {
    use DtypeKind::{Bool, Complex, Float, Signed, Unsigned};
    match (a.kind(), b.kind()) {
        (Bool, _) => b,
        (_, Bool) => a,
        (Signed, Signed) | (Unsigned, Unsigned) => larger(a, b),
        (Signed, Unsigned) => promote_signedness(a, b),
        (Unsigned, Signed) => promote_signedness(b, a),
        (Signed | Unsigned, Float) => promote_integer_float(a, b),
        (Float, Signed | Unsigned) => promote_integer_float(b, a),
        (Float, Float) => match (a, b) {
            // Neither holds the other: one has the precision, the other the range.
            (Dtype::F16, Dtype::Bf16) | (Dtype::Bf16, Dtype::F16) => Dtype::F32,
            _ => larger(a, b),
        },
        (Complex, _) | (_, Complex) => complex_of(promote_types(a.real_part(), b.real_part())),
    }
}

fn larger(a: Dtype, b: Dtype) -> Dtype {
    if a.size() >= b.size() { a } else { b }
}

fn promote_signedness(signed: Dtype, unsigned: Dtype) -> Dtype {
    if unsigned.size() < signed.size() {
        return signed;
    }
    match unsigned {
        Dtype::U8 => Dtype::I16,
        Dtype::U16 => Dtype::I32,
        Dtype::U32 => Dtype::I64,
        // No integer holds both.
        _ => Dtype::F64,
    }
}

fn promote_integer_float(integer: Dtype, float: Dtype) -> Dtype {
    match integer.size() {
        // 8 bits fit the significands of float16 (11) and bfloat16 (8) alike.
        1 => float,
        2 => larger(Dtype::F32, float),
        _ => Dtype::F64,
    }
}

/// The smallest complex dtype whose parts hold `real`'s values.
fn complex_of(real: Dtype) -> Dtype {
    match real {
        Dtype::F64 => Dtype::C128,
        _ => Dtype::C64,
    }
}

/// Which optional dtypes a device computes in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DtypeSupport {
    /// `float16`.
    pub f16: bool,
    /// `float64`, and with it `complex128`.
    pub f64: bool,
}

impl Default for DtypeSupport {
    fn default() -> Self {
        Self::ALL
    }
}

impl DtypeSupport {
    /// Everything.
    pub const ALL: Self = Self { f16: true, f64: true };

    /// Whether the device computes in `dtype`.
    #[must_use]
    pub const fn supports(self, dtype: Dtype) -> bool {
        match dtype {
            Dtype::F16 => self.f16,
            Dtype::F64 | Dtype::C128 => self.f64,
            _ => true,
        }
    }

    /// `dtype`, or what takes its place where the device lacks it, as in dpctl: `float64` becomes `float32`,
    /// `complex128` becomes `complex64`, `float16` becomes `float32`.
    #[must_use]
    pub const fn downgrade(self, dtype: Dtype) -> Dtype {
        match dtype {
            Dtype::F16 if !self.f16 => Dtype::F32,
            Dtype::F64 if !self.f64 => Dtype::F32,
            Dtype::C128 if !self.f64 => Dtype::C64,
            other => other,
        }
    }

    /// The floating-point dtype of arrays made without one: `float64`, or `float32` where that is missing.
    #[must_use]
    pub const fn default_float(self) -> Dtype {
        self.downgrade(Dtype::F64)
    }

    /// The integer dtype of arrays made without one: `int64`.
    #[must_use]
    pub const fn default_int(self) -> Dtype {
        Dtype::I64
    }

    /// The complex dtype of arrays made without one, as precise as [`default_float`](Self::default_float).
    #[must_use]
    pub const fn default_complex(self) -> Dtype {
        self.downgrade(Dtype::C128)
    }
}

/// The dtype of an operation on arrays of `dtypes` and on `weak` scalars, on a device with `support`. The order of
/// the operands does not matter.
///
/// A weak scalar keeps the arrays' dtype unless its kind is higher: an integer makes `bool` the default integer, a
/// float makes `bool` and integers the default float, a complex number makes reals the complex dtype of their
/// precision (`bool` and integers the default one).
///
/// # Errors
/// No operand at all, or a weak integer outside the range of an integer result. Comparisons, which have an answer
/// there, use [`comparison_type`].
pub fn result_type(dtypes: &[Dtype], weak: &[Weak], support: DtypeSupport) -> Result<Dtype> {
    let dtype = comparison_type(dtypes, weak, support)?;
    if dtype.kind().is_integer() {
        for scalar in weak {
            scalar.to_scalar(dtype)?;
        }
    }
    Ok(dtype)
}

/// The dtype in which arrays of `dtypes` and `weak` scalars are compared: [`result_type`], but a weak integer may be
/// out of range. [`Weak::order_against`] then has the answer for every element.
///
/// # Errors
/// No operand at all.
pub fn comparison_type(dtypes: &[Dtype], weak: &[Weak], support: DtypeSupport) -> Result<Dtype> {
    // Floats come first and take integers in one by one: two 16-bit integers of either sign and a float32 give
    // float32, in whatever order they are named.
    let joint =
        |inexact: bool| dtypes.iter().copied().filter(move |dtype| dtype.kind().is_inexact() == inexact);
    let strong = joint(true).chain(joint(false)).reduce(promote_types);
    let weakest = weak.iter().map(Weak::kind).max_by_key(|&kind| rank(kind));
    let dtype = match (strong, weakest) {
        (Some(strong), None) => strong,
        (Some(strong), Some(kind)) if class(kind) <= class(strong.kind()) => strong,
        (Some(strong), Some(DtypeKind::Complex)) if strong.kind() == DtypeKind::Float => complex_of(strong),
        (_, Some(kind)) => match kind {
            DtypeKind::Bool => Dtype::Bool,
            DtypeKind::Signed | DtypeKind::Unsigned => support.default_int(),
            DtypeKind::Float => support.default_float(),
            DtypeKind::Complex => support.default_complex(),
        },
        (None, None) => {
            return Err(Error::value(
                "operands",
                "empty",
                "at least one array, dtype or scalar",
                "name the dtype explicitly",
            ));
        }
    };
    Ok(support.downgrade(dtype))
}

/// Kinds from the poorest to the richest, as NumPy's "same kind" casts see them.
const fn rank(kind: DtypeKind) -> u8 {
    match kind {
        DtypeKind::Bool => 0,
        DtypeKind::Unsigned => 1,
        DtypeKind::Signed => 2,
        DtypeKind::Float => 3,
        DtypeKind::Complex => 4,
    }
}

/// The same with both kinds of integers as one, as weak scalars see them.
const fn class(kind: DtypeKind) -> u8 {
    match kind {
        DtypeKind::Unsigned => rank(DtypeKind::Signed),
        other => rank(other),
    }
}

/// How much a cast may lose.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Casting {
    /// No change of dtype at all.
    No,
    /// Every value survives; 64-bit integers to `float64` count as safe, as in NumPy.
    Safe,
    /// Safe, or within a kind, or to a richer kind (bool, unsigned, signed, float, complex): `float64` to `float32`,
    /// but not `int8` to `uint8`.
    SameKind,
    /// Anything.
    Unsafe,
}

/// Whether `from` may be cast to `to` under `casting`.
#[must_use]
pub fn can_cast(from: Dtype, to: Dtype, casting: Casting) -> bool {
    match casting {
        Casting::No => from == to,
        Casting::Safe => promote_types(from, to) == to,
        Casting::SameKind => rank(from.kind()) <= rank(to.kind()),
        Casting::Unsafe => true,
    }
}

#[cfg(test)]
mod tests;
