//! Every reduction, against naive loops.

use stridewise::{Complex, Device, Dtype, DtypeKind, Error, Queue, Reduction, Scalar, UsmArray};

use crate::cell::{Case, Check, ensure, need, short, wrong};
use crate::forms::{Form, expect, multi_index, place, read};
use crate::values::{Random, same, special, ulp, unit_roundoff};

pub(crate) const KINDS: [Reduction; 9] = [
    Reduction::Sum,
    Reduction::Prod,
    Reduction::Min,
    Reduction::Max,
    Reduction::ArgMin,
    Reduction::ArgMax,
    Reduction::Mean,
    Reduction::Any,
    Reduction::All,
];

/// Terms that a sum may add one after the other before it goes on pairwise: its error is at most (this + log₂ n) units
/// of roundoff of the sum of magnitudes.
const SEQUENTIAL: f64 = 256.0;

/// Whether a reduction of floats is rounded.
pub(crate) fn sums(kind: Reduction) -> bool {
    matches!(kind, Reduction::Sum | Reduction::Prod | Reduction::Mean)
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for kind in KINDS {
        for &dtype in Dtype::ALL {
            let name = |suite: &str| format!("{suite}::{}/{}", kind.name(), short(dtype));
            cases.push(Case::new(name("reduce"), move |device| axes_and_forms(device, kind, dtype)));
            cases.push(Case::new(name("reduce_long"), move |device| long(device, kind, dtype)));
            cases.push(Case::new(name("reduce_special"), move |device| specials(device, kind, dtype)));
        }
        cases.push(Case::new(format!("reduce_empty::{}", kind.name()), move |device| empty(device, kind)));
    }
    cases.push(Case::new("reduce_dtype::sum_and_prod", dtype_argument));
    cases.push(Case::new("reduce_range::mean", mean_in_range));
    cases.push(Case::new("reduce_errors::axes", errors));
    cases
}

/// The dtype of a result, written out on its own.
fn result_dtype(device: &Device, kind: Reduction, dtype: Dtype) -> Dtype {
    match (kind, dtype.kind()) {
        (Reduction::Any | Reduction::All, _) => Dtype::Bool,
        (Reduction::ArgMin | Reduction::ArgMax, _) => Dtype::I64,
        (Reduction::Sum | Reduction::Prod, DtypeKind::Bool | DtypeKind::Signed) => Dtype::I64,
        (Reduction::Sum | Reduction::Prod, DtypeKind::Unsigned) => Dtype::U64,
        (Reduction::Mean, DtypeKind::Bool | DtypeKind::Signed | DtypeKind::Unsigned) => {
            device.dtype_support().default_float()
        }
        _ => dtype,
    }
}

/// Whether a reduction takes a dtype.
fn allows(kind: Reduction, dtype: Dtype) -> bool {
    dtype.kind() != DtypeKind::Complex
        || !matches!(kind, Reduction::Min | Reduction::Max | Reduction::ArgMin | Reduction::ArgMax)
}

/// What a reduction may give.
enum Expected {
    Exact(Scalar),
    Near { exact: Complex<f64>, error: f64 },
}

impl Expected {
    fn fault(&self, got: Scalar) -> Option<String> {
        match *self {
            Self::Exact(expected) => {
                (!same(got, expected)).then(|| format!("got {got:?}, expected {expected:?}"))
            }
            Self::Near { exact, error } => {
                let value = got.to_c128();
                let near = |x: f64, y: f64| {
                    x == y || (x.is_nan() && y.is_nan()) || (y.is_finite() && (x - y).abs() <= error)
                };
                let good = near(value.re, exact.re) && near(value.im, exact.im);
                (!good).then(|| format!("got {got:?}, expected {exact:?} ± {error:e}"))
            }
        }
    }
}

/// A sum in doubles with the error of each addition carried along (Neumaier's method).
pub(crate) fn exact_sum(terms: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut carried) = (0.0_f64, 0.0);
    for term in terms {
        let next = sum + term;
        carried += if sum.abs() >= term.abs() { (sum - next) + term } else { (term - next) + sum };
        sum = next;
    }
    if carried.is_finite() { sum + carried } else { sum }
}

fn integer(value: Scalar) -> i128 {
    match value.cast(if value.dtype().kind() == DtypeKind::Unsigned { Dtype::U64 } else { Dtype::I64 }) {
        Scalar::U64(v) => v.into(),
        Scalar::I64(v) => v.into(),
        _ => 0,
    }
}

