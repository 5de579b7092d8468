//! Functions that are made of several operations, on every device: lines, counts, quantiles, what leaves NaN out, windows.

use stridewise::{
    Bins, Device, Dtype, QuantileMethod, Queue, Reduction, Scalar, Spacing, UsmArray, UsmKind, Weak,
};

use crate::cell::{Case, Check, ensure, need};
use crate::forms::{Form, expect, place};
use crate::values::Random;

pub(crate) fn cases() -> Vec<Case> {
    vec![
        Case::new("numeric::elementwise", elementwise),
        Case::new("numeric::without_nan", without_nan),
        Case::new("numeric::quantiles", quantiles),
        Case::new("numeric::counts", counts),
        Case::new("numeric::lines", lines),
        Case::new("numeric::windows", windows),
    ]
}

const LENGTHS: [usize; 8] = [1, 2, 16, 17, 1023, 1024, 1025, 4097];

fn singles(values: &[f32]) -> Vec<Scalar> {
    values.iter().copied().map(Scalar::F32).collect()
}

fn numbers(values: &[usize]) -> Vec<Scalar> {
    values.iter().map(|&value| Scalar::I64(value as i64)).collect()
}

fn row(queue: &Queue, values: &[f32], form: Form) -> Check<UsmArray> {
    Ok(place(queue, &[values.len()], Dtype::F32, &singles(values), form)?.0)
}

/// Halves and quarters, so that sums and means are exact.
fn some(random: &mut Random, len: usize) -> Vec<f32> {
    (0..len).map(|_| random.below(64) as f32 * 0.25 - 8.0).collect()
}

fn elementwise(device: &Device) -> Check {
    let queue = device.queue()?;
    let mut random = Random::named("numeric elementwise");
    for len in LENGTHS {
        for form in [Form::C, Form::Reversed, Form::Step2] {
            let (x, y) = (some(&mut random, len), some(&mut random, len));
            let (a, b) = (row(&queue, &x, form)?, row(&queue, &y, Form::C)?);
            for weight in [0.0, 0.25, 0.5, 1.0] {
                let way: Vec<f32> = x.iter().zip(&y).map(|(x, y)| x + (y - x) * weight).collect();
                let what = format!("lerp of {len}, {form:?}, {weight}");
                expect(&what, &a.lerp(&b, Weak::Float(weight.into()))?, &singles(&way))?;
                let weights = UsmArray::full(&queue, &[len], Scalar::F32(weight), UsmKind::Device)?;
                expect(&what, &a.lerp(&b, &weights)?, &singles(&way))?;
            }
            let degrees: Vec<f32> = x.iter().map(|x| x * (std::f64::consts::PI / 180.0) as f32).collect();
            expect(&format!("deg2rad of {len}"), &a.deg2rad()?, &singles(&degrees))?;
            let odd: Vec<f32> =
                (0..len).map(|i| [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1.5][i % 4]).collect();
            let even: Vec<f32> = (0..len).map(|i| [7.0, f32::MAX, -2.0, 1.5][i % 4]).collect();
            let found = row(&queue, &odd, form)?.nan_to_num(7.0, None, Some(-2.0))?;
            expect(&format!("nan_to_num of {len}"), &found, &singles(&even))?;
        }
    }
    let zero = row(&queue, &[0.0, 0.5], Form::C)?.sinc()?.to_vec::<f32>()?;
    ensure!(
        zero[0] == 1.0 && (f64::from(zero[1]) - std::f64::consts::FRAC_2_PI).abs() < 1e-6,
        "sinc: {zero:?}"
    );
    Ok(())
}

