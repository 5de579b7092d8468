//! `cargo xtask instructions`: how many instructions the host's kernels execute on 64-bit Arm, at the level of NEON, at the level
//! below, and built without vectors, under one emulator.
//!
//! An emulator says nothing about time, but what it executes it can count: a plugin of QEMU's does, `instructions/count.c`. Each row is
//! a program's run with some calls of an operation, less its run with none.
//!
//! The level below NEON is no scalar code: `wide` has NEON's instructions, and the compiler makes vectors of loops. What a processor
//! without vectors would execute is the same level in a build where both are off. (Without the feature `neon` itself there are no
//! instructions for floats either.)

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{Arg, ArgAction, ArgMatches};

use crate::arm;

const PACKAGE: &str = "stridewise-instructions";
/// The crate of the vectors below NEON.
const VECTORS: &str = "wide";
/// What the compiler is told in order to make no vectors of loops and of neighbouring statements.
const NO_VECTORS: &str = "-Cno-vectorize-loops -Cno-vectorize-slp";
/// Calls that are counted.
const CALLS: u64 = 4;
/// Elements of each operand, as the program has them.
const ELEMENTS: u64 = 1 << 16;

pub(crate) const COMMAND: crate::Command = crate::Command {
    name: "instructions",
    about: "Count the instructions of rows on 64-bit Arm in QEMU: without vectors, with the target's own, and with NEON",
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

/// Builds, counts, and prints each row as it is known.
fn count(wanted: &[&String]) -> Result<(), String> {
    arm::ensure()?;
    let plugin = plugin()?;
    let vectors = build("aarch64", None)?;
    let none = build("aarch64-no-vectors", Some(&without_vectors()?))?;
    let listed = Command::new("qemu-aarch64").args(["-L", arm::LIBRARIES]).arg(&vectors).output();
    let listed = listed.map_err(|error| format!("qemu-aarch64 could not be started: {error}"))?;
    println!(
        "Instructions for each of {ELEMENTS} elements, and how many times NEON's they are\n\n\
         | kind | row | no vectors | `scalar` | `neon` | no vectors / `neon` | `scalar` / `neon` |\n\
         |---|---|---|---|---|---|---|"
    );
    for line in String::from_utf8_lossy(&listed.stdout).lines() {
        let Some((kind, row)) = line.split_once(' ') else { continue };
        if !wanted.is_empty() && !wanted.iter().any(|part| row.contains(*part)) {
            continue;
        }
        let each = |program: &Path, level: &str| -> Result<f64, String> {
            let [all, start] = [CALLS, 0].map(|calls| executed(&plugin, program, level, row, calls));
            Ok(all?.saturating_sub(start?) as f64 / (CALLS * ELEMENTS) as f64)
        };
        let (none, scalar, neon) =
            (each(&none, "scalar")?, each(&vectors, "scalar")?, each(&vectors, "neon")?);
        println!(
            "| {kind} | {row} | {none:.2} | {scalar:.2} | {neon:.2} | {:.1} | {:.1} |",
            none / neon,
            scalar / neon
        );
    }
    Ok(())
}

/// The instructions that a run of the program executes.
fn executed(plugin: &Path, program: &Path, level: &str, row: &str, calls: u64) -> Result<u64, String> {
    let mut command = Command::new("qemu-aarch64");
    command.args(["-L", arm::LIBRARIES, "-plugin"]).arg(plugin).arg(program);
    command.args([row, &calls.to_string(), &ELEMENTS.to_string()]);
    command.env("STRIDEWISE_DEVICE", format!("host:{level}")).env("STRIDEWISE_NUM_THREADS", "1");
    let output = command.output().map_err(|error| format!("qemu-aarch64 could not be started: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let counted = said.lines().find_map(|line| line.strip_prefix("instructions: ")?.parse().ok());
    match counted {
        Some(count) if output.status.success() => Ok(count),
        _ => Err(format!(
            "{} was not counted ({}): {}",
            crate::steps::written(&command),
            output.status,
            said.trim()
        )),
    }
}

/// The program, built for Arm in a folder of its own; with a crate of vectors in the place of its own where one is given, and then
/// without vectors of the compiler's, too.
fn build(folder: &str, replaced: Option<&Path>) -> Result<PathBuf, String> {
    let mut command = arm::cargo("build", folder);
    command.args(["--release", "--package", PACKAGE]);
    if let Some(source) = replaced {
        command.arg("--config").arg(format!("paths=[{:?}]", source.to_string_lossy()));
        command.env("RUSTFLAGS", NO_VECTORS);
    }
    crate::run_to_end(&mut command)?;
    Ok(crate::target_folder().join(folder).join(arm::TARGET).join("release").join("instructions"))
}

/// A copy of the crate of vectors that never finds NEON, so that its vectors are arrays and loops.
fn without_vectors() -> Result<PathBuf, String> {
    let mut fetch = crate::cargo();
    let output = fetch.args(["metadata", "--locked", "--format-version", "1"]).output();
    let output = output.map_err(|error| format!("cargo metadata could not be started: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let manifests = text.split("\"manifest_path\":\"").filter_map(|rest| rest.split('"').next());
    let from = manifests
        .filter_map(|path| Path::new(path).parent())
        .find(|folder| folder.file_name().is_some_and(|name| is_version_of(&name.to_string_lossy(), VECTORS)))
        .ok_or_else(|| format!("cargo metadata names no folder of {VECTORS}"))?;
    let to = crate::target_folder().join("aarch64-no-vectors").join(VECTORS);
    copy(from, &to).map_err(|error| format!("{} could not be copied: {error}", from.display()))?;
    Ok(to)
}

/// Whether a folder of the registry's holds a version of a crate.
fn is_version_of(folder: &str, package: &str) -> bool {
    let version = folder.strip_prefix(package).and_then(|rest| rest.strip_prefix('-'));
    version.is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()))
}

/// Copies the manifest and the sources, in which nothing asks for NEON any more.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let path = entry?.path();
        let Some(name) = path.file_name() else { continue };
        if path.is_dir() {
            copy(&path, &to.join(name))?;
        } else if path.extension().is_some_and(|extension| extension == "rs" || extension == "toml") {
            std::fs::write(to.join(name), without_neon(&std::fs::read_to_string(&path)?))?;
        }
    }
    Ok(())
}

/// A source whose conditions ask for a feature that no processor has in the place of NEON.
fn without_neon(source: &str) -> String {
    ["target_feature=\"neon\"", "target_feature = \"neon\""]
        .iter()
        .fold(source.to_owned(), |text, asked| text.replace(asked, "target_feature=\"none\""))
}

/// The plugin that counts, compiled for this machine.
fn plugin() -> Result<PathBuf, String> {
    let source = crate::root().join("xtask/src/instructions/count.c");
    let folder = crate::target_folder().join("aarch64");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let library = folder.join("count.so");
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-Wall", "-Wextra", "-shared", "-fPIC", "-o"]).arg(&library).arg(source);
    crate::run_to_end(&mut compiler)?;
    Ok(library)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_forgets_neon() {
        let source =
            "#[cfg(all(target_feature=\"neon\",target_arch=\"aarch64\"))]\n#[cfg(target_feature = \"neon\")]";
        assert!(!without_neon(source).contains("neon"));
        assert!(is_version_of("wide-1.7.1", "wide"));
        assert!(!is_version_of("wide-open-1.0", "wide") && !is_version_of("widestring-1.0", "wide"));
    }
}
