//! `cargo xtask matrix`: every suite on every OpenCL device, as a table.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, pipe};
use std::process::{Command, Stdio};

use clap::{Arg, ArgMatches};

use crate::opencl::{EVERY_TEST, Runtime, VENDORS};
use crate::programs::Program;

/// The variable that makes the matrix run a sample.
pub(crate) const SAMPLE: &str = "STRIDEWISE_MATRIX_SAMPLE";
/// How the reasons begin for which the matrix ignores a test.
const UNSUPPORTED: &str = "unsupported: ";
const EXPECTED: &str = "fails as expected: ";
/// Reports that are shown of those that a runtime has written.
const SHOWN_BYTES: usize = 8192;

/// The tests of kernels' texts and of the OpenCL backend that run on the devices there are.
const ON_DEVICES: &[&str] = &["stridewise_emit", "stridewise_opencl", "kept", "moving"];

pub(crate) const COMMAND: crate::Command = crate::Command {
    name: "matrix",
    about: "Run every suite on the OpenCL devices of this machine and print a table",
    arguments: |command| {
        command.arg(
            Arg::new("filter")
                .long("filter")
                .value_name("TEXT")
                .help("Run only tests whose name contains this: elementwise::, /f32/, opencl:gpu:0"),
        )
    },
    run: |arguments: &ArgMatches| on_devices(arguments.get_one::<String>("filter").map(String::as_str), None),
};

/// Runs the matrix on the devices of a runtime.
///
/// # Errors
/// A test failed, there was no device, or the runtime has reported that a kernel does something wrong.
pub(crate) fn on_runtime(runtime: &Runtime) -> Result<(), String> {
    on_devices(None, Some(runtime))
}

/// Runs the tests of the texts and of the OpenCL backend that a device takes part in, of every form of its kernels, on the devices of a
/// runtime.
///
/// # Errors
/// A test failed.
pub(crate) fn kernels_on(runtime: &Runtime) -> Result<(), String> {
    for name in ON_DEVICES {
        crate::run_to_end(Program::of(name)?.command().env(VENDORS, runtime.vendor()?))?;
    }
    Ok(())
}

/// Builds and runs the C program that launches a kernel from a source, on a runtime.
///
/// # Errors
/// The test failed.
pub(crate) fn c_kernel_on(runtime: &Runtime) -> Result<(), String> {
    let mut program = Program::of("programs")?.command();
    crate::run_to_end(program.arg("a_kernel_from_a_source").env(VENDORS, runtime.vendor()?))
}

fn on_devices(filter: Option<&str>, runtime: Option<&Runtime>) -> Result<(), String> {
    let mut command = Program::of("matrix")?.command();
    command.args(["--color", "never"]);
    match (filter, runtime) {
        // A test is chosen by one text only.
        (Some(filter), _) => command.args([filter, "--skip", "host:"]),
        (None, None) => command.arg(EVERY_TEST),
        (None, Some(runtime)) => {
            command.arg(runtime.tests).args(runtime.skipped.iter().flat_map(|name| ["--skip", *name]))
        }
    };
    if let Some(runtime) = runtime {
        command.env(VENDORS, runtime.vendor()?).env(SAMPLE, runtime.sample.to_string());
        if !runtime.concurrent {
            command.arg("--test-threads=1");
        }
    }
    println!("{}", crate::steps::written(&command));
    let (report, reports) = match runtime.filter(|runtime| runtime.reports) {
        Some(_) => observed(command)?,
        None => (Report::of(&mut command)?, String::new()),
    };
    report.print();
    if !reports.is_empty() {
        println!("\nwhat kernels do wrong:\n{}", beginning(&reports, SHOWN_BYTES));
        return Err(format!("kernels do wrong: {} lines of reports", reports.lines().count()));
    }
    report.verdict()
}

/// Runs a command with Oclgrind's reports written apart.
///
/// They go through a pipe, for Oclgrind empties a file whenever a context is made. The pipe is the standard input, which
/// is the only descriptor that a command is certain to hand on to the programs it starts, and which no test reads.
fn observed(mut command: Command) -> Result<(Report, String), String> {
    let (mut reader, writer) = pipe().map_err(|error| format!("a pipe for the reports: {error}"))?;
    command.stdin(writer).env("OCLGRIND_LOG", "/proc/self/fd/0").envs(Runtime::REPORTS.iter().copied());
    let reading = std::thread::spawn(move || {
        let mut text = Vec::new();
        // What came before an error is what there is.
        let _ = reader.read_to_end(&mut text);
        String::from_utf8_lossy(&text).trim().to_owned()
    });
    let report = Report::of(&mut command);
    // The last end for writing.
    drop(command);
    let reports = reading.join().map_err(|_| "the reports could not be read".to_owned())?;
    Ok((report?, reports))
}

