//! The arguments that say where an array is made: `device=`, `sycl_queue=`, `queue=` and `usm_type=`.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;
use stridewise::{Order, Queue, UsmKind};

use crate::errors::{Fault, Result};
use crate::runtime::queue::{PyQueue, device_of, queue_argument};

/// The queue that arguments name: `sycl_queue` or its other name `queue`, or the one of `device` (a Device, a Queue or
/// a filter string); without any, the default device's.
///
/// # Errors
/// `TypeError` for an argument of another type; `ValueError` where two of them name different queues;
/// `DeviceSelectionError`.
pub(crate) fn queue_of(
    device: Option<&Bound<'_, PyAny>>,
    sycl_queue: Option<&Bound<'_, PyAny>>,
    queue: Option<&Bound<'_, PyAny>>,
) -> Result<Queue> {
    Ok(match named_queue(device, sycl_queue, queue)? {
        Some(queue) => queue,
        None => Queue::default_queue()?,
    })
}

/// As [`queue_of`]; `None` where no argument names a queue.
pub(crate) fn named_queue(
    device: Option<&Bound<'_, PyAny>>,
    sycl_queue: Option<&Bound<'_, PyAny>>,
    queue: Option<&Bound<'_, PyAny>>,
) -> Result<Option<Queue>> {
    let given = |argument: Option<&Bound<'_, PyAny>>| argument.is_some_and(|argument| !argument.is_none());
    let mut named: Option<Queue> = None;
    let mut take = |queue: Queue| match &named {
        Some(other) if *other != queue => Err(Fault::Python(PyValueError::new_err(format!(
            "`queue` is {queue}, another argument names {other}; expected one queue; help: give one of `device`, \
             `sycl_queue` and `queue`"
        )))),
        _ => {
            named = Some(queue);
            Ok(())
        }
    };
    for (name, argument) in [("sycl_queue", sycl_queue), ("queue", queue)] {
        if let Some(argument) = argument.filter(|argument| !argument.is_none()) {
            let Some(queue) = queue_argument(argument)? else {
                return Err(Fault::Python(PyTypeError::new_err(format!(
                    "`{name}` is {}; expected a Queue or None; help: name a device by `device=`",
                    argument.repr()?
                ))));
            };
            take(queue)?;
        }
    }
    if given(device) {
        match device.and_then(|device| device.cast::<PyQueue>().ok()) {
            Some(queue) => take(queue.get().0.clone())?,
            None => take(device_of(device)?.queue()?)?,
        }
    }
    Ok(named)
}

/// The USM kind that an argument names, or `None`.
pub(crate) fn kind_of(usm_type: Option<&Bound<'_, PyAny>>) -> Result<Option<UsmKind>> {
    let Some(argument) = usm_type.filter(|argument| !argument.is_none()) else { return Ok(None) };
    match argument.cast::<PyString>() {
        Ok(name) => Ok(Some(name.to_cow()?.parse()?)),
        Err(_) => Err(Fault::Python(PyTypeError::new_err(format!(
            "`usm_type` is {}; expected \"device\", \"shared\" or \"host\"; help: leave it out for device memory",
            argument.repr()?
        )))),
    }
}

/// How elements are to lie; `None` for "A" and "K", the order of what there is already.
pub(crate) fn order_of(order: &str) -> Result<Option<Order>> {
    match order {
        "C" | "c" => Ok(Some(Order::C)),
        "F" | "f" => Ok(Some(Order::F)),
        "A" | "a" | "K" | "k" => Ok(None),
        other => Err(Fault::Python(PyValueError::new_err(format!(
            "`order` is {other:?}; expected \"C\", \"F\", \"A\" or \"K\"; help: \"C\" is row-major, \"F\" column-major"
        )))),
    }
}
