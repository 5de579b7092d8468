//! `cargo xtask bench`: the benchmarks, which are a program of their own.

use clap::{Arg, ArgAction, ArgMatches};

/// The package of the benchmarks.
const PACKAGE: &str = "stridewise-benches";

pub(crate) const COMMAND: crate::Command = crate::Command {
    name: "bench",
    about: "Run the benchmarks; all arguments are passed on to them",
    arguments: |command| {
        // The program explains its own arguments, `--help` among them.
        command.disable_help_flag(true).arg(
            Arg::new("arguments")
                .value_name("[--json FILE] [--quick] [--filter NAME] [--device FILTER]")
                .action(ArgAction::Append)
                .num_args(0..)
                .trailing_var_arg(true)
                .allow_hyphen_values(true),
        )
    },
    run,
};

fn run(arguments: &ArgMatches) -> Result<(), String> {
    let passed_on = arguments.get_many::<String>("arguments").unwrap_or_default();
    let mut command = crate::cargo();
    command.args(["run", "--release", "--package", PACKAGE, "--"]).args(passed_on);
    crate::run_to_end(&mut command)
}
