//! `cargo xtask python`: the wheel of the Python module, and an environment that has it installed.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::{Arg, ArgAction, ArgMatches};

use crate::steps::given;
use crate::{opencl, packages};

/// The least Python that the wheel is for.
const LEAST: (u32, u32) = (3, 11);
/// The Debian packages of a Python that makes environments.
const PACKAGES: &[&str] = &["python3", "python3-venv"];
/// What builds the wheel, and what its tests compare with.
const TOOLS: &[&str] =
    &["maturin>=1.16,<2", "pytest", "pytest-xdist", "numpy", "hypothesis", "array-api-strict>=2.5", "mypy"];
/// Packages that its tests exchange memory with: SYCL's, on Intel's runtime for processors, which comes with them, and one
/// more that follows DLPack; and what works on arrays in several processes or draws them, of the versions that the tests were written for.
const PEERS: &[(&str, &str)] = &[
    ("dpctl", "dpctl"),
    ("dpnp", "dpnp"),
    ("jax", "jax"),
    ("distributed", "dask[array,distributed]==2026.8.0"),
    ("zarr", "zarr==3.1.6"),
    ("joblib", "joblib==1.6.0"),
    // What the examples draw with.
    ("matplotlib", "matplotlib==3.11.2"),
];
/// Packages that work on arrays of others, which its tests run on ours: of the versions whose own tests these were written for.
const CLIENTS: &[&str] = &[
    "scipy==1.17.1",
    "scikit-learn==1.9.1",
    "xarray==2026.9.0",
    "Pint==0.25.3",
    "cubed==0.27.0",
    "mpi4py==4.1.2",
    // Launches programs of MPI's.
    "mpich==5.0.2",
];
/// The variable by which the clients' tests know that they have to be there; `whole` has all of their own tests run.
const CLIENTS_VARIABLE: &str = "STRIDEWISE_CLIENTS";
/// The variable by which the tests run one of so many of those on OpenCL's devices, and what it is unless it is set.
const OPENCL_VARIABLE: &str = "STRIDEWISE_OPENCL_SAMPLE";
const OPENCL_SAMPLE: &str = "4";
/// Bytes that a wheel without debugging information has at most.
const WHEEL_BYTES: u64 = 15_000_000;

pub(crate) const COMMAND: crate::Command = crate::Command {
    name: "python",
    about: "Build the Python wheel into target/wheels and install it into target/python",
    arguments: |command| {
        command.arg(
            Arg::new("debug")
                .long("debug")
                .help("Build without optimisation, for quick development")
                .action(ArgAction::SetTrue),
        )
    },
    run: |matches: &ArgMatches| build(matches.get_flag("debug")),
};

/// The environment: its folder.
pub(crate) fn environment() -> PathBuf {
    crate::root().join("target").join("python")
}

/// The environment's Python.
pub(crate) fn python() -> PathBuf {
    program("python")
}

fn program(name: &str) -> PathBuf {
    program_of(&environment(), name)
}

/// A program of an environment.
pub(crate) fn program_of(environment: &Path, name: &str) -> PathBuf {
    let folder = if cfg!(windows) { "Scripts" } else { "bin" };
    environment.join(folder).join(name)
}

/// Makes an environment, where it is not there yet, by a Python that is new enough. One is installed where there is none, or where it
/// lacks the module `venv`, as Debian's does.
///
/// # Errors
/// What is missing, why it could not be installed, and how to do it by hand.
pub(crate) fn new_environment(folder: &Path) -> Result<(), String> {
    let make = || {
        let mut command = Command::new(find_python()?);
        crate::run_to_end(command.args(["-m", "venv"]).arg(folder).stdin(Stdio::null()))
    };
    let by_hand = |why: String| {
        let packages = PACKAGES.join(" ");
        format!(
            "{why}; install Python 3.11 or later with its module venv by hand (Debian, Ubuntu: {packages})"
        )
    };
    make().or_else(|missing| {
        packages::install(PACKAGES).map_err(|why| by_hand(format!("{missing}, and {why}")))?;
        make().map_err(by_hand)
    })
}

/// Builds the wheel and installs it.
///
/// # Errors
/// There is no Python, the tools cannot be had, or the build fails.
pub(crate) fn build(debug: bool) -> Result<(), String> {
    build_with(debug, &[])
}

/// As [`build()`], for its tests: the engine as it is, and what lies around it hardly optimised, which computes the same and is
/// half of the build.
///
/// # Errors
/// As for [`build()`].
pub(crate) fn build_to_test() -> Result<(), String> {
    build_with(
        false,
        &["stridewise-numerics", "stridewise-python", "faer", "faer-traits", "rustfft", "realfft"],
    )
}

