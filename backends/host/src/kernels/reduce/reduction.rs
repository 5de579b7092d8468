//! One reduction: compiled, and folded segment by segment.
//!
//! [`cut`](super::cut) decides on segments and the order of the points; each segment is folded to a *partial*, and partials are joined
//! in a tree ([`Partials`]). Tiles run along the folded dimensions, or, where rows of outputs are folded, along those that are kept.
//! A fused reduction is cut as if its values had been stored ([`stored_points`]).
//!
//! Reading is the limit. So a program that only hands an element on, widens it or multiplies two of them is
//! not run in a tile: the fold reads its operands where they lie (`widening`, `seconds`, `products`). Short
//! rows are limited by calls instead: `many` folds several rows in one. A new fold is a [`Kind`] in
//! `partials.rs`, and needs nothing here.

use std::ops::Range;

use smallvec::SmallVec;
use stridewise_core::{
    Dtype, Op,
    backend::{Arg, Family, Fold, LaunchPlan, MAX_PLAN_DIMS, Program, Stored},
};

use super::cut::{Cut, Points, accumulator};
use super::fold::ACC_BYTES;
use super::folding::Folding;
use super::partials::{Kind, Partials, Run};
use super::read::{input_alone, products, seconds, widening};
use super::rows::ROWS;
use crate::kernels::elementwise::step::resolve;
use crate::kernels::entry::StepFn;
use crate::kernels::moving::space::{Access, Cursor, MAX_OPERANDS, Space, View};
use crate::kernels::program::code::{Code, Slots, Target};
use crate::kernels::program::tile::Tiles;
use crate::kernels::tuning::{FIRST_CACHE_BYTES, TILE_BYTES, Tuning};
use crate::simd::Isa;

/// Points of the rows at most that are computed several at a time.
const SHORT_POINTS: usize = 256;

/// A reduction ready to run.
pub(crate) struct Reduction {
    /// The program, over the space along which tiles run. Its views are the inputs; along kept dimensions, the output is
    /// the last.
    lane: Tiles,
    /// The other dimensions, with the same views.
    other: Space,
    /// How the points of an output are cut; tiles run along kept dimensions where rows of outputs are folded.
    pub(crate) cut: Cut,
    /// Accumulators.
    pub(crate) partials: Partials,
    /// Bytes from the start of a partial for all reductions that are folded together to this one's.
    pub(crate) partial_at: usize,
    /// Segments of one output.
    pub(crate) segments: usize,
    /// Outputs that are folded together at most.
    width: usize,
    /// The input in which an index is looked for once, at the end; see [`Partials::late`].
    late: Option<usize>,
    /// Whether elements are folded from where they lie in memory, in no cache.
    ahead: bool,
    /// The program over the rows of several outputs, one after another, where they are short and one segment each.
    many: Option<Tiles>,
    /// Conversion of the accumulators to the folded value's dtype.
    narrow: Option<StepFn>,
    /// From the folded value to the output.
    post: Code,
}

/// Memory of one thread for a reduction.
pub(crate) struct Room {
    slots: Slots,
    /// Those of the program over several rows.
    many: Slots,
    post_slots: Slots,
    /// Folded values that wait for [`Reduction::post`].
    values: *mut u8,
    /// The same, narrowed.
    narrowed: *mut u8,
}

/// How the elements lie that the first `inputs` views of the kept and the folded dimensions are of: the steps of the first that has
/// any along both, as a matrix has and a vector that it is multiplied with has not; else of the first that has any along the one,
/// and along the other. `itself`: they need no conversion.
fn points([kept, along]: [&Space; 2], inputs: usize, itself: bool) -> Points {
    let steps = |space: &Space| -> SmallVec<[usize; 4]> {
        let read = space.views[..inputs].iter();
        read.map(|v| if v.index { 0 } else { v.strides.last().map_or(0, |s| s.unsigned_abs()) }).collect()
    };
    let (by_kept, by_along) = (steps(kept), steps(along));
    let first = |steps: &[usize]| steps.iter().copied().find(|&s| s != 0).unwrap_or(0);
    let both = by_kept.iter().zip(&by_along).find(|(kept, along)| **kept != 0 && **along != 0);
    Points {
        outputs: kept.len(),
        points: along.len(),
        steps: both.map_or([first(&by_kept), first(&by_along)], |(&kept, &along)| [kept, along]),
        across: kept.row(),
        along: if along.across { along.len() } else { along.row() },
        dense: itself && along.dims.len() == 1 && along.access(0) == Access::Contiguous,
    }
}