fn without_nan(device: &Device) -> Check {
    let queue = device.queue()?;
    let mut random = Random::named("without nan");
    for len in LENGTHS {
        let mut x = some(&mut random, 2 * len);
        x.iter_mut().enumerate().filter(|(i, _)| i % 3 == 0 || *i >= len).for_each(|(_, x)| *x = f32::NAN);
        let (array, _) = place(&queue, &[2, len], Dtype::F32, &singles(&x), Form::Padded)?;
        let first: Vec<f32> = x[..len].iter().copied().filter(|x| !x.is_nan()).collect();
        let sum = first.iter().fold(0.0, |sum: f32, x| sum + x);
        let low = first.iter().copied().fold(f32::NAN, f32::min);
        let rows = |reduction| array.reduce_numbers(reduction, Some(&[1]), false, None);
        expect(&format!("nansum of {len}"), &rows(Reduction::Sum)?, &singles(&[sum, 0.0]))?;
        expect(&format!("nanmin of {len}"), &rows(Reduction::Min)?, &singles(&[low, f32::NAN]))?;
        let mean = sum / first.len() as f32;
        expect(&format!("nanmean of {len}"), &rows(Reduction::Mean)?, &singles(&[mean, f32::NAN]))?;
        let var = array.nanvar(Some(&[1]), true, first.len() as f64)?;
        expect(&format!("nanvar of {len}"), &var, &singles(&[f32::NAN, f32::NAN]))?;
    }
    Ok(())
}

fn quantiles(device: &Device) -> Check {
    let queue = device.queue()?;
    let mut random = Random::named("quantiles");
    for len in LENGTHS {
        for form in [Form::C, Form::Reversed] {
            let x = some(&mut random, len);
            let mut sorted = x.clone();
            sorted.sort_by(f32::total_cmp);
            let array = row(&queue, &x, form)?;
            let (low, high) = (sorted[(len - 1) / 2], sorted[len / 2]);
            expect(
                &format!("median of {len}"),
                &array.median(None, false, false)?,
                &singles(&[low + (high - low) * 0.5]),
            )?;
            expect(
                &format!("nanmedian of {len}"),
                &array.median(None, false, true)?,
                &singles(&[low + (high - low) * 0.5]),
            )?;
            let lower = array.quantile(&[0.0, 0.25, 1.0], None, false, QuantileMethod::Lower, false)?;
            let quarter = sorted[((len - 1) as f64 * 0.25).floor() as usize];
            expect(&format!("quantiles of {len}"), &lower, &singles(&[sorted[0], quarter, sorted[len - 1]]))?;
        }
    }
    Ok(())
}

fn counts(device: &Device) -> Check {
    let queue = device.queue()?;
    let mut random = Random::named("counts");
    for len in LENGTHS {
        for dtype in [Dtype::U8, Dtype::I32, Dtype::I64] {
            let x: Vec<usize> = (0..len).map(|_| random.below(50)).collect();
            let values: Vec<Scalar> = x.iter().map(|&x| Scalar::I64(x as i64).cast(dtype)).collect();
            let (array, _) = place(&queue, &[len], dtype, &values, Form::Reversed)?;
            let mut bins = vec![0; x.iter().max().map_or(0, |x| x + 1).max(30)];
            x.iter().for_each(|&x| bins[x] += 1);
            expect(&format!("bincount of {len} {dtype}"), &array.bincount(30)?, &numbers(&bins))?;
        }
        let x = some(&mut random, len);
        let array = row(&queue, &x, Form::C)?;
        let edges = row(&queue, &[-8.0, -2.5, 0.0, 0.0, 7.75], Form::C)?;
        let within = |low: f32, high: f32, last: bool| {
            x.iter().filter(|&&x| x >= low && (x < high || (last && x == high))).count()
        };
        let expected = [within(-8.0, -2.5, false), within(-2.5, 0.0, false), 0, within(0.0, 7.75, true)];
        expect(
            &format!("histogram of {len}"),
            &array.histogram(Bins::Edges(&edges))?.0,
            &numbers(&expected),
        )?;
        // Bins of one width are those between the edges that they are said to have.
        for dtype in [Dtype::U8, Dtype::I64, Dtype::F16, Dtype::F32, Dtype::F64] {
            if !device.dtype_support().supports(dtype) {
                continue;
            }
            let values: Vec<Scalar> = x.iter().map(|&x| Scalar::F32(x.abs() * 3.7).cast(dtype)).collect();
            let (array, _) = place(&queue, &[len], dtype, &values, Form::Reversed)?;
            // A range within the edges' dtype.
            let far = if dtype == Dtype::F16 { 6e4 } else { 1e9 };
            for (bins, range) in [(1, None), (7, None), (100, Some((0.1, 20.3))), (700, Some((-3.0, far)))] {
                let (counts, edges) = array.histogram(Bins::Count(bins, range))?;
                let between: Vec<i64> = array.histogram(Bins::Edges(&edges))?.0.to_vec()?;
                let between: Vec<Scalar> = between.into_iter().map(Scalar::I64).collect();
                expect(&format!("histogram of {len} {dtype} by {bins}"), &counts, &between)?;
            }
        }
        let placed: Vec<usize> =
            x.iter().map(|x| [-8.0, -2.5, 0.0, 0.0, 7.75].iter().filter(|edge| *edge <= x).count()).collect();
        expect(&format!("digitize of {len}"), &array.digitize(&edges, false)?, &numbers(&placed))?;
        let falling: Vec<usize> = placed.iter().map(|place| 5 - place).collect();
        expect(
            &format!("digitize of {len}"),
            &array.digitize(&edges.flip(None)?, false)?,
            &numbers(&falling),
        )?;
    }
    Ok(())
}

