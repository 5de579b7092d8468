//! The fold to the sum of squared deviations from the mean, in one pass.
//!
//! A *summary* of a set of values `x` is three numbers: a reference `k` near them, the offset `t` of their mean from it, and
//! `m`, the sum of their squared deviations from that mean. A segment is summarised by sums of `x − k` and `(x − k)²`;
//! those of two disjoint sets give that of both by the formula of T. F. Chan, G. H. Golub and R. J. LeVeque, "Updating
//! formulae and a pairwise algorithm for computing sample variances" (COMPSTAT 1982, Physica, pp. 30–41). The means of the
//! two differ by little, and so do the references, so what is lost is in proportion to the deviations, not to the values.
//!
//! The reference is the mean of a segment's first values, [`FIRST_VALUES`] or [`FIRST_ROWS`] of them. How far it is from the
//! mean of the whole segment is bounded by the deviations themselves, so `m` loses a few bits at the very worst.
//!
//! A mean first and squared distances then would read the elements twice, which is what a large variance
//! costs; sums of values and of their squares need one pass, but lose all digits where the mean is large.
//! Equal values have exactly no variance. Where the first values of a segment are unlike all others, up to
//! five bits are lost; else this is as exact as two passes, and closer to the truth far from zero. The
//! formula has a form for higher moments. On OpenCL the same is in `kernels/reduce/state.rs`.
//!
//! Measured in turns against two passes, on a machine with other work (not recorded): 16 Mi `float32`, two
//! threads, 0.08 to 0.7 of the time; 65 536 elements on one thread 24 to 25 µs before, 7 to 9 after. On a Zen
//! 5, 16 Mi `float32` take NumPy 15.2 ms, PyTorch 6.8, Eigen 3.7.

use std::marker::PhantomData;

use stridewise_core::Dtype;
use stridewise_core::ops::Float;

use super::fold::{ACC_BYTES, AHEAD, FIRST, LAST};
use crate::kernels::entry::{Kernel, WideKernel, contract, wide_entry};
use crate::kernels::moving::read::{Read, Values};
use crate::simd::{Isa, Lane};

/// Bytes of the sums of a run, of either kind: half of a processor's vector registers hold both.
const SUM_BYTES: usize = 128;
/// Values at the beginning of a segment whose mean is the reference. No call but a segment's last takes fewer.
pub(crate) const FIRST_VALUES: usize = 256;
const _: () = assert!(ACC_BYTES.is_multiple_of(FIRST_VALUES), "calls take a multiple of `ACC_BYTES`");
/// Rows at the beginning of a segment whose mean is the reference.
pub(crate) const FIRST_ROWS: usize = 8;
/// Flag of rows: the reference becomes the mean of what has been seen, [`FIRST_ROWS`].
pub(crate) const RECENTRE: u32 = 4;
/// Rows are numbered from this bit of the flags on.
pub(crate) const ROW_SHIFT: u32 = 3;

/// What a call is told besides the elements.
#[repr(C)]
pub(crate) struct Terms {
    /// Bytes between the parts of a partial: `m`, `t` and `k`; [`SUM_BYTES`] at least.
    pub(crate) part: usize,
    /// Values of a segment; where two summaries are joined, the share of the second in the values of both.
    pub(crate) count: f64,
    /// Where two summaries are joined, the product of their numbers of values through that of both.
    pub(crate) product: f64,
}

impl Terms {
    /// For a segment of so many values.
    pub(crate) fn segment(part: usize, count: usize) -> Self {
        Self { part, count: count as f64, product: 0.0 }
    }

    /// To join summaries of so many values.
    pub(crate) fn join(part: usize, first: usize, second: usize) -> Self {
        let (first, second) = (first as f64, second as f64);
        let share = second / (first + second);
        Self { part, count: share, product: first * share }
    }
}

/// `q − s·t`, where `s·t` is the part of `q`, a sum of squares, that the distance of the mean from the reference is to
/// blame for: at least 0; infinite where `q` is and `s` is not, and NaN where an element was infinite or NaN.
#[inline(always)]
fn without<V: Float>(q: V, s: V, t: V) -> V {
    let blame = s * t;
    let zero = q.lit(0.0);
    let rest = q - V::select(blame.is_finite(), blame, s * zero);
    V::select(rest.less(zero), zero, rest)
}

contract! {
    /// Summarises a run of a segment, of one value at least; flags as for a fold by an operation.
    ///
    /// - `len` values are readable. Without [`LAST`], `len` is a multiple of the sums' number.
    /// - A partial with room for the sums of a run is at `partial`, its parts as far apart as the terms say; without [`FIRST`] it is
    ///   that of the run so far. Nothing else accesses it.
    SummaryFn(partial: *mut u8, values: *const u8, terms: &Terms, flags: u32, len: usize)
        = partial, [values, std::ptr::from_ref(terms).cast(), values], flags, len
}

