//! Development tasks: `cargo xtask <command>`.
//!
//! A command is a module with a [`Command`] and one entry in [`COMMANDS`]. Everything here is the standard library and
//! small crates in pure Rust: the tasks must start on a machine that has nothing but cargo.

mod api;
mod bench;
mod book;
mod crates;
mod cross;
mod demo;
#[cfg(test)]
mod dependencies;
mod devices;
#[cfg(test)]
mod documents;
mod fuzz;
mod install_c;
mod instructions;
mod layers;
mod matrix;
mod nvrtc;
mod opencl;
mod packages;
mod programs;
mod python;
mod release;
mod soak;
mod steps;
mod targets;
mod test;
mod ulp;
mod wheel;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ArgMatches;

/// One command of `cargo xtask`.
struct Command {
    name: &'static str,
    about: &'static str,
    /// Adds the command's arguments.
    arguments: fn(clap::Command) -> clap::Command,
    /// Runs it. An `Err` is a message for the reader.
    run: fn(&ArgMatches) -> Result<(), String>,
}

/// Every command; a new one is its module and its entry here.
const COMMANDS: &[Command] = &[
    demo::COMMAND,
    test::COMMAND,
    matrix::COMMAND,
    bench::COMMAND,
    ulp::COMMAND,
    fuzz::COMMAND,
    soak::COMMAND,
    devices::COMMAND,
    devices::DOCTOR,
    python::COMMAND,
    wheel::COMMAND,
    book::COMMAND,
    install_c::COMMAND,
    targets::COMMAND,
    instructions::COMMAND,
    release::COMMAND,
    release::THIRD_PARTY,
    layers::COMMAND,
    api::COMMAND,
];

fn main() -> ExitCode {
    let mut interface = clap::Command::new("cargo xtask")
        .bin_name("cargo xtask")
        .about("Development tasks of Stridewise")
        .subcommand_required(true)
        .arg_required_else_help(true);
    for command in COMMANDS {
        interface =
            interface.subcommand((command.arguments)(clap::Command::new(command.name).about(command.about)));
    }
    let matches = interface.get_matches();
    let Some((name, arguments)) = matches.subcommand() else {
        // Clap has printed its help and left, for a command is required.
        return ExitCode::FAILURE;
    };
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
        return ExitCode::FAILURE;
    };
    match (command.run)(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("cargo xtask {name}: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The root of the workspace.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// The cargo that runs this program, ready for arguments, in the root of the workspace.
fn cargo() -> std::process::Command {
    let mut command = std::process::Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// Where cargo puts what it builds.
fn target_folder() -> PathBuf {
    let folder = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    // A relative folder is one of the workspace: cargo is run there.
    root().join(folder)
}

/// What optimised builds name besides their own package. Together with it they choose the features of what both need, so
/// that all of them, and the module itself, share one build of the engine, which takes minutes.
const MODULE: [&str; 2] = ["--package", "stridewise-python"];

/// A program of a package, built optimised: `arguments` of cargo, behind `build --release`, that choose it, and where it is
/// then in the folder of optimised builds. Ready for arguments of its own, in the root of the workspace.
fn optimised(arguments: &[&str], program: &str) -> Result<std::process::Command, String> {
    let mut build = cargo();
    build.args(["build", "--locked", "--release"]).args(arguments).args(MODULE);
    println!("{}", steps::written(&build));
    run_to_end(&mut build)?;
    let program =
        target_folder().join("release").join(program).with_extension(std::env::consts::EXE_EXTENSION);
    let mut command = std::process::Command::new(program);
    command.current_dir(root());
    Ok(command)
}

/// A time as it is typed: `90s`, `20m`, `2h`, or seconds.
fn duration(text: &str) -> Result<std::time::Duration, String> {
    let (number, unit) = match text.char_indices().next_back() {
        Some((end, 's')) => (&text[..end], 1),
        Some((end, 'm')) => (&text[..end], 60),
        Some((end, 'h')) => (&text[..end], 3600),
        _ => (text, 1),
    };
    let seconds = number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    seconds.map(std::time::Duration::from_secs).ok_or_else(|| "write it as 90s, 20m or 2h".to_owned())
}

/// Runs a command to its end.
fn run_to_end(command: &mut std::process::Command) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{} failed ({status})", steps::written(command))),
        Err(error) => Err(format!("{} could not be started: {error}", steps::written(command))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        let seconds = |text| duration(text).map(|time| time.as_secs());
        assert_eq!(["90s", "20m", "2h", "7"].map(seconds), [Ok(90), Ok(1200), Ok(7200), Ok(7)]);
        assert!(
            ["", "m", "20d", "-1s", "1.5h", "99999999999999999999s"]
                .iter()
                .all(|text| seconds(text).is_err())
        );
    }
}
