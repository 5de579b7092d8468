//! Kernels that users write, run in lock-step: between barriers the items of a group are run as lanes of frames, step by
//! step, each step by the function that plans use for the operation. One group is one thread's, so that atomic accesses to
//! local memory are plain ones, in the order of lanes.
//!
//! What holds one value for all lanes is computed once; integers that follow the local ids are kept as such, so that what they
//! address is copied and not gathered, and comparisons of them with bounds mostly hold for all lanes or none
//! ([`frame::Held`]). Branches that lanes differ in run both sides, each with the lanes that take it ([`frame::Mask`]).
//!
//! The twelve examples, interpreted, beside Numba 0.68 (`@njit(parallel=True, fastmath=False)`, two threads
//! of a Zen 5, medians, in turns: `ffi/python/benches/kernels.py`), as a ratio of times, above 1 where we are
//! ahead: Black-Scholes 1.1 to 1.4, N-body 0.86, reduction 0.45 to 1.1, mandelbrot 0.5 to 0.6, k-means 0.25
//! to 0.5, bitonic sort 0.35, reverse 0.25, convolution 0.09 to 0.17, Jacobi 0.11, matrix product 0.06 to
//! 0.09, histogram 0.04 to 0.07, scan 0.02 to 0.09. The first call of a fresh kernel takes 0.3 to 3 ms,
//! Numba's 200 to 2000. Masks of bits instead of bytes, counters of loops that follow the ids, index
//! arithmetic per level and loads without a copy brought reduction from 118 ms to between 4 and 9,
//! convolution from 1150 to 350, matrix products (with tiles of 256 items) from 2450 to 840, histogram from
//! 660 to 250, scan from 288 to 170.
//!
//! The limit: a step costs 20 to 30 ns besides its lanes, and a step of 256 lanes of `float64` moves 6 KiB
//! between the first cache and registers, where a compiled loop keeps a sum in registers. So whatever does
//! one or two operations for each element that it loads stays at a tenth; whatever computes on what it has
//! loaded is at par. Atomic sums into few bins wait for the store before, 3 ns each.

mod access;
mod code;
#[cfg(all(feature = "native", target_arch = "x86_64", unix))]
mod compiled;
mod estimate;
mod frame;
mod run;
mod values;

use std::cell::RefCell;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use smallvec::SmallVec;
use stridewise_core::backend::Support;
use stridewise_core::kernel::{
    Fence, Kernel, KernelArgument, KernelLaunch, Memory, Parameter, Position, Watch, Watched,
};
use stridewise_core::{Error, Result};

use access::{Place, row_major};
use code::{Code, Kind, Step, Together};
pub(crate) use estimate::estimate_ns;
use frame::{Bits, Frame, Held, LANES, Shared};
use run::{Clock, Done, Group, count_rounds, narrow};

use crate::fork_join;
use crate::kernels::{self, Tuning};

/// Parts that the groups of a launch are divided into for each thread, so that none is left with much at the end: items of kernels
/// differ more than elements. With a half or twice as many, nothing took more than a twelfth longer or shorter.
const PARTS: usize = 2 * kernels::PARTS;

/// Whether a kernel can run here.
pub(crate) fn supports(kernel: &Kernel, tuning: &Tuning) -> Support {
    code::refused(kernel, tuning).map_or(Support::Native, Support::No)
}

