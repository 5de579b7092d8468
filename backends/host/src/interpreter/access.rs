//! Loads, stores and atomic accesses. No index leads out of its object, whatever it is.
//!
//! This file is where a kernel's memory safety is made: indices are data of users. There are two ways to an
//! element.
//! - Indices that follow the local ids (`along`): their least and greatest value are compared with the extent
//!   once, for all lanes. Then rows of elements are copied, or read where they lie.
//! - Any others (`offsets`): each is compared by itself. A load outside reads the nearest element; a store
//!   outside does nothing, and an atomic access outside only reads.
//!
//! The launch's contract is that arrays are there with their extents and strides ([`Place`]), and that
//! nothing else accesses them in conflict. Items of one kernel that race get any of the values, and still do
//! not leave the object. Atomic accesses are the processor's where other threads may see the memory
//! (`Place::global`), else plain ones in the order of lanes. What limits loads is the gather of single
//! elements; whoever finds another common pattern of indices adds it beside `along`, with its comparison of
//! bounds.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use smallvec::SmallVec;
use stridewise_core::Dtype;

use super::code::{Arg, Indices, Rmw, Update};
use super::frame::{Affine, Bits, Frame, Held, LANES, Mask};
use crate::kernels;
use crate::kernels::lanes::{self, Axis, Offsets};
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

/// Where each lane's element is.
fn offsets(frame: &mut Frame, place: &Place, indices: &Indices, isa: Isa) -> Offsets {
    let mut offsets = Offsets { bytes: [0; LANES], outside: [0; LANES] };
    let len = frame.len;
    for (axis, &index) in indices.iter().enumerate() {
        let of = Axis { last: place.shape[axis] as i64 - 1, stride: place.strides[axis] as i64 };
        let mut add = |numbers: *const u8, size| {
            // SAFETY: a slot has memory for each lane's element, and so has an array of as many numbers as
            // lanes.
            unsafe { lanes::along(isa, &mut offsets, numbers, size, &of, len) };
        };
        match frame.source(index) {
            (numbers, false) if matches!(index.dtype, Dtype::I32 | Dtype::I64) => {
                add(numbers, index.dtype.size());
            }
            _ => add(frame.integers(index).as_ptr().cast(), size_of::<i64>()),
        }
    }
    if place.lane != 0 {
        for (lane, bytes) in offsets.bytes.iter_mut().enumerate() {
            *bytes += (lane * place.lane) as i64;
        }
    }
    offsets
}

