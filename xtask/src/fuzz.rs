//! `cargo xtask fuzz`: LLVM's fuzzer, guided by coverage and under the address sanitizer, on the targets of `fuzz/`, with a
//! stable toolchain.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use clap::{Arg, ArgAction, ArgMatches};

use crate::{opencl, packages};

/// The package of the targets.
const PACKAGE: &str = "stridewise-fuzz";
/// What the fuzzer sees the inside of: which ways an input takes, and what is compared with what. Kernels are not among it:
/// they are tens of thousands of copies of the same loops, and inputs would be kept for each.
const WATCHED: &[&str] = &["stridewise-core", "stridewise-exchange", "stridewise-c", PACKAGE];
/// Flags of the compiler for that, as the fuzzer wants them.
const COVERAGE: &[&str] = &[
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
];
/// Bytes of an input at most.
const LONGEST: usize = 1024;
/// Bytes of the inputs that the repository keeps for a target, about.
const KEPT_BYTES: u64 = 6 << 10;

pub(crate) const COMMAND: crate::Command = crate::Command {
    name: "fuzz",
    about: "Run the fuzzer: all targets one after another, or those that are named",
    arguments: |command| {
        command
            .arg(Arg::new("target").value_name("TARGET").action(ArgAction::Append).num_args(0..))
            .arg(
                Arg::new("time")
                    .long("time")
                    .value_name("TIME")
                    .value_parser(crate::duration)
                    .default_value("1m")
                    .help("Processor time for each target: 90s, 20m, 2h"),
            )
            .arg(
                Arg::new("input")
                    .long("input")
                    .value_name("FILE")
                    .help("Run the target on this input alone: on what an earlier run wrote down"),
            )
            .arg(Arg::new("minimise").long("minimise").action(ArgAction::SetTrue).help(
                "Choose the inputs that the repository keeps anew, from those that runs here have found",
            ))
    },
    run,
};

fn run(arguments: &ArgMatches) -> Result<(), String> {
    let fuzzer = Fuzzer::build()?;
    let known = targets()?;
    let named: Vec<String> = arguments.get_many::<String>("target").unwrap_or_default().cloned().collect();
    if let Some(name) = named.iter().find(|name| !known.contains(name)) {
        return Err(format!("there is no target `{name}`; the targets are {}", known.join(", ")));
    }
    let chosen = if named.is_empty() { known } else { named };
    if let Some(input) = arguments.get_one::<String>("input") {
        let [target] = &chosen[..] else { return Err("name the target of the input".to_owned()) };
        return crate::run_to_end(fuzzer.command(target)?.arg(input));
    }
    if arguments.get_flag("minimise") {
        return chosen.iter().try_for_each(|target| fuzzer.minimise(target));
    }
    let time = *arguments.get_one::<Duration>("time").ok_or("no time")?;
    chosen.iter().try_for_each(|target| fuzzer.run(target, time))
}

/// The targets are those that have inputs; a test of theirs compares both.
fn targets() -> Result<Vec<String>, String> {
    let folder = crate::root().join("fuzz/corpus");
    let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    Ok(names)
}

/// The folder of the inputs that the repository keeps.
fn kept(target: &str) -> PathBuf {
    crate::root().join("fuzz/corpus").join(target)
}

/// A folder for what runs write, which is made.
fn folder(kind: &str, target: &str) -> Result<PathBuf, String> {
    let folder = target_folder().join(kind).join(target);
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder)
}

fn target_folder() -> PathBuf {
    crate::target_folder().join("fuzz")
}

/// The program.
struct Fuzzer(PathBuf);

impl Fuzzer {
    /// Installs what is missing, and builds it.
    fn build() -> Result<Self, String> {
        packages::ensure_cpp()?;
        let target = packages::host_target()?;
        let mut command = crate::cargo();
        command.args(["build", "--locked", "--target", &target, "--target-dir"]).arg(target_folder());
        command.args([
            "--package",
            PACKAGE,
            "--features",
            "libfuzzer",
            "--bin",
            "fuzz",
            "-Zprofile-rustflags",
        ]);
        let flags: Vec<String> = COVERAGE.iter().map(|flag| format!("{flag:?}")).collect();
        for package in WATCHED {
            let profile = format!("profile.dev.package.{package}");
            command.arg("--config").arg(format!("{profile}.rustflags=[{}]", flags.join(",")));
            // The oracles in plain loops are most of a run.
            let level = if *package == PACKAGE { 3 } else { 1 };
            command.arg("--config").arg(format!("{profile}.opt-level={level}"));
        }
        // Neither the sanitizer nor flags of one package are stable yet; this variable lets a stable toolchain have them.
        command.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", "-Zsanitizer=address");
        println!("building the fuzzer in {}", target_folder().display());
        crate::run_to_end(&mut command)?;
        Ok(Self(target_folder().join(target).join("debug").join("fuzz")))
    }

