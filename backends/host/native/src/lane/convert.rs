//! Numbers of a kind as those of another one.

use super::{Binary, Builder, Kind, Unary, Value};
use crate::Level;

impl Builder {
    /// A number as another kind: integers wrap, floats are rounded to nearest even, to integers they are truncated and saturated, with 0
    /// for NaN; a mask is 0 or 1. (A number as a mask: [`test`](Self::test).)
    pub fn convert(&mut self, x: Value, to: Kind) -> Option<Value> {
        let from = x.kind;
        if from == to {
            return Some(x);
        }
        match (from, to) {
            (Kind::Mask(_), _) => {
                let (one, zero) = (self.number(to, 1.0)?, self.constant(to, 0)?);
                self.select(x, one, zero)
            }
            (_, Kind::Mask(_)) => self.test(x),
            (Kind::F32 | Kind::F64, Kind::F32 | Kind::F64) => self.unary(Unary::Convert, x, to),
            (Kind::F32 | Kind::F64, _) => self.integer(x, to),
            (_, Kind::F32 | Kind::F64) => self.float(x, to),
            _ if from.size() == to.size() => Some(Value { kind: to, ..x }),
            _ => self.unary(Unary::Convert, x, to),
        }
    }

    /// The float of an integer.
    fn float(&mut self, x: Value, to: Kind) -> Option<Value> {
        match x.kind {
            Kind::I8 | Kind::U8 | Kind::I16 | Kind::U16 => {
                let wide = self.unary(Unary::Convert, x, Kind::I32)?;
                self.unary(Unary::Convert, wide, to)
            }
            Kind::I32 => self.unary(Unary::Convert, x, to),
            _ if self.level == Level::Avx512 => self.unary(Unary::Convert, x, to),
            Kind::U32 if to == Kind::F32 => {
                // Both halves, and the upper one times a power of two, are exact, so that the sum alone is rounded.
                let kind = Kind::I32;
                let low = self.constant(Kind::U32, 0xffff)?;
                let low = self.binary(Binary::And, x, low)?;
                let high = self.unary(Unary::Right(16), x, kind)?;
                let low = self.unary(Unary::Convert, Value { kind, ..low }, to)?;
                let high = self.unary(Unary::Convert, high, to)?;
                let power = self.number(to, 65536.0)?;
                let high = self.multiply(high, power)?;
                self.add(high, low)
            }
            Kind::U32 => {
                let wide = self.unary(Unary::Convert, x, Kind::U64)?;
                self.low_float(wide)
            }
            Kind::I64 | Kind::U64 if to == Kind::F64 => {
                // The upper half as the lowest bits of 2⁸⁴, the lower half as those of 2⁵²; the difference is exact.
                let (bits, kind) = (Kind::U64, Kind::F64);
                let mask = self.constant(bits, 0xffff_ffff)?;
                let low = self.binary(Binary::And, Value { kind: bits, ..x }, mask)?;
                let low_power = self.number(kind, 4_503_599_627_370_496.0)?;
                let low = self.binary(Binary::Or, low, Value { kind: bits, ..low_power })?;
                let high = self.unary(Unary::Right(32), Value { kind: bits, ..x }, bits)?;
                // A sign is 2³¹ more of the upper half.
                let signed = x.kind == Kind::I64;
                let power =
                    self.constant(bits, if signed { 0x4530_0000_8000_0000 } else { 0x4530_0000_0000_0000 })?;
                let high = self.binary(Binary::Xor, high, power)?;
                let over = if signed { 0x4530_0000_8010_0000 } else { 0x4530_0000_0010_0000 };
                let over = self.constant(kind, over)?;
                let high = self.subtract(Value { kind, ..high }, over)?;
                self.add(high, Value { kind, ..low })
            }
            _ => None,
        }
    }
    /// The `F64` of 64 bits of which only the lower half is other than 0.
    fn low_float(&mut self, x: Value) -> Option<Value> {
        let kind = Kind::F64;
        let power = self.number(kind, 4_503_599_627_370_496.0)?;
        let sum = self.binary(Binary::Or, x, Value { kind: x.kind, ..power })?;
        self.subtract(Value { kind, ..sum }, power)
    }

