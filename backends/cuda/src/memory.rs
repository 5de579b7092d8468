//! Memory: host memory is page-locked, device memory the device's own, shared memory managed by the driver.
//!
//! All addresses of a process are one space, in which the driver tells what an address is of, whoever allocated it. Core pools what
//! it gets and gives back, so this is plain allocations, which other processes can open.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use stridewise_core::backend::{MemoryHandle, RawAllocation};
use stridewise_core::memory::{UsmKind, UsmPtr};
use stridewise_core::{Error, Result};

use crate::api::{ATTACH_GLOBAL, HOST_PORTABLE, REACH_PEER, RawMemoryHandle, pointer};
use crate::error::{OUT_OF_MEMORY, failed};
use crate::handle::{Context, count};
use crate::symbols::Refused;

/// What the driver aligns to by itself: device memory, and pages of the host.
const DEVICE_ALIGN_BYTES: usize = 256;
const HOST_ALIGN_BYTES: usize = 4096;

/// The memory of a device.
pub(crate) struct Memory {
    context: Arc<Context>,
    /// Whether there is managed memory that host and device use at the same time.
    managed: bool,
    /// Whether nothing is freed any more: what uses it may still be under way.
    kept: AtomicBool,
    /// The devices whose memory is asked about no more: it is reached, or cannot be.
    reached: AtomicU64,
    /// What was allocated or opened, by address.
    table: RwLock<BTreeMap<usize, Entry>>,
}

#[derive(Clone, Copy)]
struct Entry {
    /// The address that the driver gave.
    origin: usize,
    bytes: usize,
    kind: UsmKind,
    /// How often memory of another process is open here; 0 for what this one has allocated.
    opened: usize,
}

/// Whose memory an address is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// The host's, which the driver moves piece by piece.
    Pageable,
    /// The host's, page-locked.
    Host,
    /// The device's, by this backend.
    Device,
    /// A device's, by somebody else or for another device.
    Foreign,
    /// Managed by the driver.
    Managed,
}

impl Memory {
    pub(crate) fn new(context: &Arc<Context>, managed: bool) -> Self {
        Self {
            context: Arc::clone(context),
            managed,
            kept: AtomicBool::new(false),
            reached: AtomicU64::new(0),
            table: RwLock::default(),
        }
    }

    /// Allocates memory.
    ///
    /// # Errors
    /// [`Error::Alloc`] where there is none, [`Error::Unsupported`] for managed memory where there is none.
    pub(crate) fn alloc(&self, kind: UsmKind, bytes: usize, align: usize) -> Result<RawAllocation> {
        let about = || format!("{bytes} bytes of {kind} memory");
        let _current = self.context.enter().map_err(|refused| failed(refused, about()))?;
        let own = if kind == UsmKind::Host { HOST_ALIGN_BYTES } else { DEVICE_ALIGN_BYTES };
        // Where more is asked for than the driver aligns to, there is room for it.
        let room = align.saturating_sub(own);
        let whole =
            bytes.checked_add(room).ok_or_else(|| refuse(about(), "a size that the system can have"))?;
        let start = match kind {
            UsmKind::Shared => self.managed(whole, &about)?,
            _ => self.plain(kind, whole).map_err(|refused| match refused.code {
                OUT_OF_MEMORY => refuse(about(), "no more than is free"),
                _ => failed(refused, about()),
            })?,
        };
        count(true);
        // The provenance is the driver's: memory of a device is touched by its commands alone.
        let place = start.map_addr(|start| start.next_multiple_of(align.max(1)));
        let entry = Entry { origin: start.addr(), bytes, kind, opened: 0 };
        self.table.write().unwrap_or_else(PoisonError::into_inner).insert(place.addr(), entry);
        Ok(RawAllocation { ptr: UsmPtr::new(place), bytes, kind })
    }

    fn plain(&self, kind: UsmKind, bytes: usize) -> Result<*mut u8, Refused> {
        let api = self.context.api;
        if kind == UsmKind::Host {
            let mut start = std::ptr::null_mut::<c_void>();
            // SAFETY: the place is a live pointer; the context is current.
            unsafe { api.allocate_host(&raw mut start, bytes, HOST_PORTABLE) }?;
            return Ok(start.cast());
        }
        let mut start = 0;
        // SAFETY: the place is a live number; the context is current.
        unsafe { api.allocate(&raw mut start, bytes) }?;
        Ok(std::ptr::with_exposed_provenance_mut(start))
    }

