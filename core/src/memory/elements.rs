//! The elements of a view of the host, one after the other.

use std::marker::PhantomData;

use crate::dtype::Element;
use crate::layout::{Indices, Layout};

macro_rules! elements {
    ($(#[$doc:meta])* $Name:ident, $pointer:ty, $reference:ty, |$place:ident| $borrow:expr) => {
        $(#[$doc])*
        pub struct $Name<'v, T: Element> {
            /// The element with multi-index zero.
            start: $pointer,
            /// Elements of the layout before that one.
            zero: isize,
            indices: Indices,
            view: PhantomData<$reference>,
        }

        impl<T: Element> $Name<'_, T> {
            /// The elements of a layout whose first one is at `start`.
            ///
            /// # Safety
            /// - All of them are initialised memory, valid for `T`, and stay so for the lifetime.
            /// - Nobody writes them meanwhile.
            /// - Where they are lent for writing, nobody else has them, and no two of them share memory.
            pub(super) unsafe fn of(start: $pointer, layout: &Layout) -> Self {
                let zero = layout.offset().cast_signed();
                Self { start, zero, indices: layout.indices(), view: PhantomData }
            }
        }

        impl<'v, T: Element> Iterator for $Name<'v, T> {
            type Item = $reference;
            #[inline]
            fn next(&mut self) -> Option<Self::Item> {
                let index = self.indices.next()?;
                let $place = self.start.wrapping_offset(index.cast_signed() - self.zero);
                // SAFETY: an index of the layout, each of which comes once; the caller of `of` promised the rest.
                Some(unsafe { $borrow })
            }
            fn size_hint(&self) -> (usize, Option<usize>) {
                self.indices.size_hint()
            }
        }
        impl<T: Element> ExactSizeIterator for $Name<'_, T> {}
        impl<T: Element> std::iter::FusedIterator for $Name<'_, T> {}

        // SAFETY: it is a borrow of elements, which are Send and Sync.
        unsafe impl<T: Element> Send for $Name<'_, T> {}
        // SAFETY: a shared one gives nothing out.
        unsafe impl<T: Element> Sync for $Name<'_, T> {}
    };
}
elements! {
    /// The elements of a [`HostView`](crate::HostView), in row-major order.
    HostIter, *const T, &'v T, |place| &*place
}
elements! {
    /// The elements of a [`HostViewMut`](crate::HostViewMut), in row-major order.
    HostIterMut, *mut T, &'v mut T, |place| &mut *place
}
