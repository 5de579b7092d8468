//! What is computed on the calling thread without a plan.
//!
//! Core asks for functions, not for work: `elements_fn` is one operation over elements that lie one after
//! another, `gather_elements` brings elements together that do not, and `fold_elements` folds an array that
//! is seen as three dimensions, of which the middle one is folded.
//! ```text
//! sum over axis 1 of shape (2, 4, 3):   outer 2, len 4, inner 3:   6 results of 4 elements each, 3 elements apart
//! ```
//! The callers hold the memory (core's `memory/immediate`), so nothing here waits or submits. What takes
//! longer than `AT_ONCE_NS`, or `WAITED_NS` where all threads take part, is refused, and becomes a plan.
//!
//! A fold has to give the bits of the plan of the same reduction. It uses the same segments, the same choice
//! between rows and runs (`by_rows`) and the same tree (`Partials`); whoever changes one of these, changes
//! [`reduction`](super::reduction) and this file in one commit. The limit is what a call costs: make no
//! allocation and walk no list on the way to a short fold.

use std::sync::atomic::{AtomicBool, Ordering};

use stridewise_core::backend::{Elements, FoldExtents};
use stridewise_core::{Dtype, Fold, Op, Result};

use super::code::SLOT_BYTES;
use super::fold::{Accumulators, FIRST, LAST, ROWS};
use super::folding::{Folding, folding};
use super::pack::{self, Walk};
use super::partials::{FEW, Kind, Partials, ROW_BYTES, Run, SEGMENT, SEGMENT_ROWS, by_rows};
use super::read::{products, seconds, widening};
use super::space::SHORT_ROW;
use super::tile::Scratch;
use super::{Address, GATHER_PS, READ_PS, ROW_PS, Tuning, step, step_ps, transpose};
use crate::fork_join::{self, helping};
use crate::simd::Isa;

/// Work below this estimate is done here: longer than what a submission does on the calling thread, for there is nothing
/// to submit. Twice as many threads gain half of it, less what it takes to wake them.
pub(super) const AT_ONCE_NS: usize = 25_000;

/// The same for work that somebody waits for: all threads take part where it takes longer than [`AT_ONCE_NS`].
///
/// After a pass through megabytes nothing that a submission reads and calls is in the near caches any more: a
/// sum of 1 Mi `float32` spent 11 of its 38 µs on the way to the threads and back (5.2 to the submission, 3.7
/// to the first part, 2.3 behind the last). So an operation or reduction that is alone at its flush, or a
/// value that is asked for, is computed by the thread that waits, with all threads of the device taking part,
/// without a command or an event, up to this estimate of one thread's time and no more memory than the last
/// cache keeps. What is larger or fused is submitted. The cost: the result is there when the call returns,
/// and not earlier, so that such work does not overlap with what the caller does next; and there must be
/// functions over whole arrays, besides plans, that compute the same bits in the same order.
///
/// Measured by two threads (machine not recorded), in turns: sum of 1 Mi `float32` 38 to between 27 and
/// 30 µs; sum, maximum, `argmax`, mean, dot product and norm 0.57 to 0.83 of the time, variance 0.84;
/// addition of 256 Ki 23.0 to 18.8 µs, of 512 Ki 40 to 35.5, of 1 Mi 73 to 68; rows broadcast 19.1 to
/// 13.8 µs.
const WAITED_NS: usize = 10 * AT_ONCE_NS;

/// Elements of work that takes so long for each.
const fn most(picoseconds: usize) -> usize {
    AT_ONCE_NS * 1000 / picoseconds
}

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

/// The function of an operation on a dtype, with results of another, over elements that lie one after another.
pub(crate) fn elements_fn(op: Op, dtype: Dtype, out: Dtype, tuning: &Tuning) -> Option<Elements> {
    // A step's function has the same contract; the flag beyond those of its sources is not set.
    let step::Resolved { run, strided, .. } = step::resolve(op, dtype, out, tuning.isa)?;
    // A test writes next to nothing.
    let computing = if out == Dtype::Bool { 0 } else { step_ps(op, dtype) };
    let picoseconds = op.arity() * READ_PS * dtype.size() + computing;
    let most = most(picoseconds);
    // What does not fit the caches is stored past them, by plans.
    let near = tuning.last_cache_bytes / (op.arity() * dtype.size() + out.size());
    Some(Elements {
        run,
        strided,
        most,
        alone: helping::ALONE_NS as usize * 1000 / picoseconds,
        waited: most.max(near.min(WAITED_NS * 1000 / picoseconds)),
    })
}

