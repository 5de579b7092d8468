//! Lending memory to host code.
//!
//! A view is entered in the allocation's track; while it is open, work that would conflict with it on the same elements
//! is refused, and opening one waits for conflicting work. So a view's memory is never raced.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, Range};
use std::sync::Arc;

use super::allocation::Allocation;
use super::elements::{HostIter, HostIterMut};
use super::immediate::fresh_memory;
use super::track::{Mode, Opening, Refusal, Region, Span};
use super::{BLOCK_ALIGN_BYTES, UsmPtr, capture, heap};
use crate::backend::{self, HostAccess};
use crate::dtype::{Dtype, Element};
use crate::error::{Error, Result};
use crate::layout::Layout;

/// An open loan of an allocation to the host; closed on drop.
struct Loan {
    allocation: Arc<Allocation>,
    number: u64,
    /// Where and how much the device has mapped.
    mapped: (UsmPtr, usize),
}

impl Loan {
    /// Waits until host access is safe and opens the loan.
    fn open(allocation: &Arc<Allocation>, region: &Region, mode: Mode, span: Span) -> Result<Self> {
        capture::refuse("array", "read or written by the host")?;
        if !allocation.kind().host_accessible() {
            return Err(Error::host_access(
                "array",
                format!("in {} memory of {}", allocation.kind(), allocation.device()),
                "memory that the host may touch: host or shared",
                "copy it first, with `to_vec`, `to_kind(UsmKind::Shared)` or `Memory::copy_to_host`",
            ));
        }
        allocation.check_access(mode)?;
        allocation.check_file()?;
        if mode == Mode::Write {
            allocation.pending_reads.flush_queues()?;
        }
        // Memory that is mapped comes and goes by ranges of bytes, with what lies between the elements.
        let device = allocation.device();
        let in_ranges = device.capabilities().host_access(allocation.kind()) == HostAccess::Mapped;
        let bytes = Region::bytes(region.range());
        let region = if in_ranges { &bytes } else { region };
        loop {
            let opened = allocation.track().open_host_view(region, mode, span)?;
            let waits = match opened {
                Opening::Opened(number) => return Self::map(allocation, number, &region.range(), mode),
                Opening::Behind(waits) => waits,
                Opening::Ending => {
                    allocation.wait_for_views();
                    continue;
                }
            };
            for wait in waits {
                match backend::wait(&*wait.event) {
                    // What a host view overwrites may have failed; what it reads must not.
                    Err(error) if mode == Mode::Read || matches!(error, Error::Interrupted(_)) => {
                        return Err(error.inherited());
                    }
                    _ => {}
                }
            }
        }
    }
}

impl Loan {
    /// Lets the host reach the range of a view that is open in the track.
    fn map(allocation: &Arc<Allocation>, number: u64, range: &Range<usize>, mode: Mode) -> Result<Self> {
        let mapped = (allocation.ptr().byte_offset(range.start.cast_signed()), range.len());
        // SAFETY: the range is inside the allocation (a region's always is), and while the view is open no conflicting
        // command is pending or accepted (`open_host_view`).
        let outcome = unsafe { allocation.device().backend().map(mapped.0, mapped.1, mode == Mode::Write) };
        match outcome {
            Ok(()) => Ok(Self { allocation: Arc::clone(allocation), number, mapped }),
            Err(error) => {
                allocation.track().close_host_view(number);
                Err(error)
            }
        }
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        let (ptr, bytes) = self.mapped;
        // SAFETY: mapped when the loan was opened, and unmapped once, here; the view that the loan belongs to is gone.
        let outcome = unsafe { self.allocation.device().backend().unmap(ptr, bytes) };
        // A device that cannot take memory back is lost, and every command after this one says so.
        drop(outcome);
        self.allocation.track().close_host_view(self.number);
    }
}

/// Bytes at most that are read while their memory is held, instead of through a loan: it bounds how long that is. With a half or twice as
/// many, reads of 24 and 48 `float64` took as long, as far as they can be told apart from drift.
const HELD_BYTES: usize = 256;

/// Bytes of an element, at most.
const MAX_ELEMENT_BYTES: usize = 16;

