//! What goes past the caches, and what is asked for before it is needed.

use std::mem::MaybeUninit;
use std::ops::Range;

use super::entry::StepFn;

/// Bytes of a line of the cache.
pub(super) const LINE_BYTES: usize = 64;

/// Bytes that are stored past the caches from a buffer at a time. So many such stores wait for the memory while the processor
/// reads on; of more, it waits for each.
const BUFFER_BYTES: usize = 512;
/// Elements of a buffer at least: of fewer the calls are what takes the time.
const BUFFER_LEN: usize = 128;

/// Elements of a size that are stored past the caches from a buffer at a time.
pub(super) fn most(size: usize) -> usize {
    (BUFFER_BYTES / size).max(BUFFER_LEN)
}

/// Memory for the most elements of any size.
#[repr(align(64))]
struct Buffer(#[allow(dead_code)] MaybeUninit<[u8; BUFFER_LEN * 16]>);

/// Runs a function that has no stores past the caches, by way of a buffer that is stored so. `sizes`: bytes from one result to
/// the next, and from one element of each source, 0 where it is one for all. A [`fence`] must follow.
///
/// # Safety
/// [`StepFn`]'s contract.
pub(super) unsafe fn by_buffer(
    run: StepFn,
    sizes: [u8; 4],
    dst: *mut u8,
    src: [*const u8; 3],
    flags: u32,
    len: usize,
) {
    let [size, steps @ ..] = sizes.map(usize::from);
    let mut buffer = Buffer(MaybeUninit::uninit());
    let to = (&raw mut buffer).cast::<u8>();
    let most = most(size);
    // Lines are whole from the second part on.
    let mut part = most - dst.addr() % LINE_BYTES / size;
    let mut at = 0;
    while at < len {
        let count = part.min(len - at);
        let from = |k: usize| src[k].wrapping_add(at * steps[k]);
        // SAFETY: the caller's contract, for `count` of its elements from `at` on; the buffer has room for as many, and what is
        // written was read.
        unsafe {
            run(to, from(0), from(1), from(2), flags, count);
            copy(dst.add(at * size), to, count * size);
        }
        at += count;
        part = most;
    }
}

/// Copies bytes past the caches, where the target has such stores. A [`fence`] must follow.
///
/// # Safety
/// `bytes` are readable at `src` and writable at `dst`; the ranges are disjoint.
#[cfg(target_arch = "x86_64")]
pub(super) unsafe fn copy(dst: *mut u8, src: *const u8, bytes: usize) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
    let head = dst.align_offset(LINE_BYTES).min(bytes);
    let body = (bytes - head) / LINE_BYTES * LINE_BYTES;
    // SAFETY: SSE2 is in every x86-64 processor; `head + body` stays at or below `bytes`, and `dst + head` is aligned.
    unsafe {
        std::ptr::copy_nonoverlapping(src, dst, head);
        let (mut to, mut from) = (dst.add(head).cast::<__m128i>(), src.add(head).cast::<__m128i>());
        let end = dst.add(head + body).cast::<__m128i>();
        while to < end {
            let line = [
                _mm_loadu_si128(from),
                _mm_loadu_si128(from.add(1)),
                _mm_loadu_si128(from.add(2)),
                _mm_loadu_si128(from.add(3)),
            ];
            _mm_stream_si128(to, line[0]);
            _mm_stream_si128(to.add(1), line[1]);
            _mm_stream_si128(to.add(2), line[2]);
            _mm_stream_si128(to.add(3), line[3]);
            to = to.add(4);
            from = from.add(4);
        }
        let rest = head + body;
        std::ptr::copy_nonoverlapping(src.add(rest), dst.add(rest), bytes - rest);
    }
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) unsafe fn copy(dst: *mut u8, src: *const u8, bytes: usize) {
    // SAFETY: the caller's contract.
    unsafe { std::ptr::copy_nonoverlapping(src, dst, bytes) }
}

/// Orders streaming stores before whatever tells others that the work is done.
pub(super) fn fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is in every x86-64 processor.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

