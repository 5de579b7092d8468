//! Norms of vectors and matrices, and condition numbers.

use stridewise_core::{
    Dtype, DtypeKind, Error, Op, Reduction, Result, Scalar, UsmArray, Weak, elementwise, where_,
};

use super::stack::Stack;
use super::{computed, lu, spectral};
use crate::arrays::NumericArray;
use crate::place;

/// A norm of matrices.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum MatrixNorm {
    /// The root of the sum of squared magnitudes.
    #[default]
    Frobenius,
    /// The sum of singular values.
    Nuclear,
    /// 1: the largest sum of magnitudes of a column, −1: the smallest; ±∞: of a row; 2: the largest singular value, −2:
    /// the smallest.
    Order(f64),
}

impl From<f64> for MatrixNorm {
    fn from(order: f64) -> Self {
        Self::Order(order)
    }
}

/// Magnitudes; of numbers that are no floats, in the default floating dtype.
fn magnitudes(x: &UsmArray) -> Result<UsmArray> {
    let (_, out) = place::dtypes(x);
    x.astype(out)?.unary(Op::Abs)
}

/// How the largest of magnitudes is found, or the smallest. Of nothing, no magnitude is above 0.
fn extreme(x: &UsmArray, largest: bool) -> Reduction {
    match largest {
        true if x.is_empty() => Reduction::Sum,
        true => Reduction::Max,
        false => Reduction::Min,
    }
}

/// The norm of vectors along axes (`None`: of all elements): (Σ|x|^order)^(1/order); the largest magnitude for an infinite
/// order (0 of none), the smallest for a negative infinite one, and how many elements are other than zero for 0. Integers become the
/// default floating dtype; the result is real. It is computed without overflow on the way. It is computed on
/// the array's device.
///
/// # Errors
/// [`Error::Axis`] for an axis out of range or named twice, [`Error::Value`] for the smallest of no elements.
pub fn vector_norm<A: NumericArray>(
    x: &A,
    order: f64,
    axes: Option<&[isize]>,
    keepdims: bool,
) -> Result<A::Real> {
    A::real_from(vectors(x.untyped(), order, axes, keepdims)?)
}

fn vectors(x: &UsmArray, order: f64, axes: Option<&[isize]>, keepdims: bool) -> Result<UsmArray> {
    let real = place::dtypes(x).1.real_part();
    if order == 2.0 {
        return x.astype(place::dtypes(x).1)?.reduce_hypot(axes, keepdims, None);
    }
    if order == 0.0 {
        return x.count_nonzero(axes, keepdims)?.astype(real);
    }
    let size = magnitudes(x)?;
    if order.is_infinite() {
        return size.reduce(extreme(x, order > 0.0), axes, keepdims);
    }
    if order == 1.0 {
        return size.reduce(Reduction::Sum, axes, keepdims);
    }
    let root = |size: &UsmArray| {
        let powers = size.binary(Op::Pow, Weak::Float(order))?;
        powers.reduce(Reduction::Sum, axes, keepdims)?.binary(Op::Pow, Weak::Float(order.recip()))
    };
    if size.is_empty() {
        return root(&size);
    }
    let unit = unit_of(&size, order, axes)?;
    let root = root(&size.binary(Op::Divide, &unit)?)?;
    // One of each row, which is itself without the axes.
    unit.reduce(Reduction::Max, axes, keepdims)?.binary(Op::Multiply, &root)
}

/// What magnitudes along axes are divided by, so that the powers of those that decide a norm are numbers of the dtype, with the axes
/// kept: 1 where they are anyway, and where the one that decides is 0 or no finite number.
fn unit_of(size: &UsmArray, order: f64, axes: Option<&[isize]>) -> Result<UsmArray> {
    // Of a power so far from 1, and of a sum of many, neither overflows, and what is lost of it is less than its rounding.
    let exponent = match size.dtype() {
        Dtype::F64 => 511.0,
        Dtype::F16 => 7.0,
        _ => 63.0,
    };
    let reach = (exponent / order.abs()).exp2();
    let most = size.reduce(extreme(size, order > 0.0), axes, true)?;
    let far = most.binary(Op::Less, Weak::Float(reach.recip()))?;
    let far = far.binary(Op::LogicalOr, &most.binary(Op::Greater, Weak::Float(reach))?)?;
    let usable = most.binary(Op::Greater, Weak::Float(0.0))?;
    let usable = usable.binary(Op::LogicalAnd, &most.unary(Op::IsFinite)?)?;
    where_(&far.binary(Op::LogicalAnd, &usable)?, &most, Weak::Float(1.0))
}

