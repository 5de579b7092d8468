//! `cargo xtask install-c`: the C library, its header and its file for pkg-config, under a prefix.

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{Arg, ArgAction};

use crate::packages;

pub(crate) const COMMAND: crate::Command = crate::Command {
    name: "install-c",
    about: "Build the C library and install it with its header and its file for pkg-config",
    arguments: |command| {
        command
            .arg(
                Arg::new("prefix")
                    .long("prefix")
                    .value_name("DIR")
                    .default_value("/usr/local")
                    .value_parser(clap::value_parser!(PathBuf))
                    .help("Where to: lib, lib/pkgconfig and include are made there"),
            )
            .arg(
                Arg::new("debug")
                    .long("debug")
                    .action(ArgAction::SetTrue)
                    .help("Build without optimisation, for a quick trial"),
            )
    },
    run: |arguments| {
        let prefix = arguments.get_one::<PathBuf>("prefix").cloned().unwrap_or_default();
        let debug = arguments.get_flag("debug");
        let mut build = crate::cargo();
        build.args(["build", "--locked", "--package", "stridewise-c"]);
        if !debug {
            build.arg("--release");
        }
        install(&prefix, build, if debug { "debug" } else { "release" })
    },
};

/// The place of the C interface.
fn home() -> PathBuf {
    crate::root().join("ffi/c")
}

/// Runs a command that builds the library, which is then in a folder of this name, and copies it.
fn install(prefix: &Path, mut build: Command, folder: &str) -> Result<(), String> {
    let prefix = std::path::absolute(prefix).map_err(|error| format!("{}: {error}", prefix.display()))?;
    crate::run_to_end(&mut build)?;
    let built = crate::target_folder().join(folder);
    let (library, header) = (prefix.join("lib"), prefix.join("include"));
    let shared = format!("{}stridewise_c{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    for name in [shared.as_str(), "libstridewise_c.a"] {
        copy(&built.join(name), &library.join(name))?;
    }
    copy(&home().join("include/stridewise.h"), &header.join("stridewise.h"))?;
    let template = home().join("stridewise.pc.in");
    let text = std::fs::read_to_string(&template).map_err(|e| format!("{}: {e}", template.display()))?;
    // The version of the workspace, which is this program's too.
    let text =
        text.replace("@PREFIX@", &prefix.to_string_lossy()).replace("@VERSION@", env!("CARGO_PKG_VERSION"));
    write(&library.join("pkgconfig/stridewise.pc"), |path| std::fs::write(path, &text))
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    // Another file in its place: programs that run with the old one keep it.
    let _ = std::fs::remove_file(to);
    write(to, |to| std::fs::copy(from, to).map(drop))
}

/// Makes a file and the folder that it is in.
fn write(path: &Path, make: impl FnOnce(&Path) -> std::io::Result<()>) -> Result<(), String> {
    let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    folder.and_then(|()| make(path)).map_err(|error| format!("{}: {error}", path.display()))?;
    println!("installed {}", path.display());
    Ok(())
}

/// Installs into a folder of its own and builds the programs against that as a user would: by pkg-config, with all
/// warnings as errors, from shared and from static libraries.
///
/// # Errors
/// A message for the reader.
pub(crate) fn trial() -> Result<(), String> {
    packages::ensure_c()?;
    let prefix = crate::root().join("target/install-c");
    // The library that its tests are run with.
    let mut build = crate::cargo();
    build.args(crate::test::tests().split_whitespace()).arg("--no-run");
    install(&prefix, build, "debug/deps")?;
    for (program, source) in [("adopt", "examples/adopt.c"), ("hillshade", "examples/hillshade.c")] {
        for library in [[].as_slice(), &["--static"]] {
            build_and_run(&prefix, program, source, library)?;
        }
    }
    Ok(())
}

fn build_and_run(prefix: &Path, program: &str, source: &str, library: &[&str]) -> Result<(), String> {
    let output = Command::new("pkg-config")
        .args(["--cflags", "--libs"])
        .args(library)
        .arg("stridewise")
        .env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"))
        .output()
        .map_err(|error| format!("pkg-config could not be started: {error}"))?;
    if !output.status.success() {
        return Err(format!("pkg-config: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let flags = String::from_utf8_lossy(&output.stdout).into_owned();
    let program = prefix.join(program);
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&program).arg(home().join(source));
    // A linker takes the shared library where both are.
    let words = flags.split_whitespace().map(|word| match word {
        "-lstridewise_c" if !library.is_empty() => "-l:libstridewise_c.a",
        other => other,
    });
    compiler.args(words).arg("-lm");
    crate::run_to_end(&mut compiler)?;
    crate::run_to_end(
        Command::new(&program)
            .env("LD_LIBRARY_PATH", prefix.join("lib"))
            .env("STRIDEWISE_DEVICE", "host")
            .stdout(std::process::Stdio::null()),
    )
}
