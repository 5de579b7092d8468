//! Gathers of the same places of many rows, as some columns of a table are: the places are read once for many rows, and of few
//! places each is moved for all of these before the next one.

use stridewise_core::backend::IndexedAxis;

use super::pack::with_size;
use super::space::{Cursor, Space};

/// Places that are worked out at a time.
pub(crate) const CHUNK: usize = 256;
/// Views of a space, before those of the places.
pub(crate) const DST: usize = 0;
pub(crate) const SRC: usize = 1;
pub(crate) const PLACES: usize = 2;
/// Rows that are worked on at a time, whose lines the first cache still has for the next place.
const ROWS: usize = 512;
/// Places at most that are moved one after another: of more, a row's elements are.
const FEW: usize = 8;

/// A gather whose last dimension the places run along, and the one before they do not.
pub(crate) struct Columns<'a> {
    /// All dimensions but the last; of the views, too.
    pub(crate) rows: Space,
    axes: &'a [IndexedAxis],
    /// Places of a row.
    extent: usize,
    /// Bytes from one place to the next, in each view.
    steps: Vec<isize>,
}

impl<'a> Columns<'a> {
    /// `None`: rows have places of their own, or so many that these may as well be read again.
    pub(crate) fn of(space: &Space, axes: &'a [IndexedAxis]) -> Option<Self> {
        let last = space.dims.len().checked_sub(1)?;
        let row = last.checked_sub(1)?;
        let extent = space.dims[last];
        let shared = space.views[PLACES..].iter().all(|places| places.strides[row] == 0);
        let along = space.views[PLACES..].iter().any(|places| places.strides[last] != 0);
        if !shared || !along || extent > CHUNK {
            return None;
        }
        let steps = space.views.iter().map(|view| view.strides[last]).collect();
        let mut rows = space.clone();
        rows.dims.truncate(last);
        for view in &mut rows.views {
            view.strides.truncate(last);
        }
        Some(Self { rows, axes, extent, steps })
    }

    /// Bytes that are read and written of a row.
    pub(crate) fn bytes(&self) -> usize {
        2 * self.rows.views[DST].size * self.extent
    }

    /// Gathers the rows `start..end`.
    ///
    /// # Safety
    /// The plan's contract; nothing else accesses what is written.
    pub(crate) unsafe fn range(&self, start: usize, end: usize) {
        let mut offsets = [0; CHUNK];
        let mut cursor = self.rows.seek(start);
        let mut at = start;
        while at < end {
            let len = ROWS.min(end - at).min(self.rows.left(&cursor));
            // SAFETY: the plan's addresses are readable and writable, and nothing else writes these rows; the
            // rows have the same places, which `locate` has brought into range.
            unsafe {
                self.locate(&cursor, &mut offsets[..self.extent]);
                with_size!(self.rows.views[DST].size, T => self.some::<T>(&cursor, &offsets[..self.extent], len));
            }
            at += len;
            if at < end {
                self.rows.advance(&mut cursor, len);
            }
        }
    }

    /// The bytes from a row's start to each place, or the one nearest in range.
    ///
    /// # Safety
    /// The places are readable and aligned.
    unsafe fn locate(&self, cursor: &Cursor, offsets: &mut [isize]) {
        let step = self.steps[SRC];
        for (offset, j) in offsets.iter_mut().zip(0_isize..) {
            *offset = step * j;
            for (k, axis) in self.axes.iter().enumerate() {
                let place = cursor.at[PLACES + k].wrapping_offset(self.steps[PLACES + k] * j).cast::<i64>();
                // SAFETY: the place is readable and aligned: there is one for each axis and each element of a
                // row.
                let place = unsafe { place.read() }.clamp(0, axis.extent.cast_signed() as i64 - 1);
                *offset += place as isize * axis.stride * self.rows.views[DST].size.cast_signed();
            }
        }
    }

    /// Gathers so many rows, which follow each other from a cursor on.
    ///
    /// # Safety
    /// As for [`range`](Self::range); the offsets lead to elements of the size of `T`.
    unsafe fn some<T: Copy>(&self, cursor: &Cursor, offsets: &[isize], len: usize) {
        let inner = self.rows.dims.len() - 1;
        let [to_row, from_row] = [DST, SRC].map(|view| self.rows.views[view].strides[inner]);
        let (to, from, step) = (cursor.at[DST], cursor.at[SRC], self.steps[DST]);
        let dense = [to_row, from_row] == [size_of::<T>().cast_signed(); 2];
        // SAFETY: for all of this function: the rows from the cursor on are the plan's, and each offset leads
        // to an element of the size of `T`.
        unsafe {
            if offsets.len() > FEW {
                for i in 0..len.cast_signed() {
                    let (to, from) = (to.wrapping_offset(to_row * i), from.wrapping_offset(from_row * i));
                    for (&offset, j) in offsets.iter().zip(0_isize..) {
                        let element = from.wrapping_offset(offset).cast::<T>().read_unaligned();
                        to.wrapping_offset(step * j).cast::<T>().write_unaligned(element);
                    }
                }
                return;
            }
            for (&offset, j) in offsets.iter().zip(0_isize..) {
                let (to, from) = (to.wrapping_offset(step * j), from.wrapping_offset(offset));
                if dense {
                    std::ptr::copy_nonoverlapping(from.cast_const(), to, len * size_of::<T>());
                    continue;
                }
                for i in 0..len.cast_signed() {
                    let element = from.wrapping_offset(from_row * i).cast::<T>().read_unaligned();
                    to.wrapping_offset(to_row * i).cast::<T>().write_unaligned(element);
                }
            }
        }
    }
}
