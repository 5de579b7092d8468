//! What is put together from decompositions and operations on arrays.

use stridewise_core::{
    Dtype, Error, Op, Reduction, Result, Scalar, UsmArray, Weak, broadcast_shapes, common_queue, result_type,
    where_,
};

use super::stack::Stack;
use super::{computed, lu, spectral};
use crate::arrays::NumericArray;
use crate::device::has_routines;
use crate::place;

/// The part of the largest singular value up to which others count as zero.
#[derive(Clone, Copy, Default, Debug)]
pub enum Tolerance<'a> {
    /// The greater extent of the matrix times the distance from 1 to the next number of the dtype.
    #[default]
    Rounding,
    /// This one.
    Value(f64),
    /// One for each matrix of a stack, real, which broadcasts.
    Each(&'a UsmArray),
}

impl From<f64> for Tolerance<'_> {
    fn from(value: f64) -> Self {
        Self::Value(value)
    }
}
impl<'a> From<&'a UsmArray> for Tolerance<'a> {
    fn from(values: &'a UsmArray) -> Self {
        Self::Each(values)
    }
}

/// The solution of a least squares problem.
#[derive(Clone, Debug)]
pub struct Lstsq<A: NumericArray> {
    /// What comes nearest, and of all that come as near, the one of the smallest norm.
    pub solution: A,
    /// The squared distance, for each column of the right-hand side.
    pub residuals: A::Real,
    /// The rank of each matrix.
    pub rank: A::Count,
    /// The singular values, the largest first.
    pub singular_values: A::Real,
}

/// The distance from 1 to the next number, of what singular values are computed in.
fn epsilon(dtype: Dtype) -> f64 {
    if matches!(dtype, Dtype::F64 | Dtype::C128) { f64::EPSILON } else { f64::from(f32::EPSILON) }
}

/// Which singular values of shape `(…, k)` count as other than zero, of matrices of `rows` and `columns`.
fn significant(s: &UsmArray, tolerance: Tolerance<'_>, rows: usize, columns: usize) -> Result<UsmArray> {
    if s.shape().last() == Some(&0) {
        return s.astype(Dtype::Bool);
    }
    let largest = s.reduce(Reduction::Max, Some(&[-1]), true)?;
    let eps = epsilon(s.dtype());
    let bound = match tolerance {
        Tolerance::Rounding => largest.binary(Op::Multiply, Weak::Float(rows.max(columns) as f64 * eps))?,
        Tolerance::Value(value) => largest.binary(Op::Multiply, Weak::Float(value))?,
        Tolerance::Each(values) => largest.binary(Op::Multiply, &values.expand_dims(&[-1])?)?,
    };
    s.binary(Op::Greater, &bound)
}

/// The reciprocals of the singular values that count, zeros for the others.
fn reciprocals(s: &UsmArray, counts: &UsmArray) -> Result<UsmArray> {
    let zero = Scalar::F64(0.0).cast(s.dtype());
    where_(counts, &s.unary(Op::Reciprocal)?, zero)
}

fn adjoint(x: &UsmArray) -> Result<UsmArray> {
    x.matrix_transpose()?.conj()
}

/// The pseudo-inverse (of Moore and Penrose), by singular values.
///
/// # Errors
/// As for [`svd`](super::svd); [`Error::Shape`] where tolerances do not broadcast.
pub fn pinv<'a, A: NumericArray>(x: &A, tolerance: impl Into<Tolerance<'a>>) -> Result<A> {
    let (x, out) = computed(x.untyped())?;
    let stack = Stack::new("x", &x)?;
    let (u, s, vh) = spectral::svd(&x, false)?;
    let counts = significant(&s, tolerance.into(), stack.rows, stack.columns)?;
    let scaled = adjoint(&u)?.binary(Op::Multiply, &reciprocals(&s, &counts)?.expand_dims(&[-1])?)?;
    A::from_untyped(adjoint(&vh)?.matmul(&scaled)?.astype(out)?)
}

/// How many singular values count as other than zero.
///
/// # Errors
/// As for [`pinv`].
pub fn matrix_rank<'a, A: NumericArray>(x: &A, tolerance: impl Into<Tolerance<'a>>) -> Result<A::Count> {
    let (x, _) = computed(x.untyped())?;
    let stack = Stack::new("x", &x)?;
    let counts = significant(&spectral::svdvals(&x)?, tolerance.into(), stack.rows, stack.columns)?;
    A::count_from(counts.count_nonzero(Some(&[-1]), false)?)
}

