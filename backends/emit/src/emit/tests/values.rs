//! Values that are hard to compute with.

use stridewise_core::{Complex, Dtype, DtypeKind, Scalar};

/// A generator of random bits (S. Vigna's splitmix64).
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
    /// Any bits, or a number of ordinary size.
    pub(super) fn value(&mut self, dtype: Dtype) -> Scalar {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.bits().to_le_bytes());
        bytes[8..].copy_from_slice(&self.bits().to_le_bytes());
        if dtype == Dtype::Bool {
            bytes[0] &= 1;
        }
        if dtype.kind().is_inexact() && !self.bits().is_multiple_of(4) {
            let mut part = || {
                let unit = (self.bits() >> 11) as f64 * 2f64.powi(-53);
                let sign = if self.bits().is_multiple_of(2) { 1.0 } else { -1.0 };
                // Magnitudes from 2⁻¹² to 2⁸.
                sign * 2f64.powf(20.0 * unit - 12.0)
            };
            return Scalar::C128(Complex::new(part(), part())).cast(dtype);
        }
        if dtype.kind().is_integer() && self.bits().is_multiple_of(2) {
            return Scalar::I64((self.bits() % 41) as i64 - 20).cast(dtype);
        }
        Scalar::from_bytes(dtype, &bytes)
    }
}

/// Of the numbers of 16 bits, those whose bits are a multiple of this are tried.
const SIXTEEN_STEP: usize = 13;

const PARTS: &[f64] = &[
    0.0,
    1.0,
    0.5,
    2.0,
    3.0,
    1.5,
    2.5,
    0.1,
    7.0,
    10.0,
    1e-3,
    1e-8,
    0.999_999_9,
    1.000_000_2,
    22.5,
    88.7,
    1e5,
    1e10,
    f64::INFINITY,
];

/// Arguments at which functions change their ways; of real numbers.
#[allow(clippy::approx_constant)] // Near constants, not the constants.
const HARD: &[f64] = &[
    1e-20,
    1e-30,
    1e-40,
    1e-310,
    5e-324,
    0.346_573,
    0.414_214,
    0.549,
    0.625,
    0.693_147,
    0.707_107,
    0.785_398,
    0.843_75,
    0.99,
    1.01,
    1.25,
    1.414_214,
    1.570_796_3,
    2.414_213,
    2.718_281_8,
    2.857_14,
    3.141_592_6,
    3.95,
    4.0,
    5.9,
    6.0,
    8.0,
    9.01,
    11.0,
    17.3,
    20.0,
    22.1,
    27.0,
    31.5,
    87.4,
    88.722_83,
    88.8,
    89.416,
    100.0,
    103.9,
    104.1,
    126.5,
    127.99,
    128.0,
    149.5,
    150.0,
    255.0,
    708.0,
    709.782_7,
    710.475_8,
    745.1,
    745.2,
    1000.0,
    1023.99,
    1074.0,
    1075.0,
    2047.5,
    2048.5,
    4097.0,
    32_768.0,
    65_504.0,
    65_519.9,
    65_520.0,
    8_388_607.5,
    16_777_217.0,
    2_147_483_647.5,
    2_147_483_648.0,
    9.223_372e18,
    9.3e18,
    1.9e19,
    1e20,
    1e22,
    6.381_956_9e36,
    3.4e38,
    3.5e38,
    1e155,
    1e300,
];

