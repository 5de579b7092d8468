//! What a frame does, step by step: one value for all lanes where that is so, numbers that follow the local ids as such, and
//! lanes by the functions of the operations.

use std::cell::RefCell;

use smallvec::SmallVec;
use stridewise_core::backend::{ElementsFn, SAME};
use stridewise_core::kernel::{
    Access, Coordinate, Diagnostic, ENDLESS, Level, MemoryOrder, Object, Position, Rule, Space, Watch,
};
use stridewise_core::{Dtype, Op};

use super::access::{self, Place, arg};
use super::code::{Arg, Block, Indices, Kind, Step, Update};
use super::frame::{Affine, Bits, Frame, Held, LANES, Mask};
use crate::simd::Isa;

/// Rounds after which a loop that counts nothing is taken to be endless: minutes of one that does nothing.
pub(super) const ROUND_LIMIT: u64 = 1 << 32;

pub(super) type Done = Result<(), Diagnostic>;

/// What the frames of a group have in common.
pub(super) struct Group<'a> {
    pub(super) space: &'a Space,
    pub(super) places: &'a [Place],
    pub(super) id: [usize; 3],
    pub(super) isa: Isa,
    /// In checked mode, who watches.
    pub(super) watch: Option<&'a RefCell<Watch>>,
}

