//! Why a device is not found, or not as quick as it could be: what drivers, devices and the environment say, with the line that
//! mends each.

use std::fmt;

use crate::array::Array;
use crate::backend::{Driver, Finding, Health};
use crate::error::Result;
use crate::kernel::{CHECK_VARIABLE, LIMIT};
use crate::observe::{TRACE_VARIABLE, trace_variable};
use crate::runtime::{
    DEFAULT_DEVICE_VARIABLE, Device, EXIT, default_device, devices, drivers, exit_patience, outdated,
};

/// What the names of this project's variables begin with.
const PREFIX: &str = "STRIDEWISE_";
/// Elements that a device has to add up, to show that it computes.
const TRIAL: i64 = 1000;

/// What was found in one part.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Section {
    name: String,
    findings: Vec<Finding>,
}

/// What [`doctor()`] found. Its text (`Display`) has one line for each finding, and below it, behind an arrow, the line that
/// mends it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnosis {
    sections: Vec<Section>,
}

impl Diagnosis {
    /// The findings of each part (`stridewise`, `environment`, each driver by its name, `devices`), as the text has them.
    pub fn parts(&self) -> impl Iterator<Item = (&str, &[Finding])> {
        self.sections.iter().map(|section| (&*section.name, &*section.findings))
    }
    /// Adds a part, of what a program or another language has found out besides.
    pub fn add_part(&mut self, name: impl Into<String>, findings: Vec<Finding>) {
        self.sections.push(Section { name: name.into(), findings });
    }
    /// All findings.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.sections.iter().flat_map(|section| &section.findings)
    }
    /// Whether there is no problem; notes are none.
    #[must_use]
    pub fn is_healthy(&self) -> bool {
        self.findings().all(|finding| finding.health != Health::Problem)
    }
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for section in &self.sections {
            writeln!(f, "{}", section.name)?;
            let width = section.findings.iter().map(|finding| finding.subject.chars().count()).max();
            for finding in &section.findings {
                let (health, width) = (finding.health.name(), width.unwrap_or(0));
                // A runtime's text may have several lines; those behind the first stand below it.
                let text = finding.text.trim_end().replace('\n', &format!("\n{:1$}", "", 13 + width));
                writeln!(f, "  {health:<7}  {:<width$}  {text}", finding.subject)?;
                if !finding.remedy.is_empty() {
                    writeln!(f, "  {:<7}  {:<width$}  → {}", "", "", finding.remedy)?;
                }
            }
        }
        let count = |health| self.findings().filter(|finding| finding.health == health).count();
        let counted = |count: usize, what: &str| match count {
            1 => format!("1 {what}"),
            _ => format!("{count} {what}s"),
        };
        let (problems, notes) = (count(Health::Problem), count(Health::Note));
        write!(f, "{}, {}", counted(problems, "problem"), counted(notes, "note"))
    }
}

/// Looks at everything that decides which devices there are and how quick they are: this build, environment variables, what
/// each driver says of its runtime, and every device, which has to add up a few numbers. It loads the runtimes, as the first use
/// of any device does, and takes as long as that and a small kernel for each device.
///
/// ```
/// let diagnosis = stridewise_core::doctor();
/// println!("{diagnosis}");
/// for finding in diagnosis.findings().filter(|finding| !finding.remedy.is_empty()) {
///     println!("{}: {}", finding.subject, finding.remedy);
/// }
/// ```
#[must_use]
pub fn doctor() -> Diagnosis {
    let mut sections = vec![section("stridewise", build())];
    let mut variables = vec![default_variable(), patience_variable(), limit_variable()];
    variables.push(Finding::of_switch(CHECK_VARIABLE, "the checked mode of kernels"));
    variables.extend(trace_variable().map(|path| {
        Finding::fine(TRACE_VARIABLE, format!("{}: a trace is written there at the end", path.display()))
    }));
    let by_drivers: Vec<Section> =
        drivers().iter().map(|driver| section(driver.name(), of_driver(&**driver))).collect();
    let known = variables.iter().chain(by_drivers.iter().flat_map(|section| &section.findings));
    let known: Vec<String> = known
        .filter(|finding| finding.subject.starts_with(PREFIX))
        .map(|finding| finding.subject.clone().into_owned())
        .collect();
    let set = std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned());
    variables.extend(unknown(set, &known));
    sections.push(section("environment", variables));
    sections.extend(by_drivers);
    sections.push(section("devices", examined()));
    Diagnosis { sections }
}

/// What a driver says; of one whose devices are not listed, that it is so.
fn of_driver(driver: &dyn Driver) -> Vec<Finding> {
    match outdated(driver) {
        None => driver.diagnose(),
        Some(text) => {
            vec![Finding::problem("interface", text, "use the release of the driver that fits this one")]
        }
    }
}

fn section(name: &str, findings: Vec<Finding>) -> Section {
    Section { name: name.to_owned(), findings }
}

fn build() -> Vec<Finding> {
    let target = format!("{}, {}", std::env::consts::ARCH, std::env::consts::OS);
    let version = Finding::fine("version", format!("{}, for {target}", env!("CARGO_PKG_VERSION")));
    let build = if cfg!(debug_assertions) {
        Finding::note(
            "build",
            "with debug assertions, and most likely not optimised: kernels take many times as long",
            "cargo build --release",
        )
    } else {
        Finding::fine("build", "optimised")
    };
    vec![version, build]
}

