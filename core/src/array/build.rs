//! The constructor of `usm_ndarray`, with dpctl's arguments.

use super::UsmArray;
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::layout::{Layout, Order, Shape};
use crate::lazy::Elements;
use crate::lazy::immediate;
use crate::memory::{BLOCK_ALIGN_BYTES, UsmKind, UsmMemory};
use crate::runtime::Queue;
use crate::scalar::Scalar;

/// Where a constructed array finds its elements.
#[derive(Clone, Debug)]
pub enum Buffer {
    /// In new memory of a kind.
    Kind(UsmKind),
    /// In memory that is there.
    Memory(UsmMemory),
    /// In the memory of another array; the same as passing its [`usm_data`](UsmArray::usm_data).
    Array(UsmArray),
}

impl From<UsmKind> for Buffer {
    fn from(kind: UsmKind) -> Self {
        Self::Kind(kind)
    }
}
impl From<&UsmMemory> for Buffer {
    fn from(memory: &UsmMemory) -> Self {
        Self::Memory(memory.clone())
    }
}
impl From<&UsmArray> for Buffer {
    fn from(array: &UsmArray) -> Self {
        Self::Array(array.clone())
    }
}

/// The arguments of [`UsmArray::builder`], with dpctl's defaults: `float64` (`float32` where the device has no double
/// precision), new device memory, row-major strides, the least offset that fits, the default queue.
#[derive(Clone, Debug)]
#[must_use = "call `build`"]
pub struct UsmArrayBuilder {
    shape: Vec<usize>,
    dtype: Option<Dtype>,
    buffer: Buffer,
    strides: Option<Vec<isize>>,
    offset: Option<usize>,
    order: Order,
    queue: Option<Queue>,
    alignment: usize,
    copy: bool,
}

impl UsmArray {
    /// Begins the construction of an array of a shape.
    ///
    /// ```no_run
    /// # use stridewise_core::{UsmArray, Dtype, UsmKind};
    /// let a = UsmArray::builder([2, 3]).dtype(Dtype::U16).buffer(UsmKind::Device).build()?;
    /// # Ok::<(), stridewise_core::Error>(())
    /// ```
    pub fn builder(shape: impl Shape) -> UsmArrayBuilder {
        UsmArrayBuilder {
            shape: shape.extents().as_ref().to_vec(),
            dtype: None,
            buffer: Buffer::Kind(UsmKind::Device),
            strides: None,
            offset: None,
            order: Order::C,
            queue: None,
            alignment: BLOCK_ALIGN_BYTES,
            copy: false,
        }
    }

    /// Fills an array in whose memory is nothing but its elements with a value, which is converted to the dtype.
    pub(super) fn fill(&self, value: Scalar) -> Result<()> {
        if !self.is_empty() && !immediate::assign(&value.into(), self) {
            self.queue.fill(&self.usm_data()?, 0, value.cast(self.dtype), self.len(), &[])?;
        }
        Ok(())
    }
}

