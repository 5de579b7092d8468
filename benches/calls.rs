//! One small operation again and again: what a profiler is given, and a counter of instructions.

use std::hint::black_box;
use std::process::Command;
use std::sync::Barrier;
use std::time::Instant;

use stridewise::{Array, IndexMode, Result, Side, s};

use crate::measure::Outcome;

/// Elements of each operand, unless others are asked for.
pub(crate) const ELEMENTS: usize = 16;
/// Turns of one caller and of several.
const ROUNDS: usize = 15;
/// Calls that are counted.
const COUNTED: u32 = 1000;

/// The operands.
struct Given {
    a: Array<f32>,
    b: Array<f32>,
    /// Of as many elements or fewer.
    square: Array<f32>,
    /// The first of the square.
    row: Array<f32>,
    /// True for every other element.
    mask: Array<bool>,
    /// All of them, from the last to the first.
    places: Array<i64>,
    /// A few of the elements, sorted.
    few: Array<f32>,
}

impl Given {
    fn new(elements: usize) -> Result<Self> {
        let operand = |from| Array::<f32>::linspace(from, 1.0, elements);
        let (a, b) = (operand(-1.0)?, operand(0.5)?);
        let side = elements.isqrt();
        let square = a.slice(s![..side * side])?.reshape([side, side])?;
        let row = square.slice(s![0, ..])?;
        let mask: Vec<bool> = (0..elements).map(|i| i % 2 == 0).collect();
        let places: Vec<i64> = (0..elements as i64).rev().collect();
        let (mask, places) = (Array::from_vec([elements], mask)?, Array::from_vec([elements], places)?);
        let few = a.slice(s![..elements.min(8)])?.copy()?;
        [&a, &b, &few].into_iter().try_for_each(Array::wait)?;
        Ok(Self { a, b, square, row, mask, places, few })
    }
}

type Work = fn(&Given, &mut Array<f32>) -> Result<()>;

/// By name; each waits for its result.
const OPERATIONS: &[(&str, Work)] = &[
    ("add", |Given { a, b, .. }, _| black_box(a.try_add(b)?).wait()),
    ("add-out", |Given { a, b, .. }, out| a.add_into(b, out)?.wait()),
    ("chain", |Given { a, b, .. }, _| {
        // What an expression holds on the way lives to its statement's end, and would be written by a wait there.
        let result = (a * a + b * b).sqrt() * b - a;
        black_box(result).wait()
    }),
    ("where", |Given { a, b, .. }, _| {
        let result = a.try_greater(b)?.try_where(a, b)?;
        black_box(result).wait()
    }),
    ("slice", |Given { a, .. }, _| a.slice(s![1..]).map(|part| drop(black_box(part)))),
    ("strided", |Given { a, b, .. }, _| {
        let part = |x: &Array<f32>| x.slice(s![..;2]);
        black_box(part(a)?.try_add(&part(b)?)?).wait()
    }),
    ("broadcast", |Given { square, row, .. }, _| black_box(square.try_add(row)?).wait()),
    ("transposed", |Given { square, .. }, _| black_box(square.try_add(&square.t())?).wait()),
    ("sum", |Given { a, .. }, _| black_box(a.sum()).map(drop)),
    ("mean", |Given { a, .. }, _| black_box(a.mean()).map(drop)),
    ("sum-strided", |Given { a, .. }, _| black_box(a.slice(s![..;2])?.sum()).map(drop)),
    ("sum-axis-0", |Given { square, .. }, _| black_box(square.sum_axis(0)?).wait()),
    ("sum-axis-1", |Given { square, .. }, _| black_box(square.sum_axis(1)?).wait()),
    ("var-axis-1", |Given { square, .. }, _| black_box(square.var_axis(1, 0.0)?).wait()),
    ("centre", |Given { square, .. }, _| {
        let result = square - &square.mean_axis_keepdims(1)?;
        black_box(result).wait()
    }),
    ("normalise", |Given { square, .. }, _| {
        let (mean, spread) = (square.mean_axis_keepdims(1)?, square.std_axis_keepdims(1, 0.0)?);
        let result = (square - &mean) / &spread;
        black_box(result).wait()
    }),
    ("vecdot", |Given { a, b, .. }, _| black_box(a.try_vecdot(b, -1)?).wait()),
    ("argmax", |Given { a, .. }, _| black_box(a.argmax()).map(drop)),
    ("copy-out", |Given { a, .. }, out| black_box(out.assign(a)?).wait()),
    ("concat", |Given { a, b, .. }, _| black_box(Array::concat(&[a, b], 0)?).wait()),
    ("take", |Given { a, places, .. }, _| black_box(a.take(places, Some(0), IndexMode::Check)?).wait()),
    ("masked", |Given { a, mask, .. }, _| black_box(a.masked(mask)?).wait()),
    ("nonzero", |Given { mask, .. }, _| {
        mask.nonzero()?.iter().try_for_each(|places| black_box(places).wait())
    }),
    ("sort", |Given { a, .. }, _| black_box(a.sort(0, true)?).wait()),
    ("searchsorted", |Given { a, b, .. }, _| black_box(a.searchsorted(b, Side::Left)?).wait()),
    ("put", |Given { a, places, .. }, out| out.put(places, a, Some(0), IndexMode::Check)?.wait()),
    ("assign-masked", |Given { few, mask, .. }, out| {
        let half = few.slice(s![..1])?;
        out.assign_masked(mask, &half)?.wait()
    }),
    ("argsort", |Given { a, .. }, _| black_box(a.argsort(0, true)?).wait()),
    ("unique", |Given { a, .. }, _| black_box(a.unique_values()?).wait()),
    ("isin", |Given { a, few, .. }, _| black_box(a.isin(few, false)?).wait()),
    ("cumulative-sum", |Given { a, .. }, _| black_box(a.cumulative_sum(0)?).wait()),
    ("top-k", |Given { a, .. }, _| {
        let (values, places) = a.top_k(4, None, true)?;
        black_box(values).wait()?;
        black_box(places).wait()
    }),
    ("repeat", |Given { a, .. }, _| black_box(a.repeat(3, 0)?).wait()),
    ("roll", |Given { a, .. }, _| black_box(a.roll(3, 0)?).wait()),
    ("histogram", |Given { a, .. }, _| {
        let (counts, edges) = a.histogram(10, None)?;
        black_box(edges).wait()?;
        black_box(counts).wait()
    }),
    ("median", |Given { a, .. }, _| black_box(a.median()).map(drop)),
    ("matmul", |Given { square, .. }, _| black_box(square.try_matmul(square)?).wait()),
    ("matvec", |Given { a, square, .. }, _| {
        let row = a.slice(s![..square.shape()[0]])?;
        black_box(row.try_matmul(square)?).wait()
    }),
    ("cast", |Given { a, .. }, _| black_box(a.try_astype::<f64>()?).wait()),
];

