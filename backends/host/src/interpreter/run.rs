//! What a frame does, step by step: one value for all lanes where that is so, numbers that follow the local
//! ids as such, and lanes by the functions of the operations.
//!
//! `Group::run` goes through the steps of a block and of all blocks inside. Where lanes part, both sides are
//! run, each with the lanes that take it:
//! ```text
//! if x > 0 { A } else { B }     all lanes true: A      none: B      some: A under the mask, then B under the rest
//! ```
//! Jumps take lanes out of the mask until the construct that they lead to: `returned` and `continued` of the
//! frame keep them meanwhile. Who loses all of its lanes goes on at the end of the block (`Step::out`).
//!
//! A step costs some 20 ns besides its lanes, so the arms of `step` take what is the same for all, or follows
//! the ids, before they ask for lanes. An operation's function is that of plans, so a kernel's result has an
//! array's bits. Loops count their rounds, or look at the clock, since a kernel that never ends would hold a
//! worker for ever. A new statement is a `Kind` in `code.rs` and its arm here; nothing in an arm may panic or
//! allocate by what the kernel's data says.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::time::{Duration, Instant};

use smallvec::SmallVec;
use stridewise_core::backend::{ElementsFn, SAME};
use stridewise_core::kernel::{
    Access, Coordinate, Diagnostic, ENDLESS, Level, MemoryOrder, Object, Position, Rule, Space, Watch,
    failed_assertion,
};
use stridewise_core::{Dtype, Error, Op, Result};

use super::access::{self, Place, arg};
use super::code::{Arg, Indices, Kind, Step, Update};
use super::frame::{Affine, Bits, Count, Frame, Held, LANES, Mask, Open, bounds};
use crate::simd::Isa;

/// Rounds after which a loop that counts nothing is taken to be endless: minutes of one that does nothing.
pub(super) const ROUND_LIMIT: u64 = if cfg!(test) { 1 << 18 } else { 1 << 32 };

pub(super) type Done = Result<()>;

/// What the frames of a group have in common.
pub(super) struct Group<'a> {
    pub(super) space: &'a Space,
    pub(super) places: &'a [Place],
    pub(super) id: [usize; 3],
    pub(super) isa: Isa,
    /// In checked mode, who watches.
    pub(super) watch: Option<&'a RefCell<Watch>>,
    /// Where the launch has a time limit, who looks at the time.
    pub(super) clock: Option<&'a Clock>,
}

/// Rounds of loops between two looks at the time.
const TICKS: u32 = 64;

/// How long a launch may still take, for one of its threads.
pub(super) struct Clock {
    begin: Instant,
    limit: Duration,
    /// Rounds of loops so far.
    ticks: Cell<u32>,
}

impl Clock {
    pub(super) fn new(begin: Instant, limit: Duration) -> Self {
        Self { begin, limit, ticks: Cell::new(0) }
    }

    /// Whether there is time left; where the launch is, for who reads the error.
    pub(super) fn look(&self, at: &Position) -> Done {
        if self.begin.elapsed() <= self.limit {
            return Ok(());
        }
        let message = format!("the launch has not come to its end in {} s", self.limit.as_secs_f64());
        Err(Error::kernel(Diagnostic::new(Rule::TimeLimit, at, message)))
    }
}

