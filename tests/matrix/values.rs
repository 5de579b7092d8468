//! Values to test with, and how far a result may be from the exact one.

use stridewise::{Complex, Dtype, DtypeKind, Scalar, bf16, f16};

/// A small generator of pseudo-random numbers (SplitMix64), so that every run sees the same values.
#[derive(Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }
    /// A generator for a test, from its name.
    pub(crate) fn named(name: &str) -> Self {
        Self::new(
            name.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3)),
        )
    }
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    /// A number below `end`, which is not 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.bits() % end as u64) as usize
    }
    pub(crate) fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }
    pub(crate) fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
    /// A number from `low` to `high`.
    pub(crate) fn real(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * ((self.bits() >> 11) as f64 / (1_u64 << 53) as f64)
    }
    /// Any bit pattern.
    pub(crate) fn pattern(&mut self, dtype: Dtype) -> Scalar {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.bits().to_ne_bytes());
        bytes[8..].copy_from_slice(&self.bits().to_ne_bytes());
        if dtype == Dtype::Bool {
            bytes[0] &= 1;
        }
        Scalar::from_bytes(dtype, &bytes)
    }
    /// A value of moderate size: a float from −4 to 4, a small integer.
    pub(crate) fn moderate(&mut self, dtype: Dtype) -> Scalar {
        match dtype.kind() {
            DtypeKind::Bool => Scalar::Bool(self.chance(2)),
            DtypeKind::Signed => Scalar::I64(self.below(100) as i64 - 50).cast(dtype),
            DtypeKind::Unsigned => Scalar::I64(self.below(100) as i64).cast(dtype),
            DtypeKind::Float => Scalar::F64(self.real(-4.0, 4.0)).cast(dtype),
            DtypeKind::Complex => {
                Scalar::C128(Complex::new(self.real(-4.0, 4.0), self.real(-4.0, 4.0))).cast(dtype)
            }
        }
    }
    /// A value of any sort: special, moderate, or any bits.
    pub(crate) fn any(&mut self, dtype: Dtype) -> Scalar {
        match self.below(4) {
            0 => *self.pick(&special(dtype)),
            1 => self.pattern(dtype),
            _ => self.moderate(dtype),
        }
    }
    pub(crate) fn many(&mut self, len: usize, mut value: impl FnMut(&mut Self) -> Scalar) -> Vec<Scalar> {
        (0..len).map(|_| value(self)).collect()
    }
}

/// Values at which operations go wrong: zeros, infinities, NaN, subnormal, smallest and largest numbers, the most
/// negative integer, −1, …
pub(crate) fn special(dtype: Dtype) -> Vec<Scalar> {
    macro_rules! integers {
        ($variant:ident $ty:ty) => {{
            let mut values: Vec<$ty> =
                vec![0, 1, 2, 3, 7, 100, <$ty>::MIN, <$ty>::MIN + 1, <$ty>::MAX, <$ty>::MAX - 1];
            // −1, −7 and half the range; for unsigned ones the same bits.
            values.extend([(0 as $ty).wrapping_sub(1), (0 as $ty).wrapping_sub(7), <$ty>::MAX / 2 + 1]);
            values.dedup();
            values.into_iter().map(Scalar::$variant).collect()
        }};
    }
    macro_rules! floats {
        ($variant:ident $ty:ty, $bits:ty) => {{
            let one = <$ty>::from_bits(
                Scalar::F64(1.0).cast(Dtype::$variant).get::<$ty>().map_or(0, <$ty>::to_bits),
            );
            let fixed = [0.5, 1.0, 1.5, 2.0, 3.0, 0.1, 100.0].map(|v| Scalar::F64(v).cast(Dtype::$variant));
            let smallest = <$ty>::from_bits(1);
            let subnormal = <$ty>::from_bits(<$ty>::MIN_POSITIVE.to_bits() - 1);
            let above_one = <$ty>::from_bits(one.to_bits() + 1);
            let edges = [smallest, subnormal, <$ty>::MIN_POSITIVE, <$ty>::MAX, <$ty>::INFINITY, above_one];
            let zero = <$ty>::from_bits(0);
            let mut values =
                vec![Scalar::$variant(zero), Scalar::$variant(-zero), Scalar::$variant(<$ty>::NAN)];
            values.extend(fixed);
            values.extend(edges.map(Scalar::$variant));
            let negative: Vec<Scalar> = fixed
                .iter()
                .filter_map(|v| v.get::<$ty>())
                .chain(edges)
                .map(|v| Scalar::$variant(-v))
                .collect();
            values.extend(negative);
            values
        }};
    }
    match dtype {
        Dtype::Bool => vec![Scalar::Bool(false), Scalar::Bool(true)],
        Dtype::I8 => integers!(I8 i8),
        Dtype::I16 => integers!(I16 i16),
        Dtype::I32 => integers!(I32 i32),
        Dtype::I64 => integers!(I64 i64),
        Dtype::U8 => integers!(U8 u8),
        Dtype::U16 => integers!(U16 u16),
        Dtype::U32 => integers!(U32 u32),
        Dtype::U64 => integers!(U64 u64),
        Dtype::F16 => floats!(F16 f16, u16),
        Dtype::Bf16 => floats!(Bf16 bf16, u16),
        Dtype::F32 => floats!(F32 f32, u32),
        Dtype::F64 => floats!(F64 f64, u64),
        Dtype::C64 | Dtype::C128 => {
            let part = dtype.real_part();
            let info = part.finfo().map(|info| (info.max, info.smallest_normal)).unwrap_or((1.0, 1.0));
            let parts = [0.0, -0.0, 1.0, -1.5, f64::INFINITY, f64::NAN, info.0, -info.1];
            let pairs = parts.iter().flat_map(|&re| parts.iter().map(move |&im| (re, im)));
            pairs.map(|(re, im)| Scalar::C128(Complex::new(re, im)).cast(dtype)).collect()
        }
    }
}

