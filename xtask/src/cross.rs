//! Core and the host's kernels for other processors and C libraries: built here, and run by this processor where it can, else by
//! QEMU's user mode; on 64-bit Arm on a processor that has everything and on one of 2015 that has neither atomic instructions nor
//! arithmetic of 16-bit floats.
//!
//! An emulator is some five times slower with integers and a hundred with vectors, so that of the long tests a sample is run, and the
//! longest are left out. It says nothing about speed.

use std::process::Command;

use crate::steps::given;
use crate::{matrix, packages, targets};

/// A target whose programs run here.
pub(crate) struct Machine {
    /// Its name for the compiler.
    pub(crate) target: &'static str,
    /// What links for it; none where Rust and this system suffice.
    linker: Option<&'static str>,
    /// What compiles C for it, for the tests of the C library; those are left out where there is none.
    compiler: Option<&'static str>,
    /// The Debian packages that have these and QEMU.
    packages: &'static [&'static str],
    /// How Fedora's are called, for who installs them by hand.
    fedora: &'static str,
    /// The compiler's flags for it.
    flags: &'static str,
    /// What runs its programs, if this processor does not.
    emulator: Option<Emulator>,
    /// One case of so many of the long tests.
    sample: &'static str,
}

/// QEMU's user mode.
struct Emulator {
    program: &'static str,
    /// Where Debian's compiler for the target has the C library.
    libraries: &'static str,
    /// The processors, by QEMU's names.
    processors: &'static [&'static str],
}

impl Emulator {
    /// The beginning of its command lines; the program that it runs follows.
    fn words(&self) -> [&'static str; 3] {
        [self.program, "-L", self.libraries]
    }
}

pub(crate) const ARM: Machine = Machine {
    target: "aarch64-unknown-linux-gnu",
    linker: Some("aarch64-linux-gnu-gcc"),
    compiler: None,
    packages: &["gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross", "qemu-user"],
    fedora: "; Fedora: gcc-aarch64-linux-gnu sysroot-aarch64-fc41-glibc qemu-user",
    flags: "",
    emulator: Some(Emulator {
        program: "qemu-aarch64",
        libraries: "/usr/aarch64-linux-gnu",
        processors: &["max", "cortex-a57"],
    }),
    sample: "400",
};

/// Linux without glibc: Rust brings the C library, and this processor runs it. Programs in C use the library, too.
pub(crate) const MUSL: Machine = Machine {
    target: "x86_64-unknown-linux-musl",
    linker: None,
    compiler: Some("musl-gcc"),
    packages: &["musl-tools"],
    fedora: "; Fedora: musl-gcc",
    flags: "",
    emulator: None,
    sample: "40",
};

/// Pointers of 32 bits, by x86's baseline of vectors. Its programs have the C library in them, so that a system of 64 bits runs them.
pub(crate) const X86_32: Machine = Machine {
    target: "i686-unknown-linux-gnu",
    linker: Some("i686-linux-gnu-gcc"),
    compiler: None,
    packages: &["gcc-i686-linux-gnu", "libc6-dev-i386-cross"],
    fedora: "",
    flags: "-Ctarget-feature=+crt-static",
    emulator: None,
    sample: "40",
};

/// A processor without vectors that the engine knows.
pub(crate) const RISC_V: Machine = Machine {
    target: "riscv64gc-unknown-linux-gnu",
    linker: Some("riscv64-linux-gnu-gcc"),
    compiler: None,
    packages: &["gcc-riscv64-linux-gnu", "libc6-dev-riscv64-cross", "qemu-user"],
    fedora: "",
    flags: "",
    emulator: Some(Emulator {
        program: "qemu-riscv64",
        libraries: "/usr/riscv64-linux-gnu",
        processors: &["rv64"],
    }),
    sample: "400",
};

