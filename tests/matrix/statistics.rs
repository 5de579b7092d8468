//! Variances, counts and sums that stay in range, against naive loops in double precision.

use stridewise::{Complex, Device, Dtype, DtypeKind, Error, Op, Scalar, UsmArray};

use crate::cell::{Case, Check, ensure, need, short, wrong};
use crate::forms::{Form, expect, multi_index, place, read};
use crate::reductions::exact_sum;
use crate::values::{Random, same, special, ulp, unit_roundoff};

#[derive(Clone, Copy, PartialEq, Debug)]
enum Statistic {
    Var(f64),
    Std(f64),
    CountNonzero,
    Logsumexp,
    Hypot,
}
use Statistic::{CountNonzero, Hypot, Logsumexp, Std, Var};

impl Statistic {
    fn run(self, x: &UsmArray, axes: Option<&[isize]>, keepdims: bool) -> stridewise::Result<UsmArray> {
        match self {
            Var(correction) => x.var(axes, keepdims, correction),
            Std(correction) => x.std(axes, keepdims, correction),
            CountNonzero => x.count_nonzero(axes, keepdims),
            Logsumexp => x.logsumexp(axes, keepdims, None),
            Hypot => x.reduce_hypot(axes, keepdims, None),
        }
    }

    fn allows(self, dtype: Dtype) -> bool {
        self != Logsumexp || dtype.kind() != DtypeKind::Complex
    }

    fn result(self, device: &Device, dtype: Dtype) -> Dtype {
        match self {
            CountNonzero => Dtype::I64,
            _ if dtype.kind().is_inexact() => dtype.real_part(),
            _ => device.dtype_support().default_float(),
        }
    }
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, kinds) in [
        ("var", &[Var(0.0), Var(1.0), Var(0.5)][..]),
        ("std", &[Std(0.0), Std(1.0)]),
        ("count_nonzero", &[CountNonzero]),
        ("logsumexp", &[Logsumexp]),
        ("reduce_hypot", &[Hypot]),
    ] {
        for &dtype in Dtype::ALL {
            for (suite, run) in [("axes", axes as fn(&Device, Statistic, Dtype) -> Check), ("forms", forms)] {
                cases
                    .push(Case::new(format!("statistics::{name}_{suite}/{}", short(dtype)), move |device| {
                        kinds.iter().try_for_each(|&kind| run(device, kind, dtype))
                    }));
            }
        }
    }
    for &dtype in Dtype::ALL {
        let name = |case: &str| format!("statistics::{case}/{}", short(dtype));
        cases.push(Case::new(name("special"), move |device| specials(device, dtype)));
        cases.push(Case::new(name("empty"), move |device| empty(device, dtype)));
    }
    cases.push(Case::new("statistics::far_from_zero", far_from_zero));
    cases.push(Case::new("statistics::many_dimensions", many_dimensions));
    cases.push(Case::new("statistics::recorded", recorded));
    cases.push(Case::new("statistics::dtypes", dtypes));
    cases.push(Case::new("statistics::errors", errors));
    cases
}

/// A value and how far from it a result may be.
#[derive(Clone, Copy, Debug)]
struct Near(f64, f64);

impl Near {
    fn admits(self, got: f64) -> bool {
        let Self(exact, error) = self;
        got == exact
            || (got.is_nan() && exact.is_nan())
            || (exact.is_finite() && (got - exact).abs() <= error)
    }
}