    /// The integer of a float.
    fn integer(&mut self, x: Value, to: Kind) -> Option<Value> {
        if to.size() == 8 && self.level == Level::Avx2 {
            return None;
        }
        let (kind, bits) = (x.kind, to.bits());
        let (low, high) = match to.is_signed() {
            true => (-(2.0_f64.powi(bits.cast_signed() - 1)), 2.0_f64.powi(bits.cast_signed() - 1)),
            false => (0.0, 2.0_f64.powi(bits.cast_signed())),
        };
        let top = match kind {
            Kind::F32 => f64::from((high as f32).next_down()),
            _ => high.next_down(),
        };
        let (low, high, top) = (self.number(kind, low)?, self.number(kind, high)?, self.number(kind, top)?);
        // NaN becomes the lowest number, too.
        let above = self.less(low, x)?;
        let inside = self.select(above, x, low)?;
        let below = self.less(inside, top)?;
        let inside = self.select(below, inside, top)?;
        let number = match (to, self.level) {
            (Kind::U32, Level::Avx2) => {
                // What is not below 2³¹ is taken as its distance from there, which is exact.
                let half = self.number(kind, 2_147_483_648.0)?;
                let less = self.less(inside, half)?;
                let rest = self.subtract(inside, half)?;
                let part = self.select(less, inside, rest)?;
                let part = self.unary(Unary::Convert, part, Kind::I32)?;
                let (top, none) = (self.constant(Kind::I32, 1 << 31)?, self.constant(Kind::I32, 0)?);
                let top = self.select(less, none, top)?;
                let whole = self.binary(Binary::Xor, part, top)?;
                Value { kind: to, ..whole }
            }
            (Kind::U32 | Kind::I64 | Kind::U64, _) => self.unary(Unary::Convert, inside, to)?,
            _ => {
                let number = self.unary(Unary::Convert, inside, Kind::I32)?;
                self.convert(number, to)?
            }
        };
        let most = if to.is_signed() { (1 << (bits - 1)) - 1 } else { u64::MAX };
        let (most, zero) = (self.constant(to, most)?, self.constant(to, 0)?);
        let too_large = self.less_equal(high, x)?;
        let number = self.select(too_large, most, number)?;
        let is_number = self.equal(x, x)?;
        self.select(is_number, number, zero)
    }

    /// Half-precision floats, of 16 bits, as `F32`.
    pub fn from_half(&mut self, x: Value) -> Option<Value> {
        self.unary(Unary::FromHalf, x, Kind::F32)
    }
    /// The bits of the nearest half-precision floats, ties to even.
    pub fn to_half(&mut self, x: Value) -> Option<Value> {
        self.unary(Unary::ToHalf, x, Kind::U16)
    }
    /// `bfloat16`, of 16 bits, as `F32`.
    pub fn from_bfloat(&mut self, x: Value) -> Option<Value> {
        let wide = self.unary(Unary::Convert, Value { kind: Kind::U16, ..x }, Kind::U32)?;
        let bits = self.unary(Unary::Left(16), wide, Kind::U32)?;
        Some(Value { kind: Kind::F32, ..bits })
    }
    /// The bits of the nearest `bfloat16`, ties to even.
    pub fn to_bfloat(&mut self, x: Value) -> Option<Value> {
        let kind = Kind::U32;
        let bits = Value { kind, ..x };
        let upper = self.unary(Unary::Right(16), bits, kind)?;
        let (one, below, quiet) =
            (self.constant(kind, 1)?, self.constant(kind, 0x7fff)?, self.constant(kind, 0x40)?);
        let odd = self.binary(Binary::And, upper, one)?;
        let sum = self.binary(Binary::Add, bits, below)?;
        let sum = self.binary(Binary::Add, sum, odd)?;
        let near = self.unary(Unary::Right(16), sum, kind)?;
        let nan = self.binary(Binary::Or, upper, quiet)?;
        let is_number = self.equal(x, x)?;
        let bits = self.select(is_number, near, nan)?;
        self.unary(Unary::Convert, bits, Kind::U16)
    }
}
