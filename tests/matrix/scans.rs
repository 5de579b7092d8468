//! Running sums, products and logarithms of sums, and differences, against naive loops.

use stridewise::{Complex, Device, Dtype, DtypeKind, Error, Op, Scalar, Scan, UsmArray, ops};

use crate::cell::{Case, Check, ensure, need, short, wrong};
use crate::forms::{Form, expect, multi_index, place, read};
use crate::values::{Random, same, ulp, unit_roundoff};

const SCANS: [Scan; 3] = [Scan::Sum, Scan::Prod, Scan::Logsumexp];

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for scan in SCANS {
        for &dtype in Dtype::ALL {
            let name = |case: &str| format!("scan::{}_{case}/{}", scan.name(), short(dtype));
            cases.push(Case::new(name("forms"), move |device| forms(device, scan, dtype)));
            cases.push(Case::new(name("long"), move |device| long(device, scan, dtype)));
            cases.push(Case::new(name("dtype"), move |device| dtype_argument(device, scan, dtype)));
        }
    }
    cases.push(Case::new("scan::special/f32", specials));
    cases.push(Case::new("scan::recorded/f32", recorded));
    cases.push(Case::new("scan::errors", errors));
    for &dtype in Dtype::ALL {
        cases.push(Case::new(format!("diff::random/{}", short(dtype)), move |device| diff(device, dtype)));
    }
    cases.push(Case::new("diff::edges/f32", edges));
    cases
}

/// The dtype of a result, written out on its own; `None` where the scan does not take the dtype.
fn result_dtype(device: &Device, scan: Scan, dtype: Dtype) -> Option<Dtype> {
    Some(match (scan, dtype.kind()) {
        (Scan::Logsumexp, DtypeKind::Complex) => return None,
        (_, DtypeKind::Float | DtypeKind::Complex) => dtype,
        (Scan::Logsumexp, _) => device.dtype_support().default_float(),
        (_, DtypeKind::Unsigned) => Dtype::U64,
        _ => Dtype::I64,
    })
}

fn integer(value: Scalar) -> u64 {
    // Wrapping keeps the low 64 bits.
    value.cast(Dtype::U64).get().unwrap_or_default()
}

/// Whether a line of results is the running fold of a line of elements, which have the result's dtype.
fn fault(scan: Scan, values: &[Scalar], got: &[Scalar], initial: bool) -> Option<String> {
    let out = got.first()?.dtype();
    let complex = out.kind() == DtypeKind::Complex;
    let unit = (if complex { 3.0 } else { 1.0 }) * (unit_roundoff(out) + f64::EPSILON);
    let (mut whole, mut sum, mut size) = (u64::from(scan == Scan::Prod), Complex::new(0.0, 0.0), 0.0_f64);
    let (mut product, mut largest) = (Complex::new(1.0, 0.0), f64::NEG_INFINITY);
    let mut seen = Vec::new();
    for (i, &got) in got.iter().enumerate() {
        if let Some(&value) = i.checked_sub(usize::from(initial)).and_then(|place| values.get(place)) {
            whole = match scan {
                Scan::Prod => whole.wrapping_mul(integer(value)),
                _ => whole.wrapping_add(integer(value)),
            };
            let z = value.to_c128();
            sum += z;
            size += z.norm();
            // Infinity times the imaginary part 0 of a real number would be NaN.
            product = if complex { product * z } else { Complex::new(product.re * z.re, 0.0) };
            largest = largest.max(z.re);
            seen.push(z.re);
        }
        let count = i as f64 + 2.0;
        let (exact, error) = match scan {
            _ if !out.kind().is_inexact() => {
                let expected = Scalar::U64(whole).cast(out);
                if !same(got, expected) {
                    return Some(format!("element {i}: got {got:?}, expected {expected:?}"));
                }
                continue;
            }
            Scan::Sum => (sum, count * unit * size + ulp(out, size)),
            Scan::Prod => (product, count * unit * product.norm() * 1.01 + 8.0 * ulp(out, product.norm())),
            _ => {
                let shift = if largest.is_finite() { largest } else { 0.0 };
                let terms: f64 = seen.iter().map(|x| (x - shift).exp()).sum();
                let exact = shift + terms.ln();
                let near = 4.0 * count * unit * (1.0 + exact.abs()) + ulp(out, exact);
                (Complex::new(exact, 0.0), near)
            }
        };
        let value = got.to_c128();
        let range = out.finfo().map_or(f64::MAX, |info| info.max);
        let near = |x: f64, y: f64| {
            x == y
                || (x.is_nan() && y.is_nan())
                || (y.is_finite() && (x - y).abs() <= error)
                // Beyond the range of the dtype, where what follows is anyone's guess.
                || (y.is_finite() && exact.norm() >= range * 0.99)
        };
        if !(near(value.re, exact.re) && (!complex || near(value.im, exact.im))) {
            return Some(format!("element {i}: got {got:?}, expected {exact:?} ± {error:e}"));
        }
    }
    None
}