/// The beginning of a text, whole lines of at most so many bytes.
fn beginning(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    let end = text.char_indices().map(|(i, _)| i).take_while(|&i| i <= bytes).last().unwrap_or(0);
    &text[..text[..end].rfind('\n').unwrap_or(end)]
}

/// What became of the tests on one device.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Row {
    passed: usize,
    failed: usize,
    expected: usize,
    /// Reasons and how often they were given.
    unsupported: BTreeMap<String, usize>,
}

/// What a run of the matrix has printed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Report {
    rows: BTreeMap<String, Row>,
    /// What it says of failures, at its end.
    failures: Vec<String>,
    /// Whether it has come to its end.
    complete: bool,
    /// Whether it says that a test failed, on whatever device.
    failed: bool,
}

impl Report {
    /// Runs the matrix and reads what it prints.
    fn of(command: &mut Command) -> Result<Self, String> {
        let line = crate::steps::written(command);
        let started = command.stdout(Stdio::piped()).spawn();
        let mut child = started.map_err(|error| format!("{line} could not be started: {error}"))?;
        let mut report = Self::default();
        if let Some(output) = child.stdout.take() {
            for text in BufReader::new(output).split(b'\n').map_while(Result::ok) {
                report.read(&String::from_utf8_lossy(&text));
            }
        }
        let status = child.wait().map_err(|error| format!("{line}: {error}"))?;
        // A test that failed makes the status a failure, too; the table says more.
        match report.complete {
            true => Ok(report),
            false => {
                report.print();
                Err(format!("{line} has not come to its end ({status})"))
            }
        }
    }

    /// Reads a line.
    fn read(&mut self, line: &str) {
        if let Some(result) = line.strip_prefix("test result: ") {
            self.complete = true;
            self.failed = !result.starts_with("ok");
        } else if line == "failures:" || !self.failures.is_empty() {
            self.failures.push(line.to_owned());
        } else if let Some((name, outcome)) =
            line.strip_prefix("test ").and_then(|test| test.split_once(" ... "))
            && let Some((_, device)) = name.trim_end().rsplit_once('/')
            && device.contains(EVERY_TEST)
        {
            let row = self.rows.entry(device.to_owned()).or_default();
            let reason = outcome.strip_prefix("ignored (").map(|text| text.strip_suffix(')').unwrap_or(text));
            match (outcome, reason) {
                ("ok", _) => row.passed += 1,
                (_, Some(reason)) if reason.starts_with(EXPECTED) => row.expected += 1,
                (_, Some(reason)) => {
                    let reason = reason.strip_prefix(UNSUPPORTED).unwrap_or(reason);
                    *row.unsupported.entry(reason.to_owned()).or_default() += 1;
                }
                // Without an outcome, it is the last that the program has begun.
                ("", _) => {
                    row.failed += 1;
                    self.failures.push(format!("{} has not come to its end", name.trim_end()));
                }
                _ => row.failed += 1,
            }
        }
    }

    fn print(&self) {
        for line in &self.failures {
            println!("{line}");
        }
        let width = self.rows.keys().map(String::len).max().unwrap_or(0).max("device".len());
        println!(
            "\n{:width$}  {:>8}{:>8}{:>13}{:>10}",
            "device", "passed", "failed", "unsupported", "expected"
        );
        for (device, row) in &self.rows {
            let unsupported: usize = row.unsupported.values().sum();
            let Row { passed, failed, expected, .. } = row;
            println!("{device:width$}  {passed:>8}{failed:>8}{unsupported:>13}{expected:>10}");
        }
        for (device, row) in self.rows.iter().filter(|(_, row)| !row.unsupported.is_empty()) {
            println!("\nunsupported on {device}:");
            let mut reasons: Vec<_> = row.unsupported.iter().collect();
            reasons.sort_by_key(|&(_, &times)| std::cmp::Reverse(times));
            for (reason, times) in reasons {
                println!("{times:>8}  {reason}");
            }
        }
    }

