//! Memory that is executed: written, then made executable, never both.

use std::fmt;

/// Why there is no code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Refused {
    /// The system gives no memory.
    Memory,
    /// The system gives memory, but lets nobody execute what was written there.
    Executable,
    /// The form is too large: of a stack frame, of what an instruction reaches.
    Size,
    /// There is no level of instructions for this target, or not on this processor.
    Level,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Memory => "the system gives no memory for code",
            Self::Executable => "the system does not let memory be executed that was written",
            Self::Size => "the form is too large",
            Self::Level => "the processor has not the instructions",
        })
    }
}

impl std::error::Error for Refused {}

/// Code that can be executed, in pages of its own.
pub(crate) struct Executable {
    at: *mut libc::c_void,
    bytes: usize,
}

// SAFETY: nothing writes to the pages after `new`, and only `drop`, which has the value alone, gives them back.
unsafe impl Send for Executable {}
// SAFETY: nothing writes to the pages after `new`, so that threads only read them.
unsafe impl Sync for Executable {}

impl Executable {
    /// # Errors
    /// [`Refused::Memory`] or [`Refused::Executable`].
    #[cfg(unix)]
    pub(crate) fn new(code: &[u8]) -> Result<Self, Refused> {
        const PAGE: usize = 4096;
        let bytes = code.len().max(1).next_multiple_of(PAGE);
        // SAFETY: new pages of the process's own, which overlap nothing.
        let at = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANON,
                -1,
                0,
            )
        };
        if at == libc::MAP_FAILED {
            return Err(Refused::Memory);
        }
        // From here on the pages are given back, whatever happens.
        let pages = Self { at, bytes };
        // SAFETY: the pages are new and writable, and have room for the code.
        unsafe { std::ptr::copy_nonoverlapping(code.as_ptr(), at.cast(), code.len()) };
        // SAFETY: the pages are this value's.
        match unsafe { libc::mprotect(at, bytes, libc::PROT_READ | libc::PROT_EXEC) } {
            0 => Ok(pages),
            _ => Err(Refused::Executable),
        }
    }

    /// # Errors
    /// Always: there is no such memory on this system.
    #[cfg(not(unix))]
    pub(crate) fn new(_: &[u8]) -> Result<Self, Refused> {
        Err(Refused::Executable)
    }

    // Nothing runs code of another processor.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn ptr(&self) -> *const u8 {
        self.at.cast_const().cast()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn addresses(&self) -> std::ops::Range<usize> {
        self.at.addr()..self.at.addr() + self.bytes
    }
}

impl Drop for Executable {
    fn drop(&mut self) {
        #[cfg(unix)]
        // SAFETY: the pages are this value's, mapped in `new` with this length, and no call of the code outlives it.
        unsafe {
            libc::munmap(self.at, self.bytes);
        }
    }
}
