//! A call of a function on operands that lie in any way: found to be what it takes, one after another.
//!
//! Broadcast, transposed, reversed and sliced operands are as usual as dense ones, and a submission for
//! sixteen of their elements costs the same microseconds. The functions read elements that lie one after
//! another, so up to 8 KiB of an operand are gathered on the stack, by the device in one call
//! (`Immediate::gather`): dimensions are merged first, what is repeated is read once, squares of a transposed
//! matrix are turned in registers. New results of one operand or two are gathered by `alike.rs`, which of
//! repeated rows gathers 1 KiB alone and calls the function again and again with it. What comes here (three
//! operands, a target that was given, a copy) reads rows where they lie, by a call for each, where the rows
//! are few or long, and gathers the rest.
//!
//! Measured by two threads (machine not recorded), 1 Ki elements: a row broadcast 181 to 150 ns, every second
//! element 185 to 150, reversed 166 to 131, transposed 227 to 175, about half of the gain that was predicted.
//! A call for each of 32 rows of 128 bytes took longer than gathering them, 580 against 370 ns. Strided
//! addition of 1 Ki `float64` 477 to 399 ns. Larger rooms would be too much for a caller's stack.

use std::mem::MaybeUninit;
use std::sync::Arc;

use super::strided::{self, Steps};
use super::{COPIED_BYTES, Constant, Function, Gathered, MAX_BYTES, MAX_OPERANDS, Memories, Source, Space};
use super::{broadcasts, flags, fresh_memory, hold_idle, place, same_shape, span};
use crate::dtype::Dtype;
use crate::error::Result;
use crate::layout::{Layout, self_overlaps};
use crate::memory::allocation::Allocation;
use crate::memory::{BLOCK_ALIGN_BYTES, UsmKind, UsmPtr};
use crate::ops::Op;
use crate::promotion::Weak;
use crate::routes::{self, Route};
use crate::scalar::Scalar;

/// Rows at most that are read where they lie, each by a call, where there is room to gather them.
const FEW_ROWS: usize = 8;
/// Bytes of a row that is worth a call.
const ROW_BYTES: usize = 128;

/// A function, and its operands.
pub(crate) struct Call<'a> {
    function: Function<'a>,
    space: Space<'a>,
    places: [*const u8; MAX_OPERANDS],
    /// Where the elements are; none of a value.
    sources: [Option<Source<'a>>; MAX_OPERANDS],
    constants: [Constant; MAX_OPERANDS],
    /// Operands that are given.
    given: usize,
    /// Bit `k`: operand `k` is one element for all.
    same: u32,
    /// Bit `k`: operand `k` does not lie as the results do.
    apart: u32,
}

/// How a call gets at what does not lie as the results do.
enum Way {
    /// All of them do, or are one element.
    Together,
    /// A copy: to where the results are.
    Straight,
    /// Row by row, each a call of the function on what is read where it lies: elements one after another, or one for all, or, by
    /// functions that take them so, in reverse and every second.
    Rows(Steps<[isize; MAX_OPERANDS]>),
    /// One after another on the stack, before the call.
    Gathered,
}

impl<'a> Call<'a> {
    /// A call without its operands. That the space's shape is the one that theirs broadcast to, where it has to be, is the
    /// caller's business.
    pub(crate) fn new(function: Function<'a>, space: Space<'a>) -> Self {
        Self {
            function,
            space,
            places: [std::ptr::null(); MAX_OPERANDS],
            sources: [const { None }; MAX_OPERANDS],
            constants: [const { Constant([0; 2]) }; MAX_OPERANDS],
            given: 0,
            same: 0,
            apart: 0,
        }
    }