fn lines(device: &Device) -> Check {
    need(device, Dtype::F64)?;
    let queue = device.queue()?;
    for len in LENGTHS.into_iter().filter(|&len| len > 2) {
        let squares: Vec<f32> = (0..len).map(|i| (i as f32 - 8.0) * (i as f32 - 8.0)).collect();
        let array = row(&queue, &squares, Form::Step2)?;
        // Exact of a parabola.
        let slopes: Vec<f32> = (0..len).map(|i| i as f32 - 8.0).collect();
        expect(
            &format!("gradient of {len}"),
            &array.gradient(0, Spacing::Even(2.0), true)?,
            &singles(&slopes),
        )?;
        let x = UsmArray::arange(&queue, -1, len as i64 + 1, 0.5, Dtype::F64, UsmKind::Device)?;
        let points = UsmArray::arange(&queue, 0, len as i64, 1, Dtype::F64, UsmKind::Device)?;
        let between = |at: f64| {
            let at = at.clamp(0.0, (len - 1) as f64);
            let (low, high) = (squares[at.floor() as usize], squares[at.ceil() as usize]);
            f64::from(low) + f64::from(high - low) * at.fract()
        };
        let expected: Vec<Scalar> =
            (0..x.len()).map(|i| Scalar::F64(between(i as f64 * 0.5 - 1.0))).collect();
        expect(&format!("interp among {len}"), &x.interp(&points, &array, None, None, None)?, &expected)?;
    }
    Ok(())
}

fn windows(device: &Device) -> Check {
    let queue = device.queue()?;
    for len in LENGTHS.into_iter().filter(|&len| len > 2) {
        let x: Vec<f32> = (0..len).map(|i| i as f32).collect();
        let view = row(&queue, &x, Form::Reversed)?.sliding_window_view(&[3], None)?;
        ensure!(view.shape() == [len - 2, 3] && !view.flags().writable, "{view:?}");
        let expected: Vec<f32> = (0..len - 2).flat_map(|i| [x[i], x[i + 1], x[i + 2]]).collect();
        expect(&format!("windows of {len}"), &view, &singles(&expected))?;
        let sums: Vec<f32> = (0..len - 2).map(|i| 3.0 * x[i + 1]).collect();
        let sum = view.reduce(Reduction::Sum, Some(&[1]), false)?;
        expect(&format!("sums over windows of {len}"), &sum, &singles(&sums))?;
    }
    Ok(())
}
