//! Moving elements between strided memory and tiles.
//!
//! ```text
//! memory, of stride 3:   a · · b · · c · · d        gather ──►   tile:   a b c d
//!                                               ◄── scatter
//! ```
//! `gather` and `scatter` move one run; `gather_rows` and `scatter_rows` move elements that follow each other
//! in row-major order, from any multi-index on ([`Walk`]); `number` and `number_rows` write the values of
//! inputs that are indices. Elements are moved as bits, by their size and at any alignment: no dtype is known
//! here.
//!
//! The contract: elements are readable, there is room for them, and both are disjoint. No byte before the
//! first element or behind the last one is read, as memory may end there; a test puts a guarded page behind
//! it. One load for each element is the limit, so what is common is done otherwise: reverse and every other
//! element by shuffles of vectors (`every`), rows of a few elements by functions of a fixed length
//! (`short_rows`), rows that come again by a copy of the first one. For columns of a matrix see
//! [`transpose`](super::transpose). Another such case may be added where it is measured to pay.

use std::marker::PhantomData;

use stridewise_core::ops::Float;
use stridewise_core::{Dtype, backend::MAX_PLAN_DIMS};

use super::read::{Read, Seconds};
use crate::kernels::entry::{Kernel, WideKernel, contract, entry, wide_entry};
use crate::simd::{Isa, Lane};

/// A place in an iteration space, and how an operand lies there.
pub(crate) struct Walk<'a> {
    /// Extents, outermost first; at least one.
    pub(crate) dims: &'a [usize],
    /// Bytes per step along each.
    pub(crate) strides: &'a [isize],
    /// The multi-index to begin at.
    pub(crate) index: &'a [usize],
}

/// Runs `$body` with `$T` bound to a type of the element's size without alignment.
macro_rules! with_size {
    ($size:expr, $T:ident => $body:expr) => {
        match $size {
            1 => {
                type $T = u8;
                $body
            }
            2 => {
                type $T = u16;
                $body
            }
            4 => {
                type $T = u32;
                $body
            }
            8 => {
                type $T = u64;
                $body
            }
            _ => {
                type $T = u128;
                $body
            }
        }
    };
}

pub(crate) use with_size;

/// Gathers `len` elements `stride` bytes apart.
///
/// # Safety
/// - The processor has the instruction set.
/// - The elements, of `size` bytes (1, 2, 4, 8 or 16) at any alignment, are readable. What lies between them is memory, which others
///   may write.
/// - `dst` has room for `len` elements, overlaps none of them, and nothing else accesses it.
pub(crate) unsafe fn gather(isa: Isa, dst: *mut u8, src: *const u8, stride: isize, size: usize, len: usize) {
    with_size!(size, T => {
        // SAFETY: the contract of this function; `T` has the size of the elements.
        unsafe { gather_run::<T>(isa, dst.cast(), src, stride, len) }
    });
}

/// Scatters `len` elements `stride` bytes apart.
///
/// # Safety
/// - `len` elements of `size` bytes (1, 2, 4, 8 or 16) are readable at `src`, one after another, at any alignment.
/// - The addresses from `dst` on, `stride` bytes apart, are writable for as many, disjoint from those at `src`, and nothing else
///   accesses them.
pub(crate) unsafe fn scatter(dst: *mut u8, src: *const u8, stride: isize, size: usize, len: usize) {
    with_size!(size, T => {
        // SAFETY: the contract of this function; `T` has the size of the elements.
        unsafe { scatter_run::<T>(dst, src.cast(), stride, len) }
    });
}

