//! Elements that lie apart, copied one after another, and back.

use std::ops::Range;

use smallvec::SmallVec;

use super::Space;
use crate::backend::Device;
use crate::layout::{Layout, Order};

/// What to step along a dimension: in one layout, or in several at a time.
pub(super) trait Step: Copy + PartialEq {
    const NONE: Self;
    fn plus(self, other: Self) -> Self;
    fn times(self, count: isize) -> Self;
}

impl Step for isize {
    const NONE: Self = 0;
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
    fn times(self, count: isize) -> Self {
        self.wrapping_mul(count)
    }
}

impl<const N: usize> Step for [isize; N] {
    const NONE: Self = [0; N];
    fn plus(self, other: Self) -> Self {
        std::array::from_fn(|k| self[k].wrapping_add(other[k]))
    }
    fn times(self, count: isize) -> Self {
        self.map(|step| step.wrapping_mul(count))
    }
}

/// The dimensions of a space that count, the innermost first, as few as there may be: extent, and what to step.
pub(super) type Steps<S> = SmallVec<[(usize, S); 4]>;

/// The dimensions of a space, with what to step along an axis. Those through which steps go on as they did are one.
#[inline(always)]
fn collect<S: Step>(space: &Space<'_>, step: impl Fn(usize) -> S) -> Steps<S> {
    let (mut steps, ndim): (Steps<S>, _) = (SmallVec::new(), space.shape.len());
    for n in 0..ndim {
        let axis = if space.order == Order::C { ndim - 1 - n } else { n };
        let (extent, outer) = (space.shape[axis], step(axis));
        match steps.last_mut() {
            _ if extent == 1 => {}
            Some((len, inner)) if inner.times(len.cast_signed()) == outer => *len *= extent,
            _ => steps.push((extent, outer)),
        }
    }
    steps
}

/// The bytes to step in a layout that broadcasts to a space, of elements of a size.
pub(super) fn steps(layout: &Layout, space: &Space<'_>, size: usize) -> Steps<isize> {
    collect(space, |axis| elements(layout, space, axis) * size.cast_signed())
}

/// The elements to step in layouts that broadcast to a space; 0 where there is no layout.
pub(super) fn joint_steps<const N: usize>(
    layouts: [Option<&Layout>; N],
    space: &Space<'_>,
) -> Steps<[isize; N]> {
    collect(space, |axis| layouts.map(|layout| layout.map_or(0, |layout| elements(layout, space, axis))))
}

/// The elements to step in a layout along an axis of a space that it broadcasts to.
#[inline(always)]
fn elements(layout: &Layout, space: &Space<'_>, axis: usize) -> isize {
    let own = axis.checked_sub(space.shape.len() - layout.ndim());
    own.filter(|&own| layout.shape()[own] != 1).map_or(0, |own| layout.strides()[own])
}

/// The number of places of a space.
pub(super) fn places<S>(steps: &[(usize, S)]) -> usize {
    steps.iter().map(|step| step.0).product()
}

/// Calls a function with the way from the first to each place of a space, in its order.
#[inline(always)]
pub(super) fn rows<S: Step>(steps: &[(usize, S)], each: impl FnMut(S)) {
    rows_of(steps, 0..places(steps), each);
}

/// [`rows`], of the places of a range, counted in their order.
#[inline(always)]
pub(super) fn rows_of<S: Step>(steps: &[(usize, S)], range: Range<usize>, mut each: impl FnMut(S)) {
    let mut index: SmallVec<[usize; 4]> = SmallVec::from_elem(0, steps.len());
    let (mut row, mut before) = (S::NONE, range.start);
    for (at, &(extent, step)) in index.iter_mut().zip(steps) {
        // Mostly it is the first place, and to divide is slow.
        if before != 0 {
            *at = before % extent;
            row = row.plus(step.times(at.cast_signed()));
            before /= extent;
        }
    }
    for _ in range {
        each(row);
        let mut axis = 0;
        loop {
            let Some(at) = index.get_mut(axis) else { return };
            let (extent, step) = steps[axis];
            *at += 1;
            if *at < extent {
                row = row.plus(step);
                break;
            }
            row = row.plus(step.times(1 - extent.cast_signed()));
            *at = 0;
            axis += 1;
        }
    }
}

