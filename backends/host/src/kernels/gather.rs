//! Elements at places that indices name: read from there, or written there.

use smallvec::SmallVec;
use stridewise_core::{IndexedAxis, LaunchPlan};

use super::pack::{self, with_size};
use super::space::{Space, View};
use super::{Tuning, split};
use crate::simd::Isa;

/// Places that are worked out at a time.
const CHUNK: usize = 256;
/// The offset of what is left out.
const NOWHERE: isize = isize::MIN;
/// Views of a space, before those of the places.
const DST: usize = 0;
const SRC: usize = 1;
const PLACES: usize = 2;
/// Bytes of a block's row that a thread writes at least where threads share blocks.
const SHARE_BYTES: usize = 4096;

/// Gathers.
///
/// # Safety
/// The contract of [`run`](super::run).
pub(super) unsafe fn gather(plan: &LaunchPlan, axes: &[IndexedAxis], tuning: &Tuning) {
    let mut space = space(plan, tuning.isa);
    // What is written in memory's order is written fastest; no other order counts.
    space.sort_by(DST);
    space.merge();
    let blocks = Blocks::<false>::new(&space, axes);
    let bytes = blocks.bytes();
    let grain = if bytes < 256 { split::GRAIN } else { 1 };
    let (total, row) = (blocks.points.len(), blocks.points.row());
    split::ranges(total, row, 2 * bytes + 8 * axes.len(), grain, tuning.threads, &|start, end| {
        // SAFETY: the caller's contract; parts of a gather's output are disjoint.
        unsafe { blocks.range(start, end) };
    });
}

/// Scatters: in row-major order, by several threads only along a dimension that the places do not depend on.
///
/// # Safety
/// The contract of [`run`](super::run).
pub(super) unsafe fn scatter(plan: &LaunchPlan, axes: &[IndexedAxis], tuning: &Tuning) {
    let mut space = space(plan, tuning.isa);
    space.merge();
    let shared = if tuning.threads > 1 { shareable(&space, axes) } else { None };
    let Some(d) = shared else {
        let blocks = Blocks::<true>::new(&space, axes);
        // SAFETY: the caller's contract.
        return unsafe { blocks.range(0, blocks.points.len()) };
    };
    let extent = space.dims[d];
    let size = space.views[DST].size;
    let bytes = space.len() / extent * (2 * size + 8 * axes.len());
    let grain = if d + 1 == space.dims.len() { SHARE_BYTES / size } else { 1 };
    split::ranges(extent, 1, bytes, grain, tuning.threads, &|start, end| {
        let mut part = space.clone();
        part.dims[d] = end - start;
        for v in &mut part.views {
            v.ptr = v.ptr.wrapping_offset(v.strides[d] * start.cast_signed());
        }
        let blocks = Blocks::<true>::new(&part, axes);
        // SAFETY: the caller's contract; `shareable` made sure that parts along this dimension write other elements.
        unsafe { blocks.range(0, blocks.points.len()) };
    });
}

/// Output, input 0 and the places; at least one dimension.
fn space(plan: &LaunchPlan, isa: Isa) -> Space {
    let all = 0..plan.dims.len();
    let size = plan.program.inputs()[0].size();
    let mut views: SmallVec<[View; 4]> = SmallVec::new();
    views.push(View::new(&plan.outputs[0], size, all.clone()));
    for input in 0..plan.inputs.len() {
        views.push(View::input(plan, input, all.clone()));
    }
    let mut space = Space::new(&plan.dims, views, isa);
    if space.dims.is_empty() {
        space.dims.push(1);
        for v in &mut space.views {
            v.strides.push(0);
        }
    }
    space
}

/// The longest dimension that the places do not depend on and along which different elements are written, whatever the
/// places are: each step of the output's dimensions and axes is larger than what all smaller ones reach together.
fn shareable(space: &Space, axes: &[IndexedAxis]) -> Option<usize> {
    let (dst, places) = (&space.views[DST], &space.views[PLACES..]);
    let mut steps: SmallVec<[(usize, usize); 8]> = SmallVec::new();
    for (&stride, &extent) in dst.strides.iter().zip(&space.dims) {
        if stride != 0 {
            steps.push((stride.unsigned_abs(), extent));
        }
    }
    steps.extend(axes.iter().map(|a| (a.stride.unsigned_abs() * dst.size, a.extent)));
    steps.sort_unstable();
    let mut reach = 0;
    for (step, extent) in steps {
        if extent > 1 && step <= reach {
            return None;
        }
        reach += step * (extent - 1);
    }
    let free = |&d: &usize| dst.strides[d] != 0 && places.iter().all(|p| p.strides[d] == 0);
    (0..space.dims.len()).filter(free).max_by_key(|&d| space.dims[d]).filter(|&d| space.dims[d] > 1)
}

/// A dimension within a block: extent, and bytes to step in the output and the input.
#[derive(Clone, Copy)]
pub(super) struct Inner {
    pub(super) extent: usize,
    pub(super) dst: isize,
    pub(super) src: isize,
}

/// A space whose last dimensions, which the places do not depend on, are moved as blocks. The places move the output
/// where `SCATTER`, else the input.
struct Blocks<'a, const SCATTER: bool> {
    /// The dimensions that the places depend on (and the outermost in any case).
    points: Space,
    /// The others.
    block: SmallVec<[Inner; 4]>,
    axes: &'a [IndexedAxis],
    size: usize,
}