/// The exact integer, wrapped to a dtype.
fn wrapped(value: i128, dtype: Dtype) -> Scalar {
    // The low 64 bits are what wrapping keeps.
    Scalar::U64(value as u64).cast(dtype)
}

/// A value is below another; NaN is below everything, equal to itself.
fn below(a: Scalar, b: Scalar) -> bool {
    match a.dtype().kind() {
        DtypeKind::Float => {
            let (a, b) = (a.to_f64(), b.to_f64());
            a < b || (a.is_nan() && !b.is_nan())
        }
        _ => integer(a) < integer(b),
    }
}

/// The reduction of elements by a naive loop.
fn naive(kind: Reduction, out: Dtype, values: &[Scalar]) -> Expected {
    let float = out.kind().is_inexact();
    let count = values.len() as f64;
    // In the accumulator's dtype, whose conversion the result's dtype implies.
    let parts: Vec<Complex<f64>> = values.iter().map(|v| v.cast(out).to_c128()).collect();
    let magnitude: f64 = parts.iter().map(|z| z.re.abs() + z.im.abs()).sum();
    let terms = (count - 1.0).max(0.0).min(SEQUENTIAL + count.max(1.0).log2());
    // float16 and bfloat16 are added in float32 and rounded once.
    let short = matches!(out, Dtype::F16 | Dtype::Bf16);
    let unit = unit_roundoff(if short { Dtype::F32 } else { out });
    let last = |at: f64| if short { ulp(out, at) } else { 0.0 };
    match kind {
        Reduction::Sum | Reduction::Mean if float => {
            let sum =
                Complex::new(exact_sum(parts.iter().map(|z| z.re)), exact_sum(parts.iter().map(|z| z.im)));
            // The doubles of the reference round too.
            let error = (terms * unit + f64::EPSILON) * magnitude;
            match kind {
                Reduction::Sum => Expected::Near { exact: sum, error: error + last(sum.re) },
                _ => {
                    let mean = sum / count;
                    Expected::Near {
                        exact: mean,
                        error: error / count + ulp(out, mean.re.abs().max(mean.im.abs())),
                    }
                }
            }
        }
        Reduction::Prod if float => {
            let product: Complex<f64> = parts.iter().product();
            let each = if out.kind() == DtypeKind::Complex { 3.0 } else { 1.0 };
            let size: f64 = parts.iter().map(|z| z.norm()).product();
            let error = each * (count + 1.0) * (unit + f64::EPSILON) * size * 1.01;
            Expected::Near { exact: product, error: error + last(product.re) }
        }
        Reduction::Sum | Reduction::Mean => {
            Expected::Exact(wrapped(values.iter().map(|&v| integer(v)).fold(0, i128::wrapping_add), out))
        }
        Reduction::Prod => {
            let product = values.iter().fold(1_u64, |p, &v| p.wrapping_mul(integer(v) as u64));
            Expected::Exact(wrapped(product.into(), out))
        }
        Reduction::Any => {
            Expected::Exact(Scalar::Bool(values.iter().any(|v| v.cast(Dtype::Bool) == Scalar::Bool(true))))
        }
        Reduction::All => {
            Expected::Exact(Scalar::Bool(values.iter().all(|v| v.cast(Dtype::Bool) == Scalar::Bool(true))))
        }
        _ => {
            let largest = matches!(kind, Reduction::Max | Reduction::ArgMax);
            let nan = |v: Scalar| v.dtype().kind() == DtypeKind::Float && v.to_f64().is_nan();
            let better = |a: Scalar, b: Scalar| match largest {
                true => !nan(b) && (nan(a) || below(b, a)),
                false => below(a, b),
            };
            let mut best = 0;
            for i in 1..values.len() {
                if better(values[i], values[best]) {
                    best = i;
                }
            }
            if matches!(kind, Reduction::ArgMin | Reduction::ArgMax) {
                return Expected::Exact(Scalar::I64(best as i64));
            }
            // Of zeros of unlike sign the smallest is −0, the largest +0.
            let zero = values[best].dtype().kind() == DtypeKind::Float && values[best].to_f64() == 0.0;
            let sign = |v: &&Scalar| v.to_f64() == 0.0 && v.to_f64().is_sign_positive() == largest;
            let value =
                if zero { values.iter().find(sign).copied().unwrap_or(values[best]) } else { values[best] };
            Expected::Exact(value)
        }
    }
}

