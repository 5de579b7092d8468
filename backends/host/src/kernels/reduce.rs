//! Reductions: what a program computes tile by tile is folded in a fixed order.
//!
//! The folded points of an output are cut into segments that depend on the plan alone, segments are folded each by
//! itself, and their results pairwise along a binary tree. Threads take subtrees or outputs, so that the bits of a result
//! do not depend on their number, nor on the width of vectors.

use std::ops::Range;

use smallvec::SmallVec;
use stridewise_core::{Arg, Dtype, Fold, LaunchPlan, Op, Program};

use super::code::{Access, Code, SLOT_BYTES, Slots, TILE_BYTES, Target};
use super::entry::StepFn;
use super::fold::{Folding, ROWS, products};
use super::plane::{Kind, Planes, ROW_BYTES, Run, SEGMENT, SEGMENT_ROWS, by_rows, halves, middle};
use super::space::{Cursor, MAX_OPERANDS, Space, View};
use super::step::resolve;
use super::tile::{Scratch, Tiles};
use super::wide_sum::widened;
use super::{Address, Tuning, split};
use crate::team;

/// Bytes of accumulators that a thread has at least, where threads share them.
const COLUMN_BYTES: usize = 4 << 10;
/// Segments that one thread folds at least.
const SEGMENTS_PER_TASK: usize = 4;
/// Parts per thread that a tree is cut into at most.
const TASKS: usize = 4;
/// Rows that are folded for each that is combined, where columns could be divided instead; one thread combines, while the
/// others wait.
const ROWS_PER_PLANE: usize = 64;

/// A reduction ready to run.
struct Reduction {
    /// The program, over the space along which tiles run. Its views are the inputs; along kept dimensions, the output is
    /// the last.
    lane: Tiles,
    /// The other dimensions, with the same views.
    other: Space,
    /// Whether tiles run along kept dimensions.
    rows: bool,
    /// Accumulators.
    planes: Planes,
    /// Segments of one output.
    segments: usize,
    /// Segments of a row of folded dimensions, where tiles run along these.
    per_row: usize,
    /// Outputs that are folded together at most.
    width: usize,
    /// The input in which an index is looked for once, at the end; see [`Planes::late`].
    late: Option<usize>,
    /// Conversion of the accumulators to the folded value's dtype.
    narrow: Option<StepFn>,
    /// From the folded value to the output.
    post: Code,
}

/// Memory of one thread.
struct Worker {
    slots: Slots,
    scratch: Scratch,
    /// Where the planes of accumulators begin, behind the code's tiles.
    planes: *mut u8,
}

/// One or several outputs that are folded together.
struct Place<'a> {
    /// Along kept dimensions: of the first output.
    cursor: &'a Cursor,
    len: usize,
}

// SAFETY: addresses only; see `Space`.
unsafe impl Sync for Place<'_> {}

/// Runs a reduction.
///
/// # Safety
/// The contract of [`run`](super::run).
pub(super) unsafe fn reduce(
    plan: &LaunchPlan,
    fold: Fold,
    reduced: usize,
    finish: Option<&Program>,
    tuning: &Tuning,
) {
    // `supports` refuses what cannot be compiled.
    let Some(reduction) = Reduction::new(plan, fold, reduced, finish, tuning) else { return };
    let kept = reduction.kept();
    let (outputs, row) = (kept.len(), if kept.across { 1 } else { kept.row() });
    let folded = if reduction.rows { reduction.other.len() } else { reduction.lane.space.len() };
    let bytes: usize = plan.program.inputs().iter().map(|d| d.size()).sum();
    let threads = tuning.threads;
    // Narrow columns of a wide row would read every page by several threads, a little each.
    let grain = if reduction.rows { COLUMN_BYTES / reduction.planes.acc.size() } else { 1 };
    let enough = if reduction.rows { threads * grain } else { threads * 4 };
    // Rows are read faster than columns of them, where there are so many that what the threads come to is soon combined.
    let many = reduction.rows && folded >= ROWS_PER_PLANE * threads * threads * TASKS;
    if threads <= 1 || (outputs >= enough && !many) {
        let bytes = bytes.max(1).saturating_mul(folded);
        let run = |start: usize, end: usize| {
            // SAFETY: the caller's contract; ranges are disjoint parts of the outputs.
            unsafe { reduction.outputs(start, end, 1) };
        };
        split::ranges(outputs, row, bytes, grain, threads, &run);
    } else {
        // SAFETY: the caller's contract.
        unsafe { reduction.outputs(0, outputs, threads) };
    }
}

