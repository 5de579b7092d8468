//! Sums at places, weighted counts, sums of products by letters, padding, rows moved along each other and orders by several keys,
//! against naive loops; and random numbers that are drawn by rejection, by their moments.

use stridewise::{
    Array, Bins, Device, Dtype, DtypeKind, Generator, Index, Op, Overlap, Padding, Scalar, UsmArray, Weak,
    einsum, lexsort, ops,
};

use crate::cell::{Case, Check, ensure, need, short};
use crate::forms::{Form, expect, place, read};
use crate::values::Random;

const FORMS: [Form; 3] = [Form::C, Form::Reversed, Form::Step2];

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = vec![
        Case::new("gathered::counts/i64", counts),
        Case::new("gathered::lexsort/i32", keys),
        Case::new("gathered::choice/i64", choice),
    ];
    for &dtype in Dtype::ALL {
        let name = |case: &str| format!("gathered::{case}/{}", short(dtype));
        cases.push(Case::new(name("group_by"), move |device| groups(device, dtype)));
        if !matches!(dtype.kind(), DtypeKind::Bool | DtypeKind::Complex) {
            cases.push(Case::new(name("minimum_at"), move |device| joined_at(device, dtype, Op::Minimum)));
            cases.push(Case::new(name("maximum_at"), move |device| joined_at(device, dtype, Op::Maximum)));
        }
        cases.push(Case::new(name("pad"), move |device| pad(device, dtype)));
        if dtype != Dtype::Bool {
            cases.push(Case::new(name("add_at"), move |device| joined_at(device, dtype, Op::Add)));
            cases.push(Case::new(name("multiply_at"), move |device| joined_at(device, dtype, Op::Multiply)));
            cases.push(Case::new(name("einsum"), move |device| letters(device, dtype)));
            cases.push(Case::new(name("convolve"), move |device| rows(device, dtype)));
        }
        if dtype.kind() == DtypeKind::Float {
            cases.push(Case::new(name("exponential"), move |device| waits(device, dtype)));
            cases.push(Case::new(name("gamma"), move |device| gamma(device, dtype)));
        }
    }
    cases.push(Case::new("gathered::poisson/i64", poisson));
    cases.push(Case::new("gathered::binomial/i64", binomial));
    cases
}

/// Small whole numbers, so that sums of them are exact.
fn whole(random: &mut Random, count: usize, dtype: Dtype) -> Vec<Scalar> {
    (0..count).map(|_| Scalar::I64(random.below(5) as i64).cast(dtype)).collect()
}

/// The same without 0: a matrix kernel may give the sum of complex zeros another sign.
fn positive(random: &mut Random, count: usize, dtype: Dtype) -> Vec<Scalar> {
    (0..count).map(|_| Scalar::I64(random.below(4) as i64 + 1).cast(dtype)).collect()
}

fn step(op: Op, x: Scalar, y: Scalar) -> Scalar {
    ops::apply(op, &[x, y]).unwrap_or(x)
}

/// What elements are joined with by an operation: so that results differ, and sums and products of many stay finite or overflow alike.
fn joined(random: &mut Random, count: usize, dtype: Dtype, op: Op) -> Vec<Scalar> {
    let special = [f64::NAN, -0.0, 0.0, f64::INFINITY];
    let one = |random: &mut Random| match op {
        Op::Multiply => Scalar::I64(*random.pick(&[1, 1, 1, 3])).cast(dtype),
        Op::Minimum | Op::Maximum if dtype.kind() == DtypeKind::Float && random.below(9) == 0 => {
            Scalar::F64(*random.pick(&special)).cast(dtype)
        }
        Op::Minimum | Op::Maximum if dtype.kind() != DtypeKind::Unsigned => {
            Scalar::I64(random.below(100) as i64 - 50).cast(dtype)
        }
        _ => Scalar::I64(random.below(5) as i64).cast(dtype),
    };
    (0..count).map(|_| one(random)).collect()
}

