//! Cholesky and QR.

use dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::linalg::cholesky::llt::factor as llt;
use faer::linalg::householder;
use faer::linalg::qr::no_pivoting::factor as qr;
use faer::traits::math_utils::{conj, from_real, real, recip, sqrt};
use faer::{Conj, MatMut, MatRef};
use num_complex::Complex;
use stridewise_core::{Result, UsmArray};

use super::field::{ALONE, FEW, Field, buffer, with_field, zeros};
use super::scale::{power_to_one, scale_all};
use super::stack::Stack;
use super::wide::Wide;
use super::{QrMode, device};
use crate::batches::{Rows, each};
use crate::device::on_device;
use crate::place;

/// Makes the triangle of Cholesky out of the lower triangle of a matrix in column-major order; false where it is not positive
/// definite.
#[inline(always)]
fn factor_plainly<T: Field>(n: usize, matrix: &mut [T]) -> bool {
    let matrix = &mut matrix[..n * n];
    for column in 0..n {
        let size = real(&matrix[column * n + column]);
        // NaN is not greater, either.
        if size.wide().re > 0.0 {
            let root = sqrt(&size);
            matrix[column * n + column] = from_real(&root);
            let inverse = from_real::<T>(&recip(&root));
            for row in column + 1..n {
                matrix[column * n + row] *= inverse;
            }
            for j in column + 1..n {
                let turned = conj(&matrix[column * n + j]);
                for row in j..n {
                    let product = matrix[column * n + row] * turned;
                    matrix[j * n + row] -= product;
                }
            }
        } else {
            return false;
        }
    }
    true
}

pub(super) fn cholesky(x: &UsmArray, upper: bool) -> Result<UsmArray> {
    let stack = Stack::square("x", x)?;
    if let Some(result) = on_device(x, || device::cholesky(&stack, upper)) {
        return result;
    }
    stack.check_place()?;
    let n = stack.rows;
    with_field!(stack.dtype, T => {
        let source = place::read::<T>(x)?;
        let scratch = || {
            let needed = llt::cholesky_in_place_scratch::<T>(n, ALONE, Default::default());
            Ok((zeros::<T>(n * n)?, buffer(needed)?))
        };
        let one = |(factor, memory): &mut (Vec<T>, MemBuffer), out: &mut Rows<'_, T>, number: usize| {
            let matrix = &source[number * n * n..][..n * n];
            // In column-major order, of which the lower triangle counts: that of the matrix, or of its conjugate transpose.
            for column in 0..n {
                for row in column..n {
                    factor[column * n + row] = match upper {
                        true => conj(&matrix[column * n + row]),
                        false => matrix[row * n + column],
                    };
                }
                // The diagonal of a Hermitian matrix is real, whatever its elements say.
                factor[column * n + column] = from_real(&real(&matrix[column * n + column]));
            }
            let is_definite = match n {
                // Of these extents the loops are unrolled.
                2 => factor_plainly(2, factor),
                3 => factor_plainly(3, factor),
                4 => factor_plainly(4, factor),
                n if n <= FEW => factor_plainly(n, factor),
                n => {
                    let lower = MatMut::from_column_major_slice_mut(&mut *factor, n, n);
                    let memory = MemStack::new(memory);
                    llt::cholesky_in_place(lower, Default::default(), ALONE, memory, Default::default()).is_ok()
                        && (0..n).all(|i| factor[i * n + i].wide().re > 0.0)
                }
            };
            if !is_definite {
                return Err(stack.refuse(
                    number,
                    "a matrix that is not positive definite",
                    "a positive definite one",
                    "use `eigh`, or add a multiple of the identity",
                ));
            }
            let out = out.next();
            for column in 0..n {
                for row in column..n {
                    let element = factor[column * n + row];
                    match upper {
                        true => out[column * n + row] = conj(&element),
                        false => out[row * n + column] = element,
                    }
                }
            }
            Ok(())
        };
        stack.filled::<T>(&[n, n], |values| {
            each(stack.device(), stack.count, stack.cost(0.5), Rows::new(values, n * n), scratch, one)
        })
    })
}

