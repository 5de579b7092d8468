//! Scans along the last dimension.
//!
//! A row is cut into blocks that depend on its length alone. Each is scanned by itself, and what the blocks before it come
//! to is put before its values. So the bits of a result do not depend on the number of threads, and a monotonic sum stays
//! one. Products of floats are not cut, as one block's could overflow where the whole row's does not. Integers have the same
//! values however they are cut: a block goes on where the one before it ends.

mod running;

use smallvec::SmallVec;
use stridewise_core::memory::heap;
use stridewise_core::{
    Dtype, DtypeKind, Op, Result,
    backend::{Arg, LaunchPlan, Program, ProgramStep},
};

use super::elementwise::step::resolve;
use super::entry::StepFn;
use super::moving::space::{Access, Cursor, Space, View};
use super::program::code::{Code, SLOT_BYTES, Slots, Target};
use super::program::tile::{Scratch, Tiles};
use super::split::{self, Address};
use super::tuning::{ENOUGH_THREADS, SECOND_CACHE_BYTES, TILE_BYTES, Tuning};
use running::{BEGIN, BESIDE, BesideFn, Carry, ScanFn, running, running_beside};

/// Elements of a block. What is before a block is added to what comes of it, so this decides the bits of floats.
const BLOCK: usize = 8192;
/// Rows shorter than this are not worth tiles across them.
const SHORT: usize = 16;
/// Blocks for each thread that are scanned before what is before them is added: they are half of the second-level cache, so they
/// are still there then. A scan of 1 Mi `float64` with its histogram took 1.85 ms, and 1.5 so.
const NEAR: usize = SECOND_CACHE_BYTES / 2 / (BLOCK * size_of::<f64>());
/// Dtype of the running values: 16-bit floats are scanned as `float32`, and each result is rounded once.
fn accumulator(value: Dtype) -> Dtype {
    if matches!(value, Dtype::F16 | Dtype::Bf16) { Dtype::F32 } else { value }
}

/// Scans one row of up to a block of elements one after another, of the dtype of the running values, where that is all of a plan: there
/// are no tiles to be made for it. Whether it did.
///
/// # Safety
/// The contract of [`run`](super::run).
unsafe fn row(plan: &LaunchPlan, op: Op) -> bool {
    let (&[len], [from], [to]) = (&plan.dims[..], &plan.inputs[..], &plan.outputs[..]) else { return false };
    let dtype = plan.output_dtype(0);
    let handed_on = |step: &ProgramStep| step.op == Op::Copy && step.operands() == [Arg::Input(0)];
    let moves = matches!(plan.program.steps(), [step] if handed_on(step)) && !plan.program.is_index(0);
    let closely = from.strides[..] == [1] && to.strides[..] == [1];
    if !closely || !moves || accumulator(dtype) != dtype || len > BLOCK {
        return false;
    }
    let Some(run) = running(op, dtype) else { return false };
    let mut carry: Carry = [0; 16];
    // SAFETY: the plan's addresses are `len` elements that are readable and as many that are writable, aligned to the dtype, which is
    // that of the running values, and apart, as the outputs of a scan are; a carry has room for any value and need not be aligned.
    unsafe { run.call(to.ptr.as_ptr(), from.ptr.as_ptr(), &mut carry, BEGIN, len) };
    true
}

/// Whether there is a scan by an operation of values of a dtype.
pub(super) fn exists(op: Op, value: Dtype) -> bool {
    running(op, accumulator(value)).is_some()
}

/// A scan ready to run.
struct Scan {
    /// The program, over the space along which tiles run: the rows' elements, or the dimensions before these. The views
    /// are the inputs, then the output.
    lane: Tiles,
    /// The other dimensions, with the same views.
    other: Space,
    acc: Dtype,
    run: ScanFn,
    /// For several blocks at once.
    beside: Option<BesideFn>,
    combine: StepFn,
    /// Whether values are the same however a row is cut.
    exact: bool,
    /// Whether running values are the output's elements, one after another, and are written there at once.
    direct: bool,
    /// Elements of a block.
    block: usize,
    /// Elements of a tile.
    width: usize,
    /// From the running values to the output.
    post: Code,
}

/// Memory of one thread.
struct Worker {
    slots: Slots,
    post: Slots,
    values: *mut u8,
    /// Two more tiles of values, one after the other.
    partials: *mut u8,
    /// Keeps the memory.
    _scratch: Scratch,
}