#[inline(always)]
unsafe fn gather_run<T: Copy>(isa: Isa, dst: *mut T, src: *const u8, stride: isize, len: usize) {
    // SAFETY: for all of this function: `len` elements, `stride` bytes apart, are readable, and `dst` has
    // room for as many and overlaps none; all of it at any alignment. Address arithmetic stays among these
    // elements; the functions of `every` read no other ones but between them.
    unsafe {
        if stride == size_of::<T>().cast_signed() && len >= CALLED {
            std::ptr::copy_nonoverlapping(src, dst.cast::<u8>(), len * size_of::<T>());
            return;
        }
        if len >= CALLED
            && let Some(run) = every(isa, size_of::<T>(), stride)
        {
            return run.call(dst.cast(), src, len);
        }
        if stride == 0 && len > 0 {
            let same = src.cast::<T>().read_unaligned();
            (0..len).for_each(|i| dst.add(i).write_unaligned(same));
            return;
        }
        for i in 0..len {
            let from = src.wrapping_offset(i.cast_signed() * stride).cast::<T>();
            dst.add(i).write_unaligned(from.read_unaligned());
        }
    }
}

/// Elements from which on those that are a known step apart are moved by a call of a function for it: of fewer, each length has
/// loops of its own ([`short_rows`]).
pub(crate) const CALLED: usize = 16;

contract! {
    /// Gathers `len` elements that are as far apart as the kernel is for.
    ///
    /// - The elements are readable from `from` on, at any alignment; what lies between them is memory, which others may write.
    /// - There is room for as many at `to`, apart from them, and nothing else accesses it.
    MoveFn(to: *mut u8, from: *const u8, len: usize) = to, [from, from, from], 0, len
}

contract! {
    /// Writes each of `len` elements as often as the kernel is for.
    ///
    /// - `len` elements are readable at `from`, at any alignment.
    /// - There is room for each so many times at `to`, apart from them, and nothing else accesses it.
    RepeatFn(to: *mut u8, from: *const u8, len: usize) = to, [from, from, from], 0, len
}

/// The function that gathers elements of a size, so many bytes apart, by shuffles of whole vectors: views in reverse, and every
/// other element, as the parts of complex numbers are.
fn every(isa: Isa, size: usize, stride: isize) -> Option<MoveFn> {
    // Shuffles of small elements are slower in the widest vectors, as compilers write them.
    let small = isa.min(Isa::Avx2);
    let step = (stride % size.cast_signed() == 0).then_some(stride / size.cast_signed());
    match (step?, size) {
        (-1, 1) => Some(entry::<Apart<u8, -1>>(isa)),
        (-1, 2) => Some(entry::<Apart<u16, -1>>(isa)),
        (-1, 4) => Some(entry::<Apart<u32, -1>>(isa)),
        (-1, 8) => Some(entry::<Apart<u64, -1>>(isa)),
        (2, 1) => Some(entry::<Apart<u8, 2>>(small)),
        (2, 2) => Some(entry::<Apart<u16, 2>>(small)),
        (2, 4) => wide_entry::<EveryOther>(isa, Dtype::F32),
        (2, 8) => wide_entry::<EveryOther>(isa, Dtype::F64),
        _ => None,
    }
}

/// Gathers elements of which each is so many further, at any alignment.
struct Apart<T, const STEP: isize>(PhantomData<T>);
impl<T: Copy, const STEP: isize> Kernel for Apart<T, STEP> {
    type Fn = MoveFn;

    #[inline(always)]
    unsafe fn run(dst: *mut u8, [src, ..]: [*const u8; 3], _: u32, len: usize) {
        let (dst, src) = (dst.cast::<T>(), src.cast::<T>());
        for i in 0..len {
            // SAFETY: `gather_run` calls it by the contract of `gather`: element `i` is readable, and there
            // is room for it.
            unsafe {
                dst.add(i).write_unaligned(src.wrapping_offset(i.cast_signed() * STEP).read_unaligned());
            }
        }
    }
}

/// Gathers every other element, of any dtype of the lanes' size, as only bits are moved.
struct EveryOther;
impl WideKernel for EveryOther {
    type Fn = MoveFn;

