//! Files as memory.
//!
//! Whoever else has a file may shorten it, and the system answers an access behind its end with a signal that no program
//! recovers from. So the length is asked for again before each access ([`Mapping::check`]), which leaves only what
//! happens while an access goes on; memory whose length nobody can change ([`Backing::Sealed`]) needs none of that.

use std::fmt;
use std::fs::{File, Metadata};
use std::io;
use std::str::FromStr;
use std::sync::PoisonError;

use memmap2::{MmapMut, MmapOptions, MmapRaw};

use super::allocation::Allocation;
use super::{UsmKind, UsmMemory, UsmPtr};
use crate::error::{Error, Result};
use crate::fault::{self, Site};
use crate::runtime::Queue;
use crate::sync::Mutex;

/// What may be done with the bytes of a file that are mapped as memory; the names are NumPy's.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MapMode {
    /// `"r"`: a file that is there is read.
    Read,
    /// `"c"`: a file that is there is read; what is written stays in this process.
    CopyOnWrite,
    /// `"r+"`: a file that is there is read and written.
    ReadWrite,
    /// `"w+"`: a file is made, or what is in one is replaced by zeros; it is read and written.
    Create,
}

impl MapMode {
    /// All modes.
    pub const ALL: [Self; 4] = [Self::Read, Self::CopyOnWrite, Self::ReadWrite, Self::Create];

    /// NumPy's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "r",
            Self::CopyOnWrite => "c",
            Self::ReadWrite => "r+",
            Self::Create => "w+",
        }
    }

    /// Whether the memory may be written.
    #[must_use]
    pub const fn is_writable(self) -> bool {
        !matches!(self, Self::Read)
    }

    /// Whether what is written goes to the file.
    #[must_use]
    pub const fn changes_the_file(self) -> bool {
        matches!(self, Self::ReadWrite | Self::Create)
    }
}

impl fmt::Display for MapMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for MapMode {
    type Err = Error;
    /// By NumPy's name, or the long one that NumPy has, too.
    fn from_str(text: &str) -> Result<Self> {
        match text {
            "r" | "readonly" => Ok(Self::Read),
            "c" | "copyonwrite" => Ok(Self::CopyOnWrite),
            "r+" | "readwrite" => Ok(Self::ReadWrite),
            "w+" | "write" => Ok(Self::Create),
            _ => Err(Error::value(
                "mode",
                format!("{text:?}"),
                "the name of a mode",
                "use one of: \"r\" (read), \"c\" (what is written stays in memory), \"r+\" (read and write), \"w+\" (make the \
                 file anew)",
            )),
        }
    }
}

/// What bytes are of.
pub(super) enum Backing {
    /// A file, of which the bytes before `end` must be there.
    File { file: File, end: u64 },
    /// A file without a name that nobody can make shorter.
    Sealed(File),
}

/// Bytes of a file in the address space.
pub(super) struct Mapping {
    map: Map,
    backing: Backing,
    _written: Option<Written>,
}

/// The files that mappings of this process write to, each as often as one does.
static WRITTEN: Mutex<Vec<FileId>> = Mutex::new(Vec::new());

/// A file, by whatever name: the device that it is on, and its number there.
type FileId = (u64, u64);

#[cfg(unix)]
fn file_id(metadata: &Metadata) -> Option<FileId> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn file_id(_: &Metadata) -> Option<FileId> {
    None
}

/// Whether what an array of this process is written goes to a file: the file has to stay then, as nothing else keeps it.
#[cfg(feature = "npy")]
pub(crate) fn is_mapped_for_writing(file: &Metadata) -> bool {
    let written = WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
    file_id(file).is_some_and(|id| written.contains(&id))
}

/// That a file is written to, as long as this is there.
struct Written(FileId);

impl Written {
    fn new(file: &File) -> Option<Self> {
        let id = file.metadata().ok().as_ref().and_then(file_id)?;
        WRITTEN.lock().unwrap_or_else(PoisonError::into_inner).push(id);
        Some(Self(id))
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        let mut written = WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = written.iter().position(|&id| id == self.0) {
            written.swap_remove(place);
        }
    }
}

enum Map {
    /// Shared with whoever else has the file, for reading alone or for writing, too.
    Shared { raw: MmapRaw, writable: bool },
    /// Written pages are this process's. The pointer was taken when it was made.
    Private { ptr: UsmPtr, map: MmapMut },
}

