//! `cargo xtask test`: everything that has to pass before a change is taken.

use std::collections::BTreeSet;

use clap::{Arg, ArgAction, ArgMatches};

use crate::packages::{self, host_target};
use crate::programs::Program;
use crate::steps::{Step, run_all};
use crate::{cross, matrix, nvrtc, opencl, python};

/// The oldest toolchain that must build the library; `rust-version` of the workspace.
const OLDEST_TOOLCHAIN: &str = "1.89";
/// The features that the tests are built with: all that need no system package, those for tests too.
const FEATURES: &str = "stridewise/ndarray,stridewise/approx,stridewise/serde,stridewise/graph-files,stridewise-faults/injection";
/// What is hardly optimised in steps that are about something else than kernels and need a build of their own, which is most of
/// their time: of kernels, one level.
const PLAIN: &[&str] =
    &["stridewise-core", "stridewise-host", "stridewise-conformance", "stridewise-exchange", "proptest"];
const PLAIN_PRODUCTS: &[&str] = &["gemm-common", "gemm-f32", "gemm-f64", "gemm-c32", "gemm-c64"];

/// Cargo's arguments for such a step.
fn small() -> String {
    let tests = PLAIN.iter().map(|package| ("test", package));
    let all = tests.chain(PLAIN_PRODUCTS.iter().map(|package| ("dev", package)));
    all.map(|(profile, package)| format!("--config profile.{profile}.package.{package}.opt-level=0 "))
        .chain(["--no-default-features".to_owned()])
        .collect()
}

/// Cargo's arguments for tests. All steps choose the same packages and features, so that they share one build.
pub(crate) fn tests() -> String {
    format!("test --locked --workspace --features {FEATURES}")
}

/// Runs a test that does something only where a variable is set, without OpenCL devices.
fn test_program(name: &str, variable: &str) -> Result<(), String> {
    let mut program = Program::of(name)?.command();
    crate::run_to_end(program.env(variable, "1").env(opencl::VENDORS, opencl::no_vendors()))
}

/// The template's device runs one case of so many: its loops go over scalars.
const TEMPLATE_SAMPLE: &str = "50";

/// The crates that are published, in the order in which they are: each behind those that it needs.
pub(crate) const CRATES: &[&str] = &[
    "stridewise-core",
    "stridewise-macros",
    "stridewise-native",
    "stridewise-host",
    "stridewise-emit",
    "stridewise-cuda",
    "stridewise-opencl",
    "stridewise-null",
    "stridewise-emulated",
    "stridewise-numerics",
    "stridewise",
    "stridewise-conformance",
    "stridewise-exchange",
    "stridewise-c",
];

/// Files without which no package is published.
const PUBLISHED: &[&str] = &["Cargo.toml", "LICENSE-APACHE", "LICENSE-MIT", "README.md"];
/// One of these is the root of each.
const ROOTS: &[&str] = &["src/lib.rs", "lib.rs"];

pub(crate) const COMMAND: crate::Command = crate::Command {
    name: "test",
    about: "Install what the checks need and run all of them",
    arguments: |command| choice(command).arg(flag("quick", "Leave the slow steps out")),
    run: |arguments| run_chosen(steps()?, arguments, arguments.get_flag("quick")),
};

/// The arguments that choose among steps.
pub(crate) fn choice(command: clap::Command) -> clap::Command {
    let names = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name("NAME").action(ArgAction::Append).help(help)
    };
    command
        .arg(flag("list", "Print the steps instead of running them"))
        .arg(names("only", "Run this step alone; may be given several times"))
        .arg(names("without", "Leave out this step and the steps that need it; may be given several times"))
}

pub(crate) fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).help(help).action(ArgAction::SetTrue)
}

