//! Kernels as machine code: those whose items access the launch's arrays only and do not meet. Rows of items
//! are computed as gangs of lanes; what a kernel has that there is no code for is a reason to interpret all
//! of it ([`Unsupported`]).
//!
//! The way of a kernel:
//! ```text
//! shapes   what is one for all items of a row, what follows the ids, what differs
//! lower    the form → a routine of `stridewise-native`, and a layout of the memory that it works on
//! run      rows of items, shared by threads: each writes the arguments to its memory, and calls the routine
//! ```
//! A routine is given the memory (`Layout`), in which all cells are, and calls back for what it has no
//! instructions for ([`Call`]): the function of an operation, or the rounds of a loop. When it stops early,
//! it answers with the number of a [`Stop`].
//!
//! The interpreter is the oracle: both give the same bits, which the tests compare with random kernels.
//! Bounds are clamped by the code as `access.rs` does it, so arrays without elements are interpreted. A
//! kernel is compiled at its second launch, or at the first one of `MANY` items, as that takes longer than a
//! short launch; one that is watched or has a time limit never is.

mod lower;
mod memory;
mod shapes;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use smallvec::SmallVec;
use stridewise_core::backend::ElementsFn;
use stridewise_core::kernel::{
    Coordinate, Diagnostic, Kernel, KernelArgument, KernelLaunch, Level, Memory, Position, Rule, Space,
    failed_assertion,
};
use stridewise_core::{Dtype, Error, Result};
use stridewise_native::{
    CALLER, CONTEXT, COUNT, Caller, Cell, Compiled, GRAIN, LAST, PARTIAL, Refused, WHOLE,
};

use super::PARTS;
use super::access::row_major;
use super::frame::{Bits, Shared};
use super::run::{ROUND_LIMIT, count_rounds};
use crate::fork_join;
use crate::kernels::Tuning;
use crate::kernels::native::compiler::{self, Switch};
use memory::{GANG, Given, bits};
use shapes::Unsupported;

/// Items from which on a kernel is compiled that runs for the first time.
const MANY: usize = 1 << 14;
/// Items of a row that are one part for a thread at least.
const PART: usize = 1 << 12;

/// What a routine calls.
enum Call {
    /// The function of an operation, on elements of lanes, or on one.
    Function {
        run: ElementsFn,
        to: Cell,
        args: [Cell; 3],
        flags: u32,
        one: bool,
    },
    Rounds(Round),
    Each(Each),
}

/// How many rounds a loop goes that counts.
struct Round {
    bounds: [Cell; 3],
    dtype: Dtype,
    rounds: Cell,
}

/// The same of each lane; at most as many as an `int64` counts. `same`: bounds that are one for all.
struct Each {
    bounds: [Cell; 3],
    same: [bool; 3],
    dtype: Dtype,
    rounds: Cell,
}

/// Why a routine stops: a loop that counts nothing and goes on for ever, or an assertion.
struct Stop {
    at: Position,
    /// Which lanes do so.
    mask: Cell,
    assertion: Option<Arc<str>>,
}

/// A compiled kernel.
struct Program {
    code: Compiled,
    calls: Vec<Call>,
    stops: Vec<Stop>,
    bytes: usize,
    full: Cell,
    counts: [Cell; 2],
    given: HashMap<Given, Cell>,
}

/// What is known of a kernel at a level.
struct Known {
    seen: AtomicBool,
    program: std::sync::OnceLock<std::result::Result<Program, Unsupported>>,
}

/// Compiles a kernel, or says why it is interpreted.
fn compile(kernel: &Kernel, tuning: &Tuning) -> std::result::Result<Program, Unsupported> {
    let level = compiler::level(tuning.isa).ok_or(Unsupported::Refused)?;
    let shapes = shapes::shapes(kernel.form())?;
    let lower::Lowered { routine, layout, calls, stops } = lower::lower(kernel, &shapes, level, tuning)?;
    let bytes = layout.bytes().ok_or(Unsupported::Refused)?;
    let code = routine.finish().map_err(|why| {
        if why == Refused::Executable {
            compiler::refuse();
        }
        Unsupported::Refused
    })?;
    Ok(Program { code, calls, stops, bytes, full: layout.full, counts: layout.counts, given: layout.given })
}

