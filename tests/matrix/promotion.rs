//! Operands of different dtypes, and scalars, from end to end.

use std::cmp::Ordering;

use stridewise::{
    ArrayOrScalar, Complex, Device, Dtype, DtypeKind, Error, Op, Scalar, Side, UsmArray, UsmKind, Weak,
    elementwise, ops, promote_types, where_,
};

use crate::cell::{Case, Check, ensure, need, short, wrong};
use crate::forms::{Form, expect, place};
use crate::values::{Random, special};

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for &dtype in Dtype::ALL {
        let name = |case: &str| format!("promotion::{case}/{}", short(dtype));
        cases.push(Case::new(name("pairs"), move |device| pairs(device, dtype)));
        cases.push(Case::new(name("weak"), move |device| weak(device, dtype)));
        cases.push(Case::new(name("strong_scalars"), move |device| strong(device, dtype)));
        if dtype.kind().is_integer() {
            cases.push(Case::new(name("comparisons_out_of_range"), move |device| comparisons(device, dtype)));
        }
    }
    cases.push(Case::new("promotion::mixed_signs", mixed_signs));
    cases
}

/// The value of an integer.
fn whole(value: Scalar) -> i128 {
    match value.weak() {
        Weak::Int(value) => value,
        _ => 0,
    }
}

const COMPARISONS: [Op; 6] =
    [Op::Equal, Op::NotEqual, Op::Less, Op::LessEqual, Op::Greater, Op::GreaterEqual];

/// A comparison of integers.
fn order(op: Op, x: i128, y: i128) -> bool {
    match op {
        Op::Equal => x == y,
        Op::NotEqual => x != y,
        Op::Less => x < y,
        Op::LessEqual => x <= y,
        Op::Greater => x > y,
        _ => x >= y,
    }
}

/// `int64` beside `uint64`: exact, in comparisons of all lengths and layouts, recorded and computed, in searches and sets.
fn mixed_signs(device: &Device) -> Check {
    let queue = device.queue()?;
    let signed =
        [i64::MIN, i64::MIN + 1, -1, 0, 1, (1 << 53) - 1, 1 << 53, (1 << 53) + 1, i64::MAX - 1, i64::MAX];
    let unsigned = [
        0,
        1,
        (1 << 53) - 1,
        1 << 53,
        (1 << 53) + 1,
        (1 << 63) - 2,
        (1 << 63) - 1,
        1 << 63,
        u64::MAX - 1,
        u64::MAX,
    ];
    let mut random = Random::named("mixed signs");
    for len in [0, 1, 15, 16, 17, 100, 1023, 1024, 1025, 4095, 4096, 4097] {
        let x: Vec<Scalar> = (0..len).map(|_| Scalar::I64(*random.pick(&signed))).collect();
        let y: Vec<Scalar> = (0..len).map(|_| Scalar::U64(*random.pick(&unsigned))).collect();
        for form in Form::DISTINCT {
            let (a, _) = place(&queue, &[len], Dtype::I64, &x, form)?;
            let (b, _) = place(&queue, &[len], Dtype::U64, &y, Form::C)?;
            for op in COMPARISONS {
                let expected = |swapped: bool| -> Vec<Scalar> {
                    let pair = |(&x, &y): (&Scalar, &Scalar)| {
                        if swapped { order(op, whole(y), whole(x)) } else { order(op, whole(x), whole(y)) }
                    };
                    x.iter().zip(&y).map(pair).map(Scalar::Bool).collect()
                };
                let what = format!("{} of {len}, {form:?}", op.name());
                expect(&what, &a.binary(op, &b)?, &expected(false))?;
                expect(&what, &b.binary(op, &a)?, &expected(true))?;
                // In one pass with what is computed before and behind.
                let (held, twice) =
                    (a.unary(Op::Copy)?, b.unary(Op::BitwiseInvert)?.unary(Op::BitwiseInvert)?);
                let not = held.binary(op, &twice)?.unary(Op::LogicalNot)?;
                expect(&what, &not.unary(Op::LogicalNot)?, &expected(false))?;
                let out = UsmArray::empty(&queue, &[len], Dtype::Bool, UsmKind::Device)?;
                out.write_elementwise(op, &[(&a).into(), (&b).into()], &[])?;
                expect(&what, &out, &expected(false))?;
            }
            // A value of a dtype.
            for value in [i64::MIN, -1, 0, i64::MAX] {
                let expected: Vec<Scalar> =
                    y.iter().map(|&y| Scalar::Bool(whole(y) > value.into())).collect();
                expect(&format!("uint64 > {value}"), &b.binary(Op::Greater, Scalar::I64(value))?, &expected)?;
            }
            // By a reference that looks at all pairs.
            for invert in [false, true].into_iter().filter(|_| len < 1100 && form == Form::C) {
                let among = |table: &[Scalar], value: &Scalar| {
                    table.iter().any(|t| whole(*t) == whole(*value)) != invert
                };
                let expected: Vec<Scalar> = x.iter().map(|v| Scalar::Bool(among(&y, v))).collect();
                expect(&format!("int64 in {len} uint64"), &a.isin(&b, invert)?, &expected)?;
                let expected: Vec<Scalar> = y.iter().map(|v| Scalar::Bool(among(&x, v))).collect();
                expect(&format!("uint64 in {len} int64"), &b.isin(&a, invert)?, &expected)?;
            }
        }
        let sorted = |values: &[Scalar]| {
            let mut values = values.to_vec();
            values.sort_by_key(|&value| whole(value));
            values
        };
        let (p, q) = (sorted(&x), sorted(&y));
        for side in [Side::Left, Side::Right] {
            for (table, values) in [(&p, &y), (&q, &x)] {
                let place_of = |value: &Scalar| {
                    table
                        .iter()
                        .filter(|&&t| {
                            whole(t) < whole(*value) || (side == Side::Right && whole(t) == whole(*value))
                        })
                        .count()
                };
                let expected: Vec<Scalar> = values.iter().map(|v| Scalar::I64(place_of(v) as i64)).collect();
                let dtype = |values: &[Scalar]| values.first().map_or(Dtype::I64, Scalar::dtype);
                let (t, _) = place(&queue, &[len], dtype(table), table, Form::C)?;
                let (v, _) = place(&queue, &[len], dtype(values), values, Form::Reversed)?;
                expect(
                    &format!("searchsorted {side:?} of {len}"),
                    &t.searchsorted(&v, side, None)?,
                    &expected,
                )?;
            }
        }
    }
    Ok(())
}

