//! The arguments that say where an array is made: `device=`, `sycl_queue=`, `queue=` and `usm_type=`.
//!
//! What makes an array without a `usm_type` makes it in shared memory where the device has that of its own,
//! else in device memory (`Device::default_kind`). dpctl makes arrays in device memory, which host code must
//! not touch, so NumPy, `memoryview` and DLPack refuse or copy them, and what they write to the copy is lost:
//! with arrays in device memory, 655 tests of SciPy's own suite failed on `ndimage.…(x, output=y)`. On a
//! processor nothing is gained by it, as all kinds are the same memory. The constructor `usm_ndarray` keeps
//! `buffer="device"`, which the document that it is from promises; `__array__` copies device memory of the
//! host's devices and refuses that of others, as a transfer is asked for (`asnumpy`). The cost: an array
//! without a kind on the host does not show that a program would touch device memory elsewhere. Who tests for
//! it says `usm_type="device"`, guarded by `STRIDEWISE_GUARD=1`. With a device whose shared memory is its own
//! and slow, look at this again.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;
use stridewise::{ArrayOrScalar, Order, Queue, UsmArray, UsmArrayBuilder, UsmKind};

use crate::arguments;
use crate::errors::{Fault, Result, shown};
use crate::protocol::{self, Request, numpy};
use crate::runtime::device::PyDevice;
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
                    shown(argument)
                ))));
            };
            take(queue)?;
        }
    }
    if given(device) {
        let queue = device.and_then(|device| device.cast::<PyQueue>().ok());
        let own = device.and_then(|device| device.cast::<PyDevice>().ok());
        take(match (queue, own) {
            (Some(queue), _) => queue.get().0.clone(),
            (None, Some(device)) => device.get().queue_of()?,
            (None, None) => device_of(device)?.queue()?,
        })?;
    }
    Ok(named)
}

/// The USM kind that an argument names, or `None`.
pub(crate) fn kind_of(usm_type: Option<&Bound<'_, PyAny>>) -> Result<Option<UsmKind>> {
    let Some(argument) = usm_type.filter(|argument| !argument.is_none()) else { return Ok(None) };
    match argument.cast::<PyString>() {
        Ok(name) => Ok(Some(arguments::characters("usm_type", name)?.parse()?)),
        Err(_) => Err(Fault::Python(PyTypeError::new_err(format!(
            "`usm_type` is {}; expected \"device\", \"shared\" or \"host\"; help: leave it out for memory that the host shares with \
             the device, or that of the device where there is none",
            shown(argument)
        )))),
    }
}

/// The array that an object of others is, and where it is to be in place of what is not named: one in memory of the
/// processor has no queue of its own and goes where an array of numbers would, by a copy unless none may be made.
///
/// # Errors
/// What the protocols report.
pub(crate) fn imported(
    object: &Bound<'_, PyAny>,
    copy: &mut Option<bool>,
    queue: &mut Option<Queue>,
    kind: &mut Option<UsmKind>,
) -> Result<Option<UsmArray>> {
    if !numpy::is_array(object)
        && let Some(array) = protocol::import_usm(object, &Request { queue: queue.as_ref(), copy: *copy })?
    {
        return Ok(Some(array));
    }
    let place = queue.clone().map_or_else(Queue::default_queue, Ok)?;
    let array = protocol::import(object, &Request { queue: Some(&place), copy: *copy })?;
    if let Some(array) = &array {
        if *copy.get_or_insert(true) || array.context() != place.context() {
            kind.get_or_insert(place.device().default_kind());
        }
        *queue = Some(place);
    }
    Ok(array)
}

/// How elements are to lie.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Lie {
    /// "C" or "F".
    In(Order),
    /// "A": column-major where what there is already is that and not row-major, else row-major.
    Either,
    /// "K": with the axes in the order of what there is already.
    Kept,
}

impl Lie {
    /// The order of new elements where there are none yet.
    pub(crate) fn named(self) -> Order {
        if let Self::In(order) = self { order } else { Order::C }
    }

    /// The order of an array with the elements of another; `None` for that of the other's axes.
    pub(crate) fn of(self, array: &UsmArray) -> Option<Order> {
        let flags = array.flags();
        match self {
            Self::In(order) => Some(order),
            Self::Either if flags.f_contiguous && !flags.c_contiguous => Some(Order::F),
            Self::Either => Some(Order::C),
            Self::Kept => None,
        }
    }

    /// The builder of an array that lies so, beside another of its shape.
    pub(crate) fn like(self, array: &UsmArray, builder: UsmArrayBuilder) -> UsmArrayBuilder {
        match self.of(array) {
            Some(order) => builder.order(order),
            None => builder.order_as(array),
        }
    }

    /// The result of operands, or a copy of it that lies so beside them.
    pub(crate) fn arranged(
        self,
        result: UsmArray,
        operands: &[ArrayOrScalar<'_>],
    ) -> stridewise::Result<UsmArray> {
        let mut arrays = operands.iter().filter_map(|operand| match operand {
            ArrayOrScalar::Array(array) => Some(*array),
            _ => None,
        });
        match self {
            Self::Kept => Ok(result),
            Self::In(order) => result.in_order(order),
            // Only what all operands are.
            Self::Either => match arrays.find(|array| self.of(array) == Some(Order::C)) {
                Some(_) => result.in_order(Order::C),
                None => result.in_order(Order::F),
            },
        }
    }
}

/// How elements are to lie.
pub(crate) fn order_of(order: &str) -> Result<Lie> {
    match order {
        "C" | "c" => Ok(Lie::In(Order::C)),
        "F" | "f" => Ok(Lie::In(Order::F)),
        "A" | "a" => Ok(Lie::Either),
        "K" | "k" => Ok(Lie::Kept),
        other => Err(Fault::Python(PyValueError::new_err(format!(
            "`order` is {other:?}; expected \"C\", \"F\", \"A\" or \"K\"; help: \"C\" is row-major, \"F\" column-major"
        )))),
    }
}
