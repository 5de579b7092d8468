//! Arrays of a run-time dtype: a view of memory, or of work that is recorded and not yet run. What can be done with them is in
//! [`array`](crate::array).

use std::borrow::Cow;
use std::sync::Arc;

use super::{Elements, Recorded, Source};
use crate::dtype::{Dtype, Element};
use crate::error::{Error, Result};
use crate::layout::{Layout, self_overlaps};
use crate::memory::capture;
use crate::memory::track::Span;
use crate::memory::{HostView, HostViewMut, UsmKind, UsmMemory, last_write};
use crate::ops::Op;
use crate::promotion::Weak;
use crate::runtime::{Context, Device, Event, Queue};
use crate::scalar::Scalar;

/// An n-dimensional array of a run-time dtype in USM (dpctl's `usm_ndarray`): a shape, strides and an offset in elements
/// over an allocation, and the queue that works on it. Clones and views share memory. An elementwise result has memory
/// only once something asks for it; nobody sees the difference but in speed.
#[derive(Clone)]
pub struct UsmArray {
    pub(crate) elements: Elements,
    pub(crate) layout: Layout,
    pub(crate) dtype: Dtype,
    pub(crate) queue: Queue,
    pub(crate) writable: bool,
}

// Two cache lines, and no more than compilers move without a call.
const _: () = assert!(size_of::<UsmArray>() <= 128);

/// Properties of an array's layout (dpctl's `flags`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Flags {
    /// Elements lie one after the other in row-major order.
    pub c_contiguous: bool,
    /// Elements lie one after the other in column-major order.
    pub f_contiguous: bool,
    /// Elements may be written through this array.
    pub writable: bool,
}

impl UsmArray {
    #[inline]
    pub(crate) fn of(elements: Elements, layout: Layout, dtype: Dtype, queue: Queue) -> Self {
        let writable = !elements.is_read_only();
        if let Elements::Memory(memory) = &elements {
            memory.describe_if_watched(dtype, layout.shape());
        }
        Self { elements, layout, dtype, queue, writable }
    }

    pub(crate) fn elements(&self) -> &Elements {
        &self.elements
    }

    /// The same elements through another layout, which reaches no further than this one's.
    pub(crate) fn with_layout(&self, layout: Layout) -> Self {
        // Field by field: the layout that is not wanted is not copied first.
        let (elements, queue) = (self.elements.clone(), self.queue.clone());
        Self { elements, layout, dtype: self.dtype, queue, writable: self.writable }
    }

    /// This array as the operand of a copy, the root of an expression.
    pub(crate) fn as_expression(&self, out: Dtype) -> Result<Recorded> {
        Ok(Recorded {
            op: if out == self.dtype { Op::Copy } else { Op::Cast },
            dtype: self.dtype,
            out,
            layout: Layout::contiguous(self.shape(), self.result_order())?,
            operands: smallvec::smallvec![Source::Array(self.clone())],
        })
    }

