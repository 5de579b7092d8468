//! Memory in three tiers; which one a device has shows nowhere else.
//!
//! 1. `cl_intel_unified_shared_memory`: the three USM kinds as the extension has them.
//! 2. Shared virtual memory (OpenCL 2.0). Of fine grain: pointers that host and device use as they are, for all kinds.
//!    Of coarse grain: for host and shared memory, which the engine maps around every access by the host; device memory
//!    is plain buffers, which are cheaper to allocate. Commands know coarse memory as a buffer, too, which is made of it
//!    (`CL_MEM_USE_HOST_PTR`), because a driver may refuse a kernel whose parameter was an object before and is a pointer
//!    now, and a copy between a buffer and memory that is not mapped.
//! 3. Plain buffers: device memory only.
//!
//! A buffer has no address, so it is given one: a range that no process can map, of which the start stands for the
//! buffer's first byte. Kernels get the object and an offset ([`Target::buffers`](stridewise_emit::Target)).

use std::collections::BTreeMap;
use std::ffi::{CStr, c_void};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock};

use opencl3::command_queue as cq;
use opencl3::memory as mem;
use opencl3::types::{
    CL_BLOCKING, CL_NON_BLOCKING, cl_command_queue, cl_context, cl_device_id, cl_event, cl_int, cl_kernel,
    cl_platform_id, cl_uint,
};
use smallvec::SmallVec;
use stridewise_core::backend::{HostAccess, RawAllocation, UsmSupport};
use stridewise_core::memory::{UsmKind, UsmPtr};
use stridewise_core::{Error, Result};

use crate::error::failed;
use crate::handle::{CommandQueue, EventObject, MemoryObject};
use crate::queue::NativeQueue;

/// Runtimes align by themselves to the largest type of OpenCL C, `long16`, and refuse more.
const RUNTIME_ALIGN_BYTES: usize = 128;
/// Where the addresses of buffers begin: beyond what any process can map.
const FIRST_ADDRESS: usize = 1 << (usize::BITS - 7);
/// Between two buffers, so that an address just beyond one is not the start of another.
const GAP_BYTES: usize = 4096;
/// The next free address; of the whole process, so that no two devices hand out the same.
static NEXT_ADDRESS: AtomicUsize = AtomicUsize::new(FIRST_ADDRESS);

type HostAlloc = unsafe extern "C" fn(cl_context, *const u64, usize, cl_uint, *mut cl_int) -> *mut c_void;
type DeviceAlloc =
    unsafe extern "C" fn(cl_context, cl_device_id, *const u64, usize, cl_uint, *mut cl_int) -> *mut c_void;
type Free = unsafe extern "C" fn(cl_context, *mut c_void) -> cl_int;
type SetArgument = unsafe extern "C" fn(cl_kernel, cl_uint, *const c_void) -> cl_int;
type Copy = unsafe extern "C" fn(
    cl_command_queue,
    cl_uint,
    *mut c_void,
    *const c_void,
    usize,
    cl_uint,
    *const cl_event,
    *mut cl_event,
) -> cl_int;
type Fill = unsafe extern "C" fn(
    cl_command_queue,
    *mut c_void,
    *const c_void,
    usize,
    usize,
    cl_uint,
    *const cl_event,
    *mut cl_event,
) -> cl_int;

/// The entry points of `cl_intel_unified_shared_memory`, which no loader exports.
#[derive(Clone, Copy)]
pub(crate) struct Unified {
    host: HostAlloc,
    device: DeviceAlloc,
    shared: DeviceAlloc,
    free: Free,
    set_argument: SetArgument,
    copy: Copy,
    fill: Fill,
}

impl Unified {
    /// The entry points, where the platform has all of them.
    pub(crate) fn of(platform: cl_platform_id) -> Option<Self> {
        let find = |name: &CStr| {
            let runtime = cl3::load_library().as_ref().ok()?;
            let address = runtime.clGetExtensionFunctionAddressForPlatform(platform, name.as_ptr())?;
            (!address.is_null()).then_some(address)
        };
        macro_rules! entry {
            ($name:literal, $ty:ty) => {
                // SAFETY: the platform gave the address for this name, whose C prototype in the extension's
                // specification (cl_intel_unified_shared_memory 1.0.0, "New API Functions") is the type.
                unsafe { std::mem::transmute::<*mut c_void, $ty>(find($name)?) }
            };
        }
        Some(Self {
            host: entry!(c"clHostMemAllocINTEL", HostAlloc),
            device: entry!(c"clDeviceMemAllocINTEL", DeviceAlloc),
            shared: entry!(c"clSharedMemAllocINTEL", DeviceAlloc),
            free: entry!(c"clMemFreeINTEL", Free),
            set_argument: entry!(c"clSetKernelArgMemPointerINTEL", SetArgument),
            copy: entry!(c"clEnqueueMemcpyINTEL", Copy),
            fill: entry!(c"clEnqueueMemFillINTEL", Fill),
        })
    }
}

