//! What a flush would submit, for people: the passes of recorded work, or of a captured graph, and why each ends where it does.
//!
//! Nothing here plans. The commands are those of the real planner, of copies of what is recorded (`lazy/draft.rs`), or those that a
//! graph has; bytes are counted from their plans. A pass reads and writes each element that it accesses once: what several
//! operands read in the same way counts once, what they read in different ways counts for each.

mod analyze;
mod json;
mod mermaid;
mod text;

pub use analyze::profile;

use std::fmt;
use std::time::Duration;

use crate::backend::{Command, Step, Way};
use crate::cut::Cut;
use crate::dtype::Dtype;
use crate::error::Result;
use crate::form::KernelArgument;
use crate::graph::Graph;
use crate::lazy::{self, Known, UsmArray};
use crate::plan::{Family, IndexedAxis, LaunchPlan, Operand};
use crate::runtime::Queue;

/// The passes that compute an array or a graph, as a flush would submit them. It prints as a tree to be read from the bottom;
/// [`to_json`](Self::to_json) and [`to_mermaid`](Self::to_mermaid) are the same for programs and for pages.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Explanation {
    /// What is explained: *float32 (1000, 1000)*, or *graph of 3 commands*.
    pub subject: String,
    /// The queue that the passes go to.
    pub queue: String,
    /// The passes, in the order of their submission. None where the array is in memory.
    pub passes: Vec<Pass>,
    /// Why the array was computed by itself, where it is in memory and was recorded once.
    pub computed: Option<Cut>,
    /// Bytes that the device's memory moves in a second, where that was measured.
    pub limit: Option<f64>,
    /// What came of all passes together, where they were run.
    pub measured: Option<Measured>,
}

/// One command that is submitted.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Pass {
    /// What is computed, in the order of the stages: of a command of several, one for each different program.
    pub parts: Vec<Part>,
    /// What it reads.
    pub reads: Vec<Touched>,
    /// What it writes.
    pub writes: Vec<Touched>,
    /// Why it ends where it does.
    pub cut: Cut,
    /// How the device would run it.
    pub way: Way,
    /// Whether it is tried on the calling thread first, without a submission: it is, where nothing is under way on what it reads.
    pub at_once: bool,
    /// What came of it, where it was run.
    pub measured: Option<Measured>,
}

/// What a pass computes, or a part of it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Part {
    /// The number of parts that have ended before it begins.
    pub stage: usize,
    /// *map*, *reduction by Add*, *kernel `name`*.
    pub kind: String,
    /// The operations that are fused in it, in their order.
    pub operations: Vec<&'static str>,
    /// The extents that it runs over; neighbours are merged.
    pub extents: Vec<usize>,
}

/// An array that a pass reads or writes.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Touched {
    /// What the caller calls it, or a name that was made up: a letter for what is in memory, *t1* for what a pass computes.
    pub name: String,
    /// Its shape, as it is read or written.
    pub shape: Vec<usize>,
    /// The dtype.
    pub dtype: Option<Dtype>,
    /// Bytes that are read or written.
    pub bytes: usize,
    /// The number of the pass, from 0, that has computed it.
    pub pass: Option<usize>,
    /// Why it was computed before, where it is in memory and was recorded once.
    pub computed: Option<Cut>,
    /// Whether it is written besides the pass's own result, as a variable holds it.
    pub held: bool,
}

/// What came of a pass that was run.
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct Measured {
    /// How long it was run, by the device's own clock or the engine's.
    pub time: Duration,
    /// How long it waited for other work behind its submission.
    pub waited: Duration,
    /// The names of the passes and other commands that it waited for.
    pub waited_for: Vec<String>,
    /// Threads that took part.
    pub threads: usize,
    /// How long something was compiled for it; zero where all of it was.
    pub compiled: Duration,
}

impl Pass {
    /// Bytes that it reads.
    #[must_use]
    pub fn bytes_read(&self) -> usize {
        self.reads.iter().fold(0, |sum, of| sum.saturating_add(of.bytes))
    }
    /// Bytes that it writes.
    #[must_use]
    pub fn bytes_written(&self) -> usize {
        self.writes.iter().fold(0, |sum, of| sum.saturating_add(of.bytes))
    }
    /// Bytes that it reads and writes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes_read().saturating_add(self.bytes_written())
    }
    /// The operations that are fused in it, in their order.
    pub fn operations(&self) -> impl Iterator<Item = &'static str> {
        self.parts.iter().flat_map(|part| part.operations.iter().copied())
    }
    /// The time that its bytes take at so many in a second.
    #[must_use]
    pub fn least_time(&self, limit: f64) -> Duration {
        Duration::try_from_secs_f64(self.bytes() as f64 / limit).unwrap_or_default()
    }
}