/// Values for a reduction: moderate, and for products near 1, so that they stay in range.
fn fitting(random: &mut Random, kind: Reduction, dtype: Dtype, count: usize) -> Scalar {
    match (kind, dtype.kind()) {
        (Reduction::Prod, DtypeKind::Float) => {
            let spread = 2.0 / (count as f64).max(2.0);
            Scalar::F64((1.0 + random.real(-spread, spread)) * if random.chance(2) { -1.0 } else { 1.0 })
                .cast(dtype)
        }
        (Reduction::Prod, DtypeKind::Complex) => {
            let (sin, cos) = random.real(-3.0, 3.0).sin_cos();
            Scalar::C128(Complex::new(cos, sin)).cast(dtype)
        }
        (Reduction::Prod | Reduction::Sum, DtypeKind::Signed | DtypeKind::Unsigned) => random.pattern(dtype),
        // Rarely false, so that "all" is not always false; and the other way round.
        (Reduction::All, _) if !random.chance(40) => Scalar::I8(1).cast(dtype),
        (Reduction::Any, _) if !random.chance(40) => Scalar::I8(0).cast(dtype),
        _ => random.moderate(dtype),
    }
}

/// All values that are folded into each element of the result, by the result's position.
fn groups(shape: &[usize], axes: &[usize], values: &[Scalar]) -> Vec<Vec<Scalar>> {
    let kept: Vec<usize> = (0..shape.len()).filter(|axis| !axes.contains(axis)).collect();
    let mut groups = vec![Vec::new(); kept.iter().map(|&axis| shape[axis]).product()];
    for (flat, &value) in values.iter().enumerate() {
        let index = multi_index(shape, flat);
        groups[kept.iter().fold(0, |at, &axis| at * shape[axis] + index[axis])].push(value);
    }
    groups
}

fn check(
    what: &str,
    kind: Reduction,
    array: &UsmArray,
    values: &[Scalar],
    axes: Option<&[isize]>,
    keepdims: bool,
) -> Check {
    let (shape, ndim) = (array.shape(), array.ndim());
    let folded: Vec<usize> = match axes {
        None => (0..ndim).collect(),
        Some(axes) => axes.iter().map(|&axis| axis.rem_euclid(ndim as isize) as usize).collect(),
    };
    let what = format!("{} over {axes:?} (keepdims {keepdims}), {what} of {shape:?}", kind.name());
    let result = array.reduce(kind, axes, keepdims)?;
    let expected_shape: Vec<usize> = (0..ndim)
        .filter(|axis| keepdims || !folded.contains(axis))
        .map(|axis| if folded.contains(&axis) { 1 } else { shape[axis] })
        .collect();
    ensure!(
        result.shape() == expected_shape,
        "{what}: shape {:?}, expected {expected_shape:?}",
        result.shape()
    );
    let out = result_dtype(array.device(), kind, array.dtype());
    ensure!(result.dtype() == out, "{what}: {}, expected {out}", result.dtype());
    let got = read(&result)?;
    for (i, (group, &got)) in groups(shape, &folded, values).iter().zip(&got).enumerate() {
        if let Some(fault) = naive(kind, out, group).fault(got) {
            let shown: Vec<&Scalar> = group.iter().take(12).collect();
            wrong!(
                "{what}: index {:?}, {} inputs {shown:?}…: {fault}",
                multi_index(result.shape(), i),
                group.len()
            );
        }
    }
    Ok(())
}

fn refused(device: &Device, kind: Reduction, dtype: Dtype) -> Check<bool> {
    need(device, dtype)?;
    if allows(kind, dtype) {
        return Ok(false);
    }
    let queue = device.queue()?;
    let (array, _) = place(&queue, &[3], dtype, &[Scalar::I8(1).cast(dtype); 3], Form::C)?;
    let outcome = array.reduce(kind, None, false);
    ensure!(matches!(outcome, Err(Error::Dtype(_))), "{} of {dtype}: got {outcome:?}", kind.name());
    Ok(true)
}

fn axes_and_forms(device: &Device, kind: Reduction, dtype: Dtype) -> Check {
    if refused(device, kind, dtype)? {
        return Ok(());
    }
    let queue = device.queue()?;
    let mut random = Random::named(&format!("reduce{}{dtype}", kind.name()));
    let indexed = matches!(kind, Reduction::ArgMin | Reduction::ArgMax);
    let shapes: [&[usize]; 9] =
        [&[], &[1], &[7], &[65], &[5, 9], &[1, 6], &[3, 1, 4], &[2, 3, 4, 5], &[40, 33]];
    for shape in shapes {
        let ndim = shape.len() as isize;
        let mut lists: Vec<Option<Vec<isize>>> = vec![None, Some((0..ndim).collect())];
        lists.extend((0..ndim).flat_map(|axis| [Some(vec![axis]), Some(vec![axis - ndim])]));
        if !indexed {
            let pairs = (0..ndim).flat_map(|a| (0..a).map(move |b| Some(vec![a, b])));
            lists.extend(pairs);
            lists.push(Some(Vec::new()));
        }
        let len = shape.iter().product();
        let values = random.many(len, |random| fitting(random, kind, dtype, len));
        for form in Form::ALL {
            let (array, shown) = place(&queue, shape, dtype, &values, form)?;
            let array = array.broadcast_to(shape)?;
            for (number, axes) in lists.iter().enumerate() {
                check(&format!("{form:?}"), kind, &array, &shown, axes.as_deref(), number % 2 == 0)?;
            }
        }
    }
    Ok(())
}

