//! Arrays over files, as NumPy's `memmap`.

use std::fs::{self, File, OpenOptions};
use std::path::Path;

use super::{Array, UsmArray};
use crate::dtype::{Dtype, Element};
use crate::error::{Error, Result};
use crate::layout::{Layout, Order};
use crate::memory::{MapMode, UsmKind, UsmMemory};
use crate::replacement::Replacement;
use crate::runtime::Queue;

/// What kept a file from being opened for a mode.
fn unopened(path: &Path, mode: MapMode, error: &std::io::Error) -> Error {
    Error::io(
        "path",
        format!("{} ({error})", path.display()),
        format!("a file that can be opened with mode {:?}", mode.name()),
        match mode {
            MapMode::Create => {
                "name a folder that is there, may be written and has room; what was there is unchanged"
            }
            _ => "name a file that is there, or make one with mode \"w+\"",
        },
    )
}

/// Opens a file for a mode; one that is made is beside what is there, which it replaces when it is mapped.
fn open(path: &Path, mode: MapMode) -> Result<(File, Option<Replacement>)> {
    let fault = |error: std::io::Error| unopened(path, mode, &error);
    // A pipe would be waited for, and a folder opens.
    match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => return Err(fault(std::io::Error::other("no regular file"))),
        Err(error) if mode != MapMode::Create => return Err(fault(error)),
        _ => {}
    }
    if mode == MapMode::Create {
        let mut made = Replacement::begin(path).map_err(fault)?;
        return Ok((made.file().try_clone().map_err(fault)?, Some(made)));
    }
    let file = OpenOptions::new().read(true).write(mode.changes_the_file()).open(path).map_err(fault)?;
    Ok((file, None))
}

/// Refuses elements that are not where the processor wants them.
fn check_offset(offset: u64, dtype: Dtype) -> Result<()> {
    if !offset.is_multiple_of(dtype.align() as u64) {
        return Err(Error::value(
            "offset",
            offset,
            format!("a multiple of {} bytes, the alignment of {dtype}", dtype.align()),
            "read such a file, or map its bytes as uint8",
        ));
    }
    Ok(())
}

/// The array of so many bytes of a file.
fn map(
    (path, file): (&Path, File),
    mode: MapMode,
    offset: u64,
    (dtype, shape, order): (Dtype, &[usize], Order),
    queue: &Queue,
) -> Result<UsmArray> {
    let layout = Layout::contiguous(shape, order)?;
    let bytes = layout.len().checked_mul(dtype.size()).filter(|&bytes| isize::try_from(bytes).is_ok());
    let Some(bytes) = bytes else {
        let help = "map a part of the file";
        return Err(Error::overflow(
            "shape",
            format!("{shape:?} of {dtype}"),
            "what fits the address space",
            help,
        ));
    };
    let array = UsmArray::builder(shape).dtype(dtype).order(order);
    if bytes == 0 {
        // There is nothing to be mapped.
        if mode == MapMode::Create {
            file.set_len(offset)
                .map_err(|e| Error::io("path", e, "a file that can be written", "see the device"))?;
        }
        let mut empty = array.buffer(UsmKind::Shared).queue(queue).build()?;
        empty.set_writable(mode.is_writable());
        return Ok(empty);
    }
    let memory = UsmMemory::map_file(file, offset, bytes, mode, queue).map_err(|error| match error {
        // The file has a name here.
        Error::Io(complaint) => Error::io(
            "path",
            format!("{} ({})", path.display(), complaint.value),
            complaint.expected.clone(),
            complaint.help.clone(),
        ),
        other => other,
    })?;
    array.buffer(&memory).queue(queue).build()
}

