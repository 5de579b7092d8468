//! Orders by several keys, weighted means, and how numbers vary together.

use super::elementwise::interim;
use super::functions::number;
use super::{IndexMode, Reduction, UsmArray, concat, elementwise};
use crate::dtype::{Dtype, DtypeKind};
use crate::error::{Error, Result};
use crate::layout::normalize_axis;
use crate::ops::Op;
use crate::promotion::{Weak, result_type};
use crate::runtime::common_queue;

/// The places, as `int64`, that bring several arrays of one shape into order along an axis: by the last one; where its elements
/// are equal, by the one before; and so on. Equal elements keep their order.
///
/// # Errors
/// [`Error::Value`] for no keys, [`Error::Shape`] where shapes differ, [`Error::Axis`], [`Error::ExecutionPlacement`].
pub fn lexsort(keys: &[&UsmArray], axis: isize) -> Result<UsmArray> {
    let Some((first, others)) = keys.split_first() else {
        return Err(Error::value("keys", "no arrays", "at least one array", "give the keys to sort by"));
    };
    let queues: Vec<_> = keys.iter().map(|key| ("keys", key.queue())).collect();
    common_queue(&queues)?;
    if let Some(other) = others.iter().find(|key| key.shape() != first.shape()) {
        return Err(Error::shape(
            "keys",
            format!("of shapes {:?} and {:?}", first.shape(), other.shape()),
            "keys of one shape",
            "broadcast them against each other first",
        ));
    }
    let mut order = first.argsort(axis, false)?;
    for key in others {
        let sorted = key.take_along_axis(&order, axis, IndexMode::Clip)?;
        order = order.take_along_axis(&sorted.argsort(axis, false)?, axis, IndexMode::Clip)?;
    }
    Ok(order)
}

impl UsmArray {
    /// The places, as `int64`, that bring elements along an axis into an order in which the `kth` stands where a sort puts it, with
    /// no larger one before and no smaller one behind it; negative `kth` counts from the end. It is the order of a sort.
    ///
    /// # Errors
    /// [`Error::Axis`], [`Error::OutOfBounds`] for `kth` out of range.
    pub fn argpartition(&self, kth: isize, axis: isize) -> Result<Self> {
        let extent = self.shape()[normalize_axis("axis", axis, self.ndim())?].cast_signed();
        if kth < -extent || kth >= extent {
            return Err(Error::out_of_bounds(
                "kth",
                kth,
                format!("a place along an axis of extent {extent}"),
                "name a place of the axis",
            ));
        }
        self.argsort(axis, false)
    }

    /// Whether numbers are +∞. Integers are not.
    ///
    /// # Errors
    /// [`Error::Dtype`] for complex numbers.
    pub fn isposinf(&self) -> Result<Self> {
        self.check_real("isposinf")?;
        elementwise(Op::Equal, &[self.into(), number(f64::INFINITY)])
    }

    /// Whether numbers are −∞. Integers are not.
    ///
    /// # Errors
    /// [`Error::Dtype`] for complex numbers.
    pub fn isneginf(&self) -> Result<Self> {
        self.check_real("isneginf")?;
        elementwise(Op::Equal, &[self.into(), number(f64::NEG_INFINITY)])
    }

    /// The mean with weights, and the sum of the weights: `Σ w x / Σ w` over axes, `None` for all. Weights have the shape of the
    /// array, or one dimension along the only axis. Of integers in the default floating dtype. Where the weights' sum is 0, the mean
    /// is what dividing by it gives.
    ///
    /// # Errors
    /// [`Error::Shape`] for weights of another shape, [`Error::Axis`], [`Error::ExecutionPlacement`].
    pub fn average(&self, weights: &Self, axes: Option<&[isize]>, keepdims: bool) -> Result<(Self, Self)> {
        common_queue(&[("x", &self.queue), ("weights", &weights.queue)])?;
        let weights = match (weights.ndim(), axes) {
            _ if weights.shape() == self.shape() => weights.clone(),
            (1, Some(&[axis]))
                if weights.len() == self.shape()[normalize_axis("axis", axis, self.ndim())?] =>
            {
                let place = normalize_axis("axis", axis, self.ndim())?;
                let mut shape: Vec<isize> = vec![1; self.ndim()];
                shape[place] = -1;
                weights.reshape(&shape)?
            }
            _ => {
                return Err(Error::shape(
                    "weights",
                    format!("of shape {:?}", weights.shape()),
                    format!("shape {:?}, or one dimension along a single axis", self.shape()),
                    "broadcast the weights first",
                ));
            }
        };
        let support = self.device().dtype_support();
        let dtype = result_type(&[self.dtype, weights.dtype], &[Weak::Float(0.0)], support)?;
        let computed = self.wide(dtype);
        let (x, w) = (self.astype_step(computed)?, weights.astype_step(computed)?);
        let products = interim(Op::Multiply, &[(&x).into(), (&w).into()])?;
        let sum = products.reduce_as(Reduction::Sum, axes, keepdims, Some(computed))?;
        let total =
            w.broadcast_to(self.shape())?.reduce_as(Reduction::Sum, axes, keepdims, Some(computed))?;
        Ok((sum.binary(Op::Divide, &total)?.astype(dtype)?, total.astype(dtype)?))
    }