/// More than one block, tile and segment, along the last axis, the first, and both.
fn long(device: &Device, kind: Reduction, dtype: Dtype) -> Check {
    if refused(device, kind, dtype)? {
        return Ok(());
    }
    let queue = device.queue()?;
    let mut random = Random::named(&format!("long{}{dtype}", kind.name()));
    for shape in [&[1000][..], &[8193], &[40_001], &[3, 5003], &[5003, 3], &[130, 130]] {
        let len: usize = shape.iter().product();
        let values = random.many(len, |random| fitting(random, kind, dtype, len));
        for form in [Form::C, Form::F, Form::Step2, Form::Reversed] {
            let (array, shown) = place(&queue, shape, dtype, &values, form)?;
            check(&format!("{form:?}"), kind, &array, &shown, None, false)?;
            if shape.len() > 1 {
                check(&format!("{form:?}"), kind, &array, &shown, Some(&[0]), true)?;
                check(&format!("{form:?}"), kind, &array, &shown, Some(&[1]), false)?;
            }
        }
    }
    Ok(())
}

/// Special values: NaN, and the value that wins, at every position of lengths around the vector's; zeros of either
/// sign; ties, of which the first index wins.
fn specials(device: &Device, kind: Reduction, dtype: Dtype) -> Check {
    if refused(device, kind, dtype)? || sums(kind) && !matches!(kind, Reduction::Sum) {
        return Ok(());
    }
    let queue = device.queue()?;
    let mut random = Random::named("special");
    let lanes = (device.info().limits.vector_bytes / dtype.size()).clamp(1, 64);
    let test = |values: &[Scalar]| -> Check {
        let (array, _) = place(&queue, &[values.len()], dtype, values, Form::C)?;
        check("special values", kind, &array, values, None, false)
    };
    if kind != Reduction::Sum {
        let list = special(dtype);
        for len in [1, 2, 3, lanes, lanes + 1, 4 * lanes + 1, 300] {
            // Each value alone among moderate ones, at every position of short arrays, at some of long ones.
            for &value in &list {
                for position in (0..len).step_by(if len > 40 { 7 } else { 1 }) {
                    let filler = Scalar::I8(i8::from(kind != Reduction::Any)).cast(dtype);
                    let mut values = vec![filler; len];
                    values[position] = value;
                    test(&values)?;
                }
            }
            for _ in 0..20 {
                test(&random.many(len, |random| *random.pick(&list)))?;
            }
        }
    } else if dtype.kind() == DtypeKind::Float {
        for len in [1, 2, lanes + 1, 300] {
            for special in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                for position in 0..len.min(70) {
                    let mut values = vec![Scalar::I8(1).cast(dtype); len];
                    values[position] = Scalar::F64(special).cast(dtype);
                    test(&values)?;
                }
            }
        }
    }
    if dtype.kind() == DtypeKind::Float && kind != Reduction::Sum {
        let zeros = [0.0, -0.0].map(|v| Scalar::F64(v).cast(dtype));
        for len in 1..4 * lanes + 2 {
            test(&random.many(len, |random| *random.pick(&zeros)))?;
        }
    }
    Ok(())
}

