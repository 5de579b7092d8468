//! Kernels as machine code. Rows of items are computed as gangs of lanes; where the items of a group meet,
//! all gangs of the group come to such a place before one goes on. What a kernel has that there is no code
//! for is a reason to interpret all of it ([`Unsupported`]).
//!
//! The way of a kernel:
//! ```text
//! shapes   what is one for all items of a row, what follows the ids, what differs
//! lower    the form → a routine of `stridewise-native`, and a layout of the memory that it works on
//! gang     rows or groups, shared by threads: each writes the arguments to its memory, and calls the routine
//! calls    what the routine calls back for (each: the rounds of lanes, collective: what a group makes together)
//! ```
//! A routine is given the memory (`Layout`), in which all cells are, and calls back for what it has no
//! instructions for ([`Call`]): the function of an operation, the rounds of a loop, an atomic, a collective
//! of a group. When it stops early, it answers with the number of a [`Stop`].
//!
//! The interpreter is the oracle: both give the same bits, which the tests compare with random kernels.
//! Bounds are clamped by the code as `access.rs` does it, so arrays without elements are interpreted. A
//! kernel is compiled at its second launch, or at the first one of `MANY` items, as that takes longer than a
//! short launch; one that is watched or has a time limit never is.

mod calls;
mod collective;
mod each;
mod gang;
mod lower;
mod memory;
mod shapes;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use stridewise_core::Result;
use stridewise_core::kernel::{Kernel, KernelArgument, KernelLaunch, Position};
use stridewise_core::observe::{self, Doing};
use stridewise_native::{Cell, Compiled, GRAIN, Refused};

use super::PARTS;
use crate::fork_join;
use crate::kernels::Tuning;
use crate::kernels::native::compiler::{self, Switch};
use calls::{Call, Round};
use each::{Bound, Each};
use gang::Machine;
use memory::{GANG, Given, NEAR_BYTES};
use shapes::Unsupported;

/// Items from which on a kernel is compiled that runs for the first time.
const MANY: usize = 1 << 14;
/// Items of a row that are one part for a thread at least.
const PART: usize = 1 << 12;

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
    /// Items at most that are computed together.
    gang: usize,
    full: Cell,
    counts: [Cell; 2],
    /// Where several rows of a group are computed together: each lane's row.
    rows: Option<[Cell; 2]>,
    given: HashMap<Given, Cell>,
    /// Whether the items of a group meet.
    meets: bool,
    /// Whether the order of items counts.
    ordered: bool,
    /// Whether indices are kept between bounds that the first or the last items of a row may be at.
    edges: bool,
}

/// What is known of a kernel at a level.
struct Known {
    seen: AtomicBool,
    program: std::sync::OnceLock<std::result::Result<Program, Unsupported>>,
}

/// [`compile`], for who looks.
fn compile_seen(kernel: &Kernel, tuning: &Tuning, rows: bool) -> std::result::Result<Program, Unsupported> {
    let _seen = observe::span(Doing::Compile, "a kernel", 0, 0);
    compile(kernel, tuning, rows)
}

/// Compiles a kernel, for several rows of a group at a time or for one, or says why it is interpreted.
fn compile(kernel: &Kernel, tuning: &Tuning, rows: bool) -> std::result::Result<Program, Unsupported> {
    let level = compiler::level_of_kernels(tuning.isa).ok_or(Unsupported::Refused)?;
    let shapes = shapes::shapes(kernel, rows)?;
    let lower = |gang| lower::lower(kernel, &shapes, gang, level, tuning);
    let (gang, ordered) = (shapes::gang(kernel, &shapes), shapes::is_ordered(kernel.form()));
    let mut lowered = lower(gang)?;
    if gang > GANG && !ordered && lowered.layout.bytes().is_none_or(|bytes| bytes > NEAR_BYTES) {
        lowered = lower(GANG)?;
    }
    let lower::Lowered { routine, layout, calls, stops, edges } = lowered;
    let bytes = layout.bytes().ok_or(Unsupported::Refused)?;
    let code = routine.finish().map_err(|why| {
        if why == Refused::Executable {
            compiler::refuse();
        }
        Unsupported::Refused
    })?;
    compiler::perf::note(code.addresses(), || {
        let rows = if rows { ",rows" } else { "" };
        format!("stridewise::kernel::{}[{}{rows}]", kernel.name(), level.name())
    });
    let (gang, full, counts, rows) = (layout.gang, layout.full, layout.counts, layout.rows);
    let given = layout.given;
    let meets = shapes.meets;
    Ok(Program { code, calls, stops, bytes, gang, full, counts, rows, given, meets, ordered, edges })
}

