//! Creation, and moving elements between host, kinds, queues and devices.

use std::sync::Arc;

use super::UsmArray;
use crate::dtype::{Dtype, Element};
use crate::error::{Error, Result};
use crate::layout::{Layout, Order};
use crate::lazy::Elements;
use crate::memory::allocation::Allocation;
use crate::memory::host::{element_at_once, read_at_once};
use crate::memory::{BLOCK_ALIGN_BYTES, UsmKind, UsmMemory};
use crate::runtime::{Device, Queue};
use crate::scalar::Scalar;

impl UsmArray {
    /// New memory with arbitrary contents.
    ///
    /// # Errors
    /// As for [`build`](super::UsmArrayBuilder::build).
    pub fn empty(queue: &Queue, shape: &[usize], dtype: Dtype, kind: UsmKind) -> Result<Self> {
        Self::empty_in(Order::C, queue, shape, dtype, kind)
    }

    /// [`empty`](Self::empty), of elements in an order.
    ///
    /// # Errors
    /// As for [`empty`](Self::empty).
    pub(super) fn empty_in(
        order: Order,
        queue: &Queue,
        shape: &[usize],
        dtype: Dtype,
        kind: UsmKind,
    ) -> Result<Self> {
        if queue.device().dtype_support().supports(dtype)
            && let Ok(layout) = Layout::contiguous(shape, order)
            && layout.len() <= isize::MAX.unsigned_abs() / dtype.size()
        {
            let bytes = layout.len().max(1) * dtype.size();
            let memory = Allocation::new(queue.device(), kind, bytes, BLOCK_ALIGN_BYTES)?;
            memory.describe(dtype, shape);
            return Ok(Self::of(Elements::Memory(memory.into()), layout, dtype, queue.clone()));
        }
        // What is wrong, is told there.
        Self::builder(shape).dtype(dtype).buffer(kind).order(order).queue(queue).build()
    }

    /// A shape filled with a value.
    ///
    /// # Errors
    /// As for [`empty`](Self::empty).
    pub fn full(queue: &Queue, shape: &[usize], value: Scalar, kind: UsmKind) -> Result<Self> {
        let array = Self::empty(queue, shape, value.dtype(), kind)?;
        array.fill(value)?;
        Ok(array)
    }

    /// A shape filled with zeros.
    ///
    /// # Errors
    /// As for [`empty`](Self::empty).
    pub fn zeros(queue: &Queue, shape: &[usize], dtype: Dtype, kind: UsmKind) -> Result<Self> {
        Self::full(queue, shape, Scalar::I8(0).cast(dtype), kind)
    }

    /// An array of a shape from elements in row-major order.
    ///
    /// # Errors
    /// [`Error::Shape`] where the number of elements is not the shape's; as for [`empty`](Self::empty).
    pub fn from_slice<T: Element>(queue: &Queue, shape: &[usize], data: &[T], kind: UsmKind) -> Result<Self> {
        let array = Self::empty(queue, shape, T::DTYPE, kind)?;
        if data.len() != array.len() {
            return Err(Error::shape(
                "data",
                format!("{} elements", data.len()),
                format!("{} elements, as shape {shape:?} has", array.len()),
                "give as many elements as the product of the extents",
            ));
        }
        if array.is_empty() {
            return Ok(array);
        }
        // New memory: its elements begin where it does, in this order.
        array.usm_data()?.write_elements(0, data)?;
        Ok(array)
    }

