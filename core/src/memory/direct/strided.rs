//! Elements that lie apart, copied one after another, and back.

use smallvec::SmallVec;

use super::Space;
use crate::layout::{Layout, Order};

/// The dimensions of a space that count, the innermost first: extent, and elements to step in a layout that broadcasts to it.
type Steps = SmallVec<[(usize, isize); 4]>;

fn steps(layout: &Layout, space: &Space<'_>) -> Steps {
    let added = space.shape.len() - layout.ndim();
    let dim = |axis: usize| {
        let inherited = axis.checked_sub(added).filter(|&a| layout.shape()[a] != 1);
        (space.shape[axis], inherited.map_or(0, |a| layout.strides()[a]))
    };
    let counts = |dim: &(usize, isize)| dim.0 != 1;
    match space.order {
        Order::C => (0..space.shape.len()).rev().map(dim).filter(counts).collect(),
        Order::F => (0..space.shape.len()).map(dim).filter(counts).collect(),
    }
}

/// Bytes of a row that is worth a call which copies it.
const ROW_BYTES: usize = 128;

/// Whether elements of a size, in the order of the space, lie together in rows that are not short.
pub(super) fn has_rows(layout: &Layout, space: &Space<'_>, size: usize) -> bool {
    steps(layout, space).first().is_none_or(|&(extent, step)| step == 1 && extent * size >= ROW_BYTES)
}

/// Calls a function with the first element, the length and the step of each innermost row, in the order of the space.
#[inline(always)]
fn rows(steps: &Steps, mut each: impl FnMut(isize, usize, isize)) {
    let (inner, step) = steps.first().copied().unwrap_or((1, 0));
    let outer = steps.get(1..).unwrap_or_default();
    let mut index: SmallVec<[usize; 4]> = SmallVec::from_elem(0, outer.len());
    let mut row = 0_isize;
    loop {
        each(row, inner, step);
        let mut axis = 0;
        loop {
            let Some(&(extent, stride)) = outer.get(axis) else { return };
            index[axis] += 1;
            row += stride;
            if index[axis] < extent {
                break;
            }
            row -= extent.cast_signed() * stride;
            index[axis] = 0;
            axis += 1;
        }
    }
}

/// Copies elements of a size from their places to `dense`, or back.
///
/// # Safety
/// As for [`transfer`].
unsafe fn copy<const SIZE: usize, const BACK: bool>(place: *mut u8, steps: &Steps, dense: *mut u8) {
    let (place, mut dense) = (place.cast::<[u8; SIZE]>(), dense.cast::<[u8; SIZE]>());
    rows(steps, |row, len, step| {
        // SAFETY: the caller's contract: `row` and the steps from it are in the layout, and `dense` runs through the space.
        unsafe {
            let at = place.offset(row);
            if step == 1 {
                let (from, to) = if BACK { (dense, at) } else { (at, dense) };
                std::ptr::copy_nonoverlapping(from, to, len);
            } else {
                for i in 0..len {
                    let (at, one) = (at.offset(i.cast_signed() * step), dense.add(i));
                    if BACK { *at = *one } else { *one = *at }
                }
            }
            dense = dense.add(len);
        }
    });
}

/// Copies the elements of a layout, broadcast to a space's shape, one after another to `dense`, or `BACK` from there.
/// `place`: that at multi-index zero.
///
/// # Safety
/// The layout broadcasts to the space's shape, and has it where elements are copied back. Its elements, of this size, and all
/// of the space at `dense` are apart; the former are readable, the latter writable, or, `BACK`, the other way round; and
/// nothing else accesses what is written, or writes to what is read.
pub(super) unsafe fn transfer<const BACK: bool>(
    place: *mut u8,
    layout: &Layout,
    space: &Space<'_>,
    size: usize,
    dense: *mut u8,
) {
    let copy: unsafe fn(*mut u8, &Steps, *mut u8) = match size {
        1 => copy::<1, BACK>,
        2 => copy::<2, BACK>,
        4 => copy::<4, BACK>,
        8 => copy::<8, BACK>,
        _ => copy::<16, BACK>,
    };
    // SAFETY: the caller's contract; the strides of a broadcast are the layout's or 0.
    unsafe { copy(place, &steps(layout, space), dense) }
}
