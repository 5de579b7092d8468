//! DLPack 1.x: arrays handed to other libraries, and taken from them, without a copy.
//!
//! The structures are those of the header `dlpack.h`, with its names. A *managed tensor* is a description of an array
//! together with the function that gives it back; it comes in two forms, [`DLManagedTensor`] of old, and
//! [`DLManagedTensorVersioned`], which has a version and flags. Whoever holds the pointer owns the tensor and calls its
//! deleter once.
//!
//! Memory of kinds that host code may touch goes out as memory of the processor (`kDLCPU`), so that any library takes it, and where
//! somebody asks for it, as what it is besides ([`devices_of`]): of a CUDA device, page-locked and managed memory are the device's, too.
//!
//! A tensor says on which device it is. Consumers know `kDLCPU` and `kDLCUDA`; few know `kDLOneAPI` or OpenCL, and nobody
//! can use the invented address of a buffer. So device memory goes out where its device has a number in the protocol
//! ([`Capabilities::exchange`](stridewise_core::backend::Capabilities::exchange)), and is refused elsewhere (`check_visible` in
//! `host.rs`, `BufferError` in Python) with the way out, a copy that someone asks for; so is coarse-grained memory, which must be mapped
//! first. What goes out is complete first, or the stream that it is for waits for it ([`When`]), and it counts as known outside until
//! the tensor is given back; what comes in is registered, and if it is ours it is the same allocation again. Tests have read 100 000
//! random tensors for each property under the address sanitizer, and so does the fuzz target `dlpack`.
//!
//! ```
//! # use stridewise as _;
//! use stridewise_core::{Dtype, UsmArray, UsmKind};
//! use stridewise_exchange::dlpack::{DLManagedTensorVersioned, export, import};
//!
//! let queue = stridewise_exchange::host::host_queue()?;
//! let array = UsmArray::arange(&queue, 0, 3, 1, Dtype::I64, UsmKind::Shared)?;
//! let tensor = export::<DLManagedTensorVersioned>(&array, false)?; // what another library is handed
//! // SAFETY: the tensor is ours, and is given up.
//! let same = unsafe { import(tensor.as_ptr(), &queue) }?;
//! assert_eq!(same.to_vec::<i64>()?, [0, 1, 2]);
//! # Ok::<(), stridewise_core::Error>(())
//! ```

mod export;
mod import;
#[cfg(test)]
mod tests;

use std::ffi::c_void;

use stridewise_core::{Dtype, DtypeKind, Error, Result, UsmKind};

pub use export::{When, device_of, devices_of, export, export_for};
pub use import::{import, queue_of};

/// The version of DLPack that is written, and the newest one whose fields are known: major, minor.
pub const VERSION: DLPackVersion = DLPackVersion { major: 1, minor: 1 };

/// The processor's memory.
pub const DL_CPU: i32 = 1;

/// Memory of a CUDA device.
pub const DL_CUDA: i32 = 2;
/// Memory of the processor that is page-locked for CUDA devices.
pub const DL_CUDA_HOST: i32 = 3;
/// Memory that CUDA's driver manages.
pub const DL_CUDA_MANAGED: i32 = 13;

/// The type of a device's memory of a kind, where its device memory is of a type; `None` where it has no type of its own.
fn type_of(device_type: i32, kind: UsmKind) -> Option<i32> {
    match (device_type, kind) {
        (_, UsmKind::Device) => Some(device_type),
        (DL_CUDA, UsmKind::Host) => Some(DL_CUDA_HOST),
        (DL_CUDA, UsmKind::Shared) => Some(DL_CUDA_MANAGED),
        _ => None,
    }
}

/// The tensor must not be written.
pub const FLAG_READ_ONLY: u64 = 1;
/// The tensor is a copy that nobody else has.
pub const FLAG_IS_COPIED: u64 = 2;

