//! What core asks a device before it does something with it.

use super::{Backlog, Language};
use crate::error::Error;
use crate::memory::pointer::UsmKind;

/// What host code may do with memory of a kind.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum HostAccess {
    /// Nothing: it is copied.
    None,
    /// It reads and writes ranges between [`Device::map`](super::Device::map) and [`unmap`](super::Device::unmap).
    Mapped,
    /// It reads and writes wherever no command is under way; to map it does nothing. Other drivers copy to and from it as host
    /// memory, and it leaves by DLPack as memory of the processor.
    Direct,
}

/// How memory of a device is opened by other processes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Interprocess {
    /// It is a file without a name, which the others map: for devices that work in mapped files.
    File,
    /// The driver has handles of device memory ([`Device::memory_handle`](super::Device::memory_handle)).
    Driver,
}

/// By what a driver opens device memory of another process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryHandle {
    /// What the driver calls its handle, of what it has allocated.
    pub driver: [u8; 64],
    /// Where the memory begins in that, in bytes.
    pub offset: u64,
}

/// What is said of memory whose driver has no handles.
#[cold]
pub(super) fn no_handles(memory: impl std::fmt::Debug) -> Error {
    Error::unsupported(
        "memory",
        format!("{memory:?}"),
        "a device whose driver has handles of memory",
        "copy the bytes to memory of the host that other processes open",
    )
}

/// What core asks a device before it does something with it; every answer is the device's own, and none follows from what else
/// the device is. The default is a device that can do nothing beyond the minimum: its memory is shown to nobody, and all goes
/// through its queues. A backend begins with that and sets what it has:
///
/// ```
/// use stridewise_core::UsmKind;
/// use stridewise_core::backend::{Capabilities, HostAccess, Language};
///
/// let mut capabilities = Capabilities::default();
/// capabilities.set_host_access(UsmKind::Shared, HostAccess::Direct);
/// capabilities.languages = vec![Language::Ptx];
/// assert_eq!(capabilities.host_access(UsmKind::Device), HostAccess::None);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Capabilities {
    /// In the order of [`UsmKind::ALL`].
    host_access: [HostAccess; 3],
    /// The kind of arrays that are made without one.
    pub default_kind: UsmKind,
    /// Whether its commands work in any memory of the process, in place. Then it takes memory of others (DLPack, buffers, Arrow),
    /// files are mapped for it, and where no device is named and there is no GPU, it is the one.
    pub process_memory: bool,
    /// Whether its memory is the processor's, so that host code which computes on copies of its arrays moves nothing between
    /// devices. Decompositions and transforms are computed so.
    pub on_processor: bool,
    /// Whether it computes on the calling thread: small work is done at once, without a submission, and who waits for a result
    /// pays for no way to the device and back.
    pub immediate: bool,
    /// Whether a callback of its events costs less than a small kernel. If not, memory that is freed while commands use it
    /// waits in the pool until somebody asks for memory; if so, its last command gives it back.
    pub cheap_callbacks: bool,
    /// Other drivers whose memory its queues copy to and from, by name. Every queue copies to and from memory of its own driver,
    /// and to and from host memory; between two drivers of which neither knows the other, core goes through host memory.
    pub peers: Vec<&'static str>,
    /// Languages of the sources that it compiles.
    pub languages: Vec<Language<'static>>,
    /// How its memory is opened by other processes; `None` where it is not.
    pub interprocess: Option<Interprocess>,
    /// The type of its memory in exchange protocols where host code cannot reach it (DLPack's `DLDeviceType`: 2 for CUDA),
    /// and its number among the devices of that type; `None` where it has none, so that such memory is refused.
    pub exchange: Option<(i32, i32)>,
    /// The stream that every queue of the device waits for, by the number that those protocols have for it: who hands memory in has
    /// that stream wait for what is under way on it. `None` where there is none.
    pub exchange_stream: Option<usize>,
    /// How much may be under way before who submits more waits, unless somebody sets it otherwise.
    pub backlog: Backlog,
    /// Whether its commands end by themselves, so that they can be waited for when memory or room for more commands is missing.
    pub ends_commands: bool,
    /// Stages of a [`Step::Stages`](super::Step::Stages) that its queues take at most; 1 where they take no such command.
    pub most_stages: usize,
    /// Whether its queues take a [`Command::Sequence`](super::Command::Sequence).
    pub sequences: bool,
    /// Whether its products are quicker of factors that are 16-bit floats as they lie, whose sums are `float32` and rounded by the
    /// same pass. If not, factors are converted before, and sums behind.
    pub half_factors: bool,
    /// Whether what is planned for it is right on every device of its driver, on other machines, too: then graphs can be stored.
    pub stores_graphs: bool,
}

impl Default for Capabilities {
    fn default() -> Self {
        Self {
            host_access: [HostAccess::None; 3],
            default_kind: UsmKind::Device,
            process_memory: false,
            on_processor: false,
            immediate: false,
            cheap_callbacks: false,
            peers: Vec::new(),
            languages: Vec::new(),
            interprocess: None,
            exchange: None,
            exchange_stream: None,
            backlog: Backlog::of_memory(0),
            ends_commands: true,
            most_stages: 1,
            sequences: false,
            half_factors: false,
            stores_graphs: false,
        }
    }
}

impl Capabilities {
    /// What host code may do with memory of a kind.
    #[must_use]
    pub const fn host_access(&self, kind: UsmKind) -> HostAccess {
        self.host_access[kind.number()]
    }
    /// Sets what host code may do with memory of a kind. It never reaches device memory (SYCL 2020, section 4.8.2), whatever
    /// is set.
    pub const fn set_host_access(&mut self, kind: UsmKind, access: HostAccess) {
        if kind.host_accessible() {
            self.host_access[kind.number()] = access;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_apart_and_device_memory_stays_hidden() {
        for (place, kind) in UsmKind::ALL.into_iter().enumerate() {
            assert_eq!(kind.number(), place);
            let mut capabilities = Capabilities::default();
            capabilities.set_host_access(kind, HostAccess::Direct);
            for other in UsmKind::ALL {
                let shown = other == kind && other != UsmKind::Device;
                let expected = if shown { HostAccess::Direct } else { HostAccess::None };
                assert_eq!(capabilities.host_access(other), expected, "{kind} {other}");
            }
        }
    }
}
