//! Tensors on their way in.

use smallvec::SmallVec;
use stridewise_core::{Device, Dtype, Error, MAX_NDIM, Queue, Result, UsmArray, UsmKind, each_device};

use super::{DL_CPU, DL_CUDA_HOST, DLDevice, DLTensor, FLAG_READ_ONLY, ManagedTensor, give_back, type_of};
use crate::host::{Place, Room, host_queue};

/// The queue that works on memory of a device as it is: of the host for the processor's, of a device whose number it is in the protocol
/// for its own. `None` where there is no such device.
///
/// # Errors
/// What the runtime reports.
pub fn queue_of(device: DLDevice) -> Result<Option<Queue>> {
    let own = |found: &Device| match found.capabilities().exchange {
        Some(exchange) => UsmKind::ALL.into_iter().any(|kind| is_of(device, exchange, kind)),
        None => false,
    };
    match device.device_type {
        DL_CPU => host_queue().map(Some),
        _ => match each_device().find(own) {
            Some(found) => found.queue().map(Some),
            None if device.device_type == DL_CUDA_HOST => host_queue().map(Some),
            None => Ok(None),
        },
    }
}

/// Whether memory of a kind, of the device that has these numbers, is what a tensor says.
fn is_of(device: DLDevice, (device_type, device_id): (i32, i32), kind: UsmKind) -> bool {
    // Memory of the host is every device's.
    type_of(device_type, kind) == Some(device.device_type)
        && (kind == UsmKind::Host || device.device_id == device_id)
}

/// Adopts a managed tensor: an array that shares its memory, on a queue that works on this memory as it is ([`queue_of`]); of the
/// processor's memory, of kind host on a queue of the host. The tensor's deleter is
/// called when the last array on the memory is gone and the work on it is done, from whichever thread that is; of a tensor
/// without elements at once. An array on a read-only tensor is read-only, as is one on a tensor of the form from before DLPack 1.0,
/// which cannot say that it may be written.
///
/// On an error the tensor is still the caller's.
///
/// # Errors
/// [`Error::Unsupported`] for another major version, and for memory that the queue's device does not work in; [`Error::Dtype`], [`Error::Axis`], [`Error::Shape`], [`Error::OutOfBounds`],
/// [`Error::Overflow`] and [`Error::Value`] where the fields say what cannot be.
///
/// # Safety
/// `managed` is null or points to a managed tensor that the caller owns; its shape and strides are null or have as many
/// entries as it has dimensions; the memory between the lowest and the highest element that it describes is there until its
/// deleter is called, and nothing accesses it in conflict with work of the engine: of memory of a device with streams, what is under way
/// on it is before what its [`exchange_stream`](stridewise_core::backend::Capabilities::exchange_stream) was given; the deleter may be
/// called from any thread.
pub unsafe fn import<M: ManagedTensor>(managed: *mut M, queue: &Queue) -> Result<UsmArray> {
    if managed.is_null() {
        return Err(Error::value("tensor", "null", "a managed tensor", "export one from an array"));
    }
    // SAFETY: not null, so a tensor, as the caller promises.
    unsafe { M::check_version(managed)? };
    // SAFETY: a live tensor whose fields are those of `M`, by its version.
    let (tensor, flags) = unsafe { ((*managed).tensor(), (*managed).flags()) };
    // SAFETY: the caller's promise about shape and strides.
    let description = unsafe { Description::read(tensor)? };
    let room = description.room(queue)?;
    let place = description.place()?;
    let owner = Owner(managed);
    // SAFETY: the elements are there until the tensor's deleter is called, as the caller promises, and `place` has computed
    // where they are, in memory that the queue works in (`room`).
    unsafe {
        let read_only = flags & FLAG_READ_ONLY != 0;
        place.adopt(tensor.data.cast(), (queue, room), read_only, Box::new(move || owner.give_back()))
    }
}

/// A managed tensor that an allocation gives back at its end.
struct Owner<M: ManagedTensor>(*mut M);

// SAFETY: the pointer is used once, to call the tensor's deleter, which may be called from any thread (`import`).
unsafe impl<M: ManagedTensor> Send for Owner<M> {}

impl<M: ManagedTensor> Owner<M> {
    fn give_back(self) {
        // SAFETY: called once, by the allocation that `import` gave the tensor to, at its end.
        unsafe { give_back(self.0) };
    }
}

/// A tensor's fields, read but not believed.
#[derive(Clone, Debug)]
pub(super) struct Description {
    pub(super) address: usize,
    pub(super) device: DLDevice,
    pub(super) dtype: super::DLDataType,
    pub(super) shape: SmallVec<[i64; 4]>,
    pub(super) strides: Option<SmallVec<[i64; 4]>>,
    pub(super) byte_offset: u64,
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
            device: tensor.device,
            dtype: tensor.dtype,
            shape,
            strides,
            byte_offset: tensor.byte_offset,
        })
    }

    /// Whose memory it is, as a queue has it.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where the queue's device does not work in it.
    pub(super) fn room(&self, queue: &Queue) -> Result<Room> {
        let DLDevice { device_type, device_id } = self.device;
        let exchange = queue.device().capabilities().exchange;
        let own = |exchange| UsmKind::ALL.into_iter().find(|kind| is_of(self.device, exchange, *kind));
        match exchange.and_then(own) {
            Some(_) => Ok(Room::Device),
            None if matches!(device_type, DL_CPU | DL_CUDA_HOST) => Ok(Room::Process),
            None => Err(Error::unsupported(
                "tensor",
                format!("in memory of DLPack's device type {device_type}, number {device_id}"),
                format!("the processor's memory (kDLCPU, {DL_CPU}), or a queue of this device"),
                "copy it to the processor's memory in the other library first, in Python with dl_device=(1, 0)",
            )),
        }
    }

    /// Checks the fields against each other.
    ///
    /// # Errors
    /// As for [`import`].
    pub(super) fn place(&self) -> Result<Place> {
        let dtype = Dtype::try_from(self.dtype)?;
        Place::new(dtype, self.address, self.byte_offset, &self.shape, self.strides.as_deref())
    }
}
