//! Small work on the calling thread, under the locks of the memory that it touches.
//!
//! A submission costs more than computing a few elements. Where a device computes on the calling thread anyway, and
//! nothing that is under way touches the memory, the work is done while the locks that a submission would take are held:
//! then it is over before anything could conflict with it, and leaves nothing to record.

use std::ops::Range;
use std::sync::{Arc, MutexGuard};

use smallvec::SmallVec;

use super::allocation::Allocation;
use super::track::{Mode, Region, Track};
use super::{BLOCK_ALIGN_BYTES, UsmKind};
use crate::backend::ElementsFn;
use crate::dtype::Dtype;
use crate::error::Result;
use crate::ops::Op;
use crate::runtime::Device;
use crate::scalar::Scalar;

/// Operands of such work, at most.
pub(crate) const MAX_OPERANDS: usize = 3;

/// What such work reads.
pub(crate) enum Operand<'a> {
    /// One element after another; or, where `one` says so, one element for all.
    Memory { allocation: &'a Arc<Allocation>, bytes: Range<usize>, one: bool },
    /// A value.
    Value(Scalar),
}

/// The operands of an operation, in its order.
pub(crate) type Operands<'a> = SmallVec<[Operand<'a>; MAX_OPERANDS]>;

/// A value's bytes, aligned for every dtype.
#[repr(align(16))]
struct Constant([u8; 16]);

/// A device's function for an operation on operands of a dtype, and for which device it is.
pub(crate) struct Function<'a> {
    run: ElementsFn,
    op: Op,
    dtype: Dtype,
    out: Dtype,
    device: &'a Device,
}

