//! What a null device's commands would do: memory for its addresses, the arithmetic of `int64`, `int32` and `bool`
//! plans, and the check that no two commands that could run at the same time conflict.
//!
//! "Could run at the same time" is taken as widely as the contract of a backend allows: a command may touch its memory
//! at any time from when its waits are terminal until its event is. So two commands must not conflict unless the waits,
//! directly or through others, put one before the other, or one was complete before the other was submitted. Where that
//! holds, every order of completion gives the same contents, and executing each command when it completes is enough.

use std::collections::BTreeMap;
use std::ops::Range;

use stridewise::{
    Dtype, Op, PointerKind, UsmPtr,
    backend::{Arg, Family, Fold, LaunchPlan, Operand, Program},
    pointer_info,
};
use stridewise_null::{Logged, NullDevice};

/// A set of command numbers.
#[derive(Clone, Default)]
struct Set(Vec<u64>);

impl Set {
    fn insert(&mut self, id: usize) {
        if self.0.len() <= id / 64 {
            self.0.resize(id / 64 + 1, 0);
        }
        self.0[id / 64] |= 1 << (id % 64);
    }
    fn contains(&self, id: usize) -> bool {
        self.0.get(id / 64).is_some_and(|word| word >> (id % 64) & 1 == 1)
    }
    fn extend(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }
}

struct Tracked {
    command: Logged,
    /// Commands that are over before this one may begin.
    before: Set,
    reads: Vec<Range<usize>>,
    writes: Vec<Range<usize>>,
    done: bool,
}

/// The memory and the commands of one null device. Its commands must all be completed through the model.
pub(crate) struct Model {
    device: NullDevice,
    memory: BTreeMap<usize, Vec<u8>>,
    commands: Vec<Tracked>,
}

impl Model {
    pub(crate) fn new(device: NullDevice) -> Self {
        Self { device, memory: BTreeMap::new(), commands: Vec::new() }
    }

    /// Takes in what was submitted since the last call.
    ///
    /// # Panics
    /// Where a new command conflicts with one that could run at the same time.
    pub(crate) fn absorb(&mut self) {
        for record in self.device.log_since(self.commands.len()) {
            let mut before = Set::default();
            for id in record.wait_ids() {
                before.insert(id);
                before.extend(&self.commands[id].before);
            }
            let (reads, writes) = accesses(&record.command);
            for (id, old) in self.commands.iter().enumerate() {
                if old.done {
                    before.insert(id);
                } else if !before.contains(id) {
                    let clash = overlap(&old.writes, &writes)
                        || overlap(&old.writes, &reads)
                        || overlap(&old.reads, &writes);
                    assert!(
                        !clash,
                        "command {} ({:?}, waits {:?}) conflicts with command {id} ({:?}), which it does not wait for",
                        record.id,
                        record.command,
                        record.wait_ids(),
                        old.command,
                    );
                }
            }
            self.commands.push(Tracked { command: record.command, before, reads, writes, done: false });
        }
    }

    /// Commands that may complete now.
    pub(crate) fn ready(&self) -> Vec<usize> {
        self.device.ready()
    }

    /// Executes a command that is ready, and completes it.
    pub(crate) fn complete(&mut self, id: usize) {
        let tracked = &mut self.commands[id];
        tracked.done = true;
        for range in tracked.reads.iter().chain(&tracked.writes) {
            let info = pointer_info(UsmPtr::new(std::ptr::without_provenance_mut(range.start)));
            assert!(matches!(info.kind, PointerKind::Usm(_)), "command {id} touches memory that was freed");
        }
        match self.commands[id].command.clone() {
            Logged::Launch(plans) => plans.iter().for_each(|plan| self.launch(plan)),
            Logged::Copy { dst, src, bytes } => {
                let data = self.read(src.addr(), bytes).to_vec();
                self.read(dst.addr(), bytes).copy_from_slice(&data);
            }
            Logged::Fill { dst, bytes, pattern } => {
                for chunk in self.read(dst.addr(), bytes).chunks_mut(pattern.len()) {
                    chunk.copy_from_slice(&pattern);
                }
            }
            Logged::Kernel(launch) => unreachable!("programs of the model launch no kernel: {launch:?}"),
            Logged::Advise { .. } | Logged::Barrier | Logged::HostTask => {}
        }
        self.device.complete(id).expect("the command is ready");
    }

    /// The bytes from an address on.
    pub(crate) fn read(&mut self, address: usize, bytes: usize) -> &mut [u8] {
        let known = |memory: &BTreeMap<usize, Vec<u8>>| {
            let (&start, chunk) = memory.range(..=address).next_back()?;
            (address + bytes <= start + chunk.len()).then_some(start)
        };
        if known(&self.memory).is_none() {
            for chunk in self.device.live_allocations() {
                self.memory.entry(chunk.ptr.addr()).or_insert_with(|| vec![0; chunk.bytes]);
            }
        }
        let start = known(&self.memory).expect("the address is of the null device");
        let chunk = self.memory.get_mut(&start).expect("it was just found");
        &mut chunk[address - start..address - start + bytes]
    }