fn default_variable() -> Finding {
    let given = std::env::var_os(DEFAULT_DEVICE_VARIABLE).filter(|value| !value.is_empty());
    match (given, default_device()) {
        (_, Err(error)) => Finding::of_error(DEFAULT_DEVICE_VARIABLE, &error),
        (None, Ok(device)) => Finding::fine(
            DEFAULT_DEVICE_VARIABLE,
            format!("not set: the first GPU, else the host; it is {}", device.filter_string()),
        ),
        (Some(value), Ok(device)) => {
            Finding::fine(DEFAULT_DEVICE_VARIABLE, format!("{value:?}: {}", device.filter_string()))
        }
    }
}

fn patience_variable() -> Finding {
    EXIT.diagnose(|_| format!("the end of the process waits {} s for work", exit_patience().as_secs_f64()))
}

fn limit_variable() -> Finding {
    LIMIT.diagnose(|limit| match limit {
        Some(limit) => format!("kernels of users may take {} s on the host", limit.as_secs_f64()),
        None => "kernels of users may take as long as they take".to_owned(),
    })
}

/// Variables that look like this project's and that nothing reads: typing errors, most likely.
fn unknown(set: impl Iterator<Item = String>, known: &[String]) -> Vec<Finding> {
    let mut strange: Vec<String> =
        set.filter(|name| name.starts_with(PREFIX) && !known.contains(name)).collect();
    strange.sort();
    let list = known.join(", ");
    let finding = |name: String| {
        let remedy = format!("unset {name}, or set one of: {list}");
        Finding::note(name, "set, but nothing reads it", remedy)
    };
    strange.into_iter().map(finding).collect()
}

/// What devices there are, and whether they compute.
fn examined() -> Vec<Finding> {
    let devices = devices();
    if devices.is_empty() {
        let remedy =
            "use the crate `stridewise`, which brings the host's backend, rather than its core alone";
        return vec![Finding::problem("none", "no driver of this build lists a device", remedy)];
    }
    devices
        .iter()
        .map(|device| {
            let info = device.info();
            match trial(device) {
                Ok(()) => Finding::fine(
                    device.filter_string(),
                    format!("computes; {}, driver {}", info.name, info.driver_version),
                ),
                Err(error) => {
                    let mut finding = Finding::of_error(device.filter_string(), &error);
                    finding.text = format!("{} does not compute: {}", info.name, finding.text);
                    finding
                }
            }
        })
        .collect()
}

/// A queue, memory, a kernel and a copy, and whether the result is right.
fn trial(device: &Device) -> Result<()> {
    let queue = device.queue()?;
    let numbers = Array::<i32>::on(&queue).full([TRIAL as usize], 1)?.try_add(2)?;
    let sum: i64 = numbers.to_vec()?.into_iter().map(i64::from).sum();
    if sum == 3 * TRIAL {
        return Ok(());
    }
    let wrong = crate::error::Error::runtime(
        "sum",
        sum,
        format!("{}, the sum of {TRIAL} times 1 + 2", 3 * TRIAL),
        "the device computes wrong results: use another one, or another version of its driver",
    );
    Err(wrong)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::backend::{self, INTERFACE};

    #[test]
    fn variables_that_nothing_reads_are_named_with_those_that_there_are() {
        let known = ["STRIDEWISE_DEVICE".to_owned(), "STRIDEWISE_GUARD".to_owned()];
        let set = ["PATH", "STRIDEWISE_DEVCE", "STRIDEWISE_GUARD"].map(str::to_owned).into_iter();
        let found = unknown(set, &known);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].subject.as_ref(), found[0].health), ("STRIDEWISE_DEVCE", Health::Note));
        assert!(found[0].remedy.contains("STRIDEWISE_DEVICE"), "{}", found[0].remedy);
    }

    #[test]
    fn the_text_has_a_line_for_each_finding_and_for_each_remedy() {
        let findings =
            vec![Finding::fine("a", "good"), Finding::problem("long name", "bad\nworse", "do this")];
        let diagnosis = Diagnosis { sections: vec![section("part", findings)] };
        assert!(!diagnosis.is_healthy());
        let expected = concat!(
            "part\n  ok       a          good\n  problem  long name  bad\n                      worse\n",
            "                      → do this\n1 problem, 0 notes"
        );
        assert_eq!(diagnosis.to_string(), expected);
    }

    #[test]
    fn a_driver_of_another_version_is_not_asked_and_said_to_be_so() {
        struct Old(u32);
        impl Driver for Old {
            fn name(&self) -> &'static str {
                "old"
            }
            fn interface(&self) -> u32 {
                self.0
            }
            fn devices(&self) -> Vec<Arc<dyn backend::Device>> {
                assert_eq!(self.0, INTERFACE, "asked for its devices");
                Vec::new()
            }
            fn diagnose(&self) -> Vec<Finding> {
                vec![Finding::fine("runtime", "there")]
            }
        }
        for version in [0, INTERFACE - 1, INTERFACE, INTERFACE + 1] {
            let found = of_driver(&Old(version));
            let expected = if version == INTERFACE { Health::Fine } else { Health::Problem };
            assert_eq!((found.len(), found[0].health), (1, expected), "{version}");
            crate::runtime::list(vec![Arc::new(Old(version))]);
        }
    }

    #[test]
    fn core_alone_has_no_device() {
        // The devices of other tests are not registered.
        let diagnosis = doctor();
        assert!(!diagnosis.is_healthy(), "{diagnosis}");
        assert!(diagnosis.to_string().contains("brings the host's backend"), "{diagnosis}");
    }
}
