//! A list of steps, each run to its end and timed, with a summary.

use std::process::Command;
use std::time::{Duration, Instant};

/// What a step does.
pub(crate) enum Action {
    /// Runs cargo with these arguments.
    Cargo(Vec<String>),
    /// Calls a function; an `Err` is a message for the reader.
    Call(fn() -> Result<(), String>),
}

/// One step of a task.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) action: Action,
    /// Variables of the environment of the command.
    pub(crate) environment: Vec<(&'static str, String)>,
    /// Left out of a quick run.
    pub(crate) slow: bool,
    /// Left out of a whole run, in which a slow step does what this one does, and more.
    pub(crate) only_quick: bool,
    /// Run where it is named only.
    pub(crate) by_name: bool,
    /// A step that this one cannot do without: where it failed, this one is not run and counts as failed.
    pub(crate) needs: Option<&'static str>,
}

impl Step {
    /// A step that runs cargo; arguments are separated by spaces.
    pub(crate) fn cargo(name: &'static str, about: &'static str, arguments: &str) -> Self {
        let words = arguments.split_whitespace().map(str::to_owned).collect();
        Self {
            name,
            about,
            action: Action::Cargo(words),
            environment: Vec::new(),
            slow: false,
            only_quick: false,
            by_name: false,
            needs: None,
        }
    }
    /// A step that calls a function.
    pub(crate) fn call(name: &'static str, about: &'static str, call: fn() -> Result<(), String>) -> Self {
        Self { action: Action::Call(call), ..Self::cargo(name, about, "") }
    }
    pub(crate) fn with(mut self, variable: &'static str, value: impl Into<String>) -> Self {
        self.environment.push((variable, value.into()));
        self
    }
    /// How much of it runs, by a variable, unless whoever runs it has set that.
    pub(crate) fn sample(self, variable: &'static str, value: &str) -> Self {
        self.with(variable, given(variable, value))
    }
    pub(crate) fn slow(mut self) -> Self {
        self.slow = true;
        self
    }
    pub(crate) fn only_quick(mut self) -> Self {
        self.only_quick = true;
        self
    }
    pub(crate) fn by_name(mut self) -> Self {
        self.by_name = true;
        self
    }
    pub(crate) fn needs(mut self, step: &'static str) -> Self {
        self.needs = Some(step);
        self
    }

    /// Whether it is cargo that runs something which it has built.
    pub(crate) fn computes(&self) -> bool {
        match &self.action {
            Action::Cargo(words) => words.first().is_some_and(|word| word == "test" || word == "run"),
            Action::Call(_) => false,
        }
    }

    /// What the step does, as a line to read or to type.
    pub(crate) fn line(&self) -> String {
        match &self.action {
            Action::Cargo(words) => {
                let environment = self.environment.iter().map(|(name, value)| match value.contains(' ') {
                    true => format!("{name}='{value}'"),
                    false => format!("{name}={value}"),
                });
                let words = std::iter::once("cargo".to_owned()).chain(words.iter().cloned());
                environment.chain(words).collect::<Vec<_>>().join(" ")
            }
            Action::Call(_) => self.about.to_owned(),
        }
    }

    fn run(&self) -> Result<(), String> {
        match &self.action {
            Action::Cargo(words) => {
                let mut command = crate::cargo();
                command.args(words).envs(self.environment.iter().map(|(name, value)| (name, value)));
                crate::run_to_end(&mut command)
            }
            Action::Call(call) => call(),
        }
    }
}

/// A step that is over.
struct Outcome {
    name: &'static str,
    result: Result<(), String>,
    time: Duration,
    /// Of processors, of all programs that it has run; where the system tells it.
    processor: Option<Duration>,
}

/// The processor time of the programs that this one has started and that are over, with theirs: user and system.
///
/// Linux counts it in hundredths of a second (`man 5 proc_pid_stat`: `cutime` and `cstime`, the 16th and 17th field).
fn children() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The second field is the program's name, in parentheses, and may have any characters.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(13);
    let mut next = || fields.next()?.parse::<u64>().ok();
    Some(Duration::from_millis(10 * (next()? + next()?)))
}