/// The names of the operations.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    OPERATIONS.iter().map(|(name, _)| *name)
}

/// The operation of a name.
fn operation(name: &str) -> Outcome<Work> {
    let found = OPERATIONS.iter().find(|(known, _)| *known == name);
    Ok(found.map(|&(_, work)| work).ok_or("no such operation")?)
}

/// Calls an operation, and prints the time of each call.
pub(crate) fn run(name: &str, elements: usize, calls: u32) -> Outcome<()> {
    let work = operation(name)?;
    let given = Given::new(elements)?;
    let mut out = given.a.copy()?;
    for _ in 0..calls / 10 {
        work(&given, &mut out)?;
    }
    let started = Instant::now();
    repeat(work, &given, &mut out, calls)?;
    let each = started.elapsed() / calls.max(1);
    println!("{name}, {elements} elements: {each:?} each");
    Ok(())
}

/// Calls an operation from several threads at once, each on arrays of its own and all on the default queue, and from one of
/// them alone in turns, and prints how many times as much is done by all of them.
pub(crate) fn from_threads(name: &str, elements: usize, calls: u32, callers: usize) -> Outcome<()> {
    let work = operation(name)?;
    let took = |callers: usize| -> Outcome<f64> {
        let ready = Barrier::new(callers + 1);
        std::thread::scope(|scope| {
            let caller = || -> Result<()> {
                // Who fails comes to the others, too: they wait for all.
                let warm = || {
                    let given = Given::new(elements)?;
                    let mut out = given.a.copy()?;
                    repeat(work, &given, &mut out, calls / 10)?;
                    Ok((given, out))
                };
                let warm = warm();
                ready.wait();
                let (given, mut out) = warm?;
                repeat(work, &given, &mut out, calls)
            };
            let all: Vec<_> = (0..callers).map(|_| scope.spawn(caller)).collect();
            ready.wait();
            let started = Instant::now();
            for caller in all {
                caller.join().map_err(|_| "a caller panicked")??;
            }
            Ok(started.elapsed().as_secs_f64())
        })
    };
    let mut gains = Vec::new();
    for _ in 0..ROUNDS {
        let (one, all) = (took(1)?, took(callers)?);
        gains.push(callers as f64 * one / all);
    }
    gains.sort_by(f64::total_cmp);
    println!(
        "{name}, {elements} elements: {callers} threads do {:.2} times the work of one",
        gains[ROUNDS / 2]
    );
    Ok(())
}

/// Apart, so that a counter can be told to count this function.
#[inline(never)]
fn repeat(work: Work, given: &Given, out: &mut Array<f32>, calls: u32) -> Result<()> {
    (0..calls).try_for_each(|_| work(given, out))
}

/// The instructions of a call of each operation, counted by Valgrind's callgrind.
///
/// # Errors
/// There is no such tool, or it did not count.
pub(crate) fn instructions() -> Outcome<Vec<(&'static str, u64)>> {
    let count = |name| -> Outcome<_> {
        let output = Command::new("valgrind")
            .args([
                "--tool=callgrind",
                "--callgrind-out-file=/dev/null",
                "--toggle-collect=bench::calls::repeat*",
            ])
            .arg(std::env::current_exe()?)
            .args(["--call", name, "--calls", &COUNTED.to_string()])
            .output()?;
        let text = String::from_utf8_lossy(&output.stderr);
        let counted =
            text.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse::<u64>().ok());
        let counted = counted.ok_or_else(|| format!("no count of `{name}`: {}", text.trim_end()))?;
        Ok((name, counted / u64::from(COUNTED)))
    };
    names().map(count).collect()
}
