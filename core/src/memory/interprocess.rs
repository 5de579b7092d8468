//! Memory that other processes open: files without a name, which are gone when nobody has them any more.
//!
//! Such a file is made by one process and sealed, so that its length stays; a handle says where another process of the
//! same user finds it (`/proc/PID/fd/N`), and by which name, 128 random bits long, it is recognised there.

#[cfg(all(target_os = "linux", not(miri)))]
mod system {
    use std::ffi::CString;
    use std::fs::{File, OpenOptions};
    use std::io;
    use std::os::fd::{AsRawFd, FromRawFd};

    /// Seals without which a file is not taken: its length does not change.
    const SEALS: libc::c_int = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW;

    pub(super) fn random() -> io::Result<[u8; 16]> {
        let mut bytes = [0; 16];
        // SAFETY: the bytes are the array's. So few are given at once, and whole.
        match unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) } {
            16 => Ok(bytes),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// A file of so many zeros that has a name only in `/proc`.
    pub(super) fn create(name: &str, bytes: usize) -> io::Result<File> {
        let name = CString::new(name)?;
        // SAFETY: the name ends with a zero. What is returned is a descriptor of our own, or below zero.
        let descriptor =
            unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: made just now, and owned by nothing else.
        let file = unsafe { File::from_raw_fd(descriptor) };
        // As much as this process alone could have is asked for first: a file may be of any length, and what is too much
        // would only be found out when it is used up.
        drop(memmap2::MmapOptions::new().len(bytes).map_anon()?);
        file.set_len(bytes as u64)?;
        // SAFETY: a descriptor of a file; no memory of this process is touched.
        if unsafe { libc::fcntl(descriptor, libc::F_ADD_SEALS, SEALS | libc::F_SEAL_SEAL) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(file)
    }

    pub(super) fn descriptor(file: &File) -> i32 {
        file.as_raw_fd()
    }

    /// What a process has under a number, where that has this name and length and is sealed; `None` where it has another, or
    /// nothing.
    pub(super) fn open(pid: u32, descriptor: i32, name: &str, bytes: u64) -> io::Result<Option<File>> {
        let link = format!("/memfd:{name} (deleted)");
        let is_it = |path: &str| match std::fs::read_link(path) {
            Ok(target) => Ok(target.to_str() == Some(&link)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        };
        let path = format!("/proc/{pid}/fd/{descriptor}");
        // Looked at before, as there is no telling what opening something else does, and after, as it may have changed.
        if !is_it(&path)? {
            return Ok(None);
        }
        let file = match OpenOptions::new().read(true).write(true).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        // SAFETY: a descriptor of a file; no memory of this process is touched.
        let seals = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS) };
        let sealed = seals >= 0 && seals & SEALS == SEALS;
        let same = is_it(&format!("/proc/self/fd/{}", file.as_raw_fd()))?;
        Ok((same && sealed && file.metadata()?.len() == bytes).then_some(file))
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
mod system {
    use std::fs::File;
    use std::io;

    fn none<T>() -> io::Result<T> {
        Err(io::ErrorKind::Unsupported.into())
    }
    pub(super) fn random() -> io::Result<[u8; 16]> {
        none()
    }
    pub(super) fn create(_: &str, _: usize) -> io::Result<File> {
        none()
    }
    pub(super) fn descriptor(_: &File) -> i32 {
        -1
    }
    pub(super) fn open(_: u32, _: i32, _: &str, _: u64) -> io::Result<Option<File>> {
        none()
    }
}

use std::fmt;
use std::io;

use super::UsmMemory;
use super::mapping::{Backing, MapMode, not_of_process};
use crate::backend::Interprocess;
use crate::error::{Error, Result};
use crate::runtime::Queue;

/// How handles begin, and which version of them this is.
const MAGIC: [u8; 8] = *b"swipc\0\0\x01";

/// Where another process finds memory of this one, made by [`UsmMemory::interprocess`]. As bytes, it is sent over whatever
/// connects the processes.
///
/// Whoever has the handle and runs as the same user can read and write the memory; it says nothing about accesses of
/// several processes at a time, which are for their owner to keep apart.
#[derive(Clone, PartialEq, Eq)]
pub struct IpcHandle {
    pid: u32,
    descriptor: i32,
    bytes: u64,
    token: [u8; 16],
}

impl IpcHandle {
    /// Bytes of a handle.
    pub const BYTES: usize = 40;

    /// Bytes of the memory.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.bytes
    }

    /// The handle as bytes.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&self.pid.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.descriptor.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.bytes.to_le_bytes());
        bytes[24..].copy_from_slice(&self.token);
        bytes
    }

    /// The handle of such bytes.
    ///
    /// # Errors
    /// [`Error::Value`] for bytes that are none of a handle.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let wrong = |found: String| {
            Error::value(
                "handle",
                found,
                format!("the {} bytes of a handle", Self::BYTES),
                "send the bytes of a handle of another process of this version as they are",
            )
        };
        let Ok(bytes): Result<&[u8; Self::BYTES], _> = bytes.try_into() else {
            return Err(wrong(format!("{} bytes", bytes.len())));
        };
        if bytes[..8] != MAGIC {
            return Err(wrong(format!("bytes that begin with {:?}", &bytes[..8])));
        }
        fn part<const N: usize>(bytes: &[u8], start: usize) -> [u8; N] {
            std::array::from_fn(|k| bytes[start + k])
        }
        let handle = Self {
            pid: u32::from_le_bytes(part(bytes, 8)),
            descriptor: i32::from_le_bytes(part(bytes, 12)),
            bytes: u64::from_le_bytes(part(bytes, 16)),
            token: part(bytes, 24),
        };
        match handle.descriptor >= 0 && handle.pid > 0 && handle.bytes > 0 {
            true => Ok(handle),
            false => Err(wrong(format!("{handle:?}"))),
        }
    }

    /// The memory, as shared memory of the host's device. It stays, whatever becomes of the process that made it.
    ///
    /// # Errors
    /// [`Error::Io`] where the process is gone, has given the memory back, or belongs to somebody else;
    /// [`Error::Unsupported`] for a queue of another device, and on systems other than Linux; [`Error::Alloc`].
    pub fn open(&self, queue: &Queue) -> Result<UsmMemory> {
        check_queue(queue)?;
        let stale = |found: String| {
            Error::io(
                "handle",
                found,
                "memory that its process still has",
                "keep the memory in the process that made it until the others have opened it, and send handles between \
                 processes of one user that see each other in /proc",
            )
        };
        let file = system::open(self.pid, self.descriptor, &name(&self.token), self.bytes)
            .map_err(|error| unsupported(&error).unwrap_or_else(|| stale(format!("{self:?} ({error})"))))?;
        let Some(file) = file else { return Err(stale(format!("{self:?}, which is not there (any more)"))) };
        let bytes = usize::try_from(self.bytes).map_err(|_| {
            Error::alloc(
                "handle",
                format!("{self:?}"),
                "memory that the address space has room for",
                "make less of it",
            )
        })?;
        UsmMemory::of_mapping(Backing::Sealed(file), 0, bytes, MapMode::ReadWrite, queue)
    }
}