/// The steps, in an order that finds cheap failures first and builds each set of features only once: the features of a
/// build are part of what cargo caches it under, so that they share a target directory; the sanitizer has its own.
fn steps() -> Result<Vec<Step>, String> {
    let (target, small) = (host_target()?, small());
    let mut steps = vec![
        Step::call("toolchain", "the components clippy and rustfmt, added where they are missing", || {
            packages::ensure_component("rustfmt")?;
            packages::ensure_component("clippy")
        }),
        Step::call(
            "libraries",
            "the system packages of the features hwloc and mpfr, installed where they are missing",
            || {
                packages::ensure_hwloc()?;
                packages::ensure_mpfr()
            },
        ),
        Step::call("crates", "the crates of Cargo.lock, fetched where they are missing", fetch),
        Step::cargo("format", "the style of the code", "fmt --all --check").needs("toolchain"),
        Step::call("package", "the licences and the README are part of every crate that is published", package),
        Step::cargo(
            "lints",
            "clippy, without features",
            "clippy --locked --workspace --all-targets -- -D warnings",
        )
        .only_quick()
        .needs("toolchain"),
        Step::cargo(
            "lints-features",
            "clippy, with features",
            &format!(
                "clippy --locked --workspace --all-targets --features stridewise/hwloc,{},{FEATURES} -- -D warnings",
                packages::MPFR_FEATURE
            ),
        )
        .slow()
        .needs("libraries"),
        Step::cargo(
            "documentation",
            "the documentation builds, and its links lead somewhere",
            "doc --locked --workspace --no-deps",
        )
        .with("RUSTDOCFLAGS", "-D warnings"),
        Step::call("api", "the public names of the crate are those that the repository lists", crate::api::compare)
            .needs("documentation"),
        Step::call(
            "c-compiler",
            "a C compiler and pkg-config, installed where they are missing",
            packages::ensure_c,
        ),
        Step::cargo(
            "tests",
            "all tests, those in the documentation, of the C interface and of the inputs that the fuzzer has found too",
            // All failures of a run, and not the first alone.
            &format!("{} --no-fail-fast", tests()),
        )
        // Of the matrix on the host a sample; without this variable all of it is run, which takes ten minutes.
        .sample(matrix::SAMPLE, "16"),
        Step::call(
            "faults",
            "every n-th allocation, vector, thread and call of a runtime fails: nothing is lost, stuck or wrong",
            || test_program("campaign", "STRIDEWISE_FAULTS"),
        )
        .slow(),
        Step::cargo(
            "interleavings",
            "signals, tracks, forks, pools and the registry in hundreds of orders of three threads; and hwloc reads the same \
             processors, caches and nodes as the system's files have",
            // Without the crates that have locks and threads of the system's. What hwloc reads would need a build of its own else.
            &format!(
                "test --locked {small} --package stridewise-core --package stridewise-host --package stridewise-null \
                 --features stridewise-host/interleavings,stridewise-null/interleavings,stridewise-host/hwloc \
                 --lib --test interleavings -- interleavings topology"
            ),
        )
        // A quarter of them: without this variable, thousands.
        .sample("STRIDEWISE_INTERLEAVINGS", "500")
        .slow()
        .needs("libraries"),
        Step::call("template", "the template of a backend passes a sample of the matrix, from outside the workspace", template)
            .by_name(),
        Step::call("pocl", "PoCL, for the matrix, installed where it is missing", || opencl::POCL.ensure())
            .slow(),
        Step::call("matrix-pocl", "a sample of the matrix on PoCL, an OpenCL runtime for processors", || {
            matrix::on_runtime(&opencl::POCL)
        })
        .slow()
        .needs("pocl"),
        Step::call("intel-opencl", "Intel's OpenCL runtime, installed where it is missing", || {
            opencl::INTEL.ensure()
        })
        .slow(),
        Step::call("matrix-intel", "a sample of the matrix on Intel's OpenCL runtime for processors", || {
            matrix::on_runtime(&opencl::INTEL)
        })
        .slow()
        .needs("intel-opencl"),
        Step::call("kernels-intel", "every form of the OpenCL backend's kernels, on Intel's runtime", || {
            matrix::kernels_on(&opencl::INTEL)
        })
        // Intel's compiler takes ten minutes over them.
        .by_name()
        .needs("intel-opencl"),
        Step::call("nvrtc", "NVRTC, the compiler of CUDA C++, installed where it is missing", nvrtc::ensure).slow(),
        Step::call("texts-cuda", "a sample of the kernels' texts is compiled by NVRTC, for three capabilities", nvrtc::texts)
            .slow()
            .needs("nvrtc"),
        Step::call("oclgrind", "Oclgrind, for the matrix, installed where it is missing", || {
            opencl::OCLGRIND.ensure()
        })
        .slow(),
        Step::call(
            "matrix-oclgrind",
            "a sample of the matrix in float32 on Oclgrind, which reports accesses outside of buffers and data races",
            || matrix::on_runtime(&opencl::OCLGRIND),
        )
        .slow()
        .needs("oclgrind"),
        Step::call("kernel-c", "a kernel from a source, launched by a C program, on PoCL", || {
            matrix::c_kernel_on(&opencl::POCL)
        })
        .slow()
        .needs("pocl"),
        Step::call(
            "install-c",
            "the C library, installed, is found by pkg-config and runs programs",
            crate::install_c::trial,
        )
        .slow()
        .needs("c-compiler"),
        Step::call(
            "numpy",
            "NumPy, for the differential test, installed where it is missing",
            packages::ensure_numpy,
        )
        .slow(),
        Step::call("differential", "thousands of random cases against NumPy, on every device of the host", || {
            test_program("numpy", "STRIDEWISE_NUMPY")
        })
        .slow()
        .needs("numpy"),
        Step::cargo(
            "hillshade",
            "the main example against its reference, optimised",
            "test --locked --release --package stridewise --test hillshade",
        )
        // Each run has it among the tests, and optimised by its picture.
        .by_name(),
        Step::cargo(
            "tests-ulp",
            "the accuracy tool measures errors right",
            &format!(
                "test --locked --release --package stridewise-ulp --features {} --bin ulp",
                packages::MPFR_FEATURE
            ),
        )
        // What it measures with is a build of the engine of its own; a sample of the functions is among the host's tests.
        .by_name()
        .needs("libraries"),
        Step::call("ulp", "the error of every elementwise function, of a part of the arguments", || {
            // What OpenCL devices compute is not measured here.
            let mut program = crate::ulp::program()?;
            crate::run_to_end(program.arg("--quick").env(opencl::VENDORS, opencl::no_vendors()))
        })
        .by_name()
        .needs("libraries"),
        Step::call(
            "wheel",
            "the Python module's wheel, built and installed into an environment of its own",
            python::build_to_test,
        )
        .slow(),
        Step::call("pytest", "the tests of the Python module, against NumPy", python::test).slow().needs("wheel"),
        Step::call(
            "process-intel",
            "the ends and the forks of processes with work pending on Intel's runtime, which aborts where it can",
            || {
                opencl::INTEL.ensure()?;
                python::test_processes_on(&opencl::INTEL)
            },
        )
        .slow()
        .needs("wheel"),
        Step::call("book", "the documentation site, with warnings as errors", crate::book::build).slow(),
        Step::call("chromium", "Chromium, for the site, installed where it is missing", packages::ensure_chromium).slow(),
        Step::call("site", "every page in a browser, for a desk and a phone, light and dark; every link", crate::book::walk)
            .slow()
            .needs("chromium"),
        Step::call("demo", "the main example writes its picture", crate::demo::show).slow(),
        // One build for both: what a plain build has, and the sanitizer.
        Step::cargo(
            "address-sanitizer",
            "without features, system packages and levels of instructions, what a program sees is the same; no leak and no use \
             after free when queues, events and arrays go in any order; and tens of thousands of tensors of any fields: each is an \
             error or stays inside its memory",
            &format!(
                "test {small} --locked --target {target} --target-dir target/address-sanitizer --package stridewise \
                 --features stridewise/npy --test api --test cheat_sheet --test usm_ndarray --test npy --test lifetimes \
                 --package stridewise-exchange --lib"
            ),
        )
        // A build script that asks for a system package asks pkg-config; here it would get no answer.
        .with("PKG_CONFIG", "pkg-config-must-not-be-needed")
        // The sanitizers are not stable options of the compiler yet; this variable lets a stable one have them.
        .with("RUSTC_BOOTSTRAP", "1")
        .with("RUSTFLAGS", "-Zsanitizer=address")
        .sample("STRIDEWISE_CASES", "25000")
        .slow(),
    ];
    steps.extend([
        Step::call(
            "aarch64",
            "tests of core and of the host's kernels on 64-bit Arm, by QEMU, on two processors",
            || cross::ARM.test(),
        )
        .by_name(),
        Step::call("musl", "the same on Linux without glibc", || cross::MUSL.test()).by_name(),
        Step::call("i686", "the same on 32-bit x86", || cross::X86_32.test()).by_name(),
        Step::call("riscv64", "the same on 64-bit RISC-V, by QEMU", || cross::RISC_V.test()).by_name(),
    ]);
    steps.push(
        Step::cargo(
            "thread-sanitizer",
            "no data race where queues, events and arrays go in any order, under load, and in a sample of the matrix",
            &format!(
                // The standard library, too, is built for it: else what it orders is not known.
                "test -Zbuild-std --config profile.test.package.stridewise-host.opt-level=0 --locked --target {target} \
                 --target-dir target/thread-sanitizer --package stridewise --test lifetimes --test load --test matrix"
            ),
        )
        .with("RUSTC_BOOTSTRAP", "1")
        .with("RUSTFLAGS", "-Zsanitizer=thread")
        .sample(matrix::SAMPLE, "48")
        .by_name(),
    );
    // Without that toolchain, clippy's `incompatible_msrv` looks after the standard library's part of the promise.
    if packages::have_toolchain(OLDEST_TOOLCHAIN) {
        let about = "the library builds with the oldest toolchain it promises";
        steps.push(Step::call("oldest-toolchain", about, oldest_toolchain).slow());
    }
    // What these compute is the same whatever OpenCL devices a machine has, and takes long on those of a runtime for
    // processors; the steps that are about them find them all the same.
    let alone = opencl::no_vendors();
    let quiet = |step: Step| if step.computes() { step.with(opencl::VENDORS, alone.clone()) } else { step };
    Ok(steps.into_iter().map(quiet).collect())
}