impl Reduction {
    fn new(
        plan: &LaunchPlan,
        fold: Fold,
        reduced: usize,
        finish: Option<&Program>,
        tuning: &Tuning,
    ) -> Option<Self> {
        let program = &*plan.program;
        let value = program.output_dtype(0);
        // 16-bit floats are folded as `float32` and rounded once.
        let acc = if matches!(value, Dtype::F16 | Dtype::Bf16) { Dtype::F32 } else { value };
        let folded = fold.result(value);
        let mut kind = Kind::new(fold, acc, tuning.isa)?;
        let output = plan.outputs.first()?;
        let split = plan.dims.len().checked_sub(reduced)?;
        let post_program = Program::convert(folded, folded);
        let post_program = finish.unwrap_or(&post_program);
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
        // What is read decides on the direction; indices cost the same in any.
        let memory = (0..plan.inputs.len()).find(|&input| !program.is_index(input));
        if let (false, Some(input)) = (fold.is_index(), memory) {
            along.sort_by(input);
        }
        along.merge();

        let step = |space: &Space| {
            let read = space.views[..plan.inputs.len()].iter().filter(|v| !v.index);
            let strides = read.filter_map(|v| v.strides.last());
            strides.map(|s| s.unsigned_abs()).find(|&s| s != 0).unwrap_or(0)
        };
        let (outputs, points) = (kept.len(), along.len());
        // Short rows of floats that only are folded: many in one call, whatever their number.
        let itself = matches!(program.steps(), [s] if s.op == Op::Copy && s.dtype == acc);
        let dense = itself
            && matches!(fold, Fold::Op(_))
            && matches!(acc, Dtype::F32 | Dtype::F64)
            && along.dims.len() == 1
            && along.access(0) == Access::Direct;
        let rows = !dense && by_rows([outputs, points], [step(&kept), step(&along)], kept.row());

        // A sum that widens integers reads them as they are.
        let mut element = (acc, None);
        if !rows
            && fold == Fold::Op(Op::Add)
            && let Kind::Value(folding) = &mut kind
            && let Some((run, many, from)) = widened(program, acc, tuning.isa)
        {
            (folding.run, folding.many) = (run, many);
            element = (from, Some(Program::convert(from, from)));
        }
        // What is only handed on is converted from where it lies, not from a copy.
        if let ([step], [_]) = (program.steps(), program.inputs())
            && (step.op, step.operands()) == (Op::Copy, &[Arg::Input(0)])
            && acc != value
        {
            element.1 = Some(Program::convert(value, acc));
        }
        let program = element.1.as_ref().unwrap_or(program);

        let lane = if rows { &kept } else { &along };
        let access: SmallVec<[Access; 8]> = (0..plan.inputs.len()).map(|v| lane.access(v)).collect();
        // A sum of products multiplies on the way to the accumulators, instead of in a tile; a square's factors are the same.
        let compile = |target| Code::compile(program, tuning.isa, &access, &target);
        let product = matches!(
            (program.steps(), program.outputs()),
            ([before @ .., last], [Arg::Step(s)])
                if last.op == Op::Multiply && last.out == acc && usize::from(*s) == before.len()
        );
        let mut factors = None;
        if product
            && !rows
            && fold == Fold::Op(Op::Add)
            && let Kind::Value(folding) = &mut kind
            && let Some(run) = products(acc, tuning.isa)
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
        let post = Code::compile(post_program, tuning.isa, &[Access::Direct], &target)?;
        let narrow = match &kind {
            Kind::Value(_) | Kind::Deviation(_) if acc != value => {
                Some(resolve(Op::Cast, acc, value, tuning.isa)?.run)
            }
            _ => None,
        };

        let (per_row, segments, width);
        if rows {
            (per_row, segments) = (1, points.div_ceil(SEGMENT_ROWS));
            let widest = acc.size().max(folded.size()).max(out_size);
            width = (ROW_BYTES / widest).min(code.tile_len).min(post.tile_len);
        } else {
            per_row = if along.across { points } else { along.row() }.div_ceil(SEGMENT);
            segments = if along.across { per_row } else { points / along.row() * per_row };
            width = (TILE_BYTES / 16).min(post.tile_len);
        }
        let (lane, other) = if rows { (kept, along) } else { (along, kept) };
        let lane = Tiles { code, space: lane };
        let itself = lane.code.input_itself().filter(|&input| lane.space.access(input) == Access::Direct);
        let late = itself.filter(|_| matches!(kind, Kind::Index(..)) && !rows && !lane.space.across);
        let planes = Planes { kind, acc, rows, len: if rows { width } else { 1 }, late: late.is_some() };
        Some(Self { lane, other, rows, planes, segments, per_row, width, late, narrow, post })
    }

