//! Arrays among other people's threads: in rayon's pools, tokio's runtimes, scopes, beside signals, on little stacks, and
//! where panics go through.

mod pools;
mod stacks;
mod tasks;
mod threads;
mod traits;
mod unwinding;

use std::io::Write;
use std::process::{Command, abort};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The case that a process was started for.
const CASE: &str = "STRIDEWISE_TEST_CASE";
/// How long a case goes on without a step before it is taken to hang. Far longer than any step, on any machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The steps of a case that was started in a process of its own.
#[derive(Clone, Default)]
pub(crate) struct Steps(Arc<AtomicU64>);

impl Steps {
    /// Notes that something has been done.
    pub(crate) fn step(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Ends the process where no step is made any more.
    fn watch(&self, test: &str) {
        let (steps, test) = (self.clone(), test.to_owned());
        std::thread::spawn(move || {
            let (mut last, mut since) = (u64::MAX, Instant::now());
            loop {
                std::thread::sleep(Duration::from_millis(100));
                let now = steps.0.load(Ordering::Relaxed);
                if now != last {
                    (last, since) = (now, Instant::now());
                }
                if since.elapsed() > PATIENCE {
                    // Not `eprintln`, which the harness may keep.
                    let _ = writeln!(std::io::stderr(), "{test} hangs after {now} steps");
                    abort();
                }
            }
        });
    }
}

/// Runs the cases of a test, each in a process of its own: one that hangs or faults takes nothing else with it. In such a process,
/// the body is called with its case.
pub(crate) fn isolated(test: &str, cases: &[&str], body: impl FnOnce(&str, &Steps)) {
    if let Ok(case) = std::env::var(CASE) {
        let steps = Steps::default();
        steps.watch(test);
        return body(&case, &steps);
    }
    let mut failures = Vec::new();
    for case in cases {
        let mut command = Command::new(std::env::current_exe().expect("the path of this program"));
        command.args([test, "--exact", "--include-ignored", "--nocapture", "--test-threads=1"]);
        let output = command.env(CASE, case).output().expect("this program, started again");
        let text = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() || !text.contains("test result: ok. 1 passed") {
            let errors = String::from_utf8_lossy(&output.stderr);
            failures.push(format!("{case}: {}\n{text}{errors}", output.status));
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {} cases failed:\n{}",
        failures.len(),
        cases.len(),
        failures.join("\n")
    );
}