/// Runs the steps that [`choice`]'s arguments leave, or lists them.
///
/// # Errors
/// A step failed, or there is none of a name.
pub(crate) fn run_chosen(steps: Vec<Step>, arguments: &ArgMatches, quick: bool) -> Result<(), String> {
    let names = |id: &str| arguments.get_many::<String>(id).unwrap_or_default().cloned().collect::<Vec<_>>();
    let steps = chosen(steps, &names("only"), &names("without"), quick)?;
    if arguments.get_flag("list") {
        let width = steps.iter().map(|step| step.name.len()).max().unwrap_or(0);
        for step in &steps {
            let when = match step {
                Step { by_name: true, .. } => " (by name only)",
                Step { slow: true, .. } => " (slow)",
                Step { only_quick: true, .. } => " (of a quick run)",
                _ => "",
            };
            println!("{:width$}  {}{when}", step.name, step.about);
        }
        return Ok(());
    }
    run_all(&steps)
}

/// The steps that the arguments leave.
fn chosen(steps: Vec<Step>, only: &[String], without: &[String], quick: bool) -> Result<Vec<Step>, String> {
    let known: BTreeSet<&str> = steps.iter().map(|step| step.name).collect();
    if let Some(name) = only.iter().chain(without).find(|name| !known.contains(name.as_str())) {
        let known: Vec<_> = known.into_iter().collect();
        return Err(format!("there is no step `{name}`; the steps are {}", known.join(", ")));
    }
    let named = |list: &[String], name: &str| list.iter().any(|entry| entry == name);
    Ok(steps
        .into_iter()
        .filter(|step| {
            let wanted = if only.is_empty() {
                !step.by_name && if quick { !step.slow } else { !step.only_quick }
            } else {
                named(only, step.name)
            };
            wanted && !named(without, step.name) && !step.needs.is_some_and(|needed| named(without, needed))
        })
        .collect())
}

