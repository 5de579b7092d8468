//! USM pointers and kinds.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};

/// Who may touch an allocation (SYCL 2020, section 4.8, unified shared memory).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "graph-files", derive(serde::Serialize, serde::Deserialize))]
pub enum UsmKind {
    /// Lives on the host; host and device may touch it.
    Host,
    /// Lives on the device; only the device may touch it.
    Device,
    /// Host and device may touch it; the runtime moves it.
    Shared,
}

impl UsmKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Host, Self::Device, Self::Shared];

    /// Whether host code may read and write such memory.
    #[must_use]
    pub const fn host_accessible(self) -> bool {
        !matches!(self, Self::Device)
    }
    /// Its place in [`ALL`](Self::ALL).
    pub(crate) const fn number(self) -> usize {
        self as usize
    }
    /// The kind of a result computed from operands of both kinds: device before shared before host.
    #[must_use]
    #[inline]
    pub const fn combine(self, other: Self) -> Self {
        match self {
            Self::Device => Self::Device,
            Self::Shared if matches!(other, Self::Host) => Self::Shared,
            Self::Shared | Self::Host => other,
        }
    }
    /// `host`, `device` or `shared`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Device => "device",
            Self::Shared => "shared",
        }
    }
}

impl fmt::Display for UsmKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for UsmKind {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|k| k.name() == text).ok_or_else(|| {
            Error::value(
                "usm_kind",
                format!("{text:?}"),
                "the name of a USM kind",
                "use one of: host, device, shared",
            )
        })
    }
}

/// What a pointer points into.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PointerKind {
    /// An allocation of a USM kind.
    Usm(UsmKind),
    /// Nothing that this process allocated or adopted as USM.
    Unknown,
}

/// An address in USM. In unified shared memory the pointer is the handle: it goes to backends as it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct UsmPtr(*mut u8);

// SAFETY: a `UsmPtr` is only an address; whoever dereferences it (a backend, under the contract of `Queue::submit`, or
// this module's host views, under their borrow counts) proves there that the memory is live and not raced.
unsafe impl Send for UsmPtr {}
// SAFETY: a shared reference gives nothing but the address.
unsafe impl Sync for UsmPtr {}

impl UsmPtr {
    /// The null address.
    pub const NULL: Self = Self(std::ptr::null_mut());

    /// Wraps an address.
    #[must_use]
    pub const fn new(ptr: *mut u8) -> Self {
        Self(ptr)
    }
    /// The address as a pointer.
    #[must_use]
    pub const fn as_ptr(self) -> *mut u8 {
        self.0
    }
    /// The address as a number.
    #[must_use]
    pub fn addr(self) -> usize {
        self.0.addr()
    }
    /// Whether it is null.
    #[must_use]
    pub const fn is_null(self) -> bool {
        self.0.is_null()
    }
    /// The address `bytes` further; arithmetic wraps, nothing is dereferenced.
    #[must_use]
    pub const fn byte_offset(self, bytes: isize) -> Self {
        Self(self.0.wrapping_byte_offset(bytes))
    }
}

impl fmt::Debug for UsmPtr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.addr())
    }
}
