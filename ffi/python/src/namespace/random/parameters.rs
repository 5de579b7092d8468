//! Arguments of random numbers: where they go, how many, and the parameters of distributions.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use stridewise::{
    Dtype, DtypeKind, Op, Queue, Reduction, Scalar, UsmArray, UsmKind, backend::Dims, broadcast_shapes,
};

use super::Argument;
use crate::array::construct::integers;
use crate::array::operand::Operand;
use crate::dtype;
use crate::errors::{Fault, Result};
use crate::namespace::placement::{kind_of, named_queue};

/// Where numbers go, and of which dtype.
pub(super) struct Place {
    pub(super) queue: Queue,
    pub(super) kind: UsmKind,
    pub(super) dtype: Option<Dtype>,
}

impl Place {
    /// What the arguments name; else the queue and the kind of the first array among the parameters, or the default ones.
    pub(super) fn read(
        [dtype, device, usm_type, sycl_queue, queue]: [Argument<'_, '_>; 5],
        parameters: &[&Operand<'_>],
    ) -> Result<Self> {
        let beside = parameters.iter().find_map(|parameter| match parameter {
            Operand::Array(array) => Some(UsmArray::clone(array)),
            _ => None,
        });
        let queue = match (named_queue(device, sycl_queue, queue)?, &beside) {
            (Some(queue), _) => queue,
            (None, Some(array)) => array.queue().clone(),
            (None, None) => Queue::default_queue()?,
        };
        let natural = beside.map_or_else(|| queue.device().default_kind(), |array| array.usm_kind());
        let dtype = dtype::optional(dtype, queue.device().dtype_support())?;
        Ok(Self { kind: kind_of(usm_type)?.unwrap_or(natural), queue, dtype })
    }

    /// The floating dtype that is named, or the device's default one.
    pub(super) fn float(&self) -> Dtype {
        self.dtype.unwrap_or_else(|| self.queue.device().dtype_support().default_float())
    }
}

/// The shape that `size` says, or else the one that arrays among the parameters broadcast to.
pub(super) fn shape_of(size: Argument<'_, '_>, parameters: &[&Operand<'_>]) -> Result<Dims> {
    if let Some(size) = size.filter(|size| !size.is_none()) {
        let extents = integers("size", size)?;
        return extents.iter().map(|&extent| super::super::count("size", extent)).collect();
    }
    let shapes: Vec<&[usize]> = parameters
        .iter()
        .filter_map(|parameter| match parameter {
            Operand::Array(array) => Some(array.shape()),
            _ => None,
        })
        .collect();
    Ok(broadcast_shapes(&shapes)?)
}

/// How many numbers a shape asks for; where there cannot be so many, the call fails anyway.
pub(super) fn len_of(shape: &[usize]) -> usize {
    shape.iter().try_fold(1_usize, |len, &extent| len.checked_mul(extent)).unwrap_or(0)
}

/// A parameter that is a number: that number.
pub(super) fn number_of(operand: &Operand<'_>) -> Option<f64> {
    match operand {
        Operand::Array(_) => None,
        // What is complex is no number of a distribution's.
        Operand::Weak(value) => Some(value.to_scalar(Dtype::F64).map_or(f64::NAN, Scalar::to_f64)),
        Operand::Scalar(value) if value.dtype().kind() == DtypeKind::Complex => Some(f64::NAN),
        Operand::Scalar(value) => Some(value.to_f64()),
    }
}

/// Complains of a parameter that is not finite or below a bound.
pub(super) fn check(py: Python<'_>, name: &str, operand: &Operand<'_>, least: f64) -> Result<()> {
    let expected = if least == 0.0 { "finite numbers, 0 or more" } else { "finite numbers" };
    let check = |value: f64| {
        if value.is_finite() && value >= least {
            return Ok(());
        }
        Err(Fault::Python(PyValueError::new_err(format!(
            "invalid value: `{name}` is {value}; expected {expected}"
        ))))
    };
    match operand {
        Operand::Array(array) => {
            let array: &UsmArray = array;
            if array.is_empty() {
                return Ok(());
            }
            let extreme = |reduction| array.reduce(reduction, None, false)?.item();
            let (low, high) = py.detach(|| {
                Ok::<_, stridewise::Error>((extreme(Reduction::Min)?, extreme(Reduction::Max)?))
            })?;
            check(low.to_f64())?;
            check(high.to_f64())
        }
        _ => check(number_of(operand).unwrap_or(f64::NAN)),
    }
}

/// Numbers times a scale, plus a place; in the dtype of the numbers.
pub(super) fn placed(
    numbers: UsmArray,
    scale: &Operand<'_>,
    loc: Option<&Operand<'_>>,
) -> stridewise::Result<UsmArray> {
    let dtype = numbers.dtype();
    let scaled = numbers.binary(Op::Multiply, scale.get())?;
    let moved = match loc {
        Some(loc) => scaled.binary(Op::Add, loc.get())?,
        None => scaled,
    };
    moved.astype(dtype)
}
