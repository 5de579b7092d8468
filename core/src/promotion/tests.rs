//! Promotion against the tables of the array API standard and of NumPy's mixed kinds.

use std::cmp::Ordering;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::{Complex, Scalar, bf16, f16};

/// NumPy's one-letter codes in the order of `Dtype::ALL`, `g` standing for bfloat16.
const CODES: &str = "?bhilBHILegfdFD";

/// One row per dtype, in the order of `CODES`, and so for the columns.
const TABLE: [&str; 15] = [
    "?bhilBHILegfdFD", // bool
    "bbhilhildegfdFD", // int8
    "hhhilhildfffdFD", // int16
    "iiiiliildddddDD", // int32
    "lllllllldddddDD", // int64
    "BhhilBHILegfdFD", // uint8
    "HiiilHHILfffdFD", // uint16
    "IllllIIILddddDD", // uint32
    "LddddLLLLddddDD", // uint64
    "eefddefddeffdFD", // float16
    "ggfddgfddfgfdFD", // bfloat16
    "fffddffddfffdFD", // float32
    "dddddddddddddDD", // float64
    "FFFDDFFDDFFFDFD", // complex64
    "DDDDDDDDDDDDDDD", // complex128
];

fn dtype(code: char) -> Dtype {
    Dtype::ALL[CODES.find(code).unwrap()]
}

fn dtypes(codes: &str) -> Vec<Dtype> {
    codes.chars().map(dtype).collect()
}

#[test]
fn promotion_follows_the_table() {
    for (a, row) in dtypes(CODES).into_iter().zip(TABLE) {
        for (b, wanted) in dtypes(CODES).into_iter().zip(dtypes(row)) {
            assert_eq!(promote_types(a, b), wanted, "{a} with {b}");
        }
    }
}

/// Whether `to` holds every value of `from`, by bits of significand and exponent range.
fn holds(from: Dtype, to: Dtype) -> bool {
    let integer = |d: Dtype| d.iinfo().ok();
    let digits = |d: Dtype| d.finfo().ok().map(|info| 1 - info.eps.log2() as i32);
    match (integer(from), integer(to), digits(from), digits(to)) {
        (Some(a), Some(b), ..) => b.min <= a.min && a.max <= b.max,
        (Some(a), _, _, Some(digits)) => a.bits as i32 - i32::from(a.min < 0) <= digits,
        (_, _, Some(a), Some(b)) => {
            let range = |d: Dtype| d.finfo().unwrap().max.log2();
            a <= b
                && range(from) <= range(to)
                && (from.kind() != DtypeKind::Complex || to.kind() == DtypeKind::Complex)
        }
        _ => from == Dtype::Bool,
    }
}

#[test]
fn results_hold_both_operands_and_are_the_smallest_that_do() {
    for &a in Dtype::ALL {
        for &b in Dtype::ALL {
            let result = promote_types(a, b);
            // 64-bit integers beside floats are the one exception that both tables make.
            let lossy =
                [a, b].iter().any(|d| matches!(d, Dtype::I64 | Dtype::U64)) && !result.kind().is_integer();
            if !lossy {
                assert!(holds(a, result) && holds(b, result), "{a} with {b} is {result}");
            }
            let smaller =
                Dtype::ALL.iter().find(|&&c| c.size() < result.size() && holds(a, c) && holds(b, c));
            assert_eq!(smaller, None, "{a} with {b} is {result}");
        }
    }
}

#[test]
fn weak_scalars_keep_the_dtype_and_bring_their_kind() {
    // Per dtype: with a weak bool, integer, float, complex.
    let table = [
        "?bhilBHILegfdFD", // bool
        "lbhilBHILegfdFD", // integer
        "dddddddddegfdFD", // float
        "DDDDDDDDDFFFDFD", // complex
    ];
    let weak = [Weak::Bool(true), Weak::Int(1), Weak::Float(1.0), Weak::Complex(Complex::new(0.0, 1.0))];
    for (weak, row) in weak.into_iter().zip(table) {
        for (a, wanted) in dtypes(CODES).into_iter().zip(dtypes(row)) {
            assert_eq!(result_type(&[a], &[weak], DtypeSupport::ALL).unwrap(), wanted, "{a} with {weak}");
        }
    }
    let alone: Vec<Dtype> =
        weak.iter().map(|&w| result_type(&[], &[w], DtypeSupport::ALL).unwrap()).collect();
    assert_eq!(alone, dtypes("?ldD"));
    assert_eq!(result_type(&[Dtype::I8], &weak, DtypeSupport::ALL).unwrap(), Dtype::C128);
    assert!(matches!(result_type(&[], &[], DtypeSupport::ALL), Err(Error::Value(_))));
}