/// Fetches the crates of the lock file, so that a missing network is one clear message.
fn fetch() -> Result<(), String> {
    let target = host_target()?;
    let quiet = |offline: bool| {
        let mut command = crate::cargo();
        command.args(["fetch", "--locked", "--target", &target]);
        if offline {
            command.arg("--offline").stderr(std::process::Stdio::null());
        }
        crate::run_to_end(&mut command)
    };
    if quiet(true).is_ok() {
        return Ok(());
    }
    quiet(false).map_err(|error| {
        format!(
            "{error}: the crates of Cargo.lock are not on this machine and could not be fetched; without a network, \
             run `cargo fetch --locked` where there is one and bring cargo's registry folder along"
        )
    })
}

/// Asks cargo for the files of the packages, and makes the packages.
pub(crate) fn package() -> Result<(), String> {
    for package in CRATES {
        let output = crate::cargo()
            .args(["package", "--list", "--allow-dirty", "--offline", "--package", package])
            .output()
            .map_err(|error| format!("cargo package could not be started: {error}"))?;
        if !output.status.success() {
            return Err(format!("cargo package --list: {}", String::from_utf8_lossy(&output.stderr)));
        }
        let listing = String::from_utf8_lossy(&output.stdout).replace('\\', "/");
        let listed: BTreeSet<&str> = listing.lines().map(str::trim).collect();
        let missing: Vec<&str> = PUBLISHED.iter().filter(|file| !listed.contains(*file)).copied().collect();
        if !missing.is_empty() {
            return Err(format!("the package {package} lacks {}", missing.join(", ")));
        }
        if !ROOTS.iter().any(|root| listed.contains(root)) {
            return Err(format!("the package {package} lacks its sources, {}", ROOTS.join(" or ")));
        }
        // Cargo adds one such file itself.
        let hidden = |file: &&&str| file.starts_with('.') && **file != ".cargo_vcs_info.json";
        if let Some(file) = listed.iter().find(hidden) {
            return Err(format!("the package {package} has {file}, which is of use in the repository alone"));
        }
        println!("{package}: {} files, all of {} among them", listed.len(), PUBLISHED.join(", "));
    }
    // All of them together, each from the packages of those before it: links that lead nowhere, and crates that wait for each other.
    let mut command = crate::cargo();
    command.args(["package", "--quiet", "--offline", "--allow-dirty", "--no-verify", "--locked"]);
    command.args(["--target-dir", "target/package"]);
    command.args(CRATES.iter().flat_map(|package| ["--package", package]));
    crate::run_to_end(&mut command)
}

