//! Elements at places that indices name: read from there, or written there.
//!
//! The space of a plan is divided in two. The outer dimensions, up to the last one that places depend on, are
//! *points*; the inner ones are a *block*, which is moved as a whole for each point.
//! ```text
//! x[places], of an x of shape (n, 15):   points: one for each place   block: 15 elements
//! ```
//! A block that one load can move (2, 4, 8 or 16 bytes in one piece) is taken for one element. Single
//! elements along one axis have loops of their own (`Row`); of several axes, or of blocks, the offsets of
//! some places are worked out first (`locate`). A gather of few columns of many rows is left to `columns.rs`.
//!
//! Places are data of users, so nothing is believed of them: a gather takes the nearest one in range, a
//! checking gather the first element, and a scatter leaves out what is out of range. Memory is safe by
//! these comparisons alone. Of several elements for one place the last stays, so threads share a scatter by
//! what they write, never by what they read. What limits all of it is the cache line that each place costs; a
//! scatter fetches it ahead.

use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use smallvec::SmallVec;
use stridewise_core::{
    Scalar,
    backend::{IndexedAxis, LaunchPlan},
};

use super::columns::{CHUNK, Columns, DST, PLACES, SRC};
use super::pack::{self, with_size};
use super::space::{Cursor, Space, View};
use crate::fork_join;
use crate::kernels::split;
use crate::kernels::stream;
use crate::kernels::tuning::{SECOND_CACHE_BYTES, Tuning};
use crate::simd::Isa;

/// The offset of what is left out.
const NOWHERE: isize = isize::MIN;
/// Places of what is written nowhere, in turns: what is written where something was just written waits for it.
pub(super) const NOWHERES: usize = 16;

/// Gathers.
///
/// # Safety
/// The contract of [`run`](crate::kernels::run).
pub(crate) unsafe fn gather(plan: &LaunchPlan, axes: &[IndexedAxis], tuning: &Tuning) {
    let mut space = space(plan, tuning.isa);
    if plan.outputs.len() > 1 {
        // SAFETY: `run`'s contract is that of this function; `refused` lets only a row pass here.
        return unsafe { gather_checking(plan, &Blocks::new(space, axes), tuning.threads) };
    }
    // What is written in memory's order is written fastest; no other order counts.
    space.sort_by(DST);
    space.merge();
    if let Some(columns) = Columns::of(&space, axes) {
        let (rows, row) = (columns.rows.len(), columns.rows.row());
        split::ranges(rows, row, columns.bytes(), 1, tuning.threads, &|start, end| {
            // SAFETY: the plan's addresses are readable and writable, and places are taken for the nearest in
            // range; no two parts write the same rows of the output.
            unsafe { columns.range(start, end) };
        });
        return;
    }
    let blocks = Blocks::<false>::new(space, axes);
    let bytes = blocks.bytes();
    let grain = if bytes < 256 { split::GRAIN } else { 1 };
    let (total, row) = (blocks.points.len(), blocks.points.row());
    split::ranges(total, row, 2 * bytes + 8 * axes.len(), grain, tuning.threads, &|start, end| {
        // SAFETY: the plan's addresses are readable and writable, and places are taken for the nearest in
        // range; no two parts write the same points of the output, of which it has each element once.
        unsafe { blocks.range(start, end) };
    });
}

/// Gathers a row of elements, and tells whether a place is out of range: [`family`](crate::kernels::family) lets nothing else through.
///
/// # Safety
/// The contract of [`run`](crate::kernels::run).
unsafe fn gather_checking(plan: &LaunchPlan, row: &Blocks<'_, false>, threads: usize) {
    let outside = AtomicBool::new(false);
    split::ranges(row.points.len(), 1, 2 * row.size + 8, split::GRAIN, threads, &|start, end| {
        // SAFETY: the plan's addresses are readable and writable; no two parts write the same points of the
        // output.
        if !unsafe { row.along_checking(start, end) } {
            outside.store(true, Ordering::Relaxed);
        }
    });
    // All parts have ended, so that the order in which they were stored is none.
    if outside.into_inner()
        && let Some(&Scalar::U32(number)) = plan.program.consts().first()
    {
        // SAFETY: the plan's second output is one element of the constant's dtype.
        unsafe { plan.outputs[1].ptr.as_ptr().cast::<u32>().write(number) };
    }
}