    /// The program for a target, ready for more arguments.
    fn command(&self, target: &str) -> Result<Command, String> {
        let mut command = Command::new(&self.0);
        command.current_dir(crate::root()).env("STRIDEWISE_FUZZ_TARGET", target);
        // What is computed must not depend on the machine's devices, nor take all its processors.
        command.env(opencl::VENDORS, opencl::no_vendors()).env("STRIDEWISE_NUM_THREADS", "2");
        command.env_remove("STRIDEWISE_DEVICE");
        // An allocation that is too large fails, as one does without the sanitizer.
        command.env("ASAN_OPTIONS", "allocator_may_return_null=1");
        command.args(["-timeout=300", "-rss_limit_mb=6000", "-malloc_limit_mb=1000000"]);
        command.arg(format!("-max_len={LONGEST}"));
        command.arg(format!("-artifact_prefix={}/", folder("found", target)?.display()));
        let words = crate::root().join("fuzz/words").join(target);
        if words.is_file() {
            command.arg(format!("-dict={}", words.display()));
        }
        Ok(command)
    }

    /// Runs a target for so much processor time.
    fn run(&self, target: &str, time: Duration) -> Result<(), String> {
        let (start, spent) = (Instant::now(), children_time());
        let used = || match (spent, children_time()) {
            (Some(before), Some(now)) => now.saturating_sub(before),
            _ => start.elapsed(),
        };
        loop {
            // Beside other work it takes longer than this, and is begun again with what it has found.
            let left = time.saturating_sub(used()).as_secs();
            if left == 0 {
                break;
            }
            let mut command = self.command(target)?;
            command.arg(format!("-max_total_time={left}")).arg("-print_final_stats=1");
            command.arg(folder("corpus", target)?).arg(kept(target));
            crate::run_to_end(&mut command).map_err(|error| {
                format!("{error}; the input is in {}", target_folder().join("found").join(target).display())
            })?;
        }
        println!("{target}: {:.0} s of processor time, nothing found", used().as_secs_f64());
        Ok(())
    }

    /// Chooses the inputs that are kept: few that together go all ways, the short ones first.
    fn minimise(&self, target: &str) -> Result<(), String> {
        let new = target_folder().join("chosen").join(target);
        if new.exists() {
            std::fs::remove_dir_all(&new).map_err(|error| format!("{}: {error}", new.display()))?;
        }
        let new = folder("chosen", target)?;
        let mut command = self.command(target)?;
        command.arg("-set_cover_merge=1").arg(&new).arg(folder("corpus", target)?).arg(kept(target));
        crate::run_to_end(&mut command)?;
        replace(&new, &kept(target)).map_err(|error| format!("{}: {error}", kept(target).display()))
    }
}

/// Replaces the files of a folder by the shorter ones of another.
fn replace(from: &Path, to: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(to)? {
        std::fs::remove_file(entry?.path())?;
    }
    let mut files = Vec::new();
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        files.push((entry.metadata()?.len(), entry.file_name()));
    }
    files.sort();
    let (all, mut bytes) = (files.len(), 0);
    let mut count = 0;
    for (len, name) in files {
        bytes += len;
        if bytes > KEPT_BYTES {
            break;
        }
        std::fs::copy(from.join(&name), to.join(&name))?;
        count += 1;
    }
    println!("{}: {count} of {all} inputs", to.display());
    Ok(())
}

/// Processor time of the programs that this one has started and that have ended, where the system tells it.
fn children_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    // Behind the name, which is in parentheses and may contain anything: fields 16 and 17 of the line, in hundredths.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks: u64 = fields.get(13)?.parse::<u64>().ok()? + fields.get(14)?.parse::<u64>().ok()?;
    Some(Duration::from_millis(ticks * 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_that_of_programs_that_ended() {
        let Some(before) = children_time() else { return };
        let mut busy = Command::new("sh");
        busy.args(["-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"]);
        crate::run_to_end(&mut busy).unwrap();
        assert!(children_time().unwrap() > before);
    }

    #[test]
    fn every_target_has_inputs_and_is_listed() {
        let list = std::fs::read_to_string(crate::root().join("fuzz/src/lib.rs")).unwrap();
        let mut listed: Vec<&str> =
            list.split("Target { name: \"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        listed.sort_unstable();
        assert_eq!(targets().unwrap(), listed);
    }
}
