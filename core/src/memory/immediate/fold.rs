//! Folds at once, and what is computed from their results.

use std::mem::MaybeUninit;
use std::sync::Arc;

use smallvec::SmallVec;

use super::{Constant, Gathered, MAX_BYTES, MAX_OPERANDS, Source, Space, fresh_memory, hold_idle, place};
use crate::backend::{ElementsFn, FoldExtents};
use crate::dtype::{Dtype, Element};
use crate::error::Result;
use crate::layout::{Layout, Order};
use crate::memory::BLOCK_ALIGN_BYTES;
use crate::memory::allocation::Allocation;
use crate::program::{Arg, Fold, Program};
use crate::routes::{self, Route};
use crate::runtime::Device;
use crate::scalar::Scalar;

/// Arrays of fewer bytes are reduced at once: they are read from a cache the second time. Reductions of others wait for each other.
pub(crate) const WAITING_BYTES: usize = 1 << 20;

/// A fold over axes of an array.
pub(crate) struct AxisFold<'a> {
    pub(crate) device: &'a Device,
    pub(crate) fold: Fold,
    /// The dtype that elements are converted to first.
    pub(crate) accumulator: Dtype,
    /// What the results are computed by from the folded values.
    pub(crate) finish: Option<&'a Program>,
    pub(crate) axes: &'a [usize],
    /// Whether somebody waits for the results; of a large array they are recorded else.
    pub(crate) waited: bool,
}