/// Runs a scan.
///
/// # Errors
/// There is no memory for tiles, or for what the blocks of a long row come to.
///
/// # Safety
/// The contract of [`run`](super::run).
pub(super) unsafe fn scan(plan: &LaunchPlan, op: Op, tuning: &Tuning) -> Result<()> {
    // SAFETY: the contract of this function.
    if unsafe { row(plan, op) } {
        return Ok(());
    }
    let inputs = plan.inputs.len();
    let outer = plan.dims.len().saturating_sub(1);
    let views = |dims: std::ops::Range<usize>| -> SmallVec<[View; 4]> {
        let mut all: SmallVec<[View; 4]> =
            (0..inputs).map(|input| View::input(plan, input, dims.clone())).collect();
        all.push(View::new(&plan.outputs[0], plan.output_dtype(0).size(), dims.clone()));
        all
    };
    let mut rows = Space::new(&plan.dims[..outer], views(0..outer), tuning.isa);
    rows.sort_by(inputs);
    rows.merge();
    // Addresses along a row are offsets: the rows' cursor has the bases.
    let mut along_views = views(outer..plan.dims.len());
    for v in &mut along_views {
        v.ptr = std::ptr::null_mut();
    }
    let along = Space::new(&plan.dims[outer..], along_views, tuning.isa);
    let step = |space: &Space| space.views[inputs].strides.last().map_or(0, |s| s.unsigned_abs());
    let bytes: usize = along.views.iter().map(|v| v.size).sum();
    let (len, count) = (along.len(), rows.len());
    if step(&along) > step(&rows) && rows.row() >= SHORT {
        let row = if rows.across { 1 } else { rows.row() };
        // `supports` refuses what cannot be compiled.
        let Some(scan) = Scan::new(plan, op, rows, along, tuning) else { return Ok(()) };
        let grain = split::ROW_BYTES / scan.acc.size();
        let bytes = bytes.saturating_mul(len);
        return split::try_ranges(count, row, bytes, grain, tuning.threads, &|start, end| {
            // SAFETY: the plan's addresses are readable and writable; each range of columns is one thread's.
            unsafe { scan.columns(start, end) }
        });
    }
    let Some(scan) = Scan::new(plan, op, along, rows, tuning) else { return Ok(()) };
    if count <= tuning.threads
        && scan.blocks() >= BESIDE
        && let Some(beside) = scan.beside.filter(|_| scan.direct)
    {
        let bytes = bytes.saturating_mul(scan.block);
        for row in 0..count {
            // SAFETY: the plan's addresses are readable and writable, and this thread goes through the rows
            // one after the other; `direct` says that running values are the output's elements.
            unsafe { scan.row_beside(row, beside, bytes, tuning.threads) }?;
        }
        return Ok(());
    }
    if count < tuning.threads && tuning.threads >= ENOUGH_THREADS && len / scan.block >= tuning.threads {
        for row in 0..count {
            // SAFETY: the plan's addresses are readable and writable, and this thread goes through the rows
            // one after the other.
            unsafe { scan.long_row(row, bytes, tuning.threads) }?;
        }
        return Ok(());
    }
    split::try_ranges(count, 1, bytes.saturating_mul(len), 1, tuning.threads, &|start, end| {
        let mut worker = scan.worker()?;
        for row in start..end {
            let base = scan.other.seek(row);
            let mut carry = None;
            for block in 0..scan.blocks() {
                // SAFETY: the plan's addresses are readable and writable; `base` is the place of a row that
                // is one thread's.
                let total = unsafe { scan.block(&mut worker, &base, block, carry.as_ref(), true) };
                carry = Some(scan.through(carry.as_ref(), total));
            }
        }
        Ok(())
    })
}

impl Scan {
    fn new(plan: &LaunchPlan, op: Op, lane: Space, other: Space, tuning: &Tuning) -> Option<Self> {
        let program = &*plan.program;
        let inputs = plan.inputs.len();
        let value = program.output_dtype(0);
        let acc = accumulator(value);
        let access: SmallVec<[Access; 8]> = (0..inputs).map(|v| lane.access(v)).collect();
        let code = Code::compile(program, tuning.isa, &access, &Target::Value(acc), plan.len())?;
        let target = Target::Outputs { access: &[lane.access(inputs)], alias: &|_, _| false, stream: false };
        let post = Code::compile(
            &Program::convert(acc, value),
            tuning.isa,
            &[Access::Contiguous],
            &target,
            plan.len(),
        )?;
        let width = (TILE_BYTES / acc.size()).min(code.tile_len).min(post.tile_len);
        let whole = op == Op::Multiply && matches!(acc.kind(), DtypeKind::Float | DtypeKind::Complex);
        Some(Self {
            run: running(op, acc)?,
            beside: running_beside(op, acc),
            exact: acc.kind().is_integer(),
            direct: acc == value && lane.access(inputs) == Access::Contiguous,
            combine: resolve(op, acc, acc, tuning.isa)?.run,
            block: if whole { usize::MAX } else { BLOCK },
            width,
            post,
            acc,
            lane: Tiles { code, space: lane, ahead: SmallVec::new() },
            other,
        })
    }