impl fmt::Debug for IpcHandle {
    /// Without the token, which is what opens the memory.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes of descriptor {} of process {}", self.bytes, self.descriptor, self.pid)
    }
}

fn name(token: &[u8; 16]) -> String {
    format!("stridewise-{:032x}", u128::from_be_bytes(*token))
}

/// The error where the system has no such memory.
fn unsupported(error: &io::Error) -> Option<Error> {
    let help = "copy the bytes, by a file or a pipe";
    (error.kind() == io::ErrorKind::Unsupported).then(|| {
        Error::unsupported(
            "system",
            std::env::consts::OS,
            "Linux, whose processes open each other's memory",
            help,
        )
    })
}

/// Refuses a queue of a device whose memory other processes do not open as a file.
fn check_queue(queue: &Queue) -> Result<()> {
    match queue.device().capabilities().interprocess {
        Some(Interprocess::File) => Ok(()),
        None => Err(not_of_process("queue", queue)),
    }
}

impl UsmMemory {
    /// New shared memory of the host's device, of zeros, that other processes of the same user can open by its
    /// [handle](Self::ipc_handle). The system has it until the last process that has it is done with it, however that ends.
    ///
    /// # Errors
    /// [`Error::Value`] for 0 bytes; [`Error::Alloc`] where there is not so much memory; [`Error::Unsupported`] for a queue of
    /// another device, and on systems other than Linux; [`Error::Io`] where the process has too many open files.
    pub fn interprocess(bytes: usize, queue: &Queue) -> Result<Self> {
        check_queue(queue)?;
        if bytes == 0 {
            return Err(Error::value("bytes", 0, "at least one byte", "share no memory where there is none"));
        }
        let made = system::random().and_then(|token| system::create(&name(&token), bytes));
        let file = made.map_err(|error| {
            unsupported(&error).unwrap_or_else(|| match error.kind() {
                io::ErrorKind::OutOfMemory => Error::alloc(
                    "bytes",
                    bytes,
                    "no more than the system has left",
                    "free memory, or share less",
                ),
                _ => Error::io("bytes", error, "memory with a descriptor of its own", "close other files"),
            })
        })?;
        Self::of_mapping(Backing::Sealed(file), 0, bytes, MapMode::ReadWrite, queue)
    }

