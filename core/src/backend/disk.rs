//! A cache of compiled kernels on disk, for backends whose kernels a compiler makes while the program runs.
//!
//! A file holds what it was compiled from, whole, and a checksum: a file of another device, compiler or text, or one that
//! is damaged, is not taken, and the kernel is compiled anew. Files are written beside their place and moved there, so
//! that no process sees half a file. A folder that has become too large loses the files that were used least recently;
//! a process that misses one compiles it.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use super::Finding;

/// Environment variable that names the folder of the cache; empty for no cache.
pub const KERNEL_CACHE_VARIABLE: &str = "STRIDEWISE_KERNEL_CACHE";
/// Marks a file of this format.
const MAGIC: &[u8; 8] = b"swkern01";
/// Bytes of a folder's files at most, or a little more until someone looks: some 30 000 kernels of 34 KB, on average of
/// the conformance matrix.
const MOST_BYTES: u64 = 1 << 30;
/// One of so many files that are stored makes its process look how large the folder is, which takes as long as one
/// compilation when it is full. Which ones is left to chance, for many a process stores no more than a few.
const FILES_PER_SWEEP: u64 = 64;
/// Distinguishes the temporary files of one process.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// The compiled kernels of one device, or of devices of one sort, in files: each is found by what it was compiled from.
#[derive(Debug)]
pub struct KernelCache {
    folder: Option<PathBuf>,
    /// What tells the device, its compiler and its options from others.
    identity: String,
    most_bytes: u64,
}

impl KernelCache {
    /// The cache of a driver's kernels, in a folder of its name, unless the environment names one
    /// ([`KERNEL_CACHE_VARIABLE`]). `identity` tells the device, its compiler and its options from others: what is stored under
    /// another one is not found.
    #[must_use]
    pub fn new(driver: &str, identity: &str) -> Self {
        Self { folder: Self::folder(driver), identity: identity.to_owned(), most_bytes: MOST_BYTES }
    }

    /// The binary that was stored for a text.
    #[must_use]
    pub fn load(&self, source: impl AsRef<[u8]>) -> Option<Vec<u8>> {
        let source = source.as_ref();
        let mut file = File::open(self.path(source)?).ok()?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).ok()?;
        // Where that is not allowed, the file goes earlier than it should.
        let _ = file.set_modified(SystemTime::now());
        let rest = bytes.strip_prefix(MAGIC)?;
        let (sum, rest) = rest.split_first_chunk::<8>()?;
        if u64::from_le_bytes(*sum) != checksum(rest) {
            return None;
        }
        let rest = field(rest, self.identity.as_bytes())?;
        let binary = field(rest, source)?;
        Some(binary.to_vec())
    }

    /// Stores a text's binary. A failure only costs the next process a compilation.
    pub fn store(&self, source: impl AsRef<[u8]>, binary: &[u8]) {
        let source = source.as_ref();
        let Some(path) = self.path(source) else { return };
        let mut payload = Vec::with_capacity(binary.len() + source.len() + self.identity.len() + 16);
        for text in [self.identity.as_bytes(), source] {
            payload.extend_from_slice(&(text.len() as u64).to_le_bytes());
            payload.extend_from_slice(text);
        }
        payload.extend_from_slice(binary);
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&checksum(&payload).to_le_bytes());
        bytes.extend_from_slice(&payload);
        let Some(folder) = path.parent() else { return };
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let beside = folder.join(format!("{}-{number}.part", std::process::id()));
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(&beside, &bytes));
        if written.and_then(|()| fs::rename(&beside, &path)).is_err() {
            let _ = fs::remove_file(&beside);
        }
        if checksum(source).is_multiple_of(FILES_PER_SWEEP) {
            self.sweep(folder);
        }
    }

    /// The folder that the environment names, or the user's for caches (XDG Base Directory Specification);
    /// `None` where it is empty, for no cache.
    #[must_use]
    pub fn folder(driver: &str) -> Option<PathBuf> {
        match std::env::var_os(KERNEL_CACHE_VARIABLE) {
            Some(folder) if folder.is_empty() => None,
            Some(folder) => Some(PathBuf::from(folder)),
            None => {
                let absolute = |path: PathBuf| path.is_absolute().then_some(path);
                let base = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).and_then(absolute);
                let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
                Some(base.or_else(home)?.join("stridewise").join(driver))
            }
        }
    }

    /// What a driver says of the folder of its kernels ([`Driver::diagnose`](super::Driver::diagnose)).
    #[must_use]
    pub fn diagnose(driver: &str) -> Finding {
        let Some(folder) = Self::folder(driver) else {
            return Finding::fine(KERNEL_CACHE_VARIABLE, "empty: compiled kernels are kept in memory only");
        };
        let shown = folder.display().to_string();
        // Where a kernel would be stored; what cannot be made, cannot be stored either.
        let writable = fs::create_dir_all(&folder).and_then(|()| {
            let trial = folder.join(format!(".trial-{}", std::process::id()));
            File::create(&trial).and_then(|_| fs::remove_file(&trial))
        });
        match writable {
            Ok(()) => Finding::fine(KERNEL_CACHE_VARIABLE, format!("compiled kernels are kept in {shown}")),
            Err(error) => Finding::note(
                KERNEL_CACHE_VARIABLE,
                format!("{shown} cannot be written ({error}): every process compiles its kernels anew"),
                format!("export {KERNEL_CACHE_VARIABLE}=FOLDER, one that can be written"),
            ),
        }
    }

    /// Removes the files that were used least recently, to half of what is allowed, if they are more than that.
    fn sweep(&self, folder: &Path) {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let file = |entry: fs::DirEntry| {
            // In a folder that someone has named, there may be more.
            let ours = is_name(entry.file_name().to_str()?);
            let data = entry.metadata().ok().filter(|data| ours && data.is_file())?;
            Some((data.modified().ok()?, data.len(), entry.path()))
        };
        let mut files: Vec<_> = entries.filter_map(file).collect();
        let mut bytes: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
        if bytes <= self.most_bytes {
            return;
        }
        files.sort_unstable();
        for (_, len, path) in files {
            if bytes <= self.most_bytes / 2 {
                break;
            }
            // What cannot be removed counts as if: the next sweep sees it again.
            let _ = fs::remove_file(path);
            bytes -= len;
        }
    }

    fn path(&self, source: impl AsRef<[u8]>) -> Option<PathBuf> {
        let source = source.as_ref();
        let mut hashes = [0; 2];
        for (salt, hash) in hashes.iter_mut().enumerate() {
            // Not a promise of the standard library across versions: another hash is another file.
            let mut hasher = DefaultHasher::new();
            (salt, &self.identity, source).hash(&mut hasher);
            *hash = hasher.finish();
        }
        Some(self.folder.as_ref()?.join(format!("{:016x}{:016x}.bin", hashes[0], hashes[1])))
    }
}