/// Runs a launch by compiled code, where there is some, or it pays to make it; else `None`, and nothing has happened.
///
/// # Safety
/// As for [`run_kernel`](super::run_kernel).
pub(super) unsafe fn run(launch: &KernelLaunch, tuning: &Tuning) -> Option<Result<()>> {
    // Who watches, or looks at the time, does so between steps.
    if launch.checked || launch.time_limit.is_some() {
        return None;
    }
    let switch = compiler::switch();
    if switch == Switch::Off || compiler::is_refused() || compiler::level(tuning.isa).is_none() {
        return None;
    }
    // Of an array without elements there is no nearest one.
    let is_empty = |argument: &KernelArgument| matches!(argument, KernelArgument::Array { shape, .. } if shape.contains(&0));
    if launch.arguments.iter().any(is_empty) {
        return None;
    }
    let make = || Some(Known { seen: AtomicBool::new(false), program: std::sync::OnceLock::new() });
    let known: Arc<Known> = launch.kernel.prepared(KEY | tuning.isa as u64, make)?;
    let items: usize = launch.space.global.iter().product();
    if !known.seen.swap(true, Ordering::Relaxed) && switch == Switch::On && items < MANY {
        return None;
    }
    let program = known.program.get_or_init(|| compile(&launch.kernel, tuning)).as_ref().ok()?;
    // SAFETY: the launch's contract holds and nothing else accesses its memory in conflict, as `run_kernel`
    // asks for; `compile` takes only what is supported.
    Some(unsafe { program.run(launch, tuning) })
}

/// Beside the numbers of levels, the interpreter's keys.
const KEY: u64 = 1 << 8;

impl Program {
    /// # Safety
    /// As for [`run_kernel`](super::run_kernel).
    unsafe fn run(&self, launch: &KernelLaunch, tuning: &Tuning) -> Result<()> {
        let space = &launch.space;
        // Where nothing depends on groups, rows are as long as the index space, and are shared by pieces.
        let grouped = launch.kernel.is_grouped();
        let pieces = if grouped { 1 } else { space.global[2].div_ceil(PART) };
        let units = if grouped { space.group_count() } else { space.global[0] * space.global[1] * pieces };
        let parts = if tuning.threads > 1 { units.min(tuning.threads * PARTS) } else { 1 };
        let failure = Mutex::new(None);
        fork_join::share(parts, tuning.threads, &|part| {
            let run = || {
                let mut gang = Gang::new(self, launch)?;
                for unit in units * part / parts..units * (part + 1) / parts {
                    // SAFETY: the launch's contract holds, and groups or pieces of rows are each one
                    // thread's.
                    unsafe {
                        if grouped {
                            gang.group(space.group_id(unit))?;
                        } else {
                            let (row, piece) = (unit / pieces, unit % pieces);
                            let first = [row / space.global[1], row % space.global[1], piece * PART];
                            let len = PART.min(space.global[2] - first[2]);
                            gang.row([0; 3], first, first, len)?;
                        }
                    }
                }
                Ok(())
            };
            if let Err(error) = run() {
                failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            }
        });
        failure.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }
}

/// The memory of a thread that runs a compiled kernel.
struct Gang<'a> {
    program: &'a Program,
    space: &'a Space,
    memory: Shared,
    /// Private objects, of each element all lanes'.
    private: Shared,
    private_bytes: usize,
    /// Constant objects.
    _constant: Vec<Shared>,
    indices: Vec<(Level, Coordinate, Cell)>,
    /// Lanes that the memory says there are.
    count: usize,
}

