//! Iteration spaces: extents and how operands lie in them.

use smallvec::SmallVec;
use stridewise_core::backend::{LaunchPlan, MAX_INPUTS, MAX_OUTPUTS, MAX_PLAN_DIMS, Operand, Stored};

use super::pack::{self, Walk};
use crate::kernels::entry::{REVERSED, SECONDS};
use crate::kernels::stream::LINE_BYTES;
use crate::simd::Isa;

/// Operands that a plan has at most.
pub(crate) const MAX_OPERANDS: usize = MAX_INPUTS + MAX_OUTPUTS;
/// Innermost extents below this are handled across rows.
pub(crate) const SHORT_ROW: usize = 64;

/// How an operand lies along a tile.
///
/// Every second element (a channel, a real part) and elements in reverse are the usual strided operands.
/// Gathered into tiles, each element is loaded and stored once more, and from far memory the processor
/// fetches less ahead of what is not come back to at once. So operations on floats with short bodies take
/// them by blocks (`blocks.rs`): single operations that are waited for, which saves the submission, too, and
/// plans that move more than a core's caches have (`tile.rs`). Functions with long bodies, copies, choices,
/// conversions and tests gather into tiles in any case, and so do other steps that share an operand with one
/// of these. Folds halve whole vectors on the way to the accumulators (`Seconds` in `read.rs`). The cost is
/// three ways to read one operand, and assembly at two levels.
///
/// Measured by two threads (machine not recorded): sum of every second of 64 Ki `float32` 8.9 to 2.7 µs, as
/// of all elements; of 16 Mi 1.65 to 0.95 ms. Addition of 64 Ki 0.58 of the time in reverse, 0.51 of every
/// second (`float64` 0.71, 0.58); every second of 16 Mi 0.68 (`float32`) and 0.88, in reverse 0.83 and 0.76.
/// These are of functions that read such operands themselves; by blocks, sums of every second element take
/// about 1.1 of that time. The rows `strided by 2` and `negative stride` of the benchmark watch it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Access {
    /// Element after element: used where it is.
    Contiguous,
    /// One element for the whole tile.
    Uniform,
    /// Every second element, or element after element backwards: an input is used where it is by functions that can read it so;
    /// otherwise as [`Packed`](Self::Packed).
    Seconds,
    /// See [`Seconds`](Self::Seconds).
    Reversed,
    /// Anything else: moved from or to a tile.
    Packed,
}

impl Access {
    /// What tells a function how its source of this number lies.
    pub(crate) fn flags(self, source: usize) -> u32 {
        match self {
            Self::Contiguous | Self::Packed => 0,
            Self::Uniform => 1 << source,
            Self::Seconds => SECONDS << source,
            Self::Reversed => REVERSED << source,
        }
    }
}

/// One operand.
#[derive(Clone)]
pub(crate) struct View {
    /// Address of the element at multi-index zero; of an index, its value there.
    pub(crate) ptr: *mut u8,
    /// Bytes of an element.
    pub(crate) size: usize,
    /// Bytes to step per dimension; of an index, what its value grows by.
    pub(crate) strides: SmallVec<[isize; MAX_PLAN_DIMS]>,
    /// Whether elements are computed from their place instead of read: addresses are values then, and nothing is there.
    pub(crate) index: bool,
}

impl View {
    /// The operand of a plan, with the strides of `dims` only.
    pub(crate) fn new(operand: &Operand, size: usize, dims: std::ops::Range<usize>) -> Self {
        // One after the other: to collect them takes several times as long.
        let mut strides = SmallVec::new();
        for &stride in &operand.strides[dims] {
            strides.push(stride.wrapping_mul(size.cast_signed()));
        }
        Self { ptr: operand.ptr.as_ptr(), size, strides, index: false }
    }

    /// The input of this number of a plan, with the strides of `dims` only.
    pub(crate) fn input(plan: &LaunchPlan, input: usize, dims: std::ops::Range<usize>) -> Self {
        let (operand, size) = (&plan.inputs[input], plan.program.inputs()[input].size());
        if !plan.program.is_index(input) {
            return Self::new(operand, size, dims);
        }
        let strides = SmallVec::from_slice(&operand.strides[dims]);
        Self { ptr: operand.ptr.as_ptr(), size, strides, index: true }
    }

    /// What would be stored, with the strides of `dims` only.
    pub(crate) fn stored(stored: &Stored, dims: std::ops::Range<usize>) -> Self {
        let size = stored.dtype.size();
        let strides = stored.strides[dims].iter().map(|s| s * size.cast_signed()).collect();
        Self { ptr: std::ptr::null_mut(), size, strides, index: false }
    }