/// The values of an operation on operands of different dtypes, converted first.
fn naive(op: Op, dtype: Dtype, columns: &[&[Scalar]]) -> Check<Vec<Scalar>> {
    let value = |i: usize| {
        let operands: Vec<Scalar> = columns.iter().map(|column| column[i].cast(dtype)).collect();
        ops::apply(op, &operands)
    };
    match (0..columns[0].len()).map(value).collect() {
        Some(values) => Ok(values),
        None => wrong!("no value of {} for {dtype}", op.name()),
    }
}

fn pairs(device: &Device, a: Dtype) -> Check {
    need(device, a)?;
    let queue = device.queue()?;
    let support = device.dtype_support();
    let mut random = Random::named(a.name());
    for &b in Dtype::ALL.iter().filter(|&&b| support.supports(b)) {
        let (x, y) = (random.many(97, |r| r.any(a)), random.many(97, |r| r.any(b)));
        let (first, _) = place(&queue, &[97], a, &x, Form::C)?;
        let (second, _) = place(&queue, &[97], b, &y, Form::Reversed)?;
        let common = support.downgrade(promote_types(a, b));
        for op in [Op::Add, Op::Multiply, Op::Minimum, Op::Equal, Op::Less, Op::BitwiseXor, Op::Divide] {
            let dtype = match op.wants_float() && !common.kind().is_inexact() {
                true => support.default_float(),
                false => common,
            };
            let result = first.binary(op, &second);
            if !op.allows(dtype) {
                let refused = matches!(result, Err(Error::Dtype(_)));
                ensure!(refused, "{} of {a} and {b}: expected a dtype error, got {result:?}", op.name());
                continue;
            }
            let expected = match (op, a, b) {
                (Op::Equal | Op::Less, Dtype::I64, Dtype::U64)
                | (Op::Equal | Op::Less, Dtype::U64, Dtype::I64) => {
                    let pairs = x.iter().zip(&y).map(|(&x, &y)| order(op, whole(x), whole(y)));
                    pairs.map(Scalar::Bool).collect()
                }
                _ => naive(op, dtype, &[&x, &y])?,
            };
            expect(&format_args!("{} of {a} and {b}", op.name()), &result?, &expected)?;
        }
    }
    Ok(())
}

/// The dtype of an array's dtype and a weak scalar, written out on its own.
fn weak_dtype(device: &Device, dtype: Dtype, weak: Weak) -> Dtype {
    use DtypeKind::{Bool, Complex, Float, Signed, Unsigned};
    let support = device.dtype_support();
    match (dtype.kind(), weak) {
        (Bool, Weak::Int(_)) => Dtype::I64,
        (Bool | Signed | Unsigned, Weak::Float(_)) => support.default_float(),
        (Bool | Signed | Unsigned, Weak::Complex(_)) => support.default_complex(),
        (Float, Weak::Complex(_)) if dtype == Dtype::F64 => Dtype::C128,
        (Float, Weak::Complex(_)) => Dtype::C64,
        (Bool | Signed | Unsigned | Float | Complex, _) => dtype,
    }
}