    fn kept(&self) -> &Space {
        if self.rows { &self.lane.space } else { &self.other }
    }

    /// Points before a segment of an output.
    fn points(&self, segment: usize) -> usize {
        if self.rows {
            return (segment * SEGMENT_ROWS).min(self.other.len());
        }
        let space = &self.lane.space;
        let row = if space.across { space.len() } else { space.row() };
        segment / self.per_row * row + (segment % self.per_row * SEGMENT).min(row)
    }
    /// Bytes of the folded values that wait for [`post`](Self::post), twice: before and after narrowing.
    fn values_bytes(&self) -> usize {
        (self.width * 16).next_multiple_of(64)
    }

    fn worker(&self) -> Worker {
        // One plane per level of the tree, and one for the result.
        let planes = usize::BITS as usize - self.segments.leading_zeros() as usize + 3;
        let tiles = self.lane.code.scratch_bytes() + self.post.scratch_bytes();
        let bytes = tiles + planes * self.planes.bytes() + 2 * self.values_bytes();
        let mut scratch = Scratch::take(bytes.next_multiple_of(SLOT_BYTES));
        let mut slots = Slots::new();
        let start = scratch.ptr();
        self.lane.code.prepare(&mut slots, start);
        Worker { slots, planes: start.wrapping_add(tiles), scratch }
    }

    /// Computes the outputs `start..end`, in row-major order of the kept dimensions.
    ///
    /// # Safety
    /// As for [`reduce`].
    unsafe fn outputs(&self, start: usize, end: usize, threads: usize) {
        let mut worker = self.worker();
        let kept = self.kept();
        let output = self.lane.code.operands();
        let result = worker.planes;
        let values = worker.scratch.ptr().wrapping_add(
            self.lane.code.scratch_bytes()
                + self.post.scratch_bytes()
                + (usize::BITS as usize - self.segments.leading_zeros() as usize + 3) * self.planes.bytes(),
        );
        let narrowed = values.wrapping_add(self.values_bytes());
        let mut post_slots = Slots::new();
        self.post.prepare(&mut post_slots, worker.scratch.ptr().wrapping_add(self.lane.code.scratch_bytes()));
        let (result_at, size) = self.planes.result();
        let mut at = start;
        while at < end {
            let cursor = kept.seek(at);
            let mut len = self.width.min(end - at);
            if !kept.across {
                len = len.min(kept.row() - cursor.index[kept.dims.len().saturating_sub(1)]);
            }
            let mut from;
            if self.rows {
                let place = Place { cursor: &cursor, len };
                // SAFETY: planes, values and tiles are disjoint parts of the scratch memory, sized by `worker`; the rest
                // is the caller's contract.
                unsafe { self.fold(&mut worker, &place, threads) };
                from = result.wrapping_add(result_at);
            } else if let Some((f, input)) = self.short() {
                let mut done = 0;
                while done < len {
                    let cursor = kept.seek(at + done);
                    let inner = kept.dims.len().saturating_sub(1);
                    let count = (kept.row() - cursor.index[inner]).min(len - done);
                    let pitch = kept.views[input].strides.last().copied().unwrap_or(0);
                    let (to, src) = (values.wrapping_add(done * size), cursor.at[input]);
                    let points = self.lane.space.len();
                    // SAFETY: as above; `count` outputs of a row are `pitch` bytes apart.
                    unsafe {
                        let (identity, pitch) = (f.identity.as_ptr(), (&raw const pitch).cast());
                        (f.many)(to, src, identity, pitch, count as u32, points);
                    }
                    done += count;
                }
                from = values;
            } else {
                for o in 0..len {
                    let cursor = kept.seek(at + o);
                    let place = Place { cursor: &cursor, len: 1 };
                    // SAFETY: as above; `values` has room for `width` results.
                    unsafe {
                        self.fold(&mut worker, &place, threads);
                        self.locate(&place, result);
                        let one = result.wrapping_add(result_at);
                        std::ptr::copy_nonoverlapping(one, values.add(o * size), size);
                    }
                }
                from = values;
            }
            if let Some(narrow) = self.narrow {
                // SAFETY: as above.
                unsafe { narrow(narrowed, from, from, from, 0, len) };
                from = narrowed;
            }
            let mut write = Cursor { index: cursor.index, at: [std::ptr::null_mut(); MAX_OPERANDS] };
            write.at[0] = from;
            write.at[1] = cursor.at[output];
            // SAFETY: the output's `len` elements from the cursor on are this call's to write.
            unsafe { self.write(&write, &mut post_slots, len) };
            at += len;
        }
    }

