//! System packages and toolchain components that a task needs, and their installation.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

/// The Debian packages behind the feature `hwloc`.
const HWLOC_PACKAGES: &[&str] = &["libhwloc-dev", "libudev-dev", "pkg-config"];

/// The Debian packages behind the feature `mpfr` of the accuracy tool.
const MPFR_PACKAGES: &[&str] = &["libgmp-dev", "libmpfr-dev"];
/// The cargo feature that needs [`MPFR_PACKAGES`].
pub(crate) const MPFR_FEATURE: &str = "stridewise-ulp/mpfr";
/// The Debian packages behind the tests of the C interface.
const C_PACKAGES: &[&str] = &["gcc", "libc6-dev", "pkg-config"];
/// The Debian packages behind the fuzzer.
const CPP_PACKAGES: &[&str] = &["g++"];
/// The Debian packages behind the walk through the site: a browser, and a font.
const CHROMIUM_PACKAGES: &[&str] = &["chromium", "fonts-dejavu-core"];
/// The Debian packages behind the differential test.
const NUMPY_PACKAGES: &[&str] = &["python3", "python3-numpy"];

/// Whether the feature `hwloc` can be built here, whatever the distribution calls its packages.
pub(crate) fn have_hwloc() -> bool {
    succeeds("pkg-config", ["--exists", "hwloc", "libudev"])
}

/// Installs what the feature `hwloc` needs, where it is missing.
///
/// # Errors
/// A message that says what is missing and why it could not be installed.
pub(crate) fn ensure_hwloc() -> Result<(), String> {
    let by_hand = format!(
        "install the packages of your distribution by hand (Debian, Ubuntu: {}; Fedora: hwloc-devel systemd-devel \
         pkgconf-pkg-config), or leave the steps out that need them with `--without libraries`",
        HWLOC_PACKAGES.join(" ")
    );
    let said = ["hwloc and libudev are missing", "pkg-config does not find hwloc and libudev", &by_hand];
    ensure(have_hwloc, HWLOC_PACKAGES, said)
}

/// Whether the feature `mpfr` can be built here: MPFR's file for pkg-config asks for GMP's.
fn have_mpfr() -> bool {
    succeeds("pkg-config", ["--exists", "mpfr", "gmp"])
}

/// Installs what the feature `mpfr` needs, where it is missing.
///
/// # Errors
/// A message that says what is missing and why it could not be installed.
pub(crate) fn ensure_mpfr() -> Result<(), String> {
    let packages = [MPFR_PACKAGES, &["pkg-config"]].concat();
    let by_hand = format!(
        "install the packages of your distribution by hand (Debian, Ubuntu: {}; Fedora: gmp-devel mpfr-devel), or leave the steps \
         out that need them with `--without libraries`",
        packages.join(" ")
    );
    let said = ["GMP and MPFR are missing", "pkg-config does not find GMP and MPFR", &by_hand];
    ensure(have_mpfr, &packages, said)
}

/// Whether C programs can be built against installed libraries.
fn have_c() -> bool {
    succeeds("cc", ["--version"]) && succeeds("pkg-config", ["--version"])
}

/// Installs what the tests of the C interface need, where it is missing.
///
/// # Errors
/// A message that says what is missing and why it could not be installed.
pub(crate) fn ensure_c() -> Result<(), String> {
    let by_hand = format!(
        "install a C compiler and pkg-config by hand (Debian, Ubuntu: {}), or leave the steps out that need them with \
         `--without c-compiler`",
        C_PACKAGES.join(" ")
    );
    let said = ["cc or pkg-config is missing", "cc and pkg-config do not start", &by_hand];
    ensure(have_c, C_PACKAGES, said)
}

/// Installs what the fuzzer is built by, where it is missing.
///
/// # Errors
/// A message that says what is missing and why it could not be installed.
pub(crate) fn ensure_cpp() -> Result<(), String> {
    let there = || std::env::var_os("CXX").is_some() || succeeds("c++", ["--version"]);
    let by_hand = "install a C++ compiler by hand (Debian, Ubuntu: g++; Fedora: gcc-c++), name one in the variable CXX, or \
                   leave the step out that needs it with `--without fuzz`";
    ensure(there, CPP_PACKAGES, ["c++ is missing", "c++ does not start", by_hand])
}

/// Installs the browser that the site is looked at with, where there is none.
///
/// # Errors
/// A message that says what is missing and why it could not be installed.
pub(crate) fn ensure_chromium() -> Result<(), String> {
    let there = || ["chromium", "google-chrome"].iter().any(|browser| succeeds(browser, ["--version"]));
    let by_hand = "install Chromium by hand (Debian, Fedora: chromium), or leave the step out that needs it with `--without chromium`";
    ensure(there, CHROMIUM_PACKAGES, ["there is no Chromium", "Chromium does not start", by_hand])
}

/// Whether Python has NumPy: the one of the path, or the system's, which the packages are for. The test looks there too.
fn have_numpy() -> bool {
    ["python3", "/usr/bin/python3"].iter().any(|python| succeeds(python, ["-c", "import numpy"]))
}