    fn load(&mut self, addresses: &[usize], dtype: Dtype) -> Vec<i64> {
        let (low, span) = hull(addresses, dtype);
        let bytes = self.read(low, span);
        addresses.iter().map(|&address| get(&bytes[address - low..][..dtype.size()], dtype)).collect()
    }

    fn store(&mut self, addresses: &[usize], dtype: Dtype, values: &[i64]) {
        let (low, span) = hull(addresses, dtype);
        let bytes = self.read(low, span);
        for (&address, &value) in addresses.iter().zip(values) {
            put(&mut bytes[address - low..][..dtype.size()], dtype, value);
        }
    }

    fn launch(&mut self, plan: &LaunchPlan) {
        let inputs: Vec<Vec<i64>> = plan
            .inputs
            .iter()
            .zip(plan.program.inputs())
            .map(|(operand, &dtype)| self.load(&addresses(&plan.dims, operand, dtype), dtype))
            .collect();
        let results = evaluate(&plan.program, &inputs, plan.len());
        match &plan.family {
            Family::Map => {
                for (number, (operand, values)) in plan.outputs.iter().zip(&results).enumerate() {
                    let dtype = plan.program.output_dtype(number);
                    self.store(&addresses(&plan.dims, operand, dtype), dtype, values);
                }
            }
            Family::Reduce { fold, reduced, finish: None, .. } => {
                let (outer, inner) = plan.dims.split_at(plan.dims.len() - reduced);
                let dtype = plan.program.output_dtype(0);
                let folded: Vec<i64> = results[0]
                    .chunks(inner.iter().product())
                    .map(|group| reduce(*fold, dtype, group))
                    .collect();
                let dtype = fold.result(dtype);
                self.store(&addresses(outer, &plan.outputs[0], dtype), dtype, &folded);
            }
            other => panic!("the model does not know {other:?}"),
        }
    }
}

/// The lowest of some elements' addresses, and the bytes from there to the end of the highest.
fn hull(addresses: &[usize], dtype: Dtype) -> (usize, usize) {
    let low = addresses.iter().copied().min().expect("a plan is not empty");
    let high = addresses.iter().copied().max().expect("a plan is not empty");
    (low, high - low + dtype.size())
}

/// The value of an element's bytes.
pub(crate) fn get(bytes: &[u8], dtype: Dtype) -> i64 {
    match dtype {
        Dtype::I64 => i64::from_ne_bytes(bytes.try_into().expect("8 bytes")),
        Dtype::I32 => i64::from(i32::from_ne_bytes(bytes.try_into().expect("4 bytes"))),
        Dtype::Bool => i64::from(bytes[0]),
        other => panic!("the model does not know {other}"),
    }
}

/// Writes a value as an element's bytes.
pub(crate) fn put(bytes: &mut [u8], dtype: Dtype, value: i64) {
    match dtype {
        Dtype::I64 => bytes.copy_from_slice(&value.to_ne_bytes()),
        Dtype::I32 => bytes.copy_from_slice(&(value as i32).to_ne_bytes()),
        Dtype::Bool => bytes[0] = value as u8,
        other => panic!("the model does not know {other}"),
    }
}

/// A value as a dtype holds it.
pub(crate) fn wrap(dtype: Dtype, value: i64) -> i64 {
    match dtype {
        Dtype::I64 => value,
        Dtype::I32 => i64::from(value as i32),
        Dtype::Bool => i64::from(value != 0),
        other => panic!("the model does not know {other}"),
    }
}

/// An operation on values of a dtype.
pub(crate) fn apply(op: Op, dtype: Dtype, x: &[i64]) -> i64 {
    let value = match op {
        Op::Add => x[0].wrapping_add(x[1]),
        Op::Subtract => x[0].wrapping_sub(x[1]),
        Op::Multiply => x[0].wrapping_mul(x[1]),
        Op::Negative => x[0].wrapping_neg(),
        Op::Square => x[0].wrapping_mul(x[0]),
        Op::Minimum => x[0].min(x[1]),
        Op::Maximum => x[0].max(x[1]),
        Op::Copy | Op::Cast => x[0],
        Op::Where => return if x[0] != 0 { x[1] } else { x[2] },
        Op::Less => return i64::from(x[0] < x[1]),
        Op::Equal => return i64::from(x[0] == x[1]),
        other => panic!("the model does not know {other:?}"),
    };
    wrap(dtype, value)
}

