//! Moving elements between strided memory and tiles.

use stridewise_core::MAX_PLAN_DIMS;

/// A place in an iteration space, and how an operand lies there.
pub(super) struct Walk<'a> {
    /// Extents, outermost first; at least one.
    pub(super) dims: &'a [usize],
    /// Bytes per step along each.
    pub(super) strides: &'a [isize],
    /// The multi-index to begin at.
    pub(super) index: &'a [usize],
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

pub(super) use with_size;

/// Gathers `len` elements `stride` bytes apart.
///
/// # Safety
/// They are readable; `dst` has room for them and overlaps none of them.
pub(super) unsafe fn gather(dst: *mut u8, src: *const u8, stride: isize, size: usize, len: usize) {
    with_size!(size, T => {
        // SAFETY: the caller's contract.
        unsafe { gather_run::<T>(dst.cast(), src, stride, len) }
    });
}

/// Scatters `len` elements `stride` bytes apart.
///
/// # Safety
/// The addresses are writable and disjoint from the `len` elements at `src`.
pub(super) unsafe fn scatter(dst: *mut u8, src: *const u8, stride: isize, size: usize, len: usize) {
    with_size!(size, T => {
        // SAFETY: the caller's contract.
        unsafe { scatter_run::<T>(dst, src.cast(), stride, len) }
    });
}

#[inline(always)]
unsafe fn gather_run<T: Copy>(dst: *mut T, src: *const u8, stride: isize, len: usize) {
    // SAFETY: for all of this function: the caller's contract; address arithmetic stays among its elements.
    unsafe {
        if stride == size_of::<T>().cast_signed() && len >= 16 {
            std::ptr::copy_nonoverlapping(src, dst.cast::<u8>(), len * size_of::<T>());
            return;
        }
        // Steps that the compiler knows become shuffles of whole vectors: views in reverse, every other element, the parts of
        // complex numbers.
        let size = size_of::<T>().cast_signed();
        match stride / size {
            -1 if stride % size == 0 => gather_steps::<T, -1>(dst, src.cast(), len),
            2 if stride % size == 0 => gather_steps::<T, 2>(dst, src.cast(), len),
            _ => {
                for i in 0..len {
                    let from = src.wrapping_offset(i.cast_signed() * stride).cast::<T>();
                    dst.add(i).write_unaligned(from.read_unaligned());
                }
            }
        }
    }
}

/// Gathers `len` elements of which each is so many further.
///
/// # Safety
/// As for [`gather`].
#[inline(always)]
unsafe fn gather_steps<T: Copy, const STEP: isize>(dst: *mut T, src: *const T, len: usize) {
    for i in 0..len {
        // SAFETY: the caller's contract.
        unsafe { dst.add(i).write_unaligned(src.wrapping_offset(i.cast_signed() * STEP).read_unaligned()) };
    }
}

#[inline(always)]
unsafe fn scatter_run<T: Copy>(dst: *mut u8, src: *const T, stride: isize, len: usize) {
    // SAFETY: for all of this function: the caller's contract.
    unsafe {
        if stride == size_of::<T>().cast_signed() && len >= 16 {
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

/// Writes `len` numbers, `first` and on in steps.
///
/// # Safety
/// There is room for them at `dst`, aligned.
pub(super) unsafe fn number(dst: *mut i64, first: isize, step: isize, len: usize) {
    let mut value = first as i64;
    for i in 0..len {
        // SAFETY: the caller's contract.
        unsafe { *dst.add(i) = value };
        value = value.wrapping_add(step as i64);
    }
}

/// Writes the numbers of the `len` places that follow `walk.index` in row-major order: `first`, and what it grows by
/// along the walk's strides.
///
/// # Safety
/// As for [`number`].
pub(super) unsafe fn number_rows(dst: *mut i64, first: isize, walk: &Walk<'_>, len: usize) {
    let step = walk.strides[walk.dims.len() - 1];
    // The arithmetic of addresses is that of numbers.
    let at = std::ptr::without_provenance_mut(first.cast_unsigned());
    runs(at, walk, len, |value, offset, stretch| {
        // SAFETY: the caller's contract; a stretch is part of the `len` numbers.
        unsafe { number(dst.add(offset), value.addr().cast_signed(), step, stretch) }
    });
}

/// Gathers the `len` elements that follow `walk.index` in row-major order; `src` is the address of the first.
///
/// # Safety
/// As for [`gather`].
pub(super) unsafe fn gather_rows(dst: *mut u8, src: *const u8, walk: &Walk<'_>, size: usize, len: usize) {
    let stride = walk.strides[walk.dims.len() - 1];
    with_size!(size, T => runs(src.cast_mut(), walk, len, |from, offset, stretch| {
        // SAFETY: the caller's contract; a stretch is part of the `len` elements.
        unsafe { gather_run::<T>(dst.cast::<T>().add(offset), from, stride, stretch) }
    }));
}

/// Scatters the `len` elements at `src`; the inverse of [`gather_rows`].
///
/// # Safety
/// As for [`scatter`].
pub(super) unsafe fn scatter_rows(dst: *mut u8, src: *const u8, walk: &Walk<'_>, size: usize, len: usize) {
    let stride = walk.strides[walk.dims.len() - 1];
    with_size!(size, T => runs(dst, walk, len, |to, offset, stretch| {
        // SAFETY: the caller's contract; a stretch is part of the `len` elements.
        unsafe { scatter_run::<T>(to, src.cast::<T>().add(offset), stride, stretch) }
    }));
}
