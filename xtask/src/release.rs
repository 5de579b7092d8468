//! `cargo xtask release --dry-run`: everything of a release but what cannot be taken back.
//!
//! What is published lies in `target/dist` afterwards: the packages of the crates, wheel and source for Python, the list of what is
//! linked in (for programs, and with the licences' texts for people), and the checksums of all of it. Each step can be run by its name.

pub(crate) mod licences;
mod outside;
#[cfg(test)]
mod recipes;
mod sbom;
mod versions;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::ArgMatches;
use sha2::{Digest, Sha256};

use crate::steps::Step;
use crate::test::{choice, flag, run_chosen};
use crate::{python, wheel};

/// The checksums, as `sha256sum --check` reads them.
const CHECKSUMS: &str = "SHA256SUMS";

pub(crate) const COMMAND: crate::Command = crate::Command {
    name: "release",
    about: "Rehearse a release: make and check everything that is published, without uploading it",
    arguments: |command| {
        choice(command).arg(flag("dry-run", "Do everything but upload, tag and write to the repository"))
    },
    run: |arguments: &ArgMatches| {
        if !arguments.get_flag("dry-run") && !arguments.get_flag("list") {
            return Err("a release is rehearsed by `--dry-run`; what is uploaded is uploaded by hand, as \
                        CONTRIBUTING.md says in *A release*"
                .to_owned());
        }
        run_chosen(steps(), arguments, false)
    },
};

pub(crate) const THIRD_PARTY: crate::Command = crate::Command {
    name: "third-party",
    about: "Compare the licences of what is linked in with the file THIRD_PARTY",
    arguments: |command| command.arg(flag("write", "Write the file instead")),
    run: |arguments: &ArgMatches| {
        if arguments.get_flag("write") { licences::write() } else { licences::compare() }
    },
};

fn steps() -> Vec<Step> {
    vec![
        Step::call("version", "one version everywhere, which no tag has yet", versions::version),
        Step::call("changelog", "what is released is written down", versions::changelog),
        Step::call("checkout", "nothing is changed that is not committed", versions::checkout),
        Step::cargo("documentation", "the documentation builds", "doc --locked --workspace --no-deps"),
        Step::call(
            "api",
            "the public names are those of the listing, and break the last release as the version says",
            || {
                crate::api::compare()?;
                versions::breaks()
            },
        )
        .needs("documentation"),
        Step::call("folder", "a new folder for what is published", new_folder),
        Step::call("third-party", "the licences of everything that is linked in", || {
            licences::compare()?;
            copy(&crate::root().join(licences::FILE))
        })
        .needs("folder"),
        Step::call("sbom", "the list of everything that is linked in, in CycloneDX's form", || {
            write(&format!("stridewise-{}.cdx.json", env!("CARGO_PKG_VERSION")), &sbom::made()?)
        })
        .needs("folder"),
        Step::call("packages", "the packages of all crates, in order", || {
            crate::test::package()?;
            let made = outside::packages()?;
            made.iter().try_for_each(|file| copy(file))
        })
        .needs("folder"),
        Step::call(
            "outside",
            "a program outside of the workspace is built from the packages alone, and computes",
            outside::build,
        )
        .needs("packages"),
        Step::call(
            "least",
            "the oldest versions of other crates that the manifests allow suffice to compile the packages",
            outside::least,
        )
        .needs("packages"),
        Step::call("sdist", "the source of the Python module; pip alone builds and installs it", || {
            wheel::trial(&wheel::source()?, "source", "dev")
        })
        .needs("folder"),
        Step::call("wheel", "the wheel for glibc 2.28 and later, installed into a clean environment", || {
            wheel::trial(&wheel::wheel("release", wheel::Machine::This)?, "wheel", "release")
        })
        .needs("folder"),
        Step::call("wheel-aarch64", "the same for 64-bit Arm, built here; nothing installs it", || {
            wheel::wheel("release", wheel::Machine::Arm).map(drop)
        })
        .needs("folder"),
        Step::call("checksums", "the checksums of all files", checksums).needs("folder"),
    ]
}

/// Removes the files of an earlier run; environments stay.
fn new_folder() -> Result<(), String> {
    let folder = wheel::folder();
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for old in python::files_in(&folder, "") {
        std::fs::remove_file(&old).map_err(|error| format!("{}: {error}", old.display()))?;
    }
    Ok(())
}

fn copy(file: &Path) -> Result<(), String> {
    let to = wheel::folder().join(file.file_name().unwrap_or_default());
    std::fs::copy(file, &to).map(drop).map_err(|error| format!("{}: {error}", to.display()))
}

fn write(name: &str, text: &str) -> Result<(), String> {
    let path = wheel::folder().join(name);
    std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    println!("{} ({:.1} kB)", path.display(), text.len() as f64 / 1e3);
    Ok(())
}

/// Writes the checksums of all files that are published.
fn checksums() -> Result<(), String> {
    let mut files: Vec<PathBuf> = python::files_in(&wheel::folder(), "");
    files.retain(|file| !file.ends_with(CHECKSUMS));
    files.sort();
    if files.is_empty() {
        return Err(format!("there are no files in {}", wheel::folder().display()));
    }
    let mut lines = String::new();
    for file in &files {
        let bytes = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let _ = writeln!(lines, "{}  {name}", hexadecimal(&Sha256::digest(&bytes)));
    }
    print!("{lines}");
    write(CHECKSUMS, &lines)
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_the_standard() {
        // FIPS 180-4's example of one block.
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hexadecimal(&Sha256::digest(b"abc")), expected);
    }

    #[test]
    fn steps_need_earlier_ones() {
        let steps = steps();
        for (position, step) in steps.iter().enumerate() {
            let earlier = |needed| steps[..position].iter().any(|step| step.name == needed);
            assert!(step.needs.is_none_or(earlier), "{}", step.name);
        }
    }
}
