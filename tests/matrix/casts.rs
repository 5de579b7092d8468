//! Every dtype converted to every other.

use stridewise::{Device, Dtype, DtypeKind, Scalar};

use crate::cell::{Case, Check, need, short};
use crate::forms::{Form, expect, place};
use crate::values::{Random, special};

pub(crate) fn cases() -> Vec<Case> {
    let pairs = Dtype::ALL.iter().flat_map(|&from| Dtype::ALL.iter().map(move |&to| (from, to)));
    pairs
        .map(|(from, to)| {
            let name = format!("casts::{}_to_{}/{}", short(from), short(to), short(to));
            Case::new(name, move |device| convert(device, from, to))
        })
        .collect()
}

/// Values of a dtype around which a conversion to another changes.
fn thresholds(from: Dtype, to: Dtype) -> Vec<Scalar> {
    let mut values = special(from);
    if let (true, Ok(range)) = (from.kind().is_inexact(), to.iinfo()) {
        let bounds = [range.min as f64, range.max as f64, range.max as f64 / 2.0];
        let around = bounds.iter().flat_map(|&b| [b - 1.0, b - 0.5, b, b + 0.5, b + 1.0, b * 1.01, b * 4.0]);
        values.extend(around.map(|v| Scalar::F64(v).cast(from)));
        values.extend([0.5, -0.5, 0.999, -0.999, 1.5, -1.5, 2.5].map(|v| Scalar::F64(v).cast(from)));
    }
    if from == Dtype::F64 || from == Dtype::F32 || from.kind().is_integer() {
        // Halfway between two numbers of the shorter dtypes, and beyond.
        let ties =
            [2049.0, 2051.0, 4097.0, 257.0, 259.0, 65_504.0, 65_519.0, 65_520.0, 16_777_217.0, 16_777_219.0];
        let tiny =
            [1.0 + 1.0 / 2048.0, 1.0 + 1.0 / 256.0, 5.96e-8, 2.98e-8, 2.99e-8, 3.4028236e38, 1e-45, 7e-46];
        if let (Dtype::I64 | Dtype::U64, true) = (from, to.kind() == DtypeKind::Float) {
            // Beside every tie of bfloat16, where float32 and float64 lie on it.
            let beside = (8..55).flat_map(|shift| [257_u64, 259, 383, 511].map(|tie| tie << shift));
            values.extend(beside.flat_map(|v| [v - 1, v, v + 1]).flat_map(|v| [v, v.wrapping_neg()]).map(
                |v| match from {
                    Dtype::I64 => Scalar::I64(v.cast_signed()),
                    _ => Scalar::U64(v),
                },
            ));
        }
        values.extend(ties.iter().chain(&tiny).flat_map(|&v| [v, -v]).map(|v| Scalar::F64(v).cast(from)));
    }
    values
}

fn convert(device: &Device, from: Dtype, to: Dtype) -> Check {
    need(device, from)?;
    need(device, to)?;
    let queue = device.queue()?;
    let mut random = Random::named(&format!("{from}{to}"));
    let mut values = thresholds(from, to);
    values.extend(random.many(300, |random| random.pattern(from)));
    values.extend(random.many(100, |random| random.moderate(from)));
    let lanes = (device.info().limits.vector_bytes / from.size().min(to.size())).max(1);
    let expected: Vec<Scalar> = values.iter().map(|v| v.cast(to)).collect();
    let test = |values: &[Scalar], expected: &[Scalar], form: Form| {
        let (array, _) = place(&queue, &[values.len()], from, values, form)?;
        expect(&format_args!("{from} to {to}, {form:?}"), &array.astype(to)?, expected)
    };
    for form in Form::DISTINCT {
        test(&values, &expected, form)?;
    }
    for len in (0..=2 * lanes + 1).chain([2 * lanes + lanes / 2]) {
        let start = len % values.len().saturating_sub(len).max(1);
        let end = (start + len).min(values.len());
        test(&values[start..end], &expected[start..end], Form::Offset)?;
    }
    // Into memory of the dtype, in place of a result of its own.
    let (source, _) = place(&queue, &[values.len()], from, &values, Form::C)?;
    let (target, _) = place(&queue, &[values.len()], to, &expected, Form::Reversed)?;
    target.assign(Scalar::I8(0).cast(to))?;
    target.assign(&source)?;
    expect(&format_args!("{from} assigned to {to}"), &target, &expected)
}
