//! Broken rules of kernels as exceptions: with the line of the source, a caret under what is meant, and how to mend it.

use std::fmt::Write;

use pyo3::prelude::*;
use pyo3::types::PyString;
use stridewise::kernel::{Diagnostic, Position};

use crate::errors::KernelError;

/// A place in a source: file, line, column, and characters from there on. The last three count from 1; 0: not known.
type Place = (String, u32, u32, u32);

/// What an exception tells.
struct Report<'a> {
    rule: &'a str,
    message: &'a str,
    help: &'a str,
    at: &'a Place,
    notes: &'a [(Place, String)],
}

fn place(at: &Position) -> Place {
    (at.file.to_string(), at.line, at.column, at.length)
}

/// The exception for a rule that the engine found broken.
pub(crate) fn exception(broken: &Diagnostic) -> PyErr {
    let notes: Vec<_> = broken.notes.iter().map(|(at, text)| (place(at), text.clone())).collect();
    let report = Report {
        rule: broken.rule.name(),
        message: &broken.message,
        help: &broken.help,
        at: &place(&broken.at),
        notes: &notes,
    };
    Python::attach(|py| raised(py, &report).unwrap_or_else(|error| error))
}

/// The exception for a rule that the reader of a source found broken.
#[pyfunction]
#[pyo3(signature = (rule, message, help, at, notes=Vec::new()))]
#[expect(clippy::needless_pass_by_value, reason = "arguments of Python's")]
pub(crate) fn _kernel_error(
    py: Python<'_>,
    rule: &str,
    message: &str,
    help: &str,
    at: Place,
    notes: Vec<(Place, String)>,
) -> PyResult<Py<PyAny>> {
    let error = raised(py, &Report { rule, message, help, at: &at, notes: &notes })?;
    Ok(error.into_value(py).into_any())
}

fn raised(py: Python<'_>, report: &Report<'_>) -> PyResult<PyErr> {
    let mut text = format!("{} [{}]\n", report.message, report.rule);
    excerpt(py, &mut text, "  ", report.at)?;
    let _ = write!(text, "  help: {}", report.help);
    for (at, note) in report.notes {
        let _ = write!(text, "\n  note: {note}\n");
        excerpt(py, &mut text, "    ", at)?;
        text.truncate(text.trim_end().len());
    }
    let error = KernelError::new_err(text);
    let value = error.value(py);
    let (file, line, column, length) = report.at;
    value.setattr("rule", report.rule)?;
    value.setattr("message", report.message)?;
    value.setattr("help", report.help)?;
    value.setattr("filename", file)?;
    value.setattr("lineno", line)?;
    value.setattr("column", column)?;
    value.setattr("length", length)?;
    Ok(error)
}

/// Writes where a place is, its line where there is a source, and a caret under it.
fn excerpt(py: Python<'_>, text: &mut String, indent: &str, at: &Place) -> PyResult<()> {
    let (file, line, column, length) = at;
    let _ = writeln!(text, "{indent}File \"{file}\", line {line}");
    let found = py.import("linecache")?.call_method1("getline", (file, line))?;
    let source = found.cast::<PyString>()?.to_cow()?.replace('\t', " ");
    let shown = source.trim_start();
    let cut = source.chars().count() - shown.chars().count();
    let shown = shown.trim_end();
    if shown.is_empty() {
        return Ok(());
    }
    let _ = writeln!(text, "{indent}  {shown}");
    let Some(start) = (*column as usize).checked_sub(1 + cut) else { return Ok(()) };
    let left = shown.chars().count().saturating_sub(start).max(1);
    let carets = "^".repeat((*length as usize).clamp(1, left));
    let _ = writeln!(text, "{indent}  {}{carets}", " ".repeat(start));
    Ok(())
}