    type At<V: Lane<Elem = T>, T: Float> = Evens<V>;
}
struct Evens<V>(PhantomData<V>);
impl<V: Lane> Kernel for Evens<V> {
    type Fn = MoveFn;

    #[inline(always)]
    unsafe fn run(dst: *mut u8, [src, ..]: [*const u8; 3], _: u32, len: usize) {
        let (to, from) = (dst.cast::<V::Elem>(), [src.cast::<V::Elem>(); 2]);
        let mut i = 0;
        // SAFETY: `gather_run` calls it by the contract of `gather`: a vector is read whole only where
        // another element follows, so that what lies behind its last element is between two.
        unsafe {
            while i + V::LEN < len {
                <Seconds as Read<V>>::vector(from, i).store(to.add(i));
                i += V::LEN;
            }
            if i < len {
                <Seconds as Read<V>>::part(from, i, len - i).store_some(to.add(i), len - i);
            }
        }
    }
}

#[inline(always)]
unsafe fn scatter_run<T: Copy>(dst: *mut u8, src: *const T, stride: isize, len: usize) {
    // SAFETY: for all of this function: `len` elements are readable at `src`, and the addresses that are
    // `stride` bytes apart from `dst` on are writable and disjoint from them.
    unsafe {
        if stride == size_of::<T>().cast_signed() && len >= CALLED {
            std::ptr::copy_nonoverlapping(src.cast::<u8>(), dst, len * size_of::<T>());
            return;
        }
        for i in 0..len {
            let to = dst.wrapping_offset(i.cast_signed() * stride).cast::<T>();
            to.write_unaligned(src.add(i).read_unaligned());
        }
    }
}

/// Calls `run(address, offset, length)` for each stretch of the innermost dimension among the `len` elements that
/// follow `walk.index` in row-major order; `at` is the address of the element there.
#[inline(always)]
fn runs(at: *mut u8, walk: &Walk<'_>, len: usize, mut run: impl FnMut(*mut u8, usize, usize)) {
    let inner = walk.dims.len() - 1;
    let (extent, stride) = (walk.dims[inner], walk.strides[inner]);
    let mut index = [0; MAX_PLAN_DIMS];
    index[..=inner].copy_from_slice(walk.index);
    // The address at the start of the row.
    let mut row = at.wrapping_offset(-(index[inner].cast_signed() * stride));
    let mut column = index[inner];
    let mut done = 0;
    while done < len {
        let stretch = (extent - column).min(len - done);
        run(row.wrapping_offset(column.cast_signed() * stride), done, stretch);
        done += stretch;
        column = 0;
        for d in (0..inner).rev() {
            row = row.wrapping_offset(walk.strides[d]);
            index[d] += 1;
            if index[d] < walk.dims[d] {
                break;
            }
            row = row.wrapping_offset(-(walk.dims[d].cast_signed() * walk.strides[d]));
            index[d] = 0;
        }
    }
}

/// Calls `run(address, offset, rows, length)` for stretches of the innermost dimension as [`runs`] does, but once for all whole
/// rows that follow each other along the dimension before it.
#[inline(always)]
fn planes(at: *mut u8, walk: &Walk<'_>, len: usize, mut run: impl FnMut(*mut u8, usize, usize, usize)) {
    let inner = walk.dims.len() - 1;
    let (extent, stride) = (walk.dims[inner], walk.strides[inner]);
    let height = walk.dims[inner - 1];
    let mut index = [0; MAX_PLAN_DIMS];
    index[..=inner].copy_from_slice(walk.index);
    // The address at the start of the row.
    let mut row = at.wrapping_offset(-(index[inner].cast_signed() * stride));
    let mut column = index[inner];
    let mut done = 0;
    while done < len {
        let whole = if column == 0 { (height - index[inner - 1]).min((len - done) / extent) } else { 0 };
        let rows = whole.max(1);
        let stretch = if whole > 0 { extent } else { (extent - column).min(len - done) };
        run(row.wrapping_offset(column.cast_signed() * stride), done, rows, stretch);
        done += rows * stretch;
        column = 0;
        let mut steps = rows;
        for d in (0..inner).rev() {
            row = row.wrapping_offset(walk.strides[d] * steps.cast_signed());
            index[d] += steps;
            if index[d] < walk.dims[d] {
                break;
            }
            row = row.wrapping_offset(-(walk.dims[d].cast_signed() * walk.strides[d]));
            (index[d], steps) = (0, 1);
        }
    }
}