impl Group<'_> {
    /// The global id of a lane's item.
    pub(super) fn item(&self, frame: &Frame, lane: usize) -> [usize; 3] {
        self.space.global_id(self.id, self.space.local_id(frame.item(lane)))
    }

    /// Begins another round of a loop that counts nothing.
    pub(super) fn round(&self, rounds: &mut u64, frame: &Frame, at: &Position) -> Done {
        let limit = if self.watch.is_some() { ENDLESS } else { ROUND_LIMIT };
        *rounds += 1;
        if *rounds <= limit {
            return Ok(());
        }
        let id = self.item(frame, frame.first_active());
        let id = &id[3 - self.space.dims..];
        let message = format!("item {id:?} goes on with a loop for more than {limit} rounds");
        Err(Diagnostic::new(Rule::EndlessLoop, at, message))
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
        for lane in (0..frame.len).filter(|&lane| frame.active.lanes[lane]) {
            let indices: SmallVec<[i128; 4]> = lanes.iter().map(|index| index[lane].into()).collect();
            watch.access(self.item(frame, lane), object, &indices, access, at)?;
        }
        Ok(())
    }

    pub(super) fn block(&self, frame: &mut Frame, block: &Block) -> Done {
        self.steps(frame, &block.steps)
    }

    pub(super) fn steps(&self, frame: &mut Frame, steps: &[Step]) -> Done {
        for step in steps {
            if frame.active.count == 0 {
                break;
            }
            self.step(frame, step)?;
        }
        Ok(())
    }

    fn step(&self, frame: &mut Frame, step: &Step) -> Done {
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
            Kind::Load { dst, object, indices } => {
                self.touch(frame, *object, indices, Access::Read, &step.at)?;
                let place = &self.places[object.number()];
                // The slot is as large as an element; what dtype it has does not matter.
                // SAFETY: the launch's contract (`run_kernel`): its arrays are accessible while it runs.
                unsafe { access::load(frame, place, arg(*dst, Dtype::Bool), indices, self.isa) };
            }
            Kind::Set { variable, value, moves, choose } => set(frame, *variable, *value, *moves, *choose),
            Kind::Store { object, indices, value } => {
                self.touch(frame, *object, indices, Access::Write, &step.at)?;
                // SAFETY: as for a load; arrays that a kernel stores to are writable.
                unsafe { access::store(frame, &self.places[object.number()], indices, *value) };
            }
            Kind::Atomic(rmw) => {
                let access = match rmw.update {
                    Update::Nothing => Access::AtomicRead,
                    Update::Operand if rmw.result.is_none() => Access::AtomicWrite,
                    _ => Access::AtomicUpdate,
                };
                self.touch(frame, rmw.object, &rmw.indices, access, &step.at)?;
                // SAFETY: as for a store.
                unsafe { access::atomic(frame, &self.places[rmw.object.number()], rmw) };
            }
            Kind::Fence(order) => {
                if *order != MemoryOrder::Relaxed {
                    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
                }
            }
            Kind::If { condition, then, otherwise } => self.branch(frame, *condition, then, otherwise)?,
            Kind::While { head, condition, body } => {
                let (entry, continued) = (frame.active.clone(), frame.continued.take());
                let mut rounds = 0;
                loop {
                    self.block(frame, head)?;
                    narrow(frame, *condition);
                    if frame.active.count == 0 {
                        break;
                    }
                    self.block(frame, body)?;
                    frame.active = frame.active.join(&frame.continued.take());
                    self.round(&mut rounds, frame, &step.at)?;
                }
                leave(frame, entry, continued);
            }
            Kind::For { counter, bounds, body } => self.count(frame, *counter, *bounds, body)?,
            Kind::Break => frame.active = Mask::NONE,
            Kind::Continue => frame.continued = frame.continued.join(&frame.active.take()),
            Kind::Return => frame.returned = frame.returned.join(&frame.active.take()),
            Kind::Call(body) => {
                let (entry, returned) = (frame.active.clone(), frame.returned.take());
                self.block(frame, body)?;
                (frame.active, frame.returned) = (entry, returned);
            }
            Kind::Assert { condition, message } => {
                let truth = frame.truth(*condition);
                let lane = (0..frame.len).find(|&lane| frame.active.lanes[lane] && !truth[lane]);
                if let (Some(lane), Some(watch)) = (lane, self.watch) {
                    return Err(watch.borrow().assertion(self.item(frame, lane), message, &step.at));
                }
            }
            // What all frames of a group do together is not done here.
            Kind::Barrier(_) | Kind::Collective { .. } | Kind::Nothing => {}
        }
        Ok(())
    }

    fn branch(&self, frame: &mut Frame, condition: usize, then: &Block, otherwise: &Block) -> Done {
        if let Held::Same(bits) = frame.slots[condition].held {
            return self.block(frame, if bits.0[0] != 0 { then } else { otherwise });
        }
        let truth = frame.truth(condition);
        let yes = frame.active.with(&truth, |active, truth| active & truth);
        match yes.count {
            0 => return self.block(frame, otherwise),
            count if count == frame.active.count => return self.block(frame, then),
            _ => {}
        }
        let no = frame.active.with(&truth, |active, truth| active & !truth);
        frame.active = yes;
        self.block(frame, then)?;
        let after = std::mem::replace(&mut frame.active, no);
        self.block(frame, otherwise)?;
        frame.active = frame.active.join(&after);
        Ok(())
    }

    fn count(&self, frame: &mut Frame, counter: Arg, bounds: [Arg; 3], body: &Block) -> Done {
        let (entry, continued) = (frame.active.clone(), frame.continued.take());
        let [start, end, step] = bounds;
        let is_same = |frame: &Frame, arg: Arg| matches!(frame.slots[arg.slot].held, Held::Same(_));
        if bounds.iter().all(|&bound| is_same(frame, bound)) {
            let [start, end, step] = bounds.map(|bound| frame.value(bound, 0).integer(bound.dtype));
            for round in 0..count_rounds(start, end, step) {
                let value = (start + round * step) as i64;
                frame.slots[counter.slot].held = Held::Same(Bits::wrapped(value, counter.dtype));
                self.block(frame, body)?;
                frame.active = frame.active.join(&frame.continued.take());
                if frame.active.count == 0 {
                    break;
                }
            }
        } else {
            let mut rounds = [0; LANES];
            for (lane, rounds) in rounds.iter_mut().enumerate().take(frame.len) {
                let [start, end, step] =
                    [start, end, step].map(|bound| frame.value(bound, lane).integer(bound.dtype));
                *rounds = count_rounds(start, end, step);
            }
            let follows = is_same(frame, start) && is_same(frame, step);
            for round in 0.. {
                let more: [bool; LANES] = std::array::from_fn(|lane| round < rounds[lane]);
                frame.active = frame.active.with(&more, |active, more| active & more);
                if frame.active.count == 0 {
                    break;
                }
                for lane in 0..frame.len {
                    let [start, step] =
                        [start, step].map(|bound| frame.value(bound, lane).integer(bound.dtype));
                    let bits = Bits::wrapped((start + round * step) as i64, counter.dtype);
                    if follows {
                        frame.slots[counter.slot].held = Held::Same(bits);
                        break;
                    }
                    frame.set_value(counter, lane, bits);
                }
                if !follows {
                    frame.slots[counter.slot].held = Held::Lanes;
                }
                self.block(frame, body)?;
                frame.active = frame.active.join(&frame.continued.take());
            }
        }
        leave(frame, entry, continued);
        Ok(())
    }

    fn index(&self, level: Level, coordinate: Coordinate) -> Held {
        let space = self.space;
        // Of each axis what is added for the group, and the weight of a step in the order of rows.
        let (extents, from) = match level {
            Level::Global => (space.global, std::array::from_fn(|axis| self.id[axis] * space.group[axis])),
            Level::Local => (space.group, [0; 3]),
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

/// Rounds of a loop, as of Python's `range`.
pub(super) fn count_rounds(start: i128, end: i128, step: i128) -> i128 {
    let (distance, stride) = if step < 0 { (start - end, -step) } else { (end - start, step) };
    if distance <= 0 || stride == 0 { 0 } else { (distance - 1) / stride + 1 }
}

/// Goes on behind a loop, with those that came to it and have not returned.
pub(super) fn leave(frame: &mut Frame, entry: Mask, continued: Mask) {
    frame.active = entry.without(&frame.returned);
    frame.continued = continued;
}

/// Goes on with the lanes of which a condition is true.
pub(super) fn narrow(frame: &mut Frame, condition: usize) {
    match frame.slots[condition].held {
        Held::Same(bits) if bits.0[0] == 0 => frame.active = Mask::NONE,
        Held::Same(_) => {}
        _ if frame.active.count == 0 => {}
        _ => {
            let truth = frame.truth(condition);
            frame.active = frame.active.with(&truth, |active, truth| active & truth);
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
    if let Held::Lanes = held {
        let (from, to) = (frame.memory_of(src.slot), frame.memory_of(dst.slot));
        // SAFETY: both slots have memory for as many elements of this dtype, and are apart.
        unsafe { std::ptr::copy_nonoverlapping(from, to, frame.len * src.dtype.size()) };
    }
    frame.slots[dst.slot].held = match held {
        Held::Affine(affine, _) => Held::Affine(affine, false),
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
    let mask = frame.active.lanes.as_ptr().cast::<u8>();
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
            Held::Lanes => lanes = true,
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
        Held::Lanes => None,
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
            let range = out.iinfo().ok()?;
            if low < range.min || high > range.max {
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