impl Group<'_> {
    /// The global id of a lane's item.
    pub(super) fn item(&self, frame: &Frame, lane: usize) -> [usize; 3] {
        self.space.global_id(self.id, self.space.local_id(frame.item(lane)))
    }

    /// Begins another round of a loop: looks at the time now and then, where it matters.
    #[inline(always)]
    pub(super) fn tick(&self, at: &Position) -> Done {
        let Some(clock) = self.clock else { return Ok(()) };
        let ticks = clock.ticks.get().wrapping_add(1);
        clock.ticks.set(ticks);
        if ticks.is_multiple_of(TICKS) { clock.look(at) } else { Ok(()) }
    }

    /// Begins another round of a loop that counts nothing, of so many so far.
    pub(super) fn round(&self, rounds: u64, frame: &Frame, at: &Position) -> Done {
        self.tick(at)?;
        let limit = if self.watch.is_some() { ENDLESS } else { ROUND_LIMIT };
        if rounds <= limit {
            return Ok(());
        }
        let id = self.item(frame, frame.first_active());
        let id = &id[3 - self.space.dims..];
        let message = format!("item {id:?} goes on with a loop for more than {limit} rounds");
        Err(Error::kernel(Diagnostic::new(Rule::EndlessLoop, at, message)))
    }

    /// In checked mode, says who accesses what.
    fn touch(
        &self,
        frame: &mut Frame,
        object: Object,
        indices: &Indices,
        access: Access,
        at: &Position,
    ) -> Done {
        let Some(watch) = self.watch else { return Ok(()) };
        let lanes: SmallVec<[[i64; LANES]; 1]> = indices.iter().map(|&index| frame.integers(index)).collect();
        let mut watch = watch.borrow_mut();
        for lane in frame.active.lanes() {
            let indices: SmallVec<[i128; 4]> = lanes.iter().map(|index| index[lane].into()).collect();
            watch.access(self.item(frame, lane), object, &indices, access, at)?;
        }
        Ok(())
    }

    /// Runs some steps, all of one block and of the blocks inside, of which none waits for other frames. What is open is kept in
    /// the frame: kernels need no more of a thread's stack for blocks inside of each other.
    pub(super) fn run(&self, frame: &mut Frame, steps: &[Step], range: Range<usize>) -> Done {
        frame.open.clear();
        let mut at = range.start;
        while at < range.end {
            let step = &steps[at];
            at = match frame.active.count == 0 && !step.kind.ends() {
                true => step.out,
                false => self.step(frame, steps, at)?,
            };
        }
        Ok(())
    }

    /// Does a step, and says which one comes next.
    fn step(&self, frame: &mut Frame, steps: &[Step], at: usize) -> Result<usize> {
        let step = &steps[at];
        match &step.kind {
            Kind::Apply { dst, op, run, dtype, out, args } => {
                apply(frame, *dst, (*op, *run), (*dtype, *out), args);
            }
            Kind::Get { dst, variable } => copy(frame, arg(*dst, variable.dtype), *variable),
            Kind::Index { dst, level, coordinate } => {
                frame.slots[*dst].held = self.index(*level, *coordinate);
            }
            Kind::Extent { dst, object, axis } => {
                let extent = self.places[object.number()].shape[*axis] as i64;
                frame.slots[*dst].held = Held::Same(Bits::wrapped(extent, Dtype::I64));
            }
            Kind::Load { dst, object, indices, stays } => {
                self.touch(frame, *object, indices, Access::Read, &step.at)?;
                let place = &self.places[object.number()];
                // The slot is as large as an element; what dtype it has does not matter.
                // SAFETY: the launch's contract (`run_kernel`): its arrays are accessible while it runs.
                unsafe { access::load(frame, place, *dst, (indices, *stays), self.isa) };
            }
            Kind::Set { variable, value, moves, choose } => set(frame, *variable, *value, *moves, *choose),
            Kind::Store { object, indices, value } => {
                self.touch(frame, *object, indices, Access::Write, &step.at)?;
                // SAFETY: the launch's contract (`run_kernel`): its arrays are accessible while it runs, and
                // those that a kernel stores to are writable.
                unsafe { access::store(frame, &self.places[object.number()], indices, *value, self.isa) };
            }
            Kind::Atomic(rmw) => {
                let access = match rmw.update {
                    Update::Nothing => Access::AtomicRead,
                    Update::Operand if rmw.result.is_none() => Access::AtomicWrite,
                    _ => Access::AtomicUpdate,
                };
                self.touch(frame, rmw.object, &rmw.indices, access, &step.at)?;
                // SAFETY: the launch's contract (`run_kernel`): its arrays are accessible while it runs,
                // those that a kernel changes are writable, and others access such elements by atomic
                // accesses only.
                unsafe { access::atomic(frame, &self.places[rmw.object.number()], rmw, self.isa) };
            }
            Kind::Fence(order) => {
                if *order != MemoryOrder::Relaxed {
                    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
                }
            }
            Kind::If { condition, otherwise, end } => {
                return Ok(branch(frame, *condition, (at, *otherwise, *end)));
            }
            Kind::Else { end } => match frame.open.last_mut() {
                Some(Open::Both(other)) => std::mem::swap(other, &mut frame.active),
                _ => return Ok(*end),
            },
            Kind::EndIf => {
                if let Some(Open::Both(other)) = frame.open.pop() {
                    frame.active = frame.active.join(other);
                }
            }
            Kind::While => {
                let (entry, continued) = (frame.active, frame.continued.take());
                frame.open.push(Open::While { entry, continued, rounds: 0 });
            }
            Kind::Test { condition, end } => {
                narrow(frame, *condition);
                if frame.active.count == 0 {
                    leave(frame);
                    return Ok(*end + 1);
                }
                let so_far = match frame.open.last_mut() {
                    Some(Open::While { rounds, .. }) => {
                        *rounds += 1;
                        *rounds
                    }
                    _ => 0,
                };
                self.round(so_far, frame, &step.at)?;
            }
            Kind::Again { head } => {
                frame.active = frame.active.join(frame.continued.take());
                return Ok(*head);
            }
            Kind::For { bounds, each, .. } => {
                let open = begin(frame, *bounds, *each);
                frame.open.push(open);
                return Ok(self.next_round(frame, steps, at));
            }
            Kind::Next { begin } => {
                self.tick(&step.at)?;
                frame.active = frame.active.join(frame.continued.take());
                if let Some(Open::For { round, .. }) = frame.open.last_mut() {
                    *round = round.wrapping_add(1);
                }
                return Ok(self.next_round(frame, steps, *begin));
            }
            Kind::Break => frame.active = Mask::NONE,
            Kind::Continue => frame.continued = frame.continued.join(frame.active.take()),
            Kind::Return => frame.returned = frame.returned.join(frame.active.take()),
            Kind::Call => {
                let (entry, returned) = (frame.active, frame.returned.take());
                frame.open.push(Open::Call { entry, returned });
            }
            Kind::EndCall => {
                if let Some(Open::Call { entry, returned }) = frame.open.pop() {
                    (frame.active, frame.returned) = (entry, returned);
                }
            }
            Kind::Assert { condition, message } => {
                let truth = frame.truth(*condition);
                if let Some(lane) = frame.active.without(truth).lanes().next() {
                    return Err(failed_assertion(*self.space, self.item(frame, lane), message, &step.at));
                }
            }
            // What all frames of a group do together is not done here.
            Kind::Barrier(_) | Kind::Collective { .. } | Kind::Nothing => {}
        }
        Ok(at + 1)
    }

    /// Begins the round that comes next of a loop that counts, or leaves it, and says where the frame goes on.
    fn next_round(&self, frame: &mut Frame, steps: &[Step], at: usize) -> usize {
        let (
            Kind::For { counter, bounds: [start, _, step], each, end },
            Some(&Open::For { round, rounds, differ, count, .. }),
        ) = (&steps[at].kind, frame.open.last())
        else {
            return steps.len();
        };
        if round >= rounds && frame.active.count > 0 {
            frame.active = match each {
                Some(each) if differ => {
                    let each = frame.numbers(*each);
                    let more = Mask::of_lanes(|lane| each.get(lane).is_some_and(|rounds| round < *rounds));
                    frame.active.and(more)
                }
                _ => Mask::NONE,
            };
        }
        if frame.active.count == 0 {
            leave(frame);
            return end + 1;
        }
        let ahead = |by: i64| (round as i64).wrapping_mul(by);
        frame.slots[counter.slot].held = match count {
            Count::Same(first, by) => Held::Same(Bits::wrapped(first.wrapping_add(ahead(by)), counter.dtype)),
            // Numbers that follow the local ids go on doing so.
            Count::Follow(first, by) => {
                let base = first.base.wrapping_add(ahead(by));
                match first.steps {
                    [0, 0, 0] => Held::Same(Bits::wrapped(base, counter.dtype)),
                    steps => Held::Affine(Affine { base, steps }, false),
                }
            }
            Count::Each => {
                for lane in 0..frame.len {
                    let [start, step] =
                        [start, step].map(|bound| frame.value(*bound, lane).integer(bound.dtype));
                    let number = (start as i64).wrapping_add(ahead(step as i64));
                    frame.set_value(*counter, lane, Bits::wrapped(number, counter.dtype));
                }
                Held::Lanes
            }
        };
        at + 1
    }

    fn index(&self, level: Level, coordinate: Coordinate) -> Held {
        let space = self.space;
        // Of each axis what is added for the group, and the weight of a step in the order of rows.
        let (extents, from) = match level {
            Level::Global => (space.global, std::array::from_fn(|axis| self.id[axis] * space.group[axis])),
            Level::Local => (space.extents_of(self.id), [0; 3]),
            Level::Group => (space.groups(), self.id),
        };
        let follow = i64::from(level != Level::Group);
        match coordinate {
            Coordinate::Range(axis) => {
                Held::Same(Bits::wrapped(extents[space.axis(axis)] as i64, Dtype::I64))
            }
            Coordinate::Id(axis) => {
                let axis = space.axis(axis);
                let mut steps = [0; 3];
                steps[axis] = follow;
                held(Affine { base: from[axis] as i64, steps })
            }
            Coordinate::LinearId => {
                let base = Space::linear(from, extents) as i64;
                let weights = [(extents[1] * extents[2]) as i64, extents[2] as i64, 1];
                held(Affine { base, steps: weights.map(|weight| weight * follow) })
            }
        }
    }
}