    /// How the rows of a matrix, each the observations of a variable, vary together: `Σ (x − x̄)(y − ȳ)* / (n − correction)` for
    /// each two of them. A second array has further variables; with `by_columns`, columns are variables. A row alone has no dimension
    /// in the result.
    ///
    /// # Errors
    /// [`Error::Shape`] for more than two dimensions or other numbers of observations, [`Error::ExecutionPlacement`].
    pub fn cov(&self, other: Option<&Self>, by_columns: bool, correction: f64) -> Result<Self> {
        let support = self.device().dtype_support();
        let dtypes: Vec<Dtype> = std::iter::once(self.dtype).chain(other.map(|other| other.dtype)).collect();
        let dtype = result_type(&dtypes, &[Weak::Float(0.0)], support)?;
        let rows = |argument: &'static str, array: &Self| -> Result<Self> {
            if array.ndim() > 2 {
                return Err(Error::shape(
                    argument,
                    format!("of shape {:?}", array.shape()),
                    "one or two dimensions",
                    "reshape it to a matrix of observations first",
                ));
            }
            let matrix = match array.ndim() {
                2 if by_columns => array.t(),
                2 => array.clone(),
                _ => array.reshape(&[1, -1])?,
            };
            matrix.astype(dtype)
        };
        let mut x = rows("x", self)?;
        if let Some(other) = other {
            common_queue(&[("x", &self.queue), ("y", &other.queue)])?;
            x = concat(&[&x, &rows("y", other)?], Some(0))?;
        }
        let n = x.shape()[1] as f64;
        let mean = x.reduce(Reduction::Mean, Some(&[1]), true)?;
        let apart = x.binary(Op::Subtract, &mean)?;
        let products = apart.matmul(&apart.conj()?.t())?;
        // Of no more observations than that, there is no covariance.
        let result = products.binary(Op::Divide, number((n - correction).max(0.0)))?;
        let single: Vec<isize> = (0..2).filter(|&axis| result.shape()[axis as usize] == 1).collect();
        if single.len() == 2 { result.squeeze(&single) } else { Ok(result) }
    }

    /// The correlation coefficients of the rows of a matrix: their [covariances](Self::cov) over the roots of both variances, no
    /// further from 0 than 1.
    ///
    /// # Errors
    /// As for [`cov`](Self::cov).
    pub fn corrcoef(&self, other: Option<&Self>, by_columns: bool) -> Result<Self> {
        let covariances = self.cov(other, by_columns, 1.0)?;
        if covariances.ndim() == 0 {
            return covariances.binary(Op::Divide, &covariances);
        }
        let deviations = covariances.diagonal(0)?.real()?.unary(Op::Sqrt)?;
        let (down, along) = (deviations.expand_dims(&[1])?, deviations.expand_dims(&[0])?);
        let by_rows = interim(Op::Divide, &[(&covariances).into(), (&down).into()])?;
        if covariances.dtype.kind() == DtypeKind::Complex {
            return elementwise(Op::Divide, &[(&by_rows).into(), (&along).into()]);
        }
        let all = interim(Op::Divide, &[(&by_rows).into(), (&along).into()])?;
        elementwise(Op::Clip, &[(&all).into(), number(-1.0), number(1.0)])
    }
}
