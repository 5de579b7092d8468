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
    let mut command = crate::cargo();
    command.args(["run", "--locked", "--release", "--example", "hillshade", "--"]).args(ARGUMENTS);
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    /// The packages that a package is built of, each with its features.
    fn built_of(arguments: &[&str]) -> BTreeMap<String, String> {
        let mut tree = crate::cargo();
        tree.args(["tree", "--locked", "--offline", "--prefix", "none", "--format", "{p}|{f}|"])
            .args(arguments);
        let output = tree.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let lines = String::from_utf8(output.stdout).unwrap();
        let parts = lines.lines().filter_map(|line| {
            let mut parts = line.split('|');
            Some((parts.next()?.to_owned(), parts.next()?.to_owned()))
        });
        parts.collect()
    }

    #[test]
    fn examples_and_the_module_share_a_build_of_the_engine() {
        let example = built_of(&["--package", "stridewise", "--edges", "normal,build,dev"]);
        let module = built_of(&["--package", "stridewise-python", "--edges", "normal,build"]);
        let backends = ["stridewise-host", "stridewise-opencl"];
        for (package, features) in &example {
            let other = module.get(package).unwrap_or(features);
            let is_facade = package.starts_with("stridewise v");
            assert!(
                is_facade || features == other,
                "{package}: {features} in examples, {other} in the module"
            );
        }
        for backend in backends {
            assert!(
                module.keys().any(|package| package.starts_with(backend)),
                "{backend} is no part of the module"
            );
        }
    }
}
