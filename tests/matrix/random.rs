//! Random numbers: the published bits of the generator, the same numbers on every device, and their distributions.

use libtest_mimic::{Failed, Trial};
use stridewise::{
    ArrayOrScalar, Device, Dtype, DtypeKind, Generator, Op, Queue, Scalar, UsmArray, elementwise, ops,
};

use crate::WithThreads;
use crate::cell::{Case, Check, ensure, need, short};
use crate::forms::{Form, expect, place, read, visible_kind};
use crate::values::same;

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = vec![
        Case::new("random::known_answers/u64", known_answers),
        Case::new("random::bits/u64", bits),
        Case::new("random::permutation/i64", permutation),
        Case::new("random::few/all", few),
    ];
    for &dtype in Dtype::ALL {
        let name = |case: &str| format!("random::{case}/{}", short(dtype));
        if dtype.kind() == DtypeKind::Float {
            cases.push(Case::new(name("uniform"), move |device| uniform(device, dtype)));
            cases.push(Case::new(name("normal"), move |device| normal(device, dtype)));
        }
        if dtype.kind().is_integer() {
            cases.push(Case::new(name("integers"), move |device| integers(device, dtype)));
        }
    }
    cases
}

/// The same numbers for any number of threads.
pub(crate) fn trials(host: WithThreads) -> Vec<Trial> {
    vec![Trial::test("random::threads/f64/host", move || {
        threads(host).map_err(|stop| Failed::from(format!("{stop:?}")))
    })]
}

fn threads(host: WithThreads) -> Check {
    let mut first: Option<Vec<Scalar>> = None;
    for threads in [1, 2, 3, 8] {
        let device = host(threads)?;
        let mut random = Generator::new(7).on(&device.queue()?);
        let mut all = read(&random.normal_as([300, 401], Dtype::F64, 0.0, 1.0)?)?;
        all.extend(read(&random.permutation(70_001)?)?);
        match &first {
            None => first = Some(all),
            Some(first) => {
                let equal = first.iter().zip(&all).all(|(&a, &b)| same(a, b));
                ensure!(equal, "{threads} threads give other numbers");
            }
        }
    }
    Ok(())
}

/// The bits at a place of a stream, by the scalar oracle, whose own known answers core tests.
fn word(counter: u64, stream: u64, seed: u64) -> u64 {
    let operands = [counter, stream, seed].map(Scalar::U64);
    ops::apply(Op::Philox, &operands).and_then(Scalar::get).unwrap_or(0)
}

