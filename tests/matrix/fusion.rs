//! Recorded work against work forced step by step: equal bits, whatever is held, dropped, forced or overwritten.

use std::time::{Duration, Instant};

use stridewise::backend::QueueProperties;
use stridewise::{
    ArrayOrScalar, Device, Dtype, Error, Op, Order, Queue, Reduction, Scalar, UsmArray, elementwise,
};

use crate::cell::{Case, Check, Stop, need, wrong};
use crate::forms::{Form, place, read};
use crate::reductions::{KINDS, sums};
use crate::values::{Random, same};

/// Trees per test and device.
const TREES: u64 = 60;
/// Dtypes of the leaves.
const LEAVES: [Dtype; 6] = [Dtype::F32, Dtype::F32, Dtype::F64, Dtype::I32, Dtype::U8, Dtype::F16];

pub(crate) fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = (0..6)
        .map(|block| {
            Case::new(format!("fusion::trees/{block}"), move |device| {
                (0..TREES).try_for_each(|tree| grow(device, block * TREES + tree))
            })
        })
        .collect();
    cases.push(Case::new("fusion::long_chain/f32", long_chain));
    cases.push(Case::new("fusion::many_leaves/f32", many_leaves));
    cases.push(Case::new("fusion::no_contraction/f32", no_contraction));
    cases.push(Case::new("fusion::overwritten_intermediate/f32", overwritten_intermediate));
    cases.push(Case::new("fusion::several_reductions/i32", several_reductions));
    cases.push(Case::new("fusion::reduction_of_another_array/f32", reduction_of_another_array));
    let shapes: [&'static [usize]; 7] =
        [&[1000, 6], &[6, 5], &[61, 67], &[150, 130], &[40, 512], &[5, 1, 7000], &[7, 9, 300]];
    cases.extend(shapes.into_iter().flat_map(|shape| {
        [Dtype::F32, Dtype::F64, Dtype::F16].map(|dtype| {
            let name = format!("fusion::sums_of_products/{shape:?}/{dtype}");
            Case::new(name, move |device| sums_of_products(device, shape, dtype))
        })
    }));
    let shapes: [[usize; 3]; 3] = [[1100, 1030, 1], [9, 120, 1050], [1050, 1050, 1]];
    cases.extend(shapes.into_iter().enumerate().map(|(number, shape)| {
        Case::new(format!("fusion::stages/{number}/f32"), move |device| stages(device, shape))
    }));
    cases
}

/// An array twice: recorded as it comes, and forced after each step.
#[derive(Clone)]
struct Twin {
    lazy: UsmArray,
    forced: UsmArray,
    text: String,
}

/// Whether the device adds up in an order that depends on how elements lie or would lie, not on how they are computed.
fn follows_memory(device: &Device) -> Check {
    match device.to_string().starts_with("host") {
        true => Ok(()),
        false => Err(Stop::Unsupported(format!("{device} adds up in an order that depends on the kernel"))),
    }
}

fn force(array: UsmArray) -> Check<UsmArray> {
    array.wait()?;
    Ok(array)
}

fn compare(seed: u64, twin: &Twin) -> Check {
    let (lazy, forced) = (read(&twin.lazy)?, read(&twin.forced)?);
    if twin.lazy.dtype() != twin.forced.dtype() || twin.lazy.shape() != twin.forced.shape() {
        wrong!("seed {seed}: {}: {:?}, step by step {:?}", twin.text, twin.lazy, twin.forced);
    }
    match (0..lazy.len()).find(|&i| !same(lazy[i], forced[i])) {
        None => Ok(()),
        Some(i) => wrong!(
            "seed {seed}: {}: {:?}: index {:?}: got {:?}, step by step {:?}",
            twin.text,
            twin.lazy,
            crate::forms::multi_index(twin.lazy.shape(), i),
            lazy[i],
            forced[i]
        ),
    }
}

