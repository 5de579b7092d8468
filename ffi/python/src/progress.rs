//! How far long work has come, told to a function of Python's.

use std::time::{Duration, Instant};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use stridewise::Error;

use crate::errors::{Fault, Result, shown};

/// How long somebody who wants to know of progress is left without news, about.
pub(crate) const NEWS: Duration = Duration::from_millis(100);

/// A function that is called with how much is done and how much there is, a few times a second and at the end.
pub(crate) struct Progress {
    function: Py<PyAny>,
    told: Instant,
    /// What it has raised, or a signal's handler before it.
    raised: Option<PyErr>,
}

impl Progress {
    /// That of an argument, `what` of whose two are; none where it is `None`.
    ///
    /// # Errors
    /// `TypeError` for what cannot be called.
    pub(crate) fn of(function: Option<&Bound<'_, PyAny>>, what: &str) -> Result<Option<Self>> {
        let Some(function) = function.filter(|function| !function.is_none()) else { return Ok(None) };
        if !function.is_callable() {
            let text = format!("`progress` is {}; expected a function of {what}, or None", shown(function));
            return Err(Fault::Python(PyTypeError::new_err(text)));
        }
        Ok(Some(Self { function: function.clone().unbind(), told: Instant::now(), raised: None }))
    }

    /// Says how much is done, where it is time for it or the end.
    ///
    /// # Errors
    /// One that ends the work, where the function or the handler of a signal raises; [`ended`](Self::ended) knows what.
    pub(crate) fn tell(&mut self, done: usize, all: usize) -> stridewise::Result<()> {
        if done < all && self.told.elapsed() < NEWS { Ok(()) } else { self.tell_now(done, all) }
    }

    /// Says how much is done.
    ///
    /// # Errors
    /// As for [`tell`](Self::tell).
    pub(crate) fn tell_now(&mut self, done: usize, all: usize) -> stridewise::Result<()> {
        let told = Python::attach(|py| {
            py.check_signals()?;
            self.function.bind(py).call1((done, all)).map(drop)
        });
        self.told = Instant::now();
        told.map_err(|raised| {
            self.raised = Some(raised);
            Error::interrupted(
                "progress",
                "a function that has raised an error",
                "one that returns",
                "see what it raised",
            )
        })
    }

    /// What the work has ended with: what the function raised is raised.
    ///
    /// # Errors
    /// That, or the work's own.
    pub(crate) fn ended<T>(self, outcome: stridewise::Result<T>) -> Result<T> {
        match self.raised {
            Some(raised) => Err(Fault::Python(raised)),
            None => Ok(outcome?),
        }
    }
}