impl UsmArrayBuilder {
    /// The dtype of the elements.
    pub fn dtype(mut self, dtype: Dtype) -> Self {
        self.dtype = Some(dtype);
        self
    }
    /// A kind, for new memory; or memory, or an array whose memory is used.
    pub fn buffer(mut self, buffer: impl Into<Buffer>) -> Self {
        self.buffer = buffer.into();
        self
    }
    /// Elements to step per dimension; by default those of `order`.
    pub fn strides(mut self, strides: impl AsRef<[isize]>) -> Self {
        self.strides = Some(strides.as_ref().to_vec());
        self
    }
    /// Elements from the start of the buffer to the element at multi-index zero; by default the least that keeps every
    /// element inside, which is more than 0 with negative strides.
    pub fn offset(mut self, offset: usize) -> Self {
        self.offset = Some(offset);
        self
    }
    /// How to lay out elements where no strides are given.
    pub fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }
    /// The queue of the array; by default the buffer's, or the default device's cached one for new memory.
    pub fn queue(mut self, queue: &Queue) -> Self {
        self.queue = Some(queue.clone());
        self
    }
    /// Alignment of new memory in bytes, a power of two.
    pub fn alignment(mut self, bytes: usize) -> Self {
        self.alignment = bytes;
        self
    }
    /// Whether to copy the buffer's bytes to new memory instead of sharing it.
    pub fn copy(mut self, copy: bool) -> Self {
        self.copy = copy;
        self
    }

    /// The array, all of whose elements are a value, which is converted to the dtype.
    ///
    /// # Errors
    /// As for [`build`](Self::build).
    pub fn filled(self, value: Scalar) -> Result<UsmArray> {
        let fresh = matches!(self.buffer, Buffer::Kind(_)) && self.strides.is_none() && self.offset.is_none();
        let array = self.build()?;
        if fresh {
            array.fill(value)?;
        } else {
            array.assign(value)?;
        }
        Ok(array)
    }

    /// The array. New memory has arbitrary contents.
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::Overflow`] or [`Error::OutOfBounds`] where shape, strides and offset do not fit each
    /// other, the address space or the buffer; [`Error::Value`] where the queue is of another context than the buffer or
    /// the buffer is misaligned for the dtype; [`Error::Dtype`] where the device lacks the dtype; [`Error::Alloc`].
    pub fn build(self) -> Result<UsmArray> {
        let mut writable = true;
        let memory = match &self.buffer {
            Buffer::Kind(_) => None,
            Buffer::Memory(memory) => Some(memory.clone()),
            Buffer::Array(array) => {
                writable = array.flags().writable || self.copy;
                Some(array.usm_data()?)
            }
        };
        let queue = match (&self.queue, &memory) {
            (Some(queue), _) => queue.clone(),
            (None, Some(memory)) => memory.queue().clone(),
            (None, None) => Queue::default_queue()?,
        };
        let support = queue.device().dtype_support();
        let dtype = self.dtype.unwrap_or_else(|| support.default_float());
        if !support.supports(dtype) {
            return Err(Error::dtype(
                "dtype",
                dtype,
                format!("a dtype that {} computes in", queue.device()),
                format!("use {}, or another device", support.downgrade(dtype)),
            ));
        }
        let strides = self.strides.as_deref();
        let available = memory.as_ref().map(UsmMemory::bytes);
        let layout = Layout::new(&self.shape, strides, self.offset, self.order, dtype.size(), available)?;
        let memory = match (memory, &self.buffer) {
            (Some(memory), _) if self.copy => {
                let copy = UsmMemory::aligned(memory.kind(), memory.bytes(), self.alignment, &queue)?;
                queue.memcpy((&copy, 0), (&memory, 0), memory.bytes(), &[])?;
                copy
            }
            (Some(memory), _) => memory.with_queue(&queue)?,
            (None, Buffer::Kind(kind)) => {
                let bytes = layout.required_elements().max(1).checked_mul(dtype.size()).ok_or_else(|| {
                    let shape = format!("{:?}", self.shape);
                    Error::overflow(
                        "shape",
                        shape,
                        "a size that fits the address space",
                        "use a smaller shape",
                    )
                })?;
                let memory = UsmMemory::aligned(*kind, bytes, self.alignment, &queue)?;
                memory.allocation().describe(dtype, &self.shape);
                memory
            }
            (None, _) => unreachable!("a buffer that is no kind has memory"),
        };
        if !memory.ptr().addr().is_multiple_of(dtype.align()) {
            return Err(Error::value(
                "buffer",
                format!("at address {:?}", memory.ptr()),
                format!("a multiple of {} bytes, the alignment of {dtype}", dtype.align()),
                "copy the bytes to new memory, with copy(true)",
            ));
        }
        let elements = Elements::Memory(memory.into_allocation().into());
        let mut array = UsmArray::of(elements, layout, dtype, queue);
        array.set_writable(writable);
        Ok(array)
    }
}