fn joined_at(device: &Device, dtype: Dtype, op: Op) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    let mut random = Random::new(5);
    for count in [0, 1, 17, 1025] {
        for form in FORMS {
            let own = joined(&mut random, 7 * 5, dtype, op);
            let values = joined(&mut random, count * 5, dtype, op);
            let places: Vec<i64> = (0..count).map(|_| random.below(14) as i64 - 7).collect();
            let (target, own) = place(&queue, &[7, 5], dtype, &own, form)?;
            let (source, values) = place(&queue, &[count, 5], dtype, &values, Form::C)?;
            let indices = UsmArray::from_slice(&queue, &[count], &places, target.usm_kind())?;
            let items = [Index::Array(indices)];
            match op {
                Op::Multiply => target.multiply_at(&items, &source)?,
                Op::Minimum => target.minimum_at(&items, &source)?,
                Op::Maximum => target.maximum_at(&items, &source)?,
                _ => target.add_at(&items, &source)?,
            }
            // Sums of 16-bit floats are rounded once.
            let wide = if dtype.size() == 2 && dtype.kind() == DtypeKind::Float { Dtype::F32 } else { dtype };
            let mut expected: Vec<Scalar> = own.iter().map(|x| x.cast(wide)).collect();
            for (row, &at) in places.iter().enumerate() {
                for column in 0..5 {
                    let element = &mut expected[at.rem_euclid(7) as usize * 5 + column];
                    *element = step(op, *element, values[row * 5 + column].cast(wide));
                }
            }
            let expected: Vec<Scalar> = expected.iter().map(|x| x.cast(dtype)).collect();
            expect(&format!("{op:?} at {count} places, {form:?}"), &target, &expected)?;
        }
    }
    Ok(())
}

/// Keys of one group, of a few near each other, of as many groups as elements, and of a few far from each other.
fn key(random: &mut Random, dtype: Dtype, mode: usize, i: usize) -> Scalar {
    let least = if matches!(dtype.kind(), DtypeKind::Unsigned | DtypeKind::Bool) { 0 } else { -3 };
    let few = random.below(if dtype == Dtype::Bool { 2 } else { 7 }) as i64;
    match (mode, dtype) {
        (0, _) => Scalar::I64(1).cast(dtype),
        (2, _) if dtype.size() >= 4 => Scalar::I64((i * 7919 % 10_007) as i64).cast(dtype),
        (3, Dtype::U64) => Scalar::U64(u64::MAX - few.cast_unsigned() * (1 << 60)),
        (3, Dtype::I64) => Scalar::I64(i64::MIN + few * (1 << 60)),
        (3, Dtype::F32 | Dtype::F64) => Scalar::F64(few as f64 * 1e20).cast(dtype),
        _ => Scalar::I64(few + least).cast(dtype),
    }
}