fn grow(device: &Device, seed: u64) -> Check {
    let queue = device.queue()?;
    let mut random = Random::new(seed);
    // Large enough to be recorded, or small enough to run at once.
    let shape = *random.pick(&[[47, 45], [47, 45], [7, 300], [5, 6]]);
    let mut pool: Vec<Twin> = Vec::new();
    for number in 0..4 {
        let dtype = *random.pick(&LEAVES);
        if need(device, dtype).is_err() {
            continue;
        }
        let values = random.many(shape[0] * shape[1], |r| r.any(dtype));
        let form = *random.pick(&Form::ALL);
        let lazy = place(&queue, &shape, dtype, &values, form)?.0.broadcast_to(&shape)?;
        let forced = place(&queue, &shape, dtype, &values, form)?.0.broadcast_to(&shape)?;
        pool.push(Twin { lazy, forced, text: format!("leaf{number}:{dtype}:{form:?}") });
    }
    let mut history = Vec::new();
    let outcome = live(&queue, seed, &mut random, &mut pool, &shape, &mut history);
    match outcome.and_then(|()| pool.iter().rev().try_for_each(|twin| compare(seed, twin))) {
        Err(Stop::Wrong(text)) => wrong!("{text}\nafter:\n  {}", history.join("\n  ")),
        other => other,
    }
}

