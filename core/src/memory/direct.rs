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
use crate::backend::ElementsFn;
use crate::dtype::Dtype;
use crate::ops::Op;
use crate::runtime::Device;
use crate::scalar::Scalar;

/// Operands of such work, at most.
pub(crate) const MAX_OPERANDS: usize = 2;

/// What such work reads.
pub(crate) enum Operand<'a> {
    /// One element after another; or, where `one` says so, one element for all.
    Memory { allocation: &'a Arc<Allocation>, bytes: Range<usize>, one: bool },
    /// A value.
    Value(Scalar),
}

/// A value's bytes, aligned for every dtype.
#[repr(align(16))]
struct Constant([u8; 16]);

/// A device's function for an operation on operands of a dtype, and for which device it is.
pub(crate) struct Function<'a> {
    run: ElementsFn,
    op: Op,
    dtype: Dtype,
    device: &'a Device,
}

impl<'a> Function<'a> {
    /// The function, where the device has one.
    pub(crate) fn of(device: &'a Device, op: Op, dtype: Dtype) -> Option<Self> {
        let run = device.backend().elements_fn(op, dtype)?;
        Some(Self { run, op, dtype, device })
    }
}

/// Computes `len` elements into a range of an allocation with a device's own function, now. Whether that was possible:
/// `false`, with nothing done, where something under way or an open host view stands against it, or a range is not what
/// the function takes.
pub(crate) fn run(
    function: &Function<'_>,
    operands: &[Operand<'_>],
    target: (&Arc<Allocation>, Range<usize>),
    len: usize,
) -> bool {
    let (out, out_bytes) = target;
    let &Function { run, op, dtype, device } = function;
    let stopped = out.is_read_only() || !out.pending_reads.is_empty() || out.device() != device;
    if len == 0 || operands.len() != op.arity() || operands.len() > MAX_OPERANDS || stopped {
        return false;
    }
    let mut constants = [const { Constant([0; 16]) }; MAX_OPERANDS];
    let mut sources = [std::ptr::null::<u8>(); 3];
    let mut same = 0;
    // In the order of addresses, as a submission takes the locks.
    let mut allocations: SmallVec<[&Arc<Allocation>; MAX_OPERANDS + 1]> = SmallVec::new();
    allocations.push(out);
    for (k, operand) in operands.iter().enumerate() {
        match operand {
            Operand::Value(value) => {
                if value.dtype() != dtype {
                    return false;
                }
                constants[k].0 = value.to_bytes();
                sources[k] = constants[k].0.as_ptr();
                same |= 1 << k;
            }
            Operand::Memory { allocation, bytes, one } => {
                let elements = if *one { 1 } else { len };
                if bytes.end > allocation.bytes() || bytes.len() != elements * dtype.size() {
                    return false;
                }
                // The same elements as the target's, or others.
                let exact = !one && Arc::ptr_eq(allocation, out) && *bytes == out_bytes;
                if !exact && allocation.meets(bytes, out, &out_bytes) {
                    return false;
                }
                sources[k] = allocation.ptr().byte_offset(bytes.start.cast_signed()).as_ptr();
                if !sources[k].addr().is_multiple_of(dtype.align()) {
                    return false;
                }
                same |= u32::from(*one) << k;
                allocations.push(allocation);
            }
        }
    }
    if len == 1 {
        same = 0;
    }
    for k in operands.len()..3 {
        sources[k] = sources[0];
    }
    let result = op.result(dtype);
    let dst = out.ptr().byte_offset(out_bytes.start.cast_signed()).as_ptr();
    let aligned = dst.addr().is_multiple_of(result.align());
    if out_bytes.end > out.bytes() || out_bytes.len() != len * result.size() || !aligned {
        return false;
    }
    allocations.sort_unstable_by_key(|a| Arc::as_ptr(a));
    allocations.dedup_by_key(|a| Arc::as_ptr(a));
    let tracks: SmallVec<[(&Arc<Allocation>, MutexGuard<'_, Track>); MAX_OPERANDS + 1]> =
        allocations.into_iter().map(|allocation| (allocation, allocation.track())).collect();
    let free = |allocation: &Arc<Allocation>, bytes: &Range<usize>, mode: Mode| {
        let track = tracks.iter().find(|(locked, _)| Arc::ptr_eq(locked, allocation));
        track.is_some_and(|(_, track)| track.is_free(&Region::bytes(bytes.clone()), mode))
    };
    let reads_are_free = operands.iter().all(|operand| match operand {
        Operand::Value(_) => true,
        Operand::Memory { allocation, bytes, .. } => free(allocation, bytes, Mode::Read),
    });
    if !reads_are_free || !free(out, &out_bytes, Mode::Write) {
        return false;
    }
    // SAFETY: the ranges are inside live allocations of memory that the device's function may touch
    // (`Device::elements_fn`), hold `len` elements of the dtypes, or one, and begin where those may (all checked above). No
    // work under way and no host view conflicts, and none can begin while the locks are held. A source is exactly the target
    // or apart from it (`Allocation::meets`).
    unsafe { run(dst, sources[0], sources[1], sources[2], same, len) };
    drop(tracks);
    true
}
