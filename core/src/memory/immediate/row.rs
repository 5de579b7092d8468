//! Work on a few elements that lie one after another, done at once: sorts, searches, what masks and places select.

use std::sync::Arc;

use super::{Constant, MAX_OPERANDS, Memories, Source, fresh_memory, hold_idle, place};
use crate::backend::{Row, RowWork, Stretch};
use crate::dtype::Dtype;
use crate::error::Result;
use crate::memory::allocation::Allocation;
use crate::memory::{BLOCK_ALIGN_BYTES, UsmKind};
use crate::runtime::Device;
use crate::scalar::Scalar;

/// Elements of a row at most: of more, a plan is made in a small part of the time that the work takes.
const MAX_LEN: usize = 4 << 10;

/// Work on rows of a device's memory.
pub(crate) struct RowCall<'a> {
    device: &'a Device,
    work: RowWork,
    /// The dtype of source 0.
    dtype: Dtype,
    sources: [Stretch; 2],
    memory: [Option<Source<'a>>; 2],
    /// Bytes of each source's elements.
    sizes: [usize; 2],
    /// Source 0, where it is a value.
    value: Option<Constant>,
}

const NOTHING: Stretch = Stretch { at: std::ptr::null_mut(), len: 0 };

impl<'a> RowCall<'a> {
    /// `None` where the device does not compute on the calling thread.
    pub(crate) fn new(device: &'a Device, work: RowWork, dtype: Dtype) -> Option<Self> {
        device.capabilities().immediate.then_some(Self {
            device,
            work,
            dtype,
            sources: [NOTHING; 2],
            memory: [None; 2],
            sizes: [0; 2],
            value: None,
        })
    }

    /// Gives the source of a number, elements of a dtype. Whether they are a short row of the device's.
    pub(crate) fn source(&mut self, k: usize, source: Source<'a>, dtype: Dtype) -> bool {
        let Source { allocation, layout } = source;
        let len = layout.len();
        let most = match self.work {
            // What elements are taken from is not gone through.
            RowWork::Take if k == 0 => usize::MAX,
            // Who asks has counted the multiplications.
            RowWork::Product { .. } => usize::MAX,
            _ => MAX_LEN,
        };
        let lies_closely = match self.work {
            RowWork::Product { transposed, .. } if transposed[k] => layout.is_f_contiguous(),
            RowWork::Product { .. } => layout.is_c_contiguous(),
            _ => layout.ndim() == 1 && layout.is_c_contiguous(),
        };
        let is_row = lies_closely && (1..=most).contains(&len);
        if !is_row || allocation.device() != self.device {
            return false;
        }
        let Some(at) = place(allocation, layout, len, dtype) else { return false };
        self.sources[k] = Stretch { at, len };
        (self.memory[k], self.sizes[k]) = (Some(source), dtype.size());
        true
    }

    /// Gives a value as source 0.
    pub(crate) fn value(&mut self, value: Scalar) {
        self.sources[0].len = 1;
        self.value = Some(Constant::of(value));
    }

    /// The strongest kind of the sources' memory.
    pub(crate) fn kind(&self) -> UsmKind {
        self.memory.iter().flatten().fold(UsmKind::Host, |kind, of| kind.combine(of.allocation.kind()))
    }

