//! Gathering rows of an operand whose neighbours in memory are in neighbouring rows, as those of a transposed matrix are.

use std::ops::Range;

use crate::kernels::stream::{self, LINE_BYTES};

/// Gathers `rows` rows of `len` elements: neighbours in a row are `along` bytes apart, rows one element. The rows at `dst`
/// are `pitch` bytes apart.
///
/// Squares are turned in registers, those beside each other in memory first: each line is read once, and few lines that
/// compete for one place in the cache (as all do whose distance is a power of two) are in use at a time.
///
/// # Safety
/// - For each element `i < len` of each row `r < rows`, `size` bytes (1, 2, 4, 8 or 16) are readable at `src + i·along + r·size`.
/// - At `dst`, `rows` rows of `len` elements are writable, `pitch` bytes apart, which is no less than a row has.
/// - They do not overlap, and nothing else accesses them in conflict.
pub(crate) unsafe fn gather_panel(
    dst: *mut u8,
    pitch: usize,
    src: *const u8,
    along: isize,
    size: usize,
    rows: usize,
    len: usize,
) {
    let to = Panel { dst, pitch, src, along, rows, len };
    // SAFETY: the contract of this function; `turn` is for squares of elements of the size, and gathers as
    // many rows as it says.
    unsafe {
        match size {
            1 => to.gather::<u8, 8>(square::turn_1),
            2 => to.gather::<u16, 8>(square::turn_2),
            4 => to.gather::<u32, 4>(square::turn_4),
            8 => to.gather::<u64, 2>(square::turn_8),
            _ => to.gather::<u128, 1>(one::<u128>),
        }
    }
}

/// Has elements of a panel's rows, which take `bytes` bytes next to each other, fetched into the second-level cache: the first
/// is too small for a panel.
pub(crate) fn fetch_panel(src: *const u8, along: isize, bytes: usize, elements: Range<usize>) {
    for i in elements {
        let from = src.wrapping_offset(i.cast_signed() * along);
        stream::fetch_lines::<2>(from, 0..bytes);
    }
}

struct Panel {
    dst: *mut u8,
    pitch: usize,
    src: *const u8,
    along: isize,
    rows: usize,
    len: usize,
}

/// Elements of a row that are fetched ahead of the one that is read. What lies together is a few lines, too short for the
/// processor to fetch ahead by itself, and without that each of them would be waited for.
const AHEAD: usize = 8;

impl Panel {
    /// # Safety
    /// As for [`gather_panel`]; `turn(dst, pitch, src, along)` gathers `B` rows of `B` elements.
    #[inline(always)]
    unsafe fn gather<T: Copy, const B: usize>(&self, turn: unsafe fn(*mut u8, usize, *const u8, isize)) {
        let size = size_of::<T>();
        let to = |r: usize, i: usize| self.dst.wrapping_add(r * self.pitch + i * size);
        let from = |r: usize, i: usize| {
            self.src.wrapping_offset(i.cast_signed() * self.along).wrapping_add(r * size)
        };
        let whole = self.rows - self.rows % B;
        let mut i = 0;
        // SAFETY: for all of this function: the elements are readable, and `dst` has room for the rows; rows
        // and elements of each square are below their numbers. What is only fetched may be any address.
        unsafe {
            while i + B <= self.len {
                for i in i + AHEAD..i + AHEAD + B {
                    (0..self.rows).step_by(LINE_BYTES / size).for_each(|r| stream::fetch::<1>(from(r, i)));
                }
                let mut r = 0;
                while r < whole {
                    turn(to(r, i), self.pitch, from(r, i), self.along);
                    r += B;
                }
                for r in whole..self.rows {
                    for i in i..i + B {
                        one::<T>(to(r, i), self.pitch, from(r, i), self.along);
                    }
                }
                i += B;
            }
            for i in i..self.len {
                for r in 0..self.rows {
                    one::<T>(to(r, i), self.pitch, from(r, i), self.along);
                }
            }
        }
    }
}

/// Moves one element.
///
/// # Safety
/// It is readable at `src` and there is room for it at `dst`.
#[inline(always)]
unsafe fn one<T: Copy>(dst: *mut u8, _: usize, src: *const u8, _: isize) {
    // SAFETY: the element is readable at `src`, and there is room for it at `dst`.
    unsafe { dst.cast::<T>().write_unaligned(src.cast::<T>().read_unaligned()) }
}

