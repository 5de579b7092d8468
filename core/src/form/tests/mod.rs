mod form;
mod oracle;
mod paths;
mod rules;

use super::KernelBuilder;
use super::oracle::{Argument, Elements};
use crate::diagnostic::{Diagnostic, Position};
use crate::dtype::Element;
use crate::error::Error;
use crate::scalar::Scalar;

/// Says that what follows stands in a line of a file.
fn line(k: &mut KernelBuilder, line: u32) {
    k.at(Some(Position { file: "kernel.py".into(), line, column: 5, length: 7 }));
}

fn diagnostic(error: &Error) -> &Diagnostic {
    match error {
        Error::Kernel(diagnostic) => diagnostic,
        other => panic!("{other}"),
    }
}

fn array<T: Element>(values: impl IntoIterator<Item = T>) -> Argument {
    let elements: Vec<Scalar> = values.into_iter().map(T::to_scalar).collect();
    Argument::Array(Elements { shape: vec![elements.len()], elements })
}

fn values<T: Element>(argument: &Argument) -> Vec<T> {
    match argument {
        Argument::Array(elements) => elements.elements.iter().map(|e| e.get().unwrap()).collect(),
        other => panic!("{other:?}"),
    }
}