/// What a device's memory is made of.
#[derive(Clone, Copy)]
pub(crate) enum Tier {
    /// The extension's.
    Unified(Unified),
    /// Fine-grained SVM.
    SvmFine,
    /// Coarse-grained SVM, and buffers for device memory.
    SvmCoarse,
    /// Buffers.
    Buffers,
}

impl Tier {
    /// What the kinds are, in the order of [`UsmKind::ALL`].
    pub(crate) fn support(self) -> [UsmSupport; 3] {
        match self {
            Self::Unified(_) => [UsmSupport::Native; 3],
            Self::SvmFine => [UsmSupport::SvmFine; 3],
            Self::SvmCoarse => [UsmSupport::SvmCoarse, UsmSupport::Buffer, UsmSupport::SvmCoarse],
            Self::Buffers => [UsmSupport::Absent, UsmSupport::Buffer, UsmSupport::Absent],
        }
    }
    /// What host code may do with host and shared memory.
    pub(crate) fn host_access(self) -> HostAccess {
        match self {
            Self::Unified(_) | Self::SvmFine => HostAccess::Direct,
            Self::SvmCoarse => HostAccess::Mapped,
            Self::Buffers => HostAccess::None,
        }
    }
    /// Whether kernels must be ready to get memory objects.
    pub(crate) fn has_buffers(self) -> bool {
        matches!(self, Self::SvmCoarse | Self::Buffers)
    }
}

struct Entry {
    bytes: usize,
    /// What the runtime gave: an address, or an object.
    origin: Origin,
}

enum Origin {
    /// To be freed by this address, which may be a little before the entry's.
    Pointer(usize),
    /// To be released.
    Object(MemoryObject),
    /// Both: a buffer made of memory at an address.
    Both(MemoryObject, usize),
}

/// Where an address lies.
enum Place {
    /// Memory that commands take by pointer: of this device's tier with pointers, or of the host.
    Pointer(*mut c_void),
    /// In a buffer, so many bytes after its start.
    Object(mem_object, usize),
}
#[allow(non_camel_case_types)]
type mem_object = opencl3::types::cl_mem;

/// What a parameter that is a pointer gets.
pub(crate) enum Pointer {
    /// An address.
    Address(*mut c_void),
    /// A memory object.
    Object(mem_object),
}

/// The memory of one device.
pub(crate) struct Memory {
    tier: Tier,
    context: cl_context,
    device: cl_device_id,
    /// Bytes of the device's memory.
    most: usize,
    table: RwLock<BTreeMap<usize, Entry>>,
}

// SAFETY: the context and the device are usable from any thread, and the context outlives this (`device::Shared` holds
// both, and drops the memory first).
unsafe impl Send for Memory {}
// SAFETY: as for Send; the tables are guarded.
unsafe impl Sync for Memory {}

impl Memory {
    /// The memory, of so many bytes, of a device in a context, which must outlive it.
    pub(crate) fn new(tier: Tier, context: cl_context, device: cl_device_id, most: u64) -> Self {
        // 0 where the runtime does not say.
        let most = usize::try_from(most).ok().filter(|&most| most > 0).unwrap_or(usize::MAX);
        Self { tier, context, device, most, table: RwLock::default() }
    }