/// Copies elements of `size` bytes (1, 2, 4, 8 or 16, at any alignment) one after another to `dst`: those that dimensions, the
/// innermost first, reach from `src` on. Of each its extent, and the bytes from an element to the next one, of either sign or
/// 0. No dimensions are one element.
///
/// # Safety
/// - The processor has the instruction set.
/// - No extent is 0, and `size` is 1, 2, 4, 8 or 16.
/// - The elements that the dimensions reach from `src` on are readable. What lies between them is memory, which others may write.
/// - There is room for as many at `dst`, apart from them, and nothing else accesses it.
pub(crate) unsafe fn gather_elements(
    isa: Isa,
    dst: *mut u8,
    src: *const u8,
    dims: &[(usize, isize)],
    size: usize,
) {
    // SAFETY: for all of this function: the elements that the dimensions reach from `src` on are readable,
    // and `dst` has room for as many, apart from them. Each call below is given some of the dimensions, and
    // the part of `dst` that their elements fill; what is copied from `dst` was written before.
    unsafe {
        match *dims {
            [] => std::ptr::copy_nonoverlapping(src, dst, size),
            [(len, along)] => pack::gather(isa, dst, src, along, size, len),
            [(len, along), (rows, pitch)]
                if len < pack::CALLED && pitch != 0 && (along == 0 || pitch != size.cast_signed()) =>
            {
                pack::gather_short(isa, dst, src, size, (len, along), (rows, pitch));
            }
            // Neighbours in memory are in neighbouring rows.
            [(len, along), (rows, pitch)] if pitch == size.cast_signed() => {
                transpose::gather_panel(dst, len * size, src, along, size, rows, len);
            }
            [ref inner @ .., (extent, pitch)] => {
                let bytes = inner.iter().fold(size, |bytes, dim| bytes * dim.0);
                if pitch != 0 {
                    for i in 0..extent {
                        let from = src.wrapping_offset(i.cast_signed() * pitch);
                        gather_elements(isa, dst.add(i * bytes), from, inner, size);
                    }
                    return;
                }
                // What is repeated is read once.
                gather_elements(isa, dst, src, inner, size);
                let (mut done, all) = (bytes, bytes * extent);
                while done < all {
                    let more = done.min(all - done);
                    std::ptr::copy_nonoverlapping(dst, dst.add(done), more);
                    done += more;
                }
            }
        }
    }
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
    let FoldExtents { outer, len, inner, .. } = extents;
    (outer == 1 && (inner == 1 || by_rows([inner, len], [1, inner], inner))) || divides(extents)
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
    // 16-bit floats are folded as `float32`, and rounded once; others would be rounded before as well.
    let half = matches!(dtype, Dtype::F16 | Dtype::Bf16);
    let acc = if half { Dtype::F32 } else { dtype };
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
    let (steps, row) = if inner > 1 { ([1, inner], inner) } else { ([len, 1], outer) };
    let rows = !dense && by_rows([outputs, len], steps, row);
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
    let each = sources * size * if rows { ROW_PS } else { READ_PS * apart.min(2) }
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
        unsafe { many(dst, src, identity.as_ptr().cast(), (&raw const pitch).cast(), outputs as u32, len) };
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

    let (width, segment) = match (rows, gathered) {
        (false, _) => (1, SEGMENT),
        (true, true) => (GATHERED_BYTES / ROWS / size, SEGMENT_ROWS),
        (true, false) => (ROW_BYTES / size, SEGMENT_ROWS),
    };
    let late = fold.is_index() && !rows;
    let partials = Partials { kind, acc, rows, len: width.min(outputs), late };
    // One for each level of the tree.
    let levels = len.div_ceil(segment).next_power_of_two().trailing_zeros() as usize + 1;
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
        let work = Work { partials, extents, segment, src, factors, tuning, size, gathered, partial, room };
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
    let (mut accumulators, identity) = (Accumulators::new(), folding.identity.as_ptr().cast());
    let first = accumulators.as_mut_ptr();
    // SAFETY: `len` elements are readable at `src`, and at `factors` if there are any, and `size` bytes
    // writable at `dst`; the accumulators are of as many bytes as a run needs, and the first is its result.
    unsafe {
        (folding.run)(first, src, identity, factors.unwrap_or(src), FIRST | LAST, len);
        std::ptr::copy_nonoverlapping(first, dst, size);
    }
}

/// A fold, and memory to compute it in.
struct Work<'a> {
    partials: Partials,
    extents: FoldExtents,
    /// Points, or rows, of a segment.
    segment: usize,
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

    /// Points before a segment.
    fn points(&self, segment: usize) -> usize {
        (segment * self.segment).min(self.extents.len)
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
                let (identity, pitch) = (folding.identity.as_ptr(), bytes.cast_signed());
                let to = dst.add(output * self.size);
                (folding.many)(to, src, identity, (&raw const pitch).cast(), count as u32, len);
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
        let points = |segment| self.points(segment);
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
                let len = SEGMENT.min(self.extents.len - at);
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
        let (partials, segments) = (&self.partials, self.extents.len.div_ceil(self.segment));
        // SAFETY: `leaf` folds a segment of these outputs into a partial; there is one for each level of the
        // tree, and the spare memory of a part is for as many.
        unsafe {
            let tree = partials.tree(len, |segment| self.points(segment));
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
        let points = |segment| self.points(segment);
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