/// Writes `len` numbers, `first` and on in steps.
///
/// # Safety
/// There is room for them at `dst`, aligned.
pub(crate) unsafe fn number(dst: *mut i64, first: isize, step: isize, len: usize) {
    let mut value = first as i64;
    for i in 0..len {
        // SAFETY: there is room for `len` numbers at `dst`, aligned; `i` is below `len`.
        unsafe { *dst.add(i) = value };
        value = value.wrapping_add(step as i64);
    }
}

/// Writes the numbers of the `len` places that follow `walk.index` in row-major order: `first`, and what it grows by
/// along the walk's strides.
///
/// # Safety
/// As for [`number`].
pub(crate) unsafe fn number_rows(dst: *mut i64, first: isize, walk: &Walk<'_>, len: usize) {
    let step = walk.strides[walk.dims.len() - 1];
    // The arithmetic of addresses is that of numbers.
    let at = std::ptr::without_provenance_mut(first.cast_unsigned());
    runs(at, walk, len, |value, offset, stretch| {
        // SAFETY: there is room for `len` numbers, aligned; a stretch is part of these.
        unsafe { number(dst.add(offset), value.addr().cast_signed(), step, stretch) }
    });
}

/// Gathers the `len` elements that follow `walk.index` in row-major order; `src` is the address of the first.
///
/// # Safety
/// - The processor has the instruction set.
/// - The walk has at least `len` elements from its index on; they are readable, of `size` bytes, and `src` is the first one's address.
/// - `dst` has room for `len` elements, overlaps none of them, and nothing else accesses it.
pub(crate) unsafe fn gather_rows(
    isa: Isa,
    dst: *mut u8,
    src: *const u8,
    walk: &Walk<'_>,
    size: usize,
    len: usize,
) {
    let inner = walk.dims.len() - 1;
    let (row, stride) = (walk.dims[inner], walk.strides[inner]);
    let again = len > row && walk.strides[..inner].iter().all(|&step| step == 0);
    if !again && inner > 0 && row < CALLED {
        let pitch = walk.strides[inner - 1];
        with_size!(size, T => planes(src.cast_mut(), walk, len, |from, offset, rows, stretch| {
            let dst = dst.cast::<T>();
            // SAFETY: the elements of the walk are readable, and there is room for all at `dst`; several rows
            // are whole ones, one after another along the dimension before.
            unsafe {
                match rows {
                    1 => gather_run::<T>(isa, dst.add(offset), from, stride, stretch),
                    _ => short_rows::<T>(isa, dst.add(offset), from, (row, stride), (rows, pitch)),
                }
            }
        }));
        return;
    }
    let once = if again { row } else { len };
    with_size!(size, T => runs(src.cast_mut(), walk, once, |from, offset, stretch| {
        // SAFETY: the elements of the walk are readable, and there is room for all at `dst`; a stretch is
        // part of the `len` elements.
        unsafe { gather_run::<T>(isa, dst.cast::<T>().add(offset), from, stride, stretch) }
    }));
    // A row that is the same again and again is gathered once; what is there is copied behind itself.
    let mut done = once;
    while done < len {
        let more = done.min(len - done);
        // SAFETY: there is room for `len` elements at `dst`, of which `done` are there; what is copied does
        // not reach behind these.
        unsafe { std::ptr::copy_nonoverlapping(dst, dst.add(done * size), more * size) };
        done += more;
    }
}

