//! Operands that lie as the results do, or are values: the usual small work, found to be that in one pass. And, apart from it,
//! what is as small but has to be gathered.
//!
//! In the usual small call every operand lies as the result does, or is a value. Checks written for all
//! layouts, and structures filled in parts and read whole, took more time than the elements. So the number of
//! operands is a constant here, all is inlined, and nothing about the call goes through memory; a table of
//! each device (`Functions` in `runtime/device.rs`) has the function, its number of operands and the dtype of
//! the result; and the new array is made where it is returned, from whole words, which is why up to four
//! dimensions lie in place (`layout/dimensions.rs`). The cost: the functions exist for one, two and three
//! operands, with and without gathering, the `inline(always)` must stay, and every small call feels a field
//! that is added to a layout, an array or a queue: count the instructions by `cargo xtask bench --call add`.
//!
//! Measured by two threads (machine not recorded), in turns: addition of 16 `float32` 0.6 to 0.8 of the time
//! in most runs, a chain 0.51 to 0.67; 987 to 740 instructions. A third of a small product was one load of
//! 16 bytes of a layout that had just been written in words: 95 to 75 ns for 1 Ki elements. An array of
//! 120 bytes instead of 136: 0.76 to 0.88 of the time. Gathering within the same pass made it 44 ns instead
//! of 35, hence a copy of its own for that (`APART`).

use std::mem::MaybeUninit;
use std::sync::Arc;

use super::strided;
use super::{
    Constant, Function, Gathered, MAX_BYTES, MAX_OPERANDS, Memories, Source, Space, broadcasts, fresh_memory,
    hold_idle, place, place_before, span,
};
use crate::dtype::Dtype;
use crate::error::Result;
use crate::layout::{Layout, Order};
use crate::memory::allocation::Allocation;
use crate::memory::{Alone, BLOCK_ALIGN_BYTES, UsmKind};
use crate::ops::Op;
use crate::routes::{self, Route};
use crate::scalar::Scalar;

/// Bytes of an operand's repeated rows that are gathered, for as many results at a time.
const REPEATED_BYTES: usize = 1 << 10;

