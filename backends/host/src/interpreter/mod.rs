//! Kernels that users write, run in lock-step: between barriers the items of a group are run as lanes of frames, step by
//! step, each step by the function that plans use for the operation. One group is one thread's, so that atomic accesses to
//! local memory are plain ones, in the order of lanes.
//!
//! What holds one value for all lanes is computed once; integers that follow the local ids are kept as such, so that what they
//! address is copied and not gathered, and comparisons of them with bounds mostly hold for all lanes or none
//! ([`frame::Held`]). Branches that lanes differ in run both sides, each with the lanes that take it ([`frame::Mask`]).

mod access;
mod code;
mod frame;
mod run;

use std::cell::RefCell;
use std::sync::{Mutex, PoisonError};

use smallvec::SmallVec;
use stridewise_core::backend::Support;
use stridewise_core::kernel::{
    Fence, Kernel, KernelArgument, KernelLaunch, Memory, Parameter, Position, Watch,
};
use stridewise_core::{Error, Result};

use access::{Place, row_major};
use code::{Block, Code, Kind, Step, Together};
use frame::{Bits, Frame, Held, LANES, Shared};
use run::{Done, Group, count_rounds, leave, narrow};

use crate::fork_join;
use crate::kernels::Tuning;

/// Rough time of a step of an item, in picoseconds, and how often a loop is taken to go round.
const STEP_PS: u64 = 300;
const ROUNDS: u64 = 64;
/// Parts that the groups of a launch are divided into for each thread, so that none is left with much at the end.
const PARTS: usize = 8;

/// Whether a kernel can run here.
pub(crate) fn supports(kernel: &Kernel, tuning: &Tuning) -> Support {
    code::refused(kernel, tuning).map_or(Support::Native, Support::No)
}

/// Rough time of a launch on one thread, in nanoseconds.
pub(crate) fn estimate_ns(launch: &KernelLaunch) -> u64 {
    fn steps(block: &stridewise_core::kernel::Block) -> u64 {
        use stridewise_core::kernel::StatementKind::{For, While};
        let all = block.iter().map(|statement| {
            let inside = statement.kind.blocks().map(steps).fold(1, u64::saturating_add);
            let repeated = matches!(statement.kind, For { .. } | While { .. });
            inside.saturating_mul(if repeated { ROUNDS } else { 1 })
        });
        all.fold(0, u64::saturating_add)
    }
    let items = launch.space.global.iter().product::<usize>() as u64;
    let item_ps = steps(&launch.kernel.form().body).saturating_mul(STEP_PS);
    // Compiling and the frames of a thread cost some microseconds.
    let ns = 5_000 + items.saturating_mul(item_ps) / 1000;
    // Who watches looks at every element that is accessed.
    if launch.checked { ns.saturating_mul(200) } else { ns }
}

