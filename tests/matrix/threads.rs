//! Equal bits: of reductions for any number of threads, of elementwise operations at every instruction set level.

use libtest_mimic::{Failed, Trial};
use stridewise::backend::QueueProperties;
use stridewise::{
    Array, ArrayOrScalar, Device, Dtype, Error, Op, Queue, Reduction, Scalar, UsmArray, elementwise, s,
};

use crate::WithThreads;
use crate::cell::{Check, short, wrong};
use crate::forms::{Form, place, read};
use crate::reductions::KINDS;
use crate::values::{Random, same};

/// Numbers of threads that are compared; the last is more than most shapes divide into.
const THREADS: [usize; 4] = [1, 2, 3, 8];

pub(crate) fn trials(host: WithThreads, levels: &[Device]) -> Vec<Trial> {
    let mut trials = Vec::new();
    for &dtype in Dtype::ALL {
        // The others fold by the operations of these.
        let kinds = KINDS.iter().copied().filter(|kind| !matches!(kind, Reduction::Any | Reduction::All));
        for kind in kinds {
            let name = format!("threads::{}/{}/host", kind.name(), short(dtype));
            trials.push(Trial::test(name, move || report(any_number_of_threads(host, kind, dtype))));
        }
        for &op in Op::ALL.iter().filter(|&&op| op != Op::Cast && op.allows(dtype)) {
            let levels = levels.to_vec();
            let name = format!("levels::{}/{}/host", op.name(), short(dtype));
            trials.push(Trial::test(name, move || report(any_level(&levels, op, dtype))));
        }
    }
    trials.push(Trial::test("threads::copies_and_fills/f32/host", move || report(copies(host))));
    for dtype in [Dtype::F32, Dtype::F64, Dtype::C64, Dtype::C128, Dtype::I32] {
        let name = format!("threads::products/{}/host", short(dtype));
        trials.push(Trial::test(name, move || report(products(host, dtype))));
    }
    trials.push(Trial::test("threads::streams/f32/host", move || report(streams(host))));
    trials.push(Trial::test("threads::values/f32/host", move || report(values_waited_for(host))));
    trials.push(Trial::test("threads::waited_for/f32/host", move || report(operations_waited_for(host))));
    trials
}

fn report(outcome: Check) -> Result<(), Failed> {
    outcome.map_err(|stop| Failed::from(format!("{stop:?}")))
}

/// Compares arrays of which each should be equal to the first, bit by bit but for NaN.
fn equal(what: &str, results: &[(String, UsmArray)]) -> Check {
    let Some((first_name, first)) = results.first() else { return Ok(()) };
    let expected = read(first)?;
    for (name, result) in &results[1..] {
        let got = read(result)?;
        if let Some(i) = (0..expected.len().max(got.len())).find(|&i| !same(got[i], expected[i])) {
            wrong!("{what}: element {i}: {name} gives {:?}, {first_name} gives {:?}", got[i], expected[i]);
        }
    }
    Ok(())
}

/// Matrix products are divided into blocks by the number of threads.
fn products(host: WithThreads, dtype: Dtype) -> Check {
    let devices: Vec<Device> =
        THREADS.iter().map(|&threads| host(threads)).collect::<stridewise::Result<_>>()?;
    for [m, n, k] in [
        [33, 65, 40],
        [64, 64, 700],
        [65, 64, 1100],
        [130, 70, 600],
        [40, 500, 33],
        [500, 40, 530],
        [257, 129, 3],
        [129, 257, 1300],
        [1000, 70, 2],
    ] {
        let mut results = Vec::new();
        for (device, threads) in devices.iter().zip(THREADS) {
            let queue = device.queue()?;
            let values = |len: usize, shape: [usize; 2]| -> Check<UsmArray> {
                // In no order, so that sums are rounded.
                let mixed =
                    Array::<i64>::on(&queue).arange(0, len as i64, 1)?.remainder(613).astype::<f64>() / 37.0;
                Ok(UsmArray::from(mixed).astype(dtype)?.reshape(&shape.map(usize::cast_signed))?)
            };
            let (a, b) = (values(m * k, [m, k])?, values(k * n, [k, n])?);
            results.push((format!("{threads} threads"), a.matmul(&b)?));
        }
        equal(&format!("{m} × {k} times {k} × {n} of {dtype}"), &results)?;
    }
    Ok(())
}