fn check(
    device: &Device,
    scan: Scan,
    array: &UsmArray,
    shown: &[Scalar],
    axis: Option<isize>,
    named: Option<Dtype>,
    initial: bool,
) -> Check {
    let shape = array.shape();
    let Some(out) = named.or(result_dtype(device, scan, array.dtype())) else { return Ok(()) };
    let what = format!("{scan:?} of {} {shape:?} along {axis:?}, initial {initial}", array.dtype());
    let result = array.cumulative(scan, axis, named, initial)?;
    ensure!(result.dtype() == out, "{what}: {}, expected {out}", result.dtype());
    let along = axis.map_or(0, |a| if a < 0 { shape.len() - a.unsigned_abs() } else { a as usize });
    let mut expected = shape.to_vec();
    expected[along] += usize::from(initial);
    ensure!(result.shape() == expected, "{what}: shape {:?}, expected {expected:?}", result.shape());
    let lines = |shape: &[usize], values: &[Scalar]| {
        let outer: usize = shape[..along].iter().product();
        let inner: usize = shape[along + 1..].iter().product();
        let mut lines = vec![Vec::new(); outer * inner];
        for (flat, &value) in values.iter().enumerate() {
            let index = multi_index(shape, flat);
            let rest = index.iter().zip(shape).enumerate().filter(|&(axis, _)| axis != along);
            lines[rest.fold(0, |place, (_, (&i, &extent))| place * extent + i)].push(value);
        }
        lines
    };
    let converted: Vec<Scalar> = shown.iter().map(|v| v.cast(out)).collect();
    let got = lines(&expected, &read(&result)?);
    for (values, got) in lines(shape, &converted).iter().zip(&got) {
        if let Some(fault) = fault(scan, values, got, initial) {
            wrong!("{what}, elements {values:?}: {fault}");
        }
    }
    Ok(())
}

/// Values whose products stay in range: of two neighbours, one is about the inverse of the other.
fn values(random: &mut Random, scan: Scan, dtype: Dtype, len: usize) -> Vec<Scalar> {
    let mut open: Option<Complex<f64>> = None;
    let mut factor = |random: &mut Random, angle: f64| match open.take() {
        Some(last) => last.inv(),
        None => {
            let next = Complex::from_polar(random.real(0.8, 1.2), angle * random.real(-1.0, 1.0));
            open = Some(next);
            next
        }
    };
    random.many(len, |random| match (scan, dtype.kind()) {
        (Scan::Prod, DtypeKind::Float) => Scalar::F64(factor(random, 0.0).re).cast(dtype),
        (Scan::Prod, DtypeKind::Complex) => Scalar::C128(factor(random, 3.0)).cast(dtype),
        _ => random.moderate(dtype),
    })
}

