//! OpenCL runtimes for processors, with which the backend is tested on any machine: where they are, and their
//! installation.

use std::fs::read_dir;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::packages::{install, succeeds};
use crate::python;

/// The variable that tells a loader which runtimes to load: one, or a folder of their names.
pub(crate) const VENDORS: &str = "OCL_ICD_VENDORS";

/// What the names of tests on OpenCL devices contain, and no others.
pub(crate) const EVERY_TEST: &str = "opencl:";

/// The Debian package of the loader.
const LOADER: &str = "ocl-icd-libopencl1";

/// A runtime of OpenCL.
pub(crate) struct Runtime {
    pub(crate) name: &'static str,
    /// What [`VENDORS`] is to name; `None` where it is not installed.
    vendor: fn() -> Option<PathBuf>,
    /// Installs it.
    install: fn() -> Result<(), String>,
    /// How to get it without this program.
    by_hand: &'static str,
    /// Tests of the matrix that run on it: what their names contain.
    pub(crate) tests: &'static str,
    /// And what they do not.
    pub(crate) skipped: &'static [&'static str],
    /// One case of so many is run where all steps are: compiling or interpreting kernels takes most of an hour.
    pub(crate) sample: usize,
    /// Whether several threads may run kernels at a time.
    pub(crate) concurrent: bool,
    /// Whether it reports what kernels do wrong, as [`Runtime::REPORTS`] asks it to.
    pub(crate) reports: bool,
}

/// The Portable Computing Language: kernels compiled for the processor.
pub(crate) const POCL: Runtime = Runtime {
    name: "PoCL",
    vendor: || first(&["/etc/OpenCL/vendors/pocl.icd"]),
    install: || install(&[LOADER, "pocl-opencl-icd"]),
    by_hand: "Debian, Ubuntu: ocl-icd-libopencl1 pocl-opencl-icd; Fedora: ocl-icd pocl",
    tests: EVERY_TEST,
    skipped: &[],
    sample: 192,
    concurrent: true,
    reports: false,
};

/// Oclgrind: interprets kernels, and reports accesses outside of buffers and data races.
pub(crate) const OCLGRIND: Runtime = Runtime {
    name: "Oclgrind",
    vendor: || {
        first(&[
            "/usr/lib/oclgrind/liboclgrind-rt-icd.so",
            "/usr/lib64/oclgrind/liboclgrind-rt-icd.so",
            "/usr/local/lib/liboclgrind-rt-icd.so",
        ])
    },
    install: || install(&[LOADER, "oclgrind"]),
    by_hand: "Debian, Ubuntu: ocl-icd-libopencl1 oclgrind; Fedora: ocl-icd oclgrind",
    // A test takes seconds. What a kernel reaches depends on the form of its plan, which the cases of one dtype go
    // through; special values change none of it. It takes no threads, see below.
    tests: "/f32/opencl:",
    skipped: &["special::", "reduce_special::", "sources::threads"],
    sample: 96,
    // It ends with an assertion of its own.
    concurrent: false,
    reports: true,
};

/// Intel's runtime for processors, in an environment of Python's under `target/`.
pub(crate) const INTEL: Runtime = Runtime {
    name: "Intel's runtime",
    vendor: || Some(intel_folder().join("lib").join("libintelocl.so")).filter(|library| library.is_file()),
    install: install_intel,
    by_hand: "python3 -m venv target/intel-opencl && target/intel-opencl/bin/pip install intel-opencl-rt \
              intel-cmplr-lib-rt, and a loader: Debian, Ubuntu: ocl-icd-libopencl1; Fedora: ocl-icd",
    tests: EVERY_TEST,
    skipped: &[],
    // It compiles one program at a time, each for a second or two; its forms of kernels are a step of their own.
    sample: 128,
    concurrent: true,
    reports: false,
};

impl Runtime {
    /// Variables with which Oclgrind looks for data races, too.
    pub(crate) const REPORTS: &'static [(&'static str, &'static str)] = &[("OCLGRIND_DATA_RACES", "1")];

    /// What [`VENDORS`] is to name, once the runtime and a loader are there.
    ///
    /// # Errors
    /// A message that says what is missing.
    pub(crate) fn vendor(&self) -> Result<PathBuf, String> {
        match (self.vendor)() {
            Some(_) if !have_loader() => {
                Err(format!("there is no OpenCL loader, libOpenCL.so.1; {}", self.by_hand))
            }
            Some(vendor) => Ok(vendor),
            None => Err(format!("{} is not installed; {}", self.name, self.by_hand)),
        }
    }

    /// Installs the runtime and a loader, where they are missing.
    ///
    /// # Errors
    /// A message that says what is missing and why it could not be installed.
    pub(crate) fn ensure(&self) -> Result<(), String> {
        if self.vendor().is_ok() {
            return Ok(());
        }
        (self.install)().map_err(|why| {
            let Self { name, by_hand, .. } = self;
            format!(
                "{name} is missing, and {why}; install it by hand ({by_hand}), or leave the steps out that need it \
                 with `--without`"
            )
        })?;
        self.vendor().map(drop)
    }
}

/// A folder without a runtime, for commands that are to find no OpenCL device. It need not be there.
pub(crate) fn no_vendors() -> String {
    crate::root().join("target").join("no-opencl").to_string_lossy().into_owned()
}

/// The first of some files that is there.
fn first(files: &[&str]) -> Option<PathBuf> {
    files.iter().map(PathBuf::from).find(|file| file.is_file())
}

/// Whether a loader is where the system keeps its libraries.
fn have_loader() -> bool {
    let of_target = read_dir("/usr/lib").into_iter().flatten().flatten().map(|entry| entry.path());
    let paths = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let named = std::env::split_paths(&paths).collect::<Vec<_>>();
    let fixed = ["/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/local/lib64"].map(PathBuf::from);
    of_target.chain(fixed).chain(named).any(|folder| folder.join("libOpenCL.so.1").exists())
}

fn intel_folder() -> PathBuf {
    crate::root().join("target").join("intel-opencl")
}

fn install_intel() -> Result<(), String> {
    if !cfg!(target_arch = "x86_64") {
        return Err("there is none for this processor".to_owned());
    }
    if !have_loader() {
        install(&[LOADER])?;
    }
    let folder = intel_folder();
    let pip = folder.join("bin").join("pip");
    if !succeeds(&pip, ["--version"]) {
        python::new_environment(&folder)?;
    }
    println!("installing {} into {}", INTEL.name, folder.display());
    let mut command = Command::new(pip);
    command.args(["install", "--quiet", "--disable-pip-version-check"]);
    crate::run_to_end(command.args(["intel-opencl-rt", "intel-cmplr-lib-rt"]).stdin(Stdio::null()))
}
