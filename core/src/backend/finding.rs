//! What a driver can say about why it lists the devices that it lists.

use std::borrow::Cow;

use crate::error::Error;

/// Whether an environment variable of those that only `1` turns on does so.
#[must_use]
pub fn is_switched_on(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| value == "1")
}

/// How bad a finding is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Health {
    /// As it should be.
    Fine,
    /// It works, but something is missing, ignored or slower than it could be.
    Note,
    /// Something that was asked for, or is there, cannot be used.
    Problem,
}

impl Health {
    /// `ok`, `note` or `problem`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fine => "ok",
            Self::Note => "note",
            Self::Problem => "problem",
        }
    }
}

/// One thing that was looked at. That of an environment variable has its name as the subject, whether it is set or not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// What was looked at: `loader`, `/etc/OpenCL/vendors/pocl.icd`, `STRIDEWISE_NUM_THREADS`.
    pub subject: Cow<'static, str>,
    /// How bad it is.
    pub health: Health,
    /// What was found.
    pub text: String,
    /// The line that mends it; empty where there is nothing to mend.
    pub remedy: Cow<'static, str>,
}

impl Finding {
    /// All is well.
    #[must_use]
    pub fn fine(subject: impl Into<Cow<'static, str>>, text: impl Into<String>) -> Self {
        Self { subject: subject.into(), health: Health::Fine, text: text.into(), remedy: "".into() }
    }
    /// It works, but not as well as it could.
    #[must_use]
    pub fn note(
        subject: impl Into<Cow<'static, str>>,
        text: impl Into<String>,
        remedy: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { subject: subject.into(), health: Health::Note, text: text.into(), remedy: remedy.into() }
    }
    /// It cannot be used.
    #[must_use]
    pub fn problem(
        subject: impl Into<Cow<'static, str>>,
        text: impl Into<String>,
        remedy: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { subject: subject.into(), health: Health::Problem, text: text.into(), remedy: remedy.into() }
    }
    /// An error that something ended in; its help is the remedy.
    #[must_use]
    pub fn of_error(subject: impl Into<Cow<'static, str>>, error: &Error) -> Self {
        let subject = subject.into();
        match error.complaint() {
            // The subject says already what it is about.
            Some(c) if c.argument.ends_with(&*subject) => {
                let text = format!("{}; expected {}", c.value, c.expected);
                Self::problem(subject, text, c.help.clone())
            }
            Some(c) => {
                let text = format!("`{}` is {}; expected {}", c.argument, c.value, c.expected);
                Self::problem(subject, text, c.help.clone())
            }
            None => Self::problem(subject, error.to_string(), "see the message"),
        }
    }
    /// What can be said of a variable that [only `1` turns on](is_switched_on).
    #[must_use]
    pub fn of_switch(variable: &'static str, what: &str) -> Self {
        let value = std::env::var_os(variable);
        match value.as_deref().map(|value| value.to_string_lossy()) {
            None => Self::fine(variable, format!("not set: {what} is off")),
            Some(value) if value == "1" => Self::fine(variable, format!("1: {what} is on")),
            Some(value) if value.is_empty() || value == "0" => {
                Self::fine(variable, format!("{value:?}: {what} is off"))
            }
            Some(value) => Self::note(
                variable,
                format!("{value:?}: {what} is off, as only 1 turns it on"),
                format!("export {variable}=1, or unset {variable}"),
            ),
        }
    }
}