    /// Managed memory. Never more than the device has free: a driver that moves pages to and fro may hang the device, and whoever
    /// else uses it.
    fn managed(&self, bytes: usize, about: &dyn Fn() -> String) -> Result<*mut u8> {
        if !self.managed {
            return Err(Error::unsupported(
                "kind",
                about(),
                "a device whose managed memory host and device use at the same time",
                "use host or device memory",
            ));
        }
        let api = self.context.api;
        let (mut free, mut total, mut start) = (0, 0, 0);
        // SAFETY: the places are live numbers; the context is current.
        let told = unsafe { api.memory_info(&raw mut free, &raw mut total) };
        told.map_err(|refused| failed(refused, about()))?;
        if bytes > free {
            return Err(refuse(about(), format!("no more than the {free} bytes that the device has free")));
        }
        // SAFETY: the place is a live number; the context is current.
        let outcome = unsafe { api.allocate_managed(&raw mut start, bytes, ATTACH_GLOBAL) };
        outcome.map_err(|refused| match refused.code {
            OUT_OF_MEMORY => refuse(about(), "no more than is free"),
            _ => failed(refused, about()),
        })?;
        Ok(std::ptr::with_exposed_provenance_mut(start))
    }

    /// By what another process opens device memory.
    ///
    /// # Errors
    /// What the driver reports.
    pub(crate) fn handle(&self, ptr: UsmPtr) -> Result<MemoryHandle> {
        let tell = |refused| failed(refused, format!("a handle of memory at {ptr:?}"));
        let _current = self.context.enter().map_err(tell)?;
        let (api, mut handle) = (self.context.api, RawMemoryHandle([0; 64]));
        let (mut start, mut bytes) = (0, 0);
        // SAFETY: the places are live, the context is current, and the driver takes any address.
        unsafe {
            api.address_range(&raw mut start, &raw mut bytes, ptr.addr()).map_err(tell)?;
            api.memory_handle(&raw mut handle, start).map_err(tell)?;
        }
        Ok(MemoryHandle { driver: handle.0, offset: (ptr.addr() - start) as u64 })
    }

    /// Opens memory of another process.
    ///
    /// # Errors
    /// [`Error::Io`] where it is not there any more or is smaller; what the driver reports.
    pub(crate) fn open(&self, handle: &MemoryHandle, bytes: usize) -> Result<RawAllocation> {
        let about = || format!("{bytes} bytes of another process");
        let tell = |refused| failed(refused, about());
        let _current = self.context.enter().map_err(tell)?;
        let (api, mut origin) = (self.context.api, 0);
        // SAFETY: the place is a live number, the context is current; bytes that are no handle are refused.
        unsafe { api.open_memory(&raw mut origin, RawMemoryHandle(handle.driver), REACH_PEER) }
            .map_err(tell)?;
        count(true);
        let close = || {
            count(false);
            // SAFETY: opened above, and nothing uses it. A failure leaves nothing to do.
            let _ = unsafe { api.close_memory(origin) };
        };
        let (mut start, mut room) = (0, 0);
        // SAFETY: the places are live numbers, the context is current.
        if let Err(refused) = unsafe { api.address_range(&raw mut start, &raw mut room, origin) } {
            close();
            return Err(tell(refused));
        }
        let behind = usize::try_from(handle.offset).ok().and_then(|offset| offset.checked_add(bytes));
        if behind.is_none_or(|behind| behind > room) {
            close();
            let found = format!("{}, of memory of {room}", about());
            return Err(Error::io(
                "handle",
                found,
                "memory that its process still has",
                "send the handle anew",
            ));
        }
        let place = origin + handle.offset as usize;
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        let entry = Entry { origin, bytes, kind: UsmKind::Device, opened: 0 };
        let entry = table.entry(place).or_insert(entry);
        entry.opened += 1;
        entry.bytes = entry.bytes.max(bytes);
        let ptr = UsmPtr::new(std::ptr::with_exposed_provenance_mut(place));
        Ok(RawAllocation { ptr, bytes, kind: UsmKind::Device })
    }

    /// Takes what is at an address out of the table, where it is there the last time.
    fn forget(&self, address: usize) -> Option<Entry> {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        match table.get_mut(&address) {
            Some(entry) if entry.opened > 1 => {
                entry.opened -= 1;
                Some(*entry)
            }
            _ => table.remove(&address),
        }
    }

