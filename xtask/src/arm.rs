//! Core and the host's kernels on 64-bit Arm: built for it here, and run by QEMU's user mode, on a processor that has everything and
//! on one of 2015 that has neither atomic instructions nor arithmetic of 16-bit floats.
//!
//! An emulator is some five times slower with integers and a hundred with vectors, so that of the long tests a sample is run, and the
//! longest are left out. It says nothing about speed.

use std::process::Command;

use crate::{packages, targets};

pub(crate) const TARGET: &str = "aarch64-unknown-linux-gnu";
/// Where Debian's compiler for it has the C library.
pub(crate) const LIBRARIES: &str = "/usr/aarch64-linux-gnu";
/// Where it is built, in cargo's folder.
pub(crate) const FOLDER: &str = "aarch64";
/// The Debian packages that link and run such programs.
const PACKAGES: &[&str] = &["gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross", "qemu-user"];
/// The processors, by QEMU's names.
const PROCESSORS: [&str; 2] = ["max", "cortex-a57"];
/// One case of so many of the long tests.
const SAMPLE: &str = "400";
/// What is about this machine's files, and what takes more than three minutes by itself, as it has no sample or computes by a
/// library of others: every float of a part of all, and large products.
const LEFT_OUT: &[&str] =
    &["topology", "accurate_on_a_sample", "larger_products", "products_of_every_dtype_and_layout"];

/// Whether programs for Arm can be linked and run here.
fn have_tools() -> bool {
    packages::succeeds("aarch64-linux-gnu-gcc", ["--version"])
        && packages::succeeds("qemu-aarch64", ["--version"])
}

/// Installs what links and runs such programs, and the standard library.
///
/// # Errors
/// A message that says what is missing and why it could not be installed.
pub(crate) fn ensure() -> Result<(), String> {
    targets::ensure(TARGET)?;
    if have_tools() {
        return Ok(());
    }
    let by_hand = format!(
        "install a linker for aarch64 and QEMU's user mode by hand (Debian, Ubuntu: {}; Fedora: gcc-aarch64-linux-gnu \
         sysroot-aarch64-fc41-glibc qemu-user), or leave the step out with `--without aarch64`",
        PACKAGES.join(" ")
    );
    packages::install(PACKAGES)
        .map_err(|why| format!("aarch64-linux-gnu-gcc or qemu-aarch64 is missing, and {why}; {by_hand}"))?;
    if have_tools() {
        Ok(())
    } else {
        Err(format!("aarch64-linux-gnu-gcc and qemu-aarch64 do not start; {by_hand}"))
    }
}

/// A command of cargo's for Arm, which builds in a folder of its own.
pub(crate) fn cargo(name: &str) -> Command {
    let mut command = crate::cargo();
    command.args([name, "--locked", "--target", TARGET]);
    command.arg("--target-dir").arg(crate::target_folder().join(FOLDER));
    command.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "aarch64-linux-gnu-gcc");
    command.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER", format!("qemu-aarch64 -L {LIBRARIES}"));
    command
}

/// The tests of core and of the host's kernels, built for Arm.
fn tests() -> Command {
    let mut command = cargo("test");
    command.args(["--lib", "--package", "stridewise-core", "--package", "stridewise-host"]);
    command
}

/// Runs them on both processors.
///
/// # Errors
/// The tools are missing, or a test failed.
pub(crate) fn test() -> Result<(), String> {
    ensure()?;
    crate::run_to_end(tests().arg("--no-run"))?;
    for processor in PROCESSORS {
        println!("on QEMU's {processor}");
        let mut run = tests();
        run.args(["--quiet", "--no-fail-fast", "--"]);
        run.args(LEFT_OUT.iter().flat_map(|name| ["--skip", name]));
        run.env("QEMU_CPU", processor).env(crate::matrix::SAMPLE, SAMPLE);
        crate::run_to_end(&mut run)?;
    }
    Ok(())
}
