//! `cargo xtask soak`: everything at once for a time, optimised, with what must not grow or be left counted.

use std::time::Duration;

use clap::{Arg, ArgMatches};

pub(crate) const COMMAND: crate::Command = crate::Command {
    name: "soak",
    about: "Run all sorts of work at once for a time, and see that nothing is left of it",
    arguments: |command| {
        command.arg(
            Arg::new("time")
                .long("time")
                .value_name("TIME")
                .value_parser(crate::duration)
                .default_value("40m")
                .help("How long: 90s, 40m, 2h"),
        )
    },
    run,
};

fn run(arguments: &ArgMatches) -> Result<(), String> {
    let time = *arguments.get_one::<Duration>("time").ok_or("no time")?;
    let mut command = crate::cargo();
    command.args(["test", "--locked", "--release", "--package", "stridewise"]);
    command.args(["--test", "soak", "--", "--seconds", &time.as_secs().to_string()]);
    println!("{}", crate::steps::written(&command));
    crate::run_to_end(&mut command)
}
