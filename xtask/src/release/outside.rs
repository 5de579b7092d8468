//! A program outside of the workspace that has nothing of it but the packages: what somebody builds who has the crates from the
//! registry. A file that a package lacks, or a version of a crate of ours that a manifest lacks, is found here.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::test::CRATES;

/// Where `cargo package` puts what it makes.
const PACKAGES: &str = "target/package/package";

/// What is built: everything that is published, of which the program uses arrays of a backend that has registered itself, files,
/// and an operator.
const PROGRAM: &str = r#"//! What somebody writes who has the crates from the registry.
use stridewise::prelude::*;
use {stridewise_c as _, stridewise_conformance as _, stridewise_exchange as _};

fn main() -> stridewise::Result<()> {
    let x = Array::<f64>::linspace(0.0, 1.0, 100_001)?;
    let mean = (&x * &x + 1.0).sqrt().mean()?;
    // The integral of sqrt(x² + 1) from 0 to 1.
    assert!((mean - 1.147_793_574_696_319).abs() < 1e-5, "{mean}");
    println!("{mean} on {}", x.device());
    Ok(())
}
"#;

/// The packages, in the order in which they are published.
///
/// # Errors
/// One is missing.
pub(super) fn packages() -> Result<Vec<PathBuf>, String> {
    let file = |package: &&str| {
        let name = format!("{package}-{}.crate", env!("CARGO_PKG_VERSION"));
        // Of all packages at once, or of one: cargo has put them into either place.
        let places = [PACKAGES, "target/package"].map(|folder| crate::root().join(folder).join(&name));
        places.into_iter().find(|path| path.is_file()).ok_or_else(|| format!("cargo package made no {name}"))
    };
    CRATES.iter().map(file).collect()
}

/// The folder of the program, outside of the repository: what lies above a package may else lend it something.
fn folder() -> PathBuf {
    std::env::temp_dir().join(format!("stridewise-outside-{}", std::process::id()))
}

/// Builds the program of the packages, and runs it.
pub(super) fn build() -> Result<(), String> {
    in_folder(|folder| {
        unpack(folder, &manifest())?;
        // The versions that the tests have run with, and that are on this machine.
        let (lock, copy) = (crate::root().join("Cargo.lock"), folder.join("Cargo.lock"));
        std::fs::copy(lock, &copy).map_err(|error| format!("{}: {error}", copy.display()))?;
        let mut cargo = crate::cargo();
        cargo.current_dir(folder).args(["run", "--quiet", "--offline", "--target-dir"]);
        cargo.arg(crate::root().join("target/outside"));
        // Whatever devices there are: the program is about what it is built of.
        cargo.env("STRIDEWISE_DEVICE", "host");
        crate::run_to_end(&mut cargo)
    })
}

/// Checks the program and the packages with the oldest versions of other crates that the manifests allow: who has such a version in a
/// tree already gets no newer one. The crates that those need are the newest, as few of them name versions that suffice.
pub(super) fn least() -> Result<(), String> {
    in_folder(|folder| {
        unpack(folder, &with_members(&manifest()))?;
        let cargo = |words: &[&str]| {
            let mut cargo = crate::cargo();
            // The choice of versions is no stable option of cargo's yet; this variable lets a stable one have it.
            cargo.current_dir(folder).args(words).env("RUSTC_BOOTSTRAP", "1");
            cargo
        };
        crate::run_to_end(&mut cargo(&["generate-lockfile", "-Zdirect-minimal-versions"])).map_err(
            |error| {
                format!(
                    "{error}: a manifest names an older version than another crate, or there is no network"
                )
            },
        )?;
        let mut check = cargo(&["check", "--quiet", "--keep-going", "--locked", "--target-dir"]);
        check.arg(crate::root().join("target/least")).env_remove("RUSTC_BOOTSTRAP");
        crate::run_to_end(&mut check)
    })
}

/// Does something in the folder of the program, and removes it.
fn in_folder(act: impl Fn(&Path) -> Result<(), String>) -> Result<(), String> {
    let folder = folder();
    let done = act(&folder);
    let removed = std::fs::remove_dir_all(&folder);
    done?;
    removed.map_err(|error| format!("{}: {error}", folder.display()))
}

/// Writes the program, and the packages beside it.
fn unpack(folder: &Path, manifest: &str) -> Result<(), String> {
    let sources = folder.join("src");
    std::fs::create_dir_all(&sources).map_err(|error| format!("{}: {error}", sources.display()))?;
    for package in packages()? {
        crate::run_to_end(Command::new("tar").arg("-xzf").arg(package).arg("-C").arg(folder))?;
    }
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
    };
    write("Cargo.toml", manifest)?;
    write("src/main.rs", PROGRAM)
}

fn manifest() -> String {
    let version = env!("CARGO_PKG_VERSION");
    let mut manifest = String::from(
        "[package]\nname = \"outside\"\nversion = \"0.0.0\"\nedition = \"2024\"\npublish = false\n\n[workspace]\n\n\
         [profile.dev]\ndebug = false\n\n[dependencies]\n",
    );
    for package in ["stridewise", "stridewise-exchange", "stridewise-conformance", "stridewise-c"] {
        let _ = writeln!(manifest, "{package} = \"={version}\"");
    }
    // The registry does not have them yet.
    manifest += "\n[patch.crates-io]\n";
    for package in CRATES {
        let _ = writeln!(manifest, "{package} = {{ path = \"{package}-{version}\" }}");
    }
    manifest
}

/// The manifest with the packages as members: cargo looks for the oldest versions of members' own dependencies alone.
fn with_members(manifest: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let members: Vec<String> = CRATES.iter().map(|package| format!("\"{package}-{version}\"")).collect();
    manifest.replacen("[workspace]\n", &format!("[workspace]\nmembers = [{}]\n", members.join(", ")), 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_crate_of_ours_is_the_packages() {
        let manifest: toml::Table = manifest().parse().unwrap();
        let patched = manifest["patch"]["crates-io"].as_table().unwrap();
        assert!(patched.keys().map(String::as_str).eq({
            let mut names = CRATES.to_vec();
            names.sort_unstable();
            names
        }));
        let used = manifest["dependencies"].as_table().unwrap();
        assert!(used.keys().all(|name| patched.contains_key(name)));
        let manifest: toml::Table = with_members(&self::manifest()).parse().unwrap();
        assert_eq!(manifest["workspace"]["members"].as_array().unwrap().len(), CRATES.len());
    }
}