    /// Whether everything is well.
    fn verdict(&self) -> Result<(), String> {
        let failed: usize = self.rows.values().map(|row| row.failed).sum();
        let run: usize = self.rows.values().map(|row| row.passed + row.failed + row.expected).sum();
        match (failed, run) {
            (0, 0) => {
                Err("no test has run: there is no OpenCL device, or none that the filter leaves".to_owned())
            }
            (0, _) if self.failed => Err("a test that is not about a device failed".to_owned()),
            (0, _) => Ok(()),
            _ => Err(format!("{failed} of {run} tests failed")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_test_on_devices_is_named() {
        // With a runtime of its own.
        const OTHERS: &[&str] = &["faults"];
        for file in std::fs::read_dir(crate::root().join("backends/opencl/tests")).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            assert!(ON_DEVICES.iter().chain(OTHERS).any(|known| *known == name), "{name}");
        }
    }

    fn report(output: &str) -> Report {
        let mut report = Report::default();
        output.lines().for_each(|line| report.read(line));
        report
    }

    const OUTPUT: &str = "\nrunning 6 tests\n\
        test elementwise::add/f32/opencl:cpu:0    ... ok\n\
        test elementwise::add/f16/opencl:cpu:0    ... ignored (unsupported: no f16)\n\
        test elementwise::sub/f16/opencl:cpu:0    ... ignored (unsupported: no f16)\n\
        test elementwise::exp/f32/opencl:cpu:0    ... ignored (fails as expected: slow)\n\
        test elementwise::add/f32/opencl:gpu:0    ... FAILED\n\
        test elementwise::add/f32/host:cpu:0      ... FAILED\n\
        \n\
        failures:\n\n---- elementwise::add/f32/opencl:gpu:0 ----\nwrong\n\n\
        test result: FAILED. 1 passed; 2 failed; 3 ignored; 0 measured; 0 filtered out; finished in 0.1s\n";

    #[test]
    fn outcomes_are_counted_by_device() {
        let report = report(OUTPUT);
        let unsupported = BTreeMap::from([("no f16".to_owned(), 2)]);
        let cpu = Row { passed: 1, failed: 0, expected: 1, unsupported };
        assert_eq!(report.rows["opencl:cpu:0"], cpu);
        assert_eq!(report.rows["opencl:gpu:0"], Row { failed: 1, ..Row::default() });
        assert_eq!(report.rows.len(), 2);
        assert!(report.complete && report.failures.contains(&"wrong".to_owned()));
        assert_eq!(report.verdict(), Err("1 of 3 tests failed".to_owned()));
    }

    #[test]
    fn nothing_run_is_a_failure() {
        let end =
            "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 9 filtered out; finished in 0s";
        let report = report(end);
        assert!(report.complete && report.verdict().is_err());
    }

    #[test]
    fn a_failure_without_a_device_is_a_failure() {
        let passed = "test elementwise::add/f32/opencl:cpu:0 ... ok\ntest result: ok. 1 passed; 0 failed";
        assert_eq!(report(passed).verdict(), Ok(()));
        assert!(report(&passed.replace("result: ok", "result: FAILED")).verdict().is_err());
    }

    #[test]
    fn an_output_that_stops_is_not_complete() {
        let report = report(
            "test elementwise::add/f32/opencl:cpu:0 ... ok\ntest elementwise::sub/f32/opencl:cpu:0 ... ",
        );
        assert!(!report.complete);
        assert_eq!(report.rows["opencl:cpu:0"], Row { passed: 1, failed: 1, ..Row::default() });
        assert!(report.failures[0].contains("sub"), "{report:?}");
    }

    #[test]
    fn reports_are_read_from_every_file_that_a_program_opens() {
        let script = "echo first > $OCLGRIND_LOG; echo second > $OCLGRIND_LOG; echo 'test result: ok.'";
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let (report, reports) = observed(command).unwrap();
        assert!(report.complete);
        assert_eq!(reports, "first\nsecond");
    }

    #[test]
    fn a_beginning_has_whole_lines() {
        assert_eq!(beginning("ab\ncd\nef", 7), "ab\ncd");
        assert_eq!(beginning("ab\ncd", 5), "ab\ncd");
        assert_eq!(beginning("ééé", 3), "é");
    }
}