    /// What is touched: the sources' memory, and that of a target.
    fn memories(&self, target: Option<&'a Allocation>) -> Memories<'a> {
        let mut memory: Memories<'a> = [None; MAX_OPERANDS + 1];
        for (memory, source) in memory.iter_mut().zip(self.memory) {
            *memory = source.map(|source| &**source.allocation);
        }
        memory[MAX_OPERANDS] = target;
        memory
    }

    /// How many elements of source 0 are true. `None` where something stands against it.
    pub(crate) fn count(&self) -> Option<usize> {
        let held = hold_idle(&self.memories(None))?;
        // SAFETY: the sources were found to be in their memory (`source`), which is held: no work is under way on it and no host
        // view open, and none can begin. Nothing is written.
        let count = unsafe { self.run(NOTHING) };
        drop(held);
        count
    }

    /// Works into new memory of a kind for as many elements of a dtype. `None` where something stands against it, or fewer or more come of it.
    ///
    /// # Errors
    /// What the allocation reports.
    pub(crate) fn fresh(&self, len: usize, dtype: Dtype, kind: UsmKind) -> Result<Option<Arc<Allocation>>> {
        let written = self.fresh_some(len, dtype, kind)?;
        Ok(written.filter(|&(_, count)| count == len).map(|(memory, _)| memory))
    }

    /// Works into new memory for so many elements of a dtype at most; how many it were. `None` where something stands against it.
    ///
    /// # Errors
    /// What the allocation reports.
    pub(crate) fn fresh_some(
        &self,
        most: usize,
        dtype: Dtype,
        kind: UsmKind,
    ) -> Result<Option<(Arc<Allocation>, usize)>> {
        if most == 0 {
            return Ok(None);
        }
        // Who holds memory waits for nothing, the pool's lock included.
        let memory = fresh_memory(self.device, kind, most * dtype.size(), BLOCK_ALIGN_BYTES)?;
        let Some(out) = memory else { return Ok(None) };
        let Some(held) = hold_idle(&self.memories(None)) else { return Ok(None) };
        // SAFETY: the sources were found to be in their memory (`source`), which is held; nobody else has the
        // memory that is written, and no source is in it. Whoever asked has named as many elements as the
        // work may write.
        let written = unsafe { self.run(Stretch { at: out.ptr().as_ptr(), len: most }) };
        drop(held);
        Ok(written.map(|count| (out, count)))
    }

    /// Works into elements of a row that may be written. `false`, with nothing written, where something stands against it.
    pub(crate) fn write(&self, target: Source<'a>, dtype: Dtype) -> bool {
        let Source { allocation, layout } = target;
        let stopped = allocation.is_read_only()
            || !allocation.pending_reads.is_empty()
            || allocation.device() != self.device
            || layout.ndim() != 1
            || !layout.is_c_contiguous()
            || layout.is_empty()
            || (!matches!(self.work, RowWork::Put | RowWork::Add) && layout.len() > MAX_LEN);
        if stopped {
            return false;
        }
        let Some(at) = place(allocation, layout, layout.len(), dtype) else { return false };
        let written = layout.byte_range(dtype.size());
        let mut sources = self.memory.iter().zip(self.sizes);
        let meets = |(source, size): (&Option<Source<'_>>, usize)| {
            source.is_some_and(|source| {
                source.allocation.meets(&source.layout.byte_range(size), allocation, &written)
            })
        };
        if sources.any(meets) {
            return false;
        }
        let Some(held) = hold_idle(&self.memories(Some(&**allocation))) else { return false };
        // SAFETY: the sources and the target were found to be in their memory (`source`, `place`), which is
        // held, for writing that of the target; no source is in it.
        let done = unsafe { self.run(Stretch { at, len: layout.len() }) };
        drop(held);
        done.is_some()
    }

    /// # Safety
    /// - All sources that the work has were given, and they and the target are in memory of the device that nothing else accesses in
    ///   conflict.
    /// - The target is apart from the sources, aligned, and has room for what the work may write; see
    ///   [`run_row`](crate::backend::Device::run_row).
    /// - A mask is as long as what it selects from, or what is assigned to; matrices have the extents of a product.
    unsafe fn run(&self, target: Stretch) -> Option<usize> {
        let mut sources = self.sources;
        if let Some(value) = &self.value {
            sources[0].at = value.place().cast_mut();
        }
        let row = Row { work: self.work, dtype: self.dtype, sources, target };
        // SAFETY: the contract of `Device::run_row` is this one: `source` takes no row of no elements, and
        // `place` only what is aligned.
        let done = unsafe { self.device.backend().run_row(&row) };
        if done.is_some() {
            crate::routes::take(crate::routes::Route::Row);
        }
        done
    }
}