/// The statistic by naive loops, for a result of a dtype.
fn naive(kind: Statistic, out: Dtype, values: &[Scalar]) -> Near {
    let z: Vec<Complex<f64>> = values.iter().map(|v| v.to_c128()).collect();
    let n = z.len() as f64;
    // 16-bit floats are computed with in float32, and rounded once.
    let unit =
        if matches!(out, Dtype::F16 | Dtype::Bf16) { unit_roundoff(Dtype::F32) } else { unit_roundoff(out) };
    let terms = n.min(256.0 + n.max(1.0).log2()) + 8.0;
    // The doubles of the reference round too.
    let unit = terms * (unit + f64::EPSILON);
    match kind {
        CountNonzero => Near(z.iter().filter(|z| **z != Complex::new(0.0, 0.0)).count() as f64, 0.0),
        Var(correction) | Std(correction) => {
            let largest = z.iter().map(|z| z.norm()).fold(0.0, f64::max);
            let part = |part: fn(&Complex<f64>) -> f64| exact_sum(z.iter().map(part)) / n;
            let mean = Complex::new(part(|z| z.re), part(|z| z.im));
            let squares = exact_sum(z.iter().map(|z| (z - mean).norm_sqr()));
            let var = squares / (n - correction).max(0.0);
            let off = unit * largest;
            let error = 4.0 * unit * var + 4.0 * off * off * n / (n - correction).max(1e-300);
            match kind {
                Var(_) => Near(var, error + ulp(out, var)),
                _ => {
                    let root = var.sqrt();
                    let (up, down) = ((var + error).sqrt() - root, root - (var - error).max(0.0).sqrt());
                    Near(root, up.max(down) + ulp(out, root))
                }
            }
        }
        Logsumexp => {
            let largest = z.iter().map(|z| z.re).fold(f64::NEG_INFINITY, f64::max);
            let shift = if largest.is_finite() { largest } else { 0.0 };
            let sum = exact_sum(z.iter().map(|z| (z.re - shift).exp()));
            let exact = shift + sum.ln();
            Near(exact, unit + 2.0 * ulp(out, exact))
        }
        Hypot => {
            let largest = z.iter().map(|z| z.re.abs().max(z.im.abs())).fold(0.0, f64::max);
            let nan = z.iter().any(|z| z.re.is_nan() || z.im.is_nan());
            let scale = if largest > 0.0 && largest.is_finite() { largest } else { 1.0 };
            let sum = exact_sum(z.iter().map(|z| (z.re / scale).powi(2) + (z.im / scale).powi(2)));
            let exact = if nan { f64::NAN } else { scale * sum.sqrt() };
            // Beyond the range of the result.
            let rounded = Scalar::F64(exact).cast(out).to_f64();
            if rounded.is_infinite() {
                Near(rounded, 0.0)
            } else {
                Near(exact, unit * exact + ulp(out, exact))
            }
        }
    }
}

/// The elements that each result is computed of, for axes that are counted from the front.
fn groups(shape: &[usize], values: &[Scalar], axes: &[usize]) -> (Vec<usize>, Vec<Vec<Scalar>>) {
    let kept: Vec<usize> = (0..shape.len()).filter(|axis| !axes.contains(axis)).collect();
    let extents: Vec<usize> = kept.iter().map(|&axis| shape[axis]).collect();
    let mut groups = vec![Vec::new(); extents.iter().product()];
    for (flat, &value) in values.iter().enumerate() {
        let index = multi_index(shape, flat);
        let place = kept.iter().fold(0, |place, &axis| place * shape[axis] + index[axis]);
        groups[place].push(value);
    }
    (extents, groups)
}

fn check(
    device: &Device,
    kind: Statistic,
    array: &UsmArray,
    values: &[Scalar],
    axes: Option<&[isize]>,
    keepdims: bool,
) -> Check {
    let (shape, ndim) = (array.shape(), array.ndim());
    let normal: Vec<usize> = match axes {
        None => (0..ndim).collect(),
        Some(axes) => {
            axes.iter().map(|&a| if a < 0 { ndim - a.unsigned_abs() } else { a as usize }).collect()
        }
    };
    let what = format!("{kind:?} of {} {shape:?} over {axes:?}, keepdims {keepdims}", array.dtype());
    let (extents, groups) = groups(shape, values, &normal);
    let result = kind.run(array, axes, keepdims)?;
    let out = kind.result(device, array.dtype());
    ensure!(result.dtype() == out, "{what}: {}, expected {out}", result.dtype());
    let expected = match keepdims {
        true => (0..ndim).map(|a| if normal.contains(&a) { 1 } else { shape[a] }).collect(),
        false => extents,
    };
    ensure!(result.shape() == expected, "{what}: shape {:?}, expected {expected:?}", result.shape());
    for (got, group) in read(&result)?.into_iter().zip(groups) {
        let near = naive(kind, out, &group);
        if !near.admits(got.to_f64()) {
            wrong!("{what}: got {got:?}, expected {near:?}, of {group:?}");
        }
    }
    Ok(())
}

