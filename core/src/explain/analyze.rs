//! What came of passes that are run, and traces of what a function does.

use std::any::Any;
use std::path::Path;
use std::time::{Duration, Instant};

use super::{Explanation, Measured};
use crate::dtype::Dtype;
use crate::error::Result;
use crate::graph::Graph;
use crate::lazy::UsmArray;
use crate::memory::{Kept, capture};
use crate::observe::{Doing, Profiler, Ran, Record, Trace};
use crate::ops::Op;
use crate::runtime::{Device, Event, Queue, drain, exit_patience};

/// Records of one analysis at most.
const MOST: usize = 1 << 16;
/// Bytes that are moved to measure what a device's memory moves, at least and at most: more than most caches hold.
const BYTES: [usize; 2] = [96 << 20, 384 << 20];
/// How often; the quickest counts.
const TRIALS: usize = 6;

/// Calls a function, and writes what the engine did meanwhile to a file, which Perfetto's page opens. What is under way at the end
/// is waited for, as by [`drain`](crate::drain).
///
/// ```no_run
/// use stridewise_core::{Array, profile};
///
/// let (sum, trace) = profile("trace.json", || Array::<f32>::linspace(0.0, 1.0, 1 << 20)?.sqrt().sum())?;
/// println!("{sum}\n{trace}");
/// # Ok::<(), stridewise_core::Error>(())
/// ```
///
/// # Errors
/// What the function returns; what writing reports.
pub fn profile<R>(path: impl AsRef<Path>, work: impl FnOnce() -> Result<R>) -> Result<(R, Trace)> {
    let profiler = Profiler::begin();
    let done = work();
    drain(exit_patience());
    let trace = profiler.end();
    trace.write(path)?;
    Ok((done?, trace))
}

impl UsmArray {
    /// Computes the array and says what came of each pass: as [`explain`](Self::explain), with the time that it took, what it waited
    /// for, its threads, and what was compiled for it. What the device's memory moves in a second is measured once, by sums of two
    /// large arrays, which takes some tens of milliseconds.
    ///
    /// # Errors
    /// As for [`explain`](Self::explain) and [`wait`](Self::wait).
    pub fn analyze(&self) -> Result<Explanation> {
        self.analyze_as(&[])
    }

    /// [`analyze`](Self::analyze), with what the caller calls the arrays.
    ///
    /// # Errors
    /// As for [`analyze`](Self::analyze).
    pub fn analyze_as(&self, names: &[(&str, &Self)]) -> Result<Explanation> {
        capture::refuse("array", "analyzed")?;
        measure_limit(self.queue().device())?;
        let explanation = self.explain_as(names)?;
        analyzed(explanation, self.queue(), || self.event())
    }
}

impl Graph {
    /// Submits the commands again, as [`replay`](Self::replay), and says what came of each: as [`UsmArray::analyze`]. Where the device
    /// takes all of them as one command, that is what is measured.
    ///
    /// # Errors
    /// As for [`replay`](Self::replay), and the failure of a command.
    pub fn analyze(&self) -> Result<Explanation> {
        capture::refuse("graph", "analyzed")?;
        measure_limit(self.queue().device())?;
        analyzed(self.explain(), self.queue(), || self.replay())
    }
}