    /// The elements in row-major order. Waits for the work that computes them; memory of any kind.
    ///
    /// # Errors
    /// [`Error::Dtype`] where `T` is another dtype; [`Error::Alloc`]; the failure of the work waited for.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        if self.is_empty() {
            return Ok(Vec::new());
        }
        if T::DTYPE != self.dtype || self.usm_kind().host_accessible() {
            return self.brief_view::<T>()?.try_to_vec();
        }
        // In row-major order on the device, so that one copy does.
        let run = if self.layout.is_c_contiguous() { self.clone() } else { self.copy_in(Order::C)? };
        run.usm_data()?.read_elements(run.layout.offset() * run.itemsize(), run.len())
    }

    /// The element of an array that has exactly one.
    ///
    /// # Errors
    /// [`Error::Shape`] where there are more or none.
    pub fn item(&self) -> Result<Scalar> {
        if self.len() != 1 {
            return Err(Error::shape(
                "array",
                format!("of shape {:?}", self.shape()),
                "an array of exactly one element",
                "select an element first, with `slice`",
            ));
        }
        let mut bytes = [0; 16];
        let (offset, element) = (self.layout.offset() * self.itemsize(), &mut bytes[..self.itemsize()]);
        if !read_at_once(self.elements.memory()?, offset, element) {
            self.usm_data()?.copy_to_host(offset, element)?;
        }
        Ok(Scalar::from_bytes(self.dtype, &bytes))
    }

    /// The element at a place, one number for each dimension, negative ones from the end: an array of no dimensions in memory of
    /// its own, which later writes to this array do not reach. `None` where that is not possible at once: for a place outside, and
    /// where elements are still to be computed, written or transferred; `slice` and [`copy`](Self::copy) do it, or say what is wrong.
    ///
    /// # Errors
    /// [`Error::Alloc`] where memory cannot be had.
    #[inline]
    pub fn element_at_once(&self, index: &[isize]) -> Result<Option<Self>> {
        let (Some(memory), Some(place)) = (self.elements.get_memory(), self.layout.place_of(index)) else {
            return Ok(None);
        };
        if !self.queue.allows_immediate() {
            return Ok(None);
        }
        let own = element_at_once(memory, place * self.itemsize(), self.itemsize())?;
        Ok(own.map(|own| {
            let layout = Layout::dense(&[], 1, Order::C);
            Self::of(Elements::Memory(own.into()), layout, self.dtype, self.queue.clone())
        }))
    }

    /// The array where the host may see it: itself where it is in memory of the host or shared and `kind` is host;
    /// otherwise the array in memory of the kind, copied where it is of another.
    ///
    /// # Errors
    /// [`Error::Alloc`], [`Error::Unsupported`] where the device lacks the kind.
    pub fn to_kind(&self, kind: UsmKind) -> Result<Self> {
        let have = self.usm_kind();
        if have == kind || (kind == UsmKind::Host && have.host_accessible()) {
            return Ok(self.clone());
        }
        let out = Self::builder(self.shape())
            .dtype(self.dtype)
            .buffer(kind)
            .order(self.result_order())
            .queue(&self.queue)
            .build()?;
        out.assign(self)?;
        Ok(out)
    }

    /// The array associated with another queue: a view where both queues share a context, else a copy of the same kind
    /// on the other device.
    ///
    /// # Errors
    /// [`Error::Dtype`] where the other device lacks the dtype; [`Error::Alloc`]; what the copy reports.
    pub fn to_queue(&self, queue: &Queue) -> Result<Self> {
        if *queue == self.queue {
            return Ok(self.clone());
        }
        if queue.context() == self.context() {
            let memory = UsmMemory::from_allocation(Arc::clone(self.elements.memory()?), queue.clone());
            let elements = Elements::Memory(Arc::clone(memory.allocation()).into());
            let mut view = Self::of(elements, self.layout.clone(), self.dtype, queue.clone());
            view.writable = self.writable;
            return Ok(view);
        }
        let order = self.result_order();
        let source = if self.layout.is_c_contiguous() || self.layout.is_f_contiguous() {
            self.clone()
        } else {
            self.copy_in(Order::C)?
        };
        let out = Self::builder(self.shape())
            .dtype(self.dtype)
            .buffer(self.usm_kind())
            .order(order)
            .queue(queue)
            .build()?;
        let (from, to) = (source.usm_data()?, out.usm_data()?);
        let start = source.layout.offset() * self.itemsize();
        queue.memcpy((&to, 0), (&from, start), self.bytes(), &[])?;
        Ok(out)
    }

    /// The array on another device, associated with that device's cached queue.
    ///
    /// # Errors
    /// As for [`to_queue`](Self::to_queue).
    pub fn to_device(&self, device: &Device) -> Result<Self> {
        self.to_queue(&device.queue()?)
    }
}