/// Installs what the differential test needs, where it is missing.
///
/// # Errors
/// A message that says what is missing and why it could not be installed.
pub(crate) fn ensure_numpy() -> Result<(), String> {
    let by_hand = "install NumPy by hand (Debian, Ubuntu: python3-numpy; elsewhere: pip install numpy), or leave the \
                   test out with `--without numpy`";
    ensure(have_numpy, NUMPY_PACKAGES, ["python3 has no NumPy", "python3 does not find NumPy", by_hand])
}

/// Installs what runs a process as on an older processor, where it is missing.
///
/// # Errors
/// A message that says what is missing and why it could not be installed.
pub(crate) fn ensure_emulator() -> Result<(), String> {
    if !cfg!(target_arch = "x86_64") {
        return Err("there are none for this processor".to_owned());
    }
    let by_hand = "install QEMU's user mode by hand (Debian: qemu-user; Fedora: qemu-user)";
    let there = || succeeds("qemu-x86_64", ["--version"]);
    ensure(there, &["qemu-user"], ["qemu-x86_64 is missing", "qemu-x86_64 does not start", by_hand])
}

/// Installs packages where something is not there. Said are what is missing, what is so where they do not help, and what to do by hand.
///
/// # Errors
/// A message of these.
pub(crate) fn ensure(there: impl Fn() -> bool, packages: &[&str], said: [&str; 3]) -> Result<(), String> {
    if there() {
        return Ok(());
    }
    let [missing, still, by_hand] = said;
    install(packages).map_err(|why| format!("{missing}, and {why}; {by_hand}"))?;
    if there() { Ok(()) } else { Err(format!("{still}; {by_hand}")) }
}

/// Installs Debian packages without asking anything.
///
/// # Errors
/// A message that says why they could not be installed.
pub(crate) fn install(packages: &[&str]) -> Result<(), String> {
    if !succeeds("apt-get", ["--version"]) {
        return Err("there is no apt-get here".to_owned());
    }
    let prefix: &[&str] = if succeeds_with_output("id", ["-u"], "0") {
        &[]
    } else if succeeds("sudo", ["-n", "true"]) {
        &["sudo", "-n"]
    } else {
        return Err("this user is not root and has no sudo without a password".to_owned());
    };
    let apt = |arguments: &[&str]| {
        let words = [prefix, &["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"], arguments].concat();
        let mut command = Command::new(words[0]);
        crate::run_to_end(command.args(&words[1..]).stdin(Stdio::null()))
    };
    println!("installing {}", packages.join(" "));
    // The lists may be stale and the packages there all the same: only the installation decides.
    let updated = apt(&["update", "--quiet"]);
    apt(&[&["install", "--yes", "--quiet", "--no-install-recommends"], packages].concat()).map_err(|error| {
        match updated {
            Ok(()) => error,
            Err(update) => format!("{update} (is there a network?), then {error}"),
        }
    })
}

/// Makes sure that a component of the toolchain is there: `clippy`, `rustfmt`.
///
/// # Errors
/// A message that says how to install it.
pub(crate) fn ensure_component(component: &str) -> Result<(), String> {
    let subcommand = if component == "rustfmt" { "fmt" } else { component };
    let there = || {
        let mut command = crate::cargo();
        command.args([subcommand, "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
        crate::run_to_end(&mut command).is_ok()
    };
    if there() {
        return Ok(());
    }
    println!("installing {component}");
    let added = crate::run_to_end(Command::new("rustup").args(["component", "add", component]));
    if there() {
        return Ok(());
    }
    let why = added.err().unwrap_or_default();
    Err(format!(
        "cargo {subcommand} is not there ({why}); install it with `rustup component add {component}`"
    ))
}

/// Whether rustup has a toolchain.
pub(crate) fn have_toolchain(toolchain: &str) -> bool {
    let listed = Command::new("rustup").args(["toolchain", "list"]).stderr(Stdio::null()).output();
    listed.is_ok_and(|output| {
        let text = String::from_utf8_lossy(&output.stdout);
        text.lines().any(|line| line.strip_prefix(toolchain).is_some_and(|rest| rest.starts_with(['-', '.'])))
    })
}

/// The target that this machine compiles for, `x86_64-unknown-linux-gnu`.
///
/// # Errors
/// `rustc` cannot be run.
pub(crate) fn host_target() -> Result<String, String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("-vV").output().map_err(|error| format!("rustc -vV: {error}"))?;
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .find_map(|line| line.strip_prefix("host: ").map(str::to_owned))
        .ok_or_else(|| "rustc -vV names no host".to_owned())
}

/// Whether a program can be run and succeeds.
pub(crate) fn succeeds<A: AsRef<OsStr>>(
    program: impl AsRef<OsStr>,
    arguments: impl IntoIterator<Item = A>,
) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn succeeds_with_output<const N: usize>(program: &str, arguments: [&str; N], expected: &str) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|output| {
        output.status.success() && String::from_utf8_lossy(&output.stdout).trim() == expected
    })
}
