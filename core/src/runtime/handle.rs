//! References to what is shared, at no cost for what lasts as long as the process.

use std::ops::Deref;
use std::sync::{Arc, Weak};

/// A reference to something shared: counted, or to something that lasts as long as the process. An array has one to its
/// queue and its memory one to its device, so that small work would feel the counting.
pub(super) enum Handle<T: 'static> {
    /// What is shared goes with the last reference.
    Counted(Arc<T>),
    /// What is shared never goes.
    Lasting(&'static Arc<T>),
}

impl<T> Handle<T> {
    pub(super) fn new(shared: T) -> Self {
        Self::Counted(Arc::new(shared))
    }

    /// The same, kept until the process ends.
    pub(super) fn lasting(self) -> Self {
        match self {
            Self::Counted(shared) => Self::Lasting(Box::leak(Box::new(shared))),
            lasting @ Self::Lasting(_) => lasting,
        }
    }

    pub(super) fn downgrade(&self) -> Weak<T> {
        Arc::downgrade(self.as_arc())
    }

    pub(super) fn upgrade(weak: &Weak<T>) -> Option<Self> {
        weak.upgrade().map(Self::Counted)
    }

    /// The address of what is shared.
    pub(super) fn as_ptr(&self) -> *const T {
        Arc::as_ptr(self.as_arc())
    }

    fn as_arc(&self) -> &Arc<T> {
        match self {
            Self::Counted(shared) => shared,
            Self::Lasting(shared) => shared,
        }
    }
}

impl<T> Clone for Handle<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Counted(shared) => Self::Counted(Arc::clone(shared)),
            Self::Lasting(shared) => Self::Lasting(shared),
        }
    }
}

impl<T> Deref for Handle<T> {
    type Target = T;
    fn deref(&self) -> &T {
        self.as_arc()
    }
}
