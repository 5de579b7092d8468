//! Small folds, without a plan: of arrays that are seen as three dimensions, of which the middle one is folded.
//! ```text
//! sum over axis 1 of shape (2, 4, 3):   outer 2, len 4, inner 3:   6 results of 4 elements each, 3 elements apart
//! ```
//! A fold gives the bits of the plan of the same reduction: it is cut by the same decision ([`Cut`]), and joined in the same tree
//! ([`Partials`]). The limit is what a call costs: make no allocation and walk no list on the way to a short fold.

use std::sync::atomic::{AtomicBool, Ordering};

use stridewise_core::backend::{Fold, FoldExtents};
use stridewise_core::{Dtype, Op, Result};

use super::cut::{Cut, FEW, Points, SEGMENT, accumulator};
use super::fold::{Accumulators, FIRST, LAST};
use super::folding::{Folding, folding};
use super::partials::{Kind, Partials, Run};
use super::read::{products, seconds, widening};
use super::rows::ROWS;
use crate::fork_join::{self, helping};
use crate::kernels::elementwise::step;
use crate::kernels::moving::pack::{self, Walk};
use crate::kernels::moving::space::SHORT_ROW;
use crate::kernels::program::code::SLOT_BYTES;
use crate::kernels::program::tile::Scratch;
use crate::kernels::split::Address;
use crate::kernels::tuning::{
    AT_ONCE_NS, FIRST_CACHE_BYTES, GATHER_PS, NEAR_PS, READ_PS, Tuning, WAITED_NS, step_ps,
};
use crate::simd::Isa;

/// Which threads take part in work at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sharing {
    /// The calling one.
    Alone,
    /// Another one helps, if it is awake.
    Helped,
    /// All.
    All,
}

/// Rough time of a call of a kernel, in picoseconds.
const CALL_PS: usize = 20_000;
/// Bytes of elements that are gathered at a time, unless a segment has more.
const GATHERED_BYTES: usize = 16 << 10;
/// Bytes of converted elements at most.
const CONVERTED_BYTES: usize = 64 << 10;

/// Which threads take part in a fold of elements of a dtype, or of their products with others: as many as are worth it, and can.
pub(crate) fn shares_fold(fold: Fold, dtype: Dtype, others: bool, extents: FoldExtents) -> Sharing {
    let reading = (extents.elements() * dtype.size() * READ_PS) << usize::from(others);
    // Many results come from one call, but for these.
    let calls = if matches!(fold, Fold::Op(_)) { 0 } else { extents.results() * 2 * CALL_PS };
    let nanoseconds = (reading + calls) / 1000;
    match nanoseconds {
        _ if !has_parts(extents) => Sharing::Alone,
        ns if ns <= helping::ALONE_NS as usize => Sharing::Alone,
        ns if ns <= AT_ONCE_NS => Sharing::Helped,
        _ => Sharing::All,
    }
}

/// Whether several threads may take part, where nothing is gathered: each has parts of the tree of one result, or of one row of
/// results, or some of the results.
fn has_parts(extents: FoldExtents) -> bool {
    (extents.outer == 1 && (extents.inner == 1 || points(extents, false).by_rows())) || divides(extents)
}

/// How the points of these extents lie; `dense`: whether they are folded as they are.
fn points(extents: FoldExtents, dense: bool) -> Points {
    let FoldExtents { outer, len, inner, .. } = extents;
    let (steps, across) = if inner > 1 { ([1, inner], inner) } else { ([len, 1], outer) };
    Points { outputs: extents.results(), points: len, steps, across, along: len, dense: dense && inner == 1 }
}

/// Whether results may be computed by several threads, each some of them: so many elements of each, one after another, are
/// folded in the same order however many results there are.
fn divides(extents: FoldExtents) -> bool {
    extents.outer > 1 && extents.inner == 1 && extents.len >= FEW
}