/// Scatters: in row-major order, so that of several elements for one place the last stays. Several threads share a dimension
/// that the places do not depend on, or else the places: each reads all of them, and writes to a part.
///
/// # Safety
/// The contract of [`run`](crate::kernels::run).
pub(crate) unsafe fn scatter(plan: &LaunchPlan, axes: &[IndexedAxis], tuning: &Tuning) {
    let mut space = space(plan, tuning.isa);
    space.merge();
    let shared = tuning.threads > 1 && writes_apart(&space, axes);
    let size = space.views[DST].size;
    if let Some(d) = free(&space).filter(|_| shared) {
        let extent = space.dims[d];
        let bytes = space.len() / extent * (2 * size + 8 * axes.len());
        let grain = if d + 1 == space.dims.len() { split::ROW_BYTES / size } else { 1 };
        split::ranges(extent, 1, bytes, grain, tuning.threads, &|start, end| {
            let mut part = space.clone();
            part.dims[d] = end - start;
            for v in &mut part.views {
                v.ptr = v.ptr.wrapping_offset(v.strides[d] * start.cast_signed());
            }
            let blocks = Blocks::<true>::new(part, axes);
            // SAFETY: the plan's addresses are readable and writable, also of a part of a dimension;
            // `writes_apart` made sure that parts along this dimension write other elements, so that nothing
            // else accesses what this one writes.
            unsafe { blocks.range(0, blocks.points.len()) };
        });
        return;
    }
    let blocks = Blocks::<true>::new(space, axes);
    let extent = axes.first().map_or(0, |axis| axis.extent);
    let parts = if shared && blocks.is_far() { tuning.threads.min(extent) } else { 1 };
    if parts <= 1 {
        // SAFETY: the plan's addresses are readable and writable, and by `run`'s contract nothing else
        // accesses what is written.
        return unsafe { blocks.range(0, blocks.points.len()) };
    }
    fork_join::share(parts, tuning.threads, &|part| {
        let window = extent * part / parts..extent * (part + 1) / parts;
        // SAFETY: the plan's addresses are readable and writable; `writes_apart` made sure that different
        // places along an axis are other elements, and each window is one thread's.
        unsafe { blocks.within(window).range(0, blocks.points.len()) };
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

/// Whether different elements are written along each dimension and axis, whatever the places are: each step of the output's
/// is larger than what all smaller ones reach together.
fn writes_apart(space: &Space, axes: &[IndexedAxis]) -> bool {
    let dst = &space.views[DST];
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
            return false;
        }
        reach += step * extent.saturating_sub(1);
    }
    true
}

/// The longest dimension of the output that the places do not depend on, if there is one.
fn free(space: &Space) -> Option<usize> {
    let (dst, places) = (&space.views[DST], &space.views[PLACES..]);
    let free = |&d: &usize| dst.strides[d] != 0 && places.iter().all(|p| p.strides[d] == 0);
    (0..space.dims.len()).filter(free).max_by_key(|&d| space.dims[d]).filter(|&d| space.dims[d] > 1)
}

/// A dimension within a block: extent, and bytes to step in the output and the input.
#[derive(Clone, Copy)]
pub(crate) struct Inner {
    pub(crate) extent: usize,
    pub(crate) dst: isize,
    pub(crate) src: isize,
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
    /// The places along the first axis that are written to; all, unless threads share them.
    window: Range<usize>,
}

impl<'a, const SCATTER: bool> Blocks<'a, SCATTER> {
    fn new(space: Space, axes: &'a [IndexedAxis]) -> Self {
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
        let mut points = space;
        points.dims.truncate(outer);
        for v in &mut points.views {
            v.strides.truncate(outer);
        }
        Self { points, block, axes, size, window: 0..axes.first().map_or(0, |axis| axis.extent) }
    }

    /// The same, of which a scatter writes to these places along the first axis only.
    fn within(&self, window: Range<usize>) -> Self {
        Self { points: self.points.clone(), block: self.block.clone(), window, ..*self }
    }

    /// Whether what the places name, or all that is moved, is more than a core's own caches have.
    fn is_far(&self) -> bool {
        let named = self.axes.iter().fold(self.bytes(), |bytes, axis| bytes.saturating_mul(axis.extent));
        named.min(self.bytes().saturating_mul(self.points.len())) >= SECOND_CACHE_BYTES
    }

    /// Bytes of a block.
    fn bytes(&self) -> usize {
        self.block.iter().fold(self.size, |bytes, inner| bytes.saturating_mul(inner.extent))
    }

    /// Moves the blocks of the points `start..end`, in row-major order.
    ///
    /// # Safety
    /// - The contract of the plan holds that the space is made of, and `start < end ≤` the number of points.
    /// - Nothing else accesses the elements that these points write: of a scatter, those in the window.
    unsafe fn range(&self, start: usize, end: usize) {
        let inner = self.points.dims.len() - 1;
        let step = |view: usize| self.points.views[view].strides[inner];
        let mut offsets = [0; CHUNK];
        let mut cursor = self.points.seek(start);
        let mut at = start;
        while at < end {
            let left = (end - at).min(self.points.left(&cursor));
            if let ([], [axis]) = (&self.block[..], self.axes) {
                // SAFETY: the plan's addresses are readable and writable, and nothing else accesses what is
                // written; the `left` points are of one row.
                with_size!(self.size, T => unsafe { self.along::<T>(axis, &cursor, left) });
                at += left;
                if at < end {
                    self.points.advance(&mut cursor, left);
                }
                continue;
            }
            let len = CHUNK.min(left);
            let offsets = &mut offsets[..len];
            offsets.fill(0);
            for (k, axis) in self.axes.iter().enumerate() {
                let window = if k == 0 { self.window.clone() } else { 0..axis.extent };
                // SAFETY: the plan's addresses are readable and aligned; the points are of one row.
                unsafe { self.locate(offsets, axis, window, cursor.at[PLACES + k], step(PLACES + k)) };
            }
            let (dst, src) = (cursor.at[DST], cursor.at[SRC]);
            // SAFETY: the plan's addresses are readable and writable; `locate` has brought places into range,
            // or named them `NOWHERE`, which is not accessed.
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

    /// Moves one element for each of some points of a row, at places along one axis.
    ///
    /// # Safety
    /// The plan's contract; nothing else accesses what is written.
    unsafe fn along<T: Copy>(&self, axis: &IndexedAxis, cursor: &Cursor, len: usize) {
        let size = size_of::<T>().cast_signed();
        let (row, steps) = self.row(axis, cursor);
        let dense = if SCATTER { [0, size, 8] } else { [size, 0, 8] };
        // SAFETY: the contract of this function is that of the loops: the row has `len` points, whose
        // addresses are the plan's, and `T` has the size of its elements.
        unsafe {
            match (SCATTER, self.window.len() != axis.extent) {
                (false, _) if steps == dense => row.gather::<T, true>(steps, len),
                (false, _) => row.gather::<T, false>(steps, len),
                (true, false) if steps == dense => row.scatter::<T, true>(steps, len),
                (true, false) => row.scatter::<T, false>(steps, len),
                (true, true) => row.scatter_shared::<T>(steps, len),
            }
        }
    }

    /// What is at a cursor, and the bytes to step in each view.
    fn row(&self, axis: &IndexedAxis, cursor: &Cursor) -> (Row, [isize; 3]) {
        let inner = self.points.dims.len() - 1;
        let step = |view: usize| self.points.views[view].strides[inner];
        let row = Row {
            at: [cursor.at[DST], cursor.at[SRC], cursor.at[PLACES]],
            stride: axis.stride * self.points.views[DST].size.cast_signed(),
            window: self.window.clone(),
            last: axis.extent.cast_signed() as i64 - 1,
        };
        (row, [step(DST), step(SRC), step(PLACES)])
    }

    /// Moves the elements `start..end` of a row, at places along one axis. Whether all places are in range.
    ///
    /// # Safety
    /// The plan's contract; nothing else accesses what is written.
    unsafe fn along_checking(&self, start: usize, end: usize) -> bool {
        let (row, steps) = self.row(&self.axes[0], &self.points.seek(start));
        let dense = [self.size.cast_signed(), 0, 8] == steps;
        // SAFETY: the plan's addresses are readable and writable; `refused` lets only plans of one row pass here, so
        // that `start..end` is of it.
        with_size!(self.size, T => unsafe {
            match dense {
                true => row.gather_checking::<T, true>(steps, end - start),
                false => row.gather_checking::<T, false>(steps, end - start),
            }
        })
    }

    /// Adds an axis' part to the offsets in bytes of a row's points, whose places are from `at` on; a scatter goes to those in
    /// the window only.
    ///
    /// # Safety
    /// From `at` on, in steps of `step` bytes, there is a readable, aligned `int64` for each offset. It may be any number.
    unsafe fn locate(
        &self,
        offsets: &mut [isize],
        axis: &IndexedAxis,
        window: Range<usize>,
        at: *const u8,
        step: isize,
    ) {
        let last = axis.extent.cast_signed() - 1;
        let stride = axis.stride * self.points.views[DST].size.cast_signed();
        for (i, offset) in offsets.iter_mut().enumerate() {
            // SAFETY: places are readable and aligned for each of as many points as there are offsets.
            let place = unsafe { *at.wrapping_offset(step * i.cast_signed()).cast::<i64>() };
            if SCATTER {
                let inside = place.cast_unsigned().wrapping_sub(window.start as u64) < window.len() as u64
                    && *offset != NOWHERE;
                *offset = if inside { offset.wrapping_add(place as isize * stride) } else { NOWHERE };
            } else {
                *offset += place.clamp(0, last as i64) as isize * stride;
            }
        }
    }

    /// Moves one element for each offset; the first addresses and the bytes to step in the row come with either side.
    ///
    /// # Safety
    /// For each `i`, with `offsets[i]` added to the source of a gather or to the target of a scatter, unless it is [`NOWHERE`]:
    /// - an element of the size of `T` is readable `i` steps behind the first source;
    /// - one is writable `i` steps behind the first target, and nothing else accesses it.
    unsafe fn elements<T: Copy>(
        (dst, to_step): (*mut u8, isize),
        (src, from_step): (*mut u8, isize),
        offsets: &[isize],
    ) {
        for (i, &offset) in offsets.iter().enumerate() {
            let i = i.cast_signed();
            let (to, from) = (dst.wrapping_offset(to_step * i), src.wrapping_offset(from_step * i));
            // SAFETY: each offset leads to an element of the plan or is `NOWHERE`, which is not accessed.
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

/// A row of points, each with a place along one axis: the addresses of the output, the input and the places. Its loops are functions
/// by themselves, as there are registers then for all that they need.
struct Row {
    at: [*mut u8; 3],
    /// Bytes from one place to the next.
    stride: isize,
    /// The places that are written to.
    window: Range<usize>,
    /// The last place of the axis.
    last: i64,
}

impl Row {
    /// The address of a view's element.
    #[inline(always)]
    fn element(&self, steps: [isize; 3], view: usize, i: isize) -> *mut u8 {
        self.at[view].wrapping_offset(steps[view] * i)
    }

    /// # Safety
    /// The plan's contract: the point has a place.
    #[inline(always)]
    unsafe fn place(&self, steps: [isize; 3], i: isize) -> i64 {
        // SAFETY: point `i` of the row has a place, an aligned `int64` that is readable.
        unsafe { *self.element(steps, PLACES, i).cast::<i64>() }
    }

    /// Reads elements from places, or those nearest in range; `DENSE`: elements and places lie one after another.
    ///
    /// # Safety
    /// The plan's contract.
    #[inline(never)]
    unsafe fn gather<T: Copy, const DENSE: bool>(&self, steps: [isize; 3], len: usize) {
        let steps = if DENSE { [size_of::<T>().cast_signed(), 0, 8] } else { steps };
        for i in 0..len.cast_signed() {
            // SAFETY: the plan's addresses are readable and writable; the place is brought into range, so
            // that it is one of them.
            unsafe {
                let ahead = self.place(steps, i).clamp(0, self.last) as isize * self.stride;
                let from = self.element(steps, SRC, i).wrapping_offset(ahead).cast::<T>();
                self.element(steps, DST, i).cast::<T>().write_unaligned(from.read_unaligned());
            }
        }
    }

    /// Reads elements from places, negative ones counted from the end, or the first element for one out of range. Whether there is
    /// none of those.
    ///
    /// # Safety
    /// The plan's contract.
    #[inline(never)]
    unsafe fn gather_checking<T: Copy, const DENSE: bool>(&self, steps: [isize; 3], len: usize) -> bool {
        let steps = if DENSE { [size_of::<T>().cast_signed(), 0, 8] } else { steps };
        let extent = self.last + 1;
        let mut all = true;
        for i in 0..len.cast_signed() {
            // SAFETY: the plan's addresses are readable and writable; the place that is read is in range.
            unsafe {
                let place = self.place(steps, i);
                let place = place.wrapping_add(if place < 0 { extent } else { 0 });
                let inside = (0..extent).contains(&place);
                all &= inside;
                let ahead = (if inside { place } else { 0 }) as isize * self.stride;
                let from = self.element(steps, SRC, i).wrapping_offset(ahead).cast::<T>();
                self.element(steps, DST, i).cast::<T>().write_unaligned(from.read_unaligned());
            }
        }
        all
    }

    /// Where a point is written to, and whether it is.
    ///
    /// # Safety
    /// The plan's contract: the point has a place.
    #[inline(always)]
    unsafe fn target(&self, steps: [isize; 3], i: isize) -> (*mut u8, bool) {
        // SAFETY: point `i` of the row has a place.
        let place = unsafe { self.place(steps, i) };
        let inside = place.cast_unsigned().wrapping_sub(self.window.start as u64) < self.window.len() as u64;
        let ahead = (place as isize).wrapping_mul(self.stride);
        (self.element(steps, DST, i).wrapping_offset(ahead), inside)
    }

    /// Writes elements to places, which mostly are in range; `DENSE`: elements and places lie one after another.
    ///
    /// # Safety
    /// The plan's contract.
    #[inline(never)]
    unsafe fn scatter<T: Copy, const DENSE: bool>(&self, steps: [isize; 3], len: usize) {
        let steps = if DENSE { [0, size_of::<T>().cast_signed(), 8] } else { steps };
        for i in 0..len.cast_signed() {
            // SAFETY: the source has an element for each point; the target is written only where its place is
            // in range, so that it is an element of the output.
            unsafe {
                if let (to, true) = self.target(steps, i) {
                    // Stores wait for each other's lines; what is fetched does not.
                    stream::fetch::<1>(to);
                    let from = self.element(steps, SRC, i).cast::<T>();
                    to.cast::<T>().write_unaligned(from.read_unaligned());
                }
            }
        }
    }

    /// The same, where other threads write to the places out of the window: which those are is not foreseen, so that they go
    /// nowhere instead of being left out.
    ///
    /// # Safety
    /// The plan's contract.
    #[inline(never)]
    unsafe fn scatter_shared<T: Copy>(&self, steps: [isize; 3], len: usize) {
        // In turns: what is written where something was just written waits for it.
        let mut nowhere = [MaybeUninit::<T>::uninit(); NOWHERES];
        for i in 0..len {
            let to_nowhere = nowhere[i % NOWHERES].as_mut_ptr().cast::<u8>();
            // SAFETY: the source has an element for each point; what is not in the window, be it another
            // thread's or out of range, is written to `nowhere`, which has room for it.
            unsafe {
                let (to, inside) = self.target(steps, i.cast_signed());
                let to = std::hint::select_unpredictable(inside, to, to_nowhere);
                stream::fetch::<1>(to);
                let from = self.element(steps, SRC, i.cast_signed()).cast::<T>();
                to.cast::<T>().write_unaligned(from.read_unaligned());
            }
        }
    }
}

/// Moves a block, in row-major order.
///
/// # Safety
/// - The elements, of `size` bytes, that the block's extents and `src` steps reach from `src` on are readable.
/// - Those that its `dst` steps reach from `dst` on are writable.
/// - They do not overlap, and nothing else accesses them in conflict.
/// - The processor has the instruction set.
pub(crate) unsafe fn move_block(isa: Isa, dst: *mut u8, src: *const u8, block: &[Inner], size: usize) {
    // SAFETY: for all of this function: the elements that the block's extents and steps reach are readable at
    // `src` and writable at `dst`, and apart; so are those of each part of it.
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
