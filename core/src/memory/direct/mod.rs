//! Small work on the calling thread, while it holds the memory that it touches.
//!
//! A submission costs more than computing a few elements. Where a device computes on the calling thread anyway, and
//! nothing that is under way touches the memory, the work is done while the memory is held, which a submission would wait
//! for: then it is over before anything could conflict with it, and leaves nothing to record.

mod alike;
mod fold;
mod hold;
mod join;
mod strided;

pub(crate) use alike::Alike;
pub(crate) use fold::AxisFold;
use hold::{Memories, hold_idle};
pub(crate) use join::join;
use strided::Steps;

use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::Arc;

use super::allocation::Allocation;
use super::{BLOCK_ALIGN_BYTES, UsmKind};
use crate::backend::{Elements, ElementsFn};
use crate::dtype::Dtype;
use crate::error::Result;
use crate::layout::{Layout, Order, self_overlaps};
use crate::ops::Op;
use crate::runtime::{Device, OpFunction};
use crate::scalar::Scalar;

/// Operands of such work, at most.
pub(crate) const MAX_OPERANDS: usize = 3;
/// Bytes at most of an operand that is not simply read where it lies.
pub(crate) const MAX_BYTES: usize = 8 << 10;
/// Rows at most that are read where they lie, each by a call, where there is room to gather them.
const FEW_ROWS: usize = 8;
/// Bytes at most of a result that is computed although it could be recorded instead, to be computed with what comes next:
/// that saves the way of its elements through the second-level cache, and costs the recording.
pub(crate) const DIRECT_BYTES: usize = 64 << 10;

/// A value's bytes, aligned for every dtype.
#[repr(align(16))]
#[derive(Clone, Copy)]
struct Constant([u64; 2]);

impl Constant {
    fn of(value: Scalar) -> Self {
        Self(bytemuck::cast(value.to_bytes()))
    }

    fn place(&self) -> *const u8 {
        self.0.as_ptr().cast()
    }
}

/// Memory on the stack for an operand.
#[repr(align(64))]
struct Gathered([MaybeUninit<u8>; MAX_BYTES]);

/// A device's function for an operation on operands of a dtype, and for which device it is.
#[derive(Clone, Copy)]
pub(crate) struct Function<'a> {
    run: ElementsFn,
    /// Elements at most.
    most: usize,
    arity: usize,
    op: Op,
    dtype: Dtype,
    out: Dtype,
    device: &'a Device,
}

impl<'a> Function<'a> {
    /// The function of an operation other than a conversion, where the device has one.
    #[inline(always)]
    pub(crate) fn of(device: &'a Device, op: Op, dtype: Dtype) -> Option<Self> {
        debug_assert_ne!(op, Op::Cast, "the dtype of the results would not follow");
        let &OpFunction { elements: Elements { run, most }, arity, out } = device.op_function(op, dtype)?;
        Some(Self { run, most, arity, op, dtype, out, device })
    }

    /// The same, also of a conversion to a dtype.
    pub(crate) fn to(device: &'a Device, op: Op, dtype: Dtype, out: Dtype) -> Option<Self> {
        let Elements { run, most } = device.elements_fn(op, dtype, out)?;
        Some(Self { run, most, arity: op.arity(), op, dtype, out, device })
    }

    /// Elements that the device computes on the calling thread, at most.
    pub(crate) fn most(&self) -> usize {
        self.most
    }
}

/// The elements that an operation computes: their shape, and how they follow each other.
#[derive(Clone, Copy)]
pub(crate) struct Space<'a> {
    pub(crate) shape: &'a [usize],
    /// The product of the extents, at most `MAX_LEN`: times the size of a dtype, it fits `isize`.
    pub(crate) len: usize,
    pub(crate) order: Order,
}

/// An operand's elements in memory.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) allocation: &'a Arc<Allocation>,
    pub(crate) layout: &'a Layout,
}

impl Source<'_> {
    /// Whether the elements are those of a space, and follow each other as these do.
    #[inline(always)]
    fn lies_as(&self, space: &Space<'_>) -> bool {
        self.layout.is_contiguous(space.order) && same_shape(self.layout.shape(), space.shape)
    }

    /// Copies the elements, broadcast to a shape, one after another to `dst`.
    ///
    /// # Safety
    /// `place` is that of the element at multi-index zero, and all elements of the layout are in the allocation. The layout
    /// broadcasts to the space's shape, of which all elements are writable at `dst` and apart from this allocation, and nothing
    /// writes to the source meanwhile.
    unsafe fn gather(&self, place: *const u8, itemsize: usize, space: &Space<'_>, dst: *mut u8) {
        // SAFETY: the caller's contract. The elements are only read.
        unsafe {
            let device = &**self.allocation.device().backend();
            strided::transfer::<false>(device, place.cast_mut(), self.layout, space, itemsize, dst);
        }
    }
}