/// Whether a file has such a name as [`KernelCache::path`] gives.
fn is_name(name: &str) -> bool {
    let stem = name.strip_suffix(".bin").unwrap_or_default();
    stem.len() == 32 && stem.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// What follows a field that must have this content.
fn field<'a>(bytes: &'a [u8], content: &[u8]) -> Option<&'a [u8]> {
    let (len, rest) = bytes.split_first_chunk::<8>()?;
    (u64::from_le_bytes(*len) == content.len() as u64).then(|| rest.strip_prefix(content))?
}

fn checksum(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn disk(name: &str, identity: &str) -> KernelCache {
        let folder = std::env::temp_dir().join(format!("stridewise-disk-{name}-{}", std::process::id()));
        KernelCache { folder: Some(folder), identity: identity.to_owned(), most_bytes: MOST_BYTES }
    }

    #[test]
    fn what_is_stored_is_found_by_its_text_and_device_only() {
        let (cache, other) = (disk("found", "device 1"), disk("found", "device 2"));
        cache.store("text", b"binary");
        assert_eq!(cache.load("text").as_deref(), Some(&b"binary"[..]));
        assert_eq!((cache.load("texts"), other.load("text")), (None, None));
        // The file of one device in the place of the other's.
        fs::rename(cache.path("text").unwrap(), other.path("text").unwrap()).unwrap();
        assert_eq!(other.load("text"), None);
        let _ = fs::remove_dir_all(cache.folder.unwrap());
    }

    #[test]
    fn a_folder_that_is_full_loses_what_was_used_least_recently() {
        const LEN: usize = 10_000;
        let mut cache = disk("full", "device");
        let texts: Vec<String> = (0..10).map(|number| format!("text {number}")).collect();
        for text in &texts {
            cache.store(text, &[7; LEN]);
        }
        let folder = cache.folder.clone().unwrap();
        let foreign =
            ["note.bin", "0123456789abcdef0123456789abcdeg.bin", "0123456789abcdef0123456789abcdef"];
        for name in foreign {
            fs::write(folder.join(name), [7; LEN]).unwrap();
        }
        for (age, text) in texts.iter().enumerate() {
            let file = File::options().write(true).open(cache.path(text).unwrap()).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(1000 * (1 + age as u64))).unwrap();
        }
        let there = |cache: &KernelCache| -> Vec<usize> {
            (0..texts.len()).filter(|&i| cache.path(&texts[i]).unwrap().exists()).collect()
        };
        cache.sweep(&folder);
        assert_eq!(there(&cache).len(), texts.len(), "there is room");
        // The oldest but one is used, so it is the youngest.
        assert!(cache.load(&texts[8]).is_some());
        cache.most_bytes = 9 * LEN as u64;
        cache.sweep(&folder);
        assert_eq!(there(&cache), [0, 1, 2, 8]);
        cache.sweep(&folder);
        assert_eq!(there(&cache), [0, 1, 2, 8]);
        assert!(foreign.iter().all(|name| folder.join(name).exists()));
        let _ = fs::remove_dir_all(folder);
    }

    #[test]
    fn a_folder_does_not_grow_for_ever() {
        let cache = KernelCache { most_bytes: 20_000, ..disk("growth", "device") };
        let files = || fs::read_dir(cache.folder.as_ref().unwrap()).unwrap().count();
        let mut most = 0;
        for number in 0..2000 {
            cache.store(format!("text {number}"), &[7; 100]);
            most = most.max(files());
        }
        // 140 files fit; the rest is what chance allows between two looks.
        assert!((100..1000).contains(&most), "{most} files");
        let _ = fs::remove_dir_all(cache.folder.unwrap());
    }

    #[test]
    fn damaged_files_are_not_taken() {
        let cache = disk("damaged", "device");
        cache.store("text", &[7; 1000]);
        let path = cache.path("text").unwrap();
        let whole = fs::read(&path).unwrap();
        for len in [0, 4, 8, 15, 16, 40, whole.len() - 1] {
            fs::write(&path, &whole[..len]).unwrap();
            assert_eq!(cache.load("text"), None, "the first {len} bytes");
        }
        for place in [0, 9, 17, 50, whole.len() - 1] {
            let mut bytes = whole.clone();
            bytes[place] ^= 1;
            fs::write(&path, &bytes).unwrap();
            assert_eq!(cache.load("text"), None, "byte {place}");
        }
        cache.store("text", &[8; 3]);
        assert_eq!(cache.load("text"), Some(vec![8; 3]));
        let _ = fs::remove_dir_all(cache.folder.unwrap());
    }
}
