//! What goes past the caches, and what is asked for before it is needed.

use std::mem::MaybeUninit;
use std::ops::Range;

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
pub(super) struct Buffer(MaybeUninit<[u8; BUFFER_LEN * 16]>);

impl Buffer {
    pub(super) const fn new() -> Self {
        Self(MaybeUninit::uninit())
    }
    pub(super) fn ptr(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
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
    // SAFETY: `bytes` bytes are readable at `src` and writable at `dst`, and the ranges are disjoint.
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