    /// Frees memory.
    ///
    /// # Safety
    /// `memory` came from [`alloc`](Self::alloc) or [`open`](Self::open), was not freed, and no pending command touches it.
    pub(crate) unsafe fn free(&self, memory: RawAllocation) {
        let Some(Entry { origin, kind, opened, .. }) = self.forget(memory.ptr.addr()) else { return };
        if self.kept.load(Ordering::Acquire) {
            return;
        }
        count(false);
        let _current = self.context.enter();
        let api = self.context.api;
        // SAFETY: the driver gave this address (`alloc`, `open`), and the entry is gone, or counts one less, so it is freed once, or
        // closed as often as opened; no command touches it, by this
        // function's contract. A failure, as of a context that is lost, leaves nothing to do.
        let _ = unsafe {
            match kind {
                _ if opened > 0 => api.close_memory(origin),
                UsmKind::Host => api.free_host(memory.ptr.as_ptr().with_addr(origin).cast()),
                _ => api.free(origin),
            }
        };
    }

    /// From now on nothing is freed.
    pub(crate) fn keep(&self) {
        self.kept.store(true, Ordering::Release);
    }

    /// Whose memory an address is. What this device did not allocate, the driver knows; the context is the calling thread's.
    pub(crate) fn place(&self, ptr: UsmPtr) -> Place {
        let address = ptr.addr();
        let own = {
            let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
            let near = table.range(..=address).next_back();
            near.filter(|(start, entry)| address - **start < entry.bytes).map(|(_, entry)| entry.kind)
        };
        match own {
            Some(UsmKind::Host) => Place::Host,
            Some(UsmKind::Device) => Place::Device,
            Some(UsmKind::Shared) => Place::Managed,
            None => foreign(&self.context, address),
        }
    }

    /// Has the driver reach memory of another device's directly, where an address is of such and it can: else short copies go through
    /// the host. The context is the calling thread's.
    pub(crate) fn reach(&self, ptr: UsmPtr) {
        let own = self.context.device.cast_unsigned();
        let peer = ask(&self.context, pointer::DEVICE_ORDINAL, ptr.addr()).unwrap_or(own);
        if peer == own
            || peer >= u64::BITS
            || self.reached.fetch_or(1 << peer, Ordering::Relaxed) & 1 << peer != 0
        {
            return;
        }
        let (api, mut can, mut of) = (self.context.api, 0, std::ptr::null_mut::<c_void>());
        // SAFETY: the places are live; both devices are ones that the driver gave; the attribute is a pointer, the context in which the
        // memory was allocated, and is one as long as the memory is there. A refusal changes nothing but the speed.
        let _ = unsafe {
            api.can_reach(&raw mut can, self.context.device, peer.cast_signed())
                .and_then(|()| api.pointer_attribute((&raw mut of).cast(), pointer::CONTEXT, ptr.addr()))
                .and_then(|()| if can != 0 { api.reach(of, 0) } else { Ok(()) })
        };
    }

    /// The kind of memory of the device that an address is in, whoever allocated it; the context is the calling thread's. Memory of the
    /// host and managed memory are every device's.
    pub(crate) fn kind_of(&self, ptr: UsmPtr) -> Option<UsmKind> {
        match self.place(ptr) {
            Place::Pageable => None,
            Place::Host => Some(UsmKind::Host),
            Place::Managed => self.managed.then_some(UsmKind::Shared),
            Place::Device | Place::Foreign => {
                let own = ask(&self.context, pointer::DEVICE_ORDINAL, ptr.addr());
                (own == u32::try_from(self.context.device).ok()).then_some(UsmKind::Device)
            }
        }
    }
}

/// What the driver tells of an address; `None` where it knows nothing of it.
fn ask(context: &Context, attribute: c_int, address: usize) -> Option<u32> {
    let mut value = 0_u32;
    // SAFETY: all attributes that are asked for are written as at most four bytes; the driver takes any address.
    let told = unsafe { context.api.pointer_attribute((&raw mut value).cast(), attribute, address) };
    told.ok().map(|()| value)
}

/// Whose memory an address is that somebody else allocated. What the driver does not know is pageable.
fn foreign(context: &Context, address: usize) -> Place {
    let ask = |attribute| ask(context, attribute, address).unwrap_or(0);
    // Managed memory says of its type where its pages are.
    if ask(pointer::IS_MANAGED) != 0 {
        return Place::Managed;
    }
    match ask(pointer::MEMORY_TYPE) {
        pointer::MEMORY_HOST => Place::Host,
        pointer::MEMORY_DEVICE => Place::Foreign,
        _ => Place::Pageable,
    }
}

fn refuse(value: String, expected: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    let help = "allocate less, or free memory: `Device::trim_pool` gives back what the device's pool holds, and other programs \
                may have the rest";
    Error::alloc("bytes", value, expected, help)
}
