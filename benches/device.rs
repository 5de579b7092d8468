//! Kernels of a device with memory of its own, by the device's time stamps: each row as a fraction of a copy from device
//! memory to device memory, in the same run.

use std::collections::BTreeMap;
use std::time::Instant;

use stridewise::backend::QueueProperties;
use stridewise::{Device, Dtype, Event, Op, Queue, Reduction, Scalar, SliceItem, UsmArray, UsmKind, concat};

use crate::measure::Outcome;
use crate::row::Row;

/// Runs of each row; the median counts.
const ROUNDS: usize = 15;
/// Small additions in the stream that is timed.
const STREAM: usize = 20_000;

/// A row: its name, its layout, the bytes that it has to move, and what submits it.
struct Case<'a> {
    op: &'static str,
    dtype: Dtype,
    layout: &'static str,
    bytes: usize,
    submit: Box<dyn FnMut() -> Outcome<Event> + 'a>,
}

/// Runs the rows whose name contains `filter`, over `len` elements each.
pub(crate) fn run(device: &Device, filter: &str, len: usize) -> Outcome<Vec<Row>> {
    let queue = Queue::new(device, QueueProperties { profiling: true, in_order: false })?;
    let side = 1 << (len.ilog2() / 2);
    let random = |seed: u64, shape: &[usize]| -> Outcome<UsmArray> {
        // Numbers between 0.5 and 1.5, none of them equal for long.
        let len = shape.iter().product::<usize>();
        let range = UsmArray::arange(&queue, 0, i32::try_from(len)?, 1, Dtype::I32, UsmKind::Device)?;
        let mixed = range.binary(Op::Multiply, Scalar::I32(1_103_515_245 + 2 * seed as i32))?;
        let unit = mixed.astype(Dtype::F32)?.binary(Op::Multiply, Scalar::F32(0.5 / 2_147_483_648.0))?;
        let shape: Vec<isize> = shape.iter().map(|&extent| extent.cast_signed()).collect();
        let array = unit.binary(Op::Add, Scalar::F32(1.0))?.reshape(&shape)?;
        array.wait()?;
        Ok(array)
    };
    let n = side * side;
    let (a, b, c, d) = (random(1, &[n])?, random(2, &[n])?, random(3, &[n])?, random(4, &[n])?);
    let square = |x: &UsmArray| x.reshape(&[side.cast_signed(), side.cast_signed()]);
    let (a2, b2) = (square(&a)?, square(&b)?);
    let row = random(5, &[side])?;
    let quarters: Vec<UsmArray> = (0..4)
        .map(|i| a.slice(&[SliceItem::from((i * n / 4) as isize..((i + 1) * n / 4) as isize)]))
        .collect::<Result<_, _>>()?;
    let half = |x: &UsmArray| x.slice(&[SliceItem::Slice { start: None, stop: None, step: 2 }]);
    let (halves, others) = (half(&a)?, half(&b)?);
    let (source, target) = (a.usm_data()?, b.usm_data()?);
    let small = UsmArray::ones(&queue, &[16], Dtype::F32, UsmKind::Device)?;
    let out = UsmArray::empty(&queue, &[n], Dtype::F32, UsmKind::Device)?;
    let out2 = square(&out)?;
    let out_half = UsmArray::empty(&queue, &[n / 2], Dtype::F32, UsmKind::Device)?;
    let f = 4 * n;
    let write = |out: &UsmArray, op: Op, x: &UsmArray, y: Option<&UsmArray>| -> Outcome<Event> {
        let operands: Vec<_> = std::iter::once(x).chain(y).map(Into::into).collect();
        Ok(out.write_elementwise(op, &operands, &[])?)
    };
    let fold = |x: &UsmArray, kind: Reduction, axes: Option<&[isize]>| -> Outcome<Event> {
        Ok(x.reduce(kind, axes, false)?.event()?)
    };
    let chain = || -> Outcome<Event> {
        let sum = a.binary(Op::Multiply, &a)?.binary(Op::Add, &b.binary(Op::Multiply, &b)?)?;
        let result = {
            let product = sum.unary(Op::Sqrt)?.binary(Op::Multiply, &c)?;
            drop(sum);
            product.binary(Op::Subtract, &d)?
        };
        // Nothing on the way is held any more.
        Ok(result.event()?)
    };
    let case = |op, layout, bytes, submit| Case { op, dtype: Dtype::F32, layout, bytes, submit };
    let mut cases: Vec<Case<'_>> = vec![
        case(
            "copy",
            "device to device",
            2 * f,
            Box::new(|| Ok(queue.memcpy((&target, 0), (&source, 0), f, &[])?)),
        ),
        case("add", "contiguous", 3 * f, Box::new(|| write(&out, Op::Add, &a, Some(&b)))),
        case("exp", "contiguous", 2 * f, Box::new(|| write(&out, Op::Exp, &a, None))),
        case("sum", "all", f, Box::new(|| fold(&a, Reduction::Sum, None))),
        case("sum", "axis 0", f, Box::new(|| fold(&a2, Reduction::Sum, Some(&[0])))),
        case("sum", "axis 1", f, Box::new(|| fold(&a2, Reduction::Sum, Some(&[1])))),
        case("argmax", "all", f, Box::new(|| fold(&a, Reduction::ArgMax, None))),
        case(
            "concat",
            "of four",
            2 * f,
            Box::new(|| Ok(concat(&quarters.iter().collect::<Vec<_>>(), Some(0))?.event()?)),
        ),
        case("add", "row broadcast", 2 * f, Box::new(|| write(&out2, Op::Add, &a2, Some(&row)))),
        case("add", "transposed", 3 * f, Box::new(|| write(&out2, Op::Add, &a2.t(), Some(&b2)))),
        // Whole cache lines are read, of which half is used.
        case(
            "add",
            "strided by two",
            2 * f + f / 2,
            Box::new(|| write(&out_half, Op::Add, &halves, Some(&others))),
        ),
        case("sqrt(a*a+b*b)*c-d", "one kernel", 5 * f, Box::new(chain)),
        case(
            "cumulative_sum",
            "all",
            2 * f,
            Box::new(|| Ok(a.cumulative(stridewise::Scan::Sum, None, None, false)?.event()?)),
        ),
    ];
    cases.retain(|case| case.op == "copy" || format!("{} {}", case.op, case.layout).contains(filter));
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); cases.len()];
    for round in 0..=ROUNDS {
        // Interleaved, so that a drift of the clock meets all alike.
        for (case, times) in cases.iter_mut().zip(&mut times) {
            let event = (case.submit)()?;
            event.wait()?;
            // The first round compiles kernels, and leaves a short last one over before its event can be asked for.
            if round > 0 {
                let profile = event.profiling_info()?;
                times.push((profile.ended - profile.started).as_secs_f64());
            }
        }
    }
    let median = |times: &mut Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    let seconds: Vec<f64> = times.iter_mut().map(median).collect();
    let limit = cases[0].bytes as f64 / seconds[0] / 1e9;
    let name = device.filter_string();
    let report = |case: &Case<'_>, seconds: f64| {
        let gbs = case.bytes as f64 / seconds / 1e9;
        Row {
            op: case.op.to_owned(),
            dtype: case.dtype.to_string(),
            n,
            layout: case.layout.to_owned(),
            device: name.clone(),
            threads: device.info().limits.compute_units,
            seconds,
            gbs,
            limit_gbs: limit,
            ratio: gbs / limit,
            operations: 0,
            peers: BTreeMap::new(),
        }
    };
    let rows: Vec<Row> = cases.iter().zip(&seconds).map(|(case, &seconds)| report(case, seconds)).collect();
    for row in &rows {
        println!("{row}");
    }
    drop(cases);
    stream(device, &small)?;
    Ok(rows)
}

/// The host's time for each of many small additions, one after the other, without waiting in between.
fn stream(device: &Device, small: &UsmArray) -> Outcome<()> {
    let queue = device.queue()?;
    let small = small.to_queue(&queue)?;
    let pass = |count: usize| -> Outcome<f64> {
        let begin = Instant::now();
        for _ in 0..count {
            small.binary(Op::Add, &small)?.event()?;
        }
        let submitted = begin.elapsed().as_secs_f64();
        queue.wait()?;
        println!(
            "{count} additions of 16 elements: {:.2} µs each to submit, {:.2} µs each until all are done",
            submitted / count as f64 * 1e6,
            begin.elapsed().as_secs_f64() / count as f64 * 1e6
        );
        Ok(submitted)
    };
    pass(STREAM / 10)?;
    pass(STREAM)?;
    Ok(())
}