impl AxisFold<'_> {
    /// Folds the elements of a layout into memory of its own, now; results are in row-major order. With factors, of the same
    /// dtype and shape, their products are folded. `None` where that is not possible at once.
    ///
    /// # Errors
    /// What the allocation reports.
    pub(crate) fn fresh(
        &self,
        source: Source<'_>,
        factors: Option<Source<'_>>,
        dtype: Dtype,
    ) -> Result<Option<Arc<Allocation>>> {
        if !self.waited && source.layout.len() * dtype.size() >= WAITING_BYTES {
            return Ok(None);
        }
        let finish = match self.finish.map(|program| (program, chain(program, self.device))) {
            None => None,
            Some((program, Some(chain))) => Some((program, chain)),
            Some((_, None)) => return Ok(None),
        };
        let result = self.fold.finished(self.accumulator, self.finish);
        let of_both = |of: Source<'_>| source.allocation.kind().combine(of.allocation.kind());
        let kind = factors.map_or(source.allocation.kind(), of_both);
        let memory = |values: *mut u8, count: usize| {
            if finish.as_ref().is_some_and(|(_, (_, most))| count > *most) {
                return Ok(None);
            }
            let Some(out) = fresh_memory(self.device, kind, count * result.size(), BLOCK_ALIGN_BYTES)? else {
                return Ok(None);
            };
            let dst = out.ptr().as_ptr();
            // SAFETY: the memory was just allocated, for as many results, and the device computes in it on this thread: it has
            // just folded. The values are of the finish's input (`Fold::result`), in memory of `folded` that it hands on.
            unsafe {
                match &finish {
                    Some((program, (functions, _))) => run_chain(program, functions, values, dst, count),
                    None => std::ptr::copy_nonoverlapping(values, dst, count * result.size()),
                }
            }
            Ok(Some(out))
        };
        self.folded(source, factors, dtype, memory).unwrap_or(Ok(None))
    }

    /// The one value that all elements of a layout, or their products with factors, are folded to, now; without a finish.
    pub(crate) fn value(
        &self,
        source: Source<'_>,
        factors: Option<Source<'_>>,
        dtype: Dtype,
    ) -> Option<Scalar> {
        let folded = self.fold.result(self.accumulator);
        self.folded(source, factors, dtype, |values, _| {
            let mut bytes = [0; 16];
            // SAFETY: there is one result at least, of this dtype, which takes 16 bytes at most.
            unsafe { std::ptr::copy_nonoverlapping(values, bytes.as_mut_ptr(), folded.size()) };
            Scalar::from_bytes(folded, &bytes)
        })
    }

    /// [`value`](Self::value), of the type that the fold comes to; `None`, too, of `bool`, as what is folded may be other bytes
    /// than 0 and 1.
    pub(crate) fn value_as<T: Element>(
        &self,
        source: Source<'_>,
        factors: Option<Source<'_>>,
        dtype: Dtype,
    ) -> Option<T> {
        if self.fold.result(self.accumulator) != T::DTYPE || T::DTYPE == Dtype::Bool {
            return None;
        }
        // SAFETY: there is one result at least, of this type, of which all bits are values; it is aligned for every dtype.
        self.folded(source, factors, dtype, |values, _| unsafe { values.cast::<T>().read() })
    }

    /// Folds the elements of a layout, in the order in which they lie where there are no gaps between them, and hands on where
    /// the folded values are, at the begin of [`Gathered`] memory, and their number. `None` where that is not possible at once.
    fn folded<R>(
        &self,
        source: Source<'_>,
        factors: Option<Source<'_>>,
        dtype: Dtype,
        take: impl FnOnce(*mut u8, usize) -> R,
    ) -> Option<R> {
        let (accumulator, Source { allocation, layout }) = (self.accumulator, source);
        let (extents, dense) = self.extents(layout)?;
        let (count, len) = (extents.results(), extents.elements());
        let immediate = self.device.backend().immediate()?;
        // What is gathered has to fit the stack, and so have the folded values.
        let fits = len <= MAX_BYTES / dtype.size();
        let in_reach = dense || extents.step > 1 || fits;
        if len == 0 || !in_reach || count > MAX_BYTES / self.fold.result(accumulator).size() {
            return None;
        }
        // Nothing is held or touched where the device does not compute on the calling thread.
        if allocation.device() != self.device || !self.device.capabilities().immediate {
            return None;
        }
        let from = place(allocation, layout, len, dtype)?;
        let order = if layout.is_c_contiguous() { Order::C } else { Order::F };
        let space = Space { shape: layout.shape(), len, order };
        // Factors lie as what they are multiplied with does.
        let takes = |of: &Source<'_>| dense && of.lies_as(&space) && of.allocation.device() == self.device;
        let factors_at = match factors.filter(takes) {
            Some(of) => place(of.allocation, of.layout, len, dtype).map(<*mut u8>::cast_const),
            None => None,
        };
        if factors.is_some() && factors_at.is_none() {
            return None;
        }
        let memory = [Some(&**allocation), factors.map(|of| &**of.allocation), None, None];
        let held = hold_idle(&memory, || "fold")?;
        let mut values = Gathered([MaybeUninit::uninit(); MAX_BYTES]);
        let mut gathered = Gathered([MaybeUninit::uninit(); MAX_BYTES]);
        let values = values.0.as_mut_ptr().cast::<u8>();
        // SAFETY: `place` has found the elements, and the factors, to be in their allocations and aligned. These are held: no
        // work is under way and no host view open, and none can begin. They lie as the extents say (`extents`), or are gathered
        // to; the rooms on the stack are long enough, as was just checked, and aligned for every dtype.
        let done = unsafe {
            let fold = |from: *const u8, extents| {
                immediate.fold(self.fold, [dtype, accumulator], values, from, factors_at, extents)
            };
            let where_they_lie = (dense || extents.step > 1) && fold(from, extents);
            where_they_lie
                || (!dense && fits && {
                    let room = gathered.0.as_mut_ptr().cast();
                    source.gather(from, dtype.size(), &Space { order: Order::C, ..space }, room);
                    fold(room, FoldExtents { step: 1, ..extents })
                })
        };
        drop(held);
        done.then(|| {
            routes::take(Route::Fold);
            take(values, count)
        })
    }

    /// How the elements of a layout follow each other, and whether they do so without gaps, in the order of the fold; else they
    /// can be gathered for that, in row-major order. `None` where what is folded does not lie together, or the order of a plan
    /// would be another one.
    #[inline(always)]
    fn extents(&self, layout: &Layout) -> Option<(FoldExtents, bool)> {
        let (row_major, column_major) = (layout.is_c_contiguous(), layout.is_f_contiguous());
        let mut extents = FoldExtents { outer: 1, len: 1, inner: 1, step: 1 };
        let ndim = layout.ndim();
        if self.axes.len() == ndim {
            extents.len = layout.len();
            let dense = row_major || (column_major && !self.fold.is_index());
            // Where there are gaps, rows are folded in the order of their memory.
            if let (false, &[stride]) = (dense, layout.strides())
                && stride > 0
            {
                extents.step = stride.unsigned_abs();
            }
            let ordered = row_major || column_major || extents.step > 1;
            return ordered.then_some((extents, dense));
        }
        let mut kept = 0;
        for n in 0..ndim {
            let axis = if row_major { n } else { ndim - 1 - n };
            let extent = layout.shape()[axis];
            match self.axes.contains(&axis) {
                _ if extent == 1 => {}
                true if extents.inner > 1 => return None,
                true => extents.len *= extent,
                false => {
                    kept += 1;
                    *if extents.len > 1 { &mut extents.inner } else { &mut extents.outer } *= extent;
                }
            }
        }
        // Results that follow each other as the elements do are in row-major order where there is one dimension of them.
        (row_major || (column_major && kept <= 1)).then_some((extents, true))
    }
}

