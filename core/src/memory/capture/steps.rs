//! Commands that are submitted again, in the same memory or in other.

use std::ops::Range;
use std::sync::Arc;

use crate::backend::{Command, Step};
use crate::cut::Cut;
use crate::error::{Error, Result};
use crate::form::KernelArgument;
use crate::memory::allocation::Allocation;
use crate::memory::reach;
use crate::memory::schedule::{self, Access, Batch};
use crate::memory::track::Mode;
use crate::memory::{UsmPtr, heap};
use crate::plan::LaunchPlan;
use crate::runtime::{Event, Queue};

/// Commands that were submitted once, in their order, and may be again: the contract of the backends holds for each of them, as long
/// as their memory is there, which this keeps.
pub(crate) struct Steps {
    queue: Queue,
    steps: Arc<[Step]>,
    /// What each of them was said to access.
    stated: Vec<Vec<Access>>,
    /// What each accesses as the scheduler is to know it: what memory of the commands' own holds before them, nobody needs, so
    /// that a failure of an earlier run is not inherited.
    accesses: Vec<Vec<Access>>,
    /// What all of them access as one.
    whole: Vec<Access>,
    /// Memory that was made for them.
    own: Vec<Arc<Allocation>>,
    /// Why each ends where it does.
    cuts: Arc<[Cut]>,
}

/// Memory in place of other memory.
pub(crate) struct Move {
    pub(crate) from: Arc<Allocation>,
    pub(crate) to: Arc<Allocation>,
}

/// Memory that steps access: whether they write it.
pub(crate) struct Used<'a> {
    pub(crate) memory: &'a Arc<Allocation>,
    pub(crate) writes: bool,
    /// The bytes that they access lie in these.
    pub(crate) bytes: Range<usize>,
}

impl Steps {
    pub(in crate::memory) fn new(
        queue: Queue,
        steps: Arc<[Step]>,
        stated: Vec<Vec<Access>>,
        own: Vec<Arc<Allocation>>,
        cuts: Arc<[Cut]>,
    ) -> Result<Self> {
        let is_own = |memory: &Arc<Allocation>| own.iter().any(|own| Arc::ptr_eq(own, memory));
        let mut touched: Vec<*const Allocation> = Vec::new();
        let mut accesses = heap::with_capacity("accesses", stated.len())?;
        let mut whole: Vec<Access> = Vec::new();
        for step in &stated {
            let mut of_step = heap::collect("accesses", step.iter().cloned())?;
            for access in &mut of_step {
                let is_first = !touched.contains(&Arc::as_ptr(&access.allocation));
                if is_first && is_own(&access.allocation) {
                    access.mode = Mode::Write;
                }
            }
            let seen = of_step.iter().map(|access| Arc::as_ptr(&access.allocation));
            for memory in seen {
                if !touched.contains(&memory) {
                    heap::push("memory", &mut touched, memory)?;
                }
            }
            for mode in [Mode::Read, Mode::Write] {
                for access in of_step.iter().filter(|access| access.mode == mode) {
                    let mode = if is_own(&access.allocation) { Mode::Write } else { mode };
                    add(&mut whole, &Access { mode, ..access.clone() })?;
                }
            }
            heap::push("accesses", &mut accesses, of_step)?;
        }
        Ok(Self { queue, steps, stated, accesses, whole, own, cuts })
    }

    pub(crate) fn queue(&self) -> &Queue {
        &self.queue
    }

    /// The commands, each with what it accesses.
    pub(crate) fn commands(&self) -> impl Iterator<Item = (&Step, &[Access])> {
        self.steps.iter().zip(self.stated.iter().map(Vec::as_slice))
    }

    /// Why each of the commands ends where it does.
    pub(crate) fn cuts(&self) -> &[Cut] {
        &self.cuts
    }

    /// Whether memory was made for the commands.
    pub(crate) fn owns(&self, memory: &Arc<Allocation>) -> bool {
        self.own.iter().any(|own| Arc::ptr_eq(own, memory))
    }