/// Elements that a function reads, found to be what it takes: where they are, and what must be locked meanwhile.
struct Sources<'a> {
    constants: [Constant; MAX_OPERANDS],
    /// Which are constants.
    values: u32,
    places: [*const u8; MAX_OPERANDS],
    /// Bit `k`: source `k` is one element for all.
    same: u32,
    /// What is read of memory.
    memory: [Option<(&'a Arc<Allocation>, Range<usize>)>; MAX_OPERANDS],
}

/// Allocations, locked in the order of their addresses, as a submission takes the locks.
struct Locked<'a>(SmallVec<[(&'a Arc<Allocation>, MutexGuard<'a, Track>); MAX_OPERANDS + 1]>);

impl<'a> Function<'a> {
    /// The function, where the device has one.
    pub(crate) fn of(device: &'a Device, op: Op, dtype: Dtype, out: Dtype) -> Option<Self> {
        let run = device.backend().elements_fn(op, dtype, out)?;
        Some(Self { run, op, dtype, out, device })
    }

    /// The dtype of an operand.
    fn operand_dtype(&self, k: usize) -> Dtype {
        if self.op == Op::Where && k == 0 { Dtype::Bool } else { self.dtype }
    }

    /// The operands as sources of `len` elements; `None` where they are not what the function takes.
    fn sources<'b>(&self, operands: &'b [Operand<'_>], len: usize) -> Option<Sources<'b>> {
        if len == 0 || operands.len() != self.op.arity() || operands.len() > MAX_OPERANDS {
            return None;
        }
        let mut sources = Sources {
            constants: [const { Constant([0; 16]) }; MAX_OPERANDS],
            values: 0,
            places: [std::ptr::null(); MAX_OPERANDS],
            same: 0,
            memory: [const { None }; MAX_OPERANDS],
        };
        for (k, operand) in operands.iter().enumerate() {
            let dtype = self.operand_dtype(k);
            match operand {
                Operand::Value(value) => {
                    if value.dtype() != dtype {
                        return None;
                    }
                    sources.constants[k].0 = value.to_bytes();
                    sources.values |= 1 << k;
                    sources.same |= 1 << k;
                }
                Operand::Memory { allocation, bytes, one } => {
                    let elements = if *one { 1 } else { len };
                    if bytes.end > allocation.bytes() || bytes.len() != elements * dtype.size() {
                        return None;
                    }
                    let place = allocation.ptr().byte_offset(bytes.start.cast_signed()).as_ptr();
                    if !place.addr().is_multiple_of(dtype.align()) {
                        return None;
                    }
                    sources.places[k] = place;
                    sources.same |= u32::from(*one) << k;
                    sources.memory[k] = Some((allocation, bytes.clone()));
                }
            }
        }
        if len == 1 {
            sources.same = 0;
        }
        Some(sources)
    }

    /// Computes `len` elements from sources.
    ///
    /// # Safety
    /// The sources are `len` elements each, or one, of live memory of the function's device; `len`
    /// elements of its result's dtype may be written at `dst`, which is aligned to them; nothing else accesses any of them in conflict. A
    /// source is exactly the elements at `dst`, or apart from them.
    unsafe fn compute(&self, dst: *mut u8, sources: &Sources<'_>, len: usize) {
        let mut places = sources.places;
        for (k, constant) in sources.constants.iter().enumerate() {
            if sources.values >> k & 1 == 1 {
                places[k] = constant.0.as_ptr();
            }
        }
        for k in self.op.arity()..MAX_OPERANDS {
            places[k] = places[0];
        }
        // SAFETY: the caller's contract; constants are aligned for every dtype, and `Function::sources` has found the other
        // sources to be.
        unsafe { (self.run)(dst, places[0], places[1], places[2], sources.same, len) }
    }

    /// Computes `len` elements into memory of their own, now. `None`, with nothing done, where something under way or an
    /// open host view stands against it, or an operand is not what the function takes.
    ///
    /// # Errors
    /// What the allocation reports.
    pub(crate) fn fresh(
        &self,
        operands: &[Operand<'_>],
        kind: UsmKind,
        len: usize,
    ) -> Result<Option<Arc<Allocation>>> {
        let Some(sources) = self.sources(operands, len) else { return Ok(None) };
        let Some(locked) = Locked::free(sources.reads()) else { return Ok(None) };
        let out = Allocation::new(self.device, kind, len * self.out.size(), BLOCK_ALIGN_BYTES)?;
        // SAFETY: the sources were found to be what is asked for (`Function::sources`), in memory that the device's function
        // may touch (`backend::Device::elements_fn`), and are locked: no work under way and no host view conflicts, and none
        // can begin. The memory that is written was just allocated, so nobody else has it and no source is in it.
        unsafe { self.compute(out.ptr().as_ptr(), &sources, len) };
        drop(locked);
        Ok(Some(out))
    }

    /// Computes `len` elements into a range of an allocation, now. Whether that was possible: `false`, with nothing done, as
    /// for [`fresh`](Self::fresh), or where the range is not what the function writes.
    pub(crate) fn write(
        &self,
        operands: &[Operand<'_>],
        (out, out_bytes): (&Arc<Allocation>, &Range<usize>),
        len: usize,
    ) -> bool {
        let stopped = out.is_read_only() || !out.pending_reads.is_empty() || out.device() != self.device;
        let dst = out.ptr().byte_offset(out_bytes.start.cast_signed()).as_ptr();
        let fits = out_bytes.end <= out.bytes()
            && out_bytes.len() == len * self.out.size()
            && dst.addr().is_multiple_of(self.out.align());
        if stopped || !fits {
            return false;
        }
        let Some(sources) = self.sources(operands, len) else { return false };
        for (k, read) in sources.memory.iter().enumerate() {
            let Some((allocation, bytes)) = read else { continue };
            // The same elements as the target's, or others.
            let one = sources.same >> k & 1 == 1;
            let size = self.operand_dtype(k).size();
            let exact = !one && Arc::ptr_eq(allocation, out) && bytes == out_bytes && size == self.out.size();
            if !exact && allocation.meets(bytes, out, out_bytes) {
                return false;
            }
        }
        let accesses = sources.reads().chain([(out, out_bytes, Mode::Write)]);
        let Some(locked) = Locked::free(accesses) else { return false };
        // SAFETY: the sources were found to be what is asked for (`Function::sources`), and the target to be inside its
        // allocation and aligned, all in memory that the device's function may touch (`backend::Device::elements_fn`). They
        // are locked: no work under way and no host view conflicts, and none can begin. A source is exactly the target or
        // apart from it, as was just checked.
        unsafe { self.compute(dst, &sources, len) };
        drop(locked);
        true
    }
}

impl<'a> Sources<'a> {
    /// The accesses to what is read of memory.
    fn reads(&self) -> impl Iterator<Item = (&'a Arc<Allocation>, &Range<usize>, Mode)> + Clone {
        self.memory.iter().flatten().map(|(allocation, bytes)| (*allocation, bytes, Mode::Read))
    }
}

impl<'a> Locked<'a> {
    /// Locks the memory of accesses, where they may be over before anything else learns of them.
    fn free<'b>(
        accesses: impl Iterator<Item = (&'a Arc<Allocation>, &'b Range<usize>, Mode)> + Clone,
    ) -> Option<Self> {
        let mut locked = Self(SmallVec::new());
        let mut idle = true;
        let mut previous = std::ptr::null();
        // The next address each time: there are few.
        while let Some(next) = accesses
            .clone()
            .map(|(allocation, ..)| allocation)
            .filter(|allocation| Arc::as_ptr(allocation) > previous)
            .min_by_key(|allocation| Arc::as_ptr(allocation))
        {
            previous = Arc::as_ptr(next);
            let mut track = next.track();
            if !track.is_idle() {
                track.forget_settled();
                idle &= track.is_idle();
            }
            locked.0.push((next, track));
        }
        let free = |(allocation, bytes, mode): (&Arc<Allocation>, &Range<usize>, Mode)| {
            let track = locked.0.iter().find(|(locked, _)| Arc::ptr_eq(locked, allocation));
            track.is_some_and(|(_, track)| track.is_free(&Region::bytes(bytes.clone()), mode))
        };
        (idle || accesses.clone().all(free)).then_some(locked)
    }
}