impl<'a> Gang<'a> {
    fn new(program: &'a Program, launch: &'a KernelLaunch) -> Result<Self> {
        let form = launch.kernel.form();
        let memory = Shared::new(program.bytes)?;
        let mut private_bytes = 0;
        let mut constant = Vec::new();
        let mut lying = Vec::new();
        for (number, object) in form.objects.iter().enumerate() {
            let size = object.dtype.size();
            lying.push(match &object.memory {
                Memory::Private { shape } => {
                    let start = private_bytes;
                    private_bytes += shapes::private_bytes(shape, object.dtype).next_multiple_of(64);
                    Some(Lies { start, shape: shape.as_slice(), strides: row_major(shape, size * GANG) })
                }
                Memory::Constant { shape, elements } => {
                    let mut memory = Shared::new(elements.len() * size)?;
                    for (at, element) in elements.iter().enumerate() {
                        let bytes = element.to_bytes();
                        // SAFETY: the memory was just made for as many elements.
                        unsafe {
                            std::ptr::copy_nonoverlapping(
                                bytes.as_ptr(),
                                memory.start().add(at * size),
                                size,
                            );
                        }
                    }
                    let start = memory.start().addr();
                    constant.push(memory);
                    Some(Lies { start, shape: shape.as_slice(), strides: row_major(shape, size) })
                }
                _ => shapes::parameter_of(form, number).and_then(|at| match &launch.arguments[at] {
                    KernelArgument::Array { ptr, shape, strides } => Some(Lies {
                        start: ptr.as_ptr().addr(),
                        shape: shape.as_slice(),
                        strides: strides.iter().map(|stride| stride * size as isize).collect(),
                    }),
                    _ => None,
                }),
            });
        }
        let mut private = Shared::new(private_bytes)?;
        for (lies, object) in lying.iter_mut().zip(&form.objects) {
            if let (Some(lies), Memory::Private { .. }) = (lies, &object.memory) {
                lies.start += private.start().addr();
            }
        }
        let mut gang = Self {
            program,
            space: &launch.space,
            memory,
            private,
            private_bytes,
            _constant: constant,
            indices: Vec::new(),
            count: 0,
        };
        let caller: Caller = call;
        gang.write(CALLER, caller as usize as u64);
        gang.write(CONTEXT, std::ptr::from_ref(program).addr() as u64);
        for lane in 0..GANG {
            let [halves, wholes] = program.counts;
            gang.bytes(halves, 4 * lane, &(lane as u32).to_le_bytes());
            gang.bytes(wholes, 8 * lane, &(lane as u64).to_le_bytes());
        }
        let lies = |object: usize| lying[object].as_ref();
        for (&given, &cell) in &program.given {
            let number = match given {
                Given::Argument(parameter) => match &launch.arguments[parameter] {
                    KernelArgument::Scalar(scalar) => Some(bits(*scalar)),
                    _ => None,
                },
                Given::Bits(bits) => Some(bits),
                Given::Start(object) => lies(object).map(|lies| lies.start as u64),
                Given::Last(object, axis) => lies(object).map(|lies| lies.shape[axis] as u64 - 1),
                Given::Extent(object, axis) => lies(object).map(|lies| lies.shape[axis] as u64),
                Given::Stride(object, axis) => lies(object).map(|lies| lies.strides[axis] as u64),
                Given::Index(level, coordinate) => {
                    gang.indices.push((level, coordinate, cell));
                    continue;
                }
            };
            let Some(number) = number else {
                return Err(Error::unsupported(
                    "kernel",
                    launch.kernel.name(),
                    "an argument for each parameter",
                    "this is a defect of the engine: please report it",
                ));
            };
            gang.write(cell, number);
        }
        Ok(gang)
    }

    fn bytes(&mut self, cell: Cell, further: usize, bytes: &[u8]) {
        let at = usize::try_from(cell.0).unwrap_or(usize::MAX) + further;
        debug_assert!(at + bytes.len() <= self.program.bytes);
        // SAFETY: cells lie in the memory, which is of the program's length (`Layout::bytes`).
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.memory.start().add(at), bytes.len()) };
    }

    fn write(&mut self, cell: Cell, number: u64) {
        self.bytes(cell, 0, &number.to_le_bytes());
    }

    /// All rows of a group.
    ///
    /// # Safety
    /// As for [`run_kernel`](super::run_kernel).
    unsafe fn group(&mut self, id: [usize; 3]) -> Result<()> {
        let extents = self.space.extents_of(id);
        for first in 0..extents[0] {
            for second in 0..extents[1] {
                let local = [first, second, 0];
                let global = self.space.global_id(id, local);
                // SAFETY: the launch's contract holds, and the rows are of a group of its index space.
                unsafe { self.row(id, global, local, extents[2])? };
            }
        }
        Ok(())
    }

    /// Items one after another along the last axis, from the one of these ids on.
    ///
    /// # Safety
    /// As for [`run_kernel`](super::run_kernel).
    unsafe fn row(
        &mut self,
        group: [usize; 3],
        global: [usize; 3],
        local: [usize; 3],
        len: usize,
    ) -> Result<()> {
        let space = self.space;
        let mut done = 0;
        while done < len {
            let count = GANG.min(len - done);
            self.lanes(count);
            if self.private_bytes > 0 {
                // SAFETY: it was made of so many bytes, and is this thread's.
                unsafe { self.private.start().write_bytes(0, self.private_bytes) };
            }
            for at in 0..self.indices.len() {
                let (level, coordinate, cell) = self.indices[at];
                let (id, extents) = match level {
                    Level::Global => ([global[0], global[1], global[2] + done], space.global),
                    Level::Local => ([local[0], local[1], local[2] + done], space.extents_of(group)),
                    Level::Group => (group, space.groups()),
                };
                let number = match coordinate {
                    Coordinate::Range(axis) => extents[space.axis(axis)],
                    Coordinate::Id(axis) => id[space.axis(axis)],
                    Coordinate::LinearId => Space::linear(id, extents),
                };
                self.write(cell, number as u64);
            }
            // SAFETY: the memory has all cells of the program's layout, whose meaning was written; arrays are the launch's, by the caller's
            // contract, and have elements (`run`); the functions called are those of operations, over lanes of the layout.
            let answer = unsafe { self.program.code.run(self.memory.start()) };
            if answer != 0 {
                return Err(self.stopped(answer, [global[0], global[1], global[2] + done]));
            }
            done += count;
        }
        Ok(())
    }

    /// Says how many lanes there are.
    fn lanes(&mut self, count: usize) {
        if std::mem::replace(&mut self.count, count) == count {
            return;
        }
        let whole = count.next_multiple_of(GRAIN);
        self.write(COUNT, count as u64);
        self.write(WHOLE, whole as u64);
        self.write(LAST, whole as u64 - 1);
        self.write(PARTIAL, u64::from(count != whole));
        let full: [u8; GANG] = std::array::from_fn(|lane| u8::from(lane < count));
        self.bytes(self.program.full, 0, &full);
    }

    /// Why the routine stopped, of the first item that is concerned.
    fn stopped(&mut self, answer: i32, first: [usize; 3]) -> Error {
        let number = usize::try_from(answer - 1).unwrap_or(usize::MAX);
        let Some(Stop { at, mask, assertion }) = self.program.stops.get(number) else {
            return Error::unsupported(
                "kernel",
                "an answer",
                "a known one",
                "this is a defect of the engine: please report it",
            );
        };
        let from = self.memory.start().wrapping_add(usize::try_from(mask.0).unwrap_or(0));
        // SAFETY: a mask has a byte for each lane.
        let is_active = |lane: &usize| unsafe { *from.add(*lane) != 0 };
        let lane = (0..self.count).find(is_active).unwrap_or(0);
        let id = [first[0], first[1], first[2] + lane];
        if let Some(message) = assertion {
            return failed_assertion(*self.space, id, message, at);
        }
        let id = &id[3 - self.space.dims..];
        let message = format!("item {id:?} goes on with a loop for more than {ROUND_LIMIT} rounds");
        Error::kernel(Diagnostic::new(Rule::EndlessLoop, at, message))
    }
}

