//! Loads, stores and atomic accesses. No index leads out of its object, whatever it is.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use smallvec::SmallVec;
use stridewise_core::Dtype;

use super::code::{Arg, Indices, Rmw, Update};
use super::frame::{Affine, Bits, Frame, Held, LANES};
use crate::kernels;
use crate::simd::Isa;

/// Where a memory object is.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// The element of indices 0; of private objects, from where a frame's memory for them begins.
    pub(super) start: *mut u8,
    /// The extents.
    pub(super) shape: SmallVec<[usize; 4]>,
    /// Bytes to step along each axis.
    pub(super) strides: SmallVec<[isize; 4]>,
    /// Bytes of an element.
    pub(super) size: usize,
    /// Bytes from a lane's object to the next lane's: 0 where they share it.
    pub(super) lane: usize,
    /// Whether other threads may access it, too.
    pub(super) global: bool,
}

impl Place {
    fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    fn at(&self, frame: &mut Frame) -> *mut u8 {
        if self.lane == 0 { self.start } else { frame.private().wrapping_add(self.start.addr()) }
    }
}

/// Bytes from an object's start to each lane's element, and whether its indices are in range; the nearest element counts
/// where they are not.
struct Offsets {
    bytes: [isize; LANES],
    inside: [bool; LANES],
}

fn offsets(frame: &mut Frame, place: &Place, indices: &Indices) -> Offsets {
    let mut offsets = Offsets { bytes: [0; LANES], inside: [true; LANES] };
    for (axis, &index) in indices.iter().enumerate() {
        let lanes = frame.integers(index);
        let last = place.shape[axis] as i64 - 1;
        let stride = place.strides[axis];
        let all = offsets.bytes.iter_mut().zip(&mut offsets.inside).zip(lanes);
        for ((bytes, inside), index) in all.take(frame.len) {
            let nearest = index.min(last).max(0);
            *inside &= nearest == index;
            *bytes += nearest as isize * stride;
        }
    }
    if place.lane != 0 {
        for (lane, bytes) in offsets.bytes.iter_mut().enumerate() {
            *bytes += (lane * place.lane) as isize;
        }
    }
    offsets
}

/// The bytes from an object's start to the elements, where they follow the local ids and are all in range.
fn along(frame: &Frame, place: &Place, indices: &Indices) -> Option<Affine> {
    let mut bytes = Affine { base: 0, steps: [0; 3] };
    for (axis, &index) in indices.iter().enumerate() {
        let (affine, low, high) = frame.affine(index)?;
        if low < 0 || high >= place.shape[axis] as i128 {
            return None;
        }
        let stride = place.strides[axis] as i64;
        bytes = bytes.zip(affine.map(|i| i.wrapping_mul(stride)), i64::wrapping_add);
    }
    Some(bytes)
}

/// Copies an element.
///
/// # Safety
/// `size` bytes are readable at one address, and writable at the other.
#[inline(always)]
unsafe fn copy(to: *mut u8, from: *const u8, size: usize) {
    // SAFETY: the caller's contract.
    unsafe {
        match size {
            1 => *to = *from,
            2 => to.cast::<[u8; 2]>().write_unaligned(from.cast::<[u8; 2]>().read_unaligned()),
            4 => to.cast::<u32>().write_unaligned(from.cast::<u32>().read_unaligned()),
            8 => to.cast::<u64>().write_unaligned(from.cast::<u64>().read_unaligned()),
            _ => std::ptr::copy_nonoverlapping(from, to, size),
        }
    }
}

/// Loads.
///
/// # Safety
/// The elements of the place are readable, and no other thread writes them meanwhile, but as the kernel itself does.
pub(super) unsafe fn load(frame: &mut Frame, place: &Place, dst: Arg, indices: &Indices, isa: Isa) {
    if place.is_empty() {
        frame.slots[dst.slot].held = Held::Same(Bits([0; 16]));
        return;
    }
    let start = place.at(frame);
    if let Some(bytes) = along(frame, place, indices) {
        if bytes.steps == [0; 3] && place.lane == 0 {
            let mut bits = Bits([0; 16]);
            // SAFETY: `along`: the element is in range.
            unsafe { copy(bits.0.as_mut_ptr(), start.wrapping_offset(bytes.base as isize), place.size) };
            frame.slots[dst.slot].held = Held::Same(bits);
            return;
        }
        let to = frame.memory_of(dst.slot);
        let step = bytes.steps[2] as isize + place.lane as isize;
        for row in &frame.rows {
            let from = start.wrapping_offset(bytes.at(row.id) as isize).wrapping_add(row.lane * place.lane);
            // SAFETY: `along`: all elements of the row are in range; its lanes have room in the slot, which is no object.
            unsafe {
                let to = to.add(row.lane * place.size);
                if step == place.size as isize {
                    std::ptr::copy_nonoverlapping(from, to, row.len * place.size);
                } else {
                    kernels::gather_elements(isa, to, from, &[(row.len, step)], place.size);
                }
            }
        }
        frame.slots[dst.slot].held = Held::Lanes;
        return;
    }
    let offsets = offsets(frame, place, indices);
    let (to, len) = (frame.memory_of(dst.slot), frame.len);
    macro_rules! gather {
        ($size:expr) => {
            for (lane, &bytes) in offsets.bytes.iter().enumerate().take(len) {
                // SAFETY: the offset is that of an element in range, whatever the index was; the slot has room for the lane.
                unsafe { copy(to.add(lane * $size), start.wrapping_offset(bytes), $size) };
            }
        };
    }
    match place.size {
        1 => gather!(1),
        2 => gather!(2),
        4 => gather!(4),
        8 => gather!(8),
        _ => gather!(16),
    }
    frame.slots[dst.slot].held = Held::Lanes;
}