    /// Shape, strides and offset, in elements.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }
    /// The extents.
    #[must_use]
    #[inline]
    pub fn shape(&self) -> &[usize] {
        self.layout.shape()
    }
    /// Elements to step per dimension; signed.
    #[must_use]
    pub fn strides(&self) -> &[isize] {
        self.layout.strides()
    }
    /// Elements from the start of the allocation to the element at multi-index zero.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.layout.offset()
    }
    /// Number of dimensions.
    #[must_use]
    pub fn ndim(&self) -> usize {
        self.layout.ndim()
    }
    /// Number of elements.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.layout.len()
    }
    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.layout.is_empty()
    }
    /// Bytes of one element.
    #[must_use]
    pub fn itemsize(&self) -> usize {
        self.dtype.size()
    }
    /// Bytes of all elements.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.len() * self.itemsize()
    }
    /// The dtype.
    #[must_use]
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }
    /// The queue that works on this array.
    #[must_use]
    pub fn queue(&self) -> &Queue {
        &self.queue
    }
    /// The device of the queue.
    #[must_use]
    pub fn device(&self) -> &Device {
        self.queue.device()
    }
    /// The context of the queue.
    #[must_use]
    pub fn context(&self) -> &Context {
        self.queue.context()
    }
    /// The USM kind of the memory.
    #[must_use]
    pub fn usm_kind(&self) -> UsmKind {
        self.elements.usm_kind()
    }
    /// Contiguity and writability.
    #[must_use]
    pub fn flags(&self) -> Flags {
        Flags {
            c_contiguous: self.layout.is_c_contiguous(),
            f_contiguous: self.layout.is_f_contiguous(),
            writable: self.writable,
        }
    }
    /// Allows or forbids writing through this array; the other views of the memory keep their own flag. Memory that was lent
    /// for reading stays so.
    pub fn set_writable(&mut self, writable: bool) {
        self.writable = writable && !self.elements.is_read_only();
    }

    /// The allocation that the array views (dpctl's `usm_data`); recorded work is submitted first.
    ///
    /// # Errors
    /// What the submission reports.
    pub fn usm_data(&self) -> Result<UsmMemory> {
        Ok(UsmMemory::from_allocation(Arc::clone(self.elements.memory()?), self.queue.clone()))
    }

    /// Whether the array is the result of recorded work that has not been submitted.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        !self.elements.is_ready()
    }

    /// Submits recorded work, if this array is the result of some, and returns an event that is complete when the
    /// array's elements are there.
    ///
    /// # Errors
    /// What the submission reports.
    pub fn event(&self) -> Result<Event> {
        last_write(self.elements.memory()?, &self.queue)
    }

    /// Waits until the elements are there.
    ///
    /// # Errors
    /// The failure of the work that computes them.
    #[inline]
    pub fn wait(&self) -> Result<()> {
        capture::refuse("array", "waited for")?;
        let memory = self.elements.memory()?;
        if memory.is_idle() { Ok(()) } else { last_write(memory, &self.queue)?.wait() }
    }

    /// The elements, lent to the host for reading. Waits for the work that computes them.
    ///
    /// # Errors
    /// [`Error::HostAccess`] for device memory, [`Error::Dtype`] where `T` is another dtype, [`Error::Borrow`] while a
    /// view for writing is open; the failure of the work waited for.
    pub fn host_view<T: Element>(&self) -> Result<HostView<'_, T>> {
        HostView::open(self.elements.memory()?, &self.layout, self.dtype, Span::Open)
    }

    /// [`host_view`](Self::host_view) for a copy: who wants to write meanwhile waits for its end.
    pub(crate) fn brief_view<T: Element>(&self) -> Result<HostView<'_, T>> {
        HostView::open(self.elements.memory()?, &self.layout, self.dtype, Span::Brief)
    }

    /// The elements, lent to the host for writing. Waits for all work on the memory.
    ///
    /// # Errors
    /// As for [`host_view`](Self::host_view); [`Error::Borrow`] where the array is read-only, any view is open, or
    /// elements share memory.
    pub fn host_view_mut<T: Element>(&mut self) -> Result<HostViewMut<'_, T>> {
        self.check_writable("array")?;
        HostViewMut::open(self.elements.memory()?, &self.layout, self.dtype)
    }

    pub(crate) fn check_writable(&self, argument: impl Into<Cow<'static, str>>) -> Result<()> {
        let complaint = if !self.writable {
            "read-only"
        } else if self_overlaps(&self.layout) {
            "a broadcast view, in which elements share memory"
        } else {
            return Ok(());
        };
        Err(Error::borrow(argument, complaint, "an array that may be written", "copy it first, with `copy`"))
    }
}

impl AsRef<Self> for UsmArray {
    fn as_ref(&self) -> &Self {
        self
    }
}

/// An operand of an elementwise operation.
#[derive(Clone, Debug)]
pub enum ArrayOrScalar<'a> {
    /// An array.
    Array(&'a UsmArray),
    /// A Rust scalar, which takes the arrays' dtype (NEP 50, "weak").
    Weak(Weak),
    /// A value of a dtype, which takes part in promotion as an array of no dimensions does.
    Scalar(Scalar),
}

impl<'a> From<&'a UsmArray> for ArrayOrScalar<'a> {
    fn from(array: &'a UsmArray) -> Self {
        Self::Array(array)
    }
}
impl From<Scalar> for ArrayOrScalar<'_> {
    fn from(value: Scalar) -> Self {
        Self::Scalar(value)
    }
}
impl From<Weak> for ArrayOrScalar<'_> {
    fn from(value: Weak) -> Self {
        Self::Weak(value)
    }
}