/// Has a line fetched into the cache of a level, the first or the second, where there is one at the address; not every target
/// can be told to.
#[inline(always)]
pub(super) fn fetch<const LEVEL: u8>(at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is in every x86-64 processor; a fetch ahead from any address is none of the program's accesses.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};
        match LEVEL {
            1 => _mm_prefetch::<_MM_HINT_T0>(at.cast()),
            _ => _mm_prefetch::<_MM_HINT_T1>(at.cast()),
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// Bytes from what a loop reads to what it asks for: as many as two pages have, at whose ends the processor stops asking.
const AHEAD_BYTES: usize = 8 << 10;

/// For a loop that reads from memory and does little: has the lines fetched that are [`AHEAD_BYTES`] behind those which begin in
/// a range of the bytes from an address on. In turns with what reads these: of eight that are asked for at once some are not
/// fetched, and a maximum of 16 Mi elements took a quarter longer.
#[inline(always)]
pub(super) fn fetch_behind(at: *const u8, bytes: Range<usize>) {
    fetch_lines::<1>(at.wrapping_add(AHEAD_BYTES), bytes);
}

/// Has the lines fetched into the cache of a level that begin in a range of the bytes from an address on.
#[inline(always)]
pub(super) fn fetch_lines<const LEVEL: u8>(at: *const u8, bytes: Range<usize>) {
    // Where lines begin, if one begins at the address.
    let lines = (bytes.start.next_multiple_of(LINE_BYTES)..bytes.end).step_by(LINE_BYTES);
    lines.for_each(|line| fetch::<LEVEL>(at.wrapping_add(line)));
}

#[cfg(test)]
mod tests {
    use stridewise_core::{Dtype, Op};

    use super::*;
    use crate::kernels::step::resolve;
    use crate::simd::Isa;

    /// Sums with a value for all, and conversions that widen and narrow, to where no line begins, and of any length.
    #[test]
    fn by_way_of_a_buffer() {
        let one = [1_i8; 1];
        let from: Vec<i8> = (0..2100).map(|i| (i * 7 % 251) as i8).collect();
        for &isa in Isa::available() {
            let add = resolve(Op::Add, Dtype::I8, Dtype::I8, isa).unwrap().run;
            let widen = resolve(Op::Cast, Dtype::I8, Dtype::C128, isa).unwrap().run;
            let narrow = resolve(Op::Cast, Dtype::C128, Dtype::I8, isa).unwrap().run;
            for offset in (0..LINE_BYTES).step_by(7) {
                for len in [0, 1, 2, 63, 64, 65, 448, 449, 511, 512, 513, 1024, 2000] {
                    let source = from[offset..].as_ptr().cast::<u8>();
                    let mut sums = vec![99_i8; offset + len + 1];
                    let mut wide = vec![[99.0_f64; 2]; offset + len + 1];
                    let mut back = sums.clone();
                    // SAFETY: as many elements are there from the offset on, and the processor has the level.
                    unsafe {
                        let [to, again] = [&mut sums, &mut back].map(|v| v.as_mut_ptr().add(offset).cast());
                        let between = wide.as_mut_ptr().add(offset).cast::<u8>();
                        by_buffer(add, [1, 1, 0, 0], to, [source, one.as_ptr().cast(), source], 2, len);
                        by_buffer(widen, [16, 1, 1, 1], between, [source; 3], 0, len);
                        by_buffer(narrow, [1, 16, 16, 16], again, [between; 3], 0, len);
                    }
                    fence();
                    for i in 0..len {
                        let x = from[offset + i];
                        let found = (sums[offset + i], wide[offset + i], back[offset + i]);
                        let expected = (x.wrapping_add(1), [f64::from(x), 0.0], x);
                        assert_eq!(found, expected, "{offset} {len} {i} {}", isa.name());
                    }
                    let (before, behind) = (offset.wrapping_sub(1), offset + len);
                    assert!([sums[behind], back[behind]] == [99; 2] && wide[behind] == [99.0; 2]);
                    assert!(offset == 0 || (sums[before] == 99 && wide[before] == [99.0; 2]));
                }
            }
        }
    }
}
