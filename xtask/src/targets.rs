//! `cargo xtask targets`: whether the library and its C interface compile for every system and processor that they are meant for.
//!
//! Only the compiler looks: nothing is linked and nothing runs, so that a machine needs no more than the standard library of each
//! target, which rustup adds. A target that is not supported is in the list, too: it has to be refused at compile time, by the
//! sentence that stands here, for else a user would get an error about something that lies far inside.

use std::process::{Command, Stdio};

use clap::{Arg, ArgAction, ArgMatches};

/// What has to come of a target.
#[derive(Clone, Copy)]
enum Expected {
    /// It compiles.
    Compiles,
    /// It does not, and the compiler says this.
    Refused(&'static str),
}

/// A system and processor, and what is to be known about it.
struct Target {
    name: &'static str,
    what: &'static str,
    expected: Expected,
}

const fn target(name: &'static str, what: &'static str) -> Target {
    Target { name, what, expected: Expected::Compiles }
}
const fn refused(name: &'static str, what: &'static str, by: &'static str) -> Target {
    Target { name, what, expected: Expected::Refused(by) }
}

const TARGETS: &[Target] = &[
    target("x86_64-unknown-linux-gnu", "Linux, glibc"),
    target("x86_64-unknown-linux-musl", "Linux, musl"),
    target("aarch64-unknown-linux-gnu", "Linux on Arm, glibc"),
    target("aarch64-unknown-linux-musl", "Linux on Arm, musl"),
    target("i686-unknown-linux-gnu", "Linux, 32-bit x86"),
    target("armv7-unknown-linux-gnueabihf", "Linux, 32-bit Arm"),
    target("riscv64gc-unknown-linux-gnu", "Linux on RISC-V"),
    target("x86_64-pc-windows-gnu", "Windows"),
    target("aarch64-apple-darwin", "macOS on Arm"),
    target("x86_64-unknown-freebsd", "FreeBSD"),
    refused(
        "s390x-unknown-linux-gnu",
        "Linux on Z, big-endian",
        "stridewise is for little-endian processors",
    ),
    refused(
        "powerpc-unknown-linux-gnu",
        "Linux, 32-bit Power",
        "stridewise needs atomic integers of 64 bits",
    ),
    refused("wasm32-unknown-unknown", "WebAssembly", "stridewise needs a system with threads and a clock"),
];

/// What is checked for each of them; the second needs the first.
const PACKAGES: [&str; 2] = ["stridewise", "stridewise-c"];

pub(crate) const COMMAND: crate::Command = crate::Command {
    name: "targets",
    about: "Check the library and the C library for every system and processor, and print a table",
    arguments: |command| {
        command.arg(
            Arg::new("only")
                .long("only")
                .value_name("TARGET")
                .action(ArgAction::Append)
                .value_parser(clap::builder::PossibleValuesParser::new(
                    TARGETS.iter().map(|target| target.name),
                ))
                .help("This target alone; may be given several times"),
        )
    },
    run: |arguments: &ArgMatches| {
        let only: Vec<&String> = arguments.get_many("only").unwrap_or_default().collect();
        let wanted = |target: &&Target| only.is_empty() || only.iter().any(|name| *name == target.name);
        check(TARGETS.iter().filter(wanted))
    },
};

/// What came of a target.
enum Outcome {
    Compiles,
    /// By what the compiler says, its error alone.
    Refused(String),
    /// Its standard library cannot be had here.
    Missing(String),
    /// It is not as it has to be, and why.
    Wrong(String),
}

impl Outcome {
    fn cell(&self) -> String {
        match self {
            Outcome::Compiles => "compiles".to_owned(),
            Outcome::Refused(sentence) => format!("refused: {sentence}"),
            Outcome::Missing(_) => "not checked".to_owned(),
            Outcome::Wrong(_) => "**wrong**".to_owned(),
        }
    }
}

/// Every target, one after the other, and its line of the table as soon as it is known; what is under way goes to standard error.
///
/// # Errors
/// A target is not as it has to be.
fn check<'a>(targets: impl Iterator<Item = &'a Target>) -> Result<(), String> {
    println!("| target | what | library | C library |\n|---|---|---|---|");
    let mut complaints = Vec::new();
    for target in targets {
        let outcomes = PACKAGES.map(|package| one(target, package));
        let [library, c] = outcomes.each_ref().map(Outcome::cell);
        println!("| `{}` | {} | {library} | {c} |", target.name, target.what);
        for (package, outcome) in PACKAGES.iter().zip(outcomes) {
            match outcome {
                Outcome::Wrong(why) => complaints.push(format!("{package} for {}: {why}", target.name)),
                Outcome::Missing(why) => eprintln!("{}: {why}", target.name),
                Outcome::Compiles | Outcome::Refused(_) => {}
            }
        }
    }
    if complaints.is_empty() { Ok(()) } else { Err(complaints.join("\n")) }
}