fn any_number_of_threads(host: WithThreads, kind: Reduction, dtype: Dtype) -> Check {
    let mut random = Random::named("threads");
    let devices: Vec<Device> =
        THREADS.iter().map(|&threads| host(threads)).collect::<stridewise::Result<_>>()?;
    for (shape, axes) in [
        // Several tasks of several segments each; rows, and columns, that several threads share.
        (&[300_003][..], None),
        (&[3, 40_003], Some(&[1][..])),
        (&[20_021, 5], Some(&[0][..])),
        (&[300, 301], None),
        (&[64, 33, 35], Some(&[0, 2][..])),
    ] {
        if axes.is_some_and(|axes: &[isize]| axes.len() > 1)
            && matches!(kind, Reduction::ArgMin | Reduction::ArgMax)
        {
            continue;
        }
        let values = random.many(shape.iter().product(), |random| match kind {
            Reduction::Prod => Scalar::F64(1.0 + random.real(-1e-3, 1e-3)).cast(dtype),
            _ => random.moderate(dtype),
        });
        for form in [Form::C, Form::F].into_iter().take(if shape.len() == 2 { 2 } else { 1 }) {
            let mut results = Vec::new();
            for (device, threads) in devices.iter().zip(THREADS) {
                let (array, _) = place(&device.queue()?, shape, dtype, &values, form)?;
                match array.reduce(kind, axes, false) {
                    Ok(result) => results.push((format!("{threads} threads"), result)),
                    // A dtype without an order; the reduction suites check which.
                    Err(stridewise::Error::Dtype(_)) => return Ok(()),
                    Err(error) => return Err(error.into()),
                }
            }
            equal(&format!("{} over {axes:?}, {form:?} of {shape:?}", kind.name()), &results)?;
        }
    }
    Ok(())
}

fn any_level(levels: &[Device], op: Op, dtype: Dtype) -> Check {
    let mut random = Random::named(&format!("levels{}{dtype}", op.name()));
    for (len, form) in [(30_011, Form::C), (1000, Form::Step2), (333, Form::Offset)] {
        let columns: Vec<(Dtype, Vec<Scalar>)> = (0..op.arity())
            .map(|position| {
                let dtype = if op == Op::Where && position == 0 { Dtype::Bool } else { dtype };
                (dtype, random.many(len, |random| random.any(dtype)))
            })
            .collect();
        let mut results = Vec::new();
        for device in levels {
            let queue = device.queue()?;
            let arrays: Vec<UsmArray> = columns
                .iter()
                .map(|(dtype, values)| place(&queue, &[len], *dtype, values, form).map(|(array, _)| array))
                .collect::<Check<_>>()?;
            let operands: Vec<ArrayOrScalar<'_>> = arrays.iter().map(Into::into).collect();
            results.push((device.filter_string(), elementwise(op, &operands)?));
        }
        equal(&format!("{} of {dtype}, {form:?}", op.name()), &results)?;
    }
    Ok(())
}

/// Work that every number of threads divides differently: maps in both orders, copies, fills.
fn copies(host: WithThreads) -> Check {
    let values: Vec<Scalar> = (0..700 * 701).map(|i| Scalar::F32(i as f32)).collect();
    for threads in THREADS {
        let queue = host(threads)?.queue()?;
        let (x, _) = place(&queue, &[700, 701], Dtype::F32, &values, Form::C)?;
        let (y, _) = place(&queue, &[700, 701], Dtype::F32, &values, Form::F)?;
        let zero = x.binary(Op::Subtract, &y)?;
        let what = format!("{threads} threads");
        crate::forms::expect(
            &format_args!("{what}: x − x in both orders"),
            &zero,
            &vec![Scalar::F32(0.0); values.len()],
        )?;
        crate::forms::expect(&format_args!("{what}: copy"), &y.copy_in(stridewise::Order::C)?, &values)?;
        let filled = UsmArray::full(&queue, &[1_000_003], Scalar::F32(2.5), stridewise::UsmKind::Device)?;
        crate::forms::expect(&format_args!("{what}: fill"), &filled, &vec![Scalar::F32(2.5); 1_000_003])?;
    }
    Ok(())
}