/// Copies a few bytes of memory that is the host's own out, from `offset` on, where nothing is under way on it. Whether that
/// was so.
pub(crate) fn read_at_once(allocation: &Allocation, offset: usize, out: &mut [u8]) -> bool {
    assert!(offset + out.len() <= allocation.bytes(), "the caller has checked the range");
    let captures = capture::current().is_some();
    if captures || !allocation.device().shows_directly(allocation.kind()) || out.len() > HELD_BYTES {
        return false;
    }
    let (held, locked) = match allocation.hold_idle(Mode::Read) {
        Ok(held) => (Some(held), None),
        // Whoever has it does something short.
        Err(Refusal::Held) => (None, Some(allocation.track())),
        Err(Refusal::Busy) => (None, None),
    };
    let locked = locked.filter(|track| track.is_idle());
    if held.is_none() && locked.is_none() {
        return false;
    }
    let source = allocation.ptr().byte_offset(offset as isize).as_ptr();
    // SAFETY: the range is inside the allocation (asserted), which the host may read, on which nothing is under way, and nothing
    // can begin while it is held or locked. `out` is a distinct Rust slice.
    unsafe { std::ptr::copy_nonoverlapping(source, out.as_mut_ptr(), out.len()) };
    drop((held, locked));
    true
}

/// An element of so many bytes, from `offset` on, in memory of its own of the same kind. `None` where that is not possible at once, as
/// for [`read_at_once`], or there is no memory without waiting.
///
/// # Errors
/// What the allocation reports, but that there is none left.
#[inline]
pub(crate) fn element_at_once(
    allocation: &Allocation,
    offset: usize,
    bytes: usize,
) -> Result<Option<Arc<Allocation>>> {
    let mut element = [0; MAX_ELEMENT_BYTES];
    let element = &mut element[..bytes];
    if !read_at_once(allocation, offset, element) {
        return Ok(None);
    }
    let own = fresh_memory(allocation.device(), allocation.kind(), bytes, BLOCK_ALIGN_BYTES)?;
    if let Some(own) = &own {
        // SAFETY: memory of so many bytes that was just allocated, so that nobody else has it, of a device and kind that are the
        // host's own (`read_at_once` has found so). `element` is a distinct Rust slice.
        unsafe { std::ptr::copy_nonoverlapping(element.as_ptr(), own.ptr().as_ptr(), bytes) };
    }
    Ok(own)
}

/// Copies bytes of host-accessible memory out, from `offset` on.
pub(crate) fn read_bytes(allocation: &Arc<Allocation>, offset: usize, out: &mut [u8]) -> Result<()> {
    if read_at_once(allocation, offset, out) {
        return Ok(());
    }
    let _loan = Loan::open(allocation, &Region::bytes(offset..offset + out.len()), Mode::Read, Span::Brief)?;
    let source = allocation.ptr().byte_offset(offset as isize).as_ptr();
    // SAFETY: the range is inside the allocation (`read_at_once`), whose kind the host may read and which no work writes while
    // the loan is open. `out` is a distinct Rust slice.
    unsafe { std::ptr::copy_nonoverlapping(source, out.as_mut_ptr(), out.len()) };
    Ok(())
}

/// Copies bytes into host-accessible memory, from `offset` on.
pub(crate) fn write_bytes(allocation: &Arc<Allocation>, offset: usize, data: &[u8]) -> Result<()> {
    let range = offset..offset + data.len();
    let _loan = Loan::open(allocation, &Region::bytes(range.clone()), Mode::Write, Span::Brief)?;
    assert!(range.end <= allocation.bytes(), "the caller has checked the range");
    let target = allocation.ptr().byte_offset(offset as isize).as_ptr();
    // SAFETY: the range is inside the allocation (asserted), whose kind the host may write, and nothing else
    // accesses it while the loan for writing is open. `data` is a distinct Rust slice.
    unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), target, data.len()) };
    Ok(())
}

fn check_dtype<T: Element>(dtype: Dtype) -> Result<()> {
    if T::DTYPE == dtype {
        return Ok(());
    }
    Err(Error::dtype(
        "T",
        T::DTYPE,
        format!("the array's dtype, {dtype}"),
        format!("ask for a view of {dtype}, or convert with `astype`"),
    ))
}

/// Memory from elsewhere, or written as bytes, may hold bytes that are no Rust `bool`.
fn check_bools(allocation: &Allocation, layout: &Layout, dtype: Dtype) -> Result<()> {
    if dtype != Dtype::Bool {
        return Ok(());
    }
    let base = allocation.ptr().as_ptr();
    // SAFETY: the layout was checked against this allocation when its array was made, the loan is open (the callers
    // hold it), and any byte is a valid `u8`.
    check_bool_bytes(layout.indices().map(|i| unsafe { base.add(i).read() }))
}