    /// All memory that is accessed, in the order of the first access.
    pub(crate) fn used(&self) -> Vec<Used<'_>> {
        let mut used: Vec<Used<'_>> = Vec::new();
        for access in self.stated.iter().flatten() {
            let writes = access.mode == Mode::Write;
            let bytes = access.region.range();
            match used.iter_mut().find(|used| Arc::ptr_eq(used.memory, &access.allocation)) {
                Some(used) => {
                    used.writes |= writes;
                    used.bytes = used.bytes.start.min(bytes.start)..used.bytes.end.max(bytes.end);
                }
                None => used.push(Used { memory: &access.allocation, writes, bytes }),
            }
        }
        used
    }

    /// The same commands on other memory, which has what they access of the memory that it replaces at the same offsets.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] where it is too small; [`Error::Borrow`] where the commands would write what others of them access
    /// under another name; [`Error::Alloc`].
    pub(crate) fn moved(&self, moves: &[Move]) -> Result<Self> {
        let memory = |memory: &Arc<Allocation>| {
            let moved = moves.iter().find(|change| Arc::ptr_eq(&change.from, memory));
            Arc::clone(moved.map_or(memory, |change| &change.to))
        };
        let mut stated = heap::with_capacity("accesses", self.stated.len())?;
        for step in &self.stated {
            let moved =
                step.iter().map(|access| Access { allocation: memory(&access.allocation), ..access.clone() });
            let moved = heap::collect("accesses", moved)?;
            if let Some(access) =
                moved.iter().find(|access| access.region.range().end > access.allocation.bytes())
            {
                return Err(Error::out_of_bounds(
                    "inputs",
                    format!("memory of {} bytes", access.allocation.bytes()),
                    format!("{} bytes, which the captured commands access", access.region.range().end),
                    "give an array of the shape and layout of the captured one",
                ));
            }
            heap::push("accesses", &mut stated, moved)?;
        }
        let place = |ptr: UsmPtr| {
            let inside = |change: &&Move| {
                let start = change.from.ptr().addr();
                (start..start + change.from.bytes()).contains(&ptr.addr())
            };
            // No memory of the commands overlaps other memory of them (`check_apart`), so an address is in one.
            moves.iter().find(inside).map_or(ptr, |change| {
                let ahead = ptr.addr() - change.from.ptr().addr();
                change.to.ptr().byte_offset(ahead.cast_signed())
            })
        };
        let mut steps = heap::collect("commands", self.steps.iter().cloned())?;
        for (step, accesses) in steps.iter_mut().zip(&stated) {
            relocate(step, place);
            reach::check_step(step, accesses)?;
        }
        let own = heap::collect("memory", self.own.iter().map(memory))?;
        self.check_apart_in(memory)?;
        Self::new(self.queue.clone(), steps.into(), stated, own, Arc::clone(&self.cuts))
    }

    /// Checks that no memory is known under two names, so that an address says which it is.
    ///
    /// # Errors
    /// [`Error::Borrow`].
    pub(crate) fn check_apart(&self) -> Result<()> {
        let used = self.used();
        let overlap = |a: &Used<'_>, b: &Used<'_>| meet(a.memory, b.memory);
        check_pairs(&used, overlap)
    }

    /// Checks that what is written overlaps nothing else where the commands have other memory.
    fn check_apart_in(&self, memory: impl Fn(&Arc<Allocation>) -> Arc<Allocation>) -> Result<()> {
        let used = self.used();
        let overlap =
            |a: &Used<'_>, b: &Used<'_>| (a.writes || b.writes) && meet(&memory(a.memory), &memory(b.memory));
        check_pairs(&used, overlap)
    }

    /// Submits the commands again: as one where the device takes such; else one after the other, from the one on that those
    /// which were submitted lead to. The caller holds the queue's flush lock, and no lock of memory.
    ///
    /// # Errors
    /// As for any submission. Where the commands are several, those before may have been submitted.
    pub(crate) fn submit(&self, submitted: &mut Vec<Event>, batch: &mut Batch<'_>) -> Result<Event> {
        let queue = &self.queue;
        if self.steps.len() > 1 && queue.device().capabilities().sequences {
            let command = Command::Sequence(Arc::clone(&self.steps));
            // SAFETY: each command was valid when it was submitted first, on the same memory or (`moved`) on memory whose accesses were
            // checked again, and touches what its accesses say; `whole` names all of these. They run in their order, which is the
            // one that the locks of their memory gave them (`Recording::note`).
            return unsafe { schedule::submit(queue, &mut Some(command), &self.whole, &[], batch) };
        }
        while let (Some(step), Some(accesses)) =
            (self.steps.get(submitted.len()), self.accesses.get(submitted.len()))
        {
            // SAFETY: the command was valid when it was submitted first, on the same memory or (`moved`) on memory whose accesses were checked
            // again, and touches what its accesses say.
            let event =
                unsafe { schedule::submit(queue, &mut Some(step.clone().into()), accesses, &[], batch) }?;
            heap::push("events", submitted, event)?;
        }
        match &submitted[..] {
            [] => Ok(Event::ready()),
            [event] => Ok(event.clone()),
            events => schedule::barrier_in(queue, events, batch),
        }
    }
}