/// Gathers rows of fewer than [`CALLED`] elements of a size, one after another; see [`short_rows`].
///
/// # Safety
/// - The processor has the instruction set.
/// - The elements of all rows are readable, of `size` bytes; `row` is fewer than [`CALLED`] of them.
/// - `dst` has room for all of them, overlaps none of them, and nothing else accesses it.
pub(crate) unsafe fn gather_short(
    isa: Isa,
    dst: *mut u8,
    src: *const u8,
    size: usize,
    row: (usize, isize),
    rows: (usize, isize),
) {
    with_size!(size, T => {
        // SAFETY: the contract of this function; `T` has the size of the elements.
        unsafe { short_rows::<T>(isa, dst.cast(), src, row, rows) }
    });
}

/// Gathers rows of fewer than [`CALLED`] elements: of each dimension the extent, and the bytes from one to the next. A row takes
/// as long as its loads and stores; of an unknown length, several times as long.
///
/// # Safety
/// As for [`gather`].
#[inline(always)]
unsafe fn short_rows<T: Copy>(
    isa: Isa,
    dst: *mut T,
    src: *const u8,
    (extent, along): (usize, isize),
    (rows, pitch): (usize, isize),
) {
    if along == 0
        && pitch == size_of::<T>().cast_signed()
        && let Some(run) = repeated::<T>(isa, extent)
    {
        // SAFETY: the elements are neighbours, `rows` of them, and there is room for each of them as often as
        // a row is long.
        return unsafe { run.call(dst.cast(), src, rows) };
    }
    macro_rules! lengths {
        ($($len:literal)*) => {
            // SAFETY: the elements of `rows` rows are readable, and there is room for all at `dst`; the
            // length is the extent.
            unsafe {
                match extent {
                    $($len => rows_of::<T, $len>(dst, src, along, rows, pitch),)*
                    _ => {}
                }
            }
        };
    }
    lengths!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
}

/// The function that writes each element so many times, one after another: where that is by shuffles of vectors.
fn repeated<T: Copy>(isa: Isa, times: usize) -> Option<RepeatFn> {
    Some(match times {
        2 => entry::<Repeated<T, 2>>(isa),
        3 => entry::<Repeated<T, 3>>(isa),
        4 => entry::<Repeated<T, 4>>(isa),
        8 => entry::<Repeated<T, 8>>(isa),
        _ => return None,
    })
}

/// Writes each of `len` elements so many times, at any alignment.
struct Repeated<T, const TIMES: usize>(PhantomData<T>);
impl<T: Copy, const TIMES: usize> Kernel for Repeated<T, TIMES> {
    type Fn = RepeatFn;

    #[inline(always)]
    unsafe fn run(dst: *mut u8, [src, ..]: [*const u8; 3], _: u32, len: usize) {
        let (dst, src) = (dst.cast::<[T; TIMES]>(), src.cast::<T>());
        for i in 0..len {
            // SAFETY: `short_rows` calls it with `len` elements and room for each so many times; `i` is below
            // `len`.
            unsafe { dst.add(i).write_unaligned([src.add(i).read_unaligned(); TIMES]) };
        }
    }
}

/// [`short_rows`] of a length.
///
/// # Safety
/// As for [`gather`].
#[inline(always)]
unsafe fn rows_of<T: Copy, const N: usize>(
    dst: *mut T,
    src: *const u8,
    along: isize,
    rows: usize,
    pitch: isize,
) {
    for row in 0..rows {
        let src = src.wrapping_offset(pitch * row.cast_signed());
        // SAFETY: for all of this block: row `row` has `N` readable elements, and there is room for those of
        // all rows at `dst`.
        unsafe {
            let elements: [T; N] = std::array::from_fn(|i| {
                src.wrapping_offset(along * i.cast_signed()).cast::<T>().read_unaligned()
            });
            dst.add(row * N).cast::<[T; N]>().write_unaligned(elements);
        }
    }
}