/// Random steps, between which results are asked for, let go of, reduced and overwritten.
fn live(
    queue: &Queue,
    seed: u64,
    random: &mut Random,
    pool: &mut Vec<Twin>,
    shape: &[usize],
    history: &mut Vec<String>,
) -> Check {
    for _ in 0..random.below(28) + 2 {
        let before = pool.len();
        step(random, pool, shape)?;
        history.extend(pool[before..].iter().map(|twin| twin.text.clone()));
        let place = random.below(pool.len());
        let name = pool[place].text.clone();
        match random.below(12) {
            0 => {
                history.push(format!("wait for {name}"));
                pool[place].lazy.wait()?;
            }
            1 => {
                history.push(format!("event of {name}"));
                drop(pool[place].lazy.event()?);
            }
            2 if pool.len() > 3 => {
                history.push(format!("drop {name}"));
                drop(pool.swap_remove(place));
            }
            3 => {
                history.push("reduce".into());
                reduce(seed, random, pool)?;
            }
            4 => {
                history.push("flush".into());
                queue.flush()?;
            }
            5 => {
                let other = random.below(pool.len());
                history.push(format!("{name} = maximum({}, itself)", pool[other].text));
                overwrite(&pool[place], &pool[other])?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Adds the result of one operation on arrays of the pool.
fn step(random: &mut Random, pool: &mut Vec<Twin>, shape: &[usize]) -> Check {
    let first = random.pick(pool).clone();
    let second = random.pick(pool).clone();
    let third = random.pick(pool).clone();
    if random.chance(8) {
        // Views and conversions of what may be pending.
        let change = |array: &UsmArray, choice: usize| match choice {
            0 => array.flip(None),
            1 => array.flip(Some(&[-1])),
            2 => array.t().t().broadcast_to(shape),
            3 => array.copy_in(Order::F),
            _ => array.astype(Dtype::F32),
        };
        let choice = random.below(5);
        let text = format!("view{choice}({})", first.text);
        let twin =
            Twin { lazy: change(&first.lazy, choice)?, forced: force(change(&first.forced, choice)?)?, text };
        pool.push(twin);
        return Ok(());
    }
    let op = *random.pick(Op::ALL);
    // Conversions are among the views; the sign of a NaN is not promised.
    if matches!(op, Op::Cast | Op::SignBit | Op::Copysign) {
        return Ok(());
    }
    let scalar = random.moderate(Dtype::F32);
    let with_scalar = op.arity() == 2 && random.chance(3);
    let twins = [&first, &second, &third];
    let apply = |pick: fn(&Twin) -> &UsmArray| {
        let mut arrays: Vec<ArrayOrScalar<'_>> =
            twins.iter().take(op.arity()).map(|&t| pick(t).into()).collect();
        if with_scalar {
            arrays[1] = scalar.into();
        }
        elementwise(op, &arrays)
    };
    let (lazy, forced) = (apply(|t| &t.lazy), apply(|t| &t.forced));
    match (lazy, forced) {
        (Ok(lazy), Ok(forced)) => {
            let names: Vec<&str> = twins.iter().take(op.arity()).map(|t| t.text.as_str()).collect();
            let mut text =
                format!("{}({}{})", op.name(), names.join(", "), if with_scalar { ", scalar" } else { "" });
            if text.len() > 400 {
                text = format!("{}(…)", op.name());
            }
            if lazy.shape() == shape {
                pool.push(Twin { lazy, forced: force(forced)?, text });
            }
            Ok(())
        }
        // The operation does not take the dtypes; both must say so.
        (Err(_), Err(_)) => Ok(()),
        (lazy, forced) => wrong!("{}: recorded {lazy:?}, step by step {forced:?}", op.name()),
    }
}

/// An in-place write below recorded readers: they must see what was there before.
fn overwrite(twin: &Twin, other: &Twin) -> Check {
    if twin.lazy.shape() != other.lazy.shape() {
        return Ok(());
    }
    let write =
        |out: &UsmArray, x: &UsmArray| out.write_elementwise(Op::Maximum, &[x.into(), out.into()], &[]);
    match (write(&twin.lazy, &other.lazy), write(&twin.forced, &other.forced)) {
        (Ok(_), Ok(event)) => Ok(event.wait()?),
        // A repeated leaf cannot be written, nor can a poorer dtype; both must say so.
        (Err(_), Err(_)) => Ok(()),
        (lazy, forced) => wrong!("in-place write: recorded {lazy:?}, step by step {forced:?}"),
    }
}

/// A reduction of what may be pending.
fn reduce(seed: u64, random: &mut Random, pool: &[Twin]) -> Check {
    let twin = random.pick(pool);
    let kind = *random.pick(&KINDS);
    let axes: Option<&[isize]> = *random.pick(&[None, Some(&[0][..]), Some(&[1][..])]);
    let apply = |array: &UsmArray| array.reduce(kind, axes, false);
    let (lazy, forced) = match (apply(&twin.lazy), apply(&twin.forced)) {
        (Ok(lazy), Ok(forced)) => (lazy, forced),
        (Err(_), Err(_)) => return Ok(()),
        (lazy, forced) => {
            wrong!("{} of {}: recorded {lazy:?}, step by step {forced:?}", kind.name(), twin.text)
        }
    };
    if sums(kind) && lazy.dtype().kind().is_inexact() && follows_memory(lazy.device()).is_err() {
        return Ok(());
    }
    compare(seed, &Twin { lazy, forced, text: format!("{} over {axes:?} of {}", kind.name(), twin.text) })
}

fn ramp(queue: &Queue, len: usize) -> Check<UsmArray> {
    let values: Vec<Scalar> = (0..len).map(|i| Scalar::F32((i % 1000) as f32 * 0.01 - 4.0)).collect();
    Ok(place(queue, &[len], Dtype::F32, &values, Form::C)?.0)
}

/// Reductions of products, of operands in every pair of layouts, add up as those of the stored products do.
fn sums_of_products(device: &Device, shape: &[usize], dtype: Dtype) -> Check {
    need(device, dtype)?;
    follows_memory(device)?;
    let queue = device.queue()?;
    let mut random = Random::named(&format!("{shape:?}"));
    let [x, y] = [(); 2].map(|()| random.many(shape.iter().product(), |r| r.moderate(dtype)));
    for (first, second) in Form::ALL.into_iter().flat_map(|a| Form::ALL.map(|b| (a, b))) {
        let x = place(&queue, shape, dtype, &x, first)?.0.broadcast_to(shape)?;
        let y = place(&queue, shape, dtype, &y, second)?.0.broadcast_to(shape)?;
        let stored = force(x.binary(Op::Multiply, &y)?)?;
        let all: [Option<&[isize]>; 5] = [None, Some(&[0]), Some(&[1]), Some(&[-1]), Some(&[0, -1])];
        for axes in all {
            let product = || x.binary(Op::Multiply, &y);
            let text = format!("over {axes:?} of {first:?} * {second:?}");
            let lazy = product()?.reduce(Reduction::Sum, axes, false)?;
            let forced = stored.reduce(Reduction::Sum, axes, false)?;
            compare(0, &Twin { lazy, forced, text: format!("sum {text}") })?;
            let narrow = |array: &UsmArray| array.reduce_as(Reduction::Sum, axes, false, Some(Dtype::F16));
            if device.dtype_support().supports(Dtype::F16) {
                let (lazy, forced) = (narrow(&product()?)?, narrow(&stored)?);
                compare(0, &Twin { lazy, forced, text: format!("float16 sum {text}") })?;
            }
            let (lazy, forced) = (product()?.var(axes, false, 0.0)?, stored.var(axes, false, 0.0)?);
            compare(0, &Twin { lazy, forced, text: format!("var {text}") })?;
        }
    }
    Ok(())
}

/// More steps than one program holds.
fn long_chain(device: &Device) -> Check {
    let queue = device.queue()?;
    let start = ramp(&queue, 5000)?;
    let (mut lazy, mut forced) = (start.clone(), start.clone());
    for i in 0..100 {
        let op = if i % 3 == 0 { Op::Multiply } else { Op::Subtract };
        lazy = lazy.binary(op, Scalar::F32(1.0 + i as f32 / 50.0))?.binary(Op::Maximum, &start)?;
        forced = force(forced.binary(op, Scalar::F32(1.0 + i as f32 / 50.0))?)?;
        forced = force(forced.binary(Op::Maximum, &start)?)?;
    }
    compare(0, &Twin { lazy, forced, text: "chain of 200 steps".into() })
}

/// More arrays than one program reads, all intermediates held.
fn many_leaves(device: &Device) -> Check {
    let queue = device.queue()?;
    let leaves: Vec<UsmArray> = (0..40)
        .map(|i| ramp(&queue, 5000)?.binary(Op::Add, Scalar::F32(i as f32)).map_err(Into::into))
        .collect::<Check<_>>()?;
    let mut held = vec![leaves[0].clone()];
    let mut forced = force(ramp(&queue, 5000)?.binary(Op::Add, Scalar::F32(0.0))?)?;
    for (i, leaf) in leaves.iter().enumerate().skip(1) {
        let last = held[held.len() - 1].clone();
        held.push(last.binary(Op::Add, leaf)?);
        let other = force(ramp(&queue, 5000)?.binary(Op::Add, Scalar::F32(i as f32))?)?;
        forced = force(forced.binary(Op::Add, &other)?)?;
    }
    let lazy = held[held.len() - 1].clone();
    compare(0, &Twin { lazy, forced, text: "sum of 40 arrays".into() })
}

/// a·b − c where the exact product rounds to c: contracted into one rounding it would not be 0.
fn no_contraction(device: &Device) -> Check {
    let queue = device.queue()?;
    let a: Vec<f32> = (0..5000).map(|i| 1.0 + (i + 1) as f32 * f32::EPSILON).collect();
    let product: Vec<Scalar> = a.iter().map(|v| Scalar::F32(v * v)).collect();
    let values: Vec<Scalar> = a.iter().map(|&v| Scalar::F32(v)).collect();
    let (x, _) = place(&queue, &[5000], Dtype::F32, &values, Form::C)?;
    let (c, _) = place(&queue, &[5000], Dtype::F32, &product, Form::C)?;
    let difference = x.binary(Op::Multiply, &x)?.binary(Op::Subtract, &c)?;
    crate::forms::expect(&"a·a − round(a·a)", &difference, &vec![Scalar::F32(0.0); 5000])
}

/// y is recorded on x while x is recorded itself; x is forced and overwritten; y is of the old x.
fn overwritten_intermediate(device: &Device) -> Check {
    let queue = device.queue()?;
    let x = ramp(&queue, 5000)?.binary(Op::Add, Scalar::F32(1.0))?;
    let y = x.unary(Op::Negative)?;
    let z = x.flip(None)?.unary(Op::Negative)?;
    let old = read(&x)?;
    x.assign(Scalar::F32(9.0))?;
    let negated: Vec<Scalar> = old.iter().map(|v| Scalar::F64(-v.to_f64()).cast(Dtype::F32)).collect();
    crate::forms::expect(&"−x, x overwritten", &y, &negated)?;
    let reversed: Vec<Scalar> = negated.into_iter().rev().collect();
    crate::forms::expect(&"−reversed x, x overwritten", &z, &reversed)
}

/// Reductions of an array that is large enough for them to be submitted together, which they are when one is asked for.
fn several_reductions(device: &Device) -> Check {
    const SHAPE: [usize; 2] = [512, 513];
    // Other tests flush the device's own queue.
    let queue = Queue::new(device, QueueProperties::default())?;
    let number = |i: usize, j: usize| ((i * 7919 + j * 104_729) % 1009) as i64 - 500;
    let columns = || (0..SHAPE[1]).map(|j| (0..SHAPE[0]).map(move |i| number(i, j)));
    let values: Vec<Scalar> =
        (0..SHAPE[0] * SHAPE[1]).map(|k| Scalar::I32(number(k / SHAPE[1], k % SHAPE[1]) as i32)).collect();
    let (x, _) = place(&queue, &SHAPE, Dtype::I32, &values, Form::C)?;
    let results =
        [Reduction::Max, Reduction::ArgMin, Reduction::Min].map(|kind| x.reduce(kind, Some(&[0]), false));
    let [max, first, min] = results;
    let (max, first, min) = (max?, first?, min?);
    if !(max.is_pending() && first.is_pending() && min.is_pending()) {
        wrong!("a reduction of a large array was submitted before its result was needed");
    }
    let narrow = |values: Vec<i64>| values.into_iter().map(|v| Scalar::I32(v as i32)).collect::<Vec<_>>();
    let least: Vec<i64> = columns().map(|column| column.min().unwrap_or(0)).collect();
    crate::forms::expect(&"min over axis 0", &min, &narrow(least.clone()))?;
    if max.is_pending() || first.is_pending() {
        wrong!("reductions of one array were not submitted together");
    }
    let largest = columns().map(|column| column.max().unwrap_or(0)).collect();
    crate::forms::expect(&"max over axis 0", &max, &narrow(largest))?;
    let at = |(mut column, &least): (_, &i64)| {
        let place = Iterator::position(&mut column, |v: i64| v == least).unwrap_or(usize::MAX);
        Scalar::I64(place as i64)
    };
    let places: Vec<Scalar> = columns().zip(&least).map(at).collect();
    crate::forms::expect(&"argmin over axis 0", &first, &places)
}

/// Expressions of an array and what its rows come to, which a device may compute some rows at a time; and of what no row has
/// alone: columns, and rows that come to others.
fn stages(device: &Device, mut shape: [usize; 3]) -> Check {
    if device.capabilities().most_stages == 1 {
        // Of a size for reductions to be recorded, as they are there.
        shape = [shape[0].min(520), shape[1].min(520), 1];
    }
    let queue = Queue::new(device, QueueProperties::default())?;
    let len = shape.iter().product();
    let x = ramp(&queue, len)?.reshape(&shape.map(usize::cast_signed))?;
    let y = ramp(&queue, len + 7)?.slice(&[(7..).into()])?.reshape(&shape.map(usize::cast_signed))?;
    type Step<'a> = &'a dyn Fn(UsmArray) -> Check<UsmArray>;
    let results = |step: Step<'_>| -> Check<Vec<(&'static str, UsmArray)>> {
        let folded = |x: &UsmArray, kind, axes: &[isize]| step(x.reduce(kind, Some(axes), true)?);
        let minus = |x: &UsmArray, y: &UsmArray| step(x.binary(Op::Subtract, y)?);
        let mut all = Vec::new();
        for (name, axes) in [("axis 0", &[0][..]), ("axis 1", &[1]), ("axes 1 and 2", &[1, 2])] {
            let mean = folded(&x, Reduction::Mean, axes)?;
            let spread = step(x.std(Some(axes), true, 0.0)?)?;
            let (apart, most) = (folded(&y, Reduction::Max, axes)?, folded(&x, Reduction::Max, axes)?);
            all.push((name, step(minus(&x, &mean)?.binary(Op::Divide, &spread)?)?));
            // Of another array; folded again, in any order; of the reduction alone; held.
            all.push((name, minus(&x, &apart)?));
            all.push((name, folded(&minus(&x, &most)?, Reduction::Min, axes)?));
            all.push((name, step(folded(&x, Reduction::Min, axes)?.unary(Op::Negative)?)?));
            // Folded, and made something of with what that comes to: three stages, with nothing, something below the second
            // fold, or what it folds held.
            let down = step(minus(&x, &most)?.unary(Op::Negative)?)?;
            all.push((name, minus(&down, &folded(&down, Reduction::Max, axes)?)?));
            let squares = |x: &UsmArray| step(x.binary(Op::Multiply, x)?);
            let far = folded(&squares(&down)?, Reduction::Max, axes)?;
            all.push((name, minus(&down, &far)?));
            let (held, up) = (squares(&down)?, minus(&down, &mean)?);
            all.push((name, minus(&down, &folded(&held, Reduction::Max, axes)?)?));
            all.push((name, minus(&up, &folded(&up, Reduction::Min, axes)?)?));
            // Read alone, and folded again.
            all.push((
                name,
                folded(&minus(&up, &folded(&up, Reduction::Max, axes)?)?, Reduction::Min, axes)?,
            ));
            all.extend([held, up, far, mean].map(|array| (name, array)));
        }
        let mean = folded(&x, Reduction::Mean, &[1, 2])?;
        all.push(("the means of other rows", minus(&x, &mean.flip(Some(&[0]))?)?));
        let mean = folded(&x, Reduction::Mean, &[1, 2])?;
        let turned = mean.swap_axes(0, 1)?;
        if shape[0] == shape[1] {
            all.push(("the means of all rows", minus(&x, &turned)?));
        }
        let mean = folded(&x, Reduction::Mean, &[1, 2])?;
        all.push(("one mean for all", minus(&x, &mean.slice(&[(3..4).into()])?)?));
        let mean = folded(&x, Reduction::Mean, &[1, 2])?;
        all.push(("flipped", minus(&x.flip(Some(&[0]))?, &mean.flip(Some(&[0]))?)?));
        let written = x.copy()?;
        written.wait()?;
        let mean = folded(&written, Reduction::Mean, &[1, 2])?;
        written.write_elementwise(Op::Subtract, &[(&written).into(), (&mean).into()], &[])?;
        all.push(("in place", written));
        Ok(all)
    };
    let down = x.binary(Op::Subtract, &x.reduce(Reduction::Max, Some(&[1]), true)?)?;
    let least = down.reduce(Reduction::Min, Some(&[1]), true)?;
    if device.capabilities().most_stages > 2 && !least.is_pending() {
        wrong!("a reduction that a third stage could read was submitted before its result was needed");
    }
    let (lazy, forced) = (results(&|array| Ok(array))?, results(&force)?);
    lazy.into_iter().zip(forced).enumerate().try_for_each(|(number, ((name, lazy), (_, forced)))| {
        compare(number as u64, &Twin { lazy, forced, text: format!("stages, {name}") })
    })
}

/// A reduction depends on nothing but its array: not on what else is read by an expression that it is submitted for.
fn reduction_of_another_array(device: &Device) -> Check {
    // So much that reductions are recorded.
    let len = if device.capabilities().most_stages > 1 { 700_000 } else { 300_000 };
    let queue = Queue::new(device, QueueProperties::default())?;
    let x = ramp(&queue, len)?;
    for gate_fails in [false, true] {
        let y = ramp(&queue, len)?.copy()?;
        y.wait()?;
        let (open, gate) = std::sync::mpsc::channel::<()>();
        let task = move || match gate.recv() {
            Ok(()) => Ok(()),
            Err(_) => Err(Error::task("gate", "closed for good", "an open one", "open it")),
        };
        let opened = queue.submit_host_task(task, &[])?;
        let written = y.write_elementwise(Op::Negative, &[(&y).into()], &[opened])?;
        let (least, most) = (x.reduce(Reduction::Min, None, false)?, x.reduce(Reduction::Max, None, false)?);
        if !(least.is_pending() && most.is_pending()) {
            wrong!("a reduction of a large array was submitted before its result was needed");
        }
        let difference = y.binary(Op::Subtract, &least)?;
        let event = difference.event()?;
        // While the gate is closed.
        let deadline = Instant::now() + Duration::from_secs(30);
        let found = least.event()?;
        while !found.status().is_terminal() && Instant::now() < deadline {
            queue.flush()?;
            std::thread::yield_now();
        }
        let early = found.status().is_terminal();
        if gate_fails {
            drop(open)
        } else {
            open.send(()).unwrap_or_default()
        }
        if !early {
            wrong!("a reduction waits for what another operand of an expression waits for");
        }
        crate::forms::expect(&"least", &least, &[Scalar::F32(-4.0)])?;
        crate::forms::expect(&"most", &most, &[Scalar::F32(999.0 * 0.01 - 4.0)])?;
        if gate_fails != (written.wait().is_err() && event.wait().is_err()) {
            wrong!("an expression does not fail with its operand, or fails without");
        }
    }
    Ok(())
}