fn weak(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    let values = special(dtype);
    let (array, _) = place(&queue, &[values.len()], dtype, &values, Form::C)?;
    let scalars = [
        Weak::Bool(true),
        Weak::Int(3),
        Weak::Int(-1),
        Weak::Int(300),
        Weak::Int(-40_000),
        Weak::Int(1 << 40),
        Weak::Int(u64::MAX.into()),
        Weak::Int(1 << 70),
        Weak::Float(0.1),
        Weak::Float(f64::NAN),
        Weak::Float(1e300),
        Weak::Complex(Complex::new(1.0, -2.0)),
    ];
    for scalar in scalars {
        let common = weak_dtype(device, dtype, scalar);
        let fits = match (scalar, common.iinfo()) {
            (Weak::Int(value), Ok(range)) => (range.min..=range.max).contains(&value),
            _ => true,
        };
        for swapped in [false, true] {
            let (first, second): (ArrayOrScalar<'_>, ArrayOrScalar<'_>) = match swapped {
                false => ((&array).into(), scalar.into()),
                true => (scalar.into(), (&array).into()),
            };
            let result = elementwise(Op::Multiply, &[first, second]);
            if !fits || !Op::Multiply.allows(common) {
                let refused = matches!(result, Err(Error::Dtype(_)));
                ensure!(refused, "{dtype} array × {scalar:?}: expected a dtype error, got {result:?}");
                continue;
            }
            let converted = scalar.to_scalar(common)?;
            let repeated = vec![converted; values.len()];
            let columns: [&[Scalar]; 2] = if swapped { [&repeated, &values] } else { [&values, &repeated] };
            let expected = naive(Op::Multiply, common, &columns)?;
            expect(&format_args!("{dtype} array × {scalar:?} (swapped: {swapped})"), &result?, &expected)?;
        }
    }
    Ok(())
}

fn strong(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    let support = device.dtype_support();
    let mut random = Random::named("strong");
    let values = random.many(40, |r| r.any(dtype));
    let condition = random.many(40, |r| r.pattern(Dtype::Bool));
    let (array, _) = place(&queue, &[40], dtype, &values, Form::Step2)?;
    let (mask, _) = place(&queue, &[40], Dtype::Bool, &condition, Form::C)?;
    for &other in Dtype::ALL.iter().filter(|&&other| support.supports(other)) {
        let scalar = random.any(other);
        let common = support.downgrade(promote_types(dtype, other));
        let chosen = where_(&mask, &array, scalar)?;
        let pick = |i: usize| {
            if condition[i] == Scalar::Bool(true) { values[i].cast(common) } else { scalar.cast(common) }
        };
        let expected: Vec<Scalar> = (0..40).map(pick).collect();
        expect(&format_args!("where(mask, {dtype} array, {scalar:?})"), &chosen, &expected)?;
        let equal = array.binary(Op::Equal, scalar)?;
        let expected = naive(Op::Equal, common, &[&values, &vec![scalar; 40]])?;
        expect(&format_args!("{dtype} array == {scalar:?}"), &equal, &expected)?;
    }
    if dtype != Dtype::Bool {
        let refused = where_(&array, &mask, &mask);
        ensure!(matches!(refused, Err(Error::Dtype(_))), "where({dtype}, …): got {refused:?}");
    }
    Ok(())
}

/// Comparisons of integers with integers that their dtype does not hold: mathematically right.
fn comparisons(device: &Device, dtype: Dtype) -> Check {
    let queue = device.queue()?;
    let values = special(dtype);
    let number =
        |v: &Scalar| match v.cast(if dtype.kind() == DtypeKind::Signed { Dtype::I64 } else { Dtype::U64 }) {
            Scalar::I64(v) => i128::from(v),
            Scalar::U64(v) => i128::from(v),
            _ => 0,
        };
    let (array, _) = place(&queue, &[values.len()], dtype, &values, Form::C)?;
    let range = dtype.iinfo()?;
    let others = [range.min - 1, range.max + 1, -1, 0, 5, 300, -(1 << 100), 1 << 100, range.min, range.max];
    for other in others {
        for swapped in [false, true] {
            for op in [Op::Equal, Op::NotEqual, Op::Less, Op::LessEqual, Op::Greater, Op::GreaterEqual] {
                let weak = Weak::Int(other);
                let operands: [ArrayOrScalar<'_>; 2] =
                    if swapped { [weak.into(), (&array).into()] } else { [(&array).into(), weak.into()] };
                let holds = |v: &Scalar| {
                    let order = if swapped { other.cmp(&number(v)) } else { number(v).cmp(&other) };
                    Scalar::Bool(match op {
                        Op::Equal => order == Ordering::Equal,
                        Op::NotEqual => order != Ordering::Equal,
                        Op::Less => order == Ordering::Less,
                        Op::LessEqual => order != Ordering::Greater,
                        Op::Greater => order == Ordering::Greater,
                        _ => order != Ordering::Less,
                    })
                };
                let expected: Vec<Scalar> = values.iter().map(holds).collect();
                let what = format!("{} of {dtype} and {other} (swapped: {swapped})", op.name());
                expect(&what, &elementwise(op, &operands)?, &expected)?;
            }
        }
    }
    Ok(())
}
