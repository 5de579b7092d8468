//! Memory that is lent out, while it is.

use std::fmt;

use super::allocation::Allocation;
use super::{UsmMemory, UsmPtr};

/// Memory whose address somebody outside knows as long as this is there ([`UsmMemory::lend`]).
pub struct Lease {
    memory: UsmMemory,
    /// Whether it is counted: of very many that are open at once, the memory counts no more and stays known for good.
    counted: bool,
}

impl Lease {
    /// A lease, and whether the memory was known outside before.
    pub(super) fn of(memory: &UsmMemory) -> (Self, bool) {
        let memory = memory.clone();
        let (counted, known) = memory.allocation().begin_lease();
        (Self { memory, counted }, known)
    }

    pub(super) fn allocation(&self) -> &std::sync::Arc<Allocation> {
        self.memory.allocation()
    }

    /// The memory.
    #[must_use]
    pub fn memory(&self) -> &UsmMemory {
        &self.memory
    }

    /// Its address.
    #[must_use]
    pub fn ptr(&self) -> UsmPtr {
        self.memory.ptr()
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if self.counted {
            self.memory.allocation().end_lease();
        }
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a lease of {:?}", self.memory)
    }
}
