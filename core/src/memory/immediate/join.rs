//! Arrays joined at once.

use std::sync::Arc;

use super::{BLOCK, IMMEDIATE_BYTES, Source, fresh_memory, hold_idle, place};
use crate::dtype::Dtype;
use crate::error::Result;
use crate::memory::allocation::Allocation;
use crate::memory::{BLOCK_ALIGN_BYTES, UsmKind};
use crate::routes::{self, Route};
use crate::runtime::Device;

/// Stretches of memory that are copied at most: of the largest result, each has a line of the cache. Each source is one at least.
pub(crate) const MAX_STRETCHES: usize = IMMEDIATE_BYTES / BLOCK;

/// Copies the elements of sources, one after another along an axis, in row-major order into memory of its own, now. `None`
/// where that is not possible at once: where something is under way on a source or a host view of it is open, there is a
/// source whose elements are not in that order without gaps, there are many short rows, or the result is so large that it is
/// recorded instead.
///
/// # Errors
/// What the allocation reports.
pub(crate) fn join(
    device: &Device,
    kind: UsmKind,
    dtype: Dtype,
    sources: &[Source<'_>],
    axis: usize,
) -> Result<Option<Arc<Allocation>>> {
    // The device computes on the calling thread, in memory that can be touched there.
    if !device.capabilities().immediate {
        return Ok(None);
    }
    let Some(outer) = sources.first().and_then(|first| first.layout.shape().get(..axis)) else {
        return Ok(None);
    };
    let joins = |Source { allocation, layout }: &Source<'_>| {
        layout.is_c_contiguous() && layout.shape().starts_with(outer) && allocation.device() == device
    };
    if !sources.iter().all(joins) {
        return Ok(None);
    }
    let rows: usize = outer.iter().product();
    let row = |source: &Source<'_>| source.layout.len() / rows.max(1) * dtype.size();
    // Layouts that are not those of memory may add up to more than an address can be.
    let pitch = sources.iter().map(row).fold(0, usize::saturating_add);
    let total = rows.saturating_mul(pitch);
    if !(1..=IMMEDIATE_BYTES).contains(&total) || rows * sources.len() > MAX_STRETCHES {
        return Ok(None);
    }
    let Some(out) = fresh_memory(device, kind, total, BLOCK_ALIGN_BYTES)? else { return Ok(None) };
    let mut to = out.ptr().as_ptr();
    for source in sources {
        let (bytes, Source { allocation, layout }) = (row(source), source);
        let Some(from) = place(allocation, layout, layout.len(), dtype) else { return Ok(None) };
        let Some(held) = hold_idle(&[Some(&**allocation), None, None, None], || "join") else {
            return Ok(None);
        };
        for n in 0..rows {
            // SAFETY: `place` has found the source's elements, rows of so many bytes without gaps, to be in its allocation, which
            // is held: no work is under way and no host view open, and none can begin. The result was just allocated for as many
            // rows of all sources, the parts of which begin one after another, and the device lets its memory be touched here.
            unsafe {
                std::ptr::copy_nonoverlapping(from.add(n * bytes).cast_const(), to.add(n * pitch), bytes);
            }
        }
        drop(held);
        to = to.wrapping_add(bytes);
    }
    routes::take(Route::Join);
    Ok(Some(out))
}