/// The solutions of `x1 · y ≈ x2` that come nearest, by singular values. `x2` is a vector where it has one dimension, else
/// a stack of matrices; stacks are broadcast. A negative tolerance is the distance from 1 to the next number of the dtype.
///
/// # Errors
/// As for [`svd`](super::svd); [`Error::Shape`] where the rows differ or the stacks do not broadcast.
pub fn lstsq<'a, A: NumericArray>(x1: &A, x2: &A, tolerance: impl Into<Tolerance<'a>>) -> Result<Lstsq<A>> {
    let (x1, x2) = (x1.untyped(), x2.untyped());
    common_queue(&[("x1", x1.queue()), ("x2", x2.queue())])?;
    if !has_routines(x2) {
        place::check("x2", x2)?;
    }
    let ((a, out1), (b, out2)) = (computed(x1)?, computed(x2)?);
    let stack = Stack::new("x1", &a)?;
    let is_vector = b.ndim() == 1;
    let b = if is_vector { b.expand_dims(&[1])? } else { b };
    if b.ndim() < 2 || b.shape()[b.ndim() - 2] != stack.rows {
        return Err(Error::shape(
            "x2",
            format!("of shape {:?}", x2.shape()),
            format!("{} rows, as x1 of shape {:?} has", stack.rows, x1.shape()),
            "transpose or reshape it",
        ));
    }
    broadcast_shapes(&[&stack.outer, &b.shape()[..b.ndim() - 2]])?;
    let out = result_type(&[out1, out2], &[], x1.device().dtype_support())?;
    let (u, s, vh) = spectral::svd(&a, false)?;
    let tolerance = match tolerance.into() {
        Tolerance::Value(value) if value < 0.0 => Tolerance::Value(epsilon(s.dtype())),
        tolerance => tolerance,
    };
    let counts = significant(&s, tolerance, stack.rows, stack.columns)?;
    let weights = reciprocals(&s, &counts)?.expand_dims(&[-1])?;
    let solution = adjoint(&vh)?.matmul(&adjoint(&u)?.matmul(&b)?.binary(Op::Multiply, &weights)?)?;
    let distance = a.matmul(&solution)?.binary(Op::Subtract, &b)?.reduce_hypot(Some(&[-2]), false, None)?;
    let mut residuals = distance.unary(Op::Square)?;
    let mut solution = solution;
    if is_vector {
        solution = solution.squeeze(&[-1])?;
        residuals = residuals.squeeze(&[-1])?;
    }
    Ok(Lstsq {
        solution: A::from_untyped(solution.astype(out)?)?,
        residuals: A::real_from(residuals.astype(out.real_part())?)?,
        rank: A::count_from(counts.count_nonzero(Some(&[-1]), false)?)?,
        singular_values: A::real_from(s.astype(out1.real_part())?)?,
    })
}

/// Square matrices multiplied with themselves, `n` factors; for 0 the identity, for a negative number the inverse so often.
/// Integers stay integers where `n` is not negative.
///
/// # Errors
/// [`Error::Axis`] and [`Error::Shape`] as in the [module](super); for a negative `n` as for [`inv`](super::inv).
pub fn matrix_power<A: NumericArray>(x: &A, n: i64) -> Result<A> {
    A::from_untyped(power(x.untyped(), n)?)
}

fn power(x: &UsmArray, n: i64) -> Result<UsmArray> {
    let square = x.ndim() >= 2 && x.shape()[x.ndim() - 1] == x.shape()[x.ndim() - 2];
    if !square {
        return Err(match x.ndim() < 2 {
            true => Error::axis(
                "x",
                format!("of shape {:?}", x.shape()),
                "at least two dimensions",
                "add dimensions with `expand_dims`",
            ),
            false => Error::shape(
                "x",
                format!("of shape {:?}", x.shape()),
                "square matrices as the last two dimensions",
                "select a square part",
            ),
        });
    }
    let mut base = if n < 0 { lu::inv(x, false)? } else { x.clone() };
    let mut rest = n.unsigned_abs();
    if rest == 0 {
        let extent = x.shape()[x.ndim() - 1];
        let identity = UsmArray::eye(x.queue(), extent, extent, 0, x.dtype(), x.usm_kind())?;
        return identity.broadcast_to(x.shape())?.copy();
    }
    let mut product: Option<UsmArray> = None;
    loop {
        if rest & 1 == 1 {
            product = Some(match product {
                None => base.clone(),
                Some(product) => product.matmul(&base)?,
            });
        }
        rest >>= 1;
        match (rest, product) {
            // A result is memory of its own.
            (0, Some(product)) => return if n == 1 { product.copy() } else { Ok(product) },
            (_, partial) => product = partial,
        }
        base = base.matmul(&base)?;
    }
}

/// The Kronecker product: every element of one array times the other array. The one of fewer dimensions gets leading ones of
/// extent 1. It is computed on the arrays' device.
///
/// # Errors
/// [`Error::Dtype`] for `bool`, [`Error::ExecutionPlacement`], [`Error::Overflow`] for an impossible shape.
pub fn kron<A: NumericArray>(a: &A, b: &A) -> Result<A> {
    let (a, b) = (a.untyped(), b.untyped());
    let ndim = a.ndim().max(b.ndim());
    let apart = |x: &UsmArray, first: bool| -> Result<UsmArray> {
        let leading: Vec<isize> = (0..ndim as isize - x.ndim() as isize).collect();
        let x = x.expand_dims(&leading)?;
        // Extents of one at even places, of the other at odd ones.
        let axes: Vec<isize> = (0..ndim as isize).map(|axis| 2 * axis + isize::from(first)).collect();
        x.expand_dims(&axes)
    };
    let product = apart(a, true)?.binary(Op::Multiply, &apart(b, false)?)?;
    let merged: Option<Vec<isize>> = product
        .shape()
        .chunks_exact(2)
        .map(|pair| pair[0].checked_mul(pair[1]).and_then(|extent| isize::try_from(extent).ok()))
        .collect();
    let Some(shape) = merged else {
        return Err(Error::overflow(
            "b",
            format!("of shape {:?}", b.shape()),
            "a product that fits the machine",
            "use smaller arrays",
        ));
    };
    A::from_untyped(product.reshape(&shape)?)
}
