//! Groups: the elements that have a key in common, and what is computed of those of each group.

use super::addressing::IndexMode;
use super::{Unique, UsmArray};
use crate::dtype::{Dtype, DtypeKind};
use crate::error::{Error, Result};
use crate::ops::Op;
use crate::runtime::common_queue;

/// Groups of elements by keys, which [`UsmArray::group_by`] makes. Groups stand in the order of their keys. What is computed of a group
/// takes its elements in the order in which they lie, on every device.
#[derive(Clone, Debug)]
pub struct Groups {
    by: Unique,
}

impl UsmArray {
    /// Groups elements by these keys: all places that have one key are a group. Each NaN is a group of its own, as in
    /// [`unique_all`](Self::unique_all). Integers that lie close to each other are counted, others sorted.
    ///
    /// # Errors
    /// As for [`sort`](Self::sort).
    pub fn group_by(&self) -> Result<Groups> {
        Ok(Groups { by: self.unique_all()? })
    }
}

impl Groups {
    /// The keys, each once, sorted.
    #[must_use]
    pub fn keys(&self) -> &UsmArray {
        &self.by.values
    }

    /// How many groups there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by.values.len()
    }

    /// Whether there are none, as of no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of the group of each element, as `int64`, in the shape of the keys that were given.
    #[must_use]
    pub fn places(&self) -> &UsmArray {
        &self.by.inverse_indices
    }

    /// How many elements each group has, as `int64`.
    #[must_use]
    pub fn count(&self) -> &UsmArray {
        &self.by.counts
    }

    /// The first value of each group.
    ///
    /// # Errors
    /// [`Error::Shape`] where there is not one value for each key, [`Error::ExecutionPlacement`], [`Error::Alloc`].
    pub fn first(&self, values: &UsmArray) -> Result<UsmArray> {
        // The places are in range as they are.
        self.row(values)?.take(&self.by.indices, Some(0), IndexMode::Clip)
    }

    /// The sum of the values of each group: of integers in `int64` or `uint64`, of others in their dtype; those of floats that are
    /// narrower than the device's default one are rounded once.
    ///
    /// # Errors
    /// As for [`first`](Self::first).
    pub fn sum(&self, values: &UsmArray) -> Result<UsmArray> {
        let row = self.row(values)?;
        let dtype = match row.dtype().kind() {
            DtypeKind::Bool | DtypeKind::Signed => Dtype::I64,
            DtypeKind::Unsigned => Dtype::U64,
            _ => row.dtype(),
        };
        self.sums(&row, dtype)?.astype(dtype)
    }

    /// The mean of the values of each group: of integers in the default floating dtype.
    ///
    /// # Errors
    /// As for [`first`](Self::first).
    pub fn mean(&self, values: &UsmArray) -> Result<UsmArray> {
        let row = self.row(values)?;
        let dtype = match row.dtype().kind() {
            DtypeKind::Float | DtypeKind::Complex => row.dtype(),
            _ => row.device().dtype_support().default_float(),
        };
        let sums = self.sums(&row, dtype)?;
        let counts = self.by.counts.astype(sums.dtype())?;
        sums.binary(Op::Divide, &counts)?.astype(dtype)
    }

    /// The smallest value of each group; NaN where one is among them.
    ///
    /// # Errors
    /// As for [`first`](Self::first); [`Error::Dtype`] for complex numbers.
    pub fn min(&self, values: &UsmArray) -> Result<UsmArray> {
        self.extreme(Op::Minimum, "min", values)
    }

    /// The largest value of each group; NaN where one is among them.
    ///
    /// # Errors
    /// As for [`min`](Self::min).
    pub fn max(&self, values: &UsmArray) -> Result<UsmArray> {
        self.extreme(Op::Maximum, "max", values)
    }

    /// Values in one row, one for each key.
    fn row(&self, values: &UsmArray) -> Result<UsmArray> {
        let places = self.places();
        common_queue(&[("keys", places.queue()), ("values", values.queue())])?;
        if values.shape() != places.shape() {
            return Err(Error::shape(
                "values",
                format!("of shape {:?}", values.shape()),
                format!("a value for each key, of shape {:?}", places.shape()),
                "broadcast the values first",
            ));
        }
        values.reshape(&[-1])
    }

    /// Sums, for a result of a dtype: in the widest of its kind that the device has.
    fn sums(&self, row: &UsmArray, dtype: Dtype) -> Result<UsmArray> {
        let wide = row.device().dtype_support().default_float() == Dtype::F64;
        let computed = match dtype.kind() {
            DtypeKind::Float if wide => Dtype::F64,
            DtypeKind::Float => Dtype::F32,
            DtypeKind::Complex if wide => Dtype::C128,
            _ => dtype,
        };
        let sums = UsmArray::zeros(row.queue(), &[self.len()], computed, row.usm_kind())?;
        sums.join_at_places(Op::Add, &self.places().reshape(&[-1])?, &row.astype(computed)?)?;
        Ok(sums)
    }

    fn extreme(&self, op: Op, name: &str, values: &UsmArray) -> Result<UsmArray> {
        values.check_real(name)?;
        let row = self.row(values)?;
        let joined = if row.dtype() == Dtype::Bool { row.astype(Dtype::U8)? } else { row.clone() };
        let result = joined.take(&self.by.indices, Some(0), IndexMode::Clip)?;
        result.join_at_places(op, &self.places().reshape(&[-1])?, &joined)?;
        result.astype(row.dtype())
    }
}
