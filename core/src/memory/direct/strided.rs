//! Elements that lie apart, copied one after another, and back.

use smallvec::SmallVec;

use super::Space;
use crate::backend::Device;
use crate::layout::{Layout, Order};

/// The dimensions of a space that count, the innermost first: extent, and elements to step in a layout that broadcasts to it.
pub(super) type Steps = SmallVec<[(usize, isize); 4]>;

/// The dimensions of [`Steps`], one after another.
fn dims(layout: &Layout, space: &Space<'_>) -> impl Iterator<Item = (usize, isize)> {
    let (ndim, order) = (space.shape.len(), space.order);
    let added = ndim - layout.ndim();
    let dim = move |n: usize| {
        let axis = if order == Order::C { ndim - 1 - n } else { n };
        let inherited = axis.checked_sub(added).filter(|&a| layout.shape()[a] != 1);
        (space.shape[axis], inherited.map_or(0, |a| layout.strides()[a]))
    };
    (0..ndim).map(dim).filter(|dim| dim.0 != 1)
}

pub(super) fn steps(layout: &Layout, space: &Space<'_>) -> Steps {
    dims(layout, space).collect()
}

/// The elements of an innermost row.
pub(super) fn row_len(space: &Space<'_>) -> usize {
    let counts = |extent: &&usize| **extent != 1;
    let row = match space.order {
        Order::C => space.shape.iter().rfind(counts),
        Order::F => space.shape.iter().find(counts),
    };
    row.copied().unwrap_or(1)
}

/// Bytes of a row that is worth a call.
const ROW_BYTES: usize = 128;

/// The elements to step within the rows of a layout, in the order of the space, where these are not short, and their elements
/// of a size lie together (1) or are the same one (0).
pub(super) fn row_step(layout: &Layout, space: &Space<'_>, size: usize) -> Option<isize> {
    let (extent, step) = dims(layout, space).next()?;
    (matches!(step, 0 | 1) && extent * size >= ROW_BYTES).then_some(step)
}

/// Calls a function with the first elements and the length of each innermost row, in the order of the space, of layouts whose
/// steps are given.
#[inline(always)]
pub(super) fn rows<const N: usize>(steps: [&[(usize, isize)]; N], mut each: impl FnMut([isize; N], usize)) {
    let inner = steps[0].first().map_or(1, |&(extent, _)| extent);
    let mut index: SmallVec<[usize; 4]> = SmallVec::from_elem(0, steps[0].len().saturating_sub(1));
    let mut row = [0_isize; N];
    loop {
        each(row, inner);
        let mut axis = 0;
        loop {
            let Some(at) = index.get_mut(axis) else { return };
            let outer = steps.map(|steps| steps[axis + 1]);
            *at += 1;
            if *at < outer[0].0 {
                (0..N).for_each(|k| row[k] += outer[k].1);
                break;
            }
            (0..N).for_each(|k| row[k] -= (outer[k].0.cast_signed() - 1) * outer[k].1);
            *at = 0;
            axis += 1;
        }
    }
}

/// Elements of a row from which on a device is asked to gather them: for some steps it has vectors, which loops that are
/// compiled for every processor have not.
const GATHERED: usize = 32;

/// Copies `len` elements of a size that are so far apart to `dense`, or back.
///
/// # Safety
/// As for [`transfer`].
#[inline(always)]
unsafe fn copy_row<const SIZE: usize, const BACK: bool>(
    device: &dyn Device,
    at: *mut [u8; SIZE],
    step: isize,
    dense: *mut [u8; SIZE],
    len: usize,
) {
    // SAFETY: for all of this function: the caller's contract.
    unsafe {
        let each = |step: isize| {
            for i in 0..len {
                let (at, one) = (at.offset(i.cast_signed() * step), dense.add(i));
                if BACK { *at = *one } else { *one = *at }
            }
        };
        match step {
            1 if BACK => std::ptr::copy_nonoverlapping(dense, at, len),
            1 => std::ptr::copy_nonoverlapping(at, dense, len),
            // Steps that the compiler knows become moves of whole vectors.
            0 => each(0),
            _ if !BACK && len >= GATHERED && {
                let stride = step * SIZE.cast_signed();
                device.gather_elements(dense.cast(), at.cast(), stride, SIZE, len)
            } => {}
            -1 => each(-1),
            2 => each(2),
            _ => each(step),
        }
    }
}

/// Copies elements of a size from their places to `dense`, or back.
///
/// # Safety
/// As for [`transfer`].
unsafe fn copy<const SIZE: usize, const BACK: bool>(
    device: &dyn Device,
    place: *mut u8,
    mut steps: Steps,
    dense: *mut u8,
) {
    // A row that is repeated is read once.
    let repeated = !BACK && steps.get(1).is_some_and(|&(_, step)| step == 0);
    let times = if repeated { steps.remove(1).0 } else { 1 };
    let (place, mut dense) = (place.cast::<[u8; SIZE]>(), dense.cast::<[u8; SIZE]>());
    let step = steps.first().map_or(0, |&(_, step)| step);
    rows([&steps], |[row], len| {
        // SAFETY: the caller's contract: `row` and the steps from it are in the layout, and `dense` runs through the space.
        unsafe {
            copy_row::<SIZE, BACK>(device, place.offset(row), step, dense, len);
            let (mut done, all) = (len, len * times);
            while done < all {
                let more = done.min(all - done);
                std::ptr::copy_nonoverlapping(dense, dense.add(done), more);
                done += more;
            }
            dense = dense.add(all);
        }
    });
}

/// Copies the elements of a layout, broadcast to a space's shape, one after another to `dense`, or `BACK` from there.
/// `place`: that at multi-index zero. The device is the memory's.
///
/// # Safety
/// The layout broadcasts to the space's shape, and has it where elements are copied back. Its elements, of this size, and all
/// of the space at `dense` are apart; the former are readable, the latter writable, or, `BACK`, the other way round; and
/// nothing else accesses what is written, or writes to what is read.
pub(super) unsafe fn transfer<const BACK: bool>(
    device: &dyn Device,
    place: *mut u8,
    layout: &Layout,
    space: &Space<'_>,
    size: usize,
    dense: *mut u8,
) {
    let copy: unsafe fn(&dyn Device, *mut u8, Steps, *mut u8) = match size {
        1 => copy::<1, BACK>,
        2 => copy::<2, BACK>,
        4 => copy::<4, BACK>,
        8 => copy::<8, BACK>,
        _ => copy::<16, BACK>,
    };
    // SAFETY: the caller's contract; the strides of a broadcast are the layout's or 0.
    unsafe { copy(device, place, steps(layout, space), dense) }
}
