//! Scratch memory of a stream's kernels, which use it in the order of the stream.

use std::sync::{Mutex, MutexGuard, PoisonError};

use smallvec::SmallVec;

use crate::handle::{Context, count, home};
use crate::symbols::Refused;

/// The least block.
const LEAST_BYTES: usize = 1 << 20;

/// Addresses and lengths, the largest last.
type Blocks = SmallVec<[(usize, usize); 4]>;

/// Blocks of device memory. One that became too small stays until the stream goes, as work may be under way in it; each is twice the
/// one before, where there is as much memory, so that there are few.
#[derive(Default)]
pub(crate) struct Scratch(Mutex<Blocks>);

/// A block, for which nobody else gives work to the stream.
pub(crate) struct Block<'a>(MutexGuard<'a, Blocks>);

impl Block<'_> {
    /// Its address.
    pub(crate) fn start(&self) -> usize {
        self.0.last().map_or(0, |&(start, _)| start)
    }
}

impl Scratch {
    /// A block of so many bytes at least; the context is the calling thread's.
    ///
    /// # Errors
    /// What the driver reports where there is no memory.
    pub(crate) fn take(&self, context: &Context, bytes: usize) -> Result<Block<'_>, Refused> {
        // Nothing panics while the lock is held, so poison means nothing.
        let mut blocks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let largest = blocks.last().map_or(0, |&(_, len)| len);
        if largest < bytes {
            let (mut len, mut start) = (bytes.max(largest.saturating_mul(2)).max(LEAST_BYTES), 0);
            // SAFETY: the place is a live number.
            let mut made = unsafe { context.api.allocate(&raw mut start, len) };
            if made.is_err() && len > bytes {
                len = bytes;
                // SAFETY: the place is a live number.
                made = unsafe { context.api.allocate(&raw mut start, len) };
            }
            made?;
            count(true);
            blocks.push((start, len));
        }
        Ok(Block(blocks))
    }

    /// Gives all memory back once nothing uses it; where that cannot be waited for, the driver keeps it.
    pub(crate) fn give_back(&mut self, context: &Context, wait: impl FnOnce() -> Result<(), Refused>) {
        let blocks = std::mem::take(self.0.get_mut().unwrap_or_else(PoisonError::into_inner));
        if blocks.is_empty() {
            return;
        }
        blocks.iter().for_each(|_| count(false));
        let over = home().is_here().then(|| context.enter().and_then(|current| wait().map(|()| current)));
        let Some(Ok(_current)) = over else { return };
        for (start, _) in blocks {
            // SAFETY: the driver gave the address (`take`), which is freed once, here; what used it is over. A failure leaves
            // nothing to do.
            let _ = unsafe { context.api.free(start) };
        }
    }
}