/// Rounds of a loop over integers of 64 bits, as of Python's `range`.
pub(super) fn count_rounds(start: i128, end: i128, step: i128) -> u64 {
    let (distance, stride) = if step < 0 { (start - end, -step) } else { (end - start, step) };
    // Of 64 bits, both: so no division of 128 is needed, which takes long.
    match (u64::try_from(distance - 1), u64::try_from(stride)) {
        (Ok(distance), Ok(stride)) if stride != 0 => (distance / stride).saturating_add(1),
        _ => 0,
    }
}

/// Goes on behind the innermost loop, with those that came to it and have not returned.
fn leave(frame: &mut Frame) {
    if let Some(Open::While { entry, continued, .. } | Open::For { entry, continued, .. }) = frame.open.pop()
    {
        frame.active = entry.without(frame.returned);
        frame.continued = continued;
    }
}

/// Begins a branch that is at a step, and says where the frame goes on: at the other block, or behind it, where no lane takes
/// the first one.
fn branch(frame: &mut Frame, condition: usize, (at, otherwise, end): (usize, usize, usize)) -> usize {
    let yes = match frame.slots[condition].held {
        Held::Same(bits) if bits.0[0] != 0 => frame.active,
        Held::Same(_) => Mask::NONE,
        _ => {
            let truth = frame.truth(condition);
            frame.active.and(truth)
        }
    };
    if yes.count == 0 && otherwise == end {
        return end + 1;
    }
    if yes.count == 0 || yes.count == frame.active.count {
        frame.open.push(Open::One);
        return if yes.count == 0 { otherwise + 1 } else { at + 1 };
    }
    let no = frame.active.without(yes);
    frame.open.push(Open::Both(no));
    frame.active = yes;
    at + 1
}