/// Where the element at multi-index zero lies; `None` where not all elements, of which there are `len`, are in the memory, or
/// not aligned.
fn place(allocation: &Allocation, layout: &Layout, len: usize, dtype: Dtype) -> Option<*mut u8> {
    let end = match layout.is_c_contiguous() || layout.is_f_contiguous() {
        true => layout.offset() + len,
        false => layout.element_range().end,
    };
    place_before(allocation, layout.offset(), end, dtype)
}

/// [`place`] of elements before `end`, the first of them at `offset`.
#[inline(always)]
fn place_before(allocation: &Allocation, offset: usize, end: usize, dtype: Dtype) -> Option<*mut u8> {
    // Elements and offset were checked when the layout was made, but for their own size.
    if end.checked_mul(dtype.size())? > allocation.bytes() {
        return None;
    }
    let place = allocation.ptr().byte_offset((offset * dtype.size()).cast_signed()).as_ptr();
    // Alignments are powers of two.
    (place.addr() & (dtype.align() - 1) == 0).then_some(place)
}

/// Whether shapes are the same: they are short, and a call of `memcmp` is felt.
#[inline(always)]
pub(crate) fn same_shape(a: &[usize], b: &[usize]) -> bool {
    a.len() == b.len() && std::iter::zip(a, b).all(|(a, b)| a == b)
}

/// A call of a function: its operands, found to be what it takes.
pub(crate) struct Call<'a> {
    function: Function<'a>,
    space: Space<'a>,
    places: [*const u8; MAX_OPERANDS],
    constants: [Constant; MAX_OPERANDS],
    /// Bit `k`: operand `k` is a value.
    values: u32,
    /// Bit `k`: operand `k` is one element for all.
    same: u32,
    /// Bit `k`: operand `k` does not lie as the result does.
    scattered: u32,
    /// Bit `k`: so does operand `k`, and its rows are not such that the function takes them one by one.
    rowless: u32,
    /// Bit `k`: so does operand `k`, and there is no room to gather it.
    large: u32,
    /// Bit `k`: the elements of operand `k`, or of its rows if it has any, are not all the same one.
    varies: u32,
    sources: [Option<Source<'a>>; MAX_OPERANDS],
    given: usize,
}

impl<'a> Call<'a> {
    #[inline(always)]
    pub(crate) fn new(function: Function<'a>, space: Space<'a>) -> Self {
        Self {
            function,
            space,
            places: [std::ptr::null(); MAX_OPERANDS],
            constants: [const { Constant([0; 2]) }; MAX_OPERANDS],
            values: 0,
            same: 0,
            scattered: 0,
            rowless: 0,
            large: 0,
            varies: 0,
            sources: [const { None }; MAX_OPERANDS],
            given: 0,
        }
    }

    /// The dtype of the next operand.
    #[inline(always)]
    fn wanted(&self) -> Dtype {
        self.function.op.operand_dtype(self.given, self.function.dtype)
    }

    /// Gives the next operand, a value. Whether the function takes it.
    #[inline]
    pub(crate) fn value(&mut self, value: Scalar) -> bool {
        let takes = value.dtype() == self.wanted() && self.given < MAX_OPERANDS;
        if takes {
            self.constants[self.given] = Constant::of(value);
            self.values |= 1 << self.given;
            self.same |= u32::from(self.space.len != 1) << self.given;
            self.given += 1;
        }
        takes
    }

    /// Bytes of an operand's element.
    fn itemsize(&self, k: usize) -> usize {
        self.function.op.operand_dtype(k, self.function.dtype).size()
    }

    /// The size of the results.
    pub(crate) fn bytes(&self) -> usize {
        self.space.len * self.function.out.size()
    }

    /// Gives the next operand, elements of a dtype that lie as the results do. Whether that is so, and the function takes them.
    #[inline(always)]
    fn array_alike(&mut self, allocation: &'a Arc<Allocation>, layout: &'a Layout, dtype: Dtype) -> bool {
        let source = Source { allocation, layout };
        if !source.lies_as(&self.space) || !self.takes(allocation, dtype) {
            return false;
        }
        let place = place_before(allocation, layout.offset(), layout.offset() + self.space.len, dtype);
        self.varies |= 1 << self.given;
        self.give(place, source)
    }