/// Runs a launch to the end.
///
/// # Errors
/// [`Error::Kernel`] for a loop that does not end, or a launch that takes longer than it may; [`Error::Alloc`] where there is no memory for what a thread needs.
///
/// # Safety
/// - The contract of [`KernelLaunch`] holds.
/// - [`supports`] accepts the kernel.
/// - Nothing else accesses its memory in conflict until this returns.
/// - The processor has the instruction set of `tuning`.
pub(crate) unsafe fn run_kernel(launch: &KernelLaunch, tuning: &Tuning) -> Result<()> {
    #[cfg(all(feature = "native", target_arch = "x86_64", unix))]
    // SAFETY: `compiled::run` has the contract of this function.
    if let Some(done) = unsafe { compiled::run(launch, tuning) } {
        return done;
    }
    // Functions are chosen by the level alone.
    let compile = || code::compile(&launch.kernel, tuning);
    let Some(code) = launch.kernel.prepared(tuning.isa as u64, compile) else {
        return Err(Error::unsupported(
            "kernel",
            launch.kernel.name(),
            "operations that the host has functions for",
            "this is a defect of the engine: please report it",
        ));
    };
    let groups = launch.space.group_count();
    // Who watches has to see all groups, in an order.
    let parts = if tuning.threads > 1 && !launch.checked { groups.min(tuning.threads * PARTS) } else { 1 };
    let clock = launch.time_limit.map(|limit| (Instant::now(), limit));
    let failure = Mutex::new(None);
    fork_join::share(parts, tuning.threads, &|part| {
        let run = || {
            let mut machine = Machine::new(launch, &code, tuning, clock)?;
            (groups * part / parts..groups * (part + 1) / parts).try_for_each(|group| machine.run(group))
        };
        if let Err(error) = run() {
            failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    });
    failure.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

/// What a thread runs groups with.
struct Machine<'a> {
    launch: &'a KernelLaunch,
    code: &'a Code,
    isa: crate::simd::Isa,
    places: Vec<Place>,
    frames: Vec<Frame>,
    watch: Option<RefCell<Watch>>,
    clock: Option<Clock>,
    /// What the places of local and constant objects point into.
    _memory: Vec<Shared>,
}

impl<'a> Machine<'a> {
    fn new(
        launch: &'a KernelLaunch,
        code: &'a Code,
        tuning: &Tuning,
        limit: Option<(Instant, Duration)>,
    ) -> Result<Self> {
        let kernel = &launch.kernel;
        let (mut places, mut memory, mut private) = (Vec::new(), Vec::new(), 0_usize);
        let len = launch.space.group_len();
        // Frames are as large as the lanes that run, so that a few items need the memory of a few.
        let width = frame_items(&launch.space.group, len).map(|items| items.len()).max().unwrap_or(1);
        for (number, object) in kernel.form().objects.iter().enumerate() {
            let position = kernel.form().parameters.iter().position(
                |parameter| matches!(parameter, Parameter::Object(object) if object.number() == number),
            );
            let size = object.dtype.size();
            let place = |start, shape: &[usize], lane| Place {
                start,
                shape: shape.into(),
                strides: row_major(shape, if lane == 0 { size } else { size * width }),
                size,
                lane,
                global: false,
            };
            let bytes = |shape: &[usize]| shape.iter().product::<usize>() * size;
            places.push(match (&object.memory, position.map(|position| &launch.arguments[position])) {
                (_, Some(KernelArgument::Array { ptr, shape, strides })) => Place {
                    start: ptr.as_ptr(),
                    shape: shape.clone(),
                    strides: strides.iter().map(|stride| stride * size as isize).collect(),
                    size,
                    lane: 0,
                    global: true,
                },
                (Memory::Private { shape }, _) => {
                    // An offset: each frame has memory of its own.
                    let start = std::ptr::without_provenance_mut(private * width);
                    private += bytes(shape).div_ceil(64) * 64;
                    place(start, shape, size)
                }
                (Memory::Constant { shape, elements }, _) => {
                    let mut shared = Shared::new(bytes(shape))?;
                    for (i, element) in elements.iter().enumerate() {
                        // SAFETY: the memory was just made for as many elements.
                        unsafe {
                            let bits = element.to_bytes();
                            std::ptr::copy_nonoverlapping(bits.as_ptr(), shared.start().add(i * size), size);
                        }
                    }
                    let place = place(shared.start(), shape, 0);
                    memory.push(shared);
                    place
                }
                (of_form, argument) => {
                    let shape: &[usize] = match (code::extents(of_form), argument) {
                        (Some(shape), _) => shape,
                        (None, Some(KernelArgument::Local(shape))) => shape,
                        _ => &[0],
                    };
                    let mut shared = Shared::new(bytes(shape))?;
                    let place = place(shared.start(), shape, 0);
                    memory.push(shared);
                    place
                }
            });
        }
        let mut frames = Vec::with_capacity(len.div_ceil(LANES));
        for items in frame_items(&launch.space.group, len) {
            let mut frame = Frame::new(code, items, width, private)?;
            for (slot, argument) in code.scalars.iter().zip(&launch.arguments) {
                if let (Some(slot), KernelArgument::Scalar(scalar)) = (slot, argument) {
                    frame.slots[*slot].held = Held::Same(Bits::of(*scalar));
                }
            }
            frames.push(frame);
        }
        let watched = |place: &Place| Watched {
            address: place.start.addr(),
            shape: place.shape.to_vec(),
            strides: place.strides.to_vec(),
        };
        let watch = match launch.checked {
            true => Some(Watch::new(kernel, launch.space, places.iter().map(watched).collect())?),
            false => None,
        };
        let watch = watch.map(RefCell::new);
        let clock = limit.map(|(begin, limit)| Clock::new(begin, limit));
        Ok(Self { launch, code, isa: tuning.isa, places, frames, watch, clock, _memory: memory })
    }

    fn run(&mut self, number: usize) -> Result<()> {
        let space = &self.launch.space;
        let id = space.group_id(number);
        for frame in &mut self.frames {
            frame.begin(space, id);
        }
        if let Some(watch) = &self.watch {
            watch.borrow_mut().begin(number);
        }
        let (watch, clock) = (self.watch.as_ref(), self.clock.as_ref());
        let group = Group { space, places: &self.places, id, isa: self.isa, watch, clock };
        if let (Some(clock), Some(first)) = (clock, self.launch.kernel.form().body.first()) {
            clock.look(&first.at)?;
        }
        group.together(&mut self.frames, &self.code.steps)
    }
}

/// The items of each frame: whole rows, where a frame has room for one.
fn frame_items(group: &[usize; 3], len: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    let row = group[2];
    let most = if row <= LANES { LANES / row * row } else { LANES };
    (0..len).step_by(most).map(move |first| first..(first + most).min(len))
}

/// A branch, loop or call that all frames of a group are in, as it has a barrier inside. Masks are those of the frames.
enum Open {
    /// Those that take the other block, then those that have taken the first one.
    If(Masks),
    While {
        saved: Saved,
        rounds: u64,
    },
    For {
        saved: Saved,
        round: u64,
        rounds: u64,
        first: i64,
        by: i64,
    },
    Call(Saved),
}

impl Group<'_> {
    /// Runs a kernel up to each barrier, frame after frame. Where a step has one inside, all items agree on what it does, by the
    /// verifier.
    fn together(&self, frames: &mut [Frame], steps: &[Step]) -> Done {
        let mut open = Vec::new();
        let mut at = 0;
        while let Some(step) = steps.get(at) {
            if !step.meets {
                let more = steps[at..].iter().position(|step| step.meets);
                let end = more.map_or(steps.len(), |more| at + more);
                frames.iter_mut().try_for_each(|frame| self.run(frame, steps, at..end))?;
                at = end;
                continue;
            }
            at = match step.kind.ends() || any(frames) {
                true => self.meeting(frames, steps, at, &mut open)?,
                false => step.out,
            };
        }
        Ok(())
    }

    /// Does a step that all frames do together, and says which one comes next.
    fn meeting(
        &self,
        frames: &mut [Frame],
        steps: &[Step],
        at: usize,
        open: &mut Vec<Open>,
    ) -> Result<usize> {
        let step = &steps[at];
        match &step.kind {
            Kind::Collective { dst, collective, operand } => {
                self.all_come(frames, Fence::LOCAL, &step.at)?;
                if let (Some(watch), Together::Broadcast(from)) = (self.watch, collective) {
                    let all = frames.iter().map(|frame| frame.active.count).sum();
                    watch.borrow().broadcast(said(frames, *from).integer(from.dtype), all, &step.at)?;
                }
                collect(frames, *dst, *collective, *operand);
            }
            Kind::Barrier(fence) => self.all_come(frames, *fence, &step.at)?,
            Kind::If { condition, otherwise, end } => {
                let all: Masks = frames.iter().map(|frame| frame.active).collect();
                frames.iter_mut().for_each(|frame| narrow(frame, *condition));
                let no = frames.iter().zip(&all).map(|(frame, all)| all.without(frame.active)).collect();
                open.push(Open::If(no));
                if !any(frames) {
                    // At the step between the blocks, or, where there is no other one, at the end.
                    return Ok(if otherwise == end { *end } else { *otherwise });
                }
            }
            Kind::Else { .. } => {
                if let Some(Open::If(other)) = open.last_mut() {
                    let both = frames.iter_mut().zip(other);
                    both.for_each(|(frame, other)| std::mem::swap(&mut frame.active, other));
                }
            }
            Kind::EndIf => {
                if let Some(Open::If(other)) = open.pop() {
                    let both = frames.iter_mut().zip(other);
                    both.for_each(|(frame, other)| frame.active = frame.active.join(other));
                }
            }
            Kind::While => open.push(Open::While { saved: enter(frames), rounds: 0 }),
            Kind::Test { condition, end } => {
                frames.iter_mut().for_each(|frame| narrow(frame, *condition));
                let Some(first) = frames.iter().find(|frame| frame.active.count > 0) else {
                    exit(frames, open.pop());
                    return Ok(*end + 1);
                };
                if let Some(Open::While { rounds, .. }) = open.last_mut() {
                    *rounds += 1;
                    self.round(*rounds, first, &step.at)?;
                }
            }
            Kind::Again { head } => {
                go_on(frames);
                return Ok(*head);
            }
            Kind::For { bounds, .. } => {
                let saved = enter(frames);
                self.agree(frames, *bounds, &step.at)?;
                let [start, end, step] = bounds.map(|bound| said(frames, bound).integer(bound.dtype));
                let rounds = count_rounds(start, end, step);
                open.push(Open::For { saved, round: 0, rounds, first: start as i64, by: step as i64 });
                return Ok(next_round(frames, steps, at, open));
            }
            Kind::Next { begin } => {
                self.tick(&step.at)?;
                go_on(frames);
                if let Some(Open::For { round, .. }) = open.last_mut() {
                    *round = round.wrapping_add(1);
                }
                return Ok(next_round(frames, steps, *begin, open));
            }
            Kind::Call => {
                let saved = frames.iter_mut().map(|frame| (frame.active, frame.returned.take())).collect();
                open.push(Open::Call(saved));
            }
            Kind::EndCall => {
                if let Some(Open::Call(saved)) = open.pop() {
                    for (frame, saved) in frames.iter_mut().zip(saved) {
                        (frame.active, frame.returned) = saved;
                    }
                }
            }
            _ => {}
        }
        Ok(at + 1)
    }

    /// At a barrier: frames are run one after the other, so all that come have come.
    fn all_come(&self, frames: &[Frame], fence: Fence, at: &Position) -> Done {
        let Some(watch) = self.watch else { return Ok(()) };
        let all: usize = frames.iter().map(Frame::existing).sum();
        let here: usize = frames.iter().map(|frame| frame.active.count).sum();
        let lanes = |row: &frame::Row| row.lane..row.lane + row.len;
        let missing = frames.iter().find_map(|frame| {
            let lane = frame.rows.iter().flat_map(lanes).find(|&lane| !frame.active.has(lane))?;
            Some(self.item(frame, lane))
        });
        if let Some(item) = missing {
            return Err(watch.borrow().divergent(all - here, all, item, at));
        }
        watch.borrow_mut().barrier(fence);
        Ok(())
    }

    /// In checked mode, makes sure that the bounds of a loop with a barrier are the same for all.
    fn agree(&self, frames: &mut [Frame], bounds: [code::Arg; 3], at: &Position) -> Done {
        let Some(watch) = self.watch else { return Ok(()) };
        let all: usize = frames.iter().map(Frame::existing).sum();
        for bound in bounds {
            let expected = said(frames, bound);
            for frame in frames.iter_mut() {
                for lane in 0..frame.len {
                    if frame.active.has(lane) && frame.value(bound, lane) != expected {
                        let item = self.item(frame, lane);
                        return Err(watch.borrow().divergent(1, all, item, at));
                    }
                }
            }
        }
        Ok(())
    }
}