    /// Bytes of memory that are moved for an element: the whole line of the cache, where none of its neighbours is in it. None
    /// for what is computed, or read again and again, which takes no memory to speak of.
    pub(crate) fn moved(&self) -> Option<usize> {
        let once = !self.index && self.strides.iter().all(|&step| step != 0);
        let nearest = self.strides.iter().map(|step| step.unsigned_abs()).min().unwrap_or(0);
        once.then(|| nearest.clamp(self.size, LINE_BYTES))
    }

    /// Whether most of its memory is another one's, too, as of slices of an array that are some places apart.
    fn shares(&self, other: &Self, dims: &[usize]) -> bool {
        let alike = !self.index && !other.index && self.size == other.size && self.strides == other.strides;
        let span: usize = self
            .strides
            .iter()
            .zip(dims)
            .map(|(step, extent)| step.unsigned_abs() * extent.saturating_sub(1))
            .sum();
        alike && self.ptr.addr().abs_diff(other.ptr.addr()) <= span / 2
    }
}

/// Extents and operands; extents of 1 are left out, adjacent dimensions are merged where every operand allows it.
#[derive(Clone)]
pub(crate) struct Space {
    pub(crate) dims: SmallVec<[usize; MAX_PLAN_DIMS]>,
    pub(crate) views: SmallVec<[View; 4]>,
    /// Whether tiles run across rows.
    pub(crate) across: bool,
    /// The instruction set that elements are gathered with.
    pub(crate) isa: Isa,
}

// SAFETY: the pointers are addresses only; whoever uses them does so under the contract of `kernels::run`, which gives
// the plan's memory to all threads that take part, each for its own outputs.
unsafe impl Sync for Space {}
// SAFETY: addresses only, as for `Sync`.
unsafe impl Send for Space {}

impl Space {
    /// The space of some extents, outermost first.
    pub(crate) fn new(dims: &[usize], views: SmallVec<[View; 4]>, isa: Isa) -> Self {
        let mut space = Self { dims: SmallVec::from_slice(dims), views, across: false, isa };
        for d in (0..space.dims.len()).rev() {
            if space.dims[d] == 1 {
                space.remove(d);
            }
        }
        space
    }

    /// Orders the dimensions by the steps of one operand, the largest outermost.
    pub(crate) fn sort_by(&mut self, view: usize) {
        for end in (1..self.dims.len()).rev() {
            for d in 0..end {
                let strides = &self.views[view].strides;
                if strides[d].unsigned_abs() < strides[d + 1].unsigned_abs() {
                    self.dims.swap(d, d + 1);
                    for v in &mut self.views {
                        v.strides.swap(d, d + 1);
                    }
                }
            }
        }
    }

    /// The same by the steps of a view that is none of the operands.
    pub(crate) fn sort_like(&mut self, view: View) {
        self.views.push(view);
        self.sort_by(self.views.len() - 1);
        self.views.pop();
    }

    /// Merges dimensions and chooses the direction of tiles.
    pub(crate) fn merge(&mut self) {
        for d in (1..self.dims.len()).rev() {
            let extent = self.dims[d].cast_signed();
            if self.views.iter().all(|v| v.strides[d - 1] == v.strides[d].wrapping_mul(extent)) {
                self.dims[d - 1] *= self.dims[d];
                for v in &mut self.views {
                    v.strides[d - 1] = v.strides[d];
                }
                self.remove(d);
            }
        }
        self.across = self.dims.len() > 1 && self.dims[self.dims.len() - 1] < SHORT_ROW;
    }

    /// Brings the dimension along which one of the first `inputs` views lies element after element next to the innermost,
    /// so that tiles of neighbouring rows find neighbours in memory. The order of the others stays.
    pub(crate) fn pair(&mut self, inputs: usize) {
        let Some(inner) = self.dims.len().checked_sub(1) else { return };
        if self.across || inner < 2 {
            return;
        }
        let dense = |v: &View| {
            let size = v.size.cast_signed();
            (!v.index && v.strides[inner] != size)
                .then(|| v.strides.iter().position(|&s| s == size))
                .flatten()
        };
        if let Some(d) = self.views[..inputs].iter().find_map(dense) {
            self.dims[d..inner].rotate_left(1);
            for v in &mut self.views {
                v.strides[d..inner].rotate_left(1);
            }
        }
    }

