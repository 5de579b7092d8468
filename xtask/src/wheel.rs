//! `cargo xtask wheel`: what is given to others, a wheel for older systems than this one, and the source.

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{Arg, ArgAction, ArgMatches};

use crate::cross::ARM;
use crate::python;

/// The oldest C library that the wheel runs on: that of Red Hat's 8 and of Debian 10. Rust's standard library asks for less.
const COMPATIBILITY: &str = "manylinux_2_28";
/// What builds it: zig links against whichever version of the C library is asked for.
const TOOLS: &[&str] = &["maturin>=1.16,<2", "ziglang==0.15.2"];

pub(crate) const COMMAND: crate::Command = crate::Command {
    name: "wheel",
    about: "Build what is published of the Python module into target/dist: a wheel for glibc 2.28 and later, and the source",
    arguments: |command| {
        command
            .arg(
                Arg::new("debug")
                    .long("debug")
                    .help("Build the wheel without optimisation, to try the build")
                    .action(ArgAction::SetTrue),
            )
            .arg(
                Arg::new("trial")
                    .long("trial")
                    .help("Install the wheel, and one built of the source, into clean environments, and run both")
                    .action(ArgAction::SetTrue),
            )
    },
    run: |matches: &ArgMatches| {
        let profile = if matches.get_flag("debug") { "dev" } else { "release" };
        let [wheel, source] = build(profile)?;
        if matches.get_flag("trial") {
            trial(&wheel, "wheel", profile)?;
            trial(&source, "source", profile)?;
        }
        Ok(())
    },
};

/// Where everything lies that is published.
pub(crate) fn folder() -> PathBuf {
    crate::root().join("target").join("dist")
}

/// Builds the wheel and the source.
///
/// # Errors
/// The tools cannot be had, or the build fails; the wheel needs a newer C library than it should.
fn build(profile: &str) -> Result<[PathBuf; 2], String> {
    for old in python::files_in(&folder(), "") {
        std::fs::remove_file(&old).map_err(|error| format!("{}: {error}", old.display()))?;
    }
    Ok([wheel(profile, Machine::This)?, source()?])
}

/// maturin with a command, whose files go into the folder; and the environment that it is in.
fn maturin(command: &str) -> Result<(Command, PathBuf), String> {
    let tools = folder().join("tools");
    let maturin = python::program_of(&tools, "maturin");
    if !maturin.exists()
        || !crate::packages::succeeds(python::program_of(&tools, "python"), ["-c", "import ziglang"])
    {
        python::new_environment(&tools)?;
        crate::run_to_end(python::pip_install_into(&tools).args(TOOLS))?;
    }
    let mut maturin = Command::new(&maturin);
    maturin.current_dir(crate::root()).args([command, "--manifest-path", "ffi/python/Cargo.toml", "--out"]);
    maturin.arg(folder());
    Ok((maturin, tools))
}

/// Builds the source, in place of one that is there.
///
/// # Errors
/// As for [`build`].
pub(crate) fn source() -> Result<PathBuf, String> {
    crate::run_to_end(&mut maturin("sdist")?.0)?;
    one(".tar.gz")
}

/// What a wheel is for.
#[derive(Clone, Copy)]
pub(crate) enum Machine {
    /// The machine that builds it.
    This,
    /// 64-bit Arm with Linux.
    Arm,
}

/// Builds the wheel for a machine.
///
/// # Errors
/// As for [`build`]; the standard library for the machine cannot be had.
pub(crate) fn wheel(profile: &str, machine: Machine) -> Result<PathBuf, String> {
    let (mut wheel, tools) = maturin("build")?;
    wheel.args(["--locked", "--zig", "--compatibility", COMPATIBILITY, "--profile", profile]);
    wheel.args(["--compression-level", "9"]);
    // maturin asks a Python for zig: the first one that there is, unless it is told which.
    let python = python::program_of(&tools, "python");
    wheel
        .arg("--interpreter")
        .arg(&python)
        .env("VIRTUAL_ENV", &tools)
        .env("CARGO_ZIGBUILD_PYTHON_PATH", &python);
    let processor = match machine {
        Machine::This => std::env::consts::ARCH,
        Machine::Arm => {
            crate::targets::ensure(ARM.target)?;
            wheel.args(["--target", ARM.target]);
            "aarch64"
        }
    };
    crate::run_to_end(&mut wheel)?;
    one(&format!("_{processor}.whl"))
}

/// The only file of the folder that ends like this.
fn one(end: &str) -> Result<PathBuf, String> {
    let found = python::files_in(&folder(), end);
    let [file] = &found[..] else {
        return Err(format!("{} files {end} in {}; expected one", found.len(), folder().display()));
    };
    let bytes = std::fs::metadata(file).map_err(|error| format!("{}: {error}", file.display()))?.len();
    println!("{} ({:.1} MB)", file.display(), bytes as f64 / 1e6);
    Ok(file.clone())
}

/// Installs a file into a clean environment, and runs what it installs.
///
/// # Errors
/// It cannot be installed, or does not compute.
pub(crate) fn trial(file: &Path, name: &str, profile: &str) -> Result<(), String> {
    let clean = folder().join(format!("trial-{name}"));
    if clean.exists() {
        std::fs::remove_dir_all(&clean).map_err(|error| format!("{}: {error}", clean.display()))?;
    }
    python::new_environment(&clean)?;
    let mut install = python::pip_install_into(&clean);
    // Read by maturin where pip builds by it.
    install.arg(file).env("MATURIN_PEP517_ARGS", format!("--profile {profile}"));
    crate::run_to_end(&mut install)?;
    let mut program = Command::new(python::program_of(&clean, "python"));
    // Away from the sources, whose folder would be imported.
    program.current_dir(&clean).args([
        "-c",
        "import stridewise as sw; x = sw.linspace(0, 1, 100_000); assert abs(float(sw.mean(sw.sqrt(x * x + 1))) - 1.1478) < 1e-3",
    ]);
    crate::run_to_end(&mut program)?;
    // The command; a machine with problems is none of the wheel's.
    crate::run_to_end(&mut Command::new(python::program_of(&clean, "stridewise")))
}
