//! Axes as arguments: a number, a sequence of numbers, or `None`.

use pyo3::prelude::*;
use stridewise::{Strides, UsmArray};

use crate::array::PyArray;
use crate::array::construct::integers;
use crate::errors::Result;
use crate::objects;

/// The axes that an argument names; `None` for none named, which is all of them or the flattened array.
///
/// # Errors
/// `TypeError` for what is no integer or sequence of integers.
pub(crate) fn axes_of(name: &str, axis: Option<&Bound<'_, PyAny>>) -> Result<Option<Strides>> {
    axis.filter(|axis| !axis.is_none()).map(|axis| integers(name, axis)).transpose()
}

/// The arrays of a list, a tuple or what else can be gone through; for an array, its parts along the first axis.
///
/// # Errors
/// `TypeError` where one is no `usm_ndarray`.
pub(crate) fn arrays_of(arrays: &Bound<'_, PyAny>) -> Result<Vec<UsmArray>> {
    objects::values(arrays, |item| Ok(item.cast::<PyArray>()?.get().array().clone()))
}
