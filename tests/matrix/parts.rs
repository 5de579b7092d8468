//! Parts, angles, projections and closeness, against the scalar oracle.

use stridewise::{Complex, Device, Dtype, DtypeKind, Error, Op, Scalar, UsmArray, ops, promote_types};

use crate::cell::{Case, Check, ensure, need, short, wrong};
use crate::forms::{Form, expect, place, read};
use crate::values::{Random, error_in_ulp, special};

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for &dtype in Dtype::ALL {
        let name = |case: &str| format!("parts::{case}/{}", short(dtype));
        cases.push(Case::new(name("real_imag_conj"), move |device| parts(device, dtype)));
        cases.push(Case::new(name("angle"), move |device| angle(device, dtype)));
        cases.push(Case::new(name("proj"), move |device| proj(device, dtype)));
        cases.push(Case::new(name("isclose"), move |device| isclose(device, dtype)));
    }
    cases.push(Case::new("parts::allclose", allclose));
    cases
}

fn samples(dtype: Dtype, random: &mut Random) -> Vec<Scalar> {
    let mut values = special(dtype);
    values.extend(random.many(77, |random| random.any(dtype)));
    values
}

fn parts(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let mut random = Random::named(&format!("parts {dtype}"));
    for form in Form::ALL {
        let values = samples(dtype, &mut random);
        let (x, shown) = place(&device.queue()?, &[values.len()], dtype, &values, form)?;
        for (what, result, part) in [
            ("real", x.real(), (|z| Complex::new(z.re, 0.0)) as fn(Complex<f64>) -> Complex<f64>),
            ("imag", x.imag(), |z| Complex::new(z.im, 0.0)),
            ("conj", x.conj(), |z| z.conj()),
        ] {
            if dtype == Dtype::Bool {
                ensure!(matches!(result, Err(Error::Dtype(_))), "{what} of bool: {result:?}");
                continue;
            }
            let result = result?;
            let out = if what == "conj" { dtype } else { dtype.real_part() };
            let expected = |v: &Scalar| match (dtype.kind(), what) {
                (DtypeKind::Complex, _) => Scalar::C128(part(v.to_c128())).cast(out),
                (_, "imag") => Scalar::I8(0).cast(out),
                _ => *v,
            };
            let expected: Vec<Scalar> = shown.iter().map(expected).collect();
            if form != Form::Point {
                expect(&what, &result, &expected)?;
            }
        }
    }
    Ok(())
}

fn angle(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    if dtype == Dtype::Bool {
        return Ok(());
    }
    let mut random = Random::named(&format!("angle {dtype}"));
    let values = samples(dtype, &mut random);
    let (x, shown) = place(&device.queue()?, &[values.len()], dtype, &values, Form::Step2)?;
    let result = x.angle()?;
    let out = match dtype.kind().is_inexact() {
        true => dtype.real_part(),
        false => device.dtype_support().default_float(),
    };
    ensure!(result.dtype() == out, "angle of {dtype}: {}", result.dtype());
    for (got, value) in read(&result)?.into_iter().zip(shown) {
        let z = value.to_c128();
        // 0 of real numbers, with the sign that imaginary parts of real numbers have.
        let exact = if dtype.kind() == DtypeKind::Complex { z.im.atan2(z.re) } else { 0.0_f64.atan2(z.re) };
        let error = error_in_ulp(got, exact);
        let bound = device.error_bound(stridewise::Op::Atan2, out).unwrap_or(2.0);
        ensure!(error <= bound, "angle of {value:?}: got {got:?}, expected {exact}, {error} units off");
    }
    Ok(())
}

fn proj(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    if dtype == Dtype::Bool {
        return Ok(());
    }
    let mut random = Random::named(&format!("proj {dtype}"));
    for form in [Form::C, Form::Step2, Form::Reversed] {
        let values = samples(dtype, &mut random);
        let (x, shown) = place(&device.queue()?, &[values.len()], dtype, &values, form)?;
        let project = |v: &Scalar| {
            let z = v.to_c128();
            let pole = Complex::new(f64::INFINITY, 0.0_f64.copysign(z.im));
            if z.re.is_infinite() || z.im.is_infinite() { Scalar::C128(pole).cast(dtype) } else { *v }
        };
        let integer = dtype.kind().is_integer();
        let expected: Vec<Scalar> = shown.iter().map(|v| if integer { *v } else { project(v) }).collect();
        expect(&format_args!("proj of {dtype}"), &x.proj()?, &expected)?;
    }
    Ok(())
}