#[test]
fn devices_without_double_or_half_compute_in_single() {
    let single = DtypeSupport { f16: false, f64: false };
    assert_eq!(
        dtypes(CODES).into_iter().map(|d| single.downgrade(d)).collect::<Vec<_>>(),
        dtypes("?bhilBHILfgffFF")
    );
    assert_eq!(dtypes(CODES).into_iter().filter(|&d| !single.supports(d)).collect::<Vec<_>>(), dtypes("edD"));
    assert_eq!(
        [single.default_float(), single.default_int(), single.default_complex()][..],
        dtypes("flF")[..]
    );
    assert_eq!(result_type(&[Dtype::I32], &[Weak::Float(1.5)], single).unwrap(), Dtype::F32);
    assert_eq!(
        result_type(&[Dtype::I32], &[1.5.into(), Complex::new(1_f32, 0.0).into()], single).unwrap(),
        Dtype::C64
    );
    assert_eq!(result_type(&[Dtype::I32, Dtype::F16], &[], single).unwrap(), Dtype::F32);
    assert_eq!(result_type(&[Dtype::F16], &[Weak::Int(2)], single).unwrap(), Dtype::F32);
    for &d in Dtype::ALL {
        assert_eq!(DtypeSupport::default().downgrade(d), d);
        assert!(DtypeSupport::default().supports(d) && single.supports(single.downgrade(d)));
    }
}

#[test]
fn weak_integers_must_fit_unless_comparing() {
    let all = DtypeSupport::ALL;
    for &d in Dtype::ALL.iter().filter(|d| d.kind().is_integer()) {
        let range = d.iinfo().unwrap();
        for (value, order) in [
            (range.min, None),
            (range.max, None),
            (range.min - 1, Some(Ordering::Less)),
            (range.max + 1, Some(Ordering::Greater)),
        ] {
            let weak = Weak::Int(value);
            assert_eq!(weak.order_against(d), order, "{value} {d}");
            assert_eq!(matches!(result_type(&[d], &[weak], all), Err(Error::Dtype(_))), order.is_some());
            assert_eq!(comparison_type(&[d], &[weak], all).unwrap(), d);
            match weak.to_scalar(d) {
                Ok(scalar) => {
                    assert_eq!((scalar.dtype(), order), (d, None));
                    let as_i128 = match scalar.cast(if range.min < 0 { Dtype::I64 } else { Dtype::U64 }) {
                        Scalar::I64(v) => v.into(),
                        Scalar::U64(v) => i128::from(v),
                        other => panic!("{other:?}"),
                    };
                    assert_eq!(as_i128, value);
                }
                Err(error) => {
                    assert!(error.to_string().contains(&value.to_string()) && order.is_some(), "{error}");
                }
            }
        }
    }
    // Beside a float the integer is rounded, not refused.
    assert_eq!(result_type(&[Dtype::I8], &[Weak::Int(300), Weak::Float(0.5)], all).unwrap(), Dtype::F64);
    assert_eq!(Weak::Int(300).order_against(Dtype::F16), None);
    assert!(matches!(result_type(&[Dtype::Bool], &[Weak::Int(1 << 70)], all), Err(Error::Dtype(_))));
}

#[test]
fn weak_scalars_convert_within_their_kind_or_up() {
    assert_eq!(Weak::from(true).to_scalar(Dtype::F32).unwrap(), Scalar::F32(1.0));
    assert_eq!(Weak::from(3_u8).to_scalar(Dtype::C64).unwrap(), Scalar::C64(Complex::new(3.0, 0.0)));
    assert_eq!(Weak::from(0.1).to_scalar(Dtype::F32).unwrap(), Scalar::F32(0.1));
    assert_eq!(Weak::from(1e300).to_scalar(Dtype::F32).unwrap(), Scalar::F32(f32::INFINITY));
    assert_eq!(Weak::from(f16::from_f32(0.5)), Weak::Float(0.5));
    assert_eq!(
        Weak::from(bf16::from_f32(0.5)).to_scalar(Dtype::Bf16).unwrap(),
        Scalar::Bf16(bf16::from_f32(0.5))
    );
    // 2^24 + 1 + tiny rounds up in one step and would round to even in two.
    let value = (1_i128 << 60) + (1 << 36) + 1;
    assert_eq!(Weak::Int(value).to_scalar(Dtype::F32).unwrap(), Scalar::F32(value as f32));
    assert_eq!(Weak::from(usize::MAX).to_scalar(Dtype::U64).unwrap(), Scalar::U64(usize::MAX as u64));
    for (weak, d) in [
        (Weak::Int(1), Dtype::Bool),
        (Weak::Float(1.0), Dtype::I32),
        (Weak::Float(1.0), Dtype::Bool),
        (Weak::Complex(Complex::new(1.0, 0.0)), Dtype::F64),
    ] {
        assert!(matches!(weak.to_scalar(d), Err(Error::Dtype(_))), "{weak} {d}");
    }
}