/// The norm of the matrices of the last two dimensions. Integers become the default floating dtype; the result is real.
/// Norms by singular values need an array that the processor reaches; the others are computed on the array's device.
///
/// # Errors
/// See the [module](super); [`Error::Value`] for another order, or for the smallest of nothing.
pub fn matrix_norm<A: NumericArray>(x: &A, norm: impl Into<MatrixNorm>, keepdims: bool) -> Result<A::Real> {
    A::real_from(matrices(x.untyped(), norm.into(), keepdims)?)
}

fn matrices(x: &UsmArray, norm: MatrixNorm, keepdims: bool) -> Result<UsmArray> {
    if x.ndim() < 2 {
        return Stack::new("x", x).map(|_| x.clone());
    }
    let order = match norm {
        MatrixNorm::Frobenius => {
            return x.astype(place::dtypes(x).1)?.reduce_hypot(Some(&[-2, -1]), keepdims, None);
        }
        MatrixNorm::Nuclear => 0.0,
        MatrixNorm::Order(order) => order,
    };
    let extreme = extreme(x, order > 0.0);
    let result = if norm == MatrixNorm::Nuclear || order.abs() == 2.0 {
        let (x, out) = computed(x)?;
        let reduction = if norm == MatrixNorm::Nuclear { Reduction::Sum } else { extreme };
        let values = spectral::svdvals_or_nan(&x)?.reduce(reduction, Some(&[-1]), true)?;
        values.expand_dims(&[-1])?.astype(out.real_part())?
    } else if order.abs() == 1.0 || order.is_infinite() {
        let (summed, other) = if order.is_infinite() { (-1, -2) } else { (-2, -1) };
        magnitudes(x)?.reduce(Reduction::Sum, Some(&[summed]), true)?.reduce(extreme, Some(&[other]), true)?
    } else {
        return Err(Error::value(
            "ord",
            order,
            "1, -1, 2, -2, inf or -inf, or the Frobenius or nuclear norm",
            "name one of these",
        ));
    };
    if keepdims { Ok(result) } else { result.squeeze(&[-2, -1]) }
}

/// The condition number: the norm of a matrix times that of its inverse, infinite where it is singular. For the order 2 the
/// largest singular value over the smallest, and for −2 the smallest over the largest, of matrices that need not be square.
///
/// # Errors
/// As for [`matrix_norm`].
pub fn cond<A: NumericArray>(x: &A, norm: impl Into<MatrixNorm>) -> Result<A::Real> {
    A::real_from(condition(x.untyped(), norm.into())?)
}

fn condition(x: &UsmArray, norm: MatrixNorm) -> Result<UsmArray> {
    let (x, out) = computed(x)?;
    if x.ndim() >= 2 && x.shape()[x.ndim() - 2..].contains(&0) {
        return Err(Error::shape(
            "x",
            format!("of shape {:?}", x.shape()),
            "matrices with elements",
            "there is no condition of nothing: leave it out",
        ));
    }
    let number = match norm {
        MatrixNorm::Order(order) if order.abs() == 2.0 => {
            let values = spectral::svdvals_or_nan(&x)?;
            let largest = values.reduce(Reduction::Max, Some(&[-1]), false)?;
            let smallest = values.reduce(Reduction::Min, Some(&[-1]), false)?;
            match order > 0.0 {
                true => largest.binary(Op::Divide, &smallest)?,
                false => smallest.binary(Op::Divide, &largest)?,
            }
        }
        norm => {
            Stack::square("x", &x)?;
            matrices(&x, norm, false)?.binary(Op::Multiply, &matrices(&lu::inv(&x, true)?, norm, false)?)?
        }
    };
    // Of zeros it is infinite, too, if the quotient or product says nothing; of NaN it is NaN.
    let nothing = number.unary(Op::IsNan)?;
    let whole = matrices(&x, MatrixNorm::Frobenius, false)?.unary(Op::IsNan)?;
    let known = elementwise(Op::LogicalAnd, &[(&nothing).into(), (&whole.unary(Op::LogicalNot)?).into()])?;
    where_(&known, infinity(number.dtype()), &number)?.astype(out.real_part())
}

fn infinity(dtype: Dtype) -> Scalar {
    debug_assert_eq!(dtype.kind(), DtypeKind::Float, "norms are real");
    Scalar::F64(f64::INFINITY).cast(dtype)
}