contract! {
    /// Summarises the columns of rows, one at least. Flags: [`FIRST`], [`LAST`], whether the first row begins the segment and the last ends it, and
    /// [`RECENTRE`].
    ///
    /// - `len` values are readable of each row, of which there are fewer than `1 << (32 − ROW_SHIFT)`.
    /// - A partial of `len` columns is at `partial`, its parts as far apart as the terms say; nothing else accesses it.
    ColumnsFn(partial: *mut u8, rows: &[*const u8], terms: &Terms, flags: u32, len: usize)
        = partial, [rows.as_ptr().cast(), std::ptr::from_ref(terms).cast(), partial],
          flags | (rows.len() as u32) << ROW_SHIFT, len
}

contract! {
    /// Joins two partials of `len` columns into the first.
    ///
    /// - Both are partials of as many columns, their parts as far apart as the terms say. Nothing else accesses the first.
    JoinFn(first: *mut u8, second: *const u8, terms: &Terms, len: usize)
        = first, [second, std::ptr::from_ref(terms).cast(), second], 0, len
}

/// Summarises a run of a segment. `dst`: a partial; sources: the elements, the [`Terms`]. Flags: as for a fold by an
/// operation. A call without [`LAST`] has a multiple of the sums' number as its length.
struct RunLanes<V, T>(PhantomData<(V, T)>);

