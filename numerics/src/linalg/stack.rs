//! An array as a stack of matrices.

use stridewise_core::{Device, Dtype, Element, Error, Result, UsmArray, backend::Dims};

use super::wide::Wide;
use crate::device::has_routines;
use crate::place;

/// The matrices of the last two dimensions of an array.
pub(crate) struct Stack<'a> {
    pub(crate) argument: &'static str,
    pub(crate) x: &'a UsmArray,
    /// The dtype to compute in, and that of the results.
    pub(crate) dtype: Dtype,
    pub(crate) out: Dtype,
    pub(crate) outer: Dims,
    pub(crate) count: usize,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
}

impl<'a> Stack<'a> {
    /// # Errors
    /// [`Error::Axis`] with fewer than two dimensions, [`Error::Unsupported`] where the processor cannot reach the array.
    pub(crate) fn new(argument: &'static str, x: &'a UsmArray) -> Result<Self> {
        let Some(outer) = x.ndim().checked_sub(2) else {
            return Err(Error::axis(
                argument,
                format!("of shape {:?}", x.shape()),
                "at least two dimensions: matrices are the last two",
                "add dimensions with `expand_dims`",
            ));
        };
        if !has_routines(x) {
            place::check(argument, x)?;
        }
        let (dtype, out) = place::dtypes(x);
        let (outer, rows, columns) =
            (Dims::from(&x.shape()[..outer]), x.shape()[outer], x.shape()[outer + 1]);
        let count = outer.iter().product();
        Ok(Self { argument, x, dtype, out, outer, count, rows, columns })
    }

    /// # Errors
    /// As for [`new`](Self::new); [`Error::Shape`] where the matrices are not square.
    pub(crate) fn square(argument: &'static str, x: &'a UsmArray) -> Result<Self> {
        let stack = Self::new(argument, x)?;
        if stack.rows != stack.columns {
            return Err(Error::shape(
                argument,
                format!("of shape {:?}", x.shape()),
                "square matrices as the last two dimensions",
                "select a square part, or use `lstsq` or `pinv`",
            ));
        }
        Ok(stack)
    }

    pub(crate) fn device(&self) -> &Device {
        self.x.device()
    }

    /// Refuses matrices that the processor cannot reach, before it computes.
    ///
    /// # Errors
    /// [`Error::Unsupported`].
    pub(crate) fn check_place(&self) -> Result<()> {
        place::check(self.argument, self.x)
    }

    /// The lesser extent of the matrices.
    pub(crate) fn least(&self) -> usize {
        self.rows.min(self.columns)
    }

    /// About how many operations a decomposition of one matrix takes.
    pub(crate) fn cost(&self, factor: f64) -> f64 {
        factor * self.rows as f64 * self.columns as f64 * self.least() as f64 + 200.0
    }

    /// The shape of results of which each matrix has one, of the dimensions named.
    pub(crate) fn shape(&self, inner: &[usize]) -> Dims {
        self.outer.iter().chain(inner).copied().collect()
    }

    /// Room for results of which each matrix has one.
    ///
    /// # Errors
    /// [`Error::Alloc`].
    pub(crate) fn room<T: Element + bytemuck::Zeroable>(&self, inner: &[usize]) -> Result<Vec<T>> {
        place::room(self.argument, self.x, &self.shape(inner))
    }

    /// The array of results, which `fill` makes out of zeros.
    ///
    /// # Errors
    /// [`Error::Alloc`]; that of `fill`.
    pub(crate) fn filled<T: Element + bytemuck::Zeroable>(
        &self,
        inner: &[usize],
        fill: impl FnOnce(&mut [T]) -> Result<()>,
    ) -> Result<UsmArray> {
        place::filled(self.argument, self.x, &self.shape(inner), self.out, fill)
    }

    /// The array of results.
    ///
    /// # Errors
    /// [`Error::Alloc`].
    pub(crate) fn array<T: Element>(&self, inner: &[usize], values: &[T]) -> Result<UsmArray> {
        place::write(self.x, &self.shape(inner), values, self.out)
    }

    /// The array of real results.
    ///
    /// # Errors
    /// [`Error::Alloc`].
    pub(crate) fn real<T: Element>(&self, inner: &[usize], values: &[T]) -> Result<UsmArray> {
        place::write(self.x, &self.shape(inner), values, self.out.real_part())
    }

    /// What cannot be computed of the matrix of a number, and what to do.
    pub(crate) fn refuse(
        &self,
        number: usize,
        why: &str,
        expected: &'static str,
        help: &'static str,
    ) -> Error {
        let mut rest = number;
        let mut place: Vec<usize> = self
            .outer
            .iter()
            .rev()
            .map(|&extent| {
                let index = rest % extent;
                rest /= extent;
                index
            })
            .collect();
        place.reverse();
        let value = if place.is_empty() { why.to_owned() } else { format!("{why}, the matrix at {place:?}") };
        Error::decomposition(self.argument, value, expected, help)
    }

    /// Refuses a matrix with NaN or an infinity, of which an iteration would not end.
    ///
    /// # Errors
    /// [`Error::Decomposition`].
    pub(crate) fn finite<T: Wide>(&self, number: usize, matrix: &[T]) -> Result<()> {
        if matrix.iter().all(|element| element.wide().is_finite()) {
            return Ok(());
        }
        Err(self.refuse(
            number,
            "a matrix with NaN or infinite elements",
            "finite elements",
            "replace them first, with `nan_to_num`",
        ))
    }

    /// The iteration for a matrix did not end.
    pub(crate) fn diverged(&self, number: usize) -> Error {
        self.refuse(
            number,
            "a matrix of which the iteration does not converge",
            "one of which it does",
            "scale the matrix so that its elements are about 1, or compute in double precision",
        )
    }
}
