//! dpctl's C library, `DPCTLSyclInterface`: queues of SYCL and their USM memory through plain functions. It is loaded
//! from the package that a caller's objects are of, so nothing is linked and nothing is needed where there is no dpctl.

use std::ffi::c_void;
use std::fmt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use dlopen2::raw;
use pyo3::prelude::*;
use stridewise::{Error, UsmKind, UsmPtr};

use crate::errors::{Fault, Result};

/// What the library hands out: an object of SYCL that is only pointed to.
type Object = NonNull<c_void>;
type Maybe = Option<Object>;

/// The number of SYCL's aspect `usm_device_allocations` in the headers.
const USM_ASPECT: i32 = 12;

macro_rules! functions {
    ($($name:ident $symbol:literal ($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// The functions that are used, by their names in the headers `dpctl_sycl_*_interface.h`.
        struct Functions {
            $($name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Functions {
            /// # Safety
            /// `library` is dpctl's, whose functions have these signatures.
            unsafe fn load(library: &raw::Library) -> std::result::Result<Self, dlopen2::Error> {
                // SAFETY: the caller's promise.
                unsafe { Ok(Self { $($name: library.symbol($symbol)?,)* }) }
            }
        }
    };
}
functions! {
    queue_copy "DPCTLQueue_Copy" (Object) -> Maybe;
    queue_delete "DPCTLQueue_Delete" (Object);
    queue_are_equal "DPCTLQueue_AreEq" (Object, Object) -> bool;
    queue_context "DPCTLQueue_GetContext" (Object) -> Maybe;
    queue_device "DPCTLQueue_GetDevice" (Object) -> Maybe;
    queue_wait "DPCTLQueue_Wait" (Object);
    context_delete "DPCTLContext_Delete" (Object);
    device_delete "DPCTLDevice_Delete" (Object);
    device_is_cpu "DPCTLDevice_IsCPU" (Object) -> bool;
    device_has_aspect "DPCTLDevice_HasAspect" (Object, i32) -> bool;
    alloc_shared "DPCTLaligned_alloc_shared" (usize, usize, Object) -> Maybe;
    alloc_host "DPCTLaligned_alloc_host" (usize, usize, Object) -> Maybe;
    alloc_device "DPCTLaligned_alloc_device" (usize, usize, Object) -> Maybe;
    free "DPCTLfree_with_queue" (Object, Object);
    pointer_type "DPCTLUSM_GetPointerType" (Object, Object) -> i32;
}

/// The loaded library.
struct Library {
    functions: Functions,
    /// Never closed: dpctl holds it too.
    _library: raw::Library,
}

static LIBRARY: OnceLock<Arc<Library>> = OnceLock::new();
/// The interpreter ends, and SYCL's runtime soon after it: nothing is asked of it any more, and what it gave stays.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// Ends the use of the library.
pub(super) fn close() {
    CLOSED.store(true, Ordering::Release);
}

fn is_closed() -> bool {
    CLOSED.load(Ordering::Acquire)
}

impl Library {
    /// The library of the dpctl that Python imports.
    ///
    /// # Errors
    /// `NotImplementedError` where there is none.
    fn of_dpctl(py: Python<'_>) -> Result<Arc<Self>> {
        if let Some(library) = LIBRARY.get() {
            return Ok(Arc::clone(library));
        }
        let absent = |why: String| {
            Fault::Core(Error::unsupported(
                "syclobj",
                format!("of SYCL, without dpctl's C library ({why})"),
                "an installed dpctl, which knows queues and contexts of SYCL",
                "install dpctl",
            ))
        };
        let package = py.import("dpctl").map_err(|error| absent(error.to_string()))?;
        let file = if cfg!(windows) { "DPCTLSyclInterface.dll" } else { "libDPCTLSyclInterface.so" };
        let folder: String = package.getattr("__path__")?.get_item(0)?.extract()?;
        let path = std::path::Path::new(&folder).join(file);
        let library = raw::Library::open(&path).map_err(|error| absent(error.to_string()))?;
        // SAFETY: the file is dpctl's own, in its package; the signatures are those of its headers, version 0.14 to 0.22.
        let functions = unsafe { Functions::load(&library) }.map_err(|error| absent(error.to_string()))?;
        // Before the runtime's own end, which comes after the interpreter's.
        let end = wrap_pyfunction!(super::device::end, py)?;
        py.import("atexit")?.call_method1("register", (end,))?;
        Ok(Arc::clone(LIBRARY.get_or_init(|| Arc::new(Self { functions, _library: library }))))
    }
}

/// A queue of SYCL and its context. It holds them as C++ objects, without any object of Python.
pub(crate) struct SyclQueue {
    library: Arc<Library>,
    queue: Object,
    context: Object,
}

// SAFETY: queues and contexts of SYCL are thread-safe (SYCL 2020, section 4.5.2: common reference semantics), and the
// library's functions only call them.
unsafe impl Send for SyclQueue {}
// SAFETY: as for `Send`.
unsafe impl Sync for SyclQueue {}

impl SyclQueue {
    /// A hold on the queue that a capsule "SyclQueueRef" has.
    ///
    /// # Errors
    /// `NotImplementedError` without dpctl, and for queues of devices that are no processors: their memory is not this
    /// process's.
    ///
    /// # Safety
    /// `queue` is a live `DPCTLSyclQueueRef`.
    pub(crate) unsafe fn new(py: Python<'_>, queue: NonNull<c_void>) -> Result<Self> {
        let library = Library::of_dpctl(py)?;
        let functions = &library.functions;
        let lost = || {
            Fault::Core(Error::runtime(
                "syclobj",
                "a queue that cannot be used",
                "a live queue of SYCL",
                "this is a defect of the library that made it",
            ))
        };
        // SAFETY: a live queue, by the caller's promise; what the functions return is ours, and is given back in `drop` or
        // here.
        unsafe {
            let queue = (functions.queue_copy)(queue).ok_or_else(lost)?;
            let Some(context) = (functions.queue_context)(queue) else {
                (functions.queue_delete)(queue);
                return Err(lost());
            };
            let held = Self { library: Arc::clone(&library), queue, context };
            let device = (functions.queue_device)(queue).ok_or_else(lost)?;
            let is_cpu = (functions.device_is_cpu)(device);
            let has_usm = (functions.device_has_aspect)(device, USM_ASPECT);
            (functions.device_delete)(device);
            match (is_cpu, has_usm) {
                (true, true) => return Ok(held),
                // Asking such a device's context about a pointer throws an exception that the library lets pass.
                (true, false) => {
                    return Err(Fault::Core(Error::unsupported(
                        "syclobj",
                        "a queue of a SYCL device without USM",
                        "a queue of a device that has USM",
                        "use Intel's runtime for processors, which comes with dpctl (OCL_ICD_FILENAMES names it)",
                    )));
                }
                (false, _) => {}
            }
        }
        Err(Fault::Core(Error::unsupported(
            "syclobj",
            "a queue of a SYCL device that is no processor",
            "a queue of a processor, whose memory is this process's",
            "copy the array to the host first, in dpnp with asnumpy",
        )))
    }

    /// What a capsule "SyclQueueRef" points to; valid as long as this is.
    pub(crate) fn reference(&self) -> NonNull<c_void> {
        self.queue
    }

    /// Whether two are the same queue.
    pub(crate) fn is(&self, other: &Self) -> bool {
        // SAFETY: both are live.
        unsafe { (self.library.functions.queue_are_equal)(self.queue, other.queue) }
    }

    /// Waits until everything submitted to the queue is done.
    pub(crate) fn wait(&self) {
        if !is_closed() {
            // SAFETY: the queue is live.
            unsafe { (self.library.functions.queue_wait)(self.queue) }
        }
    }

    /// The kind of the memory that an address is in, in the queue's context; `None` where it is in none.
    pub(crate) fn kind_of(&self, address: usize) -> Option<UsmKind> {
        let pointer = NonNull::new(std::ptr::without_provenance_mut(address))?;
        // SAFETY: the context is live; the address is only looked up.
        match unsafe { (self.library.functions.pointer_type)(pointer, self.context) } {
            1 => Some(UsmKind::Device),
            2 => Some(UsmKind::Shared),
            3 => Some(UsmKind::Host),
            _ => None,
        }
    }

    /// Allocates memory in the queue's context; `None` where there is none.
    pub(crate) fn alloc(&self, kind: UsmKind, bytes: usize, align: usize) -> Option<UsmPtr> {
        if is_closed() {
            return None;
        }
        let functions = &self.library.functions;
        let alloc = match kind {
            UsmKind::Shared => functions.alloc_shared,
            UsmKind::Host => functions.alloc_host,
            UsmKind::Device => functions.alloc_device,
        };
        // SAFETY: the queue is live, and the sizes are any.
        let memory = unsafe { alloc(align, bytes, self.queue) }?;
        Some(UsmPtr::new(memory.as_ptr().cast()))
    }

    /// Frees memory.
    ///
    /// # Safety
    /// It is from [`alloc`](Self::alloc) of this queue, was not freed, and nothing uses it any more.
    pub(crate) unsafe fn free(&self, memory: UsmPtr) {
        if let Some(memory) = NonNull::new(memory.as_ptr().cast())
            && !is_closed()
        {
            // SAFETY: the caller's promise; the queue is live.
            unsafe { (self.library.functions.free)(memory, self.queue) }
        }
    }
}

impl Drop for SyclQueue {
    fn drop(&mut self) {
        if is_closed() {
            return;
        }
        let functions = &self.library.functions;
        // SAFETY: both are ours and live, and are given back once, here.
        unsafe {
            (functions.context_delete)(self.context);
            (functions.queue_delete)(self.queue);
        }
    }
}

impl fmt::Debug for SyclQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SyclQueue({:p})", self.queue)
    }
}