/// Folds elements, or their products with factors, to the bits of a plan. Whether it did: where they are not too many, and,
/// where they lie apart, are folded as they are.
///
/// # Safety
/// - No extent is 0.
/// - At `src`, and at the factors if there are any, there are as many elements as the extents say, of the first dtype, aligned and
///   readable. What lies between them is memory, which others may write.
/// - At `dst` as many results are writable, of the fold's dtype, aligned, and apart from the elements.
/// - Nothing else accesses them in conflict.
/// - The processor has the instruction set.
pub(crate) unsafe fn fold_elements(
    fold: Fold,
    [from, dtype]: [Dtype; 2],
    dst: *mut u8,
    (src, factors): (*const u8, Option<*const u8>),
    extents: FoldExtents,
    tuning: &Tuning,
) -> bool {
    let isa = tuning.isa;
    let FoldExtents { outer, len, inner, step: apart } = extents;
    let (outputs, elements) = (extents.results(), extents.elements());
    let acc = accumulator(dtype);
    // Elements that are none would be rounded before, as well.
    let half = acc != dtype;
    if apart > 1 && (outputs > 1 || from != acc || factors.is_some()) {
        return false;
    }
    // A run may be folded as it is.
    let as_is = match fold {
        Fold::Op(op) if outputs == 1 && from == acc => {
            as_it_is(op, acc, apart, factors.map(|factors| factors == src), isa)
        }
        Fold::Op(op) if outputs == 1 && factors.is_none() => {
            let widened = widening(op, from, acc, isa).zip(folding(op, acc, isa));
            widened.map(|((run, many), folding)| Folding { run, many, ..folding })
        }
        _ => None,
    };
    if let Some(folding) = &as_is
        && len <= SEGMENT
        && from == dtype
        && !half
    {
        // SAFETY: `len` elements are readable at `src`, and at `factors` if there are any, and the result is
        // writable; `extents` say one result of `len` elements, which are one segment.
        unsafe { fold_run(folding, dst, (src, factors), acc.size(), len) };
        return true;
    }
    let converts = from != acc && as_is.is_none();
    let size = if as_is.is_some() { from.size() } else { acc.size() };
    if (half && from != dtype) || (converts && elements * size > CONVERTED_BYTES) {
        return false;
    }
    let dense = from == acc
        && (inner, apart) == (1, 1)
        && len > 1
        && matches!(fold, Fold::Op(_))
        && matches!(acc, Dtype::F32 | Dtype::F64);
    let cut = Cut::new(fold, acc, points(extents, dense));
    let rows = cut.rows;
    let gathered = match rows {
        true => outer > 1 && inner < SHORT_ROW,
        false => inner > 1 || (apart > 1 && as_is.is_none()),
    };
    let calls = match (rows, gathered) {
        (true, true) => len,
        (true, false) => outer * len.div_ceil(ROWS),
        (false, _) => outputs,
    };
    let sources = 1 + usize::from(factors.is_some_and(|factors| factors != src));
    let each = sources * size * if rows { NEAR_PS } else { READ_PS * apart.min(2) }
        + if gathered { GATHER_PS } else { 0 }
        + if converts { step_ps(Op::Cast, from) } else { 0 };
    let most_ns = if has_parts(extents) && !gathered { WAITED_NS } else { AT_ONCE_NS };
    if elements > most_ns * 1000 / each || calls > most_ns * 1000 / CALL_PS {
        return false;
    }
    if tuning.threads > 1 && factors.is_none() && divides(extents) {
        let alone = Tuning { threads: 1, ..*tuning };
        let (to, from_each) = (Address(dst), Address(src.cast_mut()));
        let (bytes, result, parts) = (len * from.size(), fold.result(dtype).size(), 2 * tuning.threads);
        let all_did = AtomicBool::new(true);
        fork_join::share(parts, tuning.threads, &|part| {
            let first = outer * part / parts;
            let extents = FoldExtents { outer: outer * (part + 1) / parts - first, ..extents };
            let (to, src) = (to.at(first * result), from_each.at(first * bytes).cast_const());
            // SAFETY: elements and results of `outer` results from the `first` on are those of the whole, and
            // no other part writes them.
            let did = extents.outer == 0
                || unsafe { fold_elements(fold, [from, dtype], to, (src, None), extents, &alone) };
            all_did.fetch_and(did, Ordering::Relaxed);
        });
        return all_did.into_inner();
    }
    if dense
        && outputs > 1
        && len <= SEGMENT
        && factors.is_none()
        && let Fold::Op(op) = fold
        && let Some(Folding { many, identity, .. }) = folding(op, acc, isa)
    {
        let pitch = (len * size).cast_signed();
        // SAFETY: `outputs` runs of `len` readable elements follow each other, `pitch` bytes apart, each of
        // which is one segment; as many results are writable at `dst`.
        unsafe { many.call(dst, src, &identity, pitch, outputs, len) };
        return true;
    }
    let kind = match (as_is, factors) {
        (Some(folding), _) => Some(Kind::Value(folding)),
        (None, None) => Kind::new(fold, acc, isa),
        (None, Some(_)) => None,
    };
    let Some(kind) = kind else { return false };
    let cast = |from, to| step::resolve(Op::Cast, from, to, isa).map(|resolved| resolved.run);
    let (widen, narrow) = match (converts.then(|| cast(from, acc)), half.then(|| cast(acc, dtype))) {
        (Some(None), _) | (_, Some(None)) => return false,
        // Places are no 16-bit floats.
        (widen, narrow) => (widen.flatten(), narrow.flatten().filter(|_| !fold.is_index())),
    };

    let width = match (rows, gathered) {
        (false, _) => 1,
        (true, true) => GATHERED_BYTES / ROWS / size,
        (true, false) => FIRST_CACHE_BYTES / size,
    };
    let late = fold.is_index() && !rows;
    let partials = Partials { kind, acc, rows, len: width.min(outputs), late };
    // One for each level of the tree.
    let levels = cut.segments().next_power_of_two().trailing_zeros() as usize + 1;
    let line = |bytes: usize| bytes.next_multiple_of(64);
    let room = line(levels * partials.bytes());
    let converted = room + if gathered { line(GATHERED_BYTES.max(len.min(SEGMENT) * size)) } else { 0 };
    let values = converted + if converts { line(elements * size) } else { 0 };
    let bytes = values + if narrow.is_some() { line(outputs * acc.size()) } else { 0 };
    // Without memory for them, a plan says so.
    let Ok(mut scratch) = Scratch::take(bytes.next_multiple_of(SLOT_BYTES)) else { return false };
    let partial = scratch.ptr();
    let [room, converted, values] = [room, converted, values].map(|at| partial.wrapping_add(at));
    // SAFETY: elements and factors are readable, and the results writable, for these extents, of which none
    // is 0; partials, gathered and converted elements and values have parts of the scratch memory of their
    // own, as long as each needs.
    unsafe {
        let mut src = src;
        if let Some(widen) = widen {
            widen(converted, src, src, src, 0, elements);
            src = converted;
        }
        let to = if narrow.is_some() { values } else { dst };
        let work = Work { partials, extents, cut, src, factors, tuning, size, gathered, partial, room };
        if work.all(to).is_err() {
            return false;
        }
        if let Some(narrow) = narrow {
            narrow(dst, values, values, values, 0, outputs);
        }
    }
    true
}

