//! The body of a function as it is written: one line per value.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Write as _;

use stridewise_core::Dtype;

use super::library::Helper;
use crate::kernels::Target;
use crate::kernels::text::c_type;

/// A value of a [`Writer`]'s function.
#[derive(Clone, Copy)]
pub(super) struct Name(u32);

/// The lines of a function so far, the texts that stand for its values, and the functions that it calls.
pub(super) struct Writer<'t> {
    pub(super) target: &'t Target,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    /// What a value is in an expression: a variable, or a constant. Needs no brackets.
    names: Vec<String>,
    variables: usize,
    body: String,
    helpers: BTreeSet<(Helper, Dtype)>,
}

impl<'t> Writer<'t> {
    pub(super) fn new(target: &'t Target) -> Self {
        Self { target, state: RefCell::default() }
    }

    /// A value that has a text of its own.
    pub(super) fn name(&self, text: String) -> Name {
        let mut state = self.state.borrow_mut();
        state.names.push(text);
        // A function has no billions of values.
        Name((state.names.len() - 1) as u32)
    }

    /// A value that is computed in a line of its own, once.
    pub(super) fn line(&self, c_type: &str, expression: &str) -> Name {
        let variable = {
            let mut state = self.state.borrow_mut();
            let variable = format!("t{}", state.variables);
            state.variables += 1;
            // Writing to a `String` cannot fail.
            let _ = writeln!(state.body, "    const {c_type} {variable} = {expression};");
            variable
        };
        self.name(variable)
    }

    /// Adds lines as they are.
    pub(super) fn raw(&self, lines: &str) {
        let mut state = self.state.borrow_mut();
        state.body.push_str(lines);
        state.body.push('\n');
    }

    /// The text of a value.
    pub(super) fn text(&self, name: Name) -> String {
        self.state.borrow().names[name.0 as usize].clone()
    }

    /// Name of a function of the library, which the function's text needs from here on.
    pub(super) fn helper(&self, helper: Helper, dtype: Dtype) -> String {
        self.state.borrow_mut().helpers.insert((helper, dtype));
        helper.name(c_type(dtype))
    }

    /// The lines, and the functions that they call.
    pub(super) fn finish(self) -> (String, BTreeSet<(Helper, Dtype)>) {
        let state = self.state.into_inner();
        (state.body, state.helpers)
    }
}
