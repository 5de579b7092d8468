//! What each value of a form means, element by element, in plain Rust.

use crate::lane::{Binary, Builder, Kind, Node, Unary, Value};

/// The bits of all values, for one element.
pub(super) struct Meaning(Vec<u64>);

fn cut(kind: Kind, bits: u64) -> u64 {
    match kind.size() {
        0 => bits & 1,
        8 => bits,
        size => bits & ((1 << (8 * size)) - 1),
    }
}

/// An integer as it counts.
fn integer(kind: Kind, bits: u64) -> i128 {
    let bits = cut(kind, bits);
    match kind {
        Kind::I8 => i128::from(bits as u8 as i8),
        Kind::I16 => i128::from(bits as u16 as i16),
        Kind::I32 => i128::from(bits as u32 as i32),
        Kind::I64 => i128::from(bits as i64),
        _ => i128::from(bits),
    }
}

fn single(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

fn of_single(x: f32) -> u64 {
    u64::from(x.to_bits())
}

fn mask(kind: Kind, truth: bool) -> u64 {
    cut(kind, if truth { u64::MAX } else { 0 })
}

/// Whether two are the same, all NaN being one.
pub(super) fn same(kind: Kind, a: u64, b: u64) -> bool {
    match kind {
        Kind::F32 => cut(kind, a) == cut(kind, b) || (single(a).is_nan() && single(b).is_nan()),
        Kind::F64 => a == b || (f64::from_bits(a).is_nan() && f64::from_bits(b).is_nan()),
        _ => cut(kind, a) == cut(kind, b),
    }
}

impl Meaning {
    pub(super) fn of(form: &Builder, element: impl Fn(u8) -> u64) -> Self {
        let mut meaning = Self(Vec::new());
        for &(node, kind) in &form.nodes {
            let bits = match node {
                Node::Load(operand) | Node::Uniform(operand) | Node::Spread(operand) => element(operand),
                Node::Constant(bits) => bits,
                Node::Unary(op, x) => unary(op, x.kind(), meaning.value(x), kind),
                Node::Binary(op, x, y) => binary(op, x.kind(), meaning.value(x), meaning.value(y), kind),
                Node::Select(mask, yes, no) => meaning.value(if meaning.value(mask) != 0 { yes } else { no }),
            };
            meaning.0.push(cut(kind, bits));
        }
        meaning
    }

    pub(super) fn value(&self, value: Value) -> u64 {
        self.0[value.index()]
    }
}

fn unary(op: Unary, from: Kind, x: u64, to: Kind) -> u64 {
    match op {
        Unary::Sqrt if from == Kind::F32 => of_single(single(x).sqrt()),
        Unary::Sqrt => f64::from_bits(x).sqrt().to_bits(),
        Unary::Round(direction) => {
            let round = |x: f64| match direction {
                0 => x.round_ties_even(),
                1 => x.floor(),
                2 => x.ceil(),
                _ => x.trunc(),
            };
            // What a single-precision number is rounded to is one, too.
            if from == Kind::F32 {
                of_single(round(f64::from(single(x))) as f32)
            } else {
                round(f64::from_bits(x)).to_bits()
            }
        }
        Unary::Magnitude => integer(from, x).unsigned_abs() as u64,
        Unary::Left(places) => x << places,
        Unary::Right(places) => cut(from, x) >> places,
        Unary::Not => x ^ 1,
        Unary::Ones => u64::from(x != 0),
        Unary::FromHalf => of_single(half::f16::from_bits(x as u16).to_f32()),
        Unary::ToHalf => u64::from(half::f16::from_f32(single(x)).to_bits()),
        Unary::Convert => match (from, to) {
            (Kind::F32, Kind::F64) => f64::from(single(x)).to_bits(),
            (Kind::F64, Kind::F32) => of_single(f64::from_bits(x) as f32),
            (Kind::F32, _) => single(x) as i128 as u64,
            (Kind::F64, _) => f64::from_bits(x) as i128 as u64,
            (_, Kind::F32) => of_single(integer(from, x) as f32),
            (_, Kind::F64) => (integer(from, x) as f64).to_bits(),
            _ => integer(from, x) as u64,
        },
    }
}

fn binary(op: Binary, kind: Kind, x: u64, y: u64, to: Kind) -> u64 {
    let floats = |f32s: fn(f32, f32) -> f32, f64s: fn(f64, f64) -> f64| {
        if kind == Kind::F32 {
            of_single(f32s(single(x), single(y)))
        } else {
            f64s(f64::from_bits(x), f64::from_bits(y)).to_bits()
        }
    };
    let float = |x: u64| if kind == Kind::F32 { f64::from(single(x)) } else { f64::from_bits(x) };
    let (a, b) = (integer(kind, x), integer(kind, y));
    let order = if kind.is_float() { float(x).partial_cmp(&float(y)) } else { Some(a.cmp(&b)) };
    match op {
        Binary::Add if kind.is_float() => floats(|x, y| x + y, |x, y| x + y),
        Binary::Subtract if kind.is_float() => floats(|x, y| x - y, |x, y| x - y),
        Binary::Multiply if kind.is_float() => floats(|x, y| x * y, |x, y| x * y),
        Binary::Divide => floats(|x, y| x / y, |x, y| x / y),
        Binary::Add => x.wrapping_add(y),
        Binary::Subtract => x.wrapping_sub(y),
        Binary::Multiply => x.wrapping_mul(y),
        Binary::HalfProduct => (x & 0xffff_ffff) * (y & 0xffff_ffff),
        Binary::Least => {
            if order.is_some_and(std::cmp::Ordering::is_lt) {
                x
            } else {
                y
            }
        }
        Binary::Greatest => {
            if order.is_some_and(std::cmp::Ordering::is_gt) {
                x
            } else {
                y
            }
        }
        Binary::And => x & y,
        Binary::Or => x | y,
        Binary::Xor => x ^ y,
        Binary::Without => !x & y,
        Binary::Left | Binary::Right | Binary::RightSigned => {
            let (bits, places) = (8 * u32::from(kind.size()), cut(kind, y));
            match op {
                Binary::RightSigned => (a >> places.min(u64::from(bits) - 1)) as u64,
                _ if places >= u64::from(bits) => 0,
                Binary::Left => x << places,
                _ => cut(kind, x) >> places,
            }
        }
        Binary::Equal => mask(to, order.is_some_and(std::cmp::Ordering::is_eq)),
        Binary::Less => mask(to, order.is_some_and(std::cmp::Ordering::is_lt)),
        Binary::LessEqual => mask(to, order.is_some_and(std::cmp::Ordering::is_le)),
        Binary::Unordered => mask(to, order.is_none()),
    }
}