/// The bytes from an object's start to the elements, where they follow the local ids and are all in range.
fn along(frame: &Frame, place: &Place, indices: &Indices) -> Option<Affine> {
    let mut bytes = Affine { base: 0, steps: [0; 3] };
    for (axis, &index) in indices.iter().enumerate() {
        let (affine, low, high) = frame.affine(index)?;
        if low < 0 || high >= place.shape[axis] as i64 {
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
    // SAFETY: `size` bytes are readable at `from` and writable at `to`.
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
/// - The elements of the place, by its start, shape and strides, are readable. Indices may be any numbers.
/// - No other thread writes them meanwhile, but as the kernel itself does.
/// - The processor has the instruction set.
pub(super) unsafe fn load(
    frame: &mut Frame,
    place: &Place,
    dst: usize,
    (indices, stays): (&Indices, bool),
    isa: Isa,
) {
    if place.is_empty() {
        frame.slots[dst].held = Held::Same(Bits([0; 16]));
        return;
    }
    let start = place.at(frame);
    if let Some(bytes) = along(frame, place, indices) {
        if bytes.steps == [0; 3] && place.lane == 0 {
            let mut bits = Bits([0; 16]);
            // SAFETY: `along`: the element is in range.
            unsafe { copy(bits.0.as_mut_ptr(), start.wrapping_offset(bytes.base as isize), place.size) };
            frame.slots[dst].held = Held::Same(bits);
            return;
        }
        let to = frame.memory_of(dst);
        let step = bytes.steps[2] as isize + place.lane as isize;
        let whole = frame.as_one_row(bytes.steps);
        let rows = whole.as_ref().map_or(&frame.rows[..], std::slice::from_ref);
        if stays
            && step == place.size as isize
            && let [row] = rows
            && row.len == frame.len
        {
            let from = start.wrapping_offset(bytes.at(row.id) as isize);
            // What functions are given is aligned; no dtype asks for more.
            if from.addr().is_multiple_of(place.size.min(8)) {
                frame.slots[dst].held = Held::There(from);
                return;
            }
        }
        for row in rows {
            let from = start.wrapping_offset(bytes.at(row.id) as isize).wrapping_add(row.lane * place.lane);
            // SAFETY: `along`: all elements of the row are in range; its lanes have room in the slot, which
            // is no object.
            unsafe { load_row(isa, to.add(row.lane * place.size), from, step, place.size, row.len) };
        }
        frame.slots[dst].held = Held::Lanes;
        return;
    }
    let offsets = offsets(frame, place, indices, isa);
    let (to, len) = (frame.memory_of(dst), frame.len);
    // SAFETY: each offset is that of an element in range, whatever the index was; the slot has room for each
    // lane.
    unsafe { lanes::gather_at(isa, to, start, &offsets, place.size, len) };
    frame.slots[dst].held = Held::Lanes;
}

/// Loads a row of elements that are `step` bytes apart.
///
/// # Safety
/// They are readable, and there is room for them at `to`, apart from them. The processor has the instruction
/// set.
#[inline]
unsafe fn load_row(isa: Isa, to: *mut u8, from: *const u8, step: isize, size: usize, len: usize) {
    /// From here on a call is worth it.
    const CALLED: usize = 32;
    // SAFETY: for all of this function: `len` elements, `step` bytes apart, are readable from `from` on, and
    // there is room for as many at `to`, apart from them.
    unsafe {
        if step == size as isize && len >= CALLED {
            std::ptr::copy_nonoverlapping(from, to, len * size);
            return;
        }
        if len >= CALLED {
            kernels::gather_elements(isa, to, from, &[(len, step)], size);
            return;
        }
        macro_rules! each {
            ($ty:ty) => {{
                let (from, to) = (from.cast::<$ty>(), to.cast::<$ty>());
                if step == 0 {
                    let element = from.read_unaligned();
                    (0..len).for_each(|i| to.add(i).write_unaligned(element));
                } else if step == size as isize {
                    (0..len).for_each(|i| to.add(i).write_unaligned(from.add(i).read_unaligned()));
                } else {
                    let at = |i| from.wrapping_byte_offset(i as isize * step);
                    (0..len).for_each(|i| to.add(i).write_unaligned(at(i).read_unaligned()));
                }
            }};
        }
        match size {
            1 => each!(u8),
            2 => each!(u16),
            4 => each!(u32),
            8 => each!(u64),
            _ => each!(u128),
        }
    }
}

/// Stores, in the order of lanes.
///
/// # Safety
/// - The elements of the place, by its start, shape and strides, are writable. Indices may be any numbers.
/// - No other thread accesses them meanwhile, but as the kernel itself does.
/// - The processor has the instruction set.
pub(super) unsafe fn store(frame: &mut Frame, place: &Place, indices: &Indices, value: Arg, isa: Isa) {
    if place.is_empty() {
        return;
    }
    let start = place.at(frame);
    let (from, same) = frame.source(value);
    let (size, step_from) = (place.size, if same { 0 } else { place.size });
    let active = frame.active;
    let Some(bytes) = along(frame, place, indices) else {
        let offsets = offsets(frame, place, indices, isa);
        let inside = active.without(Mask::of_bytes(&offsets.outside[..frame.len]));
        // SAFETY: the offsets are those of elements in range; the value is there for each lane.
        unsafe { store_at(start, (from, step_from), size, inside, |lane| offsets.bytes[lane] as isize) };
        return;
    };
    let step = bytes.steps[2] as isize + place.lane as isize;
    let whole = frame.as_one_row(bytes.steps).filter(|_| place.lane == 0);
    for row in whole.as_ref().map_or(&frame.rows[..], std::slice::from_ref) {
        let first = bytes.at(row.id) as isize + (row.lane * place.lane) as isize;
        if frame.all() && step == size as isize && !same {
            let (to, from) = (start.wrapping_offset(first), from.wrapping_add(row.lane * size));
            // SAFETY: `along`: all elements of the row are in range; the value is there for each of its
            // lanes.
            unsafe { load_row(isa, to, from, step, size, row.len) };
        } else {
            let lanes = active.and(Mask::range(row.lane..row.lane + row.len));
            let offset = |lane| first + (lane - row.lane) as isize * step;
            // SAFETY: `along`: the elements of the row are in range; the value is there for each of its
            // lanes, or one for all.
            unsafe { store_at(start, (from, step_from), size, lanes, offset) };
        }
    }
}

/// Stores each lane's element at an offset.
///
/// # Safety
/// Offsets from `start` are those of writable elements; the values are so many bytes apart.
#[inline]
unsafe fn store_at(
    start: *mut u8,
    (from, step): (*const u8, usize),
    size: usize,
    lanes: Mask,
    offset: impl Fn(usize) -> isize,
) {
    macro_rules! each {
        ($ty:ty) => {
            lanes.for_each(|lane| {
                // SAFETY: for each of the lanes, the offset is that of a writable element, and the value is
                // there, `step` bytes from one to the next.
                unsafe {
                    let value = from.add(lane * step).cast::<$ty>().read_unaligned();
                    start.wrapping_offset(offset(lane)).cast::<$ty>().write_unaligned(value);
                }
            })
        };
    }
    match size {
        1 => each!(u8),
        2 => each!(u16),
        4 => each!(u32),
        8 => each!(u64),
        _ => each!(u128),
    }
}

/// Atomic accesses, in the order of lanes.
///
/// # Safety
/// As for [`store`]; other threads access the elements by atomic accesses only.
pub(super) unsafe fn atomic(frame: &mut Frame, place: &Place, rmw: &Rmw, isa: Isa) {
    let size = place.size;
    if place.is_empty() {
        if let Some(result) = rmw.result {
            frame.slots[result.slot].held = Held::Same(Bits([0; 16]));
        }
        return;
    }
    let start = place.at(frame);
    let offsets = offsets(frame, place, &rmw.indices, isa);
    let inside = frame.active.without(Mask::of_bytes(&offsets.outside[..frame.len]));
    if let (Update::Sum(_), None, Some(operand), false) = (rmw.update, rmw.result, rmw.operand, place.global)
    {
        // SAFETY: each offset is that of an element in range, aligned to its dtype; the elements of local and
        // private memory are this thread's.
        unsafe { add_all(frame, start, &offsets, inside, operand) };
        return;
    }
    for lane in frame.active.lanes() {
        let operand = rmw.operand.map_or(Bits([0; 16]), |operand| frame.value(operand, lane));
        let expected = match rmw.update {
            Update::Where(expected) => frame.value(expected, lane),
            _ => Bits([0; 16]),
        };
        let update = |before: Bits| match rmw.update {
            _ if !inside.has(lane) => None,
            Update::Nothing => None,
            Update::Operand => Some(operand),
            Update::Where(_) => (before == expected).then_some(operand),
            Update::By(run) | Update::Sum(run) => {
                let mut after = Bits([0; 16]);
                let (a, b) = (before.0.as_ptr(), operand.0.as_ptr());
                // SAFETY: one element each, aligned for any dtype, apart from each other.
                unsafe { run(after.0.as_mut_ptr(), a, b, a, 0, 1) };
                Some(after)
            }
        };
        let element = start.wrapping_offset(offsets.bytes[lane] as isize);
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

/// Adds each lane's operand to its element, in the order of lanes.
///
/// # Safety
/// The elements, of 4 or 8 bytes, are aligned and this thread's.
unsafe fn add_all(frame: &mut Frame, start: *mut u8, offsets: &Offsets, lanes: Mask, operand: Arg) {
    let (from, same) = frame.source(operand);
    macro_rules! add {
        ($ty:ty, $sum:expr) => {
            lanes.for_each(|lane| {
                // SAFETY: each lane's offset is that of an element of 4 or 8 bytes, aligned and this
                // thread's; the operand is there for the lane, or one for all.
                unsafe {
                    let operand = *from.cast::<$ty>().add(if same { 0 } else { lane });
                    let element = start.wrapping_offset(offsets.bytes[lane] as isize).cast::<$ty>();
                    *element = $sum(*element, operand);
                }
            })
        };
    }
    match operand.dtype {
        Dtype::F32 => add!(f32, |a: f32, b: f32| a + b),
        Dtype::F64 => add!(f64, |a: f64, b: f64| a + b),
        // Signs do not matter to a sum that wraps.
        other if other.size() == 4 => add!(u32, u32::wrapping_add),
        _ => add!(u64, u64::wrapping_add),
    }
}

/// Reads an element and writes what a function makes of it, at once where other threads may access it; what
/// was there before.
///
/// # Safety
/// The element, of 4 or 8 bytes, is aligned and accessible; other threads access it by atomic accesses only.
pub(super) unsafe fn exchange(
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
                // SAFETY: the element is aligned and accessible, and other threads access it by atomic
                // accesses only.
                let atomic = unsafe { <$Atomic>::from_ptr(element) };
                // The strongest order: it costs a processor whose atomic accesses are barriers nothing.
                let changed = atomic.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |before| {
                    update(to_bits(before)).map(from_bits)
                });
                to_bits(changed.unwrap_or_else(|before| before))
            } else {
                // SAFETY: the element is aligned and accessible, and as it is not shared, only this thread
                // accesses it.
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

/// Bytes to step along each axis of a shape whose elements, of a size, lie in row-major order.
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
