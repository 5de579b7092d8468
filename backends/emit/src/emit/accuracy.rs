//! What the functions of OpenCL devices promise.
//!
//! Elementary functions are the runtime's: on a GPU they use the hardware, and the text of our own would be
//! compiled at each first use. So results agree with the host's within these bounds (`Device::error_bound`),
//! not in every bit, and the suites `special` and `elementwise` of the matrix judge each device by them. What
//! IEEE 754 defines exactly is exact here, too: divisions and roots of `float32`, which not every runtime
//! rounds correctly, go through `float64` there, contraction is off, and conversions are written out. A
//! device without `float64` whose division is not correctly rounded has a bound for division, too. Functions
//! that OpenCL C lacks or specifies differently, and all complex ones, are our own text (`library.rs`). If a
//! program needs equal bits on all devices, the host's polynomials can be emitted through the same algebra.

use stridewise_core::ops::OpClass;
use stridewise_core::{Dtype, DtypeKind, Op};

use crate::kernels::Target;

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

/// Those that divide or take roots, in single precision on devices where these are not correctly rounded and double
/// precision does not help.
const SINGLE_QUOTIENTS: &[(Op, f64)] =
    &[(Op::Divide, 2.5), (Op::Reciprocal, 2.5), (Op::Sqrt, 3.0), (Op::Rsqrt, 9.0), (Op::Sigmoid, 12.0)];

/// Error of an operation on a dtype, in units in the last place: 0 where it is exact or correctly rounded. Of complex
/// numbers normwise, in units of the result's greater part. Of a sum of exponentials' logarithm, [`Op::Logaddexp`], in
/// units of the greatest operand where that is greater than the result.
pub fn ulp(op: Op, dtype: Dtype, target: &Target) -> f64 {
    let row = |table: &[(Op, f64)]| table.iter().find(|row| row.0 == op).map(|row| row.1);
    let quotient = if target.fp64 || target.exact_division { None } else { row(SINGLE_QUOTIENTS) };
    let units = row(UNITS).unwrap_or(0.0);
    match (dtype.kind(), dtype) {
        (DtypeKind::Complex, _) => complex(op, dtype),
        // Computed in double precision and rounded once, or in single precision.
        (DtypeKind::Float, Dtype::F16 | Dtype::Bf16) => match target.fp64 {
            true if units > 0.0 => 0.5 + 1e-9,
            false if units > 0.0 || quotient.is_some() || op == Op::FloorDivide => 0.51,
            _ => 0.0,
        },
        (DtypeKind::Float, Dtype::F32) => quotient.unwrap_or(units),
        (DtypeKind::Float, _) => units,
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