/// The same of what is computed on the way, and would be folded from where it is stored. `split`: the plan's kept dimensions.
fn stored_points(plan: &LaunchPlan, stored: &Stored, split: usize, itself: bool, isa: Isa) -> Option<Points> {
    let output = View::new(plan.outputs.first()?, stored.dtype.size(), 0..split);
    let views = SmallVec::from_iter([View::stored(stored, 0..split), output]);
    let mut kept = Space::new(&plan.dims[..split], views, isa);
    kept.sort_by(1);
    kept.merge();
    let views = SmallVec::from_iter([View::stored(stored, split..plan.dims.len())]);
    let mut along = Space::new(&plan.dims[split..], views, isa);
    along.sort_by(0);
    along.merge();
    Some(points([&kept, &along], 1, itself))
}

/// One or several outputs that are folded together.
pub(crate) struct Place<'a> {
    /// Along kept dimensions: of the first output.
    pub(crate) cursor: &'a Cursor,
    pub(crate) len: usize,
}

// SAFETY: addresses only; see `Space`.
unsafe impl Sync for Place<'_> {}

impl Reduction {
    /// Compiles a plan's reduction; `None` where [`supports`](crate::kernels::supports) refuses it.
    pub(crate) fn new(plan: &LaunchPlan, tuning: &Tuning) -> Option<Self> {
        let Family::Reduce { fold, reduced, finish, stored } = &plan.family else { return None };
        let (fold, program) = (*fold, &*plan.program);
        let value = program.output_dtype(0);
        let acc = accumulator(value);
        let folded = fold.result(value);
        let mut kind = Kind::new(fold, acc, tuning.isa)?;
        let output = plan.outputs.first()?;
        let split = plan.dims.len().checked_sub(*reduced)?;
        let post_program = Program::convert(folded, folded);
        let post_program = finish.as_deref().unwrap_or(&post_program);
        let out_size = post_program.output_dtype(0).size();

        let views = |dims: Range<usize>| -> SmallVec<[View; 4]> {
            (0..plan.inputs.len()).map(|input| View::input(plan, input, dims.clone())).collect()
        };
        let mut kept_views = views(0..split);
        kept_views.push(View::new(output, out_size, 0..split));
        let mut kept = Space::new(&plan.dims[..split], kept_views, tuning.isa);
        kept.sort_by(plan.inputs.len());
        kept.merge();
        // Addresses along folded dimensions are offsets: the kept dimensions' cursor has the bases.
        let mut folded_views = views(split..plan.dims.len());
        for v in &mut folded_views {
            v.ptr = std::ptr::null_mut();
        }
        let mut along = Space::new(&plan.dims[split..], folded_views, tuning.isa);
        let itself = matches!(program.steps(), [s] if s.op == Op::Copy && s.dtype == acc);
        let lie = match stored {
            Some(stored) => {
                along.sort_like(View::stored(stored, split..plan.dims.len()));
                along.merge();
                let itself = stored.dtype == value && value == acc;
                stored_points(plan, stored, split, itself, tuning.isa)?
            }
            None => {
                // What is read decides on the direction; indices cost the same in any.
                let memory = (0..plan.inputs.len()).find(|&input| !program.is_index(input));
                if let (false, Some(input)) = (fold.is_index(), memory) {
                    along.sort_by(input);
                }
                along.merge();
                points([&kept, &along], plan.inputs.len(), itself)
            }
        };
        let cut = Cut::new(fold, acc, lie);
        let rows = cut.rows;
        // A call that does not end a segment takes a multiple of the accumulators' number, which is `ACC_BYTES` at most. Where
        // rows within a segment are no such multiple, tiles run across them.
        along.across |= along.row() < lie.along && !along.row().is_multiple_of(ACC_BYTES);
        let (outputs, points) = (kept.len(), along.len());

        let lane = if rows { &kept } else { &along };
        let mut access: SmallVec<[Access; 8]> = (0..plan.inputs.len()).map(|v| lane.access(v)).collect();
        // What is only handed on is read as it is, where the fold widens it or steps over what lies between, or converted from
        // where it lies, not from a copy.
        let mut element = (acc, None);
        if let Some(from) = input_alone(program) {
            let (size, step) = (from.size(), lane.views[0].strides.last());
            let seconds_of = |op| match step {
                Some(&step) if step == 2 * size.cast_signed() && from == acc && !lane.across => {
                    seconds(op, acc, tuning.isa)
                }
                _ => None,
            };
            if let (Fold::Op(op), Kind::Value(folding), false) = (fold, &mut kind, rows)
                && let Some((run, many)) = widening(op, from, acc, tuning.isa).or_else(|| seconds_of(op))
                && (from == value || value == acc)
            {
                (folding.run, folding.many) = (run, many);
                element = (from, Some(Program::convert(from, from)));
                if from == acc {
                    access[0] = Access::Contiguous;
                }
            } else if from == value && acc != value {
                element.1 = Some(Program::convert(value, acc));
            }
        }
        let program = element.1.as_ref().unwrap_or(program);

        let compile = |target| Code::compile(program, tuning.isa, &access, &target, plan.len());
        // A sum of products multiplies on the way to the accumulators, instead of in a tile; a square's factors are the same.
        let product = match (program.steps(), program.outputs()) {
            ([before @ .., last], [Arg::Step(s)])
                if last.op == Op::Multiply && last.out == acc && usize::from(*s) == before.len() =>
            {
                Some(last.operands()[0] == last.operands()[1])
            }
            _ => None,
        };
        let mut factors = None;
        if let (Some(squares), false, Fold::Op(Op::Add)) = (product, rows, fold)
            && let Kind::Value(folding) = &mut kind
            && let Some(run) = products(squares, acc, tuning.isa)
        {
            factors = compile(Target::Operands);
            folding.run = if factors.is_some() { run } else { folding.run };
        }
        let code = match factors {
            Some(code) => code,
            None => compile(Target::Value(element.0))?,
        };
        let target = Target::Outputs {
            access: &[kept.access(plan.inputs.len())],
            alias: &|_, _| false,
            stream: false,
        };
        let post = Code::compile(post_program, tuning.isa, &[Access::Contiguous], &target, outputs)?;
        let narrow = match &kind {
            Kind::Value(_) | Kind::Deviation(_) if acc != value => {
                Some(resolve(Op::Cast, acc, value, tuning.isa)?.run)
            }
            _ => None,
        };

        let segments = cut.segments();
        let width = if rows {
            let widest = acc.size().max(folded.size()).max(out_size);
            (FIRST_CACHE_BYTES / widest).min(code.tile_len).min(post.tile_len)
        } else {
            (TILE_BYTES / 16).min(post.tile_len)
        };
        let short = !rows && segments == 1 && (2..=SHORT_POINTS).contains(&points) && outputs > 1;
        let many = match kind {
            Kind::Value(_) if short && code.input_itself().is_none() && element.1.is_none() => {
                Self::many(program, acc, [&kept, &along], tuning.isa)
            }
            _ => None,
        };
        let (lane, other) = if rows { (kept, along) } else { (along, kept) };
        let lane = Tiles { code, space: lane, ahead: SmallVec::new() };
        let inputs = lane.space.views.iter().take(plan.inputs.len());
        let moved: usize = inputs.filter_map(View::moved).sum();
        let footprint = outputs.saturating_mul(points).saturating_mul(moved);
        let ahead = !rows && lane.code.hands_on() && footprint > tuning.last_cache_bytes;
        let itself = lane.code.input_itself().filter(|&input| lane.space.access(input) == Access::Contiguous);
        let late = itself.filter(|_| matches!(kind, Kind::Index(..)) && !rows && !lane.space.across);
        let partials = Partials { kind, acc, rows, len: if rows { width } else { 1 }, late: late.is_some() };
        Some(Self {
            lane,
            other,
            cut,
            partials,
            partial_at: 0,
            segments,
            width,
            late,
            ahead,
            many,
            narrow,
            post,
        })
    }

