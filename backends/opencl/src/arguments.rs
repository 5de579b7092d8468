//! The arguments of a kernel object. A runtime takes a tenth of a launch's time for each, so only those that changed since
//! the kernel's last launch are set again.

use std::ffi::c_void;

use opencl3::kernel as cl;
use opencl3::types::{cl_kernel, cl_mem, cl_uint};
use smallvec::SmallVec;

use crate::handle::KernelObject;

/// A kernel object, and what its parameters are set to.
pub(crate) struct Arguments {
    kernel: KernelObject,
    set: SmallVec<[Setting; 16]>,
}

/// What a parameter is set to.
#[derive(PartialEq, Eq)]
enum Setting {
    /// Not known.
    Open,
    /// A pointer, when so many times memory had been freed: the same address may mean other memory after that.
    Pointer(*mut c_void, u64),
    /// A memory object, likewise.
    Object(cl_mem, u64),
    /// A value.
    Bytes(SmallVec<[u8; 32]>),
    /// So many bytes of local memory.
    Local(usize),
}

// SAFETY: addresses are compared here, and not followed.
unsafe impl Send for Setting {}

impl Arguments {
    /// The arguments of a kernel object that has none yet.
    pub(crate) fn new(kernel: KernelObject) -> Self {
        Self { kernel, set: SmallVec::new() }
    }

    pub(crate) fn raw(&self) -> cl_kernel {
        self.kernel.raw()
    }

    fn slot(&mut self, index: cl_uint) -> &mut Setting {
        let index = index as usize;
        if self.set.len() <= index {
            self.set.resize_with(index + 1, || Setting::Open);
        }
        &mut self.set[index]
    }

    /// Sets a parameter, where it is not set so already.
    fn change(
        &mut self,
        index: cl_uint,
        setting: Setting,
        set: impl FnOnce(cl_kernel) -> Result<(), i32>,
    ) -> Result<(), i32> {
        let kernel = self.raw();
        let slot = self.slot(index);
        if *slot == setting {
            return Ok(());
        }
        *slot = Setting::Open;
        set(kernel)?;
        *slot = setting;
        Ok(())
    }

    /// Sets a pointer by the function given.
    pub(crate) fn pointer(
        &mut self,
        index: cl_uint,
        pointer: *mut c_void,
        frees: u64,
        set: impl FnOnce(cl_kernel) -> Result<(), i32>,
    ) -> Result<(), i32> {
        self.change(index, Setting::Pointer(pointer, frees), set)
    }

    /// Sets a memory object.
    ///
    /// # Safety
    /// The parameter is a pointer to global memory, and the object is live.
    pub(crate) unsafe fn object(&mut self, index: cl_uint, object: cl_mem, frees: u64) -> Result<(), i32> {
        self.change(index, Setting::Object(object, frees), |kernel| {
            // SAFETY: the object is live, and the parameter takes it, by this function's contract.
            unsafe { cl::set_kernel_arg(kernel, index, size_of::<cl_mem>(), (&raw const object).cast()) }
        })
    }

    /// Sets a value.
    ///
    /// # Safety
    /// The parameter's type has so many bytes, and any bytes are a value of it.
    pub(crate) unsafe fn bytes(&mut self, index: cl_uint, bytes: &[u8]) -> Result<(), i32> {
        if matches!(self.slot(index), Setting::Bytes(known) if **known == *bytes) {
            return Ok(());
        }
        self.change(index, Setting::Bytes(bytes.into()), |kernel| {
            // SAFETY: the parameter takes the bytes, by this function's contract; the runtime copies them.
            unsafe { cl::set_kernel_arg(kernel, index, bytes.len(), bytes.as_ptr().cast()) }
        })
    }

    /// Sets an amount of local memory.
    ///
    /// # Safety
    /// The parameter is a pointer to local memory.
    pub(crate) unsafe fn local(&mut self, index: cl_uint, bytes: usize) -> Result<(), i32> {
        self.change(index, Setting::Local(bytes), |kernel| {
            // SAFETY: the parameter takes local memory, by this function's contract.
            unsafe { cl::set_kernel_arg(kernel, index, bytes, std::ptr::null()) }
        })
    }
}