/// Squares in the vectors that every processor of the target has.
#[cfg(target_arch = "x86_64")]
mod square {
    use std::arch::x86_64::{
        __m128i, _mm_loadl_epi64, _mm_loadu_si128, _mm_storel_epi64, _mm_storeu_si128, _mm_unpackhi_epi16,
        _mm_unpackhi_epi32, _mm_unpackhi_epi64, _mm_unpacklo_epi8, _mm_unpacklo_epi16, _mm_unpacklo_epi32,
        _mm_unpacklo_epi64,
    };

    /// # Safety
    /// Eight rows of eight bytes, as [`gather_panel`](crate::kernels::gather_panel) says.
    #[inline(always)]
    pub(crate) unsafe fn turn_1(dst: *mut u8, pitch: usize, src: *const u8, along: isize) {
        // SAFETY: for all of this function: SSE2 is in every x86-64 processor; eight stretches of eight
        // bytes, `along` bytes apart, are readable, and eight rows of as many, `pitch` bytes apart, writable.
        unsafe {
            let load = |i: isize| _mm_loadl_epi64(src.wrapping_offset(i * along).cast());
            let pair = |i: isize| _mm_unpacklo_epi8(load(i), load(i + 1));
            let (a, b, c, d) = (pair(0), pair(2), pair(4), pair(6));
            let halves = [
                (_mm_unpacklo_epi16(a, b), _mm_unpacklo_epi16(c, d)),
                (_mm_unpackhi_epi16(a, b), _mm_unpackhi_epi16(c, d)),
            ];
            for (h, (low, high)) in halves.into_iter().enumerate() {
                let quarters = [_mm_unpacklo_epi32(low, high), _mm_unpackhi_epi32(low, high)];
                for (q, two) in quarters.into_iter().enumerate() {
                    let to = dst.wrapping_add((4 * h + 2 * q) * pitch);
                    _mm_storel_epi64(to.cast(), two);
                    _mm_storel_epi64(to.wrapping_add(pitch).cast(), _mm_unpackhi_epi64(two, two));
                }
            }
        }
    }

    /// # Safety
    /// Eight rows of eight elements of two bytes.
    #[inline(always)]
    pub(crate) unsafe fn turn_2(dst: *mut u8, pitch: usize, src: *const u8, along: isize) {
        // SAFETY: for all of this function: SSE2 is in every x86-64 processor; eight stretches of eight
        // elements of two bytes are readable, and eight rows of as many writable.
        unsafe {
            let load = |i: isize| _mm_loadu_si128(src.wrapping_offset(i * along).cast());
            let pair = |i: isize| {
                let (a, b) = (load(i), load(i + 1));
                [_mm_unpacklo_epi16(a, b), _mm_unpackhi_epi16(a, b)]
            };
            let (a, b, c, d) = (pair(0), pair(2), pair(4), pair(6));
            for h in 0..2 {
                let low = [_mm_unpacklo_epi32(a[h], b[h]), _mm_unpackhi_epi32(a[h], b[h])];
                let high = [_mm_unpacklo_epi32(c[h], d[h]), _mm_unpackhi_epi32(c[h], d[h])];
                for q in 0..2 {
                    let to = dst.wrapping_add((4 * h + 2 * q) * pitch);
                    _mm_storeu_si128(to.cast(), _mm_unpacklo_epi64(low[q], high[q]));
                    let to = to.wrapping_add(pitch);
                    _mm_storeu_si128(to.cast(), _mm_unpackhi_epi64(low[q], high[q]));
                }
            }
        }
    }

    /// # Safety
    /// Four rows of four elements of four bytes.
    #[inline(always)]
    pub(crate) unsafe fn turn_4(dst: *mut u8, pitch: usize, src: *const u8, along: isize) {
        // SAFETY: for all of this function: SSE2 is in every x86-64 processor; four stretches of four
        // elements of four bytes are readable, and four rows of as many writable.
        unsafe {
            let load = |i: isize| _mm_loadu_si128(src.wrapping_offset(i * along).cast());
            let pair = |i: isize| {
                let (a, b) = (load(i), load(i + 1));
                [_mm_unpacklo_epi32(a, b), _mm_unpackhi_epi32(a, b)]
            };
            let (low, high) = (pair(0), pair(2));
            for h in 0..2 {
                let to = dst.wrapping_add(2 * h * pitch);
                _mm_storeu_si128(to.cast(), _mm_unpacklo_epi64(low[h], high[h]));
                let to = to.wrapping_add(pitch);
                _mm_storeu_si128(to.cast(), _mm_unpackhi_epi64(low[h], high[h]));
            }
        }
    }

