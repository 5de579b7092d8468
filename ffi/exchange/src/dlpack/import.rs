//! Tensors on their way in.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use smallvec::SmallVec;
use stridewise_core::backend::Aspect;
use stridewise_core::{
    Dtype, Error, Layout, MAX_NDIM, Order, Queue, Result, Strides, UsmArray, UsmKind, UsmMemory, UsmPtr,
    default_device, devices,
};

use super::{DL_CPU, DLTensor, FLAG_READ_ONLY, ManagedTensor, give_back};

/// The cached queue of the host device, which is the one that works on the processor's memory in place.
///
/// # Errors
/// [`Error::DeviceSelection`] where there is no host device; what the runtime reports.
pub fn host_queue() -> Result<Queue> {
    let default = default_device()?;
    if default.info().has(Aspect::HostDebuggable) {
        return Queue::default_queue();
    }
    let host = devices().into_iter().find(|device| device.info().has(Aspect::HostDebuggable));
    match host {
        Some(device) => device.queue(),
        None => Err(Error::device_selection(
            "queue",
            "none of the host",
            "a host device",
            "use the `stridewise` crate, which brings the host backend",
        )),
    }
}

/// Adopts a managed tensor: an array that shares its memory, of kind host, on a queue of the host. The tensor's deleter is
/// called when the last array on the memory is gone and the work on it is done, from whichever thread that is; of a tensor
/// without elements at once. An array on a read-only tensor is read-only.
///
/// On an error the tensor is still the caller's.
///
/// # Errors
/// [`Error::Unsupported`] for another major version, for memory that is not the processor's, and for a queue whose device
/// does not work in that; [`Error::Dtype`], [`Error::Axis`], [`Error::Shape`], [`Error::OutOfBounds`],
/// [`Error::Overflow`] and [`Error::Value`] where the fields say what cannot be.
///
/// # Safety
/// `managed` is null or points to a managed tensor that the caller owns; its shape and strides are null or have as many
/// entries as it has dimensions; the memory between the lowest and the highest element that it describes is there until its
/// deleter is called, and nothing accesses it in conflict with work of the engine; the deleter may be called from any
/// thread.
pub unsafe fn import<M: ManagedTensor>(managed: *mut M, queue: &Queue) -> Result<UsmArray> {
    if managed.is_null() {
        return Err(Error::value("tensor", "null", "a managed tensor", "export one from an array"));
    }
    // SAFETY: not null, so a tensor, as the caller promises.
    unsafe { M::check_version(managed)? };
    // SAFETY: a live tensor whose fields are those of `M`, by its version.
    let (tensor, flags) = unsafe { ((*managed).tensor(), (*managed).flags()) };
    // SAFETY: the caller's promise about shape and strides.
    let place = unsafe { Description::read(tensor)? }.place()?;
    if !queue.device().info().has(Aspect::HostDebuggable) {
        return Err(Error::unsupported(
            "queue",
            queue,
            "a queue of the host device, which works on the processor's memory in place",
            "import on a queue of the host, then copy with `to_queue`",
        ));
    }
    let array = if place.layout.is_empty() {
        UsmArray::empty(queue, place.layout.shape(), place.dtype, UsmKind::Host)?
    } else {
        // Should anything below fail, the memory goes without its deleter: the tensor is the caller's then.
        let adopted = Arc::new(AtomicBool::new(false));
        let owner = Owner { managed, adopted: Arc::clone(&adopted) };
        let ptr = UsmPtr::new(tensor.data.cast()).byte_offset(place.step);
        let deleter = Box::new(move || owner.give_back());
        // SAFETY: the memory from the lowest element to the highest is there until the tensor's deleter is called, as
        // the caller promises; which `place` has computed, and which the host may use, for it is the processor's.
        let memory =
            unsafe { UsmMemory::from_foreign(UsmKind::Host, ptr, place.bytes, queue, Some(deleter))? };
        let array = UsmArray::builder(place.layout.shape())
            .dtype(place.dtype)
            .strides(place.layout.strides())
            .offset(place.layout.offset())
            .buffer(&memory)
            .build()?;
        adopted.store(true, Ordering::Release);
        array
    };
    if array.is_empty() {
        // SAFETY: the caller owned the tensor and gives it up, and nothing refers to it.
        unsafe { give_back(managed) };
    }
    let mut array = array;
    array.set_writable(flags & FLAG_READ_ONLY == 0);
    Ok(array)
}

/// A managed tensor that an allocation gives back at its end.
struct Owner<M: ManagedTensor> {
    managed: *mut M,
    adopted: Arc<AtomicBool>,
}

// SAFETY: the pointer is used once, to call the tensor's deleter, which may be called from any thread (`import`).
unsafe impl<M: ManagedTensor> Send for Owner<M> {}

impl<M: ManagedTensor> Owner<M> {
    fn give_back(self) {
        if self.adopted.load(Ordering::Acquire) {
            // SAFETY: `import` has taken the tensor over, and the memory's last owner is gone.
            unsafe { give_back(self.managed) };
        }
    }
}

