//! Searching a sorted table.

use smallvec::SmallVec;

use super::addressing::IndexMode;
use super::elementwise::interim;
use super::{ArrayOrScalar, UsmArray, elementwise};
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::layout::{Strides, coalesce};
use crate::lazy::{Pass, Walk, handing_on};
use crate::memory::UsmKind;
use crate::ops::Op;
use crate::plan::{Family, IndexedAxis};
use crate::promotion::result_type;
use crate::runtime::{Queue, common_queue};
use crate::scalar::Scalar;

/// Where an element is inserted among equal ones.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Side {
    /// Before them.
    #[default]
    Left,
    /// Behind them.
    Right,
}

impl UsmArray {
    /// For each of the values, the place as `int64` where it would be inserted into this one-dimensional array, which is
    /// sorted from the smallest to the largest element – by itself, or by a `sorter`, the places in sorted order, as
    /// [`argsort`](Self::argsort) gives them. NaN stands behind everything.
    ///
    /// # Errors
    /// [`Error::Shape`] where this array or the sorter has not one dimension or they differ in length,
    /// [`Error::OutOfBounds`] for a place of the sorter out of range, [`Error::ExecutionPlacement`].
    pub fn searchsorted(&self, values: &Self, side: Side, sorter: Option<&Self>) -> Result<Self> {
        let queue = common_queue(&[("self", self.queue()), ("values", values.queue())])?.clone();
        if self.ndim() != 1 {
            return Err(Error::shape(
                "self",
                format!("of shape {:?}", self.shape()),
                "one dimension",
                "search one row at a time, or reshape",
            ));
        }
        if let Some(sorter) = sorter {
            if sorter.shape() != self.shape() {
                return Err(Error::shape(
                    "sorter",
                    format!("of shape {:?}", sorter.shape()),
                    format!("the shape of the array, {:?}", self.shape()),
                    "give the places that `argsort` of this array gives",
                ));
            }
            return self.take(sorter, Some(0), IndexMode::Check)?.searchsorted(values, side, None);
        }
        let kind = self.usm_kind().combine(values.usm_kind());
        if self.is_empty() {
            return Self::zeros(&queue, values.shape(), Dtype::I64, kind);
        }
        // No dtype holds the numbers of both: those that the table's has not are before or behind all of it.
        let (outside, within, place) = match (self.dtype(), values.dtype()) {
            (Dtype::I64, Dtype::U64) => (Op::Greater, (Op::Minimum, i64::MAX), self.len()),
            (Dtype::U64, Dtype::I64) => (Op::Less, (Op::Maximum, 0), 0),
            _ => return self.searched(&queue, kind, values, side),
        };
        let bound = ArrayOrScalar::Weak(within.1.into());
        let near = interim(within.0, &[values.into(), bound.clone()])?.astype(self.dtype())?;
        let places = self.searched(&queue, kind, &near, side)?;
        let outside = interim(outside, &[values.into(), bound])?;
        elementwise(Op::Where, &[(&outside).into(), Scalar::I64(place as i64).into(), (&places).into()])
    }

    /// [`searchsorted`](Self::searchsorted) of a table that is not empty, in the dtype of both.
    fn searched(&self, queue: &Queue, kind: UsmKind, values: &Self, side: Side) -> Result<Self> {
        let dtype = result_type(&[self.dtype(), values.dtype()], &[], queue.device().dtype_support())?;
        let (table, values) = (self.astype(dtype)?, values.astype(dtype)?);
        let out = Self::empty(queue, values.shape(), Dtype::I64, kind)?;
        let right = side == Side::Right;
        table.looked_up(&values, &out, |table| Family::Search { table, right })?.submit(queue, &[])?;
        Ok(out)
    }

    /// For each value, whether it is among the elements of this sorted table, which is not empty and of the same dtype; or,
    /// with `invert`, whether it is not. `None` where the device only [searches](Self::searched).
    pub(super) fn contains(&self, values: &Self, invert: bool) -> Result<Option<Self>> {
        let (queue, kind) = (values.queue(), self.usm_kind().combine(values.usm_kind()));
        let out = Self::empty(queue, values.shape(), Dtype::Bool, kind)?;
        let pass = self.looked_up(values, &out, |table| Family::Contains { table, invert })?;
        Ok(pass.submit_if_native(queue)?.then_some(out))
    }

    /// The pass that looks values up in this table.
    fn looked_up<'a>(
        &'a self,
        values: &'a Self,
        out: &'a Self,
        family: impl FnOnce(IndexedAxis) -> Family,
    ) -> Result<Pass<'a>> {
        let space = coalesce(values.shape(), &[out.strides(), values.strides()], false);
        let still: Strides = space.shape.iter().map(|_| 0).collect();
        Ok(Pass {
            program: handing_on(values.dtype(), Some(values.dtype())),
            family: family(IndexedAxis { extent: self.len(), stride: self.strides()[0] }),
            dims: space.shape.clone(),
            inputs: SmallVec::from([
                Walk { array: values, strides: space.strides[1].clone() },
                Walk { array: self, strides: still },
            ]),
            output: Walk { array: out, strides: space.strides[0].clone() },
        })
    }
}
