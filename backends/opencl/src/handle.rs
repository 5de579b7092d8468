//! Objects of the runtime, each released once, and counted. A process that was forked has no runtime: there they are only
//! forgotten.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use opencl3::types::{cl_command_queue, cl_context, cl_event, cl_kernel, cl_mem, cl_program};
use stridewise_core::backend::Home;

/// Objects of the runtime that this process holds through this backend.
static LIVE: AtomicUsize = AtomicUsize::new(0);

/// Contexts, queues, memory objects, programs, kernels and events of OpenCL runtimes that this process holds now. The
/// devices that were listed keep a context each, and the programs and kernels that were used last.
#[must_use]
pub fn live_handles() -> usize {
    LIVE.load(Ordering::Relaxed)
}

/// The process that loaded the runtimes: in those that are forked from it they lack their threads.
pub(crate) fn home() -> Home {
    static HOME: OnceLock<Home> = OnceLock::new();
    *HOME.get_or_init(Home::here)
}

macro_rules! handles {
    ($($(#[$doc:meta])* $Name:ident $raw:ident $release:path;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub(crate) struct $Name($raw);

        // SAFETY: OpenCL's objects may be used from any thread (OpenCL 3.0 API, section 2.6), but for `clSetKernelArg`
        // on one kernel, which `program::Kernel` guards.
        unsafe impl Send for $Name {}
        // SAFETY: as for Send.
        unsafe impl Sync for $Name {}

        impl $Name {
            /// Takes over the reference that the runtime just gave.
            pub(crate) fn new(raw: $raw) -> Self {
                LIVE.fetch_add(1, Ordering::Relaxed);
                Self(raw)
            }
            pub(crate) fn raw(&self) -> $raw {
                self.0
            }
        }

        impl Drop for $Name {
            fn drop(&mut self) {
                LIVE.fetch_sub(1, Ordering::Relaxed);
                if home().is_here() {
                    // SAFETY: the reference is this object's own and is given up once, here. A failure leaves nothing to do.
                    let _ = unsafe { $release(self.0) };
                }
            }
        }
    )*};
}

handles! {
    /// A context.
    Context cl_context cl3::context::release_context;
    /// A command queue.
    CommandQueue cl_command_queue cl3::command_queue::release_command_queue;
    /// A memory object.
    MemoryObject cl_mem cl3::memory::release_mem_object;
    /// A program.
    Program cl_program cl3::program::release_program;
    /// A kernel.
    KernelObject cl_kernel cl3::kernel::release_kernel;
    /// An event.
    EventObject cl_event cl3::event::release_event;
}

impl EventObject {
    /// Another reference to the event.
    ///
    /// # Errors
    /// What the runtime says that cannot count one more.
    pub(crate) fn share(&self) -> Result<Self, i32> {
        // SAFETY: the event is live; the new reference is the new object's.
        unsafe { cl3::event::retain_event(self.0) }?;
        Ok(Self::new(self.0))
    }
}