    fn remove(&mut self, d: usize) {
        self.dims.remove(d);
        for v in &mut self.views {
            v.strides.remove(d);
        }
    }

    /// The first `views` of the operands without those whose memory another one of them reads, too, further on: a cache has it.
    pub(crate) fn apart(&self, views: usize) -> impl Iterator<Item = (usize, &View)> {
        let views = &self.views[..views];
        let again = |k: usize, view: &View| {
            let further = |(other, o): (usize, &View)| {
                (o.ptr, k).cmp(&(view.ptr, other)).is_gt() && view.shares(o, &self.dims)
            };
            views.iter().enumerate().any(further)
        };
        views.iter().enumerate().filter(move |&(k, view)| !again(k, view))
    }

    /// Number of points.
    pub(crate) fn len(&self) -> usize {
        self.dims.iter().product()
    }

    /// Extent of the innermost dimension.
    pub(crate) fn row(&self) -> usize {
        self.dims.last().copied().unwrap_or(1)
    }

    /// Points from a cursor on to the end of its row.
    pub(crate) fn left(&self, cursor: &Cursor) -> usize {
        self.row() - cursor.index[self.dims.len().saturating_sub(1)]
    }

    /// How a view lies along tiles.
    pub(crate) fn access(&self, view: usize) -> Access {
        let v = &self.views[view];
        if v.index {
            return Access::Packed;
        }
        let Some(&inner) = v.strides.last() else { return Access::Contiguous };
        if self.across {
            let mut dense = v.size.cast_signed();
            let mut contiguous = true;
            for (&stride, &extent) in v.strides.iter().zip(&self.dims).rev() {
                contiguous &= stride == dense;
                dense = dense.wrapping_mul(extent.cast_signed());
            }
            return match contiguous {
                true => Access::Contiguous,
                false if v.strides.iter().all(|&s| s == 0) => Access::Uniform,
                false => Access::Packed,
            };
        }
        match inner {
            0 => Access::Uniform,
            s if s == v.size.cast_signed() => Access::Contiguous,
            _ => Access::Packed,
        }
    }

    /// The same, of what functions may read where it lies although it is neither.
    pub(crate) fn access_apart(&self, view: usize) -> Access {
        let v = &self.views[view];
        let size = v.size.cast_signed();
        match (self.access(view), v.strides.last()) {
            (access, _) if access != Access::Packed || self.across || v.index => access,
            (_, Some(&step)) if step == 2 * size => Access::Seconds,
            (_, Some(&step)) if step == -size => Access::Reversed,
            _ => Access::Packed,
        }
    }

    /// Writes `len` elements of a tile to a view whose element at a multi-index is at `at`.
    ///
    /// # Safety
    /// - `len` elements of the view's size are readable at `src`.
    /// - `at` is the address of the view's element at `index`, and from there on those of `len` elements in row-major order are writable,
    ///   disjoint from the tile, and accessed by nothing else.
    /// - The elements stay in the row unless tiles run across rows.
    pub(crate) unsafe fn scatter(
        &self,
        view: usize,
        at: *mut u8,
        index: &[usize; MAX_PLAN_DIMS],
        src: *const u8,
        len: usize,
    ) {
        let v = &self.views[view];
        // SAFETY: the view's addresses from `at` on are writable for `len` elements, within the row unless
        // tiles run across rows, and apart from those at `src`; only views with dimensions are scattered.
        unsafe {
            if self.across {
                pack::scatter_rows(at, src, &self.walk(v, index), v.size, len);
            } else {
                pack::scatter(at, src, v.strides[v.strides.len() - 1], v.size, len);
            }
        }
    }

    /// Reads `len` elements of a view, from where its element at a multi-index is `at`, into a tile.
    ///
    /// # Safety
    /// - `dst` has room for `len` elements of the view's size, of `int64` for an index, aligned for these.
    /// - `at` is the address of the view's element at `index`, and from there on those of `len` elements in row-major order are readable
    ///   and disjoint from the tile; of an index, it is a number.
    /// - The elements stay in the row unless tiles run across rows.
    /// - The processor has the instruction set of the space.
    pub(crate) unsafe fn gather(
        &self,
        view: usize,
        dst: *mut u8,
        at: *const u8,
        index: &[usize; MAX_PLAN_DIMS],
        len: usize,
    ) {
        let v = &self.views[view];
        // SAFETY: the view's addresses from `at` on are readable for `len` elements, within the row unless
        // tiles run across rows, and the tile is apart from them; an index's tile holds `int64`, and nothing
        // is read for it.
        unsafe {
            if v.index {
                let first = at.addr().cast_signed();
                match self.dims.len() {
                    0 => pack::number(dst.cast(), first, 0, len),
                    _ if self.across => pack::number_rows(dst.cast(), first, &self.walk(v, index), len),
                    dims => pack::number(dst.cast(), first, v.strides[dims - 1], len),
                }
            } else if self.across {
                pack::gather_rows(self.isa, dst, at, &self.walk(v, index), v.size, len);
            } else {
                pack::gather(self.isa, dst, at, v.strides[v.strides.len() - 1], v.size, len);
            }
        }
    }

