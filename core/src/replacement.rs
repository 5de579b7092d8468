//! Files that take the place of others when they are whole.
//!
//! What is written goes to a file beside the one that is meant, which is renamed over it at the end: whatever fails before that
//! leaves the old file as it was, and who has it open or mapped keeps its elements. Against a machine that loses its power it
//! is no safer than any other write.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Links that are followed at most from a name to its file, as systems have it.
const MAX_LINKS: usize = 40;
/// Names that are tried beside a file, should others of a process with the same number lie there.
const MAX_NAMES: usize = 1000;

/// A file that is being written in the place of another.
#[derive(Debug)]
pub(crate) struct Replacement {
    file: File,
    /// Where it is, and where it goes; none for what is no regular file, which is written as it is.
    names: Option<(PathBuf, PathBuf)>,
}

impl Replacement {
    /// Makes a file beside the one of a name, with its permissions and, where the system allows it, its owner; links are followed.
    ///
    /// # Errors
    /// The system's, where the file that is there may not be written, or none may be made beside it.
    pub(crate) fn begin(path: &Path) -> io::Result<Self> {
        let target = followed(path)?;
        let old = match fs::metadata(&target) {
            Ok(found) if found.is_file() => {
                // Who may not write to a file does not replace it.
                OpenOptions::new().write(true).open(&target)?;
                Some(found)
            }
            // A pipe or a terminal has nothing to lose; a folder is refused here.
            Ok(_) => return Ok(Self { file: File::create(&target)?, names: None }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let (file, beside) = beside(&target)?;
        let begun = Self { file, names: Some((beside, target)) };
        if let Some(old) = old {
            keep(&begun.file, &old)?;
        }
        Ok(begun)
    }

    /// The file, open for reading and writing.
    pub(crate) fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Puts the file in its place.
    ///
    /// # Errors
    /// The system's; what was there is there then.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        match self.names.take() {
            Some((beside, target)) => fs::rename(&beside, &target).inspect_err(|_| {
                let _ = fs::remove_file(&beside);
            }),
            None => Ok(()),
        }
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if let Some((beside, _)) = &self.names {
            // It may have been moved away by others; there is nobody to be told.
            let _ = fs::remove_file(beside);
        }
    }
}

/// The name of the file that a name leads to, be it there or not.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&path) {
            Ok(next) => path = path.parent().unwrap_or(Path::new("")).join(next),
            // No link, or nothing at all.
            Err(_) => return Ok(path),
        }
    }
    // The system says what is wrong with so many links.
    fs::metadata(&path).map(|_| path)
}

/// Makes a new file beside another one; names are short, as any that the folder takes may be.
fn beside(target: &Path) -> io::Result<(File, PathBuf)> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    if target.file_name().is_none() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the name of no file"));
    }
    let mut attempts = 0;
    loop {
        attempts += 1;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = target.with_file_name(format!(".stridewise-{}-{number}", std::process::id()));
        match OpenOptions::new().read(true).write(true).create_new(true).open(&path) {
            Ok(file) => return Ok((file, path)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempts < MAX_NAMES => {}
            Err(error) => return Err(io::Error::new(error.kind(), format!("{error}, for a file beside it"))),
        }
    }
}

/// Gives a file the permissions of another, and its owner where that is allowed.
fn keep(file: &File, old: &Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        let new = file.metadata()?;
        if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
            // Only who may give files away can; the group alone its members can.
            let _ = fchown(file, None, Some(old.gid()));
            let _ = fchown(file, Some(old.uid()), None);
        }
    }
    file.set_permissions(old.permissions())
}