/// Makes the diagonal of R real, as the standard has it: what turns a row of R turns a column of Q back.
fn straighten<T: Field>(q: &mut [T], columns: usize, r: &mut [T], n: usize) {
    for i in 0..columns.min(r.len() / n.max(1)).min(n) {
        let pivot = r[i * n + i].wide();
        if pivot.im == 0.0 {
            continue;
        }
        let turn = pivot.conj() / pivot.norm();
        for element in &mut r[i * n + i..][..n - i] {
            *element = T::narrow(element.wide() * turn);
        }
        r[i * n + i] = T::narrow(Complex::new(pivot.norm(), 0.0));
        for element in q[i..].iter_mut().step_by(columns) {
            *element = T::narrow(element.wide() * turn.conj());
        }
    }
}

pub(super) fn qr(x: &UsmArray, mode: QrMode) -> Result<(UsmArray, UsmArray)> {
    let stack = Stack::new("x", x)?;
    if mode == QrMode::Reduced
        && let Some(result) = on_device(x, || device::qr(&stack))
    {
        return result;
    }
    stack.check_place()?;
    let (m, n, least) = (stack.rows, stack.columns, stack.least());
    let k = if mode == QrMode::Complete { m } else { least };
    with_field!(stack.dtype, T => {
        let source = place::read::<T>(x)?;
        let (mut q, mut r) = (stack.room::<T>(&[m, k])?, stack.room::<T>(&[k, n])?);
        let block = qr::recommended_block_size::<T>(m, n);
        let scratch = || {
            let needed = StackReq::any_of(&[
                qr::qr_in_place_scratch::<T>(m, n, block, ALONE, Default::default()),
                householder::apply_block_householder_sequence_on_the_left_in_place_scratch::<T>(m, block, k),
            ]);
            Ok((zeros::<T>(m * n)?, zeros::<T>(block * least)?, zeros::<T>(m * k)?, buffer(needed)?))
        };
        let cells = (Rows::new(&mut q, m * k), Rows::new(&mut r, k * n));
        let (one, nan) = (T::narrow(Complex::new(1.0, 0.0)), T::narrow(Complex::new(f64::NAN, 0.0)));
        each(stack.device(), stack.count, stack.cost(4.0), cells, scratch, |scratch, cells, number| {
            let (factors, coefficients, basis, memory) = scratch;
            let (q, r) = (cells.0.next(), cells.1.next());
            let given = &source[number * m * n..][..m * n];
            if stack.finite(number, given).is_err() {
                q.fill(nan);
                (0..k).for_each(|row| r[row * n + row.min(n)..(row + 1) * n].fill(nan));
                return Ok(());
            }
            basis.fill(T::default());
            for i in 0..k {
                basis[i * m + i] = one;
            }
            if least > 0 {
                let mut matrix = MatMut::from_column_major_slice_mut(&mut *factors, m, n);
                matrix.copy_from(MatRef::from_row_major_slice(given, m, n));
                let power = power_to_one(given);
                scale_all(&mut *factors, power);
                let mut matrix = MatMut::from_column_major_slice_mut(&mut *factors, m, n);
                let mut turns = MatMut::from_column_major_slice_mut(&mut *coefficients, block, least);
                qr::qr_in_place(
                    matrix.as_mut(), turns.as_mut(), ALONE, MemStack::new(memory), Default::default(),
                );
                householder::apply_block_householder_sequence_on_the_left_in_place_with_conj(
                    matrix.as_ref().subcols(0, least),
                    turns.as_ref(),
                    Conj::No,
                    MatMut::from_column_major_slice_mut(&mut *basis, m, k),
                    ALONE,
                    MemStack::new(memory),
                );
                for row in 0..least {
                    for column in row..n {
                        r[row * n + column] = factors[column * m + row];
                    }
                }
                scale_all(&mut *r, -power);
            }
            let basis = MatRef::from_column_major_slice(basis, m, k);
            MatMut::from_row_major_slice_mut(&mut *q, m, k).copy_from(basis);
            straighten(q, k, r, n);
            Ok(())
        })?;
        Ok((stack.array(&[m, k], &q)?, stack.array(&[k, n], &r)?))
    })
}