    pub(crate) fn alloc(&self, kind: UsmKind, bytes: usize, align: usize) -> Result<RawAllocation> {
        let refused = |code: i32| {
            Error::alloc(
                "bytes",
                format!("{bytes} of {kind} memory ({})", crate::error::name(code)),
                "memory that the device has free",
                // A device that is lost refuses memory, too.
                crate::error::help(code),
            )
        };
        let slack = if align > RUNTIME_ALIGN_BYTES { align } else { 0 };
        let total = bytes.checked_add(slack).ok_or_else(|| refused(-61))?;
        let alignment = align.min(RUNTIME_ALIGN_BYTES) as cl_uint;
        let pointer = |raw: *mut c_void| {
            let aligned = raw.addr().next_multiple_of(align);
            (raw.with_addr(aligned).cast::<u8>(), Origin::Pointer(raw.addr()))
        };
        let (ptr, origin) = match self.tier {
            Tier::Unified(entry) => {
                let mut code = 0;
                // SAFETY: context and device are live, the property list may be null, and `code` outlives the call.
                let raw = unsafe {
                    match kind {
                        UsmKind::Host => (entry.host)(self.context, null(), total, alignment, &raw mut code),
                        UsmKind::Device => {
                            (entry.device)(self.context, self.device, null(), total, alignment, &raw mut code)
                        }
                        UsmKind::Shared => {
                            (entry.shared)(self.context, self.device, null(), total, alignment, &raw mut code)
                        }
                    }
                };
                if raw.is_null() || code != 0 {
                    return Err(refused(if code == 0 { -4 } else { code }));
                }
                pointer(raw)
            }
            Tier::SvmFine | Tier::SvmCoarse
                if !matches!((self.tier, kind), (Tier::SvmCoarse, UsmKind::Device)) =>
            {
                let fine =
                    if matches!(self.tier, Tier::SvmFine) { mem::CL_MEM_SVM_FINE_GRAIN_BUFFER } else { 0 };
                let flags = mem::CL_MEM_READ_WRITE | fine;
                // The function has no code to give: null it is, most likely for want of memory.
                // SAFETY: the context is live; the flags are those that the device offers.
                let raw = unsafe { mem::svm_alloc(self.context, flags, total, alignment) }
                    .map_err(|_| refused(-4))?;
                match self.tier {
                    Tier::SvmCoarse => {
                        (pointer(raw).0, Origin::Both(self.buffer_of(raw, total)?, raw.addr()))
                    }
                    _ => pointer(raw),
                }
            }
            _ if kind != UsmKind::Device => {
                return Err(Error::unsupported(
                    "kind",
                    kind,
                    "a kind that the device has: device",
                    "use UsmKind::Device, and `to_vec` or `copy_to_host` to read results",
                ));
            }
            // NVIDIA's runtime makes buffers of any size, and fails where they are first used.
            _ if total > self.most => return Err(refused(-61)),
            _ => {
                // SAFETY: the context is live; no host pointer is given.
                let raw =
                    unsafe { mem::create_buffer(self.context, mem::CL_MEM_READ_WRITE, total, null_mut()) }
                        .map_err(refused)?;
                let object = MemoryObject::new(raw);
                let span = total.next_multiple_of(GAP_BYTES) + GAP_BYTES + align;
                let start = NEXT_ADDRESS.fetch_add(span, Ordering::Relaxed).next_multiple_of(align);
                (std::ptr::without_provenance_mut(start), Origin::Object(object))
            }
        };
        self.table
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(ptr.addr(), Entry { bytes, origin });
        Ok(RawAllocation { ptr: UsmPtr::new(ptr), bytes, kind })
    }

    /// A buffer made of SVM; without one, the SVM is freed.
    fn buffer_of(&self, raw: *mut c_void, bytes: usize) -> Result<MemoryObject> {
        let flags = mem::CL_MEM_READ_WRITE | mem::CL_MEM_USE_HOST_PTR;
        // SAFETY: the runtime just gave this memory in this context, with at least so many bytes; it is freed after the
        // object is released (`free`, and below).
        match unsafe { mem::create_buffer(self.context, flags, bytes, raw) } {
            Ok(object) => Ok(MemoryObject::new(object)),
            Err(code) => {
                // SAFETY: the runtime just gave this memory in this context, and no object was made of it;
                // nothing else knows the address.
                let _ = unsafe { mem::svm_free(self.context, raw) };
                Err(failed("clCreateBuffer", format!("{bytes} bytes of shared virtual memory"), code))
            }
        }
    }

    /// Frees memory.
    ///
    /// # Safety
    /// `memory` came from [`alloc`](Self::alloc), was not freed, and no pending command touches it.
    pub(crate) unsafe fn free(&self, memory: RawAllocation) {
        let entry = self.table.write().unwrap_or_else(PoisonError::into_inner).remove(&memory.ptr.addr());
        let address = match entry.map(|entry| entry.origin) {
            Some(Origin::Pointer(address)) => address,
            Some(Origin::Both(object, address)) => {
                drop(object);
                address
            }
            Some(Origin::Object(_)) | None => return,
        };
        let raw = memory.ptr.as_ptr().with_addr(address).cast::<c_void>();
        // SAFETY: the runtime gave this address in this context (`alloc`), and the entry is gone, so it is freed once; no
        // command touches it, by this function's contract. A failure leaves nothing to do.
        unsafe {
            match self.tier {
                Tier::Unified(entry) => {
                    let _ = (entry.free)(self.context, raw);
                }
                _ => {
                    let _ = mem::svm_free(self.context, raw);
                }
            }
        }
    }

