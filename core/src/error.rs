//! One error type. Every complaint names the argument, the value, what was expected and how to mend it.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::sync::is_left_behind;

/// The result of everything here that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What was wrong, with what, and what to do about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Complaint {
    /// The argument (or operand, or object) that is at fault.
    pub argument: Cow<'static, str>,
    /// Its value.
    pub value: String,
    /// What was expected in its place.
    pub expected: Cow<'static, str>,
    /// How to mend it.
    pub help: Cow<'static, str>,
}

/// So many of what a noun names, as a message says it: `1 dimension`, `2 dimensions`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is {}; expected {}; help: {}", self.argument, self.value, self.expected, self.help)
    }
}

/// Bytes of a value that a complaint repeats at most: of a text of a million characters it would be these.
const VALUE_BYTES: usize = 4000;

/// Text up to a number of bytes.
struct Brief(String);

impl fmt::Write for Brief {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = VALUE_BYTES.saturating_sub(self.0.len());
        if text.len() <= room {
            self.0.push_str(text);
            return Ok(());
        }
        if room > 0 {
            self.0
                .extend(text.char_indices().take_while(|(at, _)| *at < room).map(|(_, character)| character));
            self.0.push('…');
        }
        // Nothing more is asked for then.
        Err(fmt::Error)
    }
}

/// A value as text, or the beginning of it.
fn brief(value: impl fmt::Display) -> String {
    let mut text = Brief(String::new());
    // An error means that this was enough.
    let _ = fmt::Write::write_fmt(&mut text, format_args!("{value}"));
    text.0
}