fn meet(a: &Allocation, b: &Allocation) -> bool {
    a.meets(&(0..a.bytes()), b, &(0..b.bytes()))
}

fn check_pairs(used: &[Used<'_>], overlap: impl Fn(&Used<'_>, &Used<'_>) -> bool) -> Result<()> {
    let clash = used.iter().enumerate().any(|(k, a)| used[..k].iter().any(|b| overlap(a, b)));
    if !clash {
        return Ok(());
    }
    Err(Error::borrow(
        "inputs",
        "in memory that the captured commands use otherwise, too",
        "memory apart from all else that they access",
        "copy it first",
    ))
}

/// Adds an access behind others: what was written before is not read from outside.
fn add(whole: &mut Vec<Access>, access: &Access) -> Result<()> {
    let allocation = &access.allocation;
    let same = |other: &Access| Arc::ptr_eq(&other.allocation, allocation);
    let known = |other: &Access| {
        let counts = other.mode == Mode::Write || access.mode == Mode::Read;
        counts && same(other) && other.region.contains(&access.region)
    };
    if whole.iter().any(known) {
        return Ok(());
    }
    let mut access = access.clone();
    // Dense parts that lie side by side are one, as rows that were written one after the other.
    let mut at = 0;
    while at < whole.len() {
        let other = &whole[at];
        let alike = other.mode == access.mode && same(other);
        match other.region.joined(&access.region).filter(|_| alike) {
            Some(joined) => {
                access.region = joined;
                whole.swap_remove(at);
                at = 0;
            }
            None => at += 1,
        }
    }
    heap::push("accesses", whole, access)
}

/// Changes the addresses of memory in a command.
pub(in crate::memory) fn relocate(step: &mut Step, place: impl Fn(UsmPtr) -> UsmPtr) {
    let plan = |plan: &mut LaunchPlan| {
        let program = Arc::clone(&plan.program);
        for (k, input) in plan.inputs.iter_mut().enumerate() {
            // An index is no address.
            if !program.is_index(k) {
                input.ptr = place(input.ptr);
            }
        }
        plan.outputs.iter_mut().for_each(|output| output.ptr = place(output.ptr));
    };
    match step {
        Step::Launch(plans) => plans.iter_mut().for_each(plan),
        Step::Stages(stages) => stages.iter_mut().flatten().for_each(plan),
        Step::Kernel(launch) => {
            for argument in &mut launch.arguments {
                if let KernelArgument::Array { ptr, .. } = argument {
                    *ptr = place(*ptr);
                }
            }
        }
        Step::Copy { dst, src, .. } => {
            *dst = place(*dst);
            *src = place(*src);
        }
        Step::Fill { dst, .. } => *dst = place(*dst),
    }
}