    fn worker(&self) -> Result<Worker> {
        let (code, post) = (self.lane.code.scratch_bytes(), self.post.scratch_bytes());
        let mut scratch = Scratch::take(code + post + 3 * SLOT_BYTES)?;
        let start = scratch.ptr();
        let (mut slots, mut post_slots) = (Slots::new(), Slots::new());
        self.lane.code.prepare(&mut slots, start);
        self.post.prepare(&mut post_slots, start.wrapping_add(code));
        let values = start.wrapping_add(code + post);
        let partials = values.wrapping_add(SLOT_BYTES);
        Ok(Worker { slots, post: post_slots, values, partials, _scratch: scratch })
    }

    /// Number of blocks of a row.
    fn blocks(&self) -> usize {
        self.lane.space.len().div_ceil(self.block)
    }

    /// What a block comes to with those before it, from what [`block`](Self::block) answered.
    fn through(&self, before: Option<&Carry>, total: Carry) -> Carry {
        if self.exact { total } else { self.join(before, &total) }
    }

    /// What two blocks come to.
    fn join(&self, before: Option<&Carry>, total: &Carry) -> Carry {
        let Some(before) = before else { return *total };
        let mut operands = [Aligned(*before), Aligned(*total)];
        let at = (&raw mut operands).cast::<u8>();
        // SAFETY: one aligned element at each, 16 bytes apart; the result is exactly the first.
        unsafe { (self.combine)(at, at, at.add(16), at, 0, 1) };
        operands[0].0
    }

    /// Computes the elements of a tile, and their address.
    ///
    /// # Safety
    /// As for [`Tiles::load`].
    unsafe fn tile(&self, worker: &mut Worker, cursor: &Cursor, len: usize) -> *const u8 {
        // SAFETY: `Tiles::load` has the contract of this function, and sets what `run` needs.
        unsafe {
            self.lane.load(cursor, &mut worker.slots, len);
            self.lane.code.run(&worker.slots, len);
        }
        worker.slots.0[usize::from(self.lane.code.value)]
    }

    /// Writes the worker's running values to the output at a cursor.
    ///
    /// # Safety
    /// As for [`Tiles::tile`].
    unsafe fn write(&self, worker: &mut Worker, cursor: &Cursor, len: usize) {
        let output = self.lane.code.operands();
        worker.post.0[0] = worker.values;
        worker.post.0[1] = cursor.at[output];
        // SAFETY: the `len` elements of the output at the cursor are writable, in the row; `post`'s slots are
        // the values and that place.
        unsafe {
            self.post.run(&worker.post, len);
            for &(_, slot) in &self.post.scatters {
                let src = worker.post.0[usize::from(slot)];
                self.lane.space.scatter(output, cursor.at[output], &cursor.index, src, len);
            }
        }
    }

    /// Scans a block of a row by itself; writes it, behind what is before it, where asked to. The result is what the block
    /// alone comes to, or, of what is the same however it is cut, with what is before it.
    ///
    /// # Safety
    /// The plan's contract; `base` is the row's place.
    unsafe fn block(
        &self,
        worker: &mut Worker,
        base: &Cursor,
        block: usize,
        before: Option<&Carry>,
        write: bool,
    ) -> Carry {
        let space = &self.lane.space;
        let start = block * self.block;
        let end = space.len().min(start.saturating_add(self.block));
        let mut cursor = space.seek(start);
        for (at, base) in cursor.at[..space.views.len()].iter_mut().zip(&base.at) {
            *at = base.wrapping_add(at.addr());
        }
        let (mut carry, mut flags): (Carry, u32) = match before {
            Some(before) if self.exact => (*before, 0),
            _ => ([0; 16], BEGIN),
        };
        let before = before.filter(|_| !self.exact).map(|b| Aligned(*b));
        let output = self.lane.code.operands();
        let mut at = start;
        while at < end {
            let len = self.width.min(end - at);
            // SAFETY: the row at `base` is the plan's, and the tile is within the block; `values` holds
            // `width` values, and `to` is writable for `len` of them.
            unsafe {
                let elements = self.tile(worker, &cursor, len);
                let to = if write && self.direct { cursor.at[output] } else { worker.values };
                let values = if before.is_some() { worker.values } else { to };
                self.run.call(values, elements, &mut carry, flags, len);
                if write {
                    if let Some(before) = &before {
                        (self.combine)(to, before.0.as_ptr(), values, values, u32::from(len > 1), len);
                    }
                    if !self.direct {
                        self.write(worker, &cursor, len);
                    }
                }
            }
            flags = 0;
            at += len;
            if at < end {
                space.advance(&mut cursor, len);
            }
        }
        carry
    }