/// Groups of elements, against a loop over sorted keys.
fn groups(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    let float = device.dtype_support().default_float();
    let mut random = Random::named(&format!("groups{dtype}"));
    for (count, mode) in [(0, 1), (1, 1), (40, 1), (5000, 0), (5000, 1), (5000, 2), (5000, 3)] {
        let mut keys: Vec<Scalar> = (0..count).map(|i| key(&mut random, dtype, mode, i)).collect();
        if dtype.kind() == DtypeKind::Float && mode == 1 {
            (0..count / 9).for_each(|_| keys[random.below(count)] = Scalar::F64(f64::NAN).cast(dtype));
        }
        let numbers: Vec<i64> = (0..count).map(|_| random.below(1000) as i64 - 500).collect();
        let (x, keys) = place(&queue, &[count], dtype, &keys, Form::Step2)?;
        // The order of the keys, NaN last, each for itself; equal ones as they lie.
        let before = |a: Scalar, b: Scalar| match (a, b) {
            (Scalar::I64(a), Scalar::I64(b)) => a.cmp(&b),
            (Scalar::U64(a), Scalar::U64(b)) => a.cmp(&b),
            _ => a
                .to_f64()
                .partial_cmp(&b.to_f64())
                .unwrap_or_else(|| a.to_f64().is_nan().cmp(&b.to_f64().is_nan())),
        };
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by(|&a, &b| before(keys[a], keys[b]));
        let mut members: Vec<Vec<usize>> = Vec::new();
        for i in order {
            match members.last_mut() {
                Some(group) if before(keys[group[0]], keys[i]).is_eq() && !keys[i].to_f64().is_nan() => {
                    group.push(i)
                }
                _ => members.push(vec![i]),
            }
        }
        let groups = x.group_by()?;
        let what = |of: &str| format!("{of} of groups, {count} keys, {mode}");
        ensure!(groups.len() == members.len(), "{}: {}", what("number"), groups.len());
        let firsts: Vec<Scalar> = members.iter().map(|group| keys[group[0]]).collect();
        expect(&what("keys"), groups.keys(), &firsts)?;
        let counts: Vec<Scalar> = members.iter().map(|group| Scalar::I64(group.len() as i64)).collect();
        expect(&what("counts"), groups.count(), &counts)?;
        for values in [Dtype::I32, float] {
            let own: Vec<Scalar> = numbers.iter().map(|&number| Scalar::I64(number).cast(values)).collect();
            let (y, _) = place(&queue, &[count], values, &own, Form::Reversed)?;
            let each = |of: &dyn Fn(&mut dyn Iterator<Item = i64>) -> f64, dtype: Dtype| -> Vec<Scalar> {
                let result = |group: &Vec<usize>| of(&mut group.iter().map(|&i| numbers[i]));
                members.iter().map(|group| Scalar::F64(result(group)).cast(dtype)).collect()
            };
            let sums = if values == Dtype::I32 { Dtype::I64 } else { values };
            let sum = each(&|group| group.sum::<i64>() as f64, sums);
            expect(&what("sums"), &groups.sum(&y)?, &sum)?;
            let least = each(&|group| group.min().unwrap_or(0) as f64, values);
            expect(&what("minima"), &groups.min(&y)?, &least)?;
            let greatest = each(&|group| group.max().unwrap_or(0) as f64, values);
            expect(&what("maxima"), &groups.max(&y)?, &greatest)?;
            let first = each(&|group| group.next().unwrap_or(0) as f64, values);
            expect(&what("first values"), &groups.first(&y)?, &first)?;
            // Sums are exact, so that a quotient is rounded once.
            let exact = |sum: &Scalar, count: &Scalar| step(Op::Divide, sum.cast(float), count.cast(float));
            let mean: Vec<Scalar> = sum.iter().zip(&counts).map(|(sum, count)| exact(sum, count)).collect();
            if device.error_bound(Op::Divide, float).is_none_or(|bound| bound == 0.0) {
                expect(&what("means"), &groups.mean(&y)?, &mean)?;
            }
        }
    }
    Ok(())
}