/// Memory for the sums of a run.
#[repr(align(64))]
struct Sums(#[allow(dead_code)] [u8; SUM_BYTES]);

/// Vectors of sums at most, of either kind: of four `float32`, or one scalar each where a target has no vectors.
const MOST: usize = SUM_BYTES / 4;

impl<V: Lane<Elem = T>, T: Float> RunLanes<V, T> {
    /// Sums of one run.
    const ALL: usize = SUM_BYTES / size_of::<T>();
    /// Vectors of them.
    const VECTORS: usize = Self::ALL / V::LEN;

    /// Adds `x − k` and, where asked for, `(x − k)²` to the sums, for `len` elements.
    ///
    /// # Safety
    /// They are readable.
    #[inline(always)]
    unsafe fn add<const SQUARES: bool>(
        src: *const T,
        len: usize,
        ahead: bool,
        k: T,
        sums: &mut [V; MOST],
        squares: &mut [V; MOST],
    ) {
        // SAFETY: for all of this function: `len` elements are readable, and taken in whole vectors, the end by way of a
        // buffer of as many.
        unsafe {
            let reference = V::splat(k);
            let mut i = 0;
            while i + Self::ALL <= len {
                let mut j = 0;
                while j < Self::VECTORS {
                    if ahead {
                        <Values as Read<V>>::fetch([src; 2], i, j);
                    }
                    let d = V::load(src.add(i + j * V::LEN)) - reference;
                    sums[j] = sums[j] + d;
                    if SQUARES {
                        squares[j] = squares[j] + d * d;
                    }
                    j += 1;
                }
                i += Self::ALL;
            }
            if i < len {
                // What is missing deviates by nothing.
                let mut buffer = Sums([0; SUM_BYTES]);
                let end = (&raw mut buffer).cast::<T>();
                let mut j = 0;
                while j < Self::VECTORS {
                    reference.store(end.add(j * V::LEN));
                    j += 1;
                }
                std::ptr::copy_nonoverlapping(src.add(i), end, len - i);
                let mut j = 0;
                while j < Self::VECTORS {
                    let d = V::load(end.add(j * V::LEN)) - reference;
                    sums[j] = sums[j] + d;
                    if SQUARES {
                        squares[j] = squares[j] + d * d;
                    }
                    j += 1;
                }
            }
        }
    }

    /// The sum of sums, pairwise, in the same order whatever the width of vectors.
    #[inline(always)]
    fn total(mut sums: [V; MOST]) -> T {
        let mut half = Self::VECTORS / 2;
        while half > 0 {
            let mut j = 0;
            while j < half {
                sums[j] = sums[j] + sums[j + half];
                j += 1;
            }
            half /= 2;
        }
        let mut buffer = Sums([0; SUM_BYTES]);
        let values = (&raw mut buffer).cast::<T>();
        // SAFETY: the buffer has room for a vector, and elements are below its length.
        unsafe {
            sums[0].store(values);
            let mut half = V::LEN / 2;
            while half > 0 {
                let mut j = 0;
                while j < half {
                    *values.add(j) = *values.add(j) + *values.add(j + half);
                    j += 1;
                }
                half /= 2;
            }
            *values
        }
    }
}

/// The parts of a partial, so many bytes apart.
#[inline(always)]
fn partials<T>(start: *mut u8, part: usize) -> [*mut T; 3] {
    [start.cast(), start.wrapping_add(part).cast(), start.wrapping_add(2 * part).cast()]
}

impl<V: Lane<Elem = T>, T: Float> Kernel for RunLanes<V, T> {
    type Fn = SummaryFn;

    #[inline(always)]
    unsafe fn run(dst: *mut u8, [src, terms, _]: [*const u8; 3], flags: u32, len: usize) {
        let src = src.cast::<T>();
        // SAFETY: for all of this function: the first two parts of the partial have room for the sums, the third for an
        // element; `len` elements are readable.
        unsafe {
            let terms = &*terms.cast::<Terms>();
            let [m, t, k] = partials::<T>(dst, terms.part);
            let zero = V::splat((*src).lit(0.0));
            let (mut sums, mut squares) = ([zero; MOST], [zero; MOST]);
            if flags & FIRST != 0 {
                // From the first element on, so that values that are all the same have it as their mean.
                let first = *src;
                let count = len.min(FIRST_VALUES);
                Self::add::<false>(src, count, false, first, &mut sums, &mut squares);
                let mean = first + Self::total(sums) / first.lit(count as f64);
                *k = T::select(mean.is_finite(), mean, first);
                sums = [zero; MOST];
            } else {
                let mut j = 0;
                while j < Self::VECTORS {
                    sums[j] = V::load(t.add(j * V::LEN));
                    squares[j] = V::load(m.add(j * V::LEN));
                    j += 1;
                }
            }
            Self::add::<true>(src, len, flags & AHEAD != 0, *k, &mut sums, &mut squares);
            if flags & LAST == 0 {
                let mut j = 0;
                while j < Self::VECTORS {
                    sums[j].store(t.add(j * V::LEN));
                    squares[j].store(m.add(j * V::LEN));
                    j += 1;
                }
                return;
            }
            let (sum, square) = (Self::total(sums), Self::total(squares));
            *t = sum / sum.lit(terms.count);
            *m = without(square, sum, *t);
        }
    }
}

/// Summarises the columns of rows. `dst`: a partial; sources: the addresses of rows, the [`Terms`]. Flags: whether the first
/// row begins the segment, whether the last ends it, [`RECENTRE`] and the number of rows, [`ROW_SHIFT`] bits up.
struct RowLanes<V, T>(PhantomData<(V, T)>);

impl<V: Lane<Elem = T>, T: Float> RowLanes<V, T> {
    /// Vectors of columns at a time.
    const BLOCK: usize = 4;

    /// The columns of `N` vectors from column `at` on, or of `part` elements of one.
    ///
    /// # Safety
    /// As for the kernel; the columns are there.
    #[inline(always)]
    unsafe fn columns<const N: usize>(
        partial: [*mut T; 3],
        rows: *const *const T,
        terms: &Terms,
        flags: u32,
        at: usize,
        part: usize,
    ) {
        // SAFETY: for all of this function: rows, as many as the flags say, have the columns from `at` on,
        // which are readable, and the three parts of the partial are accumulators for as many; `part` is no
        // more than a vector has.
        unsafe {
            let mut k = [V::load_some((*rows).add(at), part); N];
            let zero = k[0].lit(0.0);
            let (mut sums, mut squares) = ([zero; N], [zero; N]);
            let mut j = 0;
            while j < N {
                if flags & FIRST != 0 {
                    k[j] = V::load_some((*rows).add(at + j * V::LEN), part);
                } else {
                    let [m, t, reference] = [
                        partial[0].add(at + j * V::LEN),
                        partial[1].add(at + j * V::LEN),
                        partial[2].add(at + j * V::LEN),
                    ];
                    (squares[j], sums[j], k[j]) =
                        (V::load_some(m, part), V::load_some(t, part), V::load_some(reference, part));
                }
                j += 1;
            }
            let mut r = 0;
            while r < (flags >> ROW_SHIFT) as usize {
                let row = *rows.add(r);
                let mut j = 0;
                while j < N {
                    let d = V::load_some(row.add(at + j * V::LEN), part) - k[j];
                    sums[j] = sums[j] + d;
                    squares[j] = squares[j] + d * d;
                    j += 1;
                }
                r += 1;
            }
            let mut j = 0;
            while j < N {
                if flags & RECENTRE != 0 {
                    let seen = zero.lit(FIRST_ROWS as f64);
                    let mean = k[j] + sums[j] / seen;
                    let mean = V::select(mean.is_finite(), mean, k[j]);
                    let step = mean - k[j];
                    let rest = sums[j] - step * seen;
                    squares[j] = without(squares[j], sums[j] + rest, step);
                    (sums[j], k[j]) = (rest, mean);
                }
                if flags & LAST != 0 {
                    let offset = sums[j] / zero.lit(terms.count);
                    squares[j] = without(squares[j], sums[j], offset);
                    sums[j] = offset;
                }
                squares[j].store_some(partial[0].add(at + j * V::LEN), part);
                sums[j].store_some(partial[1].add(at + j * V::LEN), part);
                if flags & (FIRST | RECENTRE) != 0 {
                    k[j].store_some(partial[2].add(at + j * V::LEN), part);
                }
                j += 1;
            }
        }
    }
}

impl<V: Lane<Elem = T>, T: Float> Kernel for RowLanes<V, T> {
    type Fn = ColumnsFn;

    #[inline(always)]
    unsafe fn run(dst: *mut u8, [rows, terms, _]: [*const u8; 3], flags: u32, len: usize) {
        let rows = rows.cast::<*const T>();
        // SAFETY: for all of this function: `len` elements are readable of each row and writable of each part of the partial;
        // whole vectors end at or below `len`, parts are shorter.
        unsafe {
            let terms = &*terms.cast::<Terms>();
            let partial = partials::<T>(dst, terms.part);
            let mut i = 0;
            while i + Self::BLOCK * V::LEN <= len {
                Self::columns::<4>(partial, rows, terms, flags, i, V::LEN);
                i += Self::BLOCK * V::LEN;
            }
            while i < len {
                let part = (len - i).min(V::LEN);
                Self::columns::<1>(partial, rows, terms, flags, i, part);
                i += part;
            }
        }
    }
}

/// Joins two partial results into the first. `dst`: the first; sources: the second, the [`Terms`].
struct JoinLanes<V, T>(PhantomData<(V, T)>);

impl<V: Lane<Elem = T>, T: Float> Kernel for JoinLanes<V, T> {
    type Fn = JoinFn;

    #[inline(always)]
    unsafe fn run(dst: *mut u8, [other, terms, _]: [*const u8; 3], _flags: u32, len: usize) {
        // SAFETY: for all of this function: `len` elements of each part of both partials; whole vectors end at or below `len`,
        // parts are shorter.
        unsafe {
            let terms = &*terms.cast::<Terms>();
            let first = partials::<T>(dst, terms.part);
            let second = partials::<T>(other.cast_mut(), terms.part);
            let mut i = 0;
            while i < len {
                let part = (len - i).min(V::LEN);
                let [m, t, k] = [
                    V::load_some(first[0].add(i), part),
                    V::load_some(first[1].add(i), part),
                    V::load_some(first[2].add(i), part),
                ];
                let [m2, t2, k2] = [
                    V::load_some(second[0].add(i), part),
                    V::load_some(second[1].add(i), part),
                    V::load_some(second[2].add(i), part),
                ];
                let d = (k2 - k) + (t2 - t);
                let t = t + d * d.lit(terms.count);
                let m = (m + m2) + d * (d * d.lit(terms.product));
                m.store_some(first[0].add(i), part);
                t.store_some(first[1].add(i), part);
                i += part;
            }
        }
    }
}

struct RunWide;
impl WideKernel for RunWide {
    type Fn = SummaryFn;

    type At<V: Lane<Elem = T>, T: Float> = RunLanes<V, T>;
}
struct RowWide;
impl WideKernel for RowWide {
    type Fn = ColumnsFn;

    type At<V: Lane<Elem = T>, T: Float> = RowLanes<V, T>;
}
struct JoinWide;
impl WideKernel for JoinWide {
    type Fn = JoinFn;

    type At<V: Lane<Elem = T>, T: Float> = JoinLanes<V, T>;
}

/// What the fold needs: the summary of a run, of the columns of rows, and of two partial results.
#[derive(Clone, Copy)]
pub(crate) struct Deviating {
    /// See [`RunLanes`].
    pub(crate) run: SummaryFn,
    /// See [`RowLanes`].
    pub(crate) rows: ColumnsFn,
    /// See [`JoinLanes`].
    pub(crate) join: JoinFn,
}

/// The functions for a dtype; summaries are never of 16-bit floats, nor of anything but floats.
pub(crate) fn deviating(dtype: Dtype, isa: Isa) -> Option<Deviating> {
    Some(Deviating {
        run: wide_entry::<RunWide>(isa, dtype)?,
        rows: wide_entry::<RowWide>(isa, dtype)?,
        join: wide_entry::<JoinWide>(isa, dtype)?,
    })
}