/// Signed integer.
pub const DL_INT: u8 = 0;
/// Unsigned integer.
pub const DL_UINT: u8 = 1;
/// Floating point of IEEE 754.
pub const DL_FLOAT: u8 = 2;
/// The upper half of a `float32`.
pub const DL_BFLOAT: u8 = 4;
/// Complex number; the bits are those of both parts.
pub const DL_COMPLEX: u8 = 5;
/// Truth value in a byte.
pub const DL_BOOL: u8 = 6;

/// Version of a managed tensor. Another major version is another structure.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DLPackVersion {
    /// Changes where the structures do.
    pub major: u32,
    /// Changes where something was added that older programs may ignore.
    pub minor: u32,
}

/// Where a tensor's memory is.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DLDevice {
    /// The kind of device, such as [`DL_CPU`].
    pub device_type: i32,
    /// Its number; 0 for the processor.
    pub device_id: i32,
}

/// The type of a tensor's elements.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DLDataType {
    /// The class, such as [`DL_FLOAT`].
    pub code: u8,
    /// Bits of one lane.
    pub bits: u8,
    /// Lanes of an element, 1 for numbers.
    pub lanes: u16,
}

/// An array that somebody else owns.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLTensor {
    /// Where the memory begins; `byte_offset` further is the element at multi-index zero.
    pub data: *mut c_void,
    /// Where the memory is.
    pub device: DLDevice,
    /// Number of dimensions.
    pub ndim: i32,
    /// The type of the elements.
    pub dtype: DLDataType,
    /// `ndim` extents.
    pub shape: *mut i64,
    /// `ndim` distances in elements; null, in tensors from elsewhere, for row-major order.
    pub strides: *mut i64,
    /// Bytes from `data` to the element at multi-index zero.
    pub byte_offset: u64,
}

/// Gives a managed tensor back.
pub type DLDeleter<M> = unsafe extern "C" fn(managed: *mut M);

/// A tensor and how to give it back, without a version.
#[repr(C)]
#[derive(Debug)]
pub struct DLManagedTensor {
    /// The array.
    pub dl_tensor: DLTensor,
    /// The owner's own.
    pub manager_ctx: *mut c_void,
    /// Gives the tensor back; null where there is nothing to give back.
    pub deleter: Option<DLDeleter<Self>>,
}

/// A tensor and how to give it back, with version and flags.
#[repr(C)]
#[derive(Debug)]
pub struct DLManagedTensorVersioned {
    /// The version that the fields behind the deleter follow.
    pub version: DLPackVersion,
    /// The owner's own.
    pub manager_ctx: *mut c_void,
    /// Gives the tensor back; null where there is nothing to give back.
    pub deleter: Option<DLDeleter<Self>>,
    /// [`FLAG_READ_ONLY`], [`FLAG_IS_COPIED`]; others are ignored.
    pub flags: u64,
    /// The array.
    pub dl_tensor: DLTensor,
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::DLManagedTensor {}
    impl Sealed for super::DLManagedTensorVersioned {}
}

/// The two forms of a managed tensor.
pub trait ManagedTensor: sealed::Sealed + Sized + 'static {
    /// Whether the form can say that a tensor is read-only.
    const HAS_FLAGS: bool;

    /// Puts the parts together.
    #[doc(hidden)]
    fn wrap(dl_tensor: DLTensor, deleter: DLDeleter<Self>, flags: u64) -> Self;

    /// The fields that point to what stands beside the tensor.
    #[doc(hidden)]
    fn links(&mut self) -> (&mut DLTensor, &mut *mut c_void);

    /// Refuses versions whose other fields are not known.
    ///
    /// # Errors
    /// [`Error::Unsupported`].
    ///
    /// # Safety
    /// `managed` points to a tensor of this form, of any version.
    #[doc(hidden)]
    unsafe fn check_version(managed: *const Self) -> Result<()>;

    /// The array.
    fn tensor(&self) -> &DLTensor;
    /// The flags. A tensor of the form that has none may be another library's that is never written: it is read-only.
    fn flags(&self) -> u64;
    /// How to give the tensor back.
    fn deleter(&self) -> Option<DLDeleter<Self>>;
}