/// A loop that counts before its first round. `each` is the slot for the rounds of each lane.
fn begin(frame: &mut Frame, bounds: [Arg; 3], each: Option<usize>) -> Open {
    let (entry, continued) = (frame.active, frame.continued.take());
    let [start, _, step] = bounds;
    let is_same = |frame: &Frame, arg: Arg| matches!(frame.slots[arg.slot].held, Held::Same(_));
    let by = frame.value(step, 0).integer(step.dtype) as i64;
    if bounds.iter().all(|&bound| is_same(frame, bound)) {
        let [start, end, step] = bounds.map(|bound| frame.value(bound, 0).integer(bound.dtype));
        let rounds = count_rounds(start, end, step);
        let count = Count::Same(start as i64, by);
        return Open::For { entry, continued, round: 0, rounds, differ: false, count };
    }
    let (rounds, differ) = rounds_of_lanes(frame, bounds, each);
    let first = match frame.slots[start.slot].held {
        Held::Lanes | Held::There(_) => None,
        _ if !is_same(frame, step) => None,
        _ => frame.affine(start),
    };
    let count = first.map_or(Count::Each, |(first, ..)| Count::Follow(first, by));
    Open::For { entry, continued, round: 0, rounds, differ, count }
}

/// How many rounds all lanes go of a loop, and whether some go more; then those of each are in the slot.
fn rounds_of_lanes(frame: &mut Frame, bounds: [Arg; 3], each: Option<usize>) -> (u64, bool) {
    // Of bounds that follow the local ids, the ends say how many rounds there are at least and at most.
    if let [Some((_, low, high)), Some((_, end_low, end_high)), Some((_, step, last_step))] =
        bounds.map(|bound| frame.affine(bound))
        && step == last_step
    {
        let count = |start: i64, end: i64| count_rounds(start.into(), end.into(), step.into());
        let (a, b) = (count(low, end_high), count(high, end_low));
        if a == b {
            return (a, false);
        }
    }
    let (mut least, mut most) = (u64::MAX, 0);
    for lane in 0..frame.len {
        let [start, end, step] = bounds.map(|bound| frame.value(bound, lane).integer(bound.dtype));
        let rounds = count_rounds(start, end, step);
        (least, most) = (least.min(rounds), most.max(rounds));
        if let Some(each) = each {
            frame.numbers(each)[lane] = rounds;
        }
    }
    (least, least != most)
}