/// Every choice of axes of arrays of several dimensions.
fn axes(device: &Device, kind: Statistic, dtype: Dtype) -> Check {
    need(device, dtype)?;
    if !kind.allows(dtype) {
        return Ok(());
    }
    let queue = device.queue()?;
    let mut random = Random::named(&format!("statistics axes {dtype}"));
    type Row = (&'static [usize], &'static [Option<&'static [isize]>]);
    let rows: [Row; 5] = [
        (&[], &[None, Some(&[])]),
        (&[1], &[None, Some(&[0]), Some(&[])]),
        (&[7], &[None, Some(&[-1]), Some(&[])]),
        (&[3, 5], &[None, Some(&[0]), Some(&[1]), Some(&[1, 0]), Some(&[])]),
        (&[4, 3, 70], &[None, Some(&[0]), Some(&[1]), Some(&[2]), Some(&[0, -1]), Some(&[1, 2]), Some(&[])]),
    ];
    for (shape, lists) in rows {
        let values = random.many(shape.iter().product(), |random| random.moderate(dtype));
        let (array, shown) = place(&queue, shape, dtype, &values, Form::C)?;
        for &axes in lists {
            for keepdims in [false, true] {
                check(device, kind, &array, &shown, axes, keepdims)?;
            }
        }
    }
    Ok(())
}

/// Arrays in every form, and long ones.
fn forms(device: &Device, kind: Statistic, dtype: Dtype) -> Check {
    need(device, dtype)?;
    if !kind.allows(dtype) {
        return Ok(());
    }
    let queue = device.queue()?;
    let mut random = Random::named(&format!("statistics forms {dtype}"));
    for form in Form::ALL {
        for shape in [&[23][..], &[6, 11], &[3, 4, 5]] {
            let values = random.many(shape.iter().product(), |random| random.moderate(dtype));
            let (array, shown) = place(&queue, shape, dtype, &values, form)?;
            let array = array.broadcast_to(shape)?;
            check(device, kind, &array, &shown, None, false)?;
            check(device, kind, &array, &shown, Some(&[-1]), true)?;
            check(device, kind, &array, &shown, Some(&[0]), false)?;
        }
    }
    for len in [1000, 70_000] {
        let values = random.many(len, |random| random.moderate(dtype));
        let (array, shown) = place(&queue, &[len], dtype, &values, Form::C)?;
        check(device, kind, &array, &shown, None, false)?;
    }
    Ok(())
}

/// NaN, infinities, the largest and the smallest numbers among others.
fn specials(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    let mut random = Random::named(&format!("statistics special {dtype}"));
    let list = special(dtype);
    for len in [1, 2, 3, 9, 40] {
        for _ in 0..60 {
            let values = random.many(len, |random| match random.below(3) {
                0 => *random.pick(&list),
                _ => random.moderate(dtype),
            });
            let (array, shown) = place(&queue, &[len], dtype, &values, Form::C)?;
            check(device, CountNonzero, &array, &shown, None, false)?;
            check(device, Hypot, &array, &shown, None, false)?;
            if Logsumexp.allows(dtype) {
                check(device, Logsumexp, &array, &shown, None, false)?;
            }
            let finite = shown.iter().all(|v| v.to_c128().is_finite());
            if dtype.kind().is_inexact() && !finite {
                let var = read(&array.var(None, false, 0.0)?)?[0].to_f64();
                ensure!(var.is_nan(), "var of {shown:?}: got {var}, expected NaN");
            }
        }
    }
    if dtype.kind() != DtypeKind::Float {
        return Ok(());
    }
    let float = |value: f64| Scalar::F64(value).cast(dtype);
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let max = dtype.finfo()?.max;
    for (values, expected) in [
        (&[-inf, -inf][..], -inf),
        (&[inf, 1.0], inf),
        (&[inf, -inf], inf),
        (&[nan, inf], nan),
        (&[-inf, nan], nan),
        (&[max, max], max),
        (&[-max, -max], -max),
        (&[0.0, -inf], 0.0),
    ] {
        let values: Vec<Scalar> = values.iter().map(|&v| float(v)).collect();
        let (array, _) = place(&queue, &[values.len()], dtype, &values, Form::C)?;
        expect(
            &format_args!("logsumexp of {values:?}"),
            &array.logsumexp(None, false, None)?,
            &[float(expected)],
        )?;
    }
    for (values, expected) in [
        (&[3.0, -4.0][..], 5.0),
        (&[max, 0.0], max),
        (&[-inf, 1.0], inf),
        (&[nan, 1.0], nan),
        (&[0.0, -0.0], 0.0),
        (&[max, max], inf),
    ] {
        let values: Vec<Scalar> = values.iter().map(|&v| float(v)).collect();
        let (array, _) = place(&queue, &[values.len()], dtype, &values, Form::C)?;
        expect(
            &format_args!("norm of {values:?}"),
            &array.reduce_hypot(None, false, None)?,
            &[float(expected)],
        )?;
    }
    Ok(())
}

/// Statistics of no elements, and with nothing left after the correction.
fn empty(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    for (shape, axes, results) in [
        (&[0][..], None, 1),
        (&[0, 3], Some(&[0][..]), 3),
        (&[0, 3], Some(&[1]), 0),
        (&[2, 0, 3], Some(&[1]), 6),
    ] {
        let (array, _) = place(&queue, shape, dtype, &[], Form::C)?;
        for (kind, value) in [
            (Var(0.0), f64::NAN),
            (Std(1.0), f64::NAN),
            (CountNonzero, 0.0),
            (Logsumexp, f64::NEG_INFINITY),
            (Hypot, 0.0),
        ] {
            if kind.allows(dtype) {
                let out = kind.result(device, dtype);
                let result = kind.run(&array, axes, false)?;
                let expected = vec![Scalar::F64(value).cast(out); results];
                expect(&format_args!("{kind:?} of {dtype} {shape:?} over {axes:?}"), &result, &expected)?;
            }
        }
    }
    let nan = Scalar::F64(f64::NAN).cast(Var(0.0).result(device, dtype));
    for len in [1, 2, 16, 17, 1024, 4097] {
        let values: Vec<Scalar> = (0..len).map(|i| Scalar::I8(i8::from(i % 3 == 1)).cast(dtype)).collect();
        for (form, pending) in [(Form::C, false), (Form::Reversed, false), (Form::C, true)] {
            let (array, _) = place(&queue, &[2, len], dtype, &[&values[..], &values[..]].concat(), form)?;
            for above in [0.0, 0.5, 1.0, 1e300] {
                for (axes, count) in [(None, 2 * len), (Some(&[1][..]), len)] {
                    let correction = count as f64 + above;
                    // Of what is only recorded, too.
                    let array = if pending { array.flip(None)?.unary(Op::Copy)? } else { array.clone() };
                    for kind in [Var(correction), Std(correction)] {
                        let result = read(&kind.run(&array, axes, false)?)?;
                        let all = result.iter().all(|&value| same(value, nan));
                        ensure!(all, "{kind:?} of {count} {dtype} with {form:?}, {pending}: {result:?}");
                    }
                }
            }
        }
    }
    Ok(())
}

/// The variance of numbers that are far from zero and near each other, which sums of squares would lose; and of numbers that
/// are all the same, which is exactly 0.
fn far_from_zero(device: &Device) -> Check {
    let queue = device.queue()?;
    for (dtype, far) in [
        (Dtype::F32, 1e6),
        (Dtype::F64, 1e12),
        (Dtype::I32, 1e9),
        (Dtype::U8, 200.0),
        (Dtype::Bf16, 64.0),
        (Dtype::C64, 1e6),
    ] {
        if !device.dtype_support().supports(dtype) || (dtype == Dtype::I32 && !device.dtype_support().f64) {
            continue;
        }
        for shape in [[1, 3000], [30, 100], [3000, 1], [7, 1201]] {
            for range in [1, 5] {
                let values: Vec<Scalar> = (0..shape[0] * shape[1])
                    .map(|i| Scalar::F64(far + (i * i % 11 % range) as f64).cast(dtype))
                    .collect();
                let (array, shown) = place(&queue, &shape, dtype, &values, Form::C)?;
                for axes in [&[0, 1][..], &[0], &[1]] {
                    let named: Vec<isize> = axes.iter().map(|&axis: &usize| axis.cast_signed()).collect();
                    let got = read(&array.var(Some(&named), false, 0.0)?)?;
                    for (got, group) in got.into_iter().zip(groups(&shape, &shown, axes).1) {
                        let n = group.len() as f64;
                        let mean = group.iter().map(|v| v.to_c128().re - far).sum::<f64>() / n;
                        let squares = group.iter().map(|v| (v.to_c128().re - far - mean).powi(2));
                        let expected = squares.sum::<f64>() / n;
                        let unit = if dtype == Dtype::Bf16 { 0.01 } else { 1e-5 };
                        ensure!(
                            (got.to_f64() - expected).abs() <= unit * expected,
                            "var of {dtype} about {far} over {axes:?} of {shape:?}: {got:?}, expected {expected}"
                        );
                    }
                }
            }
        }
    }
    Ok(())
}

/// More dimensions than a plan has.
fn many_dimensions(device: &Device) -> Check {
    let queue = device.queue()?;
    let shape = [2; 11];
    let mut random = Random::named("statistics of many dimensions");
    for form in [Form::C, Form::Mixed, Form::Step2] {
        let values = random.many(1 << 11, |random| random.moderate(Dtype::F32));
        let (array, shown) = place(&queue, &shape, Dtype::F32, &values, form)?;
        for kind in [Var(0.0), CountNonzero, Logsumexp, Hypot] {
            check(device, kind, &array, &shown, None, false)?;
            check(device, kind, &array, &shown, Some(&[0, 1, 2, 4, 5, 6, 7, 9, 10]), true)?;
            check(device, kind, &array, &shown, Some(&[10, 3]), false)?;
        }
    }
    Ok(())
}

/// Statistics of work that is only recorded.
fn recorded(device: &Device) -> Check {
    let queue = device.queue()?;
    let mut random = Random::named("statistics of recorded work");
    let values = random.many(40 * 50, |random| random.moderate(Dtype::F32));
    let (x, _) = place(&queue, &[40, 50], Dtype::F32, &values, Form::C)?;
    let doubled: Vec<Scalar> =
        values.iter().map(|v| Scalar::F64(2.0 * v.to_f64()).cast(Dtype::F32)).collect();
    for kind in [Var(1.0), Std(0.0), CountNonzero, Logsumexp, Hypot] {
        let sum = x.binary(Op::Add, &x)?;
        check(device, kind, &sum, &doubled, Some(&[0]), false)?;
        let sum = x.binary(Op::Add, &x)?.t();
        let turned: Vec<Scalar> = (0..2000).map(|flat| doubled[(flat % 40) * 50 + flat / 40]).collect();
        check(device, kind, &sum, &turned, Some(&[0]), false)?;
    }
    Ok(())
}

/// The dtype argument.
fn dtypes(device: &Device) -> Check {
    let queue = device.queue()?;
    let support = device.dtype_support();
    let mut random = Random::named("statistics dtypes");
    for &from in Dtype::ALL {
        for to in [Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::F64] {
            if !support.supports(from) || !support.supports(to) {
                continue;
            }
            let values = random.many(50, |random| random.moderate(from));
            let (array, _) = place(&queue, &[50], from, &values, Form::C)?;
            let hypot = array.reduce_hypot(None, false, Some(to))?;
            ensure!(hypot.dtype() == to, "reduce_hypot of {from} as {to}: {}", hypot.dtype());
            let near = naive(Hypot, to, &values);
            let got = read(&hypot)?[0].to_f64();
            ensure!(near.admits(got), "reduce_hypot of {from} as {to}: {got}, expected {near:?}");
            if Logsumexp.allows(from) {
                let sum = array.logsumexp(None, false, Some(to))?;
                ensure!(sum.dtype() == to, "logsumexp of {from} as {to}: {}", sum.dtype());
                let converted: Vec<Scalar> = values.iter().map(|v| v.cast(to)).collect();
                let near = naive(Logsumexp, to, &converted);
                let got = read(&sum)?[0].to_f64();
                ensure!(near.admits(got), "logsumexp of {from} as {to}: {got}, expected {near:?}");
            }
        }
    }
    Ok(())
}

fn errors(device: &Device) -> Check {
    let queue = device.queue()?;
    let (array, _) = place(&queue, &[2, 3], Dtype::F32, &[Scalar::F32(1.0); 6], Form::C)?;
    for kind in [Var(0.0), Std(0.0), CountNonzero, Logsumexp, Hypot] {
        for axes in [&[2][..], &[-3], &[0, 0], &[0, -2]] {
            let outcome = kind.run(&array, Some(axes), false);
            ensure!(matches!(outcome, Err(Error::Axis(_))), "{kind:?} over {axes:?}: {outcome:?}");
        }
    }
    let outcome = array.var(None, false, f64::NAN);
    ensure!(matches!(outcome, Err(Error::Value(_))), "a correction of NaN: {outcome:?}");
    let outcome = array.logsumexp(None, false, Some(Dtype::I32));
    ensure!(matches!(outcome, Err(Error::Dtype(_))), "logsumexp as int32: {outcome:?}");
    let outcome = array.astype(Dtype::C64)?.logsumexp(None, false, None);
    ensure!(matches!(outcome, Err(Error::Dtype(_))), "logsumexp of complex64: {outcome:?}");
    Ok(())
}