    /// The program over the points of a row of outputs; of short rows, of all outputs. Its views begin at the row's.
    fn many(program: &Program, acc: Dtype, [kept, along]: [&Space; 2], isa: Isa) -> Option<Tiles> {
        let inputs = along.views.len();
        let outer = if kept.across { 0 } else { kept.dims.len().saturating_sub(1) };
        let mut space = along.clone();
        space.dims.insert_from_slice(0, &kept.dims[outer..]);
        for (view, kept) in space.views.iter_mut().zip(&kept.views) {
            view.strides.insert_from_slice(0, &kept.strides[outer..]);
        }
        if space.dims.len() > MAX_PLAN_DIMS {
            return None;
        }
        space.merge();
        let whole = space.across || space.row().is_multiple_of(along.len());
        let access: SmallVec<[Access; 8]> = (0..inputs).map(|v| space.access(v)).collect();
        let code = Code::compile(program, isa, &access, &Target::Value(acc), space.len())?;
        whole.then(|| Tiles { code, space, ahead: SmallVec::new() })
    }

    pub(crate) fn kept(&self) -> &Space {
        if self.cut.rows { &self.lane.space } else { &self.other }
    }

    /// Number of folded points of an output.
    pub(crate) fn folded(&self) -> usize {
        if self.cut.rows { self.other.len() } else { self.lane.space.len() }
    }

