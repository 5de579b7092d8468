//! Memory: pages of the system, which stay reserved and refuse every access when they have been freed.

use std::collections::BTreeMap;
use std::sync::Arc;

use opencl_sys::{CL_INVALID_CONTEXT, CL_INVALID_VALUE};

use crate::config::Tier;
use crate::entry::Outcome;
use crate::state::State;

/// Bytes that the stub has for a buffer or an allocation.
#[derive(Debug)]
pub(crate) struct Block {
    /// Where the application finds them.
    pub(crate) address: usize,
    /// How many there are.
    pub(crate) bytes: usize,
    /// The pages around them; none for memory of the application.
    pages: Option<(usize, usize)>,
    /// Where the stub finds the same pages, when the application may not use its own.
    hidden: Option<usize>,
}

impl Block {
    /// New pages of zeros. Protected ones refuse the application's accesses until [`open`](Self::open).
    pub(crate) fn new(bytes: usize, align: usize, protected: bool) -> Option<Self> {
        // Pages are aligned to 4096 bytes.
        let slack = if align > 4096 { align } else { 0 };
        let length = bytes.max(1).checked_add(slack)?;
        let (start, hidden) = if protected { twice(length)? } else { (pages(length, None)?, None) };
        let address = if slack == 0 { start } else { start.next_multiple_of(align) };
        Some(Self { address, bytes, pages: Some((start, length)), hidden })
    }
    /// Memory of the application.
    pub(crate) fn foreign(address: usize, bytes: usize) -> Self {
        Self { address, bytes, pages: None, hidden: None }
    }
    /// Whether it is memory of the application.
    pub(crate) fn is_foreign(&self) -> bool {
        self.pages.is_none()
    }
    /// Where the stub finds what the application has at an address.
    pub(crate) fn inside(&self, address: usize) -> usize {
        match (self.pages, self.hidden) {
            (Some((start, _)), Some(hidden)) => hidden + (address - start),
            _ => address,
        }
    }
    /// Lets the application use protected pages, or no longer.
    pub(crate) fn open(&self, open: bool) {
        if let (Some((start, length)), Some(_)) = (self.pages, self.hidden) {
            let access = if open { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_NONE };
            // SAFETY: the pages are this block's own, from `new`.
            unsafe { libc::mprotect(start as *mut libc::c_void, length, access) };
        }
    }
}

/// New pages: of a file, or of zeros.
fn pages(length: usize, file: Option<libc::c_int>) -> Option<usize> {
    let sort = if file.is_some() { libc::MAP_SHARED } else { libc::MAP_PRIVATE | libc::MAP_ANONYMOUS };
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping, which changes no memory that is in use.
    let start = unsafe {
        libc::mmap(std::ptr::null_mut(), length, access, sort | libc::MAP_NORESERVE, file.unwrap_or(-1), 0)
    };
    (start != libc::MAP_FAILED).then_some(start as usize)
}

/// New pages of zeros at two places, of which the first refuses every access.
fn twice(length: usize) -> Option<(usize, Option<usize>)> {
    // SAFETY: the name is text.
    let file = unsafe { libc::memfd_create(c"stub".as_ptr(), libc::MFD_CLOEXEC) };
    if file < 0 {
        return None;
    }
    let size = libc::off_t::try_from(length).ok()?;
    // SAFETY: the file is open.
    let sized = unsafe { libc::ftruncate(file, size) } == 0;
    let found = if sized { pages(length, Some(file)).zip(pages(length, Some(file))) } else { None };
    // SAFETY: the file is this function's own; the pages stay.
    unsafe { libc::close(file) };
    let (start, hidden) = found?;
    // SAFETY: the pages are new, nothing else knows them.
    unsafe { libc::mprotect(start as *mut libc::c_void, length, libc::PROT_NONE) };
    Some((start, Some(hidden)))
}

impl Drop for Block {
    fn drop(&mut self) {
        let Some((start, length)) = self.pages else { return };
        // The addresses are never used again, so that a pointer from before can be told.
        let sort = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
        // SAFETY: the pages are this block's own, from `new`.
        unsafe {
            libc::mmap(start as *mut libc::c_void, length, libc::PROT_NONE, sort, -1, 0);
            if let Some(hidden) = self.hidden {
                libc::munmap(hidden as *mut libc::c_void, length);
            }
        }
    }
}

/// What an allocation is to Intel's extension.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Svm,
    Host,
    Device,
    Shared,
}

/// Memory that is used by its address.
#[derive(Debug)]
pub(crate) struct Allocation {
    pub(crate) context: usize,
    /// The device it was made for, or 0.
    pub(crate) device: usize,
    pub(crate) kind: Kind,
    pub(crate) block: Arc<Block>,
    /// Starts of its maps.
    pub(crate) maps: Vec<usize>,
}