/// The closeness of two numbers by NumPy's formula, in a dtype.
fn close(x: Scalar, y: Scalar, dtype: Dtype, rtol: f64, atol: f64, equal_nan: bool) -> bool {
    let (x, y) = (x.cast(dtype), y.cast(dtype));
    let apply = |op: Op, operands: &[Scalar]| ops::apply(op, operands).unwrap_or(Scalar::Bool(false));
    let number = |value: f64| Scalar::F64(value).cast(dtype.real_part());
    let distance = apply(Op::Abs, &[apply(Op::Subtract, &[x, y])]);
    let relative = apply(Op::Multiply, &[apply(Op::Abs, &[y]), number(rtol)]);
    let near = apply(Op::LessEqual, &[distance, apply(Op::Add, &[relative, number(atol)])]);
    let yes = |value: Scalar| value == Scalar::Bool(true);
    let both = yes(apply(Op::IsNan, &[x])) && yes(apply(Op::IsNan, &[y]));
    (yes(near) && y.to_c128().is_finite()) || yes(apply(Op::Equal, &[x, y])) || (equal_nan && both)
}

fn isclose(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    let support = device.dtype_support();
    let mut random = Random::named(&format!("isclose {dtype}"));
    let others: Vec<Dtype> = Dtype::ALL.iter().copied().filter(|&d| support.supports(d)).collect();
    for number in 0..60 {
        let second = if number % 3 == 0 { *random.pick(&others) } else { dtype };
        let common = match support.downgrade(promote_types(dtype, second)) {
            Dtype::F16 | Dtype::Bf16 => Dtype::F32,
            common if common.kind().is_inexact() => common,
            _ => support.default_float(),
        };
        let (x, y): (Vec<Scalar>, Vec<Scalar>) = (0..60)
            .map(|_| {
                let x = random.any(dtype);
                let beside = x.to_c128() * (1.0 + random.real(-2e-5, 2e-5));
                let y = if random.chance(3) { random.any(second) } else { Scalar::C128(beside).cast(second) };
                (x, y)
            })
            .unzip();
        let (a, x) = place(&queue, &[6, 10], dtype, &x, *random.pick(&Form::DISTINCT))?;
        let (b, y) = place(&queue, &[6, 10], second, &y, *random.pick(&Form::ALL))?;
        for (rtol, atol) in [(1e-5, 1e-8), (0.0, 0.0), (0.0, 0.5)] {
            for equal_nan in [false, true] {
                let result = a.isclose(&b, rtol, atol, equal_nan)?;
                ensure!(result.dtype() == Dtype::Bool && result.shape() == [6, 10], "{result:?}");
                for ((got, x), y) in read(&result)?.into_iter().zip(&x).zip(&y) {
                    let expected = close(*x, *y, common, rtol, atol, equal_nan);
                    if got != Scalar::Bool(expected) {
                        wrong!("isclose({x:?}, {y:?}, {rtol}, {atol}, {equal_nan}): {got:?}");
                    }
                }
                let all = read(&a.allclose(&b, rtol, atol, equal_nan)?)?;
                let expected = x.iter().zip(&y).all(|(x, y)| close(*x, *y, common, rtol, atol, equal_nan));
                ensure!(all == [Scalar::Bool(expected)], "allclose: {all:?}, expected {expected}");
            }
        }
    }
    Ok(())
}

fn allclose(device: &Device) -> Check {
    let queue = device.queue()?;
    let len = 300_000;
    let values: Vec<Scalar> = (0..len).map(|i| Scalar::F32(i as f32)).collect();
    let (x, _) = place(&queue, &[len], Dtype::F32, &values, Form::C)?;
    let test =
        |y: &UsmArray| -> Check<bool> { Ok(x.allclose(y, 1e-5, 1e-8, false)?.item()? == Scalar::Bool(true)) };
    ensure!(test(&x)?, "an array is not close to itself");
    let mut other = values;
    other[len - 2] = Scalar::F32(0.0);
    let (y, _) = place(&queue, &[len], Dtype::F32, &other, Form::C)?;
    ensure!(!test(&y)?, "an array is close to another");
    Ok(())
}