/// Refuses bytes that are no Rust `bool`.
pub(crate) fn check_bool_bytes(mut bytes: impl Iterator<Item = u8>) -> Result<()> {
    match bytes.position(|byte| byte > 1) {
        None => Ok(()),
        Some(place) => Err(Error::value(
            "array",
            format!("a byte other than 0 and 1 at element {place}"),
            "bytes that are bools",
            "view the memory as uint8, or compute `x != 0` first",
        )),
    }
}

macro_rules! view {
    ($(#[$doc:meta])* $View:ident, $pointer:ty) => {
        $(#[$doc])*
        pub struct $View<'a, T: Element> {
            /// The element with multi-index zero.
            start: $pointer,
            /// The layout with its offset taken out.
            layout: Layout,
            _loan: Loan,
            _array: PhantomData<&'a T>,
        }

        // SAFETY: a view is a borrow of elements, which are Send and Sync; the loan is closed from any thread.
        unsafe impl<T: Element> Send for $View<'_, T> {}
        // SAFETY: shared access to a view only reads elements, which are `Sync`.
        unsafe impl<T: Element> Sync for $View<'_, T> {}

        impl<T: Element> $View<'_, T> {
            /// The extents.
            #[must_use]
            pub fn shape(&self) -> &[usize] {
                self.layout.shape()
            }
            /// Number of elements.
            #[must_use]
            pub fn len(&self) -> usize {
                self.layout.len()
            }
            /// Whether there are no elements.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.layout.is_empty()
            }
            /// The elements as a slice, where they lie one after the other in row-major order.
            #[must_use]
            pub fn as_slice(&self) -> Option<&[T]> {
                if !self.layout.is_c_contiguous() {
                    return None;
                }
                if self.is_empty() {
                    return Some(&[]);
                }
                // SAFETY: contiguous, so the elements are the `len` ones from `start`; they are initialised memory of a
                // live allocation, of dtype T, valid for T (`check_bools`), and no one writes while the loan is open.
                Some(unsafe { std::slice::from_raw_parts(self.start, self.len()) })
            }
            /// Elements from the start to the one at a multi-index; `None` outside the shape.
            fn offset(&self, index: &[usize]) -> Option<isize> {
                let inside = index.len() == self.layout.ndim()
                    && index.iter().zip(self.layout.shape()).all(|(i, n)| i < n);
                inside.then(|| index.iter().zip(self.layout.strides()).map(|(&i, &s)| i as isize * s).sum())
            }
            /// The element at a multi-index; `None` outside.
            #[must_use]
            pub fn get(&self, index: &[usize]) -> Option<&T> {
                // SAFETY: the multi-index is inside the shape, so the element is inside the allocation
                // (checked when the layout was made); it is initialised, of dtype `T` and valid for it
                // (`check_bools`), and no one writes while the loan is open.
                self.offset(index).map(|offset| unsafe { &*self.start.offset(offset) })
            }
            /// The elements in row-major order.
            pub fn iter(&self) -> HostIter<'_, T> {
                // SAFETY: the layout's own elements are inside the allocation, initialised, of dtype `T` and
                // valid for it (`check_bools`), and no one writes while the loan is open, which is as long as
                // the view.
                unsafe { HostIter::of(self.start, &self.layout) }
            }
            /// A copy of the elements in row-major order.
            ///
            /// Where there is no memory for it the process ends, as with any vector; [`try_to_vec`](Self::try_to_vec)
            /// is an error then.
            #[must_use]
            pub fn to_vec(&self) -> Vec<T> {
                self.as_slice().map_or_else(|| self.iter().copied().collect(), <[T]>::to_vec)
            }
            /// A copy of the elements in row-major order.
            ///
            /// # Errors
            /// [`Error::Alloc`] where there is no memory for it.
            pub fn try_to_vec(&self) -> Result<Vec<T>> {
                let mut elements = heap::with_capacity("elements", self.len())?;
                match self.as_slice() {
                    Some(slice) => elements.extend_from_slice(slice),
                    None => elements.extend(self.iter()),
                }
                Ok(elements)
            }
        }

        impl<T: Element, const N: usize> Index<[usize; N]> for $View<'_, T> {
            type Output = T;
            /// The element at a multi-index.
            ///
            /// # Panics
            /// Outside the shape; [`get`](Self::get) does not.
            fn index(&self, index: [usize; N]) -> &T {
                match self.get(&index) {
                    Some(element) => element,
                    None => panic!("index {index:?} is outside shape {:?}", self.shape()),
                }
            }
        }

        impl<'v, T: Element> IntoIterator for &'v $View<'_, T> {
            type Item = &'v T;
            type IntoIter = HostIter<'v, T>;
            fn into_iter(self) -> HostIter<'v, T> {
                self.iter()
            }
        }

        impl<T: Element> fmt::Debug for $View<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_list().entries(self.iter()).finish()
            }
        }
    };
}