/// The functions for a fold to one result that reads elements, so many apart, or products of neighbours, as they are; `None`
/// where there are none, as of other folds of products than sums. `of_products`: whether they are squares, if there are any.
fn as_it_is(op: Op, dtype: Dtype, apart: usize, of_products: Option<bool>, isa: Isa) -> Option<Folding> {
    let (run, many) = match (of_products, apart) {
        (None, 1) => return folding(op, dtype, isa),
        (None, 2) => seconds(op, dtype, isa)?,
        (Some(squares), 1) if op == Op::Add => {
            (products(squares, dtype, isa)?, folding(op, dtype, isa)?.many)
        }
        _ => return None,
    };
    Some(Folding { run, many, ..folding(op, dtype, isa)? })
}

/// Folds a run that is all of one segment, of elements or of their products, to a result of `size` bytes.
///
/// # Safety
/// As for [`fold_elements`], of `len` elements.
unsafe fn fold_run(
    folding: &Folding,
    dst: *mut u8,
    (src, factors): (*const u8, Option<*const u8>),
    size: usize,
    len: usize,
) {
    let mut accumulators = Accumulators::new();
    let first = accumulators.as_mut_ptr();
    // SAFETY: `len` elements are readable at `src`, and at `factors` if there are any, and `size` bytes
    // writable at `dst`; the accumulators are of as many bytes as a run needs, and the first is its result.
    unsafe {
        folding.run.call(first, src, &folding.identity, factors.unwrap_or(src), FIRST | LAST, len);
        std::ptr::copy_nonoverlapping(first, dst, size);
    }
}