    /// Where `len` elements of a view, from its element at a cursor on, lie one after another: where they are, or else in
    /// `room`, which they are gathered into.
    ///
    /// # Safety
    /// As for [`gather`](Self::gather); `room` has room for them.
    pub(crate) unsafe fn dense(&self, view: usize, cursor: &Cursor, room: *mut u8, len: usize) -> *const u8 {
        let at = cursor.at[view];
        if self.access(view) == Access::Contiguous {
            return at;
        }
        // SAFETY: the view's addresses from the cursor on are readable for `len` elements, for which `room`
        // has room.
        unsafe { self.gather(view, room, at, &cursor.index, len) };
        room
    }

    /// Writes `len` elements to a view, from its element at a cursor on.
    ///
    /// # Safety
    /// As for [`scatter`](Self::scatter).
    pub(crate) unsafe fn put(&self, view: usize, cursor: &Cursor, src: *const u8, len: usize) {
        let at = cursor.at[view];
        // SAFETY: the view's addresses from the cursor on are writable for `len` elements, and apart from
        // those at `src`.
        unsafe {
            match self.access(view) {
                Access::Contiguous => std::ptr::copy_nonoverlapping(src, at, len * self.views[view].size),
                _ => self.scatter(view, at, &cursor.index, src, len),
            }
        }
    }

    /// Moves a cursor behind a tile of `len` points, to the point of a number.
    pub(crate) fn go_on(&self, cursor: &mut Cursor, to: usize, len: usize) {
        if self.across {
            *cursor = self.seek(to);
        } else {
            self.advance(cursor, len);
        }
    }

    fn walk<'a>(&'a self, view: &'a View, index: &'a [usize; MAX_PLAN_DIMS]) -> Walk<'a> {
        Walk { dims: &self.dims, strides: &view.strides, index: &index[..self.dims.len()] }
    }

    /// A cursor at a position in row-major order.
    // Inline, as a cursor takes longer to be moved than to be made.
    #[inline(always)]
    pub(crate) fn seek(&self, position: usize) -> Cursor {
        let mut cursor = Cursor { index: [0; MAX_PLAN_DIMS], at: [std::ptr::null_mut(); MAX_OPERANDS] };
        let mut rest = position;
        for d in (1..self.dims.len()).rev() {
            cursor.index[d] = rest % self.dims[d];
            rest /= self.dims[d];
        }
        cursor.index[0] = rest;
        for (at, v) in cursor.at.iter_mut().zip(&self.views) {
            let offset: isize = v.strides.iter().zip(&cursor.index).map(|(&s, &i)| s * i.cast_signed()).sum();
            *at = v.ptr.wrapping_offset(offset);
        }
        cursor
    }

    /// Moves a cursor by `len` points, which stay in its row or end it.
    pub(crate) fn advance(&self, cursor: &mut Cursor, len: usize) {
        let Some(inner) = self.dims.len().checked_sub(1) else { return };
        cursor.index[inner] += len;
        for (at, v) in cursor.at.iter_mut().zip(&self.views) {
            *at = at.wrapping_offset(v.strides[inner] * len.cast_signed());
        }
        for d in (0..=inner).rev() {
            if cursor.index[d] < self.dims[d] {
                break;
            }
            let extent = self.dims[d].cast_signed();
            cursor.index[d] = 0;
            for (at, v) in cursor.at.iter_mut().zip(&self.views) {
                let carry = if d > 0 { v.strides[d - 1] } else { 0 };
                *at = at.wrapping_offset(carry - v.strides[d] * extent);
            }
            if d > 0 {
                cursor.index[d - 1] += 1;
            }
        }
    }
}

/// A place in a [`Space`]: the multi-index, and the address of each operand's element there.
pub(crate) struct Cursor {
    pub(crate) index: [usize; MAX_PLAN_DIMS],
    pub(crate) at: [*mut u8; MAX_OPERANDS],
}