impl Mapping {
    /// Maps so many bytes, of which there is at least one.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn new(backing: Backing, offset: u64, bytes: usize, mode: MapMode) -> io::Result<Self> {
        if fault::strikes(Site::Usm) {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        let (Backing::File { file, .. } | Backing::Sealed(file)) = &backing;
        let mut options = MmapOptions::new();
        options.offset(offset).len(bytes);
        let map = match mode {
            MapMode::Read => Map::Shared { raw: options.map_raw_read_only(file)?, writable: false },
            MapMode::ReadWrite | MapMode::Create => {
                Map::Shared { raw: options.map_raw(file)?, writable: true }
            }
            MapMode::CopyOnWrite => {
                // SAFETY: the bytes are never borrowed as a slice, only followed as a pointer under the rules of USM, where others
                // that change the file make them arbitrary; that they are there is asked for before each access (`check`).
                let mut map = unsafe { options.map_copy(file)? };
                Map::Private { ptr: UsmPtr::new(map.as_mut_ptr()), map }
            }
        };
        let written = match &backing {
            Backing::File { file, .. } if mode.changes_the_file() => Written::new(file),
            _ => None,
        };
        Ok(Self { map, backing, _written: written })
    }

    pub(super) fn ptr(&self) -> UsmPtr {
        match &self.map {
            Map::Shared { raw, .. } => UsmPtr::new(raw.as_mut_ptr()),
            Map::Private { ptr, .. } => *ptr,
        }
    }

    pub(super) fn bytes(&self) -> usize {
        match &self.map {
            Map::Shared { raw, .. } => raw.len(),
            Map::Private { map, .. } => map.len(),
        }
    }

    pub(super) fn is_writable(&self) -> bool {
        !matches!(&self.map, Map::Shared { writable: false, .. })
    }

    /// The file that other processes can open, where it is one.
    pub(super) fn sealed(&self) -> Option<&File> {
        match &self.backing {
            Backing::Sealed(file) => Some(file),
            Backing::File { .. } => None,
        }
    }

    /// Refuses a file that has become shorter since it was mapped.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(super) fn check(&self) -> Result<()> {
        let Backing::File { file, end } = &self.backing else { return Ok(()) };
        let found = match file.metadata() {
            Ok(metadata) if metadata.len() >= *end => return Ok(()),
            Ok(metadata) => format!("of a file that was cut off to {} bytes", metadata.len()),
            Err(error) => format!("of a file that cannot be asked for its length ({error})"),
        };
        Err(Error::io(
            "memory",
            found,
            format!("the {end} bytes that were there when it was mapped"),
            "map it again; replace files that others have mapped by renaming a new one over them",
        ))
    }

    /// Writes what was changed to the file.
    ///
    /// # Errors
    /// As for [`check`](Self::check); the system's.
    fn flush(&self) -> Result<()> {
        self.check()?;
        match &self.map {
            Map::Shared { raw, writable: true } => raw.flush().map_err(|error| {
                Error::io(
                    "memory",
                    format!("of a file that cannot be written ({error})"),
                    "a whole write",
                    "see the device",
                )
            }),
            // Nothing here goes to the file.
            Map::Shared { .. } | Map::Private { .. } => Ok(()),
        }
    }
}

/// The bytes of a file that is made: they are had now where the system can say so, as a full device is a signal later on.
fn reserve(file: &File, bytes: u64) -> io::Result<()> {
    file.set_len(bytes)?;
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        use std::os::fd::AsRawFd;
        let length =
            libc::off64_t::try_from(bytes).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
        // SAFETY: the descriptor is that of an open file, and the call touches no memory of this process.
        if length > 0 && unsafe { libc::fallocate64(file.as_raw_fd(), 0, 0, length) } != 0 {
            let error = io::Error::last_os_error();
            if !matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOSYS)) {
                return Err(error);
            }
        }
    }
    Ok(())
}

