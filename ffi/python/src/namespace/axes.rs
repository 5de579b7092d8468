//! Axes as arguments: a number, a sequence of numbers, or `None`.

use pyo3::prelude::*;
use stridewise::memory::heap;
use stridewise::{Complaint, Error, Strides, UsmArray};

use crate::arguments;
use crate::array::construct::integers;
use crate::array::operand::{Given, Part, gather};
use crate::errors::Result;
use crate::objects;

/// The axes that an argument names; `None` for none named, which is all of them or the flattened array.
///
/// # Errors
/// `TypeError` for what is no integer or sequence of integers.
pub(crate) fn axes_of(name: &str, axis: Option<&Bound<'_, PyAny>>) -> Result<Option<Strides>> {
    axis.filter(|axis| !axis.is_none()).map(|axis| integers(name, axis)).transpose()
}

/// An error of the engine's about its argument `axes`, which is `axis` here.
pub(super) fn of_axis(error: Error) -> Error {
    let renamed = |make: fn(_, _, _, _) -> Error, complaint: &Complaint| {
        let Complaint { value, expected, help, .. } = complaint.clone();
        make("axis", value, expected, help)
    };
    match &error {
        Error::Axis(complaint) if complaint.argument == "axes" => renamed(Error::axis, complaint),
        Error::Shape(complaint) if complaint.argument == "axes" => renamed(Error::shape, complaint),
        _ => error.clone(),
    }
}

/// An array that is one of an argument's.
fn given_among<'py>(name: &str, item: &Bound<'py, PyAny>) -> PyResult<Given<'py>> {
    item.extract().map_err(|error| arguments::named(item.py(), &format!("an element of `{name}`"), error))
}

/// The arrays of a list, a tuple or what else can be gone through; for an array, its parts along the first axis.
///
/// # Errors
/// `TypeError` where one is no array; as for [`gather`].
pub(crate) fn arrays_of(name: &'static str, arrays: &Bound<'_, PyAny>) -> Result<Vec<UsmArray>> {
    // As NumPy has it, what is gone through once is no sequence.
    if arrays.try_iter().is_err() || !arrays.hasattr("__getitem__")? {
        let error = arguments::wrong(arrays, "a sequence of arrays");
        return Err(arguments::named(arrays.py(), name, error).into());
    }
    let mut given = objects::values(arrays, |item| Ok(given_among(name, &item)?))?;
    if given.iter().any(Part::is_foreign) {
        gather(&mut heap::collect(name, given.iter_mut().map(|array| array as &mut dyn Part))?)?;
    }
    Ok(heap::collect(name, given.iter().map(|array| array.array().clone()))?)
}
