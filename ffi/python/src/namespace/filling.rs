//! What new arrays are filled with.

use pyo3::prelude::*;
use stridewise::{Dtype, Queue, Scalar, UsmArray, UsmArrayBuilder, result_type};

use crate::arguments;
use crate::array::operand::Operand;
use crate::errors::Result;

/// What an array is filled with.
pub(super) enum Filling {
    Value(Scalar),
    /// The elements of an array, which are broadcast, in its dtype or the one that is named.
    Elements(UsmArray),
}

impl Filling {
    /// That of an argument, and its dtype where none is named: that of an array or scalar, or what the number asks for.
    pub(super) fn read(value: &Bound<'_, PyAny>, dtype: Option<Dtype>, queue: &Queue) -> Result<Self> {
        let operand = value.extract::<Operand<'_>>();
        match operand.map_err(|error| arguments::named(value.py(), "fill_value", error))? {
            Operand::Array(array) if array.len() == 1 => {
                let array: &UsmArray = &array;
                let value = value.py().detach(|| array.item())?;
                Ok(Self::Value(dtype.map_or(value, |dtype| value.cast(dtype))))
            }
            Operand::Array(mut array) => {
                array.put_on(queue)?;
                Ok(Self::Elements(array.astype(dtype.unwrap_or(array.dtype()))?))
            }
            Operand::Scalar(value) => Ok(Self::Value(dtype.map_or(value, |dtype| value.cast(dtype)))),
            Operand::Weak(value) => {
                let support = queue.device().dtype_support();
                let dtype = dtype.map_or_else(|| result_type(&[], &[value], support), Ok)?;
                Ok(Self::Value(value.assigned(dtype)?))
            }
        }
    }

    pub(super) fn dtype(&self) -> Dtype {
        match self {
            Self::Value(value) => value.dtype(),
            Self::Elements(elements) => elements.dtype(),
        }
    }

    /// The array that a builder makes, filled.
    pub(super) fn fill(self, builder: UsmArrayBuilder) -> stridewise::Result<UsmArray> {
        match self {
            Self::Value(value) => builder.filled(value),
            Self::Elements(elements) => {
                let made = builder.build()?;
                made.assign(&elements)?;
                Ok(made)
            }
        }
    }
}