/// Reductions of no elements: the identity, or a typed error.
fn empty(device: &Device, kind: Reduction) -> Check {
    let queue = device.queue()?;
    let chooses = matches!(kind, Reduction::Min | Reduction::Max | Reduction::ArgMin | Reduction::ArgMax);
    for &dtype in Dtype::ALL {
        if !device.dtype_support().supports(dtype) || !allows(kind, dtype) {
            continue;
        }
        let out = result_dtype(device, kind, dtype);
        let identity = match kind {
            Reduction::Sum | Reduction::Any => Scalar::I8(0).cast(out),
            Reduction::Prod | Reduction::All => Scalar::I8(1).cast(out),
            _ => Scalar::C128(Complex::new(f64::NAN, f64::NAN)).cast(out),
        };
        // Shape, axes, and number of results.
        type Row = (&'static [usize], Option<&'static [isize]>, usize);
        let cases: [Row; 7] = [
            (&[0], None, 1),
            (&[0, 3], Some(&[0]), 3),
            (&[3, 0], Some(&[1]), 3),
            (&[0, 3], None, 1),
            (&[0, 3], Some(&[1]), 0),
            (&[2, 0, 3], Some(&[1]), 6),
            (&[2, 0, 3], Some(&[0]), 0),
        ];
        for (shape, axes, results) in cases {
            let (array, _) = place(&queue, shape, dtype, &[], Form::C)?;
            let what = format!("{} of {dtype} {shape:?} over {axes:?}", kind.name());
            let outcome = array.reduce(kind, axes, false);
            if chooses && results > 0 {
                ensure!(
                    matches!(outcome, Err(Error::Value(_))),
                    "{what}: expected a value error, got {outcome:?}"
                );
                continue;
            }
            let result = outcome?;
            ensure!(result.len() == results, "{what}: {} results, expected {results}", result.len());
            ensure!(
                result.dtype() == if results == 0 { result.dtype() } else { out },
                "{what}: {}",
                result.dtype()
            );
            expect(&what, &result, &vec![identity; results])?;
        }
    }
    Ok(())
}

/// The dtype argument: elements are converted first, sums wrap in the dtype named.
fn dtype_argument(device: &Device) -> Check {
    let queue: Queue = device.queue()?;
    let mut random = Random::named("dtype");
    for &from in Dtype::ALL {
        for &to in Dtype::ALL {
            let support = device.dtype_support();
            if !support.supports(from) || !support.supports(to) || to == Dtype::Bool {
                continue;
            }
            let values = random.many(50, |random| random.moderate(from));
            let (array, _) = place(&queue, &[50], from, &values, Form::C)?;
            let converted: Vec<Scalar> = values.iter().map(|v| v.cast(to)).collect();
            for kind in [Reduction::Sum, Reduction::Prod] {
                if kind == Reduction::Prod && to.kind().is_inexact() {
                    continue;
                }
                let result = array.reduce_as(kind, None, false, Some(to))?;
                let what = format!("{} of {from} as {to}", kind.name());
                ensure!(result.dtype() == to, "{what}: {}", result.dtype());
                if let Some(fault) = naive(kind, to, &converted).fault(read(&result)?[0]) {
                    wrong!("{what}, inputs {values:?}: {fault}");
                }
            }
        }
    }
    Ok(())
}

/// Means whose sum, or number of terms, is beyond the range of their dtype.
fn mean_in_range(device: &Device) -> Check {
    let queue = device.queue()?;
    for dtype in [Dtype::F16, Dtype::Bf16, Dtype::I8, Dtype::U8] {
        if !device.dtype_support().supports(dtype) {
            continue;
        }
        for (len, value) in [(5000, 100.0), (70_000, 1.0), (70_000, 64.0)] {
            let (array, _) =
                place(&queue, &[len], dtype, &vec![Scalar::F64(value).cast(dtype); len], Form::C)?;
            let mean = array.reduce(Reduction::Mean, None, false)?;
            let out = result_dtype(device, Reduction::Mean, dtype);
            expect(
                &format_args!("mean of {len} × {value} in {dtype}"),
                &mean,
                &[Scalar::F64(value).cast(out)],
            )?;
        }
        let (point, _) = place(&queue, &[], dtype, &[Scalar::I8(3).cast(dtype)], Form::C)?;
        let mean = point.reduce(Reduction::Mean, None, false)?;
        let out = result_dtype(device, Reduction::Mean, dtype);
        expect(&format_args!("mean of one {dtype}"), &mean, &[Scalar::I8(3).cast(out)])?;
    }
    Ok(())
}

fn errors(device: &Device) -> Check {
    let queue = device.queue()?;
    let (array, _) = place(&queue, &[2, 3, 4], Dtype::F32, &[Scalar::F32(1.0); 24], Form::C)?;
    for axes in [&[3][..], &[-4], &[0, 0], &[0, -3]] {
        let outcome = array.reduce(Reduction::Sum, Some(axes), false);
        ensure!(matches!(outcome, Err(Error::Axis(_))), "sum over {axes:?} of 3 dimensions: {outcome:?}");
    }
    let outcome = array.reduce(Reduction::ArgMax, Some(&[0, 1]), false);
    ensure!(matches!(outcome, Err(Error::Value(_))), "argmax over two of three axes: {outcome:?}");
    Ok(())
}