    /// # Safety
    /// Two rows of two elements of eight bytes.
    #[inline(always)]
    pub(crate) unsafe fn turn_8(dst: *mut u8, pitch: usize, src: *const u8, along: isize) {
        // SAFETY: for all of this function: SSE2 is in every x86-64 processor; two stretches of two elements
        // of eight bytes are readable, and two rows of as many writable.
        unsafe {
            let a: __m128i = _mm_loadu_si128(src.cast());
            let b = _mm_loadu_si128(src.wrapping_offset(along).cast());
            _mm_storeu_si128(dst.cast(), _mm_unpacklo_epi64(a, b));
            _mm_storeu_si128(dst.wrapping_add(pitch).cast(), _mm_unpackhi_epi64(a, b));
        }
    }
}

/// Squares element by element.
#[cfg(not(target_arch = "x86_64"))]
mod square {
    #[inline(always)]
    unsafe fn turn<T: Copy, const B: usize>(dst: *mut u8, pitch: usize, src: *const u8, along: isize) {
        for i in 0..B {
            for r in 0..B {
                let from = src.wrapping_offset(i.cast_signed() * along).wrapping_add(r * size_of::<T>());
                let to = dst.wrapping_add(r * pitch + i * size_of::<T>());
                // SAFETY: there are `B` rows of `B` elements at either side; `i` and `r` are below `B`.
                unsafe { super::one::<T>(to, pitch, from, along) };
            }
        }
    }
    /// # Safety
    /// Eight rows of eight bytes, as [`gather_panel`](crate::kernels::gather_panel) says.
    pub(crate) unsafe fn turn_1(dst: *mut u8, pitch: usize, src: *const u8, along: isize) {
        // SAFETY: eight rows of eight bytes are what `turn` is asked for.
        unsafe { turn::<u8, 8>(dst, pitch, src, along) }
    }
    /// # Safety
    /// Eight rows of eight elements of two bytes.
    pub(crate) unsafe fn turn_2(dst: *mut u8, pitch: usize, src: *const u8, along: isize) {
        // SAFETY: eight rows of eight elements of two bytes are what `turn` is asked for.
        unsafe { turn::<u16, 8>(dst, pitch, src, along) }
    }
    /// # Safety
    /// Four rows of four elements of four bytes.
    pub(crate) unsafe fn turn_4(dst: *mut u8, pitch: usize, src: *const u8, along: isize) {
        // SAFETY: four rows of four elements of four bytes are what `turn` is asked for.
        unsafe { turn::<u32, 4>(dst, pitch, src, along) }
    }
    /// # Safety
    /// Two rows of two elements of eight bytes.
    pub(crate) unsafe fn turn_8(dst: *mut u8, pitch: usize, src: *const u8, along: isize) {
        // SAFETY: two rows of two elements of eight bytes are what `turn` is asked for.
        unsafe { turn::<u64, 2>(dst, pitch, src, along) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panels_of_every_size_and_shape() {
        for size in [1, 2, 4, 8, 16] {
            for (rows, len) in [(1, 1), (2, 9), (7, 5), (8, 8), (16, 3), (17, 33), (64, 20)] {
                for back in [false, true] {
                    let (distance, pitch): (usize, usize) = (rows * size + 5, len * size + 3);
                    let memory: Vec<u8> = (0..distance * len).map(|i| (i * 131 % 251) as u8).collect();
                    let along = if back { -distance.cast_signed() } else { distance.cast_signed() };
                    let start: usize = if back { distance * (len - 1) } else { 0 };
                    let mut panel = vec![0xee_u8; pitch * rows];
                    // SAFETY: the memory has `len` stretches of `rows` elements, the panel `rows` rows.
                    unsafe {
                        let src = memory.as_ptr().add(start);
                        gather_panel(panel.as_mut_ptr(), pitch, src, along, size, rows, len);
                    }
                    for r in 0..rows {
                        for i in 0..len {
                            let from = start.wrapping_add_signed(i.cast_signed() * along) + r * size;
                            let to = r * pitch + i * size;
                            assert_eq!(
                                panel[to..to + size],
                                memory[from..from + size],
                                "{size} {rows} {len}"
                            );
                        }
                        assert_eq!(panel[r * pitch + len * size..(r + 1) * pitch], [0xee; 3]);
                    }
                }
            }
        }
    }
}