/// A call of a function on `N` operands, each of which lies as the results do, or is a value, or, if `APART`, is gathered first.
/// All of it is inlined into who makes one, so that none of it goes through memory, but for what is gathered.
pub(crate) struct Alike<'a, const N: usize, const APART: bool> {
    function: Function<'a>,
    space: Space<'a>,
    kind: UsmKind,
    places: [*const u8; N],
    /// Where the elements are; none of a value.
    memory: [Option<&'a Allocation>; N],
    /// How the elements lie that do not lie as the results do.
    apart: [Option<&'a Layout>; N],
    constants: [Constant; N],
    /// Bit `k`: operand `k` is given.
    given: u32,
    /// Bit `k`: nobody else has the memory of operand `k`.
    alone: u32,
}

impl<'a, const N: usize, const APART: bool> Alike<'a, N, APART> {
    /// A call without its operands, where the function takes as many, and so many elements.
    #[inline(always)]
    pub(crate) fn new(function: Function<'a>, space: Space<'a>) -> Option<Self> {
        // What is gathered is not shared.
        let most = if APART { function.elements.alone } else { function.most() };
        let takes = function.arity == N && (1..=most).contains(&space.len);
        takes.then_some(Self {
            function,
            space,
            kind: UsmKind::Host,
            places: [std::ptr::null(); N],
            memory: [const { None }; N],
            apart: [const { None }; N],
            constants: [const { Constant([0; 2]) }; N],
            given: 0,
            alone: 0,
        })
    }

    #[inline(always)]
    fn dtype(&self, k: usize) -> Dtype {
        self.function.op.operand_dtype(k, self.function.dtype)
    }

    /// Gives operand `k`, elements of a dtype. Whether they lie as the results do, or can be gathered, and the function takes
    /// them.
    #[inline(always)]
    pub(crate) fn array(
        &mut self,
        k: usize,
        allocation: &'a Arc<Allocation>,
        layout: &'a Layout,
        dtype: Dtype,
    ) -> bool {
        if dtype != self.dtype(k) || allocation.device() != self.function.device {
            return false;
        }
        let alike = Source { allocation, layout }.lies_as(&self.space);
        let end = layout.offset() + self.space.len;
        let place = match alike {
            true => place_before(allocation, layout.offset(), end, dtype),
            false if APART => gathered(allocation, layout, &self.space, dtype),
            false => None,
        };
        let Some(place) = place else { return false };
        self.places[k] = place;
        self.memory[k] = Some(allocation);
        self.apart[k] = if alike { None } else { Some(layout) };
        self.kind = self.kind.combine(allocation.kind());
        self.given |= 1 << k;
        true
    }

    /// Gives operand `k`, a value. Whether the function takes it.
    #[inline(always)]
    pub(crate) fn value(&mut self, k: usize, value: Scalar) -> bool {
        self.constants[k] = Constant::of(value);
        let takes = value.dtype() == self.dtype(k);
        self.given |= u32::from(takes) << k;
        takes
    }

    /// Whether all operands are given, and are not all values, which only a copy takes.
    #[inline(always)]
    fn is_ready(&self) -> bool {
        let varies = self.function.op == Op::Copy || self.memory.iter().any(Option::is_some);
        varies && self.given == (1 << N) - 1
    }

    /// The dtype of the results.
    #[inline(always)]
    pub(crate) fn out_dtype(&self) -> Dtype {
        self.function.out
    }

    /// The size of the results.
    #[inline(always)]
    pub(crate) fn bytes(&self) -> usize {
        self.space.len * self.function.out.size()
    }

    /// Computes into memory of its own, now. `None`, with nothing done, where something under way or an open host view stands
    /// against it, or the call is not complete.
    ///
    /// # Errors
    /// What the allocation reports.
    #[inline(always)]
    pub(crate) fn fresh(&self) -> Result<Option<Arc<Allocation>>> {
        if !self.is_ready() {
            return Ok(None);
        }
        // Who holds memory waits for nothing, the pool's lock included.
        let Some(out) = fresh_memory(self.function.device, self.kind, self.bytes(), BLOCK_ALIGN_BYTES)?
        else {
            return Ok(None);
        };
        let Some(held) = hold_idle(&self.memories(None), || self.function.op.label()) else {
            return Ok(None);
        };
        // SAFETY: the call is complete (`is_ready`). The memory of the operands is held: no work is under way and no host view
        // open, and none can begin. The memory that is written was just allocated, so nobody else has it and no operand is in it.
        unsafe { self.run(out.ptr().as_ptr()) };
        drop(held);
        Ok(Some(out))
    }

    /// What is touched, but for what nobody else has.
    #[inline(always)]
    fn memories(&self, target: Option<&'a Allocation>) -> Memories<'a> {
        let mut memories = [const { None }; MAX_OPERANDS + 1];
        for (k, memory) in self.memory.into_iter().enumerate() {
            memories[k] = memory.filter(|_| self.alone >> k & 1 == 0);
        }
        memories[MAX_OPERANDS] = target;
        memories
    }

    /// Computes the elements.
    ///
    /// # Safety
    /// - The call is complete ([`is_ready`](Self::is_ready)).
    /// - The elements may be written at `dst`, which is aligned to them.
    /// - Nothing else accesses these or the operands in conflict.
    /// - An operand that lies as they do is exactly the elements at `dst`, or apart from them.
    #[inline(always)]
    unsafe fn run(&self, dst: *mut u8) {
        routes::take(if APART { Route::Gathered } else { Route::Dense });
        if APART {
            // SAFETY: `run_apart` has the contract of this function.
            return unsafe { self.run_apart(dst) };
        }
        // What pointers are taken of has to be in memory.
        let (mut places, constants, mut same) = (self.places, self.constants, 0);
        for (k, place) in places.iter_mut().enumerate() {
            if self.memory[k].is_none() {
                *place = constants[k].place();
                same |= 1 << k;
            }
        }
        // The first operand stands in place of those that the function has not.
        let operand = |k: usize| places[if k < N { k } else { 0 }];
        // SAFETY: the memory is the function's device's (`array`, `write`), which computes in it on this thread
        // (`backend::Immediate::elements_fn`). Operands have as many elements as the results, are inside their allocations and
        // aligned (`place_before`), or are one element for all, aligned for every dtype; that nothing else accesses them or the
        // results, and that they are exactly these or apart from them, is the contract of this function.
        unsafe { self.function.run(dst, [operand(0), operand(1), operand(2)], same, self.space.len) };
    }

    /// [`run`](Self::run), where operands are gathered first. Of rows that are repeated, as many are gathered as are worth a call,
    /// where all else lies as the results do.
    ///
    /// # Safety
    /// As for `run`.
    #[inline(always)]
    unsafe fn run_apart(&self, dst: *mut u8) {
        let Self { function, space, .. } = self;
        let mut rooms = [const { Gathered([MaybeUninit::uninit(); MAX_BYTES]) }; N];
        // Results of one call, and the bytes from one of them to the next in each operand.
        let (mut block, mut sizes) = (space.len, [0; N]);
        let (mut places, mut same) = (self.places, 0);
        let others_alike = self.apart.iter().flatten().count() == 1;
        for k in 0..N {
            let size = self.dtype(k).size();
            let Some(layout) = self.apart[k] else {
                match self.memory[k] {
                    Some(_) => sizes[k] = size,
                    None => (places[k], same) = (self.constants[k].place(), same | 1 << k),
                }
                continue;
            };
            let (mut steps, room) =
                (strided::steps(layout, space, size), rooms[k].0.as_mut_ptr().cast::<u8>());
            if let Some((times, 0)) = steps.last_mut()
                && others_alike
            {
                let row = space.len / *times;
                *times = (REPEATED_BYTES / size).div_ceil(row).min(*times);
                block = row * *times;
            }
            // SAFETY: the elements were found to be in their allocation, the layout to broadcast to the space, and the room, which
            // is apart from everything, to be long enough for all of them (`gathered`); nothing else accesses the operands in conflict, by
            // the contract of `run`.
            unsafe { strided::gather(&**function.device.backend(), places[k], &steps, size, room) };
            places[k] = room;
        }
        let mut at = 0;
        while at < space.len {
            let operand = |k: usize| places[if k < N { k } else { 0 }];
            let count = block.min(space.len - at);
            // SAFETY: a part of the results may be written at `to`; each operand has as many elements from
            // its place on, where it lies or gathered, which is apart from them, or rows that each part
            // begins with.
            unsafe {
                let to = dst.wrapping_add(at * function.out.size());
                function.run_alone(to, [operand(0), operand(1), operand(2)], same, count);
            }
            at += count;
            for (place, size) in std::iter::zip(&mut places, sizes) {
                *place = place.wrapping_add(count * size);
            }
        }
    }
}

impl<'a, const N: usize> Alike<'a, N, false> {
    /// [`array`](Self::array), of memory that nobody else has: it needs not be held.
    #[inline(always)]
    pub(crate) fn owned(&mut self, k: usize, memory: Alone<'a>, layout: &'a Layout, dtype: Dtype) -> bool {
        self.alone |= 1 << k;
        self.array(k, memory.allocation(), layout, dtype)
    }

    /// Computes into elements that lie so, too, now. Whether that was possible: `false`, with nothing done, as for
    /// [`fresh`](Self::fresh), or where an operand is some of these elements and others.
    #[inline(always)]
    pub(crate) fn write(&self, out: &Arc<Allocation>, layout: &Layout) -> bool {
        let stopped =
            out.is_read_only() || !out.pending_reads.is_empty() || out.device() != self.function.device;
        let target = Source { allocation: out, layout };
        if stopped || !self.is_ready() || !target.lies_as(&self.space) {
            return false;
        }
        let end = layout.offset() + self.space.len;
        let Some(dst) = place_before(out, layout.offset(), end, self.function.out) else { return false };
        let written = span(dst, self.bytes());
        for k in 0..N {
            let read = span(self.places[k], self.space.len * self.dtype(k).size());
            // A value is nowhere.
            let meets = read.start < written.end && written.start < read.end;
            if self.memory[k].is_some() && meets && read != written {
                return false;
            }
        }
        let Some(held) = hold_idle(&self.memories(Some(out)), || self.function.op.label()) else {
            return false;
        };
        // SAFETY: the call is complete (`is_ready`), and the memory of target and operands is held. The
        // target is inside its allocation and aligned (`place_before`). An operand is exactly the target,
        // with elements of the same size since there are as many, or apart from it, as was just checked.
        unsafe { self.run(dst) };
        drop(held);
        true
    }

    /// Computes into the operand whose memory nobody else has, now. Whether that was possible: `false`, with nothing done, as
    /// for [`fresh`](Self::fresh), or where the results are of another dtype, or of another kind of memory.
    #[inline(always)]
    pub(crate) fn write_owned(&self) -> bool {
        let Some(k) = (0..N).find(|k| self.alone >> k & 1 == 1) else { return false };
        let of_kind = self.memory[k].is_some_and(|memory| memory.kind() == self.kind);
        if !self.is_ready() || !of_kind || self.function.out != self.dtype(k) {
            return false;
        }
        let Some(held) = hold_idle(&self.memories(None), || self.function.op.label()) else { return false };
        // SAFETY: the call is complete (`is_ready`), and the memory of the operands is held. Memory that
        // nobody else has is idle, and stays so while it is borrowed (`Alone`), and may be written. The
        // target is an operand of as many elements, and no other one is in its memory.
        unsafe { self.run(self.places[k].cast_mut()) };
        drop(held);
        true
    }
}

/// Where the element at multi-index zero lies of elements that do not lie as those of a space, but can be gathered to the stack;
/// `None` where they cannot.
fn gathered(allocation: &Allocation, layout: &Layout, space: &Space<'_>, dtype: Dtype) -> Option<*mut u8> {
    // Where results are in column-major order, others have a say in that.
    let takes = space.order == Order::C
        && layout.len() > 1
        && space.len <= MAX_BYTES / dtype.size()
        && broadcasts(layout.shape(), space.shape);
    if takes { place(allocation, layout, layout.len(), dtype) } else { None }
}
