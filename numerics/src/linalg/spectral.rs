//! Singular values, and eigenvalues of symmetric matrices.

use dyn_stack::MemStack;
use faer::diag::DiagMut;
use faer::linalg::evd::{self, ComputeEigenvectors};
use faer::linalg::svd::{self, ComputeSvdVectors};
use faer::traits::math_utils::{from_real, real as real_part};
use faer::{MatMut, MatRef};
use num_complex::Complex;
use stridewise_core::{Dtype, Error, Op, Reduction, Result, Scalar, UsmArray, where_};

use super::device;
use super::field::{ALONE, Field, buffer, with_field, zeros};
use super::scale::{power_to_one, scale_all};
use super::stack::Stack;
use super::wide::Wide;
use crate::batches::{Rows, each};
use crate::device::on_device;
use crate::place;

/// The real parts, which is all that there is.
fn real<T: Field>(from: &[T], to: &mut [T::Part]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = <T::Part as Wide>::narrow(from.wide());
    }
}

/// Which vectors belong to singular values.
#[derive(Clone, Copy, PartialEq)]
enum Vectors {
    /// None, and values that are NaN where a matrix has an element that is not finite; otherwise that is refused.
    NoneOrNan,
    None,
    /// Those that singular values belong to.
    Thin,
    /// Bases of rows and columns.
    Full,
}

/// The singular values of matrices, the largest first; U and the conjugate transpose of V.
fn singular(x: &UsmArray, vectors: Vectors) -> Result<(UsmArray, UsmArray, UsmArray)> {
    let stack = Stack::new("x", x)?;
    let wanted = match vectors {
        // What the library refuses is NaN there, which is for the processor.
        Vectors::NoneOrNan | Vectors::None => None,
        Vectors::Thin => Some(false),
        Vectors::Full => Some(true),
    };
    match on_device(x, || device::singular_values(&stack, wanted)) {
        Some(Err(Error::Decomposition(_))) if vectors == Vectors::NoneOrNan => {
            let whole = x.unary(Op::IsFinite)?;
            let whole = whole.reduce_as(Reduction::Prod, Some(&[-2, -1]), true, Some(Dtype::Bool))?;
            let finite = where_(&whole, x, Scalar::F64(0.0).cast(x.dtype()))?;
            let values = svdvals(&finite)?;
            let nan = Scalar::F64(f64::NAN).cast(values.dtype());
            let values = where_(&whole.squeeze(&[-1])?, &values, nan)?;
            return Ok((values.clone(), values.clone(), values));
        }
        Some(result) => {
            let (values, bases) = result?;
            let (u, vh) = bases.unwrap_or_else(|| (values.clone(), values.clone()));
            return Ok((values, u, vh));
        }
        None => stack.check_place()?,
    }
    let (m, n, k) = (stack.rows, stack.columns, stack.least());
    let (left, right, wanted) = match vectors {
        Vectors::None | Vectors::NoneOrNan => (0, 0, ComputeSvdVectors::No),
        Vectors::Thin => (k, k, ComputeSvdVectors::Thin),
        Vectors::Full => (m, n, ComputeSvdVectors::Full),
    };
    let bases = wanted != ComputeSvdVectors::No;
    with_field!(stack.dtype, T => {
        let source = place::read::<T>(x)?;
        let mut s = stack.room::<<T as Field>::Part>(&[k])?;
        let (mut u, mut vh) = (stack.room::<T>(&[m, left])?, stack.room::<T>(&[right, n])?);
        let scratch = || {
            let memory = match k {
                0 => dyn_stack::StackReq::EMPTY,
                _ => svd::svd_scratch::<T>(m, n, wanted, wanted, ALONE, Default::default()),
            };
            Ok((zeros::<T>(m * n)?, zeros::<T>(k)?, zeros::<T>(m * left)?, zeros::<T>(n * right)?, buffer(memory)?))
        };
        let cells = (Rows::new(&mut s, k), (Rows::new(&mut u, m * left), Rows::new(&mut vh, right * n)));
        let cost = stack.cost(if bases { 20.0 } else { 5.0 });
        let one = T::narrow(Complex::new(1.0, 0.0));
        each(stack.device(), stack.count, cost, cells, scratch, |scratch, cells, number| {
            let (copy, values, left_basis, right_basis, memory) = scratch;
            let matrix = &source[number * m * n..][..m * n];
            let finite = stack.finite(number, matrix);
            let (s, (u, vh)) = (cells.0.next(), (cells.1.0.next(), cells.1.1.next()));
            if finite.is_err() && vectors == Vectors::NoneOrNan {
                s.fill(<<T as Field>::Part as Wide>::narrow(Complex::new(f64::NAN, 0.0)));
                return Ok(());
            }
            finite?;
            if k == 0 {
                (0..left).for_each(|i| u[i * left + i] = one);
                (0..right).for_each(|i| vh[i * n + i] = one);
                return Ok(());
            }
            let mut columns = MatMut::from_column_major_slice_mut(&mut *copy, m, n);
            columns.copy_from(MatRef::from_row_major_slice(matrix, m, n));
            let power = power_to_one(matrix);
            scale_all(&mut *copy, power);
            let columns = MatRef::from_column_major_slice(&*copy, m, n);
            // The library leaves some elements of full bases as they are, which have to be zeros.
            left_basis.fill(T::default());
            right_basis.fill(T::default());
            svd::svd(
                columns,
                DiagMut::from_slice_mut(&mut *values),
                bases.then(|| MatMut::from_column_major_slice_mut(&mut *left_basis, m, left)),
                bases.then(|| MatMut::from_column_major_slice_mut(&mut *right_basis, n, right)),
                ALONE,
                MemStack::new(memory),
                Default::default(),
            )
            .map_err(|_| stack.diverged(number))?;
            real(values, s);
            scale_all(s, -power);
            let basis = MatRef::from_column_major_slice(left_basis, m, left);
            MatMut::from_row_major_slice_mut(u, m, left).copy_from(basis);
            // Columns of V one after another are rows of its transpose.
            for (to, from) in vh.iter_mut().zip(&*right_basis) {
                *to = T::narrow(from.wide().conj());
            }
            Ok(())
        })?;
        Ok((stack.real(&[k], &s)?, stack.array(&[m, left], &u)?, stack.array(&[right, n], &vh)?))
    })
}