/// The known answers of the authors' library: counter, key, words of 32 bits, least significant first.
fn known_answers(device: &Device) -> Check {
    let queue = device.queue()?;
    let known: [([u32; 4], [u32; 2], [u32; 2]); 3] = [
        ([0; 4], [0; 2], [0x6627_e8d5, 0xe169_c58d]),
        ([u32::MAX; 4], [u32::MAX; 2], [0x408f_276d, 0x41c8_3b0e]),
        (
            [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
            [0xa409_3822, 0x299f_31d0],
            [0xd16c_fe09, 0x94fd_cceb],
        ),
    ];
    let wide = |low: u32, high: u32| Scalar::U64(u64::from(low) | u64::from(high) << 32);
    let column = |values: Vec<Scalar>, form| place(&queue, &[values.len()], Dtype::U64, &values, form);
    // Each answer several times, so that whole vectors of them are computed.
    let repeated = || known.iter().cycle().take(100);
    let (counter, _) = column(repeated().map(|k| wide(k.0[0], k.0[1])).collect(), Form::C)?;
    let (stream, _) = column(repeated().map(|k| wide(k.0[2], k.0[3])).collect(), Form::Reversed)?;
    let (key, _) = column(repeated().map(|k| wide(k.1[0], k.1[1])).collect(), Form::Step2)?;
    let operands: [ArrayOrScalar<'_>; 3] = [(&counter).into(), (&stream).into(), (&key).into()];
    let expected: Vec<Scalar> = repeated().map(|k| wide(k.2[0], k.2[1])).collect();
    expect(&"known answers", &elementwise(Op::Philox, &operands)?, &expected)
}

fn bits(device: &Device) -> Check {
    let queue = device.queue()?;
    let seed = 0x0123_4567_89ab_cdef;
    for counter in [0, 5, u64::from(u32::MAX) - 100, u64::MAX - 100] {
        let mut random = Generator::new(seed).on(&queue);
        random.set_counter(counter);
        let expected: Vec<Scalar> =
            (0..3000).map(|i| Scalar::U64(word(counter.wrapping_add(i), 0, seed))).collect();
        let first = random.bits([2, 100])?;
        ensure!(random.counter() == counter.wrapping_add(200), "the counter is {}", random.counter());
        let rest = [random.bits([2800])?, random.bits([0])?];
        expect(&"the first block", &first, &expected[..200])?;
        expect(&"the second block", &rest[0], &expected[200..])?;
        ensure!(
            rest[1].is_empty() && random.counter() == counter.wrapping_add(3000),
            "an empty block counts"
        );
    }
    // What is refused draws nothing.
    let mut random = Generator::new(seed).on(&queue);
    ensure!(
        random.integers_as([4], Dtype::U8, 0, 300).is_err() && random.counter() == 0,
        "a refused call counts"
    );
    Ok(())
}

/// Checks the mean and the variance of numbers within six of their standard deviations, for a distribution of a mean,
/// variance and fourth central moment.
fn moments(what: &str, values: &[Scalar], mean: f64, variance: f64, fourth: f64) -> Check {
    let n = values.len() as f64;
    let average = values.iter().map(|v| v.to_f64()).sum::<f64>() / n;
    let spread = values.iter().map(|v| (v.to_f64() - mean).powi(2)).sum::<f64>() / n;
    let (mean_error, variance_error) = ((variance / n).sqrt(), ((fourth - variance * variance) / n).sqrt());
    ensure!(
        (average - mean).abs() <= 6.0 * mean_error,
        "{what}: mean {average}, expected {mean} ± {mean_error}"
    );
    ensure!(
        (spread - variance).abs() <= 6.0 * variance_error,
        "{what}: variance {spread}, expected {variance} ± {variance_error}"
    );
    Ok(())
}

fn uniform(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    let seed = 99;
    let mut random = Generator::new(seed).on(&queue);
    let len = 20_000;
    let unit = read(&random.uniform_as([len], dtype, 0.0, 1.0)?)?;
    for (i, &got) in unit.iter().enumerate() {
        let expected = if dtype == Dtype::F64 {
            Scalar::F64((word(i as u64, 0, seed) >> 11) as f64 / (1_u64 << 53) as f64)
        } else {
            // Rounding may arrive at 1, which is not in the range.
            let value = Scalar::F32((word(i as u64, 0, seed) >> 40) as f32 / (1 << 24) as f32).cast(dtype);
            let below =
                ops::apply(Op::Nextafter, &[Scalar::F64(1.0).cast(dtype), Scalar::F64(0.0).cast(dtype)]);
            if value.to_f64() < 1.0 { value } else { below.unwrap_or(value) }
        };
        ensure!(same(got, expected), "element {i}: got {got:?}, expected {expected:?}");
    }
    moments("from 0 to 1", &unit, 0.5, 1.0 / 12.0, 1.0 / 80.0)?;
    // Where the range is a tiny number, a part of it is no product with one factor.
    let tiny = if dtype == Dtype::F64 { 1e-305 } else { 1e-36 };
    for (low, high) in [(-3.0, 5.0), (100.0, 101.0), (1000.0, 1000.5), (2.0, 2.0), (0.0, 3.0), (0.0, tiny)] {
        let (low, high) = (Scalar::F64(low).cast(dtype).to_f64(), Scalar::F64(high).cast(dtype).to_f64());
        let first = random.counter();
        let values = read(&random.uniform_as([len], dtype, low, high)?)?;
        for (i, &got) in values.iter().enumerate() {
            let expected = spread_over(word(first + i as u64, 0, seed), dtype, low, high);
            ensure!(same(got, expected), "{low} to {high}, {i}: got {got:?}, expected {expected:?}");
        }
        let outside = values.iter().find(|v| !(v.to_f64() >= low && (v.to_f64() < high || low == high)));
        ensure!(outside.is_none(), "{outside:?} is not from {low} to {high}");
        // Numbers of few digits have a mean of their own, and the variance of tiny ones is none.
        if low.abs() < 10.0 && dtype != Dtype::Bf16 && high != tiny {
            let width = high - low;
            let (variance, fourth) = (width.powi(2) / 12.0, width.powi(4) / 80.0);
            moments(&format!("{low} to {high}"), &values, (low + high) / 2.0, variance, fourth)?;
        }
    }
    Ok(())
}

/// A number from `low` to below `high` by random bits, as documented.
fn spread_over(bits: u64, dtype: Dtype, low: f64, high: f64) -> Scalar {
    let (computed, digits) = if dtype == Dtype::F64 { (dtype, 53) } else { (Dtype::F32, 24) };
    let number = |value: f64| Scalar::F64(value).cast(computed);
    let apply = |op, a, b| ops::apply(op, &[a, b]).unwrap_or(a);
    let unit = number((bits >> (64 - digits)) as f64 / (1_u64 << digits) as f64);
    let scaled = apply(Op::Multiply, unit, number(high - low));
    let value = apply(Op::Add, scaled, number(low)).cast(dtype);
    let [low, high] = [low, high].map(|end| Scalar::F64(end).cast(dtype));
    if value.to_f64() < high.to_f64() || low == high { value } else { apply(Op::Nextafter, high, low) }
}

/// A few numbers are the same as they are among many.
fn few(device: &Device) -> Check {
    let queue = device.queue()?;
    type Draw = fn(&mut Generator, usize) -> stridewise::Result<UsmArray>;
    let draws: [(&str, Draw); 9] = [
        ("bits", |random, n| random.bits([n])),
        ("float32 from 0 to 1", |random, n| random.uniform_as([n], Dtype::F32, 0.0, 1.0)),
        ("float32 from -1 to 3", |random, n| random.uniform_as([n], Dtype::F32, -1.0, 3.0)),
        ("float16", |random, n| random.uniform_as([n], Dtype::F16, 0.0, 1.0)),
        ("normal float32", |random, n| random.normal_as([n], Dtype::F32, 0.0, 1.0)),
        ("normal bfloat16", |random, n| random.normal_as([n], Dtype::Bf16, 1.0, 3.0)),
        ("int8", |random, n| random.integers_as([n], Dtype::I8, -100, 100)),
        ("int64", |random, n| random.integers_as([n], Dtype::I64, 0, 1 << 40)),
        ("uint64", |random, n| random.integers_as([n], Dtype::U64, 0, 1 << 64)),
    ];
    for (name, draw) in draws {
        for (seed, counter) in [(1, 0), (2, 12_345), (3, u64::MAX - 20)] {
            let drawn = |n: usize| {
                let mut random = Generator::new(seed).on(&queue);
                random.set_counter(counter);
                read(&draw(&mut random, n)?)
            };
            let many = drawn(5000)?;
            for n in [1, 16, 255, 256, 257, 1024, 1025] {
                let few = drawn(n)?;
                let equal = few.len() == n && few.iter().zip(&many).all(|(&a, &b)| same(a, b));
                ensure!(equal, "{name}: {n} from {counter} on are other numbers");
            }
        }
    }
    Ok(())
}

fn normal(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    let seed = 5;
    let mut random = Generator::new(seed).on(&queue);
    let len = 20_000;
    let standard = read(&random.normal_as([len], dtype, 0.0, 1.0)?)?;
    for (i, got) in standard.iter().enumerate() {
        let (first, second) = (word(i as u64, 0, seed), word(i as u64, 1, seed));
        let (u, v) = match dtype {
            Dtype::F64 => (
                ((first >> 11) + 1) as f64 / (1_u64 << 53) as f64,
                (second >> 11) as f64 / (1_u64 << 53) as f64,
            ),
            _ => (
                ((first >> 32) + 1) as f64 / (1_u64 << 32) as f64,
                (first & 0xffff_ffff) as f64 / (1_u64 << 32) as f64,
            ),
        };
        let exact = (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos();
        // Of the angle's rounding, most.
        let relative = match dtype {
            Dtype::F64 => 1e-14,
            Dtype::F32 => 4e-6,
            Dtype::F16 => 2e-3,
            _ => 1e-2,
        };
        let near = (got.to_f64() - exact).abs() <= relative * exact.abs().max(1.0);
        ensure!(near, "element {i}: got {got:?}, expected {exact}");
    }
    moments("standard", &standard, 0.0, 1.0, 3.0)?;
    let values = read(&random.normal_as([len], dtype, -2.0, 0.5)?)?;
    moments("mean -2, deviation 0.5", &values, -2.0, 0.25, 3.0 / 16.0)?;
    let constant = random.normal_as([3], dtype, 4.0, 0.0)?;
    expect(&"no deviation", &constant, &[Scalar::F64(4.0).cast(dtype); 3])
}

/// The upper 64 bits of the product of random bits and a count, as documented.
fn drawn(i: u64, seed: u64, count: u128) -> u64 {
    let first = u128::from(word(i, 0, seed));
    if count == 1 << 64 {
        return first as u64;
    }
    let carried = if count > 1 << 32 { (u128::from(word(i, 1, seed)) * count) >> 64 } else { 0 };
    ((first * count + carried) >> 64) as u64
}

fn integers(device: &Device, dtype: Dtype) -> Check {
    let queue = device.queue()?;
    let range = dtype.iinfo()?;
    let seed = 0xdead_beef_0000_0001;
    let mut random = Generator::new(seed).on(&queue);
    let mut counter = 0;
    let mut bounds = vec![
        (range.min, range.max + 1),
        (0, 1),
        (1, 7),
        (range.max - 2, range.max + 1),
        (range.min, range.min + 100),
    ];
    if dtype.size() == 8 {
        bounds.extend([(5, 5 + (1 << 32)), (5, 6 + (1 << 32)), (1, 1 << 62), (range.min + 1, range.max)]);
    }
    for (low, high) in bounds {
        let len = 4000;
        let array = random.integers_as([len], dtype, low, high)?;
        let expected: Vec<Scalar> = (0..len as u64)
            .map(|i| low + i128::from(drawn(counter + i, seed, (high - low) as u128)))
            .map(|v| Scalar::U64(v as u64).cast(dtype))
            .collect();
        expect(&format_args!("{low} to {high}"), &array, &expected)?;
        counter += len as u64;
        // As distances from the lowest, which doubles resolve.
        let distance = |v: Scalar| match v.cast(if range.min < 0 { Dtype::I64 } else { Dtype::U64 }) {
            Scalar::I64(v) => i128::from(v) - low,
            Scalar::U64(v) => i128::from(v) - low,
            _ => 0,
        };
        let values: Vec<Scalar> =
            read(&array)?.into_iter().map(|v| Scalar::F64(distance(v) as f64)).collect();
        let (centre, count) = ((high - low - 1) as f64 / 2.0, (high - low) as f64);
        if count > 1.0 {
            let variance = (count * count - 1.0) / 12.0;
            let fourth = variance * (3.0 * count * count - 7.0) / 20.0;
            moments(&format!("{low} to {high}"), &values, centre, variance, fourth)?;
        }
    }
    Ok(())
}

fn permutation(device: &Device) -> Check {
    let queue = device.queue()?;
    let mut random = Generator::new(3).on(&queue);
    for n in [0, 1, 2, 1000] {
        let counter = random.counter();
        let order = random.permutation(n)?;
        let mut expected: Vec<usize> = (0..n).collect();
        expected.sort_by_key(|&i| word(counter + i as u64, 0, 3));
        let expected: Vec<Scalar> = expected.into_iter().map(|i| Scalar::I64(i as i64)).collect();
        expect(&format_args!("permutation of {n}"), &order, &expected)?;
    }
    let rows: Vec<Scalar> = (0..60).map(|i| Scalar::I16(i / 3)).collect();
    let (x, _) = place(&queue, &[20, 3], Dtype::I16, &rows, Form::F)?;
    let shuffled = random.shuffle(&x, 0)?;
    let mut seen: Vec<Scalar> = read(&shuffled)?.chunks(3).map(|row| row[0]).collect();
    ensure!(
        read(&shuffled)?.chunks(3).all(|row| row[0] == row[1] && row[1] == row[2]),
        "rows are torn apart"
    );
    ensure!(seen != (0..20).map(Scalar::I16).collect::<Vec<_>>(), "the rows are in order");
    seen.sort_by_key(|v| v.get::<i16>());
    ensure!(seen == (0..20).map(Scalar::I16).collect::<Vec<_>>(), "rows are lost: {seen:?}");
    let other = Queue::new(device, stridewise::backend::QueueProperties::default())?;
    let other = UsmArray::zeros(&other, &[4], Dtype::I16, visible_kind(other.device()))?;
    let refused = random.shuffle(&other, 0);
    ensure!(matches!(refused, Err(stridewise::Error::ExecutionPlacement(_))), "another queue: {refused:?}");
    Ok(())
}