/// All allocations by their address, and where some were.
#[derive(Debug, Default)]
pub(crate) struct Allocations {
    pub(crate) live: BTreeMap<usize, Allocation>,
    freed: BTreeMap<usize, usize>,
}

impl Allocations {
    /// The start of the allocation that an address lies in.
    pub(crate) fn start(&self, address: usize) -> Option<usize> {
        let (&start, allocation) = self.live.range(..=address).next_back()?;
        (address < start + allocation.block.bytes.max(1)).then_some(start)
    }
    fn was_freed(&self, address: usize) -> bool {
        self.freed.range(..=address).next_back().is_some_and(|(start, bytes)| address < start + bytes)
    }
    /// Bytes of all.
    pub(crate) fn bytes(&self) -> usize {
        self.live.values().map(|allocation| allocation.block.bytes).sum()
    }
}

impl State {
    /// The allocation that a command of a context uses, by its start; `None` for other memory of the application.
    pub(crate) fn reach(&mut self, address: usize, bytes: usize, context: usize) -> Outcome<Option<usize>> {
        let Some(start) = self.allocations.start(address) else {
            if self.allocations.was_freed(address) {
                self.violation(format!("{address:#x} is used after it was freed"));
                return Err(CL_INVALID_VALUE);
            }
            return Ok(None);
        };
        let Some(allocation) = self.allocations.live.get(&start) else { return Ok(None) };
        let (length, owner) = (allocation.block.bytes, allocation.context);
        if owner != context {
            self.violation(format!("{address:#x} is memory of another context"));
            return Err(CL_INVALID_CONTEXT);
        }
        if bytes > length - (address - start) {
            self.violation(format!(
                "{bytes} bytes from {address:#x} on leave the allocation of {length} bytes at {start:#x}"
            ));
            return Err(CL_INVALID_VALUE);
        }
        Ok(Some(start))
    }
    /// As [`reach`](Self::reach), for memory that must be an allocation.
    pub(crate) fn reach_allocation(
        &mut self,
        address: usize,
        bytes: usize,
        context: usize,
    ) -> Outcome<usize> {
        match self.reach(address, bytes, context)? {
            Some(start) => Ok(start),
            None => {
                self.violation(format!("{address:#x} is in no allocation"));
                Err(CL_INVALID_VALUE)
            }
        }
    }
    /// The block of an allocation, to keep it while a command runs.
    pub(crate) fn block(&self, start: usize) -> Option<Arc<Block>> {
        self.allocations.live.get(&start).map(|allocation| Arc::clone(&allocation.block))
    }
    /// Where the stub finds what a command has at an address, in the allocation with this start.
    pub(crate) fn inside(&self, start: usize, address: usize) -> usize {
        self.allocations.live.get(&start).map_or(address, |allocation| allocation.block.inside(address))
    }
    /// Makes an allocation; `None` where the device's memory is used up.
    pub(crate) fn allocate(
        &mut self,
        context: usize,
        device: usize,
        kind: Kind,
        bytes: usize,
        align: usize,
    ) -> Option<usize> {
        let used = self.used_bytes();
        if bytes == 0 || bytes > self.config.allocation_bytes || bytes > self.config.memory_bytes - used {
            return None;
        }
        // Shared memory that is not fine-grained is the host's only while it is mapped, a device's never.
        let refused = match kind {
            Kind::Svm => self.config.tier == Tier::Coarse,
            Kind::Device => true,
            Kind::Host | Kind::Shared => false,
        };
        let block = Arc::new(Block::new(bytes, align, self.config.protects && refused)?);
        let start = block.address;
        let allocation = Allocation { context, device, kind, block, maps: Vec::new() };
        self.allocations.live.insert(start, allocation);
        Some(start)
    }
    /// Frees an allocation.
    pub(crate) fn free(&mut self, address: usize, context: usize) -> Outcome<()> {
        let start = self.reach_allocation(address, 0, context)?;
        if start != address {
            self.violation(format!("{address:#x} is freed, but the allocation starts at {start:#x}"));
            return Err(CL_INVALID_VALUE);
        }
        if let Some(name) = self.pending_use(start) {
            self.violation(format!("{start:#x} is freed while a pending {name} uses it"));
        }
        if let Some(allocation) = self.allocations.live.remove(&start) {
            self.allocations.freed.insert(start, allocation.block.bytes.max(1));
        }
        Ok(())
    }
    /// Bytes of all buffers and allocations; at most the memory there is.
    pub(crate) fn used_bytes(&self) -> usize {
        (self.allocations.bytes() + self.buffer_bytes()).min(self.config.memory_bytes)
    }
}