    /// Whether an address is in memory of this device.
    pub(crate) fn contains(&self, ptr: UsmPtr) -> bool {
        self.find(ptr.addr(), |_, _| ()).is_some()
    }

    fn find<T>(&self, address: usize, f: impl FnOnce(usize, &Entry) -> T) -> Option<T> {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        let (&start, entry) = table.range(..=address).next_back()?;
        (address - start < entry.bytes).then(|| f(address - start, entry))
    }

    fn place(&self, ptr: UsmPtr) -> Place {
        let pointer = Place::Pointer(ptr.as_ptr().cast());
        if !self.tier.has_buffers() {
            return pointer;
        }
        self.find(ptr.addr(), |offset, entry| match &entry.origin {
            Origin::Object(object) => Place::Object(object.raw(), offset),
            Origin::Both(object, address) => Place::Object(object.raw(), ptr.addr() - address),
            Origin::Pointer(_) => Place::Pointer(ptr.as_ptr().cast()),
        })
        .unwrap_or(pointer)
    }

    /// What a kernel whose parameters are pointers gets for memory of so many bytes from an address on: of a buffer, a part of just
    /// these, for constant memory is scarce, which is kept in `parts`. `None` where no part may begin there.
    ///
    /// # Errors
    /// What the runtime reports.
    pub(crate) fn pointer(
        &self,
        ptr: UsmPtr,
        bytes: usize,
        align: usize,
        parts: &mut SmallVec<[MemoryObject; 4]>,
    ) -> Result<Option<Pointer>> {
        match self.place(ptr) {
            Place::Pointer(pointer) => Ok(Some(Pointer::Address(pointer))),
            Place::Object(_, offset) if offset % align != 0 => Ok(None),
            Place::Object(object, origin) => {
                let region = mem::cl_buffer_region { origin, size: bytes.max(1) };
                // SAFETY: the object is live, the region is inside of it and outlives the call.
                let raw = unsafe {
                    mem::create_sub_buffer(
                        object,
                        mem::CL_MEM_READ_WRITE,
                        mem::CL_BUFFER_CREATE_TYPE_REGION,
                        (&raw const region).cast(),
                    )
                };
                let raw = raw.map_err(|code| failed("clCreateSubBuffer", format!("{bytes} bytes"), code))?;
                parts.push(MemoryObject::new(raw));
                Ok(Some(Pointer::Object(raw)))
            }
        }
    }

    /// Sets an argument of a kernel whose parameter is a pointer.
    ///
    /// # Safety
    /// The kernel is live and no other thread sets its arguments; the memory is live.
    pub(crate) unsafe fn set_pointer(
        &self,
        kernel: cl_kernel,
        index: cl_uint,
        pointer: &Pointer,
    ) -> Result<(), i32> {
        use opencl3::kernel as k;
        // SAFETY: the kernel and the memory are as the caller says; an object's handle has the size that is said.
        unsafe {
            match (pointer, self.tier) {
                (Pointer::Object(object), _) => {
                    k::set_kernel_arg(kernel, index, size_of::<mem_object>(), (&raw const *object).cast())
                }
                (Pointer::Address(address), Tier::Unified(entry)) => {
                    match (entry.set_argument)(kernel, index, *address) {
                        0 => Ok(()),
                        code => Err(code),
                    }
                }
                (Pointer::Address(address), _) => k::set_kernel_arg_svm_pointer(kernel, index, *address),
            }
        }
    }