/// The eigenvalues of symmetric or Hermitian matrices, the smallest first, and eigenvectors where wanted, else none.
fn symmetric(x: &UsmArray, vectors: bool) -> Result<(UsmArray, UsmArray)> {
    let stack = Stack::square("x", x)?;
    if let Some(result) = on_device(x, || device::symmetric(&stack, vectors)) {
        return result;
    }
    stack.check_place()?;
    let n = stack.rows;
    let columns = if vectors { n } else { 0 };
    let wanted = if vectors { ComputeEigenvectors::Yes } else { ComputeEigenvectors::No };
    with_field!(stack.dtype, T => {
        let source = place::read::<T>(x)?;
        let (mut s, mut u) = (stack.room::<<T as Field>::Part>(&[n])?, stack.room::<T>(&[n, columns])?);
        let scratch = || {
            let memory = match n {
                0 => dyn_stack::StackReq::EMPTY,
                _ => evd::self_adjoint_evd_scratch::<T>(n, wanted, ALONE, Default::default()),
            };
            Ok((zeros::<T>(n * n)?, zeros::<T>(n)?, zeros::<T>(n * columns)?, buffer(memory)?))
        };
        let cells = (Rows::new(&mut s, n), Rows::new(&mut u, n * columns));
        let cost = stack.cost(if vectors { 9.0 } else { 1.5 });
        each(stack.device(), stack.count, cost, cells, scratch, |scratch, cells, number| {
            let (copy, values, basis, memory) = scratch;
            let matrix = &source[number * n * n..][..n * n];
            let (s, u) = (cells.0.next(), cells.1.next());
            if n == 0 {
                return Ok(());
            }
            MatMut::from_column_major_slice_mut(&mut *copy, n, n)
                .copy_from(MatRef::from_row_major_slice(matrix, n, n));
            // What is above the diagonal is not read, whatever it is.
            for (column, elements) in copy.chunks_exact_mut(n).enumerate() {
                elements[..column].fill(T::default());
            }
            stack.finite(number, copy)?;
            // The diagonal of a Hermitian matrix is real, whatever its elements say.
            copy.iter_mut().step_by(n + 1).for_each(|element| *element = from_real(&real_part(element)));
            let power = power_to_one(copy);
            scale_all(&mut *copy, power);
            evd::self_adjoint_evd(
                MatRef::from_column_major_slice(&*copy, n, n),
                DiagMut::from_slice_mut(&mut *values),
                vectors.then(|| MatMut::from_column_major_slice_mut(&mut *basis, n, n)),
                ALONE,
                MemStack::new(memory),
                Default::default(),
            )
            .map_err(|_| stack.diverged(number))?;
            real(values, s);
            scale_all(s, -power);
            let basis = MatRef::from_column_major_slice(basis, n, columns);
            MatMut::from_row_major_slice_mut(u, n, columns).copy_from(basis);
            Ok(())
        })?;
        Ok((stack.real(&[n], &s)?, stack.array(&[n, columns], &u)?))
    })
}

/// U, the singular values, and the conjugate transpose of V.
pub(super) fn svd(x: &UsmArray, full: bool) -> Result<(UsmArray, UsmArray, UsmArray)> {
    let (s, u, vh) = singular(x, if full { Vectors::Full } else { Vectors::Thin })?;
    Ok((u, s, vh))
}
pub(super) fn svdvals(x: &UsmArray) -> Result<UsmArray> {
    Ok(singular(x, Vectors::None)?.0)
}
/// The singular values; NaN of a matrix with elements that are not finite.
pub(super) fn svdvals_or_nan(x: &UsmArray) -> Result<UsmArray> {
    Ok(singular(x, Vectors::NoneOrNan)?.0)
}
pub(super) fn eigh(x: &UsmArray) -> Result<(UsmArray, UsmArray)> {
    symmetric(x, true)
}
pub(super) fn eigvalsh(x: &UsmArray) -> Result<UsmArray> {
    Ok(symmetric(x, false)?.0)
}