/// Goes on with the lanes of which a condition is true.
pub(super) fn narrow(frame: &mut Frame, condition: usize) {
    match frame.slots[condition].held {
        Held::Same(bits) if bits.0[0] == 0 => frame.active = Mask::NONE,
        Held::Same(_) => {}
        _ if frame.active.count == 0 => {}
        _ => {
            frame.active = frame.active.and(frame.truth(condition));
        }
    }
}

/// Numbers that follow nothing are one value.
fn held(affine: Affine) -> Held {
    match affine.steps {
        [0, 0, 0] => Held::Same(Bits::wrapped(affine.base, Dtype::I64)),
        _ => Held::Affine(affine, false),
    }
}

fn copy(frame: &mut Frame, dst: Arg, src: Arg) {
    if dst.slot == src.slot {
        return;
    }
    let held = frame.slots[src.slot].held;
    if let Held::Lanes | Held::There(_) = held {
        let ((from, _), to) = (frame.source(src), frame.memory_of(dst.slot));
        // SAFETY: as many elements of this dtype are there, and the other slot has memory for them, apart from them.
        unsafe { std::ptr::copy_nonoverlapping(from, to, frame.len * src.dtype.size()) };
    }
    frame.slots[dst.slot].held = match held {
        Held::Affine(affine, _) => Held::Affine(affine, false),
        Held::There(_) => Held::Lanes,
        held => held,
    };
}

fn set(frame: &mut Frame, variable: Arg, value: usize, moves: bool, choose: ElementsFn) {
    let value = arg(value, variable.dtype);
    if value.slot == variable.slot {
        return;
    }
    if frame.all() {
        if moves {
            frame.slots.swap(variable.slot, value.slot);
        } else {
            copy(frame, variable, value);
        }
        return;
    }
    frame.spread(variable);
    let (from, same) = frame.source(value);
    let to = frame.memory_of(variable.slot);
    let bytes = frame.active.to_bytes();
    let mask = bytes.as_ptr();
    let flags = if same { SAME << 1 } else { 0 };
    // SAFETY: the mask has a byte for each lane, slots have memory for each lane's element, or one element for all where the
    // flag says so; the target is exactly one source.
    unsafe { choose(to, mask, from, to.cast_const(), flags, frame.len) };
}

