//! What the attribute macros `kernel` and `device_function` make of a function: calls of the builder by way of types, so that
//! rustc checks a kernel as it checks any function, at the tokens that the user wrote.
//!
//! In a kernel a number of type `f32` is an [`Expr<'_, f32>`](Expr), a mutable local one a [`Var`], an array a [`Global`],
//! [`Local`] or [`Private`]; operators, indices and control flow are the functions of [`support`]. Every statement keeps the
//! line and column of what was written. What the builder reports is kept until the kernel is finished: the first error counts.
//!
//! A user writes the names of these types in a kernel's parameters and else nothing of this module: `x[i] * 2.0` of a
//! `&Global<f32>` is an `Expr<'_, f32>`, and where rustc speaks of one, it means a number in the kernel.
//!
//! ```
//! use stridewise_core::kernel::{Global, Item};
//!
//! #[stridewise_macros::kernel(crate = stridewise_core)]
//! fn double(item: Item<1>, x: &mut Global<f32>) {
//!     let i = item.global_id(0);
//!     x[i] = x[i] * 2.0;
//! }
//!
//! println!("{}", double::kernel()?.form()); // what the attribute has built
//! # Ok::<(), stridewise_core::Error>(())
//! ```

mod control;
mod instances;
mod item;
mod math;
mod objects;
pub mod support;

use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;

pub use control::Site;
pub use instances::Instances;
pub use item::Item;
pub use objects::{ConstantArray, Global, Indices, Local, Private};

use crate::diagnostic::Position;
use crate::dtype::Element;
use crate::error::{Error, Result};
use crate::form::{Kernel, KernelBuilder};
use crate::form::{Value, Variable};
use crate::scalar::Scalar;

/// A kernel that is being built.
pub struct Context(RefCell<State>);

struct State {
    builder: KernelBuilder,
    error: Option<Error>,
    /// The file of the last position, so that all positions in it share its name.
    file: Arc<str>,
    /// Values that are constants.
    constants: Vec<(Value, Scalar)>,
    /// Loops that are open.
    loops: usize,
}

/// A number in a kernel, which is another one for each item.
pub struct Expr<'k, T> {
    context: &'k Context,
    value: Value,
    ty: PhantomData<fn() -> T>,
}

/// A mutable local variable of a kernel.
pub struct Var<'k, T> {
    context: &'k Context,
    variable: Variable,
    ty: PhantomData<fn() -> T>,
}

impl<T> Clone for Expr<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Expr<'_, T> {}
impl<T> Clone for Var<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Var<'_, T> {}
impl<T> fmt::Debug for Expr<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.value)
    }
}

impl Context {
    fn new(builder: KernelBuilder) -> Self {
        let (error, constants, loops) = (None, Vec::new(), 0);
        Self(RefCell::new(State { builder, error, file: Arc::from(""), constants, loops }))
    }

    fn finish(self) -> Result<Kernel> {
        let state = self.0.into_inner();
        match state.error {
            Some(error) => Err(error),
            None => state.builder.finish(),
        }
    }

    /// Calls the builder for what stands at a place, unless there was an error.
    fn step<R>(
        &self,
        at: &'static Location<'static>,
        default: R,
        step: impl FnOnce(&mut KernelBuilder) -> Result<R>,
    ) -> R {
        let mut state = self.0.borrow_mut();
        if state.error.is_some() {
            return default;
        }
        if *state.file != *at.file() {
            state.file = at.file().into();
        }
        let file = Arc::clone(&state.file);
        let position = Position { file, line: at.line(), column: at.column(), length: 0 };
        state.builder.at(Some(position));
        match step(&mut state.builder) {
            Ok(result) => result,
            Err(error) => {
                state.error = Some(error);
                default
            }
        }
    }

    /// The same, of a value of a type.
    #[track_caller]
    fn define<T>(&self, step: impl FnOnce(&mut KernelBuilder) -> Result<Value>) -> Expr<'_, T> {
        let value = self.step(Location::caller(), Value::of_number(0), step);
        self.expr(value)
    }

    /// The same, of what has no value.
    #[track_caller]
    fn perform(&self, step: impl FnOnce(&mut KernelBuilder) -> Result<()>) {
        self.step(Location::caller(), (), step);
    }

    const fn expr<T>(&self, value: Value) -> Expr<'_, T> {
        Expr { context: self, value, ty: PhantomData }
    }

    /// The number that a value is, where it is a constant.
    fn constant(&self, value: Value) -> Option<Scalar> {
        self.0.borrow().constants.iter().rev().find(|(known, _)| *known == value).map(|(_, scalar)| *scalar)
    }
}

impl<'k, T: Element> Var<'k, T> {
    /// What it holds.
    #[track_caller]
    #[must_use]
    pub fn get(&self) -> Expr<'k, T> {
        self.context.define(|k| k.get(self.variable))
    }

    /// Gives it a value.
    #[track_caller]
    pub fn set(&self, value: Expr<'k, T>) {
        self.context.perform(|k| k.set(self.variable, value.value));
    }
}