impl ManagedTensor for DLManagedTensor {
    const HAS_FLAGS: bool = false;
    fn wrap(dl_tensor: DLTensor, deleter: DLDeleter<Self>, _flags: u64) -> Self {
        Self { dl_tensor, manager_ctx: std::ptr::null_mut(), deleter: Some(deleter) }
    }
    fn links(&mut self) -> (&mut DLTensor, &mut *mut c_void) {
        (&mut self.dl_tensor, &mut self.manager_ctx)
    }
    unsafe fn check_version(_managed: *const Self) -> Result<()> {
        Ok(())
    }
    fn tensor(&self) -> &DLTensor {
        &self.dl_tensor
    }
    fn flags(&self) -> u64 {
        FLAG_READ_ONLY
    }
    fn deleter(&self) -> Option<DLDeleter<Self>> {
        self.deleter
    }
}

impl ManagedTensor for DLManagedTensorVersioned {
    const HAS_FLAGS: bool = true;
    fn wrap(dl_tensor: DLTensor, deleter: DLDeleter<Self>, flags: u64) -> Self {
        Self { version: VERSION, manager_ctx: std::ptr::null_mut(), deleter: Some(deleter), flags, dl_tensor }
    }
    fn links(&mut self) -> (&mut DLTensor, &mut *mut c_void) {
        (&mut self.dl_tensor, &mut self.manager_ctx)
    }
    unsafe fn check_version(managed: *const Self) -> Result<()> {
        // SAFETY: the version is the first field in every version, and the caller's pointer is to such a tensor.
        let version = unsafe { (*managed).version };
        if version.major == VERSION.major {
            return Ok(());
        }
        Err(Error::unsupported(
            "tensor",
            format!("of DLPack {}.{}", version.major, version.minor),
            format!("DLPack {}.x", VERSION.major),
            "ask the other library for that version, in Python with max_version=(1, 1)",
        ))
    }
    fn tensor(&self) -> &DLTensor {
        &self.dl_tensor
    }
    fn flags(&self) -> u64 {
        self.flags
    }
    fn deleter(&self) -> Option<DLDeleter<Self>> {
        self.deleter
    }
}

/// Gives a managed tensor back to whom it came from.
///
/// # Safety
/// `managed` points to a tensor that the caller owns and does not use any more.
pub unsafe fn give_back<M: ManagedTensor>(managed: *mut M) {
    // SAFETY: the tensor is live until its deleter is called, which is here, once; that is what owning it means.
    unsafe {
        if let Some(deleter) = (*managed).deleter() {
            deleter(managed);
        }
    }
}

impl From<Dtype> for DLDataType {
    fn from(dtype: Dtype) -> Self {
        let code = match dtype.kind() {
            DtypeKind::Bool => DL_BOOL,
            DtypeKind::Signed => DL_INT,
            DtypeKind::Unsigned => DL_UINT,
            DtypeKind::Float if dtype == Dtype::Bf16 => DL_BFLOAT,
            DtypeKind::Float => DL_FLOAT,
            DtypeKind::Complex => DL_COMPLEX,
        };
        // The widest element has 128 bits.
        Self { code, bits: (dtype.size() * 8) as u8, lanes: 1 }
    }
}

impl TryFrom<DLDataType> for Dtype {
    type Error = Error;
    fn try_from(data_type: DLDataType) -> Result<Self> {
        let found = Self::ALL.iter().copied().find(|&dtype| DLDataType::from(dtype) == data_type);
        found.ok_or_else(|| {
            Error::dtype(
                "dtype",
                format!(
                    "class {} of {} bits and {} lanes",
                    data_type.code, data_type.bits, data_type.lanes
                ),
                "bool of 8 bits, an integer of 8 to 64, a float of 16 to 64, bfloat16, or a complex number of 64 or \
                 128, in 1 lane",
                "convert the elements in the other library first",
            )
        })
    }
}