fn counts(device: &Device) -> Check {
    let queue = device.queue()?;
    let float = device.dtype_support().default_float();
    let mut random = Random::new(6);
    for len in [1, 16, 1025, 20_000] {
        let numbers: Vec<Scalar> = (0..len).map(|_| Scalar::I64(random.below(50) as i64)).collect();
        let weights = whole(&mut random, len, float);
        let (x, _) = place(&queue, &[len], Dtype::I64, &numbers, Form::Step2)?;
        let (w, _) = place(&queue, &[len], float, &weights, Form::Reversed)?;
        let (mut counted, mut summed) = (vec![0_i64; 60], vec![0.0_f64; 60]);
        for (number, weight) in numbers.iter().zip(&weights) {
            let number = number.get::<i64>().unwrap_or(0) as usize;
            counted[number] += 1;
            summed[number] += weight.to_f64();
        }
        let counts: Vec<Scalar> = counted.iter().map(|&count| Scalar::I64(count)).collect();
        let sums: Vec<Scalar> = summed.iter().map(|&sum| Scalar::F64(sum).cast(float)).collect();
        expect(&"counts", &x.bincount(60)?, &counts)?;
        expect(&"sums of weights", &x.bincount_weighted(&w, 60)?, &sums)?;
        // Edges at the numbers, of which the last bin has both.
        let bins = Bins::Count(49, Some((0.0, 49.0)));
        let joined = |all: &[Scalar]| -> Vec<Scalar> {
            let mut all = all[..50].to_vec();
            let last = all.pop().unwrap_or(Scalar::I64(0));
            all[48] = step(Op::Add, all[48], last);
            all
        };
        expect(&"a histogram", &x.histogram(bins)?.0, &joined(&counts))?;
        expect(&"a histogram of weights", &x.histogram_weighted(bins, &w)?.0, &joined(&sums))?;
    }
    Ok(())
}

fn letters(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    let mut random = Random::new(7);
    for form in FORMS {
        let (a, x) = place(&queue, &[3, 4], dtype, &positive(&mut random, 12, dtype), form)?;
        let (b, y) = place(&queue, &[4, 3], dtype, &positive(&mut random, 12, dtype), form)?;
        let wide = if dtype.size() == 2 && dtype.kind() == DtypeKind::Float { Dtype::F32 } else { dtype };
        let times = |i: usize, j: usize, k: usize| {
            step(Op::Multiply, x[i * 4 + j].cast(wide), y[j * 3 + k].cast(wide))
        };
        let sum = |all: &mut dyn Iterator<Item = Scalar>| {
            let total = all.reduce(|sum, x| step(Op::Add, sum, x)).unwrap_or(Scalar::I8(0).cast(wide));
            total.cast(dtype)
        };
        let product: Vec<Scalar> = (0..9).map(|e| sum(&mut (0..4).map(|j| times(e / 3, j, e % 3)))).collect();
        expect(&"ij,jk->ik", &einsum("ij,jk->ik", &[&a, &b])?, &product)?;
        let trace = sum(&mut (0..12).map(|e| times(e / 4, e % 4, e / 4)));
        expect(&"ij,ji->", &einsum("ij,ji->", &[&a, &b])?, &[trace])?;
        let outer: Vec<Scalar> = (0..36).map(|e| times(e / 12, e / 3 % 4, e % 3).cast(dtype)).collect();
        expect(&"ij,jk->ijk", &einsum("ij,jk->ijk", &[&a, &b])?, &outer)?;
    }
    Ok(())
}

fn pad(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    let values: Vec<Scalar> = (1..=6).map(|i| Scalar::I64(i).cast(dtype)).collect();
    for form in FORMS {
        let (x, values) = place(&queue, &[2, 3], dtype, &values, form)?;
        for (padding, at) in [
            (Padding::Edge, [0, 0, 0, 1, 2, 2, 2]),
            (Padding::Reflect, [2, 1, 0, 1, 2, 1, 0]),
            (Padding::Symmetric, [1, 0, 0, 1, 2, 2, 1]),
            (Padding::Wrap, [1, 2, 0, 1, 2, 0, 1]),
        ] {
            let expected: Vec<Scalar> = (0..14).map(|e| values[e / 7 * 3 + at[e % 7]]).collect();
            // Two before and two behind.
            expect(&format!("{padding:?}"), &x.pad(&[(0, 0), (2, 2)], padding)?, &expected)?;
        }
        let one = Scalar::I8(1).cast(dtype);
        let padding = Padding::Constant(if dtype == Dtype::Bool { Weak::Bool(true) } else { Weak::Int(1) });
        let expected: Vec<Scalar> = (0..12)
            .map(|e| if e < 4 || e % 4 == 3 { one } else { values[(e / 4 - 1) * 3 + e % 4] })
            .collect();
        expect(&"a constant", &x.pad(&[(1, 0), (0, 1)], padding)?, &expected)?;
    }
    Ok(())
}

