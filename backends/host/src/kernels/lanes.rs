//! What the interpreter does with the indices of lanes, for each level.

use std::marker::PhantomData;

use super::entry::{Kernel, contract, entry};
use super::moving::pack::with_size;
use crate::simd::Isa;

/// Lanes at most.
pub(crate) const LANES: usize = 256;

/// Where the lanes' elements are.
#[repr(C)]
pub(crate) struct Offsets {
    /// Bytes from an object's start to each lane's element: the nearest one, where an index is out of range.
    pub(crate) bytes: [i64; LANES],
    /// 1 where an index is out of range.
    pub(crate) outside: [u8; LANES],
}

/// An axis of an object.
pub(crate) struct Axis {
    /// The largest index.
    pub(crate) last: i64,
    /// Bytes from one to the next.
    pub(crate) stride: i64,
}

contract! {
    /// Adds what the indices of `len` lanes along an axis come to.
    ///
    /// - `len` integers of the type that the kernel is for are readable at `index`, aligned. They may be any numbers.
    AlongFn(offsets: &mut Offsets, index: *const u8, axis: &Axis, len: usize)
        = std::ptr::from_mut(offsets).cast(), [index, std::ptr::from_ref(axis).cast(), index], 0, len
}

contract! {
    /// Gathers the elements of `len` lanes, [`LANES`] at most.
    ///
    /// - `from` and each of the first `len` offsets make the address of a readable element, at any alignment.
    /// - There is room for as many at `to`, apart from them, and nothing else accesses it.
    AtFn(to: *mut u8, from: *const u8, offsets: &Offsets, len: usize)
        = to, [from, offsets.bytes.as_ptr().cast(), from], 0, len
}

/// Adds what the lanes' indices along an axis come to.
struct Along<T>(PhantomData<T>);
impl<T: Copy + Into<i64>> Kernel for Along<T> {
    type Fn = AlongFn;

    #[inline(always)]
    unsafe fn run(dst: *mut u8, [index, axis, _]: [*const u8; 3], _: u32, len: usize) {
        // SAFETY: `along`'s contract.
        let (offsets, axis) = unsafe { (&mut *dst.cast::<Offsets>(), &*axis.cast::<Axis>()) };
        let len = len.min(LANES);
        // SAFETY: there are `len` readable, aligned integers, whose type is chosen by their size (`along`).
        let index = unsafe { std::slice::from_raw_parts(index.cast::<T>(), len) };
        let all = offsets.bytes[..len].iter_mut().zip(&mut offsets.outside[..len]).zip(index);
        for ((bytes, outside), &index) in all {
            let index: i64 = index.into();
            let nearest = index.min(axis.last).max(0);
            *outside |= u8::from(nearest != index);
            *bytes += nearest * axis.stride;
        }
    }
}

/// Adds to offsets what the indices of `len` lanes along an axis come to.
///
/// # Safety
/// - There are `len` integers with a sign at `index`, of `size` bytes (4 or 8), aligned and readable. They may be any numbers.
/// - The processor has the instruction set.
pub(crate) unsafe fn along(
    isa: Isa,
    offsets: &mut Offsets,
    index: *const u8,
    size: usize,
    axis: &Axis,
    len: usize,
) {
    let run = if size == 4 { entry::<Along<i32>>(isa) } else { entry::<Along<i64>>(isa) };
    // SAFETY: there are `len` integers at `index`, aligned, of the size; the processor has the instruction
    // set. `Along` is given the offsets as its target and the axis as its source.
    unsafe { run.call(offsets, index, axis, len) };
}

/// Gathers the elements at offsets.
struct At<T>(PhantomData<T>);
impl<T: Copy> Kernel for At<T> {
    type Fn = AtFn;

    #[inline(always)]
    unsafe fn run(dst: *mut u8, [src, offsets, _]: [*const u8; 3], _: u32, len: usize) {
        for lane in 0..len {
            // SAFETY: `gather_at`'s contract.
            unsafe {
                let offset = *offsets.cast::<i64>().add(lane) as isize;
                let element = src.wrapping_offset(offset).cast::<T>().read_unaligned();
                dst.cast::<T>().add(lane).write_unaligned(element);
            }
        }
    }
}

/// Gathers the elements of `len` lanes.
///
/// # Safety
/// - `src` and each of the first `len` offsets make the address of a readable element of `size` bytes (1, 2, 4, 8 or 16).
/// - There is room for as many at `dst`, apart from them.
/// - The processor has the instruction set.
pub(crate) unsafe fn gather_at(
    isa: Isa,
    dst: *mut u8,
    src: *const u8,
    offsets: &Offsets,
    size: usize,
    len: usize,
) {
    let run = with_size!(size, T => entry::<At<T>>(isa));
    // SAFETY: source and offsets make addresses of readable elements, and there is room for all at `dst`,
    // apart from them; the processor has the instruction set, and there are `LANES` offsets.
    unsafe { run.call(dst, src, offsets, len.min(LANES)) };
}
