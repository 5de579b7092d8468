//! A cell of the matrix: one case on one device, and what became of it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use libtest_mimic::{Completion, Failed, Trial};
use stridewise::{Device, Dtype, Error};

use crate::Expectation;

/// Why a case ended before its end.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The device says that it cannot do this.
    Unsupported(String),
    /// A wrong answer: operation, dtype, layout, index, inputs, what came and what was expected.
    Wrong(String),
}

pub(crate) type Check<T = ()> = Result<T, Stop>;

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        match error {
            Error::Unsupported(_) => Self::Unsupported(error.to_string()),
            other => Self::Wrong(format!("unexpected error: {other}")),
        }
    }
}

/// Ends a case with a wrong answer.
macro_rules! wrong {
    ($($text:tt)*) => { return Err($crate::cell::Stop::Wrong(format!($($text)*))) };
}
pub(crate) use wrong;

/// Ends a case with a wrong answer unless a condition holds.
macro_rules! ensure {
    ($condition:expr, $($text:tt)*) => {{
        // A comparison with NaN does not hold.
        let holds: bool = $condition;
        if !holds { $crate::cell::wrong!($($text)*) }
    }};
}
pub(crate) use ensure;

/// Ends a case with its reason where the device lacks a dtype.
pub(crate) fn need(device: &Device, dtype: Dtype) -> Check {
    match device.dtype_support().supports(dtype) {
        true => Ok(()),
        false => Err(Stop::Unsupported(format!("{device} has no {dtype}"))),
    }
}

/// One test, without the device it runs on.
#[derive(Clone)]
pub(crate) struct Case {
    /// `suite::name/dtype`.
    pub(crate) name: String,
    run: std::sync::Arc<dyn Fn(&Device) -> Check + Send + Sync>,
}

impl Case {
    pub(crate) fn new(
        name: impl Into<String>,
        run: impl Fn(&Device) -> Check + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), run: std::sync::Arc::new(run) }
    }

    /// The case on a device, as a test of the harness.
    pub(crate) fn on(&self, device: &Device, expected: &'static [Expectation]) -> Trial {
        let (case, device) = (self.clone(), device.clone());
        let name = format!("{}/{device}", case.name);
        Trial::ignorable_test(name, move || case.judge(&device, expected))
    }

    fn judge(&self, device: &Device, expected: &[Expectation]) -> Result<Completion, Failed> {
        let outcome = catch_unwind(AssertUnwindSafe(|| (self.run)(device))).unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            Err(Stop::Wrong(format!("panicked: {}", text.unwrap_or("without a message"))))
        });
        let filter = device.filter_string();
        let row = expected.iter().find(|row| matches(row.device, &filter) && matches(row.test, &self.name));
        match (outcome, row) {
            (Ok(()), None) => Ok(Completion::Completed),
            (Ok(()), Some(row)) => Err(Failed::from(format!(
                "passes, but is expected to fail ({}): remove the row from the table",
                row.reason
            ))),
            (Err(Stop::Unsupported(reason)), _) => {
                Ok(Completion::ignored_with(format!("unsupported: {reason}")))
            }
            (Err(Stop::Wrong(_)), Some(row)) => {
                Ok(Completion::ignored_with(format!("fails as expected: {}", row.reason)))
            }
            (Err(Stop::Wrong(text)), None) => Err(Failed::from(text)),
        }
    }
}

/// Whether a text has the form of a pattern, in which `*` stands for any text.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((head, rest)) => text.strip_prefix(head).is_some_and(|tail| {
            tail.char_indices().any(|(i, _)| matches(rest, &tail[i..])) || matches(rest, "")
        }),
    }
}

/// Short name of a dtype in names of tests: `f32`.
pub(crate) fn short(dtype: Dtype) -> String {
    format!("{dtype:?}").to_lowercase()
}
