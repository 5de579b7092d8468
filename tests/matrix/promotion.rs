//! Operands of different dtypes, and scalars, from end to end.

use std::cmp::Ordering;

use stridewise::{
    ArrayOrScalar, Complex, Device, Dtype, DtypeKind, Error, Op, Scalar, Weak, elementwise, ops,
    promote_types, where_,
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
    cases
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
            let expected = naive(op, dtype, &[&x, &y])?;
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