impl<'a, const SCATTER: bool> Blocks<'a, SCATTER> {
    fn new(space: &Space, axes: &'a [IndexedAxis]) -> Self {
        let depends = |d: usize| space.views[PLACES..].iter().any(|p| p.strides[d] != 0);
        let outer = (0..space.dims.len()).rposition(depends).map_or(1, |d| d + 1);
        let (dst, src) = (&space.views[DST].strides, &space.views[SRC].strides);
        let mut block: SmallVec<[Inner; 4]> = SmallVec::new();
        for d in outer..space.dims.len() {
            block.push(Inner { extent: space.dims[d], dst: dst[d], src: src[d] });
        }
        let mut size = space.views[DST].size;
        // A run that one load and store can move is an element of its own.
        if let [Inner { extent, dst, src }] = block[..]
            && dst == size.cast_signed()
            && src == dst
            && matches!(extent * size, 2 | 4 | 8 | 16)
        {
            size *= extent;
            block.clear();
        }
        let mut points = space.clone();
        points.dims.truncate(outer);
        for v in &mut points.views {
            v.strides.truncate(outer);
        }
        Self { points, block, axes, size }
    }

    /// Bytes of a block.
    fn bytes(&self) -> usize {
        self.block.iter().fold(self.size, |bytes, inner| bytes.saturating_mul(inner.extent))
    }

    /// Moves the blocks of the points `start..end`, in row-major order.
    ///
    /// # Safety
    /// The plan's contract; nothing else accesses what is written.
    unsafe fn range(&self, start: usize, end: usize) {
        let inner = self.points.dims.len() - 1;
        let step = |view: usize| self.points.views[view].strides[inner];
        let mut offsets = [0; CHUNK];
        let mut cursor = self.points.seek(start);
        let mut at = start;
        while at < end {
            let len = CHUNK.min(end - at).min(self.points.left(&cursor));
            let offsets = &mut offsets[..len];
            offsets.fill(0);
            for (k, axis) in self.axes.iter().enumerate() {
                // SAFETY: the plan's addresses are readable and aligned; the points are of one row.
                unsafe { self.locate(offsets, axis, cursor.at[PLACES + k], step(PLACES + k)) };
            }
            let (dst, src) = (cursor.at[DST], cursor.at[SRC]);
            // SAFETY: the caller's contract: places are in range now, or nowhere.
            unsafe {
                match self.block[..] {
                    [] => with_size!(self.size, T => {
                        Self::elements::<T>((dst, step(DST)), (src, step(SRC)), offsets);
                    }),
                    _ => {
                        for (i, &offset) in offsets.iter().enumerate() {
                            let at = |p: *mut u8, view| p.wrapping_offset(step(view) * i.cast_signed());
                            let (mut to, mut from) = (at(dst, DST), at(src, SRC));
                            if SCATTER {
                                to = to.wrapping_offset(offset);
                            } else {
                                from = from.wrapping_offset(offset);
                            }
                            if offset != NOWHERE {
                                move_block(self.points.isa, to, from, &self.block, self.size);
                            }
                        }
                    }
                }
            }
            at += len;
            if at < end {
                self.points.advance(&mut cursor, len);
            }
        }
    }

    /// Adds an axis' part to the offsets in bytes of a row's points, whose places are from `at` on.
    ///
    /// # Safety
    /// The places are readable and aligned.
    unsafe fn locate(&self, offsets: &mut [isize], axis: &IndexedAxis, at: *const u8, step: isize) {
        let last = axis.extent.cast_signed() - 1;
        let stride = axis.stride * self.points.views[DST].size.cast_signed();
        for (i, offset) in offsets.iter_mut().enumerate() {
            // SAFETY: the caller's contract.
            let place = unsafe { *at.wrapping_offset(step * i.cast_signed()).cast::<i64>() };
            if SCATTER {
                let inside = (0..=last as i64).contains(&place) && *offset != NOWHERE;
                *offset = if inside { offset.wrapping_add(place as isize * stride) } else { NOWHERE };
            } else {
                *offset += place.clamp(0, last as i64) as isize * stride;
            }
        }
    }

    /// Moves one element for each offset; the first addresses and the bytes to step in the row come with either side.
    ///
    /// # Safety
    /// The elements are readable, their targets writable.
    unsafe fn elements<T: Copy>(
        (dst, to_step): (*mut u8, isize),
        (src, from_step): (*mut u8, isize),
        offsets: &[isize],
    ) {
        for (i, &offset) in offsets.iter().enumerate() {
            let i = i.cast_signed();
            let (to, from) = (dst.wrapping_offset(to_step * i), src.wrapping_offset(from_step * i));
            // SAFETY: the caller's contract.
            unsafe {
                if !SCATTER {
                    to.cast::<T>().write_unaligned(from.wrapping_offset(offset).cast::<T>().read_unaligned());
                } else if offset != NOWHERE {
                    to.wrapping_offset(offset).cast::<T>().write_unaligned(from.cast::<T>().read_unaligned());
                }
            }
        }
    }
}

/// Moves a block, in row-major order.
///
/// # Safety
/// It is readable and its target writable; they do not overlap.
pub(super) unsafe fn move_block(isa: Isa, dst: *mut u8, src: *const u8, block: &[Inner], size: usize) {
    // SAFETY: for all of this function: the caller's contract.
    unsafe {
        match *block {
            [] => std::ptr::copy_nonoverlapping(src, dst, size),
            [Inner { extent, dst: to, src: from }] if to == size.cast_signed() => {
                pack::gather(isa, dst, src, from, size, extent);
            }
            [Inner { extent, dst: to, src: from }] if from == size.cast_signed() => {
                pack::scatter(dst, src, to, size, extent);
            }
            [Inner { extent, dst: to, src: from }, ref rest @ ..] => {
                for i in 0..extent.cast_signed() {
                    move_block(isa, dst.wrapping_offset(to * i), src.wrapping_offset(from * i), rest, size);
                }
            }
        }
    }
}
