//! Eigenvalues and eigenvectors of any matrices.
//!
//! Residuals are within 10 n eps of the norm of the matrix that is balanced (rows and columns scaled by
//! powers of two to about the same length, as LAPACK does it): measured against a matrix as it was given,
//! they may be more, as NumPy's are (companion matrices of 8 rows with a first row of 1e6, `float64`: 63 n
//! eps; graded ones of 33 rows: 9). What is lost otherwise is exactness of small eigenvalues. Unbalanced,
//! real matrices with rows of 1 to 1e-8 lost up to 5e5 n eps: the library compares the determinant of a 2x2
//! block with eps times the norm, though it is a square, so that every matrix is scaled to a norm of 1/eps
//! first. Eigenvectors of many equal eigenvalues overflow on the way; these few are taken from the singular
//! vectors of the matrix less the eigenvalue.

use dyn_stack::{MemStack, StackReq};
use faer::diag::DiagMut;
use faer::linalg::svd::{self, ComputeSvdVectors};
use faer::{MatMut, MatRef};
use num_complex::Complex;
use stridewise_core::memory::heap;
use stridewise_core::{Result, UsmArray};

use super::balance::Balance;
use super::field::{ALONE, Field, SCRATCH, buffer, with_field, zeros};
use super::stack::Stack;
use super::wide::Wide;
use crate::batches::{Rows, each};
use crate::place;

/// Eigenvectors, columns of a matrix in row-major order, which overflowed, as they do where many eigenvalues are the same and
/// have no vectors of their own: each is the vector that the matrix less the eigenvalue makes shortest.
///
/// # Errors
/// [`stridewise_core::Error::Alloc`]; that of `stack` where the iteration does not converge.
fn mend<T: Field>(
    stack: &Stack<'_>,
    number: usize,
    matrix: &[T],
    w: &[T::Eigen],
    v: &mut [T::Eigen],
) -> Result<()> {
    let n = w.len();
    let lost = |v: &[T::Eigen], column: usize| {
        let mut largest = 0.0_f64;
        let finite = v[column..].iter().step_by(n).all(|entry| {
            largest = largest.max(entry.wide().norm());
            entry.wide().is_finite()
        });
        !finite || largest == 0.0
    };
    let columns = heap::collect(SCRATCH, (0..n).filter(|&column| lost(v, column)))?;
    for (place, &column) in columns.iter().enumerate() {
        let value = w[column].wide();
        // Equal values, and conjugate ones of a real matrix, share a vector.
        let same = columns[..place].iter().find_map(|&other| match w[other].wide() {
            known if known == value => Some((other, false)),
            known if T::IS_REAL && known.conj() == value => Some((other, true)),
            _ => None,
        });
        if let Some((other, conjugate)) = same {
            for row in 0..n {
                let entry = v[row * n + other].wide();
                v[row * n + column] = T::Eigen::narrow(if conjugate { entry.conj() } else { entry });
            }
            continue;
        }
        let mut shifted = zeros::<T::Eigen>(n * n)?;
        for (at, (to, from)) in shifted.iter_mut().zip(matrix).enumerate() {
            let shift = if at % (n + 1) == 0 { value } else { Complex::ZERO };
            *to = T::Eigen::narrow(from.wide() - shift);
        }
        let (mut sizes, mut basis) = (zeros::<T::Eigen>(n)?, zeros::<T::Eigen>(n * n)?);
        let (left, right) = (ComputeSvdVectors::No, ComputeSvdVectors::Thin);
        let mut memory = buffer(svd::svd_scratch::<T::Eigen>(n, n, left, right, ALONE, Default::default()))?;
        svd::svd(
            MatRef::from_column_major_slice(&shifted, n, n),
            DiagMut::from_slice_mut(&mut sizes),
            None,
            Some(MatMut::from_column_major_slice_mut(&mut basis, n, n)),
            ALONE,
            MemStack::new(&mut memory),
            Default::default(),
        )
        .map_err(|_| stack.diverged(number))?;
        for row in 0..n {
            v[row * n + column] = basis[(n - 1) * n + row];
        }
    }
    Ok(())
}

/// Eigenvalues, and eigenvectors where wanted, else none.
fn general(x: &UsmArray, vectors: bool) -> Result<(UsmArray, UsmArray)> {
    let stack = Stack::square("x", x)?;
    stack.check_place()?;
    let n = stack.rows;
    let columns = if vectors { n } else { 0 };
    let out = place::complex(stack.out);
    with_field!(stack.dtype, T => {
        let source = place::read::<T>(x)?;
        let mut w = stack.room::<<T as Field>::Eigen>(&[n])?;
        let mut v = stack.room::<<T as Field>::Eigen>(&[n, columns])?;
        let scratch = || {
            let memory = match n {
                0 => StackReq::EMPTY,
                _ => T::eigen_scratch(n, vectors),
            };
            let balance = Balance::new(heap::zeroed(SCRATCH, n)?);
            Ok((zeros::<T>(n * n)?, zeros::<T>(T::eigen_numbers(n, vectors))?, balance, buffer(memory)?))
        };
        let cells = (Rows::new(&mut w, n), Rows::new(&mut v, n * columns));
        let cost = stack.cost(if vectors { 25.0 } else { 10.0 });
        each(stack.device(), stack.count, cost, cells, scratch, |scratch, cells, number| {
            let (copy, numbers, balance, memory) = scratch;
            let matrix = &source[number * n * n..][..n * n];
            stack.finite(number, matrix)?;
            let (w, v) = (cells.0.next(), cells.1.next());
            if n == 0 {
                return Ok(());
            }
            MatMut::from_column_major_slice_mut(&mut *copy, n, n)
                .copy_from(MatRef::from_row_major_slice(matrix, n, n));
            balance.apply(copy);
            let balanced = MatRef::from_column_major_slice(&*copy, n, n);
            T::eigen(balanced, w, vectors.then_some(&mut *v), numbers, MemStack::new(memory))
                .map_err(|_| stack.diverged(number))?;
            if vectors {
                mend(&stack, number, copy, w, v)?;
                balance.vectors(v);
            }
            w.iter_mut().for_each(|value| balance.value(value));
            Ok(())
        })?;
        let shape = stack.shape(&[n, columns]);
        Ok((place::write(x, &stack.shape(&[n]), &w, out)?, place::write(x, &shape, &v, out)?))
    })
}

pub(super) fn eig(x: &UsmArray) -> Result<(UsmArray, UsmArray)> {
    general(x, true)
}
pub(super) fn eigvals(x: &UsmArray) -> Result<UsmArray> {
    Ok(general(x, false)?.0)
}