    /// Gives the next operand, elements of a dtype. Whether they broadcast to the results, and the function takes them; where it
    /// does not, the call is of no use any more.
    pub(crate) fn array(&mut self, source: Source<'a>, dtype: Dtype) -> bool {
        let (k, Source { allocation, layout }) = (self.given, source);
        if k == MAX_OPERANDS || dtype != self.dtype(k) || allocation.device() != self.function.device {
            return false;
        }
        if !source.lies_as(&self.space) {
            match layout.len() {
                _ if !broadcasts(layout.shape(), self.space.shape) => return false,
                1 => self.same_for_all(k),
                _ => self.apart |= 1 << k,
            }
        }
        let Some(place) = place(allocation, layout, layout.len(), dtype) else { return false };
        self.places[k] = place;
        self.sources[k] = Some(source);
        self.given += 1;
        true
    }

    /// Gives the next operand, a value. Whether the function takes it.
    pub(crate) fn value(&mut self, value: Scalar) -> bool {
        let k = self.given;
        if k == MAX_OPERANDS || value.dtype() != self.dtype(k) {
            return false;
        }
        self.constants[k] = Constant::of(value);
        self.same_for_all(k);
        self.given += 1;
        true
    }

    /// Gives the next operand, a scalar that takes the dtype of the arrays. Whether it fits, and the function takes it.
    pub(crate) fn weak(&mut self, value: Weak) -> bool {
        // What a condition is, is not the arrays'.
        let fits = !self.function.op.is_condition(self.given);
        fits && value.to_scalar(self.function.dtype).is_ok_and(|value| self.value(value))
    }

    /// Notes that an operand is one element, where there are more results.
    fn same_for_all(&mut self, k: usize) {
        self.same |= u32::from(self.space.len != 1) << k;
    }

    /// The dtype of an operand.
    fn dtype(&self, k: usize) -> Dtype {
        self.function.op.operand_dtype(k, self.function.dtype)
    }

    /// Bytes of an operand's element.
    fn itemsize(&self, k: usize) -> usize {
        self.dtype(k).size()
    }

    /// The size of the results.
    fn bytes(&self) -> usize {
        self.space.len * self.function.out.size()
    }

    /// The strongest kind of the operands' memory.
    pub(crate) fn kind(&self) -> UsmKind {
        let kinds = self.sources.iter().flatten().map(|source| source.allocation.kind());
        kinds.fold(UsmKind::Host, UsmKind::combine)
    }

    /// Whether the call is complete: all operands are given, not all are the same for all elements but those of a copy, and
    /// there are as many elements as the function takes.
    fn is_ready(&self) -> bool {
        let arity = self.function.arity;
        let varies = self.function.op == Op::Copy || self.same != (1 << arity) - 1;
        varies && self.given == arity && (1..=self.function.most()).contains(&self.space.len)
    }

