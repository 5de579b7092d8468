//! The matrix's own measures, which must be able to fail.

use libtest_mimic::{Failed, Trial};
use stridewise::{Dtype, Scalar};

use crate::cell::matches;
use crate::values::{error_in_ulp, same, special};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        Trial::test("selftest::errors_in_ulp", || {
            let next = |v: f32, steps: u32| Scalar::F32(f32::from_bits(v.to_bits() + steps));
            check(error_in_ulp(next(1.0, 0), 1.0) == 0.0, "equal values")?;
            check(error_in_ulp(next(1.0, 2), 1.0) == 2.0, "two units above 1")?;
            check(error_in_ulp(Scalar::F32(0.0), -0.0).is_infinite(), "zeros of unlike sign")?;
            check(error_in_ulp(Scalar::F32(f32::NAN), 1.0).is_infinite(), "NaN for a number")?;
            check(error_in_ulp(Scalar::F32(f32::INFINITY), 1.0) > 1e6, "infinity for a number")?;
            check(error_in_ulp(Scalar::F32(f32::from_bits(1)), 0.0) == 1.0, "the smallest subnormal for 0")?;
            check(error_in_ulp(Scalar::F64(1.0 + 2.0 * f64::EPSILON), 1.0) == 2.0, "double")?;
            check(error_in_ulp(Scalar::F32(0.1), 0.1) <= 0.5, "a rounded value")
        }),
        Trial::test("selftest::same_values", || {
            check(same(Scalar::F32(f32::NAN), Scalar::F32(-f32::NAN)), "NaN is NaN")?;
            check(!same(Scalar::F64(0.0), Scalar::F64(-0.0)), "zeros have a sign")?;
            check(!same(Scalar::F32(1.0), Scalar::F64(1.0)), "dtypes count")
        }),
        Trial::test("selftest::special_values_are_of_their_dtype", || {
            for &dtype in Dtype::ALL {
                check(special(dtype).iter().all(|v| v.dtype() == dtype), dtype.name())?;
            }
            Ok(())
        }),
        Trial::test("selftest::patterns", || {
            check(matches("host:*", "host:avx2") && matches("*", "") && matches("a*c*e", "abcde"), "match")?;
            check(
                !matches("host:*", "opencl:gpu:0") && !matches("a*c", "abcd") && !matches("a", "ab"),
                "no match",
            )
        }),
    ]
}

fn check(holds: bool, what: &str) -> Result<(), Failed> {
    if holds { Ok(()) } else { Err(what.into()) }
}
