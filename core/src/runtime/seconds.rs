//! Environment variables that say a time.

use std::ffi::OsStr;
use std::time::Duration;

use crate::backend::Finding;

/// An environment variable that is a number of seconds.
pub(crate) struct Seconds {
    pub(crate) variable: &'static str,
    /// What is right, for messages.
    pub(crate) expected: &'static str,
    /// What holds without it, or where it is ignored.
    pub(crate) otherwise: &'static str,
    /// Whether a time is right.
    pub(crate) is_right: fn(Duration) -> bool,
}

impl Seconds {
    fn parse(&self, text: &OsStr) -> Option<Duration> {
        let seconds = text.to_str().and_then(|text| text.trim().parse().ok());
        let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        time.filter(|&time| (self.is_right)(time))
    }

    /// The time that is said. What is wrong is ignored, with a line of text.
    pub(crate) fn read(&self) -> Option<Duration> {
        let text = std::env::var_os(self.variable)?;
        let time = self.parse(&text);
        if time.is_none() {
            let Self { variable, expected, otherwise, .. } = self;
            eprintln!("stridewise: `{variable}` is {text:?}; expected {expected}; ignored, {otherwise}");
        }
        time
    }

    /// What can be said of it: `holds` is what follows from a time, or from none.
    pub(crate) fn diagnose(&self, holds: impl FnOnce(Option<Duration>) -> String) -> Finding {
        match std::env::var_os(self.variable) {
            None => Finding::fine(self.variable, format!("not set: {}", holds(None))),
            Some(text) => match self.parse(&text) {
                Some(time) => Finding::fine(self.variable, format!("{text:?}: {}", holds(Some(time)))),
                None => Finding::problem(
                    self.variable,
                    format!("{text:?} is ignored; expected {}", self.expected),
                    format!("export {0}=10, or unset {0}", self.variable),
                ),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_number_of_seconds() {
        let seconds = Seconds {
            variable: "UNUSED",
            expected: "a number of seconds above 0",
            otherwise: "none",
            is_right: |time| !time.is_zero(),
        };
        for (text, time) in
            [("1", Some(1_000)), (" 0.25 ", Some(250)), ("0", None), ("-1", None), ("x", None), ("", None)]
        {
            assert_eq!(seconds.parse(OsStr::new(text)), time.map(Duration::from_millis), "{text:?}");
        }
        assert_eq!(seconds.parse(OsStr::new("1e300")), None);
    }
}