/// A fold of values of a dtype.
pub(crate) fn reduce(fold: Fold, dtype: Dtype, values: &[i64]) -> i64 {
    let first = |best: i64| values.iter().position(|&v| v == best).expect("it is among them") as i64;
    match fold {
        Fold::Op(op) => values[1..].iter().fold(values[0], |sum, &value| apply(op, dtype, &[sum, value])),
        Fold::ArgMax => first(*values.iter().max().expect("not empty")),
        Fold::ArgMin => first(*values.iter().min().expect("not empty")),
        other => panic!("the model does not know {other:?}"),
    }
}

fn evaluate(program: &Program, inputs: &[Vec<i64>], len: usize) -> Vec<Vec<i64>> {
    let mut steps: Vec<Vec<i64>> = Vec::new();
    for step in program.steps() {
        let operands: Vec<Vec<i64>> = step
            .operands()
            .iter()
            .map(|&arg| match arg {
                Arg::Input(i) => inputs[usize::from(i)].clone(),
                Arg::Step(i) => steps[usize::from(i)].clone(),
                Arg::Const(i) => {
                    let value = program.consts()[usize::from(i)];
                    vec![get(&value.to_bytes()[..value.dtype().size()], value.dtype()); len]
                }
            })
            .collect();
        let value = |i: usize| {
            let mut x = [0; 3];
            operands.iter().enumerate().for_each(|(k, operand)| x[k] = operand[i]);
            match step.op {
                Op::Cast => wrap(step.out, x[0]),
                op => apply(op, step.dtype, &x[..operands.len()]),
            }
        };
        steps.push((0..len).map(value).collect());
    }
    let output = |arg: &Arg| match *arg {
        Arg::Step(i) => steps[usize::from(i)].clone(),
        other => panic!("an output is a step, not {other:?}"),
    };
    program.outputs().iter().map(output).collect()
}

/// The address of every element, in row-major order of the dimensions.
fn addresses(dims: &[usize], operand: &Operand, dtype: Dtype) -> Vec<usize> {
    let mut all = vec![operand.ptr.addr()];
    for (&extent, &stride) in dims.iter().zip(&operand.strides) {
        let step = stride * dtype.size() as isize;
        all = all
            .iter()
            .flat_map(|&first| (0..extent as isize).map(move |i| first.wrapping_add_signed(step * i)))
            .collect();
    }
    all
}

/// The addresses that a command reads and those that it writes: exact, ascending, merged.
fn accesses(command: &Logged) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
    let range = |ptr: &UsmPtr, bytes: usize| ptr.addr()..ptr.addr() + bytes;
    match command {
        Logged::Launch(plans) => {
            let (mut reads, mut writes) = (Vec::new(), Vec::new());
            for plan in plans {
                for (operand, dtype) in plan.inputs.iter().zip(plan.program.inputs()) {
                    touched(plan, operand, dtype.size(), &mut reads);
                }
                for (number, operand) in plan.outputs.iter().enumerate() {
                    let value = plan.program.output_dtype(number);
                    let dtype = if let Family::Reduce { fold, .. } = plan.family {
                        fold.result(value)
                    } else {
                        value
                    };
                    touched(plan, operand, dtype.size(), &mut writes);
                }
            }
            (merged(reads), merged(writes))
        }
        Logged::Copy { dst, src, bytes } => (vec![range(src, *bytes)], vec![range(dst, *bytes)]),
        Logged::Fill { dst, bytes, .. } => (Vec::new(), vec![range(dst, *bytes)]),
        Logged::Kernel(launch) => unreachable!("programs of the model launch no kernel: {launch:?}"),
        Logged::Advise { .. } | Logged::Barrier | Logged::HostTask => (Vec::new(), Vec::new()),
    }
}

/// Appends the address ranges of an operand's elements.
fn touched(plan: &LaunchPlan, operand: &Operand, size: usize, ranges: &mut Vec<Range<usize>>) {
    let mut starts = vec![operand.ptr.addr()];
    let mut run = size;
    for (axis, (&extent, &stride)) in plan.dims.iter().zip(&operand.strides).enumerate() {
        if stride == 0 {
            continue;
        }
        if axis + 1 == plan.dims.len() && stride == 1 {
            run = extent * size;
            continue;
        }
        let step = stride * size as isize;
        starts = starts
            .iter()
            .flat_map(|&first| (0..extent as isize).map(move |i| first.wrapping_add_signed(step * i)))
            .collect();
    }
    ranges.extend(starts.into_iter().map(|start| start..start + run));
}

fn merged(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| range.start);
    let mut out: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match out.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => out.push(range),
        }
    }
    out
}

fn overlap(a: &[Range<usize>], b: &[Range<usize>]) -> bool {
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        if a[i].end <= b[j].start {
            i += 1;
        } else if b[j].end <= a[i].start {
            j += 1;
        } else {
            return true;
        }
    }
    false
}
