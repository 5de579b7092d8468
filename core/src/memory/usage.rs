//! How much memory of a device there is, and what of it is in use.

use super::UsmKind;

/// Memory of one kind, in bytes rounded up to the sizes that a pool hands out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct KindUsage {
    /// In use.
    pub in_use_bytes: usize,
    /// Held by the pool for reuse.
    pub kept_bytes: usize,
    /// The most that was in use.
    pub peak_bytes: usize,
}

/// Memory of a device, in bytes rounded up to the sizes that a pool hands out: what [`Device::memory`](crate::Device::memory)
/// says. Memory of others that is lent to the engine, and files, are not among it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct MemoryUsage {
    /// In use: by arrays, by memory objects, and by work under way.
    pub in_use_bytes: usize,
    /// Held by the pool for reuse, which [`Device::trim`](crate::Device::trim) gives back.
    pub kept_bytes: usize,
    /// The most that was in use, with the small blocks that threads kept then.
    pub peak_bytes: usize,
    /// Obtained from the device: what is in use, what is kept, and what is left over where blocks are cut.
    pub reserved_bytes: usize,
    /// What may be in use, where somebody has set a limit.
    pub limit_bytes: Option<usize>,
    /// What the device has.
    pub device_bytes: u64,
    /// In the order of [`UsmKind::ALL`].
    pub(super) kinds: [KindUsage; 3],
}

impl MemoryUsage {
    /// The memory of one kind.
    #[must_use]
    pub const fn of(&self, kind: UsmKind) -> KindUsage {
        self.kinds[kind.number()]
    }
}
