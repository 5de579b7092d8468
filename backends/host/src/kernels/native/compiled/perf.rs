//! The map of machine code for `perf` and its kin: a line in `/tmp/perf-PID.map` for each function, when it is made.
//!
//! ```text
//! 7f21c4a51000 1000 stridewise::kernel::jacobi[avx2]
//! ```
//! Code that is given back has no line that says so: this form of map has none. Where its pages come back with other code, both lines
//! name them, and the profiler takes one; a profile of programs beyond what the cache keeps is wrong by so much.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use stridewise_core::backend::is_switched_on;

use super::super::PERF_VARIABLE;

/// Notes a function, where the environment asks for it.
pub(crate) fn note(addresses: Range<usize>, name: impl FnOnce() -> String) {
    static ON: OnceLock<bool> = OnceLock::new();
    static SAID: AtomicBool = AtomicBool::new(false);
    if !*ON.get_or_init(|| is_switched_on(PERF_VARIABLE)) {
        return;
    }
    // Asked each time: a process that was forked has a map of its own.
    let path = path(std::process::id());
    if let Err(error) = append(&path, &line(addresses, &name()))
        && !SAID.swap(true, Ordering::Relaxed)
    {
        eprintln!("stridewise: {PERF_VARIABLE}: {}: {error}; functions are missing there", path.display());
    }
}

/// Where profilers look for the map of a process.
fn path(process: u32) -> PathBuf {
    PathBuf::from(format!("/tmp/perf-{process}.map"))
}

fn line(Range { start, end }: Range<usize>, name: &str) -> String {
    // What reads the map takes a line for each function, and some readers the first word alone.
    let name: String =
        name.chars().map(|c| if c.is_whitespace() || c.is_control() { '_' } else { c }).collect();
    format!("{start:x} {:x} {name}\n", end - start)
}

/// Appends to a file of this user alone, which is made where there is none. Others that make code in this process (Python's own
/// trampolines) write to the same one.
fn append(path: &Path, line: &str) -> io::Result<()> {
    // Everybody may make files in that folder: no link is followed, and nobody's pipe waited for.
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC;
    let mut file: File =
        OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(flags).open(path)?;
    let found = file.metadata()?;
    // SAFETY: it asks for a number.
    let user = unsafe { libc::geteuid() };
    if !found.is_file() || found.uid() != user || found.nlink() != 1 {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "it is not a file of this user's alone, so nothing is written to it",
        ));
    }
    // One call, so that lines of several threads do not mix.
    file.write_all(line.as_bytes())
}

/// In the variable, a test is in a process of its own.
#[cfg(test)]
const INSIDE: &str = "STRIDEWISE_TEST_PERF_MAP";

#[cfg(test)]
pub(crate) fn is_inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}

/// The map that the test which runs leaves where it is run by a process of its own, with the variable so.
#[cfg(test)]
pub(crate) fn of_a_process(value: &str) -> Option<String> {
    let name = std::thread::current().name().unwrap().to_owned();
    let mut inside = std::process::Command::new(std::env::current_exe().unwrap());
    inside.args([&name, "--exact"]).env(INSIDE, "1").env(PERF_VARIABLE, value);
    let mut child = inside.stdout(std::process::Stdio::null()).spawn().unwrap();
    let map = path(child.id());
    assert!(child.wait().unwrap().success());
    let text = std::fs::read_to_string(&map).ok();
    let _ = std::fs::remove_file(&map);
    text
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A folder that goes with the value.
    struct Folder(PathBuf);
    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("stridewise-{name}-{}", std::process::id()));
            std::fs::create_dir(&path).unwrap();
            Self(path)
        }
    }
    impl Drop for Folder {
        fn drop(&mut self) {
            std::fs::remove_dir_all(&self.0).unwrap();
        }
    }

    #[test]
    fn a_line_is_one_function_of_one_word() {
        assert_eq!(line(0x7f00_1000..0x7f00_3000, "a b\nc"), "7f001000 2000 a_b_c\n");
    }

    #[test]
    fn only_a_file_of_this_user_alone_is_written_to() {
        let folder = Folder::new("perf-map");
        let at = |name: &str| folder.0.join(name);
        append(&at("map"), "one\n").unwrap();
        append(&at("map"), "two\n").unwrap();
        assert_eq!(std::fs::read_to_string(at("map")).unwrap(), "one\ntwo\n");
        assert_eq!(std::fs::metadata(at("map")).unwrap().mode() & 0o777, 0o600);

        std::fs::write(at("precious"), "kept").unwrap();
        symlink(at("precious"), at("link")).unwrap();
        symlink(at("nowhere"), at("dangling")).unwrap();
        std::fs::hard_link(at("precious"), at("other")).unwrap();
        for name in ["link", "dangling", "other", "."] {
            assert!(append(&at(name), "line\n").is_err(), "{name}");
        }
        assert_eq!(std::fs::read_to_string(at("precious")).unwrap(), "kept");
        assert!(!at("nowhere").exists());

        let pipe = std::ffi::CString::new(at("pipe").to_str().unwrap()).unwrap();
        // SAFETY: the name ends with a zero.
        assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
        assert!(append(&at("pipe"), "line\n").is_err());
    }

    /// Programs are named in the map of a process that is asked for it, and in no other's.
    #[test]
    fn programs_are_named_where_it_is_asked_for() {
        if is_inside() {
            return super::super::tests::compute_a_program();
        }
        if !stridewise_native::Level::Avx2.is_available() {
            return;
        }
        let text = of_a_process("1").unwrap();
        assert!(text.contains(" stridewise::program::multiply.add[float32,avx2]\n"), "{text}");
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let number = |word: &str| usize::from_str_radix(word, 16).unwrap();
            assert!(words.len() == 3 && number(words[0]) > 0 && number(words[1]) > 0, "{line}");
        }
        assert!(of_a_process("0").is_none());
    }
}