    /// What is touched: the operands' memory, and that of a target.
    fn memories(&self, target: Option<&'a Allocation>) -> Memories<'a> {
        let of = |k: usize| self.sources[k].map(|source| &**source.allocation);
        [of(0), of(1), of(2), target]
    }

    /// Whether the call is complete, and reads its operands in a way that it has; what is under way is not asked.
    pub(crate) fn takes(&self) -> bool {
        self.way(true).is_some()
    }

    /// Computes into memory of its own, of a kind, now. `None`, with nothing done, where something under way or an open host view
    /// stands against it, or the call is not complete.
    ///
    /// # Errors
    /// What the allocation reports.
    pub(crate) fn fresh(&self, kind: UsmKind) -> Result<Option<Arc<Allocation>>> {
        let Some(way) = self.way(true) else { return Ok(None) };
        // Who holds memory waits for nothing, the pool's lock included.
        let Some(out) = fresh_memory(self.function.device, kind, self.bytes(), BLOCK_ALIGN_BYTES)? else {
            return Ok(None);
        };
        let Some(held) = hold_idle(&self.memories(None), || self.function.op.label()) else {
            return Ok(None);
        };
        // SAFETY: the call is complete (`way`), and its memory held: no work is under way and no host view open, and none can
        // begin. The memory that is written was just allocated, so nobody else has it and no operand is in it.
        unsafe { self.compute(out.ptr().as_ptr(), &way) };
        drop(held);
        Ok(Some(out))
    }

    /// Computes into elements of an allocation, now. Whether that was possible: `false`, with nothing done, as for
    /// [`fresh`](Self::fresh), or where the function does not write there.
    pub(crate) fn write(&self, out: &'a Arc<Allocation>, layout: &'a Layout) -> bool {
        let Self { function, space, .. } = self;
        let stopped = out.is_read_only() || !out.pending_reads.is_empty() || out.device() != function.device;
        if stopped || !same_shape(layout.shape(), space.shape) {
            return false;
        }
        let Some(dst) = place(out, layout, space.len, function.out) else { return false };
        let target = Source { allocation: out, layout };
        if !layout.is_contiguous(space.order) {
            return self.write_scattered(target, dst);
        }
        // What is gathered on the stack is read before anything is written.
        let mut apart = true;
        for k in 0..self.given {
            if self.apart >> k & 1 == 1 {
                apart &= self.reads_apart(k, target);
            } else if self.is_lost(k, dst) {
                return false;
            }
        }
        let Some(way) = self.way(apart) else { return false };
        let Some(held) = hold_idle(&self.memories(Some(out)), || self.function.op.label()) else {
            return false;
        };
        // SAFETY: the call has a way, so it is complete; the memory of target and operands is held. The
        // target is inside its allocation and aligned (`place`). An operand that lies as the results do, or
        // is one element, is exactly the target, with elements of the same size since there are as many, or
        // apart from it (`is_lost`); others are apart from it, or gathered first.
        unsafe { self.compute(dst, &way) };
        drop(held);
        true
    }

    /// [`write`](Self::write) to elements with gaps between them, or in another order. `dst`: that at multi-index zero.
    fn write_scattered(&self, target: Source<'a>, dst: *mut u8) -> bool {
        let Source { allocation: out, layout } = target;
        let size = self.function.out.size();
        let steps = strided::steps(layout, &self.space, size);
        // What lies as the results do is copied to its places directly, where these are others.
        let dense = self.sources[0].is_some() && (self.same | self.apart) == 0;
        let copied = dense && self.function.op == Op::Copy && self.reads_apart(0, target);
        let in_rows = || {
            copied
                && matches!(steps[..], [(len, step), ..] if step == size.cast_signed() && len * size >= ROW_BYTES)
        };
        if !(self.bytes() <= MAX_BYTES || in_rows()) || self_overlaps(layout) {
            return false;
        }
        let Some(way) = self.way(true) else { return false };
        let Some(held) = hold_idle(&self.memories(Some(out)), || self.function.op.label()) else {
            return false;
        };
        routes::take(Route::Scattered);
        let mut dense = Gathered([MaybeUninit::uninit(); MAX_BYTES]);
        let mut from = self.places[0].cast_mut();
        // SAFETY: the call has a way, so it is complete; the memory of target and operands is held. The
        // result fits the room, which is apart from every operand, or is the operand, which is apart from the
        // target. The layout has the space's shape and was found to be inside its allocation (`place`); what
        // is written there was read before.
        unsafe {
            if !copied {
                from = dense.0.as_mut_ptr().cast::<u8>();
                self.compute(from, &way);
            }
            strided::scatter(dst, &steps, size, from);
        }
        drop(held);
        true
    }

    /// Whether elements of an operand that lies as the results do, or is one for all, would be lost to results that are
    /// written one after another from `dst` on: where it is neither exactly what is written, nor apart from it.
    fn is_lost(&self, k: usize, dst: *const u8) -> bool {
        let one = self.same >> k & 1 == 1;
        let read = span(self.places[k], if one { 1 } else { self.space.len } * self.itemsize(k));
        let written = span(dst, self.bytes());
        // A value is nowhere.
        self.sources[k].is_some()
            && (one || read != written)
            && read.start < written.end
            && written.start < read.end
    }

    /// Whether an operand's memory, from its first element to its last, is apart from that of a target.
    fn reads_apart(&self, k: usize, target: Source<'_>) -> bool {
        let written = target.layout.byte_range(self.function.out.size());
        self.sources[k].is_none_or(|Source { allocation, layout }| {
            let read = layout.byte_range(self.itemsize(k));
            !allocation.meets(&read, target.allocation, &written)
        })
    }

    /// How the operands are read. `apart`: those that do not lie as the results do lie apart from them. `None` where the call is
    /// not complete, or an operand is neither small enough to be gathered on the stack, nor lies in rows that are worth a call:
    /// a submission moves such blocks by block, on all threads.
    fn way(&self, apart: bool) -> Option<Way> {
        if !self.is_ready() {
            return None;
        }
        if self.apart == 0 {
            return Some(Way::Together);
        }
        let scattered = || (0..self.given).filter(|k| self.apart >> k & 1 == 1);
        let most = scattered().map(|k| self.itemsize(k)).max()? * self.space.len;
        let (fits, copies) = (most <= MAX_BYTES, apart && self.function.op == Op::Copy);
        // A copy goes straight to where it is to be.
        if copies && most <= COPIED_BYTES {
            return Some(Way::Straight);
        }
        // Few elements have no row that is worth a call.
        if !apart || most < ROW_BYTES {
            return fits.then_some(Way::Gathered);
        }
        let steps = strided::joint_steps(self.sources.map(|source| source.map(|of| of.layout)), &self.space);
        let (len, inner) = *steps.first()?;
        // What nobody waits for stays recorded, as without such functions: a sum of it is folded on the way.
        let apart = self.function.elements.strided && self.function.waited;
        let reads = |step| matches!(step, 0 | 1) || (apart && matches!(step, -1 | 2));
        let mut rows = scattered().map(|k| reads(inner[k]) && len * self.itemsize(k) >= ROW_BYTES);
        // Functions but a copy expect an operand that is not the same for all.
        let in_rows = rows.all(|row| row) && (copies || inner.iter().any(|&step| step != 0));
        match in_rows {
            true if copies => Some(Way::Straight),
            // To gather many rows is quicker than as many calls.
            true if !fits || self.space.len / len <= FEW_ROWS => Some(Way::Rows(steps)),
            _ => fits.then_some(Way::Gathered),
        }
    }

    /// Computes the elements.
    ///
    /// # Safety
    /// - The call is complete: each operand of the function is a value, or has its elements in memory that is held.
    /// - The results may be written at `dst`, which is aligned to them.
    /// - Nothing else accesses these or the operands in conflict.
    /// - An operand that lies as the results do is exactly the elements at `dst`, or apart from them; so is every other one, unless it is
    ///   gathered.
    /// - The way is of this call.
    unsafe fn compute(&self, dst: *mut u8, way: &Way) {
        routes::take(Route::General);
        // SAFETY: the call is complete, the results may be written at `dst`, and `way` is of this call; each
        // way has that contract.
        unsafe {
            match way {
                Way::Together => self.run(dst, self.places),
                Way::Straight => self.gather(0, dst),
                Way::Rows(steps) => self.compute_rows(dst, steps),
                Way::Gathered => self.compute_gathered(dst),
            }
        }
    }

    /// [`compute`](Self::compute), row by row.
    ///
    /// # Safety
    /// As for `compute`; the steps are the operands' in the space.
    unsafe fn compute_rows(&self, dst: *mut u8, steps: &[(usize, [isize; MAX_OPERANDS])]) {
        let Some(((len, inner), outer)) = steps.split_first() else { return };
        let bytes = len * self.function.out.size();
        let sizes: [isize; MAX_OPERANDS] = std::array::from_fn(|k| self.itemsize(k).cast_signed());
        let function = self.function;
        let flags = (0..self.given).fold(0, |all, k| all | flags(inner[k], k));
        if outer.is_empty() {
            // SAFETY: the call is complete, and `steps` are the operands' in the space: what is reached from
            // each place is in its operand's layout.
            return unsafe { function.run(dst, self.operands(self.places), flags, *len) };
        }
        let (dst, starts) =
            (UsmPtr::new(dst), self.operands(self.places).map(|start| UsmPtr::new(start.cast_mut())));
        // What is read again and again comes from the nearest cache.
        let varies = |source: &&Source<'_>| source.layout.len() == self.space.len;
        let moved = self.sources.iter().flatten().filter(varies).count() + 1;
        let elements = self.space.len * moved / (self.given + 1);
        function.share(elements, strided::places(outer), |range| {
            let mut to = dst.byte_offset((range.start * bytes).cast_signed()).as_ptr();
            strided::rows_of(outer, range, |row: [isize; MAX_OPERANDS]| {
                let places =
                    std::array::from_fn(|k| starts[k].byte_offset(row[k] * sizes[k]).as_ptr().cast_const());
                // SAFETY: `row` is in each operand's layout, whose elements lie as the flags say from there
                // on, or are one; `to` runs through a part of the space, which may be written.
                unsafe {
                    function.run_alone(to, places, flags, *len);
                    to = to.add(bytes);
                }
            });
        });
    }

    /// [`compute`](Self::compute), of operands of which those that lie apart take up to [`MAX_BYTES`]. Not inlined, so that other ways
    /// have no such rooms on their stack.
    ///
    /// # Safety
    /// As for `compute`.
    #[inline(never)]
    unsafe fn compute_gathered(&self, dst: *mut u8) {
        let mut gathered = [const { Gathered([MaybeUninit::uninit(); MAX_BYTES]) }; MAX_OPERANDS];
        let mut places = self.places;
        for k in (0..self.given).filter(|k| self.apart >> k & 1 == 1) {
            let room = gathered[k].0.as_mut_ptr().cast::<u8>();
            // SAFETY: operand `k` is one that is gathered, whose elements lie in its memory; the rooms are
            // apart from everything.
            unsafe { self.gather(k, room) };
            places[k] = room;
        }
        // SAFETY: results may be written at `dst`, and each place has as many elements, or one for all; what
        // was gathered is aligned for every dtype.
        unsafe { self.run(dst, places) };
    }

    /// Copies an operand's elements, one after another in the order of the space.
    ///
    /// # Safety
    /// As for `compute`; there is room for the elements at `dst`, apart from them.
    unsafe fn gather(&self, k: usize, dst: *mut u8) {
        let Some(source) = self.sources[k] else { return };
        // SAFETY: `array` has found the place and the elements to be in the allocation, and the layout to broadcast to the
        // space. There is room at `dst`, apart from them, and nothing writes to them, by the contract of this function.
        unsafe { source.gather(self.places[k], self.itemsize(k), &self.space, dst) }
    }

    /// Calls the function on elements that lie one after another, or are one for all.
    ///
    /// # Safety
    /// - The contract of [`compute`](Self::compute) holds.
    /// - At the place of each operand that is no value, there are as many elements as results, one after another, or one that is the
    ///   same for all.
    unsafe fn run(&self, dst: *mut u8, places: [*const u8; MAX_OPERANDS]) {
        // SAFETY: the memory is the function's device's (`array`, `write`), which computes in it on this thread
        // (`backend::Immediate::elements_fn`). Operands are inside their allocations and aligned (`place`), or values, aligned for
        // every dtype. By the contract of this function, each has as many elements as results or is one, and nothing else accesses
        // them or the results.
        unsafe { self.function.run(dst, self.operands(places), self.same, self.space.len) };
    }

    /// What the function is given, where operands that are no values are at some places: the first stands in place of those that
    /// it has not.
    fn operands(&self, places: [*const u8; MAX_OPERANDS]) -> [*const u8; MAX_OPERANDS] {
        std::array::from_fn(|k| {
            let k = if k < self.given { k } else { 0 };
            if self.sources[k].is_some() { places[k] } else { self.constants[k].place() }
        })
    }
}
