//! NVRTC, the compiler of CUDA C++, in an environment of Python's under `target/`: it needs no GPU.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::programs::Program;
use crate::python;

/// The package, and the version that texts are known to be compiled by.
const PACKAGE: &str = "nvidia-cuda-nvrtc==13.0.88";
/// What installs it by hand.
const BY_HAND: &str =
    "python3 -m venv target/nvrtc && target/nvrtc/bin/pip install nvidia-cuda-nvrtc==13.0.88";

fn folder() -> PathBuf {
    crate::root().join("target").join("nvrtc")
}

/// The folder that the library is in, once it is installed.
fn library() -> Option<PathBuf> {
    let versions = std::fs::read_dir(folder().join("lib")).ok()?;
    let inside = |version: PathBuf| version.join("site-packages/nvidia/cu13/lib");
    let mut folders = versions.flatten().map(|version| inside(version.path()));
    folders.find(|folder| folder.join("libnvrtc.so.13").is_file())
}

/// Installs it where it is missing.
///
/// # Errors
/// A message that says what could not be done, and how to do it by hand.
pub(crate) fn ensure() -> Result<(), String> {
    if library().is_some() {
        return Ok(());
    }
    let by_hand = |why: String| format!("{why}; install NVRTC by hand ({BY_HAND}), or leave the step out");
    let folder = folder();
    python::new_environment(&folder).map_err(by_hand)?;
    let mut pip = Command::new(folder.join("bin").join("pip"));
    pip.args(["install", "--quiet", "--disable-pip-version-check", PACKAGE]).stdin(Stdio::null());
    crate::run_to_end(&mut pip).map_err(by_hand)?;
    library().map(drop).ok_or_else(|| by_hand(format!("{PACKAGE} has no library")))
}

/// Has a sample of the texts compiled.
///
/// # Errors
/// One was refused, or the compiler is not there.
pub(crate) fn texts() -> Result<(), String> {
    let library = library().ok_or_else(|| format!("there is no NVRTC: {BY_HAND}"))?;
    let mut program = Program::of("texts_cuda")?.command();
    crate::run_to_end(program.env("STRIDEWISE_NVRTC", library).env("STRIDEWISE_TEST_NVRTC", "1"))
}
