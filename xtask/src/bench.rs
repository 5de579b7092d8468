//! `cargo xtask bench`: the benchmarks, which are a program of their own, and the environment of their peers.

use std::path::Path;
use std::process::{Command, Stdio};

use clap::{Arg, ArgAction, ArgMatches};

use crate::packages::succeeds;
use crate::python;

/// The package of the benchmarks.
const PACKAGE: &str = "stridewise-benches";

/// The Python peers, by module and package. PyTorch takes part where someone has installed it into the environment: its
/// packages are gigabytes.
const PYTHON_PEERS: &[(&str, &str)] = &[
    ("numpy", "numpy"),
    ("scipy", "scipy"),
    ("pyfftw", "pyfftw"),
    ("numexpr", "numexpr"),
    ("jax", "jax[cpu]"),
    ("dpnp", "dpnp"),
];

/// Arguments with which the program measures nothing beside the peers of Rust.
const WITHOUT_PEERS: &[&str] = &["--no-peers", "--peers", "--from", "--call", "--help", "-h"];

pub(crate) const COMMAND: crate::Command = crate::Command {
    name: "bench",
    about: "Run the benchmarks; all arguments are passed on to them",
    arguments: |command| {
        // The program explains its own arguments, `--help` among them.
        command.disable_help_flag(true).arg(
            Arg::new("arguments")
                .value_name(
                    "[--quick] [--filter NAME] [--passes N] [--most N] [--device SPEC] [--threads N] [--scaling] [--no-peers] [--json FILE] \
                     [--report] [--from FILE] [--call OPERATION]",
                )
                .action(ArgAction::Append)
                .num_args(0..)
                .trailing_var_arg(true)
                .allow_hyphen_values(true),
        )
    },
    run,
};

fn run(arguments: &ArgMatches) -> Result<(), String> {
    let mut passed_on: Vec<String> =
        arguments.get_many::<String>("arguments").unwrap_or_default().cloned().collect();
    if wants_peers(&passed_on) {
        let folder = crate::root().join("target").join("peers");
        // The benchmark does without what is not there, and says so.
        for outcome in [ensure_python(&folder), build_candle(&folder)] {
            outcome.unwrap_or_else(|why| println!("{why}"));
        }
        passed_on.extend(["--peers".to_owned(), folder.to_string_lossy().into_owned()]);
    }
    let mut command = crate::cargo();
    command.args(["run", "--release", "--package", PACKAGE, "--"]).args(passed_on);
    crate::run_to_end(&mut command)
}

fn wants_peers(arguments: &[String]) -> bool {
    !arguments.iter().any(|argument| {
        let name = argument.split('=').next().unwrap_or_default();
        WITHOUT_PEERS.contains(&name)
    })
}

/// Makes an environment of Python's with the peers that can be installed; which cannot it says.
///
/// # Errors
/// There is no environment.
fn ensure_python(folder: &Path) -> Result<(), String> {
    let (python, pip) = (folder.join("bin").join("python"), folder.join("bin").join("pip"));
    if !succeeds(&pip, ["--version"]) {
        python::new_environment(folder)?;
    }
    for (module, package) in PYTHON_PEERS {
        // To find a module is quick, to load some of them is not.
        let find =
            format!("import importlib.util, sys; sys.exit(importlib.util.find_spec('{module}') is None)");
        if succeeds(&python, ["-c", &find]) {
            continue;
        }
        println!("installing {package} into {}", folder.display());
        let mut command = Command::new(&pip);
        command.args(["install", "--quiet", "--disable-pip-version-check", package]).stdin(Stdio::null());
        if let Err(why) = crate::run_to_end(&mut command) {
            println!("{package} is left out: {why}");
        }
    }
    Ok(())
}

/// Builds candle's worker, a package of a workspace of its own, and puts it beside the environment's programs.
///
/// # Errors
/// It cannot be built.
fn build_candle(folder: &Path) -> Result<(), String> {
    let package = crate::root().join("benches").join("peers").join("candle");
    let target = crate::root().join("target").join("candle");
    let mut command = crate::cargo();
    command.args(["build", "--release", "--quiet", "--manifest-path"]).arg(package.join("Cargo.toml"));
    crate::run_to_end(command.arg("--target-dir").arg(&target))?;
    let (name, programs) = (format!("candle-worker{}", std::env::consts::EXE_SUFFIX), folder.join("bin"));
    std::fs::create_dir_all(&programs)
        .and_then(|()| std::fs::copy(target.join("release").join(&name), programs.join(&name)))
        .map(drop)
        .map_err(|error| format!("{} cannot be written: {error}", programs.join(name).display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_wanted_unless_told_otherwise() {
        let wants = |line: &str| wants_peers(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        assert!(wants("") && wants("--quick --json rows.json"));
        assert!(!wants("--quick --no-peers"));
        assert!(!wants("--peers=elsewhere"));
        assert!(!wants("--from rows.json --report"));
    }
}