    /// The fold and the input, where an output's points are one segment that lies element after element.
    fn short(&self) -> Option<(&Folding, usize)> {
        match &self.planes.kind {
            Kind::Value(f) if self.segments == 1 && self.lane.space.dims.len() <= 1 => {
                Some(f).zip(self.lane.code.input_itself())
            }
            _ => None,
        }
    }

    /// Applies the finish to `len` folded values and writes them.
    ///
    /// # Safety
    /// As for [`Tiles::tile`].
    unsafe fn write(&self, cursor: &Cursor, slots: &mut Slots, len: usize) {
        slots.point(&cursor.at, 2);
        let kept = self.kept();
        // SAFETY: the caller's contract.
        unsafe {
            self.post.run(slots, len);
            for &(_, slot) in &self.post.scatters {
                let src = slots.0[usize::from(slot)];
                kept.scatter(self.lane.code.operands(), cursor.at[1], &cursor.index, src, len);
            }
        }
    }

    /// Folds all segments of a place into the first of the worker's planes.
    ///
    /// # Safety
    /// As for [`outputs`](Self::outputs).
    unsafe fn fold(&self, worker: &mut Worker, place: &Place<'_>, threads: usize) {
        let result = worker.planes;
        let spare = result.wrapping_add(self.planes.bytes());
        // SAFETY: the caller's contract; a worker has a plane for each level of the tree.
        unsafe {
            if self.divides(self.segments, threads) {
                self.shared_tree(place, result, threads);
            } else {
                self.tree(worker, place, 0..self.segments, result, spare);
            }
        }
    }

    /// Folds segments of a place into a plane, with the planes of `spare` on the way.
    ///
    /// # Safety
    /// As for [`Planes::tree`] and [`outputs`](Self::outputs).
    unsafe fn tree(
        &self,
        worker: &mut Worker,
        place: &Place<'_>,
        segments: Range<usize>,
        acc: *mut u8,
        spare: *mut u8,
    ) {
        // SAFETY: for all of this function: the caller's contract.
        unsafe {
            let mut leaf = |segment: usize, acc: *mut u8| match self.rows {
                true => self.segment_of_rows(worker, place, segment, acc),
                false => self.segment(worker, place, segment, acc),
            };
            self.planes.tree(acc, spare, segments, place.len, &|segment| self.points(segment), &mut leaf);
        }
    }

    /// Whether threads share a subtree of so many segments.
    fn divides(&self, segments: usize, threads: usize) -> bool {
        threads > 1 && segments > SEGMENTS_PER_TASK.max(self.segments / (threads * TASKS))
    }

    /// Like [`tree`](Self::tree), of all segments, by several threads: each takes subtrees that are not divided, whose planes
    /// are combined here in the tree's order.
    ///
    /// # Safety
    /// As for [`outputs`](Self::outputs); `acc` is a plane.
    unsafe fn shared_tree(&self, place: &Place<'_>, acc: *mut u8, threads: usize) {
        let mut parts = SmallVec::<[(usize, usize); 32]>::new();
        self.subtrees(0, self.segments, threads, &mut parts);
        let bytes = self.planes.bytes();
        let mut scratch = Scratch::take((parts.len() * bytes).next_multiple_of(SLOT_BYTES));
        let planes = Address(scratch.ptr());
        team::share(parts.len(), threads, &|part| {
            let (low, high) = parts[part];
            let mut worker = self.worker();
            // SAFETY: the caller's contract; each part has a plane of the scratch memory, and a worker of its own.
            unsafe {
                let spare = worker.planes;
                self.tree(&mut worker, place, low..high, planes.at(part * bytes), spare);
            }
        });
        // SAFETY: one plane for each part; `acc` is another.
        unsafe {
            let from = self.combine(place, &mut (0..parts.len()), planes, (0, self.segments), threads);
            std::ptr::copy_nonoverlapping(from, acc, bytes);
        }
    }

    /// The subtrees of one that are not divided, from the first on.
    fn subtrees(&self, low: usize, high: usize, threads: usize, to: &mut SmallVec<[(usize, usize); 32]>) {
        if !self.divides(high - low, threads) {
            return to.push((low, high));
        }
        let middle = middle(low, high);
        self.subtrees(low, middle, threads, to);
        self.subtrees(middle, high, threads, to);
    }

