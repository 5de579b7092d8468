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
use crate::program::{Arg, Fold, Program, Step};
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
        let finish = match self.finish.map(|program| Finish::of(program, self.device)) {
            Some(None) => return Ok(None),
            finish => finish.flatten(),
        };
        let folded = self.fold.result(self.accumulator);
        let result = finish.as_ref().map_or(folded, |finish| finish.program.output_dtype(0));
        let of_both = |of: Source<'_>| source.allocation.kind().combine(of.allocation.kind());
        let kind = factors.map_or(source.allocation.kind(), of_both);
        let memory = |values: *const u8, count: usize| {
            let Some(out) = fresh_memory(self.device, kind, count * result.size(), BLOCK_ALIGN_BYTES)? else {
                return Ok(None);
            };
            let dst = out.ptr().as_ptr();
            // SAFETY: the memory was just allocated, for as many results, and the device computes in it on this thread: it has
            // just folded. The values are of the finish's input (`Fold::result`).
            unsafe {
                match finish {
                    Some(finish) => finish.run(values, dst, count),
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
    /// the folded values are, and their number. `None` where that is not possible at once.
    fn folded<R>(
        &self,
        source: Source<'_>,
        factors: Option<Source<'_>>,
        dtype: Dtype,
        take: impl FnOnce(*const u8, usize) -> R,
    ) -> Option<R> {
        let (accumulator, Source { allocation, layout }) = (self.accumulator, source);
        let (extents, dense) = self.extents(layout)?;
        let (count, len) = (extents.results(), extents.elements());
        let backend = self.device.backend();
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
        let held = hold_idle(&memory)?;
        let mut values = Gathered([MaybeUninit::uninit(); MAX_BYTES]);
        let mut gathered = Gathered([MaybeUninit::uninit(); MAX_BYTES]);
        let values = values.0.as_mut_ptr().cast::<u8>();
        // SAFETY: `place` has found the elements, and the factors, to be in their allocations and aligned. These are held: no
        // work is under way and no host view open, and none can begin. They lie as the extents say (`extents`), or are gathered
        // to; the rooms on the stack are long enough, as was just checked, and aligned for every dtype.
        let done = unsafe {
            let fold = |from: *const u8, extents| {
                backend.fold_elements(self.fold, [dtype, accumulator], values, from, factors_at, extents)
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

/// A program over values, and a device's functions for its steps.
struct Finish<'a> {
    program: &'a Program,
    steps: SmallVec<[ElementsFn; 4]>,
}

impl<'a> Finish<'a> {
    /// `None` where the device does not compute on the calling thread, or the program not one output.
    fn of(program: &'a Program, device: &Device) -> Option<Self> {
        let step = |step: &Step| {
            // Functions expect an operand that is not the same for all.
            let varies = step.operands().iter().any(|arg| !matches!(arg, Arg::Const(_)));
            device.elements_fn(step.op, step.dtype, step.out).filter(|_| varies)
        };
        let steps = program.steps().iter().map(|of| Some(step(of)?.run)).collect::<Option<_>>()?;
        matches!(program.outputs(), [Arg::Step(_)]).then_some(Self { program, steps })
    }

    /// Writes the program's output of each of `len` values.
    ///
    /// # Safety
    /// - `len` values of the program's input are readable at `from`, and as many of its output writable at `dst`; both are aligned.
    /// - The device computes on the calling thread, on this memory.
    /// - Nothing else accesses them in conflict.
    unsafe fn run(&self, from: *const u8, dst: *mut u8, len: usize) {
        let (program, output) = (self.program, self.program.outputs()[0]);
        let constants: SmallVec<[Constant; 2]> = program.consts().iter().copied().map(Constant::of).collect();
        let (input_size, output_size) = (program.inputs()[0].size(), program.output_dtype(0).size());
        // What the steps compute, for as many values at a time as there is room for: at least 16 of 32 steps.
        let mut room = Gathered([MaybeUninit::uninit(); MAX_BYTES]);
        let room = room.0.as_mut_ptr().cast::<u8>();
        let most = MAX_BYTES / size_of::<Constant>() / self.steps.len().max(1);
        let mut at = 0;
        while at < len {
            let count = most.min(len - at);
            let result = |step: Arg| match step {
                Arg::Step(step) if Arg::Step(step) != output => {
                    room.wrapping_add(usize::from(step) * most * size_of::<Constant>())
                }
                _ => dst.wrapping_add(at * output_size),
            };
            for (number, (step, run)) in (0..).zip(program.steps().iter().zip(&self.steps)) {
                let (mut places, mut same) = ([std::ptr::null::<u8>(); MAX_OPERANDS], 0);
                for (k, &arg) in step.operands().iter().enumerate() {
                    places[k] = match arg {
                        Arg::Input(_) => from.wrapping_add(at * input_size),
                        Arg::Const(constant) => {
                            same |= u32::from(count != 1) << k;
                            constants[usize::from(constant)].place()
                        }
                        Arg::Step(_) => result(arg),
                    };
                }
                for k in step.operands().len()..MAX_OPERANDS {
                    places[k] = places[0];
                }
                // SAFETY: each is as many values of the step's dtype, or one, by the caller's contract and the program's; every
                // step has a part of the room, whose values are of 16 bytes at most, or the output.
                unsafe { run(result(Arg::Step(number)), places[0], places[1], places[2], same, count) };
            }
            at += count;
        }
    }
}