/// What routines call.
///
/// # Safety
/// The context is a program, the memory is of its layout, and the number is that of one of its calls.
unsafe extern "sysv64" fn call(context: *const (), memory: *mut u8, number: usize) {
    // SAFETY: the context is a program, which outlives the call.
    let program = unsafe { &*context.cast::<Program>() };
    let at = |cell: Cell| memory.wrapping_add(usize::try_from(cell.0).unwrap_or(0));
    // SAFETY: cells of numbers are in the memory, aligned.
    let read = |cell: Cell| unsafe { at(cell).cast::<u64>().read() };
    match program.calls.get(number) {
        Some(Call::Function { run, to, args, flags, one }) => {
            let len = if *one { 1 } else { read(WHOLE) as usize };
            let [a, b, c] = args.map(|cell| at(cell).cast_const());
            // SAFETY: the layout has so many elements of each operand there, or one where the flags say so, aligned, and room for as many results
            // apart from them.
            unsafe { run(at(*to), a, b, c, *flags, len) };
        }
        Some(Call::Rounds(Round { bounds, dtype, rounds })) => {
            let [start, end, step] = bounds.map(|cell| {
                let mut bits = Bits([0; 16]);
                bits.0[..8].copy_from_slice(&read(cell).to_le_bytes());
                bits.integer(*dtype)
            });
            // SAFETY: cells of the rounds are in the memory, aligned for a number.
            unsafe { at(*rounds).cast::<u64>().write(count_rounds(start, end, step)) };
        }
        Some(Call::Each(Each { bounds, same, dtype, rounds })) => {
            let size = dtype.size();
            for lane in 0..read(WHOLE) as usize {
                let bound = |of: usize| {
                    let from = at(bounds[of]).wrapping_add(if same[of] { 0 } else { lane * size });
                    let mut bits = Bits([0; 16]);
                    // SAFETY: the layout has an element of the dtype there, for each lane or for all.
                    unsafe { std::ptr::copy_nonoverlapping(from.cast_const(), bits.0.as_mut_ptr(), size) };
                    bits.integer(*dtype)
                };
                let count = count_rounds(bound(0), bound(1), bound(2));
                let count = i64::try_from(count).unwrap_or(i64::MAX);
                // SAFETY: cells of the rounds are in the memory, with room for a number of each lane.
                unsafe { at(*rounds).cast::<i64>().add(lane).write(count) };
            }
        }
        None => {}
    }
}

/// Where the elements of an object are: the address of the first one, and the bytes from one to the next.
struct Lies<'a> {
    start: usize,
    shape: &'a [usize],
    strides: SmallVec<[isize; 4]>,
}