/// Whether two values are the same: equal bits, or NaN in the same parts.
pub(crate) fn same(a: Scalar, b: Scalar) -> bool {
    let part = |x: f64, y: f64| (x.is_nan() && y.is_nan()) || x.to_bits() == y.to_bits();
    match (a, b) {
        // Conversions of shorter floats to double are exact, and keep the sign of zero.
        (Scalar::F16(x), Scalar::F16(y)) => part(x.into(), y.into()),
        (Scalar::Bf16(x), Scalar::Bf16(y)) => part(x.into(), y.into()),
        (Scalar::F32(x), Scalar::F32(y)) => part(x.into(), y.into()),
        (Scalar::F64(x), Scalar::F64(y)) => part(x, y),
        (Scalar::C64(x), Scalar::C64(y)) => part(x.re.into(), y.re.into()) && part(x.im.into(), y.im.into()),
        (Scalar::C128(x), Scalar::C128(y)) => part(x.re, y.re) && part(x.im, y.im),
        _ => a == b,
    }
}

/// Bits of the significand, the leading one included, and the exponent of the smallest normal number.
fn precision(dtype: Dtype) -> (i32, i32) {
    match dtype.real_part() {
        Dtype::F16 => (11, -14),
        Dtype::Bf16 => (8, -126),
        Dtype::F32 => (24, -126),
        _ => (53, -1022),
    }
}

/// Half the distance between 1 and the next larger number: the largest relative error of one rounding.
pub(crate) fn unit_roundoff(dtype: Dtype) -> f64 {
    power_of_two(-precision(dtype).0)
}

/// 2ᵉ, for any exponent that a double has.
fn power_of_two(e: i32) -> f64 {
    if e >= -1022 { f64::from_bits(((e + 1023) as u64) << 52) } else { f64::from_bits(1 << (e + 1074)) }
}

/// The spacing of a dtype's numbers around a value.
pub(crate) fn ulp(dtype: Dtype, at: f64) -> f64 {
    let (digits, smallest) = precision(dtype);
    let exponent = ((at.to_bits() >> 52) & 0x7ff) as i32 - 1023;
    power_of_two(exponent.max(smallest).min(1023) - digits + 1)
}

/// The error of a floating-point result in units of the last place of the exact value; infinite where one is NaN and
/// the other not, or zeros have different signs.
pub(crate) fn error_in_ulp(got: Scalar, exact: f64) -> f64 {
    let dtype = got.dtype();
    let value = got.to_f64();
    if value.is_nan() || exact.is_nan() {
        return if value.is_nan() && exact.is_nan() { 0.0 } else { f64::INFINITY };
    }
    let rounded = Scalar::F64(exact).cast(dtype);
    if same(got, rounded) {
        return if value.is_infinite() { 0.0 } else { (value - exact).abs() / ulp(dtype, exact) };
    }
    if value == 0.0 && rounded.to_f64() == 0.0 {
        return f64::INFINITY;
    }
    if value.is_infinite() {
        // Only the threshold of overflow is near: one unit beyond the largest number.
        let max = dtype.finfo().map_or(f64::MAX, |info| info.max);
        let unit = ulp(dtype, max);
        return if value.signum() == exact.signum() {
            (max - exact.abs()) / unit + 1.0
        } else {
            f64::INFINITY
        };
    }
    (value - exact).abs() / ulp(dtype, exact)
}

/// The error of a complex result in units of the last place of the exact one's greater part; infinite where parts that
/// are no ordinary numbers, or the signs of zeros, differ.
pub(crate) fn error_in_units(got: Scalar, exact: Scalar) -> f64 {
    let dtype = exact.dtype().real_part();
    let greatest = dtype.finfo().map_or(f64::MAX, |info| info.max);
    let (got, exact) = (got.to_c128(), exact.to_c128());
    // Beside infinity, a finite part is as good as any.
    let size = |v: f64| if v.is_nan() { 0.0 } else { v.abs().min(greatest) };
    let unit = ulp(dtype, size(exact.re).max(size(exact.im)));
    // Beside NaN, the sign of a zero is open (C23, annex G).
    let open = exact.re.is_nan() || exact.im.is_nan();
    let part = |got: f64, exact: f64| {
        let alike = (got.is_nan() && exact.is_nan())
            || got.to_bits() == exact.to_bits()
            || (open && got == 0.0 && exact == 0.0);
        // Next to overflow, either is right.
        let near_overflow =
            got.signum() == exact.signum() && got.abs().min(exact.abs()) >= greatest * (1.0 - 1e-6);
        if alike || near_overflow {
            0.0
        } else if !got.is_finite() || !exact.is_finite() || (got == 0.0 && exact == 0.0) {
            f64::INFINITY
        } else {
            (got - exact).abs() / unit
        }
    };
    part(got.re, exact.re).max(part(got.im, exact.im))
}