/// Scatters the `len` elements at `src`; the inverse of [`gather_rows`].
///
/// # Safety
/// As for [`scatter`].
pub(crate) unsafe fn scatter_rows(dst: *mut u8, src: *const u8, walk: &Walk<'_>, size: usize, len: usize) {
    let stride = walk.strides[walk.dims.len() - 1];
    with_size!(size, T => runs(dst, walk, len, |to, offset, stretch| {
        // SAFETY: the addresses of the walk are writable and disjoint from the `len` elements at `src`; a
        // stretch is part of these.
        unsafe { scatter_run::<T>(to, src.cast::<T>().add(offset), stride, stretch) }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_every_step_and_length() {
        let lengths = (0..70_usize).chain([127, 128, 129, 1000]);
        for (len, size) in lengths.flat_map(|len| [1, 2, 4, 8, 16].map(|size: isize| (len, size))) {
            for stride in [size, -size, 2 * size, -2 * size, 3 * size, size + 1, 0] {
                let bytes = size.unsigned_abs();
                // No byte more than the elements take, so that one read beyond them is one that tools see.
                let reach = if len == 0 { 0 } else { (len - 1) * stride.unsigned_abs() + bytes };
                // At any alignment.
                let lead = len % 3;
                let memory: Vec<u8> = (0..lead + reach).map(|i| (i * 131 % 251) as u8).collect();
                let start = lead + if stride < 0 { reach.saturating_sub(bytes) } else { 0 };
                for &isa in Isa::available() {
                    let mut tile = vec![0xee_u8; len * bytes + 1];
                    let src = memory.as_ptr().wrapping_add(start);
                    // SAFETY: the memory has the elements, and the tile room for them.
                    unsafe { gather(isa, tile.as_mut_ptr(), src, stride, bytes, len) };
                    for i in 0..len {
                        let from = start.wrapping_add_signed(i.cast_signed() * stride);
                        let at = i * bytes;
                        assert_eq!(
                            tile[at..at + bytes],
                            memory[from..from + bytes],
                            "{isa:?} {size} {stride} {i}"
                        );
                    }
                    assert_eq!(tile[len * bytes], 0xee, "{isa:?} {size} {stride} {len}");
                }
            }
        }
    }

    #[cfg(unix)]
    #[test]
    fn every_other_element_is_all_that_is_read() {
        // Behind the last element, memory that cannot be read begins.
        let page = crate::memory::page_bytes();
        let memory = crate::memory::map(2 * page, page, true).unwrap();
        let end = memory.as_ptr().wrapping_add(page);
        // SAFETY: the second page of what was just mapped, which nothing uses.
        assert_eq!(unsafe { libc::mprotect(end.cast(), page, libc::PROT_NONE) }, 0);
        for &isa in Isa::available() {
            for (size, len) in [4, 8].into_iter().flat_map(|size| (1..100).map(move |len| (size, len))) {
                let bytes = (2 * len - 1) * size;
                let src = end.wrapping_sub(bytes);
                let mut found = vec![0_u8; len * size];
                // SAFETY: `bytes` lie before the end; the vector has room for the elements.
                let expected: Vec<u8> = unsafe {
                    let all = std::slice::from_raw_parts_mut(src, bytes);
                    all.iter_mut().enumerate().for_each(|(i, byte)| *byte = (i * 37 % 251) as u8);
                    gather(isa, found.as_mut_ptr(), src, 2 * size.cast_signed(), size, len);
                    all.chunks(size).step_by(2).flatten().copied().collect()
                };
                assert_eq!(found, expected, "{} {size} {len}", isa.name());
            }
        }
        // SAFETY: mapped above, and not used any more.
        unsafe { crate::memory::unmap(memory, 2 * page) };
    }
}