/// Work after work, each too short to wake a thread for, in which threads take part that are awake.
fn streams(host: WithThreads) -> Check {
    const ROUNDS: usize = 40;
    let (rows, columns) = (2 * 250, 141);
    let mut random = Random::named("streams");
    let values = random.many(rows * columns, |random| random.moderate(Dtype::F32));
    // All that each of a round's results is in.
    let mut found: Vec<Vec<(String, UsmArray)>> = Vec::new();
    for threads in THREADS {
        let queue = host(threads)?.queue()?;
        let (x, _) = place(&queue, &[2, rows / 2, columns], Dtype::F32, &values, Form::C)?;
        let (row, _) = place(&queue, &[columns], Dtype::F32, &values[..columns], Form::C)?;
        let (column, _) = place(&queue, &[rows / 2, 1], Dtype::F32, &values[..rows / 2], Form::C)?;
        let flat = x.reshape(&[-1])?;
        for _ in 0..ROUNDS {
            let sum = x.binary(Op::Add, &x)?;
            sum.wait()?;
            let scaled = elementwise(Op::Multiply, &[(&sum).into(), Scalar::F32(0.5).into()])?;
            scaled.wait()?;
            // In place, and of rows that are read where they lie.
            scaled.write_elementwise(Op::Subtract, &[(&scaled).into(), (&row).into()], &[])?.wait()?;
            let by_column = column.binary(Op::Add, &x)?;
            by_column.wait()?;
            let squares = flat.binary(Op::Multiply, &flat)?;
            let folded = [Reduction::Sum, Reduction::Max, Reduction::ArgMax]
                .map(|kind| flat.reduce(kind, None, false));
            let folded = folded.into_iter().collect::<Result<Vec<_>, _>>()?;
            let results = [by_column, scaled, squares].into_iter().chain(folded);
            for (number, result) in results.enumerate() {
                if number == found.len() {
                    found.push(Vec::new());
                }
                found[number].push((format!("{threads} threads"), result));
            }
        }
    }
    for (number, results) in found.iter().enumerate() {
        equal(&format!("result {number}"), results)?;
    }
    Ok(())
}

/// Values that somebody waits for, of so many elements that all threads fold them: what a submission gives, which a queue that
/// works in order makes of every one, for any number of threads, and where several callers ask at once.
fn values_waited_for(host: WithThreads) -> Check {
    const CALLERS: usize = 4;
    let mut random = Random::named("values waited for");
    let len = 2_000_003;
    let values = random.many(len, |random| random.moderate(Dtype::F32));
    let mut found = Vec::new();
    for threads in THREADS {
        let device = host(threads)?;
        let ordered = Queue::new(&device, QueueProperties { in_order: true, profiling: false })?;
        let (x, _) = place(&ordered, &[len], Dtype::F32, &values, Form::C)?;
        let kinds = [Reduction::Sum, Reduction::Max, Reduction::Mean, Reduction::Prod];
        let as_arrays = kinds.map(|kind| x.reduce(kind, None, false)?.item());
        let as_arrays = as_arrays.into_iter().collect::<Result<Vec<_>, _>>()?;
        let x = Array::<f32>::try_from(x)?;
        let product = (&x * &x.slice(s![..;-1])?).sum()?.to_bits();
        let (x, _) = place(&device.queue()?, &[len], Dtype::F32, &values, Form::C)?;
        let x = Array::<f32>::try_from(x)?;
        let y = x.slice(s![..;-1])?.copy()?;
        let ask = || {
            let values = [x.sum()?, x.max()?, x.mean()?, x.prod()?].map(Scalar::F32);
            let dot = x.try_vecdot(&y, -1)?.item()?.to_bits();
            Ok::<_, Error>((values, dot, x.argmax()?))
        };
        let answers = std::thread::scope(|scope| {
            let callers = [(); CALLERS].map(|()| scope.spawn(|| (0..8).map(|_| ask()).collect::<Vec<_>>()));
            callers.map(|caller| caller.join()).into_iter().collect::<Vec<_>>()
        });
        for answer in answers.into_iter().flat_map(|answers| answers.unwrap_or_default()) {
            let (values, dot, argmax) = answer?;
            if values.iter().zip(&as_arrays).any(|(&value, &array)| !same(value, array)) {
                wrong!("{threads} threads: {values:?}, as arrays {as_arrays:?}");
            }
            if dot != product {
                wrong!("{threads} threads: {dot}, as a sum of products {product}");
            }
            found.push((threads, values, dot, argmax));
        }
    }
    if found.len() != THREADS.len() * CALLERS * 8 {
        wrong!("{} answers", found.len());
    }
    let (_, first, dot, argmax) = found[0];
    for (threads, values, other_dot, at) in found {
        if values.iter().zip(&first).any(|(&a, &b)| !same(a, b)) || other_dot != dot || at != argmax {
            wrong!("{threads} threads: {values:?} {other_dot} {at}, with one {first:?} {dot} {argmax}");
        }
    }
    Ok(())
}

