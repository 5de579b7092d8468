//! `cargo xtask instructions`: how many instructions rows execute on 64-bit Arm, by a plain loop without vectors and by the host's
//! kernels at each of its levels, under one emulator.
//!
//! An emulator says nothing about time, but what it executes it can count: a plugin of QEMU's does, `instructions/count.c`. Each row is
//! a program's run with some calls of an operation, less its run with none.
//!
//! The level below NEON is no scalar code: `wide` has NEON's instructions, and the compiler makes vectors of loops. So the loops are
//! the program's own, of which the compiler is told to make none. (A build without the feature `neon` has no instructions for floats
//! either.)

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{Arg, ArgAction, ArgMatches};

use crate::cross::ARM;

/// The package, and its program.
const PACKAGE: &str = "stridewise-instructions";
const PROGRAM: &str = "instructions";
/// What the compiler is told of the program's own loops.
const NO_VECTORS: [&str; 2] = ["-Cno-vectorize-loops", "-Cno-vectorize-slp"];
/// Calls that are counted.
const CALLS: u64 = 4;
/// Elements of each operand, as the program has them.
const ELEMENTS: u64 = 1 << 16;

pub(crate) const COMMAND: crate::Command = crate::Command {
    name: "instructions",
    about: "Count the instructions of rows on 64-bit Arm in QEMU: of plain loops, and of the host at each level",
    arguments: |command| {
        command.arg(
            Arg::new("rows")
                .value_name("ROW")
                .action(ArgAction::Append)
                .num_args(0..)
                .help("Rows whose names contain this; without, all"),
        )
    },
    run: |arguments: &ArgMatches| {
        let wanted: Vec<&String> = arguments.get_many("rows").unwrap_or_default().collect();
        count(&wanted)
    },
};

/// How a row is computed: what the program calls it, and the device.
const WAYS: [(&str, &str); 3] = [("loop", "host"), ("engine", "host:scalar"), ("engine", "host:neon")];

/// Builds, counts, and prints each row as it is known.
fn count(wanted: &[&String]) -> Result<(), String> {
    ARM.ensure()?;
    let (program, plugin) = (program()?, plugin()?);
    let listed = ARM.emulated()?.arg(&program).output();
    let listed = listed.map_err(|error| format!("qemu-aarch64 could not be started: {error}"))?;
    println!(
        "Instructions for each of {ELEMENTS} elements, and how many times NEON's the loop's are\n\n\
         | kind | row | loop | `scalar` | `neon` | loop / `neon` |\n|---|---|---|---|---|---|"
    );
    for line in String::from_utf8_lossy(&listed.stdout).lines() {
        let Some((kind, row)) = line.split_once(' ') else { continue };
        if !wanted.is_empty() && !wanted.iter().any(|part| row.contains(*part)) {
            continue;
        }
        let each = |(how, device)| -> Result<f64, String> {
            let [all, start] = [CALLS, 0].map(|calls| executed(&plugin, &program, how, device, row, calls));
            Ok(all?.saturating_sub(start?) as f64 / (CALLS * ELEMENTS) as f64)
        };
        let [plain, scalar, neon] = WAYS.map(each);
        let (plain, scalar, neon) = (plain?, scalar?, neon?);
        println!("| {kind} | {row} | {plain:.2} | {scalar:.2} | {neon:.2} | {:.1} |", plain / neon);
    }
    Ok(())
}

/// The instructions that a run of the program executes.
fn executed(
    plugin: &Path,
    program: &Path,
    how: &str,
    device: &str,
    row: &str,
    calls: u64,
) -> Result<u64, String> {
    let mut command = ARM.emulated()?;
    command.arg("-plugin").arg(plugin).arg(program);
    command.args([how, row, &calls.to_string(), &ELEMENTS.to_string()]);
    // One thread, of which nobody waits for another.
    command.env("STRIDEWISE_DEVICE", device).env("STRIDEWISE_NUM_THREADS", "1");
    let output = command.output().map_err(|error| format!("qemu-aarch64 could not be started: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let counted = said.lines().find_map(|line| line.strip_prefix("instructions: ")?.parse().ok());
    match counted {
        Some(count) if output.status.success() => Ok(count),
        _ => {
            let line = crate::steps::written(&command);
            Err(format!("{line} was not counted ({}): {}", output.status, said.trim()))
        }
    }
}

/// The program, built for Arm.
fn program() -> Result<PathBuf, String> {
    let mut command = ARM.cargo("rustc");
    command.args(["--release", "--package", PACKAGE, "--bin", PROGRAM, "--"]).args(NO_VECTORS);
    crate::run_to_end(&mut command)?;
    Ok(crate::target_folder().join(ARM.folder()).join(ARM.target).join("release").join(PROGRAM))
}

/// The plugin that counts, compiled for this machine.
fn plugin() -> Result<PathBuf, String> {
    let source = crate::root().join("xtask/src/instructions/count.c");
    let folder = crate::target_folder().join(ARM.folder());
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let library = folder.join("count.so");
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-Wall", "-Wextra", "-shared", "-fPIC", "-o"]).arg(&library).arg(source);
    crate::run_to_end(&mut compiler)?;
    Ok(library)
}