view! {
    /// The elements of an array, lent to the host for reading. Work that would write to them is refused while it is
    /// open.
    ///
    /// ```no_run
    /// # use stridewise_core::array;
    /// let a = array![[1, 2], [3, 4]];
    /// let view = a.view()?;
    /// for x in &view {
    ///     println!("{x}");
    /// }
    /// assert_eq!((view[[1, 0]], view.iter().max()), (3, Some(&4)));
    /// # Ok::<(), stridewise_core::Error>(())
    /// ```
    HostView, *const T
}
view! {
    /// The elements of an array, lent to the host for reading and writing. Other work on them is refused while it is
    /// open.
    ///
    /// ```no_run
    /// # use stridewise_core::array;
    /// let mut a = array![1.0_f64, 2.0, 3.0];
    /// for x in &mut a.view_mut()? {
    ///     *x = x.powi(3);
    /// }
    /// # Ok::<(), stridewise_core::Error>(())
    /// ```
    HostViewMut, *mut T
}

impl<T: Element> HostView<'_, T> {
    pub(crate) fn open(
        allocation: &Arc<Allocation>,
        layout: &Layout,
        dtype: Dtype,
        span: Span,
    ) -> Result<Self> {
        check_dtype::<T>(dtype)?;
        let loan = Loan::open(allocation, &Region::of(layout, dtype.size()), Mode::Read, span)?;
        check_bools(allocation, layout, dtype)?;
        let start = allocation.ptr().as_ptr().cast::<T>().wrapping_add(layout.offset());
        Ok(Self { start, layout: layout.clone(), _loan: loan, _array: PhantomData })
    }
}

impl<T: Element> HostViewMut<'_, T> {
    pub(crate) fn open(allocation: &Arc<Allocation>, layout: &Layout, dtype: Dtype) -> Result<Self> {
        check_dtype::<T>(dtype)?;
        let loan = Loan::open(allocation, &Region::of(layout, dtype.size()), Mode::Write, Span::Open)?;
        check_bools(allocation, layout, dtype)?;
        let start = allocation.ptr().as_ptr().cast::<T>().wrapping_add(layout.offset());
        Ok(Self { start, layout: layout.clone(), _loan: loan, _array: PhantomData })
    }

    /// The elements as a slice, where they lie one after the other in row-major order.
    #[must_use]
    pub fn as_mut_slice(&mut self) -> Option<&mut [T]> {
        if !self.layout.is_c_contiguous() {
            return None;
        }
        if self.is_empty() {
            return Some(&mut []);
        }
        // SAFETY: contiguous, so the elements are the `len` ones from `start`, initialised memory of a live
        // allocation and valid for `T`; the loan for writing excludes every other access, `&mut self` other
        // borrows.
        Some(unsafe { std::slice::from_raw_parts_mut(self.start, self.len()) })
    }

    /// The element at a multi-index; `None` outside.
    #[must_use]
    pub fn get_mut(&mut self, index: &[usize]) -> Option<&mut T> {
        // SAFETY: `offset` proved the element to be inside; the loan for writing and `&mut self` make the access exclusive.
        self.offset(index).map(|offset| unsafe { &mut *self.start.offset(offset) })
    }

    /// The elements in row-major order, to be changed.
    pub fn iter_mut(&mut self) -> HostIterMut<'_, T> {
        // SAFETY: the layout's own elements are inside the allocation, and no two share memory (`UsmArray::check_writable`);
        // exclusive as in `as_mut_slice`.
        unsafe { HostIterMut::of(self.start, &self.layout) }
    }

    /// Calls a function on every element in row-major order.
    pub fn for_each_mut(&mut self, f: impl FnMut(&mut T)) {
        self.iter_mut().for_each(f);
    }
}

impl<'v, T: Element> IntoIterator for &'v mut HostViewMut<'_, T> {
    type Item = &'v mut T;
    type IntoIter = HostIterMut<'v, T>;
    fn into_iter(self) -> HostIterMut<'v, T> {
        self.iter_mut()
    }
}