    /// Sets a memory argument of a kernel, which takes one parameter, or two where the device has buffers; returns the
    /// number of the next parameter.
    ///
    /// # Safety
    /// The kernel is live and no other thread sets its arguments; parameter `index` is a pointer to global memory, and
    /// the next one a `long` where the device has buffers.
    pub(crate) unsafe fn set_argument(
        &self,
        kernel: cl_kernel,
        index: cl_uint,
        ptr: UsmPtr,
    ) -> Result<cl_uint, i32> {
        use opencl3::kernel as k;
        let (object, offset) = match self.place(ptr) {
            Place::Pointer(pointer) => {
                // SAFETY: the kernel is as the caller says; the pointer is memory of this device (plans reach nothing
                // else).
                unsafe {
                    match self.tier {
                        Tier::Unified(entry) => match (entry.set_argument)(kernel, index, pointer) {
                            0 => {}
                            code => return Err(code),
                        },
                        _ => k::set_kernel_arg_svm_pointer(kernel, index, pointer)?,
                    }
                }
                if !self.tier.has_buffers() {
                    return Ok(index + 1);
                }
                (None, 0)
            }
            Place::Object(object, offset) => (Some(object), offset as i64),
        };
        // SAFETY: both values are of the sizes that are said, and outlive the calls.
        unsafe {
            if let Some(object) = object {
                k::set_kernel_arg(kernel, index, size_of::<mem_object>(), (&raw const object).cast())?;
            }
            k::set_kernel_arg(kernel, index + 1, size_of::<i64>(), (&raw const offset).cast())?;
        }
        Ok(index + 2)
    }

    /// Enqueues a copy between memory of this device, or between it and memory of the host.
    ///
    /// # Safety
    /// The ranges are valid and stay so until the event is complete; the waits are events of this context.
    pub(crate) unsafe fn enqueue_copy(
        &self,
        queue: &CommandQueue,
        dst: UsmPtr,
        src: UsmPtr,
        bytes: usize,
        waits: &[cl_event],
    ) -> Result<EventObject> {
        let (count, list) = wait_list(waits);
        let (to, from) = (self.place(dst), self.place(src));
        // SAFETY: the ranges are valid by this function's contract, and the objects are live: their memory is allocated.
        let outcome = unsafe {
            match (to, from) {
                (Place::Object(to, at), Place::Object(from, start)) => {
                    cq::enqueue_copy_buffer(queue.raw(), from, to, start, at, bytes, count, list)
                }
                (Place::Object(to, at), Place::Pointer(from)) => {
                    cq::enqueue_write_buffer(queue.raw(), to, CL_NON_BLOCKING, at, bytes, from, count, list)
                }
                (Place::Pointer(to), Place::Object(from, start)) => {
                    cq::enqueue_read_buffer(queue.raw(), from, CL_NON_BLOCKING, start, bytes, to, count, list)
                }
                (Place::Pointer(to), Place::Pointer(from)) => match self.tier {
                    Tier::Unified(entry) => {
                        let mut event = null_mut();
                        match (entry.copy)(queue.raw(), 0, to, from, bytes, count, list, &raw mut event) {
                            0 => Ok(event),
                            code => Err(code),
                        }
                    }
                    _ => cq::enqueue_svm_mem_cpy(queue.raw(), CL_NON_BLOCKING, to, from, bytes, count, list),
                },
            }
        };
        outcome
            .map(EventObject::new)
            .map_err(|code| failed("clEnqueueCopy", format!("{bytes} bytes from {src:?} to {dst:?}"), code))
    }

    /// Whether a copy is a read of a buffer to memory of the host.
    pub(crate) fn is_read(&self, dst: UsmPtr, src: UsmPtr) -> bool {
        matches!(self.place(src), Place::Object(..)) && !self.contains(dst)
    }

    /// Copies a buffer's bytes to memory of the host, and returns when they are there.
    ///
    /// # Safety
    /// The ranges are valid, and nothing else uses the host's; the waits are events of this context.
    pub(crate) unsafe fn read(
        &self,
        queue: &CommandQueue,
        dst: UsmPtr,
        src: UsmPtr,
        bytes: usize,
        waits: &[cl_event],
    ) -> Result<(), i32> {
        let (count, list) = wait_list(waits);
        let Place::Object(from, start) = self.place(src) else {
            return Err(opencl3::error_codes::CL_INVALID_MEM_OBJECT);
        };
        let to = dst.as_ptr().cast();
        // SAFETY: the ranges are valid by this function's contract, and the object is live: its memory is allocated.
        let event = unsafe {
            cq::enqueue_read_buffer(queue.raw(), from, CL_BLOCKING, start, bytes, to, count, list)
        }?;
        drop(EventObject::new(event));
        Ok(())
    }