/// Operations that somebody waits for, each alone: what they come to at once, by all threads, is what a submission gives, which
/// a queue that works in order makes of every one.
fn operations_waited_for(host: WithThreads) -> Check {
    let (rows, columns) = (701, 500);
    let mut random = Random::named("operations waited for");
    let values = random.many(rows * columns, |random| random.moderate(Dtype::F32));
    let bools = random.many(rows * columns, |random| Scalar::Bool(random.chance(2)));
    let mut found: Vec<Vec<(String, UsmArray)>> = Vec::new();
    for (threads, in_order) in THREADS.iter().flat_map(|&threads| [(threads, true), (threads, false)]) {
        let queue = Queue::new(&host(threads)?, QueueProperties { in_order, profiling: false })?;
        let place = |shape: &[usize], dtype, values: &[Scalar]| place(&queue, shape, dtype, values, Form::C);
        let (x, _) = place(&[rows, columns], Dtype::F32, &values)?;
        let (condition, _) = place(&[rows, columns], Dtype::Bool, &bools)?;
        let (row, _) = place(&[columns], Dtype::F32, &values[..columns])?;
        let (column, _) = place(&[rows, 1], Dtype::F32, &values[..rows])?;
        // Two rows or one, as long as several threads share, read in reverse and every second element.
        let (line, _) = place(&[rows * columns], Dtype::F32, &values)?;
        let half = (rows * columns / 2) as isize;
        let (back, seconds) = (line.slice(s![half - 1..; -1])?, line.slice(s![..; 2])?);
        let front = line.slice(s![..half])?;
        let pair = line.reshape(&[2, half])?;
        let operations: [(Op, &[ArrayOrScalar<'_>]); 10] = [
            (Op::Add, &[(&x).into(), (&x).into()]),
            (Op::Multiply, &[(&x).into(), Scalar::F32(0.3).into()]),
            (Op::Exp, &[(&x).into()]),
            (Op::Subtract, &[(&x).into(), (&row).into()]),
            (Op::Maximum, &[(&column).into(), (&x).into()]),
            (Op::Where, &[(&condition).into(), (&x).into(), (&column).into()]),
            (Op::Subtract, &[(&back).into(), (&front).into()]),
            (Op::Divide, &[(&seconds).into(), (&back).into()]),
            (Op::Multiply, &[(&seconds).into(), Scalar::F32(0.3).into()]),
            (Op::Add, &[(&pair).into(), (&back).into()]),
        ];
        for (number, (op, operands)) in operations.into_iter().enumerate() {
            let result = elementwise(op, operands)?;
            result.wait()?;
            if number == found.len() {
                found.push(Vec::new());
            }
            let name = if in_order { "in order" } else { "at once" };
            found[number].push((format!("{threads} threads, {name}"), result));
        }
    }
    for (number, results) in found.iter().enumerate() {
        equal(&format!("operation {number}"), results)?;
    }
    Ok(())
}
