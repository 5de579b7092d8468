//! `cargo xtask demo`: the hillshade of real terrain, from the source to the picture.

use clap::ArgMatches;

/// Input, output and repetitions of the demonstration.
const ARGUMENTS: &[&str] =
    &["--input", "examples/data/jacksboro_dem.npy", "--output", "out/hillshade.png", "--repeat", "5"];

pub(crate) const COMMAND: crate::Command = crate::Command {
    name: "demo",
    about: "Build the main example, run it on real terrain and say where the picture is",
    arguments: |command| command,
    run: |_: &ArgMatches| show(),
};

/// Builds and runs the example.
///
/// # Errors
/// It failed, or left no picture.
pub(crate) fn show() -> Result<(), String> {
    let root = crate::root();
    // The host backend needs no system package: there is nothing to install beyond what cargo fetches.
    let picture = root.join("out").join("hillshade.png");
    std::fs::create_dir_all(root.join("out")).map_err(|error| format!("the folder out/: {error}"))?;
    // A picture of an earlier run must not pass for this one's.
    if picture.exists() {
        std::fs::remove_file(&picture).map_err(|error| format!("{}: {error}", picture.display()))?;
    }
    let mut command =
        crate::optimised(&["--package", "stridewise", "--example", "hillshade"], "examples/hillshade")?;
    command.args(ARGUMENTS);
    println!("{}", crate::steps::written(&command));
    crate::run_to_end(&mut command)?;
    match std::fs::metadata(&picture) {
        Ok(file) if file.len() > 0 => {
            println!("\nThe picture is in {}", picture.display());
            Ok(())
        }
        _ => Err(format!("the example has left no picture in {}", picture.display())),
    }
}