    /// Enqueues a fill of memory of this device.
    ///
    /// # Safety
    /// As for [`enqueue_copy`](Self::enqueue_copy); the pattern has 1, 2, 4, 8 or 16 bytes, of which the range is a
    /// multiple.
    pub(crate) unsafe fn enqueue_fill(
        &self,
        queue: &CommandQueue,
        dst: UsmPtr,
        bytes: usize,
        pattern: &[u8],
        waits: &[cl_event],
    ) -> Result<EventObject> {
        let (count, list) = wait_list(waits);
        let (value, size) = (pattern.as_ptr().cast::<c_void>(), pattern.len());
        // SAFETY: the range is inside of memory that lives until the event is complete, and is a multiple of
        // the pattern; the runtime copies the pattern before it returns.
        let outcome = unsafe {
            match self.place(dst) {
                Place::Object(to, at) => {
                    cq::enqueue_fill_buffer(queue.raw(), to, value, size, at, bytes, count, list)
                }
                Place::Pointer(to) => match self.tier {
                    Tier::Unified(entry) => {
                        let mut event = null_mut();
                        match (entry.fill)(queue.raw(), to, value, size, bytes, count, list, &raw mut event) {
                            0 => Ok(event),
                            code => Err(code),
                        }
                    }
                    _ => cq::enqueue_svm_mem_fill(queue.raw(), to, value, size, bytes, count, list),
                },
            }
        };
        outcome
            .map(EventObject::new)
            .map_err(|code| failed("clEnqueueFill", format!("{bytes} bytes at {dst:?}"), code))
    }

    /// The object that a range of memory has to be mapped of, and where in it, if the host reaches it only so.
    fn to_map(&self, ptr: UsmPtr) -> Option<(mem_object, usize)> {
        if !matches!(self.tier, Tier::SvmCoarse) {
            return None;
        }
        self.find(ptr.addr(), |_, entry| match &entry.origin {
            Origin::Both(object, address) => Some((object.raw(), ptr.addr() - address)),
            _ => None,
        })?
    }

    /// Lets the host reach memory.
    ///
    /// # Safety
    /// As for [`Device::map`](stridewise_core::backend::Device::map).
    pub(crate) unsafe fn map<'q>(
        &self,
        queue: impl FnOnce() -> Result<&'q NativeQueue>,
        ptr: UsmPtr,
        bytes: usize,
        write: bool,
    ) -> Result<()> {
        let Some((object, offset)) = self.to_map(ptr) else { return Ok(()) };
        let queue = queue()?.object.raw();
        let flags = if write { mem::CL_MAP_READ | mem::CL_MAP_WRITE } else { mem::CL_MAP_READ };
        let mut mapped = null_mut();
        // SAFETY: the object is live and the range inside it, by the caller's promise; it is waited for.
        let event = unsafe {
            cq::enqueue_map_buffer(queue, object, CL_BLOCKING, flags, offset, bytes, &mut mapped, 0, null())
        };
        let failed = |code| failed("clEnqueueMapBuffer", format!("{bytes} bytes at {ptr:?}"), code);
        drop(EventObject::new(event.map_err(failed)?));
        // A buffer made of memory of the host is mapped where that memory is (OpenCL 3.0 API, section 5.2.4).
        if mapped.addr() == ptr.addr() { Ok(()) } else { Err(failed(opencl3::error_codes::CL_MAP_FAILURE)) }
    }

    /// Ends the host's reach.
    ///
    /// # Safety
    /// As for [`Device::unmap`](stridewise_core::backend::Device::unmap).
    pub(crate) unsafe fn unmap<'q>(
        &self,
        queue: impl FnOnce() -> Result<&'q NativeQueue>,
        ptr: UsmPtr,
    ) -> Result<()> {
        let Some((object, _)) = self.to_map(ptr) else { return Ok(()) };
        let queue = queue()?.object.raw();
        // SAFETY: the range is mapped at its own address, by the caller's promise and `map`.
        let event = unsafe { cq::enqueue_unmap_mem_object(queue, object, ptr.as_ptr().cast(), 0, null()) };
        let about = || format!("memory at {ptr:?}");
        let event = EventObject::new(event.map_err(|code| failed("clEnqueueUnmapMemObject", about(), code))?);
        opencl3::event::wait_for_events(&[event.raw()])
            .map_err(|code| failed("clWaitForEvents", about(), code))
    }
}

/// A wait list as the runtime wants it.
pub(crate) fn wait_list(waits: &[cl_event]) -> (cl_uint, *const cl_event) {
    match waits.len() {
        0 => (0, null()),
        // A scheduler's list is short; a list beyond 2³² events has no memory to stand in.
        len => (len as cl_uint, waits.as_ptr()),
    }
}