fn rows(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    let mut random = Random::new(8);
    for (n, m) in [(1, 1), (7, 3), (3, 7), (33, 4)] {
        let (a, x) = place(&queue, &[n], dtype, &whole(&mut random, n, dtype), Form::Step2)?;
        let (b, y) = place(&queue, &[m], dtype, &whole(&mut random, m, dtype), Form::Reversed)?;
        let zero = Scalar::I8(0).cast(dtype);
        let mut full = vec![zero; n + m - 1];
        for (i, &x) in x.iter().enumerate() {
            for (j, &y) in y.iter().enumerate() {
                full[i + j] = step(Op::Add, full[i + j], step(Op::Multiply, x, y));
            }
        }
        let short = n.min(m);
        let parts = [
            (Overlap::Full, 0..n + m - 1),
            (Overlap::Same, (short - 1) / 2..(short - 1) / 2 + n.max(m)),
            (Overlap::Valid, short - 1..n.max(m)),
        ];
        for (overlap, range) in parts {
            expect(&format!("{n} by {m}, {overlap:?}"), &a.convolve(&b, overlap)?, &full[range])?;
        }
    }
    Ok(())
}

fn keys(device: &Device) -> Check {
    let queue = device.queue()?;
    let mut random = Random::new(9);
    for len in [0, 1, 100, 2000] {
        let columns: Vec<Vec<Scalar>> = (0..3).map(|_| whole(&mut random, len, Dtype::I32)).collect();
        let mut arrays = Vec::new();
        for column in &columns {
            arrays.push(place(&queue, &[len], Dtype::I32, column, Form::Step2)?.0);
        }
        let order = lexsort(&arrays.iter().collect::<Vec<_>>(), 0)?;
        let mut expected: Vec<usize> = (0..len).collect();
        expected.sort_by_key(|&i| [2, 1, 0].map(|k: usize| columns[k][i].to_f64() as i64));
        let expected: Vec<Scalar> = expected.iter().map(|&i| Scalar::I64(i as i64)).collect();
        expect(&"an order by three keys", &order, &expected)?;
    }
    Ok(())
}

/// Checks the mean of numbers within six of its standard deviations, and the variance within a part of it.
fn near(what: &str, values: &[Scalar], mean: f64, variance: f64) -> Check {
    let n = values.len() as f64;
    let average = values.iter().map(|x| x.to_f64()).sum::<f64>() / n;
    let spread = values.iter().map(|x| (x.to_f64() - mean).powi(2)).sum::<f64>() / n;
    ensure!((average - mean).abs() <= 6.0 * (variance / n).sqrt(), "{what}: mean {average}, expected {mean}");
    ensure!((spread / variance - 1.0).abs() <= 0.15, "{what}: variance {spread}, expected {variance}");
    Ok(())
}

const COUNT: usize = 10_000;

fn waits(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let mut random = Generator::new(1).on(&device.queue()?);
    near("exponential", &read(&random.exponential_as([COUNT], dtype, 2.0)?)?, 2.0, 4.0)?;
    ensure!(random.counter() == COUNT as u64, "the counter is {}", random.counter());
    ensure!(random.exponential_as([1], dtype, -1.0).is_err(), "a negative scale is taken");
    ensure!(random.counter() == COUNT as u64, "a refused call counts");
    Ok(())
}

fn gamma(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let mut random = Generator::new(2).on(&device.queue()?);
    for alpha in [0.5, 1.0, 3.5, 50.0] {
        let values = read(&random.gamma_as([COUNT], dtype, alpha, 2.0)?)?;
        ensure!(values.iter().all(|x| x.to_f64() >= 0.0), "a negative number");
        near(&format!("gamma of {alpha}"), &values, 2.0 * alpha, 4.0 * alpha)?;
    }
    for alpha in [-1.0, f64::NAN, f64::INFINITY] {
        ensure!(random.gamma_as([1], dtype, alpha, 1.0).is_err(), "the shape {alpha} is taken");
    }
    Ok(())
}