/// Runs a launch by compiled code, where there is some, or it pays to make it; else `None`, and nothing has
/// happened.
///
/// # Safety
/// As for [`run_kernel`](super::run_kernel).
pub(super) unsafe fn run(launch: &KernelLaunch, tuning: &Tuning) -> Option<Result<()>> {
    // Who watches, or looks at the time, does so between steps.
    if launch.checked || launch.time_limit.is_some() {
        return None;
    }
    let switch = compiler::switch();
    if switch == Switch::Off || compiler::is_refused() || compiler::level_of_kernels(tuning.isa).is_none() {
        return None;
    }
    // Of an array without elements there is no nearest one.
    let is_empty = |argument: &KernelArgument| match argument {
        KernelArgument::Array { shape, .. } | KernelArgument::Local(shape) => shape.contains(&0),
        KernelArgument::Scalar(_) => false,
    };
    if launch.arguments.iter().any(is_empty) {
        return None;
    }
    let make = || Some(Known { seen: AtomicBool::new(false), program: std::sync::OnceLock::new() });
    let rows = in_rows(&launch.kernel, launch.space.group);
    let key = if rows { KEY | KEY_ROWS } else { KEY } | tuning.isa as u64;
    let known: Arc<Known> = launch.kernel.prepared(key, make)?;
    let items: usize = launch.space.global.iter().product();
    if !known.seen.swap(true, Ordering::Relaxed) && switch == Switch::On && items < MANY {
        return None;
    }
    let program = known.program.get_or_init(|| compile_seen(&launch.kernel, tuning, rows)).as_ref().ok()?;
    if program.ordered && !gang::in_order(launch) {
        return None;
    }
    // Large groups whose items meet may need too much at once, and short rows leave most of a vector empty.
    let gangs = gang::gangs(program, launch)?;
    if gangs > 1 && launch.space.group[2] < GRAIN && switch == Switch::On {
        return None;
    }
    // SAFETY: the launch's contract holds and nothing else accesses its memory in conflict, as `run_kernel`
    // asks for; `compile` takes only what is supported.
    Some(unsafe { program.run(launch, tuning, gangs) })
}

/// Beside the numbers of levels, the interpreter's keys.
const KEY: u64 = 1 << 8;
/// Of code for several rows of a group at a time.
const KEY_ROWS: u64 = 1 << 9;

/// Whether groups are computed by several rows at a time: those whose rows are whole vectors and fill half a
/// gang at most. What is one for all items of a row is not one for all lanes then, so other groups are not.
fn in_rows(kernel: &Kernel, [_, rows, columns]: [usize; 3]) -> bool {
    kernel.is_grouped() && kernel.form().dims > 1 && rows > 1 && gang::rows(columns, GANG) > 1
}

impl Program {
    /// # Safety
    /// As for [`run_kernel`](super::run_kernel); as many gangs work together as [`gangs`](gang::gangs) says.
    unsafe fn run(&self, launch: &KernelLaunch, tuning: &Tuning, gangs: usize) -> Result<()> {
        let space = &launch.space;
        // Where nothing depends on groups, rows are as long as the index space, and are shared by pieces.
        let grouped = launch.kernel.is_grouped();
        let pieces = if grouped { 1 } else { space.global[2].div_ceil(PART) };
        let units = if grouped { space.group_count() } else { space.global[0] * space.global[1] * pieces };
        let parts = if tuning.threads > 1 { units.min(tuning.threads * PARTS) } else { 1 };
        let failure = Mutex::new(None);
        fork_join::share(parts, tuning.threads, &|part| {
            let run = || {
                let mut machine = Machine::new(self, launch, gangs)?;
                for unit in units * part / parts..units * (part + 1) / parts {
                    // SAFETY: the launch's contract holds, and groups or pieces of rows are each one
                    // thread's.
                    unsafe {
                        if grouped {
                            machine.group(space.group_id(unit))?;
                        } else {
                            let (row, piece) = (unit / pieces, unit % pieces);
                            let first = [row / space.global[1], row % space.global[1], piece * PART];
                            machine.row(first, PART.min(space.global[2] - first[2]))?;
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