    /// Outputs that are folded together at most.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Folds fewer outputs together.
    pub(crate) fn narrow_to(&mut self, width: usize) {
        self.width = self.width.min(width).max(1);
        if self.cut.rows {
            self.partials.len = self.width;
        }
    }

    /// Whether another one folds the same input, cut into the same segments.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let same = |a: &Space, b: &Space| {
            let view = |space: &Space| space.views.first().map(|v| (v.ptr, v.size, v.strides.clone()));
            a.dims == b.dims && view(a) == view(b)
        };
        self.cut == other.cut && same(&self.lane.space, &other.lane.space) && same(&self.other, &other.other)
    }

    /// Bytes of a thread's memory.
    pub(crate) fn room_bytes(&self) -> usize {
        let many = self.many.as_ref().map_or(0, |many| many.code.scratch_bytes());
        self.lane.code.scratch_bytes() + self.post.scratch_bytes() + many + 2 * self.values_bytes()
    }

    /// Bytes of the folded values that wait for [`post`](Self::post).
    fn values_bytes(&self) -> usize {
        (self.width * 16).next_multiple_of(64)
    }

    /// A thread's memory, of [`room_bytes`](Self::room_bytes) from `start` on.
    pub(crate) fn room(&self, start: *mut u8) -> Room {
        let (mut slots, mut post_slots) = (Slots::new(), Slots::new());
        self.lane.code.prepare(&mut slots, start);
        let post = start.wrapping_add(self.lane.code.scratch_bytes());
        self.post.prepare(&mut post_slots, post);
        let mut values = post.wrapping_add(self.post.scratch_bytes());
        let mut many_slots = Slots::new();
        if let Some(many) = &self.many {
            many.code.prepare(&mut many_slots, values);
            values = values.wrapping_add(many.code.scratch_bytes());
        }
        let narrowed = values.wrapping_add(self.values_bytes());
        Room { slots, many: many_slots, post_slots, values, narrowed }
    }

    /// The fold and the input, where an output's points are one segment that lies element after element.
    fn short(&self) -> Option<(&Folding, usize)> {
        match &self.partials.kind {
            Kind::Value(f) if self.segments == 1 && self.lane.space.dims.len() <= 1 => {
                Some(f).zip(self.lane.code.input_itself())
            }
            _ => None,
        }
    }

    /// Folds `len` outputs from one on, each of which is one segment, to values in the room; `partial` has room for one.
    ///
    /// # Safety
    /// As for [`segment`](Self::segment), for all of these outputs, which are no more than [`width`](Self::width).
    pub(crate) unsafe fn values(&self, room: &mut Room, partial: *mut u8, start: usize, len: usize) {
        if let (Some(many), Kind::Value(f)) = (&self.many, &self.partials.kind) {
            // SAFETY: the outputs are the plan's, `len` of them, and the room is for as many.
            return unsafe { self.values_of_many(many, f, room, start, len) };
        }
        let kept = self.kept();
        let (_, size) = self.partials.result();
        let Some((f, input)) = self.short() else {
            for o in 0..len {
                let place = Place { cursor: &kept.seek(start + o), len: 1 };
                // SAFETY: output `start + o` is the plan's, and has one segment; the room is for `width`
                // values.
                unsafe {
                    self.segment(&mut room.slots, &place, 0, partial);
                    self.take(room, &place, partial, o);
                }
            }
            return;
        };
        let mut done = 0;
        while done < len {
            let cursor = kept.seek(start + done);
            let count = kept.left(&cursor).min(len - done);
            let pitch = kept.views[input].strides.last().copied().unwrap_or(0);
            let (to, src) = (room.values.wrapping_add(done * size), cursor.at[input]);
            let points = self.lane.space.len();
            // SAFETY: `count` outputs of a row are `pitch` bytes apart, each of `points` elements that lie
            // one after another and are readable; the room is for as many values.
            unsafe {
                f.many.call(to, src, &f.identity, pitch, count, points);
            }
            done += count;
        }
    }

    /// [`values`](Self::values) of short rows, which are computed several at a time.
    ///
    /// # Safety
    /// As for [`values`](Self::values).
    unsafe fn values_of_many(&self, many: &Tiles, f: &Folding, room: &mut Room, start: usize, len: usize) {
        let Tiles { code, space, .. } = many;
        let (points, size) = (self.folded(), self.partials.acc.size());
        let most = (code.tile_len.min(TILE_BYTES / size) / points).max(1);
        let pitch = (points * size).cast_signed();
        let kept = self.kept();
        let row = if kept.across { kept.len() } else { kept.row() };
        let mut done = 0;
        while done < len {
            let column = (start + done) % row;
            let first = kept.seek(start + done - column);
            let mut cursor = space.seek(column * points);
            for (at, first) in cursor.at[..code.operands()].iter_mut().zip(&first.at) {
                *at = first.wrapping_add(at.addr());
            }
            let mut count = most.min(len - done).min(row - column);
            if !space.across {
                count = count.min(space.left(&cursor) / points);
            }
            // SAFETY: the outputs are the plan's; the tile is of whole rows, within the space's row unless
            // tiles run across these; the room is for as many values.
            unsafe {
                many.load(&cursor, &mut room.many, count * points);
                code.run(&room.many, count * points);
                let src = room.many.0[usize::from(code.value)];
                let to = room.values.wrapping_add(done * size);
                f.many.call(to, src, &f.identity, pitch, count, points);
            }
            done += count;
        }
    }

    /// Takes what one output came to from a partial, as value number `o` in the room.
    ///
    /// # Safety
    /// As for [`segment`](Self::segment); the partial has the result of the place's whole tree, and `o` is below
    /// [`width`](Self::width).
    pub(crate) unsafe fn take(&self, room: &mut Room, place: &Place<'_>, partial: *mut u8, o: usize) {
        let (at, size) = self.partials.result();
        // SAFETY: the partial has the result of the place's tree, and the room has a value of number `o`, as
        // that is below the width.
        unsafe {
            self.locate(place, partial);
            std::ptr::copy_nonoverlapping(partial.add(at), room.values.add(o * size), size);
        }
    }

    /// Applies the finish to the folded values of `len` outputs from one on, which are in a row, and writes them. They are in
    /// the room, or, of rows, in a partial.
    ///
    /// # Safety
    /// As for [`segment`](Self::segment); the outputs are this call's to write.
    pub(crate) unsafe fn finish(&self, room: &mut Room, partial: *mut u8, start: usize, len: usize) {
        let kept = self.kept();
        let output = self.lane.code.operands();
        let cursor = kept.seek(start);
        let mut from =
            if self.cut.rows { partial.wrapping_add(self.partials.result().0) } else { room.values };
        if let Some(narrow) = self.narrow {
            // SAFETY: the values and the narrowed ones are disjoint, and there is room for `len` of each.
            unsafe { narrow(room.narrowed, from, from, from, 0, len) };
            from = room.narrowed;
        }
        let mut at = [std::ptr::null_mut(); MAX_OPERANDS];
        (at[0], at[1]) = (from, cursor.at[output]);
        room.post_slots.point(&at, 2);
        // SAFETY: the `len` outputs are the plan's, in a row, and this call's to write; the slots are the
        // folded values and their place.
        unsafe {
            self.post.run(&room.post_slots, len);
            for &(_, slot) in &self.post.scatters {
                let src = room.post_slots.0[usize::from(slot)];
                kept.scatter(output, at[1], &cursor.index, src, len);
            }
        }
    }

    /// Folds one segment of a place into a partial.
    ///
    /// # Safety
    /// As for [`segment`](Self::segment).
    pub(crate) unsafe fn leaf(&self, room: &mut Room, place: &Place<'_>, segment: usize, acc: *mut u8) {
        // SAFETY: the place is one of the plan, the slots are prepared, and `acc` is a partial.
        unsafe {
            match self.cut.rows {
                true => self.segment_of_rows(&mut room.slots, place, segment, acc),
                false => self.segment(&mut room.slots, place, segment, acc),
            }
        }
    }

    /// Finds the place of the best value in its segment, where it is looked for at the end.
    ///
    /// # Safety
    /// As for [`segment`](Self::segment); `partial` has the result of a place's whole tree.
    unsafe fn locate(&self, place: &Place<'_>, partial: *mut u8) {
        let Some(input) = self.late else { return };
        let space = &self.lane.space;
        // SAFETY: the partial has the first point of a segment; the segment's elements are readable one after the other, and the
        // value is among them.
        unsafe {
            self.partials.locate(partial, |start| {
                let src = place.cursor.at[input].wrapping_add(space.seek(start).at[input].addr());
                (src.cast_const(), self.cut.from(start))
            });
        }
    }

    /// Folds one segment of a place's points, tiles running along folded dimensions.
    ///
    /// # Safety
    /// - The contract of [`run`](crate::kernels::run) holds for the plan that this was made of.
    /// - The place is one of the plan, and `segment` one of its segments.
    /// - `slots` are prepared, and `acc` is a partial; nothing else uses either.
    unsafe fn segment(&self, slots: &mut Slots, place: &Place<'_>, segment: usize, acc: *mut u8) {
        let Tiles { code, space, .. } = &self.lane;
        let (start, end) = (self.cut.before(segment), self.cut.before(segment + 1));
        let limit = code.tile_len;
        let mut cursor = space.seek(start);
        for (at, base) in cursor.at[..code.operands()].iter_mut().zip(&place.cursor.at) {
            *at = base.wrapping_add(at.addr());
        }
        let mut at = start;
        while at < end {
            let left = if space.across { end - at } else { space.left(&cursor) };
            let len = limit.min(end - at).min(left);
            // SAFETY: the place is one of the plan and `acc` a partial; the tile is within the row, or tiles
            // run across rows.
            unsafe {
                self.lane.load(&cursor, slots, len);
                code.run(slots, len);
                let value = |slot: u8| slots.0[usize::from(slot)].cast_const();
                let value = [value(code.value), value(code.other.unwrap_or(code.value))];
                let (first, last) = (at == start, at + len == end);
                let run = Run { at, first, last, points: end - start, ahead: self.ahead };
                self.partials.run(acc, value, &run, len);
            }
            at += len;
            if at < end {
                if space.across {
                    cursor = space.seek(at);
                    for (at, base) in cursor.at[..code.operands()].iter_mut().zip(&place.cursor.at) {
                        *at = base.wrapping_add(at.addr());
                    }
                } else {
                    space.advance(&mut cursor, len);
                }
            }
        }
    }

    /// Folds one segment of the rows of a place's outputs, tiles running along kept dimensions.
    ///
    /// # Safety
    /// As for [`segment`](Self::segment).
    unsafe fn segment_of_rows(&self, slots: &mut Slots, place: &Place<'_>, segment: usize, acc: *mut u8) {
        let code = &self.lane.code;
        let len = place.len;
        let (start, end) = (self.cut.before(segment), self.cut.before(segment + 1));
        let mut offsets = self.other.seek(start);
        if let (false, Some(input)) = (self.partials.is_index(), code.input_itself()) {
            let mut row = start;
            while row < end {
                let count = ROWS.min(end - row);
                let mut rows = [std::ptr::null::<u8>(); ROWS];
                for (k, to) in rows[..count].iter_mut().enumerate() {
                    *to = place.cursor.at[input].wrapping_add(offsets.at[input].addr());
                    if row + k + 1 < end {
                        self.other.advance(&mut offsets, 1);
                    }
                }
                // SAFETY: the rows are those of the place, of `len` elements each that are readable; `acc` is
                // a partial of as many outputs.
                unsafe { self.partials.rows(acc, &rows[..count], row, start..end, len) };
                row += count;
            }
            return;
        }
        let mut cursor = Cursor { index: place.cursor.index, at: place.cursor.at };
        for row in start..end {
            for (k, at) in cursor.at[..code.operands()].iter_mut().enumerate() {
                *at = place.cursor.at[k].wrapping_add(offsets.at[k].addr());
            }
            // SAFETY: the place is one of the plan, of `len` outputs in a row; the slots are prepared, and
            // `acc` is a partial of as many outputs.
            unsafe {
                self.lane.load(&cursor, slots, len);
                code.run(slots, len);
                let value = slots.0[usize::from(code.value)].cast_const();
                self.partials.rows(acc, &[value], row, start..end, len);
            }
            if row + 1 < end {
                self.other.advance(&mut offsets, 1);
            }
        }
    }
}