    /// Scans a row, several blocks by themselves next to each other; then what is before them is put before their values. In as many
    /// blocks at a time as the caches have, by several threads.
    ///
    /// # Errors
    /// As for [`scan`].
    ///
    /// # Safety
    /// The plan's contract; running values are the output's elements.
    unsafe fn row_beside(&self, row: usize, beside: BesideFn, bytes: usize, threads: usize) -> Result<()> {
        let blocks = self.blocks();
        let base = self.other.seek(row);
        let mut before: Option<Carry> = None;
        let near = NEAR * threads.max(1);
        let mut carries: Vec<Carry> = heap::zeroed("scratch of a scan", near)?;
        for first in (0..blocks).step_by(near) {
            let count = near.min(blocks - first);
            let to = Address(carries.as_mut_ptr().cast());
            split::try_ranges(count.div_ceil(BESIDE), 1, BESIDE * bytes, 1, threads, &|start, end| {
                let mut workers = [self.worker()?, self.worker()?, self.worker()?, self.worker()?];
                let base = self.other.seek(row);
                for block in (start * BESIDE..count.min(end * BESIDE)).step_by(BESIDE) {
                    let number = BESIDE.min(count - block);
                    // SAFETY: the row is the plan's, and each block's values and carry are written by one
                    // thread.
                    unsafe {
                        let totals = self.blocks_beside(&mut workers, &base, first + block, number, beside);
                        for (k, total) in totals[..number].iter().enumerate() {
                            to.at((block + k) * size_of::<Carry>()).cast::<Carry>().write(*total);
                        }
                    }
                }
                Ok(())
            })?;
            // From what each comes to, to what all before it come to.
            for carry in &mut carries[..count] {
                let through = self.join(before.as_ref(), carry);
                *carry = before.unwrap_or_default();
                before = Some(through);
            }
            let carries = &carries[..count];
            let output = self.lane.code.operands();
            let at = Address(base.at[output]);
            split::ranges(count, 1, bytes, 1, threads, &|start, end| {
                for (block, carry) in (start..end).zip(&carries[start..end]).filter(|(k, _)| first + k > 0) {
                    let from = (first + block) * self.block;
                    let len = self.block.min(self.lane.space.len() - from);
                    let (to, carry) = (at.at(from * self.acc.size()), Aligned(*carry));
                    // SAFETY: the values of the block are the output's elements, which were written before
                    // and are one thread's; `combine` reads and writes each in place.
                    unsafe { (self.combine)(to, carry.0.as_ptr(), to, to, u32::from(len > 1), len) };
                }
            });
        }
        Ok(())
    }

    /// Scans blocks of a row by themselves, into the output; what each comes to.
    ///
    /// # Safety
    /// As for [`block`](Self::block); running values are the output's elements.
    unsafe fn blocks_beside(
        &self,
        workers: &mut [Worker; BESIDE],
        base: &Cursor,
        first: usize,
        count: usize,
        beside: BesideFn,
    ) -> [Carry; BESIDE] {
        let mut totals = [[0; 16]; BESIDE];
        if count < BESIDE || (first + BESIDE) * self.block > self.lane.space.len() {
            for (k, total) in totals[..count].iter_mut().enumerate() {
                // SAFETY: the row at `base` is the plan's, and the block is one of it.
                *total = unsafe { self.block(&mut workers[0], base, first + k, None, true) };
            }
            return totals;
        }
        let (space, output) = (&self.lane.space, self.lane.code.operands());
        let mut cursors = [0, 1, 2, 3].map(|k| {
            let mut cursor = space.seek((first + k) * self.block);
            for (at, base) in cursor.at[..space.views.len()].iter_mut().zip(&base.at) {
                *at = base.wrapping_add(at.addr());
            }
            cursor
        });
        let (mut done, mut flags) = (0, BEGIN);
        while done < self.block {
            let len = self.width.min(self.block - done);
            let mut from = [std::ptr::null(); BESIDE];
            for ((from, worker), cursor) in from.iter_mut().zip(workers.iter_mut()).zip(&cursors) {
                // SAFETY: the row at `base` is the plan's, and the tile is within its block; a tile holds
                // `width` values.
                *from = unsafe { self.tile(worker, cursor, len) };
            }
            let to = [0, 1, 2, 3].map(|k: usize| cursors[k].at[output]);
            // SAFETY: each of `from` and `to` has `len` elements, as running values are the output's; blocks
            // are disjoint.
            unsafe { beside(to, from, &mut totals, flags, len) };
            flags = 0;
            done += len;
            if done < self.block {
                cursors.iter_mut().for_each(|cursor| space.advance(cursor, len));
            }
        }
        totals
    }

