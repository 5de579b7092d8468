//! One small operation again and again, and the time of each: what a counter of instructions, or a profiler, is given.
//!
//! `calls add 16 100000`, under `valgrind --tool=callgrind --toggle-collect='calls::work*'`.

use std::hint::black_box;
use std::time::Instant;

use clap::Parser;
use clap::builder::PossibleValuesParser;
use stridewise::{Array, Result};

type Work = fn(&Array<f32>, &Array<f32>, &mut Array<f32>) -> Result<()>;

/// By name; each waits for its result where it is not there at once.
const OPERATIONS: &[(&str, Work)] = &[
    ("add", |a, b, _| black_box(a.try_add(b)?).wait()),
    ("add-out", |a, b, out| a.add_into(b, out)?.wait()),
    ("add-unwaited", |a, b, _| a.try_add(b).map(|sum| drop(black_box(sum)))),
    ("chain", |a, b, _| black_box((a * a + b * b).sqrt() * b - a).wait()),
    ("where", |a, b, _| black_box(a.try_greater(b)?.try_where(a, b)?).wait()),
    ("slice", |a, _, _| a.slice(stridewise::s![1..-1]).map(|part| drop(black_box(part)))),
    ("strided", |a, b, _| {
        let part = |x: &Array<f32>| x.slice(stridewise::s![..;2]);
        black_box(part(a)?.try_add(&part(b)?)?).wait()
    }),
    ("sum", |a, _, _| black_box(a.sum()).map(drop)),
    ("argmax", |a, _, _| black_box(a.argmax()).map(drop)),
    ("concat", |a, b, _| black_box(Array::concat(&[a, b], 0)?).wait()),
    ("cast", |a, _, _| black_box(a.try_astype::<f64>()?).wait()),
];

#[derive(Parser)]
#[command(about = "Time one small operation, for counters of instructions")]
struct Options {
    /// The operation.
    #[arg(value_parser = PossibleValuesParser::new(OPERATIONS.iter().map(|(name, _)| *name)))]
    operation: String,
    /// Elements of each operand.
    #[arg(default_value_t = 16)]
    elements: usize,
    /// Calls.
    #[arg(default_value_t = 100_000)]
    calls: u32,
}

fn main() -> Result<()> {
    let options = Options::parse();
    let operation = OPERATIONS.iter().find(|(name, _)| *name == options.operation);
    let Some(&(name, work)) = operation else { return Ok(()) };
    let operand = |from| Array::<f32>::linspace(from, 1.0, options.elements);
    let (a, b, mut out) = (operand(-1.0)?, operand(0.5)?, operand(0.0)?);
    for _ in 0..options.calls / 10 {
        work(&a, &b, &mut out)?;
    }
    let started = Instant::now();
    repeat(work, &a, &b, &mut out, options.calls)?;
    let each = started.elapsed() / options.calls.max(1);
    println!("{name}, {} elements: {each:?} each", options.elements);
    Ok(())
}

/// Apart, for tools that look at one function.
#[inline(never)]
fn repeat(work: Work, a: &Array<f32>, b: &Array<f32>, out: &mut Array<f32>, calls: u32) -> Result<()> {
    (0..calls).try_for_each(|_| work(a, b, out))
}