/// Every form, axis and shape.
fn forms(device: &Device, scan: Scan, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    let mut random = Random::named(&format!("{scan:?} {dtype}"));
    for form in Form::ALL {
        for shape in [&[0][..], &[1], &[7], &[100], &[3, 5], &[2, 0, 3], &[3, 4, 33], &[1, 9]] {
            let values = values(&mut random, scan, dtype, shape.iter().product());
            let (array, shown) = place(&queue, shape, dtype, &values, form)?;
            let array = array.broadcast_to(shape)?;
            for initial in [false, true] {
                if shape.len() == 1 {
                    check(device, scan, &array, &shown, None, None, initial)?;
                }
                for axis in 0..shape.len() as isize {
                    check(device, scan, &array, &shown, Some(axis), None, initial)?;
                    let back = axis - shape.len() as isize;
                    check(device, scan, &array, &shown, Some(back), None, initial)?;
                }
            }
        }
    }
    Ok(())
}

/// Enough for several threads: one long line, and many lines along either axis.
fn long(device: &Device, scan: Scan, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    let mut random = Random::named(&format!("long {scan:?} {dtype}"));
    // The loops of the logarithms are quadratic.
    let shapes: [&[usize]; 3] = match scan {
        Scan::Logsumexp => [&[3000], &[400, 30], &[30, 400]],
        _ => [&[150_001], &[500, 300], &[3, 30_000]],
    };
    for shape in shapes {
        let values = values(&mut random, scan, dtype, shape.iter().product());
        let (array, shown) = place(&queue, shape, dtype, &values, Form::C)?;
        for axis in 0..shape.len() as isize {
            check(device, scan, &array, &shown, Some(axis), None, false)?;
        }
    }
    Ok(())
}

/// Elements are converted first, and folded in the dtype named.
fn dtype_argument(device: &Device, scan: Scan, from: Dtype) -> Check {
    need(device, from)?;
    let queue = device.queue()?;
    let mut random = Random::named(&format!("dtype {scan:?} {from}"));
    for &to in Dtype::ALL {
        if !device.dtype_support().supports(to) {
            continue;
        }
        let values = values(&mut random, scan, from, 40);
        let (array, shown) = place(&queue, &[4, 10], from, &values, Form::F)?;
        let allowed = match scan {
            Scan::Logsumexp => to.kind() == DtypeKind::Float,
            _ => to != Dtype::Bool,
        };
        if allowed {
            check(device, scan, &array, &shown, Some(0), Some(to), true)?;
            check(device, scan, &array, &shown, Some(1), Some(to), false)?;
        } else {
            let outcome = array.cumulative(scan, Some(0), Some(to), false);
            ensure!(matches!(outcome, Err(Error::Dtype(_))), "{scan:?} of {from} as {to}: {outcome:?}");
        }
    }
    Ok(())
}

/// NaN and infinities hold from where they are.
fn specials(device: &Device) -> Check {
    let queue = device.queue()?;
    for scan in SCANS {
        for special in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            for len in [1, 5, 40] {
                for place_of in 0..len {
                    let mut values = vec![Scalar::F32(1.0); len];
                    values[place_of] = Scalar::F32(special);
                    let (array, shown) = place(&queue, &[len], Dtype::F32, &values, Form::C)?;
                    check(device, scan, &array, &shown, None, None, false)?;
                }
            }
        }
    }
    let nothing = vec![Scalar::F32(f32::NEG_INFINITY); 10];
    let (array, _) = place(&queue, &[10], Dtype::F32, &nothing, Form::C)?;
    let result = array.cumulative(Scan::Logsumexp, None, None, false)?;
    expect(&"logarithms of sums of nothing", &result, &nothing)
}

fn recorded(device: &Device) -> Check {
    let queue = device.queue()?;
    let values: Vec<Scalar> = (0..6000).map(|i| Scalar::F32((i % 7) as f32)).collect();
    let (x, _) = place(&queue, &[60, 100], Dtype::F32, &values, Form::C)?;
    let doubled = x.binary(Op::Add, &x)?.t();
    let mut expected = vec![0.0; 6000];
    for i in 0..100 {
        for j in 0..60 {
            let before = if j == 0 { 0.0 } else { expected[i * 60 + j - 1] };
            expected[i * 60 + j] = before + 2.0 * ((j * 100 + i) % 7) as f32;
        }
    }
    let expected: Vec<Scalar> = expected.into_iter().map(Scalar::F32).collect();
    expect(&"sums of recorded work", &doubled.cumulative(Scan::Sum, Some(1), None, false)?, &expected)
}

