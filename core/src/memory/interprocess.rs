//! Memory that other processes open: of the host, files without a name, which are gone when nobody has them any more; of an
//! accelerator, what its driver has handles of.
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

use super::allocation::Allocation;
use super::mapping::{Backing, MapMode, not_of_process};
use super::{UsmKind, UsmMemory};
use crate::backend::{Interprocess, MemoryHandle};
use crate::error::{Error, Result};
use crate::runtime::Queue;

/// How handles begin: of which sort they are, and which version of them this is, stands behind it.
const MAGIC: [u8; 6] = *b"swipc\0";
const VERSION: u8 = 1;
/// Bytes of each sort of handle.
const FILE_BYTES: usize = 40;
const DRIVER_BYTES: usize = 96;

/// Where another process finds memory of this one, made by [`UsmMemory::ipc_handle`]. As bytes, it is sent over whatever
/// connects the processes.
///
/// Whoever has the handle and runs as the same user can read and write the memory; it says nothing about accesses of
/// several processes at a time, which are for their owner to keep apart.
#[derive(Clone, PartialEq, Eq)]
pub struct IpcHandle {
    pid: u32,
    bytes: u64,
    place: Place,
}

/// Where the memory is.
#[derive(Clone, PartialEq, Eq)]
enum Place {
    /// A file without a name that the process has under this number.
    File { descriptor: i32, token: [u8; 16] },
    /// What a driver has.
    Driver(MemoryHandle),
}

impl IpcHandle {
    /// Bytes of the memory.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.bytes
    }

    /// How the memory is opened, which a device says of its own ([`Capabilities::interprocess`](crate::backend::Capabilities)).
    #[must_use]
    pub fn interprocess(&self) -> Interprocess {
        match self.place {
            Place::File { .. } => Interprocess::File,
            Place::Driver(_) => Interprocess::Driver,
        }
    }

    /// The handle as bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let (sort, descriptor) = match self.place {
            Place::File { descriptor, .. } => (0, descriptor),
            Place::Driver(_) => (1, 0),
        };
        let mut bytes = Vec::with_capacity(DRIVER_BYTES);
        bytes.extend(MAGIC);
        bytes.extend([sort, VERSION]);
        bytes.extend(self.pid.to_le_bytes());
        bytes.extend(descriptor.to_le_bytes());
        bytes.extend(self.bytes.to_le_bytes());
        match &self.place {
            Place::File { token, .. } => bytes.extend(token),
            Place::Driver(MemoryHandle { driver, offset }) => {
                bytes.extend(offset.to_le_bytes());
                bytes.extend(driver);
            }
        }
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
                format!("the {FILE_BYTES} or {DRIVER_BYTES} bytes of a handle"),
                "send the bytes of a handle of another process of this version as they are",
            )
        };
        if ![FILE_BYTES, DRIVER_BYTES].contains(&bytes.len()) {
            return Err(wrong(format!("{} bytes", bytes.len())));
        }
        fn part<const N: usize>(bytes: &[u8], start: usize) -> [u8; N] {
            std::array::from_fn(|k| bytes[start + k])
        }
        let descriptor = i32::from_le_bytes(part(bytes, 12));
        let place = match (part(bytes, 6), bytes.len()) {
            ([0, VERSION], FILE_BYTES) => Place::File { descriptor, token: part(bytes, 24) },
            ([1, VERSION], DRIVER_BYTES) => Place::Driver(MemoryHandle {
                offset: u64::from_le_bytes(part(bytes, 24)),
                driver: part(bytes, 32),
            }),
            _ => return Err(wrong(format!("bytes that begin with {:?}", &bytes[..8]))),
        };
        if bytes[..6] != MAGIC {
            return Err(wrong(format!("bytes that begin with {:?}", &bytes[..8])));
        }
        let pid = u32::from_le_bytes(part(bytes, 8));
        let handle = Self { pid, bytes: u64::from_le_bytes(part(bytes, 16)), place };
        match descriptor >= 0 && handle.pid > 0 && handle.bytes > 0 {
            true => Ok(handle),
            false => Err(wrong(format!("{handle:?}"))),
        }
    }

    /// The memory: shared memory of the host's device, which stays whatever becomes of the process that made it; or memory of an
    /// accelerator, which is that process's, and must not be used any more when it has given it back or is gone.
    ///
    /// # Errors
    /// [`Error::Io`] where the process is gone, has given the memory back, or belongs to somebody else;
    /// [`Error::Unsupported`] for a queue of a device that such memory is not of, and on systems other than Linux;
    /// [`Error::Value`] for an accelerator's memory of this process; what its driver reports; [`Error::Alloc`].
    pub fn open(&self, queue: &Queue) -> Result<UsmMemory> {
        if queue.device().capabilities().interprocess != Some(self.interprocess()) {
            return Err(self.not_of(queue));
        }
        let bytes = usize::try_from(self.bytes).map_err(|_| {
            Error::alloc(
                "handle",
                format!("{self:?}"),
                "memory that the address space has room for",
                "make less of it",
            )
        })?;
        match &self.place {
            Place::File { descriptor, token } => self.open_file((*descriptor, token), bytes, queue),
            Place::Driver(handle) => self.open_driver(handle, bytes, queue),
        }
    }

    fn open_file(
        &self,
        (descriptor, token): (i32, &[u8; 16]),
        bytes: usize,
        queue: &Queue,
    ) -> Result<UsmMemory> {
        let stale = |found: String| {
            Error::io(
                "handle",
                found,
                "memory that its process still has",
                "keep the memory in the process that made it until the others have opened it, and send handles between \
                 processes of one user that see each other in /proc",
            )
        };
        let file = system::open(self.pid, descriptor, &name(token), self.bytes)
            .map_err(|error| unsupported(&error).unwrap_or_else(|| stale(format!("{self:?} ({error})"))))?;
        let Some(file) = file else { return Err(stale(format!("{self:?}, which is not there (any more)"))) };
        UsmMemory::of_mapping(Backing::Sealed(file), 0, bytes, MapMode::ReadWrite, queue)
    }

    fn open_driver(&self, handle: &MemoryHandle, bytes: usize, queue: &Queue) -> Result<UsmMemory> {
        if self.pid == std::process::id() {
            return Err(Error::value(
                "handle",
                format!("{self:?}, which is this one"),
                "a handle of another process",
                "use the memory itself",
            ));
        }
        let device = queue.device().clone();
        let memory = device.backend().open_memory(handle, bytes)?;
        let close = {
            let device = device.clone();
            // SAFETY: opened above, and closed once, here, when no work on it is pending.
            move || unsafe { device.backend().free(memory) }
        };
        // SAFETY: the driver has the memory open until the deleter is called, for reading and writing; that the process which made it
        // keeps it until then, and that no other accesses it in conflict, is told to whoever sends handles.
        let allocation = unsafe {
            Allocation::adopt(&device, memory.kind, memory.ptr, bytes, None, Some(Box::new(close)))
        };
        Ok(UsmMemory::from_allocation(allocation, queue.clone()))
    }

    /// What is said to a queue of a device that has no such memory.
    #[cold]
    fn not_of(&self, queue: &Queue) -> Error {
        match self.place {
            Place::File { .. } => not_of_process("queue", queue),
            Place::Driver(_) => Error::unsupported(
                "queue",
                queue,
                "a queue of the accelerator that the memory is of",
                "open it with a queue of that device",
            ),
        }
    }
}

