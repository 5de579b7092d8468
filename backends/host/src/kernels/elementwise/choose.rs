//! Moving elements as they are: `where`, and copies.

use std::marker::PhantomData;
use std::ops::RangeInclusive;

use stridewise_core::ops::Float;

use super::blocks::around_sizes;
use super::map::{LaneFn, LaneMap};
use crate::kernels::entry::{ALL_SAME, Around, Kernel, Level, LevelKernel, STREAM, StepFn, WideKernel};
use crate::kernels::stream;
use crate::simd::Lane;

/// Around results, a byte of a condition, and two values.
const fn choice<T>() -> Option<Around> {
    let size = size_of::<T>() as u8;
    around_sizes([size, 1, size, size])
}

/// `where` over elements of one size: a byte mask and two values, moved as bits.
pub(crate) struct Choose<T>(PhantomData<T>);
impl<T: Copy> Kernel for Choose<T> {
    type Fn = StepFn;

    const AROUND: Option<Around> = choice::<T>();
    const OWN: u32 = ALL_SAME;

    #[inline(always)]
    unsafe fn run(dst: *mut u8, [mask, yes, no]: [*const u8; 3], flags: u32, len: usize) {
        let (dst, yes, no) = (dst.cast::<T>(), yes.cast::<T>(), no.cast::<T>());
        // SAFETY: for all of this function: `Kernel::run`'s contract; `i` is below `len`, scalars are read at element 0.
        unsafe {
            macro_rules! form {
                ($mask:expr, $yes:expr, $no:expr) => {{
                    for i in 0..len {
                        let (y, n) = ($yes(i), $no(i));
                        *dst.add(i) = if $mask(i) != 0 { y } else { n };
                    }
                }};
            }
            match flags & 7 {
                0 => form!(|i| *mask.add(i), |i| *yes.add(i), |i| *no.add(i)),
                2 => {
                    let value = *yes;
                    form!(|i| *mask.add(i), |_| value, |i| *no.add(i))
                }
                4 => {
                    let value = *no;
                    form!(|i| *mask.add(i), |i| *yes.add(i), |_| value)
                }
                flags => {
                    let index = |k: u32, i: usize| if flags >> k & 1 == 1 { 0 } else { i };
                    form!(|i| *mask.add(index(0, i)), |i| *yes.add(index(1, i)), |i| *no.add(index(2, i)))
                }
            }
        }
    }
}

/// `where` over vectors: elements of the vector's element size, of any dtype, as only bits are moved.
pub(crate) struct LaneChoose<V>(PhantomData<V>);

/// The choice for the `len` elements from `i` on, a whole vector or less.
///
/// # Safety
/// `len` elements are readable, not more than a vector has.
#[inline(always)]
unsafe fn choose<V: Lane, const M: u32>(
    (mask, yes, no): (*const u8, *const V::Elem, *const V::Elem),
    (same_yes, same_no): (V, V),
    i: usize,
    len: usize,
) -> V {
    // SAFETY: for all of this function: from `i` on, `len` bytes of the mask and as many elements of each
    // source that is not one for all are readable, no more than a vector has.
    unsafe {
        let mask = V::mask_from_bytes(mask.add(i), len);
        let y = if M & 2 == 0 { V::load_some(yes.add(i), len) } else { same_yes };
        let n = if M & 4 == 0 { V::load_some(no.add(i), len) } else { same_no };
        V::select(mask, y, n)
    }
}

#[inline(always)]
unsafe fn choose_all<V: Lane, const M: u32>(
    dst: *mut V::Elem,
    src: (*const u8, *const V::Elem, *const V::Elem),
    len: usize,
) {
    // SAFETY: for all of this function: `Kernel::run`'s contract; `i + …` stays at or below `len`.
    unsafe {
        let same = (V::splat(*src.1), V::splat(*src.2));
        let n = V::LEN;
        let mut i = 0;
        while i + 4 * n <= len {
            let a = choose::<V, M>(src, same, i, n);
            let b = choose::<V, M>(src, same, i + n, n);
            let c = choose::<V, M>(src, same, i + 2 * n, n);
            let d = choose::<V, M>(src, same, i + 3 * n, n);
            let to = dst.add(i);
            a.store(to);
            b.store(to.add(n));
            c.store(to.add(2 * n));
            d.store(to.add(3 * n));
            i += 4 * n;
        }
        while i < len {
            let part = n.min(len - i);
            choose::<V, M>(src, same, i, part).store_some(dst.add(i), part);
            i += part;
        }
    }
}