/// Builds the template of a backend, which is no part of the workspace, and runs a sample of the matrix on its device.
fn template() -> Result<(), String> {
    let folder = crate::root().join("examples/backend");
    // The versions of packages are those of the repository: it has fetched them.
    let copied = std::fs::copy(crate::root().join("Cargo.lock"), folder.join("Cargo.lock"));
    copied.map_err(|error| format!("Cargo.lock, to {}: {error}", folder.display()))?;
    crate::run_to_end(
        crate::cargo().args(["fmt", "--check", "--manifest-path"]).arg(folder.join("Cargo.toml")),
    )?;
    let mut command = crate::cargo();
    command.args(["test", "--offline", "--test", "conformance", "--quiet"]);
    command.arg("--manifest-path").arg(folder.join("Cargo.toml"));
    command.arg("--target-dir").arg(crate::root().join("target/template"));
    // Of ten thousand cases; what fails is named.
    command.env("STRIDEWISE_MATRIX_SAMPLE", TEMPLATE_SAMPLE);
    crate::run_to_end(&mut command)
}

/// Checks the library and its backends with the oldest toolchain.
fn oldest_toolchain() -> Result<(), String> {
    let mut command = std::process::Command::new("rustup");
    command
        .args(["run", OLDEST_TOOLCHAIN, "cargo", "check", "--locked", "--package", "stridewise"])
        .args(["--target-dir", "target/oldest-toolchain"])
        .current_dir(crate::root())
        // Those of the running cargo would win over the named toolchain.
        .env_remove("CARGO")
        .env_remove("RUSTC")
        .env_remove("RUSTUP_TOOLCHAIN");
    crate::run_to_end(&mut command)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(only: &[&str], without: &[&str], quick: bool) -> Vec<&'static str> {
        let owned = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
        let steps = chosen(steps().unwrap(), &owned(only), &owned(without), quick).unwrap();
        steps.iter().map(|step| step.name).collect()
    }

    #[test]
    fn needs_name_earlier_steps_and_names_are_unique() {
        let steps = steps().unwrap();
        for (position, step) in steps.iter().enumerate() {
            assert!(steps[..position].iter().all(|earlier| earlier.name != step.name), "{}", step.name);
            if let Some(needed) = step.needs {
                assert!(steps[..position].iter().any(|earlier| earlier.name == needed), "{}", step.name);
            }
        }
    }

    #[test]
    fn arguments_choose_steps() {
        assert_eq!(names(&["tests"], &[], false), ["tests"]);
        assert_eq!(names(&["wheel"], &[], true), ["wheel"], "a named step runs, slow or not");
        assert_eq!(names(&["thread-sanitizer"], &[], false), ["thread-sanitizer"]);
        assert!(!names(&[], &[], false).contains(&"thread-sanitizer"));
        assert!(!names(&[], &[], true).contains(&"wheel"));
        assert!(
            names(&[], &[], true).contains(&"lints") && !names(&[], &[], true).contains(&"lints-features")
        );
        assert!(
            names(&[], &[], false).contains(&"lints-features") && !names(&[], &[], false).contains(&"lints")
        );
        assert!(names(&[], &[], false).contains(&"wheel"));
        let without = names(&[], &["libraries"], false);
        assert!(!without.iter().any(|name| ["lints-features", "tests-ulp"].contains(name)), "{without:?}");
        assert!(chosen(steps().unwrap(), &["nothing".to_owned()], &[], false).is_err());
    }

    #[test]
    fn the_oldest_toolchain_is_the_declared_one() {
        let manifest = std::fs::read_to_string(crate::root().join("Cargo.toml")).unwrap();
        assert!(manifest.contains(&format!("rust-version = \"{OLDEST_TOOLCHAIN}\"")));
    }
}