/// Stores, in the order of lanes.
///
/// # Safety
/// The elements of the place are writable, and no other thread accesses them meanwhile, but as the kernel itself does.
pub(super) unsafe fn store(frame: &mut Frame, place: &Place, indices: &Indices, value: Arg) {
    if place.is_empty() {
        return;
    }
    let start = place.at(frame);
    let (from, same) = frame.source(value);
    let step_from = if same { 0 } else { place.size };
    if frame.all()
        && let Some(bytes) = along(frame, place, indices)
    {
        let step = bytes.steps[2] as isize + place.lane as isize;
        for row in &frame.rows {
            let to = start.wrapping_offset(bytes.at(row.id) as isize).wrapping_add(row.lane * place.lane);
            let from = from.wrapping_add(row.lane * step_from);
            // SAFETY: `along`: all elements of the row are in range; the value is there for each of its lanes.
            unsafe {
                if step == place.size as isize && !same {
                    std::ptr::copy_nonoverlapping(from, to, row.len * place.size);
                } else {
                    for i in 0..row.len {
                        let to = to.wrapping_offset(i as isize * step);
                        copy(to, from.wrapping_add(i * step_from), place.size);
                    }
                }
            }
        }
        return;
    }
    let offsets = offsets(frame, place, indices);
    for lane in 0..frame.len {
        if frame.active.lanes[lane] && offsets.inside[lane] {
            // SAFETY: the indices are in range; the value is there for the lane.
            unsafe {
                copy(
                    start.wrapping_offset(offsets.bytes[lane]),
                    from.wrapping_add(lane * step_from),
                    place.size,
                );
            }
        }
    }
}

/// Atomic accesses, in the order of lanes.
///
/// # Safety
/// As for [`store`]; other threads access the elements by atomic accesses only.
pub(super) unsafe fn atomic(frame: &mut Frame, place: &Place, rmw: &Rmw) {
    let size = place.size;
    if place.is_empty() {
        if let Some(result) = rmw.result {
            frame.slots[result.slot].held = Held::Same(Bits([0; 16]));
        }
        return;
    }
    let start = place.at(frame);
    let offsets = offsets(frame, place, &rmw.indices);
    for lane in 0..frame.len {
        if !frame.active.lanes[lane] {
            continue;
        }
        let operand = rmw.operand.map_or(Bits([0; 16]), |operand| frame.value(operand, lane));
        let expected = match rmw.update {
            Update::Where(expected) => frame.value(expected, lane),
            _ => Bits([0; 16]),
        };
        let inside = offsets.inside[lane];
        let update = |before: Bits| match rmw.update {
            _ if !inside => None,
            Update::Nothing => None,
            Update::Operand => Some(operand),
            Update::Where(_) => (before == expected).then_some(operand),
            Update::By(run) => {
                let mut after = Bits([0; 16]);
                let (a, b) = (before.0.as_ptr(), operand.0.as_ptr());
                // SAFETY: one element each, aligned for any dtype, apart from each other.
                unsafe { run(after.0.as_mut_ptr(), a, b, a, 0, 1) };
                Some(after)
            }
        };
        let element = start.wrapping_offset(offsets.bytes[lane]);
        // SAFETY: the element is in range (or the nearest one), aligned to its dtype, which has 4 or 8 bytes.
        let before = unsafe { exchange(element, size, place.global, update) };
        if let Some(result) = rmw.result {
            frame.set_value(result, lane, before);
        }
    }
    if let Some(result) = rmw.result {
        frame.slots[result.slot].held = Held::Lanes;
    }
}

/// Reads an element and writes what a function makes of it, at once where other threads may access it; what was there before.
///
/// # Safety
/// The element, of 4 or 8 bytes, is aligned and accessible; other threads access it by atomic accesses only.
unsafe fn exchange(
    element: *mut u8,
    size: usize,
    shared: bool,
    update: impl Fn(Bits) -> Option<Bits>,
) -> Bits {
    macro_rules! exchange {
        ($ty:ty, $Atomic:ty) => {{
            let to_bits = |number: $ty| {
                let mut bits = Bits([0; 16]);
                bits.0[..size_of::<$ty>()].copy_from_slice(&number.to_ne_bytes());
                bits
            };
            let from_bits = |bits: Bits| {
                let mut bytes = [0; size_of::<$ty>()];
                bytes.copy_from_slice(&bits.0[..size_of::<$ty>()]);
                <$ty>::from_ne_bytes(bytes)
            };
            let element = element.cast::<$ty>();
            if shared {
                // SAFETY: the caller's contract.
                let atomic = unsafe { <$Atomic>::from_ptr(element) };
                // The strongest order: it costs a processor whose atomic accesses are barriers nothing.
                let changed = atomic.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |before| {
                    update(to_bits(before)).map(from_bits)
                });
                to_bits(changed.unwrap_or_else(|before| before))
            } else {
                // SAFETY: the caller's contract; only this thread accesses it.
                unsafe {
                    let before = to_bits(*element);
                    if let Some(after) = update(before) {
                        *element = from_bits(after);
                    }
                    before
                }
            }
        }};
    }
    if size == 4 { exchange!(u32, AtomicU32) } else { exchange!(u64, AtomicU64) }
}

/// Bytes of an item's private objects, and how a shape of elements of a dtype lies.
pub(super) fn row_major(shape: &[usize], size: usize) -> SmallVec<[isize; 4]> {
    let mut strides: SmallVec<[isize; 4]> = SmallVec::from_elem(size as isize, shape.len());
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis] as isize;
    }
    strides
}

/// The argument of a slot of a dtype.
pub(super) const fn arg(slot: usize, dtype: Dtype) -> Arg {
    Arg { slot, dtype }
}