    /// Scans a row by several threads: first what each block comes to, then the blocks.
    ///
    /// # Errors
    /// As for [`scan`].
    ///
    /// # Safety
    /// The plan's contract.
    unsafe fn long_row(&self, row: usize, bytes: usize, threads: usize) -> Result<()> {
        let blocks = self.blocks();
        let mut carries: Vec<Carry> = heap::zeroed("scratch of a scan", blocks)?;
        let to = Address(carries.as_mut_ptr().cast());
        let bytes = bytes.saturating_mul(self.block);
        split::try_ranges(blocks, 1, bytes, 1, threads, &|start, end| {
            let (mut worker, base) = (self.worker()?, self.other.seek(row));
            for block in start..end {
                // SAFETY: the row is the plan's; nothing is written to the output, and each block's carry is
                // written by one thread.
                unsafe {
                    let total = self.block(&mut worker, &base, block, None, false);
                    to.at(block * size_of::<Carry>()).cast::<Carry>().write(total);
                }
            }
            Ok(())
        })?;
        // From what each comes to, to what all up to it come to.
        for block in 1..blocks {
            let (before, total) = (carries[block - 1], carries[block]);
            carries[block] = self.join(Some(&before), &total);
        }
        split::try_ranges(blocks, 1, bytes, 1, threads, &|start, end| {
            let (mut worker, base) = (self.worker()?, self.other.seek(row));
            for block in start..end {
                let before = block.checked_sub(1).map(|b| &carries[b]);
                // SAFETY: the row is the plan's; each block of the output is written by one thread.
                unsafe { self.block(&mut worker, &base, block, before, true) };
            }
            Ok(())
        })
    }

    /// Scans the columns `start..end`, many next to each other at once, in the order of blocks as rows are.
    ///
    /// # Errors
    /// As for [`scan`].
    ///
    /// # Safety
    /// The plan's contract.
    unsafe fn columns(&self, start: usize, end: usize) -> Result<()> {
        let Tiles { space, .. } = &self.lane;
        let mut worker = self.worker()?;
        let views = space.views.len();
        // What is before the block, and what the block comes to so far.
        let (before, local) = (worker.partials, worker.partials.wrapping_add(SLOT_BYTES));
        let size = self.acc.size();
        let mut at = start;
        while at < end {
            let base = space.seek(at);
            let mut len = self.width.min(end - at);
            if !space.across {
                len = len.min(space.row() - base.index[space.dims.len() - 1]);
            }
            let mut cursor = Cursor { index: base.index, at: base.at };
            let mut offsets = self.other.seek(0);
            for row in 0..self.other.len() {
                for (k, at) in cursor.at[..views].iter_mut().enumerate() {
                    *at = base.at[k].wrapping_add(offsets.at[k].addr());
                }
                // SAFETY: the plan's addresses are readable and writable for the `len` columns from `at` on;
                // `before`, `local` and the values hold `width` each.
                unsafe {
                    let elements = self.tile(&mut worker, &cursor, len);
                    if row % self.block == 0 {
                        if row == self.block {
                            std::ptr::copy_nonoverlapping(local, before, len * size);
                        } else if row > 0 {
                            (self.combine)(before, before, local, local, 0, len);
                        }
                        std::ptr::copy_nonoverlapping(elements, local, len * size);
                    } else {
                        (self.combine)(local, local, elements, elements, 0, len);
                    }
                    if row < self.block {
                        std::ptr::copy_nonoverlapping(local, worker.values, len * size);
                    } else {
                        (self.combine)(worker.values, before, local, local, 0, len);
                    }
                    self.write(&mut worker, &cursor, len);
                }
                if row + 1 < self.other.len() {
                    self.other.advance(&mut offsets, 1);
                }
            }
            at += len;
        }
        Ok(())
    }
}

/// A value aligned for every dtype.
#[derive(Clone, Copy)]
#[repr(align(16))]
struct Aligned([u8; 16]);