impl UsmArray {
    /// Maps a file as an array, in shared memory of the host's device: elements of `dtype`, the first one `offset` bytes from
    /// the file's start. Without a shape, it has one axis, with all that is behind the offset; a file is made
    /// ([`MapMode::Create`]) with a shape only, beside the one that is there, which it replaces when it is mapped: an array over
    /// that one keeps its elements. Nothing is read before it is needed. With [`MapMode::Read`], the array and its
    /// memory are read-only.
    ///
    /// What is written with [`MapMode::ReadWrite`] and [`MapMode::Create`] reaches the file when the system likes, or by
    /// [`flush_file`](Self::flush_file). The file stays open and mapped as long as any array or memory on it is there. For what
    /// happens when somebody cuts the file off, see [`UsmMemory::map_file`].
    ///
    /// # Errors
    /// [`Error::Io`] where the file cannot be opened or is shorter than that, also for writing: a file is not made longer;
    /// [`Error::Value`] for an offset that is no multiple of the elements' alignment, for a rest of the file that is no whole
    /// number of elements, and without a shape of a file that is made; as for [`UsmMemory::map_file`]
    ///
    /// Source: NumPy, `numpy.memmap`.
    pub fn map_file(
        path: impl AsRef<Path>,
        mode: MapMode,
        dtype: Dtype,
        offset: u64,
        shape: Option<&[usize]>,
        order: Order,
        queue: &Queue,
    ) -> Result<Self> {
        let path = path.as_ref();
        let shapeless = mode == MapMode::Create && shape.is_none();
        if shapeless {
            return Err(Error::value(
                "shape",
                "None",
                "the shape of what is made with mode \"w+\"",
                "name the extents",
            ));
        }
        check_offset(offset, dtype)?;
        let (file, made) = open(path, mode)?;
        let all = match shape {
            Some(_) => 0,
            None => {
                let length = file
                    .metadata()
                    .map_err(|e| Error::io("path", e, "a file with a length", "see the device"))?
                    .len();
                let rest = length.checked_sub(offset).ok_or_else(|| {
                    Error::io(
                        "path",
                        format!("{} ({length} bytes)", path.display()),
                        format!("a file longer than `offset`, {offset} bytes"),
                        "name an offset within the file",
                    )
                })?;
                if !rest.is_multiple_of(dtype.size() as u64) {
                    return Err(Error::value(
                        "dtype",
                        format!("{dtype}, of {} bytes", dtype.size()),
                        format!("a dtype that divides the {rest} bytes of the file behind `offset`"),
                        "name the dtype that was written, or a shape",
                    ));
                }
                let len = usize::try_from(rest / dtype.size() as u64);
                len.map_err(|_| {
                    Error::overflow("path", rest, "bytes that fit the address space", "name a shape")
                })?
            }
        };
        let array = map((path, file), mode, offset, (dtype, shape.unwrap_or(&[all]), order), queue)?;
        if let Some(made) = made {
            made.finish().map_err(|error| unopened(path, mode, &error))?;
        }
        Ok(array)
    }

    /// Maps the elements of an `.npy` file; dtype, shape and order are those of its header. Otherwise as
    /// [`map_file`](Self::map_file).
    ///
    /// With the feature `npy`.
    ///
    /// # Errors
    /// As there; [`Error::Io`] where it is no `.npy` file, and for big-endian numbers, which can only be read;
    /// [`Error::Value`] for [`MapMode::Create`].
    #[cfg(feature = "npy")]
    pub fn map_npy(path: impl AsRef<Path>, mode: MapMode, queue: &Queue) -> Result<Self> {
        let path = path.as_ref();
        if mode == MapMode::Create {
            return Err(Error::value(
                "mode",
                format!("{:?}", mode.name()),
                "\"r\", \"c\" or \"r+\"",
                "write the file with `save_npy` first, or make one without a header by `map_file`",
            ));
        }
        let (mut file, _) = open(path, mode)?;
        let header = super::npy::Header::read(&mut file).map_err(|fault| fault.at(path))?;
        if header.big_endian && header.dtype.size() > 1 {
            return Err(Error::io(
                "path",
                format!("{} (big-endian {})", path.display(), header.dtype),
                "numbers in the order of this machine's bytes",
                "read it with `load_npy`, which converts",
            ));
        }
        check_offset(header.start, header.dtype)?;
        map((path, file), mode, header.start, (header.dtype, &header.shape, header.order), queue)
    }

    /// Writes what was changed in an array over a file to the file, after the work on its memory; see [`UsmMemory::flush`].
    ///
    /// # Errors
    /// As there.
    pub fn flush_file(&self) -> Result<()> {
        if self.is_empty() { Ok(()) } else { self.usm_data()?.flush() }
    }
}

impl<T: Element> Array<T> {
    /// Maps a file as an array; see [`UsmArray::map_file`]. Row-major, on the default queue if that is the host's.
    ///
    /// ```no_run
    /// use stridewise_core::{Array, MapMode};
    /// let heights = Array::<f32>::map_file("heights.f32", MapMode::Read, 0, Some(&[36_000, 36_000]))?;
    /// println!("{}", heights.max()?);
    /// # Ok::<(), stridewise_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As there.
    pub fn map_file(
        path: impl AsRef<Path>,
        mode: MapMode,
        offset: u64,
        shape: Option<&[usize]>,
    ) -> Result<Self> {
        UsmArray::map_file(path, mode, T::DTYPE, offset, shape, Order::C, &Queue::default_queue()?)?
            .try_into()
    }

    /// Maps the elements of an `.npy` file; see [`UsmArray::map_npy`].
    ///
    /// With the feature `npy`.
    ///
    /// # Errors
    /// As there; [`Error::Dtype`] where the file's elements are of another type.
    #[cfg(feature = "npy")]
    pub fn map_npy(path: impl AsRef<Path>, mode: MapMode) -> Result<Self> {
        UsmArray::map_npy(path, mode, &Queue::default_queue()?)?.try_into()
    }

    /// Writes what was changed in an array over a file to the file; see [`UsmArray::flush_file`].
    ///
    /// # Errors
    /// As there.
    pub fn flush_file(&self) -> Result<()> {
        self.as_untyped().flush_file()
    }
}