/// What is about this machine's files, and what takes more than three minutes by itself, as it has no sample or computes by a
/// library of others: every float of a part of all, and large products.
const LEFT_OUT: &[&str] =
    &["topology", "accurate_on_a_sample", "larger_products", "products_of_every_dtype_and_layout"];

impl Machine {
    /// Where it is built, in cargo's folder.
    pub(crate) fn folder(&self) -> &'static str {
        self.target.split('-').next().unwrap_or(self.target)
    }

    /// What has to start here.
    fn tools(&self) -> impl Iterator<Item = &'static str> {
        let compilers = self.linker.into_iter().chain(self.compiler);
        compilers.chain(self.emulator.as_ref().map(|emulator| emulator.program))
    }

    /// Installs what links and runs its programs, and the standard library.
    ///
    /// # Errors
    /// A message that says what is missing and why it could not be installed.
    pub(crate) fn ensure(&self) -> Result<(), String> {
        targets::ensure(self.target)?;
        let tools = self.tools().collect::<Vec<_>>().join(" or ");
        let by_hand = format!(
            "install a linker for {} and QEMU's user mode by hand (Debian, Ubuntu: {}{})",
            self.target,
            self.packages.join(" "),
            self.fedora
        );
        let said = [&format!("{tools} is missing"), &format!("{tools} does not start"), &by_hand];
        let there = || self.tools().all(|tool| packages::succeeds(tool, ["--version"]));
        packages::ensure(there, self.packages, said.map(String::as_str))
    }

    /// A command of cargo's for it, which builds in a folder of its own.
    pub(crate) fn cargo(&self, name: &str) -> Command {
        let mut command = crate::cargo();
        command.args([name, "--locked", "--target", self.target]);
        command.arg("--target-dir").arg(crate::target_folder().join(self.folder()));
        let variable =
            |of: &str| format!("CARGO_TARGET_{}_{of}", self.target.replace('-', "_").to_uppercase());
        if let Some(linker) = self.linker {
            command.env(variable("LINKER"), linker);
        }
        if !self.flags.is_empty() {
            command.env(variable("RUSTFLAGS"), self.flags);
        }
        if let Some(emulator) = &self.emulator {
            command.env(variable("RUNNER"), emulator.words().join(" "));
        }
        command
    }

    /// A run of one of its programs.
    pub(crate) fn emulated(&self) -> Result<Command, String> {
        let emulator = self.emulator.as_ref().ok_or_else(|| format!("nothing emulates {}", self.target))?;
        let [program, arguments @ ..] = emulator.words();
        let mut command = Command::new(program);
        command.args(arguments);
        Ok(command)
    }

    /// The tests of core and of the host's kernels, built for it.
    fn tests(&self) -> Command {
        let mut command = self.cargo("test");
        command.args(["--lib", "--package", "stridewise-core", "--package", "stridewise-host"]);
        command
    }

    /// Runs them on each of its processors.
    ///
    /// # Errors
    /// The tools are missing, or a test failed.
    pub(crate) fn test(&self) -> Result<(), String> {
        self.ensure()?;
        crate::run_to_end(self.tests().arg("--no-run"))?;
        if let Some(compiler) = self.compiler {
            let mut programs = self.cargo("test");
            programs.args(["--package", "stridewise-c", "--quiet", "--no-fail-fast"]);
            crate::run_to_end(programs.env("CC", compiler))?;
        }
        let processors: Vec<Option<&str>> = match &self.emulator {
            Some(emulator) => emulator.processors.iter().copied().map(Some).collect(),
            None => vec![None],
        };
        for processor in processors {
            let mut run = self.tests();
            run.args(["--quiet", "--no-fail-fast", "--"]);
            run.args(LEFT_OUT.iter().flat_map(|name| ["--skip", name]));
            run.env(matrix::SAMPLE, given(matrix::SAMPLE, self.sample));
            if let Some(processor) = processor {
                println!("on QEMU's {processor}");
                run.env("QEMU_CPU", processor);
            }
            crate::run_to_end(&mut run)?;
        }
        Ok(())
    }
}