#[test]
fn casts_follow_numpy() {
    let safe = |from, to| can_cast(dtype(from), dtype(to), Casting::Safe);
    assert!(
        safe('?', 'b')
            && safe('b', 'h')
            && safe('B', 'h')
            && safe('b', 'e')
            && safe('l', 'd')
            && safe('f', 'F')
    );
    assert!(
        !safe('b', 'B')
            && !safe('h', 'e')
            && !safe('i', 'f')
            && !safe('e', 'g')
            && !safe('d', 'F')
            && !safe('b', '?')
    );
    let same = |from, to| can_cast(dtype(from), dtype(to), Casting::SameKind);
    assert!(
        same('l', 'b')
            && same('L', 'b')
            && same('d', 'e')
            && same('e', 'g')
            && same('l', 'e')
            && same('d', 'F')
    );
    assert!(!same('b', 'B') && !same('f', 'l') && !same('F', 'd') && !same('B', '?'));
    for &a in Dtype::ALL {
        for &b in Dtype::ALL {
            let allowed =
                [Casting::No, Casting::Safe, Casting::SameKind, Casting::Unsafe].map(|c| can_cast(a, b, c));
            assert!(allowed.is_sorted() && allowed[3], "{a} to {b}: {allowed:?}");
            assert_eq!(allowed[0], a == b);
        }
    }
}

#[test]
fn limits_are_ieee() {
    let half = Dtype::F16.finfo().unwrap();
    assert_eq!((half.bits, half.eps, half.max, half.min), (16, 2_f64.powi(-10), 65504.0, -65504.0));
    assert_eq!(half.smallest_normal, 2_f64.powi(-14));
    let brain = Dtype::Bf16.finfo().unwrap();
    assert_eq!((brain.eps, brain.smallest_normal), (2_f64.powi(-7), 2_f64.powi(-126)));
    assert_eq!(brain.max, (2.0 - 2_f64.powi(-7)) * 2_f64.powi(127));
    assert_eq!(Dtype::C64.finfo().unwrap(), Dtype::F32.finfo().unwrap());
    assert_eq!(Dtype::F64.finfo().unwrap().max, f64::MAX);
    let int = Dtype::U32.iinfo().unwrap();
    assert_eq!((int.bits, int.min, int.max), (32, 0, u32::MAX.into()));
    for &d in Dtype::ALL {
        assert_eq!((d.finfo().is_ok(), d.iinfo().is_ok()), (d.kind().is_inexact(), d.kind().is_integer()));
    }
}

proptest! {
    #[test]
    fn the_order_of_operands_does_not_matter(
        operands in vec((0..Dtype::ALL.len(), any::<u32>()), 1..6),
    ) {
        let mut operands: Vec<(Dtype, u32)> = operands.into_iter().map(|(k, key)| (Dtype::ALL[k], key)).collect();
        let result = |operands: &[(Dtype, u32)]| {
            let dtypes: Vec<Dtype> = operands.iter().map(|&(dtype, _)| dtype).collect();
            result_type(&dtypes, &[], DtypeSupport::ALL).unwrap()
        };
        let first = result(&operands);
        operands.sort_by_key(|&(_, key)| key);
        prop_assert_eq!(result(&operands), first);
        prop_assert!(operands.iter().all(|&(dtype, _)| can_cast(dtype, first, Casting::Safe)));
    }
}

#[test]
fn assignments_convert_more_than_operations_do() {
    assert_eq!(Weak::Float(-2.7).assigned(Dtype::I8).unwrap(), Scalar::I8(-2));
    assert_eq!(Weak::Int(3).assigned(Dtype::Bool).unwrap(), Scalar::Bool(true));
    assert_eq!(Weak::Float(0.0).assigned(Dtype::Bool).unwrap(), Scalar::Bool(false));
    assert_eq!(Weak::Int(3).assigned(Dtype::F32).unwrap(), Scalar::F32(3.0));
    assert!(Weak::Float(300.0).assigned(Dtype::U8).is_err());
    assert!(Weak::Float(f64::NAN).assigned(Dtype::I32).is_err());
    assert!(Weak::Float(1e300).assigned(Dtype::I64).is_err());
    assert!(Weak::Complex(Complex::new(1.0, 0.0)).assigned(Dtype::F64).is_err());
}