fn errors(device: &Device) -> Check {
    let queue = device.queue()?;
    let array = |shape: &[usize]| {
        let values = vec![Scalar::F32(1.0); shape.iter().product()];
        place(&queue, shape, Dtype::F32, &values, Form::C).map(|(array, _)| array)
    };
    for scan in SCANS {
        for (shape, axis) in [(&[2, 3][..], None), (&[], None), (&[2, 3], Some(2)), (&[], Some(0))] {
            let outcome = array(shape)?.cumulative(scan, axis, None, false);
            ensure!(
                matches!(outcome, Err(Error::Axis(_))),
                "{scan:?} of {shape:?} along {axis:?}: {outcome:?}"
            );
        }
    }
    let outcome = array(&[3])?.astype(Dtype::C64)?.cumulative(Scan::Logsumexp, None, None, false);
    ensure!(matches!(outcome, Err(Error::Dtype(_))), "logsumexp of complex64: {outcome:?}");
    let outcome = array(&[2, 3])?.diff(2, 1, None, None);
    ensure!(matches!(outcome, Err(Error::Axis(_))), "differences along axis 2 of 2: {outcome:?}");
    let outcome = array(&[2, 3])?.diff(0, 1, Some(&array(&[1, 4])?), None);
    ensure!(matches!(outcome, Err(Error::Shape(_))), "differences with a row that does not fit: {outcome:?}");
    Ok(())
}

/// The differences of a line, by the scalar oracle.
fn differences(mut line: Vec<Scalar>, n: usize) -> Vec<Scalar> {
    for _ in 0..n {
        let op = |dtype| if dtype == Dtype::Bool { Op::NotEqual } else { Op::Subtract };
        line =
            line.windows(2).filter_map(|pair| ops::apply(op(pair[0].dtype()), &[pair[1], pair[0]])).collect();
    }
    line
}

fn diff(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    let mut random = Random::named(&format!("diff {dtype}"));
    for number in 0..60 {
        let (rows, columns, n) = (random.below(5), random.below(12), random.below(4));
        let values = random.many(rows * columns, |random| random.any(dtype));
        let form = *random.pick(&Form::DISTINCT);
        let (array, shown) = place(&queue, &[rows, columns], dtype, &values, form)?;
        let what = format!("differences {number} of {dtype} [{rows}, {columns}] in {form:?}, n = {n}");
        let result = array.diff(-1, n, None, None)?;
        ensure!(result.shape() == [rows, columns.saturating_sub(n)], "{what}: shape {:?}", result.shape());
        let lines = |i: usize| shown[i * columns..][..columns].to_vec();
        let expected: Vec<Scalar> = (0..rows).flat_map(|i| differences(lines(i), n)).collect();
        expect(&what, &result, &expected)?;
        let turned = array.t().diff(0, n, None, None)?.t();
        expect(&format_args!("{what}, turned"), &turned, &expected)?;
    }
    Ok(())
}

fn edges(device: &Device) -> Check {
    let queue = device.queue()?;
    let float = |v: f32| Scalar::F32(v);
    let (x, _) = place(&queue, &[2, 2], Dtype::F32, &[1.0, 3.0, 6.0, 10.0].map(float), Form::C)?;
    let (zero, _) = place(&queue, &[], Dtype::F32, &[float(0.0)], Form::C)?;
    let (tail, _) = place(&queue, &[2, 2], Dtype::F32, &[4.0, 4.0, 11.0, 13.0].map(float), Form::C)?;
    let result = x.diff(1, 1, Some(&zero), Some(&tail))?;
    let expected = [1.0, 2.0, 1.0, 0.0, 6.0, 4.0, 1.0, 2.0].map(float);
    ensure!(result.shape() == [2, 4], "shape {:?}", result.shape());
    expect(&"differences with both ends", &result, &expected)
}