impl Explanation {
    /// Bytes that all passes read and write.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.passes.iter().fold(0, |sum, pass| sum.saturating_add(pass.bytes()))
    }

    /// The same as JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        json::written(self)
    }

    /// The same as a flow chart of Mermaid.
    #[must_use]
    pub fn to_mermaid(&self) -> String {
        mermaid::written(self)
    }

    fn of(subject: String, queue: &Queue) -> Self {
        let limit = queue.device().bandwidth();
        let queue = queue.to_string();
        Self { subject, queue, passes: Vec::new(), computed: None, limit, measured: None }
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        text::write(self, f)
    }
}

impl UsmArray {
    /// The passes that would compute the array, were its elements asked for now: what each reads and writes, which operations are
    /// fused in it, how the device would run it, and why it ends where it does. Nothing is computed or submitted, and what is
    /// recorded stays so.
    ///
    /// # Errors
    /// What the submission would report before the device is asked.
    pub fn explain(&self) -> Result<Explanation> {
        self.explain_as(&[])
    }

    /// [`explain`](Self::explain), with what the caller calls the arrays.
    ///
    /// # Errors
    /// As for [`explain`](Self::explain).
    pub fn explain_as(&self, names: &[(&str, &Self)]) -> Result<Explanation> {
        let subject = text::array(Some(self.dtype()), self.shape());
        let mut explanation = Explanation::of(subject, self.queue());
        match lazy::draft(self, names)? {
            None => explanation.computed = lazy::cut_of(self),
            Some(plan) => {
                let mut naming = Naming::new(plan.known);
                let last = plan.commands.len().saturating_sub(1);
                for (number, (command, cut)) in plan.commands.iter().enumerate() {
                    let at_once = plan.at_once && number == last;
                    explanation.passes.push(naming.pass(
                        self.queue(),
                        command,
                        *cut,
                        at_once,
                        number == last,
                    ));
                }
            }
        }
        Ok(explanation)
    }
}

impl Graph {
    /// The passes that a replay submits: as [`UsmArray::explain`].
    #[must_use]
    pub fn explain(&self) -> Explanation {
        let subject = format!("graph of {} commands", self.len());
        let mut explanation = Explanation::of(subject, self.queue());
        let mut naming = Naming::new(self.known());
        for (step, cut) in self.commands() {
            let command = Command::from(step.clone());
            explanation.passes.push(naming.pass(self.queue(), &command, cut, false, false));
        }
        explanation
    }
}

/// What is read or written through an operand.
struct Reached {
    address: usize,
    dims: Vec<(usize, isize)>,
    dtype: Option<Dtype>,
    bytes: usize,
    held: bool,
}

/// The names of arrays, by where they are.
struct Naming {
    known: Vec<Known>,
    /// Where what was named begins, its name, and the number of the pass that wrote it last.
    named: Vec<(usize, String, Option<usize>)>,
    passes: usize,
    letters: usize,
    temporaries: usize,
}

impl Naming {
    fn new(known: Vec<Known>) -> Self {
        Self { known, named: Vec::new(), passes: 0, letters: 0, temporaries: 0 }
    }