macro_rules! define_errors {
    ($($(#[$doc:meta])* $variant:ident $constructor:ident $text:literal;)*) => {
        /// Everything that can go wrong. Cheap to clone: an event's error is inherited by its dependents.
        ///
        /// Its `Debug` is its message, too: that is what a program ends with whose `main` returns the error, what `unwrap` says, and
        /// what `anyhow` and its like show. The fields are shown by `{:#?}`.
        #[derive(Clone, thiserror::Error)]
        #[non_exhaustive]
        pub enum Error {
            $($(#[$doc])* #[error($text)] $variant(Arc<Complaint>),)*
            /// Operands live on different queues (compute follows data).
            #[error(transparent)]
            ExecutionPlacement(Arc<ExecutionPlacementError>),
            /// A kernel breaks a rule, in its form or, in checked mode, by what it does.
            #[error("kernel: {0}")]
            Kernel(Arc<Diagnostic>),
            /// A task that this one depends on failed; nothing was executed.
            #[error("a task that this one depends on failed: {0}")]
            Dependency(Arc<Error>),
        }

        impl fmt::Debug for Error {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                if !f.alternate() {
                    return fmt::Display::fmt(self, f);
                }
                match self {
                    $(Self::$variant(complaint) => f.debug_tuple(stringify!($variant)).field(complaint).finish(),)*
                    Self::ExecutionPlacement(error) => f.debug_tuple("ExecutionPlacement").field(error).finish(),
                    Self::Kernel(diagnostic) => f.debug_tuple("Kernel").field(diagnostic).finish(),
                    Self::Dependency(cause) => f.debug_tuple("Dependency").field(cause).finish(),
                }
            }
        }

        /// The names of all variants.
        #[cfg(test)]
        const VARIANTS: &[&str] =
            &[$(stringify!($variant),)* "ExecutionPlacement", "Kernel", "Dependency"];

        impl Error {
            /// The argument, its value, what was expected and how to mend it; `None` of an error that says it in another form.
            #[must_use]
            pub fn complaint(&self) -> Option<&Complaint> {
                match self {
                    $(Self::$variant(complaint) => Some(complaint),)*
                    Self::Dependency(cause) => cause.complaint(),
                    Self::ExecutionPlacement(_) | Self::Kernel(_) => None,
                }
            }
            $(
                $(#[$doc])*
                pub fn $constructor(
                    argument: impl Into<Cow<'static, str>>,
                    value: impl fmt::Display,
                    expected: impl Into<Cow<'static, str>>,
                    help: impl Into<Cow<'static, str>>,
                ) -> Self {
                    Self::$variant(Arc::new(Complaint {
                        argument: argument.into(),
                        value: brief(value),
                        expected: expected.into(),
                        help: help.into(),
                    }))
                }
            )*
        }
    };
}

define_errors! {
    /// A value is outside what an argument accepts.
    Value value "invalid value: {0}";
    /// Shapes do not fit each other or their argument.
    Shape shape "shape mismatch: {0}";
    /// An axis or the number of dimensions is out of range.
    Axis axis "axis out of range: {0}";
    /// An index, range, stride or offset reaches outside its array or allocation.
    OutOfBounds out_of_bounds "out of bounds: {0}";
    /// Arithmetic on sizes, strides or offsets does not fit the machine.
    Overflow overflow "size overflow: {0}";
    /// A dtype is unknown, not supported by the operation or unable to hold the result.
    Dtype dtype "dtype: {0}";
    /// Memory could not be allocated.
    Alloc alloc "allocation failed: {0}";
    /// The host asked for memory that it may not touch.
    HostAccess host_access "host access refused: {0}";
    /// Memory is lent to a host view, or an array is read-only.
    Borrow borrow "access conflict: {0}";
    /// No device answers to a filter string, or a device cannot be divided as asked.
    DeviceSelection device_selection "device selection: {0}";
    /// A device, queue or backend cannot do what was asked.
    Unsupported unsupported "not supported: {0}";
    /// A task failed or panicked.
    Task task "task failed: {0}";
    /// A wait ended before the work that it was for, as somebody wanted (see
    /// [`set_interrupt`](crate::backend::set_interrupt)); the work goes on.
    Interrupted interrupted "interrupted: {0}";
    /// The runtime of a device reported an error.
    Runtime runtime "the device's runtime: {0}";
    /// A matrix cannot be decomposed: it is singular or not positive definite, or an iteration does not converge.
    Decomposition decomposition "decomposition: {0}";
    /// A source of kernels does not compile.
    Compilation compilation "compilation: {0}";
    /// Reading or writing a file failed, or its contents are not what they should be.
    Io io "input/output: {0}";
}

impl Error {
    /// The error of work that depends on work that failed with this one. Only the root cause is kept, so that long chains
    /// neither read nor drop as deep recursions. What a fork left behind is so to whoever wants it, and a wait that was
    /// interrupted is nothing that failed.
    #[must_use]
    pub fn inherited(self) -> Self {
        match self {
            Self::Dependency(_) | Self::Interrupted(_) => self,
            cause if is_left_behind(&cause) => cause,
            cause => Self::Dependency(Arc::new(cause)),
        }
    }

    /// The error of a kernel that breaks a rule. Not a `From`, which would leave the type of many an error open elsewhere.
    #[must_use]
    pub fn kernel(broken: Diagnostic) -> Self {
        Self::Kernel(Arc::new(broken))
    }

    /// The error of work that ended in a panic with this payload, as `catch_unwind` gives it.
    #[must_use]
    pub fn panicked(argument: &'static str, payload: &(dyn Any + Send)) -> Self {
        let message = payload.downcast_ref::<&str>().copied();
        let message = message.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        Self::task(
            argument,
            format!("a panic: {}", message.unwrap_or("of a value that is not a string")),
            "an execution to the end",
            "see the panic's message and place on the standard error output",
        )
    }
}

/// Operands are associated with different queues, so none of them says where to compute.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "execution placement: `{first_argument}` is on {first_queue}, `{second_argument}` is on {second_queue}; \
     expected one queue for all operands (compute follows data); help: migrate one operand with \
     `.to_queue(&queue)` or `.to_device(\"…\")`, or create both on the same queue"
)]
pub struct ExecutionPlacementError {
    /// Name of the first operand.
    pub first_argument: String,
    /// Its queue.
    pub first_queue: String,
    /// Name of the operand that disagrees.
    pub second_argument: String,
    /// Its queue.
    pub second_queue: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The page of errors on the site, in a checkout.
    #[test]
    fn every_variant_has_its_section_and_remedy_on_the_page_of_errors() {
        let Ok(page) =
            std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/site/errors.md"))
        else {
            return;
        };
        let mut sections: Vec<(&str, &str)> = page
            .split("\n## `")
            .skip(1)
            .map(|section| section.split_once('`').unwrap())
            .map(|(name, rest)| (name, rest.split("\n## ").next().unwrap()))
            .collect();
        for (name, text) in &sections {
            assert!(text.contains("Remedy: ") && text.contains("Python: `") && text.contains("C:"), "{name}");
        }
        sections.sort_unstable();
        let mut variants = VARIANTS.to_vec();
        variants.sort_unstable();
        assert_eq!(sections.into_iter().map(|(name, _)| name).collect::<Vec<_>>(), variants);
    }

    #[test]
    fn a_program_that_ends_with_an_error_shows_its_message() {
        let error = Error::value("count", 7, "an even number", "pass 6 or 8");
        let inherited = error.clone().inherited();
        assert_eq!(format!("{error:?}"), error.to_string());
        assert_eq!(
            format!("{inherited:?}"),
            "a task that this one depends on failed: invalid value: `count` is 7; expected an even number; help: pass 6 or 8"
        );
        let fields = format!("{error:#?}");
        assert!(fields.starts_with("Value(") && fields.contains("expected: \"an even number\""), "{fields}");
        // In a chain of somebody else's errors, too.
        let outer: Box<dyn std::error::Error> = Box::new(error);
        assert_eq!(format!("{outer:?}"), outer.to_string());
    }

    #[test]
    fn a_value_is_repeated_as_a_whole_or_cut_off() {
        let complaint = |value: &str| match Error::value("argument", value, "another", "none") {
            Error::Value(complaint) => complaint.value.clone(),
            other => unreachable!("{other}"),
        };
        assert_eq!(complaint("short"), "short");
        let just = "é".repeat(VALUE_BYTES / 2);
        assert_eq!(complaint(&just), just);
        for long in ["x".repeat(VALUE_BYTES + 1), "é".repeat(1 << 20), format!("x{just}")] {
            let cut = complaint(&long);
            assert!(cut.len() <= VALUE_BYTES + 5 && long.starts_with(cut.strip_suffix('…').unwrap()));
        }
    }
}