/// Runs all steps, one after the other, whether they fail or not, and prints the summary.
///
/// # Errors
/// A step failed.
pub(crate) fn run_all(steps: &[Step]) -> Result<(), String> {
    let start = Instant::now();
    let mut outcomes: Vec<Outcome> = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        let failed = |name: &str| outcomes.iter().any(|o| o.name == name && o.result.is_err());
        println!("\n=== {} ({}/{}): {}", step.name, number + 1, steps.len(), step.line());
        let (began, before) = (Instant::now(), children());
        let result = match step.needs {
            Some(needed) if failed(needed) => Err(format!("not run, for the step `{needed}` failed")),
            _ => step.run(),
        };
        let time = began.elapsed();
        let processor = before.and_then(|before| children()?.checked_sub(before));
        match &result {
            Ok(()) => println!("=== {}: passed in {:.1} s", step.name, time.as_secs_f64()),
            Err(why) => println!("=== {}: FAILED after {:.1} s: {why}", step.name, time.as_secs_f64()),
        }
        outcomes.push(Outcome { name: step.name, result, time, processor });
    }
    let width = outcomes.iter().map(|o| o.name.len()).max().unwrap_or(0);
    let processor: Duration = outcomes.iter().filter_map(|o| o.processor).sum();
    println!(
        "\n=== summary, {:.0} s in all, {:.0} s of processors",
        start.elapsed().as_secs_f64(),
        processor.as_secs_f64()
    );
    for Outcome { name, result, time, processor } in &outcomes {
        let verdict = match result {
            Ok(()) => "passed",
            Err(_) => "FAILED",
        };
        let of_processors = processor.map(|time| format!("  {:7.1} s of processors", time.as_secs_f64()));
        println!(
            "{name:width$}  {verdict}  {:7.1} s{}",
            time.as_secs_f64(),
            of_processors.unwrap_or_default()
        );
        if let Err(why) = result {
            println!("{:width$}  {why}", "");
        }
    }
    let failed = outcomes.iter().filter(|o| o.result.is_err()).count();
    println!("{} passed, {failed} failed", outcomes.len() - failed);
    if failed == 0 { Ok(()) } else { Err(format!("{failed} of {} steps failed", outcomes.len())) }
}

/// What a variable says, or else this.
pub(crate) fn given(variable: &str, otherwise: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| otherwise.to_owned())
}

/// A command as one would type it.
pub(crate) fn written(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str());
    let words = std::iter::once(name).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fine() -> Result<(), String> {
        Ok(())
    }
    fn broken() -> Result<(), String> {
        Err("broken".to_owned())
    }
    fn must_not_run() -> Result<(), String> {
        panic!("a step ran although what it needs had failed")
    }

    #[test]
    fn a_failure_is_counted_and_the_rest_runs() {
        let steps = [Step::call("a", "", broken), Step::call("b", "", fine), Step::call("c", "", fine)];
        assert_eq!(run_all(&steps), Err("1 of 3 steps failed".to_owned()));
        assert_eq!(run_all(&steps[1..]), Ok(()));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn processor_time_of_a_program_is_counted() {
        let before = children().unwrap();
        let mut busy = Command::new("sh");
        crate::run_to_end(busy.args(["-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"])).unwrap();
        assert!(children().unwrap() > before);
    }

    #[test]
    fn a_step_whose_need_failed_does_not_run_and_fails() {
        let steps = [Step::call("a", "", broken), Step::call("b", "", must_not_run).needs("a")];
        assert_eq!(run_all(&steps), Err("2 of 2 steps failed".to_owned()));
    }

    #[test]
    fn a_command_that_is_not_there_is_a_message() {
        let message = crate::run_to_end(&mut Command::new("no-such-program-of-stridewise")).unwrap_err();
        assert!(message.contains("could not be started"), "{message}");
    }

    #[test]
    fn lines_can_be_typed() {
        let step = Step::cargo("doc", "", "doc --no-deps").with("RUSTDOCFLAGS", "-D warnings");
        assert_eq!(step.line(), "RUSTDOCFLAGS='-D warnings' cargo doc --no-deps");
    }
}