    fn pass(&mut self, queue: &Queue, command: &Command, cut: Cut, at_once: bool, last: bool) -> Pass {
        let (mut parts, mut reads, mut writes) = (Vec::new(), Vec::new(), Vec::new());
        let mut add = |stage: usize, plans: &[LaunchPlan]| {
            for plan in plans {
                let part = Part {
                    stage,
                    kind: plan.family.to_string(),
                    operations: operations(plan),
                    extents: plan.dims.to_vec(),
                };
                // Plans that are as many as an array's rows differ in their addresses alone.
                if parts.last() != Some(&part) {
                    parts.push(part);
                }
                plan_reads(plan, &mut reads);
                plan_writes(plan, &mut writes);
            }
        };
        match command {
            Command::Step(Step::Launch(plans)) => add(0, plans),
            Command::Step(Step::Stages(stages)) => {
                stages.iter().enumerate().for_each(|(stage, plans)| add(stage, plans))
            }
            Command::Step(Step::Kernel(launch)) => {
                let kind = format!("kernel `{}` over {}", launch.kernel.name(), launch.space);
                parts.push(Part { stage: 0, kind, operations: Vec::new(), extents: Vec::new() });
                for (object, argument) in launch.arrays() {
                    let KernelArgument::Array { ptr, shape, strides } = argument else { continue };
                    let operand = Operand { ptr: *ptr, strides: strides.as_slice().into() };
                    let dtype = launch.kernel.form().object(object).dtype;
                    let reached = || reached(&operand, shape, &[], dtype, usize::MAX, false);
                    reads.extend(launch.kernel.reads(object).then(reached));
                    writes.extend(launch.kernel.writes(object).then(reached));
                }
            }
            &Command::Step(Step::Copy { dst, src, bytes }) => {
                parts.push(moved("copy"));
                reads.push(bytes_at(src.addr(), bytes));
                writes.push(bytes_at(dst.addr(), bytes));
            }
            &Command::Step(Step::Fill { dst, bytes, .. }) => {
                parts.push(moved("fill"));
                writes.push(bytes_at(dst.addr(), bytes));
            }
            other => parts.push(moved(&format!("{other:?}"))),
        }
        let number = self.passes;
        self.passes += 1;
        let reads = self.touched(reads, None, false);
        let writes = self.touched(writes, Some(number), last);
        let way = queue.device().backend().way(command);
        Pass { parts, reads, writes, cut, way, at_once, measured: None }
    }

    /// Gives what is reached names. `written`: the number of the pass that writes it; `last`: its first array is the result.
    fn touched(&mut self, mut reached: Vec<Reached>, written: Option<usize>, last: bool) -> Vec<Touched> {
        let mut touched: Vec<Touched> = Vec::new();
        let mut seen: Vec<Reached> = Vec::new();
        for of in reached.drain(..) {
            if seen
                .iter()
                .any(|other| (other.address, &other.dims, other.dtype) == (of.address, &of.dims, of.dtype))
            {
                continue;
            }
            let (name, pass, shape, computed) = self.name(&of, written, last && touched.is_empty());
            // Several plans of one array are one row of it each.
            match touched
                .iter_mut()
                .find(|known| known.name == name && known.shape == shape && !shape.is_empty())
            {
                Some(known) if !of.held && seen.iter().any(|other| other.dims == of.dims) => {
                    known.bytes += of.bytes
                }
                _ => touched.push(Touched {
                    name,
                    shape,
                    dtype: of.dtype,
                    bytes: of.bytes,
                    pass,
                    computed,
                    held: of.held,
                }),
            }
            seen.push(of);
        }
        touched
    }

    /// The name of what is reached, the pass that computed it, its shape, and why it was computed before.
    fn name(
        &mut self,
        of: &Reached,
        written: Option<usize>,
        result: bool,
    ) -> (String, Option<usize>, Vec<usize>, Option<Cut>) {
        let inside = |known: &&Known| (known.start..known.start + known.bytes.max(1)).contains(&of.address);
        // What is repeated is there once.
        let elements: usize =
            of.dims.iter().filter(|(_, stride)| *stride != 0).map(|(extent, _)| extent).product();
        let exactly = |known: &&Known| {
            let own: usize = known.shape.iter().product();
            inside(known) && known.first == of.address && Some(known.dtype) == of.dtype && own == elements
        };
        let all = || self.known.iter();
        let shown = all().find(exactly).or_else(|| all().find(|known| known.name.is_some() && inside(known)));
        let shape = match all().find(exactly) {
            Some(known) => known.shape.to_vec(),
            None => of.dims.iter().map(|&(extent, stride)| if stride == 0 { 1 } else { extent }).collect(),
        };
        let start = all().find(inside).map_or(of.address, |known| known.start);
        let computed = all().find(|known| inside(known) && known.cut.is_some()).and_then(|known| known.cut);
        let given = shown.and_then(|known| known.name.clone());
        let known = self.named.iter_mut().find(|(at, ..)| *at == start);
        if let Some((_, name, pass)) = known {
            let by = *pass;
            if written.is_some() {
                *pass = written;
            }
            return (name.clone(), written.or(by), shape, computed);
        }
        let name = given.unwrap_or_else(|| match written {
            Some(_) if result => "result".to_owned(),
            Some(_) => {
                self.temporaries += 1;
                format!("t{}", self.temporaries)
            }
            None => {
                self.letters += 1;
                letters(self.letters - 1)
            }
        });
        self.named.push((start, name.clone(), written));
        (name, written, shape, computed)
    }
}

