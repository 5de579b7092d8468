//! Polynomials that come nearest to values.

use stridewise_core::{
    Dtype, Error, Op, Result, Scalar, Scan, UsmArray, Weak, common_queue, result_type, where_,
};

use super::composed::{Lstsq, Tolerance, lstsq, pinv};
use crate::arrays::NumericArray;
use crate::place;

/// The coefficients, from the highest power on, of the polynomial of a degree whose values at `x` come nearest to `y`: the sum of
/// the squared distances is the least, each distance times its weight where there are weights. `y` has as many values as `x`, or
/// as many rows of values of several polynomials, whose coefficients are columns. Its values are those of
/// [`polyval`](UsmArray::polyval).
///
/// By [`lstsq`], of which the result is: the matrix are the powers of `x`, with columns of length 1. Where its rank is not
/// `degree + 1`, points are too few or too close together, and the polynomial is one of many.
///
/// ```
/// # stridewise_core::register_driver!(stridewise_host::driver);
/// use stridewise_core::{Array, array};
/// use stridewise_numerics::linalg::{self, Tolerance};
///
/// let x: Array<f64> = array![0.0, 1.0, 2.0, 3.0];
/// let line = linalg::polyfit(&x, &array![1.0, 3.0, 5.0, 7.0], 1, None, Tolerance::Rounding)?.solution;
/// assert!(line.allclose(&array![2.0, 1.0], 1e-14, 0.0, false)?);
/// # Ok::<(), stridewise_core::Error>(())
/// ```
///
/// # Errors
/// As for [`lstsq`]; [`Error::Shape`] where `x` or the weights have not one dimension or no elements, or their number is not
/// that of the values; [`Error::Overflow`] for a degree that no array has room for.
pub fn polyfit<'a, A: NumericArray>(
    x: &A,
    y: &A,
    degree: usize,
    weights: Option<&A>,
    tolerance: impl Into<Tolerance<'a>>,
) -> Result<Lstsq<A>> {
    let (x, y, weights) = (x.untyped(), y.untyped(), weights.map(NumericArray::untyped));
    let powers = Powers::new(x, degree, weights, Some(y))?;
    let mut values = y.astype(powers.dtype)?;
    if let Some(weights) = &powers.weights {
        let weights = if y.ndim() == 2 { weights.expand_dims(&[1])? } else { weights.clone() };
        values = values.binary(Op::Multiply, &weights)?;
    }
    let found = lstsq(&powers.columns, &values, tolerance)?;
    let lengths = if y.ndim() == 2 { powers.lengths.expand_dims(&[1])? } else { powers.lengths };
    let out = powers.out;
    Ok(Lstsq {
        solution: A::from_untyped(found.solution.binary(Op::Divide, &lengths)?.astype(out)?)?,
        residuals: A::real_from(found.residuals.astype(out.real_part())?)?,
        rank: A::count_from(found.rank)?,
        singular_values: A::real_from(found.singular_values.astype(out.real_part())?)?,
    })
}

/// The covariances of the coefficients of [`polyfit`] where the values have a variance of 1, over the squares of the weights: a
/// square matrix. Times the residuals over the number of points less that of coefficients it is what the scatter of the values
/// tells.
///
/// # Errors
/// As for [`polyfit`].
pub fn polyfit_covariance<A: NumericArray>(x: &A, degree: usize, weights: Option<&A>) -> Result<A> {
    let powers = Powers::new(x.untyped(), degree, weights.map(NumericArray::untyped), None)?;
    let inverse = pinv(&powers.columns, Tolerance::Rounding)?;
    let product = inverse.matmul(&inverse.matrix_transpose()?.conj()?)?;
    let scale = powers.lengths.outer(&powers.lengths)?;
    A::from_untyped(product.binary(Op::Divide, &scale)?.astype(powers.out)?)
}

/// The powers of points as columns of length 1.
struct Powers {
    columns: UsmArray,
    /// What the columns were divided by.
    lengths: UsmArray,
    weights: Option<UsmArray>,
    /// The dtype to compute in, and that of the results.
    dtype: Dtype,
    out: Dtype,
}

impl Powers {
    fn new(
        x: &UsmArray,
        degree: usize,
        weights: Option<&UsmArray>,
        values: Option<&UsmArray>,
    ) -> Result<Self> {
        let operands = [Some(("x", x)), values.map(|y| ("y", y)), weights.map(|w| ("weights", w))];
        let (mut queues, mut computed, mut results) = (Vec::new(), Vec::new(), Vec::new());
        for (argument, operand) in operands.into_iter().flatten() {
            place::check(argument, operand)?;
            let most = if argument == "y" { 2 } else { 1 };
            if !(1..=most).contains(&operand.ndim()) || operand.shape()[0] != x.shape()[0] || x.is_empty() {
                return Err(Error::shape(
                    argument,
                    format!("of shape {:?}", operand.shape()),
                    match argument {
                        "x" => "points in one dimension, one at least".to_owned(),
                        "y" => format!("a value for each of {} points, or a row of values", x.len()),
                        _ => format!("a weight for each of {} points", x.len()),
                    },
                    "reshape it first",
                ));
            }
            queues.push((argument, operand.queue()));
            let (dtype, out) = place::dtypes(operand);
            computed.push(dtype);
            results.push(out);
        }
        common_queue(&queues)?;
        let support = x.device().dtype_support();
        let (dtype, out) = (result_type(&computed, &[], support)?, result_type(&results, &[], support)?);
        let rows = x.len();
        if degree >= isize::MAX.unsigned_abs() / rows / dtype.size() {
            return Err(Error::overflow(
                "degree",
                degree,
                "fewer powers",
                "fit a polynomial of a lower degree",
            ));
        }
        let repeated = x.astype(dtype)?.expand_dims(&[1])?.broadcast_to(&[rows, degree])?;
        let mut columns = repeated.cumulative(Scan::Prod, Some(1), None, true)?.flip(Some(&[1]))?;
        let weights = weights.map(|weights| weights.astype(dtype)).transpose()?;
        if let Some(weights) = &weights {
            columns = columns.binary(Op::Multiply, &weights.expand_dims(&[1])?)?;
        }
        let lengths = columns.reduce_hypot(Some(&[0]), false, None)?;
        // A column of zeros stays one.
        let lengths = where_(
            &lengths.binary(Op::NotEqual, Weak::Int(0))?,
            &lengths,
            Scalar::F64(1.0).cast(lengths.dtype()),
        )?;
        let columns = columns.binary(Op::Divide, &lengths)?;
        Ok(Self { columns, lengths, weights, dtype, out })
    }
}