fn one(target: &Target, package: &str) -> Outcome {
    if let Err(why) = ensure(target.name) {
        return Outcome::Missing(why);
    }
    let mut check = crate::cargo();
    check.args(["check", "--locked", "--package", package, "--target", target.name]);
    // What is checked for others is of no use to anything else.
    check.arg("--target-dir").arg(crate::target_folder().join("targets"));
    // A build script that asks for a system package would ask for one of this machine's.
    check.env("PKG_CONFIG", "pkg-config-must-not-be-needed");
    let line = crate::steps::written(&check);
    eprintln!("{line}");
    let output = match check.stdin(Stdio::null()).output() {
        Ok(output) => output,
        Err(error) => return Outcome::Wrong(format!("{line} could not be started: {error}")),
    };
    let messages = String::from_utf8_lossy(&output.stderr);
    match (target.expected, output.status.success()) {
        (Expected::Compiles, true) => match warnings(&messages).next() {
            None => Outcome::Compiles,
            Some(warning) => Outcome::Wrong(format!("it compiles with {warning}")),
        },
        (Expected::Refused(_), true) => Outcome::Wrong("it compiles, and was to be refused".to_owned()),
        (Expected::Refused(sentence), false) => match refusal(&messages, sentence) {
            Some(said) => Outcome::Refused(said.to_owned()),
            None => {
                Outcome::Wrong(format!("it is not refused by the sentence {sentence:?}, but by\n{messages}"))
            }
        },
        (Expected::Compiles, false) => Outcome::Wrong(format!("it does not compile:\n{messages}")),
    }
}

/// What the compiler warns of, but for a kind of library that a target has not.
fn warnings(messages: &str) -> impl Iterator<Item = &str> {
    let counts = |line: &&str| line.contains("generated") || line.contains("dropping unsupported crate type");
    messages.lines().filter(|line| line.starts_with("warning:")).filter(move |line| !counts(line))
}

/// The error of the compiler's that says a sentence, without what else it complains of.
fn refusal<'a>(messages: &'a str, sentence: &str) -> Option<&'a str> {
    messages.lines().filter_map(|line| line.strip_prefix("error: ")).find(|said| said.contains(sentence))
}

/// Makes sure that a target's standard library is there.
///
/// # Errors
/// A message that says how to get it.
pub(crate) fn ensure(target: &str) -> Result<(), String> {
    let there = || {
        let output = Command::new("rustc").args(["--print", "target-libdir", "--target", target]).output();
        output.is_ok_and(|output| {
            let folder = String::from_utf8_lossy(&output.stdout);
            output.status.success() && std::path::Path::new(folder.trim()).is_dir()
        })
    };
    if there() {
        return Ok(());
    }
    let added = crate::run_to_end(Command::new("rustup").args(["target", "add", target]));
    if there() {
        return Ok(());
    }
    let why = added.err().unwrap_or_default();
    Err(format!(
        "the standard library of {target} is not there ({why}); install it with `rustup target add {target}`"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_an_error_of_the_compiler() {
        let sentence = "stridewise needs threads";
        let said = "stridewise needs threads: see y";
        let messages = format!("warning: x\nerror[E0432]: y\nerror: {said}\n  --> a.rs:1:1\nerror: z");
        assert_eq!(refusal(&messages, sentence), Some(said));
        assert_eq!(refusal("warning: stridewise needs threads", sentence), None);
        assert_eq!(refusal("error[E0433]: cannot find `libc`", sentence), None);
        let messages = "   Compiling x\nwarning: dropping unsupported crate type `cdylib` for target `y`\n\
                        warning: `x` (lib) generated 2 warnings\nwarning: variant `Z` is never constructed\n";
        assert_eq!(warnings(messages).collect::<Vec<_>>(), ["warning: variant `Z` is never constructed"]);
    }

    #[test]
    fn every_refusal_is_a_sentence_of_the_sources() {
        let text = std::fs::read_to_string(crate::root().join("core/src/lib.rs")).unwrap();
        for target in TARGETS {
            if let Expected::Refused(sentence) = target.expected {
                assert!(text.contains(sentence), "{}: {sentence}", target.name);
            }
        }
    }
}