/// A fold, and memory to compute it in.
struct Work<'a> {
    partials: Partials,
    extents: FoldExtents,
    cut: Cut,
    src: *const u8,
    factors: Option<*const u8>,
    tuning: &'a Tuning,
    /// Bytes of an element.
    size: usize,
    /// Whether elements of an output, or of a row, lie apart and are brought together.
    gathered: bool,
    /// Partials, as many as the tree has levels.
    partial: *mut u8,
    /// Where elements are brought together.
    room: *mut u8,
}

// SAFETY: addresses only. What threads share only reads at them, and has partials of its own (`fold_tree`): rooms are written to
// by one thread alone.
unsafe impl Sync for Work<'_> {}

impl Work<'_> {
    /// Where a point of an output is.
    fn place(&self, output: usize, point: usize) -> *const u8 {
        let FoldExtents { len, inner, step: apart, .. } = self.extents;
        let element = (output / inner * len + point) * inner + output % inner;
        self.src.wrapping_add(element * apart * self.size)
    }

    /// Folds everything.
    ///
    /// # Errors
    /// There is no memory for the partials of several threads.
    ///
    /// # Safety
    /// The contract of [`fold_elements`] holds, and the memory is there.
    unsafe fn all(&self, dst: *mut u8) -> Result<()> {
        // SAFETY: each road has the contract of this function: elements, factors and results of these
        // extents, and memory as `fold_elements` has laid it out.
        unsafe {
            match &self.partials.kind {
                _ if self.partials.rows => self.rows(dst),
                Kind::Value(folding) if self.extents.results() > 1 && self.extents.len <= SEGMENT => {
                    self.many(folding, dst);
                    Ok(())
                }
                _ => (0..self.extents.results()).try_for_each(|output| self.one(output, dst)),
            }
        }
    }

    /// Folds the points of outputs which are one segment each, many at a time.
    ///
    /// # Safety
    /// As for [`all`](Self::all).
    unsafe fn many(&self, folding: &Folding, dst: *mut u8) {
        let (outputs, len) = (self.extents.results(), self.extents.len);
        let bytes = len * self.size;
        let most = if self.gathered { (GATHERED_BYTES / bytes).max(1) } else { outputs };
        let mut output = 0;
        while output < outputs {
            let count = most.min(outputs - output);
            let mut src = self.place(output, 0);
            // SAFETY: the elements of `count` outputs, of `len` each, are readable, and the results writable;
            // `room` is for as many outputs' points as are gathered, and for those of one.
            unsafe {
                if self.gathered {
                    for k in 0..count {
                        self.run(output + k, 0, len, self.room.add(k * bytes));
                    }
                    src = self.room;
                }
                let to = dst.add(output * self.size);
                folding.many.call(to, src, &folding.identity, bytes.cast_signed(), count, len);
            }
            output += count;
        }
    }

    /// Folds the points of one output.
    ///
    /// # Errors
    /// As for [`all`](Self::all).
    ///
    /// # Safety
    /// As for [`all`](Self::all).
    unsafe fn one(&self, output: usize, dst: *mut u8) -> Result<()> {
        let partials = &self.partials;
        let points = |segment| self.cut.before(segment);
        // SAFETY: the output's elements, and the factors, are readable; there is a partial for each level of
        // the tree, and `run` is given points of one segment, for which there is room.
        unsafe {
            let leaf = |segment: usize, acc: *mut u8| {
                let (at, end) = (points(segment), points(segment + 1));
                let value = self.run(output, at, end - at, self.room);
                // There is one result.
                let factor = self.factors.map_or(value, |factors| factors.wrapping_add(at * self.size));
                let run = Run { at, first: true, last: true, points: end - at, ahead: false };
                partials.run(acc, [value, factor], &run, run.points);
            };
            self.fold_tree(1, &leaf)?;
            partials.locate(self.partial, |at| {
                let len = self.cut.from(at);
                (self.run(output, at, len, self.room), len)
            });
            let (result, size) = partials.result();
            std::ptr::copy_nonoverlapping(self.partial.add(result), dst.add(output * size), size);
        }
        Ok(())
    }

    /// Folds all segments of `len` outputs into the first partial, by several threads where nothing is gathered.
    ///
    /// # Errors
    /// As for [`all`](Self::all).
    ///
    /// # Safety
    /// As for [`all`](Self::all); `leaf` folds a segment of these outputs into a partial.
    unsafe fn fold_tree(&self, len: usize, leaf: &(impl Fn(usize, *mut u8) + Sync)) -> Result<()> {
        let (partials, segments) = (&self.partials, self.cut.segments());
        // SAFETY: `leaf` folds a segment of these outputs into a partial; there is one for each level of the
        // tree, and the spare memory of a part is for as many.
        unsafe {
            let tree = partials.tree(len, |segment| self.cut.before(segment));
            if !self.gathered && tree.is_shared(segments, self.tuning.threads) {
                tree.share(segments, self.partial, self.tuning.threads, &|part, acc| {
                    let mut spare = Scratch::take(part.len() * partials.bytes())?;
                    tree.fold(part, acc, spare.ptr(), &mut &*leaf);
                    Ok(())
                })
            } else {
                tree.fold(0..segments, self.partial, self.partial.add(partials.bytes()), &mut &*leaf);
                Ok(())
            }
        }
    }

    /// The `len` points of an output from one on, one after another: where they are, or gathered.
    ///
    /// # Safety
    /// They are there; where elements are gathered, `room` is long enough.
    unsafe fn run(&self, output: usize, at: usize, len: usize, room: *mut u8) -> *const u8 {
        let from = self.place(output, at);
        if !self.gathered {
            return from;
        }
        let step = (self.extents.inner * self.extents.step * self.size).cast_signed();
        // SAFETY: `len` elements of the output from `at` on are readable, `step` bytes apart; `room` is for
        // as many.
        unsafe { pack::gather(self.tuning.isa, room, from, step, self.size, len) };
        room
    }

    /// Folds rows of outputs: of neighbours, or of all, gathered.
    ///
    /// # Errors
    /// As for [`all`](Self::all).
    ///
    /// # Safety
    /// As for [`all`](Self::all).
    unsafe fn rows(&self, dst: *mut u8) -> Result<()> {
        let (partials, inner) = (&self.partials, self.extents.inner);
        let points = |segment| self.cut.before(segment);
        let outputs = self.extents.results();
        // An index is folded row by row.
        let most = if partials.is_index() { 1 } else { ROWS };
        let mut output = 0;
        while output < outputs {
            let left = if self.gathered { outputs - output } else { inner - output % inner };
            let width = partials.len.min(left);
            // SAFETY: rows of `width` outputs are readable, and as many results writable; there is a partial
            // for each level of the tree, and room for as many rows as are folded at a time.
            unsafe {
                let leaf = |segment: usize, acc: *mut u8| {
                    let range = points(segment)..points(segment + 1);
                    let mut row = range.start;
                    while row < range.end {
                        let count = most.min(range.end - row);
                        let mut rows = [std::ptr::null::<u8>(); ROWS];
                        for (k, to) in rows[..count].iter_mut().enumerate() {
                            *to = self.row(
                                output,
                                row + k,
                                width,
                                self.room.wrapping_add(k * width * self.size),
                            );
                        }
                        partials.rows(acc, &rows[..count], row, range.clone(), width);
                        row += count;
                    }
                };
                self.fold_tree(width, &leaf)?;
                let (result, size) = partials.result();
                std::ptr::copy_nonoverlapping(self.partial.add(result), dst.add(output * size), width * size);
            }
            output += width;
        }
        Ok(())
    }

    /// A row's elements of `len` outputs from one on: where they are, or gathered.
    ///
    /// # Safety
    /// As for [`run`](Self::run).
    unsafe fn row(&self, output: usize, row: usize, len: usize, room: *mut u8) -> *const u8 {
        let from = self.place(output, row);
        if !self.gathered {
            return from;
        }
        let inner = self.extents.inner;
        let pitch = (self.extents.len * inner * self.size).cast_signed();
        // SAFETY: `len` elements of the row from `output` on are readable, as `place` and the strides say;
        // `room` is for as many.
        unsafe {
            if inner == 1 {
                pack::gather(self.tuning.isa, room, from, pitch, self.size, len);
            } else {
                let (dims, index) = ([self.extents.outer, inner], [output / inner, output % inner]);
                let strides = [pitch, self.size.cast_signed()];
                let walk = Walk { dims: &dims, strides: &strides, index: &index };
                pack::gather_rows(self.tuning.isa, room, from, &walk, self.size, len);
            }
        }
        room
    }
}