/// Builds the wheel, with these packages hardly optimised, and installs it.
fn build_with(debug: bool, hardly: &[&str]) -> Result<(), String> {
    let root = crate::root();
    ensure_environment()?;
    let wheels = root.join("target").join("wheels");
    // A wheel of an earlier build must not be taken for this one's.
    for old in wheels_in(&wheels) {
        std::fs::remove_file(&old).map_err(|error| format!("{}: {error}", old.display()))?;
    }
    let mut maturin = Command::new(program("maturin"));
    maturin.current_dir(&root).args(["build", "--locked", "--manifest-path", "ffi/python/Cargo.toml"]);
    maturin.args(["--profile", if debug { "dev" } else { "release" }]).arg("--out").arg(&wheels);
    maturin.args(["--compression-level", "9"]);
    maturin.arg("--interpreter").arg(python());
    for package in hardly {
        maturin.args(["--config", &format!("profile.release.package.{package}.opt-level=1")]);
    }
    crate::run_to_end(&mut maturin)?;
    let wheel = match &wheels_in(&wheels)[..] {
        [wheel] => wheel.clone(),
        found => return Err(format!("{} wheels in {}; expected one", found.len(), wheels.display())),
    };
    let mut install = pip_install();
    install.args(["--force-reinstall", "--no-deps", "--no-index"]).arg(&wheel);
    crate::run_to_end(&mut install)?;
    let bytes = std::fs::metadata(&wheel).map_err(|error| format!("{}: {error}", wheel.display()))?.len();
    println!("{} ({:.1} MB), installed for {}", wheel.display(), bytes as f64 / 1e6, python().display());
    if !debug && bytes >= WHEEL_BYTES {
        return Err(format!("{} has {bytes} bytes; expected fewer than {WHEEL_BYTES}", wheel.display()));
    }
    Ok(())
}

/// Runs the tests of the Python module against the wheel that is installed.
///
/// # Errors
/// A test failed, or the wheel is not there.
pub(crate) fn test() -> Result<(), String> {
    ensure_peers();
    ensure_clients()?;
    // Those on older processors are skipped without.
    if let Err(why) = packages::ensure_emulator() {
        println!("without older processors: {why}");
    }
    // Of clients' own tests a sample, unless the variable asks for the whole.
    let clients = given(CLIENTS_VARIABLE, "required");
    // And of what runs on OpenCL's devices, whose runtimes compile a kernel for each test.
    let opencl = given(OPENCL_VARIABLE, OPENCL_SAMPLE);
    // By two processes: most tests compute on one thread, and little.
    crate::run_to_end(
        pytest().args(["--numprocesses=2", "."]).env(CLIENTS_VARIABLE, clients).env(OPENCL_VARIABLE, opencl),
    )
}

/// Runs those of the ends and forks of processes with a runtime of OpenCL.
///
/// # Errors
/// As for [`test()`]; the runtime is not installed.
pub(crate) fn test_processes_on(runtime: &opencl::Runtime) -> Result<(), String> {
    crate::run_to_end(pytest().arg("test_process.py").env(opencl::VENDORS, runtime.vendor()?))
}

fn pytest() -> Command {
    let mut pytest = Command::new(python());
    // The tests' own folder, so that the module is found where it is installed and not where it is written.
    pytest.current_dir(crate::root().join("ffi").join("python").join("tests"));
    pytest.args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider"]);
    pytest
}

/// Makes the environment with the tools, where it is not there yet.
fn ensure_environment() -> Result<(), String> {
    let complete = ["maturin", "pytest"].iter().all(|tool| program(tool).exists())
        && crate::packages::succeeds(
            python(),
            ["-c", "import xdist, numpy, hypothesis, array_api_strict, mypy"],
        );
    if complete {
        return Ok(());
    }
    new_environment(&environment())?;
    crate::run_to_end(pip_install().args(TOOLS))
}

/// Installs the peers where they can be had; else the tests that need them are skipped, with their reason.
fn ensure_peers() {
    for (peer, requirement) in PEERS {
        if crate::packages::succeeds(python(), ["-c", &format!("import {peer}")]) {
            continue;
        }
        if let Err(why) = crate::run_to_end(pip_install().arg(requirement)) {
            println!("without {peer}: {why}");
        }
    }
}

/// Installs the clients: without them, their tests would say nothing. Where all are there, in these versions, pip says so in a
/// second, and without a network; to import them takes longer.
fn ensure_clients() -> Result<(), String> {
    crate::run_to_end(pip_install().args(CLIENTS))
}

/// What installs packages into the environment.
fn pip_install() -> Command {
    pip_install_into(&environment())
}

/// What installs packages into an environment.
pub(crate) fn pip_install_into(environment: &Path) -> Command {
    let mut pip = Command::new(program_of(environment, "python"));
    pip.args(["-m", "pip", "--disable-pip-version-check", "install", "--quiet"]);
    pip
}

/// A Python that is new enough.
fn find_python() -> Result<String, String> {
    let (major, minor) = LEAST;
    let check = format!("import sys; sys.exit(sys.version_info < ({major}, {minor}))");
    let named = std::env::var("PYTHON").ok();
    let candidates = named.into_iter().chain(["python3", "python"].map(str::to_owned));
    candidates.into_iter().find(|python| crate::packages::succeeds(python, ["-c", &check])).ok_or_else(|| {
        format!("there is no Python {major}.{minor} or later, or it is not named in the variable PYTHON")
    })
}

fn wheels_in(folder: &Path) -> Vec<PathBuf> {
    files_in(folder, ".whl")
}

/// The files of a folder whose names end like this; none where there is no folder.
pub(crate) fn files_in(folder: &Path, end: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.map(|entry| entry.path()).filter(|path| path.is_file());
    files.filter(|path| path.to_string_lossy().ends_with(end)).collect()
}