impl fmt::Debug for IpcHandle {
    /// Without what opens the memory.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Place::File { descriptor, .. } => write!(f, "{} bytes of descriptor {descriptor}", self.bytes)?,
            Place::Driver(_) => write!(f, "{} bytes of device memory", self.bytes)?,
        }
        write!(f, " of process {}", self.pid)
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

impl UsmMemory {
    /// New memory of zeros that other processes of the same user can open by its [handle](Self::ipc_handle): shared memory of the
    /// host's device, which the system has until the last process that has it is done with it, however that ends; of an
    /// accelerator whose driver has handles, device memory.
    ///
    /// # Errors
    /// [`Error::Value`] for 0 bytes; [`Error::Alloc`] where there is not so much memory; [`Error::Unsupported`] for a queue of
    /// a device whose memory others do not open, and on systems other than Linux; [`Error::Io`] where the process has too many open
    /// files.
    pub fn interprocess(bytes: usize, queue: &Queue) -> Result<Self> {
        let Some(sort) = queue.device().capabilities().interprocess else {
            return Err(not_of_process("queue", queue));
        };
        if bytes == 0 {
            return Err(Error::value("bytes", 0, "at least one byte", "share no memory where there is none"));
        }
        if sort == Interprocess::Driver {
            let memory = Self::new(UsmKind::Device, bytes, queue)?;
            queue.memset(&memory, 0, 0, bytes, &[])?.wait()?;
            return Ok(memory);
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

    /// By what other processes open this memory, as long as this process has it. Of the host's memory that is all of what
    /// [`interprocess`](Self::interprocess) made, also of a part or of an array's memory. Device memory of an accelerator whose driver
    /// has handles is opened wherever it comes from; work on it is finished first, and from now on complete when the call returns that
    /// asks for it.
    ///
    /// # Errors
    /// [`Error::Value`] for other memory of the host than [`interprocess`](Self::interprocess) made or a handle opened;
    /// [`Error::Io`] where the system does not say which it is; the failure of work on the memory; what a driver reports.
    pub fn ipc_handle(&self) -> Result<IpcHandle> {
        let driver = self.device().capabilities().interprocess == Some(Interprocess::Driver);
        if driver && self.kind() == UsmKind::Device {
            let place = Place::Driver(self.device().backend().memory_handle(self.export()?)?);
            return Ok(IpcHandle { pid: std::process::id(), bytes: self.bytes() as u64, place });
        }
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
        let place = Place::File { descriptor, token: token.to_be_bytes() };
        Ok(IpcHandle { pid: std::process::id(), bytes, place })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_its_bytes() {
        let file = Place::File { descriptor: 3, token: *b"0123456789abcdef" };
        let driver =
            Place::Driver(MemoryHandle { driver: std::array::from_fn(|k| k as u8 + 1), offset: 512 });
        for place in [file, driver] {
            let handle = IpcHandle { pid: 7, bytes: 1 << 40, place };
            let bytes = handle.to_bytes();
            assert_eq!(IpcHandle::from_bytes(&bytes).unwrap(), handle);
            assert!(!format!("{handle:?}").contains("3031"));
            for len in 0..bytes.len() {
                assert!(matches!(IpcHandle::from_bytes(&bytes[..len]), Err(Error::Value(_))));
            }
            for (at, value) in [(0, b'S'), (6, 1 - bytes[6]), (6, 2), (7, 2), (15, 0xff)] {
                let mut wrong = bytes.clone();
                wrong[at] = value;
                assert!(matches!(IpcHandle::from_bytes(&wrong), Err(Error::Value(_))), "{at}");
            }
            for nothing in [8..12, 16..24] {
                let mut wrong = bytes.clone();
                wrong[nothing].fill(0);
                assert!(IpcHandle::from_bytes(&wrong).is_err());
            }
        }
    }
}