/// Runs a launch to the end.
///
/// # Errors
/// [`Error::Kernel`] for a loop that does not end, [`Error::Alloc`] where there is no memory for what a thread needs.
///
/// # Safety
/// The contract of [`KernelLaunch`] holds, [`supports`] accepts the kernel, and nothing else accesses its memory in conflict.
pub(crate) unsafe fn run_kernel(launch: &KernelLaunch, tuning: &Tuning) -> Result<()> {
    // Functions are chosen by the level alone.
    let key = (tuning.isa as u64) << 1 | u64::from(launch.checked);
    let compile = || code::compile(&launch.kernel, tuning, launch.checked);
    let Some(code) = launch.kernel.prepared(key, compile) else {
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
    let failure = Mutex::new(None);
    fork_join::share(parts, tuning.threads, &|part| {
        let run = || {
            let mut machine = Machine::new(launch, &code, tuning)?;
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
    /// What the places of local and constant objects point into.
    _memory: Vec<Shared>,
}

impl<'a> Machine<'a> {
    fn new(launch: &'a KernelLaunch, code: &'a Code, tuning: &Tuning) -> Result<Self> {
        let kernel = &launch.kernel;
        let (mut places, mut memory, mut private) = (Vec::new(), Vec::new(), 0_usize);
        for (number, object) in kernel.form().objects.iter().enumerate() {
            let position = kernel.form().parameters.iter().position(
                |parameter| matches!(parameter, Parameter::Object(object) if object.number() == number),
            );
            let size = object.dtype.size();
            let place = |start, shape: &[usize], lane| Place {
                start,
                shape: shape.into(),
                strides: row_major(shape, if lane == 0 { size } else { size * LANES }),
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
                    let start = std::ptr::without_provenance_mut(private * LANES);
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
        let len = launch.space.group_len();
        let mut frames = Vec::with_capacity(len.div_ceil(LANES));
        for items in frame_items(&launch.space.group, len) {
            let mut frame = Frame::new(code, items, private)?;
            for (slot, argument) in code.scalars.iter().zip(&launch.arguments) {
                if let (Some(slot), KernelArgument::Scalar(scalar)) = (slot, argument) {
                    frame.slots[*slot].held = Held::Same(Bits::of(*scalar));
                }
            }
            frames.push(frame);
        }
        let shapes = || places.iter().map(|place| place.shape.to_vec());
        let watch = launch.checked.then(|| RefCell::new(Watch::new(kernel, launch.space, shapes())));
        Ok(Self { launch, code, isa: tuning.isa, places, frames, watch, _memory: memory })
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
        let group = Group { space, places: &self.places, id, isa: self.isa, watch: self.watch.as_ref() };
        group.together(&mut self.frames, &self.code.body).map_err(Error::kernel)
    }
}

/// The items of each frame: whole rows, where a frame has room for one.
fn frame_items(group: &[usize; 3], len: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    let row = group[2];
    let most = if row <= LANES { LANES / row * row } else { LANES };
    (0..len).step_by(most).map(move |first| first..(first + most).min(len))
}

impl Group<'_> {
    /// Runs a block that may have barriers: up to each, frame after frame. Where a step has one inside, all items agree on what
    /// it does, by the verifier.
    fn together(&self, frames: &mut [Frame], block: &Block) -> Done {
        if !block.meets {
            return frames.iter_mut().try_for_each(|frame| self.block(frame, block));
        }
        for run in block.steps.chunk_by(|a, b| !a.meets && !b.meets) {
            match run {
                [step] if step.meets => self.meeting(frames, step)?,
                run => frames.iter_mut().try_for_each(|frame| self.steps(frame, run))?,
            }
        }
        Ok(())
    }

    fn meeting(&self, frames: &mut [Frame], step: &Step) -> Done {
        if !any(frames) {
            return Ok(());
        }
        match &step.kind {
            Kind::Collective { dst, collective, operand } => {
                self.all_come(frames, Fence::LOCAL, &step.at)?;
                collect(frames, *dst, *collective, *operand);
            }
            Kind::Barrier(fence) => self.all_come(frames, *fence, &step.at)?,
            Kind::If { condition, then, otherwise } => {
                let all: Masks = frames.iter().map(|frame| frame.active.clone()).collect();
                frames.iter_mut().for_each(|frame| narrow(frame, *condition));
                let no: Masks =
                    frames.iter().zip(&all).map(|(frame, all)| all.without(&frame.active)).collect();
                if any(frames) {
                    self.together(frames, then)?;
                }
                let yes: Masks = frames.iter_mut().map(|frame| frame.active.take()).collect();
                frames.iter_mut().zip(no).for_each(|(frame, no)| frame.active = no);
                if any(frames) {
                    self.together(frames, otherwise)?;
                }
                frames.iter_mut().zip(yes).for_each(|(frame, yes)| frame.active = frame.active.join(&yes));
            }
            Kind::While { head, condition, body } => {
                let saved = enter(frames);
                let mut rounds = 0;
                loop {
                    self.together(frames, head)?;
                    frames.iter_mut().for_each(|frame| narrow(frame, *condition));
                    let Some(first) = frames.iter().find(|frame| frame.active.count > 0) else { break };
                    self.round(&mut rounds, first, &step.at)?;
                    self.together(frames, body)?;
                    go_on(frames);
                }
                exit(frames, saved);
            }
            Kind::For { counter, bounds, body } => {
                let saved = enter(frames);
                self.agree(frames, *bounds, &step.at)?;
                let [start, end, step] = bounds.map(|bound| said(frames, bound).integer(bound.dtype));
                for round in 0..count_rounds(start, end, step) {
                    let bits = Bits::wrapped((start + round * step) as i64, counter.dtype);
                    for frame in frames.iter_mut() {
                        frame.slots[counter.slot].held = Held::Same(bits);
                    }
                    self.together(frames, body)?;
                    go_on(frames);
                    if !any(frames) {
                        break;
                    }
                }
                exit(frames, saved);
            }
            Kind::Call(body) => {
                let saved: Vec<_> =
                    frames.iter_mut().map(|f| (f.active.clone(), f.returned.take())).collect();
                self.together(frames, body)?;
                for (frame, (active, returned)) in frames.iter_mut().zip(saved) {
                    (frame.active, frame.returned) = (active, returned);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// At a barrier: frames are run one after the other, so all that come have come.
    fn all_come(&self, frames: &[Frame], fence: Fence, at: &Position) -> Done {
        let Some(watch) = self.watch else { return Ok(()) };
        let all: usize = frames.iter().map(Frame::existing).sum();
        let here: usize = frames.iter().map(|frame| frame.active.count).sum();
        let lanes = |row: &frame::Row| row.lane..row.lane + row.len;
        let missing = frames.iter().find_map(|frame| {
            let lane = frame.rows.iter().flat_map(lanes).find(|&lane| !frame.active.lanes[lane])?;
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
                    if frame.active.lanes[lane] && frame.value(bound, lane) != expected {
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
    frames.iter_mut().map(|frame| (frame.active.clone(), frame.continued.take())).collect()
}

fn go_on(frames: &mut [Frame]) {
    for frame in frames {
        frame.active = frame.active.join(&frame.continued.take());
    }
}

fn exit(frames: &mut [Frame], saved: Saved) {
    for (frame, (entry, continued)) in frames.iter_mut().zip(saved) {
        leave(frame, entry, continued);
    }
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
            let Some(first) = frames.iter_mut().find(|frame| frame.active.count > 0) else { return };
            let lane = first.first_active();
            let mut from = first.value(from, lane).integer(from.dtype).max(0);
            // The item, or the nearest one before it, or the first.
            let mut found = first.value(operand, lane);
            for frame in frames.iter_mut() {
                let last = frame.len.min(usize::try_from(from + 1).unwrap_or(usize::MAX));
                if let Some(lane) = (0..last).rev().find(|&lane| frame.active.lanes[lane]) {
                    found = frame.value(operand, lane);
                }
                from -= frame.width() as i128;
                if from < 0 {
                    break;
                }
            }
            same(frames, found);
        }
        Together::Reduce(run) => {
            for frame in frames.iter_mut() {
                for lane in 0..frame.len {
                    if frame.active.lanes[lane] {
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
                    if !frame.active.lanes[lane] {
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