fn any(frames: &[Frame]) -> bool {
    frames.iter().any(|frame| frame.active.count > 0)
}

type Masks = SmallVec<[frame::Mask; 1]>;
type Saved = SmallVec<[(frame::Mask, frame::Mask); 1]>;

fn enter(frames: &mut [Frame]) -> Saved {
    frames.iter_mut().map(|frame| (frame.active, frame.continued.take())).collect()
}

fn go_on(frames: &mut [Frame]) {
    for frame in frames {
        frame.active = frame.active.join(frame.continued.take());
    }
}

/// Goes on behind a loop, with those that came to it and have not returned.
fn exit(frames: &mut [Frame], open: Option<Open>) {
    let Some(Open::While { saved, .. } | Open::For { saved, .. }) = open else { return };
    for (frame, (entry, continued)) in frames.iter_mut().zip(saved) {
        frame.active = entry.without(frame.returned);
        frame.continued = continued;
    }
}

/// Begins the round that comes next of a loop that counts, or leaves it, and says where the group goes on.
fn next_round(frames: &mut [Frame], steps: &[Step], at: usize, open: &mut Vec<Open>) -> usize {
    let (Kind::For { counter, end, .. }, Some(&Open::For { round, rounds, first, by, .. })) =
        (&steps[at].kind, open.last())
    else {
        return steps.len();
    };
    if round >= rounds || !any(frames) {
        exit(frames, open.pop());
        return end + 1;
    }
    let bits = Bits::wrapped(first.wrapping_add((round as i64).wrapping_mul(by)), counter.dtype);
    frames.iter_mut().for_each(|frame| frame.slots[counter.slot].held = Held::Same(bits));
    at + 1
}