impl UsmMemory {
    /// Maps `bytes` bytes of an open file, from `offset` on, as shared memory of the host's device, which is a multiple of
    /// the alignment that the offset is one of, up to 4096. With [`MapMode::Create`], the file is first made as long as that,
    /// of zeros. The file must have been opened for what the mode does. Work on the memory is complete when the call returns
    /// that asks for it, as other processes may see it.
    ///
    /// Before each access the file's length is looked at: a file that was cut off since is an error. One that is cut off
    /// *while* it is accessed ends the process with a signal (`SIGBUS`), as does a device that is full when a hole of the file
    /// is first written; neither can be had otherwise of a file.
    ///
    /// # Errors
    /// [`Error::Value`] for 0 bytes; [`Error::Io`] where it is no regular file, shorter than that, or cannot be mapped;
    /// [`Error::Alloc`] where there is no room in the address space; [`Error::Unsupported`] where the queue's device does not
    /// work on the host's memory in place.
    pub fn map_file(file: File, offset: u64, bytes: usize, mode: MapMode, queue: &Queue) -> Result<Self> {
        let fault = |error: io::Error| {
            Error::io(
                "file",
                error,
                format!("a file that can be mapped with mode {mode:?}", mode = mode.name()),
                OPENED,
            )
        };
        let end = offset.checked_add(bytes as u64).filter(|_| bytes > 0).ok_or_else(|| {
            Error::value(
                "bytes",
                format!("{bytes} from {offset} on"),
                "at least one byte",
                "map a part of the file that has some",
            )
        })?;
        check_queue(queue)?;
        let metadata = file.metadata().map_err(fault)?;
        if !metadata.is_file() {
            return Err(Error::io(
                "file",
                "no regular file",
                "a file with a length",
                "read it, and copy the bytes to an array",
            ));
        }
        if mode == MapMode::Create {
            // Whether there is room is known before anything that is there goes.
            let old = metadata.len();
            reserve(&file, old.max(end)).map_err(|error| {
                let _ = file.set_len(old);
                fault(error)
            })?;
            file.set_len(0).and_then(|()| reserve(&file, end)).map_err(fault)?;
        } else if metadata.len() < end {
            return Err(Error::io(
                "file",
                format!("{} bytes long", metadata.len()),
                format!("at least {end} bytes: {bytes} from {offset} on"),
                "map fewer bytes, or find the whole file",
            ));
        }
        Self::of_mapping(Backing::File { file, end }, offset, bytes, mode, queue)
    }

    /// The memory of a file that was checked.
    pub(super) fn of_mapping(
        backing: Backing,
        offset: u64,
        bytes: usize,
        mode: MapMode,
        queue: &Queue,
    ) -> Result<Self> {
        let mapping = Mapping::new(backing, offset, bytes, mode).map_err(|error| match error.kind() {
            io::ErrorKind::OutOfMemory => {
                Error::alloc("bytes", bytes, "no more than there is room for", "map less at a time")
            }
            _ => Error::io("file", error, "a file that can be mapped", OPENED),
        })?;
        let allocation = Allocation::mapped(queue.device(), UsmKind::Shared, mapping);
        Ok(Self::from_allocation(allocation, queue.clone()))
    }

    /// Whether the memory is of a file, or can be opened by other processes.
    #[must_use]
    pub fn is_mapped(&self) -> bool {
        self.allocation().mapping().is_some()
    }

    /// Writes what was changed in memory of a file to it, after the work on the memory; returns when it is there. Of memory
    /// that is mapped for reading or copied when written, nothing is.
    ///
    /// # Errors
    /// [`Error::Value`] for memory that is no file's; [`Error::Io`] where the file cannot be written, or was cut off; the
    /// failure of work on the memory.
    pub fn flush(&self) -> Result<()> {
        let Some(mapping) = self.allocation().mapping() else {
            return Err(Error::value(
                "memory",
                format!("{self:?}"),
                "memory of a file",
                "map one with `map_file`; other memory has nowhere to be written to",
            ));
        };
        self.export()?;
        mapping.flush()
    }
}

const OPENED: &str = "open it for reading, and for writing where the mode writes to it";

/// Refuses a queue of a device that does not work in mapped files.
fn check_queue(queue: &Queue) -> Result<()> {
    match queue.device().capabilities().process_memory {
        true => Ok(()),
        false => Err(not_of_process("queue", queue)),
    }
}

/// What is said to a queue of a device that does not work on the process's memory in place.
pub(super) fn not_of_process(argument: &'static str, queue: &Queue) -> Error {
    Error::unsupported(
        argument,
        queue,
        "a queue of a device that works on the process's memory in place, as the host device does",
        "map on a queue of the host, then copy with `to_queue`",
    )
}