    /// Gives the next operand, elements of a dtype that broadcast to the results'. Whether the function takes them.
    pub(crate) fn array(
        &mut self,
        allocation: &'a Arc<Allocation>,
        layout: &'a Layout,
        dtype: Dtype,
    ) -> bool {
        if self.array_alike(allocation, layout, dtype) {
            return true;
        }
        if !self.takes(allocation, dtype) {
            return false;
        }
        let place = self.place_apart(allocation, layout, dtype);
        self.give(place, Source { allocation, layout })
    }

    /// Whether the next operand may be elements of this dtype in this memory.
    #[inline(always)]
    fn takes(&self, allocation: &Allocation, dtype: Dtype) -> bool {
        self.given < MAX_OPERANDS && dtype == self.wanted() && allocation.device() == self.function.device
    }

    /// Notes the next operand, where it has a place.
    #[inline(always)]
    fn give(&mut self, place: Option<*mut u8>, source: Source<'a>) -> bool {
        let Some(place) = place else { return false };
        self.places[self.given] = place;
        self.sources[self.given] = Some(source);
        self.given += 1;
        true
    }

    /// The place of an operand that does not lie as the results do, and the note that it does not.
    fn place_apart(&mut self, allocation: &Allocation, layout: &Layout, dtype: Dtype) -> Option<*mut u8> {
        let (k, len) = (self.given, layout.len());
        let added = self.space.shape.len().checked_sub(layout.ndim())?;
        let place = place(allocation, layout, len, dtype)?;
        if len == 1 {
            self.same |= u32::from(self.space.len != 1) << k;
            return Some(place);
        }
        let mut pairs = layout.shape().iter().zip(&self.space.shape[added..]);
        if !pairs.all(|(&own, &of)| own == of || own == 1) {
            return None;
        }
        let row_step = strided::row_step(layout, &self.space, dtype.size());
        self.scattered |= 1 << k;
        self.rowless |= u32::from(row_step.is_none()) << k;
        self.varies |= u32::from(row_step == Some(1)) << k;
        self.large |= u32::from(self.space.len * dtype.size() > MAX_BYTES) << k;
        Some(place)
    }

    /// Whether the call can be done row by row, each a call of the function on operands that are read where they lie.
    fn has_rows(&self) -> bool {
        self.rowless == 0 && (self.varies != 0 || self.function.op == Op::Copy)
    }

    /// Whether the rows are so many that gathering them, where there is room, is quicker than as many calls.
    fn has_many_rows(&self) -> bool {
        self.large == 0 && self.space.len / strided::row_len(&self.space) > FEW_ROWS
    }

    /// Whether the call is complete.
    #[inline(always)]
    fn is_ready(&self) -> bool {
        self.given == self.function.arity
            && (1..=self.function.most).contains(&self.space.len)
            && (self.large == 0 || self.has_rows())
    }