/// Copies elements of a size from their places to `dense`, or `BACK` from there. `place`: that at multi-index zero.
///
/// # Safety
/// - No extent of the steps is 0.
/// - The places that the steps reach, in bytes, and as many elements at `dense` are apart.
/// - The former are readable and the latter writable, or, `BACK`, the other way round.
/// - Nothing else accesses what is written, or writes to what is read.
unsafe fn copy<const SIZE: usize, const BACK: bool>(
    place: *mut u8,
    steps: &[(usize, isize)],
    dense: *mut u8,
) {
    let mut dense = dense.cast::<[u8; SIZE]>();
    let ((len, step), outer) = match steps {
        [inner, outer @ ..] => (*inner, outer),
        [] => ((1, 0), steps),
    };
    // A whole number of elements, as layouts step.
    let step = step / SIZE.cast_signed();
    rows(outer, |row| {
        // SAFETY: for all of this function: `row` and the steps from it are places, which are readable or,
        // `BACK`, writable, and `dense` runs through as many elements, apart from them.
        unsafe {
            let at = place.wrapping_offset(row).cast::<[u8; SIZE]>();
            let each = |step: isize| {
                for i in 0..len {
                    let (at, one) = (at.offset(i.cast_signed() * step), dense.add(i));
                    if BACK { *at = *one } else { *one = *at }
                }
            };
            match step {
                1 if BACK => std::ptr::copy_nonoverlapping(dense, at, len),
                1 => std::ptr::copy_nonoverlapping(at, dense, len),
                // A step that the compiler knows becomes moves of whole vectors.
                -1 => each(-1),
                _ => each(step),
            }
            dense = dense.add(len);
        }
    });
}

/// Copies elements one after another to `dense`, by the device, whose memory it is.
///
/// # Safety
/// - No extent of the steps is 0, and the size is one that elements have.
/// - The places, from `place` on as the steps say, are readable.
/// - As many elements of the size are writable at `dense`, and apart from them.
/// - Nothing else accesses what is written, or writes to what is read.
pub(super) unsafe fn gather(
    device: &dyn Device,
    place: *const u8,
    steps: &[(usize, isize)],
    size: usize,
    dense: *mut u8,
) {
    // SAFETY: places and `dense` are what `Immediate::gather` and `copy` ask for: no extent is 0, the
    // places are readable, and as many elements writable at `dense`, apart from them.
    unsafe {
        match device.immediate() {
            Some(immediate) => immediate.gather(dense, place, steps, size),
            None => by_size::<false>(size)(place.cast_mut(), steps, dense),
        }
    }
}

/// Copies elements that lie one after another at `dense` to their places.
///
/// # Safety
/// As for [`gather`], the other way round; the places are all others.
pub(super) unsafe fn scatter(place: *mut u8, steps: &[(usize, isize)], size: usize, dense: *const u8) {
    // SAFETY: as many elements as places are readable at `dense`; the places are writable, all others, and
    // apart from them.
    unsafe { by_size::<true>(size)(place, steps, dense.cast_mut()) }
}

/// A function that copies elements, as [`copy`] does.
type CopyFn = unsafe fn(*mut u8, &[(usize, isize)], *mut u8);

/// The function for elements of a size, each of which is copied as one value.
fn by_size<const BACK: bool>(size: usize) -> CopyFn {
    match size {
        1 => copy::<1, BACK>,
        2 => copy::<2, BACK>,
        4 => copy::<4, BACK>,
        8 => copy::<8, BACK>,
        _ => copy::<16, BACK>,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_places() {
        let steps = [(3, 5), (1, 100), (4, -7), (2, 1000)];
        let mut all = Vec::new();
        rows(&steps, |row: isize| all.push(row));
        assert_eq!(all.len(), places(&steps));
        assert_eq!((all[0], all[1], all[3], all[23]), (0, 5, -7, 10 - 21 + 1000));
        for start in 0..=all.len() {
            for end in start..=all.len() {
                let mut some = Vec::new();
                rows_of(&steps, start..end, |row| some.push(row));
                assert_eq!(some, all[start..end], "{start}..{end}");
            }
        }
    }

    #[test]
    fn places_of_every_kind() {
        let memory: Vec<u16> = (0..64).collect();
        // Rows in order, apart, backwards, repeated; one element.
        for (at, dims) in [
            (0, &[(5, 1), (3, 20)][..]),
            (3, &[(4, 2), (2, 30)]),
            (60, &[(7, -1), (2, -9), (2, -20)]),
            (9, &[(3, 0), (4, 5)]),
            (17, &[]),
        ] {
            let steps: Vec<(usize, isize)> = dims.iter().map(|&(extent, step)| (extent, 2 * step)).collect();
            let mut expected = Vec::new();
            rows(&steps, |row| expected.push(memory[(at + row / 2).unsigned_abs()]));
            let mut dense = vec![0_u16; expected.len()];
            let mut back = vec![99_u16; memory.len()];
            // SAFETY: the memory has the places, and there is room for them.
            unsafe {
                let place = memory.as_ptr().cast_mut().offset(at).cast();
                copy::<2, false>(place, &steps, dense.as_mut_ptr().cast());
                scatter(back.as_mut_ptr().offset(at).cast(), &steps, 2, dense.as_ptr().cast());
            }
            assert_eq!(dense, expected, "{at} {dims:?}");
            let kept = |(number, value): (usize, &u16)| match expected.contains(&(number as u16)) {
                true => *value == number as u16,
                false => *value == 99,
            };
            assert!(back.iter().enumerate().all(kept), "{at} {dims:?}: {back:?}");
        }
    }
}
