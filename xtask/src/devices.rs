//! `cargo xtask devices`: what this machine has.

use clap::ArgMatches;

pub(crate) const COMMAND: crate::Command = crate::Command {
    name: "devices",
    about: "List the devices of this machine",
    arguments: |command| command,
    run,
};

fn run(_arguments: &ArgMatches) -> Result<(), String> {
    let mut command = crate::cargo();
    command.args(["run", "--quiet", "--release", "--example", "devices"]);
    // hwloc knows more than the files of the system do.
    if crate::packages::have_hwloc() {
        command.args(["--features", crate::packages::HWLOC_FEATURE]);
    }
    crate::run_to_end(&mut command)
}
