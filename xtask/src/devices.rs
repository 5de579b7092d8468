//! `cargo xtask devices` and `cargo xtask doctor`: what this machine has, and why not more.

use clap::ArgMatches;

pub(crate) const COMMAND: crate::Command = crate::Command {
    name: "devices",
    about: "List the devices of this machine",
    arguments: |command| command,
    run: |_: &ArgMatches| example("devices"),
};

pub(crate) const DOCTOR: crate::Command = crate::Command {
    name: "doctor",
    about: "Tell why a device is not found, or not as quick as it could be, and how to mend it",
    arguments: |command| command,
    run: |_: &ArgMatches| example("doctor"),
};

fn example(name: &str) -> Result<(), String> {
    let mut command = crate::cargo();
    command.args(["run", "--quiet", "--locked", "--release", "--example", name]);
    crate::run_to_end(&mut command)
}