/// Submits what is explained, and waits for it.
fn analyzed(
    mut explanation: Explanation,
    queue: &Queue,
    submit: impl FnOnce() -> Result<Event>,
) -> Result<Explanation> {
    let profiler = Profiler::begin_with(MOST, Duration::ZERO);
    let done = submit().and_then(|event| event.wait());
    let trace = profiler.end();
    done?;
    let own = |of: &Ran<'_>| of.submission.thread == trace.thread() && of.submission.queue == queue.id();
    let ran: Vec<Ran<'_>> = trace.commands().into_iter().filter(own).collect();
    if ran.is_empty() {
        // It was done by the calling thread, with what helps it.
        let own = |record: &&Record| record.doing == Doing::AtOnce && record.thread == trace.thread();
        let lasted = |record: &&Record| record.span[1] - record.span[0];
        let at_once = trace.records().iter().filter(own).max_by_key(lasted);
        if let (Some(record), Some(pass)) = (at_once, explanation.passes.last_mut()) {
            let time = Duration::from_nanos(record.span[1] - record.span[0]);
            pass.measured = Some(Measured { time, ..Measured::default() });
            explanation.measured.clone_from(&pass.measured);
        }
        return Ok(explanation);
    }
    if ran.len() == explanation.passes.len() {
        for (pass, of) in explanation.passes.iter_mut().zip(&ran) {
            pass.measured = measured(of, &trace);
        }
    }
    let spans: Vec<[u64; 2]> = ran.iter().filter_map(|of| of.span).collect();
    let whole = spans.iter().copied().reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])]);
    explanation.measured = whole.map(|[begin, end]| Measured {
        time: Duration::from_nanos(end - begin),
        compiled: compiled(&trace, [trace.span()[0], end]),
        ..Measured::default()
    });
    Ok(explanation)
}

fn measured(of: &Ran<'_>, trace: &Trace) -> Option<Measured> {
    let [begin, end] = of.span?;
    let submission = of.submission;
    let waited_for = submission.waits.iter();
    Some(Measured {
        time: Duration::from_nanos(end - begin),
        waited: Duration::from_nanos(begin.saturating_sub(submission.span[1])),
        waited_for: waited_for
            .map(|&wait| trace.name_of(wait).unwrap_or_else(|| "earlier work".to_owned()))
            .collect(),
        threads: of.threads.len(),
        compiled: compiled(trace, [submission.span[0], end]),
    })
}

/// How long something was compiled, of what was compiled then.
fn compiled(trace: &Trace, [begin, end]: [u64; 2]) -> Duration {
    let compilations = trace
        .records()
        .iter()
        .filter(|record| record.doing == Doing::Compile && begin <= record.span[0] && record.span[0] <= end);
    compilations.map(|record| Duration::from_nanos(record.span[1] - record.span[0])).sum()
}

impl Trace {
    /// Measures what the memories of the devices move in a second that commands ran on, so that the [table](Self::table) has the
    /// share of it: once for each device, by sums of two large arrays, some tens of milliseconds.
    ///
    /// # Errors
    /// What sums of arrays report: there is no memory for them, the device is lost.
    pub fn measure_bandwidth(&self) -> Result<()> {
        for keeper in self.records().iter().filter_map(|record| record.keeper.as_deref()) {
            let kept: &dyn Any = keeper;
            if let Some(kept) = kept.downcast_ref::<Kept>() {
                measure_limit(&kept.device)?;
            }
        }
        Ok(())
    }
}

/// Measures what a device's memory moves in a second, the first time.
fn measure_limit(device: &Device) -> Result<()> {
    if device.bandwidth().is_some() {
        return Ok(());
    }
    let queue = &device.queue()?;
    let [least, most] = BYTES;
    let bytes = (4 * device.info().limits.last_cache_bytes).clamp(least, most);
    let elements = bytes / 3 / size_of::<f32>();
    let kind = device.capabilities().default_kind;
    let operand = || UsmArray::zeros(queue, &[elements], Dtype::F32, kind);
    let (a, b) = (operand()?, operand()?);
    a.wait()?;
    b.wait()?;
    let mut quickest = Duration::MAX;
    for _ in 0..TRIALS {
        let sum = a.binary(Op::Add, &b)?;
        let begin = Instant::now();
        sum.wait()?;
        quickest = quickest.min(begin.elapsed());
    }
    let moved = 3 * elements * size_of::<f32>();
    device.set_bandwidth(moved as f64 / quickest.as_secs_f64().max(1e-9));
    Ok(())
}