fn apply(
    frame: &mut Frame,
    dst: usize,
    (op, run): (Op, ElementsFn),
    (dtype, out): (Dtype, Dtype),
    args: &[Arg],
) {
    let mut lanes = false;
    let mut follows = false;
    for operand in args {
        match frame.slots[operand.slot].held {
            Held::Same(_) => {}
            Held::Affine(..) => follows = true,
            Held::Lanes | Held::There(_) => lanes = true,
        }
    }
    if follows
        && !lanes
        && let Some(held) = affine(frame, op, (dtype, out), args)
    {
        frame.slots[dst].held = held;
        return;
    }
    let (first, first_same) = frame.source(args[0]);
    let mut sources = [first; 3];
    let mut flags = if first_same { SAME } else { 0 };
    for (position, &operand) in args.iter().enumerate().skip(1) {
        let (source, same) = frame.source(operand);
        sources[position] = source;
        flags |= if same { SAME << position } else { 0 };
    }
    let [a, b, c] = sources;
    if !lanes && !follows {
        let mut bits = Bits([0; 16]);
        // SAFETY: one element of each operand, which the slots hold, aligned for any dtype.
        unsafe { run(bits.0.as_mut_ptr(), a, b, c, 0, 1) };
        frame.slots[dst].held = Held::Same(bits);
        return;
    }
    let to = frame.memory_of(dst);
    // SAFETY: slots have memory for each lane's element, aligned, or one element for all where the flag says so; the result's
    // is apart from them, as no operand's slot is free before the statement ends.
    unsafe { run(to, a, b, c, flags, frame.len) };
    frame.slots[dst].held = Held::Lanes;
}

/// An operation on numbers that follow the local ids, where the result does, or is the same for all.
fn affine(frame: &Frame, op: Op, (dtype, out): (Dtype, Dtype), args: &[Arg]) -> Option<Held> {
    let numbers = |position: usize| match frame.slots[args[position].slot].held {
        Held::Same(bits) => Some(Affine { base: bits.integer(dtype) as i64, steps: [0; 3] }),
        Held::Affine(affine, _) => Some(affine),
        Held::Lanes | Held::There(_) => None,
    };
    let integers = dtype.kind().is_integer();
    let result = match op {
        Op::Add if integers => numbers(0)?.zip(numbers(1)?, i64::wrapping_add),
        Op::Subtract if integers => numbers(0)?.zip(numbers(1)?, i64::wrapping_sub),
        Op::Multiply if integers => match (numbers(0)?, numbers(1)?) {
            (a, Affine { base, steps: [0, 0, 0] }) | (Affine { base, steps: [0, 0, 0] }, a) => {
                a.map(|number| number.wrapping_mul(base))
            }
            _ => return None,
        },
        Op::Negative if integers => numbers(0)?.map(i64::wrapping_neg),
        // Where no number wraps, in either dtype.
        Op::Cast if integers && out.kind().is_integer() => {
            let (affine, low, high) = frame.affine(args[0])?;
            let (least, most) = bounds(out)?;
            if low < least || high > most {
                return None;
            }
            let base = Bits::wrapped(affine.base, dtype).integer(dtype) as i64;
            Affine { base, ..affine }
        }
        Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual => {
            let ((_, a_low, a_high), (_, b_low, b_high)) = (frame.affine(args[0])?, frame.affine(args[1])?);
            let (always, never) = match op {
                Op::Less => (a_high < b_low, a_low >= b_high),
                Op::LessEqual => (a_high <= b_low, a_low > b_high),
                Op::Greater => (a_low > b_high, a_high <= b_low),
                _ => (a_low >= b_high, a_high < b_low),
            };
            return (always || never).then_some(Held::Same(Bits::wrapped(i64::from(always), Dtype::Bool)));
        }
        _ => return None,
    };
    // Numbers of the dtype itself, so that steps say which way they go.
    let wrapped = |number: i64| match out {
        Dtype::I8 | Dtype::U8 => i64::from(number as i8),
        Dtype::I16 | Dtype::U16 => i64::from(number as i16),
        Dtype::I32 | Dtype::U32 => i64::from(number as i32),
        _ => number,
    };
    let result = Affine { base: result.base, steps: result.steps.map(wrapped) };
    Some(match result.steps {
        [0, 0, 0] => Held::Same(Bits::wrapped(result.base, out)),
        _ => Held::Affine(result, false),
    })
}
