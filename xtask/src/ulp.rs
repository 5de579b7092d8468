//! `cargo xtask ulp`: the error of every elementwise function, measured by a program of its own.

use std::process::Command;

use clap::{Arg, ArgAction, ArgMatches};

/// The package of the program.
const PACKAGE: &str = "stridewise-ulp";

pub(crate) const COMMAND: crate::Command = crate::Command {
    name: "ulp",
    about: "Measure the error of every elementwise function; all arguments are passed on",
    arguments: |command| {
        // The program explains its own arguments, `--help` among them.
        command.disable_help_flag(true).arg(
            Arg::new("arguments")
                .value_name(
                    "[--quick] [--filter NAME] [--dtype DTYPE] [--device SPEC …] [--samples N] [--json FILE]",
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
    crate::packages::ensure_mpfr()?;
    let passed_on = arguments.get_many::<String>("arguments").unwrap_or_default();
    crate::run_to_end(program()?.args(passed_on))
}

/// The program, built and ready for arguments.
///
/// # Errors
/// It could not be built.
pub(crate) fn program() -> Result<Command, String> {
    let chosen = ["--package", PACKAGE, "--features", crate::packages::MPFR_FEATURE, "--bin", "ulp"];
    crate::optimised(&chosen, "ulp")
}