/// A device's functions for the steps of a program of one input, each of which computes with what the one before it comes to and
/// constants, and how many values there is room for; `None` where the program is anything else, or there is no such function.
fn chain(program: &Program, device: &Device) -> Option<(SmallVec<[ElementsFn; 4]>, usize)> {
    let mut functions = SmallVec::new();
    let (mut before, mut size) = (Arg::Input(0), program.inputs().first()?.size());
    for (number, step) in (0..).zip(program.steps()) {
        let varies = |arg: &Arg| !matches!(arg, Arg::Const(_));
        let mut varying = step.operands().iter().filter(|arg| varies(arg)).peekable();
        // Functions expect an operand that is not the same for all.
        if varying.peek().is_none() || !varying.all(|&arg| arg == before) {
            return None;
        }
        functions.push(device.elements_fn(step.op, step.dtype, step.out)?.run);
        (before, size) = (Arg::Step(number), size.max(step.out.size()));
    }
    (program.outputs() == [before]).then_some((functions, MAX_BYTES / size))
}

/// Writes what a [`chain`] makes of `len` values.
///
/// # Safety
/// - There are `len` values of the program's input at `values`, which is the begin of [`Gathered`] memory that is the caller's alone; no
///   more than there is room for.
/// - As many of its output are writable at `dst`, aligned, and nothing else accesses them.
/// - The device whose functions these are computes on this thread, on this memory.
unsafe fn run_chain(program: &Program, functions: &[ElementsFn], values: *mut u8, dst: *mut u8, len: usize) {
    let constants: SmallVec<[Constant; 2]> = program.consts().iter().copied().map(Constant::of).collect();
    let mut room = Gathered([MaybeUninit::uninit(); MAX_BYTES]);
    // What is computed goes from the one to the other, and at last to where it is to be.
    let (mut from, mut to) = (values, room.0.as_mut_ptr().cast::<u8>());
    for (number, (step, run)) in program.steps().iter().zip(functions).enumerate() {
        let (mut places, mut same) = ([from.cast_const(); MAX_OPERANDS], 0);
        for (k, &arg) in step.operands().iter().enumerate() {
            if let Arg::Const(constant) = arg {
                places[k] = constants[usize::from(constant)].place();
                same |= u32::from(len != 1) << k;
            }
        }
        for k in step.operands().len()..MAX_OPERANDS {
            places[k] = places[0];
        }
        let out = if number + 1 == functions.len() { dst } else { to };
        // SAFETY: each place is `len` values of the step's dtype, or one, by the contract of this function and the program's; there is
        // room for as many of its results, apart from them (`chain`).
        unsafe { run(out, places[0], places[1], places[2], same, len) };
        (from, to) = (to, from);
    }
}