    /// By what other processes open this memory, as long as this process has it; of a part, or of an array's memory, that is
    /// all of what [`interprocess`](Self::interprocess) made.
    ///
    /// # Errors
    /// [`Error::Value`] for memory that was not made by [`interprocess`](Self::interprocess) or opened by a handle;
    /// [`Error::Io`] where the system does not say which it is.
    pub fn ipc_handle(&self) -> Result<IpcHandle> {
        let Some(file) = self.allocation().mapping().and_then(|mapping| mapping.sealed()) else {
            return Err(Error::value(
                "memory",
                format!("{self:?}"),
                "memory that other processes can open",
                "make it with `UsmMemory::interprocess` (in Python IPCMemoryHandle.allocate), and copy to it",
            ));
        };
        let lost = |found: String| Error::io("memory", found, "a name in /proc", "mount /proc");
        let descriptor = system::descriptor(file);
        let link =
            std::fs::read_link(format!("/proc/self/fd/{descriptor}")).map_err(|e| lost(e.to_string()))?;
        let link = link.to_string_lossy();
        let token = link
            .strip_prefix("/memfd:stridewise-")
            .and_then(|rest| rest.strip_suffix(" (deleted)"))
            .and_then(|digits| u128::from_str_radix(digits, 16).ok());
        let Some(token) = token else { return Err(lost(link.into_owned())) };
        let bytes = file.metadata().map_err(|error| lost(error.to_string()))?.len();
        Ok(IpcHandle { pid: std::process::id(), descriptor, bytes, token: token.to_be_bytes() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_its_bytes() {
        let handle = IpcHandle { pid: 7, descriptor: 3, bytes: 1 << 40, token: *b"0123456789abcdef" };
        let bytes = handle.to_bytes();
        assert_eq!(IpcHandle::from_bytes(&bytes).unwrap(), handle);
        assert!(!format!("{handle:?}").contains("3031"));
        for len in 0..bytes.len() {
            assert!(matches!(IpcHandle::from_bytes(&bytes[..len]), Err(Error::Value(_))));
        }
        for (at, value) in [(0, b'S'), (7, 2), (15, 0xff)] {
            let mut wrong = bytes;
            wrong[at] = value;
            assert!(matches!(IpcHandle::from_bytes(&wrong), Err(Error::Value(_))), "{at}");
        }
        for nothing in [8..12, 16..24] {
            let mut wrong = bytes;
            wrong[nothing].fill(0);
            assert!(IpcHandle::from_bytes(&wrong).is_err());
        }
    }
}