impl<V: Lane> Kernel for LaneChoose<V> {
    type Fn = StepFn;

    const AROUND: Option<Around> = choice::<V::Elem>();
    const OWN: u32 = ALL_SAME;

    #[inline(always)]
    unsafe fn run(dst: *mut u8, [mask, yes, no]: [*const u8; 3], flags: u32, len: usize) {
        let (to, src) = (dst.cast(), (mask, yes.cast(), no.cast()));
        // SAFETY: for all of this function: the mask's bytes and the elements of both sources are readable,
        // `len` of each or one where the flag says so, and as many results writable; `M` is the flags.
        unsafe {
            match flags & ALL_SAME {
                0 => choose_all::<V, 0>(to, src, len),
                2 => choose_all::<V, 2>(to, src, len),
                4 => choose_all::<V, 4>(to, src, len),
                6 => choose_all::<V, 6>(to, src, len),
                // One condition chooses one of the operands for all.
                which => {
                    let (from, same) = if *mask == 0 { (no, which >> 2) } else { (yes, which >> 1 & 1) };
                    LaneMap::<V, Itself, 1>::run(dst, [from; 3], same, len);
                }
            }
        }
    }
}

/// Hands elements on.
struct Itself;
impl LaneFn<1> for Itself {
    #[inline(always)]
    fn f<V: Float>([x]: [V; 1]) -> V {
        x
    }
}

/// [`LaneChoose`] for `float32` and `float64`.
pub(crate) struct LaneChooses;
impl WideKernel for LaneChooses {
    type Fn = StepFn;

    type At<V: Lane<Elem = T>, T: Float> = LaneChoose<V>;
}

/// Bytes of copies for which a loop over vectors takes no longer than the C library's `memcpy` where that takes an instruction
/// for whole strings: from 2 KiB on 0.5 to 0.6 of the time, until the first cache no longer has both sides.
const BY_VECTORS: RangeInclusive<usize> = 1 << 10..=8 << 10;

/// Copies bytes by vectors.
///
/// # Safety
/// As many are readable and writable, a vector's at least; the ranges are disjoint.
#[inline(always)]
unsafe fn copy_by_vectors<V: Lane<Elem = f32>>(dst: *mut u8, src: *const u8, bytes: usize) {
    const AT_ONCE: usize = 4;
    let vector = V::LEN * size_of::<f32>();
    let mut at = 0;
    // SAFETY: for all of this function: `bytes` bytes, a vector's at least, are readable and writable, and
    // the ranges are disjoint; whole vectors end at or below `bytes`. The last one takes some bytes once
    // more.
    unsafe {
        let move_one = |at: usize| V::load(src.add(at).cast()).store(dst.add(at).cast());
        while at + AT_ONCE * vector <= bytes {
            (0..AT_ONCE).for_each(|k| move_one(at + k * vector));
            at += AT_ONCE * vector;
        }
        while at < bytes {
            move_one(at.min(bytes - vector));
            at += vector;
        }
    }
}

/// [`Move`] for every level.
pub(crate) struct Moves<T>(PhantomData<T>);
impl<T: Copy> LevelKernel for Moves<T> {
    type At<L: Level> = Move<L, T>;
}

/// Copies elements of one size, or repeats one.
pub(crate) struct Move<L, T>(PhantomData<(L, T)>);
impl<L: Level, T: Copy> Kernel for Move<L, T> {
    type Fn = StepFn;

    #[inline(always)]
    unsafe fn run(dst: *mut u8, [src, ..]: [*const u8; 3], flags: u32, len: usize) {
        let (dst, src) = (dst.cast::<T>(), src.cast::<T>());
        // SAFETY: for all of this function: `Kernel::run`'s contract, by which a source that is not the target is apart from it;
        // `i` is below `len`.
        unsafe {
            if flags & 1 == 1 {
                let value = *src;
                for i in 0..len {
                    *dst.add(i) = value;
                }
            } else if !std::ptr::eq(dst, src) {
                let bytes = len * size_of::<T>();
                match flags & STREAM {
                    0 if cfg!(target_arch = "x86_64") && BY_VECTORS.contains(&bytes) => {
                        copy_by_vectors::<L::F32>(dst.cast(), src.cast(), bytes)
                    }
                    0 => std::ptr::copy_nonoverlapping(src, dst, len),
                    _ => stream::copy(dst.cast(), src.cast(), bytes),
                }
            }
        }
    }
}