    /// What is touched: the operands' memory, and that of a target.
    #[inline(always)]
    fn memories(&self, target: Option<&'a Allocation>) -> Memories<'a> {
        let operand = |k: usize| self.sources[k].map(|source| &**source.allocation);
        [operand(0), operand(1), operand(2), target]
    }

    /// Computes the elements.
    ///
    /// # Safety
    /// The call is complete, its memory is the function's device's and live. The elements may be written at `dst`, which is
    /// aligned to them; nothing else accesses any of this in conflict. An operand that is read where it lies is exactly the
    /// elements at `dst`, or apart from them; `apart`: so is what does not lie as the result does, too, which it has to be where
    /// there is no room to gather it.
    #[inline(always)]
    unsafe fn compute(&self, dst: *mut u8, apart: bool) {
        let mut places = self.places;
        if self.values != 0 {
            for (k, (place, constant)) in places.iter_mut().zip(&self.constants).enumerate() {
                if self.values >> k & 1 == 1 {
                    *place = constant.place();
                }
            }
        }
        // SAFETY: the caller's contract; constants are aligned for every dtype, and `array` has found the other operands to be.
        unsafe {
            if self.scattered == 0 {
                self.run(dst, places, self.same, self.space.len);
            } else {
                self.compute_scattered(dst, places, apart);
            }
        }
    }

    /// [`compute`](Self::compute), where an operand does not lie as the result does.
    ///
    /// # Safety
    /// As for `compute`; `places` are those of the operands.
    #[inline(never)]
    unsafe fn compute_scattered(&self, dst: *mut u8, places: [*const u8; MAX_OPERANDS], apart: bool) {
        // SAFETY: the caller's contract.
        unsafe {
            if apart && self.function.op == Op::Copy {
                self.gather(0, places[0], dst);
            } else if apart && self.has_rows() && !self.has_many_rows() {
                self.compute_rows(dst, places);
            } else {
                self.compute_gathered(dst, places);
            }
        }
    }

    /// [`compute`](Self::compute), row by row.
    ///
    /// # Safety
    /// As for `compute`, with everything apart; `places` are those of the operands.
    unsafe fn compute_rows(&self, mut dst: *mut u8, places: [*const u8; MAX_OPERANDS]) {
        let steps = self.sources.map(|source| match source {
            Some(source) => strided::steps(source.layout, &self.space),
            None => Steps::new(),
        });
        // A value has no steps, and an operand that is not there none either.
        let still: Steps = match steps.iter().find(|steps| !steps.is_empty()) {
            Some(steps) => steps.iter().map(|&(extent, _)| (extent, 0)).collect(),
            None => Steps::new(),
        };
        let steps = steps.each_ref().map(|steps| if steps.is_empty() { &still[..] } else { &steps[..] });
        let all = (1 << self.given) - 1;
        let same = all & !self.varies;
        let mut sizes = [0; MAX_OPERANDS];
        (0..self.given).for_each(|k| sizes[k] = self.itemsize(k).cast_signed());
        strided::rows(steps, |row, len| {
            let mut at = places;
            (0..MAX_OPERANDS).for_each(|k| at[k] = at[k].wrapping_offset(row[k] * sizes[k]));
            // SAFETY: the caller's contract: `row` is in each layout, whose elements lie together from there on, or are one; `dst` runs
            // through the space.
            unsafe {
                self.run(dst, at, same, len);
                dst = dst.add(len * self.function.out.size());
            }
        });
    }

    /// Copies an operand's elements, one after another in the order of the space.
    ///
    /// # Safety
    /// As for `compute`; `place` is the operand's, and there is room for its elements at `dst`, apart from them.
    unsafe fn gather(&self, k: usize, place: *const u8, dst: *mut u8) {
        let Some(source) = self.sources[k] else { return };
        // SAFETY: `array` has found the place and the elements to be in the allocation, and the layout to broadcast to the
        // space; the rest is the caller's contract.
        unsafe { source.gather(place, self.itemsize(k), &self.space, dst) }
    }

    /// [`compute`](Self::compute), where an operand must be gathered first.
    ///
    /// # Safety
    /// As for `compute`; `places` are those of the operands, of which those to be gathered take up to [`MAX_BYTES`].
    unsafe fn compute_gathered(&self, dst: *mut u8, mut places: [*const u8; MAX_OPERANDS]) {
        debug_assert_eq!(self.large, 0, "an operand that there is no room for");
        let mut gathered = [const { Gathered([MaybeUninit::uninit(); MAX_BYTES]) }; MAX_OPERANDS];
        for k in (0..self.given).filter(|k| self.scattered >> k & 1 == 1) {
            let room = gathered[k].0.as_mut_ptr().cast::<u8>();
            // SAFETY: the caller's contract.
            unsafe { self.gather(k, places[k], room) };
            places[k] = room;
        }
        // SAFETY: the caller's contract; what was gathered is aligned for every dtype.
        unsafe { self.run(dst, places, self.same, self.space.len) };
    }

    /// Calls the function, with the first operand in place of those that it has not.
    ///
    /// # Safety
    /// As for `compute`; `places` are those of `len` elements of each operand, or of one that is the same for all.
    #[inline(always)]
    unsafe fn run(&self, dst: *mut u8, [a, b, c]: [*const u8; MAX_OPERANDS], same: u32, len: usize) {
        let b = if self.given > 1 { b } else { a };
        let c = if self.given > 2 { c } else { a };
        // SAFETY: the caller's contract.
        unsafe { (self.function.run)(dst, a, b, c, same, len) };
    }

    /// Computes into memory of its own, now. `None`, with nothing done, where something under way or an open host view
    /// stands against it, or the call is not complete.
    ///
    /// # Errors
    /// What the allocation reports.
    #[inline(always)]
    pub(crate) fn fresh(&self, kind: UsmKind) -> Result<Option<Arc<Allocation>>> {
        if !self.is_ready() {
            return Ok(None);
        }
        // Who holds memory waits for nothing, the pool's lock included.
        let out = Allocation::new(self.function.device, kind, self.bytes(), BLOCK_ALIGN_BYTES)?;
        let Some(held) = hold_idle(&self.memories(None)) else { return Ok(None) };
        // SAFETY: the call is complete. Its memory may be touched by the device's function (`backend::Device::elements_fn`) and
        // is held: no work is under way and no host view open, and none can begin. The memory that is written was just
        // allocated, so nobody else has it and no operand is in it.
        unsafe { self.compute(out.ptr().as_ptr(), true) };
        drop(held);
        Ok(Some(out))
    }

    /// Computes into elements of an allocation, now. Whether that was possible: `false`, with nothing done, as for
    /// [`fresh`](Self::fresh), or where that is not what the function writes.
    pub(crate) fn write(&self, out: &Arc<Allocation>, layout: &Layout) -> bool {
        let function = &self.function;
        let stopped = out.is_read_only() || !out.pending_reads.is_empty() || out.device() != function.device;
        if stopped || !self.is_ready() || !same_shape(layout.shape(), self.space.shape) {
            return false;
        }
        let Some(dst) = place(out, layout, self.space.len, function.out) else { return false };
        if !layout.is_contiguous(self.space.order) {
            return self.write_scattered(out, layout, dst);
        }
        let written = span(dst, self.bytes());
        let mut apart = true;
        for k in 0..self.given {
            // A value is nowhere. What is gathered on the stack is read before anything is written.
            if self.values >> k & 1 == 1 {
                continue;
            } else if self.scattered >> k & 1 == 1 {
                apart &= self.reads_apart(k, out, layout);
                continue;
            }
            let same = self.same >> k & 1 == 1;
            let read = span(self.places[k], if same { 1 } else { self.space.len } * self.itemsize(k));
            // The same elements as the target's, or others. One that all of it lies on would be lost on the way.
            if (same || read != written) && read.start < written.end && written.start < read.end {
                return false;
            }
        }
        // Then it is to be gathered first.
        if !apart && self.large != 0 {
            return false;
        }
        let Some(held) = hold_idle(&self.memories(Some(out))) else { return false };
        // SAFETY: as for `fresh`; the target is inside its allocation and aligned (`place`). An operand that is read where it lies
        // is exactly the target, with elements of the same size since there are as many, or apart from it, as was just checked.
        unsafe { self.compute(dst, apart) };
        drop(held);
        true
    }

    /// Whether an operand's memory, from its first element to its last, is apart from that of the results.
    fn reads_apart(&self, k: usize, out: &Allocation, target: &Layout) -> bool {
        let written = target.byte_range(self.function.out.size());
        self.sources[k].is_none_or(|Source { allocation, layout }| {
            let read = layout.byte_range(self.itemsize(k));
            !allocation.meets(&read, out, &written)
        })
    }

    /// [`write`](Self::write) to elements with gaps between them, or in another order. `place`: that at multi-index zero.
    #[inline(never)]
    fn write_scattered(&self, out: &Arc<Allocation>, layout: &Layout, place: *mut u8) -> bool {
        let size = self.function.out.size();
        // What lies as the space does is copied to its places directly, where these are others.
        let direct = self.function.op == Op::Copy
            && (self.values | self.same | self.scattered) == 0
            && self.reads_apart(0, out, layout);
        let in_rows = || direct && strided::row_step(layout, &self.space, size) == Some(1);
        let fits = self.bytes() <= MAX_BYTES || in_rows();
        if !fits || self_overlaps(layout) {
            return false;
        }
        let Some(held) = hold_idle(&self.memories(Some(out))) else { return false };
        let mut dense = Gathered([MaybeUninit::uninit(); MAX_BYTES]);
        let mut from = self.places[0].cast_mut();
        // SAFETY: as for `fresh`: the result fits the room, which is apart from every operand, or is the operand, which is apart
        // from the target. The layout has the space's shape and was found to be inside its allocation (`place`), which is
        // held, too; what is written there was read before.
        unsafe {
            if !direct {
                from = dense.0.as_mut_ptr().cast::<u8>();
                self.compute(from, true);
            }
            let device = &**self.function.device.backend();
            strided::transfer::<true>(device, place, layout, &self.space, size, from);
        }
        drop(held);
        true
    }
}

/// The addresses of bytes.
fn span(start: *const u8, bytes: usize) -> Range<usize> {
    start.addr()..start.addr() + bytes
}