/// The special values of a dtype.
pub(super) fn special(dtype: Dtype) -> Vec<Scalar> {
    let mut list: Vec<Scalar> = Vec::new();
    match dtype.kind() {
        DtypeKind::Bool => list.extend([Scalar::Bool(false), Scalar::Bool(true)]),
        DtypeKind::Signed | DtypeKind::Unsigned => {
            for v in
                [0i64, 1, 2, 3, 5, 7, 10, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 65_535, 46_341, 1 << 24]
            {
                list.extend([Scalar::I64(v).cast(dtype), Scalar::I64(-v).cast(dtype)]);
            }
            for v in [f64::INFINITY, f64::NEG_INFINITY] {
                // The greatest and the least, and their neighbours.
                let end = Scalar::F64(v).cast(dtype).cast(Dtype::I64);
                let Scalar::I64(end) = end else { continue };
                list.extend([-1, 0, 1].map(|d| Scalar::I64(end.wrapping_add(d)).cast(dtype)));
            }
            // Where halfway cases of 16-bit floats are.
            for v in [
                (1i64 << 30) + (1 << 22),
                (1 << 30) + (1 << 22) + 1,
                (1 << 30) + (1 << 22) - 1,
                2049,
                2051,
                257,
                259,
            ] {
                list.extend([Scalar::I64(v).cast(dtype), Scalar::I64(-v).cast(dtype)]);
            }
        }
        DtypeKind::Float => {
            for &v in PARTS {
                list.extend([Scalar::F64(v).cast(dtype), Scalar::F64(-v).cast(dtype)]);
            }
            list.push(Scalar::F64(f64::NAN).cast(dtype));
            list.push(Scalar::F64(-f64::NAN).cast(dtype));
            for positive in ends(dtype) {
                list.extend([
                    positive,
                    stridewise_core::ops::apply(stridewise_core::Op::Negative, &[positive]).unwrap(),
                ]);
            }
        }
        DtypeKind::Complex => {
            let parts = [
                0.0,
                -0.0,
                1.0,
                -1.0,
                0.5,
                -2.0,
                3.0,
                1e-10,
                1e-200,
                -1e-300,
                0.7,
                30.0,
                -100.0,
                720.0,
                1e10,
                1e200,
                f64::INFINITY,
                f64::NEG_INFINITY,
                f64::NAN,
            ];
            for re in parts {
                list.extend(parts.map(|im| Scalar::C128(Complex::new(re, im)).cast(dtype)));
            }
        }
    }
    list
}

/// The ends of the normal and subnormal numbers.
fn ends(dtype: Dtype) -> Vec<Scalar> {
    // Magnitudes ordered as bits, from the least: zero, tiny, the greatest subnormal, …
    let (digits, largest): (u32, u64) = match dtype {
        Dtype::F16 => (10, 0x7bff),
        Dtype::Bf16 => (7, 0x7f7f),
        Dtype::F32 => (23, 0x7f7f_ffff),
        _ => (52, 0x7fef_ffff_ffff_ffff),
    };
    [1, 2, (1 << digits) - 1, 1 << digits, (1 << digits) + 1, largest - 1, largest]
        .iter()
        .map(|bits| {
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&bits.to_le_bytes());
            Scalar::from_bytes(dtype, &bytes)
        })
        .collect()
}

/// Columns of operands: special values in all combinations, then random ones.
pub(super) fn columns(arity: usize, dtype: Dtype, condition: bool, random: usize) -> Vec<Vec<Scalar>> {
    let list = |position: usize| {
        let of = if condition && position == 0 { Dtype::Bool } else { dtype };
        let mut list = special(of);
        if arity == 1 && of.kind() == DtypeKind::Float {
            list.extend(HARD.iter().flat_map(|&v| [Scalar::F64(v).cast(of), Scalar::F64(-v).cast(of)]));
        }
        if arity == 1 && of.size() == 2 {
            list.extend((0..=u16::MAX).step_by(SIXTEEN_STEP).map(|bits| {
                let mut bytes = [0; 16];
                bytes[..2].copy_from_slice(&bits.to_le_bytes());
                Scalar::from_bytes(of, &bytes)
            }));
        }
        let every = match (arity, of.kind()) {
            (1, _) | (_, DtypeKind::Bool) => 1,
            (2, DtypeKind::Complex) => 5,
            (2, _) => 1,
            (_, DtypeKind::Complex) => 23,
            _ => 4,
        };
        list.into_iter().skip(if every > 1 { position } else { 0 }).step_by(every).collect::<Vec<_>>()
    };
    // A condition is true and false, not what is left behind a skip.
    let lists: Vec<Vec<Scalar>> = (0..arity).map(list).collect();
    let total: usize = lists.iter().map(Vec::len).product();
    let mut columns = vec![Vec::new(); arity];
    for number in 0..total {
        let mut rest = number;
        for (column, list) in columns.iter_mut().zip(&lists) {
            column.push(list[rest % list.len()]);
            rest /= list.len();
        }
    }
    let mut generator = Random(arity as u64 ^ (dtype as u64) << 8);
    for _ in 0..random {
        for (position, column) in columns.iter_mut().enumerate() {
            column.push(generator.value(if condition && position == 0 { Dtype::Bool } else { dtype }));
        }
    }
    columns
}
