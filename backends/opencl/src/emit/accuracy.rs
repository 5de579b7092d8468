//! What the functions of OpenCL devices promise.

use stridewise_core::ops::OpClass;
use stridewise_core::{Dtype, DtypeKind, Op};

/// Bounds of the OpenCL C specification (3.0, section 7.4: the full profile, where single and double precision agree), in
/// units in the last place, and what compositions make of them. Operations without a row are exact.
const UNITS: &[(Op, f64)] = &[
    // Composed: a correctly rounded root, then a quotient.
    (Op::Rsqrt, 1.5),
    (Op::Cbrt, 2.0),
    (Op::Hypot, 4.0),
    (Op::Exp, 3.0),
    (Op::Exp2, 3.0),
    (Op::Expm1, 3.0),
    (Op::Log, 3.0),
    (Op::Log1p, 2.0),
    (Op::Log2, 3.0),
    (Op::Log10, 3.0),
    // Composed: an exponential, a logarithm and a sum. In units of the greater operand where that is more.
    (Op::Logaddexp, 8.0),
    (Op::Sin, 4.0),
    (Op::Cos, 4.0),
    (Op::Tan, 5.0),
    (Op::Asin, 4.0),
    (Op::Acos, 4.0),
    (Op::Atan, 5.0),
    (Op::Atan2, 6.0),
    (Op::Sinh, 4.0),
    (Op::Cosh, 4.0),
    (Op::Tanh, 5.0),
    (Op::Asinh, 4.0),
    (Op::Acosh, 4.0),
    (Op::Atanh, 5.0),
    (Op::Erf, 16.0),
    // Composed: an exponential, a sum and a quotient.
    (Op::Sigmoid, 8.0),
    (Op::Pow, 16.0),
];

/// Error of an operation on a dtype, in units in the last place: 0 where it is exact or correctly rounded, for devices
/// with double precision. Of complex numbers, normwise, in units of the result's magnitude.
pub(crate) fn ulp(op: Op, dtype: Dtype) -> f64 {
    let units = UNITS.iter().find(|row| row.0 == op).map_or(0.0, |row| row.1);
    match dtype.kind() {
        // Computed in double precision and rounded once.
        DtypeKind::Float if dtype.size() == 2 && units > 0.0 => 0.5 + 1e-9,
        DtypeKind::Complex => complex(op, dtype),
        DtypeKind::Float => units,
        _ => 0.0,
    }
}

/// Of complex numbers.
fn complex(op: Op, dtype: Dtype) -> f64 {
    match (op, op.class()) {
        // The function of OpenCL C, of each dtype.
        (Op::Abs, _) => 4.0,
        // Quotients by real numbers alone are exact.
        (Op::Sign, _) | (_, OpClass::field | OpClass::analytic | OpClass::num_fn) => match dtype {
            // Computed in double precision and rounded once.
            Dtype::C64 => 1.0,
            _ => 16.0,
        },
        _ => 0.0,
    }
}