/// A tensor's fields, read but not believed.
#[derive(Clone, Debug)]
pub(super) struct Description {
    pub(super) address: usize,
    pub(super) device_type: i32,
    pub(super) dtype: super::DLDataType,
    pub(super) shape: SmallVec<[i64; 4]>,
    pub(super) strides: Option<SmallVec<[i64; 4]>>,
    pub(super) byte_offset: u64,
}

/// Where a tensor's elements are.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) dtype: Dtype,
    /// From the lowest element on.
    pub(super) layout: Layout,
    /// Bytes from the tensor's `data` to the lowest element.
    pub(super) step: isize,
    /// Bytes from the lowest element to the end of the highest.
    pub(super) bytes: usize,
}

impl Description {
    /// Reads the fields.
    ///
    /// # Errors
    /// [`Error::Axis`] for a number of dimensions below zero or above what an array has, [`Error::Value`] for no shape.
    ///
    /// # Safety
    /// Shape and strides are null or have `ndim` entries.
    pub(super) unsafe fn read(tensor: &DLTensor) -> Result<Self> {
        let ndim = usize::try_from(tensor.ndim).ok().filter(|&ndim| ndim <= MAX_NDIM).ok_or_else(|| {
            Error::axis(
                "ndim",
                tensor.ndim,
                format!("0 to {MAX_NDIM} dimensions"),
                "merge dimensions in the other library first",
            )
        })?;
        // SAFETY: not null and of `ndim` entries, as the caller promises.
        let entries = |ptr: *mut i64| unsafe { std::slice::from_raw_parts(ptr, ndim) };
        let shape = match (ndim, tensor.shape.is_null()) {
            (0, _) => SmallVec::new(),
            (_, false) => SmallVec::from_slice(entries(tensor.shape)),
            (_, true) => {
                return Err(Error::value(
                    "shape",
                    format!("null, with {ndim} dimensions"),
                    "one extent per dimension",
                    "this is a defect of the library that made the tensor",
                ));
            }
        };
        let strides = (ndim > 0 && !tensor.strides.is_null()).then(|| entries(tensor.strides).into());
        Ok(Self {
            address: tensor.data.addr(),
            device_type: tensor.device.device_type,
            dtype: tensor.dtype,
            shape,
            strides,
            byte_offset: tensor.byte_offset,
        })
    }

    /// Checks the fields against each other.
    ///
    /// # Errors
    /// As for [`import`].
    pub(super) fn place(&self) -> Result<Place> {
        if self.device_type != DL_CPU {
            return Err(Error::unsupported(
                "tensor",
                format!("in memory of DLPack's device type {}", self.device_type),
                format!("the processor's memory (kDLCPU, {DL_CPU})"),
                "copy it to the processor's memory in the other library first, in Python with dl_device=(1, 0)",
            ));
        }
        let dtype = Dtype::try_from(self.dtype)?;
        let mut shape: SmallVec<[usize; 4]> = SmallVec::new();
        for &extent in &self.shape {
            shape.push(usize::try_from(extent).map_err(|_| {
                let value = format!("{:?}", self.shape.as_slice());
                Error::shape("shape", value, "no extent below zero", "count the elements along each axis")
            })?);
        }
        let wide = |stride: i64| {
            let help = "this is a defect of the library that made the tensor";
            isize::try_from(stride)
                .map_err(|_| Error::overflow("strides", stride, "distances within the address space", help))
        };
        let strides = match &self.strides {
            Some(strides) => Some(strides.iter().copied().map(wide).collect::<Result<Strides>>()?),
            None => None,
        };
        // Without an offset, the lowest element is where the layout begins.
        let layout = Layout::new(&shape, strides.as_deref(), None, Order::C, dtype.size(), None)?;
        if layout.is_empty() {
            return Ok(Place { dtype, layout, step: 0, bytes: 0 });
        }
        if self.address == 0 {
            return Err(Error::value(
                "data",
                format!("null, with shape {shape:?}"),
                "the address of the elements",
                "this is a defect of the library that made the tensor",
            ));
        }
        // `Layout::new` has checked that these fit `isize`.
        let bytes = layout.required_elements() * dtype.size();
        let below = (layout.offset() * dtype.size()) as i128;
        let step = i128::from(self.byte_offset) - below;
        let start = self.address as i128 + step;
        let (Ok(step), true) =
            (isize::try_from(step), start > 0 && start + bytes as i128 <= usize::MAX as i128)
        else {
            return Err(Error::out_of_bounds(
                "byte_offset",
                format!(
                    "{} from address {:#x}, with {below} bytes of elements before it",
                    self.byte_offset, self.address
                ),
                "elements within the address space",
                "this is a defect of the library that made the tensor",
            ));
        };
        if start.rem_euclid(dtype.align() as i128) != 0 {
            return Err(Error::value(
                "data",
                format!("an element at address {start:#x}"),
                format!("a multiple of {} bytes, the alignment of {dtype}", dtype.align()),
                "copy the array in the other library first",
            ));
        }
        Ok(Place { dtype, layout, step, bytes })
    }
}