/// What all items have that take part, by the verifier the same.
fn said(frames: &mut [Frame], arg: code::Arg) -> Bits {
    let first = frames.iter_mut().find(|frame| frame.active.count > 0);
    first.map_or(Bits([0; 16]), |frame| {
        let lane = frame.first_active();
        frame.value(arg, lane)
    })
}

/// A value of all items of a group, in the order of their ids.
fn collect(frames: &mut [Frame], dst: usize, collective: Together, operand: code::Arg) {
    let dst = code::Arg { slot: dst, dtype: operand.dtype };
    let fold = |run: stridewise_core::backend::ElementsFn, a: Bits, b: Bits| {
        let mut result = Bits([0; 16]);
        let (a, b) = (a.0.as_ptr(), b.0.as_ptr());
        // SAFETY: one element each, aligned for any dtype, apart from each other.
        unsafe { run(result.0.as_mut_ptr(), a, b, a, 0, 1) };
        result
    };
    let same = |frames: &mut [Frame], bits: Bits| {
        for frame in frames {
            frame.slots[dst.slot].held = Held::Same(bits);
        }
    };
    let mut so_far: Option<Bits> = None;
    match collective {
        Together::Broadcast(from) => {
            // The item, or the nearest one.
            let mut from =
                usize::try_from(said(frames, from).integer(from.dtype).max(0)).unwrap_or(usize::MAX);
            let mut found = Bits([0; 16]);
            for frame in frames.iter_mut() {
                let count = frame.active.count;
                if let Some(lane) = frame.active.lanes().nth(from.min(count.saturating_sub(1))) {
                    found = frame.value(operand, lane);
                }
                if from < count {
                    break;
                }
                from -= count;
            }
            same(frames, found);
        }
        Together::Reduce(run) => {
            for frame in frames.iter_mut() {
                for lane in 0..frame.len {
                    if frame.active.has(lane) {
                        let value = frame.value(operand, lane);
                        so_far = Some(so_far.map_or(value, |sum| fold(run, sum, value)));
                    }
                }
            }
            same(frames, so_far.unwrap_or(Bits([0; 16])));
        }
        Together::Inclusive(run) | Together::Exclusive(run, _) => {
            for frame in frames.iter_mut() {
                for lane in 0..frame.len {
                    if !frame.active.has(lane) {
                        continue;
                    }
                    let value = frame.value(operand, lane);
                    let sum = so_far.map_or(value, |sum| fold(run, sum, value));
                    let result = match collective {
                        Together::Exclusive(_, identity) => so_far.unwrap_or(identity),
                        _ => sum,
                    };
                    so_far = Some(sum);
                    frame.set_value(dst, lane, result);
                }
                frame.slots[dst.slot].held = Held::Lanes;
            }
        }
    }
}