fn poisson(device: &Device) -> Check {
    let queue = device.queue()?;
    let mut random = Generator::new(3).on(&queue);
    for rate in [0.5, 9.5, 10.5, 400.0] {
        let whole = read(random.clone().poisson([COUNT], rate)?.as_untyped())?;
        near(&format!("a rate of {rate}"), &whole, rate, rate)?;
        // The same by parts: a number depends on its place alone.
        let parts = [random.poisson([3], rate)?, random.poisson([COUNT - 3], rate)?];
        expect(&"the first three", parts[0].as_untyped(), &whole[..3])?;
        expect(&"the others", parts[1].as_untyped(), &whole[3..])?;
    }
    let rates = UsmArray::from_slice(&queue, &[2, 1], &[0.0_f32, 90.0], crate::forms::visible_kind(device))?;
    let both = read(random.poisson([2, COUNT], &rates)?.as_untyped())?;
    ensure!(both[..COUNT].iter().all(|x| x.to_f64() == 0.0), "a rate of 0 gives others than 0");
    near("a rate of an array", &both[COUNT..], 90.0, 90.0)?;
    ensure!(random.poisson([1], -1.0).is_err() && random.poisson([1], f64::NAN).is_err(), "no rate is taken");
    Ok(())
}

fn binomial(device: &Device) -> Check {
    let mut random = Generator::new(4).on(&device.queue()?);
    for (n, p) in [(10, 0.3), (30, 0.9), (100, 0.5), (1000, 0.7)] {
        let values = read(random.binomial([COUNT], n, p)?.as_untyped())?;
        ensure!(values.iter().all(|x| (0.0..=f64::from(n)).contains(&x.to_f64())), "a count out of range");
        near(&format!("{n} trials of {p}"), &values, f64::from(n) * p, f64::from(n) * p * (1.0 - p))?;
    }
    for (n, p, sure) in [(9, 0.0, 0.0), (9, 1.0, 9.0), (0, 0.5, 0.0)] {
        let values = read(random.binomial([100], n, p)?.as_untyped())?;
        ensure!(values.iter().all(|x| x.to_f64() == sure), "{n} trials of {p} are not sure");
    }
    ensure!(
        random.binomial([1], -1, 0.5).is_err() && random.binomial([1], 1, 1.5).is_err(),
        "no number of trials"
    );
    Ok(())
}

fn choice(device: &Device) -> Check {
    let queue = device.queue()?;
    let mut random = Generator::new(5).on(&queue);
    let all: Array<i64> = random.choice(50, [50], false, None)?;
    let mut numbers: Vec<i64> = read(all.as_untyped())?.iter().map(|x| x.to_f64() as i64).collect();
    ensure!(numbers.windows(2).any(|pair| pair[0] > pair[1]), "the order is the first one");
    numbers.sort_unstable();
    ensure!(numbers == (0..50).collect::<Vec<_>>(), "not each once: {numbers:?}");
    let kind = crate::forms::visible_kind(device);
    let weights = UsmArray::from_slice(&queue, &[3], &[1.0_f32, 0.0, 3.0], kind)?;
    let chosen = read(random.choice(3, [COUNT], true, Some(&weights))?.as_untyped())?;
    near("a choice by weights", &chosen, 1.5, 0.75)?;
    ensure!(chosen.iter().all(|x| x.to_f64() != 1.0), "a weight of 0 is chosen");
    ensure!(random.choice(3, [3], false, Some(&weights)).is_err(), "more than there are");
    let children = random.spawn(3)?;
    let seeds: Vec<u64> = children.iter().map(Generator::seed).collect();
    ensure!(seeds[0] != seeds[1] && seeds[1] != seeds[2] && seeds[0] != seeds[2], "children are alike");
    Ok(())
}