/// `a`, `b`, … `z`, `a1`, `b1`, …
fn letters(number: usize) -> String {
    let letter = char::from(b'a' + (number % 26) as u8);
    match number / 26 {
        0 => letter.to_string(),
        round => format!("{letter}{round}"),
    }
}

fn moved(kind: &str) -> Part {
    Part { stage: 0, kind: kind.to_owned(), operations: Vec::new(), extents: Vec::new() }
}

fn bytes_at(address: usize, bytes: usize) -> Reached {
    Reached { address, dims: vec![(bytes, 1)], dtype: None, bytes, held: false }
}

fn operations(plan: &LaunchPlan) -> Vec<&'static str> {
    let finish = match &plan.family {
        Family::Reduce { finish, .. } => finish.as_deref(),
        _ => None,
    };
    let programs = [Some(&*plan.program), finish];
    programs
        .into_iter()
        .flatten()
        .flat_map(|program| program.steps().iter().map(|step| step.op.label()))
        .collect()
}

fn plan_reads(plan: &LaunchPlan, to: &mut Vec<Reached>) {
    for (number, (operand, &dtype)) in plan.inputs.iter().zip(plan.program.inputs()).enumerate() {
        if plan.program.is_index(number) {
            continue;
        }
        let axes: &[IndexedAxis] = match (&plan.family, number) {
            (Family::Gather { axes }, 0) => axes,
            (
                Family::Search { table: axis, .. }
                | Family::Contains { table: axis, .. }
                | Family::Histogram { edges: axis, .. },
                1,
            )
            | (Family::Expand { axis, .. }, 0) => std::slice::from_ref(axis),
            _ => &[],
        };
        to.push(reached(operand, &plan.dims, axes, dtype, plan.len(), false));
    }
}

fn plan_writes(plan: &LaunchPlan, to: &mut Vec<Reached>) {
    for (number, operand) in plan.outputs.iter().enumerate() {
        let axes: &[IndexedAxis] = match (&plan.family, number) {
            (Family::Scatter { axes }, 0) => axes,
            (
                Family::Top { axis, .. }
                | Family::Compress { axis, .. }
                | Family::Runs { axis }
                | Family::Accumulate { axis, .. }
                | Family::Count { axis }
                | Family::Histogram { axis, .. },
                0,
            ) => std::slice::from_ref(axis),
            _ => &[],
        };
        let held = number > 0 && plan.family == Family::Map;
        to.push(reached(operand, &plan.dims, axes, plan.output_dtype(number), plan.len(), held));
    }
}

/// What an operand reaches over dimensions, and along axes that indices name: of these, at most so many elements.
fn reached(
    operand: &Operand,
    dims: &[usize],
    axes: &[IndexedAxis],
    dtype: Dtype,
    most: usize,
    held: bool,
) -> Reached {
    let along = dims.iter().copied().zip(operand.strides.iter().copied());
    let own = along.clone().filter(|(_, stride)| *stride != 0).map(|(extent, _)| extent);
    let mut elements = own.fold(1, usize::saturating_mul);
    if dims.contains(&0) {
        elements = 0;
    } else if !axes.is_empty() {
        let indexed = axes.iter().fold(elements, |all, axis| all.saturating_mul(axis.extent));
        elements = indexed.min(most.max(1));
    }
    let span = operand_span(dims, operand);
    let bytes = elements.min(if axes.is_empty() { span } else { usize::MAX }).saturating_mul(dtype.size());
    Reached { address: operand.ptr.addr(), dims: along.collect(), dtype: Some(dtype), bytes, held }
}

/// Elements from the first that strides reach to the last: where they overlap, there are no more.
fn operand_span(dims: &[usize], operand: &Operand) -> usize {
    let along = dims.iter().zip(&operand.strides);
    along.fold(1, |span: usize, (&extent, &stride)| {
        span.saturating_add(extent.saturating_sub(1).saturating_mul(stride.unsigned_abs()))
    })
}