    /// Combines the planes of [`subtrees`](Self::subtrees), the next of which are those of this tree; returns the plane
    /// with what they come to.
    ///
    /// # Safety
    /// There are as many planes.
    unsafe fn combine(
        &self,
        place: &Place<'_>,
        next: &mut Range<usize>,
        planes: Address,
        (low, high): (usize, usize),
        threads: usize,
    ) -> *mut u8 {
        if !self.divides(high - low, threads) {
            return planes.at(next.next().unwrap_or(0) * self.planes.bytes());
        }
        let middle = middle(low, high);
        // SAFETY: the caller's contract; the two planes differ.
        unsafe {
            let first = self.combine(place, next, planes, (low, middle), threads);
            let second = self.combine(place, next, planes, (middle, high), threads);
            let halves = halves(low, middle, high, |segment| self.points(segment));
            self.planes.combine(first, second, halves, place.len);
            first
        }
    }

    /// Finds the place of the best value in its segment, where it is looked for at the end.
    ///
    /// # Safety
    /// As for [`outputs`](Self::outputs); `plane` has the result of a place's whole tree.
    unsafe fn locate(&self, place: &Place<'_>, plane: *mut u8) {
        let Some(input) = self.late else { return };
        let space = &self.lane.space;
        // SAFETY: the plane has the first point of a segment; the segment's elements are readable one after the other, and the
        // value is among them.
        unsafe {
            self.planes.locate(plane, |start| {
                let src = place.cursor.at[input].wrapping_add(space.seek(start).at[input].addr());
                (src.cast_const(), SEGMENT.min(space.row() - start % space.row()))
            });
        }
    }

    /// Folds one segment of a place's points, tiles running along folded dimensions.
    ///
    /// # Safety
    /// As for [`tree`](Self::tree).
    unsafe fn segment(&self, worker: &mut Worker, place: &Place<'_>, segment: usize, acc: *mut u8) {
        let Tiles { code, space } = &self.lane;
        let row = if space.across { space.len() } else { space.row() };
        let start = segment / self.per_row * row + segment % self.per_row * SEGMENT;
        let end = (segment / self.per_row * row + row).min(start + SEGMENT);
        let limit = code.tile_len;
        let mut cursor = space.seek(start);
        for (at, base) in cursor.at[..code.operands()].iter_mut().zip(&place.cursor.at) {
            *at = base.wrapping_add(at.addr());
        }
        let mut at = start;
        while at < end {
            let len = limit.min(end - at);
            // SAFETY: the caller's contract; the tile is within the row, or tiles run across rows.
            unsafe {
                self.lane.load(&cursor, &mut worker.slots, len);
                code.run(&worker.slots, len);
                let value = |slot: u8| worker.slots.0[usize::from(slot)].cast_const();
                let value = [value(code.value), value(code.other.unwrap_or(code.value))];
                let run = Run { at, first: at == start, last: at + len == end, points: end - start };
                self.planes.run(acc, value, &run, len);
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
    /// As for [`tree`](Self::tree).
    unsafe fn segment_of_rows(&self, worker: &mut Worker, place: &Place<'_>, segment: usize, acc: *mut u8) {
        let code = &self.lane.code;
        let len = place.len;
        let start = segment * SEGMENT_ROWS;
        let end = (start + SEGMENT_ROWS).min(self.other.len());
        let mut offsets = self.other.seek(start);
        if let (false, Some(input)) = (self.planes.is_index(), code.input_itself()) {
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
                // SAFETY: the caller's contract.
                unsafe { self.planes.rows(acc, &rows[..count], row, start..end, len) };
                row += count;
            }
            return;
        }
        let mut cursor = Cursor { index: place.cursor.index, at: place.cursor.at };
        for row in start..end {
            for (k, at) in cursor.at[..code.operands()].iter_mut().enumerate() {
                *at = place.cursor.at[k].wrapping_add(offsets.at[k].addr());
            }
            // SAFETY: the caller's contract.
            unsafe {
                self.lane.load(&cursor, &mut worker.slots, len);
                code.run(&worker.slots, len);
                let value = worker.slots.0[usize::from(code.value)].cast_const();
                self.planes.rows(acc, &[value], row, start..end, len);
            }
            if row + 1 < end {
                self.other.advance(&mut offsets, 1);
            }
        }
    }
}
